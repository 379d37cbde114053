/* input.c: see input.h. */
#include "system.h"

#include "input.h"
#include "message.h"
#include "options.h"
#include "scale.h"
#include "video.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODEL_FILE = 64 << 20 };

/* Whether the name of a feature, a column or an option means that chroma is used. */
static int uses_chroma(const char *text) {
    return text && (strstr(text, "speed_chroma") || strstr(text, "ciede") || strstr(text, "motion_add_uv") ||
                    (strstr(text, "psnr") && !strstr(text, "float_psnr")));
}

/* Whether a feature of the models or of --feature uses chroma. The models must be loaded. */
static int needs_chroma(const options *o) {
    for (int i = 0; i < o->feature_count; i++)
        if (uses_chroma(o->features[i].name) || uses_chroma(o->features[i].options))
            return 1;
    for (int i = 0; i < o->model_count; i++) {
        const char *version = o->models[i].version;
        const vmafgpu_model *model = version ? vmafgpu_builtin_model(version) : o->models[i].model;
        if (uses_chroma(o->models[i].options))
            return 1;
        for (int k = 0; model && k < model->svms[0].feature_count; k++) {
            const char *const *options = model->svms[0].feature_options;
            if (uses_chroma(model->svms[0].feature_names[k]) || (options && uses_chroma(options[k])))
                return 1;
        }
    }
    return 0;
}

video_result tool_begin_video_as(video *v, const options *o, int luma_only) {
    video_raw raw;
    if (!o->pixel_format)
        return video_begin(v, NULL, luma_only);
    raw.width = (int)o->width;
    raw.height = (int)o->height;
    raw.bit_depth = (int)o->bit_depth;
    raw.chroma = o->pixel_format->chroma;
    raw.layout = o->pixel_format->layout;
    return video_begin(v, &raw, luma_only);
}

video_result tool_begin_video(video *v, const options *o) {
    return tool_begin_video_as(v, o, !needs_chroma(o));
}

void tool_ffmpeg_format(char name[32], vmafgpu_chroma chroma, vmafgpu_layout layout, int bit_depth) {
    static const char *const planar[] = { "yuv420p", "yuv422p", "yuv444p", "gray" };
    const int k = chroma == VMAFGPU_CHROMA_420   ? 0
                  : chroma == VMAFGPU_CHROMA_422 ? 1
                  : chroma == VMAFGPU_CHROMA_444 ? 2
                                                 : 3;
    if (layout == VMAFGPU_LAYOUT_PLANAR) {
        snprintf(name, 32, bit_depth > 8 ? "%s%dle" : "%s", planar[k], bit_depth);
    } else {
        for (const pixel_format *f = tool_pixel_formats; f->name; f++)
            if (f->chroma == chroma && f->layout == layout && f->bit_depth == bit_depth)
                snprintf(name, 32, layout == VMAFGPU_LAYOUT_SEMIPLANAR ? "%s" : "%sle", f->name);
    }
}

/* Returns the end of a message, which explains how ffmpeg can convert the distorted video to the format of the
 * reference. The text is empty if ffmpeg has no such format. */
static const char *conversion(char text[128], const video *r) {
    char name[32] = "";
    int is_411 = r->sampling.chroma_x == 4;
    if (r->bit_depth <= 10 || r->bit_depth % 2 == 0)
        tool_ffmpeg_format(name, r->sampling.chroma, r->layout, r->bit_depth);
    if (is_411)
        snprintf(name, sizeof name, "yuv411p");
    text[0] = '\0';
    if (*name)
        snprintf(text, 128, "; ffmpeg converts the distorted video with -pix_fmt %s", name);
    return text;
}

/* Returns the colour range of a video. If a y4m header specifies none, the range is limited, as in ffmpeg. */
static video_range range_of(const video *v) {
    return v->range == VIDEO_RANGE_UNKNOWN && v->is_y4m ? VIDEO_RANGE_LIMITED : v->range;
}

