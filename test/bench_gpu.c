/* The GPU benchmark: frames per second with frames in device, pinned and pageable memory, the latency of one pair, the
 * cost of RGB frames, edits per second, slopes of samples, and the time to open a context. Except in the parts `pixels`
 * and `maps`, it compares the scores with those of the CPU, bit for bit. Without a GPU it prints one line and succeeds.
 * test/bench/README.md explains the table.
 *
 *     bench_gpu [KEY=VALUE ...]
 *         only=open|speed|latency|pixels|edits|maps|slopes   one part; default: all
 *         size=1920x1080 bits=8 source=device|pinned|pageable     default: all of these
 *         batch=N queue=N             config.gpu.batch and .queue_depth; default: chosen by the library
 *         model=vmaf_v0.6.1           a built-in model, or `none` to compute only features
 *         features='NAME[ OPTIONS]|...'   additional features; the frames then have chroma
 *         content=texture+mix         see test/clip.h; with bands+mix, CAMBI takes longer
 *         pairs=8                     number of distinct frame pairs, which are used in rotation
 *         seconds=0.5 repeats=5       length of a timed run, and number of runs; results are medians
 *         frames=N                    length of a timed run in frames instead of seconds
 *         check=3                     number of pairs whose scores are compared with those of the CPU
 *         gpu=N kernels=FILE driver=FILE
 *         threads=N                   config.gpu.copy_threads, the number of threads that copy pageable frames
 *         side=N                      width and height of edits; default: 16, 64 and 128
 *         devices=2                   number of GPUs, starting at gpu=N; each holds all device frames
 *         peer=PROGRAM                a program to compare with; default: VMAF_CUDA_BENCH in the environment. It is
 *                                     called as PROGRAM WIDTH HEIGHT BITS FRAMES. The first number in its last output
 *                                     line is its frames per second
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, popen, sysconf */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "bench.h"
#include "clip.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_PAIRS = 64,
    MAX_DEVICES = 16,
    MAX_FEATURES = 16,
    MAX_REPEATS = 99,
    COPY_STREAMS = 2,
    SLOPES_RING = 32,
    LATENCY_RUNS = 400,
    LATENCY_WARM_UP = 40
};

/* Prints the message and exits. Memory is not freed. */
static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("bench_gpu: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void *allocate(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (!memory)
        die("no memory");
    return memory;
}

/* ------------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------------ */

typedef enum source { SOURCE_DEVICE, SOURCE_PINNED, SOURCE_PAGEABLE, SOURCE_COUNT } source;

static const char *const source_names[SOURCE_COUNT] = { "device", "pinned", "pageable" };
static const vmafgpu_memory source_kinds[SOURCE_COUNT] = { VMAFGPU_MEMORY_DEVICE, VMAFGPU_MEMORY_PINNED,
                                                           VMAFGPU_MEMORY_HOST };

typedef struct options {
    int width, height, bits; /* 0: all */
    int source;              /* SOURCE_COUNT: all sources */
    int batch, queue, pairs, repeats, frames, check, gpu, devices, threads, side;
    double seconds;
    const char *only, *kernels, *driver, *peer, *model, *content, *features;
} options;

static int parse_number(const char *word, const char *key, int low, int high, int *number) {
    const char *value = value_of(word, key);
    char *end = NULL;
    long parsed = value ? strtol(value, &end, 10) : 0;
    if (value && (end == value || *end || parsed < low || parsed > high))
        die("%s needs a number from %d to %d, not \"%s\"", key, low, high, value);
    *number = value ? (int)parsed : *number;
    return value != NULL;
}

static int parse_text(const char *word, const char *key, const char **text) {
    const char *value = value_of(word, key);
    *text = value ? value : *text;
    return value != NULL;
}

static int parse_special(options *o, const char *word) {
    const char *value;
    if ((value = value_of(word, "size")) != NULL)
        return sscanf(value, "%dx%d", &o->width, &o->height) == 2;
    if ((value = value_of(word, "seconds")) != NULL)
        return (o->seconds = atof(value)) >= 0;
    if ((value = value_of(word, "source")) != NULL) {
        for (o->source = 0; o->source < SOURCE_COUNT && strcmp(value, source_names[o->source]) != 0;)
            o->source++;
        return o->source < SOURCE_COUNT;
    }
    return 0;
}

static options parse_options(int argc, char **argv) {
    options o = {
        0,   0, 0, SOURCE_COUNT, 0, 0, 8, 5, 0, 3, 0, 1, 0, 0, 0.5, "", NULL, NULL, NULL, "vmaf_v0.6.1", "texture+mix",
        NULL
    };
    o.peer = getenv("VMAF_CUDA_BENCH");
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!parse_number(word, "bits", 8, 16, &o.bits) && !parse_number(word, "batch", 0, 32, &o.batch) &&
            !parse_number(word, "queue", 0, 8, &o.queue) && !parse_number(word, "pairs", 1, MAX_PAIRS, &o.pairs) &&
            !parse_number(word, "repeats", 1, MAX_REPEATS, &o.repeats) &&
            !parse_number(word, "frames", 0, 100000000, &o.frames) &&
            !parse_number(word, "check", 0, MAX_PAIRS, &o.check) && !parse_number(word, "gpu", 0, 255, &o.gpu) &&
            !parse_number(word, "devices", 1, MAX_DEVICES, &o.devices) &&
            !parse_number(word, "threads", 0, 256, &o.threads) && !parse_number(word, "side", 1, 256, &o.side) &&
            !parse_text(word, "kernels", &o.kernels) && !parse_text(word, "driver", &o.driver) &&
            !parse_text(word, "peer", &o.peer) && !parse_text(word, "only", &o.only) &&
            !parse_text(word, "model", &o.model) && !parse_text(word, "content", &o.content) &&
            !parse_text(word, "features", &o.features) && !parse_special(&o, word)) {
            die("\"%s\" is not an option or has an invalid value; see the top of test/bench_gpu.c", word);
        }
    }
    o.check = o.check < o.pairs ? o.check : o.pairs;
    return o;
}

static int is_wanted(const options *o, const char *part) {
    return !*o->only || strcmp(o->only, part) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * CUDA for the frames of the benchmark, without the toolkit
 * ------------------------------------------------------------------------------------------------ */

#define CUDA_FUNCTIONS(X) \
    X(init, "cuInit", (unsigned flags)) \
    X(device_get, "cuDeviceGet", (int *device, int ordinal)) \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device)) \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device)) \
    X(context_push, "cuCtxPushCurrent_v2", (void *context)) \
    X(context_pop, "cuCtxPopCurrent_v2", (void **context)) \
    X(memory_allocate, "cuMemAlloc_v2", (uint64_t *address, size_t size)) \
    X(memory_free, "cuMemFree_v2", (uint64_t address)) \
    X(pinned_allocate, "cuMemHostAlloc", (void **pointer, size_t size, unsigned flags)) \
    X(pinned_free, "cuMemFreeHost", (void *pointer)) \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags)) \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream)) \
    X(stream_wait, "cuStreamSynchronize", (void *stream)) \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (uint64_t to, const void *from, size_t size, void *stream)) \
    X(copy_rows, "cuMemcpy2DAsync_v2", (const vmafgpu__copy_rows *what, void *stream)) \
    X(array_create, "cuArray3DCreate_v2", (void **array, const vmafgpu__array_shape *shape)) \
    X(array_destroy, "cuArrayDestroy", (void *array)) \
    X(surface_create, "cuSurfObjectCreate", (uint64_t *surface, const vmafgpu__resource *resource)) \
    X(surface_destroy, "cuSurfObjectDestroy", (uint64_t surface)) \
    X(event_create, "cuEventCreate", (void **event, unsigned flags)) \
    X(event_destroy, "cuEventDestroy_v2", (void *event)) \
    X(event_record, "cuEventRecord", (void *event, void *stream)) \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, void *from, void *to))

typedef struct cuda {
#define CUDA_FIELD(name, symbol, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
    void *library, *context, *streams[COPY_STREAMS];
    int device;
} cuda;

