/* Tests CAMBI, SpEED chroma and the v1 models: chroma layouts, threads, sizes, options, heat maps, backends, errors,
 * and clips in segments. test_figures.c compares the values with libvmaf. */
#include <math.h>

#include "scoring.h"

static const char *const v1 = "vmaf_v1.0.16_3d0h";

/* A config with a model and the feature CAMBI, which also measures the reference (option full_ref). */
typedef struct setup {
    vmafgpu_config config;
    vmafgpu_model_config model;
    vmafgpu_feature_config features[2];
} setup;

static void setup_init(setup *s, const film *f, const char *version) {
    memset(s, 0, sizeof *s);
    s->config = film_config(f);
    s->model.version = version;
    s->config.models = &s->model;
    s->config.model_count = 1;
    s->features[0].name = "cambi";
    s->features[0].options = "full_ref=true";
    s->config.features = s->features;
    s->config.feature_count = 1;
}

/* ---- layouts ---- */

enum { GUARD = 64 };

/* A frame of the film in a different layout, with shifted samples, interleaved chroma, wider or negative pitches, guard
 * bytes. */
typedef struct repacked {
    vmafgpu_frame frame;
    unsigned char *memory[3];
} repacked;

static void put_sample(unsigned char *at, unsigned value, int bytes) {
    at[0] = (unsigned char)(value & 255);
    if (bytes == 2)
        at[1] = (unsigned char)(value >> 8);
}

static repacked repack(const film *f, const vmafgpu_config *c, int frame, int side, int upside_down) {
    vmafgpu_frame from = film_frame(f, frame, side);
    int interleaved = c->layout != VMAFGPU_LAYOUT_PLANAR, bytes = c->bytes_per_sample;
    int shift = c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0;
    repacked r;
    memset(&r, 0, sizeof r);
    for (int plane = 0; plane < 3; plane++) {
        int w = clip_plane_width(&f->clip, plane), h = clip_plane_height(&f->clip, plane);
        int target = interleaved && plane ? 1 : plane, step = (interleaved && plane ? 2 : 1) * bytes;
        ptrdiff_t pitch = (ptrdiff_t)w * step + 7;
        size_t size = (size_t)pitch * (size_t)h;
        unsigned char *top;
        if (!r.memory[target]) {
            r.memory[target] = (unsigned char *)malloc(size + 2 * GUARD);
            test_need(r.memory[target] != NULL, "out of memory");
            memset(r.memory[target], 0xEE, size + 2 * GUARD);
        }
        top = r.memory[target] + GUARD + (upside_down ? (h - 1) * pitch : 0);
        pitch = upside_down ? -pitch : pitch;
        for (int y = 0; y < h; y++) {
            for (int x = 0; x < w; x++) {
                const unsigned char *in = (const unsigned char *)from.data[plane] +
                                          ((size_t)y * (size_t)w + (size_t)x) * (size_t)f->bytes_per_sample;
                unsigned value = f->bytes_per_sample == 2 ? in[0] | (unsigned)in[1] << 8 : in[0];
                put_sample(top + y * pitch + x * step + (interleaved && plane == 2 ? bytes : 0), value << shift, bytes);
            }
        }
        r.frame.data[target] = top;
        r.frame.pitch[target] = pitch;
    }
    return r;
}

static void repacked_free(repacked *r) {
    for (int i = 0; i < 3; i++)
        free(r->memory[i]);
}

