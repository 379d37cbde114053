/* Tests scaling, whose results must be the same on all machines, and the parsing of --crop and --from. */
#include "../examples/tool/cut.h"
#include "../examples/tool/scale.h"
#include "clip.h"
#include "test.h"

#include <math.h>

/* Returns a hash of the samples of a scaled clip. */
static uint32_t scaled_sum(scale_kernel kernel, int from_width, int from_height, int width, int height, int depth) {
    clip c;
    scale_axis x, y;
    int bytes = depth > 8 ? 2 : 1;
    size_t count = (size_t)from_width * (size_t)from_height, out_count = (size_t)width * (size_t)height;
    uint16_t *samples = (uint16_t *)malloc(2 * count);
    unsigned char *in = (unsigned char *)malloc(2 * count), *out = (unsigned char *)malloc(2 * out_count);
    CHECK(clip_init(&c, "texture", from_width, from_height, depth, 400, 1, 5));
    clip_plane(&c, 0, 0, 0, samples);
    clip_store(samples, count, bytes, in);
    CHECK(scale_axis_open(&x, kernel, from_width, width) && scale_axis_open(&y, kernel, from_height, height));
    void *scratch = malloc(scale_scratch(&x, &y));
    scale_plane from = { in, (ptrdiff_t)from_width * bytes, bytes, 1, 0 },
                to = { out, (ptrdiff_t)width * bytes, bytes, 1, 0 };
    scale_run(&x, &y, &from, &to, (1 << depth) - 1, scratch);
    uint32_t sum = 1;
    for (size_t i = 0; i < out_count * (size_t)bytes; i++)
        sum = clip_hash(sum, out[i], 7);
    if (from_width == width && from_height == height)
        CHECK(memcmp(in, out, out_count * (size_t)bytes) == 0);
    scale_axis_close(&x);
    scale_axis_close(&y);
    free(samples);
    free(in);
    free(out);
    free(scratch);
    return sum;
}

/* Tests that the weights for each sample add up to 2^14, so that a uniform plane stays uniform at any size. The weights
 * are symmetric. */
static void test_weights(void) {
    static const int sizes[][2] = { { 16, 16 }, { 16, 400 },  { 400, 16 },  { 33, 70 },
                                    { 70, 33 }, { 17, 1000 }, { 1000, 999 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int kernel = SCALE_BICUBIC; kernel <= SCALE_LANCZOS; kernel++) {
            scale_axis a;
            CHECK(scale_axis_open(&a, (scale_kernel)kernel, sizes[i][0], sizes[i][1]));
            for (int k = 0; k < a.to; k++) {
                int sum = 0;
                for (int n = 0; n < a.taps; n++)
                    sum += a.weights[k * a.taps + n];
                CHECK_INT(sum, 1 << SCALE_WEIGHT);
                CHECK(a.first[k] >= 0 && a.first[k] + a.taps <= a.from);
                /* the weights of a mirrored sample are mirrored */
                for (int n = 0; n < a.taps; n++) {
                    int there = a.from - 1 - (a.first[k] + n) - a.first[a.to - 1 - k];
                    int other = there >= 0 && there < a.taps ? a.weights[(a.to - 1 - k) * a.taps + there] : 0;
                    CHECK(abs(a.weights[k * a.taps + n] - other) <=
                          12); /* the largest weight absorbs rounding errors, so it may differ */
                }
            }
            scale_axis_close(&a);
        }
    }
}

/* Tests that the weights are close to the results of the formulas, computed in double precision. */
static void test_kernels(void) {
    const double pi = 3.14159265358979323846;
    for (int i = 1; i < 3200; i++) {
        double t = i / 1000.0, bicubic = t < 1   ? 7 * t * t * t - 12 * t * t + 5
                                         : t < 2 ? -3 * t * t * t + 15 * t * t - 24 * t + 12
                                                 : 0;
        double lanczos = t < 3 ? sin(pi * t) * sin(pi * t / 3) / (t * t) : 0;
        int64_t fixed = (int64_t)(t * (1 << SCALE_T));
        CHECK(fabs((double)scale_weight(SCALE_BICUBIC, fixed) / (1 << SCALE_T) - bicubic) < 1e-5);
        CHECK(fabs((double)scale_weight(SCALE_LANCZOS, fixed) / (1 << SCALE_T) - lanczos) < 1e-5);
    }
    CHECK(fabs((double)scale_weight(SCALE_LANCZOS, 0) / (1 << SCALE_T) - pi * pi / 3) < 1e-5);
}

