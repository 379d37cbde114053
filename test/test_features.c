/* Tests float models and the features that integer models do not use. The files in ../shared/golden_extra and
 * ../shared/golden_float contain the libvmaf values. Compares the aggregates and, for each frame, every column that
 * this build supports, bit for bit.
 *
 * With DEPTH=all, each whole clip is compared in each of the ways below. Otherwise each clip is compared in two of the
 * ways (in one with sanitizers or a RUNNER), and clips with aggregates or many frames are compared only in their first
 * frames. Each set of features still runs in all ways and at all depths.
 *
 * VMAFGPU_TEST_BACKEND, _DRIVER and _KERNELS select a GPU, as for test_gpu. The GPU must then compute everything.
 * Without DEPTH=all, only the first frames of the smaller clips are compared. */
#include "golden.h"

#include <math.h>

enum { FEATURES = 12, BEGINNING = 4 };

/* The features and options in one kind of file. */
typedef struct golden_set {
    const char *folder, *kind;
    const vmafgpu_feature_config features[FEATURES];
    int least; /* minimum number of columns that must be compared in all clips together */
} golden_set;

/* clang-format off */
static const golden_set sets[] = {
    {"golden_extra", "extra_features", {{"psnr", "enable_mse=true:enable_apsnr=true"}, {"psnr_hvs", NULL},
    {"ciede", NULL}, {"speed_temporal", NULL}},
     6 * 13 + 4 * 12 + 13 + 12},
    {"golden_extra", "extra_db", {{"psnr", "reduced_hbd_peak=true:min_sse=0.5:enable_apsnr=true"}}, 3 * 13},
    {"golden_float", "float_features", {{"float_ansnr", NULL}, {"float_motion", NULL}, {"float_vif",
     "debug=true"}}, 280},
    {"golden_float", "float_options",
     {{"float_vif", "vif_enhn_gain_limit=1:vif_scale1_min_val=0.9:vif_sigma_nsq=0.7:debug=true"},
      {"float_vif", "vif_kernelscale=1.5"},
      {"float_vif", "vif_prescale=0.5:vif_prescale_method=bicubic:vif_skip_scale0=true"},
      {"float_vif", "vif_prescale=0.7:vif_prescale_method=lanczos4"},
      {"float_vif", "vif_prescale=1.25:vif_prescale_method=bilinear"},
      {"float_vif", "vif_prescale=0.6"},
      {"float_motion", "motion_add_scale1=true:motion_filter_size=3:motion_blend_factor=0.4:motion_blend_offset=2"},
      {"float_motion", "motion_filter_size=1:motion_fps_weight=0.5:motion_max_val=6:debug=false"},
      {"float_motion", "motion_add_uv=true"}},
     570},
    {"golden_extra", "extra_opts", {{"psnr", "enable_chroma=false:enable_apsnr=true"}}, 13},
    {"golden_extra",
     "extra_db",
     {{"speed_temporal",
      "speed_prescale=0.5:speed_prescale_method=bilinear:speed_use_ref_diff=true:speed_sigma_nn=0.19:"
                         "speed_nn_floor=0.1"}},
     12},
    {"golden_extra",
     "extra_opts",
     {{"speed_temporal", "speed_kernelscale=0.5:speed_prescale=0.75:speed_max_val=5"},
      {"speed_temporal", "speed_kernelscale=0.5:speed_max_val=5"}},
     12},
    {"golden_extra", "extra_features", {{"float_psnr", NULL}, {"float_ssim", "enable_lcs=true"}}, 5 * 14},
    {"golden_extra", "extra_features", {{"float_ms_ssim", "enable_lcs=true"}, {"psnr", NULL}}, 16 * 13 + 3 * 14},
    {"golden_extra", "extra_db",
     {{"float_ssim", "enable_db=true:clip_db=true"}, {"float_ms_ssim", "enable_db=true:clip_db=true"}}, 14 + 13},
    {"golden_extra", "extra_opts", {{"float_ssim", "scale=1:enable_db=true"}, {"float_ms_ssim",
     "enable_db=true"}}, 14 + 13},
    {"golden_float", "float_features", {{"float_moment", NULL}}, 4 * 13},
    {"golden_float", "float_features", {{"float_adm", "debug=true"}}, 18 * 14},
    {"golden_float",
     "float_options",
     {{"float_adm", "adm_adm3_apply_hm=true:adm_csf_mode=2:adm_enhn_gain_limit=1.2:adm_min_val=0.001:adm_p_norm=2.5:"
                    "adm_skip_aim_scale=1"},
      {"float_adm", "adm_bypass_cm=1:adm_dlm_weight=0.7:adm_f1s0=0.05:adm_f2s3=0.3:adm_noise_weight=0.02:"
                    "adm_norm_view_dist=5:debug=true"},
      {"float_adm", "adm_csf_mode=1:adm_ref_display_height=2160:adm_skip_scale0=true"}},
     32 * 14},
};
/* clang-format on */

