/* Compares edits and maps on the GPU with those of the CPU, bit for bit: trial and committed edits of any size, samples
 * in every kind of memory, and rejected calls. test_edits.c compares edits on the CPU with whole frames. */
#include <math.h>
#include "gpu.h"

enum { LARGEST = 256, AT_ONCE = 12 };

typedef struct edit_case {
    const char *what;
    /* bytes: number of bytes per sample; 0: as the depth requires; 3: 16-bit words with the sample in the high bits */
    int width, height, depth, bytes;
    const char *model, *options;
    int max_edit_size, turns, threads;
    const char *frames; /* kinds of memory; see storage.kinds */
} edit_case;

static uint32_t random_state;

static int below(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((uint64_t)(random_state >> 4) * (uint64_t)n >> 28);
}

static int at_most(int a, int b) {
    return a < b ? a : b;
}

static void pick(vmafgpu_edit *e, const edit_case *c) {
    const int size = 1 << below(9);
    e->width = at_most(at_most(below(3) ? size : 1 + below(c->max_edit_size), c->max_edit_size), c->width);
    e->height = at_most(at_most(below(3) ? size : 1 + below(c->max_edit_size), c->max_edit_size), c->height);
    e->x = below(c->width - e->width + 1);
    e->y = below(c->height - e->height + 1);
    switch (below(8)) {
    case 0: e->x = 0; break;
    case 1: e->x = c->width - e->width; break;
    case 2: e->y = 0; break;
    case 3: e->y = c->height - e->height; break;
    case 4:
        e->x = c->width - e->width;
        e->y = c->height - e->height;
        break;
    default: break;
    }
}

/* Samples for edits, in pageable memory and as a copy in device memory. */
typedef struct samples {
    unsigned char *host;
    uint64_t device;
    size_t size;
} samples;

/* Makes random edits for the CPU, and the same edits for the GPU. The latter can have their samples in device
 * memory. */
static void make_edits(gpu *g, const edit_case *c, const samples *s, vmafgpu_edit *of_cpu, vmafgpu_edit *of_gpu,
                       int count) {
    const int bytes = c->bytes == 2 || c->bytes == 3 || c->depth > 8 ? 2 : 1, shift = c->bytes == 3 ? 16 - c->depth : 0;
    const size_t room = s->size / AT_ONCE;
    memset(of_cpu, 0, sizeof *of_cpu * AT_ONCE);
    for (int i = 0; i < count; i++) {
        vmafgpu_edit *e = &of_cpu[i];
        const int kind = below(4), level = below(1 << c->depth), slack = below(2) * bytes;
        if (i && below(3) == 0)
            *e = e[-1];
        else
            pick(e, c);
        const int row = e->width * bytes + slack;
        for (int y = 0; y < e->height; y++) {
            for (int x = 0; x < e->width; x++) {
                const uint32_t v = (uint32_t)(kind == 0   ? below(1 << c->depth)
                                              : kind == 1 ? level
                                              : kind == 2 ? (x * 5 + y * 3 + level) & ((1 << c->depth) - 1)
                                                          : (below(2) ? (1 << c->depth) - 1 : 0))
                                   << shift;
                unsigned char *to = s->host + (size_t)i * room + (size_t)(y * row + x * bytes);
                to[0] = (unsigned char)v;
                if (bytes == 2)
                    to[1] = (unsigned char)(v >> 8);
            }
        }
        e->skip_score = below(3) == 0;
        e->data = s->host + (size_t)i * room;
        e->pitch = slack ? row : 0;
        of_gpu[i] = *e;
        if (below(2)) {
            of_gpu[i].memory = VMAFGPU_MEMORY_DEVICE;
            of_gpu[i].data = (const void *)(uintptr_t)(s->device + (size_t)i * room);
        }
    }
    CHECK_INT(gpu_write(g, s->device, s->host, s->size), 0);
}

static void check_edit(const vmafgpu_edit_score *got, const vmafgpu_edit_score *expected) {
    CHECK_INT(got->result, expected->result);
    CHECK_BITS(got->score, expected->score);
    CHECK_BITS(got->change, expected->change);
    for (int s = 0; s < 4; s++) {
        CHECK_INT(got->sums.vif_information[s], expected->sums.vif_information[s]);
        CHECK_INT(got->sums.vif_noise[s], expected->sums.vif_noise[s]);
        for (int b = 0; b < 3; b++) {
            CHECK_INT(got->sums.adm[s][b], expected->sums.adm[s][b]);
            CHECK_INT(got->sums.aim[s][b], expected->sums.aim[s][b]);
        }
    }
}

