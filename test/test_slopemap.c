/* Tests the pictures of the tool's --slopes option: the scale, the colours, the legend, and the PNG files.
 *
 *     test_slopemap                          tests the functions that draw
 *     test_slopemap DEPTH STEP PATTERN MEAN  compares pictures that the tool drew, for every STEP-th frame and for the
 *                                            mean, with slopes that this program computes for the same generated clip
 */
#include "../examples/tool/slopemap.h"
#include "../examples/tool/xxh64.h"
#include "../vmafgpu.h"
#include "clip.h"
#include "test.h"

#include <math.h>

/* The clip that test_slopes.sh draws. */
enum { WIDTH = 160, HEIGHT = 96, FRAMES = 6, SEED = 4, MOST = 1 << 20, COLOURS = 2 * SLOPEMAP_STEPS + 1 };

/* ---- reading PNG files: palettes, literal Huffman codes, all filters ---- */

typedef struct picture {
    int width, height, colours;
    unsigned char palette[256][3];
    unsigned char pixels[MOST]; /* indices */
} picture;

static picture decoded;

typedef struct bits {
    const unsigned char *data;
    size_t size, at; /* `at` is in bits */
} bits;

static unsigned get(bits *b, int count) {
    unsigned value = 0;
    for (int i = 0; i < count; i++, b->at++)
        if (b->at / 8 < b->size)
            value |= (unsigned)(b->data[b->at / 8] >> b->at % 8 & 1) << i;
    return value;
}

/* Reads a symbol of a canonical Huffman code. Returns -1 if there is none. */
static int get_symbol(bits *b, const int *lengths, int symbols) {
    unsigned code = 0, first = 0;
    for (int length = 1; length <= 15; length++) {
        unsigned count = 0;
        code = code << 1 | get(b, 1);
        first <<= 1;
        for (int i = 0; i < symbols; i++)
            if (lengths[i] == length && first + count++ == code)
                return i;
        first += count;
    }
    return -1;
}

/* Inflates a single block of literals. Returns the number of bytes, or 0 on failure. */
static size_t inflate(const unsigned char *data, size_t size, unsigned char *out, size_t most) {
    static const int order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
    int code_lengths[19] = { 0 }, lengths[320] = { 0 };
    uint32_t a = 1, c = 0;
    bits b = { data + 2, size - 6, 0 };
    size_t count = 0;
    if (get(&b, 3) != 5)
        return 0;
    const int literals = 257 + (int)get(&b, 5), distances = 1 + (int)get(&b, 5), codes = 4 + (int)get(&b, 4);
    for (int i = 0; i < codes; i++)
        code_lengths[order[i]] = (int)get(&b, 3);
    for (int i = 0; i < literals + distances; i++)
        lengths[i] = get_symbol(&b, code_lengths, 19);
    for (;;) {
        const int symbol = get_symbol(&b, lengths, literals);
        if (symbol == 256)
            break;
        if (symbol < 0 || symbol > 256 || count == most)
            return 0;
        out[count++] = (unsigned char)symbol;
        a = (a + (uint32_t)symbol) % 65521;
        c = (c + a) % 65521;
    }
    const unsigned char *end = data + size - 4;
    const uint32_t sum = (uint32_t)end[0] << 24 | (uint32_t)end[1] << 16 | (uint32_t)end[2] << 8 | end[3];
    return sum == (c << 16 | a) ? count : 0;
}

static uint32_t big(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void unfilter(const unsigned char *lines) {
    for (int y = 0; y < decoded.height; y++, lines += decoded.width + 1) {
        for (int x = 0; x < decoded.width; x++) {
            unsigned char *p = decoded.pixels + y * decoded.width + x;
            const int a = x ? p[-1] : 0, b = y ? p[-decoded.width] : 0, c = x && y ? p[-decoded.width - 1] : 0;
            const int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c),
                      paeth = pa <= pb && pa <= pc ? a
                              : pb <= pc           ? b
                                                   : c,
                      guesses[] = { 0, a, b, (a + b) / 2, paeth };
            *p = (unsigned char)(lines[1 + x] + guesses[lines[0] < 5 ? lines[0] : 0]);
        }
    }
}

