/* Reads cases from standard input and prints the libvmaf values. See README.md in this folder.
 *
 *     cc -O2 make_figures.c -lvmaf -lm -lpthread -o make_figures && ./make_figures < cases.txt > figures.txt
 */
#include <libvmaf/libvmaf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cases.h"

enum { MAX_COLUMNS = 80, NAME_SIZE = 160 };

/* The bits of libvmaf's instruction set mask disable instruction sets. With all bits set, libvmaf runs plain C. */
static const uint64_t plain_c = 255;

static void need(int ok, const char *what, const char *name) {
    if (!ok) {
        fprintf(stderr, "make_figures: %s: %s\n", name, what);
        exit(1);
    }
}

/* Returns the dictionary for options such as "a=1:b=2". */
static VmafFeatureDictionary *dictionary(const char *options) {
    char copy[CASE_TEXT], *rest = copy, *piece;
    VmafFeatureDictionary *dict = NULL;
    snprintf(copy, sizeof copy, "%s", options);
    while (copy[0] && (piece = case_piece(&rest, ':')) != NULL) {
        char *key = case_piece(&piece, '=');
        need(vmaf_feature_dictionary_set(&dict, key, piece) == 0, "an option was refused", options);
    }
    return dict;
}

typedef struct loaded_model {
    VmafModel *model;
    VmafModelCollection *collection;
} loaded_model;

static void overload(loaded_model *m, const case_model *spec) {
    char copy[CASE_TEXT], *rest = copy, *piece;
    snprintf(copy, sizeof copy, "%s", spec->options);
    while (copy[0] && (piece = case_piece(&rest, ':')) != NULL) {
        char *extractor = case_piece(&piece, '.');
        VmafFeatureDictionary *dict = dictionary(piece);
        int err = m->collection ? vmaf_model_collection_feature_overload(m->model, &m->collection, extractor, dict)
                                : vmaf_model_feature_overload(m->model, extractor, dict);
        need(err == 0, "a model option was refused", spec->options);
    }
}

static loaded_model load_model(VmafContext *vmaf, const case_model *spec) {
    loaded_model m = { NULL, NULL };
    VmafModelConfig config = { spec->name[0] ? spec->name : "vmaf", 0 };
    config.flags |= spec->disable_clip ? VMAF_MODEL_FLAG_DISABLE_CLIP : 0;
    config.flags |= spec->enable_transform ? VMAF_MODEL_FLAG_ENABLE_TRANSFORM : 0;
    if (strncmp(spec->version, "vmaf_b", 6) == 0) {
        need(vmaf_model_collection_load(&m.model, &m.collection, &config, spec->version) == 0, "no such model",
             spec->version);
        overload(&m, spec);
        need(vmaf_use_features_from_model_collection(vmaf, m.collection) == 0, "features refused", spec->version);
    } else {
        need(vmaf_model_load(&m.model, &config, spec->version) == 0, "no such model", spec->version);
        overload(&m, spec);
        need(vmaf_use_features_from_model(vmaf, m.model) == 0, "features refused", spec->version);
    }
    return m;
}

static enum VmafPixelFormat pixel_format(int chroma) {
    return chroma == 400   ? VMAF_PIX_FMT_YUV400P
           : chroma == 420 ? VMAF_PIX_FMT_YUV420P
           : chroma == 422 ? VMAF_PIX_FMT_YUV422P
                           : VMAF_PIX_FMT_YUV444P;
}

/* Fills a picture with one frame. libvmaf omits the last chroma row or column of odd-sized pictures. */
static void fill(VmafPicture *picture, const clip *c, int frame, int side, uint16_t *samples) {
    int bytes_per_sample = c->depth > 8 ? 2 : 1;
    need(vmaf_picture_alloc(picture, pixel_format(c->chroma), (unsigned)c->depth, (unsigned)c->width,
                            (unsigned)c->height) == 0,
         "no memory", "picture");
    for (int plane = 0; plane < clip_plane_count(c); plane++) {
        int width = clip_plane_width(c, plane);
        need(clip_plane(c, frame, side, plane, samples), "no memory", "clip");
        for (unsigned y = 0; y < picture->h[plane]; y++) {
            clip_store(samples + y * (size_t)width, picture->w[plane], bytes_per_sample,
                       (char *)picture->data[plane] + y * picture->stride[plane]);
        }
    }
}

/* Reads the names of all columns, in libvmaf's order, from the first line of its CSV report. */
static int read_columns(VmafContext *vmaf, char names[][NAME_SIZE]) {
    static const char path[] = "make_figures.csv.tmp";
    static char line[MAX_COLUMNS * NAME_SIZE];
    char *rest = line, *piece;
    int count = 0;
    FILE *file;
    need(vmaf_write_output(vmaf, path, VMAF_OUTPUT_FORMAT_CSV) == 0, "cannot write", path);
    file = fopen(path, "r");
    need(file && fgets(line, sizeof line, file), "cannot read", path);
    fclose(file);
    remove(path);
    case_piece(&rest, ',');
    while ((piece = case_piece(&rest, ',')) != NULL && piece[0] != '\n' && count < MAX_COLUMNS)
        snprintf(names[count++], NAME_SIZE, "%s", piece);
    return count;
}

