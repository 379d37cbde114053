/* Vector code against plain C: whole clips with each instruction set switched off in turn, and each function of a level by
 * itself, with guard bytes. Where the machine lacks a level, that is said and nothing is claimed. */
#define VMAFGPU_IMPLEMENTATION
#define VMAFGPU_STATIC
#include "scoring.h"

enum { ALL_OFF = 255 };

static const unsigned masks[] = {0, 16};

static uint32_t random_state = 1;
static uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* ---- clips ---- */

/* A film at every mask, thread count and pitch, against plain C with one thread. */
static void check_film(const char *what, int width, int height, int depth, const vmafgpu_model_config *models,
                       int model_count, const vmafgpu_feature_config *features, int feature_count) {
    film f = film_make(what, width, height, depth, 3, 5);
    vmafgpu_config config = film_config(&f);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.models = models;
    config.model_count = model_count;
    config.no_model = model_count == 0;
    config.features = features;
    config.feature_count = feature_count;
    config.cpumask = ALL_OFF;
    scores expected = film_score(&f, &config);
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
        for (int threads = 1; threads <= 3; threads += 2) {
            config.cpumask = masks[m];
            config.threads = threads;
            snprintf(test_where, sizeof test_where, "%s %dx%d %d bits, mask %u, %d threads", what, width, height, depth,
                     masks[m], threads);
            scores got = film_score(&f, &config);
            check_same_scores(&got, &expected);
            scores_free(&got);
        }
    }
    scores_free(&expected);
    film_free(&f);
}

static const vmafgpu_model_config both_models[] = {
    {"vmaf_v0.6.1", NULL, "plain", 0, 0, NULL},
    {"vmaf_v0.6.1neg", NULL, "neg", 0, 0, NULL},
};

/* Options that take the vector code's rare paths, or keep it away. */
static const vmafgpu_feature_config options[] = {
    {"vif", "vif_enhn_gain_limit=1.2:debug=true"},
    {"vif", "vif_enhn_gain_limit=1:vif_skip_scale0=true"},
    {"adm", "adm_enhn_gain_limit=1.2:debug=true"},
    {"adm", "adm_enhn_gain_limit=7"},
    {"adm", "adm_csf_mode=1:adm_csf_scale=0.001:adm_csf_diag_scale=0.002"},
    {"adm", "adm_csf_mode=2"},
    {"adm", "adm_csf_mode=3"},
    {"adm", "adm_csf_mode=1:adm_csf_scale=0.001:adm_csf_diag_scale=0"},
    {"motion", "motion_five_frame_window=true"},
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static void test_clips(void) {
    static const char *const whats[] = {"texture+mix", "noise+coarse", "blocks+blur", "blocks+same", "lines+invert",
                                        "ramp+stretch", "flat+faint", "black+grain", "white+same", "texture+stretch"};
    static const int depths[] = {8, 10, 12, 14, 16};
    /* around the lengths of vectors, of strips and of borders */
    static const int sizes[][2] = {{16, 16},  {17, 19},  {31, 33},  {33, 16},  {47, 40},  {63, 50},   {64, 64},
                                   {65, 35},  {95, 48},  {112, 80}, {127, 51}, {128, 40}, {129, 63},  {191, 37},
                                   {223, 36}, {225, 41}, {240, 34}, {255, 44}, {257, 35}, {449, 129}, {577, 301}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++) {
            check_film(whats[i], sizes[s][0], sizes[s][1], depths[(s + i + s * i / 10) % 5], both_models, 2, NULL, 0);
        }
    }
    for (int i = 0; i < 40; i++) {
        check_film(whats[i % 10], 150 + i, 90 - i, depths[i % 5], NULL, 0, options, OPTION_COUNT);
    }
}

/* ---- one reference against many ---- */

enum { MANY = 5 };

