/* Property: in this project's replacement for libvmaf, any call in any sequence returns 0 or a negative errno, and
 * nothing leaks. A call takes ownership of both pictures of a pair or of neither. Reading a value twice returns the
 * same value.
 *
 * The input is a list of calls. The first byte of each is an index into `calls`, and the next bytes are its arguments.
 * After the end of the input, all arguments are 0. */
#include <libvmaf/libvmaf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONTEXTS = 3, MODELS = 3, PICTURES = 6, DICTIONARIES = 2, POOL = 4, MOST_CALLS = 200 };

typedef struct state {
    const uint8_t *at;
    size_t left;
    VmafContext *contexts[CONTEXTS];
    unsigned next[CONTEXTS]; /* index of the next pair */
    int pools[CONTEXTS];     /* number of the latest vmaf_preallocate_pictures(); 0: none */
    VmafModel *models[MODELS];
    VmafModelCollection *collections[MODELS];
    VmafPicture pictures[PICTURES];
    int homes[PICTURES]; /* the pool of a picture; 0: none */
    VmafFeatureDictionary *dictionaries[DICTIONARIES];
    int pool_count;
} state;

static void require(int is_right) {
    if (!is_right)
        abort();
}

/* ---- arguments ---- */

static unsigned byte(state *s) {
    s->left -= s->left > 0;
    return s->left > 0 ? *s->at++ : 0;
}

#define COUNT(list)     (sizeof(list) / sizeof(list)[0])
#define ONE_OF(s, list) (list)[byte(s) % COUNT(list)]

static const char *const names[] = { "vmaf",
                                     "a\"b\\c\n<&>,|",
                                     "",
                                     "\xff\xc3",
                                     "integer_adm2",
                                     "VMAF_integer_feature_adm2_score",
                                     "integer_motion2",
                                     "VMAF_integer_feature_vif_scale0_score",
                                     "psnr_y",
                                     "ciede2000",
                                     "0",
                                     "vmaf_bagging",
                                     "vmaf_ci_p95_lo",
                                     "nothing" };

static const char *name(state *s) {
    return ONE_OF(s, names);
}

/* Returns, in most cases, the index of the next pair; otherwise an index at the limit of a range. */
static unsigned index_of(state *s, unsigned next) {
    static const unsigned numbers[] = { 0, 1, 2, 5, 4095, 4096, 0x7fffffffu, 0x80000000u, 0xffffffffu };
    unsigned choice = byte(s);
    return choice < 200 ? next : numbers[choice % COUNT(numbers)];
}

static VmafContext *context(state *s, int *number) {
    *number = (int)(byte(s) % CONTEXTS);
    return s->contexts[*number];
}

/* ---- calls ---- */

static void check(int err) {
    require(err == 0 || err == -EINVAL || err == -ENOMEM);
}

static void close_context(state *s, int i) {
    require(vmaf_close(s->contexts[i]) == (s->contexts[i] ? 0 : -EINVAL));
    s->contexts[i] = NULL;
    s->next[i] = 0;
    s->pools[i] = 0;
}

static void unref(state *s, int i) {
    int is_there = s->pictures[i].ref != NULL;
    require(vmaf_picture_unref(&s->pictures[i]) == (is_there ? 0 : -EINVAL));
    require(s->pictures[i].ref == NULL || !is_there);
    s->homes[i] = 0;
}

static void call_init(state *s) {
    static const unsigned subsamples[] = { 0, 0, 0, 0, 1, 2, 3, 0x7fffffffu, 0x80000000u, 0xffffffffu };
    static const unsigned threads[] = { 0, 0, 1, 2, 3 };
    VmafConfiguration config = { VMAF_LOG_LEVEL_NONE, 0, 0, 0, 0 };
    int i;
    if (context(s, &i))
        close_context(s, i);
    config.n_threads = ONE_OF(s, threads);
    config.n_subsample = ONE_OF(s, subsamples);
    config.cpumask = byte(s) & 1 ? (uint64_t)-1 : 0;
    require(vmaf_init(&s->contexts[i], config) == 0);
}

