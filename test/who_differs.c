/* Compares the features of vmafgpu.h with each code path of a libvmaf build: plain C, AVX2, AVX-512, and, if this
 * program is compiled with -DWITH_CUDA, CUDA. Prints a Markdown table with the number of values that differ and the
 * largest difference, for each extractor and path. test/who_differs.sh compiles and runs this program. */
#include <libvmaf/libvmaf.h>
#ifdef WITH_CUDA
#include <libvmaf/libvmaf_cuda.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../vmafgpu.h"
#include "clip.h"

enum { MOST_COLUMNS = 64, MOST_FRAMES = 8 };

/* ---- what is compared ---- */

static const struct {
    const char *name, *cuda; /* cuda: the extractor for CUDA, or NULL */
} extractors[] = {
    { "vif", "vif_cuda" },    { "adm", "adm_cuda" },     { "motion", "motion_cuda" },
    { "cambi", NULL },        { "speed_chroma", NULL },  { "speed_temporal", NULL },
    { "psnr", NULL },         { "psnr_hvs", NULL },      { "ciede", NULL },
    { "float_ssim", NULL },   { "float_ms_ssim", NULL }, { "float_psnr", NULL },
    { "float_moment", NULL }, { "float_ansnr", NULL },   { "float_adm", NULL },
    { "float_vif", NULL },    { "float_motion", NULL },
};

static const struct {
    const char *content;
    int width, height, depth;
} clips[] = {
    { "texture+mix", 576, 324, 8 },   { "texture+blur", 352, 288, 8 },   { "texture+mix", 578, 326, 10 },
    { "blocks+coarse", 320, 180, 8 }, { "chequers+grain", 322, 242, 8 }, { "bands+mix", 1280, 720, 8 },
    { "noise+faint", 256, 192, 12 },  { "shade+mix", 640, 360, 8 },      { "diagonals+stretch", 640, 360, 10 },
};

/* cpumask names the instruction sets that libvmaf must not use. */
static const struct {
    const char *name;
    unsigned cpumask;
    int is_cuda;
} paths[] = {
    { "C", 255, 0 },
    { "AVX2", 16, 0 },
    { "AVX-512", 0, 0 },
#ifdef WITH_CUDA
    { "CUDA", 0, 1 },
#endif
};

enum { EXTRACTORS = sizeof extractors / sizeof extractors[0], CLIPS = sizeof clips / sizeof clips[0] };
enum { PATHS = sizeof paths / sizeof paths[0] };

/* ---- values ---- */

typedef struct values {
    int is_valid, columns;
    char names[MOST_COLUMNS][64]; /* column names, as in libvmaf */
    double at[MOST_COLUMNS][MOST_FRAMES];
} values;

static void need(int is_true, const char *what) {
    if (!is_true) {
        fprintf(stderr, "who_differs: %s\n", what);
        exit(1);
    }
}

/* Writes all planes of a frame, without padding, to the caller's memory. */
static void read_frame(const clip *c, int frame, int side, unsigned char *bytes) {
    const int size = c->depth > 8 ? 2 : 1;
    for (int plane = 0; plane < 3; plane++) {
        const size_t count = clip_plane_samples(c, plane);
        uint16_t *samples = (uint16_t *)malloc(count * sizeof *samples);
        need(samples && clip_plane(c, frame, side, plane, samples), "out of memory");
        clip_store(samples, count, size, bytes);
        bytes += count * (size_t)size;
        free(samples);
    }
}

static size_t frame_bytes(const clip *c) {
    return (clip_plane_samples(c, 0) + 2 * clip_plane_samples(c, 1)) * (c->depth > 8 ? 2 : 1);
}

static vmafgpu_frame our_frame(const clip *c, const unsigned char *bytes) {
    const ptrdiff_t size = c->depth > 8 ? 2 : 1;
    vmafgpu_frame f = VMAFGPU_INIT;
    for (int plane = 0; plane < 3; plane++) {
        f.data[plane] = bytes;
        f.pitch[plane] = clip_plane_width(c, plane) * size;
        bytes += clip_plane_samples(c, plane) * (size_t)size;
    }
    return f;
}

