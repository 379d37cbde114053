/* Replays the calls recorded in a file by a build with VMAFGPU_RECORD, and compares every result and score.
 *
 *     replay FILE [--backend cpu|cuda|hip] [--driver PATH] [--kernels PATH] [--threads N] [--cpumask N]
 *
 * The default backend is the CPU. The exit status is 0 if all results are equal, 1 if a result differs, and 2 if the
 * file cannot be replayed. A clip with frames that the file does not contain (in GPU memory, or stored as hashes) gets
 * generated frames; its scores are not compared. Calls whose result depends on the machine, such as lack of memory, are
 * skipped and counted. */
#include "../vmafgpu.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of records: VMAFGPU__RECORD_OPEN and so on in vmafgpu.h. */
enum { OPEN = 1, CLOSE, RESET, PUSH, MANY, PRECEDING, FOLLOWING, FLUSH, PAIRS, ACQUIRE, PREDICT, EDIT_BEGIN, EDIT_TRY };
enum { EDIT_COMMIT = EDIT_TRY + 1, EDIT_GRADIENT, EDIT_BLOCKS, EDIT_SLOPES, MAP, RESULT, STOP };
enum { HEAD = 40, MOST_CONTEXTS = 256, MOST_MODELS = 16, MOST_FEATURES = 32, MOST_FRAMES = 64, SHOWN = 20 };
enum { MOST_ACQUIRED = 512, MOST_EDITS = 1 << 20, NOT_WRITTEN = 99 };

/* Whether the context has a base for edits, and the recorded context had the same one. EITHER: the base is the same or
 * there is none, because backends differ in when a call discards it. UNKNOWN: edits cannot be compared. */
typedef enum base { NONE, SAME, EITHER, UNKNOWN } base;

typedef struct pair {
    const void *recorded[2]; /* addresses of the reference and the distorted frame */
    vmafgpu_frame frame[2];  /* of this process */
} pair;

typedef struct live {
    uint64_t id; /* address of the recorded context */
    vmafgpu *context;
    vmafgpu_config config;
    int is_inexact; /* scores of the clip cannot be compared */
    base base;
    pair acquired[MOST_ACQUIRED]; /* oldest first */
    int acquired_count;
    float *map;
    int asks_map; /* whether the next pair gets a map */
} live;

static struct {
    unsigned char *bytes;
    uint64_t size;
    live contexts[MOST_CONTEXTS];
    vmafgpu_config changes; /* backend, gpu.driver_path, gpu.kernels_path, threads, cpumask */
    int has_cpumask;
    long calls, scores, differences, inexact, skipped, edits, maps;
} replay;

static void end_badly(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("replay: ", stderr);
    vfprintf(stderr, format, list);
    fputs("\n", stderr);
    va_end(list);
    exit(2);
}

static void differ(uint64_t call, const char *format, ...) {
    va_list list;
    if (++replay.differences > SHOWN)
        return;
    va_start(list, format);
    printf("call %llu: ", (unsigned long long)call);
    vprintf(format, list);
    printf("\n");
    va_end(list);
}

/* ---- reading ---- */

typedef struct reader {
    const unsigned char *at, *end;
} reader;

static const unsigned char *take(reader *r, uint64_t size) {
    const unsigned char *at = r->at;
    if (size > (uint64_t)(r->end - r->at))
        end_badly("the file is damaged: a record is too short");
    r->at += size;
    return at;
}

static uint64_t take_whole(reader *r) {
    uint64_t value;
    memcpy(&value, take(r, sizeof value), sizeof value);
    return value;
}

/* Returns a copy of a text, or NULL. The copies live until the program ends. */
static char *take_text(reader *r) {
    const uint64_t length = take_whole(r);
    char *text;
    if (length == UINT64_MAX)
        return NULL;
    text = (char *)calloc(1, (size_t)(length < replay.size ? length : 0) + 1);
    if (!text)
        end_badly("out of memory");
    memcpy(text, take(r, length), (size_t)length);
    return text;
}

typedef struct record {
    uint64_t kind, number, context;
    reader rest;
} record;

static record take_record(reader *r) {
    record got;
    uint64_t size;
    got.kind = take_whole(r);
    got.number = take_whole(r);
    got.context = take_whole(r);
    size = take_whole(r);
    got.rest.at = take(r, size);
    got.rest.end = r->at;
    return got;
}

/* Finds the result of a call. Returns 0 if the recording process ended in this call. */
static int find_result(uint64_t number, reader from, record *result) {
    while (from.at < from.end) {
        *result = take_record(&from);
        if (result->kind == RESULT && result->number == number)
            return 1;
    }
    return 0;
}

static void load(const char *path) {
    FILE *file = fopen(path, "rb");
    long size = -1;
    reader head;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        end_badly("cannot read %s", path);
    replay.size = (uint64_t)size;
    replay.bytes = (unsigned char *)malloc((size_t)size + 1);
    if (!replay.bytes || fread(replay.bytes, 1, (size_t)size, file) != (size_t)size)
        end_badly("cannot read %s", path);
    fclose(file);
    if (size < HEAD || memcmp(replay.bytes, "vmafgpu record 2", 16) != 0)
        end_badly("%s: is not a record of calls", path);
    head.at = replay.bytes + 16;
    head.end = replay.bytes + size;
    if (take_whole(&head) != (uint64_t)size)
        end_badly("%s: is truncated or damaged; its size is not the one in its header", path);
    if (take_whole(&head) != VMAFGPU_ABI || take_whole(&head) != sizeof(vmafgpu_config))
        end_badly("%s: was written by another version or for another machine; build replay from the same sources",
                  path);
}

/* ---- frames ---- */

