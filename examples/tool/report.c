/* report.c: see report.h. */
#include "report.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the number of decimals that libvmaf prints: six, or sixteen if the fraction begins with six or more zeros.
 * Like libvmaf, it multiplies the fraction by ten until the result reaches 1. Comparing the fraction with 1e-6 instead
 * could give a different result because of rounding. */
static int report_legacy_decimals(double number) {
    double size = fabs(number);
    if (!(size < 2147483648.0))
        return 6; /* infinite, NaN, or too large for the conversion to int */
    double fraction = size - (double)(int)size;
    int shifts = 0;
    while (fraction != 0 && fraction < 1) {
        fraction *= 10;
        shifts++;
    }
    return shifts <= 6 ? 6 : 16;
}

REPORT_API void report_put_number(FILE *out, int digits, double number) {
    if (digits == REPORT_DIGITS_MAX)
        fprintf(out, "%.17g", number);
    else
        fprintf(out, "%.*f", digits == REPORT_DIGITS_LEGACY ? report_legacy_decimals(number) : digits, number);
}

static void report_put_json(FILE *out, int digits, double number) {
    if (number - number == 0)
        report_put_number(out, digits, number);
    else
        fputs("null", out);
}

static int report_column_at(const report *r, int place) {
    return r->column_at ? r->column_at(r->user, place) : place;
}

/* Decodes the UTF-8 character at `text`. Returns its size in bytes, or 0 if it is invalid or not allowed in XML and
 * JSON. */
static int report_character(const unsigned char *text, uint32_t *character) {
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    int size = text[0] < 0x80   ? 1
               : text[0] < 0xc0 ? 0
               : text[0] < 0xe0 ? 2
               : text[0] < 0xf0 ? 3
               : text[0] < 0xf8 ? 4
                                : 0;
    *character = size > 1 ? text[0] & (0x7fu >> size) : text[0];
    for (int i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (text[i] & 0x3fu);
    }
    int is_surrogate = *character >= 0xd800 && *character < 0xe000;
    return size && *character >= least[size] && *character <= 0x10ffff && !is_surrogate && (*character | 1) != 0xffff
               ? size
               : 0;
}

/* Writes a character that must be escaped in the format. */
static void report_put_escape(FILE *out, report_format format, uint32_t character) {
    if (format == REPORT_JSON) {
        fprintf(out, character == '"' || character == '\\' ? "\\%c" : "\\u%04x", (unsigned)character);
    } else if (format == REPORT_XML) { /* XML allows only three control characters */
        int is_allowed = character >= ' ' || character == '\t' || character == '\n' || character == '\r';
        fprintf(out, "&#%u;", is_allowed ? (unsigned)character : 0xfffdu);
    } else if (format == REPORT_CSV) {
        fputs(character == '"' ? "\"\"" : " ", out);
    } else {
        fputc(' ', out);
    }
}

/* Writes a name. Names come from programs, so characters with a special meaning in the format are escaped. */
static void report_put_name(FILE *out, report_format format, const char *name) {
    static const char *const special[REPORT_FORMATS] = { "\"<>&", "\"\\", "\"", "|" };
    int is_quoted = format == REPORT_CSV && strpbrk(name, "\",");
    fputs(is_quoted ? "\"" : "", out);
    for (const unsigned char *text = (const unsigned char *)name; *text;) {
        uint32_t character;
        int size = report_character(text, &character);
        if (!size) {
            fputs("\xef\xbf\xbd", out); /* U+FFFD, the replacement character */
            size = 1;
        } else if (character < ' ' || (size == 1 && strchr(special[format], (int)character))) {
            report_put_escape(out, format, character);
        } else {
            fwrite(text, 1, (size_t)size, out);
        }
        text += size;
    }
    fputs(is_quoted ? "\"" : "", out);
}

/* Whether XML allows the character in the name of an attribute. Colons are excluded because they need a namespace. */
static int report_is_named(uint32_t character, int is_first) {
    static const uint32_t ranges[][2] = {
        { 'A', 'Z' },       { '_', '_' },       { 'a', 'z' },         { 0xc0, 0xd6 },
        { 0xd8, 0xf6 },     { 0xf8, 0x2ff },    { 0x370, 0x37d },     { 0x37f, 0x1fff },
        { 0x200c, 0x200d }, { 0x2070, 0x218f }, { 0x2c00, 0x2fef },   { 0x3001, 0xd7ff },
        { 0xf900, 0xfdcf }, { 0xfdf0, 0xfffd }, { 0x10000, 0xeffff }, /* not as the first character: */ { '-', '.' },
        { '0', '9' }
    };
    int count = (int)(sizeof ranges / sizeof ranges[0]) - (is_first ? 2 : 0);
    for (int i = 0; i < count; i++)
        if (character >= ranges[i][0] && character <= ranges[i][1])
            return 1;
    return 0;
}

/* Writes a name as the name of an XML attribute. XML has no escapes for such names, so characters that are not allowed
 * are written as in .NET: _x0020_ for a space. */
static void report_put_attribute(FILE *out, const char *name) {
    const unsigned char *text = (const unsigned char *)name;
    do {
        uint32_t character;
        int size = report_character(text, &character);
        if (size && report_is_named(character, text == (const unsigned char *)name)) {
            fwrite(text, 1, (size_t)size, out);
        } else {
            fprintf(out, "_x%04X_", size ? (unsigned)character : (unsigned)*text);
            size = size ? size : 1;
        }
        text += *text ? size : 0;
    } while (*text);
}

/* Returns the first index >= frame that may be in the report. `frame` must be a multiple of the step. The result is at
 * least r->frames if there is no such frame. */
