/* simulated.h - how tests steer the simulated GPU
 *
 * The library is opened twice: by vmafgpu.h through config.gpu.driver_path, and by the test, which keeps it open and
 * finds these functions with dlsym() (simulated_find() does that). All may be called from any thread at any time.
 *
 *     void *library = dlopen("libsimulated_cuda32.so", RTLD_NOW);
 *     simulated_gpu gpu;
 *     if (!simulated_find(library, &gpu)) ...
 *     gpu.reset();
 *     gpu.fail("cuMemAlloc_v2", 1, 2);
 *
 * Entry points are called by the names that they have in the library: CUDA's or HIP's.
 */
#ifndef SIMULATED_H
#define SIMULATED_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Live objects. */
enum {
    SIMULATED_CONTEXTS,
    SIMULATED_MODULES,
    SIMULATED_MEMORY,
    SIMULATED_PINNED,
    SIMULATED_STREAMS,
    SIMULATED_EVENTS,
    SIMULATED_KINDS
};

/* The order in which blocks, warps and lanes run. A missing barrier shows in one of them. */
enum { SIMULATED_FORWARD, SIMULATED_REVERSED, SIMULATED_SHUFFLED };

/* When work in streams runs; always in a legal order. */
enum {
    SIMULATED_LAZY,   /* when it is waited for, and only what that needs */
    SIMULATED_EAGER,  /* when it is submitted, if nothing holds it back */
    SIMULATED_OLDEST, /* when something is waited for: in the order of submission, until that is done */
    SIMULATED_NEWEST, /* the same, from the stream with the latest work */
    SIMULATED_MIXED   /* the same, from streams by chance */
};

/* What can be set, and its default. */
enum {
    SIMULATED_DEVICES,         /* 2 */
    SIMULATED_CAPABILITY,      /* CUDA: 80; with 64 lanes 75. HIP: a target, by the number that code objects have for
                                   it (EF_AMDGPU_MACH): 0x41, a gfx1100; with 64 lanes 0x4c, a gfx942 */
    SIMULATED_MULTIPROCESSORS, /* 4 */
    SIMULATED_DEVICE_MEMORY,   /* bytes of each device, 1 GiB */
    SIMULATED_DOUBLE_RATIO,    /* single to double precision, 2; CUDA only */
    SIMULATED_SHARED_MEMORY,   /* bytes of a block at most, 101376; HIP: 65536 */
    SIMULATED_PROPERTIES
};

/* name, result, arguments */
#define SIMULATED_FUNCTIONS(X) \
    /* As after loading: no object, no count, no order, no fault, default properties. */ \
    X(reset, void, (void)) \
    X(set, void, (int property, long long value)) \
    X(set_order, void, (int blocks, int streams, uint64_t seed)) \
    /* The n-th call from now of this entry point (NULL: of any) returns `error`, once; n = 0: none. What gives \
     * something back does so all the same. */ \
    X(fail, void, (const char *entry, long n, int error)) \
    /* From the n-th call from now on, every call returns `error`: the device is lost. n = 0: it is not. */ \
    X(lose, void, (long n, int error)) \
    /* The same for calls that work on the current device, if it is this one: that one is lost. */ \
    X(lose_device, void, (int device, long n, int error)) \
    /* Calls of this entry point do not begin until simulated_hold(NULL). */ \
    X(hold, void, (const char *entry)) \
    /* How many calls wait for that. */ \
    X(held, long, (void)) \
    /* The entry point that fail() or lose() has hit first since; "" if none. */ \
    X(hit, const char *, (void)) \
    /* Calls of an entry point since reset(); NULL: of all. */ \
    X(calls, long, (const char *entry)) \
    /* Objects that were not given back, also those whose context is gone. Contexts, which are \
     * CUDA's: retains and creations. */ \
    X(live, long, (int kind)) \
    /* Bytes of device memory, of all devices. */ \
    X(live_bytes, long long, (void)) \
    /* The first mistake since reset(): a sentence; "" if none. Mistakes are those of kernels and misuse of the API; \
     * not what the test itself asked for, and no lack of memory. */ \
    X(report, const char *, (void)) \
    X(mistakes, long, (void)) \
    /* Kernel launches that ran. */ \
    X(launches, long, (void)) \
    /* Work submitted that has not run. */ \
    X(pending, long, (void)) \
    /* Reading these bytes of device or pinned memory is a mistake from now on, or is none any more. */ \
    X(forbid, void, (uint64_t address, size_t bytes, int is_forbidden)) \
    /* From now on, what the kernel of that name stores or adds is off by a bit. NULL: no kernel is. */ \
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

/* 1 if the library has all of them. */
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
