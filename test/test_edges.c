/* Tests features in cases for which libvmaf provides no values: options at their limits, the smallest pictures, clips
 * of one and two frames, identical and black pairs, all formats, segments, subsampling and single pairs. The values
 * must be the same with any number of threads and any instruction set. */
#define VMAFGPU_IMPLEMENTATION
#define VMAFGPU_STATIC
#include "scoring.h"

#include <math.h>

static const struct {
    int threads;
    unsigned cpumask;
} ways[] = { { 1, 255 }, { 1, 0 }, { 2, 16 }, { 7, 0 } };
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Scores the film with each of the first `count` entries of `ways` and checks that the scores are equal. Returns those
 * of the first run. */
static scores score_film(const film *f, vmafgpu_config config, int count) {
    scores first;
    char what[192];
    snprintf(what, sizeof what, "%.191s", test_where);
    memset(&first, 0, sizeof first);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    for (int way = 0; way < count; way++) {
        scores s;
        config.threads = test_thread_count(ways[way].threads);
        config.cpumask = ways[way].cpumask;
        snprintf(test_where, sizeof test_where, "%s, way %d", what, way);
        s = film_score(f, &config);
        if (way == 0) {
            first = s;
        } else {
            check_same_scores(&s, &first);
            scores_free(&s);
        }
    }
    snprintf(test_where, sizeof test_where, "%s", what);
    return first;
}

/* Opens a context with one feature. Returns the error message, or "" if the context opens. */
static const char *refusal(vmafgpu_config config, const char *name, const char *options) {
    static char message[256];
    vmafgpu_feature_config feature;
    vmafgpu *context = NULL;
    memset(&feature, 0, sizeof feature);
    feature.name = name;
    feature.options = options;
    config.features = &feature;
    config.feature_count = 1;
    config.features_only = config.strict_options = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    const vmafgpu_result result = vmafgpu_open(&context, &config);
    snprintf(message, sizeof message, "%.255s", result == VMAFGPU_OK ? "" : vmafgpu_last_error(context));
    CHECK(result == VMAFGPU_OK || result == VMAFGPU_ERROR_FEATURE);
    CHECK(result == VMAFGPU_OK || message[0]);
    vmafgpu_close(context);
    return message;
}

/* ---- all features together ---- */

enum { ALL = VMAFGPU__FEATURES };

/* Writes the names of all features that support the format of the config. Returns their number. */
static int choose_features(const vmafgpu_config *config, vmafgpu_feature_config *features) {
    int count = 0;
    memset(features, 0, ALL * sizeof *features);
    for (int i = 0; i < ALL; i++)
        if (!vmafgpu__features[i].left_out_by && !*refusal(*config, vmafgpu__features[i].name, NULL))
            features[count++].name = vmafgpu__features[i].name;
    return count;
}

/* Expected values and tolerances for two identical pictures, in columns whose names begin with `begin`. If `still` is
 * set, the entry applies only to clips without motion. */
static const struct {
    const char *begin;
    int still;
    double value, off;
} of_equal[] = {
    { "adm2", 0, 1, 0 },           { "adm_scale", 0, 1, 0 },      { "aim", 0, 0, 0 },
    { "adm3", 0, 1, 0 },           { "vif_scale", 0, 1, 1e-6 },   { "integer_adm2", 0, 1, 1e-5 },
    { "integer_vif", 0, 1, 1e-4 }, { "float_ssim", 0, 1, 0 },     { "float_ms_ssim", 0, 1, 1e-6 },
    { "motion", 1, 0, 0 },         { "integer_motion", 1, 0, 0 }, { "VMAF_integer_feature_motion", 1, 0, 0 },
    { "speed_temporal", 1, 0, 0 }
};

