/* Declares the binary interface of libvmaf 3.2.0, which examples/libvmaf/libvmaf.c implements on top of vmafgpu.
 *
 * Names, constants and struct layouts match the headers of libvmaf, so that programs compiled with those headers run
 * unchanged. The comment at the top of libvmaf.c lists the differences in behaviour. Functions return 0 on success and
 * a negative errno on failure.
 */
#ifndef LIBVMAF_LIBVMAF_H
#define LIBVMAF_LIBVMAF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h> /* programs rely on this include */

/* Prefix of every function. */
#ifndef VMAF_API
#define VMAF_API extern
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options of features ---- */

typedef struct VmafFeatureDictionary VmafFeatureDictionary;

/* Allocates the dictionary if *options is NULL. */
VMAF_API int vmaf_feature_dictionary_set(VmafFeatureDictionary **options, const char *name, const char *value);
VMAF_API int vmaf_feature_dictionary_free(VmafFeatureDictionary **options);

/* ---- pictures ---- */

enum VmafPixelFormat {
    VMAF_PIX_FMT_UNKNOWN = 0,
    VMAF_PIX_FMT_YUV420P = 1,
    VMAF_PIX_FMT_YUV422P = 2,
    VMAF_PIX_FMT_YUV444P = 3,
    VMAF_PIX_FMT_YUV400P = 4
};

typedef struct VmafRef VmafRef;

typedef struct VmafPicture {
    enum VmafPixelFormat pix_fmt;
    unsigned bpc; /* bits per sample; samples of more than 8 bits are 16-bit words */
    unsigned w[3], h[3];
    ptrdiff_t stride[3]; /* in bytes */
    void *data[3];
    VmafRef *ref;
    void *priv;
} VmafPicture;

VMAF_API int vmaf_picture_alloc(VmafPicture *picture, enum VmafPixelFormat format, unsigned bpc, unsigned w,
                                unsigned h);
VMAF_API int vmaf_picture_unref(VmafPicture *picture);

/* ---- models ---- */

enum VmafModelFlags {
    VMAF_MODEL_FLAGS_DEFAULT = 0,
    VMAF_MODEL_FLAG_DISABLE_CLIP = 1,
    VMAF_MODEL_FLAG_ENABLE_TRANSFORM = 2,
    VMAF_MODEL_FLAG_DISABLE_TRANSFORM = 4
};

typedef struct VmafModel VmafModel;
typedef struct VmafModelCollection VmafModelCollection;

typedef struct VmafModelConfig {
    const char *name; /* default (NULL): "vmaf" */
    uint64_t flags;
} VmafModelConfig;

enum VmafModelCollectionScoreType {
    VMAF_MODEL_COLLECTION_SCORE_UNKNOWN = 0,
    VMAF_MODEL_COLLECTION_SCORE_BOOTSTRAP = 1
};

typedef struct VmafModelCollectionScore {
    enum VmafModelCollectionScoreType type;
    struct {
        double bagging_score;
        double stddev;
        struct {
            struct {
                double lo, hi;
            } p95;
        } ci;
    } bootstrap;
} VmafModelCollectionScore;

VMAF_API int vmaf_model_load(VmafModel **model, VmafModelConfig *config, const char *version);
VMAF_API int vmaf_model_load_from_path(VmafModel **model, VmafModelConfig *config, const char *path);
VMAF_API int vmaf_model_feature_overload(VmafModel *model, const char *feature, VmafFeatureDictionary *options);
VMAF_API void vmaf_model_destroy(VmafModel *model);
VMAF_API int vmaf_model_collection_load(VmafModel **model, VmafModelCollection **collection, VmafModelConfig *config,
                                        const char *version);
VMAF_API int vmaf_model_collection_load_from_path(VmafModel **model, VmafModelCollection **collection,
                                                  VmafModelConfig *config, const char *path);
VMAF_API int vmaf_model_collection_feature_overload(VmafModel *model, VmafModelCollection **collection,
                                                    const char *feature, VmafFeatureDictionary *options);
VMAF_API void vmaf_model_collection_destroy(VmafModelCollection *collection);

/* ---- contexts ---- */

enum VmafLogLevel {
    VMAF_LOG_LEVEL_NONE = 0,
    VMAF_LOG_LEVEL_ERROR = 1,
    VMAF_LOG_LEVEL_WARNING = 2,
    VMAF_LOG_LEVEL_INFO = 3,
    VMAF_LOG_LEVEL_DEBUG = 4
};