static const struct {
    int threads;
    unsigned cpumask;
} ways[] = { { 1, 0 }, { 7, 0 }, { 2, 16 }, { 1, 255 } };
enum { WAYS = sizeof ways / sizeof ways[0] };

static int is_whole; /* whether to compare all frames with all `ways` */
static int ways_of_clip, beginning = BEGINNING;
static const char *gpu_backend, *gpu_driver; /* NULL for the CPU */

static void choose_depth(void) {
    gpu_backend = getenv("VMAFGPU_TEST_BACKEND");
    gpu_driver = getenv("VMAFGPU_TEST_DRIVER");
    is_whole = test_depth() == TEST_ALL;
    ways_of_clip = gpu_driver ? 1 : is_whole ? WAYS : test_depth() == TEST_FEW ? 1 : 2;
    beginning = gpu_driver ? 2 : BEGINNING;
}

/* Whether this clip is compared on a GPU. Simulated GPUs are slow, so each set of features is compared only on the
 * clips that are too small for ADM and on one other small clip, which depends on `turn`. */
static int has_turn(int clip, int turn) {
    static const char *const small[] = { "c444_12b", "akiyo", "c422_10b", "odd_8b", "c444_8b", "seek_8b" };
    return !gpu_driver || is_whole || strcmp(clips[clip].name, small[turn % 6]) == 0 || clips[clip].no_adm;
}

/* Whether libvmaf rejects the feature for this clip, so that it is missing from the report. */
static int is_left_out(const golden_clip *clip, const vmafgpu_feature_config *feature) {
    return (clip->depth == 16 && strcmp(feature->name, "psnr_hvs") == 0) ||
           (clip->no_adm && /* too small for these features */
            (strcmp(feature->name, "float_ms_ssim") == 0 || strcmp(feature->name, "speed_temporal") == 0));
}

/* Returns the number of frames in a report. Some reports contain only the first frames of a clip. */
static int frames_of(const char *text) {
    int frames = 0;
    while ((text = strstr(text, "\"frameNum\"")) != NULL) {
        text++;
        frames++;
    }
    return frames;
}

/* Whether a feature supports the size of the picture. */
static int is_defined(const vmafgpu_config *config, const vmafgpu_feature_config *feature) {
    vmafgpu_config one = *config;
    vmafgpu *context = NULL;
    one.features = feature;
    one.feature_count = 1;
    const vmafgpu_result result = vmafgpu_open(&context, &one);
    vmafgpu_close(context);
    return result == VMAFGPU_OK;
}

/* Scores the first `frame_count` frames of a clip in the given `way`, with the features or models of `wanted`. has_end
 * is 1 if these are all the frames of the clip. Returns NULL if there are no features to compare. */