static void check_equal(const char *name, double value, int depth, int is_still) {
    if (strncmp(name, "psnr_hvs", 8) == 0 || strcmp(name, "ciede2000") == 0)
        CHECK(value > 1e300);
    else if (strncmp(name, "psnr_", 5) == 0)
        CHECK_BITS(value, 6. * depth + 12);
    else if (strcmp(name, "float_psnr") == 0)
        CHECK_BITS(value, depth == 16 ? 108 : 6. * depth + 12);
    for (size_t i = 0; i < sizeof of_equal / sizeof of_equal[0]; i++)
        if (strncmp(name, of_equal[i].begin, strlen(of_equal[i].begin)) == 0 && of_equal[i].still <= is_still)
            CHECK(fabs(value - of_equal[i].value) <= of_equal[i].off);
}

static void check_everything(const char *what, int w, int h, int depth, int chroma) {
    film f = film_make_colour(what, w, h, depth, chroma ? chroma : 420, 2, (uint32_t)(w + h));
    vmafgpu_feature_config features[ALL];
    vmafgpu_config config = film_config(&f);
    const int is_equal = strstr(what, "+same") != NULL, is_still = strncmp(what, "black", 5) == 0;
    vmafgpu *context;
    scores two, one;
    config.chroma = chroma ? config.chroma : VMAFGPU_CHROMA_400;
    snprintf(test_where, sizeof test_where, "all of %s %dx%d, %d bits, %d", what, w, h, depth, chroma);
    config.feature_count = choose_features(&config, features);
    config.features = features;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    CHECK(config.feature_count >= 10);
    two = score_film(&f, config, WAYS);
    f.clip.frames = 1;
    one = score_film(&f, config, 2);
    context = open_checked(&config);
    CHECK_INT(two.rows, 2);
    CHECK_INT(one.rows, 1);
    for (int k = 0; context && k < two.columns; k++) {
        const char *name = vmafgpu_column_name(context, k);
        snprintf(test_where, sizeof test_where, "%s of %s %dx%d, %d bits, %d", name, what, w, h, depth, chroma);
        /* a single frame has no motion; a second frame changes only motion3 of the first frame */
        if (strstr(name, "motion") || strstr(name, "temporal"))
            CHECK_BITS(one.values[k], 0.);
        if (!strstr(name, "motion3"))
            CHECK_BITS(two.values[k], one.values[k]);
        for (int i = 0; is_equal && i < two.rows; i++)
            check_equal(name, two.values[i * two.columns + k], depth, is_still);
    }
    vmafgpu_close(context);
    scores_free(&one);
    scores_free(&two);
    film_free(&f);
}

static void test_everything(void) {
    check_everything("texture+mix", 96, 80, 8, 0);
    check_everything("texture+mix", 97, 81, 10, 420);
    check_everything("noise+grain", 96, 83, 12, 422);
    check_everything("texture+mix", 99, 80, 16, 444);
    check_everything("blocks+invert", 81, 97, 8, 444);
    check_everything("texture+same", 96, 80, 10, 444);
    check_everything("noise+same", 33, 35, 16, 0);
    check_everything("black+same", 97, 80, 8, 420);
    check_everything("black+same", 80, 83, 12, 444);
    check_everything("texture+blur", 216, 177, 8, 422);
    check_everything("texture+same", 217, 176, 10, 420);
}

