/* Packs the kernels for several devices into a container and a C header; vmafgpu.h has what they look like (search
 * "blobs: kernels"). gzip compresses, in between:
 *
 *     pack_blobs planes STRIDE FILE [BASE'S FILE] | gzip -9n > FILE.gz
 *     pack_blobs container VENDOR CONTAINER HEADER (TARGET STRIDE BASE FILE.gz)...
 *
 * VENDOR: "nvidia" or "amd". BASE: a target further in front that was the base for this one's planes; "-": none was. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 26, MOST = 64, ENTRY = 48, TARGET_SIZE = 16, TEXT_ROW = 4000 };
enum { WORDS = 4 };                       /* for each blob: TARGET STRIDE BASE FILE.gz */
enum { GZIP_HEAD = 10, GZIP_TAIL = 8 };   /* without a name in it, gzip -n; CRC-32 and size */

typedef struct bytes { unsigned char *data; size_t size; } bytes;

static void need(int is_true, const char *what) {
    if (!is_true) {
        fprintf(stderr, "pack_blobs: %s\n", what);
        exit(1);
    }
}

static void *take(size_t size) {
    void *memory = calloc(size + 1, 1);
    need(memory != NULL, "out of memory");
    return memory;
}

static bytes read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    const long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    need(size >= 0 && size < LARGEST_FILE && fseek(file, 0, SEEK_SET) == 0, path);
    bytes b = { (unsigned char *)take((size_t)size), (size_t)size };
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

/* ---- a file as what differs from another one ----
 *
 * Code for similar devices is alike in long pieces, which lie elsewhere. The cheapest way through the file is looked for, word
 * by word: words are compared with those of the base that lie `shift` bytes further on; each byte that differs has a price,
 * and so has it to change the shift. Every shift that may be worth it is a path of its own. Shifts to try are those at which
 * the next words are the same. There is one, NOWHERE, at which nothing is compared. */
enum { SEED = 2, TRIES = 16, CHANGE = 8, LITERAL = 3, HASH_BITS = 18 };
static const uint32_t NOWHERE = 0x80000000u;

typedef struct step { uint32_t at, shift; int before; } step;
typedef struct path { uint32_t shift, price; int last; } path;

static struct { step *steps; path *paths; int step_count, step_room, path_count, path_room; } ways;

/* Room for one more. */
static void *grow(void *items, int count, int *room, size_t size) {
    if (count < *room)
        return items;
    *room = 2 * *room + 64;
    items = realloc(items, size * (size_t)*room);
    need(items != NULL, "out of memory");
    return items;
}

static void add_path(uint32_t at, uint32_t shift, uint32_t price, int before) {
    const step s = { at, shift, before };
    const path p = { shift, price, ways.step_count };
    ways.steps = (step *)grow(ways.steps, ways.step_count, &ways.step_room, sizeof s);
    ways.paths = (path *)grow(ways.paths, ways.path_count, &ways.path_room, sizeof p);
    ways.steps[ways.step_count++] = s;
    ways.paths[ways.path_count++] = p;
}

static int has_path(uint32_t shift) {
    int i = 0;
    while (i < ways.path_count && ways.paths[i].shift != shift)
        i++;
    return i < ways.path_count;
}

static const path *best_path(void) {
    const path *best = ways.paths;
    for (int i = 1; i < ways.path_count; i++)
        best = ways.paths[i].price < best->price ? &ways.paths[i] : best;
    return best;
}

static uint32_t hash_at(bytes b, size_t at) {
    uint32_t hash = 0;
    for (size_t i = 0; i < SEED; i++)
        hash = (hash ^ get_u32(b.data + at + 4 * i)) * 2654435761u;
    return hash >> (32 - HASH_BITS);
}

static uint32_t price_of(bytes file, bytes base, uint32_t at, uint32_t shift) {
    const uint32_t from = at + shift;
    uint32_t price = 0;
    if (shift == NOWHERE || (size_t)from + 4 > base.size)
        return LITERAL;
    for (uint32_t i = 0; i < 4; i++)
        price += file.data[at + i] != base.data[from + i];
    return price;
}

static void find_way(bytes file, bytes base) {
    int *first = (int *)take(sizeof *first << HASH_BITS), *next = (int *)take(sizeof *next * (base.size / 4 + 1));
    ways.step_count = ways.path_count = 0;
    for (size_t place = base.size / 4 < SEED ? 0 : base.size / 4 - SEED + 1; place > 0; place--) {   /* in words, from 1 on */
        const uint32_t hash = hash_at(base, 4 * (place - 1));
        next[place] = first[hash];
        first[hash] = (int)place;
    }
    add_path(0, 0, 0, -1);
    for (uint32_t at = 0; at + 4 <= file.size; at += 4) {
        const path best = *best_path();
        int kept = 0;
        for (int i = 0; i < ways.path_count; i++)
            if (ways.paths[i].price < best.price + CHANGE)
                ways.paths[kept++] = ways.paths[i];
        ways.path_count = kept;
        if (!has_path(NOWHERE))
            add_path(at, NOWHERE, best.price + CHANGE, best.last);
        if (at + 4 * SEED <= file.size)
            for (int place = first[hash_at(file, at)], tries = 0; place && tries < TRIES; place = next[place]) {
                const uint32_t from = 4 * (uint32_t)(place - 1);
                if (memcmp(base.data + from, file.data + at, 4 * SEED))
                    continue;
                tries++;
                if (!has_path(from - at))
                    add_path(at, from - at, best.price + CHANGE, best.last);
            }
        for (int i = 0; i < ways.path_count; i++)
            ways.paths[i].price += price_of(file, base, at, ways.paths[i].shift);
    }
    free(first);
    free(next);
}

