/* vmafgpu: scores a distorted video against its reference, from the command line.
 *
 * It takes the options of libvmaf's `vmaf` tool, has its defaults, and writes the same report files, byte for
 * byte but for the version and the frames per second. `vmafgpu --help` says what it can do beyond that.
 *
 * What is here: options, files, what is compared with what, reading and scoring, reports. Beside it: video.h reads videos,
 * container.h recognises files that ffmpeg has to decode first, rawsize.h those whose size is not the stated one, cut.h
 * and scale.h take parts of them and make them larger or smaller, align.h finds frames that correspond; scores.h pools, rows.h keeps rows in
 * files, report.h writes libvmaf's reports, html.h (with html_page.h, thumbnail.h, png.h, xxh64.h) those to look at, plot.h draws in the terminal.
 *
 * Build:
 *
 *     cc -O2 examples/tool/[a-z]*.c -o vmafgpu -lm -lpthread
 */
#include "system.h"

#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"
#include "align.h"
#include "container.h"
#include "cut.h"
#include "html.h"
#include "plot.h"
#include "rawsize.h"
#include "report.h"
#include "rows.h"
#include "scale.h"
#include "scores.h"
#include "thumbnail.h"
#include "video.h"
#include "xxh64.h"

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
#  include <direct.h>
#  include <fcntl.h>
#  include <io.h>
#else
#  include <fcntl.h>
#  include <signal.h>
#  include <sys/ioctl.h>
#  include <sys/stat.h>
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
    MAX_REPORTS = MAX_DISTORTED + 1, /* with --html */
    MAX_NOTES = 24,
    MAX_THREADS = 256,
    MAX_GPU = 255,
    MAX_GPUS = 16,
    MAX_MODEL_FILE = 64 << 20,
    MAX_AHEAD = 24 << 20, /* bytes that are read of pipes before they are needed, where one frame of each is less */
    MAX_SLOTS = 16,       /* frames of a pipe that are in memory */
    PART = 1 << 20,       /* bytes of a file that a thread reads at once, about */
    MAX_PARTS = 16,       /* that it takes at once, where they are small */
    MAX_READERS = 16,     /* threads that read if nobody says how many */
    BRIEF = 24 * 1920 * 1080, /* pixels that the CPU has scored before a GPU is open */
    SHOWN_PATH = VIDEO_NAME_SHOWN + 3
};

/* ------------------------------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------------------------------ */

/* How many bytes at `text` make up a character that may go to a terminal; 0: the first byte may not. Control characters
 * would change what a terminal does; what is not UTF-8 could hold some. */
static int printable_length(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
#ifdef _WIN32
    return *c >= 0x20 && *c != 0x7f; /* bytes of a code page */
#else
    int length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    if (*c < 0x20 || *c == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0)) {
        return 0;
    }
    for (int i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
#endif
}

/* Prints text that may hold whatever a path or a file holds; what is not printable becomes \x and two digits. */
static void put_text(FILE *out, const char *text) {
    while (*text) {
        int length = printable_length(text);
        if (length > 0) {
            fwrite(text, 1, (size_t)length, out);
        } else {
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        }
        text += length > 0 ? length : 1;
    }
}

/* What was said of the videos, for reports that have room for it. */
static char notes[MAX_NOTES][1024];
static int note_count;

static void note(const char *sentence) {
    if (note_count < MAX_NOTES) {
        snprintf(notes[note_count++], sizeof notes[0], "%.1023s", sentence);
    }
}

static void put_sentence(const char *before, const char *format, va_list arguments, int is_noted) {
    char sentence[16384]; /* some paths */
    vsnprintf(sentence, sizeof sentence, format, arguments);
    if (is_noted) {
        note(sentence);
    }
    fputs(before, stderr);
    put_text(stderr, sentence);
    fputs(".\n", stderr);
}

/* One sentence, given without its full stop, on the error stream. Returns 0, which is failure for the functions here
 * that return a truth. */
static int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_sentence("vmafgpu: ", format, arguments, 0);
    va_end(arguments);
    return 0;
}

/* Likewise, of what is neither. */
static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_sentence("vmafgpu: ", format, arguments, 1);
    va_end(arguments);
}

/* With --strict a warning is a failure, which shows in the exit status. */
static int is_strict, strict_failures;

/* Likewise, of what is no failure. */
static void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_sentence(is_strict ? "vmafgpu: --strict: " : "vmafgpu: warning: ", format, arguments, 1);
    va_end(arguments);
    strict_failures += is_strict;
}

static int out_of_memory(void) {
    return fail("%s", vmafgpu_result_string(VMAFGPU_ERROR_MEMORY));
}

/* What the library calls a field of the config is an option here. A # stands for an index in brackets. Those that begin
 * alike: the longest first. */
static const struct {
    const char *field, *option;
} field_names[] = {
    {"config.width", "--width"},
    {"config.height", "--height"},
    {"config.bit_depth", "--bitdepth"},
    {"config.bytes_per_sample", "the bytes per sample"},
    {"config.chroma", "the pixel format"},
    {"config.layout", "the pixel format"},
    {"config.models#.name", "the name in --model"},
    {"config.models#", "--model"},
    {"config.models", "--model"},
    {"config.model_count", "the number of --model"},
    {"config.no_model", "--no_prediction"},
    {"config.features#", "--feature"},
    {"config.features", "--feature"},
    {"config.feature_count", "the number of --feature"},
    {"config.strict_options", "--strict"},
    {"config.float_reciprocal", "--float_reciprocal"},
    {"config.subsample", "--subsample"},
    {"config.backend", "--backend"},
    {"config.gpu.devices#", "--gpu"},
    {"config.gpu.devices", "--gpu"},
    {"config.gpu.device", "--gpu"},
    {"config.gpu.kernels_path", "--kernels"},
    {"config.cpumask", "--cpumask"},
    {"config.threads", "--threads"},
    {"config.together", "the number of --distorted"},
    {"config.gpu.", ""}, /* what no option sets */
    {"config.", ""},
};

/* How much of `text` is this field's name; 0: it begins with something else. */
static size_t match_field(const char *text, const char *field) {
    const char *at = text;
    for (; *field; field++) {
        if (*field == '#') {
            const char *end = *at == '[' ? strchr(at, ']') : NULL;
            if (!end) {
                return 0;
            }
            at = end + 1;
        } else if (*field != *at++) {
            return 0;
        }
    }
    int goes_on = at[-1] != '.' && ((*at >= 'a' && *at <= 'z') || *at == '_');
    return goes_on ? 0 : (size_t)(at - text);
}

/* A sentence of the library, in the words of the command line. */
static void translate(char *out, size_t size, const char *sentence) {
    size_t used = 0;
    while (*sentence && used + 1 < size) {
        size_t length = 0, row = 0;
        for (; *sentence == 'c' && row < sizeof field_names / sizeof field_names[0]; row++) {
            length = match_field(sentence, field_names[row].field);
            if (length > 0) {
                break;
            }
        }
        if (length > 0) {
            int written = snprintf(out + used, size - used, "%s", field_names[row].option);
            used += (size_t)written < size - used ? (size_t)written : size - used - 1;
            sentence += length;
        } else {
            out[used++] = *sentence++;
        }
    }
    out[used] = '\0';
}

static int fail_library(const char *sentence) {
    char text[1024];
    translate(text, sizeof text, sentence);
    return fail("%s", text);
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

typedef enum file_kind {
    FILE_NONE,    /* there is none of this name */
    FILE_REGULAR,
    FILE_PIPE,    /* or whatever else is one thing by whatever name */
    FILE_DEVICE   /* many may use it: a terminal, /dev/null */
} file_kind;

/* Which file a path names, however it is spelled. */
typedef struct file_id {
    file_kind kind;
    uint64_t  device, index;
} file_id;

/* Where a report goes. */
typedef struct destination {
    const char *name;      /* as it was given */
    char        title[SHOWN_PATH];
    int         is_stdout;
    file_id     file, folder;
    char       *path;      /* of the file behind all links, that is to be replaced; NULL: it is written to as it is */
    char       *base;      /* its last part */
    char       *temporary; /* beside it; NULL: none could be made */
    FILE       *out;       /* that or, where `path` is NULL, the thing itself */
} destination;

typedef enum progress_kind { PROGRESS_LINE, PROGRESS_NONE, PROGRESS_JSON } progress_kind;

typedef struct options {
    const char             *reference;
    file_list               distorted, output; /* as many outputs as distorted videos, or none */
    destination             destinations[MAX_REPORTS]; /* of the outputs and, last, of --html */
    progress_kind           progress;
    const char             *html;
    int                     plot;
    int                     is_plain; /* no tables, whatever standard output is */
    const char             *state;
    int64_t                 segment, segments; /* which of how many, counted from 1; 0: the whole */
    const char            **join; /* parts that are put together; NULL: there are none */
    int                     join_count;
    int                     argc; /* the command */
    char                  **argv;
    int64_t                 width, height, bit_depth;
    const pixel_format     *pixel_format;
    const char             *pixel_format_name; /* as it was given */
    int                     implied_depth;     /* the bit depth that the name states; 0: it states none */
    report_format           report;
    const char             *report_option;     /* --json and so on, if it was given */
    const char             *bare[2];           /* files that no option names */
    int                     bare_count;
    vmafgpu_model_config    models[MAX_MODELS];
    model_option            model_options[MAX_MODELS]; /* what models[i] needs besides */
    int                     model_count;
    vmafgpu_feature_config  features[MAX_FEATURES];
    char                   *feature_texts[MAX_FEATURES]; /* own what features[i] points into */
    int                     feature_count;
    pooling                 poolings[MAX_POOLINGS];
    char                   *pooling_text; /* owns the names that are not standard */
    int                     pooling_count;
    int64_t                 threads, subsample, cpumask, gpumask;
    int                     gpus[MAX_GPUS], gpu_count; /* VMAFGPU_ALL_DEVICES: all; 0: the first one, or none */
    int64_t                 frame_count, skip_reference, skip_distorted;
    cut_point               from, to;
    cut_window              crop;
    scale_kernel            scale;
    int64_t                 align; /* the largest offset; 0: none is looked for */
    const char             *kernels;
    vmafgpu_backend         backend;
    int                     names_backend; /* --backend was given: then reports say what ran */
    vmafgpu_reciprocal      reciprocal;
    int                     digits; /* after the point, or REPORT_DIGITS_... */
    int                     no_prediction, strict, quiet, self_test, version, help;
    int                     stdin_is_closed;
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

/* How many files of whatever kind are written at the end, and their names. */
static int report_count(const options *o) {
    return o->output.count + (o->html != NULL);
}

static const char *report_name(const options *o, int i) {
    return i < o->output.count ? o->output.names[i] : o->html;
}

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
    const char **target = (const char **)option_target(o, row);
    if (*target) {
        return fail("option --%s can be given only once", row->name);
    }
    *target = value;
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

/* The first of the parts; words behind it are parts, too. */
static int apply_join(options *o, const option_row *row, const char *value) {
    if (!o->join) {
        o->join = (const char **)malloc(sizeof *o->join * (size_t)o->argc);
    }
    if (!o->join) {
        return out_of_memory();
    }
    o->join[o->join_count++] = value;
    return *value ? 1 : fail("option --%s needs a value that isn't empty", row->name);
}

static int apply_segment(options *o, const option_row *row, const char *value) {
    int64_t segment = cut_digits(&value, 1000000), segments = *value == '/' ? (value++, cut_digits(&value, 1000000)) : 0;
    o->segment = segment;
    o->segments = segments;
    return (segment >= 1 && segment <= segments && *value == '\0') ||
           fail("option --%s needs I/N, the I-th of N segments, counted from 1", row->name);
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

static const pixel_format *find_pixel_format(const char *name, size_t length) {
    for (const pixel_format *f = pixel_formats; f->name; f++) {
        if (strlen(f->name) == length && strncmp(f->name, name, length) == 0) {
            return f;
        }
    }
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
    if (!o->pixel_format) {
        o->pixel_format = parse_ffmpeg_format(value, &o->implied_depth);
    }
    return o->pixel_format || fail("option --%s needs 420, 422, 444, 400, nv12, nv16, nv24, p010 to p416, or ffmpeg's name such as "
                                   "yuv420p10le, not \"%s\"", row->name, value);
}

static int apply_point(options *o, const option_row *row, const char *value) {
    return cut_parse((cut_point *)option_target(o, row), value) ||
           fail("option --%s needs a frame's number or a time such as 12.5s or 1:02.5, not \"%s\"", row->name, value);
}

static int apply_crop(options *o, const option_row *row, const char *value) {
    return cut_parse_window(&o->crop, value) ||
           fail("option --%s needs WIDTH:HEIGHT:X:Y or WIDTH:HEIGHT, %d or more wide and high, not \"%s\"", row->name,
                VIDEO_MIN_SIDE, value);
}

static int apply_scale(options *o, const option_row *row, const char *value) {
    o->scale = strcmp(value, "bicubic") == 0 ? SCALE_BICUBIC : strcmp(value, "lanczos") == 0 ? SCALE_LANCZOS : SCALE_NONE;
    return o->scale != SCALE_NONE || fail("option --%s needs bicubic or lanczos, not \"%s\"", row->name, value);
}

static int apply_report(options *o, const option_row *row, const char *value) {
    (void)value;
    o->report = (report_format)row->low;
    o->report_option = row->name;
    return 1;
}

/* Its place in a list that NULL ends, or -1. */
static int find_name(const char *const *names, const char *value) {
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], value) == 0) {
            return i;
        }
    }
    return -1;
}

static int apply_progress(options *o, const option_row *row, const char *value) {
    static const char *const names[] = {"line", "none", "json", NULL};
    const int i = find_name(names, value);
    if (i < 0) {
        return fail("option --%s needs line, none or json, not \"%s\"", row->name, value);
    }
    o->progress = (progress_kind)i;
    return 1;
}

static int apply_backend(options *o, const option_row *row, const char *value) {
    static const char *const names[] = {"auto", "cpu", "cuda", "hip", NULL};
    static const vmafgpu_backend backends[] = {VMAFGPU_BACKEND_AUTO, VMAFGPU_BACKEND_CPU, VMAFGPU_BACKEND_CUDA,
                                               VMAFGPU_BACKEND_HIP};
    const int i = find_name(names, value);
    if (i < 0) {
        return fail("option --%s needs auto, cpu, cuda or hip, not \"%s\"", row->name, value);
    }
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
        for (int i = 0; i < o->gpu_count; i++) {
            is_again |= o->gpus[i] == number;
        }
        if (number < 0 || number > MAX_GPU || is_again || o->gpu_count == MAX_GPUS || (*end && *end != ',')) {
            return fail("option --%s needs all, or up to %d different numbers from 0 to %d with commas between them, not \"%s\"",
                        row->name, (int)MAX_GPUS, (int)MAX_GPU, value);
        }
        o->gpus[o->gpu_count++] = (int)number;
        if (!*end) {
            return 1;
        }
        at = end + 1;
    }
}

