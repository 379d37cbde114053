/* Checks that a container and its C header contain exactly these files for these targets, and that neither is larger
 * than MOST_BYTES.
 *
 *     cc -DVMAFGPU_AMD_HEADER='"vmafgpu_amd.h"' ... blobs.c
 *     blobs CONTAINER HEADER MOST_BYTES (TARGET FILE)...
 */
#define VMAFGPU_STATIC
#define VMAFGPU_NO_SIMD
#define VMAFGPU_NO_MODELS
#define VMAFGPU_IMPLEMENTATION
#include "../../vmafgpu.h"

#ifdef VMAFGPU_AMD_HEADER
#define TABLE vmafgpu__amd_blobs
#else
#define TABLE vmafgpu__nvidia_blobs
#endif

static vmafgpu__image read_file(const char *path) {
    vmafgpu__image read;
    FILE *file = fopen(path, "rb");
    memset(&read, 0, sizeof read);
    read.data = (char *)malloc(VMAFGPU__LARGEST_IMAGE);
    if (!read.data || !file) {
        printf("cannot read %s\n", path);
        exit(1);
    }
    read.size = fread(read.data, 1, VMAFGPU__LARGEST_IMAGE, file);
    fclose(file);
    return read;
}

/* Whether one of the blobs for the target contains the file; prints a message if not. */
static int holds(vmafgpu *v, const vmafgpu__blob *blobs, const char *where, const char *target,
                 const vmafgpu__image *file) {
    char reason[512] = "no such blob";
    int is_same = 0;
    for (int i = 0; blobs[i].target[0]; i++) {
        vmafgpu__image made;
        if (strcmp(blobs[i].target, target))
            continue;
        memset(&made, 0, sizeof made);
        if (vmafgpu__unpack(v, blobs, i, where, &made, reason, sizeof reason)) {
            is_same = made.size == file->size && !memcmp(made.data, file->data, made.size);
            snprintf(reason, sizeof reason, "contains a different file");
        }
        vmafgpu__give(v, made.data);
    }
    if (!is_same)
        printf("%s, %s: %s\n", where, target, reason);
    return is_same;
}

int main(int count, char **words) {
    static vmafgpu v;
    static vmafgpu__blob blobs[VMAFGPU__MAX_BLOBS + 1];
    const int files = (count - 4) / 2;
    int wrong = 0, in_table = 0;
    if (count < 6) {
        printf("usage: blobs CONTAINER HEADER MOST_BYTES (TARGET FILE)...\n");
        return 2;
    }
    const vmafgpu__image container = read_file(words[1]);
    const size_t most = (size_t)strtoul(words[3], NULL, 10);
    const int read = vmafgpu__is_container(&container) ? vmafgpu__read_container(&container, blobs) : -1;
    while (TABLE[in_table].target[0])
        in_table++;
    if (read != files || in_table != files) {
        printf("%d blobs in the container and %d in the header instead of %d\n", read, in_table, files);
        wrong = 1;
    }
    for (int i = 0; i < 2; i++) {
        const vmafgpu__image file = read_file(words[1 + i]);
        if (file.size > most) {
            printf("%s has %lu bytes; the maximum is %lu\n", words[1 + i], (unsigned long)file.size,
                   (unsigned long)most);
            wrong = 1;
        }
        free(file.data);
    }
    for (int i = 0; i < files; i++) {
        const vmafgpu__image file = read_file(words[5 + 2 * i]);
        wrong |= !holds(&v, blobs, "container", words[4 + 2 * i], &file);
        wrong |= !holds(&v, TABLE, "C header", words[4 + 2 * i], &file);
        free(file.data);
    }
    free(container.data);
    return wrong;
}
