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

int main(void) {
    test_log_table();
    return test_end();
}
