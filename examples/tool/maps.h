/* maps.h: writes the heat maps of cambi (heatmaps_path) to the same files as libvmaf. */
#ifndef TOOL_MAPS_H
#define TOOL_MAPS_H

#include "../../vmafgpu.h"

#include "session.h"

/* Writes a map as 16-bit little-endian words at the position of its frame. Frames that are not scored remain holes.
 * `user` is the session. */
void tool_write_map(void *user, const vmafgpu_heatmap *map);

/* Closes the files. Returns 0 if a map could not be written, after an error message. */
int tool_close_maps(session *all);

#endif /* TOOL_MAPS_H */
