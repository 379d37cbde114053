/* Tests which settings vmafgpu_open() accepts, its error messages, and the names of columns, models and results. */
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include "scoring.h"

static vmafgpu_config plain_config(void) {
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = 64;
    config.height = 48;
    return config;
}

/* Checks that vmafgpu_open() fails with `expected` and that the message contains `words`. */
static void refused_at(int line, const vmafgpu_config *config, vmafgpu_result expected, const char *words) {
    vmafgpu *context = NULL;
    vmafgpu_result result = vmafgpu_open(&context, config);
    snprintf(test_where, sizeof test_where, "line %d, %s", line, words);
    CHECK_STR(vmafgpu_result_name(result), vmafgpu_result_name(expected));
    if (CHECK(context != NULL)) {
        vmafgpu_frame nothing;
        vmafgpu_score score;
        CHECK_HAS(vmafgpu_last_error(context), words);
        memset(&nothing, 0, sizeof nothing);
        if (result != VMAFGPU_OK) {
            /* such a context can only report its error and be closed; other calls must fail without crashing */
            CHECK(vmafgpu_push(context, &nothing, &nothing) < 0);
            CHECK(vmafgpu_flush(context) < 0);
            CHECK(vmafgpu_next_score(context, &score) < 0);
            CHECK(vmafgpu_reset(context) < 0);
        }
    }
    vmafgpu_close(context);
}

#define REFUSED(change, code, words) \
    do { \
        vmafgpu_config c = plain_config(); \
        change; \
        refused_at(__LINE__, &c, code, words); \
    } while (0)

