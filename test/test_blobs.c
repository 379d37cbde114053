/* Kernels as they are packed: deflate's streams against those of gzip and python3, containers and C text, and that each bit
 * that is wrong and each byte that is missing is found. This file looks inside, so that it has the implementation. */
#define VMAFGPU_NO_SIMD
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "test.h"

/* What packs them, without its main(). */
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
    test_need(b.data != NULL, "memory");
    return b;
}

/* In memory of just its size, so that a sanitizer sees what lies outside. */
static int inflates(const void *packed, size_t packed_size, const bytes *expected) {
    vmafgpu__inflater inflater;
    bytes in = bytes_new(packed_size), out;
    int is_good;
    out.data = (unsigned char *)malloc(expected->size ? expected->size : 1);
    test_need(out.data != NULL, "memory");
    in.data = (unsigned char *)realloc(in.data, packed_size ? packed_size : 1);
    test_need(in.data != NULL, "memory");
    memcpy(in.data, packed, packed_size);
    is_good = vmafgpu__inflate(&inflater, in.data, packed_size, out.data, expected->size) &&
              memcmp(out.data, expected->data, expected->size) == 0;
    free(in.data);
    free(out.data);
    return is_good;
}

/* ---- streams that are known ---- */

/* By python3's zlib; a block of each kind. */
static const unsigned char stored[] = {0x01, 0x05, 0x00, 0xfa, 0xff, 'h', 'e', 'l', 'l', 'o'};
static const unsigned char fixed[] = {0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0xc9, 0x40, 0x27, 0x01};

static void test_known(void) {
    static unsigned char hello[] = "hello", hellos[] = "hello,hello,hello,hello", nothing[] = "";
    static const unsigned char empty[] = {0x03, 0x00}, reserved[] = {0x07, 0x00}, no_end[] = {0x00, 0x00, 0x00, 0xff, 0xff};
    static const unsigned char too_far[] = {0x4b, 0x04, 0x12, 0x00}; /* one byte, then a copy from before it */
    bytes b;
    b.data = hello;
    b.size = 5;
    CHECK(inflates(stored, sizeof stored, &b));
    CHECK(!inflates(stored, sizeof stored - 1, &b));
    b.size = 4;
    CHECK(!inflates(stored, sizeof stored, &b));
    b.size = 6;
    CHECK(!inflates(stored, sizeof stored, &b));
    b.data = hellos;
    b.size = 23;
    CHECK(inflates(fixed, sizeof fixed, &b));
    for (size_t size = 0; size < sizeof fixed; size++) {
        CHECK(!inflates(fixed, size, &b));
    }
    b.data = nothing;
    b.size = 0;
    CHECK(inflates(empty, sizeof empty, &b));
    CHECK(!inflates(empty, 1, &b));
    CHECK(!inflates(reserved, sizeof reserved, &b));
    CHECK(!inflates(no_end, sizeof no_end, &b));
    CHECK(!inflates(nothing, 0, &b));
    b = bytes_new(4);
    memset(b.data, 'a', 4);
    CHECK(!inflates(too_far, sizeof too_far, &b));
    free(b.data);
    CHECK_INT(vmafgpu__crc32("123456789", 9), 0xcbf43926);
    CHECK_INT(vmafgpu__crc32("", 0), 0);
}

/* ---- streams that other programs make ---- */

static int write_file(const char *path, const bytes *b) {
    FILE *file = fopen(path, "wb");
    const int ok = file && fwrite(b->data, 1, b->size, file) == b->size;
    return file && fclose(file) == 0 && ok;
}

/* Of all kinds: nothing, one byte, noise, text, runs, and mixtures. */
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
        for (size_t n = draw(300); kind == 4 && i > far && n && i + 1 < size; n--, i++) {
            b.data[i + 1] = b.data[i + 1 - far];
        }
    }
    return b;
}

