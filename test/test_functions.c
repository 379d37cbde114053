/* Tests the mathematical functions of vmafgpu.h (section >>functions), which must return the same bits on every
 * system. Compares checksums of results for fixed sequences of arguments. On x86-64 with FMA, also compares the results
 * with those of the GNU C library 2.28 or later, which the functions reproduce. */
#if defined(__x86_64__) && defined(__linux__)
#include <features.h> /* __GLIBC_PREREQ */
#endif
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "test.h"

#include <math.h>

#if defined(__GLIBC_PREREQ) && defined(__x86_64__) && !defined(VMAFGPU__SANITIZED)
#if __GLIBC_PREREQ(2, 28)
#define HAS_ORIGINAL
#endif
#endif

/* Whether the functions of this C library return the bits that the header's functions must return. Valgrind may round
 * differently, and GLIBC_TUNABLES can disable FMA. */
static int has_original(void) {
#ifdef HAS_ORIGINAL
    const char *tunables = getenv("GLIBC_TUNABLES"), *runner = getenv("RUNNER");
    return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2") &&
           !(tunables && strstr(tunables, "hwcaps")) && !(runner && strstr(runner, "valgrind"));
#else
    return 0;
#endif
}

/* ---- arguments ---- */

static uint64_t seed;

static uint64_t random_bits(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * 2685821657736338717u;
}

static double random_in(double low, double high) {
    return low + (high - low) * ((double)(random_bits() >> 11) / 9007199254740992.0);
}

/* Returns any double. All NaNs become the same one, because some NaNs are signalling. */
static double random_double(void) {
    const double x = vmafgpu__double_of(random_bits());
    return x == x ? x : (double)NAN;
}

/* Returns x * 2^k, for a random k from `low` to `high`. */
static double scaled(double x, int low, int high) {
    const int k = low + (int)(random_bits() % (uint64_t)(high - low + 1));
    return x * vmafgpu__double_of((uint64_t)(1023 + k) << 52);
}

/* Numbers that are special cases of at least one function. */
static const double special[] = { 0,
                                  -0.0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  3,
                                  -3,
                                  .5,
                                  -.5,
                                  1e-320,
                                  -1e-320,
                                  2.2250738585072014e-308,
                                  1e308,
                                  4503599627370496.,
                                  4503599627370497.,
                                  -4503599627370497.,
                                  9007199254740991.,
                                  -9007199254740991.,
                                  9007199254740992.,
                                  9223372036854775808.,
                                  -9223372036854775808.,
                                  2.710505431213761e-20,
                                  -1.3e-20,
                                  5.55e-17,
                                  1.0000000000000002,
                                  .9999999999999999,
                                  -1.0000000000000002,
                                  709.782712893384,
                                  709.7827128933841,
                                  -708.3964185322641,
                                  -745.1332191019411,
                                  -745.1332191019412,
                                  1023,
                                  1024,
                                  -1075,
                                  512,
                                  -512,
                                  .9375,
                                  1.064697265625,
                                  1.0646972656249998 };
enum { SPECIALS = sizeof special / sizeof *special };

static double special_of(uint64_t k) {
    return k < SPECIALS        ? special[k]
           : k == SPECIALS     ? (double)INFINITY
           : k == SPECIALS + 1 ? -(double)INFINITY
                               : (double)NAN;
}

static double argument_of_exp(int64_t i) {
    switch (i % 5) {
    case 0: return random_in(-750, 715);
    case 1: return random_in(-20, 0); /* arguments as they occur in models */
    case 2: return random_double();
    case 3: return special_of((uint64_t)i / 5 % (SPECIALS + 3));
    default: return scaled(random_in(-1, 1), -59, 0);
    }
}

static double argument_of_log10(int64_t i) {
    switch (i % 6) {
    case 0: return random_double();
    case 1: return random_in(0, 70000);
    case 2: return random_in(.9, 1.1);
    case 3: return special_of((uint64_t)i / 6 % (SPECIALS + 3));
    case 4: return scaled(random_in(0, 2), -1021, 0);
    default: return floor(scaled(random_in(1, 2), 0, 63)); /* integers up to 2^64, such as sums */
    }
}

static void arguments_of_pow(int64_t i, double *x, double *y) {
    static const double exponents[] = { 2.4, 1 / 2.4, 1. / 3, 7, 3, .45, 1305 / 8192., 2523 / 32., .0448, .2856 };
    const uint64_t specials = SPECIALS + 3, k = (uint64_t)i / 8;
    *x = random_in(0, 3);
    *y = random_in(-100, 100);
    switch (i % 8) {
    case 0: *y = exponents[k % 10]; break;
    case 1: *x = random_in(0, 100), *y = exponents[k % 10]; break;
    case 2: *x = random_double(); break;
    case 3: *x = special_of(k % specials), *y = special_of(k / specials % specials); break;
    case 4: *x = random_in(.99, 1.01), *y = random_in(-1e5, 1e5); break;
    case 5: *x = random_in(-3, 3), *y = floor(*y); break;
    case 6: *x = random_double(), *y = random_double(); break;
    default: *x = scaled(*x, -1021, 0), *y /= 10;
    }
}

