/* arrange.c: see arrange.h. */
#include "system.h"

#include "arrange.h"
#include "cut.h"
#include "inspect.h"
#include "message.h"
#include "options.h"
#include "plan.h"
#include "scale.h"
#include "session.h"
#include "video.h"

#include <stdint.h>
#include <stdio.h>

int tool_arrange_options(session *all, const options *o) {
    int64_t count = INT64_MAX;
    if (o->to.is_given && !o->to.is_time && !o->from.is_time) {
        count = o->to.value - o->from.value;
        if (count <= 0)
            return tool_fail("--to must come after --from");
    }
    all->first = o->from.is_time ? 0 : o->from.value;
    all->limit = o->frame_count && o->frame_count < count ? o->frame_count : count < INT64_MAX ? count : 0;
    return 1;
}

/* Converts times to frame numbers. This requires a y4m file with a frame rate. Returns 0 after an error message. */
static int arrange_times(session *all, const options *o) {
    const video *r = &all->videos[0];
    if (!o->from.is_time && !o->to.is_time)
        return 1;
    for (int i = 0; i <= all->count; i++)
        if (all->videos[i].file_bytes <= 0)
            return tool_fail("--from and --to accept times only for files; use frame numbers for pipes");
    if (!r->rate_num)
        return tool_fail("--from and --to accept only frame numbers, because %s has no frame rate", r->title);
    all->first = cut_frame(&o->from, r->rate_num, r->rate_den);
    int64_t count = o->to.is_given ? cut_frame(&o->to, r->rate_num, r->rate_den) - all->first : 0;
    if (o->to.is_given && count <= 0)
        return tool_fail("--to must come after --from");
    all->limit = count > 0 && (!o->frame_count || count < o->frame_count) ? count : o->frame_count;
    return 1;
}

/* Sets which part of the pictures is compared and at which size, and opens the scalers. Returns 0 after an error
 * message. */
static int arrange_pictures(session *all, const options *o) {
    video *r = &all->videos[0];
    all->width = r->width;
    all->height = r->height;
    all->crop = o->crop;
    if (o->crop.is_given) {
        cut_centre(&all->crop, r);
        const cut_window *w = &all->crop;
        if (w->x + w->width > r->width || w->y + w->height > r->height) {
            return tool_fail("--crop %d:%d:%d:%d is not inside the picture of %s, %dx%d", w->width, w->height, w->x,
                             w->y, r->title, r->width, r->height);
        }
        if (!cut_is_on_grid(w, r)) {
            return tool_fail(
                "--crop %d:%d:%d:%d does not begin on a chroma sample of %s; with %s chroma, X%s must be even",
                w->width, w->height, w->x, w->y, r->title, r->sampling.name, r->sampling.chroma_y > 1 ? " and Y" : "");
        }
        all->width = w->width;
        all->height = w->height;
    }
    for (int i = 1; i <= all->count; i++) {
        const video *d = &all->videos[i];
        if ((d->width != r->width || d->height != r->height) &&
            !scaler_open(&all->scalers[i], o->scale, d, r->width, r->height)) {
            return tool_out_of_memory();
        }
    }
    return 1;
}

vmafgpu_frame tool_arrange_frame(session *all, int i, vmafgpu_frame frame) {
    if (all->scalers[i].planes)
        frame = scaler_frame(&all->scalers[i], &all->videos[i], &frame);
    return all->crop.is_given ? cut_picture(&all->crop, &all->videos[i], frame) : frame;
}

/* Warns about files of different lengths, unless skipped frames or a limit make the lengths equal. */
static void check_lengths(session *all) {
    const video *r = &all->videos[0];
    int64_t pairs = tool_pairs_behind(all, all->first);
    for (int i = 1; i <= all->count; i++) {
        const video *d = &all->videos[i];
        int is_known = r->is_whole && d->is_whole && r->frames_total > 0 && d->frames_total > 0;
        int is_cut = all->limit > 0 && pairs >= all->limit;
        if (is_known && !is_cut && r->frames_total != d->frames_total &&
            r->frames_total - tool_frames_to_skip(all->o, 0) != d->frames_total - tool_frames_to_skip(all->o, i)) {
            char scored[40] = "pairs are scored"; /* their number is unknown if a video is a pipe */
            if (pairs >= 0)
                snprintf(scored, sizeof scored, "%lld pairs are scored", (long long)pairs);
            tool_warn("the frame counts differ: %s has %lld, %s has %lld; %s, up to the end of the shortest", r->title,
                      r->frames_total, d->title, d->frames_total, scored);
            int is_shorter =
                r->frames_total - tool_frames_to_skip(all->o, 0) > d->frames_total - tool_frames_to_skip(all->o, i);
            all->end_is_known[is_shorter ? i : 0] = 1;
        }
    }
}

/* Checks that --from is before the end, if the end is known. Returns 0 after an error message. */
static int check_beginning(const session *all, const options *o) {
    int64_t pairs = tool_pairs_behind(all, 0);
    if (!o->from.is_given || pairs < 0 || all->first < pairs)
        return 1;
    char time[48] = "";
    const video *r = &all->videos[0];
    if (r->rate_num)
        snprintf(time, sizeof time, " (%.2f seconds)", (double)pairs * r->rate_den / r->rate_num);
    return tool_fail("--from is frame %lld, but there %s only %lld pair%s of frames%s; lower --from",
                     (long long)all->first, pairs == 1 ? "is" : "are", (long long)pairs, pairs == 1 ? "" : "s", time);
}

int tool_arrange(session *all, const options *o) {
    if (!arrange_times(all, o) || !check_beginning(all, o) || !arrange_pictures(all, o))
        return 0;
    tool_look_for_size(all);
    if (o->align) {
        if (!tool_arrange_alignment(all))
            return 0;
    } else {
        check_lengths(all);
        tool_look_for_shift(all);
    }
    return tool_messages.strict_failures == 0;
}
