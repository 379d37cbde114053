/* Tests several threads per frame: the scores must depend neither on which thread computes a piece nor on when. Also
 * tests two contexts that share nothing, on two threads, and calls to one context from two threads. The test is most
 * useful with the thread sanitizer, which detects reads of incomplete rows. */
#include <pthread.h>
#include "scoring.h"

enum { WORKERS = 2, ROUNDS = 3 };

typedef struct worker {
    const film *f;
    vmafgpu_config config;
    scores got[ROUNDS];
    int ok;
} worker;

/* Scores the film several times. Does not call CHECK(), because its counters are not thread-safe. */
static void *work(void *user) {
    worker *w = (worker *)user;
    w->ok = 1;
    for (int round = 0; round < ROUNDS; round++) {
        vmafgpu *context = NULL;
        scores *s = &w->got[round];
        w->ok &= vmafgpu_open(&context, &w->config) == VMAFGPU_OK;
        for (int i = 0; w->ok && i < w->f->clip.frames; i++) {
            vmafgpu_frame reference = film_frame(w->f, i, 0), distorted = film_frame(w->f, i, 1);
            vmafgpu_score score;
            w->ok &= film_push(w->f, context, i) == VMAFGPU_OK;
            w->ok &= vmafgpu_score_pair(context, &reference, &distorted, NULL, &score) == VMAFGPU_OK;
        }
        w->ok = w->ok && vmafgpu_flush(context) == VMAFGPU_OK;
        if (w->ok) {
            s->rows = (int)vmafgpu_score_count(context);
            s->columns = vmafgpu_column_count(context);
            s->values = (double *)malloc(sizeof(double) * (size_t)(s->rows * s->columns));
            for (int i = 0; s->values && i < s->rows; i++) {
                vmafgpu_score row;
                w->ok &= vmafgpu_score_at(context, i, &row) == VMAFGPU_OK;
                memcpy(s->values + i * s->columns, row.values, sizeof(double) * (size_t)s->columns);
            }
        }
        vmafgpu_close(context);
    }
    return NULL;
}

/* ---- one frame, many pieces ---- */

/* Different implementations of config.parallel_for. If the tasks run one after another, the first task computes all
 * pieces, each as soon as its input is complete. A piece that is computed too early would read data of the previous
 * frame. */
static void forwards(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = 0; i < count; i++)
        task(arg, i);
}

static void backwards(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = count - 1; i >= 0; i--)
        task(arg, i);
}

typedef struct part {
    void (*task)(void *arg, int index);
    void *arg;
    int first, end;
} part;

static void *run_part(void *user) {
    part *p = (part *)user;
    for (int i = p->first; i < p->end; i++)
        p->task(p->arg, i);
    return NULL;
}

/* Runs any number of tasks on three threads. */
static void by_three(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    part parts[3];
    pthread_t threads[3];
    (void)user;
    for (int i = 0; i < 3; i++) {
        parts[i].task = task;
        parts[i].arg = arg;
        parts[i].first = count * i / 3;
        parts[i].end = count * (i + 1) / 3;
        test_need(pthread_create(&threads[i], NULL, run_part, &parts[i]) == 0, "cannot start a thread");
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

/* Scores a film. Before frame `bad`, pushes a frame with an illegal sample in its last row; this push must have no
 * effect. */
static scores score_with(const film *f, const vmafgpu_config *config, int bad) {
    vmafgpu *context = open_checked(config);
    scores s;
    memset(&s, 0, sizeof s);
    for (int i = 0; context && i < f->clip.frames; i++) {
        if (i == bad) {
            unsigned char *last = f->luma + (size_t)(2 * i + 1) * f->plane_bytes - 1;
            const unsigned char was = *last;
            *last = 0xff;
            CHECK_INT(film_push(f, context, i), VMAFGPU_ERROR_FRAME);
            *last = was;
        }
        CHECK_INT(film_push(f, context, i), VMAFGPU_OK);
    }
    if (context) {
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        s = scores_of(context);
    }
    vmafgpu_close(context);
    return s;
}

static void test_pieces(const char *what, int width, int height, int depth) {
    static const int counts[] = { 2, 5, 8, 33, 256 };
    static vmafgpu_parallel_for *const functions[] = { NULL, forwards, backwards, by_three };
    static const unsigned masks[] = { 0, 255 };
    film f = film_make(what, width, height, depth, 4, 5);
    vmafgpu_feature_config window;
    memset(&window, 0, sizeof window);
    window.name = "motion";
    window.options = "motion_five_frame_window=true";
    for (int two = 0; two < 2; two++) {
        vmafgpu_config config = film_config(&f);
        scores one;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.features = two ? &window : NULL;
        config.feature_count = two;
        one = score_with(&f, &config, -1);
        CHECK_INT(one.rows, f.clip.frames);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
                scores s;
                snprintf(test_where, sizeof test_where, "%s %dx%d, %d bits, %d threads, parallel_for %d, window %d",
                         what, width, height, depth, counts[i], (int)k, two);
                config.threads = counts[i];
                config.parallel_for = functions[k];
                config.cpumask = masks[(i + k) % 2];
                s = score_with(&f, &config, depth == 10 ? 2 : -1);
                check_same_scores(&s, &one);
                scores_free(&s);
            }
        }
        scores_free(&one);
    }
    film_free(&f);
}