typedef struct frames {
    vmafgpu_frame frame[MOST_FRAMES];
    const void *recorded[MOST_FRAMES]; /* address */
    vmafgpu_memory kind[MOST_FRAMES];  /* recorded kind of memory */
    uint64_t sizes[MOST_FRAMES][3], rows[MOST_FRAMES][3];
    unsigned char *memory[MOST_FRAMES];
    int count;
} frames;

/* Reads a frame into memory of its own. *is_exact becomes 0 if its samples are not in the file. */
static const vmafgpu_frame *take_frame(reader *r, const vmafgpu_config *c, frames *all, int *is_exact) {
    static const int pixel_sizes[] = { 0, 4, 4, 3, 4, 8, 1 };
    vmafgpu_frame *f = &all->frame[all->count];
    const size_t bytes = (size_t)c->bytes_per_sample;
    uint64_t content, with_chroma, sizes[3] = { 0, 0, 0 }, rows[3] = { 0, 0, 0 }, total = 0;
    if (all->count == MOST_FRAMES)
        end_badly("the file is damaged: a call has too many frames");
    memcpy(f, take(r, sizeof *f), sizeof *f);
    all->recorded[all->count] = f->data[0];
    all->kind[all->count] = f->memory;
    memset(all->rows[all->count], 0, sizeof all->rows[0]);
    all->memory[all->count++] = NULL;
    content = take_whole(r);
    if (content == '-' && (f->memory == VMAFGPU_MEMORY_HOST || f->memory == VMAFGPU_MEMORY_PINNED)) {
        memset(f, 0, sizeof *f); /* an invalid frame: the call must fail */
        return f;
    }
    with_chroma = content == '-' ? c->chroma != VMAFGPU_CHROMA_400 : take_whole(r);
    if ((unsigned)f->pixels > VMAFGPU_PIXELS_RGB8_PLANAR)
        end_badly("the file is damaged: a frame has unknown pixels");
    if (f->pixels) {
        for (int i = 0; i < (f->pixels == VMAFGPU_PIXELS_RGB8_PLANAR ? 3 : 1); i++) {
            sizes[i] = (uint64_t)(pixel_sizes[f->pixels] * c->width);
            rows[i] = (uint64_t)c->height;
        }
    } else {
        const int is_planar = c->layout == VMAFGPU_LAYOUT_PLANAR;
        const int width = c->chroma == VMAFGPU_CHROMA_444 ? c->width : c->width / 2,
                  height = c->chroma == VMAFGPU_CHROMA_420 ? c->height / 2 : c->height;
        for (int i = 0; i < (!with_chroma ? 1 : is_planar ? 3 : 2); i++) {
            sizes[i] = (uint64_t)(i ? width : c->width) * bytes * (i && !is_planar ? 2 : 1);
            rows[i] = (uint64_t)(i ? height : c->height);
        }
    }
    for (int i = 0; i < 3; i++)
        total += sizes[i] * rows[i];
    memcpy(all->sizes[all->count - 1], sizes, sizeof sizes);
    memcpy(all->rows[all->count - 1], rows, sizeof rows);
    all->memory[all->count - 1] = (unsigned char *)malloc((size_t)total + 1);
    if (!all->memory[all->count - 1])
        end_badly("out of memory");
    if (content == 's') {
        memcpy(all->memory[all->count - 1], take(r, total), (size_t)total);
    } else {
        uint64_t state = content == 'h' ? take_whole(r) : total;
        for (uint64_t i = 0; i < total; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            all->memory[all->count - 1][i] = bytes == 2 && i % 2 ? 0 : (unsigned char)(state >> 56);
        }
        if (c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH)
            memset(all->memory[all->count - 1], 0, (size_t)total);
        *is_exact = 0;
    }
    f->memory = VMAFGPU_MEMORY_HOST;
    for (int i = 0, at = 0; i < 3; at += (int)(sizes[i] * rows[i]), i++) {
        f->data[i] = rows[i] ? all->memory[all->count - 1] + at : NULL;
        f->pitch[i] = (ptrdiff_t)sizes[i];
    }
    return f;
}

static void frames_free(frames *all) {
    while (all->count)
        free(all->memory[--all->count]);
}

/* ---- calls ---- */

static void ignore_score(void *user, const vmafgpu_score *score) {
    (void)user;
    (void)score;
}

static void ignore_map(void *user, const vmafgpu_heatmap *map) {
    (void)user;
    (void)map;
}

static live *find_context(uint64_t id) {
    for (int i = 0; i < MOST_CONTEXTS; i++)
        if (replay.contexts[i].context && replay.contexts[i].id == id)
            return &replay.contexts[i];
    return NULL;
}

/* Whether the result depends on the machine on which the recording was made: memory, threads, GPUs. */
static int is_of_machine(int64_t result) {
    return result == VMAFGPU_ERROR_MEMORY || result == VMAFGPU_ERROR_SYSTEM || result == VMAFGPU_ERROR_BACKEND ||
           result == VMAFGPU_ERROR_DEVICE || result == VMAFGPU_ERROR_FLOAT;
}

static void check_result(uint64_t call, const char *name, int64_t got, int64_t recorded) {
    if (got != recorded)
        differ(call, "%s returns %s, recorded: %s", name, vmafgpu_result_name((vmafgpu_result)got),
               vmafgpu_result_name((vmafgpu_result)recorded));
}

static void ask(const char *name, vmafgpu_result result) {
    if (result != VMAFGPU_OK)
        end_badly("%s returns %s", name, vmafgpu_result_name(result));
}

