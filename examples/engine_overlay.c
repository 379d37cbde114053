/* VMAF beside a running engine, the least that it takes: the number of the frame on the screen, in an overlay. In the
 * loop nothing is allocated and nothing waits. When the GPU is busy a pair is left out: the scores of the others stay
 * exact. A map comes with each score: where in the frame it is lost.
 *
 *     engine_overlay [cuda | hip | cpu [KERNELS [DRIVER]]]     cuda by default; kernels: by default beside the program
 *
 * C and C++. The engine is a stand-in: it has drawn and encoded a short film before, and copies its pictures on a
 * stream, as fast as it can, which is faster than any screen. What an engine needs is the overlay; where its images are
 * RGB, or Vulkan's, it pushes them as they are: see vulkan_frames.c. Only a GPU scores beside the engine: on the CPU a
 * push is the scoring itself, and belongs on another thread.
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "helpers/device.h"

enum { WIDTH = 320, HEIGHT = 180, RING = 3, FRAMES = 60, PICTURES = 12 };
enum { BLOCK = 16, ACROSS = (WIDTH + BLOCK - 1) / BLOCK, DOWN = (HEIGHT + BLOCK - 1) / BLOCK };

/* ---- the overlay: what an engine takes over ---- */

typedef struct overlay {
    vmafgpu *vmaf;
    int64_t pushed;    /* pairs */
    int frame[FRAMES]; /* of each; an engine needs as many as are in flight */
    int left_out;
    int shown;                           /* of these frames */
    double score;                        /* what is on the screen */
    float maps[2 * RING][DOWN * ACROSS]; /* those that are shown, and those that are made meanwhile */
} overlay;

/* The pair of frames that the engine may draw and decode into now; -1: all are being scored, so this frame is not.
 * Frames belong to us from the push until vmafgpu_reusable_count() counts their pair, and to the engine else. */
static int overlay_slot(overlay *o) {
    if (o->pushed - vmafgpu_reusable_count(o->vmaf) >= RING) {
        o->left_out++;
        return -1;
    }
    return (int)(o->pushed % RING);
}

/* After the frame was drawn and the decoder's copy of it: both are on their way on config.gpu.stream. 0: something
 * is wrong. */
static int overlay_push(overlay *o, int frame, const vmafgpu_frame *reference, const vmafgpu_frame *distorted) {
    vmafgpu_result result = vmafgpu_request_map(o->vmaf, o->maps[o->pushed % (2 * RING)], VMAFGPU_MEMORY_HOST);
    if (result == VMAFGPU_OK)
        result = vmafgpu_try_push(o->vmaf, reference, distorted);
    if (result == VMAFGPU_OK)
        o->frame[o->pushed++] = frame;
    else if (result == VMAFGPU_AGAIN)
        o->left_out++; /* the next pair's motion is that to the last reference that was pushed */
    return result >= VMAFGPU_OK;
}

/* The block in which the score loses the most. An engine draws all of them over the frame. */
static int worst_block(const float *map) {
    int worst = 0;
    for (int i = 1; i < DOWN * ACROSS; i++)
        worst = map[i] > map[worst] ? i : worst;
    return worst;
}

/* Once per frame, when the overlay is drawn. */
static int overlay_update(overlay *o, double *scores) {
    vmafgpu_score score;
    vmafgpu_result result;
    while ((result = vmafgpu_next_score(o->vmaf, &score)) == VMAFGPU_OK) {
        scores[score.index] = o->score = score.score;
        o->shown = o->frame[score.index];
        const float *map = o->maps[score.index % (2 * RING)];
        const int worst = worst_block(map);
        printf("frame %d: VMAF %.3f, and %.3f is lost at %d, %d\n", o->shown, o->score, map[worst],
               worst % ACROSS * BLOCK, worst / ACROSS * BLOCK); /* an engine draws text */
    }
    return result >= VMAFGPU_OK;
}

static vmafgpu_config overlay_config(void) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_CHROMA_400; /* models of v0.6 look at luma alone */
    config.map_block_size = BLOCK;
    config.live = 1;           /* a score as soon as its pair is done, not one pair later */
    config.discard_scores = 1; /* memory does not grow */
    config.gpu.queue_depth = RING;
    return config;
}

/* ---- the stand-in for an engine ---- */

typedef struct engine {
    device gpu;
    int is_cpu;
    uint64_t frames[RING][2]; /* reference and distorted, on the device */
    void *film;               /* pinned */
    int drawn;
} engine;

static unsigned char *film_picture(const engine *e, int frame, int is_distorted) {
    return (unsigned char *)e->film + ((size_t)(frame % PICTURES) * 2 + (size_t)is_distorted) * WIDTH * HEIGHT;
}

static void paint(unsigned char *picture, int frame, int side) {
    for (int y = 0; y < HEIGHT; y++) {
        for (int x = 0; x < WIDTH; x++) {
            const int u = x / side * side + 3 * frame, v = y / side * side;
            picture[y * WIDTH + x] = (unsigned char)(40 + u * 3 % 140 + (((u / 24) ^ (v / 18)) & 1) * 40 + v * 7 % 31);
        }
    }
}

