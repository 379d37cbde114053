/* Compares float_ssim, float_ms_ssim, float_psnr and float_moment with a second, direct implementation of their
 * formulas, for many sizes, depths, instruction sets and numbers of threads. Also tests the order of additions, and
 * which settings are rejected, also because this build leaves features out. */
#define VMAFGPU_STATIC
#define VMAFGPU_IMPLEMENTATION
#include "scoring.h"

#include <math.h>

enum { SUMS = 4, SCALES = 5 }; /* the four sums, in this order: all (l * c * s), l, c, s */

typedef struct grid {
    int w, h;
    float *at;
} grid;

static grid grid_make(int w, int h) {
    grid g;
    g.w = w;
    g.h = h;
    g.at = (float *)malloc(sizeof(float) * (size_t)w * (size_t)h);
    test_need(g.at != NULL, "out of memory");
    return g;
}

static int mirror(int i, int n) {
    return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
}

static int sample(const film *f, int i, int x, int y) {
    const unsigned char *at = f->luma + (size_t)i * f->plane_bytes;
    const size_t place = (size_t)y * (size_t)f->clip.width + (size_t)x;
    return f->bytes_per_sample == 1 ? at[place] : at[2 * place] | at[2 * place + 1] << 8;
}

static grid luma(const film *f, int i) {
    grid g = grid_make(f->clip.width, f->clip.height);
    for (int y = 0; y < g.h; y++)
        for (int x = 0; x < g.w; x++)
            g.at[y * g.w + x] = (float)sample(f, i, x, y) / (float)(1 << (f->clip.depth - 8));
    return g;
}

/* Returns the picture, reduced by the factor f as in float_ssim. */
static grid reduce(grid from, int f) {
    grid to = grid_make(from.w / f + (from.w & 1), from.h / f + (from.h & 1));
    const float k = 1.0f / (float)(f * f);
    for (int y = 0; y < to.h; y++) {
        for (int x = 0; x < to.w; x++) {
            double sum = 0;
            for (int j = 0; j < f; j++) {
                for (int i = 0; i < f; i++) {
                    const float p =
                        from.at[mirror(y * f - f / 2 + j, from.h) * from.w + mirror(x * f - f / 2 + i, from.w)] * k;
                    sum += (double)p;
                }
            }
            to.at[y * to.w + x] = (float)sum;
        }
    }
    return to;
}

/* Returns the picture for the next scale of float_ms_ssim. */
static grid halve(grid from) {
    static const float half[5][5] = { { 0.000714f, -0.000450f, -0.002090f, 0.007132f, 0.016114f },
                                      { 0, 0.000283f, 0.001316f, -0.004490f, -0.010146f },
                                      { 0, 0, 0.006115f, -0.020867f, -0.047149f },
                                      { 0, 0, 0, 0.071207f, 0.160885f },
                                      { 0, 0, 0, 0, 0.363505f } };
    grid to = grid_make((from.w + 1) / 2, (from.h + 1) / 2);
    for (int y = 0; y < to.h; y++) {
        for (int x = 0; x < to.w; x++) {
            double sum = 0;
            for (int j = 0; j < 9; j++) {
                for (int i = 0; i < 9; i++) {
                    const int a = j < 5 ? j : 8 - j, b = i < 5 ? i : 8 - i;
                    const float p = from.at[mirror(2 * y - 4 + j, from.h) * from.w + mirror(2 * x - 4 + i, from.w)] *
                                    (a < b ? half[a][b] : half[b][a]);
                    sum += (double)p;
                }
            }
            to.at[y * to.w + x] = (float)sum;
        }
    }
    return to;
}

static float eleven(const float *from, int step) {
    static const float g[6] = { 0.001028f, 0.007599f, 0.036001f, 0.109361f, 0.213006f, 0.266012f };
    double sum = 0;
    for (int k = 0; k < 11; k++) {
        const float p = from[k * step] * g[k < 6 ? k : 10 - k];
        sum += (double)p;
    }
    return (float)sum;
}

