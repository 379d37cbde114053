/* Replays the calls recorded in a file by a build with VMAFGPU_RECORD, and compares every result and score.
 *
 *     replay FILE [--backend cpu|cuda|hip] [--driver PATH] [--kernels PATH] [--threads N] [--cpumask N]
 *
 * The default backend is the CPU. The exit status is 0 if all results are equal, 1 if a result differs, and 2 if the
 * file cannot be replayed. A clip with frames that the file does not contain (in GPU memory, or stored as hashes) gets
 * generated frames; its scores are not compared. */
#include "../vmafgpu.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of records: VMAFGPU__RECORD_OPEN and so on in vmafgpu.h. */
enum { OPEN = 1, CLOSE, RESET, PUSH, MANY, PRECEDING, FOLLOWING, FLUSH, PAIRS, RESULT, STOP };
enum { HEAD = 40, MOST_CONTEXTS = 256, MOST_MODELS = 16, MOST_FEATURES = 32, MOST_FRAMES = 64, SHOWN = 20 };

typedef struct live {
    uint64_t id; /* address of the recorded context */
    vmafgpu *context;
    vmafgpu_config config;
    int is_inexact; /* scores of the clip cannot be compared */
} live;

static struct {
    unsigned char *bytes;
    uint64_t size;
    live contexts[MOST_CONTEXTS];
    vmafgpu_config changes; /* backend, gpu.driver_path, gpu.kernels_path, threads, cpumask */
    int has_cpumask;
    long calls, scores, differences, inexact;
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
    if (size < HEAD || memcmp(replay.bytes, "vmafgpu record 1", 16) != 0)
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
    unsigned char *memory[MOST_FRAMES];
    int count;
} frames;

