/* Compares the slopes of samples on the GPU with those of the CPU, bit for bit: all kinds of memory, pitches, sizes and
 * models, pushed pairs with and without config.live, rejected calls and a failing device. test_slopes.c compares those
 * of the CPU with finite differences. */
#include <math.h>
#include "gpu.h"
#include "../slopes.h"

enum { GUARD = 0xa5, PAD = 24 };

typedef struct slopes_case {
    const char *what;
    int width, height, depth;
    const char *model, *options; /* model: a built-in one, or a feature that is the only input of a small model */
    const char *frames;          /* kinds of memory; see storage.kinds */
} slopes_case;

static uint32_t random_state;

static int below(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((uint64_t)(random_state >> 4) * (uint64_t)n >> 28);
}

static vmafgpu_config slopes_config(const gpu *g, const film *f, const slopes_case *c, single *s,
                                    vmafgpu_model_config *model) {
    vmafgpu_config config = gpu_config(g, f);
    memset(model, 0, sizeof *model);
    if (strncmp(c->model, "VMAF_", 5) == 0) {
        make_single(s, c->model, c->options);
        *model = s->config;
    } else {
        model->version = c->model;
        model->options = c->options;
    }
    config.models = model;
    config.model_count = 1;
    config.max_edit_size = 16;
    config.slopes = 1;
    return config;
}

/* Computes slopes into memory of the given kind and compares them with the expected ones. No other byte may change. */
static void check_memory(gpu *g, vmafgpu *v, const slopes_case *c, const float *expected, vmafgpu_memory kind,
                         ptrdiff_t pitch) {
    const ptrdiff_t row = c->width * (ptrdiff_t)sizeof(float), step = pitch ? pitch : row,
                    size = step < 0 ? -step : step;
    const size_t all = (size_t)size * (size_t)c->height + 2 * PAD,
                 first = PAD + (step < 0 ? (size_t)(size * (c->height - 1)) : 0);
    unsigned char *bytes = (unsigned char *)malloc(all), *pinned = NULL;
    uint64_t device = 0;
    void *memory = NULL;
    test_need(bytes != NULL, "out of memory");
    memset(bytes, GUARD, all);
    if (kind == VMAFGPU_MEMORY_PINNED) {
        test_need(g->take_pinned(&memory, all, 0) == 0, "out of pinned memory");
        pinned = (unsigned char *)memory;
        memcpy(pinned, bytes, all);
    }
    if (kind == VMAFGPU_MEMORY_DEVICE) {
        test_need(g->take(&device, all) == 0, "out of device memory");
        CHECK_INT(gpu_write(g, device, bytes, all), 0);
    }
    unsigned char *to = device ? (unsigned char *)(uintptr_t)device : pinned ? pinned : bytes;
    if (!CHECK_INT(vmafgpu_edit_slopes(v, (float *)(void *)(to + first), pitch, kind), VMAFGPU_OK))
        printf("%s %s\n", vmafgpu_last_error(v), g->is_simulated ? g->sim.report() : "");
    if (device) {
        void *stream = NULL;
        CHECK_INT(g->stream_create(&stream, 1), 0);
        CHECK_INT(g->read_later(bytes, device, all, stream), 0);
        CHECK_INT(g->stream_wait(stream), 0);
        CHECK_INT(g->stream_destroy(stream), 0);
        CHECK_INT(g->give(device), 0);
    } else if (pinned) {
        memcpy(bytes, pinned, all);
        CHECK_INT(g->give_pinned(pinned), 0);
    }
    int wrong = 0, x = 0, y = 0;
    for (int i = 0; i < c->height; i++) {
        unsigned char *at = bytes + first + i * step;
        for (int k = 0; k < c->width; k++, at += sizeof(float))
            if (memcmp(at, expected + (size_t)i * (size_t)c->width + k, sizeof(float))) {
                if (!wrong++) {
                    x = k;
                    y = i;
                }
            }
        memset(bytes + first + i * step, GUARD, (size_t)row);
    }
    if (!CHECK_INT(wrong, 0))
        printf("memory %d, pitch %td: first at column %d, row %d\n", (int)kind, pitch, x, y);
    for (size_t i = 0; i < all; i++)
        if (bytes[i] != GUARD) {
            CHECK(!"a byte outside of the rows has changed");
            break;
        }
    free(bytes);
}