static int64_t report_next(const report *r, int64_t frame) {
    return r->next && frame < r->frames ? r->next(r->user, frame) : frame;
}

/* Returns the number of columns that have a value for the frame. */
static int report_width(const report *r, int64_t frame) {
    double value;
    int count = 0;
    for (int c = 0; c < r->columns; c++)
        count += r->value(r->user, frame, c, &value);
    return count;
}

/* Writes NAME, `between`, VALUE and `behind` for each column that has a value. In CSV, NAME is empty. */
static void report_put_row(const report *r, int64_t frame, report_format format, const char *between,
                           const char *behind) {
    double value;
    for (int i = 0; i < r->columns; i++) {
        int c = report_column_at(r, i);
        if (r->value(r->user, frame, c, &value)) {
            if (format == REPORT_XML)
                report_put_attribute(r->out, r->column_name(r->user, c));
            else if (format != REPORT_CSV)
                report_put_name(r->out, format, r->column_name(r->user, c));
            fputs(between, r->out);
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
    if (r->backend)
        fprintf(out, " backend=\"%s\"", r->backend);
    fprintf(out, " />\n");
    fprintf(out, "  <frames>\n");
    for (int64_t f = report_next(r, 0); f < r->frames; f = report_next(r, f + r->step)) {
        if (report_width(r, f)) {
            fprintf(out, "    <frame frameNum=\"%lld\" ", (long long)f);
            report_put_row(r, f, REPORT_XML, "=\"", "\" ");
            fprintf(out, "/>\n");
        }
    }
    fprintf(out, "  </frames>\n  <pooled_metrics>\n");
    for (int place = 0; place < r->columns; place++) {
        int c = report_column_at(r, place);
        fputs("    <metric name=\"", out);
        report_put_name(out, REPORT_XML, r->column_name(r->user, c));
        fputs("\" ", out);
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
        report_put_attribute(out, r->aggregate_name(r->user, i));
        fputs("=\"", out);
        report_put_number(out, r->digits, r->aggregate(r->user, i));
        fputs("\" ", out);
    }
    fprintf(out, "/>\n</VMAF>\n");
}

static void report_put_json_frame(const report *r, int64_t frame, int width) {
    double value;
    fprintf(r->out, "%s    {\n      \"frameNum\": %lld,\n      \"metrics\": {\n", frame > 0 ? ",\n" : "\n",
            (long long)frame);
    for (int i = 0; i < r->columns; i++) {
        int c = report_column_at(r, i);
        if (r->value(r->user, frame, c, &value)) {
            fputs("        \"", r->out);
            report_put_name(r->out, REPORT_JSON, r->column_name(r->user, c));
            fputs("\": ", r->out);
            report_put_json(r->out, r->digits, value);
            /* libvmaf writes no line feed after null. */
            fprintf(r->out, "%s%s", --width > 0 ? "," : "", value - value == 0 ? "\n" : "");
        }
    }
    fprintf(r->out, "      }\n    }");
}

static void report_write_json(const report *r) {
    double pooled;
    fprintf(r->out, "{\n  \"version\": \"%s\",\n", r->version);
    if (r->fps - r->fps == 0)
        fprintf(r->out, "  \"fps\": %.2f,\n", r->fps);
    else
        fputs("  \"fps\": null,\n", r->out);
    if (r->backend)
        fprintf(r->out, "  \"backend\": \"%s\",\n", r->backend);
    fprintf(r->out, "  \"frames\": [");
    for (int64_t f = report_next(r, 0); f < r->frames; f = report_next(r, f + r->step)) {
        int width = report_width(r, f);
        if (width)
            report_put_json_frame(r, f, width);
    }
    fprintf(r->out, "\n  ],\n  \"pooled_metrics\": {");
    for (int place = 0; place < r->columns; place++) {
        int c = report_column_at(r, place);
        fputs(place > 0 ? ",\n    \"" : "\n    \"", r->out);
        report_put_name(r->out, REPORT_JSON, r->column_name(r->user, c));
        fputs("\": {", r->out);
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
        fputs(i > 0 ? ",\n    \"" : "\n    \"", r->out);
        report_put_name(r->out, REPORT_JSON, r->aggregate_name(r->user, i));
        fputs("\": ", r->out);
        report_put_json(r->out, r->digits, r->aggregate(r->user, i));
    }
    fprintf(r->out, "\n  }\n}\n");
}

static void report_write_csv(const report *r) {
    fprintf(r->out, "Frame,");
    for (int c = 0; c < r->columns; c++) {
        report_put_name(r->out, REPORT_CSV, r->column_name(r->user, report_column_at(r, c)));
        fputc(',', r->out);
    }
    fputc('\n', r->out);
    for (int64_t f = report_next(r, 0); f < r->frames; f = report_next(r, f + r->step)) {
        if (report_width(r, f)) {
            fprintf(r->out, "%lld,", (long long)f);
            report_put_row(r, f, REPORT_CSV, "", ",");
            fputc('\n', r->out);
        }
    }
}

static void report_write_sub(const report *r) {
    for (int64_t f = report_next(r, 0); f < r->frames; f = report_next(r, f + r->step)) {
        if (report_width(r, f)) {
            fprintf(r->out, "{%lld}{%lld}frame: %lld|", (long long)f, (long long)f + 1, (long long)f);
            report_put_row(r, f, REPORT_SUB, ": ", "|");
            fputc('\n', r->out);
        }
    }
}

REPORT_API void report_write(const report *r, report_format format) {
    static void (*const writers[REPORT_FORMATS])(const report *) = { report_write_xml, report_write_json,
                                                                     report_write_csv, report_write_sub };
    writers[format](r);
}
