/* join.h: --join: segments that were scored elsewhere, put together. */
#ifndef TOOL_JOIN_H
#define TOOL_JOIN_H

#include "options.h"

/* Joins the segments and reports them. 0 after a message. */
int tool_join(options *o);

#endif /* TOOL_JOIN_H */