static void check_slopes(gpu *g, const slopes_case *c, uint32_t seed) {
    film f = film_make(c->what, c->width, c->height, c->depth, 1, seed);
    vmafgpu_model_config model;
    single small;
    vmafgpu_config config = slopes_config(g, &f, c, &small, &model);
    reel r = reel_of_kinds(g, &f, c->frames), plain = reel_of_kinds(g, &f, "h");
    const size_t samples = (size_t)c->width * (size_t)c->height;
    const ptrdiff_t row = c->width * (ptrdiff_t)sizeof(float);
    float *expected = (float *)malloc(sizeof *expected * samples);
    unsigned char patch[2 * 16 * 16];
    vmafgpu_edit edit;
    vmafgpu *v[2];
    test_need(expected != NULL, "out of memory");
    random_state = seed;
    where("slopes of %s %dx%d %d bits %s%s%s", c->what, c->width, c->height, c->depth, c->model, c->options ? ":" : "",
          c->options ? c->options : "");
    config.gpu.frame_memory = reel_frame(&r, 0, 0)->memory;
    v[0] = open_checked(&config);
    check_on_gpu(g, v[0]);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.gpu.frame_memory = VMAFGPU_MEMORY_HOST;
    v[1] = open_checked(&config);
    const int is_same = below(5) == 0;
    for (int k = 0; k < 2; k++) {
        const reel *frames = k ? &plain : &r;
        CHECK_INT(vmafgpu_edit_begin(v[k], reel_frame(frames, 0, 0), is_same ? NULL : reel_frame(frames, 0, 1), NULL,
                                     NULL, NULL),
                  VMAFGPU_OK);
    }
    for (int turn = 0; turn < 2; turn++) {
        const ptrdiff_t pitches[] = { 0, row + 4, row + 16 * (1 + below(5)), -row, -row - 4 * below(9) };
        CHECK_INT(vmafgpu_edit_slopes(v[1], expected, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        check_memory(g, v[0], c, expected, VMAFGPU_MEMORY_DEVICE, turn ? pitches[below(5)] : 0);
        check_memory(g, v[0], c, expected, VMAFGPU_MEMORY_HOST, pitches[below(5)]);
        check_memory(g, v[0], c, expected, VMAFGPU_MEMORY_PINNED, pitches[below(5)]);
        check_memory(g, v[0], c, expected, VMAFGPU_MEMORY_DEVICE, pitches[below(5)]);
        if (turn)
            continue;
        memset(&edit, 0, sizeof edit);
        edit.width = c->width < 16 ? c->width : 1 + below(16);
        edit.height = c->height < 16 ? c->height : 1 + below(16);
        edit.x = below(c->width - edit.width + 1);
        edit.y = below(c->height - edit.height + 1);
        edit.data = patch;
        for (int i = 0; i < (int)sizeof patch; i++)
            patch[i] = (unsigned char)(c->depth > 8 && i % 2 ? below(1 << (c->depth - 8)) : below(256));
        for (int k = 0; k < 2; k++)
            CHECK_INT(vmafgpu_edit_commit(v[k], &edit, 1, NULL), VMAFGPU_OK);
    }
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
    free(expected);
    reel_free(g, &r);
    reel_free(g, &plain);
    film_free(&f);
}

/* Compares the slopes of fixed pictures with the hash that test_slopes.c checks on the CPU. */
static void check_golden(gpu *g) {
    uint64_t hash = HASH_BEGIN;
    where("golden slopes");
    for (int i = 0; i < GOLDEN_SLOPES; i++) {
        const golden_slopes *c = &golden_slopes_cases[i];
        pair p = make_pair(c->w, c->h, c->depth, c->kind, i);
        const int count = p.w * p.h;
        float *slopes = (float *)calloc((size_t)count, sizeof *slopes);
        vmafgpu_frame frames[2];
        vmafgpu_model_config model;
        vmafgpu_config config = VMAFGPU_INIT;
        test_need(slopes != NULL, "out of memory");
        memset(&model, 0, sizeof model);
        model.version = c->model;
        config.width = p.w;
        config.height = p.h;
        config.bit_depth = p.depth;
        config.bytes_per_sample = 2;
        config.chroma = VMAFGPU_CHROMA_400;
        config.models = &model;
        config.model_count = 1;
        config.max_edit_size = 16;
        config.slopes = 1;
        config.backend = g->vendor->backend;
        config.gpu.driver_path = g->driver_path;
        config.gpu.kernels_path = g->kernels_path;
        config.gpu.skip_self_test = g->is_slow;
        vmafgpu *v = open_checked(&config);
        memset(frames, 0, sizeof frames);
        for (int k = 0; k < 2; k++)
            frames[k].data[0] = p.side[k];
        CHECK_INT(vmafgpu_edit_begin(v, &frames[0], &frames[1], NULL, NULL, NULL), VMAFGPU_OK);
        check_on_gpu(g, v);
        CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        vmafgpu_close(v);
        hash = hash_floats(slopes, count, hash);
        free(slopes);
        free_pair(&p);
    }
    if (!CHECK(hash == GOLDEN_SLOPES_HASH))
        printf("the hash is %016" PRIx64 "\n", hash);
}

static void check_random(gpu *g, int count) {
    static const char *const contents[] = { "texture+mix", "noise+grain",     "texture+blur", "blocks+mix",
                                            "lines+grain", "texture+stretch", "flat+grain",   "black+faint" };
    static const struct {
        const char *model, *options;
    } models[] = {
        { "vmaf_v0.6.1", NULL },
        { "vmaf_v0.6.1neg", NULL },
        { "vmaf_4k_v0.6.1", NULL },
        { "vmaf_b_v0.6.3", NULL },
        { "vmaf_v0.6.1", "vif.vif_enhn_gain_limit=1.2:adm.adm_enhn_gain_limit=1.3" },
        { "vmaf_v0.6.1", "vif.vif_skip_scale0=true:adm.adm_skip_scale0=true:adm.adm_noise_weight=0" },
        { "vmaf_v0.6.1", "adm.adm_csf_mode=2" },
        { "VMAF_integer_feature_adm3_score", NULL },
        { "VMAF_integer_feature_aim_score", NULL },
        { "VMAF_integer_feature_vif_scale2_score", NULL },
        { "VMAF_integer_feature_motion2_score", NULL },
    };
    static const char *const kinds[] = { "h", "p", "d" };
    for (int i = 0; i < count; i++) {
        slopes_case c;
        random_state = (uint32_t)i * 7919u + 1;
        const int which = below((int)(sizeof models / sizeof *models)), is_tiny = below(4) == 0;
        c.what = contents[below((int)(sizeof contents / sizeof *contents))];
        c.width = 16 + below(is_tiny ? 20 : 250);
        c.height = 16 + below(is_tiny ? 20 : i % 4 ? 110 : 170);
        c.depth = below(2) ? 8 : 8 + below(9);
        c.model = models[which].model;
        c.options = models[which].options;
        c.frames = kinds[below(3)];
        check_slopes(g, &c, (uint32_t)i + 100);
    }
}

static void check_refused(gpu *g) {
    const slopes_case c = { "texture+mix", 100, 70, 10, "vmaf_v0.6.1", NULL, "h" };
    film f = film_make(c.what, c.width, c.height, c.depth, 1, 3);
    vmafgpu_model_config model;
    single small;
    vmafgpu_config config = slopes_config(g, &f, &c, &small, &model);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    float *slopes = (float *)malloc(sizeof(float) * 100 * 70);
    uint64_t device = 0;
    test_need(slopes && g->take(&device, 100 * 70 * sizeof(float)) == 0, "out of memory");
    float *on_device = (float *)(uintptr_t)device;
    where("rejected slopes");
    vmafgpu *v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, NULL, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_SURFACE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "memory is invalid");
    CHECK_HAS(vmafgpu_last_error(v), "use host, pinned or device");
    CHECK_INT(vmafgpu_edit_slopes(v, (float *)(uintptr_t)(device + 2), 0, VMAFGPU_MEMORY_DEVICE),
              VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_slopes(v, on_device, 396, VMAFGPU_MEMORY_DEVICE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_slopes(v, on_device, 402, VMAFGPU_MEMORY_DEVICE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_slopes(v, on_device, 400, VMAFGPU_MEMORY_DEVICE), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    if (g->is_simulated) { /* the device fails */
        g->sim.fail(g->is_hip ? "hipModuleLaunchKernel" : "cuLaunchKernel", 3, 700);
        CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_DEVICE);
        CHECK_HAS(vmafgpu_last_error(v), " failed (700, ");
        CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
        CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_ERROR_DEVICE);
    }
    vmafgpu_close(v);
    config.slopes = 0;
    v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
    vmafgpu_close(v);
    CHECK_INT(g->give(device), 0);
    free(slopes);
    film_free(&f);
}

/* ---- slopes of live pairs ---- */

enum { PAIRS = 5, KINDS = 3 };

/* Compares the slopes of live pairs with those of the CPU, in every kind of memory. Every fourth pair has none. Every
 * second one also has a map, if block is not 0. */
static void check_pairs(gpu *g, const slopes_case *c, uint32_t seed, int block, void *stream) {
    film f = film_make(c->what, c->width, c->height, c->depth, PAIRS, seed);
    vmafgpu_model_config model;
    single small;
    vmafgpu_config config = slopes_config(g, &f, c, &small, &model);
    reel r = reel_of_kinds(g, &f, c->frames);
    const size_t samples = (size_t)c->width * (size_t)c->height, size = samples * sizeof(float);
    float *slopes[PAIRS], *expected = (float *)malloc(size), maps[2][PAIRS][1024];
    void *pinned[PAIRS];
    uint64_t device[PAIRS];
    vmafgpu *v[2];
    test_need(expected != NULL, "out of memory");
    memset(maps, 0, sizeof maps);
    config.max_edit_size = 0;
    config.live = 1;
    config.map_block_size = block;
    config.gpu.queue_depth = 3;
    config.gpu.stream = stream;
    config.gpu.frame_memory = reel_frame(&r, 0, 0)->memory;
    where("slopes of pairs of %s %dx%d %d bits %s, maps of %d", c->what, c->width, c->height, c->depth, c->model,
          block);
    v[0] = open_checked(&config);
    check_on_gpu(g, v[0]);
    config.backend = VMAFGPU_BACKEND_CPU;
    memset(&config.gpu, 0, sizeof config.gpu);
    v[1] = open_checked(&config);
    for (int i = 0; i < PAIRS; i++) {
        const vmafgpu_memory kind = i % KINDS == 0   ? VMAFGPU_MEMORY_DEVICE
                                    : i % KINDS == 1 ? VMAFGPU_MEMORY_HOST
                                                     : VMAFGPU_MEMORY_PINNED;
        slopes[i] = (float *)malloc(size);
        test_need(slopes[i] && g->take(&device[i], size) == 0 && g->take_pinned(&pinned[i], size, 0) == 0,
                  "out of memory");
        for (size_t k = 0; k < samples; k++)
            slopes[i][k] = -7;
        memcpy(pinned[i], slopes[i], size);
        CHECK_INT(gpu_write(g, device[i], slopes[i], size), 0);
        if (block && i % 2)
            CHECK_INT(vmafgpu_request_map(v[0], maps[0][i], VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_slopes_next(v[0],
                                      kind == VMAFGPU_MEMORY_DEVICE   ? (float *)(uintptr_t)device[i]
                                      : kind == VMAFGPU_MEMORY_PINNED ? (float *)pinned[i]
                                                                      : slopes[i],
                                      0, kind),
                  VMAFGPU_OK);
        if (i % 4 == 3) /* cancelled */
            CHECK_INT(vmafgpu_slopes_next(v[0], NULL, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v[0], reel_frame(&r, i, 0), reel_frame(&r, i, 1)), VMAFGPU_OK);
        if (kind == VMAFGPU_MEMORY_DEVICE) { /* the slopes are read in stream order */
            CHECK_INT(vmafgpu_stream_wait(v[0], stream, -1), VMAFGPU_OK);
            CHECK_INT(g->read_later(slopes[i], device[i], size, stream), 0);
        }
    }
    CHECK_INT(vmafgpu_flush(v[0]), VMAFGPU_OK);
    CHECK_INT(g->stream_wait(stream), 0);
    for (int i = 0; i < PAIRS; i++) {
        const vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
        const float *got = i % KINDS == 2 ? (const float *)pinned[i] : slopes[i];
        vmafgpu_score score[2];
        int wrong = 0;
        if (block && i % 2)
            CHECK_INT(vmafgpu_request_map(v[1], maps[1][i], VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_slopes_next(v[1], expected, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v[1], &reference, &distorted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(v[0], &score[0]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(v[1], &score[1]), VMAFGPU_OK);
        check_row(score[0].values, score[1].values, vmafgpu_column_count(v[0]));
        for (size_t k = 0; k < samples; k++) {
            const float right = i % 4 == 3 ? -7 : expected[k];
            wrong += memcmp(&got[k], &right, sizeof right) != 0;
        }
        CHECK_INT(wrong, 0);
        free(slopes[i]);
        CHECK_INT(g->give(device[i]), 0);
        CHECK_INT(g->give_pinned(pinned[i]), 0);
    }
    CHECK(memcmp(maps[0], maps[1], sizeof maps[0]) == 0);
    check_on_gpu(g, v[0]);
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
    free(expected);
    reel_free(g, &r);
    film_free(&f);
}

/* Checks that slopes in flight become NaN if the GPU fails, and that later requests fail. */
static void check_pairs_lost(gpu *g) {
    enum { WIDTH = 64, HEIGHT = 48, PITCH = WIDTH + 3 };
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, 2, 1);
    vmafgpu_config config = gpu_config(g, &f);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    static float slopes[HEIGHT][PITCH];
    where("slopes of pairs, lost GPU");
    config.slopes = 1;
    config.live = 1;
    vmafgpu *v = open_checked(&config);
    check_on_gpu(g, v);
    memset(slopes, 0, sizeof slopes);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], PITCH * 4 - 1, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], PITCH * 4, VMAFGPU_MEMORY_SURFACE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], PITCH * 4, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    gpu_lose(g);
    CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    int known = 0, changed = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < PITCH; x++) {
            known += x < WIDTH && slopes[y][x] == slopes[y][x];
            changed += x >= WIDTH && slopes[y][x] != 0;
        }
    CHECK_INT(known, 0);
    CHECK_INT(changed, 0);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_DEVICE);
    vmafgpu_close(v);
    film_free(&f);
}

