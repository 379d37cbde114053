/* Helpers of test_gpu: driver functions that the tests call, films in pageable, pinned and device memory, and an
 * allocator that counts allocations. The driver is either a real one or the one in test/simulated. Only a simulated
 * driver can fail on demand and report leaks. */
#ifndef GPU_H
#define GPU_H

/* test_gpu.c defines the counters of the checks for all files. */
#ifndef TEST_STATE
#define TEST_STATE extern
#endif
#include <dlfcn.h>
#include <stdarg.h>
#include "../scoring.h"
#include "../simulated/simulated.h"

/* ---- the driver ---- */

/* Name in struct gpu, symbol in the CUDA driver, symbol in the HIP runtime, arguments. The symbol is NULL if the vendor
 * has no such function; it starts with '?' if the function may be missing. */
#define GPU_FUNCTIONS(X) \
    X(init, "cuInit", "hipInit", (unsigned flags)) \
    X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *count)) \
    X(retain, "cuDevicePrimaryCtxRetain", NULL, (void **context, int device)) \
    X(release, "cuDevicePrimaryCtxRelease_v2", NULL, (int device)) \
    X(create, "cuCtxCreate_v2", NULL, (void **context, unsigned flags, int device)) \
    X(destroy, "cuCtxDestroy_v2", NULL, (void *context)) \
    X(push, "cuCtxPushCurrent_v2", NULL, (void *context)) \
    X(pop, "cuCtxPopCurrent_v2", NULL, (void **context)) \
    X(current, "cuCtxGetCurrent", NULL, (void **context)) \
    X(get_device, NULL, "hipGetDevice", (int *device)) \
    X(set_device, NULL, "hipSetDevice", (int device)) \
    X(peek_error, NULL, "?hipPeekAtLastError", (void)) \
    X(take_error, NULL, "?hipGetLastError", (void)) \
    X(take, "cuMemAlloc_v2", "hipMalloc", (uint64_t *address, size_t size)) \
    X(give, "cuMemFree_v2", "hipFree", (uint64_t address)) \
    X(take_pinned, "cuMemHostAlloc", "hipHostMalloc", (void **pointer, size_t size, unsigned flags)) \
    X(give_pinned, "cuMemFreeHost", "hipHostFree", (void *pointer)) \
    X(write, "cuMemcpyHtoD_v2", "hipMemcpyHtoD", (uint64_t to, const void *from, size_t size)) \
    X(write_later, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", \
      (uint64_t to, const void *from, size_t size, void *stream)) \
    X(read_later, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", (void *to, uint64_t from, size_t size, void *stream)) \
    X(fill_later, "cuMemsetD8Async", "hipMemsetD8Async", \
      (uint64_t to, unsigned char value, size_t size, void *stream)) \
    X(array_create, "?cuArray3DCreate_v2", NULL, (void **array, const void *shape)) \
    X(array_destroy, "?cuArrayDestroy", NULL, (void *array)) \
    X(surface_create, "?cuSurfObjectCreate", NULL, (uint64_t *surface, const void *resource)) \
    X(surface_destroy, "?cuSurfObjectDestroy", NULL, (uint64_t surface)) \
    X(copy_rows, "?cuMemcpy2DAsync_v2", NULL, (const void *what, void *stream)) \
    X(module_load, "?cuModuleLoadData", NULL, (void **module, const void *image)) \
    X(module_function, "?cuModuleGetFunction", NULL, (void **function, void *module, const char *name)) \
    X(launch, "?cuLaunchKernel", NULL, \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
       unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra)) \
    X(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", (void **stream, unsigned flags)) \
    X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", (void *stream)) \
    X(stream_wait, "cuStreamSynchronize", "hipStreamSynchronize", (void *stream))

/* The vendor of the GPU, selected by VMAFGPU_TEST_BACKEND. */
typedef struct vendor {
    const char *name;
    vmafgpu_backend backend;
    const char *init; /* a function that every version of the driver has */
} vendor;

