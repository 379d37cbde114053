/* Scores frames that are already in GPU memory, such as those from a game or streaming engine. The GPU reads the frames
 * in place, and only the scores return to the CPU. Two pairs of frames alternate: the engine draws one while the GPU
 * scores the other. A pair can be overwritten when vmafgpu_reusable_count() counts it or vmafgpu_wait() has waited for
 * it.
 *
 *     device_frames [cuda | hip [KERNELS [DRIVER]]]     default: cuda, and the kernel file next to the program
 *
 * The engine is a stand-in: it draws on the CPU and copies the frames to the GPU. A real engine needs only the code of
 * run() and score_frames(). engine_overlay.c does the same without waiting. Output:
 *
 *         frame 0: 97.429
 *         frame 1: 100.000
 *         ...
 *         frame 19: 25.154
 *         mean 56.247 on (name of the GPU), 1.7 MB of its memory
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "helpers/device.h"

enum { WIDTH = 320, HEIGHT = 180, FRAMES = 20, PAIRS = 2 };

/* ---- the stand-in for an engine: frames in device memory ---- */

typedef struct engine {
    device gpu;
    uint64_t frames[PAIRS][2]; /* reference and distorted */
    unsigned char *picture;    /* in host memory */
} engine;

/* Returns NULL on success, otherwise the reason why the engine cannot run. Call engine_close() in both cases. */
static const char *engine_open(engine *e, int is_hip, const char *driver) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    const char *missing;
    memset(e, 0, sizeof *e);
    missing = device_open(&e->gpu, is_hip, driver);
    for (int i = 0; i < 2 * PAIRS && !missing; i++)
        if (e->gpu.memory_allocate(&e->frames[i / 2][i % 2], size) != 0)
            missing = "device memory is short";
    e->picture = malloc(size);
    return missing || e->picture ? missing : "out of memory";
}

static void engine_close(engine *e) {
    free(e->picture);
    for (int i = 0; i < 2 * PAIRS; i++)
        if (e->frames[i / 2][i % 2])
            e->gpu.memory_free(e->frames[i / 2][i % 2]);
    device_close(&e->gpu);
}

/* Draws a frame. The distorted frame consists of squares that grow from frame to frame. */
static int draw(engine *e, int frame, int is_distorted, uint64_t to) {
    int side = is_distorted ? 1 + frame / 4 : 1;
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            int u = x / side * side + 3 * frame, v = y / side * side;
            int value = 40 + u * 3 % 140 + (((u / 24) ^ (v / 18)) & 1) * 40 + v * 7 % 31;
            e->picture[y * WIDTH + x] = (unsigned char)value;
        }
    }
    return e->gpu.copy_in(to, e->picture, (size_t)WIDTH * HEIGHT, e->gpu.stream) == 0 &&
           e->gpu.stream_wait(e->gpu.stream) == 0;
}

/* ---- the part to copy into an engine ---- */

static vmafgpu_frame device_frame(uint64_t address) {
    vmafgpu_frame frame = VMAFGPU_INIT;
    frame.data[0] = (const void *)(uintptr_t)address;
    frame.memory = VMAFGPU_MEMORY_DEVICE;
    return frame;
}

static int print_ready(vmafgpu *vmaf) {
    vmafgpu_score score;
    vmafgpu_result result;
    while ((result = vmafgpu_next_score(vmaf, &score)) == VMAFGPU_OK)
        printf("frame %d: %.3f\n", (int)score.index, score.score);
    return result >= 0;
}

static int score_frames(vmafgpu *vmaf, engine *e) {
    for (int i = 0; i < FRAMES; i++) {
        const uint64_t *pair = e->frames[i % PAIRS];
        vmafgpu_frame reference = device_frame(pair[0]), distorted = device_frame(pair[1]);
        int64_t before = i - PAIRS + 1; /* the first `before` pairs must be scored before this memory is overwritten */
        if (before > 0 && vmafgpu_reusable_count(vmaf) < before && vmafgpu_wait(vmaf, before) != VMAFGPU_OK)
            return 0;
        if (!draw(e, i, 0, pair[0]) || !draw(e, i, 1, pair[1])) {
            fprintf(stderr, "device_frames: a copy to the GPU failed\n");
            return 0;
        }
        if (vmafgpu_push(vmaf, &reference, &distorted) != VMAFGPU_OK || !print_ready(vmaf))
            return 0;
    }
    return vmafgpu_flush(vmaf) == VMAFGPU_OK && print_ready(vmaf);
}

static int run(engine *e, const char *kernels, const char *driver) {
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *vmaf = NULL;
    double mean = 0;
    int ok;
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_CHROMA_400;
    config.backend = e->gpu.is_hip ? VMAFGPU_BACKEND_HIP : VMAFGPU_BACKEND_CUDA;
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE; /* the same for all frames, so no pinned memory is needed */
    config.gpu.cuda_context = e->gpu.context;        /* NULL with HIP */
    config.gpu.batch = 1; /* larger batches (the default) are faster, but need more pairs of frames */
    config.gpu.kernels_path = kernels;
    config.gpu.driver_path = driver;
    /* draw() waits until its copy is finished. With config.gpu.stream = e->gpu.stream the GPU would wait instead. */
    ok = vmafgpu_open(&vmaf, &config) == VMAFGPU_OK && score_frames(vmaf, e) &&
         vmafgpu_pool(vmaf, vmafgpu_model_column(vmaf, 0), VMAFGPU_POOL_MEAN, &mean) == VMAFGPU_OK;
    if (ok) {
        printf("mean %.3f on %s, %.1f MB of its memory\n", mean, vmafgpu_device_name(vmaf),
               (double)vmafgpu_device_memory(vmaf) / 1e6);
    } else {
        fprintf(stderr, "device_frames: %s\n", vmafgpu_last_error(vmaf));
    }
    vmafgpu_close(vmaf); /* before the frames are freed */
    return ok;
}

int main(int argc, char **argv) {
    const int is_hip = argc > 1 && strcmp(argv[1], "hip") == 0;
    const char *kernels = argc > 2 ? argv[2] : NULL, *driver = argc > 3 ? argv[3] : NULL, *missing;
    engine e;
    int ok = 1;
    if (argc > 4 || (argc > 1 && !is_hip && strcmp(argv[1], "cuda") != 0)) {
        fprintf(stderr, "device_frames: wrong arguments; usage: device_frames [cuda | hip [KERNELS [DRIVER]]]\n");
        return 1;
    }
    missing = engine_open(&e, is_hip, driver);
    if (missing)
        printf("no GPU: %s\n", missing);
    else
        ok = run(&e, kernels, driver);
    engine_close(&e);
    return !ok;
}
