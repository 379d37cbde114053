/* A program that uses the documented functions of libvmaf. It compiles with the headers of libvmaf and with those of
 * this project, and its output is the same with both libraries.
 *
 *     libvmaf_client calls FOLDER     prints values and errors, and writes reports to the folder
 *     libvmaf_client sizes            prints the sizes and offsets of the structs
 *     libvmaf_client threads          pushes pairs from several threads, which libvmaf does not allow
 *     libvmaf_client cuda             compares the values of frames in CUDA memory and in host memory
 *     libvmaf_client memory           makes each allocation fail once (malloc, calloc and realloc are wrapped)
 */
#ifndef _WIN32
#define _XOPEN_SOURCE 700
#endif
#include <libvmaf/libvmaf.h>
#include <libvmaf/libvmaf_cuda.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef CLIENT_CUDA
#include <dlfcn.h>
#endif

enum { WIDTH = 240, HEIGHT = 178, FRAMES = 5 };

/* ---- pictures ---- */

static unsigned noise(unsigned x, unsigned y, unsigned z) {
    unsigned h = x * 374761393u + y * 668265263u + z * 2246822519u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return h ^ (h >> 16);
}

static unsigned sample(unsigned x, unsigned y, unsigned frame, unsigned plane, int is_distorted) {
    unsigned u = x + 3 * frame,
             value = 60 + (u * 5 + y * 3) % 90 + (((u / 11) ^ (y / 9)) & 1) * 50 + noise(u, y, plane) % 9;
    return is_distorted ? value / 6 * 6 + noise(x, y, 77 + frame) % 7 : value;
}

static void fill(VmafPicture *p, unsigned frame, int is_distorted) {
    for (int i = 0; i < 3; i++) {
        for (unsigned y = 0; y < p->h[i]; y++) {
            for (unsigned x = 0; x < p->w[i]; x++) {
                unsigned value = sample(x, y, frame, (unsigned)i, is_distorted) << (p->bpc - 8);
                unsigned char *row = (unsigned char *)p->data[i] + (ptrdiff_t)y * p->stride[i];
                if (p->bpc > 8)
                    ((unsigned short *)(void *)row)[x] = (unsigned short)value;
                else
                    row[x] = (unsigned char)value;
            }
        }
    }
}

static int push_filled(VmafContext *c, enum VmafPixelFormat format, unsigned bpc, unsigned frame, unsigned index) {
    VmafPicture p[2];
    int err = 0;
    memset(p, 0, sizeof p);
    for (int k = 0; k < 2 && !err; k++) {
        err = vmaf_picture_alloc(&p[k], format, bpc, WIDTH, HEIGHT);
        if (!err)
            fill(&p[k], frame, k);
    }
    err = err ? err : vmaf_read_pictures(c, &p[0], &p[1], index);
    for (int k = 0; k < 2; k++) /* releases pictures that vmaf_read_pictures() has not accepted */
        if (p[k].ref)
            vmaf_picture_unref(&p[k]);
    return err;
}

static VmafConfiguration plain(void) {
    VmafConfiguration config;
    memset(&config, 0, sizeof config);
    config.log_level = VMAF_LOG_LEVEL_NONE;
    config.cpumask = (uint64_t)-1; /* disables libvmaf's vector code, whose results differ in the last bits */
    return config;
}

/* ---- calls ---- */

/* Returns a checksum of a report, without the line that contains the frame rate. */
static unsigned sum_report(const char *path) {
    char line[16384];
    unsigned sum = 2166136261u;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        for (const char *c = strstr(line, "fps") ? "" : line; *c; c++)
            sum = (sum ^ (unsigned char)*c) * 16777619u;
    if (file)
        fclose(file);
    return sum;
}

static void print_reports(VmafContext *c, const char *folder) {
    static int count;
    for (int f = VMAF_OUTPUT_FORMAT_NONE; f <= VMAF_OUTPUT_FORMAT_SUB; f++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/report%d", folder, ++count);
        int err = vmaf_write_output(c, path, (enum VmafOutputFormat)f);
        printf("report%d: %d %08x\n", count, err, sum_report(path));
    }
}

static void print_score(const char *what, int err, const double *score) {
    if (err)
        printf("%s: %d\n", what, err);
    else
        printf("%s: %.17g\n", what, *score);
}

