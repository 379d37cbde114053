/* Compares the values of standalone features (psnr, ciede, float_* and others) on the GPU with those on the CPU, bit
 * for bit. Tests every layout, kind of memory and order of calls. */
#include "gpu.h"

enum { MOST_FEATURES = 14 };

typedef struct standalone_case {
    const char *what;
    int width, height, depth, chroma, frames;
    storage how;
    int batch, subsample;
    const char *features; /* "name options|name options" */
} standalone_case;

/* Splits a list of features in place. Returns the number of features. */
static int list_features(char *text, vmafgpu_feature_config *features) {
    int count = 0;
    memset(features, 0, MOST_FEATURES * sizeof *features);
    for (char *rest = text, *bar; rest; rest = bar) {
        char *blank = strchr(rest, ' ');
        bar = strchr(rest, '|');
        if (bar)
            *bar++ = 0;
        test_need(count < MOST_FEATURES, "too many features");
        features[count].name = rest;
        if (blank && (!bar || blank < bar)) {
            *blank = 0;
            features[count].options = blank + 1;
        }
        count++;
    }
    return count;
}

static vmafgpu_config standalone_config(const gpu *g, const film *f, const standalone_case *m, char *text,
                                        vmafgpu_feature_config *features) {
    vmafgpu_config config = gpu_config(g, f);
    strcpy(text, m->features);
    config.features_only = 1;
    config.features = features;
    config.feature_count = list_features(text, features);
    config.bytes_per_sample = m->how.bytes_per_sample;
    config.layout = m->how.shift         ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH
                    : m->how.interleaved ? VMAFGPU_LAYOUT_SEMIPLANAR
                                         : VMAFGPU_LAYOUT_PLANAR;
    config.subsample = m->subsample;
    config.gpu.batch = m->batch;
    return config;
}

static film standalone_film(const standalone_case *m) {
    return film_make_colour(m->what, m->width, m->height, m->depth, m->chroma, m->frames, 11);
}

/* Compares the scores of a clip, and then of single pairs, with those from the CPU. */
static void check_standalone(gpu *g, const standalone_case *m) {
    film f = standalone_film(m);
    char text[640];
    vmafgpu_feature_config features[MOST_FEATURES];
    vmafgpu_config config = standalone_config(g, &f, m, text, features), plain = film_config(&f);
    reel r = reel_make(g, &f, &m->how);
    vmafgpu *context, *cpu;
    scores expected;
    where("%s, %s %dx%d %d bits %d, '%s' shift %d pitch %d", m->features, m->what, m->width, m->height, m->depth,
          m->chroma, m->how.kinds, m->how.shift, (int)m->how.pitch);
    expected = cpu_score(&f, &config);
    plain.backend = VMAFGPU_BACKEND_CPU;
    plain.features_only = 1;
    plain.features = config.features;
    plain.feature_count = config.feature_count;
    context = open_checked(&config);
    cpu = open_checked(&plain);
    if (context && cpu) {
        reel_finish(&r, context, 0);
        check_context(g, context, &expected);
        for (int i = 0; i < f.clip.frames; i++) {
            const vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1),
                                before = film_frame(&f, 0, 0);
            vmafgpu_score a, b;
            if (CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, i, 0), reel_frame(&r, i, 1),
                                             i ? reel_frame(&r, 0, 0) : NULL, &a),
                          VMAFGPU_OK) &&
                CHECK_INT(vmafgpu_score_pair(cpu, &reference, &distorted, i ? &before : NULL, &b), VMAFGPU_OK)) {
                check_row(a.values, b.values, expected.columns);
            }
        }
        check_on_gpu(g, context);
    }
    vmafgpu_close(context);
    vmafgpu_close(cpu);
    reel_free(g, &r);
    scores_free(&expected);
    film_free(&f);
}

#define SUMS   "psnr enable_mse=true|float_psnr|float_moment"
#define SSIMS  "float_ssim enable_lcs=true"
#define FLOATS "float_vif debug=true|float_motion debug=true|float_adm debug=true|float_ansnr"

#define UV "float_motion motion_add_uv=true|float_motion motion_add_uv=true:motion_filter_size=3"
#define MOVING \
    "float_motion motion_add_scale1=true|float_motion motion_add_uv=true|float_motion " \
    "motion_add_scale1=true:motion_filter_size=1"
