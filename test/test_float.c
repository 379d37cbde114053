/* libvmaf's figures for float_adm, and for the models in float, built-in ones and others: of ../shared/golden_float, per frame,
 * bit for bit; and float_adm at its edges. On one thread, on seven, and with every level of the CPU. */
#include "golden.h"

#include <math.h>

/* What a kind of file was made with. */
typedef struct golden_set {
    const char                  *folder, *kind;
    const vmafgpu_feature_config features[12];
    int                          least; /* columns that must have been found, all clips together */
} golden_set;

static const golden_set sets[] = {
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

/* How the same is computed in several ways. */
static const struct {
    int      threads;
    unsigned cpumask;
} ways[] = {{1, 0}, {7, 0}, {2, 16}, {1, 255}};

/* How many frames the report has: some are of a clip's first ones. */
static int frames_of(const char *text) {
    int frames = 0;
    while ((text = strstr(text, "\"frameNum\"")) != NULL) {
        text++;
        frames++;
    }
    return frames;
}

/* Scores the clip in one of the ways: with features of config, or models. NULL where the build has not all features that a
 * model needs. */
static vmafgpu *score(const golden_clip *clip, const vmafgpu_config *wanted, int way, int frame_count) {
    pair p;
    vmafgpu_frame frames[2];
    vmafgpu *context = NULL;
    vmafgpu_config config;
    vmafgpu_result opened;
    int ok = pair_open(&p, clip);
    config = video_config(&p.sides[0]);
    config.features = wanted->features;
    config.feature_count = wanted->feature_count;
    config.models = wanted->models;
    config.model_count = wanted->model_count;
    config.no_model = !wanted->model_count;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.threads = ways[way].threads;
    config.cpumask = ways[way].cpumask;
    config.float_reciprocal = VMAFGPU_RECIPROCAL_AMD; /* of the machine that made the figures */
    opened = ok ? vmafgpu_open(&context, &config) : VMAFGPU_ERROR_ARGUMENT;
    if (opened < 0 && config.model_count && strstr(vmafgpu_last_error(context), "feature")) {
        pair_close(&p);
        vmafgpu_close(context);
        return NULL;
    }
    ok = ok && CHECK_INT(opened, VMAFGPU_OK);
    for (int i = 0; ok && i < frame_count && pair_read(&p, frames); i++) {
        ok = CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK);
    }
    ok = ok && CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    if (!ok) {
        printf("%s\n", vmafgpu_last_error(context));
    }
    pair_close(&p);
    return context;
}

/* A figure, or `null` where libvmaf has an infinity or no number. */
static int next_figure(const char *at, double *value) {
    at += strspn(at, ": \n");
    *value = (double)NAN;
    return strncmp(at, "null", 4) == 0 || next_number(at, value);
}

static void compare(const char *name, double got, double wanted) {
    if (wanted != wanted) {
        CHECK(!(got - got == 0));
    } else {
        CHECK_VALUE(name, got, wanted);
    }
}

/* Compares what the context has of the report's columns; returns how many of frame 0. */
static int compare_report(vmafgpu *context, const char *at) {
    char name[128], what[96];
    double value;
    vmafgpu_score score;
    int found = 0;
    int64_t frame = -1;
    memset(&score, 0, sizeof score);
    snprintf(what, sizeof what, "%.95s", test_where);
    while (next_string(&at, name, sizeof name) && strcmp(name, "pooled_metrics") != 0) {
        const int column = vmafgpu_column_index(context, name);
        if (!next_figure(at, &value)) {
            continue;
        }
        if (strcmp(name, "frameNum") == 0) {
            frame = (int64_t)value;
            if (!CHECK_INT(vmafgpu_score_at(context, frame, &score), VMAFGPU_OK)) {
                return 0;
            }
        } else if (frame >= 0 && column >= 0) {
            snprintf(test_where, sizeof test_where, "%s frame %d %.64s", what, (int)frame, name);
            compare(name, score.values[column], value);
            found += frame == 0;
        }
    }
    CHECK_INT(vmafgpu_score_count(context), (int)frame + 1);
    at = strstr(at, "\"aggregate_metrics\"");
    for (int i = 0; at && i < vmafgpu_aggregate_count(context); i++) {
        double got = 0;
        const char *key = strstr(at, vmafgpu_aggregate_name(context, i));
        snprintf(test_where, sizeof test_where, "%s %s", what, vmafgpu_aggregate_name(context, i));
        if (CHECK(key && next_figure(key + strlen(vmafgpu_aggregate_name(context, i)) + 1, &value))) {
            CHECK_INT(vmafgpu_aggregate(context, i, &got), VMAFGPU_OK);
            compare(vmafgpu_aggregate_name(context, i), got, value);
        }
    }
    return found;
}

