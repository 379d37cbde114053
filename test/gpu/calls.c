/* Tests sequences of calls: consecutive clips, the caller's own streams and contexts, batches, and several contexts and
 * threads. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "gpu.h"

/* ---- orders of calls ---- */

/* Makes all pages that lie entirely inside a picture inaccessible or, if is_hidden is 0, accessible again. */
static void picture_hide(const picture *p, int is_hidden) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)p->bytes + page - 1) / page * page,
                    end = ((uintptr_t)p->bytes + p->size) / page * page;
    test_need(begin < end && mprotect((void *)begin, end - begin, is_hidden ? PROT_NONE : PROT_READ | PROT_WRITE) == 0,
              "mprotect");
}

static jmp_buf after_fault;

static void on_fault(int number) {
    (void)number;
    longjmp(after_fault, 1);
}

/* Checks that vmafgpu_wait() after a flush does not read pinned frames, which the caller may have freed. */
static void check_wait_after_flush(gpu *g) {
    enum { FRAMES = 3 };
    film f = small_film(DEFAULT, 128, 96, 8, FRAMES, 77);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "p");
    vmafgpu *context = open_checked(&config);
    void (*old)(int);
    where("wait after flush");
    for (int i = 0; i < FRAMES && context; i++)
        CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_reusable_count(context), FRAMES);
    for (int i = 0; i < r.count && g->is_simulated; i++)
        picture_hide(&r.pictures[i], 1);
    old = signal(SIGSEGV, on_fault);
    if (setjmp(after_fault) == 0)
        CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
    else
        CHECK(!"a reusable frame is read");
    signal(SIGSEGV, old);
    for (int i = 0; i < r.count && g->is_simulated; i++)
        picture_hide(&r.pictures[i], 0);
    vmafgpu_close(context);
    reel_free(g, &r);
    film_free(&f);
}

/* Overwrites frames as soon as vmafgpu_reusable_count() or vmafgpu_wait() allows their reuse. */
void test_reuse(gpu *g) {
    static const char *const kinds[] = { "d", "p", "dp", "pdd" };
    enum { FRAMES = 9, RING = 3 };
    for (int way = 0; way < 28; way++) {
        const int batch = 1 + way / 4 % 3, queue = 1 + way % 2,
                  selected = way >= 24      ? V1
                             : way % 3 == 2 ? WINDOWS
                                            : DEFAULT;
        film f = small_film(selected, 40, 36, way % 5 == 4 ? 10 : 8, FRAMES, (uint32_t)way + 1);
        vmafgpu_config config = gpu_config(g, &f);
        reel r;
        scores expected;
        int64_t spoilt = 0;
        vmafgpu *context;
        where("reuse, '%s', batch %d, queue %d, %s", kinds[way % 4], batch, queue, selections[selected].name);
        config.gpu.batch = batch;
        config.gpu.queue_depth = queue;
        select_features(&config, &selections[selected]);
        expected = cpu_score(&f, &config);
        r = reel_of_kinds(g, &f, kinds[way % 4]);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            int64_t reusable;
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (way % 2 && i + 1 >= RING) {
                CHECK_INT(vmafgpu_wait(context, i + 1 - RING), VMAFGPU_OK);
                CHECK(vmafgpu_reusable_count(context) >= i + 1 - RING);
            }
            if (way >= 12 && i == 4) {
                CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
                CHECK_INT(vmafgpu_reusable_count(context), i + 1);
            }
            reusable = vmafgpu_reusable_count(context);
            CHECK(reusable >= spoilt && reusable <= i + 1);
            for (; spoilt < reusable; spoilt++) {
                picture_spoil(g, &r.pictures[2 * spoilt]);
                picture_spoil(g, &r.pictures[2 * spoilt + 1]);
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_wait(context, FRAMES + 1), VMAFGPU_ERROR_ARGUMENT);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
            CHECK_INT(vmafgpu_reusable_count(context), FRAMES);
            check_context(g, context, &expected);
            vmafgpu_close(context);
        }
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
    check_wait_after_flush(g);
}

/* Frames are copied to the device, and later overwritten there, on one of the caller's streams. The host does not wait.
 * In the first half of the test, the stream is config.gpu.stream. In the second half, it is passed to
 * vmafgpu_after_stream(). */
