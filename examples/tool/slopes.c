/* slopes.c: see slopes.h. */
#include "system.h"

#include "slopes.h"
#include "capacity.h"
#include "destination.h"
#include "files.h"
#include "message.h"
#include "options.h"
#include "session.h"
#include "slopemap.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes a name with its frame number to `out`. Returns the number of frame numbers in the name, or -1 if a % is
 * followed by something other than d, a width such as 04 and d, or another %. */
static int put_name(char *out, size_t size, const char *name, int64_t frame) {
    size_t used = 0;
    int numbers = 0;
    out[0] = '\0';
    for (const char *at = name; *at && used + 1 < size; at++) {
        int width = 0;
        if (*at != '%' || *++at == '%') {
            out[used++] = *at;
            out[used] = '\0';
            continue;
        }
        for (int has_width = *at == '0'; has_width && isdigit((unsigned char)*at) && width < 10; at++)
            width = 10 * width + (*at - '0');
        if (*at != 'd' || width > 20)
            return -1;
        used += (size_t)snprintf(out + used, size - used, "%0*lld", width, (long long)frame);
        numbers++;
    }
    return used + 1 < size ? numbers : -1;
}

enum { LONGEST_NAME = 4096 };

int tool_is_slopes_pattern(const char *name) {
    char text[LONGEST_NAME];
    return put_name(text, sizeof text, name, 0) == 1;
}

int tool_is_slopes_name(const char *name) {
    static const char end[] = ".png";
    char text[LONGEST_NAME];
    const int numbers = put_name(text, sizeof text, name, 0);
    const size_t length = strlen(text), least = sizeof end - 1;
    return (numbers == 1 || !strchr(name, '%')) && length > least && strcmp(text + length - least, end) == 0;
}

/* Initialises *d for the picture of a frame. The caller provides a buffer for its name, and frees d->path. Returns 0
 * after an error message. */
static int find_picture(destination *d, char *name, const char *pattern, int64_t frame) {
    memset(d, 0, sizeof *d);
    d->is_picture = 1;
    put_name(name, LONGEST_NAME, pattern, frame);
    return tool_find_destination(d, name);
}

/* Whether the first picture can be written. Returns 0 after an error message. */
static int check_folder(const char *pattern) {
    char name[LONGEST_NAME];
    destination d;
    int ok = find_picture(&d, name, pattern, 0);
    if (ok && d.path)
        ok = tool_open_destination(&d, PICTURE_SLOT);
    tool_abandon_destination(&d, PICTURE_SLOT);
    free(d.path);
    return ok;
}

int tool_check_slopes_names(const options *o) {
    char names[2][LONGEST_NAME];
    destination own, other;
    for (int i = 0; i < o->slopes.count; i++) {
        const char *pattern = o->slopes.names[i];
        if (!tool_is_slopes_pattern(pattern))
            continue;
        if (!check_folder(pattern) || !find_picture(&own, names[0], pattern, INT64_MAX))
            return 0;
        int ok = 1;
        for (int k = 0; k < i && ok; k++) {
            const char *earlier = o->slopes.names[k];
            if (!tool_is_slopes_pattern(earlier))
                continue;
            ok = find_picture(&other, names[1], earlier, INT64_MAX);
            if (ok && tool_is_same_destination(&own, &other))
                ok = tool_fail("two names of --slopes, %s and %s, would be the same files", earlier, pattern);
            free(other.path);
        }
        free(own.path);
        if (!ok)
            return 0;
    }
    return 1;
}

static size_t count_samples(const session *all) {
    return (size_t)all->width * (size_t)all->height;
}

static int64_t step_of(const session *all) {
    return all->o->subsample > 1 ? all->o->subsample : 1;
}

/* Returns a config for a separate context that computes the slopes of the first model. */
static vmafgpu_config slopes_config(const session *all) {
    const options *o = all->o;
    vmafgpu_config config = video_config(&all->videos[0]);
    config.width = all->width;
    config.height = all->height;
    config.models = o->model_count ? o->models : NULL;
    config.model_count = o->model_count ? 1 : 0;
    config.backend = vmafgpu_get_config(all->contexts[0])->backend;
    tool_choose_gpus(&config, o);
    config.gpu.devices = NULL; /* slopes require a single GPU */
    config.gpu.device_count = 0;
    config.cpumask = (unsigned)(o->cpumask < 0 ? 0xffffffff : o->cpumask);
    config.threads = (int)o->threads;
#ifdef VMAFGPU_NO_THREADS
    config.threads = 1;
#endif
    config.slopes = o->constant_cambi ? 2 : 1;
    return config;
}

