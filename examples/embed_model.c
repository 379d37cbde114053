/* Converts libvmaf model files (JSON) into a C header with constant arrays, so that a program can contain its models.
 *
 *     embed_model --private my_model.json > my_model.h
 *
 * The comment at the top of the header explains how to use the model; `embed_model --help` lists the options. Without
 * --private, the output is a table of built-in models, such as models/model_embed.h.
 *
 * Identical data is written only once. Support vectors that are used by the same set of models form a section of the
 * table. Each section and each array is enclosed in #if: the compiler omits it if all models that use it are
 * left out. */

#define VMAFGPU_IMPLEMENTATION
#define VMAFGPU_NO_MODELS
#define VMAFGPU_NO_SIMD
#define VMAFGPU_NO_GPU
#include "../vmafgpu.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MODELS  32 /* a set of models is a 32-bit word */
#define LINE_WIDTH  118
#define NAME_LENGTH 60 /* maximum length of an identifier; in C99, at least 63 characters are significant */

static const char usage[] =
    "usage: embed_model [options] [--name NAME] MODEL.json ... > model_embed.h\n"
    "\n"
    "Convert model files of libvmaf into a C header of constant arrays. A model has the name of its file, without\n"
    "folder and \".json\".\n"
    "\n"
    "  -o, --output FILE  write the header to FILE; default: standard output\n"
    "      --private      define one variable per model, for models of your own: include the header after vmafgpu.h\n"
    "                     and set the field `model` of a vmafgpu_model_config to the address of the variable. The\n"
    "                     comment at the top of the header names the variable. Default: a table of built-in models,\n"
    "                     for models/model_embed.h or VMAFGPU_MODEL_HEADER\n"
    "      --name NAME    use NAME for the next model\n"
    "      --notice TEXT  copyright notice for the comment at the top; default: the notice of Netflix, with --private\n"
    "                     none\n"
    "  -h, --help         print this text\n";

static const char netflix_notice[] =
    " * The parameters are those of the models that Netflix publishes with libvmaf (https://github.com/Netflix/vmaf):\n"
    " * Copyright (c) 2020 Netflix, Inc.\n"
    " * SPDX-License-Identifier: BSD-2-Clause-Patent (see LICENSE)\n";

/* ---- errors, memory, text ---- */

static void die(const char *subject, const char *what) {
    fprintf(stderr, "embed_model: %s%s%s\n", subject, *subject ? ": " : "", what);
    exit(1);
}

static void *grow(void *pointer, size_t count, size_t size) {
    void *grown = count > SIZE_MAX / size ? NULL : realloc(pointer, count * size);

    if (grown == NULL)
        die("", "out of memory");
    return grown;
}

/* A growing string. */
typedef struct text {
    char *at;
    size_t size, room;
} text;

static void append(text *t, const char *bytes, size_t size) {
    if (t->size + size + 1 > t->room) {
        t->room = (t->size + size + 1) * 2;
        t->at = (char *)grow(t->at, t->room, 1);
    }
    memcpy(t->at + t->size, bytes, size);
    t->size += size;
    t->at[t->size] = '\0';
}

static void print(text *t, const char *format, ...) {
    char line[512];
    va_list list;
    int size;

    va_start(list, format);
    size = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (size < 0 || (size_t)size >= sizeof line)
        die("", "a name is too long");
    append(t, line, (size_t)size);
}

static text read_file(const char *path) {
    text t = { NULL, 0, 0 };
    char block[4096];
    size_t size;
    FILE *file = fopen(path, "rb");

    if (file == NULL)
        die(path, strerror(errno));
    append(&t, "", 0);
    while ((size = fread(block, 1, sizeof block, file)) > 0)
        append(&t, block, size);
    if (ferror(file))
        die(path, "cannot be read");
    fclose(file);
    return t;
}

/* Appends the shortest decimal number that reads back as the same double. */
static void print_double(text *t, double value) {
    char number[64];
    int digits;

    for (digits = 15; digits <= 17; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (strtod(number, NULL) == value)
            break;
    }
    if (strcmp(number, "-0") == 0) /* in C, -0 would be an integer constant, and integers have no negative zero */
        strcpy(number, "-0.0");
    append(t, number, strlen(number));
}

