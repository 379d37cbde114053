/* Compares scores of RGB frames on the GPU with those of the CPU, in every kind of memory including surfaces.
 * test_pixels compares the CPU with exact arithmetic. */
#include "gpu.h"

enum { FRAMES = 3, PICTURES = 2 * FRAMES };

typedef struct pixel_case {
    vmafgpu_pixels pixels[2]; /* reference, distorted */
    const char *kinds;        /* as storage.kinds, plus 's' for a surface and 'a' for an array */
    int width, height, depth;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
    /* margin: bytes after each row; if negative, rows are stored bottom-up. offset: bytes before the first row */
    int margin, offset;
    int batch;
} pixel_case;

/* Pixels in pageable memory, and the same pixels in the memory that the GPU reads. */
typedef struct pixel_picture {
    vmafgpu_frame host, frame;
    unsigned char *bytes;
    size_t size;
    uint64_t address, surface;
    void *pinned, *array;
} pixel_picture;

static const int pixel_bytes[] = { 0, 4, 4, 3, 4, 8, 1 };

/* Planes of RGB pixels are stored in the order B, R, G. */
static const int plane_places[] = { 1, 2, 0 };

static int plane_count(vmafgpu_pixels pixels) {
    return pixels == VMAFGPU_PIXELS_RGB8_PLANAR ? 3 : 1;
}

