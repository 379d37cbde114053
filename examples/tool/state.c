/* state.c: see state.h. */
#include "system.h"

#include "state.h"
#include "files.h"
#include "fingerprint.h"
#include "message.h"
#include "options.h"
#include "rows.h"
#include "scores.h"
#include "scoring.h"
#include "session.h"
#include "video.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <io.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

int tool_describe_rows(session *all, const options *o) {
    rows_file *r = &all->rows;
    const vmafgpu *context = all->contexts[0];
    r->segment = o->segments ? o->segment : 1;
    r->segments = o->segments ? o->segments : 1;
    r->step = o->subsample > 1 ? o->subsample : 1;
    r->width = all->width;
    r->height = all->height;
    r->videos = all->count;
    r->columns = vmafgpu_column_count(context);
    r->shown = tool_shown_columns(context, o);
    r->names_backend = o->names_backend;
    r->is_intact = 1;
    snprintf(r->backend, sizeof r->backend, "%s", vmafgpu_backend_name(context));
    for (int m = 0; m < (o->model_count ? o->model_count : 1) && !o->no_prediction; m++)
        r->scores[r->score_count++] = vmafgpu_model_column(context, m);
    r->names = (char **)calloc((size_t)r->columns + 1, sizeof *r->names);
    r->single = (int *)calloc((size_t)r->columns + 1, sizeof *r->single);
    for (int c = 0; c < r->columns && r->names && r->single; c++) {
        r->single[c] = vmafgpu_report_column(context, 1, c);
        r->names[c] = tool_copy_text(vmafgpu_column_name(context, c), 0);
        if (!r->names[c])
            return tool_out_of_memory();
    }
    for (int i = 0; i < r->videos; i++)
        r->tables[i].columns = r->columns;
    return (r->names && r->single) || tool_out_of_memory();
}

static int state_failure(const options *o, const char *what) {
    return tool_fail("the state \"%s\" %s", o->state, what);
}

