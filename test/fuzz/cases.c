/* Draws random cases; see cases.h. */
#include "cases.h"
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

/* ---- features, their options and useful values ---- */

typedef enum option_kind { OPTION_NUMBER, OPTION_INTEGER, OPTION_WORD } option_kind;

typedef struct option {
    const char *name;
    option_kind kind;
    double low, high;   /* range of a number */
    const char *likely; /* the possible words; for numbers, values that are used half of the time */
} option;

typedef struct feature {
    const char *name;
    const option *options;
    int option_count;
} feature;

#define FLAG    "true false"
#define METHODS "nearest bilinear bicubic lanczos4"
#define KERNELS \
    "1 0.5 1.5 2 0.6667 2.4 3.711 1.3333 1.16667 1.25 1.41667 1.66667 3 0.4444 1.4746 1.54 1.6 1.06667 0.711111 " \
    "0.74074 " \
    "1.111111"

#define ADM_OPTIONS \
    { "debug", OPTION_WORD, 0, 0, FLAG }, { "adm_enhn_gain_limit", OPTION_NUMBER, 1, 100, "1 1.2 100" }, \
        { "adm_norm_view_dist", OPTION_NUMBER, 0.75, 24, "3 5" }, \
        { "adm_ref_display_height", OPTION_INTEGER, 1, 4320, "1080 2160" }, \
        { "adm_noise_weight", OPTION_NUMBER, 0, 1500, "0 0.03125 0.02" }, \
        { "adm_csf_scale", OPTION_NUMBER, 0, 50, "1 1.5" }, { "adm_csf_diag_scale", OPTION_NUMBER, 0, 50, "1 0.7" }, \
        { "adm_dlm_weight", OPTION_NUMBER, 0, 1, "" }, { "adm_min_val", OPTION_NUMBER, 0, 1, "" }, { \
        "adm_skip_scale0", OPTION_WORD, 0, 0, FLAG \
    }
#define MOTION_OPTIONS \
    { "debug", OPTION_WORD, 0, 0, FLAG }, { "motion_force_zero", OPTION_WORD, 0, 0, FLAG }, \
        { "motion_blend_factor", OPTION_NUMBER, 0, 1, "" }, \
        { "motion_blend_offset", OPTION_NUMBER, 0, 1000, "0 2 40" }, { "motion_fps_weight", OPTION_NUMBER, 0, 5, "" }, \
        { "motion_max_val", OPTION_NUMBER, 0, 10000, "0 3 20" }
#define SPEED_OPTIONS \
    { "speed_kernelscale", OPTION_WORD, 0, 0, KERNELS }, { "speed_prescale", OPTION_NUMBER, 0.5, 1, "0.75 1 1" }, \
        { "speed_prescale_method", OPTION_WORD, 0, 0, METHODS }, { "speed_sigma_nn", OPTION_NUMBER, 0.1, 2, "" }, \
        { "speed_nn_floor", OPTION_NUMBER, 0, 1, "" }, { "speed_max_val", OPTION_NUMBER, 0, 1000, "0 5" }
#define DECIBEL_OPTIONS \
    { "enable_lcs", OPTION_WORD, 0, 0, FLAG }, { "enable_db", OPTION_WORD, 0, 0, FLAG }, { \
        "clip_db", OPTION_WORD, 0, 0, FLAG \
    }

