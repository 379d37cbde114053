/* plan.h: makes the plan of a session for --align: the list of frames that correspond. The search is in align.h. */
#ifndef TOOL_PLAN_H
#define TOOL_PLAN_H

#include "session.h"

/* Makes the plan. Returns 0 after an error message. */
int tool_arrange_alignment(session *all);

#endif /* TOOL_PLAN_H */
