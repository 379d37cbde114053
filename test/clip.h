/* Generates test clips from a seed: a reference and a distorted version, in any size, any chroma format and any depth
 * from 8 to 16 bits. All arithmetic is in integers, so the bytes are the same on all machines. The values in
 * test/golden were computed from these samples: if the samples change, regenerate these values.
 *
 *     clip c;
 *     clip_init(&c, "texture+mix", 320, 180, 8, 420, 10, 1);
 *     clip_plane(&c, frame, CLIP_DISTORTED, 0, samples);      16-bit words, tightly packed, samples in the low bits
 *     clip_store(samples, count, 1, bytes);                   the same samples as bytes, or as little-endian words
 */
#ifndef CLIP_H
#define CLIP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CLIP_REFERENCE = 0, CLIP_DISTORTED = 1 };

typedef enum clip_content {
    CLIP_TEXTURE, /* smooth noise in four octaves, panning, with a block that moves separately */
    CLIP_NOISE,   /* each sample of each frame is random */
    CLIP_FLAT,    /* uniform grey that gets a little lighter in each frame */
    CLIP_BLACK,
    CLIP_WHITE,
    CLIP_LINES,     /* alternating black and white rows, inverted in every other frame */
    CLIP_BLOCKS,    /* blocks of 1 to 16 samples, black or white at random */
    CLIP_RAMP,      /* a gradient over the whole range, panning */
    CLIP_BANDS,     /* wide plateaus with small steps, as after coarse quantisation; chroma as in texture */
    CLIP_DUSK,      /* like bands, but nearly black; flat chroma */
    CLIP_GREY,      /* texture with flat chroma */
    CLIP_CHEQUERS,  /* two levels in cells of 8x8, panning; some sums of products are exactly zero */
    CLIP_DIAGONALS, /* two levels in stripes at 45 degrees, panning */
    CLIP_SHADE,     /* slightly above black, smooth with dither, in all planes; covariances are nearly singular */
    CLIP_CONTENT_COUNT
} clip_content;

typedef enum clip_distortion {
    CLIP_SAME, /* no distortion */
    CLIP_BLUR,
    CLIP_GRAIN,  /* noise with an amplitude of 1/16 of the range */
    CLIP_COARSE, /* reduced to sixteen levels */
    CLIP_MIX,    /* blur, weak noise, and an offset for each block of 8x8 samples */
    CLIP_INVERT,
    CLIP_STRETCH, /* contrast times 1.5, so that the enhancement gain limits have an effect */
    CLIP_FAINT,   /* inverts the lowest bit of one sample in seven */
    CLIP_LUMA,    /* mix for luma, undistorted chroma */
    CLIP_WASH,    /* mix, but the second chroma plane is flat */
    CLIP_RINSE,   /* mix, but the first chroma plane is flat */
    CLIP_DISTORTION_COUNT
} clip_distortion;

typedef struct clip {
    clip_content content;
    clip_distortion distortion;
    int width, height, depth, frames;
    int chroma; /* 400, 420, 422 or 444 */
    uint32_t seed;
} clip;

static const char *const clip_content_names[CLIP_CONTENT_COUNT] = { "texture",   "noise", "flat",   "black",
                                                                    "white",     "lines", "blocks", "ramp",
                                                                    "bands",     "dusk",  "grey",   "chequers",
                                                                    "diagonals", "shade" };
static const char *const clip_distortion_names[CLIP_DISTORTION_COUNT] = { "same", "blur",   "grain",   "coarse",
                                                                          "mix",  "invert", "stretch", "faint",
                                                                          "luma", "wash",   "rinse" };

/* Initialises a clip; `what` is "CONTENT" or "CONTENT+DISTORTION". Returns 0 if a name is unknown or a number is out of
 * range, otherwise 1. */
static inline int clip_init(clip *c, const char *what, int width, int height, int depth, int chroma, int frames,
                            uint32_t seed) {
    const char *plus = strchr(what, '+');
    size_t length = plus ? (size_t)(plus - what) : strlen(what);
    int content = 0, distortion = 0;
    while (content < CLIP_CONTENT_COUNT &&
           (strlen(clip_content_names[content]) != length || strncmp(clip_content_names[content], what, length) != 0)) {
        content++;
    }
    while (plus && distortion < CLIP_DISTORTION_COUNT && strcmp(clip_distortion_names[distortion], plus + 1) != 0)
        distortion++;
    c->content = (clip_content)content;
    c->distortion = (clip_distortion)distortion;
    c->width = width;
    c->height = height;
    c->depth = depth;
    c->chroma = chroma;
    c->frames = frames;
    c->seed = seed;
    return content < CLIP_CONTENT_COUNT && distortion < CLIP_DISTORTION_COUNT && width > 0 && height > 0 &&
           width <= 16384 && height <= 16384 && depth >= 8 && depth <= 16 && frames >= 0 &&
           (chroma == 400 || chroma == 420 || chroma == 422 || chroma == 444);
}

