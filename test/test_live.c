/* Scores while a game or a stream runs: a pair's score with the pair itself, pushes that do not wait. */
#include "scoring.h"

static vmafgpu_feature_config feature(const char *name, const char *options) {
    vmafgpu_feature_config f;
    f.name = name;
    f.options = options;
    return f;
}

/* Options that look back and ahead in every way there is; speed_temporal and the like look at nothing that comes later. */
static const struct {
    const char *name, *options;
} cases[] = {
    {NULL, NULL}, {"motion", "debug=true"}, {"motion", "motion_moving_average=true"},
    {"motion", "motion_five_frame_window=true"}, {"motion", "motion_five_frame_window=true:motion_moving_average=true"},
    {"motion", "motion_blend_factor=0.5:motion_blend_offset=2:motion_fps_weight=1.5"}, {"motion", "motion_force_zero=true"},
    {"float_motion", NULL}, {"speed_temporal", NULL}
};

static void test_scores(void) {
    enum { FRAMES = 7 };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        film f = film_make("texture+mix", 96, 88, k % 2 ? 10 : 8, FRAMES, (uint32_t)k + 3);
        vmafgpu_config config = film_config(&f);
        vmafgpu_feature_config wanted = feature(cases[k].name, cases[k].options);
        scores expected, ordinary;
        vmafgpu *context;
        vmafgpu_score score;
        int differ = 0, column;
        double mean, sum = 0;
        snprintf(test_where, sizeof test_where, "live, %s, %s", cases[k].name ? cases[k].name : "the model",
                 cases[k].options ? cases[k].options : "no options");
        config.features = &wanted;
        config.feature_count = cases[k].name != NULL;
        ordinary = film_score(&f, &config);
        expected = film_score_live(&f, &config);
        config.live = 1;
        context = open_checked(&config);
        column = vmafgpu_score_column(context, 0);
        for (int i = 0; i < FRAMES && context; i++) {
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
            CHECK_INT(vmafgpu_score_count(context), i + 1);   /* here it is */
            if (CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_OK)) {
                CHECK_INT(score.index, i);
                check_row(score.values, expected.values + i * expected.columns, expected.columns);
                differ += score.score != ordinary.values[i * ordinary.columns + column];
                sum += score.score;
            }
            CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_AGAIN);
        }
        CHECK(differ > 0);   /* from those with the following frame */
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_END);
        CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_MEAN, &mean), VMAFGPU_OK);
        CHECK_BITS(mean, sum / FRAMES);
        vmafgpu_close(context);
        scores_free(&expected);
        scores_free(&ordinary);
        film_free(&f);
    }
}

/* Seeds count as frames before; a tail changes nothing; the first sample of several; a single pair as ever. */
static void test_segments(void) {
    enum { FRAMES = 6 };
    film f = film_make("texture+mix", 48, 40, 8, FRAMES, 11);
    vmafgpu_config config = film_config(&f);
    scores expected = film_score_live(&f, &config);
    vmafgpu *context;
    vmafgpu_score score;
    vmafgpu_frame reference[FRAMES], distorted = film_frame(&f, 3, CLIP_DISTORTED);
    snprintf(test_where, sizeof test_where, "live segments");
    for (int i = 0; i < FRAMES; i++) {
        reference[i] = film_frame(&f, i, CLIP_REFERENCE);
    }
    config.live = 1;
    config.subsample = 2;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_seed(context, &reference[0]), VMAFGPU_OK);
    for (int i = 1; i < 5; i++) {
        CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next(context, &score), i % 2 ? VMAFGPU_OK : VMAFGPU_AGAIN);
        if (i % 2) {
            check_row(score.values, expected.values + i * expected.columns, expected.columns);
        }
    }
    CHECK_INT(vmafgpu_tail(context, &reference[5]), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_END);
    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_pair(context, &reference[2], &reference[3], &distorted, &score), VMAFGPU_OK);
    check_row(score.values, expected.values + 3 * expected.columns, expected.columns);
    vmafgpu_close(context);
    config.live = 2;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.live");
    vmafgpu_close(context);
    scores_free(&expected);
    film_free(&f);
}

/* On the CPU there is no queue; what a push refuses is refused here, too. */
static void test_try_push(void) {
    enum { FRAMES = 70 };
    film f = film_make("texture+mix", 33, 35, 8, 4, 12);
    vmafgpu_config config = film_config(&f);
    vmafgpu *context;
    vmafgpu_score score;
    vmafgpu_frame reference = film_frame(&f, 0, CLIP_REFERENCE), distorted = film_frame(&f, 0, CLIP_DISTORTED), empty;
    snprintf(test_where, sizeof test_where, "try_push");
    memset(&empty, 0, sizeof empty);
    config.live = 1;
    config.discard_scores = 1;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_try_push(NULL, &reference, &distorted), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_try_push(context, &reference, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_try_push: distorted is NULL");
    CHECK_INT(vmafgpu_try_push(context, &empty, &distorted), VMAFGPU_ERROR_ARGUMENT);
    for (int i = 0; i < FRAMES; i++) {
        CHECK_INT(vmafgpu_try_push(context, &reference, &distorted), i < 64 ? VMAFGPU_OK : VMAFGPU_ERROR_FULL);
    }
    CHECK_HAS(vmafgpu_last_error(context), "vmafgpu_try_push: frame 64 was not taken");
    for (int i = 0; i < 64; i++) {
        CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_OK);
    }
    CHECK_INT(vmafgpu_next(context, &score), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_try_push(context, &reference, &distorted), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_try_push(context, &reference, &distorted), VMAFGPU_ERROR_STATE);
    vmafgpu_close(context);
    film_free(&f);
}

int main(void) {
    test_scores();
    test_segments();
    test_try_push();
    return test_end();
}
