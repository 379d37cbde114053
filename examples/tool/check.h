/* check.h: checks that the options fit together and that no report overwrites an input. */
#ifndef TOOL_CHECK_H
#define TOOL_CHECK_H

#include "options.h"

/* Checks the options and sets defaults. Returns 0 after an error message. */
int tool_check_options(options *o);

#endif /* TOOL_CHECK_H */
