/* Tests samples that exceed the bit depth: which pairs fail, and which of their neighbours also fail. */
#include "gpu.h"

/* Returns the mean of a column over all frames except first..end - 1, added in frame order. */
static double mean_except(const scores *s, int column, int first, int end) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < s->rows; i++) {
        if (i < first || i >= end) {
            sum += s->values[i * s->columns + column];
            count++;
        }
    }
    return sum / count;
}

/* Results that the callback received. */
typedef struct result_log {
    int count, in_order;
    vmafgpu_result results[16];
} result_log;

static void log_result(void *user, const vmafgpu_score *score) {
    result_log *v = (result_log *)user;
    v->in_order &= score->index == v->count;
    v->results[v->count++ & 15] = score->result;
}

/* Returns the frame of a picture in device memory, but with pointers to the picture's copy in host memory. */
static vmafgpu_frame bytes_frame(const picture *p) {
    vmafgpu_frame frame = p->frame;
    frame.memory = VMAFGPU_MEMORY_HOST;
    for (int i = 0; i < 3; i++)
        frame.data[i] = p->frame.data[i] ? p->bytes + ((uintptr_t)p->frame.data[i] - (uintptr_t)p->address) : NULL;
    return frame;
}

static void picture_flip(gpu *g, picture *p, size_t byte, int bit) {
    p->bytes[byte] = (unsigned char)(p->bytes[byte] ^ 1 << bit);
    CHECK_INT(gpu_write(g, p->address, p->bytes, p->size), 0);
}

/* Tests illegal chroma samples at random positions. The GPU must report exactly the samples that the CPU reports. */
void test_v1_speed_illegal(gpu *g) {
    static const struct {
        int width, height, depth;
        storage how;
        const char *options;
    } cases[] = {
        { 192, 176, 10, { "d", 0, 0, 0, 0, 0 }, NULL },
        { 189, 170, 10, { "d", 0, 0, 384, 0, 0 }, NULL }, /* padded rows whose length is not a multiple of 8 samples */
        { 189, 170, 10, { "d", 0, 6, 384, 0, 0 }, NULL },
        { 184, 170, 12, { "d", 0, 0, -384, 0, 1 }, NULL },
        { 189, 170, 10, { "d", 0, 0, 0, 0, 0 }, NULL },
        { 189, 170, 9, { "d", 0, 0, 0, 1, 0 }, NULL },
        { 160, 130, 8, { "d", 2, 0, 0, 0, 0 }, NULL },
        { 160, 130, 16, { "d", 0, 0, 0, 0, 0 }, NULL },
        { 189, 170, 10, { "d", 0, 0, 0, 0, 0 }, "speed_kernelscale=0.5" },
        { 200, 190, 10, { "d", 0, 0, 0, 0, 0 }, "speed_prescale=0.5:speed_prescale_method=bilinear" },
        { 200, 190, 10, { "d", 0, 6, 0, 0, 0 }, "speed_prescale=0.75" },
    };
    enum { TRIES = 16 };
    uint32_t seed = 5;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        film f = film_make_colour("noise+mix", cases[i].width, cases[i].height, cases[i].depth, 444, 1, (uint32_t)i);
        const storage *how = &cases[i].how;
        vmafgpu_config config = gpu_config(g, &f), plain;
        vmafgpu_feature_config feature;
        reel r = reel_make(g, &f, how);
        int found = 0;
        feature.name = "speed_chroma";
        feature.options = cases[i].options;
        config.features_only = 1;
        config.gpu.batch = 2; /* as many pairs as are pushed, so that opening is quick */
        config.features = &feature;
        config.feature_count = 1;
        config.bytes_per_sample = how->bytes_per_sample;
        config.layout = how->shift         ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH
                        : how->interleaved ? VMAFGPU_LAYOUT_SEMIPLANAR
                                           : VMAFGPU_LAYOUT_PLANAR;
        plain = config;
        plain.backend = VMAFGPU_BACKEND_CPU;
        for (int attempt = 0; attempt < TRIES; attempt++) {
            const int side = attempt & 1, v = attempt >> 1 & 1;
            const int interleaved = how->shift || how->interleaved, step = interleaved ? 4 : 2;
            picture *p = &r.pictures[side];
            vmafgpu_frame frames[2];
            vmafgpu *contexts[2];
            vmafgpu_result results[2];
            ptrdiff_t pitch = p->frame.pitch[interleaved ? 1 : 1 + v];
            uintptr_t place;
            size_t at;
            int x, y, bit = how->shift ? 0 : cases[i].depth == 16 ? 7 : 15;
            seed = seed * 1664525u + 1013904223u;
            x = attempt % 4 == 3 ? cases[i].width - 1 : (int)((seed >> 8) % (uint32_t)cases[i].width);
            y = attempt == 8 ? 0 : attempt == 9 ? cases[i].height - 1 : (int)((seed >> 10) % (uint32_t)cases[i].height);
            pitch = pitch ? pitch : (ptrdiff_t)cases[i].width * step;
            place = (uintptr_t)p->frame.data[interleaved ? 1 : 1 + v] + (uintptr_t)(y * pitch) +
                    (uintptr_t)(x * step + (interleaved ? 2 * v : 0) + bit / 8);
            at = (size_t)(place - (uintptr_t)p->address);
            where("illegal chroma, case %d, side %d, plane %d, column %d, row %d", (int)i, side, v, x, y);
            picture_flip(g, p, at, bit % 8);
            for (int k = 0; k < 2; k++) {
                contexts[k] = open_checked(k ? &config : &plain);
                for (int n = 0; n < 2; n++)
                    frames[n] = k ? r.pictures[n].frame : bytes_frame(&r.pictures[n]);
                results[k] = vmafgpu_push(contexts[k], &frames[0], &frames[1]);
                if (results[k] == VMAFGPU_OK)
                    results[k] = vmafgpu_flush(contexts[k]);
            }
            CHECK_INT(results[1], results[0]);
            if (results[0] == VMAFGPU_ERROR_FRAME) {
                found++;
                CHECK_HAS(vmafgpu_last_error(contexts[0]), side ? "distorted" : "reference");
                CHECK_HAS(vmafgpu_last_error(contexts[1]), side ? "distorted" : "reference");
            }
            for (int k = 0; k < 2; k++)
                vmafgpu_close(contexts[k]);
            picture_flip(g, p, at, bit % 8);
        }
        CHECK(cases[i].depth == 16 ? found == 0 : found > 1);
        CHECK(cases[i].depth == 16 || found < TRIES);
        reel_free(g, &r);
        film_free(&f);
    }
}