typedef struct clip {
    const char *title;
    const char *versions[3]; /* versions of the models, which are named model0, model1 and model2 */
    uint64_t flags;
    const char *features[4];
    const char *option, *value; /* for the first feature */
    enum VmafPixelFormat format;
    unsigned bpc, threads, subsample;
} clip;

/* clang-format off */
static const clip clips[] = {
    {"default", {"vmaf_v0.6.1"}, 0, {NULL}, NULL, NULL, VMAF_PIX_FMT_YUV420P, 8, 0, 1},
    {"two models, threads", {"vmaf_v0.6.1", "vmaf_v0.6.1neg"}, 0, {NULL}, NULL, NULL, VMAF_PIX_FMT_YUV420P, 8, 2, 1},
    {"transform", {"vmaf_v0.6.1"}, VMAF_MODEL_FLAG_ENABLE_TRANSFORM | VMAF_MODEL_FLAG_DISABLE_CLIP, {NULL}, NULL, NULL,
     VMAF_PIX_FMT_YUV422P, 10, 0, 1},
    {"flag without effect", {"vmaf_v1.0.16_3d0h"}, VMAF_MODEL_FLAG_DISABLE_TRANSFORM,
     {NULL}, NULL, NULL, VMAF_PIX_FMT_YUV444P, 10,
     0, 1},
    {"subsample", {"vmaf_v0.6.1"}, 0, {NULL}, NULL, NULL, VMAF_PIX_FMT_YUV420P, 8, 0, 2},
    {"features", {NULL}, 0, {"psnr", "ciede", "psnr_hvs"}, "enable_apsnr", "true", VMAF_PIX_FMT_YUV444P, 8, 0, 1},
    {"gray", {NULL}, 0, {"vif", "adm", "motion"}, "debug", "true", VMAF_PIX_FMT_YUV400P, 12, 0, 1},
};
/* clang-format on */

static void run_clip(const clip *k, const char *folder) {
    VmafConfiguration config = plain();
    VmafContext *c;
    VmafModel *models[3] = { NULL, NULL, NULL };
    double score = 0;
    int count = 0;
    config.n_threads = k->threads;
    config.n_subsample = k->subsample;
    printf("\n== %s: %d\n", k->title, vmaf_init(&c, config));
    for (; count < 3 && k->versions[count]; count++) {
        char name[] = "model0";
        VmafModelConfig m = { name, k->flags };
        name[5] = (char)('0' + count);
        printf("load: %d\n", vmaf_model_load(&models[count], &m, k->versions[count]));
        printf("use: %d\n", vmaf_use_features_from_model(c, models[count]));
    }
    for (int i = 0; k->features[i]; i++) {
        VmafFeatureDictionary *options = NULL;
        if (i == 0 && k->option)
            printf("option: %d\n", vmaf_feature_dictionary_set(&options, k->option, k->value));
        printf("feature: %d\n", vmaf_use_feature(c, k->features[i], options));
    }
    for (unsigned i = 0; i < FRAMES; i++)
        printf("push: %d\n", push_filled(c, k->format, k->bpc, i, i));
    printf("flush: %d\n", vmaf_read_pictures(c, NULL, NULL, 0));
    printf("second flush: %d\n", vmaf_read_pictures(c, NULL, NULL, 0));
    for (int i = 0; i < count; i++) {
        print_score("at 2", vmaf_score_at_index(c, models[i], &score, 2), &score);
        print_score("at 9", vmaf_score_at_index(c, models[i], &score, 9), &score);
    }
    if (count)
        print_reports(c, folder); /* at this point, each model has a score at only one index */
    for (int i = 0; i < count; i++) {
        for (int m = VMAF_POOL_METHOD_UNKNOWN; m <= VMAF_POOL_METHOD_NB; m++) {
            print_score("pooled", vmaf_score_pooled(c, models[i], (enum VmafPoolingMethod)m, &score, 0, FRAMES - 1),
                        &score);
        }
        print_score("1 to 3", vmaf_score_pooled(c, models[i], VMAF_POOL_METHOD_MIN, &score, 1, 3), &score);
        print_score("beyond the end", vmaf_score_pooled(c, models[i], VMAF_POOL_METHOD_MIN, &score, 1, FRAMES), &score);
    }
    print_score("psnr", vmaf_feature_score_pooled(c, "psnr_y", VMAF_POOL_METHOD_MEAN, &score, 0, 2), &score);
    print_score("adm2", vmaf_feature_score_at_index(c, "VMAF_integer_feature_adm2_score", &score, 2), &score);
    print_score("motion2", vmaf_feature_score_at_index(c, "VMAF_integer_feature_motion2_score", &score, 4), &score);
    print_score("unknown feature", vmaf_feature_score_at_index(c, "nothing", &score, 2), &score);
    for (int i = 0; i < count; i++)
        vmaf_model_destroy(models[i]); /* some programs do this before they write the report */
    print_reports(c, folder);
    printf("close: %d\n", vmaf_close(c));
}

