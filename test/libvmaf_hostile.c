/* Misuses this project's libvmaf library, and uses it in unusual ways. Checks the return value of each call. Sanitizers
 * detect invalid reads, writes and frees.
 *
 *     libvmaf_hostile FOLDER     writes its reports to the folder
 */
#ifndef _WIN32
#define _XOPEN_SOURCE 700
#endif
#include "test.h"
#include <errno.h>
#include <libvmaf/libvmaf.h>
#include <math.h>
#include <pthread.h>

enum { WIDTH = 64, HEIGHT = 48 };

static const char *folder = ".";

/* ---- pictures, contexts, models ---- */

static void fill(VmafPicture *p, unsigned seed) {
    for (int i = 0; i < 3; i++) {
        for (unsigned y = 0; y < p->h[i]; y++) {
            unsigned char *row = (unsigned char *)p->data[i] + (ptrdiff_t)y * p->stride[i];
            for (unsigned x = 0; x < p->w[i]; x++) {
                seed = seed * 1664525u + 1013904223u;
                unsigned value = (x * 3 + y * 5 + (seed >> 8) % 32) & ((1u << p->bpc) - 1);
                if (p->bpc > 8) {
                    row[2 * x] = (unsigned char)value;
                    row[2 * x + 1] = (unsigned char)(value >> 8);
                } else {
                    row[x] = (unsigned char)value;
                }
            }
        }
    }
}

static VmafPicture picture_of(unsigned bpc, unsigned w, unsigned h) {
    static unsigned seed;
    VmafPicture p;
    memset(&p, 0, sizeof p);
    if (vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV420P, bpc, w, h) != 0)
        abort();
    fill(&p, __atomic_add_fetch(&seed, 1, __ATOMIC_RELAXED));
    return p;
}

static VmafPicture picture(void) {
    return picture_of(8, WIDTH, HEIGHT);
}

static VmafContext *context(unsigned threads, unsigned subsample) {
    VmafConfiguration config = { VMAF_LOG_LEVEL_NONE, threads, subsample, 0, 0 };
    VmafContext *c;
    if (vmaf_init(&c, config) != 0)
        abort();
    return c;
}

static VmafModel *model_of(const char *name) {
    VmafModelConfig config = { name, 0 };
    VmafModel *m;
    if (vmaf_model_load(&m, &config, "vmaf_v0.6.1") != 0)
        abort();
    return m;
}

/* Passes a new pair to vmaf_read_pictures(). Frees the pair if the call fails. */
static int push(VmafContext *c, unsigned bpc, unsigned w, unsigned h, unsigned index) {
    VmafPicture p[2] = { picture_of(bpc, w, h), picture_of(bpc, w, h) };
    int err = vmaf_read_pictures(c, &p[0], &p[1], index);
    for (int k = 0; k < 2; k++)
        if (p[k].ref)
            vmaf_picture_unref(&p[k]);
    return err;
}

static int flush(VmafContext *c) {
    return vmaf_read_pictures(c, NULL, NULL, 0);
}

/* ---- pairs of identical or missing pictures, or of different formats ---- */

static void test_same_picture(unsigned threads) {
    VmafContext *c = context(threads, 0);
    VmafModel *m = model_of("vmaf");
    VmafPicture a = picture(), copy = a;
    double score;
    snprintf(test_where, sizeof test_where, "same picture, %u threads", threads);
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    CHECK_INT(vmaf_read_pictures(c, &a, &a, 0), -EINVAL);
    CHECK(a.ref != NULL);
    CHECK_INT(vmaf_read_pictures(c, &a, &copy, 0), -EINVAL);
    CHECK(a.ref != NULL && copy.ref == a.ref);
    CHECK_INT(vmaf_picture_unref(&a), 0); /* the caller still owns it, with one reference */
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0), 0);
    CHECK_INT(flush(c), 0);
    CHECK_INT(vmaf_score_at_index(c, m, &score, 0), 0);
    vmaf_model_destroy(m);
    CHECK_INT(vmaf_close(c), 0);
    c = context(threads, 0); /* a context without features */
    a = copy = picture();
    CHECK_INT(vmaf_read_pictures(c, &a, &a, 0), -EINVAL);
    CHECK_INT(vmaf_read_pictures(c, &a, &copy, 0), -EINVAL);
    CHECK_INT(vmaf_picture_unref(&a), 0);
    CHECK_INT(vmaf_close(c), 0);
}

