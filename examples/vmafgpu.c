/* vmafgpu: scores a distorted video against its reference, from the command line.
 *
 * It takes the options of libvmaf's `vmaf` tool, has its defaults, and writes the same report files, byte for
 * byte but for the version and the frames per second. `vmafgpu --help` says what it can do beyond that.
 *
 * Build: cc -O2 examples/vmafgpu.c -o vmafgpu -lm -lpthread
 */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#  define _POSIX_C_SOURCE 200809L /* isatty, fileno, clock_gettime, mmap */
#endif
#ifndef _WIN32
#  define VIDEO_MAP
#  ifndef VMAFGPU_NO_THREADS
#    define READ_AHEAD /* with POSIX threads */
#  endif
#endif

#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "video.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#  include <fcntl.h>
#  include <io.h>
#else
#  include <signal.h>
#  include <unistd.h>
#endif
#ifdef READ_AHEAD
#  include <pthread.h>
#endif

enum {
    MAX_MODELS = 16,
    MAX_FEATURES = 32,
    MAX_POOLINGS = 32,
    MAX_DISTORTED = 16,
    MAX_THREADS = 256,
    MAX_GPU = 255,
    MAX_MODEL_FILE = 64 << 20,
    MAX_COPIED = 24 << 20, /* bytes of a pair that is read ahead, of what cannot be mapped */
    DIGITS_LEGACY = -1, /* --precision: as libvmaf prints numbers */
    DIGITS_MAX = -2     /* every digit that a double needs */
};

/* ------------------------------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------------------------------ */

/* One sentence, given without its full stop, on the error stream. Returns 0, which is failure for the functions here
 * that return a truth. */
static int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("vmafgpu: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(".\n", stderr);
    va_end(arguments);
    return 0;
}

static int out_of_memory(void) {
    return fail("%s", vmafgpu_result_string(VMAFGPU_ERROR_MEMORY));
}

/* ------------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------------ */

typedef struct pixel_format {
    const char    *name;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
    int            bit_depth; /* 0: --bitdepth says it */
} pixel_format;

static const pixel_format pixel_formats[] = {
    {"420", VMAFGPU_420, VMAFGPU_PLANAR, 0},
    {"422", VMAFGPU_422, VMAFGPU_PLANAR, 0},
    {"444", VMAFGPU_444, VMAFGPU_PLANAR, 0},
    {"400", VMAFGPU_400, VMAFGPU_PLANAR, 0},
    {"nv12", VMAFGPU_420, VMAFGPU_SEMIPLANAR, 8},
    {"nv16", VMAFGPU_422, VMAFGPU_SEMIPLANAR, 8},
    {"nv24", VMAFGPU_444, VMAFGPU_SEMIPLANAR, 8},
    {"p010", VMAFGPU_420, VMAFGPU_SEMIPLANAR_HIGH, 10},
    {"p012", VMAFGPU_420, VMAFGPU_SEMIPLANAR_HIGH, 12},
    {"p016", VMAFGPU_420, VMAFGPU_SEMIPLANAR_HIGH, 16},
    {"p210", VMAFGPU_422, VMAFGPU_SEMIPLANAR_HIGH, 10},
    {"p212", VMAFGPU_422, VMAFGPU_SEMIPLANAR_HIGH, 12},
    {"p216", VMAFGPU_422, VMAFGPU_SEMIPLANAR_HIGH, 16},
    {"p410", VMAFGPU_444, VMAFGPU_SEMIPLANAR_HIGH, 10},
    {"p412", VMAFGPU_444, VMAFGPU_SEMIPLANAR_HIGH, 12},
    {"p416", VMAFGPU_444, VMAFGPU_SEMIPLANAR_HIGH, 16},
    {NULL, VMAFGPU_420, VMAFGPU_PLANAR, 0},
};

typedef enum report_format { REPORT_XML, REPORT_JSON, REPORT_CSV, REPORT_SUB } report_format;

typedef struct pooling {
    const char     *name;
    int             is_percentile;
    vmafgpu_pooling method;
    double          percentile;
} pooling;

/* What every report's pooled part holds, in libvmaf's order. */
static const pooling standard_poolings[] = {
    {"min", 0, VMAFGPU_MIN, 0},
    {"max", 0, VMAFGPU_MAX, 0},
    {"mean", 0, VMAFGPU_MEAN, 0},
    {"harmonic_mean", 0, VMAFGPU_HARMONIC_MEAN, 0},
};
enum { STANDARD_POOLINGS = 4, POOL_MEAN = 2 };

typedef struct model_option {
    char          *text; /* owns what the strings below point into */
    const char    *path;
    vmafgpu_model *parsed;
} model_option;

typedef struct file_list {
    const char *names[MAX_DISTORTED];
    int         count;
} file_list;

typedef struct options {
    const char             *reference;
    file_list               distorted, output; /* as many outputs as distorted videos, or none */
    int64_t                 width, height, bit_depth;
    const pixel_format     *pixel_format;
    report_format           report;
    vmafgpu_model_config    models[MAX_MODELS];
    model_option            model_options[MAX_MODELS]; /* what models[i] needs besides */
    int                     model_count;
    vmafgpu_feature_config  features[MAX_FEATURES];
    char                   *feature_texts[MAX_FEATURES]; /* own what features[i] points into */
    int                     feature_count;
    pooling                 poolings[MAX_POOLINGS];
    char                   *pooling_text; /* owns the names that are not standard */
    int                     pooling_count;
    int64_t                 threads, subsample, cpumask, gpumask, gpu;
    int64_t                 frame_count, skip_reference, skip_distorted;
    const char             *kernels;
    vmafgpu_backend         backend;
    int                     names_backend; /* --backend was given: then reports say what ran */
    int                     digits; /* after the point, or DIGITS_... */
    int                     no_prediction, quiet, version, help;
} options;

/* One row of the table of options. `apply` stores what it makes of `value` at `offset` of the options; it gets the
 * row itself for the name in its messages. */
typedef struct option_row {
    const char *name;
    char        letter;      /* 0: none */
    const char *value;       /* its name in the help; NULL: the option takes none */
    int (*apply)(options *o, const struct option_row *row, const char *value);
    size_t      offset;
    int64_t     low, high;   /* numbers: the range; flags: `low` is what is stored */
    int         is_ours;     /* libvmaf's tool doesn't have it */
    const char *help;        /* one line or several */
} option_row;

static void *option_target(options *o, const option_row *row) {
    return (char *)o + row->offset;
}

static char *copy_text(const char *text, size_t room) {
    size_t length = strlen(text) + 1;
    char *copy = (char *)malloc(length > room ? length : room);
    if (copy) {
        memcpy(copy, text, length);
    }
    return copy;
}

static int apply_text(options *o, const option_row *row, const char *value) {
    *(const char **)option_target(o, row) = value;
    return *value ? 1 : fail("option --%s needs a value that isn't empty", row->name);
}

static int apply_file(options *o, const option_row *row, const char *value) {
    file_list *list = (file_list *)option_target(o, row);
    if (list->count == MAX_DISTORTED) {
        return fail("option --%s can be given %d times at most", row->name, MAX_DISTORTED);
    }
    list->names[list->count++] = value;
    return *value ? 1 : fail("option --%s needs a value that isn't empty", row->name);
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
        return fail("option --%s needs a whole number from %lld to %lld, not \"%s\"", row->name, (long long)row->low,
                    (long long)row->high, value);
    }
    *(int64_t *)option_target(o, row) = number;
    return 1;
}

