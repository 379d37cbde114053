/* What a game or streaming engine does with VMAF: the frames are in GPU memory already, rendered and encoded there, and
 * are scored where they lie; nothing but the scores comes back. Two pairs of frames are in rotation: while one is
 * scored the next is drawn, and vmafgpu_reusable_count() and vmafgpu_wait() say when a frame may be overwritten.
 *
 *     device_frames [cuda | hip [KERNELS [DRIVER]]]     cuda by default; kernels: by default beside the program
 *
 * The engine here is a stand-in: it draws on the CPU and copies. Yours has frames of its own, and needs only run() and
 * score_frames() below. engine_overlay.c is the same without any waiting.
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
    unsigned char *picture;    /* on the CPU */
} engine;

/* Says why there is none; the caller closes it in any case. */
static const char *engine_open(engine *e, int is_hip, const char *driver) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    const char *missing;
    memset(e, 0, sizeof *e);
    missing = device_open(&e->gpu, is_hip, driver);
    for (int i = 0; i < 2 * PAIRS && !missing; i++)
        if (e->gpu.memory_take(&e->frames[i / 2][i % 2], size) != 0)
            missing = "the device has no memory for frames";
    e->picture = malloc(size);
    return missing || e->picture ? missing : "no memory";
}

static void engine_close(engine *e) {
    free(e->picture);
    for (int i = 0; i < 2 * PAIRS; i++)
        if (e->frames[i / 2][i % 2])
            e->gpu.memory_give(e->frames[i / 2][i % 2]);
    device_close(&e->gpu);
}

/* The reference as it is; the distorted frame as an engine draws it that saves time: in coarser and coarser squares. */
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

/* ---- the part that is yours, too ---- */

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
        int64_t before = i - PAIRS + 1; /* so many pairs must be done with before this one's memory is free again */
        if (before > 0 && vmafgpu_reusable_count(vmaf) < before && vmafgpu_wait(vmaf, before) != VMAFGPU_OK)
            return 0;
        if (!draw(e, i, 0, pair[0]) || !draw(e, i, 1, pair[1])) {
            fprintf(stderr, "device_frames: a copy failed\n");
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
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE; /* no others: then no pinned memory is taken for them */
    config.gpu.cuda_context = e->gpu.context;        /* NULL with HIP */
    config.gpu.batch = 1; /* the default gathers pairs, so it needs as many in rotation, and is faster */
    config.gpu.kernels_path = kernels;
    config.gpu.driver_path = driver;
    /* draw() waits for its copy. With config.gpu.stream = e->gpu.stream it need not: the GPU would wait for it. */
    ok = vmafgpu_open(&vmaf, &config) == VMAFGPU_OK && score_frames(vmaf, e) &&
         vmafgpu_pool(vmaf, vmafgpu_model_column(vmaf, 0), VMAFGPU_POOL_MEAN, &mean) == VMAFGPU_OK;
    if (ok) {
        printf("mean %.3f on %s, %.1f MB of its memory\n", mean, vmafgpu_device_name(vmaf),
               (double)vmafgpu_device_memory(vmaf) / 1e6);
    } else {
        fprintf(stderr, "device_frames: %s\n", vmafgpu_last_error(vmaf));
    }
    vmafgpu_close(vmaf); /* before the frames go */
    return ok;
}

int main(int argc, char **argv) {
    const int is_hip = argc > 1 && strcmp(argv[1], "hip") == 0;
    const char *kernels = argc > 2 ? argv[2] : NULL, *driver = argc > 3 ? argv[3] : NULL, *missing;
    engine e;
    int ok = 1;
    if (argc > 4 || (argc > 1 && !is_hip && strcmp(argv[1], "cuda") != 0)) {
        fprintf(stderr, "device_frames: takes cuda or hip, KERNELS, DRIVER, or nothing\n");
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
