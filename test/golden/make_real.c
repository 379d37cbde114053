/* Compresses the first frames of a pair of clips for the tests. See README.md in this folder.
 *
 *     make_real REFERENCE.y4m DISTORTED.y4m FRAMES OUTPUT [WIDTHxHEIGHT]
 *
 * With WIDTHxHEIGHT, the clips are raw 8-bit video, 4:2:0. */
#define VMAFGPU_IMPLEMENTATION
#include "../../examples/tool/video.h"
#include "squeeze.h"

static int fail(const char *what) {
    fprintf(stderr, "make_real: %s\n", what);
    return 1;
}

int main(int argc, char **argv) {
    static squeeze s;
    static uint16_t samples[4096 * 2304];
    video sides[2];
    video_raw raw;
    memset(&raw, 0, sizeof raw);
    raw.bit_depth = 8;
    if (argc < 5 || (argc > 5 && sscanf(argv[5], "%dx%d", &raw.width, &raw.height) != 2))
        return fail("REFERENCE DISTORTED FRAMES OUTPUT [WIDTHxHEIGHT]");
    for (int side = 0; side < 2; side++)
        if (video_open(&sides[side], argv[1 + side], argc > 5 ? &raw : NULL, 0) != VIDEO_OK)
            return fail(argv[1 + side]);
    const vmafgpu_config config = video_config(&sides[0]);
    const int wide = config.bit_depth > 8, frames = atoi(argv[3]), chroma = (int)config.chroma;
    const int formats[] = { 420, 400, 422, 444 };
    const size_t room = (size_t)config.width * (size_t)config.height * 16 * (size_t)frames + 4096;
    unsigned char *bytes = (unsigned char *)malloc(room);
    FILE *file = fopen(argv[4], "wb");
    if (!bytes || !file)
        return fail(argv[4]);
    squeeze_begin(&s, bytes, room, 0);
    for (int i = 0; i < 2 * frames; i++) {
        if (video_read(&sides[i % 2]) != VIDEO_OK)
            return fail("too few frames");
        const vmafgpu_frame frame = video_frame(&sides[i % 2]);
        for (int plane = 0; plane < 3; plane++) {
            const int w = plane && config.chroma != VMAFGPU_CHROMA_444 ? (config.width + 1) / 2 : config.width;
            const int h = plane && config.chroma == VMAFGPU_CHROMA_420 ? (config.height + 1) / 2 : config.height;
            const unsigned char *data = (const unsigned char *)frame.data[plane];
            const size_t pitch = frame.pitch[plane] ? (size_t)frame.pitch[plane] : (size_t)w << wide;
            for (int y = 0; y < h; y++) {
                for (int x = 0; x < w; x++) {
                    const unsigned char *at = data + (size_t)y * pitch + ((size_t)x << wide);
                    samples[(size_t)y * (size_t)w + (size_t)x] = (uint16_t)(at[0] | (wide ? at[1] << 8 : 0));
                }
            }
            squeeze_plane(&s, plane > 0, samples, w, h);
        }
    }
    const size_t size = squeeze_end(&s);
    fprintf(file, "squeezed %dx%d %d %d %d\n", config.width, config.height, config.bit_depth, formats[chroma], frames);
    if (fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        return fail(argv[4]);
    return 0;
}
