/* options.c: see options.h. */
#include "system.h"

#include "options.h"
#include "capacity.h"
#include "cut.h"
#include "message.h"
#include "report.h"
#include "scale.h"
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

/* One row of the table of options. `apply` stores what it makes of `value` at `offset` of the options; it gets the
 * row itself for the name in its messages. */
typedef struct option_row {
    const char *name;
    char letter;       /* 0: none */
    const char *value; /* its name in the help; NULL: the option takes none */
    int (*apply)(options *o, const struct option_row *row, const char *value);
    size_t offset;
    int64_t low, high; /* numbers: the range; flags: `low` is what is stored */
    int is_ours;       /* libvmaf's tool doesn't have it */
    const char *help;  /* one line or several */
} option_row;

int tool_report_count(const options *o) {
    return o->output.count + (o->html != NULL);
}

const char *tool_report_name(const options *o, int i) {
    return i < o->output.count ? o->output.names[i] : o->html;
}

static void *option_target(options *o, const option_row *row) {
    return (char *)o + row->offset;
}

static int apply_text(options *o, const option_row *row, const char *value) {
    const char **target = (const char **)option_target(o, row);
    if (*target)
        return tool_fail("option --%s can be given only once", row->name);
    *target = value;
    return *value ? 1 : tool_fail("option --%s needs a value that isn't empty", row->name);
}

static int apply_file(options *o, const option_row *row, const char *value) {
    file_list *list = (file_list *)option_target(o, row);
    if (list->count == MAX_DISTORTED)
        return tool_fail("option --%s can be given %d times at most", row->name, MAX_DISTORTED);
    list->names[list->count++] = value;
    return *value ? 1 : tool_fail("option --%s needs a value that isn't empty", row->name);
}

/* The first of the parts; words behind it are parts, too. */
static int apply_join(options *o, const option_row *row, const char *value) {
    if (!o->join)
        o->join = (const char **)malloc(sizeof *o->join * (size_t)o->argc);
    if (!o->join)
        return tool_out_of_memory();
    o->join[o->join_count++] = value;
    return *value ? 1 : tool_fail("option --%s needs a value that isn't empty", row->name);
}

static int apply_segment(options *o, const option_row *row, const char *value) {
    int64_t segment = cut_digits(&value, 1000000),
            segments = *value == '/' ? (value++, cut_digits(&value, 1000000)) : 0;
    o->segment = segment;
    o->segments = segments;
    return (segment >= 1 && segment <= segments && *value == '\0') ||
           tool_fail("option --%s needs I/N, the I-th of N segments, counted from 1", row->name);
}

static int apply_flag(options *o, const option_row *row, const char *value) {
    (void)value;
    *(int *)option_target(o, row) = (int)row->low;
    return 1;
}

/* Decimal, 0x hexadecimal or 0 octal, as libvmaf's tool takes numbers. */
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

/* Reads one of ffmpeg's names: yuv420p, yuv422p10le, gray12le, p010le and so on. NULL if it is none. */
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
           tool_fail("option --%s needs 420, 422, 444, 400, nv12, nv16, nv24, p010 to p416, or ffmpeg's name such as "
                     "yuv420p10le, not \"%s\"",
                     row->name, value);
}

static int apply_point(options *o, const option_row *row, const char *value) {
    return cut_parse((cut_point *)option_target(o, row), value) ||
           tool_fail("option --%s needs a frame's number or a time such as 12.5s or 1:02.5, not \"%s\"", row->name,
                     value);
}