static void *some_alloc(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void some_free(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

static void test_fields(void) {
    static const int twice[] = { 1, 1 }, negative[] = { 0, -1 };
    vmafgpu_model_config model = VMAFGPU_INIT;
    vmafgpu *context = NULL;
    vmafgpu_config ok = plain_config();
    REFUSED(c.width = 0, VMAFGPU_ERROR_ARGUMENT, "width");
    REFUSED(c.width = 15, VMAFGPU_ERROR_ARGUMENT, "width");
    REFUSED(c.width = -64, VMAFGPU_ERROR_ARGUMENT, "width");
    REFUSED(c.width = 16385, VMAFGPU_ERROR_ARGUMENT, "width");
    REFUSED(c.height = 0, VMAFGPU_ERROR_ARGUMENT, "height");
    REFUSED(c.height = 15, VMAFGPU_ERROR_ARGUMENT, "height");
    REFUSED(c.height = 16385, VMAFGPU_ERROR_ARGUMENT, "height");
    REFUSED(c.height = -2147483647 - 1, VMAFGPU_ERROR_ARGUMENT, "height");
    REFUSED(c.bit_depth = 7, VMAFGPU_ERROR_ARGUMENT, "bit_depth");
    REFUSED(c.bit_depth = 17, VMAFGPU_ERROR_ARGUMENT, "bit_depth");
    REFUSED(c.bit_depth = -8, VMAFGPU_ERROR_ARGUMENT, "bit_depth");
    REFUSED(c.bytes_per_sample = 3, VMAFGPU_ERROR_ARGUMENT, "bytes_per_sample");
    REFUSED(c.bytes_per_sample = -1, VMAFGPU_ERROR_ARGUMENT, "bytes_per_sample");
    REFUSED((c.bit_depth = 10, c.bytes_per_sample = 1), VMAFGPU_ERROR_ARGUMENT,
            "config.bytes_per_sample: out of range (1); use 2");
    REFUSED(c.chroma = (vmafgpu_chroma)4, VMAFGPU_ERROR_ARGUMENT, "chroma");
    REFUSED(c.chroma = (vmafgpu_chroma)-1, VMAFGPU_ERROR_ARGUMENT, "chroma");
    REFUSED(c.layout = (vmafgpu_layout)3, VMAFGPU_ERROR_ARGUMENT, "layout");
    REFUSED(c.layout = (vmafgpu_layout)-1, VMAFGPU_ERROR_ARGUMENT, "layout");
    REFUSED(c.model_count = -1, VMAFGPU_ERROR_ARGUMENT, "model_count");
    REFUSED(c.model_count = 17, VMAFGPU_ERROR_ARGUMENT, "model_count");
    REFUSED(c.model_count = 1, VMAFGPU_ERROR_ARGUMENT, "models");
    REFUSED(c.feature_count = -1, VMAFGPU_ERROR_ARGUMENT, "feature_count");
    REFUSED(c.feature_count = 33, VMAFGPU_ERROR_ARGUMENT, "feature_count");
    REFUSED(c.feature_count = 1, VMAFGPU_ERROR_ARGUMENT, "features");
    REFUSED(c.features_only = 1, VMAFGPU_ERROR_ARGUMENT, "feature");
    REFUSED((c.model_count = 1, c.models = &model, c.features_only = 1), VMAFGPU_ERROR_ARGUMENT,
            "config.features_only: conflicts with config.model_count (1)");
    REFUSED(c.gpu.device_count = 2, VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.devices: is NULL (config.gpu.device_count is 2)");
    REFUSED((c.gpu.device_count = 2, c.gpu.devices = twice), VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.devices[1]: repeats a device (1, as in devices[0])");
    REFUSED((c.gpu.device_count = 2, c.gpu.devices = negative), VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.devices[1]: out of range (-1); use 0 or more");
    REFUSED((c.gpu.device_count = 1, c.gpu.devices = twice, c.gpu.stream = &model), VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.stream: requires a single GPU; remove config.gpu.devices");
    REFUSED((c.gpu.device_count = 1, c.gpu.devices = twice, c.gpu.cuda_context = &model), VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.cuda_context: requires a single GPU; remove config.gpu.devices");
    REFUSED((c.gpu.device_count = 1, c.gpu.devices = twice, c.gpu.driver_path = "/no/such/driver"),
            VMAFGPU_ERROR_BACKEND, "config.gpu.devices: no GPU can be used: ");
    REFUSED((c.gpu.frame_memory = VMAFGPU_MEMORY_SURFACE, c.gpu.driver_path = "/no/such/driver"), VMAFGPU_ERROR_BACKEND,
            "config.gpu.frame_memory (surface): no GPU can be used: ");
    REFUSED((c.gpu.frame_memory = VMAFGPU_MEMORY_SURFACE, c.backend = VMAFGPU_BACKEND_CPU), VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.frame_memory: conflicts with config.backend cpu (surface)");
    REFUSED((c.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE, c.backend = VMAFGPU_BACKEND_CPU), VMAFGPU_ERROR_ARGUMENT,
            "config.gpu.frame_memory: conflicts with config.backend cpu (device)");
    REFUSED(c.strict_options = 2, VMAFGPU_ERROR_ARGUMENT, "strict_options");
    REFUSED(c.subsample = -1, VMAFGPU_ERROR_ARGUMENT, "subsample");
    REFUSED(c.threads = -1, VMAFGPU_ERROR_ARGUMENT, "threads");
    REFUSED(c.max_candidates = -1, VMAFGPU_ERROR_ARGUMENT, "candidates");
    REFUSED(c.max_candidates = 17, VMAFGPU_ERROR_ARGUMENT, "candidates");
    REFUSED(c.float_reciprocal = (vmafgpu_reciprocal)-1, VMAFGPU_ERROR_ARGUMENT, "float_reciprocal");
    REFUSED(c.float_reciprocal = (vmafgpu_reciprocal)4, VMAFGPU_ERROR_ARGUMENT, "float_reciprocal");
    REFUSED(c.threads = 257, VMAFGPU_ERROR_ARGUMENT, "threads");
    REFUSED(c.backend = (vmafgpu_backend)4, VMAFGPU_ERROR_ARGUMENT, "backend");
    REFUSED(c.backend = VMAFGPU_BACKEND_CUDA, VMAFGPU_ERROR_BACKEND, "backend");
    REFUSED(c.backend = VMAFGPU_BACKEND_HIP, VMAFGPU_ERROR_BACKEND, "backend");
    REFUSED(c.allocator.allocate = some_alloc, VMAFGPU_ERROR_ARGUMENT, "allocator");
    REFUSED(c.allocator.release = some_free, VMAFGPU_ERROR_ARGUMENT, "allocator");
    snprintf(test_where, sizeof test_where, "null");
    CHECK_INT(vmafgpu_open(NULL, &ok), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_open(&context, NULL), VMAFGPU_ERROR_ARGUMENT);
    vmafgpu_close(context);
    vmafgpu_close(NULL);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_open: config is NULL");
    CHECK_INT(vmafgpu_open(NULL, &ok), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(NULL), "vmafgpu_open");
}

static void refused_model(int line, const vmafgpu_model_config *models, int count, vmafgpu_result code,
                          const char *words) {
    vmafgpu_config c = plain_config();
    c.models = models;
    c.model_count = count;
    c.strict_options = 1;
    refused_at(line, &c, code, words);
}

static void test_model_fields(void) {
    static const struct {
        const char *options;
        vmafgpu_result code;
        const char *words;
    } bad[] = {
        { "adm", VMAFGPU_ERROR_FEATURE, "adm" },
        { "adm.adm_enhn_gain_limit", VMAFGPU_ERROR_FEATURE, "adm_enhn_gain_limit" },
        { "adm.nothing=1", VMAFGPU_ERROR_FEATURE, "nothing" },
        { "adm.adm_enhn_gain_limit=0.5", VMAFGPU_ERROR_FEATURE, "adm_enhn_gain_limit" },
        { "adm.adm_enhn_gain_limit=101", VMAFGPU_ERROR_FEATURE, "adm_enhn_gain_limit" },
        { "vif.vif_enhn_gain_limit=abc", VMAFGPU_ERROR_FEATURE, "vif_enhn_gain_limit" },
        { "banana.debug=true", VMAFGPU_ERROR_FEATURE, "banana" },
    };
    vmafgpu_model_config m[2];
    memset(m, 0, sizeof m);
    m[0].version = "vmaf_v9";
    refused_model(__LINE__, m, 1, VMAFGPU_ERROR_MODEL, "vmaf_v9");
    m[0].version = "";
    refused_model(__LINE__, m, 1, VMAFGPU_ERROR_MODEL, "");
    m[0].version = "vmaf_v0.6.1";
    m[1].version = "vmaf_v0.6.1neg";
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "name");
    m[0].name = m[1].name = "same";
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "same");
    m[1].name = "vmaf";
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        m[1].options = bad[i].options;
        refused_model((int)(1000 + i), m, 2, bad[i].code, bad[i].words);
    }
}

static void test_feature_fields(void) {
    static const struct {
        const char *name, *options, *words;
    } bad[] = {
        { "", NULL, "feature" },
        { "vif2", NULL, "vif2" },
        { "vif", "vif_enhn_gain_limit=0.9", "vif_enhn_gain_limit" },
        { "vif", "vif_enhn_gain_limit=100.1", "vif_enhn_gain_limit" },
        { "vif", "vif_enhn_gain_limit=", "vif_enhn_gain_limit" },
        { "vif", "vif_enhn_gain_limit", "vif_enhn_gain_limit" },
        { "vif", "adm_enhn_gain_limit=1", "adm_enhn_gain_limit" },
        { "vif", "debug=maybe", "debug" },
        { "vif", "=1", "" },
        { "vif", "nothing=1:vif_enhn_gain_limit=1", "nothing" },
        { "adm", "adm_csf_mode=4", "adm_csf_mode" },
        { "adm", "adm_csf_mode=-1", "adm_csf_mode" },
        { "adm", "adm_norm_view_dist=0.5", "adm_norm_view_dist" },
        { "adm", "adm_norm_view_dist=25", "adm_norm_view_dist" },
        { "adm", "adm_norm_view_dist=1", "adm_norm_view_dist" },            /* 1 * 1080 is less than 3240 */
        { "adm", "adm_ref_display_height=1079", "adm_ref_display_height" }, /* 3 * 1079 is less than 3240 */
        { "adm", "adm_ref_display_height=0", "adm_ref_display_height" },
        { "adm", "adm_ref_display_height=4321", "adm_ref_display_height" },
        { "adm", "adm_csf_mode=2:adm_norm_view_dist=4", "adm_csf_mode" }, /* not in the table for mode 2 */
        { "adm", "adm_csf_mode=3:adm_ref_display_height=1440", "adm_csf_mode" },
        { "adm", "adm_noise_weight=-1", "adm_noise_weight" },
        { "adm", "adm_noise_weight=1501", "adm_noise_weight" },
        { "adm", "adm_dlm_weight=1.1", "adm_dlm_weight" },
        { "adm", "adm_min_val=2", "adm_min_val" },
        { "adm", "adm_min_val=-0.0", "adm_min_val" }, /* libvmaf does not parse it as a number */
        { "adm", "adm_csf_mode=-0", "adm_csf_mode" },
        { "adm", "adm_csf_scale=51", "adm_csf_scale" },
        { "adm", "adm_csf_diag_scale=51", "adm_csf_diag_scale" },
        { "adm", "adm_enhn_gain_limit=nan", "adm_enhn_gain_limit" },
        { "adm", "adm_enhn_gain_limit=inf", "adm_enhn_gain_limit" },
        { "motion", "motion_blend_factor=1.5", "motion_blend_factor" },
        { "motion", "motion_blend_offset=1001", "motion_blend_offset" },
        { "motion", "motion_fps_weight=5.5", "motion_fps_weight" },
        { "motion", "motion_max_val=10001", "motion_max_val" },
        { "motion", "motion_max_val=-1", "motion_max_val" },
        { "motion", "motion_five_frame_window=2", "motion_five_frame_window" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vmafgpu_config c = plain_config();
        vmafgpu_feature_config f;
        f.name = bad[i].name;
        f.options = bad[i].options;
        c.features = &f;
        c.feature_count = 1;
        c.strict_options = 1;
        refused_at((int)(2000 + i), &c, VMAFGPU_ERROR_FEATURE, bad[i].words);
    }
    {
        vmafgpu_config c = plain_config();
        vmafgpu_feature_config f;
        memset(&f, 0, sizeof f);
        c.features = &f;
        c.feature_count = 1;
        refused_at(__LINE__, &c, VMAFGPU_ERROR_FEATURE, "features[0]");
    }
}

/* Tests model names that are invalid or equal to another column name. */
static void test_model_names(void) {
    char longest[2000];
    vmafgpu_model_config m[2];
    memset(m, 0, sizeof m);
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    m[0].version = "vmaf_b_v0.6.3";
    m[1].version = "vmaf_v0.6.1";
    m[1].name = "vmaf_0007";
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "vmaf_0007");
    m[1].name = "vmaf_ci_p95_lo";
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "vmaf_ci_p95_lo");
    m[1].name = "integer_adm2";
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "integer_adm2");
    m[1].name = "";
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "name");
    m[1].name = longest;
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "name");
    m[1].name = "mine";
    m[1].model = vmafgpu_builtin_model("vmaf_v0.6.1");
    refused_model(__LINE__, m, 2, VMAFGPU_ERROR_ARGUMENT, "model");
}

/* Tests models with invalid fields. */
static void test_model_structs(void) {
    static const char *const unknown[] = { "VMAF_integer_feature_nothing_score", "", "", "", "", "", "" };
    static const char *const lacking[] = { "VMAF_integer_feature_adm2_score", "", "", NULL, "", "" };
    static const char *const chroma[] = { "Speed_chroma_feature_speed_chroma_uv_score", "", "", "", "", "" };
    static const char *const twice[] = { "Speed_chroma_feature_speed_chroma_uv_score", "adm3", "adm3", "", "", "" };
    static const double zeros[65] = { 0 }, level[] = { 0, 0, 20, 10, 20, 40 }, falling[] = { 0, 0, 20, 10, 60, 5 };
    const vmafgpu_model *good = vmafgpu_builtin_model("vmaf_v0.6.1");
    vmafgpu_model model = *good;
    vmafgpu_model_config m;
    memset(&m, 0, sizeof m);
    m.model = &model;
#define BROKEN(change, code, words) \
    do { \
        vmafgpu_svm s = good->svms[0]; \
        model.svms = &s; \
        change; \
        refused_model(__LINE__, &m, 1, code, words); \
    } while (0)
    BROKEN(s.feature_count = 0, VMAFGPU_ERROR_MODEL, "feature_count");
    BROKEN(s.feature_count = 65, VMAFGPU_ERROR_MODEL, "feature_count");
    BROKEN(s.feature_names = NULL, VMAFGPU_ERROR_MODEL, "feature_names");
    BROKEN(s.slopes = NULL, VMAFGPU_ERROR_MODEL, "slopes");
    BROKEN(s.intercepts = NULL, VMAFGPU_ERROR_MODEL, "intercepts");
    BROKEN(s.sv_count = 0, VMAFGPU_ERROR_MODEL, "sv_count");
    BROKEN(s.sv_coefs = NULL, VMAFGPU_ERROR_MODEL, "sv_coefs");
    BROKEN(s.sv_table = NULL, VMAFGPU_ERROR_MODEL, "sv_table");
    BROKEN(s.sv_rows = NULL, VMAFGPU_ERROR_MODEL, "sv_rows");
    BROKEN(s.feature_options = NULL, VMAFGPU_ERROR_MODEL, "feature_names or feature_options is NULL");
    BROKEN(s.feature_options = lacking, VMAFGPU_ERROR_MODEL, "feature_names or feature_options contains NULL");
    BROKEN(s.feature_names = lacking, VMAFGPU_ERROR_MODEL, "feature_names or feature_options contains NULL");
    BROKEN(s.has_chroma_correction = 1, VMAFGPU_ERROR_MODEL, "chroma_correction requires exactly one adm3");
    BROKEN((s.has_chroma_correction = 1, s.feature_names = chroma), VMAFGPU_ERROR_MODEL, "chroma_correction requires");
    BROKEN((s.has_chroma_correction = 1, s.feature_names = twice), VMAFGPU_ERROR_MODEL, "chroma_correction requires");
    BROKEN(s.knot_count = -1, VMAFGPU_ERROR_MODEL, "knot");
    BROKEN(s.knot_count = 11, VMAFGPU_ERROR_MODEL, "knot");
    BROKEN(s.knot_count = 2, VMAFGPU_ERROR_MODEL, "knot");
    BROKEN(s.feature_names = unknown, VMAFGPU_ERROR_MODEL, "nothing");
    BROKEN(s.gamma = -1e300, VMAFGPU_ERROR_MODEL, "gamma");
    BROKEN(s.gamma = 0, VMAFGPU_ERROR_MODEL, "gamma");
    BROKEN(s.gamma = NAN, VMAFGPU_ERROR_MODEL, "gamma");
    BROKEN(s.gamma = INFINITY, VMAFGPU_ERROR_MODEL, "gamma");
    BROKEN(s.slopes = zeros, VMAFGPU_ERROR_MODEL, "slopes");
    BROKEN((s.has_clip = 1, s.clip_min = 100, s.clip_max = 99), VMAFGPU_ERROR_MODEL, "clip");
    BROKEN((s.knots = level, s.knot_count = 3), VMAFGPU_ERROR_MODEL, "knots");
    BROKEN((s.knots = falling, s.knot_count = 3), VMAFGPU_ERROR_MODEL, "knots");
#undef BROKEN
    model.svms = NULL;
    refused_model(__LINE__, &m, 1, VMAFGPU_ERROR_MODEL, "svm");
    model = *good;
    model.svm_count = 0;
    refused_model(__LINE__, &m, 1, VMAFGPU_ERROR_MODEL, "svm_count is out of range (0); use 1..10000");
    model.svm_count = 10001;
    refused_model(__LINE__, &m, 1, VMAFGPU_ERROR_MODEL, "svm_count is out of range (10001); use 1..10000");
    model = *good;
    model.name = NULL;
    refused_model(__LINE__, &m, 1, VMAFGPU_ERROR_MODEL, "model, name or svms is NULL");
}

/* Checks the names of the columns of a feature with these options. */
static void names_at(int line, const char *feature, const char *options, const char *expected) {
    vmafgpu_config c = plain_config();
    vmafgpu_feature_config f;
    vmafgpu *context;
    char got[1024] = "";
    f.name = feature;
    f.options = options;
    c.features = &f;
    c.feature_count = 1;
    c.features_only = 1;
    snprintf(test_where, sizeof test_where, "line %d", line);
    context = open_checked(&c);
    for (int i = 0; context && i < vmafgpu_column_count(context); i++) {
        const char *name = vmafgpu_column_name(context, i);
        CHECK_INT(vmafgpu_column_index(context, name), i);
        strncat(got, i ? " " : "", sizeof got - strlen(got) - 1);
        strncat(got, name, sizeof got - strlen(got) - 1);
    }
    CHECK_STR(got, expected);
    vmafgpu_close(context);
}

static void test_column_names(void) {
    vmafgpu_config c = plain_config();
    vmafgpu_model_config m[2];
    vmafgpu *context;
    names_at(__LINE__, "vif", NULL, "integer_vif_scale0 integer_vif_scale1 integer_vif_scale2 integer_vif_scale3");
    names_at(__LINE__, "vif", "", "integer_vif_scale0 integer_vif_scale1 integer_vif_scale2 integer_vif_scale3");
    names_at(__LINE__, "vif", "vif_enhn_gain_limit=100",
             "integer_vif_scale0 integer_vif_scale1 integer_vif_scale2 integer_vif_scale3");
    names_at(__LINE__, "vif", "vif_skip_scale0=true:vif_enhn_gain_limit=1.23456789",
             "integer_vif_scale0_egl_1.23457_ssclz integer_vif_scale1_egl_1.23457_ssclz "
             "integer_vif_scale2_egl_1.23457_ssclz integer_vif_scale3_egl_1.23457_ssclz");
    names_at(__LINE__, "float_motion", NULL, "motion2 motion motion3");
    names_at(__LINE__, "float_motion", "debug=false", "motion2 motion3");
    names_at(__LINE__, "float_motion", "motion_force_zero=true", "motion2_force_0 motion3_force_0 motion_force_0");
    names_at(__LINE__, "motion", "motion_force_zero=true",
             "VMAF_integer_feature_motion_sad_score_force_0 integer_motion2_force_0 integer_motion3_force_0");
#define SUFFIX "_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02"
    names_at(__LINE__, "adm",
             "adm_csf_mode=2:adm_dlm_weight=0.7:adm_enhn_gain_limit=1:adm_min_val=0.5:adm_noise_weight=0.02",
             "integer_adm2" SUFFIX " integer_aim" SUFFIX " integer_adm3" SUFFIX " integer_adm_scale0" SUFFIX
             " integer_adm_scale1" SUFFIX " integer_adm_scale2" SUFFIX " integer_adm_scale3" SUFFIX);
#undef SUFFIX
    memset(m, 0, sizeof m);
    m[0].version = "vmaf_b_v0.6.3";
    m[0].name = "boot";
    m[1].version = "vmaf_v0.6.1";
    c.models = m;
    c.model_count = 2;
    snprintf(test_where, sizeof test_where, "columns");
    context = open_checked(&c);
    if (context) {
        int boot = vmafgpu_model_column(context, 0), plain = vmafgpu_model_column(context, 1);
        CHECK_STR(vmafgpu_column_name(context, boot), "boot");
        CHECK_STR(vmafgpu_column_name(context, plain), "vmaf");
        CHECK_INT(vmafgpu_column_index(context, "boot"), boot);
        CHECK(vmafgpu_column_index(context, "boot_0001") >= 0);
        CHECK(vmafgpu_column_index(context, "boot_0020") >= 0);
        CHECK_INT(vmafgpu_column_index(context, "boot_0021"), -1);
        CHECK(vmafgpu_column_index(context, "boot_ci_p95_hi") >= 0);
        CHECK_INT(vmafgpu_column_index(context, "nothing"), -1);
        CHECK_INT(vmafgpu_column_index(context, NULL), -1);
        CHECK(vmafgpu_column_name(context, -1) == NULL);
        CHECK(vmafgpu_column_name(context, vmafgpu_column_count(context)) == NULL);
        CHECK_INT(vmafgpu_model_column(context, 2), -1);
        CHECK_INT(vmafgpu_model_column(context, -1), -1);
    }
    vmafgpu_close(context);
}

static void test_defaults(void) {
    vmafgpu_config c = plain_config();
    vmafgpu *context = open_checked(&c);
    const vmafgpu_config *full = vmafgpu_get_config(context);
    snprintf(test_where, sizeof test_where, "defaults");
    CHECK_INT(full->width, 64);
    CHECK_INT(full->height, 48);
    CHECK_INT(full->bit_depth, 8);
    CHECK_INT(full->bytes_per_sample, 1);
    CHECK_INT(full->subsample, 1);
    CHECK_INT(full->threads, 1);
    CHECK_INT(full->chroma, VMAFGPU_CHROMA_420);
    CHECK(full->allocator.allocate == NULL && full->allocator.release == NULL); /* malloc and free */
    CHECK(full->models == NULL && full->features == NULL);
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    CHECK_STR(vmafgpu_last_error(context), "");
    CHECK_INT(vmafgpu_preceding_count(context), 1);
    CHECK_STR(vmafgpu_column_name(context, vmafgpu_model_column(context, 0)), "vmaf");
    vmafgpu_close(context);
    c.bit_depth = 9;
    context = open_checked(&c);
    CHECK_INT(vmafgpu_get_config(context)->bytes_per_sample, 2);
    vmafgpu_close(context);
}

/* Tests that the order of columns is the same as in libvmaf reports, with and without threads. */
static void test_column_order(void) {
    static const char *const orders[] = { "vif adm2 motion2 motion psnr_y motion3 integer_motion2",
                                          "motion2 motion psnr_y vif adm2 motion3 integer_motion2" };
    vmafgpu_feature_config features[] = {
        { "motion", NULL }, { "vif", NULL }, { "float_adm", NULL }, { "float_motion", NULL }, { "psnr", NULL }
    };
    vmafgpu_config c = plain_config();
    c.features = features;
    c.feature_count = 5;
    c.features_only = 1;
    for (c.threaded_column_order = 0; c.threaded_column_order < 2; c.threaded_column_order++) {
        vmafgpu *context = open_checked(&c);
        char names[128];
        int before = -1;
        snprintf(names, sizeof names, "%s", orders[c.threaded_column_order]);
        for (char *name = strtok(names, " "); context && name; name = strtok(NULL, " ")) {
            const int at = vmafgpu_column_index(context, strcmp(name, "vif") ? name : "integer_vif_scale0");
            snprintf(test_where, sizeof test_where, "%s, threaded_column_order %d", name, c.threaded_column_order);
            CHECK(at > before);
            before = at;
        }
        vmafgpu_close(context);
    }
}

/* The message about adm_csf_mode=1 names the largest scales that are accepted. Scales 10 % larger than these are
 * rejected. */
static void test_csf_advice(void) {
    static const char *const views[] = { "", ":adm_norm_view_dist=6", ":adm_ref_display_height=4320" };
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        vmafgpu_feature_config feature = { "adm", NULL };
        vmafgpu_config c = plain_config();
        double scale = 0, diagonal = 0;
        char options[192];
        c.features = &feature;
        c.feature_count = 1;
        c.features_only = 1;
        feature.options = options;
        snprintf(test_where, sizeof test_where, "adm_csf_mode=1%s", views[i]);
        snprintf(options, sizeof options, "adm_csf_mode=1%s", views[i]);
        vmafgpu *context = NULL;
        CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_FEATURE);
        const char *advice = strstr(vmafgpu_last_error(NULL), "use adm_csf_scale up to ");
        CHECK(advice &&
              sscanf(advice, "use adm_csf_scale up to %lf and adm_csf_diag_scale up to %lf", &scale, &diagonal) == 2);
        vmafgpu_close(context);
        context = NULL;
        for (int k = 0; k < 3; k++) {
            snprintf(options, sizeof options, "adm_csf_mode=1%s:adm_csf_scale=%.6f:adm_csf_diag_scale=%.6f", views[i],
                     k == 1 ? 1.1 * scale : scale, k == 2 ? 1.1 * diagonal : diagonal);
            CHECK_INT(vmafgpu_open(&context, &c), k ? VMAFGPU_ERROR_FEATURE : VMAFGPU_OK);
            vmafgpu_close(context);
            context = NULL;
        }
    }
}

