/* The GPU backend against the CPU's: the same bits, whatever memory frames are in and however calls are mixed; and
 * what happens when something fails. On the simulated GPU or a real one:
 *
 *     VMAFGPU_TEST_DRIVER=libcuda.so.1 VMAFGPU_TEST_KERNELS=build/vmafgpu_kernels.ptx build/test/test_gpu [GROUP...]
 *
 * With VMAFGPU_TEST_BACKEND=hip the library is HIP's (libamdhip64.so.6) and the kernels are a bundle or a code object.
 * What needs a GPU that fails on demand runs on the simulated one only. GROUP: names of the table at the end; default
 * all. */
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "gpu.h"

/* ---- what is computed ---- */

typedef struct selection {
    const char            *name;
    int                    model_count; /* 0: features only */
    vmafgpu_model_config   models[3];
    int                    feature_count;
    vmafgpu_feature_config features[6];
} selection;

enum { DEFAULT, MANY, ADM, VIF, MOTION, LIMITS, CSF, SKIPS, WINDOWS, LUMA_ONLY, V1 = LUMA_ONLY, V1_ALL, BANDING, CHROMA,
       V0_AND_V1, SELECTIONS };

static const selection selections[SELECTIONS] = {
    {"vmaf_v0.6.1", 1, {{"vmaf_v0.6.1", NULL, NULL, 0, 0, NULL}}, 0, {{NULL, NULL}}},
    {"many", 3,
     {{"vmaf_v0.6.1", NULL, NULL, 0, 0, NULL},
      {"vmaf_v0.6.1neg", NULL, "neg", 1, 0, NULL},
      {"vmaf_b_v0.6.3", NULL, "boot", 0, 0, NULL}},
     4,
     {{"vif", "vif_enhn_gain_limit=1.2:debug=true"},
      {"adm", "adm_enhn_gain_limit=1.2:adm_csf_mode=2:debug=true"},
      {"adm", "adm_csf_mode=1:adm_norm_view_dist=5:adm_csf_scale=0.05:adm_csf_diag_scale=0.02"},
      {"motion", "motion_five_frame_window=true:motion_moving_average=true"}}},
    {"adm", 0, {{0}}, 1, {{"adm", "debug=true"}}},
    {"vif", 0, {{0}}, 1, {{"vif", "debug=true"}}},
    {"motion", 0, {{0}}, 1, {{"motion", "debug=true"}}},
    {"gain limits", 0, {{0}}, 6,
     {{"vif", "vif_enhn_gain_limit=1"}, {"vif", "vif_enhn_gain_limit=1.2"}, {"vif", "vif_enhn_gain_limit=99.5"},
      {"adm", "adm_enhn_gain_limit=1"}, {"adm", "adm_enhn_gain_limit=1.2"}, {"adm", "adm_enhn_gain_limit=7"}}},
    {"contrast sensitivity", 0, {{0}}, 5,
     {{"adm", "adm_csf_mode=1:adm_csf_scale=0.01:adm_csf_diag_scale=0.006"}, {"adm", "adm_csf_mode=2"},
      {"adm", "adm_csf_mode=3"}, {"adm", "adm_norm_view_dist=24:adm_ref_display_height=4320"},
      {"adm", "adm_norm_view_dist=0.75:adm_ref_display_height=4320"}}},
    {"skips", 0, {{0}}, 4,
     {{"vif", "vif_skip_scale0=true"}, {"adm", "adm_skip_scale0=true"}, {"adm", "adm_skip_aim=true"},
      {"adm", "adm_noise_weight=1500:adm_dlm_weight=0.2"}}},
    {"motion windows", 0, {{0}}, 5,
     {{"motion", "motion_five_frame_window=true"}, {"motion", "motion_moving_average=true"},
      {"motion", "motion_five_frame_window=true:motion_moving_average=true"}, {"motion", "motion_force_zero=true"},
      {"motion", "motion_blend_factor=0.6:motion_blend_offset=4:motion_fps_weight=1.5:motion_max_val=12"}}},
    {"vmaf_v1.0.16_3d0h", 1, {{"vmaf_v1.0.16_3d0h", NULL, NULL, 0, 0, NULL}}, 0, {{NULL, NULL}}},
    {"all of v1", 3,
     {{"vmaf_v1.0.16_hfr_3d0h", NULL, "near", 0, 0, NULL},
      {"vmaf_v1.0.16_5d0h", NULL, "far", 0, 0, NULL},
      {"vmaf_v1.0.16_3d0h_2160", NULL, "large", 0, 0, NULL}},
     2,
     {{"cambi", "full_ref=true:topk=0.01:window_size=33"}, {"speed_chroma", "speed_weight_var_mode=3"}}},
    {"cambi", 0, {{0}}, 1, {{"cambi", NULL}}},
    {"speed_chroma", 0, {{0}}, 1, {{"speed_chroma", NULL}}},
    {"v0.6 and v1", 2,
     {{"vmaf_v0.6.1", NULL, "old", 0, 0, NULL}, {"vmaf_v1.0.16_3d0h", NULL, "new", 0, 0, NULL}}, 0, {{NULL, NULL}}},
};

static void select_features(vmafgpu_config *config, const selection *s) {
    config->models = s->model_count ? s->models : NULL;
    config->model_count = s->model_count;
    config->no_model = s->model_count == 0;
    config->features = s->feature_count ? s->features : NULL;
    config->feature_count = s->feature_count;
}

/* A small film that is large enough for what looks at it; the models of v1 need chroma with some life in it. */
static film small_film(int selected, int width, int height, int depth, int frames, uint32_t seed) {
    return selected < LUMA_ONLY ? film_make("texture+mix", width, height, depth, frames, seed)
                                : film_make_colour("bands+mix", 216 + width % 2, 176, depth, 444, frames, seed);
}

/* ---- equality ---- */

enum { KEPT, CALLBACK, NEXT }; /* how scores are taken */

typedef struct equality {
    const char         *what; /* clip; NULL: texture+mix */
    int                 width, height, depth, frames;
    storage             how;
    int                 batch, queue, selected, subsample, arithmetic, delivery;
    vmafgpu_memory_kind promised;
} equality;