static vmafgpu_config edit_config(const gpu *g, const film *f, const edit_case *c, vmafgpu_model_config *model) {
    vmafgpu_config config = gpu_config(g, f);
    memset(model, 0, sizeof *model);
    model->version = c->model;
    model->options = c->options;
    config.models = model;
    config.model_count = 1;
    config.bytes_per_sample = c->bytes == 3 ? 2 : c->bytes;
    config.layout = c->bytes == 3 ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
    config.max_edit_size = c->max_edit_size;
    config.threads = c->threads;
    return config;
}

/* Compares the blocks of the base on the CPU (v[0]) with those on the GPU (v[1]). */
static void check_map(vmafgpu *const *v, int size) {
    vmafgpu_block *blocks[2];
    int across = 0, down = 0;
    CHECK_INT(vmafgpu_edit_blocks(v[0], size, NULL, &across, &down), VMAFGPU_OK);
    const size_t count = (size_t)(across * down);
    for (int k = 0; k < 2; k++) {
        blocks[k] = (vmafgpu_block *)calloc(count, sizeof *blocks[k]);
        test_need(blocks[k] != NULL, "out of memory");
        CHECK_INT(vmafgpu_edit_blocks(v[k], size, blocks[k], &across, &down), VMAFGPU_OK);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK_BITS(blocks[0][i].loss, blocks[1][i].loss);
        CHECK(memcmp(&blocks[0][i].sums, &blocks[1][i].sums, sizeof blocks[0][i].sums) == 0);
    }
    free(blocks[0]);
    free(blocks[1]);
}

static void check_score(const vmafgpu_score *got, const vmafgpu_score *expected, int columns) {
    check_row(got->values, expected->values, columns);
}

static void check_case(gpu *g, const edit_case *c, uint32_t seed) {
    film f = film_make(c->what, c->width, c->height, c->depth, 3, seed);
    storage how;
    samples s;
    vmafgpu_model_config model;
    vmafgpu_config config = edit_config(g, &f, c, &model);
    vmafgpu_edit edits[2][AT_ONCE];
    vmafgpu_edit_score scores[2][AT_ONCE];
    vmafgpu_score score[2];
    vmafgpu_gradient gradient[2];
    vmafgpu *v[2];
    memset(&how, 0, sizeof how);
    how.kinds = c->frames;
    how.bytes_per_sample = c->bytes == 3 ? 2 : c->bytes;
    how.shift = c->bytes == 3 ? 16 - c->depth : 0;
    reel r = reel_make(g, &f, &how);
    how.kinds = "h";
    reel plain = reel_make(g, &f, &how);
    random_state = seed;
    where("edits of %s %dx%d %d bits", c->what, c->width, c->height, c->depth);
    config.gpu.frame_memory = reel_frame(&r, 0, 0)->memory;
    v[0] = open_checked(&config);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.gpu.frame_memory = VMAFGPU_MEMORY_HOST;
    v[1] = open_checked(&config);
    check_on_gpu(g, v[0]);
    const int columns = vmafgpu_column_count(v[0]);
    double *values[2];
    s.size = (size_t)AT_ONCE * (LARGEST + 1) * LARGEST * 2;
    s.host = (unsigned char *)calloc(s.size, 1);
    values[0] = (double *)malloc(2 * sizeof(double) * (size_t)(AT_ONCE * columns));
    test_need(s.host && values[0] && g->take(&s.device, s.size) == 0, "out of memory");
    values[1] = values[0] + AT_ONCE * columns;
    const int has_following = below(2), has_distorted = below(3) > 0;
    for (int k = 0; k < 2; k++) {
        const reel *frames = k ? &plain : &r;
        CHECK_INT(vmafgpu_edit_begin(v[k], reel_frame(frames, 1, 0), has_distorted ? reel_frame(frames, 1, 1) : NULL,
                                     reel_frame(frames, 0, 0), has_following ? reel_frame(frames, 2, 0) : NULL,
                                     &score[k]),
                  VMAFGPU_OK);
    }
    check_score(&score[0], &score[1], columns);
    picture_spoil(g, &r.pictures[2]); /* this is allowed because the context has copied the base */
    picture_spoil(g, &r.pictures[3]);
    for (int turn = 0; turn < c->turns; turn++) {
        const int count = 1 + below(AT_ONCE);
        make_edits(g, c, &s, edits[1], edits[0], count);
        for (int k = 0; k < 2; k++) {
            if (!CHECK_INT(vmafgpu_edit_try(v[k], edits[k], count, scores[k], values[k]), VMAFGPU_OK)) {
                printf("%s %s\n", vmafgpu_last_error(v[k]), g->is_simulated ? g->sim.report() : "");
                exit(1);
            }
        }
        for (int i = 0; i < count; i++) {
            where("edits of %s %dx%d %d bits: %dx%d at %d, %d, turn %d", c->what, c->width, c->height, c->depth,
                  edits[0][i].width, edits[0][i].height, edits[0][i].x, edits[0][i].y, turn);
            check_edit(&scores[0][i], &scores[1][i]);
            check_row(values[0] + i * columns, values[1] + i * columns, columns);
        }
        if (below(2)) {
            const int few = 1 + below(count);
            for (int k = 0; k < 2; k++) {
                CHECK_INT(vmafgpu_edit_commit(v[k], edits[k], few, &score[k]), VMAFGPU_OK);
                CHECK_INT(vmafgpu_edit_gradient(v[k], &gradient[k]), VMAFGPU_OK);
            }
            check_score(&score[0], &score[1], columns);
            CHECK(memcmp(&gradient[0], &gradient[1], sizeof gradient[0]) == 0);
        }
    }
    const int largest = c->width > 300 ? 40 : 12;
    where("map of %s %dx%d %d bits", c->what, c->width, c->height, c->depth);
    check_map(v, 4 + below(largest));
    if (c->width < 300)
        check_map(v, below(2) ? 256 : 64);
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
    CHECK_INT(g->give(s.device), 0);
    free(s.host);
    free(values[0]);
    reel_free(g, &r);
    reel_free(g, &plain);
    film_free(&f);
}

