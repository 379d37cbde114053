/* Tests clips that are scored by more than one backend: config.gpu.open_in_background, which moves a clip from the CPU
 * to a GPU, and several GPUs. The scores must be bit-identical, even with acquired pairs, failures and early closes. */
#define _POSIX_C_SOURCE 200809L /* nanosleep() */
#include "gpu.h"
#include <pthread.h>
#include <time.h>

static void pause_a_little(void) {
    const struct timespec pause = { 0, 300000 };
    nanosleep(&pause, NULL);
}

static void wait_for_opening(const vmafgpu *context) {
    while (vmafgpu_is_opening(context))
        pause_a_little();
}

/* Causes the init function of a simulated GPU to block until released. A real GPU may finish opening at any time. */
static void hold_opening(gpu *g, int is_held) {
    if (g->is_simulated)
        g->sim.hold(is_held ? g->vendor->init : NULL);
}

/* Returns a config with backend AUTO that opens this GPU in the background. The other vendor's driver must not be
 * installed. */
static vmafgpu_config background_config(const gpu *g, const film *f) {
    vmafgpu_config config = gpu_config(g, f);
    config.backend = VMAFGPU_BACKEND_AUTO;
    config.gpu.open_in_background = 1;
    config.gpu.batch = 2;
    config.gpu.queue_depth = 2;
    return config;
}

static void check_no_note(const vmafgpu *context) {
    CHECK_STR(vmafgpu_backend_note(context), "");
}

/* ---- opening a GPU in the background ---- */

/* Selections with standalone features. TEMPORAL needs preceding distorted frames and the chroma of references. */
enum { TEMPORAL = -2, STANDALONE = -1 };
static const selection temporal = { "temporal",
                                    1,
                                    { { NULL, NULL, NULL, 0, 0, 0, NULL } },
                                    2,
                                    { { "speed_temporal", NULL }, { "float_motion", "motion_add_uv=true" } } };
static const selection standalone = { "standalone",
                                      1,
                                      { { NULL, NULL, NULL, 0, 0, 0, NULL } },
                                      3,
                                      { { "psnr", NULL }, { "float_motion", NULL }, { "float_moment", NULL } } };

static const selection *selection_of(int selected) {
    return selected == STANDALONE ? &standalone : selected == TEMPORAL ? &temporal : &selections[selected];
}

/* How a clip is pushed. */
typedef struct push_plan {
    int selected, batch, queue, subsample, threads, delivery, discard;
    int first, end; /* range of pushed pairs; the frames just outside it are pushed as preceding and following frames */
    int ahead;      /* number of pairs to acquire in advance; 0: no pairs are acquired */
    int depth, shift, chroma;
} push_plan;

