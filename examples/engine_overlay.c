/* Shows the score of each frame while an engine renders, for example in an overlay on the screen. No call in the loop
 * waits or allocates. If the GPU is busy, the program skips a pair; the scores of the other pairs remain exact. Each
 * score comes with a map of how much each block lowers the score.
 *
 *     engine_overlay [cuda | hip | cpu [KERNELS [DRIVER]]]     default: cuda, and the kernel file next to the program
 *
 * The file compiles as C and as C++. Copy the section `overlay` into your engine. The engine below is a stand-in: it
 * draws and encodes a short film before the loop, and then copies pictures to the GPU as fast as possible. Engines with
 * RGB or Vulkan images push them without conversion, as in vulkan_frames.c. On the CPU, a push scores the pair before
 * it returns, so an engine without a GPU must score on a separate thread. Output with `cpu`:
 *
 *         frame 0: VMAF 60.945, largest loss 0.703 at 32, 80
 *         frame 1: VMAF 64.654, largest loss 0.910 at 224, 96
 *         ...
 *         60 frames drawn, 60 scored, 0 skipped; 60 scores equal those of single pairs
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "helpers/device.h"

enum { WIDTH = 320, HEIGHT = 180, RING = 3, FRAMES = 60, PICTURES = 12 };
enum { BLOCK = 16, ACROSS = (WIDTH + BLOCK - 1) / BLOCK, DOWN = (HEIGHT + BLOCK - 1) / BLOCK };

/* ---- the overlay: the part to copy into an engine ---- */

typedef struct overlay {
    vmafgpu *vmaf;
    int64_t pushed;                      /* number of pairs */
    int frame[FRAMES];                   /* frame number of each pair; an engine keeps only those of pairs in flight */
    int left_out;                        /* number of frames that are not scored */
    int shown;                           /* frame whose score is on the screen */
    double score;                        /* score on the screen */
    float maps[2 * RING][DOWN * ACROSS]; /* maps of pairs in flight and of pairs on the screen */
} overlay;

/* Returns the index of the pair of frames into which the engine can draw and decode, or -1 if all pairs are being
 * scored. In that case the engine does not score this frame. After its push, a pair must not be overwritten until
 * vmafgpu_reusable_count() counts it. */
static int overlay_slot(overlay *o) {
    if (o->pushed - vmafgpu_reusable_count(o->vmaf) >= RING) {
        o->left_out++;
        return -1;
    }
    return (int)(o->pushed % RING);
}

/* Pushes a pair. The work that draws and decodes it must already be queued on config.gpu.stream. Returns 0 on
 * failure. */
static int overlay_push(overlay *o, int frame, const vmafgpu_frame *reference, const vmafgpu_frame *distorted) {
    vmafgpu_result result = vmafgpu_request_map(o->vmaf, o->maps[o->pushed % (2 * RING)], VMAFGPU_MEMORY_HOST);
    if (result == VMAFGPU_OK)
        result = vmafgpu_try_push(o->vmaf, reference, distorted);
    if (result == VMAFGPU_OK)
        o->frame[o->pushed++] = frame;
    else if (result == VMAFGPU_AGAIN)
        o->left_out++; /* the motion of the next pair is measured from the last reference that was pushed */
    return result >= VMAFGPU_OK;
}

/* Returns the block with the largest loss. An engine would draw all blocks over the frame. */
static int worst_block(const float *map) {
    int worst = 0;
    for (int i = 1; i < DOWN * ACROSS; i++)
        worst = map[i] > map[worst] ? i : worst;
    return worst;
}

/* Fetches the scores that are ready. Call this once per frame, when the overlay is drawn. Returns 0 on failure. */
static int overlay_update(overlay *o, double *scores) {
    vmafgpu_score score;
    vmafgpu_result result;
    while ((result = vmafgpu_next_score(o->vmaf, &score)) == VMAFGPU_OK) {
        scores[score.index] = o->score = score.score;
        o->shown = o->frame[score.index];
        const float *map = o->maps[score.index % (2 * RING)];
        const int worst = worst_block(map);
        printf("frame %d: VMAF %.3f, largest loss %.3f at %d, %d\n", o->shown, o->score, map[worst],
               worst % ACROSS * BLOCK, worst / ACROSS * BLOCK); /* an engine would draw this text */
    }
    return result >= VMAFGPU_OK;
}

