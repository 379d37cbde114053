/* xxh64.h: XXH64 with seed 0, as `xxhsum -H1` prints it, of bytes that come in pieces. */
#ifndef XXH64_H
#define XXH64_H

#include <stddef.h>
#include <stdint.h>

typedef struct xxh64 {
    uint64_t lanes[4], size;
    unsigned char rest[32]; /* what does not make up 32 bytes yet */
} xxh64;

void xxh64_start(xxh64 *h);
void xxh64_add(xxh64 *h, const void *data, size_t size);
uint64_t xxh64_end(const xxh64 *h);

#endif /* XXH64_H */
