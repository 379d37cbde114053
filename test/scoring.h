/* Shared by the test programs: films (short clips in memory), matching configs, and scores as arrays. */
#ifndef SCORING_H
#define SCORING_H

#include "../vmafgpu.h"
#include "clip.h"
#include "golden/squeeze.h"
#include "test.h"

typedef struct film {
    clip clip;
    int bytes_per_sample;
    size_t plane_bytes;    /* bytes of one luma plane */
    unsigned char *luma;   /* luma planes of reference 0, distorted 0, reference 1, ... */
    size_t chroma_bytes;   /* bytes of one chroma plane */
    unsigned char *chroma; /* u and v of reference 0, of distorted 0, ...; NULL if there is only luma */
} film;

/* Allocates frames for f->clip: luma and, if has_chroma, chroma. */
static inline void film_room(film *f, int has_chroma) {
    f->bytes_per_sample = f->clip.depth > 8 ? 2 : 1;
    f->plane_bytes = clip_plane_samples(&f->clip, 0) * (size_t)f->bytes_per_sample;
    f->luma = (unsigned char *)malloc(f->plane_bytes * 2 * (size_t)f->clip.frames + 1);
    f->chroma_bytes = has_chroma ? clip_plane_samples(&f->clip, 1) * (size_t)f->bytes_per_sample : 0;
    f->chroma = has_chroma ? (unsigned char *)malloc(f->chroma_bytes * 4 * (size_t)f->clip.frames + 1) : NULL;
    test_need(f->luma && (f->chroma || !has_chroma), "out of memory");
}

static inline film film_make(const char *what, int width, int height, int depth, int frames, uint32_t seed) {
    film f;
    uint16_t *samples;
    size_t count;
    /* Generates a film with luma only; clip.h lists the names for `what`. */
    memset(&f, 0, sizeof f);
    test_need(clip_init(&f.clip, what, width, height, depth, 420, frames, seed), "clip");
    film_room(&f, 0);
    count = clip_plane_samples(&f.clip, 0);
    samples = (uint16_t *)malloc(count * 2);
    test_need(samples != NULL, "out of memory");
    for (int i = 0; i < 2 * frames; i++) {
        test_need(clip_plane(&f.clip, i / 2, i % 2, 0, samples), "out of memory");
        clip_store(samples, count, f.bytes_per_sample, f.luma + (size_t)i * f.plane_bytes);
    }
    free(samples);
    return f;
}

/* Generates a film with chroma; chroma is 420, 422 or 444. */
static inline film film_make_colour(const char *what, int width, int height, int depth, int chroma, int frames,
                                    uint32_t seed) {
    film f = film_make(what, width, height, depth, frames, seed);
    uint16_t *samples;
    size_t count;
    f.clip.chroma = chroma;
    count = clip_plane_samples(&f.clip, 1);
    f.chroma_bytes = count * (size_t)f.bytes_per_sample;
    f.chroma = (unsigned char *)malloc(f.chroma_bytes * 4 * (size_t)frames + 1);
    samples = (uint16_t *)malloc(count * 2);
    test_need(f.chroma && samples, "out of memory");
    for (int i = 0; i < 4 * frames; i++) {
        test_need(clip_plane(&f.clip, i / 4, i / 2 % 2, 1 + i % 2, samples), "out of memory");
        clip_store(samples, count, f.bytes_per_sample, f.chroma + (size_t)i * f.chroma_bytes);
    }
    free(samples);
    return f;
}

/* Fills luma with noise that differs between the two frames of a pair. Kind 0 has samples from the full range, kind 1
 * only the lowest and the highest value. */
static inline void film_fill_noise(film *f, int kind, uint32_t seed) {
    const uint32_t top = (1u << f->clip.depth) - 1;
    const size_t count = 2 * (size_t)f->clip.frames * f->plane_bytes / (size_t)f->bytes_per_sample;
    for (size_t i = 0; i < count; i++) {
        const uint32_t bits = clip_hash((uint32_t)i, (uint32_t)kind, seed) >> 8;
        const uint16_t sample = (uint16_t)(kind ? (bits & 1) * top : bits & top);
        clip_store(&sample, 1, f->bytes_per_sample, f->luma + i * (size_t)f->bytes_per_sample);
    }
}