static void test_different_formats(void) {
    VmafContext *c = context(0, 0);
    VmafModel *m = model_of("vmaf");
    VmafPicture a = picture(), b = picture_of(10, WIDTH, HEIGHT), none = a;
    snprintf(test_where, sizeof test_where, "pictures of different formats");
    none.ref = NULL;
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    CHECK_INT(vmaf_read_pictures(c, &none, &b, 0), -EINVAL);
    CHECK_INT(vmaf_read_pictures(c, &b, &none, 0), -EINVAL);
    CHECK_INT(vmaf_read_pictures(c, &a, &b, 0), -EINVAL);
    CHECK_INT(vmaf_read_pictures(c, &a, NULL, 0), -EINVAL);
    CHECK_INT(vmaf_picture_unref(&a), 0);
    CHECK_INT(vmaf_picture_unref(&b), 0);
    CHECK_INT(vmaf_picture_unref(&b), -EINVAL);
    CHECK_INT(push(c, 8, 1, 1, 0), -EINVAL);
    vmaf_model_destroy(m);
    CHECK_INT(vmaf_close(c), 0);
}

static void test_allocation(void) {
    VmafPicture p;
    memset(&p, 0xAA, sizeof p);
    for (int format = -2; format < 7; format++) {
        for (unsigned bpc = 0; bpc < 40; bpc++) {
            snprintf(test_where, sizeof test_where, "picture of format %d, %u bits", format, bpc);
            int is_legal = format >= VMAF_PIX_FMT_YUV420P && format <= VMAF_PIX_FMT_YUV400P && bpc >= 8 && bpc <= 16;
            CHECK_INT(vmaf_picture_alloc(&p, (enum VmafPixelFormat)format, bpc, 16, 16), is_legal ? 0 : -EINVAL);
            CHECK_INT(vmaf_picture_unref(&p), is_legal ? 0 : -EINVAL);
        }
    }
    snprintf(test_where, sizeof test_where, "large picture");
    CHECK_INT(vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV420P, 8, 0xffffffffu, 0xffffffffu), -EINVAL);
    if (sizeof(size_t) < 8) { /* 2^32 bytes or more: the size must not wrap around */
        CHECK_INT(vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV400P, 16, 1u << 20, 1u << 11), -ENOMEM);
        CHECK_INT(vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV444P, 16, 1u << 20, 1u << 20), -ENOMEM);
    }
}

static void test_pools(void) {
    VmafPictureConfiguration first = { { WIDTH, HEIGHT, 8, VMAF_PIX_FMT_YUV420P }, 4 };
    VmafPictureConfiguration second = { { 32, 32, 10, VMAF_PIX_FMT_YUV444P }, 2 };
    VmafContext *c = context(0, 0);
    VmafModel *m = model_of("vmaf");
    VmafPicture kept[4], other;
    snprintf(test_where, sizeof test_where, "pools");
    CHECK_INT(vmaf_preallocate_pictures(c, first), 0);
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK_INT(vmaf_fetch_preallocated_picture(c, &kept[i]), 0);
    CHECK_INT(vmaf_preallocate_pictures(c, second), 0); /* while all pictures of the first pool are in use */
    for (unsigned i = 0; i < 4; i++)
        fill(&kept[i], i);
    CHECK_INT(vmaf_read_pictures(c, &kept[0], &kept[1], 0), 0);
    CHECK_INT(vmaf_read_pictures(c, &kept[2], &kept[3], 1), 0);
    CHECK_INT(vmaf_fetch_preallocated_picture(c, &other), 0);
    CHECK_INT(vmaf_close(c), 0);
    fill(&other, 9); /* the picture outlives the context */
    CHECK_INT(vmaf_picture_unref(&other), 0);
    vmaf_model_destroy(m);
}

