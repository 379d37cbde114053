/* page.h: --html: collects what a page shows. The page itself is written in html.h. */
#ifndef TOOL_PAGE_H
#define TOOL_PAGE_H

#include "figures.h"
#include "options.h"
#include "scores.h"
#include "session.h"

/* Copies the figures. 0: no memory. */
int tool_copy_scores(const figures *f, scores *s);

/* Writes the page. 0 after a message. */
int tool_report_page(const session *all, options *o, const figures *reports);

#endif /* TOOL_PAGE_H */