/* Reads an array. Returns NULL if the recorded pointer was NULL. The copies live until the program ends. */
static void *take_array(reader *r, uint64_t size) {
    const uint64_t found = take_whole(r);
    void *array;
    if (found == UINT64_MAX)
        return NULL;
    if (found != size && size != UINT64_MAX)
        end_badly("the file is damaged: an array has %llu bytes, not %llu", (unsigned long long)found,
                  (unsigned long long)size);
    array = malloc((size_t)(found <= replay.size ? found : 0) + 1);
    if (!array)
        end_badly("out of memory");
    return memcpy(array, take(r, found), (size_t)found);
}

/* Reads a model that is not built in. Returns NULL if there is none. */
static const vmafgpu_model *take_model(reader *r, const char *name) {
    vmafgpu_model *model;
    vmafgpu_svm *svms;
    uint64_t count;
    if (!take_whole(r))
        return NULL;
    count = take_whole(r);
    model = (vmafgpu_model *)calloc(1, sizeof *model);
    svms = (vmafgpu_svm *)calloc(count < 1024 ? (size_t)count + 1 : 1, sizeof *svms);
    if (!model || !svms || count >= 1024 || !name)
        end_badly("the file is damaged: a model is too large or has no name");
    for (uint64_t i = 0; i < count; i++) {
        vmafgpu_svm *svm = &svms[i];
        const char **texts;
        memcpy(svm, take(r, sizeof *svm), sizeof *svm);
        if (svm->feature_count < 1 || svm->feature_count > 64)
            end_badly("the file is damaged: a model has %d features", svm->feature_count);
        texts = (const char **)calloc(2 * (size_t)svm->feature_count, sizeof *texts);
        if (!texts)
            end_badly("out of memory");
        for (int k = 0; k < svm->feature_count; k++) {
            texts[k] = take_text(r);
            texts[svm->feature_count + k] = take_text(r);
        }
        svm->feature_names = texts;
        svm->feature_options = svm->feature_options ? texts + svm->feature_count : NULL;
        svm->slopes = (double *)take_array(r, UINT64_MAX);
        svm->intercepts = (double *)take_array(r, UINT64_MAX);
        svm->sv_coefs = (double *)take_array(r, UINT64_MAX);
        svm->sv_rows = (uint16_t *)take_array(r, UINT64_MAX);
        svm->sv_table = (double *)take_array(r, UINT64_MAX);
        svm->knots = (double *)take_array(r, UINT64_MAX);
    }
    model->name = name;
    model->svm_count = (int)count;
    model->svms = svms;
    return model;
}

