/* Tests RGB frames. Compares the conversion with exact rational arithmetic, for all 8-bit colours, chroma sitings and
 * half floats, and compares the scores with those of converted planes. Also tests errors, and that nothing outside the
 * pixels is read. The test calls private functions, so it contains an implementation.
 *
 *     test_pixels [bench]      `bench` only measures how long the conversion of a 4K frame takes
 */
#define _DEFAULT_SOURCE /* clock_gettime */
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "scoring.h"
#include <math.h>
#include <time.h>

static const char *const matrix_names[] = { "601", "709", "2020" };

static uint32_t mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

/* ---- exact samples as fractions ---- */

typedef struct fraction {
    int64_t a[3], scale, divisor, offset, max; /* scale * (a . RGB) / (divisor * weight * one) + offset */
} fraction;

static fraction fraction_of(int matrix, int is_full, int depth, int plane) {
    static const int64_t kr[] = { 2990, 2126, 2627 }, kb[] = { 1140, 722, 593 };
    const int64_t r = kr[matrix], b = kb[matrix], g = 10000 - r - b;
    fraction f;
    f.a[0] = plane == 0 ? r : plane == 1 ? -r : 10000 - r;
    f.a[1] = plane == 0 ? g : -g;
    f.a[2] = plane == 0 ? b : plane == 1 ? 10000 - b : -b;
    f.divisor = plane == 0 ? 10000 : plane == 1 ? 2 * (10000 - b) : 2 * (10000 - r);
    f.max = ((int64_t)1 << depth) - 1;
    f.scale = is_full ? f.max : (int64_t)(plane ? 224 : 219) << (depth - 8);
    f.offset = plane ? (int64_t)1 << (depth - 1) : is_full ? 0 : (int64_t)16 << (depth - 8);
    return f;
}

/* Returns the rounded and clamped sample. r, g and b are sums over `weight` pixels; `one` is the largest code value. */
static uint32_t exact(const fraction *f, int64_t weight, int64_t one, int64_t r, int64_t g, int64_t b) {
    const int64_t divisor = 2 * f->divisor * weight * one;
    const int64_t n = 2 * f->scale * (f->a[0] * r + f->a[1] * g + f->a[2] * b) + (2 * f->offset + 1) * (divisor / 2);
    const int64_t q = n / divisor - (n % divisor < 0);
    return (uint32_t)(q > f->max ? f->max : q);
}

/* ---- all colours ---- */

/* Checksums of all 2^24 colours, by matrix, range, depth (8, 10) and plane. */
static const uint64_t cube_sums[3][2][2][3] = {
#include "golden/pixels_cube.h"
};

/* Converts every `step`-th colour of the colour cube, in shuffled order, and compares the results with the exact
 * samples. */
static void test_cube(void) {
    const vmafgpu__cpu_functions *const levels[] = { vmafgpu__choose_level(0), vmafgpu__choose_level(16),
                                                     vmafgpu__choose_level(24) };
    const int is_whole = test_depth() == TEST_ALL, step = is_whole ? 1 : 509, count = (1 << 24) / step;
    uint8_t *pixels = (uint8_t *)malloc((size_t)count * 4), *out = (uint8_t *)malloc((size_t)count * 2);
    test_need(pixels && out, "out of memory");
    for (int i = 0; i < count; i++) {
        const uint32_t colour = ((uint32_t)i * (uint32_t)step * 2654435761u) & 0xffffff;
        for (int k = 0; k < 4; k++)
            pixels[4 * i + k] = (uint8_t)(k < 3 ? colour >> 8 * k : mix((uint32_t)i));
    }
    for (int which = 0; which < 12; which++) {
        const int matrix = which / 4, is_full = which / 2 % 2, depth = 8 + 2 * (which % 2);
        vmafgpu_config c = VMAFGPU_INIT;
        c.bit_depth = depth;
        c.colour.matrix = (vmafgpu_matrix)(VMAFGPU_MATRIX_BT601 + matrix);
        c.colour.range = is_full ? VMAFGPU_RANGE_FULL : VMAFGPU_RANGE_LIMITED;
        snprintf(test_where, sizeof test_where, "cube, %s, %s, %d bits", matrix_names[matrix],
                 is_full ? "full" : "limited", depth);
        for (int plane = 0; plane < 3; plane++) {
            const vmafgpu__colour_plane p = vmafgpu__plan_colour(&c, plane, 255, 1);
            const fraction f = fraction_of(matrix, is_full, depth, plane);
            uint64_t sum = 0;
            long wrong = 0;
            for (int i = 0; i < count; i++) {
                const uint8_t *at = pixels + 4 * (size_t)i;
                const uint32_t sample = vmafgpu__colour_sample(&p, at[0], at[1], at[2]);
                wrong += sample != exact(&f, 1, 255, at[0], at[1], at[2]);
                sum += (uint64_t)sample * (mix(((uint32_t)at[0] * 1021 + at[1]) * 1021 + at[2]) | 1);
            }
            CHECK_INT(wrong, 0);
            if (is_whole) {
                if (!CHECK(sum == cube_sums[matrix][is_full][depth == 10][plane]))
                    printf("sum %d %d %d %d: 0x%016" PRIx64 "\n", matrix, is_full, depth, plane, sum);
            }
            for (int l = 0; l < 3 && plane == 0; l++) {
                vmafgpu__luma_job job;
                job.form = &vmafgpu__pixel_forms[VMAFGPU_PIXELS_RGBA8];
                job.plane = &p;
                job.transfer = NULL;
                job.wide = depth > 8;
                job.shift = 0;
                wrong = 0;
                levels[l]->pixels->luma(&job, pixels, count, out);
                for (int i = 0; i < count; i++) {
                    const uint8_t *at = pixels + 4 * (size_t)i;
                    wrong +=
                        (job.wide ? vmafgpu__word(out, i) : out[i]) != vmafgpu__colour_sample(&p, at[0], at[1], at[2]);
                }
                if (!CHECK_INT(wrong, 0))
                    printf("level %s\n", levels[l]->name);
            }
        }
    }
    free(pixels);
    free(out);
}

