/* Two contexts on two threads, each with threads of its own, at the same time: nothing is shared, so the scores are
 * those of one context alone. Meant for the thread sanitizer, and worth running without. */
#include <pthread.h>
#include "scoring.h"

enum { WORKERS = 2, ROUNDS = 3 };

typedef struct worker {
    const film    *f;
    vmafgpu_config config;
    scores         got[ROUNDS];
    int            ok;
} worker;

/* No checks in here: their counters belong to the main thread. */
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
            w->ok &= vmafgpu_score_pair(context, NULL, &reference, &distorted, &score) == VMAFGPU_OK;
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

int main(void) {
    film films[WORKERS];
    worker workers[WORKERS];
    scores alone[WORKERS];
    pthread_t threads[WORKERS];
    vmafgpu_model_config model;
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
    for (int i = 0; i < WORKERS; i++) {
        test_need(pthread_create(&threads[i], NULL, work, &workers[i]) == 0, "a thread");
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
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