static vmafgpu *score(const golden_clip *clip, const vmafgpu_config *wanted, int way, int frame_count, int has_end) {
    pair p;
    vmafgpu_frame frames[2];
    vmafgpu *context = NULL;
    vmafgpu_feature_config features[FEATURES];
    vmafgpu_config config;
    int ok = pair_open(&p, clip);
    config = video_config(&p.sides[0]);
    config.features = features;
    config.models = wanted->models;
    config.model_count = wanted->model_count;
    config.features_only = !wanted->model_count;
    config.backend = !gpu_driver                                      ? VMAFGPU_BACKEND_CPU
                     : gpu_backend && strcmp(gpu_backend, "hip") == 0 ? VMAFGPU_BACKEND_HIP
                                                                      : VMAFGPU_BACKEND_CUDA;
    config.gpu.driver_path = gpu_driver;
    config.gpu.kernels_path = gpu_driver ? getenv("VMAFGPU_TEST_KERNELS") : NULL;
    config.gpu.batch = gpu_driver ? 2 : 0;
    config.threads = test_thread_count(ways[way].threads);
    config.cpumask = ways[way].cpumask;
    config.float_reciprocal = VMAFGPU_RECIPROCAL_AMD; /* the kind of processor that computed libvmaf's values */
    for (int i = 0; i < wanted->feature_count; i++)
        if (!is_left_out(clip, &wanted->features[i]) && (!clip->no_adm || is_defined(&config, &wanted->features[i])))
            features[config.feature_count++] = wanted->features[i];
    if (!config.feature_count && !config.model_count) { /* libvmaf has no values for this clip */
        pair_close(&p);
        return NULL;
    }
    ok = ok && CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK);
    for (int i = 0; ok && i < frame_count && pair_read(&p, frames); i++)
        ok = CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK);
    ok = ok && CHECK_INT(has_end ? vmafgpu_flush(context) : vmafgpu_wait(context, -1), VMAFGPU_OK);
    if (!ok)
        printf("%s\n", vmafgpu_last_error(context));
    pair_close(&p);
    return context;
}

/* Reads a number. `null`, which libvmaf writes for infinities and NaN, is read as NAN. Returns 0 if there is
 * neither. */
static int next_value(const char *at, double *value) {
    at += strspn(at, ": \n");
    *value = (double)NAN;
    return strncmp(at, "null", 4) == 0 || next_number(at, value);
}

static void compare(double got, double wanted) {
    if (wanted != wanted)
        CHECK(!(got - got == 0));
    else
        CHECK_BITS(got, wanted);
}

/* Compares the report with the columns of the context. Returns the number of columns compared in frame 0. */
static int compare_report(vmafgpu *context, const char *at, int has_end) {
    char name[128], what[96];
    double value;
    vmafgpu_score score;
    int found = 0;
    int64_t frame = -1;
    memset(&score, 0, sizeof score);
    snprintf(what, sizeof what, "%.95s", test_where);
    while (next_string(&at, name, sizeof name) && strcmp(name, "pooled_metrics") != 0) {
        const int column = vmafgpu_column_index(context, name);
        if (!next_value(at, &value))
            continue;
        if (strcmp(name, "frameNum") == 0) {
            if (!has_end && (int64_t)value >= vmafgpu_score_count(context))
                break;
            frame = (int64_t)value;
            if (!CHECK_INT(vmafgpu_score_at(context, frame, &score), VMAFGPU_OK))
                return 0;
        } else if (frame >= 0 && column >= 0) {
            snprintf(test_where, sizeof test_where, "%s frame %d %.64s", what, (int)frame, name);
            compare(score.values[column], value);
            found += frame == 0;
        }
    }
    CHECK_INT(vmafgpu_score_count(context), frame + 1);
    at = has_end ? strstr(at, "\"aggregate_metrics\"") : NULL;
    for (int i = 0; at && i < vmafgpu_aggregate_count(context); i++) {
        double got = 0;
        const char *key = strstr(at, vmafgpu_aggregate_name(context, i));
        snprintf(test_where, sizeof test_where, "%s %s", what, vmafgpu_aggregate_name(context, i));
        if (CHECK(key && next_value(key + strlen(vmafgpu_aggregate_name(context, i)) + 1, &value))) {
            CHECK_INT(vmafgpu_aggregate(context, i, &got), VMAFGPU_OK);
            compare(got, value);
        }
    }
    return found;
}

/* Compares the values of all clips with libvmaf's reports. Returns the number of columns compared, counting only the
 * first frame of each clip. `turn` selects entries of `ways`, and clips. */
static int compare_clips(const char *folder, const char *kind, const vmafgpu_config *wanted, int turn) {
    int found = 0;
    for (int c = 0; c < (int)(sizeof clips / sizeof clips[0]); c++) {
        char path[256], *text;
        snprintf(path, sizeof path, SHARED "%s/%s__%s.json", folder, clips[c].name, kind);
        text = has_turn(c, turn) ? read_text(path) : NULL;
        for (int k = 0; text && k < ways_of_clip; k++) {
            const int way = (turn + c + k * (WAYS / ways_of_clip)) % WAYS, frames = frames_of(text);
            const int has_end = is_whole || frames <= beginning;
            vmafgpu *context;
            snprintf(test_where, sizeof test_where, "%s %s way %d", clips[c].name, kind, way);
            context = score(&clips[c], wanted, way, has_end ? frames : beginning, has_end);
            CHECK(!context || !gpu_driver || !vmafgpu_backend_note(context)[0]);
            found += context ? compare_report(context, text, has_end) * (k == 0) : 0;
            vmafgpu_close(context);
        }
        free(text);
    }
    printf("%s: %d columns\n", kind, found);
    snprintf(test_where, sizeof test_where, "%s", kind);
    return found;
}