static const option vif_options[] = {
    { "debug", OPTION_WORD, 0, 0, FLAG },
    { "vif_enhn_gain_limit", OPTION_NUMBER, 1, 100, "1 1.2 100" },
    { "vif_skip_scale0", OPTION_WORD, 0, 0, FLAG },
};
static const option adm_options[] = {
    ADM_OPTIONS,
    { "adm_csf_mode", OPTION_INTEGER, 0, 3, "" },
    { "adm_skip_aim", OPTION_WORD, 0, 0, FLAG },
};
static const option motion_options[] = {
    MOTION_OPTIONS,
    { "motion_five_frame_window", OPTION_WORD, 0, 0, FLAG },
    { "motion_moving_average", OPTION_WORD, 0, 0, FLAG },
};
static const option psnr_options[] = {
    { "enable_chroma", OPTION_WORD, 0, 0, FLAG }, { "enable_mse", OPTION_WORD, 0, 0, FLAG },
    { "enable_apsnr", OPTION_WORD, 0, 0, FLAG },  { "reduced_hbd_peak", OPTION_WORD, 0, 0, FLAG },
    { "min_sse", OPTION_NUMBER, 0, 100, "0.5" },
};
static const option float_ssim_options[] = {
    DECIBEL_OPTIONS,
    { "scale", OPTION_INTEGER, 0, 10, "0 1 2" },
};
static const option float_ms_ssim_options[] = { DECIBEL_OPTIONS };
static const option float_adm_options[] = {
    ADM_OPTIONS,
    { "adm_csf_mode", OPTION_INTEGER, 0, 9, "" },
    { "adm_bypass_cm", OPTION_INTEGER, 0, 1, "" },
    { "adm_adm3_apply_hm", OPTION_WORD, 0, 0, FLAG },
    { "adm_p_norm", OPTION_NUMBER, 1, 20, "3 2" },
    { "adm_skip_aim_scale", OPTION_INTEGER, 0, 3, "" },
    { "adm_f1s0", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f1s1", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f1s2", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f1s3", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f2s0", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f2s1", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f2s2", OPTION_NUMBER, -1, 10, "-1 0.05" },
    { "adm_f2s3", OPTION_NUMBER, -1, 10, "-1 0.05" },
};
static const option float_vif_options[] = {
    { "debug", OPTION_WORD, 0, 0, FLAG },
    { "vif_enhn_gain_limit", OPTION_NUMBER, 1, 100, "1 1.2 100" },
    { "vif_kernelscale", OPTION_WORD, 0, 0, KERNELS },
    { "vif_prescale", OPTION_NUMBER, 0.1, 4, "0.5 1 2" },
    { "vif_prescale_method", OPTION_WORD, 0, 0, METHODS },
    { "vif_scale1_min_val", OPTION_NUMBER, 0, 1, "" },
    { "vif_scale2_min_val", OPTION_NUMBER, 0, 1, "" },
    { "vif_scale3_min_val", OPTION_NUMBER, 0, 1, "" },
    { "vif_sigma_nsq", OPTION_NUMBER, 0, 5, "2" },
    { "vif_skip_scale0", OPTION_WORD, 0, 0, FLAG },
};
static const option float_motion_options[] = {
    MOTION_OPTIONS,
    { "motion_add_scale1", OPTION_WORD, 0, 0, FLAG },
    { "motion_filter_size", OPTION_INTEGER, 0, 9, "1 3 5" },
    { "motion_add_uv", OPTION_WORD, 0, 0, FLAG },
};
/* enc_width and similar options depend on the clip: see draw_cambi_sizes(). */
static const option cambi_options[] = {
    { "cambi_max_val", OPTION_NUMBER, 0, 1000, "5" },
    { "enc_bitdepth", OPTION_INTEGER, 6, 16, "8 10" },
    { "window_size", OPTION_INTEGER, 15, 127, "65" },
    { "topk", OPTION_NUMBER, 0.0001, 1, "" },
    { "cambi_topk", OPTION_NUMBER, 0.0001, 1, "" },
    { "tvi_threshold", OPTION_NUMBER, 0.0001, 1, "0.019" },
    { "cambi_vis_lum_threshold", OPTION_NUMBER, 0, 300, "0 1" },
    { "max_log_contrast", OPTION_INTEGER, 0, 5, "" },
    { "full_ref", OPTION_WORD, 0, 0, FLAG },
    { "eotf", OPTION_WORD, 0, 0, "bt1886 pq" },
    { "cambi_eotf", OPTION_WORD, 0, 0, "bt1886 pq" },
    { "cambi_high_res_speedup", OPTION_INTEGER, 0, 2160, "0 1080" },
};
static const option speed_chroma_options[] = {
    SPEED_OPTIONS,
    { "speed_weight_var_mode", OPTION_INTEGER, 0, 6, "" },
};
static const option speed_temporal_options[] = {
    SPEED_OPTIONS,
    { "speed_use_ref_diff", OPTION_WORD, 0, 0, FLAG },
};

