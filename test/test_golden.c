/* Compares the values for real clips with those of libvmaf, per frame and pooled, bit for bit. The clips in golden/real
 * are always compared. If ../shared exists, the test also compares all model values in ../shared/golden and the column
 * cambi in the feature files of that folder. If libvmaf computes no values for a model and a clip, opening must fail
 * with a message. */
#include "golden.h"

/* The clips and models in golden/real. */
static const golden_clip real_clips[] = { { "seek_8b", NULL, NULL, 0, 0, 0, 0 },
                                          { "c422_10b", NULL, NULL, 0, 0, 0, 0 } };
static const char *const real_models[] = { "vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_v1.0.16_3d0h" };

static const char *const models[] = { "vmaf_v0.6.1",
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
                                      "vmaf_v1.0.16_hfr_3d0h_2160" };
enum { MODELS = sizeof models / sizeof models[0] };
static int compared[MODELS]; /* number of clips compared, for each model */

/* Scores a clip with a model or, if `model` is NULL, with the feature cambi. If `refused` is set, checks that opening
 * fails and returns the failed context. Returns NULL after a failed check. */
static vmafgpu *score_clip(const golden_clip *clip, const char *model, int refused) {
    pair p;
    vmafgpu_frame frames[2];
    vmafgpu_config config;
    vmafgpu_model_config model_config;
    vmafgpu_feature_config feature_config = { "cambi", NULL };
    vmafgpu *context = NULL;
    int ok = pair_open(&p, clip);
    memset(&model_config, 0, sizeof model_config);
    model_config.version = model;
    config = p.is_film ? film_config(&p.film) : video_config(&p.sides[0]);
    config.models = model ? &model_config : NULL;
    config.model_count = model != NULL;
    config.features = &feature_config;
    config.features_only = config.feature_count = model == NULL;
    if (ok && refused) {
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_FEATURE);
        pair_close(&p);
        return context;
    }
    ok = ok && CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK);
    while (ok && pair_read(&p, frames))
        ok = CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK);
    ok = ok && CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    pair_close(&p);
    if (!ok) {
        printf("%s\n", vmafgpu_last_error(context));
        vmafgpu_close(context);
        return NULL;
    }
    return context;
}

static int is_skipped(const golden_clip *clip, const char *name) {
    return clip->no_adm && (strstr(name, "adm") || strstr(name, "aim") || strncmp(name, "vmaf", 4) == 0);
}

/* Compares the frames of a report: `"frameNum": i`, followed by `"name": value` for each column, in order. */
static const char *compare_frames(vmafgpu *context, const golden_clip *clip, const char *at, int *frames) {
    int columns = vmafgpu_column_count(context), column = columns;
    char name[128], what[96];
    double value;
    vmafgpu_score score;
    memset(&score, 0, sizeof score);
    snprintf(what, sizeof what, "%.95s", test_where);
    *frames = 0;
    while (next_string(&at, name, sizeof name) && strcmp(name, "pooled_metrics") != 0) {
        if (!next_number(at, &value) || strcmp(name, "version") == 0 || strcmp(name, "fps") == 0)
            continue;
        if (strcmp(name, "frameNum") == 0) {
            CHECK_INT(column, columns);
            column = 0;
            if (!CHECK_INT(vmafgpu_score_at(context, (int64_t)value, &score), VMAFGPU_OK))
                return at;
            ++*frames;
            continue;
        }
        snprintf(test_where, sizeof test_where, "%s frame %d %.64s", what, *frames - 1, name);
        if (CHECK_STR(vmafgpu_column_name(context, column), name) && !is_skipped(clip, name))
            CHECK_BITS(score.values[column], value);
        column++;
    }
    CHECK_INT(column, columns);
    return at;
}

/* Compares the pooled values of a report: `"name": {`, followed by `"min": value` and so on. Returns the number of
 * values. */