/* Reads a frame into memory of its own. *is_exact becomes 0 if its samples are not in the file. */
static const vmafgpu_frame *take_frame(reader *r, const vmafgpu_config *c, frames *all, int *is_exact) {
    static const int pixel_sizes[] = { 0, 4, 4, 3, 4, 8 };
    vmafgpu_frame *f = &all->frame[all->count];
    const size_t bytes = (size_t)c->bytes_per_sample;
    uint64_t content, with_chroma, sizes[3] = { 0, 0, 0 }, rows[3] = { 0, 0, 0 }, total = 0;
    if (all->count == MOST_FRAMES)
        end_badly("the file is damaged: a call has too many frames");
    memcpy(f, take(r, sizeof *f), sizeof *f);
    all->memory[all->count++] = NULL;
    content = take_whole(r);
    if (content == '-' && (f->memory == VMAFGPU_MEMORY_HOST || f->memory == VMAFGPU_MEMORY_PINNED)) {
        memset(f, 0, sizeof *f); /* an invalid frame: the call must fail */
        return f;
    }
    with_chroma = content == '-' ? c->chroma != VMAFGPU_CHROMA_400 : take_whole(r);
    if ((unsigned)f->pixels > VMAFGPU_PIXELS_RGBA16F)
        end_badly("the file is damaged: a frame has unknown pixels");
    if (f->pixels) {
        sizes[0] = (uint64_t)(pixel_sizes[f->pixels] * c->width);
        rows[0] = (uint64_t)c->height;
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
    c.models = count ? models : NULL;
    for (uint64_t i = 0; i < count; i++) {
        vmafgpu_model_config *m = &models[i < MOST_MODELS ? i : 0];
        const char *version, *own;
        memcpy(m, take(&r, sizeof *m), sizeof *m);
        version = take_text(&r);
        own = take_text(&r);
        m->version = version ? version : own;
        m->model = NULL;
        m->name = take_text(&r);
        m->options = take_text(&r);
        if (own && !vmafgpu_builtin_model(own))
            end_badly("call %llu: the file does not contain the model '%s', which is not built in",
                      (unsigned long long)call->number, own);
    }
    count = take_whole(&r);
    c.features = count ? features : NULL;
    for (uint64_t i = 0; i < count; i++) {
        features[i < MOST_FEATURES ? i : 0].name = take_text(&r);
        features[i < MOST_FEATURES ? i : 0].options = take_text(&r);
    }
    c.on_score = c.on_score || c.discard_scores ? ignore_score : NULL;
    c.on_heatmap = c.on_heatmap ? ignore_map : NULL;
    c.on_log = NULL;
    c.on_reusable = NULL;
    c.parallel_for = NULL;
    memset(&c.allocator, 0, sizeof c.allocator);
    memset(&c.gpu, 0, sizeof c.gpu);
    c.backend = replay.changes.backend;
    c.gpu.driver_path = replay.changes.gpu.driver_path;
    c.gpu.kernels_path = replay.changes.gpu.kernels_path;
    c.gpu.skip_self_test = 1;
    c.threads = replay.changes.threads ? replay.changes.threads : c.threads;
    c.cpumask = replay.has_cpumask ? replay.changes.cpumask : c.cpumask;
    if (recorded != VMAFGPU_OK)
        return; /* many reasons lie in the machine, and no later call uses the context */
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
            memset(l, 0, sizeof *l);
            l->id = id;
            l->context = context;
            l->config = *vmafgpu_get_config(context);
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
        double failure;
        memcpy(&failure, row + sizeof failure * columns, sizeof failure);
        if (failure != 0)
            continue;
        if (vmafgpu_score_at(l->context, (int64_t)i * l->config.subsample, &score) == VMAFGPU_OK)
            check_values(call->number, "frame", score.index, score.values, row, (int)columns, l->context);
        else
            differ(call->number, "frame %llu has no score", (unsigned long long)i);
    }
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
                                         "vmafgpu_score_candidates" };
    static frames all;
    reader r = call->rest;
    const uint64_t count = take_whole(&r), has_previous = take_whole(&r);
    vmafgpu *contexts[MOST_FRAMES];
    vmafgpu_frame distorted[MOST_FRAMES];
    vmafgpu_score scores[MOST_FRAMES];
    const vmafgpu_frame *reference, *previous;
    vmafgpu_result got = VMAFGPU_OK;
    int is_exact = 1, is_valid;
    if (count >= MOST_FRAMES - 2)
        end_badly("the file is damaged: a call has too many frames");
    for (uint64_t i = 0; i < count && call->kind == MANY; i++) {
        live *each = find_context(take_whole(&r));
        contexts[i] = each ? each->context : NULL;
        if (recorded != VMAFGPU_OK && each)
            each->is_inexact = 1; /* some of the contexts may have accepted the pair */
    }
    reference = take_frame(&r, &l->config, &all, &is_exact);
    for (uint64_t i = 0; i < count; i++)
        distorted[i] = *take_frame(&r, &l->config, &all, &is_exact);
    previous = has_previous ? take_frame(&r, &l->config, &all, &is_exact) : NULL;
    is_valid = reference->data[0] != NULL;
    for (uint64_t i = 0; i < count; i++)
        is_valid = is_valid && distorted[i].data[0];
    if (is_of_machine(recorded)) {
        l->is_inexact |= call->kind != PAIRS;
    } else if (recorded == VMAFGPU_ERROR_ARGUMENT && is_valid) {
        /* the reason is not in the file, for example frames of another acquired pair; the call has changed nothing */
    } else if (recorded != VMAFGPU_AGAIN && recorded != VMAFGPU_ERROR_UNREAD_SCORES &&
               recorded != VMAFGPU_ERROR_STATE) {
        switch (call->kind) {
        case PUSH: got = vmafgpu_push(l->context, reference, &distorted[0]); break;
        case MANY: got = vmafgpu_push_many(contexts, (int)count, reference, distorted, NULL); break;
        case PRECEDING: got = vmafgpu_push_preceding(l->context, reference); break;
        case FOLLOWING: got = vmafgpu_push_following(l->context, reference); break;
        default: got = vmafgpu_score_candidates(l->context, reference, distorted, (int)count, previous, scores); break;
        }
        if (is_exact)
            check_result(call->number, names[call->kind], got, recorded);
        l->is_inexact |= !is_exact && call->kind != PAIRS;
        if (call->kind == PAIRS && is_exact && got == VMAFGPU_OK && recorded == VMAFGPU_OK) {
            const int columns = (int)take_whole(result);
            for (uint64_t i = 0; i < count && columns == vmafgpu_column_count(l->context); i++)
                check_values(call->number, "candidate", (int64_t)i, scores[i].values,
                             take(result, sizeof(double) * (size_t)columns), columns, l->context);
        }
    }
    frames_free(&all);
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
    switch (call->kind) {
    case CLOSE:
        vmafgpu_close(l->context);
        l->context = NULL;
        break;
    case RESET:
        check_result(call->number, "vmafgpu_reset", vmafgpu_reset(l->context), recorded);
        l->is_inexact = 0;
        break;
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
    printf("replay: %ld calls, %ld values compared, %ld clips not compared, %ld differences\n", replay.calls,
           replay.scores, replay.inexact, replay.differences);
    return replay.differences != 0;
}
