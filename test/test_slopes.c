/* Tests vmafgpu_edit_slopes(), the derivative of the prediction with respect to each luma sample. It must agree with
 * finite differences of a model in doubles, which this file contains: the formulas of vif and adm without rounding. It
 * must predict small edits, be bit-identical for all instruction sets and numbers of threads, and always be finite.
 * Also tests pitches, errors, memory, and that scores do not change. */
#include <math.h>
#include "../vmafgpu.h"
#include "scoring.h"
#include "slopes.h"

enum { ADM2, AIM, VIF0, VIF1, VIF2, VIF3, FEATURES, BANDS = 3, SCALES = 4, MOST = 256 * 256 };

/* ---- pictures ---- */

static uint32_t random_state = 1;

static uint32_t random_bits(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

static int below(int n) {
    return (int)((uint64_t)random_bits() * (uint64_t)n >> 24);
}

/* ---- the smooth model ---- */

typedef struct limits {
    double vif, adm;
} limits;

static const int reaches[SCALES] = { 8, 4, 2, 1 };
static const double vif_taps[SCALES][9] = { { 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489 },
                                            { 14692, 12590, 7925, 3663, 1244, 0, 0, 0, 0 },
                                            { 26386, 16004, 3571, 0, 0, 0, 0, 0, 0 },
                                            { 43728, 10904, 0, 0, 0, 0, 0, 0, 0 } };

static int reflect(int i, int n) {
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

static int repeat(int i, int n) {
    const int k = i < 0 ? -i : i >= n ? 2 * n - 1 - i : i;
    return k < n ? k : n - 1;
}

/* out = filter(a * b), or filter(a) if b is NULL. */
static void filter(const double *a, const double *b, int w, int h, int scale, double *out) {
    static double down[MOST];
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double sum = 0;
            for (int t = -reaches[scale]; t <= reaches[scale]; t++) {
                const int at = reflect(y + t, h) * w + x;
                sum += vif_taps[scale][t < 0 ? -t : t] / 65536 * (b ? a[at] * b[at] : a[at]);
            }
            down[y * w + x] = sum;
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            double sum = 0;
            for (int t = -reaches[scale]; t <= reaches[scale]; t++)
                sum += vif_taps[scale][t < 0 ? -t : t] / 65536 * down[y * w + reflect(x + t, w)];
            out[y * w + x] = sum;
        }
}

static double smooth_vif_scale(const double *r, const double *d, int w, int h, int scale, double limit) {
    static double m1[MOST], m2[MOST], rr[MOST], dd[MOST], rd[MOST];
    double num = 0, den = 0;
    filter(r, NULL, w, h, scale, m1);
    filter(d, NULL, w, h, scale, m2);
    filter(r, r, w, h, scale, rr);
    filter(d, d, w, h, scale, dd);
    filter(r, d, w, h, scale, rd);
    for (int i = 0; i < w * h; i++) {
        const double s1 = rr[i] - m1[i] * m1[i], s2 = fmax(dd[i] - m2[i] * m2[i], 0), s12 = rd[i] - m1[i] * m2[i];
        if (s1 < 2) {
            num += 1 - s2 * 4 / 65025;
            den += 1;
            continue;
        }
        den += log2(1 + s1 / 2);
        if (s12 > 0 && s2 > 0) {
            const double g = s12 / (s1 + 1e-10), v = fmax(s2 - g * s12, 0), gain = fmin(g, limit);
            num += log2((v + 2 + gain * gain * s1) / (v + 2));
        }
    }
    return num / den;
}

static void smooth_vif(const double *reference, const double *distorted, int w, int h, double limit, double *out) {
    static double side[2][MOST], whole[MOST];
    const double *in[2] = { reference, distorted };
    memcpy(side[0], in[0], sizeof(double) * (size_t)(w * h));
    memcpy(side[1], in[1], sizeof(double) * (size_t)(w * h));
    for (int s = 0; s < SCALES; s++) {
        out[s] = smooth_vif_scale(side[0], side[1], w, h, s, limit);
        for (int i = 0; i < 2 && s + 1 < SCALES; i++) {
            filter(side[i], NULL, w, h, s + 1, whole);
            for (int y = 0; y < h / 2; y++)
                for (int x = 0; x < w / 2; x++)
                    side[i][y * (w / 2) + x] = whole[2 * y * w + 2 * x];
        }
        w /= 2;
        h /= 2;
    }
}

static const double low[4] = { 15826 / 32768., 27411 / 32768., 7345 / 32768., -4240 / 32768. };
static const double high[4] = { -4240 / 32768., -7345 / 32768., 27411 / 32768., -15826 / 32768. };

/* out: bands a, h, v, d */
static void wavelet(const double *in, int w, int h, double (*out)[MOST]) {
    static double line[2][MOST];
    const int w2 = (w + 1) / 2, h2 = (h + 1) / 2;
    for (int y = 0; y < h2; y++) {
        for (int x = 0; x < w; x++) {
            line[0][x] = line[1][x] = 0;
            for (int t = 0; t < 4; t++) {
                line[0][x] += low[t] * in[repeat(2 * y - 1 + t, h) * w + x];
                line[1][x] += high[t] * in[repeat(2 * y - 1 + t, h) * w + x];
            }
        }
        for (int x = 0; x < w2; x++)
            for (int band = 0; band < 4; band++) {
                const double *taps = band >= 2 ? high : low, *from = line[band & 1];
                double sum = 0;
                for (int t = 0; t < 4; t++)
                    sum += taps[t] * from[repeat(2 * x - 1 + t, w)];
                out[band][y * w2 + x] = sum;
            }
    }
}

/* For each band, sums the cubes of the signal above the threshold, which depends on `mask`. Returns the sum of the cube
 * roots of these sums. */
static double masked(double (*signal)[MOST], double (*mask)[MOST], const double *f, int w, int h, double noise) {
    static double weighed[MOST];
    const int left = w < 5 ? 0 : (w - 5) / 10, top = h < 5 ? 0 : (h - 5) / 10;
    double sum[BANDS] = { 0 }, roots = 0;
    for (int i = 0; i < w * h; i++)
        weighed[i] = f[0] * (fabs(mask[1][i]) + fabs(mask[2][i])) + f[1] * fabs(mask[3][i]);
    for (int y = top; y < h - top; y++)
        for (int x = left; x < w - left; x++) {
            double threshold = weighed[y * w + x];
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++)
                    threshold += weighed[repeat(y + j, h) * w + repeat(x + i, w)];
            for (int b = 0; b < BANDS; b++) {
                const double over = f[b == 2] * fabs(signal[1 + b][y * w + x]) - threshold / 30;
                sum[b] += over > 0 ? over * over * over : 0;
            }
        }
    for (int b = 0; b < BANDS; b++)
        roots += cbrt(sum[b]) + noise;
    return roots;
}