static int compare_pooled(vmafgpu *context, const golden_clip *clip, const char *at) {
    static const struct {
        const char *name;
        vmafgpu_pool_method method;
    } pools[] = { { "min", VMAFGPU_POOL_MIN },
                  { "max", VMAFGPU_POOL_MAX },
                  { "mean", VMAFGPU_POOL_MEAN },
                  { "harmonic_mean", VMAFGPU_POOL_HARMONIC_MEAN } };
    char name[128], metric[128] = "", what[96];
    double value, got = 0;
    int count = 0;
    snprintf(what, sizeof what, "%.95s", test_where);
    while (next_string(&at, name, sizeof name) && strcmp(name, "aggregate_metrics") != 0) {
        if (!next_number(at, &value)) {
            snprintf(metric, sizeof metric, "%s", name);
            continue;
        }
        for (size_t p = 0; p < sizeof pools / sizeof pools[0]; p++) {
            if (strcmp(pools[p].name, name) == 0) {
                int column = vmafgpu_column_index(context, metric);
                snprintf(test_where, sizeof test_where, "%.60s %.64s %s", what, metric, name);
                CHECK_INT(vmafgpu_pool(context, column, pools[p].method, &got), VMAFGPU_OK);
                if (!is_skipped(clip, metric))
                    CHECK_BITS(got, value);
                count++;
            }
        }
    }
    return count;
}

/* Checks that a model is rejected for a clip whose pictures are too small for libvmaf. */
static void compare_refused(const golden_clip *clip, const char *model) {
    vmafgpu *context = score_clip(clip, model, 1);
    CHECK_HAS(vmafgpu_last_error(context), "too small (");
    CHECK(strncmp(model, "vmaf_v1", 7) == 0);
    vmafgpu_close(context);
}

/* Compares the report of a model for a clip. Returns 0 if there is no such report. */
static int compare_clip(const golden_clip *clip, const char *model) {
    char path[256], *text;
    vmafgpu *context;
    snprintf(path, sizeof path, "%s%s__%s.json", clip->reference ? SHARED "golden/" : REAL, clip->name, model);
    snprintf(test_where, sizeof test_where, "%s %s", clip->name, model);
    text = read_text(path);
    if (!text)
        return 0;
    context = score_clip(clip, model, 0);
    if (context) {
        char what[96];
        int frames;
        const char *at;
        snprintf(what, sizeof what, "%.95s", test_where);
        at = compare_frames(context, clip, text, &frames);
        snprintf(test_where, sizeof test_where, "%s", what);
        CHECK_INT(vmafgpu_score_count(context), frames);
        CHECK(frames > 0);
        CHECK_INT(compare_pooled(context, clip, at), 4 * vmafgpu_column_count(context));
    }
    vmafgpu_close(context);
    free(text);
    return 1;
}

/* Compares the column cambi, which most clips have. Returns 0 if there is no such column. */
static int compare_cambi(const golden_clip *clip) {
    static const char key[] = "\"cambi\":";
    char path[256], *text;
    const char *at;
    vmafgpu *context;
    snprintf(path, sizeof path, SHARED "golden/%s__features.json", clip->name);
    snprintf(test_where, sizeof test_where, "%s cambi", clip->name);
    text = read_text(path);
    at = text ? strstr(text, key) : NULL;
    if (!at) {
        free(text);
        return 0;
    }
    context = score_clip(clip, NULL, 0);
    for (int64_t i = 0; context && i < vmafgpu_score_count(context); i++) {
        vmafgpu_score score;
        double value = 0;
        CHECK_INT(vmafgpu_score_at(context, i, &score), VMAFGPU_OK);
        CHECK(at != NULL && next_number(at + sizeof key - 1, &value));
        CHECK_BITS(score.values[vmafgpu_column_index(context, "cambi")], value);
        at = at ? strstr(at + 1, key) : NULL;
    }
    vmafgpu_close(context);
    free(text);
    return 1;
}

int main(void) {
    int cambi = 0;
    FILE *there = fopen(SHARED "golden/src01_8b__vmaf_v0.6.1.json", "rb");
    for (size_t c = 0; c < sizeof real_clips / sizeof real_clips[0]; c++)
        for (size_t m = 0; m < sizeof real_models / sizeof real_models[0]; m++)
            CHECK(compare_clip(&real_clips[c], real_models[m]));
    if (!there) {
        test_skip("there is no " SHARED "golden");
        return test_end();
    }
    fclose(there);
    for (size_t c = 0; c < sizeof clips / sizeof clips[0]; c++) {
        for (int m = 0; m < MODELS; m++)
            if (compare_clip(&clips[c], models[m]))
                compared[m]++;
            else
                compare_refused(&clips[c], models[m]);
        cambi += compare_cambi(&clips[c]);
    }
    for (int m = 0; m < MODELS; m++) {
        printf("%s: %d clips\n", models[m], compared[m]);
        snprintf(test_where, sizeof test_where, "%s", models[m]);
        CHECK(compared[m] >= (strstr(models[m], "3d0h_2160") ? 8 : 13));
    }
    printf("cambi: %d clips\n", cambi);
    CHECK(cambi >= 12);
    return test_end();
}