/* Converts rows of random colours to chroma without subsampling on all instruction sets, and compares the results with
 * those for single pixels. */
static void test_chroma_levels(void) {
    static const vmafgpu__chroma_taps taps = { { 0, 1, 0 }, 1 };
    const vmafgpu__cpu_functions *const levels[] = { vmafgpu__choose_level(0), vmafgpu__choose_level(16),
                                                     vmafgpu__choose_level(24) };
    enum { ROW = 4099 };
    static uint8_t pixels[4 * ROW], planes[2][2 * ROW];
    const int rounds = test_depth() == TEST_ALL ? 1 << 12 : 4;
    for (int round = 0; round < rounds; round++) {
        for (int which = 0; which < 2 * 3 * 2 * 9; which++) {
            const int is_long = which % 2, matrix = which / 2 % 3, is_full = which / 6 % 2, depth = 8 + which / 12;
            const int one = is_long ? 1023 : 255;
            uint8_t *const out[2] = { planes[0], planes[1] };
            const uint8_t *const rows[3] = { NULL, pixels, NULL };
            vmafgpu_config c = VMAFGPU_INIT;
            vmafgpu__colour_plane plane[2];
            vmafgpu__chroma_job job;
            c.bit_depth = depth;
            c.colour.matrix = (vmafgpu_matrix)(VMAFGPU_MATRIX_BT601 + matrix);
            c.colour.range = is_full ? VMAFGPU_RANGE_FULL : VMAFGPU_RANGE_LIMITED;
            for (int i = 0; i < 2; i++)
                plane[i] = vmafgpu__plan_colour(&c, 1 + i, one, 1);
            for (int i = 0; i < ROW; i++) { /* many of the codes are the smallest or the largest value */
                const uint32_t m = mix((uint32_t)(round * ROW + i));
                const uint32_t word =
                    i % 3 ? m : (i & 4 ? 0x3ffu : 0) | (i & 8 ? 0xffc00u : 0) | (i & 16 ? 0x3ff00000u : 0);
                for (int k = 0; k < 4; k++)
                    pixels[4 * i + k] = (uint8_t)(word >> 8 * k);
            }
            job.form = &vmafgpu__pixel_forms[is_long ? VMAFGPU_PIXELS_RGB10A2 : VMAFGPU_PIXELS_RGBA8];
            job.plane = plane;
            job.across = job.down = &taps;
            job.transfer = NULL;
            job.wide = depth > 8;
            job.step = 1 + job.wide;
            job.shift = 0;
            job.width = ROW;
            snprintf(test_where, sizeof test_where, "chroma, %s, %s, %d bits from codes to %d", matrix_names[matrix],
                     is_full ? "full" : "limited", depth, one);
            for (int l = 0; l < 3; l++) {
                long wrong = 0;
                levels[l]->pixels->chroma(&job, rows, ROW, out);
                for (int i = 0; i < 2 * ROW; i++) {
                    uint16_t codes[3][VMAFGPU__MOST_PIXELS];
                    vmafgpu__unpack_pixels(job.form, NULL, NULL, pixels + 4 * (i / 2), 1, codes);
                    wrong += (job.wide ? vmafgpu__word(out[i % 2], i / 2) : out[i % 2][i / 2]) !=
                             vmafgpu__colour_sample(&plane[i % 2], codes[0][0], codes[1][0], codes[2][0]);
                }
                if (!CHECK_INT(wrong, 0))
                    printf("level %s\n", levels[l]->name);
            }
        }
    }
}

/* Compares converted samples with the exact ones, for all output depths, codes of 8 and 10 bits, and all sums of
 * weights. The colours are random, or greys whose exact values are close to a rounding boundary. */
static void test_shifts(void) {
    static const int weights[] = { 1, 2, 4, 8, 16 };
    const int rounds = test_depth() == TEST_ALL ? 100000 : 200;
    uint32_t seed = 1;
    for (int which = 0; which < 3 * 2 * 9 * 2 * 3 * 5; which++) {
        const int matrix = which % 3, is_full = which / 3 % 2, depth = 8 + which / 6 % 9,
                  one = which / 54 % 2 ? 1023 : 255;
        const int plane = which / 108 % 3, weight = plane ? weights[which / 324 % 5] : 1;
        const fraction f = fraction_of(matrix, is_full, depth, plane);
        vmafgpu_config c = VMAFGPU_INIT;
        vmafgpu__colour_plane p;
        long wrong = 0;
        c.bit_depth = depth;
        c.colour.matrix = (vmafgpu_matrix)(VMAFGPU_MATRIX_BT601 + matrix);
        c.colour.range = is_full ? VMAFGPU_RANGE_FULL : VMAFGPU_RANGE_LIMITED;
        p = vmafgpu__plan_colour(&c, plane, one, weight);
        /* the bound in section >>arithmetic */
        CHECK(ldexp(1, p.shift) > 2.0 * weight * one * (double)f.divisor * (3.0 * weight * one + 1) ||
              one * weight > 1023);
        for (int i = 0; i < rounds; i++) {
            const uint32_t most = (uint32_t)(one * weight) + 1;
            const uint32_t r = (seed = mix(seed + 1)) % most, g = (seed = mix(seed + 1)) % most,
                           b = (seed = mix(seed + 1)) % most;
            const uint32_t grey = i % 4 ? g : r; /* the chroma of a grey lies exactly in the middle of the range */
            wrong +=
                vmafgpu__colour_sample(&p, grey, g, i % 4 ? b : r) != exact(&f, weight, one, grey, g, i % 4 ? b : r);
            wrong += vmafgpu__colour_sample(&p, r, r, r) != exact(&f, weight, one, r, r, r);
        }
        snprintf(test_where, sizeof test_where, "%s, %s, %d bits, codes to %d, plane %d, weight %d",
                 matrix_names[matrix], is_full ? "full" : "limited", depth, one, plane, weight);
        CHECK_INT(wrong, 0);
    }
}

