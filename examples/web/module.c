/* The functions of vmafgpu.wasm, which vmaf.mjs calls. JavaScript writes the samples of frames directly into the
 * buffers that vmaf_buffer() returns. `make web` builds the module. */
#define VMAFGPU_IMPLEMENTATION
#define VMAFGPU_NO_EDITS
#include "../../vmafgpu.h"

/* Reports have the formats of libvmaf. */
#define REPORT_API static
#include "../tool/report.c"

#define EXPORT(name) __attribute__((export_name(#name)))

enum { MODELS = 8, FEATURES = 16, TEXT = 1024 };

typedef struct scorer {
    vmafgpu *context;
    vmafgpu_config config;
    vmafgpu_model_config models[MODELS];
    vmafgpu_feature_config features[FEATURES];
    char *strings[MODELS + 2 * FEATURES];
    int string_count;
    unsigned char *buffers[2]; /* reference, distorted */
    size_t buffer_size;
    vmafgpu_score score;
    char *report;
    size_t report_size;
#ifdef __wasm_atomics__
    /* The work of the current parallel_for(). `ticket` contains a number of this call, the number of tasks and the
     * index of the next task, so that a thread that is late cannot take a task of another call. */
    void (*task)(void *arg, int index);
    void *arg;
    uint64_t ticket;
    int started, finished, thread_count, is_closed;
#endif
} scorer;

static char text[TEXT]; /* receives arguments from JavaScript and returns messages */

EXPORT(vmaf_text) char *vmaf_text(void) {
    return text;
}

EXPORT(vmaf_text_size) int vmaf_text_size(void) {
    return TEXT;
}

static int fail(const char *message) {
    snprintf(text, sizeof text, "%s", message);
    return 0;
}

EXPORT(vmaf_new) scorer *vmaf_new(void) {
    return (scorer *)calloc(1, sizeof(scorer));
}

EXPORT(vmaf_close) void vmaf_close(scorer *s) {
    vmafgpu_close(s->context);
    for (int i = 0; i < s->string_count; i++)
        free(s->strings[i]);
    free(s->buffers[0]);
    free(s->buffers[1]);
    free(s->report);
    free(s);
}

/* Copies `text`. Returns NULL if memory is short. */
static char *copy_text(scorer *s) {
    text[TEXT - 1] = 0;
    char *copy = (char *)malloc(strlen(text) + 1);
    if (copy)
        s->strings[s->string_count++] = strcpy(copy, text);
    else
        fail("out of memory");
    return copy;
}

/* Adds the model whose name is in `text`. Returns 0 on failure, like all functions below unless stated otherwise. */
EXPORT(vmaf_add_model) int vmaf_add_model(scorer *s) {
    if (s->config.model_count == MODELS)
        return fail("models: too many (at most 8)");
    char *name = copy_text(s);
    if (!name)
        return 0;
    s->models[s->config.model_count].version = name;
    s->models[s->config.model_count].name = s->config.model_count ? name : NULL;
    s->config.model_count++;
    return 1;
}

/* Adds the feature in `text`: its name, then its options after an equals sign, as in "psnr=enable_chroma=false". */
EXPORT(vmaf_add_feature) int vmaf_add_feature(scorer *s) {
    if (s->config.feature_count == FEATURES)
        return fail("features: too many (at most 16)");
    char *name = copy_text(s);
    if (!name)
        return 0;
    char *options = strchr(name, '=');
    if (options)
        *options++ = 0;
    s->features[s->config.feature_count].name = name;
    s->features[s->config.feature_count++].options = options;
    return 1;
}

static int chroma_side(int size, int is_halved) {
    return is_halved ? (size + 1) / 2 : size;
}

/* Bytes of a plane. Sizes of halved chroma are rounded up. */
static size_t plane_size(const vmafgpu_config *c, int plane) {
    const int is_wide = c->chroma == VMAFGPU_CHROMA_444, is_high = c->chroma != VMAFGPU_CHROMA_420;
    if (plane > 0 && c->chroma == VMAFGPU_CHROMA_400)
        return 0;
    return (size_t)(plane ? chroma_side(c->width, !is_wide) : c->width) *
           (size_t)(plane ? chroma_side(c->height, !is_high) : c->height) * (c->bit_depth > 8 ? 2 : 1);
}

/* ---- threads, in the second module ----
 *
 * JavaScript starts workers that share the memory. Each of them calls vmaf_thread(), which returns after
 * vmaf_stop_threads(). */
#ifdef __wasm_atomics__
enum { INDEX_BITS = 20, MOST_TASKS = (1 << INDEX_BITS) - 1 };

