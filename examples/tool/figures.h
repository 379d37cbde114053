/* figures.h: the figures of one distorted video, from a context or from rows, and libvmaf's report of them. */
#ifndef TOOL_FIGURES_H
#define TOOL_FIGURES_H

#include "../../vmafgpu.h"

#include "options.h"
#include "rows.h"
#include "scores.h"

#include <stdint.h>
#include <stdio.h>

/* The figures of one distorted video. */
typedef struct figures {
    vmafgpu *context;       /* NULL: there are no columns */
    const rows_file *about; /* not NULL: the figures are these, whatever the context has */
    const scores *table;
    const options *o;
    int width, height;
    int columns;         /* that are shown: not the models' with --no_prediction */
    int64_t rows, pairs; /* pairs: of the clip, with those that --subsample leaves out */
    double fps;
} figures;

/* Pools a column. 0 if there are no values. */
int tool_pool_column(const figures *f, int column, const pooling *p, double *value);

/* The name of a column. */
const char *tool_figure_name(const figures *f, int column);

/* The column of the score of a model; below 0 if there is none. */
int tool_figure_score_column(const figures *f, int model);

/* The column with that name; below 0 if there is none. */
int tool_figure_column(const figures *f, const char *name);

/* Writes libvmaf's report; `user` are figures. */
void tool_write_report(FILE *out, void *user);

#endif /* TOOL_FIGURES_H */