/* Tests samples that exceed the bit depth. With threads, a later call may be the first to return the error. */
static void test_illegal_samples(unsigned threads) {
    VmafContext *c = context(threads, 0);
    VmafModel *m = model_of("vmaf");
    int err = 0;
    double score;
    snprintf(test_where, sizeof test_where, "samples above the bit depth, %u threads", threads);
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    for (unsigned i = 0; i < 8 && !err; i++) {
        VmafPicture a = picture_of(10, WIDTH, HEIGHT), b = picture_of(10, WIDTH, HEIGHT);
        if (i == 2)
            memset(b.data[0], 0xff, 64);
        err = vmaf_read_pictures(c, &a, &b, i);
        CHECK(err ? a.ref && b.ref : !a.ref && !b.ref);
        CHECK(err == 0 || i >= 2);
        if (err) {
            vmaf_picture_unref(&a);
            vmaf_picture_unref(&b);
        }
    }
    int flushed = flush(c);
    CHECK_INT(err ? err : flushed, -EINVAL);
    CHECK_INT(vmaf_score_at_index(c, m, &score, 0), 0);
    CHECK_INT(vmaf_score_at_index(c, m, &score, 2), -EINVAL);
    vmaf_model_destroy(m);
    CHECK_INT(vmaf_close(c), 0);
}

/* ---- options, features, models ---- */

static void test_dictionaries(void) {
    VmafContext *c = context(0, 0);
    VmafFeatureDictionary *many = NULL, *colon = NULL, *empty = NULL, *large = NULL;
    char name[32], *text = (char *)malloc(1 << 20);
    snprintf(test_where, sizeof test_where, "dictionaries");
    memset(text, 'x', (1 << 20) - 1);
    text[(1 << 20) - 1] = '\0';
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        CHECK_INT(vmaf_feature_dictionary_set(&many, name, name), 0);
    }
    CHECK_INT(vmaf_use_feature(c, "psnr", many), 0); /* unknown options are ignored */
    CHECK_INT(vmaf_feature_dictionary_set(&colon, "enable_mse", "true:enable_apsnr=true"), 0);
    if (vmaf_use_feature(c, "psnr", colon) != 0)
        vmaf_feature_dictionary_free(&colon);
    CHECK_INT(vmaf_feature_dictionary_set(&empty, "", ""), 0);
    if (vmaf_use_feature(c, "vif", empty) != 0)
        vmaf_feature_dictionary_free(&empty);
    CHECK_INT(vmaf_feature_dictionary_set(&large, "vif_enhn_gain_limit", text), 0);
    CHECK_INT(vmaf_use_feature(c, "vif", large), -EINVAL);
    CHECK_INT(vmaf_feature_dictionary_free(&large), 0); /* the failed call did not free the dictionary */
    CHECK_INT(vmaf_use_feature(c, text, NULL), -EINVAL);
    free(text);
    CHECK_INT(vmaf_close(c), 0);
}

/* Requests more models and features than a context accepts, and destroys a model before the first picture. */
static void test_many_requests(void) {
    VmafContext *c = context(0, 0);
    VmafModel *m = model_of("vmaf");
    double score;
    int models = 0, features = 0;
    snprintf(test_where, sizeof test_where, "many requests");
    for (int i = 0; i < 40; i++) {
        int err = vmaf_use_features_from_model(c, m);
        models += err == 0;
        CHECK(err == 0 || err == -EINVAL);
        err = vmaf_use_feature(c, "psnr", NULL);
        features += err == 0;
        CHECK(err == 0 || err == -EINVAL);
    }
    CHECK_INT(models, 16);
    CHECK_INT(features, 32);
    vmaf_model_destroy(m);
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0), 0);
    CHECK_INT(vmaf_feature_score_at_index(c, "VMAF_integer_feature_adm2_score", &score, 0), 0);
    CHECK_INT(vmaf_close(c), 0); /* without a preceding flush */
}

/* ---- extreme values ---- */

