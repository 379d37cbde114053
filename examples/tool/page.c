/* page.c: see page.h. */
#include "system.h"

#include "page.h"
#include "align.h"
#include "capacity.h"
#include "container.h"
#include "cut.h"
#include "destination.h"
#include "figures.h"
#include "files.h"
#include "fingerprint.h"
#include "html.h"
#include "inspect.h"
#include "message.h"
#include "options.h"
#include "progress.h"
#include "scale.h"
#include "scores.h"
#include "session.h"
#include "slopes.h"
#include "thumbnail.h"
#include "video.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_copy_scores(const figures *f, scores *s) {
    vmafgpu_score score;
    int step = f->o->subsample > 1 ? (int)f->o->subsample : 1, ok = 1;
    s->columns = f->about ? f->about->columns : vmafgpu_column_count(f->context);
    for (int64_t i = 0; i < f->rows && ok; i++) {
        if (f->about) {
            ok = scores_append(s, f->table->values + i * s->columns, f->table->has_row[i]);
        } else {
            int is_there = vmafgpu_score_at(f->context, i * step, &score) == VMAFGPU_OK;
            ok = scores_append(s, is_there ? score.values : NULL, is_there);
        }
    }
    return ok;
}

/* Returns, for each row, the distance between its reference picture and that of the previous row. The distance is 0 for
 * the first row and for frames that cannot be read a second time. */
static float *measure_cuts(const session *all, int64_t rows, int64_t step) {
    float *distances = (float *)calloc((size_t)rows + 1, sizeof *distances);
    align_signature *signatures = (align_signature *)malloc(2 * sizeof *signatures);
    video again;
    if (tool_open_again(all, 0, 1, &again) && distances && signatures) {
        for (int64_t i = 0; i < rows; i++) {
            int64_t wanted = tool_wanted_frame(all, 0, i * step);
            video_result result = VIDEO_OK;
            while (result == VIDEO_OK && again.frames_read <= wanted)
                result = video_read(&again);
            if (result != VIDEO_OK)
                break;
            vmafgpu_frame frame = video_frame(&again);
            align_picture picture = align_picture_of(&again, &frame);
            align_sign(&signatures[i & 1], &picture, again.height / (3 * ALIGN_DOWN) + 1);
            distances[i] = i ? (float)align_distance(&signatures[0], &signatures[1]) : 0;
        }
    }
    video_close(&again);
    free(signatures);
    return distances;
}

/* Reads up to pair n and sets *frame to the scaled and cropped picture that is compared. Returns 0 on failure. */
static int read_picture(const session *all, int i, video *v, scaler *scaled, int64_t n, vmafgpu_frame *frame) {
    int64_t wanted = tool_wanted_frame(all, i, n);
    video_result result = VIDEO_OK;
    while (result == VIDEO_OK && v->frames_read <= wanted)
        result = video_read(v);
    if (result != VIDEO_OK || wanted < 0)
        return 0;
    *frame = video_frame(v);
    if (all->scalers[i].planes)
        *frame = scaler_frame(scaled, v, frame);
    if (all->crop.is_given && cut_is_on_grid(&all->crop, v))
        *frame = cut_picture(&all->crop, v, *frame);
    return 1;
}

/* Reads the reference of pair n and copies its luma. Returns 0 if there is no such reference. */
static int copy_reference(const session *all, video *v, int64_t n, unsigned char *to) {
    vmafgpu_frame frame;
    if (n < 0 || !read_picture(all, 0, v, NULL, n, &frame))
        return 0;
    tool_copy_luma(all, v, &frame, to);
    return 1;
}

