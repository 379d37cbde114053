/* reductions.cpp - tests sums over warps and blocks with values that cause carries, and code paths that test pictures
 * do not reach
 *
 * test/test_reductions.sh compiles this program for both lane counts, with the correct kernels and with three kinds of
 * broken kernels, for which the program must fail: carries between the halves of 64-bit sums are lost; a warp of 64
 * lanes is treated as 32 lanes; a warp of 32 lanes is treated as 64.
 */
#include <math.h>

#include <utility>
#include <vector>

#include "executor.h"
#include "../test.h"

#ifndef SIMULATED_KERNELS
#define SIMULATED_KERNELS "../../vmafgpu_kernels.hip"
#endif

namespace {
#define SIMULATED_UNUSED
#include "primitives.h"
#include SIMULATED_KERNELS

/* ---- kernels that call the tested functions; nothing else is compiled ---- */

#define TEST_KERNEL(name, Launch, threads) SIMULATED_KERNEL(name, Launch, threads, threads, 1)

struct WarpLaunch {
    const uint64_t *values;
    uint64_t *sums;
    uint32_t *word_sums, *ors;
};
TEST_KERNEL(test_warps, WarpLaunch, 2 * LANES) {
    const uint32_t i = block_x() * block_threads() + thread_index();
    const uint64_t v = load(launch.values + i);
    store(launch.sums + i, static_cast<uint64_t>(warp_sum(static_cast<int64_t>(v))));
    store(launch.word_sums + i, warp_sum_word(static_cast<uint32_t>(v)));
    store(launch.ors + i, warp_or(static_cast<uint32_t>(v)));
}

struct MotionLaunch {
    vmafgpu__motion_launch motion;
    const uint32_t *values;
};
TEST_KERNEL(test_motion, MotionLaunch, VMAFGPU__MOTION_THREADS) {
    const uint32_t i = block_x() * block_threads() + thread_index();
    motion_finish(launch.motion, 0, 1, load(launch.values + i), reinterpret_cast<uint32_t *>(shared_memory()));
}

struct VifLaunch {
    vmafgpu__vif_launch vif;
    const uint64_t *flat_noise;
    const uint32_t *denominator, *logs, *numerator, *samples;
};
TEST_KERNEL(test_vif, VifLaunch, VMAFGPU__VIF_PLAIN_THREADS) {
    const uint32_t i = block_x() * block_threads() + thread_index();
    const VifSums sums = { load(launch.flat_noise + i), load(launch.denominator + i), load(launch.logs + i),
                           load(launch.numerator + i) };
    vif_plain_finish(launch.vif, 0, sums, load(launch.samples + i), reinterpret_cast<int64_t *>(shared_memory()));
}

TEST_KERNEL(test_adm_rows, vmafgpu__adm_rows_launch, VMAFGPU__ADM_ROW_THREADS) {
    vmafgpu_adm_rows<0>(launch);
}

TEST_KERNEL(test_cambi_order, vmafgpu__cambi_launch, VMAFGPU__CAMBI_ORDER_THREADS) {
    vmafgpu_cambi_order<0>(launch);
}

struct EigenLaunch {
    const float *matrix;
    float *lines;
};
TEST_KERNEL(test_tridiagonalise, EigenLaunch, LANES) {
    float *const own = reinterpret_cast<float *>(shared_memory());
    float *const matrix = own + 5 * SPEED_LINE;
    const SpeedEigen m = { own, own + SPEED_LINE, own + 2 * SPEED_LINE, own + 3 * SPEED_LINE, own + 4 * SPEED_LINE };
    for (uint32_t i = thread_index(); i < SPEED_SQUARE; i += LANES)
        matrix[i] = load_float(launch.matrix + i);
    block_barrier();
    speed_tridiagonalise(m, matrix);
    const uint32_t lane = lane_index();
    if (lane < SPEED_SIDE)
        store(launch.lines + lane, m.d[lane]);
    if (lane < SPEED_SIDE - 1)
        store(launch.lines + SPEED_SIDE + lane, m.e[lane]);
}

/* Compares the numerator terms of VIF with their definition. A term that is sure must not differ from it. */
struct LevelsLaunch {
    vmafgpu__vif_gain gain;
    const int32_t *s1, *s2, *s12;
    uint32_t *wrong, *sure;
};
template <bool DOUBLES> GPU_FN void check_levels(const LevelsLaunch &launch) {
    const uint32_t i = block_x() * block_threads() + thread_index();
    const int32_t s1 = load(launch.s1 + i), s2 = load(launch.s2 + i), s12 = load(launch.s12 + i);
    uint32_t n1, n2, right1, right2;
    const bool is_sure = vif_likely_levels<DOUBLES>(s1, s2, s12, launch.gain, 2, &n1, &n2);
    vif_levels(s1, s2, s12, launch.gain.limit, &right1, &right2);
    store(launch.sure + i, static_cast<uint32_t>(is_sure));
    store(launch.wrong + i, static_cast<uint32_t>(is_sure && (n1 != right1 || n2 != right2)));
}
TEST_KERNEL(test_levels_f64, LevelsLaunch, 2 * LANES) {
    check_levels<true>(launch);
}
TEST_KERNEL(test_levels_int, LevelsLaunch, 2 * LANES) {
    check_levels<false>(launch);
}

/* ---- memory of the kernels ---- */

template <class T> class Array {
  public:
    explicit Array(size_t count)
        : device(static_cast<T *>(simulated_allocate(count * sizeof(T)))), size(count),
          host(static_cast<T *>(simulated_host(device, count * sizeof(T)))) {
    }
    Array(const Array &) = delete;
    ~Array() {
        simulated_release(device);
    }
    T &operator[](size_t i) {
        return host[i];
    }
    T *const device;
    const size_t size;

  private:
    T *const host;
};

void run(const char *kernel, uint32_t blocks, uint32_t threads, uint32_t shared_bytes, const void *launch) {
    const uint32_t grid[3] = { blocks, 1, 1 };
    const char *const message = simulated_launch(kernel, grid, threads, shared_bytes, launch);
    CHECK_STR(message ? message : "", "");
}

simulated::Random source = { 20 };

uint64_t random_word() {
    const uint64_t high = source.below(0xffffffffu), low = source.below(0xffffffffu);
    return high << 32 | low;
}

/* ---- values ---- */

uint64_t alternate(uint32_t i, int64_t even, int64_t odd) {
    return static_cast<uint64_t>(i % 2 ? odd : even);
}

/* Patterns of values. The lane index is counted over all warps. In each pattern, either the sums of the low halves
 * produce a carry, or the total is wrong if a lane is added twice or skipped. */
const struct Pattern {
    const char *name;
    uint64_t (*value)(uint32_t i);
} patterns[] = {
    { "all -2", [](uint32_t) { return static_cast<uint64_t>(-2); } },
    { "all -1", [](uint32_t) { return static_cast<uint64_t>(-1); } },
    { "all 2^31", [](uint32_t) { return uint64_t{ 1 } << 31; } },
    { "all 2^31 - 1", [](uint32_t) { return (uint64_t{ 1 } << 31) - 1; } },
    { "all 2^32 - 1", [](uint32_t) { return (uint64_t{ 1 } << 32) - 1; } },
    { "sums of 2^31", [](uint32_t) { return (uint64_t{ 1 } << 31) / LANES; } },
    { "sums above 2^31", [](uint32_t) { return (uint64_t{ 1 } << 31) / LANES + 1; } },
    { "sums of 2^32", [](uint32_t) { return (uint64_t{ 1 } << 32) / LANES; } },
    { "sums above 2^32", [](uint32_t i) { return (uint64_t{ 1 } << 32) / LANES + (i % 3 == 0); } },
    { "sums above 2^33", [](uint32_t i) { return (uint64_t{ 2 } << 32) / LANES + i % 5; } },
    { "alternating, large",
      [](uint32_t i) { return alternate(i, (int64_t{ 1 } << 40) + 3, -(int64_t{ 1 } << 40) - 5); } },
    { "alternating, words", [](uint32_t i) { return alternate(i, 0x7fffffff, -0x7ffffffe); } },
    { "alternating, extreme", [](uint32_t i) { return alternate(i, INT64_MAX, INT64_MIN + 1); } },
    { "the lanes", [](uint32_t i) { return uint64_t{ 1 } << i % LANES % 63; } },
    { "positive, then negative",
      [](uint32_t i) { return static_cast<uint64_t>(i % LANES < LANES / 2 ? INT64_MAX / 7 : -INT64_MAX / 9); } },
};

enum { BLOCKS = 2, WARPS = 2, ALL = BLOCKS * WARPS * LANES };

/* Checks that every lane receives the total of its warp. */
template <class Value> void check_warps(Value value) {
    Array<uint64_t> values(ALL), sums(ALL);
    Array<uint32_t> word_sums(ALL), ors(ALL);
    for (uint32_t i = 0; i < ALL; i++)
        values[i] = value(i);
    const WarpLaunch launch = { values.device, sums.device, word_sums.device, ors.device };
    run("test_warps", BLOCKS, WARPS * LANES, 0, &launch);
    for (uint32_t first = 0; first < ALL; first += LANES) {
        uint64_t sum = 0;
        uint32_t any = 0;
        for (uint32_t i = first; i < first + LANES; i++) {
            sum += values[i];
            any |= static_cast<uint32_t>(values[i]);
        }
        for (uint32_t i = first; i < first + LANES; i++) {
            CHECK_INT(sums[i], sum);
            CHECK_INT(word_sums[i], static_cast<uint32_t>(sum));
            CHECK_INT(ors[i], any);
        }
    }
}

void test_warps_all() {
    for (const Pattern &pattern : patterns) {
        snprintf(test_where, sizeof test_where, "%d lanes, %s", LANES, pattern.name);
        check_warps(pattern.value);
    }
    for (uint32_t lane = 0; lane < LANES; lane++) {
        snprintf(test_where, sizeof test_where, "%d lanes, only lane %u", LANES, lane);
        check_warps([=](uint32_t i) { return i % LANES == lane ? (uint64_t{ 1 } << 33) + 1 : 0; });
    }
    for (int round = 0; round < 20; round++) {
        snprintf(test_where, sizeof test_where, "%d lanes, random values, %d", LANES, round);
        check_warps([](uint32_t) { return random_word(); });
    }
}

/* ---- sums over blocks ---- */

/* Values range up to the documented maximum per thread. The sum over the blocks exceeds 2^32. */
void test_motion_blocks() {
    enum { GRID = 20, THREADS = VMAFGPU__MOTION_THREADS, COUNT = GRID * THREADS };
    static const uint32_t most = 28 * 65535;
    for (int way = 0; way < 5; way++) {
        Array<uint32_t> values(COUNT);
        Array<vmafgpu__sums> sums(1);
        MotionLaunch launch = {};
        int64_t expected = 1;
        snprintf(test_where, sizeof test_where, "%d lanes, motion of blocks, way %d", LANES, way);
        for (uint32_t i = 0; i < COUNT; i++) {
            /* way 0: all threads; 1: every other thread; 2: random values; 3: first thread of a block; 4: all but the
             * last warp */
            const bool is_in = way == 0 || way == 2 || (way == 1 && i % 2) || (way == 3 && i % THREADS == 0) ||
                               (way == 4 && i % THREADS < THREADS - LANES);
            values[i] = is_in ? way == 2 ? source.below(most) : most : 0;
            expected += values[i];
        }
        memset(&sums[0], 0, sizeof sums[0]);
        sums[0].motion[1] = 1;
        launch.motion.batch.sums = sums.device;
        launch.values = values.device;
        run("test_motion", GRID, THREADS, THREADS / LANES * 4, &launch);
        CHECK_INT(sums[0].motion[0], 0);
        CHECK_INT(sums[0].motion[1], expected);
    }
}

/* Values range up to the maximum that a thread can reach. A thread has eight samples. For each sample, the logarithm is
 * below 2^19, the term of the numerator is below 2^15 in magnitude, and the noise is below 2^31. */
void test_vif_blocks() {
    enum { GRID = 5, THREADS = VMAFGPU__VIF_PLAIN_THREADS, COUNT = GRID * THREADS };
    for (int way = 0; way < 5; way++) {
        Array<uint64_t> flat_noise(COUNT);
        Array<uint32_t> denominator(COUNT), logs(COUNT), numerator(COUNT), samples(COUNT);
        Array<vmafgpu__sums> sums(1);
        VifLaunch launch = {};
        int64_t expected[4] = {};
        snprintf(test_where, sizeof test_where, "%d lanes, VIF of blocks, way %d", LANES, way);
        for (uint32_t i = 0; i < COUNT; i++) {
            const bool is_random = way == 4, is_in = way != 3 || i % THREADS < THREADS - LANES;
            const int32_t terms[] = { -2, i % 2 ? -262143 : 262143, -262143, 262143,
                                      static_cast<int32_t>(source.below(524287)) - 262143 };
            flat_noise[i] = is_in ? is_random ? random_word() >> 30 : 8 * uint64_t{ 0x7fffffff } : 0;
            denominator[i] = is_in ? is_random ? source.below(8 << 19) : (8 << 19) - 1 : 0;
            logs[i] = is_in ? is_random ? source.below(9) : 8 : 0;
            numerator[i] = is_in ? static_cast<uint32_t>(terms[way]) : 0;
            samples[i] = is_in ? 8 : 0;
            expected[0] += static_cast<int32_t>(numerator[i]);
            expected[1] += denominator[i] - static_cast<int64_t>(logs[i]) * (VIF_LOG_BIAS + VMAFGPU__VIF_LOG_NOISE);
            expected[2] += static_cast<int64_t>(flat_noise[i]);
            expected[3] += samples[i] - static_cast<int64_t>(logs[i]);
        }
        memset(&sums[0], 0, sizeof sums[0]);
        launch.vif.batch.sums = sums.device;
        launch.vif.scale = way % 4;
        launch.vif.first = 1;
        launch.flat_noise = flat_noise.device;
        launch.denominator = denominator.device;
        launch.logs = logs.device;
        launch.numerator = numerator.device;
        launch.samples = samples.device;
        run("test_vif", GRID, THREADS, THREADS / LANES * 4 * 8, &launch);
        const vmafgpu__vif_sums &got = sums[0].vif[way % 4];
        CHECK_INT(got.numerator[0], expected[0]);
        CHECK_INT(got.denominator, expected[1]);
        CHECK_INT(got.flat_noise, expected[2]);
        CHECK_INT(got.flat_count, expected[3]);
    }
}

/* Tests numbers of rows for which the last warps, or some of their lanes, have no row. */
void check_rows(int rows, const Pattern &pattern) {
    enum { SUMS = VMAFGPU__ADM_ROW_SUMS, SCALES = VMAFGPU__SCALES };
    const uint32_t grid[3] = { SUMS, SCALES, 1 };
    const size_t count = static_cast<size_t>(rows) * SUMS;
    Array<uint64_t> scratch(count * SCALES);
    Array<vmafgpu__sums> sums(1);
    vmafgpu__adm_rows_launch launch = {};
    uint64_t expected[SCALES][SUMS] = {}, left = 0;
    snprintf(test_where, sizeof test_where, "%d lanes, %d rows of %s", LANES, rows, pattern.name);
    memset(&sums[0], 0, sizeof sums[0]);
    launch.batch.sums = sums.device;
    launch.batch.pair[0].distorted = scratch.device;
    launch.scratch = reinterpret_cast<unsigned char *>(scratch.device);
    launch.first = 1;
    for (int s = 0; s < SCALES; s++) {
        launch.row_sums[s] = count * 8 * static_cast<size_t>(s);
        launch.rows[s] = rows;
        launch.row_shift[s] = s;
        launch.den_row_shift[s] = 3 * s;
        for (size_t i = 0; i < count; i++) {
            const size_t k = i / static_cast<size_t>(rows);
            const int shift = k < 6 ? s : 3 * s;
            const uint64_t v = pattern.value(static_cast<uint32_t>(i));
            const uint64_t half = static_cast<uint64_t>(vmafgpu__half(shift));
            scratch[count * static_cast<size_t>(s) + i] = v;
            expected[s][k] += static_cast<uint64_t>(static_cast<int64_t>(v + half) >> shift);
        }
    }
    const char *const message = simulated_launch("test_adm_rows", grid, VMAFGPU__ADM_ROW_THREADS, 0, &launch);
    CHECK_STR(message ? message : "", "");
    for (int s = 0; s < SCALES; s++) {
        const vmafgpu__adm_sums &got = sums[0].adm[s];
        for (int k = 0; k < 3; k++) {
            CHECK_INT(got.numerator[0][k], expected[s][k]);
            CHECK_INT(got.impairment[0][k], expected[s][3 + k]);
            CHECK_INT(got.denominator[k], expected[s][6 + k]);
        }
    }
    for (size_t i = 0; i < scratch.size; i++)
        left |= scratch[i];
    CHECK_INT(left, 0);
}

void test_rows() {
    enum { THREADS = VMAFGPU__ADM_ROW_THREADS };
    size_t next = 0;
    for (const int rows : { 1, LANES - 1, LANES + 1, THREADS - LANES, THREADS + 1, 4 * THREADS + LANES + 1 })
        for (int i = 0; i < 4; i++) /* cycles through the patterns */
            check_rows(rows, patterns[next++ % (sizeof patterns / sizeof patterns[0])]);
}

/* ---- incomplete warps ---- */

/* Block sizes are multiples of both lane counts, which GPU_KERNEL() enforces. Loops over block_threads() / LANES warps
 * depend on this. */
static_assert(VMAFGPU__IMPORT_THREADS % 64 == 0 && VMAFGPU__MOTION_THREADS % 64 == 0 &&
                  VMAFGPU__VIF_PLAIN_THREADS % 64 == 0 && VMAFGPU__ADM_THREADS % 64 == 0 &&
                  VMAFGPU__ADM_ROW_THREADS % 64 == 0,
              "blocks consist of whole warps");

void test_whole_waves() {
    const uint32_t grid[3] = { 1, 1, 1 };
    const WarpLaunch launch = {};
    snprintf(test_where, sizeof test_where, "%d lanes, incomplete warps", LANES);
    for (const uint32_t threads : { LANES / 2, LANES + 1, LANES + LANES / 2 }) {
        const char *const message = simulated_launch("test_warps", grid, threads, 0, &launch);
        CHECK_HAS(message ? message : "", "is not possible");
    }
}

} /* namespace */

