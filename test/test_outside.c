/* Tests functions for programs that manage features, models and frames themselves: values of frames without a score,
 * predictions from imported values, models that are freed early, disable_transform, and config.on_reusable. */
#include <math.h>
#include "scoring.h"

enum { WIDTH = 96, HEIGHT = 64, FRAMES = 6 };

static vmafgpu_config plain_config(void) {
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = WIDTH;
    config.height = HEIGHT;
    config.backend = VMAFGPU_BACKEND_CPU;
    return config;
}

/* A model with one feature and a transform that changes the score. */
static const char small_model[] =
    "{\"model_dict\":{\"model_type\":\"LIBSVMNUSVR\",\"norm_type\":\"linear_rescale\",\"slopes\":[0.01,1.0],"
    "\"intercepts\":[-0.1,0.0],\"feature_names\":[\"VMAF_integer_feature_vif_scale0_score\"],\"score_transform\":{"
    "\"enabled\":true,"
    "\"p0\":1.5,\"p1\":2.0},\"model\":\"svm_type nu_svr\\nkernel_type rbf\\ngamma 0.05\\nnr_class 2\\ntotal_sv 2\\nrho "
    "-1.5\\nSV\\n4 "
    "1:0.25 \\n-2 1:0.75 \\n\"}}";

static vmafgpu_model *parse_small(const vmafgpu_allocator *allocator) {
    vmafgpu_model *model = NULL;
    char error[256] = "";
    const vmafgpu_result result =
        vmafgpu_model_parse(&model, "small", small_model, sizeof small_model - 1, allocator, error, sizeof error);
    CHECK_STR(error, "");
    CHECK_INT(result, VMAFGPU_OK);
    return model;
}

static void push_frame(vmafgpu *v, const film *f, int i) {
    vmafgpu_frame reference = film_frame(f, i, 0), distorted = film_frame(f, i, 1);
    CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
}

static void test_values(const film *f) {
    vmafgpu_config config = plain_config();
    const vmafgpu_feature_config feature = { "vif", NULL };
    vmafgpu *v;
    double value = -1;
    vmafgpu_score score;
    snprintf(test_where, sizeof test_where, "values");
    config.features = &feature;
    config.feature_count = 1;
    config.subsample = 2;
    CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK);
    const int early = vmafgpu_column_index(v, "integer_adm2"), late = vmafgpu_column_index(v, "integer_motion2"),
              last = vmafgpu_model_column(v, 0);
    CHECK_INT(vmafgpu_value_at(v, 0, early, &value), VMAFGPU_ERROR_NOT_FOUND);
    push_frame(v, f, 0);
    CHECK_INT(vmafgpu_value_at(v, 0, early, &value), VMAFGPU_OK);
    CHECK(value > 0.5 && value <= 1);
    CHECK_INT(vmafgpu_value_at(v, 0, late, &value), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_value_at(v, 0, last, &value), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_value_at(v, 0, last + 1, &value), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_value_at(v, 0, -1, &value), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_value_at(v, 0, early, NULL), VMAFGPU_ERROR_ARGUMENT);
    push_frame(v, f, 1);
    push_frame(v, f, 2);
    CHECK_INT(vmafgpu_value_at(v, 0, last, &value), VMAFGPU_OK);
    CHECK_INT(vmafgpu_value_at(v, 1, early, &value), VMAFGPU_ERROR_NOT_FOUND); /* subsampling skips this frame */
    CHECK_INT(vmafgpu_value_at(v, 3, early, &value), VMAFGPU_ERROR_NOT_FOUND); /* this frame was not pushed */
    CHECK_INT(vmafgpu_value_at(v, 2, late, &value), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_at(v, 2, &score), VMAFGPU_OK);
    for (int c = 0; c < vmafgpu_column_count(v); c++) {
        CHECK_INT(vmafgpu_value_at(v, 2, c, &value), VMAFGPU_OK);
        CHECK_BITS(value, score.values[c]);
    }
    vmafgpu_close(v);
    config.discard_scores = 1;
    config.subsample = 1;
    CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK);
    push_frame(v, f, 0);
    CHECK_INT(vmafgpu_value_at(v, 0, early, &value), VMAFGPU_ERROR_STATE);
    vmafgpu_close(v);
}

