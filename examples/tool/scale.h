/* scale.h: scales planes of 8 to 16 bits, in integers alone: every machine and compiler makes the same samples.
 *
 * Two passes, first along rows, then along columns. A sample of the result at i lies at (i + 1/2) * from / to - 1/2;
 * the samples around it count by the kernel of their distance t, which is divided by from / to where the picture gets
 * smaller:
 *     bicubic   7 t^3 - 12 t^2 + 5 (t < 1), -3 t^3 + 15 t^2 - 24 t + 12 (t < 2): B = 0, C = 0.6, as ffmpeg's
 *     lanczos   sin(pi t) sin(pi t / 3) / t^2 (t < 3)
 * t is cut off to a multiple of 2^-26; t, its powers and sines are fixed-point numbers, cut off after each product.
 * Samples outside repeat the edge. The weights are made integers that sum to 2^14, rounded half up, the largest one
 * taking what is missing. Nothing is rounded between the passes; the end is (sum + 2^27) / 2^28, cut off and clipped.
 * Planes are scaled one by one, chroma as luma, as if its samples lay in the middle of those of luma that share it.
 */
#ifndef SCALE_H
#define SCALE_H

#include "video.h"

#include <stddef.h>
#include <stdint.h>

typedef enum scale_kernel { SCALE_NONE, SCALE_BICUBIC, SCALE_LANCZOS } scale_kernel;

enum { SCALE_T = 26, SCALE_SINE = 30, SCALE_WEIGHT = 14 };

/* For each sample of the result the first one that counts, and the weights of it and those behind it. */
typedef struct scale_axis {
    int from, to, taps;
    int *first;
    int32_t *weights;
} scale_axis;

/* A plane as it lies in memory; of interleaved ones the samples are two apart. */
typedef struct scale_plane {
    unsigned char *data;
    ptrdiff_t pitch;
    int bytes, step, shift; /* of a sample; samples from one to the next; bits below the sample */
} scale_plane;

/* The kernel at t, up to a factor. */
int64_t scale_weight(scale_kernel kernel, int64_t t);

void scale_axis_close(scale_axis *a);

/* 0: no memory. */
int scale_axis_open(scale_axis *a, scale_kernel kernel, int from, int to);

/* Bytes that scale_run() works in. */
size_t scale_scratch(const scale_axis *x, const scale_axis *y);

void scale_run(const scale_axis *x, const scale_axis *y, const scale_plane *in, const scale_plane *out, int peak,
               void *scratch);

typedef struct scaler {
    int width, height;
    scale_axis x[2], y[2]; /* of luma, of chroma */
    unsigned char *planes;
    void *scratch;
    vmafgpu_frame frame; /* what was scaled last */
} scaler;

void scaler_close(scaler *s);

/* For frames of `v`. 0: no memory. scaler_close() is due whatever the result. */
int scaler_open(scaler *s, scale_kernel kernel, const video *v, int width, int height);

/* The frame, scaled; it stays until the next one. */
vmafgpu_frame scaler_frame(scaler *s, const video *v, const vmafgpu_frame *frame);

#endif /* SCALE_H */