/* Reads a film from a clip of test/golden/real. Returns 0 if the file does not exist or does not match its header. */
static inline int film_from_squeezed(film *f, const char *path) {
    static squeeze s;
    FILE *file = fopen(path, "rb");
    char line[SQUEEZE_LINE];
    unsigned char *bytes;
    uint16_t *samples;
    size_t size;
    long start, end;
    int width, height, depth, chroma, frames;
    memset(f, 0, sizeof *f);
    if (!file)
        return 0;
    if (!fgets(line, sizeof line, file) ||
        sscanf(line, "squeezed %dx%d %d %d %d", &width, &height, &depth, &chroma, &frames) != 5 ||
        !clip_init(&f->clip, "black", width, height, depth, chroma, frames, 0) || (start = ftell(file)) < 0 ||
        fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < start || fseek(file, start, SEEK_SET) != 0) {
        fclose(file);
        return 0;
    }
    size = (size_t)(end - start);
    bytes = (unsigned char *)malloc(size + 1);
    samples = (uint16_t *)malloc(clip_plane_samples(&f->clip, 0) * 2);
    test_need(bytes && samples && fread(bytes, 1, size, file) == size, path);
    fclose(file);
    film_room(f, 1);
    squeeze_begin(&s, bytes, size, 1);
    for (int i = 0; i < 2 * frames; i++) {
        for (int plane = 0; plane < 3; plane++) {
            squeeze_plane(&s, plane > 0, samples, clip_plane_width(&f->clip, plane),
                          clip_plane_height(&f->clip, plane));
            clip_store(samples, clip_plane_samples(&f->clip, plane), f->bytes_per_sample,
                       plane ? f->chroma + (size_t)(2 * i + plane - 1) * f->chroma_bytes
                             : f->luma + (size_t)i * f->plane_bytes);
        }
    }
    free(bytes);
    free(samples);
    return s.at == size;
}

static inline void film_free(film *f) {
    free(f->luma);
    free(f->chroma);
    f->luma = f->chroma = NULL;
}

static inline vmafgpu_frame film_frame(const film *f, int frame, int side) {
    vmafgpu_frame out;
    memset(&out, 0, sizeof out);
    out.data[0] = f->luma + (size_t)(2 * frame + side) * f->plane_bytes;
    for (int plane = 0; f->chroma && plane < 2; plane++)
        out.data[1 + plane] = f->chroma + (size_t)(4 * frame + 2 * side + plane) * f->chroma_bytes;
    return out;
}

static inline vmafgpu_config film_config(const film *f) {
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = f->clip.width;
    config.height = f->clip.height;
    config.bit_depth = f->clip.depth;
    config.chroma = f->clip.chroma == 422   ? VMAFGPU_CHROMA_422
                    : f->clip.chroma == 444 ? VMAFGPU_CHROMA_444
                                            : VMAFGPU_CHROMA_420;
    return config;
}

/* Returns the config of a film with one feature and no model, on the CPU. */
static inline vmafgpu_config film_feature_config(const film *f, const vmafgpu_feature_config *feature) {
    vmafgpu_config config = film_config(f);
    config.features = feature;
    config.feature_count = 1;
    config.features_only = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    return config;
}

static inline vmafgpu_result film_push(const film *f, vmafgpu *context, int frame) {
    vmafgpu_frame reference = film_frame(f, frame, CLIP_REFERENCE), distorted = film_frame(f, frame, CLIP_DISTORTED);
    return vmafgpu_push(context, &reference, &distorted);
}

/* Opens a context. If that fails, counts a failed check and returns NULL. */
static inline vmafgpu *open_checked(const vmafgpu_config *config) {
    vmafgpu *context = NULL;
    if (!CHECK_INT(vmafgpu_open(&context, config), VMAFGPU_OK)) {
        printf("%s\n", vmafgpu_last_error(context));
        vmafgpu_close(context);
        context = NULL;
    }
    return context;
}

typedef struct scores {
    int rows, columns;
    double *values; /* rows x columns */
} scores;

static inline void scores_free(scores *s) {
    free(s->values);
    memset(s, 0, sizeof *s);
}

/* Copies every ready score of a context. */
static inline scores scores_of(vmafgpu *context) {
    scores s;
    int step = vmafgpu_get_config(context)->subsample;
    s.rows = (int)vmafgpu_score_count(context);
    s.columns = vmafgpu_column_count(context);
    s.values = (double *)malloc(sizeof(double) * (size_t)(s.rows * s.columns + 1));
    test_need(s.values != NULL, "out of memory");
    for (int i = 0; i < s.rows; i++) {
        vmafgpu_score row;
        if (CHECK_INT(vmafgpu_score_at(context, (int64_t)i * step, &row), VMAFGPU_OK))
            memcpy(s.values + (size_t)(i * s.columns), row.values, sizeof(double) * (size_t)s.columns);
    }
    return s;
}

