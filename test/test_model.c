/* Tests models in JSON: parsing and errors. Compares the built-in models with their files, and predictions with those
 * of a simple implementation. */
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include "scoring.h"

/* A small model that uses all fields. %s is replaced by a transform. */
/* clang-format off */
static const char whole_text[] =
    "{\"param_dict\": {\"C\": 4.0, \"nested\": [1, [2, {\"a\": null}], true, false, \"\\u0041\\n\\\"\"]},\n"
    " \"model_dict\": {\n"
    "  \"model_type\": \"LIBSVMNUSVR\", \"norm_type\": \"linear_rescale\",\n"
    "  \"feature_names\": [\"V\\u004DAF_integer_feature_adm2_score\", \"VMAF_integer_feature_\\u006dotion2_score\",\n"
    "                    \"VMAF_integer_feature_vif_scale0_score\"],\n"
    "  \"feature_opts_dicts\": [{\"adm_enhn_gain_limit\": 1.0}, {}, {}],\n"
    "  \"slopes\": [0.012, 2.8, 0.0626, 1.22], \"intercepts\": [-0.309, -1.79, -3.0e-3, -1.72E-1],\n"
    "  \"score_clip\": [0.0, 100.0],\n"
    "  %s\n"
    "  \"model\": \"svm_type nu_svr\\nkernel_type rbf\\ngamma 0.04\\nnr_class 2\\ntotal_sv 3\\nrho -1.33133\\nSV\\n"
    "4 1:0.65734273 2:0.34473595 3:1.0497154 \\n-3.2641 1:-0.5 3:0.25 \\n0.125 2:-.5e1 \\n\"\n"
    " }}\n";

static const double slopes[4] = {0.012, 2.8, 0.0626, 1.22}, intercepts[4] = {-0.309, -1.79, -3.0e-3, -1.72E-1};
static const double vectors[3][3] = {{0.65734273, 0.34473595, 1.0497154}, {-0.5, 0, 0.25}, {0, -5, 0}};
static const double coefs[3] = {4, -3.2641, 0.125};

static const char *model_text(const char *transform) {
    static char text[4096];
    snprintf(text, sizeof text, whole_text, transform);
    return text;
}

static vmafgpu_model *parse(const char *text, size_t size) {
    vmafgpu_model *model = NULL;
    char error[256] = "";
    vmafgpu_result result = vmafgpu_model_parse(&model, "mine", text, size, NULL, error, sizeof error);
    CHECK_INT(result, VMAFGPU_OK);
    if (result != VMAFGPU_OK) {
        printf("%s\n", error);
    }
    return model;
}

static double predict_raw(const double *features) {
    double sum = 0;
    for (int v = 0; v < 3; v++) {
        double distance = 0;
        for (int i = 0; i < 3; i++) {
            double scaled = slopes[i + 1] * features[i];
            double d = scaled + intercepts[i + 1] - vectors[v][i];
            double square = d * d;
            distance += square;
        }
        sum += coefs[v] * exp(-0.04 * distance);
    }
    return (sum + 1.33133 - intercepts[0]) / slopes[0];
}

/* ---- prediction ---- */

typedef double curve(double x);

static double curve_none(double x) {
    return x;
}

static double curve_polynomial(double x) {
    double y = 1.70674692 + 1.72643844 * x;
    return y + -0.00705305 * x * x;
}

static double curve_polynomial_up(double x) {
    double y = curve_polynomial(x);
    return y > x ? y : x;
}

static double curve_p1(double x) {
    return 0.5 * x;
}

static double curve_knots(double x) {
    if (x >= 60) {
        return 40 + (x - 60) * 1.5;
    }
    return x >= 20 ? 10 + (x - 20) * 0.75 : x / 2;
}

static double curve_knots_down(double x) {
    double y = curve_knots(x);
    return y < x ? y : x;
}

static const struct transform_case {
    const char *text;
    int         enable; /* vmafgpu_model_config.enable_transform */
    curve      *expected;
} transforms[] = {
    {"", 0, curve_none},
    {"", 1, curve_none},
    {"\"score_transform\": {\"p0\": 1.70674692, \"p1\": 1.72643844, \"p2\": -0.00705305, \"out_gte_in\": \"true\"},", 0,
     curve_none},
    {"\"score_transform\": {\"p0\": 1.70674692, \"p1\": 1.72643844, \"p2\": -0.00705305, \"out_gte_in\": \"true\"},", 1,
     curve_polynomial_up},
    {"\"score_transform\": {\"enabled\": true, \"p0\": 1.70674692, \"p1\": 1.72643844, \"p2\": -0.00705305},", 0,
     curve_polynomial},
    {"\"score_transform\": {\"enabled\": false, \"p1\": 0.5},", 0, curve_none},
    {"\"score_transform\": {\"enabled\": false, \"p1\": 0.5},", 1, curve_p1},
    {"\"score_transform\": {\"enabled\": true, \"p0\": null, \"p1\": 0.5, \"p2\": null, \"knots\": null},", 0,
     curve_p1},
    {"\"score_transform\": {\"enabled\": true, \"knots\": [[0, 0], [20, 10], [60, 40], [100, 100]]},", 0, curve_knots},
    {"\"score_transform\": {\"enabled\": true, \"knots\": [[0, 0], [20, 10], [60, 40], [100, 100]],"
     "\"out_lte_in\": \"true\"},", 0, curve_knots_down},
};
/* clang-format on */