static void print_bootstrap(const char *what, int err, const VmafModelCollectionScore *s) {
    printf("%s: %d", what, err);
    if (!err) {
        printf(" %d %.17g %.17g %.17g %.17g", (int)s->type, s->bootstrap.bagging_score, s->bootstrap.stddev,
               s->bootstrap.ci.p95.lo, s->bootstrap.ci.p95.hi);
    }
    printf("\n");
}

static void run_collection(const char *folder) {
    VmafContext *c;
    VmafModel *model = NULL;
    VmafModelCollection *collection = NULL;
    VmafModelCollectionScore s;
    VmafModelConfig m = { NULL, VMAF_MODEL_FLAGS_DEFAULT };
    VmafFeatureDictionary *options = NULL;
    double score = 0;
    printf("\n== collection: %d\n", vmaf_init(&c, plain()));
    printf("unknown version: %d\n", vmaf_model_collection_load(&model, &collection, &m, "nothing"));
    printf("load: %d\n", vmaf_model_collection_load(&model, &collection, &m, "vmaf_b_v0.6.3"));
    vmaf_feature_dictionary_set(&options, "motion_force_zero", "true");
    printf("overload: %d\n", vmaf_model_collection_feature_overload(model, &collection, "motion", options));
    printf("use: %d\n", vmaf_use_features_from_model(c, model));
    printf("use: %d\n", vmaf_use_features_from_model_collection(c, collection));
    for (unsigned i = 0; i < 3; i++)
        printf("push: %d\n", push_filled(c, VMAF_PIX_FMT_YUV420P, 8, i, i));
    printf("flush: %d\n", vmaf_read_pictures(c, NULL, NULL, 0));
    int err = vmaf_score_pooled_model_collection(c, collection, VMAF_POOL_METHOD_MEAN, &s, 0, 2);
    print_bootstrap("pooled", err, &s);
    print_score("model", vmaf_score_pooled(c, model, VMAF_POOL_METHOD_MEAN, &score, 0, 2), &score);
    print_reports(c, folder);
    vmaf_model_destroy(model);
    vmaf_model_collection_destroy(collection);
    printf("close: %d\n", vmaf_close(c));
}

/* Imports values and pushes pairs out of order. */
static void run_imports(const char *folder) {
    static const char *const names[] = {
        "VMAF_integer_feature_adm2_score",       "VMAF_integer_feature_motion2_score",
        "VMAF_integer_feature_vif_scale0_score", "VMAF_integer_feature_vif_scale1_score",
        "VMAF_integer_feature_vif_scale2_score", "VMAF_integer_feature_vif_scale3_score"
    };
    VmafContext *c;
    VmafModel *model;
    VmafModelConfig m = { NULL, VMAF_MODEL_FLAGS_DEFAULT };
    double score = 0;
    printf("\n== imported values: %d\n", vmaf_init(&c, plain()));
    printf("load: %d\n", vmaf_model_load(&model, &m, "vmaf_v0.6.1"));
    print_score("before the import", vmaf_score_at_index(c, model, &score, 3), &score);
    for (int i = 0; i < 6; i++)
        printf("import: %d\n", vmaf_import_feature_score(c, names[i], 0.9 - 0.05 * i, 3));
    printf("second import: %d\n", vmaf_import_feature_score(c, names[0], 0.9, 3));
    print_score("after the import", vmaf_score_at_index(c, model, &score, 3), &score);
    printf("new name: %d\n", vmaf_import_feature_score(c, "ours", 7, 1));
    printf("feature: %d\n", vmaf_use_feature(c, "ciede", NULL));
    printf("push: %d\n", push_filled(c, VMAF_PIX_FMT_YUV444P, 8, 4, 4));
    printf("push: %d\n", push_filled(c, VMAF_PIX_FMT_YUV444P, 8, 1, 1));
    print_score("at 4", vmaf_feature_score_at_index(c, "ciede2000", &score, 4), &score);
    print_score("at 0", vmaf_feature_score_at_index(c, "ciede2000", &score, 0), &score);
    printf("flush: %d\n", vmaf_read_pictures(c, NULL, NULL, 0));
    print_reports(c, folder);
    vmaf_model_destroy(model);
    printf("close: %d\n", vmaf_close(c));
}