/* Checks that motion2 of float_motion is the smaller one of the motions of a frame and of the next frame. */
static void test_smaller_motion(void) {
    enum { FRAMES = 12 };
    static const vmafgpu_feature_config feature = { "float_motion", "debug=true" };
    film f = film_make("texture+mix", 96, 80, 8, FRAMES, 3);
    vmafgpu_config config = film_config(&f);
    int own = -1, smaller = -1, rises = 0;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    config.features = &feature;
    config.feature_count = 1;
    /* Copies of the preceding reference give some frames a motion of 0. */
    for (int i = 3; i < FRAMES; i += 3)
        memcpy(f.luma + (size_t)(2 * i) * f.plane_bytes, f.luma + (size_t)(2 * i - 2) * f.plane_bytes, f.plane_bytes);
    vmafgpu *context = open_checked(&config);
    scores got = film_score(&f, &config);
    for (int k = 0; context && k < got.columns; k++) {
        const char *name = vmafgpu_column_name(context, k);
        smaller = strstr(name, "motion2") ? k : smaller;
        own = !strstr(name, "motion2") && !strstr(name, "motion3") ? k : own;
    }
    snprintf(test_where, sizeof test_where, "motion2 of float_motion");
    test_need(own >= 0 && smaller >= 0 && got.rows == FRAMES, "columns of float_motion");
    for (int i = 1; i < FRAMES; i++) {
        const double *row = got.values + i * got.columns;
        const double next = i + 1 < FRAMES ? row[got.columns + own] : row[own];
        CHECK_BITS(row[smaller], next < row[own] ? next : row[own]);
        rises += next > row[own];
    }
    CHECK(rises > 1 && rises < FRAMES - 2);
    vmafgpu_close(context);
    scores_free(&got);
    film_free(&f);
}

/* ---- each option at its limits ---- */

/* Option values that are within the limits but are rejected for these pictures, each with words from the message. */
static const struct {
    const char *feature, *setting, *words;
} refused[] = {
    { "adm", "adm_norm_view_dist=0.75", "3240 or more" },
    { "adm", "adm_ref_display_height=1", "3240 or more" },
    { "cambi", "cambi_vis_lum_threshold=300", "excludes all samples" },
    { "speed_chroma", "speed_kernelscale=0.1", "unsupported value" },
    { "speed_chroma", "speed_kernelscale=4", "unsupported value" },
    { "speed_chroma", "speed_prescale=0.1", "80x80" },
    { "speed_temporal", "speed_kernelscale=0.1", "unsupported value" },
    { "speed_temporal", "speed_kernelscale=4", "unsupported value" },
    { "speed_temporal", "speed_prescale=0.1", "80x80" },
    { "speed_temporal", "speed_prescale=4", "use at most 1" },
    { "float_ssim", "scale=10", "11x11" },
    { "float_vif", "vif_kernelscale=0.1", "unsupported value" },
    { "float_vif", "vif_kernelscale=4", "unsupported value" },
    { "float_vif", "vif_prescale=0.1", "9x9" },
};

static void check_option(const film *f, const char *feature, const char *setting) {
    const vmafgpu_config format = film_config(f);
    const char *message, *words = "";
    snprintf(test_where, sizeof test_where, "%s %s", feature, setting);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (strcmp(refused[i].feature, feature) == 0 && strcmp(refused[i].setting, setting) == 0)
            words = refused[i].words;
    message = refusal(format, feature, setting);
    if (*words) {
        CHECK_HAS(message, words);
    } else if (CHECK_STR(message, "")) {
        vmafgpu_feature_config wanted;
        vmafgpu_config config = format;
        scores s;
        memset(&wanted, 0, sizeof wanted);
        wanted.name = feature;
        wanted.options = setting;
        config.features = &wanted;
        config.feature_count = 1;
        s = score_film(f, config, 2);
        CHECK_INT(s.rows, f->clip.frames);
        scores_free(&s);
    }
}

static void check_outside(const film *f, const char *feature, const char *name, double value) {
    char setting[96];
    snprintf(setting, sizeof setting, "%s=%.6g", name, value);
    snprintf(test_where, sizeof test_where, "%s %s", feature, setting);
    CHECK_HAS(refusal(film_config(f), feature, setting), name);
}

