/* Tests private functions, so it contains an implementation. */
#ifdef _WIN32
#include <process.h>
#else
#include <pthread.h>
#endif

/* How many threads can still be started; negative if there is no limit. */
static int threads_left = -1;

static int may_start(void) {
    if (threads_left > 0) {
        threads_left--;
        return 1;
    }
    return threads_left < 0;
}

#ifdef _WIN32
static uintptr_t scarce_thread(void *security, unsigned stack, unsigned(__stdcall *run)(void *), void *arg,
                               unsigned flags, unsigned *id) {
    return may_start() ? _beginthreadex(security, stack, run, arg, flags, id) : 0;
}
#define _beginthreadex scarce_thread
#else
static int scarce_thread(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg) {
    return may_start() ? pthread_create(thread, attributes, run, arg) : 11; /* EAGAIN */
}
#define pthread_create scarce_thread
#endif

#define VMAFGPU_STATIC
#define VMAFGPU_DEBUG
#define VMAFGPU_IMPLEMENTATION
#include "scoring.h"

/* The logarithm table of VIF contains 2048 * log2(m) for m = 32768..65535, computed in single precision. Checks the
 * table's checksum, the sum of its entries and some of the entries against known values, including the first one that
 * would differ in double precision. */
static void test_log_table(void) {
    static uint16_t table[32768];
    uint64_t hash = 1469598103934665603u, sum = 0; /* FNV-1a with this initial value */
    vmafgpu__log_table(&vmafgpu__maths_of_target, table);
    for (int i = 0; i < 32768; i++) {
        for (int byte = 0; byte < 2; byte++)
            hash = (hash ^ ((table[i] >> (8 * byte)) & 255u)) * 0x100000001b3u;
        sum += table[i];
        CHECK(i == 0 || table[i] == table[i - 1] || table[i] == table[i - 1] + 1);
    }
    CHECK(hash == 0xd706fa56cbf9601bu);
    CHECK_INT(sum, 1044032097);
    CHECK_INT(table[0], 30720);
    CHECK_INT(table[33108 - 32768], 30751);
    CHECK_INT(table[49152 - 32768], 31918);
    CHECK_INT(table[32767], 32768);
}

/* CAMBI's table of reciprocals is written as decimal numbers with nine digits. For 42 of them, the float nearest to the
 * decimal number is not the float nearest to the reciprocal. */
static void test_reciprocals(void) {
    vmafgpu v;
    vmafgpu_config *c = &v.config;
    vmafgpu_feature_config feature = { "cambi", NULL };
    int differing = 0;
    uint64_t scratch = 0;
    memset(&v, 0, sizeof v);
    c->width = c->height = 240;
    c->bit_depth = 8;
    c->threads = 1;
    CHECK_INT(vmafgpu__add_feature(&v, 0, &feature), VMAFGPU_OK);
    CHECK_INT(vmafgpu__make_plan(&v), VMAFGPU_OK);
    CHECK_INT(vmafgpu__cambi_open(&v, &vmafgpu__cambi_level_scalar, &scratch), VMAFGPU_OK);
    CHECK(scratch > 240 * 240 * 6);
    for (int i = 1; i <= 4225; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", 1.0 / i);
        CHECK(v.cambi->reciprocal[i] == strtof(text, NULL));
        differing += v.cambi->reciprocal[i] != (float)(1.0 / i);
    }
    CHECK_INT(differing, 42);
    vmafgpu__give(&v, v.cambi);
}

/* Checks the largest samples at which CAMBI considers a difference of k codes visible, at the default threshold. */
static void test_visibility(void) {
    static const int limits[] = { 178, 305, 432, 559, 686, 813, 1023 };
    static const struct {
        double luminance;
        int is_pq, floor;
    } floors[] = { { 0, 0, 0 }, { 0.02, 0, 69 }, { 0.04, 0, 74 }, { 0.06, 0, 78 }, { 0.06, 1, 108 } };
    for (int k = 1; k <= 32; k++) {
        CHECK_INT(vmafgpu__cambi_limit(k, 0.019, 0), limits[k < 7 ? k - 1 : 6]);
        CHECK_INT(vmafgpu__cambi_limit(k, 0.019, 1), k == 1 ? 233 : 1023);
    }
    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++)
        CHECK_INT(vmafgpu__cambi_floor(floors[i].luminance, floors[i].is_pq), floors[i].floor);
}

/* Hashes the integer sums computed for films. These sums do not depend on the C library, so they are the same on all
 * systems. */
static const vmafgpu__backend_table *collected_from;
static uint64_t collected;