static int apply_pixel_format(options *o, const option_row *row, const char *value) {
    for (const pixel_format *f = pixel_formats; f->name; f++) {
        if (strcmp(f->name, value) == 0) {
            o->pixel_format = f;
            return 1;
        }
    }
    return fail("option --%s needs 420, 422, 444, 400, nv12, nv16, nv24 or p010 to p416, not \"%s\"", row->name,
                value);
}

static int apply_report(options *o, const option_row *row, const char *value) {
    (void)value;
    o->report = (report_format)row->low;
    return 1;
}

static int apply_backend(options *o, const option_row *row, const char *value) {
    static const char *const names[] = {"auto", "cpu", "cuda", "hip"};
    static const vmafgpu_backend backends[] = {VMAFGPU_BACKEND_AUTO, VMAFGPU_BACKEND_CPU, VMAFGPU_BACKEND_CUDA,
                                               VMAFGPU_BACKEND_HIP};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], value) == 0) {
            o->backend = backends[i];
            o->names_backend = 1;
            return 1;
        }
    }
    return fail("option --%s needs auto, cpu, cuda or hip, not \"%s\"", row->name, value);
}

static int apply_precision(options *o, const option_row *row, const char *value) {
    if (strcmp(value, "legacy") == 0) {
        o->digits = DIGITS_LEGACY;
    } else if (strcmp(value, "max") == 0) {
        o->digits = DIGITS_MAX;
    } else {
        char *end = NULL;
        long digits = strtol(value, &end, 10);
        if (end == value || *end || digits < 0 || digits > 30) {
            return fail("option --%s needs max, legacy or a number of decimals from 0 to 30, not \"%s\"", row->name,
                        value);
        }
        o->digits = (int)digits;
    }
    return 1;
}

static int parse_pooling(pooling *p, char *name) {
    for (int i = 0; i < STANDARD_POOLINGS; i++) {
        if (strcmp(standard_poolings[i].name, name) == 0) {
            *p = standard_poolings[i];
            return 1;
        }
    }
    char *end = NULL;
    p->name = name;
    p->is_percentile = 1;
    p->percentile = 50;
    if (strcmp(name, "median") == 0) {
        return 1;
    }
    if (name[0] != 'p' || name[1 + strspn(name + 1, "0123456789.")] != '\0') {
        return 0;
    }
    p->percentile = strtod(name + 1, &end);
    return end != name + 1 && *end == '\0' && p->percentile <= 100;
}

/* Is the last one on the list on it already? */
static int is_repeated_pooling(const options *o) {
    const pooling *last = &o->poolings[o->pooling_count];
    for (int i = 0; i < o->pooling_count; i++) {
        if (strcmp(o->poolings[i].name, last->name) == 0) {
            return 1;
        }
    }
    return 0;
}

static int apply_pool(options *o, const option_row *row, const char *value) {
    free(o->pooling_text);
    o->pooling_count = 0;
    o->pooling_text = copy_text(value, 0);
    if (!o->pooling_text) {
        return out_of_memory();
    }
    for (char *name = o->pooling_text; name;) {
        char *comma = strchr(name, ',');
        if (comma) {
            *comma = '\0';
        }
        if (o->pooling_count == MAX_POOLINGS) {
            return fail("option --%s takes %d ways of pooling at most", row->name, MAX_POOLINGS);
        }
        if (!parse_pooling(&o->poolings[o->pooling_count], name)) {
            return fail("option --%s knows mean, harmonic_mean, min, max, median and percentiles such as p5, but no "
                        "\"%s\"", row->name, name);
        }
        o->pooling_count += !is_repeated_pooling(o);
        name = comma ? comma + 1 : NULL;
    }
    return 1;
}

static int apply_preset(options *o, const option_row *row, const char *value) {
    (void)o;
    return fail("option --%s %s needs psnr, ssim and other metrics that this version does not have", row->name,
                value);
}

/* disable_clip and enable_transform: alone or "=true" sets them. */
static int parse_model_flag(const char *key, const char *value, int *flag) {
    if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
        return fail("option --model: %s can be true or false, not \"%s\"", key, value);
    }
    *flag = !value || strcmp(value, "true") == 0;
    return 1;
}

/* A name goes into reports as it is, so it must not hold what JSON or XML would take for its own. */
static int check_model_name(const char *name) {
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < 0x20 || strchr("\"\\<>&", *c)) {
            return fail("option --model: the name \"%s\" holds a character that reports cannot hold", name);
        }
    }
    return 1;
}

/* One `key=value` of --model. What isn't a key of a model is an option of one of its features and is collected,
 * joined by colons, in `overloads`, which holds `room` characters. */
static int parse_model_pair(vmafgpu_model_config *model, model_option *extra, char *key, char *overloads, size_t room) {
    char *value = strchr(key, '=');
    if (value) {
        *value++ = '\0';
    }
    if (strcmp(key, "disable_clip") == 0) {
        return parse_model_flag(key, value, &model->disable_clip);
    }
    if (strcmp(key, "enable_transform") == 0) {
        return parse_model_flag(key, value, &model->enable_transform);
    }
    if (!value || !*key || !*value) {
        return fail("option --model: \"%s\" should be KEY=VALUE, for example version=vmaf_v0.6.1", key);
    }
    if (strcmp(key, "version") == 0) {
        model->version = value;
    } else if (strcmp(key, "path") == 0) {
        extra->path = value;
    } else if (strcmp(key, "name") == 0) {
        model->name = value;
        return check_model_name(value);
    } else if (strchr(key, '.')) {
        size_t used = strlen(overloads);
        snprintf(overloads + used, room - used, "%s%s=%s", used ? ":" : "", key, value);
        model->options = overloads;
    } else {
        return fail("option --model: \"%s\" is none of version, path, name, disable_clip, enable_transform or "
                    "EXTRACTOR.OPTION", key);
    }
    return 1;
}

static int apply_model(options *o, const option_row *row, const char *value) {
    if (o->model_count == MAX_MODELS) {
        return fail("option --%s can be given %d times at most", row->name, MAX_MODELS);
    }
    size_t length = strlen(value) + 1;
    vmafgpu_model_config *model = &o->models[o->model_count];
    model_option *extra = &o->model_options[o->model_count++];
    extra->text = copy_text(value, 2 * length); /* behind it: room to join the feature options again */
    if (!extra->text) {
        return out_of_memory();
    }
    char *overloads = extra->text + length;
    overloads[0] = '\0';
    for (char *pair = extra->text; pair;) {
        char *colon = strchr(pair, ':');
        if (colon) {
            *colon = '\0';
        }
        if (!parse_model_pair(model, extra, pair, overloads, length)) {
            return 0;
        }
        pair = colon ? colon + 1 : NULL;
    }
    return 1;
}

