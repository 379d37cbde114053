/* Reads lines of cases.txt. A line describes a clip, and the models and features to score it with:
 *
 *     NAME CONTENT+DISTORTION WIDTHxHEIGHT DEPTH CHROMA FRAMES SEED SUBSAMPLE MODELS FEATURES
 *
 * MODELS: "-" or, separated by commas,
 *     VERSION[:name=NAME][:disable_clip][:enable_transform][:EXTRACTOR.OPTION=VALUE]...
 * FEATURES: "-" or, separated by commas, NAME[=OPTION=VALUE[:OPTION=VALUE]...]
 */
#ifndef CASES_H
#define CASES_H

#include <stdio.h>
#include "../clip.h"

enum { CASE_LINE = 1024, CASE_MODELS = 4, CASE_FEATURES = 6, CASE_TEXT = 256 };

typedef struct case_model {
    char version[32], name[32], options[CASE_TEXT];
    int disable_clip, enable_transform;
} case_model;

typedef struct case_feature {
    char name[32], options[CASE_TEXT];
} case_feature;

typedef struct test_case {
    char name[64];
    clip clip;
    int subsample, model_count, feature_count;
    case_model models[CASE_MODELS];
    case_feature features[CASE_FEATURES];
} test_case;

/* Returns the next piece of *text, which ends before the separator, and moves *text past the separator. Returns NULL
 * after the last piece. */
static inline char *case_piece(char **text, char separator) {
    char *piece = *text, *end = piece ? strchr(piece, separator) : NULL;
    if (end)
        *end++ = 0;
    *text = end;
    return piece;
}

static inline void case_append(char *list, const char *piece) {
    if (strlen(list) + strlen(piece) + 2 <= CASE_TEXT) {
        if (list[0])
            strcat(list, ":");
        strcat(list, piece);
    }
}

static inline void case_read_model(case_model *m, char *text) {
    char *piece = case_piece(&text, ':');
    memset(m, 0, sizeof *m);
    snprintf(m->version, sizeof m->version, "%.31s", piece);
    while ((piece = case_piece(&text, ':')) != NULL)
        if (strncmp(piece, "name=", 5) == 0)
            snprintf(m->name, sizeof m->name, "%.31s", piece + 5);
        else if (strcmp(piece, "disable_clip") == 0)
            m->disable_clip = 1;
        else if (strcmp(piece, "enable_transform") == 0)
            m->enable_transform = 1;
        else
            case_append(m->options, piece);
}

static inline void case_read_feature(case_feature *f, char *text) {
    char *name = case_piece(&text, '=');
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "%.31s", name);
    snprintf(f->options, sizeof f->options, "%.255s", text ? text : "");
}

/* Parses a line. Returns 1, or 0 if the line is invalid. */
static inline int case_read(test_case *c, const char *line) {
    char what[64], models[CASE_LINE], features[CASE_LINE], *rest, *piece;
    int width, height, depth, chroma, frames;
    unsigned seed;
    memset(c, 0, sizeof *c);
    if (strlen(line) >= CASE_LINE ||
        sscanf(line, "%63s %63s %dx%d %d %d %d %u %d %1023s %1023s", c->name, what, &width, &height, &depth, &chroma,
               &frames, &seed, &c->subsample, models, features) != 11 ||
        !clip_init(&c->clip, what, width, height, depth, chroma, frames, seed)) {
        return 0;
    }
    rest = strcmp(models, "-") == 0 ? NULL : models;
    while ((piece = case_piece(&rest, ',')) != NULL && c->model_count < CASE_MODELS)
        case_read_model(&c->models[c->model_count++], piece);
    rest = strcmp(features, "-") == 0 ? NULL : features;
    while ((piece = case_piece(&rest, ',')) != NULL && c->feature_count < CASE_FEATURES)
        case_read_feature(&c->features[c->feature_count++], piece);
    return 1;
}

#endif /* CASES_H */
