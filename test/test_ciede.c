/* Tests that ciede returns the same value with any number of threads and any instruction set, for small, odd-sized,
 * identical and very different pictures. Also tests which settings are rejected. (test_features.c compares ciede with
 * libvmaf.) */
#include "scoring.h"

static const struct {
    int threads;
    unsigned cpumask;
} ways[] = { { 1, 0 }, { 3, 0 }, { 1, 16 }, { 2, 255 } };

/* Returns the value of ciede. Checks that the value is the same with any number of threads and any instruction set. */
static double ciede_of(const char *what, int w, int h, int depth, int chroma) {
    static const vmafgpu_feature_config feature = { "ciede", NULL };
    film f = film_make_colour(what, w, h, depth, chroma, 1, 7);
    double first = 0;
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        vmafgpu_config config = film_feature_config(&f, &feature);
        scores s;
        config.threads = test_thread_count(ways[way].threads);
        config.cpumask = ways[way].cpumask;
        snprintf(test_where, sizeof test_where, "ciede %s %dx%d %d bits %d way %d", what, w, h, depth, chroma,
                 (int)way);
        s = film_score(&f, &config);
        if (CHECK_INT(s.rows, 1)) {
            first = way == 0 ? s.values[0] : first;
            CHECK_BITS(s.values[0], first);
        }
        scores_free(&s);
    }
    film_free(&f);
    return first;
}

static void test_ciede(void) {
    static const int formats[3] = { 420, 422, 444 };
    CHECK(ciede_of("texture+same", 65, 33, 8, 420) > 1e300);
    CHECK(ciede_of("black+same", 16, 16, 8, 444) > 1e300);
    for (int i = 0; i < 3; i++) {
        CHECK(ciede_of("texture+mix", 129, 67, 8, formats[i]) > 0);
        CHECK(ciede_of("noise+grain", 64, 65, 10, formats[i]) < 45);
        CHECK(ciede_of("blocks+invert", 97, 32, 12, formats[i]) < 45);
        CHECK(ciede_of("texture+faint", 130, 40, 16, formats[i]) > 0);
        CHECK(ciede_of("noise+mix", 16, 17, 8, formats[i]) < 45);
    }
}

static void test_refused(void) {
    check_feature_refused("ciede", 14, VMAFGPU_CHROMA_444,
                          "feature ciede: unsupported bit depth (14); use 8, 10, 12 or 16");
    check_feature_refused("ciede", 8, VMAFGPU_CHROMA_400, "requires chroma");
}

int main(void) {
    test_ciede();
    test_refused();
    return test_end();
}
