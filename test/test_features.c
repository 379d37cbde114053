/* libvmaf's figures for the features that no model of the built-in ones needs: every column of each file of
 * ../shared/golden_extra and ../shared/golden_float that this build has, per frame, bit for bit, and the aggregates. On one
 * thread, on seven, and with every level of the CPU. */
#include "golden.h"

#include <math.h>

/* What a kind of file was made with. */
typedef struct golden_set {
    const char                  *folder, *kind;
    const vmafgpu_feature_config features[12];
    int                          least; /* columns that must have been found, all clips together */
} golden_set;

static const golden_set sets[] = {
    {"golden_extra", "extra_features", {{"psnr", "enable_mse=true:enable_apsnr=true"}, {"psnr_hvs", NULL}, {"ciede", NULL}, {"speed_temporal", NULL}},
     6 * 13 + 4 * 12 + 13 + 12},
    {"golden_extra", "extra_db", {{"psnr", "reduced_hbd_peak=true:min_sse=0.5:enable_apsnr=true"}}, 3 * 13},
    {"golden_float", "float_features", {{"float_ansnr", NULL}, {"float_motion", NULL}, {"float_vif", "debug=true"}}, 280},
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
     {{"speed_temporal", "speed_prescale=0.5:speed_prescale_method=bilinear:speed_use_ref_diff=true:speed_sigma_nn=0.19:"
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
    {"golden_extra", "extra_opts", {{"float_ssim", "scale=1:enable_db=true"}, {"float_ms_ssim", "enable_db=true"}}, 14 + 13},
    {"golden_float", "float_features", {{"float_moment", NULL}}, 4 * 13},
};

/* How the same is computed in several ways. */
static const struct {
    int      threads;
    unsigned cpumask;
} ways[] = {{1, 0}, {7, 0}, {2, 16}, {1, 255}};

/* What the reference refuses, and its report does not have. */
static int is_left_out(const golden_clip *clip, const vmafgpu_feature_config *feature) {
    return (clip->depth == 16 && strcmp(feature->name, "psnr_hvs") == 0) ||
           (clip->no_adm && /* too small for these, too */
            (strcmp(feature->name, "float_ms_ssim") == 0 || strcmp(feature->name, "speed_temporal") == 0));
}

/* How many frames the report has: some are of a clip's first ones. */
static int frames_of(const char *text) {
    int frames = 0;
    while ((text = strstr(text, "\"frameNum\"")) != NULL) {
        text++;
        frames++;
    }
    return frames;
}

/* Whether a feature is defined for so small a picture. */
static int is_defined(const vmafgpu_config *config, const vmafgpu_feature_config *feature) {
    vmafgpu_config one = *config;
    vmafgpu *context = NULL;
    one.features = feature;
    one.feature_count = 1;
    const vmafgpu_result result = vmafgpu_open(&context, &one);
    vmafgpu_close(context);
    return result == VMAFGPU_OK;
}

static vmafgpu *score(const golden_clip *clip, const golden_set *set, int way, int frame_count) {
    pair p;
    vmafgpu_frame frames[2];
    vmafgpu *context = NULL;
    vmafgpu_feature_config features[12];
    vmafgpu_config config;
    int ok = pair_open(&p, clip);
    config = video_config(&p.sides[0]);
    config.features = features;
    config.no_model = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.threads = ways[way].threads;
    config.cpumask = ways[way].cpumask;
    config.float_reciprocal = VMAFGPU_RECIPROCAL_AMD; /* of the machine that made the figures */
    for (int i = 0; i < 12 && set->features[i].name; i++) {
        if (!is_left_out(clip, &set->features[i]) && (!clip->no_adm || is_defined(&config, &set->features[i]))) {
            features[config.feature_count++] = set->features[i];
        }
    }
    if (!config.feature_count) { /* nothing of the set has figures for this clip */
        pair_close(&p);
        return NULL;
    }
    ok = ok && CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK);
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
    CHECK(frame >= 0 && vmafgpu_score_count(context) >= frame + 1); /* some reports are of a clip's beginning */
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

/* ---- what no report shows ---- */

enum { REEL = 9, REEL_BYTES = 2 * 3 * 96 * 80 };

/* A few frames of noise that moves, of as many bytes as any format needs; the samples have `bits` bits. */
static void make_reel(unsigned char (*reel)[REEL_BYTES], int bits) {
    unsigned state = 12345;
    for (int i = 0; i < REEL; i++) {
        for (int k = 0; k < REEL_BYTES / (bits > 8 ? 2 : 1); k++) {
            unsigned value;
            state = state * 1664525u + 1013904223u;
            value = ((state >> 24) + (unsigned)(k * (i + 3) / 7 % 90)) & 255;
            if (bits > 8) {
                value <<= bits - 8;
                reel[i][2 * k] = (unsigned char)value;
                reel[i][2 * k + 1] = (unsigned char)(value >> 8);
            } else {
                reel[i][k] = (unsigned char)value;
            }
        }
    }
}

static const vmafgpu_feature_config motions[] = {
    {"float_motion", NULL},
    {"float_motion", "motion_add_uv=true:motion_add_scale1=true"},
    {"float_motion", "motion_filter_size=3:motion_fps_weight=0.7:motion_blend_factor=0.6:motion_blend_offset=20"},
    {"float_vif", NULL},
    {"float_ansnr", NULL},
    {"psnr", "enable_apsnr=true"},
};
enum { MOTIONS = sizeof motions / sizeof *motions };

static vmafgpu_config reel_config(int bits) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = 96;
    config.height = 79;
    config.bit_depth = bits;
    config.chroma = VMAFGPU_444;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.no_model = 1;
    config.features = motions;
    config.feature_count = MOTIONS;
    return config;
}

/* Frame i of the reel, against the one that comes 3 later. */
static vmafgpu_frame reel_frame(const vmafgpu_config *config, unsigned char (*reel)[REEL_BYTES], int i) {
    return vmafgpu_frame_of(config, reel[i % REEL], 0);
}

static void compare_rows(vmafgpu *got, int64_t index, vmafgpu *wanted, int64_t wanted_index) {
    vmafgpu_score a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    if (CHECK_INT(vmafgpu_score_at(got, index, &a), VMAFGPU_OK) &&
        CHECK_INT(vmafgpu_score_at(wanted, wanted_index, &b), VMAFGPU_OK)) {
        for (int i = 0; i < vmafgpu_column_count(wanted); i++) {
            snprintf(test_where, sizeof test_where, "frame %d of the reel: %.64s", (int)wanted_index,
                     vmafgpu_column_name(wanted, i));
            CHECK_BITS(a.values[i], b.values[i]);
        }
    }
}

/* Clips in segments, with frames left out, refused ones between, and single pairs have the same figures as a whole clip. */
static void test_reel(int bits) {
    static unsigned char reel[REEL][REEL_BYTES], bad[REEL_BYTES];
    vmafgpu_config config = reel_config(bits);
    vmafgpu *whole = NULL, *part = NULL;
    vmafgpu_score score;
    int motion;
    make_reel(reel, bits);
    memset(bad, 255, sizeof bad);
    snprintf(test_where, sizeof test_where, "reel of %d bits", bits);
    if (!CHECK_INT(vmafgpu_open(&whole, &config), VMAFGPU_OK)) {
        printf("%s\n", vmafgpu_last_error(whole));
        return;
    }
    CHECK_INT(vmafgpu_seed_count(whole), 1);
    for (int i = 0; i < REEL; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3);
        CHECK_INT(vmafgpu_push(whole, &r, &d), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(whole), VMAFGPU_OK);
    /* Frames 3 to 6, on three threads. */
    config.threads = 3;
    CHECK_INT(vmafgpu_open(&part, &config), VMAFGPU_OK);
    for (int i = 2; i <= 7; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3), none = r;
        none.data[1] = NULL;
        if (i == 2) {
            CHECK_INT(vmafgpu_seed(part, &none), VMAFGPU_ERROR_ARGUMENT);
            CHECK_HAS(vmafgpu_last_error(part), "looks at chroma");
        }
        CHECK_INT(i == 2 ? vmafgpu_seed(part, &r) : i == 7 ? vmafgpu_tail(part, &r) : vmafgpu_push(part, &r, &d), VMAFGPU_OK);
        if (bits == 10 && i > 2 && i < 6) {   /* nothing is remembered of a pair that is refused */
            vmafgpu_frame wrong = vmafgpu_frame_of(&config, bad, 0);
            wrong.data[0] = r.data[0];
            CHECK_INT(vmafgpu_push(part, &r, &wrong), VMAFGPU_ERROR_FRAME);
            CHECK_INT(vmafgpu_push(part, &wrong, &r), VMAFGPU_ERROR_FRAME);
        }
    }
    CHECK_INT(vmafgpu_flush(part), VMAFGPU_OK);
    for (int i = 0; i < 4; i++) {
        compare_rows(part, i, whole, i + 3);
    }
    vmafgpu_close(part);
    /* Every third frame. */
    config.subsample = 3;
    for (int with_psnr = 0; with_psnr < 2; with_psnr++) {
        config.feature_count = MOTIONS - !with_psnr;
        CHECK_INT(vmafgpu_open(&part, &config), VMAFGPU_OK);
        for (int i = 0; i < REEL; i++) {
            vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3);
            CHECK_INT(vmafgpu_push(part, &r, &d), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(part), VMAFGPU_OK);
        for (int i = 0; i < REEL && with_psnr; i += 3) {
            compare_rows(part, i, whole, i);
        }
        for (int i = 0; i < REEL && !with_psnr; i += 3) {
            vmafgpu_score a, b;
            CHECK_INT(vmafgpu_score_at(part, i, &a), VMAFGPU_OK);
            CHECK_INT(vmafgpu_score_at(whole, i, &b), VMAFGPU_OK);
            CHECK_BITS(a.values[vmafgpu_column_index(part, "motion2")], b.values[vmafgpu_column_index(whole, "motion2")]);
        }
        vmafgpu_close(part);
    }
    /* Single pairs, between those of a clip. */
    config = reel_config(bits);
    CHECK_INT(vmafgpu_open(&part, &config), VMAFGPU_OK);
    motion = vmafgpu_column_index(part, "motion");
    for (int i = 0; i < REEL; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3);
        vmafgpu_frame before = reel_frame(&config, reel, i + REEL - 1), other = reel_frame(&config, reel, i + 5);
        vmafgpu_score wanted;
        CHECK_INT(vmafgpu_score_at(whole, i, &wanted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_pair(part, NULL, &other, &d, &score), VMAFGPU_OK);
        CHECK_BITS(score.values[motion], 0.);
        CHECK_INT(vmafgpu_score_pair(part, &before, &r, &d, &score), VMAFGPU_OK);
        for (int k = 0; k < vmafgpu_column_count(part) && i; k++) {
            const char *name = vmafgpu_column_name(part, k);
            if (!strstr(name, "motion2") && !strstr(name, "motion3")) {
                CHECK_BITS(score.values[k], wanted.values[k]);
            }
        }
        CHECK_BITS(score.values[vmafgpu_column_index(part, "motion2")], score.values[motion]);
        if (bits == 10) {
            vmafgpu_frame wrong = vmafgpu_frame_of(&config, bad, 0);
            CHECK_INT(vmafgpu_score_pair(part, &wrong, &r, &d, &score), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(part), "previous reference");
            wrong.data[0] = r.data[0];
            CHECK_INT(vmafgpu_score_pair(part, &wrong, &r, &d, &score), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(part), "chroma");
        }
        CHECK_INT(vmafgpu_push(part, &r, &d), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(part), VMAFGPU_OK);
    for (int i = 0; i < REEL; i++) {
        compare_rows(part, i, whole, i);
    }
    vmafgpu_close(part);
    vmafgpu_close(whole);
}

/* What is asked of a feature, and what is said where it is undefined; else a black pair is still, and all there. */
static const struct {
    int            w, h, bits;
    vmafgpu_chroma chroma;
    const char    *name, *options, *words;
} limits[] = {
    {16, 16, 8, VMAFGPU_400, "float_ansnr", NULL, NULL},
    {16, 16, 8, VMAFGPU_400, "float_motion", NULL, NULL},
    {16, 16, 8, VMAFGPU_400, "float_vif", "debug=true", NULL},
    {16, 16, 16, VMAFGPU_420, "float_motion", "motion_add_uv=true", NULL},
    {17, 19, 12, VMAFGPU_444, "float_motion", "motion_add_uv=true:motion_add_scale1=true", NULL},
    {17, 19, 12, VMAFGPU_422, "float_motion", "motion_add_uv=true:motion_filter_size=0", NULL},
    {17, 19, 10, VMAFGPU_420, "float_motion", "motion_add_scale1=true:motion_filter_size=1", NULL},
    {24, 24, 8, VMAFGPU_420, "float_vif", "vif_kernelscale=1.5", NULL},
    {23, 24, 8, VMAFGPU_420, "float_vif", "vif_kernelscale=1.5", "at least 3x3"},
    {24, 23, 8, VMAFGPU_420, "float_vif", "vif_kernelscale=1.5", "at least 3x3"},
    {31, 31, 8, VMAFGPU_420, "float_vif", "vif_prescale=0.5:vif_skip_scale0=true", NULL},
    {30, 31, 8, VMAFGPU_420, "float_vif", "vif_prescale=0.5", "at least 2x2"},
    {16, 16, 8, VMAFGPU_420, "float_vif", "vif_prescale=4:vif_prescale_method=lanczos4:vif_kernelscale=3.71134", NULL},
    {96, 96, 8, VMAFGPU_420, "float_vif", "vif_sigma_nsq=5:vif_enhn_gain_limit=1:vif_scale3_min_val=1", NULL},
    {96, 96, 8, VMAFGPU_420, "float_vif", "vif_kernelscale=1.7", "vif_kernelscale"},
    {96, 96, 8, VMAFGPU_420, "float_vif", "vif_prescale=4.5", "from 0.1 to 4"},
    {96, 96, 8, VMAFGPU_420, "float_vif", "vif_prescale_method=cubic", "one of"},
    {96, 96, 8, VMAFGPU_420, "float_motion", "motion_filter_size=10", "from 0 to 9"},
    {96, 96, 8, VMAFGPU_400, "float_motion", "motion_add_uv=true", "4:0:0"},
    {96, 96, 8, VMAFGPU_420, "float_motion", "motion_add_uv=true:motion_add_scale1=true", "4:4:4"},
    {96, 96, 8, VMAFGPU_420, "float_ansnr", "debug=true", "no option"},
    {2000, 16, 8, VMAFGPU_420, "float_vif", "vif_prescale=4:vif_prescale_method=bilinear", "7680"},
    {96, 96, 9, VMAFGPU_420, "float_ansnr", NULL, "not for 9"},
    {96, 96, 11, VMAFGPU_420, "float_motion", NULL, "not for 11"},
    {96, 96, 14, VMAFGPU_420, "float_vif", NULL, "not for 14"},
};

static void test_limits(void) {
    static unsigned char black[2 * 3 * 96 * 96];
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        vmafgpu_config config = VMAFGPU_INIT;
        vmafgpu_feature_config feature = VMAFGPU_INIT;
        vmafgpu *context = NULL;
        vmafgpu_score score;
        feature.name = limits[i].name;
        feature.options = limits[i].options;
        config.width = limits[i].w;
        config.height = limits[i].h;
        config.bit_depth = limits[i].bits;
        config.chroma = limits[i].chroma;
        config.strict_options = 1;
        config.features = &feature;
        config.feature_count = 1;
        config.no_model = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.threads = 3;
        snprintf(test_where, sizeof test_where, "%s %s %dx%d", feature.name, feature.options ? feature.options : "",
                 config.width, config.height);
        CHECK_INT(vmafgpu_open(&context, &config), limits[i].words ? VMAFGPU_ERROR_FEATURE : VMAFGPU_OK);
        if (limits[i].words) {
            CHECK_HAS(vmafgpu_last_error(context), limits[i].words);
        }
        for (int k = 0; k < 2 && !limits[i].words; k++) {
            vmafgpu_frame frame = vmafgpu_frame_of(&config, black, 0);
            CHECK_INT(vmafgpu_push(context, &frame, &frame), VMAFGPU_OK);
        }
        if (!limits[i].words && CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK)) {
            CHECK_INT(vmafgpu_score_at(context, 1, &score), VMAFGPU_OK);
            for (int k = 0; k < vmafgpu_column_count(context); k++) {
                const char *name = vmafgpu_column_name(context, k);
                if (strncmp(name, "motion", 6) == 0) {
                    CHECK_BITS(score.values[k], 0.);
                } else if (strncmp(name, "vif_scale", 9) == 0) {
                    const double wanted = strstr(name, "ssclz") && name[9] == '0' ? 0 : 1;
                    CHECK(fabs(score.values[k] - wanted) < 1e-6); /* taps' sum is not quite 1 */
                }
            }
        }
        vmafgpu_close(context);
    }
}