/* In a report with one frame, libvmaf writes integer_motion2, integer_motion3 and motion3 in the order of their
 * features. */
static void test_report_column(void) {
    static const char *const orders[] = { "integer_motion2 integer_motion3 motion3 end",
                                          "motion3 integer_motion2 integer_motion3 end" };
    vmafgpu_feature_config features[] = { { "motion", NULL }, { "vif", NULL }, { "float_motion", NULL } };
    vmafgpu_config c = plain_config();
    c.features = features;
    c.feature_count = 3;
    c.features_only = 1;
    for (c.threaded_column_order = 0; c.threaded_column_order < 2; c.threaded_column_order++) {
        vmafgpu *context = open_checked(&c);
        const int count = vmafgpu_column_count(context), first = vmafgpu_column_index(context, "motion3");
        char names[128] = "";
        snprintf(test_where, sizeof test_where, "threaded_column_order %d", c.threaded_column_order);
        for (int i = 0; context && i < count; i++) {
            const int column = vmafgpu_report_column(context, 1, i);
            CHECK_INT(vmafgpu_report_column(context, 0, i), i);
            CHECK_INT(vmafgpu_report_column(context, 2, i), i);
            if (i < first || i >= first + 3)
                CHECK_INT(column, i);
            else
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s ",
                         vmafgpu_column_name(context, column));
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), "end");
        CHECK_STR(names, orders[c.threaded_column_order]);
        CHECK_INT(vmafgpu_report_column(context, 1, count), -1);
        CHECK_INT(vmafgpu_report_column(context, 1, -1), -1);
        vmafgpu_close(context);
    }
    CHECK_INT(vmafgpu_report_column(NULL, 1, 0), -1);
}

