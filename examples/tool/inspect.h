/* inspect.h: checks the first frames of files: whether raw video has the stated size, and whether a video is shifted.
 *
 * These functions open each file a second time, so the videos of the session remain at their first frame.
 */
#ifndef TOOL_INSPECT_H
#define TOOL_INSPECT_H

#include "align.h"
#include "session.h"
#include "video.h"

#include <stdint.h>

/* Opens the file of video i a second time, at its first frame. Returns 0 if it is not a regular file or fails to open.
 * The caller must call video_close() in both cases. */
int tool_open_again(const session *all, int i, int luma_only, video *again);

/* Returns the signatures of up to `most` frames of video i, starting at frame `first`; see align_sign_video(). */
align_signature *tool_sign_again(const session *all, int i, int64_t first, int64_t most, int step, int64_t *count);

/* Checks the first frame of raw files, and warns if the size or the format in the options seems wrong. Prints at most
 * one warning, because all videos have the same options. */
void tool_look_for_size(const session *all);

/* Compares the first frames of files, and warns if a distorted video seems to be shifted. */
void tool_look_for_shift(const session *all);

#endif /* TOOL_INSPECT_H */
