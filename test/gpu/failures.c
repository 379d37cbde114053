/* On the simulated GPU: every call of the driver and every allocation fails once; orders of execution. */
#include "gpu.h"

/* ---- failures, on the simulated GPU ---- */

/* The pair by itself comes before its frames are pushed. */
enum { SHORT_FRAMES = 8, PAIR = 4, PAIR_BEFORE = 3 };

/* How the run goes. Without a pair by itself the queue is full now and then. */
typedef struct course {
    int batch, queue;
    int pair_at; /* behind which frame a pair is scored by itself; -1: none */
    int spoils;  /* host frames are overwritten as soon as they may be */
} course;

/* What the CPU makes of the short run. */
typedef struct answers {
    scores  clip;
    double *pair; /* of vmafgpu_score_pair() */
} answers;

static answers short_answers(const film *f, int selected) {
    answers a;
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
    test_need(a.pair && context && vmafgpu_score_pair(context, &before, &reference, &distorted, &score) == VMAFGPU_OK,
              "answers");
    memcpy(a.pair, score.values, sizeof *a.pair * (size_t)a.clip.columns);
    vmafgpu_close(context);
    return a;
}

/* Overwrites what may be reused, in host memory. */
static void spoil_reusable(const reel *r, vmafgpu *context, int64_t *spoilt) {
    for (const int64_t reusable = vmafgpu_reusable(context); *spoilt < reusable; ++*spoilt) {
        memset(r->pictures[2 * *spoilt].bytes, 0xA7, r->pictures[2 * *spoilt].size);
        memset(r->pictures[2 * *spoilt + 1].bytes, 0xA7, r->pictures[2 * *spoilt + 1].size);
    }
}

/* Whether the engine may do without what this entry point gives. */
static int is_harmless(const char *entry) {
    static const char *const entries[] = {"cuCtxPopCurrent_v2", "cuDeviceGetName",
                                          "cuModuleGetFunction" /* of a better form */,
                                          "hipModuleGetFunction", "hipGetDevice", "hipSetDevice" /* to the caller's */};
    int found = 0;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        found |= strcmp(entry, entries[i]) == 0;
    }
    return found;
}

/* One run from open to close, in which a call of the driver or an allocation may fail. on_device: frames are where the
 * CPU cannot read them. */
static void short_run(gpu *g, const reel *r, const vmafgpu_config *config, const answers *expected, const tally *t,
                      const course *way) {
    const int on_device = config->gpu.frames == VMAFGPU_MEMORY_DEVICE;
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
        if (way->spoils) {
            spoil_reusable(r, context, &spoilt);
        }
        if (i == way->pair_at) {
            result = vmafgpu_score_pair(context, reel_frame(r, PAIR_BEFORE, 0), reel_frame(r, PAIR, 0),
                                        reel_frame(r, PAIR, 1), &score);
            if (on_device && result != VMAFGPU_OK) {
                CHECK_INT(result, VMAFGPU_ERROR_DEVICE);
                CHECK_HAS(vmafgpu_last_error(context), "single pair");
            } else if (CHECK_INT(result, VMAFGPU_OK)) {
                check_row(score.values, expected->pair, expected->clip.columns);
            }
        }
        if (way->spoils && i == 3) {
            CHECK_INT(vmafgpu_wait(context, 3), VMAFGPU_OK);
            CHECK(vmafgpu_reusable(context) >= 3);
            spoil_reusable(r, context, &spoilt);
        }
    }
    result = vmafgpu_flush(context);
    for (int i = 0; i < SHORT_FRAMES; i++) {
        const vmafgpu_result came = vmafgpu_next(context, &score);
        CHECK_INT(score.index, i);
        if (on_device && came != VMAFGPU_OK) {
            char words[32];
            snprintf(words, sizeof words, "frame %d ", i);
            CHECK_INT(came, VMAFGPU_ERROR_DEVICE);
            CHECK_INT(score.result, VMAFGPU_ERROR_DEVICE);
            CHECK_HAS(vmafgpu_last_error(context), words);
            missing++;
        } else if (CHECK_INT(came, VMAFGPU_OK)) {
            check_row(score.values, expected->clip.values + i * expected->clip.columns, expected->clip.columns);
        }
    }
    CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_END);
    CHECK_INT(result, missing ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
    CHECK(!missing || g->sim.hit()[0] != 0);

    /* once more, shorter; what failed stays failed, and frames on the device cannot be had */
    CHECK_INT(vmafgpu_reusable(context), SHORT_FRAMES);
    if (!way->spoils) {
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        for (int i = 0; i < 2; i++) {
            CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
        }
        result = vmafgpu_flush(context);
        if (on_device && result != VMAFGPU_OK) {
            CHECK_INT(result, VMAFGPU_ERROR_DEVICE);
        } else if (CHECK_INT(result, VMAFGPU_OK) && CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_OK)) {
            check_row(score.values, expected->clip.values, expected->clip.columns);
        }
    }
    {
        const int has_failed = vmafgpu_backend_note(context)[0] != 0;
        CHECK_STR(vmafgpu_backend_name(context), has_failed ? "cpu" : g->vendor->name);
        if (!CHECK(has_failed == (g->sim.hit()[0] || t->failed) || is_harmless(g->sim.hit()))) {
            printf("it failed in %s\n", g->sim.hit());
        }
    }
    vmafgpu_close(context);
}

