/* primitives.h - the primitives of vmafgpu_kernels.cu for the simulated GPU
 *
 * Compile with -DLANES=32 or -DLANES=64. Add -DGPU_MATRIX (32 lanes only) for the image with matrix products and
 * asynchronous copies, or -DGPU_MATRIX_16 for the AMD image with matrix products. Include this file before
 * vmafgpu_kernels.cu, whose section >>primitives documents the primitives. simulated_launch() runs a kernel; see
 * README.md.
 */
#ifndef GPU_PRIMITIVES
#define GPU_PRIMITIVES

#include <math.h>
#include <type_traits>

#include "executor.h"

#if defined(GPU_MATRIX)
static_assert(LANES == 32, "matrix products require 32 lanes");
enum { SIMULATED_IMAGE = 1 };
#else
enum { SIMULATED_IMAGE = 0 };
#endif

#define GPU_FN        static inline __attribute__((unused))
#define GPU_FAR       static __attribute__((noinline, unused))
#define GPU_TABLE     static __attribute__((unused)) const
#define GPU_MOST_ROWS (LANES == 32 ? 16 : 8)
#ifdef SIMULATED_UNUSED /* kernels are templates, which are compiled only if name<0>(launch) is used */
#define GPU_KERNEL(name, Launch, threads, blocks) \
    static_assert((threads) % LANES == 0, "whole warps"); \
    template <int> static void name([[maybe_unused]] const Launch &launch)
#define GPU_KERNEL_UP_TO(name, Launch, threads, blocks) GPU_KERNEL(name, Launch, threads, blocks)
#else
#define GPU_KERNEL(name, Launch, threads, blocks)       SIMULATED_KERNEL(name, Launch, threads, threads, blocks)
#define GPU_KERNEL_UP_TO(name, Launch, threads, blocks) SIMULATED_KERNEL(name, Launch, threads, LANES, blocks)
#endif
#define SIMULATED_KERNEL(name, Launch, threads, fewest, blocks) \
    static_assert((threads) % LANES == 0, "whole warps"); \
    static void name(const Launch &launch); \
    static void simulated_run_##name(const void *launch) { \
        name(*static_cast<const Launch *>(launch)); \
    } \
    static const simulated::Kernel simulated_kernel_##name(#name, SIMULATED_IMAGE, threads, fewest, blocks, \
                                                           sizeof(Launch), simulated_run_##name); \
    static void name([[maybe_unused]] const Launch &launch)

/* ---- indices and sizes ---- */
GPU_FN uint32_t thread_index() {
    return simulated::machine.now->thread;
}
GPU_FN uint32_t block_threads() {
    return simulated::machine.threads;
}
GPU_FN uint32_t block_x() {
    return simulated::machine.block[0];
}
GPU_FN uint32_t block_y() {
    return simulated::machine.block[1];
}
GPU_FN uint32_t block_z() {
    return simulated::machine.block[2];
}
GPU_FN uint32_t grid_x() {
    return simulated::machine.grid[0];
}

/* ---- barriers; shared memory ---- */
GPU_FN void block_barrier() {
    simulated::machine.synchronise(simulated::BLOCK_BARRIER);
}
GPU_FN void warp_barrier() {
    simulated::machine.synchronise(simulated::WARP_BARRIER);
}
GPU_FN unsigned char *shared_memory() {
    return simulated::machine.shared;
}

/* ---- exchange ---- */