static void compare_features(void) {
    for (int s = 0; s < (int)(sizeof sets / sizeof sets[0]); s++) {
        vmafgpu_config wanted;
        memset(&wanted, 0, sizeof wanted);
        wanted.features = sets[s].features;
        while (wanted.feature_count < FEATURES && sets[s].features[wanted.feature_count].name)
            wanted.feature_count++;
        const int found = compare_clips(sets[s].folder, sets[s].kind, &wanted, s);
        CHECK(gpu_driver && !is_whole ? found > 0 : found >= sets[s].least);
    }
}

/* Compares float models with libvmaf: both the built-in models and those in libvmaf's files. */
static void compare_models(void) {
    static const struct {
        const char *name;
        int outputs; /* columns per frame, not counting those of features */
    } models[] = { { "vmaf_float_v0.6.1", 1 },    { "vmaf_float_v0.6.1neg", 1 }, { "vmaf_float_4k_v0.6.1", 1 },
                   { "vmaf_float_b_v0.6.3", 25 }, { "vmaf_v0.6.0", 1 },          { "nflxtrain_norm_type_none", 1 } };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        char path[256], *text = NULL;
        vmafgpu_config wanted;
        vmafgpu_model_config model;
        vmafgpu_model *parsed = NULL;
        memset(&wanted, 0, sizeof wanted);
        memset(&model, 0, sizeof model);
        wanted.models = &model;
        wanted.model_count = 1;
        model.version = models[m].name;
        if (!vmafgpu_builtin_model(models[m].name)) {
            snprintf(path, sizeof path, SHARED "models/%s.json", models[m].name);
            text = read_text(path);
            CHECK(text && vmafgpu_model_parse(&parsed, "vmaf", text, strlen(text), NULL, NULL, 0) == VMAFGPU_OK);
            model.version = NULL;
            model.model = parsed;
        }
        const int found = compare_clips("golden_float", models[m].name, &wanted, (int)m);
        CHECK(gpu_driver && !is_whole ? found > 0 : found >= (10 + models[m].outputs) * 13);
        vmafgpu_model_release(parsed);
        free(text);
    }
}

/* "Residue bootstrap" models are parsed like bootstrap models. `count` is the number of SVMs. */
static void parse_collections(void) {
    static const struct {
        const char *name;
        int count;
    } models[] = { { "vmaf_rb_v0.6.2", 20 }, { "vmaf_4k_rb_v0.6.2", 20 }, { "vmaf_rb_v0.6.3", 21 } };
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        char path[256], *text;
        vmafgpu_model *parsed = NULL;
        snprintf(path, sizeof path, SHARED "models/%s.json", models[m].name);
        snprintf(test_where, sizeof test_where, "%s", models[m].name);
        text = read_text(path);
        if (CHECK(text && vmafgpu_model_parse(&parsed, "vmaf", text, strlen(text), NULL, NULL, 0) == VMAFGPU_OK))
            CHECK_INT(parsed->svm_count, models[m].count);
        vmafgpu_model_release(parsed);
        free(text);
    }
}

int main(void) {
    static const char *const needed[] = { "golden_extra/src01_8b__extra_db.json",
                                          "golden_float/src01_8b__vmaf_v0.6.0.json", "models/vmaf_v0.6.0.json" };
    choose_depth();
    for (int i = 0; i < 3; i++) {
        char path[128], *text;
        snprintf(path, sizeof path, SHARED "%s", needed[i]);
        text = read_text(path);
        if (!text) {
            snprintf(path, sizeof path, "there is no " SHARED "%s", needed[i]);
            test_skip(path);
            return test_end();
        }
        free(text);
    }
    compare_features();
    compare_models();
    parse_collections();
    return test_end();
}
