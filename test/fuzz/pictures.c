/* Makes the clips of random cases; see cases.h. All arithmetic is in integers, so all machines make equal samples. */
#include "cases.h"

#define FUZZ_NAME(name) #name,
static const char *const content_names[] = { FUZZ_CONTENTS(FUZZ_NAME) };

const char *fuzz_content_name(fuzz_content content) {
    return content_names[content];
}

/* The parameters of a clip. */
typedef struct painter {
    const fuzz_case *c;
    uint32_t seed;
    int move_x, move_y;   /* per frame, in luma samples */
    int cell_x, cell_y;   /* size of the cells of chequers and stripes */
    int low, high, noise; /* 16-bit values; noise is the maximum deviation, or 0 */
    const film *natural;
} painter;

/* Returns a clip from test/golden/real, which is read at the first call. */
static const film *natural_film(int which) {
    static const char *const paths[2] = { "test/golden/real/seek_8b.squeezed", "test/golden/real/c422_10b.squeezed" };
    static film films[2];
    if (!films[which].luma)
        test_need(film_from_squeezed(&films[which], paths[which]), paths[which]);
    return &films[which];
}

static painter painter_of(const fuzz_case *c, uint32_t seed) {
    chance r = { seed };
    painter p;
    memset(&p, 0, sizeof p);
    p.c = c;
    p.seed = seed;
    if (chance_is(&r, 75)) {
        p.move_x = chance_range(&r, 0, 3);
        p.move_y = chance_range(&r, 0, 2);
    }
    p.cell_x = chance_is(&r, 70) ? 8 : chance_range(&r, 1, 16);
    p.cell_y = chance_is(&r, 70) ? p.cell_x : chance_range(&r, 1, 16);
    p.low = 4096;
    p.high = 60160;
    if (chance_is(&r, 40)) {
        p.low = chance_range(&r, 0, 65535);
        p.high = chance_range(&r, 0, 65535);
    }
    p.noise = chance_is(&r, 60) ? 0 : 128 << chance_range(&r, 0, 6);
    p.natural = natural_film(chance_is(&r, 50));
    return p;
}

/* Returns 16-bit smooth noise, interpolated between grid points with a distance of `step` samples. */
static int soft(int x, int y, int step, uint32_t seed) {
    const uint32_t gx = (uint32_t)(x / step), gy = (uint32_t)(y / step);
    const int64_t a = clip_hash(gx, gy, seed) & 65535, b = clip_hash(gx + 1, gy, seed) & 65535,
                  c = clip_hash(gx, gy + 1, seed) & 65535, d = clip_hash(gx + 1, gy + 1, seed) & 65535;
    const int fx = x % step, fy = y % step;
    return (int)(((a * (step - fx) + b * fx) * (step - fy) + (c * (step - fx) + d * fx) * fy) / (step * step));
}

static int patches(int x, int y, int plane, uint32_t seed) {
    int value = soft(x, y, 41, seed);
    for (uint32_t i = 0; i < 12; i++) {
        const int left = (int)(clip_hash(i, 1, seed) % 400), top = (int)(clip_hash(i, 2, seed) % 400);
        const int width = (int)(clip_hash(i, 3, seed) % 90) + 2, height = (int)(clip_hash(i, 4, seed) % 60) + 2;
        if (x >= left && x < left + width && y >= top && y < top + height)
            value = (int)(clip_hash(i, 5, seed + (uint32_t)plane) & 65535);
    }
    return value;
}

static int text(int x, int y, uint32_t seed) {
    const uint32_t letter = clip_hash((uint32_t)x / 7, (uint32_t)y / 11, seed);
    const int column = x % 7, row = y % 11;
    return column < 5 && row < 9 && (letter & 7) && (letter >> ((column + row * 3) % 29) & 1) ? 2000 : 60000;
}

static int natural(const painter *p, int frame, int side, int plane, int x, int y) {
    const film *f = p->natural;
    const int bytes = f->bytes_per_sample, index = 2 * (frame % f->clip.frames) + side;
    const int width = clip_plane_width(&f->clip, plane), height = clip_plane_height(&f->clip, plane);
    const unsigned char *sample = plane ? f->chroma + (size_t)(2 * index + plane - 1) * f->chroma_bytes
                                        : f->luma + (size_t)index * f->plane_bytes;
    x = (x + (int)(p->seed % 97)) / (plane && f->clip.chroma != 444 ? 2 : 1) % width;
    y = (y + (int)(p->seed % 61)) / (plane && f->clip.chroma == 420 ? 2 : 1) % height;
    sample += (size_t)(y * width + x) * (size_t)bytes;
    return (bytes == 1 ? sample[0] : sample[0] | sample[1] << 8) << (16 - f->clip.depth);
}

