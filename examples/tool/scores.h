/* scores.h: the figures of a clip in memory, whoever scored them, and what the library pools of them, to the same
 * bits. */
#ifndef SCORES_H
#define SCORES_H

#include <stdint.h>

typedef struct scores {
    int columns;
    int64_t rows, room;
    double *values;   /* row after row */
    uint8_t *has_row; /* 0: that frame has no score */
} scores;

void scores_free(scores *s);

/* values may be NULL where there is no row. 0: no memory. */
int scores_append(scores *s, const double *values, int has_row);

double scores_value(const scores *s, int64_t row, int column);

typedef struct scores_total {
    int64_t count;
    double mean, harmonic_mean, min, max;
} scores_total;

/* Of the rows from `first` to before `end`; in their order, since sums are rounded. */
scores_total scores_pool(const scores *s, int column, int64_t first, int64_t end);

/* A column in rising order, *count of them. To be freed; NULL: no memory. */
double *scores_sorted(const scores *s, int column, int64_t *count);

/* Linear between ranks; there is at least one value. */
double scores_percentile(const double *sorted, int64_t count, double p);

#endif /* SCORES_H */