/* Each lane contributes a word. Returns the words of all lanes. */
GPU_FN const uint32_t *simulated_exchange(simulated::Operation operation, uint32_t v) {
    simulated::Lane *const lane = simulated::machine.now;
    simulated::Warp *const warp = lane->warp;
    warp->exchange[warp->turn].word[lane->index] = v;
    return warp->exchange[simulated::machine.synchronise(operation)].word;
}
GPU_FN uint32_t shuffle_word(uint32_t v, uint32_t lane) {
    return simulated_exchange(simulated::SHUFFLE, v)[lane % LANES];
}
GPU_FN uint32_t shuffle_xor_word(uint32_t v, uint32_t mask) {
    const uint32_t self = simulated::machine.now->index;
    return simulated_exchange(simulated::SHUFFLE_XOR, v)[(self ^ mask) % LANES];
}
GPU_FN uint32_t shuffle_up_word(uint32_t v, uint32_t by) {
    const uint32_t self = simulated::machine.now->index;
    if (by >= LANES)
        simulated::machine.fail("shuffle_up by %u lanes", by);
    return simulated_exchange(simulated::SHUFFLE_UP, v)[self >= by ? self - by : self];
}
GPU_FN uint32_t shuffle_down_word(uint32_t v, uint32_t by) {
    const uint32_t self = simulated::machine.now->index;
    if (by >= LANES)
        simulated::machine.fail("shuffle_down by %u lanes", by);
    return simulated_exchange(simulated::SHUFFLE_DOWN, v)[self + by < LANES ? self + by : self];
}
GPU_FN bool any_lane(bool v) {
    simulated::Warp *const warp = simulated::machine.now->warp;
    uint32_t *const any = &warp->exchange[warp->turn].any;
    *any = (warp->arrived ? *any : 0) | v;
    simulated::machine.synchronise(simulated::VOTE);
    return *any != 0;
}
GPU_FN bool all_lanes(bool v) {
    return !any_lane(!v);
}
GPU_FN uint32_t first_lanes(bool v) {
    const uint32_t *const said = simulated_exchange(simulated::VOTE, v);
    uint32_t bits = 0;
    for (int i = 0; i < 32; i++)
        bits |= said[i] << i;
    return bits;
}
template <class T> GPU_FN const T &again(const T &launch) {
    static_assert(sizeof launch > sizeof(uint64_t),
                  "use a uint32_t: smaller types are mistaken for the argument of the kernel");
    return launch;
}
GPU_FN uint32_t again(uint32_t v) {
    return v;
}
GPU_FN uint32_t uniform(uint32_t v) {
    const uint32_t first = shuffle_word(v, 0);
    if (v != first)
        simulated::machine.fail("uniform(%u), but the value of lane 0 is %u", v, first);
    return first;
}

/* ---- memory ---- */
struct Words4 {
    uint32_t x, y, z, w;
};
template <class T> static inline T simulated_load(const T *p) {
    T v;
    memcpy(&v, simulated::machine.global_read(p, sizeof v, sizeof v, "load"), sizeof v);
    return v;
}
GPU_FN uint8_t load(const uint8_t *p) {
    return simulated_load(p);
}
GPU_FN uint16_t load(const uint16_t *p) {
    return simulated_load(p);
}
GPU_FN uint32_t load(const uint32_t *p) {
    return simulated_load(p);
}
GPU_FN int32_t load(const int32_t *p) {
    return simulated_load(p);
}
GPU_FN uint64_t load(const uint64_t *p) {
    return simulated_load(p);
}
GPU_FN Words4 load(const Words4 *p) {
    return simulated_load(p);
}
/* Returns a wrong value for every third store of the kernel that simulated_plant() selected. Samples and counts are
 * wrong in one bit. Sums, which are rounded later, and floating-point values are wrong by more. */