/* Returns the 16-bit sample at (x, y), which is a position in luma samples. */
static int paint(const painter *p, int frame, int side, int plane, int x, int y) {
    const uint32_t seed = p->seed, colour = seed + 7 * (uint32_t)plane, turn = (uint32_t)frame;
    uint32_t h, v;
    int value;
    x += frame * p->move_x + 64;
    y += frame * p->move_y + 64;
    h = (uint32_t)x;
    v = (uint32_t)y;
    switch (p->c->content) {
    case CONTENT_soft: return (p->low + soft(x, y, 5 + (int)(seed % 40), colour) / (1 + (int)(seed / 41 % 3) * 8)) / 2;
    case CONTENT_grainy: return 20000 + (int)(clip_hash(h, v, colour) & 8191) + soft(x, y, 23, seed) / 4;
    case CONTENT_noise: return (int)(clip_hash(h, v, colour + 13 * turn) & 65535);
    case CONTENT_extremes: return clip_hash(h / (1 + seed % 3), v / (1 + seed / 3 % 2), seed + turn) & 1 ? 65535 : 0;
    case CONTENT_gradient: return ((x * (int)(seed % 90 + 3) + y * (int)(seed / 7 % 50)) / 4) & 65535;
    case CONTENT_flat: return (int)(seed * 2654435761u >> 16);
    case CONTENT_specks: return clip_hash(h, v, colour) % (50 + seed % 1000) ? p->low : p->high;
    case CONTENT_patches: return patches(x, y, plane, seed);
    case CONTENT_text: return text(x, y, seed);
    case CONTENT_diagonals: value = (seed & 1 ? x + y : x - y + 4096) / p->cell_x; return value & 1 ? p->high : p->low;
    case CONTENT_chequers:
        value = (x / p->cell_x ^ y / p->cell_y) & 1 ? p->high : p->low;
        value += (int)(clip_hash(h, v, colour) % (uint32_t)(2 * p->noise + 1)) - p->noise;
        return value < 0 ? 0 : value > 65535 ? 65535 : value;
    case CONTENT_dark: return 1500 + soft(x, y, 61, colour) / 24 + (int)(clip_hash(h, v, seed + turn) & 255);
    default: return natural(p, frame, side, plane, x, y);
    }
}

static void paint_plane(const painter *p, const clip *c, int frame, int side, int plane, uint16_t *out) {
    const int width = clip_plane_width(c, plane), height = clip_plane_height(c, plane);
    const int step_x = plane && c->chroma != 444 ? 2 : 1, step_y = plane && c->chroma == 420 ? 2 : 1;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            *out++ = (uint16_t)(paint(p, frame, side, plane, x * step_x, y * step_y) >> (16 - c->depth));
}

/* ---- distortions ---- */

static int box_of_nine(const uint16_t *in, int width, int height, int x, int y) {
    int sum = 0;
    for (int j = y - 1; j <= y + 1; j++) {
        for (int i = x - 1; i <= x + 1; i++) {
            const int row = j < 0 ? 0 : j < height ? j : height - 1, column = i < 0 ? 0 : i < width ? i : width - 1;
            sum += in[row * width + column];
        }
    }
    return sum / 9;
}

static int distort(const fuzz_case *c, chance *r, const uint16_t *in, int width, int height, int x, int y) {
    const int unit = c->depth > 8 ? 1 << (c->depth - 8) : 1, top = (1 << c->depth) - 1, value = in[y * width + x];
    switch (c->distortion) {
    case DISTORTION_noise: return value + chance_range(r, -12 * unit, 12 * unit);
    case DISTORTION_coarse:
    case DISTORTION_coded: return value / (12 * unit) * (12 * unit) + 6 * unit;
    case DISTORTION_blur: return box_of_nine(in, width, height, x, y);
    case DISTORTION_pale: return (value * 3 + top) / 5 + unit;
    case DISTORTION_blocks: return in[y / 8 * 8 * width + x / 8 * 8];
    case DISTORTION_invert: return top - value;
    case DISTORTION_faint: return chance_below(r, 97) ? value : value ^ chance_range(r, 0, 3);
    case DISTORTION_contrast: return (value * 9 - top / 16) / 8;
    case DISTORTION_random: return chance_range(r, 0, top);
    case DISTORTION_shift: return in[y * width + (x ? x - 1 : 0)];
    default: return value;
    }
}

