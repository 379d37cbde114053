/* Makes containers of kernels for tests; include it after the implementation in vmafgpu.h.
 *
 * lzma_literals() writes a stream in the .lzma format that contains only literals and no matches. `out` needs 8 * size
 * + 32 bytes. Returns the number of bytes written.
 *
 * container_seal() writes the head of a container with `count` blobs. The entries must have been written before.
 * `interface` is VMAFGPU__KERNEL_INTERFACE, or another value for a container of another version of vmafgpu.h. */
#ifndef LZMA_H
#define LZMA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct range_coder {
    unsigned char *out;
    uint64_t low, held; /* held: bytes that a carry may still change: `first`, then bytes of 255 */
    uint32_t range;
    unsigned char first;
} range_coder;

static inline void range_shift(range_coder *r) {
    const unsigned carry = (unsigned)(r->low >> 32);
    if (carry || (uint32_t)r->low < 0xff000000u) {
        for (unsigned byte_before = r->first; r->held; r->held--, byte_before = 255)
            *r->out++ = (unsigned char)(byte_before + carry);
        r->first = (unsigned char)(r->low >> 24);
    }
    r->held++;
    r->low = (r->low & 0xffffff) << 8;
}

static inline void range_bit(range_coder *r, uint16_t *odds, unsigned bit) {
    const uint32_t bound = (r->range >> 11) * *odds;
    r->low += bit ? bound : 0;
    r->range = bit ? r->range - bound : bound;
    *odds = (uint16_t)(bit ? *odds - (*odds >> 5) : *odds + ((2048 - *odds) >> 5));
    while (r->range < 1u << 24) {
        r->range <<= 8;
        range_shift(r);
    }
}

static inline size_t lzma_literals(const void *data, size_t size, unsigned char *out) {
    range_coder r = { out + 13, 0, 1, 0xffffffffu, 0 };
    uint16_t is_copy = 1024, odds[256];
    for (int i = 0; i < 256; i++)
        odds[i] = 1024;
    for (int i = 0; i < 13; i++)
        out[i] = i < 5 ? 0 : 255; /* lc = lp = pb = 0; the size is unknown */
    for (size_t i = 0; i < size; i++) {
        const unsigned value = ((const unsigned char *)data)[i];
        range_bit(&r, &is_copy, 0);
        for (unsigned k = 0, before = 1; k < 8; k++) {
            const unsigned bit = value >> (7 - k) & 1;
            range_bit(&r, &odds[before], bit);
            before = 2 * before + bit;
        }
    }
    for (int i = 0; i < 5; i++)
        range_shift(&r);
    return (size_t)(r.out - out);
}

#ifndef VMAFGPU_NO_GPU
static inline void container_seal(unsigned char *container, int count, uint32_t interface) {
    const size_t checked =
        VMAFGPU__CONTAINER_HEAD - VMAFGPU__CONTAINER_CHECKED + (size_t)count * VMAFGPU__CONTAINER_ENTRY;
    uint32_t numbers[3] = { (uint32_t)count, 0, interface };
    memcpy(container, "vmafgpu kernels\n", 16);
    memcpy(container + 16, numbers, sizeof numbers);
    numbers[1] = vmafgpu__crc32(container + VMAFGPU__CONTAINER_CHECKED, checked);
    memcpy(container + 16, numbers, sizeof numbers);
}
#endif

#endif
