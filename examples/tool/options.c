/* options.c: see options.h. */
#include "system.h"

#include "options.h"
#include "capacity.h"
#include "cut.h"
#include "message.h"
#include "report.h"
#include "scale.h"
#include "slopes.h"
#include "video.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const pixel_format tool_pixel_formats[] = {
    { "420", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 0 },
    { "422", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_PLANAR, 0 },
    { "444", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_PLANAR, 0 },
    { "400", VMAFGPU_CHROMA_400, VMAFGPU_LAYOUT_PLANAR, 0 },
    { "nv12", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 8 },
    { "nv16", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR, 8 },
    { "nv24", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR, 8 },
    { "p010", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 10 },
    { "p012", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 12 },
    { "p016", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 16 },
    { "p210", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 10 },
    { "p212", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 12 },
    { "p216", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 16 },
    { "p410", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 10 },
    { "p412", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 12 },
    { "p416", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 16 },
    { NULL, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 0 },
};

const pooling tool_standard_poolings[] = {
    { "min", 0, VMAFGPU_POOL_MIN, 0 },
    { "max", 0, VMAFGPU_POOL_MAX, 0 },
    { "mean", 0, VMAFGPU_POOL_MEAN, 0 },
    { "harmonic_mean", 0, VMAFGPU_POOL_HARMONIC_MEAN, 0 },
};

/* One row of the table of options. `apply` parses `value` and stores the result at `offset` in the options. The
 * messages of `apply` contain the name of the option from the row. */
typedef struct option_row {
    const char *name;
    char letter;       /* the short option; 0 if there is none */
    const char *value; /* name of the value in the help; NULL for options without a value */
    int (*apply)(options *o, const struct option_row *row, const char *value);
    size_t offset;
    int64_t low, high; /* range of a number; for a flag, `low` is the value to store */
    int is_ours;       /* 1 if the vmaf tool of libvmaf lacks this option */
    const char *help;  /* one or more lines */
} option_row;

int tool_mean_slopes_count(const options *o) {
    int count = 0;
    for (int i = 0; i < o->slopes.count; i++)
        count += !tool_is_slopes_pattern(o->slopes.names[i]);
    return count;
}

int tool_report_count(const options *o) {
    return o->output.count + (o->html != NULL) + tool_mean_slopes_count(o);
}

const char *tool_report_name(const options *o, int i) {
    int k = 0, left = i - o->output.count - (o->html != NULL);
    if (left < 0)
        return i < o->output.count ? o->output.names[i] : o->html;
    while (tool_is_slopes_pattern(o->slopes.names[k]) || left-- > 0)
        k++;
    return o->slopes.names[k];
}

static void *option_target(options *o, const option_row *row) {
    return (char *)o + row->offset;
}

static int apply_text(options *o, const option_row *row, const char *value) {
    const char **target = (const char **)option_target(o, row);
    if (*target)
        return tool_fail("option --%s can be given only once", row->name);
    *target = value;
    return *value ? 1 : tool_fail("option --%s needs a value that is not empty", row->name);
}

static int apply_file(options *o, const option_row *row, const char *value) {
    file_list *list = (file_list *)option_target(o, row);
    if (list->count == MAX_DISTORTED)
        return tool_fail("option --%s can be given at most %d times", row->name, MAX_DISTORTED);
    list->names[list->count++] = value;
    return *value ? 1 : tool_fail("option --%s needs a value that is not empty", row->name);
}

static int apply_slopes(options *o, const option_row *row, const char *value) {
    if (tool_is_slopes_name(value))
        return apply_file(o, row, value);
    return tool_fail("option --%s needs a name that ends in .png, such as mean.png, or slopes%%04d.png for a picture "
                     "per frame, not \"%s\"",
                     row->name, value);
}

/* Adds the first segment file. tool_parse_arguments() adds the arguments that follow the option. */
static int apply_join(options *o, const option_row *row, const char *value) {
    if (!o->join)
        o->join = (const char **)malloc(sizeof *o->join * (size_t)o->argc);
    if (!o->join)
        return tool_out_of_memory();
    o->join[o->join_count++] = value;
    return *value ? 1 : tool_fail("option --%s needs a value that is not empty", row->name);
}

static int apply_segment(options *o, const option_row *row, const char *value) {
    int64_t segment = cut_digits(&value, 1000000),
            segments = *value == '/' ? (value++, cut_digits(&value, 1000000)) : 0;
    o->segment = segment;
    o->segments = segments;
    return (segment >= 1 && segment <= segments && *value == '\0') ||
           tool_fail("option --%s needs I/N with I from 1 to N: segment I of N", row->name);
}

static int apply_flag(options *o, const option_row *row, const char *value) {
    (void)value;
    *(int *)option_target(o, row) = (int)row->low;
    return 1;
}

