/* Functions that no caller sees; here the implementation is private to this file. */
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "test.h"

/* VIF's table of logarithms: 2048 * log2(m) for m = 32768..65535, as single precision rounds it. Its checksum and some
 * entries, among them the first that plain double precision would give otherwise. */
static void test_log_table(void) {
    static uint16_t table[32768];
    uint64_t hash = 1469598103934665603u, sum = 0; /* FNV-1a, from this start */
    vmafgpu__log_table(table);
    for (int i = 0; i < 32768; i++) {
        for (int byte = 0; byte < 2; byte++) {
            hash = (hash ^ ((table[i] >> (8 * byte)) & 255u)) * 0x100000001b3u;
        }
        sum += table[i];
        CHECK(i == 0 || table[i] == table[i - 1] || table[i] == table[i - 1] + 1);
    }
    CHECK(hash == 0xd706fa56cbf9601bu);
    CHECK_INT(sum, 1044032097);
    CHECK_INT(table[0], 30720);
    CHECK_INT(table[33108 - 32768], 30751);
    CHECK_INT(table[49152 - 32768], 31918);
    CHECK_INT(table[32767], 32768);
}

/* CAMBI's reciprocals are the decimal numbers that nine digits print. 42 of them are not the nearest floats. */
static void test_reciprocals(void) {
    vmafgpu v;
    vmafgpu_config *c = &v.config;
    vmafgpu_feature_config feature = {"cambi", NULL};
    int unlike = 0;
    memset(&v, 0, sizeof v);
    c->width = c->height = 240;
    c->bit_depth = 8;
    c->threads = 1;
    CHECK_INT(vmafgpu__add_feature(&v, 0, &feature), VMAFGPU_OK);
    CHECK_INT(vmafgpu__make_plan(&v), VMAFGPU_OK);
    CHECK_INT(vmafgpu__cambi_open(&v), VMAFGPU_OK);
    for (int i = 1; i <= 4225; i++) {
        char text[32];
        snprintf(text, sizeof text, "%.9g", 1.0 / i);
        CHECK(v.cambi->reciprocal[i] == strtof(text, NULL));
        unlike += v.cambi->reciprocal[i] != (float)(1.0 / i);
    }
    CHECK_INT(unlike, 42);
    vmafgpu__give(&v, v.cambi);
}

/* Of which samples which differences are visible, at the default threshold. */
static void test_visibility(void) {
    static const int limits[] = {178, 305, 432, 559, 686, 813, 1023};
    static const struct {
        double luminance;
        int    is_pq, floor;
    } floors[] = {{0, 0, 0}, {0.02, 0, 69}, {0.04, 0, 74}, {0.06, 0, 78}, {0.06, 1, 108}};
    for (int k = 1; k <= 32; k++) {
        CHECK_INT(vmafgpu__cambi_limit(k, 0.019, 0), limits[k < 7 ? k - 1 : 6]);
        CHECK_INT(vmafgpu__cambi_limit(k, 0.019, 1), k == 1 ? 233 : 1023);
    }
    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++) {
        CHECK_INT(vmafgpu__cambi_floor(floors[i].luminance, floors[i].is_pq), floors[i].floor);
    }
}

int main(void) {
    test_log_table();
    test_reciprocals();
    test_visibility();
    return test_end();
}
