/* Scores a live stream. Pairs of frames arrive one by one, and a callback receives each score as soon as it is known.
 * With config.discard_scores, the memory in use does not grow with the stream; pooled values still cover all frames.
 *
 *     stream                              scores 50 frames that the program draws
 *     ffmpeg -v error -nostdin -i REF -i DIST -filter_complex \
 *         "[0]extractplanes=y[a];[1]extractplanes=y[b];[a][b]interleave,setpts=N" \
 *         -fps_mode passthrough -f rawvideo - | stream WIDTH HEIGHT
 *                                         scores alternating 8-bit luma planes from standard input: reference,
 *                                         distorted, reference, ...
 *
 * The filter extractplanes passes luma on unchanged; -pix_fmt gray would convert it to full range. Output of `stream`:
 *
 *         frame 0: 97.429
 *         frame 1: 100.000
 *         ...
 *         frame 49: 96.676
 *         mean 99.778, worst 96.218, memory 766 KiB
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct source {
    int width, height, from_stdin, frame;
} source;

/* Reads or draws the next pair of planes. Returns 0 at the end of the stream. */
static int next_pair(source *s, unsigned char *reference, unsigned char *distorted) {
    size_t size = (size_t)s->width * (size_t)s->height;
    if (s->from_stdin)
        return fread(reference, size, 1, stdin) == 1 && fread(distorted, size, 1, stdin) == 1;
    for (int y = 0; y < s->height; y++) {
        for (int x = 0; x < s->width; x++) {
            int u = x + 2 * s->frame, damage = s->frame % 25;
            int value = 40 + u * 3 % 150 + (((u / 20) ^ (y / 20)) & 1) * 40;
            reference[y * s->width + x] = (unsigned char)value;
            distorted[y * s->width + x] = (unsigned char)(value / (1 + damage) * (1 + damage));
        }
    }
    return s->frame++ < 50;
}

/* vmafgpu_push() and vmafgpu_flush() call this in frame order. `score` is valid only during the call. */
static void on_score(void *user, const vmafgpu_score *score) {
    double *worst = user;
    printf("frame %d: %.3f\n", (int)score->index, score->score);
    fflush(stdout);
    if (score->score < *worst)
        *worst = score->score;
}

static int run(vmafgpu *vmaf, source *s, unsigned char *planes) {
    unsigned char *other = planes + (size_t)s->width * (size_t)s->height;
    vmafgpu_frame reference = vmafgpu_frame_of(vmafgpu_get_config(vmaf), planes, 0);
    vmafgpu_frame distorted = vmafgpu_frame_of(vmafgpu_get_config(vmaf), other, 0);
    while (next_pair(s, planes, other))
        if (vmafgpu_push(vmaf, &reference, &distorted) != VMAFGPU_OK)
            return 0;
    return vmafgpu_flush(vmaf) == VMAFGPU_OK;
}

int main(int argc, char **argv) {
    source s = { 320, 180, 0, 0 };
    double worst = 100, mean = 0;
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *vmaf = NULL;
    unsigned char *planes = NULL;
    int ok;
    if (argc != 1 && argc != 3) {
        fprintf(stderr, "stream: wrong arguments; usage: stream [WIDTH HEIGHT]\n");
        return 1;
    }
    if (argc == 3) {
        s.width = atoi(argv[1]);
        s.height = atoi(argv[2]);
        s.from_stdin = 1;
    }
    config.width = s.width;
    config.height = s.height;
    config.chroma = VMAFGPU_CHROMA_400;
    config.discard_scores = 1;
    config.on_score = on_score;
    config.on_score_user = &worst;
    ok = vmafgpu_open(&vmaf, &config) == VMAFGPU_OK;
    if (ok) {
        planes = malloc(2 * (size_t)s.width * (size_t)s.height);
        ok = planes && run(vmaf, &s, planes);
    }
    if (ok && vmafgpu_pool(vmaf, vmafgpu_model_column(vmaf, 0), VMAFGPU_POOL_MEAN, &mean) == VMAFGPU_OK) {
        printf("mean %.3f, worst %.3f, memory %u KiB\n", mean, worst, (unsigned)(vmafgpu_host_memory(vmaf) / 1024));
    } else {
        fprintf(stderr, "stream: %s\n", ok ? "the input contains no frames" : vmafgpu_last_error(vmaf));
        ok = 0;
    }
    free(planes);
    vmafgpu_close(vmaf);
    return !ok;
}
