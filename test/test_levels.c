/* Compares the vector code of each instruction set with plain C, bit for bit: individual functions (with guard bytes)
 * and whole clips. Instruction sets that the processor lacks are skipped with a message.
 *
 *     test_levels [bench]         `bench` only runs the functions, and prints the time per sample of each: the shortest
 *     of many runs, in cycles of the time-stamp counter or, if there is none, in nanoseconds
 */
#define _DEFAULT_SOURCE /* clock_gettime */
#define VMAFGPU_IMPLEMENTATION
#define VMAFGPU_STATIC
#include "scoring.h"
#include <time.h>

enum { ALL_OFF = 255 };

/* ---- time ---- */

enum { BENCH_WIDTH = 640, BENCH_BLOCKS = 352, BENCH_RUNS = 200 };

static int is_timing; /* whether BENCH() times functions */

static uint64_t ticks(void) {
#ifdef VMAFGPU__HAS_X86
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
#elif defined(CLOCK_MONOTONIC)
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
#else
    return (uint64_t)clock() * (1000000000 / CLOCKS_PER_SEC);
#endif
}

/* Repeatedly runs the code in the arguments after `samples`, and prints the shortest time per sample. */
#define BENCH(of, what, samples, ...) \
    do { \
        uint64_t least = UINT64_MAX; \
        for (int run = 0; is_timing && run < BENCH_RUNS; run++) { \
            const uint64_t begin = ticks(); \
            __VA_ARGS__; \
            const uint64_t took = ticks() - begin; \
            least = took < least ? took : least; \
        } \
        if (is_timing) { \
            printf("%-8s %-24s %9.3f\n", (of)->name, (what), (double)least / (double)(samples)); \
        } \
    } while (0)

/* Values of cpumask that select different instruction sets. Without AVX-512, both values select the same instruction
 * set. */
static const unsigned masks[] = { 0, 16 };
static size_t mask_count(void) {
    return vmafgpu__choose_level(masks[0]) == vmafgpu__choose_level(masks[1]) ? 1 : 2;
}

static uint32_t random_state = 1;
static uint32_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* ---- clips ---- */

/* Scores a film with all values of cpumask and several numbers of threads, and compares the scores with those of plain
 * C on one thread. */
