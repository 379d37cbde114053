/* rawsize.c: see rawsize.h. */
#include "rawsize.h"

#include <stdint.h>
#include <stdlib.h>

int rawsize_load(rawsize_samples *s, const unsigned char *bytes, size_t size, int bytes_per_sample, int most) {
    s->count = size / (size_t)bytes_per_sample;
    s->level = (most + 1) / 256.0;
    s->values = (uint16_t *)malloc(sizeof *s->values * (s->count + 1));
    for (size_t i = 0; s->values && i < s->count; i++)
        s->values[i] = bytes_per_sample == 1 ? bytes[i] : (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    return s->values != NULL;
}

void rawsize_free(rawsize_samples *s) {
    free(s->values);
    s->values = NULL;
}

/* Returns the mean difference, in 8-bit levels, between samples that are `lag` apart, at `trials` random positions. */
static double rawsize_difference(const rawsize_samples *s, size_t lag, int trials) {
    uint64_t sum = 0;
    uint32_t place = 1;
    if (lag >= s->count)
        return 1e9;
    for (int i = 0; i < trials; i++) {
        place = place * 1664525u + 1013904223u;
        size_t at = (size_t)((uint64_t)place * (s->count - lag) >> 32);
        int a = s->values[at], b = s->values[at + lag];
        sum += (uint64_t)(a > b ? a - b : b - a);
    }
    return (double)sum / trials / s->level;
}

/* Computes the mean difference at distance `lag` separately for two kinds of pairs. If the picture has rows of `width`
 * samples, the pairs of means[1] are one row further apart than those of means[0]. If the true row length is `lag`,
 * both means are similar. If it is `width`, the means differ, even in pictures with repeating patterns or straight
 * lines. */
static void rawsize_kinds(const rawsize_samples *s, size_t lag, size_t width, int trials, double means[2]) {
    const size_t shift = lag % width, rows = s->count > lag + 2 * width ? (s->count - lag) / width - 1 : 0;
    means[0] = means[1] = 1e9;
    if (rows == 0)
        return;
    for (int kind = 0; kind < (shift ? 2 : 1); kind++) {
        const size_t first = kind ? width - shift : 0, room = kind ? shift : width - shift;
        uint64_t sum = 0;
        uint32_t place = 1;
        for (int i = 0; i < trials; i++) {
            place = place * 1664525u + 1013904223u;
            size_t row = (size_t)((uint64_t)place * rows >> 32);
            place = place * 1664525u + 1013904223u;
            size_t at = row * width + first + (size_t)((uint64_t)place * room >> 32);
            int a = s->values[at], b = s->values[at + lag];
            sum += (uint64_t)(a > b ? a - b : b - a);
        }
        means[kind] = (double)sum / trials / s->level;
    }
    means[1] = shift ? means[1] : means[0];
}

/* Whether the difference at `lag` is smaller than at every other distance within three samples of `lag`. A small
 * difference alone proves nothing, because neighbours in a smooth picture are similar too. */
static int rawsize_is_minimum(const rawsize_samples *s, size_t lag) {
    const double here = rawsize_difference(s, lag, 1 << 13);
    int is_minimum = 1;
    for (size_t beside = 1; beside <= 3; beside++) {
        is_minimum &=
            here < rawsize_difference(s, lag - beside, 1 << 13) && here < rawsize_difference(s, lag + beside, 1 << 13);
    }
    return is_minimum;
}

/* Checks whether a row of `width` samples consists of 2 to 4 rows of a narrower picture. Returns its width, or 0. */
static int rawsize_divided(const rawsize_samples *s, int width, double stated) {
    double best = 0.85 * stated;
    int found = 0;
    for (int parts = 2; parts <= 4; parts++) {
        const size_t part = (size_t)(width / parts);
        double kinds[2];
        if (width % parts != 0 || part < RAWSIZE_LEAST_WIDTH)
            continue;
        rawsize_kinds(s, part, (size_t)width, 1 << 13, kinds);
        double less = kinds[0] < kinds[1] ? kinds[0] : kinds[1], more = kinds[0] < kinds[1] ? kinds[1] : kinds[0];
        if (more < best && less > 0.7 * more && stated - more >= 0.5 && rawsize_is_minimum(s, part)) {
            best = more;
            found = (int)part;
        }
    }
    return found;
}

/* Whether each row is similar to the next one if that row is shifted, as in interlaced pictures. `stated` is the
 * difference without a shift. */
static int rawsize_is_shifted(const rawsize_samples *s, size_t width, double stated) {
    const size_t pairs = s->count / width / 2;
    for (size_t lag = width - width / 4; lag <= width + width / 4 && pairs > 2; lag++) {
        for (size_t parity = 0; parity < 2 && lag != width; parity++) {
            uint64_t sum = 0;
            uint32_t place = 1;
            for (int i = 0; i < 1 << 8; i++) {
                place = place * 1664525u + 1013904223u;
                size_t row = 2 * (size_t)((uint64_t)place * (pairs - 2) >> 32) + parity;
                place = place * 1664525u + 1013904223u;
                size_t at = row * width + width / 4 + (size_t)((uint64_t)place * (width / 2) >> 32);
                int a = s->values[at], b = s->values[at + lag];
                sum += (uint64_t)(a > b ? a - b : b - a);
            }
            if ((double)sum / (1 << 8) / s->level < 0.4 * stated)
                return 1;
        }
    }
    return 0;
}

/* Whether `parts` rows of `width` samples are one row of the picture. If so, the samples continue smoothly from row to
 * row, except after each `parts`-th row. This excludes interlaced pictures. */
static int rawsize_is_part(const rawsize_samples *s, size_t width, int parts, double beside) {
    double jumps[4] = { 0, 0, 0, 0 };
    size_t rows = s->count / width / (size_t)parts, count = 0;
    int whole = 0, broken = 0;
    for (size_t row = 0; row + 1 < rows; row++, count++) {
        for (int k = 0; k < parts; k++) {
            const uint16_t *end = s->values + (row * (size_t)parts + (size_t)k + 1) * width;
            jumps[k] += (end[0] > end[-1] ? end[0] - end[-1] : end[-1] - end[0]) / s->level;
        }
    }
    for (int k = 0; k < parts && count >= 8; k++) {
        whole += jumps[k] / (double)count <= 2 * beside + 1;
        broken += jumps[k] / (double)count >= 2.5 * beside + 4;
    }
    return whole == parts - 1 && broken == 1;
}

/* Returns the distance with the smallest difference, ignoring `left_out`. Returns 0 if another distance, not close to
 * a multiple of the best one, is nearly as good. The picture then has a repeating pattern, so the length of a row is
 * unknown. */
static size_t rawsize_search(const rawsize_samples *s, size_t most, size_t left_out) {
    static uint32_t sums[RAWSIZE_MOST_WIDTH + 1];
    size_t best = 0;
    uint32_t place = 1;
    for (size_t lag = 0; lag <= most; lag++)
        sums[lag] = 0;
    for (int i = 0; i < 1 << 10; i++) {
        place = place * 1664525u + 1013904223u;
        const uint16_t *at = s->values + (size_t)((uint64_t)place * (s->count - most) >> 32);
        for (size_t lag = RAWSIZE_LEAST_WIDTH; lag <= most; lag++)
            sums[lag] += (uint32_t)(at[0] > at[lag] ? at[0] - at[lag] : at[lag] - at[0]);
    }
    for (size_t lag = RAWSIZE_LEAST_WIDTH; lag <= most; lag++)
        best = lag != left_out && (best == 0 || sums[lag] < sums[best]) ? lag : best;
    for (size_t lag = RAWSIZE_LEAST_WIDTH; lag <= most; lag++) {
        size_t away = lag % best < best - lag % best ? lag % best : best - lag % best;
        if (away > best / 16 && lag != left_out && sums[lag] <= sums[best] + sums[best] / 2)
            return 0;
    }
    return best;
}

int rawsize_other_width(const rawsize_samples *s, int width) {
    const size_t stated_lag = (size_t)width,
                 most = s->count / 4 < RAWSIZE_MOST_WIDTH ? s->count / 4 : RAWSIZE_MOST_WIDTH;
    const double stated = rawsize_difference(s, stated_lag, 1 << 13), beside = rawsize_difference(s, 1, 1 << 13);
    if (stated < 2 || stated_lag > most || most < 2 * RAWSIZE_LEAST_WIDTH)
        return 0;               /* the picture is too flat or too small */
    if (stated <= 1.5 * beside) /* the sample below is as similar as the sample to the right */
        return rawsize_divided(s, width, stated);
    size_t around = rawsize_search(s, most, stated_lag), best = around;
    double least = 1e9;
    for (size_t lag = around > 8 ? around - 8 : 1; around && lag <= around + 8; lag++) {
        double difference = lag == stated_lag ? least : rawsize_difference(s, lag, 1 << 13);
        if (difference < least) {
            least = difference;
            best = lag;
        }
    }
    /* If the given width is a multiple of the correct width, samples at this distance are only a few rows apart, so
     * they differ little. */
    int is_divisible = stated <= 3 * beside;
    if (best == 0 || least < 0.1 * beside) /* a repeating pattern or equal rows */
        return is_divisible ? rawsize_divided(s, width, stated) : 0;
    const size_t parts = best / stated_lag;
    double kinds[2];
    rawsize_kinds(s, best, stated_lag, 1 << 12, kinds);
    int is_clear = best >= RAWSIZE_LEAST_WIDTH && best <= RAWSIZE_MOST_WIDTH && stated - least >= 2 &&
                   rawsize_is_minimum(s, best) && kinds[0] < 0.5 * stated && kinds[1] < 0.5 * stated &&
                   (best % stated_lag != 0 || (parts <= 4 && rawsize_is_part(s, stated_lag, (int)parts, beside) &&
                                               !rawsize_is_shifted(s, stated_lag, stated)));
    return is_clear ? (int)best : is_divisible ? rawsize_divided(s, width, stated) : 0;
}

int rawsize_is_words(const rawsize_samples *s) {
    unsigned char is_there[2][256] = { { 0 } };
    int values[2] = { 0, 0 }, largest = 0;
    double differences[2] = { 0, 0 };
    for (size_t i = 0; i + 3 < s->count; i += 2) {
        for (size_t k = 0; k < 2; k++) {
            int a = s->values[i + k] & 255, b = s->values[i + k + 2] & 255;
            is_there[k][a] = 1;
            differences[k] += 2.0 * (a > b ? a - b : b - a) / (double)s->count;
        }
    }
    for (int value = 0; value < 256; value++) {
        values[0] += is_there[0][value];
        values[1] += is_there[1][value];
        largest = is_there[1][value] ? value : largest;
    }
    return (largest < 16 && values[1] > 1 && values[0] > 31) || (values[0] == 1 && values[1] > 31) ||
           (differences[1] < 16 && differences[0] > 60);
}

int rawsize_is_bytes(const rawsize_samples *s) {
    uint64_t within = 0, across = 0;
    int low = 255, high = 0;
    for (size_t i = 0; i + 1 < s->count; i++) {
        int a = s->values[i] & 255, b = s->values[i] >> 8, c = s->values[i + 1] & 255;
        within += (uint64_t)(a > b ? a - b : b - a);
        across += (uint64_t)(b > c ? b - c : c - b);
        low = b < low ? b : low;
        high = b > high ? b : high;
    }
    return high - low >= 48 && within < 16 * s->count && 2 * within > across && 2 * across > within &&
           within > s->count / 2;
}

int rawsize_is_interleaved(const rawsize_samples *s) {
    return rawsize_difference(s, 1, 1 << 13) > 4 * rawsize_difference(s, 2, 1 << 13) + 4;
}