/* Tests that vmafgpu_predict() in a context without pictures returns the scores of the context that computed the
 * features. */
static void test_prediction(const film *f) {
    vmafgpu_model_config models[3];
    vmafgpu_config config = plain_config();
    vmafgpu *v, *other;
    vmafgpu_score score, again;
    memset(models, 0, sizeof models);
    models[1].version = "vmaf_v0.6.1neg";
    models[1].name = "neg";
    models[2].version = "vmaf_b_v0.6.3";
    models[2].name = "b";
    config.models = models;
    config.model_count = 3;
    snprintf(test_where, sizeof test_where, "prediction");
    CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK);
    config.width = config.height = 0;
    config.predict_only = 1;
    CHECK_INT(vmafgpu_open(&other, &config), VMAFGPU_OK);
    CHECK_STR(vmafgpu_backend_name(other), "none");
    CHECK(vmafgpu_host_memory(other) < vmafgpu_host_memory(v));
    CHECK_INT(vmafgpu_column_count(other), vmafgpu_column_count(v));
    for (int i = 0; i < FRAMES; i++)
        push_frame(v, f, i);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    for (int i = 0; i < FRAMES; i++) {
        CHECK_INT(vmafgpu_score_at(v, i, &score), VMAFGPU_OK);
        CHECK_INT(vmafgpu_predict(other, score.values, &again), VMAFGPU_OK);
        CHECK_BITS(again.score, score.score);
        for (int c = 0; c < vmafgpu_column_count(v); c++) {
            CHECK_STR(vmafgpu_column_name(other, c), vmafgpu_column_name(v, c));
            CHECK_BITS(again.values[c], score.values[c]);
        }
    }
    /* vmafgpu_predict() works in a context with pictures too */
    CHECK_INT(vmafgpu_predict(v, score.values, &again), VMAFGPU_OK);
    CHECK_BITS(again.score, score.score);
    CHECK_INT(vmafgpu_score_count(v), FRAMES);
    CHECK_INT(vmafgpu_predict(other, NULL, &again), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_predict(other, score.values, NULL), VMAFGPU_ERROR_ARGUMENT);
    {
        vmafgpu_frame frame = film_frame(f, 0, 0);
        CHECK(vmafgpu_push(other, &frame, &frame) < 0);
        CHECK_INT(vmafgpu_score_pair(other, &frame, &frame, NULL, &again) < 0, 1);
    }
    CHECK_INT(vmafgpu_flush(other), VMAFGPU_OK);
    CHECK_INT(vmafgpu_reset(other), VMAFGPU_OK);
    vmafgpu_close(other);
    vmafgpu_close(v);

    /* Tests models that only select features. */
    config = plain_config();
    config.models = models;
    config.model_count = 2;
    config.model_features_only = 1;
    CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK);
    CHECK_INT(vmafgpu_model_column(v, 0), -1);
    CHECK_INT(vmafgpu_column_index(v, "vmaf"), -1);
    CHECK(vmafgpu_column_index(v, "integer_vif_scale0_egl_1") >= 0);
    push_frame(v, f, 0);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_at(v, 0, &again), VMAFGPU_OK);
    CHECK(again.score != again.score);
    vmafgpu_close(v);
}

static int freed, allocated;

static void *counted_alloc(void *user, size_t size) {
    (void)user;
    allocated++;
    return malloc(size);
}

static void counted_free(void *user, void *pointer) {
    (void)user;
    freed++;
    free(pointer);
}

static double score_small(vmafgpu *v, const film *f) {
    double value = NAN;
    push_frame(v, f, 0);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    CHECK_INT(vmafgpu_pool(v, vmafgpu_model_column(v, 0), VMAFGPU_POOL_MEAN, &value), VMAFGPU_OK);
    return value;
}

