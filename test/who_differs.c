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
#include "scoring.h"

enum { MOST_COLUMNS = 64, MOST_FRAMES = 8 };

/* ---- what is compared ---- */

static const struct {
    const char *name, *cuda; /* cuda: the name of the extractor for CUDA, or NULL */
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

/* Scores a film with vmafgpu.h. */
static void ours(const film *f, const char *extractor, values *out) {
    const vmafgpu_feature_config feature = { extractor, NULL };
    const vmafgpu_config config = film_feature_config(f, &feature);
    vmafgpu *v;
    test_need(vmafgpu_open(&v, &config) == VMAFGPU_OK, vmafgpu_last_error(v));
    for (int i = 0; i < f->clip.frames; i++)
        test_need(film_push(f, v, i) == VMAFGPU_OK, vmafgpu_last_error(v));
    test_need(vmafgpu_flush(v) == VMAFGPU_OK, vmafgpu_last_error(v));
    memset(out, 0, sizeof *out);
    out->columns = vmafgpu_column_count(v);
    test_need(out->columns <= MOST_COLUMNS, "too many columns");
    for (int k = 0; k < out->columns; k++) {
        snprintf(out->names[k], sizeof out->names[k], "%s", vmafgpu_column_name(v, k));
        for (int i = 0; i < f->clip.frames; i++)
            if (vmafgpu_value_at(v, i, k, &out->at[k][i]) != VMAFGPU_OK)
                out->at[k][i] = NAN;
    }
    vmafgpu_close(v);
}

static void their_picture(const film *f, int frame, int side, VmafPicture *picture) {
    const vmafgpu_frame from = film_frame(f, frame, side);
    test_need(!vmaf_picture_alloc(picture, VMAF_PIX_FMT_YUV420P, (unsigned)f->clip.depth, (unsigned)f->clip.width,
                                  (unsigned)f->clip.height),
              "vmaf_picture_alloc failed");
    for (int plane = 0; plane < 3; plane++) {
        const size_t row = picture->w[plane] * (size_t)f->bytes_per_sample;
        for (unsigned y = 0; y < picture->h[plane]; y++)
            memcpy((char *)picture->data[plane] + (ptrdiff_t)y * picture->stride[plane],
                   (const char *)from.data[plane] + y * row, row);
    }
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
static void theirs(const film *f, int extractor, int path, const values *expected, values *out) {
    VmafConfiguration config;
    VmafContext *vmaf = NULL;
    const char *name = paths[path].is_cuda ? extractors[extractor].cuda : extractors[extractor].name;
    memset(&config, 0, sizeof config);
    memset(out, 0, sizeof *out);
    config.cpumask = paths[path].cpumask;
    if (!name)
        return;
    test_need(!vmaf_init(&vmaf, config), "vmaf_init failed");
#ifdef WITH_CUDA
    VmafCudaState *state = NULL;
    VmafCudaConfiguration cuda;
    memset(&cuda, 0, sizeof cuda);
    if (paths[path].is_cuda)
        test_need(!vmaf_cuda_state_init(&state, cuda) && !vmaf_cuda_import_state(vmaf, state),
                  "libvmaf cannot use CUDA");
#endif
    out->is_valid = !vmaf_use_feature(vmaf, name, NULL);
    for (int i = 0; i < f->clip.frames && out->is_valid; i++) {
        VmafPicture reference, distorted;
        their_picture(f, i, CLIP_REFERENCE, &reference);
        their_picture(f, i, CLIP_DISTORTED, &distorted);
        out->is_valid = !vmaf_read_pictures(vmaf, &reference, &distorted, (unsigned)i);
    }
    out->is_valid = out->is_valid && !vmaf_read_pictures(vmaf, NULL, NULL, 0);
    for (int k = 0; k < expected->columns; k++)
        for (int i = 0; i < f->clip.frames; i++)
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
        film f = film_make_colour(clips[n].content, clips[n].width, clips[n].height, clips[n].depth, 420, 4, 1);
        for (int e = 0; e < EXTRACTORS; e++) {
            ours(&f, extractors[e].name, &a);
            for (int p = 0; p < PATHS; p++) {
                theirs(&f, e, p, &a, &b);
                if (b.is_valid)
                    compare(&a, &b, f.clip.frames, &table[e][p]);
            }
        }
        film_free(&f);
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