static void test_prediction(void) {
    film f = film_make("texture+stretch", 64, 48, 8, 4, 1);
    for (size_t t = 0; t < sizeof transforms / sizeof transforms[0]; t++) {
        const char *text = model_text(transforms[t].text);
        vmafgpu_model *model = parse(text, strlen(text));
        vmafgpu_config config = film_config(&f);
        vmafgpu_model_config m[2];
        vmafgpu *context;
        snprintf(test_where, sizeof test_where, "transform %d", (int)t);
        if (!CHECK(model != NULL))
            continue;
        memset(m, 0, sizeof m);
        m[0].model = model;
        m[0].name = "free";
        m[0].disable_clip = 1;
        m[0].enable_transform = transforms[t].enable;
        m[1] = m[0];
        m[1].name = "clipped";
        m[1].disable_clip = 0;
        config.models = m;
        config.model_count = 2;
        context = open_checked(&config);
        for (int i = 0; context && i < f.clip.frames; i++)
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        for (int i = 0; i < f.clip.frames; i++) {
            static const char *const names[] = { "integer_adm2_egl_1", "integer_motion2", "integer_vif_scale0" };
            vmafgpu_score score;
            double features[3] = { 0, 0, 0 }, expected;
            CHECK_INT(vmafgpu_score_at(context, i, &score), VMAFGPU_OK);
            for (int k = 0; k < 3; k++) {
                int column = vmafgpu_column_index(context, names[k]);
                if (CHECK(column >= 0))
                    features[k] = score.values[column];
            }
            expected = transforms[t].expected(predict_raw(features));
            CHECK(fabs(score.values[vmafgpu_model_column(context, 0)] - expected) <= 1e-9 * (1 + fabs(expected)));
            expected = expected < 0 ? 0 : expected > 100 ? 100 : expected;
            CHECK(fabs(score.values[vmafgpu_model_column(context, 1)] - expected) <= 1e-9 * (1 + fabs(expected)));
        }
        vmafgpu_close(context);
        vmafgpu_model_release(model);
    }
    film_free(&f);
}

/* Parses a model and opens a context that only predicts with it: column "raw" without transform and clip, and column
 * "score" with both. The model may be NULL. */
static vmafgpu *open_predictor(const char *text, const vmafgpu_model *model, vmafgpu_model **parsed) {
    vmafgpu_model_config m[2];
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    memset(m, 0, sizeof m);
    *parsed = model ? NULL : parse(text, strlen(text));
    m[0].model = m[1].model = model ? model : *parsed;
    m[0].name = "raw";
    m[0].disable_clip = m[0].disable_transform = 1;
    m[1].name = "score";
    config.models = m;
    config.model_count = 2;
    config.predict_only = 1;
    return m[0].model ? open_checked(&config) : NULL;
}

/* The same line through two knots, in another form than in the library. */
static double curve_between(double x, double x1, double y1, double x2, double y2) {
    return y1 + (x - x1) / (x2 - x1) * (y2 - y1);
}

static double curve_from_0(double x) {
    return x > 20 ? curve_between(x, 20, 10, 60, 40) : curve_between(x, 0, 4, 20, 10);
}

static double curve_level(double x) {
    return x <= 20 ? 5 : x <= 60 ? curve_between(x, 20, 5, 60, 40) : x <= 90 ? 40 : curve_between(x, 90, 40, 100, 100);
}

static double curve_level_end(double x) {
    return x <= 50 ? curve_between(x, -10, -5, 50, 50) : 50;
}

static double curve_square(double x) {
    return 0.01 * x * x;
}

static double curve_constant(double x) {
    (void)x;
    return 12.5;
}

static double curve_at_least(double x) {
    return x > 12.5 ? x : 12.5;
}

static double curve_at_most(double x) {
    return x < 12.5 ? x : 12.5;
}

/* Tests score transforms over a range of raw scores, also beyond the first and the last knot. */
static void test_curves(void) {
    static const struct {
        const char *transform;
        curve *expected;
    } cases[] = {
        { "\"knots\": [[0, 4], [20, 10], [60, 40]]", curve_from_0 },
        { "\"knots\": [[10, 5], [20, 5], [60, 40], [90, 40], [100, 100]]", curve_level },
        { "\"knots\": [[-10, -5], [50, 50], [70, 50]]", curve_level_end },
        { "\"knots\": [[10, 5]]", curve_none },
        { "\"knots\": []", curve_none },
        { "\"p2\": 0.01", curve_square },
        { "\"p0\": 12.5", curve_constant },
        { "\"p0\": 12.5, \"out_gte_in\": \"true\"", curve_at_least },
        { "\"p0\": 12.5, \"out_lte_in\": \"true\"", curve_at_most },
        { "\"p0\": 12.5, \"out_lte_in\": \"false\", \"out_gte_in\": \"false\"", curve_constant },
    };
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
        char text[1024];
        vmafgpu_model *model;
        double least = 1e9, most = -1e9;
        snprintf(text, sizeof text,
                 "{\"model_dict\":{\"model_type\":\"LIBSVMNUSVR\",\"norm_type\":\"none\",\"feature_names\":"
                 "[\"VMAF_integer_feature_vif_scale0_score\"],\"score_transform\":{\"enabled\":true,%s},\"model\":"
                 "\"svm_type nu_svr\\nkernel_type rbf\\ngamma 1\\nnr_class 2\\ntotal_sv 1\\nrho 30\\nSV\\n200\\n\"}}",
                 cases[t].transform);
        snprintf(test_where, sizeof test_where, "curve %s", cases[t].transform);
        vmafgpu *context = open_predictor(text, NULL, &model);
        for (int i = 0; context && i <= 300; i++) {
            const double value = i / 100.;
            double features[16] = { 0 };
            vmafgpu_score score;
            if (!CHECK(vmafgpu_column_count(context) < 16))
                break;
            features[vmafgpu_column_index(context, "integer_vif_scale0")] = value;
            CHECK_INT(vmafgpu_predict(context, features, &score), VMAFGPU_OK);
            const double raw = score.values[vmafgpu_model_column(context, 0)], expected = cases[t].expected(raw);
            CHECK(fabs(raw - (200 * exp(-value * value) - 30)) <= 1e-9);
            CHECK(fabs(score.values[vmafgpu_model_column(context, 1)] - expected) <= 1e-9 * (1 + fabs(expected)));
            least = raw < least ? raw : least;
            most = raw > most ? raw : most;
        }
        CHECK(least < -25 && most > 160); /* beyond all knots */
        vmafgpu_close(context);
        vmafgpu_model_release(model);
    }
}