/* Parses a decimal, hexadecimal (0x) or octal (0) number, as the vmaf tool does. */
static int apply_number(options *o, const option_row *row, const char *value) {
    char *end = NULL;
    errno = 0;
    long long number = strtoll(value, &end, 0);
    if (end == value || *end || errno || number < row->low || number > row->high) {
        return tool_fail("option --%s needs a whole number from %lld to %lld, not \"%s\"", row->name,
                         (long long)row->low, (long long)row->high, value);
    }
    *(int64_t *)option_target(o, row) = number;
    return 1;
}

static const pixel_format *find_pixel_format(const char *name, size_t length) {
    for (const pixel_format *f = tool_pixel_formats; f->name; f++)
        if (strlen(f->name) == length && strncmp(f->name, name, length) == 0)
            return f;
    return NULL;
}

/* Parses an ffmpeg pixel format such as yuv420p, yuv422p10le, gray12le or p010le. Returns NULL for other names. */
static const pixel_format *parse_ffmpeg_format(const char *value, int *depth) {
    const pixel_format *f = NULL;
    if (strncmp(value, "yuv", 3) == 0 && strlen(value) >= 7 && value[6] == 'p') {
        f = find_pixel_format(value + 3, 3);
        value += 7;
    } else if (strncmp(value, "gray", 4) == 0) {
        f = find_pixel_format("400", 3);
        value += 4;
    } else if (value[0] == 'p' && strlen(value) == 6) {
        f = find_pixel_format(value, 4);
        *depth = f ? f->bit_depth : 0;
        return f && strcmp(value + 4, "le") == 0 ? f : NULL;
    }
    *depth = 8;
    if (f && *value) {
        *depth = (int)cut_digits(&value, 100);
        value += strcmp(value, "le") == 0 ? 2 : 0;
    }
    return f && *value == '\0' && *depth >= 8 && *depth <= 16 ? f : NULL;
}

static int apply_pixel_format(options *o, const option_row *row, const char *value) {
    o->pixel_format = find_pixel_format(value, strlen(value));
    o->implied_depth = o->pixel_format ? o->pixel_format->bit_depth : 0;
    o->pixel_format_name = value;
    if (!o->pixel_format)
        o->pixel_format = parse_ffmpeg_format(value, &o->implied_depth);
    return o->pixel_format ||
           tool_fail("option --%s needs 420, 422, 444, 400, nv12, nv16, nv24, p010 to p416, or an ffmpeg name such as "
                     "yuv420p10le, not \"%s\"",
                     row->name, value);
}

static int apply_point(options *o, const option_row *row, const char *value) {
    return cut_parse((cut_point *)option_target(o, row), value) ||
           tool_fail("option --%s needs a frame number or a time such as 12.5s or 1:02.5, not \"%s\"", row->name,
                     value);
}

static int apply_crop(options *o, const option_row *row, const char *value) {
    return cut_parse_window(&o->crop, value) ||
           tool_fail("option --%s needs WIDTH:HEIGHT:X:Y or WIDTH:HEIGHT with sides of at least %d, not \"%s\"",
                     row->name, VIDEO_MIN_SIDE, value);
}

static int apply_scale(options *o, const option_row *row, const char *value) {
    o->scale = strcmp(value, "bicubic") == 0   ? SCALE_BICUBIC
               : strcmp(value, "lanczos") == 0 ? SCALE_LANCZOS
                                               : SCALE_NONE;
    return o->scale != SCALE_NONE || tool_fail("option --%s needs bicubic or lanczos, not \"%s\"", row->name, value);
}

static int apply_report(options *o, const option_row *row, const char *value) {
    (void)value;
    o->report = (report_format)row->low;
    o->report_option = row->name;
    return 1;
}

/* Returns the index of `value` in a list that ends with NULL, or -1. */
static int find_name(const char *const *names, const char *value) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], value) == 0)
            return i;
    return -1;
}

static int apply_progress(options *o, const option_row *row, const char *value) {
    static const char *const names[] = { "line", "none", "json", NULL };
    const int i = find_name(names, value);
    if (i < 0)
        return tool_fail("option --%s needs line, none or json, not \"%s\"", row->name, value);
    o->progress = (progress_kind)i;
    return 1;
}

static int apply_backend(options *o, const option_row *row, const char *value) {
    static const char *const names[] = { "auto", "cpu", "cuda", "hip", NULL };
    static const vmafgpu_backend backends[] = { VMAFGPU_BACKEND_AUTO, VMAFGPU_BACKEND_CPU, VMAFGPU_BACKEND_CUDA,
                                                VMAFGPU_BACKEND_HIP };
    const int i = find_name(names, value);
    if (i < 0)
        return tool_fail("option --%s needs auto, cpu, cuda or hip, not \"%s\"", row->name, value);
    o->backend = backends[i];
    o->names_backend = 1;
    return 1;
}

