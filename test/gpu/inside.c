/* The integers behind the scores, of both backends: this file looks inside, so that it has the implementation. */
#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"
#include "gpu.h"

/* ---- CAMBI's sums ---- */

/* Squares of two values, as flat as it takes to be marked and as many as it takes to count much, and others strewn over
 * them, of which some hardly count: the largest sums that there can be. */
static void cover_with_squares(film *f) {
    const int depth = f->clip.depth, width = f->clip.width;
    for (int i = 0; i < 2 * f->clip.frames * f->clip.height; i++) {
        const uint32_t y = (uint32_t)(i % f->clip.height + i / f->clip.height);
        unsigned char *row = f->luma + (size_t)i * (size_t)width * (size_t)f->bytes_per_sample;
        for (int x = 0; x < width; x++) {
            const uint32_t h = clip_hash((uint32_t)x >> 2, y >> 2, 4);
            uint32_t v = 200 + ((((uint32_t)x >> 4) + (y >> 4)) & 1) * 4;
            if (h % 61 == 0) {
                v = 100 + (h >> 8) % 600;
            } else if (h % 97 == 0) {
                v += (h >> 20) % 5;
            }
            v = depth < 10 ? v >> (10 - depth) : v << (depth - 10);
            row[x * f->bytes_per_sample] = (unsigned char)v;
            if (f->bytes_per_sample == 2) {
                row[2 * x + 1] = (unsigned char)(v >> 8);
            }
        }
    }
}

/* The sums of cambi with up to eight sets of options, separated by '|', from the GPU, all pairs at once, and from the
 * CPU, one by one; some of them of at least 2^`least` units. what: NULL: squares. */
static void check_cambi(gpu *g, const char *what, int width, int height, int depth, int frames, const char *options,
                        int batch, int least) {
    enum { MOST = 8, FRAMES = 8 };
    film f = film_make(what ? what : "black+same", width, height, depth, frames, 5);
    vmafgpu_feature_config features[MOST];
    vmafgpu_config config = gpu_config(g, &f);
    char *text = (char *)malloc(strlen(options) + 1), *rest = text;
    vmafgpu__sums *sums = (vmafgpu__sums *)malloc(2 * FRAMES * sizeof *sums);
    int64_t largest = 0;
    int count = 0;
    test_need(text && sums && frames <= FRAMES, "memory");
    where("cambi of %s %dx%d %d bits, '%s', batch %d", what ? what : "squares", width, height, depth, options, batch);
    if (!what) {
        cover_with_squares(&f);
    }
    strcpy(text, options);
    memset(features, 0, sizeof features);
    for (; rest && count < MOST; count++) {
        char *bar = strchr(rest, '|');
        if (bar) {
            *bar++ = 0;
        }
        features[count].name = "cambi";
        features[count].options = *rest ? rest : NULL;
        rest = bar;
    }
    config.no_model = 1;
    config.features = features;
    config.feature_count = count;
    config.gpu.batch = batch;
    for (int k = 0; k < 2; k++) {
        vmafgpu *v;
        int taken = 0;
        config.backend = k ? VMAFGPU_BACKEND_CPU : config.backend;
        v = open_checked(&config);
        if (!v) {
            break;
        }
        for (int i = 0; i < frames; i++) {
            vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
            vmafgpu_result result;
            vmafgpu__job job;
            memset(&job, 0, sizeof job);
            job.reference = &reference;
            job.distorted = &distorted;
            job.count = 1;
            while ((result = v->backend->submit(v, &job)) == VMAFGPU_AGAIN) {
                CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[k * FRAMES + taken++]), VMAFGPU_OK);
            }
            CHECK_INT(result, VMAFGPU_OK);
            if (k) {
                CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[k * FRAMES + taken++]), VMAFGPU_OK);
            }
        }
        while (taken < frames) {
            CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[k * FRAMES + taken++]), VMAFGPU_OK);
        }
        CHECK_STR(v->note, "");
        for (int i = 0; k && i < frames; i++) {
            for (int n = 0; n < v->plan.cambi_variants; n++) {
                for (int m = 0; m < v->plan.cambi[n].pictures * VMAFGPU__CAMBI_SCALES; m++) {
                    const int image = m / VMAFGPU__CAMBI_SCALES, scale = m % VMAFGPU__CAMBI_SCALES;
                    const int64_t expected = sums[FRAMES + i].cambi[n].top[image][scale];
                    CHECK_INT(sums[i].cambi[n].top[image][scale], expected);
                    largest = expected > largest ? expected : largest;
                }
            }
        }
        vmafgpu_close(v);
    }
    CHECK(least < 0 ? largest == 0 : largest >= (int64_t)1 << least);
    free(text);
    free(sums);
    film_free(&f);
}

