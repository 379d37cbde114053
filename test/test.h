/* Checks for test programs. A failed check prints its file, line and values, and the program continues. A check returns
 * whether it passed. Programs end with `return test_end();`, which prints the numbers of passed and failed checks.
 *
 * In a loop, each iteration counts as a check. A program prints only its first twenty failures. */
#ifndef TEST_H
#define TEST_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes the compiler round each product and each sum in the tests' formulas, as in the library, regardless of its
 * flags. */
#if defined(__clang__)
#if defined(__x86_64__) || defined(__i386__)
#pragma float_control(precise, on)
#pragma float_control(except, on)
#endif
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

enum { TEST_SHOWN = 20 };

/* A program with several source files defines TEST_STATE as nothing in one of them, and as `extern` in the others. */
#ifndef TEST_STATE
#define TEST_STATE static
#endif

TEST_STATE long test_passed, test_failed, test_skipped, test_rounded;
TEST_STATE char test_where[256]; /* the name of the current case, which is printed with a failure */

#define CHECK(condition)          test_check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_INT(got, expected)  test_int((int64_t)(got), (int64_t)(expected), __FILE__, __LINE__, #got)
#define CHECK_BITS(got, expected) test_bits((got), (expected), __FILE__, __LINE__, #got)
#define CHECK_STR(got, expected)  test_str((got), (expected), __FILE__, __LINE__, #got)
/* Checks that the text contains these words. */
#define CHECK_HAS(text, words) test_has((text), (words), __FILE__, __LINE__, #text)

static inline int test_end(void);

/* How many of the possible cases a test runs: all with DEPTH=all, some by default, and few under a RUNNER (such as an
 * emulator) or with sanitizers, because the program is then many times slower. */
typedef enum test_amount { TEST_FEW, TEST_SOME, TEST_ALL } test_amount;

static inline test_amount test_depth(void) {
    const char *depth = getenv("DEPTH"), *sanitize = getenv("SANITIZE"), *runner = getenv("RUNNER");
    return depth && strcmp(depth, "all") == 0               ? TEST_ALL
           : (sanitize && *sanitize) || (runner && *runner) ? TEST_FEW
                                                            : TEST_SOME;
}

/* Whether the checks of the current case are counted. With TEST_CASE=TEXT in the environment, only the checks of cases
 * whose name contains TEXT are counted. */
static inline int test_is_wanted(void) {
    static const char *text;
    static int is_known;
    if (!is_known) {
        text = getenv("TEST_CASE");
        is_known = 1;
    }
    return !text || strstr(test_where, text) != NULL;
}

/* Counts a check and returns whether to print a failure. With TEST_FIRST in the environment, the program ends after its
 * first failure. */
static inline int test_note(int ok) {
    if (!test_is_wanted())
        return 0;
    if (test_failed > 0 && getenv("TEST_FIRST"))
        exit(test_end());
    if (ok) {
        test_passed++;
    } else {
        test_failed++;
        fflush(stdout); /* keeps the failures printed so far if the program crashes */
    }
    return !ok && test_failed <= TEST_SHOWN;
}

static inline int test_check(int ok, const char *file, int line, const char *text) {
    if (test_note(ok))
        printf("%s:%d: [%s] failed: %s\n", file, line, test_where, text);
    return ok;
}

static inline int test_int(int64_t got, int64_t expected, const char *file, int line, const char *text) {
    if (test_note(got == expected))
        printf("%s:%d: [%s] %s is %" PRId64 ", not %" PRId64 "\n", file, line, test_where, text, got, expected);
    return got == expected;
}

/* Whether two doubles have the same bits. All NaNs are equal; 0 and -0 differ. */
static inline int test_same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static inline int test_bits(double got, double expected, const char *file, int line, const char *text) {
    int ok = test_same_bits(got, expected);
    if (test_note(ok))
        printf("%s:%d: [%s] %s is %.17g, not %.17g\n", file, line, test_where, text, got, expected);
    return ok;
}

/* Compares a value with one that the test computes with log10(), pow() or exp() of the C library. The header's own
 * versions of these functions return the same bits as the GNU C library on x86-64 with FMA; the results of other C
 * libraries may differ in the last bits. */
#define CHECK_COMPUTED(got, expected) test_computed((got), (expected), __FILE__, __LINE__, #got)

static inline int test_computed(double got, double expected, const char *file, int line, const char *text) {
#if !defined(__GLIBC__) || !defined(__x86_64__)
    double size = expected < -1 ? -expected : expected < 1 ? 1 : expected;
    double off = got > expected ? got - expected : expected - got;
    if (!test_same_bits(got, expected) && off < 1e-13 * size) {
        test_rounded++;
        test_passed++;
        return 1;
    }
#endif
    return test_bits(got, expected, file, line, text);
}

static inline int test_str(const char *got, const char *expected, const char *file, int line, const char *text) {
    int ok = got && expected && strcmp(got, expected) == 0;
    if (test_note(ok)) {
        printf("%s:%d: [%s] %s is \"%s\", not \"%s\"\n", file, line, test_where, text, got ? got : "(null)",
               expected ? expected : "(null)");
    }
    return ok;
}

static inline int test_has(const char *text, const char *words, const char *file, int line, const char *name) {
    int ok = text && strstr(text, words) != NULL;
    if (test_note(ok)) {
        printf("%s:%d: [%s] %s is \"%s\", which lacks \"%s\"\n", file, line, test_where, name, text ? text : "(null)",
               words);
    }
    return ok;
}

static inline void test_skip(const char *why) {
    test_skipped++;
    printf("skipped: %s\n", why);
}

/* Switches to a locale with a decimal comma. If none is installed, counts a skipped check and returns 0. Needs
 * <locale.h>. */
#define TEST_COMMA_LOCALE() \
    (setlocale(LC_ALL, "de_DE.UTF-8") || setlocale(LC_ALL, "de_DE.utf8") || setlocale(LC_ALL, "fr_FR.UTF-8") || \
     setlocale(LC_ALL, "fr_FR.utf8") || setlocale(LC_ALL, "de_DE") || \
     (test_skip("no locale with a decimal comma is installed"), 0))

/* Returns `wanted`, or 1 if the library starts no threads on this target. */
static inline int test_thread_count(int wanted) {
#if defined(__wasm__) && !defined(_REENTRANT)
    return wanted < 1 ? wanted : 1;
#else
    return wanted;
#endif
}

/* Ends the program if it cannot continue, for example without memory or without a file that must exist. */
static inline void test_need(int ok, const char *what) {
    if (!ok) {
        printf("cannot continue (%s)\n%ld passed, %ld failed\n", what, test_passed, test_failed + 1);
        exit(1);
    }
}

static inline int test_end(void) {
    if (test_failed > TEST_SHOWN)
        printf("... and %ld more failures\n", test_failed - TEST_SHOWN);
    if (test_rounded)
        printf("%ld values differ from those of the C library in the last bits\n", test_rounded);
    printf("%ld passed, %ld failed", test_passed, test_failed);
    if (test_skipped)
        printf(", %ld skipped", test_skipped);
    printf("\n");
    return test_failed ? 1 : 0;
}

/* Reads a whole file and appends a 0 byte. Returns NULL if the file cannot be read. The caller frees the text. */
static inline char *read_text(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = (char *)malloc((size_t)size + 1);
        if (text)
            text[fread(text, 1, (size_t)size, file)] = 0;
    }
    if (file)
        fclose(file);
    return text;
}

#endif /* TEST_H */