static void test_names(void) {
    static const struct {
        vmafgpu_result result;
        const char *name, *message;
    } results[] = {
#define ROW(name, number, message) { name, #name, message },
        VMAFGPU_RESULTS(ROW)
#undef ROW
    };
    snprintf(test_where, sizeof test_where, "results");
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        CHECK_STR(vmafgpu_result_name(results[i].result), results[i].name);
        CHECK_STR(vmafgpu_result_message(results[i].result), results[i].message);
    }
    CHECK(vmafgpu_result_name((vmafgpu_result)77) != NULL);
    CHECK(vmafgpu_result_message((vmafgpu_result)-77) != NULL);
    CHECK_STR(vmafgpu_version_string(), VMAFGPU_VERSION_STRING);
    CHECK_INT(vmafgpu_version_number(), VMAFGPU_VERSION_NUMBER);
}

static void test_builtin(void) {
    static const char *const names[] = { "vmaf_v0.6.1",
                                         "vmaf_v0.6.1neg",
                                         "vmaf_4k_v0.6.1",
                                         "vmaf_4k_v0.6.1neg",
                                         "vmaf_b_v0.6.3",
                                         "vmaf_v1.0.16_3d0h",
                                         "vmaf_v1.0.16_hfr_3d0h",
                                         "vmaf_v1.0.16_5d0h",
                                         "vmaf_v1.0.16_hfr_5d0h",
                                         "vmaf_v1.0.16_1d5h_2160",
                                         "vmaf_v1.0.16_hfr_1d5h_2160",
                                         "vmaf_v1.0.16_3d0h_2160",
                                         "vmaf_v1.0.16_hfr_3d0h_2160",
                                         "vmaf_float_v0.6.1",
                                         "vmaf_float_v0.6.1neg",
                                         "vmaf_float_4k_v0.6.1",
                                         "vmaf_float_b_v0.6.3" };
    const size_t v1 = 5, v1_end = 13;
    int count = 0;
    snprintf(test_where, sizeof test_where, "built-in models");
    while (vmafgpu_builtin_model_at(count)) {
        const vmafgpu_model *m = vmafgpu_builtin_model_at(count++);
        CHECK(vmafgpu_builtin_model(m->name) == m);
    }
    CHECK(vmafgpu_builtin_model_at(-1) == NULL);
    CHECK_INT(count, (int)(sizeof names / sizeof names[0]));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(vmafgpu_builtin_model(names[i]) != NULL);
    CHECK_INT(vmafgpu_builtin_model("vmaf_b_v0.6.3")->svm_count, 21);
    CHECK_INT(vmafgpu_builtin_model("vmaf_v0.6.1")->svms[0].sv_count, 211);
    /* All v1 models share the arrays of one SVM. */
    for (size_t i = v1; i < v1_end; i++) {
        const vmafgpu_svm *svm = vmafgpu_builtin_model(names[i])->svms, *first = vmafgpu_builtin_model(names[5])->svms;
        CHECK_INT(svm->sv_count, 215);
        CHECK(svm->sv_table == first->sv_table && svm->sv_rows == first->sv_rows && svm->sv_coefs == first->sv_coefs);
        CHECK_INT(svm->clip_max, strstr(names[i], "3d0h_2160") ? 110 : 100);
        CHECK_INT(svm->has_chroma_correction && svm->transform_enabled, 1);
    }
    CHECK(vmafgpu_builtin_model("vmaf") == NULL);
    CHECK(vmafgpu_builtin_model("") == NULL);
    CHECK(vmafgpu_builtin_model(NULL) == NULL);
}