static void *allocate(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

static void release(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

static void run_tasks(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = 0; i < count; i++)
        task(arg, i);
}

/* Checks that an invalid config is refused with the recorded result. */
static void replay_refused(const record *call, vmafgpu_config *c, int64_t recorded) {
    if ((recorded != VMAFGPU_ERROR_ARGUMENT && recorded != VMAFGPU_ERROR_MODEL && recorded != VMAFGPU_ERROR_FEATURE) ||
        c->gpu.devices || c->gpu.kernels || c->gpu.cuda_context || c->gpu.stream) {
        replay.skipped++; /* the reason lies in the machine, or in memory that is not in the file */
        return;
    }
    c->on_log = NULL;
    c->parallel_for = c->parallel_for ? run_tasks : NULL;
    c->allocator.allocate = c->allocator.allocate ? allocate : NULL;
    c->allocator.release = c->allocator.release ? release : NULL;
    c->gpu.driver_path = c->gpu.kernels_path = NULL;
    check_result(call->number, "vmafgpu_check_config", vmafgpu_check_config(c), recorded);
}

static void replay_open(const record *call, uint64_t id, int64_t recorded) {
    static vmafgpu_model_config models[MOST_MODELS];
    static vmafgpu_feature_config features[MOST_FEATURES];
    reader r = call->rest;
    vmafgpu_config c;
    vmafgpu *context = NULL;
    uint64_t count;
    vmafgpu_result result;
    memcpy(&c, take(&r, sizeof c), sizeof c);
    count = take_whole(&r);
    if (count || c.model_count <= MOST_MODELS)
        c.models = c.models ? models : NULL;
    for (uint64_t i = 0; i < count; i++) {
        vmafgpu_model_config *m = &models[i < MOST_MODELS ? i : 0];
        const char *version, *own;
        const vmafgpu_model *model;
        memcpy(m, take(&r, sizeof *m), sizeof *m);
        version = take_text(&r);
        own = take_text(&r);
        m->name = take_text(&r);
        m->options = take_text(&r);
        model = take_model(&r, own);
        m->version = own && !model ? own : version;
        m->model = model;
        if (own && !model && !vmafgpu_builtin_model(own) && recorded == VMAFGPU_OK)
            end_badly("call %llu: the model '%s' is not built into this program", (unsigned long long)call->number,
                      own);
    }
    count = take_whole(&r);
    if (count || c.feature_count <= MOST_FEATURES)
        c.features = c.features ? features : NULL;
    for (uint64_t i = 0; i < count; i++) {
        features[i < MOST_FEATURES ? i : 0].name = take_text(&r);
        features[i < MOST_FEATURES ? i : 0].options = take_text(&r);
    }
    c.on_score = c.on_score || c.discard_scores ? ignore_score : NULL;
    c.on_heatmap = c.on_heatmap ? ignore_map : NULL;
    c.on_reusable = NULL;
    if (recorded != VMAFGPU_OK) {
        replay_refused(call, &c, recorded);
        return;
    }
    c.on_log = NULL;
    c.parallel_for = NULL;
    memset(&c.allocator, 0, sizeof c.allocator);
    memset(&c.gpu, 0, sizeof c.gpu);
    c.backend = replay.changes.backend;
    c.gpu.driver_path = replay.changes.gpu.driver_path;
    c.gpu.kernels_path = replay.changes.gpu.kernels_path;
    c.gpu.skip_self_test = 1;
    c.threads = replay.changes.threads ? replay.changes.threads : c.threads;
    c.cpumask = replay.has_cpumask ? replay.changes.cpumask : c.cpumask;
    result = vmafgpu_open(&context, &c);
    check_result(call->number, "vmafgpu_open", result, recorded);
    if (result != VMAFGPU_OK) {
        printf("%s\n", vmafgpu_last_error(context));
        vmafgpu_close(context);
        return;
    }
    for (int i = 0; i < MOST_CONTEXTS; i++) {
        live *l = &replay.contexts[i];
        if (!l->context) {
            free(l->map);
            memset(l, 0, sizeof *l);
            l->id = id;
            l->context = context;
            l->config = *vmafgpu_get_config(context);
            l->map = (float *)calloc((size_t)vmafgpu_map_blocks(context, NULL, NULL) + 1, sizeof *l->map);
            if (!l->map)
                end_badly("out of memory");
            return;
        }
    }
    end_badly("more than %d contexts are open", MOST_CONTEXTS);
}

/* Compares doubles bit by bit. All NaNs are equal. */
static void check_values(uint64_t call, const char *what, int64_t row, const double *got, const unsigned char *recorded,
                         int columns, const vmafgpu *context) {
    for (int i = 0; i < columns; i++) {
        double expected;
        memcpy(&expected, recorded + sizeof expected * (size_t)i, sizeof expected);
        replay.scores++;
        if (memcmp(&got[i], &expected, sizeof expected) != 0 && (got[i] == got[i] || expected == expected))
            differ(call, "%s %lld, %s is %.17g, recorded: %.17g", what, (long long)row, vmafgpu_column_name(context, i),
                   got[i], expected);
    }
}

static void check_clip(const record *call, live *l, reader *result) {
    uint64_t columns, rows, pooled, kept;
    if (result->at == result->end)
        return;
    columns = take_whole(result);
    rows = take_whole(result);
    pooled = take_whole(result);
    kept = take_whole(result);
    if (l->is_inexact) {
        replay.inexact++;
        return;
    }
    if (columns != (uint64_t)vmafgpu_column_count(l->context) || rows != (uint64_t)vmafgpu_score_count(l->context)) {
        differ(call->number, "%lld scores in %d columns, recorded: %llu in %llu",
               (long long)vmafgpu_score_count(l->context), vmafgpu_column_count(l->context), (unsigned long long)rows,
               (unsigned long long)columns);
        return;
    }
    for (uint64_t i = 0; i < columns && pooled; i++) {
        double mean = 0, expected;
        memcpy(&expected, take(result, sizeof expected), sizeof expected);
        check_result(call->number, "vmafgpu_pool", vmafgpu_pool(l->context, (int)i, VMAFGPU_POOL_MEAN, &mean), 0);
        if (pooled == rows)
            check_values(call->number, "mean of column", (int64_t)i, &mean, (const unsigned char *)&expected, 1,
                         l->context);
    }
    for (uint64_t i = 0; i < kept; i++) {
        const unsigned char *row = take(result, sizeof(double) * (columns + 1));
        vmafgpu_score score;
        vmafgpu_result got;
        double failure; /* the recorded result */
        memcpy(&failure, row + sizeof failure * columns, sizeof failure);
        if (is_of_machine((int64_t)failure))
            continue;
        got = vmafgpu_score_at(l->context, (int64_t)i * l->config.subsample, &score);
        check_result(call->number, "vmafgpu_score_at", got, (int64_t)failure);
        if (got == VMAFGPU_OK && failure == 0)
            check_values(call->number, "frame", score.index, score.values, row, (int)columns, l->context);
    }
}

/* ---- acquired pairs ---- */

static void replay_acquire(const record *call, live *l, int64_t recorded, reader *result) {
    reader r = call->rest;
    const uint64_t has_frames = take_whole(&r);
    pair p;
    vmafgpu_result got;
    if (is_of_machine(recorded) || recorded == VMAFGPU_AGAIN || l->acquired_count == MOST_ACQUIRED ||
        (recorded == VMAFGPU_ERROR_ARGUMENT && has_frames)) {
        replay.skipped++; /* the reason lies in the machine, the backend or config.gpu.frame_memory */
        return;
    }
    got = vmafgpu_acquire_pair(l->context, has_frames ? &p.frame[0] : NULL, has_frames ? &p.frame[1] : NULL);
    if (got != VMAFGPU_AGAIN) /* backends differ in how many pairs they have */
        check_result(call->number, "vmafgpu_acquire_pair", got, recorded);
    for (int i = 0; i < 2 && recorded == VMAFGPU_OK; i++) {
        vmafgpu_frame f;
        memcpy(&f, take(result, sizeof f), sizeof f);
        p.recorded[i] = f.data[0];
        if (got != VMAFGPU_OK)
            memset(&p.frame[i], 0, sizeof p.frame[i]);
    }
    if (recorded == VMAFGPU_OK)
        l->acquired[l->acquired_count++] = p;
}

/* Forgets the oldest acquired pair, as a push does. */
static void release_oldest(live *l) {
    if (l->acquired_count)
        memmove(l->acquired, l->acquired + 1, sizeof *l->acquired * (size_t)--l->acquired_count);
}

/* If the recorded frame was an acquired one, replaces it by that of this process, with the same samples. Returns 0 if
 * this process could not acquire it. */
static int use_acquired(const live *l, frames *all, int at) {
    vmafgpu_frame *f = &all->frame[at];
    for (int i = 0; i < l->acquired_count; i++) {
        for (int side = 0; side < 2; side++) {
            const vmafgpu_frame *own = &l->acquired[i].frame[side];
            if (!f->data[0] || f->pixels || all->recorded[at] != l->acquired[i].recorded[side])
                continue;
            if (!own->data[0])
                return 0;
            for (int plane = 0; plane < 3; plane++) {
                for (uint64_t y = 0; own->data[plane] && y < all->rows[at][plane]; y++)
                    memcpy((unsigned char *)own->data[plane] + (ptrdiff_t)y * own->pitch[plane],
                           (const unsigned char *)f->data[plane] + (ptrdiff_t)y * f->pitch[plane],
                           (size_t)all->sizes[at][plane]);
                f->data[plane] = own->data[plane];
                f->pitch[plane] = own->pitch[plane];
            }
            return 1;
        }
    }
    return 1;
}

/* ---- calls with frames ---- */

static uint64_t hash_of(const void *bytes, size_t size) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
    return hash;
}

