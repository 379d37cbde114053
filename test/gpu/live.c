/* Tests config.live: scores without the delay of motion, and pushes that never wait, on one GPU and on several GPUs. */
#include "gpu.h"

enum { LIVE_FRAMES = 12 };

/* Repeats the push of each pair until it is accepted or, if drops_pairs is set, drops pairs while the queue is full.
 * Reads scores with vmafgpu_next_score(). */
static void check_live(gpu *g, const char *kinds, int batch, int queue, const int *devices, int count,
                       int drops_pairs) {
    film f = small_film(DEFAULT, 64, 48, 8, LIVE_FRAMES, (uint32_t)(batch * 8 + queue)), accepted = f;
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, kinds);
    vmafgpu *context;
    vmafgpu_score score;
    scores expected, got;
    int order[LIVE_FRAMES], pushed = 0, refusals = 0;
    where("live, '%s', batch %d, queue %d, %d devices%s", kinds, batch, queue, count,
          drops_pairs ? ", dropping pairs" : "");
    config.live = 1;
    config.gpu.batch = batch;
    config.gpu.queue_depth = queue;
    config.gpu.devices = devices;
    config.gpu.device_count = count;
    context = open_checked(&config);
    for (int i = 0; i < LIVE_FRAMES && context; i++) {
        vmafgpu_result result;
        while ((result = vmafgpu_try_push(context, reel_frame(&r, i, 0), reel_frame(&r, i, 1))) == VMAFGPU_AGAIN) {
            CHECK(refusals++ < 1000000);
            if (drops_pairs)
                break;
        }
        if (drops_pairs && i % 5 == 4) /* waits so that some pairs are accepted */
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
        if (result == VMAFGPU_OK)
            order[pushed++] = i;
        else if (!CHECK_INT(result, VMAFGPU_AGAIN))
            break;
        CHECK_STR(vmafgpu_last_error(context), "");
    }
    if (g->is_simulated && batch * queue * (count ? count : 1) <= 3) /* a real GPU may accept all pairs at once */
        CHECK(refusals > 0);
    /* `expected` contains the scores of a clip that consists of the accepted pairs */
    accepted.clip.frames = pushed;
    accepted.luma = (unsigned char *)malloc(2 * (size_t)LIVE_FRAMES * f.plane_bytes);
    test_need(accepted.luma != NULL, "out of memory");
    for (int i = 0; i < pushed; i++) {
        memcpy(accepted.luma + 2 * (size_t)i * f.plane_bytes, f.luma + 2 * (size_t)order[i] * f.plane_bytes,
               2 * f.plane_bytes);
    }
    config.backend = VMAFGPU_BACKEND_CPU;
    memset(&config.gpu, 0, sizeof config.gpu);
    expected = film_score_live(&accepted, &config);
    if (context) {
        int ready = 0;
        if (batch > 1) /* submits the incomplete batch */
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
        for (long tries = 0; ready < pushed && tries < 1000000; tries++) {
            const vmafgpu_result result = vmafgpu_next_score(context, &score);
            if (result == VMAFGPU_OK) {
                CHECK_INT(score.index, ready);
                check_row(score.values, expected.values + ready * expected.columns, expected.columns);
                ready++;
            } else if (!CHECK_INT(result, VMAFGPU_AGAIN)) {
                break;
            }
        }
        CHECK_INT(ready, pushed);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
        got = scores_of(context);
        check_on_gpu(g, context);
        check_same_scores(&got, &expected);
        scores_free(&got);
        vmafgpu_close(context);
    }
    scores_free(&expected);
    reel_free(g, &r);
    free(accepted.luma);
    film_free(&f);
}

/* Checks that pushes call no driver function that waits. Incomplete batches must be submitted early, so that every
 * slot is in use before the queue is full. */