/* Parses "all" or numbers separated by commas. */
static int apply_gpus(options *o, const option_row *row, const char *value) {
    const char *at = value;
    o->gpu_count = 0;
    if (strcmp(value, "all") == 0) {
        o->gpu_count = VMAFGPU_ALL_DEVICES;
        return 1;
    }
    for (;;) {
        char *end = NULL;
        long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        int is_repeated = 0;
        for (int i = 0; i < o->gpu_count; i++)
            is_repeated |= o->gpus[i] == number;
        if (number < 0 || number > MAX_GPU || is_repeated || o->gpu_count == MAX_GPUS || (*end && *end != ',')) {
            return tool_fail("option --%s needs all, or up to %d different numbers from 0 to %d separated by commas, "
                             "not \"%s\"",
                             row->name, (int)MAX_GPUS, (int)MAX_GPU, value);
        }
        o->gpus[o->gpu_count++] = (int)number;
        if (!*end)
            return 1;
        at = end + 1;
    }
}

static int apply_reciprocal(options *o, const option_row *row, const char *value) {
    static const char *const names[] = { "host", "amd", "intel", "division", NULL };
    static const vmafgpu_reciprocal reciprocals[] = { VMAFGPU_RECIPROCAL_HOST, VMAFGPU_RECIPROCAL_AMD,
                                                      VMAFGPU_RECIPROCAL_INTEL, VMAFGPU_RECIPROCAL_DIVISION };
    const int i = find_name(names, value);
    if (i < 0)
        return tool_fail("option --%s needs host, amd, intel or division, not \"%s\"", row->name, value);
    o->reciprocal = reciprocals[i];
    return 1;
}

static int apply_precision(options *o, const option_row *row, const char *value) {
    if (strcmp(value, "legacy") == 0) {
        o->digits = REPORT_DIGITS_LEGACY;
    } else if (strcmp(value, "max") == 0) {
        o->digits = REPORT_DIGITS_MAX;
    } else {
        char *end = NULL;
        long digits = strtol(value, &end, 10);
        if (end == value || *end || digits < 0 || digits > 30) {
            return tool_fail("option --%s needs max, legacy or a number of decimals from 0 to 30, not \"%s\"",
                             row->name, value);
        }
        o->digits = (int)digits;
    }
    return 1;
}

static int parse_pooling(pooling *p, char *name) {
    for (int i = 0; i < STANDARD_POOLINGS; i++) {
        if (strcmp(tool_standard_poolings[i].name, name) == 0) {
            *p = tool_standard_poolings[i];
            return 1;
        }
    }
    if (strcmp(name, "avg") == 0) {
        *p = tool_standard_poolings[POOL_MEAN];
        return 1;
    }
    char *end = NULL;
    p->name = name;
    p->is_percentile = 1;
    p->percentile = 50;
    if (strcmp(name, "median") == 0)
        return 1;
    if (name[0] != 'p' || name[1 + strspn(name + 1, "0123456789.")] != '\0')
        return 0;
    p->percentile = strtod(name + 1, &end);
    return end != name + 1 && *end == '\0' && p->percentile <= 100;
}

/* Whether the list already contains the pooling that is stored just after its end. */
static int is_repeated_pooling(const options *o) {
    const pooling *last = &o->poolings[o->pooling_count];
    for (int i = 0; i < o->pooling_count; i++)
        if (strcmp(o->poolings[i].name, last->name) == 0)
            return 1;
    return 0;
}

static int apply_pool(options *o, const option_row *row, const char *value) {
    free(o->pooling_text);
    o->pooling_count = 0;
    o->pooling_text = tool_copy_text(value, 0);
    if (!o->pooling_text)
        return tool_out_of_memory();
    for (char *name = o->pooling_text; name;) {
        char *comma = strchr(name, ',');
        if (comma)
            *comma = '\0';
        if (o->pooling_count == MAX_POOLINGS)
            return tool_fail("option --%s takes at most %d poolings", row->name, MAX_POOLINGS);
        if (!parse_pooling(&o->poolings[o->pooling_count], name)) {
            return tool_fail("option --%s needs mean, harmonic_mean, min, max, median or percentiles such as p5, "
                             "not \"%s\"",
                             row->name, name);
        }
        o->pooling_count += !is_repeated_pooling(o);
        name = comma ? comma + 1 : NULL;
    }
    return 1;
}

/* Parses disable_clip and enable_transform: the key alone means true. */
static int parse_model_flag(const char *key, const char *value, int *flag) {
    if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return tool_fail("option --model: %s must be true or false, not \"%s\"", key, value);
    *flag = !value || strcmp(value, "true") == 0;
    return 1;
}

/* Rejects names with characters that are special in JSON or XML, because rows.c writes names unescaped. */
static int check_model_name(const char *name) {
    for (const char *c = name; *c; c += tool_printable_length(c))
        if (tool_printable_length(c) == 0 || strchr("\"\\<>&", *c))
            return tool_fail("option --model: the name \"%s\" contains a character that is not allowed in reports",
                             name);
    return 1;
}

/* Parses one `key=value` of --model. Options of features (FEATURE.OPTION=VALUE) are appended to `overloads`, separated
 * by colons. `room` is the size of `overloads`. */