/* Compares a map with the recorded hash. */
static void check_map(const record *call, live *l, reader *result) {
    const size_t size = sizeof(float) * (size_t)vmafgpu_map_blocks(l->context, NULL, NULL);
    const uint64_t has_map = result->at < result->end ? take_whole(result) : 0, hash = has_map ? take_whole(result) : 0;
    const int asked = l->asks_map;
    l->asks_map = l->asks_map && l->config.subsample > 1 && !has_map; /* the pair may be left out */
    if (!has_map || !asked || l->is_inexact)
        return;
    ask("vmafgpu_wait", vmafgpu_wait(l->context, -1));
    replay.maps++;
    if (hash_of(l->map, size) != hash)
        differ(call->number, "the map differs from the recorded one");
}

static void replay_frames(const record *call, live *l, int64_t recorded, reader *result) {
    static const char *const names[] = { "",
                                         "",
                                         "",
                                         "",
                                         "vmafgpu_push",
                                         "vmafgpu_push_many",
                                         "vmafgpu_push_preceding",
                                         "vmafgpu_push_following",
                                         "",
                                         "vmafgpu_score_candidates",
                                         "",
                                         "",
                                         "vmafgpu_edit_begin" };
    static frames all;
    reader r = call->rest;
    const uint64_t count = take_whole(&r), others = take_whole(&r);
    vmafgpu *contexts[MOST_FRAMES];
    live *owners[MOST_FRAMES];
    vmafgpu_frame distorted[MOST_FRAMES];
    vmafgpu_score scores[MOST_FRAMES];
    const vmafgpu_frame *reference, *previous, *following;
    vmafgpu_result got = VMAFGPU_OK, many[MOST_FRAMES];
    int is_exact = 1, is_possible = 1, is_accepted;
    const int is_single = call->kind == PAIRS || call->kind == EDIT_BEGIN;
    if (count >= MOST_FRAMES - 3)
        end_badly("the file is damaged: a call has too many frames");
    owners[0] = l;
    for (uint64_t i = 0; i < count && call->kind == MANY; i++) {
        owners[i] = find_context(take_whole(&r));
        contexts[i] = owners[i] ? owners[i]->context : NULL;
    }
    (void)take_frame(&r, &l->config, &all, &is_exact);
    for (uint64_t i = 0; i < count; i++)
        (void)take_frame(&r, &l->config, &all, &is_exact);
    previous = others & 1 ? take_frame(&r, &l->config, &all, &is_exact) : NULL;
    following = others & 2 ? take_frame(&r, &l->config, &all, &is_exact) : NULL;
    reference = &all.frame[0];
    for (uint64_t i = 0; i <= count && !is_single; i++)
        for (uint64_t k = 0; k < (call->kind == MANY ? count : 1); k++)
            is_possible &= !owners[k] || use_acquired(owners[k], &all, (int)i);
    if (recorded == VMAFGPU_ERROR_ARGUMENT && !is_exact && strcmp(vmafgpu_backend_name(l->context), "cpu") == 0) {
        is_exact = 1; /* the CPU refuses other kinds of memory, and reads no samples */
        for (int i = 0; i < all.count; i++)
            all.frame[i].memory = all.kind[i];
    }
    for (uint64_t i = 0; i < count; i++)
        distorted[i] = all.frame[i + 1];
    if (is_of_machine(recorded) || recorded == VMAFGPU_AGAIN || recorded == VMAFGPU_ERROR_UNREAD_SCORES ||
        (recorded == VMAFGPU_ERROR_STATE && (l->is_inexact || (is_single && l->config.max_edit_size))) ||
        (recorded == VMAFGPU_ERROR_ARGUMENT && (!is_possible || !is_exact))) {
        /* the reason lies in the machine, in the backend, or in memory that is not in the file */
        replay.skipped++;
        for (uint64_t i = 0; i < (call->kind == MANY ? count : 1); i++)
            if (owners[i]) /* each context may have accepted the pair */
                owners[i]->is_inexact |= !is_single && (is_of_machine(recorded) || call->kind == MANY);
        l->base = l->base == NONE && !is_of_machine(recorded) ? NONE : UNKNOWN;
        frames_free(&all);
        return;
    }
    switch (call->kind) {
    case PUSH: got = vmafgpu_push(l->context, reference, &distorted[0]); break;
    case MANY:
        for (uint64_t i = 0; i < count; i++)
            many[i] = (vmafgpu_result)NOT_WRITTEN;
        got = vmafgpu_push_many(contexts, (int)count, reference, distorted, many);
        break;
    case PRECEDING: got = vmafgpu_push_preceding(l->context, reference); break;
    case FOLLOWING: got = vmafgpu_push_following(l->context, reference); break;
    case EDIT_BEGIN:
        got = vmafgpu_edit_begin(l->context, reference, count ? &distorted[0] : NULL, previous, following, &scores[0]);
        break;
    default: got = vmafgpu_score_candidates(l->context, reference, distorted, (int)count, previous, scores); break;
    }
    /* On a GPU, a pair with illegal samples in acquired or pinned memory fails later. */
    if ((got == VMAFGPU_ERROR_FRAME) != (recorded == VMAFGPU_ERROR_FRAME) && !is_single)
        is_exact = 0;
    if (is_exact && call->kind != MANY)
        check_result(call->number, names[call->kind], got, recorded);
    is_accepted = recorded == VMAFGPU_OK && !is_single;
    for (uint64_t i = 0; i < (call->kind == MANY ? count : 1); i++) {
        if (!owners[i])
            continue;
        if (call->kind == MANY) {
            const int64_t each = (int64_t)take_whole(result);
            owners[i]->is_inexact |= is_of_machine(each) || each == VMAFGPU_ERROR_UNREAD_SCORES;
            is_accepted = each == VMAFGPU_OK;
            if (is_exact && !owners[i]->is_inexact)
                check_result(call->number, names[MANY], many[i], each);
        }
        owners[i]->is_inexact |= !is_exact && !is_single;
        if (is_accepted)
            release_oldest(owners[i]);
        owners[i]->base = owners[i]->base == SAME ? EITHER : owners[i]->base;
    }
    if (call->kind == PUSH && recorded == VMAFGPU_OK)
        check_map(call, l, result);
    if (call->kind == MANY)
        for (uint64_t i = 0; i < count && owners[i]; i++)
            owners[i]->asks_map = many[i] == VMAFGPU_OK ? 0 : owners[i]->asks_map;
    if (call->kind == EDIT_BEGIN) {
        l->base = got != recorded ? UNKNOWN : got != VMAFGPU_OK ? NONE : is_exact ? SAME : UNKNOWN;
        if (l->base == SAME && take_whole(result) != UINT64_MAX)
            check_values(call->number, "base", 0, scores[0].values,
                         take(result, sizeof(double) * (size_t)vmafgpu_column_count(l->context)),
                         vmafgpu_column_count(l->context), l->context);
    }
    if (call->kind == PAIRS && is_exact && got == VMAFGPU_OK && recorded == VMAFGPU_OK) {
        const int columns = (int)take_whole(result);
        for (uint64_t i = 0; i < count && columns == vmafgpu_column_count(l->context); i++)
            check_values(call->number, "candidate", (int64_t)i, scores[i].values,
                         take(result, sizeof(double) * (size_t)columns), columns, l->context);
    }
    frames_free(&all);
}

