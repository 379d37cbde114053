/* A library that provides the functions of libvmaf 3 on top of vmafgpu.h. Programs that are linked against libvmaf
 * (ffmpeg, GStreamer, VapourSynth, encoders) can use it without being rebuilt. They compute the same values and write
 * the same reports, byte for byte.
 *
 * `make libvmaf` builds build/libvmaf.so.3 and build/libvmaf.a or, with MinGW, build/libvmaf.dll.
 *
 * Environment variables:
 *   VMAFGPU_BACKEND   auto, cpu, cuda or hip. By default the CPU is used, or an NVIDIA GPU if the program has imported
 *                     a CUDA state
 *   VMAFGPU_THREADS   number of threads; overrides the number that the program requests
 * The backend and the number of threads are logged at VMAF_LOG_LEVEL_INFO. The kernel files for GPUs must be in the
 * folder of the library or in ../lib/vmafgpu.
 *
 * Differences from libvmaf 3.2.0:
 *   - Scores of earlier frames, including motion and model scores, are available while pictures are still being read.
 *   - The score of a collection can be requested more than once.
 *   - Features are also found by their names in reports ("integer_adm2").
 *   - With motion, speed_temporal or n_subsample, the indices of pictures must be 0, 1, 2 and so on. In libvmaf,
 *     reports are complete only with such indices.
 *   - With n_subsample, only the frames in the report have feature values.
 *   - One picture cannot be both the reference and the distorted picture: vmaf_read_pictures() returns -EINVAL and does
 *     not take ownership of the pictures.
 *   - In reports, characters that the format does not allow in a name are escaped. In XML, a space in the name of an
 *     attribute becomes _x0020_.
 *   - Samples that exceed the bit depth are refused, and so are pictures smaller than 16x16.
 *   - cambi writes no heat maps.
 *   - If pictures are in device memory, all planes that a feature uses are read, not only luma.
 *   - The internal functions of libvmaf, which some static libraries expose, are missing.
 */
#if !defined(_WIN32) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* fileno, isatty */
#endif

#define VMAFGPU_IMPLEMENTATION
#define VMAFGPU_STATIC
#include "../../vmafgpu.h"

#if defined(_WIN32)
#define VMAF_API __declspec(dllexport)
#else
#define VMAF_API __attribute__((visibility("default"))) extern
#endif
#include "libvmaf.h"
#define REPORT_API static
#include "../tool/report.c"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#include <io.h>
#else
#include <dlfcn.h>
#include <unistd.h>
#endif

enum {
    MOST_MODELS = 16,
    MOST_FEATURES = 32,
    QUEUE = 4, /* maximum number of pairs that wait for the worker thread */
    MOST_MODEL_FILE = 64 << 20
};

/* ------------------------------------------------------------------------------------------------
 * Log, strings
 * ------------------------------------------------------------------------------------------------ */

static int log_level = VMAF_LOG_LEVEL_INFO; /* one level for the process, as in libvmaf */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
say(int level, const char *format, ...) {
    static const char *const names[] = { "", "ERROR", "WARNING", "INFO", "DEBUG" };
    if (level > __atomic_load_n(&log_level, __ATOMIC_RELAXED))
        return;
#ifdef _WIN32
    int is_terminal = 0;
#else
    int is_terminal = isatty(fileno(stderr));
#endif
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (is_terminal)
        fprintf(stderr, "\x1b[35mlibvmaf\x1b[0m \x1b[3%dm%s\x1b[0m %s\n", level, names[level], text);
    else
        fprintf(stderr, "libvmaf %s %s\n", names[level], text);
}

/* Converts a result of vmafgpu.h to a return value of libvmaf. */
static int error_of(vmafgpu_result result) {
    return result >= VMAFGPU_OK ? 0 : result == VMAFGPU_ERROR_MEMORY ? -ENOMEM : -EINVAL;
}

static char *copy_of(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = (char *)malloc(size);
    return copy ? (char *)memcpy(copy, text, size) : NULL;
}

/* Makes space for at least `count` elements in a list. Returns 0 if memory is short; the list is then unchanged. */
static int reserve(void *list, size_t *room, size_t count, size_t size) {
    void *at;
    memcpy(&at, list, sizeof at);
    if (count <= *room)
        return 1;
    size_t more = count < 8 ? 8 : 2 * count;
    at = more > SIZE_MAX / size ? NULL : realloc(at, more * size);
    if (!at)
        return 0;
    memset((char *)at + *room * size, 0, (more - *room) * size);
    memcpy(list, &at, sizeof at);
    *room = more;
    return 1;
}

/* ------------------------------------------------------------------------------------------------
 * Options
 * ------------------------------------------------------------------------------------------------ */

typedef struct option {
    char *name, *value;
} option;

struct VmafFeatureDictionary {
    option *options;
    size_t count, room;
};

int vmaf_feature_dictionary_set(VmafFeatureDictionary **options, const char *name, const char *value) {
    if (!options || !name || !value)
        return -EINVAL;
    VmafFeatureDictionary *d = *options ? *options : (VmafFeatureDictionary *)calloc(1, sizeof *d);
    char *copy = copy_of(value), *key = NULL;
    size_t i = 0;
    if (!d || !copy)
        goto no_memory;
    while (i < d->count && strcmp(d->options[i].name, name) != 0)
        i++;
    if (i == d->count) {
        key = copy_of(name);
        if (!key || !reserve(&d->options, &d->room, d->count + 1, sizeof *d->options))
            goto no_memory;
        d->options[d->count++].name = key;
    }
    free(d->options[i].value);
    d->options[i].value = copy;
    *options = d;
    return 0;
no_memory:
    free(key);
    free(copy);
    if (!*options)
        free(d);
    return -ENOMEM;
}

int vmaf_feature_dictionary_free(VmafFeatureDictionary **options) {
    if (!options)
        return -EINVAL;
    for (size_t i = 0; *options && i < (*options)->count; i++) {
        free((*options)->options[i].name);
        free((*options)->options[i].value);
    }
    if (*options)
        free((*options)->options);
    free(*options);
    *options = NULL;
    return 0;
}

/* Returns "before:feature.name=value:..." in new memory, without "feature." if `feature` is NULL. Returns NULL if
 * memory is short. */
static char *join_options(const char *before, const char *feature, const VmafFeatureDictionary *d) {
    size_t size = strlen(before) + 1, used;
    for (size_t i = 0; d && i < d->count; i++)
        size += (feature ? strlen(feature) : 0) + strlen(d->options[i].name) + strlen(d->options[i].value) + 3;
    char *text = (char *)malloc(size);
    if (!text)
        return NULL;
    used = (size_t)snprintf(text, size, "%s", before);
    for (size_t i = 0; d && i < d->count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s=%s", used ? ":" : "", feature ? feature : "",
                                 feature ? "." : "", d->options[i].name, d->options[i].value);
    }
    return text;
}

/* ------------------------------------------------------------------------------------------------
 * CUDA driver: the functions that pictures need
 * ------------------------------------------------------------------------------------------------ */

#define DRIVER_FUNCTIONS(X) \
    X(init, "cuInit", (unsigned flags)) \
    X(device_get, "cuDeviceGet", (int *device, int ordinal)) \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device)) \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device)) \
    X(push, "cuCtxPushCurrent_v2", (void *context)) \
    X(pop, "cuCtxPopCurrent_v2", (void **context)) \
    X(take, "cuMemAlloc_v2", (unsigned long long *address, size_t size)) \
    X(give, "cuMemFree_v2", (unsigned long long address)) \
    X(take_pinned, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags)) \
    X(give_pinned, "cuMemFreeHost", (void *memory)) \
    X(clear, "cuMemsetD8Async", (unsigned long long address, unsigned char value, size_t size, void *stream)) \
    X(fetch, "cuMemcpyDtoHAsync_v2", (void *to, unsigned long long from, size_t size, void *stream)) \
    X(wait, "cuStreamSynchronize", (void *stream))

#ifdef _WIN32
#define DRIVER_CALL __stdcall
#else
#define DRIVER_CALL
#endif

typedef struct driver {
    void *library;
#define DRIVER_FIELD(name, symbol, arguments) int(DRIVER_CALL * name) arguments;
    DRIVER_FUNCTIONS(DRIVER_FIELD)
#undef DRIVER_FIELD
} driver;

static int find_function(driver *d, const char *symbol, void *function, size_t size) {
#ifdef _WIN32
    intptr_t(__stdcall * found)(void) = GetProcAddress((struct HINSTANCE__ *)d->library, symbol);
#else
    void *found = dlsym(d->library, symbol);
#endif
    memcpy(function, &found, size);
    return found != NULL;
}