void test_caller_stream(gpu *g) {
    enum { FRAMES = 7, WAYS = 16 };
    static const vmafgpu_feature_config chroma_motion = { "float_motion", "motion_add_uv=true:debug=true" };
    for (int all = 0; all < 2 * WAYS; all++) {
        const int way = all % WAYS, calls = all >= WAYS, keeps_chroma = way >= 14;
        const int depth = way % 3 == 2 ? 10 : 8, selected = way >= 12 ? V1 : DEFAULT;
        film f = small_film(selected, way % 2 ? 41 : 40, 36, depth, FRAMES, (uint32_t)way + 5);
        vmafgpu_config config = gpu_config(g, &f);
        reel target = reel_of_kinds(g, &f, "d"), source = reel_of_kinds(g, &f, "p");
        vmafgpu *context = NULL;
        void *stream = NULL;
        int overwritten = 0;
        scores expected;
        config.gpu.batch = 1 + way % 4;
        config.gpu.queue_depth = 1 + way / 4;
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        select_features(&config, &selections[selected]);
        if (keeps_chroma) {
            config.model_count = 0;
            config.features_only = 1;
            config.features = &chroma_motion;
            config.feature_count = 1;
        }
        where("the caller's stream, %s, %d bits, batch %d, queue %d, %s", calls ? "passed later" : "in the config",
              depth, config.gpu.batch, config.gpu.queue_depth,
              keeps_chroma ? "motion of chroma" : selections[selected].name);
        expected = cpu_score(&f, &config);
        CHECK_INT(g->stream_create(&stream, 1), 0);
        config.gpu.stream = calls ? NULL : stream;
        for (int i = 0; i < target.count; i++)
            picture_spoil(g, &target.pictures[i]);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            for (int side = 0; side < 2; side++) {
                const picture *to = &target.pictures[2 * i + side], *from = &source.pictures[2 * i + side];
                /* In the second half, the distorted frames are filled on the default stream. */
                CHECK_INT(g->write_later(to->address, from->bytes, to->size, calls && side ? NULL : stream), 0);
                if (calls)
                    CHECK_INT(vmafgpu_after_stream(context, side ? NULL : stream), VMAFGPU_OK);
            }
            CHECK_INT(reel_push(&target, context, i), VMAFGPU_OK);
            if (i % 3 == 1) {
                CHECK_INT(vmafgpu_stream_wait(context, stream, way & 1 ? -1 : i), VMAFGPU_OK);
                for (; overwritten < 2 * (i + (way & 1)); overwritten++) {
                    const picture *p = &target.pictures[overwritten];
                    CHECK_INT(g->fill_later(p->address, 0x3c, p->size, stream), 0);
                }
            }
        }
        if (context) {
            vmafgpu_score score;
            CHECK_INT(vmafgpu_stream_wait(context, stream, FRAMES + 1), VMAFGPU_ERROR_ARGUMENT);
            CHECK_INT(vmafgpu_stream_wait(context, stream, -1), VMAFGPU_OK);
            /* vmafgpu_score_pair() also waits for the stream */
            CHECK_INT(
                g->write_later(target.pictures[0].address, source.pictures[0].bytes, target.pictures[0].size, stream),
                0);
            CHECK_INT(
                g->write_later(target.pictures[1].address, source.pictures[1].bytes, target.pictures[1].size, stream),
                0);
            if (calls)
                CHECK_INT(vmafgpu_after_stream(context, stream), VMAFGPU_OK);
            if (calls && g->is_simulated) {
                g->sim.fail(g->is_hip ? "hipEventRecord" : "cuEventRecord", 1, 400);
                CHECK_INT(vmafgpu_after_stream(context, stream), VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), "driver rejects the stream");
            }
            if (CHECK_INT(
                    vmafgpu_score_pair(context, reel_frame(&target, 0, 0), reel_frame(&target, 0, 1), NULL, &score),
                    VMAFGPU_OK) &&
                !keeps_chroma) {
                /* adm2 or cambi, which do not depend on other frames */
                CHECK_BITS(score.values[0], expected.values[0]);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
            vmafgpu_close(context);
        }
        CHECK_INT(g->stream_wait(stream), 0);
        CHECK_INT(g->stream_destroy(stream), 0);
        reel_free(g, &target);
        reel_free(g, &source);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Tests a CUcontext that the caller has created on the last device. The calls must not change the current context. */
static void check_caller_context(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 5, 9);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    void *own = NULL, *popped = NULL, *current = NULL;
    int devices = 0;
    where("the caller's context");
    CHECK_INT(g->device_count(&devices), 0);
    if (CHECK_INT(g->create(&own, 0, devices - 1), 0)) {
        reel r = reel_of_kinds(g, &f, "dph");
        vmafgpu *context;
        vmafgpu_score score;
        config.gpu.cuda_context = own;
        config.gpu.batch = 2;
        for (int round = 0; round < 2; round++) {
            void *expected_current = round ? g->context : own;
            if (round)
                CHECK_INT(g->pop(&popped), 0); /* after this, the primary context is current */
            context = open_checked(&config);
            for (int i = 0; i < 5 && context; i++) {
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_INT(g->current(&current), 0);
                CHECK(current == expected_current);
            }
            if (context) {
                CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), NULL, &score),
                          VMAFGPU_OK);
                CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
                check_context(g, context, &expected);
            }
            vmafgpu_close(context);
            CHECK_INT(g->current(&current), 0);
            CHECK(current == expected_current);
        }
        CHECK_INT(g->push(own), 0);
        reel_free(g, &r);
        CHECK_INT(g->pop(&popped), 0);
        CHECK_INT(g->destroy(own), 0);
    }
    scores_free(&expected);
    film_free(&f);
}

