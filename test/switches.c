/* Scores a clip of two frames with each feature, with two models, with an edit and as RGB. Prints one line for each,
 * with the exact values or the error message. test_switches.sh compares the lines of builds with and without some
 * features.
 *
 *     switches cpu | gpu      gpu: the simulated GPU that VMAFGPU_TEST_DRIVER and VMAFGPU_TEST_KERNELS select */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"

enum { WIDTH = 216, HEIGHT = 160, CHROMA = WIDTH * HEIGHT, FRAMES = 2 };

static unsigned char clip[2][FRAMES][WIDTH * HEIGHT + 2 * CHROMA];

static void make_clip(void) {
    uint32_t random = 1;
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < WIDTH * HEIGHT + 2 * CHROMA; i++) {
            const int x = i % WIDTH, y = i / WIDTH;
            random = random * 1664525u + 1013904223u;
            const int value = 64 + (x + 3 * f) / 4 + y / 3 + (int)(random >> 29);
            clip[0][f][i] = (unsigned char)value;
            clip[1][f][i] = (unsigned char)(value / 4 * 4 + (int)(random >> 20 & 1));
        }
}

static vmafgpu_frame frame_of(const unsigned char *picture) {
    vmafgpu_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.data[0] = picture;
    frame.data[1] = picture + WIDTH * HEIGHT;
    frame.data[2] = picture + WIDTH * HEIGHT + CHROMA;
    return frame;
}

static void report(const char *name, vmafgpu_config *config) {
    vmafgpu *v;
    vmafgpu_result result;
    config->width = WIDTH;
    config->height = HEIGHT;
    config->chroma = VMAFGPU_CHROMA_444;
    printf("%s:", name);
    result = vmafgpu_open(&v, config);
    for (int f = 0; result == VMAFGPU_OK && f < FRAMES; f++) {
        vmafgpu_frame reference = frame_of(clip[0][f]);
        const vmafgpu_frame distorted = frame_of(clip[1][f]);
        if (config->colour.matrix)
            reference.pixels = VMAFGPU_PIXELS_RGB24;
        result = vmafgpu_push(v, &reference, &distorted);
    }
    if (result == VMAFGPU_OK)
        result = vmafgpu_flush(v);
    for (int f = 0; result == VMAFGPU_OK && f < FRAMES; f++) {
        vmafgpu_score score;
        result = vmafgpu_score_at(v, f, &score);
        for (int i = 0; result == VMAFGPU_OK && i < vmafgpu_column_count(v); i++)
            printf(" %a", score.values[i]);
    }
    if (result == VMAFGPU_OK && config->max_edit_size) {
        const vmafgpu_frame reference = frame_of(clip[0][0]), distorted = frame_of(clip[1][0]);
        vmafgpu_edit edit;
        vmafgpu_edit_score score;
        memset(&edit, 0, sizeof edit);
        memset(&score, 0, sizeof score);
        edit.width = edit.height = config->max_edit_size;
        edit.data = clip[0][1];
        result = vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL);
        if (result == VMAFGPU_OK)
            result = vmafgpu_edit_try(v, &edit, 1, &score, NULL);
        if (result == VMAFGPU_OK)
            printf(" %a", score.score);
    }
    printf("%s%s\n", result == VMAFGPU_OK ? "" : " ", result == VMAFGPU_OK ? "" : vmafgpu_last_error(v));
    vmafgpu_close(v);
}

int main(int argc, char **argv) {
    static const char *const features[] = { "adm",          "vif",           "motion",        "cambi",
                                            "speed_chroma", "nothing",       "psnr",          "psnr_hvs",
                                            "ciede",        "float_ssim",    "float_ms_ssim", "float_adm",
                                            "float_vif",    "float_motion",  "float_psnr",    "float_moment",
                                            "float_ansnr",  "speed_temporal" };
    static const char *const models[] = { "vmaf_v0.6.1", "vmaf_v1.0.16_3d0h" };
    const int on_gpu = argc > 1 && !strcmp(argv[1], "gpu");
    vmafgpu_config common;
    make_clip();
    memset(&common, 0, sizeof common);
    common.backend = on_gpu ? VMAFGPU_BACKEND_CUDA : VMAFGPU_BACKEND_CPU;
    common.gpu.driver_path = getenv("VMAFGPU_TEST_DRIVER");
    common.gpu.kernels_path = getenv("VMAFGPU_TEST_KERNELS");
    for (int plain = 0; plain < (on_gpu ? 1 : 2); plain++) {
        common.cpumask = plain ? ~0u : 0;
        for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
            vmafgpu_config config = common;
            vmafgpu_feature_config feature;
            memset(&feature, 0, sizeof feature);
            feature.name = features[i];
            feature.options = i < 3 ? "debug=true" : NULL;
            config.features_only = 1;
            config.features = &feature;
            config.feature_count = 1;
            report(features[i], &config);
        }
        for (int i = 0; i < 3; i++) { /* the third config has an option for CAMBI, which this model does not use */
            vmafgpu_config config = common;
            vmafgpu_model_config model;
            memset(&model, 0, sizeof model);
            model.version = models[i % 2];
            model.options = i == 2 ? "cambi.topk=0.5" : NULL;
            config.models = &model;
            config.model_count = 1;
            report(i == 2 ? "overlay" : models[i], &config);
        }
        vmafgpu_config config = common;
        config.max_edit_size = 16;
        report("edits", &config);
        config.max_edit_size = 0;
        config.colour.matrix = VMAFGPU_MATRIX_BT709;
        config.colour.range = VMAFGPU_RANGE_FULL;
        report("pixels", &config);
    }
    return 0;
}