static void test_options(void) {
    film small = film_make_colour("texture+mix", 97, 81, 8, 444, 2, 5),
         large = film_make_colour("bands+mix", 232, 218, 10, 420, 2, 5);
    for (int i = 0; i < ALL; i++) {
        const vmafgpu__feature *feature = &vmafgpu__features[i];
        const film *f =
            strcmp(feature->name, "cambi") == 0 || strcmp(feature->name, "float_ms_ssim") == 0 ? &large : &small;
        for (const vmafgpu__option *o = feature->options; o && o->name; o++) {
            char setting[96];
            if (o->type == VMAFGPU__FLAG) {
                snprintf(setting, sizeof setting, "%s=true", o->name);
                check_option(f, feature->name, setting);
                snprintf(setting, sizeof setting, "%s=false", o->name);
                check_option(f, feature->name, setting);
            } else if (o->type == VMAFGPU__WORD) {
                for (const char *word = o->words; *word; word += word[strcspn(word, ",")] == ',') {
                    snprintf(setting, sizeof setting, "%s=%.*s", o->name, (int)strcspn(word, ","), word);
                    check_option(f, feature->name, setting);
                    word += strcspn(word, ",");
                }
            } else if (o->type != VMAFGPU__HEATMAPS) {
                for (int end = 0; end < 2; end++) {
                    const double value = end ? o->max : o->min;
                    if (fabs(value) < 1e30) { /* some options have no upper bound */
                        snprintf(setting, sizeof setting, "%s=%.6g", o->name, value);
                        check_option(f, feature->name, setting);
                        check_outside(f, feature->name, o->name, end ? value + 1 : value - 1);
                    }
                }
            }
        }
    }
    film_free(&small);
    film_free(&large);
}

/* ---- special values of float_adm ---- */

/* Writes the first three score columns of one w x h pair to `values`. The content is noise (0), the same noise in both
 * pictures (1), black (2) or mid-grey (3). */
static void score_small(const char *options, int w, int h, int content, double *values) {
    static uint8_t pictures[2][64 * 64];
    const vmafgpu_feature_config wanted = { "float_adm", options };
    vmafgpu_config config;
    vmafgpu *context;
    vmafgpu_score score;
    memset(&config, 0, sizeof config);
    memset(&score, 0, sizeof score);
    config.width = w;
    config.height = h;
    config.chroma = VMAFGPU_CHROMA_400;
    config.strict_options = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    config.features = &wanted;
    config.feature_count = 1;
    for (unsigned i = 0; i < sizeof pictures[0]; i++) {
        pictures[0][i] = (uint8_t)(content == 2 ? 0 : content == 3 ? 128 : i * 7919u >> 5);
        pictures[1][i] = content ? pictures[0][i] : (uint8_t)(i * 104729u >> 7);
    }
    snprintf(test_where, sizeof test_where, "float_adm %s %dx%d content %d", options, w, h, content);
    if (CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK)) {
        const vmafgpu_frame reference = vmafgpu_frame_of(&config, pictures[0], 0),
                            distorted = vmafgpu_frame_of(&config, pictures[1], 0);
        CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
        memcpy(values, score.values, 3 * sizeof *values);
    }
    vmafgpu_close(context);
}

static void test_float_adm(void) {
    static const int sizes[][2] = { { 17, 17 }, { 17, 64 }, { 64, 17 }, { 18, 22 }, { 33, 31 }, { 64, 64 } };
    double values[3] = { 0, 0, 0 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        score_small("", sizes[i][0], sizes[i][1], 0, values);
        CHECK(values[0] > 0 && values[0] < 1 && values[1] > 0 && values[1] < 1);
        for (int content = 1; content < 4; content++) {
            score_small("", sizes[i][0], sizes[i][1], content, values);
            CHECK(values[0] == 1 && values[1] == 0 && values[2] == 1);
        }
    }
    /* With a noise weight of 0, the sums for the reference are 0, and the result of libvmaf is undefined. */
    score_small("adm_noise_weight=0", 33, 31, 3, values);
    CHECK(values[0] == 1 && values[1] == 0 && values[2] == 1);
    /* Here, one of the sums is infinite. */
    score_small("adm_p_norm=20:adm_f1s0=10:adm_noise_weight=1500:adm_min_val=0.25", 64, 64, 0, values);
    CHECK(values[0] != values[0] && values[1] == 1 && values[2] == 0.25);
}