/* Contexts that are pushed together against contexts of their own, three of `count` at a time. */
static void check_many(const char *what, int width, int height, int depth, unsigned mask, int threads, int count) {
    film films[MANY];
    vmafgpu *contexts[MANY];
    vmafgpu_config config;
    for (int i = 0; i < count; i++) {
        films[i] = film_make(what, width, height, depth, 4, 7 + (uint32_t)i);
        config = film_config(&films[i]);
        config.backend = VMAFGPU_BACKEND_CPU;
        config.models = both_models;
        config.model_count = 2;
        config.cpumask = mask;
        config.threads = threads;
        config.together = 3;
        contexts[i] = open_checked(&config);
    }
    snprintf(test_where, sizeof test_where, "%s %dx%d %d bits, mask %u, %d threads, %d together", what, width, height, depth,
             mask, threads, count);
    /* The second frame of the third context comes with a neighbour of its own: its history differs from then on. */
    for (int frame = 0; frame < 4; frame++) {
        vmafgpu_frame reference = film_frame(&films[0], frame, CLIP_REFERENCE), distorted[MANY];
        for (int i = 0; i < count; i++) {
            distorted[i] = film_frame(&films[i], frame, CLIP_DISTORTED);
        }
        if (frame == 1) {
            for (int i = 0; i < count; i++) {
                const vmafgpu_frame own = film_frame(&films[i], frame, CLIP_REFERENCE);
                CHECK_INT(vmafgpu_push(contexts[i], i == 2 ? &own : &reference, &distorted[i]), VMAFGPU_OK);
            }
        } else {
            CHECK_INT(vmafgpu_push_many(contexts, count, &reference, distorted), VMAFGPU_OK);
        }
    }
    for (int i = 0; i < count; i++) {
        CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
        scores got = scores_of(contexts[i]);
        config.cpumask = ALL_OFF;
        config.threads = 1;
        vmafgpu *alone = open_checked(&config);
        for (int frame = 0; frame < 4; frame++) {
            vmafgpu_frame reference = film_frame(&films[frame == 1 && i == 2 ? 2 : 0], frame, CLIP_REFERENCE);
            vmafgpu_frame distorted = film_frame(&films[i], frame, CLIP_DISTORTED);
            CHECK_INT(vmafgpu_push(alone, &reference, &distorted), VMAFGPU_OK);
        }
        vmafgpu_flush(alone);
        scores expected = scores_of(alone);
        check_same_scores(&got, &expected);
        scores_free(&got);
        scores_free(&expected);
        vmafgpu_close(alone);
    }
    for (int i = 0; i < count; i++) {
        vmafgpu_close(contexts[i]);
        film_free(&films[i]);
    }
}

/* A sample that does not fit is found whosever it is, and the others' pairs are taken. */
static void check_many_illegal(void) {
    film f = film_make("texture+mix", 80, 60, 10, 1, 3);
    vmafgpu_config config = film_config(&f);
    vmafgpu *contexts[2];
    vmafgpu_frame reference = film_frame(&f, 0, CLIP_REFERENCE), distorted[2];
    unsigned char *bad = (unsigned char *)malloc(f.plane_bytes);
    test_need(bad != NULL, "memory");
    memcpy(bad, f.luma + f.plane_bytes, f.plane_bytes);
    bad[f.plane_bytes - 1] = 0xff;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.together = 2;
    for (int i = 0; i < 2; i++) {
        contexts[i] = open_checked(&config);
        distorted[i] = film_frame(&f, 0, CLIP_DISTORTED);
    }
    distorted[1].data[0] = bad;
    snprintf(test_where, sizeof test_where, "an illegal sample among many");
    CHECK_INT(vmafgpu_push_many(contexts, 2, &reference, distorted), VMAFGPU_ERROR_FRAME);
    CHECK_HAS(vmafgpu_last_error(contexts[1]), "distorted");
    CHECK_STR(vmafgpu_last_error(contexts[0]), "");
    vmafgpu_flush(contexts[0]);
    CHECK_INT(vmafgpu_score_count(contexts[0]), 1);
    CHECK_INT(vmafgpu_score_count(contexts[1]), 0);
    CHECK_INT(vmafgpu_push_many(contexts, 0, &reference, distorted), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push_many(NULL, 1, &reference, distorted), VMAFGPU_ERROR_ARGUMENT);
    for (int i = 0; i < 2; i++) {
        vmafgpu_close(contexts[i]);
    }
    free(bad);
    film_free(&f);
}

static void test_many(void) {
    static const unsigned all_masks[] = {0, 16, ALL_OFF};
    for (int m = 0; m < 3; m++) {
        check_many("texture+mix", 157, 99, 8, all_masks[m], 1, MANY);
        check_many("noise+coarse", 64, 64, 10, all_masks[m], 2, 3);
        check_many("blocks+blur", 320, 201, 12, all_masks[m], 3, 2);
        check_many("ramp+stretch", 17, 35, 8, all_masks[m], 1, 4);
        check_many("texture+mix", vmafgpu__vif_strip_width(3) + 9 * m - 2, 20, m == 1 ? 10 : 8, all_masks[m], 1, 4);
    }
    check_many_illegal();
}

/* ---- what the levels leave behind: sums, images, low-pass bands ---- */

/* Pushes one pair of random or structured samples, with the rest of each row of the next images marked. */
static vmafgpu *push_samples(const vmafgpu_config *config, const vmafgpu_frame *reference, const vmafgpu_frame *distorted) {
    vmafgpu *context = open_checked(config);
    for (int s = 1; s < VMAFGPU__SCALES; s++) {
        for (int f = 0; f < 2; f++) {
            const vmafgpu__plane *plane = &context->cpu->vif[s][f];
            memset(plane->data, 0x5a, (size_t)plane->stride * (size_t)(config->height >> s) * sizeof *plane->data);
        }
    }
    CHECK_INT(vmafgpu_push(context, reference, distorted), VMAFGPU_OK);
    return context;
}