/* Scores a whole film in a new context. */
static inline scores film_score(const film *f, const vmafgpu_config *config) {
    scores s;
    vmafgpu *context = open_checked(config);
    memset(&s, 0, sizeof s);
    if (context) {
        for (int i = 0; i < f->clip.frames; i++)
            CHECK_INT(film_push(f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        s = scores_of(context);
        vmafgpu_close(context);
    }
    return s;
}

/* Computes the scores that config.live must return: each pair is scored as the last pair of a separate clip. */
static inline scores film_score_live(const film *f, const vmafgpu_config *config) {
    vmafgpu_config plain = *config;
    vmafgpu *context;
    scores s;
    plain.live = 0;
    plain.subsample = 1;
    memset(&s, 0, sizeof s);
    context = open_checked(&plain);
    for (int last = 0; context && last < f->clip.frames; last++) {
        vmafgpu_score score;
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        for (int i = 0; i <= last; i++)
            CHECK_INT(film_push(f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_at(context, last, &score), VMAFGPU_OK);
        if (!s.values) {
            s.rows = f->clip.frames;
            s.columns = vmafgpu_column_count(context);
            s.values = (double *)malloc(sizeof(double) * (size_t)(s.rows * s.columns + 1));
            test_need(s.values != NULL, "out of memory");
        }
        memcpy(s.values + last * s.columns, score.values, sizeof(double) * (size_t)s.columns);
    }
    vmafgpu_close(context);
    return s;
}

static inline void check_row(const double *got, const double *expected, int columns) {
    for (int i = 0; i < columns; i++)
        CHECK_BITS(got[i], expected[i]);
}

/* Checks that `got` equals the rows of `expected` that begin with row `first`. */
static inline void check_rows(const scores *got, const scores *expected, int first) {
    if (CHECK(got->values && expected->values) && CHECK_INT(got->columns, expected->columns) &&
        CHECK(first + got->rows <= expected->rows)) {
        check_row(got->values, expected->values + (size_t)(first * expected->columns), got->rows * got->columns);
    }
}

static inline void check_same_scores(const scores *got, const scores *expected) {
    CHECK_INT(got->rows, expected->rows);
    check_rows(got, expected, 0);
}

/* Checks that vmafgpu_open() rejects the feature at this depth and chroma format, with `words` in the message. */
static inline void check_feature_refused(const char *name, int depth, int chroma, const char *words) {
    vmafgpu_feature_config feature = { name, NULL };
    vmafgpu_config config;
    vmafgpu *context = NULL;
    memset(&config, 0, sizeof config);
    config.width = config.height = 64;
    config.bit_depth = depth;
    config.chroma = (vmafgpu_chroma)chroma;
    config.features = &feature;
    config.feature_count = 1;
    config.features_only = 1;
    snprintf(test_where, sizeof test_where, "%s %d bits", name, depth);
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_FEATURE);
    CHECK_HAS(vmafgpu_last_error(context), words);
    vmafgpu_close(context);
}

/* ---- a simple model ---- */

/* A model with one support vector. make_single() makes one with one input x: 100 e^(-(x + 0.5)^2 / 4) */
typedef struct single {
    const char *names[4], *options[4];
    double slopes[5], intercepts[5], coefs[1], table[4];
    uint16_t rows[1];
    vmafgpu_svm svm;
    vmafgpu_model model;
    vmafgpu_model_config config;
} single;

/* Completes a model with this number of inputs, of which the caller has set the names, options, slopes and position. */
static inline void complete_single(single *s, const char *name, int inputs) {
    s->coefs[0] = 100;
    s->svm.feature_count = inputs;
    s->svm.feature_names = s->names;
    s->svm.feature_options = s->options;
    s->svm.slopes = s->slopes;
    s->svm.intercepts = s->intercepts;
    s->svm.gamma = 0.25;
    s->svm.sv_count = 1;
    s->svm.sv_coefs = s->coefs;
    s->svm.sv_rows = s->rows;
    s->svm.sv_table = s->table;
    s->model.name = name;
    s->model.svm_count = 1;
    s->model.svms = &s->svm;
    s->config.model = &s->model;
}

static inline void make_single(single *s, const char *feature, const char *options) {
    memset(s, 0, sizeof *s);
    s->names[0] = feature;
    s->options[0] = options ? options : "";
    s->slopes[0] = s->slopes[1] = 1;
    s->table[0] = -0.5;
    complete_single(s, feature, 1);
}

#endif /* SCORING_H */
