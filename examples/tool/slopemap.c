/* slopemap.c: see slopemap.h. */
#include "slopemap.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOPEMAP_COLOURS = 2 * SLOPEMAP_STEPS + 1,
    SLOPEMAP_PAPER = SLOPEMAP_COLOURS, /* the colours of the legend follow those of the scale */
    SLOPEMAP_INK,
    SLOPEMAP_PALETTE,
    SLOPEMAP_LINE = 40,         /* height of the legend, in dots */
    SLOPEMAP_PIXELS_A_DOT = 640 /* a dot of the legend has one pixel for each 640 pixels of width */
};

slopemap_range slopemap_choose_range(const float *slopes, size_t count) {
    enum { BINS = 1 << 15, LEAST = -30, PERCENT_BEYOND = 1 };
    static const int digits[] = { 1, 2, 5 };
    slopemap_range range = { 1, 0, 1 };
    size_t *bins = (size_t *)calloc(BINS, sizeof *bins), beyond = 0;
    int bin = BINS - 1;
    /* The upper half of the bits of positive floats is in the order of the floats. */
    for (size_t i = 0; bins && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &slopes[i], sizeof bits);
        bins[bits >> 16 & (BINS - 1)]++;
    }
    while (bins && bin > 0 && (beyond += bins[bin]) <= count / 100 * PERCENT_BEYOND)
        bin--;
    free(bins);
    if (!bins || bin == 0)
        return range;
    float end;
    const uint32_t bits = (uint32_t)bin << 16 | 0xffff;
    memcpy(&end, &bits, sizeof end);
    double unit = 1;
    for (range.power = 0; range.power > LEAST && unit >= end; range.power--)
        unit /= 10;
    for (int i = 0;; i++) {
        range.digit = digits[i % 3];
        range.value = range.digit * unit;
        if (range.value >= end || end - end != 0)
            return range;
        if (i % 3 == 2) {
            range.power++;
            unit *= 10;
        }
    }
}

int slopemap_index(double slope, const slopemap_range *range) {
    const double at = slope / range->value * SLOPEMAP_STEPS;
    if (!(fabs(at) < SLOPEMAP_STEPS))
        return at > 0 ? 2 * SLOPEMAP_STEPS : at < 0 ? 0 : SLOPEMAP_STEPS;
    return SLOPEMAP_STEPS + (at < 0 ? -(int)(0.5 - at) : (int)(at + 0.5));
}

static void slopemap_fill_palette(unsigned char (*palette)[3]) {
    /* From 0 to the end of the scale, in equal steps. */
    static const unsigned char sides[2][4][3] = {
        { { 250, 250, 250 }, { 150, 190, 235 }, { 50, 110, 190 }, { 15, 35, 95 } },
        { { 250, 250, 250 }, { 250, 180, 130 }, { 214, 80, 50 }, { 110, 10, 30 } },
    };
    enum { PART = SLOPEMAP_STEPS / 3 };
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i <= SLOPEMAP_STEPS; i++) {
            const int part = i < SLOPEMAP_STEPS ? i / PART : 2, after = i - part * PART;
            for (int k = 0; k < 3; k++)
                palette[side ? SLOPEMAP_STEPS + i : SLOPEMAP_STEPS - i][k] =
                    (unsigned char)((sides[side][part][k] * (PART - after) + sides[side][part + 1][k] * after +
                                     PART / 2) /
                                    PART);
        }
    }
    memset(palette[SLOPEMAP_PAPER], 255, 3);
    memset(palette[SLOPEMAP_INK], 30, 3);
}

/* ---- the legend ---- */

typedef struct slopemap_canvas {
    unsigned char *pixels;
    int width, dot; /* size of a dot in pixels */
} slopemap_canvas;

static void slopemap_box(const slopemap_canvas *c, int x, int y, int width, int height, int colour) {
    for (int row = y; row < y + height; row++)
        memset(c->pixels + (size_t)row * (size_t)c->width + x, colour, (size_t)width);
}

/* Draws text with characters of 5x7 dots. */
static void slopemap_text(const slopemap_canvas *c, int x, int y, const char *text) {
    static const struct {
        char letter;
        unsigned char rows[7]; /* five bits each, from left to right */
    } font[] = {
        { '0', { 14, 17, 19, 21, 25, 17, 14 } }, { '1', { 4, 12, 4, 4, 4, 4, 14 } },
        { '2', { 14, 17, 1, 2, 4, 8, 31 } },     { '3', { 31, 2, 4, 2, 1, 17, 14 } },
        { '5', { 31, 16, 30, 1, 1, 17, 14 } },   { '4', { 2, 6, 10, 18, 31, 2, 2 } },
        { '6', { 6, 8, 16, 30, 17, 17, 14 } },   { '7', { 31, 1, 2, 4, 8, 8, 8 } },
        { '8', { 14, 17, 17, 14, 17, 17, 14 } }, { '9', { 14, 17, 17, 15, 1, 2, 12 } },
        { '+', { 0, 4, 4, 31, 4, 4, 0 } },       { '-', { 0, 0, 0, 31, 0, 0, 0 } },
        { 'A', { 14, 17, 17, 31, 17, 17, 17 } }, { 'C', { 14, 17, 16, 16, 16, 17, 14 } },
        { 'D', { 28, 18, 17, 17, 17, 18, 28 } }, { 'E', { 31, 16, 16, 30, 16, 16, 31 } },
        { 'F', { 31, 16, 16, 30, 16, 16, 16 } }, { 'I', { 14, 4, 4, 4, 4, 4, 14 } },
        { 'L', { 16, 16, 16, 16, 16, 16, 31 } }, { 'M', { 17, 27, 21, 21, 17, 17, 17 } },
        { 'N', { 17, 17, 25, 21, 19, 17, 17 } }, { 'O', { 14, 17, 17, 17, 17, 17, 14 } },
        { 'P', { 30, 17, 17, 30, 16, 16, 16 } }, { 'R', { 30, 17, 17, 30, 20, 18, 17 } },
        { 'S', { 15, 16, 16, 14, 1, 1, 30 } },   { 'T', { 31, 4, 4, 4, 4, 4, 4 } },
        { 'U', { 17, 17, 17, 17, 17, 17, 14 } }, { 'V', { 17, 17, 17, 17, 17, 10, 4 } },
    };
    for (; *text; text++, x += 6 * c->dot)
        for (size_t i = 0; i < sizeof font / sizeof font[0]; i++)
            for (int k = 0; font[i].letter == *text && k < 35; k++)
                if (font[i].rows[k / 5] >> (4 - k % 5) & 1)
                    slopemap_box(c, x + k % 5 * c->dot, y + k / 5 * c->dot, c->dot, c->dot, SLOPEMAP_INK);
}

