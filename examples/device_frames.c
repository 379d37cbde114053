/* What a game or streaming engine does with VMAF: the frames are in GPU memory already, rendered and encoded there, and are
 * scored where they lie; nothing but the scores comes back. Two pairs of frames are in rotation: while one is scored the
 * next is drawn, and vmafgpu_reusable() and vmafgpu_wait() say when a frame may be overwritten.
 *
 *     device_frames [cuda | hip [KERNELS [DRIVER]]]     cuda by default; kernels: by default beside the program
 *
 * The engine here is a stand-in: it draws on the CPU and copies. It looks the driver up at run time, so that this file builds
 * everywhere; yours has its frames from cuda.h or hip_runtime.h, and needs only run() and score_frames() below.
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

/* ---- the stand-in for an engine: a context (CUDA) or a device (HIP), a stream, frames in device memory ---- */

/* What is needed here: name, CUDA's, HIP's, arguments. Contexts and streams are opaque, device addresses 64 bits, 0 is
 * success. NULL: not needed there. */
#define GPU_FUNCTIONS(X) \
    X(init, "cuInit", "hipInit", (unsigned flags)) \
    X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int *count)) \
    X(device_use, NULL, "hipSetDevice", (int device)) \
    X(context_retain, "cuDevicePrimaryCtxRetain", NULL, (void **context, int device)) \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", NULL, (int device)) \
    X(context_push, "cuCtxPushCurrent_v2", NULL, (void *context)) \
    X(context_pop, "cuCtxPopCurrent_v2", NULL, (void **context)) \
    X(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", (void **stream, unsigned flags)) \
    X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", (void *stream)) \
    X(stream_wait, "cuStreamSynchronize", "hipStreamSynchronize", (void *stream)) \
    X(memory_take, "cuMemAlloc_v2", "hipMalloc", (uint64_t *address, size_t size)) \
    X(memory_give, "cuMemFree_v2", "hipFree", (uint64_t address)) \
    X(copy_in, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", \
      (uint64_t to, const void *from, size_t size, void *stream))

typedef struct engine {
#define GPU_FIELD(name, cuda, hip, arguments) int (*name) arguments;
    GPU_FUNCTIONS(GPU_FIELD)
#undef GPU_FIELD
    void          *driver;
    int            is_hip, has_context, is_current;
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
#define GPU_FIND(name, cuda, hip, arguments) \
    symbol = e->is_hip ? hip : cuda; \
    function = symbol ? find_function(e->driver, symbol) : NULL; \
    memcpy(&e->name, &function, sizeof function); \
    found = found && (function || !symbol);
    const char *symbol;
    void *function;
    int found = 1;
    GPU_FUNCTIONS(GPU_FIND)
#undef GPU_FIND
    return found;
}

/* Says why there is none; the caller closes it in any case. */
static const char *engine_open(engine *e, int is_hip, const char *driver) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    int count = 0;
    memset(e, 0, sizeof *e);
    e->is_hip = is_hip;
#ifdef _WIN32
    e->driver = (void *)LoadLibraryA(driver ? driver : is_hip ? "amdhip64.dll" : "nvcuda.dll");
#else
    const char *const names[] = {driver, is_hip ? "libamdhip64.so.7" : "libcuda.so.1", is_hip ? "libamdhip64.so.6" : NULL,
                                 is_hip ? "libamdhip64.so" : NULL};
    for (int i = driver ? 0 : 1; !e->driver && i < (driver ? 1 : 4) && names[i]; i++) {
        e->driver = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* vmafgpu.h uses what the program has loaded */
    }
#endif
    if (!e->driver || !find_functions(e)) {
        return "there is no driver";
    }
    if (e->init(0) != 0 || e->device_count(&count) != 0 || count == 0) {
        return "the driver finds no device";
    }
    if (is_hip) {
        e->is_current = e->device_use(0) == 0;
    } else {
        e->has_context = e->context_retain(&e->context, 0) == 0;
        e->is_current = e->has_context && e->context_push(e->context) == 0;
    }
    if (!e->is_current || e->stream_create(&e->stream, 0) != 0) {
        return "the device cannot be used";
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
    if (e->has_context && e->is_current) {
        e->context_pop(&context);
    }
    if (e->has_context) {
        e->context_release(0);
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
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *vmaf = NULL;
    double mean = 0;
    int ok;
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_400;
    config.backend = e->is_hip ? VMAFGPU_BACKEND_HIP : VMAFGPU_BACKEND_CUDA;
    config.gpu.frames = VMAFGPU_MEMORY_DEVICE; /* no others: then no pinned memory is taken for them */
    config.gpu.context = e->context; /* NULL with HIP */
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
    const int is_hip = argc > 1 && strcmp(argv[1], "hip") == 0;
    const char *kernels = argc > 2 ? argv[2] : NULL, *driver = argc > 3 ? argv[3] : NULL, *missing;
    engine e;
    int ok = 1;
    missing = engine_open(&e, is_hip, driver);
    if (missing) {
        printf("no GPU: %s\n", missing);
    } else {
        ok = run(&e, kernels, driver);
    }
    engine_close(&e);
    return !ok;
}
