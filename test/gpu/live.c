/* Live: scores without motion's delay, pushes that never wait; on one GPU and on several. */
#include "gpu.h"

enum { LIVE_FRAMES = 12 };

/* A clip whose pairs are given until they are taken, or left out; every score comes by next(). */
static void check_live(gpu *g, const char *kinds, int batch, int queue, const int *devices, int count, int leaves_out) {
    film f = small_film(DEFAULT, 64, 48, 8, LIVE_FRAMES, (uint32_t)(batch * 8 + queue)), taken = f;
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, kinds);
    vmafgpu *context;
    vmafgpu_score score;
    scores expected, got;
    int order[LIVE_FRAMES], pushed = 0, again = 0;
    where("live, '%s', batch %d, queue %d, %d devices%s", kinds, batch, queue, count,
          leaves_out ? ", pairs left out" : "");
    config.live = 1;
    config.gpu.batch = batch;
    config.gpu.queue_depth = queue;
    config.gpu.devices = devices;
    config.gpu.device_count = count;
    context = open_checked(&config);
    for (int i = 0; i < LIVE_FRAMES && context; i++) {
        vmafgpu_result result;
        while ((result = vmafgpu_try_push(context, reel_frame(&r, i, 0), reel_frame(&r, i, 1))) == VMAFGPU_AGAIN) {
            CHECK(again++ < 1000000);
            if (leaves_out)
                break;
        }
        if (leaves_out && i % 5 == 4) /* so that some get through */
            CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
        if (result == VMAFGPU_OK)
            order[pushed++] = i;
        else if (!CHECK_INT(result, VMAFGPU_AGAIN))
            break;
        CHECK_STR(vmafgpu_last_error(context), "");
    }
    if (g->is_simulated && batch * queue * (count ? count : 1) <= 3) /* a real one may be quick */
        CHECK(again > 0);
    /* The scores are those of a clip of the pairs that were taken. */
    taken.clip.frames = pushed;
    taken.luma = (unsigned char *)malloc(2 * (size_t)LIVE_FRAMES * f.plane_bytes);
    test_need(taken.luma != NULL, "memory");
    for (int i = 0; i < pushed; i++) {
        memcpy(taken.luma + 2 * (size_t)i * f.plane_bytes, f.luma + 2 * (size_t)order[i] * f.plane_bytes,
               2 * f.plane_bytes);
    }
    config.backend = VMAFGPU_BACKEND_CPU;
    memset(&config.gpu, 0, sizeof config.gpu);
    expected = film_score_live(&taken, &config);
    if (context) {
        int ready = 0;
        if (batch > 1) /* what gathers is sent off */
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
    free(taken.luma);
    film_free(&f);
}

/* Nothing waits for the GPU: the calls that do are not made. With batches, these are sent off before they are full,
 * so that every slot is at work while there is room for more pairs. */
static void check_no_wait(gpu *g, int batch, const int *devices, int count) {
    const char *const waits[2] = { g->is_hip ? "hipEventSynchronize" : "cuEventSynchronize",
                                   g->is_hip ? "hipStreamSynchronize" : "cuStreamSynchronize" };
    film f = small_film(DEFAULT, 64, 48, 8, LIVE_FRAMES, 5);
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu *context;
    vmafgpu_score score;
    void *stream = NULL;
    int taken = 0;
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
        const long before = g->sim.calls(waits[0]) + g->sim.calls(waits[1]);
        const vmafgpu_result result = vmafgpu_try_push(context, &reference, &distorted);
        CHECK(result == VMAFGPU_OK || result == VMAFGPU_AGAIN);
        taken += result == VMAFGPU_OK;
        if (batch && !count)
            CHECK_INT(vmafgpu_stream_wait(context, stream, -1), VMAFGPU_OK);
        while (i % 4 == 3 && vmafgpu_next_score(context, &score) == VMAFGPU_OK)
            CHECK_INT(score.result, VMAFGPU_OK);
        CHECK_INT(g->sim.calls(waits[0]) + g->sim.calls(waits[1]), before);
        if (count && i % 2) /* what gathers on the GPU that is next goes on its way first */
            CHECK_INT(vmafgpu_score_pair(context, &reference, &distorted, NULL, &score), VMAFGPU_OK);
    }
    CHECK(taken > 2 && taken < 3 * LIVE_FRAMES);
    vmafgpu_close(context);
    CHECK_INT(g->stream_destroy(stream), 0);
    film_free(&f);
}

/* The CPU goes on for a GPU that is lost, with the same bits. */
static void check_lost(gpu *g) {
    film f = small_film(DEFAULT, 64, 48, 8, LIVE_FRAMES, 6);
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu *context;
    scores expected, got;
    where("live, lost");
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
