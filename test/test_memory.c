/* Tests allocators that the caller supplies. If an allocation fails, the call must return an error, and no memory may
 * leak. It must still be possible to use and close the context. If the same pair is pushed again, the scores must be
 * correct. */
#include "scoring.h"

/* An allocator that fills memory with a pattern, guards its end, counts allocations, and fails on demand. */
typedef struct ledger {
    long live, total;
    size_t bytes;
    long fail_at; /* number of allocations that succeed before one fails; negative if none fails */
    int fail_all; /* all later allocations fail too */
    long damaged;
} ledger;

typedef struct block {
    union {
        size_t size;
        long double align; /* aligns the memory after this struct for any type */
        long double space[2];
    } u;
} block;

static const unsigned char guard[8] = { 0xFD, 0xFE, 0xFD, 0xFE, 0xFD, 0xFE, 0xFD, 0xFE };

static void *ledger_alloc(void *user, size_t size) {
    ledger *l = (ledger *)user;
    block *b;
    if (l->fail_at >= 0 && l->fail_at-- == 0) {
        l->fail_at = l->fail_all ? 0 : -1;
        return NULL;
    }
    b = (block *)malloc(sizeof *b + size + sizeof guard);
    test_need(b != NULL, "out of memory");
    b->u.size = size;
    memset(b + 1, 0xA5, size);
    memcpy((char *)(b + 1) + size, guard, sizeof guard);
    l->live++;
    l->total++;
    l->bytes += size;
    return b + 1;
}

static void ledger_free(void *user, void *pointer) {
    ledger *l = (ledger *)user;
    if (pointer) {
        block *b = (block *)pointer - 1;
        l->damaged += memcmp((char *)pointer + b->u.size, guard, sizeof guard) != 0;
        l->live--;
        l->bytes -= b->u.size;
        memset(pointer, 0x5A, b->u.size);
        free(b);
    }
}

static ledger ledger_none(void) {
    ledger l;
    memset(&l, 0, sizeof l);
    l.fail_at = -1;
    return l;
}

static vmafgpu_allocator allocator_of(ledger *l) {
    vmafgpu_allocator a;
    a.allocate = ledger_alloc;
    a.release = ledger_free;
    a.user = l;
    return a;
}

static void check_all_returned(const ledger *l) {
    CHECK_INT(l->live, 0);
    CHECK_INT(l->bytes, 0);
    CHECK_INT(l->damaged, 0);
}

/* ---- open ---- */

/* Opens a context repeatedly. In each attempt, the n-th allocation fails, or all allocations from the n-th on. n
 * increases until opening succeeds. */
static void open_with_failures(const film *f, const vmafgpu_config *wanted) {
    for (int threads = 1; threads <= 3; threads += 2) {
        for (int all = 0; all <= 1; all++) {
            int opened = 0;
            for (long n = 0; !opened; n++) {
                ledger l = ledger_none();
                vmafgpu_config config = *wanted;
                vmafgpu *context = NULL;
                vmafgpu_result result;
                snprintf(test_where, sizeof test_where, "open %dx%d, allocation %ld fails, threads %d", f->clip.width,
                         f->clip.height, n, threads);
                config.threads = threads;
                config.allocator = allocator_of(&l);
                /* With AUTO, only the GPU may need the allocation that fails; scoring then runs on the CPU. */
                config.backend = threads == 1 ? VMAFGPU_BACKEND_CPU : VMAFGPU_BACKEND_AUTO;
                l.fail_at = n;
                l.fail_all = all;
                result = vmafgpu_open(&context, &config);
                opened = l.fail_at > 0 || (result == VMAFGPU_OK && l.fail_at != -1);
                if (config.backend != VMAFGPU_BACKEND_AUTO || all || result != VMAFGPU_OK)
                    CHECK_INT(result, opened ? VMAFGPU_OK : VMAFGPU_ERROR_MEMORY);
                CHECK(vmafgpu_last_error(context) != NULL);
                CHECK(result == VMAFGPU_OK || vmafgpu_last_error(context)[0] != 0);
                CHECK(result != VMAFGPU_OK || vmafgpu_host_memory(context) == l.bytes);
                vmafgpu_close(context);
                check_all_returned(&l);
                test_need(n < 1000, "open always fails");
                CHECK(!opened || n > 0); /* at least one allocation failed */
            }
        }
    }
}