/* ---- predictions, edits and maps ---- */

static void replay_predict(const record *call, live *l, int64_t recorded, reader *result) {
    reader r = call->rest;
    const uint64_t has_score = take_whole(&r);
    double *features = (double *)take_array(&r, UINT64_MAX);
    vmafgpu_score score;
    const vmafgpu_result got = vmafgpu_predict(l->context, features, has_score ? &score : NULL);
    check_result(call->number, "vmafgpu_predict", got, recorded);
    if (got == VMAFGPU_OK && recorded == VMAFGPU_OK && take_whole(result) != UINT64_MAX)
        check_values(call->number, "prediction", 0, score.values,
                     take(result, sizeof(double) * (size_t)vmafgpu_column_count(l->context)),
                     vmafgpu_column_count(l->context), l->context);
    free(features);
}

/* Compares the results of two calls on a base. Returns whether their outputs can be compared too. */
static int check_based(const record *call, live *l, const char *name, vmafgpu_result got, int64_t recorded) {
    if (l->base == EITHER && (got == VMAFGPU_ERROR_STATE || recorded == VMAFGPU_ERROR_STATE))
        l->base = got == (vmafgpu_result)recorded ? NONE : UNKNOWN;
    else if (l->base == EITHER)
        l->base = SAME;
    if (l->base == UNKNOWN)
        return 0;
    check_result(call->number, name, got, recorded);
    return got == recorded;
}

static int equal_doubles(const void *a, const void *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double x, y;
        memcpy(&x, (const double *)a + i, sizeof x);
        memcpy(&y, (const unsigned char *)b + i * sizeof y, sizeof y);
        if (memcmp(&x, &y, sizeof x) != 0 && (x == x || y == y))
            return 0;
    }
    return 1;
}

