/* Tests models in JSON: parsing and errors. Compares the built-in models with their files, and predictions with those
 * of a simple implementation. */
#include <locale.h>
#include <math.h>
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
    test_refusals();
    test_editors();
    test_arguments();
    test_mutations();
    test_files();
    test_locale();
    return test_end();
}