/* Tests the narrower strips that the vector code uses if there are more threads than can share one cache. */
static void test_strips(int depth) {
    film f = film_make("texture+mix", 2100, 1100, depth, 1, 6);
    for (unsigned mask = 0; mask <= 16; mask += 16) {
        vmafgpu_config config = film_config(&f);
        scores one, many;
        snprintf(test_where, sizeof test_where, "strips, %d bits, cpumask %u", depth, mask);
        config.backend = VMAFGPU_BACKEND_CPU;
        config.cpumask = mask;
        one = film_score(&f, &config);
        config.threads = 64;
        many = film_score(&f, &config);
        check_same_scores(&many, &one);
        scores_free(&one);
        scores_free(&many);
    }
    film_free(&f);
}

/* ---- one context, two threads ---- */

/* A call to a context from another thread while the context runs the tasks of a frame. */
typedef struct busy_call {
    vmafgpu *context;
    vmafgpu_frame frame;
    vmafgpu_result result;
    char message[256], own[256], before[256];
} busy_call;

static void *push_on_thread(void *user) {
    busy_call *t = (busy_call *)user;
    snprintf(t->before, sizeof t->before, "%s", vmafgpu_last_error(NULL));
    t->result = vmafgpu_push(t->context, &t->frame, &t->frame);
    snprintf(t->message, sizeof t->message, "%s", vmafgpu_last_error(t->context));
    snprintf(t->own, sizeof t->own, "%s", vmafgpu_last_error(NULL));
    return NULL;
}

static void call_and_run(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    pthread_t thread;
    test_need(pthread_create(&thread, NULL, push_on_thread, user) == 0, "cannot start a thread");
    pthread_join(thread, NULL);
    forwards(NULL, count, task, arg);
}

static void test_busy_context(void) {
    film f = film_make("texture+mix", 64, 48, 8, 1, 6);
    vmafgpu_config config = film_config(&f);
    busy_call t;
    memset(&t, 0, sizeof t);
    snprintf(test_where, sizeof test_where, "one context on two threads");
    config.backend = VMAFGPU_BACKEND_CPU;
    config.threads = 2;
    config.parallel_for = call_and_run;
    config.parallel_for_user = &t;
    t.frame = film_frame(&f, 0, 0);
    CHECK_INT(vmafgpu_open(NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    t.context = open_checked(&config);
    CHECK_INT(vmafgpu_push(t.context, &t.frame, &t.frame), VMAFGPU_OK);
    CHECK_STR(vmafgpu_result_name(t.result), "VMAFGPU_ERROR_STATE");
    CHECK_STR(t.message, "vmafgpu_push: context is busy with vmafgpu_push(), which runs on another thread");
    CHECK_STR(t.own, t.message);
    CHECK_STR(t.before, ""); /* each thread has its own message */
    CHECK_HAS(vmafgpu_last_error(NULL), "vmafgpu_open: context is NULL");
    CHECK_STR(vmafgpu_last_error(t.context), "");
    CHECK_INT(vmafgpu_flush(t.context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_count(t.context), 1);
    vmafgpu_close(t.context);
    film_free(&f);
}

int main(void) {
    film films[WORKERS];
    worker workers[WORKERS];
    scores alone[WORKERS];
    pthread_t threads[WORKERS];
    vmafgpu_model_config model;
    test_busy_context();
    test_pieces("noise+mix", 48, 700, 8);
    test_pieces("noise+grain", 37, 500, 10);
    test_pieces("noise+mix", 200, 67, 10);
    test_strips(8);
    test_strips(10);
    memset(workers, 0, sizeof workers);
    films[0] = film_make("texture+mix", 96, 80, 8, 4, 1);
    films[1] = film_make_colour("bands+blur", 216, 97, 10, 444, 4, 2);
    memset(&model, 0, sizeof model);
    model.version = "vmaf_v1.0.16_hfr_3d0h";
    for (int i = 0; i < WORKERS; i++) {
        workers[i].f = &films[i];
        workers[i].config = film_config(&films[i]);
        workers[i].config.models = i ? &model : NULL;
        workers[i].config.model_count = i;
        alone[i] = film_score(&films[i], &workers[i].config);
        workers[i].config.threads = 2;
    }
    for (int i = 0; i < WORKERS; i++)
        test_need(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "cannot start a thread");
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < WORKERS; i++) {
        snprintf(test_where, sizeof test_where, "worker %d", i);
        CHECK(workers[i].ok);
        for (int round = 0; round < ROUNDS; round++) {
            check_same_scores(&workers[i].got[round], &alone[i]);
            scores_free(&workers[i].got[round]);
        }
        scores_free(&alone[i]);
        film_free(&films[i]);
    }
    return test_end();
}