/* Runs tasks of the current parallel_for() until all have been taken. */
static void run_tasks(scorer *s) {
    uint64_t ticket = __atomic_load_n(&s->ticket, __ATOMIC_ACQUIRE);
    for (;;) {
        const int index = (int)(ticket & MOST_TASKS), count = (int)(ticket >> INDEX_BITS & MOST_TASKS);
        if (index >= count)
            return;
        /* On failure, this loads the ticket again. */
        if (!__atomic_compare_exchange_n(&s->ticket, &ticket, ticket + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        s->task(s->arg, index);
        if (__atomic_add_fetch(&s->finished, 1, __ATOMIC_ACQ_REL) == count)
            __builtin_wasm_memory_atomic_notify(&s->finished, 1);
        ticket = __atomic_load_n(&s->ticket, __ATOMIC_ACQUIRE);
    }
}

static void parallel_for(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    scorer *s = (scorer *)user;
    if (count > MOST_TASKS) {
        for (int i = 0; i < count; i++)
            task(arg, i);
        return;
    }
    s->task = task;
    s->arg = arg;
    s->finished = 0;
    const uint64_t call = (unsigned)s->started + 1;
    __atomic_store_n(&s->ticket, call << 2 * INDEX_BITS | (uint64_t)count << INDEX_BITS, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->started, 1, __ATOMIC_ACQ_REL);
    __builtin_wasm_memory_atomic_notify(&s->started, (unsigned)s->thread_count);
    run_tasks(s);
    for (int finished; (finished = __atomic_load_n(&s->finished, __ATOMIC_ACQUIRE)) < count;)
        __builtin_wasm_memory_atomic_wait32(&s->finished, finished, 1000000);
}

EXPORT(vmaf_thread) void vmaf_thread(scorer *s) {
    for (int seen = 0; !__atomic_load_n(&s->is_closed, __ATOMIC_ACQUIRE);) {
        run_tasks(s);
        __builtin_wasm_memory_atomic_wait32(&s->started, seen, -1);
        seen = __atomic_load_n(&s->started, __ATOMIC_ACQUIRE);
    }
}

EXPORT(vmaf_stop_threads) void vmaf_stop_threads(scorer *s) {
    __atomic_store_n(&s->is_closed, 1, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->started, 1, __ATOMIC_ACQ_REL);
    __builtin_wasm_memory_atomic_notify(&s->started, (unsigned)s->thread_count);
}

EXPORT(vmaf_allocate) void *vmaf_allocate(size_t size) {
    return aligned_alloc(16, (size + 15) / 16 * 16);
}
#endif

/* Sets the number of threads, including the caller. Must be called before vmaf_open(). */
EXPORT(vmaf_set_threads) int vmaf_set_threads(scorer *s, int threads) {
    s->config.threads = threads;
#ifdef __wasm_atomics__
    s->thread_count = threads;
    s->config.parallel_for = threads > 1 ? parallel_for : NULL;
    s->config.parallel_for_user = s;
#endif
    return 1;
}

/* Opens the context. `chroma` is 400, 420, 422 or 444. `matrix` is 0 for YUV frames only, or a vmafgpu_matrix. */
EXPORT(vmaf_open) int vmaf_open(scorer *s, int width, int height, int bit_depth, int chroma, int matrix, int is_full) {
    vmafgpu_config *c = &s->config;
    c->width = width;
    c->height = height;
    c->bit_depth = bit_depth;
    c->chroma = chroma == 400   ? VMAFGPU_CHROMA_400
                : chroma == 422 ? VMAFGPU_CHROMA_422
                : chroma == 444 ? VMAFGPU_CHROMA_444
                                : VMAFGPU_CHROMA_420;
    c->models = s->models;
    c->features_only = c->model_count == 0;
    c->features = s->features;
    c->strict_options = 1;
    if (matrix) {
        c->colour.matrix = (vmafgpu_matrix)matrix;
        c->colour.range = is_full ? VMAFGPU_RANGE_FULL : VMAFGPU_RANGE_LIMITED;
        c->colour.siting = VMAFGPU_SITING_LEFT;
    }
    if (vmafgpu_open(&s->context, c) != VMAFGPU_OK)
        return fail(vmafgpu_last_error(s->context));
    s->buffer_size = plane_size(c, 0) + 2 * plane_size(c, 1);
    if (matrix && s->buffer_size < (size_t)4 * (size_t)width * (size_t)height)
        s->buffer_size = (size_t)4 * (size_t)width * (size_t)height;
    for (int i = 0; i < 2; i++)
        if (!(s->buffers[i] = (unsigned char *)malloc(s->buffer_size)))
            return fail("out of memory");
    return 1;
}

EXPORT(vmaf_buffer) unsigned char *vmaf_buffer(const scorer *s, int side) {
    return s->buffers[side];
}

EXPORT(vmaf_frame_size) size_t vmaf_frame_size(const scorer *s) {
    return plane_size(&s->config, 0) + 2 * plane_size(&s->config, 1);
}

/* Scores the pair in the buffers. `reference` and `distorted` are values of vmafgpu_pixels: YUV planes or RGBA. */
EXPORT(vmaf_push) int vmaf_push(scorer *s, int reference, int distorted) {
    vmafgpu_frame frames[2] = VMAFGPU_INIT;
    for (int i = 0; i < 2; i++) {
        frames[i].data[0] = s->buffers[i];
        frames[i].pixels = (vmafgpu_pixels)(i ? distorted : reference);
        if (frames[i].pixels == VMAFGPU_PIXELS_YUV && plane_size(&s->config, 1)) {
            frames[i].data[1] = s->buffers[i] + plane_size(&s->config, 0);
            frames[i].data[2] = s->buffers[i] + plane_size(&s->config, 0) + plane_size(&s->config, 1);
        }
    }
    return vmafgpu_push(s->context, &frames[0], &frames[1]) == VMAFGPU_OK || fail(vmafgpu_last_error(s->context));
}

EXPORT(vmaf_flush) int vmaf_flush(scorer *s) {
    return vmafgpu_flush(s->context) == VMAFGPU_OK || fail(vmafgpu_last_error(s->context));
}

/* Moves to the next score that is ready. Returns 0 if there is none. */
EXPORT(vmaf_next) int vmaf_next(scorer *s) {
    return vmafgpu_next_score(s->context, &s->score) == VMAFGPU_OK;
}

/* Return the index and the values of the current score. */
EXPORT(vmaf_index) int vmaf_index(const scorer *s) {
    return (int)s->score.index;
}

EXPORT(vmaf_values) const double *vmaf_values(const scorer *s) {
    return s->score.values;
}

EXPORT(vmaf_column_count) int vmaf_column_count(const scorer *s) {
    return vmafgpu_column_count(s->context);
}

EXPORT(vmaf_column_name) const char *vmaf_column_name(const scorer *s, int column) {
    return vmafgpu_column_name(s->context, column);
}

EXPORT(vmaf_model_column) int vmaf_model_column(const scorer *s, int model) {
    return vmafgpu_model_column(s->context, model);
}

EXPORT(vmaf_instruction_set) const char *vmaf_instruction_set(const scorer *s) {
    return vmafgpu_instruction_set(s->context);
}

/* Pools a column. `method` is a vmafgpu_pool_method, or -1 for a percentile. Returns NaN if there is no value. */
EXPORT(vmaf_pool) double vmaf_pool(scorer *s, int column, int method, double percentile) {
    double value = 0;
    const vmafgpu_result result = method < 0 ? vmafgpu_percentile(s->context, column, percentile, &value)
                                             : vmafgpu_pool(s->context, column, (vmafgpu_pool_method)method, &value);
    return result == VMAFGPU_OK ? value : NAN;
}

/* ---- reports ---- */

static const struct {
    const char *name;
    vmafgpu_pool_method method;
} poolings[] = { { "min", VMAFGPU_POOL_MIN },
                 { "max", VMAFGPU_POOL_MAX },
                 { "mean", VMAFGPU_POOL_MEAN },
                 { "harmonic_mean", VMAFGPU_POOL_HARMONIC_MEAN } };

static int column_at(void *user, int place) {
    const scorer *s = (const scorer *)user;
    return vmafgpu_report_column(s->context, vmafgpu_score_count(s->context), place);
}

static const char *column_name(void *user, int column) {
    return vmafgpu_column_name(((const scorer *)user)->context, column);
}

static int value_at(void *user, int64_t frame, int column, double *value) {
    return vmafgpu_value_at(((const scorer *)user)->context, frame, column, value) == VMAFGPU_OK;
}

static const char *pooling_name(void *user, int i) {
    (void)user;
    return poolings[i].name;
}

static int pooled(void *user, int column, int i, double *value) {
    return vmafgpu_pool(((const scorer *)user)->context, column, poolings[i].method, value) == VMAFGPU_OK;
}

static const char *aggregate_name(void *user, int i) {
    return vmafgpu_aggregate_name(((const scorer *)user)->context, i);
}

static double aggregate(void *user, int i) {
    double value = 0;
    vmafgpu_aggregate(((const scorer *)user)->context, i, &value);
    return value;
}

/* Writes a report. `format` is a report_format, `digits` the number of decimals, REPORT_DIGITS_LEGACY or _MAX. Returns
 * the text, or NULL if memory is short. The text is valid until the next call. */
EXPORT(vmaf_report) const char *vmaf_report(scorer *s, int format, int digits, double fps) {
    report r;
    memset(&r, 0, sizeof r);
    free(s->report);
    s->report = NULL;
    r.out = open_memstream(&s->report, &s->report_size);
    if (!r.out)
        return NULL;
    r.version = vmafgpu_version_string();
    r.fps = fps;
    r.width = s->config.width;
    r.height = s->config.height;
    r.digits = digits;
    r.columns = vmafgpu_column_count(s->context);
    r.poolings = sizeof poolings / sizeof poolings[0];
    r.aggregates = vmafgpu_aggregate_count(s->context);
    r.step = 1;
    r.frames = vmafgpu_score_count(s->context);
    r.user = s;
    r.column_at = column_at;
    r.column_name = column_name;
    r.value = value_at;
    r.pooling_name = pooling_name;
    r.pooled = pooled;
    r.aggregate_name = aggregate_name;
    r.aggregate = aggregate;
    report_write(&r, (report_format)format);
    fclose(r.out);
    return s->report;
}
