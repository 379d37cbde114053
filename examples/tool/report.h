/* report.h: writes the report files of libvmaf, byte for byte. Used by the tool and by the libvmaf replacement. */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>
#include <stdio.h>

/* libvmaf.c includes report.c and makes its functions static. */
#ifndef REPORT_API
#define REPORT_API
#endif

enum {
    REPORT_DIGITS_LEGACY = -1, /* the same decimals as libvmaf */
    REPORT_DIGITS_MAX = -2     /* enough digits to restore the double */
};

typedef enum report_format { REPORT_XML, REPORT_JSON, REPORT_CSV, REPORT_SUB, REPORT_FORMATS } report_format;

/* The contents of a report. `value` and `pooled` return whether the value exists, and write it only then. */
typedef struct report {
    FILE *out;
    const char *version;
    const char *backend; /* NULL for a report without the backend, as in libvmaf */
    double fps;
    int width, height;
    int digits; /* number of decimals, or REPORT_DIGITS_... */
    int columns, poolings, aggregates;
    int64_t frames;                             /* frame indices are less than this */
    int64_t step;                               /* frame indices are multiples of this */
    int64_t (*next)(void *user, int64_t frame); /* first index >= frame that may have values; NULL if all may */
    void *user;                                 /* argument of the functions */
    int (*column_at)(void *user, int place);    /* column to write at a place; NULL to keep the order */
    const char *(*column_name)(void *user, int column);
    int (*value)(void *user, int64_t frame, int column, double *value);
    const char *(*pooling_name)(void *user, int pooling);
    int (*pooled)(void *user, int column, int pooling, double *value);
    const char *(*aggregate_name)(void *user, int aggregate);
    double (*aggregate)(void *user, int aggregate);
} report;

/* Writes a number with `digits` decimals, or REPORT_DIGITS_... */
REPORT_API void report_put_number(FILE *out, int digits, double number);
/* Writes a complete report to r->out. */
REPORT_API void report_write(const report *r, report_format format);

#endif /* REPORT_H */
