/* Compares the names, the order and all values of columns with figures.txt and figures_v1.txt (libvmaf's values) and
 * figures_own.txt (vmafgpu's values, for sizes at which libvmaf's values are undefined). All doubles must have the same
 * bits.
 *
 *     test_figures                  compares
 *     test_figures print < CASES    prints vmafgpu's values for cases in the same format
 */
#include "../vmafgpu.h"
#include "golden/cases.h"
#include "test.h"

enum { LINE = 1 << 16, POOLS = 4 };

static const char *const pool_names[POOLS] = { "min", "max", "mean", "harmonic_mean" };
static const vmafgpu_pool_method pool_methods[POOLS] = { VMAFGPU_POOL_MIN, VMAFGPU_POOL_MAX, VMAFGPU_POOL_MEAN,
                                                         VMAFGPU_POOL_HARMONIC_MEAN };

static vmafgpu_chroma chroma_of(int chroma) {
    return chroma == 400   ? VMAFGPU_CHROMA_400
           : chroma == 420 ? VMAFGPU_CHROMA_420
           : chroma == 422 ? VMAFGPU_CHROMA_422
                           : VMAFGPU_CHROMA_444;
}

static vmafgpu *open_case(const test_case *c) {
    vmafgpu_config config;
    vmafgpu_model_config models[CASE_MODELS];
    vmafgpu_feature_config features[CASE_FEATURES];
    vmafgpu *context = NULL;
    memset(&config, 0, sizeof config);
    memset(models, 0, sizeof models);
    memset(features, 0, sizeof features);
    for (int i = 0; i < c->model_count; i++) {
        const case_model *m = &c->models[i];
        models[i].version = m->version;
        models[i].name = m->name[0] ? m->name : NULL;
        models[i].options = m->options[0] ? m->options : NULL;
        models[i].disable_clip = m->disable_clip;
        models[i].enable_transform = m->enable_transform;
    }
    for (int i = 0; i < c->feature_count; i++) {
        features[i].name = c->features[i].name;
        features[i].options = c->features[i].options[0] ? c->features[i].options : NULL;
    }
    config.width = c->clip.width;
    config.height = c->clip.height;
    config.bit_depth = c->clip.depth;
    config.chroma = chroma_of(c->clip.chroma);
    config.models = models;
    config.model_count = c->model_count;
    config.features_only = c->model_count == 0;
    config.features = features;
    config.feature_count = c->feature_count;
    config.subsample = c->subsample;
    if (vmafgpu_open(&context, &config) != VMAFGPU_OK) {
        printf("[%s] open: %s\n", c->name, vmafgpu_last_error(context));
        vmafgpu_close(context);
        return NULL;
    }
    return context;
}

static int push_all(vmafgpu *context, const test_case *c) {
    size_t count = clip_plane_samples(&c->clip, 0);
    int bytes_per_sample = c->clip.depth > 8 ? 2 : 1, ok = 1;
    uint16_t *samples = (uint16_t *)malloc(count * 2);
    unsigned char *planes = (unsigned char *)malloc(count * 2 * 3 * 2);
    test_need(samples && planes, "out of memory");
    for (int frame = 0; ok && frame < c->clip.frames; frame++) {
        vmafgpu_frame pair[2];
        memset(pair, 0, sizeof pair);
        for (int side = 0; side < 2; side++) {
            for (int plane = 0; plane < clip_plane_count(&c->clip); plane++) {
                unsigned char *at = planes + (size_t)(3 * side + plane) * count * 2;
                test_need(clip_plane(&c->clip, frame, side, plane, samples), "out of memory");
                clip_store(samples, clip_plane_samples(&c->clip, plane), bytes_per_sample, at);
                pair[side].data[plane] = at;
            }
        }
        ok = vmafgpu_push(context, &pair[0], &pair[1]) == VMAFGPU_OK;
    }
    free(samples);
    free(planes);
    ok = ok && vmafgpu_flush(context) == VMAFGPU_OK;
    if (!ok)
        printf("[%s] %s\n", c->name, vmafgpu_last_error(context));
    return ok;
}

/* ---- comparison ---- */

static const char *token(char **rest) {
    char *start = *rest + strspn(*rest, " \r\n"), *end = start + strcspn(start, " \r\n");
    *rest = *end ? end + 1 : end;
    *end = 0;
    return start;
}