/* What differs, the moves, and how many they are. */
static bytes difference(bytes file, bytes base) {
    uint32_t moves = 0, end = (uint32_t)file.size;
    find_way(file, base);
    for (int i = best_path()->last; i >= 0; i = ways.steps[i].before)
        moves++;
    bytes b = { (unsigned char *)take(file.size + 8 * moves + 4), file.size + 8 * moves + 4 };
    memcpy(b.data, file.data, file.size);
    put_u32(b.data + b.size - 4, moves);
    unsigned char *move = b.data + b.size - 4;
    for (int i = best_path()->last; i >= 0; i = ways.steps[i].before) {
        const step *s = &ways.steps[i];
        move -= 8;
        put_u32(move, end - s->at);
        put_u32(move + 4, s->shift);
        for (uint32_t at = s->at; at < end; at++)
            if (at + s->shift < base.size)
                b.data[at] ^= base.data[at + s->shift];
        end = s->at;
    }
    return b;
}

static int write_planes(size_t stride, const char *path, const char *base) {
    bytes in = read_file(path);
    if (base)
        in = difference(in, read_file(base));
    const size_t lines = stride ? in.size / stride : 0;
    for (size_t k = 0; k < stride; k++)
        for (size_t i = 0; i < lines; i++)
            putchar(in.data[i * stride + k]);
    fwrite(in.data + lines * stride, 1, in.size - lines * stride, stdout);
    return fflush(stdout) != 0;
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

/* Who is left out stays while it is the base of another one. */
static void write_condition(FILE *out, int count, char **words, int i) {
    const char *target = words[WORDS * i];
    fprintf(out, "#if !defined(VMAFGPU_NO_%s)", upper(target));
    for (int k = i + 1; k < count; k++)
        if (!strcmp(words[WORDS * k + 2], target))
            fprintf(out, " || !defined(VMAFGPU_NO_%s)", upper(words[WORDS * k]));
    fprintf(out, "\n");
}

static void write_header(FILE *out, const char *vendor, int count, char **words, const bytes *blobs, const unsigned char *entries) {
    fprintf(out, "/* The GPU kernels of vmafgpu, compressed, made by `make blobs`:\n *\n"
                 " *     #define VMAFGPU_%s_HEADER \"vmafgpu_%s.h\"\n", upper(vendor), vendor);
    fprintf(out, " *     #define VMAFGPU_IMPLEMENTATION\n *     #include \"vmafgpu.h\"\n *\n"
                 " * vmafgpu.h includes it. VMAFGPU_NO_%s and the like, defined before, leave some out.\n */\n", upper(words[0]));
    for (int i = 0; i < count; i++) {
        const char *target = words[WORDS * i];
        write_condition(out, count, words, i);
        fprintf(out, "static const char vmafgpu__packed_%s[][%d] = {\n\"", target, TEXT_ROW + 1);
        write_text(out, blobs[i]);
        fprintf(out, "\"\n};\n#endif\n");
    }
    fprintf(out, "static const vmafgpu__blob vmafgpu__%s_blobs[] = {\n", vendor);
    for (int i = 0; i < count; i++) {
        const unsigned char *e = entries + ENTRY * i;
        const char *target = words[WORDS * i];
        write_condition(out, count, words, i);
        fprintf(out, "    { \"%s\", \"%.15s\", vmafgpu__packed_%s, 1, %uu, %uu, 0x%08xu, %uu },\n#endif\n", target,
                (const char *)e + TARGET_SIZE, target, (unsigned)get_u32(e + 32), (unsigned)get_u32(e + 36),
                (unsigned)get_u32(e + 40), (unsigned)get_u32(e + 44));
    }
    fprintf(out, "    { \"\", \"\", NULL, 0, 0, 0, 0, 0 }\n};\n");
}

static void put_name(unsigned char *at, const char *name) {
    need(strlen(name) < TARGET_SIZE, "a target's name is too long");
    memcpy(at, name, strlen(name));
}

/* words: WORDS for each */
static int pack(const char *vendor, const char *container_path, const char *header_path, int count, char **words) {
    unsigned char head[24] = "vmafgpu kernels\n", entries[MOST * ENTRY];
    bytes blobs[MOST];
    memset(entries, 0, sizeof entries);
    for (int i = 0; i < count; i++) {
        unsigned char *e = entries + ENTRY * i;
        char **own = words + WORDS * i;
        bytes b = read_file(own[3]);
        need(b.size > GZIP_HEAD + GZIP_TAIL && b.data[0] == 0x1f && b.data[1] == 0x8b && b.data[2] == 8 && b.data[3] == 0,
             "this gzip writes another head");
        blobs[i].data = b.data + GZIP_HEAD;
        blobs[i].size = b.size - GZIP_HEAD - GZIP_TAIL;
        put_name(e, own[0]);
        put_name(e + TARGET_SIZE, strcmp(own[2], "-") ? own[2] : "");
        put_u32(e + 32, (uint32_t)blobs[i].size);
        put_u32(e + 36, get_u32(b.data + b.size - 4));
        put_u32(e + 40, crc32(blobs[i].data, blobs[i].size));
        put_u32(e + 44, (uint32_t)strtoul(own[1], NULL, 10));
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
    if ((count == 4 || count == 5) && !strcmp(words[1], "planes"))
        return write_planes((size_t)strtoul(words[2], NULL, 10), words[3], count == 5 ? words[4] : NULL);
    if (count > 5 && (count - 5) % WORDS == 0 && (count - 5) / WORDS <= MOST && !strcmp(words[1], "container"))
        return pack(words[2], words[3], words[4], (count - 5) / WORDS, words + 5);
    fprintf(stderr, "pack_blobs planes STRIDE FILE [BASE], or container VENDOR CONTAINER HEADER (TARGET STRIDE BASE FILE.gz)...\n");
    return 2;
}