/* A config.on_log that keeps a copy of the message. */
static void note_log(void *user, vmafgpu_log_level level, const char *message) {
    char *seen = (char *)user;
    if (level == VMAFGPU_LOG_LEVEL_ERROR)
        snprintf(seen, 512, "%s", message);
}

static void test_log(void) {
    vmafgpu_config c = plain_config();
    vmafgpu *context = NULL;
    char seen[512] = "";
    snprintf(test_where, sizeof test_where, "log");
    c.width = 15;
    c.on_log = note_log;
    c.on_log_user = seen;
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(seen, "width");
    vmafgpu_close(context);
}

/* vmafgpu_last_error() returns the message of the failed open even after other calls on the same context. */
static void test_failed_open(void) {
    vmafgpu_config c = plain_config();
    vmafgpu *context;
    double value;
    snprintf(test_where, sizeof test_where, "failed open");
    c.width = 10;
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push(context, NULL, NULL), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_pool(context, 0, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_STATE);
    CHECK_STR(vmafgpu_last_error(context), "config.width: out of range (10); use 16..16384");
    vmafgpu_close(context);
}

/* Collects warnings, one per line. */
typedef struct warnings {
    char text[2048];
} warnings;

static void note_warning(void *user, vmafgpu_log_level level, const char *message) {
    warnings *w = (warnings *)user;
    size_t used = strlen(w->text);
    if (level == VMAFGPU_LOG_LEVEL_WARNING)
        snprintf(w->text + used, sizeof w->text - used, "%s\n", message);
}

/* Unknown options, and options for features that the model does not use, are ignored with a warning or, with
 * strict_options, rejected. */