static void test_cut(void) {
    static const struct {
        const char *text;
        int ok, is_time;
        int64_t value;
    } rows[] = { { "0", 1, 0, 0 },
                 { "120", 1, 0, 120 },
                 { "12s", 1, 1, 12000000 },
                 { "12.5s", 1, 1, 12500000 },
                 { "1:02", 1, 1, 62000000 },
                 { "1:02.25", 1, 1, 62250000 },
                 { "1:00:02", 1, 1, 3602000000 },
                 { "0:00.000001", 1, 1, 1 },
                 { "12.5", 0, 0, 0 },
                 { "", 0, 0, 0 },
                 { "1:", 0, 0, 0 },
                 { "1:60", 0, 0, 0 },
                 { "-1", 0, 0, 0 },
                 { "1x", 0, 0, 0 },
                 { "1:2:3:4", 0, 0, 0 },
                 { "1.s", 0, 0, 0 },
                 { "99999999999", 0, 0, 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cut_point p = { 0, 0, 0 };
        CHECK_INT(cut_parse(&p, rows[i].text), rows[i].ok);
        if (rows[i].ok) {
            CHECK_INT(p.is_time, rows[i].is_time);
            CHECK_INT(p.value, rows[i].value);
        }
    }
    cut_point second = { 1, 1, 1000000 }, film = { 1, 1, 3600000000 }, frame = { 1, 0, 7 }, none = { 0, 0, 0 };
    CHECK_INT(cut_frame(&second, 25, 1), 25);
    CHECK_INT(cut_frame(&second, 30000, 1001), 30); /* 29.97 frames, rounded up to 30 */
    CHECK_INT(cut_frame(&film, 24000, 1001), 86314);
    CHECK_INT(cut_frame(&frame, 25, 1), 7);
    CHECK_INT(cut_frame(&none, 25, 1), 0);
    cut_window w = { 0, 0, 0, 0, 0, 0 };
    CHECK(cut_parse_window(&w, "640:480:2:4") && w.width == 640 && w.height == 480 && w.x == 2 && w.y == 4 &&
          !w.is_centred);
    CHECK(cut_parse_window(&w, "640:480") && w.is_centred);
    CHECK(!cut_parse_window(&w, "640") && !cut_parse_window(&w, "640:480:1") && !cut_parse_window(&w, "640:480:1:") &&
          !cut_parse_window(&w, "8:480") && !cut_parse_window(&w, "640:480:1:1:1") && !cut_parse_window(&w, "640x480"));
}

int main(void) {
    static const struct {
        int from_width, from_height, width, height, depth;
        uint32_t bicubic, lanczos;
    } rows[] = {
        { 64, 48, 64, 48, 8, 0xfaf1ffe4, 0xfaf1ffe4 },   { 64, 48, 192, 144, 8, 0xa8af46b9, 0x9a9a433d },
        { 131, 97, 64, 48, 8, 0x241c6af1, 0xc74dccec },  { 66, 50, 333, 17, 10, 0xb7c559aa, 0x64b17336 },
        { 333, 40, 66, 50, 16, 0x3378d24c, 0x308dae89 }, { 16, 16, 480, 272, 12, 0x119d1f4f, 0x6b89691f },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int kernel = SCALE_BICUBIC; kernel <= SCALE_LANCZOS; kernel++) {
            uint32_t sum = scaled_sum((scale_kernel)kernel, rows[i].from_width, rows[i].from_height, rows[i].width,
                                      rows[i].height, rows[i].depth);
            uint32_t expected = kernel == SCALE_BICUBIC ? rows[i].bicubic : rows[i].lanczos;
            if (sum != expected)
                printf("row %d, kernel %d: 0x%08x\n", (int)i, kernel, (unsigned)sum);
            CHECK(sum == expected);
        }
    }
    test_weights();
    test_kernels();
    test_cut();
    return test_end();
}