/* Checks the current device and the pending error of this thread (HIP). The library may replace a pending error of the
 * caller with its own error, but must not clear it. */
static void check_thread(gpu *g, int device, int has_error) {
    int current = -1;
    CHECK_INT(g->get_device(&current), 0);
    CHECK_INT(current, device);
    CHECK_INT(g->peek_error && g->peek_error() != 0, g->peek_error && has_error);
}

/* Leaves a HIP error pending. */
static void leave_error(gpu *g) {
    int count = 0;
    if (g->is_simulated) {
        g->sim.fail("hipGetDeviceCount", 1, 2);
        CHECK_INT(g->device_count(&count), 2);
    } else {
        CHECK(g->set_device(9999) != 0);
    }
}

/* Tests that the current device does not change, whether or not the context uses it, and that a pending error stays
 * pending. */
static void check_caller_device(gpu *g) {
    film f = film_make("texture+mix", 40, 36, 8, 5, 9);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    vmafgpu *context = NULL;
    vmafgpu_score score;
    int devices = 0;
    CHECK_INT(g->device_count(&devices), 0);
    for (int way = 0; way < 8; way++) {
        const int ours = way & 1 ? devices - 1 : 0, current = way & 2 ? devices - 1 : 0, has_error = way >> 2;
        reel r;
        where("device %d, current device %d%s", ours, current, has_error ? ", with a pending error" : "");
        CHECK_INT(g->set_device(ours), 0);
        r = reel_of_kinds(g, &f, "dph");
        CHECK_INT(g->set_device(current), 0);
        if (has_error)
            leave_error(g);
        config.gpu.device = ours;
        config.gpu.batch = 2;
        context = open_checked(&config);
        check_thread(g, current, has_error);
        for (int i = 0; i < 5 && context; i++) {
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            check_thread(g, current, has_error);
            (void)vmafgpu_next_score(context, &score);
            check_thread(g, current, has_error);
        }
        if (context) {
            CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), NULL, &score),
                      VMAFGPU_OK);
            check_thread(g, current, has_error);
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
            (void)vmafgpu_reusable_count(context);
            check_thread(g, current, has_error);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_thread(g, current, has_error);
            check_context(g, context, &expected);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            check_thread(g, current, has_error);
        }
        vmafgpu_close(context);
        check_thread(g, current, has_error);
        /* vmafgpu_open() fails at an early stage, then at a late stage */
        for (int late = 0; late < 2; late++) {
            vmafgpu_config bad = config;
            bad.gpu.device = late ? ours : 99;
            bad.gpu.kernels_path = late ? "." : config.gpu.kernels_path;
            CHECK_INT(vmafgpu_open(&context, &bad), VMAFGPU_ERROR_BACKEND);
            vmafgpu_close(context);
            check_thread(g, current, has_error);
        }
        if (g->is_simulated) {
            g->sim.fail("hipInit", 1, 101); /* the error code on a machine without a GPU */
            CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_BACKEND);
            CHECK_HAS(vmafgpu_last_error(context), "no device");
            vmafgpu_close(context);
            check_thread(g, current, has_error);
        }
        if (g->take_error)
            (void)g->take_error();
        CHECK_INT(g->set_device(ours), 0);
        reel_free(g, &r);
    }
    CHECK_INT(g->set_device(0), 0);
    where("a context for HIP");
    config.gpu.device = 0;
    config.gpu.cuda_context = &devices;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.gpu.cuda_context");
    vmafgpu_close(context);
    scores_free(&expected);
    film_free(&f);
}

