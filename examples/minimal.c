/* The shortest complete program. It reads two raw video files (planar 4:2:0, 8 bits) and prints the VMAF score of each
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
    vmafgpu_config cfg = VMAFGPU_INIT; /* the defaults: planar 4:2:0, 8 bits, model vmaf_v0.6.1 */
    vmafgpu *v = NULL;
    vmafgpu_score score;
    double mean;
    if (argc != 5) {
        fprintf(stderr, "minimal: wrong arguments; usage: minimal WIDTH HEIGHT reference.yuv distorted.yuv\n");
        return 1;
    }
    cfg.width = atoi(argv[1]);
    cfg.height = atoi(argv[2]);
    size_t size = vmafgpu_frame_size(&cfg, 0);
    unsigned char *memory = malloc(2 * size);
    FILE *ref = fopen(argv[3], "rb"), *dist = fopen(argv[4], "rb");
    int is_ready = memory && ref && dist;
    int ok = is_ready && vmafgpu_open(&v, &cfg) == VMAFGPU_OK;
    while (ok && fread(memory, size, 1, ref) == 1 && fread(memory + size, size, 1, dist) == 1) {
        vmafgpu_frame r = vmafgpu_frame_of(&cfg, memory, 0), d = vmafgpu_frame_of(&cfg, memory + size, 0);
        ok = vmafgpu_push(v, &r, &d) == VMAFGPU_OK;
    }
    ok = ok && vmafgpu_flush(v) == VMAFGPU_OK; /* the end of the clip: all scores become ready */
    while (ok && vmafgpu_next_score(v, &score) == VMAFGPU_OK)
        printf("frame %d: %f\n", (int)score.index, score.score);
    ok = ok && vmafgpu_pool(v, vmafgpu_model_column(v, 0), VMAFGPU_POOL_MEAN, &mean) == VMAFGPU_OK;
    if (ok)
        printf("mean: %f\n", mean);
    else
        fprintf(stderr, "minimal: %s\n", is_ready ? vmafgpu_last_error(v) : "a file cannot be opened");
    vmafgpu_close(v);
    free(memory);
    if (ref)
        fclose(ref);
    if (dist)
        fclose(dist);
    return !ok;
}
