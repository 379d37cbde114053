/* scores.c: see scores.h. */
#include "scores.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void scores_free(scores *s) {
    free(s->values);
    free(s->has_row);
    memset(s, 0, sizeof *s);
}

int scores_append(scores *s, const double *values, int has_row) {
    if (s->rows == s->room) {
        int64_t room = s->room ? 2 * s->room : 256;
        double *larger =
            (double *)realloc(s->values, sizeof *larger * (size_t)room * (size_t)(s->columns ? s->columns : 1));
        s->values = larger ? larger : s->values;
        uint8_t *marks = larger ? (uint8_t *)realloc(s->has_row, (size_t)room) : NULL;
        s->has_row = marks ? marks : s->has_row;
        if (!marks)
            return 0;
        s->room = room;
    }
    if (values)
        memcpy(s->values + s->rows * s->columns, values, sizeof *values * (size_t)s->columns);
    else
        memset(s->values + s->rows * s->columns, 0, sizeof *values * (size_t)s->columns);
    s->has_row[s->rows++] = has_row != 0;
    return 1;
}

double scores_value(const scores *s, int64_t row, int column) {
    return s->values[row * s->columns + column];
}

scores_total scores_pool(const scores *s, int column, int64_t first, int64_t end) {
    scores_total t = { 0, 0, 0, 0, 0 };
    double sum = 0, inverse_sum = 0;
    for (int64_t i = first; i < end; i++) {
        double value = scores_value(s, i, column);
        if (s->has_row[i]) {
            sum += value;
            inverse_sum += 1. / (value + 1.);
            t.min = t.count == 0 || value < t.min ? value : t.min;
            t.max = t.count == 0 || value > t.max ? value : t.max;
            t.count++;
        }
    }
    t.mean = sum / (double)t.count;
    t.harmonic_mean = (double)t.count / inverse_sum - 1.0;
    return t;
}

static int scores_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double *scores_sorted(const scores *s, int column, int64_t *count) {
    double *sorted = (double *)malloc(sizeof *sorted * (size_t)(s->rows + 1));
    *count = 0;
    for (int64_t i = 0; sorted && i < s->rows; i++)
        if (s->has_row[i])
            sorted[(*count)++] = scores_value(s, i, column);
    if (sorted)
        qsort(sorted, (size_t)*count, sizeof *sorted, scores_compare);
    return sorted;
}

double scores_percentile(const double *sorted, int64_t count, double p) {
    double rank = p / 100 * (double)(count - 1);
    int64_t below = (int64_t)rank, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (sorted[above] - sorted[below]) * (rank - (double)below);
}