static void print_string(text *t, const char *string) {
    append(t, "\"", 1);
    for (; *string != '\0'; string++) {
        unsigned char c = (unsigned char)*string;

        if (c < 0x20 || c > 0x7e)
            print(t, "\\%03o", c);
        else if (c == '"' || c == '\\' || c == '?') /* "??=" could be a trigraph */
            print(t, "\\%c", c);
        else
            append(t, string, 1);
    }
    append(t, "\"", 1);
}

/* Appends a list whose items are separated by ", " and breaks it into lines. */
static void print_wrapped(text *t, const char *list, const char *indent) {
    size_t column = 0;

    while (*list != '\0') {
        const char *end = list;
        int quoted = 0;
        size_t size;

        while (*end != '\0' && (quoted || *end != ',')) {
            if (*end == '\\')
                end++;
            else if (*end == '"')
                quoted = !quoted;
            end++;
        }
        end += *end == ',';
        size = (size_t)(end - list);
        if (column == 0 || column + 1 + size > LINE_WIDTH) {
            append(t, "\n", column > 0);
            append(t, indent, strlen(indent));
            column = strlen(indent);
        } else {
            append(t, " ", 1);
            column++;
        }
        append(t, list, size);
        column += size;
        list = end + (*end == ' ');
    }
    append(t, "\n", 1);
}

/* ---- the data to embed ---- */

/* A support vector of a model, and its place in the header. */
typedef struct row {
    const double *figures;
    int width;
    uint32_t users; /* set of the models that use it, one bit each */
    size_t order;   /* its index in embedding.rows */
    size_t same_as; /* index of the first equal row, which is the one that is written */
    int section, place;
} row;

/* All rows that are used by the same set of models. */
typedef struct section {
    int width, count;
    uint32_t users;
} section;

/* An array in the header; `items` is the text between its braces. */
typedef struct array {
    const char *type, *kind;
    text items;
    uint32_t users;
} array;

typedef struct embedding {
    int private_mode;
    const char *notice;
    const char *output;
    char prefix[160];

    int model_count;
    vmafgpu_model *models[MAX_MODELS];
    char *identifiers[MAX_MODELS];
    size_t first_row[MAX_MODELS + 1];

    row *rows;
    section *sections;
    int section_count;
    array *arrays;
    size_t array_count;
} embedding;

static int count_users(uint32_t users) {
    int count = 0;

    for (; users != 0; users &= users - 1)
        count++;
    return count;
}

static int is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns the letters and digits of a name, with one underscore for each run of other characters between them:
 * "vmaf_v0.6.1" -> "vmaf_v0_6_1". */
static char *join_words(const char *name) {
    char *words = (char *)grow(NULL, NAME_LENGTH + 1, 1);
    size_t length = 0;
    int needs_separator = 0;

    for (; *name != '\0' && length < NAME_LENGTH - 1; name++) {
        if (!is_plain(*name)) {
            needs_separator = length > 0;
            continue;
        }
        if (needs_separator)
            words[length++] = '_';
        words[length++] = *name;
        needs_separator = 0;
    }
    words[length] = '\0';
    return words;
}

/* Returns an identifier whose last word is "model", so that it is neither a keyword nor a name of the C library. The
 * prefix "m_" prevents a leading digit and avoids conflicts with names in vmafgpu.h. */
static char *make_identifier(const char *words) {
    size_t length = strlen(words);
    char *identifier = (char *)grow(NULL, length + sizeof "m__model", 1);
    int is_reserved = strncmp(words, "vmafgpu", 7) == 0 || strncmp(words, "VMAFGPU", 7) == 0;
    int has_suffix = strcmp(words, "model") == 0 || (length > 6 && strcmp(words + length - 6, "_model") == 0);

    sprintf(identifier, "%s%s%s", is_reserved || (words[0] >= '0' && words[0] <= '9') ? "m_" : "", words,
            length == 0  ? "model"
            : has_suffix ? ""
                         : "_model");
    return identifier;
}

/* ---- support vectors ---- */

