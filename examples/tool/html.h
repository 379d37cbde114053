/* html.h: a report to look at: one file of HTML without anything from elsewhere, with the figures in it as JSON, curves
 * as numbers of 32 bits in base64, pictures as PNG. What draws it stands in html_page.h.
 *
 * A curve of many frames is stored as the least and the largest of so many of them each, so that the file stays below 5
 * MB.
 */
#ifndef HTML_H
#define HTML_H

#include "png.h"
#include "scores.h"

#include <stdint.h>
#include <stdio.h>

enum {
    HTML_CURVES = 2 << 20, /* bytes of all curves, before base64 */
    HTML_BINS = 50,
    HTML_BARS = 1500,
    HTML_SHOTS = 4000,
    HTML_WORST = 6
};

typedef struct html_frame {
    int64_t row;
    double score;
    png_bytes pictures[3]; /* reference, distorted, difference; empty: there are none */
} html_frame;

typedef struct html_shot {
    int64_t first, end;
} html_shot;

typedef struct html_video {
    const char *name;
    scores figures;
    html_frame worst[HTML_WORST];
    int worst_count;
} html_video;

typedef struct html_input {
    const char *what, *name;
    uint64_t size, hash;
    int has_hash;
} html_input;

typedef struct html_page {
    FILE *out;
    const char *version, *libvmaf, *command, *backend, *reference;
    double fps;
    int width, height, rate_num, rate_den; /* rate 0: unknown */
    int64_t step;                          /* frames from one row to the next */
    int columns;
    const char *const *names;
    const int *score_columns;
    int score_count;
    const char *const *models;
    int model_count;
    html_video *videos;
    int video_count;
    const html_shot *shots;
    int64_t shot_count;
    const html_input *inputs;
    int input_count;
    const char *const *notes;
    int note_count;
} html_page;

/* The worst rows of a column, none of which is near another one. */
int html_find_worst(const scores *s, int column, int most, int64_t apart, html_frame *out);

void html_write(const html_page *p);

/* Shots from how far each row's picture is from the one before, distances[0] being nothing: a cut is far more than what
 * moves around it. To be freed; NULL: no memory. */
html_shot *html_find_shots(const float *distances, int64_t rows, int64_t *count);

#endif /* HTML_H */