/* Says why there is none; the caller closes it in any case. */
static const char *engine_open(engine *e, const char *kind, const char *driver) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    const char *missing = NULL;
    memset(e, 0, sizeof *e);
    e->is_cpu = !strcmp(kind, "cpu");
    if (!e->is_cpu)
        missing = device_open(&e->gpu, !strcmp(kind, "hip"), driver);
    for (int i = 0; i < 2 * RING && !missing && !e->is_cpu; i++)
        if (e->gpu.memory_take(&e->frames[i / 2][i % 2], size) != 0)
            missing = "the device has no memory for frames";
    if (!missing && e->is_cpu)
        e->film = malloc(2 * PICTURES * size);
    else if (!missing && e->gpu.pinned_take(&e->film, 2 * PICTURES * size, 0) != 0)
        e->film = NULL;
    for (int i = 0; i < 2 * PICTURES && e->film; i++)
        paint(film_picture(e, i / 2, i % 2), i / 2, i % 2 ? 2 + i / 8 : 1);
    return missing || e->film ? missing : "no memory";
}

static void engine_close(engine *e) {
    for (int i = 0; i < 2 * RING; i++)
        if (e->frames[i / 2][i % 2])
            e->gpu.memory_give(e->frames[i / 2][i % 2]);
    if (e->is_cpu) {
        free(e->film);
        return;
    }
    if (e->film)
        e->gpu.pinned_give(e->film);
    device_close(&e->gpu);
}

/* Draws, encodes and decodes, in other words puts copies on the stream; the frame is not there yet when this
 * returns. */
static int engine_draw(engine *e, int frame, int slot, vmafgpu_frame pair[2]) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    memset(pair, 0, 2 * sizeof *pair);
    for (int i = 0; i < 2; i++) {
        const unsigned char *picture = film_picture(e, frame, i);
        pair[i].data[0] = e->is_cpu ? (const void *)picture : (const void *)(uintptr_t)e->frames[slot][i];
        pair[i].memory = e->is_cpu ? VMAFGPU_MEMORY_HOST : VMAFGPU_MEMORY_DEVICE;
        if (!e->is_cpu && e->gpu.copy_in(e->frames[slot][i], picture, size, e->gpu.stream) != 0)
            return 0;
    }
    return 1;
}

/* Scores the pairs that were pushed once more, one by one: to the bit the same. */
static int check(const engine *e, const overlay *o, const double *scores) {
    vmafgpu_config config = overlay_config();
    vmafgpu *vmaf = NULL;
    vmafgpu_score score;
    int same = 0;
    config.backend = VMAFGPU_BACKEND_CPU;
    if (vmafgpu_open(&vmaf, &config) == VMAFGPU_OK) {
        for (int i = 0; i < (int)o->pushed; i++) {
            const vmafgpu_frame previous = vmafgpu_frame_of(&config, film_picture(e, o->frame[i ? i - 1 : 0], 0), 0);
            const vmafgpu_frame reference = vmafgpu_frame_of(&config, film_picture(e, o->frame[i], 0), 0);
            const vmafgpu_frame distorted = vmafgpu_frame_of(&config, film_picture(e, o->frame[i], 1), 0);
            same += vmafgpu_score_pair(vmaf, &reference, &distorted, i ? &previous : NULL, &score) == VMAFGPU_OK &&
                    memcmp(&score.score, &scores[i], sizeof scores[i]) == 0;
        }
    }
    vmafgpu_close(vmaf);
    printf("%d frames drawn, %d scored, %d left out; %d scores are those of the pairs by themselves\n", e->drawn,
           (int)o->pushed, o->left_out, same);
    return same == (int)o->pushed && o->pushed > 0;
}

static int run(engine *e, const char *kernels, const char *driver) {
    static double scores[FRAMES];
    vmafgpu_config config = overlay_config();
    overlay o;
    int ok;
    memset(&o, 0, sizeof o);
    config.backend = e->is_cpu ? VMAFGPU_BACKEND_CPU : e->gpu.is_hip ? VMAFGPU_BACKEND_HIP : VMAFGPU_BACKEND_CUDA;
    if (!e->is_cpu) {
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        config.gpu.cuda_context = e->gpu.context; /* NULL with HIP */
        config.gpu.stream = e->gpu.stream;        /* the GPU waits for what draws a pair, and nobody else does */
        config.gpu.kernels_path = kernels;
        config.gpu.driver_path = driver;
    }
    ok = vmafgpu_open(&o.vmaf, &config) == VMAFGPU_OK;
    for (; e->drawn < FRAMES && ok; e->drawn++) {
        vmafgpu_frame pair[2];
        const int slot = overlay_slot(&o);
        if (slot >= 0)
            ok = engine_draw(e, e->drawn, slot, pair) && overlay_push(&o, e->drawn, &pair[0], &pair[1]);
        ok = ok && overlay_update(&o, scores);
    }
    /* The clip is over: now there is time to wait. */
    ok = ok && vmafgpu_flush(o.vmaf) == VMAFGPU_OK && overlay_update(&o, scores);
    if (!ok)
        fprintf(stderr, "engine_overlay: %s\n", vmafgpu_last_error(o.vmaf));
    vmafgpu_close(o.vmaf); /* before the frames go */
    return ok && check(e, &o, scores);
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "cuda", *missing;
    const char *kernels = argc > 2 ? argv[2] : NULL, *driver = argc > 3 ? argv[3] : NULL;
    engine e;
    int ok = 1;
    if (argc > 4 || (strcmp(kind, "cuda") && strcmp(kind, "hip") && strcmp(kind, "cpu"))) {
        fprintf(stderr, "engine_overlay: takes cuda, hip or cpu, KERNELS, DRIVER, or nothing\n");
        return 1;
    }
    missing = engine_open(&e, kind, driver);
    if (missing)
        printf("no GPU: %s\n", missing);
    else
        ok = run(&e, kernels, driver);
    engine_close(&e);
    return !ok;
}