/* Makes the distorted plane for the reference `in`. */
static void distort_plane(const fuzz_case *c, const clip *shape, int frame, int plane, const uint16_t *in,
                          uint16_t *out) {
    const int width = clip_plane_width(shape, plane), height = clip_plane_height(shape, plane),
              top = (1 << c->depth) - 1;
    chance r = { clip_hash((uint32_t)frame, (uint32_t)plane, c->picture_seed) };
    if (c->distortion == DISTORTION_other || (c->distortion == DISTORTION_coded && c->content == CONTENT_natural)) {
        const painter p = painter_of(c, c->picture_seed + (c->distortion == DISTORTION_other ? 91u : 0u));
        paint_plane(&p, shape, frame, CLIP_DISTORTED, plane, out);
        return;
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            const int value = distort(c, &r, in, width, height, x, y);
            *out++ = (uint16_t)(value < 0 ? 0 : value > top ? top : value);
        }
    }
}

/* ---- films and files ---- */

film fuzz_case_film(const fuzz_case *c) {
    const painter p = painter_of(c, c->picture_seed);
    const int planes = c->chroma == 400 ? 1 : 3;
    uint16_t *samples[2];
    film f;
    memset(&f, 0, sizeof f);
    test_need(clip_init(&f.clip, "black", c->width, c->height, c->depth, c->chroma, c->frames, 0), "clip");
    film_room(&f, c->chroma != 400);
    for (int side = 0; side < 2; side++) {
        samples[side] = (uint16_t *)malloc(clip_plane_samples(&f.clip, 0) * 2);
        test_need(samples[side] != NULL, "out of memory");
    }
    for (int frame = 0; frame < c->frames; frame++) {
        for (int plane = 0; plane < planes; plane++) {
            paint_plane(&p, &f.clip, frame, CLIP_REFERENCE, plane, samples[0]);
            distort_plane(c, &f.clip, frame, plane, samples[0], samples[1]);
            for (int side = 0; side < 2; side++) {
                clip_store(samples[side], clip_plane_samples(&f.clip, plane), f.bytes_per_sample,
                           plane ? f.chroma + (size_t)(4 * frame + 2 * side + plane - 1) * f.chroma_bytes
                                 : f.luma + (size_t)(2 * frame + side) * f.plane_bytes);
            }
        }
    }
    free(samples[0]);
    free(samples[1]);
    return f;
}

static const char *y4m_tag(const fuzz_case *c, char *text, size_t size) {
    if (c->chroma == 400)
        return "mono";
    if (c->depth == 8)
        return c->chroma == 420 ? "420jpeg" : c->chroma == 422 ? "422" : "444";
    snprintf(text, size, "%dp%d", c->chroma, c->depth);
    return text;
}

int fuzz_film_write(const fuzz_case *c, const film *f, int side, const char *path) {
    FILE *file = fopen(path, "wb");
    char tag[16];
    int is_written;
    if (!file)
        return 0;
    if (c->is_y4m)
        fprintf(file, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s\n", c->width, c->height, y4m_tag(c, tag, sizeof tag));
    for (int frame = 0; frame < c->frames; frame++) {
        const vmafgpu_frame picture = film_frame(f, frame, side);
        if (c->is_y4m)
            fputs("FRAME\n", file);
        for (int plane = 0; plane < (f->chroma ? 3 : 1); plane++) {
            const size_t row = (size_t)clip_plane_width(&f->clip, plane) * (size_t)f->bytes_per_sample;
            int width = clip_plane_width(&f->clip, plane), height = clip_plane_height(&f->clip, plane);
            if (!c->is_y4m && plane) {
                width = c->chroma == 444 ? c->width : c->width / 2;
                height = c->chroma == 420 ? c->height / 2 : c->height;
            }
            for (int y = 0; y < height; y++) {
                const char *samples = (const char *)picture.data[plane] + (size_t)y * row;
                fwrite(samples, (size_t)f->bytes_per_sample, (size_t)width, file);
            }
        }
    }
    is_written = !ferror(file);
    return fclose(file) == 0 && is_written;
}
