/* Packs the kernels for several devices into a container and a C header; vmafgpu.h has what they look like (search
 * "blobs: kernels"). gzip compresses, in between:
 *
 *     pack_blobs planes STRIDE < FILE | gzip -9n > FILE.gz
 *     pack_blobs container VENDOR CONTAINER HEADER (TARGET STRIDE FILE.gz)...
 *
 * VENDOR: "nvidia" or "amd". */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 26, MOST = 64, ENTRY = 32, TARGET_SIZE = 16, TEXT_ROW = 4000 };
enum { GZIP_HEAD = 10, GZIP_TAIL = 8 };   /* without a name in it, gzip -n; CRC-32 and size */

typedef struct bytes { unsigned char *data; size_t size; } bytes;

static void need(int is_true, const char *what) {
    if (!is_true) {
        fprintf(stderr, "pack_blobs: %s\n", what);
        exit(1);
    }
}

static bytes read_all(FILE *file, const char *name) {
    bytes b = { (unsigned char *)malloc(LARGEST_FILE), 0 };
    need(file && b.data, name);
    b.size = fread(b.data, 1, LARGEST_FILE, file);
    need(b.size < LARGEST_FILE, name);
    return b;
}

static int write_planes(size_t stride) {
    const bytes in = read_all(stdin, "standard input");
    const size_t lines = stride ? in.size / stride : 0;
    for (size_t k = 0; k < stride; k++)
        for (size_t i = 0; i < lines; i++)
            putchar(in.data[i * stride + k]);
    fwrite(in.data + lines * stride, 1, in.size - lines * stride, stdout);
    return fflush(stdout) != 0;
}

static void put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint32_t get_u32(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

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

/* Four bytes as five characters, in rows of TEXT_ROW. */
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

static void write_header(FILE *out, const char *vendor, int count, char **words, const bytes *blobs, const unsigned char *entries) {
    fprintf(out, "/* The GPU kernels of vmafgpu, compressed, made by `make blobs`:\n *\n"
                 " *     #define VMAFGPU_%s_HEADER \"vmafgpu_%s.h\"\n", upper(vendor), vendor);
    fprintf(out, " *     #define VMAFGPU_IMPLEMENTATION\n *     #include \"vmafgpu.h\"\n *\n"
                 " * vmafgpu.h includes it. VMAFGPU_NO_%s and the like, defined before, leave some out.\n */\n", upper(words[0]));
    for (int i = 0; i < count; i++) {
        const char *target = words[3 * i];
        fprintf(out, "#ifndef VMAFGPU_NO_%s\nstatic const char vmafgpu__packed_%s[][%d] = {\n\"", upper(target), target, TEXT_ROW + 1);
        write_text(out, blobs[i]);
        fprintf(out, "\"\n};\n#endif\n");
    }
    fprintf(out, "static const vmafgpu__blob vmafgpu__%s_blobs[] = {\n", vendor);
    for (int i = 0; i < count; i++) {
        const unsigned char *e = entries + ENTRY * i;
        fprintf(out, "#ifndef VMAFGPU_NO_%s\n    { \"%s\", vmafgpu__packed_%s, 1, %uu, %uu, 0x%08xu, %uu },\n#endif\n", upper(words[3 * i]),
                words[3 * i], words[3 * i], (unsigned)get_u32(e + 16), (unsigned)get_u32(e + 20), (unsigned)get_u32(e + 24),
                (unsigned)get_u32(e + 28));
    }
    fprintf(out, "    { \"\", NULL, 0, 0, 0, 0, 0 }\n};\n");
}

/* words: TARGET STRIDE FILE.gz, again and again */
static int pack(const char *vendor, const char *container_path, const char *header_path, int count, char **words) {
    unsigned char head[24] = "vmafgpu kernels\n", entries[MOST * ENTRY];
    bytes blobs[MOST];
    memset(entries, 0, sizeof entries);
    for (int i = 0; i < count; i++) {
        unsigned char *e = entries + ENTRY * i;
        FILE *file = fopen(words[3 * i + 2], "rb");
        bytes b = read_all(file, words[3 * i + 2]);
        fclose(file);
        need(strlen(words[3 * i]) < TARGET_SIZE, "a target's name is too long");
        need(b.size > GZIP_HEAD + GZIP_TAIL && b.data[0] == 0x1f && b.data[1] == 0x8b && b.data[2] == 8 && b.data[3] == 0,
             "this gzip writes another head");
        memcpy(e, words[3 * i], strlen(words[3 * i]));
        put_u32(e + 16, (uint32_t)(b.size - GZIP_HEAD - GZIP_TAIL));
        put_u32(e + 20, get_u32(b.data + b.size - 4));
        put_u32(e + 24, crc32(b.data + GZIP_HEAD, b.size - GZIP_HEAD - GZIP_TAIL));
        put_u32(e + 28, (uint32_t)strtoul(words[3 * i + 1], NULL, 10));
        blobs[i].data = b.data + GZIP_HEAD;
        blobs[i].size = b.size - GZIP_HEAD - GZIP_TAIL;
    }
    put_u32(head + 16, (uint32_t)count);
    put_u32(head + 20, crc32(entries, (size_t)(ENTRY * count)));

    FILE *container = fopen(container_path, "wb"), *header = fopen(header_path, "wb");
    need(container && header, "cannot write");
    fwrite(head, 1, sizeof head, container);
    fwrite(entries, ENTRY, (size_t)count, container);
    for (int i = 0; i < count; i++)
        fwrite(blobs[i].data, 1, blobs[i].size, container);
    write_header(header, vendor, count, words, blobs, entries);
    return ferror(container) || ferror(header) || fclose(container) || fclose(header);
}

int main(int count, char **words) {
    if (count == 3 && !strcmp(words[1], "planes"))
        return write_planes((size_t)strtoul(words[2], NULL, 10));
    if (count > 5 && (count - 5) % 3 == 0 && (count - 5) / 3 <= MOST && !strcmp(words[1], "container"))
        return pack(words[2], words[3], words[4], (count - 5) / 3, words + 5);
    fprintf(stderr, "pack_blobs planes STRIDE, or container VENDOR CONTAINER HEADER (TARGET STRIDE FILE.gz)...\n");
    return 2;
}