static int compare_figures(const void *a, const void *b) {
    const row *first = *(const row *const *)a, *second = *(const row *const *)b;
    int result;

    if (first->width != second->width)
        return first->width < second->width ? -1 : 1;
    result = memcmp(first->figures, second->figures, (size_t)first->width * sizeof(double));
    if (result != 0)
        return result;
    return first->order < second->order ? -1 : first->order > second->order;
}

static int compare_sections(const void *a, const void *b) {
    const section *first = (const section *)a, *second = (const section *)b;
    int x = count_users(first->users), y = count_users(second->users);

    if (first->width != second->width)
        return first->width < second->width ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1; /* sections of a single model, which are usually the largest, come first */
    return first->users < second->users ? -1 : first->users > second->users;
}

static void collect_rows(embedding *e) {
    size_t count = 0;
    int m, i, k;

    for (m = 0; m < e->model_count; m++) {
        int last = 0;

        for (i = 0; i < e->models[m]->svm_count; i++) {
            const vmafgpu_svm *svm = &e->models[m]->svms[i];

            for (k = 0; k < svm->sv_count; k++)
                last = svm->sv_rows[k] > last ? svm->sv_rows[k] : last;
        }
        e->first_row[m] = count;
        e->rows = (row *)grow(e->rows, count + (size_t)last + 1, sizeof *e->rows);
        for (k = 0; k <= last; k++, count++) {
            row *r = &e->rows[count];

            memset(r, 0, sizeof *r);
            r->width = e->models[m]->svms[0].feature_count;
            r->figures = e->models[m]->svms[0].sv_table + (size_t)k * (size_t)r->width;
            r->users = (uint32_t)1 << m;
            r->order = count;
        }
    }
    e->first_row[e->model_count] = count;
}

static void merge_rows(embedding *e) {
    size_t i, count = e->first_row[e->model_count], kept = 0;
    row **sorted = (row **)grow(NULL, count, sizeof *sorted);

    for (i = 0; i < count; i++)
        sorted[i] = &e->rows[i];
    qsort(sorted, count, sizeof *sorted, compare_figures);
    for (i = 0; i < count; i++) {
        size_t size = (size_t)sorted[i]->width * sizeof(double);

        if (i == 0 || sorted[i]->width != sorted[kept]->width ||
            memcmp(sorted[i]->figures, sorted[kept]->figures, size) != 0) {
            kept = i;
        }
        sorted[i]->same_as = sorted[kept]->order;
        sorted[kept]->users |= sorted[i]->users;
    }
    free(sorted);
}

static int find_section(const embedding *e, const row *r) {
    int s = 0;

    while (s < e->section_count && (e->sections[s].width != r->width || e->sections[s].users != r->users))
        s++;
    return s;
}

static void place_rows(embedding *e) {
    size_t i, count;
    int s;

    collect_rows(e);
    merge_rows(e);
    count = e->first_row[e->model_count];
    for (i = 0; i < count; i++) {
        if (e->rows[i].same_as == i && find_section(e, &e->rows[i]) == e->section_count) {
            e->sections = (section *)grow(e->sections, (size_t)e->section_count + 1, sizeof *e->sections);
            e->sections[e->section_count].width = e->rows[i].width;
            e->sections[e->section_count].users = e->rows[i].users;
            e->sections[e->section_count++].count = 0;
        }
    }
    qsort(e->sections, (size_t)e->section_count, sizeof *e->sections, compare_sections);
    for (i = 0; i < count; i++) {
        if (e->rows[i].same_as == i) {
            s = find_section(e, &e->rows[i]);
            e->rows[i].section = s;
            e->rows[i].place = e->sections[s].count++;
        }
    }
}

static const row *model_row(const embedding *e, int model, int index) {
    return &e->rows[e->rows[e->first_row[model] + (size_t)index].same_as];
}

/* Returns the first section that a model uses. The row numbers of the model count from the start of that section. */
static int home_section(const embedding *e, int model) {
    size_t i;
    int home = e->section_count;

    for (i = e->first_row[model]; i < e->first_row[model + 1]; i++) {
        int s = e->rows[e->rows[i].same_as].section;

        home = s < home ? s : home;
    }
    return home;
}