/* ---- rejected calls ---- */

static void test_refused(gpu *g) {
    const edit_case c = { "texture+mix", 100, 70, 10, 2, "vmaf_v0.6.1", NULL, 16, 0, 1, "h" };
    film f = film_make(c.what, c.width, c.height, c.depth, 1, 3);
    vmafgpu_model_config model;
    vmafgpu_config config = edit_config(g, &f, &c, &model);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    uint16_t words[16 * 16];
    uint64_t device;
    vmafgpu_edit edits[3];
    vmafgpu_edit_score scores[3], before;
    vmafgpu *v = open_checked(&config);
    int across, down;
    where("rejected edits");
    test_need(g->take(&device, 2 * sizeof words) == 0, "out of device memory");
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    memset(edits, 0, sizeof edits);
    for (int i = 0; i < 256; i++)
        words[i] = (uint16_t)(4 * i);
    CHECK_INT(gpu_write(g, device, words, sizeof words), 0);
    words[200] = 1024;
    CHECK_INT(gpu_write(g, device + sizeof words, words, sizeof words), 0);
    for (int i = 0; i < 3; i++) {
        edits[i].x = 20 * i;
        edits[i].width = edits[i].height = 16;
        edits[i].memory = VMAFGPU_MEMORY_DEVICE;
        edits[i].data = (const void *)(uintptr_t)(device + (i == 1 ? sizeof words : 0));
    }
    CHECK_INT(vmafgpu_edit_try(v, edits, 1, &before, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_try(v, edits, 3, scores, NULL), VMAFGPU_ERROR_FRAME);
    CHECK_HAS(vmafgpu_last_error(v), "edits[1]: luma sample in device memory exceeds 10 bits");
    CHECK_INT(scores[1].result, VMAFGPU_ERROR_FRAME);
    CHECK_BITS(scores[1].score, (double)NAN);
    CHECK_INT(scores[2].result, VMAFGPU_OK);
    check_edit(&scores[0], &before);
    CHECK_INT(vmafgpu_edit_commit(v, edits, 3, NULL), VMAFGPU_ERROR_FRAME);
    CHECK_HAS(vmafgpu_last_error(v), "edits[1]");
    edits[1].data = words; /* words is in host memory */
    edits[1].memory = VMAFGPU_MEMORY_HOST;
    CHECK_INT(vmafgpu_edit_try(v, edits, 3, scores, NULL), VMAFGPU_ERROR_FRAME);
    CHECK_HAS(vmafgpu_last_error(v), "luma sample exceeds 10 bits (word 1024 at its column 8, row 12)");
    check_edit(&scores[0], &before);
    /* the error of the first illegal edit is reported, even if another illegal edit is found earlier */
    edits[0].memory = VMAFGPU_MEMORY_HOST;
    edits[0].data = NULL;
    edits[1].memory = VMAFGPU_MEMORY_DEVICE;
    edits[1].data = (const void *)(uintptr_t)(device + sizeof words);
    CHECK_INT(vmafgpu_edit_try(v, edits, 3, scores, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "edits[0].data is NULL");
    CHECK_INT(scores[1].result, VMAFGPU_ERROR_FRAME);
    CHECK_INT(scores[2].result, VMAFGPU_OK);
    edits[0] = edits[2];
    edits[0].x = 0;
    edits[1].memory = (vmafgpu_memory)7;
    CHECK_INT(vmafgpu_edit_commit(v, edits, 3, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_try(v, edits, 1, scores, NULL), VMAFGPU_OK);
    check_edit(&scores[0], &before);
    CHECK_INT(vmafgpu_edit_blocks(v, 16, NULL, &across, &down), VMAFGPU_OK);
    /* a push discards the base */
    CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_try(v, edits, 1, scores, NULL), VMAFGPU_ERROR_STATE);
    if (g->is_simulated) { /* the device fails */
        CHECK_INT(vmafgpu_reset(v), VMAFGPU_OK);
        CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
        gpu_lose(g);
        CHECK_INT(vmafgpu_edit_try(v, edits, 1, scores, NULL), VMAFGPU_ERROR_DEVICE);
        CHECK_INT(scores[0].result, VMAFGPU_ERROR_DEVICE);
        CHECK_BITS(scores[0].change, (double)NAN);
        CHECK_INT(vmafgpu_edit_try(v, edits, 1, scores, NULL), VMAFGPU_ERROR_STATE);
        CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_ERROR_DEVICE);
        CHECK_HAS(vmafgpu_last_error(v), " failed (700, ");
    }
    vmafgpu_close(v);
    CHECK_INT(g->give(device), 0);
    film_free(&f);
}

/* Tests edits in device memory that work in config.gpu.stream has not written yet when vmafgpu_edit_try() is called. */
static void check_edits_after_stream(gpu *g) {
    enum { SIZE = 16 };
    const edit_case c = { "texture+mix", 100, 70, 8, 0, "vmaf_v0.6.1", NULL, SIZE, 0, 1, "h" };
    film f = film_make(c.what, c.width, c.height, c.depth, 1, 6);
    vmafgpu_model_config model;
    vmafgpu_config config = edit_config(g, &f, &c, &model);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    unsigned char samples[2][SIZE * SIZE];
    uint64_t device = 0;
    void *stream = NULL;
    vmafgpu_edit edit;
    vmafgpu_edit_score got, expected;
    vmafgpu_score score[2];
    where("edits after work in the stream of the caller");
    for (int i = 0; i < SIZE * SIZE; i++) {
        samples[0][i] = 255;
        samples[1][i] = (unsigned char)(60 + 7 * i % 90);
    }
    test_need(g->take(&device, sizeof samples[0]) == 0 && g->stream_create(&stream, 1) == 0, "out of device memory");
    config.gpu.stream = stream;
    vmafgpu *v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    memset(&edit, 0, sizeof edit);
    edit.x = 30;
    edit.y = 20;
    edit.width = edit.height = SIZE;
    edit.data = samples[1];
    CHECK_INT(vmafgpu_edit_try(v, &edit, 1, &expected, NULL), VMAFGPU_OK);
    edit.memory = VMAFGPU_MEMORY_DEVICE;
    edit.data = (const void *)(uintptr_t)device;
    for (int round = 0; round < 2; round++) {
        CHECK_INT(gpu_write(g, device, samples[0], sizeof samples[0]), 0);
        CHECK_INT(g->write_later(device, samples[1], sizeof samples[1], stream), 0);
        if (round) {
            CHECK_INT(vmafgpu_edit_commit(v, &edit, 1, &score[1]), VMAFGPU_OK);
            edit.memory = VMAFGPU_MEMORY_HOST;
            edit.data = samples[1];
            CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
            CHECK_INT(vmafgpu_edit_commit(v, &edit, 1, &score[0]), VMAFGPU_OK);
            CHECK_BITS(score[1].score, score[0].score);
        } else {
            CHECK_INT(vmafgpu_edit_try(v, &edit, 1, &got, NULL), VMAFGPU_OK);
            check_edit(&got, &expected);
        }
    }
    if (g->is_simulated) { /* the device fails while vmafgpu_edit_commit() checks the samples */
        edit.memory = VMAFGPU_MEMORY_DEVICE;
        edit.data = (const void *)(uintptr_t)device;
        g->sim.fail(g->is_hip ? "hipStreamSynchronize" : "cuStreamSynchronize", 1, 700);
        CHECK_INT(vmafgpu_edit_commit(v, &edit, 1, &score[1]), VMAFGPU_ERROR_DEVICE);
        CHECK_HAS(vmafgpu_last_error(v), "700");
        g->sim.fail(NULL, 0, 0);
    }
    vmafgpu_close(v);
    CHECK_INT(g->stream_destroy(stream), 0);
    CHECK_INT(g->give(device), 0);
    film_free(&f);
}

/* Commits edits to a base whose RGB frames have been overwritten. The planes must not be computed from these frames
 * again. */
static void check_commit_pixels(gpu *g, vmafgpu_memory memory) {
    enum { WIDTH = 72, HEIGHT = 56, SIZE = WIDTH * HEIGHT * 4 };
    const edit_case c = { "texture+mix", WIDTH, HEIGHT, 8, 1, "vmaf_v0.6.1", NULL, 24, 0, 1, NULL };
    film f = film_make(c.what, c.width, c.height, c.depth, 1, 4);
    vmafgpu_model_config model;
    vmafgpu_config config = edit_config(g, &f, &c, &model);
    unsigned char *host = (unsigned char *)malloc(2 * SIZE), samples[24 * 24];
    uint64_t device = 0;
    vmafgpu_frame frames[2][2];
    vmafgpu_edit edit;
    vmafgpu_edit_score scores[2];
    vmafgpu_score score[2];
    vmafgpu *v[2];
    where("edits of a base in RGB, memory %d", (int)memory);
    test_need(host && g->take(&device, 2 * SIZE) == 0, "out of memory");
    random_state = 5;
    for (int i = 0; i < 2 * SIZE; i++)
        host[i] = (unsigned char)((i % SIZE) / 40 + below(i < SIZE ? 20 : 70));
    for (int i = 0; i < (int)sizeof samples; i++)
        samples[i] = (unsigned char)(90 + i % 60);
    CHECK_INT(gpu_write(g, device, host, 2 * SIZE), 0);
    memset(frames, 0, sizeof frames);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 2; i++) {
            frames[k][i].pixels = VMAFGPU_PIXELS_RGBA8;
            frames[k][i].memory = k ? VMAFGPU_MEMORY_HOST : memory;
            frames[k][i].data[0] = frames[k][i].memory == VMAFGPU_MEMORY_DEVICE
                                       ? (const void *)(uintptr_t)(device + (uint64_t)(i * SIZE))
                                       : host + i * SIZE;
        }
    }
    config.colour.matrix = VMAFGPU_MATRIX_BT709;
    config.colour.range = VMAFGPU_RANGE_LIMITED;
    config.gpu.frame_memory = memory;
    v[0] = open_checked(&config);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.gpu.frame_memory = VMAFGPU_MEMORY_HOST;
    v[1] = open_checked(&config);
    for (int k = 0; k < 2; k++)
        CHECK_INT(vmafgpu_edit_begin(v[k], &frames[k][0], &frames[k][1], NULL, NULL, &score[k]), VMAFGPU_OK);
    CHECK_BITS(score[0].score, score[1].score);
    memset(host, 0, 2 * SIZE);
    CHECK_INT(gpu_write(g, device, host, 2 * SIZE), 0);
    memset(&edit, 0, sizeof edit);
    edit.data = samples;
    edit.width = edit.height = 24;
    for (int turn = 0; turn < 2; turn++) {
        edit.x = edit.y = 9 + 20 * turn;
        for (int k = 0; k < 2; k++) {
            CHECK_INT(vmafgpu_edit_try(v[k], &edit, 1, &scores[k], NULL), VMAFGPU_OK);
            CHECK_INT(vmafgpu_edit_commit(v[k], &edit, 1, &score[k]), VMAFGPU_OK);
        }
        check_edit(&scores[0], &scores[1]);
        check_score(&score[0], &score[1], vmafgpu_column_count(v[0]));
    }
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
    CHECK_INT(g->give(device), 0);
    free(host);
    film_free(&f);
}

