/* Every value of every file of ../shared/golden that belongs to a model: per frame and pooled, as doubles, bit for bit; and
 * of the files of other features the column of cambi. Where libvmaf has no figures for a model, opening must fail with
 * a sentence. Without that folder the whole test is skipped. */
#include "../vmafgpu.h"
#include "../examples/video.h"
#include "test.h"

#define SHARED "../shared/"

static const struct golden_clip {
    const char *name, *reference, *distorted;
    int         width, height, depth; /* of raw video; 0: y4m                                            */
    int         no_adm;               /* too small for ADM to be defined: its columns and scores are left out */
} clips[] = {
    {"akiyo", "akiyo_ref_352x288_420p.yuv", "akiyo_dis_352x288_420p.yuv", 352, 288, 8, 0},
    {"c422_10b", "c422_10b_ref.y4m", "c422_10b_dis.y4m", 0, 0, 0, 0},
    {"c444_8b", "c444_8b_ref.y4m", "c444_8b_dis.y4m", 0, 0, 0, 0},
    {"c444_12b", "c444_12b_ref.y4m", "c444_12b_dis.y4m", 0, 0, 0, 0},
    {"dark_8b", "dark_8b_ref_1920x1080_420p.yuv", "dark_8b_dis_1920x1080_420p.yuv", 1920, 1080, 8, 0},
    {"odd_8b", "odd_8b_ref.y4m", "odd_8b_dis.y4m", 0, 0, 0, 0},
    {"seek_8b", "seek_8b_ref.y4m", "seek_8b_dis.y4m", 0, 0, 0, 0},
    {"seek_8b_same", "seek_8b_ref.y4m", "seek_8b_ref.y4m", 0, 0, 0, 0},
    {"sparks_10b", "sparks_10b_ref.y4m", "sparks_10b_dis.y4m", 0, 0, 0, 0},
    {"src01_8b", "src01_8b_ref.y4m", "src01_8b_dis.y4m", 0, 0, 0, 0},
    {"src01_10b", "src01_10b_ref.y4m", "src01_10b_dis.y4m", 0, 0, 0, 0},
    {"src01_12b", "src01_12b_ref.y4m", "src01_12b_dis.y4m", 0, 0, 0, 0},
    {"src01_16b", "src01_16b_ref_576x324_420p16.yuv", "src01_16b_dis_576x324_420p16.yuv", 576, 324, 16, 0},
    {"tiny", "tiny_ref_18x22_420p.yuv", "tiny_dis_18x22_420p.yuv", 18, 22, 8, 1},
};

static const char *const models[] = {"vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1", "vmaf_4k_v0.6.1neg",
                                     "vmaf_b_v0.6.3",
                                     "vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_hfr_3d0h", "vmaf_v1.0.16_5d0h",
                                     "vmaf_v1.0.16_hfr_5d0h", "vmaf_v1.0.16_1d5h_2160", "vmaf_v1.0.16_hfr_1d5h_2160",
                                     "vmaf_v1.0.16_3d0h_2160", "vmaf_v1.0.16_hfr_3d0h_2160"};
enum { MODELS = sizeof models / sizeof models[0] };
static int compared[MODELS]; /* clips per model */

static char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = (char *)malloc((size_t)size + 1);
        if (text) {
            text[fread(text, 1, (size_t)size, file)] = 0;
        }
    }
    if (file) {
        fclose(file);
    }
    return text;
}

static int open_side(video *v, const struct golden_clip *clip, const char *file) {
    static char paths[2][256]; /* video keeps the name */
    static int turn;
    video_raw raw;
    memset(&raw, 0, sizeof raw);
    raw.width = clip->width;
    raw.height = clip->height;
    raw.bit_depth = clip->depth;
    turn ^= 1;
    snprintf(paths[turn], sizeof paths[turn], SHARED "clips/%s", file);
    return video_open(v, paths[turn], clip->depth ? &raw : NULL, 0) == VIDEO_OK;
}

/* Scores the clip with a model, or only with the feature cambi; NULL, and a failed check, where that does not work. Of a
 * model that is refused the context comes back with the sentence. */