/* Opens a context. If no GPU can be used, opens a context that uses the CPU, and writes the reason to `reason`. */
static vmafgpu_result open_on_any(vmafgpu **context, vmafgpu_config *config, char *reason, size_t size) {
    vmafgpu_result result = vmafgpu_open(context, config);
    snprintf(reason, size, "%s", result == VMAFGPU_OK ? vmafgpu_backend_note(*context) : vmafgpu_last_error(*context));
    if (result != VMAFGPU_OK && config->backend != VMAFGPU_BACKEND_CPU) {
        vmafgpu_close(*context);
        config->backend = VMAFGPU_BACKEND_CPU;
        result = vmafgpu_open(context, config);
    }
    return result;
}

/* Returns the part of a message of the library that follows "config.slopes: ", or the whole message. */
static const char *reason_of(const char *message) {
    static const char field[] = "config.slopes: ";
    const char *found = strstr(message, field);
    return found ? found + sizeof field - 1 : message;
}

static int is_on_cpu(const vmafgpu *context) {
    return strcmp(vmafgpu_backend_name(context), "cpu") == 0;
}

static int open_slopes(const session *all, int i, slope_video *v) {
    v->context = all->contexts[i];
    v->is_separate = !vmafgpu_get_config(v->context)->slopes;
    if (v->is_separate) {
        vmafgpu_config config = slopes_config(all);
        char reason[512];
        config.subsample = (int)all->o->subsample;
        v->context = NULL;
        const vmafgpu_result result = open_on_any(&v->context, &config, reason, sizeof reason);
        tool_describe(v->context, all->o);
        if (result != VMAFGPU_OK)
            return tool_fail_library(vmafgpu_last_error(v->context));
        if (i == 0 && is_on_cpu(v->context) && !is_on_cpu(all->contexts[0]))
            tool_say("--slopes: slopes are computed on the CPU (%s)", reason_of(reason));
    }
    v->sums = v->is_pattern ? NULL : (double *)calloc(count_samples(all), sizeof *v->sums);
    return v->is_pattern || v->sums || tool_out_of_memory();
}

int tool_begin_slopes(session *all) {
    const options *o = all->o;
    for (int i = 0; i < o->slopes.count; i++) {
        all->slopes[i].is_pattern = tool_is_slopes_pattern(o->slopes.names[i]);
        if (!open_slopes(all, i, &all->slopes[i]))
            return 0;
    }
    return 1;
}

/* Adds a plane to the list of planes, if all are in use. Returns 0 if there is not enough memory. */
static int provide_plane(const session *all, slope_video *v) {
    if (v->waiting < v->plane_count)
        return 1;
    float **longer = (float **)realloc(v->planes, sizeof *v->planes * (size_t)(v->plane_count + 1));
    if (longer) {
        v->planes = longer;
        v->planes[v->plane_count] = (float *)malloc(count_samples(all) * sizeof **v->planes);
        v->plane_count += v->planes[v->plane_count] != NULL;
    }
    return v->waiting < v->plane_count;
}

/* Requests the slopes of a pair unless --subsample leaves the pair out, and passes the pair to a separate context. */
static int push_slopes(session *all, int i, int64_t n, vmafgpu_frame reference, vmafgpu_frame distorted) {
    slope_video *v = &all->slopes[i];
    const int is_scored = n % step_of(all) == 0;
    if (is_scored) {
        if (!provide_plane(all, v))
            return 0;
        v->result = vmafgpu_slopes_next(v->context, v->planes[v->waiting], 0, VMAFGPU_MEMORY_HOST);
    }
    /* Frames in buffers that the other context lent are in pinned memory, which both backends can read. */
    reference.memory = distorted.memory = VMAFGPU_MEMORY_HOST;
    if (v->is_separate && v->result == VMAFGPU_OK)
        v->result = vmafgpu_push(v->context, &reference, &distorted);
    if (v->result != VMAFGPU_OK)
        return 0;
    v->waiting += is_scored;
    return 1;
}