static void check_film(const char *what, int width, int height, int depth, const vmafgpu_model_config *models,
                       int model_count, const vmafgpu_feature_config *features, int feature_count) {
    film f = film_make(what, width, height, depth, 3, 5);
    vmafgpu_config config = film_config(&f);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.models = models;
    config.model_count = model_count;
    config.features_only = model_count == 0;
    config.features = features;
    config.feature_count = feature_count;
    config.cpumask = ALL_OFF;
    scores expected = film_score(&f, &config);
    static int films;
    films++;
    for (size_t m = 0, count = mask_count(); m < count; m++) {
        /* if tests are slow, films are scored alternately with one thread and with several */
        const int step = test_depth() == TEST_FEW ? 4 : 2;
        for (int threads = step == 4 ? 1 + 2 * (films & 1) : 1; threads <= 3; threads += step) {
            config.cpumask = masks[m];
            config.threads = test_thread_count(threads);
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
    { "vmaf_v0.6.1", NULL, "plain", 0, 0, 0, NULL },
    { "vmaf_v0.6.1neg", NULL, "neg", 0, 0, 0, NULL },
};

/* Options for which rare code paths are used, or which the vector code does not support. */
static const vmafgpu_feature_config options[] = {
    { "vif", "vif_enhn_gain_limit=1.2:debug=true" },
    { "vif", "vif_enhn_gain_limit=1:vif_skip_scale0=true" },
    { "adm", "adm_enhn_gain_limit=1.2:debug=true" },
    { "adm", "adm_enhn_gain_limit=7" },
    { "adm", "adm_csf_mode=1:adm_csf_scale=0.001:adm_csf_diag_scale=0.002" },
    { "adm", "adm_csf_mode=2" },
    { "adm", "adm_csf_mode=3" },
    { "adm", "adm_csf_mode=1:adm_csf_scale=0.001:adm_csf_diag_scale=0" },
    { "motion", "motion_five_frame_window=true" },
};
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static void test_clips(void) {
    static const char *const whats[] = {
        "texture+mix",  "noise+coarse", "blocks+blur", "blocks+same", "lines+invert",
        "ramp+stretch", "flat+faint",   "black+grain", "white+same",  "texture+stretch"
    };
    static const int depths[] = { 8, 10, 12, 14, 16 };
    /* widths near multiples of the vector size, the strip size and the border size */
    static const int sizes[][2] = { { 16, 16 },  { 17, 19 },   { 31, 33 },  { 33, 16 },  { 47, 40 },  { 63, 50 },
                                    { 64, 64 },  { 65, 35 },   { 95, 48 },  { 112, 80 }, { 127, 51 }, { 128, 40 },
                                    { 129, 63 }, { 191, 37 },  { 223, 36 }, { 225, 41 }, { 240, 34 }, { 255, 44 },
                                    { 257, 35 }, { 449, 129 }, { 577, 301 } };
    const int is_short = test_depth() == TEST_FEW; /* skips most combinations of size and content */
    const size_t stride = is_short ? 7 : 1;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t i = s % stride; i < sizeof whats / sizeof whats[0]; i += stride)
            check_film(whats[i], sizes[s][0], sizes[s][1], depths[(s + i + s * i / 10) % 5], both_models, 2, NULL, 0);
    for (int i = 0; i < 40; i += is_short ? 3 : 1)
        check_film(whats[i % 10], 150 + i, 90 - i, depths[i % 5], NULL, 0, options, OPTION_COUNT);
}

/* ---- one reference against many ---- */

enum { MANY = 5 };

/* Compares vmafgpu_push_many() on `count` contexts with pushes to separate contexts. vmafgpu_push_many() processes
 * three contexts at a time. */
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
        config.threads = test_thread_count(threads);
        config.contexts_per_pass = 3;
        contexts[i] = open_checked(&config);
    }
    snprintf(test_where, sizeof test_where, "%s %dx%d %d bits, mask %u, %d threads, %d together", what, width, height,
             depth, mask, threads, count);
    /* In frame 1 the third context gets a different reference, so its motion then differs from that of the others. */
    for (int frame = 0; frame < 4; frame++) {
        vmafgpu_frame reference = film_frame(&films[0], frame, CLIP_REFERENCE), distorted[MANY];
        for (int i = 0; i < count; i++)
            distorted[i] = film_frame(&films[i], frame, CLIP_DISTORTED);
        if (frame == 1) {
            for (int i = 0; i < count; i++) {
                const vmafgpu_frame own = film_frame(&films[i], frame, CLIP_REFERENCE);
                CHECK_INT(vmafgpu_push(contexts[i], i == 2 ? &own : &reference, &distorted[i]), VMAFGPU_OK);
            }
        } else {
            CHECK_INT(vmafgpu_push_many(contexts, count, &reference, distorted, NULL), VMAFGPU_OK);
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

/* Tests that an illegal sample is detected in the distorted frame of any context, and that the other contexts accept
 * their pairs. */
static void check_many_illegal(void) {
    film f = film_make("texture+mix", 80, 60, 10, 1, 3);
    vmafgpu_config config = film_config(&f);
    vmafgpu *contexts[2], *several[3];
    vmafgpu_frame reference = film_frame(&f, 0, CLIP_REFERENCE), distorted[3];
    unsigned char *bad = (unsigned char *)malloc(f.plane_bytes);
    test_need(bad != NULL, "out of memory");
    memcpy(bad, f.luma + f.plane_bytes, f.plane_bytes);
    bad[f.plane_bytes - 1] = 0xff;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.contexts_per_pass = 2;
    for (int i = 0; i < 2; i++) {
        contexts[i] = open_checked(&config);
        distorted[i] = film_frame(&f, 0, CLIP_DISTORTED);
    }
    distorted[2] = distorted[1];
    distorted[1].data[0] = bad;
    snprintf(test_where, sizeof test_where, "an illegal sample in push_many");
    CHECK_INT(vmafgpu_push_many(contexts, 2, &reference, distorted, NULL), VMAFGPU_ERROR_FRAME);
    CHECK_HAS(vmafgpu_last_error(contexts[1]), "distorted");
    CHECK_STR(vmafgpu_last_error(contexts[0]), "");
    vmafgpu_flush(contexts[0]);
    CHECK_INT(vmafgpu_score_count(contexts[0]), 1);
    CHECK_INT(vmafgpu_score_count(contexts[1]), 0);
    CHECK_INT(vmafgpu_push_many(contexts, 0, &reference, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: count is out of range (0); use 1 or more");
    CHECK_INT(vmafgpu_push_many(NULL, 1, &reference, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: contexts is NULL");
    CHECK_INT(vmafgpu_push_many(contexts, 2, NULL, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: reference is NULL");
    CHECK_INT(vmafgpu_push_many(contexts, 2, &reference, NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: distorted is NULL");
    for (int i = 0; i < 2; i++)
        CHECK_INT(vmafgpu_reset(contexts[i]), VMAFGPU_OK);
    several[0] = several[2] = contexts[0];
    several[1] = contexts[1];
    distorted[1].data[0] = distorted[0].data[0];
    CHECK_INT(vmafgpu_push_many(several, 3, &reference, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: contexts[2] is the same as contexts[0]");
    several[2] = NULL;
    CHECK_INT(vmafgpu_push_many(several, 3, &reference, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: contexts[2] is NULL");
    for (int i = 0; i < 2; i++) { /* the failed calls have not added a pair to either context */
        CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_count(contexts[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        vmafgpu_close(contexts[i]);
    free(bad);
    film_free(&f);
}

static void test_many(void) {
    static const unsigned all_masks[] = { 0, 16, ALL_OFF };
    for (int m = 0; m < 3; m++) {
        check_many("texture+mix", 157, 99, 8, all_masks[m], 1, MANY);
        check_many("noise+coarse", 64, 64, 10, all_masks[m], 2, 3);
        check_many("blocks+blur", 320, 201, 12, all_masks[m], 3, 2);
        check_many("ramp+stretch", 17, 35, 8, all_masks[m], 1, 4);
        check_many("texture+mix", vmafgpu__vif_strip_width(3, 1) + 9 * m - 2, 20, m == 1 ? 10 : 8, all_masks[m], 1, 4);
    }
    check_many_illegal();
}

/* ---- intermediate results: sums, images, low-pass bands ---- */

/* Fills the images of the later VIF scales with a pattern, then pushes one pair. */
static vmafgpu *push_samples(const vmafgpu_config *config, const vmafgpu_frame *reference,
                             const vmafgpu_frame *distorted) {
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

static void check_intermediates(const vmafgpu *got, const vmafgpu *expected) {
    const int w = got->config.width, h = got->config.height;
    CHECK(memcmp(&got->cpu->workers[0].sums, &expected->cpu->workers[0].sums, sizeof(vmafgpu__sums)) == 0);
    for (int f = 0; f < 2; f++) {
        for (int s = 1; s < VMAFGPU__SCALES; s++) {
            const vmafgpu__plane *a = &got->cpu->vif[s][f], *b = &expected->cpu->vif[s][f];
            int same = 1, marked = 1;
            for (int y = 0; y < h >> s; y++) {
                same &= memcmp(a->data + y * a->stride, b->data + y * b->stride, (size_t)(w >> s) * 2) == 0;
                for (ptrdiff_t x = w >> s; x < a->stride; x++)
                    marked &= a->data[y * a->stride + x] == 0x5a5a;
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
        /* The buffer ends right after the last sample, and words have odd addresses. */
        memory[f] = (uint8_t *)malloc(size + 1);
        test_need(memory[f] != NULL, "out of memory");
        frames[f].data[0] = memory[f] + bytes - 1;
        for (size_t i = 0; i < (size_t)w * (size_t)h; i++) {
            const uint32_t bits = random_bits(), x = (uint32_t)(i % (size_t)w), y = (uint32_t)(i / (size_t)w);
            const uint32_t value = kind == 0   ? bits & top                  /* noise */
                                   : kind == 1 ? (bits & 1 ? top : 0)        /* maximum contrast */
                                   : kind == 2 ? ((x / 3 + y / 5) & 1) * top /* squares, equal in both frames */
                                   : kind == 3 ? (x * top / (uint32_t)w + (bits & 3)) & top /* a gradient */
                                               : (uint32_t)f * top;
            uint8_t *at = memory[f] + bytes - 1 + i * (size_t)bytes;
            at[0] = (uint8_t)value;
            if (bytes == 2)
                at[1] = (uint8_t)(value >> 8);
        }
    }
    config.cpumask = ALL_OFF;
    vmafgpu *expected = push_samples(&config, &frames[0], &frames[1]);
    for (size_t m = 0, count = mask_count(); m < count; m++) {
        config.cpumask = masks[m];
        snprintf(test_where, sizeof test_where, "kind %d, %dx%d %d bits, mask %u", kind, w, h, depth, masks[m]);
        vmafgpu *got = push_samples(&config, &frames[0], &frames[1]);
        check_intermediates(got, expected);
        vmafgpu_close(got);
    }
    vmafgpu_close(expected);
    free(memory[0]);
    free(memory[1]);
}

static void test_intermediates(void) {
    for (int w = 16; w <= 300; w += w < 140 ? 1 : 7) {
        for (int kind = 0; kind < 5; kind++)
            check_samples(w, 16 + w % 37, 8 + (w + kind) % 9, kind);
        check_samples(w, 16 + w % 29, 8, w % 5);
    }
    /* Tests full-range noise for all sizes from 33 to 65. */
    for (int w = 33; w <= 65; w++)
        for (int depth = 8; depth <= 16; depth += depth < 12 ? 2 : 4)
            check_samples(w, 98 - w, depth, 0);
    for (int kind = 0; kind < 5; kind++) {
        check_samples(1001, 61, 8, kind);
        check_samples(1001, 61, 10, kind);
        check_samples(61, 301, 16, kind);
    }
    /* Tests widths close to those of one to four strips, at scale 0 or scale 1. */
    for (int i = 0; i < 40; i++) {
        const int w = (i % 4 ? i % 4 : 4) * VMAFGPU__VIF_STRIP / (1 + i % 2) + i - 20;
        check_samples(w, 16 + i % 5, i & 4 ? 8 : 8 + i % 9, i % 5);
    }
}

/* ---- functions ---- */

/* Two frames of bytes or words. The noise beyond the width must not change the result. */
enum { ROWS = 19, MAX_WIDTH = 640, MARGIN = 64, LINE = MAX_WIDTH + 2 * MARGIN + 64, PITCH = 2 * (MAX_WIDTH + 64) + 1 };

static void test_motion_rows(const vmafgpu__cpu_functions *functions, int w, int depth, int odd) {
    static uint8_t memory[2][ROWS * PITCH];
    static int32_t whole[LINE];
    static int16_t lines[4][LINE], pairs[3][2 * LINE];
    const uint32_t kind = random_bits() % 5, loud = random_bits() % ROWS;
    const int first = (int)(random_bits() % 4), end = ROWS - (int)(random_bits() % 4);
    vmafgpu__view views[2];
    vmafgpu__motion_lines scratch;
    vmafgpu__motion_job job = { &views[0], &views[1], depth > 8, w, ROWS, depth, &scratch };
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
                const uint32_t value = kind == 0   ? bits & top
                                       : kind == 1 ? (bits & 1 ? top : 0)
                                       : kind == 2 ? (uint32_t)f * top
                                       : kind == 3
                                           ? (uint32_t)(f ^ (x & 1)) * top
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
    snprintf(test_where, sizeof test_where, "%s motion_rows %d to %d, width %d, %d bits, kind %u", functions->name,
             first, end, w, depth, kind);
    CHECK_INT(functions->motion->rows(&job, first, end), vmafgpu__motion_rows_scalar(&job, first, end));
    BENCH(functions, depth > 8 ? "motion_rows words" : "motion_rows bytes", w * ROWS,
          functions->motion->rows(&job, 0, ROWS));
    for (int i = 0; i < MARGIN - 8; i++) {
        for (int k = 0; k < 4; k++)
            CHECK(lines[k][i] == 0x5a5a && lines[k][LINE - 1 - i] == 0x5a5a);
        for (int k = 0; k < 3; k++)
            CHECK(pairs[k][i] == 0x5a5a && pairs[k][2 * LINE - 1 - i] == 0x5a5a);
    }
    if (depth > 8) {
        CHECK_INT(functions->or_words(views[0].data, w), vmafgpu__or_words_scalar(views[0].data, w));
        BENCH(functions, "or_words", w, functions->or_words(views[0].data, w));
    }
}

static void test_functions(const vmafgpu__cpu_functions *functions) {
    for (int w = 16; w <= MAX_WIDTH; w += w < 140 ? 1 : 37)
        for (int depth = 8; depth <= 16; depth++)
            test_motion_rows(functions, w, depth, w % 2);
}

/* ---- rows of VIF and ADM ---- */

enum { BAND_DISTORTED = 3, BAND_GUARD = 256 };

/* Memory of exactly the given size, between guards, filled with `fill`. */
typedef struct block {
    unsigned char *memory, *bytes;
    size_t size;
    int fill;
} block;

static block block_make(size_t size, int fill) {
    block b;
    b.memory = (unsigned char *)malloc(size + 2 * BAND_GUARD + 64);
    test_need(b.memory != NULL, "out of memory");
    b.bytes = b.memory + BAND_GUARD + (64 - ((uintptr_t)b.memory + BAND_GUARD) % 64) % 64;
    b.size = size;
    b.fill = fill;
    memset(b.bytes - BAND_GUARD, 0x5a, BAND_GUARD);
    memset(b.bytes, fill, size);
    memset(b.bytes + size, 0x5a, BAND_GUARD);
    return b;
}

static void block_free(block *b) {
    int guarded = 1;
    for (size_t i = 0; i < BAND_GUARD; i++)
        guarded &= b->bytes[(ptrdiff_t)i - BAND_GUARD] == 0x5a && b->bytes[b->size + i] == 0x5a;
    CHECK(guarded);
    free(b->memory);
}

/* Rows of samples. Bytes after the samples of a row have the value 0x5a until they are written. */
typedef struct image {
    block b;
    int w, h;
    size_t element;
    ptrdiff_t pitch; /* in bytes */
} image;

static image image_make(int w, int h, size_t element, ptrdiff_t pitch) {
    image r;
    r.b = block_make((size_t)pitch * (size_t)h, 0x5a);
    r.w = w;
    r.h = h;
    r.element = element;
    r.pitch = pitch;
    return r;
}

/* Checks that rows first..end-1 are equal, and that neither other rows nor columns >= `touched` were written. */
static void check_written(const image *got, const image *expected, int first, int end, int touched) {
    int same = 1, untouched = 1;
    for (int y = 0; y < got->h; y++) {
        const unsigned char *a = got->b.bytes + y * got->pitch, *b = expected->b.bytes + y * expected->pitch;
        const int is_inside = y >= first && y < end;
        same &= !is_inside || memcmp(a, b, (size_t)got->w * got->element) == 0;
        for (ptrdiff_t i = is_inside ? touched * (ptrdiff_t)got->element : 0; i < got->pitch; i++)
            untouched &= a[i] == 0x5a;
    }
    CHECK(same);
    CHECK(untouched);
}

/* Returns a sample of a picture of the given kind: 0 full-range noise, 1 only the lowest and the highest value, 2
 * squares, 3 a gradient, 4 a black reference and white distorted frames, 5 chequers with noise in the distorted frame,
 * for which ADM computes products that are 0 or -0, 6 a uniform picture with one bright sample. ROWS_APART + n has
 * rows of two values that differ by n, so that all coefficients of a band are equal. */
enum { KINDS = 7, ROWS_APART = 1000 };
static uint32_t sample_of(int kind, int side, int x, int y, int w, uint32_t top) {
    const uint32_t bits = random_bits() >> 3;
    switch (kind) {
    case 0: return bits & top;
    case 1: return (bits & 1) * top;
    case 2: return (uint32_t)((x / 3 + y / 5) & 1) * top;
    case 3: return ((uint32_t)x * top / (uint32_t)w + (bits & 3)) & top;
    case 4: return (uint32_t)(side > 0) * top;
    case 5: return ((x / 8 ^ y / 8) & 1 ? top - top / 16 : top / 16) + (side ? bits % (top / 16) : 0);
    case 6: return x == w / 2 && y == w % 7 ? top : top / 3 + (side && bits % 61 == 0);
    default: return (uint32_t)((y & 1) * (kind - ROWS_APART));
    }
}

/* Returns a picture in the layout of a frame, with noise after the samples of each row. */
static image picture_make(int kind, int side, int w, int h, int depth) {
    const size_t bytes = depth > 8 ? 2 : 1;
    const uint32_t top = (1u << depth) - 1;
    image r = image_make(w, h, bytes, (ptrdiff_t)((size_t)(w + w % 5) * bytes + (size_t)(w % 3 == 0)));
    for (size_t i = 0; i < r.b.size; i++)
        r.b.bytes[i] = (unsigned char)random_bits();
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            const uint16_t sample = (uint16_t)sample_of(kind, side, x, y, w, top);
            clip_store(&sample, 1, (int)bytes, r.b.bytes + y * r.pitch + (ptrdiff_t)((size_t)x * bytes));
        }
    }
    return r;
}

/* Compares VIF with the scalar code at all scales. Each scale reads the scalar output of the previous scale. */
static void check_vif_rows(const vmafgpu__cpu_functions *level, const vmafgpu *v, image *pictures, int count,
                           int threads) {
    const vmafgpu__cpu_functions *sides[2] = { level, &vmafgpu__functions_scalar };
    const int is_wide = v->config.bit_depth > 8;
    image now[1 + BAND_DISTORTED], next[2][1 + BAND_DISTORTED];
    char what[sizeof test_where];
    snprintf(what, sizeof what, "%s", test_where);
    for (int i = 0; i <= count; i++)
        now[i] = pictures[i];
    for (int scale = 0; scale < VMAFGPU__SCALES; scale++) {
        const int w = v->config.width >> scale, h = v->config.height >> scale, has_next = scale + 1 < VMAFGPU__SCALES;
        const int first = scale || h < 40 ? 0 : (int)(random_bits() % 9) * 2, rest = h - first;
        const int end =
            random_bits() % 3 || rest < 6 ? h : first + 2 + (int)(random_bits() % (uint32_t)(rest - 2)) / 2 * 2;
        vmafgpu__vif_sums sums[2][BAND_DISTORTED];
        memset(sums, 0, sizeof sums);
        for (int k = 0; k < 2; k++) {
            vmafgpu__vif_picture distorted[BAND_DISTORTED];
            vmafgpu__vif_sums *to[BAND_DISTORTED];
            vmafgpu__vif_job job;
            block scratch = block_make(sides[k]->vif->scratch_size(w, count, threads), 0xa5);
            memset(&job, 0, sizeof job);
            memset(distorted, 0, sizeof distorted);
            for (int i = 0; i <= count; i++) {
                vmafgpu__vif_picture *p = i ? &distorted[i - 1] : &job.reference;
                next[k][i] = image_make(w / 2, h / 2, 2, (ptrdiff_t)vmafgpu__padded(w / 2) * 2);
                p->row = now[i].b.bytes;
                p->pitch = now[i].pitch;
                p->next = has_next ? (uint16_t *)(void *)next[k][i].b.bytes : NULL;
                p->next_stride = next[k][i].pitch / 2;
            }
            for (int i = 0; i < count; i++)
                to[i] = &sums[k][i];
            job.distorted = distorted;
            job.distorted_count = count;
            job.wide = scale || is_wide;
            job.scale = scale;
            job.bit_depth = v->config.bit_depth;
            job.w = w;
            job.h = h;
            job.first = first;
            job.end = end;
            job.images_only = scale == 0 && has_next && h % 7 == 0;
            job.plan = &v->plan;
            job.log_table = sides[k]->vif->log_entries ? v->cpu->log_table : NULL;
            job.scratch = scratch.bytes;
            job.widest = vmafgpu__vif_strip_width(count, threads);
            snprintf(test_where, sizeof test_where, "%s vif_rows %.200s, scale %d, rows %d to %d", level->name, what,
                     scale, first, end);
            sides[k]->vif->rows(&job, to);
            if (k == 0 && is_timing && (scale == 0 || !is_wide)) {
                char name[32];
                snprintf(name, sizeof name, "vif_rows scale %d%s", scale, scale ? "" : is_wide ? " words" : " bytes");
                BENCH(level, name, w * (end - first), level->vif->rows(&job, to));
                memset(sums[0], 0, sizeof sums[0]);
                level->vif->rows(&job, to);
            }
            block_free(&scratch);
        }
        CHECK(memcmp(sums[0], sums[1], sizeof sums[0]) == 0);
        for (int i = 0; i <= count; i++) {
            check_written(&next[0][i], &next[1][i], has_next ? first / 2 : 0, has_next ? end / 2 : 0, w / 2);
            check_written(&next[1][i], &next[0][i], has_next ? first / 2 : 0, has_next ? end / 2 : 0, w / 2);
            block_free(&next[0][i].b);
        }
        /* The next scale reads a whole picture. Rows that no call has written contain the fill pattern. */
        for (int i = 0; i <= count; i++) {
            if (scale)
                block_free(&now[i].b);
            now[i] = next[1][i];
        }
    }
    for (int i = 0; i <= count; i++)
        block_free(&now[i].b);
}

/* Compares ADM with the scalar code at all scales. Each scale reads the scalar output of the previous scale. */
static void check_adm_rows(const vmafgpu__cpu_functions *level, const vmafgpu *v, image *pictures, int count) {
    const vmafgpu__cpu_functions *sides[2] = { level, &vmafgpu__functions_scalar };
    const int variants = v->plan.adm_variants, is_wide = v->config.bit_depth > 8;
    image now[1 + BAND_DISTORTED], low[2][1 + BAND_DISTORTED];
    block scratch[2];
    char what[sizeof test_where];
    snprintf(what, sizeof what, "%s", test_where);
    for (int k = 0; k < 2; k++)
        scratch[k] = block_make(vmafgpu__adm_scratch_size(v->config.width, variants, count), 0);
    for (int i = 0; i <= count; i++)
        now[i] = pictures[i];
    for (int scale = 0; scale < VMAFGPU__SCALES; scale++) {
        const vmafgpu__adm_geometry g = vmafgpu__adm_geometry_of(v->config.width, v->config.height, scale);
        const size_t element = scale ? 4 : 2;
        const int has_low = scale + 1 < VMAFGPU__SCALES,
                  cut = g.h > 4 ? 1 + (int)(random_bits() % (uint32_t)(g.h - 1)) : g.h;
        vmafgpu__adm_sums sums[2][BAND_DISTORTED];
        memset(sums, 0, sizeof sums);
        for (int k = 0; k < 2; k++) {
            vmafgpu__adm_task task;
            memset(&task, 0, sizeof task);
            for (int i = 0; i <= count; i++) {
                low[k][i] = image_make(g.w, g.h, element, (ptrdiff_t)(vmafgpu__padded(g.w) * element));
                task.image[i].in = now[i].b.bytes;
                task.image[i].in_pitch = now[i].pitch;
                task.image[i].low = has_low ? low[k][i].b.bytes : NULL;
                task.image[i].low_stride = low[k][i].pitch / (ptrdiff_t)element;
            }
            task.scale = scale;
            task.bit_depth = v->config.bit_depth;
            task.bytes = is_wide ? 2 : 1;
            task.in_width = scale ? vmafgpu__adm_size(v->config.width, scale - 1) : v->config.width;
            task.in_height = scale ? vmafgpu__adm_size(v->config.height, scale - 1) : v->config.height;
            task.geometry = g;
            task.variants = v->plan.adm;
            task.variant_count = variants;
            task.distorted = count;
            task.scratch = scratch[k].bytes;
            snprintf(test_where, sizeof test_where, "%s adm_rows %.200s, scale %d, rows 0 to %d to %d", level->name,
                     what, scale, cut, g.h);
            sides[k]->adm->rows(&task, 0, cut, sums[k]);
            for (int i = 0; i <= count; i++)
                check_written(&low[k][i], &low[k][i], 0, has_low ? cut : 0, (int)vmafgpu__padded(g.w));
            if (cut < g.h)
                sides[k]->adm->rows(&task, cut, g.h, sums[k]);
            if (k == 0 && is_timing && (scale == 0 || !is_wide)) {
                char name[32];
                vmafgpu__adm_sums unused[BAND_DISTORTED];
                memset(unused, 0, sizeof unused);
                snprintf(name, sizeof name, "adm_rows scale %d%s", scale, scale ? "" : is_wide ? " words" : " bytes");
                BENCH(level, name, task.in_width * task.in_height, level->adm->rows(&task, 0, g.h, unused));
            }
        }
        CHECK(memcmp(sums[0][0].denominator, sums[1][0].denominator, sizeof sums[0][0].denominator) == 0);
        for (int i = 0; i < count; i++) {
            for (int n = 0; n < variants; n++) {
                for (int b = 0; b < VMAFGPU__BANDS; b++) {
                    CHECK_INT(sums[0][i].numerator[n][b], sums[1][i].numerator[n][b]);
                    CHECK_INT(sums[0][i].impairment[n][b], sums[1][i].impairment[n][b]);
                }
            }
        }
        for (int i = 0; i <= count; i++) {
            check_written(&low[0][i], &low[1][i], 0, has_low ? g.h : 0, (int)vmafgpu__padded(g.w));
            block_free(&low[0][i].b);
            if (scale)
                block_free(&now[i].b);
            now[i] = low[1][i];
        }
    }
    for (int i = 0; i <= count; i++)
        block_free(&now[i].b);
    block_free(&scratch[0]);
    block_free(&scratch[1]);
}

static void check_bands(const vmafgpu__cpu_functions *level, int kind, int w, int h, int depth, int has_options,
                        int count) {
    image pictures[1 + BAND_DISTORTED];
    vmafgpu_config config;
    char what[128];
    memset(&config, 0, sizeof config);
    config.width = w;
    config.height = h;
    config.bit_depth = depth;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.cpumask = ALL_OFF;
    config.features_only = has_options;
    config.models = has_options ? NULL : both_models;
    config.model_count = has_options ? 0 : 2;
    config.features = has_options ? options : NULL;
    config.feature_count = has_options ? OPTION_COUNT : 0;
    vmafgpu *v = open_checked(&config);
    test_need(v != NULL, "cannot open a context");
    for (int i = 0; i <= count; i++)
        pictures[i] = picture_make(kind, i, w, h, depth);
    snprintf(what, sizeof what, "%dx%d %d bits, kind %d, %d distorted, %s", w, h, depth, kind, count,
             has_options ? "options" : "models");
    snprintf(test_where, sizeof test_where, "%s", what);
    check_vif_rows(level, v, pictures, count, 1 + w % 4);
    snprintf(test_where, sizeof test_where, "%s", what);
    check_adm_rows(level, v, pictures, count);
    for (int i = 0; i <= count; i++)
        block_free(&pictures[i].b);
    vmafgpu_close(v);
}

static void test_bands(const vmafgpu__cpu_functions *level) {
    static const int depths[] = { 8, 10, 12, 16, 9, 14 };
    /* all sizes from 33 to 65, at which sums of the largest values can wrap around */
    for (int w = 33; w <= 65; w++) {
        for (int i = 0; i < 4; i++) {
            check_bands(level, 0, w, 33 + (w * 7 + i * 11) % 33, depths[i], 0, 1);
            check_bands(level, 1, w, 33 + (w * 5 + i * 13) % 33, depths[i], i == w % 4, 1);
        }
    }
    /* widths near multiples of the vector size and the strip size */
    for (int w = 16; w <= 140; w++) {
        for (int kind = 0; kind < KINDS; kind++) {
            check_bands(level, kind, w, 16 + (w * 3 + kind) % 37, depths[(w + kind) % 6], kind == w % 6,
                        1 + (w + kind) % 3);
        }
    }
    for (int i = 0; i < 30; i++) {
        check_bands(level, i % KINDS, (i % 4 ? i % 4 : 4) * VMAFGPU__VIF_STRIP / (1 + i % 2) + i - 15, 16 + i % 25,
                    depths[i % 5], 0, 1 + i % 3);
    }
    /* Wide rows of coefficients just below 4096: the largest partial sums of the denominator of ADM. */
    for (int n = 241; n <= 255; n += 2)
        check_bands(level, ROWS_APART + n, 2200, 33, 10, 0, 1);
}

/* Compares the VIF sums of a picture that is so high that the sum of a lane exceeds 32 bits, unless the vector code
 * delivers its sums in time. All rows have the same address. */
static void test_high_picture(const vmafgpu__cpu_functions *level) {
    enum { WIDTH = 64, HEIGHT = 60000 };
    const vmafgpu__cpu_functions *sides[2] = { level, &vmafgpu__functions_scalar };
    vmafgpu__vif_sums sums[2];
    uint8_t row[WIDTH];
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    memset(sums, 0, sizeof sums);
    config.width = config.height = WIDTH;
    config.bit_depth = 8;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.cpumask = ALL_OFF;
    vmafgpu *v = open_checked(&config);
    test_need(v != NULL, "cannot open a context");
    for (int x = 0; x < WIDTH; x++)
        row[x] = x & 1 ? 255 : 0;
    for (int k = 0; k < 2; k++) {
        vmafgpu__vif_sums *to = &sums[k];
        vmafgpu__vif_picture distorted;
        vmafgpu__vif_job job;
        block scratch = block_make(sides[k]->vif->scratch_size(WIDTH, 1, 1), 0xa5);
        memset(&job, 0, sizeof job);
        memset(&distorted, 0, sizeof distorted);
        distorted.row = row;
        job.reference = distorted;
        job.distorted = &distorted;
        job.distorted_count = 1;
        job.bit_depth = 8;
        job.w = WIDTH;
        job.h = job.end = HEIGHT;
        job.plan = &v->plan;
        job.log_table = sides[k]->vif->log_entries ? v->cpu->log_table : NULL;
        job.scratch = scratch.bytes;
        job.widest = vmafgpu__vif_strip_width(1, 1);
        sides[k]->vif->rows(&job, &to);
        block_free(&scratch);
    }
    snprintf(test_where, sizeof test_where, "%s vif_rows of a high picture", level->name);
    CHECK_INT(sums[0].numerator[0], sums[1].numerator[0]);
    CHECK_INT(sums[0].denominator, sums[1].denominator);
    CHECK_INT(sums[0].flat_noise, sums[1].flat_noise);
    CHECK_INT(sums[0].flat_count, sums[1].flat_count);
    vmafgpu_close(v);
}

/* ---- functions of CAMBI and SpEED ---- */

enum { GUARD_BYTES = 64, LINE_BYTES = 8 * 1024 };

/* A line between guards. A function must write `length` elements, and may write more, up to the next multiple of
 * VMAFGPU__CHUNK. */
typedef struct line {
    unsigned char bytes[GUARD_BYTES + LINE_BYTES + GUARD_BYTES];
} line;

static void *line_clear(line *l) {
    memset(l->bytes, 0x5a, sizeof l->bytes);
    return l->bytes + GUARD_BYTES;
}

static void check_line(const line *got, const line *expected, int length, size_t element) {
    const size_t used = vmafgpu__padded(length) * element;
    int guarded = 1;
    CHECK(memcmp(got->bytes + GUARD_BYTES, expected->bytes + GUARD_BYTES, (size_t)length * element) == 0);
    for (size_t i = 0; i < GUARD_BYTES; i++)
        guarded &= got->bytes[i] == 0x5a && got->bytes[GUARD_BYTES + used + i] == 0x5a;
    CHECK(guarded);
}

/* Fills a row with samples below 2^depth. Kinds: noise, two values, steps, nearly uniform. */
static void fill_words(uint16_t *row, int count, int depth, int kind) {
    const uint32_t top = (1u << depth) - 1, start = random_bits();
    for (int x = 0; x < count; x++) {
        const uint32_t bits = random_bits();
        const uint32_t value = kind == 0   ? bits
                               : kind == 1 ? start + (bits & 1)
                               : kind == 2 ? start + (uint32_t)x / 5
                                           : start + (bits % 29 == 0);
        row[x] = (uint16_t)(value & top);
    }
}

static void test_cambi_rows(const vmafgpu__cpu_functions *level, int w, int kind) {
    const vmafgpu__cambi_functions *f = level->cambi, *plain = &vmafgpu__cambi_level_scalar;
    static uint16_t a[2 * MAX_WIDTH + 256], b[2 * MAX_WIDTH + 256], c[2 * MAX_WIDTH + 256];
    static uint8_t bytes[2][2 * MAX_WIDTH + 256];
    static line got, expected, sums;
    uint16_t *const out = (uint16_t *)(void *)(got.bytes + GUARD_BYTES);
    uint8_t *const marks = got.bytes + GUARD_BYTES;
    const int wide = 2 * MAX_WIDTH + 256;
    fill_words(a, wide, 10, kind);
    fill_words(b, wide, 10, kind);
    fill_words(c, wide, 10, kind);
    for (int x = 0; x < wide; x++) {
        b[x] = random_bits() % 3 ? a[x] : b[x];
        c[x] = random_bits() % 3 ? b[x] : c[x];
        bytes[0][x] = (uint8_t)(kind == 0 ? random_bits() % 8 : (uint32_t)(7 * (kind & 1)));
        bytes[1][x] = (uint8_t)(random_bits() % 8);
    }
    snprintf(test_where, sizeof test_where, "%s cambi, width %d, kind %d", level->name, w, kind);
    for (int depth = 8; depth <= 16; depth++) {
        static uint8_t source[4 * MAX_WIDTH];
        for (size_t i = 0; i < sizeof source; i += 2) {
            const uint32_t word = random_bits() & ((1u << depth) - 1);
            source[i] = (uint8_t)word;
            source[i + 1] = (uint8_t)(depth > 8 ? word >> 8 : random_bits());
        }
        f->import_row(source + depth % 2, depth > 8, depth, w, (uint16_t *)line_clear(&got));
        plain->import_row(source + depth % 2, depth > 8, depth, w, (uint16_t *)line_clear(&expected));
        check_line(&got, &expected, w, 2);
        if (depth == 8 || depth == 10) {
            BENCH(level, depth > 8 ? "cambi import_row words" : "cambi import_row bytes", w,
                  f->import_row(source, depth > 8, depth, w, out));
        }
    }
    for (int k = 0; k < 2; k++) {
        f->soften(a, k ? b : NULL, w, (uint16_t *)line_clear(&got));
        plain->soften(a, k ? b : NULL, w, (uint16_t *)line_clear(&expected));
        check_line(&got, &expected, w, 2);
        BENCH(level, k ? "cambi soften" : "cambi soften last", w, f->soften(a, k ? b : NULL, w, out));
    }
    f->flat_row(a, b, w, (uint8_t *)line_clear(&got));
    plain->flat_row(a, b, w, (uint8_t *)line_clear(&expected));
    check_line(&got, &expected, (int)vmafgpu__padded(w), 1); /* the zeros after the row are compared too */
    BENCH(level, "cambi flat_row", w, f->flat_row(a, b, w, marks));
    memcpy(line_clear(&got), bytes[0], (size_t)w);
    memcpy(line_clear(&expected), bytes[0], (size_t)w);
    f->slide(got.bytes + GUARD_BYTES, bytes[1], bytes[0], w);
    plain->slide(expected.bytes + GUARD_BYTES, bytes[1], bytes[0], w);
    check_line(&got, &expected, w, 1);
    BENCH(level, "cambi slide", w, f->slide(marks, bytes[1], bytes[0], w));
    for (int halved = 0; halved < 2; halved++) {
        const int threshold = (int)(random_bits() % 50), half = halved ? (w + 1) / 2 : w;
        f->mask_row(bytes[0] + 64, w, halved, threshold, (uint8_t *)line_clear(&sums), (uint8_t *)line_clear(&got));
        plain->mask_row(bytes[0] + 64, w, halved, threshold, (uint8_t *)line_clear(&sums),
                        (uint8_t *)line_clear(&expected));
        for (int x = 0; x < half; x++)
            got.bytes[GUARD_BYTES + x] = got.bytes[GUARD_BYTES + x] != 0;
        check_line(&got, &expected, half, 1);
        BENCH(level, halved ? "cambi mask_row halved" : "cambi mask_row", w,
              f->mask_row(bytes[0] + 64, w, halved, threshold, sums.bytes + GUARD_BYTES, marks));
    }
    f->halve_row(a, w, (uint16_t *)line_clear(&got));
    plain->halve_row(a, w, (uint16_t *)line_clear(&expected));
    check_line(&got, &expected, w, 2);
    BENCH(level, "cambi halve_row", w, f->halve_row(a, w, out));
    f->halve_mask(bytes[0], w, (uint8_t *)line_clear(&got));
    plain->halve_mask(bytes[0], w, (uint8_t *)line_clear(&expected));
    check_line(&got, &expected, w, 1);
    BENCH(level, "cambi halve_mask", w, f->halve_mask(bytes[0], w, marks));
    f->mode_row(a, b, c, w, (uint16_t *)line_clear(&got));
    plain->mode_row(a, b, c, w, (uint16_t *)line_clear(&expected));
    check_line(&got, &expected, w, 2);
    BENCH(level, "cambi mode_row", w, f->mode_row(a, b, c, w, out));
    static float values[MAX_WIDTH], alike[2][MAX_WIDTH];
    size_t counts[2] = { 0, 0 };
    for (int x = 0; x < MAX_WIDTH; x++) {
        values[x] =
            random_bits() % 3 ? (float)(int)(a[x] % 64 + (kind & 1) * 20000) / 2 + (float)(int)(b[x] % 8) / 8388608 : 0;
    }
    const float low = 5.5f + (float)kind, high = kind & 1 ? 10003.0f : 12.5f;
    CHECK_INT(f->sum_above(values, (size_t)w, low, high, alike[0], &counts[0]),
              plain->sum_above(values, (size_t)w, low, high, alike[1], &counts[1]));
    CHECK_INT(counts[0], counts[1]);
    CHECK(memcmp(alike[0], alike[1], sizeof(float) * counts[1]) == 0);
    BENCH(level, "cambi sum_above", w, counts[0] = 0, f->sum_above(values, (size_t)w, low, high, alike[0], &counts[0]));
    for (int base = 0; base <= 400; base += 100) {
        vmafgpu__cambi_variant variant;
        memset(&variant, 0, sizeof variant);
        variant.base = base;
        variant.bins = 1 + (int)(random_bits() % 600);
        f->code_row(&variant, a, bytes[0], w, (uint16_t *)line_clear(&got));
        plain->code_row(&variant, a, bytes[0], w, (uint16_t *)line_clear(&expected));
        check_line(&got, &expected, (int)vmafgpu__padded(w), 2); /* the padding after the row is compared too */
        if (base == 0)
            BENCH(level, "cambi code_row", w, f->code_row(&variant, a, bytes[0], w, out));
    }
}

static void fill_floats(float *row, int count) {
    for (int i = 0; i < count; i++)
        row[i] = (float)(int)(random_bits() % 2000001 - 1000000) / (float)(int)(1 + random_bits() % 9999);
}

static void check_matrix(const vmafgpu__speed_matrix *got, const vmafgpu__speed_matrix *expected, int top) {
    int same = 1;
    for (int r = top; r < VMAFGPU__SPEED_SIDE; r++) {
        same &=
            memcmp(&got->at[r][top], &expected->at[r][top], sizeof(float) * (size_t)(VMAFGPU__SPEED_SIDE - top)) == 0;
    }
    CHECK(same);
}

/* Compares the vector versions of the SpEED functions with the scalar versions. `w` is the width of a plane or the
 * number of blocks in a row. */
static void test_speed_rows(const vmafgpu__cpu_functions *level, int w) {
    enum { SIDE = VMAFGPU__SPEED_SIDE, WIDE = 448, HIGH = 16 };
    const vmafgpu__speed_functions *f = level->speed, *plain = &vmafgpu__speed_level_scalar;
    static float rows[SIDE * WIDE], others[SIDE * WIDE], out[2][SIDE * WIDE];
    static double wide[(HIGH + 1) * WIDE], ones[WIDE], sums[2][5 * WIDE];
    static uint8_t source[4 * WIDE + 64];
    static line got, expected;
    float *const row = (float *)(void *)(got.bytes + GUARD_BYTES);
    vmafgpu__speed_matrix a, result[2];
    float vectors[2][VMAFGPU__SPEED_PITCH], x[2][VMAFGPU__SPEED_PITCH], totals[2][SIDE];
    fill_floats(rows, SIDE * WIDE);
    fill_floats(others, SIDE * WIDE);
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (uint8_t)random_bits();
    snprintf(test_where, sizeof test_where, "%s speed, width %d", level->name, w);
    for (int bytes = 1; bytes <= 2; bytes++) {
        for (int step = bytes; step <= 2 * bytes; step += bytes) {
            const int shift = (int)(random_bits() % 7) * (bytes - 1), start = (int)(random_bits() % 4);
            const uint32_t seen = f->import(source + start, bytes, step, shift, 0.25f, w, (float *)line_clear(&got));
            CHECK_INT(seen,
                      plain->import(source + start, bytes, step, shift, 0.25f, w, (float *)line_clear(&expected)));
            check_line(&got, &expected, w, 4);
            if (step == bytes) {
                BENCH(level, bytes == 2 ? "speed import words" : "speed import bytes", w,
                      f->import(source, bytes, step, 0, 0.25f, w, row));
            }
        }
    }
    memcpy(line_clear(&got), rows, sizeof(float) * (size_t)w);
    memcpy(line_clear(&expected), rows, sizeof(float) * (size_t)w);
    f->add_row(row, others, 0.1f, w);
    plain->add_row((float *)(void *)(expected.bytes + GUARD_BYTES), others, 0.1f, w);
    check_line(&got, &expected, w, 4);
    BENCH(level, "speed add_row", w, f->add_row(row, others, 0.1f, w));

    const float *pair[2] = { rows, others };
    const float weight[2] = { 0.3f, 0.7f };
    static int32_t at[2][WIDE];
    vmafgpu__speed_between columns;
    for (int k = 0; k < 2; k++) {
        columns.at[k] = at[k];
        columns.weight[k] = others + (k + 1) * WIDE;
        for (int i = 0; i < WIDE; i++)
            at[k][i] = (int32_t)(random_bits() % WIDE);
    }
    f->bilinear(pair, weight, &columns, w, (float *)line_clear(&got));
    plain->bilinear(pair, weight, &columns, w, (float *)line_clear(&expected));
    check_line(&got, &expected, w, 4);
    BENCH(level, "speed bilinear", w, f->bilinear(pair, weight, &columns, w, row));

    const int rows_high = 1 + w % 12;
    f->totals(rows, WIDE, w, rows_high, totals[0]);
    plain->totals(rows, WIDE, w, rows_high, totals[1]);
    CHECK(memcmp(totals[0], totals[1], sizeof totals[0]) == 0);
    BENCH(level, "speed totals", w * rows_high, f->totals(rows, WIDE, w, rows_high, totals[0]));
    for (int i = 0; i < (HIGH + 1) * WIDE; i++) {
        wide[i] = (double)rows[i % (SIDE * WIDE)];
        ones[i % WIDE] = 1;
    }
    for (int places = 1; places <= 5; places++) {
        const int h = 4 + w % 5, dx = w % 9 - 4; /* uses at most h + 4 + 4 rows */
        const double *other = places < 5 ? wide + (5 - places) * WIDE + 4 + dx : ones;
        memset(sums, 0, sizeof sums);
        f->column_sums(wide + 4, other, WIDE, places < 5 ? WIDE : 0, w, h, places, sums[0], WIDE);
        plain->column_sums(wide + 4, other, WIDE, places < 5 ? WIDE : 0, w, h, places, sums[1], WIDE);
        for (int k = 0; k < places; k++) {
            CHECK(memcmp(sums[0] + k * WIDE, sums[1] + k * WIDE, sizeof(double) * (size_t)w) == 0);
            int untouched = 1;
            for (int i = (int)vmafgpu__padded(w); i < WIDE; i++)
                untouched &= sums[0][k * WIDE + i] == 0;
            CHECK(untouched);
        }
        if (places == 5) {
            BENCH(level, "speed column_sums", w * h * places,
                  f->column_sums(wide + 4, ones, WIDE, 0, w, h, places, sums[0], WIDE));
        }
    }

    memset(&a, 0, sizeof a);
    for (int r = 0; r < SIDE; r++) {
        fill_floats(a.at[r], r + 1);
        for (int c = 0; c < r; c++)
            a.at[c][r] = a.at[r][c];
    }
    for (int first = 0; first < SIDE; first += 1 + first / 4) {
        memset(out, 0x5a, sizeof out);
        f->multiply(&a, first, rows, WIDE, w, out[0]);
        plain->multiply(&a, first, rows, WIDE, w, out[1]);
        for (int r = 0; r < SIDE; r++) {
            const int end = (int)vmafgpu__padded(w); /* columns >= end are not written */
            CHECK(memcmp(out[0] + r * WIDE, out[1] + r * WIDE, sizeof(float) * (size_t)w) == 0);
            CHECK(memcmp(out[0] + r * WIDE + end, out[1] + r * WIDE + end, sizeof(float) * (size_t)(WIDE - end)) == 0);
        }
        if (first == 0)
            BENCH(level, "speed multiply", w * SIDE, f->multiply(&a, 0, rows, WIDE, w, out[0]));
        for (int i = 0; i < 2; i++) {
            memset(vectors[i], 0, sizeof vectors[i]);
            fill_floats(vectors[i] + first, SIDE - first);
            memset(x[i], 0, sizeof x[i]);
            result[i] = a;
        }
        f->apply(&a, first, 0.7f, vectors[0], x[0]);
        plain->apply(&a, first, 0.7f, vectors[0], x[1]);
        CHECK(memcmp(x[0], x[1], sizeof(float) * SIDE) == 0);
        if (first == 0)
            BENCH(level, "speed apply", SIDE * SIDE, f->apply(&a, 0, 0.7f, vectors[0], x[0]));
        f->rank_two(&result[0], first, vectors[0], vectors[1]);
        plain->rank_two(&result[1], first, vectors[0], vectors[1]);
        check_matrix(&result[0], &result[1], first);
        for (int r = 0; r < SIDE; r++) /* rows and columns before `first` are not written */
            CHECK(memcmp(result[0].at[r], a.at[r], sizeof(float) * (size_t)(r < first ? SIDE : first)) == 0);
        if (first == 0)
            BENCH(level, "speed rank_two", SIDE * SIDE, f->rank_two(&result[0], 0, vectors[0], vectors[1]));
    }
    memcpy(out[0], rows, sizeof rows);
    memcpy(out[1], rows, sizeof rows);
    f->substitute(&a, WIDE, w, out[0]);
    plain->substitute(&a, WIDE, w, out[1]);
    for (int r = 0; r < SIDE; r++)
        CHECK(memcmp(out[0] + r * WIDE, out[1] + r * WIDE, sizeof(float) * (size_t)w) == 0);
    BENCH(level, "speed substitute", w * SIDE, f->substitute(&a, WIDE, w, out[0]));
    f->variances(rows, others, WIDE, w, (float *)line_clear(&got));
    plain->variances(rows, others, WIDE, w, (float *)line_clear(&expected));
    check_line(&got, &expected, w, 4);
    BENCH(level, "speed variances", w * SIDE, f->variances(rows, others, WIDE, w, row));
}

static void test_v1_functions(const vmafgpu__cpu_functions *level) {
    for (int w = 1; w <= MAX_WIDTH; w += w < 140 ? 1 : 37)
        for (int kind = 0; kind < 4; kind++)
            test_cambi_rows(level, w, kind);
    for (int w = 1; w <= 360; w += w < 100 ? 1 : 23)
        test_speed_rows(level, w);
}

/* ---- functions of float features and psnr ---- */

enum { FLOAT_PITCH = 640, FLOAT_LINES = 2 * VMAFGPU__FLOAT_REACH + VMAFGPU__FLOAT_ROWS };

static float *row_of(line *l) {
    return (float *)line_clear(l);
}

static void check_rows_of(const line *got, const line *expected, int count, int w) {
    for (int i = 0; i < count; i++)
        check_line(&got[i], &expected[i], w, sizeof(float));
}

/* Fills rows, including their margins, with sample values from which 128 has been subtracted. */
static void fill_samples(float (*rows)[FLOAT_PITCH], int count, int kind) {
    for (int i = 0; i < count * FLOAT_PITCH; i++) {
        rows[i / FLOAT_PITCH][i % FLOAT_PITCH] =
            (float)(int)(random_bits() % (kind ? 2 : 65536)) / 256 - (float)(kind ? 0 : 128);
    }
}

static void test_float_rows(const vmafgpu__cpu_functions *level, int w, int kind) {
    enum { ROWS = VMAFGPU__FLOAT_ROWS, MEANS = VMAFGPU__FLOAT_VIF_MEANS, MARGIN = VMAFGPU__MARGIN };
    static const int counts[] = { 3, 5, 9, 17, 2 * VMAFGPU__FLOAT_REACH + 1 };
    static const double variances[] = { 2, 0.7, 5 };
    const vmafgpu__floats_functions *f = level->floats, *plain = &vmafgpu__floats_level_scalar;
    const vmafgpu__float_ansnr_functions *ansnr = level->float_ansnr, *plain_ansnr = &vmafgpu__float_ansnr_level_scalar;
    const vmafgpu__float_vif_functions *vif = level->float_vif, *plain_vif = &vmafgpu__float_vif_level_scalar;
    static float a[FLOAT_LINES][FLOAT_PITCH], b[FLOAT_LINES][FLOAT_PITCH], means[MEANS][FLOAT_PITCH];
    static line got[MEANS * ROWS], expected[MEANS * ROWS];
    static uint8_t samples[2 * FLOAT_PITCH];
    const float *from[2][FLOAT_LINES];
    float taps[2 * VMAFGPU__FLOAT_REACH + 1], *to[2][MEANS][ROWS], *lines[MEANS];
    fill_samples(a, FLOAT_LINES, kind);
    fill_samples(b, FLOAT_LINES, kind);
    for (size_t i = 0; i < sizeof samples; i++)
        samples[i] = (uint8_t)random_bits();
    snprintf(test_where, sizeof test_where, "%s floats, width %d, kind %d", level->name, w, kind);
    for (int depth = 8; depth <= 16; depth += 2) {
        const float unit = 1 / (float)(1 << (depth - 8));
        f->convert(samples, depth > 8, unit, w, row_of(got));
        plain->convert(samples, depth > 8, unit, w, row_of(expected));
        check_rows_of(got, expected, 1, w);
        BENCH(level, depth == 8 ? "float convert bytes" : "float convert words", w,
              f->convert(samples, depth > 8, unit, w, (float *)(void *)(got[0].bytes + GUARD_BYTES)));
    }
    f->differ(a[0], b[0], w, row_of(got));
    plain->differ(a[0], b[0], w, row_of(expected));
    check_rows_of(got, expected, 1, w);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const int count = counts[c], reach = count / 2;
        for (int k = 0; k < count; k++) {
            taps[k] = (float)(int)(1 + random_bits() % 9999) / 9999 / (float)count;
            from[0][k] = a[0] + MARGIN + k - reach;
        }
        f->weigh(from[0], taps, count, w, row_of(got));
        plain->weigh(from[0], taps, count, w, row_of(expected));
        check_rows_of(got, expected, 1, w);
        for (int k = 0; k < count + ROWS - 1; k++) {
            from[0][k] = a[k];
            from[1][k] = b[k];
        }
        for (int i = 0; i < MEANS * ROWS; i++) {
            to[0][i / ROWS][i % ROWS] = row_of(&got[i]);
            to[1][i / ROWS][i % ROWS] = row_of(&expected[i]);
        }
        f->weigh_rows(from[0], taps, count, w, to[0][0]);
        plain->weigh_rows(from[0], taps, count, w, to[1][0]);
        check_rows_of(got, expected, ROWS, w);
        vif->down(from[0], from[1], taps, count, w, (float *const(*)[ROWS])to[0]);
        plain_vif->down(from[0], from[1], taps, count, w, (float *const(*)[ROWS])to[1]);
        check_rows_of(got, expected, MEANS * ROWS, w);
        BENCH(level, "float vif_down", w * ROWS,
              vif->down(from[0], from[1], taps, count, w, (float *const(*)[ROWS])to[0]));
        for (int x = 0; x < FLOAT_PITCH; x++) {
            const float r = a[0][x], d = kind ? r : b[0][x] / 4 + r / 2;
            means[0][x] = r;
            means[1][x] = d;
            means[2][x] = r * r + (x % 3 ? r : 0);
            means[3][x] = d * d + (x % 5 ? 3 : 0);
            means[4][x] = r * d;
        }
        for (int m = 0; m < MEANS; m++)
            lines[m] = means[m] + MARGIN;
        for (int i = 0; i < 3; i++) {
            const double variance = variances[i];
            const vmafgpu__float_vif_limits limits = { (float)variance, i == 1 ? 1.0f : 100.0f,
                                                       (float)(variance * variance / 65025.0), variance,
                                                       variance == 2 };
            vif->along(lines, taps, reach, &limits, w, row_of(&got[0]), row_of(&got[1]));
            plain_vif->along(lines, taps, reach, &limits, w, row_of(&expected[0]), row_of(&expected[1]));
            check_rows_of(got, expected, 2, w);
            BENCH(level, "float vif_along", w,
                  vif->along(lines, taps, reach, &limits, w, (float *)(void *)(got[0].bytes + GUARD_BYTES),
                             (float *)(void *)(got[1].bytes + GUARD_BYTES)));
        }
    }
    for (int k = 0; k < 3; k++) {
        to[0][0][k] = row_of(&got[k]);
        to[1][0][k] = row_of(&expected[k]);
    }
    ansnr->along(a[0] + MARGIN, w, to[0][0]);
    plain_ansnr->along(a[0] + MARGIN, w, to[1][0]);
    check_rows_of(got, expected, 3, w);
    for (int k = 0; k < 5; k++) {
        from[0][k] = a[k];
        from[1][k] = b[k];
    }
    ansnr->terms(from[0], from[1], w, row_of(&got[0]), row_of(&got[1]));
    plain_ansnr->terms(from[0], from[1], w, row_of(&expected[0]), row_of(&expected[1]));
    check_rows_of(got, expected, 2, w);
}

/* Compares the sums of rows with the results of direct formulas. Rows of kind 1 have the largest differences. */
static void test_sum_rows(const vmafgpu__cpu_functions *level, int w, int kind) {
    enum { WIDEST = 16384 };
    static uint16_t words[2][WIDEST];
    uint8_t *const rows[2] = { (uint8_t *)words[0], (uint8_t *)words[1] };
    for (int i = 0; i < 2 * w; i++) {
        rows[0][i] = (uint8_t)(kind ? 255 : random_bits());
        rows[1][i] = (uint8_t)(kind ? 0 : random_bits());
    }
    snprintf(test_where, sizeof test_where, "%s sums of rows, width %d, kind %d", level->name, w, kind);
    for (int wide = 0; wide < 2; wide++) {
        CHECK_INT(level->psnr->row(rows[0], rows[1], wide, w), vmafgpu__psnr_row_scalar(rows[0], rows[1], wide, w));
        for (int other = 0; other < 2; other++) {
            uint64_t sums[2] = { 1, 2 }, sum = 1, squares = 2;
            for (int x = 0; x < w; x++) {
                const int left = wide ? vmafgpu__word(rows[0], x) : rows[0][x];
                const int right = !other ? 0 : wide ? vmafgpu__word(rows[1], x) : rows[1][x];
                const float square = (float)(left - right) * (float)(left - right);
                sum += (uint64_t)left;
                squares += (uint64_t)square;
            }
            level->float_psnr->row(rows[0], other ? rows[1] : NULL, wide, w, sums);
            CHECK(other || sums[0] == sum);
            CHECK_INT(sums[1], squares);
        }
    }
}

static void test_measured_functions(const vmafgpu__cpu_functions *level) {
    for (int w = 1; w <= 400; w += w < 140 ? 1 : 37) {
        for (int kind = 0; kind < 2; kind++) {
            test_sum_rows(level, w, kind);
            if (w % 3 == 1)
                test_float_rows(level, w, kind);
        }
    }
    for (int kind = 0; kind < 2; kind++) {
        test_sum_rows(level, 4173, kind);
        test_sum_rows(level, 16384, kind);
    }
}

/* ---- CAMBI: codes and c-values ---- */

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Returns the positive c-values of a scale in ascending order. */
static float *sorted_values(const vmafgpu *v, int scale, size_t *count) {
    size_t length;
    const float *list = vmafgpu__cambi_found(v, 0, scale, &length);
    float *values = (float *)malloc(sizeof(float) * (length + 1));
    test_need(values != NULL, "out of memory");
    *count = 0;
    for (size_t i = 0; i < length; i++)
        if (list[i] > 0)
            values[(*count)++] = list[i];
    qsort(values, *count, sizeof *values, by_value);
    return values;
}

static void check_cambi(const vmafgpu *got, const vmafgpu *expected) {
    const vmafgpu__cambi *a = got->cambi, *b = expected->cambi;
    const vmafgpu__cambi_variant *variant = &got->plan.cambi[0];
    for (int s = 0; s < VMAFGPU__CAMBI_SCALES; s++) {
        const int w = vmafgpu__cambi_size(variant, variant->picture[0].width, s);
        const int h = vmafgpu__cambi_size(variant, variant->picture[0].height, s);
        int same = 1;
        size_t counts[2];
        for (int y = 0; y < h; y++) {
            same &= memcmp(a->codes[s].data + y * a->codes[s].stride, b->codes[s].data + y * b->codes[s].stride,
                           sizeof(uint16_t) * (size_t)w) == 0;
        }
        CHECK(same);
        CHECK_INT(a->bands[0].count[s], b->bands[0].count[s]);
        CHECK_INT(a->bands[0].sum[s], b->bands[0].sum[s]);
        if ((int64_t)b->bands[0].count[s] <= vmafgpu__cambi_top_count(variant, &variant->picture[0], s)) {
            float *values[2] = { sorted_values(got, s, &counts[0]), sorted_values(expected, s, &counts[1]) };
            CHECK_INT(counts[0], counts[1]);
            CHECK(counts[0] != counts[1] || memcmp(values[0], values[1], sizeof(float) * counts[0]) == 0);
            free(values[0]);
            free(values[1]);
        }
    }
}

/* Compares CAMBI with plain C. Kinds of pictures: 0 steps, 1 a gradient with little noise, 2 patches of two values, 3
 * uniform, 4 small patches with large steps and a few different samples, so that c-values have many more fractional
 * bits. */
static void check_banding(int w, int h, int depth, int kind, const char *options) {
    vmafgpu_feature_config feature = { "cambi", options };
    vmafgpu_config config;
    const int bytes = depth > 8 ? 2 : 1, top = (1 << depth) - 1;
    const size_t size = (size_t)w * (size_t)h * (size_t)bytes;
    uint8_t *memory = (uint8_t *)malloc(size + 1);
    vmafgpu_frame frame;
    test_need(memory != NULL, "out of memory");
    memset(&config, 0, sizeof config);
    memset(&frame, 0, sizeof frame);
    config.width = w;
    config.height = h;
    config.bit_depth = depth;
    config.chroma = VMAFGPU_CHROMA_400;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    config.features = &feature;
    config.feature_count = 1;
    config.cpumask = ALL_OFF;
    frame.data[0] = memory + bytes - 1;
    for (int i = 0; i < w * h; i++) {
        const int x = i % w, y = i / w, bits = (int)(random_bits() >> 8), unit = depth > 10 ? 1 << (depth - 10) : 1;
        const int value = kind == 0   ? top / 6 + (x / 19 + y / 31) * unit
                          : kind == 1 ? top / 8 + (x + y) / 24 * unit + (bits % 37 == 0 ? unit : 0)
                          : kind == 2 ? top / 4 + ((x / 40 ^ y / 50) & 1) * 3 * unit + (bits % 101 == 0 ? unit : 0)
                          : kind == 3
                              ? top / 5 + (i == w * h / 2)
                              : top / 4 + (bits % 1009 == 0 ? 99 + bits % 4 : ((x / 8 ^ y / 8) & 1) * 24) * unit;
        uint8_t *at = memory + bytes - 1 + (size_t)i * (size_t)bytes;
        at[0] = (uint8_t)value;
        if (bytes == 2)
            at[1] = (uint8_t)(value >> 8);
    }
    snprintf(test_where, sizeof test_where, "plain C, %dx%d %d bits, kind %d", w, h, depth, kind);
    vmafgpu *expected = open_checked(&config);
    test_need(expected != NULL, "cannot open a context");
    CHECK_INT(vmafgpu_push(expected, &frame, &frame), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(expected), VMAFGPU_OK);
    scores plain = scores_of(expected);
    for (size_t m = 0, count = mask_count(); m < count; m++) {
        config.cpumask = masks[m];
        snprintf(test_where, sizeof test_where, "banding of kind %d, %dx%d %d bits, %s, mask %u", kind, w, h, depth,
                 options, masks[m]);
        vmafgpu *got = open_checked(&config);
        CHECK_INT(vmafgpu_push(got, &frame, &frame), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(got), VMAFGPU_OK);
        scores vectors = scores_of(got);
        check_same_scores(&vectors, &plain);
        check_cambi(got, expected);
        scores_free(&vectors);
        vmafgpu_close(got);
    }
    scores_free(&plain);
    vmafgpu_close(expected);
    free(memory);
}

static void test_banding(void) {
    static const char *const ways[] = { "cambi_vis_lum_threshold=0.06:topk=1", "window_size=127:topk=0.3",
                                        "max_log_contrast=5:topk=1:window_size=100", "eotf=pq:max_log_contrast=0",
                                        "cambi_high_res_speedup=1080:enc_width=300:enc_height=230:topk=0.9" };
    for (int w = 216; w <= 345; w++)
        check_banding(w, 216 + w % 41, 8 + w % 9, w % 4, ways[w % 4]);
    for (int i = 0; i < 20; i++) {
        check_banding(302 + i, 231 + i, 8 + i % 5, i % 4, ways[4]); /* enc_width and enc_height differ from the frame */
        check_banding(40 + 7 * i, 217, 8, i % 4, ways[i % 4]);
        check_banding(600 + 13 * i, 401, 10, i % 4, ways[(i + i / 4) % 4]);
    }
    /* Here the sum is rounded, so its terms must be added in the same order as in libvmaf. */
    check_banding(500, 1041, 10, 4, "window_size=127:max_log_contrast=5:topk=1");
    check_banding(517, 1040, 10, 4, "window_size=127:max_log_contrast=5:topk=0.5");
    check_banding(1920, 1080, 8, 1, "cambi_high_res_speedup=1080");
    check_banding(1921, 1083, 10, 2, "cambi_high_res_speedup=1080:topk=0.01");
}

/* Scores whole clips with v1 models, and compares the scores with those of the plain C code. */
static void test_v1_clips(void) {
    static const char *const whats[] = { "bands+blur", "dusk+stretch", "texture+mix", "flat+faint", "noise+wash" };
    static const char *const versions[] = { "vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_5d0h", "vmaf_v1.0.16_3d0h_2160" };
    static const int chromas[] = { 420, 422, 444 };
    for (int i = 0; i < 15; i++) {
        vmafgpu_model_config models[3];
        film f = film_make_colour(whats[i % 5], 322 + 37 * i, 576 - 17 * i, 8 + 2 * (i % 3), chromas[i / 5], 2, 3);
        vmafgpu_config config = film_config(&f);
        memset(models, 0, sizeof models);
        for (int k = 0; k < 3; k++)
            models[k].version = models[k].name = versions[k];
        config.models = models;
        config.model_count = 3;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.cpumask = ALL_OFF;
        scores expected = film_score(&f, &config);
        for (size_t m = 0, count = mask_count(); m < count; m++) {
            config.cpumask = masks[m];
            for (config.threads = 1; config.threads <= test_thread_count(4); config.threads += 3) {
                snprintf(test_where, sizeof test_where, "v1, %s %dx%d, mask %u, %d threads", whats[i % 5], config.width,
                         config.height, masks[m], config.threads);
                scores got = film_score(&f, &config);
                check_same_scores(&got, &expected);
                scores_free(&got);
            }
        }
        scores_free(&expected);
        film_free(&f);
    }
}

/* Compares all functions of an instruction set with the scalar ones. */
static void test_level(const vmafgpu__cpu_functions *level) {
    test_functions(level);
    test_v1_functions(level);
    test_measured_functions(level);
    test_bands(level);
    test_high_picture(level);
}

/* Times all functions of an instruction set at one width. */
static void bench_level(const vmafgpu__cpu_functions *level) {
    is_timing = 1;
    for (int depth = 8; depth <= 10; depth += 2) {
        test_motion_rows(level, BENCH_WIDTH, depth, 0);
        check_bands(level, 0, BENCH_WIDTH, 96, depth, 0, 1);
    }
    test_cambi_rows(level, BENCH_WIDTH, 0);
    test_speed_rows(level, BENCH_BLOCKS);
    test_float_rows(level, FLOAT_PITCH - 2 * VMAFGPU__MARGIN, 0);
    is_timing = 0;
}

int main(int argc, char **argv) {
    const int is_bench = argc > 1 && strcmp(argv[1], "bench") == 0;
    const vmafgpu__cpu_functions *levels[3];
    int count = 0;
#ifdef VMAFGPU__HAS_X86
    static const struct {
        int level;
        const vmafgpu__cpu_functions *functions;
    } known[] = {
        { VMAFGPU__AVX2, &vmafgpu__functions_avx2 },
        { VMAFGPU__AVX512, &vmafgpu__functions_avx512 },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (vmafgpu__has_level(known[i].level))
            levels[count++] = known[i].functions;
        else
            test_skip(known[i].functions->name);
    __builtin_cpu_init();
    snprintf(test_where, sizeof test_where, "the processor's features according to the compiler");
    CHECK_INT(vmafgpu__has_level(VMAFGPU__AVX2), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                                     __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"));
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(VMAFGPU_NO_SIMD)
    snprintf(test_where, sizeof test_where, "vector code for this processor");
    CHECK(!"the build contains no vector code");
#endif
#ifdef VMAFGPU__HAS_NEON
    levels[count++] = &vmafgpu__functions_neon;
#endif
#ifdef VMAFGPU__HAS_SIMD128
    levels[count++] = &vmafgpu__functions_simd128;
#endif
    if (is_bench) {
        levels[count++] = &vmafgpu__functions_scalar;
        for (int i = 0; i < count; i++)
            bench_level(levels[i]);
        return test_end();
    }
    for (int i = 0; i < count; i++)
        test_level(levels[i]);
    test_banding();
    test_v1_clips();
    test_intermediates();
    test_many();
    test_clips();
    return test_end();
}
