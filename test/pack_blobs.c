/* Packs GPU kernels for several devices into a container and a C header. Section "blobs: kernels" of vmafgpu.h
 * describes both formats. The kernels are compressed beforehand. Kernels of similar devices share one stream:
 *
 *     cat FILE... | xz -c --format=lzma > FILE.lzma
 *     pack_blobs VENDOR INTERFACE CONTAINER HEADER (TARGET FILE FILE.lzma)...
 *
 * VENDOR is "nvidia" or "amd". INTERFACE is the value of VMAFGPU__KERNEL_INTERFACE, such as 0x1234abcdu. FILE.lzma is
 * "-" if FILE is in the same stream as the FILE before it. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 26, MOST = 64, HEAD = 28, ENTRY = 32, TARGET_SIZE = 16, TEXT_ROW = 4000 };
enum { CHECKED = 24 }; /* offset of the first byte that the container's CRC-32 covers */
enum { WORDS = 3 };    /* arguments for each blob: TARGET FILE FILE.lzma */

typedef struct bytes {
    unsigned char *data;
    size_t size;
} bytes;

static void need(int is_true, const char *what) {
    if (!is_true) {
        fprintf(stderr, "pack_blobs: %s\n", what);
        exit(1);
    }
}

static void *allocate(size_t size) {
    void *memory = calloc(size + 1, 1);
    need(memory != NULL, "out of memory");
    return memory;
}

static bytes read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    const long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    need(size >= 0 && size < LARGEST_FILE && fseek(file, 0, SEEK_SET) == 0, path);
    bytes b = { (unsigned char *)allocate((size_t)size), (size_t)size };
    need(fread(b.data, 1, b.size, file) == b.size, path);
    fclose(file);
    return b;
}