/* Tests the correction of chroma: only if the chroma feature is exactly 0, a value computed from adm3 replaces it. */
static void test_chroma_correction(void) {
    static const char *const names[] = { "Speed_chroma_feature_speed_chroma_uv_score",
                                         "VMAF_integer_feature_adm3_score" };
    static const char *const options[] = { "", "" };
    static const double scales[][3] = { { 1, 1, 1 }, { 0.5, 0.25, 2 } },
                        offsets[][3] = { { 0, 0, 0 }, { 3, 0.125, -1 } };
    static const double vector[2] = { 0.5, 0.75 }, coefficient[1] = { 90 };
    static const uint16_t rows[1] = { 0 };
    static const double values[][2] = {
        { 0, 0.9 }, { 0, 1 }, { -0.0, 0.25 }, { 0.5, 0.9 }, { -0.5, 0.9 }, { NAN, 0.9 }
    };
    for (int c = 0; c < 2 * 3; c++) {
        static const double factors[] = { 0, 2, -0.5 };
        const int scaled = c % 2;
        vmafgpu_svm svm;
        vmafgpu_model model, *parsed;
        vmafgpu *corrected, *plain;
        memset(&svm, 0, sizeof svm);
        memset(&model, 0, sizeof model);
        svm.feature_count = 2;
        svm.feature_names = names;
        svm.feature_options = options;
        svm.rescale = scaled;
        svm.slopes = scales[scaled];
        svm.intercepts = offsets[scaled];
        svm.sv_count = 1;
        svm.sv_coefs = coefficient;
        svm.sv_rows = rows;
        svm.sv_table = vector;
        svm.gamma = 0.5;
        model.name = "mine";
        model.svm_count = 1;
        model.svms = &svm;
        snprintf(test_where, sizeof test_where, "chroma correction %g%s", factors[c / 2], scaled ? ", rescaled" : "");
        plain = open_predictor(NULL, &model, &parsed);
        vmafgpu_svm other = svm;
        vmafgpu_model changed = model;
        changed.svms = &other;
        other.has_chroma_correction = 1;
        other.chroma_correction = factors[c / 2];
        corrected = open_predictor(NULL, &changed, &parsed);
        for (size_t i = 0; plain && corrected && i < sizeof values / sizeof values[0]; i++) {
            const int chroma = vmafgpu_column_index(plain, "speed_chroma_uv"),
                      adm = vmafgpu_column_index(plain, "integer_adm3");
            double features[16] = { 0 };
            vmafgpu_score got, expected;
            features[chroma] = values[i][0];
            features[adm] = values[i][1];
            if (!CHECK(chroma >= 0 && adm >= 0 && vmafgpu_column_count(plain) < 16))
                break;
            CHECK_INT(vmafgpu_predict(corrected, features, &got), VMAFGPU_OK);
            if (values[i][0] == 0)
                features[chroma] = factors[c / 2] * (1 - values[i][1]);
            CHECK_INT(vmafgpu_predict(plain, features, &expected), VMAFGPU_OK);
            if (factors[c / 2] == 0 || values[i][0] != values[i][0])
                CHECK(got.score != got.score); /* as in libvmaf: no score without a factor */
            else
                CHECK(fabs(got.score - expected.score) <= 1e-12 * fabs(expected.score) && expected.score != 0);
        }
        vmafgpu_close(plain);
        vmafgpu_close(corrected);
    }
}

/* Checks the fields of the small model that uses transforms[3]. */
static void check_fields(const vmafgpu_model *model) {
    const vmafgpu_svm *s = &model->svms[0];
    CHECK_STR(model->name, "mine");
    CHECK_INT(model->svm_count, 1);
    CHECK_INT(s->feature_count, 3);
    CHECK_STR(s->feature_names[0], "VMAF_integer_feature_adm2_score");
    CHECK_STR(s->feature_names[1], "VMAF_integer_feature_motion2_score");
    CHECK_STR(s->feature_options[0], "adm_enhn_gain_limit=1");
    CHECK_STR(s->feature_options[1], "");
    CHECK_INT(s->rescale, 1);
    CHECK_INT(s->sv_count, 3);
    CHECK_BITS(s->gamma, 0.04);
    CHECK_BITS(s->rho, -1.33133);
    CHECK_INT(s->has_clip, 1);
    CHECK_BITS(s->clip_max, 100.0);
    CHECK_INT(s->has_transform, 1);
    CHECK_INT(s->transform_enabled, 0);
    CHECK_BITS(s->p2, -0.00705305);
    CHECK_INT(s->out_gte_in, 1);
    CHECK_INT(s->out_lte_in, 0);
    for (int i = 0; i < 4; i++) {
        CHECK_BITS(s->slopes[i], slopes[i]);
        CHECK_BITS(s->intercepts[i], intercepts[i]);
    }
    for (int v = 0; v < 3; v++) {
        CHECK_BITS(s->sv_coefs[v], coefs[v]);
        for (int i = 0; i < 3; i++)
            CHECK_BITS(s->sv_table[s->sv_rows[v] * 3 + i], vectors[v][i]);
    }
}

static void test_fields(void) {
    const char *text = model_text(transforms[3].text);
    vmafgpu_model *model = parse(text, strlen(text));
    snprintf(test_where, sizeof test_where, "fields");
    if (CHECK(model != NULL))
        check_fields(model);
    vmafgpu_model_release(model);
}

/* ---- rejected models ---- */

/* Checks that a text is rejected, that the message contains `words`, and that the parser neither crashes nor reads
 * outside the text. */