/* ---- terms of VIF ---- */

/* Tests numerator terms near the values at which a division in doubles rounds to the other side of an integer:
 * covariances close to a multiple of the variance, and squares of covariances just above a multiple of it. Pictures
 * contain such samples too rarely. */
void test_levels() {
    enum { THREADS = 2 * LANES, COUNT = 64 * THREADS, ROUNDS = 12 };
    static const char *const kernels[] = { "test_levels_f64", "test_levels_int" };
    for (int round = 0; round < ROUNDS; round++) {
        Array<int32_t> s1(COUNT), s2(COUNT), s12(COUNT);
        Array<uint32_t> wrong(COUNT), sure(COUNT);
        LevelsLaunch launch = {};
        int wrongs = 0, sures = 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            const int32_t variance =
                VMAFGPU__VIF_NOISE + static_cast<int32_t>(source.below(round % 3 == 2 ? 1u << 20 : 900000000u));
            const int32_t apart = static_cast<int32_t>(source.below(round % 3 == 0 ? 256 : 4096));
            s1[i] = variance;
            s12[i] = round % 3 == 1 ? static_cast<int32_t>(source.below(static_cast<uint32_t>(variance)))
                     : round & 1    ? variance - apart
                                    : variance / 2 + apart;
            s12[i] = s12[i] > 0 ? s12[i] : 1;
            const int64_t square = int64_t{ s12[i] } * s12[i] / variance;
            s2[i] = static_cast<int32_t>(square + 1 + source.below(3));
        }
        /* the values of vmafgpu__vif_gain_of() for the gain limits 1 and 100 */
        launch.gain.limit = round & 4 ? 1 : 100;
        launch.gain.any = round & 4 ? 0 : INT32_MAX;
        launch.gain.shift = round & 4 ? 31 : 6;
        launch.gain.one = 1;
        launch.s1 = s1.device;
        launch.s2 = s2.device;
        launch.s12 = s12.device;
        launch.wrong = wrong.device;
        launch.sure = sure.device;
        snprintf(test_where, sizeof test_where, "%d lanes, terms of VIF, %s, round %d", LANES, kernels[round / 6],
                 round);
        run(kernels[round / 6], COUNT / THREADS, THREADS, 0, &launch);
        for (uint32_t i = 0; i < COUNT; i++) {
            wrongs += wrong[i] != 0;
            sures += sure[i] != 0;
        }
        CHECK_INT(wrongs, 0);
        CHECK(sures > COUNT / 8);
    }
}