static int apply_crop(options *o, const option_row *row, const char *value) {
    return cut_parse_window(&o->crop, value) ||
           tool_fail("option --%s needs WIDTH:HEIGHT:X:Y or WIDTH:HEIGHT, %d or more wide and high, not \"%s\"",
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

/* Its place in a list that NULL ends, or -1. */
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

/* all, or numbers with commas between them. */
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
        int is_again = 0;
        for (int i = 0; i < o->gpu_count; i++)
            is_again |= o->gpus[i] == number;
        if (number < 0 || number > MAX_GPU || is_again || o->gpu_count == MAX_GPUS || (*end && *end != ',')) {
            return tool_fail("option --%s needs all, or up to %d different numbers from 0 to %d with commas between "
                             "them, not \"%s\"",
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

/* Is the last one on the list on it already? */
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
            return tool_fail("option --%s takes %d ways of pooling at most", row->name, MAX_POOLINGS);
        if (!parse_pooling(&o->poolings[o->pooling_count], name)) {
            return tool_fail(
                "option --%s knows mean, harmonic_mean, min, max, median and percentiles such as p5, but no "
                "\"%s\"",
                row->name, name);
        }
        o->pooling_count += !is_repeated_pooling(o);
        name = comma ? comma + 1 : NULL;
    }
    return 1;
}

/* disable_clip and enable_transform: alone or "=true" sets them. */
static int parse_model_flag(const char *key, const char *value, int *flag) {
    if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return tool_fail("option --model: %s can be true or false, not \"%s\"", key, value);
    *flag = !value || strcmp(value, "true") == 0;
    return 1;
}

/* A name goes into reports as it is, so it must not hold what JSON or XML would take for its own. */
static int check_model_name(const char *name) {
    for (const char *c = name; *c; c += tool_printable_length(c))
        if (tool_printable_length(c) == 0 || strchr("\"\\<>&", *c))
            return tool_fail("option --model: the name \"%s\" holds a character that reports cannot hold", name);
    return 1;
}

/* One `key=value` of --model. What isn't a key of a model is an option of one of its features and is collected,
 * joined by colons, in `overloads`, which holds `room` characters. */
static int parse_model_pair(vmafgpu_model_config *model, model_option *extra, char *key, char *overloads, size_t room) {
    static char version[] = "version";
    char *value = strchr(key, '=');
    if (value)
        *value++ = '\0';
    if (strcmp(key, "disable_clip") == 0)
        return parse_model_flag(key, value, &model->disable_clip);
    if (strcmp(key, "enable_transform") == 0)
        return parse_model_flag(key, value, &model->enable_transform);
    if (!value && vmafgpu_builtin_model(key)) { /* a name alone */
        value = key;
        key = version;
    }
    if (!value || !*key || !*value) {
        return tool_fail("option --model: \"%s\" should be KEY=VALUE, for example version=vmaf_v0.6.1, or the name of "
                         "a built-in model",
                         key);
    }
    const char **text = strcmp(key, "version") == 0 ? &model->version
                        : strcmp(key, "path") == 0  ? &extra->path
                        : strcmp(key, "name") == 0  ? &model->name
                                                    : NULL;
    if (text) {
        if (*text)
            return tool_fail("option --model: %s=%s and %s=%s cannot both be meant", key, *text, key, value);
        *text = value;
        return text != &model->name || check_model_name(value);
    }
    if (strchr(key, '.')) {
        size_t used = strlen(overloads);
        snprintf(overloads + used, room - used, "%s%s=%s", used ? ":" : "", key, value);
        model->options = overloads;
    } else {
        return tool_fail("option --model: \"%s\" is none of version, path, name, disable_clip, enable_transform or "
                         "EXTRACTOR.OPTION",
                         key);
    }
    return 1;
}

static int apply_model(options *o, const option_row *row, const char *value) {
    if (o->model_count == MAX_MODELS)
        return tool_fail("option --%s can be given %d times at most", row->name, MAX_MODELS);
    size_t length = strlen(value) + 1;
    vmafgpu_model_config *model = &o->models[o->model_count];
    model_option *extra = &o->model_options[o->model_count++];
    extra->text = tool_copy_text(value, 2 * length); /* behind it: room to join the feature options again */
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
        return tool_fail("option --%s: version=%s and path=%s are two models; give each a --%s of its own", row->name,
                         model->version, extra->path, row->name);
    }
    return 1;
}

/* NAME or NAME=OPTION=VALUE:OPTION=VALUE... */
static int apply_feature(options *o, const option_row *row, const char *value) {
    if (o->feature_count == MAX_FEATURES)
        return tool_fail("option --%s can be given %d times at most", row->name, MAX_FEATURES);
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

/* ---- presets: what common test conditions ask for ---- */

typedef enum preset_kind {
    PRESET_MODEL,
    PRESET_FEATURE,
    PRESET_REPLACES /* the feature of that name, if there is one */
} preset_kind;

/* One line of a preset, from version `since` on. */
typedef struct preset_row {
    int since;
    preset_kind kind;
    const char *value; /* as --model or --feature has it */
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

/* The feature of that name that was asked for already; -1: none. */
static int find_feature(const options *o, const char *value) {
    size_t length = strcspn(value, "=");
    for (int i = 0; i < o->feature_count; i++)
        if (strncmp(o->features[i].name, value, length) == 0 && o->features[i].name[length] == '\0')
            return i;
    return -1;
}

/* VERSION is v1.0 to v`row->high`.0; `row->low` says whose. */
static int apply_preset(options *o, const option_row *row, const char *value) {
    const preset_row *rows = row->low ? nflx_ctc : aom_ctc;
    int version = value[0] == 'v' && value[1] >= '1' && value[1] <= '0' + row->high && strcmp(value + 2, ".0") == 0
                      ? value[1] - '0'
                      : 0;
    if (strcmp(value, "proposed") == 0) {
        return tool_fail("option --%s proposed is no longer there; versions are v1.0 to v%d.0", row->name,
                         (int)row->high);
    }
    if (!version) {
        return tool_fail(row->high > 1 ? "option --%s needs a version, v1.0 to v%d.0, not \"%s\""
                                       : "option --%s needs a version, which is v%d.0, not \"%s\"",
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
     "the original: .y4m or raw .yuv, a file, a FIFO,\nor - for standard input"},
    {"distorted", 'd', "FILE", apply_file, AT(distorted), 0, 0, 0,
     "what became of it; likewise. May be repeated: all\nare scored in one go, up to the end of the shortest"},
    {"width", 'w', "N", apply_number, AT(width), VIDEO_MIN_SIDE, VIDEO_MAX_SIDE, 0,
     "raw video needs these four options, y4m takes\nnone: its width, 16 to 16384,"},
    {"height", 'h', "N", apply_number, AT(height), VIDEO_MIN_SIDE, VIDEO_MAX_SIDE, 0, "its height, likewise,"},
    {"pixel_format", 'p', "FORMAT", apply_pixel_format, 0, 0, 0, 0,
     "its format: 420, 422, 444 or 400 (planar); nv12,\nnv16, nv24, p010, p012, p016, p210 ... p416, or\n"
     "ffmpeg's name such as yuv420p10le (these imply the\nbit depth). Chroma planes of odd-sized raw video are\n"
     "rounded down (y4m: up),"},
    {"bitdepth", 'b', "N", apply_number, AT(bit_depth), 8, 16, 0,
     "and its bit depth, 8 to 16; samples above 8 bits\nare 16-bit little-endian words"},
    {"frame_cnt", 0, "N", apply_number, AT(frame_count), 0, UINT32_MAX, 0, "stop after N frames (0: at the end)"},
    {"frame_skip_ref", 0, "N", apply_number, AT(skip_reference), 0, UINT32_MAX, 0,
     "leave out the first N frames of the reference"},
    {"frame_skip_dist", 0, "N", apply_number, AT(skip_distorted), 0, UINT32_MAX, 0,
     "leave out the first N frames of the distorted"},
    {"from", 0, "POINT", apply_point, AT(from), 0, 0, 1,
     "begin there, in both (after what is skipped): a\nframe's number, counted from 0, or a time: 12.5s,\n"
     "1:02.5 (y4m files, which say their rate),"},
    {"to", 0, "POINT", apply_point, AT(to), 0, 0, 1, "and end before that one"},
    {"crop", 0, "W:H:X:Y", apply_crop, 0, 0, 0, 1,
     "compare only this part of the pictures; W:H: the\none in the middle"},
    {"scale", 0, "KERNEL", apply_scale, 0, 0, 0, 1,
     "bicubic or lanczos: distorted videos of another size\nare scaled to the reference's, in integers: every\n"
     "machine has the same samples"},
    {"align", 0, "N", apply_number, AT(align), 1, 1000, 1,
     "find out by the pictures which frames correspond, up\nto N frames apart, and which were dropped or\n"
     "repeated, say so, and score those that do. Files\nonly. Without it there is a warning where another\n"
     "offset fits far better"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "What to compute"},
    {"model", 'm', "PARAMS", apply_model, 0, 0, 0, 0,
     "KEY=VALUE pairs joined by colons:\n"
     "  version=NAME  a built-in model, see below (its\n"
     "                name alone will do), or\n"
     "  path=FILE     a model file of libvmaf (.json)\n"
     "  name=TEXT     its name in reports (default vmaf)\n"
     "  disable_clip, enable_transform\n"
     "  EXTRACTOR.OPTION=VALUE  e.g.\n"
     "                motion.motion_force_zero=true\n"
     "May be repeated; each needs a name of its own"},
    {"feature", 0, "PARAMS", apply_feature, 0, 0, 0, 0,
     "vif, adm, motion, cambi, speed_chroma, psnr, ...\nbesides what the models need; with options:\n"
     "vif=debug=true:vif_skip_scale0=true\ncambi=heatmaps_path=FOLDER writes heat maps there"},
    {"no_prediction", 'n', NULL, apply_flag, AT(no_prediction), 1, 0, 0, "features only, no scores"},
    {"subsample", 0, "N", apply_number, AT(subsample), 0, 1 << 30, 0, "score every N-th frame"},
    {"strict", 0, NULL, apply_flag, AT(strict), 1, 0, 1,
     "what is otherwise a warning is an error: videos that\ndiffer in length, rate or range, that seem shifted,\n"
     "or of another size than stated, or cannot be aligned\nfor sure, options that a feature does not have"},
    {"float_reciprocal", 0, "WHOSE", apply_reciprocal, 0, 0, 0, 1,
     "float_adm is libvmaf's on this machine (host), on\nan amd or intel processor, or by division (ARM);\n"
     "all but host give one score on every machine"},
    {"aom_ctc", 0, "VERSION", apply_preset, 0, 0, 7, 0,
     "what AOM's common test conditions ask for, v1.0 to\nv7.0: models vmaf and vmaf_neg, psnr, ciede, ssim,\n"
     "ms_ssim, psnr_hvs and, from v3.0 on, cambi"},
    {"nflx_ctc", 0, "VERSION", apply_preset, 0, 1, 1, 0,
     "Netflix's, v1.0: 4K models vmaf and vmaf_neg, psnr,\nssim, cambi"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Output"},
    {"output", 'o', "FILE", apply_file, AT(output), 0, 0, 0,
     "write a report of every frame (-: standard output,\nalso if only its format is given). A file is replaced\n"
     "when the report is whole. With several -d as many -o,\nin the same order"},
    {"xml", 0, NULL, apply_report, 0, REPORT_XML, 0, 0, "the report as XML (default)"},
    {"json", 0, NULL, apply_report, 0, REPORT_JSON, 0, 0, "as JSON"},
    {"csv", 0, NULL, apply_report, 0, REPORT_CSV, 0, 0, "as comma-separated values"},
    {"sub", 0, NULL, apply_report, 0, REPORT_SUB, 0, 0, "as subtitles"},
    {"html", 0, "FILE", apply_text, AT(html), 0, 0, 1,
     "write a report to look at, of all distorted videos:\ncurves, distribution, worst frames; one file that\n"
     "every browser opens, without a network"},
    {"plot", 0, NULL, apply_flag, AT(plot), 1, 0, 1, "draw the scores' curve in the terminal"},
    {"state", 0, "FILE", apply_text, AT(state), 0, 0, 1,
     "keep what was scored there: a run that was ended at\nany moment goes on from it, with the same report.\n"
     "Files only. It stays"},
    {"segment", 0, "I/N", apply_segment, 0, 0, 0, 1,
     "score the I-th of N segments of the clip, counted\nfrom 1, and write its rows to -o, for --join"},
    {"join", 0, "FILES", apply_join, 0, 0, 0, 1,
     "put the segments in these files together: the same\nreport as of the whole; with -o, --json and so on"},
    {"pool", 0, "LIST", apply_pool, 0, 0, 0, 1,
     "print these of each score on standard output, and\nadd what is missing of them to the pooled part of\n"
     "the report: mean (avg), harmonic_mean, min, max,\nmedian, p5 (a percentile). Without a report the\n"
     "default is --pool mean"},
    {"precision", 0, "P", apply_precision, 0, 0, 0, 1,
     "numbers: N decimals, max (every bit), or legacy\n(default: as libvmaf, mostly 6 decimals)"},
    {"progress", 0, "KIND", apply_progress, 0, 0, 0, 1,
     "line (default, in a terminal), none, or json: lines\nof JSON on the error stream, for programs: frames,\n"
     "total, seconds, fps, left, done"},
    {"quiet", 'q', NULL, apply_flag, AT(quiet), 1, 0, 0, "no progress line"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Running"},
    {"backend", 0, "NAME", apply_backend, 0, 0, 0, 1,
     "auto (default): a GPU if one can be used, else the\nCPU; cpu; cuda: an NVIDIA GPU, or one sentence why\n"
     "not; hip: an AMD GPU, likewise. Scores don't depend\non it. When given, XML and JSON reports say what ran"},
    {"gpu", 0, "LIST", apply_gpus, 0, 0, 0, 1,
     "which GPU, counted from 0 (default); several that\nshare the work: 0,2; or all"},
    {"kernels", 0, "FILE", apply_text, AT(kernels), 0, 0, 1,
     "the GPU's kernels; default: vmafgpu_kernels.nvidia\nor .amd in the folder of this program or ../lib/vmafgpu"},
    {"threads", 0, "N", apply_number, AT(threads), 0, MAX_THREADS, 0,
     "worker threads, 256 at most; scores don't depend on\nthem. Default (0): 1 where the CPU scores; where a\n"
     "GPU does, as many as help to read files, at most 16"},
    {"cpumask", 'c', "MASK", apply_number, AT(cpumask), -1, UINT32_MAX, 0,
     "instruction sets not to use (a bit each, as in\nlibvmaf; scores don't depend on them)"},
    {"gpumask", 0, "MASK", apply_number, AT(gpumask), -1, UINT32_MAX, 0, "not 0: --backend auto uses no GPU"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Other"},
    {"self-test", 0, NULL, apply_flag, AT(self_test), 1, 0, 1,
     "have a GPU (--backend, --gpu) compute small pictures\nwith every kernel, compare with the CPU, and print one\n"
     "line about it"},
    {"version", 'v', NULL, apply_flag, AT(version), 1, 0, 0, "print the version, and the backends of this machine"},
    {"help", 0, NULL, apply_flag, AT(help), 1, 0, 1, "print this"},
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
    printf("vmafgpu %s: VMAF scores of a video, the very numbers of libvmaf's plain C code.\n\n"
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
    printf("\nLong options may be shortened while they stay unambiguous. The exit status is 0 when the clip was\n"
           "scored, also when one video is longer than the other; it is 1 after any error. After a damaged or\n"
           "truncated frame the frames before it are still scored and reported, and the status is 1.\n\n"
           "Example: ffmpeg -v error -i out.mp4 -f yuv4mpegpipe -strict -1 - | vmafgpu -r ref.y4m -d -\n");
}

/* The row of a long option, `length` characters of it. A beginning is enough when it fits one row only, or one row
 * only of those that libvmaf's tool has: what is short there must not become ambiguous here. */
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

/* argv[*at] is `--name`, `--name=value` or `--name value`. */
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

/* argv[*at] is letters without values and perhaps, last, one with its value: `-q`, `-nq`, `-w576`, `-w 576`. */
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

/* Two file names without options are the reference and the distorted video. */
static int take_bare_names(options *o) {
    if (o->bare_count == 0)
        return 1;
    if (o->bare_count != 2 || o->reference || o->distorted.count || o->join) {
        return tool_fail("unexpected argument \"%s\"; only two names, the reference's and the distorted video's, may "
                         "stand without -r and -d",
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
