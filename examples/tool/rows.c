/* rows.c: see rows.h. */
#include "rows.h"
#include "png.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rows_fail(rows_file *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error, sizeof r->error, format, arguments);
    va_end(arguments);
    return 0;
}

void rows_free(rows_file *r) {
    for (int i = 0; r->names && i < r->columns; i++)
        free(r->names[i]);
    free((void *)r->names);
    free(r->single);
    for (int i = 0; i < ROWS_VIDEOS; i++)
        scores_free(&r->tables[i]);
    memset(r, 0, sizeof *r);
}

/* ---- lines ---- */

/* Writes a line that ends with the CRC-32 of `text`. */
static void rows_put_line(FILE *out, const char *text, size_t length) {
    fwrite(text, 1, length, out);
    fprintf(out, ",\"%08x\"]\n", (unsigned)png_crc((const unsigned char *)text, length));
}

/* Checks the CRC of a line, which includes its line feed. Returns the length of the text before the CRC, or 0 if the
 * CRC is wrong. */
static size_t rows_check_line(const char *line, size_t length) {
    char sum[16];
    if (length < 13 || line[length - 1] != '\n')
        return 0;
    length -= 13; /* the length of ,"01234567"] and the line feed */
    snprintf(sum, sizeof sum, ",\"%08x\"]\n", (unsigned)png_crc((const unsigned char *)line, length));
    return memcmp(line + length, sum, 13) == 0 ? length : 0;
}

static void rows_put_bits(char *to, uint64_t bits) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++)
        to[i] = digits[bits >> (60 - 4 * i) & 15];
}

static int rows_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses 16 hexadecimal digits. Returns 0 if there are fewer. */
static int rows_get_bits(const char *from, uint64_t *bits) {
    *bits = 0;
    for (int i = 0; i < 16; i++) {
        int digit = rows_digit(from[i]);
        if (digit < 0)
            return 0;
        *bits = *bits << 4 | (uint64_t)digit;
    }
    return 1;
}

/* Returns the length of the string of a row. For each video, the string contains a digit (1 if the frame has a score)
 * and then the doubles. */
static size_t rows_text_size(const rows_file *r) {
    return (size_t)r->videos * (1 + 16 * (size_t)r->columns);
}

int rows_put(FILE *out, const rows_file *r, int64_t row) {
    char *line = (char *)malloc(rows_text_size(r) + 4), *at = line;
    if (!line)
        return 0;
    *at++ = '[';
    *at++ = '"';
    for (int i = 0; i < r->videos; i++) {
        *at++ = (char)('0' + r->tables[i].has_row[row]);
        for (int c = 0; c < r->columns; c++, at += 16) {
            double value = scores_value(&r->tables[i], row, c);
            uint64_t bits;
            memcpy(&bits, &value, sizeof bits);
            rows_put_bits(at, bits);
        }
    }
    *at++ = '"';
    rows_put_line(out, line, (size_t)(at - line));
    free(line);
    return 1;
}

void rows_put_end(FILE *out, const rows_file *r) {
    char line[128];
    int length = snprintf(line, sizeof line, "[{\"pairs\":%lld,\"intact\":%d,\"seconds\":%.17g}", (long long)r->pairs,
                          r->is_intact, r->seconds);
    rows_put_line(out, line, (size_t)length);
}

int rows_put_header(FILE *out, const rows_file *r) {
    size_t room = 1024, used;
    for (int c = 0; c < r->columns; c++)
        room += strlen(r->names[c]) + 16;
    char *line = (char *)malloc(room);
    if (!line)
        return 0;
    used = (size_t)snprintf(
        line, room,
        "[{\"vmafgpu_rows\":2,\"run\":\"%08x%08x\",\"files\":\"%08x%08x\",\"segment\":%lld,\"segments\":%lld,"
        "\"first\":%lld,\"step\":%lld,\"total\":%lld,\"width\":%d,\"height\":%d,\"videos\":%d,\"columns\":%d,\"shown\":"
        "%d,"
        "\"names_backend\":%d,\"backend\":\"%s\",\"scores\":[",
        (unsigned)(r->run >> 32), (unsigned)(r->run & 0xffffffffu), (unsigned)(r->files >> 32),
        (unsigned)(r->files & 0xffffffffu), (long long)r->segment, (long long)r->segments, (long long)r->first,
        (long long)r->step, (long long)r->total, r->width, r->height, r->videos, r->columns, r->shown, r->names_backend,
        r->backend);
    for (int i = 0; i < r->score_count; i++)
        used += (size_t)snprintf(line + used, room - used, "%s%d", i ? "," : "", r->scores[i]);
    used += (size_t)snprintf(line + used, room - used, "],\"names\":[");
    for (int c = 0; c < r->columns; c++)
        used += (size_t)snprintf(line + used, room - used, "%s\"%s\"", c ? "," : "", r->names[c]);
    used += (size_t)snprintf(line + used, room - used, "],\"single\":[");
    for (int c = 0; c < r->columns; c++)
        used += (size_t)snprintf(line + used, room - used, "%s%d", c ? "," : "", r->single[c]);
    used += (size_t)snprintf(line + used, room - used, "]}");
    rows_put_line(out, line, used);
    free(line);
    return 1;
}

/* ---- reading ---- */

/* Returns the position of the value of a key, or NULL. No string in these files contains a key. */
static const char *rows_find(const char *line, const char *key) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

static int64_t rows_number(const char *line, const char *key) {
    const char *at = rows_find(line, key);
    return at ? strtoll(at, NULL, 10) : -1;
}