/* ---- the header ---- */

static void print_condition(text *t, const embedding *e, uint32_t users) {
    int several = count_users(users) > 1;
    const char *separator = several ? "#if " : "#ifndef ";
    int m;

    if (e->private_mode)
        return;
    for (m = 0; m < e->model_count; m++) {
        if (users >> m & 1) {
            print(t, several ? "%s!defined(VMAFGPU_NO_%s)" : "%sVMAFGPU_NO_%s", separator, e->identifiers[m]);
            separator = " || \\\n    ";
        }
    }
    append(t, "\n", 1);
}

static void print_end(text *t, const embedding *e) {
    if (!e->private_mode)
        print(t, "#endif\n");
}

/* Adds an array to the header, unless it already contains an equal array. Appends the name of the array to `out`. */
static void use_array(embedding *e, text *out, const char *type, const char *kind, text *items, int model) {
    size_t i = 0;

    while (i < e->array_count &&
           (strcmp(e->arrays[i].kind, kind) != 0 || strcmp(e->arrays[i].items.at, items->at) != 0)) {
        i++;
    }
    if (i == e->array_count) {
        e->arrays = (array *)grow(e->arrays, i + 1, sizeof *e->arrays);
        e->arrays[i].type = type;
        e->arrays[i].kind = kind;
        e->arrays[i].items = *items;
        e->arrays[i].users = 0;
        e->array_count++;
    } else {
        free(items->at);
    }
    e->arrays[i].users |= (uint32_t)1 << model;
    print(out, "%s%s_%lu, ", e->prefix, kind, (unsigned long)i);
}

static void use_numbers(embedding *e, text *out, const double *numbers, int count, int model) {
    text items = { NULL, 0, 0 };
    int i;

    for (i = 0; i < count; i++) {
        print_double(&items, numbers[i]);
        append(&items, ", ", i + 1 < count ? 2 : 0);
    }
    use_array(e, out, "double", "numbers", &items, model);
}

static void use_strings(embedding *e, text *out, const char *const *strings, int count, int model) {
    text items = { NULL, 0, 0 };
    int i;

    for (i = 0; i < count; i++) {
        print_string(&items, strings[i]);
        append(&items, ", ", i + 1 < count ? 2 : 0);
    }
    use_array(e, out, "char *const", "strings", &items, model);
}

static void use_rows(embedding *e, text *out, const vmafgpu_svm *svm, int model) {
    text items = { NULL, 0, 0 };
    int i, home = home_section(e, model);

    for (i = 0; i < svm->sv_count; i++) {
        const row *r = model_row(e, model, svm->sv_rows[i]);

        if (r->section != home)
            print(&items, "%sstart_%d - %sstart_%d + ", e->prefix, r->section, e->prefix, home);
        print(&items, i + 1 < svm->sv_count ? "%d, " : "%d", r->place);
    }
    use_array(e, out, "uint16_t", "rows", &items, model);
}

/* Prints the initialiser of a vmafgpu_svm, in the order of the fields. */
static void print_svm(embedding *e, text *out, const vmafgpu_svm *svm, int model) {
    int n = svm->feature_count, home = home_section(e, model);

    print(out, "%d, ", n);
    use_strings(e, out, svm->feature_names, n, model);
    use_strings(e, out, svm->feature_options, n, model);
    use_numbers(e, out, svm->slopes, 1 + n, model);
    use_numbers(e, out, svm->intercepts, 1 + n, model);
    print(out, "%d, ", svm->rescale);
    print_double(out, svm->gamma);
    print(out, ", ");
    print_double(out, svm->rho);
    print(out, ", %d, ", svm->sv_count);
    use_numbers(e, out, svm->sv_coefs, svm->sv_count, model);
    use_rows(e, out, svm, model);
    print(out, "%stable_%d + %d * %sstart_%d, %d, ", e->prefix, n, n, e->prefix, home, svm->has_clip);
    print_double(out, svm->clip_min);
    print(out, ", ");
    print_double(out, svm->clip_max);
    print(out, ", %d, %d, %d, %d, %d, ", svm->has_transform, svm->transform_enabled, svm->has_p0, svm->has_p1,
          svm->has_p2);
    print_double(out, svm->p0);
    print(out, ", ");
    print_double(out, svm->p1);
    print(out, ", ");
    print_double(out, svm->p2);
    print(out, ", %d, ", svm->knot_count);
    if (svm->knot_count > 0)
        use_numbers(e, out, svm->knots, 2 * svm->knot_count, model);
    else
        print(out, "NULL, ");
    print(out, "%d, %d, %d, ", svm->out_lte_in, svm->out_gte_in, svm->has_chroma_correction);
    print_double(out, svm->chroma_correction);
}