static void check_leavings(const vmafgpu *got, const vmafgpu *expected) {
    const int w = got->config.width, h = got->config.height;
    CHECK(memcmp(&got->cpu->bands[0].sums, &expected->cpu->bands[0].sums, sizeof(vmafgpu__sums)) == 0);
    for (int f = 0; f < 2; f++) {
        for (int s = 1; s < VMAFGPU__SCALES; s++) {
            const vmafgpu__plane *a = &got->cpu->vif[s][f], *b = &expected->cpu->vif[s][f];
            int same = 1, marked = 1;
            for (int y = 0; y < h >> s; y++) {
                same &= memcmp(a->data + y * a->stride, b->data + y * b->stride, (size_t)(w >> s) * 2) == 0;
                for (ptrdiff_t x = w >> s; x < a->stride; x++) {
                    marked &= a->data[y * a->stride + x] == 0x5a5a;
                }
            }
            CHECK(same);
            CHECK(marked);
        }
        for (int s = 0; s + 1 < VMAFGPU__SCALES; s++) {
            const size_t element = s ? 4 : 2, pitch = (size_t)got->cpu->adm_stride[s] * element;
            int same = 1;
            for (int y = 0; y < vmafgpu__adm_size(h, s); y++) {
                same &= memcmp((const char *)got->cpu->adm[s][f] + (size_t)y * pitch,
                               (const char *)expected->cpu->adm[s][f] + (size_t)y * pitch,
                               (size_t)vmafgpu__adm_size(w, s) * element) == 0;
            }
            CHECK(same);
        }
    }
}

static void check_samples(int w, int h, int depth, int kind) {
    const int bytes = depth > 8 ? 2 : 1;
    const size_t size = (size_t)w * (size_t)h * (size_t)bytes;
    const uint32_t top = (1u << depth) - 1;
    uint8_t *memory[2];
    vmafgpu_frame frames[2];
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    memset(frames, 0, sizeof frames);
    config.width = w;
    config.height = h;
    config.bit_depth = depth;
    config.backend = VMAFGPU_BACKEND_CPU;
    for (int f = 0; f < 2; f++) {
        /* Just as large as it must be, and the words at odd addresses. */
        memory[f] = (uint8_t *)malloc(size + 1);
        test_need(memory[f] != NULL, "memory");
        frames[f].data[0] = memory[f] + bytes - 1;
        for (size_t i = 0; i < (size_t)w * (size_t)h; i++) {
            const uint32_t bits = random_bits(), x = (uint32_t)(i % (size_t)w), y = (uint32_t)(i / (size_t)w);
            const uint32_t value = kind == 0 ? bits & top                               /* noise */
                                 : kind == 1 ? (bits & 1 ? top : 0)                     /* the hardest edges */
                                 : kind == 2 ? ((x / 3 + y / 5) & 1) * top              /* squares, alike in both */
                                 : kind == 3 ? (x * top / (uint32_t)w + (bits & 3)) & top   /* a gradient */
                                 : (uint32_t)f * top;
            uint8_t *at = memory[f] + bytes - 1 + i * (size_t)bytes;
            at[0] = (uint8_t)value;
            if (bytes == 2) {
                at[1] = (uint8_t)(value >> 8);
            }
        }
    }
    config.cpumask = ALL_OFF;
    vmafgpu *expected = push_samples(&config, &frames[0], &frames[1]);
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
        config.cpumask = masks[m];
        snprintf(test_where, sizeof test_where, "kind %d, %dx%d %d bits, mask %u", kind, w, h, depth, masks[m]);
        vmafgpu *got = push_samples(&config, &frames[0], &frames[1]);
        check_leavings(got, expected);
        vmafgpu_close(got);
    }
    vmafgpu_close(expected);
    free(memory[0]);
    free(memory[1]);
}

static void test_leavings(void) {
    for (int w = 16; w <= 300; w += w < 140 ? 1 : 7) {
        for (int kind = 0; kind < 5; kind++) {
            check_samples(w, 16 + w % 37, 8 + (w + kind) % 9, kind);
        }
        check_samples(w, 16 + w % 29, 8, w % 5);
    }
    for (int kind = 0; kind < 5; kind++) {
        check_samples(1001, 61, 8, kind);
        check_samples(1001, 61, 10, kind);
        check_samples(61, 301, 16, kind);
    }
    /* Around the width of a strip, two and three of them: that of images of scale 1, too. */
    for (int i = 0; i < 40; i++) {
        const int w = (i % 4 ? i % 4 : 4) * VMAFGPU__VIF_STRIP / (1 + i % 2) + i - 20;
        check_samples(w, 16 + i % 5, i & 4 ? 8 : 8 + i % 9, i % 5);
    }
}

