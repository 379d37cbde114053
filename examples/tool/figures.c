/* figures.c: see figures.h. */
#include "system.h"

#include "figures.h"
#include "options.h"
#include "report.h"
#include "scores.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pools a column of a table. Returns 0 if it has no values or memory is short. */
static int pool_table(const scores *table, int column, const pooling *p, double *value) {
    scores_total t = scores_pool(table, column, 0, table->rows);
    const double totals[] = { t.mean, t.harmonic_mean, t.min, t.max }; /* in the order of vmafgpu_pool_method */
    if (t.count > 0 && p->is_percentile) {
        int64_t count;
        double *sorted = scores_sorted(table, column, &count);
        *value = sorted ? scores_percentile(sorted, count, p->percentile) : 0;
        free(sorted);
        return sorted != NULL;
    }
    *value = totals[p->method];
    return t.count > 0;
}

int tool_pool_column(const figures *f, int column, const pooling *p, double *value) {
    if (f->about)
        return pool_table(f->table, column, p, value);
    vmafgpu_result result = p->is_percentile ? vmafgpu_percentile(f->context, column, p->percentile, value)
                                             : vmafgpu_pool(f->context, column, p->method, value);
    return result == VMAFGPU_OK;
}

const char *tool_figure_name(const figures *f, int column) {
    return f->about ? f->about->names[column] : vmafgpu_column_name(f->context, column);
}

int tool_figure_score_column(const figures *f, int model) {
    return !f->about                       ? vmafgpu_model_column(f->context, model)
           : model < f->about->score_count ? f->about->scores[model]
                                           : -1;
}

int tool_figure_column(const figures *f, const char *name) {
    for (int c = 0; f->about && c < f->about->columns; c++)
        if (strcmp(f->about->names[c], name) == 0)
            return c;
    return f->about ? -1 : vmafgpu_column_index(f->context, name);
}

/* Returns pooling i of the report: first the standard poolings, then the percentiles of --pool. Returns NULL after the
 * last. */
static const pooling *reported_pooling(const options *o, int i) {
    if (i < STANDARD_POOLINGS)
        return &tool_standard_poolings[i];
    i -= STANDARD_POOLINGS;
    for (int k = 0; k < o->pooling_count; k++)
        if (o->poolings[k].is_percentile && i-- == 0)
            return &o->poolings[k];
    return NULL;
}

static const char *reported_column_name(void *user, int column) {
    return tool_figure_name((const figures *)user, column);
}

static int reported_column_at(void *user, int place) {
    const figures *f = (const figures *)user;
    return !f->about       ? vmafgpu_report_column(f->context, f->pairs, place)
           : f->pairs == 1 ? f->about->single[place]
                           : place;
}

static int reported_value(void *user, int64_t frame, int column, double *value) {
    const figures *f = (const figures *)user;
    vmafgpu_score score;
    if (f->about) {
        int64_t row = frame / f->about->step;
        *value = scores_value(f->table, row, column);
        return f->table->has_row[row];
    }
    int is_there = vmafgpu_score_at(f->context, frame, &score) == VMAFGPU_OK;
    *value = is_there ? score.values[column] : 0;
    return is_there;
}

static const char *reported_pooling_name(void *user, int i) {
    return reported_pooling(((const figures *)user)->o, i)->name;
}

static int reported_pooled(void *user, int column, int i, double *value) {
    const figures *f = (const figures *)user;
    return tool_pool_column(f, column, reported_pooling(f->o, i), value);
}

static const char *reported_aggregate_name(void *user, int i) {
    return vmafgpu_aggregate_name(((const figures *)user)->context, i);
}

static double reported_aggregate(void *user, int i) {
    double value = 0;
    vmafgpu_aggregate(((const figures *)user)->context, i, &value);
    return value;
}

void tool_write_report(FILE *out, void *user) {
    figures *f = (figures *)user;
    const options *o = f->o;
    report r;
    memset(&r, 0, sizeof r);
    r.out = out;
    r.version = vmafgpu_version_string();
    /* Only --backend adds the backend, so that the default report equals that of libvmaf. */
    r.backend = f->about                         ? (f->about->names_backend ? f->about->backend : NULL)
                : o->names_backend && f->context ? vmafgpu_backend_name(f->context)
                                                 : NULL;
    r.fps = f->fps;
    r.width = f->width;
    r.height = f->height;
    r.digits = o->digits;
    r.columns = f->columns;
    while (reported_pooling(o, r.poolings))
        r.poolings++;
    /* aggregates cover the pairs that the context scored, so rows from a file have none */
    r.aggregates = f->context && !f->about ? vmafgpu_aggregate_count(f->context) : 0;
    r.step = f->about ? f->about->step : o->subsample > 1 ? o->subsample : 1;
    r.frames = f->rows * r.step;
    r.user = f;
    r.column_at = reported_column_at;
    r.column_name = reported_column_name;
    r.value = reported_value;
    r.pooling_name = reported_pooling_name;
    r.pooled = reported_pooled;
    r.aggregate_name = reported_aggregate_name;
    r.aggregate = reported_aggregate;
    report_write(&r, o->report);
}