void test_v1_cambi(gpu *g) {
    static const struct {
        const char *what;
        int         width, height, depth, frames;
        const char *options;
        int         batch, least;
    } cases[] = {
        /* depths, odd sizes, batches that are full and not */
        {"bands+same", 320, 240, 8, 3, "", 2, 40},
        {"bands+same", 331, 217, 9, 2, "", 1, 40},
        {"bands+same", 257, 243, 10, 5, "", 5, 40},
        {"dusk+same", 217, 129, 10, 3, "", 8, 36},
        {NULL, 322, 241, 11, 1, "", 1, 40},
        {NULL, 323, 240, 12, 2, "", 1, 40},
        {NULL, 250, 333, 14, 1, "", 1, 40},
        {NULL, 320, 251, 16, 2, "", 2, 40},
        {"noise+same", 320, 240, 10, 1, "", 1, -1},
        /* as small as it gets: one side is not */
        {NULL, 216, 48, 10, 1, "", 1, 30},
        {NULL, 48, 216, 8, 1, "", 1, 30},
        /* options: those of the models, selection, contrasts, what is visible, sizes */
        {NULL, 320, 240, 10, 2, "cambi_high_res_speedup=1080:cambi_vis_lum_threshold=0.06:cambi_max_val=17", 2, 40},
        {NULL, 400, 300, 10, 1, "topk=0.0001|topk=0.01|topk=0.2|topk=1", 1, 40},
        {"bands+same", 320, 240, 10, 2, "cambi_topk=0.3|topk=0.9", 2, 40},
        {NULL, 320, 240, 10, 1,
         "max_log_contrast=0|max_log_contrast=1|max_log_contrast=3|max_log_contrast=4|max_log_contrast=5", 1, 40},
        {"bands+same", 320, 240, 8, 1, "cambi_eotf=pq|eotf=pq:tvi_threshold=0.05|tvi_threshold=0.005", 1, 40},
        {"bands+same", 320, 240, 10, 1, "cambi_vis_lum_threshold=0.5:max_log_contrast=4|tvi_threshold=1", 1, 40},
        {"bands+same", 320, 240, 10, 1, "enc_bitdepth=8|enc_bitdepth=9:topk=0.1", 1, 40},
        {NULL, 320, 240, 8, 1, "enc_bitdepth=10|window_size=15|window_size=127|window_size=100", 1, 40},
        {"bands+same", 400, 300, 16, 1, "enc_width=300:enc_height=250|enc_width=233:enc_height=155", 1, 40},
        {"bands+mix", 401, 303, 8, 2, "full_ref=true:src_width=480:src_height=320", 2, 40},
        {NULL, 401, 303, 10, 1, "full_ref=true:enc_width=301:enc_height=203:src_width=333:src_height=251:topk=0.1", 1,
         40},
        /* sums that a double does not hold */
        {NULL, 1024, 640, 10, 1, "window_size=127:topk=1", 1, 53},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_cambi(g, cases[i].what, cases[i].width, cases[i].height, cases[i].depth, cases[i].frames,
                    cases[i].options, cases[i].batch, cases[i].least);
    }
    /* Blocks, warps and lanes in other orders. */
    for (int order = SIMULATED_REVERSED; g->is_simulated && order <= SIMULATED_SHUFFLED; order++) {
        g->sim.set_order(order, SIMULATED_LAZY, (uint64_t)order);
        check_cambi(g, NULL, 257, 203, 10, 2, "topk=0.1|max_log_contrast=3", 2, 40);
        check_cambi(g, "bands+same", 257, 203, 8, 1, "", 1, 40);
    }
}

/* ---- the integers behind the scores ---- */

static void check_sums(const vmafgpu__plan *plan, const vmafgpu__sums *got, const vmafgpu__sums *expected) {
    for (int k = 0; k < 2; k++) {
        if (plan->motion[k]) {
            CHECK_INT(got->motion[k], expected->motion[k]);
        }
    }
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        const vmafgpu__vif_sums *vif = &got->vif[s], *vif_expected = &expected->vif[s];
        const vmafgpu__adm_sums *adm = &got->adm[s], *adm_expected = &expected->adm[s];
        for (int k = 0; k < plan->vif_variants; k++) {
            CHECK_INT(vif->numerator[k], vif_expected->numerator[k]);
        }
        if (plan->vif_variants) {
            CHECK_INT(vif->denominator, vif_expected->denominator);
            CHECK_INT(vif->flat_noise, vif_expected->flat_noise);
            CHECK_INT(vif->flat_count, vif_expected->flat_count);
        }
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            for (int k = 0; k < plan->adm_variants; k++) {
                CHECK_INT(adm->numerator[k][band], adm_expected->numerator[k][band]);
                CHECK_INT(adm->impairment[k][band], adm_expected->impairment[k][band]);
            }
            if (plan->adm_variants) {
                CHECK_INT(adm->denominator[band], adm_expected->denominator[band]);
            }
        }
    }
}