static void test_layouts(void) {
    /* clang-format off */
    static const struct {
        const char    *name;
        int            depth, bytes, chroma, upside_down;
        vmafgpu_layout layout;
    } ways[] = {
        {"planar", 8, 1, 420, 1, VMAFGPU_LAYOUT_PLANAR},        {"planar words", 8, 2, 420, 0, VMAFGPU_LAYOUT_PLANAR},
        {"nv12", 8, 1, 420, 0, VMAFGPU_LAYOUT_SEMIPLANAR},      {"nv16", 8, 1, 422, 0, VMAFGPU_LAYOUT_SEMIPLANAR},
        {"nv24", 8, 1, 444, 1, VMAFGPU_LAYOUT_SEMIPLANAR},      {"nv12 words", 8, 2, 420, 1, VMAFGPU_LAYOUT_SEMIPLANAR},
        {"nv20", 10, 2, 422, 0, VMAFGPU_LAYOUT_SEMIPLANAR},     {"p010", 10, 2, 420, 0, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {"p210", 10, 2, 422, 1, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {"p410", 10, 2, 444, 0, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {"p012", 12, 2, 420, 0, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {"p016", 16, 2, 420, 0, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {"9 bits", 9, 2, 444, 0, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {"15 bits", 15, 2, 420, 0, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        film f = film_make_colour("bands+blur", 361, 323, ways[i].depth, ways[i].chroma, 2, 3);
        setup s;
        scores planar, got;
        vmafgpu *context;
        setup_init(&s, &f, v1);
        snprintf(test_where, sizeof test_where, "%s", ways[i].name);
        planar = film_score(&f, &s.config);
        s.config.bytes_per_sample = ways[i].bytes;
        s.config.layout = ways[i].layout;
        context = open_checked(&s.config);
        for (int k = 0; context && k < f.clip.frames; k++) {
            repacked r = repack(&f, &s.config, k, 0, ways[i].upside_down);
            repacked d = repack(&f, &s.config, k, 1, ways[i].upside_down);
            CHECK_INT(vmafgpu_push(context, &r.frame, &d.frame), VMAFGPU_OK);
            repacked_free(&r);
            repacked_free(&d);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        got = scores_of(context);
        check_same_scores(&got, &planar);
        CHECK(planar.values[1] > 0);
        scores_free(&got);
        scores_free(&planar);
        vmafgpu_close(context);
        film_free(&f);
    }
}

/* ---- threads ---- */

static void backwards(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    ++*(int *)user;
    for (int i = count - 1; i >= 0; i--)
        task(arg, i);
}

/* Together, the films cover all code paths of pooling and several window sizes. */
static void test_threads(void) {
    static const struct {
        const char *what, *features;
        int width, height, depth, chroma, frames;
    } films[] = { { "bands+blur", "full_ref=true", 480, 352, 8, 420, 2 },
                  { "dusk+stretch", "topk=0.05:full_ref=true", 333, 217, 10, 444, 2 },
                  { "texture+mix", "window_size=127", 217, 390, 16, 422, 2 },
                  { "bands+same", "max_log_contrast=5", 2560, 1440, 8, 420, 1 } }; /* here, a sum is rounded */
    for (size_t i = 0; i < sizeof films / sizeof films[0]; i++) {
        film f = film_make_colour(films[i].what, films[i].width, films[i].height, films[i].depth, films[i].chroma,
                                  films[i].frames, 9);
        setup s;
        scores one;
        setup_init(&s, &f, v1);
        s.features[0].options = films[i].features;
        one = film_score(&f, &s.config);
        for (int threads = 2; threads <= (films[i].frames > 1 ? 8 : 3); threads += threads < 4 ? 1 : 4) {
            scores many;
            int calls = 0;
            snprintf(test_where, sizeof test_where, "%s, threads %d", films[i].what, threads);
            s.config.threads = threads == 3 ? 3 : test_thread_count(threads);
            s.config.parallel_for = threads == 3 ? backwards : NULL;
            s.config.parallel_for_user = &calls;
            many = film_score(&f, &s.config);
            check_same_scores(&many, &one);
            CHECK(threads != 3 || calls > 0);
            scores_free(&many);
        }
        scores_free(&one);
        film_free(&f);
    }
}

/* ---- errors ---- */

static void check_refused(const vmafgpu_config *config, vmafgpu_result expected, const char *words) {
    vmafgpu *context = NULL;
    CHECK_STR(vmafgpu_result_name(vmafgpu_open(&context, config)), vmafgpu_result_name(expected));
    CHECK_HAS(vmafgpu_last_error(context), words);
    vmafgpu_close(context);
}

/* Pictures with the minimum width or height are scored, and pictures that are one pixel smaller are rejected with a
 * message. test_figures.c compares the values for the smallest pictures with libvmaf. */
static void test_sizes(void) {
    static const struct {
        int chroma, width, height, less_width, less_height;
        const char *version, *words;
    } sizes[] = {
        { 420, 216, 160, 1, 0, "vmaf_v1.0.16_3d0h", "(215x160); use 216 or more pixels in width or height" },
        { 420, 216, 160, 0, 1, "vmaf_v1.0.16_3d0h",
          "(108x79, times speed_prescale 1); use at least 80x80 after scaling" },
        { 420, 160, 216, 1, 0, "vmaf_v1.0.16_hfr_3d0h",
          "(79x108, times speed_prescale 1); use at least 80x80 after scaling" },
        { 422, 160, 216, 0, 1, "vmaf_v1.0.16_1d5h_2160", "(160x215); use 216 or more pixels in width or height" },
        { 444, 80, 216, 1, 0, "vmaf_v1.0.16_3d0h", "(79x216, times speed_prescale 1)" },
        { 420, 318, 318, 1, 0, "vmaf_v1.0.16_3d0h_2160", "(158x159, times speed_prescale 0.5)" },
        { 420, 318, 318, 0, 1, "vmaf_v1.0.16_hfr_3d0h_2160", "(159x158, times speed_prescale 0.5)" },
        { 444, 216, 133, 0, 1, "vmaf_v1.0.16_5d0h", "(216x132, times speed_prescale 0.6)" },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        film f = film_make_colour("bands+blur", sizes[i].width, sizes[i].height, 8, sizes[i].chroma, 2, 1);
        setup s;
        scores whole;
        snprintf(test_where, sizeof test_where, "%dx%d %s", sizes[i].width, sizes[i].height, sizes[i].version);
        setup_init(&s, &f, sizes[i].version);
        whole = film_score(&f, &s.config);
        CHECK_INT(whole.rows, 2);
        scores_free(&whole);
        s.config.width -= sizes[i].less_width;
        s.config.height -= sizes[i].less_height;
        check_refused(&s.config, VMAFGPU_ERROR_FEATURE, sizes[i].words);
        film_free(&f);
    }
}

static void test_options(void) {
    static const struct {
        int width, height;
        const char *feature, *options, *words;
    } bad[] = {
        { 480, 352, "cambi", "cambi_eotf=hlg", "invalid value ('hlg'); use one of bt1886,pq" },
        { 480, 352, "cambi", "eotf=", "invalid value (''); use one of bt1886,pq" },
        { 480, 352, "cambi", "eotf=hlg", "invalid value ('hlg'); use one of bt1886,pq" },
        { 480, 352, "cambi", "eotf=hlg:cambi_eotf=bt1886", "invalid value ('hlg'); use one of bt1886,pq" },
        { 480, 352, "cambi", "eotf=\"hlg\":cambi_eotf=pq", "use one of bt1886,pq" },
        { 480, 352, "cambi", "eotf=bt1886,pq", "use one of" },
        { 480, 352, "cambi", "heatmaps_path=/tmp", "feature cambi, option heatmaps_path: requires config.on_heatmap" },
        { 480, 352, "cambi", "enc_width=100", "use 180..7680" },
        { 480, 352, "cambi", "enc_width=0", "use 180..7680" },
        { 480, 352, "cambi", "src_height=199", "use 200..4320" },
        { 480, 352, "cambi", "topk=0", "topk" },
        { 480, 352, "cambi", "full_ref=1", "true or false" },
        { 480, 352, "cambi", "max_log_contrast=6", "use 0..5" },
        { 480, 352, "cambi", "window_size=14", "use 15..127" },
        { 480, 352, "cambi", "cambi_vis_lum_threshold=200", "cambi_vis_lum_threshold: excludes all samples" },
        { 480, 352, "cambi", "cambi_vis_lum_threshold=300", "cambi_vis_lum_threshold: excludes all samples" },
        { 480, 352, "cambi", "enc_width=200:enc_height=200", "(200x200); use 216 or more pixels in width or height" },
        { 480, 352, "cambi", "src_width=640:src_height=300", "one is wider" },
        { 480, 352, "cambi", "cambi_banana=1", "unknown option ('cambi_banana')" },
        { 4096, 2160, "cambi", "cambi_high_res_speedup=0",
          "window is too large (67 pixels for a picture of 4096x2160" },
        { 7680, 4320, "cambi", "window_size=65", "window is too large (131 pixels" },
        { 3840, 240, "cambi", "window_size=65", "picture is too small (3840x240)" },
        { 16384, 16384, "cambi", "window_size=15", "window is too large" },
        { 480, 352, "speed_chroma", "speed_prescale_method=area", "use one of nearest,bilinear,bicubic,lanczos4" },
        { 480, 352, "speed_chroma", "speed_kernelscale=1.1", "option speed_kernelscale: unsupported value (1.1)" },
        { 480, 352, "speed_chroma", "speed_prescale=0.1", "80x80 after scaling" },
        { 4096, 2160, "speed_chroma", "speed_prescale=1.0005", "too close to 1 (1.0005)" },
        { 480, 352, "speed_chroma", "speed_weight_var_mode=7", "use 0..6" },
    };
    vmafgpu_feature_config feature;
    vmafgpu_config config;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        memset(&config, 0, sizeof config);
        feature.name = bad[i].feature;
        feature.options = bad[i].options;
        config.width = bad[i].width;
        config.height = bad[i].height;
        config.features_only = 1;
        config.features = &feature;
        config.feature_count = 1;
        config.strict_options = 1;
        snprintf(test_where, sizeof test_where, "%s %s", bad[i].feature, bad[i].options);
        check_refused(&config, VMAFGPU_ERROR_FEATURE, bad[i].words);
    }
    snprintf(test_where, sizeof test_where, "4:0:0");
    config.width = 480;
    config.height = 352;
    config.chroma = VMAFGPU_CHROMA_400;
    feature.name = "speed_chroma";
    feature.options = NULL;
    check_refused(&config, VMAFGPU_ERROR_FEATURE, "config.chroma is 4:0:0");
    {
        vmafgpu_model_config model;
        memset(&model, 0, sizeof model);
        model.version = v1;
        config.features_only = config.feature_count = 0;
        config.models = &model;
        config.model_count = 1;
        check_refused(&config, VMAFGPU_ERROR_FEATURE, "config.chroma is 4:0:0");
        config.chroma = VMAFGPU_CHROMA_420;
        model.options = "cambi.nothing=1";
        check_refused(&config, VMAFGPU_ERROR_FEATURE, "nothing");
        model.options = "banana.enable=1";
        check_refused(&config, VMAFGPU_ERROR_FEATURE, "use feature.option=value, with feature adm, vif, motion, cambi");
    }
}

/* ---- heat maps ---- */

enum { MAP_BYTES = 1 << 20 };

/* The samples of all heat maps, one after another. */
typedef struct maps {
    int count;
    size_t used;
    uint16_t samples[MAP_BYTES];
    vmafgpu_heatmap first[5]; /* heat maps of frame 0 */
    char path[64];
} maps;

static void copy_map(void *user, const vmafgpu_heatmap *map) {
    maps *m = (maps *)user;
    const size_t samples = (size_t)map->width * (size_t)map->height;
    CHECK_INT(map->index, m->count / 5);
    CHECK_INT(map->scale, m->count % 5);
    if (m->count < 5) {
        m->first[m->count] = *map;
        m->first[m->count].samples = m->samples + m->used;
    }
    m->count++;
    snprintf(m->path, sizeof m->path, "%s", map->path);
    if (CHECK(m->used + samples <= MAP_BYTES)) {
        memcpy(m->samples + m->used, map->samples, sizeof *map->samples * samples);
        m->used += samples;
    }
}

static int falling(const void *a, const void *b) {
    return (int)*(const uint16_t *)b - (int)*(const uint16_t *)a;
}

/* Computes CAMBI of frame 0 from its heat maps, as precisely as their samples allow. A window has window * window
 * samples, and the sample 65535 represents the value `most`. */
static double cambi_of(maps *m, int window, int most) {
    double score = 0;
    for (int s = 0; s < 5; s++) {
        const int samples = m->first[s].width * m->first[s].height, top = (int)(0.6 * samples);
        double sum = 0;
        uint16_t *sorted = (uint16_t *)malloc(sizeof *sorted * (size_t)samples);
        test_need(sorted != NULL, "out of memory");
        memcpy(sorted, m->first[s].samples, sizeof *sorted * (size_t)samples);
        qsort(sorted, (size_t)samples, sizeof *sorted, falling);
        for (int i = 0; i < top; i++)
            sum += (double)sorted[i] * most / 65535;
        free(sorted);
        score += sum / top * (16 >> s);
    }
    return score / (window * window);
}

static void test_heatmaps(void) {
    static maps one, other;
    film f = film_make("bands+blur", 289, 225, 8, 3, 61);
    vmafgpu_feature_config features[2];
    vmafgpu_config config = film_config(&f);
    vmafgpu_frame frames[2] = { film_frame(&f, 0, 0), film_frame(&f, 0, 1) };
    vmafgpu_score score;
    vmafgpu *context;
    scores with, without;
    char path[] = "some/where"; /* vmafgpu_open() copies the string */
    char options[64];
    snprintf(test_where, sizeof test_where, "heat maps");
    memset(features, 0, sizeof features);
    features[0].name = "cambi";
    config.features_only = 1;
    config.features = features;
    config.feature_count = 1;
    without = film_score(&f, &config);
    config.on_heatmap = copy_map;
    config.on_heatmap_user = &one;
    with = film_score(&f, &config);
    CHECK_INT(one.count, 0); /* heatmaps_path is not set */
    scores_free(&with);
    snprintf(options, sizeof options, "heatmaps_path=%s", path);
    features[0].options = options;
    with = film_score(&f, &config);
    check_same_scores(&with, &without);
    scores_free(&with);
    CHECK_INT(one.count, 15);
    CHECK_STR(one.path, path);
    for (int s = 0; s < 5; s++) {
        CHECK_INT(one.first[s].width, (289 + (1 << s) - 1) >> s);
        CHECK_INT(one.first[s].height, (225 + (1 << s) - 1) >> s);
        CHECK_INT(one.first[s].named_width, one.first[s].width);
        CHECK_INT(one.first[s].named_height, one.first[s].height);
    }
    {
        const int window = (65 * (289 + 225) / 375 >> 4) | 1;
        const double rebuilt = cambi_of(&one, window, 4 * window * window / 4);
        CHECK(without.values[0] > 1);
        CHECK(fabs(rebuilt - without.values[0]) < 1e-4 * without.values[0]);
    }
    for (int way = 0; way < 3; way++) {
        memset(&other, 0, sizeof other);
        config.on_heatmap_user = &other;
        config.threads = test_thread_count(way == 0 ? 3 : 1);
        config.cpumask = way == 1 ? 255 : 0;
        config.contexts_per_pass = way == 2 ? 2 : 1;
        context = open_checked(&config);
        memset(options, 'x', sizeof options - 1);
        snprintf(options, sizeof options, "heatmaps_path=%s", path);
        for (int i = 0; i < 3; i++) {
            frames[0] = film_frame(&f, i, 0);
            frames[1] = film_frame(&f, i, 1);
            CHECK_INT(vmafgpu_score_pair(context, &frames[0], &frames[1], NULL, &score), VMAFGPU_OK);
            CHECK_INT(vmafgpu_push_many(&context, 1, &frames[0], &frames[1], NULL), VMAFGPU_OK);
        }
        CHECK_INT(other.count, one.count);
        CHECK(other.used == one.used && memcmp(other.samples, one.samples, one.used * sizeof *one.samples) == 0);
        vmafgpu_close(context);
    }
    scores_free(&without);
    film_free(&f);
    {
        film large = film_make("bands+blur", 1921, 1081, 8, 1, 61);
        vmafgpu_config high = film_config(&large);
        static maps half;
        snprintf(test_where, sizeof test_where, "heat maps at half the size");
        features[0].options = "heatmaps_path=p:cambi_high_res_speedup=1080";
        features[1].name = "cambi"; /* has the same columns as the first feature, so it is ignored */
        features[1].options = "heatmaps_path=q:cambi_high_res_speedup=1080";
        high.features_only = 1;
        high.features = features;
        high.feature_count = 2;
        high.on_heatmap = copy_map;
        high.on_heatmap_user = &half;
        without = film_score(&large, &high);
        CHECK_INT(half.count, 5);
        CHECK_STR(half.path, "p");
        CHECK_INT(half.first[0].width, 961);
        CHECK_INT(half.first[0].named_width, 1921);
        CHECK_INT(half.first[4].height, 34);
        CHECK_INT(half.first[4].named_height, 68);
        scores_free(&without);
        film_free(&large);
    }
}

/* An invalid eotf is ignored if cambi_eotf overrides it, but it still appears in the column name. */
static void test_eotf(void) {
    static const char *const same[2] = { "cambi_eotf=pq", "eotf=hlg:cambi_eotf=pq" };
    film f = film_make("bands+blur", 240, 224, 10, 1, 2);
    scores s[2];
    snprintf(test_where, sizeof test_where, "eotf");
    for (int i = 0; i < 2; i++) {
        vmafgpu_config config = film_config(&f);
        vmafgpu_feature_config feature;
        vmafgpu *context;
        feature.name = "cambi";
        feature.options = same[i];
        config.features_only = 1;
        config.features = &feature;
        config.feature_count = 1;
        context = open_checked(&config);
        CHECK_STR(vmafgpu_column_name(context, 0), i ? "cambi_ceot_pq_eotf_hlg" : "cambi_ceot_pq");
        vmafgpu_close(context);
        s[i] = film_score(&f, &config);
    }
    check_same_scores(&s[1], &s[0]);
    scores_free(&s[0]);
    scores_free(&s[1]);
    film_free(&f);
}

/* Tests that models and features with the same options share an extractor. The number of different option sets is
 * limited. */
static void test_sharing(void) {
    film f = film_make_colour("bands+blur", 240, 224, 8, 444, 1, 2);
    vmafgpu_model_config models[2];
    vmafgpu_feature_config features[9];
    vmafgpu_config config = film_config(&f);
    vmafgpu *context;
    static const char *const sizes[9] = { "window_size=15", "window_size=24", "window_size=33",
                                          "window_size=42", "window_size=51", "window_size=60",
                                          "window_size=69", "window_size=78", "window_size=87" };
    snprintf(test_where, sizeof test_where, "sharing");
    memset(models, 0, sizeof models);
    memset(features, 0, sizeof features);
    models[0].version = v1;
    models[1].version = "vmaf_v1.0.16_1d5h_2160";
    models[1].name = "near";
    config.models = models;
    config.model_count = 2;
    features[0].name = "cambi";
    features[0].options = "cambi_vis_lum_threshold=0.06:cambi_max_val=17:cambi_high_res_speedup=1080";
    config.features = features;
    config.feature_count = 1;
    context = open_checked(&config);
    CHECK_INT(vmafgpu_column_count(context), 1 + 3 + 2 * 7 + 3 + 2);
    CHECK_STR(vmafgpu_column_name(context, 0), "cambi_hrs_1080_cmxv_17_vlt_0.06");
    CHECK_STR(vmafgpu_column_name(context, 3), "speed_chroma_uv_mxv_45_nnf_0.1_snn_0.19_wvm_5");
    vmafgpu_close(context);

    config.features_only = 1;
    config.model_count = 0;
    config.feature_count = 9;
    for (int i = 0; i < 9; i++) {
        features[i].name = "cambi";
        features[i].options = sizes[i];
    }
    context = NULL;
    config.width = config.height = 1000; /* makes all window sizes different */
    CHECK_INT(vmafgpu_open(&context, &config), VMAFGPU_ERROR_FEATURE);
    CHECK_HAS(vmafgpu_last_error(context), "feature cambi: too many sets of options; use at most 8");
    vmafgpu_close(context);
    config.feature_count = 8;
    vmafgpu_close(open_checked(&config));
    film_free(&f);
}

static void test_backends(void) {
    film f = film_make_colour("bands+blur", 240, 224, 8, 444, 1, 2);
    setup s;
    vmafgpu *context;
    snprintf(test_where, sizeof test_where, "backends");
    setup_init(&s, &f, v1);
    s.config.gpu.driver_path = "/there/is/no/library.so";
    s.config.backend = VMAFGPU_BACKEND_CUDA;
    check_refused(&s.config, VMAFGPU_ERROR_BACKEND, "/there/is/no/library.so");
    s.config.backend = VMAFGPU_BACKEND_AUTO;
    s.config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
    check_refused(&s.config, VMAFGPU_ERROR_BACKEND, "/there/is/no/library.so");
    s.config.gpu.frame_memory = VMAFGPU_MEMORY_HOST;
    context = open_checked(&s.config);
    CHECK_STR(vmafgpu_backend_name(context), "cpu");
    CHECK_HAS(vmafgpu_backend_note(context), "/there/is/no/library.so");
    CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
    vmafgpu_close(context);
    s.config.gpu.driver_path = NULL;
    s.config.backend = VMAFGPU_BACKEND_CPU;
    context = open_checked(&s.config);
    CHECK_STR(vmafgpu_backend_note(context), "");
    vmafgpu_close(context);
    film_free(&f);
}

/* ---- frames ---- */

/* Pushes an illegal chroma sample. The message must name its position, and the pair must not be counted. The corrected
 * pair must then be accepted. */
static void test_bad_chroma(void) {
    for (int way = 0; way < 8; way++) {
        const int high = way & 1, side = way >> 1 & 1, plane = 1 + (way >> 2);
        film f = film_make_colour("bands+blur", 240, 224, 10, 444, 2, 2);
        setup s;
        scores whole, got;
        vmafgpu *context;
        vmafgpu_score score;
        setup_init(&s, &f, v1);
        whole = film_score(&f, &s.config);
        s.config.layout = high ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
        s.config.bytes_per_sample = 2;
        s.config.threads = test_thread_count(1 + way % 3);
        snprintf(test_where, sizeof test_where, "bad chroma, way %d", way);
        context = open_checked(&s.config);
        for (int i = 0; i < 2; i++) {
            repacked p[2];
            p[0] = repack(&f, &s.config, i, 0, 0);
            p[1] = repack(&f, &s.config, i, 1, 0);
            if (i == 1) {
                vmafgpu_frame *bad = &p[side].frame;
                unsigned char *at = high ? (unsigned char *)bad->data[1] + 33 * bad->pitch[1] + 4 * 17 + 2 * (plane - 1)
                                         : (unsigned char *)bad->data[plane] + 33 * bad->pitch[plane] + 2 * 17;
                unsigned char keep = at[high ? 0 : 1];
                at[high ? 0 : 1] ^= high ? 1 : 0x80;
                CHECK_INT(vmafgpu_push(context, &p[0].frame, &p[1].frame), VMAFGPU_ERROR_FRAME);
                CHECK_HAS(vmafgpu_last_error(context), side ? "frame 1, distorted" : "frame 1, reference");
                CHECK_HAS(vmafgpu_last_error(context), plane == 2 ? "chroma v sample " : "chroma u sample ");
                CHECK_HAS(vmafgpu_last_error(context), " at column 17, row 33)");
                CHECK_INT(vmafgpu_score_pair(context, &p[0].frame, &p[1].frame, NULL, &score), VMAFGPU_ERROR_FRAME);
                at[high ? 0 : 1] = keep;
            }
            CHECK_INT(vmafgpu_push(context, &p[0].frame, &p[1].frame), VMAFGPU_OK);
            repacked_free(&p[0]);
            repacked_free(&p[1]);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        got = scores_of(context);
        check_same_scores(&got, &whole);
        scores_free(&got);
        scores_free(&whole);
        vmafgpu_close(context);
        film_free(&f);
    }
}

static void test_bad_frames(void) {
    film f = film_make_colour("bands+blur", 240, 224, 8, 420, 2, 2);
    setup s;
    vmafgpu *context;
    vmafgpu_frame good = film_frame(&f, 0, 0), bad;
    vmafgpu_score score;
    snprintf(test_where, sizeof test_where, "bad frames");
    setup_init(&s, &f, v1);
    s.config.subsample = 2;
    context = open_checked(&s.config);
    for (int plane = 1; plane <= 2; plane++) {
        char words[64];
        bad = good;
        bad.data[plane] = NULL;
        snprintf(words, sizeof words, "distorted.data[%d] is NULL", plane);
        CHECK_INT(vmafgpu_push(context, &good, &bad), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), words);
        CHECK_INT(vmafgpu_push(context, &bad, &good), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_score_pair(context, &bad, &good, NULL, &score), VMAFGPU_ERROR_ARGUMENT);
        CHECK_INT(vmafgpu_score_pair(context, &good, &bad, NULL, &score), VMAFGPU_ERROR_ARGUMENT);
        bad = good;
        bad.pitch[plane] = -119;
        snprintf(words, sizeof words, "reference.pitch[%d] is too small (-119 ", plane);
        CHECK_INT(vmafgpu_push(context, &bad, &good), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), words);
    }
    /* Preceding and following frames need no chroma; neither do pairs that subsampling skips. */
    bad = good;
    bad.data[1] = bad.data[2] = NULL;
    CHECK_INT(vmafgpu_score_pair(context, &good, &good, &bad, &score), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_preceding(context, &bad), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push(context, &good, &good), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push(context, &bad, &bad), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push(context, &good, &good), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_following(context, &bad), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_count(context), 2);
    vmafgpu_close(context);
    film_free(&f);
}

/* Tests that segments and single pairs get the same scores as the whole clip. */
static void test_segments(void) {
    static const char *const versions[] = { "vmaf_v1.0.16_3d0h", "vmaf_v1.0.16_hfr_3d0h" };
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        film f = film_make_colour("bands+blur", 240, 224, 8, 444, 9, 2);
        setup s;
        scores whole, part;
        vmafgpu *context;
        size_t memory;
        setup_init(&s, &f, versions[i]);
        snprintf(test_where, sizeof test_where, "segments of %s", versions[i]);
        whole = film_score(&f, &s.config);
        context = open_checked(&s.config);
        memory = vmafgpu_host_memory(context);
        CHECK_INT(vmafgpu_preceding_count(context), i ? 4 : 1);
        for (int k = 5 - vmafgpu_preceding_count(context); k < 9; k++) {
            vmafgpu_frame reference = film_frame(&f, k, 0), distorted = film_frame(&f, k, 1);
            CHECK_INT(k < 5    ? vmafgpu_push_preceding(context, &reference)
                      : k == 8 ? vmafgpu_push_following(context, &reference)
                               : vmafgpu_push(context, &reference, &distorted),
                      VMAFGPU_OK);
        }
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        part = scores_of(context);
        check_rows(&part, &whole, 5);
        for (int k = 0; k < 3; k++) {
            vmafgpu_frame reference = film_frame(&f, k, 0), distorted = film_frame(&f, k, 1);
            vmafgpu_score score;
            CHECK_INT(vmafgpu_score_pair(context, &reference, &distorted, NULL, &score), VMAFGPU_OK);
            check_row(score.values, whole.values + k * whole.columns, 7 + 4); /* columns that do not depend on motion */
        }
        CHECK_INT(vmafgpu_host_memory(context), memory);
        scores_free(&part);
        scores_free(&whole);
        vmafgpu_close(context);
        film_free(&f);
    }
}

int main(void) {
    test_layouts();
    test_threads();
    test_sizes();
    test_options();
    test_heatmaps();
    test_eotf();
    test_sharing();
    if (sizeof(void *) >= 8)
        test_backends();
    else
        test_skip("builds with 32-bit pointers have no GPU backend");
    test_bad_chroma();
    test_bad_frames();
    test_segments();
    return test_end();
}
