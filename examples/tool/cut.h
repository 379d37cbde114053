/* cut.h: parses --from, --to and --crop, and selects a part of a picture. */
#ifndef CUT_H
#define CUT_H

#include "video.h"

#include <stdint.h>

/* A frame number, or a time in microseconds if is_time is set. */
typedef struct cut_point {
    int is_given, is_time;
    int64_t value;
} cut_point;

/* Parses digits and advances *text. Returns -1 if there are none or if the value exceeds `most`. */
int64_t cut_digits(const char **text, int64_t most);

/* Parses a frame number such as "120", or a time such as "12.5s", "1:02.5" or "1:00:02". Returns 0 if it is neither. */
int cut_parse(cut_point *p, const char *text);

/* Returns the number of the first frame at or after a point. */
int64_t cut_frame(const cut_point *p, int rate_num, int rate_den);

typedef struct cut_window {
    int is_given, is_centred;
    int width, height, x, y;
} cut_window;

/* Parses WIDTH:HEIGHT or WIDTH:HEIGHT:X:Y. Returns 0 if the text is neither. */
int cut_parse_window(cut_window *w, const char *text);

/* Sets the position of a centred window in the pictures of `v`, rounded down to a chroma sample. */
void cut_centre(cut_window *w, const video *v);

/* Whether the window begins on a chroma sample of `v`. */
int cut_is_on_grid(const cut_window *w, const video *v);

/* Returns the part of a frame inside the window. The frame has the format of `v`. */
vmafgpu_frame cut_picture(const cut_window *w, const video *v, vmafgpu_frame frame);

#endif /* CUT_H */
