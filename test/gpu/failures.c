/* Tests failures on a simulated GPU: each driver call and each allocation fails once, in tests of clips, edits and
 * maps. Also tests execution orders. */
#include "gpu.h"

/* ---- clips ---- */

/* SHORT_FRAMES is the length of the clips. vmafgpu_score_pair() scores frame PAIR, with frame PAIR_BEFORE before it. */
enum { SHORT_FRAMES = 8, PAIR = 4, PAIR_BEFORE = 3 };

/* How a clip is pushed. If no pair is scored individually with vmafgpu_score_pair(), the queue sometimes fills up. */
typedef struct push_plan {
    int batch, queue;
    int pair_at; /* the frame after which vmafgpu_score_pair() is called; -1 if it is never called */
    int spoils;  /* whether host frames are overwritten as soon as they are reusable */
} push_plan;

/* Scores that the CPU computes for the same calls. */
typedef struct cpu_scores {
    scores clip;
    double *pair; /* values that vmafgpu_score_pair() returns */
} cpu_scores;

static cpu_scores short_answers(const film *f, int selected) {
    cpu_scores a;
    vmafgpu_config config = film_config(f);
    vmafgpu_frame before = film_frame(f, PAIR_BEFORE, 0), reference = film_frame(f, PAIR, 0),
                  distorted = film_frame(f, PAIR, 1);
    vmafgpu_score score;
    vmafgpu *context;
    config.backend = VMAFGPU_BACKEND_CPU;
    select_features(&config, &selections[selected]);
    a.clip = cpu_score(f, &config);
    a.pair = (double *)calloc((size_t)a.clip.columns, sizeof *a.pair);
    context = open_checked(&config);
    test_need(a.pair && context && vmafgpu_score_pair(context, &reference, &distorted, &before, &score) == VMAFGPU_OK,
              "cpu_scores");
    memcpy(a.pair, score.values, sizeof *a.pair * (size_t)a.clip.columns);
    vmafgpu_close(context);
    return a;
}

/* Overwrites the reusable frames, which must be in host memory. */
static void spoil_reusable(const reel *r, vmafgpu *context, int64_t *spoilt) {
    for (const int64_t reusable = vmafgpu_reusable_count(context); *spoilt < reusable; ++*spoilt) {
        memset(r->pictures[2 * *spoilt].bytes, 0xA7, r->pictures[2 * *spoilt].size);
        memset(r->pictures[2 * *spoilt + 1].bytes, 0xA7, r->pictures[2 * *spoilt + 1].size);
    }
}

/* Whether a failure of this driver function may go unnoticed. */
static int is_harmless(const char *entry) {
    static const char *const entries[] = { "cuCtxPopCurrent_v2",
                                           "cuDeviceGetName",
                                           "cuModuleGetFunction" /* when it looks up an optional kernel */,
                                           "hipModuleGetFunction",
                                           "hipGetDevice",
                                           "hipSetDevice" /* when it switches back to the caller's device */ };
    int found = 0;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        found |= strcmp(entry, entries[i]) == 0;
    return found;
}

