/* options.h: parses the command line into a struct of options; contains the table of all options with their help. */
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
    int bit_depth; /* 0 if --bitdepth sets it */
} pixel_format;

extern const pixel_format tool_pixel_formats[];

typedef struct pooling {
    const char *name;
    int is_percentile;
    vmafgpu_pool_method method;
    double percentile;
} pooling;

/* The poolings in the pooled part of every report, in the order of libvmaf. */
extern const pooling tool_standard_poolings[];
enum { STANDARD_POOLINGS = 4, POOL_MEAN = 2 };

typedef struct model_option {
    char *text; /* owns the strings below and those of the model config */
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
    file_list distorted, output, slopes;   /* one output for each distorted video, or none at all; so with slopes */
    destination destinations[MAX_REPORTS]; /* of `output`, of --html, and of the slopes that are means */
    progress_kind progress;
    const char *html;
    int plot;
    int is_plain; /* print no tables, even to a terminal */
    const char *state;
    int64_t segment, segments; /* segment number, from 1, and number of segments; 0 for the whole clip */
    const char **join;         /* paths of the parts to join; NULL without --join */
    int join_count;
    int argc; /* the arguments of the program */
    char **argv;
    int64_t width, height, bit_depth;
    const pixel_format *pixel_format;
    const char *pixel_format_name; /* as given on the command line */
    int implied_depth;             /* bit depth in the name of the pixel format; 0 if there is none */
    report_format report;
    const char *report_option; /* the last of --xml, --json, --csv and --sub; NULL without any */
    const char *bare[2];       /* file names without an option */
    int bare_count;
    vmafgpu_model_config models[MAX_MODELS];
    model_option model_options[MAX_MODELS]; /* strings and file of models[i] */
    int model_count;
    vmafgpu_feature_config features[MAX_FEATURES];
    char *feature_texts[MAX_FEATURES]; /* own the strings of features[i] */
    int feature_count;
    pooling poolings[MAX_POOLINGS];
    char *pooling_text; /* owns the names of median and percentiles */
    int pooling_count;
    int64_t threads, subsample, cpumask, gpumask;
    int gpus[MAX_GPUS], gpu_count; /* gpu_count is VMAFGPU_ALL_DEVICES for all GPUs, and 0 for the first one, if any */
    int64_t frame_count, skip_reference, skip_distorted;
    cut_point from, to;
    cut_window crop;
    scale_kernel scale;
    int64_t align; /* the largest offset to search; 0 without --align */
    const char *kernels;
    vmafgpu_backend backend;
    int names_backend; /* --backend was given, so reports name the backend that was used */
    vmafgpu_reciprocal reciprocal;
    int digits; /* number of decimals, or REPORT_DIGITS_... */
    int constant_cambi, no_prediction, strict, quiet, debug, self_test, version, help;
    int stdin_is_closed;
    int ends_program; /* the program ends after this run, even if a GPU is still being opened */
} options;

/* Returns the number of pictures of --slopes that show the mean over the clip. */
int tool_mean_slopes_count(const options *o);

/* Returns the number of files to write: the reports, the page of --html, and the mean slopes. */
int tool_report_count(const options *o);

/* Returns the file name of file i of tool_report_count(). */
const char *tool_report_name(const options *o, int i);

/* Prints the help. */
void tool_print_help(void);

/* Sets the options from the arguments. Returns 0 after an error message. */
int tool_parse_arguments(options *o, int argc, char **argv);

/* Returns the path of video i; video 0 is the reference. */
const char *tool_path_of(const options *o, int i);

/* Returns the name of model i in reports. */
const char *tool_model_name(const options *o, int i);

/* Whether a feature or model option requests heat maps. */
int tool_has_heatmaps(const options *o);

/* Frees the memory that the options own. */
void tool_free_options(options *o);

#endif /* TOOL_OPTIONS_H */
