/* html.c: see html.h. */
#include "html.h"
#include "html_page.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a JSON string that is safe inside HTML. Bytes that are not UTF-8 become U+FFFD. */
static void html_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        int length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
        for (int i = 1; i < length; i++)
            length = (c[i] & 0xc0) == 0x80 ? length : 0;
        if (length == 0) {
            fputs("\\ufffd", out);
        } else if (*c < 0x20 || *c == 0x7f || strchr("<>&\"\\", *c)) {
            fprintf(out, "\\u%04x", *c);
        } else {
            fwrite(c, 1, (size_t)length, out);
            c += length - 1;
        }
    }
    fputc('"', out);
}

/* Writes a number as JSON, or null if it is not finite. */
static void html_number(FILE *out, double value) {
    if (value - value == 0)
        fprintf(out, "%.17g", value);
    else
        fputs("null", out);
}

/* Writes bytes as a JSON string in base64. */
static void html_base64(FILE *out, const unsigned char *data, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    fputc('"', out);
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        unsigned value =
            (unsigned)data[i] << 16 | (left > 1 ? (unsigned)data[i + 1] << 8 : 0) | (left > 2 ? data[i + 2] : 0);
        fputc(digits[value >> 18], out);
        fputc(digits[value >> 12 & 63], out);
        fputc(left > 1 ? digits[value >> 6 & 63] : '=', out);
        fputc(left > 2 ? digits[value & 63] : '=', out);
    }
    fputc('"', out);
}

/* Stores a 32-bit float in little-endian order. */
static void html_store_float(unsigned char *to, double value) {
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    for (int k = 0; k < 4; k++)
        to[k] = (unsigned char)(bits >> 8 * k);
}

/* Writes the minimum (side 0) or maximum (side 1) of each group of `every` rows of a column. */
static void html_curve(FILE *out, const scores *s, int column, int64_t every, int side) {
    int64_t count = (s->rows + every - 1) / every;
    unsigned char *bytes = (unsigned char *)malloc((size_t)count * 4 + 1);
    for (int64_t i = 0; bytes && i < count; i++) {
        int64_t end = (i + 1) * every < s->rows ? (i + 1) * every : s->rows;
        scores_total t = scores_pool(s, column, i * every, end);
        html_store_float(bytes + 4 * i, t.count ? (side ? t.max : t.min) : NAN);
    }
    html_base64(out, bytes, bytes ? (size_t)count * 4 : 0);
    free(bytes);
}

/* Returns how many rows one point of a curve represents. The column that is shown first gets half of HTML_CURVES. */
static int64_t html_every(const html_page *p, const scores *s, int column, int first) {
    int64_t points = HTML_CURVES / 8 / p->video_count; /* a point is a minimum and a maximum */
    points = column == first ? points / 2 : points / 2 / (p->columns > 1 ? p->columns - 1 : 1);
    points = points > 0 ? points : 1;
    return s->rows <= 2 * points ? 1 : (s->rows + points - 1) / points;
}

/* Writes the curves of all columns. */
static void html_series(const html_page *p, const scores *s, int first) {
    fputs("\"series\":[", p->out);
    for (int c = 0; c < p->columns; c++) {
        int64_t every = html_every(p, s, c, first);
        fprintf(p->out, "%s{\"every\":%lld,\"low\":", c ? "," : "", (long long)every);
        html_curve(p->out, s, c, every, 0);
        if (every > 1) {
            fputs(",\"high\":", p->out);
            html_curve(p->out, s, c, every, 1);
        }
        fputs("}", p->out);
    }
    fputs("]", p->out);
}

