/* thumbnail.c: see thumbnail.h. */
#include "thumbnail.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns a sample in units of 1/256 of an 8-bit level. Plane 0 is luma, 1 and 2 are chroma. */
static int thumbnail_sample(const thumbnail_source *s, int plane, int x, int y) {
    const video *v = s->v;
    int is_pair = plane > 0 && v->layout != VMAFGPU_LAYOUT_PLANAR, stored = is_pair ? 1 : plane,
        bytes = v->bytes_per_sample;
    const unsigned char *p = (const unsigned char *)s->frame->data[stored] + y * s->frame->pitch[stored] +
                             (ptrdiff_t)((is_pair ? 2 * x + (plane == 2) : x) * bytes);
    if (bytes == 1)
        return p[0] << 8;
    int value = p[0] | p[1] << 8;
    return v->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? value : value << (16 - v->bit_depth);
}

/* Returns the mean of a plane over the area that pixel (x, y) of the small picture covers, in 8-bit levels. */
static double thumbnail_mean(const thumbnail_source *s, int plane, int x, int y, int width, int height) {
    int across = plane ? s->v->sampling.chroma_x : 1, down = plane ? s->v->sampling.chroma_y : 1;
    int full_width = (s->width + across - 1) / across, full_height = (s->height + down - 1) / down;
    int left = (int)((int64_t)x * full_width / width), right = (int)((int64_t)(x + 1) * full_width / width);
    int top = (int)((int64_t)y * full_height / height), bottom = (int)((int64_t)(y + 1) * full_height / height);
    int64_t sum = 0;
    right = right > left ? right : left + 1;
    bottom = bottom > top ? bottom : top + 1;
    for (int v = top; v < bottom; v++)
        for (int u = left; u < right; u++)
            sum += thumbnail_sample(s, plane, u, v);
    return (double)sum / 256 / (double)((int64_t)(right - left) * (bottom - top));
}

static int thumbnail_height(const thumbnail_source *s, int *width) {
    *width = *width < s->width ? *width : s->width;
    int height = (int)((int64_t)s->height * *width / s->width);
    return height > 0 ? height : 1;
}

static unsigned char thumbnail_byte(double value) {
    return (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5);
}

void thumbnail_colour(png_bytes *out, const thumbnail_source *s, int width) {
    int height = thumbnail_height(s, &width), has_chroma = s->v->chroma_bytes > 0,
        is_full = s->v->range == VIDEO_RANGE_FULL;
    double kr = s->v->height >= 720 ? 0.2126 : 0.299, kb = s->v->height >= 720 ? 0.0722 : 0.114;
    unsigned char *pixels = (unsigned char *)malloc((size_t)width * (size_t)height * 3), *to = pixels;
    for (int y = 0; y < height && pixels; y++) {
        for (int x = 0; x < width; x++, to += 3) {
            double luma = thumbnail_mean(s, 0, x, y, width, height);
            double u = has_chroma ? thumbnail_mean(s, 1, x, y, width, height) - 128 : 0;
            double v = has_chroma ? thumbnail_mean(s, 2, x, y, width, height) - 128 : 0;
            luma = is_full ? luma : (luma - 16) * 255 / 219;
            u *= 2 * (1 - kb) * (is_full ? 1 : 255.0 / 224);
            v *= 2 * (1 - kr) * (is_full ? 1 : 255.0 / 224);
            to[0] = thumbnail_byte(luma + v);
            to[1] = thumbnail_byte(luma - (kr * v + kb * u) / (1 - kr - kb));
            to[2] = thumbnail_byte(luma + u);
        }
    }
    if (pixels)
        png_write(out, pixels, width, height, 3);
    free(pixels);
}

void thumbnail_difference(png_bytes *out, const thumbnail_source *a, const thumbnail_source *b, int width) {
    int height = thumbnail_height(a, &width);
    unsigned char *pixels = (unsigned char *)malloc((size_t)width * (size_t)height), *to = pixels;
    for (int y = 0; y < height && pixels; y++) {
        int top = (int)((int64_t)y * a->height / height), bottom = (int)((int64_t)(y + 1) * a->height / height);
        for (int x = 0; x < width; x++) {
            int left = (int)((int64_t)x * a->width / width), right = (int)((int64_t)(x + 1) * a->width / width);
            int64_t sum = 0;
            for (int v = top; v < bottom; v++)
                for (int u = left; u < right; u++)
                    sum += abs(thumbnail_sample(a, 0, u, v) - thumbnail_sample(b, 0, u, v));
            *to++ = thumbnail_byte(4 * (double)sum / 256 / (double)((int64_t)(right - left) * (bottom - top)));
        }
    }
    if (pixels)
        png_write(out, pixels, width, height, 1);
    free(pixels);
}