/* Reads a PNG file with a palette into `decoded`. */
static int decode(const unsigned char *data, size_t size) {
    static unsigned char lines[MOST];
    int has_all = 0;
    memset(&decoded, 0, sizeof decoded);
    if (size < 8 || memcmp(data, "\x89PNG\r\n\x1a\n", 8) != 0)
        return 0;
    for (size_t at = 8; at + 12 <= size;) {
        const size_t length = big(data + at);
        const unsigned char *body = data + at + 8;
        if (at + 12 + length > size || big(body + length) != png_crc(data + at + 4, length + 4))
            return 0;
        if (memcmp(data + at + 4, "IHDR", 4) == 0) {
            decoded.width = (int)big(body);
            decoded.height = (int)big(body + 4);
            if (body[8] != 8 || body[9] != 3 || decoded.width > 4096 || decoded.height > 4096)
                return 0;
        } else if (memcmp(data + at + 4, "PLTE", 4) == 0) {
            decoded.colours = (int)(length / 3);
            memcpy(decoded.palette, body, length);
        } else if (memcmp(data + at + 4, "IDAT", 4) == 0) {
            const size_t count = (size_t)(decoded.width + 1) * (size_t)decoded.height;
            if (count > MOST || inflate(body, length, lines, MOST) != count)
                return 0;
            unfilter(lines);
            has_all = 1;
        }
        at += 12 + length;
    }
    return has_all;
}

/* ---- tests of the functions that draw ---- */

static void check_range(const float *slopes, size_t count, int digit, int power) {
    const slopemap_range range = slopemap_choose_range(slopes, count);
    CHECK_INT(range.digit, digit);
    CHECK_INT(range.power, power);
    CHECK(fabs(range.value / (digit * pow(10, power)) - 1) < 1e-12);
}

static void test_range(void) {
    static float slopes[1000];
    static const struct {
        float most;
        int digit, power;
    } rows[] = { { 1.5e-4f, 2, -4 }, { -4.9e-5f, 5, -5 }, { 0.7e-3f, 1, -3 },  { 30, 5, 1 },
                 { -600, 1, 3 },     { 2.1f, 5, 0 },      { 1.1e-12f, 2, -12 } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(test_where, sizeof test_where, "range of %g", (double)rows[i].most);
        for (int k = 0; k < 1000; k++)
            slopes[k] = rows[i].most * (float)(k % 10) / 9; /* a tenth of the slopes are at the end */
        check_range(slopes, 1000, rows[i].digit, rows[i].power);
        for (int k = 0; k < 10; k++)
            slopes[k] = 1e4f * rows[i].most; /* one in a hundred does not matter */
        check_range(slopes, 1000, rows[i].digit, rows[i].power);
        check_range(&rows[i].most, 1, rows[i].digit, rows[i].power);
    }
    memset(slopes, 0, sizeof slopes);
    check_range(slopes, 1000, 1, 0);
    test_where[0] = '\0';
}

static void test_index(void) {
    const slopemap_range range = { 2, -3, 2e-3 };
    CHECK_INT(slopemap_index(0, &range), SLOPEMAP_STEPS);
    CHECK_INT(slopemap_index(2e-3, &range), 2 * SLOPEMAP_STEPS);
    CHECK_INT(slopemap_index(-2e-3, &range), 0);
    CHECK_INT(slopemap_index(1, &range), 2 * SLOPEMAP_STEPS);
    CHECK_INT(slopemap_index(-1, &range), 0);
    CHECK_INT(slopemap_index(NAN, &range), SLOPEMAP_STEPS);
    CHECK_INT(slopemap_index(1e-3, &range), SLOPEMAP_STEPS * 3 / 2);
    CHECK_INT(slopemap_index(-1e-3, &range), SLOPEMAP_STEPS / 2);
    CHECK_INT(slopemap_index(0.49 * 2e-3 / SLOPEMAP_STEPS, &range), SLOPEMAP_STEPS);
    CHECK_INT(slopemap_index(0.51 * 2e-3 / SLOPEMAP_STEPS, &range), SLOPEMAP_STEPS + 1);
    CHECK_INT(slopemap_index(-0.51 * 2e-3 / SLOPEMAP_STEPS, &range), SLOPEMAP_STEPS - 1);
}

