/* output.c: see output.h. */
#include "system.h"

#include "output.h"
#include "capacity.h"
#include "destination.h"
#include "figures.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "page.h"
#include "plot.h"
#include "progress.h"
#include "report.h"
#include "scores.h"
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <sys/ioctl.h>
#endif

/* Returns standard output, or standard error if a report is written to standard output. */
static FILE *pooled_output(const options *o) {
    for (int i = 0; i < tool_report_count(o); i++)
        if (o->destinations[i].is_stdout)
            return stderr;
    return stdout;
}

static int terminal_width(FILE *out) {
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
#if !defined(_WIN32) && defined(TIOCGWINSZ)
    struct winsize size;
    if (width <= 0 && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
#endif
    (void)out;
    return width < 40 ? 80 : width > 240 ? 240 : width;
}

/* Draws the curve of the first model, or of the first feature if there is no model. */
static int plot_report(const figures *f) {
    FILE *out = pooled_output(f->o);
    scores s;
    if (!f->context && !f->about)
        return tool_fail("--plot: there are no values to draw");
    memset(&s, 0, sizeof s);
    int ok = tool_copy_scores(f, &s);
    if (ok && f->columns > 0) {
        int column = f->o->no_prediction ? 0 : tool_figure_score_column(f, 0);
        column = column < 0 ? 0 : column;
        plot_curve(out, &s, column, tool_figure_name(f, column),
                   f->about              ? f->about->step
                   : f->o->subsample > 1 ? f->o->subsample
                                         : 1,
                   terminal_width(out));
    }
    scores_free(&s);
    return ok || tool_out_of_memory();
}

/* Prints "NAME POOLING VALUE" for each pooling. */
static void print_pooled_column(const figures *f, int column) {
    FILE *out = pooled_output(f->o);
    double value;
    for (int i = 0; i < f->o->pooling_count; i++) {
        if (tool_pool_column(f, column, &f->o->poolings[i], &value)) {
            fprintf(out, "%s %s ", tool_figure_name(f, column), f->o->poolings[i].name);
            report_put_number(out, f->o->digits, value);
            fputc('\n', out);
        }
    }
}

static void print_pooled_model(const figures *f, int column) {
    static const char *const suffixes[] = { "_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi" };
    print_pooled_column(f, column);
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) { /* outputs of bootstrap models */
        char output_name[1024];
        int length = snprintf(output_name, sizeof output_name, "%s%s", tool_figure_name(f, column), suffixes[i]);
        int output = length < (int)sizeof output_name ? tool_figure_column(f, output_name) : -1;
        if (output >= 0)
            print_pooled_column(f, output);
    }
}

/* Prints a table of the scores, one row for each video and model, if the output is a terminal and there is more than
 * one value. Returns whether it printed the table. */
static int print_table(const figures *reports, int count) {
    const options *o = reports[0].o;
    FILE *out = pooled_output(o);
    int width = 5, models = 0;
    if (o->is_plain || !tool_is_terminal(out))
        return 0;
    while (models < MAX_MODELS && tool_figure_score_column(&reports[0], models) >= 0)
        models++;
    if (models == 0 || (o->no_prediction && !reports[0].about) || models * count * o->pooling_count < 2)
        return 0;
    for (int i = 0; i < count; i++) {
        int length = o->join || count == 1 ? 8 : (int)strlen(tool_last_part(o->distorted.names[i]));
        width = length > width ? length : width;
    }
    width = width > 40 ? 40 : width;
    fprintf(out, "%-*s  %-20s", count > 1 ? width : 0, count > 1 ? "video" : "", "model");
    for (int k = 0; k < o->pooling_count; k++)
        fprintf(out, " %13s", o->poolings[k].name);
    fputc('\n', out);
    for (int i = 0; i < count; i++) {
        for (int m = 0; m < models; m++) {
            int column = tool_figure_score_column(&reports[i], m);
            char name[64] = "";
            if (count > 1 && o->join)
                snprintf(name, sizeof name, "%d", i + 1);
            else if (count > 1)
                snprintf(name, sizeof name, "%.40s", tool_last_part(o->distorted.names[i]));
            tool_put_text(out, name);
            fprintf(out, "%*s  %-20s", count > 1 && width > (int)strlen(name) ? width - (int)strlen(name) : 0, "",
                    tool_figure_name(&reports[i], column));
            for (int k = 0; k < o->pooling_count; k++) {
                double value;
                int digits = o->digits == REPORT_DIGITS_LEGACY ? 6 : o->digits == REPORT_DIGITS_MAX ? 10 : o->digits;
                if (tool_pool_column(&reports[i], column, &o->poolings[k], &value))
                    fprintf(out, " %13.*f", digits, value);
            }
            fputc('\n', out);
        }
    }
    return 1;
}

/* Prints the pooled scores, or the pooled features if there are no scores. */
static int print_pooled(const figures *f) {
    int has_scores = f->about ? f->about->score_count > 0 : !f->o->no_prediction;
    for (int c = 0; c < f->columns && !has_scores; c++)
        print_pooled_column(f, c);
    for (int m = 0; m < MAX_MODELS && has_scores && tool_figure_score_column(f, m) >= 0; m++)
        print_pooled_model(f, tool_figure_score_column(f, m));
    return tool_close_standard_output();
}

static void print_pooled_title(const options *o, int i) {
    FILE *out = pooled_output(o);
    if (o->join) {
        fprintf(out, "video %d:\n", i);
        return;
    }
    tool_put_text(out, strcmp(tool_path_of(o, i), "-") == 0 ? "standard input" : tool_path_of(o, i));
    fputs(":\n", out);
}

int tool_report_all(const session *all, options *o, figures *reports, int count) {
    int ok = 1;
    for (int i = 0; i < o->output.count; i++)
        ok = tool_fill_destination(&o->destinations[i], i, tool_write_report, &reports[i]) && ok;
    if (o->html)
        ok = tool_report_page(all, o, reports) && ok;
    for (int i = 0; i < count && o->plot; i++) {
        if (count > 1)
            print_pooled_title(o, 1 + i);
        ok = plot_report(&reports[i]) && ok;
    }
    if (o->pooling_count > 0 && reports[0].rows > 0 && print_table(reports, count))
        return tool_close_standard_output() && ok;
    for (int i = 0; i < count && o->pooling_count > 0; i++) {
        if (reports[i].rows > 0) {
            if (count > 1)
                print_pooled_title(o, 1 + i);
            ok = print_pooled(&reports[i]) && ok;
        }
    }
    return ok;
}