static uint64_t rows_hash(const char *line, const char *key) {
    const char *at = rows_find(line, key);
    uint64_t bits = 0;
    return at && *at == '"' && rows_get_bits(at + 1, &bits) ? bits : 0;
}

/* Reads the order of the columns. Returns 0 if it is invalid. */
static int rows_read_order(rows_file *r, const char *at) {
    r->single = (int *)calloc((size_t)r->columns, sizeof *r->single);
    for (int c = 0; c < r->columns && r->single; c++) {
        char *end;
        long column = *at == (c ? ',' : '[') && at[1] >= '0' && at[1] <= '9' ? strtol(at + 1, &end, 10) : -1;
        if (column < 0 || column >= r->columns)
            return 0;
        r->single[c] = (int)column;
        at = end;
    }
    return r->single != NULL;
}

static int rows_read_header(rows_file *r, const char *line) {
    if (rows_number(line, "vmafgpu_rows") != 2)
        return rows_fail(r, "is not a state or segment of this program");
    int64_t videos = rows_number(line, "videos"), columns = rows_number(line, "columns"),
            shown = rows_number(line, "shown");
    r->run = rows_hash(line, "run");
    r->files = rows_hash(line, "files");
    r->segment = rows_number(line, "segment");
    r->segments = rows_number(line, "segments");
    r->first = rows_number(line, "first");
    r->step = rows_number(line, "step");
    r->total = rows_number(line, "total");
    r->width = (int)rows_number(line, "width");
    r->height = (int)rows_number(line, "height");
    r->names_backend = (int)rows_number(line, "names_backend");
    const char *backend = rows_find(line, "backend"), *scores = rows_find(line, "scores"),
               *names = rows_find(line, "names"), *single = rows_find(line, "single");
    if (videos < 1 || videos > ROWS_VIDEOS || columns < 1 || columns > ROWS_COLUMNS || shown < 0 || shown > columns ||
        r->first < 0 || r->step < 1 || r->segment < 1 || r->segments < r->segment || !backend || !scores || !names ||
        !single) {
        return rows_fail(r, "has an invalid first line");
    }
    r->videos = (int)videos;
    r->columns = (int)columns;
    r->shown = (int)shown;
    snprintf(r->backend, sizeof r->backend, "%.*s", (int)strcspn(backend + 1, "\""), backend + 1);
    for (scores++; *scores >= '0' && *scores <= '9' && r->score_count < ROWS_SCORES; scores += *scores == ',') {
        char *end;
        r->scores[r->score_count++] = (int)strtol(scores, &end, 10);
        scores = end;
    }
    r->names = (char **)calloc((size_t)columns, sizeof *r->names);
    names++;
    for (int c = 0; c < r->columns && r->names; c++) {
        size_t length = *names == '"' ? strcspn(names + 1, "\"") : 0;
        r->names[c] = (char *)malloc(length + 1);
        if (!r->names[c] || length == 0 || names[length + 1] != '"')
            return rows_fail(r, "has an invalid first line");
        memcpy(r->names[c], names + 1, length);
        r->names[c][length] = '\0';
        names += length + 2 + (names[length + 2] == ',');
    }
    if (!rows_read_order(r, single))
        return rows_fail(r, "has an invalid first line");
    for (int i = 0; i < r->videos; i++)
        r->tables[i].columns = r->columns;
    for (int i = 0; i < r->score_count; i++)
        if (r->scores[i] < 0 || r->scores[i] >= r->columns)
            return rows_fail(r, "has an invalid first line");
    return r->names != NULL || rows_fail(r, "needs more memory than is available");
}

static int rows_read_row(rows_file *r, const char *line, size_t length, double *values) {
    if (length != rows_text_size(r) + 3 || line[1] != '"')
        return 0;
    const char *at = line + 2;
    for (int i = 0; i < r->videos; i++) {
        int mark = *at++ == '1';
        for (int c = 0; c < r->columns; c++, at += 16) {
            uint64_t bits;
            if (!rows_get_bits(at, &bits))
                return 0;
            memcpy(&values[c], &bits, sizeof bits);
        }
        if (!scores_append(&r->tables[i], values, mark))
            return 0;
    }
    return 1;
}

int rows_read(rows_file *r, FILE *in) {
    size_t room = ROWS_HEADER, length;
    char *line = (char *)malloc(room);
    double *values = NULL;
    int lines = 0, ok = 1;
    memset(r, 0, sizeof *r);
    while (line && ok && !r->is_whole && fgets(line, (int)room, in)) {
        length = strlen(line);
        size_t text = rows_check_line(line, length);
        if (text == 0)
            break;
        line[text] = '\0';
        if (lines == 0) {
            ok = rows_read_header(r, line);
            if (ok && rows_text_size(r) + 64 > room) {
                room = rows_text_size(r) + 64;
                char *larger = (char *)realloc(line, room);
                ok = larger != NULL;
                line = larger ? larger : line;
            }
            values = (double *)malloc(sizeof *values * ((size_t)r->columns + 1));
            ok = ok && values;
        } else if (line[1] == '{') {
            r->pairs = rows_number(line, "pairs");
            r->is_intact = rows_number(line, "intact") == 1;
            const char *seconds = rows_find(line, "seconds");
            r->seconds = seconds ? atof(seconds) : 0;
            r->is_whole = 1;
        } else if (!rows_read_row(r, line, text, values)) {
            break;
        }
        lines++;
        r->end += (long)length;
    }
    free(values);
    free(line);
    return ok && (lines > 0 || rows_fail(r, "is not a state or segment of this program"));
}