/* Loads the driver. It stays loaded, because vmafgpu.h also uses it, and some versions crash when they are unloaded. */
static int open_driver(driver *d) {
#ifdef _WIN32
    d->library = (void *)LoadLibraryA("nvcuda.dll");
#else
    d->library = dlopen("libcuda.so.1", RTLD_NOW);
#endif
#define DRIVER_FIND(name, symbol, arguments) &&find_function(d, symbol, &d->name, sizeof d->name)
    return d->library != NULL DRIVER_FUNCTIONS(DRIVER_FIND);
#undef DRIVER_FIND
}

/* The API has no function that frees the state. Contexts and pools of pictures hold references to the state, which is
 * freed with the last of them. */
struct VmafCudaState {
    int count;
    driver driver;
    void *context;
    int device, is_primary;
};

static void release_state(VmafCudaState *s) {
    if (s && __atomic_sub_fetch(&s->count, 1, __ATOMIC_ACQ_REL) == 0) {
        if (s->is_primary)
            s->driver.release(s->device);
        free(s);
    }
}

int vmaf_cuda_state_init(VmafCudaState **state, VmafCudaConfiguration config) {
    if (!state)
        return -EINVAL;
    VmafCudaState *s = *state = (VmafCudaState *)calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->context = config.cu_ctx;
    int ok = open_driver(&s->driver) && s->driver.init(0) == 0;
    if (ok && !config.cu_ctx)
        s->is_primary = ok = s->driver.device_get(&s->device, 0) == 0 && s->driver.retain(&s->context, s->device) == 0;
    if (!ok) {
        say(VMAF_LOG_LEVEL_ERROR, "vmaf_cuda_state_init: the CUDA driver cannot be %s",
            s->driver.library ? "initialised" : "loaded");
        free(s);
        *state = NULL;
        return -EINVAL;
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Pictures
 * ------------------------------------------------------------------------------------------------ */

/* A pool of reusable pictures of one kind. The context and each picture in use hold a counted reference to the pool. */
typedef struct pool {
    int count;
    pthread_mutex_t lock;
    pthread_cond_t returned;
    unsigned w, h, bpc;
    enum VmafPixelFormat format;
    vmafgpu_memory memory;
    VmafCudaState *cuda; /* for pinned and device memory */
    size_t limit;        /* maximum number of pictures; 0: no limit */
    void **spare;
    size_t spares, room, made;
} pool;

struct VmafRef {
    int count;
    vmafgpu_memory memory;
    void *base;
    size_t size;
    pool *home; /* NULL if the picture belongs to no pool */
};

enum { ROW_ALIGNMENT = 64, DEVICE_ROW_ALIGNMENT = 256 };

/* Sets the geometry of a picture and returns its size in bytes, or 0 if the arguments are invalid. Half of an odd size
 * is rounded down. */
static uint64_t lay_out(VmafPicture *p, enum VmafPixelFormat format, unsigned bpc, unsigned w, unsigned h,
                        unsigned alignment, uint64_t offset[3]) {
    int is_half = format != VMAF_PIX_FMT_YUV444P, is_low = format == VMAF_PIX_FMT_YUV420P;
    uint64_t size = 0;
    memset(p, 0, sizeof *p);
    if (format <= VMAF_PIX_FMT_UNKNOWN || format > VMAF_PIX_FMT_YUV400P || bpc < 8 || bpc > 16 || w > 1u << 20 ||
        h > 1u << 20) {
        return 0;
    }
    p->pix_fmt = format;
    p->bpc = bpc;
    for (int i = 0; i < 3; i++) {
        int is_absent = i > 0 && format == VMAF_PIX_FMT_YUV400P;
        p->w[i] = is_absent ? 0 : i > 0 && is_half ? w >> 1 : w;
        p->h[i] = is_absent ? 0 : i > 0 && is_low ? h >> 1 : h;
        size_t row = (size_t)p->w[i] * (bpc > 8 ? 2 : 1);
        p->stride[i] = is_absent ? 0 : (ptrdiff_t)((row + alignment - 1) / alignment * alignment);
        offset[i] = size;
        size += (uint64_t)p->stride[i] * p->h[i];
    }
    return size + ROW_ALIGNMENT;
}

static void point_to(VmafPicture *p, void *base, const uint64_t offset[3]) {
    for (int i = 0; i < 3; i++)
        p->data[i] = p->h[i] ? (char *)base + (size_t)offset[i] : NULL;
}

/* Makes the context current, as the driver requires for the calls that follow. */
static int enter_cuda(VmafCudaState *s) {
    return s->driver.push(s->context) == 0;
}

static void leave_cuda(VmafCudaState *s) {
    void *popped;
    s->driver.pop(&popped);
}

/* Allocates zeroed memory at an address that is a multiple of 64. The address for free() is stored before it. */
static void *take_host(size_t size) {
    char *start = (char *)calloc(1, size + ROW_ALIGNMENT + sizeof start);
    if (!start)
        return NULL;
    char *base = start + sizeof start;
    base += (ROW_ALIGNMENT - (uintptr_t)base % ROW_ALIGNMENT) % ROW_ALIGNMENT;
    memcpy(base - sizeof start, &start, sizeof start);
    return base;
}

static void give_host(void *base) {
    char *start;
    memcpy(&start, (char *)base - sizeof start, sizeof start);
    free(start);
}

static void *take_memory(vmafgpu_memory memory, VmafCudaState *s, size_t size) {
    unsigned long long address = 0;
    void *pointer = NULL;
    if (memory == VMAFGPU_MEMORY_HOST)
        return take_host(size);
    if (!enter_cuda(s))
        return NULL;
    if (memory == VMAFGPU_MEMORY_PINNED) {
        pointer = s->driver.take_pinned(&pointer, size, 1) == 0 ? memset(pointer, 0, size) : NULL;
    } else if (s->driver.take(&address, size) == 0) {
        s->driver.clear(address, 0, size, NULL);
        s->driver.wait(NULL);
        pointer = (void *)(uintptr_t)address;
    }
    leave_cuda(s);
    return pointer;
}

static void give_memory(vmafgpu_memory memory, VmafCudaState *s, void *base) {
    if (memory == VMAFGPU_MEMORY_HOST) {
        give_host(base);
    } else if (enter_cuda(s)) {
        if (memory == VMAFGPU_MEMORY_PINNED)
            s->driver.give_pinned(base);
        else
            s->driver.give((unsigned long long)(uintptr_t)base);
        leave_cuda(s);
    }
}

static void release_pool(pool *home) {
    if (!home || __atomic_sub_fetch(&home->count, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < home->spares; i++)
        give_memory(home->memory, home->cuda, home->spare[i]);
    free(home->spare);
    release_state(home->cuda);
    pthread_cond_destroy(&home->returned);
    pthread_mutex_destroy(&home->lock);
    free(home);
}

static int make_picture(VmafPicture *p, pool *home, vmafgpu_memory memory, enum VmafPixelFormat format, unsigned bpc,
                        unsigned w, unsigned h) {
    uint64_t offset[3];
    uint64_t size =
        lay_out(p, format, bpc, w, h, memory == VMAFGPU_MEMORY_DEVICE ? DEVICE_ROW_ALIGNMENT : ROW_ALIGNMENT, offset);
    if (!size || size > SIZE_MAX / 2) {
        memset(p, 0, sizeof *p);
        return size ? -ENOMEM : -EINVAL;
    }
    VmafRef *ref = (VmafRef *)calloc(1, sizeof *ref);
    if (!ref)
        return -ENOMEM;
    if (home) {
        pthread_mutex_lock(&home->lock);
        while (home->spares == 0 && home->limit && home->made == home->limit)
            pthread_cond_wait(&home->returned, &home->lock);
        if (home->spares > 0) {
            ref->base = home->spare[--home->spares];
        } else if (reserve(&home->spare, &home->room, home->made + 1, sizeof *home->spare)) {
            ref->base = take_memory(memory, home->cuda, (size_t)size);
            home->made += ref->base != NULL;
        }
        pthread_mutex_unlock(&home->lock);
    } else {
        ref->base = take_memory(memory, NULL, (size_t)size);
    }
    if (!ref->base) {
        free(ref);
        memset(p, 0, sizeof *p);
        return -ENOMEM;
    }
    if (home)
        __atomic_add_fetch(&home->count, 1, __ATOMIC_RELAXED);
    ref->count = 1;
    ref->memory = memory;
    ref->size = (size_t)size;
    ref->home = home;
    point_to(p, ref->base, offset);
    p->ref = ref;
    return 0;
}

int vmaf_picture_alloc(VmafPicture *picture, enum VmafPixelFormat format, unsigned bpc, unsigned w, unsigned h) {
    return picture ? make_picture(picture, NULL, VMAFGPU_MEMORY_HOST, format, bpc, w, h) : -EINVAL;
}

int vmaf_picture_unref(VmafPicture *picture) {
    if (!picture || !picture->ref)
        return -EINVAL;
    VmafRef *ref = picture->ref;
    memset(picture, 0, sizeof *picture);
    if (__atomic_sub_fetch(&ref->count, 1, __ATOMIC_ACQ_REL) > 0)
        return 0;
    pool *home = ref->home;
    if (home) {
        pthread_mutex_lock(&home->lock);
        home->spare[home->spares++] = ref->base;
        pthread_cond_signal(&home->returned);
        pthread_mutex_unlock(&home->lock);
        release_pool(home);
    } else {
        give_memory(ref->memory, NULL, ref->base);
    }
    free(ref);
    return 0;
}

static pool *make_pool(vmafgpu_memory memory, VmafCudaState *cuda, size_t limit, enum VmafPixelFormat format,
                       unsigned bpc, unsigned w, unsigned h) {
    pool *home = (pool *)calloc(1, sizeof *home);
    if (!home)
        return NULL;
    home->count = 1;
    pthread_mutex_init(&home->lock, NULL);
    pthread_cond_init(&home->returned, NULL);
    home->w = w;
    home->h = h;
    home->bpc = bpc;
    home->format = format;
    home->memory = memory;
    home->limit = limit;
    home->cuda = cuda;
    if (cuda)
        __atomic_add_fetch(&cuda->count, 1, __ATOMIC_RELAXED);
    return home;
}

/* ------------------------------------------------------------------------------------------------
 * Models
 * ------------------------------------------------------------------------------------------------ */

struct VmafModel {
    char *name, *options;
    uint64_t flags;
    vmafgpu_model model;  /* one model, or all models of a collection; several VmafModels can share a parsed file */
    pthread_mutex_t lock; /* protects `predictor`, which several contexts can use */
    vmafgpu *predictor;
};

struct VmafModelCollection {
    VmafModel *model;
};

void vmaf_model_destroy(VmafModel *m) {
    if (!m)
        return;
    vmafgpu_close(m->predictor);
    pthread_mutex_destroy(&m->lock);
    vmafgpu_model_release(&m->model);
    free(m->name);
    free(m->options);
    free(m);
}

void vmaf_model_collection_destroy(VmafModelCollection *collection) {
    if (collection) {
        vmaf_model_destroy(collection->model);
        free(collection);
    }
}

static VmafModel *make_model(const VmafModelConfig *config, const vmafgpu_model *model, int svms) {
    VmafModel *m = (VmafModel *)calloc(1, sizeof *m);
    if (!m)
        return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->name = copy_of(config->name ? config->name : "vmaf");
    m->options = copy_of("");
    m->flags = config->flags;
    m->model = *model;
    m->model.svm_count = svms;
    vmafgpu_model_retain(model);
    if (!m->name || !m->options) {
        vmaf_model_destroy(m);
        return NULL;
    }
    return m;
}

/* `collection` is NULL if a single model is requested. */
static int load(VmafModel **out, VmafModelCollection **collection, const VmafModelConfig *config,
                const vmafgpu_model *model) {
    *out = NULL;
    if (collection)
        *collection = NULL;
    if ((model->svm_count > 1) != (collection != NULL))
        return -EINVAL;
    VmafModel *m = make_model(config, model, 1), *all = collection ? make_model(config, model, model->svm_count) : NULL;
    VmafModelCollection *c = collection ? (VmafModelCollection *)calloc(1, sizeof *c) : NULL;
    if (!m || (collection && (!c || !all))) {
        vmaf_model_destroy(m);
        vmaf_model_destroy(all);
        free(c);
        return -ENOMEM;
    }
    if (c) {
        c->model = all;
        *collection = c;
    }
    *out = m;
    return 0;
}

static int load_version(VmafModel **out, VmafModelCollection **collection, const VmafModelConfig *config,
                        const char *version) {
    if (!out || !config || !version)
        return -EINVAL;
    const vmafgpu_model *model = vmafgpu_builtin_model(version);
    if (!model) {
        say(VMAF_LOG_LEVEL_WARNING, "no such built-in model: \"%s\"", version);
        return -EINVAL;
    }
    return load(out, collection, config, model);
}

/* Returns the contents of a file in new memory, or NULL if it cannot be read. */
static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, got = 1;
    *size = 0;
    while (file && got > 0 && *size < MOST_MODEL_FILE) {
        if (!reserve(&text, &room, *size + 65536, 1))
            break;
        got = fread(text + *size, 1, room - *size, file);
        *size += got;
    }
    int ok = file && got == 0 && !ferror(file);
    if (file)
        fclose(file);
    if (!ok) {
        free(text);
        text = NULL;
    }
    return text;
}

static int load_path(VmafModel **out, VmafModelCollection **collection, const VmafModelConfig *config,
                     const char *path) {
    char message[512] = "the file cannot be read";
    vmafgpu_model *parsed = NULL;
    size_t size;
    if (!out || !config || !path)
        return -EINVAL;
    char *text = read_file(path, &size);
    vmafgpu_result result =
        text ? vmafgpu_model_parse(&parsed, path, text, size, NULL, message, sizeof message) : VMAFGPU_ERROR_MODEL;
    free(text);
    int err = result == VMAFGPU_OK ? load(out, collection, config, parsed) : error_of(result);
    vmafgpu_model_release(parsed);
    if (err) {
        say(VMAF_LOG_LEVEL_ERROR, "could not read model%s from path: \"%s\" (%s)", collection ? " collection" : "",
            path,
            result != VMAFGPU_OK ? message
            : err == -ENOMEM     ? "out of memory"
            : collection         ? "the file contains a single model"
                                 : "the file contains a collection");
    }
    return err;
}

int vmaf_model_load(VmafModel **model, VmafModelConfig *config, const char *version) {
    return load_version(model, NULL, config, version);
}

int vmaf_model_load_from_path(VmafModel **model, VmafModelConfig *config, const char *path) {
    return load_path(model, NULL, config, path);
}

int vmaf_model_collection_load(VmafModel **model, VmafModelCollection **collection, VmafModelConfig *config,
                               const char *version) {
    return collection ? load_version(model, collection, config, version) : -EINVAL;
}

int vmaf_model_collection_load_from_path(VmafModel **model, VmafModelCollection **collection, VmafModelConfig *config,
                                         const char *path) {
    return collection ? load_path(model, collection, config, path) : -EINVAL;
}

static int overload(VmafModel *m, const char *feature, const VmafFeatureDictionary *options) {
    char *text = join_options(m->options, feature, options);
    if (!text)
        return -ENOMEM;
    pthread_mutex_lock(&m->lock);
    free(m->options);
    m->options = text;
    vmafgpu_close(m->predictor); /* options can change the columns of the predictor */
    m->predictor = NULL;
    pthread_mutex_unlock(&m->lock);
    return 0;
}

int vmaf_model_feature_overload(VmafModel *model, const char *feature, VmafFeatureDictionary *options) {
    if (!model || !feature || !options)
        return -EINVAL;
    int err = overload(model, feature, options);
    vmaf_feature_dictionary_free(&options);
    return err;
}

int vmaf_model_collection_feature_overload(VmafModel *model, VmafModelCollection **collection, const char *feature,
                                           VmafFeatureDictionary *options) {
    if (!model || !collection || !*collection || !feature || !options)
        return -EINVAL;
    int err = overload((*collection)->model, feature, options);
    return err ? err : vmaf_model_feature_overload(model, feature, options);
}

/* Returns the config of the model for vmafgpu.h. Like libvmaf 3.2.0, it ignores VMAF_MODEL_FLAG_DISABLE_TRANSFORM. */
static vmafgpu_model_config model_config(const VmafModel *m) {
    vmafgpu_model_config config;
    memset(&config, 0, sizeof config);
    config.model = &m->model;
    config.name = m->name;
    config.options = m->options;
    config.disable_clip = (m->flags & VMAF_MODEL_FLAG_DISABLE_CLIP) != 0;
    config.enable_transform = (m->flags & VMAF_MODEL_FLAG_ENABLE_TRANSFORM) != 0;
    return config;
}

/* ------------------------------------------------------------------------------------------------
 * Feature values and scores by name and index
 * ------------------------------------------------------------------------------------------------ */

typedef struct figure {
    double value;
    int is_known;
} figure;

/* A page contains the values of consecutive indices. A column allocates a page when its first value is written: an
 * index can be any unsigned number, and one array for all of them would need 64 GB. */
enum { PAGE = 1024 };

typedef struct page {
    uint64_t number; /* first index / PAGE */
    figure figures[PAGE];
} page;

typedef struct column {
    char *name;   /* as in reports */
    page **pages; /* sorted by number */
    size_t page_count, page_room;
} column;

/* All columns of a context with the values that are known. */
typedef struct board {
    column *columns;
    size_t count, room;
} board;

static column *find_column(const board *b, const char *name) {
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->columns[i].name, name) == 0)
            return &b->columns[i];
    return NULL;
}