/* Draws the worst frames of a video, if both videos can be read a second time. */
static void draw_worst(const session *all, int i, html_video *v, int64_t step, int64_t pairs, int width) {
    video reference, distorted;
    scaler scaled;
    int ok = tool_open_again(all, 0, 0, &reference);
    ok = tool_open_again(all, i, 0, &distorted) && ok;
    memset(&scaled, 0, sizeof scaled);
    if (ok && all->scalers[i].planes)
        ok = scaler_open(&scaled, all->o->scale, &distorted, reference.width, reference.height);
    slope_drawer drawer;
    const int has_slopes = tool_open_drawer(&drawer, all) && ok;
    int64_t before = -1;
    for (int k = 0; k < v->worst_count && ok; k++) {
        html_frame *next = NULL; /* in the order of the clip, because videos are read forwards */
        for (int n = 0; n < v->worst_count; n++)
            next = v->worst[n].row > before && (!next || v->worst[n].row < next->row) ? &v->worst[n] : next;
        vmafgpu_frame a, b;
        before = next->row;
        const int has_previous = has_slopes && copy_reference(all, &reference, before * step - 1, drawer.references[0]);
        ok = read_picture(all, 0, &reference, NULL, before * step, &a) &&
             read_picture(all, i, &distorted, &scaled, before * step, &b);
        if (ok) {
            thumbnail_source r = { &reference, &a, all->width, all->height },
                             d = { &distorted, &b, all->width, all->height };
            thumbnail_colour(&next->pictures[0], &r, width);
            thumbnail_colour(&next->pictures[1], &d, width);
            thumbnail_difference(&next->pictures[2], &r, &d, width);
        }
        if (ok && has_slopes) {
            slopemap_range range;
            tool_copy_luma(all, &reference, &a, drawer.references[1]);
            tool_copy_luma(all, &distorted, &b, drawer.distorted);
            const int has_following =
                before * step + 1 < pairs && copy_reference(all, &reference, before * step + 1, drawer.references[2]);
            tool_draw_small_slopes(&drawer, all, has_previous, has_following, width, &next->pictures[3], &range);
            if (next->pictures[3].size > 0)
                snprintf(next->slopes_range, sizeof next->slopes_range, "%de%d", range.digit, range.power);
        }
    }
    tool_close_drawer(&drawer);
    scaler_close(&scaled);
    video_close(&reference);
    video_close(&distorted);
}

/* Writes the command line with the quotes that a shell needs. */
static void join_command(char *out, size_t size, const options *o) {
    size_t used = shell_put(out, size, 0, "vmafgpu");
    for (int i = 1; i < o->argc; i++) {
        used = shell_put(out, size, used, " ");
        used = shell_put_word(out, size, used, o->argv[i]);
    }
}

/* The data of a page. */
typedef struct page_data {
    html_page page;
    html_video videos[MAX_DISTORTED];
    html_input inputs[1 + MAX_DISTORTED + MAX_MODELS];
    int score_columns[MAX_MODELS];
    char models[MAX_MODELS][256];
    const char *model_names[MAX_MODELS], *note_texts[MAX_NOTES], **columns;
    char command[8192], backend[192];
} page_data;

/* Returns the name of a distorted video on the page: its file name, or its path if the file name is not unique. */
static const char *page_name(const options *o, int i) {
    const char *name = tool_last_part(o->distorted.names[i]);
    for (int k = 0; k < o->distorted.count; k++)
        if (k != i && strcmp(tool_last_part(o->distorted.names[k]), name) == 0)
            return o->distorted.names[i];
    return name;
}

static void write_page(FILE *out, void *user) {
    page_data *d = (page_data *)user;
    d->page.out = out;
    html_write(&d->page);
}

static void list_page_inputs(const options *o, page_data *d) {
    html_page *p = &d->page;
    for (int i = 0; i <= o->distorted.count; i++) {
        html_input *in = &d->inputs[p->input_count++];
        in->what = i ? "Distorted" : "Reference";
        in->name = tool_path_of(o, i);
        tool_hash_file(in->name, in);
    }
    for (int i = 0; i < o->model_count; i++) {
        if (o->model_options[i].path) {
            html_input *in = &d->inputs[p->input_count++];
            in->what = "Model";
            in->name = o->model_options[i].path;
            tool_hash_file(in->name, in);
        }
    }
    for (int i = 0; i < (o->model_count ? o->model_count : 1) && !(o->no_prediction && !o->model_count); i++) {
        const char *version = o->model_count && o->models[i].version       ? o->models[i].version
                              : o->model_count && o->model_options[i].path ? tool_last_part(o->model_options[i].path)
                                                                           : "vmaf_v0.6.1";
        const char *name = o->model_count ? tool_model_name(o, i) : "vmaf";
        snprintf(d->models[i], sizeof d->models[i], strcmp(name, "vmaf") == 0 ? "%s" : "%s (%s)", version, name);
        d->model_names[p->model_count++] = d->models[i];
    }
}