/* ---- a sum in a fixed order ---- */

/* Functions that compute the i-th c-value of cambi. They differ in how many values are equal and in the range of
 * values. */
const struct Content {
    const char *name;
    double (*value)(uint32_t i, double chance);
} contents[] = {
    { "random values", [](uint32_t, double chance) { return chance * 2097152; } },
    { "mostly zeros", [](uint32_t i, double chance) { return i % 3 ? 0 : chance * 2097152; } },
    { "few different values", [](uint32_t i, double) { return i * 2654435769u % 5 * 6000.0; } },
    { "large and small values",
      [](uint32_t i, double chance) { return i % 2 ? 3200000 + chance * 8 : 1 + chance * 7; } },
    { "values of all magnitudes",
      [](uint32_t i, double chance) { return ldexp(1 + chance, static_cast<int>(i % 23)); } },
    { "rising", [](uint32_t i, double) { return i * 3.5; } },
    { "falling", [](uint32_t i, double) { return (100000 - i) * 3.5; } },
};

/* Moves the `top` largest values to the front and returns their sum, as libvmaf does. */
double select_and_add(float *values, int64_t n, int64_t top) {
    double sum = 0;
    int64_t left = 0, right = n - 1;
    while (top < n && left < right) {
        const float pivot = values[top];
        int64_t i = left, k = right;
        while (i <= k) {
            while (values[i] > pivot)
                i++;
            while (values[k] < pivot)
                k--;
            if (i <= k)
                std::swap(values[i++], values[k--]);
        }
        left = k < top ? i : left;
        right = top < i ? k : right;
    }
    for (int64_t i = 0; i < top; i++)
        sum += static_cast<double>(values[i]);
    return sum;
}