/* Returns the position of the first page whose number is at least `number`, or page_count if there is none. */
static size_t find_page(const column *c, uint64_t number) {
    size_t low = 0, high = c->page_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->pages[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the value of the column at an index, or NULL if there is none. */
static const figure *figure_of(const column *c, uint64_t index) {
    size_t i = find_page(c, index / PAGE);
    if (i == c->page_count || c->pages[i]->number != index / PAGE || !c->pages[i]->figures[index % PAGE].is_known)
        return NULL;
    return &c->pages[i]->figures[index % PAGE];
}

static const figure *find_figure(const board *b, const char *name, uint64_t index) {
    const column *c = find_column(b, vmafgpu_report_name(name));
    return c ? figure_of(c, index) : NULL;
}

/* Returns the column with this name; adds the column if it is new. Returns NULL if memory is short. */
static column *make_column(board *b, const char *name) {
    column *c = find_column(b, vmafgpu_report_name(name));
    if (!c) {
        char *copy = copy_of(vmafgpu_report_name(name));
        if (!copy || !reserve(&b->columns, &b->room, b->count + 1, sizeof *b->columns)) {
            free(copy);
            return NULL;
        }
        c = &b->columns[b->count++];
        c->name = copy;
    }
    return c;
}

/* Returns the page with this number; allocates the page if it is new. Returns NULL if memory is short. */
static page *make_page(column *c, uint64_t number) {
    size_t i = find_page(c, number);
    if (i < c->page_count && c->pages[i]->number == number)
        return c->pages[i];
    page *made =
        reserve(&c->pages, &c->page_room, c->page_count + 1, sizeof(page *)) ? (page *)calloc(1, sizeof *made) : NULL;
    if (made) {
        memmove(c->pages + i + 1, c->pages + i, (c->page_count - i) * sizeof(page *));
        c->pages[i] = made;
        c->page_count++;
        made->number = number;
    }
    return made;
}

static int write_figure(board *b, const char *name, uint64_t index, double value) {
    column *c = make_column(b, name);
    page *of = c ? make_page(c, index / PAGE) : NULL;
    if (!of)
        return -ENOMEM;
    figure *f = &of->figures[index % PAGE];
    if (f->is_known) {
        say(VMAF_LOG_LEVEL_WARNING, "feature \"%s\" cannot be overwritten at index %llu", c->name,
            (unsigned long long)index);
        return -EINVAL;
    }
    f->value = value;
    f->is_known = 1;
    return 0;
}

static void clear_board(board *b) {
    for (size_t i = 0; i < b->count; i++) {
        for (size_t k = 0; k < b->columns[i].page_count; k++)
            free(b->columns[i].pages[k]);
        free(b->columns[i].name);
        free(b->columns[i].pages);
    }
    free(b->columns);
}

/* ------------------------------------------------------------------------------------------------
 * Contexts
 * ------------------------------------------------------------------------------------------------ */

typedef struct pair {
    VmafPicture picture[2]; /* reference, distorted */
    int64_t position;       /* number of pairs before it; for borrowed pairs only */
} pair;

/* A copy of the model that a context uses, because programs can destroy the model before the first picture. */
typedef struct wanted_model {
    vmafgpu_model model;
    char *options;
} wanted_model;

struct VmafContext {
    VmafConfiguration config;
    vmafgpu_backend backend;
    int names_backend; /* the environment names the backend */
    int threads;

    wanted_model models[MOST_MODELS];
    int model_count;
    char *features[MOST_FEATURES], *options[MOST_FEATURES];
    int feature_count;

    pthread_mutex_t lock; /* protects all fields below; while `is_busy`, only the worker thread uses the engine */
    pthread_cond_t changed;
    board board;
    vmafgpu *engine;
    int is_ordered;                      /* the indices of pictures must be 0, 1, 2, ... */
    int copies_to_host;                  /* pictures in device memory are first copied to the host */
    int has_pictures, is_flushed, error; /* error: first error of the worker thread */
    unsigned w, h, bpc, read;            /* read: number of calls with pictures */
    enum VmafPixelFormat format;
    unsigned *index; /* index of each pushed pair, unless `is_ordered` */
    size_t index_room;
    int64_t pushed, *known; /* number of pushed pairs; for each column, the first pair not on the board */
    clock_t begin, end;

    int64_t waited_for; /* value of `pushed` when a call last waited for a GPU */
    pair *borrowed;     /* pairs whose pictures the GPU reads, in order */
    size_t borrowed_room, borrowed_count;

    pthread_t thread; /* with n_threads: the worker thread, which computes while the caller continues */
    int has_thread, is_stopping, is_busy, queued, head;
    pair queue[QUEUE];

    pool *pictures; /* vmaf_preallocate_pictures() */
    VmafCudaState *cuda;
    enum VmafCudaPicturePreallocationMethod cuda_method;
    pool *cuda_pictures;
};

/* Returns the distance between the indices that have values. */
static uint64_t step_of(const VmafContext *c) {
    return c->config.n_subsample > 1 ? c->config.n_subsample : 1;
}

/* Returns the first index at or after `first` that n_subsample does not skip. */
static uint64_t first_of(const VmafContext *c, uint64_t first) {
    return (first + step_of(c) - 1) / step_of(c) * step_of(c);
}

/* Reads a whole number from the environment, or uses the default. Returns 0 if the variable is invalid. */
static int number_of_environment(const char *name, int low, int high, int otherwise, int *value) {
    const char *text = getenv(name);
    char *end = NULL;
    *value = otherwise;
    if (!text || !*text)
        return 1;
    long number = strtol(text, &end, 10);
    if (*end || number < low || number > high) {
        say(VMAF_LOG_LEVEL_ERROR, "environment variable %s: not a number from %d to %d (\"%s\")", name, low, high,
            text);
        return 0;
    }
    *value = (int)number;
    return 1;
}

static int backend_of_environment(VmafContext *c) {
    static const struct {
        const char *name;
        vmafgpu_backend backend;
    } backends[] = { { "auto", VMAFGPU_BACKEND_AUTO },
                     { "cpu", VMAFGPU_BACKEND_CPU },
                     { "cuda", VMAFGPU_BACKEND_CUDA },
                     { "hip", VMAFGPU_BACKEND_HIP } };
    const char *text = getenv("VMAFGPU_BACKEND");
    c->backend = VMAFGPU_BACKEND_CPU;
    if (!text || !*text)
        return 1;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (strcmp(text, backends[i].name) == 0) {
            c->backend = backends[i].backend;
            c->names_backend = 1;
            return 1;
        }
    }
    say(VMAF_LOG_LEVEL_ERROR,
        "environment variable VMAFGPU_BACKEND: unknown backend (\"%s\"); use auto, cpu, cuda or hip", text);
    return 0;
}

int vmaf_init(VmafContext **context, VmafConfiguration config) {
    if (!context)
        return -EINVAL;
    int level = (int)config.log_level;
    __atomic_store_n(&log_level,
                     level < 0                      ? 0
                     : level > VMAF_LOG_LEVEL_DEBUG ? VMAF_LOG_LEVEL_DEBUG
                                                    : level,
                     __ATOMIC_RELAXED);
    VmafContext *c = *context = (VmafContext *)calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    int threads = config.n_threads < 256 ? (int)config.n_threads : 256;
    c->config = config;
    if (!number_of_environment("VMAFGPU_THREADS", 0, 256, threads, &c->threads) || !backend_of_environment(c)) {
        free(c);
        *context = NULL;
        return -EINVAL;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    return 0;
}

static void on_log(void *user, vmafgpu_log_level level, const char *text) {
    static const int levels[] = { VMAF_LOG_LEVEL_ERROR, VMAF_LOG_LEVEL_WARNING, VMAF_LOG_LEVEL_DEBUG };
    (void)user;
    say(levels[level], "%s", text);
}

/* A config for vmafgpu.h with the requested features and models, and the arrays to which it points. */
typedef struct request {
    vmafgpu_config config;
    vmafgpu_model_config models[MOST_MODELS];
    vmafgpu_feature_config features[MOST_FEATURES];
} request;

static void fill_request(request *r, const VmafContext *c) {
    memset(r, 0, sizeof *r);
    for (int i = 0; i < c->model_count; i++) {
        static const char *const names[MOST_MODELS] = { "0", "1", "2",  "3",  "4",  "5",  "6",  "7",
                                                        "8", "9", "10", "11", "12", "13", "14", "15" };
        r->models[i].model = &c->models[i].model;
        r->models[i].name = names[i]; /* names must be unique; with model_features_only, no column uses them */
        r->models[i].options = c->models[i].options;
    }
    for (int i = 0; i < c->feature_count; i++) {
        r->features[i].name = c->features[i];
        r->features[i].options = c->options[i];
    }
    r->config.models = r->models;
    r->config.model_count = c->model_count;
    r->config.features_only = c->model_count == 0;
    r->config.model_features_only = 1;
    r->config.features = r->features;
    r->config.feature_count = c->feature_count;
}

static int check_request(const VmafContext *c) {
    request r;
    fill_request(&r, c);
    int err = error_of(vmafgpu_check_config(&r.config));
    if (err)
        say(VMAF_LOG_LEVEL_ERROR, "%s", vmafgpu_last_error(NULL));
    return err;
}

static void release_wanted(wanted_model *w) {
    vmafgpu_model_release(&w->model);
    free(w->options);
}

static int use_model(VmafContext *c, const VmafModel *m) {
    int err = -EINVAL;
    pthread_mutex_lock(&c->lock);
    if (!c->engine && c->model_count < MOST_MODELS) {
        wanted_model *w = &c->models[c->model_count];
        w->model = m->model;
        w->options = copy_of(m->options);
        vmafgpu_model_retain(&w->model);
        c->model_count++;
        err = w->options ? check_request(c) : -ENOMEM;
        if (err)
            release_wanted(&c->models[--c->model_count]);
    }
    pthread_mutex_unlock(&c->lock);
    return err;
}

int vmaf_use_features_from_model(VmafContext *context, VmafModel *model) {
    return context && model ? use_model(context, model) : -EINVAL;
}

int vmaf_use_features_from_model_collection(VmafContext *context, VmafModelCollection *collection) {
    return context && collection ? use_model(context, collection->model) : -EINVAL;
}

int vmaf_use_feature(VmafContext *c, const char *feature, VmafFeatureDictionary *options) {
    static const char suffix[] = "_cuda"; /* in libvmaf, the suffix of features that a GPU computes */
    int err = -EINVAL;
    if (!c || !feature)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    if (!c->engine && c->feature_count < MOST_FEATURES) {
        int i = c->feature_count;
        char *name = copy_of(feature), *text = join_options("", NULL, options);
        size_t length = strlen(feature);
        if (name && c->cuda && length > sizeof suffix && strcmp(name + length - (sizeof suffix - 1), suffix) == 0)
            name[length - (sizeof suffix - 1)] = '\0';
        c->features[i] = name;
        c->options[i] = text;
        c->feature_count++;
        err = name && text ? check_request(c) : -ENOMEM;
        if (err) {
            free(name);
            free(text);
            c->feature_count--;
        } else {
            vmaf_feature_dictionary_free(&options);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return err;
}

int vmaf_import_feature_score(VmafContext *c, const char *feature, double value, unsigned index) {
    if (!c || !feature)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    int err = write_figure(&c->board, feature, index, value);
    pthread_mutex_unlock(&c->lock);
    return err;
}

/* ---- preallocated pictures ---- */

int vmaf_preallocate_pictures(VmafContext *c, VmafPictureConfiguration config) {
    VmafPicture probe;
    uint64_t offset[3];
    if (!c || !config.pic_params.w || !config.pic_params.h || !config.pic_cnt ||
        !lay_out(&probe, config.pic_params.pix_fmt, config.pic_params.bpc, config.pic_params.w, config.pic_params.h,
                 ROW_ALIGNMENT, offset)) {
        return -EINVAL;
    }
    pool *made = make_pool(VMAFGPU_MEMORY_HOST, NULL, config.pic_cnt, config.pic_params.pix_fmt, config.pic_params.bpc,
                           config.pic_params.w, config.pic_params.h);
    if (!made)
        return -ENOMEM;
    release_pool(c->pictures);
    c->pictures = made;
    return 0;
}

static int fetch_from(pool *home, VmafPicture *picture) {
    return make_picture(picture, home, home->memory, home->format, home->bpc, home->w, home->h);
}

int vmaf_fetch_preallocated_picture(VmafContext *c, VmafPicture *picture) {
    return c && picture && c->pictures ? fetch_from(c->pictures, picture) : -EINVAL;
}

int vmaf_cuda_import_state(VmafContext *c, VmafCudaState *state) {
    if (!c || !state)
        return -EINVAL;
    __atomic_add_fetch(&state->count, 1, __ATOMIC_RELAXED);
    release_state(c->cuda);
    c->cuda = state;
    return 0;
}

int vmaf_cuda_preallocate_pictures(VmafContext *c, VmafCudaPictureConfiguration config) {
    static const vmafgpu_memory kinds[] = { VMAFGPU_MEMORY_HOST, VMAFGPU_MEMORY_DEVICE, VMAFGPU_MEMORY_HOST,
                                            VMAFGPU_MEMORY_PINNED };
    VmafPicture probe;
    uint64_t offset[3];
    if (!c || (int)config.pic_prealloc_method < 0 ||
        config.pic_prealloc_method > VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST_PINNED) {
        return -EINVAL;
    }
    c->cuda_method = config.pic_prealloc_method;
    if (c->cuda_method == VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_NONE)
        return 0;
    if (!c->cuda || !config.pic_params.w || !config.pic_params.h ||
        !lay_out(&probe, config.pic_params.pix_fmt, config.pic_params.bpc, config.pic_params.w, config.pic_params.h,
                 ROW_ALIGNMENT, offset)) {
        return -EINVAL;
    }
    pool *made = make_pool(kinds[c->cuda_method], c->cuda, 0, config.pic_params.pix_fmt, config.pic_params.bpc,
                           config.pic_params.w, config.pic_params.h);
    if (!made)
        return -ENOMEM;
    release_pool(c->cuda_pictures);
    c->cuda_pictures = made;
    return 0;
}

int vmaf_cuda_fetch_preallocated_picture(VmafContext *c, VmafPicture *picture) {
    return c && picture && c->cuda_pictures ? fetch_from(c->cuda_pictures, picture) : -EINVAL;
}

/* ---- the engine ---- */

/* Releases the pictures of the first `pairs` pairs, which the engine no longer reads. */
static void on_reusable(void *user, int64_t pairs) {
    VmafContext *c = (VmafContext *)user;
    size_t count = 0;
    for (; count < c->borrowed_count && c->borrowed[count].position < pairs; count++) {
        vmaf_picture_unref(&c->borrowed[count].picture[0]);
        vmaf_picture_unref(&c->borrowed[count].picture[1]);
    }
    if (count > 0) {
        c->borrowed_count -= count;
        memmove(c->borrowed, c->borrowed + count, c->borrowed_count * sizeof *c->borrowed);
    }
}

/* Opens the engine for pictures in this kind of memory. All pictures of a context must be in memory of the same
 * kind. */
static int open_engine(VmafContext *c, vmafgpu_memory memory) {
    static const vmafgpu_chroma chromas[] = { VMAFGPU_CHROMA_420, VMAFGPU_CHROMA_420, VMAFGPU_CHROMA_422,
                                              VMAFGPU_CHROMA_444, VMAFGPU_CHROMA_400 };
    request r;
    fill_request(&r, c);
    r.config.width = (int)c->w;
    r.config.height = (int)c->h;
    r.config.bit_depth = (int)c->bpc;
    r.config.chroma = chromas[c->format];
    r.config.subsample = step_of(c) < INT_MAX ? (int)step_of(c) : INT_MAX; /* clips are shorter than INT_MAX frames */
    r.config.threaded_column_order = c->config.n_threads > 0;
    r.config.cpumask = (unsigned)c->config.cpumask;
    r.config.threads = c->threads > 1 ? c->threads : 1;
    r.config.backend = c->names_backend                ? c->backend
                       : c->cuda && !c->config.gpumask ? VMAFGPU_BACKEND_AUTO
                                                       : VMAFGPU_BACKEND_CPU;
    if (c->cuda && r.config.backend != VMAFGPU_BACKEND_CPU && r.config.backend != VMAFGPU_BACKEND_HIP) {
        enum { LEGACY_STREAM = 1 }; /* CU_STREAM_LEGACY, on which programs fill their pictures */
        r.config.gpu.cuda_context = c->cuda->context;
        r.config.gpu.stream = (void *)LEGACY_STREAM;
        r.config.gpu.frame_memory = memory;
    }
    r.config.on_log = on_log;
    r.config.on_reusable = on_reusable;
    r.config.on_reusable_user = c;
    vmafgpu_result result = VMAFGPU_ERROR_BACKEND;
    if (memory != VMAFGPU_MEMORY_DEVICE || r.config.gpu.frame_memory == VMAFGPU_MEMORY_DEVICE)
        result = vmafgpu_open(&c->engine, &r.config);
    if (memory == VMAFGPU_MEMORY_DEVICE && result == VMAFGPU_ERROR_BACKEND) {
        say(VMAF_LOG_LEVEL_WARNING, "pictures in device memory are copied to host memory (%s)",
            r.config.gpu.frame_memory == VMAFGPU_MEMORY_DEVICE ? "the GPU cannot be used, see the message above"
                                                               : "VMAFGPU_BACKEND or gpumask excludes CUDA");
        vmafgpu_close(c->engine);
        memset(&r.config.gpu, 0, sizeof r.config.gpu);
        r.config.backend = VMAFGPU_BACKEND_CPU;
        c->copies_to_host = 1;
        result = vmafgpu_open(&c->engine, &r.config);
    }
    int columns = result == VMAFGPU_OK ? vmafgpu_column_count(c->engine) : 0;
    c->known = result == VMAFGPU_OK ? (int64_t *)calloc((size_t)columns + 1, sizeof *c->known) : NULL;
    int ok = c->known != NULL;
    for (int i = 0; i < columns && ok; i++)
        ok = make_column(&c->board, vmafgpu_column_name(c->engine, i)) != NULL;
    if (!ok) {
        free(c->known);
        c->known = NULL;
        vmafgpu_close(c->engine);
        c->engine = NULL;
        return result == VMAFGPU_OK ? -ENOMEM : error_of(result);
    }
    c->is_ordered = vmafgpu_preceding_count(c->engine) != 0 || r.config.subsample > 1;
    const char *device = vmafgpu_device_name(c->engine), *note = vmafgpu_backend_note(c->engine);
    say(VMAF_LOG_LEVEL_INFO, "vmafgpu %s computes on %s (%s), %d thread%s%s%s", vmafgpu_version_string(),
        vmafgpu_backend_name(c->engine), *device ? device : vmafgpu_instruction_set(c->engine), r.config.threads,
        r.config.threads > 1 ? "s" : "", *note ? "; " : "", note);
    return 0;
}

/* Replaces a picture in device memory with a copy in host memory. */
static int copy_to_host(VmafContext *c, VmafPicture *picture) {
    VmafPicture copy;
    VmafRef *ref = picture->ref;
    uint64_t offset[3];
    size_t size = (size_t)lay_out(&copy, c->format, c->bpc, c->w, c->h, DEVICE_ROW_ALIGNMENT, offset);
    VmafRef *made = (VmafRef *)calloc(1, sizeof *made);
    void *base = made ? take_memory(VMAFGPU_MEMORY_HOST, NULL, size) : NULL;
    VmafCudaState *s = ref->home->cuda;
    if (!base) {
        free(made);
        return -ENOMEM;
    }
    made->count = 1;
    made->base = base;
    made->size = size;
    point_to(&copy, base, offset);
    copy.ref = made;
    int ok = enter_cuda(s);
    if (ok) {
        ok = s->driver.fetch(base, (unsigned long long)(uintptr_t)ref->base, size, NULL) == 0 &&
             s->driver.wait(NULL) == 0;
        leave_cuda(s);
    }
    if (!ok) {
        say(VMAF_LOG_LEVEL_ERROR, "vmaf_read_pictures: a picture in device memory cannot be copied to host memory");
        vmaf_picture_unref(&copy);
        return -EINVAL;
    }
    vmaf_picture_unref(picture);
    *picture = copy;
    return 0;
}

/* Pushes a pair. On success, the engine owns the pictures of the pair; on failure, the caller does. */
static int push_pair(VmafContext *c, pair *p) {
    vmafgpu_frame frames[2];
    memset(frames, 0, sizeof frames);
    int err = 0, is_borrowed = 0;
    for (int k = 0; k < 2 && !err; k++) {
        VmafPicture *picture = &p->picture[k];
        if (c->copies_to_host && picture->ref->memory == VMAFGPU_MEMORY_DEVICE)
            err = copy_to_host(c, picture);
        frames[k].memory = picture->ref->memory;
        if (frames[k].memory == VMAFGPU_MEMORY_PINNED && !c->cuda)
            frames[k].memory = VMAFGPU_MEMORY_HOST;
        is_borrowed |= frames[k].memory != VMAFGPU_MEMORY_HOST;
        for (int i = 0; i < 3; i++) {
            frames[k].data[i] = picture->data[i];
            frames[k].pitch[i] = picture->stride[i];
        }
    }
    if (err)
        return err;
    if (is_borrowed) {
        /* The pair is added before the push, because the push can release its pictures before it returns. */
        if (!reserve(&c->borrowed, &c->borrowed_room, c->borrowed_count + 1, sizeof *c->borrowed))
            return -ENOMEM;
        p->position = c->pushed;
        c->borrowed[c->borrowed_count++] = *p;
    }
    vmafgpu_result result = vmafgpu_push(c->engine, &frames[0], &frames[1]);
    if (result != VMAFGPU_OK) {
        c->borrowed_count -= is_borrowed != 0;
        return error_of(result);
    }
    if (!is_borrowed) {
        vmaf_picture_unref(&p->picture[0]);
        vmaf_picture_unref(&p->picture[1]);
    }
    return 0;
}

/* Copies the values that are ready to the board. The calling thread must hold the lock and must be allowed to use the
 * engine. An error does not prevent the other values from being copied; the function returns the first error. */
static int collect_values(VmafContext *c) {
    int first = 0, step = vmafgpu_get_config(c->engine)->subsample;
    vmafgpu_reusable_count(c->engine); /* collects the finished batches of a GPU */
    for (int i = 0; i < vmafgpu_column_count(c->engine); i++) {
        double value;
        while (c->known[i] < c->pushed) {
            vmafgpu_result result = vmafgpu_value_at(c->engine, c->known[i], i, &value);
            if (result == VMAFGPU_AGAIN)
                break;
            uint64_t index = c->is_ordered ? (uint64_t)c->known[i] : c->index[c->known[i]];
            int err = result == VMAFGPU_OK ? write_figure(&c->board, vmafgpu_column_name(c->engine, i), index, value)
                                           : error_of(result);
            first = first ? first : err;
            c->known[i] += step;
        }
    }
    c->end = clock();
    return first;
}

/* ---- the worker thread ---- */

static void *compute(void *user) {
    VmafContext *c = (VmafContext *)user;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->queued && !c->is_stopping)
            pthread_cond_wait(&c->changed, &c->lock);
        if (!c->queued)
            break;
        pair p = c->queue[c->head];
        c->head = (c->head + 1) % QUEUE;
        c->queued--;
        c->is_busy = 1;
        int earlier = c->error;
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        int err = earlier ? earlier : push_pair(c, &p); /* after a failed pair, later pairs would get wrong positions */
        if (err) {
            vmaf_picture_unref(&p.picture[0]);
            vmaf_picture_unref(&p.picture[1]);
        }
        pthread_mutex_lock(&c->lock);
        if (!err) {
            c->pushed++;
            err = collect_values(c);
        }
        c->error = c->error ? c->error : err;
        c->is_busy = 0;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Waits until the worker thread is idle. The caller can then use the engine. */
static void wait_for_worker(VmafContext *c) {
    while (c->queued || c->is_busy)
        pthread_cond_wait(&c->changed, &c->lock);
}

/* ---- pairs ---- */

/* Sorts the columns of the engine into the order that libvmaf uses, which depends on the number of pairs. The other
 * columns of the board, which are imported, keep their places. */
static int order_board(VmafContext *c) {
    int count = vmafgpu_column_count(c->engine);
    column *before = (column *)malloc(((size_t)count + 1) * sizeof *before), **places = NULL;
    places = before ? (column **)malloc(((size_t)count + 1) * sizeof *places) : NULL;
    int ok = places != NULL;
    for (int i = 0; i < count && ok; i++) {
        places[i] = find_column(&c->board, vmafgpu_report_name(vmafgpu_column_name(c->engine, i)));
        ok = places[i] != NULL; /* NULL if memory was lacking when the column was first needed */
        if (ok)
            before[i] = *places[i];
    }
    for (int i = 0; i < count && ok; i++)
        *places[i] = before[vmafgpu_report_column(c->engine, c->pushed, i)];
    free(places);
    free(before);
    return ok ? 0 : -ENOMEM;
}

static int flush(VmafContext *c) {
    int err = 0;
    wait_for_worker(c);
    c->is_flushed = 1;
    if (c->engine) {
        err = error_of(vmafgpu_flush(c->engine));
        int collected = collect_values(c);
        err = err ? err : collected;
        err = err || c->pushed != 1 ? err : order_board(c);
    }
    return c->error ? c->error : err;
}

/* Checks that both pictures have the format of the earlier ones, and that they are two different pictures. */
static int check_pictures(VmafContext *c, const VmafPicture *a, const VmafPicture *b) {
    if (!a->ref || !b->ref || a->ref == b->ref)
        return -EINVAL;
    if (!c->has_pictures) {
        c->has_pictures = 1;
        c->w = a->w[0];
        c->h = a->h[0];
        c->bpc = a->bpc;
        c->format = a->pix_fmt;
    }
    int is_alike = a->w[0] == b->w[0] && a->h[0] == b->h[0] && a->bpc == b->bpc && a->pix_fmt == b->pix_fmt &&
                   a->ref->memory == b->ref->memory;
    int is_as_before = a->w[0] == c->w && a->h[0] == c->h && a->bpc == c->bpc && a->pix_fmt == c->format;
    return is_alike && is_as_before && (int)c->format > 0 && c->format <= VMAF_PIX_FMT_YUV400P ? 0 : -EINVAL;
}

static int read_pair(VmafContext *c, VmafPicture *reference, VmafPicture *distorted, unsigned index) {
    pair p;
    int64_t position;
    c->read++;
    int err = check_pictures(c, reference, distorted);
    if (err)
        return err;
    if (!c->begin)
        c->begin = clock();
    if (!c->model_count && !c->feature_count) { /* nothing to compute */
        vmaf_picture_unref(reference);
        return vmaf_picture_unref(distorted);
    }
    if (!c->engine) {
        err = open_engine(c, reference->ref->memory);
        if (err)
            return err;
        c->has_thread = c->threads > 0 && pthread_create(&c->thread, NULL, compute, c) == 0;
    }
    while (c->queued == QUEUE)
        pthread_cond_wait(&c->changed, &c->lock);
    if (c->error || c->is_flushed)
        return c->error ? c->error : -EINVAL;
    position = c->pushed + c->is_busy + c->queued;
    if (c->is_ordered && index != position) {
        say(VMAF_LOG_LEVEL_ERROR,
            "vmaf_read_pictures: the index must be %lld (%u); n_subsample, motion and speed_temporal require the "
            "indices 0, 1, 2 and so on",
            (long long)position, index);
        return -EINVAL;
    }
    if (!c->is_ordered) {
        if (!reserve(&c->index, &c->index_room, (size_t)position + 1, sizeof *c->index))
            return -ENOMEM;
        c->index[position] = index;
    }
    p.picture[0] = *reference;
    p.picture[1] = *distorted;
    if (c->has_thread) {
        c->queue[(c->head + c->queued++) % QUEUE] = p;
        pthread_cond_broadcast(&c->changed);
    } else {
        err = push_pair(c, &p);
        if (err) {
            *reference = p.picture[0];
            *distorted = p.picture[1];
            return err;
        }
        c->pushed++;
        err = collect_values(c);
    }
    memset(reference, 0, sizeof *reference);
    memset(distorted, 0, sizeof *distorted);
    return err;
}

int vmaf_read_pictures(VmafContext *c, VmafPicture *reference, VmafPicture *distorted, unsigned index) {
    if (!c || !reference != !distorted)
        return -EINVAL;
    pthread_mutex_lock(&c->lock);
    int err = c->is_flushed ? -EINVAL : reference ? read_pair(c, reference, distorted, index) : flush(c);
    pthread_mutex_unlock(&c->lock);
    return err;
}

int vmaf_close(VmafContext *c) {
    if (!c)
        return -EINVAL;
    if (c->has_thread) {
        pthread_mutex_lock(&c->lock);
        c->is_stopping = 1;
        pthread_cond_broadcast(&c->changed);
        pthread_mutex_unlock(&c->lock);
        pthread_join(c->thread, NULL);
    }
    vmafgpu_close(c->engine);
    on_reusable(c, INT64_MAX);
    for (int i = 0; i < c->model_count; i++)
        release_wanted(&c->models[i]);
    for (int i = 0; i < c->feature_count; i++) {
        free(c->features[i]);
        free(c->options[i]);
    }
    release_pool(c->pictures);
    release_pool(c->cuda_pictures);
    release_state(c->cuda);
    clear_board(&c->board);
    free(c->borrowed);
    free(c->index);
    free(c->known);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Scores. The caller of these functions holds the lock.
 * ------------------------------------------------------------------------------------------------ */

/* Waits for more values if some are being computed. Returns 0 if none are. */
static int await_more(VmafContext *c) {
    if (c->queued || c->is_busy) {
        pthread_cond_wait(&c->changed, &c->lock);
        return 1;
    }
    if (!c->engine || c->is_flushed || c->waited_for == c->pushed)
        return 0;
    c->waited_for = c->pushed; /* a GPU collects pairs into batches; vmafgpu_wait() submits an incomplete batch */
    return vmafgpu_wait(c->engine, -1) == VMAFGPU_OK && collect_values(c) == 0;
}

static int figure_at(VmafContext *c, const char *name, double *value, uint64_t index) {
    do {
        const figure *f = find_figure(&c->board, name, index);
        if (f) {
            *value = f->value;
            return 0;
        }
    } while (await_more(c));
    return -EINVAL;
}

/* Opens the context that applies the model, unless it is open. */
static int open_predictor(VmafModel *m) {
    if (m->predictor)
        return 0;
    vmafgpu_model_config model = model_config(m);
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.models = &model;
    config.model_count = 1;
    config.predict_only = 1;
    vmafgpu_result result = vmafgpu_open(&m->predictor, &config);
    if (result != VMAFGPU_OK) {
        say(VMAF_LOG_LEVEL_ERROR, "%s", vmafgpu_last_error(NULL));
        vmafgpu_close(m->predictor);
        m->predictor = NULL;
    }
    return error_of(result);
}

/* Applies the model to the values on the board and writes its outputs to the board, starting with output `first`. If a
 * value that the model needs is missing, the score is NaN. In that case the function fails and sets `missing` to the
 * name of the feature. */
static int try_to_predict(VmafContext *c, VmafModel *m, uint64_t index, int first, const char **missing) {
    vmafgpu_score score;
    int err = open_predictor(m);
    int columns = vmafgpu_model_column(m->predictor, 0);
    double *features = err ? NULL : (double *)malloc((size_t)columns * sizeof *features);
    *missing = NULL;
    if (!features)
        return err ? err : -ENOMEM;
    for (int i = 0; i < columns; i++) {
        const char *name = vmafgpu_column_name(m->predictor, i);
        const figure *f = find_figure(&c->board, name, index);
        features[i] = f ? f->value : (double)NAN;
        *missing = f ? *missing : name;
    }
    err = error_of(vmafgpu_predict(m->predictor, features, &score));
    free(features);
    if (err || (*missing && score.score != score.score))
        return -EINVAL;
    *missing = NULL;
    for (int i = columns + first; !err && i < vmafgpu_column_count(m->predictor); i++)
        err = write_figure(&c->board, vmafgpu_column_name(m->predictor, i), index, score.values[i]);
    return err;
}

static int predict(VmafContext *c, VmafModel *m, uint64_t index, int first) {
    const char *missing;
    int err;
    /* Releases the lock of the model before waiting, because a thread that holds the lock of the context may need the
     * lock of the model. */
    do {
        pthread_mutex_lock(&m->lock);
        err = try_to_predict(c, m, index, first, &missing);
        pthread_mutex_unlock(&m->lock);
    } while (missing && await_more(c));
    if (missing) {
        say(VMAF_LOG_LEVEL_ERROR, "model \"%s\": feature \"%s\" has no value at index %llu", m->name, missing,
            (unsigned long long)index);
    }
    return err;
}

static int score_at(VmafContext *c, VmafModel *m, double *score, uint64_t index) {
    if (!find_figure(&c->board, m->name, index)) {
        int err = predict(c, m, index, 0);
        if (err)
            return err;
    }
    return figure_at(c, m->name, score, index);
}

/* Number of outputs of a collection, excluding those of its individual models. */
enum { OUTPUTS = 4 };

static void collection_outputs(VmafModelCollectionScore *s, double *outputs[OUTPUTS]) {
    outputs[0] = &s->bootstrap.bagging_score;
    outputs[1] = &s->bootstrap.stddev;
    outputs[2] = &s->bootstrap.ci.p95.lo;
    outputs[3] = &s->bootstrap.ci.p95.hi;
    s->type = VMAF_MODEL_COLLECTION_SCORE_BOOTSTRAP;
}

static char *output_name(const VmafModel *m, int output) {
    static const char *const suffixes[OUTPUTS] = { "_bagging", "_stddev", "_ci_p95_lo", "_ci_p95_hi" };
    size_t size = strlen(m->name) + 16;
    char *name = (char *)malloc(size);
    if (name)
        snprintf(name, size, "%s%s", m->name, suffixes[output]);
    return name;
}

/* Pools the values at the indices that n_subsample does not skip. If it skips `first`, the minimum and the maximum
 * start from 0, as in libvmaf. */
static int pool_at(VmafContext *c, const char *name, enum VmafPoolingMethod method, double *score, unsigned first,
                   unsigned last) {
    double least = 0, most = 0, sum = 0, inverse = 0, s;
    unsigned count = 0;
    for (uint64_t i = first_of(c, first); i <= last; i += step_of(c)) {
        int err = figure_at(c, name, &s, i);
        if (err)
            return err;
        count++;
        sum += s;
        inverse += 1. / (s + 1.);
        least = i == first || s < least ? s : least;
        most = i == first || s > most ? s : most;
    }
    switch (method) {
    case VMAF_POOL_METHOD_MIN: *score = least; return 0;
    case VMAF_POOL_METHOD_MAX: *score = most; return 0;
    case VMAF_POOL_METHOD_MEAN: *score = sum / count; return 0;
    case VMAF_POOL_METHOD_HARMONIC_MEAN: *score = count / inverse - 1.0; return 0;
    default: return -EINVAL;
    }
}

static int collection_at(VmafContext *c, VmafModel *m, VmafModelCollectionScore *score, unsigned index) {
    double *outputs[OUTPUTS];
    int err = 0;
    collection_outputs(score, outputs);
    for (int i = 0; i < OUTPUTS && !err; i++) {
        char *name = output_name(m, i);
        if (name && !find_figure(&c->board, name, index))
            err = predict(c, m, index, 1);
        err = !name ? -ENOMEM : err ? err : figure_at(c, name, outputs[i], index);
        free(name);
    }
    return err;
}

static int collection_pooled(VmafContext *c, VmafModel *m, enum VmafPoolingMethod method,
                             VmafModelCollectionScore *score, unsigned first, unsigned last) {
    double *outputs[OUTPUTS];
    int err = 0;
    for (uint64_t i = first_of(c, first); i <= last && !err; i += step_of(c))
        err = collection_at(c, m, score, (unsigned)i);
    collection_outputs(score, outputs);
    for (int i = 0; i < OUTPUTS && !err; i++) {
        char *name = output_name(m, i);
        err = name ? pool_at(c, name, method, outputs[i], first, last) : -ENOMEM;
        free(name);
    }
    return err;
}

static int score_pooled(VmafContext *c, VmafModel *m, enum VmafPoolingMethod method, double *score, unsigned first,
                        unsigned last) {
    double ignored;
    int err = 0;
    for (uint64_t i = first_of(c, first); i <= last && !err; i += step_of(c))
        err = score_at(c, m, &ignored, i);
    return err ? err : pool_at(c, m->name, method, score, first, last);
}

/* Ends a public function: makes the call while holding the lock, and returns its result. */
#define LOCKED(c, call) \
    do { \
        pthread_mutex_lock(&(c)->lock); \
        int err_ = call; \
        pthread_mutex_unlock(&(c)->lock); \
        return err_; \
    } while (0)

int vmaf_feature_score_at_index(VmafContext *c, const char *feature, double *score, unsigned index) {
    if (!c || !feature || !score)
        return -EINVAL;
    LOCKED(c, figure_at(c, feature, score, index));
}

int vmaf_score_at_index(VmafContext *c, VmafModel *model, double *score, unsigned index) {
    if (!c || !model || !score)
        return -EINVAL;
    LOCKED(c, score_at(c, model, score, index));
}

int vmaf_score_at_index_model_collection(VmafContext *c, VmafModelCollection *collection,
                                         VmafModelCollectionScore *score, unsigned index) {
    if (!c || !collection || !score)
        return -EINVAL;
    LOCKED(c, collection_at(c, collection->model, score, index));
}

int vmaf_feature_score_pooled(VmafContext *c, const char *feature, enum VmafPoolingMethod method, double *score,
                              unsigned first, unsigned last) {
    if (!c || !feature || !score || first > last || !method)
        return -EINVAL;
    LOCKED(c, pool_at(c, feature, method, score, first, last));
}

int vmaf_score_pooled(VmafContext *c, VmafModel *model, enum VmafPoolingMethod method, double *score, unsigned first,
                      unsigned last) {
    if (!c || !model || !score || first > last || !method)
        return -EINVAL;
    LOCKED(c, score_pooled(c, model, method, score, first, last));
}

int vmaf_score_pooled_model_collection(VmafContext *c, VmafModelCollection *collection, enum VmafPoolingMethod method,
                                       VmafModelCollectionScore *score, unsigned first, unsigned last) {
    if (!c || !collection || !score || first > last || !method)
        return -EINVAL;
    LOCKED(c, collection_pooled(c, collection->model, method, score, first, last));
}

const char *vmaf_version(void) {
    return "3.2.0"; /* the version of libvmaf that computes the same values */
}

/* ------------------------------------------------------------------------------------------------
 * Reports
 * ------------------------------------------------------------------------------------------------ */

static const char *reported_column(void *user, int i) {
    return ((VmafContext *)user)->board.columns[i].name;
}

static int reported_value(void *user, int64_t frame, int i, double *value) {
    const figure *f = figure_of(&((VmafContext *)user)->board.columns[i], (uint64_t)frame);
    *value = f ? f->value : 0;
    return f != NULL;
}

/* Returns the first index at or after `frame` that lies on a page of any column, so that a report skips large gaps
 * without checking each index. */
static int64_t reported_next(void *user, int64_t frame) {
    VmafContext *c = (VmafContext *)user;
    uint64_t next = INT64_MAX;
    for (size_t i = 0; i < c->board.count; i++) {
        const column *of = &c->board.columns[i];
        size_t k = find_page(of, (uint64_t)frame / PAGE);
        uint64_t first = k < of->page_count ? of->pages[k]->number * PAGE : INT64_MAX;
        next = first < next ? first : next;
    }
    return next == INT64_MAX ? INT64_MAX : (int64_t)first_of(c, next > (uint64_t)frame ? next : (uint64_t)frame);
}

static const char *reported_pooling(void *user, int i) {
    static const char *const names[] = { "min", "max", "mean", "harmonic_mean" };
    (void)user;
    return names[i];
}

static int reported_pooled(void *user, int i, int pooling, double *value) {
    VmafContext *c = (VmafContext *)user;
    return c->read > 0 &&
           pool_at(c, c->board.columns[i].name, (enum VmafPoolingMethod)(pooling + 1), value, 0, c->read - 1) == 0;
}

static const char *reported_aggregate_name(void *user, int i) {
    return vmafgpu_aggregate_name(((VmafContext *)user)->engine, i);
}

static double reported_aggregate(void *user, int i) {
    double value = 0;
    vmafgpu_aggregate(((VmafContext *)user)->engine, i, &value);
    return value;
}

int vmaf_write_output(VmafContext *c, const char *path, enum VmafOutputFormat format) {
    report r;
    if (!c || !path)
        return -EINVAL;
    memset(&r, 0, sizeof r);
    r.out = fopen(path, "w");
    if (!r.out) {
        fprintf(stderr, "could not open file: %s\n", path);
        return -EINVAL;
    }
    int is_known = format > VMAF_OUTPUT_FORMAT_NONE && format <= VMAF_OUTPUT_FORMAT_SUB;
    pthread_mutex_lock(&c->lock);
    wait_for_worker(c);
    r.version = vmaf_version();
    r.fps = c->read / ((double)(c->end - c->begin) / CLOCKS_PER_SEC);
    r.width = (int)c->w;
    r.height = (int)c->h;
    r.digits = REPORT_DIGITS_LEGACY;
    r.columns = (int)c->board.count;
    r.poolings = VMAF_POOL_METHOD_NB - 1;
    r.aggregates = c->engine && c->is_flushed ? vmafgpu_aggregate_count(c->engine) : 0;
    r.step = (int64_t)step_of(c);
    r.frames = (int64_t)UINT_MAX + 1;
    r.next = reported_next;
    r.user = c;
    r.column_name = reported_column;
    r.value = reported_value;
    r.pooling_name = reported_pooling;
    r.pooled = reported_pooled;
    r.aggregate_name = reported_aggregate_name;
    r.aggregate = reported_aggregate;
    if (is_known)
        report_write(&r, (report_format)(format - VMAF_OUTPUT_FORMAT_XML));
    pthread_mutex_unlock(&c->lock);
    int is_whole = !ferror(r.out);
    is_whole = fclose(r.out) == 0 && is_whole;
    return is_known && is_whole ? 0 : -EINVAL;
}
