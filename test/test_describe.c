/* Tests vmafgpu_describe() on the CPU: the text is strict JSON in every state of a context, and its values are right.
 * test/gpu/describe.c does the same on GPUs. */
#include "json.h"
#include "scoring.h"

enum { SIZE = 16384, WIDTH = 64, HEIGHT = 48 };

static int allocations;

static void *take(void *user, size_t size) {
    (void)user;
    allocations++;
    return malloc(size);
}

static void give(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

/* Describes a context using buffers of many different sizes. Returns the text, which is valid until the next call. */
static const char *describe(vmafgpu *context) {
    static char text[SIZE];
    const int before = allocations;
    const size_t length = vmafgpu_describe(context, text, sizeof text);
    test_need(length < sizeof text, "the description is too long");
    CHECK_INT(strlen(text), length);
    if (!CHECK(json_is_valid(text)))
        printf("%s\n", text);
    CHECK_STR(json_is(text, "version", "\"" VMAFGPU_VERSION_STRING "\"") ? "" : "another version", "");
    CHECK_INT(vmafgpu_describe(context, NULL, 0), length);
    CHECK_INT(vmafgpu_describe(context, NULL, 100), length);
    for (size_t size = 0; size <= length + 2; size += size < 5 || size >= length - 2 ? 1 : (length - 5) / 7) {
        char *small = (char *)malloc(size + 1);
        const size_t whole = size > length ? length : size ? size - 1 : 0;
        test_need(small != NULL, "out of memory");
        memset(small, '#', size + 1);
        CHECK_INT(vmafgpu_describe(context, small, size), length);
        CHECK(memcmp(small, text, whole) == 0);
        CHECK(size == 0 || small[whole] == '\0');
        CHECK(small[size] == '#');
        free(small);
    }
    CHECK_INT(allocations, before);
    return text;
}

static vmafgpu_config small_config(void) {
    vmafgpu_config config = VMAFGPU_INIT;
    config.width = WIDTH;
    config.height = HEIGHT;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.allocator.allocate = take;
    config.allocator.release = give;
    return config;
}

/* ---- the parser ---- */

static void test_parser(void) {
    static const char *const good[] = { "{}", " [ ] ", "{\"a\":-1,\"b\":[true,false,null,\"\\u00e9\\n\"]}",
                                        "\"\xc3\xa9\"" };
    static const char *const bad[] = {
        "",          "{",         "{}}",      "{\"a\":1,}",   "{\"a\":1,\"a\":2}", "[1,]", "01",         "{a:1}",
        "\"\n\"",    "\"\\x\"",   "\"\x80\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",  "1.5",  "\"open",     "[1 2]",
        "{\"a\" 1}", "\"\\u12\"", "tru",      "'a'",          "\xef\xbb\xbf{}",    "--1",  "[\"\xc3\"]", "{\"a\":}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(json_is_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (!CHECK(!json_is_valid(bad[i])))
            printf("%s\n", bad[i]);
}

/* ---- states ---- */

static void test_counts(void) {
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, 6, 5);
    vmafgpu_config config = small_config();
    vmafgpu_feature_config feature = { "psnr", NULL };
    vmafgpu *context = NULL;
    vmafgpu_score score;
    const char *text;
    snprintf(test_where, sizeof test_where, "counts");
    config.features = &feature;
    config.feature_count = 1;
    config.subsample = 2;
    config.chroma = VMAFGPU_CHROMA_400;
    test_need(vmafgpu_open(&context, &config) == VMAFGPU_OK, "vmafgpu_open");
    text = describe(context);
    CHECK(json_is(text, "state", "\"open\""));
    CHECK(json_is(text, "config.chroma", "\"400\"") && json_is(text, "config.layout", "\"planar\""));
    CHECK(json_is(text, "config.backend", "\"cpu\"") && json_is(text, "config.gpu.frame_memory", "\"host\""));
    CHECK(json_is(text, "config.allocator", "true") && json_is(text, "config.on_log", "false"));
    CHECK_INT(json_whole(text, "config.width"), WIDTH);
    CHECK_INT(json_whole(text, "config.height"), HEIGHT);
    CHECK_INT(json_whole(text, "config.subsample"), 2);
    CHECK_INT(json_whole(text, "config.feature_count"), 1);
    CHECK(json_is(text, "backend.name", "\"cpu\"") && json_is(text, "backend.device", "\"\""));
    CHECK_INT(json_whole(text, "backend.gpus"), 0);
    CHECK_INT(json_whole(text, "memory.host"), vmafgpu_host_memory(context));
    CHECK_INT(json_whole(text, "memory.device"), 0);
    CHECK(json_at(text, "models") && strstr(json_at(text, "models"), "{\"name\":\"vmaf\",\"model\":\"vmaf_v0.6.1\""));
    CHECK(json_at(text, "columns") && strstr(json_at(text, "columns"), "\"psnr_y\""));
    CHECK(json_is(text, "failures", "{\"last_error\":\"\"}"));
    for (int i = 0; i < 5; i++) {
        vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
        CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
    text = describe(context);
    CHECK_INT(json_whole(text, "counts.pushed"), 5);
    CHECK_INT(json_whole(text, "counts.in_flight"), 0);
    CHECK_INT(json_whole(text, "counts.ready"), vmafgpu_score_count(context));
    CHECK_INT(json_whole(text, "counts.ready"), 2); /* frames 0 and 2 are ready; frame 4 waits for the next reference */
    CHECK_INT(json_whole(text, "counts.delivered"), 1);
    CHECK_INT(json_whole(text, "counts.failed"), 0);
    CHECK_INT(json_whole(text, "counts.reusable"), vmafgpu_reusable_count(context));
    CHECK(json_is(text, "counts.flushed", "false"));
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    text = describe(context);
    CHECK_INT(json_whole(text, "counts.ready"), 3);
    CHECK(json_is(text, "counts.flushed", "true"));

    /* a failed call, and its message after the reset */
    CHECK_INT(vmafgpu_push(context, NULL, NULL), VMAFGPU_ERROR_STATE);
    text = describe(context);
    CHECK(json_at(text, "failures.last_error") && strstr(json_at(text, "failures.last_error"), "vmafgpu_push"));
    CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_push"); /* vmafgpu_describe() has not changed the message */
    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
    text = describe(context);
    CHECK_INT(json_whole(text, "counts.pushed"), 0);
    CHECK_INT(json_whole(text, "counts.ready"), 0);
    CHECK(json_is(text, "failures.last_error", "\"\""));
    vmafgpu_close(context);
    film_free(&f);
}

static void test_acquired(void) {
    vmafgpu_config config = small_config();
    vmafgpu *context = NULL;
    vmafgpu_frame reference, distorted;
    snprintf(test_where, sizeof test_where, "acquired");
    test_need(vmafgpu_open(&context, &config) == VMAFGPU_OK, "vmafgpu_open");
    CHECK_INT(vmafgpu_acquire_pair(context, &reference, &distorted), VMAFGPU_OK);
    CHECK_INT(json_whole(describe(context), "counts.acquired"), 1);
    memset(&reference, 0, sizeof reference);
    vmafgpu_close(context);
}

/* Tests a frame with a sample above the bit depth. */
static void test_failed_frame(void) {
    film f = film_make("texture+mix", WIDTH, HEIGHT, 10, 3, 6);
    vmafgpu_config config = small_config();
    vmafgpu *context = NULL;
    vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    const char *text;
    snprintf(test_where, sizeof test_where, "failed frame");
    config.bit_depth = 10;
    test_need(vmafgpu_open(&context, &config) == VMAFGPU_OK, "vmafgpu_open");
    CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_OK);
    f.luma[2 * f.plane_bytes + 1] = 0xff;
    reference = film_frame(&f, 1, 0);
    CHECK_INT(vmafgpu_push(context, &reference, &distorted), VMAFGPU_ERROR_FRAME);
    text = describe(context);
    CHECK(json_at(text, "failures.last_error") && strstr(json_at(text, "failures.last_error"), "reference"));
    CHECK_INT(json_whole(text, "counts.pushed"), 1);
    vmafgpu_close(context);
    film_free(&f);
}

static void test_not_open(void) {
    vmafgpu_config config = small_config();
    vmafgpu *context = NULL;
    const char *text;
    char path[64];
    snprintf(test_where, sizeof test_where, "not open");
    config.width = 3;
    config.subsample = -7;
    config.chroma = (vmafgpu_chroma)9;
    config.gpu.driver_path = path; /* the path is freed before vmafgpu_describe() is called */
    config.models = NULL;
    config.model_count = 99;
    CHECK(vmafgpu_open(&context, &config) < 0);
    memset(path, 0xff, sizeof path);
    text = describe(context);
    CHECK(json_is(text, "state", "\"not open\""));
    CHECK_INT(json_whole(text, "config.width"), 3);
    CHECK_INT(json_whole(text, "config.subsample"), -7);
    CHECK_INT(json_whole(text, "config.chroma"), 9);
    CHECK(json_at(text, "failures.last_error") && strstr(json_at(text, "failures.last_error"), "config."));
    CHECK(!json_at(text, "counts") && !json_at(text, "columns"));
    vmafgpu_close(context);

    /* a backend that cannot be opened (test_memory.c tests failing allocations) */
    config = small_config();
    config.backend = VMAFGPU_BACKEND_CUDA;
    config.gpu.driver_path = "/no/such/\"driver\"\t\xc3\xa9\xff\xe2\x82.so";
    CHECK_INT(vmafgpu_open(&context, &config), sizeof(void *) == 8 ? VMAFGPU_ERROR_BACKEND : VMAFGPU_ERROR_BACKEND);
    text = describe(context);
    CHECK(json_is(text, "state", "\"not open\"") && json_is(text, "config.backend", "\"cuda\""));
    if (strstr(vmafgpu_last_error(context), "/no/such/")) {
        const char *error = json_at(text, "failures.last_error");
        CHECK(error && strstr(error, "/no/such/\\\"driver\\\"\\u0009\xc3\xa9\\ufffd\\ufffd\\ufffd.so"));
    }
    vmafgpu_close(context);

    CHECK_INT(vmafgpu_open(&context, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK(json_is(describe(context), "state", "\"not open\""));
    vmafgpu_close(context);
    path[0] = '#';
    CHECK_INT(vmafgpu_describe(NULL, path, sizeof path), 0);
    CHECK_STR(path, "");
    CHECK_INT(vmafgpu_describe(NULL, NULL, 0), 0);
}

/* Tests that column names can contain any byte. */
static void test_names(void) {
    static const char *const names[][2] = {
        { "\"\\\x01\x7f", "\"\\\"\\\\\\u0001\x7f\"" },
        { "\xf0\x9f\x8e\xac \xe2\x82\xac", "\"\xf0\x9f\x8e\xac \xe2\x82\xac\"" },
        { "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },            /* a surrogate */
        { "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" }, /* above 0x10ffff */
        { "\xc0\xaf\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"" },
        { "\xf0\x80\x80\x80z\xc3", "\"\\ufffd\\ufffd\\ufffd\\ufffdz\\ufffd\"" },
    };
    snprintf(test_where, sizeof test_where, "names");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        vmafgpu_config config = small_config();
        vmafgpu_model_config model = VMAFGPU_INIT;
        vmafgpu *context = NULL;
        char expected[80];
        const char *models;
        model.name = names[i][0];
        config.models = &model;
        config.model_count = 1;
        test_need(vmafgpu_open(&context, &config) == VMAFGPU_OK, "vmafgpu_open");
        models = json_at(describe(context), "models");
        snprintf(expected, sizeof expected, "[{\"name\":%s,\"model\":", names[i][1]);
        CHECK_HAS(models, expected);
        vmafgpu_close(context);
    }
}

/* ---- calls from callbacks, and from other threads ---- */

typedef struct caller {
    vmafgpu *context;
    char text[SIZE];
    int calls;
} caller;

static void on_score(void *user, const vmafgpu_score *score) {
    caller *c = (caller *)user;
    (void)vmafgpu_describe(c->context, c->text, sizeof c->text);
    CHECK(json_is_valid(c->text) && json_is(c->text, "state", "\"open\""));
    CHECK_INT(json_whole(c->text, "counts.delivered"), score->index + 1);
    c->calls++;
}

static void on_reusable(void *user, int64_t pairs) {
    caller *c = (caller *)user;
    (void)pairs;
    (void)vmafgpu_describe(c->context, c->text, sizeof c->text);
    CHECK(json_is_valid(c->text) && json_is(c->text, "state", "\"busy\""));
    CHECK(json_is(c->text, "busy_with", "\"vmafgpu_push\"") || json_is(c->text, "busy_with", "\"vmafgpu_flush\""));
    CHECK(!json_at(c->text, "config"));
    CHECK_STR(vmafgpu_last_error(c->context), ""); /* calling a context that is busy is not a failure */
    c->calls++;
}

static void test_callbacks(void) {
    film f = film_make("texture+mix", WIDTH, HEIGHT, 8, 4, 7);
    static caller scores, reusable;
    vmafgpu_config config = small_config();
    snprintf(test_where, sizeof test_where, "callbacks");
    config.on_score = on_score;
    config.on_score_user = &scores;
    config.on_reusable = on_reusable;
    config.on_reusable_user = &reusable;
    test_need(vmafgpu_open(&scores.context, &config) == VMAFGPU_OK, "vmafgpu_open");
    reusable.context = scores.context;
    for (int i = 0; i < 4; i++) {
        vmafgpu_frame reference = film_frame(&f, i, 0), distorted = film_frame(&f, i, 1);
        CHECK_INT(vmafgpu_push(scores.context, &reference, &distorted), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(scores.context), VMAFGPU_OK);
    CHECK_INT(scores.calls, 4);
    CHECK(reusable.calls > 0);
    CHECK(json_is(describe(scores.context), "config.on_score", "true"));
    vmafgpu_close(scores.context);
    film_free(&f);
}

int main(void) {
    test_parser();
    test_counts();
    test_acquired();
    test_failed_frame();
    test_not_open();
    test_names();
    test_callbacks();
    return test_end();
}
