/* Tests that need internals of the library, so this file contains the implementation. Compares the integer sums of the
 * backends, and tests the self-test, uncertain sums and kernel containers. */
#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"
#include "gpu.h"
#include "../lzma.h"

/* ---- sums of cambi ---- */

/* Fills a film with flat squares of two values, which give large contrasts, and scatters other values over them. The
 * sums of cambi become as large as possible. */
static void cover_with_squares(film *f) {
    const int depth = f->clip.depth, width = f->clip.width;
    for (int i = 0; i < 2 * f->clip.frames * f->clip.height; i++) {
        const uint32_t y = (uint32_t)(i % f->clip.height + i / f->clip.height);
        unsigned char *row = f->luma + (size_t)i * (size_t)width * (size_t)f->bytes_per_sample;
        for (int x = 0; x < width; x++) {
            const uint32_t h = clip_hash((uint32_t)x >> 2, y >> 2, 4);
            uint32_t v = 200 + ((((uint32_t)x >> 4) + (y >> 4)) & 1) * 4;
            if (h % 61 == 0)
                v = 100 + (h >> 8) % 600;
            else if (h % 97 == 0)
                v += (h >> 20) % 5;
            v = depth < 10 ? v >> (10 - depth) : v << (depth - 10);
            row[x * f->bytes_per_sample] = (unsigned char)v;
            if (f->bytes_per_sample == 2)
                row[2 * x + 1] = (unsigned char)(v >> 8);
        }
    }
}

/* Compares the sums of cambi from the GPU and the CPU, for up to eight sets of options, separated by '|'. The largest
 * sum must be at least 2^`least`, or 0 if `least` is negative. `what` is the content of the film, or NULL for
 * squares. */
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
    test_need(text && sums && frames <= FRAMES, "out of memory");
    where("cambi of %s %dx%d %d bits, '%s', batch %d", what ? what : "squares", width, height, depth, options, batch);
    if (!what)
        cover_with_squares(&f);
    strcpy(text, options);
    memset(features, 0, sizeof features);
    for (; rest && count < MOST; count++) {
        char *bar = strchr(rest, '|');
        if (bar)
            *bar++ = 0;
        features[count].name = "cambi";
        features[count].options = *rest ? rest : NULL;
        rest = bar;
    }
    config.features_only = 1;
    config.features = features;
    config.feature_count = count;
    config.gpu.batch = batch;
    for (int k = 0; k < 2; k++) {
        vmafgpu *v;
        int taken = 0;
        config.backend = k ? VMAFGPU_BACKEND_CPU : config.backend;
        v = open_checked(&config);
        if (!v)
            break;
        for (int i = 0; i < frames; i++) {
            vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
            vmafgpu_result result;
            vmafgpu__job job;
            memset(&job, 0, sizeof job);
            job.reference = &reference;
            job.distorted = &distorted;
            job.count = 1;
            while ((result = v->backend->submit(v, &job)) == VMAFGPU_AGAIN)
                CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[k * FRAMES + taken++]), VMAFGPU_OK);
            CHECK_INT(result, VMAFGPU_OK);
            if (k)
                CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[k * FRAMES + taken++]), VMAFGPU_OK);
        }
        while (taken < frames)
            CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[k * FRAMES + taken++]), VMAFGPU_OK);
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
        int width, height, depth, frames;
        const char *options;
        int batch, least;
    } cases[] = {
        /* bit depths, odd sizes, full and incomplete batches */
        { "bands+same", 320, 240, 8, 3, "", 2, 40 },
        { "bands+same", 331, 217, 9, 2, "", 1, 40 },
        { "bands+same", 257, 243, 10, 5, "", 5, 40 },
        { "dusk+same", 217, 129, 10, 3, "", 8, 36 },
        { NULL, 322, 241, 11, 1, "", 1, 40 },
        { NULL, 323, 240, 12, 2, "", 1, 40 },
        { NULL, 250, 333, 14, 1, "", 1, 40 },
        { NULL, 320, 251, 16, 2, "", 2, 40 },
        { "noise+same", 320, 240, 10, 1, "", 1, -1 },
        /* the smallest width or height */
        { NULL, 216, 48, 10, 1, "", 1, 30 },
        { NULL, 48, 216, 8, 1, "", 1, 30 },
        /* option sets: those that the models use, then sets that vary the selection of pixels, the contrasts, the
         * visibility thresholds and the sizes */
        { NULL, 320, 240, 10, 2, "cambi_high_res_speedup=1080:cambi_vis_lum_threshold=0.06:cambi_max_val=17", 2, 40 },
        { NULL, 400, 300, 10, 1, "topk=0.0001|topk=0.01|topk=0.2|topk=1", 1, 40 },
        { "bands+same", 320, 240, 10, 2, "cambi_topk=0.3|topk=0.9", 2, 40 },
        { NULL, 320, 240, 10, 1,
          "max_log_contrast=0|max_log_contrast=1|max_log_contrast=3|max_log_contrast=4|max_log_contrast=5", 1, 40 },
        { "bands+same", 320, 240, 8, 1, "cambi_eotf=pq|eotf=pq:tvi_threshold=0.05|tvi_threshold=0.005", 1, 40 },
        { "bands+same", 320, 240, 10, 1, "cambi_vis_lum_threshold=0.5:max_log_contrast=4|tvi_threshold=1", 1, 40 },
        { "bands+same", 320, 240, 10, 1, "enc_bitdepth=8|enc_bitdepth=9:topk=0.1", 1, 40 },
        { NULL, 320, 240, 8, 1, "enc_bitdepth=10|window_size=15|window_size=127|window_size=100", 1, 40 },
        { "bands+same", 400, 300, 16, 1, "enc_width=300:enc_height=250|enc_width=233:enc_height=155", 1, 40 },
        { "bands+mix", 401, 303, 8, 2, "full_ref=true:src_width=480:src_height=320", 2, 40 },
        { NULL, 401, 303, 10, 1, "full_ref=true:enc_width=301:enc_height=203:src_width=333:src_height=251:topk=0.1", 1,
          40 },
        /* sums that a double cannot represent exactly */
        { NULL, 1024, 640, 10, 1, "window_size=127:topk=1", 1, 53 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_cambi(g, cases[i].what, cases[i].width, cases[i].height, cases[i].depth, cases[i].frames,
                    cases[i].options, cases[i].batch, cases[i].least);
    }
    /* other execution orders of blocks, warps and lanes */
    for (int order = SIMULATED_REVERSED; g->is_simulated && order <= SIMULATED_SHUFFLED; order++) {
        g->sim.set_order(order, SIMULATED_LAZY, (uint64_t)order);
        check_cambi(g, NULL, 257, 203, 10, 2, "topk=0.1|max_log_contrast=3", 2, 40);
        check_cambi(g, "bands+same", 257, 203, 8, 1, "", 1, 40);
    }
}

