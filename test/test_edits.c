/* Tests edits, which replace the samples in a rectangle of the distorted frame. The scores of random edits must equal
 * those of the whole edited frame, bit for bit. After commits, a context must behave like a new one that begins with
 * the edited frame. Also tests errors, that the sums and losses of blocks add up, and that the gradient predicts small
 * edits. */
#include <math.h>
#include "scoring.h"

enum { LARGEST = 256, TOGETHER = 10 };

typedef struct edit_case {
    const char *what;
    /* bytes: number of bytes per sample; 0: as the depth requires; 3: 16-bit words with the sample in the high bits */
    int width, height, depth, bytes;
    const char *model, *options;
    unsigned cpumask;
    int max_edit_size, threads;
    int tries[3]; /* indexed by test_depth() */
} edit_case;

/* cpumask: 8 disables AVX2, 16 AVX-512; on ARM, 1 disables NEON */
/* clang-format off */
static const edit_case cases[] = {
    {"texture+mix", 33, 35, 10, 0, "vmaf_v0.6.1", NULL, 0, 256, 1, {20, 200, 4000}},
    {"noise+grain", 50, 37, 8, 0, "vmaf_v0.6.1", NULL, 16, 64, 2, {20, 200, 4000}},
    {"texture+blur", 64, 64, 8, 2, "vmaf_v0.6.1neg", NULL, ~0u, 64, 1, {10, 80, 1000}},
    {"blocks+mix", 161, 91, 8, 0, "vmaf_v0.6.1",
     "adm.adm_csf_mode=1:adm.adm_csf_scale=0.02:adm.adm_csf_diag_scale=0.006", 0, 128, 1, {20, 150, 2000}},
    {"texture+coarse", 129, 514, 16, 0, "vmaf_v0.6.1", "adm.adm_csf_mode=2", 16, 256, 3, {10, 100, 1500}},
    {"texture+stretch", 333, 217, 10, 3, "vmaf_v0.6.1neg", NULL, 16, 256, 1, {10, 100, 1500}},
    {"lines+grain", 333, 217, 9, 0, "vmaf_v0.6.1", "adm.adm_enhn_gain_limit=1.3:adm.adm_dlm_weight=0.7", ~0u, 100, 1,
     {4, 20, 500}},
    {"texture+mix", 271, 143, 12, 0, "vmaf_b_v0.6.3", NULL, 0, 128, 1, {10, 60, 1000}},
    {"texture+mix", 577, 325, 8, 0, "vmaf_v0.6.1",
     "vif.vif_skip_scale0=true:adm.adm_skip_scale0=true:adm.adm_noise_weight=0", 0, 256, 2, {10, 60, 2000}},
    {"noise+invert", 577, 325, 10, 0, "vmaf_v0.6.1", NULL, 16, 64, 1, {10, 60, 2000}},
    {"texture+grain", 1279, 719, 8, 0, "vmaf_v0.6.1neg", NULL, 0, 256, 1, {0, 30, 1000}},
    {"texture+mix", 1920, 1080, 8, 0, "vmaf_v0.6.1", NULL, 16, 128, 1, {0, 30, 1000}},
    {"blocks+blur", 1920, 1080, 10, 0, "vmaf_v0.6.1", NULL, 0, 64, 2, {0, 10, 500}},
    {"texture+mix", 3840, 2160, 8, 0, "vmaf_4k_v0.6.1", NULL, 16, 128, 1, {0, 0, 200}}};

static uint32_t random_state = 1;

static int below(int n) {
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((uint64_t)(random_state >> 4) * (uint64_t)n >> 28);
}

static int at_most(int a, int b) {
    return a < b ? a : b;
}

/* ---- frames in the format of a case ---- */

typedef struct picture {
    int            width, height, bytes, shift;
    unsigned char *data;
} picture;
/* clang-format on */

static uint32_t sample(const picture *p, int x, int y) {
    const unsigned char *at = p->data + ((size_t)y * (size_t)p->width + (size_t)x) * (size_t)p->bytes;
    return (p->bytes == 1 ? at[0] : (uint32_t)at[0] | (uint32_t)at[1] << 8) >> p->shift;
}

static void put(unsigned char *to, const picture *form, uint32_t value) {
    value <<= form->shift;
    to[0] = (unsigned char)value;
    if (form->bytes == 2)
        to[1] = (unsigned char)(value >> 8);
}

/* Returns a copy of a picture of a film in the format of the case. */
static picture picture_of(const film *f, int frame, int side, const edit_case *c) {
    picture p;
    const unsigned char *from = f->luma + (size_t)(2 * frame + side) * f->plane_bytes;
    const size_t count = (size_t)c->width * (size_t)c->height;
    p.width = c->width;
    p.height = c->height;
    p.bytes = c->bytes == 3 ? 2 : c->bytes ? c->bytes : c->depth > 8 ? 2 : 1;
    p.shift = c->bytes == 3 ? 16 - c->depth : 0;
    p.data = (unsigned char *)malloc(count * 2 + 1);
    test_need(p.data != NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        put(p.data + i * (size_t)p.bytes, &p,
            f->bytes_per_sample == 1 ? from[i] : (uint32_t)from[2 * i] | (uint32_t)from[2 * i + 1] << 8);
    }
    return p;
}

static vmafgpu_frame frame_of(const picture *p) {
    vmafgpu_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.data[0] = p->data;
    return frame;
}

/* Copies the samples of the edit to p. If `old` is not NULL, first saves the previous samples there, tightly packed. */
static void apply(const picture *p, const vmafgpu_edit *e, unsigned char *old) {
    const size_t size = (size_t)(e->width * p->bytes);
    const ptrdiff_t pitch = e->pitch ? e->pitch : (ptrdiff_t)size;
    for (int y = 0; y < e->height; y++) {
        unsigned char *row = p->data + ((size_t)(e->y + y) * (size_t)p->width + (size_t)e->x) * (size_t)p->bytes;
        if (old)
            memcpy(old + (size_t)y * size, row, size);
        memcpy(row, (const unsigned char *)e->data + y * pitch, size);
    }
}

/* ---- random edits ---- */

static void pick_rectangle(vmafgpu_edit *e, const edit_case *c) {
    const int size = 1 << below(9), aligned = below(3) == 0;
    e->width = below(3) ? size : 1 + below(c->max_edit_size);
    e->height = below(3) ? size : 1 + below(c->max_edit_size);
    e->width = at_most(at_most(e->width, c->max_edit_size), c->width);
    e->height = at_most(at_most(e->height, c->max_edit_size), c->height);
    e->x = below(c->width - e->width + 1);
    e->y = below(c->height - e->height + 1);
    if (aligned) {
        e->x &= ~7;
        e->y &= ~7;
    }
    switch (below(12)) { /* corners and edges */
    case 0: e->x = 0; break;
    case 1: e->x = c->width - e->width; break;
    case 2: e->y = 0; break;
    case 3: e->y = c->height - e->height; break;
    case 4: e->x = e->y = 0; break;
    case 5:
        e->x = c->width - e->width;
        e->y = c->height - e->height;
        break;
    default: break;
    }
}