/* Prints the column names of a report. Their order depends on the threads, frames and features. */
static void run_order(const char *folder, unsigned threads, unsigned frames, const char *first, const char *second) {
    VmafConfiguration config = plain();
    VmafContext *c;
    char path[4096], line[1024] = "";
    config.n_threads = threads;
    printf("\n== order: %d\n", vmaf_init(&c, config));
    printf("%s: %d\n", first, vmaf_use_feature(c, first, NULL));
    printf("%s: %d\n", second, vmaf_use_feature(c, second, NULL));
    for (unsigned i = 0; i < frames; i++)
        printf("push: %d\n", push_filled(c, VMAF_PIX_FMT_YUV420P, 8, i, i));
    printf("flush: %d\n", vmaf_read_pictures(c, NULL, NULL, 0));
    snprintf(path, sizeof path, "%s/order", folder);
    printf("report: %d\n", vmaf_write_output(c, path, VMAF_OUTPUT_FORMAT_CSV));
    FILE *file = fopen(path, "r");
    printf("%s", file && fgets(line, sizeof line, file) ? line : "none\n");
    if (file)
        fclose(file);
    printf("close: %d\n", vmaf_close(c));
}

static void show(const char *what, int result) {
    printf("%s: %d\n", what, result);
}

static void run_errors(void) {
    VmafContext *c;
    VmafModel *model = NULL;
    VmafPicture p, q;
    VmafModelConfig m = { NULL, VMAF_MODEL_FLAGS_DEFAULT };
    VmafFeatureDictionary *options = NULL;
    VmafPictureConfiguration pictures = { { WIDTH, HEIGHT, 8, VMAF_PIX_FMT_YUV420P }, 2 };
    double score;
    printf("\n== errors: %s\n", vmaf_version());
    show("no context", vmaf_init(NULL, plain()));
    show("init", vmaf_init(&c, plain()));
    show("no options", vmaf_feature_dictionary_set(NULL, "a", "b"));
    show("no key", vmaf_feature_dictionary_set(&options, NULL, "b"));
    show("free", vmaf_feature_dictionary_free(NULL));
    show("free", vmaf_feature_dictionary_free(&options));
    show("model", vmaf_model_load(&model, &m, "nothing"));
    show("path", vmaf_model_load_from_path(&model, &m, "/nothing.json"));
    show("feature", vmaf_use_feature(c, "nothing", NULL));
    show("feature", vmaf_use_feature(NULL, "vif", NULL));
    show("feature", vmaf_use_feature(c, NULL, NULL));
    show("use", vmaf_use_features_from_model(c, NULL));
    show("use", vmaf_use_features_from_model_collection(c, NULL));
    show("no picture", vmaf_picture_alloc(NULL, VMAF_PIX_FMT_YUV420P, 8, 16, 16));
    show("no format", vmaf_picture_alloc(&p, VMAF_PIX_FMT_UNKNOWN, 8, 16, 16));
    show("7 bits", vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV420P, 7, 16, 16));
    show("17 bits", vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV420P, 17, 16, 16));
    show("odd", vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV420P, 8, 97, 51));
    printf("%u %u\n", p.w[1], p.h[2]);
    show("unref", vmaf_picture_unref(&p));
    show("unref", vmaf_picture_unref(&p));
    show("unref", vmaf_picture_unref(NULL));
    show("gray", vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV400P, 16, 33, 17));
    printf("%d %u %u\n", p.data[1] == NULL, p.w[1], p.h[1]);
    show("unref", vmaf_picture_unref(&p));
    show("fetch", vmaf_fetch_preallocated_picture(c, &p));
    show("pool", vmaf_preallocate_pictures(c, pictures));
    show("fetch", vmaf_fetch_preallocated_picture(c, &p));
    show("fetch", vmaf_fetch_preallocated_picture(c, &q));
    show("unref", vmaf_picture_unref(&p));
    show("fetch", vmaf_fetch_preallocated_picture(c, &p));
    show("unref", vmaf_picture_unref(&p));
    show("unref", vmaf_picture_unref(&q));
    show("feature", vmaf_use_feature(c, "vif", NULL));
    show("picture", vmaf_picture_alloc(&p, VMAF_PIX_FMT_YUV420P, 8, WIDTH, HEIGHT));
    show("picture", vmaf_picture_alloc(&q, VMAF_PIX_FMT_YUV420P, 8, WIDTH, HEIGHT + 2));
    show("one picture", vmaf_read_pictures(c, &p, NULL, 0));
    show("different sizes", vmaf_read_pictures(c, &p, &q, 0));
    show("unref", vmaf_picture_unref(&q));
    show("unref", vmaf_picture_unref(&p));
    show("score", vmaf_score_at_index(c, NULL, &score, 0));
    show("score", vmaf_feature_score_at_index(c, "vif", NULL, 0));
    show("score", vmaf_feature_score_pooled(c, "vif", VMAF_POOL_METHOD_MEAN, &score, 2, 1));
    show("close", vmaf_close(c));
    show("close", vmaf_close(NULL));
}