static grid windows(grid a, grid b) {
    grid across = grid_make(a.w - 10, a.h), to = grid_make(a.w - 10, a.h - 10), product = grid_make(a.w, a.h);
    for (int i = 0; i < a.w * a.h; i++)
        product.at[i] = b.at ? a.at[i] * b.at[i] : a.at[i];
    for (int y = 0; y < across.h; y++)
        for (int x = 0; x < across.w; x++)
            across.at[y * across.w + x] = eleven(product.at + y * a.w + x, 1);
    for (int y = 0; y < to.h; y++)
        for (int x = 0; x < to.w; x++)
            to.at[y * to.w + x] = eleven(across.at + y * to.w + x, to.w);
    free(across.at);
    free(product.at);
    return to;
}

static void compare_pictures(grid a, grid b, double means[SUMS]) {
    const float c1 = 6.50249958f, c2 = 58.5224953f, c3 = 29.2612476f;
    const grid none = { 0, 0, NULL };
    grid w[5];
    double sums[SUMS] = { 0, 0, 0, 0 };
    w[0] = windows(a, none);
    w[1] = windows(b, none);
    w[2] = windows(a, a);
    w[3] = windows(b, b);
    w[4] = windows(a, b);
    for (int i = 0; i < w[0].w * w[0].h; i++) {
        const float ma = w[0].at[i], mb = w[1].at[i], a2 = ma * ma, b2 = mb * mb, ab = ma * mb;
        float va = w[2].at[i] - a2, vb = w[3].at[i] - b2, cv = w[4].at[i] - ab, sg, top, bottom;
        double l, c, s;
        va = va < 0 ? 0 : va;
        vb = vb < 0 ? 0 : vb;
        sg = va * vb;
        sg = sqrtf(sg);
        cv = cv < 0 && sg <= 0 ? 0 : cv;
        bottom = a2 + b2;
        bottom = bottom + c1;
        l = (2.0 * (double)ma * (double)mb + (double)c1) / (double)bottom;
        bottom = va + vb;
        bottom = bottom + c2;
        c = (2.0 * (double)sg + (double)c2) / (double)bottom;
        top = cv + c3;
        bottom = sg + c3;
        top = top / bottom;
        s = (double)top;
        sums[0] += l * c * s;
        sums[1] += l;
        sums[2] += c;
        sums[3] += s;
    }
    for (int k = 0; k < SUMS; k++)
        means[k] = (double)(float)(sums[k] / (double)(w[0].w * w[0].h));
    for (int k = 0; k < 5; k++)
        free(w[k].at);
}

/* Computes the columns of float_psnr, float_moment, float_ssim and, if the film is large enough, float_ms_ssim. Returns
 * their number. */
static int formulas(const film *f, int scale, double *out) {
    static const float weights[SCALES] = { 0.0448f, 0.2856f, 0.3001f, 0.2363f, 0.1333f };
    grid a = luma(f, 0), b = luma(f, 1);
    const int w = a.w, h = a.h, side = w < h ? w : h;
    const double peak = 256 - 1.0 / (1 << (f->clip.depth - 8)), max = 6 * f->clip.depth + 12;
    double sums[5] = { 0, 0, 0, 0, 0 }, means[SUMS], total = 1;
    int n = 0, factor = scale ? scale : (int)((double)side / 256 + 0.5);
    for (int i = 0; i < w * h; i++) {
        const float d = a.at[i] - b.at[i], dd = d * d, aa = a.at[i] * a.at[i], bb = b.at[i] * b.at[i];
        sums[0] += (double)dd;
        sums[1] += (double)a.at[i];
        sums[2] += (double)b.at[i];
        sums[3] += (double)aa;
        sums[4] += (double)bb;
    }
    for (int k = 0; k < 5; k++)
        sums[k] /= (double)w * h;
    sums[0] = 10 * log10(peak * peak / (sums[0] > 1e-10 ? sums[0] : 1e-10));
    out[n++] = sums[0] < max ? sums[0] : max;
    for (int k = 1; k < 5; k++)
        out[n++] = sums[k];
    if (factor > 1) {
        grid ra = reduce(a, factor), rb = reduce(b, factor);
        compare_pictures(ra, rb, means);
        free(ra.at);
        free(rb.at);
    } else {
        compare_pictures(a, b, means);
    }
    for (int k = 0; k < SUMS; k++)
        out[n++] = means[k];
    if (side >= 176) {
        for (int k = 0; k < SCALES; k++) {
            compare_pictures(a, b, means);
            total *= pow(means[1], k == 4 ? (double)weights[k] : 0.0) * pow(means[2], (double)weights[k]) *
                     pow(means[3], (double)weights[k]);
            for (int i = 0; i < 3; i++)
                out[n + 1 + i * SCALES + k] = means[1 + i];
            if (k < 4) {
                grid next = halve(a);
                free(a.at);
                a = next;
                next = halve(b);
                free(b.at);
                b = next;
            }
        }
        out[n] = total;
        n += 1 + 3 * SCALES;
    }
    free(a.at);
    free(b.at);
    return n;
}

