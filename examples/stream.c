/* A live loop: pairs arrive one by one, for hours if need be, and each score is handed out as soon as it is known.
 * With discard_scores the context does not grow with the stream; pooled values still cover all of it.
 *
 *     stream                              a stream made up here, 50 frames
 *     ffmpeg -v error -nostdin -i REF -i DIST -filter_complex \
 *         "[0]extractplanes=y[a];[1]extractplanes=y[b];[a][b]interleave,setpts=N" \
 *         -fps_mode passthrough -f rawvideo - | stream WIDTH HEIGHT
 *                                         8-bit luma planes from standard input, reference and distorted in turn.
 *                                         -pix_fmt gray in place of extractplanes would stretch their range
 */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct source {
    int width, height, from_stdin, frame;
} source;

/* The next pair of planes; 0 at the end. */
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

/* Called from inside vmafgpu_push() and vmafgpu_flush(), in frame order. `score` is good for this call only. */
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
        fprintf(stderr, "stream: takes WIDTH HEIGHT, or nothing\n");
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
        fprintf(stderr, "stream: %s\n", ok ? "no frames" : vmafgpu_last_error(vmaf));
        ok = 0;
    }
    free(planes);
    vmafgpu_close(vmaf);
    return !ok;
}
