/* Tests kinds of memory, kernel files that are damaged or made for other GPUs, missing devices, and memory sizes. */
#include "gpu.h"

/* ---- kinds of memory ---- */

void test_kinds_of_memory(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 2, 91);
    reel host = reel_of_kinds(g, &f, "h"), pinned = reel_of_kinds(g, &f, "p"), device = reel_of_kinds(g, &f, "d");
    const reel *const reels[3] = { &host, &pinned, &device };
    storage upside_down;
    reel negative;
    size_t memory[3];
    memset(&upside_down, 0, sizeof upside_down);
    upside_down.kinds = "p";
    upside_down.pitch = -40;
    negative = reel_make(g, &f, &upside_down);
    for (int promised = 0; promised < 3; promised++) {
        vmafgpu_config config = gpu_config(g, &f);
        scores expected = cpu_score(&f, &config);
        vmafgpu *context;
        config.gpu.frame_memory = (vmafgpu_memory)promised;
        context = open_checked(&config);
        memory[promised] = vmafgpu_host_memory(context);
        for (int kind = 0; kind < 3 && context; kind++) {
            where("config.gpu.frame_memory %d, frames in memory %d", promised, kind);
            if (kind >= promised) {
                CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                reel_finish(reels[kind], context, 0);
                check_context(g, context, &expected);
            } else {
                vmafgpu_score score;
                CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                CHECK_INT(reel_push(reels[kind], context, 0), VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), "config.gpu.frame_memory");
                CHECK_HAS(vmafgpu_last_error(context), "frame 0");
                CHECK_INT(vmafgpu_score_pair(context, reel_frame(reels[kind], 0, 0), reel_frame(reels[kind], 0, 1),
                                             NULL, &score),
                          VMAFGPU_ERROR_ARGUMENT);
                CHECK_INT(vmafgpu_push_preceding(context, reel_frame(reels[kind], 0, 0)), VMAFGPU_ERROR_ARGUMENT);
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            CHECK_INT(reel_push(&negative, context, 0), promised == 0 ? VMAFGPU_OK : VMAFGPU_ERROR_ARGUMENT);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        }
        vmafgpu_close(context);
        scores_free(&expected);
    }
    CHECK(memory[2] < memory[1] || memory[1] < memory[0]);
    CHECK(memory[2] < memory[0] && memory[2] <= memory[1] && memory[1] <= memory[0]);
    {
        vmafgpu_config config = film_config(&f);
        vmafgpu *context;
        where("device memory on the CPU");
        config.backend = VMAFGPU_BACKEND_CPU;
        context = open_checked(&config);
        CHECK_INT(reel_push(&device, context, 0), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), "device memory");
        CHECK_INT(reel_push(&pinned, context, 0), VMAFGPU_OK);
        CHECK_INT(vmafgpu_device_memory(context), 0);
        vmafgpu_close(context);
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
        vmafgpu_close(context);
    }
    reel_free(g, &negative);
    reel_free(g, &host);
    reel_free(g, &pinned);
    reel_free(g, &device);
    film_free(&f);
}

/* Opens a context with a config for which no GPU can be used. Checks that the error message (with AUTO, the note)
 * contains `words`. */