/* Tests that the device of the caller is current again after one of the calls that switch devices has failed. */
static void check_failed_switch(gpu *g) {
    static const char *const entries[] = { "hipGetDevice", "hipSetDevice" };
    film f = film_make("texture+mix", 40, 36, 8, 3, 9);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "h");
    int devices = 0;
    config.gpu.skip_self_test = 1;
    config.gpu.device = 1;
    CHECK_INT(g->device_count(&devices), 0);
    g->sim.set(SIMULATED_DEVICES, 2);
    for (int at = 0; at < 2; at++) {
        int is_over = 0;
        for (long n = 1; !is_over && n < 500; n++) {
            vmafgpu *context = NULL;
            where("call %ld of %s fails", n, entries[at]);
            CHECK_INT(g->set_device(0), 0);
            g->sim.fail(entries[at], n, 999);
            if (vmafgpu_open(&context, &config) == VMAFGPU_OK) {
                for (int i = 0; i < 3; i++)
                    CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
                CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            }
            vmafgpu_close(context);
            is_over = g->sim.hit()[0] == 0;
            g->sim.fail(NULL, 0, 0);
            check_thread(g, 0, 0);
        }
        CHECK(is_over);
    }
    CHECK_INT(g->set_device(0), 0);
    g->sim.set(SIMULATED_DEVICES, devices);
    reel_free(g, &r);
    film_free(&f);
}

void test_caller_context(gpu *g) {
    if (g->is_hip && g->is_simulated)
        check_failed_switch(g);
    if (g->is_hip)
        check_caller_device(g);
    else
        check_caller_context(g);
}

/* vmafgpu_score_pair() and vmafgpu_score_candidates() between pushes. Their scores must equal those of the CPU, and the
 * scores of the clip must not change. */