static void refuse(const char *text, size_t size, const char *what, const char *words) {
    vmafgpu_model *model = (vmafgpu_model *)&test_failed; /* vmafgpu_model_parse() must overwrite this */
    char error[256] = "";
    /* the copy has exactly this size so that sanitizers detect reads beyond its end */
    char *exact = (char *)malloc(size + 1);
    vmafgpu_result result;
    test_need(exact != NULL, "out of memory");
    exact = (char *)realloc(exact, size ? size : 1);
    test_need(exact != NULL, "out of memory");
    memcpy(exact, text, size);
    snprintf(test_where, sizeof test_where, "%s", what);
    result = vmafgpu_model_parse(&model, "mine", exact, size, NULL, error, sizeof error);
    CHECK(result == VMAFGPU_ERROR_MODEL || result == VMAFGPU_ERROR_FEATURE);
    CHECK(model == NULL);
    CHECK(error[0] != 0);
    CHECK_HAS(error, words);
    if (result == VMAFGPU_OK)
        vmafgpu_model_release(model);
    free(exact);
}

/* Checks that the model is rejected if a piece of its text is replaced. */
static void refuse_with(const char *piece, const char *instead, const char *words) {
    static char text[8192];
    char what[256];
    const char *good = model_text(transforms[3].text), *at = strstr(good, piece);
    test_need(at != NULL, piece);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, instead, at + strlen(piece));
    snprintf(what, sizeof what, "%.100s -> %.100s", piece, instead);
    refuse(text, strlen(text), what, words);
}

/* a word of 128 digits, one more than the reader accepts */
#define LONG_WORD \
    "0000000000000000000000000000000011111111111111111111111111111111" \
    "2222222222222222222222222222222233333333333333333333333333333333"