/* ---- half floats ---- */

static long double light_of(uint32_t half) {
    const int e = (int)(half >> 10 & 31), m = (int)(half & 1023);
    return e ? ldexpl(1024 + m, e - 25) : ldexpl(m, -24);
}

static long double code_of(vmafgpu_transfer transfer, long double v) {
    if (transfer == VMAFGPU_TRANSFER_SRGB) {
        return 65535 * (v <= 0.0031308L ? 12.92L * v : 1.055L * powl(v, 1 / 2.4L) - 0.055L);
    } else if (transfer == VMAFGPU_TRANSFER_BT709) {
        return 65535 * (v < 0.018053968510807L ? 4.5L * v : 1.09929682680944L * powl(v, 0.45L) - 0.09929682680944L);
    } else {
        const long double y = powl(v * 80 / 10000, 1305 / 8192.0L);
        return 65535 * powl((107 / 128.0L + 2413 / 128.0L * y) / (1 + 2392 / 128.0L * y), 2523 / 32.0L);
    }
}

static uint32_t code_of_half(vmafgpu_transfer transfer, uint32_t half) {
    if (half > 0x7c00) /* negative or NaN */
        return 0;
    const long double code = half == 0x7c00 ? 65535 : code_of(transfer, light_of(half));
    return code >= 65535 ? 65535 : (uint32_t)floorl(code + 0.5L);
}

static void test_halves(void) {
    static const struct {
        vmafgpu_transfer transfer;
        uint32_t clipped; /* the smallest half float that is converted to the largest code */
        uint64_t sum;
    } tables[] = { { VMAFGPU_TRANSFER_SRGB, 0x3c00, 0xc4c9e96a99787627u },
                   { VMAFGPU_TRANSFER_BT709, 0x3c00, 0x52ff7d78ce3f0228u },
                   { VMAFGPU_TRANSFER_PQ, 0x57d0, 0x64230889dcb78774u } };
    static uint16_t table[VMAFGPU__TRANSFER_ENTRIES];
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        long falls = 0, differ = 0;
        long double nearest = 1;
        uint32_t first = 0;
        uint64_t sum = 0xcbf29ce484222325u;
        snprintf(test_where, sizeof test_where, "half floats, transfer %d", (int)tables[t].transfer);
        vmafgpu__fill_transfer(&vmafgpu__maths_of_target, tables[t].transfer, table);
        for (uint32_t half = 0; half < VMAFGPU__TRANSFER_ENTRIES; half++) {
            const long double code = half < 0x7c00 ? code_of(tables[t].transfer, light_of(half)) : 65536;
            const long double away = fabsl(code - floorl(code) - 0.5L);
            nearest = code < 65535 && away < nearest ? away : nearest;
            falls += half && table[half] < table[half - 1];
            differ += table[half] != code_of_half(tables[t].transfer, half);
            first = !first && table[half] == 65535 ? half : first;
            sum = (sum ^ table[half]) * 0x100000001b3u;
        }
        CHECK_INT(falls, 0);
        CHECK_INT(differ, 0);
        CHECK_INT(first, tables[t].clipped);
        CHECK(nearest > 1e-7L); /* errors of powl() are much smaller */
        CHECK_INT(table[0], 0);
        if (!CHECK(sum == tables[t].sum))
            printf("sum 0x%016" PRIx64 ", smallest distance to a half %Lg\n", sum, nearest);
    }
    CHECK_INT(vmafgpu__half_index(0x8000), 0);
    CHECK_INT(vmafgpu__half_index(0xbc00), 0);
    CHECK_INT(vmafgpu__half_index(0x7e00), 0);
    CHECK_INT(vmafgpu__half_index(0x7c00), 0x7c00);
}

/* ---- pictures ---- */

/* A picture in RGB. Its memory has exactly the required size, so sanitizers detect reads outside the picture. */
typedef struct picture {
    int width, height, one;
    uint16_t *code[3];
    unsigned char *memory;
    vmafgpu_frame frame;
} picture;

static void picture_free(picture *p) {
    free(p->code[0]);
    free(p->memory);
}

