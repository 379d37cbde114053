/* A clip on several backends: the CPU until a GPU is open, and several GPUs. The same bits at every change-over, whatever is
 * on loan, fails or is closed then. */
#define _POSIX_C_SOURCE 200809L /* nanosleep() */
#include "gpu.h"
#include <pthread.h>
#include <time.h>

static void pause_a_little(void) {
    const struct timespec pause = {0, 300000};
    nanosleep(&pause, NULL);
}

static void wait_for_opening(const vmafgpu *context) {
    while (vmafgpu_is_opening(context)) {
        pause_a_little();
    }
}

/* The first thing that a thread does that opens a GPU. */
static void hold_opening(gpu *g, int is_held) {
    g->sim.hold(is_held ? g->vendor->init : NULL);
}

/* AUTO finds the other vendor's library nowhere, so that the GPU is this one. */
static vmafgpu_config background_config(const gpu *g, const film *f) {
    vmafgpu_config config = gpu_config(g, f);
    config.backend = VMAFGPU_BACKEND_AUTO;
    config.gpu.in_background = 1;
    config.gpu.batch = 2;
    config.gpu.queue = 2;
    return config;
}

static void check_no_note(const vmafgpu *context) {
    CHECK_STR(vmafgpu_backend_note(context), "");
}

/* ---- the CPU until the GPU is open ---- */

/* How a clip goes. */
typedef struct journey {
    int selected, batch, queue, subsample, threads, delivery, discard;
    int first, end; /* pairs of the film that are pushed; what is around them are seeds and tails */
    int loans;      /* pairs that are borrowed ahead; 0: none */
    int depth, shift, chroma;
} journey;

static void fill_lent(const film *f, int i, const journey *j, const vmafgpu_frame *pair) {
    storage how = {"h", 0, 0, 0, 0, 0};
    how.shift = j->shift;
    for (int side = 0; side < 2; side++) {
        for (int plane = 0; plane < 3 && pair[side].data[plane]; plane++) {
            size_t size = 0;
            plane_layout l = plane_place(f, 2 * i + side, plane, &how, &size);
            l.pitch = pair[side].pitch[plane];
            l.at = 0;
            plane_write(f, &l, &how, (unsigned char *)(uintptr_t)pair[side].data[plane]);
        }
    }
}

/* Pushes what is left of the journey up to pair `end`, borrowing ahead. */
static void travel(const film *f, const journey *j, const reel *r, vmafgpu *context, collector *taken, vmafgpu_frame (*lent)[2],
                   int *at, int *borrowed, int end) {
    for (; *at < end; ++*at) {
        while (j->loans && *borrowed < j->end && *borrowed - *at < j->loans) {
            vmafgpu_frame *pair = lent[*borrowed % 64];
            const vmafgpu_result result = vmafgpu_lend(context, &pair[0], &pair[1]);
            if (result == VMAFGPU_AGAIN) {
                CHECK(*borrowed > *at);
                break;
            }
            if (!CHECK_INT(result, VMAFGPU_OK)) {
                break;
            }
            fill_lent(f, (*borrowed)++, j, pair);
        }
        if (j->loans) {
            CHECK_INT(vmafgpu_push(context, &lent[*at % 64][0], &lent[*at % 64][1]), VMAFGPU_OK);
        } else {
            CHECK_INT(reel_push(r, context, *at), VMAFGPU_OK);
        }
        if (taken && j->delivery == NEXT) {
            collect_next(context, taken);
        }
    }
}

