/* report.h: libvmaf's report files, byte for byte, from whoever has the figures: the tool and the library.
 *
 * To be included by one file of a program. Everything is static.
 */
#ifndef REPORT_H
#define REPORT_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum {
    REPORT_DIGITS_LEGACY = -1, /* as libvmaf prints numbers */
    REPORT_DIGITS_MAX = -2     /* every digit that a double needs */
};

typedef enum report_format { REPORT_XML, REPORT_JSON, REPORT_CSV, REPORT_SUB, REPORT_FORMATS } report_format;

/* Functions that say whether there is such a thing write it to `value` only if there is. */
typedef struct report {
    FILE       *out;
    const char *version;
    const char *backend;  /* NULL: it is not named, as in libvmaf */
    double      fps;
    int         width, height;
    int         digits;   /* after the point, or REPORT_DIGITS_... */
    int         columns, poolings, aggregates;
    int64_t     frames;   /* indices are below that; ... */
    int64_t     step;     /* ...and multiples of this */
    void       *user;     /* what the functions get */
    int         (*column_at)(void *user, int place); /* NULL: columns are written in their own order */
    const char *(*column_name)(void *user, int column);
    int         (*value)(void *user, int64_t frame, int column, double *value);
    const char *(*pooling_name)(void *user, int pooling);
    int         (*pooled)(void *user, int column, int pooling, double *value);
    const char *(*aggregate_name)(void *user, int aggregate);
    double      (*aggregate)(void *user, int aggregate);
} report;

/* libvmaf prints six decimals, unless the fraction begins with six zeros or more: then sixteen. Its test multiplies
 * the fraction by ten until it reaches 1, and so must this one: a comparison with 1e-6 would round elsewhere. */