#define CUDA_CALL(c, name, arguments) \
    do { \
        int error_ = (c)->name arguments; \
        if (error_ != 0) { \
            die("line %d: " #name " returned %d", __LINE__, error_); \
        } \
    } while (0)

static void cuda_open(cuda *c, const options *o, int device) {
    memset(c, 0, sizeof *c);
    c->library = dlopen(o->driver ? o->driver : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!c->library)
        die("the driver cannot be loaded");
#define CUDA_FIND(name, symbol, arguments) \
    { \
        void *function = dlsym(c->library, symbol); \
        if (!function) { \
            die("the driver has no %s", symbol); \
        } \
        memcpy(&c->name, &function, sizeof function); \
    }
    CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
    CUDA_CALL(c, init, (0));
    CUDA_CALL(c, device_get, (&c->device, device));
    CUDA_CALL(c, context_retain, (&c->context, c->device));
    CUDA_CALL(c, context_push, (c->context));
    for (int i = 0; i < COPY_STREAMS; i++)
        CUDA_CALL(c, stream_create, (&c->streams[i], 1)); /* 1: does not wait for the default stream */
}

static void cuda_close(cuda *c) {
    void *context;
    for (int i = 0; i < COPY_STREAMS; i++)
        CUDA_CALL(c, stream_destroy, (c->streams[i]));
    CUDA_CALL(c, context_pop, (&context));
    CUDA_CALL(c, context_release, (c->device));
    dlclose(c->library);
}

/* ------------------------------------------------------------------------------------------------
 * Scores: stored for the comparison with the CPU, and compared between laps of the rotation
 * ------------------------------------------------------------------------------------------------ */

typedef struct sink {
    int columns, pairs;
    double *kept; /* scores of the first kept_rows frames */
    int64_t kept_rows;
    double *lap; /* scores of the second lap, one row per pair; NULL if laps are not compared */
    char has_lap[MAX_PAIRS];
    /* number of frames in the clip; the scores of the last frame differ because motion has no next frame there */
    int64_t frames;
    int64_t compared, differing, failed;
} sink;

static void on_score(void *user, const vmafgpu_score *score) {
    sink *s = (sink *)user;
    size_t row = (size_t)s->columns * sizeof(double);
    if (score->result != VMAFGPU_OK) {
        s->failed++;
        return;
    }
    if (score->index < s->kept_rows)
        memcpy(s->kept + score->index * s->columns, score->values, row);
    if (s->lap && score->index >= s->pairs && score->index != s->frames - 1) {
        int pair = (int)(score->index % s->pairs);
        double *known = s->lap + (size_t)pair * (size_t)s->columns;
        if (s->has_lap[pair]) {
            s->compared++;
            s->differing += memcmp(known, score->values, row) != 0;
        } else {
            memcpy(known, score->values, row);
            s->has_lap[pair] = 1;
        }
    }
}

static vmafgpu *open_or_die(const vmafgpu_config *config) {
    vmafgpu *v = NULL;
    if (vmafgpu_open(&v, config) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    return v;
}

/* ------------------------------------------------------------------------------------------------
 * Films: distinct frame pairs of one size and depth, with the CPU's scores of the first pairs
 * ------------------------------------------------------------------------------------------------ */

typedef struct film {
    clip clip;
    vmafgpu_model_config model;
    vmafgpu_feature_config features[MAX_FEATURES];
    int feature_count;
    char text[512]; /* names and options of all features */
    int pairs, sample_bytes;
    size_t row_bytes[3], plane_at[3], size; /* tightly packed, one plane after the other */
    unsigned char *pictures[MAX_PAIRS][2];
    /* next: index of the next picture to make. The threads that make the pictures share `next` and `failed`. */
    int next, failed;
    pthread_mutex_t lock;
    int columns, check;
    double *rows; /* scores that the CPU has computed for the first pairs: [check][columns] */
} film;

static void *make_pictures(void *argument) {
    film *f = (film *)argument;
    uint16_t *words = (uint16_t *)malloc(clip_plane_samples(&f->clip, 0) * sizeof *words);
    for (;;) {
        int ok = words != NULL, picture;
        pthread_mutex_lock(&f->lock);
        picture = f->next++;
        pthread_mutex_unlock(&f->lock);
        if (picture >= 2 * f->pairs)
            break;
        for (int i = 0; i < clip_plane_count(&f->clip) && ok; i++) {
            ok = clip_plane(&f->clip, picture / 2, picture % 2, i, words);
            if (ok) {
                clip_store(words, clip_plane_samples(&f->clip, i), f->sample_bytes,
                           f->pictures[picture / 2][picture % 2] + f->plane_at[i]);
            }
        }
        f->failed |= !ok;
    }
    free(words);
    return NULL;
}

static int processors(int most) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > most ? most : (int)count;
}

static vmafgpu_config film_config(const film *f) {
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = f->clip.width;
    config.height = f->clip.height;
    config.bit_depth = f->clip.depth;
    config.chroma = f->clip.chroma == 400 ? VMAFGPU_CHROMA_400 : VMAFGPU_CHROMA_420;
    config.features_only = !f->model.version;
    config.models = f->model.version ? &f->model : NULL;
    config.model_count = f->model.version != NULL;
    config.features = f->feature_count ? f->features : NULL;
    config.feature_count = f->feature_count;
    return config;
}

static vmafgpu_frame host_frame(const film *f, int pair, int side) {
    vmafgpu_frame frame;
    memset(&frame, 0, sizeof frame);
    for (int i = 0; i < clip_plane_count(&f->clip); i++)
        frame.data[i] = f->pictures[pair][side] + f->plane_at[i];
    return frame;
}

/* Scores the first pairs on the CPU. */
static void score_on_cpu(film *f) {
    vmafgpu_config config = film_config(f);
    sink s;
    vmafgpu *v;
    memset(&s, 0, sizeof s);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.threads = processors(64);
    config.on_score = on_score;
    config.on_score_user = &s;
    v = open_or_die(&config);
    f->columns = s.columns = vmafgpu_column_count(v);
    f->rows = s.kept = (double *)allocate((size_t)(f->check * f->columns) * sizeof(double));
    s.kept_rows = f->check;
    s.pairs = f->pairs;
    for (int i = 0; i < f->check; i++) {
        vmafgpu_frame reference = host_frame(f, i, 0), distorted = host_frame(f, i, 1);
        if (vmafgpu_push(v, &reference, &distorted) != VMAFGPU_OK)
            die("CPU: %s", vmafgpu_last_error(v));
    }
    if (vmafgpu_flush(v) != VMAFGPU_OK)
        die("CPU: %s", vmafgpu_last_error(v));
    vmafgpu_close(v);
}

static void list_features(film *f, const char *list) {
    if (list && strlen(list) >= sizeof f->text)
        die("the list of features is too long");
    for (char *at = list ? strcpy(f->text, list) : NULL, *bar; at; at = bar) {
        char *blank = strchr(at, ' ');
        bar = strchr(at, '|');
        if (bar)
            *bar++ = 0;
        if (f->feature_count == MAX_FEATURES)
            die("more than %d features", MAX_FEATURES);
        f->features[f->feature_count].name = at;
        if (blank && (!bar || blank < bar)) {
            *blank = 0;
            f->features[f->feature_count].options = blank + 1;
        }
        f->feature_count++;
    }
}

static film *film_make(int width, int height, int bits, const options *o) {
    film *f = (film *)allocate(sizeof *f);
    pthread_t threads[MAX_PAIRS];
    int count = processors(MAX_PAIRS);
    memset(f, 0, sizeof *f);
    f->pairs = o->pairs;
    f->check = o->check;
    f->model.version = strcmp(o->model, "none") == 0 ? NULL : o->model;
    list_features(f, o->features);
    if (!clip_init(&f->clip, o->content, width, height, bits,
                   o->features || strncmp(o->model, "vmaf_v1", 7) == 0 ? 420 : 400, o->pairs, 1)) {
        die("invalid content, size or bits (%s, %dx%d, %d)", o->content, width, height, bits);
    }
    f->sample_bytes = bits > 8 ? 2 : 1;
    for (int i = 0; i < clip_plane_count(&f->clip); i++) {
        f->row_bytes[i] = (size_t)clip_plane_width(&f->clip, i) * (size_t)f->sample_bytes;
        f->plane_at[i] = f->size;
        f->size += f->row_bytes[i] * (size_t)clip_plane_height(&f->clip, i);
    }
    for (int i = 0; i < 2 * f->pairs; i++)
        f->pictures[i / 2][i % 2] = (unsigned char *)allocate(f->size);
    pthread_mutex_init(&f->lock, NULL);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, make_pictures, f) != 0)
            die("no thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    if (f->failed)
        die("no memory");
    score_on_cpu(f);
    return f;
}

