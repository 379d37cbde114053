/* arrange.h: what is compared with what: --from, --to, --crop, --scale, and warnings about videos that do not match.
 *
 * See inspect.h for what is found out by a look at the first frames, plan.h for --align.
 */
#ifndef TOOL_ARRANGE_H
#define TOOL_ARRANGE_H

#include "../../vmafgpu.h"

#include "options.h"
#include "session.h"

/* Sets what the options say by themselves, before the videos are open. 0 after a message. */
int tool_arrange_options(session *all, const options *o);

/* The part of the pictures that is compared, in the size in which it is. */
vmafgpu_frame tool_arrange_frame(session *all, int i, vmafgpu_frame frame);

/* Finds out everything that can be known before the first pair is scored. 0 after a message. */
int tool_arrange(session *all, const options *o);

#endif /* TOOL_ARRANGE_H */