#define WITH(list) list, (int)(sizeof list / sizeof list[0])
static const feature features[] = {
    { "vif", WITH(vif_options) },
    { "adm", WITH(adm_options) },
    { "motion", WITH(motion_options) },
    { "cambi", WITH(cambi_options) },
    { "speed_chroma", WITH(speed_chroma_options) },
    { "float_adm", WITH(float_adm_options) },
    { "float_vif", WITH(float_vif_options) },
    { "float_motion", WITH(float_motion_options) },
    { "speed_temporal", WITH(speed_temporal_options) },
    { "psnr", WITH(psnr_options) },
    { "float_ssim", WITH(float_ssim_options) },
    { "float_ms_ssim", WITH(float_ms_ssim_options) },
    { "psnr_hvs", NULL, 0 },
    { "ciede", NULL, 0 },
    { "float_psnr", NULL, 0 },
    { "float_ansnr", NULL, 0 },
    { "float_moment", NULL, 0 },
};
enum {
    FEATURE_COUNT = sizeof features / sizeof features[0],
    OVERLAID = 8 /* the first 8 features also occur in models */
};

/* The first two are drawn more often, because they are used most. */
static const char *const versions[] = {
    "vmaf_v0.6.1",
    "vmaf_v0.6.1neg",
    "vmaf_v0.6.1",
    "vmaf_v0.6.1neg",
    "vmaf_v0.6.1",
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
    "vmaf_float_b_v0.6.3",
};
enum { VERSION_COUNT = sizeof versions / sizeof versions[0] };

/* ---- drawing ---- */

/* Copies a random word from a list in which spaces separate the words. */
static void draw_word(chance *r, const char *words, char *out, size_t size) {
    int count = 1;
    size_t length;
    for (const char *at = words; *at; at++)
        count += *at == ' ';
    for (int skip = chance_range(r, 0, count - 1); skip > 0; skip--)
        words = strchr(words, ' ') + 1;
    length = strcspn(words, " ");
    test_need(length < size, "a word of an option is too long");
    memcpy(out, words, length);
    out[length] = 0;
}

static int draw_int(chance *r, const int *list, int count) {
    return list[chance_below(r, (uint32_t)count)];
}
#define DRAW(r, ...) draw_int(r, (const int[]){ __VA_ARGS__ }, (int)(sizeof(const int[]){ __VA_ARGS__ } / sizeof(int)))

/* Writes a random value for an option. Half of the numbers are in the lowest eighth of the range, where most options
 * have an effect. */
static void draw_value(chance *r, const option *o, char *out, size_t size) {
    const double high = chance_is(r, 50) ? o->high : o->low + (o->high - o->low) / 8;
    if (o->kind == OPTION_WORD || (o->likely[0] && chance_is(r, 50))) {
        draw_word(r, o->likely, out, size);
    } else if (o->kind == OPTION_INTEGER) {
        snprintf(out, size, "%d", chance_range(r, (int)o->low, (int)o->high));
    } else {
        const double value = o->low + (high - o->low) * chance_below(r, 1000001) / 1000000;
        snprintf(out, size, "%.*f", DRAW(r, 1, 2, 4, 6), value);
    }
}

static void append_option(char *options, const char *before, const char *name, const char *value) {
    const size_t length = strlen(options);
    snprintf(options + length, FUZZ_TEXT - length, "%s%s%s=%s", length ? ":" : "", before, name, value);
}

