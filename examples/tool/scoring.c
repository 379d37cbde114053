/* scoring.c: see scoring.h. */
#include "system.h"

#include "scoring.h"
#include "arrange.h"
#include "message.h"
#include "options.h"
#include "pipes.h"
#include "progress.h"
#include "readers.h"
#include "session.h"
#include "slopes.h"
#include "state.h"
#include "video.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints the same message as the vmaf tool. This is not an error. */
static void report_early_end(const video *shorter, const video *longer) {
    tool_put_text(stderr, shorter->title);
    fputs(" ended before ", stderr);
    tool_put_text(stderr, longer->title);
    fputs(".\n", stderr);
}

/* Returns the message of the first context that has one. */
static const char *first_error(const session *all) {
    for (int i = 0; i < all->count; i++)
        if (*vmafgpu_last_error(all->contexts[i]))
            return vmafgpu_last_error(all->contexts[i]);
    return "a frame has no score";
}

/* Combines the results of reading a pair: sets *problem if a video failed, and reports a video that ended before
 * another one. */
static video_result judge_pair(const session *all, const pair *now, const char **problem) {
    video_result worst = VIDEO_OK;
    int ended = -1, longer = -1;
    for (int i = 0; i <= all->count; i++) {
        video_result state = now->states[i];
        if (state > VIDEO_END && worst <= VIDEO_END)
            *problem = all->videos[i].error;
        worst = state > worst ? state : worst;
        ended = ended < 0 && state == VIDEO_END ? i : ended;
        longer = longer < 0 && state == VIDEO_OK ? i : longer;
    }
    if (worst == VIDEO_END && longer >= 0 && !all->end_is_known[ended]) {
        report_early_end(&all->videos[ended], &all->videos[longer]);
        tool_messages.strict_failures += tool_messages.is_strict;
    }
    return worst;
}

static int push_pair(const session *all, const pair *now) {
    return !all->contexts[0] ||
           vmafgpu_push_many(all->contexts, all->count, &now->frames[0], &now->frames[1], NULL) == VMAFGPU_OK;
}

/* Passes pair n to the contexts. If it comes before or after the pairs to score, passes only its reference. */
static int take_pair(const session *all, int64_t n, const pair *now) {
    int is_seed = n < all->seeds, is_tail = all->wanted >= 0 && n >= all->seeds + all->lead + all->wanted, ok = 1;
    if (!is_seed && !is_tail)
        return push_pair(all, now);
    for (int i = 0; i < all->count; i++)
        ok &= (is_seed ? vmafgpu_push_preceding : vmafgpu_push_following)(all->contexts[i], &now->frames[0]) ==
              VMAFGPU_OK;
    return ok;
}

/* Prints a message of the library. Each context numbers frames from the first frame that it has received; the printed
 * message numbers them from the first pair of the whole run, to which --state and --segment refer. */
static int fail_at_frame(const session *all, const char *message) {
    static const char word[] = "frame ", *const kinds[] = { "", "preceding ", "following " };
    const int64_t first[] = { all->start + all->seeds, all->start, all->start + all->seeds + all->lead + all->wanted };
    char text[1024] = "";
    size_t used = 0;
    for (const char *at = message; *at && used + 32 < sizeof text;) {
        size_t kind = 3, length = 0;
        while (kind > 0 && (length = strlen(kinds[--kind]), strncmp(at, kinds[kind], length) != 0))
            continue;
        const char *number = at + length + sizeof word - 1;
        if (strncmp(at + length, word, sizeof word - 1) == 0 && *number >= '0' && *number <= '9') {
            char *end;
            const long long n = strtoll(number, &end, 10) + first[kind];
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", word, n);
            at = end;
        } else {
            text[used++] = *at++;
            text[used] = '\0';
        }
    }
    return tool_fail_library(text);
}

static int flush_all(session *all) {
    int ok = 1;
    for (int i = 0; i < all->count && all->contexts[i]; i++)
        ok &= vmafgpu_flush(all->contexts[i]) == VMAFGPU_OK;
    return ok;
}

/* Reads pair n. Pairs must be read in order. */
static video_result next_pair(session *all, int64_t n, pair *now, const char **problem) {
    tool_start_pool(all);
    if (tool_is_pooled(all)) {
        if (tool_next_pooled_pair(all, now))
            return judge_pair(all, now, problem);
        *problem = first_error(all);
        return VIDEO_ERROR;
    }
    for (int i = 0; i <= all->count; i++) {
        video *v = &all->videos[i];
        if (tool_is_fed(all, i)) {
            now->states[i] = tool_next_fed_frame(all, i, &now->frames[i]);
        } else {
            now->states[i] = tool_read_wanted(all, v, i, n);
            if (now->states[i] == VIDEO_OK)
                now->frames[i] = video_frame(v);
        }
        if (now->states[i] == VIDEO_OK)
            now->frames[i] = tool_arrange_frame(all, i, now->frames[i]);
    }
    return judge_pair(all, now, problem);
}

scoring tool_score_videos(session *all, const options *o) {
    scoring s = { 0, 0, 1, 0, 0 };
    progress p;
    const char *problem = NULL, *lost = NULL; /* messages of a video and of the library */
    pair now;
    memset(&p, 0, sizeof p);
    p.kind = o->progress == PROGRESS_JSON                                            ? PROGRESS_JSON
             : o->quiet || o->progress == PROGRESS_NONE || !tool_is_terminal(stderr) ? PROGRESS_NONE
                                                                                     : PROGRESS_LINE;
    int64_t before = all->seeds + all->lead, read = 0;
    p.total = all->wanted >= 0 ? all->wanted : tool_expected_frames(all) - before;
    p.start = tool_wall_clock();
    while (!lost && s.intact && !all->is_done && (all->limit <= 0 || read < all->limit) &&
           next_pair(all, read, &now, &problem) == VIDEO_OK) {
        /* before the library can reuse lent buffers */
        const int has_slopes = s.slopes_failed || tool_push_slopes(all, read, &now);
        if (take_pair(all, read, &now)) {
            all->pairs = ++read;
            s.frames += read > before && (all->wanted < 0 || s.frames < all->wanted);
            tool_progress_frame(&p, s.frames);
            s.intact = !all->has_rows || tool_collect_rows(all);
            if (!s.slopes_failed)
                s.slopes_failed = !(has_slopes ? tool_collect_slopes(all) : tool_fail_slopes(all));
        } else {
            lost = first_error(all);
        }
    }
    s.is_cut = lost != NULL;
    if (lost) {
        /* A flush would score the last frame as the end of a clip. Report only frames that do not depend on the pair
         * that was refused. A GPU finds an invalid sample later, but ends up with scores for the same frames. */
        for (int i = 0; i < all->count; i++)
            (void)vmafgpu_wait(all->contexts[i], -1);
    } else if (s.frames > 0 && !flush_all(all)) {
        lost = first_error(all);
        problem = NULL; /* because the library failed at an earlier frame */
    }
    if (all->has_rows && s.frames > 0 && s.intact)
        s.intact = tool_collect_rows(all);
    if (s.frames > 0 && s.intact && !s.slopes_failed)
        s.slopes_failed = !tool_flush_slopes(all, s.is_cut);
    s.seconds = tool_wall_clock() - p.start;
    tool_progress_end(&p, s.frames, o, all->contexts[0]);
    tool_warn_of_fallback(o, all->contexts[0]);
    if (lost)
        s.intact = fail_at_frame(all, lost);
    if (problem)
        s.intact = tool_fail("%s", problem);
    return s;
}