/* Fills an edit with random samples and a random pitch. `data` has space for LARGEST x LARGEST words. */
static void fill_edit(vmafgpu_edit *e, unsigned char *data, const edit_case *c, const picture *reference,
                      const picture *now) {
    const int top = (1 << c->depth) - 1, kind = below(8), step = 1 + below(40) * (1 << (c->depth - 8)),
              level = below(top + 1);
    const int pitch = e->width * now->bytes + (e->width < LARGEST && below(2) ? now->bytes : 0),
              is_down = below(4) == 0;
    for (int y = 0; y < e->height; y++) {
        for (int x = 0; x < e->width; x++) {
            const int r = (int)sample(reference, e->x + x, e->y + y), d = (int)sample(now, e->x + x, e->y + y);
            const int s = kind == 0   ? r
                          : kind == 1 ? d + below(3) - 1
                          : kind == 2 ? r / step * step + step / 2
                          : kind == 3 ? below(top + 1)
                          : kind == 4 ? level
                          : kind == 5 ? (r + d) / 2
                          : kind == 6 ? top - r
                                      : below(2) * top;
            put(data + (is_down ? e->height - 1 - y : y) * pitch + x * now->bytes, now,
                (uint32_t)(s < 0     ? 0
                           : s > top ? top
                                     : s));
        }
    }
    e->data = is_down ? data + (e->height - 1) * pitch : data;
    e->pitch = is_down ? -pitch : pitch == e->width * now->bytes && below(2) ? 0 : pitch;
}

/* ---- one case ---- */

typedef struct pair_of {
    vmafgpu *edits, *plain;
    picture previous, reference, now;
    int has_previous, columns;
} pair_of;

static void score_whole(const pair_of *p, vmafgpu_score *score) {
    const vmafgpu_frame previous = frame_of(&p->previous), reference = frame_of(&p->reference), now = frame_of(&p->now);
    CHECK_INT(vmafgpu_score_pair(p->plain, &reference, &now, p->has_previous ? &previous : NULL, score), VMAFGPU_OK);
}

static vmafgpu_config config_of(const edit_case *c, vmafgpu_model_config *model) {
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    memset(model, 0, sizeof *model);
    model->version = c->model;
    model->options = c->options;
    model->disable_clip = 1;
    config.models = model;
    config.model_count = 1;
    config.width = c->width;
    config.height = c->height;
    config.bit_depth = c->depth;
    config.bytes_per_sample = c->bytes == 3 ? 2 : c->bytes;
    config.layout = c->bytes == 3 ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.cpumask = c->cpumask;
    return config;
}

static void check_score(const vmafgpu_edit_score *got, const double *values, const vmafgpu_score *expected, double base,
                        int columns) {
    CHECK_INT(got->result, VMAFGPU_OK);
    CHECK_BITS(got->score, expected->score);
    check_row(values, expected->values, columns);
    /* The computation of the score rounds to float in many places; that of `change` does not. `change` is NaN if sums
     * of cubes have wrapped around. */
    const double change = expected->score - base;
    CHECK(change != change || fabs(got->change - change) < 2e-4);
}

/* Tries a random number of edits, some of which share a rectangle. Returns the number of edits. */
static int try_some(const pair_of *p, const edit_case *c, unsigned char *data, unsigned char *old, double base) {
    vmafgpu_edit edits[TOGETHER];
    vmafgpu_edit_score scores[TOGETHER];
    double *values = (double *)malloc(sizeof(double) * (size_t)(TOGETHER * p->columns));
    const int count = 1 + below(3) * below(4) + (below(8) == 0 ? 3 : 0), shown = below(3);
    test_need(values != NULL, "out of memory");
    memset(edits, 0, sizeof edits);
    for (int i = 0; i < count; i++) {
        if (i == 0 || below(3) == 0)
            pick_rectangle(&edits[i], c);
        else
            edits[i] = edits[i - 1];
        edits[i].skip_score = shown == 0 && i > 0;
        fill_edit(&edits[i], data + (size_t)i * (LARGEST + 1) * LARGEST * 2, c, &p->reference, &p->now);
    }
    CHECK_INT(vmafgpu_edit_try(p->edits, edits, count, scores, values), VMAFGPU_OK);
    for (int i = 0; i < count; i++) {
        vmafgpu_score expected;
        vmafgpu_edit back = edits[i];
        snprintf(test_where, sizeof test_where, "%s %dx%d %d bits %s: try of %dx%d at %d, %d", c->what, c->width,
                 c->height, c->depth, c->model, edits[i].width, edits[i].height, edits[i].x, edits[i].y);
        if (edits[i].skip_score) {
            CHECK_BITS(scores[i].score, (double)NAN);
            CHECK_BITS(values[i * p->columns], (double)NAN);
            CHECK(scores[i].change == scores[i].change || c->options);
            continue;
        }
        apply(&p->now, &edits[i], old);
        score_whole(p, &expected);
        check_score(&scores[i], values + i * p->columns, &expected, base, p->columns);
        back.data = old;
        back.pitch = 0;
        apply(&p->now, &back, NULL);
    }
    free(values);
    return count;
}

/* Commits random edits, and sometimes undoes them. Returns the new score of the base. */
static double commit_some(const pair_of *p, const edit_case *c, unsigned char *data, unsigned char *old, double base) {
    vmafgpu_edit edits[3];
    vmafgpu_score got, expected;
    const int count = 1 + below(3), undoes = below(4) == 0;
    memset(edits, 0, sizeof edits);
    for (int i = 0; i < count; i++) {
        unsigned char *own = data + (size_t)i * (LARGEST + 1) * LARGEST * 2;
        pick_rectangle(&edits[i], c);
        if (i && below(2)) { /* overlaps the previous edit */
            edits[i].x = at_most(edits[i - 1].x + below(8), c->width - edits[i].width);
            edits[i].y = at_most(edits[i - 1].y + below(8), c->height - edits[i].height);
        }
        fill_edit(&edits[i], own, c, &p->reference, &p->now);
        apply(&p->now, &edits[i], old + (size_t)i * LARGEST * LARGEST * 2);
    }
    snprintf(test_where, sizeof test_where, "%s %dx%d %d bits %s: commit of %d", c->what, c->width, c->height, c->depth,
             c->model, count);
    CHECK_INT(vmafgpu_edit_commit(p->edits, edits, count, &got), VMAFGPU_OK);
    score_whole(p, &expected);
    check_row(got.values, expected.values, p->columns);
    if (!undoes)
        return expected.score;
    for (int i = count - 1; i >= 0; i--) {
        edits[i].data = old + (size_t)i * LARGEST * LARGEST * 2;
        edits[i].pitch = 0;
        apply(&p->now, &edits[i], NULL);
        CHECK_INT(vmafgpu_edit_commit(p->edits, &edits[i], 1, &got), VMAFGPU_OK);
    }
    CHECK_BITS(got.score, base);
    return base;
}