/* Draws some options of a feature, each at most once. */
static void draw_options(chance *r, const feature *f, char *options) {
    int count = DRAW(r, 0, 0, 1, 1, 2, 3, 5);
    unsigned taken = 0;
    count = count < f->option_count ? count : f->option_count;
    while (count > 0) {
        const int i = chance_range(r, 0, f->option_count - 1);
        char value[32];
        if (!(taken >> i & 1)) {
            taken |= 1u << i;
            draw_value(r, &f->options[i], value, sizeof value);
            append_option(options, "", f->options[i].name, value);
            count--;
        }
    }
}

static void append_size(char *options, const char *name, int size) {
    char value[32];
    snprintf(value, sizeof value, "%d", size);
    append_option(options, "", name, value);
}

static void draw_cambi_sizes(chance *r, const fuzz_case *c, char *options) {
    if (chance_is(r, 25)) {
        const int narrow = c->width * 2 / 3, low = c->height * 2 / 3;
        append_size(options, "enc_width", DRAW(r, c->width, c->width, narrow > 216 ? narrow : 216, c->width * 2));
        append_size(options, "enc_height", DRAW(r, c->height, low > 150 ? low : 150, c->height * 2));
    }
    if (chance_is(r, 10)) {
        append_size(options, "src_width", chance_range(r, 320, 900));
        append_size(options, "src_height", chance_range(r, 200, 700));
    }
}

/* Draws the features, each at most once. */
static void draw_feature_names(chance *r, fuzz_case *c, int count) {
    unsigned taken = 0;
    while (c->feature_count < count) {
        const int i = chance_range(r, 0, FEATURE_COUNT - 1);
        if (!(taken >> i & 1)) {
            taken |= 1u << i;
            c->features[c->feature_count++].name = features[i].name;
        }
    }
}

static void draw_model(chance *r, fuzz_model *m, int index, int count) {
    m->version = versions[chance_below(r, VERSION_COUNT)];
    if (count > 1 || chance_is(r, 10))
        snprintf(m->name, sizeof m->name, "m%d", index);
    m->disable_clip = chance_is(r, 10);
    m->enable_transform = chance_is(r, 10);
    if (chance_is(r, 15)) {
        const feature *f = &features[chance_below(r, OVERLAID)];
        const option *o = &f->options[chance_below(r, (uint32_t)f->option_count)];
        char before[32], value[32];
        snprintf(before, sizeof before, "%s.", f->name);
        draw_value(r, o, value, sizeof value);
        append_option(m->options, before, o->name, value);
    }
}

static int has_feature(const fuzz_case *c, const char *name) {
    for (int i = 0; i < c->feature_count; i++)
        if (strstr(c->features[i].name, name))
            return 1;
    return 0;
}

/* Returns roughly the smallest width and height that all models and features of the case accept. */
static int least_size(const fuzz_case *c) {
    int least = has_feature(c, "cambi")           ? 216
                : has_feature(c, "float_ms_ssim") ? 176
                : has_feature(c, "speed")         ? 170
                                                  : 33;
    for (int i = 0; i < c->model_count; i++) {
        const char *version = c->models[i].version;
        const int own = !strstr(version, "_v1.")       ? 33
                        : strstr(version, "3d0h_2160") ? 318
                        : strstr(version, "5d0h")      ? 266
                                                       : 216;
        least = own > least ? own : least;
    }
    return least;
}

static int draw_side(chance *r, int least) {
    const int beyond = DRAW(r, 8, 40, 90, 400);
    return chance_range(r, least, least + beyond < 400 ? least + beyond : 400);
}

