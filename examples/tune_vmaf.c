/* Computes the scores that libaom's tune=vmaf needs for each frame: the VMAF of the picture if one block of 32x32
 * samples is blurred. libaom halves the picture, scores all of it once per block, and derives weights for
 * rate-distortion optimisation. vmafgpu_edit_try() returns bit-identical scores much faster.
 *
 *     tune_vmaf [WIDTH HEIGHT]      size of the halved picture, by default 960 540
 *
 * The program computes the scores both ways and compares them. Output, with the CPU times:
 *
 *         510 blocks, weights 1.000 to 6.800: 0.067 s with edits, 1.603 s with whole pictures, 0 of the scores differ
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 32 };

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static void draw(unsigned char *luma, int width, int height) {
    unsigned noise = 1;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int value = 60 + 128 * x / width + (x > width / 2 ? ((x / 24 ^ y / 18) & 1) * 30 : 0);
            noise = noise * 1664525u + 1013904223u;
            luma[y * width + x] =
                (unsigned char)(value + (int)(noise >> 30) * (4 * y / height)); /* more grain towards the bottom */
        }
    }
}

static void blur(const unsigned char *in, unsigned char *out, int width, int height) {
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            int sum = 8;
            for (int i = 0; i < 9; i++) {
                const int u = x + i % 3 - 1, v = y + i / 3 - 1;
                sum += (i % 2    ? 2
                        : i == 4 ? 4
                                 : 1) *
                       in[(v < 0        ? 0
                           : v < height ? v
                                        : y) *
                              width +
                          (u < 0       ? 0
                           : u < width ? u
                                       : x)];
            }
            out[y * width + x] = (unsigned char)(sum >> 4);
        }
    }
}

static vmafgpu_edit block_of(const unsigned char *samples, int width, int height, int i) {
    const int across = (width + BLOCK - 1) / BLOCK;
    vmafgpu_edit edit = VMAFGPU_INIT;
    edit.x = i % across * BLOCK;
    edit.y = i / across * BLOCK;
    edit.width = width - edit.x < BLOCK ? width - edit.x : BLOCK;
    edit.height = height - edit.y < BLOCK ? height - edit.y : BLOCK;
    edit.data = samples + edit.y * width + edit.x;
    edit.pitch = width;
    return edit;
}

/* Returns the weight of a block according to the formula of libaom, which maps the squared error per lost VMAF point to
 * the range 0.8..6.8. */
static double weight_of(const unsigned char *source, const vmafgpu_edit *e, int width, double score) {
    const unsigned char *blurred = (const unsigned char *)e->data;
    double error = 0;
    for (int y = 0; y < e->height; y++) {
        for (int x = 0; x < e->width; x++) {
            const double wrong = (double)blurred[y * width + x] - source[(e->y + y) * width + e->x + x];
            error += wrong * wrong;
        }
    }
    error /= e->width * e->height;
    return score < 97.42773 ? 6 * (1 - exp(-0.05 * error / (97.42773 - score))) + 0.8 : 1;
}

int main(int argc, char **argv) {
    const int width = argc > 2 ? atoi(argv[1]) : 960, height = argc > 2 ? atoi(argv[2]) : 540;
    vmafgpu_model_config model = VMAFGPU_INIT;
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu_score score = VMAFGPU_INIT;
    vmafgpu *v;
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "tune_vmaf: wrong arguments; usage: tune_vmaf [WIDTH HEIGHT]\n");
        return 1;
    }
    model.disable_clip = 1;
    config.models = &model;
    config.model_count = 1;
    config.width = width;
    config.height = height;
    config.chroma = VMAFGPU_CHROMA_400;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.max_edit_size = BLOCK;
    vmafgpu_result result = vmafgpu_open(&v, &config);
    if (result != VMAFGPU_OK) {
        fprintf(stderr, "tune_vmaf: %s\n", vmafgpu_last_error(v));
        vmafgpu_close(v);
        return 1;
    }
    const size_t size = (size_t)width * (size_t)height;
    const int count = (width + BLOCK - 1) / BLOCK * ((height + BLOCK - 1) / BLOCK);
    unsigned char *source = (unsigned char *)malloc(size), *blurred = (unsigned char *)malloc(size),
                  *whole = (unsigned char *)malloc(size);
    vmafgpu_edit *edits = (vmafgpu_edit *)malloc(sizeof *edits * (size_t)count);
    vmafgpu_edit_score *scores = (vmafgpu_edit_score *)malloc(sizeof *scores * (size_t)count);
    if (source && blurred && whole && edits && scores) {
        const vmafgpu_frame reference = vmafgpu_frame_of(&config, source, 0),
                            distorted = vmafgpu_frame_of(&config, whole, 0);
        double least = 1e9, most = 0;
        int different = 0;
        draw(source, width, height);
        blur(source, blurred, width, height);
        memcpy(whole, source, size);
        for (int i = 0; i < count; i++)
            edits[i] = block_of(blurred, width, height, i);
        double start = seconds();
        result = vmafgpu_edit_begin(v, &reference, NULL, NULL, NULL, NULL);
        if (result == VMAFGPU_OK)
            result = vmafgpu_edit_try(v, edits, count, scores, NULL);
        const double tried = seconds() - start;
        start = seconds();
        for (int i = 0; i < count && result == VMAFGPU_OK; i++) {
            const double weight = weight_of(source, &edits[i], width, scores[i].score);
            least = weight < least ? weight : least;
            most = weight > most ? weight : most;
            for (int pass = 0; pass < 2; pass++) { /* 0: blurs the block and scores; 1: restores the block */
                for (int y = edits[i].y; y < edits[i].y + edits[i].height; y++) {
                    const size_t at = (size_t)y * (size_t)width + (size_t)edits[i].x;
                    memcpy(whole + at, (pass ? source : blurred) + at, (size_t)edits[i].width);
                }
                if (!pass)
                    result = vmafgpu_score_pair(v, &reference, &distorted, NULL, &score);
            }
            different += memcmp(&score.score, &scores[i].score, sizeof score.score) != 0;
        }
        if (result == VMAFGPU_OK) {
            printf("%d blocks, weights %.3f to %.3f: %.3f s with edits, %.3f s with whole pictures, %d of the scores "
                   "differ\n",
                   count, least, most, tried, seconds() - start, different);
        } else {
            fprintf(stderr, "tune_vmaf: %s\n", vmafgpu_last_error(v));
        }
    } else {
        fprintf(stderr, "tune_vmaf: out of memory\n");
        result = VMAFGPU_ERROR_MEMORY;
    }
    free(source);
    free(blurred);
    free(whole);
    free(edits);
    free(scores);
    vmafgpu_close(v);
    return result != VMAFGPU_OK;
}
