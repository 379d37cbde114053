/* Pictures with slopes of every kind, and the hash of their slopes, for test_slopes.c (CPU) and gpu/slopes.c. */
#ifndef SLOPES_H
#define SLOPES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int hash_of(int x, int y, int seed) {
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u ^ (uint32_t)seed * 0xc2b2ae3du;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 13;
    h *= 0x297a2d39u;
    return (int)(h >> 16) - 32768;
}

/* Smooth noise, -32768..32767, with one random number per `cell` x `cell` samples. */
static inline int noise(int x, int y, int cell, int seed) {
    const int i = x / cell, j = y / cell, fx = x % cell, fy = y % cell;
    const int a = hash_of(i, j, seed) * (cell - fx) + hash_of(i + 1, j, seed) * fx;
    const int b = hash_of(i, j + 1, seed) * (cell - fx) + hash_of(i + 1, j + 1, seed) * fx;
    return (a / cell * (cell - fy) + b / cell * fy) / cell;
}

typedef struct pair {
    int w, h, depth;
    uint16_t *side[2]; /* reference, distorted */
} pair;

/* FLAT: the reference has no detail */
typedef enum distortion { DULL, ENHANCED, BLOCKY, FLAT, SAME } distortion;

static inline int clip_to(int v, int most) {
    return v < 0 ? 0 : v > most ? most : v;
}

static inline pair make_pair(int w, int h, int depth, distortion kind, int seed) {
    pair p = { w, h, depth, { NULL, NULL } };
    for (int i = 0; i < 2; i++) {
        p.side[i] = (uint16_t *)calloc((size_t)w * (size_t)h, sizeof(uint16_t));
        if (!p.side[i])
            exit(1);
    }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const int detail =
                kind == FLAT ? 0
                             : noise(x, y, 17, seed) / 3 + noise(x, y, 5, seed + 1) / 4 + hash_of(x, y, seed + 2) / 14;
            const int grain = hash_of(x, y, seed + 3), r = 30000 + detail;
            const int stain = noise(x, y, 9, seed + 4) / 10 + noise(x, y, 4, seed + 5) / 14;
            const int d = kind == DULL || kind == FLAT ? 31000 + detail * 3 / 4 + grain / 20 + stain
                          : kind == ENHANCED           ? 30000 + detail * 5 / 4 + grain / 20 + stain
                          : kind == BLOCKY
                              ? 30000 + detail * 7 / 8 + hash_of(x / 8, y / 8, seed) / 20 + grain / 30 + stain
                              : r;
            p.side[0][y * w + x] = (uint16_t)(clip_to(r, 65535) >> (16 - depth));
            p.side[1][y * w + x] = (uint16_t)(clip_to(d, 65535) >> (16 - depth));
        }
    return p;
}

static inline void free_pair(pair *p) {
    free(p->side[0]);
    free(p->side[1]);
}

/* ---- the hash ---- */

typedef struct golden_slopes {
    int w, h, depth;
    distortion kind;
    const char *model;
} golden_slopes;

enum { GOLDEN_SLOPES = 8 };

static const golden_slopes golden_slopes_cases[GOLDEN_SLOPES] = {
    { 61, 47, 8, DULL, "vmaf_v0.6.1" },       { 161, 203, 10, ENHANCED, "vmaf_v0.6.1neg" },
    { 33, 35, 16, BLOCKY, "vmaf_4k_v0.6.1" }, { 200, 131, 12, DULL, "vmaf_b_v0.6.3" },
    { 16, 16, 8, ENHANCED, "vmaf_v0.6.1" },   { 17, 33, 9, BLOCKY, "vmaf_v0.6.1neg" },
    { 97, 66, 8, SAME, "vmaf_4k_v0.6.1neg" }, { 96, 70, 8, FLAT, "vmaf_v0.6.1" },
};

#define HASH_BEGIN         UINT64_C(14695981039346656037)
#define GOLDEN_SLOPES_HASH UINT64_C(0x68df5f5045fbbc7b)

static inline uint64_t hash_floats(const float *values, int count, uint64_t hash) {
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int k = 0; k < 4; k++)
            hash = (hash ^ (bits >> (8 * k) & 255)) * 1099511628211u;
    }
    return hash;
}

#endif /* SLOPES_H */