static void call_close(state *s) {
    close_context(s, (int)(byte(s) % CONTEXTS));
}

static void call_load(state *s) {
    static const char *const versions[] = { "vmaf_v0.6.1", "vmaf_v0.6.1neg", "vmaf_b_v0.6.3", "vmaf_float_v0.6.1",
                                            "nothing" };
    int i = (int)(byte(s) % MODELS);
    VmafModelConfig config = { name(s), 0 };
    config.flags = byte(s) % 8;
    vmaf_model_destroy(s->models[i]);
    vmaf_model_collection_destroy(s->collections[i]);
    s->models[i] = NULL;
    s->collections[i] = NULL;
    int is_collection = byte(s) & 1;
    const char *version = ONE_OF(s, versions);
    check(is_collection ? vmaf_model_collection_load(&s->models[i], &s->collections[i], &config, version)
                        : vmaf_model_load(&s->models[i], &config, version));
}

static void call_use_model(state *s) {
    int i, m = (int)(byte(s) % MODELS);
    VmafContext *c = context(s, &i);
    check(s->collections[m] && byte(s) & 1 ? vmaf_use_features_from_model_collection(c, s->collections[m])
                                           : vmaf_use_features_from_model(c, s->models[m]));
}

/* vmaf_use_feature() takes ownership of the dictionary if it succeeds. */
static void call_use_feature(state *s) {
    static const char *const features[] = { "vif",        "adm",      "motion", "psnr",   "ciede",
                                            "float_ssim", "psnr_hvs", "cambi",  "nothing" };
    int i, d = (int)(byte(s) % (DICTIONARIES + 1));
    VmafContext *c = context(s, &i);
    int err = vmaf_use_feature(c, ONE_OF(s, features), d < DICTIONARIES ? s->dictionaries[d] : NULL);
    check(err);
    if (err == 0 && d < DICTIONARIES)
        s->dictionaries[d] = NULL;
}

static void call_overload(state *s) {
    int m = (int)(byte(s) % MODELS), d = (int)(byte(s) % DICTIONARIES);
    const char *feature = byte(s) & 1 ? "vif" : name(s);
    if (s->models[m] && s->dictionaries[d]) {
        check(s->collections[m] ? vmaf_model_collection_feature_overload(s->models[m], &s->collections[m], feature,
                                                                         s->dictionaries[d])
                                : vmaf_model_feature_overload(s->models[m], feature, s->dictionaries[d]));
        s->dictionaries[d] = NULL;
    }
}

static void call_set(state *s) {
    static const char *const keys[] = {
        "enable_mse", "vif_enhn_gain_limit", "adm_enhn_gain_limit", "motion_force_zero", "debug", "", ":="
    };
    static const char *const values[] = { "true", "1.0", "1e99", "", "true:debug=true", "-1", "\xff" };
    VmafFeatureDictionary **d = &s->dictionaries[byte(s) % DICTIONARIES];
    const char *key = ONE_OF(s, keys), *value = ONE_OF(s, values);
    check(vmaf_feature_dictionary_set(d, key, value));
}

static void call_free(state *s) {
    require(vmaf_feature_dictionary_free(&s->dictionaries[byte(s) % DICTIONARIES]) == 0);
}