static vmafgpu_config overlay_config(void) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = WIDTH;
    config.height = HEIGHT;
    config.chroma = VMAFGPU_CHROMA_400; /* models of v0.6 use luma only */
    config.map_block_size = BLOCK;
    config.live = 1;           /* no score waits for the next pair */
    config.discard_scores = 1; /* memory does not grow with the number of frames */
    config.gpu.queue_depth = RING;
    return config;
}

/* ---- the stand-in for an engine ---- */

typedef struct engine {
    device gpu;
    int is_cpu;
    uint64_t frames[RING][2]; /* reference and distorted, in device memory */
    void *film;               /* in pinned memory or, with `cpu`, in memory from malloc() */
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

/* Returns NULL on success, otherwise the reason why the engine cannot run. Call engine_close() in both cases. */
static const char *engine_open(engine *e, const char *kind, const char *driver) {
    const size_t size = (size_t)WIDTH * HEIGHT;
    const char *missing = NULL;
    memset(e, 0, sizeof *e);
    e->is_cpu = !strcmp(kind, "cpu");
    if (!e->is_cpu)
        missing = device_open(&e->gpu, !strcmp(kind, "hip"), driver);
    for (int i = 0; i < 2 * RING && !missing && !e->is_cpu; i++)
        if (e->gpu.memory_allocate(&e->frames[i / 2][i % 2], size) != 0)
            missing = "device memory is short";
    if (!missing && e->is_cpu)
        e->film = malloc(2 * PICTURES * size);
    else if (!missing && e->gpu.pinned_allocate(&e->film, 2 * PICTURES * size, 0) != 0)
        e->film = NULL;
    for (int i = 0; i < 2 * PICTURES && e->film; i++)
        paint(film_picture(e, i / 2, i % 2), i / 2, i % 2 ? 2 + i / 8 : 1);
    return missing || e->film ? missing : "out of memory";
}

static void engine_close(engine *e) {
    for (int i = 0; i < 2 * RING; i++)
        if (e->frames[i / 2][i % 2])
            e->gpu.memory_free(e->frames[i / 2][i % 2]);
    if (e->is_cpu) {
        free(e->film);
        return;
    }
    if (e->film)
        e->gpu.pinned_free(e->film);
    device_close(&e->gpu);
}

/* Simulates drawing, encoding and decoding: queues copies on the stream. The copies may not be finished when the
 * function returns. */
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

/* Scores each pushed pair again, as a single pair on the CPU. The scores must be bit-identical. */
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
    printf("%d frames drawn, %d scored, %d skipped; %d scores equal those of single pairs\n", e->drawn, (int)o->pushed,
           o->left_out, same);
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
        config.gpu.stream = e->gpu.stream;        /* the GPU waits for the work that draws a pair; the CPU does not */
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
    /* After the last frame, the program can wait. */
    ok = ok && vmafgpu_flush(o.vmaf) == VMAFGPU_OK && overlay_update(&o, scores);
    if (!ok)
        fprintf(stderr, "engine_overlay: %s\n", vmafgpu_last_error(o.vmaf));
    vmafgpu_close(o.vmaf); /* before the frames are freed */
    return ok && check(e, &o, scores);
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "cuda", *missing;
    const char *kernels = argc > 2 ? argv[2] : NULL, *driver = argc > 3 ? argv[3] : NULL;
    engine e;
    int ok = 1;
    if (argc > 4 || (strcmp(kind, "cuda") && strcmp(kind, "hip") && strcmp(kind, "cpu"))) {
        fprintf(stderr,
                "engine_overlay: wrong arguments; usage: engine_overlay [cuda | hip | cpu [KERNELS [DRIVER]]]\n");
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