/* Calls vmafgpu_edit_begin() while maps of pairs are in flight. */
static void check_base_after_maps(gpu *g, int streams) {
    enum { PAIRS = 3, BLOCKS = 24 };
    const edit_case c = { "texture+mix", 96, 64, 8, 1, "vmaf_v0.6.1", NULL, 16, 0, 1, NULL };
    film f = film_make(c.what, c.width, c.height, c.depth, PAIRS + 1, 6);
    vmafgpu_model_config model;
    vmafgpu_config config = edit_config(g, &f, &c, &model);
    const vmafgpu_frame base = film_frame(&f, PAIRS, 0), distorted = film_frame(&f, 0, 1);
    float maps[2][PAIRS][BLOCKS];
    vmafgpu_edit edit;
    vmafgpu_edit_score scores[2];
    vmafgpu *v[2];
    where("a base after maps, order %d", streams);
    if (g->is_simulated)
        g->sim.set_order(SIMULATED_FORWARD, streams, 3);
    config.live = 1;
    config.map_block_size = 16;
    config.gpu.queue_depth = PAIRS + 1;
    memset(&edit, 0, sizeof edit);
    edit.x = edit.y = 21;
    edit.width = edit.height = 16;
    edit.data = base.data[0];
    v[0] = open_checked(&config);
    config.backend = VMAFGPU_BACKEND_CPU;
    v[1] = open_checked(&config);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < PAIRS; i++) {
            const vmafgpu_frame r = film_frame(&f, i, 0), d = film_frame(&f, i, 1);
            CHECK_INT(vmafgpu_request_map(v[k], maps[k][i], VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push(v[k], &r, &d), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_edit_begin(v[k], &base, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
        CHECK_INT(vmafgpu_edit_try(v[k], &edit, 1, &scores[k], NULL), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v[k]), VMAFGPU_OK);
    }
    check_edit(&scores[0], &scores[1]);
    for (int i = 0; i < PAIRS; i++)
        for (int n = 0; n < BLOCKS; n++)
            CHECK_BITS(maps[0][i][n], maps[1][i][n]);
    check_map(v, 16);
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
    film_free(&f);
}

void test_edits(gpu *g) {
    static const edit_case cases[] = {
        { "texture+mix", 33, 35, 10, 0, "vmaf_v0.6.1", NULL, 256, 12, 1, "h" },
        { "noise+grain", 50, 37, 8, 0, "vmaf_v0.6.1", NULL, 64, 12, 2, "p" },
        { "texture+blur", 64, 64, 8, 2, "vmaf_v0.6.1neg", NULL, 64, 4, 1, "d" },
        { "blocks+mix", 161, 91, 8, 0, "vmaf_v0.6.1",
          "adm.adm_csf_mode=1:adm.adm_csf_scale=0.02:adm.adm_csf_diag_scale=0.006", 128, 3, 1, "d" },
        { "texture+coarse", 129, 200, 16, 0, "vmaf_v0.6.1", "adm.adm_csf_mode=2", 256, 3, 1, "h" },
        { "texture+stretch", 203, 117, 10, 3, "vmaf_v0.6.1neg", NULL, 256, 3, 1, "d" },
        { "lines+grain", 131, 77, 9, 0, "vmaf_v0.6.1", "adm.adm_enhn_gain_limit=1.3:adm.adm_dlm_weight=0.7", 100, 3, 1,
          "h" },
        { "texture+mix", 111, 83, 12, 0, "vmaf_b_v0.6.3", NULL, 64, 3, 3, "h" },
        { "texture+mix", 177, 125, 8, 0, "vmaf_v0.6.1",
          "vif.vif_skip_scale0=true:adm.adm_skip_scale0=true:adm.adm_noise_weight=0", 64, 3, 1, "h" },
        { "texture+mix", 1920, 1080, 8, 0, "vmaf_v0.6.1", NULL, 256, 200, 1, "d" },
        { "noise+mix", 1279, 719, 10, 0, "vmaf_v0.6.1neg", NULL, 256, 200, 1, "h" },
        { "texture+grain", 3840, 2160, 8, 0, "vmaf_4k_v0.6.1", NULL, 256, 60, 1, "d" }
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!g->is_slow || cases[i].width < 300)
            check_case(g, &cases[i], (uint32_t)i + 1);
    test_refused(g);
    check_edits_after_stream(g);
    check_commit_pixels(g, VMAFGPU_MEMORY_HOST);
    check_commit_pixels(g, VMAFGPU_MEMORY_DEVICE);
    for (int streams = SIMULATED_LAZY; streams <= (g->is_simulated ? SIMULATED_MIXED : SIMULATED_LAZY); streams++)
        check_base_after_maps(g, streams);
}

/* ---- maps of pushed pairs ---- */

typedef struct map_case {
    const char *what;
    int width, height, depth, size, queue;
    const char *model, *options;
    const char *frames;
} map_case;

enum { MAP_FRAMES = 5, MAP_KINDS = 3 };

/* Compares maps with those of the CPU, in every kind of memory. Every third pair has no map. */
static void check_maps(gpu *g, const map_case *c, uint32_t seed, void *stream) {
    film f = film_make(c->what, c->width, c->height, c->depth, MAP_FRAMES, seed);
    storage how;
    vmafgpu_model_config model;
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu *v[2];
    float *maps[MAP_FRAMES], *expected;
    uint64_t device[MAP_FRAMES];
    void *pinned[MAP_FRAMES];
    memset(&how, 0, sizeof how);
    how.kinds = c->frames;
    reel r = reel_make(g, &f, &how);
    memset(&model, 0, sizeof model);
    model.version = c->model;
    model.options = c->options;
    config.models = &model;
    config.model_count = 1;
    config.live = 1;
    config.map_block_size = c->size;
    config.gpu.queue_depth = c->queue;
    config.gpu.stream = stream;
    config.gpu.frame_memory = reel_frame(&r, 0, 0)->memory;
    where("maps of %s %dx%d %d bits in blocks of %d", c->what, c->width, c->height, c->depth, c->size);
    v[0] = open_checked(&config);
    check_on_gpu(g, v[0]);
    config.backend = VMAFGPU_BACKEND_CPU;
    memset(&config.gpu, 0, sizeof config.gpu);
    v[1] = open_checked(&config);
    const int count = vmafgpu_map_blocks(v[0], NULL, NULL);
    const size_t size = sizeof(float) * (size_t)count;
    CHECK_INT(count, vmafgpu_map_blocks(v[1], NULL, NULL));
    expected = (float *)malloc(size);
    test_need(expected != NULL, "out of memory");
    for (int i = 0; i < MAP_FRAMES; i++) {
        const vmafgpu_memory kind = i % MAP_KINDS == 0   ? VMAFGPU_MEMORY_DEVICE
                                    : i % MAP_KINDS == 1 ? VMAFGPU_MEMORY_HOST
                                                         : VMAFGPU_MEMORY_PINNED;
        maps[i] = (float *)malloc(size);
        test_need(maps[i] && g->take(&device[i], size) == 0 && g->take_pinned(&pinned[i], size, 0) == 0,
                  "out of memory");
        for (int k = 0; k < count; k++)
            maps[i][k] = -7;
        memcpy(pinned[i], maps[i], size);
        CHECK_INT(gpu_write(g, device[i], maps[i], size), 0);
        if (i % 4 != 3) {
            CHECK_INT(vmafgpu_request_map(v[0],
                                          kind == VMAFGPU_MEMORY_DEVICE   ? (float *)(uintptr_t)device[i]
                                          : kind == VMAFGPU_MEMORY_PINNED ? (float *)pinned[i]
                                                                          : maps[i],
                                          kind),
                      VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_push(v[0], reel_frame(&r, i, 0), reel_frame(&r, i, 1)), VMAFGPU_OK);
        if (kind == VMAFGPU_MEMORY_DEVICE) { /* the map is copied in stream order */
            CHECK_INT(vmafgpu_stream_wait(v[0], stream, -1), VMAFGPU_OK);
            CHECK_INT(g->read_later(maps[i], device[i], size, stream), 0);
        }
    }
    CHECK_INT(vmafgpu_flush(v[0]), VMAFGPU_OK);
    CHECK_INT(g->stream_wait(stream), 0);
    for (int i = 0; i < MAP_FRAMES; i++) {
        const vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
        const float *map = i % MAP_KINDS == 2 ? (const float *)pinned[i] : maps[i];
        vmafgpu_score score[2];
        CHECK_INT(vmafgpu_request_map(v[1], expected, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v[1], &reference, &distorted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(v[0], &score[0]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(v[1], &score[1]), VMAFGPU_OK);
        check_row(score[0].values, score[1].values, vmafgpu_column_count(v[0]));
        for (int k = 0; k < count; k++)
            CHECK_BITS(map[k], i % 4 == 3 ? -7 : expected[k]);
        free(maps[i]);
        CHECK_INT(g->give(device[i]), 0);
        CHECK_INT(g->give_pinned(pinned[i]), 0);
    }
    check_on_gpu(g, v[0]);
    vmafgpu_close(v[0]);
    vmafgpu_close(v[1]);
    free(expected);
    reel_free(g, &r);
    film_free(&f);
}

/* Checks that, if the GPU fails, the maps in flight contain NaN and later requests for maps fail. */
static void check_maps_lost(gpu *g) {
    film f = film_make("texture+mix", 64, 48, 8, 2, 1);
    vmafgpu_config config = gpu_config(g, &f);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    float map[12];
    where("maps, lost GPU");
    config.live = 1;
    config.map_block_size = 16;
    vmafgpu *v = open_checked(&config);
    memset(map, 0, sizeof map);
    CHECK_INT(vmafgpu_map_blocks(v, NULL, NULL), 12);
    CHECK_INT(vmafgpu_request_map(v, map, VMAFGPU_MEMORY_SURFACE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_request_map(v, (float *)(uintptr_t)2, VMAFGPU_MEMORY_DEVICE), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_request_map(v, map, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    gpu_lose(g);
    CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    for (int i = 0; i < 12; i++)
        CHECK(map[i] != map[i]);
    CHECK_INT(vmafgpu_request_map(v, map, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_DEVICE);
    vmafgpu_close(v);
    film_free(&f);
}

/* Checks that, with maps, the GPU is open when vmafgpu_open() returns, even if config.gpu.open_in_background is set. */
static void check_maps_at_once(gpu *g) {
    film f = film_make("texture+mix", 64, 48, 8, 1, 1);
    vmafgpu_config config = gpu_config(g, &f);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    float maps[2][12] = { { 0 } };
    where("maps, opened in the background");
    config.live = 1;
    config.map_block_size = 16;
    config.gpu.open_in_background = 1;
    config.backend = VMAFGPU_BACKEND_AUTO;
    for (int k = 0; k < 2; k++) {
        vmafgpu *v = open_checked(&config);
        maps[k][0] = -7;
        if (!k)
            check_on_gpu(g, v);
        CHECK_INT(vmafgpu_request_map(v, maps[k], VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        vmafgpu_close(v);
        config.backend = VMAFGPU_BACKEND_CPU;
    }
    CHECK(memcmp(maps[0], maps[1], sizeof maps[0]) == 0);
    film_free(&f);
}

void test_maps(gpu *g) {
    static const map_case cases[] = {
        { "texture+mix", 96, 88, 8, 16, 2, "vmaf_v0.6.1", NULL, "d" },
        { "texture+mix", 97, 89, 10, 4, 3, "vmaf_v0.6.1neg", "motion.motion_five_frame_window=true", "h" },
        { "noise+grain", 130, 70, 12, 256, 1, "vmaf_v0.6.1", "motion.motion_fps_weight=0.7:motion.motion_max_val=5",
          "p" },
        { "lines+grain", 64, 64, 8, 33, 1, "vmaf_b_v0.6.3", NULL, "d" },
        { "texture+mix", 111, 65, 8, 9, 2, "vmaf_v0.6.1",
          "vif.vif_skip_scale0=true:adm.adm_skip_scale0=true:adm.adm_dlm_weight=0.7", "h" },
        { "texture+mix", 1920, 1080, 8, 16, 0, "vmaf_v0.6.1", NULL, "d" },
        { "blocks+mix", 1279, 719, 10, 8, 0, "vmaf_v0.6.1neg", NULL, "h" },
        { "texture+grain", 3840, 2160, 8, 64, 0, "vmaf_4k_v0.6.1", NULL, "d" }
    };
    void *stream = NULL;
    CHECK_INT(g->stream_create(&stream, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!g->is_slow || cases[i].width < 300)
            check_maps(g, &cases[i], (uint32_t)i + 1, stream);
    CHECK_INT(g->stream_destroy(stream), 0);
    check_maps_at_once(g);
    if (g->is_simulated)
        check_maps_lost(g);
}