/* NAME or NAME=OPTION=VALUE:OPTION=VALUE... */
static int apply_feature(options *o, const option_row *row, const char *value) {
    if (o->feature_count == MAX_FEATURES) {
        return fail("option --%s can be given %d times at most", row->name, MAX_FEATURES);
    }
    char *text = copy_text(value, 0);
    if (!text) {
        return out_of_memory();
    }
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

#define AT(field) offsetof(options, field)

static const option_row option_rows[] = {
    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Input"},
    {"reference", 'r', "FILE", apply_text, AT(reference), 0, 0, 0,
     "the original: .y4m or raw .yuv, a file, a FIFO,\nor - for standard input"},
    {"distorted", 'd', "FILE", apply_file, AT(distorted), 0, 0, 0,
     "what became of it; likewise. May be repeated: all\nare scored in one go, up to the end of the shortest"},
    {"width", 'w', "N", apply_number, AT(width), 1, VIDEO_MAX_SIDE, 0,
     "raw video needs these four options, y4m none:\nits width,"},
    {"height", 'h', "N", apply_number, AT(height), 1, VIDEO_MAX_SIDE, 0, "its height,"},
    {"pixel_format", 'p', "FORMAT", apply_pixel_format, 0, 0, 0, 0,
     "its format: 420, 422, 444 or 400 (planar); nv12,\nnv16, nv24, p010, p012, p016, p210 ... p416 (these\n"
     "imply the bit depth). Chroma planes of odd-sized\nraw video are rounded down (y4m: up),"},
    {"bitdepth", 'b', "N", apply_number, AT(bit_depth), 8, 16, 0,
     "and its bit depth, 8 to 16; samples above 8 bits\nare 16-bit little-endian words"},
    {"frame_cnt", 0, "N", apply_number, AT(frame_count), 0, UINT32_MAX, 0, "stop after N frames (0: at the end)"},
    {"frame_skip_ref", 0, "N", apply_number, AT(skip_reference), 0, UINT32_MAX, 0,
     "leave out the first N frames of the reference"},
    {"frame_skip_dist", 0, "N", apply_number, AT(skip_distorted), 0, UINT32_MAX, 0,
     "leave out the first N frames of the distorted"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "What to compute"},
    {"model", 'm', "PARAMS", apply_model, 0, 0, 0, 0,
     "KEY=VALUE pairs joined by colons:\n"
     "  version=NAME  a built-in model, see below\n"
     "  path=FILE     a model file of libvmaf (.json)\n"
     "  name=TEXT     its name in reports (default vmaf)\n"
     "  disable_clip, enable_transform\n"
     "  EXTRACTOR.OPTION=VALUE  e.g.\n"
     "                motion.motion_force_zero=true\n"
     "May be repeated; each needs a name of its own"},
    {"feature", 0, "PARAMS", apply_feature, 0, 0, 0, 0,
     "vif, adm, motion, cambi or speed_chroma, besides\nwhat the models need; with options:\n"
     "vif=debug=true:vif_skip_scale0=true"},
    {"no_prediction", 'n', NULL, apply_flag, AT(no_prediction), 1, 0, 0, "features only, no scores"},
    {"subsample", 0, "N", apply_number, AT(subsample), 0, 1 << 30, 0, "score every N-th frame"},
    {"aom_ctc", 0, "VERSION", apply_preset, 0, 0, 0, 0, "not available: needs metrics that are not here"},
    {"nflx_ctc", 0, "VERSION", apply_preset, 0, 0, 0, 0, "not available: likewise"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Output"},
    {"output", 'o', "FILE", apply_file, AT(output), 0, 0, 0,
     "write a report of every frame (-: standard output).\nWith several -d as many -o, in the same order"},
    {"xml", 0, NULL, apply_report, 0, REPORT_XML, 0, 0, "the report as XML (default)"},
    {"json", 0, NULL, apply_report, 0, REPORT_JSON, 0, 0, "as JSON"},
    {"csv", 0, NULL, apply_report, 0, REPORT_CSV, 0, 0, "as comma-separated values"},
    {"sub", 0, NULL, apply_report, 0, REPORT_SUB, 0, 0, "as subtitles"},
    {"pool", 0, "LIST", apply_pool, 0, 0, 0, 1,
     "print these of each score on standard output, and\nadd what is missing of them to the pooled part of\n"
     "the report: mean, harmonic_mean, min, max, median,\np5 (a percentile). Without a report the default is\n"
     "--pool mean"},
    {"precision", 0, "P", apply_precision, 0, 0, 0, 1,
     "numbers: N decimals, max (every bit), or legacy\n(default: as libvmaf, mostly 6 decimals)"},
    {"quiet", 'q', NULL, apply_flag, AT(quiet), 1, 0, 0, "no progress line"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Running"},
    {"backend", 0, "NAME", apply_backend, 0, 0, 0, 1,
     "auto (default): a GPU if one can be used, else the\nCPU; cpu; cuda: an NVIDIA GPU, or one sentence why\n"
     "not; hip: an AMD GPU, likewise. Scores don't depend\non it. When given, XML and JSON reports say what ran"},
    {"gpu", 0, "N", apply_number, AT(gpu), 0, MAX_GPU, 1, "which GPU, counted from 0 (default)"},
    {"kernels", 0, "FILE", apply_text, AT(kernels), 0, 0, 1,
     "the GPU's kernels; default: vmafgpu_kernels.*ptx or\n.hsaco in the folder of this program"},
    {"threads", 0, "N", apply_number, AT(threads), 0, UINT32_MAX, 0, "worker threads; scores don't depend on them"},
    {"cpumask", 'c', "MASK", apply_number, AT(cpumask), -1, UINT32_MAX, 0,
     "instruction sets not to use (a bit each, as in\nlibvmaf; scores don't depend on them)"},
    {"gpumask", 0, "MASK", apply_number, AT(gpumask), -1, UINT32_MAX, 0, "not 0: --backend auto uses no GPU"},

    {NULL, 0, NULL, NULL, 0, 0, 0, 0, "Other"},
    {"version", 'v', NULL, apply_flag, AT(version), 1, 0, 0, "print the version"},
    {"help", 0, NULL, apply_flag, AT(help), 1, 0, 1, "print this"},
};
enum { OPTION_ROWS = sizeof option_rows / sizeof option_rows[0] };

static void print_option_help(const option_row *row) {
    enum { help_column = 30 };
    char left[64];
    int length = snprintf(left, sizeof left, "  %c%c%c --%s%s%s", row->letter ? '-' : ' ',
                          row->letter ? row->letter : ' ', row->letter ? ',' : ' ', row->name, row->value ? " " : "",
                          row->value ? row->value : "");
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

static void print_help(void) {
    printf("vmafgpu %s: VMAF scores of a video, the very numbers of libvmaf's plain C code.\n\n"
           "Usage: vmafgpu -r REFERENCE -d DISTORTED [-w N -h N -p FORMAT -b N] [-m version=NAME] [-o FILE]\n",
           vmafgpu_version());
    for (int i = 0; i < OPTION_ROWS; i++) {
        if (option_rows[i].name) {
            print_option_help(&option_rows[i]);
        } else {
            printf("\n%s\n", option_rows[i].help);
        }
    }
    printf("\nBuilt-in models (the first is the default)\n");
    const vmafgpu_model *model;
    for (int i = 0; (model = vmafgpu_builtin_model_at(i)) != NULL; i++) {
        printf("  %s\n", model->name);
    }
    printf("\nLong options may be shortened while they stay unambiguous. The exit status is 0 when the clip was\n"
           "scored, also when one video is longer than the other; it is 1 after any error. After a damaged or\n"
           "truncated frame the frames before it are still scored and reported, and the status is 1.\n\n"
           "Example: ffmpeg -v error -i out.mp4 -f yuv4mpegpipe -strict -1 - | vmafgpu -r ref.y4m -d -\n");
}

/* The row of a long option, `length` characters of it. A beginning is enough when it fits one row only, or one row
 * only of those that libvmaf's tool has: what is short there must not become ambiguous here. */
static const option_row *find_long_option(const char *name, size_t length) {
    const option_row *found[2] = {NULL, NULL};
    int count[2] = {0, 0};
    for (int i = 0; i < OPTION_ROWS; i++) {
        const option_row *row = &option_rows[i];
        if (!row->name || strncmp(row->name, name, length) != 0) {
            continue;
        }
        if (row->name[length] == '\0') {
            return row;
        }
        found[row->is_ours] = row;
        count[row->is_ours]++;
    }
    if (count[0] == 1) {
        return found[0];
    }
    if (count[0] == 0 && count[1] == 1) {
        return found[1];
    }
    fail("%s option \"--%.*s\"", count[0] + count[1] ? "ambiguous" : "unknown", (int)length, name);
    return NULL;
}

static const option_row *find_short_option(char letter) {
    for (int i = 0; i < OPTION_ROWS; i++) {
        if (option_rows[i].name && option_rows[i].letter == letter) {
            return &option_rows[i];
        }
    }
    fail("unknown option \"-%c\"", letter);
    return NULL;
}

/* argv[*at] is `--name`, `--name=value` or `--name value`. */
static int parse_long_option(options *o, int argc, char **argv, int *at) {
    const char *name = argv[*at] + 2;
    size_t length = strcspn(name, "=");
    const option_row *row = find_long_option(name, length);
    if (!row) {
        return 0;
    }
    const char *value = name[length] ? name + length + 1 : NULL;
    if (value && !row->value) {
        return fail("option --%s takes no value", row->name);
    }
    if (row->value && !value) {
        if (*at + 1 >= argc) {
            return fail("option --%s needs a value", row->name);
        }
        value = argv[++*at];
    }
    return row->apply(o, row, value);
}

/* argv[*at] is letters without values and perhaps, last, one with its value: `-q`, `-nq`, `-w576`, `-w 576`. */
static int parse_short_options(options *o, int argc, char **argv, int *at) {
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        const option_row *row = find_short_option(*letter);
        if (!row) {
            return 0;
        }
        if (!row->value) {
            if (!row->apply(o, row, NULL)) {
                return 0;
            }
            continue;
        }
        if (letter[1] == '\0' && *at + 1 >= argc) {
            return fail("option -%c (--%s) needs a value", row->letter, row->name);
        }
        return row->apply(o, row, letter[1] ? letter + 1 : argv[++*at]);
    }
    return 1;
}

static int parse_arguments(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int is_option = word[0] == '-' && word[1] != '\0' && strcmp(word, "--") != 0;
        if (!is_option) {
            return fail("unexpected argument \"%s\"", word);
        }
        if (!(word[1] == '-' ? parse_long_option : parse_short_options)(o, argc, argv, &i)) {
            return 0;
        }
    }
    return 1;
}

static int check_raw_options(options *o) {
    if (!o->width && !o->height && !o->pixel_format && !o->bit_depth) {
        return 1;
    }
    int implied = o->pixel_format ? o->pixel_format->bit_depth : 0;
    if (!o->bit_depth) {
        o->bit_depth = implied;
    }
    if (!o->width || !o->height || !o->pixel_format || !o->bit_depth) {
        return fail("raw video needs all of --width, --height, --pixel_format and --bitdepth");
    }
    if (implied && o->bit_depth != implied) {
        return fail("pixel format %s has %d bits, not %d", o->pixel_format->name, implied, (int)o->bit_depth);
    }
    return 1;
}

static const char *model_name(const options *o, int i) {
    return o->models[i].name ? o->models[i].name : "vmaf";
}

static int check_model_names(const options *o) {
    for (int i = 0; i < o->model_count; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(model_name(o, i), model_name(o, j)) == 0) {
                return fail("two models are named \"%s\"; give each its own with --model name=TEXT", model_name(o, i));
            }
        }
    }
    return 1;
}