/* Writes the operands of a * b + c. c is close to the product or its negative, or much smaller or larger. */
static void arguments_of_fused(int64_t i, double *a, double *b, double *c) {
    *a = random_in(-2, 2);
    *b = i % 5 == 0 ? *a : random_in(-2, 2);
    if (i % 3 == 0)
        *a = (float)*a;
    *c = scaled(random_in(-2, 2), -120, 119);
    if (i % 7 == 0) { /* half of these sums are halfway between two doubles */
        *a = floor(*a * 67108864);
        *b = floor(*b * 67108864);
        *c = (i % 2 ? 1 : -1) * floor(random_in(9007199254740992., 18014398509481984.)) * 2;
    } else if (i % 2 == 0)
        *c = -(*a * *b) + *c * 8.673617379884035e-19;
}

static double argument_of_sin(int64_t i) {
    return i % 3 == 0   ? random_in(-32, 32)
           : i % 3 == 1 ? (double)(float)random_in(-7, 7)
                        : scaled(random_in(-1, 1), -39, 0);
}

static void arguments_of_atan2(int64_t i, double *y, double *x) {
    *y = (double)(float)scaled(random_in(-1, 1), -8, 7);
    *x = (double)(float)scaled(random_in(-1, 1), -8, 7);
    if (i % 50 == 0)
        *(i % 100 ? x : y) = 0;
}

/* ---- checksums, on all systems ---- */

enum { SUMMED = 200000 };

static uint64_t add_to_sum(uint64_t sum, double value) {
    return (sum ^ (value == value ? vmafgpu__bits_of(value) : 0x7ff8000000000000u)) * 0x100000001b3u;
}

static void check_sum(const char *name, uint64_t sum, uint64_t expected) {
    snprintf(test_where, sizeof test_where, "checksum of %s", name);
    if (!CHECK(sum == expected))
        printf("0x%016" PRIx64 "u\n", sum);
}

static void test_sums(const char *name, const vmafgpu__maths *maths) {
    uint64_t exps = 1469598103934665603u, logs = exps, powers = exps;
    printf("checksums of %d results, %s\n", SUMMED, name);
    seed = 88172645463325252u;
    for (int64_t i = 0; i < SUMMED; i++)
        exps = add_to_sum(exps, maths->exp(argument_of_exp(i)));
    for (int64_t i = 0; i < SUMMED; i++)
        logs = add_to_sum(logs, maths->log10(argument_of_log10(i)));
    for (int64_t i = 0; i < SUMMED; i++) {
        double x, y;
        arguments_of_pow(i, &x, &y);
        powers = add_to_sum(powers, maths->pow(x, y));
    }
    check_sum("exp", exps, 0xa2a4910bbc1add76u);
    check_sum("log10", logs, 0xf523ab877c55e69au);
    check_sum("pow", powers, 0xcca1945a08c24e14u);
}

static void test_other_sums(void) {
    uint64_t fused = 1469598103934665603u, sines = fused, angles = fused, powers = fused;
    seed = 88172645463325252u;
    for (int64_t i = 0; i < SUMMED; i++) {
        double a, b, c;
        arguments_of_fused(i, &a, &b, &c);
        fused = add_to_sum(fused, vmafgpu__fused_in_parts(a, b, c));
    }
    for (int64_t i = 0; i < SUMMED; i++) {
        const double x = argument_of_sin(i);
        sines = add_to_sum(add_to_sum(sines, vmafgpu__sin(x)), vmafgpu__cos(x));
    }
    for (int64_t i = 0; i < SUMMED; i++) {
        double y, x;
        arguments_of_atan2(i, &y, &x);
        angles = add_to_sum(angles, vmafgpu__atan2(y, x));
    }
    for (uint32_t bits = 0; bits < 0x7f800000; bits += 10007)
        powers = add_to_sum(powers, (double)vmafgpu__powf(vmafgpu__float_of_bits(bits), 1.f / 3, vmafgpu__powf_logs,
                                                          vmafgpu__powf_roots));
    check_sum("a * b + c", fused, 0xc870dab3ce0ba3a7u);
    check_sum("sin and cos", sines, 0x62815907b6bd1451u);
    check_sum("atan2", angles, 0xdc83b6e111641dacu);
    check_sum("powf", powers, 0xf09fee5d71bf2783u);
}

/* ---- comparison with the C library ---- */

/* Checks that two results have the same bits. The payloads of NaNs may differ, but not their signs. x and y are the
 * arguments. */
static void compare_results(const char *name, double own, double original, double x, double y) {
    if (memcmp(&own, &original, sizeof own) == 0 ||
        (own != own && original != original && !signbit(own) == !signbit(original)))
        return;
    snprintf(test_where, sizeof test_where, "%s of %.17g and %.17g: %.17g, not %.17g", name, x, y, own, original);
    CHECK(own == original && own != own);
}

