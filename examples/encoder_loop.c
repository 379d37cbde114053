/* Shows how an encoder finds the cheapest setting that reaches a target score. The program codes each frame with one
 * setting after another, starting with the cheapest, and scores each result with vmafgpu_score_pair(). That function
 * allocates nothing and does not change the state of the context, so one context serves the whole search.
 *
 *     encoder_loop [TARGET]      the score to reach, by default 90
 *
 * The encoder is a stand-in: it rounds samples to multiples of q, so a larger q is cheaper. Output:
 *
 *         frame 0, q 64:  35.931
 *         frame 0, q 48:  65.031
 *         frame 0, q 32:  64.234
 *         frame 0, q 24:  82.584
 *         frame 0, q 16:  89.182
 *         frame 0, q 12:  94.149
 *         frame 0: q 12 is enough
 *         frame 1, q 64:  61.451
 *         ...
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 320, HEIGHT = 180, FRAMES = 3 };

/* Draws grain, and edges and ramps that move from frame to frame. */
static void draw(unsigned char *luma, int frame) {
    unsigned noise = 1;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            int u = x + 3 * frame, v = y + frame;
            int value = 60 + u % 97 + (((u / 24) ^ (v / 18)) & 1) * 50 + v % 31;
            noise = noise * 1664525u + 1013904223u;
            luma[y * WIDTH + x] = (unsigned char)(value + (int)(noise >> 29));
        }
    }
}

/* Simulates encoding and decoding: rounds the difference between each sample and the top-left sample of its 8x8 block
 * to a multiple of q. */
static void encode(const unsigned char *in, unsigned char *out, int q) {
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            int corner = in[y / 8 * 8 * WIDTH + x / 8 * 8], difference = in[y * WIDTH + x] - corner;
            int level = (difference >= 0 ? difference + q / 2 : difference - q / 2) / q;
            int value = corner + level * q;
            out[y * WIDTH + x] = (unsigned char)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
}

static int search(vmafgpu *vmaf, double target, unsigned char *frames[2], unsigned char *candidate) {
    static const int quantisers[] = { 64, 48, 32, 24, 16, 12, 8, 6, 4, 2 }; /* cheapest first */
    for (int i = 0; i < FRAMES; i++) {
        unsigned char *current = frames[i % 2], *before = frames[(i + 1) % 2];
        vmafgpu_frame reference = vmafgpu_frame_of(vmafgpu_get_config(vmaf), current, 0);
        vmafgpu_frame previous = vmafgpu_frame_of(vmafgpu_get_config(vmaf), before, 0);
        vmafgpu_frame distorted = vmafgpu_frame_of(vmafgpu_get_config(vmaf), candidate, 0);
        vmafgpu_score score = VMAFGPU_INIT;
        size_t tried = 0, count = sizeof quantisers / sizeof quantisers[0];
        draw(current, i);
        do {
            encode(current, candidate, quantisers[tried]);
            if (vmafgpu_score_pair(vmaf, &reference, &distorted, i > 0 ? &previous : NULL, &score) != VMAFGPU_OK)
                return 0;
            printf("frame %d, q %2d: %7.3f\n", i, quantisers[tried], score.score);
        } while (score.score < target && ++tried < count);
        if (tried < count)
            printf("frame %d: q %d is enough\n", i, quantisers[tried]);
        else
            printf("frame %d: no setting reaches %g\n", i, target);
    }
    return 1;
}

int main(int argc, char **argv) {
    double target = argc > 1 ? atof(argv[1]) : 90;
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *vmaf = NULL;
    unsigned char *memory = malloc((size_t)WIDTH * HEIGHT * 3);
    int ok;
    if (argc > 2 || !(target > 0)) {
        fprintf(stderr, "encoder_loop: wrong arguments; usage: encoder_loop [TARGET], with TARGET above 0\n");
        free(memory);
        return 1;
    }
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_CHROMA_400;
    ok = memory && vmafgpu_open(&vmaf, &config) == VMAFGPU_OK;
    if (ok) {
        unsigned char *frames[2] = { memory, memory + (size_t)WIDTH * HEIGHT };
        ok = search(vmaf, target, frames, memory + (size_t)WIDTH * HEIGHT * 2);
    }
    if (!ok)
        fprintf(stderr, "encoder_loop: %s\n", memory ? vmafgpu_last_error(vmaf) : "out of memory");
    vmafgpu_close(vmaf);
    free(memory);
    return !ok;
}