static void check_unusable(const gpu *g, const film *f, vmafgpu_config config, const scores *expected,
                           const char *words) {
    static const vmafgpu_memory frames[3] = { VMAFGPU_MEMORY_HOST, VMAFGPU_MEMORY_HOST, VMAFGPU_MEMORY_DEVICE };
    for (int way = 0; way < 3; way++) {
        vmafgpu *context = NULL;
        tally t;
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        config.backend = way == 0 ? g->vendor->backend : way == 1 ? VMAFGPU_BACKEND_AUTO : backend_for_device(g);
        config.gpu.frame_memory = frames[way];
        CHECK_INT(vmafgpu_open(&context, &config), way == 1 ? VMAFGPU_OK : VMAFGPU_ERROR_BACKEND);
        CHECK_HAS(way == 1 ? vmafgpu_backend_note(context) : vmafgpu_last_error(context), words);
        if (way == 1) {
            scores got;
            CHECK_STR(vmafgpu_backend_name(context), "cpu");
            CHECK_STR(vmafgpu_device_name(context), "");
            CHECK_INT(vmafgpu_device_memory(context), 0);
            for (int i = 0; i < f->clip.frames; i++)
                CHECK_INT(film_push(f, context, i), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            got = scores_of(context);
            check_same_scores(&got, expected);
            scores_free(&got);
        }
        vmafgpu_close(context);
        CHECK_INT(t.live, 0);
    }
}

static char *file_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text;
    long length = 0;
    test_need(file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0,
              "VMAFGPU_TEST_KERNELS cannot be read");
    text = (char *)malloc((size_t)length + 1);
    rewind(file);
    test_need(text && fread(text, 1, (size_t)length, file) == (size_t)length, "VMAFGPU_TEST_KERNELS cannot be read");
    fclose(file);
    text[length] = '\0';
    *size = (size_t)length;
    return text;
}

/* Tests the kernel files of the simulated CUDA driver, which are text files. */
static void check_texts(gpu *g) {
    static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__\1\0\0\0\0\0\0";
    static const char head[] = ".version 8.0\n.target sm_75\n.address_size 64\n";
    static const char later[] = ".version 8.0\n.target sm_121\n.address_size 64\n"
                                ".visible .entry vmafgpu_interface_2()\n{\n ret;\n}\n// end of vmafgpu kernels\n";
    static const char *const bodies[] = {
        "// the .entry points of another version\n.visible .entry vmafgpu_interface_0()\n{\n ret;\n}\n",
        ".visible .entry vmafgpu_interface_2()\n{\n ret;\n}\n.visible .entry more()\n{\n ret;\n}\n",
        ".visible .entry vmafgpu_interface_2()\n{\n {\n",
        ".visible .entry other()\n}\n}\n.visible .entry \n",
        ".visible .entry vmafgpu_import",
    };
    static const char broken[] = "this is no code\n// end of vmafgpu kernels\n";
    static const char elf[] = "\x7f"
                              "ELF but nothing else";
    static const char foreign[] = "Call me Ishmael.\n", line_end[] = "\n";
    film f = film_make("texture+mix", 40, 36, 8, 2, 95);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    size_t size = 0;
    char *image = file_text(g->kernels_path, &size);
    const struct {
        const char *name, *data;
        size_t size;
        const char *words;
    } images[] = {
        { "without the last line", image, size > 26 ? size - 26 : 0, "config.gpu.kernels: is " },
        { "truncated in the middle", image, size / 2, "config.gpu.kernels: is " },
        { "without the last two bytes", image, size - 2, "config.gpu.kernels: is " },
        { "one line end", line_end, 1, "config.gpu.kernels: is not a file of vmafgpu kernels" },
        { "another text", foreign, sizeof foreign - 1, "config.gpu.kernels: is not a file of vmafgpu kernels" },
        { "a bundle for AMD", bundle, sizeof bundle, "config.gpu.kernels: is not a file of vmafgpu kernels" },
        { "for a newer device", later, sizeof later - 1, "config.gpu.kernels: requires compute capability 12.1" },
        { "not valid PTX", broken, sizeof broken - 1, "config.gpu.kernels: driver rejects the kernels (" },
        { "not machine code", elf, sizeof elf - 1, "config.gpu.kernels: driver rejects the kernels (" },
    };
    const char *const paths[] = { "there/is/no/such/file.ptx", "." };
    config.gpu.kernels_path = NULL;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        where("image: %s", images[i].name);
        config.gpu.kernels = images[i].data;
        config.gpu.kernels_size = images[i].size;
        check_unusable(g, &f, config, &expected, images[i].words);
    }
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s%s// end of vmafgpu kernels\n", head, bodies[i]);
        where("image with other kernels, %d", (int)i);
        config.gpu.kernels = text;
        config.gpu.kernels_size = strlen(text);
        check_unusable(g, &f, config, &expected, i < 2 ? "config.gpu.kernels: kernel vmafgpu_" : "config.gpu.kernels");
    }
    for (int way = 0; way < 2; way++) {
        vmafgpu *context = NULL;
        where("an image without %s", way ? "bytes" : "size");
        config.gpu.kernels = way ? NULL : image;
        config.gpu.kernels_size = way ? size : 0;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
        vmafgpu_close(context);
    }
    config.gpu.kernels = NULL;
    config.gpu.kernels_size = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        where("image file %s", paths[i]);
        config.gpu.kernels_path = paths[i];
        check_unusable(g, &f, config, &expected, paths[i]);
    }
    {
        scores got;
        where("an image in memory");
        config.gpu.kernels_path = NULL;
        config.gpu.kernels = image;
        config.gpu.kernels_size = size;
        got = film_score(&f, &config);
        check_same_scores(&got, &expected);
        scores_free(&got);
    }
    free(image);
    scores_free(&expected);
    film_free(&f);
}

