/* vmafgpu_kernels.hip - the GPU kernels of vmafgpu.h for AMD: the primitives, and the kernels in vmafgpu_kernels.cu
 * Copyright (c) 2026 the vmafgpu authors
 * SPDX-License-Identifier: BSD-2-Clause-Patent
 *
 * `make blobs` compiles this file with clang alone, without HIP headers or device libraries. The section >>primitives
 * of vmafgpu_kernels.cu specifies the primitives.
 */
#ifndef GPU_PRIMITIVES
#define GPU_PRIMITIVES

#include <stdint.h>

#define GPU_FN    [[maybe_unused]] static __attribute__((device, always_inline)) inline
#define GPU_FAR   GPU_FN /* a call would need a stack */
#define GPU_TABLE [[maybe_unused]] static __attribute__((constant)) const
/* `blocks`, the minimum number of blocks per multiprocessor, only applies to NVIDIA. On AMD GPUs, the compiler chooses
 * the occupancy. */
#define GPU_KERNEL(name, Launch, threads, blocks) \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void name(const Launch launch)
#define GPU_KERNEL_UP_TO(name, Launch, threads, blocks) \
    extern "C" __attribute__((global, amdgpu_flat_work_group_size(LANES, threads))) void name(const Launch launch)
#define GPU_MOST_ROWS 8

/* LANES must match the wave size of the compiler; `make check-codegen` checks this in the code objects. */
#ifdef __GFX9__
enum { LANES = 64 };
#else
enum { LANES = 32 };
#endif

/* ---- indices and sizes ---- */
/* The dispatch packet contains the sizes of the block and of the grid. Hidden kernel arguments also contain these
 * sizes, but only if the HIP runtime fills them in. */
struct Packet {
    uint16_t header, setup, threads[3], reserved;
    uint32_t grid_threads[3];
};
#define GPU_PACKET ((const __attribute__((address_space(4))) Packet *)__builtin_amdgcn_dispatch_ptr())
GPU_FN uint32_t thread_index() {
    return __builtin_amdgcn_workitem_id_x();
}
GPU_FN uint32_t block_threads() {
    return GPU_PACKET->threads[0];
}
GPU_FN uint32_t block_x() {
    return __builtin_amdgcn_workgroup_id_x();
}
GPU_FN uint32_t block_y() {
    return __builtin_amdgcn_workgroup_id_y();
}
GPU_FN uint32_t block_z() {
    return __builtin_amdgcn_workgroup_id_z();
}
GPU_FN uint32_t grid_x() {
    return GPU_PACKET->grid_threads[0] / GPU_PACKET->threads[0];
}

/* ---- barriers; shared memory ---- */
GPU_FN void block_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
/* The lanes of a wave run in lockstep. The fences only keep the compiler from moving memory accesses across the
 * barrier. */
GPU_FN void warp_barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
extern __attribute__((shared, aligned(16))) unsigned char gpu_shared_bytes[];
GPU_FN unsigned char *shared_memory() {
    return gpu_shared_bytes;
}

/* ---- exchange ---- */
GPU_FN uint32_t own_lane() {
    return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
}
GPU_FN uint32_t shuffle_word(uint32_t v, uint32_t lane) {
    return (uint32_t)__builtin_amdgcn_ds_bpermute((int)(lane * 4), (int)v);
}
GPU_FN uint32_t shuffle_xor_word(uint32_t v, uint32_t mask) {
    return shuffle_word(v, own_lane() ^ mask);
}
GPU_FN uint32_t shuffle_up_word(uint32_t v, uint32_t by) {
    const uint32_t self = own_lane();
    return shuffle_word(v, self >= by ? self - by : self);
}
GPU_FN uint32_t shuffle_down_word(uint32_t v, uint32_t by) {
    const uint32_t self = own_lane();
    return shuffle_word(v, self + by < LANES ? self + by : self);
}
GPU_FN bool any_lane(bool v) {
#ifdef __GFX9__
    return __builtin_amdgcn_ballot_w64(v) != 0;
#else
    return __builtin_amdgcn_ballot_w32(v) != 0;
#endif
}
GPU_FN bool all_lanes(bool v) {
    return !any_lane(!v);
}
GPU_FN uint32_t first_lanes(bool v) {
#ifdef __GFX9__
    return (uint32_t)__builtin_amdgcn_ballot_w64(v);
#else
    return __builtin_amdgcn_ballot_w32(v);
#endif
}

