/* Tests packed kernels: LZMA streams from xz, containers, and kernels stored as C strings. Each flipped bit and each
 * missing byte must be detected. The test calls private functions, so it contains an implementation. */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "test.h"
#include "lzma.h"

/* Includes the packer without its main(). */
#define main pack_blobs_main
#include "pack_blobs.c"
#undef main

#ifdef VMAFGPU_NO_GPU
int main(void) {
    test_skip("this build has no GPU backend");
    return test_end();
}
#else

static uint32_t state = 1;

static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(state >> 4) * below >> 28);
}

static bytes bytes_new(size_t size) {
    bytes b;
    b.data = (unsigned char *)malloc(size + 1);
    b.size = size;
    test_need(b.data != NULL, "out of memory");
    return b;
}

/* Whether a stream unpacks to the first `size` bytes of `expected`. Both buffers have exactly the required size, so
 * that a sanitizer detects accesses beyond the end. */
static int unpacks(const void *packed, size_t packed_size, const void *expected, size_t size) {
    static vmafgpu__lzma state;
    bytes in = bytes_new(packed_size), out;
    int is_good;
    out.data = (unsigned char *)malloc(size ? size : 1);
    test_need(out.data != NULL, "out of memory");
    in.data = (unsigned char *)realloc(in.data, packed_size ? packed_size : 1);
    test_need(in.data != NULL, "out of memory");
    memcpy(in.data, packed, packed_size);
    is_good =
        vmafgpu__unpack_lzma(&state, in.data, packed_size, out.data, size) && memcmp(out.data, expected, size) == 0;
    free(in.data);
    free(out.data);
    return is_good;
}

/* ---- fixed streams ---- */

/* A stream written by xz. */
static const unsigned char hellos[] = { 0x5d, 0x00, 0x10, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xff, 0xff, 0x00, 0x34, 0x19, 0x49, 0xee, 0x8d, 0xef, 0xe2, 0xab,
                                        0xd5, 0xc5, 0xa3, 0xff, 0xff, 0x78, 0xa4, 0x00, 0x00 };
static const unsigned char nothing[] = { 0x5d, 0x00, 0x10, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                         0xff, 0x00, 0x83, 0xff, 0xfb, 0xff, 0xff, 0xc0, 0x00, 0x00, 0x00 };

static void test_fixed_streams(void) {
    static const char text[] = "hello,hello,hello,hello,";
    unsigned char wrong[sizeof hellos];
    for (size_t size = 0; size <= 23; size++)
        CHECK(unpacks(hellos, sizeof hellos, text, size));
    CHECK(!unpacks(hellos, sizeof hellos, text, 24)); /* the stream contains only 23 bytes of data */
    CHECK(unpacks(nothing, sizeof nothing, text, 0));
    CHECK(!unpacks(nothing, sizeof nothing, text, 1));
    for (size_t size = 0; size < sizeof hellos - 8; size++) /* the last 8 bytes are not needed */
        CHECK(!unpacks(hellos, size, text, 23));
    for (int first = 0; first < 256; first++) { /* properties that are invalid or have lc + lp > 4 are rejected */
        memcpy(wrong, hellos, sizeof hellos);
        wrong[0] = (unsigned char)first;
        if (first >= 225 || first % 9 + first / 9 % 5 > 4)
            CHECK(!unpacks(wrong, sizeof wrong, text, 1));
        else
            CHECK(unpacks(wrong, sizeof wrong, text, 1)); /* the properties do not affect the first byte */
    }
    memcpy(wrong, hellos, sizeof hellos);
    wrong[13] = 1;
    CHECK(!unpacks(wrong, sizeof wrong, text, 1));
    CHECK_INT(vmafgpu__crc32("123456789", 9), 0xcbf43926);
    CHECK_INT(vmafgpu__crc32("", 0), 0);
}

/* ---- streams by xz ---- */

static int write_file(const char *path, const bytes *b) {
    FILE *file = fopen(path, "wb");
    const int ok = file && fwrite(b->data, 1, b->size, file) == b->size;
    return file && fclose(file) == 0 && ok;
}

/* Returns data of the given kind: noise, text, runs, or mixtures. */
static bytes sample(int kind, size_t size) {
    bytes b = bytes_new(size);
    for (size_t i = 0; i < size; i++) {
        const size_t far = 1 + draw(40000);
        b.data[i] = kind == 0   ? (unsigned char)draw(256)
                    : kind == 1 ? (unsigned char)"the quick brown fox "[draw(20)]
                    : kind == 2 ? 'x'
                    : kind == 3 ? (unsigned char)(draw(100) ? (i ? b.data[i - 1] : 0) : draw(256))
                    : i > far   ? b.data[i - far]
                                : (unsigned char)draw(256);
        for (size_t n = draw(300); kind == 4 && i > far && n && i + 1 < size; n--, i++)
            b.data[i + 1] = b.data[i + 1 - far];
    }
    return b;
}