void test_score_pair(gpu *g) {
    static const char *const kinds[] = { "h", "d", "p", "hdp", "pdh" };
    enum { FRAMES = 5 };
    for (int way = 0; way < 5; way++) {
        const int selected = way == 4 ? V1 : way % 2 ? MANY : DEFAULT;
        film f = small_film(selected, 40, 37, way == 3 ? 10 : 8, FRAMES, 21);
        vmafgpu_config config = gpu_config(g, &f), plain = film_config(&f);
        reel r = reel_of_kinds(g, &f, kinds[way]);
        vmafgpu *context, *cpu;
        scores expected;
        config.gpu.batch = 1 + way;
        config.max_candidates = 2;
        plain.backend = VMAFGPU_BACKEND_CPU;
        where("single pairs, '%s'", kinds[way]);
        select_features(&config, &selections[selected]);
        select_features(&plain, &selections[selected]);
        expected = cpu_score(&f, &config);
        cpu = open_checked(&plain);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context && cpu; i++) {
            const int other = (3 * i + 1) % FRAMES, previous = (2 * i + 3) % FRAMES;
            vmafgpu_frame before = film_frame(&f, previous, 0), reference = film_frame(&f, other, 0),
                          distorted = film_frame(&f, other, 1);
            vmafgpu_score score, score_expected;
            /* a pair that is rejected after parts of it have been copied */
            if (way == 3) {
                reel bad = reel_of_kinds(g, &f, "ph");
                memset(bad.pictures[1].bytes, 0xff, bad.pictures[1].size);
                CHECK_INT(vmafgpu_score_pair(context, reel_frame(&bad, 0, 0), reel_frame(&bad, 0, 1),
                                             reel_frame(&bad, 1, 0), &score),
                          VMAFGPU_ERROR_FRAME);
                picture_spoil(g, &bad.pictures[0]);
                picture_spoil(g, &bad.pictures[2]);
                reel_free(g, &bad);
            }
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, other, 0), reel_frame(&r, other, 1),
                                             i % 2 ? reel_frame(&r, previous, 0) : NULL, &score),
                          VMAFGPU_OK) &&
                CHECK_INT(vmafgpu_score_pair(cpu, &reference, &distorted, i % 2 ? &before : NULL, &score_expected),
                          VMAFGPU_OK)) {
                CHECK_BITS(score.score, score_expected.score);
                check_row(score.values, score_expected.values, expected.columns);
            }
            /* scores the same pair as the second of two candidates */
            {
                vmafgpu_frame two[2];
                vmafgpu_score both[2];
                two[0] = *reel_frame(&r, previous, 1);
                two[1] = *reel_frame(&r, other, 1);
                if (CHECK_INT(vmafgpu_score_candidates(context, reel_frame(&r, other, 0), two, 2,
                                                       i % 2 ? reel_frame(&r, previous, 0) : NULL, both),
                              VMAFGPU_OK)) {
                    check_row(both[1].values, score_expected.values, expected.columns);
                    distorted = film_frame(&f, previous, 1);
                    CHECK_INT(vmafgpu_score_pair(cpu, &reference, &distorted, i % 2 ? &before : NULL, &score_expected),
                              VMAFGPU_OK);
                    check_row(both[0].values, score_expected.values, expected.columns);
                }
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
        }
        vmafgpu_close(context);
        vmafgpu_close(cpu);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Scores a clip in segments, with preceding and following frames in every kind of memory. */