/* ---- kernels for AMD: code objects, which are ELF files, and bundles of code objects ---- */

enum {
    GFX900 = 0x2c,
    GFX906 = 0x2f,
    GFX908 = 0x30,
    GFX1010 = 0x33,
    GFX1030 = 0x36,
    GFX90A = 0x3f,
    GFX1100 = 0x41,
    GFX1200 = 0x48,
    GFX942 = 0x4c,
    GFX1201 = 0x4e,
    GFX950 = 0x4f
}; /* low byte of e_flags */

typedef struct bytes {
    unsigned char data[4096];
    size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size) {
    test_need(b->size + size <= sizeof b->data, "an image is too large");
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void put_number(bytes *b, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)(i < 8 ? value >> 8 * i : 0);
        put(b, &byte, 1);
    }
}

/* Makes a code object: a 64-bit ELF header and, if `names` is not NULL, a section table with one section, which
 * contains these names, separated by NUL. The simulated GPU needs no code, only the names of kernels. */
static bytes code_object(int machine, int target, const char *names, size_t names_size) {
    bytes b;
    const int has_names = names != NULL;
    b.size = 0;
    put(&b,
        "\x7f"
        "ELF\2\1\1\x40\3",
        9); /* 64 bits, little-endian, AMD's ABI, code object version 5 */
    put_number(&b, 0, 7);
    put_number(&b, 3, 2); /* a shared object */
    put_number(&b, (uint64_t)machine, 2);
    put_number(&b, 1, 4);
    put_number(&b, 0, 16);                              /* entry point and program headers: none */
    put_number(&b, has_names ? 64 + names_size : 0, 8); /* offset of the section table */
    put_number(&b, (uint64_t)target, 4);
    put_number(&b, 64, 2);
    put_number(&b, 0, 4);
    put_number(&b, has_names ? 64 : 0, 2);
    put_number(&b, (uint64_t)has_names, 2);
    put_number(&b, 0, 2);
    if (has_names) {
        put(&b, names, names_size);
        put_number(&b, 0, 4);
        put_number(&b, 3, 4); /* SHT_STRTAB */
        put_number(&b, 0, 16);
        put_number(&b, 64, 8);
        put_number(&b, names_size, 8);
        put_number(&b, 0, 24);
    }
    return b;
}

static bytes shortened(bytes b, size_t by) {
    b.size -= by;
    return b;
}

/* Returns a copy in which the 8 bytes at offset `at` contain `value`. */
static bytes changed(bytes b, size_t at, uint64_t value) {
    for (int i = 0; i < 8; i++)
        b.data[at + (size_t)i] = (unsigned char)(value >> 8 * i);
    return b;
}

static bytes bytes_of(const char *text, size_t size) {
    bytes b;
    b.size = 0;
    put(&b, text, size);
    return b;
}

enum { AMD_GPU = 224, X86_64 = 62 };

typedef struct part {
    const char *id;
    int target;
} part;