static void configure(vmafgpu_config *config, const film *f) {
    memset(config, 0, sizeof *config);
    config->width = f->clip.width;
    config->height = f->clip.height;
    config->bit_depth = f->clip.depth;
    config->chroma = VMAFGPU_CHROMA_400;
    config->features_only = 1;
    config->backend = VMAFGPU_BACKEND_CPU;
}

static void frame_of(const film *f, int i, vmafgpu_frame *frame) {
    memset(frame, 0, sizeof *frame);
    frame->data[0] = f->luma + (size_t)i * f->plane_bytes;
}

/* Compares the scores of a film with values computed from the formulas, with several numbers of threads and
 * instruction sets. If kind is not negative, the film is noise of this kind. */
static void test_film(const char *what, int kind, int w, int h, int depth, int scale) {
    static const struct {
        int threads;
        unsigned cpumask;
    } ways[] = { { 1, 0 }, { 1, 16 }, { 1, 255 }, { 3, 0 }, { 64, 0 } };
    vmafgpu_feature_config features[4];
    char options[64];
    double expected[32];
    film f = film_make(what, w, h, depth, 1, 7);
    int count;
    if (kind >= 0)
        film_fill_noise(&f, kind, (uint32_t)(w + h));
    count = formulas(&f, scale, expected);
    memset(features, 0, sizeof features);
    snprintf(options, sizeof options, "enable_lcs=true:scale=%d", scale);
    features[0].name = "float_psnr";
    features[1].name = "float_moment";
    features[2].name = "float_ssim";
    features[2].options = options;
    features[3].name = "float_ms_ssim";
    features[3].options = "enable_lcs=true";
    for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
        vmafgpu_config config;
        vmafgpu_frame frames[2];
        vmafgpu_score score;
        vmafgpu *context = NULL;
        configure(&config, &f);
        config.features = features;
        config.feature_count = count > 9 ? 4 : 3;
        config.threads = test_thread_count(ways[way].threads);
        config.cpumask = ways[way].cpumask;
        frame_of(&f, 0, &frames[0]);
        frame_of(&f, 1, &frames[1]);
        memset(&score, 0, sizeof score);
        snprintf(test_where, sizeof test_where, "%s %d %dx%d %d bits, scale %d, way %d", what, kind, w, h, depth, scale,
                 (int)way);
        if (CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_column_count(context), count)) {
            for (int k = 0; k < count; k++)
                CHECK_COMPUTED(score.values[k], expected[k]);
        }
        vmafgpu_close(context);
    }
    film_free(&f);
}

