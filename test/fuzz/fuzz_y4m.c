/* Property: any y4m or raw file is read as frames of the expected size, or is rejected with one message. Frames that
 * were read are scored or rejected. Scoring is slow, so it is tested only for some inputs. The last byte of the input
 * selects the kind of file. */
#include "../../examples/tool/video.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes;

/* Returns pieces of different sizes, as a pipe does. */
static ptrdiff_t read_bytes(void *user, void *buffer, size_t size) {
    bytes *b = (bytes *)user;
    size_t count = size < 1000 ? size : 1000;
    count = count < b->left ? count : b->left;
    memcpy(buffer, b->at, count);
    b->at += count;
    b->left -= count;
    return (ptrdiff_t)count;
}

static void score(const video *v) {
    vmafgpu_config config = video_config(v);
    vmafgpu *context = NULL;
    vmafgpu_frame frame = video_frame(v);
    if (vmafgpu_open(&context, &config) != VMAFGPU_OK || vmafgpu_push(context, &frame, &frame) != VMAFGPU_OK) {
        if (vmafgpu_last_error(context)[0] == 0)
            abort();
    }
    vmafgpu_close(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t kind = size ? data[size - 1] : 0;
    bytes source;
    video v;
    video_raw raw;
    video_result result;
    source.at = data;
    source.left = size;
    memset(&raw, 0, sizeof raw);
    raw.width = 16 + kind % 5;
    raw.height = 16 + kind % 3;
    raw.bit_depth = kind % 7 == 0 ? 10 : 8;
    raw.chroma = (vmafgpu_chroma)(kind / 8 % 4);
    result = video_open_source(&v, "fuzz", read_bytes, &source, kind % 4 == 3 ? &raw : NULL, kind & 1);
    for (int i = 0; result == VIDEO_OK && i < 8; i++) {
        result = video_read(&v);
        if (result == VIDEO_OK && v.width <= 64 && v.height <= 64 && i == 0 && kind % 16 < 2)
            score(&v);
    }
    if ((result == VIDEO_ERROR || result == VIDEO_TRUNCATED) && v.error[0] == 0)
        abort();
    video_close(&v);
    return 0;
}