static int calls(const char *folder) {
    for (size_t i = 0; i < sizeof clips / sizeof clips[0]; i++)
        run_clip(&clips[i], folder);
    run_collection(folder);
    run_imports(folder);
    run_order(folder, 0, 1, "motion", "float_motion");
    run_order(folder, 0, 2, "motion", "float_motion");
    run_order(folder, 1, 1, "motion", "float_motion");
    run_order(folder, 0, 1, "float_motion", "motion");
    run_errors();
    return 0;
}

/* ---- sizes ---- */

#define SIZE(type)         printf(#type " %d\n", (int)sizeof(type))
#define FIELD(type, field) printf(#type "." #field " %d\n", (int)offsetof(type, field))

static int sizes(void) {
    SIZE(VmafConfiguration);
    FIELD(VmafConfiguration, n_threads);
    FIELD(VmafConfiguration, n_subsample);
    FIELD(VmafConfiguration, cpumask);
    FIELD(VmafConfiguration, gpumask);
    SIZE(VmafPicture);
    FIELD(VmafPicture, bpc);
    FIELD(VmafPicture, w);
    FIELD(VmafPicture, h);
    FIELD(VmafPicture, stride);
    FIELD(VmafPicture, data);
    FIELD(VmafPicture, ref);
    FIELD(VmafPicture, priv);
    SIZE(VmafModelConfig);
    FIELD(VmafModelConfig, flags);
    SIZE(VmafModelCollectionScore);
    FIELD(VmafModelCollectionScore, bootstrap.bagging_score);
    FIELD(VmafModelCollectionScore, bootstrap.stddev);
    FIELD(VmafModelCollectionScore, bootstrap.ci.p95.lo);
    FIELD(VmafModelCollectionScore, bootstrap.ci.p95.hi);
    SIZE(VmafPictureConfiguration);
    FIELD(VmafPictureConfiguration, pic_params.pix_fmt);
    FIELD(VmafPictureConfiguration, pic_cnt);
    SIZE(VmafCudaConfiguration);
    SIZE(VmafCudaPictureConfiguration);
    FIELD(VmafCudaPictureConfiguration, pic_params.pix_fmt);
    FIELD(VmafCudaPictureConfiguration, pic_prealloc_method);
    printf("%d %d %d %d %d %d\n", VMAF_LOG_LEVEL_DEBUG, VMAF_OUTPUT_FORMAT_SUB, VMAF_POOL_METHOD_NB,
           VMAF_PIX_FMT_YUV400P, VMAF_MODEL_FLAG_DISABLE_TRANSFORM, VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST_PINNED);
    return 0;
}

