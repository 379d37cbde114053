/* check.c: see check.h. */
#include "system.h"

#include "check.h"
#include "capacity.h"
#include "destination.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "slopes.h"

#include <string.h>

enum { MAX_INPUTS = 1 + MAX_DISTORTED + MAX_MODELS + 1 };

typedef struct input {
    const char *what;
    char title[SHOWN_PATH];
    file_id file;
    int is_stdin;
} input;

static void add_input(input *inputs, int *count, const char *what, const char *path, int may_be_stdin) {
    if (path) {
        input *in = &inputs[(*count)++];
        in->what = what;
        in->is_stdin = may_be_stdin && strcmp(path, "-") == 0;
        tool_set_title(in->title, in->is_stdin ? "standard input" : NULL, path);
        in->file = in->is_stdin ? tool_identify_standard(STANDARD_INPUT) : tool_identify(path);
    }
}

/* Lists all files that a run reads. Returns their number. */
static int list_inputs(const options *o, input inputs[MAX_INPUTS]) {
    int count = 0;
    for (int i = 0; i <= o->distorted.count && !o->join; i++)
        add_input(inputs, &count, "video", tool_path_of(o, i), 1);
    for (int i = 0; i < o->model_count; i++)
        add_input(inputs, &count, "model", o->model_options[i].path, 0);
    add_input(inputs, &count, "kernels", o->kernels, 0);
    return count;
}

static int check_raw_options(options *o) {
    if (!o->width && !o->height && !o->pixel_format && !o->bit_depth)
        return 1;
    int implied = o->implied_depth;
    if (!o->bit_depth)
        o->bit_depth = implied;
    if (!o->width || !o->height || !o->pixel_format || !o->bit_depth)
        return tool_fail("raw video requires --width, --height, --pixel_format and --bitdepth");
    if (implied && o->bit_depth != implied) {
        return tool_fail("pixel format %s has %d bits, not %d; remove --bitdepth", o->pixel_format_name, implied,
                         (int)o->bit_depth);
    }
    return 1;
}

static int check_model_names(const options *o) {
    for (int i = 0; i < o->model_count; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(tool_model_name(o, i), tool_model_name(o, j)) == 0) {
                return tool_fail("two models are named \"%s\"; rename one with --model name=TEXT",
                                 tool_model_name(o, i));
            }
        }
    }
    return 1;
}

/* Checks that each pipe is used once, and that no report overwrites an input or another report. Returns 0 after an
 * error message. */
static int check_files(options *o) {
    input inputs[MAX_INPUTS];
    int count = list_inputs(o, inputs), from_stdin = 0;
    for (int i = 0; i < count; i++) {
        from_stdin += inputs[i].is_stdin;
        if (inputs[i].is_stdin && o->stdin_is_closed)
            return tool_fail("standard input is closed");
        for (int k = 0; k < i; k++) {
            if (inputs[i].file.kind == FILE_PIPE && tool_is_same_file(&inputs[i].file, &inputs[k].file) &&
                from_stdin < 2) {
                return tool_fail("the %s %s and the %s %s are the same pipe; each needs its own pipe", inputs[k].what,
                                 inputs[k].title, inputs[i].what, inputs[i].title);
            }
        }
    }
    if (from_stdin > 1)
        return tool_fail("only one of the videos can come from standard input");
    if (o->segments && (o->output.count != 1 || o->html || o->plot || o->pooling_count)) {
        return tool_fail("--segment requires a single -o for its rows, and does not accept --html, --plot and --pool; "
                         "use --pool with --join");
    }
    if (o->output.count && o->output.count != o->distorted.count && !o->segments && !o->join) {
        return tool_fail("the number of reports (-o) must be 0 or %d, the number of distorted videos, not %d",
                         o->distorted.count, o->output.count);
    }
    if (o->slopes.count && o->slopes.count != o->distorted.count) {
        return tool_fail("the number of --slopes must be 0 or %d, the number of distorted videos, not %d",
                         o->distorted.count, o->slopes.count);
    }
    if (o->constant_cambi && !o->slopes.count)
        return tool_fail("--constant_cambi requires --slopes");
    if (o->slopes.count && o->no_prediction && o->model_count == 0)
        return tool_fail("--slopes requires a model; remove --no_prediction, or add --model");
    if (o->slopes.count && (o->segments || o->state))
        return tool_fail(
            "--slopes does not accept --state and --segment, because slopes are not saved with the scores");
    for (int i = 0; i < tool_report_count(o); i++) {
        destination *d = &o->destinations[i];
        d->is_picture = i >= o->output.count + (o->html != NULL);
        if (!tool_find_destination(d, tool_report_name(o, i)))
            return 0;
        for (int k = 0; k < count; k++)
            if (tool_is_same_file(&d->file, &inputs[k].file))
                return tool_fail("the report %s would overwrite the %s %s", d->title, inputs[k].what, inputs[k].title);
        for (int k = 0; k < i; k++)
            if (tool_is_same_destination(d, &o->destinations[k]))
                return tool_fail("two reports, %s and %s, would be the same file", o->destinations[k].title, d->title);
    }
    return tool_check_slopes_names(o);
}

/* Refuses heat maps of several distorted videos, because they would be written to the same files. */
static int check_heatmaps(const options *o) {
    return !tool_has_heatmaps(o) || o->distorted.count == 1 ||
           tool_fail("heatmaps_path of cambi requires a single distorted video");
}

/* Checks the options of --join, and that no report overwrites a part. Returns 0 after an error message. */
static int check_join(options *o) {
    if (o->reference || o->distorted.count || o->segments || o->state || o->html || o->slopes.count) {
        return tool_fail("--join does not accept -r, -d, --state, --segment, --html and --slopes, because it scores "
                         "nothing");
    }
    if (!check_files(o))
        return 0;
    for (int i = 0; i < o->join_count; i++) {
        file_id part = tool_identify(o->join[i]);
        for (int k = 0; k < o->output.count; k++)
            if (tool_is_same_file(&part, &o->destinations[k].file))
                return tool_fail("the report %s would overwrite a part", o->destinations[k].title);
    }
    return 1;
}

/* Sends the report to standard output if a format is given without a file. Returns 0 after an error message. */
static int choose_output(options *o) {
    if (!o->report_option || o->output.count || o->segments)
        return 1;
    if (o->distorted.count > 1) {
        return tool_fail("--%s without -o writes a single report to standard output, not %d; add an -o for each video",
                         o->report_option, o->distorted.count);
    }
    o->output.names[o->output.count++] = "-";
    return 1;
}

int tool_check_options(options *o) {
    if (!choose_output(o))
        return 0;
    if (o->join) {
        if (!o->output.count && o->pooling_count == 0)
            o->poolings[o->pooling_count++] = tool_standard_poolings[POOL_MEAN];
        return check_join(o);
    }
    if (!o->reference || !o->distorted.count)
        return tool_fail("a reference (-r) and a distorted video (-d) are required");
    if (!check_files(o))
        return 0;
    if (!o->output.count && !o->html && o->pooling_count == 0)
        o->poolings[o->pooling_count++] = tool_standard_poolings[POOL_MEAN];
    return check_raw_options(o) && check_model_names(o) && check_heatmaps(o);
}
