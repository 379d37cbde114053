/* readers.h: threads that read files which a GPU scores.
 *
 * Several threads read parts of the next frames into memory that the contexts lend, as far ahead as they lend it.
 * Frames are found in order, under the lock; parts are read in any order; the caller takes pairs in order again.
 *
 * Without READ_AHEAD (see system.h) these functions do nothing, and no session is pooled.
 */
#ifndef TOOL_READERS_H
#define TOOL_READERS_H

#include "session.h"

/* The next pair of what threads read, in lent memory. 0: the library lends none. */
int tool_next_pooled_pair(session *all, pair *now);

/* Starts reading ahead for a GPU, as soon as there is one, with one thread fewer than there are to be: the caller
 * reads, too, while it waits. Where that fails, it reads frame by frame. */
void tool_start_pool(session *all);

/* Whether threads read files for a GPU. */
int tool_is_pooled(const session *all);

/* Before the contexts are closed: then nobody writes to their memory any more. */
void tool_stop_pool(session *all);

#endif /* TOOL_READERS_H */
