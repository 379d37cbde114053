/* Compares the slopes of samples on the GPU with those of the CPU, bit for bit: all kinds of memory, pitches, sizes and
 * models, live pairs, rejected calls and a failing device. test_slopes.c compares those of the CPU with finite
 * differences. */
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
        c.height = 16 + below(is_tiny ? 20 : 110);
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

/* ---- slopes of pushed pairs ---- */

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

/* Checks that slopes in flight contain NaN if the GPU fails, that later requests fail, and that GPUs require live. */
static void check_pairs_lost(gpu *g) {
    enum { WIDTH = 64, HEIGHT = 48, PITCH = WIDTH + 3 };
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, 2, 1);
    vmafgpu_config config = gpu_config(g, &f);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    static float slopes[HEIGHT][PITCH];
    where("slopes of pairs, lost GPU");
    config.slopes = 1;
    vmafgpu *v = NULL;
    CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_ERROR_BACKEND);
    CHECK_HAS(vmafgpu_last_error(v), "config.slopes: GPUs require config.live");
    vmafgpu_close(v);
    config.max_edit_size = 8;
    v = open_checked(&config);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(v), "config.live is 0");
    vmafgpu_close(v);
    config.max_edit_size = 0;
    config.live = 1;
    v = open_checked(&config);
    check_on_gpu(g, v);
    memset(slopes, 0, sizeof slopes);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], PITCH * 4 - 1, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], PITCH * 4, VMAFGPU_MEMORY_SURFACE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_slopes_next(v, slopes[0], PITCH * 4, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    g->sim.fail(g->is_hip ? "hipModuleLaunchKernel" : "cuLaunchKernel", 1, 700);
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
    if (g->is_simulated)
        check_pairs_lost(g);
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
}