static void film_free(film *f) {
    for (int i = 0; i < 2 * f->pairs; i++)
        free(f->pictures[i / 2][i % 2]);
    pthread_mutex_destroy(&f->lock);
    free(f->rows);
    free(f);
}

/* ------------------------------------------------------------------------------------------------
 * Reels: films in the kind of memory that a case needs
 * ------------------------------------------------------------------------------------------------ */

typedef struct reel {
    const film *film;
    cuda *cuda;
    source source;
    vmafgpu_frame frames[MAX_PAIRS][2];
    uint64_t device[MAX_PAIRS][2];
    void *pinned[MAX_PAIRS][2];
} reel;

/* Returns a pitch like those of decoders and cuMemAllocPitch(). */
static size_t device_pitch(const film *f, int plane) {
    return (f->row_bytes[plane] + 255) / 256 * 256;
}

static void to_device(reel *r, int pair, int side) {
    const film *f = r->film;
    size_t size = 0, at = 0;
    unsigned char *padded;
    for (int i = 0; i < clip_plane_count(&f->clip); i++)
        size += device_pitch(f, i) * (size_t)clip_plane_height(&f->clip, i);
    padded = (unsigned char *)allocate(size);
    memset(padded, 0, size);
    CUDA_CALL(r->cuda, memory_allocate, (&r->device[pair][side], size));
    for (int i = 0; i < clip_plane_count(&f->clip); i++) {
        const size_t pitch = device_pitch(f, i);
        r->frames[pair][side].data[i] = (const void *)(uintptr_t)(r->device[pair][side] + at);
        r->frames[pair][side].pitch[i] = (ptrdiff_t)pitch;
        for (int y = 0; y < clip_plane_height(&f->clip, i); y++, at += pitch) {
            memcpy(padded + at, f->pictures[pair][side] + f->plane_at[i] + (size_t)y * f->row_bytes[i],
                   f->row_bytes[i]);
        }
    }
    CUDA_CALL(r->cuda, copy_in, (r->device[pair][side], padded, size, r->cuda->streams[0]));
    CUDA_CALL(r->cuda, stream_wait, (r->cuda->streams[0]));
    free(padded);
}

static void to_pinned(reel *r, int pair, int side) {
    const film *f = r->film;
    CUDA_CALL(r->cuda, pinned_allocate, (&r->pinned[pair][side], f->size, 0));
    memcpy(r->pinned[pair][side], f->pictures[pair][side], f->size);
    for (int i = 0; i < clip_plane_count(&f->clip); i++)
        r->frames[pair][side].data[i] = (unsigned char *)r->pinned[pair][side] + f->plane_at[i];
}

static void reel_open(reel *r, const film *f, cuda *c, source where) {
    void *before = NULL;
    CUDA_CALL(c, context_push, (c->context));
    memset(r, 0, sizeof *r);
    r->film = f;
    r->cuda = c;
    r->source = where;
    for (int i = 0; i < 2 * f->pairs; i++) {
        r->frames[i / 2][i % 2] = host_frame(f, i / 2, i % 2);
        r->frames[i / 2][i % 2].memory = source_kinds[where];
        if (where == SOURCE_DEVICE)
            to_device(r, i / 2, i % 2);
        else if (where == SOURCE_PINNED)
            to_pinned(r, i / 2, i % 2);
    }
    CUDA_CALL(c, context_pop, (&before));
}

static void reel_close(reel *r) {
    void *before = NULL;
    CUDA_CALL(r->cuda, context_push, (r->cuda->context));
    for (int i = 0; i < 2 * r->film->pairs; i++) {
        if (r->device[i / 2][i % 2])
            CUDA_CALL(r->cuda, memory_free, (r->device[i / 2][i % 2]));
        if (r->pinned[i / 2][i % 2])
            CUDA_CALL(r->cuda, pinned_free, (r->pinned[i / 2][i % 2]));
    }
    CUDA_CALL(r->cuda, context_pop, (&before));
}

/* ------------------------------------------------------------------------------------------------
 * Frames per second
 * ------------------------------------------------------------------------------------------------ */

static vmafgpu_config gpu_config(const film *f, const options *o) {
    vmafgpu_config config = film_config(f);
    config.backend = VMAFGPU_BACKEND_CUDA;
    config.gpu.device = o->gpu;
    config.gpu.batch = o->batch;
    config.gpu.queue_depth = o->queue;
    config.gpu.copy_threads = o->threads;
    config.gpu.kernels_path = o->kernels;
    config.gpu.driver_path = o->driver;
    return config;
}

/* Scores `frames` pairs, cycling through the pairs of the reel. Returns the seconds that elapse from the first push to
 * the last score. With several GPUs, r is an array with one reel per GPU. */