/* Scores a clip with vmafgpu.h. */
static void ours(const clip *c, const char *extractor, values *out) {
    vmafgpu_feature_config feature = VMAFGPU_INIT;
    vmafgpu_config config = VMAFGPU_INIT;
    vmafgpu *v;
    unsigned char *bytes = (unsigned char *)malloc(2 * frame_bytes(c));
    feature.name = extractor;
    config.width = c->width, config.height = c->height, config.bit_depth = c->depth;
    config.features = &feature, config.feature_count = 1;
    config.features_only = 1;
    config.backend = VMAFGPU_BACKEND_CPU;
    memset(out, 0, sizeof *out);
    need(bytes != NULL, "out of memory");
    need(vmafgpu_open(&v, &config) == VMAFGPU_OK, vmafgpu_last_error(v));
    for (int i = 0; i < c->frames; i++) {
        read_frame(c, i, CLIP_REFERENCE, bytes);
        read_frame(c, i, CLIP_DISTORTED, bytes + frame_bytes(c));
        const vmafgpu_frame reference = our_frame(c, bytes), distorted = our_frame(c, bytes + frame_bytes(c));
        need(vmafgpu_push(v, &reference, &distorted) == VMAFGPU_OK, vmafgpu_last_error(v));
    }
    need(vmafgpu_flush(v) == VMAFGPU_OK, vmafgpu_last_error(v));
    out->columns = vmafgpu_column_count(v);
    need(out->columns <= MOST_COLUMNS, "too many columns");
    for (int k = 0; k < out->columns; k++) {
        snprintf(out->names[k], sizeof out->names[k], "%s", vmafgpu_column_name(v, k));
        for (int i = 0; i < c->frames; i++)
            if (vmafgpu_value_at(v, i, k, &out->at[k][i]) != VMAFGPU_OK)
                out->at[k][i] = NAN;
    }
    out->is_valid = 1;
    vmafgpu_close(v);
    free(bytes);
}

static void their_picture(const clip *c, int frame, int side, VmafPicture *picture) {
    const int size = c->depth > 8 ? 2 : 1;
    unsigned char *bytes = (unsigned char *)malloc(frame_bytes(c)), *at = bytes;
    need(bytes && !vmaf_picture_alloc(picture, VMAF_PIX_FMT_YUV420P, (unsigned)c->depth, (unsigned)c->width,
                                      (unsigned)c->height),
         "out of memory");
    read_frame(c, frame, side, bytes);
    for (int plane = 0; plane < 3; plane++) {
        const size_t row = (size_t)clip_plane_width(c, plane) * (size_t)size;
        for (unsigned y = 0; y < picture->h[plane]; y++)
            memcpy((char *)picture->data[plane] + (ptrdiff_t)y * picture->stride[plane], at + y * row,
                   picture->w[plane] * (size_t)size);
        at += clip_plane_samples(c, plane) * (size_t)size;
    }
    free(bytes);
}

/* Reads a value. libvmaf needs the long names of columns, such as VMAF_integer_feature_adm2_score for integer_adm2. */
static double their_value(VmafContext *vmaf, const char *column, int frame) {
    static const char *const formats[] = { "%s",
                                           "VMAF_feature_%s_score",
                                           "VMAF_%s_score",
                                           "Cambi_feature_%s_score",
                                           "Speed_chroma_feature_%s_score",
                                           "Speed_temporal_feature_%s_score" };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char stem[96], name[160];
        double value;
        if (i == 2 && !strncmp(column, "integer_", 8))
            snprintf(stem, sizeof stem, "integer_feature_%s", column + 8);
        else
            snprintf(stem, sizeof stem, "%s", column);
        snprintf(name, sizeof name, formats[i], stem);
        if (!vmaf_feature_score_at_index(vmaf, name, &value, (unsigned)frame))
            return value;
    }
    return NAN;
}