static void test_configurations(void) {
    static const unsigned threads[] = { 0, 1, 255, 256, 257, 1000000, 0xffffffffu };
    static const unsigned subsamples[] = { 2, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu };
    VmafModel *m = model_of("vmaf");
    double first, score;
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        snprintf(test_where, sizeof test_where, "%u threads", threads[i]);
        VmafContext *c = context(threads[i], 0);
        CHECK_INT(vmaf_use_features_from_model(c, m), 0);
        CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0), 0);
        CHECK_INT(flush(c), 0);
        CHECK_INT(vmaf_score_at_index(c, m, &score, 0), 0);
        CHECK_INT(vmaf_close(c), 0);
    }
    for (size_t i = 0; i < sizeof subsamples / sizeof subsamples[0]; i++) {
        snprintf(test_where, sizeof test_where, "n_subsample %u", subsamples[i]);
        VmafContext *c = context(0, subsamples[i]);
        CHECK_INT(vmaf_use_features_from_model(c, m), 0);
        CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0), 0);
        CHECK_INT(push(c, 8, WIDTH, HEIGHT, 1), 0);
        CHECK_INT(flush(c), 0);
        CHECK_INT(vmaf_score_at_index(c, m, &first, 0), 0);
        CHECK_INT(vmaf_score_at_index(c, m, &score, 1), -EINVAL);
        CHECK_INT(vmaf_score_pooled(c, m, VMAF_POOL_METHOD_MEAN, &score, 0, 1), 0);
        CHECK_BITS(score, first);
        CHECK_INT(vmaf_score_pooled(c, m, VMAF_POOL_METHOD_MEAN, &score, 0, 0xffffffffu), -EINVAL);
        CHECK_INT(vmaf_write_output(c, "/dev/null", VMAF_OUTPUT_FORMAT_JSON), 0);
        CHECK_INT(vmaf_close(c), 0);
    }
    vmaf_model_destroy(m);
}

/* Returns the contents of a file in a buffer that the next call overwrites. */
static const char *text_of(const char *path) {
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = '\0';
    if (file)
        fclose(file);
    return text;
}

/* Writes a report and checks that it contains both strings. */
static void check_report(VmafContext *c, const char *name, enum VmafOutputFormat format, const char *words,
                         const char *more) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_INT(vmaf_write_output(c, path, format), 0);
    CHECK_HAS(text_of(path), words);
    CHECK_HAS(text_of(path), more);
}

/* Tests that the cost of an import does not grow with the index. */
static void test_large_indices(void) {
    static const unsigned indices[] = { 0,           4095,        4096,        1000000,    0x0fffffffu,
                                        0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu };
    enum { INDICES = sizeof indices / sizeof indices[0] };
    VmafContext *c = context(0, 0);
    double score;
    snprintf(test_where, sizeof test_where, "large indices");
    for (int i = INDICES - 1; i >= 0; i--) {
        CHECK_INT(vmaf_import_feature_score(c, "ours", i, indices[i]), 0);
        CHECK_INT(vmaf_import_feature_score(c, "ours", i, indices[i]), -EINVAL);
        CHECK_INT(vmaf_import_feature_score(c, "theirs", -i, indices[i]), 0);
    }
    for (int i = 0; i < INDICES; i++) {
        CHECK_INT(vmaf_feature_score_at_index(c, "ours", &score, indices[i]), 0);
        CHECK_BITS(score, i);
    }
    CHECK_INT(vmaf_feature_score_at_index(c, "ours", &score, 0xfffffffdu), -EINVAL);
    CHECK_INT(vmaf_feature_score_pooled(c, "ours", VMAF_POOL_METHOD_MEAN, &score, 0xfffffffeu, 0xffffffffu), 0);
    CHECK_BITS(score, 7.5);
    CHECK_INT(vmaf_feature_score_pooled(c, "ours", VMAF_POOL_METHOD_MEAN, &score, 0, 0xffffffffu), -EINVAL);
    check_report(c, "indices.csv", VMAF_OUTPUT_FORMAT_CSV, "",
                 "Frame,ours,theirs,\n0,0.000000,0.000000,\n4095,1.000000,-1.000000,\n4096,2.000000,-2.000000,\n"
                 "1000000,3.000000,-3.000000,\n268435455,4.000000,-4.000000,\n2147483647,5.000000,-5.000000,\n"
                 "2147483648,6.000000,-6.000000,\n4294967294,7.000000,-7.000000,\n4294967295,8.000000,-8.000000,\n");
    CHECK_INT(vmaf_close(c), 0);

    c = context(0, 0); /* tests large picture indices with a feature that does not use earlier pictures */
    CHECK_INT(vmaf_use_feature(c, "vif", NULL), 0);
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0xffffffffu), 0);
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0xffffffffu), -EINVAL);
    CHECK_INT(flush(c), 0);
    CHECK_INT(vmaf_feature_score_at_index(c, "VMAF_integer_feature_vif_scale0_score", &score, 0xffffffffu), 0);
    CHECK_INT(vmaf_close(c), 0);
}

/* ---- names ---- */