static inline int clip_plane_count(const clip *c) {
    return c->chroma == 400 ? 1 : 3;
}

/* If the picture size is odd, the chroma size is rounded up, as in all tools except libvmaf. */
static inline int clip_plane_width(const clip *c, int plane) {
    return plane > 0 && c->chroma != 444 ? (c->width + 1) / 2 : c->width;
}

static inline int clip_plane_height(const clip *c, int plane) {
    return plane > 0 && c->chroma == 420 ? (c->height + 1) / 2 : c->height;
}

static inline size_t clip_plane_samples(const clip *c, int plane) {
    return (size_t)clip_plane_width(c, plane) * (size_t)clip_plane_height(c, plane);
}

static inline uint32_t clip_hash(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t h = a * 0x9e3779b1u + b * 0x85ebca77u + c * 0xc2b2ae3du + 0x27d4eb2fu;
    h = (h ^ (h >> 15)) * 0x2c1b3c6du;
    h = (h ^ (h >> 12)) * 0x297a2d39u;
    return h ^ (h >> 15);
}

/* Returns 16-bit noise: random values on a grid with a spacing of 1 << step samples, interpolated linearly. */
static inline uint32_t clip_octave(uint32_t x, uint32_t y, int step, uint32_t seed) {
    uint32_t n = 1u << step, gx = x >> step, gy = y >> step, fx = x & (n - 1), fy = y & (n - 1);
    uint32_t a = clip_hash(gx, gy, seed) >> 16, b = clip_hash(gx + 1, gy, seed) >> 16;
    uint32_t c = clip_hash(gx, gy + 1, seed) >> 16, d = clip_hash(gx + 1, gy + 1, seed) >> 16;
    uint32_t top = (a * (n - fx) + b * fx) >> step, bottom = (c * (n - fx) + d * fx) >> step;
    return (top * (n - fy) + bottom * fy) >> step;
}

/* Returns a 16-bit reference sample. Clips use its upper `depth` bits. */
static inline uint32_t clip_sample16(const clip *c, uint32_t x, uint32_t y, uint32_t frame, uint32_t seed) {
    uint32_t h, n;
    switch (c->content) {
    case CLIP_TEXTURE:
        if (((x + 5 * frame) & 127) < 40 && ((y + 127 * frame) & 63) < 24) {
            x += 6 * frame;
            seed += 99;
        } else {
            x += 1000 + 2 * frame;
            y += 500 + frame;
        }
        return (clip_octave(x, y, 6, seed) * 7 + clip_octave(x, y, 4, seed + 1) * 5 +
                clip_octave(x, y, 2, seed + 2) * 3 + (clip_hash(x, y, seed + 3) >> 16)) /
               16;
    case CLIP_NOISE: return clip_hash(x, y, seed + 7919 * frame) >> 16;
    case CLIP_FLAT: return 30000 + 700 * frame;
    case CLIP_WHITE: return 65535;
    case CLIP_LINES: return ((y + frame) & 1) ? 65535 : 0;
    case CLIP_BLOCKS:
        h = clip_hash((x + 3 * frame) >> 4, (y + frame) >> 4, seed);
        n = h % 5;
        return (clip_hash((x + 3 * frame) >> n, (y + frame) >> n, seed + 1) & 1) ? 65535 : 0;
    case CLIP_RAMP: return (x * 211 + y * 97 + 900 * frame) & 65535;
    case CLIP_BANDS:
        h = clip_octave(x + 3 * frame, y + frame, 7, seed);
        return (4096 + h / 4) & (clip_octave(x, y, 6, seed + 5) > 40000 ? 0xff80u : 0xff00u);
    case CLIP_CHEQUERS: return (((x + frame) >> 3) ^ ((y + 2 * frame) >> 3)) & 1 ? 60160 : 4096;
    case CLIP_DIAGONALS: return ((x + y + frame) >> 3) & 1 ? 60160 : 4096;
    case CLIP_SHADE:
        return 1500 + clip_octave(x + 3 * frame, y + frame, 6, seed) / 24 + (clip_hash(x, y, seed + frame) & 255);
    case CLIP_DUSK:
        h = clip_octave(x + 3 * frame, y + frame, 7, seed);
        return (3600 + h / 12) & (clip_octave(x, y, 6, seed + 5) > 40000 ? 0xffc0u : 0xff00u);
    default: return 0;
    }
}

static inline uint16_t clip_clamp(int32_t value, int depth) {
    int32_t white = (1 << depth) - 1;
    return (uint16_t)(value < 0 ? 0 : value > white ? white : value);
}

/* Blurs rows or columns with a filter of five taps. Samples outside the plane repeat the edge. */
static inline void clip_blur(const uint16_t *in, uint16_t *out, int width, int height, int vertical) {
    static const uint32_t taps[5] = { 1, 4, 6, 4, 1 };
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            uint32_t sum = 8;
            for (int k = -2; k <= 2; k++) {
                int px = vertical ? x : x + k, py = vertical ? y + k : y;
                px = px < 0 ? 0 : px >= width ? width - 1 : px;
                py = py < 0 ? 0 : py >= height ? height - 1 : py;
                sum += taps[k + 2] * in[(size_t)py * (size_t)width + (size_t)px];
            }
            out[(size_t)y * (size_t)width + (size_t)x] = (uint16_t)(sum >> 4);
        }
    }
}