static void smooth_adm(const double *reference, const double *distorted, int w, int h, double limit, double *out) {
    static double o[4][MOST], t[4][MOST], r[4][MOST], a[4][MOST], in[2][MOST];
    static const double amplitude[SCALES][2] = {
        { 0.67234, 0.72709 }, { 0.41317, 0.49428 }, { 0.22727, 0.28688 }, { 0.11792, 0.15214 }
    };
    const double pi = 3.14159265358979323846;
    double num = 0, den = 0, aim = 0;
    memcpy(in[0], reference, sizeof(double) * (size_t)(w * h));
    memcpy(in[1], distorted, sizeof(double) * (size_t)(w * h));
    for (int s = 0; s < SCALES; s++) {
        double f[2], whole[BANDS] = { 0 };
        wavelet(in[0], w, h, o);
        wavelet(in[1], w, h, t);
        w = (w + 1) / 2;
        h = (h + 1) / 2;
        for (int q = 0; q < 2; q++) {
            const double u = log10(pow(2, s + 1) * 0.401 * (q ? 0.534 : 1) / (3 * 1080 * pi / 180));
            f[q] = amplitude[s][q] / (2 * 0.495 * pow(10, 0.466 * u * u));
        }
        const int left = w < 5 ? 0 : (w - 5) / 10, top = h < 5 ? 0 : (h - 5) / 10;
        const double noise = cbrt((w - 2 * left) * (h - 2 * top) / 32.);
        for (int i = 0; i < w * h; i++) {
            const double dot = o[1][i] * t[1][i] + o[2][i] * t[2][i],
                         sizes = (o[1][i] * o[1][i] + o[2][i] * o[2][i]) * (t[1][i] * t[1][i] + t[2][i] * t[2][i]);
            const int is_alike = dot >= 0 && dot * dot >= 33544212.0 / 33554432.0 * sizes;
            for (int b = 1; b < 4; b++) {
                const double mo = fabs(o[b][i]), mt = fabs(t[b][i]), sign = t[b][i] < 0 ? -1 : 1;
                double part = o[b][i] * t[b][i] > 0 ? fmin(mo, mt) : 0;
                if (is_alike)
                    part = fmin(part * limit, mt);
                r[b][i] = sign * part;
                a[b][i] = t[b][i] - r[b][i];
            }
        }
        for (int y = top; y < h - top; y++)
            for (int x = left; x < w - left; x++)
                for (int b = 0; b < BANDS; b++)
                    whole[b] += pow(fabs(o[1 + b][y * w + x]) * f[b == 2], 3);
        num += masked(r, a, f, w, h, noise);
        aim += masked(a, r, f, w, h, 0);
        den += cbrt(whole[0]) + cbrt(whole[1]) + cbrt(whole[2]) + 3 * noise;
        memcpy(in[0], o[0], sizeof(double) * (size_t)(w * h));
        memcpy(in[1], t[0], sizeof(double) * (size_t)(w * h));
    }
    out[ADM2] = num / den;
    out[AIM] = aim / den;
}

static void smooth_features(const double *reference, const double *distorted, int w, int h, limits l, double *out) {
    smooth_adm(reference, distorted, w, h, l.adm, out);
    smooth_vif(reference, distorted, w, h, l.vif, out + VIF0);
}

/* ---- contexts ---- */

static vmafgpu_config config_of(const pair *p, const vmafgpu_model_config *model) {
    vmafgpu_config c;
    memset(&c, 0, sizeof c);
    c.width = p->w;
    c.height = p->h;
    c.bit_depth = p->depth;
    c.bytes_per_sample = 2;
    c.chroma = VMAFGPU_CHROMA_400;
    c.models = model;
    c.model_count = model != NULL;
    c.max_edit_size = 256;
    c.slopes = 1;
    c.backend = VMAFGPU_BACKEND_CPU;
    return c;
}

static vmafgpu_frame frame_of(const uint16_t *samples) {
    vmafgpu_frame f;
    memset(&f, 0, sizeof f);
    f.data[0] = samples;
    return f;
}

static void one_by_one(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = 0; i < count; i++)
        task(arg, i);
}

/* Sets the number of threads. Builds without threads run the tasks one after another. */
static void use_threads(vmafgpu_config *c, int threads) {
    c->threads = threads;
    c->parallel_for = NULL;
#if defined(VMAFGPU_NO_THREADS) || defined(__wasm__)
    c->parallel_for = one_by_one;
#else
    (void)one_by_one;
#endif
}

/* Opens a context and begins editing the pair. */
static vmafgpu *begin(const vmafgpu_config *c, const pair *p, vmafgpu_score *score) {
    const vmafgpu_frame r = frame_of(p->side[0]), d = frame_of(p->side[1]);
    vmafgpu *v = NULL;
    if (!CHECK(vmafgpu_open(&v, c) == VMAFGPU_OK && vmafgpu_edit_begin(v, &r, &d, NULL, NULL, score) == VMAFGPU_OK)) {
        puts(vmafgpu_last_error(v));
        exit(test_end());
    }
    return v;
}

static void slopes_of(const vmafgpu_config *c, const pair *p, float *out, vmafgpu_score *score) {
    vmafgpu *v = begin(c, p, score);
    CHECK_INT(vmafgpu_edit_slopes(v, out, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    for (int i = 0; i < p->w * p->h; i++)
        if (!(fabsf(out[i]) < 1e6f)) {
            CHECK(!"finite");
            break;
        }
    vmafgpu_close(v);
}

/* ---- against finite differences ---- */

enum { DIRECTIONS = 36 };

/* Fills a direction: random changes to the whole picture, to its edges, or to a block. Returns its kind. */
static int direction_of(const pair *p, int index, double *out) {
    const int kind = index % 3, size = 6;
    const int x0 = below(p->w - size + 1), y0 = below(p->h - size + 1);
    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < p->w; x++) {
            const int at = x < y ? x : y, to = p->w - 1 - x < p->h - 1 - y ? p->w - 1 - x : p->h - 1 - y;
            const int is_in = kind == 0   ? 1
                              : kind == 1 ? (at < to ? at : to) == index / 3 % 4
                                          : x >= x0 && x < x0 + size && y >= y0 && y < y0 + size;
            out[y * p->w + x] = is_in ? below(2001) / 1000. - 1 : 0;
        }
    return kind;
}

static double worst_cosine = 1, worst_size = 0;

/* Compares two lists of derivatives of a feature. The integer model rounds the means of VIF, which changes the small
 * variances of the small scales most. */
static void compare(const double *got, const double *expected, int count, int feature) {
    static const double angles[] = { 2e-3, 1e-3, 1e-3, 1e-3, 3e-3, 40e-3, 2e-3 };
    double ge = 0, gg = 0, ee = 0;
    for (int i = 0; i < count; i++) {
        ge += got[i] * expected[i];
        gg += got[i] * got[i];
        ee += expected[i] * expected[i];
    }
    if (!CHECK((ee > 0) == (gg > 0)) || ee <= 0)
        return;
    const double cosine = ge / sqrt(gg * ee), size = fabs(sqrt(gg / ee) - 1);
    worst_cosine = cosine < worst_cosine ? cosine : worst_cosine;
    worst_size = size > worst_size ? size : worst_size;
    if (getenv("TEST_VERBOSE"))
        printf("%s: cosine %.6f size %.5f\n", test_where, cosine, size);
    CHECK(cosine > 1 - angles[feature]);
    CHECK(size < 10 * angles[feature]);
}

static void check_differences(int w, int h, int depth, distortion kind, int is_neg) {
    static const struct {
        const char *name;
        int feature;
    } features[] = {
        { "VMAF_integer_feature_adm2_score", ADM2 },       { "VMAF_integer_feature_vif_scale0_score", VIF0 },
        { "VMAF_integer_feature_vif_scale1_score", VIF1 }, { "VMAF_integer_feature_vif_scale2_score", VIF2 },
        { "VMAF_integer_feature_vif_scale3_score", VIF3 }, { "VMAF_integer_feature_aim_score", AIM },
        { "VMAF_integer_feature_adm3_score", FEATURES },
    };
    static double grey[3][MOST], direction[DIRECTIONS][64 * 64], change[DIRECTIONS][FEATURES];
    static float slopes[MOST];
    const double step = 1e-4, unit = 1 << (depth - 8);
    const limits l = { is_neg ? 1 : 100, is_neg ? 1 : 100 };
    pair p = make_pair(w, h, depth, kind, w);
    int kinds[DIRECTIONS];
    random_state = (uint32_t)(w * h);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < w * h; k++)
            grey[i][k] = p.side[i][k] / unit;
    for (int n = 0; n < DIRECTIONS; n++) {
        double side[2][FEATURES];
        kinds[n] = direction_of(&p, n, direction[n]);
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < w * h; k++)
                grey[2][k] = grey[1][k] + (i ? step : -step) * direction[n][k];
            smooth_features(grey[0], grey[2], w, h, l, side[i]);
        }
        for (int i = 0; i < FEATURES; i++)
            change[n][i] = (side[1][i] - side[0][i]) / (2 * step) / unit; /* per code value */
    }
    for (size_t i = 0; i < sizeof features / sizeof *features; i++) {
        const int is_vif = features[i].feature >= VIF0 && features[i].feature < FEATURES;
        single s;
        make_single(&s, features[i].name, !is_neg ? "" : is_vif ? "vif_enhn_gain_limit=1" : "adm_enhn_gain_limit=1");
        vmafgpu_config c = config_of(&p, &s.config);
        vmafgpu_score score;
        vmafgpu *v = begin(&c, &p, &score);
        vmafgpu_gradient gradient;
        CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_OK);
        /* the input, from the prediction */
        const double x = sqrt(-4 * log(gradient.prediction / 100)) - 0.5, by_x = -0.5 * (x + 0.5) * gradient.prediction;
        vmafgpu_close(v);
        for (int k = 0; k < 3; k++) {
            double got[DIRECTIONS], expected[DIRECTIONS];
            int count = 0;
            for (int n = 0; n < DIRECTIONS; n++) {
                if (kinds[n] != k)
                    continue;
                got[count] = 0;
                for (int at = 0; at < w * h; at++)
                    got[count] += slopes[at] * direction[n][at];
                expected[count++] = by_x * (features[i].feature == FEATURES ? (change[n][ADM2] - change[n][AIM]) / 2
                                                                            : change[n][features[i].feature]);
            }
            snprintf(test_where, sizeof test_where, "%s of %dx%d, %d bits, distortion %d, %s, directions %d",
                     features[i].name, w, h, depth, (int)kind, is_neg ? "neg" : "plain", k);
            compare(got, expected, count, features[i].feature);
        }
    }
    free_pair(&p);
}