static void test_open(int width, int height, const char *second) {
    film f = film_make_colour("texture+mix", width, height, 8, 444, 2, 1);
    vmafgpu_config config = film_config(&f);
    vmafgpu_model_config models[2];
    vmafgpu_feature_config features[2];
    memset(models, 0, sizeof models);
    memset(features, 0, sizeof features);
    models[0].version = "vmaf_v0.6.1";
    models[1].version = second;
    models[1].name = "boot";
    models[1].options = "adm.adm_enhn_gain_limit=1.2";
    features[0].name = "motion";
    features[0].options = "motion_five_frame_window=true:motion_moving_average=true";
    features[1].name = "vif";
    config.models = models;
    config.model_count = 2;
    config.features = features;
    config.feature_count = 2;
    open_with_failures(&f, &config);
    film_free(&f);
}

/* All standalone features, speed_chroma and cambi. Some of these features have options that need more memory. */
static vmafgpu_feature_config everything[] = { { "speed_temporal", NULL },
                                               { "psnr", "enable_mse=true:enable_apsnr=true" },
                                               { "psnr_hvs", NULL },
                                               { "ciede", NULL },
                                               { "float_psnr", NULL },
                                               { "float_moment", NULL },
                                               { "float_ssim", "enable_lcs=true" },
                                               { "float_ms_ssim", NULL },
                                               { "float_adm", "debug=true" },
                                               { "float_vif", NULL },
                                               { "float_vif", "vif_prescale=0.7:vif_prescale_method=lanczos4" },
                                               { "float_motion", NULL },
                                               { "float_motion", "motion_add_uv=true:motion_add_scale1=true" },
                                               { "float_ansnr", NULL },
                                               { "speed_chroma", "speed_prescale=0.5:speed_prescale_method=bicubic" },
                                               { "cambi", "full_ref=true" } };
enum { EVERYTHING = sizeof everything / sizeof everything[0] };

static void request_everything(vmafgpu_config *config) {
    config->features = everything;
    config->feature_count = EVERYTHING;
    config->features_only = 1;
    config->backend = VMAFGPU_BACKEND_CPU;
}

/* ---- push ---- */