enum { ONE_CALL, LOST, ALLOCATION, FAULTS };

/* Runs with a fault of this sort at the first, second, ... occasion until there are no more. */
static void check_faults(gpu *g, const film *f, int selected, const answers *expected, const char *kind,
                         vmafgpu_backend backend, int fault, const course *way, int stride) {
    static const int errors[] = {2, 700, 719, 999};
    static const char *const names[FAULTS] = {"call", "lost from call", "allocation"};
    vmafgpu_config config = gpu_config(g, f);
    reel r = reel_of_kinds(g, f, kind);
    long baseline[SIMULATED_KINDS], runs = 0;
    int is_over = 0;
    if (stride == 1 && fault == ONE_CALL) {   /* vendors share the host's code: one has the odd ones, one the even ones */
        stride = test_depth() == TEST_ALL ? 1 : test_depth() == TEST_SOME ? 2 : 12;
    }
    config.backend = backend;
    config.gpu.no_self_test = backend != VMAFGPU_BACKEND_AUTO && fault != LOST;
    config.gpu.frames = *kind == 'd' ? VMAFGPU_MEMORY_DEVICE : VMAFGPU_MEMORY_HOST;
    config.gpu.batch = way->batch;
    config.gpu.queue = way->queue;
    select_features(&config, &selections[selected]);
    for (long n = stride % 2 == 0 && g->vendor->backend == VMAFGPU_BACKEND_HIP ? 2 : 1; !is_over; n += stride) {
        tally t;
        where("%s %ld fails, '%s', backend %d, batch %d, queue %d%s", names[fault], n, kind, (int)backend, way->batch,
              way->queue, way->spoils ? ", reuse" : "");
        if (way->spoils && runs) {
            reel_free(g, &r);
            r = reel_of_kinds(g, f, kind);
        }
        for (int i = 0; i < SIMULATED_KINDS; i++) {
            baseline[i] = g->sim.live(i);
        }
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        if (fault == ONE_CALL) {
            g->sim.fail(NULL, n, errors[runs % 4]);
        } else if (fault == LOST) {
            g->sim.lose(n, errors[1 + runs % 3]);
        } else {
            t.fail_at = n;
        }
        short_run(g, &r, &config, expected, &t, way);
        is_over = fault == ALLOCATION ? !t.failed : g->sim.hit()[0] == 0;
        /* While the device is lost no context can be made current, so what is in it goes with it. */
        for (int i = 0; i < (fault == LOST ? 1 : SIMULATED_KINDS); i++) {
            if (!CHECK_INT(g->sim.live(i), baseline[i])) {
                printf("kind %d of objects; it failed in %s; %s %ld %s\n", i, g->sim.hit(), names[fault], n, kind);
            }
        }
        g->sim.fail(NULL, 0, 0);
        g->sim.lose(0, 0);
        gpu_check_caller(g);
        CHECK_INT(t.live, 0);
        CHECK_INT(fault == LOST ? 0 : g->sim.pending(), 0);
        runs++;
        test_need(n < 5000, "the run never ends");
    }
    CHECK(runs > 5);
    reel_free(g, &r);
    if (fault == LOST) {
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

static void check_all_faults(gpu *g) {
    static const course plain = {2, 2, 2, 0}, reuse = {2, 2, 2, 1}, full[] = {{1, 1, -1, 0}, {1, 2, -1, 0}, {2, 2, -1, 1}};
    const vmafgpu_backend backend = g->vendor->backend;
    film f = small_film(DEFAULT, 20, 18, 8, SHORT_FRAMES, 111);
    answers expected = short_answers(&f, DEFAULT);
    check_faults(g, &f, DEFAULT, &expected, "h", VMAFGPU_BACKEND_AUTO, ONE_CALL, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "p", backend, ONE_CALL, &reuse, 1);
    check_faults(g, &f, DEFAULT, &expected, "d", backend_for_device(g), ONE_CALL, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "hp", backend, LOST, &reuse, 3);
    check_faults(g, &f, DEFAULT, &expected, "d", backend, LOST, &plain, 3);
    check_faults(g, &f, DEFAULT, &expected, "h", VMAFGPU_BACKEND_AUTO, ALLOCATION, &plain, 1);
    check_faults(g, &f, DEFAULT, &expected, "d", backend, ALLOCATION, &plain, 1);
    for (int i = 0; i < 3; i++) {
        check_faults(g, &f, DEFAULT, &expected, i == 1 ? "hp" : i ? "p" : "h", backend, ONE_CALL, &full[i], 1);
    }
    scores_free(&expected.clip);
    free(expected.pair);
    film_free(&f);
}

/* Where the CPU needs chroma to take over, and the GPU has more to do. */
static void check_faults_of_v1(gpu *g) {
    static const course plain = {2, 2, 2, 0}, reuse = {2, 2, -1, 1};
    const vmafgpu_backend backend = g->vendor->backend;
    film f = small_film(V1, 20, 18, 8, SHORT_FRAMES, 112);
    answers expected = short_answers(&f, V1);
    check_faults(g, &f, V1, &expected, "h", VMAFGPU_BACKEND_AUTO, ONE_CALL, &plain, 11);
    check_faults(g, &f, V1, &expected, "hp", backend, LOST, &reuse, 17);
    check_faults(g, &f, V1, &expected, "p", backend, ALLOCATION, &reuse, 1);
    scores_free(&expected.clip);
    free(expected.pair);
    film_free(&f);
}

void test_failures(gpu *g) {
    if (!g->is_simulated) {
        test_skip("failures: this driver does not fail on demand");
        return;
    }
    check_all_faults(g);
    check_faults_of_v1(g);
}

/* ---- orders of execution ---- */

/* Blocks, warps and streams in every order that the simulation has. */
void test_orders(gpu *g) {
    static const equality cases[] = {
        {"texture+mix", 49, 37, 8, 6, {"hpd", 0, 0, 0, 0, 0}, 2, 2, MANY, 0, 0, KEPT, 0},
        {"texture+stretch", 48, 37, 10, 5, {"d", 0, 0, 0, 0, 0}, 1, 3, DEFAULT, 0, 2, KEPT, 0},
        {"texture+mix", 28, 20, 8, 8, {"d", 0, 0, 0, 0, 0}, 1, 3, WINDOWS, 0, 0, KEPT, 0}, /* looks two batches back */
    };
    if (!g->is_simulated) {
        test_skip("orders of execution: this is no simulation");
        return;
    }
    for (int blocks = SIMULATED_FORWARD; blocks <= SIMULATED_SHUFFLED; blocks++) {
        for (int streams = SIMULATED_LAZY; streams <= SIMULATED_MIXED; streams++) {
            gpu_end(g);
            gpu_begin(g, blocks, streams, 17u + (uint64_t)streams);
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if ((blocks + streams + (int)i) % 2 == 0 || i != 1) {
                    check_generated(g, &cases[i], 7);
                }
            }
        }
    }
    for (int streams = SIMULATED_EAGER; streams <= SIMULATED_MIXED; streams++) {
        gpu_end(g);
        gpu_begin(g, SIMULATED_FORWARD, streams, 5);
        test_caller_stream(g);
        test_reuse(g);
        test_single(g);
        test_rhythm(g);
    }
}
