/* maps.h: the heat maps of cambi (heatmaps_path), in files as libvmaf writes them. */
#ifndef TOOL_MAPS_H
#define TOOL_MAPS_H

#include "../../vmafgpu.h"

#include "session.h"

/* Little-endian words at the frame's place: those of frames that are not scored stay holes. */
void tool_write_map(void *user, const vmafgpu_heatmap *map);

/* Closes the files. 0 if a map could not be written, after a message. */
int tool_close_maps(session *all);

#endif /* TOOL_MAPS_H */