static int slopemap_full_width(int width) {
    return width > SLOPEMAP_LEAST_WIDTH ? width : SLOPEMAP_LEAST_WIDTH;
}

static int slopemap_dot(int width) {
    return width >= 2 * SLOPEMAP_PIXELS_A_DOT ? width / SLOPEMAP_PIXELS_A_DOT : 1;
}

int slopemap_legend_height(int width) {
    return SLOPEMAP_LINE * slopemap_dot(width);
}

static void slopemap_draw_legend(const slopemap_canvas *c, int y, const slopemap_range *range) {
    static const char unit[] = "VMAF POINTS PER CODE VALUE";
    char end[16];
    const int dot = c->dot, letter = 6 * dot, left = 8 * dot, right = c->width - 8 * dot;
    for (int x = left; x < right; x++)
        slopemap_box(c, x, y + 5 * dot, 1, 9 * dot,
                     (int)((int64_t)(x - left) * (SLOPEMAP_COLOURS - 1) / (right - left - 1)));
    snprintf(end, sizeof end, "+%dE%d", range->digit, range->power);
    slopemap_text(c, right - (int)strlen(end) * letter + dot, y + 18 * dot, end);
    end[0] = '-';
    slopemap_text(c, left, y + 18 * dot, end);
    slopemap_text(c, (c->width - 5 * dot) / 2, y + 18 * dot, "0");
    slopemap_text(c, (c->width - (int)strlen(unit) * letter) / 2, y + 29 * dot, unit);
}

void slopemap_draw(png_bytes *out, const float *slopes, int width, int height) {
    const slopemap_range range = slopemap_choose_range(slopes, (size_t)width * (size_t)height);
    slopemap_canvas c = { NULL, slopemap_full_width(width), slopemap_dot(width) };
    const int full_height = height + slopemap_legend_height(width);
    unsigned char palette[SLOPEMAP_PALETTE][3];
    c.pixels = (unsigned char *)malloc((size_t)c.width * (size_t)full_height);
    if (!c.pixels) {
        out->failed = 1;
        return;
    }
    memset(c.pixels, SLOPEMAP_PAPER, (size_t)c.width * (size_t)full_height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            c.pixels[(size_t)y * (size_t)c.width + (size_t)x] =
                (unsigned char)slopemap_index(slopes[(size_t)y * (size_t)width + (size_t)x], &range);
    slopemap_draw_legend(&c, height, &range);
    slopemap_fill_palette(palette);
    png_write_indexed(out, c.pixels, c.width, full_height, (const unsigned char(*)[3])palette, SLOPEMAP_PALETTE);
    free(c.pixels);
}

void slopemap_draw_small(png_bytes *out, const float *slopes, int width, int height, int small_width,
                         slopemap_range *range) {
    small_width = small_width < width ? small_width : width;
    int small_height = (int)((int64_t)height * small_width / width);
    small_height = small_height > 0 ? small_height : 1;
    const size_t count = (size_t)small_width * (size_t)small_height;
    unsigned char *pixels = (unsigned char *)malloc(count), palette[SLOPEMAP_PALETTE][3];
    float *means = (float *)malloc(count * sizeof *means);
    for (int y = 0; y < small_height && pixels && means; y++) {
        const int top = (int)((int64_t)y * height / small_height),
                  bottom = (int)((int64_t)(y + 1) * height / small_height);
        for (int x = 0; x < small_width; x++) {
            const int left = (int)((int64_t)x * width / small_width),
                      right = (int)((int64_t)(x + 1) * width / small_width);
            double sum = 0, squares = 0;
            for (int v = top; v < bottom; v++) {
                for (int u = left; u < right; u++) {
                    const double slope = slopes[(size_t)v * (size_t)width + (size_t)u];
                    sum += slope;
                    squares += slope * slope;
                }
            }
            const double size = sqrt(squares / ((double)(right - left) * (bottom - top)));
            means[(size_t)y * (size_t)small_width + (size_t)x] = (float)(sum < 0 ? -size : size);
        }
    }
    out->failed |= !pixels || !means;
    if (pixels && means) {
        *range = slopemap_choose_range(means, count);
        for (size_t i = 0; i < count; i++)
            pixels[i] = (unsigned char)slopemap_index(means[i], range);
        slopemap_fill_palette(palette);
        png_write_indexed(out, pixels, small_width, small_height, (const unsigned char(*)[3])palette, SLOPEMAP_PALETTE);
    }
    free(pixels);
    free(means);
}