/* Makes a picture: noise if `rough`, otherwise waves. `impairment` is the strength of a distortion, or 0. */
static picture picture_make(vmafgpu_pixels pixels, vmafgpu_transfer transfer, int width, int height, int margin,
                            int is_upside_down, int rough, int impairment, uint32_t seed) {
    static const int bytes_of[] = { 0, 4, 4, 3, 4, 8, 1 };
    static const size_t places[] = { 1, 2, 0 }; /* the order of planes in memory: B, R, G */
    const int bytes = bytes_of[pixels], row = width * bytes, pitch = row + margin;
    const int in_planes = pixels == VMAFGPU_PIXELS_RGB8_PLANAR;
    const size_t count = (size_t)width * (size_t)height, plane = (size_t)pitch * (size_t)(height - 1) + (size_t)row;
    const size_t size = in_planes ? 3 * plane : plane;
    picture p;
    memset(&p, 0, sizeof p);
    p.width = width;
    p.height = height;
    p.one = pixels == VMAFGPU_PIXELS_RGBA16F ? 65535 : pixels == VMAFGPU_PIXELS_RGB10A2 ? 1023 : 255;
    p.code[0] = (uint16_t *)malloc(3 * count * sizeof(uint16_t));
    p.memory = (unsigned char *)malloc(size);
    test_need(p.code[0] && p.memory, "out of memory");
    memset(p.memory, 0xA5, size);
    p.code[1] = p.code[0] + count;
    p.code[2] = p.code[1] + count;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            unsigned char *at =
                p.memory + (size_t)(is_upside_down ? height - 1 - y : y) * (size_t)pitch + (size_t)x * (size_t)bytes;
            const uint32_t noise = mix(mix((uint32_t)(y * width + x)) + seed);
            uint32_t field[3];
            for (int k = 0; k < 3; k++) {
                const double wave =
                    0.5 + 0.3 * sin((x * (k + 1) + 3 * y) * 0.11 + seed) + 0.2 * sin((y - x * k) * 0.37);
                double v = wave > 0 ? wave < 1 ? wave : 1 : 0;
                if (impairment) {
                    v = floor(v * 12 + 0.5) / 12 + ((int)(noise >> 10 * k & 63) - 32) / 1024.0 * impairment;
                    v = v > 0 ? v < 1 ? v : 1 : 0;
                }
                if (pixels == VMAFGPU_PIXELS_RGBA16F) {
                    /* values from 0 to 1, or any half float, including infinity, negative values and NaN */
                    field[k] =
                        rough ? mix(noise + (uint32_t)k) & (noise % 16 ? 0x3fff : 0xffff) : (uint32_t)(0x3c00 * v);
                    p.code[k][y * width + x] = (uint16_t)code_of_half(transfer, field[k]);
                } else {
                    field[k] = rough ? mix(noise + (uint32_t)k) & (uint32_t)p.one : (uint32_t)(p.one * v);
                    p.code[k][y * width + x] = (uint16_t)field[k];
                }
            }
            if (pixels == VMAFGPU_PIXELS_RGBA16F) {
                for (int k = 0; k < 4; k++) {
                    at[2 * k] = (unsigned char)(k < 3 ? field[k] : noise);
                    at[2 * k + 1] = (unsigned char)((k < 3 ? field[k] : noise) >> 8);
                }
            } else if (pixels == VMAFGPU_PIXELS_RGB10A2) {
                const uint32_t word = field[0] | field[1] << 10 | field[2] << 20 | (noise & 3) << 30;
                for (int k = 0; k < 4; k++)
                    at[k] = (unsigned char)(word >> 8 * k);
            } else if (in_planes) {
                for (int k = 0; k < 3; k++)
                    at[places[k] * plane] = (unsigned char)field[k];
            } else {
                for (int k = 0; k < bytes; k++)
                    at[k] = (unsigned char)(k == 3 ? noise : field[pixels == VMAFGPU_PIXELS_BGRA8 ? 2 - k : k]);
            }
        }
    }
    for (int k = 0; k < (in_planes ? 3 : 1); k++) {
        p.frame.data[k] = p.memory + (in_planes ? places[k] * plane : 0) +
                          (is_upside_down ? (size_t)pitch * (size_t)(height - 1) : 0);
    }
    p.frame.pitch[0] = is_upside_down ? -pitch : margin ? pitch : 0;
    p.frame.pixels = pixels;
    return p;
}

/* Returns a sample of a plane, computed exactly from the definition. */
static uint32_t sample_of(const vmafgpu_config *c, const picture *p, int plane, int x, int y) {
    const fraction f =
        fraction_of((int)c->colour.matrix - 1, c->colour.range == VMAFGPU_RANGE_FULL, c->bit_depth, plane);
    const int halves_x = plane && (c->chroma == VMAFGPU_CHROMA_420 || c->chroma == VMAFGPU_CHROMA_422),
              halves_y = plane && c->chroma == VMAFGPU_CHROMA_420;
    const int is_left = c->colour.siting != VMAFGPU_SITING_CENTER, is_top = c->colour.siting == VMAFGPU_SITING_TOP_LEFT;
    int64_t sum[3] = { 0, 0, 0 }, weight = 0;
    for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) {
            /* weights 1 2 1, or 1 1 */
            const int across = !halves_x ? i == 0
                               : is_left ? 2 - abs(i)
                                         : i >= 0,
                      down = !halves_y ? j == 0
                             : is_top  ? 2 - abs(j)
                                       : j >= 0;
            int column = (1 + halves_x) * x + i, row = (1 + halves_y) * y + j;
            column = column < 0 ? 0 : column >= p->width ? p->width - 1 : column;
            row = row < 0 ? 0 : row >= p->height ? p->height - 1 : row;
            weight += across * down;
            for (int k = 0; k < 3; k++)
                sum[k] += across * down * p->code[k][row * p->width + column];
        }
    }
    return exact(&f, weight, p->one, sum[0], sum[1], sum[2]);
}

/* Returns a frame with exactly converted planes in the format of the config. The caller frees *memory. */
static vmafgpu_frame planes_of(const vmafgpu_config *c, const picture *p, unsigned char **memory) {
    const int bytes = vmafgpu__sample_bytes(c),
              shift = c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0;
    vmafgpu_frame frame;
    *memory = (unsigned char *)calloc(1, vmafgpu_frame_size(c, 0));
    test_need(*memory != NULL, "out of memory");
    frame = vmafgpu_frame_of(c, *memory, 0);
    for (int plane = 0; plane < (c->chroma == VMAFGPU_CHROMA_400 ? 1 : 3); plane++) {
        const int is_semi = plane && c->layout != VMAFGPU_LAYOUT_PLANAR, at = is_semi ? 1 : plane;
        const int w = plane && c->chroma != VMAFGPU_CHROMA_444 ? c->width / 2 : c->width,
                  h = plane && c->chroma == VMAFGPU_CHROMA_420 ? c->height / 2 : c->height;
        for (int y = 0; y < h; y++) {
            unsigned char *row = *memory + ((const unsigned char *)frame.data[at] - *memory) + y * frame.pitch[at];
            for (int x = 0; x < w; x++) {
                const uint32_t word = sample_of(c, p, plane, x, y) << shift;
                for (int k = 0; k < bytes; k++)
                    row[(is_semi ? 2 * x + plane - 1 : x) * bytes + k] = (unsigned char)(word >> 8 * k);
            }
        }
    }
    return frame;
}