static int parse_model_pair(vmafgpu_model_config *model, model_option *extra, char *key, char *overloads, size_t room) {
    static char version[] = "version";
    char *value = strchr(key, '=');
    if (value)
        *value++ = '\0';
    if (strcmp(key, "disable_clip") == 0)
        return parse_model_flag(key, value, &model->disable_clip);
    if (strcmp(key, "enable_transform") == 0)
        return parse_model_flag(key, value, &model->enable_transform);
    if (!value && vmafgpu_builtin_model(key)) { /* a built-in model, given without version= */
        value = key;
        key = version;
    }
    if (!value || !*key || !*value) {
        return tool_fail("option --model: \"%s\" must be KEY=VALUE, for example version=vmaf_v0.6.1, or the name of a "
                         "built-in model",
                         key);
    }
    const char **text = strcmp(key, "version") == 0 ? &model->version
                        : strcmp(key, "path") == 0  ? &extra->path
                        : strcmp(key, "name") == 0  ? &model->name
                                                    : NULL;
    if (text) {
        if (*text)
            return tool_fail("option --model: %s=%s and %s=%s contradict each other; remove one", key, *text, key,
                             value);
        *text = value;
        return text != &model->name || check_model_name(value);
    }
    if (strchr(key, '.')) {
        size_t used = strlen(overloads);
        snprintf(overloads + used, room - used, "%s%s=%s", used ? ":" : "", key, value);
        model->options = overloads;
    } else {
        return tool_fail("option --model: unknown key \"%s\"; keys are version, path, name, disable_clip, "
                         "enable_transform and EXTRACTOR.OPTION",
                         key);
    }
    return 1;
}

static int apply_model(options *o, const option_row *row, const char *value) {
    if (o->model_count == MAX_MODELS)
        return tool_fail("option --%s can be given at most %d times", row->name, MAX_MODELS);
    size_t length = strlen(value) + 1;
    vmafgpu_model_config *model = &o->models[o->model_count];
    model_option *extra = &o->model_options[o->model_count++];
    extra->text = tool_copy_text(value, 2 * length); /* with space after the text for `overloads` */
    if (!extra->text)
        return tool_out_of_memory();
    char *overloads = extra->text + length;
    overloads[0] = '\0';
    for (char *pair = extra->text; pair;) {
        char *colon = strchr(pair, ':');
        if (colon)
            *colon = '\0';
        if (!parse_model_pair(model, extra, pair, overloads, length))
            return 0;
        pair = colon ? colon + 1 : NULL;
    }
    if (model->version && extra->path) {
        return tool_fail("option --%s: version=%s and path=%s are two models; use a separate --%s for each", row->name,
                         model->version, extra->path, row->name);
    }
    return 1;
}

/* Parses NAME or NAME=OPTION=VALUE:OPTION=VALUE... */
static int apply_feature(options *o, const option_row *row, const char *value) {
    if (o->feature_count == MAX_FEATURES)
        return tool_fail("option --%s can be given at most %d times", row->name, MAX_FEATURES);
    char *text = tool_copy_text(value, 0);
    if (!text)
        return tool_out_of_memory();
    vmafgpu_feature_config *feature = &o->features[o->feature_count];
    o->feature_texts[o->feature_count++] = text;
    char *equals = strchr(text, '=');
    if (equals) {
        *equals = '\0';
        feature->options = equals + 1;
    }
    feature->name = text;
    return 1;
}

/* ---- presets: models and features of common test conditions ---- */

typedef enum preset_kind {
    PRESET_MODEL,
    PRESET_FEATURE,
    PRESET_REPLACES /* a feature that replaces the feature with the same name, if any */
} preset_kind;

/* One line of a preset. */
typedef struct preset_row {
    int since; /* the first version that contains this line */
    preset_kind kind;
    const char *value; /* the value of --model or --feature */
} preset_row;

static const preset_row aom_ctc[] = {
    { 1, PRESET_MODEL, "version=vmaf_v0.6.1:name=vmaf" },
    { 1, PRESET_MODEL, "version=vmaf_v0.6.1neg:name=vmaf_neg" },
    { 1, PRESET_FEATURE, "psnr=reduced_hbd_peak=true:enable_apsnr=true:min_sse=0.5" },
    { 1, PRESET_FEATURE, "ciede" },
    { 1, PRESET_FEATURE, "float_ssim=enable_db=true:clip_db=true" },
    { 1, PRESET_FEATURE, "float_ms_ssim=enable_db=true:clip_db=true" },
    { 1, PRESET_FEATURE, "psnr_hvs" },
    { 3, PRESET_FEATURE, "cambi" },
    { 7, PRESET_REPLACES, "float_ssim=scale=1:enable_db=true:clip_db=true" },
    { 0, PRESET_MODEL, NULL },
};
static const preset_row nflx_ctc[] = {
    { 1, PRESET_MODEL, "version=vmaf_4k_v0.6.1:name=vmaf" },
    { 1, PRESET_MODEL, "version=vmaf_4k_v0.6.1neg:name=vmaf_neg" },
    { 1, PRESET_FEATURE, "psnr=enable_chroma=true:enable_apsnr=true" },
    { 1, PRESET_FEATURE, "float_ssim=enable_db=true:clip_db=true" },
    { 1, PRESET_FEATURE, "cambi" },
    { 0, PRESET_MODEL, NULL },
};