static uint32_t pixel_noise(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

static void make_surface(gpu *g, pixel_picture *p, vmafgpu_pixels pixels, int width, int height, char kind) {
    test_need(make_array(g, p->host.data[0], (size_t)p->host.pitch[0], width, height,
                         pixels == VMAFGPU_PIXELS_RGBA16F   ? HALVES
                         : pixels == VMAFGPU_PIXELS_RGB10A2 ? LONG
                                                            : BYTES,
                         pixels == VMAFGPU_PIXELS_RGB10A2 ? 1 : 4, &p->array, &p->surface),
              "a surface");
    memset(&p->frame, 0, sizeof p->frame);
    p->frame.data[0] = kind == 'a' ? p->array : (const void *)(uintptr_t)p->surface;
    p->frame.memory = kind == 'a' ? VMAFGPU_MEMORY_ARRAY : VMAFGPU_MEMORY_SURFACE;
}

/* Copies the pixels to pinned or device memory. Bytes around the pixels must not be read. */
static void make_linear(gpu *g, pixel_picture *p, const pixel_case *c, vmafgpu_pixels pixels, char kind) {
    uint64_t start;
    const ptrdiff_t at = (const unsigned char *)p->host.data[0] - p->bytes;
    p->frame = p->host;
    if (kind == 'p') {
        test_need(g->take_pinned(&p->pinned, p->size, 0) == 0, "out of pinned memory");
        memcpy(p->pinned, p->bytes, p->size);
        p->frame.memory = VMAFGPU_MEMORY_PINNED;
        for (int k = 0; k < plane_count(pixels); k++) {
            p->frame.data[k] = (const unsigned char *)p->pinned + at +
                               ((const unsigned char *)p->host.data[k] - (const unsigned char *)p->host.data[0]);
        }
        start = (uint64_t)(uintptr_t)p->pinned;
    } else {
        test_need(g->take(&p->address, p->size) == 0, "out of device memory");
        CHECK_INT(gpu_write(g, p->address, p->bytes, p->size), 0);
        p->frame.memory = VMAFGPU_MEMORY_DEVICE;
        for (int k = 0; k < plane_count(pixels); k++) {
            const ptrdiff_t offset = (const unsigned char *)p->host.data[k] - (const unsigned char *)p->host.data[0];
            p->frame.data[k] = (const void *)(uintptr_t)(p->address + (uint64_t)(at + offset));
        }
        start = p->address;
    }
    if (g->is_simulated) {
        g->sim.forbid(start, p->size, 1);
        for (int y = 0; y < c->height * plane_count(pixels); y++) {
            const ptrdiff_t offset = (const unsigned char *)p->host.data[y / c->height] - p->bytes;
            g->sim.forbid(start + (uint64_t)(offset + y % c->height * p->host.pitch[0]),
                          (size_t)c->width * (size_t)pixel_bytes[pixels], 0);
        }
    }
}

static pixel_picture pixel_picture_make(gpu *g, const pixel_case *c, int index) {
    const vmafgpu_pixels pixels = c->pixels[index % 2];
    const char kind = c->kinds[(size_t)index % strlen(c->kinds)];
    const int row = c->width * pixel_bytes[pixels], pitch = row + (c->margin < 0 ? -c->margin : c->margin);
    pixel_picture p;
    memset(&p, 0, sizeof p);
    const int planes = plane_count(pixels);
    const size_t plane = (size_t)pitch * (size_t)(c->height - 1) + (size_t)row;
    p.size = (size_t)c->offset + (size_t)planes * plane;
    p.bytes = (unsigned char *)malloc(p.size);
    test_need(p.bytes != NULL, "out of memory");
    memset(p.bytes, 0xEE, p.size);
    for (int y = 0; y < c->height; y++) {
        for (int i = 0; i < row * planes; i++) {
            const int x = i % row, place = i / row;
            /* content that moves and differs between reference and distorted; half floats are below 2 */
            const int pixel = x / pixel_bytes[pixels], k = planes > 1 ? place : x % pixel_bytes[pixels];
            const uint32_t noise = pixel_noise((uint32_t)((y * 4096 + pixel) * 8 + k + (index & 1) * 77777));
            const uint32_t wave = (uint32_t)((pixel + index) * (k + 3) / 2 + y * 3);
            uint32_t value = (wave & 255) ^ (noise & (index & 1 ? 31 : 7));
            value = pixels == VMAFGPU_PIXELS_RGBA16F && k % 2 ? (value & 63) - (pixel % 97 == 0) * 40 : value;
            p.bytes[(size_t)c->offset + (size_t)place * plane + (size_t)y * (size_t)pitch + (size_t)x] =
                (unsigned char)value;
        }
    }
    for (int k = 0; k < planes; k++) {
        p.host.data[k] = p.bytes + c->offset + (size_t)(planes > 1 ? plane_places[k] : 0) * plane +
                         (c->margin < 0 ? (ptrdiff_t)pitch * (c->height - 1) : 0);
    }
    p.host.pitch[0] = c->margin < 0 ? -pitch : pitch;
    p.host.pixels = pixels;
    if (kind == 'h')
        p.frame = p.host;
    else if (kind == 's' || kind == 'a')
        make_surface(g, &p, pixels, c->width, c->height, kind);
    else
        make_linear(g, &p, c, pixels, kind);
    p.frame.pixels = pixels;
    return p;
}

static void pixel_picture_free(gpu *g, pixel_picture *p) {
    if (p->surface) {
        CHECK_INT(g->surface_destroy(p->surface), 0);
        CHECK_INT(g->array_destroy(p->array), 0);
    }
    if (p->address)
        CHECK_INT(g->give(p->address), 0);
    if (p->pinned)
        CHECK_INT(g->give_pinned(p->pinned), 0);
    free(p->bytes);
}

static vmafgpu_config pixel_config(const gpu *g, const pixel_case *c, int which) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = c->width;
    config.height = c->height;
    config.bit_depth = c->depth;
    config.chroma = c->chroma;
    config.layout = c->layout;
    config.colour.matrix = (vmafgpu_matrix)(VMAFGPU_MATRIX_BT601 + which % 3);
    config.colour.range = which % 2 ? VMAFGPU_RANGE_FULL : VMAFGPU_RANGE_LIMITED;
    config.colour.siting = (vmafgpu_siting)(VMAFGPU_SITING_LEFT + which % 3);
    config.colour.transfer = (vmafgpu_transfer)(VMAFGPU_TRANSFER_SRGB + which % 3);
    config.backend = g->vendor->backend;
    config.gpu.driver_path = g->driver_path;
    config.gpu.kernels_path = g->kernels_path;
    config.gpu.skip_self_test = g->is_slow;
    config.gpu.batch = c->batch;
    return config;
}