typedef struct format {
    int width, height, depth, bytes;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
} format;

/* clang-format off */
static const format formats[] = {
    {97, 35, 8, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR},
    {130, 33, 8, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR},
    {131, 34, 10, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
    {261, 18, 10, 0, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_PLANAR},
    {66, 37, 12, 0, VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR},
    {64, 16, 16, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR},
    {129, 17, 8, 2, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR},
    {67, 21, 8, 0, VMAFGPU_CHROMA_400, VMAFGPU_LAYOUT_PLANAR},
    {35, 19, 8, 2, VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
    {77, 29, 9, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR},
};
/* clang-format on */

static vmafgpu_config config_of(const format *f, int which) {
    vmafgpu_config c = VMAFGPU_INIT;
    c.width = f->width;
    c.height = f->height;
    c.bit_depth = f->depth;
    c.bytes_per_sample = f->bytes;
    c.chroma = f->chroma;
    c.layout = f->layout;
    c.backend = VMAFGPU_BACKEND_CPU;
    c.colour.matrix = (vmafgpu_matrix)(VMAFGPU_MATRIX_BT601 + which % 3);
    c.colour.range = which / 3 % 2 ? VMAFGPU_RANGE_FULL : VMAFGPU_RANGE_LIMITED;
    c.colour.siting = (vmafgpu_siting)(VMAFGPU_SITING_LEFT + which % 3);
    c.colour.transfer = (vmafgpu_transfer)(VMAFGPU_TRANSFER_SRGB + which / 2 % 3);
    return c;
}

/* Compares all samples of converted planes with the exact samples, for every output format and every kind of pixels,
 * with several instruction sets and numbers of threads. */
static void test_planes(void) {
    static const unsigned masks[] = { 0, 16, 24 };
    vmafgpu_feature_config features[2] = VMAFGPU_INIT;
    int which = 0;
    features[0].name = "psnr";
    features[1].name = "vif";
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const format *f = &formats[i];
        const int has_chroma = f->chroma != VMAFGPU_CHROMA_400;
        const int is_even = f->depth % 2 == 0 && f->depth != 14;
        for (int siting = 0; siting < 3; siting++) {
            for (int kind = VMAFGPU_PIXELS_RGBA8; kind <= VMAFGPU_PIXELS_RGB8_PLANAR; kind++, which++) {
                vmafgpu_config c = config_of(f, which);
                picture p = picture_make((vmafgpu_pixels)kind, c.colour.transfer, f->width, f->height, which % 4 * 3,
                                         which % 3 == 1, 1, 0, (uint32_t)which);
                unsigned char *memory, *own_memory = NULL;
                vmafgpu *v;
                vmafgpu_frame planes, own;
                long wrong = 0;
                c.colour.siting = (vmafgpu_siting)(VMAFGPU_SITING_LEFT + siting);
                c.features_only = 1;
                c.features = features + !(has_chroma && is_even);
                c.feature_count = 1;
                c.threads = test_thread_count(1 + which % 3);
                c.cpumask = masks[which % 3];
                snprintf(test_where, sizeof test_where, "%s to %dx%d, %d bits, chroma %d, layout %d, siting %d",
                         vmafgpu__pixel_names[kind], f->width, f->height, f->depth, (int)f->chroma, (int)f->layout,
                         siting);
                planes = planes_of(&c, &p, &memory);
                v = open_checked(&c);
                if (v) {
                    const vmafgpu_config *full = vmafgpu_get_config(v);
                    CHECK_INT(
                        vmafgpu__convert_frame(v, VMAFGPU__CONVERTED_REFERENCE, &p.frame, has_chroma && is_even, &own),
                        VMAFGPU_OK);
                    CHECK_INT(own.pixels, VMAFGPU_PIXELS_YUV);
                    for (int plane = 0; plane < (has_chroma && is_even ? 3 : 1); plane++) {
                        for (int y = 0; y < vmafgpu__plane_height(full, plane); y++) {
                            int step, own_step;
                            const uint8_t *row = vmafgpu__frame_row(full, &planes, plane, y, &step);
                            const uint8_t *own_row = vmafgpu__frame_row(full, &own, plane, y, &own_step);
                            for (int x = 0; x < vmafgpu__plane_width(full, plane); x++) {
                                wrong +=
                                    memcmp(row + x * step, own_row + x * own_step, (size_t)full->bytes_per_sample) != 0;
                            }
                        }
                    }
                    CHECK_INT(wrong, 0);
                }
                vmafgpu_close(v);
                picture_free(&p);
                free(memory);
                free(own_memory);
            }
        }
    }
}

/* ---- scores ---- */

enum { PAIRS = 3 };

/* A clip of RGB frames, and the same frames as planes. The arrays have one extra entry: entry PAIRS contains the frame
 * that follows the clip. */
typedef struct pair_clip {
    picture pixels[PAIRS + 1][2];
    vmafgpu_frame planes[PAIRS + 1][2];
    unsigned char *memory[PAIRS + 1][2];
} pair_clip;

static void pair_clip_make(pair_clip *clip, const vmafgpu_config *c, int reference, int distorted) {
    for (int i = 0; i <= PAIRS; i++) {
        for (int side = 0; side < 2; side++) {
            const int kind = side ? distorted : reference;
            clip->pixels[i][side] =
                picture_make((vmafgpu_pixels)(kind ? kind : VMAFGPU_PIXELS_RGBA8), c->colour.transfer, c->width,
                             c->height, i % 2 * 5, 0, 0, side, (uint32_t)i);
            clip->planes[i][side] = planes_of(c, &clip->pixels[i][side], &clip->memory[i][side]);
            if (!kind)
                clip->pixels[i][side].frame = clip->planes[i][side];
        }
    }
}

static void pair_clip_free(pair_clip *clip) {
    for (int i = 0; i <= PAIRS; i++) {
        for (int side = 0; side < 2; side++) {
            picture_free(&clip->pixels[i][side]);
            free(clip->memory[i][side]);
        }
    }
}

static scores score_clip(const pair_clip *clip, const vmafgpu_config *c, int in_pixels) {
    vmafgpu *v = open_checked(c);
    scores s;
    memset(&s, 0, sizeof s);
    if (!v)
        return s;
    for (int i = 0; i < PAIRS; i++) {
        if (!CHECK_INT(in_pixels ? vmafgpu_push(v, &clip->pixels[i][0].frame, &clip->pixels[i][1].frame)
                                 : vmafgpu_push(v, &clip->planes[i][0], &clip->planes[i][1]),
                       VMAFGPU_OK)) {
            printf("%s\n", vmafgpu_last_error(v));
        }
    }
    CHECK_INT(in_pixels ? vmafgpu_push_following(v, &clip->pixels[PAIRS][0].frame)
                        : vmafgpu_push_following(v, &clip->planes[PAIRS][0]),
              VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    s = scores_of(v);
    vmafgpu_close(v);
    return s;
}

static void check_same(const scores *a, const scores *b) {
    CHECK_INT(a->rows, b->rows);
    CHECK_INT(a->columns, b->columns);
    for (int i = 0; i < a->rows * a->columns && a->rows == b->rows && a->columns == b->columns; i++)
        CHECK_BITS(a->values[i], b->values[i]);
}

/* Tests that a clip gets the same scores as after conversion to planes, if both sides or only one side is RGB. */
static void test_scores(void) {
    static const struct {
        int reference, distorted, format;
    } cases[] = {
        { VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_YUV, 0 },         { VMAFGPU_PIXELS_RGBA16F, VMAFGPU_PIXELS_YUV, 2 },
        { VMAFGPU_PIXELS_YUV, VMAFGPU_PIXELS_RGB24, 1 },         { VMAFGPU_PIXELS_BGRA8, VMAFGPU_PIXELS_RGBA8, 4 },
        { VMAFGPU_PIXELS_RGB10A2, VMAFGPU_PIXELS_RGBA16F, 3 },   { VMAFGPU_PIXELS_RGB24, VMAFGPU_PIXELS_BGRA8, 8 },
        { VMAFGPU_PIXELS_RGB8_PLANAR, VMAFGPU_PIXELS_RGB24, 1 },
    };
    vmafgpu_feature_config features[3] = VMAFGPU_INIT;
    features[0].name = "psnr";
    features[1].name = "ciede";
    features[2].name = "float_motion";
    features[2].options = "motion_add_uv=true"; /* uses the chroma of following references */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static pair_clip clip;
        vmafgpu_config c = config_of(&formats[cases[i].format], (int)i);
        for (int way = 0; way < 3; way++) {
            c.features = way ? NULL : features;
            c.feature_count = way ? 0 : 3;
            c.threads = test_thread_count(1 + (int)i % 2 * 2);
            snprintf(test_where, sizeof test_where, "scores, case %d, way %d", (int)i, way);
            if (way == 2)
                c.subsample = 2;
            pair_clip_make(&clip, &c, cases[i].reference, cases[i].distorted);
            scores in_pixels = score_clip(&clip, &c, 1), in_planes = score_clip(&clip, &c, 0);
            check_same(&in_pixels, &in_planes);
            scores_free(&in_pixels);
            scores_free(&in_planes);
            pair_clip_free(&clip);
        }
    }
}

/* Tests single pairs, candidates, vmafgpu_push_many(), preceding frames and edits. */
static void test_other_calls(void) {
    static pair_clip clip;
    vmafgpu_config c = config_of(&formats[0], 1);
    vmafgpu_score score[2], planes_score[2];
    vmafgpu *v, *many[2] = { NULL, NULL };
    vmafgpu_frame pixels[2], planes[2];
    double values[2][64];
    snprintf(test_where, sizeof test_where, "single pairs");
    c.max_candidates = 2;
    c.contexts_per_pass = 2;
    c.max_edit_size = 16;
    pair_clip_make(&clip, &c, VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGB24);
    for (int i = 0; i < 2; i++) {
        pixels[i] = clip.pixels[i][1].frame;
        planes[i] = clip.planes[i][1];
    }
    v = open_checked(&c);
    if (!v)
        return;
    CHECK_INT(vmafgpu_score_pair(v, &clip.pixels[1][0].frame, &pixels[1], &clip.pixels[0][0].frame, score), VMAFGPU_OK);
    CHECK(score[0].score == score[0].score);
    const double single = score[0].score;
    CHECK_INT(vmafgpu_score_pair(v, &clip.planes[1][0], &planes[1], &clip.planes[0][0], score), VMAFGPU_OK);
    CHECK_BITS(single, score[0].score);
    pixels[0] = planes[0]; /* one of the candidates is in YUV */
    CHECK_INT(vmafgpu_score_candidates(v, &clip.pixels[1][0].frame, pixels, 2, &clip.pixels[0][0].frame, score),
              VMAFGPU_OK);
    for (int i = 0; i < 2; i++)
        memcpy(values[i], score[i].values, sizeof(double) * (size_t)vmafgpu_column_count(v));
    CHECK_INT(vmafgpu_score_candidates(v, &clip.planes[1][0], planes, 2, &clip.planes[0][0], planes_score), VMAFGPU_OK);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < vmafgpu_column_count(v); k++)
            CHECK_BITS(values[i][k], planes_score[i].values[k]);
    CHECK_INT(vmafgpu_edit_begin(v, &clip.pixels[1][0].frame, &clip.pixels[1][1].frame, &clip.pixels[0][0].frame,
                                 &clip.pixels[2][0].frame, score),
              VMAFGPU_OK);
    const double base = score[0].score;
    CHECK_INT(vmafgpu_edit_begin(v, &clip.planes[1][0], &planes[1], &clip.planes[0][0], &clip.planes[2][0], score),
              VMAFGPU_OK);
    CHECK_BITS(base, score[0].score);
    vmafgpu_close(v);

    snprintf(test_where, sizeof test_where, "many contexts");
    c.max_edit_size = 0;
    scores expected[2];
    for (int i = 0; i < 2; i++) {
        many[i] = open_checked(&c);
        v = open_checked(&c);
        CHECK_INT(vmafgpu_push_preceding(v, &clip.planes[3][0]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push_preceding(many[i], &clip.pixels[3][0].frame), VMAFGPU_OK);
        for (int k = 0; k < 2; k++)
            CHECK_INT(vmafgpu_push(v, &clip.planes[k][0], &clip.planes[i][1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        expected[i] = scores_of(v);
        vmafgpu_close(v);
    }
    pixels[0] = clip.pixels[0][1].frame;
    for (int k = 0; k < 2; k++)
        CHECK_INT(vmafgpu_push_many(many, 2, &clip.pixels[k][0].frame, pixels, NULL), VMAFGPU_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(vmafgpu_flush(many[i]), VMAFGPU_OK);
        scores s = scores_of(many[i]);
        check_same(&s, &expected[i]);
        scores_free(&s);
        scores_free(&expected[i]);
        vmafgpu_close(many[i]);
    }

    /* The contexts use different matrices, so they cannot share the converted reference. */
    for (int i = 0; i < 2; i++) {
        c.colour.matrix = i ? VMAFGPU_MATRIX_BT601 : VMAFGPU_MATRIX_BT709;
        many[i] = open_checked(&c);
        v = open_checked(&c);
        CHECK_INT(vmafgpu_push(v, &clip.pixels[0][0].frame, &pixels[i]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        expected[i] = scores_of(v);
        vmafgpu_close(v);
    }
    CHECK_INT(vmafgpu_push_many(many, 2, &clip.pixels[0][0].frame, pixels, NULL), VMAFGPU_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(vmafgpu_flush(many[i]), VMAFGPU_OK);
        scores s = scores_of(many[i]);
        check_same(&s, &expected[i]);
        scores_free(&s);
        scores_free(&expected[i]);
        vmafgpu_close(many[i]);
    }
    pair_clip_free(&clip);
}

/* ---- errors ---- */

static void check_refused(vmafgpu_config *c, const char *words) {
    vmafgpu *v = NULL;
    CHECK_INT(vmafgpu_open(&v, c), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), words);
    vmafgpu_close(v);
}

static void test_errors(void) {
    static pair_clip clip;
    vmafgpu_feature_config psnr = VMAFGPU_INIT;
    vmafgpu_config c = config_of(&formats[0], 0), whole = c;
    vmafgpu *v;
    vmafgpu_frame frame;
    snprintf(test_where, sizeof test_where, "colour errors");
    psnr.name = "psnr";
    pair_clip_make(&clip, &c, VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA16F);

    memset(&c.colour, 0, sizeof c.colour);
    v = open_checked(&c);
    CHECK_INT(vmafgpu_push(v, &clip.pixels[0][0].frame, &clip.planes[0][1]), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "reference.pixels requires config.colour.matrix (RGBA8)");
    CHECK_INT(vmafgpu_push(v, &clip.planes[0][0], &clip.pixels[0][1].frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "distorted.pixels requires config.colour.matrix (RGBA16F)");
    CHECK_INT(vmafgpu_push(v, &clip.planes[0][0], &clip.planes[0][1]), VMAFGPU_OK);
    vmafgpu_close(v);

    c = whole;
    c.colour.transfer = VMAFGPU_TRANSFER_UNSTATED;
    v = open_checked(&c);
    CHECK_INT(vmafgpu_push(v, &clip.pixels[0][0].frame, &clip.pixels[0][1].frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "distorted.pixels requires config.colour.transfer (RGBA16F)");
    CHECK_INT(vmafgpu_push(v, &clip.pixels[0][0].frame, &clip.pixels[0][0].frame), VMAFGPU_OK);
    frame = clip.pixels[0][0].frame;
    frame.pixels = (vmafgpu_pixels)7;
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "reference.pixels is invalid (7)");
    frame.pixels = VMAFGPU_PIXELS_RGB8_PLANAR;
    frame.data[1] = frame.data[0];
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "reference.data[2] is NULL, but RGB8_PLANAR has three planes");
    frame.data[2] = frame.data[0];
    frame.pitch[2] = c.width + 1;
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "reference.pitch[2] must be 0 or equal pitch[0] with RGB8_PLANAR (98)");
    frame.pitch[2] = c.width;
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_OK);
    frame = clip.pixels[0][0].frame;
    frame.pixels = (vmafgpu_pixels)-1;
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    frame.pixels = VMAFGPU_PIXELS_RGBA8;
    frame.pitch[0] = c.width * 4 - 1;
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "pitch[0] is too small (387 bytes); a row has 388 bytes");
    frame.pitch[0] = 0;
    for (int kind = VMAFGPU_MEMORY_DEVICE; kind <= VMAFGPU_MEMORY_ARRAY; kind++) {
        frame.memory = (vmafgpu_memory)kind;
        CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(v), "which the CPU backend cannot read");
    }
    frame.memory = (vmafgpu_memory)(VMAFGPU_MEMORY_ARRAY + 1);
    CHECK_INT(vmafgpu_push(v, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "reference.memory is invalid (5)");
    /* uses an acquired frame as an RGB frame */
    vmafgpu_frame lent[2];
    CHECK_INT(vmafgpu_acquire_pair(v, &lent[0], &lent[1]), VMAFGPU_OK);
    lent[0].pixels = VMAFGPU_PIXELS_RGBA8;
    lent[0].pitch[0] = 0;
    CHECK_INT(vmafgpu_push(v, &lent[0], &clip.planes[0][1]), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "acquired memory");
    CHECK_INT(vmafgpu_push(v, &clip.pixels[0][0].frame, &clip.planes[0][1]), VMAFGPU_OK);
    vmafgpu_close(v);

    c = whole;
    c.colour.range = VMAFGPU_RANGE_UNSTATED;
    check_refused(&c, "config.colour.range: is not set");
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_ARGUMENT);
    c = whole;
    c.colour.matrix = VMAFGPU_MATRIX_UNSTATED;
    check_refused(&c, "config.colour.matrix: is not set, but config.colour.range is set");
    c.colour.range = VMAFGPU_RANGE_UNSTATED;
    check_refused(&c, "but config.colour.siting is set");
    c.colour.siting = VMAFGPU_SITING_UNSTATED;
    check_refused(&c, "but config.colour.transfer is set");
    c = whole;
    c.colour.siting = VMAFGPU_SITING_UNSTATED;
    vmafgpu_close(open_checked(&c)); /* the config needs only luma */
    c.features = &psnr;
    c.feature_count = 1;
    check_refused(&c,
                  "config.colour.siting: is not set, but config.colour.matrix is set and feature psnr requires chroma");
    c.chroma = VMAFGPU_CHROMA_422;
    check_refused(&c, "config.colour.siting: is not set");
    c.chroma = VMAFGPU_CHROMA_444;
    vmafgpu_close(open_checked(&c));
    c = whole;
    c.colour.matrix = (vmafgpu_matrix)4;
    check_refused(&c, "config.colour.matrix: out of range (4); use 0..3");
    c = whole;
    c.colour.range = (vmafgpu_range)3;
    check_refused(&c, "config.colour.range");
    c = whole;
    c.colour.siting = (vmafgpu_siting)4;
    check_refused(&c, "config.colour.siting");
    c = whole;
    c.colour.transfer = (vmafgpu_transfer)-1;
    check_refused(&c, "config.colour.transfer");
    pair_clip_free(&clip);
}

/* ---- memory ---- */

static int allocations_left;

static void *scarce_alloc(void *user, size_t size) {
    (void)user;
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static void scarce_free(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

static void test_memory(void) {
    static pair_clip clip;
    vmafgpu_config c = config_of(&formats[0], 0);
    vmafgpu_result result = VMAFGPU_ERROR_MEMORY;
    int has_message = 0;
    snprintf(test_where, sizeof test_where, "memory");
    pair_clip_make(&clip, &c, VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA8);
    c.allocator.allocate = scarce_alloc;
    c.allocator.release = scarce_free;
    for (int n = 0; n < 64 && result == VMAFGPU_ERROR_MEMORY; n++) {
        vmafgpu *v = NULL;
        allocations_left = n;
        result = vmafgpu_open(&v, &c);
        has_message += v && strstr(vmafgpu_last_error(v), "colour tables: out of memory") != NULL;
        if (result == VMAFGPU_OK) { /* later allocations are only needed for scores */
            const size_t before = vmafgpu_host_memory(v);
            allocations_left = 64;
            CHECK_INT(vmafgpu_push(v, &clip.pixels[0][0].frame, &clip.pixels[0][1].frame), VMAFGPU_OK);
            allocations_left = 0;
            CHECK(vmafgpu_host_memory(v) >= before);
            CHECK_INT(vmafgpu_push(v, &clip.pixels[1][0].frame, &clip.pixels[1][1].frame), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        }
        vmafgpu_close(v);
    }
    CHECK_INT(result, VMAFGPU_OK);
    CHECK_INT(has_message, 1);
    pair_clip_free(&clip);
}

/* ---- time ---- */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench(void) {
    static const unsigned masks[] = { 0, 16, 24 };
    vmafgpu_feature_config psnr = VMAFGPU_INIT;
    psnr.name = "psnr";
    for (int kind = VMAFGPU_PIXELS_RGBA8; kind <= VMAFGPU_PIXELS_RGBA16F; kind++) {
        picture p = picture_make((vmafgpu_pixels)kind, VMAFGPU_TRANSFER_SRGB, 3840, 2160, 0, 0, 0, 0, 1);
        for (int depth = 8; depth <= 10; depth += 2) {
            for (int m = 0; m < 3; m++) {
                const format f = { 3840, 2160, depth, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR };
                vmafgpu_config c = config_of(&f, 1);
                double least[2] = { 1e9, 1e9 };
                vmafgpu_frame own;
                c.features_only = 1;
                c.features = &psnr;
                c.feature_count = 1;
                c.cpumask = masks[m];
                vmafgpu *v = open_checked(&c);
                for (int run = 0; v && run < 10; run++) {
                    for (int with_chroma = 0; with_chroma < 2; with_chroma++) {
                        const double begin = seconds();
                        vmafgpu__convert_frame(v, VMAFGPU__CONVERTED_REFERENCE, &p.frame, with_chroma, &own);
                        const double took = seconds() - begin;
                        least[with_chroma] = took < least[with_chroma] ? took : least[with_chroma];
                    }
                }
                printf("%-8s to %2d bits, %-7s luma %6.2f ms, with chroma %6.2f\n", vmafgpu__pixel_names[kind], depth,
                       vmafgpu_instruction_set(v), 1e3 * least[0], 1e3 * least[1]);
                vmafgpu_close(v);
            }
        }
        picture_free(&p);
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "bench")) {
        bench();
        return 0;
    }
    test_cube();
    test_chroma_levels();
    test_shifts();
    test_halves();
    test_planes();
    test_scores();
    test_other_calls();
    test_errors();
    test_memory();
    return test_end();
}
