/* Tests vmafgpu_acquire_pair(): the scores, how many pairs can be acquired, their order, rejected calls, and failures
 * while the caller holds acquired pairs. Also tests frames in host memory that several threads copy. */
#include "gpu.h"

enum { MOST = 64 };

/* Acquired pairs that have not been pushed yet, oldest first. */
typedef struct acquired_pairs {
    vmafgpu_frame pairs[MOST][2];
    int first, end; /* frame indices; pair i is pairs[i % MOST] */
} acquired_pairs;

/* Writes frame i of a film to an acquired frame. */
static void fill(const film *f, int side, int i, const storage *how, const vmafgpu_frame *frame) {
    for (int plane = 0; plane < 3 && frame->data[plane]; plane++) {
        size_t size = 0;
        plane_layout l = plane_place(f, 2 * i + side, plane, how, &size);
        l.pitch = frame->pitch[plane];
        l.at = 0;
        plane_write(f, &l, how, (unsigned char *)(uintptr_t)frame->data[plane]);
    }
}

static void fill_pair(const film *f, int i, const storage *how, const vmafgpu_frame *pair) {
    fill(f, 0, i, how, &pair[0]);
    fill(f, 1, i, how, &pair[1]);
}

/* Acquires and fills pairs of the film until `most` pairs are held or no more are available. */
static void acquire_pairs(vmafgpu *context, const film *f, const storage *how, acquired_pairs *l, int most) {
    while (l->end < f->clip.frames && l->end - l->first < most) {
        vmafgpu_frame *pair = l->pairs[l->end % MOST];
        vmafgpu_result result = vmafgpu_acquire_pair(context, &pair[0], &pair[1]);
        if (result == VMAFGPU_AGAIN) {
            CHECK(l->end > l->first); /* if no pairs are acquired, the call waits instead of failing */
            break;
        }
        if (!CHECK_INT(result, VMAFGPU_OK))
            break;
        fill_pair(f, l->end++, how, pair);
    }
}

static vmafgpu_result push_acquired(vmafgpu *context, acquired_pairs *l) {
    vmafgpu_frame *pair = l->pairs[l->first % MOST];
    const vmafgpu_result result = vmafgpu_push(context, &pair[0], &pair[1]);
    l->first += result == VMAFGPU_OK;
    return result;
}

static const storage plain_storage = { "h", 0, 0, 0, 0, 0 };

/* ---- scores, in every format ---- */

