/* scores.h: keeps the values of a clip in memory and pools them; the results are bit-identical to those of the
 * library. */
#ifndef SCORES_H
#define SCORES_H

#include <stdint.h>

typedef struct scores {
    int columns;
    int64_t rows, room;
    double *values;   /* rows * columns values, row by row */
    uint8_t *has_row; /* 0 if the frame has no score */
} scores;

void scores_free(scores *s);

/* Appends a row. `values` can be NULL if has_row is 0. Returns 0 if there is not enough memory. */
int scores_append(scores *s, const double *values, int has_row);

double scores_value(const scores *s, int64_t row, int column);

typedef struct scores_total {
    int64_t count;
    double mean, harmonic_mean, min, max;
} scores_total;

/* Pools the rows first .. end - 1 in ascending order. The order matters, because sums are rounded. */
scores_total scores_pool(const scores *s, int column, int64_t first, int64_t end);

/* Returns the *count values of a column in ascending order, or NULL if there is not enough memory. The caller must free
 * the array. */
double *scores_sorted(const scores *s, int column, int64_t *count);

/* Returns the percentile p, interpolated linearly between ranks. `count` must be at least 1. */
double scores_percentile(const double *sorted, int64_t count, double p);

#endif /* SCORES_H */