/* Standard input and output are for one each, and no report overwrites a video or another report. */
static int check_files(const options *o) {
    int inputs = strcmp(o->reference, "-") == 0;
    for (int i = 0; i < o->distorted.count; i++) {
        inputs += strcmp(o->distorted.names[i], "-") == 0;
    }
    if (inputs > 1) {
        return fail("only one of the videos can come from standard input");
    }
    if (o->output.count && o->output.count != o->distorted.count) {
        return fail("%d distorted videos need as many reports (-o), or none, not %d", o->distorted.count,
                    o->output.count);
    }
    for (int i = 0; i < o->output.count; i++) {
        const char *name = o->output.names[i];
        int is_video = strcmp(name, o->reference) == 0, is_twice = 0;
        for (int k = 0; k < o->distorted.count; k++) {
            is_video |= strcmp(name, o->distorted.names[k]) == 0;
            is_twice |= k < i && strcmp(name, o->output.names[k]) == 0;
        }
        if (is_video && strcmp(name, "-") != 0) {
            return fail("the report would overwrite the video \"%s\"", name);
        }
        if (is_twice) {
            return fail("two reports are named \"%s\"", name);
        }
    }
    return 1;
}

static int check_options(options *o) {
    if (!o->reference || !o->distorted.count) {
        return fail("a reference (-r) and a distorted video (-d) are needed");
    }
    if (!check_files(o)) {
        return 0;
    }
    if (!o->output.count && o->pooling_count == 0) {
        o->poolings[o->pooling_count++] = standard_poolings[POOL_MEAN];
    }
    return check_raw_options(o) && check_model_names(o);
}

static void free_options(options *o) {
    for (int i = 0; i < o->model_count; i++) {
        free(o->model_options[i].text);
        vmafgpu_model_free(o->model_options[i].parsed, NULL);
    }
    for (int i = 0; i < o->feature_count; i++) {
        free(o->feature_texts[i]);
    }
    free(o->pooling_text);
}

/* ------------------------------------------------------------------------------------------------
 * Opening what the options name
 * ------------------------------------------------------------------------------------------------ */

/* Does a feature of the models, or one that is asked for by itself, look at chroma? Models are loaded already. */
static int needs_chroma(const options *o) {
    for (int i = 0; i < o->feature_count; i++) {
        if (strcmp(o->features[i].name, "speed_chroma") == 0) {
            return 1;
        }
    }
    for (int i = 0; i < o->model_count; i++) {
        const char *version = o->models[i].version;
        const vmafgpu_model *model = version ? vmafgpu_builtin_model(version) : o->models[i].model;
        for (int k = 0; model && k < model->svms[0].feature_count; k++) {
            if (strstr(model->svms[0].feature_names[k], "speed_chroma")) {
                return 1;
            }
        }
    }
    return 0;
}

static int open_video(video *v, const char *path, const options *o) {
    video_raw raw;
    if (o->pixel_format) {
        raw.width = (int)o->width;
        raw.height = (int)o->height;
        raw.bit_depth = (int)o->bit_depth;
        raw.chroma = o->pixel_format->chroma;
        raw.layout = o->pixel_format->layout;
    }
    if (video_open(v, path, o->pixel_format ? &raw : NULL, !needs_chroma(o)) != VIDEO_OK) {
        return fail("%s", v->error);
    }
    return 1;
}

static int check_videos(const video *r, const video *d) {
    if (r->width != d->width || r->height != d->height) {
        return fail("the sizes differ: \"%s\" is %dx%d, \"%s\" is %dx%d", r->name, r->width, r->height, d->name,
                    d->width, d->height);
    }
    if (r->bit_depth != d->bit_depth) {
        return fail("the bit depths differ: \"%s\" has %d bits, \"%s\" has %d", r->name, r->bit_depth, d->name,
                    d->bit_depth);
    }
    if (strcmp(r->sampling.name, d->sampling.name) != 0) {
        return fail("the pixel formats differ: \"%s\" is %s, \"%s\" is %s", r->name, r->sampling.name, d->name,
                    d->sampling.name);
    }
    return 1;
}

/* The whole of a file; NULL after a message. */
static char *read_text_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    if (!file) {
        fail("the model \"%s\" cannot be opened (%s)", path, strerror(errno));
        return NULL;
    }
    for (;;) {
        if (*size == room) {
            room = room ? 2 * room : 1 << 16;
            char *larger = room <= MAX_MODEL_FILE ? (char *)realloc(text, room) : NULL;
            if (!larger) {
                fail("the model \"%s\" is too large", path);
                break;
            }
            text = larger;
        }
        size_t count = fread(text + *size, 1, room - *size, file);
        *size += count;
        if (count == 0) {
            if (ferror(file)) {
                fail("the model \"%s\" cannot be read (%s)", path, strerror(errno));
                break;
            }
            fclose(file);
            return text;
        }
    }
    free(text);
    fclose(file);
    return NULL;
}

