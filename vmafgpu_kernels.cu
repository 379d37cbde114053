/* vmafgpu_kernels.cu - the GPU kernels of vmafgpu.h, one source for NVIDIA and AMD (vmafgpu_kernels.hip includes it)
 * Copyright (c) 2026 the vmafgpu authors
 * SPDX-License-Identifier: BSD-2-Clause-Patent
 *
 * `make blobs` compiles this file with nvcc, or with clang, which needs no CUDA toolkit. Programs load the compiled
 * kernels at run time.
 *
 * The results are bit-identical to those of the CPU. Kernels of integer features add integers (struct vmafgpu__sums),
 * so the order of the additions does not matter. Kernels of float features add in the same order as libvmaf, or verify
 * that another order gives the same result. LANES is the number of lanes in a warp (AMD: wave) of the target device, 32
 * or 64.
 *
 * SECTIONS: >>primitives >>nvidia primitives >>shared arithmetic >>import >>pixels >>motion >>vif >>adm >>cambi >>speed
 *           >>squares >>chains >>float vif >>float motion >>float ansnr >>float adm >>ssim >>psnr_hvs >>ciede >>edits
 *           >>slopes
 */

/* ================================================================================================
 * >>primitives                                   operations that each target implements
 * ================================================================================================
 * Three targets implement these primitives: NVIDIA below, AMD in vmafgpu_kernels.hip, and the simulated GPU in
 * test/simulated/primitives.h. Kernels must rely only on this contract. "All lanes" marks a function that all lanes of
 * the warp must call together. The behaviour is undefined if they do not, or if an operand that must be equal in all
 * lanes differs. Integer arithmetic is modulo 2^32 or 2^64.
 *
 * GPU_FN, GPU_FAR           declare a function. GPU_FN functions are inline. GPU_FAR functions are for rare cases; on
 *                           targets where calls are cheap, they are not inlined
 * GPU_TABLE                 declares constant data
 * GPU_KERNEL(name, Launch, threads, blocks)
 *                           defines a kernel with one argument, `launch`. `threads` is the number of threads of a
 *                           block. `blocks` is the number of blocks that must fit on a multiprocessor at the same
 *                           time; targets may ignore it. Blocks are one-dimensional and consist of whole warps
 * GPU_KERNEL_UP_TO(...)     defines such a kernel for blocks of at most `threads` threads
 * GPU_MOST_ROWS             rows that a thread of slopes_vif() filters at the same time; more rows need more registers
 * LANES                     number of lanes in a warp, 32 or 64
 * GPU_SURFACES              defined if the functions marked (surfaces) exist
 * GPU_MATRIX                defined if the functions marked (matrix) exist; LANES is then 32
 * GPU_MATRIX_16             defined if the functions marked (matrix 16) exist
 *
 * Position of a thread
 * thread_index, block_threads     index in the block, and number of threads of the block
 * block_x, block_y, block_z, grid_x   position of the block in the grid, and number of blocks along x
 *
 * Synchronisation
 * block_barrier()           all threads of the block must call it. Earlier writes to shared memory become visible to
 *                           the block, and earlier writes to global memory become visible to peek()
 * warp_barrier()            all lanes. Earlier writes to shared memory become visible to the warp
 * shared_memory()           returns the shared memory of the launch, aligned to 16 bytes, with undefined contents
 *
 * Exchange: all lanes
 * shuffle_word(v, lane)     returns v of `lane`, which must be below LANES and may differ between lanes
 * shuffle_xor_word(v, mask) returns v of lane (own lane ^ mask); mask must be below LANES and equal in all lanes
 * shuffle_up_word(v, by), shuffle_down_word(v, by)
 *                           return v of the lane whose index is lower (up) or higher (down) by `by`, or the lane's own
 *                           v if there is no such lane; `by` must be below LANES and equal in all lanes
 * any_lane(v), all_lanes(v) return whether v is true in at least one lane, or in all lanes
 * first_lanes(v)            returns a mask of the first 32 lanes: bit i is v of lane i
 * again(launch), again(v)   return their argument. They force the compiler to reload the kernel argument, or to
 *                           recompute values that depend on v (a uint32_t), so that it does not keep these values in
 *                           registers
 * uniform(v)                returns v, a uint32_t that must be equal in all lanes. Targets with scalar registers
 *                           keep the result in one, which saves vector registers
 *
 * Memory: addresses must be multiples of the size of the access
 * load(p)                   reads a uint8_t, uint16_t, uint32_t, int32_t, uint64_t or Words4 (16 bytes) in global
 *                           memory that nothing writes during the launch: planes, tables, results of earlier launches.
 *                           Kernels read global memory only with load(), peek(), take() and the copy functions
 * surface_byte(s, x, y), surface_word(s, x, y), surface_words(s, x, y) (surfaces)
 *                           read 1, 4 or 16 bytes of row y of a surface, starting at byte x, which must be a multiple
 *                           of that size; all bytes must be inside the surface
 * store(p, v)               writes global memory; later launches read the value. Kernels write global memory only with
 *                           store(), take() and atomics
 * peek(p)                   reads a uint32_t; unlike load(), it also returns values that the thread itself stored in
 *                           this launch, or that another thread of the block stored before a barrier
 * take(p)                   reads an int64_t that an earlier launch wrote, and sets it to 0; only one thread of the
 *                           launch may call it for this address
 * atomic_add(p, v), atomic_or(p, v), atomic_max(p, v)   modify an int64_t or uint32_t (atomic_or(), atomic_max(): only
 *                           uint32_t) in global memory; any thread can call them, and later launches read the result
 * atomic_claim(p)           increments a word in global memory and returns the old value, which is different for each
 *                           caller; any thread can call it
 * shared_add(p, v)          adds v to a word in shared memory; any thread of the block can call it, and the sum is
 *                           visible after a barrier
 * copy_4(shared, global), copy_8(shared, global), copy_16(shared, global) (copy_16: matrix)
 *                           copy 4, 8 or 16 bytes to shared memory. Nothing may write the source during the launch. The
 *                           contents of the target are undefined until the thread has waited for the copy; other
 *                           threads also need a barrier after that
 * copy_commit()             ends the thread's current group of copies
 * copy_wait<n>()            waits until all groups except the latest n are complete
 * load_shared(v, p) (matrix, matrix 16), store_shared(p, v) (matrix)
 *                           read 2 or 4 words, or write one. The compiler cannot move the access, and cannot avoid it
 *                           by keeping the values in registers
 *
 * Arithmetic
 * leading_zeros(v)          returns the number of leading zero bits, which is 32 for 0
 * permute_bytes(a, b, s)    returns a word whose byte i is byte (s >> 4 * i) & 7 of the eight bytes b:a; a holds
 *                           bytes 0..3. Undefined if one of the four low hexadecimal digits of s is above 7. A
 *                           constant s costs nothing extra
 * dot_low(a, b, c), dot_high(a, b, c)
 *                           return c plus the dot product of the two signed 16-bit halves of a and the two unsigned
 *                           low (high) bytes of b
 * small(v)                  returns v, an int32_t or uint32_t of at most 24 bits, for use as a factor. On devices with
 *                           24-bit multipliers, products then take a quarter of the time
 * float_bits, double_bits, bits_of   float_bits() and double_bits() convert bits to a floating-point number; bits_of()
 *                           converts a number to its bits
 * fused(a, b, c)            returns a * b + c, rounded once. The compiler does not fuse other products and
 *                           sums: contraction is off
 * reciprocal(v)             returns 1 / v. For floats, the result is accurate to 1 ulp if v is normal, and a denormal
 *                           result becomes 0. For doubles, the relative error is at most 2^-20 if v is in the range of
 *                           normal floats
 * reciprocal_root(v)        returns 1 / sqrt(v) within 4 ulp; v must be normal and positive
 * quotient(a, b), square_root(v)     return the result rounded to nearest, and support denormals
 * whole(v)                  converts a word to double
 * truncate(v)               rounds a double toward zero; undefined unless 0 <= v < 2^32
 * float_down(v)             converts a word to float, rounding toward zero
 * magnitude(v)              returns |v|
 * smaller(a, b)             returns the smaller operand; -0 counts as smaller than 0. If one operand is NaN, the
 *                           function returns the other
 * opaque(v)                 returns v and hides its value from the optimiser
 * add_where(sum, v, where)  adds v to sum if `where` is true
 * add_distance(sum, a, b) (matrix)   adds |a - b| to sum; a and b are unsigned
 * multiply_add(d, a, b0, b1[, c]), multiply_add_signed(d, a, b0, b1[, c]) (matrix)
 *                           all lanes: compute d += a * b, or d = c + a * b if c is given. a has 16 x 32 unsigned
 *                           (signed) bytes, b 32 x 8 unsigned bytes, distributed over the lanes as in m16n8k32 of PTX
 * multiply_add_16(x, y, sums) (matrix 16)
 *                           all lanes: returns sums + x * y. x has 16 x 32 bytes, y 32 x 16 bytes, signed if
 *                           MATRIX_IS_SIGNED. Lane 16 * g + i holds 128 / LANES words of row i of x and of column i of
 *                           y. The kernel can choose to which of the 32 positions these bytes belong, but the choice
 *                           must be the same for x and y. In a MatrixSums, the lane holds 256 / LANES rows of column i,
 *                           starting at row 256 / LANES * g. matrix_sums(v) sets all elements to v
 * in_order() (matrix 16)    keeps the compiler from interleaving the code before it with the code after it, because
 *                           interleaved code needs more registers
 */

/* ================================================================================================
 * >>nvidia primitives                            the primitives for NVIDIA GPUs
 * ================================================================================================ */
#ifndef GPU_PRIMITIVES
#define GPU_PRIMITIVES

#include <stdint.h>

#ifndef __NVCC__ /* clang compiles this file without the CUDA headers */
#define __device__             __attribute__((device))
#define __global__             __attribute__((global))
#define __shared__             __attribute__((shared))
#define __constant__           __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__        __inline__ __attribute__((always_inline))
#define __noinline__           __attribute__((noinline))
#define __grid_constant__
#endif

#define GPU_FN    [[maybe_unused]] static __device__ __forceinline__
#define GPU_FAR   [[maybe_unused]] static __device__ __noinline__
#define GPU_TABLE [[maybe_unused]] static __constant__ const
#define GPU_KERNEL(name, Launch, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Launch launch)
#define GPU_KERNEL_UP_TO GPU_KERNEL
#define GPU_MOST_ROWS    16

enum { LANES = 32 };
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define GPU_MATRIX 1 /* int8 matrix products and asynchronous copies */
#endif

/* ---- position of a thread ---- */
#define GPU_SPECIAL(name, reg) \
    GPU_FN uint32_t name() { \
        uint32_t v; \
        asm("mov.u32 %0, %%" reg ";" : "=r"(v)); \
        return v; \
    }
GPU_SPECIAL(thread_index, "tid.x")
GPU_SPECIAL(block_threads, "ntid.x")
GPU_SPECIAL(block_x, "ctaid.x")
GPU_SPECIAL(block_y, "ctaid.y")
GPU_SPECIAL(block_z, "ctaid.z")
GPU_SPECIAL(grid_x, "nctaid.x")
#undef GPU_SPECIAL

/* ---- barriers; shared memory ---- */
GPU_FN void block_barrier() {
    asm volatile("bar.sync 0;" ::: "memory");
}
GPU_FN void warp_barrier() {
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

extern __shared__ __attribute__((aligned(16))) unsigned char gpu_shared_bytes[];
GPU_FN unsigned char *shared_memory() {
    return gpu_shared_bytes;
}

/* ---- exchange ---- */
GPU_FN uint32_t shuffle_word(uint32_t v, uint32_t lane) {
    uint32_t r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(lane));
    return r;
}
GPU_FN uint32_t shuffle_xor_word(uint32_t v, uint32_t mask) {
    uint32_t r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(mask));
    return r;
}
GPU_FN uint32_t shuffle_up_word(uint32_t v, uint32_t by) {
    uint32_t r;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(by));
    return r;
}
GPU_FN uint32_t shuffle_down_word(uint32_t v, uint32_t by) {
    uint32_t r;
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(by));
    return r;
}
GPU_FN bool any_lane(bool v) {
    uint32_t r;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
                 : "=r"(r)
                 : "r"((uint32_t)v));
    return r != 0;
}
GPU_FN bool all_lanes(bool v) {
    return !any_lane(!v);
}
GPU_FN uint32_t first_lanes(bool v) {
    uint32_t r;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(r)
                 : "r"((uint32_t)v));
    return r;
}

/* ---- memory ---- */
GPU_FN uint8_t load(const uint8_t *p) {
    uint32_t v;
    asm("ld.global.nc.u8 %0, [%1];" : "=r"(v) : "l"(p));
    return (uint8_t)v;
}
GPU_FN uint16_t load(const uint16_t *p) {
    uint16_t v;
    asm("ld.global.nc.u16 %0, [%1];" : "=h"(v) : "l"(p));
    return v;
}
GPU_FN uint32_t load(const uint32_t *p) {
    uint32_t v;
    asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
GPU_FN int32_t load(const int32_t *p) {
    return (int32_t)load((const uint32_t *)p);
}
GPU_FN uint64_t load(const uint64_t *p) {
    uint64_t v;
    asm("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(p));
    return v;
}
struct alignas(16) Words4 {
    uint32_t x, y, z, w;
};
GPU_FN Words4 load(const Words4 *p) {
    Words4 v;
    asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
/* Like load(), but for memory that the kernel changes. Only the thread that loads the words may change them. */
GPU_FN Words4 load_own(const Words4 *p) {
    Words4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}
#define GPU_SURFACES 1
GPU_FN uint32_t surface_byte(uint64_t surface, uint32_t x, uint32_t y) {
    uint16_t v;
    asm volatile("suld.b.2d.b8.zero %0, [%1, {%2, %3}];" : "=h"(v) : "l"(surface), "r"(x), "r"(y));
    return v & 255u;
}
GPU_FN uint32_t surface_word(uint64_t surface, uint32_t x, uint32_t y) {
    uint32_t v;
    asm volatile("suld.b.2d.b32.zero %0, [%1, {%2, %3}];" : "=r"(v) : "l"(surface), "r"(x), "r"(y));
    return v;
}
GPU_FN Words4 surface_words(uint64_t surface, uint32_t x, uint32_t y) {
    Words4 v;
    asm volatile("suld.b.2d.v4.b32.zero {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(surface), "r"(x), "r"(y));
    return v;
}
template <class T> GPU_FN void store(T *p, T v) {
    *p = v;
}
GPU_FN int64_t take(int64_t *p) {
    int64_t v;
    asm volatile("ld.volatile.global.s64 %0, [%1]; st.volatile.global.s64 [%1], 0;" : "=l"(v) : "l"(p) : "memory");
    return v;
}
GPU_FN void atomic_add(int64_t *p, int64_t v) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
GPU_FN void atomic_add(uint32_t *p, uint32_t v) {
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
GPU_FN void atomic_or(uint32_t *p, uint32_t v) {
    asm volatile("red.global.or.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
GPU_FN void atomic_max(uint32_t *p, uint32_t v) {
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
GPU_FN uint32_t atomic_claim(uint32_t *p) {
    uint32_t v;
    asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(v) : "l"(p) : "memory");
    return v;
}
/* Starts to load the cache line at `p`, which is needed later. */
GPU_FN void prefetch(const void *p) {
    asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
}
GPU_FN uint32_t peek(const uint32_t *p) {
    uint32_t v;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
/* Converts a pointer to a shared-memory address. Unlike asm, the cast shows the compiler that the pointer points to
 * shared memory. */
GPU_FN uint32_t shared_address(const void *p) {
#ifdef __NVCC__
    return (uint32_t)__cvta_generic_to_shared(p);
#else
    return (uint32_t)(uintptr_t)(const __attribute__((address_space(3))) void *)p;
#endif
}
GPU_FN void shared_add(uint32_t *p, uint32_t v) {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(shared_address(p)), "r"(v) : "memory");
}

/* ---- arithmetic ---- */
GPU_FN int leading_zeros(uint32_t v) {
    int r;
    asm("clz.b32 %0, %1;" : "=r"(r) : "r"(v));
    return r;
}
GPU_FN uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    uint32_t r;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(selector));
    return r;
}
GPU_FN int32_t dot_low(int32_t a, uint32_t b, int32_t c) {
    int32_t r;
    asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
GPU_FN int32_t dot_high(int32_t a, uint32_t b, int32_t c) {
    int32_t r;
    asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}
GPU_FN int32_t small(int32_t v) {
    return v;
}
GPU_FN uint32_t small(uint32_t v) {
    return v;
}
GPU_FN float float_bits(uint32_t v) {
    float r;
    asm("mov.b32 %0, %1;" : "=f"(r) : "r"(v));
    return r;
}
GPU_FN uint32_t bits_of(float v) {
    uint32_t r;
    asm("mov.b32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}
GPU_FN float fused(float a, float b, float c) {
    float r;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c));
    return r;
}
GPU_FN double fused(double a, double b, double c) {
    double r;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(a), "d"(b), "d"(c));
    return r;
}
GPU_FN float reciprocal(float v) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
GPU_FN double reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    return r;
}
GPU_FN double double_bits(uint64_t v) {
    double r;
    asm("mov.b64 %0, %1;" : "=d"(r) : "l"(v));
    return r;
}
GPU_FN uint64_t bits_of(double v) {
    uint64_t r;
    asm("mov.b64 %0, %1;" : "=l"(r) : "d"(v));
    return r;
}
GPU_FN double whole(uint32_t v) {
    double r;
    asm("cvt.rn.f64.u32 %0, %1;" : "=d"(r) : "r"(v));
    return r;
}
GPU_FN uint32_t truncate(double v) {
    uint32_t r;
    asm("{ .reg .f64 t; .reg .b32 h; add.rz.f64 t, %1, 0d4330000000000000; mov.b64 {%0, h}, t; }" : "=r"(r) : "d"(v));
    return r;
}
GPU_FN float float_down(uint32_t v) {
    float r;
    asm("cvt.rz.f32.u32 %0, %1;" : "=f"(r) : "r"(v));
    return r;
}
GPU_FN float magnitude(float v) {
    float r;
    asm("abs.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
GPU_FN float quotient(float a, float b) {
    float r;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
GPU_FN double quotient(double a, double b) {
    double r;
    asm("div.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
    return r;
}
GPU_FN float square_root(float v) {
    float r;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
GPU_FN double square_root(double v) {
    double r;
    asm("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(v));
    return r;
}
GPU_FN float reciprocal_root(float v) {
    float r;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}
GPU_FN float smaller(float a, float b) {
    float r;
    asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

GPU_FN uint32_t uniform(uint32_t v) {
    return v;
}
template <class T> GPU_FN const T &again(const T &launch) {
    static_assert(sizeof launch > sizeof(uint64_t),
                  "pass numbers as uint32_t; other types are treated as the kernel argument");
    return launch;
}
GPU_FN uint32_t again(uint32_t v) {
    return v;
}
/* Keeps v in a register pair. If v were a literal, each use would cost an extra addition for the half that is 0. */
GPU_FN uint64_t opaque(uint64_t v) {
    asm volatile("" : "+l"(v));
    return v;
}
/* Stops the compiler from splitting a factor, so that the product remains a single operation. */
GPU_FN uint32_t opaque(uint32_t v) {
    asm("" : "+r"(v));
    return v;
}
/* Compiles to one predicated addition. */
GPU_FN void add_where(uint32_t &sum, uint32_t v, bool where) {
    asm("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p add.u32 %0, %0, %1; }" : "+r"(sum) : "r"(v), "r"((uint32_t)where));
}

#ifdef GPU_MATRIX
GPU_FN void add_distance(uint32_t &sum, uint32_t a, uint32_t b) {
    asm("sad.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
}

/* ---- asynchronous copies ---- */
GPU_FN void copy_4(void *shared, const void *global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
GPU_FN void copy_8(void *shared, const void *global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
GPU_FN void copy_16(void *shared, const void *global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(shared)), "l"(global) : "memory");
}
GPU_FN void copy_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int groups> GPU_FN void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

/* ---- matrix products ---- */
GPU_FN void multiply_add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/* Computes d = c + a * b. d is separate from c: if both were in the same registers, the compiler would have to copy c
 * whenever several products start from it. */
GPU_FN void multiply_add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const uint32_t (&c)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
GPU_FN void multiply_add_signed(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
GPU_FN void multiply_add_signed(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                const uint32_t (&c)[4]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
/* Reads words of shared memory. Without asm, the compiler tends to keep operands of the matrix products in
 * registers. */
GPU_FN void load_shared(uint32_t (&v)[4], const void *p) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(shared_address(p)));
}
GPU_FN void load_shared(uint32_t (&v)[2], const void *p) {
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(shared_address(p)) : "memory");
}
GPU_FN void store_shared(void *p, uint32_t v) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_address(p)), "r"(v) : "memory");
}
#else
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
#endif

#endif /* GPU_PRIMITIVES */

/* ================================================================================================
 * >>shared arithmetic                            arithmetic of vmafgpu.h, and exchange within a warp
 * ================================================================================================ */
#define VMAFGPU__FN               GPU_FN
#define VMAFGPU__TABLE            GPU_TABLE
#define VMAFGPU__BIT_LENGTH(v)    (32 - leading_zeros(v))
#define VMAFGPU__BITS_OF(v)       bits_of(v)
#define VMAFGPU__DOUBLE_OF(bits)  double_bits(bits)
#define VMAFGPU__FLOAT_BITS_OF(v) bits_of(v)
#define VMAFGPU__FLOAT_OF(bits)   float_bits(bits)
#define VMAFGPU__QUOTIENT(a, b)   quotient(a, b)
GPU_FN uint16_t fetch(const uint16_t *p) {
    return load(p);
}
GPU_FN int32_t fetch(const int32_t *p) {
    return load(p);
}
GPU_FN int64_t fetch(const int64_t *p) {
    return (int64_t)load((const uint64_t *)p);
}
GPU_FN double fetch(const double *p) {
    return double_bits(load((const uint64_t *)p));
}
#define VMAFGPU__FETCH(p)     fetch(p)
#define VMAFGPU__STORE(p, v)  store(p, v)
#define VMAFGPU__MAGNITUDE(v) magnitude(v)
#define VMAFGPU_KERNELS
#include "vmafgpu.h"

/* All block sizes must be multiples of LANES, because functions that exchange values between lanes need full warps. */
static_assert(VMAFGPU__IMPORT_THREADS % LANES == 0 && VMAFGPU__MOTION_THREADS % LANES == 0 &&
                  VMAFGPU__VIF_PLAIN_THREADS % LANES == 0 && VMAFGPU__ADM_THREADS % LANES == 0 &&
                  VMAFGPU__ADM_ROW_THREADS % LANES == 0 && VMAFGPU__CAMBI_PREPARE_THREADS % LANES == 0 &&
                  VMAFGPU__CAMBI_SHRINK_THREADS % LANES == 0 && VMAFGPU__CAMBI_COUNT_THREADS % LANES == 0 &&
                  VMAFGPU__CAMBI_SELECT_THREADS % LANES == 0 && VMAFGPU__CAMBI_ORDER_THREADS % LANES == 0,
              "blocks are whole warps");

GPU_FN uint32_t lane_index() {
    return thread_index() % LANES;
}
GPU_FN uint32_t warp_index() {
    return thread_index() / LANES;
}

GPU_FN int32_t shuffle(int32_t v, uint32_t lane) {
    return (int32_t)shuffle_word((uint32_t)v, lane);
}
GPU_FN int32_t shuffle_up(int32_t v, uint32_t by) {
    return (int32_t)shuffle_up_word((uint32_t)v, by);
}
GPU_FN int32_t shuffle_down(int32_t v, uint32_t by) {
    return (int32_t)shuffle_down_word((uint32_t)v, by);
}

/* Returns, in each lane, the sum over its group of `count` neighbouring lanes; `count` is a power of two. A shuffle
 * exchanges 32 bits, so both halves are exchanged before the 64-bit addition. */
GPU_FN int64_t lanes_sum(int64_t v, uint32_t count) {
    for (uint32_t mask = count / 2; mask; mask /= 2) {
        const uint32_t low = shuffle_xor_word((uint32_t)v, mask),
                       high = shuffle_xor_word((uint32_t)((uint64_t)v >> 32), mask);
        v = (int64_t)((uint64_t)v + ((uint64_t)high << 32 | low));
    }
    return v;
}
GPU_FN int64_t warp_sum(int64_t v) {
    return lanes_sum(v, LANES);
}
GPU_FN uint32_t warp_sum_word(uint32_t v) {
    for (uint32_t mask = LANES / 2; mask; mask /= 2)
        v += shuffle_xor_word(v, mask);
    return v;
}
GPU_FN uint32_t warp_max(uint32_t v) {
    for (uint32_t mask = LANES / 2; mask; mask /= 2) {
        const uint32_t other = shuffle_xor_word(v, mask);
        v = other > v ? other : v;
    }
    return v;
}
GPU_FN uint32_t warp_or(uint32_t v) {
    for (uint32_t mask = LANES / 2; mask; mask /= 2)
        v |= shuffle_xor_word(v, mask);
    return v;
}

/* ================================================================================================
 * >>import                                       copies planes into the layout that the kernels use
 * ================================================================================================
 * The target planes are packed: a sample is one byte if the bit depth is 8, otherwise a 16-bit word with the sample in
 * its low bits. Rows are aligned to 16 bytes. A thread writes 16 bytes of a target row at a time.
 */

/* Loads a sample; neither the plane nor its pitch needs to be aligned. */
GPU_FN uint32_t load_sample(const uint8_t *row, uint32_t x, int bytes) {
    return bytes == 1 ? load(row + x) : load(row + 2 * x) | (uint32_t)load(row + 2 * x + 1) << 8;
}

/* Shifts two 16-bit samples down to the low bits, and ORs into *illegal the bits that must be 0 but are set. */
GPU_FN uint32_t import_word(uint32_t pair_of_samples, int shift, uint32_t legal, uint32_t *illegal) {
    const uint32_t both = 0x10001u;
    *illegal |= pair_of_samples & (0xffffu ^ (legal << shift)) * both;
    return (pair_of_samples >> shift) & (0xffffu >> shift) * both;
}

GPU_FN void import_planes(const vmafgpu__import_launch &launch) {
    const vmafgpu__import_item &item = launch.items[block_z()];
    const uint32_t width = (uint32_t)launch.width, height = (uint32_t)launch.height;
    const uint32_t legal = (1u << launch.bit_depth) - 1;
    const uint32_t chunk = 16 / (uint32_t)launch.target_bytes;
    const bool by_words =
        launch.target_bytes == item.source_bytes && ((uint64_t)item.source | (uint64_t)item.source_pitch) % 16 == 0;
    uint32_t illegal = 0;
    for (uint32_t i = 0; i < VMAFGPU__IMPORT_ROWS; i++) {
        const uint32_t y = block_x() * VMAFGPU__IMPORT_ROWS + i;
        if (y >= height)
            break;
        const uint8_t *source = (const uint8_t *)item.source + (int64_t)y * item.source_pitch;
        uint8_t *target = (uint8_t *)item.target + (int64_t)y * launch.target_pitch;
        for (uint32_t x = thread_index() * chunk; x < width; x += VMAFGPU__IMPORT_THREADS * chunk) {
            if (by_words && x + chunk <= width) {
                Words4 words = load((const Words4 *)(source + x * (uint32_t)launch.target_bytes));
                if (launch.target_bytes == 2) {
                    words.x = import_word(words.x, item.shift, legal, &illegal);
                    words.y = import_word(words.y, item.shift, legal, &illegal);
                    words.z = import_word(words.z, item.shift, legal, &illegal);
                    words.w = import_word(words.w, item.shift, legal, &illegal);
                }
                if (item.target)
                    store((Words4 *)(target + x * (uint32_t)launch.target_bytes), words);
                continue;
            }
            for (uint32_t k = x; k < x + chunk && k < width; k++) {
                const uint32_t word = load_sample(source, k, item.source_bytes);
                illegal |= item.source_bytes == 2 ? word & (0xffffu ^ (legal << item.shift)) : 0;
                if (!item.target)
                    continue;
                if (launch.target_bytes == 2)
                    store((uint16_t *)(target + 2 * k), (uint16_t)(word >> item.shift));
                else
                    store(target + k, (uint8_t)(word >> item.shift));
            }
        }
    }
    illegal = warp_or(illegal);
    if (illegal && item.illegal && lane_index() == 0)
        atomic_or(&launch.illegal[item.pair], item.illegal);
}

GPU_KERNEL(vmafgpu_import, vmafgpu__import_launch, VMAFGPU__IMPORT_THREADS, 1) {
    import_planes(launch);
}

/* ================================================================================================
 * >>pixels                                       converts RGB frames to planes
 * ================================================================================================
 * The source of a frame is linear memory at any address, or a surface.
 */
typedef vmafgpu__pixels_launch PixelsLaunch;
typedef vmafgpu__pixels_item PixelsItem;

struct LinearPixels {
    const uint8_t *row;
    uint64_t offset[2]; /* offsets from R to G and to B, if the pixels are in planes */
    bool is_aligned;    /* whether all rows are aligned to 4 bytes */
};

GPU_FN void open_row(LinearPixels &p, const PixelsItem &item, uint32_t y) {
    p.row = (const uint8_t *)item.source + (int64_t)y * item.source_pitch;
    for (int i = 0; i < 2; i++)
        p.offset[i] = item.planes[i] - item.source;
    p.is_aligned = (item.source | (uint64_t)item.source_pitch) % 4 == 0;
}
GPU_FN const uint8_t *plane_row(const LinearPixels &p, int i) {
    return i ? (const uint8_t *)((uint64_t)p.row + p.offset[i - 1]) : p.row;
}
GPU_FN uint32_t load_word(const LinearPixels &p, uint32_t x) {
    return p.is_aligned ? load((const uint32_t *)(p.row + x))
                        : load_sample(p.row + x, 0, 2) | load_sample(p.row + x, 1, 2) << 16;
}
GPU_FN bool has_words(const LinearPixels &p, uint32_t x) {
    return ((uint64_t)p.row + x) % 16 == 0;
}
GPU_FN Words4 load_words(const LinearPixels &p, uint32_t x) {
    return load((const Words4 *)(p.row + x));
}
/* Loads the three bytes of a pixel, which may cross a word boundary. */
GPU_FN uint32_t load_three(const LinearPixels &p, uint32_t x) {
    return load(p.row + x) | (uint32_t)load(p.row + x + 1) << 8 | (uint32_t)load(p.row + x + 2) << 16;
}
/* load_planes() loads one pixel from three planes; load_plane_words() loads four pixels. */
GPU_FN uint32_t load_planes(const LinearPixels &p, uint32_t x) {
    return load(plane_row(p, 0) + x) | (uint32_t)load(plane_row(p, 1) + x) << 8 |
           (uint32_t)load(plane_row(p, 2) + x) << 16;
}
GPU_FN bool has_plane_words(const LinearPixels &p, uint32_t x) {
    return (((uint64_t)p.row | p.offset[0] | p.offset[1]) + x) % 4 == 0;
}
GPU_FN Words4 load_plane_words(const LinearPixels &p, uint32_t x) {
    uint32_t plane[3], pixel[4];
    for (int i = 0; i < 3; i++)
        plane[i] = load((const uint32_t *)(plane_row(p, i) + x));
    for (int i = 0; i < 4; i++)
        pixel[i] = (plane[0] >> 8 * i & 255) | (plane[1] >> 8 * i & 255) << 8 | (plane[2] >> 8 * i & 255) << 16;
    return { pixel[0], pixel[1], pixel[2], pixel[3] };
}

#ifdef GPU_SURFACES
struct SurfacePixels {
    uint64_t surface;
    uint32_t y;
};

GPU_FN void open_row(SurfacePixels &p, const PixelsItem &item, uint32_t y) {
    p.surface = item.source;
    p.y = y;
}
GPU_FN uint32_t load_word(const SurfacePixels &p, uint32_t x) {
    return surface_word(p.surface, x, p.y);
}
GPU_FN bool has_words(const SurfacePixels &, uint32_t) {
    return true;
}
GPU_FN Words4 load_words(const SurfacePixels &p, uint32_t x) {
    return surface_words(p.surface, x, p.y);
}
/* No surface has three-byte pixels or planar pixels. */
GPU_FN uint32_t load_three(const SurfacePixels &, uint32_t) {
    return 0;
}
GPU_FN uint32_t load_planes(const SurfacePixels &, uint32_t) {
    return 0;
}
GPU_FN bool has_plane_words(const SurfacePixels &, uint32_t) {
    return false;
}
GPU_FN Words4 load_plane_words(const SurfacePixels &, uint32_t) {
    return { 0, 0, 0, 0 };
}
#endif

/* The three components of a pixel. A pixel is one word with three bit fields, or two words with half-precision numbers,
 * which a table converts to integer codes. */
struct Codes {
    uint32_t code[3];
};

GPU_FN Codes codes_of(const PixelsLaunch &launch, uint32_t word) {
    const uint32_t bits = (uint32_t)launch.form.bits, mask = (1u << bits) - 1;
    return { { word & mask, word >> bits & mask, word >> 2 * bits & mask } };
}

GPU_FN Codes codes_of(const PixelsLaunch &launch, uint32_t low, uint32_t high) {
    const uint32_t r = vmafgpu__half_index(low & 0xffff), g = vmafgpu__half_index(low >> 16),
                   b = vmafgpu__half_index(high & 0xffff);
    return { { load(launch.transfer + r), load(launch.transfer + g), load(launch.transfer + b) } };
}

template <class SOURCE> GPU_FN Codes pixel_codes(const PixelsLaunch &launch, const SOURCE &source, uint32_t x) {
    const uint32_t bytes = (uint32_t)launch.form.bytes, at = x * bytes;
    return bytes == 8 ? codes_of(launch, load_word(source, at), load_word(source, at + 4))
                      : codes_of(launch, bytes == 1   ? load_planes(source, x)
                                         : bytes == 3 ? load_three(source, at)
                                                      : load_word(source, at));
}

GPU_FN uint32_t luma_of(const PixelsLaunch &launch, const Codes &codes) {
    return vmafgpu__colour_sample(&launch.plane[0], codes.code[0], codes.code[1], codes.code[2]);
}

GPU_FN uint32_t luma_of_word(const PixelsLaunch &launch, uint32_t word) {
    const Codes codes = codes_of(launch, word);
    return vmafgpu__luma_sample(&launch.parts, codes.code[0], codes.code[1], codes.code[2]);
}

/* Stores four samples. Target rows are padded to whole words, so samples beyond the width may be written. */
GPU_FN void store_luma(const PixelsLaunch &launch, const PixelsItem &item, uint32_t x, uint32_t y,
                       const uint32_t (&sample)[4]) {
    uint8_t *target =
        (uint8_t *)item.luma + (uint64_t)y * (uint32_t)launch.luma_pitch + x * (uint32_t)launch.luma_bytes;
    if (launch.luma_bytes == 1) {
        store((uint32_t *)target, sample[0] | sample[1] << 8 | sample[2] << 16 | sample[3] << 24);
    } else {
        store((uint32_t *)target, sample[0] | sample[1] << 16);
        store((uint32_t *)(target + 4), sample[2] | sample[3] << 16);
    }
}

/* Converts four pixels of any format. */
template <class SOURCE>
GPU_FN void pixels_row(const PixelsLaunch &launch, const PixelsItem &item, uint32_t x, uint32_t y) {
    const uint32_t width = (uint32_t)launch.width;
    uint32_t sample[4];
    SOURCE source;
    open_row(source, item, y);
    if (x + 4 <= width && launch.form.bytes == 8 && has_words(source, x * 8)) {
        const Words4 a = load_words(source, x * 8), b = load_words(source, x * 8 + 16);
        sample[0] = luma_of(launch, codes_of(launch, a.x, a.y));
        sample[1] = luma_of(launch, codes_of(launch, a.z, a.w));
        sample[2] = luma_of(launch, codes_of(launch, b.x, b.y));
        sample[3] = luma_of(launch, codes_of(launch, b.z, b.w));
    } else if (x + 4 <= width && launch.form.bytes == 1 && has_plane_words(source, x)) {
        const Words4 a = load_plane_words(source, x);
        sample[0] = luma_of(launch, codes_of(launch, a.x));
        sample[1] = luma_of(launch, codes_of(launch, a.y));
        sample[2] = luma_of(launch, codes_of(launch, a.z));
        sample[3] = luma_of(launch, codes_of(launch, a.w));
    } else {
        for (uint32_t i = 0; i < 4; i++)
            sample[i] = x + i < width ? luma_of(launch, pixel_codes(launch, source, x + i)) : 0;
    }
    store_luma(launch, item, x, y, sample);
}

/* Converts four neighbouring pixels in each of several rows, for formats with one 32-bit word per pixel. All loads are
 * issued before the first pixel is converted. */
template <class SOURCE>
GPU_FN void pixels_rows_of_words(const PixelsLaunch &launch, const PixelsItem &item, uint32_t x, uint32_t y) {
    Words4 words[VMAFGPU__PIXELS_ROWS];
#pragma unroll
    for (uint32_t i = 0; i < VMAFGPU__PIXELS_ROWS; i++) {
        SOURCE source;
        open_row(source, item, y + i);
        words[i] = load_words(source, x * 4);
    }
#pragma unroll
    for (uint32_t i = 0; i < VMAFGPU__PIXELS_ROWS; i++) {
        const uint32_t sample[4] = { luma_of_word(launch, words[i].x), luma_of_word(launch, words[i].y),
                                     luma_of_word(launch, words[i].z), luma_of_word(launch, words[i].w) };
        store_luma(launch, item, x, y + i, sample);
    }
}

template <class SOURCE> GPU_FN void pixels_luma(const PixelsLaunch &launch) {
    const PixelsItem &item = launch.items[block_z()];
    const uint32_t x = (block_x() * VMAFGPU__PIXELS_THREADS + thread_index()) * VMAFGPU__PIXELS_AT_ONCE;
    const uint32_t y = block_y() * VMAFGPU__PIXELS_ROWS, width = (uint32_t)launch.width,
                   height = (uint32_t)launch.height;
    SOURCE source;
    open_row(source, item, y);
    if (x >= width)
        return;
    if (launch.form.bytes == 4 && launch.has_parts && x + 4 <= width && y + VMAFGPU__PIXELS_ROWS <= height &&
        has_words(source, x * 4) && item.source_pitch % 16 == 0) {
        pixels_rows_of_words<SOURCE>(launch, item, x, y);
        return;
    }
    for (uint32_t i = 0; i < VMAFGPU__PIXELS_ROWS && y + i < height; i++)
        pixels_row<SOURCE>(launch, item, x, y + i);
}

GPU_FN void store_chroma(const PixelsLaunch &launch, void *plane, uint32_t x, uint32_t y, uint32_t sample) {
    uint8_t *at = (uint8_t *)plane + (uint64_t)y * (uint32_t)launch.chroma_pitch + x * (uint32_t)launch.chroma_step;
    if (launch.chroma_bytes == 1)
        store(at, (uint8_t)sample);
    else
        store((uint16_t *)at, (uint16_t)(sample << launch.chroma_shift));
}

template <class SOURCE> GPU_FN void pixels_chroma(const PixelsLaunch &launch) {
    const PixelsItem &item = launch.items[block_z()];
    const int32_t x = (int32_t)(block_x() * VMAFGPU__PIXELS_THREADS + thread_index()), y = (int32_t)block_y();
    uint32_t sum[3] = { 0, 0, 0 };
    if (x >= launch.chroma_width || !item.chroma[0])
        return;
    for (int32_t j = 0; j < 3; j++) {
        const int32_t row = y * launch.down.step + j - 1;
        if (!launch.down.weight[j])
            continue;
        SOURCE source;
        open_row(source, item, (uint32_t)(row < 0 ? 0 : row));
        for (int32_t i = 0; i < 3; i++) {
            const int32_t column = x * launch.across.step + i - 1;
            const uint32_t weight = (uint32_t)(launch.down.weight[j] * launch.across.weight[i]);
            if (!weight)
                continue;
            const Codes codes = pixel_codes(launch, source, (uint32_t)(column < 0 ? 0 : column));
            for (int k = 0; k < 3; k++)
                sum[k] += weight * codes.code[k];
        }
    }
    for (int i = 0; i < 2; i++)
        store_chroma(launch, item.chroma[i], (uint32_t)x, (uint32_t)y,
                     vmafgpu__colour_sample(&launch.plane[1 + i], sum[0], sum[1], sum[2]));
}

GPU_KERNEL(vmafgpu_pixels, PixelsLaunch, VMAFGPU__PIXELS_THREADS, 1) {
    pixels_luma<LinearPixels>(launch);
}
GPU_KERNEL(vmafgpu_pixels_chroma, PixelsLaunch, VMAFGPU__PIXELS_THREADS, 1) {
    pixels_chroma<LinearPixels>(launch);
}
#ifdef GPU_SURFACES
GPU_KERNEL(vmafgpu_pixels_surface, PixelsLaunch, VMAFGPU__PIXELS_THREADS, 1) {
    pixels_luma<SurfacePixels>(launch);
}
GPU_KERNEL(vmafgpu_pixels_surface_chroma, PixelsLaunch, VMAFGPU__PIXELS_THREADS, 1) {
    pixels_chroma<SurfacePixels>(launch);
}

/* Loads the bytes of a row from x up to `end` (at most 16) and pads them with zeros. YUV planes are copied in units of
 * 16 bytes; target rows have space for a complete last unit. */
GPU_FN Words4 surface_tail(uint64_t surface, uint32_t x, uint32_t y, uint32_t end) {
    uint32_t words[4] = { 0, 0, 0, 0 };
#pragma unroll
    for (uint32_t i = 0; i < 16; i++)
        words[i / 4] |= x + i < end ? surface_byte(surface, x + i, y) << 8 * (i % 4) : 0;
    return { words[0], words[1], words[2], words[3] };
}

GPU_FN void copy_surfaces(const vmafgpu__surfaces_launch &launch) {
    const bool is_chroma = block_z() >= (uint32_t)launch.luma_count;
    const vmafgpu__surface_item &item =
        launch.items[is_chroma ? VMAFGPU__MAX_IMPORTS + block_z() - (uint32_t)launch.luma_count : block_z()];
    const vmafgpu__surface_plane &plane = launch.plane[is_chroma];
    const uint32_t x = (block_x() * VMAFGPU__PIXELS_THREADS + thread_index()) * 16, end = (uint32_t)plane.row;
    const uint32_t y = block_y() * VMAFGPU__PIXELS_ROWS, rows = (uint32_t)plane.height - y;
    Words4 words[VMAFGPU__PIXELS_ROWS];
    if (x >= end || y >= (uint32_t)plane.height)
        return;
#pragma unroll
    for (uint32_t i = 0; i < VMAFGPU__PIXELS_ROWS; i++)
        if (i < rows)
            words[i] =
                x + 16 <= end ? surface_words(item.surface, x, y + i) : surface_tail(item.surface, x, y + i, end);
#pragma unroll
    for (uint32_t i = 0; i < VMAFGPU__PIXELS_ROWS; i++) {
        const Words4 w = { words[i].x >> plane.shift & plane.mask, words[i].y >> plane.shift & plane.mask,
                           words[i].z >> plane.shift & plane.mask, words[i].w >> plane.shift & plane.mask };
        if (i < rows)
            store((Words4 *)((uint8_t *)item.target + (uint64_t)(y + i) * (uint32_t)plane.pitch + x), w);
    }
}

GPU_KERNEL(vmafgpu_surfaces, vmafgpu__surfaces_launch, VMAFGPU__PIXELS_THREADS, 1) {
    copy_surfaces(launch);
}
#endif

/* An empty kernel that the host looks up by name. If it exists, the kernel file was built with the launch structs that
 * vmafgpu.h declares. */
GPU_KERNEL(vmafgpu_interface_2, vmafgpu__import_launch, LANES, 1) {
    (void)launch;
}

/* ================================================================================================
 * >>motion                                       sum of absolute values of the blurred difference between two frames
 * ================================================================================================
 * The z index of a block selects a pair and the earlier frame with which the reference of this pair is compared. The
 * vertical pass over a tile writes its results to shared memory, and the horizontal pass reads them from there.
 */

/* motion_pair() returns the index of the pair that a block processes; motion_before() returns the index of the earlier
 * frame in vmafgpu__gpu_pair.before. */
GPU_FN uint32_t motion_pair(const vmafgpu__motion_launch &launch) {
    return launch.both ? block_z() / 2 : block_z();
}
GPU_FN uint32_t motion_before(const vmafgpu__motion_launch &launch) {
    return launch.both ? block_z() % 2 : (uint32_t)launch.only;
}

/* Returns the row or column to read in place of k: indices outside the frame are reflected at its borders. If k is so
 * far outside that no result depends on it, the function returns some index inside the frame. */
GPU_FN int32_t mirror(int32_t k, int32_t n) {
    const int32_t away = k < 0 ? -k : k, back = 2 * (n - 1) - away,
                  i = away < back ? away : back; /* vmafgpu__reflect(), written as a minimum */
    return i < 0 ? 0 : i;
}

template <int BYTES> GPU_FN uint32_t load_sample(const uint8_t *row, int32_t x) {
    return BYTES == 1 ? load(row + x) : load((const uint16_t *)row + x);
}

GPU_FN int32_t motion_tap_sum(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e) {
    return vmafgpu__motion_taps[0] * small(a + e) + vmafgpu__motion_taps[1] * small(b + d) +
           vmafgpu__motion_taps[2] * small(c);
}

/* Returns the sum of five values weighted with the taps, rounded and shifted. The high bits and the low bytes of the
 * values are summed separately, because the whole sum would not fit in 32 bits. */
GPU_FN int32_t motion_filter(const int32_t *v, int stride, int shift) {
    const int32_t high =
        motion_tap_sum(v[0] >> 8, v[stride] >> 8, v[2 * stride] >> 8, v[3 * stride] >> 8, v[4 * stride] >> 8);
    const int32_t low =
        motion_tap_sum(v[0] & 255, v[stride] & 255, v[2 * stride] & 255, v[3 * stride] & 255, v[4 * stride] & 255);
    return vmafgpu__motion_round(high, low, shift);
}

/* Adds the sums of all threads of the block to the motion of the pair. A thread adds at most 28 absolute values to
 * `sum`, each at most 65535, so 32 bits are enough for the sum of a warp. `words` is shared memory with one word per
 * warp. */
GPU_FN void motion_finish(const vmafgpu__motion_launch &launch, uint32_t pair, uint32_t before, uint32_t sum,
                          uint32_t *words) {
    sum = warp_sum_word(sum);
    if (lane_index() == 0)
        words[warp_index()] = sum;
    block_barrier();
    if (thread_index() == 0) {
        int64_t total = 0;
        for (uint32_t i = 0; i < block_threads() / LANES; i++)
            total += words[i];
        atomic_add(&launch.batch.sums[pair].motion[before], total);
    }
}

/* ---- plain form ---- */

/* Loads the differences between the earlier and the current frame in four columns and eight rows; x must be a multiple
 * of four. */
template <int BYTES>
GPU_FN void motion_plain_load(const vmafgpu__motion_launch &launch, const vmafgpu__gpu_pair &pair, uint32_t before,
                              int32_t x, int32_t y, int32_t (&difference)[8][4]) {
    const uint8_t *earlier = (const uint8_t *)pair.before[before], *now = (const uint8_t *)pair.reference;
    const int64_t pitch[2] = { pair.before_pitch[before], pair.reference_pitch };
    const int32_t width = launch.batch.width, height = launch.batch.height;
    if (x < 0 || x + 4 > width || y < 0 || y + 8 > height) {
#pragma unroll 1
        for (int k = 0; k < 8; k++) { /* shift the rows up, because registers cannot be indexed; slow but compact */
            const int64_t row = mirror(y + k, height);
#pragma unroll
            for (int i = 0; i < 28; i++)
                difference[i / 4][i % 4] = difference[i / 4 + 1][i % 4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                difference[7][i] = (int32_t)load_sample<BYTES>(earlier + row * pitch[0], mirror(x + i, width)) -
                                   (int32_t)load_sample<BYTES>(now + row * pitch[1], mirror(x + i, width));
        }
        return;
    }
    earlier += y * pitch[0] + x * BYTES;
    now += y * pitch[1] + x * BYTES;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t a[BYTES], b[BYTES];
#pragma unroll
        for (int i = 0; i < BYTES; i++) {
            a[i] = load((const uint32_t *)earlier + i);
            b[i] = load((const uint32_t *)now + i);
        }
        earlier += pitch[0];
        now += pitch[1];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int word = i * BYTES / 4, shift = i * BYTES % 4 * 8;
            const uint32_t mask = BYTES == 1 ? 255 : 65535;
            difference[k][i] = (int32_t)(a[word] >> shift & mask) - (int32_t)(b[word] >> shift & mask);
        }
    }
}

/* Runs the vertical pass for four columns and four rows. */
template <int BYTES>
GPU_FN void motion_plain_vertical(const vmafgpu__motion_launch &launch, const vmafgpu__gpu_pair &pair, uint32_t before,
                                  int32_t x, int32_t y, int32_t *out) {
    int32_t difference[8][4] = {};
    motion_plain_load<BYTES>(launch, pair, before, x, y - 2, difference);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t v[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int32_t *d = &difference[k][i];
            v[i] = (uint32_t)(BYTES == 2 ? motion_filter(d, 4, launch.batch.bit_depth) /* bytes: sums fit in 32 bits */
                                         : (motion_tap_sum(d[0], d[4], d[8], d[12], d[16]) + 128) >> 8);
        }
        *(Words4 *)(out + k * VMAFGPU__MOTION_STRIDE) = Words4{ v[0], v[1], v[2], v[3] };
    }
}

template <int BYTES> GPU_FN void motion_plain(const vmafgpu__motion_launch &launch) {
    enum {
        MARGIN = 4,
        UNITS = VMAFGPU__MOTION_STRIDE / 4,
        GROUPS = VMAFGPU__MOTION_TILE_WIDTH / 4,
        WORDS = VMAFGPU__MOTION_TILE_HEIGHT * VMAFGPU__MOTION_STRIDE
    };
    static_assert((WORDS + VMAFGPU__MOTION_THREADS / 32) * 4 == VMAFGPU__MOTION_PLAIN_SHARED, "shared memory");
    const uint32_t z = motion_pair(launch), before = motion_before(launch);
    const vmafgpu__gpu_pair &pair = launch.batch.pair[z];
    if (!pair.before[before])
        return;
    const int32_t x = (int32_t)block_x() * VMAFGPU__MOTION_TILE_WIDTH,
                  y = (int32_t)block_y() * VMAFGPU__MOTION_TILE_HEIGHT;
    int32_t *tile = (int32_t *)shared_memory();
#pragma unroll 1
    for (uint32_t i = thread_index(); i < UNITS * VMAFGPU__MOTION_TILE_HEIGHT / 4; i += block_threads()) {
        const int32_t column = (int32_t)(i % UNITS) * 4, row = (int32_t)(i / UNITS) * 4;
        motion_plain_vertical<BYTES>(launch, pair, before, x - MARGIN + column, y + row,
                                     tile + row * VMAFGPU__MOTION_STRIDE + column);
    }
    block_barrier();
    uint32_t sum = 0;
#pragma unroll 1
    for (uint32_t i = thread_index(); i < GROUPS * VMAFGPU__MOTION_TILE_HEIGHT; i += block_threads()) {
        const int32_t column = (int32_t)(i % GROUPS) * 4, row = (int32_t)(i / GROUPS);
        const int32_t *line = tile + row * VMAFGPU__MOTION_STRIDE + column; /* begins MARGIN columns before the group */
        int32_t v[12];
#pragma unroll
        for (int k = 0; k < 12; k += 4) {
            const Words4 words = *(const Words4 *)(line + k);
            v[k] = (int32_t)words.x, v[k + 1] = (int32_t)words.y, v[k + 2] = (int32_t)words.z,
            v[k + 3] = (int32_t)words.w;
        }
        const int32_t samples = y + row < launch.batch.height ? launch.batch.width - x - column : 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int32_t blurred = motion_filter(v + k + MARGIN - 2, 1, 16);
            sum += k < samples ? (uint32_t)(blurred < 0 ? -blurred : blurred) : 0;
        }
    }
    motion_finish(launch, z, before, sum, (uint32_t *)(tile + WORDS));
}

GPU_KERNEL(vmafgpu_motion_plain_8, vmafgpu__motion_launch, VMAFGPU__MOTION_THREADS, 3) {
    motion_plain<1>(launch);
}
GPU_KERNEL(vmafgpu_motion_plain_16, vmafgpu__motion_launch, VMAFGPU__MOTION_THREADS, 3) {
    motion_plain<2>(launch);
}

/* Transposes the bytes of four words: out[i] receives byte i of each word. */
template <int BYTES> GPU_FN void transpose_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *out) {
    const uint32_t ab = permute_bytes(a, b, 0x5140), cd = permute_bytes(c, d, 0x5140);
    out[0] = permute_bytes(ab, cd, 0x5410);
    if (BYTES > 1)
        out[1] = permute_bytes(ab, cd, 0x7632);
    if (BYTES > 2) {
        const uint32_t ab_high = permute_bytes(a, b, 0x7362), cd_high = permute_bytes(c, d, 0x7362);
        out[2] = permute_bytes(ab_high, cd_high, 0x5410);
        if (BYTES > 3)
            out[3] = permute_bytes(ab_high, cd_high, 0x7632);
    }
}

#ifdef GPU_MATRIX

/* ---- matrix form, up to 12 bits ----
 *
 * This form works like the matrix form of VIF, whose comment describes the layout of the operands. In the vertical
 * pass, the indices k < 16 are rows of the earlier frame, and the indices k >= 16 are rows of the current frame, whose
 * taps are negated. So the product is the blurred difference. Rows 0..7 of operand a contain the high digits of the
 * taps, and rows 8..15 the low digits; all digits are signed. For the horizontal pass, 65536 is added to the results,
 * which makes them unsigned numbers of three base-256 digits. A warp computes 8 rows of results.
 */
template <int BYTES, int WARPS> struct MotionMatrix {
    enum {
        COLUMNS = VMAFGPU__MOTION_MATRIX_WIDTH + 16,
        BLOCKS = COLUMNS / 16,
        ROW = COLUMNS * BYTES + VMAFGPU__MOTION_MATRIX_MARGIN,
        ROWS = 8 * WARPS + 8,
        FRAME = ROWS * ROW,
        UNITS = COLUMNS * BYTES / 8,
        UNIT_SAMPLES = 8 / BYTES,
        DIGITS = 3,
        BIAS = 65536
    };
    static_assert(2 * FRAME + WARPS * 4 ==
                      (BYTES == 1 ? VMAFGPU__MOTION_MATRIX_SHARED_8 : VMAFGPU__MOTION_MATRIX_SHARED_12),
                  "shared memory");

    struct Tile {
        const uint8_t *image[2]; /* earlier, current */
        int64_t pitch[2];
        int32_t x, y;
    };

    /* Copies a tile of both frames and its halo to shared memory. The halo starts at column x - 8 and row y - 2. */
    GPU_FN void fill(const vmafgpu__motion_launch &launch, const Tile &tile, uint8_t *to) {
        const int32_t width = launch.batch.width, height = launch.batch.height;
        const bool columns_inside = tile.x >= 8 && tile.x - 8 + COLUMNS <= width;
        const bool inside = columns_inside && tile.y >= 2 && tile.y - 2 + ROWS <= height;
        const int32_t warp = (int32_t)warp_index();
#pragma unroll
        for (uint32_t n = 0; n < 2 * UNITS / LANES; n++) {
            const uint32_t unit = lane_index() + LANES * n, f = unit / UNITS;
            const int32_t column = (int32_t)(unit % UNITS) * UNIT_SAMPLES, x = tile.x - 8 + column;
            const uint8_t *image = f ? tile.image[1] : tile.image[0];
            const int64_t pitch = f ? tile.pitch[1] : tile.pitch[0];
            uint8_t *at = to + f * FRAME + warp * ROW + column * BYTES;
            if (inside) {
                const uint8_t *from = image + (tile.y - 2 + warp) * pitch + x * BYTES;
#pragma unroll
                for (int32_t row = 0; row < ROWS; row += WARPS) {
                    if (row + WARPS <= ROWS || row + warp < ROWS)
                        copy_8(at + row * ROW, from);
                    from += WARPS * pitch;
                }
                continue;
            }
#pragma unroll 1
            for (int32_t row = warp; row < ROWS; row += WARPS) {
                const uint8_t *from = image + mirror(tile.y - 2 + row, height) * pitch;
                if (x >= 0 && x + UNIT_SAMPLES <= width)
                    copy_8(at, from + (int64_t)x * BYTES);
                else
#pragma unroll
                    for (int i = 0; i < UNIT_SAMPLES; i++) {
                        const uint32_t sample = load_sample<BYTES>(from, mirror(x + i, width));
                        if (BYTES == 1)
                            at[i] = (uint8_t)sample;
                        else
                            ((uint16_t *)at)[i] = (uint16_t)sample;
                    }
                at += WARPS * ROW;
            }
        }
        copy_commit();
        copy_wait<0>();
    }

    /* Runs the vertical pass for a block of 16 columns. Lane 4 * g + t computes row g, columns 4 * t .. 4 * t + 3, and
     * keeps the digits of these results as one half of each operand b of the horizontal pass. */
    GPU_FN void vertical(const uint8_t *input, const uint32_t (&taps)[4], int bit_depth, int half,
                         uint32_t (&b)[DIGITS][2]) {
        uint32_t bytes[2][2 * BYTES], blurred[2][2], digit[4];
#pragma unroll
        for (int f = 0; f < 2; f++) {
            uint32_t row[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint8_t *at = input + f * FRAME + i * ROW;
                row[i] = BYTES == 1 ? *(const uint16_t *)at : *(const uint32_t *)at;
            }
            transpose_bytes<2 * BYTES>(row[0], row[1], row[2], row[3], bytes[f]);
        }
#pragma unroll
        for (int column = 0; column < 2; column++) {
            const uint32_t rounding[4] = { 0, 0, BIAS * 256 + 128, BIAS * 256 + 128 };
            int32_t sum[2][4] = {};
            if (BYTES == 1)
                multiply_add_signed(sum[0], taps, bytes[0][column], bytes[1][column], rounding);
            else
#pragma unroll
                for (int j = 0; j < BYTES; j++)
                    multiply_add_signed(sum[j], taps, bytes[0][column * BYTES + j], bytes[1][column * BYTES + j]);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                if (BYTES == 1) { /* the bias keeps the shifted sum from being negative */
                    blurred[column][i] = (uint32_t)sum[0][i] + ((uint32_t)sum[0][i + 2] >> 8);
                } else {
                    /* The type is unsigned because illegal samples can make the sum wrap around. */
                    const uint32_t middle = (uint32_t)(sum[0][i] + sum[1][i + 2]);
                    const uint32_t whole_sum =
                        (uint32_t)sum[0][i + 2] + middle * 256 + (uint32_t)sum[1][i] * 65536 + (1u << (bit_depth - 1));
                    blurred[column][i] = (uint32_t)(((int32_t)whole_sum >> bit_depth) + BIAS);
                }
            }
        }
        transpose_bytes<4>(blurred[0][0], blurred[1][0], blurred[0][1], blurred[1][1], digit);
#pragma unroll
        for (int j = 0; j < DIGITS; j++)
            b[j][half] = digit[j];
    }

    /* Runs the horizontal pass for a block of 16 columns. Lane 4 * g + t computes columns g and g + 8 of rows 2 * t and
     * 2 * t + 1, and adds the absolute values of those results that are inside the image to *sum. */
    GPU_FN void horizontal(const uint32_t (&low)[4], const uint32_t (&high)[4], const uint32_t (&b)[DIGITS][2],
                           bool at_edge, int32_t right, int32_t below, uint32_t *sum) {
        const int32_t g = (int32_t)lane_index() / 4, t = (int32_t)lane_index() % 4;
        const uint32_t rounding[4] = { 32768, 32768, 32768, 32768 };
        int32_t part[DIGITS + 1][4] = {};
        uint32_t v[4]; /* includes BIAS */
#pragma unroll
        for (int j = 0; j < DIGITS; j++) {
            if (j == 0)
                multiply_add(part[0], low, b[0][0], b[0][1], rounding);
            else
                multiply_add(part[j], low, b[j][0], b[j][1]);
            multiply_add(part[j + 1], high, b[j][0], b[j][1]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t lower = (uint32_t)part[0][i] + ((uint32_t)part[1][i] << 8);
            v[i] = (uint32_t)part[2][i] + (uint32_t)part[3][i] * 256 + (lower >> 16);
        }
        if (at_edge)
#pragma unroll
            for (int i = 0; i < 4; i++)
                v[i] = g + i / 2 * 8 < right && 2 * t + i % 2 < below ? v[i] : (uint32_t)BIAS;
#pragma unroll
        for (int i = 0; i < 4; i++)
            add_distance(*sum, v[i], BIAS);
    }

    GPU_FN void run(const vmafgpu__motion_launch &launch) {
        const uint32_t z = motion_pair(launch), before = motion_before(launch);
        const vmafgpu__gpu_pair &pair = launch.batch.pair[z];
        if (!pair.before[before])
            return;
        const Words4 *matrices = (const Words4 *)launch.fragments + lane_index();
        uint32_t matrix[5][4];
#pragma unroll
        for (int i = 0; i < 5; i++) {
            const Words4 words = load(matrices + 32 * i);
            matrix[i][0] = words.x, matrix[i][1] = words.y, matrix[i][2] = words.z, matrix[i][3] = words.w;
        }
        const Tile tile = { { (const uint8_t *)pair.before[before], (const uint8_t *)pair.reference },
                            { pair.before_pitch[before], pair.reference_pitch },
                            (int32_t)block_x() * VMAFGPU__MOTION_MATRIX_WIDTH,
                            (int32_t)block_y() * 8 * WARPS };
        uint8_t *shared = shared_memory();
        fill(launch, tile, shared);
        block_barrier();

        const int32_t g = (int32_t)lane_index() / 4, t = (int32_t)lane_index() % 4, warp = (int32_t)warp_index();
        const int32_t right = launch.batch.width - tile.x, below = launch.batch.height - tile.y - 8 * warp;
        const bool at_edge = right < VMAFGPU__MOTION_MATRIX_WIDTH || below < 8;
        const int32_t last = right >= VMAFGPU__MOTION_MATRIX_WIDTH ? BLOCKS - 1 : (right + 15) / 16;
        const uint8_t *input = shared + (8 * warp + 4 * t) * ROW + 2 * BYTES * g;
        const int bit_depth = launch.batch.bit_depth;
        uint32_t sum = 0, b[DIGITS][2];
        if (below > 0) {
            /* Input blocks k - 1 and k produce result block k - 1. */
            vertical(input, matrix[4], bit_depth, 0, b);
#pragma unroll 1
            for (int32_t k = 1; k <= last; k += 2) {
                vertical(input + 16 * BYTES * k, matrix[4], bit_depth, 1, b);
                horizontal(matrix[0], matrix[1], b, at_edge, right - 16 * (k - 1), below, &sum);
                if (k == last)
                    break;
                vertical(input + 16 * BYTES * (k + 1), matrix[4], bit_depth, 0, b);
                horizontal(matrix[2], matrix[3], b, at_edge, right - 16 * k, below, &sum);
            }
        }
        motion_finish(launch, z, before, sum, (uint32_t *)(shared + 2 * FRAME));
    }
};

GPU_KERNEL(vmafgpu_motion_matrix_8, vmafgpu__motion_launch, VMAFGPU__MOTION_MATRIX_WARPS_8 *LANES, 4) {
    MotionMatrix<1, VMAFGPU__MOTION_MATRIX_WARPS_8>::run(launch);
}
GPU_KERNEL(vmafgpu_motion_matrix_12, vmafgpu__motion_launch, VMAFGPU__MOTION_MATRIX_WARPS_12 *LANES, 1) {
    MotionMatrix<2, VMAFGPU__MOTION_MATRIX_WARPS_12>::run(launch);
}

#endif /* GPU_MATRIX */

/* ================================================================================================
 * >>vif                                          visual information fidelity, one scale per launch
 * ================================================================================================
 * The kernels exist in a plain form and in two matrix forms. A block or a warp reads a part of the two images of a
 * scale. It computes the four sums of this part: the numerator, the denominator, the noise of the flat samples, and the
 * number of flat samples. It also computes the corresponding part of the images of the next scale. Intermediate results
 * are not stored in global memory. The vertical pass filters the samples, their squares and products, and the images
 * for the next scale. The horizontal pass filters the results of the vertical pass, and then the statistics of each
 * sample are added to the sums.
 */

/* ---- statistics ---- */

/* The sums that one thread computes. A biased logarithm is below 2^19 and a numerator term below 2^15, so 32 bits are
 * enough for VIF_MOST samples. */
struct VifSums {
    uint64_t flat_noise;
    uint32_t denominator; /* too large by `logs` * (VIF_LOG_BIAS + VMAFGPU__VIF_LOG_NOISE) */
    uint32_t logs;        /* number of samples whose s1 is not below the noise */
    uint32_t numerator;   /* signed */
};
enum { VIF_MOST = 8192 };

enum { VIF_LOG_BIAS = 260096 }; /* 2048 times 127, the exponent bias of a float */

/* Returns 2048 * log2(v) + VIF_LOG_BIAS for v >= 2^15. Read as an integer, the exponent and the upper mantissa bits of
 * a float are a logarithm that is linear between powers of two. The table, indexed by the upper 15 mantissa bits, holds
 * the difference between the true logarithm and this line. */
GPU_FN int32_t vif_log(uint32_t v, const uint8_t *table) {
    const uint32_t bits = bits_of(float_down(v));
    return (int32_t)(bits >> 12) + table[bits >> 8 & 0x7fff];
}

/* Returns a / b, rounded to nearest. The quotient must be far from overflow and underflow. The reciprocal is refined
 * until its error is smaller than that of one rounding. Then the quotient is corrected by its exact remainder, which
 * rounds it exactly as a division does (Markstein). */
GPU_FN double divide(double a, double b) {
    double r = reciprocal(b);
    double e = fused(-b, r, 1.0);
    r = fused(r, fused(e, e, e), r);
    e = fused(-b, r, 1.0);
    r = fused(r, e, r);
    const double q = a * r;
    return fused(fused(-b, q, a), r, q);
}

/* Computes n1 and n2 of the numerator term log(n2 / n1), exactly as vmafgpu__vif_channel and vmafgpu__vif_information
 * define them. */
GPU_FN void vif_levels(int32_t s1, int32_t s2, int32_t s12, double gain_limit, uint32_t *n1, uint32_t *n2) {
    const double x1 = whole((uint32_t)s1), x12 = whole((uint32_t)s12);
    const double gain = divide(x12, x1 + VMAFGPU__VIF_EPSILON);
    const double limited = gain < gain_limit ? gain : gain_limit, rest = whole((uint32_t)s2) - gain * x12;
    const bool is_negative = (int64_t)bits_of(rest) < 0; /* cheaper than a comparison */
    *n1 = (is_negative ? 0 : truncate(rest)) + VMAFGPU__VIF_NOISE;
    *n2 = *n1 + truncate(limited * limited * x1);
}

/* vif_likely_levels() does the work of vif_levels() faster, for s1 >= noise and s12 >= 0. The function returns false if
 * the values that it computes may differ from those of vif_levels().
 *
 * Let s12^2 / s1 = q + m / s1 with integers q and m, 0 <= m < s1, and let c be this quotient rounded up. The gain in
 * vif_levels() is slightly smaller than s12 / s1 because an epsilon is added to s1. So vif_levels() truncates
 * s2 - gain * s12 to s2 - c, and gain^2 * s1 to c - 1. This holds if m = 0 or if m / s1 is at least about
 * 2^-16 * q / s1. For the other samples (about one in 40000), vif_levels() is used.
 *
 * If the gain is limited, limit^2 * s1 replaces c - 1. In this case, limit^2 * s1 is not larger than c - 1, so the
 * minimum of both is correct with and without the limit. */

/* Returns the integer nearest to s12^2 / s1, minus one. Before the subtraction, the result may differ from the quotient
 * by slightly more than one half: vif_likely_levels() computes the remainder exactly modulo 2^32, and its sign shows
 * which of two adjacent integers is c. */
GPU_FN uint32_t vif_double_quotient(int32_t s1, int32_t s12) {
    const double x1 = whole((uint32_t)s1), x12 = whole((uint32_t)s12);
    double r = reciprocal(x1);
    r = fused(fused(-x1, r, 1.0), r, r);
    return (uint32_t)bits_of(fused(x12 * x12, r, 6755399441055743.0)); /* 3 * 2^51 - 1 */
}

/* Like vif_double_quotient(), but without the use of doubles. The estimate q is never too large, and is too small by
 * at most 2^-19 of its value. Its remainder yields the correction; the bits that are dropped from the remainder change
 * the correction by less than 2^-7. */
GPU_FN uint32_t vif_float_quotient(int32_t s1, int32_t s12) {
    const uint32_t u1 = (uint32_t)(s1 > VMAFGPU__VIF_NOISE ? s1 : VMAFGPU__VIF_NOISE),
                   u12 = (uint32_t)(s12 > 0 ? s12 : 0);
    const float x12 = (float)u12, r = reciprocal((float)u1);
    const uint32_t q = (uint32_t)(x12 * x12 * (r * (1 - 1.0f / 1048576)));
    const uint64_t rest = (uint64_t)u12 * u12 - (uint64_t)q * u1;
    return q +
           (bits_of(fused((float)(uint32_t)(rest >> 10), 1024.0f * r, 12582911.0f)) - 0x4b400000u); /* 3 * 2^22 - 1 */
}

/* Computes n1 and n2 as described above. Also returns false for gains that may reach a limit other than 1. */
template <bool DOUBLES>
GPU_FN bool vif_likely_levels(int32_t s1, int32_t s2, int32_t s12, const vmafgpu__vif_gain &gain, uint32_t two,
                              uint32_t *n1, uint32_t *n2) {
    const uint32_t below = DOUBLES ? vif_double_quotient(s1, s12) : vif_float_quotient(s1, s12);
    /* `left` is a signed number, either -m or s1 - m, and c1 is c - 1. */
    const uint32_t left = below * (uint32_t)s1 - opaque((uint32_t)s12 * (uint32_t)s12 - (uint32_t)s1);
    const uint32_t c1 = below + (left >> 31);
    const int32_t larger = s2 - 1 > (int32_t)c1 ? s2 - 1 : (int32_t)c1, most = s1 | gain.any;
    const uint32_t explained = (uint32_t)((int32_t)c1 < most ? (int32_t)c1 : most);
    const uint32_t unsure = (two + ((uint32_t)s1 >> 23)) + (below >> 16);
    *n1 = (uint32_t)larger - c1 + VMAFGPU__VIF_NOISE;
    *n2 = *n1 + explained;
    return left + unsure >= unsure && s12 >> gain.shift < s1;
}

/* Returns how many logarithms were added to obtain `sum`: at most N, each of a number >= 2 * VMAFGPU__VIF_NOISE. The
 * count follows from the sum, because the ranges of sums with different counts do not overlap. */
template <int N> GPU_FN uint32_t vif_log_count(uint32_t sum) {
    constexpr uint32_t LEAST = 18 * 2048 + VIF_LOG_BIAS, MOST = 32 * 2048 + VIF_LOG_BIAS;
    static_assert(2 * VMAFGPU__VIF_NOISE == 1 << 18 && N * MOST < (N + 1) * LEAST, "sums of so many lie apart");
    return sum / LEAST;
}

GPU_FN uint32_t vif_term(uint32_t n1, uint32_t n2, const uint8_t *table) {
    return (uint32_t)(vif_log(n2, table) - vif_log(n1, table));
}

GPU_FN bool vif_has_term(int32_t s1, int32_t s2, int32_t s12) {
    return s1 >= VMAFGPU__VIF_NOISE && s12 > 0 && s2 > 0;
}

/* Corrects the numerator: replaces each term of vif_likely_levels() that may be wrong with the term of vif_levels(). */
template <bool DOUBLES, int N>
GPU_FN void vif_correct(const vmafgpu__vif_gain &gain, const uint8_t *table, uint32_t two, const int32_t *s1,
                        const int32_t *s2, const int32_t *s12, VifSums *sums) {
    int32_t a1[N], a2[N], a12[N];
#pragma unroll
    for (int i = 0; i < N; i++)
        a1[i] = s1[i], a2[i] = s2[i], a12[i] = s12[i];
#pragma unroll 1
    for (int k = 0; k < N; k++) {
        uint32_t n1, n2, right1, right2;
        if (vif_has_term(a1[0], a2[0], a12[0]) &&
            !vif_likely_levels<DOUBLES>(a1[0], a2[0], a12[0], gain, two, &n1, &n2)) {
            vif_levels(a1[0], a2[0], a12[0], gain.limit, &right1, &right2);
            sums->numerator += vif_term(right1, right2, table) - vif_term(n1, n2, table);
        }
#pragma unroll
        for (int i = 0; i + 1 < N; i++) /* registers cannot be indexed */
            a1[i] = a1[i + 1], a2[i] = a2[i + 1], a12[i] = a12[i + 1];
    }
}

/* Adds the statistics of N samples per lane to *sums. All lanes must call it. s1, s2 and s12 must be 0 for samples
 * outside the image. */
template <bool DOUBLES, int N>
GPU_FN void vif_statistics(const vmafgpu__vif_gain &gain, const uint8_t *table, const int32_t *s1, const int32_t *s2,
                           const int32_t *s12, VifSums *sums) {
    const uint32_t two = opaque(2u); /* a literal would cost an addition */
    uint32_t logs = 0;
    bool uncertainty = false, flat = true;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const bool has_log = s1[i] >= VMAFGPU__VIF_NOISE;
        flat = flat && !has_log;
        sums->flat_noise += (uint64_t)(has_log ? 0 : (uint32_t)s2[i]) * gain.one;
    }
    if (!DOUBLES && all_lanes(flat))
        return;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const bool has_log = s1[i] >= VMAFGPU__VIF_NOISE, has_term = vif_has_term(s1[i], s2[i], s12[i]);
        uint32_t n1, n2;
        const bool is_sure = vif_likely_levels<DOUBLES>(s1[i], s2[i], s12[i], gain, two, &n1, &n2);
        add_where(sums->numerator, vif_term(n1, n2, table), has_term);
        uncertainty = uncertainty || (has_term && !is_sure);
        add_where(logs, (uint32_t)vif_log((uint32_t)s1[i] + VMAFGPU__VIF_NOISE, table), has_log);
    }
    sums->logs += vif_log_count<N>(logs);
    sums->denominator += logs;
    if (uncertainty)
        vif_correct<DOUBLES, N>(gain, table, two, s1, s2, s12, sums);
}

/* Returns the four sums of a warp in their final form; lane i receives sum i. `samples` is the number of samples of the
 * warp that are inside the image. */
GPU_FN int64_t vif_warp_total(const VifSums &sums, uint32_t samples) {
    const uint32_t logs = warp_sum_word(sums.logs);
    const int64_t numerator = warp_sum((int32_t)sums.numerator), denominator = warp_sum(sums.denominator),
                  flat_noise = warp_sum((int64_t)sums.flat_noise);
    switch (again(lane_index())) {
    case 0: return numerator;
    case 1: return denominator - (int64_t)logs * (VIF_LOG_BIAS + VMAFGPU__VIF_LOG_NOISE);
    case 2: return flat_noise;
    default: return (int64_t)samples - (int64_t)logs;
    }
}

/* Adds one of the four sums, selected by `which`, to the results. */
GPU_FN void vif_deliver(const vmafgpu__vif_launch &launch, uint32_t pair, uint32_t which, int64_t v) {
    vmafgpu__vif_sums *out = &launch.batch.sums[pair].vif[launch.scale];
    if (which == 0)
        atomic_add(&out->numerator[launch.variant], v);
    else if (launch.first)
        atomic_add(which == 1 ? &out->denominator : which == 2 ? &out->flat_noise : &out->flat_count, v);
}

/* ---- images ---- */

struct VifImage {
    const uint8_t *data;
    int32_t pitch;
};

template <int SCALE> GPU_FN VifImage vif_input(const vmafgpu__vif_launch &launch, uint32_t pair, int frame) {
    const vmafgpu__gpu_pair &p = launch.batch.pair[pair];
    if (SCALE == 0)
        return frame ? VifImage{ (const uint8_t *)p.distorted, p.distorted_pitch }
                     : VifImage{ (const uint8_t *)p.reference, p.reference_pitch };
    return VifImage{ launch.scratch + pair * launch.scratch_size + launch.input[frame], launch.input_pitch };
}

GPU_FN uint8_t *vif_output(const vmafgpu__vif_launch &launch, uint32_t pair, int frame) {
    return launch.scratch + pair * launch.scratch_size + launch.output[frame];
}

/* ---- plain form ----
 *
 * A block processes a tile of 64 x 32 samples. In the vertical pass, a thread reads a column of 8 + 2 * reach samples
 * from both images and computes 8 results of each kind. Samples at equal distances from the centre have the same tap,
 * so they are added before the multiplication. The sums have 32 bits; squares are split into high and low parts if
 * their sum would not fit. In the horizontal pass, a thread computes 8 neighbouring samples of a row. The lanes of a
 * warp process different rows, whose distance in shared memory is four times an odd number of words, so 16-byte
 * accesses have no bank conflicts. Finally, the table of logarithms is loaded in place of the tile.
 */
enum { VIF_RUN = 8, VIF_PLANE = VMAFGPU__VIF_TILE_HEIGHT * VMAFGPU__VIF_TILE_STRIDE };
static_assert((4 * VIF_PLANE + VIF_PLANE / 2) * 4 == VMAFGPU__VIF_PLAIN_SHARED &&
                  VMAFGPU__VIF_LOG_TABLE + VMAFGPU__VIF_PLAIN_THREADS / 32 * 32 <= VMAFGPU__VIF_PLAIN_SHARED,
              "shared memory: the tile, then the logarithms and 32 bytes of each warp");

/* Returns the sum of 2 * reach + 1 values below 2^16, weighted with the taps of a scale. */
template <int SCALE> GPU_FN uint32_t vif_tap_sum(const uint32_t *v) {
    constexpr int reach = 8 >> SCALE;
    uint32_t sum = vmafgpu__vif_taps[SCALE][reach] * small(v[reach]);
#pragma unroll
    for (int k = 0; k < reach; k++)
        sum += vmafgpu__vif_taps[SCALE][k] * small(v[k] + v[2 * reach - k]);
    return sum;
}

/* Loads the samples of a column, and applies the border rule above and below the image. Returns the OR of all
 * samples. */
template <int BYTES, int COUNT>
GPU_FN uint32_t vif_load_column(const VifImage &image, int32_t x, int32_t y, int32_t height, uint32_t (&v)[COUNT]) {
    uint32_t seen = 0;
    if (y >= 0 && y + COUNT <= height) {
        const uint8_t *row = image.data + (int64_t)y * image.pitch;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            v[k] = load_sample<BYTES>(row, x);
            row += image.pitch;
        }
    } else {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            v[k] = load_sample<BYTES>(image.data + (int64_t)mirror(y + k, height) * image.pitch, x);
    }
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        seen |= v[k];
    return seen;
}

/* Computes one column of squares or products: sums of a[k] * b[k], weighted with the taps and rounded. */
template <int SCALE, int BYTES, int COUNT>
GPU_FN void vif_square_column(const uint32_t (&a)[COUNT], const uint32_t (&b)[COUNT], int shift, uint32_t *out) {
    uint32_t low[COUNT], high[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const uint32_t product = a[k] * b[k];
        low[k] = BYTES == 1 ? product : product & ((1u << shift) - 1);
        high[k] = product >> shift;
    }
#pragma unroll
    for (int i = 0; i < VIF_RUN; i++)
        out[i * VMAFGPU__VIF_TILE_STRIDE] =
            BYTES == 1 ? vif_tap_sum<SCALE>(low + i)
                       : vif_tap_sum<SCALE>(high + i) + ((vif_tap_sum<SCALE>(low + i) + (1u << shift >> 1)) >> shift);
}

template <int SCALE, int BYTES>
GPU_FN void vif_plain_vertical(const vmafgpu__vif_launch &launch, uint32_t pair, int32_t x, int32_t y, bool images,
                               bool statistics, uint32_t *tile, uint32_t (&seen)[2]) {
    constexpr int REACH = 8 >> SCALE, COLUMNS = VMAFGPU__VIF_TILE_WIDTH + 2 * REACH, COUNT = VIF_RUN + 2 * REACH;
    constexpr int NEXT = SCALE < 3 ? SCALE + 1 : 3, NEXT_FIRST = REACH - (8 >> NEXT);
    const int mean_shift = SCALE ? 16 : BYTES == 1 ? 8 : launch.mean_shift;
    const int square_shift = SCALE ? 16 : BYTES == 1 ? 0 : launch.square_shift;
    const uint32_t mean_half = 1u << (mean_shift - 1);
#pragma unroll 1
    for (uint32_t unit = thread_index(); unit < COLUMNS * VMAFGPU__VIF_TILE_HEIGHT / VIF_RUN; unit += block_threads()) {
        const int32_t column = (int32_t)(unit % COLUMNS), row = (int32_t)(unit / COLUMNS) * VIF_RUN;
        uint32_t sample[2][COUNT];
#pragma unroll
        for (int f = 0; f < 2; f++)
            seen[f] |=
                vif_load_column<BYTES>(vif_input<SCALE>(launch, pair, f), mirror(x - REACH + column, launch.width),
                                       y - REACH + row, launch.height, sample[f]);
        uint32_t *out = tile + row * VMAFGPU__VIF_TILE_STRIDE + column;
        if (statistics) {
#pragma unroll
            for (int i = 0; i < VIF_RUN; i++)
                out[i * VMAFGPU__VIF_TILE_STRIDE] = (vif_tap_sum<SCALE>(sample[0] + i) + mean_half) >> mean_shift |
                                                    (vif_tap_sum<SCALE>(sample[1] + i) + mean_half) >> mean_shift << 16;
            vif_square_column<SCALE, BYTES>(sample[0], sample[0], square_shift, out + VIF_PLANE);
            vif_square_column<SCALE, BYTES>(sample[1], sample[1], square_shift, out + 2 * VIF_PLANE);
            vif_square_column<SCALE, BYTES>(sample[0], sample[1], square_shift, out + 3 * VIF_PLANE);
        }
        if (SCALE < 3 && images) {
            out = tile + 4 * VIF_PLANE + row / 2 * VMAFGPU__VIF_TILE_STRIDE + column;
#pragma unroll
            for (int i = 0; i < VIF_RUN / 2; i++)
                out[i * VMAFGPU__VIF_TILE_STRIDE] =
                    (vif_tap_sum<NEXT>(sample[0] + 2 * i + NEXT_FIRST) + mean_half) >> mean_shift |
                    (vif_tap_sum<NEXT>(sample[1] + 2 * i + NEXT_FIRST) + mean_half) >> mean_shift << 16;
        }
    }
}

/* Loads values of a row in shared memory, starting at an index that is a multiple of four. */
template <int COUNT> GPU_FN void vif_load_row(const uint32_t *row, uint32_t (&v)[COUNT]) {
    static_assert(COUNT % 4 == 0, "");
#pragma unroll
    for (int k = 0; k < COUNT; k += 4) {
        const Words4 words = *(const Words4 *)(row + k);
        v[k] = words.x, v[k + 1] = words.y, v[k + 2] = words.z, v[k + 3] = words.w;
    }
}

/* Computes four samples of a row of the next scale. */
template <int SCALE>
GPU_FN void vif_plain_shrink(const vmafgpu__vif_launch &launch, uint32_t pair, int32_t x, int32_t y,
                             const uint32_t *tile) {
    enum { ROWS = VMAFGPU__VIF_TILE_HEIGHT / 2, GROUPS = VMAFGPU__VIF_TILE_WIDTH / 8 };
    constexpr int NEXT = SCALE + 1, NEXT_REACH = 8 >> NEXT, FIRST = (8 >> SCALE) - NEXT_REACH, SKIP = FIRST % 4;
    constexpr int COUNT = (SKIP + 2 * NEXT_REACH + 7 + 3) / 4 * 4;
    const int32_t row = (int32_t)(thread_index() % ROWS), group = (int32_t)(thread_index() / ROWS % GROUPS);
    const int frame = (int)(thread_index() / (ROWS * GROUPS));
    const int32_t out_x = x / 2 + 4 * group, out_y = y / 2 + row;
    uint32_t v[COUNT];
    if (out_x >= launch.width / 2 || out_y >= launch.height / 2)
        return;
    vif_load_row(tile + 4 * VIF_PLANE + row * VMAFGPU__VIF_TILE_STRIDE + 8 * group + FIRST - SKIP, v);
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        v[k] = frame ? v[k] >> 16 : v[k] & 65535;
    uint64_t four = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        four |= (uint64_t)((vif_tap_sum<NEXT>(v + SKIP + 2 * i) + 32768) >> 16) << 16 * i;
    uint8_t *row_out = vif_output(launch, pair, frame) + (int64_t)out_y * launch.output_pitch;
    store((uint64_t *)(row_out + 2 * out_x), four); /* rows are padded, so this stays inside the row */
}

/* Computes the variances of eight neighbouring samples of a row, and their covariance. */
template <int SCALE>
GPU_FN void vif_plain_horizontal(const uint32_t *row, int32_t (&s1)[VIF_RUN], int32_t (&s2)[VIF_RUN],
                                 int32_t (&s12)[VIF_RUN]) {
    constexpr int COUNT = (VIF_RUN + 2 * (8 >> SCALE) + 3) / 4 * 4;
    uint32_t mean[2][VIF_RUN], v[COUNT], part[COUNT];
    vif_load_row(row, v);
#pragma unroll
    for (int f = 0; f < 2; f++) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            part[k] = f ? v[k] >> 16 : v[k] & 65535;
#pragma unroll
        for (int i = 0; i < VIF_RUN; i++)
            mean[f][i] = vif_tap_sum<SCALE>(part + i);
    }
#pragma unroll
    for (int plane = 0; plane < 3; plane++) {
        uint32_t sum[VIF_RUN];
        vif_load_row(row + (plane + 1) * VIF_PLANE, v);
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            part[k] = v[k] & 65535;
#pragma unroll
        for (int i = 0; i < VIF_RUN; i++)
            sum[i] = (vif_tap_sum<SCALE>(part + i) + 32768) >> 16;
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            part[k] = v[k] >> 16;
#pragma unroll
        for (int i = 0; i < VIF_RUN; i++) {
            sum[i] += vif_tap_sum<SCALE>(part + i);
            const uint32_t product = vmafgpu__vif_mean_product(mean[plane == 1][i], mean[plane != 0][i]);
            const int32_t variance = (int32_t)(sum[i] - product);
            (plane == 0 ? s1 : plane == 1 ? s2 : s12)[i] = plane == 1 && variance < 0 ? 0 : variance;
        }
    }
}

/* Adds the sums of all threads of the block to the results. `words` is shared memory with 4 words per warp. */
GPU_FN void vif_plain_finish(const vmafgpu__vif_launch &launch, uint32_t pair, const VifSums &sums, uint32_t samples,
                             int64_t *words) {
    const int64_t of_warp = vif_warp_total(sums, warp_sum_word(samples));
    if (lane_index() < 4)
        words[4 * warp_index() + lane_index()] = of_warp;
    block_barrier();
    if (thread_index() < 4) {
        int64_t total = 0;
        for (uint32_t i = 0; i < block_threads() / LANES; i++)
            total += words[4 * i + thread_index()];
        vif_deliver(launch, pair, thread_index(), total);
    }
}

template <int SCALE, int BYTES, bool DOUBLES> GPU_FN void vif_plain(const vmafgpu__vif_launch &launch) {
    const uint32_t pair = block_z();
    if (!launch.batch.pair[pair].distorted)
        return;
    const int32_t x = (int32_t)block_x() * VMAFGPU__VIF_TILE_WIDTH, y = (int32_t)block_y() * VMAFGPU__VIF_TILE_HEIGHT;
    uint32_t *tile = (uint32_t *)shared_memory();
    uint32_t seen[2] = { 0, 0 };
    vif_plain_vertical<SCALE, BYTES>(launch, pair, x, y, launch.first, !launch.images_only, tile, seen);
    const uint32_t illegal = ((seen[0] & launch.illegal_bits) != 0) | ((seen[1] & launch.illegal_bits) != 0) * 2u;
    if (SCALE == 0 && BYTES == 2 && illegal && launch.illegal)
        atomic_or(&launch.illegal[pair], illegal);
    block_barrier();
    if (SCALE < 3 && launch.first)
        vif_plain_shrink < SCALE<3 ? SCALE : 2>(launch, pair, x, y, tile);
    if (launch.images_only)
        return;

    const int32_t row = (int32_t)(thread_index() % VMAFGPU__VIF_TILE_HEIGHT);
    const int32_t column = (int32_t)(thread_index() / VMAFGPU__VIF_TILE_HEIGHT) * VIF_RUN;
    int32_t s1[VIF_RUN], s2[VIF_RUN], s12[VIF_RUN];
    vif_plain_horizontal<SCALE>(tile + row * VMAFGPU__VIF_TILE_STRIDE + column, s1, s2, s12);
    const int32_t right = launch.width - x - column;
    const int32_t samples = y + row >= launch.height || right < 0 ? 0 : right < VIF_RUN ? right : VIF_RUN;
    if (samples < VIF_RUN)
#pragma unroll
        for (int i = 0; i < VIF_RUN; i++)
            if (i >= samples)
                s1[i] = s2[i] = s12[i] = 0;
    block_barrier();

    for (uint32_t i = thread_index(); i < VMAFGPU__VIF_LOG_TABLE / 16; i += block_threads())
        ((Words4 *)tile)[i] = load((const Words4 *)launch.log_table + i);
    block_barrier();
    VifSums sums = {};
    vif_statistics<DOUBLES, VIF_RUN>(launch.gain, (const uint8_t *)tile, s1, s2, s12, &sums);
    vif_plain_finish(launch, pair, sums, (uint32_t)samples, (int64_t *)(tile + VMAFGPU__VIF_LOG_TABLE / 4));
}

#define VIF_PLAIN_KERNELS(input, SCALE, BYTES) \
    GPU_KERNEL(vmafgpu_vif_plain_##input##_f64, vmafgpu__vif_launch, VMAFGPU__VIF_PLAIN_THREADS, 2) { \
        vif_plain<SCALE, BYTES, true>(launch); \
    } \
    GPU_KERNEL(vmafgpu_vif_plain_##input##_int, vmafgpu__vif_launch, VMAFGPU__VIF_PLAIN_THREADS, 2) { \
        vif_plain<SCALE, BYTES, false>(launch); \
    }
VIF_PLAIN_KERNELS(0_8, 0, 1)
VIF_PLAIN_KERNELS(0_16, 0, 2)
VIF_PLAIN_KERNELS(1, 1, 2)
VIF_PLAIN_KERNELS(2, 2, 2)
VIF_PLAIN_KERNELS(3, 3, 2)
#undef VIF_PLAIN_KERNELS

/* ---- matrix form ----
 *
 * Filters are computed as products of small byte matrices, which are exact in 32 bits. A tap has two digits of 8 bits,
 * a sample has one or two, and a square has two to four. Digit i of the taps times digit j of the data has the weight
 * 256^(i + j); products of equal weight share an accumulator. The left operand is the matrix of the taps. Its row r
 * contains the taps shifted by r, so a product maps 32 values to 16 results.
 *
 * Each warp processes a strip of 16 rows in steps of 16 columns. Warps do not synchronise with each other. In a step:
 * 1. The warp starts to copy the input of the next step: 32 rows of 16 columns of both images.
 * 2. Vertical pass: k is the row. One product computes the even columns 2 * n, another the odd columns 2 * n + 1. Each
 *    register of operand b in lane 4 * g + t holds four rows of one column. The two products give the lane the results
 *    in columns 4 * t .. 4 * t + 3 of rows g and g + 8.
 * 3. In each of these two rows, one digit of each of the four results, packed into a word, is exactly what the lane has
 *    to supply as operand b of the horizontal product, where k is the column and n the row. No values are exchanged
 *    between lanes. The words are stored in shared memory.
 * 4. Horizontal pass: the 32 values of k are the 16 columns of the previous step and the 16 of this one. A word is used
 *    twice, first as the later half of k, then as the earlier half. The words are not moved for this; instead, the
 *    halves of the tap matrix are swapped in every other step.
 * 5. The statistics of a step are computed after the vertical pass of the next step, so that these two independent
 *    computations can overlap. Statistics computed without doubles need more registers and are not delayed in this
 *    way. Warps execute different parts of the loop at the same time, so the whole loop must fit in the instruction
 *    cache (about 32 KB).
 *
 * The steps of all strips and pairs form one sequence. Warps claim pieces of this sequence, so all warps finish at
 * about the same time, regardless of the picture size. A piece that extends past the right edge of the picture
 * continues in the next 16 rows and is processed as two strips.
 *
 * The image of the next scale has 8 rows of results for the 16 rows of a strip. Rows 0..7 of the left operand contain
 * the high digits of the taps, rows 8..15 the low digits. Digit words are stored in pairs, one of an even step and one
 * of an odd step, so that one read of 8 bytes fetches both registers of operand b. Lanes with t >= 2 swap the words of
 * a pair; otherwise the 4-byte writes of the lanes, which are 8 bytes apart, would cause bank conflicts. The tap
 * matrices take this into account.
 */
enum {
    VIF_PASS = 3 * 512,          /* bytes of the tap matrices of a pass: low digits, high digits, next scale */
    VIF_DIGIT = 256,             /* bytes of a digit of 8 rows by 32 columns: a pair of words per lane */
    VIF_HALF = 16 * VIF_DIGIT,   /* digits of 8 rows: 2 of each mean, 4 of each square */
    VIF_SQUARES = 4 * VIF_DIGIT, /* offset of the digits of the squares */
    VIF_FEW = 24,                /* if there are fewer steps per warp, each warp gets one piece */
    VIF_NEXT = 2 * VIF_HALF      /* offset of the digits for the next scale: 2 of each image, for 8 rows */
};

/* The parts of shared memory that a lane uses. */
struct VifWarp {
    const uint8_t *table; /* logarithms */
    const uint8_t *matrices;
    const uint8_t *rounding; /* rounding terms */
    uint8_t *digits;         /* the lane's pair of words of the first digit */
    uint8_t *input;          /* input of the warp: [step & 1][frame][row] */
};

template <int SOURCES> struct VifStrip {
    const uint8_t *source[SOURCES]; /* where the lane starts to copy if the input is inside the image */
    uint8_t *output;                /* where the lane starts to write the reference of the next scale */
    uint32_t pair;
    int32_t x, y;
    bool rows_inside; /* all rows that are read are inside the image */
    bool at_edge;     /* some results are outside the image or not needed */
};

/* Multiplies the four bytes of a by those of b; out[0] receives the low bytes of the products, out[1] the high bytes.
 * Two 16-bit products are computed in one word. */
GPU_FN void multiply_bytes(uint32_t a, uint32_t b, uint32_t *out) {
    const uint32_t a2 = permute_bytes(a, 0, 0x4442), b2 = permute_bytes(b, 0, 0x4442); /* byte 2, moved to byte 0 */
    const uint32_t a3 = permute_bytes(a, 0, 0x4434), b3 = permute_bytes(b, 0, 0x4434); /* byte 3, moved to byte 1 */
    const uint32_t first = (a & 0xff) * (b & 0xff) + (a & 0xff00) * (b & 0xff00);
    const uint32_t second = a2 * b2 + a3 * b3;
    out[0] = permute_bytes(first, second, 0x6420);
    out[1] = permute_bytes(first, second, 0x7531);
}

/* Computes one register of operand b for the squares or products of a column: the digits of four products, for the four
 * rows k that one register holds. a and b hold one word per row, with two columns of 16 bits each. a_bytes and b_bytes
 * hold the four rows of the column as bytes; they are used instead of a and b if BYTES is 1. */
template <int BYTES, int DIGITS>
GPU_FN void vif_product_digits(const uint32_t (&a)[4], const uint32_t (&b)[4], uint32_t a_bytes, uint32_t b_bytes,
                               int column, uint32_t (&out)[DIGITS]) {
    if constexpr (BYTES == 1) {
        multiply_bytes(a_bytes, b_bytes, out);
    } else {
        uint32_t product[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            product[i] = column ? (a[i] >> 16) * (b[i] >> 16) : (a[i] & 0xffff) * (b[i] & 0xffff);
        transpose_bytes<DIGITS>(product[0], product[1], product[2], product[3], out);
    }
}

/* Returns whether any of eight words, with two samples each, has a bit set that must be 0. */
GPU_FN uint32_t vif_illegal(const vmafgpu__vif_launch &launch, const uint32_t (&words)[2][4]) {
    uint32_t seen = 0;
#pragma unroll
    for (int k = 0; k < 8; k++)
        seen |= words[k / 4][k % 4];
    return (seen & launch.illegal_bits) != 0;
}

/* A contiguous part of the sequence of all steps, claimed by one warp. */
struct VifPiece {
    uint32_t at, end;
};

/* Returns piece `number` of a sequence of `line` steps. If there are few steps, each warp gets one piece. Otherwise the
 * pieces are assigned in rounds. A round has one piece per warp, all of equal length, and covers 3/4 of the remaining
 * steps. So pieces get shorter towards the end, but not so short that the cost of starting them matters. If `number` is
 * past the last piece, returns an empty piece. */
GPU_FN VifPiece vif_piece_of(uint32_t number, uint32_t line, uint32_t warps) {
    const uint32_t share = (line + warps - 1) / warps, shortest = share < VIF_FEW ? share : 4;
    uint32_t from = 0;
    for (;;) {
        const uint32_t most = (line - from) / warps * 3 / 4, length = most < shortest       ? shortest
                                                                      : most < VIF_MOST / 8 ? most
                                                                                            : VIF_MOST / 8;
        if (number < warps || length == shortest) {
            const uint32_t at = line - from > number * length ? from + number * length : line;
            return VifPiece{ at, line - at > length ? at + length : line };
        }
        number -= warps;
        from += warps * length;
    }
}

/* Processes the pieces of a warp: first the piece whose number is the warp's position in the grid, then the pieces that
 * the warp claims. Form::walk() processes steps of 16 columns. */
template <class Form, bool DOUBLES, class Warp>
GPU_FN void vif_claim(const vmafgpu__vif_launch &launch, const Warp &warp) {
    const uint32_t columns = (uint32_t)(launch.width + 15) / 16, rows = (uint32_t)(launch.height + 15) / 16;
    const uint32_t line = columns * rows * (uint32_t)launch.batch.pairs, warps = grid_x() * (block_threads() / LANES);
    uint32_t number = block_x() + grid_x() * uniform(warp_index());
#pragma unroll 1
    for (;;) {
        VifPiece piece = vif_piece_of(number, line, warps);
        if (piece.at >= piece.end)
            return;
#pragma unroll 1
        while (piece.at < piece.end) {
            const uint32_t row = piece.at / columns, pair = row / rows, first = piece.at - row * columns;
            const uint32_t to_end = columns - first, left = piece.end - piece.at, steps = to_end < left ? to_end : left;
            const vmafgpu__vif_launch &fresh = again(launch);
            if (fresh.batch.pair[pair].distorted) {
                const int32_t x = 16 * (int32_t)first, y = 16 * (int32_t)(row - pair * rows);
                Form::template walk<DOUBLES>(fresh, warp, Form::strip_of(fresh, pair, x, y, (int32_t)steps),
                                             (int32_t)steps);
            }
            piece.at += steps;
        }
        if (line <= warps * (VIF_FEW - 1))
            return;
        number = again(lane_index()) == 0 ? warps + atomic_claim(again(launch).claimed) : 0;
        number = uniform(shuffle_word(number, 0));
    }
}

#ifdef GPU_MATRIX

/* The matrix form of one scale, for samples of BYTES bytes, whose squares have DIGITS bytes. HAS_NEXT: whether the
 * images of the next scale are computed. */
template <int SCALE, int BYTES, int DIGITS, bool HAS_NEXT = (SCALE < 3)> struct VifMatrix {
    enum {
        ROW = 16 * BYTES + VMAFGPU__VIF_INPUT_MARGIN,
        FRAME = VMAFGPU__VIF_INPUT_ROWS / 2 * ROW,
        STAGE = 2 * FRAME,
        UNITS = 2 * BYTES, /* number of 8-byte copies per row */
        UNIT_SAMPLES = 8 / BYTES,
        COPY_ROWS = LANES / UNITS, /* rows that a warp copies at a time */
        FIRST_ROW = SCALE ? 4 : 0, /* first of the 32 rows to copy; earlier rows would only be multiplied by 0 */
        END_ROW = 32 - FIRST_ROW,
        WARP_BYTES = VMAFGPU__VIF_DIGITS + 2 * STAGE
    };
    static_assert(VMAFGPU__VIF_LOG_TABLE + 3 * VIF_PASS + VMAFGPU__VIF_ROUNDING == VMAFGPU__VIF_BLOCK_SHARED &&
                      (int)WARP_BYTES ==
                          (BYTES == 1 ? (int)VMAFGPU__VIF_WARP_SHARED_8 : (int)VMAFGPU__VIF_WARP_SHARED_16),
                  "shared memory");
    /* If true, every step computes statistics; those of the first step are computed from zeros. Because there is no
     * branch, the compiler interleaves the statistics with the vertical pass, which is faster if there are few
     * warps. */
    static constexpr bool ALWAYS = SCALE == 0 && BYTES == 2;
    typedef VifStrip<SCALE ? 1 : 2> Strip; /* above scale 0, the offset between the two images is fixed */

    /* Copies the input of a step if this input reaches beyond the image; samples are reflected at the borders. */
    GPU_FN void fill_border(const vmafgpu__vif_launch &launch, const Strip &strip, int32_t column, uint8_t *to) {
        const int32_t width = launch.width;
        const int32_t unit = (int32_t)lane_index() % UNITS, row = (int32_t)lane_index() / UNITS;
        const int32_t x = column + unit * UNIT_SAMPLES;
#pragma unroll 1
        for (int32_t k = FIRST_ROW + row; k < END_ROW; k += COPY_ROWS) {
#pragma unroll
            for (int f = 0; f < 2; f++) {
                const VifImage image = vif_input<SCALE>(launch, strip.pair, f);
                const uint8_t *from = image.data + (int64_t)mirror(strip.y - 8 + k, launch.height) * image.pitch;
                uint8_t *at = to + f * FRAME + k * ROW + unit * 8;
                if (x >= 0 && x + UNIT_SAMPLES <= width) {
                    copy_8(at, from + (int64_t)x * BYTES);
                    continue;
                }
#pragma unroll
                for (int i = 0; i < UNIT_SAMPLES; i++) {
                    const uint32_t sample = load_sample<BYTES>(from, mirror(x + i, width));
                    if (BYTES == 1)
                        at[i] = (uint8_t)sample;
                    else
                        ((uint16_t *)at)[i] = (uint16_t)sample;
                }
            }
        }
    }

    GPU_FN void fill(const vmafgpu__vif_launch &launch, const VifWarp &warp, const Strip &strip, int32_t step) {
        const int32_t column = strip.x - 8 + 16 * step;
        uint8_t *to = warp.input + (step & 1) * STAGE;
        if (strip.rows_inside && column >= 0 && column + 16 <= launch.width) {
            uint8_t *at = to + lane_index() / UNITS * ROW + lane_index() % UNITS * 8;
            const uint8_t *from[2] = { strip.source[0] + 16 * BYTES * step,
                                       (SCALE ? strip.source[0] + (launch.input[1] - launch.input[0])
                                              : strip.source[SCALE == 0]) +
                                           16 * BYTES * step };
#pragma unroll
            for (int k = FIRST_ROW; k < END_ROW; k += COPY_ROWS)
#pragma unroll
                for (int f = 0; f < 2; f++) {
                    copy_8(at + f * FRAME + k * ROW, from[f]);
                    from[f] += (int64_t)COPY_ROWS * vif_input<SCALE>(launch, strip.pair, f).pitch;
                }
        } else {
            fill_border(launch, strip, column, to);
        }
    }

    /* Multiplies both digits of the taps by N digits of the data. sum[j] receives the sum of those products whose
     * weight is 256^j. */
    template <int N>
    GPU_FN void multiply(const uint32_t (&low)[4], const uint32_t (&high)[4], const uint32_t (&b)[N][2],
                         const uint32_t (&rounding)[4], int32_t (&sum)[N + 1][4]) {
#pragma unroll
        for (int j = 0; j <= N; j++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[j][i] = 0;
#pragma unroll
        for (int j = 0; j < N; j++) {
            if (j == 0)
                multiply_add(sum[0], low, b[0][0], b[0][1], rounding);
            else
                multiply_add(sum[j], low, b[j][0], b[j][1]);
            multiply_add(sum[j + 1], high, b[j][0], b[j][1]);
        }
    }

    GPU_FN uint32_t weigh(int32_t a, int32_t b, int32_t c) {
        return (uint32_t)a + ((uint32_t)b << 8) + ((uint32_t)c << 16);
    }

    /* Writes the digits of four columns of a row: elements i and i + 1 of v[0] are columns 4 * t and 4 * t + 2; those
     * of v[1] are columns 4 * t + 1 and 4 * t + 3. */
    template <int N, int M> GPU_FN void put(uint8_t *out, const uint32_t (&v)[2][M], int i) {
        uint32_t digit[N];
        transpose_bytes<N>(v[0][i], v[1][i], v[0][i + 1], v[1][i + 1], digit);
#pragma unroll
        for (int j = 0; j < N; j++)
            store_shared(out + j * VIF_DIGIT, digit[j]);
    }

    /* A lane supplies rows 4 * t .. 4 * t + 3 and 4 * t + 16 .. 4 * t + 19 of columns 2 * g and 2 * g + 1 to the
     * vertical pass. From the product with index `column`, the lane receives columns 4 * t + column and 4 * t + column
     * + 2, in rows g (elements 0 and 1) and g + 8 (elements 2 and 3). */
    struct Samples {
        uint32_t row[2][2][4]; /* [frame][half of k][row]: a word holds two columns */
    };
    struct Bytes {
        uint32_t digit[2][2][BYTES][2]; /* [frame][column][digit][half of k]: four rows each */
    };

    GPU_FN void take(const uint8_t *stage, Samples *samples) {
        const uint32_t g = lane_index() / 4, t = lane_index() % 4;
        const uint8_t *first = stage + 4 * t * ROW + 2 * BYTES * g;
#pragma unroll
        for (int k = 0; k < 16; k++) {
            const uint8_t *at = first + k / 8 * FRAME + (k / 4 % 2 * 16 + k % 4) * ROW;
            samples->row[k / 8][k / 4 % 2][k % 4] = BYTES == 1 ? *(const uint16_t *)at : *(const uint32_t *)at;
        }
    }

    GPU_FN void transpose(const Samples &samples, Bytes *bytes) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int f = k / 2, half = k % 2;
            const uint32_t(&row)[4] = samples.row[f][half];
            uint32_t digit[2 * BYTES];
            transpose_bytes<2 * BYTES>(row[0], row[1], row[2], row[3], digit);
#pragma unroll
            for (int j = 0; j < 2 * BYTES; j++)
                bytes->digit[f][j / BYTES][j % BYTES][half] = digit[j];
        }
    }

    /* Rounding terms of the means and squares, in four registers each, as a matrix product requires. Terms that are not
     * constant are loaded from shared memory, because otherwise the compiler would copy one register four times for
     * each product. */
    struct Rounding {
        uint32_t mean[4], square[4];
    };

    GPU_FN void load_rounding(const VifWarp &warp, Rounding *rounding) {
        if constexpr (SCALE == 0 && BYTES == 2) {
            load_shared(rounding->mean, warp.rounding);
            load_shared(rounding->square, warp.rounding + 16);
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                rounding->mean[i] = SCALE ? 32768 : 128;
                rounding->square[i] = SCALE ? 32768 : 0;
            }
        }
    }

    /* Computes one column of the means of an image. */
    GPU_FN void mean_column(const vmafgpu__vif_launch &launch, const uint32_t (&low)[4], const uint32_t (&high)[4],
                            const Rounding &rounding, const uint32_t (&bytes)[BYTES][2], uint32_t (&mean)[4]) {
        int32_t sum[BYTES + 1][4];
        multiply<BYTES>(low, high, bytes, rounding.mean, sum);
#pragma unroll
        for (int i = 0; i < 4; i++)
            mean[i] = BYTES == 1   ? (uint32_t)sum[1][i] + ((uint32_t)sum[0][i] >> 8)
                      : SCALE == 0 ? weigh(sum[0][i], sum[1][i], sum[BYTES][i]) >> launch.mean_shift
                                   : (uint32_t)sum[BYTES][i] + (weigh(sum[0][i], sum[1][i], 0) >> 16);
    }

    /* Computes one column of the next scale. In each product, elements 0 and 1 come from the high digits of the taps,
     * elements 2 and 3 from the low digits; elements i and i + 2 belong to the same result. */
    GPU_FN void next_column(const vmafgpu__vif_launch &launch, const uint32_t (&next)[4],
                            const uint32_t (&bytes)[BYTES][2], uint32_t (&shrunk)[2]) {
        const uint32_t half = SCALE ? 32768 : BYTES == 1 ? 128 : (uint32_t)launch.mean_half;
        int32_t sum[2][4] = {};
#pragma unroll
        for (int j = 0; j < BYTES; j++)
            multiply_add(sum[j], next, bytes[j][0], bytes[j][1]);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint32_t lowest = (uint32_t)sum[0][i + 2] + half, highest = (uint32_t)sum[1][i];
            const uint32_t middle = (uint32_t)sum[0][i] + (uint32_t)sum[1][i + 2];
            shrunk[i] = BYTES == 1   ? middle + (lowest >> 8)
                        : SCALE == 0 ? (lowest + (middle << 8) + (highest << 16)) >> launch.mean_shift
                                     : highest + ((lowest + (middle << 8)) >> 16);
        }
    }

    /* Computes one column of the squares of an image, or of the product of both images. */
    GPU_FN void square_column(const vmafgpu__vif_launch &launch, const uint32_t (&low)[4], const uint32_t (&high)[4],
                              const Rounding &rounding, const Samples &samples, const Bytes &bytes, int plane,
                              int column, uint32_t (&square)[4]) {
        const int a = plane == 1, b = plane != 0, shift = SCALE ? 16 : BYTES == 1 ? 0 : launch.square_shift;
        uint32_t digit[DIGITS][2];
        int32_t sum[DIGITS + 1][4];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint32_t of_half[DIGITS];
            vif_product_digits<BYTES, DIGITS>(samples.row[a][half], samples.row[b][half],
                                              bytes.digit[a][column][0][half], bytes.digit[b][column][0][half], column,
                                              of_half);
#pragma unroll
            for (int j = 0; j < DIGITS; j++)
                digit[j][half] = of_half[j];
        }
        multiply<DIGITS>(low, high, digit, rounding.square, sum);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (BYTES == 1) {
                square[i] = weigh(sum[0][i], sum[1][i], sum[2][i]);
                continue;
            }
            const uint32_t upper = weigh(sum[2][i], sum[3][i], DIGITS > 3 ? sum[DIGITS][i] : 0);
            square[i] =
                upper * (SCALE ? 1 : (uint32_t)launch.square_factor) + (weigh(sum[0][i], sum[1][i], 0) >> shift);
        }
    }

    /* Runs the vertical pass of a step and stores the digits of the results in shared memory. */
    GPU_FN void vertical(const vmafgpu__vif_launch &launch, const VifWarp &warp, int32_t step, uint32_t *illegal) {
        uint8_t *const out = warp.digits + ((step & 1) ^ (lane_index() % 4 / 2)) * 4;
        uint32_t low[4], high[4], next[4];
        Rounding rounding;
        Samples samples;
        Bytes bytes;
        load_shared(low, warp.matrices);
        load_shared(high, warp.matrices + 512);
        if (HAS_NEXT)
            load_shared(next, warp.matrices + 1024);
        load_rounding(warp, &rounding);
        take(warp.input + (step & 1) * STAGE, &samples);
        transpose(samples, &bytes);
        if (SCALE == 0 && BYTES == 2)
            *illegal |= vif_illegal(launch, samples.row[0]) | vif_illegal(launch, samples.row[1]) << 1;
#pragma unroll
        for (int f = 0; f < 2; f++) {
            uint32_t mean[2][4], shrunk[2][2];
#pragma unroll
            for (int column = 0; column < 2; column++) {
                mean_column(launch, low, high, rounding, bytes.digit[f][column], mean[column]);
                if (HAS_NEXT)
                    next_column(launch, next, bytes.digit[f][column], shrunk[column]);
            }
            put<2>(out + 2 * f * VIF_DIGIT, mean, 0);
            put<2>(out + VIF_HALF + 2 * f * VIF_DIGIT, mean, 2);
            if (HAS_NEXT)
                put<2>(out + VIF_NEXT + 2 * f * VIF_DIGIT, shrunk, 0);
        }
        if (BYTES == 2) /* loads the samples again instead of keeping them in registers */
            take(warp.input + (step & 1) * STAGE, &samples);
#pragma unroll
        for (int plane = 0; plane < 3; plane++) {
            uint32_t square[2][4];
#pragma unroll
            for (int column = 0; column < 2; column++)
                square_column(launch, low, high, rounding, samples, bytes, plane, column, square[column]);
            put<4>(out + VIF_SQUARES + 4 * plane * VIF_DIGIT, square, 0);
            put<4>(out + VIF_HALF + VIF_SQUARES + 4 * plane * VIF_DIGIT, square, 2);
        }
    }

    /* Computes two samples of the next scale of each image: column g of the 8 columns that a step yields, and rows
     * 2 * t and 2 * t + 1 of the strip. */
    GPU_FN void shrink(const VifWarp &warp, int32_t step, uint32_t (&sample)[2][2]) {
        uint32_t next[4];
        load_shared(next, warp.matrices + (step & 1 ? 1 : 2) * VIF_PASS + 1024);
#pragma unroll
        for (int f = 0; f < 2; f++) {
            int32_t part[2][4] = {};
#pragma unroll
            for (int j = 0; j < 2; j++) {
                uint32_t b[2];
                load_shared(b, warp.digits + VIF_NEXT + (2 * f + j) * VIF_DIGIT);
                multiply_add(part[j], next, b[0], b[1]);
            }
#pragma unroll
            for (int i = 0; i < 2; i++)
                sample[f][i] =
                    (uint32_t)part[1][i] + ((weigh(part[0][i + 2], part[0][i] + part[1][i + 2], 0) + 32768) >> 16);
        }
    }

    GPU_FN void write(const vmafgpu__vif_launch &launch, const Strip &strip, int32_t step,
                      const uint32_t (&sample)[2][2]) {
        const int32_t g = (int32_t)lane_index() / 4, t = (int32_t)lane_index() % 4;
        const int32_t x = strip.x / 2 + 8 * (step - 1) + g, y = strip.y / 2 + 2 * t;
#pragma unroll
        for (int f = 0; f < 2; f++) {
            uint8_t *out = strip.output + (f ? launch.output[1] - launch.output[0] : 0) + 16 * (step - 1);
            if (!strip.at_edge) {
                store((uint16_t *)out, (uint16_t)sample[f][0]);
                store((uint16_t *)(out + launch.output_pitch), (uint16_t)sample[f][1]);
            } else if (launch.first && x < launch.width / 2) {
                if (y < launch.height / 2)
                    store((uint16_t *)out, (uint16_t)sample[f][0]);
                if (y + 1 < launch.height / 2)
                    store((uint16_t *)(out + launch.output_pitch), (uint16_t)sample[f][1]);
            }
        }
    }

    /* The first index selects s1, s2 or s12. The second index selects a sample: 4 * half + 2 * i + j is the sample in
     * column g + 8 * i of the previous 16 columns and in row 2 * t + j of the half. */
    typedef int32_t Variances[3][8];

    /* Computes four samples from the digits of a half. Stores their means in `mean`, and their variances in `variance`
     * from index `first` on. */
    GPU_FN void horizontal_half(const uint8_t *digits, const uint32_t (&low)[4], const uint32_t (&high)[4], int first,
                                uint32_t (&mean)[2][4], Variances &variance) {
        uint32_t b[2];
#pragma unroll
        for (int f = 0; f < 2; f++) {
            int32_t sum[3][4] = {};
#pragma unroll
            for (int j = 0; j < 2; j++) {
                load_shared(b, digits + (2 * f + j) * VIF_DIGIT);
                multiply_add(sum[j], low, b[0], b[1]);
                multiply_add(sum[j + 1], high, b[0], b[1]);
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
                mean[f][i] = weigh(sum[0][i], sum[1][i], sum[2][i]);
        }
#pragma unroll
        for (int plane = 0; plane < 3; plane++) {
            const uint32_t rounding[4] = { 32768, 32768, 32768, 32768 };
            int32_t sum[5][4] = {};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                load_shared(b, digits + VIF_SQUARES + (4 * plane + j) * VIF_DIGIT);
                if (j == 0)
                    multiply_add(sum[0], low, b[0], b[1], rounding);
                else
                    multiply_add(sum[j], low, b[0], b[1]);
                multiply_add(sum[j + 1], high, b[0], b[1]);
            }
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint32_t square = weigh(sum[2][i], sum[3][i], sum[4][i]) + (weigh(sum[0][i], sum[1][i], 0) >> 16);
                const int32_t v =
                    (int32_t)(square - vmafgpu__vif_mean_product(mean[plane == 1][i], mean[plane != 0][i]));
                variance[plane][first + i] = plane == 1 && v < 0 ? 0 : v;
            }
        }
    }

    GPU_FN void horizontal(const vmafgpu__vif_launch &launch, const VifWarp &warp, const Strip &strip, int32_t step,
                           Variances &variance) {
        const int32_t g = (int32_t)lane_index() / 4, t = (int32_t)lane_index() % 4;
        const uint8_t *matrices = warp.matrices + (step & 1 ? 1 : 2) * VIF_PASS;
        uint32_t low[4], high[4];
        load_shared(low, matrices);
        load_shared(high, matrices + 512);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            uint32_t mean[2][4];
            horizontal_half(warp.digits + half * VIF_HALF, low, high, 4 * half, mean, variance);
        }
        if (strip.at_edge)
#pragma unroll
            for (int i = 0; i < 8; i++)
                if (strip.x + 16 * (step - 1) + g + i / 2 % 2 * 8 >= launch.width ||
                    strip.y + i / 4 * 8 + 2 * t + i % 2 >= launch.height)
                    variance[0][i] = variance[1][i] = variance[2][i] = 0;
    }

    /* If HAS_LOGS is false, shared memory does not contain the table of logarithms. */
    template <bool HAS_LOGS> GPU_FN VifWarp prepare(const vmafgpu__vif_launch &launch) {
        uint8_t *shared = shared_memory(), *matrices = shared + (HAS_LOGS ? (int)VMAFGPU__VIF_LOG_TABLE : 0);
        uint8_t *of_block = matrices + 3 * VIF_PASS;
        uint8_t *of_warp = of_block + VMAFGPU__VIF_ROUNDING + warp_index() * WARP_BYTES;
        const uint32_t g = lane_index() / 4, t = lane_index() % 4;
        const uint32_t slot = t < 2 ? 2 * g + t : 16 + ((2 * g + t % 2 + 8) & 15);
        for (uint32_t i = thread_index(); HAS_LOGS && i < VMAFGPU__VIF_LOG_TABLE / 16; i += block_threads())
            copy_16(shared + 16 * i, (const Words4 *)launch.log_table + i);
        for (uint32_t i = thread_index(); i < 3 * VIF_PASS / 16; i += block_threads())
            copy_16(matrices + 16 * i, (const Words4 *)launch.fragments + i);
        copy_commit();
        if (thread_index() < 8)
            ((int32_t *)of_block)[thread_index()] = thread_index() < 4 ? launch.mean_half : launch.square_half;
        copy_wait<0>();
        block_barrier();
        return VifWarp{ shared, matrices + 16 * lane_index(), of_block, of_warp + 8 * slot,
                        of_warp + VMAFGPU__VIF_DIGITS };
    }

    GPU_FN Strip strip_of(const vmafgpu__vif_launch &launch, uint32_t pair, int32_t x, int32_t y, int32_t steps) {
        const int32_t lane = (int32_t)lane_index();
        Strip strip;
        strip.pair = pair;
        strip.x = x;
        strip.y = y;
        strip.rows_inside = y - 8 + FIRST_ROW >= 0 && y - 8 + END_ROW <= launch.height;
        strip.at_edge = x + 16 * steps > launch.width || y + 16 > launch.height || !launch.first;
#pragma unroll
        for (int f = 0; f < (SCALE ? 1 : 2); f++) {
            const VifImage image = vif_input<SCALE>(launch, pair, f);
            strip.source[f] = image.data + (int64_t)(y - 8 + FIRST_ROW + lane / UNITS) * image.pitch +
                              (int64_t)(x - 8) * BYTES + lane % UNITS * 8;
        }
        strip.output = vif_output(launch, pair, 0) + (int64_t)(y / 2 + lane % 4 * 2) * launch.output_pitch +
                       (x / 2 + lane / 4) * 2;
        return strip;
    }

    template <bool DOUBLES> GPU_FN void run(const vmafgpu__vif_launch &launch) {
        vif_claim<VifMatrix<SCALE, BYTES, DIGITS>, DOUBLES>(launch, prepare<true>(launch));
    }

    /* Adds the statistics of the samples in two halves, which takes less code but more time than adding them all at
     * once. Overwrites the variances. */
    template <bool DOUBLES>
    GPU_FN void halves(const vmafgpu__vif_launch &launch, const VifWarp &warp, Variances &variance, VifSums *sums) {
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            int32_t part[3][4];
#pragma unroll
            for (int k = 0; k < 12; k++) {
                part[k / 4][k % 4] = variance[k / 4][k % 4];
                variance[k / 4][k % 4] = variance[k / 4][4 + k % 4];
            }
            vif_statistics<DOUBLES, 4>(launch.gain, warp.table, part[0], part[1], part[2], sums);
        }
    }

    template <bool DOUBLES>
    GPU_FN void walk(const vmafgpu__vif_launch &launch, const VifWarp &warp, const Strip &strip, int32_t steps) {
        VifSums sums = {};
        Variances variance = {};
        uint32_t illegal = 0;
        fill(launch, warp, strip, 0);
        copy_commit();
#pragma unroll 1
        for (int32_t step = 0; step <= steps; step++) {
            if (step < steps)
                fill(launch, warp, strip, step + 1);
            copy_commit();
            copy_wait<1>();
            warp_barrier();
            vertical(launch, warp, step, &illegal);
            if constexpr (DOUBLES)
                if (ALWAYS || (step > 1 && !launch.images_only))
                    vif_statistics<DOUBLES, 8>(launch.gain, warp.table, variance[0], variance[1], variance[2], &sums);
            if (step) {
                uint32_t sample[2][2];
                if (HAS_NEXT)
                    shrink(warp, step, sample);
                if (!launch.images_only)
                    horizontal(launch, warp, strip, step, variance);
                if (!DOUBLES && !launch.images_only)
                    halves<DOUBLES>(launch, warp, variance, &sums);
                if (HAS_NEXT)
                    write(launch, strip, step, sample);
            }
            warp_barrier();
        }
        if (!launch.images_only) {
            if (DOUBLES)
                halves<DOUBLES>(launch, warp, variance, &sums);
            finish(launch, strip, steps, sums);
        }
        if (illegal && launch.illegal)
            atomic_or(&launch.illegal[strip.pair], illegal);
    }

    GPU_FN void finish(const vmafgpu__vif_launch &launch, const Strip &strip, int32_t steps, const VifSums &sums) {
        const int32_t right = launch.width - strip.x, below = launch.height - strip.y;
        const int32_t samples = (right < 16 * steps ? right : 16 * steps) * (below < 16 ? below : 16);
        const int64_t total = vif_warp_total(sums, (uint32_t)samples);
        if (lane_index() < 4)
            vif_deliver(launch, strip.pair, lane_index(), total);
    }
};

#define VIF_MATRIX_KERNELS(input, SCALE, BYTES, DIGITS, WARPS) \
    GPU_KERNEL(vmafgpu_vif_matrix_##input##_f64, vmafgpu__vif_launch, WARPS *LANES, 1) { \
        VifMatrix<SCALE, BYTES, DIGITS>::run<true>(launch); \
    } \
    GPU_KERNEL(vmafgpu_vif_matrix_##input##_int, vmafgpu__vif_launch, WARPS *LANES, 1) { \
        VifMatrix<SCALE, BYTES, DIGITS>::run<false>(launch); \
    }
/* For 8-bit samples, this number of warps applies to PTX only. For most targets, the precompiled machine code uses more
 * warps; see fit() in test/codegen/compilers.sh. */
VIF_MATRIX_KERNELS(0_8, 0, 1, 2, VMAFGPU__VIF_WARPS_PTX)
VIF_MATRIX_KERNELS(0_12, 0, 2, 3, VMAFGPU__VIF_WARPS_0_12)
VIF_MATRIX_KERNELS(0_16, 0, 2, 4, VMAFGPU__VIF_WARPS_0_16)
VIF_MATRIX_KERNELS(1, 1, 2, 4, VMAFGPU__VIF_WARPS_1)
VIF_MATRIX_KERNELS(2, 2, 2, 4, VMAFGPU__VIF_WARPS_2)
VIF_MATRIX_KERNELS(3, 3, 2, 4, VMAFGPU__VIF_WARPS_3)
#undef VIF_MATRIX_KERNELS

#endif /* GPU_MATRIX */

#ifdef GPU_MATRIX_16

/* ---- matrix form with 16 x 16 products ----
 *
 * This form computes the same products as the other matrix form, but each lane holds more of the results. Lane 16 * g +
 * i holds words of row i of the left operand and of column i of the right operand. In the vertical pass, the samples
 * are the left operand and the taps are the right operand, so a row of the product is a column of the picture. The same
 * lane receives RESULTS adjacent columns of picture row i. The digits of these results make up half of the words that
 * the lane has to supply for the right operand of the horizontal product: k = 0..15 are the digits of the previous 16
 * columns, and k = 16..31 are those of the current 16 columns. The words stay in registers. No values are exchanged
 * between lanes, and shared memory holds only tables.
 *
 * If the matrix instruction takes signed bytes, 128 is subtracted from every byte of the data. To make up for this, 128
 * times the sum of the taps, a constant, is added to the sums. The digits of the taps are then signed too; if a tap is
 * too large for two signed digits, the rest of its high digit is multiplied separately.
 *
 * The vertical pass for the next scale produces 16 rows: rows 0..7 belong to the reference, rows 8..15 to the distorted
 * image. In the horizontal pass for the next scale, each result needs two products: one with the high digits of the
 * taps and one with the low digits. Both end up in the same lane. */
template <int SCALE, int BYTES, int DIGITS> struct VifMatrix16 {
    enum {
        RESULTS = 256 / LANES,
        WORDS = 128 / LANES,     /* words of an operand per lane */
        BLOCK_WORDS = WORDS / 2, /* words that hold 16 columns or rows */
        FLIP = MATRIX_IS_SIGNED ? 0x80 : 0
    };
    static constexpr bool HAS_NEXT = SCALE < 3;
    static constexpr bool HAS_REST = MATRIX_IS_SIGNED && SCALE == 3, NEXT_HAS_REST = MATRIX_IS_SIGNED && SCALE == 2;

    struct Taps {
        uint32_t low[WORDS], high[WORDS], rest[WORDS];
    };
    struct Warp {
        const uint8_t *table; /* logarithms */
        const uint8_t *next;  /* the lane's words of the matrices of the next scale */
        Taps taps;
    };
    struct Strip {
        uint32_t pair;
        int32_t x, y;
        int32_t right, below;       /* number of columns and rows that are summed */
        bool rows_inside;           /* all rows that are read are inside the image */
        const uint8_t *source[2];   /* the row with the lowest address, at column x; equal in all lanes */
        int32_t pitch[2], above[2]; /* above: offset of the first row from source, never negative */
    };
    /* The samples that a lane reads in a step of 16 columns: RESULTS rows of one column for k < 16, and RESULTS rows of
     * this column for k >= 16. */
    struct Samples {
        uint32_t row[2][WORDS][4]; /* [frame][word][row of the word] */
    };
    /* Digits of 16 columns. */
    struct Digits {
        uint32_t mean[2][2][BLOCK_WORDS], square[3][4][BLOCK_WORDS], next[2][BLOCK_WORDS];
    };
    typedef int32_t Variances[3][RESULTS];

    GPU_FN void load_taps(const vmafgpu__vif_launch &launch, int which, uint32_t (&words)[WORDS]) {
#pragma unroll
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = load((const uint32_t *)launch.fragments + 128 * which + lane_index() * WORDS + i);
    }

    GPU_FN Warp prepare(const vmafgpu__vif_launch &launch) {
        const Words4 *const next = (const Words4 *)launch.fragments + 32 * VMAFGPU__VIF_16_DOWN;
        uint8_t *shared = shared_memory();
        Warp warp;
        warp.table = shared;
        warp.next = shared + VMAFGPU__VIF_LOG_TABLE + lane_index() * WORDS * 4;
        for (uint32_t i = thread_index(); i < VMAFGPU__VIF_LOG_TABLE / 16; i += block_threads())
            ((Words4 *)shared)[i] = load((const Words4 *)launch.log_table + i);
        for (uint32_t i = thread_index(); HAS_NEXT && i < 32 * (VMAFGPU__VIF_16_MATRICES - VMAFGPU__VIF_16_DOWN);
             i += block_threads())
            ((Words4 *)(shared + VMAFGPU__VIF_LOG_TABLE))[i] = load(next + i);
        load_taps(launch, VMAFGPU__VIF_16_LOW, warp.taps.low);
        load_taps(launch, VMAFGPU__VIF_16_HIGH, warp.taps.high);
        load_taps(launch, VMAFGPU__VIF_16_REST, warp.taps.rest);
        block_barrier();
        return warp;
    }

    GPU_FN void load_next(const Warp &warp, int which, uint32_t (&words)[WORDS]) {
        load_shared(words, warp.next + 512 * (which - VMAFGPU__VIF_16_DOWN));
    }

    GPU_FN Strip strip_of(const vmafgpu__vif_launch &launch, uint32_t pair, int32_t x, int32_t y, int32_t steps) {
        Strip strip;
        strip.pair = pair;
        strip.x = x;
        strip.y = y;
        strip.right = launch.width - x < 16 * steps ? launch.width - x : 16 * steps;
        strip.below = launch.height - y < 16 ? launch.height - y : 16;
        strip.rows_inside = y - 8 >= 0 && y + 24 <= launch.height;
#pragma unroll
        for (int f = 0; f < 2; f++) {
            const VifImage image = vif_input<SCALE>(launch, pair, f);
            strip.pitch[f] = image.pitch;
            strip.above[f] = image.pitch < 0 ? -31 * image.pitch : 0;
            strip.source[f] = image.data + (int64_t)(y - 8) * image.pitch - strip.above[f] + (int64_t)x * BYTES;
        }
        return strip;
    }

    /* Loads the samples of block n, which reaches beyond the image; samples are reflected at the borders. */
    GPU_FN void take_border(const vmafgpu__vif_launch &launch, const Strip &strip, int32_t n, Samples *samples) {
        const int32_t x = strip.x - 8 + 16 * n + (int32_t)lane_index() % 16, base = strip.y < 24 ? 0 : strip.y - 24;
        const int32_t y = strip.y - 8 + (int32_t)lane_index() / 16 * RESULTS;
        const int32_t column = mirror(x, launch.width) * BYTES;
#pragma unroll
        for (int f = 0; f < 2; f++) {
            const VifImage image = vif_input<SCALE>(launch, strip.pair, f);
            const uint8_t *data = image.data + (int64_t)base * image.pitch;
#pragma unroll
            for (int k = 0; k < 4 * WORDS; k++) {
                const int32_t row = mirror(y + k + k / RESULTS * (16 - RESULTS), launch.height) - base;
                samples->row[f][k / 4][k % 4] = load_sample<BYTES>(data + row * image.pitch + column, 0);
            }
        }
        in_order(); /* keeps these loads from being merged with those of take(), which would need more registers */
    }

    /* Loads the samples of block n (16 columns). The block starts 8 columns to the left of column 16 * n of the
     * strip. */
    GPU_FN void take(const vmafgpu__vif_launch &launch, const Strip &strip, int32_t n, Samples *samples) {
        const int32_t first = 16 * n - 8;
        if (!strip.rows_inside || strip.x + first < 0 || strip.x + first + 16 > launch.width) {
            take_border(again(launch), strip, n, samples);
            return;
        }
#pragma unroll
        for (int f = 0; f < 2; f++) {
            const int32_t pitch = strip.pitch[f];
            uint32_t at = (uint32_t)(strip.above[f] + (int32_t)lane_index() / 16 * RESULTS * pitch +
                                     (int32_t)lane_index() % 16 * BYTES);
#pragma unroll
            for (int k = 0; k < 4 * WORDS; k++) {
                samples->row[f][k / 4][k % 4] = load_sample<BYTES>(strip.source[f] + first * BYTES + at, 0);
                at += (uint32_t)pitch * (k + 1 == RESULTS ? 17 - RESULTS : 1);
            }
        }
    }

    GPU_FN uint32_t weigh(int32_t a, int32_t b, int32_t c) {
        return (uint32_t)a + ((uint32_t)b << 8) + ((uint32_t)c << 16);
    }

    /* Sets the initial values of the sums of N digits (sum[j] has the weight 256^j): the rounding term, and the
     * constant that makes up for signed bytes. */
    template <int N> GPU_FN void start(int32_t rounding, MatrixSums (&sum)[N + 1]) {
        constexpr uint32_t bias = !MATRIX_IS_SIGNED ? 0 : N == 1 ? 0x8000 : 0x80808080u >> (4 - N) * 8;
#pragma unroll
        for (int j = 0; j <= N; j++)
            sum[j] = matrix_sums(j == 0 ? rounding : j == (N < 2 ? N : 2) ? (int32_t)bias : 0);
    }

    /* vertical() and horizontal() multiply the taps by N digits of data and add the products to the sums. horizontal()
     * receives the words of the previous and of the current 16 columns, which join() combines into one operand. */
    template <int N>
    GPU_FN void vertical(const Taps &taps, bool has_rest, const uint32_t (&digit)[N][WORDS], MatrixSums (&sum)[N + 1]) {
#pragma unroll
        for (int j = 0; j < N; j++) {
            sum[j] = multiply_add_16(digit[j], taps.low, sum[j]);
            sum[j + 1] = multiply_add_16(digit[j], taps.high, sum[j + 1]);
            if (has_rest)
                sum[j + 1] = multiply_add_16(digit[j], taps.rest, sum[j + 1]);
        }
    }
    GPU_FN void join(const uint32_t (&before)[BLOCK_WORDS], const uint32_t (&now)[BLOCK_WORDS],
                     uint32_t (&words)[WORDS]) {
#pragma unroll
        for (int i = 0; i < WORDS; i++)
            words[i] = i < BLOCK_WORDS ? before[i % BLOCK_WORDS] : now[i % BLOCK_WORDS];
    }
    template <int N>
    GPU_FN void horizontal(const Taps &taps, const uint32_t (&before)[N][BLOCK_WORDS],
                           const uint32_t (&now)[N][BLOCK_WORDS], MatrixSums (&sum)[N + 1]) {
#pragma unroll
        for (int j = 0; j < N; j++) {
            uint32_t words[WORDS];
            join(before[j], now[j], words);
            sum[j] = multiply_add_16(taps.low, words, sum[j]);
            sum[j + 1] = multiply_add_16(taps.high, words, sum[j + 1]);
            if (HAS_REST)
                sum[j + 1] = multiply_add_16(taps.rest, words, sum[j + 1]);
        }
    }

    /* Splits results into digits. A word contains one digit of each of four adjacent results. */
    template <int N> GPU_FN void put(const uint32_t (&v)[RESULTS], uint32_t (&digits)[N][BLOCK_WORDS]) {
#pragma unroll
        for (int i = 0; i < BLOCK_WORDS; i++) {
            uint32_t digit[N];
            transpose_bytes<N>(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3], digit);
#pragma unroll
            for (int j = 0; j < N; j++)
                digits[j][i] = digit[j] ^ FLIP * 0x1010101u;
        }
    }

    /* Combines the sums of the vertical pass into rounded means. */
    GPU_FN void means_of(const vmafgpu__vif_launch &launch, const MatrixSums (&sum)[BYTES + 1],
                         uint32_t (&mean)[RESULTS]) {
#pragma unroll
        for (int i = 0; i < RESULTS; i++)
            mean[i] = BYTES == 1   ? (uint32_t)(sum[1][i] + (sum[0][i] >> 8))
                      : SCALE == 0 ? weigh(sum[0][i], sum[1][i], sum[BYTES][i]) >> launch.mean_shift
                                   : (uint32_t)(sum[BYTES][i] + ((int32_t)weigh(sum[0][i], sum[1][i], 0) >> 16));
    }

    GPU_FN void squares(const vmafgpu__vif_launch &launch, const Taps &taps, const uint32_t (&a)[WORDS][4],
                        const uint32_t (&b)[WORDS][4], uint32_t (&square)[RESULTS]) {
        const int shift = SCALE ? 16 : BYTES == 1 ? 0 : launch.square_shift;
        const int32_t half = SCALE ? 32768 : BYTES == 1 ? 0 : launch.square_half;
        uint32_t digits[DIGITS][WORDS];
        MatrixSums sum[DIGITS + 1];
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            uint32_t product[4], digit[DIGITS];
#pragma unroll
            for (int i = 0; i < 4; i++)
                product[i] = a[w][i] * b[w][i];
            transpose_bytes<DIGITS>(product[0], product[1], product[2], product[3], digit);
#pragma unroll
            for (int j = 0; j < DIGITS; j++)
                digits[j][w] = digit[j] ^ FLIP * 0x1010101u;
        }
        start<DIGITS>(half, sum);
        vertical<DIGITS>(taps, HAS_REST, digits, sum);
#pragma unroll
        for (int i = 0; i < RESULTS; i++) {
            if (BYTES == 1) {
                square[i] = weigh(sum[0][i], sum[1][i], sum[2][i]);
                continue;
            }
            const uint32_t upper = weigh(sum[2][i], sum[DIGITS > 2 ? 3 : 2][i], DIGITS > 3 ? sum[DIGITS][i] : 0);
            square[i] = upper * (SCALE ? 1 : (uint32_t)launch.square_factor) +
                        (uint32_t)((int32_t)weigh(sum[0][i], sum[1][i], 0) >> shift);
        }
    }

    /* Computes [s1, s2, s12] of the 16 columns that a block completes. `digits` contains the digits of the previous
     * block before the call, and those of this block after it. */
    GPU_FN void filter(const vmafgpu__vif_launch &launch, const Warp &warp, const Samples &samples,
                       const uint32_t (&bytes)[2][BYTES][WORDS], Digits &digits, Variances &variance) {
        const int32_t half = SCALE ? 32768 : BYTES == 1 ? 128 : launch.mean_half;
        uint32_t mean[2][RESULTS], v[RESULTS];
#pragma unroll
        for (int f = 0; f < 2; f++) {
            MatrixSums down[BYTES + 1], sum[3];
            uint32_t fresh[2][BLOCK_WORDS];
            in_order();
            start<BYTES>(half, down);
            vertical<BYTES>(warp.taps, HAS_REST, bytes[f], down);
            means_of(launch, down, v);
            put<2>(v, fresh);
            start<2>(0, sum);
            horizontal<2>(warp.taps, digits.mean[f], fresh, sum);
#pragma unroll
            for (int i = 0; i < RESULTS; i++)
                mean[f][i] = weigh(sum[0][i], sum[1][i], sum[2][i]);
#pragma unroll
            for (int i = 0; i < 2 * BLOCK_WORDS; i++)
                digits.mean[f][i / BLOCK_WORDS][i % BLOCK_WORDS] = fresh[i / BLOCK_WORDS][i % BLOCK_WORDS];
        }
#pragma unroll
        for (int plane = 0; plane < 3; plane++) {
            MatrixSums sum[5];
            uint32_t fresh[4][BLOCK_WORDS];
            in_order();
            squares(launch, warp.taps, samples.row[plane == 1], samples.row[plane != 0], v);
            put<4>(v, fresh);
            start<4>(32768, sum);
            horizontal<4>(warp.taps, digits.square[plane], fresh, sum);
#pragma unroll
            for (int i = 0; i < RESULTS; i++) {
                const uint32_t square =
                    weigh(sum[2][i], sum[3][i], sum[4][i]) + (uint32_t)((int32_t)weigh(sum[0][i], sum[1][i], 0) >> 16);
                const int32_t s =
                    (int32_t)(square - vmafgpu__vif_mean_product(mean[plane == 1][i], mean[plane != 0][i]));
                variance[plane][i] = plane == 1 && s < 0 ? 0 : s;
            }
#pragma unroll
            for (int i = 0; i < 4 * BLOCK_WORDS; i++)
                digits.square[plane][i / BLOCK_WORDS][i % BLOCK_WORDS] = fresh[i / BLOCK_WORDS][i % BLOCK_WORDS];
        }
    }

    /* Computes the samples of the next scale for the 16 columns that block n completes. */
    GPU_FN void shrink(const vmafgpu__vif_launch &launch, const Warp &warp, const Strip &strip,
                       const uint32_t (&bytes)[2][BYTES][WORDS], int32_t n, Digits &digits) {
        constexpr uint32_t bias = MATRIX_IS_SIGNED ? 0x8080 : 0;
        const int32_t half = SCALE ? 32768 : BYTES == 1 ? 128 : launch.mean_half;
        MatrixSums down[BYTES + 1], part[2] = { matrix_sums(0), matrix_sums(0) };
        uint32_t v[RESULTS], fresh[2][BLOCK_WORDS], across[WORDS], across_rest[WORDS];
        start<BYTES>(half, down);
        load_next(warp, VMAFGPU__VIF_16_ACROSS, across);
        if (NEXT_HAS_REST)
            load_next(warp, VMAFGPU__VIF_16_ACROSS_REST, across_rest);
#pragma unroll
        for (int f = 0; f < 2; f++) {
            Taps taps;
            load_next(warp, VMAFGPU__VIF_16_DOWN + 3 * f, taps.low);
            load_next(warp, VMAFGPU__VIF_16_DOWN + 3 * f + 1, taps.high);
            if (NEXT_HAS_REST)
                load_next(warp, VMAFGPU__VIF_16_DOWN + 3 * f + 2, taps.rest);
            vertical<BYTES>(taps, NEXT_HAS_REST, bytes[f], down);
        }
        means_of(launch, down, v);
        put<2>(v, fresh);
#pragma unroll
        for (int j = 0; j < 2; j++) {
            uint32_t words[WORDS];
            join(digits.next[j], fresh[j], words);
            part[j] = multiply_add_16(across, words, part[j]);
            if (NEXT_HAS_REST)
                part[j] = multiply_add_16(across_rest, words, part[j]);
#pragma unroll
            for (int i = 0; i < BLOCK_WORDS; i++)
                digits.next[j][i] = fresh[j][i];
        }
#pragma unroll
        for (int i = 0; i < RESULTS / 2; i++)
            v[i] =
                again((uint32_t)part[1][i] + bias + /* so that the products are not moved into the branch in write() */
                      (uint32_t)(((int32_t)weigh(part[0][i + RESULTS / 2], part[0][i] + part[1][i + RESULTS / 2], 0) +
                                  32768) >>
                                 16));
        write(again(launch), strip, 16 * (n - 1), v);
    }

    GPU_FN void write(const vmafgpu__vif_launch &launch, const Strip &strip, int32_t block,
                      const uint32_t (&v)[RESULTS]) {
        const int32_t frame = (int32_t)lane_index() / 8 % 2, row = strip.y / 2 + (int32_t)lane_index() % 8;
        const int32_t column = (strip.x + block) / 2 + (int32_t)lane_index() / 16 * (RESULTS / 2);
        if (block < 0 || block >= strip.right || column >= launch.width / 2 || row >= launch.height / 2)
            return;
        uint32_t *out =
            (uint32_t *)(vif_output(launch, strip.pair, 0) + (frame ? launch.output[1] - launch.output[0] : 0) +
                         (int64_t)row * launch.output_pitch + 2 * column);
#pragma unroll
        for (int i = 0; i < RESULTS / 4; i++) /* rows are padded, so this stays inside the row */
            store(out + i, v[2 * i] | v[2 * i + 1] << 16);
    }

    template <bool DOUBLES>
    GPU_FN void walk(const vmafgpu__vif_launch &argument, const Warp &warp, const Strip &strip, int32_t steps) {
        VifSums sums = {};
        Digits digits = {};
        Samples samples;
        uint32_t seen[2] = { 0, 0 };
        take(argument, strip, 0, &samples);
#pragma unroll 1
        for (int32_t step = 0; step <= steps; step++) {
            const vmafgpu__vif_launch &launch = again(argument);
            uint32_t bytes[2][BYTES][WORDS];
            Variances variance = {};
#pragma unroll
            for (int k = 0; k < 2 * WORDS; k++) {
                const uint32_t(&row)[4] = samples.row[k / WORDS][k % WORDS];
                uint32_t digit[BYTES];
                transpose_bytes<BYTES>(row[0], row[1], row[2], row[3], digit);
                seen[k / WORDS] |= row[0] | row[1] | row[2] | row[3];
#pragma unroll
                for (int j = 0; j < BYTES; j++)
                    bytes[k / WORDS][j][k % WORDS] = digit[j] ^ FLIP * 0x1010101u;
            }
            if (HAS_NEXT && launch.first)
                shrink(launch, warp, strip, bytes, step, digits);
            if (!launch.images_only)
                filter(launch, warp, samples, bytes, digits, variance);
            take(launch, strip, step + 1, &samples); /* these loads complete while the statistics are computed */
            if (launch.images_only)
                continue;
            const int32_t column = 16 * (step - 1);
            if (column < 0 || column + 16 > strip.right || strip.below < 16)
#pragma unroll
                for (int i = 0; i < RESULTS; i++) {
                    const int32_t x = column + (int32_t)lane_index() / 16 * RESULTS + i;
                    if (x < 0 || x >= strip.right || (int32_t)lane_index() % 16 >= strip.below)
                        variance[0][i] = variance[1][i] = variance[2][i] = 0;
                }
            vif_statistics<DOUBLES, RESULTS>(launch.gain, warp.table, variance[0], variance[1], variance[2], &sums);
        }
        finish(again(argument), strip, sums, seen);
    }

    GPU_FN void finish(const vmafgpu__vif_launch &launch, const Strip &strip, const VifSums &sums,
                       const uint32_t (&seen)[2]) {
        if (!launch.images_only) {
            const int64_t total = vif_warp_total(sums, (uint32_t)(strip.right * strip.below));
            const uint32_t lane = again(lane_index());
            if (lane < 4)
                vif_deliver(launch, strip.pair, lane, total);
        }
        const uint32_t illegal = ((seen[0] & launch.illegal_bits) != 0) | ((seen[1] & launch.illegal_bits) != 0) * 2u;
        if (SCALE == 0 && BYTES == 2 && illegal && launch.illegal)
            atomic_or(&launch.illegal[strip.pair], illegal);
    }
};

enum { VIF_16_THREADS = LANES * (LANES == 64 ? VMAFGPU__VIF_WARPS_16_64 : VMAFGPU__VIF_WARPS_16_32) };

#define VIF_MATRIX_16_KERNELS(input, SCALE, BYTES, DIGITS) \
    GPU_KERNEL(vmafgpu_vif_matrix16_##input##_f64, vmafgpu__vif_launch, VIF_16_THREADS, 1) { \
        typedef VifMatrix16<SCALE, BYTES, DIGITS> Form; \
        vif_claim<Form, true>(launch, Form::prepare(launch)); \
    } \
    GPU_KERNEL(vmafgpu_vif_matrix16_##input##_int, vmafgpu__vif_launch, VIF_16_THREADS, 1) { \
        typedef VifMatrix16<SCALE, BYTES, DIGITS> Form; \
        vif_claim<Form, false>(launch, Form::prepare(launch)); \
    }
VIF_MATRIX_16_KERNELS(0_8, 0, 1, 2)
VIF_MATRIX_16_KERNELS(0_12, 0, 2, 3)
VIF_MATRIX_16_KERNELS(0_16, 0, 2, 4)
VIF_MATRIX_16_KERNELS(1, 1, 2, 4)
VIF_MATRIX_16_KERNELS(2, 2, 2, 4)
VIF_MATRIX_16_KERNELS(3, 3, 2, 4)
#undef VIF_MATRIX_16_KERNELS

#endif /* GPU_MATRIX_16 */

/* ================================================================================================
 * >>adm                                          wavelet, decoupling, contrast masking
 * ================================================================================================
 * One kernel per scale does all the work, from the input (luma, or the low-pass band of the previous scale) to the sums
 * of each row. Each warp has its own tile and is independent of other warps. Each lane processes one row of the bands,
 * and the warp walks along the columns, so the sums of a row stay in the registers of one lane. The horizontal filters
 * and the 3x3 neighbourhood need earlier columns, which the lane keeps in registers, and the rows above and below,
 * which it gets by one shuffle each. The first and last rows of a tile serve only as neighbours.
 *
 *   shared memory   the 2 * LANES + 2 input rows of both frames, even rows first, then odd rows. The row stride is odd,
 *                   so the words that the lanes read together (one per row) are in different banks. Low-pass samples
 *                   replace words that all lanes have read, and are copied out together at the end.
 *   a step          reads one word per row (two at scales 2 and 3), filters its columns vertically, then processes the
 *                   band columns that are complete. For each, it computes the coefficients, the signals and the
 *                   contributions to thresholds (an AdmPixel), and then the masked cubes of the column before it.
 *   tiles           that overlap the region of the sums come first; all others compute only the low-pass band
 *   rounding        applies to whole rows, so tiles add unrounded values to row sums. vmafgpu_adm_rows rounds these and
 *                   adds them up.
 *
 * There are two ways to compute a pixel. The GENERAL form calls functions from section >>arithmetic of vmafgpu.h and
 * supports any option. The FAST form computes the same numbers in fewer and cheaper operations. The host decides when
 * the fast form is valid (vmafgpu__adm_form_of). For rare pixels, the fast form calls the general functions, which are
 * out of line.
 */

/* Contributions of one pixel to the numerator ([0], from the restored signal) and to the impairment ([1], from the
 * additive impairment, which is the rest of the distorted signal). The threshold that masks one of the two is computed
 * from `side` and `centre` of the other one. Sums are modulo 2^32. */
struct AdmPixel {
    uint32_t side[2], centre[2];
    uint32_t signal[2][VMAFGPU__BANDS];
};

/* One input column after the vertical filters; [0] is the reference, [1] the distorted frame. */
struct AdmColumn {
    int32_t low[2], high[2];
};

/* Parameters of a kernel: scale, bytes per input sample, number of band columns per tile, and form. */
template <int SCALE_, int BYTES_, int WIDTH_, bool FAST_> struct AdmKind {
    static constexpr int SCALE = SCALE_, BYTES = BYTES_, WIDTH = WIDTH_;
    static constexpr bool FAST = FAST_;
    static constexpr bool DIVIDED = false; /* if true, a warp processes several tiles */
    static constexpr bool MAKES_LOW = SCALE + 1 < VMAFGPU__SCALES;
    static constexpr int WORD_COLUMNS = 4 / BYTES; /* input columns in a word */
    static constexpr int COLUMNS = 2 * WIDTH + 8;  /* input columns of a tile, starting at 2 * x - 4 */
    static constexpr int WORDS = COLUMNS / WORD_COLUMNS;
    static constexpr int PER_STEP = BYTES == 1 ? 2 : 1, STEPS = (WIDTH + 4) / PER_STEP; /* band columns per step */
    /* If true, an iteration runs two steps, which saves register moves between the steps. At scales 1 to 3, this gains
     * nothing. */
    static constexpr bool PAIRS = SCALE == 0 && BYTES == 2;
    static constexpr int STRIDE = VMAFGPU__ADM_STRIDE(WIDTH, WORD_COLUMNS); /* words of a row in shared memory */
    static constexpr int ROWS = 2 * LANES + 2, ODD = (LANES + 1) * STRIDE, PLANE = ROWS * STRIDE;
    static constexpr int TILE_WORDS = 2 * PLANE;
    static_assert(TILE_WORDS == VMAFGPU__ADM_TILE_WORDS(WIDTH, WORD_COLUMNS, LANES), "shared memory");
    static constexpr int LOW_BYTES = SCALE ? 4 : 2;
    /* Whether the 64-bit sums of unshifted cubes must be flushed before the end of the tile. They can hold twelve
     * columns: z * x is below 1.4e18 at scale 0 (|product| is below 22931 * 49417) and at most 2^60 at later scales. In
     * the denominator, z * |o| is below 1.61e18 (|o| < 1.511e9 at scale 1). Adjacent coefficients cannot both reach
     * this bound, because they share two input columns, in which their taps have opposite signs. So at least one of the
     * two is 10 % or more below the bound. */
    static constexpr bool FLUSHES = WIDTH > 12;
};

GPU_FN int32_t adm_larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}
GPU_FN int32_t adm_lesser(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* ---- the wavelet ---- */

enum { ADM_LOW_0 = 15826, ADM_LOW_1 = 27411, ADM_LOW_2 = 7345, ADM_LOW_3 = -4240 }; /* the values of vmafgpu__dwt_low */

/* Return the result of the low (high) filter for four samples, plus `add`, modulo 2^32. */
GPU_FN uint32_t adm_low32(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t add) {
    return (uint32_t)ADM_LOW_0 * a + (uint32_t)ADM_LOW_1 * b + (uint32_t)ADM_LOW_2 * c + (uint32_t)ADM_LOW_3 * d + add;
}
GPU_FN uint32_t adm_high32(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t add) {
    return (uint32_t)ADM_LOW_3 * a - (uint32_t)ADM_LOW_2 * b + (uint32_t)ADM_LOW_1 * c - (uint32_t)ADM_LOW_0 * d + add;
}
/* Return the same sums as 64-bit values. These functions compile to chains of widening multiply-adds, which are as
 * cheap as 32-bit multiply-adds. */
GPU_FN int64_t adm_low64(int32_t a, int32_t b, int32_t c, int32_t d, int64_t add) {
    return (int64_t)ADM_LOW_0 * a +
           ((int64_t)ADM_LOW_1 * b + ((int64_t)ADM_LOW_2 * c + ((int64_t)ADM_LOW_3 * d + add)));
}
GPU_FN int64_t adm_high64(int32_t a, int32_t b, int32_t c, int32_t d, int64_t add) {
    return (int64_t)ADM_LOW_3 * a +
           ((int64_t)-ADM_LOW_2 * b + ((int64_t)ADM_LOW_1 * c + ((int64_t)-ADM_LOW_0 * d + add)));
}

/* The horizontal sums of scale 0 need two addends: 2^15 for rounding, and 2^31 to make the sums unsigned. To save these
 * additions, ADM_ODD_COLUMN is added to the odd columns (the first and the third of every four) in the vertical pass:
 * in both filters, the taps of these columns sum to 23171, and ADM_ODD_COLUMN times 23171 is the required constant. */
#define ADM_ODD_COLUMN 0xa2158000u
static_assert(ADM_ODD_COLUMN * 23171u == 0x80008000u, "2^31 + 2^15, modulo 2^32");
static_assert(ADM_LOW_0 + ADM_LOW_2 == 23171 && ADM_LOW_3 + ADM_LOW_1 == 23171, "low and high filter");

/* Returns a coefficient of scale 0. `sum` is its horizontal sum, to which 2^31 + 2^15 has been added. */
GPU_FN int32_t adm_value(uint32_t sum) {
    return (int32_t)(sum ^ 0x80000000u) >> 16;
}

/* Return the low (high) band of four columns: a coefficient or, at scale 0, a sum for adm_value(). */
template <int SCALE> GPU_FN uint32_t adm_horizontal_low(int32_t a, int32_t b, int32_t c, int32_t d, int64_t half) {
    if (SCALE == 0)
        return adm_low32((uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d, 0);
    const int shift = SCALE & 1 ? 15 : 16;
    return (uint32_t)(adm_low64(a, b, c, d, half) >> shift);
}
template <int SCALE> GPU_FN uint32_t adm_horizontal_high(int32_t a, int32_t b, int32_t c, int32_t d, int64_t half) {
    if (SCALE == 0)
        return adm_high32((uint32_t)a, (uint32_t)b, (uint32_t)c, (uint32_t)d, 0);
    const int shift = SCALE & 1 ? 15 : 16;
    return (uint32_t)(adm_high64(a, b, c, d, half) >> shift);
}

/* Applies the vertical filters to one column of samples, given as four rows of each frame. At scale 0, mid grey is
 * subtracted from the samples. This changes only the low band, because the low taps sum to 46342 and the high taps to
 * 0. The high band is computed only if HIGH is true. */
template <int SCALE, bool HIGH, bool ODD>
GPU_FN void adm_vertical(const vmafgpu__adm_launch &launch, const uint32_t (&sample)[2][4], AdmColumn &out) {
    const int bit_depth = launch.batch.bit_depth;
    const int64_t half64 = launch.fast.addends.vertical;
    const uint32_t offset = SCALE == 0 && ODD ? ADM_ODD_COLUMN : 0;
    const uint32_t half = 1u << (bit_depth - 1), grey = 46342u << (bit_depth - 1);
#pragma unroll
    for (int f = 0; f < 2; f++) {
        const uint32_t a = sample[f][0], b = sample[f][1], c = sample[f][2], d = sample[f][3];
        if (SCALE < 2) {
            const int shift = SCALE ? 0 : bit_depth;
            out.low[f] =
                (int32_t)((uint32_t)((int32_t)adm_low32(a, b, c, d, SCALE ? 0 : half - grey) >> shift) + offset);
            if (HIGH)
                out.high[f] =
                    (int32_t)((uint32_t)((int32_t)adm_high32(a, b, c, d, SCALE ? 0 : half) >> shift) + offset);
        } else {
            const int32_t i = (int32_t)a, j = (int32_t)b, k = (int32_t)c, l = (int32_t)d;
            out.low[f] = (int32_t)(adm_low64(i, j, k, l, half64) >> 16);
            if (HIGH)
                out.high[f] = (int32_t)(adm_high64(i, j, k, l, half64) >> 16);
        }
    }
}

/* Applies the vertical filters to an even and the next odd column of 8-bit samples. `ab` contains the first two rows,
 * `cd` the others. The bytes of the even column are in the low half, those of the odd column in the high half. One
 * operation multiplies a pair of bytes by two taps. */
template <bool HIGH> GPU_FN void adm_vertical_pairs(uint32_t ab, uint32_t cd, int f, AdmColumn &even, AdmColumn &odd) {
    const int32_t low_ab = ADM_LOW_1 * 65536 + ADM_LOW_0, low_cd = (int32_t)((uint32_t)ADM_LOW_3 << 16) + ADM_LOW_2;
    const int32_t high_ab = (int32_t)((uint32_t)-ADM_LOW_2 << 16 | (uint32_t)(ADM_LOW_3 & 0xffff));
    const int32_t high_cd = (int32_t)((uint32_t)-ADM_LOW_0 << 16 | (uint32_t)ADM_LOW_1);
    const int32_t half = 128, grey = 46342 * 128;
    even.low[f] = dot_low(low_ab, ab, dot_low(low_cd, cd, half - grey)) >> 8;
    odd.low[f] = (int32_t)((uint32_t)(dot_high(low_ab, ab, dot_high(low_cd, cd, half - grey)) >> 8) + ADM_ODD_COLUMN);
    if (HIGH) {
        even.high[f] = dot_low(high_ab, ab, dot_low(high_cd, cd, half)) >> 8;
        odd.high[f] = (int32_t)((uint32_t)(dot_high(high_ab, ab, dot_high(high_cd, cd, half)) >> 8) + ADM_ODD_COLUMN);
    }
}

/* Applies the vertical filters to the four columns of a word of 8-bit samples. Rows are interleaved into pairs of
 * bytes. */
template <bool HIGH> GPU_FN void adm_vertical_bytes(const uint32_t (&row)[4], int f, AdmColumn (&out)[4]) {
#pragma unroll
    for (int pair = 0; pair < 2; pair++) {
        const uint32_t columns = pair ? 0x7362 : 0x5140;
        const uint32_t ab = permute_bytes(row[0], row[1], columns), cd = permute_bytes(row[2], row[3], columns);
        adm_vertical_pairs<HIGH>(ab, cd, f, out[2 * pair], out[2 * pair + 1]);
    }
}

/* ---- a pixel, computed as the definition specifies ---- */

template <int SCALE>
GPU_FN AdmPixel adm_pixel(const uint32_t (&factor)[2], double gain_limit, const int32_t (&o)[VMAFGPU__BANDS],
                          const int32_t (&t)[VMAFGPU__BANDS]) {
    AdmPixel out = {};
    const bool same_angle = vmafgpu__adm_same_angle(o[0], o[1], t[0], t[1]);
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        int32_t value[2];
        value[0] = vmafgpu__adm_restore(o[band], t[band]);
        if (value[0] && same_angle)
            value[0] = vmafgpu__adm_enhance(value[0], o[band], t[band], gain_limit);
        value[1] = t[band] - value[0];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const vmafgpu__adm_weighted weighted = vmafgpu__adm_weigh(SCALE, band, factor[band == 2], value[i]);
            out.signal[i][band] = (uint32_t)weighted.signal;
            out.side[i] += weighted.side;
            out.centre[i] += weighted.centre;
        }
    }
    return out;
}

/* ---- a pixel of scale 0 in floats ----
 * If the coefficients are below a limit that the host derives from the factors (vmafgpu__adm_fast_of), every value here
 * is an integer below 2^24. Float arithmetic is then exact, and adding 2^23 rounds to the nearest integer:
 *   - restored value: for |o| <= 16553, the reciprocal, quotient and rounding of the definition yield min(|o|, |t|).
 *     This has been verified for all pairs. An integer gain limit can be applied by multiplying |o| by it, because the
 *     result is also limited to |t|;
 *   - weighted value c: a fused operation rounds once. Ties, which the definition rounds differently, do not occur
 *     below the limit;
 *   - `side` and `mid`: the factor 4369 / 4096 is split into 1 + 273 / 4096. So side = c + round(273 c / 4096), and
 *     mid = 2 c + round(546 c / 4096). Ties round up, so the constants in the code are the next floats above the
 *     quotients. This has been verified for all c < 15360;
 *   - signal: the product of the integer factor and y, modulo 2^32, is computed from the bits of the float y + 2^23;
 *   - angle: each side of the comparison has a relative error of less than 2^-20. If the sides differ by less than
 *     2^-18 of their size, the general function decides. */
GPU_FAR AdmPixel adm_rare_pixel(uint32_t factor_hv, uint32_t factor_d, double gain_limit, uint32_t o_h, uint32_t o_v,
                                uint32_t o_d, uint32_t t_h, uint32_t t_v, uint32_t t_d) {
    const uint32_t factor[2] = { factor_hv, factor_d };
    const int32_t o[VMAFGPU__BANDS] = { adm_value(o_h), adm_value(o_v), adm_value(o_d) };
    const int32_t t[VMAFGPU__BANDS] = { adm_value(t_h), adm_value(t_v), adm_value(t_d) };
    return adm_pixel<0>(factor, gain_limit, o, t);
}

#define ADM_TWO_23      8388608.0f
#define ADM_TWO_23_BITS 0x4b000000u

/* Returns a coefficient of scale 0 as a float; `sum` is the same as in adm_value(). The upper half of the sum becomes
 * the low bits of the fraction of a float. `upper` is 2^23 + 2^15, passed in the launch so that the compiler keeps it
 * in a register. */
GPU_FN float adm_upper_half(uint32_t sum, float upper) {
    return float_bits(permute_bytes(sum, bits_of(upper), 0x7632)) - upper;
}

/* Whether floats compute a pixel of scale 0 exactly. If so, *gain is the gain of its restored values. */
GPU_FN bool adm_is_plain(const vmafgpu__adm_fast &fast, const float (&o)[VMAFGPU__BANDS],
                         const float (&t)[VMAFGPU__BANDS], float *gain) {
    const float cos_1deg_squared = 33544212.0f / 33554432.0f;
    const float dot = fused(o[0], t[0], o[1] * t[1]);
    const float o_square = fused(o[0], o[0], o[1] * o[1]), t_square = fused(t[0], t[0], t[1] * t[1]);
    const float near_side = dot * dot, far_side = cos_1deg_squared * o_square * t_square;
    const float all_squares = fused(o[2], o[2], fused(t[2], t[2], o_square + t_square));
    *gain = near_side >= far_side && dot >= 0 ? fast.gain : 1.0f;
    return !(magnitude(near_side - far_side) < near_side * 0x1p-18f || all_squares > fast.plain_limit);
}

/* Computes a pixel for which adm_is_plain() returns true. */
GPU_FN AdmPixel adm_plain_pixel(const vmafgpu__adm_launch &launch, const float (&o)[VMAFGPU__BANDS],
                                const float (&t)[VMAFGPU__BANDS], float gain) {
    const vmafgpu__adm_fast &fast = launch.fast;
    const float side_rest = 0x1.110002p-4f, mid_rest = 0x1.110002p-3f; /* the next floats above 273/4096 and 546/4096 */
    AdmPixel out;
    uint32_t weighted[2] = { 0, 0 }, side[2] = { 0, 0 }, mid[2] = { 0, 0 }; /* integer sums of bit patterns */
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int d = band == 2;
        /* t times the sign of o. If this is negative, the restored value is 0. */
        const float towards = float_bits(bits_of(t[band]) ^ (bits_of(o[band]) & 0x80000000u));
        float value[2];
        value[0] = -smaller(-smaller(gain * magnitude(o[band]), towards), 0.0f);
        value[1] = magnitude(t[band]) - value[0];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            out.signal[i][band] = launch.factor[d] * bits_of(value[i] + ADM_TWO_23) + fast.factor_bias[d];
            const float c = fused(value[i], fast.factor[d], ADM_TWO_23), whole = c - ADM_TWO_23;
            weighted[i] += bits_of(c);
            side[i] += bits_of(fused(whole, side_rest, ADM_TWO_23));
            mid[i] += bits_of(fused(whole, mid_rest, ADM_TWO_23));
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        out.side[i] = weighted[i] + side[i] - 6 * ADM_TWO_23_BITS;
        out.centre[i] = weighted[i] + mid[i] - side[i] - 3 * ADM_TWO_23_BITS;
    }
    return out;
}

/* Computes a pixel of scale 0 in floats. Also returns |o| as integers, for the denominator. */
GPU_FN AdmPixel adm_pixel_floats(const vmafgpu__adm_launch &launch, const uint32_t (&o_sum)[VMAFGPU__BANDS],
                                 const uint32_t (&t_sum)[VMAFGPU__BANDS], uint32_t (&o_magnitude)[VMAFGPU__BANDS]) {
    float o[VMAFGPU__BANDS], t[VMAFGPU__BANDS], gain;
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        o[band] = adm_upper_half(o_sum[band], launch.fast.upper);
        t[band] = adm_upper_half(t_sum[band], launch.fast.upper);
        o_magnitude[band] = bits_of(magnitude(o[band]) + ADM_TWO_23) & 0x7fffff;
    }
    if (!adm_is_plain(launch.fast, o, t, &gain))
        return adm_rare_pixel(launch.factor[0], launch.factor[1], launch.gain_limit, o_sum[0], o_sum[1], o_sum[2],
                              t_sum[0], t_sum[1], t_sum[2]);
    return adm_plain_pixel(launch, o, t, gain);
}

/* ---- a pixel of scales 1 to 3 in 32-bit integers ---- */

/* Returns floor(2^30 / q) for 512 <= q <= 32768. Because the reciprocal is accurate to a few ulp, the estimate is the
 * result or the result plus one; the sign of the remainder shows which. */
GPU_FN uint32_t adm_reciprocal(uint32_t q) {
    const float f = float_bits(q | ADM_TWO_23_BITS) - ADM_TWO_23;
    const uint32_t estimate = bits_of(fused(reciprocal(f), 1073741824.0f, ADM_TWO_23)) - ADM_TWO_23_BITS;
    const int32_t rest = (int32_t)(1073741824u - estimate * q);
    return estimate + (uint32_t)(rest >> 31);
}

/* Returns |restored| for |o| = u and |t| = v of the same sign. `negative` is -1 for negative values, otherwise 0. The
 * computation follows vmafgpu__adm_restore(), but with magnitudes. For negative values, the rounding constant must
 * therefore be smaller by one. For u up to 16384 the result is min(u, v), as at scale 0. For larger u, the divisor q is
 * at least 16384. The quotient is limited to 32768, and v = 2 * u already reaches this limit. So larger values of v are
 * replaced by 2 * u, which keeps the product below 2^48. */
GPU_FN uint32_t adm_restore_magnitude(uint32_t u, uint32_t v, int32_t negative) {
    const int excess = 17 - leading_zeros(u), shift = excess > 0 ? excess : 0;
    const uint32_t q = (((2 * u) >> shift) + 1) >> 1, cut = v < 2 * u ? v : 2 * u;
    const uint32_t quotient = ((uint32_t)(((uint64_t)adm_reciprocal(q) * cut) >> (14 + shift)) + 1) >> 1;
    const uint32_t k = quotient < 32768 ? quotient : 32768;
    const uint32_t scaled = (uint32_t)(((uint64_t)k * u + (uint32_t)(16384 + negative)) >> 15);
    return u > 16384 ? scaled : u < v ? u : v;
}

GPU_FAR bool adm_rare_angle(int32_t o_h, int32_t o_v, int32_t t_h, int32_t t_v) {
    return vmafgpu__adm_same_angle(o_h, o_v, t_h, t_v);
}

/* Returns the same result as vmafgpu__adm_same_angle(), but computes it in floats. If the comparison is close, this
 * function calls the general one. */
GPU_FN bool adm_same_angle(const int32_t (&o)[VMAFGPU__BANDS], const int32_t (&t)[VMAFGPU__BANDS]) {
    const float cos_1deg_squared = 33544212.0f / 33554432.0f;
    const float o_h = (float)o[0], o_v = (float)o[1], t_h = (float)t[0], t_v = (float)t[1];
    const float dot = fused(o_h, t_h, o_v * t_v);
    const float o_square = fused(o_h, o_h, o_v * o_v), t_square = fused(t_h, t_h, t_v * t_v);
    const float near_side = dot * dot, far_side = cos_1deg_squared * o_square * t_square;
    if (magnitude(near_side - far_side) < near_side * 0x1p-18f)
        return adm_rare_angle(o[0], o[1], t[0], t[1]);
    return near_side >= far_side && dot >= 0;
}

GPU_FN AdmPixel adm_pixel_integers(const vmafgpu__adm_launch &launch, const int32_t (&o)[VMAFGPU__BANDS],
                                   const int32_t (&t)[VMAFGPU__BANDS]) {
    const vmafgpu__adm_fast &fast = launch.fast;
    const bool same_angle = adm_same_angle(o, t);
    AdmPixel out;
    /* (c * m - 2^31) >> 32 is the upper half of c * m + 2^31, minus 1. The three subtractions of 1, one per band, are
     * combined here. In `centre`, they cancel out. */
    out.side[0] = out.side[1] = (uint32_t)-VMAFGPU__BANDS;
    out.centre[0] = out.centre[1] = 0;
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int32_t negative = t[band] >> 31;
        const uint32_t u = (uint32_t)vmafgpu__magnitude(o[band]), v = (uint32_t)vmafgpu__magnitude(t[band]);
        uint32_t restored = adm_restore_magnitude(u, v, negative);
        const uint32_t reached = restored < fast.gain_reach ? restored : fast.gain_reach,
                       gained = reached * fast.whole_gain;
        restored = !same_angle ? restored : gained < v ? gained : v;
        if ((o[band] ^ t[band]) < 0)
            restored = 0;
        /* The quotient is rounded, so the restored value may exceed |t|, and the difference may have either sign. */
        int32_t value[2];
        value[0] = ((int32_t)restored ^ negative) - negative;
        value[1] = t[band] - value[0];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int64_t product =
                (int64_t)value[i] * (int32_t)launch.factor[band == 2] + (int64_t)fast.addends.weight;
            const uint32_t weighted = (uint32_t)vmafgpu__magnitude((int32_t)(product >> 28));
            const uint32_t side = (uint32_t)(((uint64_t)weighted * 143165577u + fast.addends.side) >> 32);
            const uint32_t mid = (uint32_t)(((uint64_t)weighted * 286331153u + fast.addends.side) >> 32);
            out.signal[i][band] = weighted;
            out.side[i] += side;
            out.centre[i] += mid - side;
        }
    }
    return out;
}

/* ---- the sums of a lane's row ---- */

/* Sums of numerator, impairment and denominator, modulo 2^64. With extreme options and artificial content, the sums can
 * exceed 2^64. */
template <class Kind, bool FAST> struct AdmSums {
    uint64_t masked[2][VMAFGPU__BANDS], denominator[VMAFGPU__BANDS];
};
/* Sums of the fast form, which shifts once per sum instead of once per value: for n values, sum((v + half) >> s) =
 * (sum(v) + n * half - sum((v + half) & mask)) >> s. The dropped bits are summed in 32 bits, and the multiply-add that
 * computes a value also adds it to its 64-bit sum. */
template <class Kind> struct AdmSums<Kind, true> {
    uint64_t masked[2][VMAFGPU__BANDS], denominator[VMAFGPU__BANDS];
    uint64_t open[2][VMAFGPU__BANDS], open_denominator[VMAFGPU__BANDS]; /* sums of values that are not shifted yet */
    /* Sums of the dropped bits, a word per band: the low half belongs to open[0], the high half to open[1]. Each half
     * fits in 16 bits, because a mask has at most 12 bits and the sums are flushed after at most 12 columns. */
    uint32_t dropped[VMAFGPU__BANDS];
    uint32_t dropped_denominator[VMAFGPU__BANDS];
};

/* adm_masked_cube() returns one masked cube of a pixel; adm_add_masked() adds all of them. threshold[1], computed from
 * the additive impairment, masks the restored signal, and threshold[0] masks the additive impairment. */
template <class Kind>
GPU_FN int64_t adm_masked_cube(const vmafgpu__adm_launch &launch, const AdmPixel &pixel, const uint32_t (&threshold)[2],
                               int i, int band) {
    return vmafgpu__adm_masked_cube(Kind::SCALE, band, (int32_t)pixel.signal[i][band], threshold[!i],
                                    launch.geometry.mask_shift[band]);
}
template <class Kind>
GPU_FN void adm_add_masked(const vmafgpu__adm_launch &launch, AdmSums<Kind, false> &sums, const AdmPixel &pixel,
                           const uint32_t (&threshold)[2]) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++)
            sums.masked[i][band] += (uint64_t)adm_masked_cube<Kind>(launch, pixel, threshold, i, band);
}
template <class Kind>
GPU_FN void adm_add_masked(const vmafgpu__adm_launch &launch, AdmSums<Kind, true> &sums, const AdmPixel &pixel,
                           const uint32_t (&threshold)[2]) {
    const vmafgpu__adm_addends &addends = launch.fast.addends;
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int d = Kind::SCALE == 0 && band == 2;
        const int threshold_shift = Kind::SCALE ? 0 : d ? 12 : 10, square_shift = Kind::SCALE || d ? 30 : 29;
        uint32_t low[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int32_t rest = (int32_t)(pixel.signal[i][band] - (threshold[!i] << threshold_shift));
            const uint32_t x = rest > 0 ? (uint32_t)rest : 0;
            const uint32_t z = opaque((uint32_t)(((uint64_t)x * x + addends.square[d]) >> square_shift));
            sums.open[i][band] += (uint64_t)z * x;
            low[i] = z * x + launch.fast.half[d];
        }
        sums.dropped[band] += permute_bytes(low[0], low[1], 0x5410) & launch.fast.mask[d];
    }
}

/* Adds the cubes of the magnitudes of the reference coefficients. */
template <class Kind>
GPU_FN void adm_add_denominator(const vmafgpu__adm_launch &launch, AdmSums<Kind, false> &sums,
                                const uint32_t (&magnitude)[VMAFGPU__BANDS]) {
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++)
        sums.denominator[band] +=
            (uint64_t)vmafgpu__adm_cube(Kind::SCALE, (int32_t)magnitude[band], launch.geometry.den_shift);
}
template <class Kind>
GPU_FN void adm_add_denominator(const vmafgpu__adm_launch &launch, AdmSums<Kind, true> &sums,
                                const uint32_t (&magnitude)[VMAFGPU__BANDS]) {
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const uint32_t u = magnitude[band];
        if (Kind::SCALE == 0) { /* u < 22931: the square fits in 32 bits, and nothing is shifted */
            sums.open_denominator[band] += (uint64_t)(u * u) * u;
        } else {
            const uint32_t z =
                opaque((uint32_t)(((uint64_t)u * u + launch.fast.addends.den_square) >> (Kind::SCALE == 2 ? 30 : 31)));
            sums.open_denominator[band] += (uint64_t)z * u;
            sums.dropped_denominator[band] += (z * u + launch.fast.den_half) & launch.fast.den_mask;
        }
    }
}

/* Shifts the open sums, which contain `columns` columns, and adds them to the final sums. */
template <class Kind> GPU_FN void adm_flush(const vmafgpu__adm_launch &, AdmSums<Kind, false> &, uint32_t) {
}
template <class Kind>
GPU_FN void adm_flush(const vmafgpu__adm_launch &launch, AdmSums<Kind, true> &sums, uint32_t columns) {
    const vmafgpu__adm_fast &fast = launch.fast;
    const uint64_t n = (uint64_t)columns;
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int d = Kind::SCALE == 0 && band == 2;
#pragma unroll
        for (int which = 0; which < 2; which++) {
            const uint32_t dropped = which ? sums.dropped[band] >> 16 : sums.dropped[band] & 0xffff;
            sums.masked[which][band] +=
                (sums.open[which][band] + n * fast.half[d] - dropped) >> launch.geometry.mask_shift[d ? 2 : 0];
            sums.open[which][band] = 0;
        }
        sums.dropped[band] = 0;
        if (Kind::SCALE == 0) {
            sums.denominator[band] = sums.open_denominator[band];
        } else {
            sums.denominator[band] +=
                (sums.open_denominator[band] + n * fast.den_half - sums.dropped_denominator[band]) >>
                launch.geometry.den_shift;
            sums.open_denominator[band] = sums.dropped_denominator[band] = 0;
        }
    }
}

/* ---- a warp's walk along a tile ---- */

template <class Kind> struct AdmWalk {
    uint32_t *tile;          /* shared memory of the warp */
    int32_t x, end;          /* first band column of the tile; end of the summed columns */
    uint32_t columns;        /* columns added to the open sums since the last flush */
    AdmColumn before[3];     /* the first three input columns of the next band column */
    AdmPixel pixel;          /* the previous band column; its right neighbour is still missing */
    uint32_t side_before[2]; /* `side` of the column before `pixel` */
    uint32_t packed[2];      /* scale 0: low-pass samples of the even column; the odd column completes the word */
    AdmSums<Kind, Kind::FAST> sums;
};

/* Stores the low-pass samples of a band column over input words that all lanes have read. */
template <class Kind, bool CHECKED>
GPU_FN void adm_keep_low(AdmWalk<Kind> &walk, int32_t column, const uint32_t (&low)[2]) {
    uint32_t *out = walk.tile + lane_index() * Kind::STRIDE;
    if (Kind::SCALE) {
        if (!CHECKED || (column >= 0 && column < Kind::WIDTH)) {
            out[column] = low[0];
            out[Kind::PLANE + column] = low[1];
        }
    } else if (!(column & 1)) {
        walk.packed[0] = low[0];
        walk.packed[1] = low[1];
    } else if (!CHECKED || (column >= 0 && column < Kind::WIDTH)) {
        out[column >> 1] = permute_bytes(walk.packed[0], low[0], 0x7632) ^ 0x80008000u;
        out[Kind::PLANE + (column >> 1)] = permute_bytes(walk.packed[1], low[1], 0x7632) ^ 0x80008000u;
    }
}

/* Adds the masked cubes of band column x, which is in walk.pixel; `next` is its right neighbour. At the left and right
 * edges of the band, the border rule supplies the missing neighbour. The edges are inside the region of the sums only
 * if the band has fewer than 15 columns. */
template <class Kind, bool CHECKED>
GPU_FN void adm_mask_column(const vmafgpu__adm_launch &launch, AdmWalk<Kind> &walk, int32_t x, const AdmPixel &next,
                            bool is_summed) {
    const int32_t w = launch.geometry.w;
    const AdmPixel &pixel = walk.pixel;
    uint32_t threshold[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        uint32_t left = walk.side_before[i], right = next.side[i];
        if (CHECKED && x == w - 1)
            right = pixel.side[i];
        if (CHECKED && x == 0)
            left = right;
        const uint32_t columns = left + pixel.side[i] + right;
        threshold[i] = columns + shuffle_up_word(columns, 1) + shuffle_down_word(columns, 1) + pixel.centre[i];
    }
    if (Kind::DIVIDED && !is_summed)
        return;
    adm_add_masked(launch, walk.sums, pixel, threshold);
    walk.columns++;
}

/* Computes band column x of all bands except the low-pass band, from the four input columns a, b, c, d. With CHECKED, x
 * may be outside the tile or the region of the sums. Otherwise x and x - 1 are inside both. */
template <class Kind, bool CHECKED>
GPU_FN void adm_sum_column(const vmafgpu__adm_launch &launch, AdmWalk<Kind> &walk, int32_t x, const AdmColumn &a,
                           const AdmColumn &b, const AdmColumn &c, const AdmColumn &d) {
    constexpr int SCALE = Kind::SCALE;
    const int32_t first = adm_larger(walk.x, launch.geometry.left);
    const int64_t half = launch.fast.addends.horizontal;
    uint32_t band[2][VMAFGPU__BANDS], o_magnitude[VMAFGPU__BANDS];
#pragma unroll
    for (int f = 0; f < 2; f++) {
        band[f][0] = adm_horizontal_low<SCALE>(a.high[f], b.high[f], c.high[f], d.high[f], half);
        band[f][1] = adm_horizontal_high<SCALE>(a.low[f], b.low[f], c.low[f], d.low[f], half);
        band[f][2] = adm_horizontal_high<SCALE>(a.high[f], b.high[f], c.high[f], d.high[f], half);
    }
    AdmPixel next;
    if constexpr (SCALE == 0 && Kind::FAST) {
        next = adm_pixel_floats(launch, band[0], band[1], o_magnitude);
    } else {
        int32_t o[VMAFGPU__BANDS], t[VMAFGPU__BANDS];
#pragma unroll
        for (int i = 0; i < VMAFGPU__BANDS; i++) {
            o[i] = SCALE ? (int32_t)band[0][i] : adm_value(band[0][i]);
            t[i] = SCALE ? (int32_t)band[1][i] : adm_value(band[1][i]);
            o_magnitude[i] = (uint32_t)vmafgpu__magnitude(o[i]);
        }
        if constexpr (Kind::FAST)
            next = adm_pixel_integers(launch, o, t);
        else
            next = adm_pixel<SCALE>(launch.factor, launch.gain_limit, o, t);
    }
    if (!CHECKED || (x >= first && x < walk.end))
        adm_add_denominator(launch, walk.sums, o_magnitude);
    const bool is_summed = !CHECKED || (x - 1 >= first && x - 1 < walk.end);
    if (Kind::DIVIDED || is_summed)
        adm_mask_column<Kind, CHECKED>(launch, walk, x - 1, next, is_summed);
    walk.side_before[0] = walk.pixel.side[0];
    walk.side_before[1] = walk.pixel.side[1];
    walk.pixel = next;
}

/* Computes band column `column` of the tile, counted from 0. If HEAVY is true, computes sums as well as the low-pass
 * band. */
template <class Kind, bool HEAVY, bool CHECKED>
GPU_FN void adm_column(const vmafgpu__adm_launch &launch, AdmWalk<Kind> &walk, int32_t column, const AdmColumn &a,
                       const AdmColumn &b, const AdmColumn &c, const AdmColumn &d) {
    if constexpr (Kind::MAKES_LOW) {
        const int64_t half = launch.fast.addends.horizontal;
        uint32_t low[2];
#pragma unroll
        for (int f = 0; f < 2; f++)
            low[f] = adm_horizontal_low<Kind::SCALE>(a.low[f], b.low[f], c.low[f], d.low[f], half);
        adm_keep_low<Kind, CHECKED>(walk, column, low);
    }
    if constexpr (HEAVY)
        adm_sum_column<Kind, CHECKED>(launch, walk, walk.x + column, a, b, c, d);
}

/* Runs one step: computes the band columns whose last input column is in word k of each row (at scales 2 and 3, in word
 * pair k). `row` is the first input row of the lane, in shared memory. */
template <class Kind, bool HEAVY, bool CHECKED>
GPU_FN void adm_step(const vmafgpu__adm_launch &launch, AdmWalk<Kind> &walk, const uint32_t *row, int32_t k) {
    constexpr int offset[4] = { 0, Kind::ODD, Kind::STRIDE, Kind::ODD + Kind::STRIDE };
    if constexpr (Kind::BYTES == 1) {
        AdmColumn next[4];
#pragma unroll
        for (int f = 0; f < 2; f++) {
            uint32_t word[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                word[i] = row[f * Kind::PLANE + offset[i] + k];
            adm_vertical_bytes<HEAVY>(word, f, next);
        }
        warp_barrier(); /* all lanes have read word k, so earlier words may be replaced */
        if (!CHECKED || k > 0) {
            adm_column<Kind, HEAVY, CHECKED>(launch, walk, 2 * k - 3, walk.before[0], walk.before[1], walk.before[2],
                                             next[0]);
            adm_column<Kind, HEAVY, CHECKED>(launch, walk, 2 * k - 2, walk.before[2], next[0], next[1], next[2]);
        }
        walk.before[0] = next[1];
        walk.before[1] = next[2];
        walk.before[2] = next[3];
    } else {
        AdmColumn next[2];
        uint32_t sample[2][2][4];
#pragma unroll
        for (int f = 0; f < 2; f++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint32_t *word = row + f * Kind::PLANE + offset[i];
                if constexpr (Kind::BYTES == 4) {
                    sample[0][f][i] = word[2 * k];
                    sample[1][f][i] = word[2 * k + 1];
                } else if constexpr (Kind::SCALE == 0) {
                    sample[0][f][i] = word[k] & 0xffff;
                    sample[1][f][i] = word[k] >> 16;
                } else { /* signed */
                    sample[0][f][i] = (uint32_t)((int32_t)(word[k] << 16) >> 16);
                    sample[1][f][i] = (uint32_t)((int32_t)word[k] >> 16);
                }
            }
        adm_vertical<Kind::SCALE, HEAVY, false>(launch, sample[0], next[0]);
        adm_vertical<Kind::SCALE, HEAVY, true>(launch, sample[1], next[1]);
        warp_barrier();
        if (!CHECKED || k > 1)
            adm_column<Kind, HEAVY, CHECKED>(launch, walk, k - 3, walk.before[0], walk.before[1], walk.before[2],
                                             next[0]);
        walk.before[0] = walk.before[2];
        walk.before[1] = next[0];
        walk.before[2] = next[1];
    }
}

/* Runs all steps of a tile for which only the low-pass band is computed. */
template <class Kind>
GPU_FN void adm_low_steps(const vmafgpu__adm_launch &launch, AdmWalk<Kind> &walk, const uint32_t *row) {
#pragma unroll 2
    for (int k = 0; k < Kind::STEPS; k++)
        adm_step<Kind, false, true>(launch, walk, row, k);
}

/* Runs all steps of a tile for which sums are computed. The fast form runs a step without checks under two conditions.
 * The band column before the step, walk.x + PER_STEP * k - 3, must be in the tile and in the region of the sums, and
 * must not be the first column of the band. The last band column of the step must be before walk.end. */
template <class Kind>
GPU_FN void adm_steps(const vmafgpu__adm_launch &launch, AdmWalk<Kind> &walk, const uint32_t *row) {
    constexpr int PER_STEP = Kind::PER_STEP;
    const int32_t first = adm_larger(launch.geometry.left, 1) - walk.x + 4;
    const int32_t from = adm_larger(4 / PER_STEP, (first + PER_STEP - 1) / PER_STEP);
    const int32_t to = (walk.end - walk.x + 3) / PER_STEP;
#pragma unroll 1
    for (int k = 0; k < Kind::STEPS; k++) {
        if (Kind::FAST && k >= from && k + Kind::PAIRS < to) {
            adm_step<Kind, true, false>(launch, walk, row, k);
            if (Kind::PAIRS)
                adm_step<Kind, true, false>(launch, walk, row, ++k);
        } else {
            adm_step<Kind, true, true>(launch, walk, row, k);
        }
        if (Kind::FLUSHES && walk.columns >= 10) {
            adm_flush(launch, walk.sums, walk.columns);
            walk.columns = 0;
        }
    }
    adm_flush(launch, walk.sums, walk.columns);
}

/* ---- the tile ---- */

/* Copies a lane's words of the tile. `in` points to the lane's word in row 0 of the input; `row` is the input row of
 * the first copy. INSIDE may be true only if all rows are inside the frame. */
template <class Kind, int AT_ONCE, bool INSIDE>
GPU_FN void adm_copy_words(uint32_t *out, const unsigned char *in, int32_t pitch, int32_t height, int32_t row,
                           int32_t first) {
    const int64_t next = (int64_t)AT_ONCE * pitch;
    if (INSIDE)
        in += (int64_t)row * pitch;
#pragma unroll 11
    for (int i = 0; i < (Kind::ROWS + AT_ONCE - 1) / AT_ONCE; i++) {
        if (Kind::ROWS % AT_ONCE && first + i * AT_ONCE >= Kind::ROWS)
            break;
        if (INSIDE) {
            copy_4(out + i * (AT_ONCE / 2 * Kind::STRIDE), in);
            in += next;
            continue;
        }
        /* The outermost rows of a tile may be too far outside to be reflected into the frame; no result depends on
         * them. */
        const int32_t source = adm_larger(vmafgpu__reflect_repeat(row + i * AT_ONCE, height), 0);
        copy_4(out + i * (AT_ONCE / 2 * Kind::STRIDE), in + (int64_t)source * pitch);
    }
}

/* Copies the input of the tile at band position (x, y) to shared memory. Rows beyond the frame are reflected here,
 * columns beyond it by adm_mirror_columns(). */
template <class Kind>
GPU_FN void adm_load_tile(uint32_t *tile, const unsigned char *plane, int32_t pitch, int32_t width, int32_t height,
                          int32_t x, int32_t y) {
    constexpr int ROW_LANES = Kind::WORDS <= 8 ? 8 : 16, AT_ONCE = LANES / ROW_LANES;
    static_assert(Kind::WORDS <= ROW_LANES && AT_ONCE % 2 == 0,
                  "a lane has one word of rows that are all even or all odd");
    const int32_t word = (int32_t)lane_index() % ROW_LANES, first = (int32_t)lane_index() / ROW_LANES;
    if (word >= Kind::WORDS)
        return;
    const int32_t first_row = 2 * y - 3, last_word = (width - 1) / Kind::WORD_COLUMNS * Kind::WORD_COLUMNS;
    const int32_t column = adm_lesser(adm_larger(2 * x - 4 + word * Kind::WORD_COLUMNS, 0), last_word);
    const unsigned char *in = plane + (int64_t)column * Kind::BYTES;
    uint32_t *out = tile + (first & 1) * Kind::ODD + (first >> 1) * Kind::STRIDE + word;
    if (first_row >= 0 && first_row + Kind::ROWS <= height)
        adm_copy_words<Kind, AT_ONCE, true>(out, in, pitch, height, first_row + first, first);
    else
        adm_copy_words<Kind, AT_ONCE, false>(out, in, pitch, height, first_row + first, first);
}

/* The type of the samples of a tile. */
template <int BYTES> struct AdmSample {
    using type = uint32_t;
};
template <> struct AdmSample<1> {
    using type = uint8_t;
};
template <> struct AdmSample<2> {
    using type = uint16_t;
};

/* Fills columns -1, width and width + 1 of a tile at the edge of the frame with copies of columns 1, width - 1 and
 * width - 2. */
template <class Kind> GPU_FN void adm_mirror_columns(uint32_t *tile, int32_t width, int32_t x) {
    using Sample = typename AdmSample<Kind::BYTES>::type;
    const int32_t first_column = 2 * x - 4;
    for (int32_t row = (int32_t)lane_index(); row < 2 * Kind::ROWS; row += LANES) {
        Sample *samples = (Sample *)(tile + row * Kind::STRIDE);
        for (int beyond = -1; beyond < 2; beyond++) {
            const int32_t to = (beyond < 0 ? -1 : width + beyond) - first_column;
            const int32_t from = (beyond < 0 ? 1 : width - 1 - beyond) - first_column;
            if (to >= 0 && to < Kind::COLUMNS && from >= 0 && from < Kind::COLUMNS)
                samples[to] = samples[from];
        }
    }
}

/* Writes the low-pass band of the tile, without the first and last row, to global memory. */
template <class Kind>
GPU_FN void adm_write_low(const vmafgpu__adm_launch &launch, const uint32_t *tile, unsigned char *scratch, int32_t x,
                          int32_t y) {
    constexpr int WORD_SAMPLES = 4 / Kind::LOW_BYTES, WORDS = Kind::WIDTH / WORD_SAMPLES;
    constexpr int ROW_LANES = WORDS <= 4 ? 4 : WORDS <= 8 ? 8 : WORDS <= 16 ? 16 : 32;
    const int32_t word = (int32_t)lane_index() % ROW_LANES, column = x + word * WORD_SAMPLES;
    if (word >= WORDS || column < 0 || column >= launch.geometry.w)
        return;
    constexpr int AT_ONCE = LANES / ROW_LANES;
    const int32_t first = 1 + (int32_t)lane_index() / ROW_LANES, from = y - 1 + first,
                  below = launch.geometry.h - (y - 1);
    const int32_t end = below < LANES - 1 ? below : LANES - 1;
    const int64_t next = (int64_t)AT_ONCE * launch.output_pitch;
#pragma unroll
    for (int f = 0; f < 2; f++) {
        unsigned char *out =
            scratch + launch.output[f] + (int64_t)from * launch.output_pitch + (int64_t)column * Kind::LOW_BYTES;
        const uint32_t *in = tile + f * Kind::PLANE + first * Kind::STRIDE + word;
#pragma unroll 4
        for (int32_t i = first; i < end; i += AT_ONCE) {
            if (y - 1 + i >= 0)
                store((uint32_t *)out, *in);
            out += next;
            in += AT_ONCE * Kind::STRIDE;
        }
    }
}

/* Computes the column and the row of a tile in the grid of tiles. The inner rectangle comes first, then the tiles
 * beside it, then those above and below it. */
GPU_FN void adm_tile_position(const vmafgpu__adm_tiles &t, int32_t index, int32_t &column, int32_t &row) {
    const int32_t inner = t.inner_columns * t.inner_rows, outer_columns = t.columns - t.inner_columns;
    if (index < inner) {
        row = t.inner_y + index / t.inner_columns;
        column = t.inner_x + index % t.inner_columns;
    } else if (index - inner < outer_columns * t.inner_rows) {
        row = t.inner_y + (index - inner) / outer_columns;
        column = (index - inner) % outer_columns;
        column += column >= t.inner_x ? t.inner_columns : 0;
    } else {
        const int32_t rest = index - inner - outer_columns * t.inner_rows;
        row = rest / t.columns;
        column = rest % t.columns;
        row += row >= t.inner_y ? t.inner_rows : 0;
    }
}

template <class Kind> GPU_FN void adm_tile(const vmafgpu__adm_launch &launch) {
    const vmafgpu__adm_geometry &g = launch.geometry;
    const vmafgpu__adm_tiles &tiles = launch.tiles;
    const vmafgpu__gpu_pair &pair = launch.batch.pair[block_z()];
    const int32_t index = (int32_t)(block_x() * (block_threads() / LANES) + warp_index());
    if (index >= tiles.count || !pair.distorted)
        return;
    unsigned char *scratch = launch.scratch + block_z() * launch.scratch_size;
    AdmWalk<Kind> walk = {};
    walk.tile = (uint32_t *)shared_memory() + warp_index() * Kind::TILE_WORDS;
    int32_t column, row;
    adm_tile_position(tiles, index, column, row);
    const bool heavy = index < tiles.inner_columns * tiles.inner_rows;
    const int32_t y = tiles.y + row * (LANES - 2);
    walk.x = tiles.x + column * Kind::WIDTH;
    walk.end = adm_lesser(walk.x + Kind::WIDTH, g.w - g.left);

#pragma unroll
    for (int f = 0; f < 2; f++) {
        const unsigned char *plane = scratch + launch.input[f];
        int32_t pitch = launch.input_pitch;
        if (Kind::SCALE == 0) {
            plane = (const unsigned char *)(f ? pair.distorted : pair.reference);
            pitch = f ? pair.distorted_pitch : pair.reference_pitch;
        }
        adm_load_tile<Kind>(walk.tile + f * Kind::PLANE, plane, pitch, launch.input_width, launch.input_height, walk.x,
                            y);
    }
    copy_commit();
    copy_wait<0>();
    warp_barrier();
    if (walk.x < 2 || 2 * walk.x - 4 + Kind::COLUMNS > launch.input_width) {
        adm_mirror_columns<Kind>(walk.tile, launch.input_width, walk.x);
        warp_barrier();
    }

    /* A lane whose row is outside the band processes the row that replaces it according to the border rule. */
    const int32_t own_row = y - 1 + (int32_t)lane_index();
    const int32_t slot = vmafgpu__reflect_repeat(own_row, g.h) - (y - 1);
    const uint32_t *first_row = walk.tile + adm_lesser(adm_larger(slot, 0), LANES - 1) * Kind::STRIDE;
    if (heavy)
        adm_steps(launch, walk, first_row);
    else if (Kind::MAKES_LOW)
        adm_low_steps(launch, walk, first_row);
    if (Kind::MAKES_LOW && launch.first) {
        warp_barrier();
        adm_write_low<Kind>(launch, walk.tile, scratch, walk.x, y);
    }
    if (heavy && lane_index() > 0 && lane_index() < LANES - 1 && own_row >= g.top && own_row < g.h - g.top) {
        int64_t *out = (int64_t *)(scratch + launch.row_sums) + own_row;
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            atomic_add(out + band * (int64_t)g.h, (int64_t)walk.sums.masked[0][band]);
            atomic_add(out + (VMAFGPU__BANDS + band) * (int64_t)g.h, (int64_t)walk.sums.masked[1][band]);
            if (launch.first)
                atomic_add(out + (2 * VMAFGPU__BANDS + band) * (int64_t)g.h, (int64_t)walk.sums.denominator[band]);
        }
    }
}

/* ---- rows ---- */

/* Rounds and adds up the row sums of one of the nine sums of a scale. The x index of a block selects the sum, the y
 * index the scale. */
GPU_FN void adm_rows(const vmafgpu__adm_rows_launch &launch) {
    constexpr int AT_ONCE = 4;
    const uint32_t kind = block_x() / VMAFGPU__BANDS, band = block_x() % VMAFGPU__BANDS, scale = block_y();
    if (!launch.batch.pair[block_z()].distorted || (kind == 2 && !launch.first))
        return;
    const uint32_t rows = (uint32_t)launch.rows[scale];
    int64_t *sums =
        (int64_t *)(launch.scratch + block_z() * launch.scratch_size + launch.row_sums[scale]) + block_x() * rows;
    const int shift = kind == 2 ? launch.den_row_shift[scale] : launch.row_shift[scale];
    const int64_t half = vmafgpu__half(shift);
    int64_t total = 0;
    for (uint32_t first = thread_index(); first < rows; first += AT_ONCE * block_threads()) {
        int64_t sum[AT_ONCE]; /* all loads are issued before the first value is needed */
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const uint32_t y = first + (uint32_t)i * block_threads();
            sum[i] = y < rows ? take(sums + y) : -half;
        }
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++)
            total += (int64_t)((uint64_t)sum[i] + (uint64_t)half) >> shift;
        if (launch.kept)
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                const uint32_t y = first + (uint32_t)i * block_threads();
                if (y < rows)
                    store((int64_t *)(launch.kept + launch.row_sums[scale]) + block_x() * rows + y, sum[i]);
            }
    }
    total = warp_sum(total);
    if (lane_index() == 0) {
        vmafgpu__adm_sums *out = &launch.batch.sums[block_z()].adm[scale];
        atomic_add(kind == 0   ? &out->numerator[launch.variant][band]
                   : kind == 1 ? &out->impairment[launch.variant][band]
                               : &out->denominator[band],
                   total);
    }
}

/* ---- kernels ---- */

enum { ADM_WIDTH_0_8 = LANES == 64 ? VMAFGPU__ADM_WIDTH_0_8_WAVE64 : VMAFGPU__ADM_WIDTH_0_8 };

/* `blocks` is the number of blocks that must fit on a multiprocessor. The other arguments are those of AdmKind. */
#define ADM_KERNEL(name, blocks, ...) \
    GPU_KERNEL(vmafgpu_adm_##name, vmafgpu__adm_launch, VMAFGPU__ADM_THREADS, blocks) { \
        adm_tile<AdmKind<__VA_ARGS__>>(launch); \
    }
ADM_KERNEL(fast_0_8, 4, 0, 1, ADM_WIDTH_0_8, true)
ADM_KERNEL(fast_0_16, 4, 0, 2, VMAFGPU__ADM_WIDTH_0_16, true)
ADM_KERNEL(fast_1, 4, 1, 2, VMAFGPU__ADM_WIDTH_1, true)
ADM_KERNEL(fast_2, 4, 2, 4, VMAFGPU__ADM_WIDTH_2, true)
ADM_KERNEL(fast_3, 4, 3, 4, VMAFGPU__ADM_WIDTH_3, true)
ADM_KERNEL(general_0_8, 4, 0, 1, ADM_WIDTH_0_8, false)
ADM_KERNEL(general_0_16, 4, 0, 2, VMAFGPU__ADM_WIDTH_0_16, false)
ADM_KERNEL(general_1, 4, 1, 2, VMAFGPU__ADM_WIDTH_1, false)
ADM_KERNEL(general_2, 4, 2, 4, VMAFGPU__ADM_WIDTH_2, false)
ADM_KERNEL(general_3, 4, 3, 4, VMAFGPU__ADM_WIDTH_3, false)
#undef ADM_KERNEL

GPU_KERNEL(vmafgpu_adm_rows, vmafgpu__adm_rows_launch, VMAFGPU__ADM_ROW_THREADS, 2) {
    adm_rows(launch);
}

/* ================================================================================================
 * >>cambi                                        banding: flat areas whose values differ only slightly
 * ================================================================================================
 * The section of this name in vmafgpu.h contains the definitions. Kernel names are given without vmafgpu_cambi_ here.
 * `prepare` converts a picture to 10 bits, marks the samples in flat areas, and creates scale 0. `shrink` creates the
 * other scales. For each marked sample, `count` determines how often similar values occur in the window around the
 * sample, and computes the c-value of the sample from these counts. The score is the average of the N largest c-values,
 * for a given N. `count` sums all c-values; if more than N of them are above 0, `select` subtracts the smaller ones
 * from this sum. If the order of the additions affects the result, `order` recomputes the sum: it adds the N largest
 * c-values in the same order as libvmaf. Kernels that are not needed exit immediately.
 *
 * Marked samples have the highest bit set. Two samples of a row, in an even column and the odd column to its right,
 * occupy an aligned 32-bit word.
 */
enum { CAMBI_MARK = 0x8000, CAMBI_VALUE = 0x7fff };

/* Returns the value that occurs most often among three, or the smallest if all differ. The code has no branches,
 * because they would make the lanes diverge. */
GPU_FN uint32_t cambi_mode(uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t lower = a < b ? a : b, least = lower < c ? lower : c;
    const uint32_t other = b == c ? b : least;
    return ((uint32_t)(a == b) | (uint32_t)(a == c)) ? a : other;
}

/* Returns the plane to process, or NULL if the pair must be skipped. */
GPU_FN const void *cambi_source(const vmafgpu__cambi_launch &launch) {
    const vmafgpu__gpu_pair &pair = launch.batch.pair[block_z()];
    return !pair.distorted ? nullptr : launch.image ? pair.reference : pair.distorted;
}

GPU_FN unsigned char *cambi_scratch(const vmafgpu__cambi_launch &launch) {
    return launch.scratch + block_z() * launch.scratch_size;
}

GPU_FN int32_t cambi_limit(int32_t v, int32_t highest) {
    return v < 0 ? 0 : v > highest ? highest : v;
}

/* ---- prepare ---- */

/* 32 sums, each the number of ones among seven bits: bit i of `one`, of `two` and of `four` are the three binary
 * digits of sum i. */
struct CambiDigits {
    uint32_t one, two, four;
};
GPU_FN uint32_t cambi_majority(uint32_t a, uint32_t b, uint32_t c) {
    return (a & b) | (c & (a | b));
}
GPU_FN CambiDigits cambi_sum_of_seven(const uint32_t (&v)[7]) {
    const uint32_t first = v[0] ^ v[1] ^ v[2], second = v[3] ^ v[4] ^ v[5];
    const uint32_t carry[3] = { cambi_majority(v[0], v[1], v[2]), cambi_majority(v[3], v[4], v[5]),
                                cambi_majority(first, second, v[6]) };
    return { first ^ second ^ v[6], carry[0] ^ carry[1] ^ carry[2], cambi_majority(carry[0], carry[1], carry[2]) };
}

template <int BYTES> struct CambiPrepare {
    enum {
        WIDTH = VMAFGPU__CAMBI_TILE_WIDTH,
        HEIGHT = VMAFGPU__CAMBI_TILE_HEIGHT,
        MARGIN = VMAFGPU__CAMBI_TILE_MARGIN,
        REACH = VMAFGPU__CAMBI_TILE_REACH,
        COLUMNS = WIDTH + 2 * MARGIN,
        FLAT_ROWS = VMAFGPU__CAMBI_TILE_ROWS,
        ROWS = FLAT_ROWS + 1,
        FLAT_BYTES = WIDTH / 8 + 8,
        WORDS = WIDTH / 32,
        FLAT_AT = (ROWS + 1) * COLUMNS * 2 + 16,
        DIGITS_AT = FLAT_AT + FLAT_ROWS * FLAT_BYTES, /* byte offset in shared memory */
        MASK_AT = DIGITS_AT + FLAT_ROWS * WORDS * 12
    };
    static_assert(MASK_AT + HEIGHT * WORDS * 4 == VMAFGPU__CAMBI_PREPARE_SHARED, "shared memory");
    struct Tile {
        uint16_t *image;  /* [ROWS + 1][COLUMNS] and some padding */
        uint8_t *flat;    /* [FLAT_ROWS][FLAT_BYTES], a bit per sample; the tile begins at byte 4 */
        uint32_t *digits; /* [FLAT_ROWS][WORDS][3], of sums along rows */
        uint32_t *mask;   /* [HEIGHT][WORDS] */
        int32_t x, y;
    };

    /* A thread processes eight columns and RUN rows. If 2 x 2 samples are averaged (launch.softened), it also reads the
     * next row and the next column. */
    enum { UNITS = COLUMNS / 8, RUN = 3, GROUPS = ROWS / RUN };
    static_assert(GROUPS * RUN == ROWS && GROUPS * UNITS <= VMAFGPU__CAMBI_PREPARE_THREADS, "threads share the tile");

    /* Converts two samples, one in each half of a word, to 10 bits. */
    GPU_FN uint32_t ten_bits(const vmafgpu__cambi_launch &launch, uint32_t two) {
        const uint32_t half = (uint32_t)launch.half, low = ((two & 65535) << launch.up) + half,
                       high = ((two >> 16) << launch.up) + half;
        if (BYTES == 1)
            return two << 2;
        if (!launch.up && !launch.down)
            return two & (CAMBI_VALUE * 0x10001u);
        return (low >> launch.down & CAMBI_VALUE) | (high >> launch.down & CAMBI_VALUE) << 16;
    }

    /* Loads samples x .. x + 7 of a row as four words of two samples. If samples are averaged, also loads the next
     * sample into the low half of a fifth word. Outside the picture, its border samples are repeated. */
    GPU_FN void fetch(const vmafgpu__cambi_launch &launch, const uint8_t *row, int32_t x, uint32_t (&two)[5]) {
        two[4] = 0;
        if (!launch.source_column && x >= 0 && x + 9 <= launch.width) {
            if (BYTES == 1) {
                const uint64_t eight = load((const uint64_t *)(row + x));
                const uint32_t low = (uint32_t)eight, high = (uint32_t)(eight >> 32);
                two[0] = permute_bytes(low, 0, 0x4140);
                two[1] = permute_bytes(low, 0, 0x4342);
                two[2] = permute_bytes(high, 0, 0x4140);
                two[3] = permute_bytes(high, 0, 0x4342);
            } else {
                const Words4 eight = load((const Words4 *)(row + 2 * x));
                two[0] = eight.x;
                two[1] = eight.y;
                two[2] = eight.z;
                two[3] = eight.w;
            }
            if (launch.softened)
                two[4] = load_sample<BYTES>(row, x + 8);
        } else {
#pragma unroll
            for (int i = 0; i < 9; i++) {
                int32_t column = cambi_limit(x + i, launch.width - 1);
                if (launch.source_column)
                    column = load(launch.source_column + column);
                const uint32_t sample = load_sample<BYTES>(row, column);
                two[i / 2] = i % 2 ? two[i / 2] | sample << 16 : sample;
            }
        }
#pragma unroll
        for (int i = 0; i < 5; i++)
            two[i] = ten_bits(launch, two[i]);
    }

    GPU_FN const uint8_t *source_row(const vmafgpu__cambi_launch &launch, const uint8_t *image, int64_t pitch,
                                     int32_t y) {
        int32_t row = cambi_limit(y, launch.height - 1);
        if (launch.source_row)
            row = load(launch.source_row + row);
        return image + row * pitch;
    }

    /* Loads the samples of the tile and its halo, and averages them if necessary. Outside the picture, its border
     * samples are repeated, as the averages and comparisons at the right and bottom edges require. */
    GPU_FN void fill(const vmafgpu__cambi_launch &launch, const uint8_t *image, int64_t pitch, const Tile &tile) {
        const int32_t column = (int32_t)(thread_index() % UNITS) * 8, row = (int32_t)(thread_index() / UNITS) * RUN;
        const int32_t x = tile.x - MARGIN + column, y = tile.y - REACH + row;
        uint32_t two[RUN + 1][5];
        if (row >= ROWS)
            return;
#pragma unroll
        for (int k = 0; k < RUN; k++)
            fetch(launch, source_row(launch, image, pitch, y + k), x, two[k]);
        if (launch.softened) {
            fetch(launch, source_row(launch, image, pitch, y + RUN), x, two[RUN]);
            /* A sum of four samples of 10 bits fits in half a word. */
#pragma unroll
            for (int k = 0; k <= RUN; k++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    two[k][i] += permute_bytes(two[k][i], two[k][i + 1], 0x5432);
#pragma unroll
            for (int k = 0; k < RUN; k++)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    two[k][i] = (two[k][i] + two[k + 1][i]) >> 2 & 0x3fff3fff;
        }
#pragma unroll
        for (int k = 0; k < RUN; k++)
            *(Words4 *)(tile.image + (row + k) * COLUMNS + column) =
                Words4{ two[k][0], two[k][1], two[k][2], two[k][3] };
    }

    /* Returns a mask of the samples in a group of eight that equal their neighbours to the right and below. */
    GPU_FN uint32_t flat_byte(const Words4 &row, uint32_t next, const Words4 &below) {
        const uint32_t word[5] = { row.x, row.y, row.z, row.w, next },
                       under[4] = { below.x, below.y, below.z, below.w };
        uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t right = permute_bytes(word[i], word[i + 1], 0x5432);
            const uint32_t differs = (word[i] ^ right) | (word[i] ^ under[i]);
            bits |= (~(differs + 0x7fff7fffu) >> 15 & 0x10001u) << 2 * i;
        }
        return (bits | bits >> 15) & 255;
    }

    GPU_FN void find_flat(const vmafgpu__cambi_launch &launch, const Tile &tile) {
        const int32_t unit = (int32_t)(thread_index() % UNITS), row = (int32_t)(thread_index() / UNITS) * RUN;
        const int32_t x = tile.x + (unit - 1) * 8, inside = launch.width - x;
        const uint32_t mask = x < 0 || inside <= 0 ? 0 : inside < 8 ? (1u << inside) - 1 : 255;
        if (row >= ROWS)
            return;
        const uint16_t *at = tile.image + row * COLUMNS + unit * 8;
        Words4 words = *(const Words4 *)at;
#pragma unroll
        for (int k = 0; k < RUN; k++, at += COLUMNS) {
            const int32_t y = tile.y - REACH + row + k;
            const uint32_t next = *(const uint32_t *)(at + 8);
            const Words4 below = *(const Words4 *)(at + COLUMNS); /* unused after the last row */
            const uint32_t byte = flat_byte(words, next, below);
            if (row + k < FLAT_ROWS)
                tile.flat[(row + k) * FLAT_BYTES + 3 + unit] = (uint8_t)(y >= 0 && y < launch.height ? byte & mask : 0);
            words = below;
        }
    }

    GPU_FN void sum_rows(const Tile &tile) {
#pragma unroll 1
        for (uint32_t n = thread_index(); n < FLAT_ROWS * WORDS; n += VMAFGPU__CAMBI_PREPARE_THREADS) {
            const uint32_t *at = (const uint32_t *)(tile.flat + n / WORDS * FLAT_BYTES) + n % WORDS;
            const uint64_t left = (uint64_t)at[1] << 32 | at[0], right = (uint64_t)at[2] << 32 | at[1];
            uint32_t v[7];
#pragma unroll
            for (int i = 0; i < 3; i++) {
                v[i] = (uint32_t)(left >> (31 - i));
                v[i + 3] = (uint32_t)(right >> (i + 1));
            }
            v[6] = at[1];
            const CambiDigits sum = cambi_sum_of_seven(v);
            tile.digits[n * 3] = sum.one;
            tile.digits[n * 3 + 1] = sum.two;
            tile.digits[n * 3 + 2] = sum.four;
        }
    }

    /* Returns a mask of the samples that have more than `threshold` flat samples in the 7 x 7 window around them. */
    GPU_FN uint32_t mask_word(const uint32_t *digits, int threshold) {
        CambiDigits sum[3];
#pragma unroll
        for (int p = 0; p < 3; p++) {
            uint32_t v[7];
#pragma unroll
            for (int i = 0; i < 7; i++)
                v[i] = digits[i * WORDS * 3 + p];
            sum[p] = cambi_sum_of_seven(v);
        }
        const uint32_t two = sum[0].two, four = sum[0].four ^ sum[1].two ^ sum[2].one, eight = sum[1].four ^ sum[2].two;
        const uint32_t from_two = two & sum[1].one, from_four = cambi_majority(sum[0].four, sum[1].two, sum[2].one),
                       and_four = four & from_two, from_eight = cambi_majority(sum[1].four, sum[2].two, from_four),
                       and_eight = (eight ^ from_four) & and_four;
        const uint32_t digit[6] = { sum[0].one,
                                    two ^ sum[1].one,
                                    four ^ from_two,
                                    eight ^ from_four ^ and_four,
                                    sum[2].four ^ from_eight ^ and_eight,
                                    cambi_majority(sum[2].four, from_eight, and_eight) };
        uint32_t more = 0, same = 0xffffffffu;
#pragma unroll
        for (int i = 5; i >= 0; i--) {
            const uint32_t wanted = 0u - (uint32_t)(threshold >> i & 1);
            more |= same & digit[i] & ~wanted;
            same &= ~(digit[i] ^ wanted);
        }
        return more;
    }

    GPU_FN void find_mask(const vmafgpu__cambi_launch &launch, const Tile &tile) {
#pragma unroll 1
        for (uint32_t n = thread_index(); n < (uint32_t)(HEIGHT * WORDS) >> launch.halved;
             n += VMAFGPU__CAMBI_PREPARE_THREADS) {
            const uint32_t row = (n / WORDS) << launch.halved, at = row * WORDS + n % WORDS;
            tile.mask[at] = mask_word(tile.digits + at * 3, launch.mask_threshold);
        }
    }

    /* Computes scale 0 from every sample or, if launch.halved, from every second sample of every second row. The filter
     * takes the mode of three samples, first along rows, then along columns. A thread walks down a pair of columns. */
    GPU_FN void filter(const vmafgpu__cambi_launch &launch, const Tile &tile, unsigned char *out) {
        const vmafgpu__cambi_plane &plane = launch.scale[0];
        const uint32_t step = 1u << launch.halved, pairs = WIDTH / 2 >> launch.halved;
        const uint32_t rows = (HEIGHT >> launch.halved) * pairs / VMAFGPU__CAMBI_PREPARE_THREADS;
        const uint32_t column = thread_index() % pairs * 2 * step, first = thread_index() / pairs * rows;
        const int32_t x = (tile.x + (int32_t)column) >> launch.halved, y = (tile.y >> launch.halved) + (int32_t)first;
        if (x >= plane.width)
            return;
        const uint16_t *at = tile.image + (REACH + (int32_t)(first * step) - (int32_t)step) * COLUMNS + MARGIN + column;
        uint32_t before[2] = {}, middle[2] = {}, centre[2] = {};
#pragma unroll 1
        for (uint32_t i = 0; i < rows + 2; i++, at += step * COLUMNS) {
            uint32_t v[4], filtered[2];
#pragma unroll
            for (int k = 0; k < 4; k++)
                v[k] = at[(k - 1) * (int32_t)step];
#pragma unroll
            for (int k = 0; k < 2; k++)
                filtered[k] = x + k > 0 && x + k < plane.width - 1 ? cambi_mode(v[k], v[k + 1], v[k + 2]) : v[k + 1];
            const int32_t row = y + (int32_t)i - 2; /* the row that is complete now */
            if (i >= 2 && row < plane.height) {
                const uint32_t *mask = tile.mask + (first + i - 2) * step * WORDS;
                uint32_t pair = 0;
#pragma unroll
                for (int k = 0; k < 2; k++) {
                    const uint32_t position = column + (uint32_t)k * step;
                    const uint32_t sample =
                        row > 0 && row < plane.height - 1 ? cambi_mode(before[k], middle[k], filtered[k]) : centre[k];
                    if (x + k < plane.width)
                        pair |= (sample | (mask[position / 32] >> position % 32 & 1) * CAMBI_MARK) << 16 * k;
                }
                store((uint32_t *)(out + plane.samples + (int64_t)row * plane.pitch) + x / 2, pair);
            }
#pragma unroll
            for (int k = 0; k < 2; k++) {
                before[k] = middle[k];
                middle[k] = filtered[k];
                centre[k] = v[k + 1];
            }
        }
    }

    /* Clears the memory that later launches add to. */
    GPU_FN void clear(const vmafgpu__cambi_launch &launch, unsigned char *out) {
        const uint32_t block = block_y() * launch.prepare_columns + block_x();
#pragma unroll 1
        for (uint32_t n = block * VMAFGPU__CAMBI_PREPARE_THREADS + thread_index(); n < launch.cleared / 16;
             n += launch.prepare_blocks * VMAFGPU__CAMBI_PREPARE_THREADS)
            store((Words4 *)(out + launch.found) + n, Words4{ 0, 0, 0, 0 });
    }

    GPU_FN void run(const vmafgpu__cambi_launch &launch) {
        const uint8_t *image = (const uint8_t *)cambi_source(launch);
        if (!image)
            return;
        const vmafgpu__gpu_pair &pair = launch.batch.pair[block_z()];
        unsigned char *shared = shared_memory(), *out = cambi_scratch(launch);
        Tile tile;
        tile.image = (uint16_t *)shared;
        tile.flat = shared + FLAT_AT;
        tile.digits = (uint32_t *)(shared + DIGITS_AT);
        tile.mask = (uint32_t *)(shared + MASK_AT);
        tile.x = (int32_t)block_x() * WIDTH;
        tile.y = (int32_t)block_y() * HEIGHT;
        clear(launch, out);
        fill(launch, image, launch.image ? pair.reference_pitch : pair.distorted_pitch, tile);
        block_barrier();
        find_flat(launch, tile);
        block_barrier();
        sum_rows(tile);
        block_barrier();
        find_mask(launch, tile);
        block_barrier();
        filter(launch, tile, out);
    }
};

GPU_KERNEL(vmafgpu_cambi_prepare_8, vmafgpu__cambi_launch, VMAFGPU__CAMBI_PREPARE_THREADS, 5) {
    CambiPrepare<1>::run(launch);
}
GPU_KERNEL(vmafgpu_cambi_prepare_16, vmafgpu__cambi_launch, VMAFGPU__CAMBI_PREPARE_THREADS, 5) {
    CambiPrepare<2>::run(launch);
}

/* ---- shrink: scales 1 to 4 ----
 *
 * A block computes a square of scale 4. At each finer scale, it computes the samples that this square covers, and the
 * surrounding samples on which the square depends. */

/* Computes COUNT x COUNT samples of a scale, starting LOW samples above and to the left of the block's own square of
 * OWN x OWN samples. The source is every STEP-th sample of `from`, which starts FROM_LOW samples above and to the left
 * of the block's square in the finer scale. `from` and `to` are in shared memory; `to` is NULL if no scale follows. The
 * block's own square is also written to global memory. */
template <int SCALE, int LOW, int COUNT, int STEP, int FROM_LOW, int OWN>
GPU_FN void cambi_shrink_scale(const vmafgpu__cambi_launch &launch, const uint16_t *from, uint16_t *to,
                               unsigned char *out) {
    enum { SIDE = VMAFGPU__CAMBI_SHRINK_SIDE };
    const vmafgpu__cambi_plane &plane = launch.scale[SCALE];
    const int32_t x0 = (int32_t)block_x() * OWN - LOW, y0 = (int32_t)block_y() * OWN - LOW;
#pragma unroll 1
    for (uint32_t n = thread_index(); n < COUNT * COUNT; n += VMAFGPU__CAMBI_SHRINK_THREADS) {
        const int32_t row = (int32_t)(n / COUNT), column = (int32_t)(n % COUNT), x = x0 + column, y = y0 + row;
        if (x < 0 || x >= plane.width || y < 0 || y >= plane.height)
            continue;
        const uint16_t *at = from + (FROM_LOW + (row - LOW) * STEP) * SIDE + FROM_LOW + (column - LOW) * STEP;
        const uint32_t centre = at[0];
        uint32_t sample = centre;
        if (y > 0 && y < plane.height - 1) {
            uint32_t v[3];
#pragma unroll
            for (int i = 0; i < 3; i++) {
                const uint16_t *line = at + (i - 1) * STEP * SIDE;
                v[i] = line[0] & CAMBI_VALUE;
                if (x > 0 && x < plane.width - 1)
                    v[i] = cambi_mode(line[-STEP] & CAMBI_VALUE, v[i], line[STEP] & CAMBI_VALUE);
            }
            sample = cambi_mode(v[0], v[1], v[2]) | (centre & CAMBI_MARK);
        }
        if (to)
            to[row * SIDE + column] = (uint16_t)sample;
        if (column >= LOW && column < LOW + OWN && row >= LOW && row < LOW + OWN) {
            uint16_t *target = (uint16_t *)(out + plane.samples + (int64_t)y * plane.pitch) + x;
            store(target, (uint16_t)sample);
            if (x == plane.width - 1 && !(x & 1))
                store(target + 1, (uint16_t)0);
        }
    }
}

GPU_KERNEL(vmafgpu_cambi_shrink, vmafgpu__cambi_launch, VMAFGPU__CAMBI_SHRINK_THREADS, 2) {
    enum { SIDE = VMAFGPU__CAMBI_SHRINK_SIDE, OWN = VMAFGPU__CAMBI_SHRINK_TILE, LOW = 15, COUNT = 87 };
    static_assert(2 * SIDE * SIDE * sizeof(uint16_t) == VMAFGPU__CAMBI_SHRINK_SHARED, "shared memory");
    if (!cambi_source(launch))
        return;
    unsigned char *out = cambi_scratch(launch);
    uint16_t *first = (uint16_t *)shared_memory(), *second = first + SIDE * SIDE;
    const vmafgpu__cambi_plane &plane = launch.scale[0];
#pragma unroll 8
    for (uint32_t i = 0; i < (COUNT * COUNT + VMAFGPU__CAMBI_SHRINK_THREADS - 1) / VMAFGPU__CAMBI_SHRINK_THREADS; i++) {
        const uint32_t n = i * VMAFGPU__CAMBI_SHRINK_THREADS + thread_index();
        const int32_t row = (int32_t)(n / COUNT), column = (int32_t)(n % COUNT);
        const int32_t x = 2 * ((int32_t)block_x() * OWN - LOW + column), y = 2 * ((int32_t)block_y() * OWN - LOW + row);
        const bool inside = x >= 0 && x < plane.width && y >= 0 && y < plane.height;
        const uint16_t sample =
            inside ? load((const uint16_t *)(out + plane.samples + (int64_t)y * plane.pitch) + x) : (uint16_t)0;
        if (n < COUNT * COUNT)
            first[row * SIDE + column] = sample;
    }
    block_barrier();
    cambi_shrink_scale<1, 14, 85, 1, 15, 64>(launch, first, second, out);
    block_barrier();
    cambi_shrink_scale<2, 6, 41, 2, 14, 32>(launch, second, first, out);
    block_barrier();
    cambi_shrink_scale<3, 2, 19, 2, 6, 16>(launch, first, second, out);
    block_barrier();
    cambi_shrink_scale<4, 0, 8, 2, 2, 8>(launch, second, nullptr, out);
}

/* ---- count ----
 *
 * A block processes a strip of columns in some rows of a scale. It visits the rows that contain samples to evaluate.
 * For each column, shared memory holds a histogram of the rows that the window covers, with one byte per code (sample
 * value). Columns are grouped in pairs; each pair has one histogram of both columns and one of its first column. A
 * window has an odd number of columns. So it consists of several pairs and one more column, which is the first column
 * of a pair at its right end, or the second column of a pair at its left end. The histogram of a second column is the
 * difference between the two histograms of its pair. A thread evaluates a sample of the row and adds up the bytes
 * around its code, four codes at a time. It also updates the histograms of a pair of columns. The histograms cover a
 * short range of codes, starting from the lowest that the block evaluates. In most blocks, this range contains all
 * codes to evaluate; otherwise the block starts again with the next range.
 */
struct CambiStrip {
    const uint8_t *samples; /* samples of the scale */
    uint32_t *histogram;    /* histogram of both of the thread's columns, followed by that of the first column */
    uint32_t cell;          /* words per histogram */
    uint32_t height, pitch;
    uint32_t pair_at, own_at; /* byte offsets, within a row, of the thread's columns and of its sample */
    bool has_pair, has_own;   /* whether these columns and the sample are inside the picture */
    uint32_t zero, counted;   /* sample value of the first counted code; number of counted codes */
};

/* Returns the two samples of the thread's columns in row y; both are 0 (unmarked) outside the picture. */
GPU_FN uint32_t cambi_pair(const CambiStrip &strip, int32_t y) {
    return strip.has_pair && (uint32_t)y < strip.height
               ? load((const uint32_t *)(strip.samples + ((uint32_t)y * strip.pitch + strip.pair_at)))
               : 0;
}

GPU_FN uint32_t cambi_own(const CambiStrip &strip, int32_t y) {
    return strip.has_own ? load((const uint16_t *)(strip.samples + ((uint32_t)y * strip.pitch + strip.own_at))) : 0u;
}

/* Adds `unit`, which is 1 or -1, to the counts of one of the two samples in `two`: the first one if `second` is 0. */
GPU_FN void cambi_count_sample(const CambiStrip &strip, uint32_t two, uint32_t second, uint32_t unit) {
    const uint32_t code = (two >> 16 * second & 65535) - strip.zero;
    if (code >= strip.counted)
        return;
    shared_add(strip.histogram + code / 4, unit << 8 * (code % 4));
    if (!second)
        shared_add(strip.histogram + strip.cell + code / 4, unit << 8 * (code % 4));
}

/* Returns the c-value of a sample, evaluated for four contrasts, as the bits of a float. `cells` points to the
 * histograms of the pair that contains the first column of the window; `odd` is 1 if that column is the second of the
 * pair. `centre` is the code of the sample, counted from the first code that is evaluated. `weights` contains the
 * weights of the contrasts, a byte each. */
template <int GROUP>
GPU_FN uint32_t cambi_value_of_four(const vmafgpu__cambi_launch &launch, const uint8_t *cells, uint32_t odd,
                                    uint32_t centre, uint32_t weights) {
    enum { CELL = VMAFGPU__CAMBI_CELL_OF_FOUR, STEP = 2 * CELL };
    const uint8_t *at = cells + (centre & ~3u);
    const uint8_t *last = at + (uint32_t)launch.reach * STEP + (odd ? 0 : CELL);
    const uint32_t minus = 0u - odd;
    uint32_t all[3], high[3], low[3], rest[3] = {};
    /* The windows of the two samples of a pair have the same column pairs in the middle, so their two threads read the
     * same words of shared memory. */
#pragma unroll
    for (int i = 0; i < 3; i++) {
        all[i] = ((const uint32_t *)at)[i] - (((const uint32_t *)(at + CELL))[i] & minus) + ((const uint32_t *)last)[i];
        high[i] = permute_bytes(all[i], 0, 0x4341);
    }
    int32_t n = launch.reach - 1;
    at += STEP;
#pragma unroll 1
    for (; n >= GROUP; n -= GROUP) {
        uint32_t sum[3] = {};
#pragma unroll
        for (int k = 0; k < GROUP; k++)
#pragma unroll
            for (int i = 0; i < 3; i++)
                sum[i] += ((const uint32_t *)(at + k * STEP))[i];
        at += GROUP * STEP;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            all[i] += sum[i];
            high[i] += permute_bytes(sum[i], 0, 0x4341);
        }
    }
    if (GROUP > 1)
#pragma unroll 1
        for (; n > 0; n--, at += STEP)
#pragma unroll
            for (int i = 0; i < 3; i++)
                rest[i] += ((const uint32_t *)at)[i];
    /* Each half of a word in `high` now holds the sum of one odd byte over all columns, that is, the count of one code.
     * `low` receives the sums of the even bytes: the sums of whole words minus the sums of the odd bytes. */
#pragma unroll
    for (int i = 0; i < 3; i++) {
        high[i] += permute_bytes(rest[i], 0, 0x4341);
        low[i] = all[i] + rest[i] - (high[i] << 8);
    }
    /* The halves of even0 .. even2 hold the counts of the codes that differ from the code of the sample by -4, -2, 0, 2
     * and 4; the halves of odd0 and odd1 hold the counts for the differences -3, -1, 1 and 3. */
    const bool turned = centre & 1;
    const uint32_t even_shift = (centre & 2) * 8, odd_shift = ((centre & 3) + 1) / 2 * 16;
    uint32_t even[3], odds[3];
#pragma unroll
    for (int i = 0; i < 3; i++) {
        even[i] = turned ? high[i] : low[i];
        odds[i] = turned ? low[i] : high[i];
    }
    const uint32_t even0 = (uint32_t)(((uint64_t)even[1] << 32 | even[0]) >> even_shift),
                   even1 = (uint32_t)(((uint64_t)even[2] << 32 | even[1]) >> even_shift),
                   even2 = even[2] >> even_shift & 65535,
                   odd0 = (uint32_t)(((uint64_t)odds[1] << 32 | odds[0]) >> odd_shift),
                   odd1 = (uint32_t)(((uint64_t)odds[2] << 32 | odds[1]) >> odd_shift);
    const uint32_t own = even1 & 65535;
    const uint32_t count[4][2] = { { odd0 >> 16, odd1 & 65535 },
                                   { even0 >> 16, even1 >> 16 },
                                   { odd0 & 65535, odd1 >> 16 },
                                   { even0 & 65535, even2 } };
    float best = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t most = count[k][0] > count[k][1] ? count[k][0] : count[k][1];
        const float value =
            (float)(int32_t)((weights >> 8 * k & 255) * own * most) * float_bits(load(launch.reciprocal + own + most));
        best = value > best ? value : best;
    }
    return bits_of(best);
}

/* Returns the count of one code in the window. */
GPU_FN uint32_t cambi_count_of(const vmafgpu__cambi_launch &launch, const uint8_t *cells, uint32_t odd, uint32_t code) {
    const uint32_t half = (uint32_t)launch.cell, step = 2 * half, pairs = (uint32_t)launch.reach;
    uint32_t sum = odd ? 0u - cells[code + half] : cells[code + half + pairs * step];
#pragma unroll 4
    for (uint32_t i = 0; i < pairs + odd; i++, code += step)
        sum += cells[code];
    return sum;
}

/* Like cambi_value_of_four(), but for any number of contrasts. `weights` points to the weights for the code of the
 * sample, a byte per contrast. */
GPU_FN uint32_t cambi_value_of_any(const vmafgpu__cambi_launch &launch, const uint8_t *cells, uint32_t odd,
                                   uint32_t centre, const uint8_t *weights) {
    const uint32_t contrasts = (uint32_t)launch.contrasts, middle = centre + contrasts;
    const uint32_t own = cambi_count_of(launch, cells, odd, middle);
    float best = 0;
#pragma unroll 1
    for (uint32_t k = 1; k <= contrasts; k++) {
        const uint32_t above = cambi_count_of(launch, cells, odd, middle + k),
                       below = cambi_count_of(launch, cells, odd, middle - k), most = above > below ? above : below;
        const float value =
            (float)(int32_t)(load(weights + k - 1) * own * most) * float_bits(load(launch.reciprocal + own + most));
        best = value > best ? value : best;
    }
    return bits_of(best);
}

/* Returns a c-value in units of 2^-24. A c-value that is not 0 is at least 0.5 and has 24 significant bits. If a
 * miscompiled kernel produces another value, `& 63` keeps the shift defined, and the self-test reports the kernel. */
GPU_FN int64_t cambi_units(uint32_t bits) {
    return bits ? (int64_t)((uint64_t)((bits & 0x7fffffu) | 0x800000u) << (((bits >> 23) - 126) & 63)) : 0;
}

/* The pair of columns in which a thread searches for codes. The threads of a block search several rows in parallel. */
struct CambiScan {
    int32_t row, first_y, height; /* first row of the thread; first row and number of rows of the block */
    uint32_t at;                  /* byte offset of the samples in a row; 0xffffffff if they are outside the picture */
};
enum { CAMBI_AT_ONCE = VMAFGPU__CAMBI_COUNT_THREADS / (VMAFGPU__CAMBI_COUNT_WIDTH / 2) };

/* Loads the thread's two samples in four rows, CAMBI_AT_ONCE rows apart, starting at `row`. Samples outside the picture
 * are unmarked. */
GPU_FN void cambi_scan(const CambiStrip &strip, const CambiScan &scan, int32_t row, uint32_t (&two)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int32_t y = row + i * CAMBI_AT_ONCE;
        two[i] = y < scan.height && scan.at != 0xffffffffu
                     ? load((const uint32_t *)(strip.samples + ((uint32_t)(scan.first_y + y) * strip.pitch + scan.at)))
                     : 0;
    }
}

/* Updates the lowest and the highest of the codes that the thread finds in the range `from` .. `centres` - 1. A sample
 * equal to `mark` has code 0. */
GPU_FN void cambi_scan_codes(const CambiStrip &strip, const CambiScan &scan, uint32_t mark, uint32_t centres,
                             uint32_t from, uint32_t &low, uint32_t &high) {
#pragma unroll 1
    for (int32_t row = scan.row; row < scan.height; row += 4 * CAMBI_AT_ONCE) {
        uint32_t two[4];
        cambi_scan(strip, scan, row, two);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t code = (two[i / 2] >> 16 * (i & 1) & 65535) - mark;
            const bool is_left = (uint32_t)(code < centres) & (uint32_t)(code >= from);
            const uint32_t lower = code < low ? code : low, higher = code > high ? code : high;
            low = is_left ? lower : low;
            high = is_left ? higher : high;
        }
    }
}

/* Returns a mask of the rows in which the thread finds a sample whose value is in the range `first` .. `first` +
 * `count` - 1. The highest bit is the first row. */
GPU_FN uint32_t cambi_scan_rows(const CambiStrip &strip, const CambiScan &scan, uint32_t first, uint32_t count) {
    uint32_t found = 0;
#pragma unroll 1
    for (int32_t row = scan.row; row < scan.height; row += 4 * CAMBI_AT_ONCE) {
        uint32_t two[4];
        cambi_scan(strip, scan, row, two);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t left = (two[i] & 65535) - first, right = (two[i] >> 16) - first;
            found |= ((uint32_t)(left < count) | (uint32_t)(right < count)) << ((31 - row - i * CAMBI_AT_ONCE) & 31);
        }
    }
    return found;
}

/* Returns, in every thread, the smallest v of the block. `words` is shared memory with one word per warp. */
GPU_FN uint32_t cambi_least(uint32_t v, uint32_t *words) {
    for (uint32_t mask = LANES / 2; mask; mask /= 2) {
        const uint32_t other = shuffle_xor_word(v, mask);
        v = other < v ? other : v;
    }
    block_barrier();
    if (lane_index() == 0)
        words[warp_index()] = v;
    block_barrier();
    for (uint32_t i = 0; i < VMAFGPU__CAMBI_COUNT_THREADS / LANES; i++)
        v = words[i] < v ? words[i] : v;
    return v;
}

/* Adds the samples of the thread's columns in the window around row y to the histograms. */
GPU_FN void cambi_count_window(const CambiStrip &strip, int32_t y, int32_t reach) {
#pragma unroll 1
    for (int32_t row = y - reach; row <= y + reach; row += 4) {
        uint32_t both[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            both[k] = row + k <= y + reach ? cambi_pair(strip, row + k) : 0;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            cambi_count_sample(strip, both[k], 0, 1);
            cambi_count_sample(strip, both[k], 1, 1);
        }
    }
}

/* Moves the window from row y down to row `next`. `come` holds the samples that the first step adds to the window, and
 * `gone` those that it removes. */
GPU_FN void cambi_move_window(const CambiStrip &strip, int32_t &y, int32_t next, int32_t reach, uint32_t come,
                              uint32_t gone) {
    for (;;) {
        if (come != gone) {
#pragma unroll
            for (uint32_t second = 0; second < 2; second++) {
                if (!((come ^ gone) >> 16 * second & 65535))
                    continue;
                cambi_count_sample(strip, come, second, 1);
                cambi_count_sample(strip, gone, second, 0u - 1);
            }
        }
        if (++y == next)
            break;
        come = cambi_pair(strip, y + 1 + reach);
        gone = cambi_pair(strip, y - reach);
    }
}

/* Computes the c-values of a strip. GROUP is the number of column pairs whose counts can be added without overflowing a
 * byte (with four contrasts), or 0 for any number of contrasts. */
template <int GROUP> GPU_FN void cambi_count(const vmafgpu__cambi_launch &launch) {
    enum {
        WIDTH = VMAFGPU__CAMBI_COUNT_WIDTH,
        THREADS = VMAFGPU__CAMBI_COUNT_THREADS,
        HEAD = VMAFGPU__CAMBI_COUNT_HEAD
    };
    static_assert(THREADS == WIDTH && VMAFGPU__CAMBI_COUNT_ROWS == 32, "a sample for each thread, a bit for each row");
    static_assert((1 + THREADS / LANES) * 4 <= HEAD, "shared memory: rows, and a word of each warp");
    if (!cambi_source(launch))
        return;
    int32_t scale = 0;
#pragma unroll
    for (int s = 1; s < VMAFGPU__CAMBI_SCALES; s++)
        scale += (int32_t)block_x() >= launch.scale[s].first_block;
    const vmafgpu__cambi_plane &plane = launch.scale[scale];
    unsigned char *scratch = cambi_scratch(launch);
    uint32_t *rows = (uint32_t *)shared_memory(), *words = rows + 1;
    const int32_t block = (int32_t)block_x() - plane.first_block, reach = launch.reach,
                  margin = vmafgpu__cambi_count_margin(reach);
    const int32_t first_y = block / plane.strips * plane.rows, first_x = block % plane.strips * WIDTH;
    const int32_t below = plane.height - first_y, height = below < plane.rows ? below : plane.rows;
    const int32_t thread = (int32_t)thread_index(), x = first_x + thread, pair_x = first_x - margin + 2 * thread;
    const int32_t pairs = WIDTH / 2 + margin, right = (plane.width + 1) & ~1;
    const uint32_t mark = CAMBI_MARK + (uint32_t)(launch.base + launch.low), centres = (uint32_t)launch.centres;
    const uint32_t range = GROUP ? (uint32_t)VMAFGPU__CAMBI_RANGE_OF_FOUR : (uint32_t)launch.range;
    const uint32_t contrasts = GROUP ? 4 : (uint32_t)launch.contrasts;
    CambiStrip strip;
    strip.samples = scratch + plane.samples;
    strip.cell = (GROUP ? (uint32_t)VMAFGPU__CAMBI_CELL_OF_FOUR : (uint32_t)launch.cell) / 4;
    strip.histogram = rows + HEAD / 4 + (uint32_t)thread * 2 * strip.cell;
    strip.height = (uint32_t)plane.height;
    strip.pitch = (uint32_t)plane.pitch;
    strip.pair_at = (uint32_t)(2 * pair_x);
    strip.own_at = (uint32_t)(2 * x);
    strip.has_pair = thread < pairs && pair_x >= 0 && pair_x < right;
    strip.has_own = x < plane.width;
    strip.counted = range + 2 * contrasts;
    const uint32_t offset = (uint32_t)(thread + margin - reach), odd = offset & 1;
    const uint8_t *cells = (const uint8_t *)(rows + HEAD / 4 + (offset & ~1u) * strip.cell);
    uint32_t *values = (uint32_t *)(scratch + plane.values) + x;
    const int32_t scanned_x = first_x + thread % (WIDTH / 2) * 2;
    const CambiScan scan = { thread / (WIDTH / 2), first_y, height,
                             scanned_x < right ? (uint32_t)scanned_x * 2 : 0xffffffffu };
    uint32_t count = 0, from = 0, most = 0;
    int64_t sum = 0;
    for (;;) {
        uint32_t low = 0xffff, high = 0;
        cambi_scan_codes(strip, scan, mark, centres, from, low, high);
        low = cambi_least(low, words);
        if (low == 0xffff)
            break;
        if (!from)
            most = 0xffff - cambi_least(0xffff - high, words);
        const uint32_t looked_at = centres - low < range ? centres - low : range;
        if (thread == 0)
            rows[0] = 0;
        for (uint32_t n = (uint32_t)thread; n < (uint32_t)pairs * 2 * strip.cell; n += THREADS)
            rows[HEAD / 4 + n] = 0;
        block_barrier();
        const uint32_t found = warp_or(cambi_scan_rows(strip, scan, mark + low, looked_at));
        if (lane_index() == 0) /* each bit is set by one warp only */
            shared_add(rows, found);
        block_barrier();
        uint32_t todo = rows[0];

        const uint32_t *weights = (const uint32_t *)(launch.weights + (uint32_t)launch.low * 4) + low;
        const uint8_t *any_weights = launch.weights + ((uint32_t)launch.low + low) * contrasts;
        int32_t y = first_y + leading_zeros(todo), next = y;
        uint32_t come = 0, gone = 0, next_word = cambi_own(strip, y);
        strip.zero = mark + low - contrasts;
        cambi_count_window(strip, y, reach);
        for (;;) {
            const uint32_t centre = next_word - mark - low;
            const bool is_looked_at = centre < looked_at;
            const uint32_t four = GROUP && is_looked_at ? load(weights + centre) : 0;
            todo &= ~(0x80000000u >> (y - first_y));
            next = todo ? first_y + leading_zeros(todo) : y;
            next_word = cambi_own(strip, next);
            come = cambi_pair(strip, y + 1 + reach);
            gone = cambi_pair(strip, y - reach);
            block_barrier();
            if (is_looked_at) {
                const uint32_t bits =
                    GROUP ? cambi_value_of_four<GROUP ? GROUP : 1>(launch, cells, odd, centre, four)
                          : cambi_value_of_any(launch, cells, odd, centre, any_weights + centre * contrasts);
                store(values + (uint32_t)y * (uint32_t)plane.width, bits);
                count += bits != 0;
                sum += cambi_units(bits);
            }
            if (!todo)
                break;
            block_barrier();
            cambi_move_window(strip, y, next, reach, come, gone);
        }
        from = low + range;
        if (from > most)
            break;
    }
    count = warp_sum_word(count);
    sum = warp_sum(sum);
    if (count && lane_index() == 0) {
        atomic_add((int64_t *)(scratch + launch.found) + scale, (int64_t)count);
        atomic_add(&launch.batch.sums[block_z()].cambi[launch.variant].top[launch.image][scale], sum);
    }
}

GPU_KERNEL(vmafgpu_cambi_count_4, vmafgpu__cambi_launch, VMAFGPU__CAMBI_COUNT_THREADS, 12) {
    cambi_count<3>(launch);
}
GPU_KERNEL(vmafgpu_cambi_count_4_wide, vmafgpu__cambi_launch, VMAFGPU__CAMBI_COUNT_THREADS, 12) {
    cambi_count<1>(launch);
}
GPU_KERNEL(vmafgpu_cambi_count, vmafgpu__cambi_launch, VMAFGPU__CAMBI_COUNT_THREADS, 8) {
    cambi_count<0>(launch);
}

/* ---- select ----
 *
 * C-values are floats from 0.5 to 2^15, so the difference between their bits and those of 0.5 has 27 bits. Each of
 * three launches finds nine bits of the N-th largest value. A fourth launch subtracts the smaller values from the sum.
 */
enum { CAMBI_LEAST = 0x3f000000 };

/* libvmaf sums in double precision, where sums of 2^29 or more are rounded. In units of 2^-24, this limit is 2^53. */
#define CAMBI_EXACT ((int64_t)1 << 53)

/* Returns the sum that earlier launches have stored for a scale. Other blocks may be writing the sums of other
 * scales. */
GPU_FN int64_t cambi_sum(const vmafgpu__cambi_launch &launch, uint32_t scale) {
    const uint32_t *at = (const uint32_t *)&launch.batch.sums[block_z()].cambi[launch.variant].top[launch.image][scale];
    const uint32_t low = peek(at);
    return (int64_t)((uint64_t)peek(at + 1) << 32 | low);
}

/* Returns whether `count` has stored a c-value for the sample `word`. */
GPU_FN bool cambi_has_value(const vmafgpu__cambi_launch &launch, uint32_t word) {
    return word - CAMBI_MARK - (uint32_t)launch.base - (uint32_t)launch.low < (uint32_t)launch.centres;
}

/* Returns, in every lane, the bin of the *rank-th largest value. *rank becomes the rank of the value within that
 * bin. */
GPU_FN uint32_t cambi_find_bin(const uint32_t *bins, uint32_t *rank) {
    enum { RUN = VMAFGPU__CAMBI_SELECT_BINS / LANES };
    const uint32_t top = VMAFGPU__CAMBI_SELECT_BINS - 1 - lane_index() * RUN;
    uint32_t sum = 0, bin = 0, rest = 0;
    for (uint32_t i = 0; i < RUN; i++)
        sum += load(bins + top - i);
    uint32_t before = sum;
    for (uint32_t by = 1; by < LANES; by *= 2) {
        const uint32_t other = shuffle_up_word(before, by);
        before += lane_index() >= by ? other : 0;
    }
    before -= sum;
    if (before < *rank && *rank <= before + sum) {
        rest = *rank - before;
        for (bin = top; load(bins + bin) < rest; bin--)
            rest -= load(bins + bin);
    }
    *rank = warp_or(rest);
    return warp_or(bin);
}

GPU_KERNEL(vmafgpu_cambi_select, vmafgpu__cambi_launch, VMAFGPU__CAMBI_SELECT_THREADS, 2) {
    enum {
        BITS = VMAFGPU__CAMBI_SELECT_BITS,
        BINS = VMAFGPU__CAMBI_SELECT_BINS,
        PASSES = VMAFGPU__CAMBI_SELECT_PASSES,
        THREADS = VMAFGPU__CAMBI_SELECT_THREADS
    };
    static_assert(BINS * sizeof(uint32_t) == VMAFGPU__CAMBI_SELECT_SHARED, "shared memory");
    if (!cambi_source(launch))
        return;
    unsigned char *scratch = cambi_scratch(launch);
    const uint32_t pass = (uint32_t)launch.pass;
    uint32_t scale = 0;
#pragma unroll
    for (int s = 1; s < VMAFGPU__CAMBI_SCALES; s++)
        scale += (int32_t)block_x() >= launch.scale[s].first_part;
    const vmafgpu__cambi_plane &plane = launch.scale[scale];
    const int32_t first_y = ((int32_t)block_x() - plane.first_part) * VMAFGPU__CAMBI_SELECT_ROWS;
    const bool is_too_many = (int64_t)load((const uint64_t *)(scratch + launch.found) + scale) > plane.top;
    /* If is_filled, samples without a c-value get 0, because `order` reads all samples. */
    const bool is_filled = pass == 0 && cambi_sum(launch, scale) >= CAMBI_EXACT;
    if (!is_too_many && !is_filled)
        return;
    uint32_t *histogram = (uint32_t *)shared_memory();
    uint32_t *bins = (uint32_t *)(scratch + launch.histograms) + scale * PASSES * BINS;
    uint32_t known = 0, rank = (uint32_t)plane.top;
    for (uint32_t i = 0; i < pass; i++)
        known = known << BITS | cambi_find_bin(bins + i * BINS, &rank);
    const uint32_t shift = pass < PASSES ? (PASSES - 1 - pass) * BITS : 0;
    const uint32_t least = known + CAMBI_LEAST; /* valid after the last pass */
    for (uint32_t n = thread_index(); n < BINS; n += THREADS)
        histogram[n] = 0;
    block_barrier();
    int64_t sum = 0;
#pragma unroll 1
    for (int32_t y = first_y; y < first_y + VMAFGPU__CAMBI_SELECT_ROWS && y < plane.height; y++) {
        const uint16_t *samples = (const uint16_t *)(scratch + plane.samples + (int64_t)y * plane.pitch);
        uint32_t *values = (uint32_t *)(scratch + plane.values) + (int64_t)y * plane.width;
#pragma unroll 1
        for (int32_t x = (int32_t)thread_index() * 4; x < plane.width; x += THREADS * 4) {
            const uint64_t four = load((const uint64_t *)(samples + x));
            uint32_t bits[4];
            /* Loads four words together. Words that were never stored are loaded too, but are ignored below. They are
             * zero, because the host has cleared the scratch memory. */
#pragma unroll
            for (int i = 0; i < 4; i++)
                bits[i] = x + i < plane.width ? peek(values + x + i) : 0;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (x + i >= plane.width)
                    continue;
                if (!cambi_has_value(launch, (uint32_t)(four >> 16 * i) & 65535)) {
                    if (is_filled)
                        store(values + x + i, 0u);
                    continue;
                }
                const uint32_t key = bits[i] - CAMBI_LEAST;
                if (!bits[i])
                    continue;
                if (pass == PASSES)
                    sum -= bits[i] <= least ? cambi_units(bits[i]) : 0;
                else if (key >> shift >> BITS == known)
                    shared_add(histogram + (key >> shift & (BINS - 1)), 1);
            }
        }
    }
    if (pass < PASSES) {
        block_barrier();
        for (uint32_t n = thread_index(); n < BINS; n += THREADS)
            if (histogram[n])
                atomic_add(bins + pass * BINS + n, histogram[n]);
        return;
    }
    sum = warp_sum(sum);
    if (first_y == 0 && warp_index() == 0)
        sum += (int64_t)rank * cambi_units(least);
    if (sum && lane_index() == 0)
        atomic_add(&launch.batch.sums[block_z()].cambi[launch.variant].top[launch.image][scale], sum);
}

/* ---- order ----
 *
 * libvmaf moves the largest c-values to the front with Hoare's selection algorithm, and adds them in double precision
 * in the resulting order. A block does the same. In a round of the selection, values from the left that are not larger
 * than the pivot are swapped with values from the right that are not smaller, until the two sides meet. No swap depends
 * on another, so the threads of the block find the values to swap first and then swap them in parallel.
 */
struct CambiOrder {
    enum {
        THREADS = VMAFGPU__CAMBI_ORDER_THREADS,
        RUN = VMAFGPU__CAMBI_ORDER_RUN,
        CHUNK = THREADS * RUN,
        WARPS = THREADS / LANES,
        SMALL = VMAFGPU__CAMBI_ORDER_SMALL
    };

    /* Shared memory begins with a word or a sum per warp. The rest holds, at different times, two lists of values to be
     * swapped (left and right side), a copy of the values that remain for the last rounds, or two sums per thread. The
     * lists contain positions, as distances from the value at which the latest search of that side began. */
    static_assert(VMAFGPU__CAMBI_ORDER_HEAD + CHUNK * 4 == VMAFGPU__CAMBI_ORDER_SHARED &&
                      WARPS * 8 <= VMAFGPU__CAMBI_ORDER_HEAD && SMALL <= CHUNK && 2 * 8 * THREADS <= CHUNK * 4,
                  "shared memory: doublewords of warps, lists, values, sums");
    GPU_FN uint32_t *head() {
        return (uint32_t *)shared_memory();
    }
    GPU_FN uint32_t *part() {
        return head() + VMAFGPU__CAMBI_ORDER_HEAD / 4;
    }
    GPU_FN uint16_t *list(uint32_t side) {
        return (uint16_t *)part() + side * CHUNK;
    }
    GPU_FN int64_t *sums() {
        return (int64_t *)part();
    }
};

/* Examines the next `count` values, from `first` upwards, or downwards if `side` is 1. Lists, in order, the distance
 * from `first` of each value that must move to the other side. Returns the number of these values. */
GPU_FN uint32_t cambi_find_misplaced(uint32_t *values, uint32_t pivot, int32_t first, uint32_t side, uint32_t count) {
    enum { RUN = CambiOrder::RUN };
    const uint32_t from = warp_index() * LANES * RUN + lane_index();
    uint32_t value[RUN], ranks[2] = {}, found = 0;
    static_assert(RUN == 8, "a byte of two words for each");
#pragma unroll
    for (uint32_t i = 0; i < RUN; i++) {
        const uint32_t at = from + i * LANES;
        value[i] = at < count ? peek(values + (side ? (uint32_t)first - at : (uint32_t)first + at))
                   : side     ? 0
                              : 0xffffffffu;
    }
#pragma unroll
    for (uint32_t i = 0; i < RUN; i++)
        if (side ? value[i] >= pivot && from + i * LANES < count : value[i] <= pivot) {
            found |= 1u << i;
            ranks[i / 4] += 1u << 8 * (i % 4);
        }
#pragma unroll
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t by = 1; by < LANES; by *= 2) {
            const uint32_t other = shuffle_up_word(ranks[k], by);
            ranks[k] += lane_index() >= by ? other : 0;
        }
    const uint32_t all[2] = { shuffle_word(ranks[0], LANES - 1), shuffle_word(ranks[1], LANES - 1) };
    uint32_t number = 0;
#pragma unroll
    for (uint32_t i = 0; i < RUN; i++)
        number += all[i / 4] >> 8 * (i % 4) & 255;
    if (lane_index() == 0)
        CambiOrder::head()[warp_index()] = number;
    block_barrier();
    uint32_t before = 0, total = 0;
#pragma unroll 4
    for (uint32_t i = 0; i < CambiOrder::WARPS; i++) {
        before += i < warp_index() ? CambiOrder::head()[i] : 0;
        total += CambiOrder::head()[i];
    }
#pragma unroll
    for (uint32_t i = 0; i < RUN; i++) {
        if (found >> i & 1)
            CambiOrder::list(side)[before + (ranks[i / 4] >> 8 * (i % 4) & 255) - 1] = (uint16_t)(from + i * LANES);
        before += all[i / 4] >> 8 * (i % 4) & 255;
    }
    block_barrier();
    return total;
}

/* Runs one round between *left and *right, and updates both. */
GPU_FN void cambi_order_round(uint32_t *values, int32_t top, int32_t *left, int32_t *right) {
    enum { CHUNK = CambiOrder::CHUNK };
    const uint16_t *lefts = CambiOrder::list(0), *rights = CambiOrder::list(1);
    const uint32_t pivot = peek(values + top);
    int32_t i = *left, k = *right + 1; /* values i .. k - 1 have not been examined */
    int32_t base[2] = { i, k - 1 }, last[2] = { i - 1, k };
    uint32_t first[2] = {}, end[2] = {};
    bool is_last = false;
    block_barrier();
    while (!is_last) {
        const bool is_left = first[0] == end[0]; /* the side to search next; its list is used up */
        if (i == k && is_left && first[1] == end[1])
            break;
        /* If i == k, all values have been examined, but the list of one side still contains values to swap. The other
         * side then searches for partners among the values that this side has examined. */
        is_last = i == k;
        int32_t count = k - i < CHUNK ? k - i : (int32_t)CHUNK;
        if (is_last) /* only then is it certain that the list of the other side has a next element */
            count = is_left ? base[1] - rights[first[1]] - i + 1 : k - base[0] - lefts[first[0]];
        const uint32_t found = cambi_find_misplaced(values, pivot, is_left ? i : k - 1, !is_left, (uint32_t)count);
        if (is_left) {
            base[0] = i;
            first[0] = 0;
            end[0] = found;
            i += is_last ? 0 : count;
        } else {
            base[1] = k - 1;
            first[1] = 0;
            end[1] = found;
            k -= is_last ? 0 : count;
        }
        uint32_t both = end[0] - first[0] < end[1] - first[1] ? end[0] - first[0] : end[1] - first[1];
        if (is_last) { /* count only the pairs whose left and right elements have not crossed */
            uint32_t number = 0;
            if (thread_index() == 0)
                CambiOrder::head()[0] = 0;
            block_barrier();
            for (uint32_t m = thread_index(); m < both; m += CambiOrder::THREADS)
                number += base[0] + lefts[first[0] + m] <= base[1] - rights[first[1] + m];
            number = warp_sum_word(number);
            if (lane_index() == 0)
                shared_add(CambiOrder::head(), number);
            block_barrier();
            both = CambiOrder::head()[0];
        }
        for (uint32_t m = thread_index(); m < both; m += CambiOrder::THREADS) {
            uint32_t *const a = values + base[0] + lefts[first[0] + m], *const b =
                                                                            values + base[1] - rights[first[1] + m];
            const uint32_t value = peek(a);
            store(a, peek(b));
            store(b, value);
        }
        if (both) {
            last[0] = base[0] + lefts[first[0] + both - 1];
            last[1] = base[1] - rights[first[1] + both - 1];
        }
        first[0] += both;
        first[1] += both;
        block_barrier();
    }
    if (!is_last) {
        k = i - 1;
    } else if (last[0] + 1 > last[1] - 1) {
        i = last[0] + 1;
        k = last[1] - 1;
    } else {
        /* Each side stops at the next value that it would swap or at the last value that it received from the other
         * side, whichever is farther along. */
        i = last[1];
        k = last[0];
        if (first[0] < end[0] && base[0] + lefts[first[0]] < i)
            i = base[0] + lefts[first[0]];
        if (first[1] < end[1] && base[1] - rights[first[1]] > k)
            k = base[1] - rights[first[1]];
    }
    block_barrier();
    if (k < top)
        *left = i;
    if (top < i)
        *right = k;
}

/* Runs the remaining rounds on the values in `part` (shared memory); called by one thread. */
GPU_FN void cambi_order_small(uint32_t *part, int32_t right, int32_t top) {
    int32_t left = 0;
    while (left < right) {
        const uint32_t pivot = part[top];
        int32_t i = left, k = right;
        while (i <= k) {
            while (part[i] > pivot)
                i++;
            while (part[k] < pivot)
                k--;
            if (i <= k) {
                const uint32_t value = part[i];
                part[i++] = part[k];
                part[k--] = value;
            }
        }
        left = k < top ? i : left;
        right = top < i ? k : right;
    }
}

GPU_FN void cambi_gather_top(uint32_t *values, int32_t n, int32_t top) {
    int32_t left = 0, right = n - 1;
    if (top >= n)
        return;
    while (right - left >= CambiOrder::SMALL)
        cambi_order_round(values, top, &left, &right);
    for (int32_t i = left + (int32_t)thread_index(); i <= right; i += CambiOrder::THREADS)
        CambiOrder::part()[i - left] = peek(values + i);
    block_barrier();
    if (thread_index() == 0)
        cambi_order_small(CambiOrder::part(), right - left, top - left);
    block_barrier();
    for (int32_t i = left + (int32_t)thread_index(); i <= right; i += CambiOrder::THREADS)
        store(values + i, CambiOrder::part()[i - left]);
    block_barrier();
}

/* cambi_bits_of() returns the number of significant bits of v; cambi_unit_of() returns the unit in the last place of a
 * double as large as v. Both are for values in units of 2^-24. */
GPU_FN int cambi_bits_of(int64_t v) {
    const uint32_t high = (uint32_t)((uint64_t)v >> 32);
    return high ? 64 - leading_zeros(high) : 32 - leading_zeros((uint32_t)v);
}
GPU_FN int64_t cambi_unit_of(int64_t v) {
    const int bits = cambi_bits_of(v);
    return bits > 53 ? (int64_t)1 << (bits - 53) : 1;
}
/* Rounds to a multiple of the unit; ties go to an even multiple. */
GPU_FN int64_t cambi_rounded(int64_t v, int64_t unit) {
    const int64_t rest = v & (unit - 1), down = v - rest;
    return 2 * rest > unit || (2 * rest == unit && (down & unit)) ? down + unit : down;
}

/* Returns the sum of a chunk of values if all are multiples of the unit, and otherwise a negative number. */
GPU_FN int64_t cambi_add_multiples(uint32_t *values, int64_t unit, uint32_t first, uint32_t end) {
    enum { RUN = CambiOrder::RUN };
    int64_t *of_warps = (int64_t *)CambiOrder::head();
    uint32_t bits[RUN];
    int64_t sum = 0, rest = 0;
#pragma unroll
    for (uint32_t i = 0; i < RUN; i++) {
        const uint32_t at = first + i * CambiOrder::THREADS + thread_index();
        bits[i] = at < end ? peek(values + at) : 0;
    }
#pragma unroll
    for (uint32_t i = 0; i < RUN; i++) {
        const int64_t v = cambi_units(bits[i]);
        sum += v;
        rest |= v & (unit - 1);
    }
    /* -2^58 is so low that other warps cannot make the sum positive, but not so low that the sum overflows if all warps
     * add it. */
    sum = any_lane(rest != 0) ? -((int64_t)1 << 58) : warp_sum(sum);
    if (lane_index() == 0)
        of_warps[warp_index()] = sum;
    block_barrier();
    sum = 0;
#pragma unroll 4
    for (uint32_t i = 0; i < CambiOrder::WARPS; i++)
        sum += of_warps[i];
    block_barrier();
    return sum;
}

/* Computes how much a chunk of values adds to a sum. sums[0] receives the result for a sum that is an even multiple of
 * the unit, sums[1] the result for an odd multiple. As long as the unit does not change, the rounding depends on no
 * other property of the sum. */
GPU_FN void cambi_add_rounded(uint32_t *values, int64_t unit, uint32_t first, uint32_t end) {
    const uint32_t from = first + thread_index() * CambiOrder::RUN;
    int64_t even = 0, odd = unit;
#pragma unroll 1
    for (uint32_t i = from; i < from + CambiOrder::RUN && i < end; i++) {
        const int64_t v = cambi_units(peek(values + i));
        even = cambi_rounded(even + v, unit);
        odd = cambi_rounded(odd + v, unit);
    }
    CambiOrder::sums()[2 * thread_index()] = even;
    CambiOrder::sums()[2 * thread_index() + 1] = odd - unit;
    for (uint32_t by = 1; by < CambiOrder::THREADS; by *= 2) {
        block_barrier();
        if (thread_index() % (2 * by) == 0) {
            int64_t *mine = CambiOrder::sums() + 2 * thread_index(),
                    *next = CambiOrder::sums() + 2 * (thread_index() + by);
            even = mine[0];
            odd = mine[1];
            mine[0] = even + next[even & unit ? 1 : 0];
            mine[1] = odd + next[odd & unit ? 0 : 1];
        }
    }
    block_barrier();
}

GPU_FN int64_t cambi_add_in_order(uint32_t *values, uint32_t top) {
    enum { FEW = 16 };
    int64_t sum = 0;
    uint32_t first = 0, size = CambiOrder::CHUNK;
    while (first < top) {
        const int64_t unit = cambi_unit_of(sum), limit = (int64_t)1 << (52 + cambi_bits_of(unit));
        const uint32_t end = first + size < top ? first + size : top;
        int64_t chunk = cambi_add_multiples(values, unit, first, end);
        if (chunk < 0) {
            cambi_add_rounded(values, unit, first, end);
            chunk = CambiOrder::sums()[sum & unit ? 1 : 0];
            block_barrier();
        }
        if (sum + chunk < limit) {
            sum += chunk;
            first = end;
            continue;
        }
        /* The unit changes within the chunk. Repeat with smaller chunks to find where. */
        if (size > FEW) {
            size /= 8;
            continue;
        }
        for (; first < end; first++) {
            sum += cambi_units(peek(values + first));
            sum = cambi_rounded(sum, cambi_unit_of(sum));
        }
        size = CambiOrder::CHUNK;
    }
    return sum;
}

GPU_KERNEL(vmafgpu_cambi_order, vmafgpu__cambi_launch, VMAFGPU__CAMBI_ORDER_THREADS, 1) {
    const uint32_t scale = block_y();
    if (!cambi_source(launch) || cambi_sum(launch, scale) < CAMBI_EXACT)
        return;
    const vmafgpu__cambi_plane &plane = launch.scale[scale];
    /* Values are the bits of non-negative floats, which have the same order as the floats. */
    uint32_t *values = (uint32_t *)(cambi_scratch(launch) + plane.values);
    cambi_gather_top(values, plane.width * plane.height, (int32_t)plane.top);
    const int64_t sum = cambi_add_in_order(values, (uint32_t)plane.top);
    if (thread_index() == 0)
        store(&launch.batch.sums[block_z()].cambi[launch.variant].top[launch.image][scale], sum);
}

/* ================================================================================================
 * >>speed                                        entropy of chroma planes and of luma changes, in float
 * ================================================================================================
 * Sums are computed in the same order as on the CPU, so the running time is dominated by long sequential sums.
 * Therefore each block does little work, and many blocks run in parallel. Only covariances are summed in parallel; a
 * covariance is recomputed in order if its rounding error could change the result. The y index of a block selects a
 * plane (u of the reference, u of the distorted frame, then v of both); the z index selects a pair.
 */
enum { SPEED_SIDE = VMAFGPU__SPEED_PLACES, SPEED_SQUARE = SPEED_SIDE * SPEED_SIDE };

static_assert(VMAFGPU__SPEED_LOW_THREADS % LANES == 0 && VMAFGPU__SPEED_CHECK_THREADS % LANES == 0 &&
                  VMAFGPU__SPEED_FLAT_THREADS % LANES == 0 && VMAFGPU__SPEED_COVARIANCE_THREADS % LANES == 0 &&
                  VMAFGPU__SPEED_MATRIX_THREADS % LANES == 0 && VMAFGPU__SPEED_ENTROPY_THREADS % LANES == 0 &&
                  VMAFGPU__SPEED_SCORE_THREADS % LANES == 0,
              "blocks are whole warps");

GPU_FN float load_float(const float *p) {
    return float_bits(load((const uint32_t *)p));
}

/* ---- low-resolution planes, one sixteenth of the width and height ---- */

struct SpeedPlane {
    const uint8_t *data;
    int64_t pitch;
    const uint8_t *before; /* the plane to subtract if changes between frames are computed */
    int64_t before_pitch;
    bool is_even; /* whether 16-bit samples are aligned */
};

/* Returns the luma planes of a frame and of the frame before it. */
GPU_FN SpeedPlane speed_changing_plane(const vmafgpu__speed_low_launch &launch) {
    const vmafgpu__gpu_chroma &luma = launch.chroma[block_z()];
    SpeedPlane plane;
    plane.data = (const uint8_t *)luma.plane[block_y()][0];
    plane.pitch = luma.pitch[block_y()][0];
    plane.before = (const uint8_t *)luma.plane[block_y()][1];
    plane.before_pitch = luma.pitch[block_y()][1];
    plane.is_even = true;
    return plane;
}

GPU_FN SpeedPlane speed_plane(const vmafgpu__speed_low_launch &launch) {
    const vmafgpu__gpu_chroma &chroma = launch.chroma[block_z()];
    SpeedPlane plane;
    plane.data = (const uint8_t *)chroma.plane[block_y() & 1][block_y() >> 1];
    plane.pitch = chroma.pitch[block_y() & 1][block_y() >> 1];
    plane.before = nullptr;
    plane.before_pitch = 0;
    plane.is_even = ((uint64_t)plane.data | (uint64_t)plane.pitch) % 2 == 0;
    return plane;
}

GPU_FN uint32_t speed_word(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t x, int32_t y) {
    const uint8_t *at = plane.data + y * plane.pitch + (int64_t)x * launch.step;
    if (launch.bytes == 1)
        return load(at);
    return plane.is_even ? load((const uint16_t *)at) : load(at) | (uint32_t)load(at + 1) << 8;
}

/* Returns a sample minus 128 or, if CHANGES is true, the change in a sample from one frame to the next, both in units
 * of 8-bit samples. */
template <bool CHANGES>
GPU_FN float speed_sample(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t x, int32_t y) {
    if constexpr (CHANGES) {
        const uint8_t *now = plane.data + y * plane.pitch + (int64_t)x * launch.bytes,
                      *before = plane.before + y * plane.before_pitch + (int64_t)x * launch.bytes;
        const int32_t change = launch.bytes == 1
                                   ? (int32_t)load(now) - (int32_t)load(before)
                                   : (int32_t)load((const uint16_t *)now) - (int32_t)load((const uint16_t *)before);
        return (float)change * launch.unit;
    }
    return (float)(int32_t)(speed_word(launch, plane, x, y) >> launch.shift) * launch.unit - 128;
}

GPU_FN int32_t speed_index(uint64_t source) {
    return (int32_t)(uint32_t)source;
}
GPU_FN float speed_weight(uint64_t source) {
    return float_bits((uint32_t)(source >> 32));
}

/* Like speed_column(), but for a prescale that computes each sample from 2 x 2 samples. */
template <bool CHANGES>
GPU_FN float speed_bilinear_column(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t x,
                                   int32_t y) {
    const uint64_t left = load(launch.columns + 2 * (int64_t)x), right = load(launch.columns + 2 * (int64_t)x + 1);
    /* A larger number would require too many scalar registers. */
    [[maybe_unused]] constexpr int32_t AT_ONCE = LANES == 64 || CHANGES ? 1 : 3;
    float sum = 0;
#pragma unroll AT_ONCE
    for (int32_t t = -launch.reach; t <= launch.reach; t++) {
        const int32_t from = vmafgpu__reflect(y + t, launch.scaled_height);
        const uint64_t upper = load(launch.rows + 2 * (int64_t)from), lower = load(launch.rows + 2 * (int64_t)from + 1);
        float value = speed_weight(upper) * speed_weight(left) *
                      speed_sample<CHANGES>(launch, plane, speed_index(left), speed_index(upper));
        value += speed_weight(upper) * speed_weight(right) *
                 speed_sample<CHANGES>(launch, plane, speed_index(right), speed_index(upper));
        value += speed_weight(lower) * speed_weight(left) *
                 speed_sample<CHANGES>(launch, plane, speed_index(left), speed_index(lower));
        value += speed_weight(lower) * speed_weight(right) *
                 speed_sample<CHANGES>(launch, plane, speed_index(right), speed_index(lower));
        sum += launch.taps[t + launch.reach] * value;
    }
    return sum;
}

/* Returns a sample of the prescaled plane. */
template <bool CHANGES>
GPU_FN float speed_resample(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t x, int32_t y) {
    [[maybe_unused]] constexpr int32_t AT_ONCE = CHANGES ? 1 : 2;
    float value = 0, weights = 0;
#pragma unroll 1
    for (int32_t k = 0; k < launch.sources; k++) {
        const uint64_t down = load(launch.rows + (int64_t)y * launch.sources + k);
#pragma unroll AT_ONCE
        for (int32_t i = 0; i < launch.sources; i++) {
            const uint64_t across = load(launch.columns + (int64_t)x * launch.sources + i);
            const float weight = speed_weight(down) * speed_weight(across);
            value += weight * speed_sample<CHANGES>(launch, plane, speed_index(across), speed_index(down));
            weights += weight;
        }
    }
    return launch.has_weights ? quotient(value, weights) : value;
}

/* Returns the weighted sum of the samples of column x around row y. If SCALED is true, x and y are in the prescaled
 * plane. */
template <bool SCALED, bool CHANGES>
GPU_FN float speed_column(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t x, int32_t y) {
    const int32_t reach = launch.reach;
    float sum = 0;
    if (SCALED && launch.sources == 2)
        return speed_bilinear_column<CHANGES>(launch, plane, x, y);
#pragma unroll 1
    for (int32_t t = -reach; t <= reach; t++) {
        const int32_t from = vmafgpu__reflect(y + t, launch.scaled_height);
        float sample;
        if constexpr (SCALED)
            sample = speed_resample<CHANGES>(launch, plane, x, from);
        else
            sample = speed_sample<CHANGES>(launch, plane, x, from);
        sum += launch.taps[t + reach] * sample;
    }
    return sum;
}

/* Eight neighbouring samples of STEP bytes each, including samples of the other plane if u and v are interleaved. */
template <int STEP> struct SpeedChunk {
    uint32_t word[2 * STEP];
};

template <int STEP> GPU_FN SpeedChunk<STEP> speed_load_chunk(const uint8_t *at) {
    SpeedChunk<STEP> chunk;
    if constexpr (STEP == 1) {
        const uint64_t words = load((const uint64_t *)at);
        chunk.word[0] = (uint32_t)words;
        chunk.word[1] = (uint32_t)(words >> 32);
    } else {
#pragma unroll
        for (int i = 0; i < STEP / 2; i++) {
            const Words4 words = load((const Words4 *)at + i);
            chunk.word[4 * i] = words.x;
            chunk.word[4 * i + 1] = words.y;
            chunk.word[4 * i + 2] = words.z;
            chunk.word[4 * i + 3] = words.w;
        }
    }
    return chunk;
}

/* Computes low-resolution columns from whole chunks in the usual case: 9 taps and no prescale. Each column uses the end
 * of one chunk and the beginning of the next. Like the CPU code, also checks all chunks of the rows for illegal words,
 * that is, words with a set bit that must be 0. */
template <int STEP>
GPU_FN void speed_low_wide(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t y, int32_t first,
                           int32_t count, float *sums) {
    constexpr int32_t REACH = VMAFGPU__SPEED_WIDE_REACH, TAPS = 2 * REACH + 1;
    constexpr int32_t AT_ONCE = LANES == 64 ? 3 : TAPS; /* rows per load; more would use too many scalar registers */
    const uint32_t aside = (uint32_t)vmafgpu__speed_aside(&launch, (int32_t)block_y() >> 1);
    const uint8_t *data = plane.data - aside;
    const uint32_t down = 8 * aside + (uint32_t)launch.shift;
    const uint32_t sample_bits = (launch.bytes == 1 ? 0xffu : 0xffffu) >> launch.shift;
    const float offset = 8388608.0f * launch.unit + 128;
    const int32_t whole = launch.width / 8;
    const int32_t end = first + count < launch.low_columns ? 2 * count : (launch.width + 7) / 8 - (2 * first - 1);
    uint32_t seen = 0;
    for (int32_t i = (int32_t)thread_index(); i < end; i += VMAFGPU__SPEED_LOW_THREADS) {
        const int32_t chunk = 2 * first - 1 + i;
        if (chunk < 0 || (i >= 2 * count && !launch.mask))
            continue;
        if (chunk >= whole) { /* the row ends in this chunk, and no output column needs the chunk */
#pragma unroll 1
            for (int32_t t = -REACH; t <= REACH; t++)
#pragma unroll 1
                for (int32_t x = 8 * chunk; x < launch.width; x++)
                    seen |= speed_word(launch, plane, x, vmafgpu__reflect(y + t, launch.height)) << 8 * aside;
            continue;
        }
        /* If true, the last four samples of the chunk are used, otherwise the first five. */
        const bool is_end = i % 2 == 0;
        float sum[REACH + 1] = {};
#pragma unroll 1
        for (int32_t from = 0; from < TAPS; from += AT_ONCE) {
            SpeedChunk<STEP> rows[AT_ONCE];
#pragma unroll
            for (int32_t t = 0; t < AT_ONCE; t++)
                rows[t] =
                    speed_load_chunk<STEP>(data + vmafgpu__reflect(y + from + t - REACH, launch.height) * plane.pitch +
                                           (int64_t)chunk * (8 * STEP));
#pragma unroll
            for (int32_t t = 0; t < AT_ONCE; t++) {
#pragma unroll
                for (int k = 0; k < 2 * STEP; k++)
                    seen |= rows[t].word[k];
#pragma unroll
                for (int k = 0; k <= REACH; k++) {
                    const uint32_t begin = rows[t].word[k * STEP / 4] >> k * STEP % 4 * 8;
                    const uint32_t later = rows[t].word[(k + 4) % 8 * STEP / 4] >> (k + 4) % 8 * STEP % 4 * 8;
                    const uint32_t sample = (is_end ? later : begin) >> down & sample_bits;
                    sum[k] += launch.taps[from + t] * (float_bits(0x4b000000u | sample) * launch.unit - offset);
                }
            }
        }
        if (i >= 2 * count)
            continue;
        float *out = sums + i / 2 * TAPS + (is_end ? 0 : REACH);
#pragma unroll
        for (int k = 0; k < REACH; k++)
            out[k] = sum[k];
        if (!is_end)
            out[REACH] = sum[REACH];
        if (chunk == 0) { /* the plane is reflected at its left edge */
#pragma unroll
            for (int k = 1; k <= REACH; k++)
                out[-k] = sum[k];
        }
    }
    if (STEP == 2)
        seen |= seen >> 16;
    seen = warp_or(seen >> 8 * aside);
    if ((seen & launch.mask) && lane_index() == 0)
        atomic_or(&launch.illegal[block_z()], block_y() & 1 ? 8u : 4u);
}

/* Computes some columns of a row of a low-resolution plane; the x index of the block selects both. STEP is the distance
 * between two samples in bytes, or 0 if the plane is prescaled. If CHANGES is true, the samples are changes between
 * frames. */
template <int STEP, bool CHANGES = false> GPU_FN void speed_low(const vmafgpu__speed_low_launch &launch) {
    const SpeedPlane plane = CHANGES ? speed_changing_plane(launch) : speed_plane(launch);
    if (!plane.data || !launch.chroma[block_z()].plane[1][0])
        return;
    const int32_t across = (launch.low_columns + launch.block_columns - 1) / launch.block_columns;
    const int32_t taps = 2 * launch.reach + 1;
    const int32_t y = (int32_t)block_x() / across, first = (int32_t)block_x() % across * launch.block_columns;
    const int32_t left = launch.low_columns - first, count = left < launch.block_columns ? left : launch.block_columns;
    float *sums = (float *)shared_memory();
    bool is_done = false;
    if constexpr (STEP > 0) {
        is_done = vmafgpu__speed_is_wide(&launch, (int32_t)block_y() >> 1, plane.data, plane.pitch);
        if (is_done)
            speed_low_wide<STEP>(launch, plane, y << VMAFGPU__SPEED_SHIFT, first, count, sums);
    }
    if (!is_done) {
        for (int32_t i = (int32_t)thread_index(); i < count * taps; i += VMAFGPU__SPEED_LOW_THREADS) {
            const int32_t column = ((first + i / taps) << VMAFGPU__SPEED_SHIFT) + i % taps - launch.reach;
            sums[i] = speed_column < STEP == 0,
            CHANGES > (launch, plane, vmafgpu__reflect(column, launch.scaled_width), y << VMAFGPU__SPEED_SHIFT);
        }
    }
    block_barrier();
    float *out = (float *)((unsigned char *)launch.scratch + block_z() * launch.layout.size) + launch.layout.low.first +
                 block_y() * launch.layout.low.next;
    for (int32_t i = (int32_t)thread_index(); i < count; i += VMAFGPU__SPEED_LOW_THREADS) {
        float sum = 0;
        for (int32_t t = 0; t < taps; t++)
            sum += launch.taps[t] * sums[i * taps + t];
        store(out + y * launch.low_columns + first + i, sum);
    }
}

/* The number in a kernel name is the distance between two samples in bytes. Launches with a prescale need separate
 * kernels: in a common kernel, nvcc would hoist the loads of the prescale tables above the condition, so that they
 * would be executed even if there are no tables. */
GPU_KERNEL(vmafgpu_speed_low_scaled, vmafgpu__speed_low_launch, VMAFGPU__SPEED_LOW_THREADS, 4) {
    speed_low<0>(launch);
}
GPU_KERNEL(vmafgpu_speed_change, vmafgpu__speed_low_launch, VMAFGPU__SPEED_LOW_THREADS, 4) {
    speed_low<0, true>(launch);
}
GPU_KERNEL(vmafgpu_speed_low_1, vmafgpu__speed_low_launch, VMAFGPU__SPEED_LOW_THREADS, 4) {
    speed_low<1>(launch);
}
GPU_KERNEL(vmafgpu_speed_low_2, vmafgpu__speed_low_launch, VMAFGPU__SPEED_LOW_THREADS, 4) {
    speed_low<2>(launch);
}
GPU_KERNEL(vmafgpu_speed_low_4, vmafgpu__speed_low_launch, VMAFGPU__SPEED_LOW_THREADS, 3) {
    speed_low<4>(launch);
}

/* Returns the OR of the words of a row, ignoring interleaved words of the other plane. */
GPU_FN uint32_t speed_seen_in_row(const vmafgpu__speed_low_launch &launch, const SpeedPlane &plane, int32_t y) {
    const uint32_t aside = (uint32_t)vmafgpu__speed_aside(&launch, (int32_t)block_y() >> 1);
    const uint8_t *row = plane.data - aside + y * plane.pitch;
    const int32_t whole = plane.is_even && (uint64_t)row % 16 == 0 ? launch.width * launch.step / 16 : 0;
    uint32_t seen = 0;
#pragma unroll 4
    for (int32_t i = (int32_t)thread_index(); i < whole; i += VMAFGPU__SPEED_CHECK_THREADS) {
        const Words4 words = load((const Words4 *)row + i);
        seen |= words.x | words.y | words.z | words.w;
    }
    seen = launch.step == 4 ? seen >> 8 * aside : seen | seen >> 16;
#pragma unroll 4
    for (int32_t x = whole * 16 / launch.step + (int32_t)thread_index(); x < launch.width;
         x += VMAFGPU__SPEED_CHECK_THREADS)
        seen |= speed_word(launch, plane, x, y);
    return seen;
}

/* Checks the complete source rows of low-resolution row block_x() for illegal words, unless speed_low() checks them. */
template <bool SCALED> GPU_FN void speed_check(const vmafgpu__speed_low_launch &launch) {
    const SpeedPlane plane = speed_plane(launch);
    if (!plane.data || !launch.chroma[block_z()].plane[1][0] ||
        vmafgpu__speed_is_wide(&launch, (int32_t)block_y() >> 1, plane.data, plane.pitch))
        return;
    uint32_t seen = 0;
#pragma unroll 1
    for (int32_t t = -launch.reach; t <= launch.reach; t++) {
        const int32_t y = ((int32_t)block_x() << VMAFGPU__SPEED_SHIFT) + t;
        if (y < 0 || y >= launch.scaled_height) /* a row inside the plane replaces this one and is checked anyway */
            continue;
#pragma unroll 1
        for (int32_t k = 0; k < (SCALED ? launch.sources : 1); k++) {
            int32_t from = y;
            if constexpr (SCALED)
                from = speed_index(load(launch.rows + (int64_t)y * launch.sources + k));
            seen |= speed_seen_in_row(launch, plane, from);
        }
    }
    seen = warp_or(seen);
    if ((seen & launch.mask) && lane_index() == 0)
        atomic_or(&launch.illegal[block_z()], block_y() & 1 ? 8u : 4u);
}

GPU_KERNEL(vmafgpu_speed_check, vmafgpu__speed_low_launch, VMAFGPU__SPEED_CHECK_THREADS, 4) {
    speed_check<false>(launch);
}
GPU_KERNEL(vmafgpu_speed_check_scaled, vmafgpu__speed_low_launch, VMAFGPU__SPEED_CHECK_THREADS, 4) {
    speed_check<true>(launch);
}

/* ---- functions that the other kernels share ---- */

GPU_FN bool speed_is_skipped(const vmafgpu__speed_launch &launch) {
    return !(launch.pairs >> block_z() & 1);
}

/* Returns a part of the scratch memory for a plane of this block's pair. */
GPU_FN float *speed_part(const vmafgpu__speed_launch &launch, const vmafgpu__speed_part &part, uint32_t plane) {
    return (float *)((unsigned char *)launch.scratch + block_z() * launch.layout.size) + part.first + plane * part.next;
}

/* Returns the number of positions at which a block can be placed along an axis of a plane; the axis is `blocks` blocks
 * long. */
GPU_FN int32_t speed_positions(int32_t blocks) {
    return VMAFGPU__SPEED_BLOCK * (blocks - 1) + 1;
}

/* Returns the address of place p of the block at `start`. The places of a block are its samples, numbered row by
 * row. */
GPU_FN const float *speed_place(const vmafgpu__speed_launch &launch, const float *start, int32_t p) {
    return start + p / VMAFGPU__SPEED_BLOCK * launch.columns + p % VMAFGPU__SPEED_BLOCK;
}

/* ---- subtraction of the local mean; means of windows ---- */

/* Returns the local mean at x, y. REACH is 0 if the launch specifies the number of taps. */
template <int REACH>
GPU_FN float speed_local_mean(const vmafgpu__speed_launch &launch, const float *low, int32_t x, int32_t y) {
    [[maybe_unused]] constexpr int AT_ONCE = REACH ? 2 * REACH + 1 : 1;
    const int32_t w = launch.columns, h = launch.rows, reach = REACH ? REACH : launch.local_reach;
    float sum = 0;
#pragma unroll AT_ONCE
    for (int32_t t = -reach; t <= reach; t++) {
        const float *column = low + vmafgpu__reflect(x + t, w);
        float mean = 0;
#pragma unroll AT_ONCE
        for (int32_t k = -reach; k <= reach; k++)
            mean += launch.local_taps[k + reach] * load_float(column + vmafgpu__reflect(y + k, h) * w);
        sum += launch.local_taps[t + reach] * mean;
    }
    return sum;
}

/* Subtracts the local mean from rows first .. end - 1 of the plane, with `count` threads, and writes the results to
 * global memory and to `band` in shared memory. */
GPU_FN void speed_flatten(const vmafgpu__speed_launch &launch, float *band, int32_t first, int32_t end, int32_t thread,
                          int32_t count) {
    const int32_t used = VMAFGPU__SPEED_BLOCK * launch.blocks_across, w = launch.columns;
    const float *low = speed_part(launch, launch.layout.low, block_y());
    float *flat = speed_part(launch, launch.layout.flat, block_y());
#pragma unroll 1
    for (int32_t i = thread; i < (end - first) * used; i += count) {
        const int32_t x = i % used, y = first + i / used;
        const float mean =
            launch.local_reach == 1 ? speed_local_mean<1>(launch, low, x, y) : speed_local_mean<0>(launch, low, x, y);
        const float value = load_float(low + y * w + x) - mean;
        band[i] = value;
        store(flat + y * w + x, value);
    }
}

/* Adds `count` numbers to a sum, in order. Loads the next numbers while it adds the current ones, so it also reads
 * beyond the last number. The sum starts from 0 and is never -0, so adding 0 does not change it. */
GPU_FN float speed_add_row(float sum, const float *row, int32_t count) {
    constexpr int32_t AT_ONCE = VMAFGPU__SPEED_FLAT_AT_ONCE / 2;
    float first[AT_ONCE], second[AT_ONCE];
#pragma unroll
    for (int32_t k = 0; k < AT_ONCE; k++)
        first[k] = row[k];
#pragma unroll 1
    for (; count > 2 * AT_ONCE; count -= 2 * AT_ONCE, row += 2 * AT_ONCE) {
#pragma unroll
        for (int32_t k = 0; k < AT_ONCE; k++) {
            second[k] = row[AT_ONCE + k];
            sum += first[k];
        }
#pragma unroll
        for (int32_t k = 0; k < AT_ONCE; k++) {
            first[k] = row[2 * AT_ONCE + k];
            sum += second[k];
        }
    }
#pragma unroll
    for (int32_t k = 0; k < AT_ONCE; k++)
        second[k] = row[AT_ONCE + k];
#pragma unroll
    for (int32_t k = 0; k < AT_ONCE; k++)
        sum += k < count ? first[k] : 0;
    if (count > AT_ONCE)
#pragma unroll
        for (int32_t k = 0; k < AT_ONCE; k++)
            sum += k + AT_ONCE < count ? second[k] : 0;
    return sum;
}

/* Subtracts the local mean and computes the mean of each window. There is one window for each place of a block: it
 * starts at this place of the first block, and contains one sample for every position that a block can have. The first
 * warp sums a band of rows, with a lane per window, while the other warps compute the next band. */
GPU_FN void speed_flat(const vmafgpu__speed_launch &launch) {
    constexpr int32_t THREADS = VMAFGPU__SPEED_FLAT_THREADS;
    if (speed_is_skipped(launch))
        return;
    const int32_t w = speed_positions(launch.blocks_across), h = speed_positions(launch.blocks_down);
    const int32_t used = vmafgpu__speed_flat_strip(1, launch.blocks_across),
                  rows = VMAFGPU__SPEED_BLOCK * launch.blocks_down;
    const int32_t thread = (int32_t)thread_index(), p = thread, step = launch.strip_rows;
    const int32_t top = p / VMAFGPU__SPEED_BLOCK, left = p % VMAFGPU__SPEED_BLOCK;
    float *band = (float *)shared_memory(), *other = band + step * used + VMAFGPU__SPEED_FLAT_AT_ONCE;
    float total = 0;
    speed_flatten(launch, band, 0, step < rows ? step : rows, thread, THREADS);
    block_barrier();
    for (int32_t first = 0; first < rows; first += step) {
        const int32_t end = first + step < rows ? first + step : rows;
        if (thread >= LANES)
            speed_flatten(launch, other, end, end + step < rows ? end + step : rows, thread - LANES, THREADS - LANES);
        else if (p < SPEED_SIDE)
            for (int32_t y = first > top ? first : top; y < end && y < top + h; y++)
                total = speed_add_row(total, band + (y - first) * used + left, w);
        block_barrier();
        float *done = band;
        band = other;
        other = done;
    }
    if (p < SPEED_SIDE)
        store(speed_part(launch, launch.layout.means, block_y()) + p, quotient(total, (float)(w * h)));
}

GPU_KERNEL(vmafgpu_speed_flat, vmafgpu__speed_launch, VMAFGPU__SPEED_FLAT_THREADS, 2) {
    speed_flat(launch);
}

/* ---- covariance: sums of products of two samples at a fixed distance ----
 *
 * The covariance of places p and q needs the sum of the products of the samples of two windows, which begin at p and at
 * q. For another pair of places at the same distance, the sum consists of mostly the same products. Therefore one
 * thread block computes the sums for one distance and all windows; one more thread block sums the samples themselves.
 * Sums are in double precision; the products are exact. First, a thread sums down a column, once for each first row of
 * a window. Then one thread per first row adds these sums along the columns, once for each first column of a window.
 * The part that all windows have in common is summed only once. */

enum { SPEED_EDGE = VMAFGPU__SPEED_BLOCK - 1, SPEED_SINGLE = VMAFGPU__SPEED_DISTANCES - 1 };

struct SpeedDistance {
    int32_t x, y, first, last; /* windows begin in columns first .. last and rows 0 .. 4 - y */
    bool is_single;
};

GPU_FN SpeedDistance speed_distance(int32_t index) {
    SpeedDistance d;
    const int32_t beyond = index - VMAFGPU__SPEED_BLOCK, across = 2 * SPEED_EDGE + 1;
    d.is_single = index == SPEED_SINGLE;
    d.y = d.is_single || beyond < 0 ? 0 : beyond / across + 1;
    d.x = d.is_single ? 0 : beyond < 0 ? index : beyond % across - SPEED_EDGE;
    d.first = d.x < 0 ? -d.x : 0;
    d.last = d.x > 0 ? SPEED_EDGE - d.x : SPEED_EDGE;
    return d;
}

/* Returns the product of a sample and the sample at the given distance, or the sample itself if is_single is true. */
GPU_FN double speed_product(const float *at, const float *other, bool is_single) {
    const float factor = load_float(other);
    return (double)load_float(at) * (double)(is_single ? 1 : factor);
}

/* For each window, whose first row is k, sums the products down column x, and writes the sum to column[k * pitch]. */
GPU_FN void speed_sum_column(const float *flat, int32_t columns, int32_t h, int32_t x, const SpeedDistance &d,
                             double *column, int32_t pitch) {
    const float *at = flat + x, *other = at + d.y * columns + d.x;
    double core = 0, above[SPEED_EDGE + 1], below = 0;
#pragma unroll
    for (int32_t y = 0; y < SPEED_EDGE; y++, at += columns, other += columns)
        above[y] = speed_product(at, other, d.is_single);
    above[SPEED_EDGE] = 0;
#pragma unroll
    for (int32_t y = SPEED_EDGE - 1; y >= 0; y--)
        above[y] = above[y + 1] + above[y];
#pragma unroll 4
    for (int32_t y = SPEED_EDGE; y < h; y++, at += columns, other += columns)
        core += speed_product(at, other, d.is_single);
#pragma unroll
    for (int32_t k = 0; k <= SPEED_EDGE; k++, at += columns, other += columns) {
        if (k > SPEED_EDGE - d.y)
            break;
        column[k * pitch] = (core + above[k]) + below;
        if (k < SPEED_EDGE - d.y)
            below += speed_product(at, other, d.is_single);
    }
}

GPU_FN void speed_covariance(const vmafgpu__speed_launch &launch) {
    constexpr int32_t THREADS = VMAFGPU__SPEED_COVARIANCE_THREADS;
    if (speed_is_skipped(launch))
        return;
    const int32_t w = speed_positions(launch.blocks_across), h = speed_positions(launch.blocks_down);
    const int32_t thread = (int32_t)thread_index(), chunk = launch.chunk_columns;
    const SpeedDistance d = speed_distance((int32_t)block_x());
    const float *flat = speed_part(launch, launch.layout.flat, block_y());
    double *sums = (double *)speed_part(launch, launch.layout.sums, block_y()) + block_x() * SPEED_SIDE;
    if (w < SPEED_EDGE || h < SPEED_EDGE) { /* the windows are too small to overlap in at least one direction */
        const int32_t x = thread % VMAFGPU__SPEED_BLOCK, y = thread / VMAFGPU__SPEED_BLOCK;
        if (x < d.first || x > d.last || y > SPEED_EDGE - d.y)
            return;
        double sum = 0;
        for (int32_t k = y; k < y + h; k++)
            for (int32_t i = x; i < x + w; i++)
                sum += speed_product(flat + k * launch.columns + i, flat + (k + d.y) * launch.columns + i + d.x,
                                     d.is_single);
        store(sums + thread, sum);
        return;
    }

    double *columns = (double *)shared_memory();
    const double *row = columns + thread * chunk; /* valid only in threads that add a row */
    double core = 0, left[SPEED_EDGE + 1] = {}, right[SPEED_EDGE + 1] = {};
    for (int32_t from = 0; from < w + SPEED_EDGE; from += chunk) {
        const int32_t end = from + chunk < w + d.last ? from + chunk : w + d.last;
        for (int32_t x = from + thread; x < end; x += THREADS)
            if (x >= d.first)
                speed_sum_column(flat, launch.columns, h, x, d, columns + (x - from), chunk);
        block_barrier();
        if (thread <= SPEED_EDGE - d.y) {
#pragma unroll
            for (int32_t x = SPEED_EDGE - 1; x >= 0; x--)
                if (from == 0 && x >= d.first)
                    left[x] = left[x + 1] + row[x];
            const int32_t last = end < w ? end : w;
#pragma unroll 8
            for (int32_t x = from == 0 ? (int32_t)SPEED_EDGE : from; x < last; x++)
                core += row[x - from];
#pragma unroll
            for (int32_t k = 0; k < SPEED_EDGE; k++)
                if (w + k >= from && w + k < end)
                    right[k + 1] = right[k] + row[w + k - from];
        }
        block_barrier();
    }
    if (thread > SPEED_EDGE - d.y)
        return;
#pragma unroll
    for (int32_t k = 0; k <= SPEED_EDGE; k++)
        if (k >= d.first && k <= d.last)
            store(sums + thread * VMAFGPU__SPEED_BLOCK + k, (core + left[k]) + right[k]);
}

GPU_KERNEL(vmafgpu_speed_covariance, vmafgpu__speed_launch, VMAFGPU__SPEED_COVARIANCE_THREADS, 4) {
    speed_covariance(launch);
}

GPU_FN double load_double(const double *p) {
    return double_bits(load((const uint64_t *)p));
}

enum { SPEED_WARPS = VMAFGPU__SPEED_MATRIX_THREADS / LANES };

/* Two windows of the plane with different origins, and the means of their samples. */
struct SpeedCovariance {
    const float *a, *b;
    double mean_a, mean_b;
};

/* Computes the same sum as vmafgpu__speed_covariance_in_order(), but uses a whole warp. Each addition waits for the
 * previous one, so everything else is done beforehand: each lane computes one of LANES terms, and then every lane adds
 * all of these terms in order. `terms` is shared memory for LANES numbers. */
GPU_FN double speed_covariance_in_order(const vmafgpu__speed_launch &launch, const SpeedCovariance &c, double *terms) {
    const int32_t w = speed_positions(launch.blocks_across), h = speed_positions(launch.blocks_down);
    const int32_t lane = (int32_t)lane_index(), last = (h - 1) * launch.columns + w - 1;
    int32_t x = lane, at = lane;
    double sum = 0;
    float next_a = 0, next_b = 0;
    for (int32_t from = -LANES; from < w * h; from += LANES) {
        /* The first round and the terms beyond the end add 0, which changes nothing because the sum is never -0. */
        const bool is_term = from >= 0 && from + lane < w * h;
        terms[lane] = is_term ? ((double)next_a - c.mean_a) * ((double)next_b - c.mean_b) : 0;
        for (; x >= w; x -= w)
            at += launch.columns - w;
        next_a = load_float(c.a + (at < last ? at : last));
        next_b = load_float(c.b + (at < last ? at : last));
        x += LANES;
        at += LANES;
        warp_barrier();
#pragma unroll
        for (int32_t k = 0; k < LANES; k++)
            sum += terms[k];
        warp_barrier();
    }
    return sum;
}

GPU_FN SpeedCovariance speed_places(const vmafgpu__speed_launch &launch, int32_t p, int32_t q) {
    constexpr int32_t BLOCK = VMAFGPU__SPEED_BLOCK;
    const float *means = speed_part(launch, launch.layout.means, block_y());
    const float *flat = speed_part(launch, launch.layout.flat, block_y());
    SpeedCovariance c;
    c.a = flat + p / BLOCK * launch.columns + p % BLOCK;
    c.b = flat + q / BLOCK * launch.columns + q % BLOCK;
    c.mean_a = (double)load_float(means + p);
    c.mean_b = (double)load_float(means + q);
    return c;
}

/* Returns entry (p, q), p <= q, of the matrix as vmafgpu__speed_covariance_of() computes it, or NaN if the sum has to
 * be computed in order. */
GPU_FN float speed_covariance_of(const vmafgpu__speed_launch &launch, int32_t p, int32_t q) {
    constexpr int32_t BLOCK = VMAFGPU__SPEED_BLOCK;
    const SpeedCovariance c = speed_places(launch, p, q);
    const double *sums = (const double *)speed_part(launch, launch.layout.sums, block_y());
    const int32_t x = q % BLOCK - p % BLOCK, y = q / BLOCK - p / BLOCK;
    const int32_t index = y == 0 ? x : BLOCK + (y - 1) * (2 * SPEED_EDGE + 1) + x + SPEED_EDGE;
    const int32_t w = speed_positions(launch.blocks_across), h = speed_positions(launch.blocks_down);
    const double n = (double)(w * h);
    const double single_p = load_double(sums + SPEED_SINGLE * SPEED_SIDE + p),
                 single_q = load_double(sums + SPEED_SINGLE * SPEED_SIDE + q);
    const double both = load_double(sums + index * SPEED_SIDE + p) - c.mean_a * single_q - c.mean_b * single_p +
                        n * c.mean_a * c.mean_b;
    const double error =
        vmafgpu__speed_covariance_error(w, h, both, vmafgpu__speed_spread(n, load_double(sums + p), c.mean_a),
                                        vmafgpu__speed_spread(n, load_double(sums + q), c.mean_b));
    const float low = (float)quotient(both - error, n), high = (float)quotient(both + error, n);
    return low == high ? low : float_bits(0x7fffffff);
}

/* Computes all entries with the threads of a block. `terms` is shared memory for VMAFGPU__SPEED_MATRIX_THREADS
 * numbers. */
GPU_FN void speed_read_covariance(const vmafgpu__speed_launch &launch, float *matrix, double *terms) {
    for (int32_t i = (int32_t)thread_index(); i < SPEED_SQUARE; i += VMAFGPU__SPEED_MATRIX_THREADS) {
        const int32_t p = i / SPEED_SIDE, q = i % SPEED_SIDE;
        if (p <= q)
            matrix[i] = matrix[q * SPEED_SIDE + p] = speed_covariance_of(launch, p, q);
    }
    block_barrier();
    const int32_t warp = (int32_t)warp_index();
    const double n = (double)(speed_positions(launch.blocks_across) * speed_positions(launch.blocks_down));
#pragma unroll 1
    for (int32_t i = warp; i < SPEED_SQUARE; i += SPEED_WARPS) {
        const int32_t p = i / SPEED_SIDE, q = i % SPEED_SIDE;
        if (p > q || matrix[i] == matrix[i])
            continue;
        const double sum = speed_covariance_in_order(launch, speed_places(launch, p, q), terms + warp * LANES);
        /* no other thread reads these entries before the barrier */
        matrix[i] = matrix[q * SPEED_SIDE + p] = (float)quotient(sum, n);
    }
    block_barrier();
}

/* ---- eigenvalues, by one warp ---- */

/* Returns 1 / sqrt(v) with the same rounding as a computation in double, for 1 <= v <= 2 or NaN. The estimate y must be
 * accurate to 12 units in the last place. This has been verified for all such v and y. */
GPU_FN float speed_inverse_root(float v, float y) {
    y = fused(y * 0.5f, fused(-(v * y), y, 1.0f), y);
    const float square = y * y;
    const float error = fused(-v, fused(y, y, -square), fused(-v, square, 1.0f));
    return fused(y, error * fused(0.375f, error, 0.5f), y);
}

enum { SPEED_LINE = VMAFGPU__SPEED_LINE };

/* Four floats, aligned to 16 bytes. */
struct alignas(16) Floats4 {
    float x, y, z, w;
};
GPU_FN void load_four(const float *p, float (&v)[4]) {
    const Floats4 four = *(const Floats4 *)p;
    v[0] = four.x;
    v[1] = four.y;
    v[2] = four.z;
    v[3] = four.w;
}

template <int COUNT> GPU_FN void load_line(const float *p, float (&v)[COUNT]) {
    static_assert(COUNT % 4 == 0, "by fours");
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        float four[4];
        load_four(p + i, four);
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[i + k] = four[k];
    }
}

struct SpeedEigen {
    float *column, *v, *x, *d, *e;
};

/* Reduces the matrix to tridiagonal form. In step i, lane r holds row r from column i on: the element in column i in
 * `own`, and the elements to its right in `a`, left-aligned and padded with zeros. The vectors in shared memory, which
 * all lanes read, have the same layout as `a`. */
GPU_FN void speed_tridiagonalise(const SpeedEigen &m, const float *matrix) {
    constexpr int32_t REST = SPEED_SIDE - 1;
    const int32_t r = (int32_t)lane_index();
    const bool is_row = r < SPEED_SIDE;
    float own = is_row ? matrix[r * SPEED_SIDE] : 0, a[REST];
#pragma unroll
    for (int32_t c = 0; c < REST; c++)
        a[c] = is_row ? matrix[r * SPEED_SIDE + c + 1] : 0;
    for (int32_t i = 0; i + 2 < SPEED_SIDE; i++) {
        const int32_t top = i + 1, place = r >= top ? r - top : r + SPEED_SIDE - top;
        const bool is_inside = is_row && r >= top;
        if (is_row)
            m.column[place] = is_inside ? own : 0;
        if (r == i)
            m.d[i] = own;
        warp_barrier();
        float line[REST], squares = 0, tau = 0, v = own;
        load_line(m.column, line);
#pragma unroll
        for (int32_t k = 1; k < REST; k++)
            squares += line[k] * line[k];
        const float rest = square_root(squares), alpha = line[0];
        if (rest != 0) {
            const float length = square_root(alpha * alpha + rest * rest);
            const float beta = alpha >= 0 ? -length : length, scale = alpha - beta;
            tau = quotient(beta - alpha, beta);
            if (scale != 0) {
                v = quotient(own, scale);
                own = beta;
            }
        }
        if (r == top)
            m.e[i] = own;
        warp_barrier(); /* all lanes have read the column, which the next step overwrites */
        if (tau != 0) { /* also true if tau is NaN */
            v = r == top ? 1 : is_inside ? v : 0;
            if (is_row)
                m.v[place] = v;
            warp_barrier();
            float x = 0, product = 0, other[REST];
            load_line(m.v, line);
#pragma unroll
            for (int32_t c = 0; c < REST; c++)
                x += tau * a[c] * line[c];
            x = is_inside ? x : 0;
            if (is_row)
                m.x[place] = x;
            warp_barrier();
            load_line(m.x, other);
#pragma unroll
            for (int32_t c = 0; c < REST; c++)
                product += other[c] * line[c];
            x += -0.5f * tau * product * v; /* -0.5f * tau is exact */
            warp_barrier();
            if (is_row)
                m.x[place] = x;
            warp_barrier();
            load_line(m.x, other);
#pragma unroll
            for (int32_t c = 0; c < REST; c++)
                a[c] -= x * line[c] + v * other[c];
        }
        own = a[0];
#pragma unroll
        for (int32_t c = 0; c + 1 < REST; c++)
            a[c] = a[c + 1];
        a[REST - 1] = 0;
    }
    if (r == SPEED_SIDE - 2)
        m.d[r] = own;
    if (r == SPEED_SIDE - 1) {
        m.e[r - 1] = own;
        m.d[r] = a[0];
    }
    warp_barrier();
}

/* Sets negligible off-diagonal elements to 0; each lane handles one element. Returns a mask of the nonzero elements. */
GPU_FN uint32_t speed_chop(const SpeedEigen &m) {
    const int32_t i = (int32_t)lane_index();
    float beside = 0;
    if (i + 1 < SPEED_SIDE) {
        beside = m.e[i];
        const float around = magnitude(m.d[i]) + magnitude(m.d[i + 1]);
        if (magnitude(beside) <= 1.1e-6f * around) /* rare, so slow doubles are acceptable */
            if ((double)magnitude(beside) < 1e-6 * (double)around)
                m.e[i] = beside = 0;
    }
    return first_lanes(beside != 0);
}

GPU_FN float speed_shift(const float *d, const float *e, int32_t m) {
    const float half = (d[m - 2] - d[m - 1]) / 2.0f, side = e[m - 2], corner = d[m - 1];
    const float length = square_root(half * half + side * side);
    const float ratio = quotient(side, (half > 0 ? half : -half) + length);
    const float mu = half > 0 ? corner - side * ratio : half < 0 ? corner + side * ratio : corner - magnitude(side);
    const float least = magnitude(d[0]) + magnitude(e[0]);
    if (1.1e-6f * magnitude(mu) < least) /* nearly always true; avoids slow doubles */
        return mu;
    return 1e-6 * (double)magnitude(mu) > (double)least ? 0 : mu;
}

struct SpeedTangent {
    float t, root;
};

/* Returns t = a / b (0 if a is 0) and 1 / sqrt(1 + t * t). Requires |a| <= |b|. If |a| and |b| are between 2^-100 and
 * 2^24, the refined quotient is rounded exactly as a division rounds it; otherwise a division is used. The estimate of
 * the root is computed from the unrefined quotient. */
GPU_FN SpeedTangent speed_tangent(float a, float b) {
    const uint32_t least = 0x0d800000, range = 0x4b800000 - least; /* 2^-100 to 2^24 */
    SpeedTangent out;
    float y = reciprocal(b);
    y = fused(y, fused(-b, y, 1.0f), y);
    const float start = a * y;
    float root = reciprocal_root(fused(start, start, 1.0f));
    out.t = fused(fused(-b, start, a), y, start);
    out.t = fused(fused(-b, out.t, a), y, out.t);
    if (bits_of(magnitude(a)) - least > range || bits_of(magnitude(b)) - least > range) {
        out.t = a == 0 ? 0 : quotient(a, b); /* 0 / 0 would be NaN */
        root = reciprocal_root(1 + out.t * out.t);
    }
    out.root = speed_inverse_root(1 + out.t * out.t, root);
    return out;
}

/* Runs one QR step on a block of m >= 2 rows. */
GPU_FN void speed_qr_step(float *d, float *e, int32_t m) {
    float x = d[0] - speed_shift(d, e, m), z = e[0];
    float ak = 0, bk = 0, zk = 0, ap = d[0], bp = e[0], aq = d[1], bq = m > 2 ? e[1] : 0;
    for (int32_t k = 0; k + 1 < m; k++) {
        const float next_aq = k + 2 < m ? d[k + 2] : aq, next_bq = k + 3 < m ? e[k + 2] : bq;
        const bool is_steep = magnitude(z) > magnitude(x);
        const SpeedTangent tangent = speed_tangent(is_steep ? -x : -z, is_steep ? z : x);
        const float root = tangent.root, other = root * tangent.t;
        const float c = is_steep ? other : root, s = is_steep ? root : other;
        const float bk1 = c * bk - s * zk;
        const float ap1 = c * (c * ap - s * bp) + s * (s * aq - c * bp);
        const float bp1 = c * (s * ap + c * bp) - s * (s * bp + c * aq);
        const float zp1 = -s * bq;
        const float aq1 = s * (s * ap + c * bp) + c * (s * bp + c * aq);
        const float bq1 = c * bq;
        if (k > 0)
            e[k - 1] = bk1;
        ak = ap1;
        bk = bp1;
        zk = zp1;
        ap = aq1;
        bp = bq1;
        aq = next_aq;
        bq = next_bq;
        d[k] = ak;
        x = bk;
        z = zk;
    }
    d[m - 1] = ap;
    e[m - 2] = bk;
}

GPU_FN void speed_eigenvalues(const vmafgpu__speed_launch &launch) {
    const int32_t lane = (int32_t)lane_index();
    float *out = speed_part(launch, launch.layout.eigenvalues, block_y());
    SpeedEigen m;
    m.column = (float *)shared_memory();
    m.v = m.column + SPEED_LINE;
    m.x = m.v + SPEED_LINE;
    m.d = m.x + SPEED_LINE;
    m.e = m.d + SPEED_LINE;
    float *matrix = m.e + SPEED_LINE;
    speed_read_covariance(launch, matrix, (double *)(matrix + SPEED_SQUARE + 3));
    if (warp_index() > 0)
        return;
    speed_tridiagonalise(m, matrix);

    uint32_t left = speed_chop(m);
    for (int32_t steps = 0; left && steps < VMAFGPU__SPEED_QR_STEPS; steps++) {
        const int32_t last = vmafgpu__bit_length(left);
        const int32_t first = vmafgpu__bit_length(~left & ((1u << last) - 1));
        warp_barrier();
        if (lane == 0)
            speed_qr_step(m.d + first, m.e + first, last - first + 1);
        warp_barrier();
        left = speed_chop(m);
    }
    warp_barrier();
    const float value = lane < SPEED_SIDE ? m.d[lane] : 1;
    const uint32_t is_singular = warp_or((double)value < 1e-6);
    if (lane < SPEED_SIDE)
        store(out + lane, value);
    if (lane == 0)
        store((uint32_t *)out + SPEED_SIDE, is_singular);
}

/* ---- solution matrix: a QR decomposition with whole matrices, by a thread block ----
 *
 * A thread holds five rows of a column. The reflection of step k does not change the rows above row k, because its
 * vector is 0 in these rows. Sums of products can omit these zeros as long as all numbers are finite. */

enum {
    SPEED_GROUPS = VMAFGPU__SPEED_MATRIX_THREADS / 64,
    SPEED_ROWS = SPEED_SIDE / SPEED_GROUPS,
    SPEED_PITCH = VMAFGPU__SPEED_MATRIX_PITCH,
    SPEED_VECTOR = 8 * SPEED_GROUPS /* words of a reflection vector: five numbers and three unused words per group */
};
static_assert(SPEED_ROWS * SPEED_GROUPS == SPEED_SIDE && SPEED_ROWS == 5, "every row is in a group");
static_assert((2 * SPEED_SIDE * SPEED_PITCH + 2 * SPEED_LINE + VMAFGPU__SPEED_MATRIX_THREADS / 32 * SPEED_VECTOR +
               SPEED_SQUARE + 1) *
                          4 ==
                      VMAFGPU__SPEED_MATRIX_SHARED &&
                  (5 * SPEED_LINE + SPEED_SQUARE + 3) % 2 == 0 &&
                  (5 * SPEED_LINE + SPEED_SQUARE + 3) * 4 + VMAFGPU__SPEED_MATRIX_THREADS * 8 <=
                      VMAFGPU__SPEED_MATRIX_SHARED,
              "shared memory of the solution, and of the eigenvalues");

struct SpeedSolver {
    float *from, *to;     /* before and after a reflection: reduced matrix z, and q to its right */
    float *column, *next; /* the columns that this reflection and the next one clear */
    float *matrix;
    float *vector; /* vector of the reflection; each warp has its own copy */
    uint32_t *is_singular;
};

/* Multiplies five rows of the reflection matrix by a group of five elements of a column, and adds the products to
 * `sum`. `from` points to the first of these elements. If `is_own` is true, the elements are in the same five rows, so
 * the factors include diagonal elements of the reflection matrix. */
GPU_FN void speed_reflect_group(float (&sum)[SPEED_ROWS], const float (&factor)[SPEED_ROWS], const float *vector,
                                const float *from, bool is_own) {
    float four[4], v[SPEED_ROWS];
    load_four(vector, four);
    const float fifth = vector[4];
#pragma unroll
    for (int32_t k = 0; k < SPEED_ROWS; k++)
        v[k] = from[k * SPEED_PITCH];
#pragma unroll
    for (int32_t k = 0; k < SPEED_ROWS; k++) {
        const float u = k < 4 ? four[k] : fifth;
#pragma unroll
        for (int32_t r = 0; r < SPEED_ROWS; r++) {
            const float element = factor[r] * u;
            sum[r] += (is_own && r == k ? element + 1 : element) * v[k];
        }
    }
}

/* Runs step k of the decomposition. Returns false if a number is not finite. */
GPU_FN bool speed_reflect(const SpeedSolver &m, int32_t k, bool is_finite) {
    const int32_t thread = (int32_t)thread_index(), group = thread / 64, j = thread % 64, lane = (int32_t)lane_index();
    float line[SPEED_LINE]; /* zeros, then the column from row k on, then zeros */
    load_line(m.column, line);
    const float corner = m.column[k];
    float squares = 0;
#pragma unroll
    for (int32_t r = 0; r < SPEED_SIDE; r++)
        squares += line[r] * line[r];
    const float length = square_root(squares);
    const float head = corner + (m.matrix[k * SPEED_SIDE + k] >= 0 ? length : -length);
    squares = 0;
#pragma unroll
    for (int32_t r = 0; r < SPEED_SIDE; r++) {
        const float v = r == k ? head : line[r];
        squares += v * v;
    }
    const float scale = square_root(squares);
    is_finite = is_finite && scale > 0 && scale < float_bits(0x7f800000);
    if (lane < SPEED_SIDE)
        m.vector[lane / SPEED_ROWS * 8 + lane % SPEED_ROWS] = quotient(lane == k ? head : m.column[lane], scale);
    warp_barrier();
    if (j < 2 * SPEED_SIDE) {
        const float *from = m.from + j;
        float sum[SPEED_ROWS] = {}, factor[SPEED_ROWS];
        if (!is_finite || group * SPEED_ROWS + SPEED_ROWS > k) {
#pragma unroll
            for (int32_t r = 0; r < SPEED_ROWS; r++)
                factor[r] = -2 * m.vector[group * 8 + r];
            for (int32_t i = is_finite ? k / SPEED_ROWS : 0; i < SPEED_GROUPS; i++)
                if (i == group)
                    speed_reflect_group(sum, factor, m.vector + 8 * i, from + i * SPEED_ROWS * SPEED_PITCH, true);
                else
                    speed_reflect_group(sum, factor, m.vector + 8 * i, from + i * SPEED_ROWS * SPEED_PITCH, false);
        }
#pragma unroll
        for (int32_t r = 0; r < SPEED_ROWS; r++) {
            const int32_t row = group * SPEED_ROWS + r;
            float v = is_finite && row < k ? from[row * SPEED_PITCH] : sum[r];
            if (j < SPEED_SIDE && (row == k || j == k)) /* the next step requires the identity there */
                v = row == j ? 1 : 0;
            if (j == k + 1)
                m.next[row] = row > k ? v : 0;
            m.to[row * SPEED_PITCH + j] = v;
        }
    }
    block_barrier();
    return is_finite;
}

GPU_FN void speed_solver(const vmafgpu__speed_launch &launch) {
    const int32_t thread = (int32_t)thread_index();
    SpeedSolver m;
    m.from = (float *)shared_memory();
    m.to = m.from + SPEED_SIDE * SPEED_PITCH;
    m.column = m.to + SPEED_SIDE * SPEED_PITCH;
    m.next = m.column + SPEED_LINE;
    m.vector = m.next + SPEED_LINE + warp_index() * SPEED_VECTOR;
    m.matrix = m.next + SPEED_LINE + SPEED_WARPS * SPEED_VECTOR;
    m.is_singular = (uint32_t *)(m.matrix + SPEED_SQUARE);
    speed_read_covariance(launch, m.matrix, (double *)m.from);
    for (int32_t i = thread; i < SPEED_SQUARE; i += VMAFGPU__SPEED_MATRIX_THREADS) {
        const int32_t row = i / SPEED_SIDE, column = i % SPEED_SIDE;
        m.from[row * SPEED_PITCH + column] = m.matrix[i];
        m.from[row * SPEED_PITCH + SPEED_SIDE + column] = row == column ? 1 : 0;
    }
    if (thread < 2 * SPEED_LINE) /* also clears `next`, which follows */
        m.column[thread] = thread < SPEED_SIDE ? m.matrix[thread * SPEED_SIDE] : 0;
    if (thread == 0)
        *m.is_singular = 0;
    block_barrier();
    bool is_finite = true;
    for (int32_t k = 0; k + 1 < SPEED_SIDE; k++) {
        is_finite = speed_reflect(m, k, is_finite);
        float *const other = m.from, *const column = m.column;
        m.from = m.to;
        m.to = other;
        m.column = m.next;
        m.next = column;
    }
    float *q = speed_part(launch, launch.layout.q, block_y()), *r = speed_part(launch, launch.layout.r, block_y());
    for (int32_t i = thread; i < SPEED_SQUARE; i += VMAFGPU__SPEED_MATRIX_THREADS) {
        const int32_t row = i / SPEED_SIDE, column = i % SPEED_SIDE;
        const float *left = m.from + row * SPEED_PITCH + SPEED_SIDE;
        float sum = 0;
#pragma unroll
        for (int32_t k = 0; k < SPEED_SIDE; k++)
            sum += left[k] * m.matrix[k * SPEED_SIDE + column];
        store(q + i, left[column]);
        store(r + i, sum);
        if (row == column && (double)magnitude(sum) < 1e-6)
            *m.is_singular = 1;
    }
    block_barrier();
    if (thread == 0)
        store((uint32_t *)q + SPEED_SQUARE, *m.is_singular);
}

/* The x index of a block selects its work: block 0 computes the eigenvalues, block 1 the solution matrix. */
GPU_KERNEL(vmafgpu_speed_matrix, vmafgpu__speed_launch, VMAFGPU__SPEED_MATRIX_THREADS, 2) {
    if (speed_is_skipped(launch))
        return;
    if (block_x() == 0)
        speed_eigenvalues(launch);
    else
        speed_solver(launch);
}

/* ---- entropy and score ---- */

GPU_FN bool speed_is_singular(const vmafgpu__speed_launch &launch, uint32_t plane) {
    const uint32_t *eigenvalues = (const uint32_t *)speed_part(launch, launch.layout.eigenvalues, plane);
    const uint32_t *q = (const uint32_t *)speed_part(launch, launch.layout.q, plane);
    return (load(eigenvalues + SPEED_SIDE) | load(q + SPEED_SQUARE)) != 0;
}

typedef const double (*LogTable)[3];

/* Copies the table of the logarithm to shared memory, where the lanes can read different entries at the same time. */
template <uint32_t THREADS> GPU_FN LogTable speed_log_table(const vmafgpu__speed_launch &launch) {
    double *table = (double *)shared_memory();
    static_assert(VMAFGPU__LOG2_ENTRIES * 3 <= THREADS, "an entry for each thread");
    if (thread_index() < VMAFGPU__LOG2_ENTRIES * 3)
        table[thread_index()] = load_double((const double *)launch.log_table + thread_index());
    return (LogTable)table;
}

/* A thread block processes 64 blocks of the plane, with five threads for each. These five threads share the work that
 * is not sequential: rows of the solution, and eigenvalues. Each instruction is executed only a few times but must be
 * fetched from memory, so the code is kept short. The rows of the matrices and the column of the solution are padded
 * with zeros, which do not change the sums. */
enum { SPEED_SOLUTION = VMAFGPU__SPEED_SOLUTION };
static_assert(SPEED_SOLUTION >= SPEED_SIDE + 7, "zeros behind what is read eight at a time");

/* Shared memory of the thread block, and the thread's position in it: `group` is the index (0..4) of this thread among
 * the five threads that process block `block` of the plane. */
struct SpeedEntropy {
    enum { BLOCKS = VMAFGPU__SPEED_ENTROPY_BLOCKS, SHARE = VMAFGPU__SPEED_BLOCK };
    LogTable table;
    double *information; /* [place][BLOCKS], starting at the thread's block */
    float *q, *r;        /* [place][SPEED_LINE], [place][SPEED_SOLUTION] */
    float *x;            /* the solution: [SPEED_SOLUTION][BLOCKS], starting at the thread's block */
    int32_t group, block;
    bool is_inside; /* whether the plane has this block */
};

GPU_FN SpeedEntropy speed_entropy_of(const vmafgpu__speed_launch &launch) {
    enum { BLOCKS = SpeedEntropy::BLOCKS };
    static_assert(VMAFGPU__LOG2_ENTRIES * 24 + SPEED_SIDE * BLOCKS * 8 +
                          (SPEED_SIDE * (SPEED_LINE + SPEED_SOLUTION) + SPEED_SOLUTION * BLOCKS) * 4 ==
                      VMAFGPU__SPEED_ENTROPY_SHARED,
                  "shared memory");
    const int32_t thread = (int32_t)thread_index(), i = thread % BLOCKS;
    SpeedEntropy e;
    e.group = thread / BLOCKS;
    e.block = (int32_t)block_x() * BLOCKS + i;
    e.is_inside = e.block < launch.blocks_across * launch.blocks_down;
    e.table = speed_log_table<VMAFGPU__SPEED_ENTROPY_THREADS>(launch);
    double *information = (double *)(e.table + VMAFGPU__LOG2_ENTRIES);
    e.information = information + i;
    e.q = (float *)(information + SPEED_SIDE * BLOCKS);
    e.r = e.q + SPEED_SIDE * SPEED_LINE;
    e.x = e.r + SPEED_SIDE * SPEED_SOLUTION + i;
    return e;
}

/* Copies q and r to shared memory, with zeros after each row. */
GPU_FN void speed_copy_solution(const vmafgpu__speed_launch &launch, const SpeedEntropy &e) {
    const float *from_q = speed_part(launch, launch.layout.q, block_y());
    const float *from_r = speed_part(launch, launch.layout.r, block_y());
#pragma unroll 3
    for (int32_t k = (int32_t)thread_index(); k < SPEED_SIDE * SPEED_SOLUTION; k += VMAFGPU__SPEED_ENTROPY_THREADS) {
        const int32_t row = k / SPEED_SOLUTION, column = k % SPEED_SOLUTION;
        e.r[k] = column < SPEED_SIDE ? load_float(from_r + row * SPEED_SIDE + column) : 0;
        if (column < SPEED_LINE)
            e.q[row * SPEED_LINE + column] = column < SPEED_SIDE ? load_float(from_q + row * SPEED_SIDE + column) : 0;
    }
}

/* Computes five rows of x, which is q times the samples of the block. */
GPU_FN void speed_multiply(const SpeedEntropy &e, const float (&sample)[SPEED_LINE]) {
    enum { BLOCKS = SpeedEntropy::BLOCKS, SHARE = SpeedEntropy::SHARE };
    float sum[SHARE] = {};
#pragma unroll
    for (int32_t k = 0; k < SPEED_LINE; k += 4) {
#pragma unroll
        for (int32_t n = 0; n < SHARE; n++) {
            float four[4];
            load_four(e.q + (e.group * SHARE + n) * SPEED_LINE + k, four);
#pragma unroll
            for (int32_t m = 0; m < 4 && k + m < SPEED_SIDE; m++)
                sum[n] += four[m] * sample[k + m];
        }
    }
#pragma unroll
    for (int32_t n = 0; n < SHARE; n++)
        e.x[(e.group * SHARE + n) * BLOCKS] = sum[n];
    for (int32_t n = SPEED_SIDE + e.group; n < SPEED_SOLUTION; n += SHARE)
        e.x[n * BLOCKS] = 0;
}

/* Solves r * y = x and replaces x with y, from the last row up, with one thread per block. */
GPU_FN void speed_substitute(const SpeedEntropy &e) {
    enum { BLOCKS = SpeedEntropy::BLOCKS, AT_ONCE = 8 };
#pragma unroll 1
    for (int32_t n = SPEED_SIDE - 1; e.group == 0 && n >= 0; n--) {
        float v = e.x[n * BLOCKS];
        const float *row = e.r + n * SPEED_SOLUTION;
#pragma unroll 1
        for (int32_t j = n + 1; j < SPEED_SIDE; j += AT_ONCE) {
            float product[AT_ONCE];
#pragma unroll
            for (int32_t k = 0; k < AT_ONCE; k++)
                product[k] = e.x[(j + k) * BLOCKS] * row[j + k];
#pragma unroll
            for (int32_t k = 0; k < AT_ONCE; k++)
                v -= product[k];
        }
        e.x[n * BLOCKS] = quotient(v, row[n]);
    }
}

/* Computes the information that five eigenvalues contribute, for one block of the plane. */
GPU_FN void speed_inform(const vmafgpu__speed_launch &launch, const SpeedEntropy &e, const float *eigenvalues,
                         float variance) {
    enum { BLOCKS = SpeedEntropy::BLOCKS, SHARE = SpeedEntropy::SHARE };
    const double log_2_pi_e = 4.0941911703612819;
#pragma unroll 1
    for (int32_t n = e.group * SHARE; n < e.group * SHARE + SHARE; n++) {
        const float value = load_float(eigenvalues + n), positive = value < 0 ? 0 : value;
        e.information[n * BLOCKS] = vmafgpu__log2((double)(positive * variance + launch.noise), e.table) + log_2_pi_e;
    }
}

GPU_FN void speed_entropy(const vmafgpu__speed_launch &launch) {
    enum { BLOCKS = SpeedEntropy::BLOCKS, SHARE = SpeedEntropy::SHARE };
    if (speed_is_skipped(launch))
        return;
    const SpeedEntropy e = speed_entropy_of(launch);
    const float *eigenvalues = speed_part(launch, launch.layout.eigenvalues, block_y());
    const bool is_singular = speed_is_singular(launch, block_y());
    speed_copy_solution(launch, e);
    const float *start = speed_part(launch, launch.layout.flat, block_y());
    if (e.is_inside)
        start +=
            (e.block / launch.blocks_across * launch.columns + e.block % launch.blocks_across) * VMAFGPU__SPEED_BLOCK;
    float sample[SPEED_LINE] = {}, own[SHARE];
#pragma unroll
    for (int32_t p = 0; p < SPEED_SIDE; p++)
        sample[p] = load_float(speed_place(launch, start, p));
#pragma unroll
    for (int32_t n = 0; n < SHARE; n++) /* the values of sample[e.group * SHARE + n]; registers cannot be indexed */
        own[n] = load_float(start + e.group * launch.columns + n);
    block_barrier();
    speed_multiply(e, sample);
    block_barrier();
    speed_substitute(e);
    block_barrier();
#pragma unroll
    for (int32_t n = 0; n < SHARE; n++) {
        float *at = e.x + (e.group * SHARE + n) * BLOCKS;
        *at = quotient(*at * own[n], (float)SPEED_SIDE);
    }
    block_barrier();
    float variance = 0;
#pragma unroll
    for (int32_t p = 0; p < SPEED_SIDE; p++)
        variance += e.x[p * BLOCKS];
    variance = is_singular ? 0 : variance;
    speed_inform(launch, e, eigenvalues, variance);
    block_barrier();
    if (e.group > 0 || !e.is_inside)
        return;
    float entropy = 0;
#pragma unroll 5
    for (int32_t n = 0; n < SPEED_SIDE; n++)
        entropy = (float)((double)entropy + e.information[n * BLOCKS]);
    store(speed_part(launch, launch.layout.variance, block_y()) + e.block, variance);
    store(speed_part(launch, launch.layout.entropy, block_y()) + e.block, entropy);
}

GPU_KERNEL(vmafgpu_speed_entropy, vmafgpu__speed_launch, VMAFGPU__SPEED_ENTROPY_THREADS, 2) {
    speed_entropy(launch);
}

/* Computes the score of u (block 0) or v (block 1). */
GPU_FN void speed_score(const vmafgpu__speed_launch &launch) {
    constexpr int32_t THREADS = VMAFGPU__SPEED_SCORE_THREADS;
    if (speed_is_skipped(launch))
        return;
    const uint32_t reference = 2 * block_x(), distorted = reference + 1;
    const int32_t thread = (int32_t)thread_index(), blocks = launch.blocks_across * launch.blocks_down;
    const float *variance_r = speed_part(launch, launch.layout.variance, reference);
    const float *variance_d = speed_part(launch, launch.layout.variance, distorted);
    const float *entropy_r = speed_part(launch, launch.layout.entropy, reference);
    const float *entropy_d = speed_part(launch, launch.layout.entropy, distorted);
    const LogTable table = speed_log_table<THREADS>(launch);
    float *terms = (float *)(table + VMAFGPU__LOG2_ENTRIES);
    static_assert(VMAFGPU__LOG2_ENTRIES * 24 + THREADS * 4 == VMAFGPU__SPEED_SCORE_SHARED, "shared memory");
    float score = 0;
    block_barrier();
    for (int32_t first = 0; first < blocks; first += THREADS) {
        const int32_t block = first + thread;
        if (block < blocks) {
            const float r = load_float(entropy_r + block), d = load_float(entropy_d + block);
            double weight_r, weight_d;
            vmafgpu__speed_weights(launch.weighting, load_float(variance_r + block), load_float(variance_d + block),
                                   table, &weight_r, &weight_d);
            const float term = magnitude((float)((double)r * weight_r) - (float)((double)d * weight_d));
            terms[thread] = r < launch.base && d < launch.base ? 0 : term;
        }
        block_barrier();
        const int32_t here = blocks - first < THREADS ? blocks - first : THREADS;
#pragma unroll 8
        for (int32_t i = 0; thread == 0 && i < here; i++)
            score += terms[i];
        block_barrier();
    }
    if (thread > 0)
        return;
    const bool is_singular[2] = { speed_is_singular(launch, reference), speed_is_singular(launch, distorted) };
    score = is_singular[0] != is_singular[1] ? 0.0f : quotient(score, (float)blocks);
    if (launch.words) {
        store(launch.words + (int64_t)block_z() * launch.word_stride, (double)score);
        return;
    }
    vmafgpu__speed_sums *out = &launch.sums[block_z()].speed[launch.variant];
    store(&out->score[block_x()], score);
    store(&out->singular[block_x()], (int32_t)(is_singular[0] || is_singular[1]));
}

GPU_KERNEL(vmafgpu_speed_score, vmafgpu__speed_launch, VMAFGPU__SPEED_SCORE_THREADS, 2) {
    speed_score(launch);
}

/* ================================================================================================
 * >>squares                                      psnr, float_psnr, float_moment: sums of integers
 * ================================================================================================ */

/* Returns a square, rounded to the 24 bits of a float. */
GPU_FN uint64_t rounded_square(int32_t v) {
    return (uint64_t)(float)(uint32_t)((uint32_t)v * (uint32_t)v);
}

template <int KIND> GPU_FN void add_squares(uint32_t a, uint32_t b, uint64_t (&sum)[VMAFGPU__SQUARES_SUMS]) {
    const int32_t d = (int32_t)a - (int32_t)b;
    if (KIND == VMAFGPU__SQUARES) {
        sum[0] += (uint32_t)d * (uint32_t)d;
    } else if (KIND == VMAFGPU__SQUARES_ROUNDED) {
        sum[0] += rounded_square(d);
    } else {
        sum[0] += a;
        sum[1] += b;
        sum[2] += rounded_square((int32_t)a);
        sum[3] += rounded_square((int32_t)b);
    }
}

/* Adds the squares of 16 bytes of samples. */
template <int KIND>
GPU_FN void add_squares_of_words(int bytes, uint32_t mask, const uint8_t *a, const uint8_t *b,
                                 uint64_t (&sum)[VMAFGPU__SQUARES_SUMS], uint32_t (&seen)[2]) {
    const Words4 v = load((const Words4 *)a), w = load((const Words4 *)b);
    const uint32_t va[4] = { v.x, v.y, v.z, v.w }, wa[4] = { w.x, w.y, w.z, w.w };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        seen[0] |= va[i] & mask * 0x10001;
        seen[1] |= wa[i] & mask * 0x10001;
        if (bytes == 1) {
#pragma unroll
            for (int k = 0; k < 32; k += 8)
                add_squares<KIND>(va[i] >> k & 255, wa[i] >> k & 255, sum);
        } else {
            add_squares<KIND>(va[i] & 65535, wa[i] & 65535, sum);
            add_squares<KIND>(va[i] >> 16, wa[i] >> 16, sum);
        }
    }
}

template <int KIND> GPU_FN void squares_of(const vmafgpu__squares_launch &launch) {
    const uint32_t plane = block_y(), z = block_z();
    const vmafgpu__gpu_pair &pair = launch.pair[z];
    const vmafgpu__gpu_chroma &chroma = launch.chroma[z];
    const uint32_t width = (uint32_t)launch.width[plane != 0], height = (uint32_t)launch.height[plane != 0];
    const uint8_t *a = (const uint8_t *)(plane ? chroma.plane[0][plane - 1] : pair.reference),
                  *b = (const uint8_t *)(plane ? chroma.plane[1][plane - 1] : pair.distorted);
    const int64_t a_pitch = plane ? chroma.pitch[0][plane - 1] : pair.reference_pitch,
                  b_pitch = plane ? chroma.pitch[1][plane - 1] : pair.distorted_pitch;
    const int bytes = plane ? launch.chroma_bytes : launch.bytes, step = plane ? launch.step : bytes,
              shift = plane ? launch.shift : 0;
    const uint32_t mask = plane ? launch.mask : 0, chunk = 16 / (uint32_t)bytes;
    const bool by_words =
        step == bytes && !shift && ((uint64_t)a | (uint64_t)b | (uint64_t)a_pitch | (uint64_t)b_pitch) % 16 == 0;
    uint64_t sum[VMAFGPU__SQUARES_SUMS] = {};
    uint32_t seen[2] = {};
    if (!pair.distorted)
        return;
#pragma unroll 1
    for (uint32_t i = 0; i < VMAFGPU__SQUARES_ROWS; i++) {
        const uint32_t y = block_x() * VMAFGPU__SQUARES_ROWS + i, whole_chunks = by_words ? width / chunk : 0;
        if (y >= height)
            break;
        const uint8_t *p = a + (int64_t)y * a_pitch, *q = b + (int64_t)y * b_pitch;
#pragma unroll 1
        for (uint32_t x = thread_index(); x < whole_chunks; x += VMAFGPU__SQUARES_THREADS)
            add_squares_of_words<KIND>(bytes, mask, p + 16 * x, q + 16 * x, sum, seen);
#pragma unroll 1
        for (uint32_t x = whole_chunks * chunk + thread_index(); x < width; x += VMAFGPU__SQUARES_THREADS) {
            const uint32_t v = load_sample(p + (uint64_t)x * (uint32_t)step, 0, bytes),
                           w = load_sample(q + (uint64_t)x * (uint32_t)step, 0, bytes);
            seen[0] |= v & mask;
            seen[1] |= w & mask;
            add_squares<KIND>(v >> shift, w >> shift, sum);
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < (KIND == VMAFGPU__SQUARES_MOMENTS ? VMAFGPU__SQUARES_SUMS : 1); k++) {
        const int64_t total = warp_sum((int64_t)sum[k]);
        if (lane_index() == 0)
            atomic_add(launch.words + (int64_t)z * launch.word_stride + plane + k, total);
    }
    const uint32_t illegal = warp_or((seen[0] ? 4 : 0) | (seen[1] ? 8 : 0));
    if (illegal && lane_index() == 0)
        atomic_or(&launch.illegal[z], illegal);
}

GPU_FN void squares(const vmafgpu__squares_launch &launch) {
    launch.kind == VMAFGPU__SQUARES           ? squares_of<VMAFGPU__SQUARES>(launch)
    : launch.kind == VMAFGPU__SQUARES_ROUNDED ? squares_of<VMAFGPU__SQUARES_ROUNDED>(launch)
                                              : squares_of<VMAFGPU__SQUARES_MOMENTS>(launch);
}

/* Writes the rounded squares that vmafgpu_ordered_sums will add up, then zeros up to the end of the last group. */
GPU_FN void square_terms(const vmafgpu__square_terms_launch &launch) {
    enum { GROUP = VMAFGPU__SEQUENCE_GROUP };
    const uint32_t z = block_z();
    const vmafgpu__gpu_pair &pair = launch.pair[z];
    const int32_t n = (int32_t)(block_x() * VMAFGPU__SQUARES_THREADS + thread_index()),
                  count = launch.width * (launch.end - launch.first);
    if (!(launch.pairs >> z & 1) || n >= (count + GROUP - 1) / GROUP * GROUP)
        return;
    uint64_t square = 0;
    if (n < count) {
        const int32_t x = n % launch.width, y = launch.first + n / launch.width;
        const uint32_t a = load(
                           (const uint16_t *)((const uint8_t *)pair.reference + (int64_t)y * pair.reference_pitch) + x),
                       b = load(
                           (const uint16_t *)((const uint8_t *)pair.distorted + (int64_t)y * pair.distorted_pitch) + x);
        square = rounded_square(launch.kind == 0   ? (int32_t)a - (int32_t)b
                                : launch.kind == 1 ? (int32_t)a
                                                   : (int32_t)b);
    }
    store((float *)(launch.scratch + z * launch.scratch_size) + (int64_t)(n % GROUP) * launch.pitch + n / GROUP,
          (float)square);
}

GPU_KERNEL(vmafgpu_square_terms, vmafgpu__square_terms_launch, VMAFGPU__SQUARES_THREADS, 4) {
    square_terms(launch);
}
GPU_KERNEL(vmafgpu_squares, vmafgpu__squares_launch, VMAFGPU__SQUARES_THREADS, 3) {
    squares(launch);
}

/* ================================================================================================
 * >>chains                                       sums of floats in a fixed order
 * ================================================================================================
 * Each lane sums a row from left to right. Then the row sums are added from top to bottom.
 */

/* Sums rows of a plane. The z index of a block selects the pair; the x index selects the rows. */
GPU_FN void float_rows(const vmafgpu__chains_launch &launch) {
    enum { TILE = VMAFGPU__CHAIN_TILE, STRIDE = TILE + 1, AT_ONCE = LANES / TILE }; /* rows per load of a warp */
    static_assert(LANES % TILE == 0, "a read covers whole rows of a tile");
    if (!(launch.pairs >> block_z() & 1))
        return;
    int32_t n = 0;
    while (n + 1 < launch.count && (int32_t)block_x() >= launch.plane[n + 1].first)
        n++;
    const vmafgpu__chain_plane &plane = launch.plane[n];
    const unsigned char *scratch = launch.scratch + block_z() * launch.scratch_size;
    const int32_t lane = (int32_t)lane_index(), column = lane % TILE,
                  first = ((int32_t)block_x() - plane.first) * LANES, row = first + lane / TILE;
    const float *terms = (const float *)(scratch + plane.terms) + (int64_t)row * plane.pitch + column;
    float *tile = (float *)shared_memory();
    float next[TILE], sum = 0;
#pragma unroll
    for (int k = 0; k < TILE; k++)
        next[k] = row + k * AT_ONCE < plane.rows && column < plane.columns
                      ? load_float(terms + k * AT_ONCE * plane.pitch)
                      : 0;
#pragma unroll 1
    for (int32_t x = 0; x < plane.columns; x += TILE) {
#pragma unroll
        for (int k = 0; k < TILE; k++)
            tile[(k * AT_ONCE + lane / TILE) * STRIDE + column] = next[k];
        warp_barrier();
        terms += TILE;
#pragma unroll
        for (int k = 0; k < TILE; k++) /* zeros beyond the last column add nothing */
            next[k] = row + k * AT_ONCE < plane.rows && x + TILE + column < plane.columns
                          ? load_float(terms + k * AT_ONCE * plane.pitch)
                          : 0;
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += tile[lane * STRIDE + k];
        warp_barrier();
    }
    if (first + lane < plane.rows)
        store((float *)(launch.scratch + block_z() * launch.scratch_size + plane.sums) + first + lane, sum);
}

/* Adds up the row sums of the plane that the x index of the block selects. */
GPU_FN void float_sums(const vmafgpu__chains_launch &launch) {
    if (!(launch.pairs >> block_z() & 1))
        return;
    const vmafgpu__chain_plane &plane = launch.plane[block_x()];
    const float *sums = (const float *)(launch.scratch + block_z() * launch.scratch_size + plane.sums);
    const int32_t lane = (int32_t)lane_index();
    float *some = (float *)shared_memory(), sum = 0, next[VMAFGPU__CHAIN_ROWS / LANES];
#pragma unroll
    for (int32_t k = 0; k < VMAFGPU__CHAIN_ROWS / LANES; k++)
        next[k] = k * LANES + lane < plane.rows ? load_float(sums + k * LANES + lane) : 0;
#pragma unroll 1
    for (int32_t first = 0; first < plane.rows; first += VMAFGPU__CHAIN_ROWS) {
#pragma unroll
        for (int32_t k = 0; k < VMAFGPU__CHAIN_ROWS / LANES; k++)
            some[k * LANES + lane] = next[k];
        warp_barrier();
#pragma unroll
        for (int32_t k = 0; k < VMAFGPU__CHAIN_ROWS / LANES; k++) {
            const int32_t at = first + VMAFGPU__CHAIN_ROWS + k * LANES + lane;
            next[k] = at < plane.rows ? load_float(sums + at) : 0;
        }
        /* Zeros beyond the last sum add nothing. The loop reads the next values before it adds the current ones. */
        Words4 v[VMAFGPU__CHAIN_TILE / 4];
#pragma unroll
        for (int i = 0; i < VMAFGPU__CHAIN_TILE / 4; i++)
            v[i] = *(const Words4 *)(some + 4 * i);
#pragma unroll 1
        for (int32_t k = VMAFGPU__CHAIN_TILE; first + k - VMAFGPU__CHAIN_TILE < plane.rows; k += VMAFGPU__CHAIN_TILE) {
            Words4 w[VMAFGPU__CHAIN_TILE / 4];
#pragma unroll
            for (int i = 0; i < VMAFGPU__CHAIN_TILE / 4; i++)
                w[i] = *(const Words4 *)(some + (k < VMAFGPU__CHAIN_ROWS ? k + 4 * i : 4 * i));
#pragma unroll
            for (int i = 0; i < VMAFGPU__CHAIN_TILE / 4; i++) {
                sum += float_bits(v[i].x);
                sum += float_bits(v[i].y);
                sum += float_bits(v[i].z);
                sum += float_bits(v[i].w);
                v[i] = w[i];
            }
            if (k == VMAFGPU__CHAIN_ROWS)
                break;
        }
        warp_barrier();
    }
    if (lane_index() == 0)
        store(launch.words + (int64_t)block_z() * launch.word_stride + block_x(), (double)sum);
}

/* ---- one sum in a fixed order, computed in parallel ---- */

/* Between two adjacent powers of two, the bits of a floating-point number, read as an integer, count units in the last
 * place. */
struct FloatSum {
    typedef float Number;
    typedef uint32_t Bits;
    typedef int32_t Whole;
    static constexpr Bits SIGN = (Bits)1 << 31, EXPONENT = 0x7f800000;
    static constexpr Whole ROOM = (Whole)1 << 23; /* units in the last place between two powers of two */
    GPU_FN float number(Bits bits) {
        return float_bits(bits);
    }
    GPU_FN Whole up(Whole v, uint32_t by) {
        return shuffle_up(v, by);
    }
};

struct DoubleSum {
    typedef double Number;
    typedef uint64_t Bits;
    typedef int64_t Whole;
    static constexpr Bits SIGN = (Bits)1 << 63, EXPONENT = (Bits)0x7ff << 52;
    static constexpr Whole ROOM = (Whole)1 << 52;
    GPU_FN double number(Bits bits) {
        return double_bits(bits);
    }
    GPU_FN Whole up(Whole v, uint32_t by) {
        const uint32_t low = shuffle_up_word((uint32_t)v, by),
                       high = shuffle_up_word((uint32_t)((uint64_t)v >> 32), by);
        return (Whole)((uint64_t)high << 32 | low);
    }
};

template <class Whole> GPU_FN Whole lesser(Whole a, Whole b) {
    return a < b ? a : b;
}
template <class Whole> GPU_FN Whole greater(Whole a, Whole b) {
    return a > b ? a : b;
}

/* The change, in units in the last place, that adding some terms makes to a sum whose bit pattern is even ([0]) or odd
 * ([1]). If terms can have both signs, `low` and `high` are the lowest and the highest change that is reached while the
 * terms are added. The changes are the same for all sums between two adjacent powers of two, because a sum is rounded
 * to the nearest number or, in a tie, to the even one. 2 * ROOM means that the sum leaves this range. */
template <class Sum, bool SIGNED> struct Steps {
    typedef typename Sum::Whole Whole;
    Whole by[2], low[SIGNED ? 2 : 1], high[SIGNED ? 2 : 1];
};

/* How far a sum is above a power of two, in units in the last place, and the least and greatest such distance so
 * far. */
template <class Sum> struct Place {
    typename Sum::Whole at, low, high;
};

template <class Sum, bool SIGNED> GPU_FN void go(Place<Sum> &place, const Steps<Sum, SIGNED> &steps) {
    typedef typename Sum::Whole Whole;
    /* Selects values, not addresses: the compiler would keep values in local memory if their addresses were needed. */
    const Whole by[2] = { steps.by[0], steps.by[1] };
    const bool odd = (place.at & 1) != 0;
    if (SIGNED) {
        const Whole low[2] = { steps.low[0], steps.low[SIGNED] }, high[2] = { steps.high[0], steps.high[SIGNED] };
        place.low = lesser(place.low, place.at + low[0] + (odd ? low[1] - low[0] : 0));
        place.high = greater(place.high, place.at + high[0] + (odd ? high[1] - high[0] : 0));
    }
    place.at += by[0] + (odd ? by[1] - by[0] : 0);
    if (!SIGNED)
        place.high = place.at;
}

/* Combines the changes that two consecutive series of terms cause: `first`, followed by `then`. */
template <class Sum, bool SIGNED>
GPU_FN Steps<Sum, SIGNED> steps_of_both(const Steps<Sum, SIGNED> &first, const Steps<Sum, SIGNED> &then) {
    const typename Sum::Whole far = 2 * Sum::ROOM;
    Steps<Sum, SIGNED> out;
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
        Place<Sum> place = { odd + first.by[odd], odd, odd };
        if (SIGNED) {
            place.low = odd + first.low[odd && SIGNED];
            place.high = odd + first.high[odd && SIGNED];
        }
        go<Sum, SIGNED>(place, then);
        out.by[odd] = greater(lesser(place.at - odd, far), -far);
        out.low[odd && SIGNED] = SIGNED ? greater(place.low - odd, -far) : 0;
        out.high[odd && SIGNED] = SIGNED ? lesser(place.high - odd, far) : 0;
    }
    return out;
}

GPU_FN float load_term(const float *p) {
    return load_float(p);
}
GPU_FN double load_term(const double *p) {
    return load_double(p);
}

/* Returns by how much a sum between `floor` and the next power of two changes when a group of terms is added to it.
 * `floor` is given as bits, and is a power of two or 0. `sign` is 1, or -1 to negate the terms. */
template <class Sum, bool SIGNED, class Term>
GPU_FN Steps<Sum, SIGNED> steps_of(const Term *terms, int32_t pitch, typename Sum::Bits floor, Term sign) {
    typedef typename Sum::Number Number;
    typedef typename Sum::Whole Whole;
    const typename Sum::Bits from = floor + (SIGNED ? Sum::ROOM / 2 : 0);
    const Number bottom = Sum::number(floor), top = Sum::number(floor + Sum::ROOM);
    Number sum[2] = { Sum::number(from), Sum::number(from + 1) }, low[2] = { sum[0], sum[1] },
           high[2] = { sum[0], sum[1] };
    Steps<Sum, SIGNED> out;
#pragma unroll 16
    for (int k = 0; k < VMAFGPU__SEQUENCE_GROUP; k++) {
        const Term term = load_term(terms + (int64_t)k * pitch) * sign;
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            sum[odd] += term;
            if (SIGNED) {
                low[odd] = lesser(low[odd], sum[odd]);
                high[odd] = greater(high[odd], sum[odd]);
            }
        }
    }
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
        const typename Sum::Bits start = from + (uint32_t)odd;
        const bool is_far = SIGNED ? low[odd] < bottom || high[odd] > top : sum[odd] > top;
        out.by[odd] = is_far ? 2 * Sum::ROOM : (Whole)(bits_of(sum[odd]) - start);
        out.low[odd && SIGNED] = SIGNED && !is_far ? (Whole)(bits_of(low[odd]) - start) : 0;
        out.high[odd && SIGNED] = !SIGNED ? 0 : is_far ? 2 * Sum::ROOM : (Whole)(bits_of(high[odd]) - start);
    }
    return out;
}

/* Adds terms in order, group by group. As long as the sum stays between two adjacent powers of two, each thread
 * computes by how much one group changes the sum. The sum after each group follows from these changes. If the sum
 * leaves this range within a group, the terms of that group are added one by one. */
template <class Sum, bool SIGNED, class Term> GPU_FN void sequence(const vmafgpu__sequence_launch &launch) {
    enum { THREADS = VMAFGPU__SEQUENCE_THREADS, WARPS = THREADS / LANES };
    typedef typename Sum::Bits Bits;
    typedef typename Sum::Whole Whole;
    static_assert(THREADS % LANES == 0 && VMAFGPU__SEQUENCE_SHARED >= WARPS * (7 * 8 + 4) + 8, "shared memory");
    if (!(launch.pairs >> block_z() & 1))
        return;
    const auto &plane = launch.plane[block_x()];
    double *word = launch.words + (int64_t)block_z() * launch.word_stride + block_x();
    const Term *terms = (const Term *)(launch.scratch + block_z() * launch.scratch_size + plane.terms);
    Steps<Sum, SIGNED> *warps = (Steps<Sum, SIGNED> *)shared_memory();
    Bits *sums = (Bits *)(warps + WARPS), *beyond = sums + WARPS;
    Bits sum = launch.before ? bits_of((typename Sum::Number)load_double(word)) : 0;
    uint32_t *counts = (uint32_t *)(beyond + 1);
    const uint32_t lane = lane_index();
#pragma unroll 1
    for (int32_t at = 0; at < plane.groups;) {
        const Bits sign = SIGNED ? sum & Sum::SIGN : 0, floor = sum & Sum::EXPONENT;
        const int32_t n = at + (int32_t)thread_index();
        /* A sum that took n groups to reach a range between two powers of two rarely stays there for more than n
         * groups, so later groups are not evaluated. */
        Steps<Sum, SIGNED> own = { { 2 * Sum::ROOM, 2 * Sum::ROOM }, {}, {} };
#pragma unroll
        for (int odd = 0; odd < 2; odd++)
            own.high[odd && SIGNED] = 2 * Sum::ROOM;
        if (n < plane.groups && n <= 2 * at + launch.before)
            own = steps_of<Sum, SIGNED, Term>(terms + n, plane.pitch, floor, sign ? -1 : 1);
#pragma unroll 1
        for (uint32_t by = 1; by < LANES; by *= 2) {
            Steps<Sum, SIGNED> before = {};
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                before.by[odd] = Sum::up(own.by[odd], by);
                if (SIGNED) {
                    before.low[odd && SIGNED] = Sum::up(own.low[odd && SIGNED], by);
                    before.high[odd && SIGNED] = Sum::up(own.high[odd && SIGNED], by);
                }
            }
            if (lane >= by)
                own = steps_of_both<Sum, SIGNED>(before, own);
        }
        if (lane == LANES - 1)
            warps[warp_index()] = own;
        block_barrier();
        const Whole start = (Whole)((sum ^ sign) - floor);
        Place<Sum> place = { start, start, start };
#pragma unroll 1
        for (uint32_t i = 0; i < warp_index(); i++)
            go<Sum, SIGNED>(place, warps[i]);
        go<Sum, SIGNED>(place, own);
        const uint32_t count = warp_sum_word(place.low >= 0 && place.high <= Sum::ROOM);
        if (lane == (count ? count - 1 : 0)) {
            counts[warp_index()] = count;
            sums[warp_index()] = (floor + (Bits)place.at) | sign;
        }
        block_barrier();
#pragma unroll 1
        for (uint32_t i = 0; i < WARPS && counts[i]; i++) {
            at += (int32_t)counts[i];
            sum = sums[i];
        }
        if (at >= plane.groups)
            break;
        if (thread_index() == 0) {
            auto literal = Sum::number(sum);
#pragma unroll 16
            for (int k = 0; k < VMAFGPU__SEQUENCE_GROUP; k++)
                literal += load_term(terms + at + (int64_t)k * plane.pitch);
            *beyond = bits_of(literal);
        }
        block_barrier();
        sum = *beyond;
        at++;
    }
    if (thread_index() == 0)
        store(word, (double)Sum::number(sum));
}

GPU_KERNEL(vmafgpu_float_rows, vmafgpu__chains_launch, LANES, 8) {
    float_rows(launch);
}
GPU_KERNEL(vmafgpu_float_sums, vmafgpu__chains_launch, LANES, 8) {
    float_sums(launch);
}
GPU_KERNEL(vmafgpu_ordered_sums, vmafgpu__sequence_launch, VMAFGPU__SEQUENCE_THREADS, 1) {
    sequence<DoubleSum, false, float>(launch);
}

/* ================================================================================================
 * >>float vif                                    visual information fidelity and its filters, in float
 * ================================================================================================
 * In the vertical pass, each thread processes one column of the tile or of its halo: it reads samples from global
 * memory and writes the vertical sums of all rows of the tile to shared memory. In the horizontal pass, each thread
 * computes four adjacent columns at a time.
 */

/* Returns a sample as float features use it: scaled to 8 bits, minus 128. Samples of four bytes are floats that have
 * already been converted. */
GPU_FN float float_sample(const uint8_t *row, int32_t x, int bytes, float unit) {
    if (bytes == 4)
        return load_float((const float *)row + x);
    const uint32_t v = bytes == 1 ? load(row + x) : load((const uint16_t *)row + x);
    return (float)(int32_t)v * unit - 128.0f;
}

/* Returns a sample of the resampled plane, and ORs its source words into `seen`. */
GPU_FN float planes_sample(const vmafgpu__float_planes_launch &launch, const uint8_t *data, int64_t pitch, int32_t x,
                           int32_t y, uint32_t &seen) {
    float value = 0, weights = 0;
#pragma unroll 1
    for (int32_t k = 0; k < launch.sources; k++) {
        const uint64_t down = load(launch.rows + (int64_t)y * launch.sources + k);
#pragma unroll 1
        for (int32_t i = 0; i < launch.sources; i++) {
            const uint64_t across = load(launch.columns + (int64_t)x * launch.sources + i);
            const float weight = speed_weight(down) * speed_weight(across);
            const uint32_t word = load_sample(
                data + speed_index(down) * pitch + (int64_t)speed_index(across) * launch.step, 0, launch.bytes);
            seen |= word;
            value += weight * ((float)(int32_t)(word >> launch.shift) * launch.unit - 128.0f);
            weights += weight;
        }
    }
    return launch.has_weights ? quotient(value, weights) : value;
}

GPU_FN void float_planes(const vmafgpu__float_planes_launch &launch) {
    const uint32_t z = block_z() / 2;
    const int f = (int)(block_z() % 2);
    const uint8_t *data = (const uint8_t *)launch.source[z][f].data;
    const int32_t x = (int32_t)(block_x() * VMAFGPU__PLANES_THREADS + thread_index()), y = (int32_t)block_y();
    uint32_t seen = 0;
    if (!data)
        return;
    if (x < launch.width)
        store((float *)(launch.scratch + z * launch.scratch_size + launch.output[f]) + (int64_t)y * launch.pitch + x,
              planes_sample(launch, data, launch.source[z][f].pitch, x, y, seen));
    seen = warp_or(seen);
    if (f && (seen & launch.mask) && lane_index() == 0)
        atomic_or(&launch.illegal[z], 4u);
}

GPU_KERNEL(vmafgpu_float_planes, vmafgpu__float_planes_launch, VMAFGPU__PLANES_THREADS, 4) {
    float_planes(launch);
}

struct FloatPicture {
    const uint8_t *data;
    int64_t pitch;
};

GPU_FN FloatPicture float_picture(const vmafgpu__blur_launch &launch, uint32_t z, int f) {
    const vmafgpu__gpu_pair &pair = launch.batch.pair[z];
    FloatPicture picture;
    picture.data = launch.bytes == 4 ? launch.scratch + z * launch.scratch_size + launch.input[f]
                                     : (const uint8_t *)(f ? pair.distorted : pair.reference);
    picture.pitch = launch.bytes == 4 ? (int64_t)launch.input_pitch * 4
                    : f               ? pair.distorted_pitch
                                      : pair.reference_pitch;
    return picture;
}

/* Returns tap k of a sum, or 0 if there is no such tap. */
GPU_FN float blur_tap(const vmafgpu__blur_launch &launch, int k) {
    return launch.taps[VMAFGPU__BLUR_ROWS - 1 + k];
}

/* Computes the horizontal sums of four adjacent columns. `line` points to the first value of the first sum, and is
 * aligned to 16 bytes. */
template <int REACH> GPU_FN void blur_along(const vmafgpu__blur_launch &launch, const float *line, float (&sum)[4]) {
    if constexpr (REACH > 0) {
        float v[(2 * REACH + 4 + 3) / 4 * 4];
#pragma unroll
        for (int k = 0; k < 2 * REACH + 4; k += 4) {
            const Words4 words = *(const Words4 *)(line + k);
            v[k] = float_bits(words.x), v[k + 1] = float_bits(words.y), v[k + 2] = float_bits(words.z),
            v[k + 3] = float_bits(words.w);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            sum[i] = 0;
#pragma unroll
            for (int k = 0; k <= 2 * REACH; k++)
                sum[i] += blur_tap(launch, k) * v[i + k];
        }
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[i] = 0;
#pragma unroll 1
        for (int k = 0; k < 2 * launch.reach + 4; k++) {
            const float v = line[k];
#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[i] += blur_tap(launch, k - i) * v;
        }
    }
}

/* Adds samples a and b of a row to the vertical sums of VMAFGPU__BLUR_ROWS rows. The samples have tap k in the first
 * sum, k - 1 in the second, and so on. */
template <int REACH>
GPU_FN void vif_add_row(const vmafgpu__blur_launch &launch, float a, float b, int k,
                        float (&sum)[5][VMAFGPU__BLUR_ROWS]) {
    const float aa = a * a, bb = b * b, ab = a * b;
#pragma unroll
    for (int j = 0; j < VMAFGPU__BLUR_ROWS; j++) {
        if (REACH && (k - j < 0 || k - j > 2 * REACH))
            continue;
        const float tap = blur_tap(launch, k - j);
        sum[0][j] += tap * a;
        sum[1][j] += tap * b;
        sum[2][j] += tap * aa;
        sum[3][j] += tap * bb;
        sum[4][j] += tap * ab;
    }
}

/* Computes the vertical sums of both pictures in column x, for rows starting at y0. BYTES is the size of a sample, or 0
 * if the launch specifies it. */
template <int REACH, int BYTES>
GPU_FN void vif_down(const vmafgpu__blur_launch &launch, const FloatPicture &r, const FloatPicture &d, int32_t x,
                     int32_t y0, float (&sum)[5][VMAFGPU__BLUR_ROWS]) {
    const int32_t reach = REACH ? REACH : launch.reach, bytes = BYTES ? BYTES : launch.bytes;
#pragma unroll REACH ? VMAFGPU__BLUR_ROWS + 2 * REACH : 1
    for (int32_t k = 0; k < VMAFGPU__BLUR_ROWS + 2 * reach; k++) {
        const int64_t y = mirror(y0 - reach + k, launch.height);
        vif_add_row<REACH>(launch, float_sample(r.data + y * r.pitch, x, bytes, launch.unit),
                           float_sample(d.data + y * d.pitch, x, bytes, launch.unit), k, sum);
    }
}

template <int REACH> GPU_FN void float_vif(const vmafgpu__blur_launch &launch) {
    enum { ROWS = VMAFGPU__BLUR_ROWS, THREADS = VMAFGPU__BLUR_THREADS, MEANS = 5 };
    static_assert(MEANS * ROWS * THREADS * 4 == VMAFGPU__FLOAT_VIF_SHARED, "shared memory");
    const uint32_t z = block_z();
    if (!launch.batch.pair[z].distorted)
        return;
    const int32_t reach = REACH ? REACH : launch.reach, across = vmafgpu__blur_columns(reach), width = launch.width,
                  height = launch.height, thread = (int32_t)thread_index();
    const int32_t x0 = (int32_t)block_x() * across, y0 = (int32_t)block_y() * ROWS;
    float *lines = (float *)shared_memory(); /* [MEANS][ROWS][THREADS] */
    {
        const FloatPicture r = float_picture(launch, z, 0), d = float_picture(launch, z, 1);
        const int32_t x = mirror(x0 - reach + thread, width);
        float sum[MEANS][ROWS] = {};
        if (REACH == 0)
            vif_down<0, 0>(launch, r, d, x, y0, sum);
        else if (launch.bytes == 1)
            vif_down<REACH, 1>(launch, r, d, x, y0, sum);
        else if (launch.bytes == 2)
            vif_down<REACH, 2>(launch, r, d, x, y0, sum);
        else
            vif_down<REACH, 4>(launch, r, d, x, y0, sum);
#pragma unroll
        for (int m = 0; m < MEANS; m++)
#pragma unroll
            for (int j = 0; j < ROWS; j++)
                lines[(m * ROWS + j) * THREADS + thread] = sum[m][j];
    }
    block_barrier();
    unsigned char *out = launch.scratch + z * launch.scratch_size;
#pragma unroll 1
    for (int32_t i = thread; i < ROWS * (across / 4); i += THREADS) {
        const int32_t row = i / (across / 4), column = i % (across / 4) * 4, x = x0 + column, y = y0 + row;
        float mean[MEANS][4];
#pragma unroll
        for (int m = 0; m < MEANS; m++)
            blur_along<REACH>(launch, lines + (m * ROWS + row) * THREADS + column, mean[m]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float numerator, denominator;
            vmafgpu__float_vif_terms(mean[0][k], mean[1][k], mean[2][k], mean[3][k], mean[4][k], &launch.limits,
                                     &numerator, &denominator);
            if (y < height && x + k < width) {
                const int64_t at = (int64_t)y * launch.output_pitch + x + k;
                store((float *)(out + launch.output[0]) + at, numerator);
                store((float *)(out + launch.output[1]) + at, denominator);
            }
        }
    }
}

/* With warps of 64 lanes, AMD GPUs have too few scalar registers for the row addresses of the unrolled form. */
GPU_KERNEL(vmafgpu_float_vif_8, vmafgpu__blur_launch, VMAFGPU__BLUR_THREADS, 4) {
    float_vif<LANES == 32 ? 8 : 0>(launch);
}
GPU_KERNEL(vmafgpu_float_vif_4, vmafgpu__blur_launch, VMAFGPU__BLUR_THREADS, 4) {
    float_vif<4>(launch);
}
GPU_KERNEL(vmafgpu_float_vif, vmafgpu__blur_launch, VMAFGPU__BLUR_THREADS, 2) {
    float_vif<0>(launch);
}

/* Computes the vertical sums of a picture in column x for every second row, starting at row y. Writes the sums `line`
 * floats apart. Reads each sample only once. */
template <int REACH, int BYTES>
GPU_FN void shrink_down(const vmafgpu__blur_launch &launch, const FloatPicture &picture, int32_t x, int32_t y,
                        int32_t line, float *out) {
    enum { ROWS = VMAFGPU__SHRINK_ROWS / VMAFGPU__SHRINK_PARTS, SEEN = 2 * (ROWS - 1) + 2 * REACH + 1 };
    float v[SEEN], sum[ROWS] = {};
#pragma unroll
    for (int k = 0; k < SEEN; k++)
        v[k] = float_sample(picture.data + mirror(y - REACH + k, launch.height) * picture.pitch, x, BYTES, launch.unit);
#pragma unroll
    for (int k = 0; k < SEEN; k++)
#pragma unroll
        for (int j = 0; j < ROWS; j++)
            if (k >= 2 * j && k - 2 * j <= 2 * REACH)
                sum[j] += blur_tap(launch, k - 2 * j) * v[k];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        out[j * line] = sum[j];
}

/* Computes the pictures of the next scale: every second pixel of every second row, smoothed by the taps of that scale.
 * The z index of a block selects a picture of a pair. REACH is 0 if the launch specifies the reach. */
template <int REACH> GPU_FN void float_shrink(const vmafgpu__blur_launch &launch) {
    enum {
        COLUMNS = VMAFGPU__SHRINK_COLUMNS,
        ROWS = VMAFGPU__SHRINK_ROWS,
        THREADS = VMAFGPU__SHRINK_THREADS,
        PARTS = VMAFGPU__SHRINK_PARTS
    };
    const uint32_t z = block_z() / 2;
    const int f = (int)(block_z() % 2);
    if (!launch.batch.pair[z].distorted)
        return;
    const int32_t thread = (int32_t)thread_index(), reach = REACH ? REACH : launch.reach,
                  line = vmafgpu__shrink_line(reach), x0 = (int32_t)block_x() * COLUMNS, y0 = (int32_t)block_y() * ROWS,
                  width = launch.width / 2, height = launch.height / 2;
    const FloatPicture picture = float_picture(launch, z, f);
    float *lines = (float *)shared_memory();
    if constexpr (REACH > 0) {
        static_assert((2 * COLUMNS + 2 * REACH) * PARTS <= THREADS, "a thread has a part of a column");
        const int32_t column = thread % (THREADS / PARTS), part = thread / (THREADS / PARTS) * (ROWS / PARTS),
                      x = mirror(2 * x0 - reach + column, launch.width), y = 2 * (y0 + part);
        float *out = lines + part * line + column;
        if (column >= line)
            ;
        else if (launch.bytes == 1)
            shrink_down<REACH, 1>(launch, picture, x, y, line, out);
        else if (launch.bytes == 2)
            shrink_down<REACH, 2>(launch, picture, x, y, line, out);
        else
            shrink_down<REACH, 4>(launch, picture, x, y, line, out);
    } else {
#pragma unroll 1
        for (int32_t i = thread; i < ROWS * line; i += THREADS) {
            const int32_t x = mirror(2 * x0 - reach + i % line, launch.width), y = 2 * (y0 + i / line) - reach;
            float sum = 0;
#pragma unroll 1
            for (int k = 0; k <= 2 * reach; k++)
                sum += blur_tap(launch, k) * float_sample(picture.data + mirror(y + k, launch.height) * picture.pitch,
                                                          x, launch.bytes, launch.unit);
            lines[i] = sum;
        }
    }
    block_barrier();
    float *out = (float *)(launch.scratch + z * launch.scratch_size + launch.output[f]);
#pragma unroll 1
    for (int32_t i = thread; i < ROWS * COLUMNS; i += THREADS) {
        const int32_t column = i % COLUMNS, row = i / COLUMNS;
        const float *from = lines + row * line + 2 * column;
        float sum = 0;
        if constexpr (REACH > 0) {
#pragma unroll
            for (int k = 0; k <= 2 * REACH; k++)
                sum += blur_tap(launch, k) * from[k];
        } else {
#pragma unroll 1
            for (int k = 0; k <= 2 * reach; k++)
                sum += blur_tap(launch, k) * from[k];
        }
        if (x0 + column < width && y0 + row < height)
            store(out + (int64_t)(y0 + row) * launch.output_pitch + x0 + column, sum);
    }
}

GPU_KERNEL(vmafgpu_float_shrink, vmafgpu__blur_launch, VMAFGPU__SHRINK_THREADS, 2) {
    if (launch.reach == 4)
        float_shrink<4>(launch);
    else if (launch.reach == 2)
        float_shrink<2>(launch);
    else if (launch.reach == 1)
        float_shrink<1>(launch);
    else
        float_shrink<0>(launch);
}

/* ================================================================================================
 * >>float motion                                 difference of blurred references, in float
 * ================================================================================================ */

/* Returns the previous reference (f is 0) or the current one (f is 1). */
GPU_FN FloatPicture motion_picture(const vmafgpu__blur_launch &launch, uint32_t z, int f) {
    const vmafgpu__gpu_pair &pair = launch.batch.pair[z];
    FloatPicture picture;
    picture.data = launch.bytes == 4 ? launch.scratch + z * launch.scratch_size + launch.input[f]
                                     : (const uint8_t *)(f ? pair.reference : pair.before[0]);
    picture.pitch = launch.bytes == 4 ? (int64_t)launch.input_pitch * 4
                    : f               ? pair.reference_pitch
                                      : pair.before_pitch[0];
    return picture;
}

GPU_FN void float_motion(const vmafgpu__blur_launch &launch) {
    enum { ROWS = VMAFGPU__BLUR_ROWS, THREADS = VMAFGPU__BLUR_THREADS, REACH = VMAFGPU__BLUR_MOTION_REACH };
    static_assert(2 * ROWS * THREADS * 4 == VMAFGPU__FLOAT_MOTION_SHARED, "shared memory");
    const uint32_t z = block_z();
    if (!launch.batch.pair[z].before[0])
        return;
    const int32_t across = vmafgpu__blur_columns(REACH), thread = (int32_t)thread_index(),
                  x0 = (int32_t)block_x() * across, y0 = (int32_t)block_y() * ROWS;
    float *lines = (float *)shared_memory(); /* [2][ROWS][THREADS] */
    const int32_t column = mirror(x0 - REACH + thread, launch.width);
#pragma unroll 1
    for (int f = 0; f < 2; f++) {
        const FloatPicture picture = motion_picture(launch, z, f);
        float v[ROWS + 2 * REACH];
#pragma unroll
        for (int k = 0; k < ROWS + 2 * REACH; k++)
            v[k] = float_sample(picture.data + mirror(y0 - REACH + k, launch.height) * picture.pitch, column,
                                launch.bytes, launch.unit);
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
            float sum = 0;
#pragma unroll
            for (int k = 0; k <= 2 * REACH; k++)
                sum += blur_tap(launch, k) * v[j + k];
            lines[(f * ROWS + j) * THREADS + thread] = sum;
        }
    }
    block_barrier();
    float *out = (float *)(launch.scratch + z * launch.scratch_size + launch.output[0]);
#pragma unroll 1
    for (int32_t i = thread; i < ROWS * (across / 4); i += THREADS) {
        const int32_t row = i / (across / 4), x = i % (across / 4) * 4, y = y0 + row;
        float before[4], now[4];
        blur_along<REACH>(launch, lines + row * THREADS + x, before);
        blur_along<REACH>(launch, lines + (ROWS + row) * THREADS + x, now);
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (y < launch.height && x0 + x + k < launch.width)
                store(out + (int64_t)y * launch.output_pitch + x0 + x + k, magnitude(before[k] - now[k]));
    }
}

GPU_KERNEL(vmafgpu_float_motion, vmafgpu__blur_launch, VMAFGPU__BLUR_THREADS, 3) {
    float_motion(launch);
}

/* Returns a blurred pixel. The columns are blurred first, then the row. */
GPU_FN float motion_blurred(const vmafgpu__blur_launch &launch, const FloatPicture &picture, int32_t x, int32_t y) {
    enum { REACH = VMAFGPU__BLUR_MOTION_REACH };
    float sum = 0;
#pragma unroll 1
    for (int i = -REACH; i <= REACH; i++) {
        const int32_t column = mirror(x + i, launch.width);
        float down = 0;
#pragma unroll
        for (int k = -REACH; k <= REACH; k++)
            down +=
                blur_tap(launch, REACH + k) * float_sample(picture.data + mirror(y + k, launch.height) * picture.pitch,
                                                           column, launch.bytes, launch.unit);
        sum += blur_tap(launch, REACH + i) * down;
    }
    return sum;
}

/* Like float_motion(), but for pictures that are scaled down, in which each pixel is interpolated from four blurred
 * ones. The y index of a block is the row. */
GPU_FN void float_motion_small(const vmafgpu__blur_launch &launch) {
    const uint32_t z = block_z();
    const int32_t x = (int32_t)(block_x() * VMAFGPU__FLOAT_MOTION_SMALL_THREADS + thread_index()),
                  y = (int32_t)block_y();
    if (!launch.batch.pair[z].before[0] || x >= launch.small_width)
        return;
    float pixel[2];
#pragma unroll
    for (int f = 0; f < 2; f++) {
        const FloatPicture picture = motion_picture(launch, z, f);
        pixel[f] = 0;
#pragma unroll 1
        for (int k = 0; k < 2; k++) {
            const uint64_t down = load(launch.rows + 2 * (int64_t)y + k);
#pragma unroll 1
            for (int i = 0; i < 2; i++) {
                const uint64_t across = load(launch.columns + 2 * (int64_t)x + i);
                pixel[f] += speed_weight(down) * speed_weight(across) *
                            motion_blurred(launch, picture, speed_index(across), speed_index(down));
            }
        }
    }
    store((float *)(launch.scratch + z * launch.scratch_size + launch.output[0]) + (int64_t)y * launch.output_pitch + x,
          magnitude(pixel[0] - pixel[1]));
}

GPU_KERNEL(vmafgpu_float_motion_small, vmafgpu__blur_launch, VMAFGPU__FLOAT_MOTION_SMALL_THREADS, 4) {
    float_motion_small(launch);
}

/* ================================================================================================
 * >>float ansnr                                  signal-to-noise ratio of smoothed pictures, in float
 * ================================================================================================ */
GPU_FN void float_ansnr(const vmafgpu__blur_launch &launch) {
    enum { ROWS = VMAFGPU__FLOAT_ANSNR_ROWS };
    const uint32_t z = block_z();
    const int32_t x = (int32_t)(block_x() * VMAFGPU__FLOAT_ANSNR_THREADS + thread_index()),
                  y0 = (int32_t)block_y() * ROWS, width = launch.width, height = launch.height;
    if (!launch.batch.pair[z].distorted || x >= width)
        return;
    const FloatPicture reference = float_picture(launch, z, 0), distorted = float_picture(launch, z, 1);
    int32_t column[5];
    float a[ROWS], b[ROWS];
#pragma unroll
    for (int i = 0; i < 5; i++)
        column[i] = vmafgpu__reflect_repeat(x - 2 + i, width);
#pragma unroll
    for (int k = 0; k < ROWS + 4; k++) {
        /* Rows too far below the picture to be reflected into it are replaced by row 0; no result depends on them. */
        const int32_t beside = vmafgpu__reflect_repeat(y0 - 2 + k, height);
        const int64_t y = beside < 0 ? 0 : beside;
        float r[5], d[5], along[3];
#pragma unroll
        for (int i = 0; i < 5; i++) {
            r[i] = i > 0 && i < 4
                       ? float_sample(reference.data + y * reference.pitch, column[i], launch.bytes, launch.unit)
                       : 0;
            d[i] = float_sample(distorted.data + y * distorted.pitch, column[i], launch.bytes, launch.unit);
        }
#pragma unroll
        for (int i = 0; i < 3; i++) {
            const float *taps = vmafgpu__float_ansnr_taps[i];
            along[i] = taps[0] * d[0] + taps[1] * d[1] + taps[2] * d[2] + taps[1] * d[3] + taps[0] * d[4];
        }
        const float smooth = r[1] + 2 * r[2] + r[3]; /* sums of the reference are exact in any order */
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
            const int tap = k - j;
            if (tap == 0)
                b[j] = along[0];
            else if (tap > 0 && tap <= 4)
                b[j] += along[tap < 3 ? tap : 4 - tap];
            if (tap == 1)
                a[j] = smooth;
            else if (tap == 2 || tap == 3)
                a[j] += tap == 2 ? 2 * smooth : smooth;
        }
    }
    unsigned char *out = launch.scratch + z * launch.scratch_size;
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
        const int64_t at = (int64_t)(y0 + j) * launch.output_pitch + x;
        const float signal = a[j] * 0.0625f, noise = signal - b[j];
        if (y0 + j >= height)
            continue;
        store((float *)(out + launch.output[0]) + at, signal * signal);
        store((float *)(out + launch.output[1]) + at, noise * noise);
    }
}

GPU_KERNEL(vmafgpu_float_ansnr, vmafgpu__blur_launch, VMAFGPU__FLOAT_ANSNR_THREADS, 4) {
    float_ansnr(launch);
}

/* ================================================================================================
 * >>float adm                                    detail lost and added, in float
 * ================================================================================================
 * A block computes the bands of a tile and its one-pixel halo. The threads exchange masking values through shared
 * memory.
 */

/* Computes a pixel of all bands of a picture: h, v, d, low-pass. */
GPU_FN void float_adm_bands(const vmafgpu__float_adm_launch &launch, const uint8_t *data, int64_t pitch, int32_t x,
                            int32_t y, float (&band)[4]) {
    float low[4], high[4];
    const uint8_t *row[4];
#pragma unroll
    for (int k = 0; k < 4; k++)
        row[k] = data + vmafgpu__reflect_repeat(2 * y - 1 + k, launch.from_height) * pitch;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int32_t column = vmafgpu__reflect_repeat(2 * x - 1 + i, launch.from_width);
        float v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = float_sample(row[k], column, launch.bytes, launch.unit);
        low[i] = vmafgpu__float_wavelet(0, v[0], v[1], v[2], v[3]);
        high[i] = vmafgpu__float_wavelet(1, v[0], v[1], v[2], v[3]);
    }
    band[0] = vmafgpu__float_wavelet(0, high[0], high[1], high[2], high[3]);
    band[1] = vmafgpu__float_wavelet(1, low[0], low[1], low[2], low[3]);
    band[2] = vmafgpu__float_wavelet(1, high[0], high[1], high[2], high[3]);
    band[3] = vmafgpu__float_wavelet(0, low[0], low[1], low[2], low[3]);
}

/* Returns the part of the detail o that is left in t, before the gain limit is applied. `reciprocals` is a table of the
 * reciprocal estimates that the CPU computes; each estimate is refined once. If it is NULL, a division is used. */
GPU_FN float float_adm_restore(const uint16_t *reciprocals, float o, float t) {
    const float x = o + 1e-30f;
    float k;
    if (reciprocals) {
        const uint32_t bits = bits_of(x), exponent = bits >> 23 & 255;
        const uint32_t usual = ((uint32_t)load(reciprocals + (bits >> 11 & 4095)) << 11) + ((253 - exponent) << 23);
        const uint32_t large = exponent > 252 ? 0 : usual, size = exponent == 0 ? 0x7f800000u : large;
        const float y = float_bits((bits & 0x80000000u) | size);
        k = t * (y + y * (1.0f - x * y));
    } else {
        k = quotient(t, x);
    }
    const float low = k < 0 ? 0 : k, both = low > 1 ? 1 : low;
    return both * o;
}

template <bool CUBES>
GPU_FN float float_adm_power(const vmafgpu__float_adm_launch &launch, float size, float threshold) {
    const float over = size - threshold, v = over < 0 ? 0 : over;
    return CUBES ? v * v * v : vmafgpu__powf(v, launch.p, vmafgpu__powf_logs, vmafgpu__powf_roots);
}

enum { FADM_TILE = VMAFGPU__FLOAT_ADM_COLUMNS * VMAFGPU__FLOAT_ADM_ROWS };

/* `size` contains magnitudes of a tile, weighted by contrast sensitivity: [original, kept, added][band][pixel]. Kept
 * detail is the detail of the original that is left in the distorted picture. `side` specifies how strongly the kept
 * detail and the added detail mask neighbouring pixels. */
struct FloatAdmTile {
    float size[3][3][FADM_TILE], side[2][3][FADM_TILE];
};

/* Decouples a band of a pixel. `kept` and `added` receive the weighted magnitudes of the kept detail and of the added
 * detail. Returns the weighted magnitude of the original. */
GPU_FN float float_adm_decouple(const vmafgpu__float_adm_launch &launch, float factor, bool parallel, float o, float t,
                                float &kept, float &added) {
    const float r = float_adm_restore(launch.reciprocals, o, t), short_limit = (float)launch.gain_limit;
    const float gain =
        (double)short_limit == launch.gain_limit ? r * short_limit : (float)((double)r * launch.gain_limit);
    const float up = gain < t ? gain : t, down = gain > t ? gain : t;
    const float negative = r < 0 ? down : r, bound = r > 0 ? up : negative, detail = parallel ? bound : r;
    kept = magnitude(factor * detail);
    added = magnitude(factor * (t - detail));
    return magnitude(factor * o);
}

/* Returns how much the kept detail (`which` is 0) or the added detail (1) masks a pixel of the tile. */
GPU_FN float float_adm_threshold(const FloatAdmTile &tile, int which, int32_t at) {
    float threshold = 0;
#pragma unroll
    for (int band = 0; band < 3; band++) {
        const float *side = tile.side[which][band] + at;
        float sum = side[-VMAFGPU__FLOAT_ADM_COLUMNS - 1] + side[-VMAFGPU__FLOAT_ADM_COLUMNS] +
                    side[-VMAFGPU__FLOAT_ADM_COLUMNS + 1] + side[-1];
        sum = (float)((double)sum + 0.0666666701 * (double)tile.size[1 + which][band][at]);
        sum += side[1];
        sum += side[VMAFGPU__FLOAT_ADM_COLUMNS - 1];
        sum += side[VMAFGPU__FLOAT_ADM_COLUMNS];
        sum += side[VMAFGPU__FLOAT_ADM_COLUMNS + 1];
        threshold += sum;
    }
    return threshold;
}

template <bool CUBES> GPU_FN void float_adm(const vmafgpu__float_adm_launch &launch) {
    static_assert(sizeof(FloatAdmTile) == VMAFGPU__FLOAT_ADM_SHARED, "shared memory");
    const uint32_t z = block_z();
    const vmafgpu__gpu_pair &pair = launch.batch.pair[z];
    if (!pair.distorted)
        return;
    unsigned char *scratch = launch.scratch + z * launch.scratch_size;
    const int32_t x0 = (int32_t)block_x() * (VMAFGPU__FLOAT_ADM_COLUMNS - 2) - 1,
                  y0 = (int32_t)block_y() * (VMAFGPU__FLOAT_ADM_ROWS - 2) - 1;
    const int32_t width = launch.width, height = launch.height;
    FloatAdmTile &tile = *(FloatAdmTile *)shared_memory();
    float *terms = (float *)(scratch + launch.terms);
    const uint64_t next_terms = launch.terms_size / 4;
#pragma unroll 1
    for (int32_t i = (int32_t)thread_index(); i < FADM_TILE; i += VMAFGPU__FLOAT_ADM_THREADS) {
        const int32_t column = i % VMAFGPU__FLOAT_ADM_COLUMNS, row = i / VMAFGPU__FLOAT_ADM_COLUMNS, x = x0 + column,
                      y = y0 + row;
        const bool is_inner = column > 0 && column < VMAFGPU__FLOAT_ADM_COLUMNS - 1 && row > 0 &&
                              row < VMAFGPU__FLOAT_ADM_ROWS - 1 && x < width && y < height;
        /* A pixel just outside the picture receives the bands of the pixel to which it is reflected. Pixels farther
         * outside are not used. */
        const int32_t beside = vmafgpu__reflect_repeat(x, width), below = vmafgpu__reflect_repeat(y, height);
        const int32_t from_x = beside < 0 ? 0 : beside, from_y = below < 0 ? 0 : below;
        float band[2][4];
#pragma unroll
        for (int f = 0; f < 2; f++) {
            const bool is_ours = launch.bytes == 4;
            float_adm_bands(
                launch, is_ours ? scratch + launch.input[f] : (const uint8_t *)(f ? pair.distorted : pair.reference),
                is_ours ? (int64_t)launch.input_pitch * 4
                : f     ? pair.distorted_pitch
                        : pair.reference_pitch,
                from_x, from_y, band[f]);
            if (launch.has_low && is_inner)
                store((float *)(scratch + launch.low[f]) + (int64_t)y * launch.low_pitch + x, band[f][3]);
        }
        if (!launch.has_bands)
            continue;
        const float dot = band[0][0] * band[1][0] + band[0][1] * band[1][1];
        const float o2 = band[0][0] * band[0][0] + band[0][1] * band[0][1],
                    t2 = band[1][0] * band[1][0] + band[1][1] * band[1][1];
        const bool parallel = dot >= 0 && dot * dot >= 0.99969542f * o2 * t2; /* within one degree */
#pragma unroll
        for (int b = 0; b < 3; b++) {
            float kept, added;
            tile.size[0][b][i] =
                float_adm_decouple(launch, launch.csf[b == 2], parallel, band[0][b], band[1][b], kept, added);
            tile.size[1][b][i] = kept;
            tile.size[2][b][i] = added;
            tile.side[0][b][i] = (float)(0.0333333351 * (double)kept);
            tile.side[1][b][i] = (float)(0.0333333351 * (double)added);
        }
    }
    block_barrier();
    if (!launch.has_bands)
        return;
#pragma unroll 1
    for (int32_t i = (int32_t)thread_index(); i < FADM_TILE; i += VMAFGPU__FLOAT_ADM_THREADS) {
        const int32_t column = i % VMAFGPU__FLOAT_ADM_COLUMNS, row = i / VMAFGPU__FLOAT_ADM_COLUMNS, x = x0 + column,
                      y = y0 + row;
        if (column == 0 || column == VMAFGPU__FLOAT_ADM_COLUMNS - 1 || row == 0 || row == VMAFGPU__FLOAT_ADM_ROWS - 1 ||
            x < launch.left || x >= width - launch.left || y < launch.top || y >= height - launch.top)
            continue;
        float *out = terms + (int64_t)(y - launch.top) * launch.terms_pitch + (x - launch.left);
#pragma unroll 1
        for (int kind = 0; kind < 3; kind++) { /* added detail masks kept detail, and vice versa */
            const float threshold = kind == 0 || launch.bypass ? 0 : float_adm_threshold(tile, kind == 1, i);
#pragma unroll 1
            for (int b = 0; b < 3; b++, out += next_terms)
                store(out, float_adm_power<CUBES>(launch, tile.size[kind][b][i], threshold));
        }
    }
}

GPU_KERNEL(vmafgpu_float_adm, vmafgpu__float_adm_launch, VMAFGPU__FLOAT_ADM_THREADS, 3) {
    float_adm<true>(launch);
}
GPU_KERNEL(vmafgpu_float_adm_powers, vmafgpu__float_adm_launch, VMAFGPU__FLOAT_ADM_THREADS, 2) {
    float_adm<false>(launch);
}

/* ================================================================================================
 * >>ssim                                         structural similarity
 * ================================================================================================
 * Products with taps are rounded to float and summed in double, in the order of the taps. Each thread block stores its
 * own sums. If their total may round to a different float than the total of libvmaf, the total is uncertain. In that
 * case the kernels vmafgpu_ssim_rounded and vmafgpu_ssim_finalise narrow its range. If the total is still uncertain,
 * the host requests a recomputation, in which all terms are computed strip by strip and added in the same order as in
 * libvmaf.
 */

/* Returns a picture of a scale: the reference (f is 0) or the distorted one (f is 1). */
GPU_FN FloatPicture ssim_picture(const vmafgpu__ssim_launch &launch, const vmafgpu__ssim_scale &scale, uint32_t z,
                                 int f) {
    const vmafgpu__gpu_pair &pair = launch.batch.pair[z];
    const bool is_ours = scale.bytes == 4;
    FloatPicture picture;
    picture.data = is_ours ? launch.scratch + z * launch.scratch_size + scale.picture[f]
                           : (const uint8_t *)(f ? pair.distorted : pair.reference);
    picture.pitch = is_ours ? (int64_t)scale.pitch * 4 : f ? pair.distorted_pitch : pair.reference_pitch;
    return picture;
}

GPU_FN float ssim_sample(const uint8_t *row, int32_t x, int bytes, float unit) {
    if (bytes == 4)
        return load_float((const float *)row + x);
    return (float)(bytes == 1 ? load(row + x) : load((const uint16_t *)row + x)) * unit;
}

GPU_FN int32_t ssim_mirror(int32_t k, int32_t n) {
    return k < 0 ? -1 - k : k >= n ? 2 * n - 1 - k : k;
}

/* Converts floats to doubles with one integer multiplication and one integer addition, because conversion instructions
 * run at a quarter of the rate of double additions and would limit SSIM. Floats must not be negative. 0 becomes
 * 2^-127. */
struct Widening {
    uint32_t factor;
    uint64_t addend;
};
GPU_FN Widening widening() {
    return { opaque((uint32_t)0x20000000), opaque((uint64_t)0x38000000 << 32) };
}
GPU_FN double widened(float v, const Widening &how) {
    return double_bits((uint64_t)bits_of(v) * how.factor + how.addend);
}

/* How products are converted to double. POSITIVE uses widened(), and is for products of luma, which are 0 or at least
 * 2^-60, and for samples of at least SSIM_POSITIVE. widened() converts 0 to 2^-127, which is rounded away when it is
 * added to such a product. A sum that consists only of zeros is set to 0. */
enum class Products { POSITIVE, ANY };
[[maybe_unused]] static constexpr float SSIM_POSITIVE = 1e-13f, SSIM_NOTHING = 1e-30f;
template <Products KIND> GPU_FN double ssim_term(float v, const Widening &how) {
    return KIND == Products::POSITIVE ? widened(v, how) : (double)v;
}
template <Products KIND> GPU_FN float ssim_narrowed(double sum) {
    const float v = (float)sum;
    return KIND == Products::POSITIVE && v < SSIM_NOTHING ? 0 : v;
}

/* Returns the mean of a square area of luma, summed row by row. */
template <int BYTES>
GPU_FN float ssim_square(const uint8_t *data, int64_t pitch, int32_t x0, int32_t y0,
                         const vmafgpu__ssim_launch &launch) {
    const int32_t factor = launch.factor;
    const float weight = quotient(1.0f, (float)(factor * factor)), unit = BYTES == 1 ? 1 : launch.unit;
    const Widening how = widening();
    double sum = 0;
#pragma unroll 1
    for (int32_t j = 0; j < factor; j++) {
        const uint8_t *row = data + ssim_mirror(y0 + j, launch.batch.height) * pitch;
#pragma unroll 4
        for (int32_t i = 0; i < factor; i++)
            sum += ssim_term<Products::POSITIVE>(
                ssim_sample(row, ssim_mirror(x0 + i, launch.batch.width), BYTES, unit) * weight, how);
    }
    return ssim_narrowed<Products::POSITIVE>(sum);
}

/* Computes scale 0 of float_ssim: means of square areas of luma. */
GPU_FN void ssim_reduce(const vmafgpu__ssim_launch &launch) {
    const vmafgpu__ssim_scale &to = launch.scale[0];
    const vmafgpu__gpu_pair &pair = launch.batch.pair[block_z() / 2];
    const uint8_t *data = (const uint8_t *)(block_z() % 2 ? pair.distorted : pair.reference);
    const int64_t pitch = block_z() % 2 ? pair.distorted_pitch : pair.reference_pitch;
    const int32_t factor = launch.factor, half = factor / 2,
                  x = (int32_t)(block_x() * VMAFGPU__SSIM_THREADS + thread_index()), y = (int32_t)block_y(),
                  x0 = x * factor - half, y0 = y * factor - half;
    if (!pair.distorted || x >= to.width)
        return;
    float *out = (float *)(launch.scratch + block_z() / 2 * launch.scratch_size + to.picture[block_z() % 2]);
    store(out + (int64_t)y * to.pitch + x, launch.batch.bit_depth == 8 ? ssim_square<1>(data, pitch, x0, y0, launch)
                                                                       : ssim_square<2>(data, pitch, x0, y0, launch));
}

enum {
    HALVE_TAPS = 9,
    HALVE_COLUMNS = VMAFGPU__SSIM_HALVE_COLUMNS,
    HALVE_ROWS = VMAFGPU__SSIM_HALVE_ROWS,
    HALVE_LINE = VMAFGPU__SSIM_HALVE_LINE,
    HALVE_ODD = HALVE_LINE / 2, /* offset of the odd columns of a row; the even ones come first */
    HALVE_WIDE = 2 * HALVE_COLUMNS + HALVE_TAPS - 2,
    HALVE_HIGH = 2 * HALVE_ROWS + HALVE_TAPS - 2,
    HALVE_THREADS_DOWN = VMAFGPU__SSIM_THREADS / HALVE_COLUMNS,
    HALVE_DOWN = HALVE_ROWS / HALVE_THREADS_DOWN /* pixels of a thread, one below the other */
};
static_assert(HALVE_WIDE <= HALVE_LINE && (HALVE_LINE * HALVE_HIGH + 1) * 4 <= VMAFGPU__SSIM_HALVE_SHARED,
              "shared memory");

/* Computes the pixels of a thread, each from 9 x 9 samples. The samples begin at `own`. widened() supports no negative
 * numbers, so the products with negative taps are computed with the absolute values of the taps, and are subtracted. */
template <Products KIND> GPU_FN void ssim_low_pass(const float *own, float (&out)[HALVE_DOWN]) {
    const Widening how = widening();
    double sum[HALVE_DOWN] = {};
#pragma unroll
    for (int j = 0; j < HALVE_TAPS + 2 * (HALVE_DOWN - 1); j++)
#pragma unroll
        for (int i = 0; i < HALVE_TAPS; i++) {
            const float sample = own[j * HALVE_LINE + i % 2 * HALVE_ODD + i / 2];
#pragma unroll
            for (int k = 0; k < HALVE_DOWN; k++) {
                const int row = j - 2 * k;
                if (row < 0 || row >= HALVE_TAPS)
                    continue;
                const float tap = vmafgpu__ssim_low_pass[row < 5 ? row : 8 - row][i < 5 ? i : 8 - i];
                if (tap < 0)
                    sum[k] -= ssim_term<KIND>(sample * -tap, how);
                else
                    sum[k] += ssim_term<KIND>(sample * tap, how);
            }
        }
#pragma unroll
    for (int k = 0; k < HALVE_DOWN; k++) {
        const float v = (float)sum[k];
        out[k] = KIND == Products::POSITIVE && v > -SSIM_NOTHING && v < SSIM_NOTHING ? 0 : v;
    }
}

/* Loads into shared memory the samples on which the pixels of the block at (x0, y0) depend, and returns the smaller of
 * 1 and the smallest sample that the thread has loaded. A thread issues all its loads before it uses the first
 * sample. */
template <int BYTES>
GPU_FN float ssim_tile(const vmafgpu__ssim_scale &from, const FloatPicture &picture, int32_t x0, int32_t y0, float unit,
                       float *tile) {
    enum {
        ACROSS = (HALVE_WIDE + HALVE_COLUMNS - 1) / HALVE_COLUMNS,
        DOWN = (HALVE_HIGH + HALVE_THREADS_DOWN - 1) / HALVE_THREADS_DOWN
    };
    const int32_t first = (int32_t)thread_index() % HALVE_COLUMNS, top = (int32_t)thread_index() / HALVE_COLUMNS;
    float sample[ACROSS][DOWN], least = 1;
#pragma unroll
    for (int i = 0; i < DOWN; i++) {
        const int32_t row = ssim_mirror(2 * y0 - 4 + top + i * HALVE_THREADS_DOWN, from.height); /* not used if < 0 */
        const uint8_t *line = picture.data + (row < 0 ? 0 : row) * picture.pitch;
#pragma unroll
        for (int k = 0; k < ACROSS; k++) {
            const int32_t column = ssim_mirror(2 * x0 - 4 + first + k * HALVE_COLUMNS, from.width);
            sample[k][i] = ssim_sample(line, column < 0 ? 0 : column, BYTES, BYTES == 1 ? 1 : unit);
        }
    }
#pragma unroll
    for (int k = 0; k < ACROSS; k++) {
        const int32_t at = first + k * HALVE_COLUMNS;
        float *out = tile + at % 2 * HALVE_ODD + at / 2;
#pragma unroll
        for (int i = 0; i < DOWN; i++) {
            const int32_t line = top + i * HALVE_THREADS_DOWN;
            if (at >= HALVE_WIDE || line >= HALVE_HIGH)
                continue;
            least = smaller(least, sample[k][i]);
            out[line * HALVE_LINE] = sample[k][i];
        }
    }
    return least;
}

/* Computes the next scale of float_ms_ssim: every second pixel of every second row, after a low-pass filter. A block
 * loads its samples into shared memory first. */
GPU_FN void ssim_halve(const vmafgpu__ssim_launch &launch) {
    const uint32_t z = block_z() / 2;
    if (!launch.batch.pair[z].distorted || (launch.again && !(launch.again >> z & 1)))
        return;
    const vmafgpu__ssim_scale &from = launch.scale[launch.at], &to = launch.scale[launch.at + 1];
    const int f = (int)(block_z() % 2), bytes = from.bytes;
    const FloatPicture picture = ssim_picture(launch, from, z, f);
    const int32_t thread = (int32_t)thread_index(), x0 = (int32_t)block_x() * HALVE_COLUMNS,
                  y0 = (int32_t)block_y() * HALVE_ROWS, x = thread % HALVE_COLUMNS,
                  y = thread / HALVE_COLUMNS * HALVE_DOWN;
    float *tile = (float *)shared_memory();
    uint32_t *is_any = (uint32_t *)(tile + HALVE_LINE * HALVE_HIGH);
    if (thread == 0)
        *is_any = 0;
    block_barrier();
    const float least = bytes == 1   ? ssim_tile<1>(from, picture, x0, y0, launch.unit, tile)
                        : bytes == 2 ? ssim_tile<2>(from, picture, x0, y0, launch.unit, tile)
                                     : ssim_tile<4>(from, picture, x0, y0, launch.unit, tile);
    if (bytes == 4 && least < SSIM_POSITIVE)
        *is_any = 1;
    block_barrier();
    const float *own = tile + 2 * y * HALVE_LINE + x;
    float value[HALVE_DOWN];
    if (*is_any)
        ssim_low_pass<Products::ANY>(own, value);
    else
        ssim_low_pass<Products::POSITIVE>(own, value);
    float *out =
        (float *)(launch.scratch + z * launch.scratch_size + to.picture[f]) + (int64_t)(y0 + y) * to.pitch + x0 + x;
#pragma unroll
    for (int k = 0; k < HALVE_DOWN; k++)
        if (x0 + x < to.width && y0 + y + k < to.height)
            store(out + k * to.pitch, value[k]);
}

enum {
    SSIM_LINE = VMAFGPU__SSIM_BLOCK_COLUMNS,
    SSIM_PLANE = SSIM_LINE * VMAFGPU__SSIM_BLOCK_LINES, /* floats of shared memory */
    SSIM_ACROSS = 2,
    SSIM_DOWN = 7, /* windows per thread: ACROSS in the horizontal pass, DOWN in the vertical pass */
    /* SSIM_SEEN is the number of columns that these windows cover, SSIM_LINES the number of lines */
    SSIM_SEEN = VMAFGPU__SSIM_TAPS + SSIM_ACROSS - 1,
    SSIM_LINES = VMAFGPU__SSIM_TAPS + SSIM_DOWN - 1,
    SSIM_LAST = VMAFGPU__SSIM_THREADS / SSIM_LINE - 1 /* index of the last thread in a column of threads */
};
static_assert((SSIM_LAST + 1) * SSIM_DOWN >= VMAFGPU__SSIM_BLOCK_ROWS, "a column's threads have its windows");

/* Loads the samples of a row that SSIM_ACROSS adjacent windows use. If BYTES is 4, returns the minimum of 1 and these
 * samples, otherwise 1. BYTES is the size of a sample, or 0 if `bytes` specifies it. Columns beyond `last`
 * repeat that column; they belong to no window. */
template <int BYTES>
GPU_FN float ssim_samples(const uint8_t *row, int32_t x, int32_t last, int bytes, float unit, float (&out)[SSIM_SEEN]) {
    const uint8_t *from = row + (int64_t)x * (BYTES ? BYTES : bytes);
    float least = 1;
    if (x + SSIM_SEEN - 1 <= last)
#pragma unroll
        for (int j = 0; j < SSIM_SEEN; j++)
            out[j] = ssim_sample(from, j, BYTES ? BYTES : bytes, BYTES == 1 ? 1 : unit);
    else
#pragma unroll
        for (int j = 0; j < SSIM_SEEN; j++)
            out[j] = ssim_sample(row, x + j < last ? x + j : last, BYTES ? BYTES : bytes, BYTES == 1 ? 1 : unit);
#pragma unroll
    for (int j = 0; j < SSIM_SEEN && BYTES == 4; j++)
        least = smaller(least, out[j]);
    return least;
}

/* Runs the horizontal pass for one line of SSIM_ACROSS adjacent windows, plane by plane, because the sums of all planes
 * would not fit in the registers. */
template <Products KIND> GPU_FN void ssim_along(const float (&a)[SSIM_SEEN], const float (&b)[SSIM_SEEN], float *out) {
    const Widening how = widening();
#pragma unroll
    for (int k = 0; k < VMAFGPU__SSIM_PLANES; k++) {
        double sum[SSIM_ACROSS] = {};
#pragma unroll
        for (int j = 0; j < SSIM_SEEN; j++) {
            const float v = k == 0 ? a[j] : k == 1 ? b[j] : k == 2 ? a[j] * a[j] : k == 3 ? b[j] * b[j] : a[j] * b[j];
#pragma unroll
            for (int i = 0; i < SSIM_ACROSS; i++)
                if (j >= i && j - i < VMAFGPU__SSIM_TAPS)
                    sum[i] += ssim_term<KIND>(v * vmafgpu__ssim_taps[j - i], how);
        }
        *(uint64_t *)(out + k * SSIM_PLANE) =
            (uint64_t)bits_of(ssim_narrowed<KIND>(sum[1])) << 32 | bits_of(ssim_narrowed<KIND>(sum[0]));
    }
}

/* Runs the vertical pass on one plane, for the column of windows that belongs to a thread. */
template <Products KIND> GPU_FN void ssim_down(const float (&line)[SSIM_LINES], float (&mean)[SSIM_DOWN]) {
    const Widening how = widening();
    double sum[SSIM_DOWN] = {};
#pragma unroll
    for (int j = 0; j < SSIM_LINES; j++)
#pragma unroll
        for (int i = 0; i < SSIM_DOWN; i++)
            if (j >= i && j - i < VMAFGPU__SSIM_TAPS)
                sum[i] += ssim_term<KIND>(line[j] * vmafgpu__ssim_taps[j - i], how);
#pragma unroll
    for (int i = 0; i < SSIM_DOWN; i++)
        mean[i] = ssim_narrowed<KIND>(sum[i]);
}

/* Computes the windows of the block at (x0, y0). Each thread computes the means of a, b, a * a, b * b and a * b of its
 * windows, plane by plane. It writes these means over the first lines that it has read, and returns the address of
 * the first mean. BYTES is the size of a sample, or 0 if the scale specifies it. */
template <int BYTES> GPU_FN float *ssim_block(const vmafgpu__ssim_launch &launch, uint32_t z, int32_t x0, int32_t y0) {
    enum {
        BEYOND = VMAFGPU__SSIM_BLOCK_LINES - SSIM_LAST * SSIM_DOWN
    }; /* number of lines from the first line of the last thread to the end */
    constexpr bool IS_LUMA = BYTES == 1 || BYTES == 2;
    const vmafgpu__ssim_scale &scale = launch.scale[launch.at];
    const FloatPicture a = ssim_picture(launch, scale, z, 0), b = ssim_picture(launch, scale, z, 1);
    const int32_t thread = (int32_t)thread_index(), at = thread / SSIM_LINE;
    float *lines = (float *)shared_memory(); /* [PLANES][BLOCK_LINES][BLOCK_COLUMNS] */
#pragma unroll 1
    for (int32_t i = SSIM_ACROSS * thread; i < SSIM_PLANE; i += SSIM_ACROSS * VMAFGPU__SSIM_THREADS) {
        const int32_t below = y0 + i / SSIM_LINE, y = below < scale.height ? below : scale.height - 1,
                      x = x0 + i % SSIM_LINE;
        float v[SSIM_SEEN], w[SSIM_SEEN];
        const float least =
            smaller(ssim_samples<BYTES>(a.data + y * a.pitch, x, scale.width - 1, scale.bytes, launch.unit, v),
                    ssim_samples<BYTES>(b.data + y * b.pitch, x, scale.width - 1, scale.bytes, launch.unit, w));
        if (IS_LUMA || (BYTES && least >= SSIM_POSITIVE))
            ssim_along<Products::POSITIVE>(v, w, lines + i);
        else
            ssim_along<Products::ANY>(v, w, lines + i);
    }
    block_barrier();
    float *own = lines + at * SSIM_DOWN * SSIM_LINE + thread % SSIM_LINE, *plane = own;
#pragma unroll 1
    for (int k = 0; k < VMAFGPU__SSIM_PLANES; k++, plane += SSIM_PLANE) {
        float line[SSIM_LINES], mean[SSIM_DOWN], least = 1;
#pragma unroll
        for (int j = 0; j < SSIM_LINES; j++) {
            line[j] = plane[(j < BEYOND || at < SSIM_LAST ? j : BEYOND - 1) * SSIM_LINE];
            if (BYTES == 4)
                least = smaller(least, line[j]);
        }
        if (IS_LUMA || (BYTES && least >= SSIM_POSITIVE * SSIM_POSITIVE))
            ssim_down<Products::POSITIVE>(line, mean);
        else
            ssim_down<Products::ANY>(line, mean);
        block_barrier(); /* all threads have read the lines that are overwritten next */
#pragma unroll
        for (int i = 0; i < SSIM_DOWN; i++)
            plane[i * SSIM_LINE] = mean[i];
    }
    return own;
}

/* Computes luminance, contrast and structure of a pixel from the means of a, b, a * a, b * b and a * b in its
 * window. */
GPU_FN void ssim_terms(const float (&m)[VMAFGPU__SSIM_PLANES], double &l, double &c, float &s) {
    const float c1 = 6.50249958f, c2 = 58.5224953f, c3 = c2 / 2;
    const float a2 = m[0] * m[0], b2 = m[1] * m[1], over_a = m[2] - a2, over_b = m[3] - b2;
    const float va = over_a > 0 ? over_a : 0, vb = over_b > 0 ? over_b : 0, deviation = square_root(va * vb);
    const float given = m[4] - m[0] * m[1], positive = given > 0 ? given : 0,
                covariance = deviation > 0 ? given : positive;
    l = quotient(2.0 * (double)m[0] * (double)m[1] + (double)c1, (double)(a2 + b2 + c1));
    c = quotient(2.0 * (double)deviation + (double)c2, (double)(va + vb + c2));
    s = quotient(covariance + c3, deviation + c3);
}

GPU_FN double shuffle_xor(double v, uint32_t mask) {
    const uint64_t bits = bits_of(v);
    const uint32_t low = shuffle_xor_word((uint32_t)bits, mask), high = shuffle_xor_word((uint32_t)(bits >> 32), mask);
    return double_bits((uint64_t)high << 32 | low);
}

/* Returns the sums of the block, one in each of the first SUMS threads. `totals` is shared memory with SUMS doubles per
 * warp. */
GPU_FN double ssim_block_sums(const double (&sum)[VMAFGPU__SSIM_SUMS], double *totals) {
#pragma unroll
    for (int k = 0; k < VMAFGPU__SSIM_SUMS; k++) {
        double v = sum[k];
        for (uint32_t mask = LANES / 2; mask; mask /= 2)
            v += shuffle_xor(v, mask);
        if (lane_index() == 0)
            totals[warp_index() * VMAFGPU__SSIM_SUMS + (uint32_t)k] = v;
    }
    block_barrier();
    double total = 0;
    for (uint32_t i = 0; i < VMAFGPU__SSIM_THREADS / LANES && thread_index() < VMAFGPU__SSIM_SUMS; i++)
        total += totals[i * VMAFGPU__SSIM_SUMS + thread_index()];
    return total;
}

GPU_FN vmafgpu__ssim_row *ssim_rows(const vmafgpu__ssim_launch &launch, const vmafgpu__ssim_scale &scale, uint32_t z,
                                    int kind) {
    return (vmafgpu__ssim_row *)(launch.scratch + z * launch.scratch_size + scale.rows) +
           (int64_t)kind * (scale.height - VMAFGPU__SSIM_TAPS + 1);
}

/* Returns 2^n, which must be a normal double. */
GPU_FN double ssim_power(int32_t n) {
    return double_bits((uint64_t)(n + 1023) << 52);
}

/* Rounds a term to a multiple of 2^(row->exponent - 52), and adds the result to the sum of the row. Counts ties. All
 * lanes must call this, even those without a term or a row. */
GPU_FN void ssim_add_rounded(vmafgpu__ssim_row *row, bool is_row, bool is_term, double term) {
    const double magic = 6755399441055744.0; /* 2^52 + 2^51: doubles of this size are integers */
    const double scaled = term * ssim_power(52 - (int32_t)peek((const uint32_t *)&row->exponent)),
                 moved = scaled + magic, off = scaled - (moved - magic);
    const bool is_known = term > -2 && term < 2, is_tie = off == 0.5 || off == -0.5;
    int64_t sum = is_term && is_known ? (int64_t)(bits_of(moved) - bits_of(magic)) : 0;
    uint32_t ties = is_term && is_known && is_tie;
    if (is_term && !is_known)
        atomic_or(&row->ties, VMAFGPU__SSIM_UNKNOWN);
    for (uint32_t mask = SSIM_LINE / 2; mask; mask /= 2) {
        const uint32_t low = shuffle_xor_word((uint32_t)sum, mask),
                       high = shuffle_xor_word((uint32_t)((uint64_t)sum >> 32), mask);
        sum += (int64_t)((uint64_t)high << 32 | low);
        ties += shuffle_xor_word(ties, mask);
    }
    if (thread_index() % SSIM_LINE || !is_row)
        return;
    atomic_add(&row->sum, sum);
    if (ties)
        atomic_add(&row->ties, ties);
}

enum class Windows { SUMS, TERMS, ROUNDED };

/* Processes blocks of windows. Depending on WHAT, computes the sums of all terms, the individual terms of a strip, or,
 * for uncertain sums, the row sums of rounded terms. */
template <Windows WHAT> GPU_FN void ssim_windows(const vmafgpu__ssim_launch &launch) {
    enum { ROWS = VMAFGPU__SSIM_BLOCK_ROWS, GROUP = VMAFGPU__SEQUENCE_GROUP };
    constexpr bool IS_STRIP = WHAT == Windows::TERMS, IS_ROUNDED = WHAT == Windows::ROUNDED;
    const uint32_t z = block_z();
    const vmafgpu__ssim_scale &scale = launch.scale[launch.at];
    const double *words = launch.words + (int64_t)z * launch.word_stride;
    if (!launch.batch.pair[z].distorted || (IS_STRIP && !(launch.again >> z & 1)))
        return;
    const uint32_t uncertain_word =
        IS_ROUNDED ? load((const uint32_t *)(words + launch.uncertain_word)) >> 4 * launch.at & 15 : 0;
    if (IS_ROUNDED && !uncertain_word)
        return;
    const int32_t blocks = IS_ROUNDED ? VMAFGPU__SSIM_ROUNDED_BLOCKS : 1, first_row = IS_STRIP ? launch.strip : 0,
                  width = scale.width - VMAFGPU__SSIM_TAPS + 1,
                  height = IS_STRIP ? launch.strip_end : scale.height - VMAFGPU__SSIM_TAPS + 1;
    const int32_t own_row = (int32_t)(thread_index() / SSIM_LINE) * SSIM_DOWN,
                  y0 = first_row + (int32_t)block_y() * ROWS;
#pragma unroll 1
    for (int32_t block = (int32_t)block_x() * blocks; block < ((int32_t)block_x() + 1) * blocks && block < scale.across;
         block++) {
        const int32_t x0 = block * SSIM_LINE, x = x0 + (int32_t)thread_index() % SSIM_LINE;
        const float *own = WHAT != Windows::SUMS ? ssim_block<0>(launch, z, x0, y0)
                           : scale.bytes == 1    ? ssim_block<1>(launch, z, x0, y0)
                           : scale.bytes == 2    ? ssim_block<2>(launch, z, x0, y0)
                                                 : ssim_block<4>(launch, z, x0, y0);
        double sum[VMAFGPU__SSIM_SUMS] = {};
#pragma unroll 1
        for (int32_t i = 0; i < SSIM_DOWN; i++) {
            const int32_t y = y0 + own_row + i;
            const bool is_row = own_row + i < ROWS && y < height, is_inside = is_row && x < width;
            float mean[VMAFGPU__SSIM_PLANES], s;
            double l, c;
            if (!IS_ROUNDED && !is_inside)
                break;
#pragma unroll
            for (int k = 0; k < VMAFGPU__SSIM_PLANES; k++)
                mean[k] = own[k * SSIM_PLANE + i * SSIM_LINE];
            ssim_terms(mean, l, c, s);
            const double wide = (double)s, all = l * c * wide;
            if (WHAT == Windows::SUMS) {
                sum[VMAFGPU__SSIM_ALL] += all;
                sum[VMAFGPU__SSIM_L] += l;
                sum[VMAFGPU__SSIM_C] += c;
                sum[VMAFGPU__SSIM_S] += wide;
                sum[VMAFGPU__SSIM_ALL_SIZE] += all < 0 ? -all : all;
                sum[VMAFGPU__SSIM_S_SIZE] += wide < 0 ? -wide : wide;
            } else if (IS_ROUNDED) {
#pragma unroll 1
                for (int k = 0; k < 4; k++)
                    if (uncertain_word >> k & 1)
                        ssim_add_rounded(ssim_rows(launch, scale, z, k) + (is_row ? y : 0), is_row, is_inside,
                                         k == VMAFGPU__SSIM_ALL ? all
                                         : k == VMAFGPU__SSIM_L ? l
                                         : k == VMAFGPU__SSIM_C ? c
                                                                : wide);
            } else {
                const int32_t n = (y - first_row) * width + x, count = (height - first_row) * width;
                double *out = (double *)(launch.scratch + z * launch.scratch_size + launch.terms);
                store(out + (int64_t)(n % GROUP) * launch.terms_pitch + n / GROUP,
                      launch.kind == VMAFGPU__SSIM_ALL ? all
                      : launch.kind == VMAFGPU__SSIM_L ? l
                      : launch.kind == VMAFGPU__SSIM_C ? c
                                                       : wide);
                for (int32_t k = n + 1; n + 1 == count && k % GROUP; k++) /* zeros after the last term */
                    store(out + (int64_t)(k % GROUP) * launch.terms_pitch + k / GROUP, 0.0);
            }
        }
        block_barrier(); /* the means are overwritten next, by lines of the next block or by the sums */
        if (WHAT != Windows::SUMS)
            continue;
        const double total = ssim_block_sums(sum, (double *)shared_memory());
        if (thread_index() < VMAFGPU__SSIM_SUMS)
            store((double *)(launch.scratch + z * launch.scratch_size + scale.partial) +
                      (block_y() * (uint32_t)scale.across + (uint32_t)block) * VMAFGPU__SSIM_SUMS + thread_index(),
                  total);
    }
}

/* Returns half a unit in the last place of a sum of this size, which is the largest rounding error of an addition. */
GPU_FN double ssim_rounding(double size) {
    const uint64_t exponent = bits_of(size) & (uint64_t)0x7ff << 52, least = (uint64_t)54 << 52;
    return double_bits((exponent > least ? exponent : least) - ((uint64_t)53 << 52));
}

/* Returns whether the means of two sums between `low` and `high` can round to different floats. Also returns true if
 * the range contains NaN. */
GPU_FN bool ssim_is_uncertain(double low, double high, double n) {
    const float a = (float)quotient(low, n), b = (float)quotient(high, n);
    return !(a == b);
}

/* Adds up the sums of the scale that the x index of the block selects, and marks uncertain sums.
 *
 * When libvmaf adds up the terms x1, x2, ..., each addition rounds the sum, by at most half a unit in the last place.
 * At any point, the sum is at most slightly larger than |x1| + |x2| + ... up to that point. This bound is known at the
 * end of each band of the picture. The bound never decreases, so its value at the end of a band limits the rounding
 * error of every addition within the band. The sum computed here, with a few hundred additions in sequence, may be off
 * by 4,096 units in the last place. The mean is uncertain unless all sums within the two error bounds (of libvmaf's sum
 * and of this one) give the same float.
 *
 * For an uncertain sum, the approximate exponent that the sum has at each row is stored with that row.
 * vmafgpu_ssim_rounded rounds the terms of the row accordingly. */
GPU_FN void ssim_means(const vmafgpu__ssim_launch &launch) {
    enum { SUMS = VMAFGPU__SSIM_SUMS, BANDS = VMAFGPU__SSIM_BANDS, ROWS = VMAFGPU__SSIM_BLOCK_ROWS };
    const uint32_t z = block_z(), thread = thread_index();
    const vmafgpu__ssim_scale &scale = launch.scale[block_x()];
    if (!launch.batch.pair[z].distorted)
        return;
    double *bands = (double *)shared_memory(), *words = launch.words + (int64_t)z * launch.word_stride;
    double *totals = bands + BANDS * SUMS; /* totals of the SSIM index, l, c and s; then flags of uncertain sums */
    uint32_t *uncertain = (uint32_t *)(totals + 4);
    const double *partial = (const double *)(launch.scratch + z * launch.scratch_size + scale.partial);
    const int32_t width = scale.width - VMAFGPU__SSIM_TAPS + 1, height = scale.height - VMAFGPU__SSIM_TAPS + 1;
    const int32_t down = scale.blocks / scale.across, deep = (down + BANDS - 1) / BANDS,
                  count = (down + deep - 1) / deep, rows = deep * ROWS, step = deep * scale.across;
#pragma unroll 1
    for (int32_t band = (int32_t)warp_index(); band < count; band += VMAFGPU__SSIM_THREADS / LANES) {
        const int32_t end = (band + 1) * step < scale.blocks ? (band + 1) * step : scale.blocks;
        double sum[SUMS] = {};
#pragma unroll 1
        for (int32_t i = band * step + (int32_t)lane_index(); i < end; i += LANES)
#pragma unroll
            for (int k = 0; k < SUMS; k++)
                sum[k] += load_double(partial + (int64_t)i * SUMS + k);
#pragma unroll
        for (int k = 0; k < SUMS; k++) {
            for (uint32_t mask = LANES / 2; mask; mask /= 2)
                sum[k] += shuffle_xor(sum[k], mask);
            if (lane_index() == 0)
                bands[band * SUMS + k] = sum[k];
        }
    }
    block_barrier();
    if (thread < 4)
        uncertain[thread] = 0;
    if (thread < 4 && scale.wanted >> thread & 1) {
        const uint32_t bit = 4 * block_x() + thread;
        const double n = (double)((int64_t)width * height);
        double total = 0, size = 0, error = 0;
#pragma unroll 1
        for (int32_t band = 0; band < count; band++) {
            const int32_t high = (band + 1) * rows < height ? rows : height - band * rows;
            const double windows = (double)(high * width), sum = bands[band * SUMS + (int32_t)thread];
            bands[band * SUMS + (int32_t)thread] = total; /* replaced by the sum of all previous bands */
            total += sum;
            size += thread == VMAFGPU__SSIM_ALL ? bands[band * SUMS + VMAFGPU__SSIM_ALL_SIZE]
                    : thread == VMAFGPU__SSIM_S ? bands[band * SUMS + VMAFGPU__SSIM_S_SIZE]
                    : thread == VMAFGPU__SSIM_L ? windows
                                                : sum;
            error += windows * ssim_rounding(size * 1.000001);
        }
        error = 1.01 * (error + 4096 * ssim_rounding(size) * 2);
        store(words + bit, total);
        uncertain[thread] = ssim_is_uncertain(total - error, total + error, n) || (launch.uncertain >> bit & 1);
        if (uncertain[thread])
            atomic_add((int64_t *)(words + launch.uncertain_word), (int64_t)1 << bit);
        totals[thread] = total;
    }
    block_barrier();
#pragma unroll 1
    for (int kind = 0; kind < 4; kind++) {
        vmafgpu__ssim_row *out = ssim_rows(launch, scale, z, kind);
#pragma unroll 1
        for (int32_t y = (int32_t)thread; y < height && uncertain[kind]; y += VMAFGPU__SSIM_THREADS) {
            const int32_t band = y / rows, high = (band + 1) * rows < height ? rows : height - band * rows;
            const double before = bands[band * SUMS + kind],
                         behind = band + 1 < count ? bands[(band + 1) * SUMS + kind] : totals[kind];
            const double about =
                before + (behind - before) * ((double)(2 * (y - band * rows) + 1) * quotient(0.5, (double)high));
            /* If `about` is negative, its sign bit makes `exponent` large. */
            const int32_t exponent = (int32_t)(bits_of(about) >> 52) - 1023;
            store(&out[y].sum, (int64_t)0);
            store(&out[y].ties, (uint32_t)0);
            store(&out[y].exponent, exponent < 8 ? 8 : exponent > 40 ? 40 : exponent);
        }
    }
}

/* Narrows the ranges of the uncertain sums of the scale that the x index of the block selects.
 *
 * If libvmaf's sum stays between 2^e and 2^(e + 1) throughout a row, it is a multiple of 2^(e - 52), and each term
 * adds its value rounded to such a multiple. Only in a tie does the rounding depend on the sum, which then selects one
 * of two adjacent multiples. So within each row, the uncertainty of the sum grows by one multiple per tie. Terms are
 * below 2, so the range of the sum before the row shows whether the sum stays between these powers of two. In the few
 * rows where it might leave this range, each addition adds half a unit in the last place to the uncertainty. Each term
 * adds another half multiple, because its rounding here may have changed it by that much. The code doubles both of
 * these allowances.
 *
 * Two more multiples per row allow for the rounding in this function, which amounts to less than that: below 2^(e + 1),
 * each of the two additions is off by at most half a multiple. The products in `grows` are exact for e >= 16, because
 * the sum of a row is below 2^15, and thus below 2^51 multiples. */
GPU_FN void ssim_finalise(const vmafgpu__ssim_launch &launch) {
    enum { THREADS = VMAFGPU__SSIM_THREADS };
    const uint32_t z = block_z(), thread = thread_index();
    const vmafgpu__ssim_scale &scale = launch.scale[block_x()];
    if (!launch.batch.pair[z].distorted)
        return;
    double *words = launch.words + (int64_t)z * launch.word_stride;
    double *grows = (double *)shared_memory(), *units = grows + THREADS, *slacks = units + THREADS;
    const uint32_t uncertain_word = peek((const uint32_t *)(words + launch.uncertain_word));
    const int32_t width = scale.width - VMAFGPU__SSIM_TAPS + 1, height = scale.height - VMAFGPU__SSIM_TAPS + 1;
    const double windows = (double)width, n = (double)((int64_t)width * height);
#pragma unroll 1
    for (uint32_t kind = 0; kind < 4; kind++) {
        const uint32_t bit = 4 * block_x() + kind;
        const vmafgpu__ssim_row *rows = ssim_rows(launch, scale, z, (int)kind);
        double low = 0, high = 0;
        if (!(uncertain_word >> bit & 1))
            continue;
#pragma unroll 1
        for (int32_t first = 0; first < height; first += THREADS) {
            const int32_t y = first + (int32_t)thread;
            if (y < height) {
                const uint32_t ties = load(&rows[y].ties);
                units[thread] = ssim_power(load(&rows[y].exponent) - 52);
                grows[thread] = (double)(int64_t)load((const uint64_t *)&rows[y].sum) * units[thread];
                slacks[thread] = ties & VMAFGPU__SSIM_UNKNOWN ? 1e300 : units[thread] * (double)(ties + 2);
            }
            block_barrier();
#pragma unroll 1
            for (int32_t i = 0; i < THREADS && first + i < height && thread == 0; i++) {
                const double unit = units[i], power = unit * 4503599627370496.0;
                const double size = (high > -low ? high : -low) + 2.0 * windows;
                const bool is_between =
                    power >= 65536 && low - 2.0 * windows >= power && high + 2.0 * windows <= 2.0 * power;
                const double slack =
                    is_between ? slacks[i] : slacks[i] + (windows + 4) * (unit + 2.0 * ssim_rounding(size * 1.000001));
                low += grows[i] - slack;
                high += grows[i] + slack;
            }
            block_barrier();
        }
        if (thread || ssim_is_uncertain(low, high, n) || launch.still_uncertain >> bit & 1)
            continue;
        store(words + bit, low);
        atomic_add((int64_t *)(words + launch.uncertain_word), -((int64_t)1 << bit));
    }
}

GPU_KERNEL(vmafgpu_ssim_reduce, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 4) {
    ssim_reduce(launch);
}
GPU_KERNEL(vmafgpu_ssim_halve, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 4) {
    ssim_halve(launch);
}
GPU_KERNEL(vmafgpu_ssim_windows, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 3) {
    ssim_windows<Windows::SUMS>(launch);
}
GPU_KERNEL(vmafgpu_ssim_rounded, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 2) {
    ssim_windows<Windows::ROUNDED>(launch);
}
GPU_KERNEL(vmafgpu_ssim_terms, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 2) {
    ssim_windows<Windows::TERMS>(launch);
}
GPU_KERNEL(vmafgpu_ssim_means, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 2) {
    ssim_means(launch);
}
GPU_KERNEL(vmafgpu_ssim_finalise, vmafgpu__ssim_launch, VMAFGPU__SSIM_THREADS, 2) {
    ssim_finalise(launch);
}
GPU_KERNEL(vmafgpu_ssim_sums, vmafgpu__sequence_launch, VMAFGPU__SEQUENCE_THREADS, 1) {
    sequence<DoubleSum, true, double>(launch);
}

/* ================================================================================================
 * >>psnr_hvs                                     PSNR of 8x8 blocks, weighted by visibility
 * ================================================================================================
 * A thread processes a block. It holds 64 samples or coefficients in registers, first those of the reference, then
 * those of the distorted picture.
 */

/* Returns a * k / 2^s, rounded. */
template <int k, int s> GPU_FN int32_t psnr_hvs_part(int32_t a) {
    return (a * k + (1 << (s - 1))) >> s;
}
GPU_FN int32_t psnr_hvs_half(int32_t a) {
    return a / 2;
}

/* Applies the 8-point transform of the Daala codec to eight values that are STEP apart. */
template <int STEP> GPU_FN void psnr_hvs_eight(int32_t *x) {
    const int32_t d07 = x[0] - x[7 * STEP], h07 = psnr_hvs_half(d07), e0 = x[0] - h07, e1 = x[STEP] + x[6 * STEP],
                  h16 = psnr_hvs_half(e1), d16 = x[6 * STEP] - h16, d25 = x[2 * STEP] - x[5 * STEP],
                  e2 = x[2 * STEP] - psnr_hvs_half(d25), e3 = x[3 * STEP] + x[4 * STEP], h34 = psnr_hvs_half(e3),
                  d34 = h34 - x[4 * STEP];
    int32_t p0 = e0 + h34, p6 = p0 - e3, p2 = h16 - e2, p4 = p2 - e1, t1 = d07, t3 = d25, t5 = d16, t7 = d34;
    p0 -= psnr_hvs_part<13573, 15>(p4);
    p4 += psnr_hvs_part<11585, 14>(p0);
    p0 -= psnr_hvs_part<13573, 15>(p4);
    p6 -= psnr_hvs_part<21895, 15>(p2);
    p2 += psnr_hvs_part<15137, 14>(p6);
    p6 -= psnr_hvs_part<21895, 15>(p2);
    t3 += psnr_hvs_part<19195, 15>(t5);
    t5 += psnr_hvs_part<11585, 14>(t3);
    t3 -= psnr_hvs_part<7489, 13>(t5);
    t7 = psnr_hvs_half(t5) - t7;
    t5 -= t7;
    t3 = h07 - t3;
    t1 -= t3;
    t7 += psnr_hvs_part<3227, 15>(t1);
    t1 -= psnr_hvs_part<6393, 15>(t7);
    t7 += psnr_hvs_part<3227, 15>(t1);
    t5 += psnr_hvs_part<2485, 13>(t3);
    t3 -= psnr_hvs_part<18205, 15>(t5);
    t5 += psnr_hvs_part<2485, 13>(t3);
    x[0] = p0, x[STEP] = t1, x[2 * STEP] = p2, x[3 * STEP] = t3, x[4 * STEP] = p4, x[5 * STEP] = t5, x[6 * STEP] = p6,
    x[7 * STEP] = t7;
}

/* Returns the mean variance of the quadrants of a block, divided by the variance of the block, or 0 if the variance of
 * the block is 0. */
GPU_FN float psnr_hvs_unevenness(const int32_t (&v)[64]) {
    int32_t total[4] = {};
    float quarter[4] = {}, whole_block = 0;
#pragma unroll
    for (int i = 0; i < 64; i++)
        total[(i >= 32) + 2 * (i % 8 >= 4)] += v[i];
    const float mean = (float)(total[0] + total[1] + total[2] + total[3]) * 0.015625f;
#pragma unroll
    for (int i = 0; i < 64; i++) {
        const int q = (i >= 32) + 2 * (i % 8 >= 4);
        const float own = (float)v[i] - (float)total[q] * 0.0625f, off = (float)v[i] - mean;
        quarter[q] += own * own;
        whole_block += off * off;
    }
    whole_block *= 0x1.041042p+0f; /* 64 / 63 */
#pragma unroll
    for (int q = 0; q < 4; q++)
        quarter[q] *= 0x1.111112p+0f; /* 16 / 15 */
    const float quarters = quarter[0] + quarter[1] + quarter[2] + quarter[3];
    return whole_block > 0 ? quotient(quarters, whole_block) : whole_block;
}

GPU_FN void psnr_hvs(const vmafgpu__psnr_hvs_launch &launch) {
    static_assert(VMAFGPU__PSNR_HVS_THREADS * 64 * 4 == VMAFGPU__PSNR_HVS_SHARED, "shared memory");
    const uint32_t z = block_z(), thread = thread_index();
    const int32_t n = (int32_t)(block_x() * VMAFGPU__PSNR_HVS_THREADS + thread);
    if (!launch.pair[z].plane[1] || n >= launch.blocks)
        return;
    const int64_t x = n % launch.along * VMAFGPU__PSNR_HVS_STEP, y = n / launch.along * VMAFGPU__PSNR_HVS_STEP;
    int32_t *reference = (int32_t *)shared_memory() + thread; /* reference coefficients of the thread, THREADS apart */
    /* The shift always yields 0; hiding this from the compiler avoids register spills. */
    const float *mask = launch.mask + (launch.step >> 30);
    float activity = 0;
    int32_t v[64];
#pragma unroll 1
    for (int f = 0; f < 2; f++) {
        if (f)
#pragma unroll
            for (int i = 0; i < 64; i++)
                reference[i * VMAFGPU__PSNR_HVS_THREADS] = v[i];
        const uint8_t *block = (const uint8_t *)launch.pair[z].plane[f] + y * launch.pair[z].pitch[f] + x * launch.step;
#pragma unroll
        for (int i = 0; i < 64; i++)
            v[i] =
                (int32_t)(load_sample(block + i / 8 * launch.pair[z].pitch[f] + i % 8 * launch.step, 0, launch.bytes) >>
                          launch.shift);
        const float unevenness = psnr_hvs_unevenness(v);
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 8; i++)
            psnr_hvs_eight<8>(v + i);
#pragma unroll
        for (int i = 0; i < 8; i++)
            psnr_hvs_eight<1>(v + 8 * i);
#pragma unroll
        for (int i = 1; i < 64; i++)
            sum += (float)(v[i] * v[i]) * mask[i];
        const float own = square_root(sum * unevenness) * 0.03125f;
        activity = own > activity ? own : activity;
    }
    float *out = (float *)(launch.scratch + z * launch.scratch_size + launch.terms) + n;
#pragma unroll
    for (int k = 0; k < 64; k++) {
        const int32_t difference = reference[k * VMAFGPU__PSNR_HVS_THREADS] - v[k];
        float error = (float)(difference < 0 ? -difference : difference);
        if (k > 0) {
            const float threshold = quotient(activity, launch.mask[k]);
            error = error < threshold ? 0 : error - threshold;
        }
        const float seen = error * launch.csf[k];
        store(out, seen * seen);
        out += launch.pitch;
    }
}

GPU_KERNEL(vmafgpu_psnr_hvs, vmafgpu__psnr_hvs_launch, VMAFGPU__PSNR_HVS_THREADS, 2) {
    psnr_hvs(launch);
}
GPU_KERNEL(vmafgpu_psnr_hvs_sums, vmafgpu__sequence_launch, VMAFGPU__SEQUENCE_THREADS, 1) {
    sequence<FloatSum, false, float>(launch);
}

/* ================================================================================================
 * >>ciede                                        colour differences (CIEDE2000)
 * ================================================================================================
 * A thread processes a pixel. The difference of equal pixels is 0. Uncertain pixels are listed for the host, which may
 * supply their results and launch the kernel again.
 */

GPU_FN double ciede_channel(double c) {
    const double s = vmafgpu__ciede_base(c), square = s * s;
    const int32_t bits = vmafgpu__ciede_guess((int32_t)bits_of((float)square), -1.f / 5);
    return vmafgpu__ciede_straight(c, s, square, vmafgpu__ciede_fifth_root(float_bits((uint32_t)bits), (float)square));
}

GPU_FN float ciede_root(double x, float &uncertainty) {
    const double z = x > .005 ? x : .005;
    const int32_t bits = vmafgpu__ciede_guess((int32_t)bits_of((float)z), -1.f / 3);
    return vmafgpu__ciede_root_of(x, z, vmafgpu__ciede_cube_root(float_bits((uint32_t)bits), (float)z), &uncertainty);
}

struct CiedeColour {
    float l, a, b;
};

GPU_FN CiedeColour ciede_lab(const vmafgpu__ciede_scale &scale, const uint32_t (&sample)[3], float &uncertainty) {
    CiedeColour out;
    double r, g, b, x, y, z;
    vmafgpu__ciede_primaries(&scale, (int32_t)sample[0], (int32_t)sample[1], (int32_t)sample[2], &r, &g, &b);
    vmafgpu__ciede_stimulus(ciede_channel(r), ciede_channel(g), ciede_channel(b), &x, &y, &z);
    vmafgpu__ciede_colour(ciede_root(x, uncertainty), ciede_root(y, uncertainty), ciede_root(z, uncertainty), &out.l,
                          &out.a, &out.b);
    return out;
}

GPU_FN float ciede_length(float a, float b) {
    return (float)square_root(vmafgpu__ciede_square(a, b));
}

GPU_FN float ciede_hue(float b, float a, float &uncertainty) {
    float from;
    const double tangent = vmafgpu__ciede_tangent(b, a, &from);
    return vmafgpu__ciede_angle(b, a, vmafgpu__ciede_arc(tangent, from), &uncertainty);
}

GPU_FN float ciede_power7(float x) {
    float low;
    const float high = vmafgpu__ciede_power7(x, &low);
    return high > low ? vmafgpu__powf(x, 7, vmafgpu__powf_logs, vmafgpu__powf_roots) : high;
}

GPU_FN float ciede_difference(const CiedeColour &p, const CiedeColour &q, float &uncertainty) {
    const float c1 = ciede_length(p.a, p.b), c2 = ciede_length(q.a, q.b);
    const double vividness = square_root(vmafgpu__ciede_vividness(c1, c2));
    const float a1 = vmafgpu__ciede_corrected(p.a, vividness, &uncertainty),
                a2 = vmafgpu__ciede_corrected(q.a, vividness, &uncertainty);
    const float k1 = ciede_length(a1, p.b), k2 = ciede_length(a2, q.b), k = (k1 + k2) / 2;
    const float h1 = ciede_hue(p.b, a1, uncertainty), h2 = ciede_hue(q.b, a2, uncertainty), e = (p.l + q.l) / 2 - 50;
    const float lq = vmafgpu__ciede_lightness(q.l - p.l, e, square_root(vmafgpu__ciede_under(e))),
                cq = vmafgpu__ciede_chroma(k2 - k1, k);
    float middle;
    const float turn = vmafgpu__ciede_turn(h1, h2, c1, c2, &middle);
    const double between = square_root((double)(k1 * k2));
    const float hue = vmafgpu__ciede_finalise((2.0 * between) * vmafgpu__ciede_sine((double)turn / 2.0), &uncertainty);
    const float hq = vmafgpu__ciede_hue_of(hue, k, vmafgpu__ciede_weight(middle, &uncertainty));
    int32_t bits;
    const double part = vmafgpu__ciede_exponential(vmafgpu__ciede_from_blue(middle), &bits);
    const float bell = vmafgpu__ciede_bell(part, float_bits((uint32_t)bits), &uncertainty);
    const float k7 = ciede_power7(k), ratio = quotient(k7, k7 + 6103515648.f);
    return (float)square_root(vmafgpu__ciede_total(lq, cq, hq, bell, square_root((double)ratio), &uncertainty));
}

/* Returns a chroma sample of pixel x of row y. Beyond the chroma plane, returns the sample that libvmaf reads there. */
GPU_FN uint32_t ciede_chroma_sample(const vmafgpu__ciede_launch &launch, uint32_t z, int f, int plane, int32_t x,
                                    int32_t y) {
    const uint8_t *data = (const uint8_t *)launch.chroma[z].plane[f][plane];
    int32_t column = x >> launch.column_shift, row = y >> launch.row_shift;
    row = row < launch.last_row ? row : launch.last_row;
    for (; column >= launch.chroma_stride; column -= launch.chroma_stride)
        row++;
    if (row >= launch.chroma_height || column >= launch.chroma_width)
        return 0;
    return load_sample(data + row * launch.chroma[z].pitch[f][plane] + (int64_t)column * launch.step, 0,
                       launch.chroma_bytes) >>
           launch.shift;
}

/* Returns the result for an uncertain pixel with these samples. If the host has supplied this result, returns it;
 * otherwise returns `found` and lists the pixel for the host. */
GPU_FN float ciede_uncertain(uint64_t *words, const uint32_t (&sample)[2][3], float found) {
    const uint32_t own[3] = { sample[0][0] | sample[1][0] << 16, sample[0][1] | sample[1][1] << 16,
                              sample[0][2] | sample[1][2] << 16 };
    const uint32_t *list = (const uint32_t *)(words + VMAFGPU__CIEDE_LIST),
                   known = peek((const uint32_t *)(words + VMAFGPU__CIEDE_KNOWN));
#pragma unroll 1
    for (uint32_t i = 0; i < known; i++, list += 4)
        if (peek(list) == own[0] && peek(list + 1) == own[1] && peek(list + 2) == own[2])
            return float_bits(peek(list + 3));
    const uint32_t at = known + atomic_claim((uint32_t *)(words + VMAFGPU__CIEDE_COUNT));
    if (at < VMAFGPU__CIEDE_UNCERTAIN_ENTRIES) {
        uint64_t *entry = words + VMAFGPU__CIEDE_LIST + 2 * at;
        store(entry, (uint64_t)own[1] << 32 | own[0]);
        store(entry + 1, (uint64_t)bits_of(found) << 32 | own[2]);
    }
    return found;
}

GPU_FN void ciede(const vmafgpu__ciede_launch &launch) {
    enum {
        THREADS = VMAFGPU__CIEDE_THREADS,
        GROUPS = VMAFGPU__CIEDE_GROUPS,
        GROUP = VMAFGPU__SEQUENCE_GROUP,
        STRIDE = GROUPS + 1
    };
    static_assert(GROUPS * GROUP == THREADS && VMAFGPU__CIEDE_SHARED == GROUP * STRIDE * 4, "a thread has a pixel");
    const uint32_t z = block_z(), thread = thread_index();
    const vmafgpu__gpu_pair &pair = launch.pair[z];
    const int32_t first = (int32_t)(block_x() * GROUPS * GROUP), count = launch.width * launch.height;
    float *tile = (float *)shared_memory();
    if (!(launch.pairs >> z & 1))
        return;
    const int32_t n = first + (int32_t)thread, y = n / launch.width, x = n - y * launch.width;
    float difference = 0;
    if (n < count) {
        const uint8_t *a = (const uint8_t *)pair.reference, *b = (const uint8_t *)pair.distorted;
        uint32_t sample[2][3];
        sample[0][0] = load_sample(a + y * pair.reference_pitch, x, launch.bytes);
        sample[1][0] = load_sample(b + y * pair.distorted_pitch, x, launch.bytes);
#pragma unroll
        for (int k = 0; k < 4; k++)
            sample[k / 2][1 + k % 2] = ciede_chroma_sample(launch, z, k / 2, k % 2, x, y);
        const uint32_t apart =
            (sample[0][0] ^ sample[1][0]) | (sample[0][1] ^ sample[1][1]) | (sample[0][2] ^ sample[1][2]);
        if (apart) {
            float uncertainty = 0;
            const CiedeColour p = ciede_lab(launch.scale, sample[0], uncertainty),
                              q = ciede_lab(launch.scale, sample[1], uncertainty);
            difference = ciede_difference(p, q, uncertainty);
            if (uncertainty > 0)
                difference =
                    ciede_uncertain((uint64_t *)launch.words + (int64_t)z * launch.word_stride, sample, difference);
        }
    }
    tile[thread % GROUP * STRIDE + thread / GROUP] = difference;
    block_barrier();
    store((float *)(launch.scratch + z * launch.scratch_size) + (int64_t)(thread / GROUPS) * launch.pitch +
              block_x() * GROUPS + thread % GROUPS,
          tile[thread / GROUPS * STRIDE + thread % GROUPS]);
}

GPU_KERNEL(vmafgpu_ciede, vmafgpu__ciede_launch, VMAFGPU__CIEDE_THREADS, 3) {
    ciede(launch);
}

/* ================================================================================================
 * >>edits                                        changes in the sums caused by new samples in a rectangle
 * ================================================================================================
 * A launch covers many independent edits of one base, which is a pair of pictures. For each edit, the kernels recompute
 * the part of a scale that changes, in tiles like those of VIF and ADM. From the new contributions to the sums, they
 * subtract those of the base, which the same code stored earlier. The part of the picture of the next scale that an
 * edit changes is stored in the scratch memory of that edit. The section >>edits of vmafgpu.h specifies the rules.
 */

/* The distorted picture of the base, with a rectangle of it replaced by the patch of an edit. */
struct EditPicture {
    const uint8_t *plane, *patch;
    int32_t pitch, patch_pitch;
    vmafgpu__rect changed; /* the rectangle that the patch replaces */
};

GPU_FN int32_t max_edit_size(const vmafgpu__range &r) {
    return r.end - r.first;
}

GPU_FN vmafgpu__gpu_edit edit_load(const vmafgpu__edit_batch &batch, uint32_t index) {
    const vmafgpu__gpu_edit *e = batch.edits + index;
    vmafgpu__gpu_edit out;
    out.x = load(&e->x), out.y = load(&e->y), out.width = load(&e->width), out.height = load(&e->height);
    out.place = load(&e->place);
    out.source = (const void *)load((const uint64_t *)&e->source);
    out.pitch = (int64_t)load((const uint64_t *)&e->pitch);
    return out;
}

GPU_FN vmafgpu__rect edit_rect(const vmafgpu__gpu_edit &e) {
    return vmafgpu__rect{ { { e.x, e.x + e.width }, { e.y, e.y + e.height } } };
}

/* Returns the edited picture at one scale of VIF or ADM. At scale 0, the patch contains the imported samples; at other
 * scales, it is in the scratch memory of the edit. */
GPU_FN EditPicture edit_picture(const vmafgpu__edit_batch &batch, uint32_t index, const vmafgpu__gpu_edit &e,
                                const vmafgpu__rect &changed, int scale, const uint8_t *plane, int32_t pitch,
                                const uint64_t *place, const int32_t *patch_pitch) {
    EditPicture out;
    out.plane = plane;
    out.pitch = pitch;
    out.patch = scale ? batch.scratch + index * batch.scratch_size + place[scale] : batch.samples + e.place;
    out.patch_pitch = scale ? patch_pitch[scale] : e.width * batch.sample_bytes;
    out.changed = changed;
    return out;
}

/* ---- samples ---- */

GPU_FN void edit_import(const vmafgpu__edit_import_launch &launch) {
    const vmafgpu__edit_batch &batch = launch.edits;
    const vmafgpu__gpu_edit e = edit_load(batch, block_x());
    uint32_t illegal = 0;
    if (!e.source)
        return;
    for (int32_t i = (int32_t)thread_index(); i < e.width * e.height; i += (int32_t)block_threads()) {
        const int32_t x = i % e.width, y = i / e.width;
        const uint32_t word = load_sample((const uint8_t *)e.source + y * e.pitch, (uint32_t)x, launch.source_bytes);
        uint8_t *out = batch.samples + e.place + (int64_t)i * batch.sample_bytes;
        illegal |= word & launch.illegal;
        if (batch.sample_bytes == 1)
            store(out, (uint8_t)(word >> launch.shift));
        else
            store((uint16_t *)out, (uint16_t)(word >> launch.shift));
    }
    illegal = warp_or(illegal);
    if (illegal && lane_index() == 0)
        atomic_or((uint32_t *)(batch.records + (int64_t)block_x() * batch.words + batch.words - 1), 1);
}

GPU_KERNEL(vmafgpu_edit_import, vmafgpu__edit_import_launch, VMAFGPU__EDIT_IMPORT_THREADS, 4) {
    edit_import(launch);
}

/* Applies the edits of a batch to the plane. A thread processes some samples of a column; each sample receives its
 * value from the last edit that covers it. */
GPU_FN void edit_patch(const vmafgpu__edit_patch_launch &launch) {
    constexpr int32_t SIDE = VMAFGPU__EDIT_PATCH_SIDE, ROWS = SIDE * SIDE / VMAFGPU__EDIT_PATCH_THREADS;
    const vmafgpu__edit_batch &batch = launch.edits;
    const int32_t left = (int32_t)block_x() * SIDE, top = (int32_t)block_y() * SIDE;
    const int32_t x = left + (int32_t)thread_index() % SIDE, y = top + (int32_t)thread_index() / SIDE * ROWS;
    const uint8_t *from[ROWS] = {};
    for (int32_t i = 0; i < batch.count; i++) {
        const vmafgpu__gpu_edit e = edit_load(batch, (uint32_t)i);
        if (e.x >= left + SIDE || e.x + e.width <= left || e.y >= top + SIDE || e.y + e.height <= top)
            continue;
#pragma unroll
        for (int32_t k = 0; k < ROWS; k++)
            if (x >= e.x && x < e.x + e.width && y + k >= e.y && y + k < e.y + e.height)
                from[k] = batch.samples + e.place + ((int64_t)(y + k - e.y) * e.width + x - e.x) * batch.sample_bytes;
    }
#pragma unroll
    for (int32_t k = 0; k < ROWS; k++) {
        uint8_t *out = launch.plane + (y + k) * launch.pitch + (int64_t)x * batch.sample_bytes;
        if (!from[k])
            continue;
        if (batch.sample_bytes == 1)
            store(out, load(from[k]));
        else
            store((uint16_t *)out, load((const uint16_t *)from[k]));
    }
}

GPU_KERNEL(vmafgpu_edit_patch, vmafgpu__edit_patch_launch, VMAFGPU__EDIT_PATCH_THREADS, 2) {
    edit_patch(launch);
}

/* ---- VIF ---- */

template <int BYTES> GPU_FN uint32_t edit_sample(const EditPicture &picture, int32_t x, int32_t y) {
    const int32_t own_x = x - picture.changed.of[0].first, own_y = y - picture.changed.of[1].first;
    const bool is_own = (uint32_t)own_x < (uint32_t)max_edit_size(picture.changed.of[0]) &&
                        (uint32_t)own_y < (uint32_t)max_edit_size(picture.changed.of[1]);
    const uint8_t *row =
        is_own ? picture.patch + (int64_t)own_y * picture.patch_pitch : picture.plane + (int64_t)y * picture.pitch;
    return load_sample<BYTES>(row, is_own ? own_x : x);
}

GPU_FN int32_t edit_log(uint32_t v, const uint8_t *table) {
    const uint32_t bits = bits_of(float_down(v));
    return (int32_t)(bits >> 12) + load(table + (bits >> 8 & 0x7fff));
}

/* How the contributions of samples to the sums are used. EDIT_CHANGES sums the changes caused by an edit. EDIT_STORES
 * stores the contributions of the base; EDIT_BLOCKS sums them by blocks of a map. EDIT_SLOPES stores the derivatives of
 * the contributions, see >>slopes. */
enum EditUse { EDIT_CHANGES, EDIT_STORES, EDIT_BLOCKS, EDIT_SLOPES };

/* A tile in shared memory. Its rows are `stride` words apart, which is 4 times an odd number, so that 16-byte accesses
 * have no bank conflicts. The planes are means (those of the edited picture in the high halves), squares of the
 * reference (only if OF_BASE is true), squares of the edited picture, and products. For edits, the `images` follow:
 * every second row of the edited picture for the next scale. The `samples` come last; variances and covariances later
 * overwrite them. */
template <int SCALE_, EditUse USE_> struct EditTile {
    static constexpr EditUse USE = USE_;
    static constexpr bool OF_BASE = USE != EDIT_CHANGES, SHRINKS = SCALE_ < 3 && !OF_BASE;
    static constexpr int SCALE = SCALE_, REACH = 8 >> SCALE, LEAD = VMAFGPU__EDIT_VIF_LEAD(SCALE);
    static constexpr int SQUARES = OF_BASE ? 2 : 1, PRODUCTS = SQUARES + 1, PLANES = PRODUCTS + 1;
    uint32_t *words;
    int32_t stride, plane;
};
template <class Tile> GPU_FN uint32_t *edit_images(const Tile &tile) {
    return tile.words + Tile::PLANES * tile.plane;
}
template <class Tile> GPU_FN uint32_t *edit_samples(const Tile &tile) {
    return edit_images(tile) + (Tile::OF_BASE ? 0 : tile.plane / 2);
}

/* Loads the samples of a tile and its halo into shared memory, starting LEAD columns to the left of the tile. The low
 * halves of words receive the samples of the reference, the high halves those of the edited picture. First, both
 * pictures of the base are loaded, four samples at a time. Then the samples of the edit are written over them, and
 * finally the columns beyond the frame are filled. */
template <int BYTES, class Tile>
GPU_FN void edit_vif_stage(const vmafgpu__vif_launch &vif, uint32_t pair, const EditPicture &picture, const Tile &tile,
                           int32_t x, int32_t y, int32_t columns, int32_t rows) {
    constexpr int REACH = Tile::REACH, AT_ONCE = 4;
    const VifImage reference = vif_input<Tile::SCALE>(vif, pair, 0);
    const int32_t quads = (columns + Tile::LEAD + REACH + 3) / 4, all = rows + 2 * REACH, left = x - Tile::LEAD,
                  top = y - REACH;
    uint32_t *samples = edit_samples(tile);
#pragma unroll 1
    for (int32_t unit = (int32_t)thread_index(); unit < quads * all; unit += AT_ONCE * (int32_t)block_threads()) {
        uint64_t a[AT_ONCE], b[AT_ONCE];
        int32_t column[AT_ONCE], row[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int32_t own = adm_lesser(unit + k * (int32_t)block_threads(), quads * all - 1);
            row[k] = own / quads;
            column[k] = own % quads * 4;
            const int32_t from =
                adm_lesser(adm_larger(left + column[k], 0), vif.width - 4 > 0 ? (vif.width - 4) & ~3 : 0);
            const int32_t in = mirror(top + row[k], vif.height);
            const uint8_t *p = reference.data + (int64_t)in * reference.pitch + from * BYTES;
            const uint8_t *q = picture.plane + (int64_t)in * picture.pitch + from * BYTES;
            a[k] = BYTES == 1 ? load((const uint32_t *)p) : load((const uint64_t *)p);
            b[k] = BYTES == 1 ? load((const uint32_t *)q) : load((const uint64_t *)q);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            uint32_t word[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                word[i] = BYTES == 1 ? ((uint32_t)a[k] >> 8 * i & 255) | ((uint32_t)b[k] >> 8 * i & 255) << 16
                                     : ((uint32_t)(a[k] >> 16 * i) & 65535) | (uint32_t)(b[k] >> 16 * i) << 16;
            *(Words4 *)(samples + row[k] * tile.stride + column[k]) = Words4{ word[0], word[1], word[2], word[3] };
        }
    }
    block_barrier();
    /* Write the samples of the edit. If no row of the tile is outside the frame, only the rows of the edit are
     * visited. */
    const vmafgpu__range &own = picture.changed.of[1];
    const bool is_inside = top >= 0 && top + all <= vif.height;
    const int32_t first = is_inside ? adm_larger(own.first - top, 0) : 0,
                  end = is_inside ? adm_lesser(own.end - top, all) : all;
    const int32_t from = adm_larger(picture.changed.of[0].first - left, 0);
    const int32_t wide = adm_lesser(picture.changed.of[0].end - left, 4 * quads) - from;
    for (int32_t i = (int32_t)thread_index(); wide > 0 && i < wide * (end - first); i += (int32_t)block_threads()) {
        const int32_t row = first + i / wide, column = from + i % wide, in = mirror(top + row, vif.height) - own.first;
        if ((uint32_t)in < (uint32_t)max_edit_size(own)) {
            const uint8_t *patch = picture.patch + (int64_t)in * picture.patch_pitch;
            ((uint16_t *)(samples + row * tile.stride + column))[1] =
                (uint16_t)load_sample<BYTES>(patch, left + column - picture.changed.of[0].first);
        }
    }
    /* Fill the columns outside the frame, and the last width % 4 columns inside it. */
    const int32_t last = vif.width & ~3, beyond = adm_larger(left + 4 * quads - last, 0), before = adm_larger(-left, 0);
    const int32_t outside = before + beyond;
    if (outside == 0)
        return;
    block_barrier();
    for (int32_t i = (int32_t)thread_index(); i < outside * all; i += (int32_t)block_threads()) {
        const int32_t k = i % outside, row = i / outside, column = k < before ? k : 4 * quads - outside + k;
        const int32_t from = mirror(left + column, vif.width), in = mirror(top + row, vif.height);
        samples[row * tile.stride + column] = load_sample<BYTES>(reference.data + (int64_t)in * reference.pitch, from) |
                                              edit_sample<BYTES>(picture, from, in) << 16;
    }
}

/* Runs the vertical filter down one column of the tile, for one plane: the means, the squares, or the products of the
 * two samples in each word. */
template <int SCALE, int BYTES, int COUNT>
GPU_FN void edit_vif_plane(const uint32_t (&word)[COUNT], uint32_t a, uint32_t b, int shift, uint32_t (&out)[VIF_RUN]) {
    uint32_t low[COUNT], high[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        /* `a` and `b` are the shifts that extract the two factors from a word; if b is 32, the second factor is 1. */
        const uint32_t product = (word[k] >> a & 65535) * (b == 32 ? 1 : word[k] >> b & 65535);
        low[k] = BYTES == 1 ? product : product & ((1u << shift) - 1);
        high[k] = product >> shift;
    }
#pragma unroll
    for (int i = 0; i < VIF_RUN; i++)
        out[i] = ((vif_tap_sum<SCALE>(low + i) + (1u << shift >> 1)) >> shift) +
                 (BYTES == 1 ? 0 : vif_tap_sum<SCALE>(high + i));
}

/* Like vif_plain_vertical(), but only for the given number of columns and rows. */
template <int BYTES, class Tile>
GPU_FN void edit_vif_vertical(const vmafgpu__edit_vif_launch &launch, const Tile &tile, int32_t columns, int32_t rows) {
    constexpr int SCALE = Tile::SCALE, REACH = Tile::REACH, COUNT = VIF_RUN + 2 * REACH;
    constexpr int NEXT = SCALE < 3 ? SCALE + 1 : 3, NEXT_FIRST = REACH - (8 >> NEXT);
    const vmafgpu__vif_launch &vif = launch.vif;
    const int mean_shift = SCALE ? 16 : BYTES == 1 ? 8 : vif.mean_shift;
    const int square_shift = SCALE ? 16 : BYTES == 1 ? 0 : vif.square_shift;
    const int32_t wide = columns + 2 * REACH, units = wide * (rows / VIF_RUN), stride = tile.stride;
    const int planes = vif.images_only ? 0 : Tile::OF_BASE ? 5 : 3;
#pragma unroll 1
    for (int32_t unit = (int32_t)thread_index(); unit < units; unit += (int32_t)block_threads()) {
        const int32_t column = unit % wide, row = unit / wide * VIF_RUN;
        const uint32_t *in = edit_samples(tile) + row * stride + column + Tile::LEAD - REACH;
        uint32_t word[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            word[k] = in[k * stride];
        if (Tile::SHRINKS) {
            uint32_t own[COUNT], *out = edit_images(tile) + row / 2 * stride + column;
#pragma unroll
            for (int k = 0; k < COUNT; k++)
                own[k] = word[k] >> 16;
#pragma unroll
            for (int i = 0; i < VIF_RUN / 2; i++)
                out[i * stride] =
                    (vif_tap_sum<NEXT>(own + 2 * i + NEXT_FIRST) + (1u << (mean_shift - 1))) >> mean_shift;
        }
        /* The loop computes the planes in this order: squares of the edited picture, products, means of the edited
         * picture, squares of the reference, and means of the reference, which share words with the means of the edited
         * picture. */
        uint32_t *means = tile.words + row * stride + column;
#pragma unroll 1
        for (int plane = 0; plane < planes; plane++) {
            uint32_t v[VIF_RUN];
            const bool is_mean = plane == 2 || plane == 4;
            const uint32_t a = plane < 3 ? 16 : 0, b = is_mean ? 32 : plane == 0 ? 16 : 0;
            uint32_t *to = means + (is_mean      ? 0
                                    : plane == 0 ? (int)Tile::SQUARES
                                    : plane == 1 ? (int)Tile::PRODUCTS
                                                 : 1) *
                                       tile.plane;
            edit_vif_plane<SCALE, BYTES>(word, a, b, is_mean ? mean_shift : square_shift, v);
#pragma unroll
            for (int i = 0; i < VIF_RUN; i++)
                to[i * stride] = plane == 2 ? v[i] << 16 : plane == 4 ? to[i * stride] | v[i] : v[i];
        }
    }
}

/* Runs the horizontal filter for EDIT_RUN neighbouring samples of a row. `shift` selects which half of each word is
 * filtered. A thread computes only four samples, instead of the eight in vif_plain_horizontal(). This needs fewer
 * registers and keeps more threads busy if there are few columns. */
enum { EDIT_RUN = 4 };
template <int SCALE> GPU_FN void edit_vif_means(const uint32_t *row, int shift, uint32_t (&out)[EDIT_RUN]) {
    constexpr int COUNT = (EDIT_RUN + 2 * (8 >> SCALE) + 3) / 4 * 4;
    uint32_t v[COUNT];
    vif_load_row(row, v);
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        v[k] = v[k] >> shift & 65535;
#pragma unroll
    for (int i = 0; i < EDIT_RUN; i++)
        out[i] = vif_tap_sum<SCALE>(v + i);
}
template <int SCALE>
GPU_FN void edit_vif_variances(const uint32_t *row, const uint32_t (&a)[EDIT_RUN], const uint32_t (&b)[EDIT_RUN],
                               int32_t (&out)[EDIT_RUN]) {
    uint32_t low[EDIT_RUN], high[EDIT_RUN];
    edit_vif_means<SCALE>(row, 0, low);
    edit_vif_means<SCALE>(row, 16, high);
#pragma unroll
    for (int i = 0; i < EDIT_RUN; i++)
        out[i] = (int32_t)(high[i] + ((low[i] + 32768) >> 16) - vmafgpu__vif_mean_product(a[i], b[i]));
}

/* Computes those samples of the next scale's picture that change and lie in the tile. */
template <class Tile>
GPU_FN void edit_vif_shrink(const vmafgpu__edit_vif_launch &launch, uint32_t index, const vmafgpu__rect &changed,
                            const Tile &tile, int32_t x, int32_t y) {
    constexpr int SCALE = Tile::SCALE, NEXT = SCALE + 1, COUNT = 2 * (8 >> NEXT) + 1,
                  FIRST = (8 >> SCALE) - (8 >> NEXT);
    const vmafgpu__edit_batch &batch = launch.edits;
    const int32_t size[2] = { batch.width, batch.height }, from[2] = { x / 2, y / 2 };
    const int32_t most[2] = { launch.tile_width / 2, launch.tile_height / 2 };
    vmafgpu__rect next, here;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        next.of[i] = vmafgpu__edit_vif_next(changed.of[i], SCALE, size[i]);
        here.of[i].first = adm_larger(next.of[i].first, from[i]);
        here.of[i].end = adm_lesser(next.of[i].end, from[i] + most[i]);
    }
    const int32_t wide = max_edit_size(here.of[0]),
                  count = wide > 0 ? wide * max_edit_size(here.of[1]) : 0; /* a size may be negative */
    uint8_t *out = batch.scratch + index * batch.scratch_size + batch.vif[NEXT];
    for (int32_t i = (int32_t)thread_index(); i < count; i += (int32_t)block_threads()) {
        const int32_t column = here.of[0].first + i % wide, row = here.of[1].first + i / wide;
        const uint32_t *in = edit_images(tile) + (row - from[1]) * tile.stride + 2 * (column - from[0]) + FIRST;
        uint32_t v[COUNT];
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            v[k] = in[k];
        store((uint16_t *)(out + (int64_t)(row - next.of[1].first) * batch.vif_pitch[NEXT]) +
                  (column - next.of[0].first),
              (uint16_t)((vif_tap_sum<NEXT>(v) + 32768) >> 16));
    }
}

/* The contributions of a sample to the sums, computed from its variances s1 and s2 and the covariance s12. */
struct EditTerm {
    int32_t information, noise;
};
GPU_FN EditTerm edit_vif_term(const vmafgpu__vif_launch &vif, int32_t s1, int32_t s2, int32_t s12) {
    const uint8_t *table = (const uint8_t *)vif.log_table;
    const bool is_flat = s1 < VMAFGPU__VIF_NOISE;
    uint32_t n1 = VMAFGPU__VIF_NOISE, n2 = VMAFGPU__VIF_NOISE;
    if (!is_flat && s12 > 0 && s2 > 0)
        vif_levels(s1, s2, s12, vif.gain.limit, &n1, &n2);
    return EditTerm{ edit_log(n2, table) - edit_log(n1, table), is_flat && s2 > 0 ? s2 : 0 };
}

/* Along one axis: the index of the map block that contains a sample of scale `shift`, and the first sample after the
 * map block. */
struct MapSpan {
    int32_t block, end;
};
GPU_FN MapSpan map_span(int32_t sample, int32_t size, int32_t count, int shift, int32_t samples) {
    const int32_t k = adm_lesser((sample << shift) / size, count - 1);
    return MapSpan{ k, k + 1 < count ? vmafgpu__divide_up((k + 1) * size, 1 << shift) : samples };
}

/* Returns the sums of a block, or NULL if the block is not requested. */
GPU_FN int64_t *map_sums(const vmafgpu__map_blocks &map, int32_t column, int32_t row) {
    const int32_t index = row * map.across + column - map.first;
    return (uint32_t)index < (uint32_t)map.count ? map.sums + (int64_t)index * 2 * VMAFGPU__SLOPES : nullptr;
}

GPU_FN void map_add(int64_t *to, int64_t v) {
    if (v)
        atomic_add(to, v);
}

/* Adds the contributions of the samples of a tile to the sums of map blocks: the sums of the distorted picture, and the
 * sums of the reference compared with itself. A thread processes a part of a row. */
template <int SCALE>
GPU_FN void map_vif(const vmafgpu__edit_vif_launch &launch, int32_t x, int32_t y, int32_t columns, int32_t rows,
                    int32_t wide, const int32_t *s1_of, const int32_t *s2_of, const int32_t *s12_of) {
    const vmafgpu__map_blocks &map = launch.map;
    const int32_t parts = adm_larger((int32_t)block_threads() / rows, 1), run = (columns + parts - 1) / parts;
#pragma unroll 1
    for (int32_t unit = (int32_t)thread_index(); unit < parts * rows; unit += (int32_t)block_threads()) {
        const int32_t row = unit % rows, end = adm_lesser((unit / rows + 1) * run, columns);
        const int32_t block_row = map_span(y + row, map.size, map.down, SCALE, launch.vif.height).block;
        int32_t column = unit / rows * run;
#pragma unroll 1
        while (column < end) {
            const MapSpan span = map_span(x + column, map.size, map.across, SCALE, launch.vif.width);
            const int32_t last = adm_lesser(span.end - x, end);
            int32_t information = 0, ideal = 0;
            int64_t noise = 0, ideal_noise = 0;
#pragma unroll 1
            for (; column < last; column++) {
                const int32_t of = row * wide + column, s1 = s1_of[of];
                const EditTerm is = edit_vif_term(launch.vif, s1, s2_of[of], s12_of[of]);
                const EditTerm should = edit_vif_term(launch.vif, s1, s1, s1);
                information += is.information;
                noise += is.noise;
                ideal += should.information;
                ideal_noise += should.noise;
            }
            int64_t *to = map_sums(map, span.block, block_row);
            if (!to)
                continue;
            map_add(to + VMAFGPU__SLOPE_VIF + SCALE, information);
            map_add(to + VMAFGPU__SLOPE_NOISE + SCALE, noise);
            map_add(to + VMAFGPU__SLOPES + VMAFGPU__SLOPE_VIF + SCALE, ideal);
            map_add(to + VMAFGPU__SLOPES + VMAFGPU__SLOPE_NOISE + SCALE, ideal_noise);
        }
    }
}

/* Whether the slopes of the pair that a thread block processes are requested. */
GPU_FN bool slopes_has_pair(const vmafgpu__slopes_batch &batch) {
    return batch.pairs >> block_z() & 1;
}

/* Returns the distance from the memory of pair 0 to that of the pair that a thread block processes, in floats. */
GPU_FN int64_t slopes_offset(const vmafgpu__slopes_batch &batch) {
    return (int64_t)block_z() * batch.stride;
}

/* These functions return the address of an item of the pair that a thread block processes. `first` is the item of
 * pair 0. The first function can use an integer, because loads state their address space. The second one keeps a
 * pointer, from which the compiler derives the address space of stores. */
template <class Item> GPU_FN const Item *slopes_of_pair(const Item *first, const vmafgpu__slopes_batch &batch) {
    return (const Item *)((uintptr_t)first + slopes_offset(batch) * sizeof(float));
}
template <class Item> GPU_FN Item *slopes_of_pair(Item *first, const vmafgpu__slopes_batch &batch) {
    return (Item *)(void *)((uint8_t *)(void *)first + slopes_offset(batch) * (int64_t)sizeof(float));
}

/* The gain of a sample, and parts of the variance of the distorted frame: the unexplained part, which can be negative,
 * and the part that contributes to the score. These doubles are those of vif_levels(). */
struct SlopesLevels {
    double gain, rest, signal;
};

/* Negative values of s2 and s12 lead to the same derivatives as 0. If s1 is below the noise, the derivatives do not
 * depend on the result. */
GPU_FN SlopesLevels slopes_levels(double gain_limit, int32_t s1, int32_t s2, int32_t s12) {
    const double x1 = whole((uint32_t)adm_larger(s1, VMAFGPU__VIF_NOISE)), x2 = whole((uint32_t)adm_larger(s2, 0)),
                 x12 = whole((uint32_t)adm_larger(s12, 0));
    const double gain = divide(x12, x1 + VMAFGPU__VIF_EPSILON), limited = gain < gain_limit ? gain : gain_limit;
    return SlopesLevels{ gain, x2 - gain * x12, limited * limited * x1 };
}

constexpr float SLOPES_PER_GREY = 94548.456f; /* 65536 / ln(2) */

/* Returns SLOPES_PER_GREY / v, rounded to nearest, for v between 2^17 and 2^34. As for divide(), the exact remainder
 * corrects the quotient. This was checked for all values of v, and for reciprocals with errors of up to 3 ulp. */
GPU_FN float slopes_per_grey(float v) {
    const float r = reciprocal(v), better = fused(r, fused(-v, r, 1), r), q = SLOPES_PER_GREY * better;
    return fused(fused(-v, q, SLOPES_PER_GREY), better, q);
}

/* Replaces the variances of a sample by the bits of three derivatives: a2, a12 and 2 a2 m2 + a12 m1. Together with
 * slopes_levels(), this is vmafgpu__slopes_variances() of vmafgpu.h, with the same operations in the same order. */
GPU_FN void slopes_term(double gain_limit, const SlopesLevels &levels, uint32_t mean1, uint32_t mean2, int32_t &s1,
                        int32_t &s2, int32_t &s12) {
    const float inverse = 1.0576589e-05f; /* of SLOPES_PER_GREY */
    const float m1 = (float)(int32_t)(mean1 - 0x80000000u) * (1.0f / 16777216),
                m2 = (float)(int32_t)(mean2 - 0x80000000u) * (1.0f / 16777216);
    const bool is_flat = s1 < VMAFGPU__VIF_NOISE, is_lost = s12 <= 0 || s2 <= 0;
    const bool has_rest = levels.rest >= 1, is_limited = levels.gain > gain_limit;
    const float n1 = (float)((has_rest ? levels.rest : 0) + VMAFGPU__VIF_NOISE),
                more = (float)(levels.signal >= 1 ? levels.signal : 0);
    const float g = (float)levels.gain, i1 = slopes_per_grey(n1), i2 = slopes_per_grey(n1 + more);
    const float a2 = has_rest ? -(more * i1 * i2 * inverse) : 0;
    const float a12 = is_limited ? -(2 * g * a2) : 2 * g * (has_rest ? i1 : i2);
    const float by2 = is_flat ? -4 / 65025.0f : is_lost ? 0 : a2, by12 = is_flat || is_lost ? 0 : a12;
    s1 = (int32_t)bits_of(2 * by2 * m2 + by12 * m1);
    s2 = (int32_t)bits_of(by2);
    s12 = (int32_t)bits_of(by12);
}

/* Replaces the variances of EDIT_RUN samples by the bits of their derivatives, see slopes_term(). */
GPU_FN void slopes_terms(double gain_limit, const uint32_t (&mean)[2][EDIT_RUN], int32_t (&s1)[EDIT_RUN],
                         int32_t (&s2)[EDIT_RUN], int32_t (&s12)[EDIT_RUN]) {
#pragma unroll
    for (int i = 0; i < EDIT_RUN; i++)
        slopes_term(gain_limit, slopes_levels(gain_limit, s1[i], s2[i], s12[i]), mean[0][i], mean[1][i], s1[i], s2[i],
                    s12[i]);
}

/* Stores the derivatives of a tile in three planes. */
GPU_FN void slopes_store(int32_t *to, int64_t plane, int32_t width, int32_t columns, int32_t rows, int32_t wide,
                         const int32_t *rest, const int32_t *by2, const int32_t *by12) {
    const int32_t down = (int32_t)block_threads() / columns, along = (int32_t)block_threads() % columns;
    int32_t row = (int32_t)thread_index() / columns, column = (int32_t)thread_index() % columns;
#pragma unroll 1
    while (row < rows) {
        const int32_t of = row * wide + column;
        int32_t *out = to + row * (int64_t)width + column;
        store(out, by2[of]);
        store(out + plane, by12[of]);
        store(out + 2 * plane, rest[of]);
        row += down;
        column += along;
        if (column >= columns)
            column -= columns, row++;
    }
}

template <int SCALE, int BYTES, EditUse USE> GPU_FN void edit_vif(const vmafgpu__edit_vif_launch &launch) {
    using Tile = EditTile<SCALE, USE>;
    constexpr int REACH = Tile::REACH;
    const vmafgpu__vif_launch &vif = launch.vif;
    const vmafgpu__edit_batch &batch = launch.edits;
    const uint32_t index = block_z(), pair = USE == EDIT_SLOPES ? index : 0;
    if (USE == EDIT_SLOPES && !slopes_has_pair(launch.slopes))
        return;
    const VifImage base = vif_input<SCALE>(vif, pair, 1);
    vmafgpu__rect changed = {}, seen = { { { 0, vif.width }, { 0, vif.height } } };
    bool is_empty = false;
    EditPicture picture = { base.data, base.data, base.pitch, base.pitch, changed };
    if (!Tile::OF_BASE) {
        const vmafgpu__gpu_edit e = edit_load(batch, index);
        const int32_t size[2] = { batch.width, batch.height }, own[2] = { vif.width, vif.height };
        changed = edit_rect(e);
#pragma unroll
        for (int i = 0; i < 2; i++) {
#pragma unroll
            for (int s = 0; s < SCALE; s++) {
                changed.of[i] = vmafgpu__edit_vif_next(changed.of[i], s, size[i]);
                is_empty |= max_edit_size(changed.of[i]) <= 0;
            }
            seen.of[i] = vmafgpu__range_within(changed.of[i].first - REACH, changed.of[i].end + REACH, own[i]);
        }
        picture = edit_picture(batch, index, e, changed, SCALE, base.data, base.pitch, batch.vif, batch.vif_pitch);
    }
    /* See `nothing` in edit_adm(). */
    const int32_t nothing = (int32_t)again(0u), more = LANES == 64 ? nothing : 0;
    const int32_t x = (seen.of[0].first & ~3) + (int32_t)block_x() * launch.tile_width + more;
    const int32_t y = (seen.of[1].first & ~1) + (int32_t)block_y() * launch.tile_height;
    if (is_empty || x >= seen.of[0].end || y >= seen.of[1].end)
        return;
    const int32_t columns = adm_lesser(seen.of[0].end - x, launch.tile_width);
    const int32_t rows = adm_lesser(seen.of[1].end - y, launch.tile_height);
    const Tile tile = { (uint32_t *)shared_memory(), launch.stride + more, launch.tile_height * launch.stride + more };
    picture.plane += nothing, picture.patch += nothing, picture.pitch += nothing, picture.patch_pitch += nothing;
#pragma unroll
    for (int i = 0; i < 2; i++)
        picture.changed.of[i].first += nothing, picture.changed.of[i].end += nothing;
    const int32_t filled = (rows + VIF_RUN - 1) / VIF_RUN * VIF_RUN;
    edit_vif_stage<BYTES>(vif, pair, picture, tile, x, y, columns, filled);
    block_barrier();
    edit_vif_vertical<BYTES>(launch, tile, columns, filled);
    block_barrier();
    if constexpr (Tile::SHRINKS)
        if (vif.first)
            edit_vif_shrink(launch, index, changed, tile, x, y);
    if (vif.images_only)
        return;

    const int64_t plane = (int64_t)vif.width * vif.height, at = (int64_t)y * vif.width + x;
    int32_t *terms = launch.terms + at + vif.variant * plane, *shared = launch.terms + at + batch.vif_variants * plane;
    /* The samples are no longer needed; variances and covariances replace them. */
    const int32_t wide = ((columns + EDIT_RUN - 1) / EDIT_RUN * EDIT_RUN) | 1;
    int32_t *s2_of = (int32_t *)edit_samples(tile), *s12_of = s2_of + filled * wide, *s1_of = s12_of + filled * wide;
#pragma unroll 1
    for (int32_t unit = (int32_t)thread_index(); unit < wide / EDIT_RUN * rows; unit += (int32_t)block_threads()) {
        const int32_t row = unit % rows, column = unit / rows * EDIT_RUN, to = row * wide + column;
        const uint32_t *in = tile.words + row * tile.stride + column;
        int32_t *mean_of = shared + plane + row * (int64_t)vif.width + column;
        uint32_t mean[2][EDIT_RUN];
        int32_t s1[EDIT_RUN], s2[EDIT_RUN], s12[EDIT_RUN];
        edit_vif_means<SCALE>(in, 16, mean[1]);
        if (Tile::OF_BASE) {
            edit_vif_means<SCALE>(in, 0, mean[0]);
            edit_vif_variances<SCALE>(in + tile.plane, mean[0], mean[0], s1);
        }
#pragma unroll
        for (int i = 0; i < EDIT_RUN; i++) {
            const bool is_inside = column + i < columns;
            if (!Tile::OF_BASE)
                mean[0][i] = is_inside ? (uint32_t)load(mean_of + i) : 0;
            if (USE == EDIT_STORES && is_inside) {
                store(mean_of + i, (int32_t)mean[0][i]);
                store(mean_of + plane + i, s1[i]);
            }
        }
        edit_vif_variances<SCALE>(in + Tile::SQUARES * tile.plane, mean[1], mean[1], s2);
        edit_vif_variances<SCALE>(in + Tile::PRODUCTS * tile.plane, mean[0], mean[1], s12);
        if constexpr (USE == EDIT_SLOPES)
            slopes_terms(vif.gain.limit, mean, s1, s2, s12);
#pragma unroll
        for (int i = 0; i < EDIT_RUN; i++) {
            s2_of[to + i] = s2[i];
            s12_of[to + i] = s12[i];
            if (Tile::OF_BASE)
                s1_of[to + i] = s1[i];
        }
    }
    block_barrier();

    if constexpr (USE == EDIT_SLOPES) {
        slopes_store(launch.terms + slopes_offset(launch.slopes) + at, plane, vif.width, columns, rows, wide, s1_of,
                     s2_of, s12_of);
        return;
    }

    if constexpr (USE == EDIT_BLOCKS) {
        map_vif<SCALE>(launch, x, y, columns, rows, wide, s1_of, s2_of, s12_of);
        return;
    }
    int32_t numerator = 0;
    int64_t noise = 0;
    const int32_t down = (int32_t)block_threads() / columns, along = (int32_t)block_threads() % columns;
    int32_t row = (int32_t)thread_index() / columns, column = (int32_t)thread_index() % columns;
#pragma unroll 1
    while (row < rows) {
        const int32_t of = row * wide + column;
        const int64_t to = row * (int64_t)vif.width + column;
        const int32_t s1 = Tile::OF_BASE ? s1_of[of] : load(shared + 2 * plane + to);
        const EditTerm term = edit_vif_term(vif, s1, s2_of[of], s12_of[of]);
        if (USE == EDIT_STORES) {
            store(terms + to, term.information);
            if (vif.first)
                store(shared + to, term.noise);
        } else {
            numerator += term.information - load(terms + to);
            if (vif.first)
                noise += (int64_t)term.noise - load(shared + to);
        }
        row += down;
        column += along;
        if (column >= columns)
            column -= columns, row++;
    }
    if (USE == EDIT_STORES)
        return;
    numerator = (int32_t)warp_sum_word((uint32_t)numerator);
    noise = warp_sum(noise);
    int64_t *record = batch.records + (int64_t)index * batch.words;
    if (lane_index() == 0 && numerator)
        atomic_add(record + vmafgpu__edit_vif_word(batch.vif_variants, SCALE, vif.variant), (int64_t)numerator);
    if (lane_index() == 0 && noise)
        atomic_add(record + vmafgpu__edit_vif_word(batch.vif_variants, SCALE, batch.vif_variants), noise);
}

#define EDIT_VIF_KERNEL(input, SCALE, BYTES) \
    GPU_KERNEL_UP_TO(vmafgpu_edit_vif_##input, vmafgpu__edit_vif_launch, VMAFGPU__EDIT_VIF_THREADS, 5) { \
        edit_vif<SCALE, BYTES, EDIT_CHANGES>(launch); \
    } \
    GPU_KERNEL(vmafgpu_base_vif_##input, vmafgpu__edit_vif_launch, VMAFGPU__EDIT_VIF_THREADS, 5) { \
        edit_vif<SCALE, BYTES, EDIT_STORES>(launch); \
    } \
    GPU_KERNEL(vmafgpu_map_vif_##input, vmafgpu__edit_vif_launch, VMAFGPU__EDIT_VIF_THREADS, 5) { \
        edit_vif<SCALE, BYTES, EDIT_BLOCKS>(launch); \
    } \
    GPU_KERNEL(vmafgpu_slopes_terms_##input, vmafgpu__edit_vif_launch, VMAFGPU__EDIT_VIF_THREADS, 4) { \
        edit_vif<SCALE, BYTES, EDIT_SLOPES>(launch); \
    }
EDIT_VIF_KERNEL(0_8, 0, 1)
EDIT_VIF_KERNEL(0_16, 0, 2)
EDIT_VIF_KERNEL(1, 1, 2)
EDIT_VIF_KERNEL(2, 2, 2)
EDIT_VIF_KERNEL(3, 3, 2)
#undef EDIT_VIF_KERNEL

/* ---- ADM ---- */

/* This kind stores each masked cube instead of adding it to the sums of its row. */
template <class Base> struct StoreKind : Base {};
template <class Base> struct AdmSums<StoreKind<Base>, false> {
    uint64_t denominator[VMAFGPU__BANDS];
    int64_t *out; /* where the cubes of the next column are stored; [2][VMAFGPU__BANDS] planes */
    int64_t plane;
    bool is_own; /* whether the lane's row is stored */
};

template <class Base>
GPU_FN void adm_add_masked(const vmafgpu__adm_launch &launch, AdmSums<StoreKind<Base>, false> &sums,
                           const AdmPixel &pixel, const uint32_t (&threshold)[2]) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            const int64_t cube = adm_masked_cube<Base>(launch, pixel, threshold, i, band);
            if (sums.is_own)
                store(sums.out + (i * VMAFGPU__BANDS + band) * sums.plane, cube);
        }
    sums.out++;
}

/* This kind adds the masked cubes to the sums of map blocks instead of to the sums of their rows. */
template <class Base> struct MapKind : Base {};
template <class Base> struct AdmSums<MapKind<Base>, false> {
    uint64_t masked[2][VMAFGPU__BANDS], denominator[VMAFGPU__BANDS];
    const vmafgpu__map_blocks *map;
    int32_t column, last, end; /* the next column; the ends of the map block and of the tile */
    int32_t row, which; /* row of map blocks; which: 0 for the picture, 1 for the reference compared with itself */
    int64_t *row_sums;  /* for the reference: where the lane also adds its sums, by rows; otherwise NULL */
    bool is_own;        /* whether the sums include the lane's row */
};

/* Starts new sums for the map block that contains the next column. */
template <class Base> GPU_FN void map_adm_turn(const vmafgpu__adm_launch &launch, AdmSums<MapKind<Base>, false> &sums) {
    const vmafgpu__map_blocks &map = *sums.map;
    sums.last =
        adm_lesser(map_span(sums.column, map.size, map.across, Base::SCALE + 1, launch.geometry.w).end, sums.end);
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++)
            sums.masked[i][band] = 0;
}

template <class Base>
GPU_FN void adm_add_masked(const vmafgpu__adm_launch &launch, AdmSums<MapKind<Base>, false> &sums,
                           const AdmPixel &pixel, const uint32_t (&threshold)[2]) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++)
            sums.masked[i][band] += (uint64_t)adm_masked_cube<Base>(launch, pixel, threshold, i, band);
    if (++sums.column < sums.last)
        return;
    const vmafgpu__map_blocks &map = *sums.map;
    int64_t *to = map_sums(
        map, map_span(sums.column - 1, map.size, map.across, Base::SCALE + 1, launch.geometry.w).block, sums.row);
    if (sums.is_own && to) {
        to += sums.which * VMAFGPU__SLOPES + Base::SCALE * VMAFGPU__BANDS;
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int band = 0; band < VMAFGPU__BANDS; band++) {
                map_add(to + (i ? VMAFGPU__SLOPE_AIM : VMAFGPU__SLOPE_ADM) + band, (int64_t)sums.masked[i][band]);
                if (sums.row_sums)
                    map_add(sums.row_sums + (i * VMAFGPU__BANDS + band) * (int64_t)launch.geometry.h,
                            (int64_t)sums.masked[i][band]);
            }
    }
    map_adm_turn(launch, sums);
}

/* Prepares a lane to process its row of a tile. The tile ends before column `end`. */
template <class Base>
GPU_FN void base_adm_start(const vmafgpu__edit_adm_launch &launch, AdmSums<StoreKind<Base>, false> &sums,
                           int32_t column, int32_t, int32_t row, bool is_own) {
    const vmafgpu__adm_geometry &g = launch.adm.geometry;
    sums.is_own = is_own;
    sums.plane = (int64_t)g.w * g.h;
    sums.out = launch.cubes + (is_own ? row : g.top) * (int64_t)g.w + column;
}
template <class Base>
GPU_FN void base_adm_start(const vmafgpu__edit_adm_launch &launch, AdmSums<MapKind<Base>, false> &sums, int32_t column,
                           int32_t end, int32_t row, bool is_own) {
    const vmafgpu__map_blocks &map = launch.map;
    sums.map = &launch.map;
    sums.is_own = is_own;
    sums.column = column;
    sums.end = end;
    sums.which = (int32_t)block_z();
    sums.row_sums = sums.which ? (int64_t *)(launch.adm.scratch + launch.adm.row_sums) + (is_own ? row : 0) : nullptr;
    sums.row = map_span(is_own ? row : 0, map.size, map.down, Base::SCALE + 1, launch.adm.geometry.h).block;
    map_adm_turn(launch.adm, sums);
}

/* Computes the contributions of the base. A warp processes a tile. Thread blocks with z index 1 compare the
 * reference with itself. */
template <class Kind> GPU_FN void base_adm(const vmafgpu__edit_adm_launch &launch) {
    const vmafgpu__adm_launch &adm = launch.adm;
    const vmafgpu__adm_geometry &g = adm.geometry;
    const uint32_t warp = block_x() * (block_threads() / LANES) + warp_index(), index = warp / (uint32_t)launch.strips;
    if (index >= (uint32_t)launch.count)
        return;
    const vmafgpu__gpu_pair &pair = adm.batch.pair[0];
    const uint8_t *reference = Kind::SCALE ? adm.scratch + adm.input[0] : (const uint8_t *)pair.reference;
    const int32_t pitch = Kind::SCALE ? adm.input_pitch : pair.reference_pitch;
    const uint8_t *distorted = block_z()     ? reference
                               : Kind::SCALE ? adm.scratch + adm.input[1]
                                             : (const uint8_t *)pair.distorted;
    const int32_t distorted_pitch = Kind::SCALE || block_z() ? pitch : pair.distorted_pitch;
    const int32_t x = (g.left & ~1) + (int32_t)index * Kind::WIDTH, end = g.h - g.top;
    const int32_t y = g.top + (int32_t)(warp % (uint32_t)launch.strips) * (LANES - 2);
    uint32_t *tile = (uint32_t *)shared_memory() + warp_index() * Kind::TILE_WORDS;
    const int32_t own_row = y - 1 + (int32_t)lane_index();
    const int32_t slot = vmafgpu__reflect_repeat(own_row, g.h) - (y - 1);
    AdmWalk<Kind> walk = {};
    walk.tile = tile;
    walk.x = x;
    walk.end = adm_lesser(x + Kind::WIDTH, g.w - g.left);
    base_adm_start(launch, walk.sums, adm_larger(x, g.left), walk.end, own_row,
                   lane_index() > 0 && lane_index() < LANES - 1 && own_row >= g.top && own_row < end);
    adm_load_tile<Kind>(tile, reference, pitch, adm.input_width, adm.input_height, x, y);
    adm_load_tile<Kind>(tile + Kind::PLANE, distorted, distorted_pitch, adm.input_width, adm.input_height, x, y);
    copy_commit();
    copy_wait<0>();
    warp_barrier();
    if (x < 2 || 2 * x - 4 + Kind::COLUMNS > adm.input_width) {
        adm_mirror_columns<Kind>(tile, adm.input_width, x);
        warp_barrier();
    }
    const uint32_t *row = tile + adm_lesser(adm_larger(slot, 0), LANES - 1) * Kind::STRIDE;
    const int32_t steps = adm_lesser((g.w - g.left - x + 3 + Kind::PER_STEP) / Kind::PER_STEP, Kind::STEPS);
#pragma unroll 1
    for (int32_t k = 0; k < steps; k++)
        adm_step<Kind, true, true>(adm, walk, row, k);
}

/* This kind sums changes instead of values. Each edit is processed by a group of lanes, whose size is a power of two
 * and at least eight. In shared memory, the rows of the tile of a group follow those of the previous group. */
template <class Base> struct EditKind : Base {
    static constexpr bool DIVIDED = true;
    static constexpr int ODD = (LANES + LANES / VMAFGPU__EDIT_ADM_LANES) * Base::STRIDE, PLANE = 2 * ODD,
                         TILE_WORDS = 2 * PLANE;
    static_assert(TILE_WORDS == VMAFGPU__EDIT_ADM_TILE_WORDS(Base::WIDTH, Base::WORD_COLUMNS, LANES), "shared memory");
};
template <class Base> struct AdmSums<EditKind<Base>, false> {
    uint64_t masked[2][VMAFGPU__BANDS], denominator[VMAFGPU__BANDS];
    const uint64_t *base; /* cubes of the base for the next column; [2][VMAFGPU__BANDS] planes */
    int64_t plane;
};

template <class Base>
GPU_FN void adm_add_masked(const vmafgpu__adm_launch &launch, AdmSums<EditKind<Base>, false> &sums,
                           const AdmPixel &pixel, const uint32_t (&threshold)[2]) {
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++)
            sums.masked[i][band] += (uint64_t)adm_masked_cube<Base>(launch, pixel, threshold, i, band) -
                                    load(sums.base + (i * VMAFGPU__BANDS + band) * sums.plane);
    sums.base++;
}

/* The number of lanes of an edit, and the index of this lane among them. */
struct EditLanes {
    int32_t count, own;
};

/* Loads rows of both planes of the tile at band position (x, y), `words` words per row. Samples beyond the frame are
 * replaced as in adm_load_tile(). */
template <class Kind>
GPU_FN void edit_adm_load(uint32_t *tile, const EditLanes &lanes, const uint8_t *const (&plane)[2],
                          const int32_t (&pitch)[2], int32_t width, int32_t height, int32_t x, int32_t y, int32_t words,
                          int32_t rows) {
    const int32_t last_word = (width - 1) / Kind::WORD_COLUMNS * Kind::WORD_COLUMNS, first_row = 2 * y - 3;
    const int32_t down = words ? lanes.count / words : 0, along = lanes.count - down * words;
    int32_t row = words ? lanes.own / words : rows, word = lanes.own - row * words;
#pragma unroll 4
    while (row < rows) {
        const int32_t source = adm_larger(vmafgpu__reflect_repeat(first_row + row, height), 0);
        const int32_t column =
            adm_lesser(adm_larger(2 * x - 4 + word * Kind::WORD_COLUMNS, 0), last_word) * Kind::BYTES;
        uint32_t *out = tile + (row & 1) * Kind::ODD + (row >> 1) * Kind::STRIDE + word;
#pragma unroll
        for (int f = 0; f < 2; f++)
            copy_4(out + f * Kind::PLANE, plane[f] + (int64_t)source * pitch[f] + column);
        row += down;
        word += along;
        if (word >= words)
            word -= words, row++;
    }
}

/* Writes the samples of an edit over the samples of the tile at band position (x, y). */
template <class Kind, class Sample>
GPU_FN void edit_adm_overlay(uint32_t *tile, const EditLanes &lanes, const EditPicture &picture, int32_t x, int32_t y,
                             int32_t height, int32_t words, int32_t rows) {
    const int32_t first_column = 2 * x - 4, first_row = 2 * y - 3;
    const int32_t from = adm_larger(picture.changed.of[0].first, first_column);
    const int32_t to = adm_lesser(picture.changed.of[0].end, first_column + words * Kind::WORD_COLUMNS);
    for (int32_t row = lanes.own; row < rows; row += lanes.count) {
        const int32_t own =
            adm_larger(vmafgpu__reflect_repeat(first_row + row, height), 0) - picture.changed.of[1].first;
        Sample *samples = (Sample *)(tile + (row & 1) * Kind::ODD + (row >> 1) * Kind::STRIDE);
        if ((uint32_t)own >= (uint32_t)max_edit_size(picture.changed.of[1]))
            continue;
        const Sample *in =
            (const Sample *)(picture.patch + (int64_t)own * picture.patch_pitch) - picture.changed.of[0].first;
        for (int32_t column = from; column < to; column++)
            samples[column - first_column] = load(in + column);
    }
}

/* Like adm_mirror_columns(), applied to the tile of an edit. */
template <class Kind, class Sample>
GPU_FN void edit_adm_mirror(uint32_t *tile, const EditLanes &lanes, int32_t width, int32_t x, int32_t rows) {
    const int32_t first_column = 2 * x - 4;
    for (int32_t row = lanes.own; row < 2 * rows; row += lanes.count) {
        const int32_t k = row >> 1;
        Sample *samples = (Sample *)(tile + (row & 1) * Kind::PLANE + (k & 1) * Kind::ODD + (k >> 1) * Kind::STRIDE);
        for (int beyond = -1; beyond < 2; beyond++) {
            const int32_t to = (beyond < 0 ? -1 : width + beyond) - first_column;
            const int32_t from = (beyond < 0 ? 1 : width - 1 - beyond) - first_column;
            if (to >= 0 && to < Kind::COLUMNS && from >= 0 && from < Kind::COLUMNS)
                samples[to] = samples[from];
        }
    }
}

/* Writes the changed part of a lane's row of the low-pass band to the scratch memory of the edit. */
template <class Kind>
GPU_FN void edit_adm_write_low(const vmafgpu__edit_batch &batch, uint32_t index, const vmafgpu__rect &bands,
                               const uint32_t *tile, int32_t x, int32_t row) {
    constexpr int NEXT = Kind::SCALE + 1 < VMAFGPU__SCALES ? Kind::SCALE + 1 : 0;
    const int32_t from = adm_larger(bands.of[0].first, x), to = adm_lesser(bands.of[0].end, x + Kind::WIDTH);
    const uint32_t *in = tile + Kind::PLANE + lane_index() * Kind::STRIDE;
    uint8_t *out = batch.scratch + index * batch.scratch_size + batch.band[NEXT] +
                   (int64_t)(row - bands.of[1].first) * batch.band_pitch[NEXT];
    for (int32_t column = from; column < to; column++)
        if (Kind::LOW_BYTES == 2)
            store((uint16_t *)out + (column - bands.of[0].first), ((const uint16_t *)in)[column - x]);
        else
            store((uint32_t *)out + (column - bands.of[0].first), in[column - x]);
}

template <class Kind> GPU_FN void edit_adm(const vmafgpu__edit_adm_launch &launch) {
    const vmafgpu__adm_launch &adm = launch.adm;
    const vmafgpu__adm_geometry &g = adm.geometry;
    const vmafgpu__edit_batch &batch = launch.edits;
    const EditLanes lanes = { launch.lanes, (int32_t)lane_index() & (launch.lanes - 1) };
    const uint32_t unit = (block_x() * block_threads() + thread_index()) / (uint32_t)launch.lanes;
    const uint32_t index = unit / (uint32_t)launch.strips;
    /* `nothing` is always 0, but the compiler cannot know this. It is added to values that are equal in all lanes,
     * because the compiler would otherwise keep all of them in scalar registers, of which there are too few. */
    const int32_t nothing = LANES == 64 ? (int32_t)(unit >> 31) : 0;
    const bool has_edit = index < (uint32_t)batch.count;
    const vmafgpu__gpu_edit e = edit_load(batch, has_edit ? index : 0);
    const int32_t frame[2] = { batch.width, batch.height }, size[2] = { g.w, g.h };
    vmafgpu__rect changed = edit_rect(e), bands = {}, around = {};
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int s = 0; s < Kind::SCALE; s++)
            changed.of[i] = vmafgpu__edit_band_range(changed.of[i], vmafgpu__adm_size(frame[i], s));
        bands.of[i] = vmafgpu__edit_band_range(changed.of[i], size[i]);
        around.of[i] = vmafgpu__range_within(bands.of[i].first - 1, bands.of[i].end + 1, size[i]);
    }
    const vmafgpu__gpu_pair &pair = adm.batch.pair[0];
    const uint8_t *const plane[2] = { Kind::SCALE ? adm.scratch + adm.input[0] : (const uint8_t *)pair.reference,
                                      Kind::SCALE ? adm.scratch + adm.input[1] : (const uint8_t *)pair.distorted };
    const int32_t pitch[2] = { (Kind::SCALE ? adm.input_pitch : pair.reference_pitch) + nothing,
                               (Kind::SCALE ? adm.input_pitch : pair.distorted_pitch) + nothing };
    const int32_t input_width = adm.input_width + nothing, input_height = adm.input_height + nothing;
    const EditPicture picture =
        edit_picture(batch, index, e, changed, Kind::SCALE, plane[1], pitch[1], batch.band, batch.band_pitch);
    const int32_t y = around.of[1].first + (int32_t)(unit % (uint32_t)launch.strips) * (lanes.count - 2);
    const int32_t end = has_edit && y < around.of[1].end ? around.of[0].end : 0;
    /* `own_tile` is the first even row of the tile of the group. The odd rows begin at the same offset in the other
     * half. */
    uint32_t *tile = (uint32_t *)shared_memory() + warp_index() * Kind::TILE_WORDS;
    uint32_t *own_tile = tile + (int32_t)lane_index() / lanes.count * (lanes.count + 1) * Kind::STRIDE;
    const int32_t own_row = y - 1 + lanes.own, rows = 2 * adm_lesser(lanes.count, around.of[1].end - y + 2) + 2;
    const int32_t slot = vmafgpu__reflect_repeat(own_row, g.h) - (y - 1);
    const bool is_between = lanes.own > 0 && lanes.own < lanes.count - 1;
    const bool is_own = is_between && own_row >= g.top && own_row < g.h - g.top && own_row < around.of[1].end;
    const bool is_low = is_between && own_row >= bands.of[1].first && own_row < bands.of[1].end;
    AdmWalk<Kind> walk = {};
    walk.tile = tile;
    walk.sums.plane = (int64_t)g.w * g.h;
    /* The walk begins at an even column. A column before the first changed one contributes the same as in the base, so
     * it does not affect the sums of changes. */
#pragma unroll 1
    for (int32_t x = around.of[0].first & ~1; any_lane(x < end); x += Kind::WIDTH) {
        /* The last column is summed in the step that computes the column after it. */
        const int32_t steps = x < end ? adm_lesser((end - x + 3 + Kind::PER_STEP) / Kind::PER_STEP, Kind::STEPS) : 0;
        const int32_t words = steps * (Kind::BYTES == 4 ? 2 : 1);
        walk.x = x;
        walk.end = adm_lesser(adm_lesser(x + Kind::WIDTH, g.w - g.left), end);
        walk.sums.base =
            (const uint64_t *)launch.cubes + (is_own ? own_row : g.top) * (int64_t)g.w + adm_larger(x, g.left);
        warp_barrier();
        edit_adm_load<Kind>(own_tile, lanes, plane, pitch, input_width, input_height, x, y, words, rows);
        copy_commit();
        copy_wait<0>();
        warp_barrier();
        using Sample = typename AdmSample<Kind::BYTES>::type;
        edit_adm_overlay<Kind, Sample>(own_tile + Kind::PLANE, lanes, picture, x, y, input_height, words,
                                       words ? rows : 0);
        warp_barrier();
        if (x < 2 || 2 * x - 4 + Kind::COLUMNS > input_width)
            edit_adm_mirror<Kind, Sample>(own_tile, lanes, input_width, x, words ? rows : 0);
        warp_barrier();
        const uint32_t *row = own_tile + adm_lesser(adm_larger(slot, 0), lanes.count - 1) * Kind::STRIDE;
#pragma unroll 1
        for (int32_t k = 0; any_lane(k < steps); k++)
            adm_step<Kind, true, true>(adm, walk, row, k);
        if (Kind::MAKES_LOW && adm.first) {
            warp_barrier();
            if (is_low && words)
                edit_adm_write_low<Kind>(batch, index, bands, tile, x, own_row);
        }
    }
    const uint64_t half = (uint64_t)vmafgpu__half(g.mask_row_shift);
    int64_t *record = batch.records + (int64_t)index * batch.words;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            int64_t total = 0;
            if (is_own && end) {
                const uint64_t was =
                    load((const uint64_t *)launch.rows + (i * VMAFGPU__BANDS + band) * (int64_t)g.h + own_row);
                total = ((int64_t)(was + walk.sums.masked[i][band] + half) >> g.mask_row_shift) -
                        ((int64_t)(was + half) >> g.mask_row_shift);
            }
            total = lanes_sum(total, (uint32_t)lanes.count);
            if (lanes.own == 0 && total)
                atomic_add(record + vmafgpu__edit_adm_word(batch.vif_variants, batch.adm_variants, Kind::SCALE,
                                                           launch.variant, i, band),
                           total);
        }
}

#define EDIT_ADM_KERNEL(name, edit_width, base_width, SCALE, BYTES) \
    GPU_KERNEL(vmafgpu_edit_adm_##name, vmafgpu__edit_adm_launch, VMAFGPU__EDIT_ADM_THREADS, 8) { \
        edit_adm<EditKind<AdmKind<SCALE, BYTES, edit_width, false>>>(launch); \
    } \
    GPU_KERNEL(vmafgpu_base_adm_##name, vmafgpu__edit_adm_launch, VMAFGPU__ADM_THREADS, 4) { \
        base_adm<StoreKind<AdmKind<SCALE, BYTES, base_width, false>>>(launch); \
    } \
    GPU_KERNEL(vmafgpu_map_adm_##name, vmafgpu__edit_adm_launch, VMAFGPU__ADM_THREADS, 4) { \
        base_adm<MapKind<AdmKind<SCALE, BYTES, base_width, false>>>(launch); \
    }
EDIT_ADM_KERNEL(0_8, VMAFGPU__EDIT_ADM_WIDTH_0_8, VMAFGPU__ADM_WIDTH_0_8_WAVE64, 0, 1)
EDIT_ADM_KERNEL(0_16, VMAFGPU__EDIT_ADM_WIDTH_0_16, VMAFGPU__ADM_WIDTH_0_16, 0, 2)
EDIT_ADM_KERNEL(1, VMAFGPU__EDIT_ADM_WIDTH_1, VMAFGPU__ADM_WIDTH_1, 1, 2)
EDIT_ADM_KERNEL(2, VMAFGPU__EDIT_ADM_WIDTH_2, VMAFGPU__ADM_WIDTH_2, 2, 4)
EDIT_ADM_KERNEL(3, VMAFGPU__EDIT_ADM_WIDTH_3, VMAFGPU__ADM_WIDTH_3, 3, 4)
#undef EDIT_ADM_KERNEL

/* ---- change in the prediction, one thread per edit ---- */

GPU_FN void edit_change(const vmafgpu__edit_change_launch &launch) {
    const vmafgpu__edit_batch &batch = launch.edits;
    const uint32_t index = block_x() * VMAFGPU__EDIT_CHANGE_THREADS + thread_index();
    if (index >= (uint32_t)batch.count)
        return;
    const int64_t *record = batch.records + (int64_t)index * batch.words;
    double *x = (double *)shared_memory() + thread_index();
    vmafgpu__smooth_inputs(launch.smooth, record, x, VMAFGPU__EDIT_CHANGE_THREADS);
    const double score = vmafgpu__smooth_score(launch.smooth, x, VMAFGPU__EDIT_CHANGE_THREADS, launch.coefs,
                                               launch.vectors, launch.table);
    store((uint64_t *)batch.changes + index, bits_of(score - fetch(&launch.smooth->prediction)));
}

GPU_KERNEL(vmafgpu_edit_change, vmafgpu__edit_change_launch, VMAFGPU__EDIT_CHANGE_THREADS, 4) {
    edit_change(launch);
}

/* ---- maps: contributions of the base, summed per map block ---- */

/* Starts to load `bytes` bytes, which would otherwise be loaded word by word, with a delay for each word. `threads`:
 * number of threads of the block, which must all call this function. */
GPU_FN void prefetch_all(const void *p, int32_t bytes, int32_t threads) {
    constexpr int32_t LINE = 128;
    for (int32_t i = (int32_t)thread_index() * LINE; i < bytes; i += threads * LINE)
        prefetch((const uint8_t *)p + i);
}

GPU_FN void map_finalise(const vmafgpu__map_finalise_launch &launch) {
    constexpr int32_t ROOTS = VMAFGPU__SCALES * VMAFGPU__BANDS;
    if (!slopes_has_pair(launch.slopes))
        return;
    vmafgpu__smooth *smooth = slopes_of_pair(launch.smooth, launch.slopes);
    const vmafgpu__sums *sums = launch.sums + block_z();
    double *roots = (double *)shared_memory();
    prefetch_all(sums, sizeof *sums, VMAFGPU__MAP_FINALISE_THREADS);
    prefetch_all(smooth, sizeof *smooth, VMAFGPU__MAP_FINALISE_THREADS);
    const int32_t count = fetch(&smooth->adm_count) * ROOTS;
    for (int32_t i = (int32_t)thread_index(); i < count; i += VMAFGPU__MAP_FINALISE_THREADS)
        roots[i] = vmafgpu__smooth_denominator(smooth, sums, i / ROOTS, i / VMAFGPU__BANDS % VMAFGPU__SCALES,
                                               i % VMAFGPU__BANDS);
    block_barrier();
    if (thread_index() == 0) {
        const vmafgpu__late_motion late = launch.late[block_z()];
        vmafgpu__smooth_finalise(smooth, sums, roots, launch.history[block_z()], &late);
    }
}

GPU_KERNEL(vmafgpu_map_finalise, vmafgpu__map_finalise_launch, VMAFGPU__MAP_FINALISE_THREADS, 1) {
    map_finalise(launch);
}

/* Returns, in all threads, the sum of all support vectors for the base or, if `target` is not NULL, for the target. The
 * variants are those of vmafgpu__map_root() and vmafgpu__map_other_inputs(). */
GPU_FN double map_score(const vmafgpu__map_slope_launch &launch, const vmafgpu__sums *target, int32_t vif_variant,
                        int32_t adm_variant, double *shared) {
    const vmafgpu__smooth *s = launch.smooth;
    double *x = shared, *roots = x + VMAFGPU__SMOOTH_EXTRACTORS, *parts = roots + VMAFGPU__MAP_ROOTS;
    const int32_t own = (int32_t)thread_index(), extractors = fetch(&s->adm_count);
    if (own == VMAFGPU__MAP_LANES - 1)
        vmafgpu__map_other_inputs(s, target, vif_variant, x);
#pragma unroll 1
    for (int32_t i = 0; i < extractors; i++) {
        block_barrier();
        if (own < VMAFGPU__MAP_ROOTS)
            roots[own] = vmafgpu__map_root(s, target, adm_variant, i, own);
        block_barrier();
        if (own == 0)
            vmafgpu__map_adm_inputs(s, i, roots, x);
    }
    block_barrier();
    if (own < VMAFGPU__MAP_LANES)
        parts[own] = vmafgpu__map_part(s, x, launch.coefs, launch.vectors, launch.table, own);
#pragma unroll 1
    for (int32_t half = VMAFGPU__MAP_LANES / 2; half; half /= 2) {
        block_barrier();
        if (own < half)
            parts[own] += parts[own + half];
    }
    block_barrier();
    return parts[0];
}

/* Computes the model inputs for the base, not yet normalised. Each thread computes some of the roots, and then at most
 * one of the inputs. x[i] is written by thread i, and there is no barrier afterwards. `threads`: number of threads of
 * the block. */
GPU_FN void base_inputs(const vmafgpu__smooth *s, int32_t threads, double *roots, double *x) {
    prefetch_all(s, sizeof *s, threads);
    const int32_t own = (int32_t)thread_index(), count = fetch(&s->adm_count) * VMAFGPU__MAP_ROOTS;
    for (int32_t i = own; i < count; i += threads)
        roots[i] = vmafgpu__map_root(s, nullptr, 0, i / VMAFGPU__MAP_ROOTS, i % VMAFGPU__MAP_ROOTS);
    block_barrier();
    if (own < fetch(&s->inputs)) {
        const vmafgpu__smooth_input *in = &s->input[own];
        if (fetch(&in->kind) == VMAFGPU__SMOOTH_ADM) {
            const vmafgpu__smooth_columns all = vmafgpu__smooth_adm_columns(s, fetch(&in->extractor), nullptr, roots);
            x[own] = vmafgpu__smooth_adm_column(&all, fetch(&in->place));
        } else {
            x[own] = vmafgpu__smooth_other_input(s, own, nullptr);
        }
    }
}

/* Computes the slopes of maps, in a single thread block. A thread processes support vectors first, then one input of
 * the model, and finally one of the sums. The contributions of the support vectors are computed in parallel and added
 * up in order. */
GPU_FN void map_slopes(const vmafgpu__map_slope_launch &launch) {
    constexpr int32_t AT_ONCE = VMAFGPU__MAP_SLOPE_INPUTS, ROW = VMAFGPU__MAP_SLOPE_THREADS + 1;
    const vmafgpu__smooth *s = launch.smooth;
    double *x = (double *)shared_memory(), *way = x + VMAFGPU__SMOOTH_EXTRACTORS;
    double *slopes = way + VMAFGPU__SMOOTH_EXTRACTORS;
    vmafgpu__way_term *terms = (vmafgpu__way_term *)(slopes + VMAFGPU__SMOOTH_EXTRACTORS);
    double *roots = (double *)(terms + VMAFGPU__SLOPES),
           *parts = roots + VMAFGPU__MAP_ROOTS * VMAFGPU__SMOOTH_EXTRACTORS;
    const int32_t inputs = fetch(&s->inputs), vectors = fetch(&s->vectors), own = (int32_t)thread_index();
    const double gamma = fetch(&s->gamma);
    double slope = 0;
    base_inputs(s, VMAFGPU__MAP_SLOPE_THREADS, roots, x);
    if (own < inputs) {
        way[own] = vmafgpu__way_input(s, own, x[own]);
        x[own] = fetch(&s->input[own].slope) * x[own] + fetch(&s->input[own].intercept);
    }
    block_barrier();
#pragma unroll 1
    for (int32_t first = 0; first < vectors; first += VMAFGPU__MAP_SLOPE_THREADS) {
        const int32_t count =
            vectors - first < VMAFGPU__MAP_SLOPE_THREADS ? vectors - first : VMAFGPU__MAP_SLOPE_THREADS;
        const int32_t from = first + (own < count ? own : 0);
        const double *vector = launch.table + (int64_t)fetch(launch.vectors + from) * inputs;
        double means[2];
        vmafgpu__way_kernel(x, way, inputs, vector, gamma, fetch(launch.coefs + from), means);
#pragma unroll 1
        for (int32_t i = 0; i < inputs; i += AT_ONCE) {
            const int32_t end = inputs - i < AT_ONCE ? inputs : i + AT_ONCE;
            for (int32_t k = i; k < end; k++)
                parts[(k - i) * ROW + own] = (x[k] - fetch(vector + k)) * means[0] + way[k] * means[1];
            block_barrier();
            if (own >= i && own < end)
#pragma unroll 16
                for (int32_t k = 0; k < count; k++)
                    slope += parts[(own - i) * ROW + k];
            block_barrier();
        }
    }
    if (own < inputs)
        slopes[own] = quotient(-2 * gamma * slope * fetch(&s->input[own].slope), fetch(&s->slope));
    block_barrier();
    if (own < VMAFGPU__SLOPES)
        vmafgpu__way_term_of(s, way, slopes, own, &terms[own]);
    block_barrier();
    if (own < VMAFGPU__SLOPES)
        store(launch.slopes + own, vmafgpu__way_slope(terms, own));
    const double score = map_score(launch, nullptr, 0, 0, parts);
    if (own == 0)
        store(launch.slopes + VMAFGPU__SLOPES, score);
}

GPU_KERNEL(vmafgpu_map_slopes, vmafgpu__map_slope_launch, VMAFGPU__MAP_SLOPE_THREADS, 1) {
    map_slopes(launch);
}

/* Adjusts the losses, with one thread per map block. Each thread block computes the factors. */
GPU_FN void map_adjust(const vmafgpu__map_adjust_launch &launch) {
    const int32_t index = (int32_t)(block_x() * block_threads() + thread_index());
    const vmafgpu__map_totals *totals = launch.totals;
    const double score =
        map_score(launch.of, &totals->target, launch.vif_variant, launch.adm_variant, (double *)shared_memory());
    const double lost = quotient(score - fetch(launch.of.slopes + VMAFGPU__SLOPES), fetch(&launch.of.smooth->slope));
    const int64_t sums[2] = { fetch(&totals->sum[0]), fetch(&totals->sum[1]) };
    const vmafgpu__map_factors factors = vmafgpu__map_factors_of(lost, sums, float_bits(load(&totals->largest[0])),
                                                                 float_bits(load(&totals->largest[1])), launch.count);
    if (index < launch.count)
        store(launch.shares + index,
              (float)vmafgpu__map_adjusted(&factors, float_bits(peek((const uint32_t *)launch.shares + index))));
}

GPU_KERNEL(vmafgpu_map_adjust, vmafgpu__map_adjust_launch, VMAFGPU__MAP_ADJUST_THREADS, 1) {
    map_adjust(launch);
}

/* Estimates the loss of each map block, with one thread per map block. */
GPU_FN void map_shares(const vmafgpu__map_launch &launch) {
    const int32_t index = (int32_t)(block_x() * block_threads() + thread_index());
    const bool is_own = index < launch.map.count;
    const int64_t *sums = launch.map.sums + (int64_t)(is_own ? index : 0) * 2 * VMAFGPU__SLOPES,
                  *ideal = sums + VMAFGPU__SLOPES;
    const float estimate =
        is_own ? vmafgpu__map_estimate(vmafgpu__map_share(launch.slopes, sums, ideal, launch.unit)) : 0;
    if (is_own && launch.out) {
        for (int32_t i = 0; i < VMAFGPU__SLOPES; i++)
            store(launch.out[index].sums + i, VMAFGPU__FETCH(&sums[i]));
        store(&launch.out[index].loss, (double)estimate);
    }
    if (is_own && launch.shares)
        store(launch.shares + index, estimate);
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const bool is_of_sign = (estimate < 0) == (i == 1);
        const int64_t sum = warp_sum(is_of_sign ? vmafgpu__map_integer(estimate) : 0);
        const uint32_t largest = warp_max(is_of_sign ? bits_of(estimate) & 0x7fffffff : 0);
        if (lane_index() == 0 && largest) {
            map_add(&launch.totals->sum[i], sum);
            atomic_max(&launch.totals->largest[i], largest);
        }
    }
#pragma unroll
    for (int k = 0; k < VMAFGPU__SCALES; k++) {
        const int64_t information = warp_sum(is_own ? fetch(ideal + VMAFGPU__SLOPE_VIF + k) : 0),
                      noise = warp_sum(is_own ? fetch(ideal + VMAFGPU__SLOPE_NOISE + k) : 0);
        if (lane_index() == 0) {
            map_add(&launch.totals->target.vif[k].numerator[launch.vif_variant], information);
            map_add(&launch.totals->target.vif[k].flat_noise, noise);
        }
    }
}

GPU_KERNEL(vmafgpu_map_shares, vmafgpu__map_launch, VMAFGPU__MAP_THREADS, 4) {
    map_shares(launch);
}

/* ================================================================================================
 * >>slopes                                       derivatives with respect to samples
 * ================================================================================================
 * The section >>slopes of vmafgpu.h describes what is computed. Here, each output is computed with the same float
 * operations in the same order as in that section; only the signs of zeros can differ in intermediate results. There
 * are five kernels per scale:
 *   terms    computes the derivatives of VIF with respect to variances, in three planes. This kernel is in >>edits,
 *            because it uses the tiles of VIF. If VIF uses the matrix form, the kernel `matrix` replaces it, and
 *            VifTerms computes the terms of pushed pairs together with their sums, if possible.
 *   vif      applies the adjoint of the filter of VIF.
 *   combine  multiplies the results of `vif` by their weight, and adds the derivatives of the next scale. There is none
 *            for the smallest scale: that of scale 2 also applies the weight of scale 3.
 *   bands    computes the derivatives of ADM with respect to the coefficients.
 *   wavelet  applies the adjoint of the wavelet of ADM.
 * A launch covers all pairs of a batch; dimension 2 of the grid is the index of the pair. Pointers in launch parameters
 * are those of pair 0, see slopes_offset().
 *
 * The kernels `terms` and `vif` do not need the weights, which are derivatives of the prediction with respect to the
 * sums. For pushed pairs, the kernel `weights` computes the weights. For the base of edits, the CPU computes them.
 */

GPU_FN float slopes_load(const float *p) {
    return float_bits(load((const uint32_t *)p));
}
GPU_FN float slopes_load_own(const float *p) { /* see load_own() */
    return float_bits(peek((const uint32_t *)p));
}
GPU_FN void slopes_put(float *p, float v) {
    store((uint32_t *)p, bits_of(v));
}

/* ---- VIF ---- */

#ifdef GPU_MATRIX

/* Adds the statistics of N samples to *sums, like vif_statistics(), with the levels that slopes_levels() returned. */
template <int N>
GPU_FN void slopes_statistics(const vmafgpu__vif_gain &gain, const uint8_t *table, const SlopesLevels (&levels)[N],
                              const int32_t (&s1)[N], const int32_t (&s2)[N], const int32_t (&s12)[N], VifSums *sums) {
    uint32_t logs = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const bool has_log = s1[i] >= VMAFGPU__VIF_NOISE, has_term = vif_has_term(s1[i], s2[i], s12[i]);
        const bool is_negative = (int64_t)bits_of(levels[i].rest) < 0;
        const uint32_t n1 = (is_negative ? 0 : truncate(levels[i].rest)) + VMAFGPU__VIF_NOISE;
        const uint32_t n2 = n1 + truncate(levels[i].signal);
        sums->flat_noise += (uint64_t)(has_log ? 0 : (uint32_t)s2[i]) * gain.one;
        add_where(sums->numerator, vif_term(n1, n2, table), has_term);
        add_where(logs, (uint32_t)vif_log((uint32_t)s1[i] + VMAFGPU__VIF_NOISE, table), has_log);
    }
    sums->logs += vif_log_count<N>(logs);
    sums->denominator += logs;
}

/* Computes the terms in the matrix form of VIF. If HAS_SUMS is true, also computes the sums of the scale and the images
 * of the next scale, like VifMatrix. The sums and the terms share the filters and the gains. The statistics use the
 * exact doubles of the terms, so they need no corrections. */
template <int SCALE, int BYTES, int DIGITS, bool HAS_SUMS>
struct VifTerms : VifMatrix<SCALE, BYTES, DIGITS, (HAS_SUMS && SCALE < 3)> {
    typedef VifMatrix<SCALE, BYTES, DIGITS, (HAS_SUMS && SCALE < 3)> Vif;
    typedef typename Vif::Strip Strip;
    static constexpr bool HAS_NEXT = HAS_SUMS && SCALE < 3;

    /* Processes 16 columns. Their windows are in the digits of this and the previous step. terms: three planes of the
     * pair. */
    GPU_FN void columns(const vmafgpu__vif_launch &launch, const VifWarp &warp, const Strip &strip, int32_t *terms,
                        int32_t step, VifSums *sums) {
        const int32_t width = launch.width, height = launch.height;
        const int32_t x = strip.x + 16 * (step - 1) + (int32_t)lane_index() / 4;
        const uint8_t *matrices = warp.matrices + (step & 1 ? 1 : 2) * VIF_PASS;
        const int64_t plane = (int64_t)width * height;
        uint32_t low[4], high[4];
        load_shared(low, matrices);
        load_shared(high, matrices + 512);
#pragma unroll 1
        for (int half = 0; half < 2; half++) {
            const int32_t y = strip.y + 8 * half + 2 * ((int32_t)lane_index() % 4);
            int32_t *out = terms + y * (int64_t)width + x;
            typename Vif::Variances variance;
            uint32_t mean[2][4];
            int32_t s1[4], s2[4], s12[4];
            SlopesLevels levels[4];
            Vif::horizontal_half(warp.digits + half * VIF_HALF, low, high, 0, mean, variance);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const bool is_outside = strip.at_edge && (x + i / 2 * 8 >= width || y + i % 2 >= height);
                s1[i] = is_outside ? 0 : variance[0][i];
                s2[i] = is_outside ? 0 : variance[1][i];
                s12[i] = is_outside ? 0 : variance[2][i];
                levels[i] = slopes_levels(launch.gain.limit, s1[i], s2[i], s12[i]);
            }
            if (HAS_SUMS)
                slopes_statistics<4>(launch.gain, warp.table, levels, s1, s2, s12, sums);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int32_t *to = out + i % 2 * width + i / 2 * 8;
                slopes_term(launch.gain.limit, levels[i], mean[0][i], mean[1][i], s1[i], s2[i], s12[i]);
                if (strip.at_edge && (x + i / 2 * 8 >= width || y + i % 2 >= height))
                    continue;
                store(to, s2[i]);
                store(to + plane, s12[i]);
                store(to + 2 * plane, s1[i]);
            }
        }
    }

    GPU_FN void strip_terms(const vmafgpu__vif_launch &launch, const VifWarp &warp, const Strip &strip, int32_t steps,
                            int32_t *terms) {
        VifSums sums = {};
        uint32_t illegal = 0;
        Vif::fill(launch, warp, strip, 0);
        copy_commit();
#pragma unroll 1
        for (int32_t step = 0; step <= steps; step++) {
            if (step < steps)
                Vif::fill(launch, warp, strip, step + 1);
            copy_commit();
            copy_wait<1>();
            warp_barrier();
            Vif::vertical(launch, warp, step, &illegal);
            if (step) {
                uint32_t sample[2][2];
                if (HAS_NEXT)
                    Vif::shrink(warp, step, sample);
                columns(launch, warp, strip, terms, step, &sums);
                if (HAS_NEXT)
                    Vif::write(launch, strip, step, sample);
            }
            warp_barrier();
        }
        if (!HAS_SUMS)
            return; /* the samples have been checked before */
        Vif::finish(launch, strip, steps, sums);
        if (illegal && launch.illegal)
            atomic_or(&launch.illegal[strip.pair], illegal);
    }

    template <bool DOUBLES>
    GPU_FN void walk(const vmafgpu__vif_launch &launch, const VifWarp &warp, const Strip &strip, int32_t steps) {
        strip_terms(launch, warp, strip, steps, (int32_t *)((uint8_t *)launch.terms + strip.pair * launch.terms_size));
    }

    /* Claims pieces of the batch. Requires HAS_SUMS. */
    GPU_FN void run(const vmafgpu__vif_launch &launch) {
        vif_claim<VifTerms, true>(launch, Vif::template prepare<true>(launch));
    }

    /* A warp processes a strip of 16 rows and tile_width columns. */
    GPU_FN void run(const vmafgpu__edit_vif_launch &launch) {
        const vmafgpu__vif_launch &vif = launch.vif;
        const VifWarp warp = Vif::template prepare<false>(vif);
        const int32_t number = (int32_t)(block_x() * (block_threads() / LANES) + uniform(warp_index()));
        const int32_t across = (vif.width + launch.tile_width - 1) / launch.tile_width;
        const int32_t x = number % across * launch.tile_width, y = number / across * 16;
        if (y >= vif.height || !slopes_has_pair(launch.slopes))
            return;
        const int32_t steps = (adm_lesser(launch.tile_width, vif.width - x) + 15) / 16;
        strip_terms(vif, warp, Vif::strip_of(vif, block_z(), x, y, steps), steps,
                    launch.terms + slopes_offset(launch.slopes));
    }
};

#define SLOPES_MATRIX_KERNEL(input, SCALE, BYTES, DIGITS) \
    GPU_KERNEL(vmafgpu_slopes_matrix_##input, vmafgpu__edit_vif_launch, VMAFGPU__SLOPES_MATRIX_WARPS *LANES, 4) { \
        VifTerms<SCALE, BYTES, DIGITS, false>::run(launch); \
    }
SLOPES_MATRIX_KERNEL(0_8, 0, 1, 2)
SLOPES_MATRIX_KERNEL(0_12, 0, 2, 3)
SLOPES_MATRIX_KERNEL(0_16, 0, 2, 4)
SLOPES_MATRIX_KERNEL(1, 1, 2, 4)
SLOPES_MATRIX_KERNEL(2, 2, 2, 4)
SLOPES_MATRIX_KERNEL(3, 3, 2, 4)
#undef SLOPES_MATRIX_KERNEL

#define VIF_TERMS_KERNEL(input, SCALE, BYTES, DIGITS, WARPS) \
    GPU_KERNEL(vmafgpu_vif_terms_##input, vmafgpu__vif_launch, WARPS *LANES, 1) { \
        VifTerms<SCALE, BYTES, DIGITS, true>::run(launch); \
    }
VIF_TERMS_KERNEL(0_8, 0, 1, 2, VMAFGPU__VIF_WARPS_PTX) /* the number of warps is explained at VIF_MATRIX_KERNELS */
VIF_TERMS_KERNEL(0_12, 0, 2, 3, VMAFGPU__VIF_WARPS_0_12)
VIF_TERMS_KERNEL(0_16, 0, 2, 4, VMAFGPU__VIF_WARPS_0_16)
VIF_TERMS_KERNEL(1, 1, 2, 4, VMAFGPU__VIF_WARPS_1)
VIF_TERMS_KERNEL(2, 2, 2, 4, VMAFGPU__VIF_WARPS_2)
VIF_TERMS_KERNEL(3, 3, 2, 4, VMAFGPU__VIF_WARPS_3)
#undef VIF_TERMS_KERNEL

#endif /* GPU_MATRIX */

/* Returns the tap at a distance from the centre. */
template <int SCALE> GPU_FN float slopes_tap(int t) {
    return (float)vmafgpu__vif_taps[SCALE][(8 >> SCALE) + t] / 65536;
}

/* Filters 2 * reach + 1 values, from the centre outwards. */
template <int SCALE> GPU_FN float slopes_filter(const float *v) {
    constexpr int REACH = 8 >> SCALE;
    float sum = slopes_tap<SCALE>(0) * v[REACH];
#pragma unroll
    for (int t = 1; t <= REACH; t++)
        sum += slopes_tap<SCALE>(t) * (v[REACH - t] + v[REACH + t]);
    return sum;
}

/* Computes the results of the filter beyond an edge, at distances of 1 to 8 >> SCALE from the last sample before the
 * edge, which is inside[0]. The samples beyond the edge are 0. */
template <int SCALE> GPU_FN void slopes_beyond(const float (&inside)[8 >> SCALE], float (&out)[8 >> SCALE]) {
    constexpr int REACH = 8 >> SCALE;
#pragma unroll
    for (int distance = 1; distance <= REACH; distance++) {
        float sum = slopes_tap<SCALE>(distance) * inside[0];
#pragma unroll
        for (int t = distance + 1; t <= REACH; t++)
            sum += slopes_tap<SCALE>(t) * inside[t - distance];
        out[distance - 1] = sum;
    }
}

/* Adds the results beyond the upper or the lower edge of a column to the rows that they reflect. `edge` points to the
 * sample in the first or last row, and the next sample inside the picture is `step` floats away. In `out`, index
 * `first` is the row next to this row, and index first + down is the row after that. Rows outside `out` are skipped. */
template <int SCALE, int RUN, int ROW>
GPU_FN void slopes_reflect_rows(const float *edge, int64_t step, int32_t first, int32_t down, float *out) {
    constexpr int REACH = 8 >> SCALE;
    float inside[REACH], beyond[REACH];
#pragma unroll
    for (int k = 0; k < REACH; k++)
        inside[k] = slopes_load(edge + k * step);
    slopes_beyond<SCALE>(inside, beyond);
#pragma unroll
    for (int k = 0; k < REACH; k++) {
        const int32_t row = first + k * down;
        if (row >= 0 && row < RUN)
            out[row * ROW] += beyond[k];
    }
}

/* Filters a column vertically: RUN rows from row y. Stores the results in shared memory, ROW floats apart. `zero` is 0,
 * see slopes_vif(). */
template <int SCALE, int RUN, int ROW>
GPU_FN void slopes_down(const float *column, int32_t width, int32_t height, int32_t y, int32_t zero, float *out) {
    constexpr int REACH = 8 >> SCALE, COUNT = RUN + 2 * REACH;
    const int32_t pitch = width * (int32_t)sizeof(float);
    const uint8_t *top = (const uint8_t *)column + (y - REACH) * (int64_t)pitch;
    float v[COUNT];
    if (y >= REACH && y + RUN + REACH <= height) {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            v[k] = slopes_load((const float *)(const void *)(top + k * (int64_t)pitch));
    } else {
        const float *from = column + (y + zero - REACH) * (int64_t)width;
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const bool is_inside = (uint32_t)(y + zero - REACH + k) < (uint32_t)height;
            v[k] = is_inside ? slopes_load(from) : 0;
            from += width;
        }
    }
#pragma unroll
    for (int i = 0; i < RUN; i++)
        out[i * ROW] = slopes_filter<SCALE>(v + i);
    if (y <= REACH)
        slopes_reflect_rows<SCALE, RUN, ROW>(column, width, 1 - y - zero, 1, out);
    if (y + RUN > height - 1 - REACH)
        slopes_reflect_rows<SCALE, RUN, ROW>(column + (height - 1) * (int64_t)width, -(int64_t)width,
                                             height - 2 - y - zero, -1, out);
}

/* Filters RUN neighbouring columns of a row in shared memory, of which `row` is the first sample that is needed. */
template <int SCALE, int RUN> GPU_FN void slopes_along(const float *row, float (&out)[RUN]) {
    constexpr int REACH = 8 >> SCALE, COUNT = (RUN + 2 * REACH + 3) / 4 * 4;
    uint32_t bits[COUNT];
    float v[COUNT];
    vif_load_row((const uint32_t *)row, bits);
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        v[k] = float_bits(bits[k]);
#pragma unroll
    for (int i = 0; i < RUN; i++)
        out[i] = slopes_filter<SCALE>(v + i);
}

/* Applies the adjoint of decimation and of the filter of scale NEXT, in one dimension. Returns the result for an even
 * or odd position of the larger picture. `centre` points to the sample of the smaller picture at half this position,
 * rounded down. */
template <int NEXT> GPU_FN float slopes_up_of(const float *centre, bool is_odd) {
    constexpr int REACH = 8 >> NEXT;
    float sum = is_odd ? slopes_tap<NEXT>(1) * (centre[0] + centre[1]) : slopes_tap<NEXT>(0) * centre[0];
#pragma unroll
    for (int t = 2; t <= REACH; t++)
        if (is_odd == (t & 1))
            sum += slopes_tap<NEXT>(t) * (centre[-(t / 2)] + centre[(t + 1) / 2]);
    return sum;
}

/* Returns the same result for position `at` in a row or column of the larger picture, which can be beyond an edge.
 * `origin` points to sample 0 of the smaller picture, and neighbours are `step` floats apart. Only samples
 * first..end - 1 exist; all others are 0. All samples are multiplied by `factor`. */
template <int NEXT, bool SHARED>
GPU_FN float slopes_up_at(const float *origin, int64_t step, int32_t at, int32_t first, int32_t end, float factor) {
    constexpr int REACH = 8 >> NEXT, COUNT = REACH == 1 ? 2 : REACH + 1;
    const int32_t near = at >> 1; /* rounds down */
    float v[COUNT];               /* samples near - REACH / 2.. */
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const int32_t i = near - REACH / 2 + k;
        const bool is_inside = i >= first && i < end;
        const float *p = origin + (is_inside ? i : first) * step;
        v[k] = !is_inside ? 0 : (SHARED ? *p : slopes_load(p)) * factor;
    }
    return at & 1 ? slopes_up_of<NEXT>(v + REACH / 2, true) : slopes_up_of<NEXT>(v + REACH / 2, false);
}

/* Computes the same results for VIF_RUN samples of a column of the larger picture, from position `at` on. `at` must be
 * even. Results beyond both ends of the column, which has `size` samples, are added to the samples that they reflect.
 * Stores the results in shared memory, ROW floats apart. */
template <int NEXT, int ROW>
GPU_FN void slopes_up(const float *origin, int32_t step, int32_t at, int32_t size, int32_t end, float factor,
                      float *out) {
    constexpr int REACH = 8 >> NEXT, BEFORE = REACH / 2, COUNT = VIF_RUN / 2 + BEFORE + (REACH == 1 ? 1 : BEFORE);
    const int32_t first = at / 2 - BEFORE;
    uint32_t offset = (uint32_t)(first * step);
    float v[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++, offset += (uint32_t)step) {
        const bool is_inside = (uint32_t)(first + k) < (uint32_t)end;
        v[k] = is_inside ? slopes_load(origin + (is_inside ? offset : 0)) * factor : 0;
    }
#pragma unroll
    for (int i = 0; i < VIF_RUN; i++)
        out[i * ROW] = slopes_up_of<NEXT>(v + BEFORE + i / 2, i & 1);
    if (at > REACH && at + VIF_RUN <= size - 1 - REACH)
        return;
#pragma unroll
    for (int i = 0; i < 2 * REACH; i++) {
        const int32_t distance = i % REACH + 1, row = (i < REACH ? distance : size - 1 - distance) - at;
        if (row >= 0 && row < VIF_RUN)
            out[row * ROW] +=
                slopes_up_at<NEXT, false>(origin, step, i < REACH ? -distance : size - 1 + distance, 0, end, factor);
    }
}

/* Loads COUNT words of samples, from a column that is a multiple of 8. Samples beyond the picture are undefined. Rows
 * of bytes consist of whole words. */
template <int BYTES, int COUNT>
GPU_FN void slopes_samples(const VifImage &image, int32_t x, int32_t y, int32_t width, uint32_t (&out)[COUNT]) {
    const uint8_t *row = image.data + (int64_t)y * image.pitch + x * BYTES;
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const int32_t rest = width - x - k * (4 / BYTES); /* samples in this word and to its right */
        if (rest >= (BYTES == 1 ? 1 : 2))
            out[k] = load((const uint32_t *)(const void *)row + k);
        else
            out[k] = rest > 0 ? load((const uint16_t *)(const void *)row + 2 * k) : 0;
    }
}

/* Returns sample `which` of a word as a centred grey level. The bits of a sample become the low bits of a float from
 * 2^23 on. */
template <int BYTES> GPU_FN float slopes_grey(uint32_t word, int which, int bits) {
    if (BYTES == 1) /* 8 bits */
        return float_bits(permute_bytes(word, 0x4b000000u, 0x7440u + (uint32_t)which)) - (8388608.0f + 128.0f);
    const float unit = float_bits((uint32_t)(127 + 8 - bits) << 23), centre = (float)(1 << (bits - 1));
    return (float_bits(permute_bytes(word, 0x4b000000u, which ? 0x7432u : 0x7410u)) - (8388608.0f + centre)) * unit;
}

/* Returns `sum`, which is the result for column x, plus the results beyond the edges that reflect this column. The row
 * has `width` samples. beyond[0..7] are the results beyond the left edge, at distances of 1 to 8 from the first column,
 * and beyond[8..15] are those beyond the right edge. */
GPU_FN float slopes_reflected(const float *beyond, int32_t reach, int32_t x, int32_t width, float sum) {
    const int32_t from_right = width - 1 - x;
    if (x >= 1 && x <= reach)
        sum += beyond[x - 1];
    if (from_right >= 1 && from_right <= reach)
        sum += beyond[7 + from_right];
    return sum;
}

/* Stores RUN floats of a row from column x on. */
template <int RUN> GPU_FN void slopes_store_run(float *row, int32_t x, int32_t width, const float (&v)[RUN]) {
    float *out = row + x;
    if (x + RUN <= width && ((uintptr_t)out & 15) == 0) {
#pragma unroll
        for (int i = 0; i < RUN; i += 4)
            store((Words4 *)(void *)(out + i),
                  Words4{ bits_of(v[i]), bits_of(v[i + 1]), bits_of(v[i + 2]), bits_of(v[i + 3]) });
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++)
            if (x + i < width)
                slopes_put(out + i, v[i]);
    }
}

/* A block computes a tile, one plane after the other. First, each thread filters a run of rows of a column. Then it
 * filters a run of columns of a row. Shared memory contains the results of the first step for two planes, with margins
 * at both sides, so that threads can start with the next plane while others still read this one. These are followed by
 * the results beyond the left and the right edge for each row of a plane. */
template <int SCALE, int BYTES> GPU_FN void slopes_vif(const vmafgpu__slopes_vif_launch &launch) {
    constexpr int REACH = 8 >> SCALE, COLUMNS = VMAFGPU__SLOPES_COLUMNS(SCALE), WIDTH = VMAFGPU__SLOPES_WIDTH(SCALE);
    constexpr int HEIGHT = VMAFGPU__SLOPES_HEIGHT, STRIDE = VMAFGPU__SLOPES_STRIDE(SCALE),
                  RUN = VMAFGPU__SLOPES_RUN(SCALE), PART = RUN < GPU_MOST_ROWS ? RUN : GPU_MOST_ROWS, WORD = 4 / BYTES;
    static_assert(VMAFGPU__SLOPES_THREADS == COLUMNS * HEIGHT / RUN && WIDTH % RUN == 0, "runs");
    static_assert(VMAFGPU__SLOPES_THREADS >= 2 * HEIGHT, "a thread computes the results beyond an edge of a row");
    const int32_t w = launch.vif.width, h = launch.vif.height, own = (int32_t)thread_index();
    float *planes = (float *)shared_memory(), *beyond = planes + 2 * HEIGHT * STRIDE;
    const int32_t tile_x = (int32_t)block_x() * WIDTH, tile_y = (int32_t)block_y() * HEIGHT;
    const bool has_left = tile_x == 0, has_right = tile_x + WIDTH >= w - REACH;
    const int64_t plane = (int64_t)w * h, offset = slopes_offset(launch.slopes);
    if (!slopes_has_pair(launch.slopes))
        return;
    const int32_t column = own % COLUMNS, first = own / COLUMNS * RUN, down_x = tile_x - REACH + column,
                  down_y = tile_y + first;
    const int32_t row = own % HEIGHT, from = own / HEIGHT * RUN, x = tile_x + from, y = tile_y + row;
    const bool has_output = from < WIDTH && x < w && y < h;
    const int bits = SCALE ? 16 : launch.vif.batch.bit_depth;
    float sum[RUN];
#pragma unroll 1
    for (int k = 0; k < 3; k++) {
        /* This 0 keeps the compiler from moving conditions for edges out of the loop, where all tiles would compute
         * them. */
        const int32_t zero = (int32_t)opaque((uint64_t)0);
        float *filtered = planes + k % 2 * HEIGHT * STRIDE, *out = filtered + first * STRIDE + column;
#pragma unroll 1
        for (int part = 0; part < RUN; part += PART) {
            if (down_x >= 0 && down_x < w && down_y + part < h) {
                slopes_down<SCALE, PART, STRIDE>(launch.terms + offset + k * plane + down_x, w, h, down_y + part, zero,
                                                 out + part * STRIDE);
            } else {
#pragma unroll
                for (int i = 0; i < PART; i++)
                    out[(part + i) * STRIDE] = 0;
            }
        }
        block_barrier();
        if (has_left || has_right) {
            if (own < 2 * HEIGHT && (own & 1 ? has_right : has_left)) {
                const float *edge = filtered + own / 2 * STRIDE + (own & 1 ? w - 1 - tile_x + REACH : REACH);
                const int32_t step = own & 1 ? -1 : 1;
                float inside[REACH], outside[REACH];
#pragma unroll
                for (int i = 0; i < REACH; i++)
                    inside[i] = edge[i * step];
                slopes_beyond<SCALE>(inside, outside);
#pragma unroll
                for (int i = 0; i < REACH; i++)
                    beyond[8 * own + i] = outside[i];
            }
            block_barrier();
        }
        if (!has_output)
            continue;
        uint32_t samples[RUN / WORD] = {};
        if (k < 2)
            slopes_samples<BYTES>(vif_input<SCALE>(launch.vif, block_z(), !k), x, y, w, samples);
        float v[RUN];
        slopes_along<SCALE>(filtered + row * STRIDE + from, v);
        if (has_left || has_right)
#pragma unroll
            for (int i = 0; i < RUN; i++)
                v[i] = slopes_reflected(beyond + row * 16, REACH, x + zero + i, w, v[i]);
        if (k == 0)
#pragma unroll
            for (int i = 0; i < RUN; i++)
                sum[i] = 2 * slopes_grey<BYTES>(samples[i / WORD], i % WORD, bits) * v[i];
        else if (k == 1)
#pragma unroll
            for (int i = 0; i < RUN; i++)
                sum[i] += slopes_grey<BYTES>(samples[i / WORD], i % WORD, bits) * v[i];
        else
#pragma unroll
            for (int i = 0; i < RUN; i++)
                sum[i] -= v[i];
    }
    if (has_output)
        slopes_store_run(launch.out + offset + (int64_t)y * w, x, w, sum);
}

#define SLOPES_VIF_KERNEL(input, SCALE, BYTES) \
    GPU_KERNEL(vmafgpu_slopes_vif_##input, vmafgpu__slopes_vif_launch, VMAFGPU__SLOPES_THREADS, 3) { \
        slopes_vif<SCALE, BYTES>(launch); \
    }
SLOPES_VIF_KERNEL(0_8, 0, 1)
SLOPES_VIF_KERNEL(0_16, 0, 2)
SLOPES_VIF_KERNEL(1, 1, 2)
SLOPES_VIF_KERNEL(2, 2, 2)
SLOPES_VIF_KERNEL(3, 3, 2)
#undef SLOPES_VIF_KERNEL

/* Multiplies the results of a scale by their weight. Applies the adjoint of filter and decimation to the results of the
 * next scale, and adds them. The results of the smallest scale have not been multiplied by their weight before, so this
 * kernel multiplies them, too. A block computes a tile. First, threads process runs of rows of a column of the smaller
 * picture. Then they process runs of columns of a row. Shared memory contains the results of the first step, with
 * margins at both sides, followed by the results beyond the left and the right edge for each row. */
template <int SCALE> GPU_FN void slopes_combine(const vmafgpu__slopes_combine_launch &launch) {
    constexpr int NEXT = SCALE + 1, REACH = 8 >> NEXT, WIDTH = VMAFGPU__SLOPES_UP_WIDTH, COLUMNS = WIDTH / 2 + 4;
    constexpr int HEIGHT = VMAFGPU__SLOPES_HEIGHT, STRIDE = VMAFGPU__SLOPES_UP_STRIDE;
    static_assert(VMAFGPU__SLOPES_THREADS == WIDTH * HEIGHT / VIF_RUN && COLUMNS <= STRIDE, "threads");
    const int32_t w = launch.width, h = launch.height, own = (int32_t)thread_index();
    float *up = (float *)shared_memory(), *beyond = up + HEIGHT * STRIDE;
    const int32_t tile_x = (int32_t)block_x() * WIDTH, tile_y = (int32_t)block_y() * HEIGHT;
    const bool has_edge = tile_x == 0 || tile_x + WIDTH >= w - REACH;
    const int32_t row = own % HEIGHT, from = own / HEIGHT * VIF_RUN, x = tile_x + from, y = tile_y + row;
    if (!slopes_has_pair(launch.slopes))
        return;
    const int64_t offset = slopes_offset(launch.slopes);
    const vmafgpu__slopes_weights *weights = slopes_of_pair(launch.weights, launch.slopes);
    const float weight = slopes_load(&weights->vif[SCALE]),
                factor = NEXT == VMAFGPU__SCALES - 1 ? slopes_load(&weights->vif[NEXT]) : 1;
    /* Column k of `up` is column tile_x / 2 - 2 + k of the smaller picture. */
    const int32_t left = tile_x / 2 - 2;
    if (own < COLUMNS * (HEIGHT / VIF_RUN)) {
        const int32_t column = own % COLUMNS, first = own / COLUMNS * VIF_RUN;
        float *out = up + first * STRIDE + column;
        if (left + column >= 0 && left + column < w >> 1 && tile_y + first < h)
            slopes_up<NEXT, STRIDE>(launch.smaller + offset + left + column, w >> 1, tile_y + first, h, h >> 1, factor,
                                    out);
        else
#pragma unroll
            for (int k = 0; k < VIF_RUN; k++)
                out[k * STRIDE] = 0;
    }
    block_barrier();
    if (has_edge) {
        const int32_t distance = own % 8 + 1, is_right = own / 8 % 2, at_row = own / 16;
        if (distance <= REACH && (is_right || tile_x == 0))
            beyond[own] =
                slopes_up_at<NEXT, true>(up + at_row * STRIDE - left, 1, is_right ? w - 1 + distance : -distance,
                                         adm_larger(left, 0), adm_lesser(w >> 1, left + COLUMNS), 1);
        block_barrier();
    }
    if (x >= w || y >= h)
        return;
    const vmafgpu__slopes_out &to = launch.out[block_z()];
    float *line = (float *)(void *)(to.data + y * to.pitch);
    const float *results = launch.results + offset + (int64_t)y * w + x; /* may be the output */
    uint32_t bits[VIF_RUN];
    float v[VIF_RUN], sum[VIF_RUN]; /* v: columns of the smaller picture, from x / 2 - 2 on */
    vif_load_row((const uint32_t *)up + row * STRIDE + from / 2, bits);
#pragma unroll
    for (int i = 0; i < VIF_RUN; i++)
        v[i] = float_bits(bits[i]);
    const bool has_own = weight != 0; /* if scale 0 is skipped, the weight is 0, and there are no results */
    if (has_own && x + VIF_RUN <= w && ((uintptr_t)results & 15) == 0) {
#pragma unroll
        for (int i = 0; i < VIF_RUN; i += 4) {
            const Words4 four = load_own((const Words4 *)(const void *)(results + i));
            sum[i] = float_bits(four.x), sum[i + 1] = float_bits(four.y);
            sum[i + 2] = float_bits(four.z), sum[i + 3] = float_bits(four.w);
        }
    } else {
#pragma unroll
        for (int i = 0; i < VIF_RUN; i++)
            sum[i] = has_own && x + i < w ? slopes_load_own(results + i) : 0;
    }
#pragma unroll
    for (int i = 0; i < VIF_RUN; i++) {
        float wide = slopes_up_of<NEXT>(v + 2 + i / 2, i & 1);
        if (has_edge)
            wide = slopes_reflected(beyond + row * 16, REACH, x + i, w, wide);
        sum[i] = weight * sum[i] + wide;
        if (SCALE == 0)
            sum[i] = sum[i] + 0.0f; /* no -0, whose sign would depend on the order of operations */
    }
    slopes_store_run(line, x, w, sum);
}

#define SLOPES_COMBINE_KERNEL(SCALE) \
    GPU_KERNEL(vmafgpu_slopes_combine_##SCALE, vmafgpu__slopes_combine_launch, VMAFGPU__SLOPES_THREADS, 4) { \
        slopes_combine<SCALE>(launch); \
    }
SLOPES_COMBINE_KERNEL(0)
SLOPES_COMBINE_KERNEL(1)
SLOPES_COMBINE_KERNEL(2)
#undef SLOPES_COMBINE_KERNEL

/* ---- ADM: the bands ---- */

/* The values of a position of the bands: signals and shares, and for each band, the contrast sensitivity with the sign
 * of the part that a change in t affects. A bit in `impaired` is set if this part is the impairment. */
struct SlopesPixel {
    AdmPixel of;
    float direction[VMAFGPU__BANDS];
    uint32_t impaired;
};

/* Returns a sample of the input of a scale; luma is centred. */
template <int SCALE, int BYTES> GPU_FN int32_t slopes_input(const uint8_t *row, int32_t x, int32_t grey) {
    if (SCALE == 0)
        return (int32_t)load_sample<BYTES>(row, x) - grey;
    return SCALE == 1 ? (int32_t)(int16_t)load((const uint16_t *)row + x) : load((const int32_t *)row + x);
}

struct SlopesCoefficients {
    int32_t v[VMAFGPU__BANDS];
};

/* Computes the coefficients h, v and d of one frame at band position (x, y), wherever its samples are. Only small
 * pictures need this function. */
template <int SCALE, int BYTES>
GPU_FAR SlopesCoefficients slopes_far_coefficients(const uint8_t *plane, int32_t pitch, int32_t width, int32_t height,
                                                   int32_t bit_depth, int32_t x, int32_t y) {
    const int shift = vmafgpu__dwt_vertical_shift(SCALE, bit_depth), next = vmafgpu__dwt_horizontal_shift(SCALE);
    const int32_t grey = (int32_t)1 << (bit_depth - 1);
    int32_t low[4], high[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int32_t column = adm_larger(vmafgpu__reflect_repeat(2 * x - 1 + k, width), 0);
        int32_t v[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            v[i] = slopes_input<SCALE, BYTES>(
                plane + (int64_t)adm_larger(vmafgpu__reflect_repeat(2 * y - 1 + i, height), 0) * pitch, column, grey);
        low[k] = (int32_t)(adm_low64(v[0], v[1], v[2], v[3], vmafgpu__half(shift)) >> shift);
        high[k] = (int32_t)(adm_high64(v[0], v[1], v[2], v[3], vmafgpu__half(shift)) >> shift);
    }
    return { { (int32_t)(adm_low64(high[0], high[1], high[2], high[3], vmafgpu__half(next)) >> next),
               (int32_t)(adm_high64(low[0], low[1], low[2], low[3], vmafgpu__half(next)) >> next),
               (int32_t)(adm_high64(high[0], high[1], high[2], high[3], vmafgpu__half(next)) >> next) } };
}

/* Returns the contrast sensitivity as a float. `d` is 1 for band d, otherwise 0. */
template <int SCALE> GPU_FN float slopes_sensitivity(uint32_t factor, int d) {
    return (float)factor * (SCALE ? 1.0f / 4294967296.0f : d ? 1.0f / 8388608.0f : 1.0f / 2097152.0f);
}

/* Separates and weights the three coefficients at a position. ORDINARY may be true only at scales 1 to 3, for variants
 * that the fast form supports. */
template <int SCALE, bool ORDINARY>
GPU_FN SlopesPixel slopes_pixel(const vmafgpu__adm_fast &fast, const uint32_t (&factor)[2],
                                const float (&sensitivity)[2], double gain_limit, const int32_t (&o)[VMAFGPU__BANDS],
                                const int32_t (&t)[VMAFGPU__BANDS]) {
    SlopesPixel out = {};
    const bool same_angle = adm_same_angle(o, t);
    if (ORDINARY)
        out.of.side[0] = out.of.side[1] = (uint32_t)-VMAFGPU__BANDS; /* see adm_pixel_integers() */
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        const int32_t negative = t[band] >> 31;
        const uint32_t u = (uint32_t)vmafgpu__magnitude(o[band]), v = (uint32_t)vmafgpu__magnitude(t[band]);
        const bool has_part = o[band] != 0 && t[band] != 0 && (o[band] ^ t[band]) >= 0;
        uint32_t restored = has_part ? adm_restore_magnitude(u, v, negative) : 0;
        int32_t value[2];
        if (ORDINARY) {
            const uint32_t gained = (restored < fast.gain_reach ? restored : fast.gain_reach) * fast.whole_gain;
            if (same_angle)
                restored = gained < v ? gained : v;
        }
        value[0] = ((int32_t)restored ^ negative) - negative;
        if (!ORDINARY && restored && same_angle)
            value[0] = vmafgpu__adm_enhance(value[0], o[band], t[band], gain_limit);
        value[1] = t[band] - value[0];
        const bool is_restored = has_part && (v <= u || (same_angle && value[0] == t[band]));
        const int32_t part = is_restored ? value[0] : value[1];
        const float unsigned_direction = sensitivity[band == 2];
        out.direction[band] = part > 0 ? unsigned_direction : part < 0 ? -unsigned_direction : 0;
        out.impaired |= (uint32_t)!is_restored << band;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            if (ORDINARY) {
                const int64_t product = (int64_t)value[i] * (int32_t)factor[band == 2] + (int64_t)fast.addends.weight;
                const uint32_t weighted = (uint32_t)vmafgpu__magnitude((int32_t)(product >> 28));
                const uint32_t side = (uint32_t)(((uint64_t)weighted * 143165577u + fast.addends.side) >> 32);
                const uint32_t mid = (uint32_t)(((uint64_t)weighted * 286331153u + fast.addends.side) >> 32);
                out.of.signal[i][band] = weighted;
                out.of.side[i] += side;
                out.of.centre[i] += mid - side;
            } else {
                const vmafgpu__adm_weighted weighted = vmafgpu__adm_weigh(SCALE, band, factor[band == 2], value[i]);
                out.of.signal[i][band] = (uint32_t)weighted.signal;
                out.of.side[i] += weighted.side;
                out.of.centre[i] += weighted.centre;
            }
        }
    }
    return out;
}

template <int SCALE>
GPU_FAR SlopesPixel slopes_rare_pixel(uint32_t factor_hv, uint32_t factor_d, double gain_limit, int32_t o_h,
                                      int32_t o_v, int32_t o_d, int32_t t_h, int32_t t_v, int32_t t_d) {
    const vmafgpu__adm_fast unused = {};
    const uint32_t factor[2] = { factor_hv, factor_d };
    const float sensitivity[2] = { slopes_sensitivity<SCALE>(factor_hv, 0), slopes_sensitivity<SCALE>(factor_d, 1) };
    const int32_t o[VMAFGPU__BANDS] = { o_h, o_v, o_d }, t[VMAFGPU__BANDS] = { t_h, t_v, t_d };
    return slopes_pixel<SCALE, false>(unused, factor, sensitivity, gain_limit, o, t);
}

/* Computes a pixel of scale 0. The arguments are sums, see adm_value(). */
GPU_FN SlopesPixel slopes_pixel_floats(const vmafgpu__adm_launch &adm, const float (&sensitivity)[2],
                                       const uint32_t (&o_sum)[VMAFGPU__BANDS],
                                       const uint32_t (&t_sum)[VMAFGPU__BANDS]) {
    SlopesPixel out;
    float o[VMAFGPU__BANDS], t[VMAFGPU__BANDS], gain;
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        o[band] = adm_upper_half(o_sum[band], adm.fast.upper);
        t[band] = adm_upper_half(t_sum[band], adm.fast.upper);
    }
    if (!adm_is_plain(adm.fast, o, t, &gain))
        return slopes_rare_pixel<0>(adm.factor[0], adm.factor[1], adm.gain_limit, adm_value(o_sum[0]),
                                    adm_value(o_sum[1]), adm_value(o_sum[2]), adm_value(t_sum[0]), adm_value(t_sum[1]),
                                    adm_value(t_sum[2]));
    out.of = adm_plain_pixel(adm, o, t, gain);
    out.impaired = 0;
#pragma unroll
    for (int band = 0; band < VMAFGPU__BANDS; band++) {
        /* The restored part is the smaller of |t| and |o| times the gain. So both parts have the sign of t, and the
         * impairment is 0 if a change in t affects the restored part. */
        const uint32_t signed_direction = bits_of(sensitivity[band == 2]) | (bits_of(t[band]) & 0x80000000u);
        out.direction[band] = t[band] != 0 ? float_bits(signed_direction) : 0;
        out.impaired |= out.of.signal[1][band] ? 1u << band : 0;
    }
    return out;
}

/* Two rows of the input of both frames: the samples of an even column and of the next one. */
struct SlopesRows {
    uint32_t words[2][2][2]; /* by frame and row; only 32-bit samples need two words */
};

/* Interleaves 8-bit samples of both rows in the first word, as adm_vertical_pairs() requires. */
template <int BYTES> GPU_FN SlopesRows slopes_interleaved(SlopesRows rows) {
    if (BYTES == 1)
#pragma unroll
        for (int f = 0; f < 2; f++)
            rows.words[f][0][0] = permute_bytes(rows.words[f][0][0], rows.words[f][1][0], 0x5140);
    return rows;
}

template <int BYTES> GPU_FN SlopesRows slopes_load_rows(const uint8_t *const (&in)[2], const int32_t (&pitch)[2]) {
    SlopesRows out = {};
#pragma unroll
    for (int f = 0; f < 2; f++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const uint8_t *row = in[f] + i * (int64_t)pitch[f];
            if (BYTES == 4) {
                const uint64_t two = load((const uint64_t *)(const void *)row);
                out.words[f][i][0] = (uint32_t)two, out.words[f][i][1] = (uint32_t)(two >> 32);
            } else if (BYTES == 2) {
                out.words[f][i][0] = load((const uint32_t *)(const void *)row);
            } else {
                out.words[f][i][0] = load((const uint16_t *)(const void *)row);
            }
        }
    return out;
}

/* Computes the coefficients h, v and d of both frames at a position inside the bands; at scale 0, sums for adm_value().
 * A lane has the samples of two columns in four rows, and its neighbours have the other columns. */
template <int SCALE, int BYTES>
GPU_FN void slopes_coefficients_of(const vmafgpu__adm_launch &adm, const SlopesRows &above, const SlopesRows &below,
                                   uint32_t (&out)[2][VMAFGPU__BANDS]) {
    AdmColumn even, odd;
    if constexpr (BYTES == 1) {
#pragma unroll
        for (int f = 0; f < 2; f++)
            adm_vertical_pairs<true>(above.words[f][0][0], below.words[f][0][0], f, even, odd);
    } else {
        uint32_t sample[2][2][4];
#pragma unroll
        for (int f = 0; f < 2; f++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint32_t(&words)[2] = (i < 2 ? above : below).words[f][i % 2];
                if (BYTES == 4) {
                    sample[0][f][i] = words[0], sample[1][f][i] = words[1];
                } else if (SCALE == 0) {
                    sample[0][f][i] = words[0] & 0xffff, sample[1][f][i] = words[0] >> 16;
                } else { /* signed */
                    sample[0][f][i] = (uint32_t)((int32_t)(words[0] << 16) >> 16);
                    sample[1][f][i] = (uint32_t)((int32_t)words[0] >> 16);
                }
            }
        adm_vertical<SCALE, true, false>(adm, sample[0], even);
        adm_vertical<SCALE, true, true>(adm, sample[1], odd);
    }
    const int64_t half = adm.fast.addends.horizontal;
#pragma unroll
    for (int f = 0; f < 2; f++) {
        const int32_t low[2] = { shuffle_up(odd.low[f], 1), shuffle_down(even.low[f], 1) };
        const int32_t high[2] = { shuffle_up(odd.high[f], 1), shuffle_down(even.high[f], 1) };
        out[f][0] = adm_horizontal_low<SCALE>(high[0], even.high[f], odd.high[f], high[1], half);
        out[f][1] = adm_horizontal_high<SCALE>(low[0], even.low[f], odd.low[f], low[1], half);
        out[f][2] = adm_horizontal_high<SCALE>(high[0], even.high[f], odd.high[f], high[1], half);
    }
}

GPU_FN float slopes_left(float v) {
    return float_bits(shuffle_up_word(bits_of(v), 1));
}
GPU_FN float slopes_right(float v) {
    return float_bits(shuffle_down_word(bits_of(v), 1));
}

/* The state of a warp that processes the rows of a strip one after the other. A lane processes a column. */
struct SlopesWalk {
    SlopesPixel pixel;          /* the last row but one; its threshold needs the last row */
    uint32_t shares[2][2];      /* shares of thresholds of three columns, for the last two rows, by part */
    float all[2][2];            /* sums of derivatives of cubes over the bands, for the last two rows, by part */
    float cube[VMAFGPU__BANDS]; /* derivatives of the cubes of the affected parts, for the last row */
    float direction[VMAFGPU__BANDS];
    uint32_t impaired;
    float slope[2][VMAFGPU__BANDS]; /* weights; 0 outside the region of the sums */
};

/* Sets the weights of a lane for the rows from y on. */
template <int SCALE>
GPU_FN void slopes_set_weights(const vmafgpu__slopes_adm_launch &launch, int32_t x, int32_t y, SlopesWalk &walk) {
    constexpr int UNIT_BITS = SCALE == 0 ? 27 : SCALE == 1 ? 25 : SCALE == 2 ? 23 : 22;
    const vmafgpu__adm_geometry &g = launch.adm.geometry;
    const vmafgpu__slopes_weights *weights = slopes_of_pair(launch.weights, launch.slopes);
    const bool has_sum = x >= g.left && x < g.w - g.left && y >= g.top && y < g.h - g.top;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int band = 0; band < VMAFGPU__BANDS; band++) {
            /* Signals are divided by powers of two. Products of the weight and two signals are exact multiples of these
             * powers, so the weight is divided instead. */
            const float unit = 1.0f / (float)((uint32_t)1 << (UNIT_BITS + (SCALE == 0 && band == 2 ? 2 : 0)));
            walk.slope[i][band] = has_sum ? slopes_load(&weights->adm[SCALE][i][band]) * (unit * unit) : 0;
        }
}

/* A warp computes a strip. A lane processes a column from top to bottom, and exchanges values with its neighbours. The
 * coefficients of the first and last lane are wrong, because each lacks the samples of a neighbour. For each row, a
 * lane computes the coefficients, then the derivatives of the cubes in the row above, and finally those of the bands in
 * the row above that. */
template <int SCALE, int BYTES> GPU_FN void slopes_bands(const vmafgpu__slopes_adm_launch &launch) {
    constexpr int COLUMNS = VMAFGPU__SLOPES_BANDS_COLUMNS(LANES);
    const vmafgpu__adm_launch &adm = launch.adm;
    const vmafgpu__adm_geometry &g = adm.geometry;
    if (!slopes_has_pair(launch.slopes))
        return;
    const vmafgpu__gpu_pair &pair = adm.batch.pair[block_z()];
    const uint8_t *const scratch = adm.scratch + block_z() * adm.scratch_size;
    const uint8_t *const plane[2] = { SCALE ? scratch + adm.input[0] : (const uint8_t *)pair.reference,
                                      SCALE ? scratch + adm.input[1] : (const uint8_t *)pair.distorted };
    const int32_t pitch[2] = { SCALE ? adm.input_pitch : pair.reference_pitch,
                               SCALE ? adm.input_pitch : pair.distorted_pitch };
    /* Derivatives differ from 0 in the region of the sums, and one column and row around it. */
    const int32_t first_x = adm_larger(g.left - 1, 0), first_y = adm_larger(g.top - 1, 0);
    const int32_t end_x = adm_lesser(g.w - g.left + 1, g.w), end_y = adm_lesser(g.h - g.top + 1, g.h);
    const int32_t across = (end_x - first_x + COLUMNS - 1) / COLUMNS,
                  number = (int32_t)(block_x() * (VMAFGPU__SLOPES_BANDS_THREADS / LANES) + uniform(warp_index()));
    const int32_t lane = (int32_t)lane_index(), x = first_x + number % across * COLUMNS - 3 + lane,
                  y0 = first_y + number / across * launch.rows, end = adm_lesser(y0 + launch.rows, end_y);
    if (y0 >= end_y)
        return;
    /* If so, the strips and all samples on which they depend are inside the picture. */
    const bool is_inside = g.left >= 4 && g.top >= 6;
    const bool has_output = lane >= 3 && lane < LANES - 3 && x < end_x;
    const int32_t from_x = adm_lesser(adm_larger(vmafgpu__reflect_repeat(x, g.w), 0), g.w - 1);
    const uint8_t *in[2];
    SlopesRows rows, next;
    if (is_inside) {
        const int32_t column = adm_lesser(2 * x, (adm.input_width - 2) & ~1);
#pragma unroll
        for (int f = 0; f < 2; f++)
            in[f] = plane[f] + (2 * y0 - 5) * (int64_t)pitch[f] + column * BYTES;
        rows = slopes_interleaved<BYTES>(slopes_load_rows<BYTES>(in, pitch));
#pragma unroll
        for (int f = 0; f < 2; f++)
            in[f] += 2 * (int64_t)pitch[f];
        next = slopes_load_rows<BYTES>(in, pitch);
    }
    const int64_t area = (int64_t)g.w * g.h;
    float *out = launch.bands + slopes_offset(launch.slopes) + y0 * (int64_t)g.w + x;
    const float sensitivity[2] = { float_bits(opaque(bits_of(slopes_sensitivity<SCALE>(adm.factor[0], 0)))),
                                   float_bits(opaque(bits_of(slopes_sensitivity<SCALE>(adm.factor[1], 1)))) };
    SlopesWalk walk = {};
    slopes_set_weights<SCALE>(launch, x, y0 - 1, walk);
    /* An iteration processes two rows, which saves register moves between rows. The second one may be superfluous. */
#pragma unroll 1
    for (int32_t pair_y = y0 - 2; pair_y < end + 2; pair_y += 2)
#pragma unroll
        for (int32_t y = pair_y; y < pair_y + 2; y++) {
            uint32_t coefficient[2][VMAFGPU__BANDS];
            if (is_inside) {
                const SlopesRows below = slopes_interleaved<BYTES>(next);
#pragma unroll
                for (int f = 0; f < 2; f++)
                    in[f] += 2 * (int64_t)pitch[f];
                next = slopes_load_rows<BYTES>(in, pitch);
                slopes_coefficients_of<SCALE, BYTES>(adm, rows, below, coefficient);
                rows = below;
            } else {
                const int32_t from_y = adm_lesser(adm_larger(vmafgpu__reflect_repeat(y, g.h), 0), g.h - 1);
#pragma unroll
                for (int f = 0; f < 2; f++) {
                    const SlopesCoefficients far = slopes_far_coefficients<SCALE, BYTES>(
                        plane[f], pitch[f], adm.input_width, adm.input_height, adm.batch.bit_depth, from_x, from_y);
#pragma unroll
                    for (int band = 0; band < VMAFGPU__BANDS; band++)
                        coefficient[f][band] =
                            SCALE ? (uint32_t)far.v[band] : (uint32_t)far.v[band] << 16 ^ 0x80000000u;
                }
            }
            SlopesPixel pixel;
            if constexpr (SCALE == 0) {
                pixel = slopes_pixel_floats(adm, sensitivity, coefficient[0], coefficient[1]);
            } else {
                const int32_t o[VMAFGPU__BANDS] = { (int32_t)coefficient[0][0], (int32_t)coefficient[0][1],
                                                    (int32_t)coefficient[0][2] };
                const int32_t t[VMAFGPU__BANDS] = { (int32_t)coefficient[1][0], (int32_t)coefficient[1][1],
                                                    (int32_t)coefficient[1][2] };
                pixel = adm.fast.plain_limit >= 0
                            ? slopes_pixel<SCALE, true>(adm.fast, adm.factor, sensitivity, adm.gain_limit, o, t)
                            : slopes_rare_pixel<SCALE>(adm.factor[0], adm.factor[1], adm.gain_limit, o[0], o[1], o[2],
                                                       t[0], t[1], t[2]);
            }
            /* Row y - 1: derivatives of the cubes. */
            uint32_t threshold[2];
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const uint32_t own = pixel.of.side[i],
                               shares = own + shuffle_up_word(own, 1) + shuffle_down_word(own, 1);
                threshold[i] = walk.shares[0][i] + walk.shares[1][i] + shares + walk.pixel.of.centre[i];
                walk.shares[0][i] = walk.shares[1][i];
                walk.shares[1][i] = shares;
            }
            float u[2][VMAFGPU__BANDS] = {}, all[2] = {};
            if (y >= y0) {
                if (y - 1 == g.top || y - 1 == g.h - g.top)
                    slopes_set_weights<SCALE>(launch, x, y - 1, walk);
#pragma unroll
                for (int i = 0; i < 2; i++) {
#pragma unroll
                    for (int band = 0; band < VMAFGPU__BANDS; band++) {
                        const int shift = SCALE ? 0 : band == 2 ? 12 : 10;
                        const int32_t rest = (int32_t)(walk.pixel.of.signal[i][band] - (threshold[!i] << shift));
                        const float masked = (float)(rest > 0 ? rest : 0);
                        u[i][band] = walk.slope[i][band] * masked * masked;
                    }
                    all[i] = u[i][0] + u[i][1] + u[i][2];
                }
            }
            /* Row y - 2: derivatives of the bands. */
            if (y - 2 >= y0 && y - 2 < end) {
                float mask[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    float box = walk.all[1][i] + (walk.all[0][i] + all[i]);
                    if (!is_inside) {
                        if (y - 2 == vmafgpu__reflect_repeat(-1, g.h)) /* the row above row 0 is a copy of this row */
                            box += y - 2 ? walk.all[0][i] : walk.all[1][i];
                        if (y - 2 == g.h - 1)
                            box += walk.all[1][i];
                    }
                    const float left = slopes_left(box), right = slopes_right(box);
                    float sum = box + (left + right);
                    if (!is_inside) {
                        if (x == vmafgpu__reflect_repeat(-1, g.w))
                            sum += x ? left : box;
                        if (x == g.w - 1)
                            sum += box;
                    }
                    mask[i] = (sum + walk.all[1][i]) * (1.0f / 30);
                }
#pragma unroll
                for (int band = 0; band < VMAFGPU__BANDS; band++)
                    if (has_output)
                        slopes_put(out + band * area,
                                   walk.direction[band] *
                                       (walk.cube[band] - (walk.impaired & 1u << band ? mask[0] : mask[1])));
                out += g.w;
            }
#pragma unroll
            for (int i = 0; i < 2; i++) {
                walk.all[0][i] = walk.all[1][i];
                walk.all[1][i] = all[i];
            }
#pragma unroll
            for (int band = 0; band < VMAFGPU__BANDS; band++) {
                walk.cube[band] = walk.pixel.impaired & 1u << band ? u[1][band] : u[0][band];
                walk.direction[band] = walk.pixel.direction[band];
            }
            walk.impaired = walk.pixel.impaired;
            walk.pixel = pixel;
        }
}

/* ---- ADM: the adjoint of the wavelet ---- */

/* Vertical results for a row of the input and a column of the bands. The horizontal low-pass filter is then applied to
 * `low`, the high-pass filter to `high`. */
struct SlopesHalves {
    float low, high;
};

/* These functions return a tap of the low-pass filter or the high-pass filter, as a float. */
GPU_FN float slopes_low_tap(int t) {
    return (float)(t == 0 ? ADM_LOW_0 : t == 1 ? ADM_LOW_1 : t == 2 ? ADM_LOW_2 : ADM_LOW_3) * (1.0f / 32768);
}
GPU_FN float slopes_high_tap(int t) {
    return (float)(t == 0 ? ADM_LOW_3 : t == 1 ? -ADM_LOW_2 : t == 2 ? ADM_LOW_1 : -ADM_LOW_0) * (1.0f / 32768);
}

/* Derivatives with respect to the four bands at one position. `low` is the low-pass band. */
struct SlopesBands {
    float low, h, v, d;
};

GPU_FN SlopesBands slopes_load_bands(const vmafgpu__slopes_adm_launch &launch, int32_t x, int32_t i, bool has_bands) {
    const vmafgpu__adm_geometry &g = launch.adm.geometry;
    const int64_t at = slopes_offset(launch.slopes) + i * (int64_t)g.w + x, area = (int64_t)g.w * g.h;
    SlopesBands out = {};
    if ((uint32_t)i >= (uint32_t)g.h)
        return out;
    if (launch.smaller)
        out.low = slopes_load(launch.smaller + at);
    if (has_bands && i >= g.top - 1 && i <= g.h - g.top) {
        out.h = slopes_load(launch.bands + at);
        out.v = slopes_load(launch.bands + area + at);
        out.d = slopes_load(launch.bands + 2 * area + at);
    }
    return out;
}

/* Adds the contribution of one position of the bands, with tap t. */
GPU_FN void slopes_merge(const SlopesBands &bands, int t, SlopesHalves &out) {
    const float low = slopes_low_tap(t), high = slopes_high_tap(t);
    out.low += low * bands.low + high * bands.h;
    out.high += low * bands.v + high * bands.d;
}

/* Computes the vertical results for RUN rows of the input, from row y on, and column x of the bands. y must be even.
 * Stores the results in shared memory, ROW floats apart. */
template <int RUN, int ROW>
GPU_FN void slopes_merge_down(const vmafgpu__slopes_adm_launch &launch, int32_t x, int32_t y, float *low, float *high) {
    const vmafgpu__adm_geometry &g = launch.adm.geometry;
    const int32_t in_height = launch.adm.input_height;
    const bool has_bands = launch.bands && x >= g.left - 1 && x <= g.w - g.left;
    SlopesBands bands[RUN / 2 + 2]; /* from row y / 2 - 1 on */
#pragma unroll
    for (int k = 0; k < RUN / 2 + 2; k++)
        bands[k] = slopes_load_bands(launch, x, y / 2 - 1 + k, has_bands);
    const bool at_edge = y == 0 || y + RUN > in_height - 3;
#pragma unroll
    for (int n = 0; n < RUN; n++) {
        SlopesHalves out = {};
        /* An even row depends on taps 1 and 3, an odd row on taps 0 and 2. */
        slopes_merge(bands[(n + 1) / 2 + 1], n & 1 ? 0 : 1, out);
        slopes_merge(bands[(n + 1) / 2], n & 1 ? 2 : 3, out);
        if (at_edge) {
            /* Row -1 is a copy of row 1. The first row below the input is a copy of the last row, and the second one
             * is a copy of the row before the last row. */
            if (n == 1 && y == 0)
                slopes_merge(bands[1], 0, out);
            if (n % 2 == 0 && y + n == in_height - 1)
                slopes_merge(bands[n / 2 + 1], 2, out);
            if (n % 2 && y + n == 2 * g.h - 1)
                slopes_merge(bands[n / 2 + 1], 3, out);
            if (n % 2 && y + n == in_height - 2 && in_height % 2)
                slopes_merge(bands[n / 2 + 2], 3, out);
        }
        low[n * ROW] = out.low;
        high[n * ROW] = out.high;
    }
}

/* A block computes a tile. First, each thread computes the vertical results of a run of rows. Then each thread computes
 * four neighbouring samples in several rows. */
GPU_FN void slopes_wavelet(const vmafgpu__slopes_adm_launch &launch) {
    constexpr int WIDTH = VMAFGPU__SLOPES_MERGE_WIDTH, HEIGHT = VMAFGPU__SLOPES_MERGE_HEIGHT, ROW = WIDTH + 2;
    constexpr int RUN = HEIGHT * ROW / VMAFGPU__SLOPES_THREADS, GROUPS = ROW / 2;
    static_assert(RUN % 2 == 0 && HEIGHT % RUN == 0 && VMAFGPU__SLOPES_THREADS % GROUPS == 0 && WIDTH % 2 == 0,
                  "threads");
    const int32_t in_width = launch.adm.input_width, in_height = launch.adm.input_height, own = (int32_t)thread_index();
    const int32_t x0 = (int32_t)block_x() * WIDTH, y0 = (int32_t)block_y() * HEIGHT, last = launch.adm.geometry.w - 1;
    float *low = (float *)shared_memory(), *high = low + HEIGHT * ROW; /* column 0 is column x0 - 1 of the bands */
    if (!slopes_has_pair(launch.slopes))
        return;
    const vmafgpu__slopes_out &to = launch.out[block_z()];
    {
        const int32_t column = own % ROW, row = own / ROW * RUN, x = x0 - 1 + column, at = row * ROW + column;
        if (x >= 0 && x <= last)
            slopes_merge_down<RUN, ROW>(launch, x, y0 + row, low + at, high + at);
        else
#pragma unroll
            for (int n = 0; n < RUN; n++)
                low[at + n * ROW] = high[at + n * ROW] = 0;
    }
    block_barrier();
    float l[4], h[4];
#pragma unroll
    for (int t = 0; t < 4; t++)
        l[t] = slopes_low_tap(t), h[t] = slopes_high_tap(t);
    const int32_t group = own % GROUPS, x = 2 * x0 + 4 * group, count = adm_lesser(in_width - x, 4);
    if (group >= WIDTH / 2 || count <= 0)
        return;
#pragma unroll 1
    for (int32_t row = own / GROUPS; row < HEIGHT && y0 + row < in_height; row += VMAFGPU__SLOPES_THREADS / GROUPS) {
        const float *a_row = low + row * ROW, *b_row = high + row * ROW;
        float a[4], b[4], sum[4], other[4] = {}; /* a, b: from column x / 2 - 1 on */
#pragma unroll
        for (int k = 0; k < 4; k += 2) {
            const uint64_t two[2] = { *(const uint64_t *)(const void *)(a_row + 2 * group + k),
                                      *(const uint64_t *)(const void *)(b_row + 2 * group + k) };
            a[k] = float_bits((uint32_t)two[0]), a[k + 1] = float_bits((uint32_t)(two[0] >> 32));
            b[k] = float_bits((uint32_t)two[1]), b[k + 1] = float_bits((uint32_t)(two[1] >> 32));
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int k = (i + 1) / 2, t = i & 1 ? 0 : 1;
            sum[i] = (l[t] * a[k + 1] + h[t] * b[k + 1]) + (l[t + 2] * a[k] + h[t + 2] * b[k]);
        }
        if (x == 0)
            sum[1] += l[0] * a[1] + h[0] * b[1];
        if (x + 4 > in_width - 3)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int t = 2; t < 4; t++) {
                    const int32_t beyond = 2 * last - 1 + t;
                    if (beyond >= in_width && vmafgpu__reflect_repeat(beyond, in_width) == x + i)
                        sum[i] += l[t] * a_row[last + 1 - x0] + h[t] * b_row[last + 1 - x0];
                }
        if (launch.other) {
            const float *from = launch.other + slopes_offset(launch.slopes) + (y0 + row) * (int64_t)in_width + x;
            if (in_width % 4 == 0) {
                const Words4 words = load_own((const Words4 *)(const void *)from);
                other[0] = float_bits(words.x), other[1] = float_bits(words.y);
                other[2] = float_bits(words.z), other[3] = float_bits(words.w);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    other[i] = i < count ? slopes_load_own(from + i) : 0;
            }
        }
        float *out = (float *)(void *)(to.data + (y0 + row) * to.pitch) + x;
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[i] = other[i] + sum[i];
        if (count == 4 && (uintptr_t)out % 16 == 0) {
            store((Words4 *)(void *)out, Words4{ bits_of(sum[0]), bits_of(sum[1]), bits_of(sum[2]), bits_of(sum[3]) });
        } else {
#pragma unroll
            for (int i = 0; i < 4; i++)
                if (i < count)
                    slopes_put(out + i, sum[i]);
        }
    }
}

#define SLOPES_BANDS_KERNEL(input, SCALE, BYTES) \
    GPU_KERNEL(vmafgpu_slopes_bands_##input, vmafgpu__slopes_adm_launch, VMAFGPU__SLOPES_BANDS_THREADS, 4) { \
        slopes_bands<SCALE, BYTES>(launch); \
    }
SLOPES_BANDS_KERNEL(0_8, 0, 1)
SLOPES_BANDS_KERNEL(0_16, 0, 2)
SLOPES_BANDS_KERNEL(1, 1, 2)
SLOPES_BANDS_KERNEL(2, 2, 4)
SLOPES_BANDS_KERNEL(3, 3, 4)
#undef SLOPES_BANDS_KERNEL

GPU_KERNEL(vmafgpu_slopes_wavelet, vmafgpu__slopes_adm_launch, VMAFGPU__SLOPES_THREADS, 4) {
    slopes_wavelet(launch);
}

/* Computes the derivatives (slopes) of the prediction with respect to the sums, and from these the weights, in a single
 * block. A thread processes support vectors first, then one input of the model, and finally one of the sums. The
 * contributions of the support vectors are computed in parallel and added up in order. */
GPU_FN void slopes_weights(const vmafgpu__slopes_weights_launch &launch) {
    constexpr int32_t AT_ONCE = VMAFGPU__SLOPES_INPUTS, ROW = VMAFGPU__SLOPES_THREADS + 1;
    const vmafgpu__map_slope_launch &of = launch.of;
    if (!slopes_has_pair(launch.slopes))
        return;
    const vmafgpu__smooth *s = slopes_of_pair(of.smooth, launch.slopes);
    vmafgpu__slopes_weights *weights = slopes_of_pair(launch.weights, launch.slopes);
    double *x = (double *)shared_memory(), *slopes = x + VMAFGPU__SMOOTH_EXTRACTORS;
    double *roots = slopes + VMAFGPU__SMOOTH_EXTRACTORS,
           *terms = roots + VMAFGPU__MAP_ROOTS * VMAFGPU__SMOOTH_EXTRACTORS;
    const int32_t inputs = fetch(&s->inputs), vectors = fetch(&s->vectors), own = (int32_t)thread_index();
    const double gamma = fetch(&s->gamma);
    double slope = 0;
    if (own < vectors) {
        const double *vector = of.table + (int64_t)fetch(of.vectors + own) * inputs;
        prefetch(vector);
        prefetch(vector + inputs - 1);
    }
    base_inputs(s, VMAFGPU__SLOPES_THREADS, roots, x);
    if (own < inputs)
        x[own] = fetch(&s->input[own].slope) * x[own] + fetch(&s->input[own].intercept);
    block_barrier();
#pragma unroll 1
    for (int32_t first = 0; first < vectors; first += VMAFGPU__SLOPES_THREADS) {
        const int32_t count = vectors - first < VMAFGPU__SLOPES_THREADS ? vectors - first : VMAFGPU__SLOPES_THREADS;
        const double *vector = of.table + (int64_t)fetch(of.vectors + (own < count ? first + own : 0)) * inputs;
        const double weight = vmafgpu__smooth_kernel(x, 1, inputs, vector, gamma),
                     coef = fetch(of.coefs + (own < count ? first + own : 0));
#pragma unroll 1
        for (int32_t from = 0; from < inputs; from += AT_ONCE) {
            const int32_t end = inputs - from < AT_ONCE ? inputs - from : AT_ONCE;
            for (int32_t i = 0; i < end; i++)
                terms[i * ROW + own] = 2 * gamma * coef * (x[from + i] - fetch(vector + from + i)) * weight;
            block_barrier();
            if (own >= from && own < from + end)
#pragma unroll 16
                for (int32_t k = 0; k < count; k++)
                    slope -= terms[(own - from) * ROW + k];
            block_barrier();
        }
    }
    if (own < inputs)
        slopes[own] = quotient(slope * fetch(&s->input[own].slope), fetch(&s->slope));
    block_barrier();
    if (own >= VMAFGPU__SLOPES)
        return;
    const double by_sum = vmafgpu__smooth_slope(s, slopes, roots, own),
                 code_value = 1.0 / (1 << (launch.bit_depth - 8));
    if (own < VMAFGPU__SLOPE_NOISE)
        store((uint32_t *)&weights->vif[own], bits_of(vmafgpu__slopes_vif_weight(by_sum, code_value)));
    if (own >= VMAFGPU__SLOPE_ADM) {
        const int32_t i = own >= VMAFGPU__SLOPE_AIM, at = own - (i ? VMAFGPU__SLOPE_AIM : VMAFGPU__SLOPE_ADM),
                      scale = at / VMAFGPU__BANDS, band = at % VMAFGPU__BANDS;
        const double unit = launch.adm < 0 ? 0 : fetch(&s->adm[launch.adm].unit[scale][band]);
        store((uint32_t *)&weights->adm[scale][i][band], bits_of(vmafgpu__slopes_adm_weight(by_sum, unit, code_value)));
    }
}

GPU_KERNEL(vmafgpu_slopes_weights, vmafgpu__slopes_weights_launch, VMAFGPU__SLOPES_THREADS, 1) {
    slopes_weights(launch);
}