/* Clips in all ways; returns how many columns of first frames were compared. */
static int compare_clips(const char *folder, const char *kind, const vmafgpu_config *wanted) {
    int found = 0;
    for (size_t c = 0; c < sizeof clips / sizeof clips[0]; c++) {
        char path[256], *text;
        snprintf(path, sizeof path, SHARED "%s/%s__%s.json", folder, clips[c].name, kind);
        text = read_text(path);
        for (int way = 0; text && way < (int)(sizeof ways / sizeof ways[0]); way++) {
            vmafgpu *context;
            snprintf(test_where, sizeof test_where, "%s %s way %d", clips[c].name, kind, way);
            context = score(&clips[c], wanted, way, frames_of(text));
            found += context ? compare_report(context, text) * (way == 0) : 0;
            vmafgpu_close(context);
        }
        free(text);
    }
    printf("%s: %d columns\n", kind, found);
    snprintf(test_where, sizeof test_where, "%s", kind);
    return found;
}

/* Models in float: built in, or from libvmaf's files. Without all features they are skipped. */
static void compare_models(void) {
    static const struct {
        const char *name;
        int         outputs; /* per frame, the features' apart */
    } models[] = {{"vmaf_float_v0.6.1", 1},    {"vmaf_float_v0.6.1neg", 1}, {"vmaf_float_4k_v0.6.1", 1},
                  {"vmaf_float_b_v0.6.3", 25}, {"vmaf_v0.6.0", 1},          {"nflxtrain_norm_type_none", 1}};
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
        const int found = compare_clips("golden_float", models[m].name, &wanted);
        if (!found) {
            test_skip("not all features of the models in float are there");
        } else {
            CHECK(found >= (10 + models[m].outputs) * 13);
        }
        vmafgpu_model_free(parsed, NULL);
        free(text);
    }
}

/* "Residue bootstrap" is a bootstrap like any other; how many SVMs there are in all. */
static void parse_collections(void) {
    static const struct {
        const char *name;
        int         count;
    } models[] = {{"vmaf_rb_v0.6.2", 20}, {"vmaf_4k_rb_v0.6.2", 20}, {"vmaf_rb_v0.6.3", 21}};
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        char path[256], *text;
        vmafgpu_model *parsed = NULL;
        snprintf(path, sizeof path, SHARED "models/%s.json", models[m].name);
        snprintf(test_where, sizeof test_where, "%s", models[m].name);
        text = read_text(path);
        if (CHECK(text && vmafgpu_model_parse(&parsed, "vmaf", text, strlen(text), NULL, NULL, 0) == VMAFGPU_OK)) {
            CHECK_INT(parsed->svm_count, models[m].count);
        }
        vmafgpu_model_free(parsed, NULL);
        free(text);
    }
}

/* ---- beyond the figures ---- */

/* One pair of w x h, of noise (0), the same twice (1), black (2) or middle grey (3); what its first three columns are. Or the
 * sentence, if that is asked for. */