/* Checks that an edit anywhere in the frame gives the same results as a push of the edited frame, as the first frame of
 * a new context. */
static void check_fresh(const pair_of *p, const edit_case *c, vmafgpu *fresh, unsigned char *data) {
    const vmafgpu_frame previous = frame_of(&p->previous), reference = frame_of(&p->reference), now = frame_of(&p->now);
    const int step = at_most(48, c->max_edit_size);
    double values[2][64];
    vmafgpu_score score;
    snprintf(test_where, sizeof test_where, "%s %dx%d %d bits %s: fresh", c->what, c->width, c->height, c->depth,
             c->model);
    CHECK_INT(vmafgpu_edit_begin(fresh, &reference, &now, p->has_previous ? &previous : NULL, NULL, &score),
              VMAFGPU_OK);
    test_need(p->columns <= 64, "too many columns");
    for (int y = 0; y < c->height; y += step) {
        for (int x = 0; x < c->width; x += step) {
            vmafgpu_edit edit;
            vmafgpu_edit_score got[2];
            memset(&edit, 0, sizeof edit);
            edit.x = x;
            edit.y = y;
            edit.width = at_most(step, c->width - x);
            edit.height = at_most(step, c->height - y);
            fill_edit(&edit, data, c, &p->reference, &p->now);
            for (int i = 0; i < 2; i++)
                CHECK_INT(vmafgpu_edit_try(i ? fresh : p->edits, &edit, 1, &got[i], values[i]), VMAFGPU_OK);
            check_row(values[0], values[1], p->columns);
            CHECK_BITS(got[0].change, got[1].change);
            CHECK(memcmp(&got[0].sums, &got[1].sums, sizeof got[0].sums) == 0);
        }
    }
}

static void run_case(const edit_case *c, int tries, uint32_t seed) {
    film f = film_make(c->what, c->width, c->height, c->depth, 2, seed);
    const size_t edit_bytes = (size_t)LARGEST * (LARGEST + 1) * 2;
    unsigned char *data = (unsigned char *)malloc(edit_bytes * TOGETHER),
                  *old = (unsigned char *)malloc(edit_bytes * 3);
    vmafgpu_model_config model;
    vmafgpu_config config = config_of(c, &model);
    vmafgpu_score score, expected;
    pair_of p;
    double base;
    test_need(data && old, "out of memory");
    random_state = seed;
    snprintf(test_where, sizeof test_where, "%s %dx%d %d bits %s", c->what, c->width, c->height, c->depth, c->model);
    p.plain = open_checked(&config);
    config.max_edit_size = c->max_edit_size;
    config.threads = c->threads;
    p.edits = open_checked(&config);
    p.previous = picture_of(&f, 0, 0, c);
    p.reference = picture_of(&f, 1, 0, c);
    p.now = picture_of(&f, 1, 1, c);
    p.has_previous = (int)(seed & 1);
    if (p.plain && p.edits) {
        const vmafgpu_frame previous = frame_of(&p.previous), reference = frame_of(&p.reference),
                            now = frame_of(&p.now);
        p.columns = vmafgpu_column_count(p.edits);
        CHECK_INT(vmafgpu_edit_begin(p.edits, &reference, &now, p.has_previous ? &previous : NULL, NULL, &score),
                  VMAFGPU_OK);
        score_whole(&p, &expected);
        check_row(score.values, expected.values, p.columns);
        base = score.score;
        for (int done = 0; done < tries;) {
            done += try_some(&p, c, data, old, base);
            if (below(3) == 0)
                base = commit_some(&p, c, data, old, base);
        }
        config.threads = 1;
        vmafgpu *fresh = open_checked(&config);
        check_fresh(&p, c, fresh, data);
        vmafgpu_close(fresh);
    }
    vmafgpu_close(p.plain);
    vmafgpu_close(p.edits);
    free(p.previous.data);
    free(p.reference.data);
    free(p.now.data);
    free(data);
    free(old);
    film_free(&f);
}

/* Tests that, after a thousand commits, the results are the same as in a new context. */
static void test_many_commits(void) {
    const edit_case c = { "texture+mix", 207, 165, 8, 0, "vmaf_v0.6.1", NULL, 0, 32, 1, { 0, 0, 0 } };
    film f = film_make(c.what, c.width, c.height, c.depth, 2, 9);
    unsigned char *data = (unsigned char *)malloc((size_t)LARGEST * (LARGEST + 1) * 2);
    vmafgpu_model_config model;
    vmafgpu_config config = config_of(&c, &model);
    vmafgpu_score score, expected;
    pair_of p;
    test_need(data != NULL, "out of memory");
    memset(&score, 0, sizeof score);
    random_state = 77;
    p.plain = open_checked(&config);
    config.max_edit_size = c.max_edit_size;
    p.edits = open_checked(&config);
    vmafgpu *fresh = open_checked(&config);
    p.previous = picture_of(&f, 0, 0, &c);
    p.reference = picture_of(&f, 1, 0, &c);
    p.now = picture_of(&f, 1, 0, &c);
    p.has_previous = 0;
    p.columns = vmafgpu_column_count(p.edits);
    const vmafgpu_frame reference = frame_of(&p.reference);
    /* Here the distorted frame is identical to the reference. */
    CHECK_INT(vmafgpu_edit_begin(p.edits, &reference, NULL, NULL, NULL, &score), VMAFGPU_OK);
    score_whole(&p, &expected);
    check_row(score.values, expected.values, p.columns);
    for (int i = 0; i < (test_depth() == TEST_FEW ? 100 : 1000); i++) {
        vmafgpu_edit edit;
        memset(&edit, 0, sizeof edit);
        pick_rectangle(&edit, &c);
        fill_edit(&edit, data, &c, &p.reference, &p.now);
        apply(&p.now, &edit, NULL);
        CHECK_INT(vmafgpu_edit_commit(p.edits, &edit, 1, &score), VMAFGPU_OK);
    }
    snprintf(test_where, sizeof test_where, "a thousand commits");
    score_whole(&p, &expected);
    check_row(score.values, expected.values, p.columns);
    check_fresh(&p, &c, fresh, data);
    vmafgpu_close(fresh);
    vmafgpu_close(p.edits);
    vmafgpu_close(p.plain);
    free(p.previous.data);
    free(p.reference.data);
    free(p.now.data);
    free(data);
    film_free(&f);
}

/* ---- maps and the gradient ---- */

/* Adds or subtracts a sum. Sums of cubes may wrap around. */
static void add_sum(int64_t *to, int64_t sum, int sign) {
    *to = (int64_t)((uint64_t)*to + (sign < 0 ? 0 - (uint64_t)sum : (uint64_t)sum));
}

