/* state.h: keeps the scored rows for --state and --segment, and writes the state. rows.h describes the file format. */
#ifndef TOOL_STATE_H
#define TOOL_STATE_H

#include "options.h"
#include "scoring.h"
#include "session.h"

#include <stdio.h>

/* Fills in the description of the run in the rows. Returns 0 after an error message. */
int tool_describe_rows(session *all, const options *o);

/* Prepares --state and --segment, after the contexts are open. Returns 0 after an error message. */
int tool_begin_rows(session *all, const options *o);

/* Copies finished rows from the contexts and writes them to the state. Returns 0 after an error message. */
int tool_collect_rows(session *all);

/* Closes the state and frees the rows. */
void tool_end_rows(session *all);

/* Writes the rows of a segment; `user` is a rows_file. */
void tool_write_rows(FILE *out, void *user);

/* Sets the final values of the rows and writes the last line of the state. Returns 0 after an error message. */
int tool_finish_rows(session *all, const scoring *s);

/* Whether a finished row has no score. */
int tool_has_lost_rows(const session *all, const options *o);

#endif /* TOOL_STATE_H */