static void test_films(void) {
    /* clang-format off */
    static const struct {
        const char *what;
        int         kind, w, h, depth, scale;
    } films[] = {
        {"texture+mix", -1, 16, 16, 8, 0},    {"texture+mix", -1, 16, 17, 16, 0},    {"noise", 0, 17, 16, 10, 0},
        {"texture+mix", -1, 43, 38, 8, 0},    {"texture+mix", -1, 139, 31, 12, 0},   {"texture+mix", -1, 138, 75, 8, 1},
        {"noise", 0, 171, 139, 16, 1},        {"noise", 1, 171, 139, 8, 1},          {"texture+mix", -1, 22, 22, 8, 2},
        {"texture+mix", -1, 33, 33, 10, 3},   {"texture+mix", -1, 101, 111, 16, 10}, {"noise", 0, 333, 117, 8, 7},
        {"texture+mix", -1, 176, 176, 8, 0},  {"texture+mix", -1, 177, 191, 10, 0},  {"noise", 0, 191, 177, 12, 0},
        {"noise", 0, 333, 217, 16, 0},        {"noise", 1, 200, 180, 16, 3},
        {"texture+stretch", -1, 418, 383, 8, 0},
        {"texture+mix", -1, 517, 384, 10, 0}, {"texture+same", -1, 257, 178, 8, 1},  {"black+same", -1, 300, 200, 8, 0},
        {"flat+grain", -1, 290, 222, 8, 0},   {"blocks+invert", -1, 201, 190, 8, 1},
        {"dusk+faint", -1, 400, 401, 10, 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof films / sizeof films[0]; i++)
        test_film(films[i].what, films[i].kind, films[i].w, films[i].h, films[i].depth, films[i].scale);
}

/* With 16 bits, sums of squares are so large that they are rounded, so the order of additions matters. */
static void test_rounded_sums(void) {
    static const vmafgpu_feature_config features[2] = { { "float_psnr", NULL }, { "float_moment", NULL } };
    film f = film_make("black", 2081, 1201, 16, 1, 1);
    double expected[5] = { 0, 0, 0, 0, 0 };
    vmafgpu_config config;
    vmafgpu_frame frames[2];
    vmafgpu_score score;
    vmafgpu *context = NULL;
    const double n = 2081.0 * 1201.0, peak = 256 - 1.0 / 256;
    for (int i = 0; i < 2081 * 1201; i++) {
        const uint16_t value = (uint16_t)(65535u - (clip_hash((uint32_t)i, 1, 1) & 15));
        float d;
        clip_store(&value, 1, 2, f.luma + 2 * (size_t)i);
        d = (float)value / 256;
        expected[1] += (double)d;
        d = d * d;
        expected[3] += (double)d;
    }
    for (int k = 0; k < 5; k++)
        expected[k] /= n;
    expected[0] = 10 * log10(peak * peak / expected[3]);
    configure(&config, &f);
    config.features = features;
    config.feature_count = 2;
    config.threads = test_thread_count(2);
    frame_of(&f, 0, &frames[0]);
    frame_of(&f, 1, &frames[1]);
    memset(&score, 0, sizeof score);
    snprintf(test_where, sizeof test_where, "rounded sums");
    if (CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK) &&
        CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK) &&
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK) && CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_OK)) {
        for (int k = 0; k < 5; k++)
            CHECK_COMPUTED(score.values[k], expected[k]);
    }
    vmafgpu_close(context);
    film_free(&f);
}

