/* options.h: the command line: the table of all options with their help, and what they set. */
#ifndef TOOL_OPTIONS_H
#define TOOL_OPTIONS_H

#include "../../vmafgpu.h"

#include "capacity.h"
#include "cut.h"
#include "destination.h"
#include "report.h"
#include "scale.h"

#include <stdint.h>

typedef struct pixel_format {
    const char *name;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
    int bit_depth; /* 0: --bitdepth says it */
} pixel_format;

extern const pixel_format tool_pixel_formats[];

typedef struct pooling {
    const char *name;
    int is_percentile;
    vmafgpu_pool_method method;
    double percentile;
} pooling;

/* What every report's pooled part holds, in libvmaf's order. */
extern const pooling tool_standard_poolings[];
enum { STANDARD_POOLINGS = 4, POOL_MEAN = 2 };

typedef struct model_option {
    char *text; /* owns what the strings below point into */
    const char *path;
    vmafgpu_model *parsed;
} model_option;

typedef struct file_list {
    const char *names[MAX_DISTORTED];
    int count;
} file_list;

typedef enum progress_kind { PROGRESS_LINE, PROGRESS_NONE, PROGRESS_JSON } progress_kind;

typedef struct options {
    const char *reference;
    file_list distorted, output;           /* as many outputs as distorted videos, or none */
    destination destinations[MAX_REPORTS]; /* of the outputs and, last, of --html */
    progress_kind progress;
    const char *html;
    int plot;
    int is_plain; /* no tables, whatever standard output is */
    const char *state;
    int64_t segment, segments; /* which of how many, counted from 1; 0: the whole */
    const char **join;         /* parts that are put together; NULL: there are none */
    int join_count;
    int argc; /* the command */
    char **argv;
    int64_t width, height, bit_depth;
    const pixel_format *pixel_format;
    const char *pixel_format_name; /* as it was given */
    int implied_depth;             /* the bit depth that the name states; 0: it states none */
    report_format report;
    const char *report_option; /* --json and so on, if it was given */
    const char *bare[2];       /* files that no option names */
    int bare_count;
    vmafgpu_model_config models[MAX_MODELS];
    model_option model_options[MAX_MODELS]; /* what models[i] needs besides */
    int model_count;
    vmafgpu_feature_config features[MAX_FEATURES];
    char *feature_texts[MAX_FEATURES]; /* own what features[i] points into */
    int feature_count;
    pooling poolings[MAX_POOLINGS];
    char *pooling_text; /* owns the names that are not standard */
    int pooling_count;
    int64_t threads, subsample, cpumask, gpumask;
    int gpus[MAX_GPUS], gpu_count; /* VMAFGPU_ALL_DEVICES: all; 0: the first one, or none */
    int64_t frame_count, skip_reference, skip_distorted;
    cut_point from, to;
    cut_window crop;
    scale_kernel scale;
    int64_t align; /* the largest offset; 0: none is looked for */
    const char *kernels;
    vmafgpu_backend backend;
    int names_backend; /* --backend was given: then reports say what ran */
    vmafgpu_reciprocal reciprocal;
    int digits; /* after the point, or REPORT_DIGITS_... */
    int no_prediction, strict, quiet, self_test, version, help;
    int stdin_is_closed;
    int ends_program; /* after this run: nobody waits for a GPU that is still being opened */
} options;

/* How many files of whatever kind are written at the end, and their names. */
int tool_report_count(const options *o);

/* The name of the i-th of these files. */
const char *tool_report_name(const options *o, int i);

/* Prints the help. */
void tool_print_help(void);

/* Sets the options that the arguments give. 0 after a message. */
int tool_parse_arguments(options *o, int argc, char **argv);

/* The path of video i: 0 is the reference. */
const char *tool_path_of(const options *o, int i);

/* The name of model i in reports. */
const char *tool_model_name(const options *o, int i);

/* Whether heat maps are to be written. */
int tool_has_heatmaps(const options *o);

/* Frees what the options own. */
void tool_free_options(options *o);

#endif /* TOOL_OPTIONS_H */