static void draw_clip(chance *r, fuzz_case *c) {
    const int least = chance_is(r, least_size(c) > 33 ? 2 : 8) ? 17 : least_size(c);
    c->width = draw_side(r, least);
    c->height = draw_side(r, least);
    c->chroma = chance_is(r, 2) ? 400 : DRAW(r, 420, 420, 420, 420, 422, 444);
    c->depth = DRAW(r, 8, 8, 8, 8, 10, 10, 10, 12, 12, 16);
    if (c->depth == 16 && has_feature(c, "psnr_hvs") && chance_is(r, 90))
        c->depth = 12;
    c->is_y4m = chance_is(r, 50) && c->depth < 16;
    if (c->chroma == 400) { /* the tool of libvmaf accepts 4:0:0 only as 8-bit y4m */
        c->depth = 8;
        c->is_y4m = 1;
    }
    if (c->is_y4m && c->chroma != 444 &&
        chance_is(r, 90)) { /* the y4m reader of libvmaf often crashes with odd sizes */
        c->width += c->width & 1;
        c->height += c->height & 1;
    }
    if (c->is_y4m && c->chroma == 422 && c->depth == 8)
        c->depth = 10;
    c->frames = c->width * c->height < 50000 ? DRAW(r, 1, 2, 2, 3, 3, 4, 5, 8) : DRAW(r, 1, 2, 3, 4);
    c->content = (fuzz_content)chance_below(r, CONTENT_COUNT + 3);
    if (c->content >= CONTENT_COUNT) { /* contents that reveal more errors than others */
        static const fuzz_content more[3] = { CONTENT_chequers, CONTENT_dark, CONTENT_natural };
        c->content = more[c->content - CONTENT_COUNT];
    }
    c->distortion = (fuzz_distortion)chance_below(r, DISTORTION_COUNT);
    c->picture_seed = chance_below(r, 1u << 31);
}

static void draw_flags(chance *r, fuzz_case *c) {
    static const char *const formats[] = { "json", "json", "json", "xml", "csv", "sub" };
    c->subsample = chance_is(r, 12) ? chance_range(r, 1, 4) : 1;
    c->frame_count = chance_is(r, 12) ? chance_range(r, 1, c->frames + 1) : 0;
    c->skip_reference = chance_is(r, 6) ? chance_range(r, 0, c->frames - 1) : 0;
    c->skip_distorted = chance_is(r, 6) ? chance_range(r, 0, c->frames - 1) : 0;
    c->threads = chance_range(r, 1, 7);
    c->format = formats[chance_below(r, 6)];
    c->default_format = chance_is(r, 33) ? formats[2 + chance_below(r, 4)] : "";
    c->cpumask = (unsigned)DRAW(r, 0, 0, 255, 16, 24);
    if (chance_is(r, 4)) {
        const int version = chance_range(r, 0, 7);
        snprintf(c->preset, sizeof c->preset, version ? "--aom_ctc v%d.0" : "--nflx_ctc v1.%d", version);
    }
    if (chance_is(r, 10)) { /* the column order of libvmaf is then random, and peer.c can only sort JSON */
        c->tool_threads = chance_range(r, 1, 4);
        c->format = "json";
        c->default_format = "";
    }
}

fuzz_case fuzz_case_draw(uint64_t seed, uint64_t number) {
    chance r = { seed };
    fuzz_case c;
    int feature_count, model_count;
    r.state = (uint64_t)chance_below(&r, UINT32_MAX) << 32 ^ number;
    memset(&c, 0, sizeof c);
    c.seed = seed;
    c.number = number;
    feature_count = DRAW(&r, 0, 1, 1, 1, 2, 2, 3, 4);
    model_count = feature_count ? DRAW(&r, 0, 1, 1, 2, 3) : DRAW(&r, 1, 1, 1, 2, 3, 5);
    draw_feature_names(&r, &c, feature_count);
    for (; c.model_count < model_count; c.model_count++)
        draw_model(&r, &c.models[c.model_count], c.model_count, model_count);
    draw_clip(&r, &c);
    for (int i = 0; i < c.feature_count; i++) {
        for (int k = 0; k < FEATURE_COUNT; k++)
            if (features[k].name == c.features[i].name)
                draw_options(&r, &features[k], c.features[i].options);
        if (strcmp(c.features[i].name, "cambi") == 0)
            draw_cambi_sizes(&r, &c, c.features[i].options);
    }
    draw_flags(&r, &c);
    return c;
}

/* ---- describing a case ---- */

#define FUZZ_NAME(name) #name,
static const char *const distortion_names[] = { FUZZ_DISTORTIONS(FUZZ_NAME) };

