/* rows.h: scored rows in a file that grows while they come: what --state goes on from, what --segment leaves and --join
 * reads.
 *
 * Lines of JSON. The first is an object that says what the rows are of; each row is an array of one text, the bits of
 * its doubles in hexadecimal, and its CRC-32; the last one says that all rows are there. A line that is cut off or
 * damaged, and what is behind it, was never written: whoever goes on from the file computes those rows again.
 */
#ifndef ROWS_H
#define ROWS_H

#include "scores.h"

#include <stdint.h>
#include <stdio.h>

enum { ROWS_VIDEOS = 16, ROWS_SCORES = 16, ROWS_COLUMNS = 4096, ROWS_HEADER = 1 << 20 };

typedef struct rows_file {
    uint64_t run;               /* a hash of everything that the figures depend on */
    uint64_t files;             /* of the files' dates; 0: nobody asks */
    int64_t segment, segments;  /* counted from 1 */
    int64_t first, step, total; /* its first pair; from row to row; pairs of the whole clip, below 0: unknown */
    int width, height;
    int videos, columns, shown; /* shown: columns of reports */
    int score_count, scores[ROWS_SCORES];
    int names_backend;
    char backend[32];
    char **names; /* of the columns */
    int *single;  /* the order of columns in reports of one pair, see vmafgpu_report_column() */
    scores tables[ROWS_VIDEOS];
    int is_whole;   /* the last line is there: */
    int64_t pairs;  /* of these rows; */
    int is_intact;  /* 0: a video was damaged */
    double seconds; /* that scoring took */
    long end;       /* bytes that are good */
    char error[256];
} rows_file;

void rows_free(rows_file *r);

/* Writes the row that the tables have at `row`. 0: no memory; a full disk shows in ferror(). */
int rows_put(FILE *out, const rows_file *r, int64_t row);

void rows_put_end(FILE *out, const rows_file *r);

/* Names hold no quotes and no backslashes. */
int rows_put_header(FILE *out, const rows_file *r);

/* Reads as many rows as are good. 0, with a sentence's end in `error`: it is no such file. rows_free() is due
 * whatever the result. */
int rows_read(rows_file *r, FILE *in);

#endif /* ROWS_H */