template <class T> static inline T simulated_wrong(T v) {
    if (simulated::machine.is_planted && ++simulated::machine.planted_writes % 3 == 0) {
        const size_t byte = std::is_floating_point<T>::value || sizeof v == 8 ? sizeof v / 2 : 0;
        reinterpret_cast<unsigned char *>(&v)[byte] ^= byte ? 16 : 1;
        if (sizeof v == 16) /* the value may contain floats */
            reinterpret_cast<unsigned char *>(&v)[2] ^= 16;
    }
    return v;
}
#ifdef SIMULATED_NVIDIA /* AMD has no surfaces */
#define GPU_SURFACES 1
/* Reads a surface. A read outside the surface is reported as a read of address 0. */
template <class T> static inline T simulated_surface(uint64_t handle, uint32_t x, uint32_t y) {
    const auto it = simulated::surfaces.find(handle);
    const bool is_inside = it != simulated::surfaces.end() && x % sizeof(T) == 0 && x + sizeof(T) <= it->second.row &&
                           y < it->second.height;
    return simulated_load(reinterpret_cast<const T *>(is_inside ? it->second.memory + y * it->second.pitch + x : 0));
}
GPU_FN uint32_t surface_byte(uint64_t surface, uint32_t x, uint32_t y) {
    return simulated_surface<uint8_t>(surface, x, y);
}
GPU_FN uint32_t surface_word(uint64_t surface, uint32_t x, uint32_t y) {
    return simulated_surface<uint32_t>(surface, x, y);
}
GPU_FN Words4 surface_words(uint64_t surface, uint32_t x, uint32_t y) {
    return simulated_surface<Words4>(surface, x, y);
}
#endif
template <class T> GPU_FN void store(T *p, T v) {
    v = simulated_wrong(v);
    memcpy(simulated::machine.global_write(p, sizeof v, alignof(T), "store"), &v, sizeof v);
}
GPU_FN int64_t take(int64_t *p) {
    unsigned char *const at = simulated::machine.global_change(p, sizeof *p, "take");
    int64_t v;
    memcpy(&v, at, sizeof v);
    memset(at, 0, sizeof v);
    return v;
}
GPU_FN void atomic_add(int64_t *p, int64_t v) {
    unsigned char *const at = simulated::machine.global_change(p, sizeof v, "atomic_add");
    uint64_t sum;
    memcpy(&sum, at, sizeof sum);
    sum += static_cast<uint64_t>(simulated_wrong(v));
    memcpy(at, &sum, sizeof sum);
}
GPU_FN void atomic_add(uint32_t *p, uint32_t v) {
    unsigned char *const at = simulated::machine.global_change(p, sizeof v, "atomic_add");
    uint32_t sum;
    memcpy(&sum, at, sizeof sum);
    sum += simulated_wrong(v);
    memcpy(at, &sum, sizeof sum);
}
GPU_FN void atomic_or(uint32_t *p, uint32_t v) {
    unsigned char *const at = simulated::machine.global_change(p, sizeof v, "atomic_or");
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    bits |= v;
    memcpy(at, &bits, sizeof bits);
}
GPU_FN void atomic_max(uint32_t *p, uint32_t v) {
    unsigned char *const at = simulated::machine.global_write(p, sizeof v, sizeof v, "atomic_max");
    uint32_t largest;
    memcpy(&largest, at, sizeof largest);
    largest = v > largest ? v : largest;
    memcpy(at, &largest, sizeof largest);
}
GPU_FN uint32_t atomic_claim(uint32_t *p) {
    unsigned char *const at = simulated::machine.global_change(p, sizeof *p, "atomic_claim");
    uint32_t before;
    memcpy(&before, at, sizeof before);
    const uint32_t after = before + 1;
    memcpy(at, &after, sizeof after);
    return before;
}
GPU_FN Words4 load_own(const Words4 *p) {
    Words4 v;
    memcpy(&v, simulated::machine.global_peek(p, sizeof v), sizeof v);
    return v;
}
GPU_FN void prefetch(const void *p) {
    (void)p;
}
GPU_FN uint32_t peek(const uint32_t *p) {
    uint32_t v;
    memcpy(&v, simulated::machine.global_peek(p, sizeof v), sizeof v);
    return v;
}
GPU_FN void shared_add(uint32_t *p, uint32_t v) {
    simulated::machine.check_shared(p, sizeof v, "shared_add");
    *p += v;
}

/* ---- arithmetic ---- */
GPU_FN int leading_zeros(uint32_t v) {
    return v ? __builtin_clz(v) : 32;
}
GPU_FN uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    uint32_t r = 0;
    if (selector & 0x8888)
        simulated::machine.fail("permute_bytes with selector %#x: bytes are numbered 0 to 7", selector);
    for (int i = 0; i < 4; i++)
        r |= static_cast<uint32_t>(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
    return r;
}
GPU_FN int32_t simulated_dot(int32_t a, uint32_t low, uint32_t high, int32_t c) {
    const int64_t sum = static_cast<int64_t>(static_cast<int16_t>(a)) * low + static_cast<int64_t>(a >> 16) * high + c;
    return static_cast<int32_t>(static_cast<uint32_t>(sum));
}
GPU_FN int32_t dot_low(int32_t a, uint32_t b, int32_t c) {
    return simulated_dot(a, b & 255, b >> 8 & 255, c);
}
GPU_FN int32_t dot_high(int32_t a, uint32_t b, int32_t c) {
    return simulated_dot(a, b >> 16 & 255, b >> 24, c);
}
/* Keeps only the low 24 bits, as AMD GPUs do, so that larger values lead to wrong results. Only illegal samples may
 * need more bits. */
