/* Property: any model file is either accepted or rejected with a message. If it is accepted, either vmafgpu_open()
 * rejects the model with a message, or the context scores a pair. */
#include "../../vmafgpu.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void score(const vmafgpu_model *model) {
    static unsigned char plane[16 * 16];
    vmafgpu_model_config m;
    vmafgpu_config config;
    vmafgpu_frame frame;
    vmafgpu_score out;
    vmafgpu *context = NULL;
    memset(&config, 0, sizeof config);
    memset(&m, 0, sizeof m);
    memset(&frame, 0, sizeof frame);
    m.model = model;
    m.enable_transform = 1;
    config.width = config.height = 16;
    config.models = &m;
    config.model_count = 1;
    frame.data[0] = plane;
    if (vmafgpu_open(&context, &config) == VMAFGPU_OK) {
        if (vmafgpu_score_pair(context, &frame, &frame, NULL, &out) != VMAFGPU_OK)
            abort();
    } else if (vmafgpu_last_error(context)[0] == 0) {
        abort();
    }
    vmafgpu_close(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    vmafgpu_model *model = NULL;
    char error[64] = "";
    if (vmafgpu_model_parse(&model, "fuzz", (const char *)data, size, NULL, error, sizeof error) == VMAFGPU_OK) {
        score(model);
        vmafgpu_model_release(model);
    } else if (model || error[0] == 0) {
        abort();
    }
    return 0;
}
