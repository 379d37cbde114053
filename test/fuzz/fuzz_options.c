/* Property: for any names, options and numbers in a config, vmafgpu_open() returns a context that scores a pair, or an
 * error with a message.
 *
 * The input is a line of numbers (width height depth bytes chroma layout subsample discard), then lines that begin with
 * "f " (feature NAME OPTIONS) or "m " (model VERSION NAME OPTIONS). Words are separated by a space. */
#include "../../vmafgpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MODELS = 3, FEATURES = 4, SIDE = 40, LARGE = 216, LARGEST = 232 };

static char *word(char **rest) {
    char *start = *rest, *end = strchr(start, ' ');
    if (end) {
        *end = 0;
        *rest = end + 1;
    } else {
        *rest = start + strlen(start);
    }
    return *start ? start : NULL;
}

/* Reduces a width or height to a small value, which may or may not be large enough for CAMBI. Returns values that are
 * out of range unchanged. */
static int small(int side) {
    return side < LARGE ? (side > SIDE ? SIDE : side) : side <= 16384 ? LARGE + side % (LARGEST - LARGE + 1) : side;
}

static void score(vmafgpu *context) {
    static unsigned char plane[LARGEST * LARGEST * 4]; /* 2 bytes per sample; 2 interleaved chroma samples */
    vmafgpu_frame frame;
    vmafgpu_score out;
    double value;
    memset(&frame, 0, sizeof frame);
    frame.data[0] = frame.data[1] = frame.data[2] = plane;
    for (int i = 0; i < 3; i++) {
        vmafgpu_push(context, &frame, &frame);
        vmafgpu_next_score(context, &out);
    }
    vmafgpu_flush(context);
    while (vmafgpu_next_score(context, &out) == VMAFGPU_OK) {
    }
    for (int i = 0; i < vmafgpu_column_count(context); i++)
        if (!vmafgpu_column_name(context, i) || vmafgpu_pool(context, i, VMAFGPU_POOL_MEAN, &value) != VMAFGPU_OK)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vmafgpu_config config;
    vmafgpu_model_config models[MODELS];
    vmafgpu_feature_config features[FEATURES];
    vmafgpu *context = NULL;
    int numbers[8] = { 16, 16, 8, 0, 0, 0, 0, 0 }, n[2] = { 0, 0 };
    char *text = (char *)malloc(size + 1), *line = text;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    memset(&config, 0, sizeof config);
    memset(models, 0, sizeof models);
    memset(features, 0, sizeof features);
    for (int first = 1; line && *line; first = 0) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (first) {
            sscanf(line, "%7d %7d %7d %7d %7d %7d %7d %7d", numbers, numbers + 1, numbers + 2, numbers + 3, numbers + 4,
                   numbers + 5, numbers + 6, numbers + 7);
        } else if (line[0] == 'f' && line[1] == ' ' && n[0] < FEATURES) {
            char *rest = line + 2;
            features[n[0]].name = word(&rest);
            features[n[0]++].options = word(&rest);
        } else if (line[0] == 'm' && line[1] == ' ' && n[1] < MODELS) {
            char *rest = line + 2;
            models[n[1]].version = word(&rest);
            models[n[1]].name = word(&rest);
            models[n[1]++].options = word(&rest);
        }
        line = next;
    }
    config.width = small(numbers[0]);
    config.height = small(numbers[1]);
    config.bit_depth = numbers[2];
    config.bytes_per_sample = numbers[3];
    config.chroma = (vmafgpu_chroma)numbers[4];
    config.layout = (vmafgpu_layout)numbers[5];
    config.subsample = numbers[6];
    config.discard_scores = numbers[7] != 0;
    config.features = features;
    config.feature_count = n[0];
    config.models = models;
    config.model_count = n[1];
    config.features_only = n[1] == 0 && n[0] > 0;
    if (vmafgpu_open(&context, &config) == VMAFGPU_OK)
        score(context);
    else if (vmafgpu_last_error(context)[0] == 0)
        abort();
    vmafgpu_close(context);
    free(text);
    return 0;
}
