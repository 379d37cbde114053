/* run.h: runs the program with the given options: opens the videos, scores them, writes the output and closes them. */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "options.h"

/* Scores the videos and writes the output. Returns 0 after an error message, or after a warning with --strict. */
int tool_score(options *o);

#endif /* TOOL_RUN_H */