/* ---- sums of vif, adm and motion ---- */

static void check_sums(const vmafgpu__plan *plan, const vmafgpu__sums *got, const vmafgpu__sums *expected) {
    for (int k = 0; k < 2; k++)
        if (plan->motion[k])
            CHECK_INT(got->motion[k], expected->motion[k]);
    for (int s = 0; s < VMAFGPU__SCALES; s++) {
        const vmafgpu__vif_sums *vif = &got->vif[s], *vif_expected = &expected->vif[s];
        const vmafgpu__adm_sums *adm = &got->adm[s], *adm_expected = &expected->adm[s];
        for (int k = 0; k < plan->vif_variants; k++)
            CHECK_INT(vif->numerator[k], vif_expected->numerator[k]);
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
            if (plan->adm_variants)
                CHECK_INT(adm->denominator[band], adm_expected->denominator[band]);
        }
    }
}

/* Computes the sums of each pair of a film with one backend. Returns 0 on failure. */
static int sums_of(const film *f, const vmafgpu_config *config, vmafgpu__plan *plan, vmafgpu__sums *sums) {
    vmafgpu *v = open_checked(config);
    if (!v)
        return 0;
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

/* Compares the sums of the GPU and the CPU for a film of at most three pairs. */
static void check_sums_of(gpu *g, const char *what, const film *f, int selected, int batch) {
    enum { FRAMES = 3 };
    vmafgpu__sums got[FRAMES], expected[FRAMES];
    vmafgpu__plan plan;
    vmafgpu_config config = gpu_config(g, f);
    int ok;
    where("sums of %s %dx%d %d bits, %s", what, f->clip.width, f->clip.height, f->clip.depth,
          selections[selected].name);
    memset(got, 0, sizeof got);
    memset(expected, 0x55, sizeof expected);
    select_features(&config, &selections[selected]);
    config.gpu.batch = batch;
    ok = sums_of(f, &config, &plan, got);
    config.backend = VMAFGPU_BACKEND_CPU;
    ok = ok && sums_of(f, &config, &plan, expected);
    for (int k = 0; k < f->clip.frames && ok; k++)
        check_sums(&plan, &got[k], &expected[k]);
}

static void check_generated_sums(gpu *g, const char *what, int width, int height, int depth, int selected, int batch) {
    film f = film_make(what, width, height, depth, 3, 3);
    check_sums_of(g, what, &f, selected, batch);
    film_free(&f);
}

/* Noise over the full range of values, which gives the largest intermediate values. */
void test_noise(gpu *g) {
    static const int depths[] = { 8, 10, 12, 16 };
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
        int width, height, depth, selected;
    } cases[] = {
        { "texture+mix", 64, 48, 8, MANY },      { "blocks+stretch", 97, 61, 8, LIMITS },
        { "noise+grain", 65, 49, 10, MANY },     { "lines+invert", 50, 70, 12, MANY },
        { "blocks+invert", 65, 49, 16, LIMITS }, { "texture+stretch", 58, 44, 9, CSF },
        { "black+grain", 33, 33, 8, DEFAULT },   { "ramp+coarse", 16, 16, 16, MANY },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_generated_sums(g, cases[i].what, cases[i].width, cases[i].height, cases[i].depth, cases[i].selected,
                             1 + (int)(i % 2));
    }
}