/* Returns the name of the colour range for messages. */
static const char *range_name(const video *v) {
    return v->range == VIDEO_RANGE_FULL      ? "full"
           : v->range == VIDEO_RANGE_LIMITED ? "limited"
                                             : "limited (it has no XCOLORRANGE)";
}

int tool_check_videos(const options *o, const video *r, const video *d) {
    char remedy[128];
    if ((r->width != d->width || r->height != d->height) && o->scale == SCALE_NONE) {
        return tool_fail(
            "the sizes differ: %s is %dx%d, %s is %dx%d; --scale bicubic or --scale lanczos scales the distorted "
            "video to the size of the reference",
            r->title, r->width, r->height, d->title, d->width, d->height);
    }
    if (r->bit_depth != d->bit_depth) {
        return tool_fail("the bit depths differ: %s has %d bits, %s has %d%s", r->title, r->bit_depth, d->title,
                         d->bit_depth, conversion(remedy, r));
    }
    if (strcmp(r->sampling.name, d->sampling.name) != 0) {
        return tool_fail("the pixel formats differ: %s is %s, %s is %s%s", r->title, r->sampling.name, d->title,
                         d->sampling.name, conversion(remedy, r));
    }
    if (range_of(r) != range_of(d)) {
        tool_warn("the colour ranges differ: %s is %s, %s is %s; samples are compared without conversion", r->title,
                  range_name(r), d->title, range_name(d));
    }
    if (r->rate_num && d->rate_num && (int64_t)r->rate_num * d->rate_den != (int64_t)d->rate_num * r->rate_den) {
        tool_warn("the frame rates differ: %s has %d:%d, %s has %d:%d; frames are paired by their number, not by "
                  "their time",
                  r->title, r->rate_num, r->rate_den, d->title, d->rate_num, d->rate_den);
    }
    return 1;
}

char *tool_read_text_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t capacity = 0;
    *size = 0;
    if (!file) {
        tool_fail("the model \"%s\" cannot be opened (%s)", path, strerror(errno));
        return NULL;
    }
    for (;;) {
        if (*size == capacity) {
            capacity = capacity ? 2 * capacity : 1 << 16;
            char *larger = capacity <= MAX_MODEL_FILE ? (char *)realloc(text, capacity) : NULL;
            if (!larger) {
                tool_fail("the model \"%s\" is too large", path);
                break;
            }
            text = larger;
        }
        size_t count = fread(text + *size, 1, capacity - *size, file);
        *size += count;
        if (count == 0) {
            if (ferror(file)) {
                tool_fail("the model \"%s\" cannot be read (%s)", path, strerror(errno));
                break;
            }
            fclose(file);
            return text;
        }
    }
    free(text);
    fclose(file);
    return NULL;
}

/* Prints an error message with the names of all built-in models. Returns 0. */
static int unknown_model(const char *name) {
    const vmafgpu_model *model;
    char list[1024] = "";
    for (int i = 0; (model = vmafgpu_builtin_model_at(i)) != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s %s", i ? "," : "", model->name);
    }
    return tool_fail("there is no built-in model \"%s\"; the models are%s", name, list);
}

int tool_load_models(options *o) {
    for (int i = 0; i < o->model_count; i++) {
        const char *path = o->model_options[i].path;
        const char *version = o->models[i].version;
        if (version && !vmafgpu_builtin_model(version))
            return unknown_model(version);
        if (!path)
            continue;
        size_t size;
        char *text = tool_read_text_file(path, &size);
        if (!text)
            return 0;
        char error[512] = "";
        vmafgpu_result result =
            vmafgpu_model_parse(&o->model_options[i].parsed, path, text, size, NULL, error, sizeof error);
        free(text);
        if (result != VMAFGPU_OK)
            return tool_fail("%s", error);
        o->models[i].model = o->model_options[i].parsed;
    }
    return 1;
}