static void test_colours(void) {
    const unsigned char(*p)[3] = (const unsigned char(*)[3])decoded.palette;
    CHECK_INT(decoded.colours, COLOURS + 2);
    CHECK(p[SLOPEMAP_STEPS][0] == 250 && p[SLOPEMAP_STEPS][1] == 250 && p[SLOPEMAP_STEPS][2] == 250);
    for (int i = 1; i <= SLOPEMAP_STEPS; i++) {
        const unsigned char *up = p[SLOPEMAP_STEPS + i], *before = p[SLOPEMAP_STEPS + i - 1],
                            *down = p[SLOPEMAP_STEPS - i], *after = p[SLOPEMAP_STEPS - i + 1];
        CHECK(up[0] > up[1] && up[0] > up[2] && down[2] > down[0] && down[2] > down[1]);
        CHECK(up[0] + up[1] + up[2] < before[0] + before[1] + before[2]); /* darker towards both ends */
        CHECK(down[0] + down[1] + down[2] < after[0] + after[1] + after[2]);
    }
}

/* Checks that `decoded` shows these slopes. */
static void check_picture(const float *slopes, int width, int height) {
    const slopemap_range range = slopemap_choose_range(slopes, (size_t)width * (size_t)height);
    long bad = 0, ink = 0;
    const int legend = slopemap_legend_height(width),
              full_width = width > SLOPEMAP_LEAST_WIDTH ? width : SLOPEMAP_LEAST_WIDTH, dot = legend / 40;
    if (!CHECK_INT(decoded.width, full_width) || !CHECK_INT(decoded.height, height + legend))
        return;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < full_width; x++)
            bad += decoded.pixels[y * full_width + x] !=
                   (x < width ? slopemap_index(slopes[y * width + x], &range) : COLOURS);
    CHECK_INT(bad, 0);
    const unsigned char *bar = decoded.pixels + (height + 9 * dot) * full_width;
    CHECK(bar[8 * dot] == 0 && bar[full_width - 8 * dot - 1] == COLOURS - 1);
    for (int x = 8 * dot; x + 1 < full_width - 8 * dot; x++)
        bad += bar[x + 1] < bar[x];
    CHECK_INT(bad, 0);
    for (int i = height * full_width; i < (height + legend) * full_width; i++)
        ink += decoded.pixels[i] == COLOURS + 1;
    CHECK(ink > 300 * dot * dot && ink < 1000 * dot * dot);
}

static void test_drawing(void) {
    static const int sizes[][2] = { { 16, 16 }, { 255, 3 }, { 256, 20 }, { 257, 20 }, { 1300, 33 }, { 2560, 10 } };
    uint32_t state = 7;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const int w = sizes[i][0], h = sizes[i][1];
        float *slopes = (float *)malloc(sizeof *slopes * (size_t)(w * h));
        png_bytes out = { NULL, 0, 0, 0, 0, 0 };
        snprintf(test_where, sizeof test_where, "%dx%d", w, h);
        if (!slopes)
            exit(1);
        for (int k = 0; k < w * h; k++) {
            state = state * 1664525u + 1013904223u;
            slopes[k] = (float)((int)(state >> 8) - (1 << 23)) / (float)(1 << 30);
        }
        slopemap_draw(&out, slopes, w, h);
        CHECK_INT(out.failed, 0);
        if (CHECK(decode(out.data, out.size))) {
            check_picture(slopes, w, h);
            test_colours();
        }
        free(out.data);
        free(slopes);
    }
    test_where[0] = '\0';
}