static int apply_reciprocal(options *o, const option_row *row, const char *value) {
    static const char *const names[] = {"host", "amd", "intel", "division", NULL};
    static const vmafgpu_reciprocal reciprocals[] = {VMAFGPU_RECIPROCAL_HOST, VMAFGPU_RECIPROCAL_AMD,
                                                     VMAFGPU_RECIPROCAL_INTEL, VMAFGPU_RECIPROCAL_DIVISION};
    const int i = find_name(names, value);
    if (i < 0) {
        return fail("option --%s needs host, amd, intel or division, not \"%s\"", row->name, value);
    }
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
    if (strcmp(name, "avg") == 0) {
        *p = standard_poolings[POOL_MEAN];
        return 1;
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
    for (const char *c = name; *c; c += printable_length(c)) {
        if (printable_length(c) == 0 || strchr("\"\\<>&", *c)) {
            return fail("option --model: the name \"%s\" holds a character that reports cannot hold", name);
        }
    }
    return 1;
}

/* One `key=value` of --model. What isn't a key of a model is an option of one of its features and is collected,
 * joined by colons, in `overloads`, which holds `room` characters. */
static int parse_model_pair(vmafgpu_model_config *model, model_option *extra, char *key, char *overloads, size_t room) {
    static char version[] = "version";
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
    if (!value && vmafgpu_builtin_model(key)) { /* a name alone */
        value = key;
        key = version;
    }
    if (!value || !*key || !*value) {
        return fail("option --model: \"%s\" should be KEY=VALUE, for example version=vmaf_v0.6.1, or the name of a built-in model", key);
    }
    const char **text = strcmp(key, "version") == 0 ? &model->version
                        : strcmp(key, "path") == 0  ? &extra->path
                        : strcmp(key, "name") == 0  ? &model->name
                                                    : NULL;
    if (text) {
        if (*text) {
            return fail("option --model: %s=%s and %s=%s cannot both be meant", key, *text, key, value);
        }
        *text = value;
        return text != &model->name || check_model_name(value);
    }
    if (strchr(key, '.')) {
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
    if (model->version && extra->path) {
        return fail("option --%s: version=%s and path=%s are two models; give each a --%s of its own", row->name,
                    model->version, extra->path, row->name);
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

/* ---- presets: what common test conditions ask for ---- */

typedef enum preset_kind {
    PRESET_MODEL,
    PRESET_FEATURE,
    PRESET_REPLACES /* the feature of that name, if there is one */
} preset_kind;

/* One line of a preset, from version `since` on. */
typedef struct preset_row {
    int         since;
    preset_kind kind;
    const char *value; /* as --model or --feature has it */
} preset_row;

static const preset_row aom_ctc[] = {
    {1, PRESET_MODEL, "version=vmaf_v0.6.1:name=vmaf"},
    {1, PRESET_MODEL, "version=vmaf_v0.6.1neg:name=vmaf_neg"},
    {1, PRESET_FEATURE, "psnr=reduced_hbd_peak=true:enable_apsnr=true:min_sse=0.5"},
    {1, PRESET_FEATURE, "ciede"},
    {1, PRESET_FEATURE, "float_ssim=enable_db=true:clip_db=true"},
    {1, PRESET_FEATURE, "float_ms_ssim=enable_db=true:clip_db=true"},
    {1, PRESET_FEATURE, "psnr_hvs"},
    {3, PRESET_FEATURE, "cambi"},
    {7, PRESET_REPLACES, "float_ssim=scale=1:enable_db=true:clip_db=true"},
    {0, PRESET_MODEL, NULL},
};
static const preset_row nflx_ctc[] = {
    {1, PRESET_MODEL, "version=vmaf_4k_v0.6.1:name=vmaf"},
    {1, PRESET_MODEL, "version=vmaf_4k_v0.6.1neg:name=vmaf_neg"},
    {1, PRESET_FEATURE, "psnr=enable_chroma=true:enable_apsnr=true"},
    {1, PRESET_FEATURE, "float_ssim=enable_db=true:clip_db=true"},
    {1, PRESET_FEATURE, "cambi"},
    {0, PRESET_MODEL, NULL},
};

/* The feature of that name that was asked for already; -1: none. */
static int find_feature(const options *o, const char *value) {
    size_t length = strcspn(value, "=");
    for (int i = 0; i < o->feature_count; i++) {
        if (strncmp(o->features[i].name, value, length) == 0 && o->features[i].name[length] == '\0') {
            return i;
        }
    }
    return -1;
}

/* VERSION is v1.0 to v`row->high`.0; `row->low` says whose. */
static int apply_preset(options *o, const option_row *row, const char *value) {
    const preset_row *rows = row->low ? nflx_ctc : aom_ctc;
    int version = value[0] == 'v' && value[1] >= '1' && value[1] <= '0' + row->high && strcmp(value + 2, ".0") == 0
                      ? value[1] - '0'
                      : 0;
    if (strcmp(value, "proposed") == 0) {
        return fail("option --%s proposed is no longer there; versions are v1.0 to v%d.0", row->name, (int)row->high);
    }
    if (!version) {
        return fail(row->high > 1 ? "option --%s needs a version, v1.0 to v%d.0, not \"%s\""
                                  : "option --%s needs a version, which is v%d.0, not \"%s\"",
                    row->name, (int)row->high, value);
    }
    for (; rows->value && rows->since <= version; rows++) {
        int before = rows->kind == PRESET_REPLACES ? find_feature(o, rows->value) : -1;
        if (!(rows->kind == PRESET_MODEL ? apply_model : apply_feature)(o, row, rows->value)) {
            return 0;
        }
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
enum { OPTION_ROWS = sizeof option_rows / sizeof option_rows[0] };

#ifndef VMAFGPU_TOOL_WITHOUT_MAIN
static void print_option_help(const option_row *row) {
    enum { help_column = 32 };
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
           "Usage: vmafgpu -r REFERENCE -d DISTORTED [-w N -h N -p FORMAT -b N] [-m version=NAME] [-o FILE]\n"
           "       vmafgpu REFERENCE DISTORTED [OPTIONS]\n",
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
#endif

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

/* Two file names without options are the reference and the distorted video. */
static int take_bare_names(options *o) {
    if (o->bare_count == 0) {
        return 1;
    }
    if (o->bare_count != 2 || o->reference || o->distorted.count || o->join) {
        return fail("unexpected argument \"%s\"; only two names, the reference's and the distorted video's, may stand without -r and -d",
                    o->bare[o->bare_count - 1]);
    }
    o->reference = o->bare[0];
    o->distorted.names[o->distorted.count++] = o->bare[1];
    return 1;
}

static int parse_arguments(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        int is_option = word[0] == '-' && word[1] != '\0' && strcmp(word, "--") != 0;
        if (!is_option && o->join_count > 0) {
            o->join[o->join_count++] = word;
            continue;
        }
        if (!is_option) {
            if (o->bare_count == 2 || strcmp(word, "--") == 0 || !*word) {
                return fail("unexpected argument \"%s\"", word);
            }
            o->bare[o->bare_count++] = word;
            continue;
        }
        if (!(word[1] == '-' ? parse_long_option : parse_short_options)(o, argc, argv, &i)) {
            return 0;
        }
    }
    return take_bare_names(o);
}

/* ------------------------------------------------------------------------------------------------
 * Files: which is which, whatever they are called, and how a report replaces an older one
 * ------------------------------------------------------------------------------------------------ */

enum { STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR };

#ifdef _WIN32
static file_id identify_handle(HANDLE handle) {
    BY_HANDLE_FILE_INFORMATION about;
    file_id id = {FILE_DEVICE, 0, 0};
    if (GetFileType(handle) == FILE_TYPE_DISK && GetFileInformationByHandle(handle, &about)) {
        id.kind = about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? FILE_DEVICE : FILE_REGULAR;
        id.device = about.dwVolumeSerialNumber;
        id.index = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    }
    return id;
}

static file_id identify(const char *path) {
    file_id id = {FILE_NONE, 0, 0};
    if ((path[0] == '\\' || path[0] == '/') && path[1] == path[0] && path[2] == '.') {
        id.kind = FILE_DEVICE; /* to open a pipe would be to take its other end's turn */
        return id;
    }
    HANDLE handle = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS, NULL); /* of folders, too */
    if (handle != INVALID_HANDLE_VALUE) {
        id = identify_handle(handle);
        CloseHandle(handle);
    }
    return id;
}

static file_id identify_standard(int number) {
    return identify_handle((HANDLE)_get_osfhandle(number));
}

/* The path of the file behind `path`, which need not be there, and in *base its last part. To be freed; NULL, with errno:
 * there can be no such file. */
static char *path_behind(const char *path, char **base) {
    char *full = _fullpath(NULL, path, 0);
    HANDLE handle = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0,
                                NULL);
    if (handle != INVALID_HANDLE_VALUE) {
        DWORD size = GetFinalPathNameByHandleA(handle, NULL, 0, 0);
        char *final = size > 0 ? (char *)malloc(size) : NULL;
        if (final && GetFinalPathNameByHandleA(handle, final, size, 0) < size) {
            free(full);
            full = final;
        } else {
            free(final);
        }
        CloseHandle(handle);
    }
    *base = full ? strrchr(full, '\\') : NULL;
    if (!*base) {
        free(full);
        errno = ENOENT;
        return NULL;
    }
    ++*base;
    return full;
}

static int is_same_name(const char *a, const char *b) {
    return _stricmp(a, b) == 0;
}
#else
static file_id identify_status(const struct stat *about) {
    file_id id = {FILE_PIPE, 0, 0};
    /* a folder is refused where it is opened, in the system's words */
    id.kind = S_ISREG(about->st_mode) ? FILE_REGULAR : S_ISCHR(about->st_mode) || S_ISDIR(about->st_mode) ? FILE_DEVICE : FILE_PIPE;
    id.device = (uint64_t)about->st_dev;
    id.index = (uint64_t)about->st_ino;
    return id;
}

static file_id identify(const char *path) {
    static const file_id none = {FILE_NONE, 0, 0};
    struct stat about;
    return stat(path, &about) == 0 ? identify_status(&about) : none;
}

static file_id identify_standard(int number) {
    static const file_id none = {FILE_NONE, 0, 0};
    struct stat about;
    return fstat(number, &about) == 0 ? identify_status(&about) : none;
}

static char *join_path(const char *folder, size_t folder_length, const char *name) {
    size_t size = folder_length + strlen(name) + 2;
    char *path = (char *)malloc(size);
    if (path) {
        snprintf(path, size, "%.*s%s%s", (int)folder_length, folder,
                 folder_length > 0 && folder[folder_length - 1] == '/' ? "" : "/", name);
    }
    return path;
}

/* What a link holds, seen from where it lies; NULL: it is none. */
static char *follow_link(const char *link) {
    char target[4096];
    const char *slash = strrchr(link, '/');
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0) {
        return NULL;
    }
    target[length] = '\0';
    return target[0] == '/' || !slash ? copy_text(target, 0) : join_path(link, (size_t)(slash - link) + 1, target);
}

/* The path of the file behind `path`, which need not be there, and in *base its last part. To be freed; NULL, with errno:
 * there can be no such file. */
static char *path_behind(const char *path, char **base) {
    char *behind = copy_text(path, 0), *next, *full = NULL;
    for (int links = 0; behind && links < 40 && (next = follow_link(behind)) != NULL; links++) {
        free(behind);
        behind = next;
    }
    if (behind) {
        char *slash = strrchr(behind, '/');
        const char *name = slash ? slash + 1 : behind;
        char *folder;
        if (slash) {
            char *copy = copy_text(behind, 0);
            if (copy) {
                copy[slash == behind ? 1 : slash - behind] = '\0';
            }
            folder = copy ? realpath(copy, NULL) : NULL;
            free(copy);
        } else {
            folder = realpath(".", NULL);
        }
        errno = folder && !*name ? EISDIR : errno;
        full = folder && *name ? join_path(folder, strlen(folder), name) : NULL;
        free(folder);
    }
    free(behind);
    *base = full ? strrchr(full, '/') + 1 : NULL;
    return full;
}

static int is_same_name(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}
#endif

/* Of devices, two names may be one: /dev/null is read and written by many. */
static int is_same_file(const file_id *a, const file_id *b) {
    return a->kind == b->kind && (a->kind == FILE_REGULAR || a->kind == FILE_PIPE) && a->device == b->device &&
           a->index == b->index;
}

/* What messages call a file: what it is, or else its path in quotes, of a long one the end. */
static void set_title(char title[SHOWN_PATH], const char *what, const char *path) {
    size_t length = strlen(path), most = SHOWN_PATH - 3;
    snprintf(title, SHOWN_PATH, what ? "%s" : "\"%s\"", what ? what : length > most ? path + (length - most) : path);
}

enum { MAX_INPUTS = 1 + MAX_DISTORTED + MAX_MODELS + 1 };

typedef struct input {
    const char *what;
    char        title[SHOWN_PATH];
    file_id     file;
    int         is_stdin;
} input;

static void add_input(input *inputs, int *count, const char *what, const char *path, int may_be_stdin) {
    if (path) {
        input *in = &inputs[(*count)++];
        in->what = what;
        in->is_stdin = may_be_stdin && strcmp(path, "-") == 0;
        set_title(in->title, in->is_stdin ? "standard input" : NULL, path);
        in->file = in->is_stdin ? identify_standard(STANDARD_INPUT) : identify(path);
    }
}

static const char *path_of(const options *o, int i) {
    return i ? o->distorted.names[i - 1] : o->reference;
}

/* Everything that is read. */
static int list_inputs(const options *o, input inputs[MAX_INPUTS]) {
    int count = 0;
    for (int i = 0; i <= o->distorted.count && !o->join; i++) {
        add_input(inputs, &count, "video", path_of(o, i), 1);
    }
    for (int i = 0; i < o->model_count; i++) {
        add_input(inputs, &count, "model", o->model_options[i].path, 0);
    }
    add_input(inputs, &count, "kernels", o->kernels, 0);
    return count;
}

static int report_failure(const destination *d, const char *what) {
    return fail("the report %s %s (%s)", d->title, what, strerror(errno));
}

/* Finds out where a report goes; changes nothing. */
static int find_destination(destination *d, const char *name) {
    file_id standard = identify_standard(STANDARD_OUTPUT);
    d->name = name;
    set_title(d->title, strcmp(name, "-") == 0 ? "standard output" : NULL, name);
    d->file = strcmp(name, "-") == 0 ? standard : identify(name);
    d->is_stdout = strcmp(name, "-") == 0 || is_same_file(&d->file, &standard);
    if (!d->is_stdout && (d->file.kind == FILE_NONE || d->file.kind == FILE_REGULAR)) {
        d->path = path_behind(name, &d->base);
        if (!d->path) {
            return report_failure(d, "cannot be written");
        }
        char first = *d->base;
        *d->base = '\0';
        d->folder = identify(d->path);
        *d->base = first;
    }
    return 1;
}

static int is_same_destination(const destination *a, const destination *b) {
    if (a->file.kind != FILE_NONE || b->file.kind != FILE_NONE) {
        return is_same_file(&a->file, &b->file) || (a->is_stdout && b->is_stdout);
    }
    return a->folder.device == b->folder.device && a->folder.index == b->folder.index &&
           is_same_name(a->base, b->base);
}

/* A report is written to a temporary file beside the one that it is for, and takes its place when it is whole. What is
 * listed here goes when the program is interrupted. */
static char *volatile temporaries[MAX_REPORTS];

static void remove_temporaries(void) {
    for (int i = 0; i < MAX_REPORTS; i++) {
        char *path = temporaries[i];
        if (path) {
#ifdef _WIN32
            DeleteFileA(path);
#else
            unlink(path);
#endif
        }
    }
}

/* A new file, or NULL with errno. While it is open it can be removed. */
static FILE *create_file(const char *path) {
#ifdef _WIN32
    HANDLE handle = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_NEW,
                                FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        DWORD error = GetLastError();
        errno = error == ERROR_FILE_EXISTS ? EEXIST : error == ERROR_ACCESS_DENIED ? EACCES : ENOENT;
        return NULL;
    }
    int number = _open_osfhandle((intptr_t)handle, 0);
    return number < 0 ? NULL : _fdopen(number, "wb");
#else
    int number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return number < 0 ? NULL : fdopen(number, "wb");
#endif
}

static int replace_file(const char *from, const char *to) {
#ifdef _WIN32
    if (!MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) {
        errno = GetLastError() == ERROR_ACCESS_DENIED ? EACCES : EIO;
        return 0;
    }
    return 1;
#else
    return rename(from, to) == 0;
#endif
}

/* May this file be written to? Otherwise 0, with errno. */
static int is_writable(const char *path) {
#ifdef _WIN32
    return _access(path, 2) == 0;
#else
    int number = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return number >= 0 && close(number) == 0;
#endif
}

/* Gives the new file owner and permissions of the one that it will replace, as far as that is allowed. */
static void copy_permissions(FILE *out, const char *path) {
#ifdef _WIN32
    (void)out;
    (void)path;
#else
    struct stat about;
    if (stat(path, &about) == 0) {
        int is_owned = fchown(fileno(out), about.st_uid, about.st_gid) == 0;
        fchmod(fileno(out), about.st_mode & (is_owned ? 07777 : 0777));
    }
#endif
}

/* Makes the temporary file, slot `slot` of the list. 0, with errno: it can't be made. */
static int create_temporary(destination *d, int slot) {
    size_t folder = (size_t)(d->base - d->path), size = folder + 64;
    d->temporary = (char *)malloc(size);
    for (int i = 0; d->temporary && !d->out && i < 1000; i++) {
#ifdef _WIN32
        long process = (long)GetCurrentProcessId();
#else
        long process = (long)getpid();
#endif
        snprintf(d->temporary, size, "%.*s.vmafgpu-%ld-%d.tmp", (int)folder, d->path, process, i);
        d->out = create_file(d->temporary);
        if (!d->out && errno != EEXIST) {
            break;
        }
    }
    if (!d->out) {
        free(d->temporary);
        d->temporary = NULL;
        return 0;
    }
    temporaries[slot] = d->temporary;
    return 1;
}

static void hold_signals(int hold);

static int open_destination(destination *d, int slot) {
    if (d->is_stdout) {
#ifdef _WIN32
        _setmode(_fileno(stdout), _O_BINARY);
#endif
        d->out = stdout;
    } else if (!d->path) {
        d->out = fopen(d->name, "wb");
    } else if (d->file.kind == FILE_NONE || is_writable(d->path)) {
        hold_signals(1); /* no signal comes between the file and its place in the list */
        int made = create_temporary(d, slot);
        hold_signals(0);
        if (made && d->file.kind == FILE_REGULAR) {
            copy_permissions(d->out, d->path);
        }
        if (!made && d->file.kind == FILE_REGULAR) {
            return 1; /* a folder where nothing can be made: the report will be written where it is */
        }
    }
    return d->out ? 1 : report_failure(d, "cannot be written");
}

static int open_destinations(options *o) {
    for (int i = 0; i < report_count(o); i++) {
        if (!open_destination(&o->destinations[i], i)) {
            return 0;
        }
    }
    return 1;
}

/* A full disk shows at the latest when the last buffer goes out. */
static int close_file(FILE *out) {
    int bad = ferror(out);
    bad |= fflush(out);
    if (out != stdout) {
        bad |= fclose(out);
    }
    return !bad;
}

static int close_standard_output(void) {
    return close_file(stdout) ? 1 : fail("standard output could not be written to its end (%s)", strerror(errno));
}

/* Leaves what was there before. */
static void abandon_destination(destination *d, int slot) {
    if (d->out) {
        close_file(d->out);
        d->out = NULL;
    }
    if (temporaries[slot]) {
        remove(d->temporary);
        temporaries[slot] = NULL;
    }
    free(d->temporary);
    d->temporary = NULL;
}

/* Has the report written and lets it take its place. */
static int fill_destination(destination *d, int slot, void (*write)(FILE *, void *), void *user) {
    int ok = 1, in_place = !d->out;
    if (d->out) {
        write(d->out, user);
        ok = close_file(d->out);
        d->out = NULL;
    }
    if (ok && d->temporary) {
        if (replace_file(d->temporary, d->path)) {
            temporaries[slot] = NULL;
        } else {
            in_place = d->file.kind == FILE_REGULAR; /* it may be what is mounted there */
            ok = in_place;
        }
    }
    if (ok && in_place) {
        FILE *out = fopen(d->path, "wb");
        if (out) {
            write(out, user);
        }
        ok = out && close_file(out);
    }
    if (!ok) {
        report_failure(d, "could not be written to its end");
    }
    abandon_destination(d, slot);
    return ok;
}

/* ------------------------------------------------------------------------------------------------
 * Do the options fit together?
 * ------------------------------------------------------------------------------------------------ */

static int check_raw_options(options *o) {
    if (!o->width && !o->height && !o->pixel_format && !o->bit_depth) {
        return 1;
    }
    int implied = o->implied_depth;
    if (!o->bit_depth) {
        o->bit_depth = implied;
    }
    if (!o->width || !o->height || !o->pixel_format || !o->bit_depth) {
        return fail("raw video needs all of --width, --height, --pixel_format and --bitdepth");
    }
    if (implied && o->bit_depth != implied) {
        return fail("pixel format %s has %d bits, not %d; leave --bitdepth out", o->pixel_format_name, implied, (int)o->bit_depth);
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

/* Standard input is for one, as every pipe is, and no report overwrites what is read or another report. */
static int check_files(options *o) {
    input inputs[MAX_INPUTS];
    int count = list_inputs(o, inputs), from_stdin = 0;
    for (int i = 0; i < count; i++) {
        from_stdin += inputs[i].is_stdin;
        if (inputs[i].is_stdin && o->stdin_is_closed) {
            return fail("standard input is closed");
        }
        for (int k = 0; k < i; k++) {
            if (inputs[i].file.kind == FILE_PIPE && is_same_file(&inputs[i].file, &inputs[k].file) && from_stdin < 2) {
                return fail("the %s %s and the %s %s are one pipe; each needs one of its own", inputs[k].what,
                            inputs[k].title, inputs[i].what, inputs[i].title);
            }
        }
    }
    if (from_stdin > 1) {
        return fail("only one of the videos can come from standard input");
    }
    if (o->segments && (o->output.count != 1 || o->html || o->plot || o->pooling_count)) {
        return fail("--segment needs one -o, for its rows, and neither --html, --plot nor --pool, which are for what is joined");
    }
    if (o->output.count && o->output.count != o->distorted.count && !o->segments && !o->join) {
        return fail("as many reports (-o) as distorted videos, %d, or none: not %d", o->distorted.count,
                    o->output.count);
    }
    for (int i = 0; i < report_count(o); i++) {
        destination *d = &o->destinations[i];
        if (!find_destination(d, report_name(o, i))) {
            return 0;
        }
        for (int k = 0; k < count; k++) {
            if (is_same_file(&d->file, &inputs[k].file)) {
                return fail("the report %s would overwrite the %s %s", d->title, inputs[k].what, inputs[k].title);
            }
        }
        for (int k = 0; k < i; k++) {
            if (is_same_destination(d, &o->destinations[k])) {
                return fail("two reports, %s and %s, would be one file", o->destinations[k].title, d->title);
            }
        }
    }
    return 1;
}

static int has_heatmaps(const options *o) {
    int found = 0;
    for (int i = 0; i < o->feature_count; i++) {
        found |= o->features[i].options && strstr(o->features[i].options, "heatmaps_path=");
    }
    for (int i = 0; i < o->model_count; i++) {
        found |= o->models[i].options && strstr(o->models[i].options, "heatmaps_path=");
    }
    return found;
}

/* The files of one distorted video would be those of the others. */
static int check_heatmaps(const options *o) {
    return !has_heatmaps(o) || o->distorted.count == 1 || fail("heatmaps_path of cambi is for one distorted video, not for several");
}

/* What --join reads: no report overwrites it. */
static int check_join(options *o) {
    if (o->reference || o->distorted.count || o->segments || o->state || o->html) {
        return fail("--join puts together what was scored: -r, -d, --state, --segment and --html are for runs");
    }
    if (!check_files(o)) {
        return 0;
    }
    for (int i = 0; i < o->join_count; i++) {
        file_id part = identify(o->join[i]);
        for (int k = 0; k < o->output.count; k++) {
            if (is_same_file(&part, &o->destinations[k].file)) {
                return fail("the report %s would overwrite a part", o->destinations[k].title);
            }
        }
    }
    return 1;
}

/* A report whose format was asked for goes to standard output if no file is named; there is room for one. */
static int choose_output(options *o) {
    if (!o->report_option || o->output.count || o->segments) {
        return 1;
    }
    if (o->distorted.count > 1) {
        return fail("--%s without -o writes one report to standard output, not %d; name a file for each with -o", o->report_option,
                    o->distorted.count);
    }
    o->output.names[o->output.count++] = "-";
    return 1;
}

static int check_options(options *o) {
    if (!choose_output(o)) {
        return 0;
    }
    if (o->join) {
        if (!o->output.count && o->pooling_count == 0) {
            o->poolings[o->pooling_count++] = standard_poolings[POOL_MEAN];
        }
        return check_join(o);
    }
    if (!o->reference || !o->distorted.count) {
        return fail("a reference (-r) and a distorted video (-d) are needed");
    }
    if (!check_files(o)) {
        return 0;
    }
    if (!report_count(o) && o->pooling_count == 0) {
        o->poolings[o->pooling_count++] = standard_poolings[POOL_MEAN];
    }
    return check_raw_options(o) && check_model_names(o) && check_heatmaps(o);
}

static void free_options(options *o) {
    for (int i = 0; i < o->model_count; i++) {
        free(o->model_options[i].text);
        vmafgpu_model_free(o->model_options[i].parsed, NULL);
    }
    for (int i = 0; i < o->feature_count; i++) {
        free(o->feature_texts[i]);
    }
    for (int i = 0; i < report_count(o); i++) {
        free(o->destinations[i].path);
    }
    free(o->pooling_text);
    free((void *)o->join);
}

/* ------------------------------------------------------------------------------------------------
 * Opening what the options name
 * ------------------------------------------------------------------------------------------------ */

/* A feature, a column of one, or options. */
static int looks_at_chroma(const char *text) {
    return text && (strstr(text, "speed_chroma") || strstr(text, "ciede") || strstr(text, "motion_add_uv") ||
                    (strstr(text, "psnr") && !strstr(text, "float_psnr")));
}

/* Does a feature of the models, or one that is asked for by itself, look at chroma? Models are loaded already. */
static int needs_chroma(const options *o) {
    for (int i = 0; i < o->feature_count; i++) {
        if (looks_at_chroma(o->features[i].name) || looks_at_chroma(o->features[i].options)) {
            return 1;
        }
    }
    for (int i = 0; i < o->model_count; i++) {
        const char *version = o->models[i].version;
        const vmafgpu_model *model = version ? vmafgpu_builtin_model(version) : o->models[i].model;
        if (looks_at_chroma(o->models[i].options)) {
            return 1;
        }
        for (int k = 0; model && k < model->svms[0].feature_count; k++) {
            const char *const *options = model->svms[0].feature_options;
            if (looks_at_chroma(model->svms[0].feature_names[k]) || (options && looks_at_chroma(options[k]))) {
                return 1;
            }
        }
    }
    return 0;
}

/* The second half of opening a video, on whatever thread. */
static video_result begin_video_as(video *v, const options *o, int luma_only) {
    video_raw raw;
    if (!o->pixel_format) {
        return video_begin(v, NULL, luma_only);
    }
    raw.width = (int)o->width;
    raw.height = (int)o->height;
    raw.bit_depth = (int)o->bit_depth;
    raw.chroma = o->pixel_format->chroma;
    raw.layout = o->pixel_format->layout;
    return video_begin(v, &raw, luma_only);
}

static video_result begin_video(video *v, const options *o) {
    return begin_video_as(v, o, !needs_chroma(o));
}

/* ffmpeg's name of raw video of this kind. */
static void ffmpeg_format(char name[32], vmafgpu_chroma chroma, vmafgpu_layout layout, int bit_depth) {
    static const char *const planar[] = {"yuv420p", "yuv422p", "yuv444p", "gray"};
    const int k = chroma == VMAFGPU_420 ? 0 : chroma == VMAFGPU_422 ? 1 : chroma == VMAFGPU_444 ? 2 : 3;
    if (layout == VMAFGPU_PLANAR) {
        snprintf(name, 32, bit_depth > 8 ? "%s%dle" : "%s", planar[k], bit_depth);
    } else {
        for (const pixel_format *f = pixel_formats; f->name; f++) {
            if (f->chroma == chroma && f->layout == layout && f->bit_depth == bit_depth) {
                snprintf(name, 32, layout == VMAFGPU_SEMIPLANAR ? "%s" : "%sle", f->name);
            }
        }
    }
}

/* "; remedy" for a distorted video whose format is not the reference's; "" if ffmpeg has no such format. */
static const char *conversion(char text[128], const video *r) {
    char name[32] = "";
    int is_411 = r->sampling.chroma_x == 4;
    if (r->bit_depth <= 10 || r->bit_depth % 2 == 0) {
        ffmpeg_format(name, r->sampling.chroma, r->layout, r->bit_depth);
    }
    if (is_411) {
        snprintf(name, sizeof name, "yuv411p");
    }
    text[0] = '\0';
    if (*name) {
        snprintf(text, 128, "; ffmpeg converts the distorted video with -pix_fmt %s", name);
    }
    return text;
}

/* The range that a video's samples have. A y4m header without a range means the limited one: ffmpeg writes no tag then. */
static video_range range_of(const video *v) {
    return v->range == VIDEO_RANGE_UNKNOWN && v->is_y4m ? VIDEO_RANGE_LIMITED : v->range;
}

static const char *range_name(const video *v) {
    return v->range == VIDEO_RANGE_FULL ? "full" : v->range == VIDEO_RANGE_LIMITED ? "limited" : "limited (it has no XCOLORRANGE)";
}

static int check_videos(const options *o, const video *r, const video *d) {
    char remedy[128];
    if ((r->width != d->width || r->height != d->height) && o->scale == SCALE_NONE) {
        return fail("the sizes differ: %s is %dx%d, %s is %dx%d; --scale bicubic or --scale lanczos scales the distorted "
                    "video to the reference's size", r->title, r->width, r->height, d->title, d->width, d->height);
    }
    if (r->bit_depth != d->bit_depth) {
        return fail("the bit depths differ: %s has %d bits, %s has %d%s", r->title, r->bit_depth, d->title, d->bit_depth,
                    conversion(remedy, r));
    }
    if (strcmp(r->sampling.name, d->sampling.name) != 0) {
        return fail("the pixel formats differ: %s is %s, %s is %s%s", r->title, r->sampling.name, d->title,
                    d->sampling.name, conversion(remedy, r));
    }
    if (range_of(r) != range_of(d)) {
        warn("the colour ranges differ: %s is %s, %s is %s; the samples are compared as they are", r->title, range_name(r),
             d->title, range_name(d));
    }
    if (r->rate_num && d->rate_num && (int64_t)r->rate_num * d->rate_den != (int64_t)d->rate_num * r->rate_den) {
        warn("the frame rates differ: %s has %d:%d, %s has %d:%d; frames are compared one by one, whenever they are shown",
             r->title, r->rate_num, r->rate_den, d->title, d->rate_num, d->rate_den);
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
    char list[1024] = "";
    for (int i = 0; (model = vmafgpu_builtin_model_at(i)) != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s %s", i ? "," : "", model->name);
    }
    return fail("there is no built-in model \"%s\"; there are%s", name, list);
}

static int load_models(options *o) {
    for (int i = 0; i < o->model_count; i++) {
        const char *path = o->model_options[i].path;
        const char *version = o->models[i].version;
        if (version && !vmafgpu_builtin_model(version)) {
            return unknown_model(version);
        }
        if (!path) {
            continue;
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

enum { PROGRESS_MARKS = 16 };

typedef struct progress {
    progress_kind kind;
    double  start, shown;
    int64_t total; /* below 0: unknown */
    int     width; /* of the line that is on the screen */
    /* The latest times, a second or more apart, and the frames by then: what is left goes as fast as these went. */
    double  times[PROGRESS_MARKS];
    int64_t frames[PROGRESS_MARKS];
    int     marks;
} progress;

/* Seconds that are left; below 0: nobody knows. */
static double progress_left(progress *p, int64_t frames, double now) {
    int last = (p->marks + PROGRESS_MARKS - 1) % PROGRESS_MARKS;
    if (p->marks == 0 || now - p->times[last] >= 1) {
        p->times[p->marks % PROGRESS_MARKS] = now;
        p->frames[p->marks % PROGRESS_MARKS] = frames;
        p->marks++;
    }
    int first = p->marks > PROGRESS_MARKS ? p->marks % PROGRESS_MARKS : 0;
    double since = now - p->times[first] >= 1 ? p->times[first] : p->start;
    int64_t done = frames - (now - p->times[first] >= 1 ? p->frames[first] : 0);
    return p->total >= frames && done > 0 && now > since ? (double)(p->total - frames) * (now - since) / (double)done : -1;
}

static void progress_json(double elapsed, int64_t frames, int64_t total, double left, int is_done) {
    fprintf(stderr, "{\"frames\":%lld,\"total\":", (long long)frames);
    fprintf(stderr, total >= 0 ? "%lld" : "null", (long long)total);
    fprintf(stderr, ",\"seconds\":%.3f,\"fps\":%.2f,\"left\":", elapsed, elapsed > 0 ? (double)frames / elapsed : 0);
    fprintf(stderr, left >= 0 ? "%.1f" : "null", left);
    fprintf(stderr, ",\"done\":%s}\n", is_done ? "true" : "false");
}

static void progress_line(progress *p, int64_t frames, double now, const char *backend) {
    char line[320];
    double elapsed = now - p->start;
    double speed = elapsed > 0 ? (double)frames / elapsed : 0, seconds = progress_left(p, frames, now);
    if (p->kind == PROGRESS_JSON) {
        progress_json(elapsed, frames, p->total, seconds, 0);
        p->shown = now;
        return;
    }
    int length = snprintf(line, sizeof line, "%lld frames, %.1f frames/s%s%s", (long long)frames, speed,
                          *backend ? ", " : "", backend);
    if (seconds >= 0) {
        long long left = (long long)(seconds + 0.5);
        length = snprintf(line, sizeof line, "%lld of %lld frames, %.1f frames/s, %lld:%02lld:%02lld left",
                          (long long)frames, (long long)p->total, speed, left / 3600, left / 60 % 60, left % 60);
    }
    fputc('\r', stderr);
    put_text(stderr, line);
    fprintf(stderr, "%*s", p->width > length ? p->width - length : 0, ""); /* to wipe a longer line */
    fflush(stderr);
    p->width = length;
    p->shown = now;
}

static void progress_frame(progress *p, int64_t frames) {
    double now = p->kind != PROGRESS_NONE ? wall_clock() : 0;
    if (p->kind != PROGRESS_NONE && now - p->shown >= (p->kind == PROGRESS_JSON ? 0.5 : 0.1)) {
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
    if (p->kind == PROGRESS_JSON) {
        progress_json(wall_clock() - p->start, frames, p->total, 0, 1);
    } else if (p->kind == PROGRESS_LINE) {
        p->total = -1; /* nothing is left */
        progress_line(p, frames, wall_clock(), backend);
        fputc('\n', stderr);
    } else if (o->names_backend && !o->quiet && *backend) {
        fputs("vmafgpu: backend ", stderr);
        put_text(stderr, backend);
        fputc('\n', stderr);
    }
}

/* A GPU that began the clip, or was named, did not score it: the scores are right all the same, but late. */
static void warn_of_fallback(const options *o, const vmafgpu *context) {
    const char *note = vmafgpu_backend_note(context);
    if (*note && (*vmafgpu_device_name(context) || o->kernels || o->gpu_count)) {
        char text[1024];
        translate(text, sizeof text, note);
        warn(strcmp(vmafgpu_backend_name(context), "cpu") == 0 ? "%s; the CPU took over" : "%s; other GPUs did the rest", text);
    }
}

#ifdef READ_AHEAD
struct session;

/* One more thread opens and reads a pipe. */
typedef struct feed {
    struct session *all;
    int             index;     /* of the video */
    int             is_made;   /* the thread was started: the video is its own, but for what never changes once it is open */
    pthread_t       thread;
    int             is_open;   /* below 0: that failed */
    int             has_ended; /* the thread did */
    unsigned char  *slots[MAX_SLOTS];
    int             slot_count;
    int64_t         first;      /* frames that were read before the thread began */
    int64_t         read, used; /* frames behind those; of them, those that the caller is done with */
    int             is_lent;    /* the caller looks at the frame after those */
    video_result    state;      /* of what comes after the frames that were read; VIDEO_OK: more frames, maybe */
} feed;

/* Rows of a plane that one thread reads. */
typedef struct part {
    struct lent_pair *whole;
    int            video;
    long long      at;       /* in the file */
    unsigned char *to;
    size_t         row;      /* bytes of a row in the file */
    ptrdiff_t      pitch;    /* of a row in memory */
    int            rows;
} part;

/* A pair in lent memory, which threads fill. */
typedef struct lent_pair {
    vmafgpu_frame  reference[MAX_DISTORTED], distorted[MAX_DISTORTED]; /* as the contexts lent them */
    int            lent;                     /* how many contexts have */
    video_result   states[1 + MAX_DISTORTED];
    long long      at[1 + MAX_DISTORTED];    /* where the frames are in their files */
    int            errors[1 + MAX_DISTORTED]; /* of the system, while they were read; -1: the file became shorter */
    int            is_handed_out;            /* all parts are read, or being read... */
    int            parts;                    /* ...by this many threads or so */
} lent_pair;

/* Threads that read files into lent memory: the next parts of the next pairs, in their order. */
typedef struct pool {
    pthread_t    threads[MAX_THREADS];
    int          count;
    lent_pair   *slots;                      /* a ring */
    int          slot_count;
    int64_t      offered, taken;             /* pairs that have memory; of these, those that the caller is done with */
    int64_t      pair;                       /* the next part: its pair, video, plane and row */
    int          video, plane, row;
    int          is_located;                 /* its video's frame was found */
    int          has_ended;                  /* there is no whole pair after this one */
    int          has_failed;                 /* a part could not be read: nobody wants any more */
    int          is_awaited;                 /* the caller waits for a pair */
    int          was_tried;                  /* there is a GPU */
    pthread_cond_t more;                     /* to read */
} pool;
#endif

enum { MAP_SCALES = 5, MAX_MAPS = MAX_MODELS + MAX_FEATURES };

/* The files of one heatmaps_path. */
typedef struct map_files {
    const char *path;
    FILE       *files[MAP_SCALES];
} map_files;

/* What is scored: videos[0], the reference, against the others, each with a context; without contexts nothing is
 * computed. */
typedef struct session {
    video           videos[1 + MAX_DISTORTED];
    vmafgpu        *contexts[MAX_DISTORTED];
    int             count; /* of distorted videos */
    const options  *o;
    int             width, height; /* of what is compared */
    cut_window      crop;
    scaler          scalers[1 + MAX_DISTORTED]; /* of those that have another size */
    int64_t         first;      /* pairs that are passed over */
    int64_t         limit;      /* how many are wanted then; 0: all */
    int64_t        *plan[1 + MAX_DISTORTED]; /* the frame of each pair where they are not simply the next ones */
    int64_t         plan_count;
    rows_file       rows;       /* with --state and --segment: what was scored, this time and before */
    int             has_rows;
    FILE           *state;
    int64_t         seeds;      /* of the pairs that are read: references before the first one that is scored; */
    int64_t         lead;       /* pairs whose scores are known, for those behind them; */
    int64_t         wanted;     /* pairs that are scored, below 0: all. Then come those behind them */
    int64_t         collected;  /* of the contexts' rows, those that are in `rows`, or were there before */
    int             is_done;    /* nothing is left to score */
    int             end_is_known[1 + MAX_DISTORTED]; /* a warning said that this video ends before another one */
    char            warning[512]; /* of the library, that was printed last */
    map_files       maps[MAX_MAPS];
    int             map_count;
    int             maps_failed;
    int64_t         pairs; /* that were read and taken */
#ifdef READ_AHEAD
    feed            feeds[1 + MAX_DISTORTED];
    int             feed_count; /* of those that were made */
    int             is_ending;  /* the threads are to end */
    pool            pool;
    int             has_lock;
    pthread_mutex_t lock;       /* of all that the threads share */
    pthread_cond_t  changed;
#endif
} session;

/* What was asked for is done, but may not be what was meant. Contexts of one clip say it once, and what a fallback to the
 * CPU is about is said at the end. */
static void log_warning(void *user, vmafgpu_log_level level, const char *message) {
    session *all = (session *)user;
    char text[sizeof all->warning];
    if (level != VMAFGPU_LOG_WARNING || (all->contexts[0] && strcmp(message, vmafgpu_backend_note(all->contexts[0])) == 0)) {
        return;
    }
    translate(text, sizeof text, message);
    if (strcmp(text, all->warning) != 0) {
        memcpy(all->warning, text, sizeof text);
        warn("%s", text);
    }
}

/* ---- heat maps of cambi: as libvmaf writes them ---- */

static void make_folder(const char *path) {
#ifdef _WIN32
    _mkdir(path);
#else
    mkdir(path, 0770);
#endif
}

/* With those that it is in; what goes wrong shows when a file is opened. */
static void make_folders(const char *path) {
    char *copy = copy_text(path, 0);
    for (char *at = copy; copy && *at; at++) {
        if (at > copy && (*at == '/' || *at == '\\')) {
            char separator = *at;
            *at = '\0';
            make_folder(copy);
            *at = separator;
        }
    }
    make_folder(path);
    free(copy);
}

static FILE *open_map(const vmafgpu_heatmap *map) {
    size_t room = strlen(map->path) + 96;
    char *name = (char *)malloc(room);
    FILE *file = NULL;
    if (name) {
        snprintf(name, room, "%s/cambi_heatmap_scale_%d_%dx%d_16b.gray", map->path, map->scale, map->named_width,
                 map->named_height);
        make_folders(map->path);
        file = fopen(name, "wb");
        if (!file) {
            fail("the heat map \"%s\" cannot be written (%s)", name, strerror(errno));
        }
    }
    free(name);
    return file;
}

/* The file that a map belongs to, opened with its first one; NULL: there is none. */
static FILE *file_of_map(session *all, const vmafgpu_heatmap *map) {
    int i = 0;
    while (i < all->map_count && strcmp(all->maps[i].path, map->path) != 0) {
        i++;
    }
    if (i == MAX_MAPS) {
        return NULL;
    }
    if (i == all->map_count) {
        all->maps[all->map_count++].path = map->path;
    }
    if (!all->maps[i].files[map->scale]) {
        all->maps[i].files[map->scale] = open_map(map);
    }
    return all->maps[i].files[map->scale];
}

static int seek_map(FILE *file, int64_t offset) {
#ifdef _WIN32
    return _fseeki64(file, offset, SEEK_SET);
#else
    return fseeko(file, (off_t)offset, SEEK_SET);
#endif
}

/* Little-endian words at the frame's place: those of frames that are not scored stay holes. */
static void write_map(void *user, const vmafgpu_heatmap *map) {
    session *all = (session *)user;
    static unsigned char row[2 * VIDEO_MAX_SIDE];
    const uint16_t *samples = map->samples;
    size_t bytes = 2 * (size_t)map->width;
    FILE *file = all->maps_failed ? NULL : file_of_map(all, map);
    int ok = file && seek_map(file, map->index * map->height * (int64_t)bytes) == 0;
    for (int y = 0; y < map->height && ok; y++) {
        for (int x = 0; x < map->width; x++) {
            row[2 * x] = (unsigned char)(*samples & 255);
            row[2 * x + 1] = (unsigned char)(*samples++ >> 8);
        }
        ok = fwrite(row, 1, bytes, file) == bytes;
    }
    if (!ok && file) {
        fail("a heat map in \"%s\" could not be written (%s)", map->path, strerror(errno));
    }
    all->maps_failed |= !ok;
}

static int close_maps(session *all) {
    for (int i = 0; i < all->map_count; i++) {
        for (int k = 0; k < MAP_SCALES; k++) {
            if (all->maps[i].files[k] && fclose(all->maps[i].files[k]) != 0 && !all->maps_failed) {
                all->maps_failed = !fail("a heat map could not be written (%s)", strerror(errno));
            }
        }
    }
    all->map_count = 0;
    return !all->maps_failed;
}

/* How many threads bring frames to a GPU. */
static int reader_threads(const options *o) {
#ifdef VMAFGPU_NO_THREADS
    return (void)o, 1;
#else
    long processors = 1;
    if (o->threads > 0) {
        return (int)o->threads;
    }
#  ifdef _WIN32
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    processors = (long)system.dwNumberOfProcessors;
#  else
    processors = sysconf(_SC_NPROCESSORS_ONLN);
#  endif
    return processors < 1 ? 1 : processors < MAX_READERS ? (int)processors : MAX_READERS;
#endif
}

static int64_t frames_to_skip(const options *o, int i) {
    return i ? o->skip_distorted : o->skip_reference;
}

/* The n-th frame of a video that is wanted; below 0: there is none. */
static int64_t wanted_frame(const session *all, int i, int64_t n) {
    n += all->first;
    if (all->plan[i]) {
        return n < all->plan_count ? all->plan[i][n] : -1;
    }
    return frames_to_skip(all->o, i) + n;
}

/* How many pairs the files have from the n-th on, as far as their sizes tell; below 0: they don't. */
static int64_t pairs_behind(const session *all, int64_t n) {
    int64_t total = all->plan[0] ? all->plan_count : INT64_MAX;
    for (int i = 0; i <= all->count && !all->plan[0]; i++) {
        int64_t frames = all->videos[i].frames_total - frames_to_skip(all->o, i);
        if (all->videos[i].frames_total < 0) {
            return -1;
        }
        total = frames < total ? frames : total;
    }
    return total > n ? total - n : 0;
}

/* How many pairs there will be; below 0: nobody knows. */
static int64_t expected_frames(const session *all) {
    int64_t total = pairs_behind(all, all->first);
    return all->limit > 0 && (total < 0 || all->limit < total) ? all->limit : total;
}

/* Whether all of the videos is scored sooner than a GPU could be opened, and nobody asks for one. */
static int is_brief(const options *o, const session *all) {
    int64_t frames = expected_frames(all), pixels = (int64_t)all->width * all->height * all->count;
    return o->backend == VMAFGPU_BACKEND_AUTO && o->gpu_count == 0 && !o->kernels && frames >= 0 && frames <= BRIEF / pixels;
}

static void choose_gpus(vmafgpu_config *config, const options *o) {
    config->gpu.device = o->gpu_count > 0 ? o->gpus[0] : 0;
    config->gpu.devices = o->gpu_count > 1 ? o->gpus : NULL;
    config->gpu.device_count = o->gpu_count == 1 ? 0 : o->gpu_count;
    config->gpu.kernels_path = o->kernels;
}

static vmafgpu *open_context(session *all, const options *o) {
    vmafgpu_config config = video_config(&all->videos[0]);
    vmafgpu *context = NULL;
    config.width = all->width;
    config.height = all->height;
    config.models = o->model_count ? o->models : NULL;
    config.model_count = o->model_count;
    /* Models with --no_prediction say which features to compute; their scores are left out of the report. */
    config.no_model = o->no_prediction && o->model_count == 0;
    config.features = o->feature_count ? o->features : NULL;
    config.feature_count = o->feature_count;
    config.strict_options = o->strict;
    config.float_reciprocal = o->reciprocal;
    config.subsample = (int)o->subsample;
    config.backend = o->backend == VMAFGPU_BACKEND_AUTO && (o->gpumask || is_brief(o, all)) ? VMAFGPU_BACKEND_CPU : o->backend;
    choose_gpus(&config, o);
    /* Contexts of one reference share the work on the CPU; who names a GPU wants to know whether it is there. */
    config.gpu.in_background = all->count == 1 && o->gpu_count == 0;
    config.cpumask = (unsigned)(o->cpumask < 0 ? 0xffffffff : o->cpumask);
    config.serial_first = o->threads > 0;
    config.threads = (int)o->threads;
    config.gpu.threads = reader_threads(o);
    config.together = o->distorted.count;
    config.on_heatmap = write_map;
    config.on_heatmap_user = all;
    config.log = log_warning;
    config.log_user = all;
#ifdef VMAFGPU_NO_THREADS
    if (config.threads > 1) {
        config.threads = 1;
        log_warning(all, VMAFGPU_LOG_WARNING, "this program was built without threads; one scores");
    }
#endif
    vmafgpu_result result = vmafgpu_open(&context, &config);
    if (result != VMAFGPU_OK) {
        fail_library(vmafgpu_last_error(context));
        vmafgpu_close(context);
        return NULL;
    }
    return context;
}

/* ---- what is compared with what ---- */

/* What the options say by themselves, before the videos are open. */
static int arrange_options(session *all, const options *o) {
    int64_t count = INT64_MAX;
    if (o->to.is_given && !o->to.is_time && !o->from.is_time) {
        count = o->to.value - o->from.value;
        if (count <= 0) {
            return fail("--to must come after --from");
        }
    }
    all->first = o->from.is_time ? 0 : o->from.value;
    all->limit = o->frame_count && o->frame_count < count ? o->frame_count : count < INT64_MAX ? count : 0;
    return 1;
}

/* Times, which only y4m files have. */
static int arrange_times(session *all, const options *o) {
    const video *r = &all->videos[0];
    if (!o->from.is_time && !o->to.is_time) {
        return 1;
    }
    for (int i = 0; i <= all->count; i++) {
        if (all->videos[i].file_bytes <= 0) {
            return fail("--from and --to can be times for files only; of pipes give them frames");
        }
    }
    if (!r->rate_num) {
        return fail("--from and --to need frames, for %s does not say how many there are in a second", r->title);
    }
    all->first = cut_frame(&o->from, r->rate_num, r->rate_den);
    int64_t count = o->to.is_given ? cut_frame(&o->to, r->rate_num, r->rate_den) - all->first : 0;
    if (o->to.is_given && count <= 0) {
        return fail("--to must come after --from");
    }
    all->limit = count > 0 && (!o->frame_count || count < o->frame_count) ? count : o->frame_count;
    return 1;
}

/* What part of the pictures, and of what size. */
static int arrange_pictures(session *all, const options *o) {
    video *r = &all->videos[0];
    all->width = r->width;
    all->height = r->height;
    all->crop = o->crop;
    if (o->crop.is_given) {
        cut_centre(&all->crop, r);
        const cut_window *w = &all->crop;
        if (w->x + w->width > r->width || w->y + w->height > r->height) {
            return fail("--crop %d:%d:%d:%d is not inside the picture of %s, %dx%d", w->width, w->height, w->x, w->y, r->title,
                        r->width, r->height);
        }
        if (!cut_is_on_grid(w, r)) {
            return fail("--crop %d:%d:%d:%d does not begin on a chroma sample of %s: with %s chroma X%s must be even", w->width,
                        w->height, w->x, w->y, r->title, r->sampling.name, r->sampling.chroma_y > 1 ? " and Y" : "");
        }
        all->width = w->width;
        all->height = w->height;
    }
    for (int i = 1; i <= all->count; i++) {
        const video *d = &all->videos[i];
        if ((d->width != r->width || d->height != r->height) &&
            !scaler_open(&all->scalers[i], o->scale, d, r->width, r->height)) {
            return out_of_memory();
        }
    }
    return 1;
}

/* The part of the pictures that is compared, in the size in which it is. */
static vmafgpu_frame arrange_frame(session *all, int i, vmafgpu_frame frame) {
    if (all->scalers[i].planes) {
        frame = scaler_frame(&all->scalers[i], &all->videos[i], &frame);
    }
    return all->crop.is_given ? cut_picture(&all->crop, &all->videos[i], frame) : frame;
}

/* Another reader of a file that is being read, from its first frame on. 0: there can be none. */
static int open_again(const session *all, int i, int luma_only, video *again) {
    const char *path = path_of(all->o, i);
    video_start(again, path);
    return strcmp(path, "-") != 0 && all->videos[i].file_bytes > 0 && all->videos[i].start == 0 &&
           identify(path).kind == FILE_REGULAR && video_open_file(again, path) == VIDEO_OK &&
           begin_video_as(again, all->o, luma_only) == VIDEO_OK && again->width == all->videos[i].width &&
           again->height == all->videos[i].height;
}

static align_signature *sign_again(const session *all, int i, int64_t first, int64_t most, int step, int64_t *count) {
    video again;
    align_signature *list = NULL;
    *count = 0;
    if (open_again(all, i, 1, &again)) {
        list = align_sign_video(&again, first, most, step, count);
    }
    video_close(&again);
    return list;
}

enum { LOOK_FRAMES = 24, LOOK_OFFSET = 12 };

/* Signatures of the first frames of a file, from some of their rows. NULL: it is none, or all of it would have to be read. */
static align_signature *look_at(const session *all, int i, int64_t *count) {
    int64_t first = wanted_frame(all, i, 0);
    align_signature *list = NULL;
#ifdef VIDEO_MAP
    video again;
    if (open_again(all, i, 1, &again)) {
        list = align_sign_rows(&again, first, LOOK_FRAMES, count);
    }
    video_close(&again);
#else
    if (first == 0 && video_frame_bytes(&all->videos[i]) * LOOK_FRAMES <= 32 << 20) {
        list = sign_again(all, i, 0, LOOK_FRAMES, 1, count);
    }
#endif
    return list;
}

/* Reads up to `most` samples of a plane of the first frame that is scored, from a quarter of its height on. 0 if that is no file. */
static int read_some_samples(const session *all, int i, int plane, rawsize_samples *s) {
    video again;
    int ok = 0;
    memset(s, 0, sizeof *s);
    if (open_again(all, i, plane == 0, &again)) {
        const int64_t first = wanted_frame(all, i, 0);
        const size_t bytes = (size_t)again.bytes_per_sample, side = (size_t)again.width;
        const size_t row = plane ? video_chroma_side(&again, again.width, again.sampling.chroma_x) : side;
        const size_t rows = plane ? video_chroma_side(&again, again.height, again.sampling.chroma_y) : (size_t)again.height;
        const size_t begin = rows / 4 * row, left = rows * row - begin, count = left < RAWSIZE_MOST ? left : RAWSIZE_MOST;
        const size_t offset = (plane ? again.luma_bytes : 0) + begin * bytes;
        const int white = again.layout == VMAFGPU_SEMIPLANAR_HIGH ? 65535 : (1 << again.bit_depth) - 1;
        unsigned char *samples = (unsigned char *)malloc(count * bytes);
#ifdef VIDEO_MAP
        long long at = 0;
        video_result result = VIDEO_OK;
        while (result == VIDEO_OK && again.frames_read <= first) {
            result = video_locate(&again, &at);
        }
        ok = samples && result == VIDEO_OK && video_fetch(&again, at + (long long)offset, samples, count * bytes) == (ptrdiff_t)(count * bytes);
#else
        ok = samples && first == 0 && video_read(&again) == VIDEO_OK; /* all before would have to be read */
        if (ok) {
            memcpy(samples, again.planes + offset, count * bytes);
        }
#endif
        ok = ok && rawsize_load(s, samples, count * bytes, (int)bytes, white);
        free(samples);
    }
    video_close(&again);
    return ok;
}

/* Warns if a raw video's first frame does not look as its options say. 0 if it did. */
static int check_raw_picture(const session *all, int i) {
    const video *v = &all->videos[i];
    rawsize_samples s;
    char same_size[80] = "";
    int other = 0, is_deep = 0, is_shallow = 0, is_interleaved = 0;
    if (read_some_samples(all, i, 0, &s)) {
        is_deep = v->bit_depth == 8 && rawsize_is_words(&s);
        is_shallow = v->bytes_per_sample == 2 && rawsize_is_bytes(&s);
        other = is_deep || is_shallow ? 0 : rawsize_other_width(&s, v->width);
    }
    rawsize_free(&s);
    if (is_deep || is_shallow) {
        warn("the samples of %s look like %s; check --bitdepth (%d) and --pixel_format", v->title,
             is_deep ? "the halves of words with more than 8 bits" : "pairs of 8 bits", v->bit_depth);
    } else if (other) {
        const long long samples = (long long)v->width * v->height, height = samples / other;
        if (samples % other == 0 && height >= other / 3 && height <= other) { /* a usual shape */
            snprintf(same_size, sizeof same_size, "; %dx%lld has as many samples", other, height);
        }
        warn("%s does not look like pictures of %dx%d: rows of %d samples fit far better than rows of %d; check --width and --height%s",
             v->title, v->width, v->height, other, v->width, same_size);
    } else if (v->layout == VMAFGPU_PLANAR && v->chroma_bytes > 0 && read_some_samples(all, i, 1, &s)) {
        is_interleaved = rawsize_is_interleaved(&s);
        rawsize_free(&s);
    }
    if (is_interleaved) {
        warn("the chroma samples of %s alternate between two planes, as in nv12; check --pixel_format (%s)", v->title,
             all->o->pixel_format_name);
    }
    return !is_deep && !is_shallow && !other && !is_interleaved;
}

/* Looks at the first frame of raw files. One warning is enough: all have the same options. */
static void look_for_size(const session *all) {
    for (int i = 0; i <= all->count && all->o->pixel_format; i++) {
        if (!check_raw_picture(all, i)) {
            return;
        }
    }
}

/* Looks at the first frames of files, and warns where they seem to be shifted. */
static void look_for_shift(const session *all) {
    const video *r = &all->videos[0];
    int64_t counts[2] = {0, 0};
    align_signature *reference = look_at(all, 0, &counts[0]);
    for (int i = 1; i <= all->count && reference; i++) {
        const video *d = &all->videos[i];
        align_signature *distorted = look_at(all, i, &counts[1]);
        int offset = distorted ? align_look(reference, counts[0], distorted, counts[1], 0, LOOK_OFFSET) : 0;
        free(distorted);
        if (offset != 0) {
            warn("the first frames of %s fit those of %s far better if %d of the %s %s left out: --align %d compares what "
                 "corresponds", d->title, r->title, offset < 0 ? -offset : offset, offset < 0 ? "former" : "latter",
                 offset == 1 || offset == -1 ? "is" : "are", offset < 0 ? -offset + 2 : offset + 2);
        }
    }
    free(reference);
}

/* "3", or "3 to 5" */
static const char *range_text(char text[64], int64_t first, int64_t last) {
    snprintf(text, 64, first == last ? "%lld" : "%lld to %lld", (long long)first, (long long)last);
    return text;
}

/* Says what was found; with doubts, as a warning. `first` is the first frame of the distorted video that was looked at. */
static void report_alignment(const session *all, int i, const alignment *a, int64_t first) {
    enum { MOST_EVENTS = 8 };
    const video *d = &all->videos[i];
    char text[64], other[64], place[64] = "it is in step with the reference";
    if (a->offset != 0) {
        snprintf(place, sizeof place, "its frame n is the reference's n%+d", a->offset);
    }
    say("alignment: %s: %s; %lld frames correspond, %lld dropped, %lld repeated", d->title, place, (long long)a->matched,
        (long long)a->dropped, (long long)a->repeated);
    for (int k = 0; k < a->event_count && k < MOST_EVENTS; k++) {
        const align_range *e = &a->events[k];
        say("alignment: at frame %s: %d %s", range_text(text, first + e->first, first + e->last), e->low < 0 ? -e->low : e->low,
            e->low < 0 ? "repeated" : "dropped before it");
    }
    if (a->event_count > MOST_EVENTS) {
        say("alignment: and %d more", a->event_count - MOST_EVENTS);
    }
    for (int k = 0; k < a->doubt_count && k < 1; k++) {
        const align_range *e = &a->doubts[k];
        warn("the alignment of %s is not sure: frames %s fit as well or better with offsets %s, for too little moves, what "
             "moves comes back, or more than --align %lld is needed%s", d->title, range_text(text, first + e->first, first + e->last),
             range_text(other, e->low, e->high), (long long)all->o->align, a->doubt_count > 1 ? "; so do others" : "");
    }
    if (a->doubt_count == 0 && a->unsure) {
        warn("the alignment of %s is not sure: where frames were dropped or repeated is known as exactly as is said above",
             d->title);
    }
}

/* The pairs of frames that correspond in all videos. */
static int make_plan(session *all, int64_t begin, int64_t count, int64_t *const *counterparts) {
    for (int i = 0; i <= all->count; i++) {
        all->plan[i] = (int64_t *)malloc(sizeof *all->plan[i] * (size_t)(count + 1));
        if (!all->plan[i]) {
            return out_of_memory();
        }
    }
    for (int64_t k = 0; k < count; k++) {
        int has_all = 1;
        for (int i = 1; i <= all->count; i++) {
            has_all &= counterparts[i][k] >= 0;
        }
        for (int i = 0; i <= all->count && has_all; i++) {
            all->plan[i][all->plan_count] = i ? counterparts[i][k] : begin + k;
        }
        all->plan_count += has_all;
    }
    all->first = 0;
    return all->plan_count > 0 || fail("no frames of the videos correspond");
}

/* What was looked at of the reference: more on both sides than what is wanted, so that what is wanted has its neighbours. */
typedef struct aligned_part {
    align_signature *signatures;
    int64_t          first, count; /* frames of the file */
    int64_t          begin, wanted; /* those that are to be scored */
} aligned_part;

/* Finds the reference's frame for each of a distorted video, and writes it the other way round to `counterparts`. */
static int align_video(session *all, int i, const aligned_part *r, int64_t *counterparts) {
    int64_t most = all->o->align + 2; /* two more, so that what is at the end of these is sure */
    int64_t usual = frames_to_skip(all->o, i) - frames_to_skip(all->o, 0), expected = r->begin + usual, frames;
    int64_t first = expected > most ? expected - most : 0;
    align_signature *distorted = sign_again(all, i, first, r->wanted < INT64_MAX ? expected - first + r->wanted + most : INT64_MAX,
                                            1, &frames);
    alignment a;
    memset(&a, 0, sizeof a);
    int apart = (int)(r->first - first); /* what equal places in both lists differ by in the files */
    int ok = distorted && align_find(&a, r->signatures, r->count, distorted, frames, (int)(-usual - apart - most), 2 * (int)most + 1);
    for (int64_t j = 0; j < frames && ok; j++) {
        int64_t k = a.match[j] < 0 ? -1 : r->first + a.match[j] - r->begin;
        if (k >= 0 && k < r->wanted) {
            counterparts[k] = first + j;
        }
    }
    if (ok) {
        a.offset += apart;
        for (int k = 0; k < a.doubt_count; k++) {
            a.doubts[k].low += apart;
            a.doubts[k].high += apart;
        }
        report_alignment(all, i, &a, first);
    } else {
        out_of_memory();
    }
    align_free(&a);
    free(distorted);
    return ok;
}

static int arrange_alignment(session *all) {
    int64_t begin = wanted_frame(all, 0, 0), more = 2 * (all->o->align + 2), *counterparts[1 + MAX_DISTORTED] = {NULL};
    aligned_part r = {NULL, begin > more ? begin - more : 0, 0, begin, all->limit > 0 ? all->limit : INT64_MAX};
    video again;
    for (int i = 0; i <= all->count; i++) {
        int is_file = open_again(all, i, 1, &again);
        video_close(&again);
        if (!is_file) {
            return fail("--align reads the videos twice: %s would have to be a file", all->videos[i].title);
        }
    }
    r.signatures = sign_again(all, 0, r.first, all->limit > 0 ? begin - r.first + all->limit + more : INT64_MAX, 1, &r.count);
    int64_t count = r.count - (begin - r.first);
    count = count < 0 ? 0 : count < r.wanted ? count : r.wanted;
    int ok = r.signatures != NULL || out_of_memory();
    for (int i = 1; i <= all->count && ok; i++) {
        counterparts[i] = (int64_t *)malloc(sizeof **counterparts * (size_t)(count + 1));
        ok = counterparts[i] != NULL || out_of_memory();
        for (int64_t k = 0; k < count && ok; k++) {
            counterparts[i][k] = -1;
        }
        ok = ok && align_video(all, i, &r, counterparts[i]);
    }
    ok = ok && make_plan(all, begin, count, counterparts);
    for (int i = 1; i <= all->count; i++) {
        free(counterparts[i]);
    }
    free(r.signatures);
    return ok;
}

/* Files that are not equally long, unless they are made equal, or less is wanted. */
static void check_lengths(session *all) {
    const video *r = &all->videos[0];
    int64_t pairs = pairs_behind(all, all->first);
    for (int i = 1; i <= all->count; i++) {
        const video *d = &all->videos[i];
        int is_known = r->is_whole && d->is_whole && r->frames_total > 0 && d->frames_total > 0;
        int is_cut = all->limit > 0 && pairs >= all->limit;
        if (is_known && !is_cut && r->frames_total != d->frames_total &&
            r->frames_total - frames_to_skip(all->o, 0) != d->frames_total - frames_to_skip(all->o, i)) {
            char scored[40] = "pairs are scored"; /* where a pipe is among the videos nobody knows how many */
            if (pairs >= 0) {
                snprintf(scored, sizeof scored, "%lld pairs are scored", (long long)pairs);
            }
            warn("the frame counts differ: %s has %lld, %s has %lld; %s, up to the end of the shortest",
                 r->title, r->frames_total, d->title, d->frames_total, scored);
            int is_shorter = r->frames_total - frames_to_skip(all->o, 0) > d->frames_total - frames_to_skip(all->o, i);
            all->end_is_known[is_shorter ? i : 0] = 1;
        }
    }
}

/* --from must lie before the end, where that is known. */
static int check_beginning(const session *all, const options *o) {
    int64_t pairs = pairs_behind(all, 0);
    if (!o->from.is_given || pairs < 0 || all->first < pairs) {
        return 1;
    }
    char time[48] = "";
    const video *r = &all->videos[0];
    if (r->rate_num) {
        snprintf(time, sizeof time, " (%.2f seconds)", (double)pairs * r->rate_den / r->rate_num);
    }
    return fail("--from is frame %lld, but there %s only %lld pair%s of frames%s; give --from a smaller value", (long long)all->first,
                pairs == 1 ? "is" : "are", (long long)pairs, pairs == 1 ? "" : "s", time);
}

/* Everything that can be known before the first pair is scored. */
static int arrange(session *all, const options *o) {
    if (!arrange_times(all, o) || !check_beginning(all, o) || !arrange_pictures(all, o)) {
        return 0;
    }
    look_for_size(all);
    if (o->align) {
        if (!arrange_alignment(all)) {
            return 0;
        }
    } else {
        check_lengths(all);
        look_for_shift(all);
    }
    return strict_failures == 0;
}

/* The models' columns come last; --no_prediction leaves them out. */
static int shown_columns(const vmafgpu *context, const options *o) {
    int columns = vmafgpu_column_count(context);
    for (int m = 0; o->no_prediction && m < o->model_count; m++) {
        int column = vmafgpu_score_column(context, m);
        columns = column >= 0 && column < columns ? column : columns;
    }
    return columns;
}

/* ---- what was scored before, and elsewhere ---- */

/* The hash of a whole file. 0: it cannot be read. */
static int hash_file(const char *path, html_input *in) {
    static unsigned char buffer[1 << 16];
    FILE *file = strcmp(path, "-") != 0 && identify(path).kind == FILE_REGULAR ? fopen(path, "rb") : NULL;
    xxh64 h;
    size_t count = 0;
    xxh64_start(&h);
    while (file && (count = fread(buffer, 1, sizeof buffer, file)) > 0) {
        xxh64_add(&h, buffer, count);
    }
    in->has_hash = file && !ferror(file);
    in->size = h.size;
    in->hash = xxh64_end(&h);
    if (file) {
        fclose(file);
    }
    return in->has_hash;
}

static void hash_text(xxh64 *h, const char *text) {
    xxh64_add(h, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static void hash_number(xxh64 *h, int64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)((uint64_t)number >> 8 * i);
    }
    xxh64_add(h, bytes, sizeof bytes);
}

/* Size and samples of a file: blocks all over it. */
static void hash_samples(xxh64 *h, const video *v, const char *path) {
    enum { BLOCKS = 64, BLOCK = 4096 };
    static unsigned char block[BLOCK];
    FILE *file = fopen(path, "rb");
    hash_number(h, v->file_bytes);
    for (int i = 0; i < BLOCKS && file; i++) {
        long long at = v->file_bytes > BLOCK ? (v->file_bytes - BLOCK) / (BLOCKS - 1) * i : 0;
#ifdef _WIN32
        int found = _fseeki64(file, at, SEEK_SET) == 0;
#else
        int found = fseeko(file, (off_t)at, SEEK_SET) == 0;
#endif
        xxh64_add(h, block, found ? fread(block, 1, BLOCK, file) : 0);
    }
    if (file) {
        fclose(file);
    }
}

/* Everything that scores depend on; not what makes them faster, or writes them. */
static uint64_t hash_run(const session *all, const options *o) {
    xxh64 h;
    xxh64_start(&h);
    hash_text(&h, vmafgpu_version());
    for (int i = 0; i <= all->count; i++) {
        hash_samples(&h, &all->videos[i], path_of(o, i));
    }
    for (int i = 0; i < o->model_count; i++) {
        html_input file = {NULL, NULL, 0, 0, 0};
        hash_text(&h, o->models[i].version);
        hash_text(&h, o->models[i].name);
        hash_text(&h, o->models[i].options);
        hash_number(&h, o->models[i].disable_clip);
        hash_number(&h, o->models[i].enable_transform);
        hash_number(&h, o->model_options[i].path && hash_file(o->model_options[i].path, &file) ? (int64_t)file.hash : 0);
    }
    for (int i = 0; i < o->feature_count; i++) {
        hash_text(&h, o->features[i].name);
        hash_text(&h, o->features[i].options);
    }
    const int64_t numbers[] = {o->width, o->height, o->bit_depth, o->pixel_format ? o->pixel_format - pixel_formats + 1 : 0, o->frame_count,
                               o->skip_reference, o->skip_distorted, o->from.is_time, o->from.value, o->to.is_given, o->to.is_time,
                               o->to.value, all->crop.is_given, all->crop.x, all->crop.y, all->width, all->height, o->scale, o->align,
                               o->reciprocal, o->no_prediction, o->subsample, o->threads > 0, all->plan_count};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        hash_number(&h, numbers[i]);
    }
    return xxh64_end(&h);
}

static uint64_t hash_dates(const session *all) {
    xxh64 h;
    xxh64_start(&h);
#ifndef _WIN32
    for (int i = 0; i <= all->count; i++) {
        struct stat about;
        hash_number(&h, stat(path_of(all->o, i), &about) == 0 ? (int64_t)about.st_mtime : 0);
    }
#else
    (void)all;
#endif
    return xxh64_end(&h);
}

/* What the rows are of. 0 after a message. */
static int describe_rows(session *all, const options *o) {
    rows_file *r = &all->rows;
    const vmafgpu *context = all->contexts[0];
    r->segment = o->segments ? o->segment : 1;
    r->segments = o->segments ? o->segments : 1;
    r->step = o->subsample > 1 ? o->subsample : 1;
    r->width = all->width;
    r->height = all->height;
    r->videos = all->count;
    r->columns = vmafgpu_column_count(context);
    r->shown = shown_columns(context, o);
    r->names_backend = o->names_backend;
    r->is_intact = 1;
    snprintf(r->backend, sizeof r->backend, "%s", vmafgpu_backend_name(context));
    for (int m = 0; m < (o->model_count ? o->model_count : 1) && !o->no_prediction; m++) {
        r->scores[r->score_count++] = vmafgpu_score_column(context, m);
    }
    r->names = (char **)calloc((size_t)r->columns + 1, sizeof *r->names);
    r->single = (int *)calloc((size_t)r->columns + 1, sizeof *r->single);
    for (int c = 0; c < r->columns && r->names && r->single; c++) {
        r->single[c] = vmafgpu_report_column(context, 1, c);
        r->names[c] = copy_text(vmafgpu_column_name(context, c), 0);
        if (!r->names[c]) {
            return out_of_memory();
        }
    }
    for (int i = 0; i < r->videos; i++) {
        r->tables[i].columns = r->columns;
    }
    return (r->names && r->single) || out_of_memory();
}

static int state_failure(const options *o, const char *what) {
    return fail("the state \"%s\" %s", o->state, what);
}

/* Opens a state for reading and writing, for nobody else. */
static FILE *open_state_file(const options *o) {
#ifdef _WIN32
    FILE *file = fopen(o->state, "r+b");
    file = file ? file : fopen(o->state, "w+b");
#else
    int number = open(o->state, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    FILE *file = number < 0 ? NULL : fdopen(number, "r+b");
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (file && fcntl(number, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN)) {
        state_failure(o, "is in use by another run");
        fclose(file);
        return NULL;
    }
#endif
    if (!file) {
        fail("the state \"%s\" cannot be opened (%s)", o->state, strerror(errno));
    }
    return file;
}

/* Is this what a run leaves that is ended before its first line is written? */
static int is_new_state(FILE *file) {
    static const char begin[] = "[{\"vmafgpu_rows\":2,";
    char line[sizeof begin];
    rewind(file);
    size_t count = fread(line, 1, sizeof begin - 1, file);
    int c, has_line = 0;
    if (memcmp(line, begin, count) != 0) {
        return 0;
    }
    while ((c = getc(file)) != EOF) {
        has_line |= c == '\n';
    }
    return !has_line;
}

static int cut_state(FILE *file, long size) {
#ifdef _WIN32
    return fflush(file) == 0 && _chsize(_fileno(file), size) == 0 && fseek(file, size, SEEK_SET) == 0;
#else
    return fflush(file) == 0 && ftruncate(fileno(file), size) == 0 && fseek(file, size, SEEK_SET) == 0;
#endif
}

/* Takes over the rows that are there. */
static int open_state(session *all, const options *o) {
    rows_file before, *mine = &all->rows;
    file_id id = identify(o->state);
    for (int i = 0; i <= all->count; i++) {
        file_id video = identify(path_of(o, i));
        if (is_same_file(&id, &video)) {
            return state_failure(o, "is a video");
        }
    }
    if (id.kind != FILE_NONE && id.kind != FILE_REGULAR) {
        return state_failure(o, "would have to be a file");
    }
    all->state = open_state_file(o);
    if (!all->state) {
        return 0;
    }
    if (is_new_state(all->state)) {
        return (cut_state(all->state, 0) && rows_put_header(all->state, mine) && fflush(all->state) == 0) ||
               state_failure(o, "cannot be written");
    }
    rewind(all->state);
    int ok = rows_read(&before, all->state) || state_failure(o, before.error);
    if (ok && (before.run != mine->run || before.files != mine->files || before.segment != mine->segment ||
               before.segments != mine->segments || before.columns != mine->columns || before.videos != mine->videos)) {
        ok = state_failure(o, "is of another run: videos, options or the program's version are not those that it was made with. "
                              "Remove it, or name another one");
    }
    if (ok) {
        for (int i = 0; i < mine->videos; i++) {
            mine->tables[i] = before.tables[i];
            memset(&before.tables[i], 0, sizeof before.tables[i]);
        }
        mine->is_whole = before.is_whole;
        mine->pairs = before.pairs;
        mine->seconds = before.seconds;
        ok = cut_state(all->state, before.end) || state_failure(o, "cannot be written");
    }
    rows_free(&before);
    return ok;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Which pairs are to be read, so that those that are to be scored have their neighbours. */
static void choose_pairs(session *all, const options *o, int64_t begin, int64_t end) {
    rows_file *r = &all->rows;
    int64_t start = begin + r->tables[0].rows * r->step, limit = all->limit, seeds = vmafgpu_seed_count(all->contexts[0]);
    all->seeds = seeds < 0 ? 0 : least(seeds, start);
    all->lead = seeds < 0 ? least(r->step, start) : 0;
    all->collected = all->lead / r->step;
    end = o->segments && o->segment < o->segments ? end : limit > 0 ? limit : -1;
    all->wanted = end < 0 ? -1 : end > start ? end - start : 0;
    all->is_done = r->is_whole || all->wanted == 0 || (r->total >= 0 && start >= r->total);
    int64_t before = all->seeds + all->lead, behind = o->segments && o->segment < o->segments ? 2 : 0;
    all->first += start - before;
    all->limit = all->wanted < 0 ? 0 : before + all->wanted + behind;
    if (limit > 0 && all->limit > 0) {
        all->limit = least(all->limit, limit - (start - before));
    }
}

/* Sets up what --state and --segment need; the contexts are open. */
static int begin_rows(session *all, const options *o) {
    all->wanted = -1;
    all->has_rows = o->state != NULL || o->segments > 0;
    if (!all->has_rows) {
        return 1;
    }
    for (int i = 0; i <= all->count; i++) {
        if (identify(path_of(o, i)).kind != FILE_REGULAR || strcmp(path_of(o, i), "-") == 0) {
            return fail("--state and --segment need files: %s is none", all->videos[i].title);
        }
    }
    if (vmafgpu_aggregate_count(all->contexts[0]) > 0 || has_heatmaps(o)) {
        return fail("--state and --segment do not go with psnr's enable_apsnr and cambi's heatmaps_path, which need the whole clip");
    }
    int64_t first = all->first, total = pairs_behind(all, first), step = o->subsample > 1 ? o->subsample : 1;
    total = all->limit > 0 ? least(total, all->limit) : total;
    if (!describe_rows(all, o)) {
        return 0;
    }
    all->rows.run = hash_run(all, o);
    all->rows.files = o->state ? hash_dates(all) : 0;
    int64_t parts = all->rows.segments, begin = total / parts * (all->rows.segment - 1) + total % parts * (all->rows.segment - 1) / parts;
    int64_t end = total / parts * all->rows.segment + total % parts * all->rows.segment / parts;
    begin = begin / step * step;
    end = end / step * step;
    all->rows.first = begin;
    all->rows.total = total;
    if (o->state && !open_state(all, o)) {
        return 0;
    }
    choose_pairs(all, o, begin, end);
    return 1;
}

static int64_t ready_rows(const session *all) {
    int64_t ready = INT64_MAX;
    for (int i = 0; i < all->count; i++) {
        ready = least(ready, vmafgpu_score_count(all->contexts[i]));
    }
    return ready;
}

/* The first of these rows, from `from` on, that a frame without a score has; else how many there are. A GPU finds samples that do
 * not fit when it has been given the pairs behind, too. Like the CPU, which takes none of these, the tool reports what is before. */
static int64_t sound_rows(const session *all, int64_t from, int64_t step) {
    int64_t ready = ready_rows(all);
    vmafgpu_score score;
    for (int64_t row = from; row < ready; row++) {
        for (int i = 0; i < all->count; i++) {
            if (vmafgpu_score_at(all->contexts[i], row * step, &score) != VMAFGPU_OK || score.result != VMAFGPU_OK) {
                return row;
            }
        }
    }
    return ready;
}

/* Takes the rows that are ready out of the contexts, and writes them to the state. 0 after a message. */
static int collect_rows(session *all) {
    rows_file *r = &all->rows;
    int64_t ready = sound_rows(all, all->collected, r->step);
    vmafgpu_score score;
    for (; all->collected < ready; all->collected++) {
        for (int i = 0; i < all->count; i++) {
            (void)vmafgpu_score_at(all->contexts[i], all->collected * r->step, &score);
            if (!scores_append(&r->tables[i], score.values, 1)) {
                return out_of_memory();
            }
        }
        if (all->state && !rows_put(all->state, r, r->tables[0].rows - 1)) {
            return out_of_memory();
        }
    }
    return !all->state || fflush(all->state) == 0 || fail("the state \"%s\" cannot be written (%s)", all->o->state, strerror(errno));
}

static void end_rows(session *all) {
    if (all->state) {
        fclose(all->state);
    }
    rows_free(&all->rows);
}

/* ------------------------------------------------------------------------------------------------
 * Scoring
 * ------------------------------------------------------------------------------------------------ */

/* A frame of each video, and where there is none, why. */
typedef struct pair {
    video_result  states[1 + MAX_DISTORTED];
    vmafgpu_frame frames[1 + MAX_DISTORTED];
} pair;

typedef struct scoring {
    int64_t frames; /* pairs that were pushed */
    double  seconds;
    int     intact; /* 0: an error, already reported, cut the clip short */
} scoring;

/* Reads the n-th frame that is wanted. */
static video_result read_wanted(const session *all, video *v, int index, int64_t n) {
    video_result result = VIDEO_OK;
    int64_t wanted = wanted_frame(all, index, n);
    while (result == VIDEO_OK && v->frames_read <= wanted) {
        result = video_read(v);
    }
    return wanted < 0 ? VIDEO_END : result;
}

/* What libvmaf's tool says, word for word: it isn't an error. */
static void report_early_end(const video *shorter, const video *longer) {
    put_text(stderr, shorter->title);
    fputs(" ended before ", stderr);
    put_text(stderr, longer->title);
    fputs(".\n", stderr);
}

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
static video_result judge_pair(const session *all, const pair *now, const char **problem) {
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
    if (worst == VIDEO_END && longer >= 0 && !all->end_is_known[ended]) {
        report_early_end(&all->videos[ended], &all->videos[longer]);
        strict_failures += is_strict;
    }
    return worst;
}

static int push_pair(const session *all, const pair *now) {
    return !all->contexts[0] ||
           vmafgpu_push_many(all->contexts, all->count, &now->frames[0], &now->frames[1]) == VMAFGPU_OK;
}

/* Gives the contexts the n-th pair that is read, or the neighbour that it is. */
static int take_pair(const session *all, int64_t n, const pair *now) {
    int is_seed = n < all->seeds, is_tail = all->wanted >= 0 && n >= all->seeds + all->lead + all->wanted, ok = 1;
    if (!is_seed && !is_tail) {
        return push_pair(all, now);
    }
    for (int i = 0; i < all->count; i++) {
        ok &= (is_seed ? vmafgpu_seed : vmafgpu_tail)(all->contexts[i], &now->frames[0]) == VMAFGPU_OK;
    }
    return ok;
}

static int flush_all(session *all) {
    int ok = 1;
    for (int i = 0; i < all->count && all->contexts[i]; i++) {
        ok &= vmafgpu_flush(all->contexts[i]) == VMAFGPU_OK;
    }
    return ok;
}

/* ---- videos that come through pipes ----
 *
 * A thread each opens and reads them, for two reasons. One program may write several: then it opens them all, and writes a
 * frame here and a frame there, or some ahead, in an order that is its own, and waits wherever nobody reads. And where
 * several threads score, or a GPU does, none of them should wait for a pipe. Where the CPU scores the caller reads files itself,
 * which takes no time as they are mapped, and a single pipe where one thread scores. */

#ifdef READ_AHEAD
static int make_lock(session *all) {
    if (!all->has_lock && pthread_mutex_init(&all->lock, NULL) == 0) {
        all->has_lock = pthread_cond_init(&all->changed, NULL) == 0;
        if (!all->has_lock) {
            pthread_mutex_destroy(&all->lock);
        }
    }
    return all->has_lock;
}

/* How many frames of a pipe may be in memory. */
static int count_slots(const session *all, const video *v) {
    size_t bytes = video_frame_bytes(v) * (size_t)all->feed_count, fit = MAX_AHEAD / bytes;
    if (all->feed_count == 1) {
        return fit > 0 ? 2 : 1;
    }
    return fit < 2 ? 2 : fit > MAX_SLOTS ? MAX_SLOTS : (int)fit;
}

static video_result open_fed_video(session *all, const feed *f) {
    video *v = &all->videos[f->index];
    video_result result = video_open_file(v, path_of(all->o, f->index));
    return result == VIDEO_OK ? begin_video(v, all->o) : result;
}

/* Gives the video a free slot to read into; waits for one. 0: there is nothing more to read. Called with the lock. */
static int take_slot(session *all, feed *f) {
    video *v = &all->videos[f->index];
    if (all->limit > 0 && f->first + f->read >= all->limit) {
        return 0;
    }
    for (;;) {
        if (all->is_ending) {
            return 0;
        }
        if (f->read - f->used < f->slot_count) {
            unsigned char **slot = &f->slots[f->read % f->slot_count];
            if (!*slot) {
                *slot = (unsigned char *)malloc(video_frame_bytes(v));
            }
            if (*slot) {
                v->buffer = *slot;
                return 1;
            }
            f->slot_count = (int)f->read; /* the first round is not over, and the first slot is always there */
        } else {
            pthread_cond_wait(&all->changed, &all->lock);
        }
    }
}

static void *feed_work(void *user) {
    feed *f = (feed *)user;
    session *all = f->all;
    video *v = &all->videos[f->index];
    video_result result = f->is_open ? VIDEO_OK : open_fed_video(all, f);
    pthread_mutex_lock(&all->lock);
    f->is_open = result == VIDEO_OK ? 1 : -1;
    f->slots[0] = v->buffer;
    f->slot_count = f->is_open > 0 ? count_slots(all, v) : 0;
    pthread_cond_broadcast(&all->changed);
    while (result == VIDEO_OK && take_slot(all, f)) {
        pthread_mutex_unlock(&all->lock);
        result = read_wanted(all, v, f->index, f->first + f->read);
        pthread_mutex_lock(&all->lock);
        f->read += result == VIDEO_OK;
        f->state = result;
        pthread_cond_broadcast(&all->changed);
    }
    f->has_ended = 1;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Starts threads for these videos, which are open already or to be opened. Where that fails, the caller reads. */
static void make_feeds(session *all, const int *is_pipe, int is_open) {
    if (!make_lock(all)) {
        return;
    }
    hold_signals(1); /* the caller's thread is the one that they end */
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i <= all->count; i++) {
        feed *f = &all->feeds[i];
        if (is_pipe[i] && !f->is_made) {
            f->all = all;
            f->index = i;
            f->is_open = is_open;
            f->first = all->pairs;
            f->is_made = pthread_create(&f->thread, NULL, feed_work, f) == 0;
            all->feed_count += f->is_made;
        }
    }
    pthread_mutex_unlock(&all->lock);
    hold_signals(0);
}

/* Starts threads for the pipes, if they are to have some. */
static void start_feeds(session *all) {
    int is_pipe[1 + MAX_DISTORTED], count = 0;
    for (int i = 0; i <= all->count; i++) {
        const char *path = path_of(all->o, i);
        file_id file = strcmp(path, "-") == 0 ? identify_standard(STANDARD_INPUT) : identify(path);
        is_pipe[i] = file.kind == FILE_PIPE || file.kind == FILE_DEVICE;
        count += is_pipe[i];
    }
    if (count > 1 || (count == 1 && all->o->threads > 1)) {
        make_feeds(all, is_pipe, 0);
    }
}

static int is_fed(const session *all, int i) {
    return all->feeds[i].is_made;
}

/* Waits until all pipes are open. Returns one that could not be opened, or -1. */
static int wait_for_feeds(session *all) {
    int failed = -1, waits = all->feed_count > 0;
    if (!waits) {
        return failed;
    }
    pthread_mutex_lock(&all->lock);
    while (waits && failed < 0) {
        waits = 0;
        for (int i = 0; i <= all->count; i++) {
            if (is_fed(all, i)) {
                failed = failed < 0 && all->feeds[i].is_open < 0 ? i : failed;
                waits |= !all->feeds[i].is_open;
            }
        }
        if (waits && failed < 0) {
            pthread_cond_wait(&all->changed, &all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return failed;
}

/* The next frame of a pipe. It stays until the one after it is asked for. */
static video_result next_fed_frame(session *all, int i, vmafgpu_frame *frame) {
    feed *f = &all->feeds[i];
    pthread_mutex_lock(&all->lock);
    if (f->is_lent) {
        f->is_lent = 0;
        f->used++;
        pthread_cond_broadcast(&all->changed);
    }
    while (f->read == f->used && f->state == VIDEO_OK) {
        pthread_cond_wait(&all->changed, &all->lock);
    }
    f->is_lent = f->read > f->used;
    video_result state = f->is_lent ? VIDEO_OK : f->state;
    if (f->is_lent) {
        *frame = video_frame_at(&all->videos[i], f->slots[f->used % f->slot_count]);
    }
    pthread_mutex_unlock(&all->lock);
    return state;
}

/* Does nothing: that it is called ends an open() or a read(). */
static void wake_up(int number) {
    (void)number;
}

/* Is a thread at work? Wakes it. */
static int wake_feeds(session *all) {
    int count = 0;
    for (int i = 0; i <= all->count; i++) {
        if (is_fed(all, i) && !all->feeds[i].has_ended) {
            pthread_kill(all->feeds[i].thread, SIGUSR1);
            count++;
        }
    }
    return count;
}

/* Ends the threads. One may still be reading what nobody wants; a pipe could keep it waiting for ever, but a signal ends the
 * wait. One that comes too early ends nothing, hence another one every few milliseconds. */
static void stop_feeds(session *all) {
    struct sigaction action;
    if (all->feed_count == 0) {
        return;
    }
    memset(&action, 0, sizeof action); /* without SA_RESTART */
    action.sa_handler = wake_up;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    pthread_mutex_lock(&all->lock);
    all->is_ending = 1;
    pthread_cond_broadcast(&all->changed);
    while (wake_feeds(all) > 0) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 5000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&all->changed, &all->lock, &soon);
    }
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i <= all->count; i++) {
        feed *f = &all->feeds[i];
        if (f->is_made) {
            pthread_join(f->thread, NULL);
            all->videos[i].buffer = f->slots[0];
            for (int k = 1; k < MAX_SLOTS; k++) {
                free(f->slots[k]);
            }
        }
    }
    all->feed_count = 0;
}

static void drop_lock(session *all) {
    if (all->has_lock) {
        pthread_cond_destroy(&all->changed);
        pthread_mutex_destroy(&all->lock);
        all->has_lock = 0;
    }
}
#else
static void start_feeds(session *all) { (void)all; }
static int is_fed(const session *all, int i) { return (void)all, (void)i, 0; }
static int wait_for_feeds(session *all) { return (void)all, -1; }
static video_result next_fed_frame(session *all, int i, vmafgpu_frame *frame) {
    return (void)all, (void)i, (void)frame, VIDEO_END;
}
static void stop_feeds(session *all) { (void)all; }
static void drop_lock(session *all) { (void)all; }
#endif

/* ---- files that ffmpeg has to decode first ---- */

/* Appends the ffmpeg command that decodes a file and writes it to `to`. */
static size_t put_decoder(char *out, size_t size, size_t used, const options *o, const char *path, const char *before, const char *to) {
    int by_name;
    const container_format *format = container_of(path, o->pixel_format != NULL, &by_name);
    char name[32] = "yuv420p", prefixed[4200];
    snprintf(prefixed, sizeof prefixed, strchr(path, ':') ? "file:%s" : "%s", path); /* else what is before : is a protocol */
    used = shell_put(out, size, used, before);
    used = shell_put_word(out, size, used, prefixed);
    if (o->pixel_format) {
        ffmpeg_format(name, o->pixel_format->chroma, o->pixel_format->layout, (int)o->bit_depth);
    }
    used = shell_put(out, size, used, o->pixel_format ? " -f rawvideo" : " -f yuv4mpegpipe -strict -1");
    if (o->pixel_format || (format && format->is_picture)) {
        used = shell_put(out, size, used, " -pix_fmt ");
        used = shell_put(out, size, used, name);
    }
    used = shell_put(out, size, used, " ");
    return shell_put_word(out, size, used, to);
}

/* Appends the command that was given, with decoders for the videos that need one: a pipe for one of them, bash's substitution
 * for several. */
static void put_with_decoders(char *out, size_t size, const options *o, const int *is_container, int count) {
    size_t used = 0;
    for (int i = 0; i <= o->distorted.count && count == 1; i++) {
        if (is_container[i]) {
            used = put_decoder(out, size, used, o, path_of(o, i), "ffmpeg -v error -i ", "-");
            used = shell_put(out, size, used, " | ");
        }
    }
    for (int k = 0; k < o->argc; k++) {
        const char *word = o->argv[k], *path = NULL;
        for (int i = 0; i <= o->distorted.count; i++) {
            const char *at = path_of(o, i);
            path = is_container[i] && at >= word && at <= word + strlen(word) ? at : path;
        }
        used = shell_put(out, size, used, k ? " " : "");
        if (!path) {
            used = shell_put_word(out, size, used, word);
            continue;
        }
        for (const char *c = word; c < path; c++) { /* --reference= */
            char letter[2] = {*c, '\0'};
            used = shell_put(out, size, used, letter);
        }
        if (count == 1) {
            used = shell_put(out, size, used, "-");
        } else {
            used = put_decoder(out, size, used, o, path, "<(ffmpeg -v error -nostdin -i ", "-");
            used = shell_put(out, size, used, ")");
        }
    }
}

/* Refuses files that are no video for this program, with the command that decodes them. */
static int check_containers(const options *o) {
    static char command[1 << 15];
    int is_container[1 + MAX_DISTORTED] = {0}, count = 0, first = -1, from_stdin = 0, by_name;
    for (int i = 0; i <= o->distorted.count; i++) {
        const char *path = path_of(o, i);
        int is_stdin = strcmp(path, "-") == 0;
        from_stdin += is_stdin;
        is_container[i] = !is_stdin && identify(path).kind == FILE_REGULAR && container_of(path, o->pixel_format != NULL, &by_name);
        first = is_container[i] && first < 0 ? i : first;
        count += is_container[i];
    }
    if (count == 0) {
        return 1;
    }
    video named;
    const char *path = path_of(o, first);
    int needs_file = o->state || o->segments || o->align || o->from.is_time || o->to.is_time;
    video_start(&named, path);
#ifdef _WIN32
    needs_file |= count + from_stdin > 1;
#endif
    if (needs_file) {
        char to[4200];
        snprintf(to, sizeof to, "%s.%s", path, o->pixel_format ? "yuv" : "y4m");
        put_decoder(command, sizeof command, 0, o, path, "ffmpeg -v error -i ", to);
    } else {
        put_with_decoders(command, sizeof command, o, is_container, count + from_stdin);
    }
    const container_format *format = container_of(path, o->pixel_format != NULL, &by_name);
    fail("%s %s %s; decode it with ffmpeg, as in this command%s", named.title, by_name ? "is not a y4m file but, by its name," : "is",
         format->name, needs_file ? ", and score its output" : count + from_stdin > 1 ? " for bash" : "");
    fputs("    ", stderr);
    put_text(stderr, command);
    fputs("\n", stderr);
    return 0;
}

/* All are open before the header of one is read, whoever does it. */
static int open_videos(session *all, const options *o) {
    start_feeds(all);
    for (int i = 0; i <= all->count; i++) {
        if (!is_fed(all, i) && video_open_file(&all->videos[i], path_of(o, i)) != VIDEO_OK) {
            return fail("%s", all->videos[i].error);
        }
    }
    for (int i = 0; i <= all->count; i++) {
        if (!is_fed(all, i) && begin_video(&all->videos[i], o) != VIDEO_OK) {
            return fail("%s", all->videos[i].error);
        }
    }
    int failed = wait_for_feeds(all);
    return failed < 0 ? 1 : fail("%s", all->videos[failed].error);
}

/* ---- files that a GPU scores ----
 *
 * Several threads read parts of the next frames into memory that the contexts lend, as far ahead as they lend it. What a file
 * has is found in order, under the lock; parts are read in any order; the caller takes pairs in order again. */

#ifdef READ_AHEAD
/* A plane of a frame: where it begins in the file, after the frame's beginning, and its rows. */
typedef struct plane_place {
    size_t at, row;
    int    rows;
} plane_place;

static plane_place place_plane(const video *v, int plane) {
    int planar = v->layout == VMAFGPU_PLANAR;
    size_t word = (size_t)v->bytes_per_sample;
    plane_place p = {0, (size_t)v->width * word, v->height};
    if (plane > 0) {
        p.at = v->luma_bytes + (size_t)(plane - 1) * v->chroma_bytes;
        p.row = video_chroma_side(v, v->width, v->sampling.chroma_x) * word * (planar ? 1 : 2);
        p.rows = (int)video_chroma_side(v, v->height, v->sampling.chroma_y);
    }
    return p;
}

/* Those that are lent: the library may look at luma alone where the options only might need chroma. */
static int kept_planes(const video *v, const vmafgpu_frame *frame) {
    return v->chroma_bytes == 0 || !frame->data[1] ? 1 : v->layout == VMAFGPU_PLANAR ? 3 : 2;
}

/* All contexts get the last one's reference, which is the last one to take the pair: from then on the memory is its own. */
static const vmafgpu_frame *lent_frame(const lent_pair *s, int i) {
    return i ? &s->distorted[i - 1] : &s->reference[s->lent - 1];
}

static lent_pair *slot_of(const pool *p, int64_t i) {
    return &p->slots[i % p->slot_count];
}

/* Wakes the caller, if it waits, when a pair is whole. */
static void tell_caller(session *all, const lent_pair *s) {
    if (all->pool.is_awaited && s->is_handed_out && s->parts == 0) {
        pthread_cond_broadcast(&all->changed);
    }
}

/* Goes on to the next video of the pair that is handed out, or to the next pair. */
static void pass_video(session *all) {
    pool *p = &all->pool;
    p->plane = p->row = p->is_located = 0;
    if (++p->video > all->count) {
        p->video = 0;
        slot_of(p, p->pair)->is_handed_out = 1;
        tell_caller(all, slot_of(p, p->pair++));
    }
}

/* Finds the frame that is handed out next. */
static void locate_frame(session *all, lent_pair *s) {
    pool *p = &all->pool;
    video *v = &all->videos[p->video];
    int64_t wanted = wanted_frame(all, p->video, p->pair);
    video_result result = wanted < 0 ? VIDEO_END : VIDEO_OK;
    while (result == VIDEO_OK && v->frames_read <= wanted) {
        result = video_locate(v, &s->at[p->video]);
    }
    s->states[p->video] = result;
    p->has_ended |= result != VIDEO_OK;
    p->is_located = 1;
}

/* Takes the next part, if there is one. With the lock. */
static int take_part(session *all, part *next) {
    pool *p = &all->pool;
    while (!p->has_failed && p->pair < p->offered && !(p->has_ended && p->video == 0 && !p->is_located)) {
        lent_pair *s = slot_of(p, p->pair);
        const video *v = &all->videos[p->video];
        const vmafgpu_frame *frame = lent_frame(s, p->video);
        if (!is_fed(all, p->video) && !p->is_located) {
            locate_frame(all, s);
        }
        if (is_fed(all, p->video) || s->states[p->video] != VIDEO_OK || p->plane == kept_planes(v, frame)) {
            pass_video(all);
            continue;
        }
        plane_place place = place_plane(v, p->plane);
        int rows = (int)(PART / place.row) + 1, left = place.rows - p->row;
        next->whole = s;
        next->video = p->video;
        next->at = s->at[p->video] + (long long)(place.at + (size_t)p->row * place.row);
        next->pitch = frame->pitch[p->plane];
        next->to = (unsigned char *)(uintptr_t)frame->data[p->plane] + p->row * next->pitch;
        next->row = place.row;
        next->rows = rows < left ? rows : left;
        p->row += next->rows;
        s->parts++;
        if (p->row == place.rows) {
            p->row = 0;
            p->plane++;
        }
        if (p->plane == kept_planes(v, frame)) {
            pass_video(all);
        }
        return 1;
    }
    return 0;
}

/* Takes some small parts or a large one. */
static int take_parts(session *all, part *parts) {
    size_t bytes = 0;
    int count = 0;
    while (count < MAX_PARTS && bytes < PART && take_part(all, &parts[count])) {
        bytes += parts[count].row * (size_t)parts[count].rows;
        count++;
    }
    return count;
}

/* Reads a part. Where rows lie apart in memory it is read behind where they go, and they are moved to their places. Returns 0, an
 * error of the system, or -1: the file is not that long any more. */
static int read_part(const session *all, const part *p) {
    size_t size = p->row * (size_t)p->rows, room = (size_t)p->pitch * (size_t)p->rows;
    unsigned char *at = p->to + (room - size);
    ptrdiff_t count = video_fetch(&all->videos[p->video], p->at, at, size);
    for (int y = 0; at != p->to && y < p->rows; y++) {
        memmove(p->to + y * p->pitch, at + (size_t)y * p->row, p->row);
    }
    return count < 0 ? errno : (size_t)count < size ? -1 : 0;
}

/* Reads what is next, if there is something. With the lock, which is open meanwhile. */
static int read_some(session *all) {
    part parts[MAX_PARTS];
    int errors[MAX_PARTS], count = take_parts(all, parts);
    if (count == 0) {
        return 0;
    }
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < count; i++) {
        errors[i] = read_part(all, &parts[i]);
    }
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i < count; i++) {
        lent_pair *s = parts[i].whole;
        s->parts--;
        s->errors[parts[i].video] = errors[i] ? errors[i] : s->errors[parts[i].video];
        tell_caller(all, s);
    }
    return 1;
}

static void *pool_work(void *user) {
    session *all = (session *)user;
    pthread_mutex_lock(&all->lock);
    while (!all->is_ending) {
        if (!read_some(all)) {
            pthread_cond_wait(&all->pool.more, &all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Has every context lend memory for the next pairs, as far as they do. */
static int offer_slots(session *all) {
    pool *p = &all->pool;
    int64_t first = p->offered, offered = first;
    vmafgpu_result result = VMAFGPU_OK;
    while (offered - p->taken < p->slot_count && (all->limit <= 0 || offered < all->limit)) {
        lent_pair *s = slot_of(p, offered);
        while (s->lent < all->count &&
               (result = vmafgpu_lend(all->contexts[s->lent], &s->reference[s->lent], &s->distorted[s->lent])) == VMAFGPU_OK) {
            s->lent++;
        }
        if (s->lent < all->count) {
            break;
        }
        offered++;
    }
    if (offered > first) {
        pthread_mutex_lock(&all->lock);
        p->offered = offered;
        if (offered - first > 1) {
            pthread_cond_broadcast(&p->more);
        } else {
            pthread_cond_signal(&p->more);
        }
        pthread_mutex_unlock(&all->lock);
    }
    return result >= VMAFGPU_OK;
}

/* A video ended before it was its turn to end, and goes on by now: the pair is handed out once more. */
static int goes_on(session *all, lent_pair *s) {
    pool *p = &all->pool;
    int is_longer = 0;
    for (int i = 0; i <= all->count; i++) {
        int has_ended = !is_fed(all, i) && (s->states[i] == VIDEO_END || s->states[i] == VIDEO_TRUNCATED);
        is_longer |= has_ended && video_has_grown(&all->videos[i]);
    }
    if (is_longer) {
        s->is_handed_out = p->has_ended = 0;
        p->pair = p->taken;
    }
    return is_longer;
}

/* The next pair of what threads read, in lent memory. 0: the library lends none. */
static int next_pooled_pair(session *all, pair *now) {
    pool *p = &all->pool;
    lent_pair *s = slot_of(p, p->taken);
    if (!offer_slots(all)) {
        return 0;
    }
    for (int i = 0; i <= all->count; i++) {
        now->frames[i] = *lent_frame(s, i);
        if (is_fed(all, i)) {
            now->states[i] = next_fed_frame(all, i, &now->frames[i]);
        }
    }
    pthread_mutex_lock(&all->lock);
    while (!s->is_handed_out || s->parts > 0 || goes_on(all, s)) {
        p->is_awaited = !read_some(all) && (!s->is_handed_out || s->parts > 0); /* looking for parts may have handed it out */
        if (p->is_awaited) {
            pthread_cond_wait(&all->changed, &all->lock);
        }
        p->is_awaited = 0;
    }
    for (int i = 0; i <= all->count; i++) {
        if (!is_fed(all, i)) {
            now->states[i] = s->states[i];
        }
        if (!is_fed(all, i) && s->errors[i]) {
            p->has_failed = 1; /* so that no thread writes a sentence, too */
            now->states[i] = video_lose(&all->videos[i], wanted_frame(all, i, p->taken), s->errors[i]);
        }
    }
    memset(s, 0, sizeof *s);
    p->taken++;
    pthread_mutex_unlock(&all->lock);
    return 1;
}

/* Are frames compared otherwise than they are in the files? */
static int has_other_pictures(const session *all) {
    int found = all->crop.is_given;
    for (int i = 1; i <= all->count; i++) {
        found |= all->scalers[i].planes != NULL;
    }
    return found;
}

/* Starts reading ahead for a GPU, as soon as there is one, with one thread fewer than there are to be: the caller reads, too,
 * while it waits. Where that fails, it reads frame by frame. */
static void start_pool(session *all) {
    pool *p = &all->pool;
    int is_pipe[1 + MAX_DISTORTED], files = 0;
    if (p->was_tried || !all->contexts[0] || strcmp(vmafgpu_backend_name(all->contexts[0]), "cpu") == 0 || has_other_pictures(all)) {
        return;
    }
    p->was_tried = 1;
    if (!make_lock(all)) {
        return;
    }
    p->pair = p->offered = p->taken = all->pairs;
    const vmafgpu_config *config = vmafgpu_get_config(all->contexts[0]);
    for (int i = 0; i <= all->count; i++) {
        is_pipe[i] = !is_fed(all, i) && !video_is_file(&all->videos[i]);
        files += !is_fed(all, i) && !is_pipe[i];
    }
    make_feeds(all, is_pipe, 1);
    for (int i = 0; i <= all->count; i++) {
        files = is_pipe[i] && !is_fed(all, i) ? 0 : files; /* no thread for it: then the caller reads all */
    }
    if (files == 0 || pthread_cond_init(&p->more, NULL) != 0) {
        return;
    }
    p->slot_count = config->gpu.queue * config->gpu.batch * (config->gpu.device_count ? config->gpu.device_count : 1);
    p->slots = (lent_pair *)calloc((size_t)p->slot_count, sizeof *p->slots);
    if (!p->slots) {
        pthread_cond_destroy(&p->more);
        return;
    }
    hold_signals(1);
    while (p->count < config->threads - 1 && pthread_create(&p->threads[p->count], NULL, pool_work, all) == 0) {
        p->count++;
    }
    hold_signals(0);
}

static int is_pooled(const session *all) {
    return all->pool.slots != NULL;
}

/* Before the contexts are closed: then nobody writes to their memory any more. */
static void stop_pool(session *all) {
    pool *p = &all->pool;
    if (is_pooled(all)) {
        pthread_mutex_lock(&all->lock);
        all->is_ending = 1;
        pthread_cond_broadcast(&p->more);
        pthread_mutex_unlock(&all->lock);
        for (int i = 0; i < p->count; i++) {
            pthread_join(p->threads[i], NULL);
        }
        pthread_cond_destroy(&p->more);
        free(p->slots);
        p->slots = NULL;
    }
}
#else
static void start_pool(session *all) { (void)all; }
static int is_pooled(const session *all) { return (void)all, 0; }
static int next_pooled_pair(session *all, pair *now) { return (void)all, (void)now, 0; }
static void stop_pool(session *all) { (void)all; }
#endif

/* Gives the n-th pair; they come in order. */
static video_result next_pair(session *all, int64_t n, pair *now, const char **problem) {
    start_pool(all);
    if (is_pooled(all)) {
        if (next_pooled_pair(all, now)) {
            return judge_pair(all, now, problem);
        }
        *problem = first_error(all);
        return VIDEO_ERROR;
    }
    for (int i = 0; i <= all->count; i++) {
        video *v = &all->videos[i];
        if (is_fed(all, i)) {
            now->states[i] = next_fed_frame(all, i, &now->frames[i]);
        } else {
            now->states[i] = read_wanted(all, v, i, n);
            if (now->states[i] == VIDEO_OK) {
                now->frames[i] = video_frame(v);
            }
        }
        if (now->states[i] == VIDEO_OK) {
            now->frames[i] = arrange_frame(all, i, now->frames[i]);
        }
    }
    return judge_pair(all, now, problem);
}

/* Reads and pushes pairs until one video ends, something goes wrong, or --frame_cnt is reached, and waits for the
 * scores. */
static scoring score_videos(session *all, const options *o) {
    scoring s = {0, 0, 1};
    progress p;
    const char *problem = NULL, *lost = NULL; /* a video's sentence, the library's */
    pair now;
    memset(&p, 0, sizeof p);
    p.kind = o->progress == PROGRESS_JSON ? PROGRESS_JSON
             : o->quiet || o->progress == PROGRESS_NONE || !is_terminal(stderr) ? PROGRESS_NONE : PROGRESS_LINE;
    int64_t before = all->seeds + all->lead, read = 0;
    p.total = all->wanted >= 0 ? all->wanted : expected_frames(all) - before;
    p.start = wall_clock();
    while (!lost && s.intact && !all->is_done && (all->limit <= 0 || read < all->limit) &&
           next_pair(all, read, &now, &problem) == VIDEO_OK) {
        if (take_pair(all, read, &now)) {
            all->pairs = ++read;
            s.frames += read > before && (all->wanted < 0 || s.frames < all->wanted);
            progress_frame(&p, s.frames);
            s.intact = !all->has_rows || collect_rows(all);
        } else {
            lost = first_error(all);
        }
    }
    if (s.frames > 0 && !flush_all(all)) {
        lost = first_error(all);
        problem = NULL; /* which is further behind */
    }
    if (all->has_rows && s.frames > 0 && s.intact) {
        s.intact = collect_rows(all);
    }
    s.seconds = wall_clock() - p.start;
    progress_end(&p, s.frames, o, all->contexts[0]);
    warn_of_fallback(o, all->contexts[0]);
    if (lost) {
        s.intact = fail_library(lost);
    }
    if (problem) {
        s.intact = fail("%s", problem);
    }
    return s;
}

/* ------------------------------------------------------------------------------------------------
 * Reports
 * ------------------------------------------------------------------------------------------------ */

/* The figures of one distorted video. */
typedef struct figures {
    vmafgpu       *context; /* NULL: there are no columns */
    const rows_file *about; /* not NULL: the figures are these, whatever the context has */
    const scores  *table;
    const options *o;
    int            width, height;
    int            columns; /* that are shown: not the models' with --no_prediction */
    int64_t        rows, pairs; /* pairs: of the clip, with those that --subsample leaves out */
    double         fps;
} figures;

static int pool_table(const scores *table, int column, const pooling *p, double *value) {
    scores_total t = scores_pool(table, column, 0, table->rows);
    const double totals[] = {t.mean, t.harmonic_mean, t.min, t.max}; /* in the order of vmafgpu_pooling */
    if (t.count > 0 && p->is_percentile) {
        int64_t count;
        double *sorted = scores_sorted(table, column, &count);
        *value = sorted ? scores_percentile(sorted, count, p->percentile) : 0;
        free(sorted);
        return sorted != NULL;
    }
    *value = totals[p->method];
    return t.count > 0;
}

static int pool_column(const figures *f, int column, const pooling *p, double *value) {
    if (f->about) {
        return pool_table(f->table, column, p, value);
    }
    vmafgpu_result result = p->is_percentile ? vmafgpu_percentile(f->context, column, p->percentile, value)
                                             : vmafgpu_pool(f->context, column, p->method, value);
    return result == VMAFGPU_OK;
}

static const char *figure_name(const figures *f, int column) {
    return f->about ? f->about->names[column] : vmafgpu_column_name(f->context, column);
}

static int figure_score_column(const figures *f, int model) {
    return !f->about ? vmafgpu_score_column(f->context, model) : model < f->about->score_count ? f->about->scores[model] : -1;
}

static int figure_column(const figures *f, const char *name) {
    for (int c = 0; f->about && c < f->about->columns; c++) {
        if (strcmp(f->about->names[c], name) == 0) {
            return c;
        }
    }
    return f->about ? -1 : vmafgpu_column_index(f->context, name);
}

/* The ways of pooling in the report: the standard ones, then what --pool names besides. NULL past the last. */
static const pooling *reported_pooling(const options *o, int i) {
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

static const char *reported_column_name(void *user, int column) {
    return figure_name((const figures *)user, column);
}

static int reported_column_at(void *user, int place) {
    const figures *f = (const figures *)user;
    return !f->about ? vmafgpu_report_column(f->context, f->pairs, place) : f->pairs == 1 ? f->about->single[place] : place;
}

static int reported_value(void *user, int64_t frame, int column, double *value) {
    const figures *f = (const figures *)user;
    vmafgpu_score score;
    if (f->about) {
        int64_t row = frame / f->about->step;
        *value = scores_value(f->table, row, column);
        return f->table->has_row[row];
    }
    int is_there = vmafgpu_score_at(f->context, frame, &score) == VMAFGPU_OK;
    *value = is_there ? score.values[column] : 0;
    return is_there;
}

static const char *reported_pooling_name(void *user, int i) {
    return reported_pooling(((const figures *)user)->o, i)->name;
}

static int reported_pooled(void *user, int column, int i, double *value) {
    const figures *f = (const figures *)user;
    return pool_column(f, column, reported_pooling(f->o, i), value);
}

static const char *reported_aggregate_name(void *user, int i) {
    return vmafgpu_aggregate_name(((const figures *)user)->context, i);
}

static double reported_aggregate(void *user, int i) {
    double value = 0;
    vmafgpu_aggregate(((const figures *)user)->context, i, &value);
    return value;
}

static void write_report(FILE *out, void *user) {
    figures *f = (figures *)user;
    const options *o = f->o;
    report r;
    memset(&r, 0, sizeof r);
    r.out = out;
    r.version = vmafgpu_version();
    /* What ran: only when --backend was given, so that the default report is libvmaf's to the byte. */
    r.backend = f->about ? (f->about->names_backend ? f->about->backend : NULL)
                : o->names_backend && f->context ? vmafgpu_backend_name(f->context) : NULL;
    r.fps = f->fps;
    r.width = f->width;
    r.height = f->height;
    r.digits = o->digits;
    r.columns = f->columns;
    while (reported_pooling(o, r.poolings)) {
        r.poolings++;
    }
    r.aggregates = f->context && !f->about ? vmafgpu_aggregate_count(f->context) : 0; /* they are of all that was scored */
    r.step = f->about ? f->about->step : o->subsample > 1 ? o->subsample : 1;
    r.frames = f->rows * r.step;
    r.user = f;
    r.column_at = reported_column_at;
    r.column_name = reported_column_name;
    r.value = reported_value;
    r.pooling_name = reported_pooling_name;
    r.pooled = reported_pooled;
    r.aggregate_name = reported_aggregate_name;
    r.aggregate = reported_aggregate;
    report_write(&r, o->report);
}

/* ---- a report to look at ---- */

/* Copies what a context scored. 0: no memory. */
static int copy_scores(const figures *f, scores *s) {
    vmafgpu_score score;
    int step = f->o->subsample > 1 ? (int)f->o->subsample : 1, ok = 1;
    s->columns = f->about ? f->about->columns : vmafgpu_column_count(f->context);
    for (int64_t i = 0; i < f->rows && ok; i++) {
        if (f->about) {
            ok = scores_append(s, f->table->values + i * s->columns, f->table->has_row[i]);
        } else {
            int is_there = vmafgpu_score_at(f->context, i * step, &score) == VMAFGPU_OK;
            ok = scores_append(s, is_there ? score.values : NULL, is_there);
        }
    }
    return ok;
}

/* How far the reference's picture is from the one before, of every row; 0 where it cannot be read again. */
static float *measure_cuts(const session *all, int64_t rows, int64_t step) {
    float *distances = (float *)calloc((size_t)rows + 1, sizeof *distances);
    align_signature *signatures = (align_signature *)malloc(2 * sizeof *signatures);
    video again;
    if (open_again(all, 0, 1, &again) && distances && signatures) {
        for (int64_t i = 0; i < rows; i++) {
            int64_t wanted = wanted_frame(all, 0, i * step);
            video_result result = VIDEO_OK;
            while (result == VIDEO_OK && again.frames_read <= wanted) {
                result = video_read(&again);
            }
            if (result != VIDEO_OK) {
                break;
            }
            vmafgpu_frame frame = video_frame(&again);
            align_picture picture = align_picture_of(&again, &frame);
            align_sign(&signatures[i & 1], &picture, again.height / (3 * ALIGN_DOWN) + 1);
            distances[i] = i ? (float)align_distance(&signatures[0], &signatures[1]) : 0;
        }
    }
    video_close(&again);
    free(signatures);
    return distances;
}

/* Reads on to a frame, and gives what is compared of it. */
static int read_picture(const session *all, int i, video *v, scaler *scaled, int64_t n, vmafgpu_frame *frame) {
    int64_t wanted = wanted_frame(all, i, n);
    video_result result = VIDEO_OK;
    while (result == VIDEO_OK && v->frames_read <= wanted) {
        result = video_read(v);
    }
    if (result != VIDEO_OK || wanted < 0) {
        return 0;
    }
    *frame = video_frame(v);
    if (all->scalers[i].planes) {
        *frame = scaler_frame(scaled, v, frame);
    }
    if (all->crop.is_given && cut_is_on_grid(&all->crop, v)) {
        *frame = cut_picture(&all->crop, v, *frame);
    }
    return 1;
}

/* Draws the worst frames of a video, as far as both videos can be read again. */
static void draw_worst(const session *all, int i, html_video *v, int64_t step, int width) {
    video reference, distorted;
    scaler scaled;
    int ok = open_again(all, 0, 0, &reference);
    ok = open_again(all, i, 0, &distorted) && ok;
    memset(&scaled, 0, sizeof scaled);
    if (ok && all->scalers[i].planes) {
        ok = scaler_open(&scaled, all->o->scale, &distorted, reference.width, reference.height);
    }
    int64_t before = -1;
    for (int k = 0; k < v->worst_count && ok; k++) {
        html_frame *next = NULL; /* in the clip's order */
        for (int n = 0; n < v->worst_count; n++) {
            next = v->worst[n].row > before && (!next || v->worst[n].row < next->row) ? &v->worst[n] : next;
        }
        vmafgpu_frame a, b;
        before = next->row;
        ok = read_picture(all, 0, &reference, NULL, before * step, &a) &&
             read_picture(all, i, &distorted, &scaled, before * step, &b);
        if (ok) {
            thumbnail_source r = {&reference, &a, all->width, all->height}, d = {&distorted, &b, all->width, all->height};
            thumbnail_colour(&next->pictures[0], &r, width);
            thumbnail_colour(&next->pictures[1], &d, width);
            thumbnail_difference(&next->pictures[2], &r, &d, width);
        }
    }
    scaler_close(&scaled);
    video_close(&reference);
    video_close(&distorted);
}

/* The arguments, as a shell takes them. */
static void join_command(char *out, size_t size, const options *o) {
    size_t used = shell_put(out, size, 0, "vmafgpu");
    for (int i = 1; i < o->argc; i++) {
        used = shell_put(out, size, used, " ");
        used = shell_put_word(out, size, used, o->argv[i]);
    }
}

/* What a page is written from. */
typedef struct page_data {
    html_page  page;
    html_video videos[MAX_DISTORTED];
    html_input inputs[1 + MAX_DISTORTED + MAX_MODELS];
    int        score_columns[MAX_MODELS];
    char       models[MAX_MODELS][256];
    const char *model_names[MAX_MODELS], *note_texts[MAX_NOTES], **columns;
    char       command[8192], backend[192];
} page_data;

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "standard input" : slash && slash[1] ? slash + 1 : path;
}

/* What a page calls a distorted video: the last part of its path or, if that is another one's too, the path. */
static const char *page_name(const options *o, int i) {
    const char *name = last_part(o->distorted.names[i]);
    for (int k = 0; k < o->distorted.count; k++) {
        if (k != i && strcmp(last_part(o->distorted.names[k]), name) == 0) {
            return o->distorted.names[i];
        }
    }
    return name;
}

static void write_page(FILE *out, void *user) {
    page_data *d = (page_data *)user;
    d->page.out = out;
    html_write(&d->page);
}

static void list_page_inputs(const options *o, page_data *d) {
    html_page *p = &d->page;
    for (int i = 0; i <= o->distorted.count; i++) {
        html_input *in = &d->inputs[p->input_count++];
        in->what = i ? "Distorted" : "Reference";
        in->name = path_of(o, i);
        hash_file(in->name, in);
    }
    for (int i = 0; i < o->model_count; i++) {
        if (o->model_options[i].path) {
            html_input *in = &d->inputs[p->input_count++];
            in->what = "Model";
            in->name = o->model_options[i].path;
            hash_file(in->name, in);
        }
    }
    for (int i = 0; i < (o->model_count ? o->model_count : 1) && !(o->no_prediction && !o->model_count); i++) {
        const char *version = o->model_count && o->models[i].version ? o->models[i].version
                              : o->model_count && o->model_options[i].path ? last_part(o->model_options[i].path) : "vmaf_v0.6.1";
        const char *name = o->model_count ? model_name(o, i) : "vmaf";
        snprintf(d->models[i], sizeof d->models[i], strcmp(name, "vmaf") == 0 ? "%s" : "%s (%s)", version, name);
        d->model_names[p->model_count++] = d->models[i];
    }
}

static void fill_page(const session *all, const options *o, const figures *reports, page_data *d) {
    html_page *p = &d->page;
    const figures *f = &reports[0];
    int models = o->no_prediction ? 0 : o->model_count ? o->model_count : 1;
    p->version = vmafgpu_version();
    p->libvmaf = "3.2.0";
    p->command = d->command;
    p->backend = d->backend;
    p->reference = last_part(o->reference);
    p->fps = f->fps;
    p->width = f->width;
    p->height = f->height;
    p->rate_num = all->videos[0].rate_num;
    p->rate_den = all->videos[0].rate_den;
    p->step = o->subsample > 1 ? o->subsample : 1;
    p->columns = f->columns;
    p->names = d->columns;
    p->score_columns = d->score_columns;
    p->models = d->model_names;
    p->videos = d->videos;
    p->video_count = o->distorted.count;
    p->inputs = d->inputs;
    p->notes = d->note_texts;
    for (int m = 0; m < models; m++) {
        d->score_columns[p->score_count++] = figure_score_column(f, m);
    }
    for (int c = 0; c < f->columns; c++) {
        d->columns[c] = vmafgpu_column_name(f->context, c);
    }
    for (p->note_count = 0; p->note_count < note_count; p->note_count++) {
        d->note_texts[p->note_count] = notes[p->note_count];
    }
    join_command(d->command, sizeof d->command, o);
    backend_text(d->backend, sizeof d->backend, f->context);
    if (!*vmafgpu_device_name(f->context)) {
        snprintf(d->backend, sizeof d->backend, "%s (%s)", vmafgpu_backend_name(f->context), vmafgpu_cpu_level(f->context));
    }
    list_page_inputs(o, d);
}

static int report_page(const session *all, options *o, const figures *reports) {
    page_data *d = (page_data *)calloc(1, sizeof *d);
    int ok = d != NULL, columns = reports[0].context ? vmafgpu_column_count(reports[0].context) : 0;
    if (columns == 0) {
        free(d);
        return fail("--html: there is nothing to show");
    }
    if (ok) {
        d->columns = (const char **)calloc((size_t)columns, sizeof *d->columns);
        ok = d->columns != NULL;
    }
    if (ok) {
        fill_page(all, o, reports, d);
    }
    int64_t step = ok ? d->page.step : 1, shot_count = 0;
    int first = ok && d->page.score_count ? d->score_columns[0] : 0, many = o->distorted.count;
    for (int i = 0; i < many && ok; i++) {
        html_video *v = &d->videos[i];
        v->name = page_name(o, i);
        ok = copy_scores(&reports[i], &v->figures);
        if (ok) {
            int64_t apart = v->figures.rows / 40 > 5 ? v->figures.rows / 40 : 5;
            v->worst_count = html_find_worst(&v->figures, first, many < HTML_WORST ? HTML_WORST / many : 1, apart > 250 ? 250 : apart, v->worst);
            draw_worst(all, 1 + i, v, step, many > 2 ? 192 : 320);
        }
    }
    float *distances = ok ? measure_cuts(all, reports[0].rows, step) : NULL;
    html_shot *shots = distances ? html_find_shots(distances, reports[0].rows, &shot_count) : NULL;
    if (ok) {
        d->page.shots = shots;
        d->page.shot_count = shots ? shot_count : 0;
        ok = fill_destination(&o->destinations[o->output.count], o->output.count, write_page, d);
    } else {
        out_of_memory();
    }
    for (int i = 0; i < many && d; i++) {
        scores_free(&d->videos[i].figures);
        for (int k = 0; k < HTML_WORST; k++) {
            for (int n = 0; n < 3; n++) {
                free(d->videos[i].worst[k].pictures[n].data);
            }
        }
    }
    free(distances);
    free(shots);
    if (d) {
        free((void *)d->columns);
    }
    free(d);
    return ok;
}

/* Standard output, unless a report goes there. */
static FILE *pooled_output(const options *o) {
    for (int i = 0; i < report_count(o); i++) {
        if (o->destinations[i].is_stdout) {
            return stderr;
        }
    }
    return stdout;
}

static int terminal_width(FILE *out) {
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
#if !defined(_WIN32) && defined(TIOCGWINSZ)
    struct winsize size;
    if (width <= 0 && ioctl(fileno(out), TIOCGWINSZ, &size) == 0) {
        width = size.ws_col;
    }
#endif
    (void)out;
    return width < 40 ? 80 : width > 240 ? 240 : width;
}

/* Draws the first model's curve or, without one, the first feature's. */
static int plot_report(const figures *f) {
    FILE *out = pooled_output(f->o);
    scores s;
    if (!f->context && !f->about) {
        return fail("--plot: there is nothing to show");
    }
    memset(&s, 0, sizeof s);
    int ok = copy_scores(f, &s);
    if (ok && f->columns > 0) {
        int column = f->o->no_prediction ? 0 : figure_score_column(f, 0);
        column = column < 0 ? 0 : column;
        plot_curve(out, &s, column, figure_name(f, column), f->about ? f->about->step : f->o->subsample > 1 ? f->o->subsample : 1,
                   terminal_width(out));
    }
    scores_free(&s);
    return ok || out_of_memory();
}

/* "NAME POOLING VALUE" for each way of pooling. */
static void print_pooled_column(const figures *f, int column) {
    FILE *out = pooled_output(f->o);
    double value;
    for (int i = 0; i < f->o->pooling_count; i++) {
        if (pool_column(f, column, &f->o->poolings[i], &value)) {
            fprintf(out, "%s %s ", figure_name(f, column), f->o->poolings[i].name);
            report_put_number(out, f->o->digits, value);
            fputc('\n', out);
        }
    }
}

static void print_pooled_model(const figures *f, int column) {
    static const char *const suffixes[] = {"_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi"};
    print_pooled_column(f, column);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) { /* a bootstrap model has these too */
        char output_name[1024];
        int length = snprintf(output_name, sizeof output_name, "%s%s", figure_name(f, column), suffixes[i]);
        int output = length < (int)sizeof output_name ? figure_column(f, output_name) : -1;
        if (output >= 0) {
            print_pooled_column(f, output);
        }
    }
}

/* The scores of all videos, a row each, where somebody looks at them: only more than one value makes a table. */
static int print_table(const figures *reports, int count) {
    const options *o = reports[0].o;
    FILE *out = pooled_output(o);
    int width = 5, models = 0;
    if (o->is_plain || !is_terminal(out)) {
        return 0;
    }
    while (models < MAX_MODELS && figure_score_column(&reports[0], models) >= 0) {
        models++;
    }
    if (models == 0 || (o->no_prediction && !reports[0].about) || models * count * o->pooling_count < 2) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        int length = o->join || count == 1 ? 8 : (int)strlen(last_part(o->distorted.names[i]));
        width = length > width ? length : width;
    }
    width = width > 40 ? 40 : width;
    fprintf(out, "%-*s  %-20s", count > 1 ? width : 0, count > 1 ? "video" : "", "model");
    for (int k = 0; k < o->pooling_count; k++) {
        fprintf(out, " %13s", o->poolings[k].name);
    }
    fputc('\n', out);
    for (int i = 0; i < count; i++) {
        for (int m = 0; m < models; m++) {
            int column = figure_score_column(&reports[i], m);
            char name[64] = "";
            if (count > 1 && o->join) {
                snprintf(name, sizeof name, "%d", i + 1);
            } else if (count > 1) {
                snprintf(name, sizeof name, "%.40s", last_part(o->distorted.names[i]));
            }
            put_text(out, name);
            fprintf(out, "%*s  %-20s", count > 1 && width > (int)strlen(name) ? width - (int)strlen(name) : 0, "",
                    figure_name(&reports[i], column));
            for (int k = 0; k < o->pooling_count; k++) {
                double value;
                int digits = o->digits == REPORT_DIGITS_LEGACY ? 6 : o->digits == REPORT_DIGITS_MAX ? 10 : o->digits;
                if (pool_column(&reports[i], column, &o->poolings[k], &value)) {
                    fprintf(out, " %13.*f", digits, value);
                }
            }
            fputc('\n', out);
        }
    }
    return 1;
}

/* The scores; without any, the features. */
static int print_pooled(const figures *f) {
    int has_scores = f->about ? f->about->score_count > 0 : !f->o->no_prediction;
    for (int c = 0; c < f->columns && !has_scores; c++) {
        print_pooled_column(f, c);
    }
    for (int m = 0; m < MAX_MODELS && has_scores && figure_score_column(f, m) >= 0; m++) {
        print_pooled_model(f, figure_score_column(f, m));
    }
    return close_standard_output();
}

/* ------------------------------------------------------------------------------------------------
 * The program
 * ------------------------------------------------------------------------------------------------ */

static void print_pooled_title(const options *o, int i) {
    FILE *out = pooled_output(o);
    if (o->join) {
        fprintf(out, "video %d:\n", i);
        return;
    }
    put_text(out, strcmp(path_of(o, i), "-") == 0 ? "standard input" : path_of(o, i));
    fputs(":\n", out);
}

/* Writes and prints everything that is asked for. */
static int report_all(const session *all, options *o, figures *reports, int count) {
    int ok = 1;
    for (int i = 0; i < o->output.count; i++) {
        ok = fill_destination(&o->destinations[i], i, write_report, &reports[i]) && ok;
    }
    if (o->html) {
        ok = report_page(all, o, reports) && ok;
    }
    for (int i = 0; i < count && o->plot; i++) {
        if (count > 1) {
            print_pooled_title(o, 1 + i);
        }
        ok = plot_report(&reports[i]) && ok;
    }
    if (o->pooling_count > 0 && reports[0].rows > 0 && print_table(reports, count)) {
        return close_standard_output() && ok;
    }
    for (int i = 0; i < count && o->pooling_count > 0; i++) {
        if (reports[i].rows > 0) {
            if (count > 1) {
                print_pooled_title(o, 1 + i);
            }
            ok = print_pooled(&reports[i]) && ok;
        }
    }
    return ok;
}

static void write_rows(FILE *out, void *user) {
    rows_file *r = (rows_file *)user;
    rows_put_header(out, r);
    for (int64_t i = 0; i < r->tables[0].rows; i++) {
        rows_put(out, r, i);
    }
    rows_put_end(out, r);
}

/* What is known in the end of the rows; says so in the state. */
static int finish_rows(session *all, const scoring *s) {
    rows_file *r = &all->rows;
    if (!r->is_whole) {
        r->pairs = s->frames + (r->tables[0].rows - (s->frames + r->step - 1) / r->step) * r->step;
        r->seconds = s->seconds;
        r->is_intact = s->intact;
        snprintf(r->backend, sizeof r->backend, "%s", vmafgpu_backend_name(all->contexts[0])); /* a GPU may have come, or gone */
        if (all->state && s->intact) {
            rows_put_end(all->state, r);
        }
    }
    return !all->state || fflush(all->state) == 0 || state_failure(all->o, "cannot be written");
}

static void describe_figures(figures *f, const session *all, int i, const scoring *s) {
    f->context = all->contexts[i];
    f->o = all->o;
    f->width = all->width;
    f->height = all->height;
    f->pairs = s->frames;
    f->fps = s->seconds > 0 ? (double)s->frames / s->seconds : 0;
    if (all->has_rows) {
        f->about = &all->rows;
        f->table = &all->rows.tables[i];
        f->columns = all->rows.shown;
        f->rows = f->table->rows;
        f->pairs = all->rows.pairs;
        f->fps = all->rows.seconds > 0 ? (double)all->rows.pairs / all->rows.seconds : 0;
    } else if (f->context) {
        f->columns = shown_columns(f->context, f->o);
        f->rows = vmafgpu_score_count(f->context);
    }
}

/* Is there a frame without a score? */
static int has_lost_rows(const session *all, const options *o) {
    return all->contexts[0] && sound_rows(all, 0, o->subsample > 1 ? o->subsample : 1) < ready_rows(all);
}

/* Scores and reports; everything is open. */
static int run(session *all, options *o) {
    scoring s = score_videos(all, o);
    int ok = s.intact;
    if (!ok && !all->has_rows && has_lost_rows(all, o)) {
        all->has_rows = describe_rows(all, o) && collect_rows(all);
        if (!all->has_rows) {
            return 0;
        }
    }
    if ((s.frames == 0 || all->has_rows) && all->rows.tables[0].rows == 0 && !o->segments) {
        if (ok && o->from.is_given) {
            const video *shortest = &all->videos[0];
            for (int i = 1; i <= all->count; i++) {
                shortest = all->videos[i].frames_read < shortest->frames_read ? &all->videos[i] : shortest;
            }
            return fail("there is no pair of frames to score: --from is frame %lld, but %s has only %lld; give --from a smaller value",
                        (long long)all->first, shortest->title, shortest->frames_read);
        }
        return ok ? fail("there is no pair of frames to score") : 0;
    }
    if (all->has_rows) {
        ok = finish_rows(all, &s) && ok;
    }
    if (o->segments) {
        return fill_destination(&o->destinations[0], 0, write_rows, &all->rows) && ok;
    }
    figures reports[MAX_DISTORTED];
    memset(reports, 0, sizeof reports);
    for (int i = 0; i < all->count; i++) {
        describe_figures(&reports[i], all, i, &s);
    }
    return report_all(all, o, reports, all->count) && ok;
}

/* ---- segments that were scored elsewhere ---- */

/* Reads a part, and finds it the place that its number says. */
static int read_part_file(rows_file *parts, const options *o, int i) {
    rows_file *r = &parts[i];
    FILE *in = fopen(o->join[i], "rb");
    if (!in) {
        return fail("the part \"%s\" cannot be opened (%s)", o->join[i], strerror(errno));
    }
    int ok = rows_read(r, in) || fail("the part \"%s\" %s", o->join[i], r->error);
    fclose(in);
    if (ok && !r->is_whole) {
        ok = fail("the part \"%s\" is not whole: its last line is missing or damaged", o->join[i]);
    }
    if (ok && (r->run != parts[0].run || r->segments != parts[0].segments || r->total != parts[0].total || r->columns != parts[0].columns ||
               r->videos != parts[0].videos || r->step != parts[0].step)) {
        ok = fail("the parts \"%s\" and \"%s\" are of different runs: videos, options, version or number of segments are not the same",
                  o->join[0], o->join[i]);
    }
    for (int k = 0; k < i && ok; k++) {
        if (parts[k].segment == r->segment) {
            ok = fail("the parts \"%s\" and \"%s\" are the same segment, %lld", o->join[k], o->join[i], (long long)r->segment);
        }
    }
    return ok;
}

/* Fails with the list of missing segments. The number of segments is what a file claims: the list ends where it is full. */
static int check_segments(const rows_file *parts, int count) {
    const int64_t missing = parts[0].segments - count; /* no two parts are the same segment */
    char list[400] = "";
    if (missing == 0) {
        return 1;
    }
    for (int64_t segment = 1, named = 0; named < missing; segment++) {
        int is_there = 0;
        for (int i = 0; i < count; i++) {
            is_there |= parts[i].segment == segment;
        }
        size_t used = strlen(list);
        if (!is_there && used >= sizeof list - 40) {
            snprintf(list + used, sizeof list - used, ", ...");
            break;
        }
        if (!is_there) {
            snprintf(list + used, sizeof list - used, "%s%lld", named++ ? ", " : "", (long long)segment);
        }
    }
    return fail("of %lld segments %lld %s missing: %s", (long long)parts[0].segments, (long long)missing, missing == 1 ? "is" : "are", list);
}

/* Puts the parts behind one another into `all`. */
static int join_parts(rows_file *all, rows_file *parts, const options *o) {
    *all = parts[0];
    memset(all->tables, 0, sizeof all->tables);
    all->pairs = 0;
    all->seconds = 0;
    all->is_intact = 1;
    for (int64_t segment = 1; segment <= parts[0].segments; segment++) {
        int i = 0;
        while (parts[i].segment != segment) {
            i++;
        }
        rows_file *r = &parts[i];
        if (r->tables[0].rows > 0 && all->pairs != r->first) {
            return fail("the part \"%s\" begins with pair %lld, but the ones before it end with pair %lld", o->join[i], (long long)r->first,
                        (long long)all->pairs - 1);
        }
        for (int v = 0; v < all->videos; v++) {
            all->tables[v].columns = all->columns;
            for (int64_t row = 0; row < r->tables[v].rows; row++) {
                if (!scores_append(&all->tables[v], r->tables[v].values + row * r->columns, r->tables[v].has_row[row])) {
                    return out_of_memory();
                }
            }
        }
        all->pairs += r->pairs;
        all->seconds += r->seconds;
        all->is_intact &= r->is_intact;
    }
    return 1;
}

static int report_joined(rows_file *all, options *o) {
    figures reports[MAX_DISTORTED];
    memset(reports, 0, sizeof reports);
    if (o->output.count && o->output.count != all->videos) {
        return fail("as many reports (-o) as distorted videos, %d, or none: not %d", all->videos, o->output.count);
    }
    if (all->pairs == 0) {
        return fail("there is no pair of frames in these parts");
    }
    for (int i = 0; i < all->videos; i++) {
        figures *f = &reports[i];
        f->about = all;
        f->table = &all->tables[i];
        f->o = o;
        f->width = all->width;
        f->height = all->height;
        f->columns = all->shown;
        f->rows = f->table->rows;
        f->pairs = all->pairs;
        f->fps = all->seconds > 0 ? (double)all->pairs / all->seconds : 0;
    }
    int ok = open_destinations(o) && report_all(NULL, o, reports, all->videos);
    return all->is_intact ? ok : fail("a video was damaged: the frames before that are reported");
}

static int join(options *o) {
    rows_file all, *parts = (rows_file *)calloc((size_t)o->join_count, sizeof *parts);
    int ok = parts != NULL || out_of_memory();
    memset(&all, 0, sizeof all);
    for (int i = 0; i < o->join_count && ok; i++) {
        ok = read_part_file(parts, o, i);
    }
    ok = ok && check_segments(parts, o->join_count) && join_parts(&all, parts, o) && report_joined(&all, o);
    for (int i = 0; i < o->output.count; i++) {
        abandon_destination(&o->destinations[i], i);
    }
    all.names = NULL; /* those of the first part */
    all.single = NULL;
    rows_free(&all);
    for (int i = 0; i < o->join_count && parts; i++) {
        rows_free(&parts[i]);
    }
    free(parts);
    return ok;
}

static int open_and_run(session *all, options *o) {
    if (!load_models(o) || !arrange_options(all, o) || !check_containers(o) || !open_videos(all, o)) {
        return 0;
    }
    for (int i = 1; i <= all->count; i++) {
        if (!check_videos(o, &all->videos[0], &all->videos[i])) {
            return 0;
        }
    }
    if (!arrange(all, o) || !open_destinations(o)) {
        return 0;
    }
    if (o->no_prediction && o->model_count == 0 && o->feature_count == 0) {
        fail("there is nothing to compute: --no_prediction is given without --model and --feature");
        all->wanted = -1;
        return !o->state && !o->segments && run(all, o);
    }
    for (int i = 0; i < all->count; i++) {
        all->contexts[i] = open_context(all, o);
        if (!all->contexts[i]) {
            return 0;
        }
    }
    if (strict_failures > 0 || !begin_rows(all, o)) {
        return 0;
    }
    return run(all, o);
}

/* All that is to be written is written. A GPU that is still being opened is nobody's any more: the program ends without
 * it. */
static void leave_opening(const session *all, int ok) {
#ifndef VMAFGPU_TOOL_WITHOUT_MAIN
    for (int i = 0; i < all->count; i++) {
        if (vmafgpu_is_opening(all->contexts[i])) {
            fflush(NULL);
            _exit(ok && strict_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
        }
    }
#else
    (void)all, (void)ok;
#endif
}

static int score(options *o) {
    session *all = (session *)calloc(1, sizeof *all);
    if (!all) {
        return out_of_memory();
    }
    all->count = o->distorted.count;
    all->o = o;
    for (int i = 0; i <= all->count; i++) {
        video_start(&all->videos[i], "");
    }
    int ok = open_and_run(all, o);
    stop_pool(all);
    stop_feeds(all);
    drop_lock(all);
    ok = close_maps(all) && ok;
    end_rows(all);
    for (int i = 0; i <= all->count; i++) {
        video_close(&all->videos[i]);
        scaler_close(&all->scalers[i]);
        free(all->plan[i]);
    }
    for (int i = 0; i < report_count(o); i++) {
        abandon_destination(&o->destinations[i], i);
    }
    leave_opening(all, ok);
    for (int i = 0; i < all->count; i++) {
        vmafgpu_close(all->contexts[i]);
    }
    free(all);
    return ok && strict_failures == 0;
}

#ifndef VMAFGPU_TOOL_WITHOUT_MAIN /* cluster_mpi.c has its own */
/* What the arguments ask for; 0 sends the reader to the help. */
static int understand(options *o, int argc, char **argv) {
    return parse_arguments(o, argc, argv) && (o->help || o->version || o->self_test || check_options(o));
}

/* Every kernel is used by one of these contexts, and vmafgpu_open() tests those that a context uses. One line for whoever
 * wants to know whether a card computes what it should: its number is the same on all that do. */
static int self_test(const options *o) {
    static const struct {
        int            bit_depth;
        vmafgpu_layout layout;
        int            arithmetic;
    } formats[] = {{8, VMAFGPU_PLANAR, 1},  {8, VMAFGPU_SEMIPLANAR, 2},       {10, VMAFGPU_PLANAR, 1},
                   {10, VMAFGPU_SEMIPLANAR_HIGH, 2}, {16, VMAFGPU_PLANAR, 1}, {16, VMAFGPU_PLANAR, 2}};
    static const vmafgpu_feature_config summed[] = {
        {"vif", NULL}, {"vif", "vif_enhn_gain_limit=1"}, {"adm", NULL}, {"adm", "adm_enhn_gain_limit=1.2"},
        {"motion", "motion_five_frame_window=true"}, {"cambi", NULL}, {"cambi", "max_log_contrast=3:full_ref=true"},
        {"cambi", "window_size=127"}, {"speed_chroma", NULL}, {"speed_chroma", "speed_prescale=0.5"}
    };
    static const vmafgpu_feature_config measured[] = {
        {"psnr", NULL}, {"float_psnr", NULL}, {"float_moment", NULL}, {"float_ssim", "enable_lcs=true"},
        {"float_ms_ssim", "enable_lcs=true"}, {"float_vif", NULL}, {"float_adm", NULL}, {"float_adm", "adm_p_norm=2.5"},
        {"float_motion", NULL}, {"float_ansnr", NULL}, {"ciede", NULL}, {"speed_temporal", NULL},
        {"float_vif", "vif_prescale=0.5:vif_prescale_method=lanczos4"}, {"float_motion", "motion_add_scale1=true"},
        {"float_motion", "motion_add_uv=true"}, {"psnr_hvs", NULL} /* not of 16 bits */
    };
    /* The third context of a format has the default model, edits and maps. */
    static const struct {
        const vmafgpu_feature_config *features;
        int                           count;
    } parts[] = {{summed, sizeof summed / sizeof summed[0]}, {measured, sizeof measured / sizeof measured[0]}, {NULL, 0}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    const size_t count = PARTS * (sizeof formats / sizeof formats[0]);
    vmafgpu_backend backend = o->backend;
    uint64_t sum = 0;
    /* Edits and maps are made by one GPU. */
    int ok = o->gpu_count == 0 || o->gpu_count == 1 || fail("--self-test is for one GPU: --gpu must be one number then");
    for (size_t k = 0; ok && k < count; k++) {
        const size_t i = k / PARTS;
        const int has_edits = !parts[k % PARTS].features;
        vmafgpu_config config = VMAFGPU_INIT;
        vmafgpu *context = NULL;
        config.width = 1920;
        config.height = 1080;
        config.bit_depth = formats[i].bit_depth;
        config.layout = formats[i].layout;
        config.no_model = !has_edits;
        config.features = parts[k % PARTS].features;
        config.feature_count = parts[k % PARTS].count - (config.features == measured && formats[i].bit_depth == 16);
        config.live = has_edits;
        config.edit_size = has_edits ? 24 : 0;
        config.map_size = has_edits ? 16 : 0;
        config.float_reciprocal = VMAFGPU_RECIPROCAL_INTEL; /* the number is the same whatever the processor */
        config.colour.matrix = VMAFGPU_MATRIX_BT709;
        config.colour.range = VMAFGPU_RANGE_LIMITED;
        config.colour.siting = VMAFGPU_SITING_LEFT;
        config.colour.transfer = VMAFGPU_TRANSFER_SRGB;
        config.backend = backend;
        choose_gpus(&config, o);
        config.gpu.batch = config.gpu.queue = 1;
        config.gpu.arithmetic = formats[i].arithmetic;
        if (vmafgpu_open(&context, &config) != VMAFGPU_OK) {
            ok = fail_library(vmafgpu_last_error(context));
        } else if (!*vmafgpu_device_name(context)) {
            ok = fail("there is no GPU to test: %s", o->backend ? "--backend is cpu" : vmafgpu_backend_note(context));
        } else if (backend == VMAFGPU_BACKEND_AUTO) {
            /* The others are on the same one; edits want it named. */
            backend = strcmp(vmafgpu_backend_name(context), "hip") == 0 ? VMAFGPU_BACKEND_HIP : VMAFGPU_BACKEND_CUDA;
        }
        sum = (sum << 7 | sum >> 57) ^ vmafgpu_self_test_sum(context);
        if (ok && k == count - 1) {
            printf("vmafgpu %s self-test passed: %s, %s: %08x%08x\n", vmafgpu_version(), vmafgpu_device_name(context),
                   vmafgpu_driver_name(context), (unsigned)(sum >> 32), (unsigned)(sum & 0xffffffffu));
        }
        vmafgpu_close(context);
    }
    return ok;
}

/* The version, and behind it a line for each backend: what it computes on, or why it cannot. */
static void print_version(const options *o) {
    static const struct {
        const char     *name;
        vmafgpu_backend backend;
    } backends[] = {{"cpu", VMAFGPU_BACKEND_CPU}, {"cuda", VMAFGPU_BACKEND_CUDA}, {"hip", VMAFGPU_BACKEND_HIP}};
    static const vmafgpu_feature_config feature = {"motion", NULL};
    printf("vmafgpu %s\n", vmafgpu_version());
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        vmafgpu_config config = VMAFGPU_INIT;
        vmafgpu *context = NULL;
        char text[1024];
        config.width = config.height = 64;
        config.no_model = 1;
        config.features = &feature;
        config.feature_count = 1;
        config.backend = backends[i].backend;
        choose_gpus(&config, o);
        int is_there = vmafgpu_open(&context, &config) == VMAFGPU_OK;
        translate(text, sizeof text, vmafgpu_last_error(context));
        char name[16];
        snprintf(name, sizeof name, "%s: ", backends[i].name);
        const char *why = strstr(text, name);
        printf("%s: ", backends[i].name);
        if (is_there && i == 0) {
            printf("%s", vmafgpu_cpu_level(context));
        } else if (is_there) {
            put_text(stdout, vmafgpu_device_name(context));
            printf(", %s", vmafgpu_driver_name(context));
        } else {
            put_text(stdout, "none: ");
            put_text(stdout, why ? why + strlen(name) : text);
        }
        putchar('\n');
        vmafgpu_close(context);
    }
}

static int act(options *o) {
    if (o->help) {
        print_help();
    } else if (o->version) {
        print_version(o);
    } else if (o->self_test) {
        if (!self_test(o)) {
            return 0;
        }
    } else {
        return o->join ? join(o) : score(o);
    }
    return close_standard_output();
}
#endif

#ifdef _WIN32
static BOOL WINAPI end_by_console(DWORD event) {
    (void)event;
    remove_temporaries();
    return FALSE; /* and the program ends as it would have */
}

static void hold_signals(int hold) {
    (void)hold;
}

static void watch(void) {
    SetConsoleCtrlHandler(end_by_console, TRUE);
}

/* Whatever is opened next must not become standard input or output where these are closed. Returns whether standard input
 * is. */
static int fill_standard_files(void) {
    int stdin_is_closed = _get_osfhandle(STANDARD_INPUT) == -1;
    for (int number = STANDARD_INPUT; number <= STANDARD_ERROR; number++) {
        if (_get_osfhandle(number) == -1) {
            _open("NUL", number == STANDARD_INPUT ? _O_WRONLY : _O_RDONLY);
        }
    }
    return stdin_is_closed;
}
#else
static const int fatal_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ};
enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static void end_by_signal(int number) {
    remove_temporaries();
    raise(number); /* its handler is the default again */
}

/* Frames are looked at where the file is mapped, so this is how a file without them shows. */
static void lost_video(int number) {
    static const char sentence[] = "vmafgpu: a video became shorter, or could not be read, while it was being scored.\n";
    ssize_t written = write(STANDARD_ERROR, sentence, sizeof sentence - 1);
    (void)number;
    remove_temporaries();
    _exit(written < 0 ? 2 : EXIT_FAILURE);
}

static void hold_signals(int hold) {
    static sigset_t before;
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < FATAL_SIGNALS; i++) {
        sigaddset(&set, fatal_signals[i]);
    }
    if (hold) {
        sigprocmask(SIG_BLOCK, &set, &before);
    } else {
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
}

static void watch(void) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = lost_video;
    sigaction(SIGBUS, &action, NULL);
    action.sa_handler = end_by_signal;
    action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
    for (int i = 0; i < FATAL_SIGNALS; i++) {
        if (sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(fatal_signals[i], &action, NULL);
        }
    }
}

/* Whatever is opened next must not become standard input or output where these are closed: reading and writing go on
 * failing. Returns whether standard input is closed. */
static int fill_standard_files(void) {
    int stdin_is_closed = fcntl(STANDARD_INPUT, F_GETFD) < 0;
    for (int number = STANDARD_INPUT; number <= STANDARD_ERROR; number++) {
        if (fcntl(number, F_GETFD) < 0) {
            int opened = open("/dev/null", number == STANDARD_INPUT ? O_WRONLY : O_RDONLY);
            (void)opened; /* the lowest number that is free, this one */
        }
    }
    return stdin_is_closed;
}
#endif

#ifndef VMAFGPU_TOOL_WITHOUT_MAIN
int main(int argc, char **argv) {
    options o;
    int ok = 0;
    memset(&o, 0, sizeof o);
    o.stdin_is_closed = fill_standard_files();
    watch();
    o.digits = REPORT_DIGITS_LEGACY;
    o.argc = argc;
    o.argv = argv;
    if (understand(&o, argc, argv)) {
        is_strict = o.strict;
        ok = act(&o);
    } else {
        fputs("Try \"vmafgpu --help\".\n", stderr);
    }
    free_options(&o);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