/* ---- slopes of random clips, with and without config.live ---- */

enum { MOST_PAIRS = 7, MOST_LENT = MOST_PAIRS, MOST_REFUSALS = 1000000, UNTOUCHED = -7 };

/* A model whose slopes depend on two motion columns. */
typedef struct mixed {
    single simple;
    int lag; /* number of later references on which the motion columns depend */
} mixed;

static void make_mixed(mixed *m) {
    static const struct {
        const char *name, *options;
        int lag;
    } motions[] = {
        { "integer_motion2", "", 1 },
        { "integer_motion3", "", 1 },
        { "VMAF_integer_feature_motion_sad_score", "", 1 },
        { "integer_motion2", "motion_five_frame_window=true", 2 },
        { "integer_motion3", "motion_five_frame_window=true", 2 },
        { "VMAF_integer_feature_motion_sad_score", "motion_five_frame_window=true", 2 },
        { "integer_motion2", "motion_fps_weight=2.5:motion_max_val=6", 1 },
        { "integer_motion3", "motion_blend_factor=0.4:motion_blend_offset=2", 1 },
        { "integer_motion3", "motion_five_frame_window=true:motion_blend_factor=0.4:motion_blend_offset=2", 2 },
        { "integer_motion3", "motion_force_zero=true", 0 },
    };
    memset(m, 0, sizeof *m);
    m->simple.names[0] = "integer_vif_scale1";
    m->simple.names[1] = "integer_adm2";
    m->simple.options[0] = m->simple.options[1] = "";
    for (int i = 0; i < 2; i++) {
        const int which = below((int)(sizeof motions / sizeof *motions));
        m->simple.names[2 + i] = motions[which].name;
        m->simple.options[2 + i] = motions[which].options;
        m->lag = motions[which].lag > m->lag ? motions[which].lag : m->lag;
    }
    for (int i = 0; i < 5; i++)
        m->simple.slopes[i] = i < 3 ? 1 : 0.07;
    m->simple.table[0] = 0.3;
    m->simple.svm.rescale = 1;
    complete_single(&m->simple, "mixed", 4);
}