/* The sums of each pair of a film from one backend. */
static int sums_of(const film *f, const vmafgpu_config *config, vmafgpu__plan *plan, vmafgpu__sums *sums) {
    vmafgpu *v = open_checked(config);
    if (!v) {
        return 0;
    }
    *plan = v->plan;
    for (int i = 0; i < f->clip.frames; i++) {
        vmafgpu_frame reference = film_frame(f, i, 0), distorted = film_frame(f, i, 1);
        vmafgpu__job job;
        memset(&job, 0, sizeof job);
        job.reference = &reference;
        job.distorted = &distorted;
        job.count = 1;
        job.history = i < 2 ? i : 2;
        CHECK_INT(v->backend->submit(v, &job), VMAFGPU_OK);
        CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[i]), VMAFGPU_OK);
    }
    vmafgpu_close(v);
    return 1;
}

/* The sums of a film's pairs, at most three, from the GPU and from the CPU. */
static void check_sums_of(gpu *g, const char *what, const film *f, int selected, int batch) {
    enum { FRAMES = 3 };
    vmafgpu__sums got[FRAMES], expected[FRAMES];
    vmafgpu__plan plan;
    vmafgpu_config config = gpu_config(g, f);
    int ok;
    where("sums of %s %dx%d %d bits, %s", what, f->clip.width, f->clip.height, f->clip.depth, selections[selected].name);
    memset(got, 0, sizeof got);
    memset(expected, 0x55, sizeof expected);
    select_features(&config, &selections[selected]);
    config.gpu.batch = batch;
    ok = sums_of(f, &config, &plan, got);
    config.backend = VMAFGPU_BACKEND_CPU;
    ok = ok && sums_of(f, &config, &plan, expected);
    for (int k = 0; k < f->clip.frames && ok; k++) {
        check_sums(&plan, &got[k], &expected[k]);
    }
}

static void check_generated_sums(gpu *g, const char *what, int width, int height, int depth, int selected, int batch) {
    film f = film_make(what, width, height, depth, 3, 3);
    check_sums_of(g, what, &f, selected, batch);
    film_free(&f);
}

/* The largest values that there are inside: these wrapped elsewhere where a quarter of the range did not. */
void test_noise(gpu *g) {
    static const int depths[] = {8, 10, 12, 16};
    for (int width = 33; width <= 65; width++) {
        for (int i = width % 2; i < 4; i += 2) {
            film f = film_make("black", width, 33 + (width * 7 + i) % 33, depths[i], 2, 1);
            film_fill_noise(&f, width % 3 == 0, (uint32_t)width);
            check_sums_of(g, "full-range noise", &f, width % 4 == i ? DEFAULT : MANY, 1);
            film_free(&f);
        }
    }
}

void test_sums(gpu *g) {
    static const struct {
        const char *what;
        int         width, height, depth, selected;
    } cases[] = {
        {"texture+mix", 64, 48, 8, MANY},    {"blocks+stretch", 97, 61, 8, LIMITS}, {"noise+grain", 65, 49, 10, MANY},
        {"lines+invert", 50, 70, 12, MANY},  {"blocks+invert", 65, 49, 16, LIMITS}, {"texture+stretch", 58, 44, 9, CSF},
        {"black+grain", 33, 33, 8, DEFAULT}, {"ramp+coarse", 16, 16, 16, MANY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_generated_sums(g, cases[i].what, cases[i].width, cases[i].height, cases[i].depth, cases[i].selected,
                      1 + (int)(i % 2));
    }
}

/* Sizes at which the last tile of a row or column is nearly empty: of its block the last waves, or the last lanes of a
 * wave, have nothing but what is outside the frame, and must add nothing. */
void test_partial(gpu *g) {
    static const int widths[] = {VMAFGPU__VIF_TILE_WIDTH + 1, VMAFGPU__VIF_TILE_WIDTH + 8,
                                 VMAFGPU__MOTION_TILE_WIDTH + 1, VMAFGPU__MOTION_TILE_WIDTH + 6},
                     heights[] = {VMAFGPU__VIF_TILE_HEIGHT + 1, VMAFGPU__MOTION_TILE_HEIGHT + 8, 63, 127};
    for (int i = 0; i < 16; i++) {
        check_generated_sums(g, "noise+grain", widths[i % 4], heights[i / 4], i % 3 ? 8 : 10, i % 2 ? MANY : DEFAULT, 1);
    }
}
