/* rawsize.h: checks whether raw video looks like pictures of the stated size and format.
 *
 * In a picture, a sample is similar to the sample below, which is one row further on in the file. The distance with the
 * smallest mean difference of samples is therefore the length of a row. Only a part of one frame is analysed.
 *
 *     rawsize_samples s;
 *     if (rawsize_load(&s, bytes, size, bytes_per_sample, most)) width = rawsize_other_width(&s, stated_width);
 *     rawsize_free(&s);
 */
#ifndef RAWSIZE_H
#define RAWSIZE_H

#include <stddef.h>
#include <stdint.h>

enum {
    RAWSIZE_MOST = 1 << 19, /* number of samples that are analysed */
    RAWSIZE_LEAST_WIDTH = 16,
    RAWSIZE_MOST_WIDTH = 16384
};

typedef struct rawsize_samples {
    uint16_t *values;
    size_t count;
    double level; /* the size of an 8-bit level in sample values */
} rawsize_samples;

/* Copies the samples. `most` is the largest value of a sample. Returns 0 if there is not enough memory. */
int rawsize_load(rawsize_samples *s, const unsigned char *bytes, size_t size, int bytes_per_sample, int most);

void rawsize_free(rawsize_samples *s);

/* Returns a width that fits the samples far better than `width`; 0 if there is none. The samples must begin at the
 * start of a row. */
int rawsize_other_width(const rawsize_samples *s, int width);

/* Whether 8-bit samples are probably the bytes of 16-bit words, with the high byte second. With 9 to 12 bits, the high
 * bytes are small but not constant, and the low bytes have many values. Otherwise the high bytes are smooth, and the
 * low bytes are noise or constant. */
int rawsize_is_words(const rawsize_samples *s);

/* Whether 16-bit samples are probably pairs of 8-bit samples. If so, the two bytes of a word differ about as much as
 * bytes of neighbouring words, and are not equal. */
int rawsize_is_bytes(const rawsize_samples *s);

/* Whether the samples probably alternate between two planes. */
int rawsize_is_interleaved(const rawsize_samples *s);

#endif /* RAWSIZE_H */