static void add_sums(vmafgpu_edit_sums *to, const vmafgpu_edit_sums *sums, int sign) {
    for (int s = 0; s < 4; s++) {
        add_sum(&to->vif_information[s], sums->vif_information[s], sign);
        add_sum(&to->vif_noise[s], sums->vif_noise[s], sign);
        for (int b = 0; b < 3; b++) {
            add_sum(&to->adm[s][b], sums->adm[s][b], sign);
            add_sum(&to->aim[s][b], sums->aim[s][b], sign);
        }
    }
}

/* Returns the sums over all blocks. Sets *share to the sum of the losses of all blocks. */
static vmafgpu_edit_sums map_total(vmafgpu *v, int size, double *share) {
    vmafgpu_edit_sums total;
    int across = 0, down = 0;
    memset(&total, 0, sizeof total);
    CHECK_INT(vmafgpu_edit_blocks(v, size, NULL, &across, &down), VMAFGPU_OK);
    vmafgpu_block *blocks = (vmafgpu_block *)malloc(sizeof *blocks * (size_t)(across * down));
    test_need(blocks != NULL, "out of memory");
    CHECK_INT(vmafgpu_edit_blocks(v, size, blocks, &across, &down), VMAFGPU_OK);
    *share = 0;
    for (int i = 0; i < across * down; i++) {
        add_sums(&total, &blocks[i].sums, 1);
        *share += blocks[i].loss;
    }
    free(blocks);
    return total;
}

static double dot(const vmafgpu_gradient *g, const vmafgpu_edit_sums *sums) {
    double d = 0;
    for (int s = 0; s < 4; s++) {
        d += g->vif_information[s] * (double)sums->vif_information[s] + g->vif_noise[s] * (double)sums->vif_noise[s];
        for (int b = 0; b < 3; b++)
            d += g->adm[s][b] * (double)sums->adm[s][b] + g->aim[s][b] * (double)sums->aim[s][b];
    }
    return d;
}

static void check_map(const edit_case *c, uint32_t seed) {
    static const int sizes[] = { 4, 5, 16, 37, 64, 200, 256 };
    film f = film_make(c->what, c->width, c->height, c->depth, 1, seed);
    unsigned char *data = (unsigned char *)malloc((size_t)LARGEST * (LARGEST + 1) * 2);
    vmafgpu_model_config model;
    vmafgpu_config config = config_of(c, &model);
    const picture reference = picture_of(&f, 0, 0, c), now = picture_of(&f, 0, 1, c);
    const vmafgpu_frame frames[2] = { frame_of(&reference), frame_of(&now) };
    vmafgpu_edit_sums whole, after;
    vmafgpu_edit_score got;
    vmafgpu_gradient gradient;
    double share, all;
    int across, down;
    test_need(data != NULL, "out of memory");
    config.max_edit_size = c->max_edit_size;
    config.threads = c->threads;
    snprintf(test_where, sizeof test_where, "map of %s %dx%d %d bits", c->what, c->width, c->height, c->depth);
    random_state = seed;
    vmafgpu *v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_blocks(v, 16, NULL, &across, &down), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_edit_begin(v, &frames[0], NULL, NULL, NULL, NULL), VMAFGPU_OK);
    (void)map_total(v, 16, &share); /* the base equals the reference */
    CHECK_BITS(share, 0.0);
    /* The loss equals the effect of the only edit. */
    vmafgpu_edit only = { 5,
                          3,
                          at_most(c->width, 24),
                          at_most(c->height, 20),
                          now.data,
                          (ptrdiff_t)c->width * now.bytes,
                          VMAFGPU_MEMORY_HOST,
                          0 };
    CHECK_INT(vmafgpu_edit_try(v, &only, 1, &got, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_commit(v, &only, 1, NULL), VMAFGPU_OK);
    (void)map_total(v, 16, &share);
    CHECK(fabs(share) > 1e-3);
    CHECK(fabs(share + got.change) < 0.01);
    CHECK_INT(vmafgpu_edit_begin(v, &frames[0], &frames[1], NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_blocks(v, 3, NULL, &across, &down), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "size is out of range (3); use 4..256");
    CHECK_INT(vmafgpu_edit_blocks(v, 257, NULL, &across, &down), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_blocks(v, 16, NULL, NULL, &down), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_gradient(v, NULL), VMAFGPU_ERROR_ARGUMENT);
    whole = map_total(v, sizes[0], &all);
    for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
        after = map_total(v, sizes[i], &share);
        CHECK(memcmp(&after, &whole, sizeof whole) == 0);
        CHECK(fabs(share - all) < 1e-9 * (1 + fabs(all)));
    }
    for (int i = 0; i < 6; i++) {
        vmafgpu_edit edit;
        memset(&edit, 0, sizeof edit);
        pick_rectangle(&edit, c);
        if (i < 5) { /* small enough for the gradient to be accurate */
            edit.width = at_most(edit.width, 4);
            edit.height = at_most(edit.height, 4);
        }
        fill_edit(&edit, data, c, &reference, &now);
        CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_OK);
        CHECK_INT(vmafgpu_edit_try(v, &edit, 1, &got, NULL), VMAFGPU_OK);
        if (i < 5 && c->width > 100)
            CHECK(fabs(dot(&gradient, &got.sums) - got.change) <= 0.02 * fabs(got.change) + 1e-9);
        CHECK_INT(vmafgpu_edit_commit(v, &edit, 1, NULL), VMAFGPU_OK);
        apply(&now, &edit, NULL);
        const double before = gradient.prediction;
        CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_OK);
        CHECK(fabs(gradient.prediction - before - got.change) < 1e-9);
        after = map_total(v, 16, &share);
        add_sums(&after, &whole, -1);
        for (int s = 0; s < 4; s++) {
            int height = c->height, unit = 1;
            for (int k = 0; k <= s; k++)
                height = (height + 1) / 2;
            while (unit < height)
                unit *= 2;
            CHECK_INT(after.vif_information[s], got.sums.vif_information[s]);
            CHECK_INT(after.vif_noise[s], got.sums.vif_noise[s]);
            for (int b = 0; b < 3; b++) { /* each edit rounds the sum of every row, before and after the change */
                CHECK(fabs((double)after.adm[s][b] / unit - (double)got.sums.adm[s][b]) <= height);
                CHECK(fabs((double)after.aim[s][b] / unit - (double)got.sums.aim[s][b]) <= height);
            }
        }
        add_sums(&whole, &after, 1);
    }
    vmafgpu_close(v);
    free(reference.data);
    free(now.data);
    free(data);
    film_free(&f);
}

