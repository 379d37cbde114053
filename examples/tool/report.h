/* report.h: libvmaf's report files, byte for byte, from whoever has the figures: the tool and the library. */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>
#include <stdio.h>

/* libvmaf.c, which is a library of one file, includes report.c and makes its functions static. */
#ifndef REPORT_API
#define REPORT_API
#endif

enum {
    REPORT_DIGITS_LEGACY = -1, /* as libvmaf prints numbers */
    REPORT_DIGITS_MAX = -2     /* every digit that a double needs */
};

typedef enum report_format { REPORT_XML, REPORT_JSON, REPORT_CSV, REPORT_SUB, REPORT_FORMATS } report_format;

/* Functions that say whether there is such a thing write it to `value` only if there is. */
typedef struct report {
    FILE *out;
    const char *version;
    const char *backend; /* NULL: it is not named, as in libvmaf */
    double fps;
    int width, height;
    int digits; /* after the point, or REPORT_DIGITS_... */
    int columns, poolings, aggregates;
    int64_t frames;                             /* indices are below that; ... */
    int64_t step;                               /* ...and multiples of this */
    int64_t (*next)(void *user, int64_t frame); /* first index from `frame` on that may have values; NULL: each may */
    void *user;                                 /* what the functions get */
    int (*column_at)(void *user, int place);    /* NULL: columns are written in their own order */
    const char *(*column_name)(void *user, int column);
    int (*value)(void *user, int64_t frame, int column, double *value);
    const char *(*pooling_name)(void *user, int pooling);
    int (*pooled)(void *user, int column, int pooling, double *value);
    const char *(*aggregate_name)(void *user, int aggregate);
    double (*aggregate)(void *user, int aggregate);
} report;

/* Writes a number with so many digits, or REPORT_DIGITS_... */
REPORT_API void report_put_number(FILE *out, int digits, double number);
/* Writes a whole report to r->out. */
REPORT_API void report_write(const report *r, report_format format);

#endif /* REPORT_H */