static void test_formats(gpu *g) {
    static const struct {
        int width, height, depth;
        storage how;
        int selected, batch, queue, ahead, threads, subsample;
    } cases[] = {
        { 64, 36, 8, { "h", 0, 0, 0, 0, 0 }, DEFAULT, 2, 2, MOST, 1, 0 }, /* rows without padding */
        { 41, 37, 8, { "h", 0, 0, 0, 0, 0 }, MANY, 3, 2, MOST, 3, 0 },
        { 64, 36, 10, { "h", 0, 0, 0, 0, 0 }, DEFAULT, 1, 1, 1, 1, 0 },
        { 41, 37, 10, { "h", 0, 0, 0, 0, 0 }, ADM, 4, 1, 3, 1, 0 }, /* ADM does not check for illegal samples */
        { 41, 37, 10, { "h", 0, 6, 0, 0, 0 }, DEFAULT, 2, 2, MOST, 4, 0 },
        { 64, 36, 16, { "h", 0, 0, 0, 0, 0 }, MOTION, 2, 3, 2, 1, 0 },
        { 41, 37, 8, { "h", 2, 0, 0, 0, 0 }, DEFAULT, 2, 2, MOST, 2, 0 },
        { 64, 36, 8, { "h", 2, 8, 0, 0, 0 }, DEFAULT, 2, 2, MOST, 3, 0 },
        { 217, 177, 8, { "h", 0, 0, 0, 0, 0 }, V1, 2, 2, MOST, 2, 0 },
        { 216, 176, 10, { "h", 0, 0, 0, 0, 1 }, V1, 2, 2, 3, 1, 0 },
        { 217, 177, 10, { "h", 0, 6, 0, 0, 1 }, V1, 3, 2, MOST, 5, 0 },
        { 64, 36, 8, { "h", 0, 0, 0, 0, 0 }, DEFAULT, 2, 2, MOST, 1, 3 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const storage *how = &cases[i].how;
        film f = small_film(cases[i].selected, cases[i].width, cases[i].height, cases[i].depth,
                            cases[i].selected == V1 ? 5 : 17, (uint32_t)(700 + i));
        vmafgpu_config config = gpu_config(g, &f);
        scores expected;
        vmafgpu *context;
        acquired_pairs l;
        memset(&l, 0, sizeof l);
        where("acquired memory, format %d", (int)i);
        select_features(&config, &selections[cases[i].selected]);
        config.bytes_per_sample = how->bytes_per_sample;
        config.layout = how->shift         ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH
                        : how->interleaved ? VMAFGPU_LAYOUT_SEMIPLANAR
                                           : VMAFGPU_LAYOUT_PLANAR;
        config.gpu.batch = cases[i].batch;
        config.gpu.queue_depth = cases[i].queue;
        config.gpu.copy_threads = cases[i].threads;
        config.subsample = cases[i].subsample;
        expected = cpu_score(&f, &config);
        context = open_checked(&config);
        for (int round = 0; round < (cases[i].selected == V1 ? 1 : 2) && context; round++) {
            int most = 0;
            memset(&l, 0, sizeof l);
            while (l.first < f.clip.frames) {
                acquire_pairs(context, &f, how, &l, cases[i].ahead);
                most = l.end - l.first > most ? l.end - l.first : most;
                if (!CHECK_INT(push_acquired(context, &l), VMAFGPU_OK))
                    break;
            }
            CHECK(cases[i].ahead < MOST || most == cases[i].batch * cases[i].queue || most == f.clip.frames);
            CHECK_INT(vmafgpu_get_config(context)->threads, cases[i].threads);
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            check_context(g, context, &expected);
            CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        }
        vmafgpu_close(context);
        scores_free(&expected);
        film_free(&f);
    }
}

/* ---- rules for acquired frames ---- */

/* Mixes acquired frames with frames in other memory, with preceding and following frames, and with single pairs. None
 * of these frames may be overwritten. */
static void test_mixed_memory(gpu *g) {
    enum { FRAMES = 14, FIRST = 2, END = 12 };
    static const char *const kinds[] = { "h", "p", "d" };
    for (int way = 0; way < 12; way++) {
        film f = film_make("texture+mix", 48, 40, 8, FRAMES, 711);
        vmafgpu_config config = gpu_config(g, &f);
        reel r = reel_of_kinds(g, &f, kinds[way % 3]);
        scores expected, got;
        vmafgpu *context;
        vmafgpu_frame seed[2], tail[2];
        vmafgpu_score score;
        double alone = 0;
        acquired_pairs l;
        where("acquired memory and '%s', way %d", kinds[way % 3], way);
        memset(&l, 0, sizeof l);
        l.first = l.end = FIRST;
        expected = cpu_score(&f, &config);
        config.gpu.batch = 1 + way % 4;
        config.gpu.queue_depth = 2;
        context = open_checked(&config);
        if (!context)
            continue;
        CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), NULL, &score), VMAFGPU_OK);
        alone = score.score;
        CHECK_INT(vmafgpu_acquire_pair(context, &seed[0], &seed[1]), VMAFGPU_OK);
        fill(&f, 0, FIRST - 1, &plain_storage, &seed[0]);
        /* acquires a pair while the preceding frame is still held (acquired but not yet pushed) */
        if (config.gpu.batch > 1)
            acquire_pairs(context, &f, &plain_storage, &l, 1);
        CHECK_INT(vmafgpu_push_preceding(context, way & 1 ? &seed[0] : reel_frame(&r, FIRST - 1, 0)), VMAFGPU_OK);
        for (int i = FIRST; i < END; i++) {
            vmafgpu_frame *pair;
            acquire_pairs(context, &f, &plain_storage, &l, 1 + i % 3);
            pair = l.pairs[i % MOST];
            if (l.end - l.first < config.gpu.batch * config.gpu.queue_depth) {
                CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), NULL, &score),
                          VMAFGPU_OK);
                CHECK_BITS(score.score, alone);
                CHECK_INT(vmafgpu_score_pair(context, &pair[0], reel_frame(&r, i, 1), NULL, &score), VMAFGPU_OK);
            } else {
                CHECK_INT(vmafgpu_score_pair(context, reel_frame(&r, 1, 0), reel_frame(&r, 1, 1), NULL, &score),
                          VMAFGPU_ERROR_STATE);
                CHECK_HAS(vmafgpu_last_error(context), "acquired");
            }
            CHECK_INT(vmafgpu_push(context, (i + way) % 3 ? &pair[0] : reel_frame(&r, i, 0),
                                   (i + way) % 4 ? &pair[1] : reel_frame(&r, i, 1)),
                      VMAFGPU_OK);
            l.first++;
            if (i == 7)
                CHECK_INT(vmafgpu_wait(context, -1), VMAFGPU_OK);
        }
        if (l.end == l.first) {
            CHECK_INT(vmafgpu_acquire_pair(context, &tail[0], &tail[1]), VMAFGPU_OK);
            fill(&f, 0, END, &plain_storage, &tail[0]);
            CHECK_INT(vmafgpu_push_following(context, &tail[0]), VMAFGPU_OK);
        } else {
            CHECK_INT(vmafgpu_push_following(context, reel_frame(&r, END, 0)), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_acquire_pair(context, &tail[0], &tail[1]), VMAFGPU_ERROR_STATE);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        check_on_gpu(g, context);
        got = scores_of(context);
        CHECK_INT(got.rows, END - FIRST);
        for (int i = 0; i < got.rows; i++)
            check_row(got.values + i * got.columns, expected.values + (i + FIRST) * expected.columns, expected.columns);
        scores_free(&got);
        CHECK_INT(vmafgpu_acquire_pair(context, &tail[0], &tail[1]), VMAFGPU_ERROR_STATE);
        CHECK_HAS(vmafgpu_last_error(context), "flushed");
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

static void test_rejected_calls(gpu *g) {
    film f = film_make("texture+mix", 48, 40, 8, 6, 712);
    vmafgpu_config config = gpu_config(g, &f);
    vmafgpu_frame a[2], b[2], wrong;
    vmafgpu *context;
    config.gpu.batch = 2;
    config.gpu.queue_depth = 2;
    where("acquired memory, rejected calls");
    context = open_checked(&config);
    if (context) {
        CHECK_INT(vmafgpu_acquire_pair(context, NULL, &a[1]), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_acquire_pair(context, &a[0], NULL), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_acquire_pair(NULL, &a[0], &a[1]), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_acquire_pair(context, &a[0], &a[1]), VMAFGPU_OK);
        CHECK(a[0].data[1] == NULL && a[0].memory == VMAFGPU_MEMORY_HOST && a[0].data[0] != a[1].data[0]);
        CHECK_INT(vmafgpu_acquire_pair(context, &b[0], &b[1]), VMAFGPU_OK);
        fill_pair(&f, 0, &plain_storage, a);
        fill_pair(&f, 1, &plain_storage, b);
        CHECK_INT(vmafgpu_push(context, &b[0], &b[1]), VMAFGPU_ERROR_ARGUMENT); /* wrong order */
        CHECK_HAS(vmafgpu_last_error(context), "order");
        CHECK_INT(vmafgpu_push(context, &a[1], &a[0]), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_push(context, &a[0], &b[1]), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), "distorted");
        wrong = a[0];
        wrong.pitch[0] += 16;
        CHECK_INT(vmafgpu_push(context, &wrong, &a[1]), VMAFGPU_ERROR_ARGUMENT);
        wrong = a[0];
        wrong.data[0] = (const char *)a[0].data[0] + 16;
        CHECK_INT(vmafgpu_push(context, &wrong, &a[1]), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_push(context, &a[0], &a[1]), VMAFGPU_OK);             /* the rejected calls changed nothing */
        CHECK_INT(vmafgpu_push(context, &a[0], &a[1]), VMAFGPU_ERROR_ARGUMENT); /* already pushed */
        CHECK_INT(vmafgpu_push(context, &b[0], &b[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(context, &b[0], &b[1]), VMAFGPU_ERROR_ARGUMENT); /* the caller holds no pair now */
        /* a reset releases all acquired pairs */
        CHECK_INT(vmafgpu_acquire_pair(context, &a[0], &a[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_reset(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(context, &a[0], &a[1]), VMAFGPU_ERROR_ARGUMENT);
        for (int i = 0; i < 4; i++)
            CHECK_INT(vmafgpu_acquire_pair(context, &a[0], &a[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_acquire_pair(context, &a[0], &a[1]), VMAFGPU_AGAIN);
    }
    vmafgpu_close(context); /* while the caller holds four acquired pairs */
    config.gpu.frame_memory = VMAFGPU_MEMORY_PINNED;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_acquire_pair(context, &a[0], &a[1]), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "no host memory can be acquired (config.gpu.frame_memory is pinned)");
    vmafgpu_close(context);
    film_free(&f);
}

/* ---- samples that do not fit ---- */

/* If the GPU finds an illegal sample, the pair fails and the message gives the position of the sample. If the CPU
 * converts the samples, the push is rejected. */
static void test_illegal_samples(gpu *g) {
    enum { FRAMES = 6, BAD = 2, COLUMN = 37, ROW = 30 };
    for (int way = 0; way < 12; way++) {
        const int side = way & 1, converts = way >= 8;
        const storage how = { "h", 0, converts ? 6 : 0, 0, 0, 0 };
        film f = film_make("texture+mix", way & 2 ? 41 : 48, 36, 10, FRAMES, 713);
        vmafgpu_config config = gpu_config(g, &f);
        scores expected;
        vmafgpu *context;
        vmafgpu_score score;
        acquired_pairs l;
        where("illegal sample in acquired memory, way %d", way);
        memset(&l, 0, sizeof l);
        select_features(&config, &selections[way & 4 ? ADM : DEFAULT]);
        config.layout = converts ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
        config.gpu.batch = 2;
        config.gpu.copy_threads = 1 + way % 3;
        expected = cpu_score(&f, &config);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            unsigned char *at;
            acquire_pairs(context, &f, &how, &l, 1);
            at = (unsigned char *)(uintptr_t)l.pairs[i % MOST][side].data[0] + ROW * l.pairs[i % MOST][side].pitch[0] +
                 2 * COLUMN;
            at[converts ? 0 : 1] |= i == BAD ? 0x10 : 0;
            if (i == BAD && converts) {
                CHECK_INT(push_acquired(context, &l), VMAFGPU_ERROR_FRAME);
                CHECK_HAS(vmafgpu_last_error(context), side ? "distorted: luma sample " : "reference: luma sample ");
                CHECK_HAS(vmafgpu_last_error(context), "column 37, row 30");
                at[0] &= 0xef; /* the frame is legal again */
            }
            CHECK_INT(push_acquired(context, &l), VMAFGPU_OK);
        }
        if (context) {
            const int reach = vmafgpu_preceding_count(context);
            CHECK_INT(vmafgpu_flush(context), converts ? VMAFGPU_OK : VMAFGPU_ERROR_FRAME);
            for (int i = 0; i < FRAMES; i++) {
                const int is_spoilt = !converts && i >= BAD - reach && i <= BAD + reach;
                CHECK_INT(vmafgpu_next_score(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK);
                if (is_spoilt) {
                    CHECK_HAS(vmafgpu_last_error(context),
                              side ? "distorted: luma sample " : "reference: luma sample ");
                    CHECK_HAS(vmafgpu_last_error(context), "column 37, row 30");
                } else {
                    check_row(score.values, expected.values + i * expected.columns, expected.columns);
                }
            }
            check_on_gpu(g, context);
        }
        vmafgpu_close(context);
        scores_free(&expected);
        film_free(&f);
    }
}

/* ---- failures ---- */

/* Simulates losing the GPU at each driver call in turn while the caller holds acquired pairs. The pairs stay valid and
 * the CPU scores them. */
static void test_lost_gpu(gpu *g) {
    enum { FRAMES = 9 };
    int lost = 1;
    for (int n = 1; lost && g->is_simulated; n += n < 20 ? 1 : 7) {
        for (int depth = 8; depth <= 10; depth += 2) {
            film f = film_make("texture+mix", 40, 36, depth, FRAMES, 714);
            vmafgpu_config config = gpu_config(g, &f);
            scores expected = cpu_score(&f, &config), got;
            vmafgpu *context;
            acquired_pairs l;
            where("GPU lost at call %d, %d bits, with acquired pairs", n, depth);
            memset(&l, 0, sizeof l);
            config.gpu.batch = 2;
            config.gpu.queue_depth = 2;
            config.gpu.copy_threads = 1 + n % 3;
            context = open_checked(&config);
            g->sim.lose(n, 700);
            while (context && l.first < FRAMES) {
                acquire_pairs(context, &f, &plain_storage, &l, MOST);
                if (!CHECK_INT(push_acquired(context, &l), VMAFGPU_OK))
                    break;
            }
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
            lost = g->sim.hit()[0] != 0;
            g->sim.lose(0, 0);
            got = scores_of(context);
            check_same_scores(&got, &expected);
            scores_free(&got);
            vmafgpu_close(context);
            scores_free(&expected);
            film_free(&f);
        }
    }
}

/* Simulates losing the GPU at each driver call in turn while a pair with an illegal sample is pushed. Either the pair
 * fails and, with motion, its neighbours fail too, or the CPU has taken over and rejects the push. */
static void test_illegal_sample_lost_gpu(gpu *g) {
    enum { FRAMES = 7, BAD = 2 };
    film f = film_make("texture+mix", 40, 36, 10, FRAMES, 715);
    vmafgpu_config config = gpu_config(g, &f);
    scores expected = cpu_score(&f, &config);
    int lost = 1;
    config.gpu.batch = 1;
    for (int n = 1; lost && g->is_simulated; n++) {
        vmafgpu *context;
        int is_rejected = 0;
        acquired_pairs l;
        where("GPU lost at call %d, an illegal sample in acquired memory", n);
        memset(&l, 0, sizeof l);
        config.gpu.queue_depth = 1 + n % 3;
        context = open_checked(&config);
        g->sim.lose(n, 700);
        while (context && l.first < FRAMES) {
            unsigned char *at;
            acquire_pairs(context, &f, &plain_storage, &l, 1);
            at = (unsigned char *)(uintptr_t)l.pairs[l.first % MOST][0].data[0];
            at[1] |= l.first == BAD && !is_rejected ? 0x10 : 0;
            if (push_acquired(context, &l) != VMAFGPU_OK) {
                CHECK(!is_rejected && l.first == BAD);
                at[1] &= 0xef;
                is_rejected = 1;
                if (!CHECK_INT(push_acquired(context, &l), VMAFGPU_OK))
                    break;
            }
        }
        CHECK_INT(vmafgpu_flush(context), is_rejected ? VMAFGPU_OK : VMAFGPU_ERROR_FRAME);
        lost = g->sim.hit()[0] != 0;
        g->sim.lose(0, 0);
        for (int i = 0; i < FRAMES && context; i++) {
            const int is_spoilt = !is_rejected && i >= BAD - 1 && i <= BAD + 1;
            vmafgpu_score score;
            if (CHECK_INT(vmafgpu_next_score(context, &score), is_spoilt ? VMAFGPU_ERROR_FRAME : VMAFGPU_OK) &&
                !is_spoilt)
                check_row(score.values, expected.values + i * expected.columns, expected.columns);
            /* the message names the frame with the illegal sample, not the one pushed when the GPU was lost */
            if (is_spoilt && i == BAD)
                CHECK_HAS(vmafgpu_last_error(context), "frame 2, reference: luma sample");
        }
        vmafgpu_close(context);
    }
    scores_free(&expected);
    film_free(&f);
}

/* ---- frames in host memory, copied and checked by several threads ---- */

/* A config.parallel_for that runs the tasks in reverse order and skips the first *user tasks. */
static void run_in_reverse(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    for (int i = count - 1; i >= *(const int *)user; i--)
        task(arg, i);
}

static void test_staging(gpu *g) {
    static const storage forms[] = {
        { "h", 0, 0, 0, 0, 0 }, { "h", 0, 0, 80, 1, 0 }, { "h", 0, 0, -96, 0, 0 },
        { "h", 0, 6, 0, 0, 0 }, { "h", 0, 0, 0, 0, 1 },
    };
    enum { FRAMES = 6, BAD = 3, THREADS = 5 };
    for (int way = 0; way < 20; way++) {
        const storage *how = &forms[way % 5];
        const int depth = how->shift || way >= 10 ? 10 : 8, has_parallel_for = way / 5 % 2, wide = depth > 8 ? 2 : 1;
        int first = 0;
        storage mine = *how;
        film f = film_make("texture+mix", 40, 38, depth, FRAMES, (uint32_t)(720 + way));
        vmafgpu_config config = gpu_config(g, &f);
        scores expected;
        vmafgpu *context;
        reel r;
        where("host memory and threads, way %d", way);
        mine.pitch = how->pitch * wide;
        config.layout = how->shift         ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH
                        : how->interleaved ? VMAFGPU_LAYOUT_SEMIPLANAR
                                           : VMAFGPU_LAYOUT_PLANAR;
        config.gpu.batch = 2;
        config.gpu.copy_threads = THREADS;
        config.parallel_for = has_parallel_for ? run_in_reverse : NULL;
        config.parallel_for_user = &first;
        expected = cpu_score(&f, &config);
        r = reel_make(g, &f, &mine);
        context = open_checked(&config);
        for (int i = 0; i < FRAMES && context; i++) {
            picture *p = &r.pictures[2 * i + way % 2];
            if (i == BAD && has_parallel_for) {
                first = 1;
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_ERROR_SYSTEM);
                CHECK_HAS(vmafgpu_last_error(context), "parallel_for");
                first = 0;
            }
            if (i == BAD && depth > 8) { /* if two samples are illegal, the message names the first */
                const unsigned char bit = how->shift ? 1 : 0x80;
                unsigned char *at = p->bytes + ((const char *)p->frame.data[0] - (const char *)p->bytes);
                const ptrdiff_t pitch = p->frame.pitch[0] ? p->frame.pitch[0] : 80;
                at[9 * pitch + 22 + (how->shift ? 0 : 1)] |= bit;
                at[36 * pitch + 4 + (how->shift ? 0 : 1)] |= bit;
                CHECK_INT(reel_push(&r, context, i), VMAFGPU_ERROR_FRAME);
                CHECK_HAS(vmafgpu_last_error(context), "column 11, row 9");
                CHECK_HAS(vmafgpu_last_error(context), way % 2 ? "frame 3, distorted" : "frame 3, reference");
                at[9 * pitch + 22 + (how->shift ? 0 : 1)] &= (unsigned char)~bit;
                at[36 * pitch + 4 + (how->shift ? 0 : 1)] &= (unsigned char)~bit;
            }
            CHECK_INT(reel_push(&r, context, i), VMAFGPU_OK);
            picture_spoil(g, p);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        check_context(g, context, &expected);
        vmafgpu_close(context);
        reel_free(g, &r);
        scores_free(&expected);
        film_free(&f);
    }
}

void test_acquire(gpu *g) {
    test_staging(g);
    test_formats(g);
    test_mixed_memory(g);
    test_rejected_calls(g);
    test_illegal_samples(g);
    test_lost_gpu(g);
    test_illegal_sample_lost_gpu(g);
}
