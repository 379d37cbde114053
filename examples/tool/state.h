/* state.h: --state and --segment: rows that were scored, in memory and in the state's file. The format is in rows.h. */
#ifndef TOOL_STATE_H
#define TOOL_STATE_H

#include "options.h"
#include "scoring.h"
#include "session.h"

#include <stdio.h>

/* Sets what the rows are of. 0 after a message. */
int tool_describe_rows(session *all, const options *o);

/* Sets up what --state and --segment need; the contexts are open. 0 after a message. */
int tool_begin_rows(session *all, const options *o);

/* Takes the rows that are ready out of the contexts, and writes them to the state. 0 after a message. */
int tool_collect_rows(session *all);

/* Closes the state and frees the rows. */
void tool_end_rows(session *all);

/* Writes the rows of a segment; `user` is a rows_file. */
void tool_write_rows(FILE *out, void *user);

/* Sets what is known of the rows in the end, and writes it to the state. 0 after a message. */
int tool_finish_rows(session *all, const scoring *s);

/* Whether there is a frame without a score. */
int tool_has_lost_rows(const session *all, const options *o);

#endif /* TOOL_STATE_H */