/* Memory for the slopes of a pair. */
typedef struct plane {
    vmafgpu_memory kind;
    float *host; /* the memory itself if it is pageable, otherwise a copy */
    void *pinned;
    uint64_t device;
    int is_wanted, is_early; /* is_early: device memory was copied to `host` in stream order, after a push */
} plane;

typedef struct batches {
    gpu *g;
    const film *f;
    vmafgpu_config config;
    vmafgpu *v, *cpu;
    reel plain; /* the frames, in pageable memory */
    int before, pairs, after, lag;
    size_t samples, pitch; /* pitch: floats */
    plane planes[MOST_PAIRS], cancelled[MOST_PAIRS];
    float *expected[MOST_PAIRS];
    double *rows; /* expected scores */
    int delivered;
    void *stream;
} batches;

static size_t plane_count(const batches *b) {
    return b->pitch * (size_t)b->config.height;
}

static float *plane_address(const plane *p) {
    return p->pinned ? (float *)p->pinned : p->device ? (float *)(uintptr_t)p->device : p->host;
}

/* Fills the memory of all planes with UNTOUCHED. */
static void clear_planes(batches *b) {
    for (int i = 0; i < b->pairs; i++) {
        plane *p = &b->planes[i];
        for (size_t k = 0; k < plane_count(b); k++)
            p->host[k] = UNTOUCHED;
        if (p->pinned)
            memcpy(p->pinned, p->host, plane_count(b) * sizeof(float));
        if (p->device)
            CHECK_INT(gpu_write(b->g, p->device, p->host, plane_count(b) * sizeof(float)), 0);
        p->is_wanted = p->is_early = 0;
    }
}

static void exchange_planes(batches *b) {
    for (int i = 0; i < b->pairs; i++) {
        const plane first = b->planes[i];
        b->planes[i] = b->cancelled[i];
        b->cancelled[i] = first;
    }
}

static void make_planes(batches *b) {
    const size_t size = plane_count(b) * sizeof(float);
    for (int i = 0; i < b->pairs; i++) {
        plane *p = &b->planes[i];
        memset(p, 0, sizeof *p);
        p->kind = (vmafgpu_memory)below(KINDS);
        p->host = (float *)malloc(size);
        test_need(p->host != NULL, "out of memory");
        if (p->kind == VMAFGPU_MEMORY_PINNED)
            test_need(b->g->take_pinned(&p->pinned, size, 0) == 0, "out of pinned memory");
        if (p->kind == VMAFGPU_MEMORY_DEVICE)
            test_need(b->g->take(&p->device, size) == 0, "out of device memory");
    }
}