/* In every format, special characters in names are escaped so that parsers return the original name. */
static void test_names(void) {
    static const char hostile[] = "a\"b\\c<d>&e\n\x01\x7f,|f \xc3\xa9\xff";
    VmafContext *c = context(0, 0);
    snprintf(test_where, sizeof test_where, "names");
    CHECK_INT(vmaf_import_feature_score(c, hostile, 1, 0), 0);
    CHECK_INT(vmaf_import_feature_score(c, "", 2, 0), 0);
    CHECK_INT(vmaf_import_feature_score(c, "4k.x-y", 3, 0), 0);
    check_report(c, "names.json", VMAF_OUTPUT_FORMAT_JSON,
                 "        \"a\\\"b\\\\c<d>&e\\u000a\\u0001\x7f,|f \xc3\xa9\xef\xbf\xbd\": 1.000000,\n"
                 "        \"\": 2.000000,\n        \"4k.x-y\": 3.000000\n",
                 "\n    \"a\\\"b\\\\c<d>&e\\u000a\\u0001\x7f,|f \xc3\xa9\xef\xbf\xbd\": {");
    check_report(c, "names.xml", VMAF_OUTPUT_FORMAT_XML,
                 "\"0\" "
                 "a_x0022_b_x005C_c_x003C_d_x003E__x0026_e_x000A__x0001__x007F__x002C__x007C_f_x0020_\xc3\xa9_x00FF_="
                 "\"1.000000\""
                 " _x0000_=\"2.000000\" _x0034_k.x-y=\"3.000000\" />",
                 "<metric name=\"a&#34;b\\c&#60;d&#62;&#38;e&#10;&#65533;\x7f,|f \xc3\xa9\xef\xbf\xbd\" ");
    check_report(c, "names.csv", VMAF_OUTPUT_FORMAT_CSV,
                 "Frame,\"a\"\"b\\c<d>&e  \x7f,|f \xc3\xa9\xef\xbf\xbd\",,4k.x-y,\n0,1.000000,2.000000,3.000000,\n",
                 "");
    check_report(c, "names.sub", VMAF_OUTPUT_FORMAT_SUB,
                 "{0}{1}frame: 0|a\"b\\c<d>&e  \x7f, f \xc3\xa9\xef\xbf\xbd: 1.000000|: 2.000000|4k.x-y: 3.000000|\n",
                 "");
    CHECK_INT(vmaf_close(c), 0);

    VmafModel *m = model_of(hostile); /* model names are escaped too */
    double score;
    c = context(0, 0);
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0), 0);
    CHECK_INT(flush(c), 0);
    CHECK_INT(vmaf_score_pooled(c, m, VMAF_POOL_METHOD_MEAN, &score, 0, 0), 0);
    check_report(c, "model.json", VMAF_OUTPUT_FORMAT_JSON, "frames",
                 "\"a\\\"b\\\\c<d>&e\\u000a\\u0001\x7f,|f \xc3\xa9\xef\xbf\xbd\": {");
    check_report(c, "model.xml", VMAF_OUTPUT_FORMAT_XML, "VMAF", "a_x0022_b_x005C_c_x003C_d_x003E__x0026_e_x000A_");
    vmaf_model_destroy(m);
    CHECK_INT(vmaf_close(c), 0);
}

/* ---- order of calls ---- */

static void test_order(void) {
    VmafContext *c = context(0, 0);
    VmafModel *m = model_of("vmaf");
    double score;
    snprintf(test_where, sizeof test_where, "order of calls");
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    CHECK_INT(vmaf_import_feature_score(c, "x", (double)NAN, 1000), 0);
    CHECK_INT(vmaf_import_feature_score(c, "VMAF_integer_feature_adm2_score", 5, 0), 0);
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 0), -EINVAL); /* the value adm2 of this index was imported before */
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 1), 0);
    CHECK_INT(flush(c), 0);
    CHECK_INT(flush(c), -EINVAL);
    CHECK_INT(push(c, 8, WIDTH, HEIGHT, 2), -EINVAL);
    CHECK_INT(vmaf_use_feature(c, "psnr", NULL), -EINVAL);
    CHECK_INT(vmaf_feature_score_at_index(c, "x", &score, 1000), 0);
    CHECK_INT(vmaf_write_output(c, "/dev/null", (enum VmafOutputFormat)77), -EINVAL);
    CHECK_INT(vmaf_write_output(c, "/nonexistent/report", VMAF_OUTPUT_FORMAT_XML), -EINVAL);
