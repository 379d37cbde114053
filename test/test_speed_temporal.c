/* Tests speed_temporal: sizes, options, and settings that must be rejected. Also tests that each pair is compared with
 * the pair before it, whichever functions pushed the two. (test_features.c compares speed_temporal with libvmaf.) */
#include "scoring.h"

static vmafgpu_feature_config feature = { "speed_temporal", NULL };

static vmafgpu_config config_of(const film *f) {
    vmafgpu_config config = film_config(f);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.features_only = 1;
    config.features = &feature;
    config.feature_count = 1;
    return config;
}

static void check_open(int width, int height, vmafgpu_chroma chroma, const char *options, const char *words) {
    vmafgpu *context = NULL;
    vmafgpu_feature_config wanted = { "speed_temporal", options };
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = width;
    config.height = height;
    config.chroma = chroma;
    config.features_only = 1;
    config.features = &wanted;
    config.feature_count = 1;
    snprintf(test_where, sizeof test_where, "%dx%d %s", width, height, options ? options : "");
    CHECK_INT(vmafgpu_open(&context, &config), words ? VMAFGPU_ERROR_FEATURE : VMAFGPU_OK);
    CHECK_HAS(vmafgpu_last_error(context), words ? words : "");
    vmafgpu_close(context);
}

static void test_open(void) {
    check_open(80, 80, VMAFGPU_CHROMA_420, NULL, NULL);
    check_open(80, 80, VMAFGPU_CHROMA_400, NULL, NULL);
    check_open(79, 80, VMAFGPU_CHROMA_420, NULL,
               "feature speed_temporal: frames are too small (79x80, times speed_prescale 1); use at least 80x80");
    check_open(80, 79, VMAFGPU_CHROMA_420, NULL, "too small (80x79, ");
    check_open(159, 159, VMAFGPU_CHROMA_420, "speed_prescale=0.5", NULL); /* 79.5 is rounded up to 80 */
    check_open(159, 158, VMAFGPU_CHROMA_420, "speed_prescale=0.5", "(159x158, times speed_prescale 0.5)");
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_prescale=1.5",
               "feature speed_temporal, option speed_prescale: out of range (1.5); use at most 1");
    check_open(1600, 900, VMAFGPU_CHROMA_420, "speed_prescale=0.9995", "too close to 1 (0.9995)");
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_prescale=4.1", "use 0.1..4");
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_kernelscale=1.1",
               "option speed_kernelscale: unsupported value (1.1)");
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_kernelscale=3.7113402", NULL);
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_use_ref_diff=1", "true or false");
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_prescale_method=cubic", "use one of");
    check_open(320, 320, VMAFGPU_CHROMA_420, "speed_max_val=1001", "use 0..1000");
}

