/* plan.h: --align: makes the plan of a session, that is, which frames correspond. The search itself is in align.h. */
#ifndef TOOL_PLAN_H
#define TOOL_PLAN_H

#include "session.h"

/* Makes the plan. 0 after a message. */
int tool_arrange_alignment(session *all);

#endif /* TOOL_PLAN_H */