static double score_clip(vmafgpu *v, const reel *r, sink *s, int64_t frames) {
    double start;
    if (vmafgpu_reset(v) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    s->frames = frames;
    start = now();
    for (int64_t i = 0; i < frames; i++) {
        const int place = r->source == SOURCE_DEVICE ? vmafgpu_next_device(v) - r->cuda->device : 0;
        const vmafgpu_frame *pair = r[place].frames[i % r->film->pairs];
        if (vmafgpu_push(v, &pair[0], &pair[1]) != VMAFGPU_OK)
            die("%s", vmafgpu_last_error(v));
    }
    if (vmafgpu_flush(v) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    return now() - start;
}

/* Copies as many bytes from pinned memory as `frames` pairs contain, to all GPUs in turn, without scoring. Returns the
 * elapsed seconds. */
static double copy_clip(const reel *r, uint64_t (*targets)[COPY_STREAMS], int64_t frames, int devices) {
    void *context;
    double start = now();
    for (int64_t i = 0; i < frames; i++) {
        const int place = (int)(i % devices);
        const cuda *c = r[place].cuda;
        CUDA_CALL(c, context_push, (c->context));
        for (int side = 0; side < 2; side++) {
            CUDA_CALL(c, copy_in,
                      (targets[place][side], r[place].pinned[i % r->film->pairs][side], r->film->size,
                       c->streams[side % COPY_STREAMS]));
        }
        CUDA_CALL(c, context_pop, (&context));
    }
    for (int place = 0; place < devices; place++) {
        const cuda *c = r[place].cuda;
        CUDA_CALL(c, context_push, (c->context));
        for (int i = 0; i < COPY_STREAMS; i++)
            CUDA_CALL(c, stream_wait, (c->streams[i]));
        CUDA_CALL(c, context_pop, (&context));
    }
    return now() - start;
}

/* Allocates memory on each GPU for copy_clip(), or frees it. */
static void copy_targets(const reel *r, uint64_t (*targets)[COPY_STREAMS], int devices, int is_end) {
    void *context;
    for (int place = 0; place < devices; place++) {
        const cuda *c = r[place].cuda;
        CUDA_CALL(c, context_push, (c->context));
        for (int i = 0; i < COPY_STREAMS; i++)
            if (is_end)
                CUDA_CALL(c, memory_free, (targets[place][i]));
            else
                CUDA_CALL(c, memory_allocate, (&targets[place][i], r->film->size));
        CUDA_CALL(c, context_pop, (&context));
    }
}

/* Returns the number of pairs for a timed run: at least three laps, so that laps can be compared. Also warms up the
 * GPU. */
static int64_t choose_frames(vmafgpu *v, const reel *r, sink *s, const options *o) {
    int64_t least = 3 * r->film->pairs, frames = least;
    double seconds = score_clip(v, r, s, frames);
    if (o->frames)
        return o->frames;
    while (seconds < 0.2 * o->seconds) {
        frames *= 2;
        seconds = score_clip(v, r, s, frames);
    }
    frames = (int64_t)((double)frames / seconds * o->seconds);
    return frames < least ? least : frames;
}

/* Prints whether the scores are correct. Returns 0 if they are. */
static int report_scores(const vmafgpu *v, const sink *s, const film *f) {
    const char *problem = NULL;
    if (*vmafgpu_backend_note(v))
        problem = vmafgpu_backend_note(v);
    else if (s->failed)
        problem = "frames without a score";
    else if (memcmp(s->kept, f->rows, (size_t)(f->check * f->columns) * sizeof(double)) != 0)
        problem = "scores DIFFER from the CPU's";
    else if (s->differing)
        problem = "scores DIFFER from lap to lap";
    if (problem)
        printf("  %s\n", problem);
    else if (s->compared)
        printf("  equal scores: %d with the CPU, %lld between laps\n", f->check, (long long)s->compared);
    else
        printf("  equal scores: %d with the CPU\n", f->check);
    return problem != NULL;
}

/* Returns the frames per second of the peer program, or 0 if it fails. */
static double run_peer(const char *program, const film *f) {
    char command[1200], line[512], last[512] = "";
    const char *at = last;
    double pixels = (double)f->clip.width * f->clip.height;
    int frames = pixels * 6000 < 5e9 ? 6000 : (int)(5e9 / pixels);
    FILE *pipe;
    snprintf(command, sizeof command, "'%.1000s' %d %d %d %d", program, f->clip.width, f->clip.height, f->clip.depth,
             frames);
    pipe = popen(command, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        if (line[strspn(line, " \t\r\n")])
            memcpy(last, line, sizeof last);
    if (!pipe || pclose(pipe) != 0) {
        fprintf(stderr, "bench_gpu: \"%s\" failed\n", command);
        return 0;
    }
    at += strcspn(at, "0123456789");
    return strtod(at, NULL);
}

static void print_heading(void) {
    printf("\n%-10s %4s %-8s %10s %6s %9s %8s %7s %5s %5s  %10s %5s  %9s %6s\n", "size", "bits", "frames in",
           "frames/s", "+-%", "us/pair", "host us", "MB", "batch", "queue", "copies/s", "%", "peer/s", "times");
}

static int bench_speed(const film *f, cuda *c, source where, const options *o) {
    vmafgpu_config config = gpu_config(f, o);
    uint64_t targets[MAX_DEVICES][COPY_STREAMS];
    double speeds[MAX_REPEATS], copies[MAX_REPEATS], host[MAX_REPEATS], speed, spread, peer;
    char size[24];
    reel r[MAX_DEVICES];
    sink s;
    vmafgpu *v;
    int64_t frames;
    int differs, devices[MAX_DEVICES];
    for (int i = 0; i < o->devices; i++) {
        devices[i] = o->gpu + i;
        reel_open(&r[i], f, &c[i], where);
    }
    config.gpu.devices = devices;
    config.gpu.device_count = o->devices > 1 ? o->devices : 0;
    memset(&s, 0, sizeof s);
    config.gpu.frame_memory = source_kinds[where];
    config.discard_scores = 1;
    config.on_score = on_score;
    config.on_score_user = &s;
    v = open_or_die(&config);
    s.columns = f->columns;
    s.pairs = f->pairs;
    s.kept = (double *)allocate((size_t)(f->check * f->columns) * sizeof(double));
    s.kept_rows = f->check;
    score_clip(v, r, &s, f->check);
    s.kept_rows = 0;
    s.lap = (double *)allocate((size_t)(f->pairs * f->columns) * sizeof(double));
    frames = choose_frames(v, r, &s, o);
    if (where == SOURCE_PINNED)
        copy_targets(r, targets, o->devices, 0);
    for (int i = 0; i < o->repeats; i++) {
        double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        speeds[i] = (double)frames / score_clip(v, r, &s, frames);
        host[i] = 1e6 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor) / (double)frames;
        copies[i] = where == SOURCE_PINNED ? (double)frames / copy_clip(r, targets, frames, o->devices) : 0;
    }
    if (where == SOURCE_PINNED)
        copy_targets(r, targets, o->devices, 1);
    speed = median(speeds, o->repeats);
    spread = 50 * (speeds[o->repeats - 1] - speeds[0]) / speed; /* median() has sorted the speeds */
    snprintf(size, sizeof size, "%dx%d", f->clip.width, f->clip.height);
    printf("%-10s %4d %-8s  %10.1f %6.1f %9.2f %8.2f %7.1f %5d %5d", size, f->clip.depth, source_names[where], speed,
           spread, 1e6 / speed, median(host, o->repeats), (double)vmafgpu_device_memory(v) / 1e6,
           vmafgpu_get_config(v)->gpu.batch, vmafgpu_get_config(v)->gpu.queue_depth);
    if (where == SOURCE_PINNED)
        printf("  %10.1f %5.1f", median(copies, o->repeats), 100 * speed / median(copies, o->repeats));
    else
        printf("  %10s %5s", "-", "-");
    fflush(stdout);
    peer = o->peer && where == SOURCE_DEVICE ? run_peer(o->peer, f) : 0;
    if (peer > 0)
        printf("  %9.1f %6.2f", peer, speed / peer);
    else
        printf("  %9s %6s", "-", "-");
    differs = report_scores(v, &s, f);
    fflush(stdout);
    vmafgpu_close(v);
    for (int i = 0; i < o->devices; i++)
        reel_close(&r[i]);
    free(s.kept);
    free(s.lap);
    return differs;
}

/* ------------------------------------------------------------------------------------------------
 * Latency of single pairs
 * ------------------------------------------------------------------------------------------------ */

static int bench_latency(const film *f, cuda *c, const options *o) {
    vmafgpu_config config = gpu_config(f, o);
    double single[LATENCY_RUNS], pushed[LATENCY_RUNS];
    int runs = o->frames && o->frames < LATENCY_RUNS ? o->frames : LATENCY_RUNS;
    int warm_up = o->frames ? 1 : LATENCY_WARM_UP, differs;
    reel r;
    sink s;
    vmafgpu *v;
    reel_open(&r, f, c, SOURCE_DEVICE);
    memset(&s, 0, sizeof s);
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    config.gpu.batch = 1;
    config.discard_scores = 1;
    config.on_score = on_score;
    config.on_score_user = &s;
    v = open_or_die(&config);
    s.columns = f->columns;
    s.pairs = f->pairs;
    s.kept = (double *)allocate((size_t)(f->check * f->columns) * sizeof(double));
    s.kept_rows = f->check;
    score_clip(v, &r, &s, f->check);
    s.kept_rows = 0;
    for (int i = -warm_up; i < runs; i++) {
        int at = (i + warm_up) % f->pairs, before = (i + warm_up + f->pairs - 1) % f->pairs;
        vmafgpu_score score;
        double start = now();
        if (vmafgpu_score_pair(v, &r.frames[at][0], &r.frames[at][1], &r.frames[before][0], &score) != VMAFGPU_OK)
            die("%s", vmafgpu_last_error(v));
        single[i < 0 ? 0 : i] = 1e6 * (now() - start);
    }
    for (int i = -warm_up; i < runs; i++) {
        reel one = r;
        memcpy(one.frames[0], r.frames[(i + warm_up) % f->pairs], sizeof one.frames[0]);
        pushed[i < 0 ? 0 : i] = 1e6 * score_clip(v, &one, &s, 1);
    }
    printf(
        "%dx%d %d bits, single pair in device memory, from submission to score: vmafgpu_score_pair %.1f us (p90 %.1f), "
        "push + "
        "flush %.1f us (p90 %.1f)",
        f->clip.width, f->clip.height, f->clip.depth, median(single, runs), quantile(single, runs, 0.9),
        median(pushed, runs), quantile(pushed, runs, 0.9));
    differs = report_scores(v, &s, f);
    vmafgpu_close(v);
    reel_close(&r);
    free(s.kept);
    return differs;
}

/* ------------------------------------------------------------------------------------------------
 * Pixels: single live pairs of RGB frames, as render engines produce them
 * ------------------------------------------------------------------------------------------------ */

typedef struct pixel_kind {
    const char *name;
    vmafgpu_pixels pixels;
    int is_surface, size, format, channels; /* size: bytes per pixel; format and channels describe the CUarray */
} pixel_kind;

typedef struct pixel_frame {
    vmafgpu_frame frame;
    uint64_t linear, surface;
    void *array;
} pixel_frame;

/* Returns a picture whose red, green and blue are close to the luma of a film. */
static unsigned char *make_rgb(const film *f, const pixel_kind *kind, int pair, int side) {
    const size_t count = clip_plane_samples(&f->clip, 0);
    const unsigned char *luma = f->pictures[pair][side];
    unsigned char *out = (unsigned char *)allocate(count * (size_t)kind->size);
    for (size_t i = 0; i < count; i++) {
        /* the low byte of the sample, which is noise if samples are words */
        const unsigned value = luma[i * (size_t)f->sample_bytes];
        for (unsigned k = 0; k < 4; k++) {
            const unsigned sample = (value + 3 * k) & 255;
            if (kind->size == 8) { /* half floats from 0.5 to 1 */
                out[i * 8 + 2 * k] = (unsigned char)(sample << 2);
                out[i * 8 + 2 * k + 1] = (unsigned char)(0x38 | sample >> 6);
            } else if (kind->size == 4) {
                out[i * 4 + k] = (unsigned char)sample;
            }
        }
        if (kind->size == 1)
            out[i] = luma[i];
    }
    return out;
}

static void pixel_frame_make(pixel_frame *p, const film *f, cuda *c, const pixel_kind *kind, int pair, int side) {
    const size_t row = (size_t)f->clip.width * (size_t)kind->size, height = (size_t)f->clip.height;
    unsigned char *host = make_rgb(f, kind, pair, side);
    memset(p, 0, sizeof *p);
    if (kind->is_surface) {
        enum { HOST = 1, ARRAY = 3, FOR_SURFACES = 2 };
        const vmafgpu__array_shape shape = { (size_t)f->clip.width,    height,      0, kind->format,
                                             (unsigned)kind->channels, FOR_SURFACES };
        vmafgpu__resource resource;
        vmafgpu__copy_rows copy;
        CUDA_CALL(c, array_create, (&p->array, &shape));
        memset(&resource, 0, sizeof resource);
        resource.array = p->array;
        CUDA_CALL(c, surface_create, (&p->surface, &resource));
        memset(&copy, 0, sizeof copy);
        copy.source_kind = HOST;
        copy.source_host = host;
        copy.source_pitch = copy.width = row;
        copy.target_kind = ARRAY;
        copy.target_array = p->array;
        copy.height = height;
        CUDA_CALL(c, copy_rows, (&copy, c->streams[0]));
    } else {
        CUDA_CALL(c, memory_allocate, (&p->linear, row * height));
        CUDA_CALL(c, copy_in, (p->linear, host, row * height, c->streams[0]));
    }
    CUDA_CALL(c, stream_wait, (c->streams[0]));
    p->frame.pixels = kind->pixels;
    p->frame.memory = kind->is_surface ? VMAFGPU_MEMORY_SURFACE : VMAFGPU_MEMORY_DEVICE;
    p->frame.data[0] = (const void *)(uintptr_t)(kind->is_surface ? p->surface : p->linear);
    free(host);
}

static void pixel_frame_free(pixel_frame *p, cuda *c) {
    if (p->array) {
        CUDA_CALL(c, surface_destroy, (p->surface));
        CUDA_CALL(c, array_destroy, (p->array));
    } else {
        CUDA_CALL(c, memory_free, (p->linear));
    }
}

/* Pushes a pair. If `slopes` is not 0, requests its slopes in this device memory. */
static void push_with_slopes(vmafgpu *v, const vmafgpu_frame *pair, uint64_t slopes) {
    if ((slopes && vmafgpu_slopes_next(v, (float *)(uintptr_t)slopes, 0, VMAFGPU_MEMORY_DEVICE) != VMAFGPU_OK) ||
        vmafgpu_push(v, &pair[0], &pair[1]) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
}

/* Returns the GPU time in microseconds from the moment when the caller's stream has drawn a pair until the stream may
 * overwrite it. If `slopes` is not 0, the slopes of the pair are computed, too. */
static double time_live(vmafgpu *v, cuda *c, const vmafgpu_frame *pair, uint64_t slopes, void *const *events) {
    float milliseconds = 0;
    vmafgpu_score score;
    vmafgpu_result result = VMAFGPU_OK;
    CUDA_CALL(c, event_record, (events[0], c->streams[0]));
    push_with_slopes(v, pair, slopes);
    if (vmafgpu_stream_wait(v, c->streams[0], -1) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    CUDA_CALL(c, event_record, (events[1], c->streams[0]));
    CUDA_CALL(c, stream_wait, (c->streams[0]));
    while ((result = vmafgpu_next_score(v, &score)) == VMAFGPU_AGAIN) {
    }
    if (result != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    CUDA_CALL(c, event_elapsed, (&milliseconds, events[0], events[1]));
    return 1e3 * milliseconds;
}

/* Returns the GPU time per converted frame in microseconds. Repeatedly converts the frames that are still in the slots
 * of the queue. */
static double time_conversion(vmafgpu *v, cuda *c, void *const *events) {
    enum { LAUNCHES = 32 };
    float milliseconds = 0;
    void *stream = v->gpu->slots[0].streams[0];
    int frames = 0;
    CUDA_CALL(c, event_record, (events[0], stream));
    for (int i = 0; i < LAUNCHES; i++) {
        vmafgpu__slot slot = v->gpu->slots[i % v->gpu->queue];
        slot.streams[0] = stream;
        vmafgpu__launch_pixels(v, &slot);
        frames += slot.pixels_count;
    }
    CUDA_CALL(c, event_record, (events[1], stream));
    CUDA_CALL(c, stream_wait, (stream));
    CUDA_CALL(c, event_elapsed, (&milliseconds, events[0], events[1]));
    return frames ? 1e3 * milliseconds / frames : 0;
}

static int bench_pixels(const film *f, cuda *c, const options *o) {
    static const pixel_kind kinds[] = {
        { "luma", VMAFGPU_PIXELS_YUV, 0, 1, 1, 1 },         { "luma, surface", VMAFGPU_PIXELS_YUV, 1, 1, 1, 1 },
        { "RGBA8", VMAFGPU_PIXELS_RGBA8, 0, 4, 1, 4 },      { "RGBA8, surface", VMAFGPU_PIXELS_RGBA8, 1, 4, 1, 4 },
        { "RGBA16F", VMAFGPU_PIXELS_RGBA16F, 0, 8, 16, 4 }, { "RGBA16F, surface", VMAFGPU_PIXELS_RGBA16F, 1, 8, 16, 4 },
    };
    enum { KINDS = sizeof kinds / sizeof kinds[0], QUEUE = 4, MOST_SETS = 6 };
    const int sets = f->pairs < MOST_SETS ? f->pairs : MOST_SETS,
              runs = o->frames && o->frames < LATENCY_RUNS ? o->frames : LATENCY_RUNS / 2;
    void *events[2];
    for (int i = 0; i < 2; i++)
        CUDA_CALL(c, event_create, (&events[i], 0));
    for (int k = f->sample_bytes > 1 ? 2 : 0; k < KINDS; k++) {
        vmafgpu_config config = gpu_config(f, o);
        pixel_frame frames[MOST_SETS][2];
        double alone[LATENCY_RUNS], conversion[MAX_REPEATS];
        vmafgpu *v;
        config.chroma = VMAFGPU_CHROMA_400;
        config.live = 1;
        config.gpu.queue_depth = QUEUE;
        config.gpu.frame_memory = kinds[k].is_surface ? VMAFGPU_MEMORY_SURFACE : VMAFGPU_MEMORY_DEVICE;
        config.gpu.stream = c->streams[0];
        config.colour.matrix = VMAFGPU_MATRIX_BT709;
        config.colour.range = VMAFGPU_RANGE_LIMITED;
        config.colour.transfer = VMAFGPU_TRANSFER_SRGB;
        config.colour.siting = VMAFGPU_SITING_LEFT;
        v = open_or_die(&config);
        for (int i = 0; i < 2 * sets; i++)
            pixel_frame_make(&frames[i / 2][i % 2], f, c, &kinds[k], i / 2, i % 2);
        for (int i = -sets; i < runs; i++) {
            const pixel_frame *drawn = frames[(i + sets) % sets];
            const vmafgpu_frame pair[2] = { drawn[0].frame, drawn[1].frame };
            alone[i < 0 ? 0 : i] = time_live(v, c, pair, 0, events);
        }
        for (int i = -1; i < o->repeats; i++)
            conversion[i < 0 ? 0 : i] = time_conversion(v, c, events);
        printf("%dx%d %2d bits, %-16s single live pair, GPU time %.1f us (p90 %.1f)", f->clip.width, f->clip.height,
               f->clip.depth, kinds[k].name, median(alone, runs), quantile(alone, runs, 0.9));
        printf(kinds[k].pixels == VMAFGPU_PIXELS_YUV ? "\n" : "; conversion %.2f us per frame\n",
               median(conversion, o->repeats));
        fflush(stdout);
        vmafgpu_close(v);
        for (int i = 0; i < 2 * sets; i++)
            pixel_frame_free(&frames[i / 2][i % 2], c);
    }
    for (int i = 0; i < 2; i++)
        CUDA_CALL(c, event_destroy, (events[i]));
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Edits per second
 * ------------------------------------------------------------------------------------------------ */

enum { EDITS_CHECKED = 24, EDITS_COMMITTED = 16 };

/* Makes edits all over the frame, half at positions that are multiples of 8, with samples from the reference. */
static void make_edits(const reel *r, int side, int count, source where, int exact, vmafgpu_edit *edits) {
    const film *f = r->film;
    const ptrdiff_t pitch = where == SOURCE_DEVICE ? (ptrdiff_t)device_pitch(f, 0) : (ptrdiff_t)f->row_bytes[0];
    uint32_t random = 1;
    memset(edits, 0, sizeof *edits * (size_t)count);
    for (int i = 0; i < count; i++) {
        vmafgpu_edit *e = &edits[i];
        random = random * 1664525u + 1013904223u;
        e->x = (int)((random >> 8) % (uint32_t)(f->clip.width - side + 1));
        random = random * 1664525u + 1013904223u;
        e->y = (int)((random >> 8) % (uint32_t)(f->clip.height - side + 1));
        if (i % 2) {
            e->x &= ~7;
            e->y &= ~7;
        }
        e->width = e->height = side;
        e->pitch = pitch;
        e->memory = source_kinds[where];
        e->skip_score = !exact;
        e->data = (const unsigned char *)r->frames[0][0].data[0] + e->y * pitch + (ptrdiff_t)e->x * f->sample_bytes;
    }
}

static vmafgpu *open_base(const vmafgpu_config *config, const vmafgpu_frame *pair) {
    vmafgpu *v = open_or_die(config);
    if (vmafgpu_edit_begin(v, &pair[0], &pair[1], NULL, NULL, NULL) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    return v;
}

/* Measures edits of one size and prints a line. Returns whether any score differs from the CPU's. */
static int bench_tries(const film *f, cuda *c, source where, int side, int exact, const options *o) {
    vmafgpu_config config = gpu_config(f, o);
    const int count = o->frames ? o->frames : side <= 16 ? 131072 : side <= 64 ? 32768 : 8192;
    const int checked = count < EDITS_CHECKED ? count : EDITS_CHECKED;
    vmafgpu_edit *edits = (vmafgpu_edit *)allocate(sizeof *edits * (size_t)count);
    vmafgpu_edit_score *scores = (vmafgpu_edit_score *)allocate(sizeof *scores * (size_t)count),
                       expected[EDITS_CHECKED];
    double seconds[MAX_REPEATS], host[MAX_REPEATS], one[MAX_REPEATS], commit[MAX_REPEATS];
    int differs = 0;
    reel r, plain;
    vmafgpu *v, *cpu;
    reel_open(&r, f, c, where);
    reel_open(&plain, f, c, SOURCE_PAGEABLE);
    config.max_edit_size = side;
    config.threads = exact ? processors(16) : 1;
    config.gpu.frame_memory = source_kinds[where];
    v = open_base(&config, r.frames[0]);
    config = film_config(f);
    config.max_edit_size = side;
    config.threads = processors(16);
    config.backend = VMAFGPU_BACKEND_CPU;
    cpu = open_base(&config, plain.frames[0]);
    make_edits(&plain, side, checked, SOURCE_PAGEABLE, exact, edits);
    if (vmafgpu_edit_try(cpu, edits, checked, expected, NULL) != VMAFGPU_OK)
        die("CPU: %s", vmafgpu_last_error(cpu));
    make_edits(&r, side, count, where, exact, edits);
    for (int i = -1; i < o->repeats; i++) {
        const double processor = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        double start = now();
        const int at = i < 0 ? 0 : i;
        if (vmafgpu_edit_try(v, edits, count, scores, NULL) != VMAFGPU_OK)
            die("%s", vmafgpu_last_error(v));
        seconds[at] = now() - start;
        host[at] = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor;
        for (int k = 0; k < checked; k++) { /* the padding after `result` is not compared */
            differs |= memcmp(&scores[k], &expected[k], offsetof(vmafgpu_edit_score, result)) != 0 ||
                       scores[k].result != expected[k].result;
        }
        start = now();
        (void)vmafgpu_edit_try(v, edits, 1, scores, NULL);
        one[at] = now() - start;
    }
    for (int i = -1; i < o->repeats; i++) {
        const double start = now();
        if (vmafgpu_edit_commit(v, edits, checked < EDITS_COMMITTED ? checked : EDITS_COMMITTED, NULL) != VMAFGPU_OK)
            die("%s", vmafgpu_last_error(v));
        commit[i < 0 ? 0 : i] = now() - start;
    }
    printf("%4dx%-4d %4d %-8s %-7s %10.3f %9.3f %9.3f %9.1f %11.1f %7.1f  %s\n", side, side, f->clip.depth,
           source_names[where], exact ? "score" : "change", (double)count / median(seconds, o->repeats) / 1e6,
           1e6 * median(seconds, o->repeats) / count, 1e6 * median(host, o->repeats) / count,
           1e6 * median(one, o->repeats), 1e6 * median(commit, o->repeats), (double)vmafgpu_device_memory(v) / 1e6,
           differs ? "DIFFER from the CPU's" : "equal to the CPU's");
    fflush(stdout);
    vmafgpu_close(v);
    vmafgpu_close(cpu);
    reel_close(&r);
    reel_close(&plain);
    free(edits);
    free(scores);
    return differs;
}

/* Returns the number of pairs scored per second in live mode. Each pair gets a map in device memory with blocks of
 * `block` samples; if `block` is 0, there are no maps. */
static double map_speed(const film *f, cuda *c, int block, const options *o) {
    vmafgpu_config config = gpu_config(f, o);
    double speeds[MAX_REPEATS];
    uint64_t map = 0;
    const int frames = o->frames ? o->frames : 256;
    reel r;
    vmafgpu *v;
    reel_open(&r, f, c, SOURCE_DEVICE);
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    config.live = 1;
    config.map_block_size = block;
    v = open_or_die(&config);
    CUDA_CALL(c, memory_allocate, (&map, sizeof(float) * (size_t)(vmafgpu_map_blocks(v, NULL, NULL) + 1)));
    for (int i = -1; i < o->repeats; i++) {
        double start;
        (void)vmafgpu_reset(v);
        start = now();
        for (int k = 0; k < frames; k++) {
            const vmafgpu_frame *pair = r.frames[k % f->pairs];
            if ((block && vmafgpu_request_map(v, (float *)(uintptr_t)map, VMAFGPU_MEMORY_DEVICE) != VMAFGPU_OK) ||
                vmafgpu_push(v, &pair[0], &pair[1]) != VMAFGPU_OK) {
                die("%s", vmafgpu_last_error(v));
            }
        }
        if (vmafgpu_flush(v) != VMAFGPU_OK)
            die("%s", vmafgpu_last_error(v));
        speeds[i < 0 ? 0 : i] = frames / (now() - start);
    }
    vmafgpu_close(v);
    CUDA_CALL(c, memory_free, (map));
    reel_close(&r);
    return median(speeds, o->repeats);
}

static int bench_edits(const film *f, cuda *c, const options *o) {
    static const int sides[] = { 16, 64, 128 };
    int differs = 0;
    printf("\n%-9s %4s %-8s %-7s %10s %9s %9s %9s %11s %7s\n", "edits", "bits", "samples", "result", "M tries/s",
           "us/try", "host us", "one, us", "commit, us", "MB");
    for (int way = 0; way < 3; way++) {
        const int where = way == 1 ? SOURCE_PAGEABLE : SOURCE_DEVICE;
        for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
            if ((o->source == SOURCE_COUNT || o->source == where) && (way < 2 || f->model.version) &&
                (!o->side || i == 0)) {
                differs |= bench_tries(f, c, (source)where, o->side ? o->side : sides[i], way == 2, o);
            }
        }
    }
    return differs;
}

static int bench_maps(const film *f, cuda *c, const options *o) {
    if (f->model.version && (o->source == SOURCE_COUNT || o->source == SOURCE_DEVICE)) {
        printf("maps with live pairs of %d bits, in device memory: %.1f us per pair without maps", f->clip.depth,
               1e6 / map_speed(f, c, 0, o));
        for (int block = 8; block <= 64; block *= 2) {
            printf(", %.1f with blocks of %d", 1e6 / map_speed(f, c, block, o), block);
            fflush(stdout);
        }
        printf("\n");
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Slopes of samples
 * ------------------------------------------------------------------------------------------------ */

typedef struct slopes_run {
    vmafgpu *v;
    cuda *c;
    void *events[2];
    vmafgpu__slot *slot;
} slopes_run;

/* Returns the mean GPU time of a launch on the first stream in microseconds. */
static double time_launches(slopes_run *run, void (*launch)(slopes_run *run, void *stream)) {
    enum { LAUNCHES = 20 };
    run->slot = &run->v->gpu->slots[run->v->gpu->edits->slot];
    run->slot->due_slopes = 1; /* those that were requested last */
    void *stream = run->v->gpu->slots[0].streams[0];
    float milliseconds = 0;
    launch(run, stream);
    CUDA_CALL(run->c, event_record, (run->events[0], stream));
    for (int i = 0; i < LAUNCHES; i++)
        launch(run, stream);
    CUDA_CALL(run->c, event_record, (run->events[1], stream));
    CUDA_CALL(run->c, stream_wait, (stream));
    CUDA_CALL(run->c, event_elapsed, (&milliseconds, run->events[0], run->events[1]));
    return 1e3 * milliseconds / LAUNCHES;
}

static void launch_terms(slopes_run *run, void *stream) {
    vmafgpu__launch_slopes_terms(run->v, run->slot, 0, VMAFGPU__SCALES, stream);
}
static void launch_vif(slopes_run *run, void *stream) {
    vmafgpu__launch_slopes_vif(run->v, run->slot, 0, VMAFGPU__SCALES, stream);
}
static void launch_combine(slopes_run *run, void *stream) {
    vmafgpu__launch_slopes_combine(run->v, run->slot, stream);
}
static void launch_adm(slopes_run *run, void *stream) {
    vmafgpu__launch_slopes_adm(run->v, run->slot, stream);
    vmafgpu__launch_slopes_last(run->v, run->slot, stream);
}
static void launch_gradient(slopes_run *run, void *stream) {
    (void)stream;
    vmafgpu__launch_gradient(run->v, run->slot, run->slot->first + 1);
}

/* Returns the number of pairs per second, with slopes in device memory, which has space for SLOPES_RING pairs. *push
 * receives the mean time in microseconds that the calling thread spends in a push if no other pair is in flight. This
 * measurement requires config.live; without config.live, `push` must be NULL. */
static double slopes_speed(vmafgpu *v, const reel *r, uint64_t slopes, const options *o, double *push) {
    const int frames = o->frames ? o->frames : 200;
    const uint64_t size = sizeof(float) * (uint64_t)r->film->clip.width * (uint64_t)r->film->clip.height;
    if (push)
        *push = 0;
    for (int k = 0; k < frames && push; k++) {
        const vmafgpu_frame *pair = r->frames[k % r->film->pairs];
        vmafgpu_score score;
        const double begin = now();
        push_with_slopes(v, pair, slopes);
        *push += 1e6 * (now() - begin) / frames;
        while (vmafgpu_next_score(v, &score) == VMAFGPU_AGAIN) {
        }
    }
    const double start = now();
    for (int k = 0; k < frames; k++) {
        const vmafgpu_frame *pair = r->frames[k % r->film->pairs];
        vmafgpu_score score;
        push_with_slopes(v, pair, slopes + size * (uint64_t)(k % SLOPES_RING));
        while (vmafgpu_next_score(v, &score) == VMAFGPU_OK) {
        }
    }
    if (vmafgpu_wait(v, -1) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(v));
    return frames / (now() - start);
}

/* Measures slopes and compares them with those of the CPU. Returns whether they differ. */
static int bench_slopes(const film *f, cuda *c, const options *o) {
    const size_t samples = (size_t)f->clip.width * (size_t)f->clip.height;
    float *slopes[2] = { (float *)allocate(samples * sizeof(float)), (float *)allocate(samples * sizeof(float)) };
    double alone[MAX_REPEATS * 8], with[MAX_REPEATS * 8], push;
    const int runs = o->repeats * 8;
    vmafgpu_config config = gpu_config(f, o);
    slopes_run run;
    uint64_t device = 0;
    reel r, plain;
    int differs = 0;
    memset(&run, 0, sizeof run);
    run.c = c;
    for (int i = 0; i < 2; i++)
        CUDA_CALL(c, event_create, (&run.events[i], 0));
    CUDA_CALL(c, memory_allocate, (&device, samples * sizeof(float) * SLOPES_RING));
    reel_open(&r, f, c, SOURCE_DEVICE);
    reel_open(&plain, f, c, SOURCE_PAGEABLE);

    /* the base of edits */
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    config.max_edit_size = 16;
    config.slopes = 1;
    run.v = open_base(&config, r.frames[0]);
    if (vmafgpu_edit_slopes(run.v, slopes[0], 0, VMAFGPU_MEMORY_HOST) != VMAFGPU_OK ||
        vmafgpu_edit_slopes(run.v, (float *)(uintptr_t)device, 0, VMAFGPU_MEMORY_DEVICE) != VMAFGPU_OK)
        die("%s", vmafgpu_last_error(run.v));
    config = film_config(f);
    config.max_edit_size = 16;
    config.slopes = 1;
    config.threads = processors(16);
    config.backend = VMAFGPU_BACKEND_CPU;
    vmafgpu *cpu = open_base(&config, plain.frames[0]);
    if (vmafgpu_edit_slopes(cpu, slopes[1], 0, VMAFGPU_MEMORY_HOST) != VMAFGPU_OK)
        die("CPU: %s", vmafgpu_last_error(cpu));
    vmafgpu_close(cpu);
    differs |= memcmp(slopes[0], slopes[1], samples * sizeof(float)) != 0;
    printf("%dx%d %2d bits, slopes, GPU time: terms of VIF %.1f us", f->clip.width, f->clip.height, f->clip.depth,
           time_launches(&run, launch_terms));
    printf(", VIF %.1f us, combined %.1f us", time_launches(&run, launch_vif), time_launches(&run, launch_combine));
    printf(", ADM %.1f us, %s\n", time_launches(&run, launch_adm),
           differs ? "DIFFER from the CPU's" : "equal to the CPU's");
    fflush(stdout);
    vmafgpu_close(run.v);

    /* live pairs */
    config = gpu_config(f, o);
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    config.gpu.stream = c->streams[0];
    config.gpu.batch = 0;
    config.live = 1;
    run.v = open_or_die(&config);
    const uint64_t memory = (uint64_t)vmafgpu_device_memory(run.v);
    vmafgpu_close(run.v);
    config.slopes = 1;
    run.v = open_or_die(&config);
    for (int i = -8; i < runs; i++) {
        const vmafgpu_frame *pair = r.frames[(i + 8) % f->pairs];
        alone[i < 0 ? 0 : i] = time_live(run.v, c, pair, 0, run.events);
        with[i < 0 ? 0 : i] = time_live(run.v, c, pair, device, run.events);
    }
    printf("%dx%d %2d bits, live pair: GPU time %.1f us, with slopes %.1f us (p90 %.1f); gradient by sums %.1f us; ",
           f->clip.width, f->clip.height, f->clip.depth, median(alone, runs), median(with, runs),
           quantile(with, runs, 0.9), time_launches(&run, launch_gradient));
    printf("%.0f pairs/s with slopes, ", slopes_speed(run.v, &r, device, o, &push));
    printf("%.1f us of the calling thread per push; %.1f bytes of device memory per sample for slopes\n", push,
           ((double)vmafgpu_device_memory(run.v) - (double)memory) / (double)samples);
    fflush(stdout);
    vmafgpu_close(run.v);

    /* pairs whose score depends on the motion of the next reference */
    config.live = 0;
    config.gpu.batch = o->batch;
    run.v = open_or_die(&config);
    config.slopes = 0;
    config.gpu.batch = vmafgpu_get_config(run.v)->gpu.batch;
    config.gpu.queue_depth = vmafgpu_get_config(run.v)->gpu.queue_depth;
    vmafgpu *without = open_or_die(&config);
    printf("%dx%d %2d bits, without live, batches of %d, queue of %d: %.0f pairs/s with slopes; ", f->clip.width,
           f->clip.height, f->clip.depth, config.gpu.batch, config.gpu.queue_depth,
           slopes_speed(run.v, &r, device, o, NULL));
    printf("%.1f bytes of device memory per sample for slopes, for each pair of a batch\n",
           ((double)vmafgpu_device_memory(run.v) - (double)vmafgpu_device_memory(without)) /
               ((double)samples * config.gpu.batch));
    fflush(stdout);
    vmafgpu_close(without);
    vmafgpu_close(run.v);
    for (int i = 0; i < 2; i++)
        CUDA_CALL(c, event_destroy, (run.events[i]));
    CUDA_CALL(c, memory_free, (device));
    reel_close(&r);
    reel_close(&plain);
    free(slopes[0]);
    free(slopes[1]);
    return differs;
}

/* ------------------------------------------------------------------------------------------------
 * Opening a context
 * ------------------------------------------------------------------------------------------------ */

/* Opens and closes a context. If `what` is not NULL, also scores a pair and prints the times. If there is no GPU,
 * returns 0 and writes the message to `reason`. */
static int time_open(const char *what, const options *o, char *reason, size_t size) {
    vmafgpu_config config;
    vmafgpu_frame frame;
    vmafgpu_score score;
    vmafgpu *v = NULL;
    double start, opened;
    unsigned char *grey;
    int is_open, devices[MAX_DEVICES];
    memset(&config, 0, sizeof config);
    memset(&frame, 0, sizeof frame);
    for (int i = 0; i < o->devices; i++)
        devices[i] = o->gpu + i;
    config.width = o->width ? o->width : 1920;
    config.height = o->width ? o->height : 1080;
    config.chroma = VMAFGPU_CHROMA_400;
    config.backend = VMAFGPU_BACKEND_CUDA;
    config.gpu.device = o->gpu;
    config.gpu.devices = devices;
    config.gpu.device_count = o->devices > 1 ? o->devices : 0;
    config.threads = o->devices > 1 ? processors(64) : 1; /* threads open several GPUs at the same time */
    config.gpu.kernels_path = o->kernels;
    config.gpu.driver_path = o->driver;
    grey = (unsigned char *)allocate((size_t)config.width * (size_t)config.height);
    memset(grey, 128, (size_t)config.width * (size_t)config.height);
    frame.data[0] = grey;
    start = now();
    is_open = vmafgpu_open(&v, &config) == VMAFGPU_OK;
    opened = now();
    if (!is_open) {
        snprintf(reason, size, "%s", vmafgpu_last_error(v));
    } else if (what) {
        if (vmafgpu_score_pair(v, &frame, &frame, NULL, &score) != VMAFGPU_OK)
            die("%s", vmafgpu_last_error(v));
        printf("%dx%d, open, %-36s %8.1f ms, first pair %.1f ms, %.1f MB of device memory\n", config.width,
               config.height, what, 1e3 * (opened - start), 1e3 * (now() - opened),
               (double)vmafgpu_device_memory(v) / 1e6);
    }
    vmafgpu_close(v);
    free(grey);
    return is_open;
}

/* ------------------------------------------------------------------------------------------------
 * The program
 * ------------------------------------------------------------------------------------------------ */

/* Measures films of one size, with the bit depth given in the options or with 8 and 10 bits. `other` is the measurement
 * to run instead of bench_speed(), or NULL. */
static int bench_size(int width, int height, cuda *c, const options *o,
                      int (*other)(const film *, cuda *, const options *)) {
    int differs = 0;
    for (int bits = o->bits ? o->bits : 8; bits <= (o->bits ? o->bits : 10); bits += 2) {
        film *f = film_make(width, height, bits, o);
        for (int where = 0; !other && where < SOURCE_COUNT; where++)
            if (o->source == SOURCE_COUNT || o->source == where)
                differs |= bench_speed(f, c, (source)where, o);
        differs |= other && other(f, c, o);
        film_free(f);
    }
    return differs;
}

int main(int argc, char **argv) {
    static const int sizes[][2] = { { 576, 324 }, { 1920, 1080 }, { 3840, 2160 } };
    options o = parse_options(argc, argv);
    const char *cache = getenv("CUDA_CACHE_DISABLE");
    char reason[600];
    int differs = 0;
    cuda c[MAX_DEVICES];
    /* This must be the program's first use of the driver. */
    if (!time_open(is_wanted(&o, "open") ? "the first (driver, context, kernels)" : NULL, &o, reason, sizeof reason)) {
        printf("bench_gpu: skipped: %s\n", reason);
        return 0;
    }
    if (is_wanted(&o, "open"))
        (void)time_open("the second (context, kernels)", &o, reason, sizeof reason);
    for (int i = o.devices - 1; i >= 0; i--) /* leaves the first device's context current */
        cuda_open(&c[i], &o, o.gpu + i);
    if (is_wanted(&o, "open")) {
        (void)time_open("with the device in use (kernels)", &o, reason, sizeof reason);
        printf("(the driver caches compiled kernels unless CUDA_CACHE_DISABLE=1; here it is %s)\n",
               cache ? cache : "not set");
    }
    if (is_wanted(&o, "latency"))
        differs |= bench_size(o.width ? o.width : 1920, o.height ? o.height : 1080, c, &o, bench_latency);
    if (is_wanted(&o, "pixels"))
        differs |= bench_size(o.width ? o.width : 3840, o.height ? o.height : 2160, c, &o, bench_pixels);
    if (is_wanted(&o, "edits"))
        differs |= bench_size(o.width ? o.width : 1920, o.height ? o.height : 1080, c, &o, bench_edits);
    if (is_wanted(&o, "maps"))
        differs |= bench_size(o.width ? o.width : 1920, o.height ? o.height : 1080, c, &o, bench_maps);
    for (int k = 0; k < (o.width ? 1 : 2) && is_wanted(&o, "slopes") && o.model && strcmp(o.model, "none") != 0; k++)
        differs |= bench_size(o.width ? o.width : 1920 << k, o.width ? o.height : 1080 << k, c, &o, bench_slopes);
    if (is_wanted(&o, "speed")) {
        print_heading();
        for (size_t i = 0; i < (o.width ? 1 : sizeof sizes / sizeof sizes[0]); i++)
            differs |= bench_size(o.width ? o.width : sizes[i][0], o.width ? o.height : sizes[i][1], c, &o, NULL);
    }
    for (int i = 0; i < o.devices; i++)
        cuda_close(&c[i]);
    return differs;
}