/* ---- against exact edits ---- */

static double correlation(const double *a, const double *b, int count) {
    double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < count; i++) {
        sa += a[i];
        sb += b[i];
        aa += a[i] * a[i];
        bb += b[i] * b[i];
        ab += a[i] * b[i];
    }
    return (count * ab - sa * sb) / sqrt((count * aa - sa * sa) * (count * bb - sb * sb));
}

static double dot_of(const vmafgpu_gradient *g, const vmafgpu_edit_sums *s) {
    double sum = 0;
    for (int k = 0; k < SCALES; k++) {
        sum += g->vif_information[k] * (double)s->vif_information[k] + g->vif_noise[k] * (double)s->vif_noise[k];
        for (int b = 0; b < BANDS; b++)
            sum += g->adm[k][b] * (double)s->adm[k][b] + g->aim[k][b] * (double)s->aim[k][b];
    }
    return sum;
}

static void check_edits(const char *model_name, int depth, distortion kind, double least, double error) {
    static float slopes[MOST];
    static uint16_t data[MOST];
    double predicted[100], exact[100], by_sums[100], whole = 0, largest = 0;
    const int block = 32;
    int count = 0;
    pair p = make_pair(224, 160, depth, kind, 5);
    vmafgpu_model_config m;
    vmafgpu_gradient gradient;
    vmafgpu_edit_score tried;
    vmafgpu_edit e;
    memset(&m, 0, sizeof m);
    memset(&e, 0, sizeof e);
    m.model = vmafgpu_builtin_model(model_name);
    vmafgpu_config c = config_of(&p, &m);
    vmafgpu *v = begin(&c, &p, NULL);
    snprintf(test_where, sizeof test_where, "edits of %s, %d bits, distortion %d", model_name, depth, (int)kind);
    CHECK_INT(vmafgpu_edit_slopes(v, slopes, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_OK);
    e.data = data;
    for (int y = 0; y < p.h; y += block)
        for (int x = 0; x < p.w; x += block) {
            e.x = x;
            e.y = y;
            e.width = e.height = block;
            predicted[count] = 0;
            for (int k = 0; k < block * block; k++) {
                const int at = (y + k / block) * p.w + x + k % block;
                data[k] = (uint16_t)((p.side[0][at] + p.side[1][at]) / 2);
                predicted[count] += slopes[at] * ((double)data[k] - p.side[1][at]);
            }
            CHECK_INT(vmafgpu_edit_try(v, &e, 1, &tried, NULL), VMAFGPU_OK);
            by_sums[count] = dot_of(&gradient, &tried.sums);
            exact[count++] = tried.change;
        }
    if (getenv("TEST_VERBOSE"))
        printf("%s: correlation %.4f, by sums %.4f\n", test_where, correlation(predicted, exact, count),
               correlation(predicted, by_sums, count));
    CHECK(correlation(predicted, exact, count) > least);
    CHECK(correlation(predicted, by_sums, count) > least);
    /* down the slopes, by at most one grey level */
    for (int k = 0; k < p.w * p.h; k++)
        largest = fabs(slopes[k]) > largest ? fabs(slopes[k]) : largest;
    for (int k = 0; k < p.w * p.h; k++) {
        const int unit = 1 << (depth - 8), by = slopes[k] > largest / 20 ? -unit : slopes[k] < -largest / 20 ? unit : 0;
        data[k] = (uint16_t)clip_to(p.side[1][k] + by, (1 << depth) - 1);
        whole += slopes[k] * ((double)data[k] - p.side[1][k]);
    }
    e.x = e.y = 0;
    e.width = p.w;
    e.height = p.h;
    CHECK_INT(vmafgpu_edit_try(v, &e, 1, &tried, NULL), VMAFGPU_OK);
    if (getenv("TEST_VERBOSE"))
        printf("%s: down the slopes: predicted %.4f, exact %.4f\n", test_where, whole, tried.change);
    CHECK(fabs(whole / tried.change - 1) < error);
    vmafgpu_close(v);
    free_pair(&p);
}

/* ---- bits ---- */

static void check_bits(void) {
    const golden_slopes *const cases = golden_slopes_cases;
    static float first[MOST], other[MOST];
    uint64_t hash = HASH_BEGIN;
    for (int i = 0; i < GOLDEN_SLOPES; i++) {
        pair p = make_pair(cases[i].w, cases[i].h, cases[i].depth, cases[i].kind, i);
        const int count = p.w * p.h;
        vmafgpu_model_config m;
        memset(&m, 0, sizeof m);
        m.model = vmafgpu_builtin_model(cases[i].model);
        vmafgpu_config c = config_of(&p, &m);
        vmafgpu_score score;
        double plain = 0;
        for (int variant = 0; variant < 6; variant++) {
            static const unsigned masks[] = { ~0u, 0, 16 };
            c.cpumask = masks[variant % 3];
            use_threads(&c, variant < 3 ? 1 : 7);
            snprintf(test_where, sizeof test_where, "bits of case %d, cpumask %u, %d threads", i, c.cpumask, c.threads);
            slopes_of(&c, &p, variant ? other : first, &score);
            CHECK(!variant || memcmp(first, other, sizeof(float) * (size_t)count) == 0);
        }
        c.slopes = 0;
        vmafgpu *v = begin(&c, &p, &score);
        plain = score.score;
        CHECK_INT(vmafgpu_edit_slopes(v, first, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
        CHECK_HAS(vmafgpu_last_error(v), "config.slopes is 0");
        vmafgpu_close(v);
        c.slopes = 1;
        v = begin(&c, &p, &score);
        CHECK_BITS(score.score, plain);
        vmafgpu_close(v);
        hash = hash_floats(first, count, hash);
        free_pair(&p);
    }
    snprintf(test_where, sizeof test_where, "golden");
    if (!CHECK(hash == GOLDEN_SLOPES_HASH))
        printf("the hash is %016" PRIx64 "\n", hash);
}

/* Frames that are wider than the lines of plain C would be with four phases. */
static void check_wide(void) {
    static float vectors[MOST], plain[MOST];
    pair p = make_pair(1500, 40, 8, DULL, 1);
    vmafgpu_config c = config_of(&p, NULL);
    snprintf(test_where, sizeof test_where, "wide");
    c.cpumask = 0;
    slopes_of(&c, &p, vectors, NULL);
    c.cpumask = ~0u;
    slopes_of(&c, &p, plain, NULL);
    CHECK(memcmp(vectors, plain, sizeof(float) * 1500 * 40) == 0);
    free_pair(&p);
}

/* Slopes need at most 13 bytes of memory per sample with up to four threads. */
static void check_size(const char *model, int depth, int threads) {
    double size[2];
    vmafgpu_model_config m;
    vmafgpu_config c;
    memset(&m, 0, sizeof m);
    memset(&c, 0, sizeof c);
    m.version = model;
    c.width = 1920;
    c.height = 1080;
    c.bit_depth = depth;
    c.backend = VMAFGPU_BACKEND_CPU;
    use_threads(&c, threads);
    c.models = &m;
    c.model_count = 1;
    for (int i = 0; i < 2; i++) {
        vmafgpu *v = NULL;
        c.slopes = 2 * i;
        CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
        size[i] = (double)vmafgpu_host_memory(v) / (1920 * 1080);
        vmafgpu_close(v);
    }
    snprintf(test_where, sizeof test_where, "%s, %d bits, threads %d: %.2f bytes per sample", model, depth, threads,
             size[1] - size[0]);
    CHECK(size[1] - size[0] > 3 && size[1] - size[0] <= 13);
}

/* ---- where there is little to differentiate ---- */

static void check_flat(void) {
    static const char *const names[] = { "identical", "black", "one sample", "white against black", "one column" };
    static float slopes[MOST];
    for (int depth = 8; depth <= 16; depth += 4)
        for (int kind = 0; kind < 5; kind++)
            for (int is_neg = 0; is_neg < 2; is_neg++) {
                pair p = make_pair(70, 50, depth, SAME, 3);
                const size_t size = sizeof(uint16_t) * (size_t)(p.w * p.h);
                vmafgpu_model_config m;
                memset(&m, 0, sizeof m);
                m.model = vmafgpu_builtin_model(is_neg ? "vmaf_v0.6.1neg" : "vmaf_v0.6.1");
                if (kind == 1 || kind == 3)
                    memset(p.side[0], 0, size);
                if (kind == 1)
                    memset(p.side[1], 0, size);
                if (kind == 2)
                    p.side[1][20 * p.w + 30] ^= 1;
                for (int k = 0; k < p.w * p.h && kind >= 3; k++)
                    p.side[1][k] = (uint16_t)(kind == 3 || k % p.w == 9 ? (1 << depth) - 1 : p.side[1][k]);
                vmafgpu_config c = config_of(&p, &m);
                vmafgpu_score score;
                snprintf(test_where, sizeof test_where, "%s, %d bits, %s", names[kind], depth,
                         is_neg ? "neg" : "plain");
                slopes_of(&c, &p, slopes, &score);
                free_pair(&p);
            }
}

/* ---- the call ---- */

static long allocations;

static void *counted(void *user, size_t size) {
    (void)user;
    allocations++;
    return malloc(size);
}

static void release(void *user, void *pointer) {
    (void)user;
    free(pointer);
}

static void check_call(void) {
    enum { W = 67, H = 37, PITCH = 80 };
    static float plain[W * H], wide[PITCH * H + 2];
    pair p = make_pair(W, H, 8, DULL, 9);
    vmafgpu_config c = config_of(&p, NULL);
    const vmafgpu_frame r = frame_of(p.side[0]), d = frame_of(p.side[1]);
    uint16_t block[64];
    vmafgpu_edit e;
    vmafgpu *v = NULL;
    snprintf(test_where, sizeof test_where, "call");
    c.allocator.allocate = counted;
    c.allocator.release = release;
    CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
    const long opened = allocations;
    CHECK_INT(vmafgpu_edit_slopes(v, plain, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(v), "there is no base");
    CHECK_INT(vmafgpu_edit_begin(v, &r, &d, NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, plain, 0, VMAFGPU_MEMORY_PINNED), VMAFGPU_OK);
    for (int is_down = 0; is_down < 2; is_down++) {
        float *top = is_down ? wide + 1 + PITCH * (H - 1) : wide + 1;
        int is_same = 1;
        for (int i = 0; i < PITCH * H + 2; i++)
            wide[i] = 12345;
        CHECK_INT(vmafgpu_edit_slopes(v, top, (is_down ? -PITCH : PITCH) * 4, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        for (int i = 0; i < PITCH * H; i++) {
            const int y = i / PITCH, x = i % PITCH;
            is_same &= wide[1 + i] == (x < W ? plain[(is_down ? H - 1 - y : y) * W + x] : 12345);
        }
        CHECK(is_same && wide[0] == 12345 && wide[PITCH * H + 1] == 12345);
    }
    /* after a commit, the slopes are those of the new base */
    memset(&e, 0, sizeof e);
    e.x = 20;
    e.y = 11;
    e.width = e.height = 8;
    e.data = block;
    for (int i = 0; i < 64; i++) {
        block[i] = (uint16_t)(3 * i);
        p.side[1][(11 + i / 8) * W + 20 + i % 8] = block[i];
    }
    CHECK_INT(vmafgpu_edit_commit(v, &e, 1, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, plain, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_begin(v, &r, &d, NULL, NULL, NULL), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, wide, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    CHECK(memcmp(plain, wide, sizeof plain) == 0);
    CHECK_INT(allocations, opened);

    const struct {
        float *slopes;
        ptrdiff_t pitch;
        int memory;
        const char *words;
    } wrong[] = {
        { NULL, 0, VMAFGPU_MEMORY_HOST, "slopes is NULL" },
        { (float *)(void *)((char *)plain + 2), 0, VMAFGPU_MEMORY_HOST, "slopes is not aligned to 4 bytes" },
        { plain, 4 * W - 4, VMAFGPU_MEMORY_HOST, "pitch is invalid (264 bytes)" },
        { plain, 8 - 4 * W, VMAFGPU_MEMORY_HOST, "pitch is invalid" },
        { plain, 4 * W + 2, VMAFGPU_MEMORY_HOST, "pitch is invalid" },
        { plain, PTRDIFF_MAX / 4 * 4, VMAFGPU_MEMORY_HOST, "pitch is invalid" },
        { plain, 0, VMAFGPU_MEMORY_DEVICE, "memory is invalid (2)" },
        { plain, 0, 17, "memory is invalid (17)" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(vmafgpu_edit_slopes(v, wrong[i].slopes, wrong[i].pitch, (vmafgpu_memory)wrong[i].memory),
                  VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(v), wrong[i].words);
    }
    for (size_t i = 1; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_INT(vmafgpu_slopes_next(v, wrong[i].slopes, wrong[i].pitch, (vmafgpu_memory)wrong[i].memory),
                  VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(v), wrong[i].words);
    }
    CHECK_INT(vmafgpu_edit_slopes(NULL, plain, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_slopes_next(NULL, plain, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_ARGUMENT);
    vmafgpu_close(v);
    free_pair(&p);
}

/* ---- pushed pairs ---- */

enum { PUSHED = 7, GUARD = 2 };

/* A clip whose pairs have different motion. */
typedef struct pushed_clip {
    pair pairs[PUSHED];
    vmafgpu_frame reference[PUSHED], distorted[PUSHED];
} pushed_clip;

static void make_clip(pushed_clip *clip, int w, int h, int depth) {
    for (int i = 0; i < PUSHED; i++) {
        clip->pairs[i] = make_pair(w, h, depth, (distortion)(i % 3), i < 3 ? i : 3 * i);
        clip->reference[i] = frame_of(clip->pairs[i].side[0]);
        clip->distorted[i] = frame_of(clip->pairs[i].side[1]);
    }
}

static void free_clip(pushed_clip *clip) {
    for (int i = 0; i < PUSHED; i++)
        free_pair(&clip->pairs[i]);
}

/* Returns the slopes of pair `i` of a clip of `count` pairs, computed with a base. */
static void expected_slopes(const vmafgpu_config *of, const pushed_clip *clip, int i, int count, float *out) {
    vmafgpu_config c = *of;
    vmafgpu *v = NULL;
    c.max_edit_size = 1;
    c.cpumask = ~0u;
    c.threads = 1;
    c.parallel_for = NULL;
    memset(&c.allocator, 0, sizeof c.allocator);
    CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_begin(v, &clip->reference[i], &clip->distorted[i], i ? &clip->reference[i - 1] : NULL,
                                 i + 1 < count && !c.live ? &clip->reference[i + 1] : NULL, NULL),
              VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_slopes(v, out, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    vmafgpu_close(v);
}

typedef struct plane {
    float *memory, *top;
    ptrdiff_t pitch; /* in floats */
    size_t size;     /* of `memory`, in floats */
} plane;

static plane make_plane(int w, int h) {
    const int pitch = w + below(4), is_down = below(2);
    const size_t size = (size_t)(pitch * h + 2 * GUARD);
    plane p = { (float *)malloc(size * sizeof(float)), NULL, is_down ? -pitch : pitch, size };
    if (!p.memory)
        exit(1);
    for (size_t i = 0; i < size; i++)
        p.memory[i] = 12345;
    p.top = p.memory + GUARD + (is_down ? pitch * (h - 1) : 0);
    return p;
}

/* Whether nothing was written outside the rows of a plane. */
static int plane_is_framed(const plane *p, int w, int h) {
    const int pitch = (int)(p->pitch < 0 ? -p->pitch : p->pitch);
    int is_same = 1;
    for (int i = -GUARD; i < pitch * h + GUARD; i++)
        is_same &= (i >= 0 && i < pitch * h && i % pitch < w) || p->memory[GUARD + i] == 12345;
    return is_same;
}

static float *copy_of(const plane *p) {
    float *copy = (float *)malloc(p->size * sizeof *copy);
    if (!copy)
        exit(1);
    memcpy(copy, p->memory, p->size * sizeof *copy);
    return copy;
}

/* Whether a plane contains these slopes and nothing else was written. If `expected` is NULL, nothing must have been
 * written. */
static int plane_has(const plane *p, const float *expected, int w, int h) {
    const int pitch = (int)(p->pitch < 0 ? -p->pitch : p->pitch);
    int is_same = 1;
    for (int i = 0; i < GUARD; i++)
        is_same &= p->memory[i] == 12345 && p->memory[GUARD + pitch * h + i] == 12345;
    for (int i = 0; i < pitch * h; i++) {
        const int x = i % pitch, y = p->pitch < 0 ? h - 1 - i / pitch : i / pitch;
        const float is = p->memory[GUARD + i], must = x < w && expected ? expected[y * w + x] : 12345;
        is_same &= memcmp(&is, &must, sizeof is) == 0;
    }
    return is_same;
}

/* Stores the samples of a clip as bytes. */
static void narrow(pushed_clip *clip) {
    for (int i = 0; i < PUSHED; i++)
        for (int f = 0; f < 2; f++) {
            const uint16_t *from = clip->pairs[i].side[f];
            for (int k = 0; k < clip->pairs[i].w * clip->pairs[i].h; k++)
                ((uint8_t *)clip->pairs[i].side[f])[k] = (uint8_t)from[k];
        }
}

/* Checks that the scores of a context equal those of a context without slopes. */
static void check_scores(vmafgpu *v, const vmafgpu_config *of, const pushed_clip *clip) {
    vmafgpu_config c = *of;
    vmafgpu *plain = NULL;
    c.slopes = 0;
    CHECK_INT(vmafgpu_open(&plain, &c), VMAFGPU_OK);
    for (int i = 0; i < PUSHED; i++)
        CHECK_INT(vmafgpu_push(plain, &clip->reference[i], &clip->distorted[i]), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(plain), VMAFGPU_OK);
    for (int i = 0; i < PUSHED; i += c.subsample) {
        vmafgpu_score expected, got;
        CHECK_INT(vmafgpu_score_at(plain, i, &expected), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_at(v, i, &got), VMAFGPU_OK);
        CHECK(memcmp(&got.score, &expected.score, sizeof got.score) == 0);
    }
    vmafgpu_close(plain);
}

static void check_pushed(int w, int h, int depth, int is_live, int subsample, int waits_long) {
    static float expected[MOST];
    static const unsigned masks[] = { ~0u, 0, 16 };
    pushed_clip clip;
    plane planes[PUSHED];
    int is_wanted[PUSHED];
    const vmafgpu_feature_config five = { "motion", "motion_five_frame_window=true" };
    vmafgpu_model_config m;
    vmafgpu *v = NULL;
    memset(&m, 0, sizeof m);
    m.model = vmafgpu_builtin_model(below(2) ? "vmaf_v0.6.1" : "vmaf_v0.6.1neg");
    make_clip(&clip, w, h, depth);
    vmafgpu_config c = config_of(&clip.pairs[0], &m);
    c.max_edit_size = 0;
    c.live = is_live;
    c.subsample = subsample;
    if (depth == 8) {
        narrow(&clip);
        c.bytes_per_sample = 1;
    }
    if (waits_long) { /* two pairs wait for this feature */
        c.features = &five;
        c.feature_count = 1;
    }
    c.cpumask = masks[below(3)];
    use_threads(&c, below(2) ? 1 : 7);
    snprintf(test_where, sizeof test_where, "pushed, %dx%d, %d bits, cpumask %u, %d threads, live %d, subsample %d", w,
             h, depth, c.cpumask, c.threads, is_live, subsample);
    CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
    for (int i = 0; i < PUSHED; i++) {
        planes[i] = make_plane(w, h);
        is_wanted[i] = i % subsample == 0 && below(4);
        if (is_wanted[i] || i % subsample) /* a request for a pair that is left out is for the next pair */
            CHECK_INT(vmafgpu_slopes_next(v, planes[i].top, planes[i].pitch * 4, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        else
            CHECK_INT(vmafgpu_slopes_next(v, NULL, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v, &clip.reference[i], &clip.distorted[i]), VMAFGPU_OK);
        for (int k = 0; k <= i; k++) {
            const int is_ready = is_live || k + waits_long < i;
            if (is_wanted[k] && is_ready && (k >= i - 1 - waits_long)) {
                expected_slopes(&c, &clip, k, PUSHED, expected);
                CHECK(plane_has(&planes[k], expected, w, h));
            } else if (!is_wanted[k])
                CHECK(plane_has(&planes[k], NULL, w, h));
            else if (!is_ready)
                CHECK(plane_is_framed(&planes[k], w, h));
        }
    }
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    for (int i = 0; i < PUSHED; i++) {
        expected_slopes(&c, &clip, i, PUSHED, expected);
        CHECK(plane_has(&planes[i], is_wanted[i] ? expected : NULL, w, h));
        free(planes[i].memory);
    }
    check_scores(v, &c, &clip);
    vmafgpu_close(v);
    free_clip(&clip);
}

/* Two pairs wait for motion with models for high frame rates. Checks the slopes for all instruction sets and numbers of
 * threads, with the hash of an implementation that kept all planes of waiting pairs. */
static void check_waiting(int depth, uint64_t expected) {
    enum { W = 226, H = 170 };
    static const unsigned masks[] = { ~0u, 0, 16 };
    static float slopes[PUSHED][W * H];
    pushed_clip clip;
    vmafgpu_model_config m;
    memset(&m, 0, sizeof m);
    m.model = vmafgpu_builtin_model("vmaf_v1.0.16_hfr_3d0h");
    make_clip(&clip, W, H, depth);
    vmafgpu_config c = config_of(&clip.pairs[0], &m);
    c.chroma = VMAFGPU_CHROMA_420;
    c.max_edit_size = 0;
    c.slopes = 2;
    for (int variant = 0; variant < 4; variant++) {
        vmafgpu *v = NULL;
        uint64_t hash = HASH_BEGIN;
        c.cpumask = masks[variant % 3];
        use_threads(&c, variant < 2 ? 1 : 7);
        snprintf(test_where, sizeof test_where, "waiting, %d bits, cpumask %u, %d threads", depth, c.cpumask,
                 c.threads);
        CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
        for (int i = 0; i < PUSHED; i++) {
            vmafgpu_frame *pair[2] = { &clip.reference[i], &clip.distorted[i] };
            for (int f = 0; f < 2; f++)
                pair[f]->data[1] = pair[f]->data[2] = pair[f]->data[0];
            if (i != 3)
                CHECK_INT(vmafgpu_slopes_next(v, slopes[i], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push(v, pair[0], pair[1]), VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        for (int i = 0; i < PUSHED; i++)
            hash = hash_floats(slopes[i], W * H, hash);
        if (!CHECK(hash == expected))
            printf("the hash is %016" PRIx64 "\n", hash);
        vmafgpu_close(v);
    }
    free_clip(&clip);
}

/* Tests requests that are cancelled or replaced, calls in an unusual order, and that nothing is allocated after the
 * open. */
static void check_requests(void) {
    enum { W = 40, H = 36, PLANES = 6 };
    static float expected[W * H];
    pushed_clip clip;
    plane p[PLANES];
    float *kept[2];
    make_clip(&clip, W, H, 8);
    vmafgpu_config c = config_of(&clip.pairs[0], NULL);
    vmafgpu *v = NULL;
    c.max_edit_size = 0;
    c.allocator.allocate = counted;
    c.allocator.release = release;
    for (int i = 0; i < PLANES; i++)
        p[i] = make_plane(W, H);
    snprintf(test_where, sizeof test_where, "requests");
    CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
#define REQUEST(i) CHECK_INT(vmafgpu_slopes_next(v, p[i].top, 4 * p[i].pitch, VMAFGPU_MEMORY_PINNED), VMAFGPU_OK)
#define PUSH(i)    CHECK_INT(vmafgpu_push(v, &clip.reference[i], &clip.distorted[i]), VMAFGPU_OK)
    CHECK_INT(vmafgpu_edit_slopes(v, expected, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
    CHECK_HAS(vmafgpu_last_error(v), "config.max_edit_size is 0");
    /* cancelled: by NULL, by a reset before the push, and by a reset before the score is ready */
    REQUEST(0);
    CHECK_INT(vmafgpu_slopes_next(v, NULL, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    PUSH(0);
    const long started = allocations; /* the first push allocates a list of scores */
    REQUEST(0);
    CHECK_INT(vmafgpu_reset(v), VMAFGPU_OK);
    PUSH(0);
    REQUEST(1);
    PUSH(1);
    CHECK_INT(vmafgpu_reset(v), VMAFGPU_OK);
    kept[0] = copy_of(&p[1]);
    /* a failed push keeps the request, and another request replaces it */
    REQUEST(0);
    CHECK_INT(vmafgpu_push(v, &clip.reference[0], NULL), VMAFGPU_ERROR_ARGUMENT);
    REQUEST(2);
    CHECK_INT(vmafgpu_push(v, &clip.reference[0], NULL), VMAFGPU_ERROR_ARGUMENT);
    PUSH(0);
    CHECK(plane_is_framed(&p[2], W, H));
    CHECK_INT(vmafgpu_push_following(v, &clip.reference[1]), VMAFGPU_OK);
    expected_slopes(&c, &clip, 0, 2, expected);
    CHECK(plane_has(&p[2], expected, W, H));
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    /* the flush writes slopes; a request after the flush waits until the reset, which cancels it */
    CHECK_INT(vmafgpu_reset(v), VMAFGPU_OK);
    PUSH(0);
    REQUEST(3);
    PUSH(1);
    CHECK(plane_is_framed(&p[3], W, H));
    CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
    expected_slopes(&c, &clip, 1, 2, expected);
    CHECK(plane_has(&p[3], expected, W, H));
    REQUEST(0);
    CHECK_INT(vmafgpu_push(v, &clip.reference[2], &clip.distorted[2]), VMAFGPU_ERROR_STATE);
    CHECK_INT(vmafgpu_reset(v), VMAFGPU_OK);
    /* closed while a pair waits */
    PUSH(0);
    REQUEST(4);
    PUSH(1);
    REQUEST(5);
    CHECK_INT(allocations, started);
    kept[1] = copy_of(&p[4]);
    vmafgpu_close(v);
#undef REQUEST
#undef PUSH
    CHECK(plane_has(&p[0], NULL, W, H) && plane_has(&p[5], NULL, W, H));
    for (int i = 0; i < 2; i++) { /* cancelled after the push */
        const plane *at = &p[i ? 4 : 1];
        CHECK(plane_is_framed(at, W, H) && memcmp(at->memory, kept[i], at->size * sizeof(float)) == 0);
        free(kept[i]);
    }
    for (int i = 0; i < PLANES; i++)
        free(p[i].memory);
    free_clip(&clip);
}

/* Runs only the first task, for the slopes: the scores need all tasks. */
static int skips_tasks;

static void skip_tasks(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = 0; i < (skips_tasks ? 1 : count); i++)
        task(arg, i);
}

static void start_skipping(void *user, const vmafgpu_score *score) {
    (void)user, (void)score;
    skips_tasks = 1;
}

/* Tests that slopes are complete even if config.parallel_for skips tasks, and that pushes without slopes have the same
 * scores. */
static void check_parallel(void) {
    enum { W = 70, H = 300 };
    static float expected[W * H], got[W * H];
    pair p = make_pair(W, H, 8, ENHANCED, 4);
    const vmafgpu_frame r = frame_of(p.side[0]), d = frame_of(p.side[1]);
    double scores[2] = { 0, 1 };
    for (int i = 0; i < 3; i++) {
        vmafgpu_config c = config_of(&p, NULL);
        vmafgpu_score score;
        vmafgpu *v = NULL;
        snprintf(test_where, sizeof test_where, "parallel_for, case %d", i);
        c.max_edit_size = 0;
        c.live = 1;
        c.slopes = i < 2;
        c.threads = 3;
        c.parallel_for = skip_tasks;
        c.on_score = i == 1 ? start_skipping : NULL;
        skips_tasks = 0;
        CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
        if (i < 2)
            CHECK_INT(vmafgpu_slopes_next(v, i ? got : expected, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v, &r, &d), VMAFGPU_OK);
        if (CHECK_INT(vmafgpu_score_at(v, 0, &score), VMAFGPU_OK))
            scores[i > 0] = score.score;
        CHECK_BITS(scores[i > 0], scores[0]);
        vmafgpu_close(v);
    }
    CHECK(memcmp(expected, got, sizeof got) == 0);
    free_pair(&p);
}

static long allocations_left;

static void *limited(void *user, size_t size) {
    return allocations_left-- > 0 ? counted(user, size) : NULL;
}

static void check_memory(void) {
    pair p = make_pair(33, 35, 8, DULL, 1);
    vmafgpu_config c = config_of(&p, NULL);
    int result = VMAFGPU_ERROR_MEMORY;
    long most = 0;
    c.max_edit_size = 0;
    c.allocator.allocate = limited;
    c.allocator.release = release;
    for (; most < 100 && result == VMAFGPU_ERROR_MEMORY; most++) {
        vmafgpu *v = NULL;
        snprintf(test_where, sizeof test_where, "memory for %ld allocations", most);
        allocations_left = most;
        result = vmafgpu_open(&v, &c);
        vmafgpu_close(v);
    }
    CHECK(result == VMAFGPU_OK && most > 3);
    free_pair(&p);
}

/* ---- v1 models ---- */

/* Tests config.slopes 2. The inputs of the model that depend on luma are adm3 and, if the chroma is undistorted, the
 * chroma feature, which then depends on adm3. So the slopes of the model are those of adm3, times a derivative that is
 * known from finite differences of predictions. */
static void check_constant(int has_chroma_distortion) {
    enum { W = 320, H = 240, CHROMA = W * H / 4 };
    static float by_model[2][W * H], by_feature[W * H];
    static uint16_t chroma[2][CHROMA];
    static double features[64];
    static const unsigned masks[] = { ~0u, 0, 16 };
    const double step = 1e-3;
    pair p = make_pair(W, H, 8, DULL, 7);
    vmafgpu_frame side[2];
    vmafgpu_model_config m;
    vmafgpu_gradient gradient;
    vmafgpu_score score;
    vmafgpu *v = NULL;
    single s;
    double product = 0, squares[2] = { 0, 0 }, change = 0;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < CHROMA; k++)
            chroma[i][k] = (uint16_t)(128 + noise(k % (W / 2), k / (W / 2), 7, 3) / 700 +
                                      (i && has_chroma_distortion ? hash_of(k, 1, 2) / 4000 : 0));
        side[i] = frame_of(p.side[i]);
        side[i].data[1] = side[i].data[2] = chroma[i];
    }
    memset(&m, 0, sizeof m);
    m.model = vmafgpu_builtin_model("vmaf_v1.0.16_3d0h");
    m.disable_clip = m.disable_transform = 1;
    vmafgpu_config c = config_of(&p, &m);
    c.chroma = VMAFGPU_CHROMA_420;
    c.max_edit_size = 0;
    c.slopes = 2;
    for (int i = 0; i < 6; i++) {
        c.cpumask = masks[i % 3];
        c.live = i & 1;
        snprintf(test_where, sizeof test_where, "constant cambi, chroma distortion %d, cpumask %u, live %d",
                 has_chroma_distortion, c.cpumask, c.live);
        CHECK_INT(vmafgpu_open(&v, &c), VMAFGPU_OK);
        CHECK_INT(vmafgpu_slopes_next(v, by_model[i > 0], 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        CHECK_INT(vmafgpu_push(v, &side[0], &side[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(v), VMAFGPU_OK);
        CHECK(i == 0 || memcmp(by_model[0], by_model[1], sizeof by_model[0]) == 0);
        if (i < 5)
            vmafgpu_close(v);
    }
    CHECK_INT(vmafgpu_score_at(v, 0, &score), VMAFGPU_OK);
    memcpy(features, score.values, sizeof(double) * (size_t)vmafgpu_column_count(v));
    int column = -1;
    for (int i = 0; i < vmafgpu_column_count(v); i++)
        if (strncmp(vmafgpu_column_name(v, i), "integer_adm3", 12) == 0)
            column = i;
    for (int sign = 1; sign >= -1 && CHECK(column >= 0); sign -= 2) {
        features[column] += sign * step;
        CHECK_INT(vmafgpu_predict(v, features, &score), VMAFGPU_OK);
        features[column] -= sign * step;
        change += sign * score.score / (2 * step);
    }
    vmafgpu_close(v);

    make_single(&s, "VMAF_integer_feature_adm3_score",
                "adm_dlm_weight=0.7:adm_enhn_gain_limit=1:adm_noise_weight=0.02:adm_norm_view_dist=3:"
                "adm_ref_display_height=1080:adm_min_val=0.5:adm_csf_mode=2");
    c = config_of(&p, &s.config);
    v = begin(&c, &p, NULL);
    CHECK_INT(vmafgpu_edit_slopes(v, by_feature, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
    CHECK_INT(vmafgpu_edit_gradient(v, &gradient), VMAFGPU_OK);
    vmafgpu_close(v);
    const double x = sqrt(-4 * log(gradient.prediction / 100)) - 0.5, by_x = -0.5 * (x + 0.5) * gradient.prediction;
    for (int i = 0; i < W * H; i++) {
        const double a = by_model[0][i], b = by_feature[i] * change / by_x;
        product += a * b;
        squares[0] += a * a;
        squares[1] += b * b;
    }
    snprintf(test_where, sizeof test_where, "constant cambi, chroma distortion %d", has_chroma_distortion);
    if (getenv("TEST_VERBOSE"))
        printf("%s: cosine %.9f, ratio %.6f\n", test_where, product / sqrt(squares[0] * squares[1]),
               sqrt(squares[0] / squares[1]));
    CHECK(squares[0] > 0 && product / sqrt(squares[0] * squares[1]) > 1 - 1e-6);
    CHECK(fabs(sqrt(squares[0] / squares[1]) - 1) < 1e-2);
    free_pair(&p);
}

static void check_refused(void) {
    static const struct {
        const char *model, *field;
        int result;
        const char *words;
    } cases[] = {
        { "vmaf_v1.0.16_3d0h", "", VMAFGPU_ERROR_FEATURE,
          "config.slopes: feature cambi does not support slopes (1); use only "
          "adm, vif and motion, or config.slopes 2, which holds cambi constant" },
        { "vmaf_float_v0.6.1", "", VMAFGPU_ERROR_FEATURE, "does not support slopes (1)" },
        { "vmaf_v0.6.1", "size", VMAFGPU_OK, "" },
        { NULL, "features", VMAFGPU_ERROR_ARGUMENT, "config.slopes: requires a model (1)" },
        { "vmaf_v0.6.1", "range", VMAFGPU_ERROR_ARGUMENT, "config.slopes: out of range (3)" },
        { "vmaf_v1.0.16_3d0h", "constant", VMAFGPU_ERROR_FEATURE,
          "config.max_edit_size: feature cambi does not support edits (256); use vmafgpu_slopes_next() only" },
        { "vmaf_float_v0.6.1", "constant", VMAFGPU_ERROR_FEATURE, "does not support slopes (2)" },
        { "vmaf_v0.6.1", "predict", VMAFGPU_ERROR_ARGUMENT, "config.slopes: conflicts with config.predict_only" },
    };
    pair p = make_pair(320, 240, 8, DULL, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *field = cases[i].field;
        vmafgpu_feature_config f;
        vmafgpu_model_config m;
        vmafgpu *v = NULL;
        memset(&m, 0, sizeof m);
        memset(&f, 0, sizeof f);
        m.model = cases[i].model ? vmafgpu_builtin_model(cases[i].model) : NULL;
        f.name = "vif";
        vmafgpu_config c = config_of(&p, cases[i].model ? &m : NULL);
        c.chroma = VMAFGPU_CHROMA_420;
        if (strcmp(field, "size") == 0)
            c.max_edit_size = 0;
        if (strcmp(field, "range") == 0)
            c.slopes = 3;
        if (strcmp(field, "constant") == 0)
            c.slopes = 2;
        if (strcmp(field, "features") == 0) {
            c.features = &f;
            c.features_only = c.feature_count = 1;
        }
        c.predict_only = strcmp(field, "predict") == 0;
        c.backend = VMAFGPU_BACKEND_CPU;
        snprintf(test_where, sizeof test_where, "refused: %s %s", cases[i].model ? cases[i].model : "no model", field);
        CHECK_INT(vmafgpu_open(&v, &c), cases[i].result);
        CHECK_HAS(vmafgpu_last_error(v), cases[i].words);
        vmafgpu_close(v);
    }
    free_pair(&p);
}

/* Tests models that use two variants of a feature, so that the sums of one variant do not determine all inputs. */
static void check_inputs(void) {
    static const struct {
        const char *names[2], *options[2];
        int result;
    } cases[] = {
        { { "integer_vif_scale0", "integer_vif_scale1" }, { "", "vif_enhn_gain_limit=1" }, VMAFGPU_ERROR_MODEL },
        { { "integer_adm2", "integer_aim" }, { "", "adm_enhn_gain_limit=1" }, VMAFGPU_ERROR_MODEL },
        { { "integer_adm2", "integer_vif_scale0" }, { "", "vif_skip_scale0=true" }, VMAFGPU_OK },
        { { "integer_adm2", "integer_motion3" }, { "", "" }, VMAFGPU_OK },
    };
    static float slopes[MOST];
    pair p = make_pair(60, 40, 8, DULL, 2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double ones[3] = { 1, 1, 1 }, zeros[3] = { 0, 0, 0 };
        const uint16_t rows[1] = { 0 };
        vmafgpu_svm svm;
        vmafgpu_model model;
        vmafgpu_model_config m;
        vmafgpu *v = NULL;
        memset(&svm, 0, sizeof svm);
        memset(&model, 0, sizeof model);
        memset(&m, 0, sizeof m);
        svm.feature_count = 2;
        svm.feature_names = cases[i].names;
        svm.feature_options = cases[i].options;
        svm.slopes = ones;
        svm.intercepts = zeros;
        svm.gamma = 1;
        svm.sv_count = 1;
        svm.sv_coefs = ones;
        svm.sv_rows = rows;
        svm.sv_table = zeros;
        model.name = "mine";
        model.svm_count = 1;
        model.svms = &svm;
        m.model = &model;
        const vmafgpu_config c = config_of(&p, &m);
        snprintf(test_where, sizeof test_where, "inputs of case %d", (int)i);
        if (CHECK_INT(vmafgpu_open(&v, &c), cases[i].result) && cases[i].result == VMAFGPU_OK)
            slopes_of(&c, &p, slopes, NULL);
        else
            CHECK_HAS(vmafgpu_last_error(v), "of model mine is not supported (1); use one variant of each feature");
        vmafgpu_close(v);
    }
    free_pair(&p);
}

int main(void) {
    static const struct {
        int w, h, depth;
        distortion kind;
        int is_neg;
        test_amount depth_of_test;
    } cases[] = {
        { 40, 37, 8, FLAT, 0, TEST_FEW },       { 48, 40, 8, DULL, 0, TEST_FEW },
        { 33, 35, 10, BLOCKY, 1, TEST_FEW },    { 35, 49, 8, ENHANCED, 1, TEST_SOME },
        { 57, 33, 16, ENHANCED, 0, TEST_SOME }, { 64, 36, 12, BLOCKY, 0, TEST_ALL },
        { 41, 63, 9, DULL, 1, TEST_ALL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (cases[i].depth_of_test <= test_depth())
            check_differences(cases[i].w, cases[i].h, cases[i].depth, cases[i].kind, cases[i].is_neg);
    if (getenv("TEST_VERBOSE"))
        printf("worst cosine %.6f, worst difference of sizes %.5f\n", worst_cosine, worst_size);
    check_edits("vmaf_v0.6.1neg", 8, DULL, 0.95, 0.15);
    check_edits("vmaf_v0.6.1neg", 10, BLOCKY, 0.95, 0.15);
    check_edits("vmaf_v0.6.1", 8, BLOCKY, 0.85, 0.25);
    check_bits();
    check_wide();
    for (int depth = 8; depth <= 10; depth += 2)
        for (int threads = 1; threads <= 4; threads += 3) {
            check_size("vmaf_v0.6.1", depth, threads);
            check_size("vmaf_v1.0.16_hfr_3d0h", depth, threads);
        }
    check_flat();
    check_call();
    for (int i = 0; i < 8; i++)
        check_pushed(17 + below(80), 17 + below(160), 8 + below(2) * below(9), i & 1, 1 + (i >> 1 & 1), 0);
    for (int i = 0; i < 6; i++)
        check_pushed(17 + below(80), 17 + below(160), 8 + below(2) * below(9), 0, 1 + (i & 1), 1);
    check_waiting(8, UINT64_C(0x7e58c1d400c43e4f));
    check_waiting(10, UINT64_C(0xf5b728d73315c8b3));
    check_requests();
    check_parallel();
    check_memory();
    check_constant(0);
    check_constant(1);
    check_refused();
    check_inputs();
    return test_end();
}