void test_segments(gpu *g) {
    static const char *const kinds[] = { "h", "d", "p", "phd" };
    enum { FRAMES = 11 };
    for (int way = 0; way < 8; way++) {
        const int selected = way % 2 ? WINDOWS : DEFAULT;
        film f = film_make("texture+mix", 33, 32, 8, FRAMES, 31);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way % 4]);
        scores expected;
        vmafgpu *context;
        config.gpu.batch = 1 + way % 3;
        config.gpu.queue_depth = 1 + way / 4;
        select_features(&config, &selections[selected]);
        expected = cpu_score(&f, &config);
        context = open_checked(&config);
        for (int first = 0; first < FRAMES && context; first += 4) {
            const int end = first + 4 < FRAMES ? first + 4 : FRAMES, seeds = vmafgpu_preceding_count(context);
            scores got;
            where("segment from %d, '%s', batch %d, %s", first, kinds[way % 4], config.gpu.batch,
                  selections[selected].name);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            for (int i = first < seeds ? 0 : first - seeds; i < first; i++)
                CHECK_INT(vmafgpu_push_preceding(context, reel_frame(&r, i, 0)), VMAFGPU_OK);
            for (int i = first; i < end; i++)
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (end < FRAMES)
                CHECK_INT(vmafgpu_push_following(context, reel_frame(&r, end, 0)), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_on_gpu(g, context);
            got = scores_of(context);
            CHECK_INT(got.rows, end - first);
            check_rows(&got, &expected, first);
            scores_free(&got);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Resets or closes the context after each pair. */
void test_reset(gpu *g) {
    static const char *const kinds[] = { "h", "d", "p" };
    enum { FRAMES = 7 };
    for (int way = 0; way < 3; way++) {
        film f = film_make("texture+mix", 24, 20, 8, FRAMES, 41);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way]);
        scores expected = cpu_score(&f, &config);
        tally t;
        memset(&t, 0, sizeof t);
        config.allocator = tally_allocator(&t);
        config.gpu.batch = 2;
        config.gpu.queue_depth = 2;
        for (int pushed = 0; pushed <= FRAMES; pushed++) {
            for (int is_reset = 0; is_reset < 2; is_reset++) {
                reel first = reel_of_kinds(g, &f, kinds[way]);
                vmafgpu *context = open_checked(&config);
                where("%s after %d pairs, '%s'", is_reset ? "reset" : "closed", pushed, kinds[way]);
                for (int i = FRAMES - pushed; i < FRAMES && context; i++)
                    CHECK_INT(reel_push(&first, context, i), VMAFGPU_OK);
                if (is_reset && context) {
                    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
                    CHECK_INT(vmafgpu_reusable_count(context), 0);
                    if (g->is_simulated) /* if the reset left work pending, run that work as late as possible */
                        g->sim.set_order(SIMULATED_FORWARD, SIMULATED_NEWEST, 1);
                    for (int i = 0; i < first.count; i++)
                        picture_spoil(g, &first.pictures[i]);
                    reel_finish(&r, context, 0);
                    check_context(g, context, &expected);
                }
                vmafgpu_close(context);
                CHECK_INT(t.live, 0);
                if (g->is_simulated)
                    g->sim.set_order(SIMULATED_FORWARD, SIMULATED_LAZY, 1);
                reel_free(g, &first);
            }
        }
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Checks that with 64 unread scores the next push fails, and that no score is lost. */
static void check_unread(gpu *g, int batch, int queue) {
    enum { FRAMES = 70, MAX_UNREAD = 64 };
    film f = film_make("texture+mix", 16, 16, 8, FRAMES, 51);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "hd");
    scores expected = cpu_score(&f, &config);
    collector c = collector_like(&expected, 1);
    vmafgpu *context;
    vmafgpu_score score;
    where("unread scores, batch %d", batch);
    config.discard_scores = 1;
    config.gpu.batch = batch;
    config.gpu.queue_depth = queue;
    context = open_checked(&config);
    if (context) {
        for (int i = 0; i < MAX_UNREAD; i++)
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        for (int attempt = 0; attempt < 3; attempt++) {
            CHECK_INT(reel_push(&r, context, MAX_UNREAD), VMAFGPU_ERROR_UNREAD_SCORES);
            CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_next_score");
        }
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK); /* no flush is needed */
        collect(&c, &score);
        CHECK_INT(reel_push(&r, context, MAX_UNREAD), VMAFGPU_OK);
        CHECK_INT(reel_push(&r, context, MAX_UNREAD + 1), VMAFGPU_ERROR_UNREAD_SCORES);
        collect_next(context, &c);
        for (int i = MAX_UNREAD + 1; i < FRAMES; i++)
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        collect_next(context, &c);
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
        check_on_gpu(g, context);
        check_collected(&c, &expected);
    }
    vmafgpu_close(context);
    reel_free(g, &r);
    scores_free(&expected);
    film_free(&f);
}

void test_unread_scores(gpu *g) {
    check_unread(g, 5, 3);
    check_unread(g, 32, 4); /* all pairs are in flight at once */
}

/* Calls vmafgpu_next_score(), and vmafgpu_wait() for some of the pairs, at irregular intervals. */
void test_next_score(gpu *g) {
    enum { FRAMES = 12 };
    film f = film_make("texture+mix", 32, 28, 8, FRAMES, 61);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "dh");
    scores expected = cpu_score(&f, &config);
    for (uint32_t way = 0; way < 12; way++) {
        collector c = collector_like(&expected, 1);
        vmafgpu *context;
        where("next score, way %u", (unsigned)way);
        config.gpu.batch = 1 + (int)(way % 4);
        config.gpu.queue_depth = 1 + (int)(way % 3);
        config.discard_scores = (int)(way % 2);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            const uint32_t dice = clip_hash((uint32_t)i, way, 7);
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            if (dice % 3 == 0)
                collect_next(context, &c);
            if (dice / 3 % 4 == 0) {
                CHECK_INT(vmafgpu_wait(context, i / 2 + 1), VMAFGPU_OK);
                CHECK(vmafgpu_reusable_count(context) > i / 2);
                CHECK(vmafgpu_score_count(context) >= i / 2); /* the last pair waits for the motion of the next frame */
            }
        }
        if (context) {
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            collect_next(context, &c);
            check_on_gpu(g, context);
            check_collected(&c, &expected);
        }
        vmafgpu_close(context);
    }
    reel_free(g, &r);
    scores_free(&expected);
    film_free(&f);
}