static void test_refusals(void) {
    static const char *const changes[][2] = {
        { "\"model_dict\"", "\"model_data\"" },
        { "LIBSVMNUSVR", "LIBSVMSVC" },
        { "\"LIBSVMNUSVR\"", "7" },
        { "linear_rescale", "something" },
        { "\"feature_names\"", "\"feature_nouns\"" },
        { "AF_integer_feature_adm2_score\"", "AF_integer_feature_adm2_score" },
        { "\"slopes\": [0.012, 2.8, 0.0626, 1.22]", "\"slopes\": [0.012, 2.8, 0.0626]" },
        { "\"slopes\": [0.012, 2.8, 0.0626, 1.22]", "\"slopes\": [0.012, 2.8, 0.0626, \"1.22\"]" },
        { "\"slopes\": [0.012, 2.8, 0.0626, 1.22]", "\"slopes\": {}" },
        { "\"slopes\": [0.012, 2.8, 0.0626, 1.22]", "\"slopes\": [0.012, 2.8, 0.0626, 1.22.3]" },
        { "\"intercepts\"", "\"interceptors\"" },
        { "[0.0, 100.0]", "[0.0]" },
        { "[0.0, 100.0]", "100" },
        { "nu_svr", "c_svc" },
        { "rbf", "linear" },
        { "total_sv 3", "total_sv 4" },
        { "total_sv 3", "total_sv -1" },
        { "total_sv 3", "total_sv 0" },
        { "total_sv 3", "total_sv 99999999999999999999" },
        { "total_sv 3", "total_sv 2000000000" },
        { "total_sv 3\\n", "" },
        { "gamma 0.04", "gamma x" },
        { "gamma 0.04", "gamma nan" },
        { "gamma 0.04\\n", "" },
        { "rho -1.33133\\n", "" },
        { "\\nSV\\n", "\\n" },
        { "1:0.65734273", "4:0.65734273" },
        { "1:0.65734273", "0:0.65734273" },
        { "1:0.65734273", "-1:0.65734273" },
        { "1:0.65734273", "1 0.65734273" },
        { "1:0.65734273", "1:" },
        { "1:0.65734273", "1:nan" },
        { "1:0.65734273", "99999999999:1" },
        { "\"p1\": 1.72643844", "\"p1\": \"1\"" },
        { "\"p1\": 1.72643844", "\"p1\": 1.72643844, \"knots\": [[0, 1], [2]]" },
        { "\"p1\": 1.72643844", "\"p1\": 1.72643844, \"knots\": [[0,0],[1,1],[2,2],[3,3],[4,4],[5,5],[6,6],[7,7],[8,8],"
                                "[9,9],[10,10]]" },
        { " }}", " }" },
        { " }}", " }]" },
        { "\"norm_type\":", "\"norm_type\"" },
        { "true, false", "true, folse" },
        { "\\u0041", "\\u00g1" },
        { "\\u0041", "\\x41" },
        { "\"C\": 4.0", "\"C\": +4.0" },
        { "\"C\": 4.0", "\"C\": " },
        { "\"C\": 4.0,", "\"C\": 4.0,," },
        { "\"C\": 4.0,", "C: 4.0," },
    };
    /* values that are syntactically correct but invalid, each with the field that the message must name */
    static const char *const named[][3] = {
        { "total_sv 3", "total_sv 2", "total_sv" },
        { "total_sv 3", "total_sv 1", "total_sv" },
        { "total_sv 3", "total_sv 4", "total_sv" },
        { "total_sv 3", "total_sv 30", "total_sv" },
        { "gamma 0.04", "gamma -1e300", "gamma" },
        { "gamma 0.04", "gamma -0.04", "gamma" },
        { "gamma 0.04", "gamma 0", "gamma" },
        { "[0.012, 2.8", "[0, 2.8", "slopes" },
        { "[0.0, 100.0]", "[100.0, 0.0]", "score_clip" },
        { "\"p1\": 1.72643844", "\"knots\": [[0, 0], [20, 10], [10, 40]]", "knots" },
        { "\"p1\": 1.72643844", "\"knots\": [[0, 0], [20, 10], [20, 40]]", "knots" },
        { "\"p1\": 1.72643844", "\"knots\": [[0, 0], [20, 10], [60, 5]]", "knots" },
        /* features and their options */
        { "\"feature_names\": [", "\"feature_names\": 5, \"x\": [", "key 'feature_names' is not an array of strings" },
        { "\"VMAF_integer_feature_vif_scale0_score\"", "7", "key 'feature_names' is not an array of strings" },
        { "\"feature_names\": [", "\"feature_names\": [], \"x\": [", "key 'feature_names' is empty" },
        { "vif_scale0", "vif\\u0000scale0", "key 'feature_names' contains a character that is not allowed" },
        { "vif_scale0", "vif\tscale0", "string contains a control character" },
        { "vif_scale0", "\\ud83d", "string contains an invalid escape sequence" },
        { "vif_scale0", "\\ud83d\\u0041", "string contains an invalid escape sequence" },
        { "vif_scale0", "\\ud83d\\ue000", "string contains an invalid escape sequence" },
        { "vif_scale0", "\\ude00", "string contains an invalid escape sequence" },
        { "[{\"adm_enhn_gain_limit\": 1.0}, {}, {}]", "{}", "key 'feature_opts_dicts' is not an array of objects" },
        { "{\"adm_enhn_gain_limit\": 1.0}", "5", "key 'feature_opts_dicts' is not an array of objects" },
        { "{}, {}]", "{}]", "key 'feature_opts_dicts' does not have one object per feature; use 3" },
        { "{}, {}]", "{}, {}, {}]", "key 'feature_opts_dicts' does not have one object per feature; use 3" },
        { "\"adm_enhn_gain_limit\"", "\"\"", "key 'feature_opts_dicts' has an option without a name" },
        { "\"adm_enhn_gain_limit\"", "\"a:b\"", "key 'feature_opts_dicts' contains a character that is not allowed" },
        { "\"adm_enhn_gain_limit\": 1.0", "\"a\": \"b:c\"", "'feature_opts_dicts' contains a character that is not" },
        { "\"adm_enhn_gain_limit\": 1.0", "\"a\": null", "key 'feature_opts_dicts' contains an invalid value" },
        { "\"adm_enhn_gain_limit\": 1.0", "\"a\": 1e99", "number that is too long or too large" },
        { "\"adm_enhn_gain_limit\": 1.0", "\"a\": 1, \"\\u0061\": 2", "repeats an option of a feature" },
        /* numbers, the clip and the transform */
        { "\"C\": 4.0", "\"C\": 04.0", "number does not follow the JSON syntax" },
        { "\"C\": 4.0", "\"C\": 4.", "number does not follow the JSON syntax" },
        { "\"C\": 4.0", "\"C\": .4", "number does not follow the JSON syntax" },
        { "2.8, 0.0626, 1.22]", "2.8, 0.0626, 1.22, 5]", "key 'slopes' has too many numbers; use at most 4" },
        { "2.8, 0.0626, 1.22]", "2.8, 0.0626]", "key 'slopes' has 3 numbers for 3 features; use 4" },
        { "2.8, 0.0626, 1.22]", "2.8, 0.0626, []]", "key 'slopes' is not an array of numbers" },
        { "[0.0, 100.0]", "[0.0]", "key 'score_clip' is not an array of two numbers" },
        { "\"score_transform\": {", "\"score_transform\": 5, \"x\": {", "key 'score_transform' is not an object" },
        { "\"p1\": 1.72643844", "\"p1\": true", "key 'p1' is not a number or null" },
        { "\"p1\": 1.72643844", "\"p1\": 1, \"p1\": 2", "key 'p1' occurs twice" },
        { "\"p1\": 1.72643844", "\"enabled\": \"true\"", "key 'enabled' is not true or false" },
        { "\"p1\": 1.72643844", "\"knots\": 5", "key 'knots' is not an array of pairs of numbers" },
        { "\"p1\": 1.72643844", "\"knots\": [5]", "key 'knots' is not an array of numbers" },
        { "\"p1\": 1.72643844", "\"knots\": [[1]]", "key 'knots' is not an array of pairs of numbers" },
        { "\"out_gte_in\": \"true\"", "\"out_gte_in\": true", "'out_gte_in' is not the string \"true\" or \"false\"" },
        { "\"score_clip\"", "\"chroma_correction_parameter\": \"1\", \"x\"", "_parameter' is not a number" },
        { "\"score_clip\"", "\"chroma_correction_parameter\": 1, \"x\"",
          "requires exactly one adm3 and one speed_chroma" },
        { "\"score_clip\"", "\"chroma_correction_parameter\": 1, \"chroma_correction_parameter\"", "' occurs twice" },
        { "linear_rescale", "linear", "key 'norm_type' has an unsupported value; use \"none\" or \"linear_rescale\"" },
        /* the text of the SVM */
        { "\"model\": \"svm_type", "\"model\": 5, \"x\": \"svm_type", "key 'model' is not a string" },
        { "svm_type nu_svr", "svm_type c_svc", "key 'model' has an unsupported svm_type; use nu_svr or epsilon_svr" },
        { "kernel_type rbf", "kernel_type linear", "key 'model' has an unsupported kernel_type; use rbf" },
        { "svm_type nu_svr", "svm_kind nu_svr", "key 'model' has an unknown word in its header" },
        { "gamma 0.04", "gamma x", "key 'model' has no number after gamma" },
        { "gamma 0.04", "gamma", "key 'model' has no number after gamma" },
        { "rho -1.33133\\n", "", "key 'model' has no rho in its header" },
        { "nr_class 2", "nr_class 3", "key 'model' has an unsupported nr_class; use 2" },
        { "total_sv 3", "total_sv 2.5", "key 'model' has a total_sv that is not a whole number" },
        { "total_sv 3", "total_sv 0", "key 'model' has a total_sv out of range" },
        { "total_sv 3", "total_sv 2", "key 'model' has more support vectors than total_sv (2)" },
        { "total_sv 3", "total_sv 4", "key 'model' has fewer support vectors than total_sv 4 (3)" },
        { "\\n-3.2641 1:", "\\n1:", "key 'model' has no coefficient for support vector 2 of 3" },
        { "2:0.34473595", "1:0.34473595", "invalid index in support vector 1; use ascending indices in 1..3" },
        { "2:0.34473595", "2.5:0.34473595", "invalid index in support vector 1; use ascending indices in 1..3" },
        { "2:0.34473595", "2:0.3x", "key 'model' has an invalid number in support vector 1" },
        { "\\nSV\\n4 1:0.65734273 2:0.34473595 3:1.0497154 \\n-3.2641 1:-0.5 3:0.25 \\n0.125 2:-.5e1 \\n", "",
          "key 'model' has no support vectors" },
        { "svm_type nu_svr", LONG_WORD " nu_svr", "key 'model' has an unknown word in its header" },
        { "svm_type nu_svr", "svm_type " LONG_WORD, "key 'model' has an unsupported svm_type" },
        { "kernel_type rbf", "kernel_type " LONG_WORD, "key 'model' has an unsupported kernel_type" },
        { "gamma 0.04", "gamma " LONG_WORD, "key 'model' has no number after gamma" },
        { "\\n-3.2641 1:", "\\n" LONG_WORD " 1:", "key 'model' has no coefficient for support vector 2 of 3" },
        { "1:0.65734273", "1:" LONG_WORD, "invalid index in support vector 1; use ascending indices in 1..3" },
        /* the outermost object */
        { "{\"param_dict\"", "[{\"param_dict\"", "text is not a JSON object" },
        { " }}", " }}, 5", "unexpected text after the JSON object" },
        { "\"model_dict\": {", "\"model_dict\": 5, \"x\": {", "key 'model_dict' is not an object" },
        { "\"model_dict\": {", "\"model_dict\": null, \"x\": {", "key 'model_dict' is missing" },
        { "\"model_dict\": {", "\"0\": {\"model_dict\": {}}, \"x\": {", "too few or too many parts (1); use 2..10000" },
        { "\"model_dict\": {", "\"0\": {}, \"1\": {}, \"x\": {", "part 0, byte" },
        { "\"model_dict\": {", "\"0\": 5, \"1\": {}, \"x\": {", "part of a collection is not an object" },
        { "\"model_dict\": {", "\"0\": {\"model_dict\": 1, \"model_dict\": 2}, \"1\": {}, \"x\": {", "occurs twice" },
        { "\"model_dict\": {", "\"0\": {\"a\": 1}, \"1\": {}, \"x\": {", "key 'model_dict' is missing" },
        { "\"model_dict\": {", "\"0\": {\"model_dict\": {}}, \"1\": 5, \"x\": {", "key 'model_type' is missing" },
    };
    const char *text = model_text(transforms[3].text);
    size_t size = strlen(text);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        refuse_with(changes[i][0], changes[i][1], "");
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        refuse_with(named[i][0], named[i][1], named[i][2]);
    /* Truncated text is rejected unless only the final brace and newline are missing. */
    for (size_t n = 0; n + 2 < size; n++) {
        char what[64];
        snprintf(what, sizeof what, "cut after %d bytes", (int)n);
        refuse(text, n, what, "");
    }
    {
        static char deep[200001];
        memset(deep, '[', sizeof deep - 1);
        refuse(deep, sizeof deep - 1, "nested arrays", "");
        for (size_t i = 0; i + 5 < sizeof deep; i += 5)
            memcpy(deep + i, "{\"a\":", 5);
        refuse(deep, sizeof deep - 1, "nested objects", "");
    }
    refuse("null", 4, "null", "");
    refuse("{}", 2, "empty object", "");
    refuse("{\"model_dict\":{}}", 17, "empty model", "");
    refuse("\0\0\0\0", 4, "zeros", "");
}

