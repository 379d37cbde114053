/* Shared by the tests that compare values with those of libvmaf: the real clips, and a reader for libvmaf reports. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "../examples/tool/video.h"
#include "../vmafgpu.h"
#include "scoring.h"

#define SHARED "../shared/"
#define REAL   "test/golden/real/"

typedef struct golden_clip {
    const char *name, *reference, *distorted; /* NULL: NAME.squeezed in golden/real */
    int width, height, depth;                 /* of raw video; 0 for y4m */
    int no_adm;                               /* too small for libvmaf's ADM: tests skip its columns and scores */
} golden_clip;

static const golden_clip clips[] = {
    { "akiyo", "akiyo_ref_352x288_420p.yuv", "akiyo_dis_352x288_420p.yuv", 352, 288, 8, 0 },
    { "c422_10b", "c422_10b_ref.y4m", "c422_10b_dis.y4m", 0, 0, 0, 0 },
    { "c444_8b", "c444_8b_ref.y4m", "c444_8b_dis.y4m", 0, 0, 0, 0 },
    { "c444_12b", "c444_12b_ref.y4m", "c444_12b_dis.y4m", 0, 0, 0, 0 },
    { "dark_8b", "dark_8b_ref_1920x1080_420p.yuv", "dark_8b_dis_1920x1080_420p.yuv", 1920, 1080, 8, 0 },
    { "odd_8b", "odd_8b_ref.y4m", "odd_8b_dis.y4m", 0, 0, 0, 0 },
    { "seek_8b", "seek_8b_ref.y4m", "seek_8b_dis.y4m", 0, 0, 0, 0 },
    { "seek_8b_same", "seek_8b_ref.y4m", "seek_8b_ref.y4m", 0, 0, 0, 0 },
    { "sparks_10b", "sparks_10b_ref.y4m", "sparks_10b_dis.y4m", 0, 0, 0, 0 },
    { "src01_8b", "src01_8b_ref.y4m", "src01_8b_dis.y4m", 0, 0, 0, 0 },
    { "src01_10b", "src01_10b_ref.y4m", "src01_10b_dis.y4m", 0, 0, 0, 0 },
    { "src01_12b", "src01_12b_ref.y4m", "src01_12b_dis.y4m", 0, 0, 0, 0 },
    { "src01_16b", "src01_16b_ref_576x324_420p16.yuv", "src01_16b_dis_576x324_420p16.yuv", 576, 324, 16, 0 },
    { "tiny", "tiny_ref_18x22_420p.yuv", "tiny_dis_18x22_420p.yuv", 18, 22, 8, 1 },
};

static inline int open_side(video *v, const golden_clip *clip, const char *file) {
    static char paths[2][256]; /* static, because the video keeps a pointer to its path */
    static int turn;
    video_raw raw;
    memset(&raw, 0, sizeof raw);
    raw.width = clip->width;
    raw.height = clip->height;
    raw.bit_depth = clip->depth;
    turn ^= 1;
    snprintf(paths[turn], sizeof paths[turn], SHARED "clips/%s", file);
    return video_open(v, paths[turn], clip->depth ? &raw : NULL, 0) == VIDEO_OK;
}

/* A pair of clips: two files or a film. */
typedef struct pair {
    video sides[2];
    film film;
    int is_film, at;
} pair;

static inline int pair_open(pair *p, const golden_clip *clip) {
    char path[256];
    memset(p, 0, sizeof *p);
    p->is_film = clip->reference == NULL;
    if (p->is_film) {
        snprintf(path, sizeof path, REAL "%s.squeezed", clip->name);
        return CHECK(film_from_squeezed(&p->film, path));
    }
    return CHECK(open_side(&p->sides[0], clip, clip->reference)) &
           CHECK(open_side(&p->sides[1], clip, clip->distorted));
}

static inline int pair_read(pair *p, vmafgpu_frame frames[2]) {
    for (int side = 0; side < 2; side++) {
        if (p->is_film ? p->at >= p->film.clip.frames : video_read(&p->sides[side]) != VIDEO_OK)
            return 0;
        frames[side] = p->is_film ? film_frame(&p->film, p->at, side) : video_frame(&p->sides[side]);
    }
    p->at++;
    return 1;
}

static inline void pair_close(pair *p) {
    if (p->is_film) {
        film_free(&p->film);
    } else {
        video_close(&p->sides[0]);
        video_close(&p->sides[1]);
    }
}

/* ---- reports ---- */

/* Copies the next quoted string and moves *at past it. Returns 0 if there is none. */
static inline int next_string(const char **at, char *name, size_t size) {
    const char *start = strchr(*at, '"'), *end = start ? strchr(start + 1, '"') : NULL;
    if (!end)
        return 0;
    snprintf(name, size, "%.*s", (int)(end - start - 1), start + 1);
    *at = end + 1;
    return 1;
}

/* Reads the number after a colon. Returns 0 if there is no number. */
static inline int next_number(const char *at, double *value) {
    char *end;
    at += strspn(at, ": \n");
    *value = strtod(at, &end);
    return end != at;
}

#endif