static void fill_page(const session *all, const options *o, const figures *reports, page_data *d) {
    html_page *p = &d->page;
    const figures *f = &reports[0];
    int models = o->no_prediction ? 0 : o->model_count ? o->model_count : 1;
    p->version = vmafgpu_version_string();
    p->libvmaf = "3.2.0";
    p->command = d->command;
    p->backend = d->backend;
    p->reference = tool_last_part(o->reference);
    p->fps = f->fps;
    p->width = f->width;
    p->height = f->height;
    p->rate_num = all->videos[0].rate_num;
    p->rate_den = all->videos[0].rate_den;
    p->step = o->subsample > 1 ? o->subsample : 1;
    p->columns = f->columns;
    p->names = d->columns;
    p->score_columns = d->score_columns;
    p->models = d->model_names;
    p->videos = d->videos;
    p->video_count = o->distorted.count;
    p->inputs = d->inputs;
    p->notes = d->note_texts;
    for (int m = 0; m < models; m++)
        d->score_columns[p->score_count++] = tool_figure_score_column(f, m);
    for (int c = 0; c < f->columns; c++)
        d->columns[c] = vmafgpu_column_name(f->context, c);
    for (p->note_count = 0; p->note_count < tool_messages.note_count; p->note_count++)
        d->note_texts[p->note_count] = tool_messages.notes[p->note_count];
    join_command(d->command, sizeof d->command, o);
    tool_backend_text(d->backend, sizeof d->backend, f->context);
    if (!*vmafgpu_device_name(f->context)) {
        snprintf(d->backend, sizeof d->backend, "%s (%s)", vmafgpu_backend_name(f->context),
                 vmafgpu_instruction_set(f->context));
    }
    list_page_inputs(o, d);
}

int tool_report_page(const session *all, options *o, const figures *reports) {
    page_data *d = (page_data *)calloc(1, sizeof *d);
    int ok = d != NULL, columns = reports[0].context ? vmafgpu_column_count(reports[0].context) : 0;
    if (columns == 0) {
        free(d);
        return tool_fail("--html: there are no values to show");
    }
    if (ok) {
        d->columns = (const char **)calloc((size_t)columns, sizeof *d->columns);
        ok = d->columns != NULL;
    }
    if (ok)
        fill_page(all, o, reports, d);
    int64_t step = ok ? d->page.step : 1, shot_count = 0;
    int first = ok && d->page.score_count ? d->score_columns[0] : 0, many = o->distorted.count;
    for (int i = 0; i < many && ok; i++) {
        html_video *v = &d->videos[i];
        v->name = page_name(o, i);
        ok = tool_copy_scores(&reports[i], &v->figures);
        if (ok) {
            int64_t apart = v->figures.rows / 40 > 5 ? v->figures.rows / 40 : 5;
            v->worst_count = html_find_worst(&v->figures, first, many < HTML_WORST ? HTML_WORST / many : 1,
                                             apart > 250 ? 250 : apart, v->worst);
            draw_worst(all, 1 + i, v, step, reports[i].pairs, many > 2 ? 192 : 320);
        }
    }
    float *distances = ok ? measure_cuts(all, reports[0].rows, step) : NULL;
    html_shot *shots = distances ? html_find_shots(distances, reports[0].rows, &shot_count) : NULL;
    if (ok) {
        d->page.shots = shots;
        d->page.shot_count = shots ? shot_count : 0;
        ok = tool_fill_destination(&o->destinations[o->output.count], o->output.count, write_page, d);
    } else {
        tool_out_of_memory();
    }
    for (int i = 0; i < many && d; i++) {
        scores_free(&d->videos[i].figures);
        for (int k = 0; k < HTML_WORST; k++)
            for (int n = 0; n < HTML_PICTURES; n++)
                free(d->videos[i].worst[k].pictures[n].data);
    }
    free(distances);
    free(shots);
    if (d)
        free((void *)d->columns);
    free(d);
    return ok;
}