/* Returns the index of the feature with the same name as `value`, or -1. */
static int find_feature(const options *o, const char *value) {
    size_t length = strcspn(value, "=");
    for (int i = 0; i < o->feature_count; i++)
        if (strncmp(o->features[i].name, value, length) == 0 && o->features[i].name[length] == '\0')
            return i;
    return -1;
}

/* Adds the lines of a preset. Versions are v1.0 to v`row->high`.0; `row->low` is 1 for nflx_ctc. */
static int apply_preset(options *o, const option_row *row, const char *value) {
    const preset_row *rows = row->low ? nflx_ctc : aom_ctc;
    int version = value[0] == 'v' && value[1] >= '1' && value[1] <= '0' + row->high && strcmp(value + 2, ".0") == 0
                      ? value[1] - '0'
                      : 0;
    if (strcmp(value, "proposed") == 0) {
        return tool_fail("option --%s: version \"proposed\" was removed; versions are v1.0 to v%d.0", row->name,
                         (int)row->high);
    }
    if (!version) {
        return tool_fail(row->high > 1 ? "option --%s needs a version from v1.0 to v%d.0, not \"%s\""
                                       : "option --%s needs version v%d.0, not \"%s\"",
                         row->name, (int)row->high, value);
    }
    for (; rows->value && rows->since <= version; rows++) {
        int before = rows->kind == PRESET_REPLACES ? find_feature(o, rows->value) : -1;
        if (!(rows->kind == PRESET_MODEL ? apply_model : apply_feature)(o, row, rows->value))
            return 0;
        if (before >= 0) {
            int last = --o->feature_count;
            free(o->feature_texts[before]);
            o->feature_texts[before] = o->feature_texts[last];
            o->features[before] = o->features[last];
            o->features[last].options = NULL;
        }
    }
    return 1;
}

#define AT(field) offsetof(options, field)

