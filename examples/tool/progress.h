/* progress.h: the progress line or --progress json, and what ran in the end. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include "../../vmafgpu.h"

#include "options.h"

#include <stdint.h>
#include <stdio.h>

/* Seconds since some moment. */
double tool_wall_clock(void);

/* Whether a file is a terminal. */
int tool_is_terminal(FILE *file);

enum { PROGRESS_MARKS = 16 };

typedef struct progress {
    progress_kind kind;
    double start, shown;
    int64_t total; /* below 0: unknown */
    int width;     /* of the line that is on the screen */
    /* The latest times, a second or more apart, and the frames by then: what is left goes as fast as these went. */
    double times[PROGRESS_MARKS];
    int64_t frames[PROGRESS_MARKS];
    int marks;
} progress;

/* Shows how far scoring has come, if the last time is long enough ago. */
void tool_progress_frame(progress *p, int64_t frames);

/* "cpu" or "cuda (NVIDIA H200)"; "" without a context. */
void tool_backend_text(char *out, size_t size, const vmafgpu *context);

/* The last progress line, with what ran; that alone where there is no terminal and --backend was given. */
void tool_progress_end(progress *p, int64_t frames, const options *o, const vmafgpu *context);

/* Warns if a GPU that began the clip, or was named, did not score it: the scores are right, but late. */
void tool_warn_of_fallback(const options *o, const vmafgpu *context);

#endif /* TOOL_PROGRESS_H */