#ifdef __linux__
    CHECK_INT(vmaf_write_output(c, "/dev/full", VMAF_OUTPUT_FORMAT_JSON), -EINVAL);
#endif
    vmaf_model_destroy(m);
    CHECK_INT(vmaf_close(c), 0);
}

static void test_many_contexts(void) {
    enum { CONTEXTS = 24 };
    VmafContext *c[CONTEXTS];
    VmafModel *m = model_of("vmaf");
    snprintf(test_where, sizeof test_where, "many contexts");
    for (unsigned i = 0; i < CONTEXTS; i++) {
        c[i] = context(i % 5, i % 3);
        CHECK_INT(vmaf_use_features_from_model(c[i], m), 0);
        CHECK_INT(vmaf_use_feature(c[i], "ciede", NULL), 0);
    }
    for (unsigned f = 0; f < 3; f++)
        for (unsigned i = 0; i < CONTEXTS; i++)
            CHECK_INT(push(c[i], 8 + 2 * (i % 2), 32, 32, f), 0);
    for (int i = CONTEXTS - 1; i >= 0; i--)
        CHECK_INT(vmaf_close(c[i]), 0);
    vmaf_model_destroy(m);
}

/* ---- several threads ---- */

static void *use_one(void *user) {
    int *bad = (int *)user;
    for (unsigned k = 0; k < 3; k++) {
        VmafContext *c = context(k, 0);
        VmafModel *m = model_of("vmaf");
        double score;
        *bad |= vmaf_use_features_from_model(c, m);
        for (unsigned i = 0; i < 4; i++) {
            *bad |= push(c, 8, WIDTH, HEIGHT, i);
            vmaf_score_at_index(c, m, &score, i);
        }
        *bad |= flush(c) | vmaf_score_pooled(c, m, VMAF_POOL_METHOD_MEAN, &score, 0, 3);
        *bad |= vmaf_close(c);
        vmaf_model_destroy(m);
    }
    return NULL;
}

typedef struct reader {
    VmafContext *context;
    VmafModel *model;
    unsigned number;
    int *stops;
} reader;

static void *read_scores(void *user) {
    reader *r = (reader *)user;
    double score;
    for (unsigned n = r->number; !__atomic_load_n(r->stops, __ATOMIC_RELAXED); n++) {
        vmaf_score_at_index(r->context, r->model, &score, n % 20);
        vmaf_feature_score_at_index(r->context, "integer_motion2", &score, n % 20);
        vmaf_score_pooled(r->context, r->model, VMAF_POOL_METHOD_MEAN, &score, 0, n % 15);
    }
    return NULL;
}

static void test_threads(void) {
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    reader readers[THREADS];
    int bad[THREADS] = { 0 }, stops = 0;
    double score;
    snprintf(test_where, sizeof test_where, "one context per thread");
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, use_one, &bad[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(pthread_join(thread[i], NULL), 0);
        CHECK_INT(bad[i], 0);
    }
    snprintf(test_where, sizeof test_where, "one context, several threads");
    VmafContext *c = context(2, 0);
    VmafModel *m = model_of("vmaf");
    CHECK_INT(vmaf_use_features_from_model(c, m), 0);
    for (int i = 0; i < THREADS; i++) {
        reader r = { c, m, (unsigned)i, &stops };
        readers[i] = r;
        CHECK_INT(pthread_create(&thread[i], NULL, read_scores, &readers[i]), 0);
    }
    for (unsigned i = 0; i < 20; i++)
        CHECK_INT(push(c, 8, WIDTH, HEIGHT, i), 0);
    CHECK_INT(flush(c), 0);
    __atomic_store_n(&stops, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(thread[i], NULL), 0);
    CHECK_INT(vmaf_score_pooled(c, m, VMAF_POOL_METHOD_MEAN, &score, 0, 19), 0);
    vmaf_model_destroy(m);
    CHECK_INT(vmaf_close(c), 0);
}

int main(int argc, char **argv) {
    folder = argc > 1 ? argv[1] : ".";
    for (unsigned threads = 0; threads < 3; threads += 2) {
        test_same_picture(threads);
        test_illegal_samples(threads);
    }
    test_different_formats();
    test_allocation();
    test_pools();
    test_dictionaries();
    test_many_requests();
    test_configurations();
    test_large_indices();
    test_names();
    test_order();
    test_many_contexts();
    test_threads();
    return test_end();
}