static void test_unused_options(void) {
    static const char text[] =
        "{\"model_dict\":{\"model_type\":\"LIBSVMNUSVR\",\"norm_type\":\"none\","
        "\"feature_names\":[\"VMAF_integer_feature_adm2_score\"],\"slopes\":[1,1],\"intercepts\":[0,0],"
        "\"model\":\"svm_type nu_svr\\nkernel_type rbf\\ngamma 1\\nnr_class 2\\ntotal_sv 1\\nrho 0\\nSV\\n1 1:1 "
        "\\n\"}}";
    vmafgpu_config c = plain_config();
    vmafgpu_model_config m;
    vmafgpu_model *model;
    vmafgpu *context;
    snprintf(test_where, sizeof test_where, "options for unused features");
    test_need(vmafgpu_model_parse(&model, "adm only", text, sizeof text - 1, NULL, NULL, 0) == VMAFGPU_OK,
              "cannot parse the model");
    memset(&m, 0, sizeof m);
    m.model = model;
    c.models = &m;
    c.model_count = 1;
    m.options = "vif.vif_skip_scale0=true";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_OK);
    CHECK_INT(vmafgpu_column_index(context, "integer_vif_scale0_ssclz"), -1);
    vmafgpu_close(context);
    {
        /* as in libvmaf, unknown features and options are ignored; the values of options that are used must be valid */
        static const struct {
            const char *options, *words, *column;
        } ignored[] = {
            { "vif.no_such_option=banana",
              "model option 'vif.no_such_option=banana': model 'adm only' does not use feature vif; the option is "
              "ignored\n",
              "integer_adm2" },
            { "vif.vif_enhn_gain_limit=0:adm.adm_enhn_gain_limit=1",
              "'vif.vif_enhn_gain_limit=0': model 'adm only' does not use feature vif", "integer_adm2_egl_1" },
            { "float_banana.x=1",
              "model option 'float_banana.x=1': unknown feature ('float_banana'); the option is ignored\n",
              "integer_adm2" },
            { "adm.x=1:adm.adm_enhn_gain_limit=1:adm.y=2",
              "feature adm: unknown option ('x'); the option is ignored\nfeature adm: unknown option ('y'); the option "
              "is ignored\n",
              "integer_adm2_egl_1" },
        };
        for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
            warnings w = { "" };
            m.options = ignored[i].options;
            c.on_log = note_warning;
            c.on_log_user = &w;
            snprintf(test_where, sizeof test_where, "options for unused features, %s", m.options);
            CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_OK);
            CHECK_HAS(w.text, ignored[i].words);
            CHECK(vmafgpu_column_index(context, ignored[i].column) == 0);
            vmafgpu_close(context);
        }
        c.on_log = NULL;
        snprintf(test_where, sizeof test_where, "options for unused features");
    }
    m.options = "adm.x=1:adm.adm_enhn_gain_limit=0";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_FEATURE);
    CHECK_HAS(vmafgpu_last_error(context), "adm_enhn_gain_limit");
    vmafgpu_close(context);
    m.options = "adm=1";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_FEATURE);
    CHECK_HAS(vmafgpu_last_error(context),
              "model option 'adm=1': has no feature, or an unknown one; use feature.option=value");
    vmafgpu_close(context);
    c.strict_options = 1;
    m.options = "vif.no_such_option=banana";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_FEATURE);
    CHECK(strstr(vmafgpu_last_error(context), "no_such_option") != NULL);
    vmafgpu_close(context);
    vmafgpu_model_release(model);
}

/* Tests that unknown options are ignored, and that the first of two features with the same column names is used. */
static void test_ignored_options(void) {
    vmafgpu_config c = plain_config();
    vmafgpu_feature_config f[2];
    vmafgpu *context;
    warnings w = { "" };
    snprintf(test_where, sizeof test_where, "ignored options");
    memset(f, 0, sizeof f);
    c.features = f;
    c.feature_count = 1;
    c.on_log = note_warning;
    c.on_log_user = &w;
    f[0].name = "vif";
    f[0].options = "banana=1:vif_enhn_gain_limit=2:apple=x";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_OK);
    CHECK(vmafgpu_column_index(context, "integer_vif_scale0_egl_2") > 0);
    CHECK_INT(vmafgpu_get_config(context)->strict_options, 0);
    CHECK_STR(w.text, "feature vif: unknown option ('banana'); the option is ignored\nfeature vif: unknown option "
                      "('apple'); the option is ignored\n");
    vmafgpu_close(context);
    f[0].options = "banana";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_FEATURE);
    vmafgpu_close(context);
    f[0].options = "vif_enhn_gain_limit=2:debug=true";
    f[1].name = "vif";
    f[1].options = "vif_enhn_gain_limit=2";
    c.feature_count = 2;
    c.features_only = 1;
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_OK);
    CHECK(vmafgpu_column_count(context) > 4);
    vmafgpu_close(context);
    f[0].options = "vif_enhn_gain_limit=2";
    f[1].options = "vif_enhn_gain_limit=2:debug=true";
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_OK);
    CHECK_INT(vmafgpu_column_count(context), 4);
    vmafgpu_close(context);
}

/* Checks that vmafgpu_check_config() and vmafgpu_open() report the same error. If width and height are 0,
 * vmafgpu_check_config() assumes a size. */
static void check_at(int line, const char *feature, const char *options, int width, int height, const char *words) {
    vmafgpu_config c;
    vmafgpu_feature_config f;
    vmafgpu *context = NULL;
    memset(&c, 0, sizeof c);
    c.width = width;
    c.height = height;
    f.name = feature;
    f.options = options;
    c.features = &f;
    c.feature_count = 1;
    c.features_only = 1;
    c.strict_options = 1;
    snprintf(test_where, sizeof test_where, "line %d, %s %s", line, feature, options ? options : "");
    if (CHECK_INT(vmafgpu_check_config(&c), words ? VMAFGPU_ERROR_FEATURE : VMAFGPU_OK) && words) {
        char message[512];
        CHECK_HAS(vmafgpu_last_error(NULL), words);
        snprintf(message, sizeof message, "%s", vmafgpu_last_error(NULL));
        if (width) {
            CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_FEATURE);
            CHECK_STR(message, vmafgpu_last_error(context));
            vmafgpu_close(context);
        }
    }
}

static void test_check_config(void) {
    vmafgpu_config c;
    vmafgpu_model_config m[2];
    warnings w = { "" };
    check_at(__LINE__, "vif", NULL, 0, 0, NULL);
    check_at(__LINE__, "vif", "vif_enhn_gain_limit=0", 0, 0, "vif_enhn_gain_limit");
    check_at(__LINE__, "vif", "banana=0", 0, 0, "feature vif: unknown option ('banana')");
    check_at(__LINE__, "banana", NULL, 0, 0, "config.features[0]: unknown feature ('banana'); use adm");
    check_at(__LINE__, "adm", "adm_csf_mode=2:adm_norm_view_dist=4", 0, 0, "adm_csf_mode");
    check_at(__LINE__, "cambi", NULL, 0, 0, NULL);
    check_at(__LINE__, "cambi", NULL, 64, 64, "216 or more pixels");
    check_at(__LINE__, "cambi", "eotf=hlg", 0, 0, "feature cambi, option eotf: invalid value ('hlg')");
    check_at(__LINE__, "cambi", "enc_width=200:enc_height=200", 0, 0, "too small (200x200)");
    check_at(__LINE__, "cambi", "window_size=127", 0, 0, NULL);
    check_at(__LINE__, "speed_chroma", "speed_prescale=0.1", 0, 0, NULL);
    check_at(__LINE__, "speed_chroma", "speed_prescale=0.1", 1920, 1080, "(960x540, times speed_prescale 0.1)");
    check_at(__LINE__, "speed_chroma", "speed_prescale=4", 0, 0, NULL);
    check_at(__LINE__, "speed_chroma", "speed_kernelscale=1.1", 0, 0,
             "option speed_kernelscale: unsupported value (1.1)");
    check_at(__LINE__, "speed_temporal", "speed_prescale=0.1", 0, 0, NULL);
    check_at(__LINE__, "speed_temporal", "speed_prescale=1.1", 0, 0,
             "feature speed_temporal, option speed_prescale: out of range (1.1); use at most 1");
    snprintf(test_where, sizeof test_where, "vmafgpu_check_config");
    CHECK_INT(vmafgpu_check_config(NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_check_config: config is NULL");
    memset(&c, 0, sizeof c);
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_OK);
    c.width = 64;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "config.height: out of range (0); use 16..16384");
    c.width = 0;
    c.bit_depth = 17;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_ARGUMENT);
    c.bit_depth = 0;
    c.allocator.allocate = some_alloc;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_ARGUMENT);
    c.allocator.release = some_free;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_OK);
    memset(m, 0, sizeof m);
    m[0].version = "vmaf_v1.0.16_3d0h";
    m[0].options = "adm.x=1";
    m[1].name = "integer_motion2";
    c.models = m;
    c.model_count = 1;
    c.on_log = note_warning;
    c.on_log_user = &w;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_OK);
    CHECK_STR(w.text, "feature adm: unknown option ('x'); the option is ignored\n");
    c.chroma = VMAFGPU_CHROMA_400;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_FEATURE);
    CHECK_HAS(vmafgpu_last_error(NULL), "feature speed_chroma: requires chroma (config.chroma is 4:0:0)");
    c.chroma = VMAFGPU_CHROMA_420;
    c.model_count = 2;
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(NULL), "columns: two have the same name ('integer_motion2')");
    m[0].version = "vmaf_v9";
    CHECK_INT(vmafgpu_check_config(&c), VMAFGPU_ERROR_MODEL);
    CHECK_HAS(vmafgpu_last_error(NULL), "vmaf_v9");
}