static void test_small(void) {
    enum { W = 90, H = 60, SMALL = 30 };
    static float slopes[W * H];
    png_bytes out = { NULL, 0, 0, 0, 0, 0 };
    slopemap_range range;
    long bad = 0;
    for (int i = 0; i < W * H; i++) { /* two of nine samples in each area have a slope */
        const int x = i % W, y = i / W, column = x / 3;
        slopes[i] = y % 3 || x % 3 == 2 ? 0 : (float)(column - 15) * (x % 3 ? -0.5f : 1.0f);
    }
    slopemap_draw_small(&out, slopes, W, H, SMALL, &range);
    CHECK(!out.failed && decode(out.data, out.size));
    CHECK_INT(decoded.width, SMALL);
    CHECK_INT(decoded.height, 20);
    for (int i = 0; i < SMALL * 20; i++) {
        const int column = i % SMALL - 15;
        bad += decoded.pixels[i] != slopemap_index((float)(column * sqrt(1.25 / 9)), &range);
    }
    CHECK_INT(bad, 0);
    CHECK(range.digit == 1 && range.power == 1); /* the ends are -15 and 14, times 0.373 */
    free(out.data);
}

/* ---- comparison with slopes of the library ---- */

static uint16_t samples[2][FRAMES][WIDTH * HEIGHT];

/* Computes the slopes of a pair of the clip. */
static int compute(vmafgpu *v, const vmafgpu_config *config, int depth, int frame, float *slopes) {
    static unsigned char planes[4][2 * WIDTH * HEIGHT];
    const int bytes = depth > 8 ? 2 : 1, frames[4] = { frame, frame, frame - 1, frame + 1 };
    vmafgpu_frame f[4];
    memset(f, 0, sizeof f);
    for (int i = 0; i < 4; i++) {
        if (frames[i] >= 0 && frames[i] < FRAMES) {
            clip_store(samples[i == 1][frames[i]], WIDTH * HEIGHT, bytes, planes[i]);
            f[i] = vmafgpu_frame_of(config, planes[i], 0);
        }
    }
    return CHECK_INT(
               vmafgpu_edit_begin(v, &f[0], &f[1], frame > 0 ? &f[2] : NULL, frame + 1 < FRAMES ? &f[3] : NULL, NULL),
               VMAFGPU_OK) &&
           CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
}

/* Reads a file into `decoded`. */
static int read_picture(const char *name, int number, xxh64 *hash) {
    static unsigned char bytes[MOST];
    char path[512];
    snprintf(path, sizeof path, name, number);
    FILE *in = fopen(path, "rb");
    const size_t size = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    if (in)
        fclose(in);
    xxh64_add(hash, bytes, size);
    return CHECK(decode(bytes, size));
}

static void compare(int depth, int step, const char *pattern, const char *mean) {
    static float slopes[WIDTH * HEIGHT];
    static double sums[WIDTH * HEIGHT];
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *v = NULL;
    xxh64 hash;
    clip c;
    xxh64_start(&hash);
    config.width = WIDTH;
    config.height = HEIGHT;
    config.bit_depth = depth;
    config.chroma = VMAFGPU_CHROMA_400;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.max_edit_size = config.slopes = 1;
    CHECK(clip_init(&c, "texture+mix", WIDTH, HEIGHT, depth, 420, FRAMES, SEED));
    for (int i = 0; i < 2 * FRAMES; i++)
        clip_plane(&c, i / 2, i % 2, 0, samples[i % 2][i / 2]);
    if (!CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK))
        return;
    int rows = 0;
    for (int frame = 0; frame < FRAMES; frame += step, rows++) {
        snprintf(test_where, sizeof test_where, "frame %d", frame);
        if (!compute(v, &config, depth, frame, slopes) || !read_picture(pattern, frame, &hash))
            break;
        check_picture(slopes, WIDTH, HEIGHT);
        for (int i = 0; i < WIDTH * HEIGHT; i++)
            sums[i] += slopes[i];
    }
    snprintf(test_where, sizeof test_where, "mean");
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        slopes[i] = (float)(sums[i] / rows);
    if (read_picture(mean, 0, &hash))
        check_picture(slopes, WIDTH, HEIGHT);
    vmafgpu_close(v);
    if (depth == 8 && step == 1) /* the slopes and the files are the same on all machines */
        CHECK_INT(xxh64_end(&hash), 0xd03bd0e32795457du);
}

int main(int argc, char **argv) {
    if (argc == 5) {
        compare(atoi(argv[1]), atoi(argv[2]), argv[3], argv[4]);
        return test_end();
    }
    test_range();
    test_index();
    test_drawing();
    test_small();
    return test_end();
}