static void test_others(const char *folder) {
    static const struct {
        const char *name, *probe, *command;
        size_t      head, tail;
    } makers[] = {
        {"gzip -1", "gzip --version", "gzip -1nc", 10, 8},
        {"gzip -6", "gzip --version", "gzip -6nc", 10, 8},
        {"gzip -9", "gzip --version", "gzip -9nc", 10, 8},
        {"python3, stored", "python3 -c 'import zlib'", "python3 -c 'import sys,zlib;c=zlib.compressobj(0,8,-15);"
         "d=sys.stdin.buffer.read();sys.stdout.buffer.write(c.compress(d)+c.flush())'", 0, 0},
        {"python3, fixed codes", "python3 -c 'import zlib'", "python3 -c 'import sys,zlib;c=zlib.compressobj(9,8,-15,9,4);"
         "d=sys.stdin.buffer.read();sys.stdout.buffer.write(c.compress(d)+c.flush())'", 0, 0},
        {"python3, no copies", "python3 -c 'import zlib'", "python3 -c 'import sys,zlib;c=zlib.compressobj(9,8,-15,9,2);"
         "d=sys.stdin.buffer.read();sys.stdout.buffer.write(c.compress(d)+c.flush())'", 0, 0},
        {"python3, many blocks", "python3 -c 'import zlib'", "python3 -c 'import sys,zlib;c=zlib.compressobj(9,8,-15,1);"
         "d=sys.stdin.buffer.read();sys.stdout.buffer.write(b\"\".join(c.compress(d[i:i+999])+c.flush(2) for i in "
         "range(0,len(d),999))+c.flush())'", 0, 0},
    };
    static const size_t sizes[] = {0, 1, 2, 300, 65535, 65536, 250000};
    char plain[512], packed[512], command[2048];
    snprintf(plain, sizeof plain, "%s/blobs.plain", folder);
    snprintf(packed, sizeof packed, "%s/blobs.packed", folder);
    for (size_t m = 0; m < sizeof makers / sizeof makers[0]; m++) {
        snprintf(command, sizeof command, "%s > %s 2>&1 < %s", makers[m].probe, packed, "/dev/null");
        if (system(command) != 0) {
            test_skip(makers[m].name);
            continue;
        }
        for (int kind = 0; kind < 5; kind++) {
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                bytes b, p;
                if (makers[m].head == 0 && kind % 2 == (int)i % 2 && sizes[i] != 250000) {
                    continue; /* python3 takes long to start */
                }
                b = sample(kind, sizes[i]);
                test_need(write_file(plain, &b), plain);
                snprintf(command, sizeof command, "%s < %s > %s", makers[m].command, plain, packed);
                snprintf(test_where, sizeof test_where, "%s, kind %d, %d bytes", makers[m].name, kind, (int)sizes[i]);
                CHECK_INT(system(command), 0);
                p = read_file(packed);
                CHECK(p.size >= makers[m].head + makers[m].tail);
                if (p.size >= makers[m].head + makers[m].tail) {
                    const unsigned char *stream = p.data + makers[m].head;
                    const size_t size = p.size - makers[m].head - makers[m].tail;
                    CHECK(inflates(stream, size, &b));
                    CHECK(!inflates(stream, size - 1, &b));
                    if (makers[m].tail) {
                        const unsigned char *tail = stream + size;
                        CHECK_INT(vmafgpu__crc32(b.data, b.size), vmafgpu__read_u32(tail));
                    }
                    /* What is wrong is refused or makes other bytes; it writes nowhere else. */
                    for (int n = 0; n < 20 && size; n++) {
                        p.data[makers[m].head + draw((uint32_t)size)] ^= (unsigned char)(1u << draw(8));
                        (void)inflates(stream, size, &b);
                    }
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

/* Of two blobs in stored blocks; `base` is what the second one says. */
static bytes container(const bytes *first, const bytes *second, uint32_t stride, const char *base) {
    const bytes *const blobs[2] = {first, second};
    const size_t entries = 24 + 2 * ENTRY;
    bytes b = bytes_new(entries + first->size + second->size + 10);
    unsigned char *at = b.data + entries;
    memset(b.data, 0, entries);
    memcpy(b.data, "vmafgpu kernels\n", 16);
    put_u32(b.data + 16, 2);
    for (int i = 0; i < 2; i++) {
        unsigned char *entry = b.data + 24 + ENTRY * i;
        const size_t size = blobs[i]->size, lines = size / stride;
        at[0] = 1;
        put_u32(at + 1, (uint32_t)(size | (~size & 0xffff) << 16));
        for (size_t k = 0; k < size; k++) {
            at[5 + k] = blobs[i]->data[k < lines * stride ? k % lines * stride + k / lines : k];
        }
        strcpy((char *)entry, i ? "two" : "one");
        strcpy((char *)entry + 16, i ? base : "");
        put_u32(entry + 32, (uint32_t)size + 5);
        put_u32(entry + 36, (uint32_t)size);
        put_u32(entry + 40, vmafgpu__crc32(at, size + 5));
        put_u32(entry + 44, stride);
        at += size + 5;
    }
    put_u32(b.data + 20, vmafgpu__crc32(b.data + 24, 2 * ENTRY));
    return b;
}

/* How many blobs are those that were packed; -1 where the container is refused. */
static int good_blobs(const bytes *b, const bytes *first, const bytes *second) {
    const bytes *const expected[2] = {first, second};
    vmafgpu *v = (vmafgpu *)calloc(1, sizeof *v);
    vmafgpu__blob blobs[VMAFGPU__MAX_BLOBS];
    vmafgpu__image image;
    int count, good = 0;
    test_need(v != NULL, "memory");
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
            CHECK(strstr(reason, "of a file is damaged") != NULL || strstr(reason, "which is not there") != NULL);
        }
        vmafgpu__give(v, made.data);
    }
    CHECK_INT(v->memory, 0);
    free(v);
    return count < 0 ? -1 : good;
}

static void test_containers(void) {
    static const uint32_t strides[] = {1, 4, 16};
    for (size_t i = 0; i < 6; i++) {
        const bytes first = sample(0, 50), second = sample(i < 3 ? 1 : 0, 33);
        const bytes packed = i < 3 ? second : difference(second, first);
        bytes b = container(&first, &packed, strides[i % 3], i < 3 ? "" : "one"), cut;
        snprintf(test_where, sizeof test_where, "container%s, stride %d", i < 3 ? "" : " with a base", (int)strides[i % 3]);
        CHECK_INT(good_blobs(&b, &first, &second), 2);
        for (size_t bit = 0; bit < 8 * b.size; bit++) {
            b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
            CHECK(good_blobs(&b, &first, &second) < 2);
            if (bit < 8 * (24 + 2 * ENTRY)) {
                CHECK_INT(good_blobs(&b, &first, &second), -1);
            }
            b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        for (cut = b; cut.size; cut.size--) {
            CHECK_INT(good_blobs(&cut, &first, &second), cut.size == b.size ? 2 : -1);
        }
        free(b.data);
        free(first.data);
        free(second.data);
        if (i >= 3) {
            free(packed.data);
        }
    }
}

/* ---- bases ---- */

/* A file that is much like another one: pieces of it in another order, some of them changed, some new. */
static bytes relative(const bytes *base, size_t size) {
    bytes b = bytes_new(size);
    for (size_t i = 0; i < size;) {
        const size_t from = draw((uint32_t)base->size), length = 1 + draw(400), how = draw(8);
        for (size_t k = 0; k < length && i < size; k++, i++) {
            b.data[i] = how == 0 || from + k >= base->size ? (unsigned char)draw(256) : base->data[from + k];
            b.data[i] ^= (unsigned char)(how == 1 && draw(16) == 0 ? draw(256) : 0);
        }
    }
    return b;
}

/* What is made of a stream with this base; 0: refused. In memory of just its size, so that a sanitizer sees what is outside. */
static int comes_back(const bytes *stream, const bytes *base, const bytes *expected) {
    vmafgpu__image made, from;
    bytes own = bytes_new(stream->size);
    int is_made, is_same;
    memset(&made, 0, sizeof made);
    memset(&from, 0, sizeof from);
    memcpy(own.data, stream->data, stream->size);
    made.data = (char *)own.data;
    made.size = own.size;
    from.data = (char *)base->data;
    from.size = base->size;
    is_made = vmafgpu__add_base(&made, &from);
    is_same = is_made && made.size == expected->size && !memcmp(made.data, expected->data, made.size) && made.data[made.size] == 0;
    free(own.data);
    return is_same ? 2 : is_made;
}

static void test_bases(void) {
    static const size_t sizes[] = {0, 1, 3, 4, 7, 8, 9, 300, 4096, 70000};
    for (size_t i = 0; i < 10; i++) {
        for (size_t k = 0; k < 10; k++) {
            const bytes base = sample((int)(i + k) % 5, sizes[i]);
            const bytes file = sizes[i] ? relative(&base, sizes[k]) : sample(1, sizes[k]);
            const bytes stream = difference(file, base);
            size_t same = 0;
            snprintf(test_where, sizeof test_where, "base of %d bytes, file of %d", (int)sizes[i], (int)sizes[k]);
            CHECK_INT(comes_back(&stream, &base, &file), 2);
            for (size_t n = 0; n < file.size; n++) {
                same += stream.data[n] == 0;
            }
            if (sizes[i] > 4096 && sizes[k] > 4096 && (i + k) % 5 == 0) { /* noise: a quarter of the pieces lie at words */
                CHECK(same > file.size / 8);
            }
            for (int n = 0; n < 50; n++) { /* moves that nobody wrote */
                stream.data[stream.size - 1 - draw((uint32_t)(stream.size < 40 ? stream.size : 40))] ^= (unsigned char)(1 + draw(255));
                (void)comes_back(&stream, &base, &file);
            }
            free(stream.data);
            free(file.data);
            free(base.data);
        }
    }
}

/* Moves that lead out of what there is; bases that are not there, or stand behind. */
static void test_wrong_bases(void) {
    static const struct {
        uint32_t length, shift, moves, size;
        int      expected;
    } cases[] = {
        {8, 0, 1, 20, 2},          {8, 3, 1, 20, 1},  {8, 0xfffffffc, 1, 20, 1}, {8, 0x80000000, 1, 20, 1}, {9, 0, 1, 20, 0},
        {0xffffffff, 0, 1, 20, 0}, {8, 0, 2, 20, 0},  {8, 0, 3, 20, 0},          {8, 0, 0xffffffff, 20, 0}, {8, 0, 0x20000001, 20, 0},
        {8, 0, 1, 3, 0},           {8, 0, 1, 0, 0},   {4, 0, 1, 20, 1},
    };
    const bytes base = sample(0, 8), second = sample(0, 12);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes stream = bytes_new(20);
        memset(stream.data, 0, 20);
        put_u32(stream.data + 8, cases[i].length);
        put_u32(stream.data + 12, cases[i].shift);
        put_u32(stream.data + 16, cases[i].moves);
        stream.size = cases[i].size;
        snprintf(test_where, sizeof test_where, "wrong move %d", (int)i);
        CHECK_INT(comes_back(&stream, &base, &base), cases[i].expected);
        free(stream.data);
    }
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"two", "three", "one"};
        bytes b = container(&base, &second, 1, names[i]);
        snprintf(test_where, sizeof test_where, "base %s", names[i]);
        CHECK_INT(good_blobs(&b, &base, &second), 1); /* the first one: the second says nonsense of itself */
        free(b.data);
    }
    free(base.data);
    free(second.data);
}

/* Rows of text as pack_blobs.c writes them. */
static void test_text(void) {
    enum { SIZE = 3 * VMAFGPU__TEXT_ROW / 5 * 4 - 3 };
    static char rows[3][VMAFGPU__TEXT_ROW + 1];
    const bytes b = sample(0, SIZE);
    unsigned char *out = (unsigned char *)malloc(SIZE);
    test_need(out != NULL, "memory");
    for (size_t i = 0; i < SIZE; i += 4) {
        uint32_t word = 0;
        for (size_t k = 0; k < 4 && i + k < SIZE; k++) {
            word |= (uint32_t)b.data[i + k] << 8 * k;
        }
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
    if (argc > 0 && slash) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - argv[0]), argv[0]);
    }
    test_known();
    test_containers();
    test_bases();
    test_wrong_bases();
    test_text();
#ifndef _WIN32
    test_others(folder);
#else
    (void)test_others;
#endif
    return test_end();
}
#endif