#if !defined(VMAFGPU_NO_SSIM) && !defined(VMAFGPU_NO_FLOAT)
/* Tests that a mean reported as certain equals the mean of the same terms added in order. */
static void test_order(void) {
    static const vmafgpu_feature_config feature = { "float_ms_ssim", NULL };
    static const unsigned wanted[] = { 1, 12, 14, 15 }; /* bit masks: {all}, {c, s}, {l, c, s}, {all, l, c, s} */
    film f = film_make("texture+mix", 333, 217, 8, 1, 3);
    vmafgpu_config config;
    vmafgpu_frame frames[2];
    vmafgpu *v = NULL;
    configure(&config, &f);
    config.features = &feature;
    config.feature_count = 1;
    config.threads = test_thread_count(3);
    snprintf(test_where, sizeof test_where, "order");
    for (int seed = 0; seed < 20; seed++) {
        vmafgpu__pair_view pair;
        vmafgpu__carver carver;
        vmafgpu__ssim_task *t;
        film_fill_noise(&f, 0, (uint32_t)seed);
        if (!CHECK_INT(vmafgpu_open(&v, &config), VMAFGPU_OK))
            break;
        memset(&pair, 0, sizeof pair);
        for (int i = 0; i < 2; i++) {
            frame_of(&f, i, &frames[i]);
            pair.frame[i] = &frames[i];
            pair.luma[i].data = (const uint8_t *)frames[i].data[0];
            pair.luma[i].pitch = 333;
        }
        pair.functions = v->cpu->functions;
        carver.base = (unsigned char *)v->cpu->scratch;
        carver.base += (VMAFGPU__ALIGNMENT - (uintptr_t)carver.base % VMAFGPU__ALIGNMENT) % VMAFGPU__ALIGNMENT;
        carver.used = 0;
        t = vmafgpu__ssim_layout(v, &v->extractors[0], &carver);
        t->v = v;
        t->pair = &pair;
        for (t->at = 0; t->at < t->scales; t->at++) {
            double means[SUMS], sums[VMAFGPU__SSIM_SUMS];
            const double n = (double)((t->scale[t->at].w - 10) * (t->scale[t->at].h - 10));
            CHECK_INT(vmafgpu__ssim_in_order(t, sums), VMAFGPU_OK);
            for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
                CHECK_INT(vmafgpu__ssim_means(t, wanted[i], means), VMAFGPU_OK);
                for (int k = 0; k < SUMS; k++)
                    if (wanted[i] >> k & 1)
                        CHECK_BITS(means[k], (double)(float)(sums[k] / n));
            }
        }
        vmafgpu_close(v);
    }
    film_free(&f);
}

/* Tests that vmafgpu__ssim_mean() returns 1 if the error of the sum makes it uncertain to which float the mean must be
 * rounded. */
static void test_uncertain(void) {
    double mean;
    snprintf(test_where, sizeof test_where, "uncertain");
    CHECK_INT(vmafgpu__ssim_mean(100, 1e-9, 100, &mean), 0);
    CHECK_BITS(mean, 1.0);
    CHECK_INT(vmafgpu__ssim_mean(1 + 3.0 / (1 << 24), 1e-12, 1, &mean), 1); /* halfway between two floats */
    CHECK_INT(vmafgpu__ssim_mean(1 + 3.1 / (1 << 24), 1e-12, 1, &mean), 0);
    CHECK_INT(vmafgpu__ssim_mean(0, 1e-12, 1, &mean), 1);
}
#endif

static void test_refused(void) {
    /* clang-format off */
    static const struct {
        const char *name, *options;
        int         w, h, depth;
        const char *words;
    } bad[] = {
        {"float_ssim", "scale=2", 21, 16, 8, "11x11"},
        {"float_ssim", "scale=2", 64, 20, 8, "reduced by 2 to 32x10"},
        {"float_ssim", "scale=11", 640, 640, 8, "scale"},     {"float_ssim", "scale=-1", 640, 640, 8, "scale"},
        {"float_ssim", "scale=true", 640, 640, 8, "number"},
        {"float_ssim", "enable_lcs=1", 64, 64, 8, "true or false"},
        {"float_ssim", "enable_mse=true", 64, 64, 8, "unknown option"},
        {"float_ms_ssim", "scale=1", 640, 640, 8, "unknown option"},
        {"float_ms_ssim", NULL, 175, 176, 8, "176x176"},      {"float_ms_ssim", NULL, 176, 175, 8, "176x176"},
        {"float_ssim", NULL, 64, 64, 9, "bit depth (9)"},     {"float_ms_ssim", NULL, 200, 200, 14, "bit depth (14)"},
        {"float_psnr", NULL, 64, 64, 11, "bit depth (11)"},   {"float_moment", NULL, 64, 64, 15, "bit depth (15)"},
        {"float_psnr", "enable_mse=true", 64, 64, 8, "unknown option"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vmafgpu_feature_config feature;
        vmafgpu_config config;
        vmafgpu *context = NULL;
        feature.name = bad[i].name;
        feature.options = bad[i].options;
        memset(&config, 0, sizeof config);
        config.width = bad[i].w;
        config.height = bad[i].h;
        config.bit_depth = bad[i].depth;
        config.strict_options = 1;
        config.features = &feature;
        config.feature_count = 1;
        config.features_only = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        snprintf(test_where, sizeof test_where, "refused %d", (int)i);
        CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_FEATURE);
        CHECK_HAS(vmafgpu_last_error(context), bad[i].words);
        vmafgpu_close(context);
    }
}

