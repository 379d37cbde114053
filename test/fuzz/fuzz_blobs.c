/* Property: for any LZMA stream, container or text, no byte outside the input is read, and no byte outside the output
 * buffer is written. Accepted data has the expected size. The first byte of the input selects the kind of input and the
 * size of the output. This file contains the implementation, because it calls internal functions. */
#define VMAFGPU_STATIC
#define VMAFGPU_NO_SIMD
#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef VMAFGPU_NO_GPU
static void unpack(vmafgpu *v, const vmafgpu__blob *blobs, int i) {
    vmafgpu__image made;
    char reason[512] = "";
    memset(&made, 0, sizeof made);
    if (vmafgpu__unpack(v, blobs, i, "fuzz", &made, reason, sizeof reason)
            ? made.size != blobs[i].size || made.data[made.size] != 0
            : reason[0] == 0) {
        abort();
    }
    vmafgpu__give(v, made.data);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
#ifndef VMAFGPU_NO_GPU
    static vmafgpu v;
    vmafgpu__blob blobs[VMAFGPU__MAX_BLOBS];
    if (size == 0)
        return 0;
    memset(blobs, 0, sizeof *blobs);
    if (data[0] & 1) { /* a stream with the right checksum */
        blobs[0].packed = data + 1;
        blobs[0].packed_size = (uint32_t)(size - 1);
        blobs[0].size = (uint32_t)(data[0] >> 3) << (data[0] >> 1 & 3) * 4;
        blobs[0].crc = vmafgpu__crc32(data + 1, size - 1);
        blobs[0].at = data[0] >> 1 & 1 ? 5 : 0;
        unpack(&v, blobs, 0);
    } else { /* a container: the checksums of the entries and of three out of four blobs are right */
        vmafgpu__image image;
        uint8_t *copy = (uint8_t *)malloc(size);
        uint32_t count, crc;
        int read;
        if (!copy)
            return 0;
        memset(&image, 0, sizeof image);
        memcpy(copy, data + 1, size - 1);
        image.data = (char *)copy;
        image.size = size - 1;
        count = image.size >= VMAFGPU__CONTAINER_HEAD ? vmafgpu__read_u32(copy + 16) % 128 : 0;
        if (image.size >= VMAFGPU__CONTAINER_HEAD + (size_t)32 * count) {
            crc = vmafgpu__crc32(copy + VMAFGPU__CONTAINER_CHECKED, 4 + (size_t)32 * count);
            memcpy(copy + 20, &crc, 4);
        }
        (void)vmafgpu__is_container(&image);
        read = vmafgpu__read_container(&image, blobs);
        for (int i = 0; i < read; i++) {
            if (i % 4 != 3)
                blobs[i].crc = vmafgpu__crc32(blobs[i].packed, blobs[i].packed_size);
            blobs[i].size %= 1 << 20;
            blobs[i].at %= 1 << 16;
            unpack(&v, blobs, i);
        }
        free(copy);
    }
#else
    (void)data;
    (void)size;
#endif
    return 0;
}