static const vendor vendors[] = {
    { "cuda", VMAFGPU_BACKEND_CUDA, "cuInit" },
    { "hip", VMAFGPU_BACKEND_HIP, "hipInit" },
};

typedef struct gpu {
    const vendor *vendor;
    int is_hip;
    const char *driver_path, *kernels_path;
    void *library;
    int is_simulated;
    simulated_gpu sim; /* valid if is_simulated */
    /* Returns the number of objects that are still allocated; NULL unless the driver is the emulator. */
    int (*emulated_live)(unsigned long long counts[8]);
    int is_slow;   /* simulated, emulated, or under a RUNNER such as compute-sanitizer */
    void *context; /* CUDA: the primary context of device 0 */
#define GPU_FIELD(name, cuda, hip, arguments) int(*name) arguments;
    GPU_FUNCTIONS(GPU_FIELD)
#undef GPU_FIELD
} gpu;

/* Looks up a driver function. Returns 0 if a required function is missing. */
static inline int gpu_find_function(gpu *g, const char *symbol, void *function, size_t size) {
    const int is_optional = !symbol || symbol[0] == '?';
    void *found = symbol ? dlsym(g->library, symbol + is_optional) : NULL;
    memcpy(function, &found, size);
    return found || is_optional;
}

static inline void gpu_find(gpu *g, const char *vendor_name, const char *driver_path, const char *kernels_path) {
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (!strcmp(vendor_name, vendors[i].name))
            g->vendor = &vendors[i];
    test_need(g->vendor != NULL, "VMAFGPU_TEST_BACKEND must be cuda or hip");
    g->is_hip = g->vendor->backend == VMAFGPU_BACKEND_HIP;
    g->driver_path = driver_path;
    g->kernels_path = kernels_path;
    g->library = dlopen(driver_path, RTLD_NOW);
    test_need(g->library != NULL, "the driver library cannot be loaded");
#define GPU_LOOK_UP(name, cuda, hip, arguments) \
    test_need(gpu_find_function(g, g->is_hip ? (hip) : (cuda), &g->name, sizeof g->name), \
              "the driver library lacks " #name);
    GPU_FUNCTIONS(GPU_LOOK_UP)
#undef GPU_LOOK_UP
    g->is_simulated = simulated_find(g->library, &g->sim);
    (void)gpu_find_function(g, "?amdemuLive", &g->emulated_live, sizeof g->emulated_live);
    g->is_slow = g->is_simulated || g->emulated_live || test_depth() == TEST_FEW;
}

/* Starts a group of tests: resets a simulated GPU and sets its execution order, and makes the first device current
 * (CUDA: its primary context). */
static inline void gpu_begin(gpu *g, int blocks, int streams, uint64_t seed) {
    if (g->is_simulated) {
        g->sim.reset();
        g->sim.set_order(blocks, streams, seed);
    }
    test_need(g->init(0) == 0, "no driver");
    if (g->is_hip)
        test_need(g->set_device(0) == 0, "no device");
    else
        test_need(g->retain(&g->context, 0) == 0 && g->push(g->context) == 0, "no context");
}

/* Checks that the context or device that gpu_begin() selected is still current, and that no error is pending. */
static inline void gpu_check_caller(gpu *g) {
    if (g->is_hip) {
        int device = -1;
        CHECK_INT(g->get_device(&device), 0);
        CHECK_INT(device, 0);
        CHECK_INT(g->peek_error ? g->peek_error() : 0, 0);
    } else {
        void *context = NULL;
        CHECK_INT(g->current(&context), 0);
        CHECK(context == g->context);
    }
}

/* Ends a group of tests: checks for leaks and for errors that the simulation found. */
static inline void gpu_end(gpu *g) {
    gpu_check_caller(g);
    if (!g->is_hip) {
        void *context = NULL;
        CHECK_INT(g->pop(&context), 0);
        CHECK_INT(g->release(0), 0);
    }
    if (g->is_simulated) {
        for (int kind = 0; kind < SIMULATED_KINDS; kind++)
            CHECK_INT(g->sim.live(kind), 0);
        CHECK_INT(g->sim.live_bytes(), 0);
        CHECK_STR(g->sim.report(), "");
    }
    if (g->emulated_live) {
        unsigned long long counts[8];
        CHECK_INT(g->emulated_live(counts), 0);
    }
}

/* Makes the next launch of a kernel fail on a simulated GPU, and all calls after it. */
static inline void gpu_lose(const gpu *g) {
    g->sim.fail(g->is_hip ? "hipModuleLaunchKernel" : "cuLaunchKernel", 1, 700);
}

/* Copies from pageable host memory, and waits. The driver can return before the copy is complete, and streams of the
 * library do not wait for it. */
static inline int gpu_write(gpu *g, uint64_t to, const void *from, size_t size) {
    const int error = g->write(to, from, size);
    return error || g->is_simulated ? error : g->stream_wait(NULL);
}

/* ---- frames ---- */

/* How the pictures of a film are stored. `kinds` lists kinds of memory: 'h' pageable, 'p' pinned, 'd' device. The
 * pictures (reference 0, distorted 0, reference 1, ...) use these kinds in turn. */
typedef struct storage {
    const char *kinds;
    int bytes_per_sample; /* 0: as in the film */
    int shift;            /* left shift of the samples, for layouts with samples in the high bits */
    ptrdiff_t pitch;      /* pitch of luma in bytes; 0: no padding; negative: bottom-up */
    int offset;           /* distance of the first byte from an aligned address */
    int interleaved;      /* Cb and Cr are interleaved; implied by `shift` */
} storage;

typedef struct picture {
    vmafgpu_frame frame;
    size_t size;
    unsigned char *bytes; /* pageable or pinned memory; for a picture in device memory, a copy of it */
    uint64_t address;     /* device address of the picture, or 0 */
} picture;

/* The pictures of a film, in this order: reference 0, distorted 0, reference 1, ... */
typedef struct reel {
    const film *f;
    int count;
    picture *pictures;
} reel;

/* The layout of one plane of a picture, or of two interleaved planes. */
typedef struct plane_layout {
    const unsigned char *source[2];
    int width, height, interleaved;
    ptrdiff_t pitch; /* as in vmafgpu_frame; 0: no padding */
    size_t row;      /* bytes of a row without padding */
    size_t at;       /* offset of the top row from the first byte of the picture */
} plane_layout;

/* Places a plane after the first *size bytes of a picture and adds the size of the plane to *size. All planes get the
 * same padding per row. */
static inline plane_layout plane_place(const film *f, int index, int plane, const storage *how, size_t *size) {
    const int bytes = how->bytes_per_sample ? how->bytes_per_sample : f->bytes_per_sample;
    plane_layout l;
    ptrdiff_t tight, slack = 0, step;
    memset(&l, 0, sizeof l);
    l.interleaved = plane > 0 && (how->interleaved || how->shift);
    l.width = clip_plane_width(&f->clip, plane);
    l.height = clip_plane_height(&f->clip, plane);
    for (int i = 0; i < 2; i++) {
        l.source[i] = plane ? f->chroma + (size_t)(2 * index + (l.interleaved ? i : plane - 1)) * f->chroma_bytes
                            : f->luma + (size_t)index * f->plane_bytes;
    }
    tight = (ptrdiff_t)l.width * bytes * (l.interleaved ? 2 : 1);
    if (how->pitch) {
        slack = (how->pitch < 0 ? -how->pitch : how->pitch) - (ptrdiff_t)f->clip.width * bytes;
        l.pitch = how->pitch < 0 ? -(tight + slack) : tight + slack;
    }
    step = tight + slack;
    l.row = (size_t)tight;
    l.at = (plane ? (*size + 15) / 16 * 16 : 0) + (size_t)how->offset;
    *size = l.at + (size_t)step * (size_t)(l.height - 1) + (size_t)tight; /* no padding after the last row */
    l.at += l.pitch < 0 ? (size_t)step * (size_t)(l.height - 1) : 0;
    return l;
}

static inline void plane_write(const film *f, const plane_layout *l, const storage *how, unsigned char *bytes) {
    const int size = how->bytes_per_sample ? how->bytes_per_sample : f->bytes_per_sample,
              step = size * (l->interleaved ? 2 : 1);
    const ptrdiff_t pitch = l->pitch ? l->pitch : (ptrdiff_t)l->width * step;
    for (int y = 0; y < l->height; y++) {
        unsigned char *row = bytes + (ptrdiff_t)l->at + y * pitch;
        for (int i = 0; i < l->width * (l->interleaved ? 2 : 1); i++) {
            const int x = l->interleaved ? i / 2 : i;
            const unsigned char *sample =
                l->source[l->interleaved ? i % 2 : 0] + (size_t)(y * l->width + x) * (size_t)f->bytes_per_sample;
            uint16_t value = (uint16_t)(f->bytes_per_sample == 1 ? sample[0] : sample[0] | sample[1] << 8);
            value = (uint16_t)(value << how->shift);
            clip_store(&value, 1, size, row + i * size);
        }
    }
}

/* Makes the simulated GPU report reads of bytes between and around the rows of a picture. */
static inline void picture_fence(gpu *g, const picture *p, const plane_layout *layouts, int planes) {
    const uint64_t start = p->address ? p->address : (uint64_t)(uintptr_t)p->bytes;
    if (!g->is_simulated || p->frame.memory == VMAFGPU_MEMORY_HOST)
        return;
    g->sim.forbid(start, p->size, 1);
    for (int plane = 0; plane < planes; plane++) {
        const plane_layout *l = &layouts[plane];
        const ptrdiff_t pitch = l->pitch ? l->pitch : (ptrdiff_t)l->row;
        for (int y = 0; y < l->height; y++)
            g->sim.forbid(start + (uint64_t)((ptrdiff_t)l->at + y * pitch), l->row, 0);
    }
}

static inline picture picture_make(gpu *g, const film *f, int index, const storage *how) {
    picture p;
    const char kind = how->kinds[(size_t)index % strlen(how->kinds)];
    const int planes = !f->chroma ? 1 : how->interleaved || how->shift ? 2 : 3;
    plane_layout layouts[3];
    void *pinned = NULL;
    memset(&p, 0, sizeof p);
    for (int plane = 0; plane < planes; plane++)
        layouts[plane] = plane_place(f, index, plane, how, &p.size);
    if (kind == 'p') {
        test_need(g->take_pinned(&pinned, p.size, 0) == 0, "out of pinned memory");
        p.bytes = (unsigned char *)pinned;
    } else {
        p.bytes = (unsigned char *)malloc(p.size);
        test_need(p.bytes != NULL, "out of memory");
    }
    memset(p.bytes, 0xEE, p.size);
    for (int plane = 0; plane < planes; plane++)
        plane_write(f, &layouts[plane], how, p.bytes);
    if (kind == 'd') {
        test_need(g->take(&p.address, p.size) == 0, "out of device memory");
        CHECK_INT(gpu_write(g, p.address, p.bytes, p.size), 0);
    }
    for (int plane = 0; plane < planes; plane++) {
        p.frame.data[plane] = kind == 'd' ? (const void *)(uintptr_t)(p.address + layouts[plane].at)
                                          : (const void *)(p.bytes + layouts[plane].at);
        p.frame.pitch[plane] = layouts[plane].pitch;
    }
    p.frame.memory = kind == 'd' ? VMAFGPU_MEMORY_DEVICE : kind == 'p' ? VMAFGPU_MEMORY_PINNED : VMAFGPU_MEMORY_HOST;
    picture_fence(g, &p, layouts, planes);
    return p;
}

static inline void picture_free(gpu *g, picture *p) {
    if (p->address)
        CHECK_INT(g->give(p->address), 0);
    if (p->frame.memory == VMAFGPU_MEMORY_PINNED)
        CHECK_INT(g->give_pinned(p->bytes), 0);
    else
        free(p->bytes);
}

/* Overwrites every byte of a picture. */
static inline void picture_spoil(gpu *g, const picture *p) {
    if (p->address) {
        unsigned char *rubbish = (unsigned char *)malloc(p->size);
        test_need(rubbish != NULL, "out of memory");
        memset(rubbish, 0xA7, p->size);
        CHECK_INT(gpu_write(g, p->address, rubbish, p->size), 0);
        free(rubbish);
    } else {
        memset(p->bytes, 0xA7, p->size);
    }
}

/* Sets a bit in one sample of a picture. */
static inline void picture_set_bit(gpu *g, picture *p, size_t byte, int bit) {
    p->bytes[byte] |= (unsigned char)(1 << bit);
    if (p->address)
        CHECK_INT(gpu_write(g, p->address, p->bytes, p->size), 0);
}

static inline reel reel_make(gpu *g, const film *f, const storage *how) {
    reel r;
    r.f = f;
    r.count = 2 * f->clip.frames;
    r.pictures = (picture *)malloc(sizeof *r.pictures * (size_t)r.count);
    test_need(r.pictures != NULL, "out of memory");
    for (int i = 0; i < r.count; i++)
        r.pictures[i] = picture_make(g, f, i, how);
    return r;
}

static inline reel reel_of_kinds(gpu *g, const film *f, const char *kinds) {
    storage how;
    memset(&how, 0, sizeof how);
    how.kinds = kinds;
    return reel_make(g, f, &how);
}

static inline void reel_free(gpu *g, reel *r) {
    for (int i = 0; i < r->count; i++)
        picture_free(g, &r->pictures[i]);
    free(r->pictures);
}

static inline const vmafgpu_frame *reel_frame(const reel *r, int frame, int side) {
    return &r->pictures[2 * frame + side].frame;
}

static inline vmafgpu_result reel_push(const reel *r, vmafgpu *context, int frame) {
    return vmafgpu_push(context, reel_frame(r, frame, 0), reel_frame(r, frame, 1));
}

/* ---- CUDA arrays and surfaces ---- */

enum { BYTES = 1, WORDS = 2, LONG = 3, HALVES = 16 }; /* values of CUarray_format */

/* CUDA_ARRAY3D_DESCRIPTOR, CUDA_MEMCPY2D, CUDA_RESOURCE_DESC */
typedef struct array_shape {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} array_shape;

typedef struct copy_end {
    size_t x, y;
    int kind;
    const void *host;
    uint64_t device;
    void *array;
    size_t pitch;
} copy_end;

typedef struct copy_rows {
    copy_end from, to;
    size_t width, height;
} copy_rows;

typedef struct resource {
    int kind;
    void *array;
    uint64_t rest[16];
} resource;

/* Creates a CUDA array, copies rows of host memory into it, and creates a surface for it. Returns 0 on failure; *array
 * and *surface are set if they were created. */
static inline int make_array(gpu *g, const void *rows, size_t pitch, int width, int height, int format,
                             unsigned channels, void **array, uint64_t *surface) {
    enum { SURFACE_LDST = 2, HOST = 1, ARRAY = 3 };
    array_shape shape;
    copy_rows copy;
    resource of;
    memset(&shape, 0, sizeof shape);
    memset(&copy, 0, sizeof copy);
    memset(&of, 0, sizeof of);
    shape.width = (size_t)width;
    shape.height = (size_t)height;
    shape.format = format;
    shape.channels = channels;
    shape.flags = SURFACE_LDST;
    if (g->array_create(array, &shape) != 0) {
        *array = NULL;
        return 0;
    }
    copy.from.kind = HOST;
    copy.from.host = rows;
    copy.from.pitch = pitch;
    copy.to.kind = ARRAY;
    copy.to.array = *array;
    copy.width = (size_t)width * channels * (format == BYTES ? 1 : format == LONG ? 4 : 2);
    copy.height = (size_t)height;
    of.array = *array;
    return g->copy_rows(&copy, NULL) == 0 && g->stream_wait(NULL) == 0 && g->surface_create(surface, &of) == 0;
}

/* ---- contexts ---- */

/* Returns the backend for frames in device memory: AUTO on CUDA, because AUTO treats such frames as CUDA frames, and
 * HIP otherwise. */
static inline vmafgpu_backend backend_for_device(const gpu *g) {
    return g->vendor->backend == VMAFGPU_BACKEND_CUDA ? VMAFGPU_BACKEND_AUTO : g->vendor->backend;
}

/* Returns a config that scores the film on this GPU. vmafgpu_open() does not fall back to the CPU. */
static inline vmafgpu_config gpu_config(const gpu *g, const film *f) {
    vmafgpu_config config = film_config(f);
    config.backend = g->vendor->backend;
    config.gpu.driver_path = g->driver_path;
    config.gpu.kernels_path = g->kernels_path;
    config.gpu.skip_self_test = g->is_slow; /* the self-test is too slow; the groups self_test and failures enable it */
    return config;
}

/* Returns the scores from the CPU backend for the same config, with frames in pageable memory. */
static inline scores cpu_score(const film *f, const vmafgpu_config *config) {
    vmafgpu_config plain = *config;
    plain.backend = VMAFGPU_BACKEND_CPU;
    memset(&plain.gpu, 0, sizeof plain.gpu);
    plain.layout = VMAFGPU_LAYOUT_PLANAR;
    plain.bytes_per_sample = 0;
    plain.discard_scores = 0;
    plain.on_score = NULL;
    return film_score(f, &plain);
}

/* Checks that the GPU scored the frames and did not fail. */
static inline void check_on_gpu(const gpu *g, const vmafgpu *context) {
    CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
    CHECK_STR(vmafgpu_backend_note(context), "");
}

/* Pushes the pairs of a reel, starting with pair `first`, and flushes. */
static inline void reel_finish(const reel *r, vmafgpu *context, int first) {
    for (int i = first; i < r->count / 2; i++)
        CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
}

/* Checks that the scores of a flushed context equal `expected` and that the GPU computed them. */
static inline void check_context(const gpu *g, vmafgpu *context, const scores *expected) {
    scores got = scores_of(context);
    check_on_gpu(g, context);
    check_same_scores(&got, expected);
    scores_free(&got);
}

/* ---- scores from callbacks and vmafgpu_next_score() ---- */

/* The scores received so far, in frame order. */
typedef struct collector {
    scores got;
    int subsample;
    const char *wrong; /* description of an error, or ""; callbacks do not use CHECK */
} collector;

static inline collector collector_like(const scores *expected, int subsample) {
    collector c;
    c.got.rows = 0;
    c.got.columns = expected->columns;
    c.got.values = (double *)malloc(sizeof(double) * (size_t)(expected->rows * expected->columns + 1));
    c.subsample = subsample ? subsample : 1;
    c.wrong = "";
    test_need(c.got.values != NULL, "out of memory");
    return c;
}

static inline void collect(void *user, const vmafgpu_score *score) {
    collector *c = (collector *)user;
    if (score->index != (int64_t)c->got.rows * c->subsample) {
        c->wrong = "a frame out of order";
    } else if (score->result != VMAFGPU_OK) {
        c->wrong = "a frame without a score";
    } else {
        memcpy(c->got.values + c->got.rows * c->got.columns, score->values, sizeof(double) * (size_t)c->got.columns);
        c->got.rows++;
    }
}

/* Collects the scores that vmafgpu_next_score() returns. */
static inline void collect_next(vmafgpu *context, collector *c) {
    vmafgpu_score score;
    while (vmafgpu_next_score(context, &score) == VMAFGPU_OK)
        collect(c, &score);
}

/* Checks that all scores were received and equal `expected`, and frees the collector. */
static inline void check_collected(collector *c, const scores *expected) {
    CHECK_STR(c->wrong, "");
    check_same_scores(&c->got, expected);
    scores_free(&c->got);
}

/* ---- an allocator that counts, and fails on demand; thread-safe ---- */

typedef struct tally {
    long live;
    long fail_at; /* counted down by each allocation; the allocation that reaches 0 fails; 0: none fails */
    int failed;
} tally;

static inline void *tally_alloc(void *user, size_t size) {
    tally *t = (tally *)user;
    void *pointer;
    if (__atomic_load_n(&t->fail_at, __ATOMIC_RELAXED) && __atomic_sub_fetch(&t->fail_at, 1, __ATOMIC_RELAXED) == 0) {
        t->failed = 1;
        return NULL;
    }
    pointer = malloc(size);
    test_need(pointer != NULL, "out of memory");
    memset(pointer, 0xA5, size);
    __atomic_add_fetch(&t->live, 1, __ATOMIC_RELAXED);
    return pointer;
}

static inline void tally_free(void *user, void *pointer) {
    tally *t = (tally *)user;
    __atomic_sub_fetch(&t->live, pointer != NULL, __ATOMIC_RELAXED);
    free(pointer);
}

static inline vmafgpu_allocator tally_allocator(tally *t) {
    vmafgpu_allocator a;
    a.allocate = tally_alloc;
    a.release = tally_free;
    a.user = t;
    return a;
}

static inline void where(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(test_where, sizeof test_where, format, arguments);
    va_end(arguments);
}

/* ---- the groups of test_gpu ---- */

/* clang-format off */
#define GPU_GROUPS(X) \
    X(equality) X(v1) X(v1_cambi) X(v1_speed) X(v1_speed_illegal) X(random) X(clips) X(sums) X(noise) X(partial) \
    X(vif_pieces) X(reuse) X(caller_stream) X(caller_context) X(score_pair) X(segments) X(reset) X(unread_scores) \
    X(next_score) X(two_contexts) X(tags) X(threads) X(acquire) X(kinds_of_memory) X(images) X(standalone) \
    X(standalone_on_cpu) X(standalone_lost) X(temporal) X(uncertain) X(pixels) X(no_device) X(memory) X(illegal) \
    X(self_test) X(containers) X(failures) X(orders) X(background) X(background_failures) X(devices) X(live) X(edits) \
    X(maps) X(slopes) X(describe) X(real_loss)
/* clang-format on */
#define GPU_GROUP(name) void test_##name(gpu *g);
GPU_GROUPS(GPU_GROUP)
#undef GPU_GROUP

/* ---- equality.c: comparisons that other files use ---- */

typedef struct selection {
    const char *name;
    int model_count; /* 0: features only */
    vmafgpu_model_config models[3];
    int feature_count;
    vmafgpu_feature_config features[6];
} selection;

enum {
    DEFAULT,
    MANY,
    ADM,
    VIF,
    MOTION,
    LIMITS,
    CSF,
    SKIPS,
    WINDOWS,
    LUMA_ONLY,
    V1 = LUMA_ONLY,
    V1_ALL,
    BANDING,
    CHROMA,
    V0_AND_V1,
    SELECTIONS
};

extern const selection selections[SELECTIONS];

void select_features(vmafgpu_config *config, const selection *s);
/* Returns a small film. For selections from V1 on, it has chroma and a fixed size that is large enough for them. */
film small_film(int selected, int width, int height, int depth, int frames, uint32_t seed);

enum { KEPT, CALLBACK, NEXT }; /* how the test receives scores: at the end, by callback, or from vmafgpu_next_score() */

typedef struct equality {
    const char *what; /* content of the clip; NULL: texture+mix */
    int width, height, depth, frames;
    storage how;
    int batch, queue, selected, subsample, arithmetic, delivery;
    vmafgpu_memory promised; /* config.gpu.frame_memory */
} equality;

/* Compares the scores of a film on the GPU and on the CPU; check_generated() also generates the film. */
void check_equality(gpu *g, const film *f, const equality *e);
void check_generated(gpu *g, const equality *e, uint32_t seed);

#endif /* GPU_H */