static int report_legacy_decimals(double number) {
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

static void report_put_number(FILE *out, int digits, double number) {
    if (digits == REPORT_DIGITS_MAX) {
        fprintf(out, "%.17g", number);
    } else {
        fprintf(out, "%.*f", digits == REPORT_DIGITS_LEGACY ? report_legacy_decimals(number) : digits, number);
    }
}

static void report_put_json(FILE *out, int digits, double number) {
    if (number - number == 0) {
        report_put_number(out, digits, number);
    } else {
        fputs("null", out);
    }
}

static int report_column_at(const report *r, int place) {
    return r->column_at ? r->column_at(r->user, place) : place;
}

/* How many columns have a value for the frame. */
static int report_width(const report *r, int64_t frame) {
    double value;
    int count = 0;
    for (int c = 0; c < r->columns; c++) {
        count += r->value(r->user, frame, c, &value);
    }
    return count;
}

/* "NAME<between>VALUE<behind>" for each column of the frame that has one. */
static void report_put_row(const report *r, int64_t frame, int is_named, const char *between, const char *behind) {
    double value;
    for (int i = 0; i < r->columns; i++) {
        int c = report_column_at(r, i);
        if (r->value(r->user, frame, c, &value)) {
            fprintf(r->out, "%s%s", is_named ? r->column_name(r->user, c) : "", between);
            report_put_number(r->out, r->digits, value);
            fputs(behind, r->out);
        }
    }
}

static void report_write_xml(const report *r) {
    FILE *out = r->out;
    double pooled;
    fprintf(out, "<VMAF version=\"%s\">\n", r->version);
    fprintf(out, "  <params qualityWidth=\"%d\" qualityHeight=\"%d\" />\n", r->width, r->height);
    fprintf(out, "  <fyi fps=\"%.2f\"", r->fps);
    if (r->backend) {
        fprintf(out, " backend=\"%s\"", r->backend);
    }
    fprintf(out, " />\n");
    fprintf(out, "  <frames>\n");
    for (int64_t f = 0; f < r->frames; f += r->step) {
        if (report_width(r, f)) {
            fprintf(out, "    <frame frameNum=\"%lld\" ", (long long)f);
            report_put_row(r, f, 1, "=\"", "\" ");
            fprintf(out, "/>\n");
        }
    }
    fprintf(out, "  </frames>\n  <pooled_metrics>\n");
    for (int place = 0; place < r->columns; place++) {
        int c = report_column_at(r, place);
        fprintf(out, "    <metric name=\"%s\" ", r->column_name(r->user, c));
        for (int i = 0; i < r->poolings; i++) {
            if (r->pooled(r->user, c, i, &pooled)) {
                fprintf(out, "%s=\"", r->pooling_name(r->user, i));
                report_put_number(out, r->digits, pooled);
                fputs("\" ", out);
            }
        }
        fprintf(out, "/>\n");
    }
    fprintf(out, "  </pooled_metrics>\n  <aggregate_metrics ");
    for (int i = 0; i < r->aggregates; i++) {
        fprintf(out, "%s=\"", r->aggregate_name(r->user, i));
        report_put_number(out, r->digits, r->aggregate(r->user, i));
        fputs("\" ", out);
    }
    fprintf(out, "/>\n</VMAF>\n");
}

static void report_put_json_frame(const report *r, int64_t frame, int width) {
    double value;
    fprintf(r->out, "%s    {\n      \"frameNum\": %lld,\n      \"metrics\": {\n", frame > 0 ? ",\n" : "\n", (long long)frame);
    for (int i = 0; i < r->columns; i++) {
        int c = report_column_at(r, i);
        if (r->value(r->user, frame, c, &value)) {
            fprintf(r->out, "        \"%s\": ", r->column_name(r->user, c));
            report_put_json(r->out, r->digits, value);
            /* libvmaf leaves the line feed out after null. */
            fprintf(r->out, "%s%s", --width > 0 ? "," : "", value - value == 0 ? "\n" : "");
        }
    }
    fprintf(r->out, "      }\n    }");
}

static void report_write_json(const report *r) {
    double pooled;
    fprintf(r->out, "{\n  \"version\": \"%s\",\n", r->version);
    if (r->fps - r->fps == 0) {
        fprintf(r->out, "  \"fps\": %.2f,\n", r->fps);
    } else {
        fputs("  \"fps\": null,\n", r->out);
    }
    if (r->backend) {
        fprintf(r->out, "  \"backend\": \"%s\",\n", r->backend);
    }
    fprintf(r->out, "  \"frames\": [");
    for (int64_t f = 0; f < r->frames; f += r->step) {
        int width = report_width(r, f);
        if (width) {
            report_put_json_frame(r, f, width);
        }
    }
    fprintf(r->out, "\n  ],\n  \"pooled_metrics\": {");
    for (int place = 0; place < r->columns; place++) {
        int c = report_column_at(r, place);
        fprintf(r->out, "%s    \"%s\": {", place > 0 ? ",\n" : "\n", r->column_name(r->user, c));
        for (int i = 0; i < r->poolings; i++) {
            if (r->pooled(r->user, c, i, &pooled)) {
                fprintf(r->out, "%s      \"%s\": ", i > 0 ? ",\n" : "\n", r->pooling_name(r->user, i));
                report_put_json(r->out, r->digits, pooled);
            }
        }
        fprintf(r->out, "\n    }");
    }
    fprintf(r->out, "\n  },\n  \"aggregate_metrics\": {");
    for (int i = 0; i < r->aggregates; i++) {
        fprintf(r->out, "%s\n    \"%s\": ", i > 0 ? "," : "", r->aggregate_name(r->user, i));
        report_put_json(r->out, r->digits, r->aggregate(r->user, i));
    }
    fprintf(r->out, "\n  }\n}\n");
}

static void report_write_csv(const report *r) {
    fprintf(r->out, "Frame,");
    for (int c = 0; c < r->columns; c++) {
        fprintf(r->out, "%s,", r->column_name(r->user, report_column_at(r, c)));
    }
    fputc('\n', r->out);
    for (int64_t f = 0; f < r->frames; f += r->step) {
        if (report_width(r, f)) {
            fprintf(r->out, "%lld,", (long long)f);
            report_put_row(r, f, 0, "", ",");
            fputc('\n', r->out);
        }
    }
}

static void report_write_sub(const report *r) {
    for (int64_t f = 0; f < r->frames; f += r->step) {
        if (report_width(r, f)) {
            fprintf(r->out, "{%lld}{%lld}frame: %lld|", (long long)f, (long long)f + 1, (long long)f);
            report_put_row(r, f, 1, ": ", "|");
            fputc('\n', r->out);
        }
    }
}

static void report_write(const report *r, report_format format) {
    static void (*const writers[REPORT_FORMATS])(const report *) = {report_write_xml, report_write_json, report_write_csv,
                                                                    report_write_sub};
    writers[format](r);
}

#endif /* REPORT_H */