/* If a preceding or following frame contains an illegal sample, the pairs whose motion depends on this frame fail. If a
 * pair is skipped, an illegal sample in its distorted frame causes no pair to fail. */
static void test_illegal_neighbours(gpu *g) {
    enum { FRAMES = 6, FIRST = 2, END = 5 };
    for (int way = 0; way < 4; way++) {
        film f = film_make("texture+mix", 40, 36, 10, FRAMES, 103);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, "d");
        result_log v;
        vmafgpu *context;
        where("illegal neighbour, way %d", way);
        memset(&v, 0, sizeof v);
        v.in_order = 1;
        config.gpu.batch = 1 + way;
        config.discard_scores = 1;
        config.on_score = log_result;
        config.on_score_user = &v;
        config.subsample = way == 2 ? 3 : 0;
        picture_set_bit(g, &r.pictures[way == 0 ? 2 * (FIRST - 1) : way == 1 ? 2 * END : 2 * (FIRST + 1) + 1], 1, 5);
        context = open_checked(&config);
        if (context) {
            CHECK_INT(vmafgpu_push_preceding(context, reel_frame(&r, FIRST - 1, 0)), VMAFGPU_OK);
            for (int i = FIRST; i < END; i++)
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push_following(context, reel_frame(&r, END, 0)), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), way == 2 ? VMAFGPU_OK : VMAFGPU_ERROR_FRAME);
            CHECK(v.in_order);
            CHECK_INT(v.count, way == 2 ? 1 : END - FIRST);
            for (int i = 0; i < v.count; i++) {
                const int is_spoilt = way == 0 ? i == 0 : way == 1 ? i == END - FIRST - 1 : way == 3;
                CHECK_INT(v.results[i], is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
            }
            check_on_gpu(g, context);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        film_free(&f);
    }
}

/* If SpEED reads an illegal chroma sample, its pair and the neighbours whose motion depends on it fail. If SpEED does
 * not read the sample, no pair fails. */