static void collect_number(int64_t value) {
    for (int byte = 0; byte < 8; byte++)
        collected = (collected ^ (((uint64_t)value >> (8 * byte)) & 255u)) * 0x100000001b3u;
}

static vmafgpu_result collect(vmafgpu *v, vmafgpu__wait_mode wait_mode, vmafgpu__sums *sums) {
    vmafgpu_result result = collected_from->collect(v, wait_mode, sums);
    for (int i = 0; result == VMAFGPU_OK && i < 2; i++)
        collect_number(sums->motion[i]);
    for (int s = 0; result == VMAFGPU_OK && s < VMAFGPU__SCALES; s++) {
        collect_number(sums->vif[s].denominator);
        collect_number(sums->vif[s].flat_noise);
        collect_number(sums->vif[s].flat_count);
        for (int i = 0; i < v->plan.vif_variants; i++)
            collect_number(sums->vif[s].numerator[i]);
        for (int b = 0; b < VMAFGPU__BANDS; b++) {
            collect_number(sums->adm[s].denominator[b]);
            for (int i = 0; i < v->plan.adm_variants; i++) {
                collect_number(sums->adm[s].numerator[i][b]);
                collect_number(sums->adm[s].impairment[i][b]);
            }
        }
    }
    return result;
}

static void test_sums(void) {
    static const struct {
        const char *what;
        int width, height, depth;
        uint64_t sums;
    } films[] = {
        { "texture+mix", 96, 80, 8, 0xfa6f86bc137de110u },      { "texture+blur", 333, 217, 8, 0x4526322a6df53fabu },
        { "blocks+stretch", 176, 144, 8, 0x4bb113af9446ae8cu }, { "noise+grain", 101, 67, 10, 0x460912424fca5a6du },
        { "blocks+invert", 130, 70, 12, 0x227f0aa0b6ba4b6au },  { "texture+mix", 64, 48, 16, 0xc0b927a203124d88u },
    };
    static const vmafgpu_model_config models[] = { { "vmaf_v0.6.1", NULL, "plain", 0, 0, 0, NULL },
                                                   { "vmaf_v0.6.1neg", NULL, "neg", 0, 0, 0, NULL } };
    static const vmafgpu_feature_config five = { "motion", "motion_five_frame_window=true" };
    for (size_t i = 0; i < 2 * (sizeof films / sizeof films[0]); i++) {
        film f = film_make(films[i / 2].what, films[i / 2].width, films[i / 2].height, films[i / 2].depth, 4, 9);
        vmafgpu_config config = film_config(&f);
        vmafgpu__backend_table spy;
        vmafgpu *v;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.models = models;
        config.model_count = 2;
        config.features = &five;
        config.feature_count = 1;
        config.threads = i % 2 ? 3 : 1;
        config.cpumask = i % 2 ? 0 : 255;
        snprintf(test_where, sizeof test_where, "%s, %d threads", films[i / 2].what, config.threads);
        v = open_checked(&config);
        if (v) {
            collected = 1469598103934665603u;
            collected_from = v->backend;
            spy = *v->backend;
            spy.collect = collect;
            v->backend = &spy;
            for (int frame = 0; frame < f.clip.frames; frame++)
                CHECK_INT(film_push(&f, v, frame), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
            CHECK(collected == films[i / 2].sums);
            vmafgpu_close(v);
        }
        film_free(&f);
    }
}

/* Returns the error of vmafgpu__log2() in units in the last place. */
static double log2_error(double v) {
    const double got = vmafgpu__log2(v, vmafgpu__log2_table);
    const long double exact = log2l((long double)v);
    int exponent;
    if (exact == 0)
        return got == 0 ? 0 : 1;
    frexp((double)exact, &exponent);
    return (double)fabsl(ldexpl((long double)got - exact, DBL_MANT_DIG - exponent));
}

/* The error is at most 0.51 units. The limit is 1.1 units if long double is not more precise than double, which is the
 * case on some machines and under valgrind. */
static void test_log2(void) {
    volatile long double next_to_one = 1 + ldexpl(1, -60);
    const double limit = next_to_one > 1 ? 0.51 : 1.1;
    double most[5] = { 0 };
    uint64_t state = 1;
    for (int i = 0; i < 400000; i++) {
        double v[5];
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint64_t random = state >> 11;
        const double fraction = (double)random / 9007199254740992.0;
        v[0] = vmafgpu__double_of(random % 0x3ff * 0x10000000000000u * 2 + (random * 0x9e3779b97f4a7c15u >> 12));
        v[1] = 0.5 + 1.5 * fraction;
        v[2] = 1 + (fraction - 0.5) / 32;
        v[3] = 1 + ldexp(fraction - 0.5, -(int)(state % 50));
        v[4] = vmafgpu__double_of(0x3fe5e00000000000u + (state >> 57 << 46) + state / 65536 % 64 - 32);
        for (int k = 0; k < 5; k++) {
            const double error = v[k] > 0 && v[k] < INFINITY ? log2_error(v[k]) : 0;
            most[k] = error > most[k] ? error : most[k];
        }
    }
    for (int k = 0; k < 5; k++) {
        CHECK(most[k] <= limit);
        CHECK(most[k] > 0.1); /* some errors are expected; this shows that the values were really compared */
    }
    for (int i = -1074; i < 1024; i++)
        CHECK(vmafgpu__log2(ldexp(1, i), vmafgpu__log2_table) == i);
    CHECK(vmafgpu__log2(0.0, vmafgpu__log2_table) == -INFINITY);
    CHECK(vmafgpu__log2(-0.0, vmafgpu__log2_table) == -INFINITY);
    CHECK(vmafgpu__log2(INFINITY, vmafgpu__log2_table) == INFINITY);
    CHECK(isnan(vmafgpu__log2(-1, vmafgpu__log2_table)));
    CHECK(isnan(vmafgpu__log2(-1e-320, vmafgpu__log2_table)));
    CHECK(isnan(vmafgpu__log2(-INFINITY, vmafgpu__log2_table)));
    CHECK(isnan(vmafgpu__log2(NAN, vmafgpu__log2_table)));
}

/* ---- VMAFGPU_DEBUG: calls on closed and invalid contexts ---- */

/* An allocator that does not free memory, so that calls on a closed context can still read it. */
typedef struct hoard {
    void *kept[64];
    int count;
} hoard;

static void *hoard_alloc(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void hoard_free(void *user, void *pointer) {
    hoard *h = (hoard *)user;
    test_need(h->count < 64, "space for pointers");
    h->kept[h->count++] = pointer;
}

static void test_closed(void) {
    static const unsigned char plane[32 * 24];
    static vmafgpu none;
    hoard h;
    vmafgpu_config config;
    vmafgpu_frame frame;
    vmafgpu_score score;
    vmafgpu *contexts[2];
    double value;
    memset(&h, 0, sizeof h);
    memset(&config, 0, sizeof config);
    memset(&frame, 0, sizeof frame);
    snprintf(test_where, sizeof test_where, "closed");
    config.width = 32;
    config.height = 24;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.allocator.allocate = hoard_alloc;
    config.allocator.release = hoard_free;
    config.allocator.user = &h;
    frame.data[0] = plane;
    contexts[0] = open_checked(&config);
    vmafgpu_close(contexts[0]);
    contexts[1] = &none;
    for (int i = 0; i < 2; i++) {
        vmafgpu *c = contexts[i];
        const int freed = h.count;
#define CLOSED(call, function) \
    do { \
        CHECK_INT(call, VMAFGPU_ERROR_ARGUMENT); \
        CHECK_STR(vmafgpu_last_error(c), function ": context is closed or invalid"); \
    } while (0)
        CLOSED(vmafgpu_push(c, &frame, &frame), "vmafgpu_push");
        CLOSED(vmafgpu_push_many(&c, 1, &frame, &frame, NULL), "vmafgpu_push_many");
        CLOSED(vmafgpu_next_score(c, &score), "vmafgpu_next_score");
        CLOSED(vmafgpu_flush(c), "vmafgpu_flush");
        CLOSED(vmafgpu_reset(c), "vmafgpu_reset");
        CLOSED(vmafgpu_pool(c, 0, VMAFGPU_POOL_MEAN, &value), "vmafgpu_pool");
        CLOSED(vmafgpu_score_pair(c, &frame, &frame, NULL, &score), "vmafgpu_score_pair");
#undef CLOSED
        vmafgpu_close(c);
        CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_close: context is closed or invalid");
        CHECK_INT(h.count, freed);
    }
    while (h.count)
        free(h.kept[--h.count]);
}

/* ---- fewer threads than requested ---- */

static void note_warning(void *user, vmafgpu_log_level level, const char *message) {
    if (level == VMAFGPU_LOG_LEVEL_WARNING)
        snprintf((char *)user, 256, "%s", message);
}

static void test_few_threads(void) {
    static const vmafgpu_feature_config features[] = { { "cambi", NULL }, { "speed_chroma", NULL } };
    film f = film_make_colour("bands+mix", 216, 200, 8, 444, 2, 3);
    vmafgpu_config config = film_config(&f);
    scores whole;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features = features;
    config.feature_count = 2;
    whole = film_score(&f, &config);
    config.on_log = note_warning;
    config.threads = 4;
    for (int left = 0; left <= 3; left++) {
        char warning[256] = "", expected[64];
        scores s;
        snprintf(test_where, sizeof test_where, "only %d more threads", left);
        snprintf(expected, sizeof expected, "config.threads: only %d of 4 threads can be started", left + 1);
        config.on_log_user = warning;
        threads_left = left;
        s = film_score(&f, &config);
        threads_left = -1;
        check_same_scores(&s, &whole);
        CHECK_HAS(warning, left < 3 ? expected : "");
        CHECK(left < 3 || !warning[0]);
        scores_free(&s);
    }
    scores_free(&whole);
    film_free(&f);
}

/* Whether negating a coefficient only negates the weighted result, and the product for the centre of the mask does not
 * overflow. */
static int is_plain(uint32_t factor, int band, int32_t value) {
    const vmafgpu__adm_weighted a = vmafgpu__adm_weigh(0, band, factor, value),
                                b = vmafgpu__adm_weigh(0, band, factor, -value);
    return a.signal == b.signal && a.side == b.side && a.centre == b.centre && (int32_t)(a.side + a.centre) >= 0;
}

/* The bounds of ADM at scale 0 must equal the largest values that satisfy the definition. */
static void test_adm_bounds(void) {
    static const uint32_t factors[] = { 1,     2,     3,     1000,  8192,  11453, 16384,
                                        20000, 24576, 32768, 36453, 40000, 46822, 65536 };
    const uint32_t ordinary[2] = { 36453, 16384 }, none[2] = { 0, 0 }, large[2] = { 46900, 16384 };
    snprintf(test_where, sizeof test_where, "bounds of ADM");
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        for (int band = 0; band < 3; band += 2) {
            const int limit = vmafgpu__adm_plain_limit(factors[i], band);
            int first = 1;
            while (first <= 16383 && is_plain(factors[i], band, first))
                first++;
            CHECK_INT(limit, first - 1);
        }
    }
    CHECK_INT(vmafgpu__adm_plain_limit(0, 0), 16383);
    CHECK(vmafgpu__adm_restore(16383, 16382) == 16382 && vmafgpu__adm_restore(-16382, -16383) == -16382);
    for (int scale = 0; scale < 4; scale++) {
        CHECK(vmafgpu__adm_is_ordinary(ordinary, 100, scale));
        CHECK(vmafgpu__adm_is_ordinary(ordinary, 1, scale));
        CHECK(!vmafgpu__adm_is_ordinary(ordinary, 1.5, scale));
        CHECK(!vmafgpu__adm_is_ordinary(ordinary, 0, scale));
        CHECK_INT(vmafgpu__adm_is_ordinary(none, 100, scale), scale > 0);
        CHECK_INT(vmafgpu__adm_is_ordinary(large, 100, scale), scale > 0);
    }
}

#ifndef VMAFGPU_NO_EDITS
/* Compares a derivative with the central difference of the smooth prediction, which is accurate to 1e-11. */
static void check_slope(const vmafgpu *v, int word, double slope, int64_t least_step) {
    int64_t words[VMAFGPU__SMOOTH_WORDS];
    double x[64], side[2];
    const int64_t step = v->edits->smooth.base[word] / 3000 + least_step;
    for (int i = 0; i < 2; i++) {
        memset(words, 0, sizeof words);
        words[word] = i ? step : -step;
        side[i] = vmafgpu__edit_smooth(v, words, x);
    }
    const double difference = (side[1] - side[0]) / (2.0 * (double)step);
    CHECK(fabs(difference - slope) <= 1e-5 * fabs(slope) + 1e-11 / (double)step);
}

static void test_gradient(void) {
    static const char *const models[] = { "vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1" };
    film f = film_make("texture+mix", 320, 240, 8, 2, 7);
    const vmafgpu_frame previous = film_frame(&f, 0, 0), reference = film_frame(&f, 1, 0),
                        distorted = film_frame(&f, 1, 1);
    for (int m = 0; m < 3; m++) {
        vmafgpu_config config = film_config(&f);
        vmafgpu_model_config model;
        vmafgpu_gradient g;
        memset(&model, 0, sizeof model);
        model.version = models[m];
        config.models = &model;
        config.model_count = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.max_edit_size = 16;
        snprintf(test_where, sizeof test_where, "gradient of %s", models[m]);
        vmafgpu *v = open_checked(&config);
        CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, &previous, NULL, NULL), VMAFGPU_OK);
        CHECK_INT(vmafgpu_edit_gradient(v, &g), VMAFGPU_OK);
        const int vif = v->plan.vif_variants, adm = v->plan.adm_variants;
        for (int s = 0; s < VMAFGPU__SCALES; s++) {
            check_slope(v, vmafgpu__edit_vif_word(vif, s, v->edits->vif->variant), g.vif_information[s], 1);
            check_slope(v, vmafgpu__edit_vif_word(vif, s, vif), g.vif_noise[s], 1 << 24);
            for (int b = 0; b < VMAFGPU__BANDS; b++) {
                check_slope(v, vmafgpu__edit_adm_word(vif, adm, s, v->edits->adm->variant, 0, b), g.adm[s][b], 1);
                check_slope(v, vmafgpu__edit_adm_word(vif, adm, s, v->edits->adm->variant, 1, b), g.aim[s][b], 1);
            }
        }
        vmafgpu_close(v);
    }
    film_free(&f);
}
#endif