/* Scores a clip with a code path of libvmaf. Sets is_valid to 0 if libvmaf has no such extractor. */
static void theirs(const clip *c, int extractor, int path, const values *expected, values *out) {
    VmafConfiguration config;
    VmafContext *vmaf = NULL;
    const char *name = paths[path].is_cuda ? extractors[extractor].cuda : extractors[extractor].name;
    memset(&config, 0, sizeof config);
    memset(out, 0, sizeof *out);
    config.cpumask = paths[path].cpumask;
    if (!name)
        return;
    need(!vmaf_init(&vmaf, config), "vmaf_init failed");
#ifdef WITH_CUDA
    VmafCudaState *state = NULL;
    VmafCudaConfiguration cuda;
    memset(&cuda, 0, sizeof cuda);
    if (paths[path].is_cuda)
        need(!vmaf_cuda_state_init(&state, cuda) && !vmaf_cuda_import_state(vmaf, state), "libvmaf cannot use CUDA");
#endif
    out->is_valid = !vmaf_use_feature(vmaf, name, NULL);
    for (int i = 0; i < c->frames && out->is_valid; i++) {
        VmafPicture reference, distorted;
        their_picture(c, i, CLIP_REFERENCE, &reference);
        their_picture(c, i, CLIP_DISTORTED, &distorted);
        out->is_valid = !vmaf_read_pictures(vmaf, &reference, &distorted, (unsigned)i);
    }
    out->is_valid = out->is_valid && !vmaf_read_pictures(vmaf, NULL, NULL, 0);
    for (int k = 0; k < expected->columns; k++)
        for (int i = 0; i < c->frames; i++)
            out->at[k][i] = their_value(vmaf, expected->names[k], i);
    vmaf_close(vmaf);
}

/* ---- the table ---- */

typedef struct tally {
    int compared, different, missing;
    double largest;
} tally;

static void compare(const values *a, const values *b, int frames, tally *t) {
    for (int k = 0; k < a->columns; k++)
        for (int i = 0; i < frames; i++) {
            if (isnan(b->at[k][i]) && !isnan(a->at[k][i])) {
                t->missing++;
                continue;
            }
            const double difference = fabs(a->at[k][i] - b->at[k][i]);
            t->compared++;
            t->different += memcmp(&a->at[k][i], &b->at[k][i], sizeof(double)) != 0;
            t->largest = difference > t->largest ? difference : t->largest;
        }
}

int main(void) {
    static values a, b;
    static tally table[EXTRACTORS][PATHS];
    int wrong = 0;
    for (int n = 0; n < CLIPS; n++) {
        clip c;
        need(clip_init(&c, clips[n].content, clips[n].width, clips[n].height, clips[n].depth, 420, 4, 1), "clip");
        for (int e = 0; e < EXTRACTORS; e++) {
            ours(&c, extractors[e].name, &a);
            for (int p = 0; p < PATHS; p++) {
                theirs(&c, e, p, &a, &b);
                if (b.is_valid)
                    compare(&a, &b, c.frames, &table[e][p]);
            }
        }
    }
    printf("libvmaf %s against vmafgpu %s, %d clips of 4 frames\n\n| extractor | values |", vmaf_version(),
           vmafgpu_version_string(), CLIPS);
    for (int p = 0; p < PATHS; p++)
        printf(" %s |", paths[p].name);
    printf("\n| --- | --- |");
    for (int p = 0; p < PATHS; p++)
        printf(" --- |");
    for (int e = 0; e < EXTRACTORS; e++) {
        printf("\n| %s | %d |", extractors[e].name, table[e][0].compared);
        for (int p = 0; p < PATHS; p++) {
            const tally *t = &table[e][p];
            if (!t->compared)
                printf(" none |");
            else if (!t->different)
                printf(" equal |");
            else
                printf(" %d differ, by at most %.2g |", t->different, t->largest);
        }
        wrong += table[e][0].different + table[e][0].missing + !table[e][0].compared;
    }
    printf("\n");
    return wrong != 0;
}