static void fill_acquired(const film *f, int i, const push_plan *j, const vmafgpu_frame *pair) {
    storage how = { "h", 0, 0, 0, 0, 0 };
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

/* Pushes pairs `*at` to `end` - 1 as planned, and acquires pairs in advance. */
static void push_until(const film *f, const push_plan *j, const reel *r, vmafgpu *context, collector *taken,
                       vmafgpu_frame (*acquired)[2], int *at, int *acquired_end, int end) {
    for (; *at < end; ++*at) {
        while (j->ahead && *acquired_end < j->end && *acquired_end - *at < j->ahead) {
            vmafgpu_frame *pair = acquired[*acquired_end % 64];
            const vmafgpu_result result = vmafgpu_acquire_pair(context, &pair[0], &pair[1]);
            if (result == VMAFGPU_AGAIN) {
                CHECK(*acquired_end > *at);
                break;
            }
            if (!CHECK_INT(result, VMAFGPU_OK))
                break;
            fill_acquired(f, (*acquired_end)++, j, pair);
        }
        if (j->ahead)
            CHECK_INT(vmafgpu_push(context, &acquired[*at % 64][0], &acquired[*at % 64][1]), VMAFGPU_OK);
        else
            CHECK_INT(reel_push(r, context, *at), VMAFGPU_OK);
        if (taken && j->delivery == NEXT)
            collect_next(context, taken);
    }
}

/* Scores a clip. The GPU becomes ready just before pair `ready` is pushed. */
static void check_ready_before(gpu *g, const film *f, const push_plan *j, int ready) {
    const storage how = { "h", 0, j->shift, 0, 0, j->shift != 0 };
    vmafgpu_config config = background_config(g, f);
    reel r = reel_make(g, f, &how);
    vmafgpu_frame acquired[64][2];
    collector taken;
    scores expected, part;
    vmafgpu *context;
    int at = j->first, acquired_end = j->first, tails;
    select_features(&config, selection_of(j->selected));
    config.layout = j->shift ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
    config.gpu.batch = j->batch;
    config.gpu.queue_depth = j->queue;
    config.gpu.copy_threads = j->threads;
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
        const int seeds = j->first < vmafgpu_preceding_count(context) ? j->first : vmafgpu_preceding_count(context);
        if (g->is_simulated && j->selected >= 0) {
            CHECK_INT(vmafgpu_is_opening(context), 1);
            CHECK_STR(vmafgpu_device_name(context), "");
            CHECK_INT(vmafgpu_device_memory(context), 0);
        }
        CHECK_STR(vmafgpu_backend_name(context), "cpu");
        for (int i = j->first - seeds; i < j->first; i++)
            CHECK_INT(vmafgpu_push_preceding(context, reel_frame(&r, i, 0)), VMAFGPU_OK);
        push_until(f, j, &r, context, &taken, acquired, &at, &acquired_end, ready);
        CHECK(!g->is_simulated || vmafgpu_next_device(context) == -1);
        hold_opening(g, 0);
        wait_for_opening(context);
        push_until(f, j, &r, context, &taken, acquired, &at, &acquired_end, j->end);
        tails = f->clip.frames - j->end;
        for (int i = 0; i < tails && i < 2; i++)
            CHECK_INT(vmafgpu_push_following(context, reel_frame(&r, j->end + i, 0)), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_reusable_count(context), j->end - j->first);
        if (ready + (j->ahead > 4 ? 4 : j->ahead) + 2 < j->end &&
            (j->selected >= 0 || vmafgpu_device_name(context)[0])) {
            CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
            CHECK(vmafgpu_device_memory(context) > 0 && vmafgpu_device_name(context)[0]);
            CHECK_INT(vmafgpu_get_config(context)->gpu.batch, j->batch);
        }
        CHECK(j->selected < 0 || !vmafgpu_backend_note(context)[0]);
        if (j->delivery == NEXT)
            collect_next(context, &taken);
        if (j->delivery == KEPT) {
            scores got = scores_of(context);
            check_same_scores(&got, &part);
            scores_free(&got);
            /* the next clip starts on the GPU */
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            for (int i = 0; i < f->clip.frames && ready == j->first; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_STR(vmafgpu_backend_name(context), vmafgpu_device_name(context)[0] ? g->vendor->name : "cpu");
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        }
        if (j->delivery == KEPT)
            scores_free(&taken.got);
        else
            check_collected(&taken, &part);
        vmafgpu_close(context);
    }
    hold_opening(g, 0);
    scores_free(&part);
    scores_free(&expected);
    reel_free(g, &r);
}

/* clang-format off */
static const push_plan background_cases[] = {
    {DEFAULT, 2, 2, 0, 1, KEPT, 0, 0, 12, 0, 8, 0, 0},
    {ADM, 2, 2, 0, 1, KEPT, 0, 0, 9, 0, 8, 0, 0},            /* no motion */
    {WINDOWS, 3, 2, 0, 2, CALLBACK, 0, 0, 13, 0, 8, 0, 0},   /* needs two preceding frames */
    {WINDOWS, 1, 1, 0, 1, NEXT, 1, 3, 10, 0, 10, 0, 0},      /* preceding and following frames */
    {DEFAULT, 2, 1, 3, 3, CALLBACK, 1, 1, 12, 0, 8, 0, 0},
    {DEFAULT, 2, 2, 0, 1, KEPT, 0, 0, 13, 64, 8, 0, 0},      /* acquired pairs */
    {WINDOWS, 2, 2, 2, 2, NEXT, 0, 2, 12, 3, 10, 6, 0},
    {STANDALONE, 2, 2, 0, 1, KEPT, 0, 0, 9, 0, 8, 0, 0},
    {TEMPORAL, 2, 2, 0, 1, KEPT, 0, 0, 8, 0, 8, 0, 0},
    {TEMPORAL, 1, 2, 2, 1, NEXT, 0, 0, 7, 2, 10, 6, 0},
};
/* clang-format on */

void test_background(gpu *g) {
    for (size_t i = 0; i < sizeof background_cases / sizeof background_cases[0]; i++) {
        const push_plan *j = &background_cases[i];
        const int size = j->selected == TEMPORAL ? 160 : 0;
        film f = j->selected < 0
                     ? film_make_colour("texture+mix", size ? size : 40, size ? size : 36, j->depth, 420, j->end, 807)
                     : film_make("texture+mix", 40, 36, j->depth, j->end + (j->first ? 2 : 0), (uint32_t)(800 + i));
        for (int ready = j->first; ready <= j->end; ready += g->is_simulated ? 1 : 6) {
            where("GPU in the background, case %d, ready before pair %d", (int)i, ready);
            check_ready_before(g, &f, j, ready);
        }
        film_free(&f);
    }
}

/* ---- failures while a GPU is opened in the background ---- */

/* Pushes a film and waits before the fourth pair until the GPU is open or has failed. Compares the scores. */
static void push_film(const film *f, const reel *r, const vmafgpu_config *config, const scores *expected,
                      vmafgpu **opened) {
    vmafgpu *context = *opened = open_checked(config);
    scores got;
    (void)f;
    if (!context)
        return;
    for (int i = 0; i < r->count / 2; i++) {
        if (i == 3)
            wait_for_opening(context);
        CHECK_INT(reel_push(r, context, i), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    got = scores_of(context);
    check_same_scores(&got, expected);
    scores_free(&got);
}

/* Makes each driver call fail in turn (fault 0), simulates losing the device at each call in turn (1), or makes each
 * allocation fail in turn (2). */
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
    for (int i = 0; i < SIMULATED_KINDS; i++)
        baseline[i] = g->sim.live(i);
    for (long n = 1; !is_over; n += fault == 1 ? 3 : 1) {
        vmafgpu *context;
        tally t;
        int has_failed;
        where("fault %d, occasion %ld, with a GPU in the background", fault, n);
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        config.gpu.skip_self_test = n % 2 == 0;
        if (fault == 0)
            g->sim.fail(NULL, n, 700);
        else if (fault == 1)
            g->sim.lose(n, 719);
        else
            t.fail_at = n + 40; /* skips the allocations that vmafgpu_open() itself makes */
        push_film(&f, &r, &config, &expected, &context);
        has_failed = fault == 2 ? t.failed : g->sim.hit()[0] != 0;
        if (context) {
            const int is_noted = vmafgpu_backend_note(context)[0] != 0;
            CHECK_STR(vmafgpu_backend_name(context), is_noted ? "cpu" : g->vendor->name);
            CHECK(has_failed || !is_noted);
        }
        vmafgpu_close(context);
        is_over = !has_failed;
        for (int i = 0; i < (fault == 1 ? 1 : SIMULATED_KINDS); i++)
            CHECK_INT(g->sim.live(i), baseline[i]);
        g->sim.fail(NULL, 0, 0);
        g->sim.lose(0, 0);
        gpu_check_caller(g);
        CHECK_INT(t.live, 0);
        test_need(n < 3000, "the faults do not end");
    }
    scores_free(&expected);
    reel_free(g, &r);
    film_free(&f);
    if (fault == 1) {
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

/* After the GPU has been opened, simulates losing it at each driver call in turn while the clip moves to the GPU. */
static void check_lost_after_opening(gpu *g) {
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
        where("GPU in the background, lost at call %ld after it is open", n);
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
    const struct timespec soon = { 0, 30000000 };
    nanosleep(&soon, NULL);
    ((gpu *)user)->sim.hold(NULL);
    return NULL;
}

/* Closes, resets and flushes a context while its background thread is blocked in a driver call. */
static void check_close_while_opening(gpu *g) {
    static const char *const cuda[] = { "cuInit", "cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx", "cuMemAlloc_v2",
                                        "cuEventCreate" };
    static const char *const hip[] = { "hipInit", "hipSetDevice", "hipModuleLoadDataEx", "hipMalloc",
                                       "hipEventCreateWithFlags" };
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
            where("closed while %s is blocked, way %d", (g->is_hip ? hip : cuda)[at], way);
            g->sim.hold((g->is_hip ? hip : cuda)[at]);
            context = open_checked(&config);
            for (int i = 0; i < 3; i++)
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            CHECK_INT(
                vmafgpu_score_pair(context, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), reel_frame(&r, 0, 0), &score),
                VMAFGPU_OK);
            if (way == 1)
                CHECK_INT(vmafgpu_acquire_pair(context, &pair[0], &pair[1]), VMAFGPU_OK);
            if (way >= 2) {
                for (int i = 3; i < 6; i++)
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
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
                for (int i = 0; i < 6; i++)
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                scores got = scores_of(context);
                check_same_scores(&got, &expected);
                scores_free(&got);
                CHECK_STR(vmafgpu_backend_name(context), way == 3 ? g->vendor->name : "cpu");
            }
            test_need(pthread_create(&releaser, NULL, release_soon, g) == 0, "cannot start a thread");
            vmafgpu_close(context);
            pthread_join(releaser, NULL);
            reel_free(g, &r);
            CHECK_INT(g->sim.live(SIMULATED_CONTEXTS), live);
        }
    }
    scores_free(&expected);
    film_free(&f);
}

static void parallel_of_three(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    *(int *)user += count == 3;
    for (int i = 0; i < count; i++)
        task(arg, i);
}

static void check_background_rules(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 4, 823);
    vmafgpu_config config = background_config(g, &f);
    scores expected = cpu_score(&f, &config);
    reel host = reel_of_kinds(g, &f, "h"), device = reel_of_kinds(g, &f, "d");
    vmafgpu *context;
    where("rules for GPUs in the background");
    context = open_checked(&config);
    CHECK_INT(reel_push(&device, context, 0), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.gpu.frame_memory");
    wait_for_opening(context);
    CHECK_INT(vmafgpu_stream_wait(context, NULL, 0), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(context), "open_in_background");
    CHECK_INT(vmafgpu_after_stream(context, NULL), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(context), "open_in_background");
    vmafgpu_close(context);

    config.gpu.kernels_path = "/no/such/kernels";
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
    /* with a backend other than AUTO, the GPU is open when vmafgpu_open() returns */
    config.backend = g->vendor->backend;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_is_opening(context), 0);
    CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
    CHECK_INT(vmafgpu_next_device(context), 0);
    vmafgpu_close(context);
    if (!g->is_hip) {
        config.backend = VMAFGPU_BACKEND_AUTO;
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_is_opening(context), 0);
        reel_finish(&device, context, 0);
        check_context(g, context, &expected);
        vmafgpu_close(context);
    }
    /* after vmafgpu_open() has returned, the caller may overwrite the string that kernels_path points to */
    config = background_config(g, &f);
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
    /* the same for kernels in memory */
    config = background_config(g, &f);
    {
        enum { MOST = 1 << 20 };
        FILE *file = fopen(g->kernels_path, "rb");
        unsigned char *kernels = (unsigned char *)malloc(MOST);
        test_need(file && kernels, "the kernels cannot be read");
        const size_t size = fread(kernels, 1, MOST, file);
        fclose(file);
        if (size > 0 && size < MOST) {
            config.gpu.kernels_path = NULL;
            config.gpu.kernels = kernels;
            config.gpu.kernels_size = size;
            hold_opening(g, 1);
            context = open_checked(&config);
            memset(kernels, '?', MOST);
            hold_opening(g, 0);
            wait_for_opening(context);
            reel_finish(&host, context, 0);
            check_context(g, context, &expected);
            vmafgpu_close(context);
        }
        free(kernels);
    }
    for (int threads = 0; threads < 4; threads += 3) { /* until the GPU is open, the copy threads compute scores */
        int calls = 0;
        config = background_config(g, &f);
        config.gpu.copy_threads = threads;
        config.parallel_for = parallel_of_three;
        config.parallel_for_user = &calls;
        hold_opening(g, 1);
        context = open_checked(&config);
        CHECK_INT(reel_push(&host, context, 0), VMAFGPU_OK);
        CHECK(threads ? calls > 0 : calls == 0);
        hold_opening(g, 0);
        wait_for_opening(context);
        reel_finish(&host, context, 1);
        check_context(g, context, &expected);
        vmafgpu_close(context);
    }
    scores_free(&expected);
    reel_free(g, &host);
    reel_free(g, &device);
    film_free(&f);
}