/* ---- segments, subsampling, single pairs ---- */

enum { REEL = 9, REEL_BYTES = 2 * 3 * 96 * 80 };

/* Fills the reel with moving noise. Each frame has as many bytes as the largest format needs. */
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

/* Features that can be scored in segments. The last feature also uses the pairs that subsampling skips. */
static const vmafgpu_feature_config measured[] = {
    { "float_motion", NULL },
    { "float_motion", "motion_add_uv=true:motion_add_scale1=true" },
    { "float_motion", "motion_filter_size=3:motion_fps_weight=0.7:motion_blend_factor=0.6:motion_blend_offset=20" },
    { "float_vif", NULL },
    { "float_ansnr", NULL },
    { "float_adm", NULL },
    { "float_ssim", "enable_lcs=true" },
    { "float_psnr", NULL },
    { "float_moment", NULL },
    { "psnr_hvs", NULL },
    { "ciede", NULL },
    { "speed_chroma", NULL },
    { "vif", NULL },
    { "psnr", "enable_apsnr=true" },
};
enum { MEASURED = sizeof measured / sizeof *measured };

static vmafgpu_config reel_config(int bits) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = 96;
    config.height = 80;
    config.bit_depth = bits;
    config.chroma = VMAFGPU_CHROMA_444;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    config.features = measured;
    config.feature_count = MEASURED;
    return config;
}

/* Returns frame i of the reel. The distorted frame of pair i is frame i + 3. */
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