/* ---- threads ---- */

enum { PUSHERS = 4, PAIRS = 6 };

typedef struct pusher {
    VmafContext *context;
    unsigned first;
    int err;
} pusher;

static void *push_some(void *user) {
    pusher *p = (pusher *)user;
    for (unsigned i = 0; i < PAIRS && !p->err; i++) {
        unsigned index = p->first + PUSHERS * i;
        double score;
        p->err = push_filled(p->context, VMAF_PIX_FMT_YUV420P, 8, index % FRAMES, index);
        p->err = p->err
                     ? p->err
                     : vmaf_feature_score_at_index(p->context, "VMAF_integer_feature_vif_scale0_score", &score, index);
    }
    return NULL;
}

static int threads(void) {
    double expected[FRAMES], score;
    int bad = 0;
    for (unsigned n = 0; n <= 2; n += 2) {
        VmafConfiguration config = plain();
        VmafContext *c;
        pusher pushers[PUSHERS];
        pthread_t thread[PUSHERS];
        config.n_threads = n;
        bad |= vmaf_init(&c, config) || vmaf_use_feature(c, "vif", NULL);
        for (unsigned i = 0; i < PUSHERS; i++) {
            pushers[i].context = c;
            pushers[i].first = i;
            pushers[i].err = 0;
            bad |= pthread_create(&thread[i], NULL, push_some, &pushers[i]) != 0;
        }
        for (unsigned i = 0; i < PUSHERS; i++) {
            pthread_join(thread[i], NULL);
            bad |= pushers[i].err != 0;
        }
        bad |= vmaf_read_pictures(c, NULL, NULL, 0) != 0;
        for (unsigned i = 0; i < PUSHERS * PAIRS; i++) {
            bad |= vmaf_feature_score_at_index(c, "VMAF_integer_feature_vif_scale0_score", &score, i) != 0;
            if (n == 0 && i < FRAMES)
                expected[i] = score;
            bad |= score < expected[i % FRAMES] || score > expected[i % FRAMES];
        }
        bad |= vmaf_close(c);
    }
    /* While pictures are being read, all frames except the latest have scores. Motion requires ascending indices. */
    VmafContext *c;
    VmafModel *model;
    VmafModelConfig m = { NULL, 0 };
    bad |=
        vmaf_init(&c, plain()) || vmaf_model_load(&model, &m, "vmaf_v0.6.1") || vmaf_use_features_from_model(c, model);
    for (unsigned i = 0; i < FRAMES; i++) {
        bad |= push_filled(c, VMAF_PIX_FMT_YUV420P, 8, i, i) != 0;
        bad |= i >= 2 && vmaf_score_at_index(c, model, &score, i - 2) != 0;
        bad |= vmaf_feature_score_at_index(c, "VMAF_integer_feature_adm2_score", &score, i) != 0;
        bad |= vmaf_feature_score_at_index(c, "integer_motion2", &score, i) == 0;
    }
    bad |= push_filled(c, VMAF_PIX_FMT_YUV420P, 8, 0, FRAMES + 1) == 0;
    vmaf_model_destroy(model);
    bad |= vmaf_close(c); /* without a preceding flush */
    printf("threads: %s\n", bad ? "wrong" : "right");
    return bad;
}

/* ---- frames in CUDA memory ---- */