static void test_illegal_chroma(gpu *g) {
    static const char *const kinds[] = { "d", "p", "h" };
    enum { FRAMES = 5, BAD = 2 };
    for (int way = 0; way < 12; way++) {
        const int side = way / 3 % 2, is_read = way < 6;
        film f = small_film(V1, 0, 0, 10, FRAMES, 104);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way % 3]);
        picture *bad = &r.pictures[2 * BAD + side];
        scores expected;
        vmafgpu *context;
        where("illegal chroma, '%s', side %d%s", kinds[way % 3], side, is_read ? "" : ", not read");
        select_features(&config, &selections[V1]);
        config.gpu.batch = 2;
        expected = cpu_score(&f, &config);
        picture_set_bit(g, bad,
                        is_read
                            ? (size_t)((const char *)bad->frame.data[1 + side] - (const char *)bad->frame.data[0]) + 1
                            : bad->size - 1,
                        3);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++)
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        if (context) {
            const int reach = vmafgpu_preceding_count(context);
            vmafgpu_score score;
            CHECK_INT(vmafgpu_flush(context), is_read ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
            for (int i = 0; i < FRAMES; i++) {
                const int is_spoilt = is_read && i >= BAD - reach && i <= BAD + reach;
                CHECK_INT(vmafgpu_next_score(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                if (is_spoilt) {
                    CHECK_HAS(vmafgpu_last_error(context), "chroma");
                    CHECK_HAS(vmafgpu_last_error(context), side ? "distorted" : "reference");
                } else {
                    check_row(score.values, expected.values + i * expected.columns, expected.columns);
                }
            }
            check_on_gpu(g, context);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

/* Two consecutive pairs contain illegal samples. With motion, their neighbours fail too; without it, they do not. */
static void check_two_consecutive(gpu *g) {
    enum { FRAMES = 6, BAD = 2 };
    static const char *const forced[] = { "motion.motion_force_zero=true", NULL };
    for (int way = 0; way < 2; way++) {
        film f = film_make("texture+mix", 40, 36, 10, FRAMES, 102);
        vmafgpu_config config = gpu_config(g, &f);
        vmafgpu_model_config model = VMAFGPU_INIT;
        scores expected;
        reel r = reel_of_kinds(g, &f, "d");
        vmafgpu *context;
        vmafgpu_score score;
        where("two consecutive illegal pairs, %s", forced[way] ? forced[way] : "motion");
        model.options = forced[way];
        config.models = &model;
        config.model_count = 1;
        config.gpu.batch = 1;
        expected = cpu_score(&f, &config);
        context = open_checked(&config);
        picture_set_bit(g, &r.pictures[2 * BAD + 1], 1, 4);
        picture_set_bit(g, &r.pictures[2 * BAD + 3], 1, 4);
        for (int i = 0; i < FRAMES && context; i++)
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_FRAME);
        for (int i = 0; i < FRAMES && context; i++) {
            const int is_bad = i == BAD || i == BAD + 1, is_beside = !forced[way] && (i == BAD - 1 || i == BAD + 2);
            CHECK_INT(vmafgpu_next_score(context, &score), is_bad || is_beside ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
            CHECK_INT(score.index, i);
            if (score.result == VMAFGPU_OK)
                check_row(score.values, expected.values + i * expected.columns, expected.columns);
            double value = -1;
            char words[64];
            snprintf(words, sizeof words, "frame %d: has no score: ", i);
            CHECK_INT(vmafgpu_value_at(context, i, 0, &value), score.result);
            if (score.result == VMAFGPU_OK)
                CHECK_BITS(value, expected.values[i * expected.columns]);
            else
                CHECK_HAS(vmafgpu_last_error(context), words);
        }
        vmafgpu_close(context);
        scores_free(&expected);
        reel_free(g, &r);
        film_free(&f);
    }
}

void test_illegal(gpu *g) {
    static const struct {
        const char *kinds;
        /* byte, bit: position of the bit that is set; byte -1: the last byte of the picture */
        int depth, bytes, shift, byte, bit;
        int side, selected, batch;
    } cases[] = {
        { "d", 10, 0, 0, 1, 4, CLIP_REFERENCE, DEFAULT, 2 }, { "d", 10, 0, 0, -1, 2, CLIP_DISTORTED, DEFAULT, 1 },
        { "p", 10, 0, 0, 1, 4, CLIP_DISTORTED, DEFAULT, 3 }, { "p", 10, 0, 0, -1, 7, CLIP_REFERENCE, DEFAULT, 2 },
        { "d", 10, 0, 6, 0, 5, CLIP_REFERENCE, DEFAULT, 2 }, { "d", 8, 2, 0, -1, 0, CLIP_DISTORTED, DEFAULT, 2 },
        { "d", 12, 0, 0, -1, 4, CLIP_DISTORTED, VIF, 2 },    { "d", 12, 0, 0, -1, 4, CLIP_DISTORTED, ADM, 2 },
        { "p", 15, 0, 0, -1, 7, CLIP_REFERENCE, ADM, 2 },    { "d", 9, 0, 0, -1, 1, CLIP_REFERENCE, MOTION, 2 },
        { "p", 10, 0, 0, 1, 3, CLIP_REFERENCE, MOTION, 1 },  { "d", 10, 0, 0, 1, 3, CLIP_REFERENCE, VIF, 4 },
    };
    enum { FRAMES = 8, BAD = 3 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int width = i % 2 && cases[i].kinds[0] == 'd' ? 41 : 40;
        film f = film_make("texture+mix", width, 36, cases[i].depth, FRAMES, 101);
        vmafgpu_config config = gpu_config(g, &f);
        storage how;
        reel r;
        scores expected;
        vmafgpu *context;
        picture *bad;
        memset(&how, 0, sizeof how);
        how.kinds = cases[i].kinds;
        how.bytes_per_sample = cases[i].bytes;
        how.shift = cases[i].shift;
        config.bytes_per_sample = cases[i].bytes;
        config.layout = cases[i].shift ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
        config.gpu.batch = cases[i].batch;
        select_features(&config, &selections[cases[i].selected]);
        expected = cpu_score(&f, &config);
        r = reel_make(g, &f, &how);
        bad = &r.pictures[2 * BAD + cases[i].side];
        picture_set_bit(g, bad, cases[i].byte < 0 ? bad->size - 1 : (size_t)cases[i].byte, cases[i].bit);
        context = open_checked(&config);
        if (context) {
            /* range of frames whose motion depends on the illegal frame */
            const int reach = vmafgpu_preceding_count(context), first = BAD - reach, end = BAD + reach + 1;
            vmafgpu_score score;
            double mean = 0;
            where("illegal sample, case %d", (int)i);
            for (int k = 0; k < FRAMES; k++)
                CHECK_INT(reel_push(&r, context, k), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_FRAME);
            for (int k = 0; k < FRAMES; k++) {
                const int is_spoilt = k >= first && k < end;
                CHECK_INT(vmafgpu_next_score(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                CHECK_INT(score.index, k);
                CHECK_INT(score.result, is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                if (is_spoilt) {
                    char words[32];
                    snprintf(words, sizeof words, "frame %d: has no score: ", k);
                    CHECK_HAS(vmafgpu_last_error(context), words);
                    CHECK(score.values[0] != score.values[0]);
                } else {
                    check_row(score.values, expected.values + k * expected.columns, expected.columns);
                }
            }
            CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_END);
            for (int column = 0; column < expected.columns; column++) {
                CHECK_INT(vmafgpu_pool(context, column, VMAFGPU_POOL_MEAN, &mean), VMAFGPU_OK);
                CHECK_BITS(mean, mean_except(&expected, column, first, end));
            }
            CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, BAD, 0), reel_frame(&r, BAD, 1), NULL, &score),
                      VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(context),
                      cases[i].side == CLIP_REFERENCE ? "reference: luma sample" : "distorted: luma sample");
            CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 0, 0), reel_frame(&r, 0, 1), NULL, &score),
                      VMAFGPU_OK);
            check_on_gpu(g, context);
            /* vmafgpu_reset() clears the failure */
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
            for (int k = BAD + 1; k < FRAMES; k++)
                CHECK_INT(reel_push(&r, context, k), VMAFGPU_OK);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }

    test_illegal_neighbours(g);
    test_illegal_chroma(g);

    /* If the CPU reads the frame, the push fails and the clip can continue. The CPU reads pageable memory, and pinned
     * memory whose row lengths are not multiples of 4 bytes. */
    for (int way = 0; way < 4; way++) {
        const int side = way % 2;
        const char *kind = way < 2 ? "h" : "p";
        film f = film_make("texture+mix", 41, 36, 10, 5, 102);
        vmafgpu_config config = gpu_config(g, &f);
        scores expected = cpu_score(&f, &config);
        reel r = reel_of_kinds(g, &f, kind), bad = reel_of_kinds(g, &f, kind);
        vmafgpu *context;
        vmafgpu_score score;
        where("illegal sample in memory '%s', side %d", kind, side);
        config.gpu.batch = 2;
        context = open_checked(&config);
        for (int i = 0; i < 5 && context; i++) {
            picture_set_bit(g, &bad.pictures[2 * i + side], 701, 2);
            CHECK_INT(reel_push(&bad, context, i), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(context), side ? "distorted" : "reference");
            CHECK_INT(vmafgpu_score_pair(context, reel_frame(&bad, i, 0), reel_frame(&bad, i, 1), NULL, &score),
                      VMAFGPU_ERROR_FRAME);
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
        }
        if (context) {
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
        }
        vmafgpu_close(context);
        reel_free(g, &r);
        reel_free(g, &bad);
        scores_free(&expected);
        film_free(&f);
    }
    check_two_consecutive(g);
}