/* Tests sizes for which the last tile of a row or column is nearly empty. Warps and lanes that are completely outside
 * the frame must add nothing to the sums. */
void test_partial(gpu *g) {
    static const int widths[] = { VMAFGPU__VIF_TILE_WIDTH + 1, VMAFGPU__VIF_TILE_WIDTH + 8,
                                  VMAFGPU__MOTION_TILE_WIDTH + 1, VMAFGPU__MOTION_TILE_WIDTH + 6 },
                     heights[] = { VMAFGPU__VIF_TILE_HEIGHT + 1, VMAFGPU__MOTION_TILE_HEIGHT + 8, 63, 127 };
    for (int i = 0; i < 16; i++) {
        check_generated_sums(g, "noise+grain", widths[i % 4], heights[i / 4], i % 3 ? 8 : 10, i % 2 ? MANY : DEFAULT,
                             1);
    }
}

/* ---- the self-test at open ---- */

typedef struct tested {
    int width, height, depth;
    vmafgpu_layout layout;
    int arithmetic;
    const char *features;              /* "name options|name options" */
    int max_edit_size, map_block_size; /* if the second is not 0, the default model is used too */
    int slopes;                        /* the same; 2: of live pairs */
} tested;

static vmafgpu_config tested_config(const gpu *g, const film *f, const tested *t, char *text,
                                    vmafgpu_feature_config *features) {
    vmafgpu_config config = gpu_config(g, f);
    int count = 0;
    strcpy(text, t->features);
    for (char *rest = text; rest;) {
        char *bar = strchr(rest, '|'), *blank = strchr(rest, ' ');
        if (bar)
            *bar++ = 0;
        features[count].name = rest;
        features[count].options = NULL;
        if (blank && (!bar || blank < bar)) {
            *blank = 0;
            features[count].options = blank + 1;
        }
        count++;
        rest = bar;
    }
    config.layout = t->layout;
    config.gpu.batch = config.gpu.queue_depth = 1;
    config.gpu.skip_self_test = 0;
    if (t->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH)
        config.bytes_per_sample = 2;
    config.gpu.vif_arithmetic = t->arithmetic;
    config.features_only = !t->map_block_size && !t->slopes;
    config.max_edit_size = t->max_edit_size;
    config.live = t->map_block_size != 0 || t->slopes == 2;
    config.slopes = t->slopes != 0;
    config.map_block_size = t->map_block_size;
    config.features = features;
    config.feature_count = count;
    return config;
}

/* Whether the self-test can detect that a kernel computes wrong values. The exceptions are the check for illegal
 * samples, because the picture contains none; cambi_order, which matters only for sums >= 2^53; import, if luma is not
 * used; variants of speed_low that are not used; edit_patch, because nothing is committed. */
