/* inspect.h: looks at the first frames of files: does raw video have the stated size, is a video shifted?
 *
 * What is read here is read by another reader, so that scoring begins at the first frame all the same.
 */
#ifndef TOOL_INSPECT_H
#define TOOL_INSPECT_H

#include "align.h"
#include "session.h"
#include "video.h"

#include <stdint.h>

/* Another reader of a file that is being read, from its first frame on. 0: there can be none. */
int tool_open_again(const session *all, int i, int luma_only, video *again);

/* The signatures of `most` frames of a file from `first` on, see align_sign_video(). */
align_signature *tool_sign_again(const session *all, int i, int64_t first, int64_t most, int step, int64_t *count);

/* Looks at the first frame of raw files, and warns if it does not look as the options say. One warning is enough:
 * all have the same options. */
void tool_look_for_size(const session *all);

/* Looks at the first frames of files, and warns where they seem to be shifted. */
void tool_look_for_shift(const session *all);

#endif /* TOOL_INSPECT_H */