static void test_maps(void) {
    static const edit_case maps[] = {
        { "texture+mix", 207, 165, 8, 0, "vmaf_v0.6.1", NULL, 0, 64, 1, { 0, 0, 0 } },
        { "texture+coarse", 577, 325, 10, 0, "vmaf_v0.6.1neg", NULL, 16, 64, 3, { 0, 0, 0 } },
        { "blocks+mix", 33, 35, 8, 0, "vmaf_v0.6.1", NULL, ~0u, 64, 1, { 0, 0, 0 } }
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (test_depth() != TEST_FEW || maps[i].width < 300)
            check_map(&maps[i], (uint32_t)(20 + i));
}

/* A model with inputs that no built-in model for edits has: aim, adm3 and a scale of ADM. Some predictions are at the
 * lower limit of adm3. */
static const vmafgpu_model *unusual_model(void) {
    static const char *const names[] = { "VMAF_integer_feature_aim_score", "VMAF_integer_feature_adm3_score",
                                         "integer_adm_scale2", "VMAF_integer_feature_vif_scale1_score" };
    static const char *const options[] = { "adm_dlm_weight=0.7:adm_min_val=0.8", "adm_dlm_weight=0.7:adm_min_val=0.8",
                                           "adm_dlm_weight=0.7:adm_min_val=0.8", "" };
    static const double slopes[] = { 0.012, 1.5, 2, 1, 1.2 }, intercepts[] = { -0.3, -0.1, -0.5, 0, 0.1 };
    static const double coefs[] = { 2, -3, 1.5 };
    static const uint16_t rows[] = { 0, 1, 2 };
    static const double table[] = { 0.1, 1, 0.9, 1, 0.5, -0.2, 0.3, 0.1, 0, 0.5, 0.2, 0.8 };
    static vmafgpu_svm svm;
    static vmafgpu_model model;
    svm.feature_count = 4;
    svm.feature_names = names;
    svm.feature_options = options;
    svm.slopes = slopes;
    svm.intercepts = intercepts;
    svm.rescale = 1;
    svm.gamma = 0.4;
    svm.rho = 0.5;
    svm.sv_count = 3;
    svm.sv_coefs = coefs;
    svm.sv_rows = rows;
    svm.sv_table = table;
    model.name = "unusual";
    model.svm_count = 1;
    model.svms = &svm;
    return &model;
}

/* Returns the prediction for a pair, and the losses of all blocks in `blocks` if it is not NULL. */
static double predicted(vmafgpu *v, const vmafgpu_frame *reference, const vmafgpu_frame *distorted, int size,
                        vmafgpu_block *blocks) {
    vmafgpu_gradient gradient;
    int across, down;
    CHECK_INT(vmafgpu_edit_begin(v, reference, distorted, NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_OK);
    if (blocks)
        CHECK_INT(vmafgpu_edit_blocks(v, size, blocks, &across, &down), VMAFGPU_OK);
    return gradient.prediction;
}

/* Returns the correlation of the losses of blocks with the gains in the prediction if only one block becomes equal to
 * the reference. The base of `v` must be the pair. */
static double correlation(vmafgpu *v, const film *f, int size, const vmafgpu_block *losses) {
    const int w = f->clip.width, h = f->clip.height, across = (w + size - 1) / size, down = (h + size - 1) / size;
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < across * down; i++) {
        vmafgpu_edit edit;
        vmafgpu_edit_score got;
        memset(&edit, 0, sizeof edit);
        edit.x = i % across * size;
        edit.y = i / across * size;
        edit.width = at_most(w - edit.x, size);
        edit.height = at_most(h - edit.y, size);
        edit.pitch = (ptrdiff_t)w * f->bytes_per_sample;
        edit.data = f->luma + (ptrdiff_t)edit.y * edit.pitch + edit.x * f->bytes_per_sample;
        edit.skip_score = 1;
        CHECK_INT(vmafgpu_edit_try(v, &edit, 1, &got, NULL), VMAFGPU_OK);
        x += losses[i].loss;
        y += got.change;
        xx += losses[i].loss * losses[i].loss;
        yy += got.change * got.change;
        xy += losses[i].loss * got.change;
    }
    const double n = across * down;
    return (n * xy - x * y) / sqrt((n * xx - x * x) * (n * yy - y * y));
}

/* Tests how well losses rank blocks. */
static void test_ranks(void) {
    static const struct {
        const char *what;
        uint32_t seed;
        double least; /* a little below the value that the current code has */
    } cases[] = { { "texture+mix", 3, 0.8068 },
                  { "texture+blur", 3, 0.8242 },
                  { "texture+stretch", 3, 0.7857 },
                  { "dusk+grain", 118, 0.4 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        film f = film_make(cases[i].what, 207, 165, 8, 1, cases[i].seed);
        const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
        vmafgpu_config config = film_config(&f);
        vmafgpu_block losses[42];
        config.backend = VMAFGPU_BACKEND_CPU;
        config.max_edit_size = 32;
        snprintf(test_where, sizeof test_where, "ranks of %s", cases[i].what);
        vmafgpu *v = open_checked(&config);
        (void)predicted(v, &reference, &distorted, 32, losses);
        const double rank = correlation(v, &f, 32, losses);
        CHECK(rank >= cases[i].least);
        vmafgpu_close(v);
        film_free(&f);
    }
}

/* Tests that the losses of a frame add up to the loss of the prediction, that none is larger than this total, and that
 * threads, instruction sets and live mode do not change them. */
static void test_losses(void) {
    static const char *const models[] = { "vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_4k_v0.6.1", "vmaf_b_v0.6.3", NULL };
    /* In some of these clips, sums consist of rounding errors only, or gains and losses cancel each other. */
    static const char *const what[] = { "texture+mix",     "blocks+mix",    "noise+grain",   "texture+same",
                                        "lines+mix",       "texture+blur",  "flat+grain",    "chequers+mix",
                                        "texture+stretch", "noise+invert",  "ramp+coarse",   "black+grain",
                                        "diagonals+blur",  "shade+mix",     "bands+mix",     "dusk+grain",
                                        "texture+coarse",  "lines+stretch", "texture+faint", "white+mix" };
    static const int sizes[][2] = { { 97, 64 }, { 64, 333 }, { 207, 165 }, { 130, 251 }, { 33, 35 }, { 320, 180 } };
    static const int depths[] = { 8, 10, 12, 8, 16 };
    const int count = test_depth() == TEST_FEW ? 20 : test_depth() == TEST_ALL ? 400 : 60;
    random_state = 9;
    for (int i = 0; i < count; i++) {
        const int place = below(6), w = sizes[place][0], h = sizes[place][1], size = 8 + below(60);
        const char *version = models[below(5)], *content = what[i % 20];
        film f = film_make(content, w, h, depths[below(5)], 1, (uint32_t)(100 + i));
        const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
        const int blocks = ((w + size - 1) / size) * ((h + size - 1) / size);
        vmafgpu_block *losses = (vmafgpu_block *)calloc((size_t)blocks * 2, sizeof *losses);
        float *map = (float *)calloc((size_t)blocks, sizeof *map);
        vmafgpu_config config = film_config(&f);
        vmafgpu_model_config model;
        double total = 0;
        test_need(losses && map, "out of memory");
        memset(&model, 0, sizeof model);
        model.version = version;
        model.model = version ? NULL : unusual_model();
        config.models = &model;
        config.model_count = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.max_edit_size = 4;
        snprintf(test_where, sizeof test_where, "losses of %s %dx%d %d bits %s, blocks of %d", content, w, h,
                 config.bit_depth, version ? version : "unusual", size);
        vmafgpu *v = open_checked(&config);
        const double most = predicted(v, &reference, NULL, size, losses);
        for (int k = 0; k < blocks; k++)
            CHECK_BITS(losses[k].loss, 0.0);
        const double lost = most - predicted(v, &reference, &distorted, size, losses);
        vmafgpu_close(v);
        config.threads = 3;
        config.cpumask = ~0u;
        v = open_checked(&config);
        (void)predicted(v, &reference, &distorted, size, losses + blocks);
        vmafgpu_close(v);
        config.max_edit_size = 0;
        config.map_block_size = size;
        config.live = 1;
        v = open_checked(&config);
        CHECK_INT(vmafgpu_request_map(v, map, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v, &reference, &distorted), VMAFGPU_OK);
        vmafgpu_close(v);
        for (int k = 0; k < blocks; k++) {
            CHECK_BITS(losses[k].loss, losses[blocks + k].loss);
            CHECK_BITS((double)map[k], (double)(float)losses[k].loss);
            CHECK(fabs(losses[k].loss) <= fabs(lost) + 1e-6);
            total += losses[k].loss;
        }
        CHECK(fabs(total - lost) < 1e-5);
        free(losses);
        free(map);
        film_free(&f);
    }
}

/* Sums of unrounded cubes of full-range 16-bit noise wrap around, but the blocks still add up to the same sums. */
static void test_wrapping_maps(void) {
    film f = film_make("noise+grain", 200, 150, 16, 1, 1);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    vmafgpu_config config = film_config(&f);
    double share;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.max_edit_size = 4;
    film_fill_noise(&f, 0, 3);
    snprintf(test_where, sizeof test_where, "maps of noise");
    vmafgpu *v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    const vmafgpu_edit_sums small = map_total(v, 4, &share), large = map_total(v, 256, &share);
    CHECK(memcmp(&small, &large, sizeof small) == 0);
    vmafgpu_close(v);
    film_free(&f);
}

/* ---- motion ---- */

/* Tests that a pair with a previous and a following reference gets the same values as in a clip. */
static void test_following(void) {
    static const char *const options[] = { NULL, "motion.motion_moving_average=true", "motion.motion_force_zero=true",
                                           "motion.motion_blend_factor=0.5:motion.motion_blend_offset=1" };
    film f = film_make("texture+mix", 200, 120, 8, 3, 4);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        vmafgpu_config config = film_config(&f);
        vmafgpu_model_config model;
        vmafgpu_score score;
        const vmafgpu_frame previous = film_frame(&f, 0, 0), reference = film_frame(&f, 1, 0),
                            following = film_frame(&f, 2, 0);
        const vmafgpu_frame distorted = film_frame(&f, 1, 1);
        memset(&model, 0, sizeof model);
        model.options = options[i];
        config.models = &model;
        config.model_count = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        snprintf(test_where, sizeof test_where, "following, %s", options[i] ? options[i] : "");
        scores whole = film_score(&f, &config);
        config.max_edit_size = 16;
        vmafgpu *v = open_checked(&config);
        CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, &previous, &following, &score), VMAFGPU_OK);
        check_row(score.values, whole.values + whole.columns, whole.columns);
        /* The first frame of a clip has no previous frame. */
        const vmafgpu_frame first = film_frame(&f, 0, 1);
        CHECK_INT(vmafgpu_edit_begin(v, &previous, &first, NULL, &reference, &score), VMAFGPU_OK);
        check_row(score.values, whole.values, whole.columns);
        /* Scoring a clip discards the base and gives the same results as without edits. */
        for (int k = 0; k < 3; k++)
            CHECK_INT(film_push(&f, v, k), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        scores again = scores_of(v);
        check_same_scores(&again, &whole);
        CHECK_INT(vmafgpu_edit_commit(v, NULL, 0, NULL), VMAFGPU_ERROR_STATE);
        CHECK_HAS(vmafgpu_last_error(v), "no base");
        scores_free(&again);
        scores_free(&whole);
        vmafgpu_close(v);
    }
    film_free(&f);
}