static void compare_columns(vmafgpu *context, char *rest) {
    int count = atoi(token(&rest));
    CHECK_INT(vmafgpu_column_count(context), count);
    for (int i = 0; i < count && i < vmafgpu_column_count(context); i++)
        CHECK_STR(vmafgpu_column_name(context, i), token(&rest));
}

static void compare_row(const test_case *c, vmafgpu *context, const char *key, char *rest) {
    int columns = vmafgpu_column_count(context), pool = 0;
    vmafgpu_score score;
    memset(&score, 0, sizeof score);
    while (pool < POOLS && strcmp(pool_names[pool], key) != 0)
        pool++;
    if (pool == POOLS && !CHECK_INT(vmafgpu_score_at(context, atoi(key), &score), VMAFGPU_OK))
        return;
    for (int i = 0; i < columns; i++) {
        double got = 0, expected = strtod(token(&rest), NULL);
        if (pool < POOLS)
            CHECK_INT(vmafgpu_pool(context, i, pool_methods[pool], &got), VMAFGPU_OK);
        else
            got = score.values[i];
        snprintf(test_where, sizeof test_where, "%s %s %s", c->name, key, vmafgpu_column_name(context, i));
        CHECK_BITS(got, expected);
    }
    CHECK_STR(token(&rest), "");
}

/* Ends a case, and checks that it contained one row for each scored frame and one for each kind of pooling. */
static void end_case(const test_case *c, vmafgpu *context, int rows) {
    if (context) {
        snprintf(test_where, sizeof test_where, "%s", c->name);
        CHECK_INT(rows, (c->clip.frames + c->subsample - 1) / c->subsample + POOLS);
        vmafgpu_close(context);
    }
}

static void compare_file(const char *path, int least_cases) {
    static char line[LINE];
    FILE *file = fopen(path, "r");
    vmafgpu *context = NULL;
    test_case c;
    int cases = 0, rows = 0;
    test_need(file != NULL, path);
    memset(&c, 0, sizeof c);
    while (fgets(line, sizeof line, file)) {
        char *rest = line;
        const char *key = token(&rest);
        if (strcmp(key, "case") == 0) {
            end_case(&c, context, rows);
            rest[strcspn(rest, "\r\n")] = 0;
            test_need(case_read(&c, rest), rest);
            snprintf(test_where, sizeof test_where, "%s", c.name);
            context = open_case(&c);
            if (!CHECK(context != NULL && push_all(context, &c))) {
                vmafgpu_close(context);
                context = NULL;
            }
            cases++;
            rows = 0;
        } else if (context && strcmp(key, "columns") == 0) {
            compare_columns(context, rest);
        } else if (context) {
            compare_row(&c, context, key, rest);
            rows++;
        }
    }
    end_case(&c, context, rows);
    fclose(file);
    snprintf(test_where, sizeof test_where, "%s", path);
    CHECK(cases >= least_cases);
    printf("%s: %d cases\n", path, cases);
}

/* ---- printing ---- */

static void print_case(const test_case *c, const char *line) {
    vmafgpu *context = open_case(c);
    int columns;
    test_need(context && push_all(context, c), c->name);
    columns = vmafgpu_column_count(context);
    printf("case %s\ncolumns %d", line, columns);
    for (int i = 0; i < columns; i++)
        printf(" %s", vmafgpu_column_name(context, i));
    for (int frame = 0; frame < c->clip.frames; frame += c->subsample) {
        vmafgpu_score score;
        test_need(vmafgpu_score_at(context, frame, &score) == VMAFGPU_OK, c->name);
        printf("\n%d", frame);
        for (int i = 0; i < columns; i++)
            printf(" %.17g", score.values[i]);
    }
    for (int p = 0; p < POOLS; p++) {
        printf("\n%s", pool_names[p]);
        for (int i = 0; i < columns; i++) {
            double value = 0;
            test_need(vmafgpu_pool(context, i, pool_methods[p], &value) == VMAFGPU_OK, c->name);
            printf(" %.17g", value);
        }
    }
    printf("\n");
    vmafgpu_close(context);
}

static int print_figures(void) {
    static char line[CASE_LINE];
    while (fgets(line, sizeof line, stdin)) {
        test_case c;
        line[strcspn(line, "\r\n")] = 0;
        if (line[0] && line[0] != '#') {
            test_need(case_read(&c, line), line);
            print_case(&c, line);
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "print") == 0)
        return print_figures();
    compare_file("test/golden/figures.txt", 273);
    compare_file("test/golden/figures_v1.txt", 83);
    compare_file("test/golden/figures_own.txt", 30);
    return test_end();
}
