/* run.h: scores and reports what the options say, from opening the videos to closing them. */
#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "options.h"

/* Scores and reports what the options say. 0 after a message, or after warnings with --strict. */
int tool_score(options *o);

#endif /* TOOL_RUN_H */