static int is_detectable(const char *kernel, const tested *t) {
    const int is_speed = !strncmp(t->features, "speed", 5);
    const char *low = !strstr(t->features, "prescale") ? "vmafgpu_speed_low_" : "vmafgpu_speed_low_scaled";
    return strcmp(kernel, "vmafgpu_interface_2") && strncmp(kernel, "vmafgpu_speed_check", 19) &&
           strcmp(kernel, "vmafgpu_cambi_order") && strcmp(kernel, "vmafgpu_edit_patch") &&
           !(is_speed && !strcmp(kernel, "vmafgpu_import")) &&
           (strncmp(kernel, "vmafgpu_speed_low", 17) ||
            (!strncmp(kernel, low, strlen(low)) && (!strcmp(kernel, low) || !strstr(kernel, "scaled"))));
}

/* Makes each kernel of a context compute wrong values, one kernel at a time. vmafgpu_open() must report this. */
static void check_planted(gpu *g, const tested *t) {
    film f = film_make("texture+mix", t->width, t->height, t->depth, 1, 7);
    vmafgpu_feature_config features[8];
    char text[400];
    vmafgpu_config config = tested_config(g, &f, t, text, features);
    vmafgpu__wanted list[VMAFGPU__MAX_WANTED];
    vmafgpu *v, *other = NULL;
    int count;
    where("self-test of '%s', %d bits, layout %d, arithmetic %d", t->features, t->depth, t->layout, t->arithmetic);
    v = open_checked(&config);
    if (!v) {
        film_free(&f);
        return;
    }
    CHECK(vmafgpu_self_test_checksum(v) != 0);
    CHECK_HAS(vmafgpu_driver_name(v), g->is_hip ? "HIP " : "CUDA ");
    count = vmafgpu__list_kernels(v, v->gpu->context.form, list);
    for (int i = 0; i < count && g->is_simulated; i++) {
        const char *name = list[i].name;
        vmafgpu_config planted = config;
        if (!is_detectable(name, t))
            continue;
        where("self-test with a wrong %s, %d bits, layout %d, arithmetic %d", name, t->depth, t->layout, t->arithmetic);
        g->sim.plant(name);
        CHECK_INT(vmafgpu_open(&other, &planted), VMAFGPU_ERROR_BACKEND);
        CHECK_HAS(vmafgpu_last_error(other), "self-test: kernel vmafgpu_");
        CHECK_HAS(vmafgpu_last_error(other), " computes wrong values on simulated GPU 0");
        vmafgpu_close(other);
        g->sim.plant(NULL);
    }
    vmafgpu_close(v);
    film_free(&f);
}