static void free_planes(batches *b) {
    for (int i = 0; i < b->pairs; i++) {
        plane *p = &b->planes[i];
        if (p->pinned)
            CHECK_INT(b->g->give_pinned(p->pinned), 0);
        if (p->device)
            CHECK_INT(b->g->give(p->device), 0);
        free(p->host);
    }
}

/* Starts to copy a plane from device memory to `host`. */
static void read_plane(const batches *b, const plane *p) {
    if (p->device)
        CHECK_INT(b->g->read_later(p->host, p->device, plane_count(b) * sizeof(float), b->stream), 0);
}

static void check_plane(const batches *b, int i) {
    const plane *p = &b->planes[i];
    int wrong = 0;
    if (p->pinned)
        memcpy(p->host, p->pinned, plane_count(b) * sizeof(float));
    for (size_t k = 0; k < plane_count(b); k++) {
        const size_t x = k % b->pitch, y = k / b->pitch, w = (size_t)b->config.width;
        const float right = p->is_wanted && x < w ? b->expected[i][y * w + x] : UNTOUCHED;
        wrong += memcmp(&p->host[k], &right, sizeof right) != 0;
    }
    if (!CHECK_INT(wrong, 0))
        printf("pair %d of %d, memory %d, requested %d\n", i, b->pairs, (int)p->kind, p->is_wanted);
}

/* Receives the scores that are ready, and checks the slopes of their pairs. */
static void deliver(batches *b) {
    const int step = b->config.subsample ? b->config.subsample : 1, columns = vmafgpu_column_count(b->v);
    vmafgpu_score score;
    while (vmafgpu_next_score(b->v, &score) == VMAFGPU_OK) {
        const int i = b->delivered * step;
        CHECK_INT(score.index, i);
        check_row(score.values, b->rows + (ptrdiff_t)b->delivered++ * columns, columns);
        if (b->planes[i].device && !b->planes[i].is_early) {
            CHECK_INT(vmafgpu_stream_wait(b->v, b->stream, i + 1), VMAFGPU_OK);
            read_plane(b, &b->planes[i]);
            CHECK_INT(b->g->stream_wait(b->stream), 0);
        }
        if (!b->planes[i].is_early)
            check_plane(b, i);
    }
}