static vmafgpu_config on_cpu(const vmafgpu_config *config) {
    vmafgpu_config plain = *config;
    plain.backend = VMAFGPU_BACKEND_CPU;
    memset(&plain.gpu, 0, sizeof plain.gpu);
    return plain;
}

static scores score_pictures(const pixel_picture *pictures, vmafgpu *context, int in_place) {
    for (int i = 0; i < FRAMES; i++) {
        const pixel_picture *r = &pictures[2 * i], *d = r + 1;
        if (!CHECK_INT(in_place ? vmafgpu_push(context, &r->frame, &d->frame)
                                : vmafgpu_push(context, &r->host, &d->host),
                       VMAFGPU_OK)) {
            printf("%s\n", vmafgpu_last_error(context));
        }
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    return scores_of(context);
}

static void check_pixels(gpu *g, const pixel_case *c, int which) {
    pixel_picture pictures[PICTURES];
    vmafgpu_feature_config psnr = VMAFGPU_INIT;
    vmafgpu_config config = pixel_config(g, c, which), plain;
    vmafgpu *context, *cpu;
    const int has_surface = strpbrk(c->kinds, "sa") != NULL;
    where("pixels %d and %d, '%s' %dx%d %d bits chroma %d layout %d margin %d", (int)c->pixels[0], (int)c->pixels[1],
          c->kinds, c->width, c->height, c->depth, (int)c->chroma, (int)c->layout, c->margin);
    if (has_surface && !g->surface_create)
        return;
    psnr.name = "psnr";
    config.features = &psnr;
    config.feature_count = which % 4 != 3; /* without psnr, only luma is used */
    config.gpu.frame_memory = strspn(c->kinds, "sa") == strlen(c->kinds)    ? VMAFGPU_MEMORY_SURFACE
                              : strspn(c->kinds, "dsa") == strlen(c->kinds) ? VMAFGPU_MEMORY_DEVICE
                              : strchr(c->kinds, 'h')                       ? VMAFGPU_MEMORY_HOST
                                                                            : VMAFGPU_MEMORY_PINNED;
    plain = on_cpu(&config);
    for (int i = 0; i < PICTURES; i++)
        pictures[i] = pixel_picture_make(g, c, i);
    context = open_checked(&config);
    cpu = open_checked(&plain);
    if (context && cpu) {
        scores expected = score_pictures(pictures, cpu, 0), got = score_pictures(pictures, context, 1);
        check_on_gpu(g, context);
        check_same_scores(&got, &expected);
        scores_free(&got);
        scores_free(&expected);
        for (int i = 0; i < 2; i++) {
            vmafgpu_score a, b;
            if (CHECK_INT(vmafgpu_score_pair(context, &pictures[2].frame, &pictures[3].frame,
                                             i ? &pictures[0].frame : NULL, &a),
                          VMAFGPU_OK) &&
                CHECK_INT(
                    vmafgpu_score_pair(cpu, &pictures[2].host, &pictures[3].host, i ? &pictures[0].host : NULL, &b),
                    VMAFGPU_OK)) {
                CHECK_BITS(a.score, b.score);
            }
        }
    }
    vmafgpu_close(context);
    vmafgpu_close(cpu);
    for (int i = 0; i < PICTURES; i++)
        pixel_picture_free(g, &pictures[i]);
}

/* Checks the messages for frames that are not supported. */
static void check_pixels_refused(gpu *g) {
    const pixel_case c = { { VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA8 },
                           "d",
                           64,
                           32,
                           8,
                           VMAFGPU_CHROMA_420,
                           VMAFGPU_LAYOUT_PLANAR,
                           0,
                           0,
                           1 };
    vmafgpu_config config = pixel_config(g, &c, 1);
    pixel_picture p = pixel_picture_make(g, &c, 0);
    vmafgpu *context = open_checked(&config);
    vmafgpu_frame frame = p.frame;
    where("invalid surfaces");
    if (context) {
        frame.memory = VMAFGPU_MEMORY_SURFACE;
        if (g->is_hip) {
            CHECK_INT(vmafgpu_push(context, &frame, &p.frame), VMAFGPU_ERROR_ARGUMENT);
            CHECK_HAS(vmafgpu_last_error(context), "reference is a surface, which HIP does not support");
        }
        frame.pixels = VMAFGPU_PIXELS_RGB24;
        CHECK_INT(vmafgpu_push(context, &p.frame, &frame), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), "distorted is a surface, which cannot hold RGB24");
        frame.pixels = VMAFGPU_PIXELS_RGB8_PLANAR;
        CHECK_INT(vmafgpu_push(context, &p.frame, &frame), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), "distorted is a surface, which cannot hold RGB8_PLANAR");
        if (!g->is_hip &&
            g->is_simulated) { /* creates an array without CUDA_ARRAY3D_SURFACE_LDST, which the real driver accepts */
            const array_shape shape = { 64, 32, 0, BYTES, 4, 0 };
            void *array = NULL;
            test_need(g->array_create(&array, &shape) == 0, "cannot create an array");
            frame.data[0] = array;
            frame.pixels = VMAFGPU_PIXELS_RGBA8;
            frame.memory = VMAFGPU_MEMORY_ARRAY;
            CHECK_INT(vmafgpu_push(context, &p.frame, &frame), VMAFGPU_ERROR_ARGUMENT);
            CHECK_HAS(vmafgpu_last_error(context), "distorted: driver creates no surface of data[0]");
            CHECK_INT(g->array_destroy(array), 0);
        }
        CHECK_INT(vmafgpu_push(context, &p.frame, &p.frame), VMAFGPU_OK);
    }
    vmafgpu_close(context);
    if (g->is_simulated) { /* the simulated GPU has two devices */
        where("several GPUs");
        config.gpu.device_count = VMAFGPU_ALL_DEVICES;
        context = open_checked(&config);
        if (context) {
            CHECK_INT(vmafgpu_push(context, &p.frame, &p.frame), VMAFGPU_ERROR_ARGUMENT);
            CHECK_HAS(vmafgpu_last_error(context), "reference is RGBA8, which several GPUs cannot read");
            CHECK_INT(vmafgpu_push(context, &p.host, &p.host), VMAFGPU_OK);
        }
        vmafgpu_close(context);
    }
    pixel_picture_free(g, &p);
}