int tool_push_slopes(session *all, int64_t n, const pair *now) {
    for (int i = 0; i < all->o->slopes.count; i++)
        if (!push_slopes(all, i, n, now->frames[0], now->frames[1 + i]))
            return 0;
    return 1;
}

int tool_fail_slopes(const session *all) {
    for (int i = 0; i < all->o->slopes.count; i++) {
        const slope_video *v = &all->slopes[i];
        if (v->result == VMAFGPU_ERROR_DEVICE)
            return tool_fail("--slopes: the GPU failed (%s), so slopes are missing; use --backend cpu",
                             vmafgpu_backend_note(v->context));
        if (v->result != VMAFGPU_OK)
            return tool_fail_library(vmafgpu_last_error(v->context));
    }
    return tool_out_of_memory();
}

static void write_picture(FILE *out, void *user) {
    const png_bytes *picture = (const png_bytes *)user;
    fwrite(picture->data, 1, picture->size, out);
}

/* Writes a picture to a file whose name contains the frame number. Refuses to overwrite a file that the tool reads, or
 * a report. */
static int write_numbered(const session *all, const char *pattern, int64_t frame, png_bytes *picture) {
    char name[LONGEST_NAME];
    destination d;
    int ok = find_picture(&d, name, pattern, frame);
    for (int i = 0; i <= all->count && ok; i++) {
        const file_id video = tool_identify(tool_path_of(all->o, i));
        if (tool_is_same_file(&video, &d.file))
            ok = tool_fail("the picture %s would overwrite the video %s", d.title, all->videos[i].title);
    }
    for (int i = 0; i < tool_report_count(all->o) && ok; i++)
        if (tool_is_same_destination(&d, &all->destinations[i]))
            ok = tool_fail("the picture %s would overwrite the report %s", d.title, all->destinations[i].title);
    ok = ok && tool_open_destination(&d, PICTURE_SLOT) &&
         tool_fill_destination(&d, PICTURE_SLOT, write_picture, picture);
    tool_abandon_destination(&d, PICTURE_SLOT);
    free(d.path);
    return ok;
}

/* Uses the slopes of the first waiting pair. */
static int use_slopes(session *all, int i, int64_t row) {
    slope_video *v = &all->slopes[i];
    const float *slopes = v->planes[0];
    png_bytes picture = { NULL, 0, 0, 0, 0, 0 };
    if (isnan(slopes[0])) { /* the library could not complete these slopes */
        v->result = VMAFGPU_ERROR_DEVICE;
        return tool_fail_slopes(all);
    }
    v->rows++;
    if (!v->is_pattern) {
        for (size_t k = 0; k < count_samples(all); k++)
            v->sums[k] += slopes[k];
        return 1;
    }
    slopemap_draw(&picture, slopes, all->width, all->height);
    const int ok = picture.failed ? tool_out_of_memory()
                                  : write_numbered(all, all->o->slopes.names[i], row * step_of(all), &picture);
    free(picture.data);
    return ok;
}

int tool_collect_slopes(session *all) {
    vmafgpu_score score;
    for (int i = 0; i < all->o->slopes.count; i++) {
        slope_video *v = &all->slopes[i];
        while (v->waiting > 0 && v->collected < vmafgpu_score_count(v->context)) {
            const int64_t row = v->collected++;
            float *plane = v->planes[0];
            v->is_cut |=
                vmafgpu_score_at(v->context, row * step_of(all), &score) != VMAFGPU_OK || score.result != VMAFGPU_OK;
            if (!v->is_cut && !use_slopes(all, i, row))
                return 0;
            memmove(v->planes, v->planes + 1, sizeof *v->planes * (size_t)(v->plane_count - 1));
            v->planes[v->plane_count - 1] = plane;
            v->waiting--;
        }
    }
    return 1;
}

int tool_flush_slopes(session *all, int is_cut) {
    for (int i = 0; i < all->o->slopes.count; i++) {
        slope_video *v = &all->slopes[i];
        if (v->is_separate) /* tool_score_videos() has ended the clip of the other contexts */
            v->result = is_cut ? vmafgpu_wait(v->context, -1) : vmafgpu_flush(v->context);
        if (v->result != VMAFGPU_OK)
            return tool_fail_slopes(all);
    }
    return tool_collect_slopes(all);
}