/* Writes the pooled values of all columns. */
static void html_pooled(const html_page *p, const scores *s) {
    static const struct {
        const char *name;
        double percent;
    } marks[] = { { "p1", 1 }, { "p5", 5 }, { "p10", 10 }, { "median", 50 } };
    fputs("\"pooled\":[", p->out);
    for (int c = 0; c < p->columns; c++) {
        scores_total t = scores_pool(s, c, 0, s->rows);
        int64_t count;
        double *sorted = scores_sorted(s, c, &count);
        fprintf(p->out, "%s{\"mean\":", c ? "," : "");
        html_number(p->out, t.mean);
        fputs(",\"harmonic_mean\":", p->out);
        html_number(p->out, t.harmonic_mean);
        fputs(",\"min\":", p->out);
        html_number(p->out, t.min);
        fputs(",\"max\":", p->out);
        html_number(p->out, t.max);
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
            fprintf(p->out, ",\"%s\":", marks[i].name);
            html_number(p->out, sorted && count ? scores_percentile(sorted, count, marks[i].percent) : NAN);
        }
        fputs("}", p->out);
        free(sorted);
    }
    fputs("]", p->out);
}

/* Returns the number of rows with at least this value. */
static int64_t html_count_above(const scores *s, int column, double mark) {
    int64_t count = 0;
    for (int64_t i = 0; i < s->rows; i++)
        count += s->has_row[i] && scores_value(s, i, column) >= mark;
    return count;
}

/* Returns the range of the histograms, which is the same for all videos: 0 to 100 for scores. */
static void html_range(const html_page *p, int column, double *low, double *high) {
    *low = *high = 0;
    for (int i = 0; i < p->video_count; i++) {
        scores_total t = scores_pool(&p->videos[i].figures, column, 0, p->videos[i].figures.rows);
        *low = i == 0 || t.min < *low ? t.min : *low;
        *high = i == 0 || t.max > *high ? t.max : *high;
    }
    if (p->score_count > 0 && *low >= 0 && *high <= 100) {
        *low = 0;
        *high = 100;
    }
    *high = *high > *low ? *high : *low + 1;
}

/* Writes the histogram of a column. */
static void html_histogram(const html_page *p, const scores *s, int column) {
    int64_t counts[HTML_BINS] = { 0 };
    double low, high;
    html_range(p, column, &low, &high);
    for (int64_t i = 0; i < s->rows; i++) {
        double at = (scores_value(s, i, column) - low) / (high - low) * HTML_BINS;
        if (s->has_row[i] && at - at == 0)
            counts[at < 0 ? 0 : at >= HTML_BINS ? HTML_BINS - 1 : (int)at]++;
    }
    fputs("\"histogram\":{\"low\":", p->out);
    html_number(p->out, low);
    fputs(",\"high\":", p->out);
    html_number(p->out, high);
    fputs(",\"counts\":[", p->out);
    for (int i = 0; i < HTML_BINS; i++)
        fprintf(p->out, "%s%lld", i ? "," : "", (long long)counts[i]);
    fputs("]}", p->out);
}

/* Writes the mean of each second, or of each 25 rows if the frame rate is unknown. If that would result in more than
 * HTML_BARS bars, each bar covers a longer time, or 10, 100, ... times as many rows. */
static void html_bars(const html_page *p, const scores *s, int column) {
    static const struct {
        const char *name;
        int seconds;
    } units[] = { { "second", 1 },       { "10 seconds", 10 }, { "minute", 60 },
                  { "10 minutes", 600 }, { "hour", 3600 },     { "day", 86400 } };
    int64_t every = 25;
    char name[48] = "";
    for (size_t i = 0; p->rate_num && i < sizeof units / sizeof units[0]; i++) {
        every = (int64_t)((double)p->rate_num * units[i].seconds / p->rate_den / (double)p->step + 0.5);
        every = every > 0 ? every : 1;
        snprintf(name, sizeof name, "%s", units[i].name);
        if (s->rows / every <= HTML_BARS)
            break;
    }
    while (!p->rate_num && s->rows / every > HTML_BARS)
        every *= 10;
    if (!p->rate_num)
        snprintf(name, sizeof name, p->step > 1 ? "%lld scored frames" : "%lld frames", (long long)every);
    int64_t count = (s->rows + every - 1) / every;
    unsigned char *bytes = (unsigned char *)malloc((size_t)count * 4 + 1);
    for (int64_t i = 0; bytes && i < count; i++) {
        scores_total t = scores_pool(s, column, i * every, (i + 1) * every < s->rows ? (i + 1) * every : s->rows);
        html_store_float(bytes + 4 * i, t.count ? t.mean : 0);
    }
    fprintf(p->out, "\"bars\":{\"name\":\"%s\",\"rows\":%lld,\"values\":", name, (long long)every);
    html_base64(p->out, bytes, bytes ? (size_t)count * 4 : 0);
    fputs("}", p->out);
    free(bytes);
}

