/* xxh64.c: see xxh64.h. */
#include "xxh64.h"

#include <stdint.h>
#include <string.h>

#define XXH64_P1 0x9e3779b185ebca87u
#define XXH64_P2 0xc2b2ae3d27d4eb4fu
#define XXH64_P3 0x165667b19e3779f9u
#define XXH64_P4 0x85ebca77c2b2ae63u
#define XXH64_P5 0x27d4eb2f165667c5u

static uint64_t xxh64_rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

static uint64_t xxh64_load(const unsigned char *p, int bytes) {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | p[i];
    return value;
}

static uint64_t xxh64_round(uint64_t lane, uint64_t input) {
    return xxh64_rotate(lane + input * XXH64_P2, 31) * XXH64_P1;
}

void xxh64_start(xxh64 *h) {
    memset(h, 0, sizeof *h);
    h->lanes[0] = XXH64_P1 + XXH64_P2;
    h->lanes[1] = XXH64_P2;
    h->lanes[3] = 0 - XXH64_P1;
}

static void xxh64_stripe(xxh64 *h, const unsigned char *p) {
    for (int i = 0; i < 4; i++)
        h->lanes[i] = xxh64_round(h->lanes[i], xxh64_load(p + 8 * i, 8));
}

void xxh64_add(xxh64 *h, const void *data, size_t size) {
    const unsigned char *p = (const unsigned char *)data;
    size_t kept = (size_t)(h->size % 32);
    h->size += size;
    if (kept > 0) {
        size_t more = 32 - kept < size ? 32 - kept : size;
        memcpy(h->rest + kept, p, more);
        if (kept + more < 32)
            return;
        xxh64_stripe(h, h->rest);
        p += more;
        size -= more;
    }
    for (; size >= 32; p += 32, size -= 32)
        xxh64_stripe(h, p);
    memcpy(h->rest, p, size);
}

uint64_t xxh64_end(const xxh64 *h) {
    const unsigned char *p = h->rest;
    size_t left = (size_t)(h->size % 32);
    uint64_t sum = h->lanes[2] + XXH64_P5;
    if (h->size >= 32) {
        static const int turns[4] = { 1, 7, 12, 18 };
        sum = 0;
        for (int i = 0; i < 4; i++)
            sum += xxh64_rotate(h->lanes[i], turns[i]);
        for (int i = 0; i < 4; i++)
            sum = (sum ^ xxh64_round(0, h->lanes[i])) * XXH64_P1 + XXH64_P4;
    }
    sum += h->size;
    for (; left >= 8; left -= 8, p += 8)
        sum = xxh64_rotate(sum ^ xxh64_round(0, xxh64_load(p, 8)), 27) * XXH64_P1 + XXH64_P4;
    for (; left >= 4; left -= 4, p += 4)
        sum = xxh64_rotate(sum ^ xxh64_load(p, 4) * XXH64_P1, 23) * XXH64_P2 + XXH64_P3;
    for (; left > 0; left--, p++)
        sum = xxh64_rotate(sum ^ *p * XXH64_P5, 11) * XXH64_P1;
    sum = (sum ^ sum >> 33) * XXH64_P2;
    sum = (sum ^ sum >> 29) * XXH64_P3;
    return sum ^ sum >> 32;
}
