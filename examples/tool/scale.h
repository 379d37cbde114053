/* scale.h: scales planes of 8 to 16 bits in integer arithmetic, so that all machines compute the same samples.
 *
 * The first pass scales rows; the second scales columns. Sample i of the result is at (i + 1/2) * from / to - 1/2 in
 * the source. The weight of a source sample is the kernel at its distance t. If the result is smaller than the source,
 * t is divided by from / to.
 *     bicubic   7 t^3 - 12 t^2 + 5 (t < 1), -3 t^3 + 15 t^2 - 24 t + 12 (t < 2): B = 0, C = 0.6, as in ffmpeg
 *     lanczos   sin(pi t) sin(pi t / 3) / t^2 (t < 3)
 * t is truncated to a multiple of 2^-26. Its powers and sines are fixed-point numbers, truncated after each product.
 * Source samples outside the picture repeat the edge. The weights are rounded to integers, half up. Then the largest
 * weight is adjusted so that their sum is 2^14. Nothing is rounded between the passes. The result is (sum + 2^27) /
 * 2^28, truncated and clipped. Chroma planes are scaled like luma, with chroma samples in the centre of their luma
 * samples.
 */
#ifndef SCALE_H
#define SCALE_H

#include "video.h"

#include <stddef.h>
#include <stdint.h>

typedef enum scale_kernel { SCALE_NONE, SCALE_BICUBIC, SCALE_LANCZOS } scale_kernel;

enum { SCALE_T = 26, SCALE_SINE = 30, SCALE_WEIGHT = 14 };

/* For each sample of the result, the first source sample, and the weights of `taps` source samples. */
typedef struct scale_axis {
    int from, to, taps;
    int *first;
    int32_t *weights;
} scale_axis;

/* A plane in memory. */
typedef struct scale_plane {
    unsigned char *data;
    ptrdiff_t pitch;
    int bytes; /* bytes per sample */
    int step;  /* 2 if two planes are interleaved, otherwise 1 */
    int shift; /* number of unused low bits of a sample */
} scale_plane;

/* Returns the kernel at t, multiplied by a constant. */
int64_t scale_weight(scale_kernel kernel, int64_t t);

void scale_axis_close(scale_axis *a);

/* Computes the weights. Returns 0 if there is not enough memory. */
int scale_axis_open(scale_axis *a, scale_kernel kernel, int from, int to);

/* Returns the size of the scratch memory of scale_run() in bytes. */
size_t scale_scratch(const scale_axis *x, const scale_axis *y);

/* Scales a plane. `peak` is the largest value of a sample. */
void scale_run(const scale_axis *x, const scale_axis *y, const scale_plane *in, const scale_plane *out, int peak,
               void *scratch);

typedef struct scaler {
    int width, height;
    scale_axis x[2], y[2]; /* luma and chroma */
    unsigned char *planes;
    void *scratch;
    vmafgpu_frame frame; /* the last result */
} scaler;

void scaler_close(scaler *s);

/* Prepares to scale frames of `v` to width x height. Returns 0 if there is not enough memory. scaler_close() must be
 * called even on failure. */
int scaler_open(scaler *s, scale_kernel kernel, const video *v, int width, int height);

/* Returns the scaled frame, which is valid until the next call. */
vmafgpu_frame scaler_frame(scaler *s, const video *v, const vmafgpu_frame *frame);

#endif /* SCALE_H */
