/* html.h: writes the page of --html, a single file without external resources.
 *
 * The page contains its data as JSON, curves as 32-bit floats in base64, and pictures as PNG. The script that draws the
 * page is in html_page.h. For long clips, each point of a curve is the minimum and maximum of several frames, so that
 * the file is smaller than 5 MB.
 */
#ifndef HTML_H
#define HTML_H

#include "png.h"
#include "scores.h"

#include <stdint.h>
#include <stdio.h>

enum {
    HTML_CURVES = 2 << 20, /* maximum size of all curves in bytes, before base64 */
    HTML_BINS = 50,        /* number of bins of a histogram */
    HTML_BARS = 1500,      /* maximum number of bars; in longer clips, each bar covers more rows */
    HTML_SHOTS = 4000,     /* maximum number of shots; if there are more, the page shows none */
    HTML_WORST = 6,        /* maximum number of worst frames */
    HTML_PICTURES = 4      /* maximum number of pictures per frame */
};

typedef struct html_frame {
    int64_t row;
    double score;
    png_bytes pictures[HTML_PICTURES]; /* reference, distorted, difference, slopes; empty if there is no picture */
    char slopes_range[16];             /* the end of the scale of the slopes, such as 5e-4 */
} html_frame;

/* The rows of a shot, from `first` to before `end`. */
typedef struct html_shot {
    int64_t first, end;
} html_shot;

typedef struct html_video {
    const char *name;
    scores figures;
    html_frame worst[HTML_WORST];
    int worst_count;
} html_video;

/* A file that was read, with its hash (XXH64) if has_hash is set. */
typedef struct html_input {
    const char *what, *name;
    uint64_t size, hash;
    int has_hash;
} html_input;

typedef struct html_page {
    FILE *out;
    const char *version, *libvmaf, *command, *backend, *reference;
    double fps;
    int width, height, rate_num, rate_den; /* rate_num is 0 if the rate is unknown */
    int64_t step;                          /* number of frames per row, from --subsample */
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

/* Finds the `most` rows with the lowest values of a column, at least `apart` rows from each other. Returns their
 * number. */
int html_find_worst(const scores *s, int column, int most, int64_t apart, html_frame *out);

/* Writes the page to p->out. */
void html_write(const html_page *p);

/* Returns the shots of a clip. distances[i] is the distance between the pictures of rows i - 1 and i; distances[0] is
 * ignored. A cut is a distance far above its neighbours. The caller frees the list. Returns NULL if memory is short. */
html_shot *html_find_shots(const float *distances, int64_t rows, int64_t *count);

#endif /* HTML_H */