GPU_FN int32_t small(int32_t v) {
    return (int32_t)((uint32_t)v << 8) >> 8;
}
GPU_FN uint32_t small(uint32_t v) {
    return v & 0xffffff;
}
GPU_FN float float_bits(uint32_t v) {
    float r;
    memcpy(&r, &v, sizeof r);
    return r;
}
GPU_FN uint32_t bits_of(float v) {
    uint32_t r;
    memcpy(&r, &v, sizeof r);
    return r;
}
GPU_FN float fused(float a, float b, float c) {
    return fmaf(a, b, c);
}
GPU_FN double fused(double a, double b, double c) {
    return fma(a, b, c);
}
/* Returns an approximation, as on a device: it is off by -1, 0 or 1 units in the last place, depending on the bits of
 * the argument. */
GPU_FN float reciprocal(float v) {
    const uint32_t r = bits_of(1.0f / v);
    const uint32_t exponent = r >> 23 & 255;
    if (exponent == 0)
        return float_bits(r & 0x80000000u); /* denormals are flushed */
    if (exponent == 255)
        return float_bits(r);
    return float_bits(r + (bits_of(v) * 2654435769u >> 16) % 3 - 1);
}
GPU_FN float float_down(uint32_t v) {
    const int beyond = 8 - leading_zeros(v);
    return static_cast<float>(beyond > 0 ? v >> beyond << beyond : v);
}
GPU_FN float magnitude(float v) {
    return float_bits(bits_of(v) & 0x7fffffffu);
}
GPU_FN float smaller(float a, float b) {
    return a == b ? float_bits(bits_of(a) | bits_of(b)) : a < b || b != b ? a : b; /* -0 is less than +0 */
}
GPU_FN double reciprocal(double v) {
    return reciprocal(static_cast<float>(v));
}
GPU_FN double double_bits(uint64_t v) {
    double r;
    memcpy(&r, &v, sizeof r);
    return r;
}
GPU_FN float quotient(float a, float b) {
    return a / b;
}
GPU_FN double quotient(double a, double b) {
    return a / b;
}
GPU_FN float square_root(float v) {
    return sqrtf(v);
}
GPU_FN double square_root(double v) {
    return sqrt(v);
}
/* Returns an approximation that is off by up to four units in the last place, depending on the bits of the argument. */
GPU_FN float reciprocal_root(float v) {
    return float_bits(bits_of(1.0f / sqrtf(v)) + (bits_of(v) * 2654435769u >> 16) % 9 - 4);
}
GPU_FN uint64_t bits_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}
GPU_FN double whole(uint32_t v) {
    return v;
}
GPU_FN uint32_t truncate(double v) {
    return static_cast<uint32_t>(static_cast<int64_t>(v));
}
GPU_FN uint32_t opaque(uint32_t v) {
    return v;
}
GPU_FN void add_where(uint32_t &sum, uint32_t v, bool where) {
    sum += where ? v : 0;
}
GPU_FN uint64_t opaque(uint64_t v) {
    return v;
}

template <int N> GPU_FN void load_shared(uint32_t (&v)[N], const void *p) {
    simulated::machine.check_shared(p, sizeof v, "load_shared");
    memcpy(v, p, sizeof v);
}

/* ---- matrix products of rows and columns of 32 bytes; lanes exchange these bytes as 16-bit values ---- */
/* These products take most of the time, so they are vectorised and compiled without sanitizers. */
#define SIMULATED_PLAIN __attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread")))
template <class Byte>
SIMULATED_PLAIN static inline __attribute__((unused)) void simulated_widen(int16_t (&v)[32], uint32_t at,
                                                                           uint32_t word) {
    for (uint32_t i = 0; i < 4; i++)
        v[4 * at + i] = static_cast<Byte>(word >> 8 * i);
}
#if defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3")))
#endif
SIMULATED_PLAIN static inline __attribute__((unused)) int32_t
simulated_product(const int16_t (&a)[32], const int16_t (&b)[32]) {
    int32_t sum = 0;
    for (int k = 0; k < 32; k++)
        sum += a[k] * b[k];
    return sum;
}