/* Makes a bundle of code objects. A part with target 0 has no content, like the entry for the host. */
static bytes bundle(const part *parts, int count) {
    bytes b;
    size_t at = 32;
    b.size = 0;
    put(&b, "__CLANG_OFFLOAD_BUNDLE__", 24);
    put_number(&b, (uint64_t)count, 8);
    for (int i = 0; i < count; i++)
        at += 24 + strlen(parts[i].id);
    for (int i = 0; i < count; i++) {
        put_number(&b, at, 8);
        put_number(&b, parts[i].target ? 64 : 0, 8);
        put_number(&b, strlen(parts[i].id), 8);
        put(&b, parts[i].id, strlen(parts[i].id));
        at += parts[i].target ? 64 : 0;
    }
    for (int i = 0; i < count; i++) {
        const bytes object = code_object(AMD_GPU, parts[i].target, NULL, 0);
        put(&b, object.data, parts[i].target ? object.size : 0);
    }
    return b;
}

#define HOST_ENTRY             { "host-x86_64-unknown-linux--", 0 }
#define ENTRY_OF(name, target) { "hipv4-amdgcn-amd-amdhsa--" name, target }

static void check_image(const gpu *g, const film *f, vmafgpu_config config, const scores *expected, const bytes *image,
                        const char *words) {
    config.gpu.kernels = image->data;
    config.gpu.kernels_size = image->size;
    if (words) {
        check_unusable(g, f, config, expected, words);
    } else {
        scores got = film_score(f, &config);
        check_same_scores(&got, expected);
        scores_free(&got);
    }
}

/* Checks that the code object for a device is found in a bundle, and that its kernels compute the expected scores. The
 * default of config.gpu.vif_arithmetic depends on the target. */
static void check_targets(gpu *g, const film *f, vmafgpu_config config, const scores *expected) {
    static const struct {
        part own;
        int lanes, target, arithmetic;
    } targets[] = {
        { ENTRY_OF("gfx900", GFX900), 64, GFX900, 2 },
        { ENTRY_OF("gfx906", GFX906), 64, GFX906, 1 },
        { ENTRY_OF("gfx908:xnack-", GFX908), 64, GFX908, 1 },
        { ENTRY_OF("gfx90a:sramecc+:xnack-", GFX90A), 64, GFX90A, 1 },
        { ENTRY_OF("gfx942", GFX942), 64, GFX942, 1 },
        { { "hip-amdgcn-amd-amdhsa-gfx950", GFX950 }, 64, GFX950, 1 },
        { ENTRY_OF("gfx1010", GFX1010), 32, GFX1010, 2 },
        { ENTRY_OF("gfx1030", GFX1030), 32, GFX1030, 2 },
        { { "hip-amdgcn-amd-amdhsa--gfx1100", GFX1100 }, 32, GFX1100, 2 },
        { ENTRY_OF("gfx1200", GFX1200), 32, GFX1200, 2 },
        { ENTRY_OF("gfx1201", GFX1201), 32, GFX1201, 2 },
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const part parts[] = { HOST_ENTRY, ENTRY_OF("gfx9", GFX1100), ENTRY_OF("gfx1", GFX942), targets[i].own,
                               ENTRY_OF("gfx11000", GFX942) };
        const bytes image = bundle(parts, 5), alone = code_object(AMD_GPU, targets[i].target, NULL, 0);
        vmafgpu *context;
        where("target %s", targets[i].own.id);
        if (targets[i].lanes != g->sim.lanes())
            continue;
        g->sim.set(SIMULATED_CAPABILITY, targets[i].target);
        check_image(g, f, config, expected, &image, NULL);
        check_image(g, f, config, expected, &alone, NULL);
        config.gpu.kernels = image.data;
        config.gpu.kernels_size = image.size;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_get_config(context)->gpu.vif_arithmetic, targets[i].arithmetic);
        vmafgpu_close(context);
    }
    g->sim.set(SIMULATED_CAPABILITY, g->sim.lanes() == 32 ? GFX1100 : GFX942);
}

