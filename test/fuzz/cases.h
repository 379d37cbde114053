/* Random cases for levels.c and peer.c. A case is a clip, models, features, their options, and flags. It depends only
 * on a seed and a number.
 *
 * cases.c draws the cases and pictures.c makes their clips. pictures.c reads test/golden/real, so the programs must
 * run in the root of the repository. */
#ifndef FUZZ_CASES_H
#define FUZZ_CASES_H

/* The main file of the program defines TEST_STATE as nothing; see test.h. */
#ifndef TEST_STATE
#define TEST_STATE extern
#endif
#include "../scoring.h"

/* clang-format off */
#define FUZZ_CONTENTS(X) \
    X(soft)      /* smooth noise in one octave, often of low contrast */ \
    X(grainy)    /* smooth noise with grain */ \
    X(noise)     /* full-range noise, different in each frame */ \
    X(extremes)  /* random cells of one to three samples, black or white */ \
    X(gradient) \
    X(flat) \
    X(specks)    /* flat, with single samples of a different value */ \
    X(patches)   /* rectangles over smooth noise */ \
    X(text)      /* dark strokes on a light background */ \
    X(diagonals) /* stripes at exactly 45 degrees */ \
    X(chequers)  /* cells with two alternating values; two out of five clips have noise */ \
    X(dark)      /* a few values above black, with noise */ \
    X(natural)   /* a clip of test/golden/real */
/* clang-format on */

/* clang-format off */
#define FUZZ_DISTORTIONS(X) \
    X(same) X(noise) X(coarse) X(blur) X(other) X(pale) X(blocks) X(invert) X(faint) X(contrast) X(random) X(shift) \
    X(coded)     /* for natural, the distorted frames of the same clip; for other contents, coarse */
/* clang-format on */

#define FUZZ_ENUM_CONTENT(name)    CONTENT_##name,
#define FUZZ_ENUM_DISTORTION(name) DISTORTION_##name,
typedef enum fuzz_content { FUZZ_CONTENTS(FUZZ_ENUM_CONTENT) CONTENT_COUNT } fuzz_content;
typedef enum fuzz_distortion { FUZZ_DISTORTIONS(FUZZ_ENUM_DISTORTION) DISTORTION_COUNT } fuzz_distortion;

enum { FUZZ_MODELS = 5, FUZZ_FEATURES = 4, FUZZ_TEXT = 512, FUZZ_ARGUMENTS = 8192 };

typedef struct fuzz_model {
    const char *version;
    char name[16];           /* "": the default */
    char options[FUZZ_TEXT]; /* "adm.adm_min_val=0.5", or "" */
    int disable_clip, enable_transform;
} fuzz_model;

typedef struct fuzz_feature {
    const char *name;
    char options[FUZZ_TEXT];
} fuzz_feature;

typedef struct fuzz_case {
    uint64_t seed, number;
    fuzz_content content;
    fuzz_distortion distortion;
    uint32_t picture_seed;
    int width, height, depth, chroma, frames;
    fuzz_model models[FUZZ_MODELS];
    fuzz_feature features[FUZZ_FEATURES];
    int model_count, feature_count;
    int subsample;   /* 1: every frame */
    int frame_count; /* 0: all */
    int skip_reference, skip_distorted;
    int threads;
    /* for the tools only */
    int is_y4m, tool_threads;
    char preset[24];                     /* "--aom_ctc v1.0", or "" */
    const char *format, *default_format; /* of the report with all digits; of the report with six digits, or "" */
    unsigned cpumask;                    /* of our tool */
} fuzz_case;

/* cases.c */
fuzz_case fuzz_case_draw(uint64_t seed, uint64_t number);
/* Describes the clip in one line. */
void fuzz_case_describe(const fuzz_case *c, char *text, size_t size);
/* Writes the arguments that follow the clip names, for both tools, separated by spaces. */
void fuzz_case_arguments(const fuzz_case *c, char *text, size_t size);
/* Returns the config for the library. `models` and `features` have FUZZ_MODELS and FUZZ_FEATURES elements. The config
 * contains pointers to the case. */
vmafgpu_config fuzz_case_config(const fuzz_case *c, vmafgpu_model_config *models, vmafgpu_feature_config *features);
/* Returns the number of pairs that remain after the skipped frames. */
int fuzz_case_pairs(const fuzz_case *c);

/* pictures.c */
const char *fuzz_content_name(fuzz_content content);
film fuzz_case_film(const fuzz_case *c);
/* Writes one side of the film in a format that the tools read: y4m, or raw with odd chroma sizes rounded down. Returns
 * 0 on failure. */
int fuzz_film_write(const fuzz_case *c, const film *f, int side, const char *path);

/* A generator of random numbers (SplitMix64). */
typedef struct chance {
    uint64_t state;
} chance;

static inline uint32_t chance_below(chance *c, uint32_t below) {
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (uint32_t)(((z >> 32) * below) >> 32);
}

static inline int chance_range(chance *c, int least, int most) {
    return least + (int)chance_below(c, (uint32_t)(most - least + 1));
}

/* Returns true in `percent` of 100 cases. */
static inline int chance_is(chance *c, int percent) {
    return (int)chance_below(c, 100) < percent;
}

/* Returns a seed below 1,000,000,000 that differs from run to run. */
uint64_t fuzz_fresh_seed(void);

#endif /* FUZZ_CASES_H */
