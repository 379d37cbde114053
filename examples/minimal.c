/* The shortest complete program. It reads two raw video files (planar 4:2:0, 8 bits), and prints the VMAF score of each
 * frame and the mean.
 *
 *     minimal WIDTH HEIGHT reference.yuv distorted.yuv
 *
 * Output:
 *
 *         frame 0: 49.366694
 *         frame 1: 54.613197
 *         ...
 *         mean: 54.010369
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    vmafgpu_config cfg = VMAFGPU_INIT;
    vmafgpu *v = NULL;
    vmafgpu_score score;
    double mean;
    int ok = argc == 5;
    cfg.width = ok ? atoi(argv[1]) : 0, cfg.height = ok ? atoi(argv[2]) : 0;
    ok = ok && vmafgpu_open(&v, &cfg) == VMAFGPU_OK;
    size_t size = vmafgpu_frame_size(&cfg, 0);
    unsigned char *memory = malloc(2 * size);
    FILE *ref = ok ? fopen(argv[3], "rb") : NULL, *dist = ok ? fopen(argv[4], "rb") : NULL;
    ok = ok && memory && ref && dist;
    while (ok && fread(memory, size, 1, ref) == 1 && fread(memory + size, size, 1, dist) == 1) {
        vmafgpu_frame r = vmafgpu_frame_of(&cfg, memory, 0), d = vmafgpu_frame_of(&cfg, memory + size, 0);
        ok = vmafgpu_push(v, &r, &d) == VMAFGPU_OK;
    }
    ok = ok && vmafgpu_flush(v) == VMAFGPU_OK;
    while (ok && vmafgpu_next_score(v, &score) == VMAFGPU_OK)
        printf("frame %d: %f\n", (int)score.index, score.score);
    ok = ok && vmafgpu_pool(v, vmafgpu_model_column(v, 0), VMAFGPU_POOL_MEAN, &mean) == VMAFGPU_OK;
    if (ok)
        printf("mean: %f\n", mean);
    else
        fprintf(stderr, "minimal: %s\n",
                argc != 5                     ? "needs WIDTH HEIGHT reference.yuv distorted.yuv"
                : v && *vmafgpu_last_error(v) ? vmafgpu_last_error(v)
                                              : "cannot read that");
    vmafgpu_close(v);
    free(memory);
    if (ref)
        fclose(ref);
    if (dist)
        fclose(dist);
    return !ok;
}
