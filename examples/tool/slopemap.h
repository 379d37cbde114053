/* slopemap.h: draws slopes, the derivatives of the score with respect to each luma sample, as PNG pictures.
 *
 * A red sample raises the score if its value increases, a blue sample if its value decreases. White is 0. The scale
 * ends at 1, 2 or 5 times a power of ten. About one sample in a hundred lies beyond its end, so that a few large slopes
 * do not hide all others.
 */
#ifndef SLOPEMAP_H
#define SLOPEMAP_H

#include "png.h"

#include <stddef.h>

enum {
    SLOPEMAP_STEPS = 120,      /* number of colours on each side of 0 */
    SLOPEMAP_LEAST_WIDTH = 256 /* narrower pictures get a margin on the right, with space for the legend */
};

/* The end of a scale. `value` is digit * 10 ^ power. */
typedef struct slopemap_range {
    int digit, power;
    double value;
} slopemap_range;

/* Chooses the scale for `count` slopes. */
slopemap_range slopemap_choose_range(const float *slopes, size_t count);

/* Returns the index of the colour of a slope, 0..2 * SLOPEMAP_STEPS. The colour of 0 is SLOPEMAP_STEPS. */
int slopemap_index(double slope, const slopemap_range *range);

/* Returns the height of the legend below a picture. */
int slopemap_legend_height(int width);

/* Draws each sample as a pixel. The legend shows the colours of the scale, and its ends in points per code value. */
void slopemap_draw(png_bytes *out, const float *slopes, int width, int height);

/* Draws a small picture without a legend, and sets *range. Each pixel shows the root mean square of the slopes in its
 * area, with the sign of their sum. In a mean, slopes of both signs would cancel. */
void slopemap_draw_small(png_bytes *out, const float *slopes, int width, int height, int small_width,
                         slopemap_range *range);

#endif /* SLOPEMAP_H */
