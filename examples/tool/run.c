/* run.c: see run.h. */
#include "system.h"

#include "run.h"
#include "arrange.h"
#include "capacity.h"
#include "decoder.h"
#include "destination.h"
#include "figures.h"
#include "input.h"
#include "maps.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "pipes.h"
#include "readers.h"
#include "scale.h"
#include "scoring.h"
#include "session.h"
#include "slopes.h"
#include "state.h"
#include "video.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <unistd.h>
#endif

/* Opens all videos before it reads the first header, because one program may write several pipes. */
static int open_videos(session *all, const options *o) {
    tool_start_feeds(all);
    for (int i = 0; i <= all->count; i++)
        if (!tool_is_fed(all, i) && video_open_file(&all->videos[i], tool_path_of(o, i)) != VIDEO_OK)
            return tool_fail("%s", all->videos[i].error);
    for (int i = 0; i <= all->count; i++)
        if (!tool_is_fed(all, i) && tool_begin_video(&all->videos[i], o) != VIDEO_OK)
            return tool_fail("%s", all->videos[i].error);
    int failed = tool_wait_for_feeds(all);
    return failed < 0 ? 1 : tool_fail("%s", all->videos[failed].error);
}

static void describe_figures(figures *f, const session *all, int i, const scoring *s) {
    f->context = all->contexts[i];
    f->o = all->o;
    f->width = all->width;
    f->height = all->height;
    f->pairs = s->frames;
    f->fps = s->seconds > 0 ? (double)s->frames / s->seconds : 0;
    if (all->has_rows) {
        f->about = &all->rows;
        f->table = &all->rows.tables[i];
        f->columns = all->rows.shown;
        f->rows = f->table->rows;
        f->pairs = all->rows.pairs;
        f->fps = all->rows.seconds > 0 ? (double)all->rows.pairs / all->rows.seconds : 0;
    } else if (f->context) {
        f->columns = tool_shown_columns(f->context, f->o);
        f->rows = vmafgpu_score_count(f->context);
    }
}

/* Scores the open videos and writes the output. */
static int run(session *all, options *o) {
    scoring s = tool_score_videos(all, o);
    int ok = s.intact;
    if (!ok && !all->has_rows && s.frames > 0 && (s.is_cut || tool_has_lost_rows(all, o))) {
        all->has_rows = tool_describe_rows(all, o) && tool_collect_rows(all);
        if (!all->has_rows)
            return 0;
    }
    if ((s.frames == 0 || all->has_rows) && all->rows.tables[0].rows == 0 && !o->segments) {
        if (ok && o->from.is_given) {
            const video *shortest = &all->videos[0];
            for (int i = 1; i <= all->count; i++)
                shortest = all->videos[i].frames_read < shortest->frames_read ? &all->videos[i] : shortest;
            return tool_fail("there is no pair of frames to score: --from is frame %lld, but %s has only %lld frames; "
                             "lower --from",
                             (long long)all->first, shortest->title, shortest->frames_read);
        }
        return ok ? tool_fail("there is no pair of frames to score") : 0;
    }
    if (all->has_rows)
        ok = tool_finish_rows(all, &s) && ok;
    if (o->segments)
        return tool_fill_destination(&o->destinations[0], 0, tool_write_rows, &all->rows) && ok;
    figures reports[MAX_DISTORTED];
    memset(reports, 0, sizeof reports);
    for (int i = 0; i < all->count; i++)
        describe_figures(&reports[i], all, i, &s);
    ok = !s.slopes_failed && tool_finish_slopes(all) && ok;
    return tool_report_all(all, o, reports, all->count) && ok;
}

static int open_and_run(session *all, options *o) {
    if (!tool_load_models(o) || !tool_arrange_options(all, o) || !tool_check_containers(o) || !open_videos(all, o))
        return 0;
    for (int i = 1; i <= all->count; i++)
        if (!tool_check_videos(o, &all->videos[0], &all->videos[i]))
            return 0;
    if (!tool_arrange(all, o) || !tool_open_destinations(o->destinations, tool_report_count(o)))
        return 0;
    if (o->no_prediction && o->model_count == 0 && o->feature_count == 0) {
        tool_fail("there is nothing to compute: --no_prediction needs --model or --feature");
        all->wanted = -1;
        return !o->state && !o->segments && run(all, o);
    }
    for (int i = 0; i < all->count; i++) {
        all->contexts[i] = tool_open_context(all, o);
        if (!all->contexts[i])
            return 0;
    }
    if (tool_messages.strict_failures > 0 || !tool_begin_rows(all, o) || !tool_begin_slopes(all))
        return 0;
    return run(all, o);
}

/* Exits without waiting for a GPU that is still being opened, if the program ends after this run. All output has been
 * written at this point. */
static void leave_opening(const session *all, int ok) {
    for (int i = 0; i < all->count && all->o->ends_program; i++) {
        if (vmafgpu_is_opening(all->contexts[i])) {
            fflush(NULL);
            _exit(ok && tool_messages.strict_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
        }
    }
}

int tool_score(options *o) {
    session *all = (session *)calloc(1, sizeof *all);
    if (!all)
        return tool_out_of_memory();
    all->count = o->distorted.count;
    all->o = o;
    all->destinations = o->destinations;
    for (int i = 0; i <= all->count; i++)
        video_start(&all->videos[i], "");
    int ok = open_and_run(all, o);
    tool_stop_pool(all);
    tool_stop_feeds(all);
    tool_drop_lock(all);
    ok = tool_close_maps(all) && ok;
    tool_end_rows(all);
    for (int i = 0; i <= all->count; i++) {
        video_close(&all->videos[i]);
        scaler_close(&all->scalers[i]);
        free(all->plan[i]);
    }
    for (int i = 0; i < tool_report_count(o); i++)
        tool_abandon_destination(&o->destinations[i], i);
    for (int i = 0; i < all->count; i++)
        tool_describe(all->contexts[i], o);
    leave_opening(all, ok);
    for (int i = 0; i < all->count; i++)
        vmafgpu_close(all->contexts[i]);
    tool_end_slopes(all); /* frees planes that the contexts could have written until now */
    free(all);
    return ok && tool_messages.strict_failures == 0;
}
