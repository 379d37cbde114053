/* Shows rate-distortion optimisation that maximises VMAF. A small block coder (8x8 DCT, one of eight quantisers per
 * block) first codes a picture with the smallest squared error that is possible within a bit budget. Then it moves bits
 * between blocks: vmafgpu_edit_try() returns how much each coding of a block changes VMAF, and vmafgpu_edit_commit()
 * applies the best choice.
 *
 *     encoder_rdo [BITS_PER_PIXEL]      the budget, by default 0.5
 *
 * Output, with the CPU time of each method:
 *
 *         least squared error: 0.500 bits per pixel, VMAF 74.235, 0.02 s
 *         highest VMAF:        0.495 bits per pixel, VMAF 88.048, 1.14 s, 21120 tries
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WIDTH = 320,
    HEIGHT = 176,
    BLOCK = 8,
    ACROSS = WIDTH / BLOCK,
    BLOCKS = ACROSS * (HEIGHT / BLOCK),
    CODINGS = 8,
    ROUNDS = 3
};

typedef struct coding {
    unsigned char samples[BLOCK * BLOCK];
    double bits, error, change; /* size in bits, squared error, change in VMAF if the block is coded in this way */
} coding;

static unsigned char source[WIDTH * HEIGHT], coded[WIDTH * HEIGHT];
static coding codings[BLOCKS][CODINGS];
static int chosen[BLOCKS];

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Draws a picture that contains edges, ramps, texture and grain. */
static void draw(void) {
    unsigned noise = 1;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            double value = 110 + 0.2 * x - 0.1 * y;
            noise = noise * 1664525u + 1013904223u;
            value += x < WIDTH / 3       ? 40 * sin(x * 0.7) * cos(y * 0.5)
                     : x < 2 * WIDTH / 3 ? ((x / 23 ^ y / 17) & 1) * 45
                                         : 0;
            value += y > HEIGHT / 2 ? (double)(noise >> 27) : (double)(noise >> 29);
            source[y * WIDTH + x] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

/* ---- the coder ---- */

static double basis[BLOCK][BLOCK];

static void transform(const double *in, int inverse, double *out) {
    double half[BLOCK * BLOCK];
    for (int pass = 0; pass < 2; pass++) {
        const double *from = pass ? half : in;
        double *to = pass ? out : half;
        for (int i = 0; i < BLOCK; i++) {
            for (int k = 0; k < BLOCK; k++) {
                double sum = 0;
                for (int j = 0; j < BLOCK; j++)
                    sum += from[i * BLOCK + j] * (inverse ? basis[j][k] : basis[k][j]);
                to[k * BLOCK + i] = sum; /* transposes; the second pass transposes back */
            }
        }
    }
}

/* Codes a block with quantiser q. The size is an estimate: each nonzero coefficient costs at least 3 bits, and larger
 * ones cost more. */
static void encode(int block, int q, coding *out) {
    static const double steps[CODINGS] = { 6, 9, 13, 19, 28, 42, 63, 95 };
    const unsigned char *from = source + block / ACROSS * BLOCK * WIDTH + block % ACROSS * BLOCK;
    double in[BLOCK * BLOCK], coefficients[BLOCK * BLOCK];
    for (int i = 0; i < BLOCK * BLOCK; i++)
        in[i] = from[i / BLOCK * WIDTH + i % BLOCK] - 128;
    transform(in, 0, coefficients);
    out->bits = 3;
    for (int i = 0; i < BLOCK * BLOCK; i++) {
        const double level = floor(fabs(coefficients[i]) / steps[q] + (i ? 0.35 : 0.5));
        out->bits += level > 0 ? 3 + 2 * log2(level) : 0.1;
        coefficients[i] = (coefficients[i] < 0 ? -level : level) * steps[q];
    }
    transform(coefficients, 1, in);
    out->error = 0;
    for (int i = 0; i < BLOCK * BLOCK; i++) {
        const double value = floor(in[i] + 128.5), wrong = (value < 0     ? 0
                                                            : value > 255 ? 255
                                                                          : value) -
                                                           from[i / BLOCK * WIDTH + i % BLOCK];
        out->samples[i] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
        out->error += wrong * wrong;
    }
}

static void place(int block) {
    unsigned char *to = coded + block / ACROSS * BLOCK * WIDTH + block % ACROSS * BLOCK;
    for (int y = 0; y < BLOCK; y++)
        memcpy(to + y * WIDTH, codings[block][chosen[block]].samples + y * BLOCK, BLOCK);
}

static vmafgpu_edit edit_of(int block, int q) {
    vmafgpu_edit edit = VMAFGPU_INIT;
    edit.x = block % ACROSS * BLOCK;
    edit.y = block / ACROSS * BLOCK;
    edit.width = edit.height = BLOCK;
    edit.data = codings[block][q].samples;
    edit.skip_score = 1; /* only `change` is needed */
    return edit;
}

/* ---- the choice of codings ---- */

/* Chooses, for each block in a list, the coding for which the gain minus the price of its bits is highest. Returns the
 * total number of bits. */
static double choose(const int *blocks, int count, double price, int by_vmaf, int *choice) {
    double bits = 0;
    for (int i = 0; i < count; i++) {
        const coding *c = codings[blocks[i]];
        int best = 0;
        for (int q = 1; q < CODINGS; q++) {
            const double gain = by_vmaf ? c[q].change - c[best].change : c[best].error - c[q].error;
            best = gain - price * (c[q].bits - c[best].bits) > 0 ? q : best;
        }
        choice[i] = best;
        bits += c[best].bits;
    }
    return bits;
}

/* Chooses codings within a bit budget and applies them: finds the lowest price per bit at which the codings stay within
 * the budget. */
static void spend(const int *blocks, int count, double budget, int by_vmaf) {
    static int choice[BLOCKS];
    double low = 0, high = by_vmaf ? 1 : 1e6;
    for (int i = 0; i < 60; i++) {
        const double price = (low + high) / 2;
        if (choose(blocks, count, price, by_vmaf, choice) > budget)
            low = price;
        else
            high = price;
    }
    (void)choose(blocks, count, high, by_vmaf, choice);
    for (int i = 0; i < count; i++) {
        chosen[blocks[i]] = choice[i];
        place(blocks[i]);
    }
}

static double bits_of(const int *blocks, int count) {
    double bits = 0;
    for (int i = 0; i < count; i++)
        bits += codings[blocks[i]][chosen[blocks[i]]].bits;
    return bits;
}

/* Redistributes the bits of a quarter of the blocks and commits the choice. No two of these blocks are adjacent, so the
 * coding of one block hardly affects the `change` of another. */
static vmafgpu_result improve(vmafgpu *v, int phase, long *tries, vmafgpu_score *score) {
    static vmafgpu_edit edits[BLOCKS * CODINGS];
    static vmafgpu_edit_score scores[BLOCKS * CODINGS];
    static int blocks[BLOCKS];
    int count = 0;
    for (int i = 0; i < BLOCKS; i++)
        if (i % ACROSS % 2 == phase % 2 && i / ACROSS % 2 == phase / 2)
            blocks[count++] = i;
    for (int i = 0; i < count * CODINGS; i++)
        edits[i] = edit_of(blocks[i / CODINGS], i % CODINGS);
    vmafgpu_result result = vmafgpu_edit_try(v, edits, count * CODINGS, scores, NULL);
    for (int i = 0; i < count * CODINGS; i++)
        codings[blocks[i / CODINGS]][i % CODINGS].change = scores[i].change;
    if (result != VMAFGPU_OK)
        return result;
    *tries += count * CODINGS;
    spend(blocks, count, bits_of(blocks, count), 1);
    for (int i = 0; i < count; i++)
        edits[i] = edit_of(blocks[i], chosen[blocks[i]]);
    return vmafgpu_edit_commit(v, edits, count, score);
}

int main(int argc, char **argv) {
    static int all[BLOCKS];
    const double budget = (argc > 1 ? atof(argv[1]) : 0.5) * WIDTH * HEIGHT;
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu_score score = VMAFGPU_INIT;
    vmafgpu *v;
    long tries = 0;
    double start = seconds();
    if (argc > 2 || !(budget > 0)) {
        fprintf(stderr, "encoder_rdo: wrong arguments; usage: encoder_rdo [BITS_PER_PIXEL], above 0\n");
        return 1;
    }
    draw();
    for (int i = 0; i < BLOCK * BLOCK; i++) {
        const int k = i / BLOCK, x = i % BLOCK;
        basis[k][x] = sqrt((k ? 2.0 : 1.0) / BLOCK) * cos(3.14159265358979323846 * (2 * x + 1) * k / (2 * BLOCK));
    }
    for (int i = 0; i < BLOCKS; i++) {
        all[i] = i;
        for (int q = 0; q < CODINGS; q++)
            encode(i, q, &codings[i][q]);
    }
    spend(all, BLOCKS, budget, 0);

    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_CHROMA_400;
    config.max_edit_size = BLOCK;
    vmafgpu_result result = vmafgpu_open(&v, &config);
    if (result == VMAFGPU_OK) {
        const vmafgpu_frame reference = vmafgpu_frame_of(&config, source, 0),
                            distorted = vmafgpu_frame_of(&config, coded, 0);
        result = vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, &score);
    }
    if (result == VMAFGPU_OK) {
        printf("least squared error: %.3f bits per pixel, VMAF %.3f, %.2f s\n", bits_of(all, BLOCKS) / (WIDTH * HEIGHT),
               score.score, seconds() - start);
    }
    start = seconds();
    for (int i = 0; i < 4 * ROUNDS && result == VMAFGPU_OK; i++)
        result = improve(v, i % 4, &tries, &score);
    if (result == VMAFGPU_OK) {
        printf("highest VMAF:        %.3f bits per pixel, VMAF %.3f, %.2f s, %ld tries\n",
               bits_of(all, BLOCKS) / (WIDTH * HEIGHT), score.score, seconds() - start, tries);
    } else {
        fprintf(stderr, "encoder_rdo: %s\n", vmafgpu_last_error(v));
    }
    vmafgpu_close(v);
    return result != VMAFGPU_OK;
}
