/* join.h: joins the segments that other runs scored (--join). */
#ifndef TOOL_JOIN_H
#define TOOL_JOIN_H

#include "options.h"

/* Joins the segments and writes the reports. Returns 0 after an error message. */
int tool_join(options *o);

#endif /* TOOL_JOIN_H */