#ifdef GPU_MATRIX

/* ---- asynchronous copies: until copy_wait, the destination contains poison ---- */
GPU_FN uint32_t shared_address(const void *p) {
    simulated::machine.check_shared(p, 1, "shared_address");
    return static_cast<uint32_t>(static_cast<const unsigned char *>(p) - simulated::machine.shared);
}
GPU_FN void simulated_copy(void *shared, const void *global, uint32_t bytes) {
    simulated::Lane *const lane = simulated::machine.now;
    simulated::machine.check_shared(shared, bytes, "asynchronous copy");
    const void *const from = simulated::machine.global_read(global, bytes, bytes, "asynchronous copy");
    memset(shared, simulated::POISON_COPY, bytes);
    lane->copies.push_back({ shared, from, bytes, lane->group });
}
GPU_FN void copy_4(void *shared, const void *global) {
    simulated_copy(shared, global, 4);
}
GPU_FN void copy_8(void *shared, const void *global) {
    simulated_copy(shared, global, 8);
}
GPU_FN void copy_16(void *shared, const void *global) {
    simulated_copy(shared, global, 16);
}
GPU_FN void copy_commit() {
    simulated::machine.now->group++;
}
template <int groups> GPU_FN void copy_wait() {
    simulated::Lane *const lane = simulated::machine.now;
    size_t done = 0;
    while (done < lane->copies.size() && lane->copies[done].group + groups < lane->group) {
        const simulated::Copy &copy = lane->copies[done++];
        memcpy(copy.to, copy.from, copy.bytes);
    }
    lane->copies.erase(lane->copies.begin(), lane->copies.begin() + static_cast<ptrdiff_t>(done));
}

/* ---- matrix products. Lane 4 * g + t contributes words t and t + 4 of rows g and g + 8 of a and of column g of b, and
 * receives elements 2 * t and 2 * t + 1 of rows g and g + 8 of d; a row of a and a column of b are 8 words ---- */
template <class A>
static inline void simulated_multiply_add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    simulated::Lane *const lane = simulated::machine.now;
    simulated::Warp *const warp = lane->warp;
    const uint32_t g = lane->index / 4, t = lane->index % 4;
    simulated::Warp::Exchange &e = warp->exchange[warp->turn];
    for (uint32_t i = 0; i < 4; i++)
        simulated_widen<A>(e.a[g + i % 2 * 8], t + i / 2 * 4, a[i]);
    simulated_widen<uint8_t>(e.b[g], t, b0);
    simulated_widen<uint8_t>(e.b[g], t + 4, b1);
    simulated::machine.synchronise(simulated::MULTIPLY_ADD);
    for (uint32_t i = 0; i < 4; i++) {
        const int32_t product = simulated_product(e.a[g + i / 2 * 8], e.b[2 * t + i % 2]);
        d[i] = static_cast<int32_t>(static_cast<uint32_t>(d[i]) + static_cast<uint32_t>(product));
    }
}
GPU_FN void multiply_add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    simulated_multiply_add<uint8_t>(d, a, b0, b1);
}
GPU_FN void multiply_add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, const uint32_t (&c)[4]) {
    for (int i = 0; i < 4; i++)
        d[i] = static_cast<int32_t>(c[i]);
    multiply_add(d, a, b0, b1);
}
GPU_FN void multiply_add_signed(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    simulated_multiply_add<int8_t>(d, a, b0, b1);
}
GPU_FN void multiply_add_signed(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                const uint32_t (&c)[4]) {
    for (int i = 0; i < 4; i++)
        d[i] = static_cast<int32_t>(c[i]);
    multiply_add_signed(d, a, b0, b1);
}
GPU_FN void add_distance(uint32_t &sum, uint32_t a, uint32_t b) {
    sum += a > b ? a - b : b - a;
}
GPU_FN void store_shared(void *p, uint32_t v) {
    simulated::machine.check_shared(p, sizeof v, "store_shared");
    memcpy(p, &v, sizeof v);
}