/* ---- covariances of SpEED ---- */

/* Fills a plane with noise around `mean`. */
static void fill_plane(const vmafgpu__speed *speed, vmafgpu__speed_plane *plane, float mean, uint32_t *seed) {
    for (size_t i = 0; i < speed->pitch * (size_t)speed->variant->rows; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        plane->low[i] = mean + (float)(int32_t)*seed * (1.0f / (1 << 28));
        plane->wide[i] = plane->low[i];
    }
}

/* Compares all covariances with the results of libvmaf's loop. The larger the mean is relative to the noise, the more
 * covariances are computed in libvmaf's order. */
static void check_covariances(const vmafgpu__speed *speed, vmafgpu__speed_plane *plane) {
    enum { BLOCK = VMAFGPU__SPEED_BLOCK, EDGE = VMAFGPU__SPEED_EDGE, SIDE = VMAFGPU__SPEED_SIDE };
    const int w = BLOCK * speed->variant->blocks_across - EDGE, h = BLOCK * speed->variant->blocks_down - EDGE;
    const float *start[SIDE];
    double mean[SIDE];
    vmafgpu__speed_matrix covariance;
    vmafgpu__speed_covariance(speed, plane, &covariance);
    for (int p = 0; p < SIDE; p++) {
        float total = 0;
        start[p] = plane->low + (size_t)(p / BLOCK) * speed->pitch + p % BLOCK;
        for (int i = 0; i < w * h; i++)
            total += start[p][(size_t)(i / w) * speed->pitch + (size_t)(i % w)];
        mean[p] = total / (float)(w * h);
    }
    for (int p = 0; p < SIDE; p++) {
        for (int q = 0; q <= p; q++) {
            double sum = 0;
            for (int i = 0; i < w * h; i++) {
                const size_t at = (size_t)(i / w) * speed->pitch + (size_t)(i % w);
                sum += (start[p][at] - mean[p]) * (start[q][at] - mean[q]);
            }
            CHECK(covariance.at[p][q] == (float)(sum / (w * h)) && covariance.at[q][p] == covariance.at[p][q]);
        }
    }
}