int main(void) {
    test_limits();
    test_reel(8);
    test_reel(10);
    FILE *there = fopen(SHARED "golden_extra/src01_8b__extra_db.json", "rb");
    if (!there) {
        test_skip("there is no " SHARED "golden_extra");
        return test_end();
    }
    fclose(there);
    for (size_t s = 0; s < sizeof sets / sizeof sets[0]; s++) {
        int found = 0;
        for (size_t c = 0; c < sizeof clips / sizeof clips[0]; c++) {
            char path[256], *text;
            snprintf(path, sizeof path, SHARED "%s/%s__%s.json", sets[s].folder, clips[c].name, sets[s].kind);
            text = read_text(path);
            for (int way = 0; text && way < (int)(sizeof ways / sizeof ways[0]); way++) {
                vmafgpu *context;
                snprintf(test_where, sizeof test_where, "%s %s way %d", clips[c].name, sets[s].kind, way);
                context = score(&clips[c], &sets[s], way, frames_of(text));
                found += context ? compare_report(context, text) * (way == 0) : 0;
                vmafgpu_close(context);
            }
            free(text);
        }
        printf("%s: %d columns\n", sets[s].kind, found);
        snprintf(test_where, sizeof test_where, "%s", sets[s].kind);
        CHECK(found >= sets[s].least);
    }
    return test_end();
}