#define TEMPORAL \
    "speed_temporal|speed_temporal " \
    "speed_prescale=0.5:speed_prescale_method=bilinear:speed_use_ref_diff=true:speed_sigma_nn=0.19|" \
    "speed_temporal speed_kernelscale=0.5:speed_prescale=0.75:speed_prescale_method=lanczos4:speed_nn_floor=0.1"

void test_standalone(gpu *g) {
    /* clang-format off */
    static const standalone_case cases[] = {
        {"texture+mix", 64, 48, 8, 420, 5, {"h", 0, 0, 0, 0, 0}, 2, 0, SUMS},
        {"noise+invert", 97, 51, 8, 420, 3, {"d", 0, 0, 0, 0, 0}, 2, 0, SUMS},
        {"noise+invert", 161, 37, 16, 444, 2, {"d", 0, 0, 0, 0, 0}, 2, 0, SUMS},
        {"blocks+invert", 51, 35, 12, 422, 3, {"p", 0, 0, 0, 0, 0}, 0, 0, SUMS},
        {"texture+mix", 48, 40, 10, 420, 5, {"hpd", 0, 6, 0, 0, 0}, 2, 2, SUMS},
        {"texture+mix", 83, 42, 8, 444, 3, {"d", 0, 0, -91, 3, 1}, 2, 0, SUMS},
        {"texture+mix", 64, 40, 8, 420, 3, {"d", 2, 8, 0, 0, 0}, 2, 0, SUMS},
        {"texture+mix", 66, 41, 10, 420, 3, {"p", 0, 0, 0, 0, 1}, 3, 0, "psnr reduced_hbd_peak=true:min_sse=0.5"},
        {"texture+mix", 64, 40, 10, 420, 3, {"d", 0, 0, 160, 0, 0}, 3, 0, "psnr enable_chroma=false:enable_apsnr=true"},
        {"texture+mix", 64, 48, 8, 420, 3, {"h", 0, 0, 0, 0, 0}, 2, 0, FLOATS},
        {"noise+mix", 259, 37, 8, 420, 2, {"d", 0, 0, 0, 0, 0}, 2, 0, FLOATS},
        {"blocks+stretch", 75, 131, 10, 420, 3, {"d", 0, 0, 0, 0, 0}, 0, 0, FLOATS},
        {"noise+stretch", 51, 45, 16, 420, 2, {"p", 0, 0, 0, 0, 0}, 1, 0, FLOATS},
        {"flat+faint", 40, 36, 12, 420, 2, {"h", 0, 4, 0, 0, 0}, 2, 0, FLOATS},
        {"texture+same", 17, 17, 8, 420, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, FLOATS},
        {"texture+stretch", 90, 60, 8, 420, 2, {"d", 0, 0, 0, 0, 0}, 2, 0,
         "float_vif vif_enhn_gain_limit=1:vif_kernelscale=1.5|float_vif vif_skip_scale0=true:vif_kernelscale=0.5|"
         "float_vif vif_sigma_nsq=0|float_vif vif_sigma_nsq=0.7:vif_kernelscale=2|float_vif vif_kernelscale=0.6667|"
         "float_motion motion_filter_size=3|float_motion motion_filter_size=1|float_motion motion_force_zero=true"},
        {"texture+stretch", 90, 61, 8, 420, 2, {"d", 0, 0, 0, 0, 0}, 2, 0,
         "float_adm adm_p_norm=2.5|float_adm adm_bypass_cm=1:adm_enhn_gain_limit=1|float_adm adm_enhn_gain_limit=99.9|"
         "float_adm adm_csf_mode=1:adm_skip_aim_scale=1|float_adm adm_csf_mode=2:adm_noise_weight=0|"
         "float_adm adm_skip_scale0=true:adm_adm3_apply_hm=true|float_adm adm_p_norm=20:adm_f1s0=5:adm_f2s3=9"},
        {"texture+mix", 83, 61, 8, 420, 3, {"h", 0, 0, 0, 0, 0}, 2, 0, SSIMS},
        {"noise+invert", 64, 70, 10, 420, 2, {"d", 0, 6, 0, 0, 0}, 2, 0, SSIMS},
        {"texture+stretch", 64, 48, 8, 420, 5, {"h", 0, 0, 0, 0, 0}, 2, 2, SSIMS},
        {"blocks+same", 65, 40, 16, 420, 2, {"p", 0, 0, 0, 0, 0}, 1, 0, SSIMS},
        {"texture+mix", 179, 176, 8, 420, 2, {"d", 0, 0, 0, 0, 0}, 2, 0,
         "float_ms_ssim enable_lcs=true|float_ssim enable_lcs=true:scale=3"},
        {"blocks+stretch", 202, 201, 12, 420, 1, {"d", 0, 0, 0, 0, 0}, 2, 0,
         "float_ms_ssim enable_db=true:clip_db=true"},
        {"texture+mix", 83, 61, 8, 420, 3, {"h", 0, 0, 0, 0, 0}, 2, 0, "psnr_hvs"},
        {"noise+invert", 130, 41, 8, 444, 2, {"d", 0, 0, -139, 3, 1}, 2, 0, "psnr_hvs"},
        {"blocks+stretch", 64, 70, 10, 420, 3, {"d", 0, 6, 0, 0, 0}, 3, 2, "psnr_hvs"},
        {"texture+mix", 75, 40, 12, 422, 2, {"p", 0, 0, 0, 0, 0}, 2, 0, "psnr_hvs"},
        {"noise+grain", 20, 16, 8, 420, 2, {"d", 2, 0, 0, 0, 0}, 2, 0, "psnr_hvs"},
        {"texture+mix", 83, 61, 8, 420, 3, {"h", 0, 0, 0, 0, 0}, 2, 0, "ciede"},
        {"noise+invert", 129, 40, 8, 420, 2, {"d", 0, 0, -171, 3, 1}, 2, 0, "ciede"},
        {"blocks+stretch", 66, 47, 10, 422, 3, {"d", 0, 0, 0, 0, 0}, 3, 2, "ciede|psnr_hvs"},
        {"texture+mix", 75, 40, 12, 444, 2, {"p", 0, 0, 0, 0, 0}, 2, 0, "ciede"},
        {"noise+grain", 64, 130, 16, 420, 2, {"h", 0, 0, 0, 0, 0}, 2, 0, "ciede"},
        {"noise+mix", 66, 33, 10, 420, 2, {"d", 2, 6, 0, 0, 0}, 2, 0, "ciede"},
        {"noise+same", 64, 48, 8, 420, 2, {"d", 2, 0, 0, 0, 0}, 2, 0, "ciede"},
        {"texture+mix", 132, 130, 8, 420, 1, {"d", 0, 0, 0, 0, 0}, 1, 0, "float_vif vif_kernelscale=3.711340206185567"},
        {"texture+mix", 90, 61, 8, 420, 2, {"d", 0, 0, 0, 0, 0}, 2, 0,
         "float_vif vif_prescale=0.5:vif_prescale_method=bicubic|float_vif vif_prescale=0.7:"
          "vif_prescale_method=lanczos4|"
         "float_vif vif_prescale=1.25:vif_prescale_method=bilinear:vif_skip_scale0=true|float_vif vif_prescale=0.6|"
          "float_vif"},
        {"noise+invert", 47, 40, 12, 420, 2, {"h", 0, 4, 0, 0, 0}, 2, 0,
         "float_vif vif_prescale=1.5:vif_prescale_method=bilinear"},
        {"texture+mix", 91, 60, 8, 420, 5, {"h", 0, 0, 0, 0, 0}, 2, 0, MOVING},
        {"noise+grain", 300, 41, 8, 422, 4, {"d", 0, 0, -331, 3, 1}, 3, 0, UV},
        {"blocks+stretch", 67, 45, 10, 420, 5, {"d", 0, 6, 0, 0, 0}, 2, 2, MOVING "|psnr"},
        {"noise+invert", 66, 47, 16, 444, 3, {"p", 0, 0, 0, 0, 0}, 2, 0,
         "float_motion motion_add_uv=true:motion_add_scale1=true|float_motion motion_add_uv=true:motion_filter_size=1"},
        {"texture+mix", 75, 40, 10, 444, 7, {"hpd", 0, 0, 0, 0, 0}, 2, 3,
         "float_motion motion_add_uv=true:motion_add_scale1=true"},
        {"noise+mix", 66, 33, 10, 420, 4, {"d", 2, 6, 0, 0, 0}, 1, 0, UV},
        {"texture+mix", 180, 177, 8, 420, 6, {"h", 0, 0, 0, 0, 0}, 2, 2, TEMPORAL},
        {"noise+stretch", 177, 200, 10, 420, 5, {"d", 0, 6, 0, 0, 0}, 2, 0, TEMPORAL "|float_motion"},
        {"texture+invert", 210, 176, 16, 400, 4, {"dph", 0, 0, 0, 0, 0}, 3, 0, TEMPORAL},
        {"blocks+grain", 176, 180, 12, 444, 5, {"d", 0, 0, -999, 3, 1}, 2, 0, TEMPORAL},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_standalone(g, &cases[i]);
}

/* ---- features that GPUs do not support ---- */

static void check_unsupported(gpu *g, int width, int height, const char *features, const char *words) {
    const standalone_case m = { "flat", width, height, 8, 420, 0, { "h", 0, 0, 0, 0, 0 }, 0, 0, features };
    film f = standalone_film(&m);
    char text[640];
    vmafgpu_feature_config list[MOST_FEATURES];
    vmafgpu_config config = standalone_config(g, &f, &m, text, list);
    vmafgpu *context = NULL;
    where("%s, %dx%d", features, width, height);
    config.gpu.batch = config.gpu.queue_depth = 1;
    if (words) {
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
        CHECK_HAS(vmafgpu_last_error(context), words);
        vmafgpu_close(context);
        config.backend = VMAFGPU_BACKEND_AUTO;
    }
    context = open_checked(&config);
    if (context) {
        CHECK_STR(vmafgpu_backend_name(context), words ? "cpu" : g->vendor->name);
        CHECK_HAS(vmafgpu_backend_note(context), words ? words : "");
    }
    vmafgpu_close(context);
    film_free(&f);
}

void test_standalone_on_cpu(gpu *g) {
    check_unsupported(g, 16, 16384, "float_vif vif_prescale=4",
                      "feature float_vif: not supported on GPUs (vif_prescale makes more than 65535 rows)");
    check_unsupported(g, 16, 16380, "float_vif vif_prescale=4|psnr", NULL);
    check_unsupported(g, 16384, 2049, "psnr|ciede", "feature ciede: not supported on GPUs (more than 33554432 pixels)");
}

/* ---- lost GPUs ---- */

/* After the GPU is lost, the CPU continues with the library's copies of the planes, whose layout may differ from the
 * layout of the frames. */
void test_standalone_lost(gpu *g) {
    /* clang-format off */
    static const standalone_case cases[] = {
        {"texture+mix", 64, 48, 8, 420, 9, {"h", 0, 0, 0, 0, 0}, 2, 0, SUMS "|" FLOATS "|" SSIMS "|psnr_hvs|ciede|" UV},
        {"texture+mix", 66, 40, 8, 422, 3, {"hp", 2, 0, 0, 0, 0}, 2, 0, "psnr|float_psnr|psnr_hvs|ciede|" UV},
        {"texture+mix", 50, 44, 10, 420, 3, {"ph", 0, 6, 0, 0, 0}, 2, 0, "psnr|float_psnr|psnr_hvs|ciede|" UV},
        {"texture+mix", 38, 35, 12, 444, 3, {"hp", 0, 0, -83, 1, 1}, 2, 2, "psnr|float_psnr|psnr_hvs|ciede|" UV},
    };
    /* clang-format on */
    if (!g->is_simulated) {
        test_skip("standalone features on a lost GPU: the driver is not a simulated one");
        return;
    }
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const standalone_case *m = &cases[k];
        film f = standalone_film(m);
        char text[640];
        vmafgpu_feature_config features[MOST_FEATURES];
        vmafgpu_config config = standalone_config(g, &f, m, text, features);
        reel r = reel_make(g, &f, &m->how);
        scores expected = cpu_score(&f, &config);
        for (int at = 0; at < f.clip.frames - 1; at++) {
            vmafgpu *context = open_checked(&config);
            scores got;
            where("a failure with frame %d, %d bits, '%s' bytes %d shift %d", at, m->depth, m->how.kinds,
                  m->how.bytes_per_sample, m->how.shift);
            for (int i = 0; context && i < f.clip.frames; i++) {
                /* If the GPU has finished all earlier pairs, the CPU starts in the middle of the clip. */
                if (i == at && at % 3 == 2)
                    CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
                if (i == at)
                    g->sim.fail(NULL, 3, 999);
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            }
            if (context) {
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                CHECK_HAS(vmafgpu_backend_note(context), "failed");
                got = scores_of(context);
                check_same_scores(&got, &expected);
                scores_free(&got);
            }
            vmafgpu_close(context);
            g->sim.fail(NULL, 0, 0);
        }
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* ---- features that need preceding distorted frames or chroma ---- */

/* Checks that an illegal sample causes the pairs that depend on it, `first` to `last`, to fail. If is_seed, the sample
 * is in a frame passed to vmafgpu_push_preceding(). */
static void check_illegal(gpu *g, const char *feature, int side, int plane, int is_seed, int first, int last) {
    enum { FRAMES = 6, BAD = 2 };
    const standalone_case m = { "texture+mix", 160, 160, 10, 420, FRAMES, { "d", 0, 0, 0, 0, 0 }, 2, 0, feature };
    film f = standalone_film(&m);
    char text[640];
    vmafgpu_feature_config features[MOST_FEATURES];
    vmafgpu_config config = standalone_config(g, &f, &m, text, features);
    reel r = reel_make(g, &f, &m.how);
    scores expected = cpu_score(&f, &config);
    picture *bad = &r.pictures[2 * (is_seed ? 0 : BAD) + side];
    vmafgpu *context = open_checked(&config);
    vmafgpu_score score;
    where("illegal sample, %s, side %d, plane %d%s", feature, side, plane, is_seed ? ", preceding" : "");
    picture_set_bit(g, bad, (size_t)((const char *)bad->frame.data[plane] - (const char *)bad->frame.data[0]) + 1, 3);
    if (context && is_seed)
        CHECK_INT(vmafgpu_push_preceding(context, reel_frame(&r, 0, 0)), VMAFGPU_OK);
    for (int i = is_seed; i < FRAMES && context; i++)
        CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
    if (context) {
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_FRAME);
        for (int i = is_seed; i < FRAMES; i++) {
            const int is_spoilt = i >= first && i <= last;
            CHECK_INT(vmafgpu_next_score(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
            if (is_spoilt)
                CHECK_HAS(vmafgpu_last_error(context), plane ? "chroma" : "luma");
            else if (!is_seed)
                check_row(score.values, expected.values + i * expected.columns, expected.columns);
        }
    }
    vmafgpu_close(context);
    reel_free(g, &r);
    scores_free(&expected);
    film_free(&f);
}

/* Overwrites frames as soon as they are reusable. In some cases, also simulates losing the GPU. */
void test_temporal(gpu *g) {
    static const char *const kinds[] = { "d", "p", "dp", "h" };
    enum { FRAMES = 7 };
    for (int way = 0; way < 16; way++) {
        const int is_interleaved = way % 8 >= 4,
                  lost_at = way >= 8 && g->is_simulated && !strchr(kinds[way % 4], 'd') ? 1 + way % 5 : (int)FRAMES;
        const standalone_case m = {
            "texture+mix",
            way % 3 == 1 ? 163 : 164,
            160,
            way % 2 ? 10 : 8,
            420,
            FRAMES,
            { kinds[way % 4], 0, way % 2 && is_interleaved ? 6 : 0, 0, 0, is_interleaved },
            1 + way % 3,
            0,
            "speed_temporal|float_motion motion_add_uv=true|float_motion motion_add_scale1=true|motion"
        };
        film f = standalone_film(&m);
        char text[640];
        vmafgpu_feature_config features[MOST_FEATURES];
        vmafgpu_config config = standalone_config(g, &f, &m, text, features);
        reel r = reel_make(g, &f, &m.how);
        scores expected = cpu_score(&f, &config);
        vmafgpu *context = NULL;
        int64_t spoilt = 0;
        where("temporal features, way %d", way);
        config.gpu.queue_depth = 1 + way % 2;
        context = open_checked(&config);
        for (int i = 0; context && i < FRAMES; i++) {
            int64_t reusable;
            if (i == lost_at)
                g->sim.fail(NULL, 3, 999);
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (i == 3) {
                CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
                CHECK_INT(vmafgpu_reusable_count(context), i + 1);
            }
            reusable = vmafgpu_reusable_count(context);
            for (; spoilt < reusable; spoilt++) {
                picture_spoil(g, &r.pictures[2 * spoilt]);
                picture_spoil(g, &r.pictures[2 * spoilt + 1]);
            }
        }
        if (context) {
            scores got;
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            got = scores_of(context);
            check_same_scores(&got, &expected);
            scores_free(&got);
        }
        vmafgpu_close(context);
        if (g->is_simulated)
            g->sim.fail(NULL, 0, 0);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
    check_illegal(g, "speed_temporal", 1, 0, 0, 2, 3);
    check_illegal(g, "speed_temporal", 0, 0, 0, 2, 3);
    check_illegal(g, "float_motion motion_add_uv=true", 0, 2, 0, 1, 3);
    check_illegal(g, "float_motion motion_add_uv=true", 1, 1, 0, 1, 3);
    check_illegal(g, "float_motion motion_add_uv=true", 0, 1, 1, 1, 1);
}