void test_self_test(gpu *g) {
    static const tested cases[] = {
        { 48, 40, 8, VMAFGPU_LAYOUT_PLANAR, 1,
          "vif vif_enhn_gain_limit=1|adm adm_enhn_gain_limit=1|motion motion_five_frame_window=true", 0, 0, 0 },
        { 48, 40, 10, VMAFGPU_LAYOUT_PLANAR, 2, "vif|adm adm_enhn_gain_limit=1.2|motion", 0, 0, 0 },
        { 64, 48, 16, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 1, "vif vif_skip_scale0=true|adm|motion", 0, 0, 0 },
        { 1920, 1080, 8, VMAFGPU_LAYOUT_PLANAR, 1, "cambi|cambi max_log_contrast=3", 0, 0, 0 },
        { 1920, 1080, 10, VMAFGPU_LAYOUT_PLANAR, 1, "cambi full_ref=true:window_size=127", 0, 0, 0 },
        { 400, 320, 8, VMAFGPU_LAYOUT_PLANAR, 1, "speed_chroma", 0, 0, 0 },
        { 400, 320, 10, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 1, "speed_chroma", 0, 0, 0 },
        { 800, 640, 8, VMAFGPU_LAYOUT_SEMIPLANAR, 1, "speed_chroma speed_prescale=0.5", 0, 0, 0 },
        { 48, 40, 8, VMAFGPU_LAYOUT_PLANAR, 1, "psnr", 0, 0, 0 },
        { 48, 40, 10, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 1, "float_psnr|float_moment", 0, 0, 0 },
        { 96, 96, 8, VMAFGPU_LAYOUT_PLANAR, 1, "float_vif vif_kernelscale=1.5", 0, 0, 0 },
        { 48, 40, 10, VMAFGPU_LAYOUT_PLANAR, 1, "float_vif|float_motion|float_adm|float_adm adm_p_norm=2.5|float_ansnr",
          0, 0, 0 },
        { 64, 48, 8, VMAFGPU_LAYOUT_PLANAR, 1, "float_ssim enable_lcs=true:scale=2", 0, 0, 0 },
        { 180, 176, 10, VMAFGPU_LAYOUT_PLANAR, 1, "float_ms_ssim", 0, 0, 0 },
        { 48, 40, 8, VMAFGPU_LAYOUT_PLANAR, 1, "psnr_hvs", 0, 0, 0 },
        { 48, 40, 8, VMAFGPU_LAYOUT_SEMIPLANAR, 1, "ciede", 0, 0, 0 },
        { 64, 48, 8, VMAFGPU_LAYOUT_PLANAR, 1, "vif", 16, 16, 0 },
        { 48, 96, 16, VMAFGPU_LAYOUT_PLANAR, 1, "vif", 64, 64, 0 },
        { 64, 48, 8, VMAFGPU_LAYOUT_PLANAR, 1, "vif", 0, 16, 0 },
        { 64, 48, 10, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 1, "vif", 16, 16, 0 },
        { 64, 48, 8, VMAFGPU_LAYOUT_PLANAR, 1, "vif", 16, 0, 1 },
        { 64, 48, 10, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 1, "vif", 0, 0, 2 },
        { 64, 48, 8, VMAFGPU_LAYOUT_PLANAR, 1, "vif", 16, 16, 2 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_planted(g, &cases[i]);
    {
        /* with AUTO, the CPU is used; with skip_self_test, the faulty kernel is not detected */
        film f = film_make("texture+mix", 48, 40, 8, 2, 7);
        vmafgpu_config config = gpu_config(g, &f);
        scores expected = cpu_score(&f, &config), got;
        vmafgpu *v = NULL;
        where("self-test and AUTO");
        if (g->is_simulated) {
            g->sim.plant("vmafgpu_adm_rows");
            config.backend = VMAFGPU_BACKEND_AUTO;
            config.gpu.skip_self_test = 0;
            CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK);
            CHECK_STR(vmafgpu_backend_name(v), "cpu");
            CHECK_HAS(vmafgpu_backend_note(v), "self-test: kernel vmafgpu_adm_");
            CHECK_INT(vmafgpu_self_test_checksum(v), 0);
            vmafgpu_close(v);
            got = film_score(&f, &config);
            check_same_scores(&got, &expected);
            scores_free(&got);
        }
        config = gpu_config(g, &f);
        config.gpu.skip_self_test = 1;
        v = open_checked(&config);
        CHECK_INT(vmafgpu_self_test_checksum(v), 0);
        vmafgpu_close(v);
        if (g->is_simulated)
            g->sim.plant(NULL);
        scores_free(&expected);
        film_free(&f);
    }
}

/* ---- uncertain sums and pixels ---- */

/* Treats all sums as uncertain in the first pass. Sums that are still uncertain after a second pass are recomputed in
 * the order of libvmaf. `left` is the number of sums that the second pass must leave uncertain: all, which the
 * test enforces (IN_ORDER), none (DECIDED), or any number (ANY). */
enum { ANY = -1, DECIDED, IN_ORDER };
static void check_in_order(gpu *g, int left, const char *what, int width, int height, int depth, const char *feature,
                           const char *options) {
    film f = film_make(what, width, height, depth, 2, 3);
    vmafgpu_feature_config features[1];
    vmafgpu_config config = gpu_config(g, &f);
    scores expected;
    vmafgpu *context;
    features[0].name = feature;
    features[0].options = options;
    config.features = features;
    config.feature_count = config.features_only = 1;
    config.gpu.batch = 2;
    where("%s in order (%d), %s %dx%d %d bits", feature, left, what, width, height, depth);
    expected = cpu_score(&f, &config);
    context = open_checked(&config);
    if (context) {
        const vmafgpu__value *words;
        context->gpu->context.uncertain = ~(uint32_t)0;
        context->gpu->context.still_uncertain = left == IN_ORDER ? ~(uint32_t)0 : 0;
        for (int i = 0; i < f.clip.frames; i++)
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        check_context(g, context, &expected);
        words = (const vmafgpu__value *)(const void *)(context->gpu->slots[0].results + context->gpu->words_at);
        if (left != ANY)
            CHECK((words[context->gpu->word_count - 1].whole != 0) == (left == IN_ORDER));
        CHECK(!strstr(feature, "ssim") ||
              words[context->gpu->word_count - 1].whole == words[context->gpu->word_count - 2].whole);
        vmafgpu_close(context);
    }
    scores_free(&expected);
    film_free(&f);
}

/* Adds squares of 16-bit samples until their sum exceeds the exact range of a double, and then small odd squares, so
 * that these additions are rounded. */
static void check_rounded_squares(gpu *g) {
    enum { COUNT = 2404 * 2101 };
    film f = film_make("noise+invert", 2404, 2101, 16, 1, 3);
    vmafgpu_feature_config features[2] = { { "float_moment", NULL }, { "float_psnr", NULL } };
    vmafgpu_config config = gpu_config(g, &f);
    scores expected;
    vmafgpu *context;
    config.features = features;
    config.feature_count = 2;
    config.features_only = 1;
    where("rounded squares");
    for (int side = 0; side < 2; side++) {
        uint16_t *samples = (uint16_t *)(void *)(f.luma + (size_t)side * f.plane_bytes);
        for (int n = 0; n < COUNT; n++)
            samples[n] = (uint16_t)(n < COUNT / 4 * 3 ? side ? 0 : 65535 : side ? n % 2 : 1 + n % 5);
    }
    expected = cpu_score(&f, &config);
    context = open_checked(&config);
    if (context) {
        CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        check_context(g, context, &expected);
        vmafgpu_close(context);
    }
    scores_free(&expected);
    film_free(&f);
}

/* Tests uncertain pixels of ciede: either a few, or more than the list can hold. */
static void check_colours(gpu *g, int all_over) {
    static const unsigned char colours[][6] = { /* luma of both frames, Cb, Cr */
                                                { 145, 152, 38, 34, 70, 77 },     { 72, 68, 62, 54, 81, 80 },
                                                { 168, 171, 203, 202, 180, 175 }, { 77, 83, 101, 96, 64, 70 },
                                                { 46, 51, 149, 142, 192, 187 },   { 193, 200, 183, 189, 109, 101 },
                                                { 180, 182, 38, 38, 162, 169 }
    };
    const int count = (int)(sizeof colours / sizeof colours[0]);
    film f = film_make_colour("texture+mix", 80, 60, 8, 444, 1, 3);
    vmafgpu_feature_config features[1] = { { "ciede", NULL } };
    vmafgpu_config config = gpu_config(g, &f);
    scores expected;
    vmafgpu *context;
    config.features = features;
    config.feature_count = config.features_only = 1;
    config.gpu.batch = 2;
    where("uncertain colours%s", all_over ? " in every pixel" : "");
    for (int i = 0; i < 2; i++) {
        const vmafgpu_frame frame = film_frame(&f, 0, i ? CLIP_DISTORTED : CLIP_REFERENCE);
        for (int n = 0; n < 80 * 60; n++) {
            for (int k = 0; k < 3 && (all_over || n % 7 == 0); k++) {
                unsigned char *plane = (unsigned char *)(uintptr_t)frame.data[k];
                plane[n] = colours[n / 7 % count][2 * k + i];
            }
        }
    }
    expected = cpu_score(&f, &config);
    context = open_checked(&config);
    if (context) {
        const vmafgpu__value *words =
            (const vmafgpu__value *)(const void *)(context->gpu->slots[0].results + context->gpu->words_at);
        CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        check_context(g, context, &expected);
        if (all_over) {
            CHECK_INT((int)words[VMAFGPU__CIEDE_COUNT].whole, 0);
            CHECK_INT((int)words[VMAFGPU__CIEDE_KNOWN].whole, count);
        } else {
            CHECK((int)words[VMAFGPU__CIEDE_COUNT].whole >= 80 * 60 / 7);
            CHECK_INT((int)words[VMAFGPU__CIEDE_KNOWN].whole, 0);
        }
        vmafgpu_close(context);
    }
    scores_free(&expected);
    film_free(&f);
}

void test_uncertain(gpu *g) {
    check_in_order(g, IN_ORDER, "texture+mix", 83, 61, 8, "float_ssim", "enable_lcs=true");
    check_in_order(g, IN_ORDER, "noise+invert", 97, 64, 10, "float_ssim", "enable_lcs=true");
    check_in_order(g, IN_ORDER, "blocks+stretch", 190, 177, 8, "float_ms_ssim", "enable_lcs=true");
    check_in_order(g, IN_ORDER, "flat+faint", 64, 48, 16, "float_ssim", "scale=2");
    check_in_order(g, IN_ORDER, "noise+mix", 640, 470, 8, "float_ssim", "scale=1"); /* the picture has several strips */
    check_in_order(g, DECIDED, "noise+mix", 640, 470, 8, "float_ssim", "enable_lcs=true:scale=1");
    check_in_order(g, ANY, "blocks+stretch", 190, 177, 10, "float_ms_ssim", "enable_lcs=true");
    check_in_order(g, IN_ORDER, "noise+invert", 97, 64, 16, "float_moment", NULL);
    check_in_order(g, IN_ORDER, "noise+invert", 640, 470, 16, "float_psnr", NULL);
    check_rounded_squares(g);
    check_colours(g, 0);
    check_colours(g, 1);
}

/* ---- containers: the choice of kernels ---- */

static void put_blob(unsigned char *container, size_t *at, int i, const char *target, const void *data, size_t size) {
    unsigned char *entry = container + VMAFGPU__CONTAINER_HEAD + 32 * i, *stream = container + *at;
    const size_t packed = lzma_literals(data, size, stream);
    const uint32_t numbers[4] = { (uint32_t)packed, vmafgpu__crc32(stream, packed), 0, (uint32_t)size };
    memset(entry, 0, 32);
    memcpy(entry, target, strlen(target));
    memcpy(entry + 16, numbers, sizeof numbers);
    *at += packed;
}

/* Writes kernels for the simulated GPU: text for CUDA, or the header of a code object for HIP. If is_good is 0, the
 * driver rejects them. Returns their size. */
static size_t sim_kernels(const gpu *g, int is_good, char *out) {
    static const unsigned char elf[20] = { 0x7f, 'E', 'L', 'F', 2, 1, 1, 64, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 224, 0 };
    memset(out, 0, 128);
    if (!g->is_hip) {
        sprintf(out, ".version %s\n.target sm_%d\n// end of vmafgpu kernels\n", is_good ? "8.0" : "9.9",
                g->sim.lanes() == 32 ? 80 : 75);
        return strlen(out);
    }
    memcpy(out, elf, sizeof elf);
    out[20] = 1;
    out[48] = (char)(!is_good ? 0x36 : g->sim.lanes() == 32 ? 0x41 : 0x4c);
    out[52] = 64;
    return 64;
}

/* Tests PTX that contains only the kernels of one context, as the driver gets it. A GPU with slow doubles has other
 * kernels, and a context without VIF has no kernel that shows the form of the others. */
static void check_few_kernels(gpu *g) {
    static const int selected[] = { DEFAULT, ADM, VIF, MOTION, WINDOWS, CSF };
    static const int ratios[] = { 2, 64 }, targets[] = { 75, 80 };
    for (int i = 0; i < 4 * (int)(sizeof selected / sizeof *selected); i++) {
        const int target = targets[i & 1], ratio = ratios[i >> 1 & 1];
        vmafgpu__wanted list[VMAFGPU__MAX_WANTED];
        film f = small_film(selected[i >> 2], 40, 36, 8 + 2 * (i & 1), 2, 97);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, "h");
        scores expected, got;
        vmafgpu *context = NULL;
        char *text = (char *)malloc(100 * (size_t)VMAFGPU__MAX_WANTED);
        int count = 0;
        test_need(text != NULL, "out of memory");
        where("PTX with few kernels, selection %d, target %d, ratio %d", selected[i >> 2], target, ratio);
        g->sim.set(SIMULATED_DOUBLE_RATIO, ratio);
        select_features(&config, &selections[selected[i >> 2]]);
        expected = cpu_score(&f, &config);
        config.gpu.kernels = text;
        config.gpu.kernels_path = NULL;
        for (int way = target == 80 && g->sim.lanes() != 32 ? 2 : 0; way < 2; way++) { /* way 0: all kernels */
            size_t length = (size_t)sprintf(text, ".version 8.0\n.target sm_%d\n", target);
            for (int k = 0; way && k < count; k++)
                length += (size_t)sprintf(text + length, ".visible .entry %s()\n{\n ret;\n}\n", list[k].name);
            length += (size_t)sprintf(text + length, "// end of vmafgpu kernels\n");
            config.gpu.kernels_size = length;
            context = open_checked(&config);
            if (!context)
                break;
            count = vmafgpu__list_kernels(context, context->gpu->context.form, list);
            for (int k = 0; k < f.clip.frames; k++)
                CHECK_INT(reel_push(&r, context, k), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            got = scores_of(context);
            check_same_scores(&got, &expected);
            scores_free(&got);
            vmafgpu_close(context);
        }
        g->sim.set(SIMULATED_DOUBLE_RATIO, 2);
        free(text);
        scores_free(&expected);
        reel_free(g, &r);
        film_free(&f);
    }
}

void test_containers(gpu *g) {
    static const struct {
        const char *name;
        const char *good, *bad; /* each lists targets in the order of the container; '*' is the target of the device */
        const char *words;      /* part of the message, or NULL if the device can be used */
    } cases[] = {
        { "target of the device only", "*", "", NULL },
        { "target of the device among others", "*", "sm_70 sm_75 sm_90 sm_120 gfx900 gfx1201 ptx_75", NULL },
        { "rejected machine code, and PTX", "ptx_75", "*", NULL },
        { "PTX for newer devices", "ptx_121", "", "its targets are ptx_121" },
        { "targets of other devices", "sm_90 gfx900", "", "has no kernels for this device (" },
        { "no targets", "", "", "its targets are none" },
        { "kernels that the driver rejects", "", "*", " of config.gpu.kernels: driver rejects the kernels (" },
        { "invalid targets", "sm_ sm ptx_ ptx gfx sm_-8 sm_99999999999", "", "has no kernels for this device" },
    };
    film f;
    vmafgpu_config config;
    scores expected;
    if (!g->is_simulated) {
        test_skip("containers: the driver is not a simulated one");
        return;
    }
    f = film_make("texture+mix", 40, 36, 8, 2, 95);
    config = gpu_config(g, &f);
    expected = cpu_score(&f, &config);
    config.gpu.kernels_path = NULL;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        static unsigned char container[8192];
        const char *own = g->is_hip              ? (g->sim.lanes() == 32 ? "gfx1100" : "gfx942")
                          : g->sim.lanes() == 32 ? "sm_80"
                                                 : "sm_75";
        const char *const lists[2] = { cases[c].good, cases[c].bad };
        size_t at = 24;
        int count = 0;
        vmafgpu *v = NULL;
        where("container: %s", cases[c].name);
        if (g->is_hip && strstr(cases[c].name, "PTX"))
            continue;
        for (int pass = 0; pass < 2; pass++) { /* the first pass counts the entries */
            int i = 0;
            for (int k = 0; k < 2; k++) {
                char words[128], image[128];
                const size_t size = sim_kernels(g, k == 0, image);
                strcpy(words, lists[k]);
                for (char *word = strtok(words, " "); word; word = strtok(NULL, " "), i++)
                    if (pass)
                        put_blob(container, &at, i, *word == '*' ? own : word, image, size);
            }
            count = i;
            at = pass ? at : (size_t)(VMAFGPU__CONTAINER_HEAD + 32 * count);
        }
        config.gpu.kernels = container;
        config.gpu.kernels_size = at;
        /* a container for another version of vmafgpu.h */
        container_seal(container, count, VMAFGPU__KERNEL_INTERFACE ^ 1);
        CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_ERROR_BACKEND);
        CHECK_HAS(vmafgpu_last_error(v), "config.gpu.kernels: belongs to another version of vmafgpu.h");
        vmafgpu_close(v);
        container_seal(container, count, VMAFGPU__KERNEL_INTERFACE);
        CHECK_INT(vmafgpu_open(&v, &config), cases[c].words ? VMAFGPU_ERROR_BACKEND : VMAFGPU_OK);
        if (cases[c].words) {
            CHECK_HAS(vmafgpu_last_error(v), cases[c].words);
            CHECK_HAS(vmafgpu_last_error(v), "config.gpu.kernels");
        } else {
            scores got = film_score(&f, &config);
            check_same_scores(&got, &expected);
            scores_free(&got);
        }
        vmafgpu_close(v);
        /* flipped bits and truncated containers */
        for (size_t n = 16; !cases[c].words && n < at && count == 1; n += 7) {
            v = NULL;
            container[n] ^= 8;
            CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_ERROR_BACKEND);
            CHECK_HAS(vmafgpu_last_error(v), "damaged");
            container[n] ^= 8;
            vmafgpu_close(v);
            config.gpu.kernels_size = n;
            CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_ERROR_BACKEND);
            CHECK_HAS(vmafgpu_last_error(v), "config.gpu.kernels: is truncated or damaged");
            config.gpu.kernels_size = at;
            vmafgpu_close(v);
        }
    }
    scores_free(&expected);
    film_free(&f);
    if (!g->is_hip)
        check_few_kernels(g);
}