static void check_small(const char *feature, const char *options, int w, int h, int content, const char *sentence,
                        double *values) {
    static uint8_t pictures[2][64 * 64];
    const vmafgpu_feature_config wanted = {feature, options};
    vmafgpu_config config;
    vmafgpu *context;
    vmafgpu_score score;
    memset(&config, 0, sizeof config);
    memset(&score, 0, sizeof score);
    config.width = w;
    config.height = h;
    config.chroma = VMAFGPU_400;
    config.strict_options = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.no_model = 1;
    config.features = &wanted;
    config.feature_count = 1;
    for (unsigned i = 0; i < sizeof pictures[0]; i++) {
        pictures[0][i] = (uint8_t)(content == 2 ? 0 : content == 3 ? 128 : i * 7919u >> 5);
        pictures[1][i] = content ? pictures[0][i] : (uint8_t)(i * 104729u >> 7);
    }
    snprintf(test_where, sizeof test_where, "%s %s %dx%d content %d", feature, options, w, h, content);
    if (sentence) {
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_FEATURE);
        CHECK_HAS(vmafgpu_last_error(context), sentence);
    } else if (CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK)) {
        const vmafgpu_frame reference = vmafgpu_frame_of(&config, pictures[0], 0),
                            distorted = vmafgpu_frame_of(&config, pictures[1], 0);
        CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_OK);
        memcpy(values, score.values, 3 * sizeof *values);
    }
    vmafgpu_close(context);
}

static void float_adm_edges(void) {
    static const char *const refused[][2] = {
        {"adm_skip_aim_scale=-1", "0 to 3"}, {"adm_skip_aim=true", "no option"}, {"adm_bypass_cm=true", "a number"},
        {"adm_adm3_apply_hm=1", "true or false"}, {"adm_f1s0=-2", "-1 to 10"}, {"adm_csf_mode=10", "0 to 9"},
        {"adm_p_norm=0.9", "1 to 20"}};
    static const int sizes[][2] = {{17, 17}, {17, 64}, {64, 17}, {18, 22}, {33, 31}, {64, 64}};
    double values[3] = {0, 0, 0};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        check_small("float_adm", refused[i][0], 64, 64, 0, refused[i][1], values);
    }
    check_small("float_adm", "", 16, 17, 0, "17x17", values);
    check_small("float_adm", "", 17, 16, 0, "17x17", values);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_small("float_adm", "", sizes[i][0], sizes[i][1], 0, NULL, values);
        CHECK(values[0] > 0 && values[0] < 1 && values[1] > 0 && values[1] < 1);
        for (int content = 1; content < 4; content++) {
            check_small("float_adm", "", sizes[i][0], sizes[i][1], content, NULL, values);
            CHECK(values[0] == 1 && values[1] == 0 && values[2] == 1);
        }
    }
    /* Nothing in the reference, and no noise: what libvmaf has not defined. */
    check_small("float_adm", "adm_noise_weight=0", 33, 31, 3, NULL, values);
    CHECK(values[0] == 1 && values[1] == 0 && values[2] == 1);
    /* A sum that is infinite. */
    check_small("float_adm", "adm_p_norm=20:adm_f1s0=10:adm_noise_weight=1500:adm_min_val=0.25", 64, 64, 0, NULL, values);
    CHECK(values[0] != values[0] && values[1] == 1 && values[2] == 0.25);
}

int main(void) {
    FILE *there;
    float_adm_edges();
    there = fopen(SHARED "golden_extra/src01_8b__extra_db.json", "rb");
    if (!there) {
        test_skip("there is no " SHARED "golden_extra");
        return test_end();
    }
    fclose(there);
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        vmafgpu_config wanted;
        memset(&wanted, 0, sizeof wanted);
        wanted.features = sets[s].features;
        while (wanted.feature_count < 12 && sets[s].features[wanted.feature_count].name) {
            wanted.feature_count++;
        }
        CHECK(compare_clips(sets[s].folder, sets[s].kind, &wanted) >= sets[s].least);
    }
    compare_models();
    parse_collections();
    return test_end();
}
