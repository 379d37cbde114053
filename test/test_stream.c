/* Tests how scores are delivered: order and states, callbacks and polling, segments, single pairs, pooling, several
 * models, candidates, calls from callbacks, acquired pairs, and tags. */
#include <math.h>
#include "scoring.h"

static vmafgpu_feature_config feature(const char *name, const char *options) {
    vmafgpu_feature_config f;
    f.name = name;
    f.options = options;
    return f;
}

/* ---- states ---- */

static void test_states(void) {
    film f = film_make("texture+mix", 48, 40, 8, 5, 1);
    vmafgpu_config config = film_config(&f);
    scores whole = film_score(&f, &config);
    vmafgpu *context = open_checked(&config);
    vmafgpu_frame frame = film_frame(&f, 0, 0);
    vmafgpu_score score;
    double value;
    snprintf(test_where, sizeof test_where, "states");
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_score_count(context), 0);
    CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_pool(context, 0, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_percentile(context, 0, 50, &value), VMAFGPU_ERROR_NOT_FOUND);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push_preceding(context, &frame), VMAFGPU_ERROR_STATE);
        CHECK(vmafgpu_last_error(context)[0] != 0);
        /* the last score needs the following frame */
        CHECK_INT(vmafgpu_score_count(context), i);
        if (i > 0) {
            if (CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK)) {
                CHECK_INT(score.index, i - 1);
                CHECK_BITS(score.score, score.values[vmafgpu_model_column(context, 0)]);
                check_row(score.values, whole.values + (i - 1) * whole.columns, whole.columns);
            }
        }
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
    CHECK_INT(score.index, 4);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
    CHECK_INT(film_push(&f, context, 0), VMAFGPU_ERROR_STATE);
    CHECK(vmafgpu_last_error(context)[0] != 0);
    CHECK_INT(vmafgpu_push_preceding(context, &frame), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_push_following(context, &frame), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK); /* a second flush changes nothing */
    CHECK_INT(vmafgpu_score_count(context), 5);
    CHECK_INT(vmafgpu_score_at(context, 5, &score), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_score_at(context, -1, &score), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_score_at(context, INT64_MAX, &score), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_pool(context, whole.columns, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_pool(context, -1, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_NOT_FOUND);
    CHECK_INT(vmafgpu_pool(context, 0, (vmafgpu_pool_method)4, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_pool(context, 0, VMAFGPU_POOL_MEAN, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_percentile(context, 0, 100.5, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_percentile(context, 0, -1, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_percentile(context, 0, (double)NAN, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_percentile(context, 0, 50, NULL), VMAFGPU_ERROR_ARGUMENT);

    /* After a reset, the context scores the clip again. In round 1, the reset interrupts a clip. */
    for (int round = 0; round < 2; round++) {
        scores again;
        snprintf(test_where, sizeof test_where, "reset %d", round);
        if (round == 1) {
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            CHECK_INT(film_push(&f, context, 3), VMAFGPU_OK);
            CHECK_INT(film_push(&f, context, 1), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push_following(context, &frame), VMAFGPU_OK);
            CHECK_INT(film_push(&f, context, 1), VMAFGPU_ERROR_STATE);
        }
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_count(context), 0);
        CHECK_INT(vmafgpu_pool(context, 0, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_NOT_FOUND);
        for (int i = 0; i < 5; i++)
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        again = scores_of(context);
        check_same_scores(&again, &whole);
        scores_free(&again);
    }
    vmafgpu_close(context);

    /* vmafgpu_push_following() fails if no pair has been pushed. */
    snprintf(test_where, sizeof test_where, "following frame first");
    context = open_checked(&config);
    CHECK_INT(vmafgpu_push_preceding(context, &frame), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_following(context, &frame), VMAFGPU_ERROR_STATE);
    CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_following(context, &frame), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_preceding(context, &frame), VMAFGPU_ERROR_STATE);
    CHECK_INT(film_push(&f, context, 1), VMAFGPU_ERROR_STATE);
    vmafgpu_close(context);

    /* Flushing a clip without frames succeeds and produces no scores. */
    snprintf(test_where, sizeof test_where, "empty clip");
    context = open_checked(&config);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
    CHECK_INT(vmafgpu_pool(context, 0, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_NOT_FOUND);
    vmafgpu_close(context);
    scores_free(&whole);
    film_free(&f);
}

static void test_null_context(void) {
    vmafgpu_frame frame;
    vmafgpu_score score;
    double value;
    snprintf(test_where, sizeof test_where, "null context");
    memset(&frame, 0, sizeof frame);
    CHECK_INT(vmafgpu_push(NULL, &frame, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push_preceding(NULL, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push_following(NULL, &frame), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_next_score(NULL, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_flush(NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_reset(NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_score_pair(NULL, &frame, &frame, NULL, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_score_at(NULL, 0, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_pool(NULL, 0, VMAFGPU_POOL_MEAN, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_percentile(NULL, 0, 50, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_aggregate(NULL, 0, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_value_at(NULL, 0, 0, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_predict(NULL, &value, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_wait(NULL, 0), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_stream_wait(NULL, NULL, 0), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_after_stream(NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_begin(NULL, &frame, &frame, NULL, NULL, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_edit_begin: context is NULL");
}

/* Checks that functions that return properties of a context return "nothing" without a context, and for a context that
 * could not be opened. */
static void check_no_properties(vmafgpu *context) {
    int across = 5, down = 5;
    CHECK_INT(vmafgpu_preceding_count(context), 0);
    CHECK_INT(vmafgpu_reusable_count(context), 0);
    CHECK_INT(vmafgpu_score_count(context), 0);
    CHECK_INT(vmafgpu_column_count(context), 0);
    CHECK(vmafgpu_column_name(context, 0) == NULL);
    CHECK_INT(vmafgpu_column_index(context, "vmaf"), -1);
    CHECK_INT(vmafgpu_model_column(context, 0), -1);
    CHECK_INT(vmafgpu_report_column(context, 1, 0), -1);
    CHECK_INT(vmafgpu_aggregate_count(context), 0);
    CHECK(vmafgpu_aggregate_name(context, 0) == NULL);
    CHECK_INT(vmafgpu_map_blocks(context, &across, &down), 0);
    CHECK(across == 0 && down == 0);
    CHECK_STR(vmafgpu_backend_name(context), "");
    CHECK_STR(vmafgpu_device_name(context), "");
    CHECK_STR(vmafgpu_driver_name(context), "");
    CHECK_STR(vmafgpu_backend_note(context), "");
    CHECK_INT(vmafgpu_self_test_checksum(context), 0);
    CHECK_INT(vmafgpu_device_memory(context), 0);
    CHECK_INT(vmafgpu_is_opening(context), 0);
    CHECK_INT(vmafgpu_next_device(context), -1);
}

static void test_no_properties(void) {
    vmafgpu_config config;
    vmafgpu *context = NULL;
    snprintf(test_where, sizeof test_where, "properties of no context");
    check_no_properties(NULL);
    CHECK(vmafgpu_get_config(NULL) == NULL);
    CHECK_STR(vmafgpu_instruction_set(NULL), "");
    CHECK_INT(vmafgpu_host_memory(NULL), 0);
    memset(&config, 0, sizeof config);
    config.width = 64;
    config.map_block_size = 16;
    snprintf(test_where, sizeof test_where, "properties of a context that is not open");
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    check_no_properties(context);
    CHECK_INT(vmafgpu_get_config(context)->width, 64);
    CHECK(vmafgpu_instruction_set(context)[0] != 0);
    vmafgpu_close(context);
    /* An open context with the CPU backend has no device. */
    config.height = 48;
    config.map_block_size = 0;
    context = open_checked(&config);
    CHECK_STR(vmafgpu_device_name(context), "");
    CHECK_INT(vmafgpu_is_opening(context), 0);
    CHECK_INT(vmafgpu_next_device(context), -1);
    CHECK_INT(vmafgpu_map_blocks(context, NULL, NULL), 0);
    vmafgpu_close(context);
}

/* Tests vmafgpu_aggregate(), which returns values of a whole clip. */
static void test_aggregates(void) {
    film f = film_make("texture+mix", 48, 40, 8, 2, 3);
    vmafgpu_config config = film_config(&f);
    vmafgpu_feature_config feature;
    double value = 0;
    vmafgpu *context;
    memset(&feature, 0, sizeof feature);
    feature.name = "psnr";
    feature.options = "enable_chroma=false:enable_apsnr=true";
    config.features = &feature;
    config.feature_count = 1;
    snprintf(test_where, sizeof test_where, "aggregates");
    context = open_checked(&config);
    const int count = vmafgpu_aggregate_count(context);
    CHECK(count >= 1);
    CHECK(vmafgpu_aggregate_name(context, 0) && !vmafgpu_aggregate_name(context, count));
    CHECK(!vmafgpu_aggregate_name(context, -1));
    CHECK_INT(vmafgpu_aggregate(context, count, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_aggregate: index is out of range (");
    CHECK_INT(vmafgpu_aggregate(context, -1, &value), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_aggregate: index is out of range (-1)");
    CHECK_INT(vmafgpu_aggregate(context, 0, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(context), "vmafgpu_aggregate: value is NULL");
    for (int i = 0; i < f.clip.frames; i++)
        CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_aggregate(context, 0, &value), VMAFGPU_OK);
    CHECK(value > 5 && value < 60);
    vmafgpu_close(context);
    film_free(&f);
}

/* Tests vmafgpu_push_many() with invalid contexts, and with one that is not open. */
static void test_push_many(void) {
    film f = film_make("texture+mix", 48, 40, 8, 1, 3);
    vmafgpu_config config = film_config(&f);
    vmafgpu_frame reference = film_frame(&f, 0, 0), distorted[3];
    vmafgpu *contexts[3] = { NULL, NULL, NULL };
    vmafgpu_result results[3];
    vmafgpu_score score, expected;
    snprintf(test_where, sizeof test_where, "push_many");
    distorted[0] = distorted[1] = distorted[2] = film_frame(&f, 0, 1);
    config.contexts_per_pass = 3;
    contexts[0] = open_checked(&config);
    contexts[2] = open_checked(&config);
    config.width = 3;
    CHECK_INT(vmafgpu_push_many(contexts, 2, &reference, distorted, results), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: contexts[1] is NULL");
    CHECK(results[0] == VMAFGPU_ERROR_ARGUMENT && results[1] == VMAFGPU_ERROR_ARGUMENT);
    contexts[1] = contexts[0];
    CHECK_INT(vmafgpu_push_many(contexts, 3, &reference, distorted, results), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: contexts[1] is the same as contexts[0]");
    CHECK_INT(vmafgpu_push_many(NULL, 3, &reference, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: contexts is NULL");
    CHECK_INT(vmafgpu_push_many(contexts, 0, &reference, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: count is out of range (0); use 1 or more");
    CHECK_INT(vmafgpu_open(&contexts[1], &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push_many(contexts, 3, NULL, distorted, results), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: reference is NULL");
    CHECK_INT(vmafgpu_push_many(contexts, 3, &reference, NULL, results), VMAFGPU_ERROR_ARGUMENT);
    CHECK_STR(vmafgpu_last_error(NULL), "vmafgpu_push_many: distorted is NULL");
    /* The contexts that are open accept the pair. */
    CHECK_INT(vmafgpu_push_many(contexts, 3, &reference, distorted, results), VMAFGPU_ERROR_STATE);
    CHECK(results[0] == VMAFGPU_OK && results[1] == VMAFGPU_ERROR_STATE && results[2] == VMAFGPU_OK);
    for (int i = 0; i < 3; i += 2) {
        CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_at(contexts[i], 0, i ? &score : &expected), VMAFGPU_OK);
    }
    CHECK_BITS(score.score, expected.score);
    for (int i = 0; i < 3; i++)
        vmafgpu_close(contexts[i]);
    film_free(&f);
}

/* Tests that vmafgpu_push_many() shares work only between contexts that would compute the same: the second of three
 * contexts differs from the others in one setting, and each context returns the scores that it returns alone. */
static void test_unlike_contexts(void) {
    enum { WIDTH = 50, HEIGHT = 40, FRAMES = 5, CASES = 17 };
    static const vmafgpu_feature_config motion = { "motion", "motion_five_frame_window=true" }, psnr = { "psnr", NULL };
    static uint16_t luma[2 * FRAMES][WIDTH * HEIGHT];
    vmafgpu_frame frames[2 * FRAMES];
    memset(frames, 0, sizeof frames);
    for (int i = 0; i < 2 * FRAMES; i++) {
        for (int n = 0; n < WIDTH * HEIGHT; n++)
            luma[i][n] = (uint16_t)(clip_hash((uint32_t)(n / 3), (uint32_t)(i / 2), 5) & (i % 2 ? 496 : 511));
        frames[i].data[0] = frames[i].data[1] = luma[i];
        frames[i].pitch[0] = frames[i].pitch[1] = WIDTH * 2;
    }
    for (int c = 0; c < CASES; c++) {
        vmafgpu_config configs[3];
        vmafgpu *contexts[3];
        scores got, expected;
        for (int i = 0; i < 3; i++) {
            memset(&configs[i], 0, sizeof configs[i]);
            configs[i].width = WIDTH;
            configs[i].height = HEIGHT;
            configs[i].bit_depth = 10;
            configs[i].chroma = VMAFGPU_CHROMA_400;
            configs[i].backend = VMAFGPU_BACKEND_CPU;
            configs[i].contexts_per_pass = 3;
        }
        vmafgpu_config *other = &configs[1];
        switch (c) {
        case 0: other->width = WIDTH - 1; break;
        case 1: other->height = HEIGHT - 3; break;
        case 2: other->bit_depth = 9; break;
        case 3: other->layout = VMAFGPU_LAYOUT_SEMIPLANAR; break;
        case 4: other->threads = test_thread_count(2); break;
        case 5: other->cpumask = ~0u; break;
        case 6: other->subsample = 2; break;
        case 7: other->slopes = 1; break;
        case 8: other->map_block_size = 16, other->live = 1, other->contexts_per_pass = 0; break;
        case 9: other->feature_count = 1, other->features = &motion; break;
        case 10: other->feature_count = 1, other->features = &psnr; break;
        case 11: other->contexts_per_pass = 1; break;
        case 12: configs[0].contexts_per_pass = 2; break;
        case 13: configs[0].subsample = configs[1].subsample = configs[2].subsample = 2; break;
        default: break; /* the contexts differ in what has been pushed */
        }
        for (int i = 0; i < 3; i++) {
            snprintf(test_where, sizeof test_where, "unlike contexts, case %d, context %d", c, i);
            contexts[i] = open_checked(&configs[i]);
        }
        if (c == 14)
            CHECK_INT(vmafgpu_push_preceding(contexts[1], &frames[0]), VMAFGPU_OK);
        if (c == 15)
            CHECK_INT(vmafgpu_push(contexts[1], &frames[0], &frames[1]), VMAFGPU_OK);
        if (c == 16)
            CHECK_INT(vmafgpu_push(contexts[0], &frames[2], &frames[3]), VMAFGPU_OK);
        for (int i = 0; i < FRAMES; i++) {
            vmafgpu_frame distorted[3];
            distorted[0] = frames[2 * i + 1];
            distorted[1] = frames[(2 * i + 3) % (2 * FRAMES)];
            distorted[2] = frames[2 * i];
            CHECK_INT(vmafgpu_push_many(contexts, 3, &frames[2 * i], distorted, NULL), VMAFGPU_OK);
        }
        for (int i = 0; i < 3; i++) {
            snprintf(test_where, sizeof test_where, "unlike contexts, case %d, context %d", c, i);
            CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
            got = scores_of(contexts[i]);
            CHECK_INT(vmafgpu_reset(contexts[i]), VMAFGPU_OK);
            if (c == 14 && i == 1)
                CHECK_INT(vmafgpu_push_preceding(contexts[i], &frames[0]), VMAFGPU_OK);
            if (c == 15 && i == 1)
                CHECK_INT(vmafgpu_push(contexts[i], &frames[0], &frames[1]), VMAFGPU_OK);
            if (c == 16 && i == 0)
                CHECK_INT(vmafgpu_push(contexts[i], &frames[2], &frames[3]), VMAFGPU_OK);
            for (int k = 0; k < FRAMES; k++) {
                const int distorted = i == 0 ? 2 * k + 1 : i == 1 ? (2 * k + 3) % (2 * FRAMES) : 2 * k;
                CHECK_INT(vmafgpu_push(contexts[i], &frames[2 * k], &frames[distorted]), VMAFGPU_OK);
            }
            CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
            expected = scores_of(contexts[i]);
            check_same_scores(&got, &expected);
            scores_free(&got);
            scores_free(&expected);
            vmafgpu_close(contexts[i]);
        }
    }
}

/* ---- callback and kept scores ---- */

typedef struct collector {
    scores got;
    int64_t last;
    int in_order;
} collector;

static void collect(void *user, const vmafgpu_score *score) {
    collector *c = (collector *)user;
    c->in_order &= score->index > c->last;
    c->last = score->index;
    memcpy(c->got.values + c->got.rows * c->got.columns, score->values, sizeof(double) * (size_t)c->got.columns);
    c->got.rows++;
}

static collector collector_for(const scores *like) {
    collector c;
    c.got.rows = 0;
    c.got.columns = like->columns;
    c.got.values = (double *)malloc(sizeof(double) * (size_t)(like->rows * like->columns + 1));
    c.last = -1;
    c.in_order = 1;
    test_need(c.got.values != NULL, "out of memory");
    return c;
}

static void check_pooled(vmafgpu *got, vmafgpu *expected) {
    for (int column = 0; column < vmafgpu_column_count(expected); column++) {
        for (int method = VMAFGPU_POOL_MEAN; method <= VMAFGPU_POOL_MAX; method++) {
            double a = 0, b = 1;
            CHECK_INT(vmafgpu_pool(got, column, (vmafgpu_pool_method)method, &a), VMAFGPU_OK);
            CHECK_INT(vmafgpu_pool(expected, column, (vmafgpu_pool_method)method, &b), VMAFGPU_OK);
            CHECK_BITS(a, b);
        }
    }
}

static void test_delivery(void) {
    film f = film_make("texture+mix", 48, 40, 8, 12, 2);
    for (int subsample = 1; subsample <= 3; subsample++) {
        for (int discard = 0; discard <= 1; discard++) {
            vmafgpu_config config = film_config(&f);
            scores whole;
            collector c;
            vmafgpu *kept, *context;
            vmafgpu_score score;
            double value;
            snprintf(test_where, sizeof test_where, "delivery subsample %d discard %d", subsample, discard);
            config.subsample = subsample;
            whole = film_score(&f, &config);
            CHECK_INT(whole.rows, (12 + subsample - 1) / subsample);
            kept = open_checked(&config);
            for (int i = 0; i < 12; i++)
                CHECK_INT(film_push(&f, kept, i), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(kept), VMAFGPU_OK);

            /* scores arrive by callback */
            c = collector_for(&whole);
            config.discard_scores = discard;
            config.on_score = collect;
            config.on_score_user = &c;
            context = open_checked(&config);
            for (int i = 0; i < 12; i++) {
                CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
                CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
            CHECK(c.in_order);
            check_same_scores(&c.got, &whole);
            check_pooled(context, kept);
            CHECK_INT(vmafgpu_score_count(context), whole.rows);
            if (discard) {
                CHECK(vmafgpu_score_at(context, 0, &score) < 0);
                CHECK(vmafgpu_percentile(context, 0, 50, &value) < 0);
            }
            vmafgpu_close(context);

            /* scores are polled as late as possible */
            c.got.rows = 0;
            c.last = -1;
            config.on_score = NULL;
            context = open_checked(&config);
            for (int i = 0; i < 12; i++) {
                vmafgpu_result result = film_push(&f, context, i);
                if (result == VMAFGPU_ERROR_UNREAD_SCORES) {
                    CHECK(discard);
                    CHECK_INT(film_push(&f, context, i), VMAFGPU_ERROR_UNREAD_SCORES);
                    while (vmafgpu_next_score(context, &score) == VMAFGPU_OK)
                        collect(&c, &score);
                    result = film_push(&f, context, i);
                }
                CHECK_INT(result, VMAFGPU_OK);
            }
            {
                vmafgpu_result result = vmafgpu_flush(context);
                if (result == VMAFGPU_ERROR_UNREAD_SCORES) {
                    CHECK(discard);
                    while (vmafgpu_next_score(context, &score) == VMAFGPU_OK)
                        collect(&c, &score);
                    result = vmafgpu_flush(context);
                }
                CHECK_INT(result, VMAFGPU_OK);
            }
            while (vmafgpu_next_score(context, &score) == VMAFGPU_OK)
                collect(&c, &score);
            CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
            CHECK(c.in_order);
            check_same_scores(&c.got, &whole);
            check_pooled(context, kept);
            vmafgpu_close(context);
            vmafgpu_close(kept);
            scores_free(&c.got);
            scores_free(&whole);
        }
    }
    film_free(&f);
}

/* Tests that, with discard_scores, a context accepts a limited number of pairs until the scores are read. No score is
 * lost. */
static void test_unread_scores(void) {
    film f = film_make("texture+mix", 16, 16, 8, 8, 2);
    vmafgpu_config config = film_config(&f);
    vmafgpu *context;
    vmafgpu_result result = VMAFGPU_OK;
    vmafgpu_score score;
    int pushed = 0;
    snprintf(test_where, sizeof test_where, "too many unread scores");
    config.discard_scores = 1;
    context = open_checked(&config);
    while (pushed < 10000 && (result = film_push(&f, context, pushed % 8)) == VMAFGPU_OK)
        pushed++;
    CHECK_INT(result, VMAFGPU_ERROR_UNREAD_SCORES);
    CHECK(strstr(vmafgpu_last_error(context), "vmafgpu_next_score") != NULL);
    CHECK_INT(film_push(&f, context, pushed % 8), VMAFGPU_ERROR_UNREAD_SCORES);
    for (int i = 0; i < pushed - 1; i++)
        if (CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK))
            CHECK_INT(score.index, i);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
    CHECK_INT(film_push(&f, context, pushed % 8), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
    CHECK_INT(score.index, pushed - 1);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
    CHECK_INT(score.index, pushed);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
    vmafgpu_close(context);
    film_free(&f);
}

/* Tests that, with subsample N, a context returns every N-th of the scores that it would return without subsampling. */
static void test_subsample(void) {
    film f = film_make("texture+mix", 48, 40, 8, 11, 3);
    vmafgpu_config config = film_config(&f);
    scores whole = film_score(&f, &config);
    for (int n = 2; n <= 12; n++) {
        scores s;
        snprintf(test_where, sizeof test_where, "subsample %d", n);
        config.subsample = n;
        s = film_score(&f, &config);
        CHECK_INT(s.rows, (11 + n - 1) / n);
        for (int i = 0; i < s.rows; i++)
            check_row(s.values + i * s.columns, whole.values + i * n * whole.columns, whole.columns);
        scores_free(&s);
    }
    scores_free(&whole);
    film_free(&f);
}

/* ---- segments ---- */

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Scores frames first..end-1 of the film in a new context. Before and after these, pushes as many neighbouring frames
 * as the scores need, plus `more` additional ones. */
static void score_segment(const film *f, const vmafgpu_config *config, const scores *whole, int first, int end,
                          int tails, int more) {
    vmafgpu *context = open_checked(config);
    scores s;
    int seeds;
    if (!context)
        return;
    seeds = least(vmafgpu_preceding_count(context) + more, first);
    tails = least(tails + more, f->clip.frames - end);
    for (int i = first - seeds; i < first; i++) {
        vmafgpu_frame frame = film_frame(f, i, CLIP_REFERENCE);
        CHECK_INT(vmafgpu_push_preceding(context, &frame), VMAFGPU_OK);
    }
    for (int i = first; i < end; i++)
        CHECK_INT(film_push(f, context, i), VMAFGPU_OK);
    for (int i = end; i < end + tails; i++) {
        vmafgpu_frame frame = film_frame(f, i, CLIP_REFERENCE);
        CHECK_INT(vmafgpu_push_following(context, &frame), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    s = scores_of(context);
    CHECK_INT(s.rows, end - first);
    check_rows(&s, whole, first);
    scores_free(&s);
    vmafgpu_close(context);
}

static void test_segments(void) {
    static const struct {
        const char *motion;
        int seeds;
    } ways[] = {
        { NULL, 1 },
        { "motion_moving_average=true", 2 },
        { "motion_five_frame_window=true", 3 },
        { "motion_five_frame_window=true:motion_moving_average=true", 4 },
        { "motion_five_frame_window=true:motion_moving_average=true:motion_blend_factor=0.6:motion_blend_offset=4:"
          "motion_fps_weight=1.5:motion_max_val=12",
          4 },
        { "motion_force_zero=true", 1 },
    };
    film f = film_make("texture+mix", 48, 40, 8, 9, 4);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        vmafgpu_config config = film_config(&f);
        vmafgpu_feature_config motion = feature("motion", ways[w].motion);
        vmafgpu *context;
        scores whole;
        if (w > 0) {
            config.features = &motion;
            config.feature_count = 1;
        }
        snprintf(test_where, sizeof test_where, "segments, %s", ways[w].motion ? ways[w].motion : "default");
        context = open_checked(&config);
        CHECK_INT(vmafgpu_preceding_count(context), ways[w].seeds);
        vmafgpu_close(context);
        whole = film_score(&f, &config);
        for (int first = 0; first < f.clip.frames; first++) {
            for (int end = first + 1; end <= f.clip.frames; end++) {
                /* With the five-frame window, motion3 of frame 0 depends on the next two frames. */
                int tails = end == 1 && ways[w].seeds >= 3 ? 2 : 1;
                snprintf(test_where, sizeof test_where, "segment %d..%d, %s", first, end - 1,
                         ways[w].motion ? ways[w].motion : "default");
                score_segment(&f, &config, &whole, first, end, tails, 0);
                score_segment(&f, &config, &whole, first, end, tails, 2);
            }
        }
        scores_free(&whole);
    }
    {
        vmafgpu_config config = film_config(&f);
        vmafgpu_feature_config vif = feature("vif", NULL);
        vmafgpu *context;
        config.features_only = 1;
        config.features = &vif;
        config.feature_count = 1;
        context = open_checked(&config);
        snprintf(test_where, sizeof test_where, "no motion");
        CHECK_INT(vmafgpu_preceding_count(context), 0);
        vmafgpu_close(context);
    }
    film_free(&f);
}

/* ---- single pairs ---- */

static int live_allocations, total_allocations;

static void *count_alloc(void *user, size_t size) {
    (void)user;
    live_allocations++;
    total_allocations++;
    return malloc(size);
}

static void count_free(void *user, void *pointer) {
    (void)user;
    live_allocations -= pointer != NULL;
    free(pointer);
}

static scores score_clip_of(const film *f, const vmafgpu_config *config, int first, int count) {
    film part = *f;
    part.luma += (size_t)(2 * first) * f->plane_bytes;
    part.clip.frames = count;
    return film_score(&part, config);
}

static void test_score_pair(void) {
    static const char *const motions[] = { "", "motion_moving_average=true:motion_blend_factor=0.5",
                                           "motion_five_frame_window=true" };
    film f = film_make("texture+mix", 48, 40, 10, 6, 5);
    for (size_t w = 0; w < sizeof motions / sizeof motions[0]; w++) {
        vmafgpu_config config = film_config(&f);
        vmafgpu_feature_config motion = feature("motion", motions[w]);
        scores whole, after;
        vmafgpu *context;
        config.features = &motion;
        config.feature_count = 1;
        config.allocator.allocate = count_alloc;
        config.allocator.release = count_free;
        snprintf(test_where, sizeof test_where, "score_pair %s", motions[w]);
        whole = film_score(&f, &config);
        context = open_checked(&config);
        for (int i = 0; i < 6; i++) {
            vmafgpu_frame previous = film_frame(&f, i > 0 ? i - 1 : 0, 0), reference = film_frame(&f, i, 0),
                          distorted = film_frame(&f, i, 1);
            vmafgpu_score score;
            scores alone = score_clip_of(&f, &config, i, 1);
            scores two = score_clip_of(&f, &config, i > 0 ? i - 1 : 0, 2);
            int before;
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
            before = total_allocations;
            CHECK_INT(vmafgpu_score_pair(context, &reference, &distorted, NULL, &score), VMAFGPU_OK);
            check_row(score.values, alone.values, alone.columns);
            CHECK_BITS(score.score, score.values[vmafgpu_model_column(context, 0)]);
            if (i > 0) {
                CHECK_INT(vmafgpu_score_pair(context, &reference, &distorted, &previous, &score), VMAFGPU_OK);
                check_row(score.values, two.values + two.columns, two.columns);
            }
            CHECK_INT(total_allocations, before);
            scores_free(&alone);
            scores_free(&two);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        after = scores_of(context);
        check_same_scores(&after, &whole);
        scores_free(&after);
        scores_free(&whole);
        vmafgpu_close(context);
        CHECK_INT(live_allocations, 0);
    }
    film_free(&f);
}

/* ---- models ---- */

static void test_models(void) {
    static const char *const versions[] = { "vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1", "vmaf_b_v0.6.3" };
    film f = film_make("texture+stretch", 64, 48, 8, 3, 6);
    vmafgpu_config config = film_config(&f);
    vmafgpu_model_config all[4];
    vmafgpu *together;
    memset(all, 0, sizeof all);
    for (int i = 0; i < 4; i++) {
        all[i].version = versions[i];
        all[i].name = versions[i];
    }
    config.models = all;
    config.model_count = 4;
    together = open_checked(&config);
    for (int i = 0; i < 3; i++)
        CHECK_INT(film_push(&f, together, i), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(together), VMAFGPU_OK);
    for (int m = 0; m < 4; m++) {
        vmafgpu *alone;
        snprintf(test_where, sizeof test_where, "only model %s", versions[m]);
        config.models = &all[m];
        config.model_count = 1;
        alone = open_checked(&config);
        for (int i = 0; i < 3; i++)
            CHECK_INT(film_push(&f, alone, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(alone), VMAFGPU_OK);
        for (int column = 0; column < vmafgpu_column_count(alone); column++) {
            int other = vmafgpu_column_index(together, vmafgpu_column_name(alone, column));
            if (CHECK(other >= 0)) {
                for (int i = 0; i < 3; i++) {
                    vmafgpu_score a, b;
                    CHECK_INT(vmafgpu_score_at(alone, i, &a), VMAFGPU_OK);
                    CHECK_INT(vmafgpu_score_at(together, i, &b), VMAFGPU_OK);
                    CHECK_BITS(b.values[other], a.values[column]);
                }
            }
        }
        vmafgpu_close(alone);
    }
    vmafgpu_close(together);

    /* A model that is passed by pointer gives the same scores as when it is selected by name. Without a model there is
     * no score. */
    {
        vmafgpu_model_config by_pointer;
        vmafgpu_feature_config vif = feature("vif", NULL);
        scores a, b;
        memset(&by_pointer, 0, sizeof by_pointer);
        by_pointer.model = vmafgpu_builtin_model("vmaf_v0.6.1");
        config.models = NULL;
        config.model_count = 0;
        a = film_score(&f, &config);
        config.models = &by_pointer;
        config.model_count = 1;
        b = film_score(&f, &config);
        snprintf(test_where, sizeof test_where, "model by pointer");
        check_same_scores(&b, &a);
        scores_free(&a);
        scores_free(&b);
        config.models = NULL;
        config.model_count = 0;
        config.features_only = 1;
        config.features = &vif;
        config.feature_count = 1;
        together = open_checked(&config);
        CHECK_INT(vmafgpu_model_column(together, 0), -1);
        CHECK_INT(film_push(&f, together, 0), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(together), VMAFGPU_OK);
        {
            vmafgpu_score score;
            CHECK_INT(vmafgpu_next_score(together, &score), VMAFGPU_OK);
            CHECK(isnan(score.score));
        }
        vmafgpu_close(together);
    }
    film_free(&f);
}

/* ---- pooling ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_pooling(void) {
    static const double ranks[] = { 0, 1, 5, 10, 12.5, 50, 90, 99.9, 100 };
    film f = film_make("texture+mix", 48, 40, 8, 10, 7);
    for (int frames = 1; frames <= 10; frames += 3) {
        vmafgpu_config config = film_config(&f);
        vmafgpu *context = open_checked(&config);
        scores s;
        for (int i = 0; i < frames; i++)
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        s = scores_of(context);
        for (int column = 0; column < s.columns; column++) {
            double sum = 0, inverse = 0, low = s.values[column], high = low, sorted[10], value = 0;
            snprintf(test_where, sizeof test_where, "pooling %d frames %s", frames,
                     vmafgpu_column_name(context, column));
            for (int i = 0; i < frames; i++) {
                double v = s.values[i * s.columns + column];
                sorted[i] = v;
                sum += v;
                inverse += 1.0 / (v + 1.0);
                low = v < low ? v : low;
                high = v > high ? v : high;
            }
            CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_POOL_MEAN, &value), VMAFGPU_OK);
            CHECK_BITS(value, sum / frames);
            CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_POOL_HARMONIC_MEAN, &value), VMAFGPU_OK);
            CHECK_BITS(value, frames / inverse - 1.0);
            CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_POOL_MIN, &value), VMAFGPU_OK);
            CHECK_BITS(value, low);
            CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_POOL_MAX, &value), VMAFGPU_OK);
            CHECK_BITS(value, high);
            qsort(sorted, (size_t)frames, sizeof sorted[0], by_value);
            for (size_t r = 0; r < sizeof ranks / sizeof ranks[0]; r++) {
                double at = ranks[r] / 100 * (frames - 1);
                int below = (int)at, above = below + 1 < frames ? below + 1 : below;
                double expected = sorted[below] + (at - below) * (sorted[above] - sorted[below]);
                CHECK_INT(vmafgpu_percentile(context, column, ranks[r], &value), VMAFGPU_OK);
                CHECK(fabs(value - expected) <= 1e-12 * (1 + fabs(expected)));
                CHECK(value >= low && value <= high);
            }
        }
        scores_free(&s);
        vmafgpu_close(context);
    }
    film_free(&f);
}

/* Pools ranges of frames, with and without skipped frames. */
static void test_pool_range(void) {
    film f = film_make("texture+mix", 48, 40, 8, 10, 7);
    for (int subsample = 1; subsample <= 4; subsample += 3) {
        vmafgpu_config config = film_config(&f);
        vmafgpu *context;
        vmafgpu_score score;
        double value = 0, whole = 1;
        config.subsample = subsample;
        context = open_checked(&config);
        snprintf(test_where, sizeof test_where, "pooling intervals, subsample %d", subsample);
        for (int i = 0; i < 10; i++)
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, 0, 9, &value),
                  VMAFGPU_ERROR_NOT_FOUND); /* this score is not ready */
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        for (int first = 0; first < 10; first++) {
            for (int last = first; last < 10; last++) {
                double sum = 0, inverse = 0, low = 0, high = 0;
                int count = 0;
                for (int i = first; i <= last; i++) {
                    if (i % subsample == 0) {
                        CHECK_INT(vmafgpu_score_at(context, i, &score), VMAFGPU_OK);
                        sum += score.values[0];
                        inverse += 1.0 / (score.values[0] + 1.0);
                        low = !count || score.values[0] < low ? score.values[0] : low;
                        high = !count || score.values[0] > high ? score.values[0] : high;
                        count++;
                    }
                }
                if (!count) {
                    CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, first, last, &value),
                              VMAFGPU_ERROR_NOT_FOUND);
                    continue;
                }
                CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, first, last, &value), VMAFGPU_OK);
                CHECK_BITS(value, sum / count);
                CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_HARMONIC_MEAN, first, last, &value), VMAFGPU_OK);
                CHECK_BITS(value, count / inverse - 1.0);
                CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MIN, first, last, &value), VMAFGPU_OK);
                CHECK_BITS(value, low);
                CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MAX, first, last, &value), VMAFGPU_OK);
                CHECK_BITS(value, high);
            }
        }
        for (int method = VMAFGPU_POOL_MEAN; method <= VMAFGPU_POOL_MAX; method++) {
            CHECK_INT(vmafgpu_pool(context, 0, (vmafgpu_pool_method)method, &whole), VMAFGPU_OK);
            CHECK_INT(vmafgpu_pool_range(context, 0, (vmafgpu_pool_method)method, 0, 9, &value), VMAFGPU_OK);
            CHECK_BITS(value, whole);
        }
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, 0, 10, &value), VMAFGPU_ERROR_NOT_FOUND);
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, 0, INT64_MAX, &value), VMAFGPU_ERROR_NOT_FOUND);
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, -1, 3, &value), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, 4, 3, &value), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_pool_range(context, 0, (vmafgpu_pool_method)4, 0, 3, &value), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_pool_range(context, 99, VMAFGPU_POOL_MEAN, 0, 3, &value), VMAFGPU_ERROR_NOT_FOUND);
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, 0, 3, NULL), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_pool_range(NULL, 0, VMAFGPU_POOL_MEAN, 0, 3, &value), VMAFGPU_ERROR_ARGUMENT);
        vmafgpu_close(context);
        config.discard_scores = 1;
        context = open_checked(&config);
        CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_pool_range(context, 0, VMAFGPU_POOL_MEAN, 0, 0, &value), VMAFGPU_ERROR_STATE);
        vmafgpu_close(context);
    }
    film_free(&f);
}

/* ---- vmafgpu_score_candidates() ---- */

enum { CANDIDATES = 5 };

static void check_candidates(const film *films, const vmafgpu_config *given, const char *what) {
    static const struct {
        unsigned mask;
        int threads, count, with_previous;
    } runs[] = { { 0, 1, CANDIDATES, 1 },  { 0, 3, 2, 0 },  { 16, 1, 3, 0 },
                 { 16, 2, CANDIDATES, 1 }, { 25, 1, 3, 1 }, { 0, 1, 1, 1 } };
    for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
        vmafgpu_config config = *given;
        vmafgpu *many, *single;
        vmafgpu_frame previous = film_frame(&films[0], 0, 0), reference = film_frame(&films[0], 1, 0),
                      distorted[CANDIDATES];
        const vmafgpu_frame *before = runs[k].with_previous ? &previous : NULL;
        vmafgpu_score got[CANDIDATES], one;
        size_t memory;
        snprintf(test_where, sizeof test_where, "%s, %d candidates, cpumask %u, %d threads", what, runs[k].count,
                 runs[k].mask, runs[k].threads);
        config.backend = VMAFGPU_BACKEND_CPU;
        single = open_checked(&config);
        config.cpumask = runs[k].mask;
        config.threads = runs[k].threads;
        config.max_candidates = CANDIDATES;
        many = open_checked(&config);
        for (int i = 0; i < CANDIDATES; i++)
            distorted[i] = film_frame(&films[i], 1, 1);
        memory = vmafgpu_host_memory(many);
        CHECK_INT(vmafgpu_push(many, &previous, &distorted[0]), VMAFGPU_OK); /* the clip in progress must not change */
        CHECK_INT(vmafgpu_score_candidates(many, &reference, distorted, runs[k].count, before, got), VMAFGPU_OK);
        CHECK_INT(vmafgpu_host_memory(many), memory);
        CHECK_INT(vmafgpu_push(single, &previous, &distorted[0]), VMAFGPU_OK);
        for (int i = 0; i < runs[k].count; i++) {
            CHECK_INT(vmafgpu_score_pair(single, &reference, &distorted[i], before, &one), VMAFGPU_OK);
            CHECK_BITS(got[i].score, one.score);
            CHECK_INT(got[i].index, 0);
            CHECK_INT(got[i].result, VMAFGPU_OK);
            check_row(got[i].values, one.values, vmafgpu_column_count(single));
        }
        for (int c = 0; c < 2; c++) {
            vmafgpu *context = c ? single : many;
            CHECK_INT(vmafgpu_push(context, &reference, &distorted[1]), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        }
        {
            scores a = scores_of(many), b = scores_of(single);
            check_same_scores(&a, &b);
            scores_free(&a);
            scores_free(&b);
        }
        vmafgpu_close(many);
        vmafgpu_close(single);
    }
}

static void test_candidates(void) {
    static const vmafgpu_feature_config features[] = { { "cambi", "full_ref=true" },
                                                       { "speed_chroma", NULL },
                                                       { "vif", "vif_enhn_gain_limit=1" },
                                                       { "adm", "adm_enhn_gain_limit=1.2" } };
    film films[CANDIDATES];
    vmafgpu_config config;
    for (int way = 0; way < 4; way++) {
        static const int depths[] = { 8, 10, 12, 8 };
        for (int i = 0; i < CANDIDATES; i++) {
            films[i] = way == 3 ? film_make_colour("bands+mix", 216, 181, 8, 444, 2, 7 + (uint32_t)i)
                                : film_make("texture+mix", 157 - way, 99 + way, depths[way], 2, 7 + (uint32_t)i);
        }
        config = film_config(&films[0]);
        if (way == 3) {
            config.features = features;
            config.feature_count = 4;
        }
        check_candidates(films, &config, way == 3 ? "all features" : way == 2 ? "12 bits" : way ? "10 bits" : "8 bits");
        if (way == 1) {
            /* If a candidate has an illegal sample, the message names that candidate, and no score is written. Also
             * checks the messages about invalid arguments. */
            vmafgpu *context;
            vmafgpu_frame reference = film_frame(&films[0], 1, 0), distorted[CANDIDATES];
            vmafgpu_score got[CANDIDATES];
            memset(got, 0x5A, sizeof got);
            config.max_candidates = CANDIDATES;
            snprintf(test_where, sizeof test_where, "bad candidates");
            for (unsigned mask = 0; mask <= 25; mask += 25) {
                unsigned char *last = films[3].luma + 4 * films[3].plane_bytes - 1, was = *last;
                config.cpumask = mask;
                config.backend = VMAFGPU_BACKEND_CPU;
                context = open_checked(&config);
                for (int i = 0; i < CANDIDATES; i++)
                    distorted[i] = film_frame(&films[i], 1, 1);
                *last = 0xFF;
                CHECK_INT(vmafgpu_score_candidates(context, &reference, distorted, CANDIDATES, NULL, got),
                          VMAFGPU_ERROR_FRAME);
                CHECK_HAS(vmafgpu_last_error(context), "candidate 3, distorted: luma sample exceeds 10 bits (word ");
                *last = was;
                CHECK_INT(got[0].index, 0x5A5A5A5A5A5A5A5A);
                CHECK_INT(vmafgpu_score_candidates(context, &reference, distorted, CANDIDATES + 1, NULL, got),
                          VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), "config.max_candidates");
                CHECK_INT(vmafgpu_score_candidates(context, &reference, distorted, 0, NULL, got),
                          VMAFGPU_ERROR_ARGUMENT);
                CHECK_INT(vmafgpu_score_candidates(context, &reference, NULL, 2, NULL, got), VMAFGPU_ERROR_ARGUMENT);
                CHECK_INT(vmafgpu_score_candidates(context, NULL, distorted, 2, NULL, got), VMAFGPU_ERROR_ARGUMENT);
                CHECK_INT(vmafgpu_score_candidates(context, &reference, distorted, 2, NULL, NULL),
                          VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), ": scores is NULL");
                distorted[2].data[0] = NULL;
                CHECK_INT(vmafgpu_score_candidates(context, &reference, distorted, 3, NULL, got),
                          VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), "distorted[2].data[0] is NULL");
                vmafgpu_close(context);
            }
        }
        for (int i = 0; i < CANDIDATES; i++)
            film_free(&films[i]);
    }
}

/* ---- calls from callbacks ---- */

/* The callbacks below call functions that must succeed and functions that must fail. */
typedef struct visitor {
    vmafgpu *context;
    vmafgpu_frame frame;
    double sum;
    int visits;
} visitor;

static void check_refused(vmafgpu *context, vmafgpu_result result, const char *function) {
    CHECK_STR(vmafgpu_result_name(result), "VMAFGPU_ERROR_STATE");
    CHECK_HAS(vmafgpu_last_error(context), function);
    CHECK_HAS(vmafgpu_last_error(context), "callback");
    CHECK_STR(vmafgpu_last_error(NULL), vmafgpu_last_error(context));
}

static void visit_calls(visitor *v) {
    vmafgpu *c = v->context, *two[1];
    vmafgpu_score score;
    two[0] = c;
    check_refused(c, vmafgpu_push(c, &v->frame, &v->frame), "vmafgpu_push");
    check_refused(c, vmafgpu_push_many(two, 1, &v->frame, &v->frame, NULL), "vmafgpu_push_many");
    check_refused(c, vmafgpu_score_pair(c, &v->frame, &v->frame, NULL, &score), "vmafgpu_score_pair");
    check_refused(c, vmafgpu_score_candidates(c, &v->frame, &v->frame, 1, NULL, &score), "vmafgpu_score_candidates");
    check_refused(c, vmafgpu_push_preceding(c, &v->frame), "vmafgpu_push_preceding");
    check_refused(c, vmafgpu_push_following(c, &v->frame), "vmafgpu_push_following");
    check_refused(c, vmafgpu_next_score(c, &score), "vmafgpu_next_score");
    check_refused(c, vmafgpu_flush(c), "vmafgpu_flush");
    check_refused(c, vmafgpu_reset(c), "vmafgpu_reset");
    check_refused(c, vmafgpu_wait(c, -1), "vmafgpu_wait");
    check_refused(c, vmafgpu_stream_wait(c, NULL, -1), "vmafgpu_stream_wait");
    check_refused(c, vmafgpu_after_stream(c, NULL), "vmafgpu_after_stream");
    vmafgpu_close(c);
    check_refused(c, VMAFGPU_ERROR_STATE, "vmafgpu_close");
}

static void visit(void *user, const vmafgpu_score *given) {
    visitor *v = (visitor *)user;
    const int column = vmafgpu_model_column(v->context, 0);
    double value = -1;
    vmafgpu_score score;
    v->visits++;
    v->sum += given->score;
    visit_calls(v);
    CHECK_INT(vmafgpu_pool(v->context, column, VMAFGPU_POOL_MEAN, &value), VMAFGPU_OK);
    CHECK_BITS(value, v->sum / v->visits);
    CHECK_INT(vmafgpu_percentile(v->context, column, 50, &value), VMAFGPU_OK);
    CHECK(value >= 0 && value <= 100);
    CHECK_INT(vmafgpu_score_at(v->context, given->index, &score), VMAFGPU_OK);
    CHECK_BITS(score.score, given->score);
    CHECK_INT(vmafgpu_score_at(v->context, given->index + 1, &score), VMAFGPU_ERROR_NOT_FOUND);
    CHECK(vmafgpu_reusable_count(v->context) >= given->index);
    CHECK_INT(vmafgpu_score_count(v->context), given->index + 1);
}

static void visit_parallel_for(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    visitor *v = (visitor *)user;
    if (v->visits++ == 0) {
        double value;
        visit_calls(v);
        check_refused(v->context, vmafgpu_pool(v->context, 0, VMAFGPU_POOL_MEAN, &value), "vmafgpu_pool");
    }
    for (int i = 0; i < count; i++)
        task(arg, i);
}

static void visit_log(void *user, vmafgpu_log_level level, const char *message) {
    visitor *v = (visitor *)user;
    v->visits += level == VMAFGPU_LOG_LEVEL_ERROR;
    if (v->context && level == VMAFGPU_LOG_LEVEL_ERROR) {
        visit_calls(v);
        CHECK_HAS(message, "reference");
    }
}

static void test_calls_from_callbacks(void) {
    film f = film_make("texture+mix", 48, 40, 8, 5, 2);
    vmafgpu_config config = film_config(&f);
    scores whole = film_score(&f, &config);
    for (int kind = 0; kind < 3; kind++) {
        visitor v;
        scores s;
        memset(&v, 0, sizeof v);
        snprintf(test_where, sizeof test_where, "calls from callback %d", kind);
        config = film_config(&f);
        config.backend = VMAFGPU_BACKEND_CPU;
        v.frame = film_frame(&f, 0, 0);
        if (kind == 0) {
            config.on_score = visit;
            config.on_score_user = &v;
        } else if (kind == 1) {
            config.threads = 2;
            config.parallel_for = visit_parallel_for;
            config.parallel_for_user = &v;
        } else {
            config.on_log = visit_log;
            config.on_log_user = &v;
        }
        v.context = open_checked(&config);
        if (kind == 2) {
            CHECK_INT(vmafgpu_push(v.context, NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
            /* the message comes from the push, not from the calls in on_log */
            CHECK_HAS(vmafgpu_last_error(v.context), "reference is NULL");
        }
        for (int i = 0; i < f.clip.frames; i++)
            CHECK_INT(film_push(&f, v.context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v.context), VMAFGPU_OK);
        CHECK(v.visits > 0);
        s = scores_of(v.context);
        check_same_scores(&s, &whole);
        scores_free(&s);
        vmafgpu_close(v.context);
    }
    scores_free(&whole);
    film_free(&f);
}

/* ---- acquired pairs ---- */

/* Copies a frame of a film to an acquired frame. */
static void fill(const film *f, int index, int side, const vmafgpu_frame *to) {
    const vmafgpu_frame from = film_frame(f, index, side);
    for (int plane = 0; plane < 3 && to->data[plane]; plane++) {
        const size_t row = (size_t)clip_plane_width(&f->clip, plane) * (size_t)f->bytes_per_sample;
        const ptrdiff_t pitch = from.pitch[plane] ? from.pitch[plane] : (ptrdiff_t)row;
        for (int y = 0; y < clip_plane_height(&f->clip, plane); y++) {
            memcpy((unsigned char *)(uintptr_t)to->data[plane] + y * to->pitch[plane],
                   (const unsigned char *)from.data[plane] + y * pitch, row);
        }
    }
}

static void test_acquired(void) {
    enum { MOST = 4 };
    for (int way = 0; way < 6; way++) {
        const int colour = way >= 4;
        film f = colour ? film_make_colour("bands+mix", 217, 177, 8 + way % 2 * 2, 420, 6, 31)
                        : film_make("texture+mix", 41, 37, 8 + way % 2 * 2, 11, 30);
        vmafgpu_config config = film_config(&f);
        const vmafgpu_model_config model = { "vmaf_v1.0.16_3d0h", NULL, NULL, 0, 0, 0, NULL };
        vmafgpu_frame pairs[MOST][2], none;
        vmafgpu *context;
        scores expected, got;
        size_t memory;
        int lent = 0, pushed = 0;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.threads = 1 + way % 3;
        config.models = colour ? &model : NULL;
        config.model_count = colour;
        expected = film_score(&f, &config);
        context = open_checked(&config);
        memory = vmafgpu_host_memory(context);
        CHECK_INT(vmafgpu_acquire_pair(context, NULL, &none), VMAFGPU_ERROR_ARGUMENT);
        while (pushed < f.clip.frames) {
            while (lent < f.clip.frames && lent - pushed < 1 + (way + pushed) % 4) {
                vmafgpu_frame *pair = pairs[lent % MOST];
                CHECK_INT(vmafgpu_acquire_pair(context, &pair[0], &pair[1]), VMAFGPU_OK);
                CHECK(!pair[0].data[1] == !colour);
                fill(&f, lent, 0, &pair[0]);
                fill(&f, lent++, 1, &pair[1]);
            }
            if (lent - pushed == MOST) {
                const vmafgpu_frame *last = pairs[(pushed + 1) % MOST];
                CHECK_INT(vmafgpu_acquire_pair(context, &none, &none), VMAFGPU_AGAIN);
                CHECK_INT(vmafgpu_push(context, &last[0], &last[1]), VMAFGPU_ERROR_ARGUMENT);
                CHECK_HAS(vmafgpu_last_error(context), "order");
            }
            CHECK_INT(vmafgpu_push(context, &pairs[pushed % MOST][0], &pairs[pushed % MOST][1]), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push(context, &pairs[pushed % MOST][0], &pairs[pushed % MOST][1]),
                      VMAFGPU_ERROR_ARGUMENT);
            pushed++;
        }
        CHECK(vmafgpu_host_memory(context) > memory);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        got = scores_of(context);
        check_same_scores(&got, &expected);
        scores_free(&got);
        CHECK_INT(vmafgpu_acquire_pair(context, &none, &none), VMAFGPU_ERROR_STATE);
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_acquire_pair(context, &pairs[0][0], &pairs[0][1]), VMAFGPU_OK);
        vmafgpu_close(context); /* while the caller holds an acquired pair */
        scores_free(&expected);
        film_free(&f);
    }
}

/* ---- tags ---- */

/* Returns a tag with the bits of a signalling NaN, a quiet NaN or a denormal number. Tags are stored as doubles. */
static uint64_t tag_of(int64_t index) {
    static const uint64_t patterns[] = { 0x7ff0000000000001u, 0xfff0000000000000u, 0x8000000000000000u,
                                         0xffffffffffffffffu };
    return patterns[index % 4] ^ (uint64_t)index << 8;
}

static vmafgpu_result push_tagged(const film *f, vmafgpu *context, int64_t index) {
    vmafgpu_frame reference = film_frame(f, (int)(index % f->clip.frames), CLIP_REFERENCE);
    vmafgpu_frame distorted = film_frame(f, (int)(index % f->clip.frames), CLIP_DISTORTED);
    reference.tag = 1;
    distorted.tag = tag_of(index);
    return vmafgpu_push(context, &reference, &distorted);
}

static int64_t tags_delivered;

static void check_tag(void *user, const vmafgpu_score *score) {
    (void)user;
    CHECK(score->tag == tag_of(score->index));
    tags_delivered++;
}

/* Tests that each score has the tag of its pair, however the score is delivered. */
static void test_tags_of_clips(film *f) {
    for (int variant = 0; variant < 16; variant++) {
        const int discards = variant & 1, calls_back = variant & 2, subsample = variant & 4 ? 3 : 1, live = variant & 8;
        vmafgpu_config config = film_config(f);
        vmafgpu_score score;
        vmafgpu *context;
        int64_t delivered = 0;
        snprintf(test_where, sizeof test_where, "tags, variant %d", variant);
        config.discard_scores = discards;
        config.on_score = calls_back ? check_tag : NULL;
        config.subsample = subsample;
        config.live = live != 0;
        tags_delivered = 0;
        context = open_checked(&config);
        for (int64_t i = 0; i < 200; i++) {
            CHECK_INT(push_tagged(f, context, i), VMAFGPU_OK);
            for (; !calls_back && vmafgpu_next_score(context, &score) == VMAFGPU_OK; delivered++)
                CHECK(score.tag == tag_of(score.index));
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        for (; !calls_back && vmafgpu_next_score(context, &score) == VMAFGPU_OK; delivered++)
            CHECK(score.tag == tag_of(score.index));
        CHECK_INT(calls_back ? tags_delivered : delivered, (200 + subsample - 1) / subsample);
        for (int64_t i = 0; i < 200 && !discards; i += subsample) {
            CHECK_INT(vmafgpu_score_at(context, i, &score), VMAFGPU_OK);
            CHECK(score.tag == tag_of(i));
        }
        vmafgpu_close(context);
    }
}

static void test_tags(void) {
    film f = film_make("texture+mix", 32, 32, 8, 5, 11);
    vmafgpu_config config = film_config(&f);
    vmafgpu *contexts[3];
    vmafgpu_frame reference = film_frame(&f, 1, CLIP_REFERENCE), distorted[3];
    vmafgpu_score scores[3];
    vmafgpu_result results[3];
    double features[64] = { 0 };
    test_tags_of_clips(&f);
    snprintf(test_where, sizeof test_where, "tags of single calls");
    config.contexts_per_pass = config.max_candidates = 3;
    config.max_edit_size = 16;
    reference.tag = 5;
    for (int i = 0; i < 3; i++) {
        distorted[i] = film_frame(&f, i, CLIP_DISTORTED);
        distorted[i].tag = tag_of(i + 100);
        contexts[i] = open_checked(&config);
    }
    CHECK_INT(vmafgpu_score_candidates(contexts[0], &reference, distorted, 3, NULL, scores), VMAFGPU_OK);
    for (int i = 0; i < 3; i++)
        CHECK(scores[i].tag == tag_of(i + 100));
    CHECK_INT(vmafgpu_score_pair(contexts[0], &reference, &distorted[2], &reference, scores), VMAFGPU_OK);
    CHECK(scores[0].tag == tag_of(102));
    CHECK_INT(vmafgpu_predict(contexts[0], features, scores), VMAFGPU_OK);
    CHECK(scores[0].tag == 0);
    CHECK_INT(vmafgpu_edit_begin(contexts[0], &reference, &distorted[1], NULL, NULL, scores), VMAFGPU_OK);
    CHECK(scores[0].tag == tag_of(101));
    {
        const vmafgpu_edit edit = { 0, 0, 16, 16, distorted[2].data[0], distorted[2].pitch[0], VMAFGPU_MEMORY_HOST, 0 };
        CHECK_INT(vmafgpu_edit_commit(contexts[0], &edit, 1, scores), VMAFGPU_OK);
        CHECK(scores[0].tag == tag_of(101));
    }
    CHECK_INT(vmafgpu_edit_begin(contexts[0], &reference, NULL, NULL, NULL, scores), VMAFGPU_OK);
    CHECK(scores[0].tag == 0);
    /* A push fails in one context. The other contexts accept the pair, and `results` has one result per context. */
    CHECK_INT(vmafgpu_push_many(contexts, 3, &reference, distorted, results), VMAFGPU_OK);
    for (int i = 0; i < 3; i++)
        CHECK_INT(results[i], VMAFGPU_OK);
    distorted[1].data[0] = NULL;
    CHECK_INT(vmafgpu_push_many(contexts, 3, &reference, distorted, results), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(results[0], VMAFGPU_OK);
    CHECK_INT(results[1], VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(results[2], VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_many(contexts, 3, NULL, distorted, results), VMAFGPU_ERROR_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(results[i], VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_count(contexts[i]), i == 1 ? 1 : 2);
        CHECK_INT(vmafgpu_score_at(contexts[i], 0, &scores[i]), VMAFGPU_OK);
        CHECK(scores[i].tag == tag_of(i + 100));
        vmafgpu_close(contexts[i]);
    }
    film_free(&f);
}

int main(void) {
    test_tags();
    test_acquired();
    test_candidates();
    test_calls_from_callbacks();
    test_states();
    test_null_context();
    test_no_properties();
    test_aggregates();
    test_push_many();
    test_unlike_contexts();
    test_delivery();
    test_unread_scores();
    test_subsample();
    test_segments();
    test_score_pair();
    test_models();
    test_pooling();
    test_pool_range();
    return test_end();
}
