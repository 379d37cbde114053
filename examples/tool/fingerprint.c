/* fingerprint.c: see fingerprint.h. */
#include "system.h"

#include "fingerprint.h"
#include "files.h"
#include "html.h"
#include "options.h"
#include "session.h"
#include "video.h"
#include "xxh64.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef _WIN32
#include <sys/stat.h>
#endif

int tool_hash_file(const char *path, html_input *in) {
    static unsigned char buffer[1 << 16];
    FILE *file = strcmp(path, "-") != 0 && tool_identify(path).kind == FILE_REGULAR ? fopen(path, "rb") : NULL;
    xxh64 h;
    size_t count = 0;
    xxh64_start(&h);
    while (file && (count = fread(buffer, 1, sizeof buffer, file)) > 0)
        xxh64_add(&h, buffer, count);
    in->has_hash = file && !ferror(file);
    in->size = h.size;
    in->hash = xxh64_end(&h);
    if (file)
        fclose(file);
    return in->has_hash;
}

static void hash_text(xxh64 *h, const char *text) {
    xxh64_add(h, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static void hash_number(xxh64 *h, int64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> 8 * i);
    xxh64_add(h, bytes, sizeof bytes);
}

/* Adds the size of a video to the hash, and some blocks from all parts of the video. */
static void hash_samples(xxh64 *h, const video *v, const char *path) {
    enum { BLOCKS = 64, BLOCK = 4096 };
    static unsigned char block[BLOCK];
    FILE *file = fopen(path, "rb");
    hash_number(h, v->file_bytes);
    for (int i = 0; i < BLOCKS && file; i++) {
        long long at = v->file_bytes > BLOCK ? (v->file_bytes - BLOCK) / (BLOCKS - 1) * i : 0;
#ifdef _WIN32
        int found = _fseeki64(file, at, SEEK_SET) == 0;
#else
        int found = fseeko(file, (off_t)at, SEEK_SET) == 0;
#endif
        xxh64_add(h, block, found ? fread(block, 1, BLOCK, file) : 0);
    }
    if (file)
        fclose(file);
}

uint64_t tool_hash_run(const session *all, const options *o) {
    xxh64 h;
    xxh64_start(&h);
    hash_text(&h, vmafgpu_version_string());
    for (int i = 0; i <= all->count; i++)
        hash_samples(&h, &all->videos[i], tool_path_of(o, i));
    for (int i = 0; i < o->model_count; i++) {
        html_input file = { NULL, NULL, 0, 0, 0 };
        hash_text(&h, o->models[i].version);
        hash_text(&h, o->models[i].name);
        hash_text(&h, o->models[i].options);
        hash_number(&h, o->models[i].disable_clip);
        hash_number(&h, o->models[i].enable_transform);
        hash_number(&h, o->model_options[i].path && tool_hash_file(o->model_options[i].path, &file) ? (int64_t)file.hash
                                                                                                    : 0);
    }
    for (int i = 0; i < o->feature_count; i++) {
        hash_text(&h, o->features[i].name);
        hash_text(&h, o->features[i].options);
    }
    const int64_t numbers[] = { o->width,           o->height,
                                o->bit_depth,       o->pixel_format ? o->pixel_format - tool_pixel_formats + 1 : 0,
                                o->frame_count,     o->skip_reference,
                                o->skip_distorted,  o->from.is_time,
                                o->from.value,      o->to.is_given,
                                o->to.is_time,      o->to.value,
                                all->crop.is_given, all->crop.x,
                                all->crop.y,        all->width,
                                all->height,        o->scale,
                                o->align,           o->reciprocal,
                                o->no_prediction,   o->subsample,
                                o->threads > 0,     all->plan_count };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash_number(&h, numbers[i]);
    return xxh64_end(&h);
}

uint64_t tool_hash_dates(const session *all) {
    xxh64 h;
    xxh64_start(&h);
#ifndef _WIN32
    for (int i = 0; i <= all->count; i++) {
        struct stat about;
        hash_number(&h, stat(tool_path_of(all->o, i), &about) == 0 ? (int64_t)about.st_mtime : 0);
    }
#else
    (void)all;
#endif
    return xxh64_end(&h);
}