/* Appends formatted text to the text of a large model. */
static size_t add_text(char *text, size_t size, size_t used, const char *format, ...) {
    va_list list;
    va_start(list, format);
    used += (size_t)vsnprintf(text + used, size - used, format, list);
    va_end(list);
    test_need(used < size, "space for the text of a model");
    return used;
}

/* Tests the limits of what a model contains, with generated texts: each limit is accepted, and one more is rejected. */
static void test_limits(void) {
    enum { SIZE = 1 << 22 };
    static const struct {
        const char *what;
        int features, options, vectors, parts, other; /* other: number of features of the last part */
        const char *words;                            /* NULL if the model is accepted */
    } cases[] = {
        { "64 features", 64, 0, 1, 1, 64, NULL },
        { "65 features", 65, 0, 1, 1, 65, "key 'feature_names' has too many features; use at most 64" },
        { "64 options", 1, 64, 1, 1, 1, NULL },
        { "65 options", 1, 65, 1, 1, 1, "key 'feature_opts_dicts' has too many options of a feature; use at most 64" },
        { "65535 vectors", 1, 0, 65535, 1, 1, NULL },
        { "65536 vectors", 1, 0, 65536, 1, 1, "key 'model' has too many different support vectors; use at most 65535" },
        { "3 parts", 2, 0, 1, 3, 2, NULL },
        { "3 parts, the last one with other features", 2, 0, 1, 3, 1,
          "part 2, byte 547: key 'feature_names' has another number of features than the previous parts (1); use 2" },
        { "10001 parts", 1, 0, 1, 10001, 1, "collection has too few or too many parts (10001); use 2..10000" },
    };
    char *text = (char *)malloc(SIZE);
    test_need(text != NULL, "out of memory");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        size_t used = add_text(text, SIZE, 0, "{");
        for (int part = 0; part < cases[c].parts; part++) {
            const int features = part == cases[c].parts - 1 ? cases[c].other : cases[c].features;
            if (cases[c].parts > 1)
                used = add_text(text, SIZE, used, "%s\"%d\":{", part ? "," : "", part);
            used = add_text(text, SIZE, used,
                            "\"model_dict\":{\"model_type\":\"RESIDUEBOOTSTRAP_LIBSVMNUSVR\",\"norm_type\":\"none\",");
            for (int i = 0; i < features; i++)
                used = add_text(text, SIZE, used, "%s\"f%d\"", i ? "," : "\"feature_names\":[", i);
            for (int i = 0; i < cases[c].options; i++)
                used = add_text(text, SIZE, used, "%s\"o%d\":%d", i ? "," : "],\"feature_opts_dicts\":[{", i, i);
            used = add_text(text, SIZE, used,
                            "%s],\"model\":\"svm_type epsilon_svr\\nkernel_type rbf\\ngamma 1\\nnr_class 2\\n"
                            "total_sv %d\\nlabel 1 2\\nrho 0\\nSV\\n",
                            cases[c].options ? "}" : "", cases[c].vectors);
            for (int i = 0; i < cases[c].vectors; i++)
                used = add_text(text, SIZE, used, "1 1:%d\\n", i);
            used = add_text(text, SIZE, used, cases[c].parts > 1 ? "\"}}" : "\"}");
        }
        used = add_text(text, SIZE, used, "}");
        if (cases[c].words) {
            refuse(text, used, cases[c].what, cases[c].words);
            continue;
        }
        snprintf(test_where, sizeof test_where, "%s", cases[c].what);
        vmafgpu_model *model = parse(text, used);
        if (CHECK(model != NULL)) {
            const vmafgpu_svm *last = &model->svms[model->svm_count - 1];
            CHECK_INT(model->svm_count, cases[c].parts);
            CHECK_INT(last->feature_count, cases[c].other);
            CHECK_INT(last->sv_count, cases[c].vectors);
            CHECK_INT(last->rescale, 0);
            CHECK_BITS(last->slopes[1], 1);
            CHECK_BITS(last->intercepts[1], 0);
            CHECK_BITS(last->sv_table[last->sv_rows[last->sv_count - 1] * last->feature_count], cases[c].vectors - 1);
            if (cases[c].options)
                CHECK_HAS(last->feature_options[0], ":o62=62:o63=63");
        }
        vmafgpu_model_release(model);
    }
    free(text);
}