/* Opens a context, scores a clip and closes the context, while a driver call or an allocation may fail. */
static void short_run(gpu *g, const reel *r, const vmafgpu_config *config, const cpu_scores *expected, const tally *t,
                      const push_plan *way) {
    const int on_device = config->gpu.frame_memory == VMAFGPU_MEMORY_DEVICE;
    const int must_open = config->backend == VMAFGPU_BACKEND_AUTO && !on_device && !t->fail_at;
    vmafgpu *context = NULL;
    vmafgpu_score score;
    int64_t spoilt = 0;
    int missing = 0;
    vmafgpu_result result = vmafgpu_open(&context, config);
    if (result != VMAFGPU_OK) {
        CHECK(!must_open || t->failed);
        CHECK_INT(result, t->failed ? VMAFGPU_ERROR_MEMORY : VMAFGPU_ERROR_BACKEND);
        CHECK(t->failed || g->sim.hit()[0] != 0);
        CHECK(strlen(vmafgpu_last_error(context)) > 10);
        vmafgpu_close(context);
        return;
    }
    for (int i = 0; i < SHORT_FRAMES; i++) {
        CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
        if (way->spoils)
            spoil_reusable(r, context, &spoilt);
        if (i == way->pair_at) {
            result = vmafgpu_score_pair(context, reel_frame(r, PAIR, 0), reel_frame(r, PAIR, 1),
                                        reel_frame(r, PAIR_BEFORE, 0), &score);
            if (on_device && result != VMAFGPU_OK) {
                CHECK_INT(result, VMAFGPU_ERROR_DEVICE);
                CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_score_pair: GPU: ");
            } else if (CHECK_INT(result, VMAFGPU_OK)) {
                check_row(score.values, expected->pair, expected->clip.columns);
            }
        }
        if (way->spoils && i == 3) {
            CHECK_INT(vmafgpu_wait(context, 3), VMAFGPU_OK);
            CHECK(vmafgpu_reusable_count(context) >= 3);
            spoil_reusable(r, context, &spoilt);
        }
    }
    result = vmafgpu_flush(context);
    for (int i = 0; i < SHORT_FRAMES; i++) {
        const vmafgpu_result came = vmafgpu_next_score(context, &score);
        CHECK_INT(score.index, i);
        if (on_device && came != VMAFGPU_OK) {
            char words[32];
            snprintf(words, sizeof words, "frame %d: has no score: ", i);
            CHECK_INT(came, VMAFGPU_ERROR_DEVICE);
            CHECK_INT(score.result, VMAFGPU_ERROR_DEVICE);
            CHECK_HAS(vmafgpu_last_error(context), words);
            missing++;
        } else if (CHECK_INT(came, VMAFGPU_OK)) {
            check_row(score.values, expected->clip.values + i * expected->clip.columns, expected->clip.columns);
        }
    }
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
    CHECK_INT(result, missing ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
    CHECK(!missing || g->sim.hit()[0] != 0);

    /* scores a shorter clip; a GPU that has failed is not used again, so frames in device memory cannot be scored */
    CHECK_INT(vmafgpu_reusable_count(context), SHORT_FRAMES);
    if (!way->spoils) {
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        for (int i = 0; i < 2; i++)
            CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
        result = vmafgpu_flush(context);
        if (on_device && result != VMAFGPU_OK)
            CHECK_INT(result, VMAFGPU_ERROR_DEVICE);
        else if (CHECK_INT(result, VMAFGPU_OK) && CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_OK))
            check_row(score.values, expected->clip.values, expected->clip.columns);
    }
    {
        const int has_failed = vmafgpu_backend_note(context)[0] != 0;
        CHECK_STR(vmafgpu_backend_name(context), has_failed ? "cpu" : g->vendor->name);
        if (!CHECK(has_failed == (g->sim.hit()[0] || t->failed) || is_harmless(g->sim.hit())))
            printf("failed function: %s\n", g->sim.hit());
    }
    vmafgpu_close(context);
}

enum { ONE_CALL, LOST, ALLOCATION, FAULTS };
static const char *const fault_names[FAULTS] = { "failed call", "device lost at call", "failed allocation" };

/* Returns by how many calls the injected fault moves from one run to the next. With TEST_ALL, this is `stride`. With
 * TEST_SOME, every other call or allocation is enough, because the host code is the same for both vendors. With
 * TEST_FEW, every allocation still fails once, so that sanitizers can find leaks. */
static int stride_of(int fault, int stride) {
    const test_amount depth = test_depth();
    if (fault == ONE_CALL && stride == 1)
        return depth == TEST_ALL ? 1 : depth == TEST_SOME ? 2 : 23;
    if (fault == ALLOCATION && stride == 1 && depth == TEST_SOME)
        return 2;
    return fault == LOST && depth == TEST_FEW ? 4 * stride : stride;
}

