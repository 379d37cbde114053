/* Kernels with faults that check_hsaco.sh must report. The name of a kernel describes its fault. Blocks have 64
 * threads. */
#define KERNEL(name, ...) \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64), ##__VA_ARGS__)) void name
#define GLOBAL __attribute__((address_space(1)))
#define DEVICE static __attribute__((device))
#define THREAD __builtin_amdgcn_workitem_id_x()

KERNEL(right)(GLOBAL int *p) { p[THREAD] += 1; }

KERNEL(other_threads)(GLOBAL int *p) { p[THREAD] += 1; }

KERNEL(too_much_shared)(GLOBAL int *p) { p[THREAD] += 1; }

KERNEL(private_array)(GLOBAL int *p) {
    int array[256] = {};
    for (int i = 0; i < 1000; i++)
        array[p[i] & 255] += i;
    p[THREAD] = array[p[THREAD] & 255];
}

/* More values than registers. */
KERNEL(spilled, amdgpu_num_vgpr(24))(GLOBAL int *p) {
    int value[64];
#pragma unroll
    for (int i = 0; i < 64; i++)
        value[i] = p[THREAD * 64 + (unsigned)i];
    __builtin_amdgcn_s_barrier();
#pragma unroll
    for (int i = 0; i < 64; i++)
        p[THREAD * 64 + 63 - (unsigned)i] = value[i];
}

KERNEL(spilled_scalars, amdgpu_num_sgpr(32))(const GLOBAL int *p, GLOBAL int *to, int n) {
    int value[64];
#pragma unroll
    for (int i = 0; i < 64; i++)
        asm volatile("s_mov_b32 %0, %1" : "=s"(value[i]) : "s"(n));
#pragma unroll
    for (int i = 0; i < 64; i++)
        asm volatile("s_nop 0 ; %0" : : "s"(value[63 - i]));
}

KERNEL(static_shared)(GLOBAL int *p) {
    static __attribute__((shared)) int shared[64];
    shared[THREAD] = p[THREAD];
    __builtin_amdgcn_s_barrier();
    p[THREAD] = shared[63 - THREAD];
}

KERNEL(hidden_arguments)(GLOBAL int *p) {
    p[THREAD] = *(const __attribute__((address_space(4))) int *)__builtin_amdgcn_implicitarg_ptr();
}

/* The address space is known only at run time. */
KERNEL(generic_address)(int *p, const GLOBAL int *which) {
    static __attribute__((shared)) int shared[64];
    int *at = which[THREAD] ? p : shared;
    at[THREAD] = 1;
    __builtin_amdgcn_s_barrier();
    p[THREAD + 64] = shared[63 - THREAD];
}

DEVICE __attribute__((noinline)) int function(int v) { return v * v + 1; }
KERNEL(call)(GLOBAL int *p) { p[THREAD] = function(p[THREAD]); }

DEVICE __attribute__((noinline)) int recursion(int n) { return n < 2 ? n : recursion(n - 1) + recursion(n - 2); }
KERNEL(stack)(GLOBAL int *p) { p[THREAD] = recursion(p[THREAD]); }