/* Tests bundles with invalid headers, and truncated bundles. */
static void check_broken_bundles(const gpu *g, const film *f, vmafgpu_config config, const scores *expected) {
    static const struct {
        const char *name;
        size_t at;
        uint64_t value;
    } cases[] = {
        { "many entries", 24, 1000000 },
        { "2^64 - 1 entries", 24, UINT64_MAX },
        { "an entry beyond the end", 32, 4000 },
        { "an entry far beyond the end", 32, UINT64_MAX - 32 },
        { "an entry that is too long", 40, 4000 },
        { "an entry as large as the address space", 40, UINT64_MAX },
        { "an id that is too long", 48, 4000 },
        { "an id as large as the address space", 48, UINT64_MAX },
        { "an id whose end wraps around", 48, UINT64_MAX - 55 },
    };
    const part parts[] = { ENTRY_OF("gfx1100", GFX1100), ENTRY_OF("gfx942", GFX942), HOST_ENTRY };
    const bytes whole = bundle(parts, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bytes image = changed(whole, cases[i].at, cases[i].value);
        where("bundle with %s", cases[i].name);
        check_image(g, f, config, expected, &image, "config.gpu.kernels: is neither");
    }
    for (size_t size = 1; size < whole.size; size += size < 64 ? 1 : 13) {
        const bytes image = shortened(whole, whole.size - size);
        where("bundle truncated to %d bytes", (int)size);
        check_image(g, f, config, expected, &image, "config.gpu.kernels: is neither");
    }
}