/* Prints the SVMs of all models, and collects the arrays that they use. In the header, the arrays come first. */
static void print_models(embedding *e, text *out) {
    int m, i;

    for (m = 0; m < e->model_count; m++) {
        append(out, "\n", 1);
        print_condition(out, e, (uint32_t)1 << m);
        print(out, "static const vmafgpu_svm %ssvms_%d[] = {\n", e->prefix, m);
        for (i = 0; i < e->models[m]->svm_count; i++) {
            text fields = { NULL, 0, 0 };

            append(&fields, "{", 1);
            print_svm(e, &fields, &e->models[m]->svms[i], m);
            append(&fields, "},", 2);
            print_wrapped(out, fields.at, "    ");
            free(fields.at);
        }
        print(out, "};\n");
        if (e->private_mode) {
            print(out, "\nstatic const vmafgpu_model %s = {", e->identifiers[m]);
            print_string(out, e->models[m]->name);
            print(out, ", %d, %ssvms_%d, NULL};\n", e->models[m]->svm_count, e->prefix, m);
        }
        print_end(out, e);
    }
    if (e->private_mode)
        return;
    print(out, "\nstatic const vmafgpu_model vmafgpu__embedded_models[] = {\n");
    for (m = 0; m < e->model_count; m++) {
        print_condition(out, e, (uint32_t)1 << m);
        append(out, "    {", 5);
        print_string(out, e->models[m]->name);
        print(out, ", %d, %ssvms_%d, NULL},\n", e->models[m]->svm_count, e->prefix, m);
        print_end(out, e);
    }
    print(out, "    {NULL, 0, NULL, NULL}\n};\n");
}

static void print_arrays(const embedding *e, text *out) {
    size_t i;

    for (i = 0; i < e->array_count; i++) {
        const array *a = &e->arrays[i];

        if (i == 0 || a->users != a[-1].users) {
            append(out, "\n", 1);
            print_condition(out, e, a->users);
        }
        print(out, "static const %s %s%s_%lu[] = {\n", a->type, e->prefix, a->kind, (unsigned long)i);
        print_wrapped(out, a->items.at, "    ");
        print(out, "};\n");
        if (i + 1 == e->array_count || a->users != a[1].users)
            print_end(out, e);
    }
}

/* Prints the start of each section as an expression, because sections can be left out. */
static void print_starts(const embedding *e, text *out) {
    int s;

    if (e->private_mode)
        append(out, "\n", 1);
    else
        print(out, "\n/* number of support vectors in each section, and index of the first one */\n");
    print(out, "enum {\n");
    for (s = 0; s < e->section_count; s++) {
        print_condition(out, e, e->sections[s].users);
        print(out, "    %scount_%d = %d,\n", e->prefix, s, e->sections[s].count);
        if (!e->private_mode)
            print(out, "#else\n    %scount_%d = 0,\n#endif\n", e->prefix, s);
    }
    for (s = 0; s < e->section_count; s++) {
        if (s == 0 || e->sections[s].width != e->sections[s - 1].width)
            print(out, "    %sstart_%d = 0", e->prefix, s);
        else
            print(out, "    %sstart_%d = %sstart_%d + %scount_%d", e->prefix, s, e->prefix, s - 1, e->prefix, s - 1);
        print(out, s + 1 < e->section_count ? ",\n" : "\n");
    }
    print(out, "};\n");
}