static inline uint16_t clip_distort(const clip *c, int32_t v, uint32_t x, uint32_t y, uint32_t seed) {
    int32_t range = 1 << c->depth;
    uint32_t h = clip_hash(x, y, seed);
    int32_t signed_noise = (int32_t)(h & 0xffff) - 32768;
    switch (c->distortion) {
    case CLIP_GRAIN: return clip_clamp(v + signed_noise * (range / 16) / 32768, c->depth);
    case CLIP_COARSE: return clip_clamp(v / (range / 16) * (range / 16) + range / 32, c->depth);
    case CLIP_MIX: {
        int32_t block = (int32_t)(clip_hash(x >> 3, y >> 3, seed + 1) & 0xffff) - 32768;
        return clip_clamp(v + signed_noise * (range / 64) / 32768 + block * (range / 32) / 32768, c->depth);
    }
    case CLIP_INVERT: return clip_clamp(range - 1 - v, c->depth);
    case CLIP_STRETCH: return clip_clamp(range / 2 + (v - range / 2) * 3 / 2, c->depth);
    case CLIP_FAINT: return (uint16_t)(h % 7 == 0 ? v ^ 1 : v);
    default: return (uint16_t)v;
    }
}

/* Returns the plane that is flat in the distorted frame, or 0 if there is none. */
static inline int clip_washed_plane(const clip *c) {
    return c->distortion == CLIP_WASH ? 2 : c->distortion == CLIP_RINSE ? 1 : 0;
}

/* Returns a copy of the clip with the content and the distortion that apply to this plane. */
static inline clip clip_of_plane(const clip *c, int plane) {
    clip p = *c;
    if (c->content == CLIP_GREY || (c->content == CLIP_BANDS && plane > 0))
        p.content = CLIP_TEXTURE;
    if (plane > 0 && (c->content == CLIP_GREY || c->content == CLIP_DUSK)) {
        p.content = CLIP_FLAT;
        p.distortion = CLIP_SAME;
    }
    if (c->distortion >= CLIP_LUMA) {
        int mixed = plane == 0 || (c->distortion != CLIP_LUMA && plane != clip_washed_plane(c));
        p.distortion = mixed ? CLIP_MIX : CLIP_SAME;
    }
    return p;
}

static inline int clip_pure_plane(const clip *c, int frame, int side, int plane, uint16_t *out) {
    int width = clip_plane_width(c, plane), height = clip_plane_height(c, plane);
    size_t count = clip_plane_samples(c, plane);
    uint32_t seed = c->seed * 16 + (uint32_t)plane;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            uint32_t v = clip_sample16(c, (uint32_t)x, (uint32_t)y, (uint32_t)frame, seed);
            out[(size_t)y * (size_t)width + (size_t)x] = (uint16_t)(v >> (16 - c->depth));
        }
    }
    if (side == CLIP_REFERENCE || c->distortion == CLIP_SAME)
        return 1;
    if (c->distortion == CLIP_BLUR || c->distortion == CLIP_MIX) {
        uint16_t *rows = (uint16_t *)malloc(count * sizeof(uint16_t));
        if (!rows)
            return 0;
        clip_blur(out, rows, width, height, 0);
        clip_blur(rows, out, width, height, 1);
        free(rows);
    }
    seed = seed * 31 + 7 + 101 * (uint32_t)frame;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            size_t i = (size_t)y * (size_t)width + (size_t)x;
            out[i] = clip_distort(c, out[i], (uint32_t)x, (uint32_t)y, seed);
        }
    }
    return 1;
}

/* Writes one plane of one frame: clip_plane_samples() words. Returns 1, or 0 if there is no memory for the blur. */
static inline int clip_plane(const clip *c, int frame, int side, int plane, uint16_t *out) {
    clip p = clip_of_plane(c, plane);
    if (plane > 0 && side == CLIP_DISTORTED && plane == clip_washed_plane(c))
        p.content = CLIP_FLAT;
    return clip_pure_plane(&p, frame, side, plane, out);
}

/* Stores samples as bytes or as little-endian words. */
static inline void clip_store(const uint16_t *samples, size_t count, int bytes_per_sample, void *out) {
    unsigned char *bytes = (unsigned char *)out;
    for (size_t i = 0; i < count; i++) {
        if (bytes_per_sample == 1) {
            bytes[i] = (unsigned char)samples[i];
        } else {
            bytes[2 * i] = (unsigned char)(samples[i] & 255);
            bytes[2 * i + 1] = (unsigned char)(samples[i] >> 8);
        }
    }
}

#endif /* CLIP_H */