/* ---- functions ---- */

/* Two frames, bytes or words, of which the vector code may read rows up to the next multiple of 64 columns. */
enum { ROWS = 19, MAX_WIDTH = 640, MARGIN = 64, LINE = MAX_WIDTH + 2 * MARGIN + 64, PITCH = 2 * (MAX_WIDTH + 64) + 1 };

static void test_motion_rows(const vmafgpu__cpu_functions *functions, int w, int depth, int odd) {
    static uint8_t memory[2][ROWS * PITCH];
    static int32_t whole[LINE];
    static int16_t lines[4][LINE], pairs[3][2 * LINE];
    const uint32_t kind = random_bits() % 5, loud = random_bits() % ROWS;
    const int first = (int)(random_bits() % 4), end = ROWS - (int)(random_bits() % 4);
    vmafgpu__view views[2];
    vmafgpu__motion_lines scratch;
    vmafgpu__motion_job job = {&views[0], &views[1], depth > 8, w, ROWS, depth, &scratch};
    scratch.whole = whole + MARGIN;
    for (int i = 0; i < 4; i++) {
        scratch.row[i / 2][i % 2] = lines[i] + MARGIN;
        memset(lines[i], 0x5a, sizeof lines[i]);
    }
    for (int i = 0; i < 3; i++) {
        scratch.pair[i] = pairs[i] + MARGIN;
        memset(pairs[i], 0x5a, sizeof pairs[i]);
    }
    memset(views, 0, sizeof views);
    for (int f = 0; f < 2; f++) {
        views[f].data = memory[f] + odd;
        views[f].pitch = PITCH - 1;
        for (uint32_t k = 0; k < ROWS; k++) {
            uint8_t *row = memory[f] + odd + k * (PITCH - 1);
            for (int x = 0; x < MAX_WIDTH + 64; x++) {
                const uint32_t top = (1u << depth) - 1, bits = random_bits();
                const uint32_t value = kind == 0 ? bits & top : kind == 1 ? (bits & 1 ? top : 0) : kind == 2
                                     ? (uint32_t)f * top : kind == 3 ? (uint32_t)(f ^ (x & 1)) * top
                                     : (bits & (top >> 2)) + (k == loud && x == w / 2 ? top - (top >> 2) : 0);
                if (depth == 8) {
                    row[x] = (uint8_t)value;
                } else {
                    row[2 * x] = (uint8_t)value;
                    row[2 * x + 1] = (uint8_t)(value >> 8);
                }
            }
        }
    }
    snprintf(test_where, sizeof test_where, "%s motion_rows %d to %d, width %d, %d bits, kind %u", functions->name, first, end,
             w, depth, kind);
    CHECK_INT(functions->motion_rows(&job, first, end), vmafgpu__motion_rows_scalar(&job, first, end));
    for (int i = 0; i < MARGIN - 8; i++) {
        for (int k = 0; k < 4; k++) {
            CHECK(lines[k][i] == 0x5a5a && lines[k][LINE - 1 - i] == 0x5a5a);
        }
        for (int k = 0; k < 3; k++) {
            CHECK(pairs[k][i] == 0x5a5a && pairs[k][2 * LINE - 1 - i] == 0x5a5a);
        }
    }
    if (depth > 8) {
        CHECK_INT(functions->or_words(views[0].data, w), vmafgpu__or_words_scalar(views[0].data, w));
    }
}

static void test_functions(const vmafgpu__cpu_functions *functions) {
    for (int w = 16; w <= MAX_WIDTH; w += w < 140 ? 1 : 37) {
        for (int depth = 8; depth <= 16; depth++) {
            test_motion_rows(functions, w, depth, w % 2);
        }
    }
}

int main(void) {
#ifdef VMAFGPU__HAS_X86
    static const struct { int level; const vmafgpu__cpu_functions *functions; } levels[] = {
        {VMAFGPU__AVX2, &vmafgpu__functions_avx2},
        {VMAFGPU__AVX512, &vmafgpu__functions_avx512},
    };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (vmafgpu__has_level(levels[i].level)) {
            test_functions(levels[i].functions);
        } else {
            test_skip(levels[i].functions->name);
        }
    }
#endif
#ifdef VMAFGPU__HAS_NEON
    test_functions(&vmafgpu__functions_neon);
#endif
    test_leavings();
    test_many();
    test_clips();
    return test_end();
}