static vmafgpu_config devices_config(const gpu *g, const film *f, const int *devices, int count);

/* Makes each allocation of vmafgpu_open() fail in turn, for GPUs in the background and for two GPUs. The open fails for
 * lack of memory, or the context scores the clip. */
static void check_open_lacks_memory(gpu *g) {
    enum { FRAMES = 4 };
    static const int two[2] = { 0, 1 };
    film f = film_make("texture+mix", 20, 18, 8, FRAMES, 824);
    reel r = reel_of_kinds(g, &f, "h");
    for (int way = 0; way < 5; way++) {
        int is_over = 0, refused = 0, scored = 0;
        for (long n = 1; !is_over; n++) {
            vmafgpu_config config = way < 2 ? background_config(g, &f) : devices_config(g, &f, two, 2);
            tally t;
            vmafgpu *context = NULL;
            select_features(&config, &selections[DEFAULT]);
            scores expected = cpu_score(&f, &config);
            memset(&t, 0, sizeof t);
            t.fail_at = n;
            where("allocation %ld fails while GPUs are opened, way %d", n, way);
            config.backend = way == 2 ? g->vendor->backend : VMAFGPU_BACKEND_AUTO;
            config.gpu.device_count = way == 4 ? VMAFGPU_ALL_DEVICES : config.gpu.device_count;
            config.gpu.copy_threads = way % 2 ? 2 : 0;
            config.allocator = tally_allocator(&t);
            const vmafgpu_result result = vmafgpu_open(&context, &config);
            if (result == VMAFGPU_OK) {
                scores got;
                wait_for_opening(context);
                for (int i = 0; i < FRAMES; i++)
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                got = scores_of(context);
                check_same_scores(&got, &expected);
                scores_free(&got);
                if (strcmp(vmafgpu_backend_name(context), g->vendor->name) != 0)
                    CHECK_HAS(vmafgpu_backend_note(context), " memory");
                scored += t.failed;
            } else {
                CHECK_INT(result, VMAFGPU_ERROR_MEMORY);
                CHECK_HAS(vmafgpu_last_error(context), " memory");
                refused++;
            }
            vmafgpu_close(context);
            is_over = !t.failed;
            CHECK_INT(t.live, 0);
            scores_free(&expected);
            test_need(n < 1000, "the faults do not end");
        }
        CHECK(refused > 5 && (way > 1 || scored > 3));
    }
    reel_free(g, &r);
    film_free(&f);
}

void test_background_failures(gpu *g) {
    if (!g->is_simulated) {
        test_skip("failures of a GPU in the background: the driver is not a simulated one");
        return;
    }
    check_background_rules(g);
    check_close_while_opening(g);
    check_lost_after_opening(g);
    check_opening_faults(g, DEFAULT, 0);
    check_opening_faults(g, WINDOWS, 1);
    check_opening_faults(g, DEFAULT, 2);
    check_open_lacks_memory(g);
}

/* ---- several GPUs ---- */

/* Makes a device current for the test's own driver calls. */
static void enter_device(gpu *g, int device, void **context) {
    if (g->is_hip) {
        CHECK_INT(g->set_device(device), 0);
    } else {
        CHECK_INT(g->retain(context, device), 0);
        CHECK_INT(g->push(*context), 0);
    }
}

