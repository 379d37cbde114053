/* Lossless compression of real clips. make_real.c writes the files and the tests read them. A file starts with a line
 *
 *     squeezed WIDTHxHEIGHT DEPTH CHROMA FRAMES
 *
 * The rest is one stream with the planes of reference 0, distorted 0, reference 1, ... Each sample is predicted as the
 * median of left, above and left + above - corner. An adaptive arithmetic coder codes the difference between the sample
 * and the prediction bit by bit, in a context that depends on how much the neighbours differ. The same functions are
 * used for reading and writing. */
#ifndef SQUEEZE_H
#define SQUEEZE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQUEEZE_CONTEXTS = 12, SQUEEZE_BITS = 18, SQUEEZE_LINE = 64 };

typedef struct squeeze {
    unsigned char *bytes;
    size_t size, at;
    int is_reader;
    uint32_t low, high, code; /* low, high: the interval; code: where the reader's stream is in it */
    /* Probabilities of a 1, times 65536, of these bits: is the number nonzero, is it negative, is it longer; its lower
     * bits. */
    uint16_t nonzero[2][SQUEEZE_CONTEXTS], negative[2][SQUEEZE_CONTEXTS];
    uint16_t longer[2][SQUEEZE_CONTEXTS][SQUEEZE_BITS], below[2][SQUEEZE_BITS][SQUEEZE_BITS];
} squeeze;

/* Starts a reader or a writer. For a writer, `bytes` must be large enough for the whole stream. */
static inline void squeeze_begin(squeeze *s, unsigned char *bytes, size_t size, int is_reader) {
    uint16_t *const first = &s->nonzero[0][0], *const end = &s->below[0][0][0] + 2 * SQUEEZE_BITS * SQUEEZE_BITS;
    s->bytes = bytes;
    s->size = size;
    s->at = 0;
    s->is_reader = is_reader;
    s->low = s->code = 0;
    s->high = 0xffffffffu;
    for (size_t i = 0; i < (size_t)((unsigned char *)end - (unsigned char *)first) / 2; i++)
        first[i] = 32768;
    for (int i = 0; is_reader && i < 4; i++) {
        s->code = s->code << 8 | (s->at < size ? bytes[s->at] : 0u);
        s->at++;
    }
}

static inline int squeeze_bit(squeeze *s, uint16_t *chance, int bit) {
    const uint32_t middle = s->low + (uint32_t)((uint64_t)(s->high - s->low) * *chance >> 16);
    if (s->is_reader)
        bit = s->code <= middle;
    if (bit) {
        s->high = middle;
        *chance = (uint16_t)(*chance + ((65536 - *chance) >> 5));
    } else {
        s->low = middle + 1;
        *chance = (uint16_t)(*chance - (*chance >> 5));
    }
    while ((s->low ^ s->high) < 1u << 24) { /* the highest byte is final */
        if (s->is_reader)
            s->code = s->code << 8 | (s->at < s->size ? s->bytes[s->at] : 0u);
        else
            s->bytes[s->at] = (unsigned char)(s->high >> 24);
        s->at++;
        s->low <<= 8;
        s->high = s->high << 8 | 255;
    }
    return bit;
}

/* Reads a number of at most SQUEEZE_BITS bits or, in a writer, writes `number`. Returns the number read or written. */
static inline int squeeze_number(squeeze *s, int which, int context, int number) {
    unsigned size = (unsigned)(number < 0 ? -number : number);
    int bits = 1, is_negative;
    if (!squeeze_bit(s, &s->nonzero[which][context], number != 0))
        return 0;
    is_negative = squeeze_bit(s, &s->negative[which][context], number < 0);
    while (bits < SQUEEZE_BITS && squeeze_bit(s, &s->longer[which][context][bits - 1], size >> bits != 0))
        bits++;
    size = s->is_reader ? 1u << (bits - 1) : size;
    for (int i = bits - 2; i >= 0; i--)
        size |= (unsigned)squeeze_bit(s, &s->below[which][bits - 1][i], (int)(size >> i & 1)) << i;
    return is_negative ? -(int)size : (int)size;
}

static inline int squeeze_difference(int a, int b) {
    return a > b ? a - b : b - a;
}

static inline int squeeze_median(int left, int above, int corner) {
    const int low = left < above ? left : above, high = left < above ? above : left;
    return corner >= high ? low : corner <= low ? high : left + above - corner;
}

/* Reads or writes a plane of samples. `which` is 0 for luma and 1 for chroma. */
static inline void squeeze_plane(squeeze *s, int which, uint16_t *samples, int width, int height) {
    for (int y = 0; y < height; y++) {
        uint16_t *row = samples + (size_t)y * (size_t)width, *up = y ? row - width : NULL;
        for (int x = 0; x < width; x++) {
            const int above = up ? up[x] : x ? row[x - 1] : 0, left = x ? row[x - 1] : above;
            const int corner = up && x ? up[x - 1] : above, right = up && x + 1 < width ? up[x + 1] : above;
            const int guess = squeeze_median(left, above, corner);
            int context = 0, difference = squeeze_difference(left, corner) + squeeze_difference(corner, above) +
                                          squeeze_difference(above, right);
            while (difference > 0 && context < SQUEEZE_CONTEXTS - 1) {
                difference = context & 1 ? difference * 2 / 3 : difference * 3 / 4;
                context++;
            }
            row[x] = (uint16_t)(guess + squeeze_number(s, which, context, row[x] - guess));
        }
    }
}

/* Writes the last bytes of a writer's stream. Returns the size of the stream in bytes. */
static inline size_t squeeze_end(squeeze *s) {
    for (int i = 0; !s->is_reader && i < 4; i++)
        s->bytes[s->at++] = (unsigned char)(s->low >> (24 - 8 * i));
    return s->at;
}

#endif /* SQUEEZE_H */
