/* plan.c: see plan.h. */
#include "system.h"

#include "plan.h"
#include "align.h"
#include "capacity.h"
#include "inspect.h"
#include "message.h"
#include "session.h"
#include "video.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes "3" or "3 to 5". */
static const char *range_text(char text[64], int64_t first, int64_t last) {
    snprintf(text, 64, first == last ? "%lld" : "%lld to %lld", (long long)first, (long long)last);
    return text;
}

/* Prints the alignment, and a warning if it is uncertain. `first` is the first frame of the distorted video that was
 * analysed. */
static void report_alignment(const session *all, int i, const alignment *a, int64_t first) {
    enum { MOST_EVENTS = 8 };
    const video *d = &all->videos[i];
    char text[64], other[64], place[64] = "no offset";
    if (a->offset != 0)
        snprintf(place, sizeof place, "frame n is frame n%+d of the reference", a->offset);
    tool_say("alignment: %s: %s; %lld frames correspond, %lld dropped, %lld repeated", d->title, place,
             (long long)a->matched, (long long)a->dropped, (long long)a->repeated);
    for (int k = 0; k < a->event_count && k < MOST_EVENTS; k++) {
        const align_range *e = &a->events[k];
        tool_say("alignment: at frame %s: %d %s", range_text(text, first + e->first, first + e->last),
                 e->low < 0 ? -e->low : e->low, e->low < 0 ? "repeated" : "dropped before it");
    }
    if (a->event_count > MOST_EVENTS)
        tool_say("alignment: %d more drops or repeats", a->event_count - MOST_EVENTS);
    for (int k = 0; k < a->doubt_count && k < 1; k++) {
        const align_range *e = &a->doubts[k];
        tool_warn("the alignment of %s is uncertain: frames %s fit as well or better with offsets %s%s; there is too "
                  "little motion, the motion is periodic, or the offset exceeds --align %lld",
                  d->title, range_text(text, first + e->first, first + e->last), range_text(other, e->low, e->high),
                  a->doubt_count > 1 ? ", and other frames with other offsets" : "", (long long)all->o->align);
    }
    if (a->doubt_count == 0 && a->unsure) {
        tool_warn("the alignment of %s is uncertain: the positions of dropped and repeated frames are known only as "
                  "the ranges above",
                  d->title);
    }
}

/* Fills the plan with the frames that correspond in all videos. */
static int make_plan(session *all, int64_t begin, int64_t count, int64_t *const *counterparts) {
    for (int i = 0; i <= all->count; i++) {
        all->plan[i] = (int64_t *)malloc(sizeof *all->plan[i] * (size_t)(count + 1));
        if (!all->plan[i])
            return tool_out_of_memory();
    }
    for (int64_t k = 0; k < count; k++) {
        int has_all = 1;
        for (int i = 1; i <= all->count; i++)
            has_all &= counterparts[i][k] >= 0;
        for (int i = 0; i <= all->count && has_all; i++)
            all->plan[i][all->plan_count] = i ? counterparts[i][k] : begin + k;
        all->plan_count += has_all;
    }
    all->first = 0;
    return all->plan_count > 0 || tool_fail("--align: no frames of the videos correspond");
}

/* The part of the reference that is analysed. It is longer on both sides than the part to score, so that all frames to
 * score have neighbours. */
typedef struct aligned_part {
    align_signature *signatures;
    int64_t first, count;  /* analysed frames of the file */
    int64_t begin, wanted; /* frames to score */
} aligned_part;

/* Finds the frames of a distorted video that correspond to the reference: counterparts[k] for frame r->begin + k. */
static int align_video(session *all, int i, const aligned_part *r, int64_t *counterparts) {
    /* Two more, so that even the largest offset that --align allows is not at the edge of the search range. */
    int64_t most = all->o->align + 2;
    int64_t usual = tool_frames_to_skip(all->o, i) - tool_frames_to_skip(all->o, 0), expected = r->begin + usual,
            frames;
    int64_t first = expected > most ? expected - most : 0;
    align_signature *distorted = tool_sign_again(
        all, i, first, r->wanted < INT64_MAX ? expected - first + r->wanted + most : INT64_MAX, 1, &frames);
    alignment a;
    memset(&a, 0, sizeof a);
    int apart = (int)(r->first - first); /* converts an offset between the lists to one between the files */
    int ok = distorted && align_find(&a, r->signatures, r->count, distorted, frames, (int)(-usual - apart - most),
                                     2 * (int)most + 1);
    for (int64_t j = 0; j < frames && ok; j++) {
        int64_t k = a.match[j] < 0 ? -1 : r->first + a.match[j] - r->begin;
        if (k >= 0 && k < r->wanted)
            counterparts[k] = first + j;
    }
    if (ok) {
        a.offset += apart;
        for (int k = 0; k < a.doubt_count; k++) {
            a.doubts[k].low += apart;
            a.doubts[k].high += apart;
        }
        report_alignment(all, i, &a, first);
    } else {
        tool_out_of_memory();
    }
    align_free(&a);
    free(distorted);
    return ok;
}

int tool_arrange_alignment(session *all) {
    int64_t begin = tool_wanted_frame(all, 0, 0), more = 2 * (all->o->align + 2),
            *counterparts[1 + MAX_DISTORTED] = { NULL };
    aligned_part r = { NULL, begin > more ? begin - more : 0, 0, begin, all->limit > 0 ? all->limit : INT64_MAX };
    video again;
    for (int i = 0; i <= all->count; i++) {
        int is_file = tool_open_again(all, i, 1, &again);
        video_close(&again);
        if (!is_file)
            return tool_fail("--align reads the videos twice: %s must be a file", all->videos[i].title);
    }
    r.signatures =
        tool_sign_again(all, 0, r.first, all->limit > 0 ? begin - r.first + all->limit + more : INT64_MAX, 1, &r.count);
    int64_t count = r.count - (begin - r.first);
    count = count < 0 ? 0 : count < r.wanted ? count : r.wanted;
    int ok = r.signatures != NULL || tool_out_of_memory();
    for (int i = 1; i <= all->count && ok; i++) {
        counterparts[i] = (int64_t *)malloc(sizeof **counterparts * (size_t)(count + 1));
        ok = counterparts[i] != NULL || tool_out_of_memory();
        for (int64_t k = 0; k < count && ok; k++)
            counterparts[i][k] = -1;
        ok = ok && align_video(all, i, &r, counterparts[i]);
    }
    ok = ok && make_plan(all, begin, count, counterparts);
    for (int i = 1; i <= all->count; i++)
        free(counterparts[i]);
    free(r.signatures);
    return ok;
}
