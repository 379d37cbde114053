/* arrange.h: decides which frames and which parts of the pictures are compared (--from, --to, --crop, --scale), and
 * warns about videos that do not match. inspect.h checks the first frames; plan.h implements --align. */
#ifndef TOOL_ARRANGE_H
#define TOOL_ARRANGE_H

#include "../../vmafgpu.h"

#include "options.h"
#include "session.h"

/* Sets the first pair and the limit if they do not depend on the videos. Returns 0 after an error message. */
int tool_arrange_options(session *all, const options *o);

/* Scales a frame of video i and returns the part of it that is compared. */
vmafgpu_frame tool_arrange_frame(session *all, int i, vmafgpu_frame frame);

/* Sets everything that depends on the open videos, and prints warnings about them. Returns 0 after an error message. */
int tool_arrange(session *all, const options *o);

#endif /* TOOL_ARRANGE_H */
