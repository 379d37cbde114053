/* cut.h: which frames of a video, and which part of them: --from, --to and --crop. */
#ifndef CUT_H
#define CUT_H

#include "video.h"

#include <stdint.h>

/* A frame's number, or a time in microseconds. */
typedef struct cut_point {
    int is_given, is_time;
    int64_t value;
} cut_point;

/* Digits up to `most`; -1: none, or too many. */
int64_t cut_digits(const char **text, int64_t most);

/* "120" is a frame; "12.5s", "1:02.5" and "1:00:02" are times. */
int cut_parse(cut_point *p, const char *text);

/* The first frame at or after it. */
int64_t cut_frame(const cut_point *p, int rate_num, int rate_den);

typedef struct cut_window {
    int is_given, is_centred;
    int width, height, x, y;
} cut_window;

/* WIDTH:HEIGHT or WIDTH:HEIGHT:X:Y. */
int cut_parse_window(cut_window *w, const char *text);

/* Puts a centred window into the middle, on a chroma sample. */
void cut_centre(cut_window *w, const video *v);

/* Does it lie on chroma samples of this video? */
int cut_is_on_grid(const cut_window *w, const video *v);

/* The part of a frame of `v` (or of one with its format) that is in the window. */
vmafgpu_frame cut_picture(const cut_window *w, const video *v, vmafgpu_frame frame);

#endif /* CUT_H */