template <class T> GPU_FN const T &again(const T &launch) {
    static_assert(sizeof launch > sizeof(uint64_t),
                  "pass numbers as uint32_t; other types are treated as the kernel argument");
    const __attribute__((address_space(4))) void *arguments =
        (const __attribute__((address_space(4))) void *)__builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(arguments));
    return *(const T *)arguments;
}
GPU_FN uint32_t again(uint32_t v) {
    asm volatile("" : "+v"(v));
    return v;
}
GPU_FN uint32_t uniform(uint32_t v) {
    return (uint32_t)__builtin_amdgcn_readfirstlane((int)v);
}

/* ---- memory ---- */
#define GPU_GLOBAL    __attribute__((address_space(1)))
#define GPU_READ_ONLY __attribute__((address_space(4)))
template <class T> GPU_FN T load(const T *p) {
    return *(const GPU_READ_ONLY T *)p;
}
struct alignas(16) Words4 {
    uint32_t x, y, z, w;
};
GPU_FN Words4 load(const Words4 *p) {
    typedef uint32_t Vector __attribute__((ext_vector_type(4)));
    const Vector v = *(const GPU_READ_ONLY Vector *)p;
    return { v.x, v.y, v.z, v.w };
}
/* The cast to the global address space avoids a generic store. */
template <class T> GPU_FN void store(T *p, T v) {
    *(GPU_GLOBAL T *)p = v;
}
GPU_FN void store(Words4 *p, Words4 v) {
    typedef uint32_t Vector __attribute__((ext_vector_type(4)));
    *(GPU_GLOBAL Vector *)p = Vector{ v.x, v.y, v.z, v.w };
}
GPU_FN int64_t take(int64_t *p) {
    GPU_GLOBAL int64_t *const at = (GPU_GLOBAL int64_t *)p;
    const int64_t v = *at;
    *at = 0;
    return v;
}
GPU_FN void atomic_add(int64_t *p, int64_t v) {
    (void)__hip_atomic_fetch_add((GPU_GLOBAL int64_t *)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_FN void atomic_add(uint32_t *p, uint32_t v) {
    (void)__hip_atomic_fetch_add((GPU_GLOBAL uint32_t *)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_FN void atomic_or(uint32_t *p, uint32_t v) {
    (void)__hip_atomic_fetch_or((GPU_GLOBAL uint32_t *)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_FN void atomic_max(uint32_t *p, uint32_t v) {
    (void)__hip_atomic_fetch_max((GPU_GLOBAL uint32_t *)p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_FN uint32_t atomic_claim(uint32_t *p) {
    return __hip_atomic_fetch_add((GPU_GLOBAL uint32_t *)p, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
GPU_FN Words4 load_own(const Words4 *p) {
    return load(p);
}
GPU_FN void prefetch(const void *p) {
    (void)p;
}
GPU_FN uint32_t peek(const uint32_t *p) {
    return *(const volatile GPU_GLOBAL uint32_t *)p;
}
GPU_FN void shared_add(uint32_t *p, uint32_t v) {
    (void)__hip_atomic_fetch_add((__attribute__((address_space(3))) uint32_t *)p, v, __ATOMIC_RELAXED,
                                 __HIP_MEMORY_SCOPE_WORKGROUP);
}
GPU_FN void copy_4(void *shared, const void *global) {
    *(uint32_t *)shared = load((const uint32_t *)global);
}
GPU_FN void copy_8(void *shared, const void *global) {
    *(uint64_t *)shared = load((const uint64_t *)global);
}
GPU_FN void copy_commit() {
}
template <int groups> GPU_FN void copy_wait() {
}

/* ---- arithmetic ---- */
GPU_FN int leading_zeros(uint32_t v) {
    return v ? __builtin_clz(v) : 32;
}
GPU_FN uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    return __builtin_amdgcn_perm(
        b, a, (selector & 15) | (selector & 0xf0) << 4 | (selector & 0xf00) << 8 | (selector & 0xf000) << 12);
}
/* The operations in small() generate no instructions. They let clang prove that factors fit in 24 bits, so that it
 * selects 24-bit multiplications, which ignore the upper bits anyway. */
GPU_FN int32_t small(int32_t v) {
    return (int32_t)((uint32_t)v << 8) >> 8;
}
GPU_FN uint32_t small(uint32_t v) {
    return v & 0xffffff;
}
GPU_FN int32_t dot_of_bytes(int32_t a, uint32_t low, uint32_t high, int32_t c) {
    return (int32_t)((uint32_t)((int16_t)a * (int32_t)low) + (uint32_t)((a >> 16) * (int32_t)high) + (uint32_t)c);
}
GPU_FN int32_t dot_low(int32_t a, uint32_t b, int32_t c) {
    return dot_of_bytes(a, b & 255, b >> 8 & 255, c);
}
GPU_FN int32_t dot_high(int32_t a, uint32_t b, int32_t c) {
    return dot_of_bytes(a, b >> 16 & 255, b >> 24, c);
}
GPU_FN float float_bits(uint32_t v) {
    return __builtin_bit_cast(float, v);
}
GPU_FN uint32_t bits_of(float v) {
    return __builtin_bit_cast(uint32_t, v);
}
GPU_FN double double_bits(uint64_t v) {
    return __builtin_bit_cast(double, v);
}
GPU_FN uint64_t bits_of(double v) {
    return __builtin_bit_cast(uint64_t, v);
}
GPU_FN float fused(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
GPU_FN double fused(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
GPU_FN float reciprocal(float v) {
    return __builtin_amdgcn_rcpf(v);
}
GPU_FN double reciprocal(double v) {
    return __builtin_amdgcn_rcp(v);
}
GPU_FN double whole(uint32_t v) {
    return v;
}
/* A C conversion would be undefined if `v` were out of range. */
GPU_FN uint32_t truncate(double v) {
    uint32_t r;
    asm("v_cvt_u32_f64_e32 %0, %1" : "=v"(r) : "v"(v));
    return r;
}
/* Before the conversion, clears the bits that a float cannot represent, so that the result is rounded toward zero. */
GPU_FN float float_down(uint32_t v) {
    const int beyond = 8 - leading_zeros(v);
    return (float)(beyond > 0 ? v >> beyond << beyond : v);
}
/* Without fast-math options, clang rounds these operations to nearest and supports denormals. */
GPU_FN float quotient(float a, float b) {
    return a / b;
}
GPU_FN double quotient(double a, double b) {
    return a / b;
}
GPU_FN float square_root(float v) {
    return __builtin_sqrtf(v);
}
GPU_FN double square_root(double v) {
    return __builtin_sqrt(v);
}
GPU_FN float reciprocal_root(float v) {
    return __builtin_amdgcn_rsqf(v);
}
GPU_FN float magnitude(float v) {
    return __builtin_fabsf(v);
}
GPU_FN float smaller(float a, float b) {
    return __builtin_fminf(a, b);
}
/* opaque() has an effect only in NVIDIA code, where it stops the compiler from splitting a factor. */
GPU_FN uint64_t opaque(uint64_t v) {
    return v;
}
GPU_FN uint32_t opaque(uint32_t v) {
    return v;
}
GPU_FN void add_where(uint32_t &sum, uint32_t v, bool where) {
    sum += where ? v : 0;
}

/* ---- matrix products: gfx12, and CDNA from gfx90a on (signed bytes only) ----
 *
 * gfx11 also has matrix products, but they bring no gain because they run on the vector unit. The matrix products of
 * gfx908 keep their sums in separate registers, which these kernels do not support. */
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__) || \
    defined(__GFX12__)
#define GPU_MATRIX_16 1
enum { MATRIX_IS_SIGNED = LANES == 64 };
typedef int32_t MatrixSums __attribute__((ext_vector_type(256 / LANES)));
GPU_FN MatrixSums matrix_sums(int32_t v) {
    return v;
}
GPU_FN void in_order() {
    __builtin_amdgcn_sched_barrier(0);
}
/* `volatile` makes the compiler load operands of matrix products again instead of keeping them in registers. */
template <int N> GPU_FN void load_shared(uint32_t (&v)[N], const void *p) {
    typedef uint32_t Vector __attribute__((ext_vector_type(N)));
    const Vector words = *(const volatile __attribute__((address_space(3))) Vector *)p;
#pragma unroll
    for (int i = 0; i < N; i++)
        v[i] = words[i];
}
GPU_FN MatrixSums multiply_add_16(const uint32_t (&x)[128 / LANES], const uint32_t (&y)[128 / LANES], MatrixSums sums) {
#ifdef __GFX12__
    typedef int32_t Two __attribute__((ext_vector_type(2)));
#pragma unroll
    for (int i = 0; i < 4; i += 2)
        sums = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, Two{ (int32_t)x[i], (int32_t)x[i + 1] }, false,
                                                                Two{ (int32_t)y[i], (int32_t)y[i + 1] }, sums, false);
    return sums;
#elif defined(__gfx90a__)
    sums = __builtin_amdgcn_mfma_i32_16x16x16i8((int32_t)x[0], (int32_t)y[0], sums, 0, 0, 0);
    return __builtin_amdgcn_mfma_i32_16x16x16i8((int32_t)x[1], (int32_t)y[1], sums, 0, 0, 0);
#else
    return __builtin_amdgcn_mfma_i32_16x16x32_i8((int64_t)((uint64_t)x[1] << 32 | x[0]),
                                                 (int64_t)((uint64_t)y[1] << 32 | y[0]), sums, 0, 0, 0);
#endif
}
#endif

#endif /* GPU_PRIMITIVES */

#include "vmafgpu_kernels.cu"