/* Writes the rows and the mean of each shot. If there are more than HTML_SHOTS shots, the list is empty. */
static void html_shots(const html_page *p, const scores *s, int column) {
    fputs("\"shots\":[", p->out);
    for (int64_t i = 0; i < p->shot_count && p->shot_count <= HTML_SHOTS; i++) {
        int64_t end = p->shots[i].end < s->rows ? p->shots[i].end : s->rows;
        fprintf(p->out, "%s[%lld,%lld,", i ? "," : "", (long long)p->shots[i].first, (long long)end);
        html_number(p->out, scores_pool(s, column, p->shots[i].first, end).mean);
        fputs("]", p->out);
    }
    fputs("]", p->out);
}

int html_find_worst(const scores *s, int column, int most, int64_t apart, html_frame *out) {
    int count = 0;
    for (; count < most; count++) {
        int64_t worst = -1;
        for (int64_t i = 0; i < s->rows; i++) {
            int is_free = s->has_row[i] != 0;
            for (int k = 0; k < count && is_free; k++)
                is_free = i - out[k].row >= apart || out[k].row - i >= apart;
            if (is_free && (worst < 0 || scores_value(s, i, column) < scores_value(s, worst, column)))
                worst = i;
        }
        if (worst < 0)
            break;
        memset(&out[count], 0, sizeof out[count]);
        out[count].row = worst;
        out[count].score = scores_value(s, worst, column);
    }
    return count;
}

/* Writes the worst frames with their pictures. */
static void html_worst(const html_page *p, const html_video *v) {
    fputs("\"worst\":[", p->out);
    for (int i = 0; i < v->worst_count; i++) {
        const html_frame *f = &v->worst[i];
        fprintf(p->out, "%s{\"frame\":%lld,\"score\":", i ? "," : "", (long long)(f->row * p->step));
        html_number(p->out, f->score);
        fputs(",\"pictures\":[", p->out);
        for (int k = 0; k < HTML_PICTURES && f->pictures[k].size > 0 && !f->pictures[k].failed; k++) {
            fputs(k ? "," : "", p->out);
            html_base64(p->out, f->pictures[k].data, f->pictures[k].size);
        }
        fprintf(p->out, "],\"range\":\"%s\"}", f->slopes_range);
    }
    fputs("]", p->out);
}

/* Writes a list of strings. */
static void html_texts(FILE *out, const char *key, const char *const *texts, int count) {
    fprintf(out, "\"%s\":[", key);
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", out);
        html_text(out, texts[i]);
    }
    fputs("],\n", out);
}

/* Writes all data of a distorted video. `first` is the column of the main score. */
static void html_video_json(const html_page *p, const html_video *v, int first) {
    static const int marks[] = { 95, 90, 80, 70, 60 };
    const scores *s = &v->figures;
    scores_total t = scores_pool(s, first, 0, s->rows);
    fputs("{\"name\":", p->out);
    html_text(p->out, v->name);
    fprintf(p->out, ",\"rows\":%lld,\"scored\":%lld,\n", (long long)s->rows, (long long)t.count);
    html_pooled(p, s);
    fputs(",\n\"above\":[", p->out);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        fprintf(p->out, "%s[%d,", i ? "," : "", marks[i]);
        html_number(p->out, (double)html_count_above(s, first, marks[i]) / (double)(t.count ? t.count : 1));
        fputs("]", p->out);
    }
    fputs("],\n", p->out);
    html_histogram(p, s, first);
    fputs(",\n", p->out);
    html_bars(p, s, first);
    fputs(",\n", p->out);
    html_shots(p, s, first);
    fputs(",\n", p->out);
    html_series(p, s, first);
    fputs(",\n", p->out);
    html_worst(p, v);
    fputs("}", p->out);
}

