/* Tests vmafgpu_describe() on one GPU, on several GPUs, while a GPU is being opened, after failures, and during calls
 * on other threads. test_describe.c tests the text itself. */
#include "gpu.h"
#include "../json.h"
#include <pthread.h>

/* Returns the description of a context, which must be valid JSON. The text is valid until the next call. */
static const char *describe(vmafgpu *context) {
    static char text[16384];
    CHECK(vmafgpu_describe(context, text, sizeof text) < sizeof text);
    if (!CHECK(json_is_valid(text)))
        printf("%s\n", text);
    return text;
}

/* Whether a value is a string that contains these words. */
static int says(const char *text, const char *path, const char *words) {
    const char *value = json_at(text, path), *found = value ? strstr(value, words) : NULL;
    return found && *value == '"' && found < json_string_end(value);
}

static void check_queue(gpu *g) {
    film f = small_film(DEFAULT, 64, 48, 8, 9, 31);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "d");
    vmafgpu *context;
    const char *text;
    char backend[16];
    where("description, one GPU");
    snprintf(backend, sizeof backend, "\"%s\"", g->vendor->name);
    config.gpu.batch = 3;
    config.gpu.queue_depth = 2;
    config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    context = open_checked(&config);
    text = describe(context);
    CHECK(json_is(text, "backend.name", backend) && json_is(text, "config.backend", backend));
    CHECK(says(text, "backend.device", vmafgpu_device_name(context)));
    CHECK(says(text, "backend.driver", vmafgpu_driver_name(context)));
    CHECK(json_is(text, "backend.self_test_checksum", "\"\"") == config.gpu.skip_self_test);
    CHECK_INT(json_whole(text, "backend.gpus"), 1);
    CHECK_INT(json_whole(text, "backend.failed_gpus"), 0);
    CHECK_INT(json_whole(text, "config.gpu.batch"), 3);
    CHECK_INT(json_whole(text, "config.gpu.queue_depth"), 2);
    CHECK(json_is(text, "config.gpu.frame_memory", "\"device\""));
    CHECK_INT(json_whole(text, "memory.device"), vmafgpu_device_memory(context));
    CHECK_INT(json_whole(text, "memory.host"), vmafgpu_host_memory(context));
    for (int i = 0; i < 4; i++) {
        CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        text = describe(context);
        CHECK_INT(json_whole(text, "batch.incomplete"), (i + 1) % 3);
        if (g->is_simulated) { /* on a real GPU, the batch may already have finished */
            CHECK_INT(json_whole(text, "batch.in_flight"), i >= 2);
            CHECK_INT(json_whole(text, "counts.in_flight"), i + 1);
            CHECK_INT(json_whole(text, "counts.reusable"), 0);
        }
    }
    CHECK_INT(vmafgpu_wait(context, 3), VMAFGPU_OK);
    text = describe(context);
    CHECK_INT(json_whole(text, "batch.in_flight"), 0);
    CHECK_INT(json_whole(text, "counts.reusable"), vmafgpu_reusable_count(context));
    CHECK(json_whole(text, "counts.ready") >= 2);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    text = describe(context);
    CHECK_INT(json_whole(text, "counts.ready"), 4);
    CHECK_INT(json_whole(text, "counts.in_flight"), 0);
    vmafgpu_close(context);
    reel_free(g, &r);
    film_free(&f);
}

/* Makes the GPU fail while frames in its memory are in flight. */
static void check_failed(gpu *g) {
    film f = small_film(DEFAULT, 64, 48, 8, 5, 32);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "d");
    vmafgpu *context;
    const char *text;
    where("description after a failure");
    config.gpu.batch = 2;
    config.gpu.queue_depth = 2;
    context = open_checked(&config);
    CHECK_INT(reel_push(&r, context, 0), VMAFGPU_OK);
    gpu_lose(g);
    (void)reel_push(&r, context, 1);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_DEVICE);
    text = describe(context);
    CHECK(json_is(text, "backend.name", "\"cpu\"") && json_whole(text, "backend.failed_gpus") == 1);
    CHECK(says(text, "notes.backend", "LaunchKernel"));
    CHECK_INT(json_whole(text, "counts.failed"), json_whole(text, "counts.ready"));
    CHECK(json_whole(text, "counts.failed") > 0);
    CHECK_INT(json_whole(text, "failures.first_frame"), 0);
    CHECK(json_is(text, "failures.first_result", "\"VMAFGPU_ERROR_DEVICE\""));
    CHECK(says(text, "failures.first_message", "GPU") && says(text, "failures.last_error", "frame 0"));
    CHECK_INT(json_whole(text, "batch.incomplete"), 0);
    vmafgpu_close(context);

    /* tests a GPU that cannot be opened */
    g->sim.fail(g->is_hip ? "hipMalloc" : "cuMemAlloc_v2", 1, 700);
    CHECK(vmafgpu_open(&context, &config) < 0);
    text = describe(context);
    CHECK(json_is(text, "state", "\"not open\"") && says(text, "failures.last_error", "emory"));
    CHECK_INT(json_whole(text, "memory.device"), 0);
    CHECK(!json_at(text, "counts"));
    vmafgpu_close(context);
    g->sim.fail(NULL, 0, 0);
    reel_free(g, &r);
    film_free(&f);
}

