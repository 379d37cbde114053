/* Opens a GPU and creates a stream on it, for the examples. The driver (CUDA) or the runtime (HIP) is loaded at run
 * time, so that the examples compile on machines without either. Your program would use cuda.h or hip_runtime.h instead
 * of this file. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdint.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

/* The functions that the examples call: field of `device`, name in CUDA, name in HIP, arguments. A name is NULL if that
 * API does not need the function. Contexts and streams are opaque pointers, device addresses have 64 bits, and 0 is
 * success. */
#define DEVICE_FUNCTIONS(X) \
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
    X(memory_allocate, "cuMemAlloc_v2", "hipMalloc", (uint64_t *address, size_t size)) \
    X(memory_free, "cuMemFree_v2", "hipFree", (uint64_t address)) \
    X(pinned_allocate, "cuMemHostAlloc", "hipHostMalloc", (void **pointer, size_t size, unsigned flags)) \
    X(pinned_free, "cuMemFreeHost", "hipHostFree", (void *pointer)) \
    X(copy_in, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", (uint64_t to, const void *from, size_t size, void *stream))

typedef struct device {
#define DEVICE_FIELD(name, cuda, hip, arguments) int(*name) arguments;
    DEVICE_FUNCTIONS(DEVICE_FIELD)
#undef DEVICE_FIELD
    void *driver;
    int is_hip, has_context, is_current;
    void *context, *stream;
} device;

static inline void *device_function(void *driver, const char *symbol) {
#ifdef _WIN32
    FARPROC found = GetProcAddress((HMODULE)driver, symbol);
    void *function;
    memcpy(&function, &found, sizeof function);
    return function;
#else
    return dlsym(driver, symbol);
#endif
}

/* Returns NULL on success, otherwise the reason why there is no GPU. Call device_close() in both cases. */
static inline const char *device_open(device *d, int is_hip, const char *driver) {
    int count = 0, found = 1;
    memset(d, 0, sizeof *d);
    d->is_hip = is_hip;
#ifdef _WIN32
    d->driver = (void *)LoadLibraryA(driver ? driver : is_hip ? "amdhip64.dll" : "nvcuda.dll");
#else
    const char *const names[] = { driver, is_hip ? "libamdhip64.so.7" : "libcuda.so.1",
                                  is_hip ? "libamdhip64.so.6" : NULL, is_hip ? "libamdhip64.so" : NULL };
    for (int i = driver ? 0 : 1; !d->driver && i < (driver ? 1 : 4) && names[i]; i++)
        d->driver = dlopen(names[i], RTLD_NOW | RTLD_LOCAL); /* vmafgpu.h will use this library */
#endif
    if (!d->driver)
        return "the driver library cannot be loaded";
#define DEVICE_FIND(name, cuda, hip, arguments) \
    { \
        const char *symbol = is_hip ? hip : cuda; \
        void *function = symbol ? device_function(d->driver, symbol) : NULL; \
        memcpy(&d->name, &function, sizeof function); \
        found = found && (function || !symbol); \
    }
    DEVICE_FUNCTIONS(DEVICE_FIND)
#undef DEVICE_FIND
    if (!found)
        return "the driver lacks a function";
    if (d->init(0) != 0 || d->device_count(&count) != 0 || count == 0)
        return "the driver finds no device";
    if (is_hip) {
        d->is_current = d->device_use(0) == 0;
    } else {
        d->has_context = d->context_retain(&d->context, 0) == 0;
        d->is_current = d->has_context && d->context_push(d->context) == 0;
    }
    return d->is_current && d->stream_create(&d->stream, 1) == 0 ? NULL : "the device cannot be used";
}

static inline void device_close(device *d) {
    void *context;
    if (d->stream)
        d->stream_destroy(d->stream);
    if (d->has_context && d->is_current)
        d->context_pop(&context);
    if (d->has_context)
        d->context_release(0);
    if (d->driver) {
#ifdef _WIN32
        FreeLibrary((HMODULE)d->driver);
#else
        dlclose(d->driver);
#endif
    }
}

#endif /* DEVICE_H */