/* Tests text that a model stores in another form: escape sequences become UTF-8, options keep their values. */
static void test_stored_text(void) {
    static const char *const cases[][4] = {
        { "vif_scale0", "\\u00e9\\u20AC\\uD83D\\uDE00\\/\\b",
          "VMAF_integer_feature_\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/\b_score", NULL },
        { "\"adm_enhn_gain_limit\": 1.0", "\"a\": true, \"b\": false, \"c\": \"x y\", \"d\": -1.50e1", NULL,
          "a=true:b=false:c=x y:d=-15" },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        static char text[8192];
        const char *good = model_text(""), *at = strstr(good, cases[c][0]);
        test_need(at != NULL, cases[c][0]);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, cases[c][1], at + strlen(cases[c][0]));
        snprintf(test_where, sizeof test_where, "stored text %d", (int)c);
        vmafgpu_model *model = parse(text, strlen(text));
        if (CHECK(model != NULL)) {
            if (cases[c][2])
                CHECK_STR(model->svms[0].feature_names[2], cases[c][2]);
            if (cases[c][3])
                CHECK_STR(model->svms[0].feature_options[0], cases[c][3]);
        }
        vmafgpu_model_release(model);
    }
}

/* Tests that a model is not affected by changes that text editors make: a byte order mark, \r\n line endings inside
 * and outside the SVM text, and empty lines. */
static void test_editors(void) {
    static const struct {
        const char *what, *begin, *piece, *instead;
    } cases[] = {
        { "a byte order mark", "\xef\xbb\xbf", "", "" },
        { "a byte order mark and white space", "\xef\xbb\xbf\r\n", "", "" },
        { "\\r\\n in the text", "", "\\n", "\\r\\n" },
        { "\\r\\n around it", "", "\n", "\r\n" },
        { "empty lines", "", " \\n", " \\n \\n\\n" },
        { "no line end after the last line", "", ":-.5e1 \\n", ":-.5e1" },
        { "blanks at the end", "", ":-.5e1 \\n", ":-.5e1 \\n\\r\\n  " },
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        static char text[8192];
        const char *at = model_text(transforms[3].text);
        size_t size = (size_t)snprintf(text, sizeof text, "%s", cases[c].begin), length = strlen(cases[c].piece);
        vmafgpu_model *model;
        snprintf(test_where, sizeof test_where, "editors: %s", cases[c].what);
        while (*at) {
            if (length && strncmp(at, cases[c].piece, length) == 0) {
                size += (size_t)snprintf(text + size, sizeof text - size, "%s", cases[c].instead);
                at += length;
            } else {
                text[size++] = *at++;
            }
        }
        model = parse(text, size);
        if (CHECK(model != NULL))
            check_fields(model);
        vmafgpu_model_release(model);
    }
    refuse("\xef\xbb\xbf", 3, "only a byte order mark", "");
    refuse("\xef\xbb", 2, "half a byte order mark", "");
}

static void leave(void *user, void *memory) {
    (void)user, (void)memory;
}

