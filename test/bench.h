/* Shared by the benchmarks: the clock, quantiles, and KEY=VALUE arguments. Needs a POSIX system. */
#ifndef BENCH_H
#define BENCH_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double now(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

static inline int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the p-quantile, with p from 0 to 1. Sorts the values. */
static inline double quantile(double *values, int count, double p) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[(int)(p * (count - 1) + 0.5)];
}

/* Returns the median. Sorts the values. */
static inline double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (values[count / 2] + values[(count - 1) / 2]) / 2;
}

/* Returns the value of `word` if it is KEY=VALUE, otherwise NULL. */
static inline const char *value_of(const char *word, const char *key) {
    const size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

#endif /* BENCH_H */