#ifdef CLIENT_CUDA
static int run_cuda(int method, unsigned bpc, const char *feature, double *scores) {
    VmafCudaConfiguration empty = { NULL };
    VmafCudaPictureConfiguration pictures = { { WIDTH, HEIGHT, 8, VMAF_PIX_FMT_YUV420P },
                                              VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_NONE };
    VmafConfiguration config = plain();
    VmafContext *c;
    VmafCudaState *state = NULL;
    VmafModel *model;
    VmafModelConfig m = { NULL, 0 };
    int (*copy)(unsigned long long, const void *, size_t) = NULL, (*push)(void *) = NULL,
                                                  (*retain)(void **, int) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found, *context = NULL, *popped;
    int (*pop)(void **) = NULL, (*release)(int) = NULL, bad = 0;
#define FIND(function, name) \
    found = library ? dlsym(library, name) : NULL; \
    memcpy(&function, &found, sizeof found); \
    bad |= !found
    FIND(copy, "cuMemcpyHtoD_v2");
    FIND(push, "cuCtxPushCurrent_v2");
    FIND(pop, "cuCtxPopCurrent_v2");
    FIND(retain, "cuDevicePrimaryCtxRetain");
    FIND(release, "cuDevicePrimaryCtxRelease_v2");
    pictures.pic_params.bpc = bpc;
    pictures.pic_prealloc_method = (enum VmafCudaPicturePreallocationMethod)method;
    config.log_level = VMAF_LOG_LEVEL_INFO;
    bad = bad || vmaf_init(&c, config);
    if (bad)
        return 1;
    bad |= vmaf_model_load(&model, &m, "vmaf_v0.6.1") || vmaf_use_features_from_model(c, model);
    bad |= vmaf_cuda_state_init(&state, empty) || vmaf_cuda_import_state(c, state);
    bad |= feature && vmaf_use_feature(c, feature, NULL);
    bad |= vmaf_cuda_preallocate_pictures(c, pictures) != 0;
    bad |= retain(&context, 0) != 0;
    for (unsigned i = 0; i < FRAMES && !bad; i++) {
        VmafPicture p[2], host;
        for (int k = 0; k < 2; k++) {
            bad |= vmaf_cuda_fetch_preallocated_picture(c, &p[k]) ||
                   vmaf_picture_alloc(&host, VMAF_PIX_FMT_YUV420P, bpc, WIDTH, HEIGHT);
            fill(method == VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE ? &host : &p[k], i, k);
            push(context);
            for (int plane = 0; plane < 3 && method == VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE; plane++) {
                for (unsigned y = 0; y < host.h[plane]; y++) {
                    bad |= copy((unsigned long long)(size_t)p[k].data[plane] + (size_t)y * (size_t)p[k].stride[plane],
                                (char *)host.data[plane] + (ptrdiff_t)y * host.stride[plane],
                                (size_t)host.w[plane] * (bpc > 8 ? 2 : 1));
                }
            }
            pop(&popped);
            vmaf_picture_unref(&host);
        }
        bad |= vmaf_read_pictures(c, &p[0], &p[1], i);
        bad |= i == 3 && vmaf_score_at_index(c, model, &scores[0], 0); /* makes a GPU finish its incomplete batch */
    }
    bad |= vmaf_read_pictures(c, NULL, NULL, 0);
    for (unsigned i = 0; i < FRAMES; i++)
        bad |= vmaf_score_at_index(c, model, &scores[i], i);
    vmaf_model_destroy(model);
    release(0);
    bad |= vmaf_close(c);
    return bad;
}

static int cuda(void) {
    static const struct {
        int method;
        unsigned bpc;
        const char *feature; /* an additional feature */
    } ways[] = { { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST, 8, NULL },
                 { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST_PINNED, 8, NULL },
                 { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE, 8, NULL },
                 { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE, 8, "speed_temporal" },
                 { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE, 8, "vif_cuda" },
                 { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST, 10, NULL },
                 { VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE, 10, NULL } };
    double expected[FRAMES] = { 0 }, scores[FRAMES];
    int bad = 0;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        int failed = run_cuda(ways[i].method, ways[i].bpc, ways[i].feature, scores);
        int is_first = ways[i].method == VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST;
        int differs = !is_first && !failed && memcmp(expected, scores, sizeof scores) != 0;
        if (is_first)
            memcpy(expected, scores, sizeof scores);
        if (failed || differs) {
            printf("way %d: %s\n", (int)i, failed ? "failed" : "different values");
            bad = 1;
        }
    }
    VmafContext *c;
    VmafPicture p;
    VmafCudaPictureConfiguration none = { { WIDTH, HEIGHT, 8, VMAF_PIX_FMT_YUV420P },
                                          VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_NONE };
    bad |= vmaf_init(&c, plain()) || !vmaf_cuda_import_state(c, NULL) || vmaf_cuda_preallocate_pictures(c, none) ||
           !vmaf_cuda_fetch_preallocated_picture(c, &p) || vmaf_close(c);
    printf("cuda: %s\n", bad ? "wrong" : "right");
    return bad;
}
#endif

