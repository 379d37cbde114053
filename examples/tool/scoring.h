/* scoring.h: runs the scoring loop, which reads pairs of frames and pushes them to the library. */
#ifndef TOOL_SCORING_H
#define TOOL_SCORING_H

#include "options.h"
#include "session.h"

#include <stdint.h>

typedef struct scoring {
    int64_t frames; /* number of scored pairs */
    double seconds;
    int intact;        /* 0 if an error ended the loop early; its message was printed */
    int is_cut;        /* the library refused a pair, so the clip was not flushed */
    int slopes_failed; /* slopes could not be computed or written; the message was printed, and scoring continued */
} scoring;

/* Reads and pushes pairs until a video ends, an error occurs, or --frame_cnt is reached. Then waits for the scores. */
scoring tool_score_videos(session *all, const options *o);

#endif /* TOOL_SCORING_H */
