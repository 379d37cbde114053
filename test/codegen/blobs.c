/* Whether a bundle and vmafgpu_hsaco.h hold these code objects and no others.
 *
 *     blobs BUNDLE vmafgpu_kernels.TARGET.hsaco...
 */
#include "vmafgpu_hsaco.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 26, PAGE = 4096 };

typedef struct contents { const unsigned char *bytes; size_t size; } contents;

static contents read_file(const char *path) {
    unsigned char *bytes = (unsigned char *)malloc(LARGEST_FILE);
    FILE *file = fopen(path, "rb");
    contents read = { bytes, 0 };
    if (!bytes || !file) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    read.size = fread(bytes, 1, LARGEST_FILE, file);
    fclose(file);
    return read;
}

static int is_same(contents a, contents b) {
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

static uint64_t number(const unsigned char *p) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

/* The entry of that id; its size is 0 where there is none. */
static contents find_entry(contents bundle, const char *id) {
    contents entry = { bundle.bytes, 0 };
    const unsigned char *p = bundle.bytes + 32;
    for (uint64_t n = number(bundle.bytes + 24); n; n--) {
        const uint64_t offset = number(p), size = number(p + 8), length = number(p + 16);
        if (length == strlen(id) && memcmp(p + 24, id, length) == 0 && offset % PAGE == 0 && offset + size <= bundle.size) {
            entry.bytes = bundle.bytes + offset;
            entry.size = size;
        }
        p += 24 + length;
    }
    return entry;
}

static contents find_array(const char *target) {
    contents entry = { NULL, 0 };
    for (const struct vmafgpu_hsaco_entry *e = vmafgpu_hsaco; e->target; e++)
        if (strcmp(e->target, target) == 0) {
            entry.bytes = (const unsigned char *)e->data;
            entry.size = e->size;
        }
    return entry;
}

int main(int count, char **words) {
    const int objects = count - 2;
    int arrays = 0, wrong = 0;
    if (count < 3) {
        printf("blobs BUNDLE vmafgpu_kernels.TARGET.hsaco...\n");
        return 2;
    }
    const contents bundle = read_file(words[1]);
    if (bundle.size < 32 || memcmp(bundle.bytes, "__CLANG_OFFLOAD_BUNDLE__", 24) != 0) {
        printf("%s is no bundle\n", words[1]);
        return 1;
    }
    while (vmafgpu_hsaco[arrays].target)
        arrays++;
    if (arrays != objects || number(bundle.bytes + 24) != (uint64_t)objects + 1) {
        printf("%d code objects, %d arrays, %d entries with the host's\n", objects, arrays,
               (int)number(bundle.bytes + 24));
        wrong = 1;
    }
    for (int i = 2; i < count; i++) {
        const contents object = read_file(words[i]);
        const char *name = strstr(words[i], "kernels.gfx"), *end = strstr(words[i], ".hsaco");
        char target[32], id[64];
        if (!name || !end)
            return 2;
        name += strlen("kernels.");
        snprintf(target, sizeof target, "%.*s", (int)(end - name), name);
        snprintf(id, sizeof id, "hipv4-amdgcn-amd-amdhsa--%s", target);
        if (!is_same(object, find_entry(bundle, id))) {
            printf("%s is not what the bundle holds\n", words[i]);
            wrong = 1;
        }
        if (!is_same(object, find_array(target))) {
            printf("%s is not what the C header holds\n", words[i]);
            wrong = 1;
        }
    }
    return wrong;
}