/* Tests error messages in small buffers and without a buffer, and missing arguments. */
static void test_arguments(void) {
    const char *text = model_text("");
    vmafgpu_model *model = NULL;
    char small[8];
    snprintf(test_where, sizeof test_where, "arguments");
    memset(small, 'x', sizeof small);
    CHECK_INT(vmafgpu_model_parse(&model, "mine", "{", 1, NULL, small, sizeof small), VMAFGPU_ERROR_MODEL);
    CHECK(memchr(small, 0, sizeof small) != NULL);
    CHECK_INT(vmafgpu_model_parse(&model, "mine", "{", 1, NULL, NULL, 0), VMAFGPU_ERROR_MODEL);
    CHECK_INT(vmafgpu_model_parse(NULL, "mine", text, strlen(text), NULL, NULL, 0), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_model_parse(&model, NULL, text, strlen(text), NULL, NULL, 0), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_model_parse(&model, "mine", NULL, 5, NULL, NULL, 0), VMAFGPU_ERROR_ARGUMENT);
    {
        const size_t most = (size_t)64 << 20;
        char error[256], *name = (char *)malloc(most + 2);
        vmafgpu_allocator allocator;
        memset(&allocator, 0, sizeof allocator);
        allocator.release = leave;
        CHECK_INT(vmafgpu_model_parse(&model, "mine", text, strlen(text), &allocator, error, sizeof error),
                  VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(error, "allocator has only one of allocate and release");
        CHECK_STR(vmafgpu_last_error(NULL), error);
        /* the size is checked before the text is read */
        CHECK_INT(vmafgpu_model_parse(&model, "mine", "{", most + 1, NULL, error, sizeof error), VMAFGPU_ERROR_MODEL);
        CHECK_STR(error, "model 'mine': name or text is too long; use at most 64 MiB");
        if (name) {
            memset(name, 'x', most + 1);
            name[most + 1] = 0;
            CHECK_INT(vmafgpu_model_parse(&model, name, "{}", 2, NULL, error, sizeof error), VMAFGPU_ERROR_MODEL);
            CHECK_HAS(error, "name or text is too long");
        }
        free(name);
    }
}

/* Changes random bytes. The parser may reject or accept the text, but must not crash. If it accepts the text,
 * vmafgpu_open() may accept or reject the model. */
static void test_mutations(void) {
    const char *good = model_text(transforms[8].text);
    size_t size = strlen(good);
    char *text = (char *)malloc(size);
    uint32_t state = 12345;
    int read_count = 0;
    test_need(text != NULL, "out of memory");
    snprintf(test_where, sizeof test_where, "mutations");
    for (int round = 0; round < 20000; round++) {
        static const char likely[] = "0123456789-+.eE\"\\{}[]:,n \n";
        vmafgpu_model *model = NULL;
        char error[128] = "";
        memcpy(text, good, size);
        for (int k = 0; k <= round % 3; k++) {
            state = state * 1664525u + 1013904223u;
            text[(state >> 8) % size] = likely[(state >> 3) % (sizeof likely - 1)];
        }
        if (vmafgpu_model_parse(&model, "mine", text, size, NULL, error, sizeof error) == VMAFGPU_OK) {
            vmafgpu_config config;
            vmafgpu_model_config m;
            vmafgpu *context = NULL;
            memset(&config, 0, sizeof config);
            memset(&m, 0, sizeof m);
            m.model = model;
            config.width = config.height = 16;
            config.models = &m;
            config.model_count = 1;
            read_count++;
            if (vmafgpu_open(&context, &config) != VMAFGPU_OK)
                CHECK(vmafgpu_last_error(context)[0] != 0);
            vmafgpu_close(context);
            vmafgpu_model_release(model);
        } else {
            CHECK(model == NULL && error[0] != 0);
        }
    }
    CHECK(read_count > 100);
    free(text);
}

/* ---- the files of the built-in models ---- */

static void check_same_svm(const vmafgpu_svm *a, const vmafgpu_svm *b) {
    CHECK_INT(a->feature_count, b->feature_count);
    CHECK_INT(a->rescale, b->rescale);
    CHECK_BITS(a->gamma, b->gamma);
    CHECK_BITS(a->rho, b->rho);
    CHECK_INT(a->has_clip, b->has_clip);
    CHECK_BITS(a->clip_min, b->clip_min);
    CHECK_BITS(a->clip_max, b->clip_max);
    CHECK_INT(a->has_transform, b->has_transform);
    CHECK_INT(a->transform_enabled, b->transform_enabled);
    CHECK_INT(a->has_p0 * 4 + a->has_p1 * 2 + a->has_p2, b->has_p0 * 4 + b->has_p1 * 2 + b->has_p2);
    CHECK_BITS(a->p0, b->p0);
    CHECK_BITS(a->p1, b->p1);
    CHECK_BITS(a->p2, b->p2);
    CHECK_INT(a->knot_count, b->knot_count);
    CHECK_INT(a->out_lte_in * 2 + a->out_gte_in, b->out_lte_in * 2 + b->out_gte_in);
    if (CHECK_INT(a->sv_count, b->sv_count) && a->feature_count == b->feature_count) {
        for (int i = 0; i <= a->feature_count; i++) {
            CHECK_BITS(a->slopes[i], b->slopes[i]);
            CHECK_BITS(a->intercepts[i], b->intercepts[i]);
        }
        for (int i = 0; i < a->feature_count; i++) {
            CHECK_STR(a->feature_names[i], b->feature_names[i]);
            CHECK_STR(a->feature_options[i], b->feature_options[i]);
        }
        for (int v = 0; v < a->sv_count; v++) {
            CHECK_BITS(a->sv_coefs[v], b->sv_coefs[v]);
            for (int i = 0; i < a->feature_count; i++) {
                CHECK_BITS(a->sv_table[a->sv_rows[v] * a->feature_count + i],
                           b->sv_table[b->sv_rows[v] * b->feature_count + i]);
            }
        }
    }
}

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long length;
    if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = (char *)malloc((size_t)length);
        *size = text ? fread(text, 1, (size_t)length, file) : 0;
    }
    if (file)
        fclose(file);
    return text;
}

static void test_files(void) {
    int found = 0;
    for (int i = 0; vmafgpu_builtin_model_at(i); i++) {
        const vmafgpu_model *built_in = vmafgpu_builtin_model_at(i);
        char path[256], *text;
        size_t size = 0;
        snprintf(path, sizeof path, "../shared/models/%s.json", built_in->name);
        text = read_file(path, &size);
        if (text) {
            vmafgpu_model *model = parse(text, size);
            found++;
            snprintf(test_where, sizeof test_where, "%s", path);
            if (CHECK(model != NULL) && CHECK_INT(model->svm_count, built_in->svm_count))
                for (int s = 0; s < model->svm_count; s++)
                    check_same_svm(&built_in->svms[s], &model->svms[s]);
            vmafgpu_model_release(model);
            free(text);
        }
    }
    if (!found)
        test_skip("there is no ../shared/models");
}

static void test_locale(void) {
    if (!TEST_COMMA_LOCALE())
        return;
    test_fields();
    setlocale(LC_ALL, "C");
}

int main(void) {
    test_fields();
    test_prediction();
    test_curves();
    test_chroma_correction();
    test_refusals();
    test_limits();
    test_stored_text();
    test_editors();
    test_arguments();
    test_mutations();
    test_files();
    test_locale();
    return test_end();
}