void check_order(const Content &content, int width, int height, int64_t top) {
    const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
    Array<float> values(count);
    Array<vmafgpu__sums> sums(1);
    std::vector<float> expected(count);
    vmafgpu__cambi_launch launch = {};
    const uint32_t grid[3] = { 1, VMAFGPU__CAMBI_SCALES, 1 };
    snprintf(test_where, sizeof test_where, "%d lanes, order of %s, %dx%d, %lld", LANES, content.name, width, height,
             static_cast<long long>(top));
    for (size_t i = 0; i < count; i++) {
        const float v = static_cast<float>(content.value(static_cast<uint32_t>(i), source.below(1 << 30) * 0x1p-30));
        values[i] = expected[i] = v < 0.5f ? 0 : v;
    }
    memset(&sums[0], 0, sizeof sums[0]);
    sums[0].cambi[1].top[1][3] = int64_t{ 1 } << 53;
    launch.batch.sums = sums.device;
    launch.batch.pair[0].reference = launch.batch.pair[0].distorted = values.device;
    launch.scratch = reinterpret_cast<unsigned char *>(values.device);
    launch.variant = launch.image = 1;
    launch.scale[3].width = width;
    launch.scale[3].height = height;
    launch.scale[3].top = top;
    const char *const message = simulated_launch(
        "test_cambi_order", grid, VMAFGPU__CAMBI_ORDER_THREADS,
        VMAFGPU__CAMBI_ORDER_HEAD + VMAFGPU__CAMBI_ORDER_THREADS * VMAFGPU__CAMBI_ORDER_RUN * 4, &launch);
    CHECK_STR(message ? message : "", "");
    const double sum = select_and_add(expected.data(), static_cast<int64_t>(count), top);
    CHECK_INT(sums[0].cambi[1].top[1][3], static_cast<int64_t>(sum * 16777216));
    CHECK_INT(memcmp(&values[0], expected.data(), count * sizeof(float)), 0);
}