static void fill(state *s, VmafPicture *p) {
    unsigned seed = byte(s), mask = byte(s) ? (1u << p->bpc) - 1 : 0xffff; /* rarely exceeds the bit depth */
    for (int i = 0; i < 3; i++) {
        for (unsigned y = 0; y < p->h[i]; y++) {
            unsigned char *row = (unsigned char *)p->data[i] + (ptrdiff_t)y * p->stride[i];
            for (unsigned x = 0; x < p->w[i]; x++) {
                seed = seed * 1664525u + 1013904223u;
                unsigned value = (x * 9 + y * 7 + (seed >> 24) % 16) & mask;
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

static void call_allocate(state *s) {
    static const unsigned depths[] = { 8, 8, 8, 8, 10, 16, 7, 17 },
                          widths[] = { 32, 32, 32, 32, 32, 33, 16, 1, 0, 0xffffffffu };
    int i = (int)(byte(s) % PICTURES);
    unsigned format = byte(s), bpc = ONE_OF(s, depths), w = ONE_OF(s, widths);
    if (s->pictures[i].ref)
        unref(s, i);
    check(vmaf_picture_alloc(&s->pictures[i], format < 200 ? VMAF_PIX_FMT_YUV420P : (enum VmafPixelFormat)(format % 6),
                             bpc, w, 32));
    fill(s, &s->pictures[i]);
}

static void call_unref(state *s) {
    unref(s, (int)(byte(s) % PICTURES));
}

static void call_preallocate(state *s) {
    VmafPictureConfiguration config = { { 32, 32, 8, VMAF_PIX_FMT_YUV420P }, POOL };
    int i;
    VmafContext *c = context(s, &i);
    config.pic_params.bpc = 8 + byte(s) % 16 / 14;
    config.pic_cnt = byte(s) < 8 ? 0 : POOL;
    int err = vmaf_preallocate_pictures(c, config);
    check(err);
    if (err == 0)
        s->pools[i] = ++s->pool_count;
}

/* Fetches a picture from a pool, unless all are in use, because the call would then wait. */
static void call_fetch(state *s) {
    int i, k = (int)(byte(s) % PICTURES), used = 0;
    VmafContext *c = context(s, &i);
    for (int j = 0; j < PICTURES; j++)
        used += s->homes[j] && s->homes[j] == s->pools[i];
    if (!c || !s->pools[i] || used < POOL) {
        if (s->pictures[k].ref)
            unref(s, k);
        int err = vmaf_fetch_preallocated_picture(c, &s->pictures[k]);
        check(err);
        if (err == 0) {
            s->homes[k] = s->pools[i];
            fill(s, &s->pictures[k]);
        }
    }
}

/* Passes two pictures to vmaf_read_pictures(). In some cases, both are the same picture, one is a copy of the other, or
 * one has invalid fields. */
static void call_read(state *s) {
    int i, a = (int)(byte(s) % PICTURES), b = (int)(byte(s) % PICTURES);
    VmafContext *c = context(s, &i);
    unsigned index = index_of(s, s->next[i]), way = byte(s);
    VmafPicture *reference = &s->pictures[a], *distorted = &s->pictures[b];
    if (way >= 249) {
        VmafPicture copy = way == 249 ? *reference : *distorted;
        copy.w[0] += way == 250;
        copy.pix_fmt = way == 251 ? VMAF_PIX_FMT_UNKNOWN : copy.pix_fmt;
        copy.bpc += way == 252;
        copy.ref = way == 253 ? NULL : copy.ref;
        require(vmaf_read_pictures(c, reference, way < 254 ? &copy : NULL, index) == -EINVAL);
        return;
    }
    void *before[2] = { reference->ref, distorted->ref };
    int err = vmaf_read_pictures(c, reference, distorted, index);
    check(err);
    require(a != b || err == -EINVAL);
    require((reference->ref == before[0] && distorted->ref == before[1]) || (!reference->ref && !distorted->ref));
    require(err || !reference->ref);
    if (!reference->ref && before[0]) {
        s->next[i]++;
        s->homes[a] = s->homes[b] = 0;
    }
}

/* Passes a valid pair of new pictures to vmaf_read_pictures(). Without such calls, most sequences would score
 * nothing. */
static void call_read_new(state *s) {
    int i;
    VmafContext *c = context(s, &i);
    VmafPicture p[2];
    memset(p, 0, sizeof p);
    for (int k = 0; k < 2; k++) {
        require(vmaf_picture_alloc(&p[k], VMAF_PIX_FMT_YUV420P, 8, 32, 32) == 0);
        fill(s, &p[k]);
    }
    int err = vmaf_read_pictures(c, &p[0], &p[1], s->next[i]);
    check(err);
    require(!p[0].ref == !p[1].ref && (err || !p[0].ref));
    s->next[i] += !p[0].ref;
    for (int k = 0; k < 2; k++)
        if (p[k].ref)
            require(vmaf_picture_unref(&p[k]) == 0);
}

static void call_flush(state *s) {
    int i;
    check(vmaf_read_pictures(context(s, &i), NULL, NULL, 0));
}

static void call_import(state *s) {
    int i;
    VmafContext *c = context(s, &i);
    const char *of = name(s);
    double value = (double)byte(s) / 16;
    check(vmaf_import_feature_score(c, of, value, index_of(s, byte(s) % 4)));
}

static void call_figure(state *s) {
    double value = 1, again = 2;
    int i;
    VmafContext *c = context(s, &i);
    const char *of = name(s);
    unsigned index = index_of(s, byte(s) % 4);
    int err = vmaf_feature_score_at_index(c, of, &value, index);
    check(err);
    if (err == 0)
        require(vmaf_feature_score_at_index(c, of, &again, index) == 0 && memcmp(&value, &again, sizeof value) == 0);
    enum VmafPoolingMethod method = (enum VmafPoolingMethod)(byte(s) % 7);
    unsigned first = byte(s) % 3, last = index_of(s, 2);
    check(vmaf_feature_score_pooled(c, of, method, &value, first, last));
}

static void call_score(state *s) {
    VmafModelCollectionScore all;
    double value = 1, again = 2;
    int i, m = (int)(byte(s) % MODELS);
    VmafContext *c = context(s, &i);
    unsigned index = index_of(s, byte(s) % 4);
    enum VmafPoolingMethod method = (enum VmafPoolingMethod)(byte(s) % 7);
    unsigned first = byte(s) % 3, last = index_of(s, 2);
    int err = vmaf_score_at_index(c, s->models[m], &value, index);
    check(err);
    if (err == 0)
        require(vmaf_score_at_index(c, s->models[m], &again, index) == 0 && memcmp(&value, &again, sizeof value) == 0);
    check(vmaf_score_pooled(c, s->models[m], method, &value, first, last));
    check(vmaf_score_at_index_model_collection(c, s->collections[m], &all, index));
    check(vmaf_score_pooled_model_collection(c, s->collections[m], method, &all, first, last));
}

static void call_write(state *s) {
    static const char *const paths[] = { "/dev/null", "/dev/full", "/nonexistent/report" };
    int i;
    VmafContext *c = context(s, &i);
    unsigned choice = byte(s) % 16;
    const char *path = paths[choice < 14 ? 0 : choice - 13];
    check(vmaf_write_output(c, path, (enum VmafOutputFormat)(byte(s) % 6)));
}

static void (*const calls[])(state *) = { call_init,        call_close,  call_load,   call_use_model, call_use_feature,
                                          call_overload,    call_set,    call_free,   call_allocate,  call_unref,
                                          call_preallocate, call_fetch,  call_read,   call_read_new,  call_read_new,
                                          call_flush,       call_import, call_figure, call_score,     call_write };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    state s;
    memset(&s, 0, sizeof s);
    s.at = data;
    s.left = size + 1;
    for (int i = 0; s.left > 1 && i < MOST_CALLS; i++)
        ONE_OF(&s, calls)(&s);
    for (int i = 0; i < CONTEXTS; i++)
        close_context(&s, i);
    for (int i = 0; i < PICTURES; i++) /* some pictures belong to pools of closed contexts */
        unref(&s, i);
    for (int i = 0; i < MODELS; i++) {
        vmaf_model_destroy(s.models[i]);
        vmaf_model_collection_destroy(s.collections[i]);
    }
    for (int i = 0; i < DICTIONARIES; i++)
        vmaf_feature_dictionary_free(&s.dictionaries[i]);
    return 0;
}
