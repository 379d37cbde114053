/* readers.h: reads files with several threads while a GPU scores frames.
 *
 * The threads read parts of the next frames into buffers that the contexts lend. They locate frames in order, under the
 * lock, and read parts in any order. The caller takes the pairs in order.
 *
 * A session is "pooled" if such threads read its files. Without READ_AHEAD (see system.h), these functions do nothing
 * and no session is pooled.
 */
#ifndef TOOL_READERS_H
#define TOOL_READERS_H

#include "session.h"

/* Waits for the next pair, which is in lent buffers. Returns 0 if the library fails to lend buffers. */
int tool_next_pooled_pair(session *all, pair *now);

/* Starts the threads once a GPU is open. Their number is one less than config.threads, because the caller also reads
 * while it waits. If the buffers cannot be set up, the caller reads frame by frame. */
void tool_start_pool(session *all);

/* Whether threads read files for a GPU. */
int tool_is_pooled(const session *all);

/* Ends the threads. Must be called before the contexts are closed, because the threads write to lent buffers. */
void tool_stop_pool(session *all);

#endif /* TOOL_READERS_H */
