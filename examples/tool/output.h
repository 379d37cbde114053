/* output.h: writes the requested reports and the page, and prints curves and tables. */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include "figures.h"
#include "options.h"
#include "session.h"

/* Writes and prints all requested output. Returns 0 after an error message. */
int tool_report_all(const session *all, options *o, figures *reports, int count);

#endif /* TOOL_OUTPUT_H */