static void compare_doubles(const vmafgpu__maths *maths, int64_t count) {
    /* Newer versions (seen with 2.43) return a NaN with the sign bit for negative numbers. */
    volatile double minus_one = -1;
    const int has_negative_nan = signbit(log10(minus_one)) != 0;
    seed = 1181783497276652981u;
    for (int64_t i = 0; i < count; i++) {
        double x, y, z;
        x = argument_of_exp(i);
        compare_results("exp", maths->exp(x), exp(x), x, 0);
        x = argument_of_log10(i);
        if (!(x < 0) || !has_negative_nan)
            compare_results("log10", maths->log10(x), log10(x), x, 0);
        arguments_of_pow(i, &x, &y);
        compare_results("pow", maths->pow(x, y), pow(x, y), x, y);
        arguments_of_fused(i, &x, &y, &z);
        /* the result of the GNU C library is exact */
        compare_results("a * b + c", vmafgpu__fused_in_parts(x, y, z), fma(x, y, z), x, y);
    }
    CHECK(count > 0);
}

/* About 0.1 % of the results of sin, cos and atan2 differ from those of the GNU C library: the library rounds these to
 * the other neighbouring double. After rounding to float, all results must be equal. */
static void compare_angles(int64_t count) {
    int64_t others = 0;
    seed = 1181783497276652981u;
    snprintf(test_where, sizeof test_where, "angles");
    for (int64_t i = 0; i < count; i++) {
        double x = argument_of_sin(i), y;
        const double s = vmafgpu__sin(x), c = vmafgpu__cos(x), sines = sin(x), cosines = cos(x);
        arguments_of_atan2(i, &y, &x);
        const double a = vmafgpu__atan2(y, x), angle = atan2(y, x);
        others += (s != sines) + (c != cosines) + (a != angle);
        if ((float)s != (float)sines || (float)c != (float)cosines || (float)a != (float)angle ||
            fabs(s - sines) > 2.3e-16 || fabs(c - cosines) > 2.3e-16 || fabs(a - angle) > 4.5e-16)
            CHECK_BITS(s + c + a, sines + cosines + angle);
    }
    CHECK(others < count / 100); /* out of 3 * count results */
    printf("%" PRId64 " of %" PRId64 " sines, cosines and angles differ from the C library\n", others, 3 * count);
}

static float weight_of(float t, double (*sine)(double)) {
    const double x = (double)t, pi = 3.14159265358979323846;
    return (float)(4 * sine(pi * x) * sine(pi * x / 4) / (pi * pi * x * x));
}

/* Compares functions of a float with those of the C library, for every `step`-th positive float. */
static void compare_floats(uint32_t step) {
    static const float exponents[] = { 1.f / 3, 3, 7 };
    for (int k = 0; k < 3; k++) {
        snprintf(test_where, sizeof test_where, "powf(, %g)", (double)exponents[k]);
        for (uint32_t bits = 0; bits <= 0x7f800000u; bits += step) {
            const float x = vmafgpu__float_of_bits(bits),
                        power = vmafgpu__powf(x, exponents[k], vmafgpu__powf_logs, vmafgpu__powf_roots);
            if (power < powf(x, exponents[k]) || power > powf(x, exponents[k]))
                CHECK_BITS(power, powf(x, exponents[k]));
        }
    }
    /* as in vmafgpu__speed_lanczos() */
    snprintf(test_where, sizeof test_where, "lanczos4");
    for (uint32_t bits = 0; bits < 0x40800000u; bits += step) {
        const float t = vmafgpu__float_of_bits(bits), own = weight_of(t, vmafgpu__sin), other = weight_of(t, sin);
        if (own < other || own > other)
            CHECK_BITS(own, other);
    }
    /* as in vmafgpu__speed_resolve() */
    snprintf(test_where, sizeof test_where, "log2");
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += step) {
        const float x = vmafgpu__float_of_bits(bits);
        const float own = (float)(25 * (vmafgpu__log2((double)x, vmafgpu__log2_table) + 4.0941911703612819)),
                    other = (float)(25 * (log2((double)x) + 4.0941911703612819));
        if (own < other || own > other)
            CHECK_BITS(own, other);
    }
    CHECK(step > 0);
}

int main(void) {
    const test_amount depth = test_depth();
    const int64_t count = depth == TEST_ALL ? 100000000 : depth == TEST_SOME ? 1000000 : 100000;
    test_sums("as compiled", &vmafgpu__maths_of_target);
#ifdef VMAFGPU__ASKS_FOR_FMA
    if (vmafgpu__choose_maths(0) == &vmafgpu__maths_with_fma)
        test_sums("with FMA", &vmafgpu__maths_with_fma);
#endif
    test_other_sums();
    if (has_original()) {
        compare_doubles(&vmafgpu__maths_of_target, count);
#ifdef VMAFGPU__ASKS_FOR_FMA
        compare_doubles(&vmafgpu__maths_with_fma, count);
#endif
        compare_angles(depth == TEST_ALL ? 20000000 : count / 5);
        compare_floats(depth == TEST_ALL ? 1 : 4099);
    } else {
        test_skip("only checksums are compared (other results need GNU C library 2.28 or later on x86-64 with FMA)");
    }
    return test_end();
}