/* clang-format off */
static const option_row option_rows[] = {
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Input"},
    {"reference", 'r', "FILE", apply_text, AT(reference), 0, 0, 0,
     "reference video: a y4m or raw file, a FIFO, or - for\nstandard input"},
    {"distorted", 'd', "FILE", apply_file, AT(distorted), 0, 0, 0,
     "distorted video: a file, a FIFO, or -. Repeat this\noption to score several videos in one run, up to the\n"
     "end of the shortest video"},
    {"width", 'w', "N", apply_number, AT(width), VIDEO_MIN_SIDE, VIDEO_MAX_SIDE, 0,
     "width of raw video, 16 to 16384. Raw video requires\n-w, -h and -p, and -b if -p does not set the bit depth"},
    {"height", 'h', "N", apply_number, AT(height), VIDEO_MIN_SIDE, VIDEO_MAX_SIDE, 0,
     "height of raw video, 16 to 16384"},
    {"pixel_format", 'p', "FORMAT", apply_pixel_format, 0, 0, 0, 0,
     "format of raw video: 420, 422, 444 or 400 (planar);\nnv12, nv16, nv24, p010, p012, p016, p210 ... p416; or\n"
     "an ffmpeg name such as yuv420p10le. All names except\n420, 422, 444 and 400 also set the bit depth. For odd\n"
     "sizes, the size of chroma planes is rounded down for\nraw video and rounded up for y4m"},
    {"bitdepth", 'b', "N", apply_number, AT(bit_depth), 8, 16, 0,
     "bit depth of raw video, 8 to 16; samples of more than\n8 bits are 16-bit little-endian words"},
    {"frame_cnt", 0, "N", apply_number, AT(frame_count), 0, UINT32_MAX, 0, "score at most N frames; 0: all frames"},
    {"frame_skip_ref", 0, "N", apply_number, AT(skip_reference), 0, UINT32_MAX, 0,
     "skip the first N frames of the reference"},
    {"frame_skip_dist", 0, "N", apply_number, AT(skip_distorted), 0, UINT32_MAX, 0,
     "skip the first N frames of the distorted videos"},
    {"from", 0, "POINT", apply_point, AT(from), 0, 0, 1,
     "start at this point of the clip: a frame number,\ncounted from 0 after the skipped frames, or a time\n"
     "such as 12.5s or 1:02.5 (only for y4m files with a\nframe rate)"},
    {"to", 0, "POINT", apply_point, AT(to), 0, 0, 1, "stop before this frame or time"},
    {"crop", 0, "W:H:X:Y", apply_crop, 0, 0, 0, 1,
     "compare only this part of the pictures; W:H alone\nselects the middle"},
    {"scale", 0, "KERNEL", apply_scale, 0, 0, 0, 1,
     "scale distorted videos to the size of the reference\nif their size is different; KERNEL is bicubic or\n"
     "lanczos. The samples are equal on all machines"},
    {"align", 0, "N", apply_number, AT(align), 1, 1000, 1,
     "compare the pictures to find out which frames\ncorrespond, and score only these frames. Finds an\n"
     "offset of up to N frames, dropped frames and repeated\nframes. Only for files. Without this option, a warning\n"
     "is printed if a different offset fits far better"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "What to compute"},
    {"model", 'm', "PARAMS", apply_model, 0, 0, 0, 0,
     "use this model; PARAMS are joined by colons:\n"
     "  version=NAME  a built-in model, listed below;\n"
     "                NAME alone is enough\n"
     "  path=FILE     a model file of libvmaf (.json)\n"
     "  name=TEXT     name in reports (default: vmaf)\n"
     "  disable_clip, enable_transform  as in libvmaf\n"
     "  EXTRACTOR.OPTION=VALUE  an option of a feature, for\n"
     "                example motion.motion_force_zero=true\n"
     "Repeat -m to use several models; each must have a\ndifferent name"},
    {"feature", 0, "PARAMS", apply_feature, 0, 0, 0, 0,
     "add a feature to those of the models: vif, adm,\nmotion, cambi, speed_chroma, speed_temporal, psnr,\n"
     "psnr_hvs, ciede, float_ssim, float_ms_ssim,\nfloat_psnr, float_moment, float_ansnr, float_adm,\n"
     "float_vif or float_motion. Options follow the name,\nas in vif=debug=true:vif_skip_scale0=true.\n"
     "cambi=heatmaps_path=FOLDER writes heat maps to FOLDER"},
    {"no_prediction", 'n', NULL, apply_flag, AT(no_prediction), 1, 0, 0, "compute only features, not scores"},
    {"subsample", 0, "N", apply_number, AT(subsample), 0, 1 << 30, 0, "score every N-th frame"},
    {"strict", 0, NULL, apply_flag, AT(strict), 1, 0, 1,
     "turn warnings into errors: warnings about different\nlengths, frame rates or colour ranges, shifted videos,\n"
     "a wrong size of raw video, an ambiguous alignment, or\nunknown feature options"},
    {"float_reciprocal", 0, "CPU", apply_reciprocal, 0, 0, 0, 1,
     "compute float_adm as libvmaf does on this processor\n(host, the default), on an AMD or Intel processor\n"
     "(amd, intel), or on ARM (division). All values except\nhost produce the same scores on all machines"},
    {"aom_ctc", 0, "VERSION", apply_preset, 0, 0, 7, 0,
     "use the AOM common test conditions, v1.0 to v7.0:\nmodels vmaf and vmaf_neg, psnr, ciede, ssim, ms_ssim\n"
     "and psnr_hvs; from v3.0 on also cambi"},
    {"nflx_ctc", 0, "VERSION", apply_preset, 0, 1, 1, 0,
     "use the Netflix common test conditions, v1.0: 4K\nmodels vmaf and vmaf_neg, psnr, ssim and cambi"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Output"},
    {"output", 'o', "FILE", apply_file, AT(output), 0, 0, 0,
     "write a report on all frames to FILE, or to standard\noutput if FILE is -, or if a format is given without\n"
     "-o. An older FILE is replaced only when the report is\ncomplete. If -d is repeated, repeat -o in the same\n"
     "order"},
    {"xml", 0, NULL, apply_report, 0, REPORT_XML, 0, 0, "write the report as XML (default)"},
    {"json", 0, NULL, apply_report, 0, REPORT_JSON, 0, 0, "write the report as JSON"},
    {"csv", 0, NULL, apply_report, 0, REPORT_CSV, 0, 0, "write the report as comma-separated values"},
    {"sub", 0, NULL, apply_report, 0, REPORT_SUB, 0, 0, "write the report as subtitles"},
    {"html", 0, "FILE", apply_text, AT(html), 0, 0, 1,
     "write an HTML report on all distorted videos: curves,\ndistribution, worst frames. It is a single file, which\n"
     "needs no network connection"},
    {"slopes", 0, "FILE", apply_slopes, AT(slopes), 0, 0, 1,
     "draw how the score of the first model changes with\neach luma sample, as PNG. A name with a frame number,\n"
     "such as slopes%04d.png, gets a picture per frame; any\nother name gets the mean over the clip. If -d is\n"
     "repeated, repeat --slopes in the same order"},
    {"constant_cambi", 0, NULL, apply_flag, AT(constant_cambi), 1, 0, 1,
     "with --slopes, allow v1 models; their slopes ignore\nthat banding (cambi) changes"},
    {"plot", 0, NULL, apply_flag, AT(plot), 1, 0, 1, "draw a curve of the scores in the terminal"},
    {"state", 0, "FILE", apply_text, AT(state), 0, 0, 1,
     "save the scores in FILE during the run. After an\ninterruption, the same command continues the run and\n"
     "writes the same report. Videos must be files. FILE is\nnot deleted afterwards"},
    {"segment", 0, "I/N", apply_segment, 0, 0, 0, 1,
     "score segment I (counted from 1) of N segments of the\nclip; write the result to the -o file, for --join"},
    {"join", 0, "FILES", apply_join, 0, 0, 0, 1,
     "join the segments in these files and write the report\non the whole clip; -o, --json and so on apply"},
    {"pool", 0, "LIST", apply_pool, 0, 0, 0, 1,
     "print each score pooled in these ways: mean (or avg),\nharmonic_mean, min, max, median, or percentiles such\n"
     "as p5. Median and percentiles are also added to the\nreport. If there is no report, the default is mean"},
    {"precision", 0, "P", apply_precision, 0, 0, 0, 1,
     "format of numbers: a number of decimals; max (exact);\nor legacy (the default): as in libvmaf, mostly with 6\n"
     "decimals"},
    {"progress", 0, "KIND", apply_progress, 0, 0, 0, 1,
     "line (the default; only in a terminal), none or json.\njson writes lines of JSON to standard error with the\n"
     "values frames, total, seconds, fps, left and done"},
    {"quiet", 'q', NULL, apply_flag, AT(quiet), 1, 0, 0, "print no progress line"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Running"},
    {"backend", 0, "NAME", apply_backend, 0, 0, 0, 1,
     "auto (default) uses a GPU if possible, otherwise the\nCPU; cpu uses only the CPU, cuda only an NVIDIA GPU,\n"
     "and hip only an AMD GPU. All backends compute the same\nscores. If this option is given, XML and JSON reports\n"
     "contain the name of the backend"},
    {"gpu", 0, "LIST", apply_gpus, 0, 0, 0, 1,
     "number of the GPU, counted from 0 (default: 0); a list\nof GPUs that share the work, such as 0,2; or all"},
    {"kernels", 0, "FILE", apply_text, AT(kernels), 0, 0, 1,
     "file with GPU kernels (default: vmafgpu_kernels.nvidia\nor .amd in the folder of this program or in\n"
     "../lib/vmafgpu)"},
    {"threads", 0, "N", apply_number, AT(threads), 0, MAX_THREADS, 0,
     "number of threads, at most 256; does not change the\nscores. The default (0) is 1 on the CPU. With a GPU,\n"
     "it is one per processor, at most 16, to read files"},
    {"cpumask", 'c', "MASK", apply_number, AT(cpumask), -1, UINT32_MAX, 0,
     "bit mask of instruction sets to disable, with the same\nbits as in libvmaf; does not change the scores"},
    {"gpumask", 0, "MASK", apply_number, AT(gpumask), -1, UINT32_MAX, 0,
     "if MASK is not 0, --backend auto uses no GPU"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Other"},
    {"self-test", 0, NULL, apply_flag, AT(self_test), 1, 0, 1,
     "run every kernel on small pictures on the GPU (see\n--backend and --gpu), compare the results with those\n"
     "of the CPU, and print one line"},
    {"debug", 0, NULL, apply_flag, AT(debug), 1, 0, 1,
     "describe each context of the library on standard\nerror: a line of JSON when it is opened, and another\n"
     "one at the end. Attach both to bug reports"},
    {"version", 'v', NULL, apply_flag, AT(version), 1, 0, 0, "print the version and the available backends"},
    {"help", 0, NULL, apply_flag, AT(help), 1, 0, 1, "print this help"},
};
/* clang-format on */
enum { OPTION_ROWS = sizeof option_rows / sizeof option_rows[0] };
static void print_option_help(const option_row *row) {
    enum { help_column = 32 };
    char left[64];
    int length =
        snprintf(left, sizeof left, "  %c%c%c --%s%s%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
                 row->letter ? ',' : ' ', row->name, row->value ? " " : "", row->value ? row->value : "");
    printf("%s", left);
    for (const char *line = row->help; *line;) {
        int size = (int)strcspn(line, "\n");
        printf("%*s%.*s", help_column - length, "", size, line);
        line += size;
        if (*line) {
            line++;
            length = 0;
            printf("\n");
        }
    }
    printf("\n");
}

void tool_print_help(void) {
    printf("vmafgpu %s: computes VMAF scores that are bit-identical to those of the plain C code of libvmaf.\n\n"
           "Usage: vmafgpu -r REFERENCE -d DISTORTED [-w N -h N -p FORMAT -b N] [-m version=NAME] [-o FILE]\n"
           "       vmafgpu REFERENCE DISTORTED [OPTIONS]\n",
           vmafgpu_version_string());
    for (int i = 0; i < OPTION_ROWS; i++)
        if (option_rows[i].name)
            print_option_help(&option_rows[i]);
        else
            printf("\n%s\n", option_rows[i].help);
    printf("\nBuilt-in models (the first is the default)\n");
    const vmafgpu_model *model;
    for (int i = 0; (model = vmafgpu_builtin_model_at(i)) != NULL; i++)
        printf("  %s\n", model->name);
    printf("\nLong options can be abbreviated if the abbreviation is unambiguous. The exit status is 0 if the clip\n"
           "was scored, even if one video is longer than the other, and 1 after any error. If a frame is damaged\n"
           "or truncated, the frames before that frame are scored and reported, and the status is 1.\n\n"
           "Example: ffmpeg -v error -i out.mp4 -f yuv4mpegpipe -strict -1 - | vmafgpu -r ref.y4m -d -\n");
}

/* Finds the row of a long option from the first `length` characters of `name`. An abbreviation is valid if it matches
 * exactly one option of the vmaf tool. If it matches none of these, it is valid if it matches exactly one other option.
 * So all abbreviations that the vmaf tool accepts are valid. */
static const option_row *find_long_option(const char *name, size_t length) {
    const option_row *found[2] = { NULL, NULL };
    int count[2] = { 0, 0 };
    for (int i = 0; i < OPTION_ROWS; i++) {
        const option_row *row = &option_rows[i];
        if (!row->name || strncmp(row->name, name, length) != 0)
            continue;
        if (row->name[length] == '\0')
            return row;
        found[row->is_ours] = row;
        count[row->is_ours]++;
    }
    if (count[0] == 1)
        return found[0];
    if (count[0] == 0 && count[1] == 1)
        return found[1];
    tool_fail("%s option \"--%.*s\"", count[0] + count[1] ? "ambiguous" : "unknown", (int)length, name);
    return NULL;
}

static const option_row *find_short_option(char letter) {
    for (int i = 0; i < OPTION_ROWS; i++)
        if (option_rows[i].name && option_rows[i].letter == letter)
            return &option_rows[i];
    tool_fail("unknown option \"-%c\"", letter);
    return NULL;
}

/* Parses `--name`, `--name=value` or `--name value` at argv[*at]. */
static int parse_long_option(options *o, int argc, char **argv, int *at) {
    const char *name = argv[*at] + 2;
    size_t length = strcspn(name, "=");
    const option_row *row = find_long_option(name, length);
    if (!row)
        return 0;
    const char *value = name[length] ? name + length + 1 : NULL;
    if (value && !row->value)
        return tool_fail("option --%s takes no value", row->name);
    if (row->value && !value) {
        if (*at + 1 >= argc)
            return tool_fail("option --%s needs a value", row->name);
        value = argv[++*at];
    }
    return row->apply(o, row, value);
}

/* Parses the short options in argv[*at]. Only the last option can have a value: `-q`, `-nq`, `-w576`, `-w 576`. */
static int parse_short_options(options *o, int argc, char **argv, int *at) {
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        const option_row *row = find_short_option(*letter);
        if (!row)
            return 0;
        if (!row->value) {
            if (!row->apply(o, row, NULL))
                return 0;
            continue;
        }
        if (letter[1] == '\0' && *at + 1 >= argc)
            return tool_fail("option -%c (--%s) needs a value", row->letter, row->name);
        return row->apply(o, row, letter[1] ? letter + 1 : argv[++*at]);
    }
    return 1;
}

/* Uses two file names without options as the reference and the distorted video. */
static int take_bare_names(options *o) {
    if (o->bare_count == 0)
        return 1;
    if (o->bare_count != 2 || o->reference || o->distorted.count || o->join) {
        return tool_fail("unexpected argument \"%s\"; only two names, the reference and one distorted video, can be "
                         "given without -r and -d",
                         o->bare[o->bare_count - 1]);
    }
    o->reference = o->bare[0];
    o->distorted.names[o->distorted.count++] = o->bare[1];
    return 1;
}

int tool_parse_arguments(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int is_option = word[0] == '-' && word[1] != '\0' && strcmp(word, "--") != 0;
        if (!is_option && o->join_count > 0) {
            o->join[o->join_count++] = word;
            continue;
        }
        if (!is_option) {
            if (o->bare_count == 2 || strcmp(word, "--") == 0 || !*word)
                return tool_fail("unexpected argument \"%s\"", word);
            o->bare[o->bare_count++] = word;
            continue;
        }
        if (!(word[1] == '-' ? parse_long_option : parse_short_options)(o, argc, argv, &i))
            return 0;
    }
    return take_bare_names(o);
}

const char *tool_path_of(const options *o, int i) {
    return i ? o->distorted.names[i - 1] : o->reference;
}

const char *tool_model_name(const options *o, int i) {
    return o->models[i].name ? o->models[i].name : "vmaf";
}

int tool_has_heatmaps(const options *o) {
    int found = 0;
    for (int i = 0; i < o->feature_count; i++)
        found |= o->features[i].options && strstr(o->features[i].options, "heatmaps_path=");
    for (int i = 0; i < o->model_count; i++)
        found |= o->models[i].options && strstr(o->models[i].options, "heatmaps_path=");
    return found;
}

void tool_free_options(options *o) {
    for (int i = 0; i < o->model_count; i++) {
        free(o->model_options[i].text);
        vmafgpu_model_release(o->model_options[i].parsed);
    }
    for (int i = 0; i < o->feature_count; i++)
        free(o->feature_texts[i]);
    for (int i = 0; i < tool_report_count(o); i++)
        free(o->destinations[i].path);
    free(o->pooling_text);
    free((void *)o->join);
}