/* Without a model, the sums that are reported for an edit come from the first vif feature and the first adm feature. */
static void test_sums_of_first(void) {
    film f = film_make("texture+blur", 96, 64, 8, 1, 3);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    vmafgpu_feature_config features[4];
    vmafgpu_config config = film_config(&f);
    vmafgpu_edit edit = { 30, 20, 16, 16, NULL, 96, VMAFGPU_MEMORY_HOST, 0 };
    vmafgpu_edit_score got[3];
    memset(features, 0, sizeof features);
    features[0].name = features[2].name = "vif";
    features[1].name = features[3].name = "adm";
    features[2].options = "vif_enhn_gain_limit=1";
    features[3].options = "adm_enhn_gain_limit=1";
    config.features_only = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.max_edit_size = 16;
    edit.data = (const unsigned char *)reference.data[0] + 20 * 96 + 30;
    for (int i = 0; i < 3; i++) {
        snprintf(test_where, sizeof test_where, "sums of the first features, %d", i);
        config.features = features + (i == 1 ? 2 : 0);
        config.feature_count = i == 2 ? 4 : 2;
        vmafgpu *v = open_checked(&config);
        CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
        CHECK_INT(vmafgpu_edit_try(v, &edit, 1, &got[i], NULL), VMAFGPU_OK);
        vmafgpu_close(v);
    }
    CHECK(memcmp(&got[0].sums, &got[1].sums, sizeof got[0].sums) != 0);
    CHECK(memcmp(&got[0].sums, &got[2].sums, sizeof got[0].sums) == 0);
    film_free(&f);
}

/* ---- errors ---- */

static int skips_tasks;

/* A config.parallel_for that runs all tasks, or only the first one. */
static void run_tasks(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = 0; i < (skips_tasks ? 1 : count); i++)
        task(arg, i);
}

static void test_skipped_tasks(void) {
    film f = film_make("texture+mix", 96, 64, 8, 1, 3);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    vmafgpu_config config = film_config(&f);
    vmafgpu_edit edits[2] = { { 30, 20, 16, 16, NULL, 96, VMAFGPU_MEMORY_HOST, 0 },
                              { 0, 0, 8, 8, NULL, 0, VMAFGPU_MEMORY_HOST, 0 } };
    vmafgpu_edit_score got[2];
    snprintf(test_where, sizeof test_where, "parallel_for skips tasks");
    config.backend = VMAFGPU_BACKEND_CPU;
    config.max_edit_size = 16;
    config.threads = 2;
    config.parallel_for = run_tasks;
    edits[0].data = reference.data[0];
    vmafgpu *v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    skips_tasks = 1;
    CHECK_INT(vmafgpu_edit_try(v, edits, 2, got, NULL), VMAFGPU_ERROR_SYSTEM);
    CHECK_HAS(vmafgpu_last_error(v), "parallel_for");
    CHECK_INT(got[0].result, VMAFGPU_ERROR_SYSTEM);
    CHECK_INT(got[1].result, VMAFGPU_ERROR_ARGUMENT);
    CHECK_BITS(got[0].score, (double)NAN);
    CHECK_BITS(got[0].change, (double)NAN);
    skips_tasks = 0;
    CHECK_INT(vmafgpu_edit_try(v, edits, 1, got, NULL), VMAFGPU_OK);
    vmafgpu_close(v);
    film_free(&f);
}

