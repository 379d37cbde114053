/* What a game or streaming engine does with VMAF: the frames are in GPU memory already, rendered and encoded there, and are
 * scored where they lie; nothing but the scores comes back. Two pairs of frames are in rotation: while one is scored the
 * next is drawn, and vmafgpu_reusable() and vmafgpu_wait() say when a frame may be overwritten.
 *
 *     device_frames [KERNELS [DRIVER]]     kernels: by default beside the program; driver: by default NVIDIA's
 *
 * The engine here is a stand-in: it draws on the CPU and copies. It looks the CUDA driver up at run time, so that this file
 * builds everywhere; yours has its context and its frames from cuda.h, and needs only run() and score_frames() below.
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

enum { WIDTH = 320, HEIGHT = 180, FRAMES = 20, PAIRS = 2 };

/* ---- the stand-in for an engine: a CUDA context, a stream, frames in device memory ---- */

/* Of the CUDA driver API what is needed here. Contexts and streams are opaque, device addresses 64 bits, 0 is success. */
#define CUDA_FUNCTIONS(X) \
    X(init, "cuInit", (unsigned flags)) \
    X(device_get, "cuDeviceGet", (int *device, int ordinal)) \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **context, int device)) \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device)) \
    X(context_push, "cuCtxPushCurrent_v2", (void *context)) \
    X(context_pop, "cuCtxPopCurrent_v2", (void **context)) \
    X(stream_create, "cuStreamCreate", (void **stream, unsigned flags)) \
    X(stream_destroy, "cuStreamDestroy_v2", (void *stream)) \
    X(stream_wait, "cuStreamSynchronize", (void *stream)) \
    X(memory_take, "cuMemAlloc_v2", (uint64_t *address, size_t size)) \
    X(memory_give, "cuMemFree_v2", (uint64_t address)) \
    X(copy_in, "cuMemcpyHtoDAsync_v2", (uint64_t to, const void *from, size_t size, void *stream))

typedef struct engine {
#define CUDA_FIELD(name, symbol, arguments) int (*name) arguments;
    CUDA_FUNCTIONS(CUDA_FIELD)
#undef CUDA_FIELD
    void          *driver;
    int            device, has_context, is_current;
    void          *context, *stream;
    uint64_t       frames[PAIRS][2]; /* reference and distorted */
    unsigned char *picture;          /* on the CPU */
} engine;

static void *find_function(void *driver, const char *symbol) {
#ifdef _WIN32
    FARPROC found = GetProcAddress((HMODULE)driver, symbol);
    void *function;
    memcpy(&function, &found, sizeof function);
    return function;
#else
    return dlsym(driver, symbol);
#endif
}

static int find_functions(engine *e) {
#define CUDA_FIND(name, symbol, arguments) \
    function = find_function(e->driver, symbol); \
    memcpy(&e->name, &function, sizeof function); \
    found = found && function;
    void *function;
    int found = 1;
    CUDA_FUNCTIONS(CUDA_FIND)
#undef CUDA_FIND
    return found;
}

/* Says why there is none; the caller closes it in any case. */
static const char *engine_open(engine *e, const char *driver) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    memset(e, 0, sizeof *e);
#ifdef _WIN32
    e->driver = (void *)LoadLibraryA(driver ? driver : "nvcuda.dll");
#else
    e->driver = dlopen(driver ? driver : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    if (!e->driver || !find_functions(e)) {
        return "there is no CUDA driver";
    }
    if (e->init(0) != 0 || e->device_get(&e->device, 0) != 0) {
        return "the CUDA driver finds no device";
    }
    e->has_context = e->context_retain(&e->context, e->device) == 0;
    e->is_current = e->has_context && e->context_push(e->context) == 0;
    if (!e->is_current || e->stream_create(&e->stream, 0) != 0) {
        return "the device gives no context";
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        if (e->memory_take(&e->frames[i / 2][i % 2], size) != 0) {
            return "the device has no memory for frames";
        }
    }
    e->picture = malloc(size);
    return e->picture ? NULL : "no memory";
}

static void engine_close(engine *e) {
    void *context;
    free(e->picture);
    for (int i = 0; i < 2 * PAIRS; i++) {
        if (e->frames[i / 2][i % 2]) {
            e->memory_give(e->frames[i / 2][i % 2]);
        }
    }
    if (e->stream) {
        e->stream_destroy(e->stream);
    }
    if (e->is_current) {
        e->context_pop(&context);
    }
    if (e->has_context) {
        e->context_release(e->device);
    }
    if (e->driver) {
#ifdef _WIN32
        FreeLibrary((HMODULE)e->driver);
#else
        dlclose(e->driver);
#endif
    }
}