/* Returns the name by which libvmaf looks up a column. Reports contain short names for features without options. */
static const char *stored_name(VmafContext *vmaf, const char *name) {
    static const char *const families[][2] = { { "integer_", "VMAF_integer_feature_%s_score" },
                                               { "cambi", "Cambi_feature_cambi%s_score" },
                                               { "speed_chroma", "Speed_chroma_feature_speed_chroma%s_score" } };
    static char full[NAME_SIZE + 48];
    double value;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        size_t length = strlen(families[i][0]);
        if (strncmp(name, families[i][0], length) == 0 && vmaf_feature_score_at_index(vmaf, name, &value, 0) != 0) {
            snprintf(full, sizeof full, families[i][1], name + length);
            return full;
        }
    }
    return name;
}

static void print_case(VmafContext *vmaf, const test_case *c, const char *line) {
    static char names[MAX_COLUMNS][NAME_SIZE];
    static const struct {
        const char *name;
        enum VmafPoolingMethod method;
    } pools[] = { { "min", VMAF_POOL_METHOD_MIN },
                  { "max", VMAF_POOL_METHOD_MAX },
                  { "mean", VMAF_POOL_METHOD_MEAN },
                  { "harmonic_mean", VMAF_POOL_METHOD_HARMONIC_MEAN } };
    int columns = read_columns(vmaf, names);
    printf("case %s\ncolumns %d", line, columns);
    for (int i = 0; i < columns; i++)
        printf(" %s", names[i]);
    for (int frame = 0; frame < c->clip.frames; frame += c->subsample) {
        printf("\n%d", frame);
        for (int i = 0; i < columns; i++) {
            double value = 0;
            need(vmaf_feature_score_at_index(vmaf, stored_name(vmaf, names[i]), &value, (unsigned)frame) == 0,
                 "no score", names[i]);
            printf(" %.17g", value);
        }
    }
    for (int p = 0; p < 4; p++) {
        printf("\n%s", pools[p].name);
        for (int i = 0; i < columns; i++) {
            double value = 0;
            need(vmaf_feature_score_pooled(vmaf, stored_name(vmaf, names[i]), pools[p].method, &value, 0,
                                           (unsigned)c->clip.frames - 1) == 0,
                 "no pooled score", names[i]);
            printf(" %.17g", value);
        }
    }
    printf("\n");
}

static void run_case(const test_case *c, const char *line) {
    VmafConfiguration config = { VMAF_LOG_LEVEL_ERROR, 0, (unsigned)(c->subsample > 1 ? c->subsample : 0), plain_c, 0 };
    VmafContext *vmaf;
    VmafModelCollectionScore unused;
    loaded_model models[CASE_MODELS];
    double score;
    unsigned last = (unsigned)c->clip.frames - 1;
    uint16_t *samples = malloc(clip_plane_samples(&c->clip, 0) * sizeof *samples);
    need(samples && vmaf_init(&vmaf, config) == 0, "cannot start", c->name);
    for (int i = 0; i < c->model_count; i++)
        models[i] = load_model(vmaf, &c->models[i]);
    for (int i = 0; i < c->feature_count; i++) {
        need(vmaf_use_feature(vmaf, c->features[i].name, dictionary(c->features[i].options)) == 0, "feature refused",
             c->name);
    }
    for (int frame = 0; frame < c->clip.frames; frame++) {
        VmafPicture pictures[2];
        fill(&pictures[0], &c->clip, frame, CLIP_REFERENCE, samples);
        fill(&pictures[1], &c->clip, frame, CLIP_DISTORTED, samples);
        need(vmaf_read_pictures(vmaf, &pictures[0], &pictures[1], (unsigned)frame) == 0, "frame refused", c->name);
    }
    need(vmaf_read_pictures(vmaf, NULL, NULL, 0) == 0, "flush failed", c->name);
    for (int i = 0; i < c->model_count; i++) {
        need(vmaf_score_pooled(vmaf, models[i].model, VMAF_POOL_METHOD_MEAN, &score, 0, last) == 0, "no score",
             c->name);
    }
    for (int i = 0; i < c->model_count; i++) {
        need(!models[i].collection || vmaf_score_pooled_model_collection(vmaf, models[i].collection,
                                                                         VMAF_POOL_METHOD_MEAN, &unused, 0, last) == 0,
             "no score", c->name);
    }
    print_case(vmaf, c, line);
    vmaf_close(vmaf);
    free(samples);
    for (int i = 0; i < c->model_count; i++) {
        vmaf_model_destroy(models[i].model);
        if (models[i].collection)
            vmaf_model_collection_destroy(models[i].collection);
    }
}

int main(void) {
    static char line[CASE_LINE];
    while (fgets(line, sizeof line, stdin)) {
        test_case c;
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] && line[0] != '#') {
            need(case_read(&c, line), "invalid case", line);
            run_case(&c, line);
            fflush(stdout);
        }
    }
    return 0;
}