enum VmafOutputFormat {
    VMAF_OUTPUT_FORMAT_NONE = 0,
    VMAF_OUTPUT_FORMAT_XML = 1,
    VMAF_OUTPUT_FORMAT_JSON = 2,
    VMAF_OUTPUT_FORMAT_CSV = 3,
    VMAF_OUTPUT_FORMAT_SUB = 4
};

enum VmafPoolingMethod {
    VMAF_POOL_METHOD_UNKNOWN = 0,
    VMAF_POOL_METHOD_MIN = 1,
    VMAF_POOL_METHOD_MAX = 2,
    VMAF_POOL_METHOD_MEAN = 3,
    VMAF_POOL_METHOD_HARMONIC_MEAN = 4,
    VMAF_POOL_METHOD_NB = 5
};

typedef struct VmafConfiguration {
    enum VmafLogLevel log_level;
    unsigned n_threads;
    unsigned n_subsample;
    uint64_t cpumask;
    uint64_t gpumask;
} VmafConfiguration;

typedef struct VmafPictureConfiguration {
    struct {
        unsigned w, h;
        unsigned bpc;
        enum VmafPixelFormat pix_fmt;
    } pic_params;
    unsigned pic_cnt;
} VmafPictureConfiguration;

typedef struct VmafContext VmafContext;

VMAF_API int vmaf_init(VmafContext **context, VmafConfiguration config);
VMAF_API int vmaf_close(VmafContext *context);
VMAF_API int vmaf_use_features_from_model(VmafContext *context, VmafModel *model);
VMAF_API int vmaf_use_features_from_model_collection(VmafContext *context, VmafModelCollection *collection);
VMAF_API int vmaf_use_feature(VmafContext *context, const char *feature, VmafFeatureDictionary *options);
VMAF_API int vmaf_import_feature_score(VmafContext *context, const char *feature, double value, unsigned index);
VMAF_API int vmaf_preallocate_pictures(VmafContext *context, VmafPictureConfiguration config);
VMAF_API int vmaf_fetch_preallocated_picture(VmafContext *context, VmafPicture *picture);
VMAF_API int vmaf_read_pictures(VmafContext *context, VmafPicture *reference, VmafPicture *distorted, unsigned index);
VMAF_API int vmaf_feature_score_at_index(VmafContext *context, const char *feature, double *score, unsigned index);
VMAF_API int vmaf_score_at_index(VmafContext *context, VmafModel *model, double *score, unsigned index);
VMAF_API int vmaf_score_at_index_model_collection(VmafContext *context, VmafModelCollection *collection,
                                                  VmafModelCollectionScore *score, unsigned index);
VMAF_API int vmaf_feature_score_pooled(VmafContext *context, const char *feature, enum VmafPoolingMethod method,
                                       double *score, unsigned first, unsigned last);
VMAF_API int vmaf_score_pooled(VmafContext *context, VmafModel *model, enum VmafPoolingMethod method, double *score,
                               unsigned first, unsigned last);
VMAF_API int vmaf_score_pooled_model_collection(VmafContext *context, VmafModelCollection *collection,
                                                enum VmafPoolingMethod method, VmafModelCollectionScore *score,
                                                unsigned first, unsigned last);
VMAF_API int vmaf_write_output(VmafContext *context, const char *path, enum VmafOutputFormat format);
VMAF_API const char *vmaf_version(void);

/* ---- frames in CUDA memory ---- */

typedef struct VmafCudaState VmafCudaState;

typedef struct VmafCudaConfiguration {
    void *cu_ctx; /* a CUcontext; default (NULL): the primary context of the first device */
} VmafCudaConfiguration;

enum VmafCudaPicturePreallocationMethod {
    VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_NONE = 0,
    VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_DEVICE = 1,
    VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST = 2,
    VMAF_CUDA_PICTURE_PREALLOCATION_METHOD_HOST_PINNED = 3
};

typedef struct VmafCudaPictureConfiguration {
    struct {
        unsigned w, h;
        unsigned bpc;
        enum VmafPixelFormat pix_fmt;
    } pic_params;
    enum VmafCudaPicturePreallocationMethod pic_prealloc_method;
} VmafCudaPictureConfiguration;

VMAF_API int vmaf_cuda_state_init(VmafCudaState **state, VmafCudaConfiguration config);
VMAF_API int vmaf_cuda_import_state(VmafContext *context, VmafCudaState *state);
VMAF_API int vmaf_cuda_preallocate_pictures(VmafContext *context, VmafCudaPictureConfiguration config);
VMAF_API int vmaf_cuda_fetch_preallocated_picture(VmafContext *context, VmafPicture *picture);

#ifdef __cplusplus
}
#endif

#endif /* LIBVMAF_LIBVMAF_H */