/* Computes the expected slopes and scores of all pairs on the CPU. */
static void expect(batches *b) {
    const int step = b->config.subsample ? b->config.subsample : 1, columns = vmafgpu_column_count(b->cpu);
    for (int i = 0; i < b->before; i++)
        CHECK_INT(vmafgpu_push_preceding(b->cpu, reel_frame(&b->plain, i, 0)), VMAFGPU_OK);
    for (int i = 0; i < b->pairs; i++) {
        if (i % step == 0)
            CHECK_INT(vmafgpu_slopes_next(b->cpu, b->expected[i], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(reel_push(&b->plain, b->cpu, b->before + i), VMAFGPU_OK);
    }
    for (int i = 0; i < b->after; i++)
        CHECK_INT(vmafgpu_push_following(b->cpu, reel_frame(&b->plain, b->before + b->pairs + i, 0)), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(b->cpu), VMAFGPU_OK);
    b->rows = (double *)malloc(sizeof(double) * (size_t)(b->pairs * columns));
    test_need(b->rows != NULL, "out of memory");
    for (int i = 0; i < b->pairs; i += step) {
        vmafgpu_score score;
        CHECK_INT(vmafgpu_score_at(b->cpu, i, &score), VMAFGPU_OK);
        memcpy(b->rows + (ptrdiff_t)(i / step) * columns, score.values, sizeof(double) * (size_t)columns);
    }
}

/* Makes calls that are not part of the clip and must not change its slopes. `acquired` is the number of acquired pairs
 * that have not been pushed. */
static void disturb(batches *b, int acquired) {
    const int i = below(b->before + b->pairs);
    const vmafgpu_frame *reference = reel_frame(&b->plain, i, 0), *distorted = reel_frame(&b->plain, i, 1);
    if (b->config.gpu.frame_memory != VMAFGPU_MEMORY_HOST)
        return;
    if (below(4) == 0) {
        vmafgpu_score score[2];
        const vmafgpu_result result = vmafgpu_score_pair(b->v, reference, distorted, NULL, &score[0]);
        if (result == VMAFGPU_ERROR_STATE && acquired)
            return; /* all buffers are acquired */
        CHECK_INT(result, VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_pair(b->cpu, reference, distorted, NULL, &score[1]), VMAFGPU_OK);
        check_row(score[0].values, score[1].values, vmafgpu_column_count(b->v));
    }
    if (b->config.max_edit_size && !acquired && below(3) == 0) {
        float *slopes[2];
        for (int k = 0; k < 2; k++) {
            vmafgpu *v = k ? b->cpu : b->v;
            slopes[k] = (float *)malloc(b->samples * sizeof(float));
            test_need(slopes[k] != NULL, "out of memory");
            CHECK_INT(vmafgpu_edit_begin(v, reference, distorted, NULL, NULL, NULL), VMAFGPU_OK);
            CHECK_INT(vmafgpu_edit_slopes(v, slopes[k], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        }
        CHECK(memcmp(slopes[0], slopes[1], b->samples * sizeof(float)) == 0);
        free(slopes[0]);
        free(slopes[1]);
    }
}

/* Requests the slopes of a pair, or no slopes. */
static void request(batches *b, int i) {
    plane *p = &b->planes[i];
    const ptrdiff_t pitch = (ptrdiff_t)(b->pitch * sizeof(float));
    p->is_wanted = below(4) > 0;
    if (below(4) == 0) /* replaced or cancelled */
        CHECK_INT(vmafgpu_slopes_next(b->v, plane_address(&b->planes[below(b->pairs)]), pitch, VMAFGPU_MEMORY_HOST),
                  VMAFGPU_OK);
    else if (!p->is_wanted)
        return;
    CHECK_INT(vmafgpu_slopes_next(b->v, p->is_wanted ? plane_address(p) : NULL, pitch, p->kind), VMAFGPU_OK);
}

/* Copies a frame of the plain reel to an acquired one. */
static void fill_acquired(const batches *b, const vmafgpu_frame *from, const vmafgpu_frame *to) {
    const size_t row = (size_t)b->config.width * (size_t)b->f->bytes_per_sample;
    for (int y = 0; y < b->config.height; y++)
        memcpy((unsigned char *)(uintptr_t)to->data[0] + y * to->pitch[0],
               (const unsigned char *)from->data[0] + (size_t)y * row, row);
}

/* Waits until the frames of all pushed pairs are reusable, then overwrites the frames of the last pair. */
static void overwrite(const batches *b, const reel *r, int frame) {
    if (below(2)) {
        CHECK_INT(vmafgpu_wait(b->v, -1), VMAFGPU_OK);
    } else {
        CHECK_INT(vmafgpu_stream_wait(b->v, b->stream, -1), VMAFGPU_OK);
        CHECK_INT(b->g->stream_wait(b->stream), 0);
        if (reel_frame(r, frame, 0)->memory == VMAFGPU_MEMORY_PINNED)
            return; /* waiting for the stream does not make pinned references reusable */
    }
    for (int k = 0; k < 2; k++)
        picture_spoil(b->g, &r->pictures[2 * frame + k]);
}

/* Pushes the first pairs of the clip. If these are all pairs, ends the clip and checks all slopes. */
static void push_clip(batches *b, const reel *r, int pairs) {
    const int step = b->config.subsample ? b->config.subsample : 1;
    vmafgpu_frame lent[MOST_LENT][2];
    int lent_count = 0, next_lent = 0;
    b->delivered = 0;
    for (int i = 0; i < b->before; i++)
        CHECK_INT(vmafgpu_push_preceding(b->v, reel_frame(r, i, 0)), VMAFGPU_OK);
    for (int i = 0; i < pairs; i++) {
        const int frame = b->before + i;
        const vmafgpu_frame *pair[2] = { reel_frame(r, frame, 0), reel_frame(r, frame, 1) };
        if (lent_count == next_lent && !b->f->chroma && pair[0]->memory == VMAFGPU_MEMORY_HOST && below(3) == 0) {
            const int most = 1 + below(MOST_LENT);
            lent_count = next_lent = 0;
            while (lent_count < most && i + lent_count < pairs) {
                vmafgpu_frame *to = lent[lent_count];
                const vmafgpu_result result = vmafgpu_acquire_pair(b->v, &to[0], &to[1]);
                if (result != VMAFGPU_OK) {
                    CHECK_INT(result, VMAFGPU_AGAIN);
                    break;
                }
                for (int k = 0; k < 2; k++)
                    fill_acquired(b, reel_frame(&b->plain, frame + lent_count, k), &to[k]);
                lent_count++;
            }
            CHECK(lent_count > 0);
        }
        disturb(b, lent_count - next_lent);
        if (i % step == 0)
            request(b, i);
        const int is_lent = next_lent < lent_count;
        for (int k = 0; k < 2 && is_lent; k++)
            pair[k] = &lent[next_lent][k];
        next_lent += is_lent;
        vmafgpu_result result = VMAFGPU_AGAIN;
        int refusals = 0;
        for (const int way = below(3); result == VMAFGPU_AGAIN;) {
            result = way == 0   ? vmafgpu_try_push(b->v, pair[0], pair[1])
                     : way == 1 ? vmafgpu_push_many(&b->v, 1, pair[0], pair[1], NULL)
                                : vmafgpu_push(b->v, pair[0], pair[1]);
            if (result == VMAFGPU_AGAIN && (way || refusals++ >= MOST_REFUSALS))
                CHECK_INT(vmafgpu_wait(b->v, -1), VMAFGPU_OK);
        }
        CHECK_INT(result, VMAFGPU_OK);
        CHECK(refusals < MOST_REFUSALS); /* a push must succeed without a wait */
        if (!is_lent && below(3) == 0)
            overwrite(b, r, frame);
        /* Slopes in device memory can be read in stream order as soon as their motion is known. */
        for (int k = 0; k <= i; k++) {
            const int needed = b->before + k < b->lag ? b->lag : b->before + k + (b->lag > 0);
            plane *p = &b->planes[k];
            if (!p->is_wanted || p->is_early || !p->device || needed > frame || below(2))
                continue;
            CHECK_INT(vmafgpu_stream_wait(b->v, b->stream, below(2) ? -1 : k + 1), VMAFGPU_OK);
            read_plane(b, p);
            p->is_early = 1;
        }
        if (below(2))
            deliver(b);
    }
    if (pairs < b->pairs)
        return;
    for (int i = 0; i < b->after; i++)
        CHECK_INT(vmafgpu_push_following(b->v, reel_frame(r, b->before + b->pairs + i, 0)), VMAFGPU_OK);
    if (below(2))
        deliver(b);
    if (below(3) == 0)
        disturb(b, 0);
    CHECK_INT(vmafgpu_flush(b->v), VMAFGPU_OK);
    deliver(b);
    CHECK_INT(b->delivered, (b->pairs + step - 1) / step);
    CHECK_INT(b->g->stream_wait(b->stream), 0);
    for (int i = 0; i < b->pairs; i++) {
        plane *p = &b->planes[i];
        if (p->device && !p->is_early) {
            read_plane(b, p);
            CHECK_INT(b->g->stream_wait(b->stream), 0);
        }
        check_plane(b, i);
    }
}

/* Pushes a random clip and compares slopes and scores with those of the CPU. */
static void check_batches(gpu *g, uint32_t seed) {
    static const char *const contents[] = { "texture+mix", "noise+grain", "lines+grain", "texture+blur" };
    static const char *const kinds[] = { "h", "p", "d" };
    static const char *const models[] = { "vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1", "vmaf_b_v0.6.3" };
    batches b;
    vmafgpu_model_config model;
    mixed own;
    memset(&b, 0, sizeof b);
    memset(&model, 0, sizeof model);
    random_state = seed * 7919u + 5;
    (void)below(2);
    b.g = g;
    b.before = below(2) ? 0 : below(4);
    b.pairs = 1 + below(MOST_PAIRS);
    b.after = below(2) ? 0 : below(3);
    const int is_small = below(3) > 0, depth = below(2) ? 8 : 8 + below(9);
    const int width = 16 + below(is_small ? 46 : 166);
    film f = film_make(contents[below(4)], below(2) ? width : width & ~15 /* can be read in place */,
                       16 + below(is_small ? 30 : 90), depth, b.before + b.pairs + b.after, seed);
    const char *kind = kinds[below(3)];
    b.f = &f;
    b.config = gpu_config(g, &f);
    make_mixed(&own);
    if (below(3) == 0) {
        model.version = models[below(4)];
        own.lag = 1;
    }
    b.config.models = model.version ? &model : &own.simple.config;
    b.config.model_count = 1;
    b.config.slopes = 1 + below(2);
    b.config.live = below(5) == 0;
    b.config.max_edit_size = below(3) ? 0 : 8;
    b.config.subsample = below(4) ? 1 : 2 + below(2);
    b.config.gpu.queue_depth = below(6);
    b.config.gpu.batch = below(2) ? 0 : 1 + below(5);
    b.lag = b.config.live ? 0 : own.lag;
    b.samples = (size_t)b.config.width * (size_t)b.config.height;
    b.pitch = (size_t)b.config.width + (size_t)(below(2) * below(5));
    where("slopes in batches, seed %u: %dx%d, %d bits, frames %s, %s, lag %d, live %d, %d + %d + %d frames, subsample "
          "%d, queue %d, edits %d",
          (unsigned)seed, b.config.width, b.config.height, depth, kind, model.version ? model.version : "own model",
          b.lag, b.config.live, b.before, b.pairs, b.after, b.config.subsample, b.config.gpu.queue_depth,
          b.config.max_edit_size);
    CHECK_INT(g->stream_create(&b.stream, 1), 0);
    b.plain = reel_of_kinds(g, &f, "h");
    make_planes(&b);
    exchange_planes(&b);
    make_planes(&b);
    for (int i = 0; i < b.pairs; i++) {
        b.expected[i] = (float *)malloc(b.samples * sizeof(float));
        test_need(b.expected[i] != NULL, "out of memory");
    }
    b.config.gpu.stream = below(2) ? b.stream : NULL;
    if (kind[0] == 'd' && below(2)) /* then disturb() makes no calls, because its frames are in pageable memory */
        b.config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    b.v = open_checked(&b.config);
    check_on_gpu(g, b.v);
    vmafgpu_config plain = b.config;
    plain.backend = VMAFGPU_BACKEND_CPU;
    memset(&plain.gpu, 0, sizeof plain.gpu);
    b.cpu = open_checked(&plain);
    expect(&b);
    const int is_reset = below(2);
    if (is_reset) { /* slopes that are requested before the reset must not be written after the reset */
        reel r = reel_of_kinds(g, &f, kind);
        clear_planes(&b);
        push_clip(&b, &r, 1 + below(b.pairs));
        CHECK_INT(vmafgpu_reset(b.v), VMAFGPU_OK);
        CHECK_INT(g->stream_wait(b.stream), 0);
        clear_planes(&b);
        reel_free(g, &r);
        exchange_planes(&b);
    }
    reel r = reel_of_kinds(g, &f, kind);
    clear_planes(&b);
    push_clip(&b, &r, b.pairs);
    reel_free(g, &r);
    if (is_reset) {
        exchange_planes(&b);
        for (int i = 0; i < b.pairs; i++) {
            read_plane(&b, &b.planes[i]);
            CHECK_INT(g->stream_wait(b.stream), 0);
            check_plane(&b, i);
        }
    }
    check_on_gpu(g, b.v);
    vmafgpu_close(b.v);
    vmafgpu_close(b.cpu);
    CHECK_INT(g->stream_destroy(b.stream), 0);
    free_planes(&b);
    exchange_planes(&b);
    free_planes(&b);
    for (int i = 0; i < b.pairs; i++)
        free(b.expected[i]);
    free(b.rows);
    reel_free(g, &b.plain);
    film_free(&f);
}

/* When the GPU fails: in the last push, in the flush, or while a wait or a wait of a stream launches the slopes of the
 * pairs whose motion is known. */
typedef enum loss { LOST_IN_PUSH, LOST_IN_FLUSH, LOST_IN_WAIT, LOST_IN_STREAM_WAIT } loss;

/* Checks that slopes that wait for motion become NaN if the GPU fails, that the slopes of earlier pairs do not, and
 * that all pairs get scores. */
static void check_waiting_lost(gpu *g, loss when) {
    enum { WIDTH = 64, HEIGHT = 48, SIZE = WIDTH * HEIGHT };
    static const char *const names[] = { "push", "flush", "wait", "wait of a stream" };
    const int is_batch = when >= LOST_IN_WAIT;
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, 3, 1);
    vmafgpu_config config = gpu_config(g, &f);
    static float slopes[3][SIZE];
    void *stream = NULL;
    int unknown[3] = { 0, 0, 0 };
    where("slopes that wait for motion, lost GPU, %s", names[when]);
    config.slopes = 1;
    config.gpu.batch = is_batch ? 3 : 0;
    CHECK_INT(g->stream_create(&stream, 1), 0);
    vmafgpu *v = open_checked(&config);
    check_on_gpu(g, v);
    memset(slopes, 0, sizeof slopes);
    for (int i = 0; i < 3; i++) {
        const vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
        CHECK_INT(vmafgpu_slopes_next(v, slopes[i], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        if (i == 2 && !is_batch)
            CHECK_INT(vmafgpu_wait(v, -1), VMAFGPU_OK);
        if (i == 2 && when == LOST_IN_PUSH)
            gpu_lose(g);
        CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
    }
    if (when == LOST_IN_FLUSH)
        CHECK_INT(vmafgpu_wait(v, -1), VMAFGPU_OK);
    if (when != LOST_IN_PUSH)
        gpu_lose(g);
    if (is_batch)
        (void)(when == LOST_IN_WAIT ? vmafgpu_wait(v, -1) : vmafgpu_stream_wait(v, stream, -1));
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_count(v), 3);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < SIZE; k++)
            unknown[i] += slopes[i][k] != slopes[i][k];
    CHECK_INT(unknown[0], is_batch ? SIZE : 0);
    CHECK_INT(unknown[1], when == LOST_IN_FLUSH ? 0 : SIZE);
    CHECK_INT(unknown[2], SIZE);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_DEVICE);
    vmafgpu_close(v);
    (void)g->stream_destroy(stream); /* the device has failed */
    film_free(&f);
}

/* Checks that vmafgpu_try_push() accepts pairs without a wait if the slopes of the first pair depend on the motion of
 * two later references. */
static void check_try_push(gpu *g) {
    enum { WIDTH = 64, HEIGHT = 48, PAIRS = 6 };
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, PAIRS, 1);
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu_model_config model;
    static float slopes[PAIRS][WIDTH * HEIGHT];
    memset(&model, 0, sizeof model);
    model.version = "vmaf_v0.6.1";
    model.options = "motion.motion_five_frame_window=true";
    config.models = &model;
    config.model_count = 1;
    config.slopes = 1;
    for (int queue = 0; queue <= 5; queue++) {
        int refusals = 0;
        where("slopes of pairs that are pushed without a wait, queue %d", queue);
        config.gpu.batch = 1;
        config.gpu.queue_depth = queue;
        vmafgpu *v = open_checked(&config);
        check_on_gpu(g, v);
        for (int i = 0; i < PAIRS && refusals < MOST_REFUSALS; i++) {
            const vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
            vmafgpu_result result;
            CHECK_INT(vmafgpu_slopes_next(v, slopes[i], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
            while ((result = vmafgpu_try_push(v, &reference, &distorted)) == VMAFGPU_AGAIN && refusals < MOST_REFUSALS)
                refusals++;
            CHECK_INT(result, VMAFGPU_OK);
        }
        vmafgpu_close(v);
    }
    film_free(&f);
}

static void check_live(gpu *g) {
    static const slopes_case cases[] = {
        { "texture+mix", 96, 88, 8, "vmaf_v0.6.1", NULL, "d" },
        { "texture+mix", 97, 89, 10, "vmaf_v0.6.1neg", "motion.motion_five_frame_window=true", "h" },
        { "lines+grain", 64, 64, 8, "vmaf_b_v0.6.3", NULL, "p" },
        { "texture+mix", 131, 65, 8, "VMAF_integer_feature_adm3_score", NULL, "d" },
        { "noise+grain", 33, 130, 12, "VMAF_integer_feature_vif_scale1_score", NULL, "h" },
        { "texture+mix", 1920, 1080, 8, "vmaf_v0.6.1", NULL, "d" },
        { "texture+grain", 3840, 2160, 8, "vmaf_4k_v0.6.1", NULL, "d" },
    };
    void *stream = NULL;
    for (int order = SIMULATED_LAZY; order <= (g->is_simulated ? SIMULATED_MIXED : SIMULATED_LAZY); order++) {
        if (g->is_simulated)
            g->sim.set_order(SIMULATED_FORWARD, order, 3);
        CHECK_INT(g->stream_create(&stream, 1), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (!g->is_slow || cases[i].width < 300)
                check_pairs(g, &cases[i], (uint32_t)i + 1, cases[i].width < 300 && i % 2 == 0 ? 16 : 0, stream);
        CHECK_INT(g->stream_destroy(stream), 0);
    }
    check_try_push(g);
    if (g->is_simulated) {
        check_pairs_lost(g);
        for (int when = LOST_IN_PUSH; when <= LOST_IN_STREAM_WAIT; when++)
            check_waiting_lost(g, (loss)when);
    }
}

void test_slopes(gpu *g) {
    static const slopes_case cases[] = {
        { "texture+mix", 16, 16, 8, "vmaf_v0.6.1", NULL, "h" },
        { "texture+mix", 33, 35, 10, "vmaf_v0.6.1", NULL, "d" },
        { "noise+grain", 241, 97, 8, "vmaf_v0.6.1neg", NULL, "p" },
        { "texture+blur", 128, 64, 8, "vmaf_4k_v0.6.1", NULL, "d" },
        { "lines+grain", 131, 77, 9, "vmaf_v0.6.1", "adm.adm_enhn_gain_limit=1.3:adm.adm_dlm_weight=0.7", "h" },
        { "texture+mix", 1920, 1080, 8, "vmaf_v0.6.1", NULL, "d" },
        { "noise+mix", 1279, 719, 10, "vmaf_v0.6.1neg", NULL, "h" },
        { "texture+grain", 3840, 2160, 8, "vmaf_4k_v0.6.1", NULL, "d" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!g->is_slow || cases[i].width < 300)
            check_slopes(g, &cases[i], (uint32_t)i + 1);
    check_golden(g);
    check_random(g, g->is_slow ? 24 : 400);
    check_refused(g);
    check_live(g);
    for (int i = 0; i < (g->is_slow && test_depth() < TEST_ALL ? 40 : 400); i++) {
        if (g->is_simulated)
            g->sim.set_order(SIMULATED_FORWARD, i % 2 ? SIMULATED_MIXED : SIMULATED_LAZY, (uint64_t)i);
        check_batches(g, (uint32_t)i);
    }
}
