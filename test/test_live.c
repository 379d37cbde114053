/* Tests vmafgpu_try_push(), maps, and config.live, which makes the score of a pair available directly after its
 * push. */
#include "scoring.h"

static vmafgpu_feature_config feature(const char *name, const char *options) {
    vmafgpu_feature_config f;
    f.name = name;
    f.options = options;
    return f;
}

/* Option sets with all kinds of dependencies on earlier and later frames. speed_temporal depends only on earlier
 * frames. */
static const struct {
    const char *name, *options;
} cases[] = {
    { NULL, NULL },
    { "motion", "debug=true" },
    { "motion", "motion_moving_average=true" },
    { "motion", "motion_five_frame_window=true" },
    { "motion", "motion_five_frame_window=true:motion_moving_average=true" },
    { "motion", "motion_blend_factor=0.5:motion_blend_offset=2:motion_fps_weight=1.5" },
    { "motion", "motion_force_zero=true" },
    { "float_motion", NULL },
    { "speed_temporal", NULL },
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
        column = vmafgpu_model_column(context, 0);
        for (int i = 0; i < FRAMES && context; i++) {
            CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
            CHECK_INT(vmafgpu_score_count(context), i + 1); /* available at once */
            if (CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK)) {
                CHECK_INT(score.index, i);
                check_row(score.values, expected.values + i * expected.columns, expected.columns);
                differ += score.score != ordinary.values[i * ordinary.columns + column];
                sum += score.score;
            }
            CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
        }
        CHECK(differ > 0); /* without config.live, the scores depend on the following frame */
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
        CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_POOL_MEAN, &mean), VMAFGPU_OK);
        CHECK_BITS(mean, sum / FRAMES);
        vmafgpu_close(context);
        scores_free(&expected);
        scores_free(&ordinary);
        film_free(&f);
    }
}

/* Tests that preceding frames affect the scores but following ones do not. Also tests subsampling and single pairs. */
static void test_segments(void) {
    enum { FRAMES = 6 };
    film f = film_make("texture+mix", 48, 40, 8, FRAMES, 11);
    vmafgpu_config config = film_config(&f);
    scores expected = film_score_live(&f, &config);
    vmafgpu *context;
    vmafgpu_score score;
    vmafgpu_frame reference[FRAMES], distorted = film_frame(&f, 3, CLIP_DISTORTED);
    snprintf(test_where, sizeof test_where, "live segments");
    for (int i = 0; i < FRAMES; i++)
        reference[i] = film_frame(&f, i, CLIP_REFERENCE);
    config.live = 1;
    config.subsample = 2;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_push_preceding(context, &reference[0]), VMAFGPU_OK);
    for (int i = 1; i < 5; i++) {
        CHECK_INT(film_push(&f, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_next_score(context, &score), i % 2 ? VMAFGPU_OK : VMAFGPU_AGAIN);
        if (i % 2)
            check_row(score.values, expected.values + i * expected.columns, expected.columns);
    }
    CHECK_INT(vmafgpu_push_following(context, &reference[5]), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
    CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_pair(context, &reference[3], &distorted, &reference[2], &score), VMAFGPU_OK);
    check_row(score.values, expected.values + 3 * expected.columns, expected.columns);
    vmafgpu_close(context);
    config.live = 2;
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "config.live");
    vmafgpu_close(context);
    scores_free(&expected);
    film_free(&f);
}

/* On the CPU there is no queue, so vmafgpu_try_push() works like vmafgpu_push() and rejects the same pairs. */
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
    for (int i = 0; i < FRAMES; i++)
        CHECK_INT(vmafgpu_try_push(context, &reference, &distorted), i < 64 ? VMAFGPU_OK : VMAFGPU_ERROR_UNREAD_SCORES);
    CHECK_HAS(vmafgpu_last_error(context),
              "vmafgpu_try_push: frame 64 is not taken, because too many scores are unread (64)");
    for (int i = 0; i < 64; i++)
        CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_OK);
    CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_AGAIN);
    CHECK_INT(vmafgpu_try_push(context, &reference, &distorted), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_try_push(context, &reference, &distorted), VMAFGPU_ERROR_STATE);
    vmafgpu_close(context);
    film_free(&f);
}

