/* page.h: collects the data of the page for --html; html.h writes the page. */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include "figures.h"
#include "options.h"
#include "scores.h"
#include "session.h"

/* Copies the figures to `s`. Returns 0 if there is not enough memory. */
int tool_copy_scores(const figures *f, scores *s);

/* Writes the page. Returns 0 after an error message. */
int tool_report_page(const session *all, options *o, const figures *reports);

#endif /* TOOL_PAGE_H */
