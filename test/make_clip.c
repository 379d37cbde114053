/* Writes a pair of test clips from clip.h, as y4m or as raw planes. */
#include <stdio.h>
#include "clip.h"

static const char usage[] =
    "usage: make_clip [--raw] [--floor] CONTENT[+DISTORTION] WIDTHxHEIGHT DEPTH CHROMA FRAMES SEED REFERENCE "
    "DISTORTED\n"
    "  CONTENT     texture noise flat black white lines blocks ramp bands dusk grey chequers diagonals shade\n"
    "  DISTORTION  same blur grain coarse mix invert stretch faint luma wash rinse\n"
    "  DEPTH       8..16   CHROMA  400 420 422 444\n"
    "  --raw       planes only, no y4m headers\n"
    "  --floor     odd-sized chroma rounded down, as libvmaf reads raw files\n";

static int write_plane(FILE *file, const clip *c, int plane, int floor_chroma, const uint16_t *samples,
                       unsigned char *bytes) {
    int bytes_per_sample = c->depth > 8 ? 2 : 1;
    int width = clip_plane_width(c, plane), height = clip_plane_height(c, plane);
    int keep_width = width, keep_height = height;
    if (floor_chroma && plane > 0) {
        keep_width = c->chroma != 444 ? c->width / 2 : c->width;
        keep_height = c->chroma == 420 ? c->height / 2 : c->height;
    }
    for (int y = 0; y < keep_height; y++) {
        size_t row_bytes = (size_t)keep_width * (size_t)bytes_per_sample;
        clip_store(samples + (size_t)y * (size_t)width, (size_t)keep_width, bytes_per_sample, bytes);
        if (fwrite(bytes, 1, row_bytes, file) != row_bytes)
            return 0;
    }
    return 1;
}

static int write_clip(FILE *file, const clip *c, int side, int raw, int floor_chroma) {
    size_t count = clip_plane_samples(c, 0);
    uint16_t *samples = (uint16_t *)malloc(count * sizeof(uint16_t));
    unsigned char *bytes = (unsigned char *)malloc(count * 2);
    int ok = samples && bytes;
    if (ok && !raw) {
        char tag[16];
        if (c->chroma == 400)
            snprintf(tag, sizeof tag, c->depth > 8 ? "mono%d" : "mono", c->depth);
        else
            snprintf(tag, sizeof tag, c->depth > 8 ? "%dp%d" : "%d", c->chroma, c->depth);
        ok = fprintf(file, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C%s\n", c->width, c->height, tag) > 0;
    }
    for (int frame = 0; ok && frame < c->frames; frame++) {
        ok = raw || fputs("FRAME\n", file) >= 0;
        for (int plane = 0; ok && plane < clip_plane_count(c); plane++) {
            ok =
                clip_plane(c, frame, side, plane, samples) && write_plane(file, c, plane, floor_chroma, samples, bytes);
        }
    }
    free(samples);
    free(bytes);
    return ok;
}

int main(int argc, char **argv) {
    int raw = 0, floor_chroma = 0, first = 1, width = 0, height = 0;
    clip c;
    for (; first < argc && argv[first][0] == '-'; first++) {
        raw |= strcmp(argv[first], "--raw") == 0;
        floor_chroma |= strcmp(argv[first], "--floor") == 0;
    }
    if (argc - first != 8 || sscanf(argv[first + 1], "%dx%d", &width, &height) != 2 ||
        !clip_init(&c, argv[first], width, height, atoi(argv[first + 2]), atoi(argv[first + 3]), atoi(argv[first + 4]),
                   (uint32_t)strtoul(argv[first + 5], NULL, 10))) {
        fputs(usage, stderr);
        return 2;
    }
    for (int side = 0; side < 2; side++) {
        const char *path = argv[first + 6 + side];
        FILE *file = fopen(path, "wb");
        int ok = file && write_clip(file, &c, side, raw, floor_chroma);
        if (file && fclose(file) != 0)
            ok = 0;
        if (!ok) {
            fprintf(stderr, "make_clip: cannot write %s\n", path);
            return 1;
        }
    }
    return 0;
}