static void check_several(gpu *g) {
    static const int devices[] = { 1, 0 };
    film f = small_film(DEFAULT, 64, 48, 8, 8, 33);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "h");
    vmafgpu *context;
    const char *text;
    where("description, several GPUs");
    config.gpu.devices = devices;
    config.gpu.device_count = 2;
    config.gpu.batch = 2;
    config.gpu.queue_depth = 2;
    context = open_checked(&config);
    text = describe(context);
    CHECK_INT(json_whole(text, "backend.gpus"), 2);
    CHECK_INT(json_whole(text, "memory.device"), vmafgpu_device_memory(context));
    CHECK_INT(json_whole(text, "memory.host"), vmafgpu_host_memory(context));
    for (int i = 0; i < 5; i++) {
        CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        if (i == 0)
            CHECK_INT(json_whole(describe(context), "batch.incomplete"), 1);
    }
    text = describe(context);
    if (g->is_simulated)
        CHECK(json_whole(text, "batch.in_flight") >= 2);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    text = describe(context);
    CHECK_INT(json_whole(text, "batch.incomplete"), 0);
    CHECK_INT(json_whole(text, "batch.in_flight"), 0);
    CHECK_INT(json_whole(text, "counts.ready"), 5);
    vmafgpu_close(context);
    reel_free(g, &r);
    film_free(&f);
}

/* Describes the context while another thread opens the GPU. */
static void check_opening(gpu *g) {
    film f = small_film(DEFAULT, 64, 48, 8, 4, 34);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "h");
    vmafgpu *context;
    where("description while a GPU is being opened");
    config.backend = VMAFGPU_BACKEND_AUTO;
    config.gpu.open_in_background = 1;
    g->sim.hold(g->vendor->init);
    context = open_checked(&config);
    CHECK_INT(reel_push(&r, context, 0), VMAFGPU_OK);
    CHECK(json_is(describe(context), "backend.is_opening", "true"));
    CHECK(json_is(describe(context), "backend.name", "\"cpu\""));
    g->sim.hold(NULL);
    while (vmafgpu_is_opening(context))
        CHECK_INT(json_whole(describe(context), "counts.pushed"), 1);
    reel_finish(&r, context, 1);
    CHECK(json_is(describe(context), "backend.is_opening", "false"));
    CHECK_INT(json_whole(describe(context), "backend.gpus"), 1);
    vmafgpu_close(context);
    reel_free(g, &r);
    film_free(&f);
}

/* ---- a second thread ---- */

typedef struct watcher {
    vmafgpu *context;
    pthread_mutex_t lock;
    int is_over, texts, wrong;
} watcher;

static void *watch(void *user) {
    watcher *w = (watcher *)user;
    char text[16384];
    for (int is_over = 0; !is_over;) {
        const size_t length = vmafgpu_describe(w->context, text, sizeof text);
        pthread_mutex_lock(&w->lock);
        w->texts++;
        w->wrong += length >= sizeof text || !json_is_valid(text) ||
                    (!json_is(text, "state", "\"open\"") && !json_is(text, "state", "\"busy\""));
        is_over = w->is_over;
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

/* One thread pushes while another describes the context. If the context is busy, the push is repeated. */
static void check_watched(gpu *g) {
    film f = small_film(DEFAULT, 64, 48, 8, 12, 35);
    vmafgpu_config config = gpu_config(g, &f);
    reel r = reel_of_kinds(g, &f, "h");
    watcher w;
    pthread_t thread;
    vmafgpu_result result;
    scores expected = cpu_score(&f, &config), got;
    where("description on another thread");
    memset(&w, 0, sizeof w);
    w.context = open_checked(&config);
    test_need(w.context && pthread_mutex_init(&w.lock, NULL) == 0 && pthread_create(&thread, NULL, watch, &w) == 0,
              "no thread");
    for (int i = 0; i < f.clip.frames; i++) {
        while ((result = reel_push(&r, w.context, i)) == VMAFGPU_ERROR_STATE)
            ;
        CHECK_INT(result, VMAFGPU_OK);
    }
    while ((result = vmafgpu_flush(w.context)) == VMAFGPU_ERROR_STATE)
        ;
    CHECK_INT(result, VMAFGPU_OK);
    pthread_mutex_lock(&w.lock);
    w.is_over = 1;
    pthread_mutex_unlock(&w.lock);
    pthread_join(thread, NULL);
    CHECK(w.texts > 0);
    CHECK_INT(w.wrong, 0);
    got = scores_of(w.context);
    check_same_scores(&got, &expected);
    scores_free(&got);
    scores_free(&expected);
    vmafgpu_close(w.context);
    pthread_mutex_destroy(&w.lock);
    reel_free(g, &r);
    film_free(&f);
}

void test_describe(gpu *g) {
    check_queue(g);
    if (g->is_simulated) {
        check_failed(g);
        check_several(g);
        check_opening(g);
    }
    check_watched(g);
}
