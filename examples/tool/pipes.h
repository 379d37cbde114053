/* pipes.h: opens and reads each pipe in a thread of its own.
 *
 * There are two reasons for the threads. First, a program that writes several pipes may open and fill them in any
 * order, and it blocks on a pipe that is not read. Second, scoring threads and GPUs should not wait for a pipe. On the
 * CPU, the caller reads files itself, because they are mapped. It also reads a single pipe itself if only one thread
 * scores.
 *
 * "Fed" videos are those that a thread reads. Without READ_AHEAD (see system.h), these functions do nothing and no
 * video is fed.
 */
#ifndef TOOL_PIPES_H
#define TOOL_PIPES_H

#include "session.h"
#include "video.h"

/* Creates the lock of a session if it does not exist yet. Returns whether it exists. */
int tool_make_lock(session *all);

/* Starts a thread for each video with is_pipe[i] != 0. The thread opens the video unless is_open is 1. If a thread
 * cannot be started, the caller reads the video. */
void tool_make_feeds(session *all, const int *is_pipe, int is_open);

/* Starts threads for the pipes if there are several pipes, or if several threads score. */
void tool_start_feeds(session *all);

/* Whether a thread reads video i. */
int tool_is_fed(const session *all, int i);

/* Waits until all pipes are open. Returns the index of a video that could not be opened, or -1. */
int tool_wait_for_feeds(session *all);

/* Waits for the next frame of a pipe. The frame is valid until the next call for this video. */
video_result tool_next_fed_frame(session *all, int i, vmafgpu_frame *frame);

/* Ends the threads. */
void tool_stop_feeds(session *all);

/* Destroys the lock. */
void tool_drop_lock(session *all);

#endif /* TOOL_PIPES_H */
