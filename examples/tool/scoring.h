/* scoring.h: the scoring loop: reads pairs and gives them to the library. */
#ifndef TOOL_SCORING_H
#define TOOL_SCORING_H

#include "options.h"
#include "session.h"

#include <stdint.h>

typedef struct scoring {
    int64_t frames; /* pairs that were pushed */
    double seconds;
    int intact; /* 0: an error, already reported, cut the clip short */
} scoring;

/* Reads and pushes pairs until one video ends, something goes wrong, or --frame_cnt is reached, and waits for the
 * scores. */
scoring tool_score_videos(session *all, const options *o);

#endif /* TOOL_SCORING_H */