void test_order() {
    for (const Content &content : contents) {
        check_order(content, 221, 101, 221 * 101 * 3 / 5);
        check_order(content, 130, 160, 130 * 160);
        check_order(content, 97, 99, 1);
        check_order(content, 31, 17, 400);
    }
}

/* ---- a matrix with a column of zeros ---- */

/* Tridiagonalises a matrix in which row and column `isolated` are 0 except on the diagonal. The position of this row
 * must not change any bit of the results for the other rows. */
std::vector<float> tridiagonal(const std::vector<float> &square, uint32_t isolated) {
    Array<float> matrix(SPEED_SQUARE), lines(2 * SPEED_SIDE);
    for (uint32_t y = 0; y < SPEED_SIDE; y++) {
        for (uint32_t x = 0; x < SPEED_SIDE; x++) {
            const bool is_isolated = y == isolated || x == isolated;
            const uint32_t row = y - (y > isolated), column = x - (x > isolated);
            matrix[y * SPEED_SIDE + x] = !is_isolated ? square[row * (SPEED_SIDE - 1) + column] : x == y ? 3.0f : 0.0f;
        }
    }
    const EigenLaunch launch = { matrix.device, lines.device };
    run("test_tridiagonalise", 1, LANES, (5 * SPEED_LINE + SPEED_SQUARE) * sizeof(float), &launch);
    return std::vector<float>(&lines[0], &lines[0] + 2 * SPEED_SIDE);
}