/* Tests that, for identical pictures, values in decibels are infinite or, with clip_db, limited. */
static void test_decibels(void) {
    static const vmafgpu_feature_config features[2][2] = {
        { { "float_ssim", "enable_db=true" }, { "float_ms_ssim", "enable_db=true" } },
        { { "float_ssim", "enable_db=true:clip_db=true" }, { "float_ms_ssim", "enable_db=true:clip_db=true" } },
    };
    film f = film_make("texture+same", 320, 240, 8, 1, 5);
    for (int clipped = 0; clipped < 2; clipped++) {
        vmafgpu_config config;
        vmafgpu_frame frames[2];
        vmafgpu_score score;
        vmafgpu *context = NULL;
        configure(&config, &f);
        config.features = features[clipped];
        config.feature_count = 2;
        frame_of(&f, 0, &frames[0]);
        frame_of(&f, 1, &frames[1]);
        memset(&score, 0, sizeof score);
        snprintf(test_where, sizeof test_where, "decibels %d", clipped);
        if (CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK) &&
            CHECK_INT(vmafgpu_score_at(context, 0, &score), VMAFGPU_OK)) {
            for (int k = 0; k < 2; k++)
                CHECK_BITS(score.values[k], clipped ? ceil(10. * log10(65025.0 / (0.5 / (320.0 * 240.0)))) : HUGE_VAL);
        }
        vmafgpu_close(context);
    }
    film_free(&f);
}