static int unknown_model(const char *name) {
    const vmafgpu_model *model;
    fprintf(stderr, "vmafgpu: there is no built-in model \"%s\"; there are", name);
    for (int i = 0; (model = vmafgpu_builtin_model_at(i)) != NULL; i++) {
        fprintf(stderr, "%s %s", i ? "," : "", model->name);
    }
    fputs(".\n", stderr);
    return 0;
}

static int load_models(options *o) {
    for (int i = 0; i < o->model_count; i++) {
        const char *path = o->model_options[i].path;
        const char *version = o->models[i].version;
        if (version && !vmafgpu_builtin_model(version)) {
            return unknown_model(version);
        }
        if (!path || version) {
            continue; /* as in libvmaf, a version goes before a path */
        }
        size_t size;
        char *text = read_text_file(path, &size);
        if (!text) {
            return 0;
        }
        char error[512] = "";
        vmafgpu_result result =
            vmafgpu_model_parse(&o->model_options[i].parsed, path, text, size, NULL, error, sizeof error);
        free(text);
        if (result != VMAFGPU_OK) {
            return fail("%s", error);
        }
        o->models[i].model = o->model_options[i].parsed;
    }
    return 1;
}

static vmafgpu *open_context(const options *o, const video *v) {
    vmafgpu_config config = video_config(v);
    vmafgpu *context = NULL;
    config.models = o->model_count ? o->models : NULL;
    config.model_count = o->model_count;
    /* Models with --no_prediction say which features to compute; their scores are left out of the report. */
    config.no_model = o->no_prediction && o->model_count == 0;
    config.features = o->feature_count ? o->features : NULL;
    config.feature_count = o->feature_count;
    config.subsample = (int)o->subsample;
    config.backend = o->backend == VMAFGPU_BACKEND_AUTO && o->gpumask ? VMAFGPU_BACKEND_CPU : o->backend;
    config.gpu.device = (int)o->gpu;
    config.gpu.kernels_path = o->kernels;
    config.cpumask = (unsigned)(o->cpumask < 0 ? 0xffffffff : o->cpumask);
    config.threads = (int)(o->threads < MAX_THREADS ? o->threads : MAX_THREADS);
    config.together = o->distorted.count;
    vmafgpu_result result = vmafgpu_open(&context, &config);
    if (result != VMAFGPU_OK) {
        fail("%s", vmafgpu_last_error(context));
        vmafgpu_close(context);
        return NULL;
    }
    return context;
}

/* ------------------------------------------------------------------------------------------------
 * Progress
 * ------------------------------------------------------------------------------------------------ */

static double wall_clock(void) {
#ifdef _WIN32
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    return (double)ticks.QuadPart / (double)per_second.QuadPart;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#endif
}

static int is_terminal(FILE *file) {
#ifdef _WIN32
    return _isatty(_fileno(file));
#else
    return isatty(fileno(file));
#endif
}

typedef struct progress {
    int     enabled;
    double  start, shown;
    int64_t total; /* -1: unknown */
    int     width; /* of the line that is on the screen */
} progress;

static void progress_line(progress *p, int64_t frames, double now, const char *backend) {
    char line[320];
    double elapsed = now - p->start;
    double speed = elapsed > 0 ? (double)frames / elapsed : 0;
    int length = snprintf(line, sizeof line, "%lld frames, %.1f frames/s%s%s", (long long)frames, speed,
                          *backend ? ", " : "", backend);
    if (p->total >= frames && speed > 0) {
        long long left = (long long)((double)(p->total - frames) / speed + 0.5);
        length = snprintf(line, sizeof line, "%lld of %lld frames, %.1f frames/s, %lld:%02lld:%02lld left",
                          (long long)frames, (long long)p->total, speed, left / 3600, left / 60 % 60, left % 60);
    }
    fprintf(stderr, "\r%-*s", p->width, line); /* padded, to wipe a longer line */
    fflush(stderr);
    p->width = length;
    p->shown = now;
}

static void progress_frame(progress *p, int64_t frames) {
    double now = p->enabled ? wall_clock() : 0;
    if (p->enabled && now - p->shown >= 0.1) {
        progress_line(p, frames, now, "");
    }
}

/* "cpu" or "cuda (NVIDIA H200)"; "" without a context. */
static void backend_text(char *out, size_t size, const vmafgpu *context) {
    const char *name = vmafgpu_backend_name(context), *device = vmafgpu_device_name(context);
    snprintf(out, size, strcmp(name, "cpu") != 0 && *device ? "%s (%s)" : "%s", name, device);
}

/* The last progress line, with what ran; that alone where there is no terminal and --backend was given. */
static void progress_end(progress *p, int64_t frames, const options *o, const vmafgpu *context) {
    char backend[160];
    backend_text(backend, sizeof backend, context);
    if (p->enabled) {
        p->total = -1; /* nothing is left */
        progress_line(p, frames, wall_clock(), backend);
        fputc('\n', stderr);
    } else if (o->names_backend && !o->quiet && *backend) {
        fprintf(stderr, "vmafgpu: backend %s\n", backend);
    }
}

/* A GPU that began the clip, or was named, did not score it: the scores are right all the same, but late. */
static void warn_of_fallback(const options *o, const vmafgpu *context) {
    const char *note = vmafgpu_backend_note(context);
    if (*note && (*vmafgpu_device_name(context) || o->kernels || o->gpu)) {
        fprintf(stderr, "vmafgpu: warning: %s; the CPU took over.\n", note);
    }
}

/* What is scored: videos[0], the reference, against the others, each with a context; without contexts nothing is
 * computed. */
typedef struct session {
    video    videos[1 + MAX_DISTORTED];
    vmafgpu *contexts[MAX_DISTORTED];
    int      count; /* of distorted videos */
} session;

static const char *path_of(const options *o, int i) {
    return i ? o->distorted.names[i - 1] : o->reference;
}

/* How many pairs there will be, as far as the files' sizes tell. */
static int64_t expected_frames(const options *o, const session *all) {
    int64_t total = o->frame_count ? o->frame_count : INT64_MAX;
    for (int i = 0; i <= all->count; i++) {
        int64_t frames = all->videos[i].frames_total - (i ? o->skip_distorted : o->skip_reference);
        if (all->videos[i].frames_total < 0) {
            return o->frame_count ? o->frame_count : -1;
        }
        total = frames < total ? frames : total;
    }
    return total;
}

/* ------------------------------------------------------------------------------------------------
 * Scoring
 * ------------------------------------------------------------------------------------------------ */

typedef struct scoring {
    int64_t frames; /* pairs that were pushed */
    double  seconds;
    int     intact; /* 0: an error, already reported, cut the clip short */
} scoring;

static int skip_frames(video *v, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        video_result result = video_read(v);
        if (result == VIDEO_END) {
            break;
        }
        if (result != VIDEO_OK) {
            return fail("%s", v->error);
        }
    }
    return 1;
}

/* What libvmaf's tool says, word for word: it isn't an error. */
static void report_early_end(const char *shorter, const char *longer) {
    fprintf(stderr, "\"%s\" ended before \"%s\".\n", shorter, longer);
}

/* A frame of each video, and where there is none, why. */
typedef struct pair {
    video_result  states[1 + MAX_DISTORTED];
    vmafgpu_frame frames[1 + MAX_DISTORTED];
} pair;

/* The first sentence of a context, where something went wrong. */
static const char *first_error(const session *all) {
    for (int i = 0; i < all->count; i++) {
        if (*vmafgpu_last_error(all->contexts[i])) {
            return vmafgpu_last_error(all->contexts[i]);
        }
    }
    return "a frame has no score";
}