/* Tests that segments, subsampled clips and single pairs get the same values as in the whole clip, and that rejected
 * pairs in between have no effect. */
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
    CHECK_INT(vmafgpu_preceding_count(whole), 1);
    for (int i = 0; i < REEL; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3);
        CHECK_INT(vmafgpu_push(whole, &r, &d), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(whole), VMAFGPU_OK);
    /* Scores frames 3 to 6 on three threads. */
    config.threads = 3;
    CHECK_INT(vmafgpu_open(&part, &config), VMAFGPU_OK);
    for (int i = 2; i <= 7; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3), none = r;
        none.data[1] = NULL;
        if (i == 2) {
            CHECK_INT(vmafgpu_push_preceding(part, &none), VMAFGPU_ERROR_ARGUMENT);
            CHECK_HAS(vmafgpu_last_error(part), "requires chroma");
        }
        CHECK_INT(i == 2   ? vmafgpu_push_preceding(part, &r)
                  : i == 7 ? vmafgpu_push_following(part, &r)
                           : vmafgpu_push(part, &r, &d),
                  VMAFGPU_OK);
        if (bits == 10 && i > 2 && i < 6) { /* a rejected pair leaves no state behind */
            vmafgpu_frame wrong = vmafgpu_frame_of(&config, bad, 0);
            wrong.data[0] = r.data[0];
            CHECK_INT(vmafgpu_push(part, &r, &wrong), VMAFGPU_ERROR_FRAME);
            CHECK_INT(vmafgpu_push(part, &wrong, &r), VMAFGPU_ERROR_FRAME);
        }
    }
    CHECK_INT(vmafgpu_flush(part), VMAFGPU_OK);
    for (int i = 0; i < 4; i++)
        compare_rows(part, i, whole, i + 3);
    vmafgpu_close(part);
    /* Scores every third frame. Without psnr, the skipped frames are not processed. */
    config.subsample = 3;
    for (int with_psnr = 0; with_psnr < 2; with_psnr++) {
        config.feature_count = MEASURED - !with_psnr;
        CHECK_INT(vmafgpu_open(&part, &config), VMAFGPU_OK);
        for (int i = 0; i < REEL; i++) {
            vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3);
            CHECK_INT(vmafgpu_push(part, &r, &d), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(part), VMAFGPU_OK);
        for (int i = 0; i < REEL && with_psnr; i += 3)
            compare_rows(part, i, whole, i);
        for (int i = 0; i < REEL && !with_psnr; i += 3) {
            vmafgpu_score a, b;
            CHECK_INT(vmafgpu_score_at(part, i, &a), VMAFGPU_OK);
            CHECK_INT(vmafgpu_score_at(whole, i, &b), VMAFGPU_OK);
            CHECK_BITS(a.values[vmafgpu_column_index(part, "motion2")],
                       b.values[vmafgpu_column_index(whole, "motion2")]);
        }
        vmafgpu_close(part);
    }
    /* Scores single pairs between the pairs of a clip. */
    config = reel_config(bits);
    CHECK_INT(vmafgpu_open(&part, &config), VMAFGPU_OK);
    motion = vmafgpu_column_index(part, "motion");
    for (int i = 0; i < REEL; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d = reel_frame(&config, reel, i + 3);
        vmafgpu_frame before = reel_frame(&config, reel, i + REEL - 1), other = reel_frame(&config, reel, i + 5);
        vmafgpu_score wanted;
        CHECK_INT(vmafgpu_score_at(whole, i, &wanted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_pair(part, &other, &d, NULL, &score), VMAFGPU_OK);
        CHECK_BITS(score.values[motion], 0.);
        CHECK_INT(vmafgpu_score_pair(part, &r, &d, &before, &score), VMAFGPU_OK);
        for (int k = 0; k < vmafgpu_column_count(part) && i; k++) {
            const char *name = vmafgpu_column_name(part, k);
            if (!strstr(name, "motion2") && !strstr(name, "motion3"))
                CHECK_BITS(score.values[k], wanted.values[k]);
        }
        CHECK_BITS(score.values[vmafgpu_column_index(part, "motion2")], score.values[motion]);
        if (bits == 10) {
            vmafgpu_frame wrong = vmafgpu_frame_of(&config, bad, 0);
            CHECK_INT(vmafgpu_score_pair(part, &r, &d, &wrong, &score), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(part), "previous reference");
            wrong.data[0] = r.data[0];
            CHECK_INT(vmafgpu_score_pair(part, &r, &d, &wrong, &score), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(part), "chroma");
        }
        CHECK_INT(vmafgpu_push(part, &r, &d), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(part), VMAFGPU_OK);
    for (int i = 0; i < REEL; i++)
        compare_rows(part, i, whole, i);
    vmafgpu_close(part);
    vmafgpu_close(whole);
}

/* Distorted videos scored together by vmafgpu_push_many() get the same scores as when each is scored alone. */
static void test_push_many(int bits, int subsample) {
    enum { VIDEOS = 3 };
    static unsigned char reel[REEL][REEL_BYTES];
    vmafgpu_feature_config features[MEASURED + 1];
    vmafgpu_config config = reel_config(bits);
    vmafgpu *alone[VIDEOS], *together[VIDEOS];
    make_reel(reel, bits);
    memcpy(features, measured, sizeof measured);
    features[MEASURED].name = "speed_temporal";
    features[MEASURED].options = NULL;
    config.features = features;
    config.feature_count = MEASURED + 1;
    config.subsample = subsample;
    config.threads = 2;
    config.contexts_per_pass = VIDEOS;
    snprintf(test_where, sizeof test_where, "%d videos of %d bits, subsample %d", (int)VIDEOS, bits, subsample);
    for (int k = 0; k < VIDEOS; k++) {
        CHECK_INT(vmafgpu_open(&alone[k], &config), VMAFGPU_OK);
        CHECK_INT(vmafgpu_open(&together[k], &config), VMAFGPU_OK);
    }
    for (int i = 0; i < REEL; i++) {
        vmafgpu_frame r = reel_frame(&config, reel, i), d[VIDEOS];
        for (int k = 0; k < VIDEOS; k++) {
            d[k] = reel_frame(&config, reel, i + 2 + k);
            CHECK_INT(vmafgpu_push(alone[k], &r, &d[k]), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_push_many(together, VIDEOS, &r, d, NULL), VMAFGPU_OK);
    }
    for (int k = 0; k < VIDEOS; k++) {
        CHECK_INT(vmafgpu_flush(alone[k]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(together[k]), VMAFGPU_OK);
        for (int i = 0; i < REEL; i += subsample)
            compare_rows(together[k], i, alone[k], i);
        vmafgpu_close(alone[k]);
        vmafgpu_close(together[k]);
    }
}

/* Features at or near their limits. If `words` is not NULL, vmafgpu_open() must fail with a message that contains
 * `words`; otherwise the values of a black pair are checked. */
static const struct {
    int w, h, bits;
    vmafgpu_chroma chroma;
    const char *name, *options, *words;
} limits[] = {
    { 16, 16, 8, VMAFGPU_CHROMA_400, "float_ansnr", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "float_motion", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "float_vif", "debug=true", NULL },
    { 16, 16, 16, VMAFGPU_CHROMA_420, "float_motion", "motion_add_uv=true", NULL },
    { 17, 19, 12, VMAFGPU_CHROMA_444, "float_motion", "motion_add_uv=true:motion_add_scale1=true", NULL },
    { 17, 19, 12, VMAFGPU_CHROMA_422, "float_motion", "motion_add_uv=true:motion_filter_size=0", NULL },
    { 17, 19, 10, VMAFGPU_CHROMA_420, "float_motion", "motion_add_scale1=true:motion_filter_size=1", NULL },
    { 24, 24, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_kernelscale=1.5", NULL },
    { 23, 24, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_kernelscale=1.5", "at least 3x3" },
    { 24, 23, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_kernelscale=1.5", "at least 3x3" },
    { 31, 31, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_prescale=0.5:vif_skip_scale0=true", NULL },
    { 30, 31, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_prescale=0.5", "at least 2x2" },
    { 16, 16, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_prescale=4:vif_prescale_method=lanczos4:vif_kernelscale=3.71134",
      NULL },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_sigma_nsq=5:vif_enhn_gain_limit=1:vif_scale3_min_val=1", NULL },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_kernelscale=1.7", "vif_kernelscale" },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_prescale=4.5", "use 0.1..4" },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_prescale_method=cubic", "one of" },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_motion", "motion_filter_size=10", "use 0..9" },
    { 96, 96, 8, VMAFGPU_CHROMA_400, "float_motion", "motion_add_uv=true", "4:0:0" },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_motion", "motion_add_uv=true:motion_add_scale1=true", "4:4:4" },
    { 96, 96, 8, VMAFGPU_CHROMA_420, "float_ansnr", "debug=true", "unknown option" },
    { 2000, 16, 8, VMAFGPU_CHROMA_420, "float_vif", "vif_prescale=4:vif_prescale_method=bilinear", "7680" },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "psnr", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_420, "psnr", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "float_psnr", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "float_moment", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "vif", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "adm", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "motion", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_420, "ciede", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_420, "psnr_hvs", NULL, NULL },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "ciede", NULL, "4:0:0" },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "psnr_hvs", NULL, "4:0:0" },
    { 16, 16, 8, VMAFGPU_CHROMA_400, "float_ssim", NULL, NULL },
    { 22, 22, 8, VMAFGPU_CHROMA_400, "float_ssim", "scale=2", NULL },
    { 20, 22, 8, VMAFGPU_CHROMA_400, "float_ssim", "scale=2", "11x11" },
    { 22, 20, 8, VMAFGPU_CHROMA_400, "float_ssim", "scale=2", "11x11" },
    { 176, 176, 8, VMAFGPU_CHROMA_400, "float_ms_ssim", NULL, NULL },
    { 175, 176, 8, VMAFGPU_CHROMA_400, "float_ms_ssim", NULL, "176x176" },
    { 176, 175, 8, VMAFGPU_CHROMA_400, "float_ms_ssim", NULL, "176x176" },
    { 17, 17, 8, VMAFGPU_CHROMA_400, "float_adm", NULL, NULL },
    { 16, 17, 8, VMAFGPU_CHROMA_400, "float_adm", NULL, "17x17" },
    { 17, 16, 8, VMAFGPU_CHROMA_400, "float_adm", NULL, "17x17" },
    { 64, 64, 8, VMAFGPU_CHROMA_400, "float_adm", "adm_skip_aim_scale=-1", "use 0..3" },
    { 64, 64, 8, VMAFGPU_CHROMA_400, "float_adm", "adm_skip_aim=true", "unknown option" },
    { 64, 64, 8, VMAFGPU_CHROMA_400, "float_adm", "adm_bypass_cm=true", "a number" },
    { 64, 64, 8, VMAFGPU_CHROMA_400, "float_adm", "adm_adm3_apply_hm=1", "true or false" },
    { 80, 80, 8, VMAFGPU_CHROMA_400, "speed_temporal", NULL, NULL },
    { 79, 80, 8, VMAFGPU_CHROMA_400, "speed_temporal", NULL, "80x80" },
    { 80, 79, 8, VMAFGPU_CHROMA_400, "speed_temporal", NULL, "80x80" },
    { 80, 80, 8, VMAFGPU_CHROMA_444, "speed_chroma", NULL, NULL },
    { 79, 80, 8, VMAFGPU_CHROMA_444, "speed_chroma", NULL, "80x80" },
    { 160, 158, 8, VMAFGPU_CHROMA_420, "speed_chroma", NULL, "80x80" },
    { 216, 16, 8, VMAFGPU_CHROMA_400, "cambi", NULL, NULL },
    { 16, 216, 8, VMAFGPU_CHROMA_400, "cambi", NULL, NULL },
    { 215, 215, 8, VMAFGPU_CHROMA_400, "cambi", NULL, "216" },
    { 96, 96, 9, VMAFGPU_CHROMA_420, "float_ansnr", NULL, "bit depth (9)" },
    { 96, 96, 11, VMAFGPU_CHROMA_420, "float_motion", NULL, "bit depth (11)" },
    { 96, 96, 14, VMAFGPU_CHROMA_420, "float_vif", NULL, "bit depth (14)" },
};

static void test_limits(void) {
    static unsigned char black[3 * 216 * 216];
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
        config.features_only = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.threads = 3;
        snprintf(test_where, sizeof test_where, "%s %s %dx%d", feature.name, feature.options ? feature.options : "",
                 config.width, config.height);
        CHECK_INT(vmafgpu_open(&context, &config), limits[i].words ? VMAFGPU_ERROR_FEATURE : VMAFGPU_OK);
        if (limits[i].words)
            CHECK_HAS(vmafgpu_last_error(context), limits[i].words);
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
                    CHECK(fabs(score.values[k] - wanted) < 1e-6); /* the taps do not add up to exactly 1 */
                }
            }
        }
        vmafgpu_close(context);
    }
}

/* For these values, powf(x, 2) in the C library differs from x * x. libvmaf computes x * x. */
static void test_noise_variance(void) {
    static const double products[][2] = { { 2.0333, 0x1.0aacd2p-14 }, { 2.7441, 0x1.e5b672p-14 } };
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        snprintf(test_where, sizeof test_where, "vif_sigma_nsq=%g", products[i][0]);
        CHECK_BITS((double)vmafgpu__float_vif_from_noise(products[i][0]), products[i][1]);
    }
}

int main(void) {
    test_noise_variance();
    test_everything();
    test_smaller_motion();
    test_options();
    test_limits();
    test_float_adm();
    test_reel(8);
    test_reel(10);
    test_push_many(8, 1);
    test_push_many(10, 2);
    return test_end();
}