/* Tests what a build without some features rejects. The Makefile excludes these features from this program. */
static void test_left_out(void) {
#if defined(VMAFGPU_NO_EDITS) && defined(VMAFGPU_NO_RGB) && defined(VMAFGPU_NO_ADM) && defined(VMAFGPU_NO_GPU)
    static const struct {
        const char *feature;
        int edit, slopes, blocks, rgb, model;
        vmafgpu_backend backend;
        vmafgpu_result result;
        const char *words;
    } opens[] = {
        { "adm", 0, 0, 0, 0, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_FEATURE,
          "feature adm: not part of this build (VMAFGPU_NO_ADM)" },
        { "cambi", 0, 0, 0, 0, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_FEATURE,
          "feature cambi: not part of this build (VMAFGPU_NO_CAMBI)" },
        { "nothing", 0, 0, 0, 0, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_FEATURE,
          "unknown feature ('nothing'); use psnr, float_psnr, float_moment, float_ssim, float_ms_ssim, float_adm, "
          "float_ansnr, float_motion or float_vif" },
        { "psnr", 0, 0, 0, 0, 1, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_MODEL,
          "model 'vmaf_v0.6.1': requires feature adm, which is not part of this build (VMAFGPU_NO_ADM)" },
        { "psnr", 0, 0, 0, 0, 2, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_MODEL,
          "model 'vmaf_v0.6.1': requires feature adm, which is not part of this build (VMAFGPU_NO_ADM)" },
        { "psnr", 16, 0, 0, 0, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_STATE,
          "config.max_edit_size: edits are not part of this build (16, VMAFGPU_NO_EDITS)" },
        { "psnr", 0, 1, 0, 0, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_STATE,
          "config.slopes: edits are not part of this build (1, VMAFGPU_NO_EDITS)" },
        { "psnr", 0, 0, 16, 0, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_STATE,
          "config.map_block_size: edits are not part of this build (16, VMAFGPU_NO_EDITS)" },
        { "psnr", 0, 0, 0, 1, 0, VMAFGPU_BACKEND_CPU, VMAFGPU_ERROR_ARGUMENT,
          "config.colour.matrix: RGB frames are not part of this build (VMAFGPU_NO_RGB)" },
        { "psnr", 0, 0, 0, 0, 0, VMAFGPU_BACKEND_CUDA, VMAFGPU_ERROR_BACKEND,
          "GPU backend: not part of this build (VMAFGPU_NO_GPU)" },
        { "psnr", 0, 0, 0, 0, 0, VMAFGPU_BACKEND_AUTO, VMAFGPU_OK, "" },
    };
    for (size_t i = 0; i < sizeof opens / sizeof opens[0]; i++) {
        vmafgpu_feature_config feature;
        vmafgpu_model_config model;
        vmafgpu_config config;
        vmafgpu *v;
        memset(&feature, 0, sizeof feature);
        memset(&model, 0, sizeof model);
        memset(&config, 0, sizeof config);
        feature.name = opens[i].feature;
        feature.options = strcmp(feature.name, "psnr") ? NULL : "enable_chroma=false";
        model.options = opens[i].model > 1 ? "adm.adm_enhn_gain_limit=1" : NULL;
        config.width = 64;
        config.height = 48;
        config.features = &feature;
        config.feature_count = 1;
        config.features_only = !opens[i].model;
        config.models = opens[i].model ? &model : NULL;
        config.model_count = opens[i].model != 0;
        config.max_edit_size = opens[i].edit;
        config.slopes = opens[i].slopes;
        config.map_block_size = opens[i].blocks;
        config.live = opens[i].blocks != 0;
        config.colour.matrix = opens[i].rgb ? VMAFGPU_MATRIX_BT709 : config.colour.matrix;
        config.colour.range = opens[i].rgb ? VMAFGPU_RANGE_FULL : config.colour.range;
        config.backend = opens[i].backend;
        snprintf(test_where, sizeof test_where, "left out: %s", opens[i].words);
        CHECK_INT(vmafgpu_open(&v, &config), opens[i].result);
        CHECK_HAS(vmafgpu_last_error(v), opens[i].words);
        if (opens[i].result == VMAFGPU_OK) {
            static const char words[] = "config.max_edit_size: edits are not part of this build (0, VMAFGPU_NO_EDITS)";
            int size;
            CHECK_HAS(vmafgpu_backend_note(v), "GPU backend: not part of this build (VMAFGPU_NO_GPU)");
#define LEFT_OUT(call) (CHECK_INT(call, VMAFGPU_ERROR_STATE) && CHECK_STR(vmafgpu_last_error(v), words))
            LEFT_OUT(vmafgpu_edit_begin(v, NULL, NULL, NULL, NULL, NULL));
            LEFT_OUT(vmafgpu_edit_try(v, NULL, 1, NULL, NULL));
            LEFT_OUT(vmafgpu_edit_commit(v, NULL, 1, NULL));
            LEFT_OUT(vmafgpu_edit_gradient(v, NULL));
            LEFT_OUT(vmafgpu_edit_blocks(v, 16, NULL, &size, &size));
            LEFT_OUT(vmafgpu_edit_slopes(v, NULL, 0, VMAFGPU_MEMORY_HOST));
            LEFT_OUT(vmafgpu_slopes_next(v, NULL, 0, VMAFGPU_MEMORY_HOST));
#undef LEFT_OUT
            CHECK_INT(vmafgpu_request_map(v, NULL, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
            CHECK_INT(vmafgpu_map_blocks(v, NULL, NULL), 0);
        }
        vmafgpu_close(v);
    }
#else
    test_skip("the features that are left out (this build contains them)");
#endif
}

int main(void) {
    test_films();
    test_rounded_sums();
#if !defined(VMAFGPU_NO_SSIM) && !defined(VMAFGPU_NO_FLOAT)
    test_order();
    test_uncertain();
#endif
    test_refused();
    test_decibels();
    test_left_out();
    return test_end();
}