static vmafgpu *score_clip(const struct golden_clip *clip, const char *model, int refused) {
    video sides[2];
    vmafgpu_config config;
    vmafgpu_model_config model_config;
    vmafgpu_feature_config feature_config = {"cambi", NULL};
    vmafgpu *context = NULL;
    int ok = 1;
    memset(&model_config, 0, sizeof model_config);
    ok &= CHECK(open_side(&sides[0], clip, clip->reference));
    ok &= CHECK(open_side(&sides[1], clip, clip->distorted));
    model_config.version = model;
    config = video_config(&sides[0]);
    config.models = model ? &model_config : NULL;
    config.model_count = model != NULL;
    config.features = &feature_config;
    config.no_model = config.feature_count = model == NULL;
    if (ok && refused) {
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_FEATURE);
        video_close(&sides[0]);
        video_close(&sides[1]);
        return context;
    }
    ok = ok && CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK);
    while (ok && video_read(&sides[0]) == VIDEO_OK && video_read(&sides[1]) == VIDEO_OK) {
        vmafgpu_frame reference = video_frame(&sides[0]), distorted = video_frame(&sides[1]);
        ok = CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_OK);
    }
    ok = ok && CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    video_close(&sides[0]);
    video_close(&sides[1]);
    if (!ok) {
        printf("%s\n", vmafgpu_last_error(context));
        vmafgpu_close(context);
        return NULL;
    }
    return context;
}

/* ---- the report of the figures ---- */

/* Moves *at behind the next string and gives its text; 0 when there is none. */
static int next_string(const char **at, char *name, size_t size) {
    const char *start = strchr(*at, '"'), *end = start ? strchr(start + 1, '"') : NULL;
    if (!end) {
        return 0;
    }
    snprintf(name, size, "%.*s", (int)(end - start - 1), start + 1);
    *at = end + 1;
    return 1;
}

/* The number after a colon; 0 when something else is there. */
static int next_number(const char *at, double *value) {
    char *end;
    at += strspn(at, ": \n");
    *value = strtod(at, &end);
    return end != at;
}

static int left_out(const struct golden_clip *clip, const char *name) {
    return clip->no_adm && (strstr(name, "adm") || strstr(name, "aim") || strncmp(name, "vmaf", 4) == 0);
}

/* Frame by frame: `"frameNum": i`, then `"name": value` for every column, in order. */
static const char *compare_frames(vmafgpu *context, const struct golden_clip *clip, const char *at, int *frames) {
    int columns = vmafgpu_column_count(context), column = columns;
    char name[128], what[96];
    double value;
    vmafgpu_score score;
    memset(&score, 0, sizeof score);
    snprintf(what, sizeof what, "%.95s", test_where);
    *frames = 0;
    while (next_string(&at, name, sizeof name) && strcmp(name, "pooled_metrics") != 0) {
        if (!next_number(at, &value) || strcmp(name, "version") == 0 || strcmp(name, "fps") == 0) {
            continue;
        }
        if (strcmp(name, "frameNum") == 0) {
            CHECK_INT(column, columns);
            column = 0;
            if (!CHECK_INT(vmafgpu_score_at(context, (int64_t)value, &score), VMAFGPU_OK)) {
                return at;
            }
            ++*frames;
            continue;
        }
        snprintf(test_where, sizeof test_where, "%s frame %d %.64s", what, *frames - 1, name);
        if (CHECK_STR(vmafgpu_column_name(context, column), name) && !left_out(clip, name)) {
            CHECK_VALUE(name, score.values[column], value);
        }
        column++;
    }
    CHECK_INT(column, columns);
    return at;
}

/* `"name": {` and in it `"min": value` and the like, for every column. */
static int compare_pooled(vmafgpu *context, const struct golden_clip *clip, const char *at) {
    static const struct {
        const char     *name;
        vmafgpu_pooling method;
    } pools[] = {{"min", VMAFGPU_MIN}, {"max", VMAFGPU_MAX}, {"mean", VMAFGPU_MEAN},
                 {"harmonic_mean", VMAFGPU_HARMONIC_MEAN}};
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
                if (!left_out(clip, metric)) {
                    CHECK_VALUE(metric, got, value);
                }
                count++;
            }
        }
    }
    return count;
}

/* The model of a clip for which libvmaf has no figures: the picture is too small for its features. */
static void compare_refused(const struct golden_clip *clip, const char *model) {
    vmafgpu *context = score_clip(clip, model, 1);
    CHECK_HAS(vmafgpu_last_error(context), "needs");
    CHECK(strncmp(model, "vmaf_v1", 7) == 0);
    vmafgpu_close(context);
}

static void compare_clip(const struct golden_clip *clip, int index) {
    const char *model = models[index];
    char path[256], *text;
    vmafgpu *context;
    snprintf(path, sizeof path, SHARED "golden/%s__%s.json", clip->name, model);
    snprintf(test_where, sizeof test_where, "%s %s", clip->name, model);
    text = read_text(path);
    if (!text) {
        compare_refused(clip, model);
        return;
    }
    compared[index]++;
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
}

/* The column of cambi, which is there for most clips; returns 1 then. */
static int compare_cambi(const struct golden_clip *clip) {
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
    if (!there) {
        test_skip("there is no " SHARED "golden");
        return test_end();
    }
    fclose(there);
    for (size_t c = 0; c < sizeof clips / sizeof clips[0]; c++) {
        for (int m = 0; m < MODELS; m++) {
            compare_clip(&clips[c], m);
        }
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