/* Repeats the run, injecting one fault that moves `stride` calls or allocations later each time, until a run completes
 * without reaching the fault. */
static void check_faults(gpu *g, const film *f, int selected, const cpu_scores *expected, const char *kind,
                         vmafgpu_backend backend, int fault, const push_plan *way, int stride) {
    static const int errors[] = { 2, 700, 719, 999 };
    vmafgpu_config config = gpu_config(g, f);
    reel r = reel_of_kinds(g, f, kind);
    long baseline[SIMULATED_KINDS], runs = 0;
    int is_over = 0;
    stride = stride_of(fault, stride);
    config.backend = backend;
    config.gpu.skip_self_test = backend != VMAFGPU_BACKEND_AUTO && fault != LOST;
    config.gpu.frame_memory = *kind == 'd' ? VMAFGPU_MEMORY_DEVICE : VMAFGPU_MEMORY_HOST;
    config.gpu.batch = way->batch;
    config.gpu.queue_depth = way->queue;
    select_features(&config, &selections[selected]);
    for (long n = stride % 2 == 0 && g->vendor->backend == VMAFGPU_BACKEND_HIP ? 2 : 1; !is_over; n += stride) {
        tally t;
        where("%s %ld, '%s', backend %d, batch %d, queue %d%s", fault_names[fault], n, kind, (int)backend, way->batch,
              way->queue, way->spoils ? ", reuse" : "");
        if (way->spoils && runs) {
            reel_free(g, &r);
            r = reel_of_kinds(g, f, kind);
        }
        for (int i = 0; i < SIMULATED_KINDS; i++)
            baseline[i] = g->sim.live(i);
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        if (fault == ONE_CALL)
            g->sim.fail(NULL, n, errors[runs % 4]);
        else if (fault == LOST)
            g->sim.lose(n, errors[1 + runs % 3]);
        else
            t.fail_at = n;
        short_run(g, &r, &config, expected, &t, way);
        is_over = fault == ALLOCATION ? !t.failed : g->sim.hit()[0] == 0;
        /* if the device is lost, its context cannot be made current, so the objects in the context cannot be
         * released */
        for (int i = 0; i < (fault == LOST ? 1 : SIMULATED_KINDS); i++) {
            if (!CHECK_INT(g->sim.live(i), baseline[i])) {
                printf("objects of kind %d; failed function: %s; %s %ld %s\n", i, g->sim.hit(), fault_names[fault], n,
                       kind);
            }
        }
        g->sim.fail(NULL, 0, 0);
        g->sim.lose(0, 0);
        gpu_check_caller(g);
        CHECK_INT(t.live, 0);
        CHECK_INT(fault == LOST ? 0 : g->sim.pending(), 0);
        runs++;
        test_need(n < 5000, "the faults do not end");
    }
    CHECK(runs > 5);
    reel_free(g, &r);
    if (fault == LOST) {
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

/* Simulates losing the device, and then makes an allocation of the CPU backend fail. Some pairs may have no score, but
 * later pairs have one. */
static void check_lost_without_memory(gpu *g) {
    for (long n = 1; n <= 4; n++) {
        film f = film_make("texture+mix", 40, 36, 8, SHORT_FRAMES, 113);
        vmafgpu_config config = gpu_config(g, &f);
        vmafgpu_feature_config feature = VMAFGPU_INIT;
        reel r = reel_of_kinds(g, &f, "p");
        scores expected;
        vmafgpu *context;
        vmafgpu_score score;
        tally t;
        memset(&t, 0, sizeof t);
        where("lost GPU, and allocation %ld fails", n);
        feature.name = "float_adm";
        config.features = &feature;
        config.feature_count = 1;
        config.gpu.batch = 1;
        expected = cpu_score(&f, &config);
        config.allocator = tally_allocator(&t);
        context = open_checked(&config);
        for (int i = 0; i < SHORT_FRAMES && context; i++) {
            if (i == 2) {
                t.fail_at = n;
                g->sim.lose(1, 700);
            }
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        (void)vmafgpu_flush(context);
        for (int i = 0; i < SHORT_FRAMES && context; i++) {
            const vmafgpu_result result = vmafgpu_next_score(context, &score);
            CHECK(result == VMAFGPU_OK || (t.failed && result == VMAFGPU_ERROR_MEMORY));
            if (result == VMAFGPU_OK)
                check_row(score.values, expected.values + i * expected.columns, expected.columns);
        }
        vmafgpu_close(context);
        CHECK_INT(t.live, 0);
        g->sim.lose(0, 0);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

static void check_all_faults(gpu *g) {
    static const push_plan plain = { 2, 2, 2, 0 }, reuse = { 2, 2, 2, 1 },
                           full[] = { { 1, 1, -1, 0 }, { 1, 2, -1, 0 }, { 2, 2, -1, 1 } };
    const vmafgpu_backend backend = g->vendor->backend;
    film f = small_film(DEFAULT, 20, 18, 8, SHORT_FRAMES, 111);
    cpu_scores expected = short_answers(&f, DEFAULT);
    check_faults(g, &f, DEFAULT, &expected, "h", VMAFGPU_BACKEND_AUTO, ONE_CALL, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "p", backend, ONE_CALL, &reuse, 1);
    check_faults(g, &f, DEFAULT, &expected, "d", backend_for_device(g), ONE_CALL, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "hp", backend, LOST, &reuse, 3);
    check_faults(g, &f, DEFAULT, &expected, "d", backend, LOST, &plain, 3);
    check_faults(g, &f, DEFAULT, &expected, "h", VMAFGPU_BACKEND_AUTO, ALLOCATION, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "d", backend, ALLOCATION, &plain, 1);
    for (int i = 0; i < 3; i++)
        check_faults(g, &f, DEFAULT, &expected, i == 1 ? "hp" : i ? "p" : "h", backend, ONE_CALL, &full[i], 1);
    scores_free(&expected.clip);
    free(expected.pair);
    film_free(&f);
    check_lost_without_memory(g);
}

/* With v1 models, the CPU needs chroma to take over, and the GPU runs more kernels. */
static void check_faults_of_v1(gpu *g) {
    static const push_plan plain = { 2, 2, 2, 0 }, reuse = { 2, 2, -1, 1 };
    const vmafgpu_backend backend = g->vendor->backend;
    film f = small_film(V1, 20, 18, 8, SHORT_FRAMES, 112);
    cpu_scores expected = short_answers(&f, V1);
    check_faults(g, &f, V1, &expected, "h", VMAFGPU_BACKEND_AUTO, ONE_CALL, &plain, 11);
    check_faults(g, &f, V1, &expected, "hp", backend, LOST, &reuse, 17);
    check_faults(g, &f, V1, &expected, "p", backend, ALLOCATION, &reuse, 1);
    scores_free(&expected.clip);
    free(expected.pair);
    film_free(&f);
}

/* ---- edits and maps ---- */

enum { EDITS = 3, BLOCK = 16, BLOCKS = 3 * 3, STEPS = 5 };

/* The frames of a base, in any kind of memory. */
typedef struct edit_frames {
    vmafgpu_frame before, reference, after, distorted;
} edit_frames;

/* Results of calls on a base, and then of a push. */
typedef struct edit_results {
    vmafgpu_result results[STEPS];  /* results of begin, try, commit, try, map */
    double base, committed, pushed; /* `pushed` is NaN if the pair has no score */
    vmafgpu_edit_score tried[2][EDITS];
    vmafgpu_block blocks[BLOCKS];
    vmafgpu_result asked; /* result of the call that requests the map of the pair */
    float map[BLOCKS];
} edit_results;

static vmafgpu_result edit_step(vmafgpu *v, const edit_frames *f, const vmafgpu_edit *edits, int step,
                                edit_results *a) {
    vmafgpu_score score = VMAFGPU_INIT;
    int across = 0, down = 0;
    vmafgpu_result result;
    switch (step) {
    case 0:
        result = vmafgpu_edit_begin(v, &f->reference, &f->distorted, &f->before, &f->after, &score);
        a->base = score.score;
        break;
    case 2:
        result = vmafgpu_edit_commit(v, edits, EDITS - 1, &score);
        a->committed = score.score;
        break;
    case 4: result = vmafgpu_edit_blocks(v, BLOCK, a->blocks, &across, &down); break;
    default: result = vmafgpu_edit_try(v, edits, EDITS, a->tried[step / 2], NULL); break;
    }
    return result;
}

/* Begins an edit, tries and commits candidates, and pushes a pair. If the GPU has failed, there is no base, but pairs
 * in host memory are still scored. */
static void run_edits(vmafgpu *v, const edit_frames *f, const vmafgpu_edit *edits, edit_results *a) {
    const int on_device = f->reference.memory == VMAFGPU_MEMORY_DEVICE;
    vmafgpu_score score;
    int is_lost = 0;
    memset(a, 0, sizeof *a);
    for (int step = 0; step < STEPS; step++) {
        a->results[step] = edit_step(v, f, edits, step, a);
        CHECK_INT(a->results[step],
                  !is_lost ? vmafgpu_backend_note(v)[0] ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK : VMAFGPU_ERROR_STATE);
        if (a->results[step] != VMAFGPU_OK) {
            CHECK_HAS(vmafgpu_last_error(v), is_lost ? "there is no base" : vmafgpu_backend_note(v));
            is_lost = 1;
        }
        for (int i = 0; i < EDITS && step % 2 && a->results[step] == VMAFGPU_ERROR_DEVICE; i++) {
            CHECK_INT(a->tried[step / 2][i].result, VMAFGPU_ERROR_DEVICE);
            CHECK(a->tried[step / 2][i].change != a->tried[step / 2][i].change);
        }
    }
    if (is_lost) {
        CHECK_INT(vmafgpu_edit_begin(v, &f->reference, &f->distorted, NULL, NULL, NULL), VMAFGPU_ERROR_DEVICE);
        CHECK_HAS(vmafgpu_last_error(v), vmafgpu_backend_note(v));
    }
    a->asked = vmafgpu_request_map(v, a->map, VMAFGPU_MEMORY_HOST);
    CHECK_INT(a->asked, is_lost ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
    CHECK_INT(vmafgpu_push(v, &f->reference, &f->distorted), VMAFGPU_OK);
    const vmafgpu_result result = vmafgpu_flush(v);
    CHECK_INT(result,
              on_device && vmafgpu_backend_note(v)[0] && result != VMAFGPU_OK ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(v, &score), result);
    a->pushed = score.score;
}

/* Compares results with those of the CPU. After a failure, results may be missing but not wrong. */
static void check_edit_results(const edit_results *a, const edit_results *expected, int has_failed) {
    CHECK(memcmp(&a->pushed, &expected->pushed, sizeof a->pushed) == 0 || (has_failed && a->pushed != a->pushed));
    for (int i = 0; i < BLOCKS && a->asked == VMAFGPU_OK; i++)
        CHECK(memcmp(&a->map[i], &expected->map[i], sizeof a->map[i]) == 0 || (has_failed && a->map[i] != a->map[i]));
    for (int step = 0; step < STEPS; step++) {
        if (a->results[step] != VMAFGPU_OK)
            continue;
        if (step == 4) {
            for (int i = 0; i < BLOCKS; i++)
                CHECK_BITS(a->blocks[i].loss, expected->blocks[i].loss);
        } else if (step % 2) {
            for (int i = 0; i < EDITS; i++) {
                CHECK_BITS(a->tried[step / 2][i].score, expected->tried[step / 2][i].score);
                CHECK_BITS(a->tried[step / 2][i].change, expected->tried[step / 2][i].change);
            }
        } else {
            CHECK_BITS(step ? a->committed : a->base, step ? expected->committed : expected->base);
        }
    }
}

/* Like check_faults(), for edits. One of the edits has its samples in device memory. */
static void check_edit_faults(gpu *g, const film *f, const char *kind, vmafgpu_config *config,
                              const vmafgpu_edit *on_host, const edit_results *expected, int fault, int stride) {
    reel r = reel_of_kinds(g, f, kind);
    const edit_frames frames = { *reel_frame(&r, 0, 0), *reel_frame(&r, 1, 0), *reel_frame(&r, 2, 0),
                                 *reel_frame(&r, 1, 1) };
    vmafgpu_edit edits[EDITS];
    uint64_t device = 0;
    int is_over = 0, runs = 0;
    memcpy(edits, on_host, sizeof edits);
    test_need(g->take(&device, BLOCK * BLOCK) == 0, "out of device memory");
    CHECK_INT(gpu_write(g, device, edits[1].data, BLOCK * BLOCK), 0);
    edits[1].data = (const void *)(uintptr_t)device;
    edits[1].memory = VMAFGPU_MEMORY_DEVICE;
    stride = stride_of(fault, stride);
    config->gpu.frame_memory = frames.reference.memory;
    for (long n = stride % 2 == 0 && g->is_hip ? 2 : 1; !is_over; n += stride) {
        long baseline[SIMULATED_KINDS];
        edit_results a;
        tally t;
        vmafgpu *v = NULL;
        where("edits, %s %ld, '%s'", fault_names[fault], n, kind);
        for (int i = 0; i < SIMULATED_KINDS; i++)
            baseline[i] = g->sim.live(i);
        memset(&t, 0, sizeof t);
        config->allocator = tally_allocator(&t);
        if (fault == ONE_CALL)
            g->sim.fail(NULL, n, 700);
        else if (fault == LOST)
            g->sim.lose(n, 719);
        else
            t.fail_at = n;
        const vmafgpu_result result = vmafgpu_open(&v, config);
        if (result == VMAFGPU_OK) {
            run_edits(v, &frames, edits, &a);
            const int has_failed = vmafgpu_backend_note(v)[0] != 0;
            CHECK(has_failed == (g->sim.hit()[0] != 0) || is_harmless(g->sim.hit()));
            CHECK(!t.failed); /* nothing is allocated after vmafgpu_open() */
            check_edit_results(&a, expected, has_failed);
        } else {
            CHECK_INT(result, fault == ALLOCATION ? VMAFGPU_ERROR_MEMORY : VMAFGPU_ERROR_BACKEND);
            CHECK(strlen(vmafgpu_last_error(v)) > 10);
        }
        vmafgpu_close(v);
        is_over = fault == ALLOCATION ? !t.failed : g->sim.hit()[0] == 0;
        for (int i = 0; i < (fault == LOST ? 1 : SIMULATED_KINDS); i++)
            CHECK_INT(g->sim.live(i), baseline[i]);
        g->sim.fail(NULL, 0, 0);
        g->sim.lose(0, 0);
        gpu_check_caller(g);
        CHECK_INT(t.live, 0);
        runs++;
        test_need(n < 5000, "the faults do not end");
    }
    CHECK(runs > 5);
    CHECK_INT(g->give(device), 0);
    reel_free(g, &r);
    if (fault == LOST) {
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

/* Checks that, with AUTO, the CPU computes the maps if a copy to the GPU fails in vmafgpu_open(). */
static void check_map_opens(gpu *g, const edit_frames *f, vmafgpu_config *config, const edit_results *expected) {
    int is_over = 0;
    for (long n = 1; !is_over; n++) {
        vmafgpu *v = NULL;
        vmafgpu_score score;
        float map[BLOCKS];
        tally t;
        where("maps, copy %ld at open fails", n);
        memset(&t, 0, sizeof t);
        config->allocator = tally_allocator(&t);
        g->sim.fail(g->is_hip ? "hipMemcpyHtoDAsync" : "cuMemcpyHtoDAsync_v2", n, 700);
        CHECK_INT(vmafgpu_open(&v, config), VMAFGPU_OK);
        is_over = g->sim.hit()[0] == 0;
        g->sim.fail(NULL, 0, 0);
        CHECK_STR(vmafgpu_backend_name(v), is_over ? g->vendor->name : "cpu");
        CHECK((vmafgpu_backend_note(v)[0] == 0) == is_over);
        if (!is_over)
            CHECK_INT(vmafgpu_get_config(v)->gpu.batch, 0);
        CHECK_INT(vmafgpu_request_map(v, map, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v, &f->reference, &f->distorted), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        if (CHECK_INT(vmafgpu_next_score(v, &score), VMAFGPU_OK)) {
            CHECK_BITS(score.score, expected->pushed);
            CHECK(memcmp(map, expected->map, sizeof map) == 0);
        }
        vmafgpu_close(v);
        CHECK_INT(t.live, 0);
        gpu_check_caller(g);
        test_need(n < 50, "the faults do not end");
    }
}

static void check_all_edit_faults(gpu *g) {
    film f = film_make("texture+mix", 3 * BLOCK, 3 * BLOCK - 6, 8, 3, 113);
    vmafgpu_config config = film_config(&f);
    const edit_frames frames = { film_frame(&f, 0, 0), film_frame(&f, 1, 0), film_frame(&f, 2, 0),
                                 film_frame(&f, 1, 1) };
    unsigned char samples[BLOCK * BLOCK];
    vmafgpu_edit edits[EDITS];
    edit_results expected;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.live = 1;
    config.max_edit_size = config.map_block_size = BLOCK;
    for (int i = 0; i < (int)sizeof samples; i++)
        samples[i] = (unsigned char)(i * 7);
    memset(edits, 0, sizeof edits);
    for (int i = 0; i < EDITS; i++) {
        edits[i].x = 9 * i;
        edits[i].y = 4 * i;
        edits[i].width = BLOCK - i;
        edits[i].height = BLOCK - 2 * i;
        edits[i].data = samples;
    }
    vmafgpu *v = open_checked(&config);
    run_edits(v, &frames, edits, &expected);
    vmafgpu_close(v);
    config = gpu_config(g, &f);
    config.gpu.skip_self_test = 1;
    config.live = 1;
    config.max_edit_size = config.map_block_size = BLOCK;
    check_edit_faults(g, &f, "h", &config, edits, &expected, ONE_CALL, 1);
    check_edit_faults(g, &f, "d", &config, edits, &expected, ONE_CALL, 1);
    check_edit_faults(g, &f, "h", &config, edits, &expected, LOST, 7);
    check_edit_faults(g, &f, "h", &config, edits, &expected, ALLOCATION, 1);
    config.gpu.skip_self_test = 0;
    check_edit_faults(g, &f, "d", &config, edits, &expected, ALLOCATION, 1);
    config.gpu.skip_self_test = 1;
    config.gpu.frame_memory = VMAFGPU_MEMORY_HOST;
    config.max_edit_size = 0;
    config.backend = VMAFGPU_BACKEND_AUTO;
    check_map_opens(g, &frames, &config, &expected);
    film_free(&f);
}

/* ---- memory for the CPU only ---- */

/* The sizes of the allocations of a context. If is_closed, other sizes are refused. */
typedef struct sizes {
    size_t of[256];
    int count, is_closed, refused;
} sizes;

static void *sizes_alloc(void *user, size_t size) {
    sizes *s = (sizes *)user;
    int i = 0;
    while (i < s->count && s->of[i] != size)
        i++;
    if (i == s->count && s->is_closed) {
        __atomic_add_fetch(&s->refused, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    test_need(i < (int)(sizeof s->of / sizeof *s->of), "too many sizes");
    if (i == s->count)
        s->of[s->count++] = size;
    return malloc(size);
}

static void sizes_free(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

/* If there is memory for the CPU backend but not for a GPU, AUTO must use the CPU. */
static void check_memory_for_cpu(gpu *g) {
    static const char *const ways[] = { "plain", "in the background", "three threads", "maps" };
    film f = film_make("texture+mix", 64, 48, 8, 3, 97);
    for (int way = 0; way < 4; way++) {
        vmafgpu_config config = gpu_config(g, &f);
        vmafgpu_allocator allocator = { sizes_alloc, sizes_free, NULL };
        sizes all;
        where("memory for the CPU only, %s", ways[way]);
        config.gpu.open_in_background = way == 1;
        config.threads = way == 2 ? 3 : 1;
        config.map_block_size = way == 3 ? 16 : 0;
        config.live = way == 3;
        scores expected = cpu_score(&f, &config);
        memset(&all, 0, sizeof all);
        allocator.user = &all;
        config.allocator = allocator;
        for (int is_auto = 0; is_auto < 2; is_auto++) {
            config.backend = is_auto ? VMAFGPU_BACKEND_AUTO : VMAFGPU_BACKEND_CPU;
            all.is_closed = is_auto;
            vmafgpu *context = open_checked(&config);
            reel r = reel_of_kinds(g, &f, "h");
            for (int i = 0; i < 3 && context; i++)
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (context && CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK)) {
                scores got = scores_of(context);
                CHECK_STR(vmafgpu_backend_name(context), "cpu");
                check_same_scores(&got, &expected);
                scores_free(&got);
            }
            if (context && is_auto && way != 1)
                CHECK_HAS(vmafgpu_backend_note(context), "out of memory");
            vmafgpu_close(context);
            reel_free(g, &r);
        }
        CHECK(all.refused > 0);
        scores_free(&expected);
    }
    film_free(&f);
}

void test_failures(gpu *g) {
    if (!g->is_simulated) {
        test_skip("failures: the driver is not a simulated one");
        return;
    }
    check_memory_for_cpu(g);
    check_all_faults(g);
    check_faults_of_v1(g);
    check_all_edit_faults(g);
}

/* ---- execution orders ---- */

/* Runs blocks, warps and streams in every order that the simulated GPU supports. */
void test_orders(gpu *g) {
    /* clang-format off */
    static const equality cases[] = {
        {"texture+mix", 49, 37, 8, 6, {"hpd", 0, 0, 0, 0, 0}, 2, 2, MANY, 0, 0, KEPT, 0},
        {"texture+stretch", 48, 37, 10, 5, {"d", 0, 0, 0, 0, 0}, 1, 3, DEFAULT, 0, 2, KEPT, 0},
        {"texture+mix", 28, 20, 8, 8, {"d", 0, 0, 0, 0, 0}, 1, 3, WINDOWS, 0, 0, KEPT, 0}, /* needs older batches */
    };
    /* clang-format on */
    if (!g->is_simulated) {
        test_skip("execution orders: the driver is not a simulated one");
        return;
    }
    for (int blocks = SIMULATED_FORWARD; blocks <= SIMULATED_SHUFFLED; blocks++) {
        for (int streams = SIMULATED_LAZY; streams <= SIMULATED_MIXED; streams++) {
            gpu_end(g);
            gpu_begin(g, blocks, streams, 17u + (uint64_t)streams);
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                if ((blocks + streams + (int)i) % 2 == 0 || i != 1)
                    check_generated(g, &cases[i], 7);
        }
    }
    for (int streams = SIMULATED_EAGER; streams <= SIMULATED_MIXED; streams++) {
        gpu_end(g);
        gpu_begin(g, SIMULATED_FORWARD, streams, 5);
        test_caller_stream(g);
        test_reuse(g);
        test_score_pair(g);
        test_next_score(g);
    }
}