/* Tests kernels for HIP, which are code objects or bundles of code objects. */
static void check_code_objects(gpu *g) {
    static const char some[] = "\0vmafgpu_import\0vmafgpu_import.kd\0vmafgpu_interface_2\0vmafgpu_interface_2.kd";
    static const char other[] = "\0vmafgpu_interface_0\0vmafgpu_interface_0.kd";
    static const char text[] = ".version 8.0\n.target sm_75\n// end of vmafgpu kernels\n";
    static const char compressed[] = "CCOB\2\0\1\0 and what is compressed, which is longer than the head of a file is";
    const int own = g->sim.lanes() == 32 ? GFX1100 : GFX942, foreign = g->sim.lanes() == 32 ? GFX1200 : GFX90A;
    const char *own_name = g->sim.lanes() == 32 ? "gfx1100" : "gfx942";
    const part others[] = { HOST_ENTRY, ENTRY_OF("gfx1030", GFX1030), ENTRY_OF("gfx90a:xnack+", GFX90A) },
               host[] = { HOST_ENTRY },
               mixed_up[] = { HOST_ENTRY, ENTRY_OF("gfx1100", GFX942), ENTRY_OF("gfx942", GFX1100) },
               empty[] = { HOST_ENTRY, ENTRY_OF("gfx1100", 0), ENTRY_OF("gfx942", 0) };
    const char *const neither = "config.gpu.kernels: is neither a code object";
    const char *const paths[] = { "there/is/no/such/file.hsaco", "." };
    char no_target[160];
    film f = film_make("texture+mix", 40, 36, 8, 2, 95);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    size_t size = 0;
    char *file = file_text(g->kernels_path, &size);
    const struct {
        const char *name;
        bytes image;
        const char *words;
    } images[] = {
        { "a code object", code_object(AMD_GPU, own, NULL, 0), NULL },
        { "a code object with features", code_object(AMD_GPU, own | 0x500, NULL, 0), NULL },
        { "for another device", code_object(AMD_GPU, foreign, NULL, 0),
          "config.gpu.kernels: driver rejects the kernels (" },
        { "some kernels", code_object(AMD_GPU, own, some, sizeof some), "config.gpu.kernels: kernel vmafgpu_" },
        { "other kernels", code_object(AMD_GPU, own, other, sizeof other), "config.gpu.kernels: kernel vmafgpu_" },
        { "a program", code_object(X86_64, own, NULL, 0), neither },
        { "without its last section", shortened(code_object(AMD_GPU, own, some, sizeof some), 64), neither },
        { "without its last byte", shortened(code_object(AMD_GPU, own, some, sizeof some), 1), neither },
        { "63 bytes", shortened(code_object(AMD_GPU, own, NULL, 0), 1), neither },
        { "sections at the end of memory", changed(code_object(AMD_GPU, own, some, sizeof some), 40, UINT64_MAX - 63),
          neither },
        { "a 32-bit code object", changed(code_object(AMD_GPU, own, NULL, 0), 0, UINT64_C(0x40010101464c457f)),
          neither },
        { "a bundle for other targets", bundle(others, 3), no_target },
        { "a bundle for the host", bundle(host, 1), "its targets are none" },
        { "an empty bundle", bundle(host, 0), "its targets are none" },
        { "a bundle with swapped targets", bundle(mixed_up, 3), "config.gpu.kernels: driver rejects the kernels (" },
        { "a bundle of empty entries", bundle(empty, 3), neither },
        { "PTX", bytes_of(text, sizeof text - 1), neither },
        { "compressed", bytes_of(compressed, sizeof compressed), neither },
    };
    snprintf(no_target, sizeof no_target, "has no kernels for this device (%s); its targets are gfx1030, gfx90a:xnack+",
             own_name);
    config.gpu.kernels_path = NULL;
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        where("image: %s", images[i].name);
        check_image(g, &f, config, &expected, &images[i].image, images[i].words);
    }
    check_targets(g, &f, config, &expected);
    check_broken_bundles(g, &f, config, &expected);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        where("image file %s", paths[i]);
        config.gpu.kernels_path = paths[i];
        check_unusable(g, &f, config, &expected, paths[i]);
    }
    config.gpu.kernels_path = NULL;
    for (int shift = 0; shift < 2; shift++) {
        char *moved = (char *)malloc(size + 2);
        scores got;
        where("the image in memory, at an address that is %s", shift ? "odd" : "even");
        test_need(moved != NULL, "out of memory");
        memcpy(moved + shift, file, size);
        config.gpu.kernels = moved + shift;
        config.gpu.kernels_size = size;
        got = film_score(&f, &config);
        check_same_scores(&got, &expected);
        scores_free(&got);
        free(moved);
    }
    free(file);
    scores_free(&expected);
    film_free(&f);
}

void test_images(gpu *g) {
    if (!g->is_hip)
        check_texts(g);
    else if (g->is_simulated)
        check_code_objects(g);
    else
        test_skip("kernels for HIP: the driver is not a simulated one");
}