/* Tests sizes of frames that vmafgpu_frame_size() rejects. */
static void test_frame_sizes(void) {
    static const struct {
        int width, height, depth, bytes, chroma;
        ptrdiff_t pitch;
        size_t expected;
    } cases[] = {
        { 16, 16, 8, 0, VMAFGPU_CHROMA_420, 0, 384 },
        { 17, 15, 10, 0, VMAFGPU_CHROMA_420, 0, 17 * 15 * 2 + 2 * 9 * 8 * 2 },
        { 16, 16, 8, 0, VMAFGPU_CHROMA_400, 32, 512 },
        { 0, 16, 8, 0, VMAFGPU_CHROMA_420, 0, 0 },
        { 16385, 16, 8, 0, VMAFGPU_CHROMA_420, 0, 0 },
        { 16, 0, 8, 0, VMAFGPU_CHROMA_420, 0, 0 },
        { 16, 16385, 8, 0, VMAFGPU_CHROMA_420, 0, 0 },
        { 16, 16, 8, -1, VMAFGPU_CHROMA_420, 0, 0 },
        { 16, 16, 8, 3, VMAFGPU_CHROMA_420, 0, 0 },
        { 16, 16, 8, 0, -1, 0, 0 },
        { 16, 16, 8, 0, VMAFGPU_CHROMA_444 + 9, 0, 0 },
        { 16, 16, 8, 0, VMAFGPU_CHROMA_420, 15, 0 },
        { 16, 16, 8, 0, VMAFGPU_CHROMA_420, PTRDIFF_MAX / 2, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vmafgpu_config c;
        char buffer[1];
        memset(&c, 0, sizeof c);
        c.width = cases[i].width;
        c.height = cases[i].height;
        c.bit_depth = cases[i].depth;
        c.bytes_per_sample = cases[i].bytes;
        c.chroma = (vmafgpu_chroma)cases[i].chroma;
        snprintf(test_where, sizeof test_where, "size of frame %d", (int)i);
        CHECK_INT(vmafgpu_frame_size(&c, cases[i].pitch), cases[i].expected);
        CHECK((vmafgpu_frame_of(&c, buffer, cases[i].pitch).data[0] == buffer) == (cases[i].expected > 0));
        CHECK(vmafgpu_frame_of(&c, NULL, cases[i].pitch).data[0] == NULL);
    }
    CHECK_INT(vmafgpu_frame_size(NULL, 0), 0);
}

/* Tests how many different features a context can have. */
static void test_many_features(void) {
    enum { MOST = 32 };
    vmafgpu_config c = plain_config();
    vmafgpu_model_config model = VMAFGPU_INIT;
    static vmafgpu_feature_config features[MOST];
    static char options[MOST][40];
    vmafgpu *context = NULL;
    for (int i = 0; i < MOST; i++) {
        snprintf(options[i], sizeof options[i], "vif_enhn_gain_limit=%d", 2 + i);
        features[i].name = "vif";
        features[i].options = options[i];
    }
    snprintf(test_where, sizeof test_where, "many features");
    c.features = features;
    c.feature_count = MOST;
    c.models = &model;
    for (int count = 1; count <= MOST; count++) {
        c.feature_count = count;
        c.features_only = 1;
        const vmafgpu_result result = vmafgpu_open(&context, &c);
        if (result != VMAFGPU_OK) {
            CHECK_INT(result, VMAFGPU_ERROR_FEATURE);
            CHECK_HAS(vmafgpu_last_error(context), "use at most");
            CHECK(count > 8);
        } else {
            CHECK_INT(vmafgpu_column_count(context), 4 * count);
        }
        vmafgpu_close(context);
    }
}

/* Tests the functions with which programs in other languages check the layout of structs. */
static void test_layout(void) {
    size_t offset = 77, size = 77, i = 0;
    const char *name;
    int found = 0;
    snprintf(test_where, sizeof test_where, "layout");
    CHECK_INT(vmafgpu_abi(), VMAFGPU_ABI);
    CHECK(vmafgpu_layout_at(-1, &offset, &size) == NULL);
    CHECK(offset == 77 && size == 77);
    for (; (name = vmafgpu_layout_at((int)i, &offset, &size)) != NULL; i++) {
        CHECK(vmafgpu_layout_at((int)i, NULL, NULL) == name);
        if (strstr(name, "config") && strstr(name, "bit_depth")) {
            CHECK_INT(offset, offsetof(vmafgpu_config, bit_depth));
            CHECK_INT(size, sizeof(int));
            found++;
        }
    }
    CHECK_INT(found, 1);
    CHECK(i > 100);
}

static void test_long_names(void) {
    static const char *const names[][2] = {
        { "VMAF_integer_feature_adm2_score", "integer_adm2" },
        { "VMAF_integer_feature_vif_scale3_score", "integer_vif_scale3" },
        { "VMAF_integer_feature_motion2_score", "integer_motion2" },
        { "VMAF_integer_feature_motion_sad_score", "VMAF_integer_feature_motion_sad_score" },
    };
    vmafgpu_config c = plain_config();
    vmafgpu *context = open_checked(&c);
    snprintf(test_where, sizeof test_where, "long names");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK(vmafgpu_column_index(context, names[i][0]) >= 0);
        CHECK_INT(vmafgpu_column_index(context, names[i][0]), vmafgpu_column_index(context, names[i][1]));
    }
    CHECK_INT(vmafgpu_column_index(context, "Cambi_feature_cambi_score"), -1);
    CHECK_INT(vmafgpu_column_index(context, NULL), -1);
    CHECK_INT(vmafgpu_column_index(NULL, names[0][0]), -1);
    vmafgpu_close(context);
}