/* Checks that the self-test detects kernels that compute wrong values. */
static void check_pixels_self_test(gpu *g) {
    const pixel_case c = { { VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA8 },
                           "d",
                           64,
                           32,
                           8,
                           VMAFGPU_CHROMA_420,
                           VMAFGPU_LAYOUT_PLANAR,
                           0,
                           0,
                           1 };
    static const char *const kernels[][2] = {
        { "vmafgpu_pixels", "kernel vmafgpu_pixels computes wrong" },
        { "vmafgpu_pixels_chroma", "kernel vmafgpu_pixels computes wrong" },
        { "vmafgpu_surfaces", "kernel vmafgpu_surfaces computes wrong" },
        { "vmafgpu_pixels_surface", "kernel vmafgpu_pixels_surface computes wrong" },
        { "vmafgpu_pixels_surface_chroma", "kernel vmafgpu_pixels_surface computes wrong" },
        { NULL, "" }
    };
    vmafgpu_feature_config psnr = VMAFGPU_INIT;
    vmafgpu_config config = pixel_config(g, &c, 1);
    psnr.name = "psnr";
    config.features_only = 1;
    config.features = &psnr;
    config.feature_count = 1;
    config.gpu.skip_self_test = 0;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && g->is_simulated; i++) {
        vmafgpu *context = NULL;
        const char *kernel = kernels[i][0];
        where("self-test, %s", kernel ? kernel : "correct kernels");
        if (kernel && strstr(kernel, "surface") && g->is_hip)
            continue;
        g->sim.plant(kernel);
        CHECK_INT(vmafgpu_open(&context, &config), kernel ? VMAFGPU_ERROR_BACKEND : VMAFGPU_OK);
        CHECK_HAS(vmafgpu_last_error(context), kernels[i][1]);
        vmafgpu_close(context);
    }
}