void test_no_device(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 2, 96);
    vmafgpu_config usable = gpu_config(g, &f), config = usable;
    scores expected = cpu_score(&f, &config);
    vmafgpu *context = NULL;
    where("device 99");
    config.gpu.device = 99;
    check_unusable(g, &f, config, &expected, "config.gpu.device: no such device (99)");
    config = usable;
    where("no such library");
    config.gpu.driver_path = "/there/is/no/library.so";
    check_unusable(g, &f, config, &expected, "/there/is/no/library.so");
    where("a library without the functions");
    config.gpu.driver_path = "libm.so.6";
    check_unusable(g, &f, config, &expected, g->vendor->init);
    config = usable;
    if (g->is_hip) {
        int stream = 0;
        where("device frames or a stream with AUTO");
        config.backend = VMAFGPU_BACKEND_AUTO;
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
        CHECK(strstr(vmafgpu_last_error(context), "hip: ") == NULL);
        vmafgpu_close(context);
        config.gpu.frame_memory = VMAFGPU_MEMORY_HOST;
        config.gpu.stream = &stream;
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK);
        CHECK_STR(vmafgpu_backend_name(context), "cpu");
        vmafgpu_close(context);
        config = usable;
    }
    where("config needs more memory than available");
    config.width = config.height = 16384;
    config.bit_depth = 16;
    config.gpu.batch = 32;
    config.gpu.queue_depth = 8;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
    CHECK_HAS(vmafgpu_last_error(context), "device memory: out of memory (");
    CHECK_HAS(vmafgpu_last_error(context), "lower config.gpu.batch (32)");
    vmafgpu_close(context);
    if (g->is_simulated) {
        where("device with little memory");
        g->sim.set(SIMULATED_DEVICE_MEMORY, 100000);
        check_unusable(g, &f, usable, &expected, " of 0.1 MB free");
        g->sim.set(SIMULATED_DEVICE_MEMORY, 1 << 30);
        where("no devices");
        g->sim.set(SIMULATED_DEVICES, 0);
        check_unusable(g, &f, usable, &expected, "no device");
        g->sim.set(SIMULATED_DEVICES, 2);
        where("device without kernels");
        g->sim.set(SIMULATED_CAPABILITY, !g->is_hip ? 70 : g->sim.lanes() == 32 ? GFX1030 : GFX908);
        check_unusable(g, &f, usable, &expected, "");
        if (g->is_hip) {
            where("wrong wave size");
            g->sim.set(SIMULATED_CAPABILITY, g->sim.lanes() == 32 ? GFX942 : GFX1100);
            check_unusable(g, &f, usable, &expected, "waves of");
        }
    }
    scores_free(&expected);
    film_free(&f);
}

/* ---- memory ---- */

/* Tests the defaults of gpu.batch and gpu.queue_depth, which the manual states, and the limit of device memory. */
static void check_memory_limit(gpu *g) {
    static const struct {
        int width, height, depth, batch; /* batch 0: reduced because of the limit */
    } sizes[] = { { 576, 324, 8, 32 }, { 1920, 1080, 8, 8 }, { 3840, 2160, 8, 2 }, { 7680, 4320, 10, 0 } };
    film f = film_make("texture+mix", 64, 48, 8, 1, 98);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        vmafgpu_config config = gpu_config(g, &f);
        where("memory limit, %dx%d", sizes[i].width, sizes[i].height);
        config.width = sizes[i].width;
        config.height = sizes[i].height;
        config.bit_depth = sizes[i].depth;
        config.bytes_per_sample = 0;
        config.gpu.skip_self_test = 1;
        vmafgpu *context = open_checked(&config);
        const int batch = vmafgpu_get_config(context)->gpu.batch, queue = vmafgpu_get_config(context)->gpu.queue_depth;
        CHECK_INT(batch, sizes[i].batch ? sizes[i].batch : 1);
        CHECK(queue >= 2 && queue <= 4 && (sizes[i].batch || queue == 2));
        CHECK(vmafgpu_device_memory(context) <= (size_t)288 << 20 || (batch == 1 && queue == 2));
        vmafgpu_close(context);
    }
    film_free(&f);
}

void test_memory(gpu *g) {
    film f = film_make("texture+mix", 64, 48, 8, 3, 97);
    vmafgpu_config config = gpu_config(g, &f);
    size_t smallest = 0;
    for (int batch = 1; batch <= 4; batch *= 2) {
        const long long before = g->is_simulated ? g->sim.live_bytes() : 0;
        vmafgpu *context;
        where("memory, batch %d", batch);
        config.gpu.batch = batch;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_get_config(context)->gpu.batch, batch);
        CHECK(vmafgpu_get_config(context)->gpu.queue_depth >= 2 && vmafgpu_get_config(context)->gpu.queue_depth <= 4);
        CHECK(vmafgpu_get_config(context)->gpu.vif_arithmetic == 1 ||
              vmafgpu_get_config(context)->gpu.vif_arithmetic == 2);
        CHECK(vmafgpu_device_memory(context) > smallest);
        smallest = vmafgpu_device_memory(context);
        if (g->is_simulated)
            CHECK_INT(vmafgpu_device_memory(context), g->sim.live_bytes() - before);
        vmafgpu_close(context);
    }
    film_free(&f);
    check_memory_limit(g);
}