int tool_finish_slopes(session *all) {
    const options *o = all->o;
    int ok = 1, slot = tool_report_count(o) - tool_mean_slopes_count(o);
    for (int i = 0; i < o->slopes.count; i++) {
        slope_video *v = &all->slopes[i];
        if (v->is_pattern)
            continue;
        png_bytes picture = { NULL, 0, 0, 0, 0, 0 };
        float *means = v->rows ? (float *)malloc(count_samples(all) * sizeof *means) : NULL;
        for (size_t k = 0; k < count_samples(all) && means; k++)
            means[k] = (float)(v->sums[k] / (double)v->rows);
        if (means)
            slopemap_draw(&picture, means, all->width, all->height);
        if (means && !picture.failed)
            ok = tool_fill_destination(&all->destinations[slot], slot, write_picture, &picture) && ok;
        else if (v->rows)
            ok = tool_out_of_memory();
        slot++;
        free(picture.data);
        free(means);
    }
    return ok;
}

void tool_end_slopes(session *all) {
    for (int i = 0; i < all->o->slopes.count; i++) {
        if (all->slopes[i].is_separate)
            vmafgpu_close(all->slopes[i].context);
        for (int k = 0; k < all->slopes[i].plane_count; k++)
            free(all->slopes[i].planes[k]);
        free(all->slopes[i].planes);
        free(all->slopes[i].sums);
    }
}

/* ---- slopes of single pairs ---- */

static size_t luma_row(const session *all) {
    return (size_t)all->width * (all->videos[0].bit_depth > 8 ? 2 : 1);
}

int tool_open_drawer(slope_drawer *d, const session *all) {
    const options *o = all->o;
    vmafgpu_config config = slopes_config(all);
    char reason[16];
    memset(d, 0, sizeof *d);
    if (o->no_prediction && o->model_count == 0)
        return 0;
    config.chroma = VMAFGPU_CHROMA_400;
    config.layout = VMAFGPU_LAYOUT_PLANAR;
    config.slopes = config.max_edit_size = 1;
    const vmafgpu_result result = open_on_any(&d->context, &config, reason, sizeof reason);
    tool_describe(d->context, o);
    if (result != VMAFGPU_OK)
        return 0;
    const size_t bytes = luma_row(all) * (size_t)all->height;
    for (int i = 0; i < 3; i++)
        d->references[i] = (unsigned char *)malloc(bytes);
    d->distorted = (unsigned char *)malloc(bytes);
    d->slopes = (float *)malloc(count_samples(all) * sizeof *d->slopes);
    return d->references[0] && d->references[1] && d->references[2] && d->distorted && d->slopes;
}

void tool_copy_luma(const session *all, const video *v, const vmafgpu_frame *frame, unsigned char *to) {
    const int shift = v->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 16 - v->bit_depth : 0;
    const size_t row = luma_row(all);
    for (int y = 0; y < all->height; y++, to += row) {
        memcpy(to, (const unsigned char *)frame->data[0] + y * frame->pitch[0], row);
        for (size_t x = 0; x < row && shift; x += 2) {
            const unsigned sample = (unsigned)(to[x] | to[x + 1] << 8) >> shift;
            to[x] = (unsigned char)sample;
            to[x + 1] = (unsigned char)(sample >> 8);
        }
    }
}

void tool_draw_small_slopes(slope_drawer *d, const session *all, int has_previous, int has_following, int width,
                            png_bytes *out, slopemap_range *range) {
    const vmafgpu_config *config = vmafgpu_get_config(d->context);
    const vmafgpu_frame previous = vmafgpu_frame_of(config, d->references[0], 0),
                        reference = vmafgpu_frame_of(config, d->references[1], 0),
                        following = vmafgpu_frame_of(config, d->references[2], 0),
                        distorted = vmafgpu_frame_of(config, d->distorted, 0);
    if (vmafgpu_edit_begin(d->context, &reference, &distorted, has_previous ? &previous : NULL,
                           has_following ? &following : NULL, NULL) == VMAFGPU_OK &&
        vmafgpu_edit_slopes(d->context, d->slopes, 0, VMAFGPU_MEMORY_HOST) == VMAFGPU_OK)
        slopemap_draw_small(out, d->slopes, all->width, all->height, width, range);
}

void tool_close_drawer(slope_drawer *d) {
    vmafgpu_close(d->context);
    for (int i = 0; i < 3; i++)
        free(d->references[i]);
    free(d->distorted);
    free(d->slopes);
    memset(d, 0, sizeof *d);
}
