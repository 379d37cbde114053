/* progress.h: prints the progress line or the lines of --progress json, and the backend that was used. */
#ifndef TOOL_PROGRESS_H
#define TOOL_PROGRESS_H

#include "../../vmafgpu.h"

#include "options.h"

#include <stdint.h>
#include <stdio.h>

/* Returns the time of a monotonic clock in seconds. */
double tool_wall_clock(void);

/* Whether a file is a terminal. */
int tool_is_terminal(FILE *file);

enum { PROGRESS_MARKS = 16 };

typedef struct progress {
    progress_kind kind;
    double start, shown;
    int64_t total; /* number of frames; negative if unknown */
    int width;     /* length of the line on the screen */
    /* The latest times, at least a second apart, and the numbers of frames scored by then. The speed is computed from
     * them. */
    double times[PROGRESS_MARKS];
    int64_t frames[PROGRESS_MARKS];
    int marks;
} progress;

/* Prints the progress, at most every 0.1 s (0.5 s with --progress json). */
void tool_progress_frame(progress *p, int64_t frames);

/* Writes the backend and the device, such as "cpu" or "cuda (NVIDIA H200)"; "" without a context. */
void tool_backend_text(char *out, size_t size, const vmafgpu *context);

/* Prints the last progress line, with the backend. Without a progress line, it prints only the backend, if --backend
 * was given and --quiet was not. */
void tool_progress_end(progress *p, int64_t frames, const options *o, const vmafgpu *context);

/* Warns if another device took over from a GPU that failed, or if --gpu or --kernels was given but the CPU was used. */
void tool_warn_of_fallback(const options *o, const vmafgpu *context);

#endif /* TOOL_PROGRESS_H */