/* ---- memory ---- */

#ifdef CLIENT_WRAPPED
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);

static int left = -1; /* number of allocations before one fails; negative: no allocation fails */

static int is_failing(void) {
    return left >= 0 && left-- == 0;
}

void *__wrap_malloc(size_t size) {
    return is_failing() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return is_failing() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *pointer, size_t size) {
    return is_failing() ? NULL : __real_realloc(pointer, size);
}

/* Calls each function once, and stops at the first error. */
static int use_memory(const char *folder) {
    VmafContext *c = NULL;
    VmafModel *model = NULL, *main_model = NULL;
    VmafModelCollection *collection = NULL;
    VmafModelCollectionScore s;
    VmafModelConfig m = { "m", 0 }, other = { "b", 0 };
    VmafFeatureDictionary *options = NULL, *more = NULL;
    VmafPictureConfiguration pictures = { { WIDTH, HEIGHT, 8, VMAF_PIX_FMT_YUV420P }, 2 };
    VmafPicture p[2];
    char path[4096];
    double score;
    memset(p, 0, sizeof p);
    snprintf(path, sizeof path, "%s/report", folder);
    int err = vmaf_init(&c, plain());
    err = err ? err : vmaf_model_load(&model, &m, "vmaf_v0.6.1");
    err = err ? err : vmaf_feature_dictionary_set(&options, "vif_enhn_gain_limit", "1.5");
    if (!err)
        err = vmaf_model_feature_overload(model, "vif", options); /* frees the options, even on failure */
    err = err ? err : vmaf_model_collection_load(&main_model, &collection, &other, "vmaf_b_v0.6.3");
    err = err ? err : vmaf_use_features_from_model(c, model);
    err = err ? err : vmaf_use_features_from_model_collection(c, collection);
    err = err ? err : vmaf_feature_dictionary_set(&more, "debug", "true");
    if (!err) {
        err = vmaf_use_feature(c, "motion", more);
        more = err ? more : NULL;
    }
    err = err ? err : vmaf_import_feature_score(c, "ours", 1, 0);
    err = err ? err : vmaf_preallocate_pictures(c, pictures);
    for (unsigned i = 0; i < 2 && !err; i++) {
        for (int k = 0; k < 2 && !err; k++) {
            err = vmaf_fetch_preallocated_picture(c, &p[k]);
            if (!err)
                fill(&p[k], i, k);
        }
        err = err ? err : vmaf_read_pictures(c, &p[0], &p[1], i);
    }
    err = err ? err : vmaf_read_pictures(c, NULL, NULL, 0);
    err = err ? err : vmaf_score_pooled(c, model, VMAF_POOL_METHOD_MEAN, &score, 0, 1);
    err = err ? err : vmaf_score_pooled_model_collection(c, collection, VMAF_POOL_METHOD_MEAN, &s, 0, 1);
    err = err ? err : vmaf_write_output(c, path, VMAF_OUTPUT_FORMAT_XML);
    for (int k = 0; k < 2; k++)
        if (p[k].ref)
            vmaf_picture_unref(&p[k]);
    vmaf_feature_dictionary_free(&more);
    vmaf_model_destroy(model);
    vmaf_model_destroy(main_model);
    vmaf_model_collection_destroy(collection);
    if (c)
        vmaf_close(c);
    return err;
}

static int memory(const char *folder) {
    int n = 0, err, bad = 0;
    do {
        left = n++;
        err = use_memory(folder);
        bad |= left < 0 && err != -12 && n == 1;
    } while (left < 0 && n < 2000);
    printf("memory: %s (%s)\n", err == 0 && !bad ? "right" : "wrong", n > 60 ? "many" : "few");
    return err != 0 || bad;
}
#endif

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    return strcmp(what, "calls") == 0     ? calls(argc > 2 ? argv[2] : ".")
           : strcmp(what, "sizes") == 0   ? sizes()
           : strcmp(what, "threads") == 0 ? threads()
#ifdef CLIENT_CUDA
           : strcmp(what, "cuda") == 0 ? cuda()
#endif
#ifdef CLIENT_WRAPPED
           : strcmp(what, "memory") == 0 ? memory(argc > 2 ? argv[2] : ".")
#endif
                                         : 2;
}