static void test_models(const film *f) {
    vmafgpu_allocator allocator = { counted_alloc, counted_free, NULL };
    vmafgpu_model_config model;
    vmafgpu_config config = plain_config();
    vmafgpu *v[2];
    double with, without;
    memset(&model, 0, sizeof model);
    config.models = &model;
    config.model_count = 1;
    snprintf(test_where, sizeof test_where, "models that are released early");
    vmafgpu_model *parsed = parse_small(&allocator);
    const int before = freed;
    model.model = parsed;
    CHECK_INT(vmafgpu_check_config(&config), VMAFGPU_OK);
    CHECK_INT(vmafgpu_open(&v[0], &config), VMAFGPU_OK);
    model.disable_transform = 1;
    CHECK_INT(vmafgpu_open(&v[1], &config), VMAFGPU_OK);
    vmafgpu_model_retain(parsed);
    vmafgpu_model_release(parsed);
    vmafgpu_model_release(parsed);
    CHECK_INT(freed, before); /* nothing has been freed, because two contexts use the model */
    with = score_small(v[0], f);
    without = score_small(v[1], f);
    CHECK_BITS(with, 1.5 + 2.0 * without);
    vmafgpu_close(v[0]);
    CHECK_INT(freed, before);
    vmafgpu_close(v[1]);
    CHECK_INT(freed, before + 1);
    CHECK_INT(allocated, freed);

    parsed = parse_small(NULL);
    model.model = parsed;
    model.enable_transform = 1;
    CHECK_INT(vmafgpu_open(&v[0], &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v[0]), "disable_transform");
    vmafgpu_close(v[0]);
    vmafgpu_model_release(parsed);
    vmafgpu_model_release(NULL);
    vmafgpu_model_retain(NULL);
    vmafgpu_model_retain(vmafgpu_builtin_model("vmaf_v0.6.1"));
    vmafgpu_model_release((vmafgpu_model *)(uintptr_t)vmafgpu_builtin_model("vmaf_v0.6.1"));
}

typedef struct reusable_log {
    vmafgpu *context;
    int64_t pairs;
    int calls, refused;
} reusable_log;

static void note_reusable(void *user, int64_t pairs) {
    reusable_log *log = (reusable_log *)user;
    CHECK(pairs > log->pairs);
    log->pairs = pairs;
    log->calls++;
    log->refused += vmafgpu_wait(log->context, -1) == VMAFGPU_ERROR_STATE;
}

static void test_reusable(const film *f) {
    reusable_log log = { NULL, 0, 0, 0 };
    vmafgpu_config config = plain_config();
    snprintf(test_where, sizeof test_where, "reusable frames");
    config.on_reusable = note_reusable;
    config.on_reusable_user = &log;
    CHECK_INT(vmafgpu_open(&log.context, &config), VMAFGPU_OK);
    for (int i = 0; i < 3; i++) {
        push_frame(log.context, f, i);
        CHECK_INT(log.pairs, i + 1);
    }
    CHECK_INT(vmafgpu_flush(log.context), VMAFGPU_OK);
    CHECK_INT(log.calls, 3);
    CHECK_INT(log.refused, 3);
    log.pairs = 0;
    CHECK_INT(vmafgpu_reset(log.context), VMAFGPU_OK);
    push_frame(log.context, f, 0);
    CHECK_INT(log.pairs, 1);
    vmafgpu_close(log.context); /* without a flush, so on_reusable is not called */
    CHECK_INT(log.calls, 4);
}

static void test_report_names(void) {
    snprintf(test_where, sizeof test_where, "names in reports");
    CHECK_STR(vmafgpu_report_name("VMAF_integer_feature_adm2_score"), "integer_adm2");
    CHECK_STR(vmafgpu_report_name("VMAF_feature_vif_scale0_score"), "vif_scale0");
    CHECK_STR(vmafgpu_report_name("Cambi_feature_cambi_score"), "cambi");
    CHECK_STR(vmafgpu_report_name("integer_adm2"), "integer_adm2");
    CHECK_STR(vmafgpu_report_name("another name"), "another name");
    CHECK(vmafgpu_report_name(NULL) == NULL);
}

int main(void) {
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, FRAMES, 3);
    test_values(&f);
    test_prediction(&f);
    test_models(&f);
    test_reusable(&f);
    test_report_names();
    film_free(&f);
    return test_end();
}
