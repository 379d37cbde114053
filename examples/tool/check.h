/* check.h: whether the options fit together, and no output is an input. */
#ifndef TOOL_CHECK_H
#define TOOL_CHECK_H

#include "options.h"

/* Checks the options and fills in defaults. 0 after a message. */
int tool_check_options(options *o);

#endif /* TOOL_CHECK_H */
