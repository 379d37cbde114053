/* png.h: small pictures as PNG: lines filtered, bytes in Huffman codes, no matches. Half the size of the samples or
 * so. */
#ifndef PNG_H
#define PNG_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that grow. A lack of memory shows in `failed`. */
typedef struct png_bytes {
    unsigned char *data;
    size_t size, room;
    int failed;
    uint32_t bits; /* that are not a whole byte yet */
    int bit_count;
} png_bytes;

uint32_t png_crc(const unsigned char *data, size_t size);

/* Appends the file. pixel: bytes of one, 1 is grey, 3 is red, green, blue. */
void png_write(png_bytes *out, const unsigned char *pixels, int width, int height, int pixel);

#endif /* PNG_H */