static void test_refused(void) {
    enum { WIDTH = 100, HEIGHT = 70, SIZE = 32 };
    static unsigned short luma[2][WIDTH * HEIGHT];
    static unsigned short samples[SIZE * SIZE], bad_samples[SIZE * SIZE];
    const vmafgpu_edit good = { 5, 6, SIZE, SIZE, samples, 0, VMAFGPU_MEMORY_HOST, 0 };
    const struct {
        int x, y, width, height;
        const void *data;
        ptrdiff_t pitch;
        int memory;
        vmafgpu_result result;
        const char *words;
    } bad[] = {
        { -1, 0, 8, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "edits[1] is out of range (8x8 at column -1, row 0)" },
        { 0, -1, 8, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "row -1" },
        { 0, 0, 0, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "0x8" },
        { 0, 0, 8, 0, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "8x0" },
        { 0, 0, SIZE + 1, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "config.max_edit_size" },
        { 0, 0, 8, SIZE + 1, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "1x1 to 32x32" },
        { WIDTH - 7, 0, 8, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "frame of 100x70" },
        { 0, HEIGHT - 7, 8, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "frame of 100x70" },
        { 2147483647, 0, 8, 8, samples, 0, 0, VMAFGPU_ERROR_ARGUMENT, "2147483647" },
        { 0, 0, 8, 8, NULL, 0, 0, VMAFGPU_ERROR_ARGUMENT, "edits[1].data is NULL" },
        { 0, 0, 8, 8, samples, 15, 0, VMAFGPU_ERROR_ARGUMENT,
          "edits[1].pitch is too small or too large (15 bytes); a row has 16" },
        { 0, 0, 8, 8, samples, -15, 0, VMAFGPU_ERROR_ARGUMENT, "(-15 bytes)" },
        { 0, 0, 8, 8, samples, PTRDIFF_MAX / 2, 0, VMAFGPU_ERROR_ARGUMENT, "pitch" },
        { 0, 0, 8, 8, samples, 0, VMAFGPU_MEMORY_PINNED, VMAFGPU_ERROR_ARGUMENT, "edits[1].memory is not host (1)" },
        { 0, 0, 8, 8, samples, 0, VMAFGPU_MEMORY_DEVICE, VMAFGPU_ERROR_ARGUMENT, "edits[1].memory is not host (2)" },
        { 0, 0, 8, 8, samples, -(PTRDIFF_MAX / 2), 0, VMAFGPU_ERROR_ARGUMENT, "pitch is too small or too large" },
        { 0, 0, 8, 8, bad_samples, 2 * SIZE, 0, VMAFGPU_ERROR_FRAME,
          "edits[1]: luma sample exceeds 10 bits (word 1024 at its column 3, row 2)" }
    };
    vmafgpu_config config;
    vmafgpu_frame frame[2];
    vmafgpu_score score, again;
    vmafgpu_edit_score got[3];
    double values[3 * 64], expected[64];
    vmafgpu *v;
    memset(&config, 0, sizeof config);
    memset(frame, 0, sizeof frame);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        luma[0][i] = (unsigned short)(clip_hash((uint32_t)i, 1, 1) & 1023);
        luma[1][i] = (unsigned short)(luma[0][i] & ~15);
    }
    for (int i = 0; i < SIZE * SIZE; i++)
        samples[i] = bad_samples[i] = (unsigned short)(i & 1023);
    bad_samples[2 * SIZE + 3] = 1024;
    frame[0].data[0] = luma[0];
    frame[1].data[0] = luma[1];
    config.width = WIDTH;
    config.height = HEIGHT;
    config.bit_depth = 10;
    config.backend = VMAFGPU_BACKEND_CPU;
    snprintf(test_where, sizeof test_where, "refused");
    v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_begin(v, &frame[0], &frame[1], NULL, NULL, NULL), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(v), "config.max_edit_size is 0");
    vmafgpu_close(v);

    config.max_edit_size = SIZE;
    v = open_checked(&config);
    CHECK_INT(vmafgpu_edit_try(v, &good, 1, got, NULL), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(v), "vmafgpu_edit_begin() first");
    CHECK_INT(vmafgpu_edit_begin(v, NULL, &frame[1], NULL, NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(v), "reference is NULL");
    luma[1][77] = 4096;
    CHECK_INT(vmafgpu_edit_begin(v, &frame[0], &frame[1], NULL, NULL, NULL), VMAFGPU_ERROR_FRAME);
    CHECK_HAS(vmafgpu_last_error(v), "vmafgpu_edit_begin, distorted: luma sample exceeds 10 bits (word 4096 ");
    luma[1][77] = 5;
    CHECK_INT(vmafgpu_edit_try(v, &good, 1, got, NULL), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_edit_begin(v, &frame[0], &frame[1], NULL, NULL, &score), VMAFGPU_OK);
    const int columns = vmafgpu_column_count(v);
    CHECK_INT(vmafgpu_edit_try(v, &good, 1, got, expected), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_try(v, &good, 0, got, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_try(v, NULL, 1, got, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_edit_try(v, &good, 1, NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    {
        int across = -1, down = -1;
        CHECK_INT(vmafgpu_edit_blocks(v, 16, NULL, NULL, &down), VMAFGPU_ERROR_ARGUMENT);
        CHECK_STR(vmafgpu_last_error(v), "vmafgpu_edit_blocks: across is NULL");
        CHECK_INT(vmafgpu_edit_blocks(v, 16, NULL, &across, NULL), VMAFGPU_ERROR_ARGUMENT);
        CHECK_STR(vmafgpu_last_error(v), "vmafgpu_edit_blocks: down is NULL");
        CHECK_INT(vmafgpu_edit_blocks(v, 3, NULL, &across, &down), VMAFGPU_ERROR_ARGUMENT);
        CHECK_STR(vmafgpu_last_error(v), "vmafgpu_edit_blocks: size is out of range (3); use 4..256");
        CHECK(across == -1 && down == -1);
        CHECK_INT(vmafgpu_edit_blocks(v, 16, NULL, &across, &down), VMAFGPU_OK);
        CHECK(across == 7 && down == 5);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        vmafgpu_edit edits[3];
        edits[0] = edits[2] = good;
        memset(&edits[1], 0, sizeof edits[1]);
        edits[1].x = bad[i].x;
        edits[1].y = bad[i].y;
        edits[1].width = bad[i].width;
        edits[1].height = bad[i].height;
        edits[1].data = bad[i].data;
        edits[1].pitch = bad[i].pitch;
        edits[1].memory = (vmafgpu_memory)bad[i].memory;
        snprintf(test_where, sizeof test_where, "bad edit %d", (int)i);
        /* vmafgpu_edit_try() scores the valid edits. */
        CHECK_INT(vmafgpu_edit_try(v, edits, 3, got, values), bad[i].result);
        CHECK_HAS(vmafgpu_last_error(v), bad[i].words);
        CHECK_INT(got[1].result, bad[i].result);
        CHECK_BITS(got[1].score, (double)NAN);
        CHECK_BITS(values[columns], (double)NAN);
        check_row(values, expected, columns);
        check_row(values + 2 * columns, expected, columns);
        /* vmafgpu_edit_commit() applies no edit. */
        CHECK_INT(vmafgpu_edit_commit(v, edits, 3, NULL), bad[i].result);
        CHECK_HAS(vmafgpu_last_error(v), bad[i].words);
        CHECK_INT(vmafgpu_edit_try(v, &good, 1, got, values), VMAFGPU_OK);
        check_row(values, expected, columns);
    }
    CHECK_INT(vmafgpu_edit_commit(v, &good, 1, &again), VMAFGPU_OK);
    check_row(again.values, expected, columns);
    CHECK_INT(vmafgpu_reset(v), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_try(v, &good, 1, got, values), VMAFGPU_ERROR_STATE);
    vmafgpu_close(v);

    snprintf(test_where, sizeof test_where, "refused at open");
    const struct {
        int size;
        vmafgpu_backend backend;
        const char *feature;
        int predict_only;
        vmafgpu_result result;
        const char *words;
    } opens[] = { { 257, VMAFGPU_BACKEND_CPU, NULL, 0, VMAFGPU_ERROR_ARGUMENT,
                    "config.max_edit_size: out of range (257); use 0..256" },
                  { -1, VMAFGPU_BACKEND_CPU, NULL, 0, VMAFGPU_ERROR_ARGUMENT, "config.max_edit_size" },
                  { 16, VMAFGPU_BACKEND_CPU, "psnr", 0, VMAFGPU_ERROR_FEATURE,
                    "config.max_edit_size: feature psnr does not support edits (16)" },
                  { 16, VMAFGPU_BACKEND_CPU, "float_adm", 0, VMAFGPU_ERROR_FEATURE,
                    "config.max_edit_size: feature float_adm does not support edits (16)" },
                  { 16, VMAFGPU_BACKEND_CPU, NULL, 1, VMAFGPU_ERROR_ARGUMENT,
                    "config.max_edit_size: conflicts with config.predict_only (16)" } };
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        vmafgpu_feature_config feature;
        memset(&feature, 0, sizeof feature);
        feature.name = opens[i].feature;
        config.max_edit_size = opens[i].size;
        config.backend = opens[i].backend;
        config.features = &feature;
        config.feature_count = opens[i].feature != NULL;
        config.predict_only = opens[i].predict_only;
        CHECK_INT(vmafgpu_open(&v, &config), opens[i].result);
        CHECK_HAS(vmafgpu_last_error(v), opens[i].words);
        vmafgpu_close(v);
    }
    config.max_edit_size = SIZE;
    config.backend = VMAFGPU_BACKEND_AUTO;
    config.feature_count = config.predict_only = 0;
    v = open_checked(&config);
    CHECK_STR(vmafgpu_backend_name(v), "cpu");
    CHECK_HAS(vmafgpu_backend_note(v), "edits");
    vmafgpu_close(v);
}

/* ---- memory ---- */

static long allocations, allowed;

static void *count_alloc(void *user, size_t size) {
    (void)user;
    if (allowed >= 0 && allowed-- == 0) {
        allowed = 0;
        return NULL;
    }
    allocations++;
    return malloc(size);
}

static void count_free(void *user, void *pointer) {
    (void)user;
    allocations--;
    free(pointer);
}

static void test_memory(void) {
    film f = film_make("texture+mix", 90, 60, 8, 1, 2);
    const vmafgpu_frame reference = film_frame(&f, 0, 0), distorted = film_frame(&f, 0, 1);
    vmafgpu_edit edit = { 3, 4, 16, 16, NULL, 90, VMAFGPU_MEMORY_HOST, 0 };
    vmafgpu_config config = film_config(&f);
    vmafgpu_edit_score got;
    vmafgpu *v = NULL;
    vmafgpu_result result = VMAFGPU_ERROR_MEMORY;
    int failed = 0;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.max_edit_size = 16;
    config.allocator.allocate = count_alloc;
    config.allocator.release = count_free;
    edit.data = reference.data[0];
    snprintf(test_where, sizeof test_where, "memory");
    for (int i = 0; result != VMAFGPU_OK && i < 100; i++) {
        allowed = i;
        result = vmafgpu_open(&v, &config);
        allowed = -1;
        if (result != VMAFGPU_OK) {
            failed++;
            CHECK_INT(result, VMAFGPU_ERROR_MEMORY);
            vmafgpu_close(v);
            CHECK_INT(allocations, 0);
        }
    }
    CHECK(failed > 3);
    const long taken = allocations;
    allowed = 0; /* from now on, every allocation fails */
    CHECK_INT(vmafgpu_edit_begin(v, &reference, &distorted, NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_try(v, &edit, 1, &got, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_commit(v, &edit, 1, NULL), VMAFGPU_OK);
    CHECK_INT(allocations, taken);
    vmafgpu_close(v);
    CHECK_INT(allocations, 0);
    film_free(&f);

    /* Edits at 4K and 8 bits need at most 40 MB of additional memory. */
    memset(&config, 0, sizeof config);
    config.width = 3840;
    config.height = 2160;
    config.backend = VMAFGPU_BACKEND_CPU;
    v = open_checked(&config);
    const size_t plain = vmafgpu_host_memory(v);
    vmafgpu_close(v);
    config.max_edit_size = 128;
    v = open_checked(&config);
    CHECK(vmafgpu_host_memory(v) - plain < 40u << 20);
    vmafgpu_close(v);
}

int main(void) {
    const test_amount depth = test_depth();
    static const unsigned masks[] = { 0, 16, ~0u };
    test_refused();
    test_following();
    test_sums_of_first();
    test_skipped_tasks();
    test_memory();
    test_maps();
    test_losses();
    test_ranks();
    test_wrapping_maps();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        edit_case c = cases[i];
        for (size_t k = 0; k < (depth == TEST_ALL ? sizeof masks / sizeof *masks : 1); k++) {
            if (depth == TEST_ALL)
                c.cpumask = masks[k];
            /* Scoring whole frames in plain C is slow. */
            const int slow = depth == TEST_ALL && c.cpumask == ~0u && c.width * c.height > 300000,
                      tries = c.tries[depth];
            if (tries)
                run_case(&c, slow ? tries / 20 : tries, (uint32_t)(i + 100 * k + 1));
        }
    }
    test_many_commits();
    return test_end();
}
