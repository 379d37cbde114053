/* Reads reports from libvmaf and from our tool, removes version and fps, and finds differences. */
#ifndef FUZZ_REPORT_H
#define FUZZ_REPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "tally.h"

/* Removes the value between `key` and `end`. */
static inline void report_mask_one(char *text, const char *key, char end) {
    char *at = strstr(text, key);
    if (at) {
        char *value = at + strlen(key), *rest = strchr(value, end);
        if (rest)
            memmove(value, rest, strlen(rest) + 1);
    }
}

static inline char *report_mask(char *text) {
    if (text) {
        report_mask_one(text, "<VMAF version=\"", '"');
        report_mask_one(text, "<fyi fps=\"", '"');
        report_mask_one(text, "\"version\": \"", '"');
        report_mask_one(text, "\"fps\": ", ',');
    }
    return text;
}

/* Puts each value on a separate line, because libvmaf writes no line break after null. */
static inline void report_break(char *text) {
    for (; *text; text++)
        if (text[0] == ',' && text[1] == ' ')
            text[1] = '\n';
}

/* ---- values of JSON reports ---- */

typedef struct figure {
    int frame;
    const char *name, *value;
} figure;

typedef struct figures {
    figure *list;
    int count, frames;
} figures;

/* Finds the values of all frames. Changes the text; the result points into it. */
static inline figures figures_of(char *text) {
    figures f = { NULL, 0, 0 };
    int room = 1, is_metric = 0;
    report_break(text);
    for (const char *at = text; *at; at++)
        room += *at == '\n';
    f.list = (figure *)calloc((size_t)room, sizeof *f.list);
    for (char *line = text, *next; f.list && line; line = next) {
        char *name, *end;
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        name = line + strspn(line, " ");
        end = name[0] == '"' ? strstr(name, "\": ") : NULL;
        f.frames += strncmp(name, "\"frameNum\"", 10) == 0;
        if (is_metric && end) {
            *end = 0;
            end[3 + strcspn(end + 3, ",")] = 0;
            f.list[f.count].frame = f.frames - 1;
            f.list[f.count].name = name + 1;
            f.list[f.count++].value = end + 3;
        }
        is_metric = end ? is_metric || strncmp(name, "\"metrics\"", 9) == 0 : name[0] == '}' ? 0 : is_metric;
    }
    return f;
}

static inline const char *figures_find(const figures *f, const figure *like) {
    for (int i = 0; i < f->count; i++)
        if (f->list[i].frame == like->frame && strcmp(f->list[i].name, like->name) == 0)
            return f->list[i].value;
    return NULL;
}

/* Appends the columns of `a` that differ in `b` or that `b` lacks. */
static inline void figures_compare(const figures *a, const figures *b, char *columns, size_t size, char *first,
                                   size_t first_size, int is_second) {
    for (int i = 0; i < a->count; i++) {
        const char *other = figures_find(b, &a->list[i]);
        if (!other || (!is_second && strcmp(other, a->list[i].value) != 0)) {
            if (!first[0]) {
                snprintf(first, first_size, "frame %d %s: libvmaf %s, ours %s", a->list[i].frame, a->list[i].name,
                         is_second ? "none" : a->list[i].value,
                         is_second ? a->list[i].value
                         : other   ? other
                                   : "none");
            }
            tally_column(columns, size, a->list[i].name);
        }
    }
}

/* Writes the names of the columns in which two JSON reports differ, or "" if there are none. Changes the texts. */
static inline void report_columns(char *theirs, char *ours, char *columns, size_t size, char *first,
                                  size_t first_size) {
    figures a = figures_of(theirs), b = figures_of(ours);
    columns[0] = first[0] = 0;
    if (a.frames != b.frames) {
        snprintf(columns, size, " number of frames ");
        snprintf(first, first_size, "libvmaf has %d, ours %d", a.frames, b.frames);
    } else {
        figures_compare(&a, &b, columns, size, first, first_size, 0);
        figures_compare(&b, &a, columns, size, first, first_size, 1);
        for (int i = 0; !columns[0] && i < a.count && i < b.count; i++) {
            if (strcmp(a.list[i].name, b.list[i].name) != 0) {
                snprintf(columns, size, " order of columns in clips of %s frame%s ", a.frames == 1 ? "one" : "several",
                         a.frames == 1 ? "" : "s");
                snprintf(first, first_size, "libvmaf has %s where ours has %s", a.list[i].name, b.list[i].name);
            }
        }
    }
    free(a.list);
    free(b.list);
}

/* ---- lines ---- */

static int report_by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the lines of a text in alphabetical order, without commas at their ends. The caller frees the text. */
static inline char *report_sorted(const char *text) {
    const size_t size = strlen(text) + 2;
    char *copy = (char *)malloc(size), *out = (char *)calloc(1, size), **lines;
    size_t count = 0, length = 0, room = 1;
    for (const char *at = text; *at; at++)
        room += *at == '\n' || *at == ',';
    lines = (char **)malloc(room * sizeof *lines);
    if (copy && out && lines) {
        memcpy(copy, text, size - 1);
        report_break(copy);
        for (char *line = strtok(copy, "\n"); line; line = strtok(NULL, "\n")) {
            if (line[0] && line[strlen(line) - 1] == ',')
                line[strlen(line) - 1] = 0;
            lines[count++] = line;
        }
        qsort(lines, count, sizeof *lines, report_by_text);
        for (size_t i = 0; i < count; i++)
            length += (size_t)snprintf(out + length, size - length, "%s\n", lines[i]);
    }
    free(lines);
    free(copy);
    return out;
}

/* Writes the first line in which two texts differ. */
static inline void report_lines(const char *theirs, const char *ours, char *out, size_t size) {
    const char *a = theirs, *b = ours;
    for (size_t i = 0; theirs[i] && theirs[i] == ours[i]; i++) {
        if (theirs[i] == '\n') {
            a = theirs + i + 1;
            b = ours + i + 1;
        }
    }
    snprintf(out, size, "libvmaf `%.*s`, ours `%.*s`", (int)strcspn(a, "\n") > 200 ? 200 : (int)strcspn(a, "\n"), a,
             (int)strcspn(b, "\n") > 200 ? 200 : (int)strcspn(b, "\n"), b);
}

#endif /* FUZZ_REPORT_H */