/* Scores a film both ways. */
static void check_equality(gpu *g, const film *f, const equality *e) {
    vmafgpu_config config = gpu_config(g, f);
    const size_t step = (size_t)(e->subsample ? e->subsample : 1);
    tally t;
    reel r;
    scores expected;
    collector c;
    vmafgpu *context;
    size_t memory = 0, device_memory = 0;
    where(
        "%s %dx%d %d bits, %s, '%s' bytes %d shift %d pitch %d offset %d, batch %d queue %d subsample %d arithmetic %d",
        e->what ? e->what : "", f->clip.width, f->clip.height, f->clip.depth, selections[e->selected].name,
        e->how.kinds, e->how.bytes_per_sample, e->how.shift, (int)e->how.pitch, e->how.offset, e->batch, e->queue,
        e->subsample, e->arithmetic);
    memset(&t, 0, sizeof t);
    config.allocator = tally_allocator(&t);
    config.bytes_per_sample = e->how.bytes_per_sample;
    config.layout = e->how.shift         ? VMAFGPU_SEMIPLANAR_HIGH
                    : e->how.interleaved ? VMAFGPU_SEMIPLANAR
                                         : VMAFGPU_PLANAR;
    config.subsample = e->subsample;
    config.gpu.batch = e->batch;
    config.gpu.queue = e->queue;
    config.gpu.arithmetic = e->arithmetic;
    config.gpu.frames = e->promised;
    select_features(&config, &selections[e->selected]);
    expected = cpu_score(f, &config);
    CHECK_INT(expected.rows, ((size_t)f->clip.frames + step - 1) / step);
    c = collector_like(&expected, e->subsample);
    config.discard_scores = e->delivery != KEPT;
    config.on_score = e->delivery == CALLBACK ? collect : NULL;
    config.on_score_user = &c;
    r = reel_make(g, f, &e->how);
    context = open_checked(&config);
    if (context) {
        memory = vmafgpu_memory(context);
        device_memory = vmafgpu_device_memory(context);
        for (int i = 0; i < f->clip.frames; i++) {
            vmafgpu_result result = reel_push(&r, context, i);
            if (result == VMAFGPU_ERROR_FULL && e->delivery == NEXT) { /* many frames in long batches */
                collect_next(context, &c);
                result = reel_push(&r, context, i);
            }
            CHECK_INT(result, VMAFGPU_OK);
            if (e->delivery == NEXT) {
                collect_next(context, &c);
            }
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        /* only a long list of scores grows */
        CHECK(vmafgpu_memory(context) == memory || (e->delivery == KEPT && f->clip.frames > 64));
        CHECK_INT(vmafgpu_device_memory(context), device_memory);
        check_on_gpu(g, context);
        if (e->delivery == KEPT) {
            scores_free(&c.got);
            c.got = scores_of(context);
        } else if (e->delivery == NEXT) {
            collect_next(context, &c);
        }
        check_collected(&c, &expected);
    }
    vmafgpu_close(context);
    CHECK_INT(t.live, 0);
    reel_free(g, &r);
    scores_free(&expected);
}

static void check_generated(gpu *g, const equality *e, uint32_t seed) {
    film f = film_make(e->what ? e->what : "texture+mix", e->width, e->height, e->depth, e->frames, seed);
    check_equality(g, &f, e);
    film_free(&f);
}

static void test_equality(gpu *g) {
    static const equality cases[] = {
        /* contents, and sizes at which tiles and scales end anywhere */
        {"texture+mix", 64, 48, 8, 5, {"h", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {"noise+grain", 97, 130, 8, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {"blocks+invert", 65, 49, 8, 3, {"h", 0, 0, 0, 0, 0}, 0, 0, MANY, 0, 0, KEPT, 0},
        {"blocks+stretch", 130, 33, 8, 2, {"d", 0, 0, 0, 0, 0}, 0, 0, LIMITS, 0, 0, KEPT, 0},
        {"lines+same", 33, 35, 8, 3, {"h", 0, 0, 0, 0, 0}, 1, 1, DEFAULT, 0, 0, KEPT, 0},
        {"flat+faint", 40, 36, 8, 3, {"p", 0, 0, 0, 0, 0}, 3, 2, DEFAULT, 0, 0, KEPT, 0},
        {"black+same", 32, 32, 8, 2, {"h", 0, 0, 0, 0, 0}, 1, 2, DEFAULT, 0, 0, KEPT, 0},
        {"white+grain", 32, 40, 8, 2, {"h", 0, 0, 0, 0, 0}, 1, 2, MANY, 0, 0, KEPT, 0},
        {"ramp+coarse", 200, 17, 8, 2, {"h", 0, 0, 0, 0, 0}, 1, 2, DEFAULT, 0, 0, KEPT, 0},
        {"texture+blur", 17, 200, 8, 2, {"h", 0, 0, 0, 0, 0}, 1, 2, DEFAULT, 0, 0, KEPT, 0},
        {"texture+stretch", 16, 16, 8, 9, {"hpd", 0, 0, 0, 0, 0}, 5, 2, MANY, 0, 0, KEPT, 0},
        {"noise+mix", 16, 16, 16, 3, {"h", 0, 0, 0, 0, 0}, 32, 4, MANY, 0, 0, KEPT, 0},
        /* depths */
        {"texture+mix", 65, 49, 9, 3, {"h", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {"texture+stretch", 65, 49, 10, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, MANY, 0, 0, KEPT, 0},
        {"noise+invert", 64, 50, 12, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {"blocks+blur", 66, 40, 14, 2, {"p", 0, 0, 0, 0, 0}, 2, 2, LIMITS, 0, 0, KEPT, 0},
        {"blocks+invert", 97, 60, 16, 2, {"h", 0, 0, 0, 0, 0}, 2, 2, MANY, 0, 0, KEPT, 0},
        {"lines+grain", 48, 48, 16, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        /* words and layouts */
        {NULL, 48, 40, 8, 3, {"h", 2, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 48, 40, 8, 3, {"p", 2, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 47, 40, 8, 3, {"d", 2, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 48, 40, 8, 3, {"hdp", 2, 8, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 48, 40, 10, 3, {"d", 0, 6, 128, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, VMAFGPU_MEMORY_DEVICE},
        {NULL, 45, 40, 10, 3, {"pdh", 0, 6, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 48, 40, 12, 3, {"p", 0, 4, 0, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, VMAFGPU_MEMORY_PINNED},
        /* pitches and addresses */
        {NULL, 64, 40, 8, 3, {"d", 0, 0, 64, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, VMAFGPU_MEMORY_DEVICE},
        {NULL, 64, 40, 8, 3, {"d", 0, 0, -64, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 8, 3, {"d", 0, 0, -80, 48, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 8, 3, {"d", 0, 0, 256, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 8, 3, {"d", 0, 0, 67, 1, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 61, 40, 8, 3, {"d", 0, 0, -61, 3, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 63, 40, 8, 3, {"d", 0, 0, 64, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 10, 3, {"d", 0, 0, 129, 1, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 62, 40, 10, 3, {"d", 0, 0, 124, 2, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 61, 40, 10, 3, {"d", 0, 0, -128, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 61, 40, 8, 3, {"p", 0, 0, 67, 1, 0}, 2, 2, DEFAULT, 0, 0, KEPT, VMAFGPU_MEMORY_PINNED},
        {NULL, 64, 40, 8, 3, {"p", 0, 0, 256, 5, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 10, 3, {"p", 0, 0, 131, 1, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 8, 3, {"p", 0, 0, -64, 0, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 64, 40, 10, 3, {"h", 0, 0, -133, 3, 0}, 2, 2, DEFAULT, 0, 0, KEPT, 0},
        /* batches, queues, memory of every kind in one clip */
        {NULL, 40, 36, 8, 11, {"h", 0, 0, 0, 0, 0}, 1, 1, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 40, 36, 8, 11, {"hpd", 0, 0, 0, 0, 0}, 1, 3, DEFAULT, 0, 0, KEPT, 0},
        {NULL, 40, 36, 8, 11, {"dhp", 0, 0, 0, 0, 0}, 2, 1, DEFAULT, 0, 0, CALLBACK, 0},
        {NULL, 40, 36, 10, 11, {"ddh", 0, 0, 0, 0, 0}, 2, 3, DEFAULT, 0, 0, NEXT, 0},
        {NULL, 40, 36, 8, 11, {"pdd", 0, 0, 0, 0, 0}, 5, 2, DEFAULT, 0, 0, NEXT, VMAFGPU_MEMORY_PINNED},
        {NULL, 40, 36, 8, 11, {"phd", 0, 0, 0, 0, 0}, 5, 1, WINDOWS, 0, 0, CALLBACK, 0},
        {NULL, 20, 16, 8, 70, {"d", 0, 0, 0, 0, 0}, 32, 1, DEFAULT, 0, 0, KEPT, VMAFGPU_MEMORY_DEVICE},
        {NULL, 18, 16, 8, 68, {"hd", 0, 0, 0, 0, 0}, 32, 4, WINDOWS, 0, 0, NEXT, 0},
        /* options */
        {NULL, 40, 36, 8, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, ADM, 0, 0, KEPT, 0},
        {NULL, 40, 36, 10, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, VIF, 0, 0, KEPT, 0},
        {NULL, 40, 36, 8, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, MOTION, 0, 0, KEPT, 0},
        {NULL, 40, 36, 10, 3, {"p", 0, 0, 0, 0, 0}, 2, 2, MOTION, 0, 0, KEPT, 0},
        {"texture+stretch", 56, 42, 8, 2, {"h", 0, 0, 0, 0, 0}, 2, 2, CSF, 0, 0, KEPT, 0},
        {"blocks+stretch", 57, 42, 10, 2, {"h", 0, 0, 0, 0, 0}, 2, 2, CSF, 0, 0, KEPT, 0},
        {"texture+stretch", 56, 42, 8, 2, {"h", 0, 0, 0, 0, 0}, 2, 2, SKIPS, 0, 0, KEPT, 0},
        {"noise+grain", 56, 42, 8, 2, {"h", 0, 0, 0, 0, 0}, 2, 2, LIMITS, 0, 0, KEPT, 0},
        {NULL, 32, 24, 8, 7, {"d", 0, 0, 0, 0, 0}, 2, 2, WINDOWS, 0, 0, KEPT, 0},
        {NULL, 33, 24, 8, 7, {"d", 0, 0, 0, 0, 0}, 1, 2, WINDOWS, 0, 0, KEPT, 0},
        {NULL, 32, 24, 8, 7, {"d", 0, 0, 0, 0, 0}, 3, 2, WINDOWS, 2, 0, KEPT, 0},
        {NULL, 40, 36, 8, 10, {"d", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 3, 0, KEPT, 0},
        {NULL, 40, 36, 8, 10, {"hp", 0, 0, 0, 0, 0}, 4, 2, MANY, 3, 0, NEXT, 0},
        /* statistics in doubles and in integers */
        {"texture+stretch", 65, 49, 8, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 1, KEPT, 0},
        {"texture+stretch", 65, 49, 8, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, LIMITS, 0, 2, KEPT, 0},
        {"blocks+grain", 65, 49, 16, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, LIMITS, 0, 1, KEPT, 0},
        {"blocks+grain", 65, 49, 16, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, LIMITS, 0, 2, KEPT, 0},
        {"noise+stretch", 64, 48, 10, 2, {"h", 0, 0, 0, 0, 0}, 2, 2, DEFAULT, 0, 2, KEPT, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_generated(g, &cases[i], (uint32_t)i + 1);
    }
}

/* Models of v1: chroma in every layout and memory. */
static void test_v1(gpu *g) {
    static const struct {
        equality e;
        int      chroma;
    } cases[] = {
        {{"bands+mix", 216, 160, 8, 3, {"h", 0, 0, 0, 0, 0}, 2, 2, V1, 0, 0, KEPT, 0}, 420},
        {{"bands+mix", 216, 160, 10, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, V1, 0, 0, KEPT, VMAFGPU_MEMORY_DEVICE}, 420},
        {{"texture+mix", 363, 355, 8, 3, {"p", 0, 0, 0, 0, 0}, 1, 2, V1, 0, 0, CALLBACK, VMAFGPU_MEMORY_PINNED}, 420},
        {{"grey+mix", 217, 161, 8, 2, {"d", 0, 0, -223, 3, 0}, 3, 2, V1, 0, 0, KEPT, 0}, 420},
        {{"dusk+blur", 218, 162, 10, 2, {"d", 0, 6, 0, 0, 0}, 2, 2, V1, 0, 0, KEPT, 0}, 420},
        {{"bands+wash", 352, 178, 12, 2, {"p", 0, 4, 0, 0, 0}, 2, 2, V1, 0, 0, KEPT, 0}, 422},
        {{"bands+rinse", 218, 177, 8, 2, {"d", 0, 0, 0, 0, 1}, 2, 2, V1, 0, 0, KEPT, 0}, 444},
        {{"bands+mix", 216, 176, 9, 2, {"h", 0, 0, 445, 1, 1}, 2, 2, V1, 0, 0, KEPT, 0}, 444},
        {{"texture+luma", 216, 179, 16, 2, {"d", 0, 0, 435, 1, 0}, 2, 2, V1, 0, 0, KEPT, 0}, 444},
        {{"bands+faint", 162, 217, 8, 3, {"p", 0, 0, -172, 0, 1}, 2, 2, V1, 0, 0, KEPT, 0}, 420},
        {{"bands+mix", 216, 176, 8, 7, {"hpd", 0, 0, 0, 0, 0}, 3, 2, V1, 2, 0, NEXT, 0}, 444},
        {{"flat+faint", 216, 160, 8, 2, {"p", 2, 0, 0, 0, 0}, 2, 2, V1, 0, 0, KEPT, 0}, 420},
        {{"bands+coarse", 386, 362, 10, 2, {"d", 0, 0, 0, 0, 0}, 2, 2, V1_ALL, 0, 0, KEPT, 0}, 420},
        {{"dusk+coarse", 330, 322, 8, 2, {"h", 0, 0, 0, 0, 0}, 1, 2, V1_ALL, 0, 0, KEPT, 0}, 420},
        {{"bands+mix", 230, 99, 14, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, BANDING, 0, 0, KEPT, 0}, 420},
        {{"noise+mix", 353, 352, 10, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, CHROMA, 0, 0, KEPT, 0}, 420},
        {{"texture+blur", 216, 176, 8, 3, {"d", 0, 0, 0, 0, 0}, 2, 2, V0_AND_V1, 0, 0, KEPT, 0}, 444},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const equality *e = &cases[i].e;
        film f = film_make_colour(e->what, e->width, e->height, e->depth, cases[i].chroma, e->frames, (uint32_t)i + 1);
        check_equality(g, &f, e);
        film_free(&f);
    }
}

/* ---- SpEED ---- */

/* All of its options, depths and layouts, and sizes from the smallest on. Where the content allows for a score, there
 * is one. */
static void test_v1_speed(gpu *g) {
    static const struct {
        const char *what;
        int         width, height, depth, chroma, frames;
        storage     how;
        int         batch, has_score;
        const char *options[3]; /* one set each */
    } cases[] = {
        {"noise+mix", 160, 160, 8, 420, 1, {"d", 0, 0, 0, 0, 0}, 1, 0, {NULL}},
        {"noise+mix", 80, 80, 10, 444, 1, {"d", 0, 0, 0, 0, 0}, 1, 0, {NULL}},
        {"noise+mix", 176, 177, 8, 444, 2, {"d", 0, 0, 0, 0, 0}, 2, 1, {"speed_nn_floor=0.1:speed_weight_var_mode=5"}},
        {"texture+mix", 401, 333, 10, 444, 5, {"d", 0, 0, 0, 0, 0}, 3, 1, {"speed_weight_var_mode=5"}},
        {"bands+mix", 703, 665, 8, 420, 3, {"h", 0, 0, 0, 0, 0}, 2, 1, {NULL}},
        {"texture+mix", 1283, 355, 10, 422, 2, {"d", 0, 6, 0, 0, 0}, 2, 1, {NULL}},
        {"noise+mix", 255, 257, 9, 444, 2, {"d", 0, 0, -513, 1, 0}, 2, 1,
         {"speed_weight_var_mode=1", "speed_weight_var_mode=2"}},
        {"noise+coarse", 256, 255, 11, 444, 2, {"d", 0, 0, 0, 3, 1}, 1, 1,
         {"speed_weight_var_mode=3", "speed_weight_var_mode=4"}},
        {"noise+mix", 272, 240, 12, 444, 2, {"p", 0, 4, 0, 0, 0}, 2, 1,
         {"speed_weight_var_mode=6", "speed_sigma_nn=2:speed_nn_floor=1"}},
        {"noise+mix", 241, 240, 13, 444, 1, {"d", 0, 0, 503, 1, 0}, 1, 1, {NULL}},
        {"noise+mix", 240, 241, 14, 444, 1, {"d", 0, 2, 0, 0, 0}, 1, 1, {NULL}},
        {"noise+mix", 240, 240, 15, 444, 1, {"d", 0, 0, 0, 0, 1}, 1, 1, {NULL}},
        {"noise+mix", 243, 242, 16, 444, 1, {"d", 0, 0, 0, 1, 1}, 1, 1, {NULL}},
        {"noise+mix", 240, 240, 8, 444, 1, {"d", 2, 0, 0, 0, 0}, 1, 1, {NULL}},
        {"flat+luma", 240, 240, 8, 444, 2, {"d", 0, 0, 0, 0, 0}, 2, 0, {NULL}},
        {"bands+luma", 400, 400, 8, 444, 1, {"d", 0, 0, 0, 0, 0}, 1, 0, {"speed_weight_var_mode=5"}},
        {"texture+mix", 320, 300, 8, 444, 2, {"d", 0, 0, 0, 0, 0}, 2, 1,
         {"speed_kernelscale=0.5", "speed_kernelscale=2", "speed_kernelscale=3.71134"}},
        {"texture+mix", 400, 380, 10, 444, 2, {"d", 0, 0, 0, 0, 0}, 2, 1,
         {"speed_prescale=0.6:speed_prescale_method=bilinear", "speed_prescale=0.5:speed_prescale_method=bilinear",
          "speed_prescale=1.5:speed_prescale_method=bilinear"}},
        {"texture+mix", 300, 280, 8, 444, 2, {"d", 0, 0, -311, 0, 0}, 2, 1,
         {"speed_prescale=0.75", "speed_prescale=1.3:speed_prescale_method=bicubic",
          "speed_prescale=0.8:speed_prescale_method=lanczos4"}},
        {"texture+mix", 300, 285, 10, 444, 1, {"d", 0, 6, 0, 0, 0}, 1, 1,
         {"speed_prescale=2:speed_kernelscale=3",
          "speed_prescale=0.9:speed_prescale_method=lanczos4:speed_kernelscale=1.5"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        film f = film_make_colour(cases[i].what, cases[i].width, cases[i].height, cases[i].depth, cases[i].chroma,
                                  cases[i].frames, (uint32_t)i + 1);
        vmafgpu_feature_config features[3];
        vmafgpu_config config = gpu_config(g, &f);
        scores expected;
        reel r;
        vmafgpu *context;
        memset(features, 0, sizeof features);
        config.no_model = 1;
        config.features = features;
        for (int k = 0; k == 0 || (k < 3 && cases[i].options[k]); k++) {
            features[k].name = "speed_chroma";
            features[k].options = cases[i].options[k];
            config.feature_count = k + 1;
        }
        config.bytes_per_sample = cases[i].how.bytes_per_sample;
        config.layout = cases[i].how.shift         ? VMAFGPU_SEMIPLANAR_HIGH
                        : cases[i].how.interleaved ? VMAFGPU_SEMIPLANAR
                                                   : VMAFGPU_PLANAR;
        config.gpu.batch = cases[i].batch;
        where("speed_chroma, %s %dx%d %d bits %d, '%s'", cases[i].what, cases[i].width, cases[i].height, cases[i].depth,
              cases[i].chroma, cases[i].options[0] ? cases[i].options[0] : "");
        expected = cpu_score(&f, &config);
        for (int k = 0; cases[i].has_score && k < expected.columns; k++) {
            CHECK(expected.values[k] != 0);
        }
        r = reel_make(g, &f, &cases[i].how);
        context = open_checked(&config);
        if (context) {
            reel_finish(&r, context, 0);
            check_context(g, context, &expected);
            vmafgpu_close(context);
        }
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

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

static void test_v1_cambi(gpu *g) {
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

/* What nobody thought of. */
static void test_random(gpu *g) {
    static const char *const kinds[] = {"h", "p", "d", "hd", "dhp", "pd", "ddp"};
    uint32_t state = 20240607;
    for (int i = 0; i < 40; i++) {
        char what[40];
        equality e;
        uint32_t r[16];
        for (int k = 0; k < 16; k++) {
            state = state * 1664525u + 1013904223u;
            r[k] = state >> 12;
        }
        memset(&e, 0, sizeof e);
        snprintf(what, sizeof what, "%s+%s", clip_content_names[r[0] % CLIP_CONTENT_COUNT],
                 clip_distortion_names[r[1] % CLIP_DISTORTION_COUNT]);
        e.what = what;
        e.width = 16 + (int)(r[2] % 60);
        e.height = 16 + (int)(r[3] % 50);
        e.depth = r[4] % 3 == 0 ? 8 : 8 + (int)(r[4] / 3 % 9);
        e.frames = 1 + (int)(r[5] % 5);
        e.how.kinds = kinds[r[6] % 7];
        e.how.bytes_per_sample = r[7] % 3 == 0 ? 2 : 0;
        e.how.shift = (e.depth > 8 || e.how.bytes_per_sample == 2) && r[8] % 3 == 0 ? 16 - e.depth : 0;
        if (r[9] % 2) {
            e.how.pitch =
                (ptrdiff_t)e.width * (e.depth > 8 || e.how.bytes_per_sample == 2 ? 2 : 1) + (ptrdiff_t)(r[9] / 2 % 40);
            e.how.pitch = r[9] % 3 == 0 ? -e.how.pitch : e.how.pitch;
        }
        e.how.offset = (int)(r[10] % 4 ? 0 : r[10] / 4 % 17);
        e.batch = (int)(r[11] % 5);
        e.queue = (int)(r[12] % 4);
        e.selected = (int)(r[13] % LUMA_ONLY);
        e.subsample = r[14] % 4 == 0 ? 2 : 0;
        e.arithmetic = (int)(r[15] % 3);
        check_generated(g, &e, state);
    }
}

/* ---- real clips ---- */

enum { CROP_WIDTH = 112, CROP_HEIGHT = 84 };

/* The middle of the first frames of a pair of clips of 4:2:0 and the like; 0 if there is none. */
static int film_from_files(film *f, const char *reference, const char *distorted, int width, int height, int depth,
                           int frames, size_t frame_samples) {
    const char *const names[2] = {reference, distorted};
    const int bytes = depth > 8 ? 2 : 1, w = width < CROP_WIDTH ? width : CROP_WIDTH,
              h = height < CROP_HEIGHT ? height : CROP_HEIGHT;
    int ok = 1;
    *f = film_make("black", w, h, depth, frames, 1);
    for (int side = 0; side < 2 && ok; side++) {
        char path[256], line[256];
        FILE *file;
        const size_t left = (size_t)(width - w) / 2, top = (size_t)(height - h) / 2;
        snprintf(path, sizeof path, "../shared/clips/%s", names[side]);
        file = fopen(path, "rb");
        ok = file != NULL;
        if (ok && strstr(path, ".y4m")) {
            ok = fgets(line, sizeof line, file) != NULL;
        }
        for (int i = 0; i < frames && ok; i++) {
            long start;
            if (strstr(path, ".y4m")) {
                ok = fgets(line, sizeof line, file) != NULL;
            }
            start = ftell(file);
            for (int y = 0; y < h && ok; y++) {
                ok = fseek(file, start + (long)(((top + (size_t)y) * (size_t)width + left) * (size_t)bytes),
                           SEEK_SET) == 0 &&
                     fread(f->luma + (size_t)(2 * i + side) * f->plane_bytes + (size_t)(y * w * bytes), (size_t)bytes,
                           (size_t)w, file) == (size_t)w;
            }
            ok = ok && fseek(file, start + (long)(frame_samples * (size_t)bytes), SEEK_SET) == 0;
        }
        if (file) {
            fclose(file);
        }
    }
    if (!ok) {
        film_free(f);
    }
    return ok;
}

static void test_clips(gpu *g) {
    static const struct {
        const char *reference, *distorted;
        int         width, height, depth, frames, chroma;
    } clips[] = {
        {"src01_8b_ref.y4m", "src01_8b_dis.y4m", 576, 324, 8, 3, 420},
        {"src01_10b_ref.y4m", "src01_10b_dis.y4m", 576, 324, 10, 2, 420},
        {"src01_12b_ref.y4m", "src01_12b_dis.y4m", 576, 324, 12, 2, 420},
        {"src01_16b_ref_576x324_420p16.yuv", "src01_16b_dis_576x324_420p16.yuv", 576, 324, 16, 2, 420},
        {"seek_8b_ref.y4m", "seek_8b_dis.y4m", 384, 288, 8, 3, 420},
        {"odd_8b_ref.y4m", "odd_8b_dis.y4m", 333, 217, 8, 2, 444},
        {"c422_10b_ref.y4m", "c422_10b_dis.y4m", 320, 180, 10, 2, 422},
        {"c444_8b_ref.y4m", "c444_8b_dis.y4m", 320, 180, 8, 2, 444},
        {"c444_12b_ref.y4m", "c444_12b_dis.y4m", 320, 180, 12, 2, 444},
        {"sparks_10b_ref.y4m", "sparks_10b_dis.y4m", 480, 270, 10, 2, 420},
        {"dark_8b_ref_1920x1080_420p.yuv", "dark_8b_dis_1920x1080_420p.yuv", 1920, 1080, 8, 1, 420},
        {"akiyo_ref_352x288_420p.yuv", "akiyo_dis_352x288_420p.yuv", 352, 288, 8, 1, 420},
        {"tiny_ref_18x22_420p.yuv", "tiny_dis_18x22_420p.yuv", 18, 22, 8, 1, 420},
    };
    int found = 0;
    for (size_t i = 0; i < sizeof clips / sizeof clips[0]; i++) {
        film f;
        equality e;
        const size_t luma = (size_t)(clips[i].width * clips[i].height);
        const size_t samples = clips[i].chroma == 420
                                   ? luma + 2 * (size_t)((clips[i].width + 1) / 2 * ((clips[i].height + 1) / 2))
                               : clips[i].chroma == 422 ? 2 * luma
                                                        : 3 * luma;
        if (!film_from_files(&f, clips[i].reference, clips[i].distorted, clips[i].width, clips[i].height,
                             clips[i].depth, clips[i].frames, samples)) {
            continue;
        }
        memset(&e, 0, sizeof e);
        e.what = clips[i].reference;
        e.how.kinds = i % 2 ? "d" : "h";
        e.batch = 2;
        e.selected = i % 3 == 1 ? MANY : DEFAULT;
        check_equality(g, &f, &e);
        film_free(&f);
        found++;
    }
    if (!found) {
        test_skip("../shared/clips is not there");
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
        job.history = i < 2 ? i : 2;
        CHECK_INT(v->backend->submit(v, &job), VMAFGPU_OK);
        CHECK_INT(v->backend->collect(v, VMAFGPU__WAIT, &sums[i]), VMAFGPU_OK);
    }
    vmafgpu_close(v);
    return 1;
}

/* The sums of three pairs from the GPU and from the CPU. */
static void check_sums_of(gpu *g, const char *what, int width, int height, int depth, int selected, int batch) {
    enum { FRAMES = 3 };
    film f = film_make(what, width, height, depth, FRAMES, 3);
    vmafgpu__sums got[FRAMES], expected[FRAMES];
    vmafgpu__plan plan;
    vmafgpu_config config = gpu_config(g, &f);
    int ok;
    where("sums of %s %dx%d %d bits, %s", what, width, height, depth, selections[selected].name);
    memset(got, 0, sizeof got);
    memset(expected, 0x55, sizeof expected);
    select_features(&config, &selections[selected]);
    config.gpu.batch = batch;
    ok = sums_of(&f, &config, &plan, got);
    config.backend = VMAFGPU_BACKEND_CPU;
    ok = ok && sums_of(&f, &config, &plan, expected);
    for (int k = 0; k < FRAMES && ok; k++) {
        check_sums(&plan, &got[k], &expected[k]);
    }
    film_free(&f);
}

static void test_sums(gpu *g) {
    static const struct {
        const char *what;
        int         width, height, depth, selected;
    } cases[] = {
        {"texture+mix", 64, 48, 8, MANY},    {"blocks+stretch", 97, 61, 8, LIMITS}, {"noise+grain", 65, 49, 10, MANY},
        {"lines+invert", 50, 70, 12, MANY},  {"blocks+invert", 65, 49, 16, LIMITS}, {"texture+stretch", 58, 44, 9, CSF},
        {"black+grain", 33, 33, 8, DEFAULT}, {"ramp+coarse", 16, 16, 16, MANY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_sums_of(g, cases[i].what, cases[i].width, cases[i].height, cases[i].depth, cases[i].selected,
                      1 + (int)(i % 2));
    }
}

/* Sizes at which the last tile of a row or column is nearly empty: of its block the last waves, or the last lanes of a
 * wave, have nothing but what is outside the frame, and must add nothing. */
static void test_partial(gpu *g) {
    static const int widths[] = {VMAFGPU__VIF_TILE_WIDTH + 1, VMAFGPU__VIF_TILE_WIDTH + 8,
                                 VMAFGPU__MOTION_TILE_WIDTH + 1, VMAFGPU__MOTION_TILE_WIDTH + 6},
                     heights[] = {VMAFGPU__VIF_TILE_HEIGHT + 1, VMAFGPU__MOTION_TILE_HEIGHT + 8, 63, 127};
    for (int i = 0; i < 16; i++) {
        check_sums_of(g, "noise+grain", widths[i % 4], heights[i / 4], i % 3 ? 8 : 10, i % 2 ? MANY : DEFAULT, 1);
    }
}

/* ---- orders of calls ---- */

/* Frames are overwritten as soon as they may be: rings of few buffers, looked at by vmafgpu_reusable() and _wait(). */
static void test_reuse(gpu *g) {
    static const char *const kinds[] = {"d", "p", "dp", "pdd"};
    enum { FRAMES = 9, RING = 3 };
    for (int way = 0; way < 28; way++) {
        const int batch = 1 + way / 4 % 3, queue = 1 + way % 2,
                  selected = way >= 24 ? V1 : way % 3 == 2 ? WINDOWS : DEFAULT;
        film f = small_film(selected, 40, 36, way % 5 == 4 ? 10 : 8, FRAMES, (uint32_t)way + 1);
        vmafgpu_config config = gpu_config(g, &f);
        reel r;
        scores expected;
        int64_t spoilt = 0;
        vmafgpu *context;
        where("reuse, '%s', batch %d, queue %d, %s", kinds[way % 4], batch, queue, selections[selected].name);
        config.gpu.batch = batch;
        config.gpu.queue = queue;
        select_features(&config, &selections[selected]);
        expected = cpu_score(&f, &config);
        r = reel_of_kinds(g, &f, kinds[way % 4]);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            int64_t reusable;
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (way % 2 && i + 1 >= RING) {
                CHECK_INT(vmafgpu_wait(context, i + 1 - RING), VMAFGPU_OK);
                CHECK(vmafgpu_reusable(context) >= i + 1 - RING);
            }
            if (way >= 12 && i == 4) {
                CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
                CHECK_INT(vmafgpu_reusable(context), i + 1);
            }
            reusable = vmafgpu_reusable(context);
            CHECK(reusable >= spoilt && reusable <= i + 1);
            for (; spoilt < reusable; spoilt++) {
                picture_spoil(g, &r.pictures[2 * spoilt]);
                picture_spoil(g, &r.pictures[2 * spoilt + 1]);
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_wait(context, FRAMES + 1), VMAFGPU_ERROR_ARGUMENT);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
            CHECK_INT(vmafgpu_reusable(context), FRAMES);
            check_context(g, context, &expected);
            vmafgpu_close(context);
        }
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Frames come by copies on the caller's stream and are overwritten on it; nobody waits on the host. */
static void test_caller_stream(gpu *g) {
    enum { FRAMES = 7 };
    for (int way = 0; way < 14; way++) {
        const int depth = way % 3 == 2 ? 10 : 8, selected = way >= 12 ? V1 : DEFAULT;
        film f = small_film(selected, way % 2 ? 41 : 40, 36, depth, FRAMES, (uint32_t)way + 5);
        vmafgpu_config config = gpu_config(g, &f);
        reel target = reel_of_kinds(g, &f, "d"), source = reel_of_kinds(g, &f, "p");
        vmafgpu *context = NULL;
        void *stream = NULL;
        int overwritten = 0;
        scores expected;
        config.gpu.batch = 1 + way % 4;
        config.gpu.queue = 1 + way / 4;
        config.gpu.frames = VMAFGPU_MEMORY_DEVICE;
        select_features(&config, &selections[selected]);
        where("the caller's stream, %d bits, batch %d, queue %d, %s", depth, config.gpu.batch, config.gpu.queue,
              selections[selected].name);
        expected = cpu_score(&f, &config);
        CHECK_INT(g->stream_create(&stream, 1), 0);
        config.gpu.stream = stream;
        for (int i = 0; i < target.count; i++) {
            picture_spoil(g, &target.pictures[i]);
        }
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            for (int side = 0; side < 2; side++) {
                const picture *to = &target.pictures[2 * i + side], *from = &source.pictures[2 * i + side];
                CHECK_INT(g->write_later(to->address, from->bytes, to->size, stream), 0);
            }
            CHECK_INT(reel_push(&target, context, i), VMAFGPU_OK);
            if (i % 3 == 1) {
                CHECK_INT(vmafgpu_wait_on_stream(context, stream, way & 1 ? -1 : i), VMAFGPU_OK);
                for (; overwritten < 2 * (i + (way & 1)); overwritten++) {
                    const picture *p = &target.pictures[overwritten];
                    CHECK_INT(g->fill_later(p->address, 0x3c, p->size, stream), 0);
                }
            }
        }
        if (context) {
            vmafgpu_score score;
            CHECK_INT(vmafgpu_wait_on_stream(context, stream, FRAMES + 1), VMAFGPU_ERROR_ARGUMENT);
            CHECK_INT(vmafgpu_wait_on_stream(context, stream, -1), VMAFGPU_OK);
            /* a pair by itself waits for the stream as well */
            CHECK_INT(
                g->write_later(target.pictures[0].address, source.pictures[0].bytes, target.pictures[0].size, stream),
                0);
            CHECK_INT(
                g->write_later(target.pictures[1].address, source.pictures[1].bytes, target.pictures[1].size, stream),
                0);
            if (CHECK_INT(
                    vmafgpu_score_pair(context, NULL, reel_frame(&target, 0, 0), reel_frame(&target, 0, 1), &score),
                    VMAFGPU_OK)) {
                CHECK_BITS(score.values[0], expected.values[0]); /* adm2, or cambi, looks at no neighbour */
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
            vmafgpu_close(context);
        }
        CHECK_INT(g->stream_wait(stream), 0);
        CHECK_INT(g->stream_destroy(stream), 0);
        reel_free(g, &target);
        reel_free(g, &source);
        scores_free(&expected);
        film_free(&f);
    }
}

/* The caller's own CUcontext, of the last device; whatever context is current stays so. */
static void check_caller_context(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 5, 9);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    void *own = NULL, *popped = NULL, *current = NULL;
    int devices = 0;
    where("the caller's context");
    CHECK_INT(g->device_count(&devices), 0);
    if (CHECK_INT(g->create(&own, 0, devices - 1), 0)) {
        reel r = reel_of_kinds(g, &f, "dph");
        vmafgpu *context;
        vmafgpu_score score;
        config.gpu.context = own;
        config.gpu.batch = 2;
        for (int round = 0; round < 2; round++) {
            void *expected_current = round ? g->context : own;
            if (round) {
                CHECK_INT(g->pop(&popped), 0); /* the primary context lies below */
            }
            context = open_checked(&config);
            for (int i = 0; i < 5 && context; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_INT(g->current(&current), 0);
                CHECK(current == expected_current);
            }
            if (context) {
                CHECK_INT(vmafgpu_score_pair(context, NULL, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), &score),
                          VMAFGPU_OK);
                CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                check_context(g, context, &expected);
            }
            vmafgpu_close(context);
            CHECK_INT(g->current(&current), 0);
            CHECK(current == expected_current);
        }
        CHECK_INT(g->push(own), 0);
        reel_free(g, &r);
        CHECK_INT(g->pop(&popped), 0);
        CHECK_INT(g->destroy(own), 0);
    }
    scores_free(&expected);
    film_free(&f);
}

/* What the caller sees of a thread with HIP: its current device, and the error that waits to be asked for. That one may
 * become one of ours, since the latest counts, but not none. */
static void check_thread(gpu *g, int device, int has_error) {
    int current = -1;
    CHECK_INT(g->get_device(&current), 0);
    CHECK_INT(current, device);
    CHECK_INT(g->peek_error && g->peek_error() != 0, g->peek_error && has_error);
}

/* Leaves an error that nobody has asked for yet. */
static void leave_error(gpu *g) {
    int count = 0;
    if (g->is_simulated) {
        g->sim.fail("hipGetDeviceCount", 1, 2);
        CHECK_INT(g->device_count(&count), 2);
    } else {
        CHECK(g->set_device(9999) != 0);
    }
}

/* Whichever device is current stays so, ours or another; and so does the caller's last error. */
static void check_caller_device(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 5, 9);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    vmafgpu *context = NULL;
    vmafgpu_score score;
    int devices = 0;
    CHECK_INT(g->device_count(&devices), 0);
    for (int way = 0; way < 8; way++) {
        const int ours = way & 1 ? devices - 1 : 0, current = way & 2 ? devices - 1 : 0, has_error = way >> 2;
        reel r;
        where("device %d, current device %d%s", ours, current, has_error ? ", an error waits" : "");
        CHECK_INT(g->set_device(ours), 0);
        r = reel_of_kinds(g, &f, "dph");
        CHECK_INT(g->set_device(current), 0);
        if (has_error) {
            leave_error(g);
        }
        config.gpu.device = ours;
        config.gpu.batch = 2;
        context = open_checked(&config);
        check_thread(g, current, has_error);
        for (int i = 0; i < 5 && context; i++) {
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            check_thread(g, current, has_error);
            (void)vmafgpu_next(context, &score);
            check_thread(g, current, has_error);
        }
        if (context) {
            CHECK_INT(vmafgpu_score_pair(context, NULL, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), &score),
                      VMAFGPU_OK);
            check_thread(g, current, has_error);
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
            (void)vmafgpu_reusable(context);
            check_thread(g, current, has_error);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_thread(g, current, has_error);
            check_context(g, context, &expected);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            check_thread(g, current, has_error);
        }
        vmafgpu_close(context);
        check_thread(g, current, has_error);
        /* an open that fails early, and one that fails late */
        for (int late = 0; late < 2; late++) {
            vmafgpu_config bad = config;
            bad.gpu.device = late ? ours : 99;
            bad.gpu.kernels_path = late ? "." : config.gpu.kernels_path;
            CHECK_INT(vmafgpu_open(&context, &bad), VMAFGPU_ERROR_BACKEND);
            vmafgpu_close(context);
            check_thread(g, current, has_error);
        }
        if (g->is_simulated) {
            g->sim.fail("hipInit", 1, 101); /* what a runtime without a card says */
            CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
            CHECK_HAS(vmafgpu_last_error(context), "no device");
            vmafgpu_close(context);
            check_thread(g, current, has_error);
        }
        if (g->take_error) {
            (void)g->take_error();
        }
        CHECK_INT(g->set_device(ours), 0);
        reel_free(g, &r);
    }
    CHECK_INT(g->set_device(0), 0);
    where("a context for HIP");
    config.gpu.device = 0;
    config.gpu.context = &devices;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.gpu.context");
    vmafgpu_close(context);
    scores_free(&expected);
    film_free(&f);
}

static void test_caller_context(gpu *g) {
    if (g->is_hip) {
        check_caller_device(g);
    } else {
        check_caller_context(g);
    }
}

/* Single pairs while the clip is on its way: the clip's scores do not notice, the pairs' are the CPU's. */
static void test_single(gpu *g) {
    static const char *const kinds[] = {"h", "d", "p", "hdp", "pdh"};
    enum { FRAMES = 5 };
    for (int way = 0; way < 5; way++) {
        const int selected = way == 4 ? V1 : way % 2 ? MANY : DEFAULT;
        film f = small_film(selected, 40, 37, way == 3 ? 10 : 8, FRAMES, 21);
        vmafgpu_config config = gpu_config(g, &f), plain = film_config(&f);
        reel r = reel_of_kinds(g, &f, kinds[way]);
        vmafgpu *context, *cpu;
        scores expected;
        config.gpu.batch = 1 + way;
        plain.backend = VMAFGPU_BACKEND_CPU;
        where("single pairs, '%s'", kinds[way]);
        select_features(&config, &selections[selected]);
        select_features(&plain, &selections[selected]);
        expected = cpu_score(&f, &config);
        cpu = open_checked(&plain);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context && cpu; i++) {
            const int other = (3 * i + 1) % FRAMES, previous = (2 * i + 3) % FRAMES;
            vmafgpu_frame before = film_frame(&f, previous, 0), reference = film_frame(&f, other, 0),
                          distorted = film_frame(&f, other, 1);
            vmafgpu_score score, score_expected;
            /* one that is refused while parts of it are on their way already */
            if (way == 3) {
                reel bad = reel_of_kinds(g, &f, "ph");
                memset(bad.pictures[1].bytes, 0xff, bad.pictures[1].size);
                CHECK_INT(vmafgpu_score_pair(context, reel_frame(&bad, 1, 0), reel_frame(&bad, 0, 0),
                                             reel_frame(&bad, 0, 1), &score),
                          VMAFGPU_ERROR_FRAME);
                picture_spoil(g, &bad.pictures[0]);
                picture_spoil(g, &bad.pictures[2]);
                reel_free(g, &bad);
            }
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (CHECK_INT(vmafgpu_score_pair(context, i % 2 ? reel_frame(&r, previous, 0) : NULL,
                                             reel_frame(&r, other, 0), reel_frame(&r, other, 1), &score),
                          VMAFGPU_OK) &&
                CHECK_INT(vmafgpu_score_pair(cpu, i % 2 ? &before : NULL, &reference, &distorted, &score_expected),
                          VMAFGPU_OK)) {
                CHECK_BITS(score.score, score_expected.score);
                check_row(score.values, score_expected.values, expected.columns);
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
        }
        vmafgpu_close(context);
        vmafgpu_close(cpu);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* A clip in segments, with seeds and tails in memory of every kind. */
static void test_segments(gpu *g) {
    static const char *const kinds[] = {"h", "d", "p", "phd"};
    enum { FRAMES = 11 };
    for (int way = 0; way < 8; way++) {
        const int selected = way % 2 ? WINDOWS : DEFAULT;
        film f = film_make("texture+mix", 33, 32, 8, FRAMES, 31);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way % 4]);
        scores expected;
        vmafgpu *context;
        config.gpu.batch = 1 + way % 3;
        config.gpu.queue = 1 + way / 4;
        select_features(&config, &selections[selected]);
        expected = cpu_score(&f, &config);
        context = open_checked(&config);
        for (int first = 0; first < FRAMES && context; first += 4) {
            const int end = first + 4 < FRAMES ? first + 4 : FRAMES, seeds = vmafgpu_seed_count(context);
            scores got;
            where("segment from %d, '%s', batch %d, %s", first, kinds[way % 4], config.gpu.batch,
                  selections[selected].name);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            for (int i = first < seeds ? 0 : first - seeds; i < first; i++) {
                CHECK_INT(vmafgpu_seed(context, reel_frame(&r, i, 0)), VMAFGPU_OK);
            }
            for (int i = first; i < end; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            }
            if (end < FRAMES) {
                CHECK_INT(vmafgpu_tail(context, reel_frame(&r, end, 0)), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_on_gpu(g, context);
            got = scores_of(context);
            CHECK_INT(got.rows, end - first);
            check_rows(&got, &expected, first);
            scores_free(&got);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Reset and close at every point of a run. */
static void test_break_off(gpu *g) {
    static const char *const kinds[] = {"h", "d", "p"};
    enum { FRAMES = 7 };
    for (int way = 0; way < 3; way++) {
        film f = film_make("texture+mix", 24, 20, 8, FRAMES, 41);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way]);
        scores expected = cpu_score(&f, &config);
        tally t;
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        config.gpu.batch = 2;
        config.gpu.queue = 2;
        for (int pushed = 0; pushed <= FRAMES; pushed++) {
            for (int wait = 0; wait < 2; wait++) {
                reel first = reel_of_kinds(g, &f, kinds[way]);
                vmafgpu *context = open_checked(&config);
                where("broken off after %d, '%s', %s", pushed, kinds[way], wait ? "reset" : "closed");
                for (int i = FRAMES - pushed; i < FRAMES && context; i++) {
                    CHECK_INT(reel_push(&first, context, i), VMAFGPU_OK);
                }
                if (wait && context) {
                    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                    CHECK_INT(vmafgpu_reusable(context), 0);
                    if (g->is_simulated) { /* what was not waited for comes as late as it may */
                        g->sim.set_order(SIMULATED_FORWARD, SIMULATED_NEWEST, 1);
                    }
                    for (int i = 0; i < first.count; i++) {
                        picture_spoil(g, &first.pictures[i]);
                    }
                    reel_finish(&r, context, 0);
                    check_context(g, context, &expected);
                }
                vmafgpu_close(context);
                CHECK_INT(t.live, 0);
                if (g->is_simulated) {
                    g->sim.set_order(SIMULATED_FORWARD, SIMULATED_LAZY, 1);
                }
                reel_free(g, &first);
            }
        }
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Nobody fetches scores: at 64 the next pair is refused, and nothing is lost. */
static void check_full(gpu *g, int batch, int queue) {
    enum { FRAMES = 70, ROOM = 64 };
    film f = film_make("texture+mix", 16, 16, 8, FRAMES, 51);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "hd");
    scores expected = cpu_score(&f, &config);
    collector c = collector_like(&expected, 1);
    vmafgpu *context;
    vmafgpu_score score;
    where("full, batch %d", batch);
    config.discard_scores = 1;
    config.gpu.batch = batch;
    config.gpu.queue = queue;
    context = open_checked(&config);
    if (context) {
        for (int i = 0; i < ROOM; i++) {
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        for (int again = 0; again < 3; again++) {
            CHECK_INT(reel_push(&r, context, ROOM), VMAFGPU_ERROR_FULL);
            CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_next");
        }
        CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_OK); /* they do wait: no need to flush */
        collect(&c, &score);
        CHECK_INT(reel_push(&r, context, ROOM), VMAFGPU_OK);
        CHECK_INT(reel_push(&r, context, ROOM + 1), VMAFGPU_ERROR_FULL);
        collect_next(context, &c);
        for (int i = ROOM + 1; i < FRAMES; i++) {
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        collect_next(context, &c);
        CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_END);
        check_on_gpu(g, context);
        check_collected(&c, &expected);
    }
    vmafgpu_close(context);
    reel_free(g, &r);
    scores_free(&expected);
    film_free(&f);
}

static void test_full(gpu *g) {
    check_full(g, 5, 3);
    check_full(g, 32, 4); /* all of it is on its way */
}

/* next() in any rhythm, and a wait for a part of what was pushed. */
static void test_rhythm(gpu *g) {
    enum { FRAMES = 12 };
    film f = film_make("texture+mix", 32, 28, 8, FRAMES, 61);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "dh");
    scores expected = cpu_score(&f, &config);
    for (uint32_t way = 0; way < 12; way++) {
        collector c = collector_like(&expected, 1);
        vmafgpu *context;
        where("rhythm %u", (unsigned)way);
        config.gpu.batch = 1 + (int)(way % 4);
        config.gpu.queue = 1 + (int)(way % 3);
        config.discard_scores = (int)(way % 2);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            const uint32_t dice = clip_hash((uint32_t)i, way, 7);
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (dice % 3 == 0) {
                collect_next(context, &c);
            }
            if (dice / 3 % 4 == 0) {
                CHECK_INT(vmafgpu_wait(context, i / 2 + 1), VMAFGPU_OK);
                CHECK(vmafgpu_reusable(context) > i / 2);
                CHECK(vmafgpu_score_count(context) >= i / 2); /* but for the last, whose motion looks ahead */
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            collect_next(context, &c);
            check_on_gpu(g, context);
            check_collected(&c, &expected);
        }
        vmafgpu_close(context);
    }
    reel_free(g, &r);
    scores_free(&expected);
    film_free(&f);
}

/* ---- several at a time ---- */

static void test_two_contexts(gpu *g) {
    enum { FRAMES = 6 };
    film f[2];
    vmafgpu_config config[2];
    vmafgpu *context[2];
    scores expected[2];
    reel r[2];
    int devices = 0;
    CHECK_INT(g->device_count(&devices), 0);
    for (int i = 0; i < 2; i++) {
        f[i] = film_make("texture+mix", i ? 33 : 48, 40, i ? 10 : 8, FRAMES, 71 + (uint32_t)i);
        r[i] = reel_of_kinds(g, &f[i], i ? "dh" : "hd");
    }
    for (int round = 0; round < 2; round++) {
        where("two contexts, %s", round ? "two devices" : "one device");
        if (round && devices < 2) {
            test_skip("there is one device only");
            continue;
        }
        for (int i = 0; i < 2; i++) {
            config[i] = gpu_config(g, &f[i]);
            config[i].gpu.batch = 1 + i;
            if (round && i) {
                reel_free(g, &r[i]);
                r[i] = reel_of_kinds(g, &f[i], "h");
                config[i].gpu.device = 1;
            }
            expected[i] = cpu_score(&f[i], &config[i]);
            context[i] = open_checked(&config[i]);
        }
        for (int frame = 0; frame < FRAMES && context[0] && context[1]; frame++) {
            for (int i = 0; i < 2; i++) {
                CHECK_INT(reel_push(&r[i], context[i], frame), VMAFGPU_OK);
            }
        }
        for (int i = 0; i < 2; i++) {
            if (context[i]) {
                CHECK_INT(vmafgpu_flush(context[i]), VMAFGPU_OK);
                check_context(g, context[i], &expected[i]);
                CHECK(vmafgpu_device_name(context[i])[0] != 0);
            }
            vmafgpu_close(context[i]);
            scores_free(&expected[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        reel_free(g, &r[i]);
        film_free(&f[i]);
    }
}

enum { WORKERS = 4, ROUNDS = 3 };

typedef struct worker {
    const film    *f;
    vmafgpu_config config;
    const char    *backend;
    collector      collected[ROUNDS];
    int            ok;
} worker;

/* No checks in here: their counters belong to the main thread. */
static void *work(void *user) {
    worker *w = (worker *)user;
    w->ok = 1;
    for (int round = 0; round < ROUNDS; round++) {
        vmafgpu *context = NULL;
        w->config.on_score = collect;
        w->config.on_score_user = &w->collected[round];
        w->ok &= vmafgpu_open(&context, &w->config) == VMAFGPU_OK;
        for (int i = 0; i < w->f->clip.frames && w->ok; i++) {
            w->ok &= film_push(w->f, context, i) == VMAFGPU_OK;
        }
        w->ok = w->ok && vmafgpu_flush(context) == VMAFGPU_OK && strcmp(vmafgpu_backend_name(context), w->backend) == 0;
        vmafgpu_close(context);
    }
    return NULL;
}

static void test_threads(gpu *g) {
    film f[WORKERS];
    worker workers[WORKERS];
    scores expected[WORKERS];
    pthread_t threads[WORKERS];
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < WORKERS; i++) {
        f[i] = film_make("texture+mix", 40 + 3 * i, 36, i % 2 ? 10 : 8, 5, 81 + (uint32_t)i);
        workers[i].f = &f[i];
        workers[i].backend = g->vendor->name;
        workers[i].config = gpu_config(g, &f[i]);
        workers[i].config.gpu.batch = 1 + i;
        expected[i] = cpu_score(&f[i], &workers[i].config);
        for (int round = 0; round < ROUNDS; round++) {
            workers[i].collected[round] = collector_like(&expected[i], 1);
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        test_need(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "a thread");
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < WORKERS; i++) {
        where("thread %d", i);
        CHECK(workers[i].ok);
        for (int round = 0; round < ROUNDS; round++) {
            check_collected(&workers[i].collected[round], &expected[i]);
        }
        scores_free(&expected[i]);
        film_free(&f[i]);
    }
}

/* ---- what is refused ---- */

static void test_kinds_of_memory(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 2, 91);
    reel host = reel_of_kinds(g, &f, "h"), pinned = reel_of_kinds(g, &f, "p"), device = reel_of_kinds(g, &f, "d");
    const reel *const reels[3] = {&host, &pinned, &device};
    storage upside_down;
    reel negative;
    size_t memory[3];
    memset(&upside_down, 0, sizeof upside_down);
    upside_down.kinds = "p";
    upside_down.pitch = -40;
    negative = reel_make(g, &f, &upside_down);
    for (int promised = 0; promised < 3; promised++) {
        vmafgpu_config config = gpu_config(g, &f);
        scores expected = cpu_score(&f, &config);
        vmafgpu *context;
        config.gpu.frames = (vmafgpu_memory_kind)promised;
        context = open_checked(&config);
        memory[promised] = vmafgpu_memory(context);
        for (int kind = 0; kind < 3 && context; kind++) {
            where("promised %d, came %d", promised, kind);
            if (kind >= promised) {
                CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                reel_finish(reels[kind], context, 0);
                check_context(g, context, &expected);
            } else {
                vmafgpu_score score;
                CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                CHECK_INT(reel_push(reels[kind], context, 0), VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), "config.gpu.frames");
                CHECK_HAS(vmafgpu_last_error(context), "frame 0");
                CHECK_INT(vmafgpu_score_pair(context, NULL, reel_frame(reels[kind], 0, 0),
                                             reel_frame(reels[kind], 0, 1), &score),
                          VMAFGPU_ERROR_ARGUMENT);
                CHECK_INT(vmafgpu_seed(context, reel_frame(reels[kind], 0, 0)), VMAFGPU_ERROR_ARGUMENT);
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            CHECK_INT(reel_push(&negative, context, 0), promised == 0 ? VMAFGPU_OK : VMAFGPU_ERROR_ARGUMENT);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        }
        vmafgpu_close(context);
        scores_free(&expected);
    }
    CHECK(memory[2] < memory[1] || memory[1] < memory[0]);
    CHECK(memory[2] < memory[0] && memory[2] <= memory[1] && memory[1] <= memory[0]);
    {
        vmafgpu_config config = film_config(&f);
        vmafgpu *context;
        where("device memory, but the CPU");
        config.backend = VMAFGPU_BACKEND_CPU;
        context = open_checked(&config);
        CHECK_INT(reel_push(&device, context, 0), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), "device memory");
        CHECK_INT(reel_push(&pinned, context, 0), VMAFGPU_OK);
        CHECK_INT(vmafgpu_device_memory(context), 0);
        vmafgpu_close(context);
        config.gpu.frames = VMAFGPU_MEMORY_DEVICE;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
        vmafgpu_close(context);
    }
    reel_free(g, &negative);
    reel_free(g, &host);
    reel_free(g, &pinned);
    reel_free(g, &device);
    film_free(&f);
}

/* AUTO takes frames in device memory for CUDA's. */
static vmafgpu_backend backend_for_device(const gpu *g) {
    return g->vendor->backend == VMAFGPU_BACKEND_CUDA ? VMAFGPU_BACKEND_AUTO : g->vendor->backend;
}

/* A config with which no GPU can be used: asked for, a sentence with these words; else the CPU and a note. */
static void check_unusable(const gpu *g, const film *f, vmafgpu_config config, const scores *expected,
                           const char *words) {
    static const vmafgpu_memory_kind frames[3] = {VMAFGPU_MEMORY_HOST, VMAFGPU_MEMORY_HOST, VMAFGPU_MEMORY_DEVICE};
    for (int way = 0; way < 3; way++) {
        vmafgpu *context = NULL;
        tally t;
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        config.backend = way == 0 ? g->vendor->backend : way == 1 ? VMAFGPU_BACKEND_AUTO : backend_for_device(g);
        config.gpu.frames = frames[way];
        CHECK_INT(vmafgpu_open(&context, &config), way == 1 ? VMAFGPU_OK : VMAFGPU_ERROR_BACKEND);
        CHECK_HAS(way == 1 ? vmafgpu_backend_note(context) : vmafgpu_last_error(context), words);
        if (way == 1) {
            scores got;
            CHECK_STR(vmafgpu_backend_name(context), "cpu");
            CHECK_STR(vmafgpu_device_name(context), "");
            CHECK_INT(vmafgpu_device_memory(context), 0);
            for (int i = 0; i < f->clip.frames; i++) {
                CHECK_INT(film_push(f, context, i), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            got = scores_of(context);
            check_same_scores(&got, expected);
            scores_free(&got);
        }
        vmafgpu_close(context);
        CHECK_INT(t.live, 0);
    }
}

static char *file_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text;
    long length = 0;
    test_need(file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0,
              "VMAFGPU_TEST_KERNELS cannot be read");
    text = (char *)malloc((size_t)length + 1);
    rewind(file);
    test_need(text && fread(text, 1, (size_t)length, file) == (size_t)length, "VMAFGPU_TEST_KERNELS cannot be read");
    fclose(file);
    text[length] = '\0';
    *size = (size_t)length;
    return text;
}

/* CUDA's images are texts. */
static void check_texts(gpu *g) {
    static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__\1\0\0\0\0\0\0";
    static const char head[] = ".version 8.0\n.target sm_75\n.address_size 64\n";
    static const char later[] = ".version 8.0\n.target sm_121\n.address_size 64\n"
                                ".visible .entry vmafgpu_interface_2()\n{\n ret;\n}\n// end of vmafgpu kernels\n";
    static const char *const bodies[] = {
        "// the .entry points of another version\n.visible .entry vmafgpu_interface_0()\n{\n ret;\n}\n",
        ".visible .entry vmafgpu_interface_2()\n{\n ret;\n}\n.visible .entry more()\n{\n ret;\n}\n",
        ".visible .entry vmafgpu_interface_2()\n{\n {\n",
        ".visible .entry other()\n}\n}\n.visible .entry \n",
        ".visible .entry vmafgpu_import",
    };
    static const char broken[] = "this is no code\n// end of vmafgpu kernels\n";
    static const char elf[] = "\x7f"
                              "ELF but nothing else";
    static const char foreign[] = "Call me Ishmael.\n", line_end[] = "\n";
    film f = film_make("texture+mix", 40, 36, 8, 2, 95);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    size_t size = 0;
    char *image = file_text(g->kernels_path, &size);
    const struct {
        const char *name, *data;
        size_t      size;
        const char *words;
    } images[] = {
        {"cut off by a line", image, size > 26 ? size - 26 : 0, "config.gpu.kernels is no image"},
        {"cut off in the middle", image, size / 2, "config.gpu.kernels is no image"},
        {"cut off by two bytes", image, size - 2, "config.gpu.kernels is no image"},
        {"one line end", line_end, 1, "config.gpu.kernels is no image"},
        {"a foreign text", foreign, sizeof foreign - 1, "config.gpu.kernels is no image"},
        {"a bundle for AMD", bundle, sizeof bundle, "config.gpu.kernels is no image"},
        {"for a later device", later, sizeof later - 1, "config.gpu.kernels is for compute capability 12.1"},
        {"not compiled", broken, sizeof broken - 1, "does not take config.gpu.kernels"},
        {"no machine code", elf, sizeof elf - 1, "does not take config.gpu.kernels"},
    };
    const char *const paths[] = {"there/is/no/such/file.ptx", "."};
    config.gpu.kernels_path = NULL;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        where("image: %s", images[i].name);
        config.gpu.kernels = images[i].data;
        config.gpu.kernels_size = images[i].size;
        check_unusable(g, &f, config, &expected, images[i].words);
    }
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s// end of vmafgpu kernels\n", head, bodies[i]);
        where("image with other kernels, %d", (int)i);
        config.gpu.kernels = text;
        config.gpu.kernels_size = strlen(text);
        check_unusable(g, &f, config, &expected,
                       i < 2 ? "config.gpu.kernels has no kernel vmafgpu_" : "config.gpu.kernels");
    }
    for (int way = 0; way < 2; way++) {
        vmafgpu *context = NULL;
        where("an image without %s", way ? "bytes" : "size");
        config.gpu.kernels = way ? NULL : image;
        config.gpu.kernels_size = way ? size : 0;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
        vmafgpu_close(context);
    }
    config.gpu.kernels = NULL;
    config.gpu.kernels_size = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        where("image file %s", paths[i]);
        config.gpu.kernels_path = paths[i];
        check_unusable(g, &f, config, &expected, paths[i]);
    }
    {
        scores got;
        where("an image in memory");
        config.gpu.kernels_path = NULL;
        config.gpu.kernels = image;
        config.gpu.kernels_size = size;
        got = film_score(&f, &config);
        check_same_scores(&got, &expected);
        scores_free(&got);
    }
    free(image);
    scores_free(&expected);
    film_free(&f);
}

/* ---- images for AMD: code objects, which are ELF files, and bundles of them ---- */

enum { GFX900 = 0x2c, GFX906 = 0x2f, GFX908 = 0x30, GFX1010 = 0x33, GFX1030 = 0x36, GFX90A = 0x3f, GFX1100 = 0x41,
       GFX1200 = 0x48, GFX942 = 0x4c, GFX1201 = 0x4e, GFX950 = 0x4f }; /* low byte of e_flags */

typedef struct bytes {
    unsigned char data[4096];
    size_t        size;
} bytes;

static void put(bytes *b, const void *data, size_t size) {
    test_need(b->size + size <= sizeof b->data, "room for an image");
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)(i < 8 ? value >> 8 * i : 0);
        put(b, &byte, 1);
    }
}

/* The head of an ELF file of 64 bits, with a table of one section at its end if there are `names` in it, separated by
 * NUL. The simulated GPU takes it for a whole one: code it does not need, and names are those of the kernels. */
static bytes code_object(int machine, int target, const char *names, size_t names_size) {
    bytes b;
    const int has_names = names != NULL;
    b.size = 0;
    put(&b, "\x7f" "ELF\2\1\1\x40\3", 9);                   /* 64 bits, little-endian, AMD's, code object version 5 */
    put_number(&b, 0, 7);
    put_number(&b, 3, 2);                                      /* a shared object */
    put_number(&b, (uint64_t)machine, 2);
    put_number(&b, 1, 4);
    put_number(&b, 0, 16);                                     /* entry, segments */
    put_number(&b, has_names ? 64 + names_size : 0, 8);        /* sections */
    put_number(&b, (uint64_t)target, 4);
    put_number(&b, 64, 2);
    put_number(&b, 0, 4);
    put_number(&b, has_names ? 64 : 0, 2);
    put_number(&b, (uint64_t)has_names, 2);
    put_number(&b, 0, 2);
    if (has_names) {
        put(&b, names, names_size);
        put_number(&b, 0, 4);
        put_number(&b, 3, 4);                                  /* a table of strings */
        put_number(&b, 0, 16);
        put_number(&b, 64, 8);
        put_number(&b, names_size, 8);
        put_number(&b, 0, 24);
    }
    return b;
}

static bytes shortened(bytes b, size_t by) {
    b.size -= by;
    return b;
}

/* With another number in 8 bytes from `at` on. */
static bytes changed(bytes b, size_t at, uint64_t value) {
    for (int i = 0; i < 8; i++) {
        b.data[at + (size_t)i] = (unsigned char)(value >> 8 * i);
    }
    return b;
}

static bytes bytes_of(const char *text, size_t size) {
    bytes b;
    b.size = 0;
    put(&b, text, size);
    return b;
}

enum { AMD_GPU = 224, X86_64 = 62 };

typedef struct part {
    const char *id;
    int         target;
} part;

/* A bundle of code objects; target 0: an entry without content, as the host's. */
static bytes bundle(const part *parts, int count) {
    bytes b;
    size_t at = 32;
    b.size = 0;
    put(&b, "__CLANG_OFFLOAD_BUNDLE__", 24);
    put_number(&b, (uint64_t)count, 8);
    for (int i = 0; i < count; i++) {
        at += 24 + strlen(parts[i].id);
    }
    for (int i = 0; i < count; i++) {
        put_number(&b, at, 8);
        put_number(&b, parts[i].target ? 64 : 0, 8);
        put_number(&b, strlen(parts[i].id), 8);
        put(&b, parts[i].id, strlen(parts[i].id));
        at += parts[i].target ? 64 : 0;
    }
    for (int i = 0; i < count; i++) {
        const bytes object = code_object(AMD_GPU, parts[i].target, NULL, 0);
        put(&b, object.data, parts[i].target ? object.size : 0);
    }
    return b;
}

#define HOST_ENTRY {"host-x86_64-unknown-linux--", 0}
#define ENTRY_OF(name, target) {"hipv4-amdgcn-amd-amdhsa--" name, target}

static void check_image(const gpu *g, const film *f, vmafgpu_config config, const scores *expected, const bytes *image,
                        const char *words) {
    config.gpu.kernels = image->data;
    config.gpu.kernels_size = image->size;
    if (words) {
        check_unusable(g, f, config, expected, words);
    } else {
        scores got = film_score(f, &config);
        check_same_scores(&got, expected);
        scores_free(&got);
    }
}

/* A device's own code is found in bundles, and its kernels compute alike. What VIF's statistics are in by default
 * depends on the target. */
static void check_targets(gpu *g, const film *f, vmafgpu_config config, const scores *expected) {
    static const struct {
        part own;
        int  lanes, target, arithmetic;
    } targets[] = {
        {ENTRY_OF("gfx900", GFX900), 64, GFX900, 2},
        {ENTRY_OF("gfx906", GFX906), 64, GFX906, 1},
        {ENTRY_OF("gfx908:xnack-", GFX908), 64, GFX908, 1},
        {ENTRY_OF("gfx90a:sramecc+:xnack-", GFX90A), 64, GFX90A, 1},
        {ENTRY_OF("gfx942", GFX942), 64, GFX942, 1},
        {{"hip-amdgcn-amd-amdhsa-gfx950", GFX950}, 64, GFX950, 1},
        {ENTRY_OF("gfx1010", GFX1010), 32, GFX1010, 2},
        {ENTRY_OF("gfx1030", GFX1030), 32, GFX1030, 2},
        {{"hip-amdgcn-amd-amdhsa--gfx1100", GFX1100}, 32, GFX1100, 2},
        {ENTRY_OF("gfx1200", GFX1200), 32, GFX1200, 2},
        {ENTRY_OF("gfx1201", GFX1201), 32, GFX1201, 2},
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const part parts[] = {HOST_ENTRY, ENTRY_OF("gfx9", GFX1100), ENTRY_OF("gfx1", GFX942), targets[i].own,
                              ENTRY_OF("gfx11000", GFX942)};
        const bytes image = bundle(parts, 5), alone = code_object(AMD_GPU, targets[i].target, NULL, 0);
        vmafgpu *context;
        where("target %s", targets[i].own.id);
        if (targets[i].lanes != g->sim.lanes()) {
            continue;
        }
        g->sim.set(SIMULATED_CAPABILITY, targets[i].target);
        check_image(g, f, config, expected, &image, NULL);
        check_image(g, f, config, expected, &alone, NULL);
        config.gpu.kernels = image.data;
        config.gpu.kernels_size = image.size;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_get_config(context)->gpu.arithmetic, targets[i].arithmetic);
        vmafgpu_close(context);
    }
    g->sim.set(SIMULATED_CAPABILITY, g->sim.lanes() == 32 ? GFX1100 : GFX942);
}

/* Bundles whose head says what cannot be, and what is left of bundles. */
static void check_broken_bundles(const gpu *g, const film *f, vmafgpu_config config, const scores *expected) {
    static const struct {
        const char *name;
        size_t      at;
        uint64_t    value;
    } cases[] = {
        {"many entries", 24, 1000000},
        {"entries without end", 24, UINT64_MAX},
        {"an entry beyond the end", 32, 4000},
        {"an entry far beyond the end", 32, UINT64_MAX - 32},
        {"an entry that is too long", 40, 4000},
        {"an entry of all memory", 40, UINT64_MAX},
        {"an id that is too long", 48, 4000},
        {"an id of all memory", 48, UINT64_MAX},
        {"an id that ends where numbers end", 48, UINT64_MAX - 55},
    };
    const part parts[] = {ENTRY_OF("gfx1100", GFX1100), ENTRY_OF("gfx942", GFX942), HOST_ENTRY};
    const bytes whole = bundle(parts, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bytes image = changed(whole, cases[i].at, cases[i].value);
        where("bundle with %s", cases[i].name);
        check_image(g, f, config, expected, &image, "config.gpu.kernels is neither");
    }
    for (size_t size = 1; size < whole.size; size += size < 64 ? 1 : 13) {
        const bytes image = shortened(whole, whole.size - size);
        where("bundle cut off after %d bytes", (int)size);
        check_image(g, f, config, expected, &image, "config.gpu.kernels is neither");
    }
}

/* HIP's images are code objects or bundles of some. */
static void check_code_objects(gpu *g) {
    static const char some[] = "\0vmafgpu_import\0vmafgpu_import.kd\0vmafgpu_interface_2\0vmafgpu_interface_2.kd";
    static const char other[] = "\0vmafgpu_interface_0\0vmafgpu_interface_0.kd";
    static const char text[] = ".version 8.0\n.target sm_75\n// end of vmafgpu kernels\n";
    static const char compressed[] = "CCOB\2\0\1\0 and what is compressed, which is longer than the head of a file is";
    const int own = g->sim.lanes() == 32 ? GFX1100 : GFX942, foreign = g->sim.lanes() == 32 ? GFX1200 : GFX90A;
    const char *own_name = g->sim.lanes() == 32 ? "gfx1100" : "gfx942";
    const part others[] = {HOST_ENTRY, ENTRY_OF("gfx1030", GFX1030), ENTRY_OF("gfx90a:xnack+", GFX90A)},
               host[] = {HOST_ENTRY},
               mixed_up[] = {HOST_ENTRY, ENTRY_OF("gfx1100", GFX942), ENTRY_OF("gfx942", GFX1100)},
               empty[] = {HOST_ENTRY, ENTRY_OF("gfx1100", 0), ENTRY_OF("gfx942", 0)};
    const char *const neither = "config.gpu.kernels is neither a code object";
    const char *const paths[] = {"there/is/no/such/file.hsaco", "."};
    char no_target[160];
    film f = film_make("texture+mix", 40, 36, 8, 2, 95);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    size_t size = 0;
    char *file = file_text(g->kernels_path, &size);
    const struct {
        const char *name;
        bytes       image;
        const char *words;
    } images[] = {
        {"a code object", code_object(AMD_GPU, own, NULL, 0), NULL},
        {"a code object with features", code_object(AMD_GPU, own | 0x500, NULL, 0), NULL},
        {"for another device", code_object(AMD_GPU, foreign, NULL, 0), "does not take config.gpu.kernels"},
        {"some kernels", code_object(AMD_GPU, own, some, sizeof some), "config.gpu.kernels has no kernel vmafgpu_"},
        {"other kernels", code_object(AMD_GPU, own, other, sizeof other), "config.gpu.kernels has no kernel vmafgpu_"},
        {"a program", code_object(X86_64, own, NULL, 0), neither},
        {"without its last section", shortened(code_object(AMD_GPU, own, some, sizeof some), 64), neither},
        {"without its last byte", shortened(code_object(AMD_GPU, own, some, sizeof some), 1), neither},
        {"63 bytes", shortened(code_object(AMD_GPU, own, NULL, 0), 1), neither},
        {"sections at the end of memory", changed(code_object(AMD_GPU, own, some, sizeof some), 40, UINT64_MAX - 63),
         neither},
        {"of 32 bits", changed(code_object(AMD_GPU, own, NULL, 0), 0, UINT64_C(0x40010101464c457f)), neither},
        {"of other targets", bundle(others, 3), no_target},
        {"for the host", bundle(host, 1), "only for none at all"},
        {"of nothing", bundle(host, 0), "only for none at all"},
        {"that says what is not so", bundle(mixed_up, 3), "does not take config.gpu.kernels"},
        {"of empty entries", bundle(empty, 3), neither},
        {"PTX", bytes_of(text, sizeof text - 1), neither},
        {"compressed", bytes_of(compressed, sizeof compressed), neither},
    };
    snprintf(no_target, sizeof no_target, "has no kernels for this device, a %s, only for gfx1030, gfx90a:xnack+",
             own_name);
    config.gpu.kernels_path = NULL;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        where("image: %s", images[i].name);
        check_image(g, &f, config, &expected, &images[i].image, images[i].words);
    }
    check_targets(g, &f, config, &expected);
    check_broken_bundles(g, &f, config, &expected);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        where("image file %s", paths[i]);
        config.gpu.kernels_path = paths[i];
        check_unusable(g, &f, config, &expected, paths[i]);
    }
    config.gpu.kernels_path = NULL;
    for (int shift = 0; shift < 2; shift++) {
        char *moved = (char *)malloc(size + 2);
        scores got;
        where("the image in memory, at an address that is %s", shift ? "odd" : "even");
        test_need(moved != NULL, "memory");
        memcpy(moved + shift, file, size);
        config.gpu.kernels = moved + shift;
        config.gpu.kernels_size = size;
        got = film_score(&f, &config);
        check_same_scores(&got, &expected);
        scores_free(&got);
        free(moved);
    }
    free(file);
    scores_free(&expected);
    film_free(&f);
}

static void test_images(gpu *g) {
    if (!g->is_hip) {
        check_texts(g);
    } else if (g->is_simulated) {
        check_code_objects(g);
    } else {
        test_skip("images: whole code objects are needed here");
    }
}

static void test_no_device(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 2, 96);
    vmafgpu_config usable = gpu_config(g, &f), config = usable;
    scores expected = cpu_score(&f, &config);
    vmafgpu *context = NULL;
    where("device 99");
    config.gpu.device = 99;
    check_unusable(g, &f, config, &expected, "config.gpu.device is 99");
    config = usable;
    where("no such library");
    config.gpu.driver_path = "/there/is/no/library.so";
    check_unusable(g, &f, config, &expected, "/there/is/no/library.so");
    where("a library without the functions");
    config.gpu.driver_path = "libm.so.6";
    check_unusable(g, &f, config, &expected, g->vendor->init);
    config = usable;
    if (g->is_hip) {
        int stream = 0;
        where("what AUTO takes for CUDA's");
        config.backend = VMAFGPU_BACKEND_AUTO;
        config.gpu.frames = VMAFGPU_MEMORY_DEVICE;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
        CHECK(strstr(vmafgpu_last_error(context), "hip: ") == NULL);
        vmafgpu_close(context);
        config.gpu.frames = VMAFGPU_MEMORY_HOST;
        config.gpu.stream = &stream;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK);
        CHECK_STR(vmafgpu_backend_name(context), "cpu");
        vmafgpu_close(context);
        config = usable;
    }
    where("more memory than there is");
    config.width = config.height = 16384;
    config.bit_depth = 16;
    config.gpu.batch = 32;
    config.gpu.queue = 8;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
    CHECK_HAS(vmafgpu_last_error(context), "MB of device memory");
    CHECK_HAS(vmafgpu_last_error(context), "config.gpu.batch is 32");
    vmafgpu_close(context);
    if (g->is_simulated) {
        where("little memory");
        g->sim.set(SIMULATED_DEVICE_MEMORY, 100000);
        check_unusable(g, &f, usable, &expected, "of 0.1 MB");
        g->sim.set(SIMULATED_DEVICE_MEMORY, 1 << 30);
        where("no devices");
        g->sim.set(SIMULATED_DEVICES, 0);
        check_unusable(g, &f, usable, &expected, "no device");
        g->sim.set(SIMULATED_DEVICES, 2);
        where("a device that there are no kernels for");
        g->sim.set(SIMULATED_CAPABILITY, !g->is_hip ? 70 : g->sim.lanes() == 32 ? GFX1030 : GFX908);
        check_unusable(g, &f, usable, &expected, "");
        if (g->is_hip) {
            where("waves of another width than the kernels for such a device");
            g->sim.set(SIMULATED_CAPABILITY, g->sim.lanes() == 32 ? GFX942 : GFX1100);
            check_unusable(g, &f, usable, &expected, "waves of");
        }
    }
    scores_free(&expected);
    film_free(&f);
}

/* ---- memory ---- */

static void test_memory(gpu *g) {
    film f = film_make("texture+mix", 64, 48, 8, 3, 97);
    vmafgpu_config config = gpu_config(g, &f);
    size_t smallest = 0;
    for (int batch = 1; batch <= 4; batch *= 2) {
        const long long before = g->is_simulated ? g->sim.live_bytes() : 0;
        vmafgpu *context;
        where("memory, batch %d", batch);
        config.gpu.batch = batch;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_get_config(context)->gpu.batch, batch);
        CHECK(vmafgpu_get_config(context)->gpu.queue >= 2 && vmafgpu_get_config(context)->gpu.queue <= 4);
        CHECK(vmafgpu_get_config(context)->gpu.arithmetic == 1 || vmafgpu_get_config(context)->gpu.arithmetic == 2);
        CHECK(vmafgpu_device_memory(context) > smallest);
        smallest = vmafgpu_device_memory(context);
        if (g->is_simulated) {
            CHECK_INT(vmafgpu_device_memory(context), g->sim.live_bytes() - before);
        }
        vmafgpu_close(context);
    }
    film_free(&f);
}

/* ---- samples that do not fit ---- */

/* Sets a bit in one sample of a picture. */
static void picture_mar(gpu *g, picture *p, size_t byte, int bit) {
    p->bytes[byte] |= (unsigned char)(1 << bit);
    if (p->address) {
        CHECK_INT(g->write(p->address, p->bytes, p->size), 0);
    }
}

/* The mean of a column over the frames that have a score, in their order. */
static double mean_without(const scores *s, int column, int first, int end) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < s->rows; i++) {
        if (i < first || i >= end) {
            sum += s->values[i * s->columns + column];
            count++;
        }
    }
    return sum / count;
}

/* Results as the callback sees them. */
typedef struct verdicts {
    int            count, in_order;
    vmafgpu_result results[16];
} verdicts;

static void note_verdict(void *user, const vmafgpu_score *score) {
    verdicts *v = (verdicts *)user;
    v->in_order &= score->index == v->count;
    v->results[v->count++ & 15] = score->result;
}

/* A frame of a picture on the device, as the CPU finds it in the picture's own bytes. */
static vmafgpu_frame bytes_frame(const picture *p) {
    vmafgpu_frame frame = p->frame;
    frame.memory = VMAFGPU_MEMORY_HOST;
    for (int i = 0; i < 3; i++) {
        frame.data[i] = p->frame.data[i] ? p->bytes + ((uintptr_t)p->frame.data[i] - (uintptr_t)p->address) : NULL;
    }
    return frame;
}

static void picture_flip(gpu *g, picture *p, size_t byte, int bit) {
    p->bytes[byte] = (unsigned char)(p->bytes[byte] ^ 1 << bit);
    CHECK_INT(g->write(p->address, p->bytes, p->size), 0);
}

/* Words of chroma that do not fit the bit depth, anywhere: the GPU finds those that the CPU finds. */
static void test_v1_speed_illegal(gpu *g) {
    static const struct {
        int         width, height, depth;
        storage     how;
        const char *options;
    } cases[] = {
        {192, 176, 10, {"d", 0, 0, 0, 0, 0}, NULL},
        {189, 170, 10, {"d", 0, 0, 384, 0, 0}, NULL},  /* wide rows that end within eight samples */
        {189, 170, 10, {"d", 0, 6, 384, 0, 0}, NULL},
        {184, 170, 12, {"d", 0, 0, -384, 0, 1}, NULL},
        {189, 170, 10, {"d", 0, 0, 0, 0, 0}, NULL},
        {189, 170, 9, {"d", 0, 0, 0, 1, 0}, NULL},
        {160, 130, 8, {"d", 2, 0, 0, 0, 0}, NULL},
        {160, 130, 16, {"d", 0, 0, 0, 0, 0}, NULL},
        {189, 170, 10, {"d", 0, 0, 0, 0, 0}, "speed_kernelscale=0.5"},
        {200, 190, 10, {"d", 0, 0, 0, 0, 0}, "speed_prescale=0.5:speed_prescale_method=bilinear"},
        {200, 190, 10, {"d", 0, 6, 0, 0, 0}, "speed_prescale=0.75"},
    };
    enum { TRIES = 16 };
    uint32_t seed = 5;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        film f = film_make_colour("noise+mix", cases[i].width, cases[i].height, cases[i].depth, 444, 1, (uint32_t)i);
        const storage *how = &cases[i].how;
        vmafgpu_config config = gpu_config(g, &f), plain;
        vmafgpu_feature_config feature;
        reel r = reel_make(g, &f, how);
        int found = 0;
        feature.name = "speed_chroma";
        feature.options = cases[i].options;
        config.no_model = 1;
        config.features = &feature;
        config.feature_count = 1;
        config.bytes_per_sample = how->bytes_per_sample;
        config.layout = how->shift ? VMAFGPU_SEMIPLANAR_HIGH : how->interleaved ? VMAFGPU_SEMIPLANAR : VMAFGPU_PLANAR;
        plain = config;
        plain.backend = VMAFGPU_BACKEND_CPU;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            const int side = attempt & 1, v = attempt >> 1 & 1;
            const int interleaved = how->shift || how->interleaved, step = interleaved ? 4 : 2;
            picture *p = &r.pictures[side];
            vmafgpu_frame frames[2];
            vmafgpu *contexts[2];
            vmafgpu_result results[2];
            ptrdiff_t pitch = p->frame.pitch[interleaved ? 1 : 1 + v];
            uintptr_t place;
            size_t at;
            int x, y, bit = how->shift ? 0 : cases[i].depth == 16 ? 7 : 15;
            seed = seed * 1664525u + 1013904223u;
            x = attempt % 4 == 3 ? cases[i].width - 1 : (int)((seed >> 8) % (uint32_t)cases[i].width);
            y = attempt == 8 ? 0 : attempt == 9 ? cases[i].height - 1 : (int)((seed >> 10) % (uint32_t)cases[i].height);
            pitch = pitch ? pitch : (ptrdiff_t)cases[i].width * step;
            place = (uintptr_t)p->frame.data[interleaved ? 1 : 1 + v] + (uintptr_t)(y * pitch) +
                    (uintptr_t)(x * step + (interleaved ? 2 * v : 0) + bit / 8);
            at = (size_t)(place - (uintptr_t)p->address);
            where("illegal chroma, case %d, side %d, plane %d, column %d, row %d", (int)i, side, v, x, y);
            picture_flip(g, p, at, bit % 8);
            for (int k = 0; k < 2; k++) {
                contexts[k] = open_checked(k ? &config : &plain);
                for (int n = 0; n < 2; n++) {
                    frames[n] = k ? r.pictures[n].frame : bytes_frame(&r.pictures[n]);
                }
                results[k] = vmafgpu_push(contexts[k], &frames[0], &frames[1]);
                if (results[k] == VMAFGPU_OK) {
                    results[k] = vmafgpu_flush(contexts[k]);
                }
            }
            CHECK_INT(results[1], results[0]);
            if (results[0] == VMAFGPU_ERROR_FRAME) {
                found++;
                CHECK_HAS(vmafgpu_last_error(contexts[0]), side ? "distorted" : "reference");
                CHECK_HAS(vmafgpu_last_error(contexts[1]), side ? "distorted" : "reference");
            }
            for (int k = 0; k < 2; k++) {
                vmafgpu_close(contexts[k]);
            }
            picture_flip(g, p, at, bit % 8);
        }
        CHECK(cases[i].depth == 16 ? found == 0 : found > 1);
        CHECK(cases[i].depth == 16 || found < TRIES);
        reel_free(g, &r);
        film_free(&f);
    }
}

/* A bad seed or tail takes those pairs along whose motion looks at it; a distorted frame that nobody looks at, none. */
static void test_illegal_neighbours(gpu *g) {
    enum { FRAMES = 6, FIRST = 2, END = 5 };
    for (int way = 0; way < 4; way++) {
        film f = film_make("texture+mix", 40, 36, 10, FRAMES, 103);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, "d");
        verdicts v;
        vmafgpu *context;
        where("illegal neighbour, way %d", way);
        memset(&v, 0, sizeof v);
        v.in_order = 1;
        config.gpu.batch = 1 + way;
        config.discard_scores = 1;
        config.on_score = note_verdict;
        config.on_score_user = &v;
        config.subsample = way == 2 ? 3 : 0;
        picture_mar(g, &r.pictures[way == 0 ? 2 * (FIRST - 1) : way == 1 ? 2 * END : 2 * (FIRST + 1) + 1], 1, 5);
        context = open_checked(&config);
        if (context) {
            CHECK_INT(vmafgpu_seed(context, reel_frame(&r, FIRST - 1, 0)), VMAFGPU_OK);
            for (int i = FIRST; i < END; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_tail(context, reel_frame(&r, END, 0)), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), way == 2 ? VMAFGPU_OK : VMAFGPU_ERROR_FRAME);
            CHECK(v.in_order);
            CHECK_INT(v.count, way == 2 ? 1 : END - FIRST);
            for (int i = 0; i < v.count; i++) {
                const int is_spoilt = way == 0 ? i == 0 : way == 1 ? i == END - FIRST - 1 : way == 3;
                CHECK_INT(v.results[i], is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
            }
            check_on_gpu(g, context);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        film_free(&f);
    }
}

/* A chroma sample that SpEED reads takes its pair along, and those whose motion looks at that one; one that it does not
 * read, none. */
static void test_illegal_chroma(gpu *g) {
    static const char *const kinds[] = {"d", "p", "h"};
    enum { FRAMES = 5, BAD = 2 };
    for (int way = 0; way < 12; way++) {
        const int side = way / 3 % 2, is_read = way < 6;
        film f = small_film(V1, 0, 0, 10, FRAMES, 104);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way % 3]);
        picture *bad = &r.pictures[2 * BAD + side];
        scores expected;
        vmafgpu *context;
        where("illegal chroma, '%s', side %d%s", kinds[way % 3], side, is_read ? "" : ", not read");
        select_features(&config, &selections[V1]);
        config.gpu.batch = 2;
        expected = cpu_score(&f, &config);
        picture_mar(g, bad,
                    is_read ? (size_t)((const char *)bad->frame.data[1 + side] - (const char *)bad->frame.data[0]) + 1
                            : bad->size - 1,
                    3);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        if (context) {
            const int reach = vmafgpu_seed_count(context);
            vmafgpu_score score;
            CHECK_INT(vmafgpu_flush(context), is_read ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
            for (int i = 0; i < FRAMES; i++) {
                const int is_spoilt = is_read && i >= BAD - reach && i <= BAD + reach;
                CHECK_INT(vmafgpu_next(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                if (is_spoilt) {
                    CHECK_HAS(vmafgpu_last_error(context), "chroma");
                    CHECK_HAS(vmafgpu_last_error(context), side ? "distorted" : "reference");
                } else {
                    check_row(score.values, expected.values + i * expected.columns, expected.columns);
                }
            }
            check_on_gpu(g, context);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

static void test_illegal(gpu *g) {
    static const struct {
        const char *kinds;
        int         depth, bytes, shift, byte, bit; /* of the first sample, or of the last one if below 0 */
        int         side, selected, batch;
    } cases[] = {
        {"d", 10, 0, 0, 1, 4, CLIP_REFERENCE, DEFAULT, 2}, {"d", 10, 0, 0, -1, 2, CLIP_DISTORTED, DEFAULT, 1},
        {"p", 10, 0, 0, 1, 4, CLIP_DISTORTED, DEFAULT, 3}, {"p", 10, 0, 0, -1, 7, CLIP_REFERENCE, DEFAULT, 2},
        {"d", 10, 0, 6, 0, 5, CLIP_REFERENCE, DEFAULT, 2}, {"d", 8, 2, 0, -1, 0, CLIP_DISTORTED, DEFAULT, 2},
        {"d", 12, 0, 0, -1, 4, CLIP_DISTORTED, VIF, 2},    {"d", 12, 0, 0, -1, 4, CLIP_DISTORTED, ADM, 2},
        {"p", 15, 0, 0, -1, 7, CLIP_REFERENCE, ADM, 2},    {"d", 9, 0, 0, -1, 1, CLIP_REFERENCE, MOTION, 2},
        {"p", 10, 0, 0, 1, 3, CLIP_REFERENCE, MOTION, 1},  {"d", 10, 0, 0, 1, 3, CLIP_REFERENCE, VIF, 4},
    };
    enum { FRAMES = 8, BAD = 3 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int width = i % 2 && cases[i].kinds[0] == 'd' ? 41 : 40;
        film f = film_make("texture+mix", width, 36, cases[i].depth, FRAMES, 101);
        vmafgpu_config config = gpu_config(g, &f);
        storage how;
        reel r;
        scores expected;
        vmafgpu *context;
        picture *bad;
        memset(&how, 0, sizeof how);
        how.kinds = cases[i].kinds;
        how.bytes_per_sample = cases[i].bytes;
        how.shift = cases[i].shift;
        config.bytes_per_sample = cases[i].bytes;
        config.layout = cases[i].shift ? VMAFGPU_SEMIPLANAR_HIGH : VMAFGPU_PLANAR;
        config.gpu.batch = cases[i].batch;
        select_features(&config, &selections[cases[i].selected]);
        expected = cpu_score(&f, &config);
        r = reel_make(g, &f, &how);
        bad = &r.pictures[2 * BAD + cases[i].side];
        picture_mar(g, bad, cases[i].byte < 0 ? bad->size - 1 : (size_t)cases[i].byte, cases[i].bit);
        context = open_checked(&config);
        if (context) {
            /* the frames whose motion looks at the bad one */
            const int reach = vmafgpu_seed_count(context), first = BAD - reach, end = BAD + reach + 1;
            vmafgpu_score score;
            double mean = 0;
            where("illegal sample, case %d", (int)i);
            for (int k = 0; k < FRAMES; k++) {
                CHECK_INT(reel_push(&r, context, k), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_FRAME);
            for (int k = 0; k < FRAMES; k++) {
                const int is_spoilt = k >= first && k < end;
                CHECK_INT(vmafgpu_next(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                CHECK_INT(score.index, k);
                CHECK_INT(score.result, is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                if (is_spoilt) {
                    char words[32];
                    snprintf(words, sizeof words, "frame %d ", k);
                    CHECK_HAS(vmafgpu_last_error(context), words);
                    CHECK(score.values[0] != score.values[0]);
                } else {
                    check_row(score.values, expected.values + k * expected.columns, expected.columns);
                }
            }
            CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_END);
            for (int column = 0; column < expected.columns; column++) {
                CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_MEAN, &mean), VMAFGPU_OK);
                CHECK_BITS(mean, mean_without(&expected, column, first, end));
            }
            CHECK_INT(vmafgpu_score_pair(context, NULL, reel_frame(&r, BAD, 0), reel_frame(&r, BAD, 1), &score),
                      VMAFGPU_ERROR_FRAME);
            CHECK_INT(vmafgpu_score_pair(context, NULL, reel_frame(&r, 0, 0), reel_frame(&r, 0, 1), &score),
                      VMAFGPU_OK);
            check_on_gpu(g, context);
            /* nothing of it sticks */
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            for (int k = BAD + 1; k < FRAMES; k++) {
                CHECK_INT(reel_push(&r, context, k), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }

    test_illegal_neighbours(g);
    test_illegal_chroma(g);

    /* In memory that the CPU reads the push fails, and the clip goes on. So it is with pageable memory, and with pinned
     * memory whose rows are no whole words. */
    for (int way = 0; way < 4; way++) {
        const int side = way % 2;
        const char *kind = way < 2 ? "h" : "p";
        film f = film_make("texture+mix", 41, 36, 10, 5, 102);
        vmafgpu_config config = gpu_config(g, &f);
        scores expected = cpu_score(&f, &config);
        reel r = reel_of_kinds(g, &f, kind), bad = reel_of_kinds(g, &f, kind);
        vmafgpu *context;
        vmafgpu_score score;
        where("illegal sample in memory '%s', side %d", kind, side);
        config.gpu.batch = 2;
        context = open_checked(&config);
        for (int i = 0; i < 5 && context; i++) {
            picture_mar(g, &bad.pictures[2 * i + side], 701, 2);
            CHECK_INT(reel_push(&bad, context, i), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(context), side ? "distorted" : "reference");
            CHECK_INT(vmafgpu_score_pair(context, NULL, reel_frame(&bad, i, 0), reel_frame(&bad, i, 1), &score),
                      VMAFGPU_ERROR_FRAME);
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        if (context) {
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        reel_free(g, &bad);
        scores_free(&expected);
        film_free(&f);
    }
}

/* ---- failures, on the simulated GPU ---- */

/* The pair by itself comes before its frames are pushed. */
enum { SHORT_FRAMES = 8, PAIR = 4, PAIR_BEFORE = 3 };

/* How the run goes. Without a pair by itself the queue is full now and then. */
typedef struct course {
    int batch, queue;
    int pair_at; /* behind which frame a pair is scored by itself; -1: none */
    int spoils;  /* host frames are overwritten as soon as they may be */
} course;

/* What the CPU makes of the short run. */
typedef struct answers {
    scores  clip;
    double *pair; /* of vmafgpu_score_pair() */
} answers;

static answers short_answers(const film *f, int selected) {
    answers a;
    vmafgpu_config config = film_config(f);
    vmafgpu_frame before = film_frame(f, PAIR_BEFORE, 0), reference = film_frame(f, PAIR, 0),
                  distorted = film_frame(f, PAIR, 1);
    vmafgpu_score score;
    vmafgpu *context;
    config.backend = VMAFGPU_BACKEND_CPU;
    select_features(&config, &selections[selected]);
    a.clip = cpu_score(f, &config);
    a.pair = (double *)calloc((size_t)a.clip.columns, sizeof *a.pair);
    context = open_checked(&config);
    test_need(a.pair && context && vmafgpu_score_pair(context, &before, &reference, &distorted, &score) == VMAFGPU_OK,
              "answers");
    memcpy(a.pair, score.values, sizeof *a.pair * (size_t)a.clip.columns);
    vmafgpu_close(context);
    return a;
}

/* Overwrites what may be reused, in host memory. */
static void spoil_reusable(const reel *r, vmafgpu *context, int64_t *spoilt) {
    for (const int64_t reusable = vmafgpu_reusable(context); *spoilt < reusable; ++*spoilt) {
        memset(r->pictures[2 * *spoilt].bytes, 0xA7, r->pictures[2 * *spoilt].size);
        memset(r->pictures[2 * *spoilt + 1].bytes, 0xA7, r->pictures[2 * *spoilt + 1].size);
    }
}

/* Whether the engine may do without what this entry point gives. */
static int is_harmless(const char *entry) {
    static const char *const entries[] = {"cuCtxPopCurrent_v2", "cuDeviceGetName",
                                          "cuModuleGetFunction" /* of a better form */,
                                          "hipGetDevice", "hipSetDevice" /* to the caller's */};
    int found = 0;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        found |= strcmp(entry, entries[i]) == 0;
    }
    return found;
}

/* One run from open to close, in which a call of the driver or an allocation may fail. on_device: frames are where the
 * CPU cannot read them. */
static void short_run(gpu *g, const reel *r, const vmafgpu_config *config, const answers *expected, const tally *t,
                      const course *way) {
    const int on_device = config->gpu.frames == VMAFGPU_MEMORY_DEVICE;
    const int must_open = config->backend == VMAFGPU_BACKEND_AUTO && !on_device && !t->fail_at;
    vmafgpu *context = NULL;
    vmafgpu_score score;
    int64_t spoilt = 0;
    int missing = 0;
    vmafgpu_result result = vmafgpu_open(&context, config);
    if (result != VMAFGPU_OK) {
        CHECK(!must_open || t->failed);
        CHECK_INT(result, t->failed && result == VMAFGPU_ERROR_MEMORY ? VMAFGPU_ERROR_MEMORY : VMAFGPU_ERROR_BACKEND);
        CHECK(t->failed || g->sim.hit()[0] != 0);
        CHECK(strlen(vmafgpu_last_error(context)) > 10);
        vmafgpu_close(context);
        return;
    }
    for (int i = 0; i < SHORT_FRAMES; i++) {
        CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
        if (way->spoils) {
            spoil_reusable(r, context, &spoilt);
        }
        if (i == way->pair_at) {
            result = vmafgpu_score_pair(context, reel_frame(r, PAIR_BEFORE, 0), reel_frame(r, PAIR, 0),
                                        reel_frame(r, PAIR, 1), &score);
            if (on_device && result != VMAFGPU_OK) {
                CHECK_INT(result, VMAFGPU_ERROR_DEVICE);
                CHECK_HAS(vmafgpu_last_error(context), "single pair");
            } else if (CHECK_INT(result, VMAFGPU_OK)) {
                check_row(score.values, expected->pair, expected->clip.columns);
            }
        }
        if (way->spoils && i == 3) {
            CHECK_INT(vmafgpu_wait(context, 3), VMAFGPU_OK);
            CHECK(vmafgpu_reusable(context) >= 3);
            spoil_reusable(r, context, &spoilt);
        }
    }
    result = vmafgpu_flush(context);
    for (int i = 0; i < SHORT_FRAMES; i++) {
        const vmafgpu_result came = vmafgpu_next(context, &score);
        CHECK_INT(score.index, i);
        if (on_device && came != VMAFGPU_OK) {
            char words[32];
            snprintf(words, sizeof words, "frame %d ", i);
            CHECK_INT(came, VMAFGPU_ERROR_DEVICE);
            CHECK_INT(score.result, VMAFGPU_ERROR_DEVICE);
            CHECK_HAS(vmafgpu_last_error(context), words);
            missing++;
        } else if (CHECK_INT(came, VMAFGPU_OK)) {
            check_row(score.values, expected->clip.values + i * expected->clip.columns, expected->clip.columns);
        }
    }
    CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_END);
    CHECK_INT(result, missing ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
    CHECK(!missing || g->sim.hit()[0] != 0);

    /* once more, shorter; what failed stays failed, and frames on the device cannot be had */
    CHECK_INT(vmafgpu_reusable(context), SHORT_FRAMES);
    if (!way->spoils) {
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
        }
        result = vmafgpu_flush(context);
        if (on_device && result != VMAFGPU_OK) {
            CHECK_INT(result, VMAFGPU_ERROR_DEVICE);
        } else if (CHECK_INT(result, VMAFGPU_OK) && CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_OK)) {
            check_row(score.values, expected->clip.values, expected->clip.columns);
        }
    }
    {
        const int has_failed = vmafgpu_backend_note(context)[0] != 0;
        CHECK_STR(vmafgpu_backend_name(context), has_failed ? "cpu" : g->vendor->name);
        if (!CHECK(has_failed == (g->sim.hit()[0] || t->failed) || is_harmless(g->sim.hit()))) {
            printf("it failed in %s\n", g->sim.hit());
        }
    }
    vmafgpu_close(context);
}

enum { ONE_CALL, LOST, ALLOCATION, FAULTS };

/* Runs with a fault of this sort at the first, second, ... occasion until there are no more. */
static void check_faults(gpu *g, const film *f, int selected, const answers *expected, const char *kind,
                         vmafgpu_backend backend, int fault, const course *way, int stride) {
    static const int errors[] = {2, 700, 719, 999};
    static const char *const names[FAULTS] = {"call", "lost from call", "allocation"};
    vmafgpu_config config = gpu_config(g, f);
    reel r = reel_of_kinds(g, f, kind);
    long baseline[SIMULATED_KINDS], runs = 0;
    int is_over = 0;
    config.backend = backend;
    config.gpu.frames = *kind == 'd' ? VMAFGPU_MEMORY_DEVICE : VMAFGPU_MEMORY_HOST;
    config.gpu.batch = way->batch;
    config.gpu.queue = way->queue;
    select_features(&config, &selections[selected]);
    for (long n = 1; !is_over; n += stride) {
        tally t;
        where("%s %ld fails, '%s', backend %d, batch %d, queue %d%s", names[fault], n, kind, (int)backend, way->batch,
              way->queue, way->spoils ? ", reuse" : "");
        if (way->spoils && runs) {
            reel_free(g, &r);
            r = reel_of_kinds(g, f, kind);
        }
        for (int i = 0; i < SIMULATED_KINDS; i++) {
            baseline[i] = g->sim.live(i);
        }
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        if (fault == ONE_CALL) {
            g->sim.fail(NULL, n, errors[runs % 4]);
        } else if (fault == LOST) {
            g->sim.lose(n, errors[1 + runs % 3]);
        } else {
            t.fail_at = n;
        }
        short_run(g, &r, &config, expected, &t, way);
        is_over = fault == ALLOCATION ? !t.failed : g->sim.hit()[0] == 0;
        /* While the device is lost no context can be made current, so what is in it goes with it. */
        for (int i = 0; i < (fault == LOST ? 1 : SIMULATED_KINDS); i++) {
            if (!CHECK_INT(g->sim.live(i), baseline[i])) {
                printf("kind %d of objects; it failed in %s; %s %ld %s\n", i, g->sim.hit(), names[fault], n, kind);
            }
        }
        g->sim.fail(NULL, 0, 0);
        g->sim.lose(0, 0);
        gpu_check_caller(g);
        CHECK_INT(t.live, 0);
        CHECK_INT(fault == LOST ? 0 : g->sim.pending(), 0);
        runs++;
        test_need(n < 5000, "the run never ends");
    }
    CHECK(runs > 5);
    reel_free(g, &r);
    if (fault == LOST) {
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

static void check_all_faults(gpu *g) {
    static const course plain = {2, 2, 2, 0}, reuse = {2, 2, 2, 1}, full[] = {{1, 1, -1, 0}, {1, 2, -1, 0}, {2, 2, -1, 1}};
    const vmafgpu_backend backend = g->vendor->backend;
    film f = small_film(DEFAULT, 20, 18, 8, SHORT_FRAMES, 111);
    answers expected = short_answers(&f, DEFAULT);
    check_faults(g, &f, DEFAULT, &expected, "h", VMAFGPU_BACKEND_AUTO, ONE_CALL, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "p", backend, ONE_CALL, &reuse, 1);
    check_faults(g, &f, DEFAULT, &expected, "d", backend_for_device(g), ONE_CALL, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "hp", backend, LOST, &reuse, 3);
    check_faults(g, &f, DEFAULT, &expected, "d", backend, LOST, &plain, 3);
    check_faults(g, &f, DEFAULT, &expected, "h", VMAFGPU_BACKEND_AUTO, ALLOCATION, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "d", backend, ALLOCATION, &plain, 1);
    for (int i = 0; i < 3; i++) {
        check_faults(g, &f, DEFAULT, &expected, i == 1 ? "hp" : i ? "p" : "h", backend, ONE_CALL, &full[i], 1);
    }
    scores_free(&expected.clip);
    free(expected.pair);
    film_free(&f);
}

/* Where the CPU needs chroma to take over, and the GPU has more to do. */
static void check_faults_of_v1(gpu *g) {
    static const course plain = {2, 2, 2, 0}, reuse = {2, 2, -1, 1};
    const vmafgpu_backend backend = g->vendor->backend;
    film f = small_film(V1, 20, 18, 8, SHORT_FRAMES, 112);
    answers expected = short_answers(&f, V1);
    check_faults(g, &f, V1, &expected, "h", VMAFGPU_BACKEND_AUTO, ONE_CALL, &plain, 11);
    check_faults(g, &f, V1, &expected, "hp", backend, LOST, &reuse, 17);
    check_faults(g, &f, V1, &expected, "p", backend, ALLOCATION, &reuse, 1);
    scores_free(&expected.clip);
    free(expected.pair);
    film_free(&f);
}

static void test_failures(gpu *g) {
    if (!g->is_simulated) {
        test_skip("failures: this driver does not fail on demand");
        return;
    }
    check_all_faults(g);
    check_faults_of_v1(g);
}

/* ---- orders of execution ---- */

/* Blocks, warps and streams in every order that the simulation has. */
static void test_orders(gpu *g) {
    static const equality cases[] = {
        {"texture+mix", 49, 37, 8, 6, {"hpd", 0, 0, 0, 0, 0}, 2, 2, MANY, 0, 0, KEPT, 0},
        {"texture+stretch", 48, 37, 10, 5, {"d", 0, 0, 0, 0, 0}, 1, 3, DEFAULT, 0, 2, KEPT, 0},
        {"texture+mix", 28, 20, 8, 8, {"d", 0, 0, 0, 0, 0}, 1, 3, WINDOWS, 0, 0, KEPT, 0}, /* looks two batches back */
    };
    if (!g->is_simulated) {
        test_skip("orders of execution: this is no simulation");
        return;
    }
    for (int blocks = SIMULATED_FORWARD; blocks <= SIMULATED_SHUFFLED; blocks++) {
        for (int streams = SIMULATED_LAZY; streams <= SIMULATED_MIXED; streams++) {
            gpu_end(g);
            gpu_begin(g, blocks, streams, 17u + (uint64_t)streams);
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if ((blocks + streams + (int)i) % 2 == 0 || i != 1) {
                    check_generated(g, &cases[i], 7);
                }
            }
        }
    }
    for (int streams = SIMULATED_EAGER; streams <= SIMULATED_MIXED; streams++) {
        gpu_end(g);
        gpu_begin(g, SIMULATED_FORWARD, streams, 5);
        test_caller_stream(g);
        test_reuse(g);
        test_single(g);
        test_rhythm(g);
    }
}

static const struct {
    const char *name;
    void (*run)(gpu *g);
} groups[] = {
    {"equality", test_equality},
    {"v1", test_v1},
    {"v1_cambi", test_v1_cambi},
    {"v1_speed", test_v1_speed},
    {"v1_speed_illegal", test_v1_speed_illegal},
    {"random", test_random},
    {"clips", test_clips},
    {"sums", test_sums},
    {"partial", test_partial},
    {"reuse", test_reuse},
    {"caller_stream", test_caller_stream},
    {"caller_context", test_caller_context},
    {"single", test_single},
    {"segments", test_segments},
    {"break_off", test_break_off},
    {"full", test_full},
    {"rhythm", test_rhythm},
    {"two_contexts", test_two_contexts},
    {"threads", test_threads},
    {"kinds_of_memory", test_kinds_of_memory},
    {"images", test_images},
    {"no_device", test_no_device},
    {"memory", test_memory},
    {"illegal", test_illegal},
    {"failures", test_failures},
    {"orders", test_orders},
};

int main(int argc, char **argv) {
    const char *driver = getenv("VMAFGPU_TEST_DRIVER"), *kernels = getenv("VMAFGPU_TEST_KERNELS"),
               *vendor_name = getenv("VMAFGPU_TEST_BACKEND");
    gpu g;
    if (!driver || !kernels) {
        test_skip("VMAFGPU_TEST_DRIVER and VMAFGPU_TEST_KERNELS name no GPU");
        return test_end();
    }
    gpu_find(&g, vendor_name ? vendor_name : "cuda", driver, kernels);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        int is_wanted = argc == 1;
        for (int k = 1; k < argc; k++) {
            is_wanted |= strcmp(argv[k], groups[i].name) == 0;
        }
        if (is_wanted) {
            gpu_begin(&g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
            groups[i].run(&g);
            gpu_end(&g);
        }
    }
    return test_end();
}
