/* output.h: writes and prints everything that was asked for: reports, the page, curves and tables in the terminal. */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include "figures.h"
#include "options.h"
#include "session.h"

/* Writes and prints everything that is asked for. 0 after a message. */
int tool_report_all(const session *all, options *o, figures *reports, int count);

#endif /* TOOL_OUTPUT_H */