void test_tridiagonal() {
    enum { REST = SPEED_SIDE - 1 };
    std::vector<float> square(REST * REST);
    snprintf(test_where, sizeof test_where, "%d lanes, a column of zeros", LANES);
    for (uint32_t y = 0; y < REST; y++)
        for (uint32_t x = 0; x <= y; x++)
            square[y * REST + x] = square[x * REST + y] = static_cast<float>(source.below(4000)) / 64 - 30;
    const std::vector<float> first = tridiagonal(square, 0), last = tridiagonal(square, REST);
    CHECK_BITS(static_cast<double>(first[0]), 3);
    CHECK_BITS(static_cast<double>(first[SPEED_SIDE]), 0);
    CHECK_INT(memcmp(&first[1], &last[0], REST * sizeof(float)), 0);
    CHECK_INT(memcmp(&first[SPEED_SIDE + 1], &last[SPEED_SIDE], (REST - 1) * sizeof(float)), 0);
}

int main() {
    for (const simulated::Order order : { simulated::FORWARD, simulated::REVERSED, simulated::SHUFFLED }) {
        simulated_order(order, 7);
        test_warps_all();
        test_motion_blocks();
        test_vif_blocks();
        test_tridiagonal();
    }
    test_rows();
    test_levels();
    test_whole_waves();
    for (const simulated::Order order : { simulated::FORWARD, simulated::REVERSED, simulated::SHUFFLED }) {
        simulated_order(order, 7);
        if (test_failed == 0) /* if sums are wrong, the kernel might not end */
            test_order();
    }
    return test_end();
}