/* One clip, in which the GPU becomes ready before pair `ready` is pushed. */
static void check_change(gpu *g, const film *f, const journey *j, int ready) {
    const storage how = {"h", 0, j->shift, 0, 0, j->shift != 0};
    vmafgpu_config config = background_config(g, f);
    reel r = reel_make(g, f, &how);
    vmafgpu_frame lent[64][2];
    collector taken;
    scores expected, part;
    vmafgpu *context;
    int at = j->first, borrowed = j->first, tails;
    select_features(&config, &selections[j->selected]);
    config.layout = j->shift ? VMAFGPU_SEMIPLANAR_HIGH : VMAFGPU_PLANAR;
    config.gpu.batch = j->batch;
    config.gpu.queue = j->queue;
    config.gpu.threads = j->threads;
    expected = cpu_score(f, &config);
    config.subsample = j->subsample;
    part = expected;
    part.rows = (j->end - j->first + (j->subsample ? j->subsample : 1) - 1) / (j->subsample ? j->subsample : 1);
    part.values = (double *)malloc(sizeof(double) * (size_t)(part.rows * part.columns + 1));
    for (int i = 0; i < part.rows; i++) {
        memcpy(part.values + i * part.columns,
               expected.values + (j->first + i * (j->subsample ? j->subsample : 1)) * part.columns,
               sizeof(double) * (size_t)part.columns);
    }
    taken = collector_like(&part, j->subsample);
    config.discard_scores = j->discard;
    config.on_score = j->delivery == CALLBACK ? collect : NULL;
    config.on_score_user = &taken;
    hold_opening(g, 1);
    context = open_checked(&config);
    if (context) {
        const int seeds = j->first < vmafgpu_seed_count(context) ? j->first : vmafgpu_seed_count(context);
        CHECK_INT(vmafgpu_is_opening(context), 1);
        CHECK_STR(vmafgpu_backend_name(context), "cpu");
        CHECK_STR(vmafgpu_device_name(context), "");
        CHECK_INT(vmafgpu_device_memory(context), 0);
        for (int i = j->first - seeds; i < j->first; i++) {
            CHECK_INT(vmafgpu_seed(context, reel_frame(&r, i, 0)), VMAFGPU_OK);
        }
        travel(f, j, &r, context, &taken, lent, &at, &borrowed, ready);
        CHECK_INT(vmafgpu_next_device(context), -1);
        hold_opening(g, 0);
        wait_for_opening(context);
        travel(f, j, &r, context, &taken, lent, &at, &borrowed, j->end);
        tails = f->clip.frames - j->end;
        for (int i = 0; i < tails && i < 2; i++) {
            CHECK_INT(vmafgpu_tail(context, reel_frame(&r, j->end + i, 0)), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_reusable(context), j->end - j->first);
        if (ready + (j->loans > 4 ? 4 : j->loans) + 2 < j->end) {
            CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
            CHECK(vmafgpu_device_memory(context) > 0 && vmafgpu_device_name(context)[0]);
            CHECK_INT(vmafgpu_get_config(context)->gpu.batch, j->batch);
        }
        check_no_note(context);
        if (j->delivery == NEXT) {
            collect_next(context, &taken);
        }
        if (j->delivery == KEPT) {
            scores got = scores_of(context);
            check_same_scores(&got, &part);
            scores_free(&got);
            /* the next clip begins on the GPU */
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            for (int i = 0; i < f->clip.frames && ready == j->first; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        }
        if (j->delivery == KEPT) {
            scores_free(&taken.got);
        } else {
            check_collected(&taken, &part);
        }
        vmafgpu_close(context);
    }
    hold_opening(g, 0);
    scores_free(&part);
    scores_free(&expected);
    reel_free(g, &r);
}

static const journey journeys[] = {
    {DEFAULT, 2, 2, 0, 1, KEPT, 0, 0, 12, 0, 8, 0, 0},
    {ADM, 2, 2, 0, 1, KEPT, 0, 0, 9, 0, 8, 0, 0},            /* without motion */
    {WINDOWS, 3, 2, 0, 2, CALLBACK, 0, 0, 13, 0, 8, 0, 0},   /* two frames back */
    {WINDOWS, 1, 1, 0, 1, NEXT, 1, 3, 10, 0, 10, 0, 0},      /* seeds and tails */
    {DEFAULT, 2, 1, 3, 3, CALLBACK, 1, 1, 12, 0, 8, 0, 0},
    {DEFAULT, 2, 2, 0, 1, KEPT, 0, 0, 13, 64, 8, 0, 0},      /* lent memory */
    {WINDOWS, 2, 2, 2, 2, NEXT, 0, 2, 12, 3, 10, 6, 0},
};

void test_change_over(gpu *g) {
    if (!g->is_simulated) {
        test_skip("change-over: this driver cannot be held back");
        return;
    }
    for (size_t i = 0; i < sizeof journeys / sizeof journeys[0]; i++) {
        const journey *j = &journeys[i];
        film f = film_make("texture+mix", 40, 36, j->depth, j->end + (j->first ? 2 : 0), (uint32_t)(800 + i));
        for (int ready = j->first; ready <= j->end; ready++) {
            where("change-over, journey %d, ready before pair %d", (int)i, ready);
            check_change(g, &f, j, ready);
        }
        film_free(&f);
    }
}

/* ---- what goes wrong meanwhile ---- */

/* Pushes a film, the GPU being ready, or known not to be, before the fourth pair. The bits are the CPU's. */
static void run_through(const film *f, const reel *r, const vmafgpu_config *config, const scores *expected, vmafgpu **opened) {
    vmafgpu *context = *opened = open_checked(config);
    scores got;
    (void)f;
    if (!context) {
        return;
    }
    for (int i = 0; i < r->count / 2; i++) {
        if (i == 3) {
            wait_for_opening(context);
        }
        CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    got = scores_of(context);
    check_same_scores(&got, expected);
    scores_free(&got);
}

/* Every call of the driver fails once, or the device is lost from it on, and every allocation. */
static void check_opening_faults(gpu *g, int selected, int fault) {
    enum { FRAMES = 9 };
    film f = film_make("texture+mix", 20, 18, 8, FRAMES, 820);
    vmafgpu_config config = background_config(g, &f);
    reel r = reel_of_kinds(g, &f, "h");
    scores expected;
    long baseline[SIMULATED_KINDS];
    int is_over = 0;
    select_features(&config, &selections[selected]);
    expected = cpu_score(&f, &config);
    for (int i = 0; i < SIMULATED_KINDS; i++) {
        baseline[i] = g->sim.live(i);
    }
    for (long n = 1; !is_over; n += fault == 1 ? 3 : 1) {
        vmafgpu *context;
        tally t;
        int has_failed;
        where("fault %d, %ld, while the GPU is opened or takes over", fault, n);
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        config.gpu.no_self_test = n % 2 == 0;
        if (fault == 0) {
            g->sim.fail(NULL, n, 700);
        } else if (fault == 1) {
            g->sim.lose(n, 719);
        } else {
            t.fail_at = n + 40; /* the open's own are another test's */
        }
        run_through(&f, &r, &config, &expected, &context);
        has_failed = fault == 2 ? t.failed : g->sim.hit()[0] != 0;
        if (context) {
            const int is_noted = vmafgpu_backend_note(context)[0] != 0;
            CHECK_STR(vmafgpu_backend_name(context), is_noted ? "cpu" : g->vendor->name);
            CHECK(has_failed || !is_noted);
        }
        vmafgpu_close(context);
        is_over = !has_failed;
        for (int i = 0; i < (fault == 1 ? 1 : SIMULATED_KINDS); i++) {
            CHECK_INT(g->sim.live(i), baseline[i]);
        }
        g->sim.fail(NULL, 0, 0);
        g->sim.lose(0, 0);
        gpu_check_caller(g);
        CHECK_INT(t.live, 0);
        test_need(n < 3000, "the run never ends");
    }
    scores_free(&expected);
    reel_free(g, &r);
    film_free(&f);
    if (fault == 1) {
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

/* Lost at each call behind the end of the opening: in the middle of the change-over. */
static void check_lost_in_change(gpu *g) {
    enum { FRAMES = 12 };
    int is_over = 0;
    film f = film_make("texture+mix", 24, 20, 8, FRAMES, 821);
    vmafgpu_config config = background_config(g, &f);
    select_features(&config, &selections[WINDOWS]);
    scores expected = cpu_score(&f, &config);
    for (long n = 1; !is_over; n += n < 40 ? 1 : 5) {
        reel r = reel_of_kinds(g, &f, n % 2 ? "h" : "p");
        vmafgpu *context = open_checked(&config);
        scores got;
        where("the GPU is lost at call %ld of the change-over", n);
        for (int i = 0; i < FRAMES && context; i++) {
            if (i == 4) {
                wait_for_opening(context);
                g->sim.lose(n, 700);
            }
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        is_over = g->sim.hit()[0] == 0;
        CHECK(is_over || vmafgpu_backend_note(context)[0] || strcmp(vmafgpu_backend_name(context), "cpu") != 0);
        g->sim.lose(0, 0);
        got = scores_of(context);
        check_same_scores(&got, &expected);
        scores_free(&got);
        vmafgpu_close(context);
        reel_free(g, &r);
    }
    scores_free(&expected);
    film_free(&f);
    gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
}

static void *release_soon(void *user) {
    const struct timespec soon = {0, 30000000};
    nanosleep(&soon, NULL);
    ((gpu *)user)->sim.hold(NULL);
    return NULL;
}

/* Closed, reset and flushed while the opening stands at one of its calls. */
static void check_ends(gpu *g) {
    static const char *const cuda[] = {"cuInit", "cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx", "cuMemAlloc_v2", "cuEventCreate"};
    static const char *const hip[] = {"hipInit", "hipSetDevice", "hipModuleLoadDataEx", "hipMalloc", "hipEventCreateWithFlags"};
    film f = film_make("texture+mix", 40, 36, 8, 6, 822);
    vmafgpu_config config = background_config(g, &f);
    scores expected = cpu_score(&f, &config);
    for (int at = 0; at < 5; at++) {
        for (int way = 0; way < 5; way++) {
            reel r = reel_of_kinds(g, &f, "h");
            long live = g->sim.live(SIMULATED_CONTEXTS);
            vmafgpu_frame pair[2];
            vmafgpu_score score;
            pthread_t releaser;
            vmafgpu *context;
            where("ended while %s is held back, way %d", (g->is_hip ? hip : cuda)[at], way);
            g->sim.hold((g->is_hip ? hip : cuda)[at]);
            context = open_checked(&config);
            for (int i = 0; i < 3; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 0, 0), reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), &score),
                      VMAFGPU_OK);
            if (way == 1) {
                CHECK_INT(vmafgpu_lend(context, &pair[0], &pair[1]), VMAFGPU_OK);
            }
            if (way >= 2) {
                for (int i = 3; i < 6; i++) {
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                }
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                scores got = scores_of(context);
                check_same_scores(&got, &expected);
                scores_free(&got);
                CHECK_STR(vmafgpu_backend_name(context), "cpu");
                CHECK_INT(vmafgpu_is_opening(context), 1);
            }
            if (way >= 3) {
                CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                if (way == 3) {
                    g->sim.hold(NULL);
                    wait_for_opening(context);
                }
                for (int i = 0; i < 6; i++) {
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                }
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                scores got = scores_of(context);
                check_same_scores(&got, &expected);
                scores_free(&got);
                CHECK_STR(vmafgpu_backend_name(context), way == 3 ? g->vendor->name : "cpu");
            }
            test_need(pthread_create(&releaser, NULL, release_soon, g) == 0, "a thread");
            vmafgpu_close(context);
            pthread_join(releaser, NULL);
            reel_free(g, &r);
            CHECK_INT(g->sim.live(SIMULATED_CONTEXTS), live);
        }
    }
    scores_free(&expected);
    film_free(&f);
}

static void check_background_rules(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 4, 823);
    vmafgpu_config config = background_config(g, &f);
    scores expected = cpu_score(&f, &config);
    reel host = reel_of_kinds(g, &f, "h"), device = reel_of_kinds(g, &f, "d");
    vmafgpu *context;
    where("the rules of opening in the background");
    context = open_checked(&config);
    CHECK_INT(reel_push(&device, context, 0), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.gpu.frames");
    wait_for_opening(context);
    CHECK_INT(vmafgpu_wait_on_stream(context, NULL, 0), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(context), "in_background");
    vmafgpu_close(context);

    config.gpu.kernels_path = "/no/such/kernels"; /* of which no trace is left when it is looked for */
    context = open_checked(&config);
    wait_for_opening(context);
    reel_finish(&host, context, 0);
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    CHECK_HAS(vmafgpu_backend_note(context), "/no/such/kernels");
    {
        scores got = scores_of(context);
        check_same_scores(&got, &expected);
        scores_free(&got);
    }
    vmafgpu_close(context);

    config = background_config(g, &f);
    config.backend = g->vendor->backend; /* who insists has it at once */
    context = open_checked(&config);
    CHECK_INT(vmafgpu_is_opening(context), 0);
    CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
    CHECK_INT(vmafgpu_next_device(context), 0);
    vmafgpu_close(context);
    if (!g->is_hip) {
        config.backend = VMAFGPU_BACKEND_AUTO;
        config.gpu.frames = VMAFGPU_MEMORY_DEVICE;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_is_opening(context), 0);
        reel_finish(&device, context, 0);
        check_context(g, context, &expected);
        vmafgpu_close(context);
    }
    config = background_config(g, &f); /* the path may go when the open is over */
    {
        char path[1024];
        snprintf(path, sizeof path, "%s", g->kernels_path);
        config.gpu.kernels_path = path;
        hold_opening(g, 1);
        context = open_checked(&config);
        memset(path, '?', sizeof path);
        hold_opening(g, 0);
        wait_for_opening(context);
        reel_finish(&host, context, 0);
        check_context(g, context, &expected);
        vmafgpu_close(context);
    }
    scores_free(&expected);
    reel_free(g, &host);
    reel_free(g, &device);
    film_free(&f);
}

void test_opening(gpu *g) {
    if (!g->is_simulated) {
        test_skip("opening in the background: this driver cannot be held back");
        return;
    }
    check_background_rules(g);
    check_ends(g);
    check_lost_in_change(g);
    check_opening_faults(g, DEFAULT, 0);
    check_opening_faults(g, WINDOWS, 1);
    check_opening_faults(g, DEFAULT, 2);
}
