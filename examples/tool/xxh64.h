/* xxh64.h: computes the XXH64 hash (seed 0, as in `xxhsum -H1`) of data that is added in pieces. */
#ifndef XXH64_H
#define XXH64_H

#include <stddef.h>
#include <stdint.h>

typedef struct xxh64 {
    uint64_t lanes[4], size;
    unsigned char rest[32]; /* bytes of an incomplete stripe of 32 */
} xxh64;

void xxh64_start(xxh64 *h);
void xxh64_add(xxh64 *h, const void *data, size_t size);
uint64_t xxh64_end(const xxh64 *h);

#endif /* XXH64_H */