/* ---- several contexts and threads ---- */

void test_two_contexts(gpu *g) {
    enum { FRAMES = 6 };
    film f[2];
    vmafgpu_config config[2];
    vmafgpu *context[2];
    scores expected[2];
    reel r[2];
    int devices = 0;
    CHECK_INT(g->device_count(&devices), 0);
    for (int i = 0; i < 2; i++) {
        f[i] = film_make("texture+mix", i ? 33 : 48, 40, i ? 10 : 8, FRAMES, 71 + (uint32_t)i);
        r[i] = reel_of_kinds(g, &f[i], i ? "dh" : "hd");
    }
    for (int round = 0; round < 2; round++) {
        where("two contexts, %s", round ? "two devices" : "one device");
        if (round && devices < 2) {
            test_skip("two contexts on two devices: there is one device");
            continue;
        }
        for (int i = 0; i < 2; i++) {
            config[i] = gpu_config(g, &f[i]);
            config[i].gpu.batch = 1 + i;
            if (round && i) {
                reel_free(g, &r[i]);
                r[i] = reel_of_kinds(g, &f[i], "h");
                config[i].gpu.device = 1;
            }
            expected[i] = cpu_score(&f[i], &config[i]);
            context[i] = open_checked(&config[i]);
        }
        for (int frame = 0; frame < FRAMES && context[0] && context[1]; frame++)
            for (int i = 0; i < 2; i++)
                CHECK_INT(reel_push(&r[i], context[i], frame), VMAFGPU_OK);
        for (int i = 0; i < 2; i++) {
            if (context[i]) {
                CHECK_INT(vmafgpu_flush(context[i]), VMAFGPU_OK);
                check_context(g, context[i], &expected[i]);
                CHECK(vmafgpu_device_name(context[i])[0] != 0);
            }
            vmafgpu_close(context[i]);
            scores_free(&expected[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        reel_free(g, &r[i]);
        film_free(&f[i]);
    }
}

enum { WORKERS = 4, ROUNDS = 3 };

typedef struct worker {
    const film *f;
    vmafgpu_config config;
    const char *backend;
    collector collected[ROUNDS];
    int ok;
} worker;

/* Scores a clip ROUNDS times. Does not call CHECK(), because its counters are not thread-safe. */
static void *work(void *user) {
    worker *w = (worker *)user;
    w->ok = 1;
    for (int round = 0; round < ROUNDS; round++) {
        vmafgpu *context = NULL;
        w->config.on_score = collect;
        w->config.on_score_user = &w->collected[round];
        w->ok &= vmafgpu_open(&context, &w->config) == VMAFGPU_OK;
        for (int i = 0; i < w->f->clip.frames && w->ok; i++)
            w->ok &= film_push(w->f, context, i) == VMAFGPU_OK;
        w->ok = w->ok && vmafgpu_flush(context) == VMAFGPU_OK && strcmp(vmafgpu_backend_name(context), w->backend) == 0;
        vmafgpu_close(context);
    }
    return NULL;
}

void test_threads(gpu *g) {
    film f[WORKERS];
    worker workers[WORKERS];
    scores expected[WORKERS];
    pthread_t threads[WORKERS];
    memset(workers, 0, sizeof workers);
    for (int i = 0; i < WORKERS; i++) {
        f[i] = film_make("texture+mix", 40 + 3 * i, 36, i % 2 ? 10 : 8, 5, 81 + (uint32_t)i);
        workers[i].f = &f[i];
        workers[i].backend = g->vendor->name;
        workers[i].config = gpu_config(g, &f[i]);
        workers[i].config.gpu.batch = 1 + i;
        expected[i] = cpu_score(&f[i], &workers[i].config);
        for (int round = 0; round < ROUNDS; round++)
            workers[i].collected[round] = collector_like(&expected[i], 1);
    }
    for (int i = 0; i < WORKERS; i++)
        test_need(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "cannot start a thread");
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WORKERS; i++) {
        where("thread %d", i);
        CHECK(workers[i].ok);
        for (int round = 0; round < ROUNDS; round++)
            check_collected(&workers[i].collected[round], &expected[i]);
        scores_free(&expected[i]);
        film_free(&f[i]);
    }
}