/* Tests that a requested map contains the values that vmafgpu_edit_blocks() returns for the same pair. */
static void test_maps(void) {
    static const struct {
        const char *what;
        int width, height, depth, size, threads;
        const char *version;
    } maps[] = {
        { "texture+mix", 96, 88, 8, 16, 1, "vmaf_v0.6.1" },
        { "texture+mix", 97, 89, 10, 4, 3, "vmaf_v0.6.1neg" },
        { "noise+grain", 130, 70, 12, 256, 1, "vmaf_v0.6.1" },
        { "texture+mix", 64, 64, 8, 33, 2, "vmaf_b_v0.6.3" },
    };
    enum { FRAMES = 4 };
    for (size_t k = 0; k < sizeof maps / sizeof maps[0]; k++) {
        film f = film_make(maps[k].what, maps[k].width, maps[k].height, maps[k].depth, FRAMES, (uint32_t)k + 1);
        vmafgpu_config config = film_config(&f);
        vmafgpu_model_config model;
        vmafgpu *context, *plain, *edits;
        int across, down, count, found[2], differ = 0;
        float *map;
        vmafgpu_block *blocks;
        snprintf(test_where, sizeof test_where, "map of %d, %dx%d", maps[k].size, maps[k].width, maps[k].height);
        memset(&model, 0, sizeof model);
        model.version = maps[k].version;
        config.models = &model;
        config.model_count = 1;
        config.live = 1;
        config.threads = maps[k].threads;
        plain = open_checked(&config);
        config.max_edit_size = 1;
        edits = open_checked(&config);
        config.max_edit_size = 0;
        config.map_block_size = maps[k].size;
        context = open_checked(&config);
        count = vmafgpu_map_blocks(context, &across, &down);
        CHECK_INT(across, (maps[k].width + maps[k].size - 1) / maps[k].size);
        CHECK_INT(down, (maps[k].height + maps[k].size - 1) / maps[k].size);
        CHECK_INT(count, across * down);
        map = (float *)malloc(sizeof *map * (size_t)(count + 1));
        blocks = (vmafgpu_block *)malloc(sizeof *blocks * (size_t)count);
        test_need(map && blocks, "out of memory");
        for (int i = 0; i < FRAMES; i++) {
            const vmafgpu_frame before = film_frame(&f, i ? i - 1 : 0, 0), reference = film_frame(&f, i, 0),
                                distorted = film_frame(&f, i, 1);
            vmafgpu_score score[2];
            for (int n = 0; n <= count; n++)
                map[n] = -7;
            if (i != 2)
                CHECK_INT(vmafgpu_request_map(context, map, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
            CHECK_INT(i % 2 ? vmafgpu_try_push(context, &reference, &distorted) : film_push(&f, context, i),
                      VMAFGPU_OK);
            CHECK_INT(film_push(&f, plain, i), VMAFGPU_OK);
            CHECK_INT(vmafgpu_next_score(context, &score[0]), VMAFGPU_OK);
            CHECK_INT(vmafgpu_next_score(plain, &score[1]), VMAFGPU_OK);
            check_row(score[0].values, score[1].values, vmafgpu_column_count(plain));
            CHECK(map[count] == -7);
            if (i == 2) { /* no map was requested for this pair */
                CHECK(map[0] == -7);
                continue;
            }
            CHECK_INT(vmafgpu_edit_begin(edits, &reference, &distorted, i ? &before : NULL, NULL, NULL), VMAFGPU_OK);
            CHECK_INT(vmafgpu_edit_blocks(edits, maps[k].size, blocks, &found[0], &found[1]), VMAFGPU_OK);
            for (int n = 0; n < count; n++) {
                CHECK_BITS(map[n], (float)blocks[n].loss);
                differ += map[n] != map[0];
            }
        }
        CHECK(differ > 0 || count == 1);
        CHECK_INT(vmafgpu_request_map(context, map, VMAFGPU_MEMORY_DEVICE), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_request_map(plain, map, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
        CHECK_HAS(vmafgpu_last_error(plain), "config.map_block_size is 0");
        CHECK_INT(vmafgpu_edit_blocks(context, 16, blocks, &across, &down), VMAFGPU_ERROR_STATE);
        vmafgpu_close(context);
        vmafgpu_close(plain);
        vmafgpu_close(edits);
        free(map);
        free(blocks);
        film_free(&f);
    }
}

typedef struct pool {
    int calls, left_out; /* left_out: index of the call that runs no tasks */
} pool;

static void run_tasks(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    pool *p = (pool *)user;
    for (int i = 0; i < count && p->calls != p->left_out; i++)
        task(arg, i);
    p->calls++;
}

/* In one of its calls, config.parallel_for runs no tasks. If the skipped tasks are those that compute the map, the
 * library still completes it. If they were any other tasks, the push fails. */
static void test_map_parallel_for(void) {
    film f = film_make("texture+mix", 96, 88, 8, 1, 3);
    vmafgpu_config config = film_config(&f);
    float expected[36], map[36];
    int failed = 0, fine = 0;
    snprintf(test_where, sizeof test_where, "maps and parallel_for");
    config.live = 1;
    config.map_block_size = 16;
    config.threads = 2;
    config.parallel_for = run_tasks;
    for (int left_out = -1; left_out < 20; left_out++) {
        pool p = { 0, 0 };
        vmafgpu *context;
        p.left_out = left_out;
        config.parallel_for_user = &p;
        context = open_checked(&config);
        CHECK_INT(vmafgpu_map_blocks(context, NULL, NULL), 36);
        memset(map, 0, sizeof map);
        CHECK_INT(vmafgpu_request_map(context, map, VMAFGPU_MEMORY_PINNED), VMAFGPU_OK);
        if (film_push(&f, context, 0) != VMAFGPU_OK) {
            failed++;
        } else if (left_out < 0) {
            memcpy(expected, map, sizeof map);
        } else {
            fine += p.calls > left_out;
            CHECK(memcmp(map, expected, sizeof map) == 0);
        }
        vmafgpu_close(context);
    }
    CHECK(failed > 0 && fine > 0);
    film_free(&f);
}

static void check_refused(const vmafgpu_config *config, vmafgpu_result expected, const char *words) {
    vmafgpu *context;
    CHECK_INT(vmafgpu_open(&context, config), expected);
    CHECK_HAS(vmafgpu_last_error(context), words);
    vmafgpu_close(context);
}

static void test_map_errors(void) {
    film f = film_make("texture+mix", 48, 40, 8, 1, 11);
    const vmafgpu_config plain = film_config(&f);
    vmafgpu_config config = plain;
    vmafgpu_feature_config psnr = feature("psnr", NULL), vif = feature("vif", NULL);
    vmafgpu *context;
    snprintf(test_where, sizeof test_where, "errors of maps");
    config.map_block_size = 16;
    check_refused(&config, VMAFGPU_ERROR_ARGUMENT, "config.map_block_size: requires config.live (16)");
    config.live = 1;
    config.map_block_size = 3;
    check_refused(&config, VMAFGPU_ERROR_ARGUMENT, "config.map_block_size: out of range (3); use 0 or 4..256");
    config.map_block_size = 257;
    check_refused(&config, VMAFGPU_ERROR_ARGUMENT, "config.map_block_size");
    config.map_block_size = 16;
    config.contexts_per_pass = 2;
    check_refused(&config, VMAFGPU_ERROR_ARGUMENT, "config.contexts_per_pass");
    config.contexts_per_pass = 0;
    config.features = &psnr;
    config.feature_count = 1;
    check_refused(&config, VMAFGPU_ERROR_FEATURE, "config.map_block_size: feature psnr does not support maps (16)");
    config.features = &vif;
    config.features_only = 1;
    check_refused(&config, VMAFGPU_ERROR_ARGUMENT, "config.map_block_size: requires a model (16)");
    config.features_only = 0;
    config.gpu.device_count = VMAFGPU_ALL_DEVICES;
    config.backend = VMAFGPU_BACKEND_CUDA;
    check_refused(&config, VMAFGPU_ERROR_BACKEND, "config.map_block_size");
    config.backend = VMAFGPU_BACKEND_AUTO;
    context = open_checked(&config);
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    CHECK_HAS(vmafgpu_backend_note(context), "config.map_block_size: maps are not supported on several GPUs");
    vmafgpu_close(context);
    { /* a model with an input that depends on more than the pair */
        static const char text[] =
            "{\"model_dict\":{\"model_type\":\"LIBSVMNUSVR\",\"norm_type\":\"none\",\"feature_names\":["
            "\"VMAF_integer_feature_adm2_score\",\"VMAF_integer_feature_motion3_score\"],\"feature_opts_dicts\":[{},"
            "{\"motion_moving_average\":true}],\"model\":\"svm_type nu_svr\\nkernel_type rbf\\ngamma 1\\nnr_class 2\\n"
            "total_sv 1\\nrho 0\\nSV\\n1 1:1\\n\"}}";
        vmafgpu_model_config m = VMAFGPU_INIT;
        vmafgpu_model *model = NULL;
        test_need(vmafgpu_model_parse(&model, "average", text, sizeof text - 1, NULL, NULL, 0) == VMAFGPU_OK, "model");
        m.model = model;
        config = plain;
        config.live = 1;
        config.map_block_size = 16;
        config.models = &m;
        config.model_count = 1;
        config.backend = VMAFGPU_BACKEND_CUDA;
        check_refused(&config, VMAFGPU_ERROR_BACKEND,
                      "config.map_block_size: maps are not supported on GPUs with the inputs of this model");
        config.backend = VMAFGPU_BACKEND_AUTO;
        context = open_checked(&config);
        CHECK_STR(vmafgpu_backend_name(context), "cpu");
        vmafgpu_close(context);
        vmafgpu_model_release(model);
    }
    film_free(&f);
}

int main(void) {
    test_scores();
    test_segments();
    test_try_push();
    test_maps();
    test_map_parallel_for();
    test_map_errors();
    return test_end();
}