/* Opens and locks a state for reading and writing. */
static FILE *open_state_file(const options *o) {
#ifdef _WIN32
    FILE *file = fopen(o->state, "r+b");
    file = file ? file : fopen(o->state, "w+b");
#else
    int number = open(o->state, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    FILE *file = number < 0 ? NULL : fdopen(number, "r+b");
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (file && fcntl(number, F_SETLK, &lock) != 0 && (errno == EACCES || errno == EAGAIN)) {
        state_failure(o, "is in use by another run");
        fclose(file);
        return NULL;
    }
#endif
    if (!file)
        tool_fail("the state \"%s\" cannot be opened (%s)", o->state, strerror(errno));
    return file;
}

/* Whether the file is empty or contains only a part of the first line, after an early interruption. */
static int is_new_state(FILE *file) {
    static const char begin[] = "[{\"vmafgpu_rows\":2,";
    char line[sizeof begin];
    rewind(file);
    size_t count = fread(line, 1, sizeof begin - 1, file);
    int c, has_line = 0;
    if (memcmp(line, begin, count) != 0)
        return 0;
    while ((c = getc(file)) != EOF)
        has_line |= c == '\n';
    return !has_line;
}

static int cut_state(FILE *file, long size) {
#ifdef _WIN32
    return fflush(file) == 0 && _chsize(_fileno(file), size) == 0 && fseek(file, size, SEEK_SET) == 0;
#else
    return fflush(file) == 0 && ftruncate(fileno(file), size) == 0 && fseek(file, size, SEEK_SET) == 0;
#endif
}

/* Opens the state and loads its rows. */
static int open_state(session *all, const options *o) {
    rows_file before, *mine = &all->rows;
    file_id id = tool_identify(o->state);
    for (int i = 0; i <= all->count; i++) {
        file_id video = tool_identify(tool_path_of(o, i));
        if (tool_is_same_file(&id, &video))
            return state_failure(o, "is a video");
    }
    if (id.kind != FILE_NONE && id.kind != FILE_REGULAR)
        return state_failure(o, "must be a file");
    all->state = open_state_file(o);
    if (!all->state)
        return 0;
    if (is_new_state(all->state)) {
        return (cut_state(all->state, 0) && rows_put_header(all->state, mine) && fflush(all->state) == 0) ||
               state_failure(o, "cannot be written");
    }
    rewind(all->state);
    int ok = rows_read(&before, all->state) || state_failure(o, before.error);
    if (ok && (before.run != mine->run || before.files != mine->files || before.segment != mine->segment ||
               before.segments != mine->segments || before.columns != mine->columns || before.videos != mine->videos)) {
        ok = state_failure(o, "belongs to another run: the videos, the options or the version of vmafgpu differ; "
                              "remove it or use another file");
    }
    if (ok) {
        for (int i = 0; i < mine->videos; i++) {
            mine->tables[i] = before.tables[i];
            memset(&before.tables[i], 0, sizeof before.tables[i]);
        }
        mine->is_whole = before.is_whole;
        mine->pairs = before.pairs;
        mine->seconds = before.seconds;
        ok = cut_state(all->state, before.end) || state_failure(o, "cannot be written");
    }
    rows_free(&before);
    return ok;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Chooses the pairs to read: the pairs to score, and the pairs before and after them that their scores depend on. */
static void choose_pairs(session *all, const options *o, int64_t begin, int64_t end) {
    rows_file *r = &all->rows;
    int64_t start = begin + r->tables[0].rows * r->step, limit = all->limit,
            seeds = vmafgpu_preceding_count(all->contexts[0]);
    all->seeds = seeds < 0 ? 0 : least(seeds, start);
    all->lead = seeds < 0 ? least(r->step, start) : 0;
    all->collected = all->lead / r->step;
    end = o->segments && o->segment < o->segments ? end : limit > 0 ? limit : -1;
    all->wanted = end < 0 ? -1 : end > start ? end - start : 0;
    all->is_done = r->is_whole || all->wanted == 0 || (r->total >= 0 && start >= r->total);
    int64_t before = all->seeds + all->lead, behind = o->segments && o->segment < o->segments ? 2 : 0;
    all->start = start - before;
    all->first += start - before;
    all->limit = all->wanted < 0 ? 0 : before + all->wanted + behind;
    if (limit > 0 && all->limit > 0)
        all->limit = least(all->limit, limit - (start - before));
}

int tool_begin_rows(session *all, const options *o) {
    all->wanted = -1;
    all->has_rows = o->state != NULL || o->segments > 0;
    if (!all->has_rows)
        return 1;
    for (int i = 0; i <= all->count; i++)
        if (tool_identify(tool_path_of(o, i)).kind != FILE_REGULAR || strcmp(tool_path_of(o, i), "-") == 0)
            return tool_fail("--state and --segment need files: %s is not a file", all->videos[i].title);
    if (vmafgpu_aggregate_count(all->contexts[0]) > 0 || tool_has_heatmaps(o)) {
        return tool_fail("--state and --segment cannot be combined with enable_apsnr of psnr or heatmaps_path of "
                         "cambi, which need the whole clip");
    }
    int64_t first = all->first, total = tool_pairs_behind(all, first), step = o->subsample > 1 ? o->subsample : 1;
    total = all->limit > 0 ? least(total, all->limit) : total;
    if (!tool_describe_rows(all, o))
        return 0;
    all->rows.run = tool_hash_run(all, o);
    all->rows.files = o->state ? tool_hash_dates(all) : 0;
    int64_t parts = all->rows.segments,
            begin = total / parts * (all->rows.segment - 1) + total % parts * (all->rows.segment - 1) / parts;
    int64_t end = total / parts * all->rows.segment + total % parts * all->rows.segment / parts;
    begin = begin / step * step;
    end = end / step * step;
    all->rows.first = begin;
    all->rows.total = total;
    if (o->state && !open_state(all, o))
        return 0;
    choose_pairs(all, o, begin, end);
    return 1;
}

static int64_t ready_rows(const session *all) {
    int64_t ready = INT64_MAX;
    for (int i = 0; i < all->count; i++)
        ready = least(ready, vmafgpu_score_count(all->contexts[i]));
    return ready;
}

/* Returns the first row >= `from` with a frame that has no score, or the number of finished rows. The CPU
 * immediately refuses a frame with samples that exceed the bit depth, but a GPU finds such samples only after later
 * pairs have been pushed. In both cases the tool reports only the rows before that frame. */
static int64_t sound_rows(const session *all, int64_t from, int64_t step) {
    int64_t ready = ready_rows(all);
    vmafgpu_score score;
    for (int64_t row = from; row < ready; row++) {
        for (int i = 0; i < all->count; i++)
            if (vmafgpu_score_at(all->contexts[i], row * step, &score) != VMAFGPU_OK || score.result != VMAFGPU_OK)
                return row;
    }
    return ready;
}

int tool_collect_rows(session *all) {
    rows_file *r = &all->rows;
    int64_t ready = sound_rows(all, all->collected, r->step);
    vmafgpu_score score;
    for (; all->collected < ready; all->collected++) {
        for (int i = 0; i < all->count; i++) {
            (void)vmafgpu_score_at(all->contexts[i], all->collected * r->step, &score);
            if (!scores_append(&r->tables[i], score.values, 1))
                return tool_out_of_memory();
        }
        if (all->state && !rows_put(all->state, r, r->tables[0].rows - 1))
            return tool_out_of_memory();
    }
    return !all->state || fflush(all->state) == 0 ||
           tool_fail("the state \"%s\" cannot be written (%s)", all->o->state, strerror(errno));
}

void tool_end_rows(session *all) {
    if (all->state)
        fclose(all->state);
    rows_free(&all->rows);
}

void tool_write_rows(FILE *out, void *user) {
    rows_file *r = (rows_file *)user;
    rows_put_header(out, r);
    for (int64_t i = 0; i < r->tables[0].rows; i++)
        rows_put(out, r, i);
    rows_put_end(out, r);
}

int tool_finish_rows(session *all, const scoring *s) {
    rows_file *r = &all->rows;
    if (!r->is_whole) {
        r->pairs = s->frames + (r->tables[0].rows - (s->frames + r->step - 1) / r->step) * r->step;
        r->seconds = s->seconds;
        r->is_intact = s->intact;
        snprintf(r->backend, sizeof r->backend, "%s",
                 vmafgpu_backend_name(all->contexts[0])); /* the backend may have changed since the start */
        if (all->state && s->intact)
            rows_put_end(all->state, r);
    }
    return !all->state || fflush(all->state) == 0 || state_failure(all->o, "cannot be written");
}

int tool_has_lost_rows(const session *all, const options *o) {
    return all->contexts[0] && sound_rows(all, 0, o->subsample > 1 ? o->subsample : 1) < ready_rows(all);
}