static void put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get_u32(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* ---- containers ---- */

static uint32_t crc32(const unsigned char *data, size_t size) {
    uint32_t crc = 0xffffffffu;
    while (size--) {
        crc ^= *data++;
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static const char *upper(const char *text) {
    static char out[32];
    size_t i = 0;
    for (; text[i] && i + 1 < sizeof out; i++)
        out[i] = (char)toupper((unsigned char)text[i]);
    out[i] = '\0';
    return out;
}

/* Writes every four bytes as five characters, in rows of TEXT_ROW characters. */
static void write_text(FILE *out, bytes b) {
    for (size_t i = 0, column = 0; i < b.size; i += 4, column += 5) {
        char text[6] = "";
        unsigned char word[4] = { 0, 0, 0, 0 };
        uint32_t rest;
        if (column == TEXT_ROW) {
            fprintf(out, "\",\n\"");
            column = 0;
        }
        memcpy(word, b.data + i, b.size - i < 4 ? b.size - i : 4);
        rest = get_u32(word);
        for (int k = 4; k >= 0; k--, rest /= 85) {
            const int digit = (int)(rest % 85), below = digit + '#' + (digit + '#' >= '?');
            text[k] = (char)(below + (below >= '\\'));
        }
        fputs(text, out);
    }
}

static int starts_stream(char **words, int i) {
    return strcmp(words[WORDS * i + 2], "-") != 0;
}

/* Writes an #if that excludes stream i if all of its blobs are excluded. */
static void write_condition(FILE *out, int count, char **words, int i) {
    fprintf(out, "#if !defined(VMAFGPU_NO_%s)", upper(words[WORDS * i]));
    for (int k = i + 1; k < count && !starts_stream(words, k); k++)
        fprintf(out, " || !defined(VMAFGPU_NO_%s)", upper(words[WORDS * k]));
    fprintf(out, "\n");
}

static void write_header(FILE *out, const char *vendor, uint32_t interface, int count, char **words,
                         const bytes *streams, const unsigned char *entries) {
    fprintf(out,
            "/* The GPU kernels of vmafgpu, compressed, made by `make blobs`:\n *\n"
            " *     #define VMAFGPU_%s_HEADER \"vmafgpu_%s.h\"\n",
            upper(vendor), vendor);
    fprintf(out,
            " *     #define VMAFGPU_IMPLEMENTATION\n *     #include \"vmafgpu.h\"\n *\n"
            " * vmafgpu.h includes it. Macros such as VMAFGPU_NO_%s leave out the kernels for a device.\n */\n",
            upper(words[0]));
    fprintf(out,
            "#if VMAFGPU__KERNEL_INTERFACE != 0x%08xu\n"
            "#error \"vmafgpu_%s.h belongs to another version of vmafgpu.h; build the kernels again\"\n#endif\n",
            (unsigned)interface, vendor);
    for (int i = 0; i < count; i++) {
        if (!starts_stream(words, i))
            continue;
        write_condition(out, count, words, i);
        fprintf(out, "static const char vmafgpu__packed_%s[][%d] = {\n\"", words[WORDS * i], TEXT_ROW + 1);
        write_text(out, streams[i]);
        fprintf(out, "\"\n};\n#endif\n");
    }
    fprintf(out, "static const vmafgpu__blob vmafgpu__%s_blobs[] = {\n", vendor);
    for (int i = 0, first = 0; i < count; i++) {
        const unsigned char *e = entries + ENTRY * i;
        const char *target = words[WORDS * i];
        first = starts_stream(words, i) ? i : first;
        fprintf(out, "#if !defined(VMAFGPU_NO_%s)\n", upper(target));
        fprintf(out, "    { \"%s\", vmafgpu__packed_%s, 1, %uu, 0x%08xu, %uu, %uu },\n#endif\n", target,
                words[WORDS * first], (unsigned)streams[first].size, (unsigned)get_u32(e + 20),
                (unsigned)get_u32(e + 24), (unsigned)get_u32(e + 28));
    }
    fprintf(out, "    { \"\", NULL, 0, 0, 0, 0, 0 }\n};\n");
}

static void put_name(unsigned char *at, const char *name) {
    need(strlen(name) < TARGET_SIZE, "the name of a target is too long");
    memcpy(at, name, strlen(name));
}

/* `words` contains WORDS arguments for each blob. */
static int pack(const char *vendor, uint32_t interface, const char *container_path, const char *header_path, int count,
                char **words) {
    static unsigned char head[HEAD + MOST * ENTRY] = "vmafgpu kernels\n";
    unsigned char *const entries = head + HEAD;
    bytes streams[MOST];
    size_t at = 0;
    memset(streams, 0, sizeof streams);
    need(starts_stream(words, 0), "the first FILE.lzma must not be \"-\"");
    for (int i = 0; i < count; i++) {
        unsigned char *e = entries + ENTRY * i;
        char **own = words + WORDS * i;
        bytes file = read_file(own[1]);
        if (starts_stream(words, i)) {
            at = 0;
            streams[i] = read_file(own[2]);
            put_u32(e + 16, (uint32_t)streams[i].size);
            put_u32(e + 20, crc32(streams[i].data, streams[i].size));
        } else {
            memcpy(e + 20, e + 20 - ENTRY, 4);
        }
        put_name(e, own[0]);
        put_u32(e + 24, (uint32_t)at);
        put_u32(e + 28, (uint32_t)file.size);
        at += file.size;
        free(file.data);
    }
    put_u32(head + 16, (uint32_t)count);
    put_u32(head + CHECKED, interface);
    put_u32(head + 20, crc32(head + CHECKED, (size_t)(HEAD - CHECKED + ENTRY * count)));

    FILE *container = fopen(container_path, "wb"), *header = fopen(header_path, "wb");
    need(container && header, "cannot write");
    fwrite(head, 1, (size_t)(HEAD + ENTRY * count), container);
    for (int i = 0; i < count; i++)
        fwrite(streams[i].data, 1, streams[i].size, container);
    write_header(header, vendor, interface, count, words, streams, entries);
    return ferror(container) || ferror(header) || fclose(container) || fclose(header);
}

int main(int count, char **words) {
    if (count > 5 && (count - 5) % WORDS == 0 && (count - 5) / WORDS <= MOST)
        return pack(words[1], (uint32_t)strtoul(words[2], NULL, 0), words[3], words[4], (count - 5) / WORDS, words + 5);
    fprintf(stderr, "pack_blobs VENDOR INTERFACE CONTAINER HEADER (TARGET FILE FILE.lzma)...\n");
    return 2;
}