void html_write(const html_page *p) {
    FILE *out = p->out;
    for (size_t i = 0; i < sizeof html_page_head / sizeof html_page_head[0]; i++)
        fputs(html_page_head[i], out);
    fputs("{\"version\":", out);
    html_text(out, p->version);
    fputs(",\"libvmaf\":", out);
    html_text(out, p->libvmaf);
    fputs(",\"command\":", out);
    html_text(out, p->command);
    fputs(",\"backend\":", out);
    html_text(out, p->backend);
    fputs(",\"reference\":", out);
    html_text(out, p->reference);
    fprintf(out, ",\n\"width\":%d,\"height\":%d,\"step\":%lld,\"fps\":%.2f,\"rate\":", p->width, p->height,
            (long long)p->step, p->fps - p->fps == 0 ? p->fps : 0);
    fprintf(out, p->rate_num ? "[%d,%d],\n" : "null,\n", p->rate_num, p->rate_den);
    html_texts(out, "models", p->models, p->model_count);
    html_texts(out, "columns", p->names, p->columns);
    html_texts(out, "notes", p->notes, p->note_count);
    fputs("\"scores\":[", out);
    for (int i = 0; i < p->score_count; i++)
        fprintf(out, "%s%d", i ? "," : "", p->score_columns[i]);
    fputs("],\n\"inputs\":[", out);
    for (int i = 0; i < p->input_count; i++) {
        fputs(i ? ",{\"what\":" : "{\"what\":", out);
        html_text(out, p->inputs[i].what);
        fputs(",\"name\":", out);
        html_text(out, p->inputs[i].name);
        fprintf(out, ",\"size\":%llu", (unsigned long long)p->inputs[i].size);
        if (p->inputs[i].has_hash) {
            fprintf(out, ",\"hash\":\"%08x%08x\"", (unsigned)(p->inputs[i].hash >> 32),
                    (unsigned)(p->inputs[i].hash & 0xffffffffu));
        }
        fputs("}", out);
    }
    fputs("],\n\"videos\":[\n", out);
    for (int i = 0; i < p->video_count; i++) {
        fputs(i ? ",\n" : "", out);
        html_video_json(p, &p->videos[i], p->score_count ? p->score_columns[0] : 0);
    }
    fputs("\n]}\n", out);
    for (size_t i = 0; i < sizeof html_page_tail / sizeof html_page_tail[0]; i++)
        fputs(html_page_tail[i], out);
}

/* ---- shots ---- */

html_shot *html_find_shots(const float *distances, int64_t rows, int64_t *count) {
    enum { AROUND = 8 };
    html_shot *shots = (html_shot *)malloc(sizeof *shots * (size_t)(rows + 1));
    int64_t first = 0;
    *count = 0;
    for (int64_t i = 1; shots && i <= rows; i++) {
        float most = 0;
        for (int64_t k = i - AROUND; k <= i + AROUND && i < rows; k++)
            most = k >= 1 && k < rows && k != i && distances[k] > most ? distances[k] : most;
        /* At a cut, the RMS difference exceeds 6 eight-bit levels and is more than four times as large as any other
         * nearby, or it exceeds 24 levels and is more than twice as large. A distance is the square of the RMS
         * difference in units of 1/256 level. */
        if (i == rows || (distances[i] > 1536.0f * 1536.0f && distances[i] > 16 * most) ||
            (distances[i] > 6144.0f * 6144.0f && distances[i] > 4 * most)) {
            shots[*count].first = first;
            shots[(*count)++].end = i;
            first = i;
        }
    }
    return shots;
}