static void check_no_wait(gpu *g, int batch, const int *devices, int count) {
    const char *const wait_functions[2] = { g->is_hip ? "hipEventSynchronize" : "cuEventSynchronize",
                                            g->is_hip ? "hipStreamSynchronize" : "cuStreamSynchronize" };
    film f = small_film(DEFAULT, 64, 48, 8, LIVE_FRAMES, 5);
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu *context;
    vmafgpu_score score;
    void *stream = NULL;
    int accepted = 0;
    where("live, no wait, batch %d, %d devices", batch, count);
    config.live = 1;
    config.gpu.batch = batch;
    config.gpu.queue_depth = count ? 1 : 2;
    config.gpu.devices = devices;
    config.gpu.device_count = count;
    config.discard_scores = 1;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_get_config(context)->gpu.batch, batch ? batch : 1);
    CHECK_INT(g->stream_create(&stream, 1), 0);
    for (int i = 0; i < 3 * LIVE_FRAMES && context; i++) {
        const vmafgpu_frame reference = film_frame(&f, i % LIVE_FRAMES, 0),
                            distorted = film_frame(&f, i % LIVE_FRAMES, 1);
        const long before = g->sim.calls(wait_functions[0]) + g->sim.calls(wait_functions[1]);
        const vmafgpu_result result = vmafgpu_try_push(context, &reference, &distorted);
        CHECK(result == VMAFGPU_OK || result == VMAFGPU_AGAIN);
        accepted += result == VMAFGPU_OK;
        if (batch && !count)
            CHECK_INT(vmafgpu_stream_wait(context, stream, -1), VMAFGPU_OK);
        while (i % 4 == 3 && vmafgpu_next_score(context, &score) == VMAFGPU_OK)
            CHECK_INT(score.result, VMAFGPU_OK);
        CHECK_INT(g->sim.calls(wait_functions[0]) + g->sim.calls(wait_functions[1]), before);
        if (count && i % 2) /* first submits the incomplete batch of the next GPU */
            CHECK_INT(vmafgpu_score_pair(context, &reference, &distorted, NULL, &score), VMAFGPU_OK);
    }
    CHECK(accepted > 2 && accepted < 3 * LIVE_FRAMES);
    vmafgpu_close(context);
    CHECK_INT(g->stream_destroy(stream), 0);
    film_free(&f);
}

/* Checks that, if the GPU is lost, the CPU takes over and the scores stay the same. */
static void check_lost(gpu *g) {
    film f = small_film(DEFAULT, 64, 48, 8, LIVE_FRAMES, 6);
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu *context;
    scores expected, got;
    where("live, lost GPU");
    config.live = 1;
    context = open_checked(&config);
    for (int i = 0; i < LIVE_FRAMES && context; i++) {
        const vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
        if (i == 5)
            g->sim.lose(3, 700);
        while (vmafgpu_try_push(context, &reference, &distorted) == VMAFGPU_AGAIN) {
        }
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    got = scores_of(context);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.gpu.driver_path = config.gpu.kernels_path = NULL;
    expected = film_score_live(&f, &config);
    check_same_scores(&got, &expected);
    g->sim.lose(0, 0);
    vmafgpu_close(context);
    scores_free(&got);
    scores_free(&expected);
    film_free(&f);
}

void test_live(gpu *g) {
    static const int both[2] = { 0, 1 };
    static const char *const kinds[] = { "h", "d", "p" };
    int count = 0;
    CHECK_INT(g->device_count(&count), 0);
    for (int way = 0; way < 12; way++)
        check_live(g, kinds[way % 3], 1 + (way % 4 == 3) * 2, 1 + way % 3, NULL, 0, way >= 9);
    for (int way = 0; way < 4 && count > 1; way++)
        check_live(g, "h", 1 + way % 2, 1 + way / 2, both, 2, 0);
    if (g->is_simulated) {
        check_no_wait(g, 0, NULL, 0);
        check_no_wait(g, 4, NULL, 0);
        check_no_wait(g, 0, both, 2);
        check_no_wait(g, 4, both, 2);
        check_lost(g);
    }
}