static void replay_edits(const record *call, live *l, int64_t recorded, reader *result) {
    const int columns = vmafgpu_column_count(l->context), is_try = call->kind == EDIT_TRY;
    reader r = call->rest;
    const uint64_t outputs = take_whole(&r), has_edits = take_whole(&r);
    const int64_t count = (int64_t)take_whole(&r);
    const size_t room = count > 0 && count < MOST_EDITS ? (size_t)count : 0;
    vmafgpu_edit *edits = (vmafgpu_edit *)calloc(room + 1, sizeof *edits);
    vmafgpu_edit_score *scores = (vmafgpu_edit_score *)calloc(room + 1, sizeof *scores), recorded_score;
    double *values = (double *)calloc((room + 1) * (size_t)columns, sizeof *values);
    vmafgpu_score score;
    vmafgpu_result got;
    int is_exact = 1;
    if (!edits || !scores || !values || count >= MOST_EDITS)
        end_badly("a call has too many edits (%lld)", (long long)count);
    for (size_t i = 0; has_edits && i < room; i++) {
        memcpy(&edits[i], take(&r, sizeof *edits), sizeof *edits);
        if (take_whole(&r) == 's') {
            edits[i].pitch = (ptrdiff_t)edits[i].width * l->config.bytes_per_sample;
            edits[i].data = take(&r, (uint64_t)(edits[i].pitch * edits[i].height));
            edits[i].memory = VMAFGPU_MEMORY_HOST;
        } else {
            is_exact &= edits[i].memory != VMAFGPU_MEMORY_DEVICE;
            edits[i].data = NULL; /* the rectangle or the memory is invalid, too */
        }
    }
    got = is_try ? vmafgpu_edit_try(l->context, has_edits ? edits : NULL, (int)count, outputs & 1 ? scores : NULL,
                                    outputs & 2 ? values : NULL)
                 : vmafgpu_edit_commit(l->context, has_edits ? edits : NULL, (int)count, &score);
    if (!is_exact && !is_try)
        l->base = l->base == NONE ? NONE : UNKNOWN;
    if (is_exact && check_based(call, l, is_try ? "vmafgpu_edit_try" : "vmafgpu_edit_commit", got, recorded)) {
        uint64_t size = take_whole(result);
        if (!is_try && size != UINT64_MAX)
            check_values(call->number, "base", 0, score.values, take(result, size), columns, l->context);
        for (size_t i = 0; is_try && size != UINT64_MAX && i < size / sizeof recorded_score; i++) {
            memcpy(&recorded_score, take(result, sizeof recorded_score), sizeof recorded_score);
            replay.edits++;
            if (scores[i].result != recorded_score.result || !equal_doubles(&scores[i], &recorded_score, 2) ||
                memcmp(&scores[i].sums, &recorded_score.sums, sizeof recorded_score.sums) != 0)
                differ(call->number, "edit %d: score %.17g, change %.17g, recorded: %.17g, %.17g", (int)i,
                       scores[i].score, scores[i].change, recorded_score.score, recorded_score.change);
        }
        size = is_try ? take_whole(result) : UINT64_MAX;
        for (size_t i = 0; size != UINT64_MAX && i < size / sizeof(double) / (size_t)columns; i++)
            check_values(call->number, "edit", (int64_t)i, values + i * (size_t)columns,
                         take(result, sizeof(double) * (size_t)columns), columns, l->context);
    }
    free(edits);
    free(scores);
    free(values);
}

static void replay_gradient(const record *call, live *l, int64_t recorded, reader *result) {
    reader r = call->rest;
    const uint64_t has_gradient = take_whole(&r);
    vmafgpu_gradient gradient;
    const vmafgpu_result got = vmafgpu_edit_gradient(l->context, has_gradient ? &gradient : NULL);
    if (check_based(call, l, "vmafgpu_edit_gradient", got, recorded) && got == VMAFGPU_OK &&
        take_whole(result) != UINT64_MAX &&
        !equal_doubles(&gradient, take(result, sizeof gradient), sizeof gradient / sizeof(double)))
        differ(call->number, "the gradient differs; its prediction is %.17g", gradient.prediction);
}

static void replay_blocks(const record *call, live *l, int64_t recorded, reader *result) {
    reader r = call->rest;
    const int size = (int)(int64_t)take_whole(&r);
    const uint64_t outputs = take_whole(&r);
    const size_t most = (size_t)(l->config.width / 4 + 1) * (size_t)(l->config.height / 4 + 1);
    vmafgpu_block *blocks = (vmafgpu_block *)calloc(most, sizeof *blocks);
    int across = 0, down = 0;
    vmafgpu_result got;
    if (!blocks)
        end_badly("out of memory");
    got = vmafgpu_edit_blocks(l->context, size, outputs & 1 ? blocks : NULL, outputs & 2 ? &across : NULL,
                              outputs & 2 ? &down : NULL);
    if (check_based(call, l, "vmafgpu_edit_blocks", got, recorded) && got == VMAFGPU_OK) {
        const uint64_t wide = take_whole(result), high = take_whole(result), hash = take_whole(result);
        replay.maps++;
        if (wide != (uint64_t)across || high != (uint64_t)down ||
            hash_of(blocks, outputs & 1 ? sizeof *blocks * (size_t)across * (size_t)down : 0) != hash)
            differ(call->number, "the blocks differ from the recorded ones");
    }
    free(blocks);
}

static void replay_slopes(const record *call, live *l, int64_t recorded, reader *result) {
    reader r = call->rest;
    const uint64_t address = take_whole(&r);
    const ptrdiff_t pitch = (ptrdiff_t)(int64_t)take_whole(&r), row = 4 * (ptrdiff_t)l->config.width;
    const vmafgpu_memory memory = (vmafgpu_memory)(int)(int64_t)take_whole(&r);
    const ptrdiff_t step = pitch < 0 ? -pitch : pitch ? pitch : row, bytes = step * (l->config.height - 1) + row;
    unsigned char *all, *start;
    vmafgpu_result got;
    if (step > 64 * row) { /* the call is refused, or needs too much memory */
        replay.skipped++;
        return;
    }
    all = (unsigned char *)calloc(1, (size_t)bytes + 64);
    if (!all)
        end_badly("out of memory");
    start = all + address % 4 + (pitch < 0 ? step * (l->config.height - 1) : 0);
    got = vmafgpu_edit_slopes(l->context, address ? (float *)(void *)start : NULL, pitch, memory);
    if (check_based(call, l, "vmafgpu_edit_slopes", got, recorded) && got == VMAFGPU_OK) {
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int y = 0; y < l->config.height; y++)
            for (ptrdiff_t x = 0; x < row; x++)
                hash = (hash ^ start[y * (pitch ? pitch : row) + x]) * 0x100000001b3u;
        replay.maps++;
        if (hash != take_whole(result))
            differ(call->number, "the slopes differ from the recorded ones");
    }
    free(all);
}

