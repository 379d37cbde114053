/* rawsize.h: does raw video look like pictures of the size and format that somebody states?
 *
 * In a picture a sample is like the one below, which is a row further on in the file. The mean difference of samples
 * that are so far apart shows how long the rows are. Only part of one frame is looked at.
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
    RAWSIZE_MOST = 1 << 19, /* samples that are looked at */
    RAWSIZE_LEAST_WIDTH = 16,
    RAWSIZE_MOST_WIDTH = 16384
};

typedef struct rawsize_samples {
    uint16_t *values;
    size_t count;
    double level; /* a step of 8 bits */
} rawsize_samples;

/* most: the largest value of a sample, white. 0 if there is no memory. */
int rawsize_load(rawsize_samples *s, const unsigned char *bytes, size_t size, int bytes_per_sample, int most);

void rawsize_free(rawsize_samples *s);

/* The width that explains the samples far better than `width` does; 0 if there is none. The samples begin with a
 * row. */
int rawsize_other_width(const rawsize_samples *s, int width);

/* Whether samples of 8 bits are the halves of words: every other one is small, but not always the same, and those
 * between have many values (9 to 12 bits), or every other one is like its neighbours, and those between are as
 * different as can be, or all the same. */
int rawsize_is_words(const rawsize_samples *s);

/* Whether samples of 16 bits are two samples of 8 bits each: then both halves of a word are about as alike as halves
 * of neighbours, and not equal. */
int rawsize_is_bytes(const rawsize_samples *s);

/* Whether every other sample belongs to another plane. */
int rawsize_is_interleaved(const rawsize_samples *s);

#endif /* RAWSIZE_H */
