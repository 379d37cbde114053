/* figures.h: the scores of one distorted video, from a context or from a file of rows, and the report of libvmaf. */
#ifndef TOOL_FIGURES_H
#define TOOL_FIGURES_H

#include "../../vmafgpu.h"

#include "options.h"
#include "rows.h"
#include "scores.h"

#include <stdint.h>
#include <stdio.h>

typedef struct figures {
    vmafgpu *context;       /* NULL if there are no columns */
    const rows_file *about; /* the rows that the scores come from; NULL if they come from the context */
    const scores *table;
    const options *o;
    int width, height;
    int columns;         /* number of columns to report; --no_prediction excludes those of models */
    int64_t rows, pairs; /* scored pairs, and all pairs including those that --subsample skips */
    double fps;
} figures;

/* Pools a column. Returns 0 if it has no values. */
int tool_pool_column(const figures *f, int column, const pooling *p, double *value);

/* Returns the name of a column. */
const char *tool_figure_name(const figures *f, int column);

/* Returns the column with the score of a model, or a negative number if there is none. */
int tool_figure_score_column(const figures *f, int model);

/* Returns the column with this name, or a negative number if there is none. */
int tool_figure_column(const figures *f, const char *name);

/* Writes the report of libvmaf. `user` points to figures. */
void tool_write_report(FILE *out, void *user);

#endif /* TOOL_FIGURES_H */
