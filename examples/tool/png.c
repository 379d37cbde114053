/* png.c: see png.h. */
#include "png.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void png_put(png_bytes *b, const void *data, size_t size) {
    if (b->size + size > b->room) {
        size_t room = 2 * b->room + size + 256;
        unsigned char *larger = b->failed ? NULL : (unsigned char *)realloc(b->data, room);
        if (!larger) {
            b->failed = 1;
            return;
        }
        b->data = larger;
        b->room = room;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void png_put32(png_bytes *b, uint32_t value) {
    unsigned char bytes[4] = { (unsigned char)(value >> 24), (unsigned char)(value >> 16), (unsigned char)(value >> 8),
                               (unsigned char)value };
    png_put(b, bytes, 4);
}

static void png_put_bits(png_bytes *b, uint32_t value, int count) {
    b->bits |= value << b->bit_count;
    b->bit_count += count;
    while (b->bit_count >= 8) {
        unsigned char next = (unsigned char)b->bits;
        png_put(b, &next, 1);
        b->bits >>= 8;
        b->bit_count -= 8;
    }
}

uint32_t png_crc(const unsigned char *data, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void png_chunk(png_bytes *out, const char *type, const unsigned char *data, size_t size) {
    png_put32(out, (uint32_t)size);
    size_t begin = out->size;
    png_put(out, type, 4);
    png_put(out, data, size);
    png_put32(out, out->failed ? 0 : png_crc(out->data + begin, size + 4));
}

enum { PNG_SYMBOLS = 257, PNG_LONGEST = 15 };

/* Computes code lengths of at most PNG_LONGEST bits with the Huffman algorithm. If a code would be longer, the
 * algorithm is repeated with frequencies that differ less. */
static void png_code_lengths(const uint32_t *counts, uint8_t *lengths) {
    for (int shift = 0;; shift++) {
        uint32_t weights[2 * PNG_SYMBOLS];
        int parents[2 * PNG_SYMBOLS], nodes = PNG_SYMBOLS, longest = 0;
        for (int i = 0; i < PNG_SYMBOLS; i++) {
            weights[i] = counts[i] ? (counts[i] >> shift) + 1 : 0;
            parents[i] = -1;
        }
        for (;;) {
            int a = -1, b = -1; /* the two lightest nodes among those without a parent */
            for (int i = 0; i < nodes; i++) {
                if (weights[i] && parents[i] < 0) {
                    if (a < 0 || weights[i] < weights[a]) {
                        b = a;
                        a = i;
                    } else if (b < 0 || weights[i] < weights[b]) {
                        b = i;
                    }
                }
            }
            if (b < 0)
                break;
            weights[nodes] = weights[a] + weights[b];
            parents[nodes] = -1;
            parents[a] = parents[b] = nodes++;
        }
        for (int i = 0; i < PNG_SYMBOLS; i++) {
            int length = 0;
            for (int at = i; parents[at] >= 0; at = parents[at])
                length++;
            lengths[i] = (uint8_t)length;
            longest = length > longest ? length : longest;
        }
        if (longest <= PNG_LONGEST)
            return;
    }
}

/* Computes the canonical code, with reversed bits, because the lowest bit is written first. */
static void png_codes(const uint8_t *lengths, int symbols, uint32_t *codes) {
    uint32_t code = 0;
    for (int length = 1; length <= PNG_LONGEST; length++) {
        for (int i = 0; i < symbols; i++) {
            if (lengths[i] == length) {
                codes[i] = 0;
                for (int k = 0; k < length; k++)
                    codes[i] |= (code >> k & 1) << (length - 1 - k);
                code++;
            }
        }
        code <<= 1;
    }
}

/* Writes the data in the zlib format, as one block with dynamic Huffman codes. */
static void png_deflate(png_bytes *out, const unsigned char *data, size_t size) {
    static const int order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
    uint32_t counts[PNG_SYMBOLS] = { 0 }, codes[PNG_SYMBOLS] = { 0 }, length_codes[16], a = 1, b = 0;
    uint8_t lengths[PNG_SYMBOLS], flat[16];
    for (size_t i = 0; i < size; i++) {
        counts[data[i]]++;
        a = (a + data[i]) % 65521;
        b = (b + a) % 65521;
    }
    counts[256] = 1;
    png_code_lengths(counts, lengths);
    png_codes(lengths, PNG_SYMBOLS, codes);
    memset(flat, 4, sizeof flat); /* code lengths 0..15 are written with four bits each */
    png_codes(flat, 16, length_codes);
    png_put(out, "\x78\x01", 2);
    png_put_bits(out, 1 | 2 << 1, 3);
    png_put_bits(out, 0, 5);  /* 257 literal codes */
    png_put_bits(out, 0, 5);  /* one distance code, unused */
    png_put_bits(out, 15, 4); /* 19 code lengths of the code length alphabet */
    for (int i = 0; i < 19; i++)
        png_put_bits(out, order[i] < 16 ? 4 : 0, 3);
    for (int i = 0; i < PNG_SYMBOLS; i++)
        png_put_bits(out, length_codes[lengths[i]], 4);
    png_put_bits(out, length_codes[0], 4);
    for (size_t i = 0; i < size; i++)
        png_put_bits(out, codes[data[i]], lengths[data[i]]);
    png_put_bits(out, codes[256], lengths[256]);
    png_put_bits(out, 0, 7);
    out->bits = 0;
    out->bit_count = 0;
    png_put32(out, b << 16 | a);
}

static int png_paeth(int a, int b, int c) {
    int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/* Filters a line with the filter type that results in the smallest sum of absolute values. */
static void png_filter(unsigned char *out, const unsigned char *line, const unsigned char *above, int bytes,
                       int pixel) {
    unsigned best = ~0u;
    int best_filter = 0;
    for (int pass = 0; pass < 6; pass++) {
        int filter = pass < 5 ? pass : best_filter;
        unsigned cost = 0;
        out[0] = (unsigned char)filter;
        for (int x = 0; x < bytes; x++) {
            int a = x >= pixel ? line[x - pixel] : 0, b = above ? above[x] : 0,
                c = above && x >= pixel ? above[x - pixel] : 0;
            int guess = filter == 0   ? 0
                        : filter == 1 ? a
                        : filter == 2 ? b
                        : filter == 3 ? (a + b) / 2
                                      : png_paeth(a, b, c);
            out[1 + x] = (unsigned char)(line[x] - guess);
            cost += out[1 + x] < 128 ? out[1 + x] : 256u - out[1 + x];
        }
        if (cost < best) {
            best = cost;
            best_filter = filter;
        }
    }
}

enum { PNG_GREY = 0, PNG_RGB = 2, PNG_INDEXED = 3 };

static void png_write_picture(png_bytes *out, const unsigned char *pixels, int width, int height, int pixel, int kind,
                              const unsigned char (*palette)[3], int colours) {
    size_t row = (size_t)width * (size_t)pixel;
    unsigned char *lines = (unsigned char *)malloc((row + 1) * (size_t)height), header[13] = { 0 };
    png_bytes data = { NULL, 0, 0, 0, 0, 0 };
    if (!lines) {
        out->failed = 1;
        return;
    }
    for (int y = 0; y < height; y++) {
        const unsigned char *line = pixels + (size_t)y * row;
        png_filter(lines + (size_t)y * (row + 1), line, y ? line - row : NULL, (int)row, pixel);
    }
    png_deflate(&data, lines, (row + 1) * (size_t)height);
    header[2] = (unsigned char)(width >> 8);
    header[3] = (unsigned char)width;
    header[6] = (unsigned char)(height >> 8);
    header[7] = (unsigned char)height;
    header[8] = 8;
    header[9] = (unsigned char)kind;
    png_put(out, "\x89PNG\r\n\x1a\n", 8);
    png_chunk(out, "IHDR", header, sizeof header);
    if (kind == PNG_INDEXED)
        png_chunk(out, "PLTE", palette[0], sizeof palette[0] * (size_t)colours);
    png_chunk(out, "IDAT", data.data ? data.data : header, data.size);
    png_chunk(out, "IEND", header, 0);
    out->failed |= data.failed;
    free(data.data);
    free(lines);
}

void png_write(png_bytes *out, const unsigned char *pixels, int width, int height, int pixel) {
    png_write_picture(out, pixels, width, height, pixel, pixel == 3 ? PNG_RGB : PNG_GREY, NULL, 0);
}

void png_write_indexed(png_bytes *out, const unsigned char *pixels, int width, int height,
                       const unsigned char (*palette)[3], int colours) {
    png_write_picture(out, pixels, width, height, 1, PNG_INDEXED, palette, colours);
}