/* Says where reading a pair failed or, if it did not, which video ended while another one goes on. */
static video_result judge_pair(const session *all, const options *o, const pair *now, const char **problem) {
    video_result worst = VIDEO_OK;
    int ended = -1, longer = -1;
    for (int i = 0; i <= all->count; i++) {
        video_result state = now->states[i];
        if (state > VIDEO_END && worst <= VIDEO_END) {
            *problem = all->videos[i].error;
        }
        worst = state > worst ? state : worst;
        ended = ended < 0 && state == VIDEO_END ? i : ended;
        longer = longer < 0 && state == VIDEO_OK ? i : longer;
    }
    if (worst == VIDEO_END && longer >= 0) {
        report_early_end(path_of(o, ended), path_of(o, longer));
    }
    return worst;
}

static int push_pair(const session *all, const pair *now) {
    return !all->contexts[0] ||
           vmafgpu_push_many(all->contexts, all->count, &now->frames[0], &now->frames[1]) == VMAFGPU_OK;
}

static int flush_all(session *all) {
    int ok = 1;
    for (int i = 0; i < all->count && all->contexts[i]; i++) {
        ok &= vmafgpu_flush(all->contexts[i]) == VMAFGPU_OK;
    }
    return ok;
}

/* Where several threads score, none of them should wait for a pipe: one more thread reads the next pair while the present
 * one is scored. The videos are that thread's from reader_order() until reader_wait() or reader_stop() returns, and the
 * caller's otherwise. The caller reads what is not read ahead. */
typedef struct reader {
    session        *all;
    pair            next;
#ifdef READ_AHEAD
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  changed; /* one of the two below did */
    int             reading; /* the thread is to read a pair, and has not done so */
    int             ending;  /* it is to end */
#endif
    int             started; /* below 0: that failed */
    int             ordered; /* a pair that the caller has not taken */
} reader;

static void read_pair(session *all, pair *out) {
    for (int i = 0; i <= all->count; i++) {
        out->states[i] = video_read(&all->videos[i]);
        if (out->states[i] == VIDEO_OK) {
            out->frames[i] = video_frame(&all->videos[i]);
        }
    }
}

/* Lets the present pair stay while the next one is read. 0 if there is nothing that takes time to read, as files are
 * mapped, or if that takes too much memory. */
static int keep_pair(session *all) {
    size_t bytes = 0;
    for (int i = 0; i <= all->count; i++) {
        bytes += video_is_copied(&all->videos[i]) ? video_frame_bytes(&all->videos[i]) : 0;
    }
    for (int i = 0; i <= all->count; i++) {
        if (bytes == 0 || bytes > MAX_COPIED || !video_keep(&all->videos[i])) {
            return 0;
        }
    }
    return 1;
}