static void test_xz(const char *folder) {
    static const char *const settings[] = {
        "preset=0",
        "preset=6",
        "preset=9e,dict=1MiB,lc=0,lp=4,pb=4",
        "preset=9e,dict=1MiB,lc=2,lp=2,pb=2",
        "preset=6,lc=4,lp=0,pb=0",
        "preset=6,dict=4KiB,lc=1,lp=3,pb=3",
    };
    static const size_t sizes[] = { 0, 1, 2, 300, 65535, 300000 };
    char plain[512], packed[512], command[2048];
    snprintf(plain, sizeof plain, "%s/blobs.plain", folder);
    snprintf(packed, sizeof packed, "%s/blobs.packed", folder);
    snprintf(command, sizeof command, "xz --version > %s 2>&1", packed);
    if (system(command) != 0) {
        test_skip("xz is not installed: no tests of its streams");
        return;
    }
    for (size_t m = 0; m < sizeof settings / sizeof settings[0]; m++) {
        for (int kind = 0; kind < 5; kind++) {
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                const bytes b = sample(kind, sizes[i]);
                bytes p;
                size_t size;
                test_need(write_file(plain, &b), plain);
                snprintf(command, sizeof command, "xz -c --format=lzma --lzma1=%s < %s > %s", settings[m], plain,
                         packed);
                snprintf(test_where, sizeof test_where, "%s, kind %d, %d bytes", settings[m], kind, (int)sizes[i]);
                CHECK_INT(system(command), 0);
                p = read_file(packed);
                CHECK(unpacks(p.data, p.size, b.data, b.size));
                size = draw((uint32_t)b.size + 1);
                CHECK(unpacks(p.data, p.size, b.data, size));
                /* A damaged stream is rejected or unpacks to different bytes. Nothing is written outside the buffer. */
                for (int n = 0; n < 10 && size; n++) {
                    CHECK(p.size < 40 || !unpacks(p.data, draw((uint32_t)p.size - 20), b.data, b.size));
                    p.data[draw((uint32_t)p.size)] ^= (unsigned char)(1u << draw(8));
                    (void)unpacks(p.data, p.size, b.data, b.size);
                }
                free(p.data);
                free(b.data);
            }
        }
    }
    remove(plain);
    remove(packed);
}

/* ---- containers and text ---- */

/* Returns a container with two blobs, in one stream if is_one, otherwise in two. */
static bytes container(const bytes *first, const bytes *second, int is_one) {
    const bytes *const blobs[2] = { first, second };
    const size_t entries = HEAD + 2 * ENTRY;
    bytes b = bytes_new(entries + 8 * (first->size + second->size) + 64), both = bytes_new(first->size + second->size);
    unsigned char *at = b.data + entries;
    memset(b.data, 0, entries);
    memcpy(both.data, first->data, first->size);
    memcpy(both.data + first->size, second->data, second->size);
    for (int i = 0; i < 2; i++) {
        unsigned char *entry = b.data + HEAD + ENTRY * i;
        strcpy((char *)entry, i ? "two" : "one");
        if (i == 0 || !is_one) {
            const size_t size = lzma_literals(i ? second->data : both.data, is_one ? both.size : blobs[i]->size, at);
            put_u32(entry + 16, (uint32_t)size);
            put_u32(entry + 20, vmafgpu__crc32(at, size));
            at += size;
        } else {
            memcpy(entry + 20, entry + 20 - ENTRY, 4);
            put_u32(entry + 24, (uint32_t)first->size);
        }
        put_u32(entry + 28, (uint32_t)blobs[i]->size);
    }
    container_seal(b.data, 2, VMAFGPU__KERNEL_INTERFACE);
    b.size = (size_t)(at - b.data);
    free(both.data);
    return b;
}

/* Returns the number of blobs that unpack correctly, or -1 if the container is rejected. */
static int good_blobs(const bytes *b, const bytes *first, const bytes *second) {
    const bytes *const expected[2] = { first, second };
    vmafgpu *v = (vmafgpu *)calloc(1, sizeof *v);
    vmafgpu__blob blobs[VMAFGPU__MAX_BLOBS];
    vmafgpu__image image;
    int count, good = 0;
    test_need(v != NULL, "out of memory");
    memset(&image, 0, sizeof image);
    image.data = (char *)b->data;
    image.size = b->size;
    count = vmafgpu__is_container(&image) ? vmafgpu__read_container(&image, blobs) : -1;
    for (int i = 0; i < count; i++) {
        vmafgpu__image made;
        char reason[256] = "";
        memset(&made, 0, sizeof made);
        if (vmafgpu__unpack(v, blobs, i, "a file", &made, reason, sizeof reason)) {
            good += i < 2 && made.size == expected[i]->size && !memcmp(made.data, expected[i]->data, made.size) &&
                    made.data[made.size] == 0;
        } else {
            CHECK(strstr(reason, "of a file: is damaged") != NULL);
        }
        vmafgpu__give(v, made.data);
    }
    CHECK_INT(v->memory, 0);
    free(v);
    return count < 0 ? -1 : good;
}

