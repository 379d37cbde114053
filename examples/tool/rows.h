/* rows.h: reads and writes files of scored rows, the files of --state, --segment and --join.
 *
 * Each line is a JSON array of a value and the CRC-32 of the text before the CRC. In the first line, the value is an
 * object that describes the run. In the line of a row, the value is a string: the bits of the doubles in hexadecimal.
 * The last line marks the file as complete. A truncated or damaged line and all lines after it are ignored, so --state
 * computes these rows again.
 */
#ifndef ROWS_H
#define ROWS_H

#include "scores.h"

#include <stdint.h>
#include <stdio.h>

enum { ROWS_VIDEOS = 16, ROWS_SCORES = 16, ROWS_COLUMNS = 4096, ROWS_HEADER = 1 << 20 };

typedef struct rows_file {
    uint64_t run;               /* hash of the videos, models and options that determine the scores */
    uint64_t files;             /* hash of the modification times of the videos; 0 without --state */
    int64_t segment, segments;  /* segment number, from 1, and number of segments */
    int64_t first, step, total; /* first pair of the segment; pairs per row; pairs of the clip, negative if unknown */
    int width, height;
    int videos, columns, shown;           /* shown: number of columns in reports */
    int score_count, scores[ROWS_SCORES]; /* columns of the model scores */
    int names_backend;
    char backend[32];
    char **names; /* names of the columns */
    int *single;  /* order of the columns in reports of one pair, see vmafgpu_report_column() */
    scores tables[ROWS_VIDEOS];
    int is_whole;   /* the last line is present; the next three fields come from it */
    int64_t pairs;  /* number of pairs in the segment */
    int is_intact;  /* 0 if a video was damaged */
    double seconds; /* time that scoring took */
    long end;       /* size of the valid lines in bytes */
    char error[256];
} rows_file;

void rows_free(rows_file *r);

/* Writes a row of the tables. Returns 0 if there is not enough memory. Write errors are reported by ferror(). */
int rows_put(FILE *out, const rows_file *r, int64_t row);

/* Writes the last line. */
void rows_put_end(FILE *out, const rows_file *r);

/* Writes the first line. Names must not contain quotes or backslashes. Returns 0 if there is not enough memory. */
int rows_put_header(FILE *out, const rows_file *r);

/* Reads all valid rows. Returns 0 if the file has a different format; `error` is then a message without its subject.
 * rows_free() must be called even on failure. */
int rows_read(rows_file *r, FILE *in);

#endif /* ROWS_H */