/* ---- planes of YUV in surfaces and arrays ---- */

typedef struct plane_case {
    int width, height, depth;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
    char kind;
    int bad; /* number of the plane with an illegal sample, counted from 1; 0: none */
} plane_case;

typedef struct plane_picture {
    vmafgpu_frame host, frame;
    unsigned char *bytes;
    void *arrays[3];
    uint64_t surfaces[3];
} plane_picture;

/* Makes planes in surfaces or arrays. The low bits of P010 samples are not 0; the GPU ignores them in surfaces. */
static plane_picture plane_picture_make(gpu *g, const vmafgpu_config *config, const plane_case *c, int index) {
    const int bytes = c->depth > 8 ? 2 : 1, shift = c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 16 - c->depth : 0;
    const int planes = c->layout == VMAFGPU_LAYOUT_PLANAR ? 3 : 2;
    const size_t size = vmafgpu_frame_size(config, 0);
    plane_picture p;
    memset(&p, 0, sizeof p);
    p.bytes = (unsigned char *)calloc(2, size);
    test_need(p.bytes != NULL, "out of memory");
    p.host = p.frame = vmafgpu_frame_of(config, p.bytes, 0);
    p.frame.memory = c->kind == 'a' ? VMAFGPU_MEMORY_ARRAY : VMAFGPU_MEMORY_SURFACE;
    for (int i = 0; i < planes; i++) {
        const int channels = i && planes == 2 ? 2 : 1, half = i && c->chroma != VMAFGPU_CHROMA_444;
        const int w = c->width >> half, h = i && c->chroma == VMAFGPU_CHROMA_420 ? c->height >> 1 : c->height;
        const size_t pitch = (size_t)((c->width + half) >> half) * (size_t)(channels * bytes);
        unsigned char *rows = p.bytes + ((const unsigned char *)p.host.data[i] - p.bytes), *other = rows + size;
        for (int y = 0; y < h; y++) {
            for (int x = 0; x < w * channels; x++) {
                const uint32_t noise = pixel_noise((uint32_t)((y * 4096 + x) * 4 + i + (index & 1) * 77777));
                uint32_t v = (((uint32_t)(x + index + 2 * y) & 127) + (noise & (index & 1 ? 31 : 7))) << (c->depth - 8);
                v = c->bad == i + 1 && y == 3 && x == 5 ? 1u << c->depth : v << shift;
                const uint32_t dirty = v | (noise >> 8 & ((1u << shift) - 1));
                for (int k = 0; k < bytes; k++) {
                    rows[(size_t)y * pitch + (size_t)(x * bytes + k)] = (unsigned char)(v >> 8 * k);
                    other[(size_t)y * pitch + (size_t)(x * bytes + k)] = (unsigned char)(dirty >> 8 * k);
                }
            }
        }
        test_need(make_array(g, other, pitch, w, h, bytes == 1 ? BYTES : WORDS, (unsigned)channels, &p.arrays[i],
                             &p.surfaces[i]),
                  "a surface");
        p.frame.data[i] = c->kind == 'a' ? p.arrays[i] : (const void *)(uintptr_t)p.surfaces[i];
    }
    return p;
}

static void plane_picture_free(gpu *g, plane_picture *p) {
    for (int i = 0; i < 3 && p->arrays[i]; i++) {
        CHECK_INT(g->surface_destroy(p->surfaces[i]), 0);
        CHECK_INT(g->array_destroy(p->arrays[i]), 0);
    }
    free(p->bytes);
}

