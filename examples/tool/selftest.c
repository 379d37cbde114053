/* selftest.c: see selftest.h. */
#include "system.h"

#include "selftest.h"
#include "message.h"
#include "options.h"
#include "session.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Together, these contexts use all kernels, and vmafgpu_open() tests the kernels that a context uses. */
int tool_self_test(const options *o) {
    static const struct {
        int bit_depth;
        vmafgpu_layout layout;
        int arithmetic;
    } formats[] = { { 8, VMAFGPU_LAYOUT_PLANAR, 1 },  { 8, VMAFGPU_LAYOUT_SEMIPLANAR, 2 },
                    { 10, VMAFGPU_LAYOUT_PLANAR, 1 }, { 10, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 2 },
                    { 16, VMAFGPU_LAYOUT_PLANAR, 1 }, { 16, VMAFGPU_LAYOUT_PLANAR, 2 } };
    static const vmafgpu_feature_config summed[] = {
        { "vif", NULL },
        { "vif", "vif_enhn_gain_limit=1" },
        { "adm", NULL },
        { "adm", "adm_enhn_gain_limit=1.2" },
        { "motion", "motion_five_frame_window=true" },
        { "cambi", NULL },
        { "cambi", "max_log_contrast=3:full_ref=true" },
        { "cambi", "window_size=127" },
        { "speed_chroma", NULL },
        { "speed_chroma", "speed_prescale=0.5" },
    };
    static const vmafgpu_feature_config measured[] = {
        { "psnr", NULL },
        { "float_psnr", NULL },
        { "float_moment", NULL },
        { "float_ssim", "enable_lcs=true" },
        { "float_ms_ssim", "enable_lcs=true" },
        { "float_vif", NULL },
        { "float_adm", NULL },
        { "float_adm", "adm_p_norm=2.5" },
        { "float_motion", NULL },
        { "float_ansnr", NULL },
        { "ciede", NULL },
        { "speed_temporal", NULL },
        { "float_vif", "vif_prescale=0.5:vif_prescale_method=lanczos4" },
        { "float_motion", "motion_add_scale1=true" },
        { "float_motion", "motion_add_uv=true" },
        { "psnr_hvs", NULL }, /* must come last, because it does not support 16 bits */
    };
    /* The third context of each format uses the default model, edits, maps and slopes. */
    static const struct {
        const vmafgpu_feature_config *features;
        int count;
    } parts[] = { { summed, sizeof summed / sizeof summed[0] },
                  { measured, sizeof measured / sizeof measured[0] },
                  { NULL, 0 } };
    enum { PARTS = sizeof parts / sizeof parts[0] };
    const size_t count = PARTS * (sizeof formats / sizeof formats[0]);
    vmafgpu_backend backend = o->backend;
    uint64_t sum = 0;
    /* Edits and maps require a single GPU. */
    int ok =
        o->gpu_count == 0 || o->gpu_count == 1 || tool_fail("--self-test tests a single GPU; give --gpu one number");
    for (size_t k = 0; ok && k < count; k++) {
        const size_t i = k / PARTS;
        const int has_edits = !parts[k % PARTS].features;
        vmafgpu_config config = VMAFGPU_INIT;
        vmafgpu *context = NULL;
        config.width = 1920;
        config.height = 1080;
        config.bit_depth = formats[i].bit_depth;
        config.layout = formats[i].layout;
        config.features_only = !has_edits;
        config.features = parts[k % PARTS].features;
        config.feature_count = parts[k % PARTS].count - (config.features == measured && formats[i].bit_depth == 16);
        config.live = has_edits;
        config.max_edit_size = has_edits ? 24 : 0;
        config.map_block_size = has_edits ? 16 : 0;
        config.slopes = has_edits;
        config.float_reciprocal = VMAFGPU_RECIPROCAL_INTEL; /* makes the checksum independent of the processor */
        config.colour.matrix = VMAFGPU_MATRIX_BT709;
        config.colour.range = VMAFGPU_RANGE_LIMITED;
        config.colour.siting = VMAFGPU_SITING_LEFT;
        config.colour.transfer = VMAFGPU_TRANSFER_SRGB;
        config.backend = backend;
        tool_choose_gpus(&config, o);
        config.gpu.batch = config.gpu.queue_depth = 1;
        config.gpu.vif_arithmetic = formats[i].arithmetic;
        if (vmafgpu_open(&context, &config) != VMAFGPU_OK) {
            ok = tool_fail_library(vmafgpu_last_error(context));
        } else if (!*vmafgpu_device_name(context)) {
            ok = tool_fail("there is no GPU to test: %s",
                           o->backend ? "--backend is cpu" : vmafgpu_backend_note(context));
        } else if (backend == VMAFGPU_BACKEND_AUTO) {
            /* The other contexts request this backend explicitly. With AUTO, those with edits would use the CPU. */
            backend = strcmp(vmafgpu_backend_name(context), "hip") == 0 ? VMAFGPU_BACKEND_HIP : VMAFGPU_BACKEND_CUDA;
        }
        sum = (sum << 7 | sum >> 57) ^ vmafgpu_self_test_checksum(context);
        if (ok && k == count - 1) {
            printf("vmafgpu %s self-test passed: %s, %s: %08x%08x\n", vmafgpu_version_string(),
                   vmafgpu_device_name(context), vmafgpu_driver_name(context), (unsigned)(sum >> 32),
                   (unsigned)(sum & 0xffffffffu));
        }
        vmafgpu_close(context);
    }
    return ok;
}

void tool_print_version(const options *o) {
    static const struct {
        const char *name;
        vmafgpu_backend backend;
    } backends[] = { { "cpu", VMAFGPU_BACKEND_CPU }, { "cuda", VMAFGPU_BACKEND_CUDA }, { "hip", VMAFGPU_BACKEND_HIP } };
    static const vmafgpu_feature_config feature = { "motion", NULL };
    printf("vmafgpu %s\n", vmafgpu_version_string());
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        vmafgpu_config config = VMAFGPU_INIT;
        vmafgpu *context = NULL;
        char text[1024];
        config.width = config.height = 64;
        config.features_only = 1;
        config.features = &feature;
        config.feature_count = 1;
        config.backend = backends[i].backend;
        tool_choose_gpus(&config, o);
        int is_there = vmafgpu_open(&context, &config) == VMAFGPU_OK;
        tool_translate(text, sizeof text, vmafgpu_last_error(context));
        char name[16];
        snprintf(name, sizeof name, "%s: ", backends[i].name);
        const char *why = strstr(text, name);
        printf("%s: ", backends[i].name);
        if (is_there && i == 0) {
            printf("%s", vmafgpu_instruction_set(context));
        } else if (is_there) {
            tool_put_text(stdout, vmafgpu_device_name(context));
            printf(", %s", vmafgpu_driver_name(context));
        } else {
            tool_put_text(stdout, "none: ");
            tool_put_text(stdout, why ? why + strlen(name) : text);
        }
        putchar('\n');
        vmafgpu_close(context);
    }
}