static void test_covariance(void) {
    static const int sizes[][2] = { { 80, 80 }, { 80, 400 }, { 176, 176 }, { 400, 330 }, { 1280, 720 } };
    static const float means[] = { 0, 1, 1000, 1e6f };
    static const vmafgpu_feature_config feature = { "speed_chroma", NULL };
    uint32_t seed = 30;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        film f = film_make_colour("texture+mix", sizes[i][0], sizes[i][1], 8, 444, 1, 3);
        vmafgpu_config config = film_config(&f);
        config.backend = VMAFGPU_BACKEND_CPU;
        config.features_only = 1;
        config.features = &feature;
        config.feature_count = 1;
        vmafgpu *v = open_checked(&config);
        const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
        CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
        for (int k = 0; k < 20; k++) {
            snprintf(test_where, sizeof test_where, "covariances of SpEED, %dx%d, mean %g", sizes[i][0], sizes[i][1],
                     (double)means[k % 4]);
            fill_plane(v->speed, &v->speed->plane[0], means[k % 4], &seed);
            check_covariances(v->speed, &v->speed->plane[0]);
        }
        vmafgpu_close(v);
        film_free(&f);
    }
}

int main(void) {
#ifndef VMAFGPU_NO_EDITS
    test_gradient();
#endif
    test_covariance();
    test_adm_bounds();
    test_few_threads();
    test_closed();
    test_log2();
    test_log_table();
    test_reciprocals();
    test_visibility();
    test_sums();
    return test_end();
}