static void check_planes(gpu *g, const plane_case *c) {
    plane_picture pictures[PICTURES];
    vmafgpu_feature_config features[2] = VMAFGPU_INIT;
    vmafgpu_config config = VMAFGPU_INIT, plain;
    vmafgpu *context, *cpu;
    where("planes in '%c' %dx%d %d bits chroma %d layout %d bad %d", c->kind, c->width, c->height, c->depth,
          (int)c->chroma, (int)c->layout, c->bad);
    config.width = c->width;
    config.height = c->height;
    config.bit_depth = c->depth;
    config.chroma = c->chroma;
    config.layout = c->layout;
    config.backend = VMAFGPU_BACKEND_CUDA;
    config.gpu.driver_path = g->driver_path;
    config.gpu.kernels_path = g->kernels_path;
    config.gpu.skip_self_test = g->is_simulated;
    config.gpu.frame_memory = VMAFGPU_MEMORY_SURFACE;
    config.gpu.batch = 2;
    features[0].name = "psnr";
    features[1].name = "float_motion";
    features[1].options = "motion_add_uv=true"; /* uses the chroma of preceding references */
    config.features = features;
    config.feature_count = c->bad ? 1 : 2;
    config.features_only = c->bad == 1; /* leaves out VIF, which also checks for illegal samples */
    plain = on_cpu(&config);
    for (int i = 0; i < PICTURES; i++)
        pictures[i] = plane_picture_make(g, &config, c, i);
    context = open_checked(&config);
    cpu = open_checked(&plain);
    if (context && cpu && c->bad) {
        CHECK_INT(vmafgpu_push(context, &pictures[0].frame, &pictures[1].frame), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_FRAME);
        CHECK_HAS(vmafgpu_last_error(context), c->bad == 1 ? ": luma sample exceeds " : ": chroma sample exceeds ");
    } else if (context && cpu) {
        scores got, expected;
        CHECK_INT(vmafgpu_push_preceding(context, &pictures[4].frame), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push_preceding(cpu, &pictures[4].host), VMAFGPU_OK);
        for (int i = 0; i < PICTURES; i += 2) {
            CHECK_INT(vmafgpu_push(context, &pictures[i].frame, &pictures[i + 1].frame), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push(cpu, &pictures[i].host, &pictures[i + 1].host), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(cpu), VMAFGPU_OK);
        got = scores_of(context);
        expected = scores_of(cpu);
        check_on_gpu(g, context);
        check_same_scores(&got, &expected);
        scores_free(&got);
        scores_free(&expected);
        vmafgpu_score a, b;
        if (CHECK_INT(vmafgpu_score_pair(context, &pictures[2].frame, &pictures[3].frame, &pictures[0].frame, &a),
                      VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_score_pair(cpu, &pictures[2].host, &pictures[3].host, &pictures[0].host, &b),
                      VMAFGPU_OK)) {
            check_row(a.values, b.values, vmafgpu_column_count(cpu));
        }
        /* leaves one batch to be discarded by a reset, and one in flight when the context is closed */
        for (int i = 0; i < 2; i++) {
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push(context, &pictures[0].frame, &pictures[1].frame), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_push(context, &pictures[0].frame, &pictures[1].frame), VMAFGPU_OK);
    }
    vmafgpu_close(context);
    vmafgpu_close(cpu);
    for (int i = 0; i < PICTURES; i++)
        plane_picture_free(g, &pictures[i]);
}

static void check_planes_refused(gpu *g) {
    static const plane_case c = { 64, 48, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 's', 0 };
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *context = NULL;
    config.width = c.width;
    config.height = c.height;
    config.layout = c.layout;
    config.backend = g->vendor->backend;
    config.gpu.driver_path = g->driver_path;
    config.gpu.kernels_path = g->kernels_path;
    config.gpu.frame_memory = VMAFGPU_MEMORY_SURFACE;
    where("rejected planes");
    if (g->is_hip) {
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
        CHECK_HAS(vmafgpu_last_error(context), "config.gpu.frame_memory: surfaces are not supported by the driver");
        vmafgpu_close(context);
        return;
    }
    plane_picture p = plane_picture_make(g, &config, &c, 0);
    for (int i = 0; i < 2; i++) { /* wrong config.gpu.frame_memory; 16-bit samples */
        config.gpu.frame_memory = i ? VMAFGPU_MEMORY_SURFACE : VMAFGPU_MEMORY_DEVICE;
        config.bytes_per_sample = 1 + i;
        context = open_checked(&config);
        if (context) {
            CHECK_INT(vmafgpu_push(context, &p.frame, &p.frame), VMAFGPU_ERROR_ARGUMENT);
            CHECK_HAS(vmafgpu_last_error(context),
                      i ? "reference is a surface, which holds samples of 8 bits as bytes"
                        : "reference is a surface, which requires config.gpu.frame_memory surface");
        }
        vmafgpu_close(context);
    }
    plane_picture_free(g, &p);
}

/* Checks that, if the GPU fails, the CPU scores frames in host memory, and frames in surfaces get no score. */
static void check_pixels_failure(gpu *g, char kind) {
    const char kinds[] = { kind, 0 };
    const pixel_case c = { { VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGB10A2 },
                           kinds,
                           64,
                           32,
                           8,
                           VMAFGPU_CHROMA_420,
                           VMAFGPU_LAYOUT_PLANAR,
                           0,
                           0,
                           1 };
    vmafgpu_config config = pixel_config(g, &c, 1), plain = on_cpu(&config);
    pixel_picture pictures[PICTURES];
    vmafgpu *context, *cpu;
    where("a failure, '%c'", kind);
    if (!g->is_simulated || (strchr("sa", kind) && !g->surface_create))
        return;
    for (int i = 0; i < PICTURES; i++)
        pictures[i] = pixel_picture_make(g, &c, i);
    context = open_checked(&config);
    cpu = open_checked(&plain);
    if (context && cpu) {
        scores expected = score_pictures(pictures, cpu, 0);
        CHECK_INT(vmafgpu_push(context, &pictures[0].frame, &pictures[1].frame), VMAFGPU_OK);
        g->sim.fail(NULL, 3, 999);
        for (int i = 1; i < FRAMES; i++)
            CHECK_INT(vmafgpu_push(context, &pictures[2 * i].frame, &pictures[2 * i + 1].frame), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), strchr("sa", kind) ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
        CHECK_HAS(vmafgpu_backend_note(context), "failed");
        if (!strchr("sa", kind)) {
            scores got = scores_of(context);
            check_same_scores(&got, &expected);
            scores_free(&got);
        }
        g->sim.fail(NULL, 0, 0);
        scores_free(&expected);
    }
    vmafgpu_close(context);
    vmafgpu_close(cpu);
    for (int i = 0; i < PICTURES; i++)
        pixel_picture_free(g, &pictures[i]);
}

/* Checks that the context copies the base of edits, so that the frames can be overwritten before a commit. */
static void check_pixels_base(gpu *g, vmafgpu_pixels pixels, char kind) {
    const char kinds[] = { kind, 0 };
    const pixel_case c = {
        { pixels, pixels }, kinds, 64, 48, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 0, 0, 1
    };
    const plane_case of_planes = { 64, 48, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, kind, 0 };
    vmafgpu_config config = pixel_config(g, &c, 1), plain;
    vmafgpu *v[2];
    vmafgpu_score score[2];
    vmafgpu_edit edit;
    unsigned char samples[16 * 16];
    double base[2];
    where("a base of pixels %d, '%c'", (int)pixels, kind);
    config.max_edit_size = 16;
    plain = on_cpu(&config);
    v[0] = open_checked(&config);
    v[1] = open_checked(&plain);
    for (int i = 0; i < 2; i++) {
        pixel_picture p;
        plane_picture q;
        if (pixels)
            p = pixel_picture_make(g, &c, 0);
        else
            q = plane_picture_make(g, &config, &of_planes, 0);
        CHECK_INT(vmafgpu_edit_begin(v[i],
                                     i        ? pixels ? &p.host : &q.host
                                     : pixels ? &p.frame
                                              : &q.frame,
                                     NULL, NULL, NULL, &score[i]),
                  VMAFGPU_OK);
        if (pixels)
            pixel_picture_free(g, &p);
        else
            plane_picture_free(g, &q);
        base[i] = score[i].score;
        memset(&edit, 0, sizeof edit);
        memset(samples, 90, sizeof samples);
        edit.x = 20;
        edit.y = 9;
        edit.width = edit.height = 16;
        edit.data = samples;
        CHECK_INT(vmafgpu_edit_commit(v[i], &edit, 1, &score[i]), VMAFGPU_OK);
        CHECK(score[i].score < base[i]);
    }
    check_row(score[0].values, score[1].values, vmafgpu_column_count(v[1]));
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
}

void test_pixels(gpu *g) {
    /* clang-format off */
    static const pixel_case cases[] = {
        {{VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA8}, "d", 64, 48, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR,
         0, 0, 2},
        {{VMAFGPU_PIXELS_BGRA8, VMAFGPU_PIXELS_RGB24}, "d", 97, 35, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 7,
         1, 2},
        {{VMAFGPU_PIXELS_RGB10A2, VMAFGPU_PIXELS_RGBA16F}, "d", 67, 41, 10, VMAFGPU_CHROMA_420,
         VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, -12, 4, 0},
        {{VMAFGPU_PIXELS_RGBA16F, VMAFGPU_PIXELS_BGRA8}, "sa", 131, 34, 10, VMAFGPU_CHROMA_422,
         VMAFGPU_LAYOUT_PLANAR, 0, 0, 2},
        {{VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGB10A2}, "s", 65, 37, 8, VMAFGPU_CHROMA_444,
         VMAFGPU_LAYOUT_SEMIPLANAR, 0, 0, 1},
        {{VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA16F}, "hpdsa", 130, 33, 12, VMAFGPU_CHROMA_420,
         VMAFGPU_LAYOUT_PLANAR, 0, 0, 3},
        {{VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGB10A2}, "hp", 66, 36, 10, VMAFGPU_CHROMA_420,
         VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 0, 0, 2},
        {{VMAFGPU_PIXELS_RGB24, VMAFGPU_PIXELS_BGRA8}, "pd", 80, 40, 8, VMAFGPU_CHROMA_420,
         VMAFGPU_LAYOUT_SEMIPLANAR, 4, 0, 2},
        {{VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGB24}, "hdh", 84, 42, 16, VMAFGPU_CHROMA_422,
         VMAFGPU_LAYOUT_SEMIPLANAR, 0, 3, 2},
        {{VMAFGPU_PIXELS_RGBA16F, VMAFGPU_PIXELS_RGB10A2}, "d", 515, 19, 8, VMAFGPU_CHROMA_444,
         VMAFGPU_LAYOUT_PLANAR, 0, 0, 0},
        {{VMAFGPU_PIXELS_RGB8_PLANAR, VMAFGPU_PIXELS_RGB24}, "d", 96, 36, 8, VMAFGPU_CHROMA_420,
         VMAFGPU_LAYOUT_PLANAR, 0, 0, 2},
        {{VMAFGPU_PIXELS_RGB8_PLANAR, VMAFGPU_PIXELS_RGB8_PLANAR}, "dph", 97, 35, 10, VMAFGPU_CHROMA_422,
         VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 7, 1, 2},
        {{VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGB8_PLANAR}, "d", 134, 40, 16, VMAFGPU_CHROMA_444,
         VMAFGPU_LAYOUT_PLANAR, -6, 2, 1},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_pixels(g, &cases[i], (int)i);
    /* clang-format off */
    static const plane_case planes[] = {
        {128, 48, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 's', 0},
        {131, 37, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 'a', 0},
        {97, 35, 10, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 'a', 0},
        {98, 36, 10, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 's', 0},
        {70, 34, 12, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_PLANAR, 's', 0},
        {67, 33, 16, VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR, 's', 0},
        {64, 32, 10, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 's', 1},
        {64, 32, 10, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 's', 2},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof planes / sizeof *planes && g->surface_create; i++)
        check_planes(g, &planes[i]);
    check_planes_refused(g);
    check_pixels_refused(g);
    check_pixels_self_test(g);
    check_pixels_failure(g, 'h');
    check_pixels_failure(g, 's');
    check_pixels_failure(g, 'a');
    check_pixels_base(g, VMAFGPU_PIXELS_RGBA8, 'd');
    for (int pixels = 0; pixels < 2 && g->surface_create; pixels++) {
        check_pixels_base(g, (vmafgpu_pixels)pixels, 's');
        check_pixels_base(g, (vmafgpu_pixels)pixels, 'a');
    }
}
