/* simulated.h - functions for tests that control the simulated GPU
 *
 * The library is loaded twice: by vmafgpu.h (config.gpu.driver_path) and by the test, which keeps it loaded and finds
 * these functions with simulated_find(). All functions are thread-safe.
 *
 *     void *library = dlopen("libsimulated_cuda32.so", RTLD_NOW);
 *     simulated_gpu gpu;
 *     if (!simulated_find(library, &gpu)) ...
 *     gpu.reset();
 *     gpu.fail("cuMemAlloc_v2", 1, 2);
 *
 * Entry points are identified by their CUDA or HIP names.
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Kinds of objects, for simulated_live(). */
enum {
    SIMULATED_CONTEXTS,
    SIMULATED_MODULES,
    SIMULATED_MEMORY,
    SIMULATED_PINNED,
    SIMULATED_STREAMS,
    SIMULATED_EVENTS,
    SIMULATED_KINDS
};

/* The order in which blocks, warps and lanes run. A missing barrier leads to wrong results in at least one order. */
enum { SIMULATED_FORWARD, SIMULATED_REVERSED, SIMULATED_SHUFFLED };

/* When work in streams runs. The order is always one that a real device could choose. */
enum {
    SIMULATED_LAZY,   /* when a call waits for it, together with the work that it depends on */
    SIMULATED_EAGER,  /* when it is submitted, after the work that it depends on */
    SIMULATED_OLDEST, /* when a call waits: in order of submission, until the call can return */
    SIMULATED_NEWEST, /* like OLDEST, but from the stream with the latest work */
    SIMULATED_MIXED   /* like OLDEST, but from random streams */
};

/* Properties for simulated_set(). Each comment includes the default value. */
enum {
    SIMULATED_DEVICES,         /* number of devices (default 2) */
    SIMULATED_CAPABILITY,      /* CUDA: default 80 (64 lanes: 75); HIP: EF_AMDGPU_MACH, default 0x41 (64 lanes: 0x4c) */
    SIMULATED_MULTIPROCESSORS, /* multiprocessors per device (default 4) */
    SIMULATED_DEVICE_MEMORY,   /* bytes per device (default 1 GiB) */
    SIMULATED_DOUBLE_RATIO,    /* ratio of single- to double-precision throughput (default 2); CUDA only */
    SIMULATED_SHARED_MEMORY,   /* maximum bytes per block (default 101376; HIP: 65536) */
    SIMULATED_PROPERTIES
};

/* name, result, arguments */
#define SIMULATED_FUNCTIONS(X) \
    /* Resets everything (objects, counts, orders, faults, properties) to the state after loading. */ \
    X(reset, void, (void)) \
    X(set, void, (int property, long long value)) \
    X(set_order, void, (int blocks, int streams, uint64_t seed)) \
    /* Makes the n-th call from now to this entry point (NULL: to any entry point) return `error`, once. n = 0 cancels \
     * this. Entry points that release objects release them even then. */ \
    X(fail, void, (const char *entry, long n, int error)) \
    /* Simulates losing the device: from the n-th call on, every call returns `error`. n = 0 turns this off. */ \
    X(lose, void, (long n, int error)) \
    /* Like lose(), for one device: only calls made while this device is current are counted and fail. */ \
    X(lose_device, void, (int device, long n, int error)) \
    /* Blocks calls of this entry point until simulated_hold(NULL). */ \
    X(hold, void, (const char *entry)) \
    /* Returns the number of calls that are currently blocked. */ \
    X(held, long, (void)) \
    /* Returns the first entry point that has failed because of fail() or lose(), or "". */ \
    X(hit, const char *, (void)) \
    /* Returns the number of calls to an entry point (NULL: to all entry points) since reset(). */ \
    X(calls, long, (const char *entry)) \
    /* Returns the number of objects that have not been released, including those in contexts that have ended. For \
     * contexts (CUDA only), returns the number of retains and creations that have not been undone. */ \
    X(live, long, (int kind)) \
    /* Returns the number of allocated bytes of device memory, on all devices. */ \
    X(live_bytes, long long, (void)) \
    /* Returns a message about the first mistake since reset(), or "". Mistakes are kernel errors and misuse of the \
     * API. Failures that the test requested and lack of memory are not mistakes. */ \
    X(report, const char *, (void)) \
    X(mistakes, long, (void)) \
    /* Returns the number of launches that have run. */ \
    X(launches, long, (void)) \
    /* Returns the number of submitted work items that have not run. */ \
    X(pending, long, (void)) \
    /* Makes it a mistake to read these bytes of device or pinned memory, or allows such reads again. */ \
    X(forbid, void, (uint64_t address, size_t bytes, int is_forbidden)) \
    /* Causes `kernel` to store or add wrong values. NULL turns this off. */ \
    X(plant, void, (const char *kernel)) \
    X(lanes, int, (void))

typedef struct simulated_gpu {
#define SIMULATED_FIELD(name, type, arguments) type(*name) arguments;
    SIMULATED_FUNCTIONS(SIMULATED_FIELD)
#undef SIMULATED_FIELD
} simulated_gpu;

#ifdef __cplusplus
extern "C" {
#endif
#define SIMULATED_DECLARE(name, type, arguments) type simulated_##name arguments;
SIMULATED_FUNCTIONS(SIMULATED_DECLARE)
#undef SIMULATED_DECLARE
#ifdef __cplusplus
}
#endif

/* Finds the functions. Returns 1 if the library has all of them. */
static inline int simulated_find(void *library, simulated_gpu *gpu) {
    void *symbol;
#define SIMULATED_LOOK_UP(name, type, arguments) \
    symbol = dlsym(library, "simulated_" #name); \
    if (!symbol) \
        return 0; \
    memcpy(&gpu->name, &symbol, sizeof symbol);
    SIMULATED_FUNCTIONS(SIMULATED_LOOK_UP)
#undef SIMULATED_LOOK_UP
    return 1;
}

#endif