#else

template <class T> static inline void simulated_copy(void *shared, const void *global) {
    simulated::machine.check_shared(shared, sizeof(T), "copy");
    const T v = load(static_cast<const T *>(global));
    memcpy(shared, &v, sizeof v);
}
GPU_FN void copy_4(void *shared, const void *global) {
    simulated_copy<uint32_t>(shared, global);
}
GPU_FN void copy_8(void *shared, const void *global) {
    simulated_copy<uint64_t>(shared, global);
}
GPU_FN void copy_commit() {
}
template <int groups> GPU_FN void copy_wait() {
}

#endif

#ifdef GPU_MATRIX_16

/* ---- matrix products of 16 x 16, with the layouts of AMD GPUs with 32 and 64 lanes ---- */
enum { MATRIX_IS_SIGNED = LANES == 64 };
typedef std::conditional<MATRIX_IS_SIGNED, int8_t, uint8_t>::type MatrixByte;
struct MatrixSums {
    int32_t row[256 / LANES];
    int32_t operator[](int i) const {
        return row[i];
    }
};
GPU_FN void in_order() {
}
GPU_FN MatrixSums matrix_sums(int32_t v) {
    MatrixSums sums;
    for (int32_t &row : sums.row)
        row = v;
    return sums;
}
GPU_FN MatrixSums multiply_add_16(const uint32_t (&x)[128 / LANES], const uint32_t (&y)[128 / LANES], MatrixSums sums) {
    simulated::Lane *const lane = simulated::machine.now;
    simulated::Warp *const warp = lane->warp;
    const uint32_t own = lane->index % 16, group = lane->index / 16;
    simulated::Warp::Exchange &e = warp->exchange[warp->turn];
    for (uint32_t i = 0; i < 128 / LANES; i++) {
        simulated_widen<MatrixByte>(e.a[own], group * 128 / LANES + i, x[i]);
        simulated_widen<MatrixByte>(e.b[own], group * 128 / LANES + i, y[i]);
    }
    simulated::machine.synchronise(simulated::MULTIPLY_ADD);
    for (uint32_t i = 0; i < 256 / LANES; i++) {
        const int32_t product = simulated_product(e.a[group * 256 / LANES + i], e.b[own]);
        sums.row[i] = static_cast<int32_t>(static_cast<uint32_t>(sums.row[i]) + static_cast<uint32_t>(product));
    }
    return sums;
}

#endif

/* ================================================================================================
 * For programs that test kernels without a driver
 * ================================================================================================ */

/* Runs a kernel over a grid of x, y, z blocks. Returns NULL, or a message about a mistake. */
GPU_FN const char *simulated_launch(const char *name, const uint32_t (&grid)[3], uint32_t threads,
                                    uint32_t shared_bytes, const void *launch) {
    const simulated::Kernel *const kernel = simulated::Kernel::find(name, SIMULATED_IMAGE);
    return kernel ? simulated::machine.run(*kernel, grid, threads, shared_bytes, launch) : "no such kernel";
}
/* Allocates device memory, filled with poison. The host must not access the address. */
GPU_FN void *simulated_allocate(size_t bytes) {
    return reinterpret_cast<void *>(simulated::machine.memory.allocate(bytes));
}
GPU_FN void simulated_release(void *device) {
    simulated::machine.memory.remove(reinterpret_cast<uintptr_t>(device));
}
/* Returns the host address of device memory, or NULL unless all bytes are in one allocation. */
GPU_FN void *simulated_host(const void *device, size_t bytes) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(device);
    simulated::Range *const range = simulated::machine.memory.find(address, bytes);
    if (range)
        range->set_written(address, bytes);
    return range ? range->host + (address - range->begin) : nullptr;
}
/* Makes host memory accessible to kernels, at its host address. */
GPU_FN void simulated_map(void *host, size_t bytes) {
    simulated::machine.memory.map(host, bytes);
}
GPU_FN void simulated_order(simulated::Order order, uint64_t seed) {
    simulated::machine.order = order;
    simulated::machine.seed = seed;
}

#endif
