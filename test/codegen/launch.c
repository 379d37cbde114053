/* Launches kernels from aliasing.cu on the first GPU, so that a profiler can count their instructions, and checks the
 * results.
 *
 *     launch FILE.ptx KERNEL...
 *
 * The driver is loaded at run time, so no CUDA toolkit is needed to compile this program.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 256, BLOCKS = 1 << 14, COUNT = THREADS * BLOCKS, LARGEST_IMAGE = 1 << 20 };

typedef int status;       /* CUresult, CUdevice */
typedef uint64_t address; /* CUdeviceptr */

static struct {
    status (*init)(unsigned flags);
    status (*device)(int *device, int ordinal);
    status (*retain)(void **context, int device);
    status (*make_current)(void *context);
    status (*load)(void **module, const void *image);
    status (*function)(void **function, void *module, const char *name);
    status (*allocate)(address *p, size_t size);
    status (*to_device)(address p, const void *from, size_t size);
    status (*from_device)(void *to, address p, size_t size);
    status (*clear)(address p, unsigned char value, size_t size);
    status (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **arguments, void **extra);
    status (*synchronize)(void);
} cuda;

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    { "cuInit", offsetof(__typeof__(cuda), init) },
    { "cuDeviceGet", offsetof(__typeof__(cuda), device) },
    { "cuDevicePrimaryCtxRetain", offsetof(__typeof__(cuda), retain) },
    { "cuCtxSetCurrent", offsetof(__typeof__(cuda), make_current) },
    { "cuModuleLoadData", offsetof(__typeof__(cuda), load) },
    { "cuModuleGetFunction", offsetof(__typeof__(cuda), function) },
    { "cuMemAlloc_v2", offsetof(__typeof__(cuda), allocate) },
    { "cuMemcpyHtoD_v2", offsetof(__typeof__(cuda), to_device) },
    { "cuMemcpyDtoH_v2", offsetof(__typeof__(cuda), from_device) },
    { "cuMemsetD8_v2", offsetof(__typeof__(cuda), clear) },
    { "cuLaunchKernel", offsetof(__typeof__(cuda), launch) },
    { "cuCtxSynchronize", offsetof(__typeof__(cuda), synchronize) },
};

static void check(status result, const char *what) {
    if (result) {
        fprintf(stderr, "launch: %s: error %d\n", what, result);
        exit(1);
    }
}

static void load_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "launch: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        check(!symbol, symbols[i].name);
        *(void **)((char *)&cuda + symbols[i].offset) = symbol;
    }
}

static char *read_text(const char *path) {
    char *text = calloc(LARGEST_IMAGE, 1);
    FILE *file = fopen(path, "rb");
    check(!text || !file || !fread(text, 1, LARGEST_IMAGE - 1, file), path);
    fclose(file);
    return text;
}

int main(int count, char **words) {
    static float a[COUNT], b[COUNT], sum[COUNT];
    struct {
        address dst, a, b;
    } planes; /* the arguments of every kernel: separate pointers have the same bytes as a struct */
    size_t size = sizeof planes;
    void *extra[] = { (void *)1, &planes, (void *)2, &size, NULL }; /* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END */
    void *context, *module, *function;
    int device;
    if (count < 3) {
        fprintf(stderr, "usage: launch FILE.ptx KERNEL...\n");
        return 2;
    }
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)(i % 1000);
        b[i] = (float)(i / 1000);
    }
    load_driver();
    check(cuda.init(0), "cuInit");
    check(cuda.device(&device, 0), "cuDeviceGet");
    check(cuda.retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuda.make_current(context), "cuCtxSetCurrent");
    check(cuda.load(&module, read_text(words[1])), words[1]);
    check(cuda.allocate(&planes.dst, sizeof sum) || cuda.allocate(&planes.a, sizeof a) ||
              cuda.allocate(&planes.b, sizeof b),
          "cuMemAlloc");
    check(cuda.to_device(planes.a, a, sizeof a) || cuda.to_device(planes.b, b, sizeof b), "cuMemcpyHtoD");
    for (int k = 2; k < count; k++) {
        check(cuda.function(&function, module, words[k]), words[k]);
        check(cuda.clear(planes.dst, 0xff, sizeof sum), "cuMemsetD8");
        check(cuda.launch(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, NULL, extra), words[k]);
        check(cuda.synchronize(), words[k]);
        check(cuda.from_device(sum, planes.dst, sizeof sum), "cuMemcpyDtoH");
        for (int i = 0; i < COUNT; i++)
            check(sum[i] != 2 * (a[i] + b[i]), words[k]);
    }
    return 0;
}