static void *no_alloc(void *user, size_t size) {
    (void)size;
    (void)user;
    return NULL;
}

/* Tests vmafgpu_last_error(NULL), which returns the messages of failed opens and of calls without a context. */
static void test_no_context(void) {
    vmafgpu_config c = plain_config();
    vmafgpu *context, *other = open_checked(&c);
    vmafgpu_score score;
    snprintf(test_where, sizeof test_where, "no context");
    c.width = 10;
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_ARGUMENT);
    vmafgpu_close(context);
    CHECK_STR(vmafgpu_last_error(NULL), "config.width: out of range (10); use 16..16384");
    CHECK(vmafgpu_push(other, NULL, NULL) < 0); /* an error in another context must not change the message */
    CHECK_STR(vmafgpu_last_error(NULL), "config.width: out of range (10); use 16..16384");
    CHECK_HAS(vmafgpu_last_error(other), "reference");
    c.width = 64;
    c.allocator.allocate = no_alloc;
    c.allocator.release = some_free;
    CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_MEMORY);
    CHECK(context == NULL);
    CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_open: out of memory for the context");
    CHECK_INT(vmafgpu_push(NULL, NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push: context is NULL");
    CHECK_INT(vmafgpu_next_score(NULL, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_next_score: context is NULL");
    vmafgpu_close(other);
}

/* Allocates blocks of at most 512 MiB, and records the largest size requested. */
static void *little_alloc(void *user, size_t size) {
    size_t *largest = (size_t *)user;
    *largest = size > *largest ? size : *largest;
    return size > (size_t)1 << 29 ? NULL : malloc(size);
}

static void any_free(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

/* Tests that contexts that need more than 512 MiB in one allocation cannot be opened. With 32-bit pointers, sizes above
 * 4 GiB must not wrap around. */
static void test_large(void) {
    enum { LARGEST = 16384 };
    static const struct {
        const char *feature, *options;
        int candidates, threads, edits, pixels;
    } ways[] = {
        { NULL, NULL, 4, 1, 0, 0 },
        { NULL, NULL, 11, 1, 0, 0 },
        { NULL, NULL, 16, 256, 0, 0 },
        { NULL, NULL, 11, 16, 64, 0 },
        { NULL, NULL, 16, 1, 0, 1 },
        { "cambi", "cambi_high_res_speedup=2160:window_size=15", 1, 256, 0, 0 },
        { "float_adm", NULL, 1, 256, 0, 0 },
        { "float_ssim", "scale=1", 11, 256, 0, 0 },
        { "float_ms_ssim", NULL, 1, 256, 0, 0 },
        { "float_motion", "motion_add_uv=true", 16, 1, 0, 0 },
        { "speed_temporal", NULL, 16, 1, 0, 0 },
        { "float_vif", "vif_prescale=4", 1, 1, 0, 0 },
        { "float_vif", "vif_prescale=3.9", 1, 256, 0, 0 },
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        for (int height = LARGEST; height >= LARGEST - 2048; height -= 16) {
            vmafgpu_config c = plain_config();
            vmafgpu_feature_config feature;
            vmafgpu *context = NULL;
            size_t largest = 0;
            memset(&feature, 0, sizeof feature);
            feature.name = ways[i].feature;
            feature.options = ways[i].options;
            snprintf(test_where, sizeof test_where, "16384x%d, way %d", height, (int)i);
            c.width = LARGEST;
            c.height = height;
            c.bit_depth = 10;
            c.chroma = VMAFGPU_CHROMA_444;
            c.backend = VMAFGPU_BACKEND_CPU;
            c.features = feature.name ? &feature : NULL;
            c.feature_count = feature.name != NULL;
            c.max_candidates = ways[i].candidates;
            c.threads = ways[i].threads;
            c.max_edit_size = ways[i].edits;
            c.colour.matrix = ways[i].pixels ? VMAFGPU_MATRIX_BT709 : c.colour.matrix;
            c.colour.range = ways[i].pixels ? VMAFGPU_RANGE_LIMITED : c.colour.range;
            c.allocator.allocate = little_alloc;
            c.allocator.release = any_free;
            c.allocator.user = &largest;
            CHECK_INT(vmafgpu_open(&context, &c), VMAFGPU_ERROR_MEMORY);
            CHECK_HAS(vmafgpu_last_error(context), ": out of memory (");
            CHECK(sizeof(size_t) == 4 || largest > (size_t)1 << 29);
            vmafgpu_close(context);
        }
    }
}

/* Tests that vmafgpu_open() and vmafgpu_push() reject a rounding mode that would change the scores. */
static void test_rounding(void) {
    vmafgpu_config c = plain_config();
    vmafgpu *context = NULL;
    vmafgpu_result result;
    volatile double one = 1, little = 1e-30, sum;
    snprintf(test_where, sizeof test_where, "rounding mode");
    fesetround(FE_UPWARD);
    sum = one + little;
    result = vmafgpu_open(&context, &c);
    fesetround(FE_TONEAREST);
    if (sum == 1) {
        test_skip("fesetround() has no effect here (for example, under valgrind)");
        vmafgpu_close(context);
        return;
    }
    CHECK_INT(result, VMAFGPU_ERROR_FLOAT);
    CHECK(vmafgpu_last_error(context)[0] != 0);
    vmafgpu_close(context);
    context = open_checked(&c);
    {
        static const unsigned char plane[64 * 48] = { 1, 2, 3 };
        static const double zeros[64] = { 0 };
        vmafgpu_frame frame;
        vmafgpu_score score;
        memset(&frame, 0, sizeof frame);
        frame.data[0] = plane;
        fesetround(FE_UPWARD);
        result = vmafgpu_push(context, &frame, &frame);
        CHECK_INT(vmafgpu_score_pair(context, &frame, &frame, NULL, &score), VMAFGPU_ERROR_FLOAT);
        CHECK_INT(vmafgpu_predict(context, zeros, &score), VMAFGPU_ERROR_FLOAT);
        fesetround(FE_TONEAREST);
        CHECK_INT(result, VMAFGPU_ERROR_FLOAT);
        CHECK_INT(vmafgpu_push(context, &frame, &frame), VMAFGPU_OK);
    }
    vmafgpu_close(context);
}

/* Tests that a locale with a decimal comma does not change how options are parsed. */
static void test_locale(void) {
    if (!TEST_COMMA_LOCALE())
        return;
    names_at(__LINE__, "adm", "adm_enhn_gain_limit=1.25",
             "integer_adm2_egl_1.25 integer_aim_egl_1.25 integer_adm3_egl_1.25 integer_adm_scale0_egl_1.25 "
             "integer_adm_scale1_egl_1.25 integer_adm_scale2_egl_1.25 integer_adm_scale3_egl_1.25");
    setlocale(LC_ALL, "C");
}

int main(void) {
    test_fields();
    test_model_fields();
    test_model_names();
    test_model_structs();
    test_feature_fields();
    test_column_names();
    test_column_order();
    test_report_column();
    test_csf_advice();
    test_defaults();
    test_names();
    test_builtin();
    test_log();
    test_failed_open();
    test_no_context();
    test_unused_options();
    test_ignored_options();
    test_check_config();
    test_long_names();
    test_frame_sizes();
    test_many_features();
    test_layout();
    test_large();
    test_rounding();
    test_locale();
    return test_end();
}
