/* Tests that the GPU backend returns the same bits as the CPU backend, with frames in all kinds of memory and calls in
 * different orders. Also tests failures. Runs on a simulated or a real GPU:
 *
 *     VMAFGPU_TEST_DRIVER=libcuda.so.1 VMAFGPU_TEST_KERNELS=build/vmafgpu_kernels.ptx build/test/test_gpu [GROUP...]
 *
 * With VMAFGPU_TEST_BACKEND=hip, the driver is a HIP library (libamdhip64.so.6) and the kernels are a bundle or a code
 * object. Tests that make a GPU fail run only on simulated GPUs. GROUP is a name in GPU_GROUPS of gpu/gpu.h. The
 * default is all groups; -GROUP excludes a group. */
#define TEST_STATE
#include "gpu/gpu.h"

static const struct {
    const char *name;
    void (*run)(gpu *g);
} groups[] = {
#define GPU_GROUP(name) { #name, test_##name },
    GPU_GROUPS(GPU_GROUP)
#undef GPU_GROUP
};

static int is_group(const char *name) {
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strcmp(name, groups[i].name) == 0)
            return 1;
    return 0;
}

/* Reports an argument that is not a group name, and lists the groups. */
static int fail_unknown_group(const char *name) {
    printf("test_gpu: no such group (%s); the groups are:", name);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        printf("%s%s", i % 8 ? " " : "\n    ", groups[i].name);
    printf("\n");
    test_failed++;
    return test_end();
}

int main(int argc, char **argv) {
    const char *driver = getenv("VMAFGPU_TEST_DRIVER"), *kernels = getenv("VMAFGPU_TEST_KERNELS"),
               *vendor_name = getenv("VMAFGPU_TEST_BACKEND");
    gpu g;
    for (int k = 1; k < argc; k++)
        if (!is_group(argv[k] + (argv[k][0] == '-')))
            return fail_unknown_group(argv[k]);
    if (!driver || !kernels) {
        test_skip("VMAFGPU_TEST_DRIVER and VMAFGPU_TEST_KERNELS are not set");
        return test_end();
    }
    gpu_find(&g, vendor_name ? vendor_name : "cuda", driver, kernels);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        int is_wanted = argc == 1 || argv[1][0] == '-';
        for (int k = 1; k < argc; k++) {
            const int is_left_out = argv[k][0] == '-';
            if (strcmp(argv[k] + is_left_out, groups[i].name) == 0)
                is_wanted = !is_left_out;
        }
        if (is_wanted) {
            gpu_begin(&g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
            groups[i].run(&g);
            gpu_end(&g);
        }
    }
    return test_end();
}