#ifdef READ_AHEAD
static void *reader_work(void *user) {
    reader *r = (reader *)user;
    pthread_mutex_lock(&r->lock);
    while (!r->ending) {
        if (r->reading) {
            pthread_mutex_unlock(&r->lock);
            read_pair(r->all, &r->next);
            pthread_mutex_lock(&r->lock);
            r->reading = 0;
            pthread_cond_signal(&r->changed);
        } else {
            pthread_cond_wait(&r->changed, &r->lock);
        }
    }
    r->reading = 0;
    pthread_cond_signal(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int reader_start(reader *r) {
    if (pthread_mutex_init(&r->lock, NULL) != 0) {
        return 0;
    }
    if (pthread_cond_init(&r->changed, NULL) == 0) {
        if (pthread_create(&r->thread, NULL, reader_work, r) == 0) {
            return 1;
        }
        pthread_cond_destroy(&r->changed);
    }
    pthread_mutex_destroy(&r->lock);
    return 0;
}

static void reader_order(reader *r) {
    if (!r->started) {
        r->started = reader_start(r) ? 1 : -1;
    }
    if (r->started > 0) {
        pthread_mutex_lock(&r->lock);
        r->reading = r->ordered = 1;
        pthread_cond_signal(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
}

static void reader_wait(reader *r) {
    pthread_mutex_lock(&r->lock);
    while (r->reading) {
        pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Does nothing: that it is called ends a read(). */
static void wake_up(int number) {
    (void)number;
}

/* Ends the thread. If it is still reading, nobody wants that pair; a pipe could keep it waiting for ever, but a signal
 * ends the wait. One that comes too early ends nothing, hence another one every few milliseconds. */
static void reader_stop(reader *r) {
    struct sigaction action;
    if (r->started <= 0) {
        return;
    }
    memset(&action, 0, sizeof action); /* without SA_RESTART */
    action.sa_handler = wake_up;
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&r->lock);
    r->ending = 1;
    pthread_cond_signal(&r->changed);
    while (r->reading) {
        struct timespec soon;
        sigaction(SIGUSR1, &action, NULL);
        pthread_kill(r->thread, SIGUSR1);
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 5000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&r->changed, &r->lock, &soon);
    }
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
}
#else
static void reader_order(reader *r) { r->started = -1; }
static void reader_wait(reader *r) { (void)r; }
static void reader_stop(reader *r) { (void)r; }
#endif

/* Gives the next pair. If there is one, and `more`, the thread begins to read the pair after it. */
static video_result reader_next(reader *r, const options *o, int more, pair *now, const char **problem) {
    if (r->ordered) {
        reader_wait(r);
        r->ordered = 0;
    } else {
        read_pair(r->all, &r->next);
    }
    *now = r->next;
    video_result result = judge_pair(r->all, o, now, problem);
    if (result == VIDEO_OK && more && o->threads > 1 && r->started >= 0 && keep_pair(r->all)) {
        reader_order(r);
    }
    return result;
}

/* Reads and pushes pairs until one video ends, something goes wrong, or --frame_cnt is reached, and waits for the
 * scores. */
static scoring score_videos(session *all, const options *o) {
    scoring s = {0, 0, 1};
    progress p = {0, 0, 0, -1, 0};
    const char *problem = NULL;
    pair now;
    reader r;
    memset(&r, 0, sizeof r);
    r.all = all;
    for (int i = 0; i <= all->count; i++) {
        if (!skip_frames(&all->videos[i], i ? o->skip_distorted : o->skip_reference)) {
            s.intact = 0;
            return s;
        }
    }
    p.enabled = !o->quiet && is_terminal(stderr);
    p.total = expected_frames(o, all);
    p.start = wall_clock();
    while (!problem && (!o->frame_count || s.frames < o->frame_count) &&
           reader_next(&r, o, !o->frame_count || s.frames + 1 < o->frame_count, &now, &problem) == VIDEO_OK) {
        if (push_pair(all, &now)) {
            s.frames++;
            progress_frame(&p, s.frames);
        } else {
            problem = first_error(all);
        }
    }
    reader_stop(&r);
    const char *lost = s.frames > 0 && !flush_all(all) && !problem ? first_error(all) : NULL;
    s.seconds = wall_clock() - p.start;
    progress_end(&p, s.frames, o, all->contexts[0]);
    warn_of_fallback(o, all->contexts[0]);
    if (lost) {
        s.intact = fail("%s", lost);
    }
    if (problem) {
        s.intact = fail("%s", problem);
    }
    return s;
}

/* ------------------------------------------------------------------------------------------------
 * Reports
 * ------------------------------------------------------------------------------------------------ */

typedef struct report {
    FILE          *out;
    vmafgpu       *context; /* NULL: there are no columns */
    const options *o;
    const char    *name;    /* of the file; NULL: there is none */
    int            width, height;
    int            columns; /* that are shown: not the models' with --no_prediction */
    int64_t        rows;
    double         fps;
} report;

/* libvmaf prints six decimals, unless the fraction begins with six zeros or more: then sixteen. Its test multiplies
 * the fraction by ten until it reaches 1, and so must this one: a comparison with 1e-6 would round elsewhere. */
static int legacy_decimals(double number) {
    double size = fabs(number);
    if (!(size < 2147483648.0)) {
        return 6; /* infinite, not a number, or too large for a fraction that matters */
    }
    double fraction = size - (double)(int)size;
    int shifts = 0;
    while (fraction != 0 && fraction < 1) {
        fraction *= 10;
        shifts++;
    }
    return shifts <= 6 ? 6 : 16;
}

static void put_number(FILE *out, int digits, double number) {
    if (digits == DIGITS_MAX) {
        fprintf(out, "%.17g", number);
    } else {
        fprintf(out, "%.*f", digits == DIGITS_LEGACY ? legacy_decimals(number) : digits, number);
    }
}

static void put_json_number(FILE *out, int digits, double number) {
    if (number - number == 0) {
        put_number(out, digits, number);
    } else {
        fputs("null", out);
    }
}

static const char *report_name(const report *r, int column) {
    return vmafgpu_column_name(r->context, column);
}

static int pool_column(vmafgpu *context, int column, const pooling *p, double *value) {
    vmafgpu_result result = p->is_percentile ? vmafgpu_percentile(context, column, p->percentile, value)
                                             : vmafgpu_pool(context, column, p->method, value);
    return result == VMAFGPU_OK;
}

/* The ways of pooling in the report: the standard ones, then what --pool names besides. NULL past the last. */
static const pooling *report_pooling(const options *o, int i) {
    if (i < STANDARD_POOLINGS) {
        return &standard_poolings[i];
    }
    i -= STANDARD_POOLINGS;
    for (int k = 0; k < o->pooling_count; k++) {
        if (o->poolings[k].is_percentile && i-- == 0) {
            return &o->poolings[k];
        }
    }
    return NULL;
}

/* What ran, for the report: only when --backend was given, so that the default report is libvmaf's to the byte. Else NULL. */
static const char *report_backend(const report *r) {
    return r->o->names_backend && r->context ? vmafgpu_backend_name(r->context) : NULL;
}

/* The values of a row of the report, and the index of its frame. */
static const double *report_row(const report *r, int64_t row, long long *frame) {
    vmafgpu_score score;
    int64_t step = r->o->subsample > 1 ? r->o->subsample : 1;
    *frame = row * step;
    return vmafgpu_score_at(r->context, row * step, &score) == VMAFGPU_OK ? score.values : NULL;
}

static void write_xml(const report *r) {
    FILE *out = r->out;
    int digits = r->o->digits;
    const double *values;
    const pooling *p;
    long long frame;
    double pooled;
    fprintf(out, "<VMAF version=\"%s\">\n", vmafgpu_version());
    fprintf(out, "  <params qualityWidth=\"%d\" qualityHeight=\"%d\" />\n", r->width, r->height);
    fprintf(out, "  <fyi fps=\"%.2f\"", r->fps);
    if (report_backend(r)) {
        fprintf(out, " backend=\"%s\"", report_backend(r));
    }
    fprintf(out, " />\n");
    fprintf(out, "  <frames>\n");
    for (int64_t row = 0; row < r->rows && (values = report_row(r, row, &frame)) != NULL; row++) {
        fprintf(out, "    <frame frameNum=\"%lld\" ", frame);
        for (int c = 0; c < r->columns; c++) {
            fprintf(out, "%s=\"", report_name(r, c));
            put_number(out, digits, values[c]);
            fputs("\" ", out);
        }
        fprintf(out, "/>\n");
    }
    fprintf(out, "  </frames>\n  <pooled_metrics>\n");
    for (int c = 0; c < r->columns; c++) {
        fprintf(out, "    <metric name=\"%s\" ", report_name(r, c));
        for (int i = 0; (p = report_pooling(r->o, i)) != NULL; i++) {
            if (pool_column(r->context, c, p, &pooled)) {
                fprintf(out, "%s=\"", p->name);
                put_number(out, digits, pooled);
                fputs("\" ", out);
            }
        }
        fprintf(out, "/>\n");
    }
    fprintf(out, "  </pooled_metrics>\n  <aggregate_metrics />\n</VMAF>\n");
}

static void write_json_frame(const report *r, long long frame, const double *values) {
    fprintf(r->out, "%s    {\n      \"frameNum\": %lld,\n      \"metrics\": {\n", frame > 0 ? ",\n" : "\n", frame);
    for (int c = 0; c < r->columns; c++) {
        int is_finite = values[c] - values[c] == 0;
        fprintf(r->out, "        \"%s\": ", report_name(r, c));
        put_json_number(r->out, r->o->digits, values[c]);
        /* libvmaf leaves the line feed out after null. */
        fprintf(r->out, "%s%s", c + 1 < r->columns ? "," : "", is_finite ? "\n" : "");
    }
    fprintf(r->out, "      }\n    }");
}

static void write_json_pooled(const report *r, int column) {
    const pooling *p;
    double pooled;
    fprintf(r->out, "%s    \"%s\": {", column > 0 ? ",\n" : "\n", report_name(r, column));
    for (int i = 0; (p = report_pooling(r->o, i)) != NULL; i++) {
        if (pool_column(r->context, column, p, &pooled)) {
            fprintf(r->out, "%s      \"%s\": ", i > 0 ? ",\n" : "\n", p->name);
            put_json_number(r->out, r->o->digits, pooled);
        }
    }
    fprintf(r->out, "\n    }");
}

static void write_json(const report *r) {
    const double *values;
    long long frame;
    fprintf(r->out, "{\n  \"version\": \"%s\",\n  \"fps\": %.2f,\n", vmafgpu_version(), r->fps);
    if (report_backend(r)) {
        fprintf(r->out, "  \"backend\": \"%s\",\n", report_backend(r));
    }
    fprintf(r->out, "  \"frames\": [");
    for (int64_t row = 0; row < r->rows && (values = report_row(r, row, &frame)) != NULL; row++) {
        write_json_frame(r, frame, values);
    }
    fprintf(r->out, "\n  ],\n  \"pooled_metrics\": {");
    for (int c = 0; c < r->columns; c++) {
        write_json_pooled(r, c);
    }
    fprintf(r->out, "\n  },\n  \"aggregate_metrics\": {\n  }\n}\n");
}

static void write_csv(const report *r) {
    const double *values;
    long long frame;
    fprintf(r->out, "Frame,");
    for (int c = 0; c < r->columns; c++) {
        fprintf(r->out, "%s,", report_name(r, c));
    }
    fputc('\n', r->out);
    for (int64_t row = 0; row < r->rows && (values = report_row(r, row, &frame)) != NULL; row++) {
        fprintf(r->out, "%lld,", frame);
        for (int c = 0; c < r->columns; c++) {
            put_number(r->out, r->o->digits, values[c]);
            fputc(',', r->out);
        }
        fputc('\n', r->out);
    }
}

static void write_sub(const report *r) {
    const double *values;
    long long frame;
    for (int64_t row = 0; row < r->rows && (values = report_row(r, row, &frame)) != NULL; row++) {
        fprintf(r->out, "{%lld}{%lld}frame: %lld|", frame, frame + 1, frame);
        for (int c = 0; c < r->columns; c++) {
            fprintf(r->out, "%s: ", report_name(r, c));
            put_number(r->out, r->o->digits, values[c]);
            fputc('|', r->out);
        }
        fputc('\n', r->out);
    }
}

static FILE *open_output(const char *name) {
    if (strcmp(name, "-") == 0) {
#ifdef _WIN32
        _setmode(_fileno(stdout), _O_BINARY);
#endif
        return stdout;
    }
    FILE *out = fopen(name, "wb");
    if (!out) {
        fail("the report \"%s\" cannot be written (%s)", name, strerror(errno));
    }
    return out;
}

/* A full disk shows at the latest when the last buffer goes out. */
static int close_output(FILE *out, const char *name) {
    int bad = ferror(out);
    bad |= fflush(out);
    if (out != stdout) {
        bad |= fclose(out);
    }
    return bad ? fail("%s could not be written to its end (%s)", name, strerror(errno)) : 1;
}

static int write_report(const report *r) {
    static void (*const writers[])(const report *) = {write_xml, write_json, write_csv, write_sub};
    char name[400];
    snprintf(name, sizeof name, "the report \"%.380s\"", r->name);
    writers[r->o->report](r);
    return close_output(r->out, name);
}

/* Standard output, unless a report goes there. */
static FILE *pooled_output(const options *o) {
    for (int i = 0; i < o->output.count; i++) {
        if (strcmp(o->output.names[i], "-") == 0) {
            return stderr;
        }
    }
    return stdout;
}

/* "NAME POOLING VALUE" for each way of pooling. */
static void print_pooled_column(vmafgpu *context, const options *o, int column) {
    FILE *out = pooled_output(o);
    double value;
    for (int i = 0; i < o->pooling_count; i++) {
        if (pool_column(context, column, &o->poolings[i], &value)) {
            fprintf(out, "%s %s ", vmafgpu_column_name(context, column), o->poolings[i].name);
            put_number(out, o->digits, value);
            fputc('\n', out);
        }
    }
}

static void print_pooled_model(vmafgpu *context, const options *o, int model) {
    static const char *const suffixes[] = {"_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"};
    int column = vmafgpu_score_column(context, model);
    const char *name = vmafgpu_column_name(context, column);
    print_pooled_column(context, o, column);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) { /* a bootstrap model has these too */
        char output_name[1024];
        int length = snprintf(output_name, sizeof output_name, "%s%s", name, suffixes[i]);
        int output = length < (int)sizeof output_name ? vmafgpu_column_index(context, output_name) : -1;
        if (output >= 0) {
            print_pooled_column(context, o, output);
        }
    }
}

/* The scores; without any, the features. */
static int print_pooled(const report *r) {
    int models = r->o->model_count ? r->o->model_count : 1;
    if (r->o->no_prediction) {
        for (int c = 0; c < r->columns; c++) {
            print_pooled_column(r->context, r->o, c);
        }
    } else {
        for (int m = 0; m < models; m++) {
            print_pooled_model(r->context, r->o, m);
        }
    }
    return close_output(stdout, "standard output");
}

/* ------------------------------------------------------------------------------------------------
 * The program
 * ------------------------------------------------------------------------------------------------ */

/* The models' columns come last; --no_prediction leaves them out. */
static int shown_columns(vmafgpu *context, const options *o) {
    int columns = vmafgpu_column_count(context);
    for (int m = 0; o->no_prediction && m < o->model_count; m++) {
        int column = vmafgpu_score_column(context, m);
        columns = column >= 0 && column < columns ? column : columns;
    }
    return columns;
}

static int finish_report(report *r, const scoring *s) {
    int ok = 1;
    if (r->context && s->frames > 0) {
        r->columns = shown_columns(r->context, r->o);
        r->rows = vmafgpu_score_count(r->context);
    }
    r->fps = s->seconds > 0 ? (double)s->frames / s->seconds : 0;
    if (r->out) {
        ok = write_report(r);
    }
    return ok;
}

/* Scores and reports; everything is open. */
static int run(session *all, const options *o) {
    report reports[MAX_DISTORTED];
    int ok = 1;
    memset(reports, 0, sizeof reports);
    for (int i = 0; i < all->count; i++) {
        report *r = &reports[i];
        r->context = all->contexts[i];
        r->o = o;
        r->width = all->videos[0].width;
        r->height = all->videos[0].height;
        r->name = o->output.count ? o->output.names[i] : NULL;
        if (ok && r->name && (r->out = open_output(r->name)) == NULL) {
            ok = 0;
        }
    }
    if (!ok) {
        for (int i = 0; i < all->count; i++) {
            if (reports[i].out) {
                close_output(reports[i].out, reports[i].name);
            }
        }
        return 0;
    }
    scoring s = score_videos(all, o);
    ok = s.intact;
    if (s.frames == 0 && ok) {
        ok = fail("there is no pair of frames to score");
    }
    for (int i = 0; i < all->count; i++) {
        ok = finish_report(&reports[i], &s) && ok;
    }
    for (int i = 0; i < all->count && o->pooling_count > 0; i++) {
        if (all->count > 1 && reports[i].rows > 0) {
            fprintf(pooled_output(o), "%s:\n", path_of(o, 1 + i));
        }
        if (reports[i].rows > 0) {
            ok = print_pooled(&reports[i]) && ok;
        }
    }
    return ok;
}

static int open_and_run(session *all, options *o) {
    if (!load_models(o)) {
        return 0;
    }
    for (int i = 0; i <= all->count; i++) {
        if (!open_video(&all->videos[i], path_of(o, i), o)) {
            return 0;
        }
    }
    for (int i = 1; i <= all->count; i++) {
        if (!check_videos(&all->videos[0], &all->videos[i])) {
            return 0;
        }
    }
    if (o->no_prediction && o->model_count == 0 && o->feature_count == 0) {
        fail("there is nothing to compute: --no_prediction is given without --model and --feature");
        return run(all, o);
    }
    for (int i = 0; i < all->count; i++) {
        all->contexts[i] = open_context(o, &all->videos[0]);
        if (!all->contexts[i]) {
            return 0;
        }
    }
    return run(all, o);
}

static int score(options *o) {
    session *all = (session *)calloc(1, sizeof *all);
    if (!all) {
        return out_of_memory();
    }
    all->count = o->distorted.count;
    for (int i = 0; i <= all->count; i++) {
        video_start(&all->videos[i], "");
    }
    int ok = open_and_run(all, o);
    for (int i = 0; i < all->count; i++) {
        vmafgpu_close(all->contexts[i]);
    }
    for (int i = 0; i <= all->count; i++) {
        video_close(&all->videos[i]);
    }
    free(all);
    return ok;
}

/* What the arguments ask for; 0 sends the reader to the help. */
static int understand(options *o, int argc, char **argv) {
    return parse_arguments(o, argc, argv) && (o->help || o->version || check_options(o));
}

static int act(options *o) {
    if (o->help) {
        print_help();
    } else if (o->version) {
        printf("vmafgpu %s\n", vmafgpu_version());
    } else {
        return score(o);
    }
    return close_output(stdout, "standard output");
}

#ifdef VIDEO_MAP
/* Frames are looked at where the file is mapped, so this is how a file without them shows. */
static void lost_video(int number) {
    static const char sentence[] = "vmafgpu: a video became shorter, or could not be read, while it was being scored.\n";
    ssize_t written = write(2, sentence, sizeof sentence - 1);
    (void)number;
    _exit(written < 0 ? 2 : EXIT_FAILURE);
}

static void watch_videos(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = lost_video;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
#else
static void watch_videos(void) {}
#endif

int main(int argc, char **argv) {
    options o;
    int ok = 0;
    watch_videos();
    memset(&o, 0, sizeof o);
    o.digits = DIGITS_LEGACY;
    if (understand(&o, argc, argv)) {
        ok = act(&o);
    } else {
        fputs("Try \"vmafgpu --help\".\n", stderr);
    }
    free_options(&o);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