/* Tests that each pair is compared with the pair before it. */
static void test_order(int depth) {
    film f = film_make("texture+mix", 243, 201, depth, 7, 5);
    vmafgpu_config config = config_of(&f);
    scores all = film_score(&f, &config), some;
    vmafgpu *contexts[2];
    vmafgpu_score score;
    vmafgpu_frame frames[2], distorted[2];
    snprintf(test_where, sizeof test_where, "%d bits", depth);
    CHECK_INT(all.rows, 7);
    CHECK_INT(all.columns, 1);
    CHECK_BITS(all.values[0], 0);
    for (int i = 1; i < all.rows; i++)
        CHECK(all.values[i] > 0);
    config.subsample = 3;
    some = film_score(&f, &config);
    CHECK_INT(some.rows, 3);
    for (int i = 0; i < some.rows; i++)
        CHECK_BITS(some.values[i], all.values[3 * i]);
    scores_free(&some);
    config.subsample = 1;
    config.threads = test_thread_count(3);
    some = film_score(&f, &config);
    check_same_scores(&some, &all);
    scores_free(&some);

    /* Pushes two distorted frames in one call; the second one is the reference itself. */
    config.threads = 1;
    config.contexts_per_pass = 2;
    contexts[0] = open_checked(&config);
    contexts[1] = open_checked(&config);
    for (int i = 0; i < 7; i++) {
        frames[0] = film_frame(&f, i, CLIP_REFERENCE);
        distorted[0] = film_frame(&f, i, CLIP_DISTORTED);
        distorted[1] = frames[0];
        CHECK_INT(vmafgpu_push_many(contexts, 2, frames, distorted, NULL), VMAFGPU_OK);
    }
    for (int i = 0; i < 2; i++)
        CHECK_INT(vmafgpu_flush(contexts[i]), VMAFGPU_OK);
    for (int i = 0; i < 7; i++) {
        CHECK_INT(vmafgpu_score_at(contexts[0], i, &score), VMAFGPU_OK);
        CHECK_BITS(score.values[0], all.values[i]);
        CHECK_INT(vmafgpu_score_at(contexts[1], i, &score), VMAFGPU_OK);
        CHECK_BITS(score.values[0], 0);
    }
    /* Single pairs scored in between neither affect the clip nor depend on it. */
    CHECK_INT(vmafgpu_reset(contexts[0]), VMAFGPU_OK);
    for (int i = 0; i < 7; i++) {
        frames[0] = film_frame(&f, 6 - i, CLIP_REFERENCE);
        frames[1] = film_frame(&f, 6 - i, CLIP_DISTORTED);
        CHECK_INT(film_push(&f, contexts[0], i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_pair(contexts[0], &frames[0], &frames[1], i ? &frames[0] : NULL, &score), VMAFGPU_OK);
        CHECK_BITS(score.values[0], 0);
    }
    CHECK_INT(vmafgpu_flush(contexts[0]), VMAFGPU_OK);
    some = scores_of(contexts[0]);
    check_same_scores(&some, &all);
    scores_free(&some);
    vmafgpu_close(contexts[0]);
    vmafgpu_close(contexts[1]);

    /* The 65th push fails in the first context, because its scores are not read. */
    config.discard_scores = 1;
    contexts[0] = open_checked(&config);
    contexts[1] = open_checked(&config);
    for (int i = 0; i < 70; i++) {
        vmafgpu_result result;
        distorted[0] = film_frame(&f, i % 7, CLIP_DISTORTED);
        distorted[1] = film_frame(&f, i % 7, CLIP_DISTORTED);
        frames[0] = film_frame(&f, i % 7, CLIP_REFERENCE);
        result = vmafgpu_push_many(contexts, 2, frames, distorted, NULL);
        CHECK_INT(result, i < 64 ? VMAFGPU_OK : VMAFGPU_ERROR_UNREAD_SCORES);
        CHECK_INT(vmafgpu_next_score(contexts[1], &score), VMAFGPU_OK);
        CHECK(i % 7 == 0 || test_same_bits(score.values[0], all.values[i % 7]));
        if (i >= 64) { /* the second context has accepted the pair */
            CHECK_INT(vmafgpu_next_score(contexts[0], &score), VMAFGPU_OK);
            CHECK((i - 64) % 7 == 0 || test_same_bits(score.values[0], all.values[(i - 64) % 7]));
            CHECK_INT(vmafgpu_push(contexts[0], frames, distorted), VMAFGPU_OK);
        }
    }
    for (int i = 6; vmafgpu_next_score(contexts[0], &score) == VMAFGPU_OK; i++)
        CHECK(i % 7 == 0 || test_same_bits(score.values[0], all.values[i % 7]));
    vmafgpu_close(contexts[0]);
    vmafgpu_close(contexts[1]);
    scores_free(&all);
    film_free(&f);
}

static void test_preceding(void) {
    film f = film_make("texture+mix", 96, 96, 8, 2, 5);
    vmafgpu_config config = config_of(&f);
    vmafgpu *context = open_checked(&config);
    vmafgpu_frame frame = film_frame(&f, 0, CLIP_REFERENCE);
    snprintf(test_where, sizeof test_where, "preceding frames");
    CHECK_INT(vmafgpu_push_preceding(context, &frame), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(context), "feature speed_temporal also requires the preceding distorted frame");
    CHECK_INT(vmafgpu_preceding_count(context), -1);
    CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_following(context, &frame), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_count(context), 1);
    vmafgpu_close(context);
    film_free(&f);
}

/* Tests 16-bit samples at odd addresses, and samples in the high bits. */
static void test_layouts(void) {
    film f = film_make("texture+mix", 179, 163, 10, 3, 9);
    vmafgpu_config config = config_of(&f);
    scores all = film_score(&f, &config);
    vmafgpu *odd = open_checked(&config), *high;
    unsigned char *memory[4];
    config.layout = VMAFGPU_LAYOUT_SEMIPLANAR_HIGH;
    high = open_checked(&config);
    snprintf(test_where, sizeof test_where, "layouts");
    for (int i = 0; i < 4; i++) {
        memory[i] = (unsigned char *)malloc(f.plane_bytes + 1);
        test_need(memory[i] != NULL, "out of memory");
    }
    for (int i = 0; i < 3; i++) {
        vmafgpu_frame frames[4];
        memset(frames, 0, sizeof frames);
        for (int side = 0; side < 2; side++) {
            const unsigned char *luma = (const unsigned char *)film_frame(&f, i, side).data[0];
            memcpy(memory[side] + 1, luma, f.plane_bytes);
            for (size_t k = 0; k < f.plane_bytes; k += 2) {
                const int word = (luma[k] | luma[k + 1] << 8) << 6;
                memory[2 + side][k] = (unsigned char)(word & 255);
                memory[2 + side][k + 1] = (unsigned char)(word >> 8);
            }
            frames[side].data[0] = memory[side] + 1;
            frames[2 + side].data[0] = memory[2 + side];
        }
        CHECK_INT(vmafgpu_push(odd, &frames[0], &frames[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(high, &frames[2], &frames[3]), VMAFGPU_OK);
    }
    for (int i = 0; i < 2; i++) {
        vmafgpu *context = i ? high : odd;
        scores got;
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        got = scores_of(context);
        check_same_scores(&got, &all);
        scores_free(&got);
        vmafgpu_close(context);
    }
    for (int i = 0; i < 4; i++)
        free(memory[i]);
    scores_free(&all);
    film_free(&f);
}

int main(void) {
    vmafgpu *context = NULL;
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = config.height = 80;
    config.features_only = 1;
    config.features = &feature;
    config.feature_count = 1;
    if (vmafgpu_open(&context, &config) != VMAFGPU_OK &&
        strstr(vmafgpu_last_error(context), "not part of this build")) {
        test_skip("this build has no speed_temporal");
    } else {
        test_open();
        test_order(8);
        test_order(10);
        test_preceding();
        test_layouts();
    }
    vmafgpu_close(context);
    return test_end();
}
