/* scale.c: see scale.h. */
#include "scale.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns sin(pi u) for u in 0 .. 1/2. Both are fixed-point numbers with SCALE_SINE fractional bits. */
static int64_t scale_sine_quarter(int64_t u) {
    const int64_t pi = 3373259426; /* floor(pi * 2^30) */
    int64_t x = (u * pi) >> SCALE_SINE, square = (x * x) >> SCALE_SINE, term = x, sum = x;
    for (int n = 2; n <= 14; n += 2) {
        term = -((term * square) >> SCALE_SINE) / (n * (n + 1));
        sum += term;
    }
    return sum;
}

/* Returns sin(pi u) for u >= 0. */
static int64_t scale_sine(int64_t u) {
    const int64_t one = (int64_t)1 << SCALE_SINE;
    int64_t rest = u % one, sine = scale_sine_quarter(rest > one / 2 ? one - rest : rest);
    return u / one % 2 ? -sine : sine;
}

int64_t scale_weight(scale_kernel kernel, int64_t t) {
    const int64_t one = (int64_t)1 << SCALE_T, pi = 3373259426;
    int64_t square = (t * t) >> SCALE_T, cube = (square * t) >> SCALE_T;
    if (kernel == SCALE_BICUBIC) {
        return t < one       ? 7 * cube - 12 * square + 5 * one
               : t < 2 * one ? -3 * cube + 15 * square - 24 * t + 12 * one
                             : 0;
    }
    if (t >= 3 * one)
        return 0;
    int64_t u = t << (SCALE_SINE - SCALE_T);
    int64_t a = t ? scale_sine(u) * one / t : pi, b = t ? scale_sine(u / 3) * one / t : pi / 3;
    return ((a >> 2) * (b >> 2)) >> SCALE_SINE;
}

void scale_axis_close(scale_axis *a) {
    free(a->first);
    free(a->weights);
    memset(a, 0, sizeof *a);
}

/* Rounds the weights to integers whose sum is 2^14. */
static void scale_normalise(const int64_t *exact, int taps, int32_t *weights) {
    int64_t total = 0, sum = 0;
    int largest = 0;
    for (int k = 0; k < taps; k++) {
        total += exact[k];
        largest = exact[k] > exact[largest] ? k : largest;
    }
    for (int k = 0; k < taps; k++) {
        int64_t twice = 2 * exact[k] * (1 << SCALE_WEIGHT) + total; /* 2 * total * (weight + 1/2) */
        int64_t floored = twice / (2 * total) - (twice % (2 * total) < 0);
        weights[k] = (int32_t)floored;
        sum += floored;
    }
    weights[largest] += (int32_t)(((int64_t)1 << SCALE_WEIGHT) - sum);
}

int scale_axis_open(scale_axis *a, scale_kernel kernel, int from, int to) {
    int64_t large = from > to ? from : to, reach = kernel == SCALE_BICUBIC ? 2 : 3;
    int wide = (int)(2 * reach * large / to) + 2; /* largest number of source samples with a weight */
    int64_t *exact = (int64_t *)malloc(sizeof *exact * (size_t)wide);
    memset(a, 0, sizeof *a);
    a->from = from;
    a->to = to;
    a->taps = wide < from ? wide : from;
    a->first = (int *)malloc(sizeof *a->first * (size_t)to);
    a->weights = (int32_t *)malloc(sizeof *a->weights * (size_t)to * (size_t)a->taps);
    if (!exact || !a->first || !a->weights) {
        free(exact);
        scale_axis_close(a);
        return 0;
    }
    for (int i = 0; i < to; i++) {
        int64_t at = (2 * (int64_t)i + 1) * from - to; /* 2 * to * position */
        int begin = (int)((at - 2 * reach * large) / (2 * to)) - 1, first = begin;
        while (2 * (int64_t)to * first <= at - 2 * reach * large)
            first++;
        int last = first + wide - 1, inside = first < 0 ? 0 : first > from - a->taps ? from - a->taps : first;
        memset(exact, 0, sizeof *exact * (size_t)wide);
        for (int k = first; k <= last; k++) {
            int64_t distance = 2 * (int64_t)to * k - at;
            int64_t t = ((distance < 0 ? -distance : distance) << SCALE_T) / (2 * large);
            int place = (k < 0 ? 0 : k >= from ? from - 1 : k) - inside;
            exact[place] += scale_weight(kernel, t);
        }
        a->first[i] = inside;
        scale_normalise(exact, a->taps, a->weights + (ptrdiff_t)i * a->taps);
    }
    free(exact);
    return 1;
}

static void scale_load(const scale_plane *p, int y, int width, int32_t *out) {
    const unsigned char *row = p->data + y * p->pitch;
    for (int x = 0; x < width; x++) {
        const unsigned char *sample = row + (ptrdiff_t)x * p->step * p->bytes;
        out[x] = (p->bytes == 1 ? sample[0] : sample[0] | sample[1] << 8) >> p->shift;
    }
}

static void scale_store(const scale_plane *p, int y, int width, const int64_t *sums, int peak) {
    unsigned char *row = p->data + y * p->pitch;
    for (int x = 0; x < width; x++) {
        int64_t value = sums[x] + ((int64_t)1 << (2 * SCALE_WEIGHT - 1));
        unsigned char *sample = row + (ptrdiff_t)x * p->step * p->bytes;
        value = value < 0 ? 0 : value >> (2 * SCALE_WEIGHT);
        value = (value > peak ? peak : value) << p->shift;
        sample[0] = (unsigned char)(value & 255);
        if (p->bytes == 2)
            sample[1] = (unsigned char)(value >> 8);
    }
}