/* The reference as it is; the distorted frame as an engine draws it that saves time: in coarser and coarser squares. */
static int draw(engine *e, int frame, int is_distorted, uint64_t to) {
    int side = is_distorted ? 1 + frame / 4 : 1;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            int u = x / side * side + 3 * frame, v = y / side * side;
            int value = 40 + u * 3 % 140 + (((u / 24) ^ (v / 18)) & 1) * 40 + v * 7 % 31;
            e->picture[y * WIDTH + x] = (unsigned char)value;
        }
    }
    return e->copy_in(to, e->picture, (size_t)WIDTH * HEIGHT, e->stream) == 0 && e->stream_wait(e->stream) == 0;
}

/* ---- the part that is yours, too ---- */

static vmafgpu_frame device_frame(uint64_t address) {
    vmafgpu_frame frame = {{(const void *)(uintptr_t)address, NULL, NULL}, {WIDTH, 0, 0}, VMAFGPU_MEMORY_DEVICE};
    return frame;
}

static int print_ready(vmafgpu *vmaf) {
    vmafgpu_score score;
    vmafgpu_result result;
    while ((result = vmafgpu_next(vmaf, &score)) == VMAFGPU_OK) {
        printf("frame %d: %.3f\n", (int)score.index, score.score);
    }
    return result >= 0;
}

static int score_frames(vmafgpu *vmaf, engine *e) {
    for (int i = 0; i < FRAMES; i++) {
        const uint64_t *pair = e->frames[i % PAIRS];
        vmafgpu_frame reference = device_frame(pair[0]), distorted = device_frame(pair[1]);
        int64_t before = i - PAIRS + 1; /* so many pairs must be done with before this one's memory is free again */
        if (before > 0 && vmafgpu_reusable(vmaf) < before && vmafgpu_wait(vmaf, before) != VMAFGPU_OK) {
            return 0;
        }
        if (!draw(e, i, 0, pair[0]) || !draw(e, i, 1, pair[1])) {
            fprintf(stderr, "device_frames: a copy failed\n");
            return 0;
        }
        if (vmafgpu_push(vmaf, &reference, &distorted) != VMAFGPU_OK || !print_ready(vmaf)) {
            return 0;
        }
    }
    return vmafgpu_flush(vmaf) == VMAFGPU_OK && print_ready(vmaf);
}

static int run(engine *e, const char *kernels, const char *driver) {
    vmafgpu_config config = {0};
    vmafgpu *vmaf = NULL;
    double mean = 0;
    int ok;
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_400;
    config.backend = VMAFGPU_BACKEND_CUDA;
    config.gpu.frames = VMAFGPU_MEMORY_DEVICE; /* no others: then no pinned memory is taken for them */
    config.gpu.context = e->context;
    config.gpu.batch = 1; /* the default gathers pairs, so it needs as many in rotation, and is faster */
    config.gpu.kernels_path = kernels;
    config.gpu.driver_path = driver;
    /* draw() waits for its copy. With config.gpu.stream = e->stream it need not: the GPU would wait for it. */
    ok = vmafgpu_open(&vmaf, &config) == VMAFGPU_OK && score_frames(vmaf, e) &&
         vmafgpu_pool(vmaf, vmafgpu_score_column(vmaf, 0), VMAFGPU_MEAN, &mean) == VMAFGPU_OK;
    if (ok) {
        printf("mean %.3f on %s, %.1f MB of its memory\n", mean, vmafgpu_device_name(vmaf),
               (double)vmafgpu_device_memory(vmaf) / 1e6);
    } else {
        fprintf(stderr, "device_frames: %s\n", vmafgpu_last_error(vmaf));
    }
    vmafgpu_close(vmaf); /* before the frames go */
    return ok;
}

int main(int argc, char **argv) {
    const char *kernels = argc > 1 ? argv[1] : NULL, *driver = argc > 2 ? argv[2] : NULL, *missing;
    engine e;
    int ok = 1;
    missing = engine_open(&e, driver);
    if (missing) {
        printf("no GPU: %s\n", missing);
    } else {
        ok = run(&e, kernels, driver);
    }
    engine_close(&e);
    return !ok;
}
