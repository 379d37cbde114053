/* pipes.h: threads that open and read pipes, one for each.
 *
 * There are two reasons for threads. One program may write several pipes: it opens all of them, writes frames in an
 * order of its own, and waits wherever nobody reads. And where several threads or a GPU score, none of them should wait
 * for a pipe. If the CPU scores, the caller reads files itself, which takes no time as they are mapped, and a single
 * pipe where one thread scores.
 *
 * Without READ_AHEAD (see system.h) these functions do nothing, and no video is fed.
 */
#ifndef TOOL_PIPES_H
#define TOOL_PIPES_H

#include "session.h"
#include "video.h"

/* Makes the lock of a session, if it has none. */
int tool_make_lock(session *all);

/* Starts threads for these videos, which are open already or to be opened. Where that fails, the caller reads. */
void tool_make_feeds(session *all, const int *is_pipe, int is_open);

/* Starts threads for the pipes, if they are to have some. */
void tool_start_feeds(session *all);

/* Whether a thread reads video i. */
int tool_is_fed(const session *all, int i);

/* Waits until all pipes are open. Returns one that could not be opened, or -1. */
int tool_wait_for_feeds(session *all);

/* The next frame of a pipe. It stays until the one after it is asked for. */
video_result tool_next_fed_frame(session *all, int i, vmafgpu_frame *frame);

/* Ends the threads. */
void tool_stop_feeds(session *all);

/* Destroys the lock. */
void tool_drop_lock(session *all);

#endif /* TOOL_PIPES_H */