static void print_section(const embedding *e, text *out, int s) {
    size_t i;

    for (i = 0; i < e->first_row[e->model_count]; i++) {
        const row *r = &e->rows[i];
        text items = { NULL, 0, 0 };
        int k;

        if (r->same_as != i || r->section != s)
            continue;
        for (k = 0; k < r->width; k++) {
            print_double(&items, r->figures[k]);
            append(&items, ", ", k + 1 < r->width ? 2 : 1);
        }
        print_wrapped(out, items.at, "    ");
        free(items.at);
    }
}

static void print_tables(const embedding *e, text *out) {
    int s, end;

    for (s = 0; s < e->section_count; s = end) {
        uint32_t users = 0;
        int width = e->sections[s].width;

        for (end = s; end < e->section_count && e->sections[end].width == width; end++)
            users |= e->sections[end].users;
        append(out, "\n", 1);
        print_condition(out, e, users);
        print(out, "static const double %stable_%d[] = {\n", e->prefix, width);
        for (; s < end; s++) {
            print_condition(out, e, e->sections[s].users);
            print_section(e, out, s);
            print_end(out, e);
        }
        print(out, "};\n");
        print_end(out, e);
    }
}

static void upper_case(char *at) {
    for (; *at != '\0'; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
}

/* Prints a name inside a comment. Characters that could end the comment are replaced by _. */
static void print_plain(text *t, const char *name) {
    for (; *name != '\0'; name++)
        append(t, is_plain(*name) || strchr("._- ", *name) != NULL ? name : "_", 1);
}

static void print_top(const embedding *e, text *out, const char *guard) {
    const char *example = e->model_count > 0 ? e->identifiers[0] : "";
    int m;

    print(out, "/* Models for vmafgpu.h as constant arrays.\n *\n");
    if (e->notice != NULL)
        print(out, " * %s\n", e->notice);
    else if (e->private_mode)
        print(out, " * The parameters belong to the authors of the models.\n");
    else
        append(out, netflix_notice, strlen(netflix_notice));
    print(out, " *\n * Generated by examples/embed_model.c, do not edit.");
    if (!e->private_mode) {
        print(out, " To generate it again from the model files of\n"
                   " * libvmaf, which are in the folder DIR:\n *     embed_model -o models/model_embed.h");
        for (m = 0; m < e->model_count; m++) {
            append(out, " \\\n *         DIR/", strlen(" \\\n *         DIR/"));
            print_plain(out, e->models[m]->name);
            append(out, ".json", 5);
        }
    }
    print(out, "\n");
    if (e->private_mode) {
        print(out, " * Include it after vmafgpu.h and set the field `model` of a vmafgpu_model_config to &%s. */\n",
              example);
    } else {
        print(out,
              " *\n * A macro for each model, such as VMAFGPU_NO_%s, leaves out the model and the data that no\n"
              " * other model needs. */\n",
              example);
    }
    print(out, "#ifndef %s\n#define %s\n", guard, guard);
}

static void write_out(const embedding *e, const text *out) {
    FILE *file = e->output == NULL ? stdout : fopen(e->output, "wb");
    const char *name = e->output == NULL ? "standard output" : e->output;

    if (file == NULL)
        die(name, strerror(errno));
    if (fwrite(out->at, 1, out->size, file) != out->size || fflush(file) != 0)
        die(name, "cannot be written");
    if (e->output != NULL && fclose(file) != 0)
        die(name, "cannot be written");
}

/* Whether VMAFGPU_NO_ followed by this name is a macro that leaves out something other than a model. */
static int is_switch(const char *name) {
    static const char *const switches[] = { "ADM",  "CAMBI", "CIEDE",  "EDITS",   "FLOAT", "GPU",
                                            "HVS",  "JSON",  "MODELS", "MOTION",  "PSNR",  "RGB",
                                            "SIMD", "SPEED", "SSIM",   "THREADS", "VIF" };
    size_t i;

    for (i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (strcmp(name, switches[i]) == 0)
            return 1;
    return strncmp(name, "GFX", 3) == 0 || strncmp(name, "SM_", 3) == 0;
}

/* Sets the identifiers: with --private the names of the variables, otherwise the suffixes of the macros
 * VMAFGPU_NO_... */
static void name_models(embedding *e) {
    int m, i;

    for (m = 0; m < e->model_count; m++) {
        char *words = join_words(e->models[m]->name);

        if (e->private_mode) {
            e->identifiers[m] = make_identifier(words);
            free(words);
        } else {
            upper_case(words);
            if (is_switch(words))
                die(e->models[m]->name, "VMAFGPU_NO_ with this name is a switch of vmafgpu.h; use --name");
            e->identifiers[m] = words;
        }
        for (i = 0; i < m; i++)
            if (strcmp(e->identifiers[i], e->identifiers[m]) == 0)
                die(e->models[m]->name, "another model has the same name; use --name");
    }
}

static void embed(embedding *e) {
    text top = { NULL, 0, 0 }, models = { NULL, 0, 0 };
    char guard[200];

    snprintf(guard, sizeof guard, "VMAFGPU_MODEL_EMBED_H");
    snprintf(e->prefix, sizeof e->prefix, "vmafgpu__embed_");
    name_models(e);
    if (e->private_mode) {
        snprintf(guard, sizeof guard, "%s_H", e->identifiers[0]);
        snprintf(e->prefix, sizeof e->prefix, "%s_", e->identifiers[0]);
    }
    place_rows(e);
    print_models(e, &models);
    print_top(e, &top, guard);
    print_starts(e, &top);
    print_tables(e, &top);
    print_arrays(e, &top);
    append(&top, models.at, models.size);
    print(&top, "\n#endif /* %s */\n", guard);
    write_out(e, &top);
    free(models.at);
    free(top.at);
}

/* ---- command line ---- */

static void add_model(embedding *e, const char *path, const char *name) {
    text json = read_file(path);
    text own = { NULL, 0, 0 };
    char error[256];
    int m = e->model_count;

    if (m == MAX_MODELS)
        die(path, "a header can contain at most 32 models");
    if (name == NULL) {
        const char *at;
        size_t size;

        for (name = at = path; *at != '\0'; at++)
            if (*at == '/' || *at == '\\')
                name = at + 1;
        size = strlen(name);
        append(&own, name, size > 5 && strcmp(name + size - 5, ".json") == 0 ? size - 5 : size);
        name = own.at;
    }
    if (vmafgpu_model_parse(&e->models[m], name, json.at, json.size, NULL, error, sizeof error) != VMAFGPU_OK)
        die(path, error);
    e->model_count++;
    free(own.at);
    free(json.at);
}

static void clean_up(embedding *e) {
    size_t i;
    int m;

    for (m = 0; m < e->model_count; m++) {
        vmafgpu_model_release(e->models[m]);
        free(e->identifiers[m]);
    }
    for (i = 0; i < e->array_count; i++)
        free(e->arrays[i].items.at);
    free(e->rows);
    free(e->sections);
    free(e->arrays);
}

static const char *argument_of(int argc, char **argv, int *i) {
    if (*i + 1 >= argc)
        die(argv[*i], "this option needs an argument; see --help");
    return argv[++*i];
}

int main(int argc, char **argv) {
    embedding e;
    const char *name = NULL;
    int i, only_files = 0;

    memset(&e, 0, sizeof e);
    for (i = 1; i < argc; i++) {
        const char *word = argv[i];

        if (only_files || word[0] != '-') {
            add_model(&e, word, name);
            name = NULL;
        } else if (strcmp(word, "--") == 0) {
            only_files = 1;
        } else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            fputs(usage, stdout);
            clean_up(&e);
            return 0;
        } else if (strcmp(word, "--private") == 0) {
            e.private_mode = 1;
        } else if (strcmp(word, "--name") == 0) {
            name = argument_of(argc, argv, &i);
        } else if (strcmp(word, "--notice") == 0) {
            e.notice = argument_of(argc, argv, &i);
            if (strstr(e.notice, "*/") != NULL)
                die(word, "the text contains */, which would end the comment");
        } else if (strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0) {
            e.output = argument_of(argc, argv, &i);
        } else {
            die(word, "unknown option; see --help");
        }
    }
    if (e.model_count == 0)
        die("", "no model file given; see --help");
    if (name != NULL)
        die("--name", "no model file follows");
    embed(&e);
    clean_up(&e);
    return 0;
}