static void leave_device(gpu *g, int device) {
    void *context = NULL;
    if (g->is_hip) {
        CHECK_INT(g->set_device(0), 0);
    } else {
        CHECK_INT(g->pop(&context), 0);
        CHECK_INT(g->release(device), 0);
    }
}

/* Makes both pictures of frame `index` on a GPU. `context` receives its primary context. */
static void pair_make(gpu *g, const film *f, int index, const storage *how, int device, void **context, picture *pair) {
    enter_device(g, device, context);
    for (int side = 0; side < 2; side++)
        pair[side] = picture_make(g, f, 2 * index + side, how);
    leave_device(g, device);
}

static void pair_free(gpu *g, int device, void **context, picture *pair) {
    enter_device(g, device, context);
    for (int side = 0; side < 2; side++)
        picture_free(g, &pair[side]);
    leave_device(g, device);
}

static vmafgpu_config devices_config(const gpu *g, const film *f, const int *devices, int count) {
    vmafgpu_config config = gpu_config(g, f);
    config.gpu.devices = devices;
    config.gpu.device_count = count;
    config.gpu.batch = 2;
    config.gpu.queue_depth = 2;
    return config;
}

static const int both[2] = { 0, 1 }, reverse[2] = { 1, 0 }, three[3] = { 2, 0, 1 };

/* Checks that a score has the tag of its pair. */
static void check_tag_of_pair(void *user, const vmafgpu_score *score) {
    CHECK(score->tag == ~(uint64_t)score->index);
    ++*(int *)user;
}