size_t scale_scratch(const scale_axis *x, const scale_axis *y) {
    return sizeof(int64_t) * (size_t)x->to + sizeof(int32_t) * ((size_t)x->from + (size_t)x->to * (size_t)y->taps);
}

void scale_run(const scale_axis *x, const scale_axis *y, const scale_plane *in, const scale_plane *out, int peak,
               void *scratch) {
    int64_t *sums = (int64_t *)scratch;
    int32_t *line = (int32_t *)(void *)(sums + x->to), *ring = line + x->from;
    int done = 0; /* number of rows after the first pass; `ring` contains the last y->taps of them */
    for (int i = 0; i < y->to; i++) {
        for (; done < y->first[i] + y->taps; done++) {
            int32_t *row = ring + (ptrdiff_t)(done % y->taps) * x->to;
            scale_load(in, done, x->from, line);
            for (int k = 0; k < x->to; k++) {
                const int32_t *weights = x->weights + (ptrdiff_t)k * x->taps, *samples = line + x->first[k];
                int32_t sum = 0; /* less than 1.5 * 2^14 * 2^16 */
                for (int n = 0; n < x->taps; n++)
                    sum += weights[n] * samples[n];
                row[k] = sum;
            }
        }
        memset(sums, 0, sizeof *sums * (size_t)x->to);
        for (int n = 0; n < y->taps; n++) {
            const int32_t *row = ring + (ptrdiff_t)((y->first[i] + n) % y->taps) * x->to;
            int64_t weight = y->weights[(ptrdiff_t)i * y->taps + n];
            for (int k = 0; k < x->to; k++)
                sums[k] += weight * row[k];
        }
        scale_store(out, i, x->to, sums, peak);
    }
}

/* ---- frames of a video ---- */

void scaler_close(scaler *s) {
    for (int i = 0; i < 2; i++) {
        scale_axis_close(&s->x[i]);
        scale_axis_close(&s->y[i]);
    }
    free(s->planes);
    free(s->scratch);
    memset(s, 0, sizeof *s);
}

int scaler_open(scaler *s, scale_kernel kernel, const video *v, int width, int height) {
    int planes = v->chroma_bytes > 0 ? 2 : 1;
    int widths[2] = { width, 0 }, heights[2] = { height, 0 };
    size_t word = (size_t)v->bytes_per_sample, scratch = 0;
    memset(s, 0, sizeof *s);
    s->width = width;
    s->height = height;
    if (planes > 1) {
        widths[1] = (width + v->sampling.chroma_x - 1) / v->sampling.chroma_x;
        heights[1] = (height + v->sampling.chroma_y - 1) / v->sampling.chroma_y;
    }
    for (int i = 0; i < planes; i++) {
        int from_width = i ? (int)video_chroma_side(v, v->width, v->sampling.chroma_x) : v->width;
        int from_height = i ? (int)video_chroma_side(v, v->height, v->sampling.chroma_y) : v->height;
        if (!scale_axis_open(&s->x[i], kernel, from_width, widths[i]) ||
            !scale_axis_open(&s->y[i], kernel, from_height, heights[i])) {
            return 0;
        }
        size_t bytes = scale_scratch(&s->x[i], &s->y[i]);
        scratch = bytes > scratch ? bytes : scratch;
    }
    size_t luma = (size_t)width * (size_t)height * word, chroma = (size_t)widths[1] * (size_t)heights[1] * word;
    s->planes = (unsigned char *)malloc(luma + 2 * chroma);
    s->scratch = malloc(scratch);
    if (!s->planes || !s->scratch)
        return 0;
    s->frame.data[0] = s->planes;
    s->frame.pitch[0] = (ptrdiff_t)((size_t)width * word);
    if (planes > 1) {
        int planar = v->layout == VMAFGPU_LAYOUT_PLANAR;
        s->frame.data[1] = s->planes + luma;
        s->frame.data[2] = planar ? s->planes + luma + chroma : NULL;
        s->frame.pitch[1] = (ptrdiff_t)((size_t)widths[1] * word) * (planar ? 1 : 2);
        s->frame.pitch[2] = planar ? s->frame.pitch[1] : 0;
    }
    s->frame.memory = VMAFGPU_MEMORY_HOST;
    return 1;
}

vmafgpu_frame scaler_frame(scaler *s, const video *v, const vmafgpu_frame *frame) {
    int shift = v->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 8 * v->bytes_per_sample - v->bit_depth : 0;
    int planar = v->layout == VMAFGPU_LAYOUT_PLANAR;
    for (int i = 0; i < (v->chroma_bytes > 0 ? 3 : 1); i++) {
        int plane = planar || i == 0 ? i : 1;
        ptrdiff_t second = !planar && i == 2 ? v->bytes_per_sample : 0;
        scale_plane in = { (unsigned char *)(uintptr_t)frame->data[plane] + second, frame->pitch[plane],
                           v->bytes_per_sample, planar || i == 0 ? 1 : 2, shift };
        scale_plane out = in;
        out.data = (unsigned char *)(uintptr_t)s->frame.data[plane] + second;
        out.pitch = s->frame.pitch[plane];
        scale_run(&s->x[i > 0], &s->y[i > 0], &in, &out, (1 << v->bit_depth) - 1, s->scratch);
    }
    return s->frame;
}
