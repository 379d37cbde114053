/* png.h: writes small pictures as PNG, with filtered lines and Huffman codes but without LZ77 matches. The files are
 * about half as large as the samples. */
#ifndef PNG_H
#define PNG_H

#include <stddef.h>
#include <stdint.h>

/* A growing buffer. `failed` is set if there is not enough memory. */
typedef struct png_bytes {
    unsigned char *data;
    size_t size, room;
    int failed;
    uint32_t bits; /* bits of an incomplete byte */
    int bit_count;
} png_bytes;

/* Returns the CRC-32 of the data. */
uint32_t png_crc(const unsigned char *data, size_t size);

/* Appends a PNG file. `pixel` is the number of bytes per pixel: 1 for grey, 3 for red, green, blue. */
void png_write(png_bytes *out, const unsigned char *pixels, int width, int height, int pixel);

/* Appends a PNG file whose pixels are indices of a palette with `colours` entries of red, green and blue. */
void png_write_indexed(png_bytes *out, const unsigned char *pixels, int width, int height,
                       const unsigned char (*palette)[3], int colours);

#endif /* PNG_H */