void fuzz_case_describe(const fuzz_case *c, char *text, size_t size) {
    snprintf(text, size, "%s+%s %dx%d %d bits %d, %d frames", fuzz_content_name(c->content),
             distortion_names[c->distortion], c->width, c->height, c->depth, c->chroma, c->frames);
}

static void append(char *text, size_t size, const char *format, ...) {
    const size_t length = strlen(text);
    va_list list;
    va_start(list, format);
    test_need(vsnprintf(text + length, size - length, format, list) < (int)(size - length), "a case is too long");
    va_end(list);
}

static void append_flag(char *text, size_t size, const char *flag, int value, int is_wanted) {
    if (is_wanted)
        append(text, size, "%s %d ", flag, value);
}

void fuzz_case_arguments(const fuzz_case *c, char *text, size_t size) {
    text[0] = 0;
    if (!c->is_y4m)
        append(text, size, "-w %d -h %d -p %d -b %d ", c->width, c->height, c->chroma, c->depth);
    for (int i = 0; i < c->model_count; i++) {
        const fuzz_model *m = &c->models[i];
        append(text, size, "-m version=%s%s%s%s%s%s%s ", m->version, m->name[0] ? ":name=" : "", m->name,
               m->disable_clip ? ":disable_clip" : "", m->enable_transform ? ":enable_transform" : "",
               m->options[0] ? ":" : "", m->options);
    }
    for (int i = 0; i < c->feature_count; i++) {
        const fuzz_feature *f = &c->features[i];
        append(text, size, "--feature %s%s%s ", f->name, f->options[0] ? "=" : "", f->options);
    }
    if (c->model_count == 0)
        append(text, size, "--no_prediction ");
    append_flag(text, size, "--subsample", c->subsample, c->subsample > 1);
    append_flag(text, size, "--frame_cnt", c->frame_count, c->frame_count > 0);
    append_flag(text, size, "--frame_skip_ref", c->skip_reference, c->skip_reference > 0);
    append_flag(text, size, "--frame_skip_dist", c->skip_distorted, c->skip_distorted > 0);
    append_flag(text, size, "--threads", c->tool_threads, c->tool_threads > 0);
    append(text, size, "%s", c->preset);
}

vmafgpu_config fuzz_case_config(const fuzz_case *c, vmafgpu_model_config *models,
                                vmafgpu_feature_config *features_of_it) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = c->width;
    config.height = c->height;
    config.bit_depth = c->depth;
    config.chroma = c->chroma == 400   ? VMAFGPU_CHROMA_400
                    : c->chroma == 420 ? VMAFGPU_CHROMA_420
                    : c->chroma == 422 ? VMAFGPU_CHROMA_422
                                       : VMAFGPU_CHROMA_444;
    config.subsample = c->subsample;
    config.models = models;
    config.model_count = c->model_count;
    config.features_only = c->model_count == 0;
    config.features = features_of_it;
    config.feature_count = c->feature_count;
    for (int i = 0; i < c->model_count; i++) {
        memset(&models[i], 0, sizeof models[i]);
        models[i].version = c->models[i].version;
        models[i].name = c->models[i].name[0] ? c->models[i].name : NULL;
        models[i].options = c->models[i].options[0] ? c->models[i].options : NULL;
        models[i].disable_clip = c->models[i].disable_clip;
        models[i].enable_transform = c->models[i].enable_transform;
    }
    for (int i = 0; i < c->feature_count; i++) {
        features_of_it[i].name = c->features[i].name;
        features_of_it[i].options = c->features[i].options[0] ? c->features[i].options : NULL;
    }
    return config;
}

int fuzz_case_pairs(const fuzz_case *c) {
    const int skipped = c->skip_reference > c->skip_distorted ? c->skip_reference : c->skip_distorted;
    const int left = c->frames - skipped;
    return c->frame_count > 0 && c->frame_count < left ? c->frame_count : left;
}

uint64_t fuzz_fresh_seed(void) {
    return ((uint64_t)time(NULL) * 1000003u + (uint64_t)getpid()) % 1000000000;
}
