/* progress.c: see progress.h. */
#include "system.h"

#include "progress.h"
#include "message.h"
#include "options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <io.h>
#else
#include <unistd.h>
#endif

double tool_wall_clock(void) {
#ifdef _WIN32
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    return (double)ticks.QuadPart / (double)per_second.QuadPart;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
}

int tool_is_terminal(FILE *file) {
#ifdef _WIN32
    return _isatty(_fileno(file));
#else
    return isatty(fileno(file));
#endif
}

/* Returns an estimate of the remaining seconds, or a negative number if it is unknown. */
static double progress_left(progress *p, int64_t frames, double now) {
    int last = (p->marks + PROGRESS_MARKS - 1) % PROGRESS_MARKS;
    if (p->marks == 0 || now - p->times[last] >= 1) {
        p->times[p->marks % PROGRESS_MARKS] = now;
        p->frames[p->marks % PROGRESS_MARKS] = frames;
        p->marks++;
    }
    int first = p->marks > PROGRESS_MARKS ? p->marks % PROGRESS_MARKS : 0;
    double since = now - p->times[first] >= 1 ? p->times[first] : p->start;
    int64_t done = frames - (now - p->times[first] >= 1 ? p->frames[first] : 0);
    return p->total >= frames && done > 0 && now > since ? (double)(p->total - frames) * (now - since) / (double)done
                                                         : -1;
}

static void progress_json(double elapsed, int64_t frames, int64_t total, double left, int is_done) {
    fprintf(stderr, "{\"frames\":%lld,\"total\":", (long long)frames);
    fprintf(stderr, total >= 0 ? "%lld" : "null", (long long)total);
    fprintf(stderr, ",\"seconds\":%.3f,\"fps\":%.2f,\"left\":", elapsed, elapsed > 0 ? (double)frames / elapsed : 0);
    fprintf(stderr, left >= 0 ? "%.1f" : "null", left);
    fprintf(stderr, ",\"done\":%s}\n", is_done ? "true" : "false");
}

static void progress_line(progress *p, int64_t frames, double now, const char *backend) {
    char line[320];
    double elapsed = now - p->start;
    double speed = elapsed > 0 ? (double)frames / elapsed : 0, seconds = progress_left(p, frames, now);
    if (p->kind == PROGRESS_JSON) {
        progress_json(elapsed, frames, p->total, seconds, 0);
        p->shown = now;
        return;
    }
    int length = snprintf(line, sizeof line, "%lld frames, %.1f frames/s%s%s", (long long)frames, speed,
                          *backend ? ", " : "", backend);
    if (seconds >= 0) {
        long long left = (long long)(seconds + 0.5);
        length = snprintf(line, sizeof line, "%lld of %lld frames, %.1f frames/s, %lld:%02lld:%02lld left",
                          (long long)frames, (long long)p->total, speed, left / 3600, left / 60 % 60, left % 60);
    }
    fputc('\r', stderr);
    tool_put_text(stderr, line);
    fprintf(stderr, "%*s", p->width > length ? p->width - length : 0, ""); /* erase the rest of a longer line */
    fflush(stderr);
    p->width = length;
    p->shown = now;
}

void tool_progress_frame(progress *p, int64_t frames) {
    double now = p->kind != PROGRESS_NONE ? tool_wall_clock() : 0;
    if (p->kind != PROGRESS_NONE && now - p->shown >= (p->kind == PROGRESS_JSON ? 0.5 : 0.1))
        progress_line(p, frames, now, "");
}

void tool_backend_text(char *out, size_t size, const vmafgpu *context) {
    const char *name = vmafgpu_backend_name(context), *device = vmafgpu_device_name(context);
    snprintf(out, size, strcmp(name, "cpu") != 0 && *device ? "%s (%s)" : "%s", name, device);
}

void tool_progress_end(progress *p, int64_t frames, const options *o, const vmafgpu *context) {
    char backend[160];
    tool_backend_text(backend, sizeof backend, context);
    if (p->kind == PROGRESS_JSON) {
        progress_json(tool_wall_clock() - p->start, frames, p->total, 0, 1);
    } else if (p->kind == PROGRESS_LINE) {
        p->total = -1; /* so that the line shows no remaining time */
        progress_line(p, frames, tool_wall_clock(), backend);
        fputc('\n', stderr);
    } else if (o->names_backend && !o->quiet && *backend) {
        fputs("vmafgpu: backend ", stderr);
        tool_put_text(stderr, backend);
        fputc('\n', stderr);
    }
}

void tool_warn_of_fallback(const options *o, const vmafgpu *context) {
    const char *note = vmafgpu_backend_note(context);
    if (*note && (*vmafgpu_device_name(context) || o->kernels || o->gpu_count)) {
        char text[1024];
        tool_translate(text, sizeof text, note);
        tool_warn(strcmp(vmafgpu_backend_name(context), "cpu") == 0 ? "%s; the CPU took over"
                                                                    : "%s; other GPUs scored the rest",
                  text);
    }
}