static void push_with_failure(const film *f, const vmafgpu_config *wanted, const scores *whole, long fail_at,
                              long *grown) {
    ledger l = ledger_none();
    vmafgpu_config config = *wanted;
    vmafgpu *context;
    scores s;
    long at_open;
    int failures = 0;
    config.allocator = allocator_of(&l);
    context = open_checked(&config);
    at_open = l.total;
    l.fail_at = fail_at;
    for (int i = 0; i < f->clip.frames; i++) {
        vmafgpu_result result = film_push(f, context, i);
        if (result == VMAFGPU_ERROR_MEMORY) {
            failures++;
            CHECK(vmafgpu_last_error(context)[0] != 0);
            result = film_push(f, context, i);
        }
        CHECK_INT(result, VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(failures, l.fail_at < 0 ? 1 : 0);
    CHECK_INT(vmafgpu_host_memory(context), l.bytes);
    s = scores_of(context);
    check_same_scores(&s, whole);
    scores_free(&s);
    *grown = l.total - at_open;
    vmafgpu_close(context);
    check_all_returned(&l);
}

static void test_push(void) {
    film f = film_make("texture+mix", 16, 16, 8, 700, 1);
    vmafgpu_config config = film_config(&f);
    scores whole = film_score(&f, &config);
    long grown = 1;
    for (long n = 0; n <= grown; n++) {
        snprintf(test_where, sizeof test_where, "push, allocation %ld fails", n);
        push_with_failure(&f, &config, &whole, n, &grown);
    }
    CHECK(grown > 0);
    CHECK(grown < 100); /* few allocations are enough, because the score list grows by increasing amounts */

    /* From now on, all allocations fail. A push must fail, and the earlier scores must remain available. */
    {
        ledger l = ledger_none();
        vmafgpu *context;
        vmafgpu_score score;
        int taken = 0;
        snprintf(test_where, sizeof test_where, "all allocations fail");
        config.allocator = allocator_of(&l);
        context = open_checked(&config);
        l.fail_at = 0;
        l.fail_all = 1;
        while (taken < f.clip.frames && film_push(&f, context, taken) == VMAFGPU_OK)
            taken++;
        CHECK(taken < f.clip.frames);
        CHECK_INT(film_push(&f, context, taken), VMAFGPU_ERROR_MEMORY);
        for (int i = 0; i < taken - 1; i++) {
            CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
            check_row(score.values, whole.values + i * whole.columns, whole.columns);
        }
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
        vmafgpu_close(context);
        check_all_returned(&l);
    }
    scores_free(&whole);
    film_free(&f);
}

/* With all features enabled, makes each allocation in vmafgpu_open() fail in turn, then each allocation (if any) in a
 * push. */
static void test_everything(void) {
    film f = film_make_colour("texture+mix", 217, 177, 8, 444, 3, 1);
    vmafgpu_config config = film_config(&f);
    scores whole;
    long grown = 1;
    request_everything(&config);
    open_with_failures(&f, &config);
    whole = film_score(&f, &config);
    for (long n = 0; n < grown; n++) {
        snprintf(test_where, sizeof test_where, "all features, push, allocation %ld fails", n);
        push_with_failure(&f, &config, &whole, n, &grown);
    }
    scores_free(&whole);
    film_free(&f);
}

/* ---- fixed memory ---- */

static void ignore_score(void *user, const vmafgpu_score *score) {
    (void)user;
    (void)score;
}

static void test_fixed_memory(void) {
    film f = film_make("texture+mix", 16, 16, 8, 600, 2);
    vmafgpu_config config = film_config(&f);
    ledger l = ledger_none();
    vmafgpu *context;
    long total;
    size_t bytes;
    snprintf(test_where, sizeof test_where, "discard_scores");
    config.allocator = allocator_of(&l);
    config.discard_scores = 1;
    config.on_score = ignore_score;
    context = open_checked(&config);
    total = l.total;
    bytes = l.bytes;
    for (int i = 0; i < f.clip.frames; i++)
        CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(l.total, total);
    CHECK_INT(l.bytes, bytes);
    CHECK_INT(vmafgpu_host_memory(context), bytes);
    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
    CHECK_INT(l.total, total);
    vmafgpu_close(context);
    check_all_returned(&l);

    /* vmafgpu_reset() keeps the memory, so the second clip needs no allocations */
    snprintf(test_where, sizeof test_where, "reset keeps memory");
    l = ledger_none();
    config.discard_scores = 0;
    config.on_score = NULL;
    context = open_checked(&config);
    for (int round = 0; round < 2; round++) {
        total = l.total;
        for (int i = 0; i < f.clip.frames; i++)
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK(round == 0 ? l.total > total : l.total == total);
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
    }
    vmafgpu_close(context);
    check_all_returned(&l);
    film_free(&f);
}

/* Threads need little memory: a 4K context with up to 256 threads and two frames needs less than 100 MB in total. */
static void test_threads(void) {
    static const unsigned masks[] = { 0, 16, 255 };
    const size_t two_frames = (size_t)2 * 3840 * 2160 * 2;
    for (int threads = 1; threads <= 256; threads *= 4) {
        for (int i = 0; i < 3; i++) {
            ledger l = ledger_none();
            vmafgpu_config config;
            vmafgpu *context;
            memset(&config, 0, sizeof config);
            config.width = 3840;
            config.height = 2160;
            config.bit_depth = 10;
            config.backend = VMAFGPU_BACKEND_CPU;
            config.threads = threads;
            config.cpumask = masks[i];
            config.allocator = allocator_of(&l);
            context = open_checked(&config);
            snprintf(test_where, sizeof test_where, "4K, 10 bits, %d threads, cpumask %u", threads, masks[i]);
            CHECK_INT(vmafgpu_host_memory(context), l.bytes);
            CHECK(vmafgpu_host_memory(context) + two_frames < (threads == 1 ? 76000000u : 96000000u));
            vmafgpu_close(context);
            check_all_returned(&l);
        }
    }
}

static void test_percentile(void) {
    film f = film_make("texture+mix", 16, 16, 8, 20, 3);
    vmafgpu_config config = film_config(&f);
    ledger l = ledger_none();
    vmafgpu *context;
    double first = 0, second = 1;
    snprintf(test_where, sizeof test_where, "percentile");
    config.allocator = allocator_of(&l);
    context = open_checked(&config);
    for (int i = 0; i < f.clip.frames; i++)
        CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_percentile(context, 0, 10, &first), VMAFGPU_OK);
    for (long n = 0; n < 4; n++) {
        vmafgpu_result result;
        l.fail_at = n;
        result = vmafgpu_percentile(context, 0, 10, &second);
        CHECK_INT(result, l.fail_at < 0 ? VMAFGPU_ERROR_MEMORY : VMAFGPU_OK);
        l.fail_at = -1;
        CHECK_INT(vmafgpu_percentile(context, 0, 10, &second), VMAFGPU_OK);
        CHECK_BITS(second, first);
    }
    vmafgpu_close(context);
    check_all_returned(&l);
    film_free(&f);
}

/* ---- models ---- */

static void test_model_parse(void) {
    static const char text[] =
        "{\"model_dict\":{\"model_type\":\"LIBSVMNUSVR\",\"norm_type\":\"linear_rescale\","
        "\"feature_names\":[\"VMAF_integer_feature_adm2_score\",\"VMAF_integer_feature_motion2_score\"],"
        "\"feature_opts_dicts\":[{\"adm_enhn_gain_limit\":1.0},{}],"
        "\"slopes\":[0.01,1,0.1],\"intercepts\":[0,0,0],\"score_clip\":[0,100],"
        "\"model\":\"svm_type nu_svr\\nkernel_type rbf\\ngamma 0.04\\nnr_class 2\\ntotal_sv 2\\nrho -1\\nSV\\n"
        "1 1:0.5 2:0.25 \\n-0.5 1:1 \\n\"}}";
    int done = 0;
    for (long n = 0; !done; n++) {
        ledger l = ledger_none();
        vmafgpu_allocator a = allocator_of(&l);
        vmafgpu_model *model = NULL;
        char error[256] = "";
        vmafgpu_result result;
        snprintf(test_where, sizeof test_where, "model, allocation %ld fails", n);
        l.fail_at = n;
        result = vmafgpu_model_parse(&model, "mine", text, sizeof text - 1, &a, error, sizeof error);
        done = l.fail_at >= 0;
        CHECK_INT(result, done ? VMAFGPU_OK : VMAFGPU_ERROR_MEMORY);
        CHECK((model != NULL) == (result == VMAFGPU_OK));
        CHECK((error[0] != 0) == (result != VMAFGPU_OK));
        CHECK_INT(l.live, done ? 1 : 0); /* a model consists of one allocation */
        vmafgpu_model_release(model);
        check_all_returned(&l);
        test_need(n < 100, "parsing always fails");
    }
    vmafgpu_model_release(NULL);
}

int main(void) {
    test_open(64, 48, "vmaf_b_v0.6.3");
    test_open(96, 216, "vmaf_v1.0.16_3d0h");
    test_push();
    test_everything();
    test_fixed_memory();
    test_threads();
    test_percentile();
    test_model_parse();
    return test_end();
}