/* Checks tags, with config.discard_scores, while more pairs are in flight than the context has score rows. */
static void check_tags(gpu *g, const int *devices, int count) {
    enum { PAIRS = 300 };
    film f = small_film(DEFAULT, 32, 32, 8, 5, 31);
    vmafgpu_config config = devices_config(g, &f, devices, count);
    vmafgpu *context;
    int delivered = 0;
    where("tags, config.gpu.device_count %d", count);
    config.gpu.batch = 32;
    config.gpu.queue_depth = 4;
    config.discard_scores = 1;
    config.on_score = check_tag_of_pair;
    config.on_score_user = &delivered;
    context = open_checked(&config);
    for (int i = 0; i < PAIRS && context; i++) {
        vmafgpu_frame reference = film_frame(&f, i % 5, CLIP_REFERENCE);
        vmafgpu_frame distorted = film_frame(&f, i % 5, CLIP_DISTORTED);
        distorted.tag = ~(uint64_t)i;
        CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(delivered, PAIRS);
    vmafgpu_close(context);
    film_free(&f);
}

void test_tags(gpu *g) {
    check_tags(g, NULL, 0);
}

/* Checks frames in every kind of memory, with waits, on two and three GPUs. */
static void check_devices(gpu *g, int count) {
    static const struct {
        int selected, width, height, depth, frames, count, batch, queue, subsample, threads, delivery, spoils;
        const char *kinds;
    } cases[] = {
        { DEFAULT, 40, 36, 8, 30, 2, 2, 2, 0, 1, KEPT, 0, "h" },
        { DEFAULT, 40, 36, 8, 30, 2, 2, 2, 0, 3, CALLBACK, 1, "p" },
        { DEFAULT, 48, 36, 8, 26, 2, 2, 2, 0, 1, NEXT, 0, "d" },
        { WINDOWS, 41, 37, 10, 25, 2, 3, 1, 0, 2, KEPT, 1, "hp" },
        { WINDOWS, 40, 36, 8, 23, 3, 1, 1, 0, 1, CALLBACK, 1, "p" },
        { WINDOWS, 41, 36, 8, 27, 3, 2, 2, 2, 1, KEPT, 0, "d" },
        { ADM, 40, 36, 8, 25, 3, 2, 1, 3, 1, NEXT, 1, "h" },
        { MANY, 40, 36, 10, 20, 2, 1, 3, 0, 2, KEPT, 0, "hpd" },
        { V1, 217, 177, 8, 11, 2, 1, 2, 0, 2, KEPT, 1, "h" },
        { TEMPORAL, 160, 162, 8, 11, 2, 2, 2, 0, 1, KEPT, 1, "hpd" },
        { TEMPORAL, 160, 160, 10, 8, 3, 1, 2, 2, 2, NEXT, 0, "d" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t seed = (uint32_t)(840 + i);
        film f = cases[i].selected == TEMPORAL ? film_make_colour("texture+mix", cases[i].width, cases[i].height,
                                                                  cases[i].depth, 420, cases[i].frames, seed)
                                               : small_film(cases[i].selected, cases[i].width, cases[i].height,
                                                            cases[i].depth, cases[i].frames, seed);
        const int *devices = cases[i].count == 3 ? three : i % 2 ? reverse : both;
        vmafgpu_config config = devices_config(g, &f, devices, cases[i].count);
        reel r = reel_of_kinds(g, &f, cases[i].kinds);
        scores expected;
        collector taken;
        vmafgpu *context;
        int seen[3] = { 0, 0, 0 };
        int64_t spoilt = 0;
        where("several GPUs, case %d", (int)i);
        if (cases[i].count > count) {
            reel_free(g, &r);
            film_free(&f);
            continue;
        }
        select_features(&config, selection_of(cases[i].selected));
        config.gpu.batch = cases[i].batch;
        config.gpu.queue_depth = cases[i].queue;
        config.gpu.copy_threads = cases[i].threads;
        config.subsample = cases[i].subsample;
        expected = cpu_score(&f, &config);
        taken = collector_like(&expected, cases[i].subsample);
        config.on_score = cases[i].delivery == CALLBACK ? collect : NULL;
        config.on_score_user = &taken;
        context = open_checked(&config);
        for (int k = 0; k < cases[i].frames && context; k++) {
            const int device = vmafgpu_next_device(context);
            CHECK(device >= 0 && device < 3);
            seen[device >= 0 && device < 3 ? device : 0]++;
            CHECK_INT(reel_push(&r, context, k), VMAFGPU_OK);
            if (cases[i].delivery == NEXT)
                collect_next(context, &taken);
            if (k % 9 == 5) {
                CHECK_INT(vmafgpu_wait(context, k % 2 ? -1 : k - 2), VMAFGPU_OK);
                CHECK(vmafgpu_reusable_count(context) >= (k % 2 ? k + 1 : k - 2));
            }
            for (const int64_t reusable = vmafgpu_reusable_count(context); cases[i].spoils && spoilt < reusable;
                 spoilt++) {
                picture_spoil(g, &r.pictures[2 * spoilt]);
                picture_spoil(g, &r.pictures[2 * spoilt + 1]);
            }
        }
        if (!context) {
            scores_free(&taken.got);
            scores_free(&expected);
            reel_free(g, &r);
            film_free(&f);
            continue;
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
        check_no_note(context);
        CHECK_INT(vmafgpu_get_config(context)->gpu.device_count, cases[i].count);
        for (int k = 0; k < cases[i].count; k++)
            CHECK(seen[k] > 1);
        if (cases[i].delivery == KEPT) {
            scores got = scores_of(context);
            check_same_scores(&got, &expected);
            scores_free(&got);
            scores_free(&taken.got);
        } else {
            if (cases[i].delivery == NEXT)
                collect_next(context, &taken);
            check_collected(&taken, &expected);
        }
        vmafgpu_close(context);
        scores_free(&expected);
        reel_free(g, &r);
        film_free(&f);
    }
}

/* Checks frames in the memory of the device that vmafgpu_next_device() returns, and single pairs scored in between. */
static void check_next_device(gpu *g) {
    enum { FRAMES = 26 };
    static const storage how = { "d", 0, 0, 48, 0, 0 }, upside_down = { "d", 0, 0, -48, 0, 0 };
    for (int way = 0; way < 3; way++) {
        film f = film_make("texture+mix", 48, 36, 8, FRAMES, 850);
        vmafgpu_config config = devices_config(g, &f, both, 2);
        scores expected, got;
        picture pictures[2 * FRAMES];
        int devices[FRAMES];
        void *contexts[FRAMES];
        vmafgpu *context;
        where("frames on the next device, way %d", way);
        select_features(&config, &selections[way ? WINDOWS : DEFAULT]);
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        expected = cpu_score(&f, &config);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            vmafgpu_score score;
            devices[i] = vmafgpu_next_device(context);
            pair_make(g, &f, i, way == 2 ? &upside_down : &how, devices[i], &contexts[i], &pictures[2 * i]);
            if (i % 7 == 3) {
                CHECK_INT(vmafgpu_score_pair(context, &pictures[2 * i].frame, &pictures[2 * i + 1].frame,
                                             &pictures[2 * i - 2].frame, &score),
                          VMAFGPU_OK);
                CHECK(way || score.score != 0);
            }
            CHECK_INT(vmafgpu_push(context, &pictures[2 * i].frame, &pictures[2 * i + 1].frame), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        got = scores_of(context);
        check_same_scores(&got, &expected);
        scores_free(&got);
        for (int i = 0; i < FRAMES; i++)
            pair_free(g, devices[i], &contexts[i], &pictures[2 * i]);
        vmafgpu_close(context); /* until here, the context retains the primary contexts */
        scores_free(&expected);
        film_free(&f);
    }
}

/* Tests single pairs and candidates with several GPUs, also while pairs are acquired. */
static void check_devices_single(gpu *g) {
    enum { FRAMES = 8, CANDIDATES = 3 };
    film f = film_make("texture+mix", 41, 36, 8, FRAMES, 855);
    vmafgpu_config config = devices_config(g, &f, both, 2), plain;
    reel r = reel_of_kinds(g, &f, "h");
    const push_plan j = { WINDOWS, 2, 2, 0, 1, KEPT, 0, 0, FRAMES, 8, 8, 0, 0 };
    vmafgpu_frame acquired[FRAMES][2], candidates[CANDIDATES];
    vmafgpu_score got[CANDIDATES], expected[CANDIDATES];
    scores whole, part;
    vmafgpu *context, *on_cpu;
    where("candidates with several GPUs");
    select_features(&config, &selections[WINDOWS]);
    config.max_candidates = CANDIDATES;
    whole = cpu_score(&f, &config);
    plain = config;
    plain.backend = VMAFGPU_BACKEND_CPU;
    memset(&plain.gpu, 0, sizeof plain.gpu);
    on_cpu = open_checked(&plain);
    context = open_checked(&config);
    for (int i = 0; i < FRAMES && context; i++) {
        CHECK_INT(vmafgpu_acquire_pair(context, &acquired[i][0], &acquired[i][1]), VMAFGPU_OK);
        fill_acquired(&f, i, &j, acquired[i]);
        for (int k = 0; k < CANDIDATES; k++)
            candidates[k] = *reel_frame(&r, (i + k) % FRAMES, 1);
        const vmafgpu_frame *reference = reel_frame(&r, i, 0), *previous = i ? reel_frame(&r, i - 1, 0) : NULL;
        CHECK_INT(vmafgpu_score_candidates(context, reference, candidates, CANDIDATES, previous, got), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_candidates(on_cpu, reference, candidates, CANDIDATES, previous, expected), VMAFGPU_OK);
        for (int k = 0; k < CANDIDATES; k++)
            check_row(got[k].values, expected[k].values, whole.columns);
        CHECK_INT(vmafgpu_score_pair(context, reference, &candidates[1], previous, &got[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_pair(on_cpu, reference, &candidates[1], previous, &expected[1]), VMAFGPU_OK);
        check_row(got[1].values, expected[1].values, whole.columns);
        if (i % 2 == 0)
            continue; /* two pairs are acquired at a time */
        CHECK_INT(vmafgpu_push(context, &acquired[i - 1][0], &acquired[i - 1][1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(context, &acquired[i][0], &acquired[i][1]), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    check_on_gpu(g, context);
    part = scores_of(context);
    check_same_scores(&part, &whole);
    scores_free(&part);
    scores_free(&whole);
    vmafgpu_close(context);
    vmafgpu_close(on_cpu);
    reel_free(g, &r);
    film_free(&f);
}

/* Tests device frames that one GPU cannot copy from the other, because samples are in the high bits. They are rejected
 * if they are on the other GPU, or if features need the references of several frames. */
static void check_peer_formats(gpu *g) {
    enum { FRAMES = 8 };
    static const storage how = { "d", 0, 6, 0, 0, 1 };
    static const char words[] =
        "GPUs cannot copy device frames of this format from each other; use bytes at 8 bits, or "
        "words with samples in the low bits";
    for (int way = 0; way < 3; way++) { /* all frames on one GPU, each on the next GPU, a feature with history */
        film f = film_make("texture+mix", 41, 36, 10, FRAMES, 856);
        vmafgpu_config config = devices_config(g, &f, both, 2);
        vmafgpu_feature_config feature;
        picture pictures[2 * FRAMES];
        int devices[FRAMES], refused = 0;
        void *contexts[FRAMES];
        scores expected, got;
        memset(&feature, 0, sizeof feature);
        feature.name = way == 2 ? "motion" : "vif";
        config.features = &feature;
        config.feature_count = config.features_only = 1;
        config.layout = VMAFGPU_LAYOUT_SEMIPLANAR_HIGH;
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        where("format of device frames with several GPUs, way %d", way);
        expected = cpu_score(&f, &config);
        vmafgpu *context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            devices[i] = way == 0 ? 0 : vmafgpu_next_device(context);
            pair_make(g, &f, i, &how, devices[i], &contexts[i], &pictures[2 * i]);
            const int is_wrong = way == 2 || vmafgpu_next_device(context) != devices[i];
            CHECK_INT(vmafgpu_push(context, &pictures[2 * i].frame, &pictures[2 * i + 1].frame),
                      is_wrong ? VMAFGPU_ERROR_ARGUMENT : VMAFGPU_OK);
            if (is_wrong)
                CHECK_HAS(vmafgpu_last_error(context), words);
            refused += is_wrong;
            if (is_wrong && way == 0) { /* the frames of the other GPU continue the clip */
                pair_free(g, 0, &contexts[i], &pictures[2 * i]);
                devices[i] = 1;
                pair_make(g, &f, i, &how, 1, &contexts[i], &pictures[2 * i]);
                CHECK_INT(vmafgpu_push(context, &pictures[2 * i].frame, &pictures[2 * i + 1].frame), VMAFGPU_OK);
            }
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK(way == 0 ? refused > 0 && refused < FRAMES : way == 1 ? refused == 0 : refused == FRAMES);
        got = scores_of(context);
        if (way < 2)
            check_same_scores(&got, &expected);
        scores_free(&got);
        scores_free(&expected);
        for (int i = 0; i < FRAMES; i++)
            pair_free(g, devices[i], &contexts[i], &pictures[2 * i]);
        vmafgpu_close(context);
        film_free(&f);
    }
}

/* Checks acquired memory with several GPUs, including layouts that are converted in place, and preceding and following
 * frames. */
static void check_devices_acquire(gpu *g) {
    static const push_plan ways[] = {
        { DEFAULT, 2, 2, 0, 1, KEPT, 0, 0, 40, 64, 8, 0, 0 },
        { WINDOWS, 2, 2, 0, 3, KEPT, 0, 0, 37, 5, 10, 6, 0 },
        { WINDOWS, 3, 1, 2, 2, NEXT, 0, 2, 40, 64, 10, 0, 0 },
        { ADM, 1, 3, 0, 1, CALLBACK, 1, 0, 30, 64, 8, 0, 0 },
    };
    for (int way = 0; way < 4; way++) {
        const push_plan *j = &ways[way];
        const storage how = { "h", 0, j->shift, 0, 0, j->shift != 0 };
        film f = film_make("texture+mix", 41, 36, j->depth, j->end + 2, (uint32_t)(860 + way));
        vmafgpu_config config = devices_config(g, &f, both, 2);
        reel r = reel_make(g, &f, &how);
        vmafgpu_frame acquired[64][2];
        scores expected, part;
        collector taken;
        vmafgpu *context;
        int at = j->first, acquired_end = j->first;
        const int step = j->subsample ? j->subsample : 1;
        where("acquired memory of several GPUs, way %d", way);
        select_features(&config, &selections[j->selected]);
        config.layout = j->shift ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
        config.gpu.batch = j->batch;
        config.gpu.queue_depth = j->queue;
        config.gpu.copy_threads = j->threads;
        expected = cpu_score(&f, &config);
        config.subsample = j->subsample;
        part = expected;
        part.rows = (j->end - j->first + step - 1) / step;
        part.values = expected.values;
        for (int i = 0; i < part.rows; i++) {
            memmove(part.values + i * part.columns, expected.values + (j->first + i * step) * part.columns,
                    sizeof(double) * (size_t)part.columns);
        }
        taken = collector_like(&part, j->subsample);
        config.discard_scores = j->discard;
        config.on_score = j->delivery == CALLBACK ? collect : NULL;
        config.on_score_user = &taken;
        context = open_checked(&config);
        if (context) {
            const int seeds = j->first < vmafgpu_preceding_count(context) ? j->first : vmafgpu_preceding_count(context);
            for (int i = j->first - seeds; i < j->first; i++)
                CHECK_INT(vmafgpu_push_preceding(context, reel_frame(&r, i, 0)), VMAFGPU_OK);
            push_until(&f, j, &r, context, &taken, acquired, &at, &acquired_end, j->end);
            for (int i = 0; i < 2; i++)
                CHECK_INT(vmafgpu_push_following(context, reel_frame(&r, j->end + i, 0)), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_on_gpu(g, context);
        }
        if (j->delivery == KEPT) {
            scores got = scores_of(context);
            check_same_scores(&got, &part);
            scores_free(&got);
            scores_free(&taken.got);
        } else {
            if (j->delivery == NEXT)
                collect_next(context, &taken);
            check_collected(&taken, &part);
        }
        vmafgpu_close(context);
        scores_free(&expected);
        reel_free(g, &r);
        film_free(&f);
    }
}

/* Simulates losing one or both of two GPUs at each driver call in turn, with and without acquired pairs, in every kind
 * of memory. */
static void check_devices_lost(gpu *g) {
    enum { FRAMES = 26 };
    for (int way = 0; way < 6; way++) {
        int is_over = 0;
        for (long n = 1; !is_over; n += n < 30 ? 1 : way < 2 ? 7 : 23) {
            const push_plan j = { WINDOWS, 2, 2, 0, 1, KEPT, 0, 0, FRAMES, way == 1 ? 64 : 0, 8, 0, 0 };
            film f = film_make("texture+mix", 20, 18, 8, FRAMES, 870);
            vmafgpu_config config = devices_config(g, &f, way % 2 ? both : reverse, 2);
            reel r = reel_of_kinds(g, &f, way == 3 ? "d" : way == 4 ? "p" : "h");
            vmafgpu_frame acquired[64][2];
            int at = 0, acquired_end = 0, missing = 0;
            int64_t spoilt = 0;
            scores expected;
            vmafgpu *context;
            vmafgpu_result flushed;
            where("one of two GPUs, or both, lost at call %ld, way %d", n, way);
            select_features(&config, &selections[way % 2 ? WINDOWS : DEFAULT]);
            expected = cpu_score(&f, &config);
            context = open_checked(&config);
            if (way == 5)
                g->sim.lose(n, 700);
            else
                g->sim.lose_device(1, n, 719);
            if (way == 4) {
                for (int i = 0; i < FRAMES; i++) {
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                    spoilt = vmafgpu_reusable_count(context) < spoilt ? -1 : vmafgpu_reusable_count(context);
                    CHECK(spoilt >= 0);
                    for (int64_t k = spoilt > 6 ? spoilt - 6 : 0; k < spoilt; k++) {
                        memset(r.pictures[2 * k].bytes, 0xA7, r.pictures[2 * k].size);
                        memset(r.pictures[2 * k + 1].bytes, 0xA7, r.pictures[2 * k + 1].size);
                    }
                }
            } else {
                push_until(&f, &j, &r, context, NULL, acquired, &at, &acquired_end, FRAMES);
            }
            flushed = vmafgpu_flush(context);
            is_over = g->sim.hit()[0] == 0;
            if (!is_over && way != 5) { /* the other GPU continues to score */
                CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
            } else {
                CHECK_STR(vmafgpu_backend_name(context),
                          is_over || !vmafgpu_backend_note(context)[0] ? g->vendor->name : "cpu");
            }
            CHECK(is_over || n > 200 || vmafgpu_backend_note(context)[0] || strstr(g->sim.hit(), "Destroy") ||
                  strstr(g->sim.hit(), "Pop"));
            g->sim.lose(0, 0);
            for (int i = 0; i < FRAMES; i++) {
                vmafgpu_score score;
                const vmafgpu_result came = vmafgpu_next_score(context, &score);
                CHECK_INT(score.index, i);
                if (way == 3 && came == VMAFGPU_ERROR_DEVICE)
                    missing++;
                else if (CHECK_INT(came, VMAFGPU_OK))
                    check_row(score.values, expected.values + i * expected.columns, expected.columns);
            }
            CHECK_INT(flushed, missing ? VMAFGPU_ERROR_DEVICE : VMAFGPU_OK);
            CHECK(missing < FRAMES);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            CHECK_INT(reel_push(&r, context, 0), VMAFGPU_OK);
            vmafgpu_close(context);
            scores_free(&expected);
            g->sim.lose(0, 0);
            reel_free(g, &r);
            film_free(&f);
            if (n > 3000)
                break;
        }
        CHECK_STR(g->sim.report(), "");
        gpu_begin(g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
    }
}

static void parallel_with_gaps(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    int *calls = (int *)user;
    for (int i = ++*calls % 3 == 0; i < count; i++)
        task(arg, i);
}

/* Checks a config.parallel_for that sometimes skips tasks. Pushes may then fail, but no score may be wrong. */
static void check_devices_parallel_for(gpu *g) {
    enum { FRAMES = 24 };
    film f = film_make("texture+mix", 40, 36, 8, FRAMES, 880);
    vmafgpu_config config = devices_config(g, &f, both, 2);
    scores expected = cpu_score(&f, &config);
    reel r = reel_of_kinds(g, &f, "h");
    int calls = 0, refused = 0;
    vmafgpu *context;
    where("several GPUs, parallel_for skips tasks");
    config.gpu.copy_threads = 3;
    config.parallel_for = parallel_with_gaps;
    config.parallel_for_user = &calls;
    context = open_checked(&config);
    for (int i = 0; i < FRAMES && context && refused < 100;) {
        const vmafgpu_result result = reel_push(&r, context, i);
        refused += result != VMAFGPU_OK;
        i += result == VMAFGPU_OK;
    }
    CHECK(refused > 3 && refused < 100);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    check_context(g, context, &expected);
    vmafgpu_close(context);
    scores_free(&expected);
    reel_free(g, &r);
    film_free(&f);
}

static void check_devices_rules(gpu *g, int threads) {
    static const struct {
        int devices[2], count;
        const char *message;
    } wrong[] = {
        { { 0, 0 }, 2, "config.gpu.devices[1]: repeats a device (0, as in devices[0])" },
        { { 0, -1 }, 2, "config.gpu.devices[1]: out of range (-1); use 0 or more" },
        { { 0, 1 }, 17, "config.gpu.device_count" },
        { { 0, 1 }, -2, "config.gpu.device_count" },
        { { 1, 7 }, 2, "config.gpu.devices: no such device (7); the number of devices is 2" },
    };
    film f = film_make("texture+mix", 40, 36, 8, 12, 881);
    vmafgpu_config config;
    scores expected;
    reel r = reel_of_kinds(g, &f, "h"), on_device = reel_of_kinds(g, &f, "d");
    vmafgpu *context = NULL;
    vmafgpu_frame acquired[2][2];
    size_t one, host;
    where("rules for several GPUs, %d threads", threads);
    g->sim.set(SIMULATED_DEVICES, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        for (int is_auto = 0; is_auto < 2; is_auto++) {
            config = devices_config(g, &f, wrong[i].devices, wrong[i].count);
            config.gpu.copy_threads = threads;
            config.backend = is_auto ? VMAFGPU_BACKEND_AUTO : config.backend;
            CHECK(vmafgpu_open(&context, &config) < 0);
            if (!is_auto || !g->is_hip || i < 4)
                CHECK_HAS(vmafgpu_last_error(context), wrong[i].message);
            vmafgpu_close(context);
        }
    }
    config = devices_config(g, &f, NULL, 2);
    config.gpu.copy_threads = threads;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    vmafgpu_close(context);
    config = devices_config(g, &f, both, 2);
    config.gpu.copy_threads = threads;
    config.gpu.stream = &config;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.gpu.stream: requires a single GPU");
    vmafgpu_close(context);
    config = devices_config(g, &f, both, 1);
    config.gpu.copy_threads = threads; /* a device list with one device */
    expected = cpu_score(&f, &config);
    context = open_checked(&config);
    reel_finish(&r, context, 0);
    check_context(g, context, &expected);
    one = vmafgpu_device_memory(context);
    host = vmafgpu_host_memory(context);
    vmafgpu_close(context);
    config.gpu.devices = reverse;
    context = open_checked(&config);
    reel_finish(&on_device, context, 0);
    check_context(g, context, &expected);
    vmafgpu_close(context);

    g->sim.set(SIMULATED_DEVICES, 3);
    config = devices_config(g, &f, NULL, VMAFGPU_ALL_DEVICES);
    config.gpu.copy_threads = threads;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_get_config(context)->gpu.device_count, 3);
    CHECK_INT(vmafgpu_device_memory(context), 3 * one);
    CHECK(vmafgpu_host_memory(context) > 2 * host);
    CHECK_HAS(vmafgpu_device_name(context), "simulated GPU 0 of ");
    CHECK_HAS(vmafgpu_device_name(context), ", simulated GPU 2 of ");
    CHECK_INT(vmafgpu_stream_wait(context, NULL, 0), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_after_stream(context, NULL), VMAFGPU_ERROR_STATE);
    for (int i = 0; i < 2; i++)
        CHECK_INT(vmafgpu_acquire_pair(context, &acquired[i][0], &acquired[i][1]), VMAFGPU_OK);
    /* not the oldest acquired pair */
    CHECK_INT(vmafgpu_push(context, &acquired[1][0], &acquired[1][1]), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "is in acquired memory");
    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
    reel_finish(&r, context, 0);
    check_context(g, context, &expected);
    vmafgpu_close(context);
    g->sim.set(SIMULATED_DEVICES, 2);

    g->sim.lose_device(1, 1, 999); /* with ALL_DEVICES, unusable devices are skipped */
    config.gpu.device_count = VMAFGPU_ALL_DEVICES;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_get_config(context)->gpu.device_count, 1);
    CHECK_HAS(vmafgpu_backend_note(context), "GPU 1: not used: ");
    reel_finish(&r, context, 0);
    CHECK_STR(vmafgpu_backend_name(context), g->vendor->name);
    vmafgpu_close(context);
    config = devices_config(g, &f, both, 2);
    config.gpu.copy_threads = threads; /* if a device list is given, every device in it must be usable */
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
    vmafgpu_close(context);
    g->sim.lose(0, 0);
    g->sim.set(SIMULATED_DEVICES, 0);
    config = devices_config(g, &f, NULL, VMAFGPU_ALL_DEVICES);
    config.gpu.copy_threads = threads;
    config.backend = VMAFGPU_BACKEND_AUTO;
    context = open_checked(&config);
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    vmafgpu_close(context);
    config.backend = g->vendor->backend;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
    vmafgpu_close(context);
    g->sim.set(SIMULATED_DEVICES, 2);
    scores_free(&expected);
    reel_free(g, &r);
    reel_free(g, &on_device);
    film_free(&f);
}

/* Blocks the callers of a driver function until `wanted` threads have called it or ten seconds have passed. */
typedef struct rendezvous {
    gpu *g;
    int wanted, is_met;
} rendezvous;

static void *end_rendezvous(void *user) {
    rendezvous *m = (rendezvous *)user;
    const struct timespec some = { 0, 1000000 };
    for (int i = 0; i < 10000 && m->g->sim.held() < m->wanted; i++)
        nanosleep(&some, NULL);
    m->is_met = m->g->sim.held() >= m->wanted;
    m->g->sim.hold(NULL);
    return NULL;
}

/* Checks that, if there are several threads, all GPUs are opened at the same time. */
static void check_devices_together(gpu *g) {
    static const char *const cuda[] = { "cuDevicePrimaryCtxRetain", "cuModuleLoadDataEx", "cuEventCreate" };
    static const char *const hip[] = { "hipModuleLoadDataEx", "hipMalloc", "hipEventCreateWithFlags" };
    film f = film_make("texture+mix", 40, 36, 8, 6, 882);
    reel r = reel_of_kinds(g, &f, "h");
    for (int at = 0; at < 3; at++) {
        vmafgpu_config config = devices_config(g, &f, three, at == 2 ? VMAFGPU_ALL_DEVICES : 3);
        scores expected = cpu_score(&f, &config);
        rendezvous m = { NULL, 3, 0 };
        pthread_t other;
        vmafgpu *context;
        where("three GPUs in %s at the same time", (g->is_hip ? hip : cuda)[at]);
        m.g = g;
        config.gpu.copy_threads = 2;
        g->sim.hold((g->is_hip ? hip : cuda)[at]);
        test_need(pthread_create(&other, NULL, end_rendezvous, &m) == 0, "cannot start a thread");
        context = open_checked(&config);
        pthread_join(other, NULL);
        CHECK(m.is_met);
        CHECK_HAS(vmafgpu_device_name(context), at == 2 ? "simulated GPU 0 of " : "simulated GPU 2 of ");
        reel_finish(&r, context, 0);
        check_context(g, context, &expected);
        vmafgpu_close(context);
        scores_free(&expected);
    }
    reel_free(g, &r);
    film_free(&f);
}

void test_devices(gpu *g) {
    int count = 0;
    if (g->is_simulated)
        g->sim.set(SIMULATED_DEVICES, 3);
    if (g->device_count(&count) != 0 || count < 2) {
        test_skip("several GPUs: there is one GPU");
        return;
    }
    check_devices(g, count);
    check_tags(g, both, 2);
    check_next_device(g);
    check_devices_single(g);
    check_peer_formats(g);
    check_devices_acquire(g);
    check_devices_parallel_for(g);
    if (g->is_simulated) {
        check_devices_together(g);
        check_devices_rules(g, 0);
        check_devices_rules(g, 3);
        check_devices_lost(g);
    } else {
        test_skip("failures of several GPUs: the driver is not a simulated one");
    }
}

/* Launches a kernel that writes to an invalid address, in the primary context of the device. After that, all calls in
 * this context fail, as if the GPU were gone. */
static void lose_device(gpu *g, int device) {
    static const char image[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                                ".visible .entry fail() {\n"
                                ".reg .u64 %address;\n.reg .u32 %value;\n"
                                "mov.u64 %address, 16;\nmov.u32 %value, 1;\n"
                                "st.global.u32 [%address], %value;\nret;\n}\n";
    void *context = NULL, *module = NULL, *function = NULL;
    enter_device(g, device, &context);
    CHECK_INT(g->module_load(&module, image), 0);
    CHECK_INT(g->module_function(&function, module, "fail"), 0);
    CHECK_INT(g->launch(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
    (void)g->pop(&context);
    (void)g->release(device);
}

/* Tests real GPUs, one of which fails in the middle of a clip: every pair must still be scored. It runs last, because
 * no GPU can be used again in this process. */
void test_real_loss(gpu *g) {
    enum { FRAMES = 600, LOST_AT = 250, MOST = 16 };
    film f;
    vmafgpu_config config;
    reel r;
    scores expected, got;
    vmafgpu *context;
    int devices[MOST], count = 0;
    if (g->is_simulated || g->is_hip || g->device_count(&count) != 0 || count < 2) {
        test_skip("a real GPU that fails: this needs two real NVIDIA GPUs");
        return;
    }
    count = count < MOST ? count : MOST;
    for (int i = 0; i < count; i++)
        devices[i] = i;
    where("one of %d GPUs fails", count);
    f = film_make("texture+mix", 320, 180, 8, FRAMES, 871);
    config = devices_config(g, &f, devices, count);
    config.gpu.batch = 4;
    r = reel_of_kinds(g, &f, "hp");
    expected = cpu_score(&f, &config);
    context = open_checked(&config);
    for (int i = 0; i < FRAMES && context; i++) {
        if (i == LOST_AT)
            lose_device(g, count - 1);
        CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    /* The driver of NVIDIA refuses all further work of the process, so the other GPUs fail, too. */
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    CHECK_HAS(vmafgpu_backend_note(context), "700");
    printf("one of %d GPUs fails: %s\n", count, vmafgpu_backend_note(context));
    got = scores_of(context);
    check_same_scores(&got, &expected);
    scores_free(&got);
    scores_free(&expected);
    vmafgpu_close(context);
    film_free(&f); /* the frames cannot be freed, because the driver refuses that, too */
}