static void replay_map(const record *call, live *l, int64_t recorded) {
    reader r = call->rest;
    const uint64_t address = take_whole(&r);
    int is_of_gpu;
    vmafgpu_memory memory;
    vmafgpu_result got;
    (void)take_whole(&r);
    memory = (vmafgpu_memory)(int)(int64_t)take_whole(&r);
    is_of_gpu = memory == VMAFGPU_MEMORY_DEVICE && l->config.map_block_size;
    if (is_of_machine(recorded) || (is_of_gpu && recorded != VMAFGPU_OK)) {
        replay.skipped++;
        return;
    }
    got = vmafgpu_request_map(l->context, address ? (float *)(void *)((char *)l->map + address % 4) : NULL,
                              is_of_gpu || memory == VMAFGPU_MEMORY_PINNED ? VMAFGPU_MEMORY_HOST : memory);
    check_result(call->number, "vmafgpu_request_map", got, recorded);
    if (got == VMAFGPU_OK)
        l->asks_map = address != 0;
}

static void replay_call(const record *call, reader after) {
    record result;
    live *l = find_context(call->context);
    int64_t recorded = VMAFGPU_OK;
    const int has_result = call->kind == CLOSE || find_result(call->number, after, &result);
    if (!has_result)
        printf("call %llu: the recording process ended in this call\n", (unsigned long long)call->number);
    else if (call->kind != CLOSE)
        recorded = (int64_t)take_whole(&result.rest);
    replay.calls++;
    if (call->kind == OPEN) {
        replay_open(call, has_result ? result.context : 0, recorded);
        return;
    }
    if (!l)
        return;
    if (call->kind == PREDICT || (call->kind >= EDIT_TRY && call->kind <= EDIT_SLOPES)) {
        if (is_of_machine(recorded) || !has_result) {
            replay.skipped++;
            l->base = UNKNOWN;
            return;
        }
    }
    switch (call->kind) {
    case CLOSE:
        vmafgpu_close(l->context);
        l->context = NULL;
        break;
    case RESET:
        check_result(call->number, "vmafgpu_reset", vmafgpu_reset(l->context), recorded);
        l->is_inexact = 0;
        l->acquired_count = l->asks_map = 0;
        l->base = l->base == SAME ? EITHER : l->base;
        break;
    case ACQUIRE: replay_acquire(call, l, has_result ? recorded : VMAFGPU_AGAIN, &result.rest); break;
    case PREDICT: replay_predict(call, l, recorded, &result.rest); break;
    case EDIT_TRY:
    case EDIT_COMMIT: replay_edits(call, l, recorded, &result.rest); break;
    case EDIT_GRADIENT: replay_gradient(call, l, recorded, &result.rest); break;
    case EDIT_BLOCKS: replay_blocks(call, l, recorded, &result.rest); break;
    case EDIT_SLOPES: replay_slopes(call, l, recorded, &result.rest); break;
    case MAP: replay_map(call, l, recorded); break;
    case FLUSH: {
        const vmafgpu_result got = vmafgpu_flush(l->context);
        if (!l->is_inexact && !is_of_machine(recorded) && recorded != VMAFGPU_ERROR_FRAME)
            check_result(call->number, "vmafgpu_flush", got, recorded);
        if (has_result)
            check_clip(call, l, &result.rest);
        break;
    }
    default: replay_frames(call, l, recorded, has_result ? &result.rest : &after); break;
    }
}

int main(int argc, char **argv) {
    static const char *const backends[] = { "auto", "cpu", "cuda", "hip" };
    reader r;
    replay.changes.backend = VMAFGPU_BACKEND_CPU;
    if (argc < 2 || argc % 2)
        end_badly("usage: replay FILE [--backend cpu|cuda|hip] [--driver PATH] [--kernels PATH] [--threads N] "
                  "[--cpumask N]");
    for (int i = 2; i + 1 < argc; i += 2) {
        int backend = 3;
        while (backend > 0 && strcmp(argv[i + 1], backends[backend]) != 0)
            backend--;
        if (strcmp(argv[i], "--backend") == 0 && backend > 0)
            replay.changes.backend = (vmafgpu_backend)backend;
        else if (strcmp(argv[i], "--driver") == 0)
            replay.changes.gpu.driver_path = argv[i + 1];
        else if (strcmp(argv[i], "--kernels") == 0)
            replay.changes.gpu.kernels_path = argv[i + 1];
        else if (strcmp(argv[i], "--threads") == 0)
            replay.changes.threads = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--cpumask") == 0)
            replay.changes.cpumask = (unsigned)strtoul(argv[i + 1], NULL, 0), replay.has_cpumask = 1;
        else
            end_badly("unknown option or value (%s %s)", argv[i], argv[i + 1]);
    }
    load(argv[1]);
    r.at = replay.bytes + HEAD;
    r.end = replay.bytes + replay.size;
    while (r.at < r.end) {
        const record call = take_record(&r);
        if (call.kind < OPEN || call.kind > STOP)
            end_badly("the file is damaged: unknown kind of record (%llu)", (unsigned long long)call.kind);
        if (call.kind == STOP)
            printf("the recording ends here, because the file has reached its largest size\n");
        else if (call.kind != RESULT)
            replay_call(&call, r);
    }
    printf("replay: %ld calls, %ld skipped; %ld values, %ld edits, %ld maps and slopes compared, %ld clips not "
           "compared; %ld differences\n",
           replay.calls, replay.skipped, replay.scores, replay.edits, replay.maps, replay.inexact, replay.differences);
    return replay.differences != 0;
}