static void test_containers(void) {
    for (int is_one = 0; is_one < 2; is_one++) {
        const bytes first = sample(0, 50), second = sample(1, 33), none = sample(0, 0);
        bytes b = container(&first, &second, is_one), cut;
        snprintf(test_where, sizeof test_where, "container, %d", is_one);
        CHECK_INT(good_blobs(&b, &first, &second), 2);
        for (size_t bit = 0; bit < 8 * b.size; bit++) {
            b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            CHECK(good_blobs(&b, &first, &second) < 2);
            if (bit < 8 * (HEAD + 2 * ENTRY))
                CHECK_INT(good_blobs(&b, &first, &second), -1);
            b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        for (cut = b; cut.size; cut.size--)
            CHECK_INT(good_blobs(&cut, &first, &second), cut.size == b.size ? 2 : -1);
        free(b.data);
        b = container(&none, &second, is_one);
        CHECK_INT(good_blobs(&b, &none, &second), 2);
        free(b.data);
        free(first.data);
        free(second.data);
        free(none.data);
    }
}

/* Tests entries with a correct checksum and invalid numbers: a range beyond the end of the stream, a size larger than
 * any image, and no stream. */
static void test_invalid_entries(void) {
    static const struct {
        int entry, at;
        uint32_t value;
        int expected; /* number of good blobs, or -1 if the container is rejected */
    } cases[] = {
        { 1, 24, 51, 1 },         { 1, 24, 0xffffffff, 1 },  { 1, 28, 34, 1 }, { 1, 28, 0xffffffff, 1 },
        { 1, 28, 0xfffffff0, 1 }, { 0, 28, 0x7fffffff, 1 },  { 1, 20, 0, 1 },  { 0, 16, 0, -1 },
        { 1, 16, 1, -1 },         { 1, 16, 0xffffffff, -1 },
    };
    const bytes first = sample(0, 50), second = sample(1, 33);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes b = container(&first, &second, 1);
        snprintf(test_where, sizeof test_where, "invalid entry %d", (int)i);
        put_u32(b.data + HEAD + ENTRY * cases[i].entry + cases[i].at, cases[i].value);
        container_seal(b.data, 2, VMAFGPU__KERNEL_INTERFACE);
        CHECK_INT(good_blobs(&b, &first, &second), cases[i].expected);
        free(b.data);
    }
    free(first.data);
    free(second.data);
}

/* Whether the kernels of a container are rejected because it belongs to a different version of vmafgpu.h. */
static int is_refused(const bytes *b) {
    vmafgpu *v = (vmafgpu *)calloc(1, sizeof *v);
    vmafgpu__image image;
    char reason[256] = "";
    test_need(v != NULL, "out of memory");
    memset(&image, 0, sizeof image);
    image.data = (char *)b->data;
    image.size = b->size;
    snprintf(image.name, sizeof image.name, "a file");
    CHECK_INT(vmafgpu__load_image(v, NULL, &image, reason, sizeof reason), 0);
    free(v);
    return strcmp(reason, "a file: belongs to another version of vmafgpu.h; build the kernels again") == 0;
}

static void test_other_version(void) {
    const bytes first = sample(0, 50), second = sample(1, 33);
    bytes b = container(&first, &second, 1);
    for (int bit = 0; bit < 32; bit++) {
        snprintf(test_where, sizeof test_where, "another version, bit %d", bit);
        container_seal(b.data, 2, VMAFGPU__KERNEL_INTERFACE ^ 1u << bit);
        CHECK(is_refused(&b));
    }
    free(b.data);
    free(first.data);
    free(second.data);
}

/* Tests lines of text in the format that pack_blobs.c writes. */
static void test_text(void) {
    enum { SIZE = 3 * VMAFGPU__TEXT_ROW / 5 * 4 - 3 };
    static char rows[3][VMAFGPU__TEXT_ROW + 1];
    const bytes b = sample(0, SIZE);
    unsigned char *out = (unsigned char *)malloc(SIZE);
    test_need(out != NULL, "out of memory");
    for (size_t i = 0; i < SIZE; i += 4) {
        uint32_t word = 0;
        for (size_t k = 0; k < 4 && i + k < SIZE; k++)
            word |= (uint32_t)b.data[i + k] << 8 * k;
        for (int k = 4; k >= 0; k--, word /= 85) {
            const size_t at = i / 4 * 5 + (size_t)k;
            int c = '#' + (int)(word % 85);
            c += c >= '?';
            c += c >= '\\';
            rows[at / VMAFGPU__TEXT_ROW][at % VMAFGPU__TEXT_ROW] = (char)c;
        }
    }
    vmafgpu__read_text(rows, out, SIZE);
    CHECK(memcmp(out, b.data, SIZE) == 0);
    free(out);
    free(b.data);
}

int main(int argc, char **argv) {
    char folder[256] = ".";
    const char *slash = strrchr(argv[0], '/');
    if (argc > 0 && slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - argv[0]), argv[0]);
    test_fixed_streams();
    test_containers();
    test_invalid_entries();
    test_other_version();
    test_text();
#ifndef _WIN32
    test_xz(folder);
#else
    (void)test_xz;
#endif
    return test_end();
}
#endif
