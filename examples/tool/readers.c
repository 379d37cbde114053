/* readers.c: see readers.h. */
#include "system.h"

#include "readers.h"
#include "capacity.h"
#include "pipes.h"
#include "session.h"
#include "signals.h"
#include "video.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef READ_AHEAD
#include <pthread.h>
#endif

enum {
    PART = 1 << 20, /* approximate size of a part, in bytes */
    MAX_PARTS = 16  /* number of small parts that a thread claims at once */
};

#ifdef READ_AHEAD

/* A plane in a file. */
typedef struct plane_place {
    size_t at, row; /* offset from the start of the frame, and size of a row, in bytes */
    int rows;
} plane_place;

static plane_place place_plane(const video *v, int plane) {
    int planar = v->layout == VMAFGPU_LAYOUT_PLANAR;
    size_t word = (size_t)v->bytes_per_sample;
    plane_place p = { 0, (size_t)v->width * word, v->height };
    if (plane > 0) {
        p.at = v->luma_bytes + (size_t)(plane - 1) * v->chroma_bytes;
        p.row = video_chroma_side(v, v->width, v->sampling.chroma_x) * word * (planar ? 1 : 2);
        p.rows = (int)video_chroma_side(v, v->height, v->sampling.chroma_y);
    }
    return p;
}

/* Returns the number of planes to read. The library lends no chroma buffers if no feature uses chroma. */
static int kept_planes(const video *v, const vmafgpu_frame *frame) {
    return v->chroma_bytes == 0 || !frame->data[1] ? 1 : v->layout == VMAFGPU_LAYOUT_PLANAR ? 3 : 2;
}

/* Returns the lent frame of video i. All contexts use the reference frame that the last context lent. The pair is
 * pushed to that context last; it then owns the buffer. */
static const vmafgpu_frame *lent_frame(const lent_pair *s, int i) {
    return i ? &s->distorted[i - 1] : &s->reference[s->lent - 1];
}

static lent_pair *slot_of(const pool *p, int64_t i) {
    return &p->slots[i % p->slot_count];
}

/* Wakes the caller if the caller waits and the pair is complete. */
static void wake_caller(session *all, const lent_pair *s) {
    if (all->pool.is_awaited && s->is_handed_out && s->parts == 0)
        pthread_cond_broadcast(&all->changed);
}

/* Advances to the next video of the current pair, or to the next pair. */
static void pass_video(session *all) {
    pool *p = &all->pool;
    p->plane = p->row = p->is_located = 0;
    if (++p->video > all->count) {
        p->video = 0;
        slot_of(p, p->pair)->is_handed_out = 1;
        wake_caller(all, slot_of(p, p->pair++));
    }
}

/* Locates the next frame in its file. */
static void locate_frame(session *all, lent_pair *s) {
    pool *p = &all->pool;
    video *v = &all->videos[p->video];
    int64_t wanted = tool_wanted_frame(all, p->video, p->pair);
    video_result result = wanted < 0 ? VIDEO_END : VIDEO_OK;
    while (result == VIDEO_OK && v->frames_read <= wanted)
        result = video_locate(v, &s->at[p->video]);
    s->states[p->video] = result;
    p->has_ended |= result != VIDEO_OK;
    p->is_located = 1;
}

/* Claims the next part. Returns 0 if no part is available now. The caller holds the lock. */
static int take_part(session *all, part *next) {
    pool *p = &all->pool;
    while (!p->has_failed && p->pair < p->offered && !(p->has_ended && p->video == 0 && !p->is_located)) {
        lent_pair *s = slot_of(p, p->pair);
        const video *v = &all->videos[p->video];
        const vmafgpu_frame *frame = lent_frame(s, p->video);
        if (!tool_is_fed(all, p->video) && !p->is_located)
            locate_frame(all, s);
        if (tool_is_fed(all, p->video) || s->states[p->video] != VIDEO_OK || p->plane == kept_planes(v, frame)) {
            pass_video(all);
            continue;
        }
        plane_place place = place_plane(v, p->plane);
        int rows = (int)(PART / place.row) + 1, left = place.rows - p->row;
        next->whole = s;
        next->video = p->video;
        next->at = s->at[p->video] + (long long)(place.at + (size_t)p->row * place.row);
        next->pitch = frame->pitch[p->plane];
        next->to = (unsigned char *)(uintptr_t)frame->data[p->plane] + p->row * next->pitch;
        next->row = place.row;
        next->rows = rows < left ? rows : left;
        p->row += next->rows;
        s->parts++;
        if (p->row == place.rows) {
            p->row = 0;
            p->plane++;
        }
        if (p->plane == kept_planes(v, frame))
            pass_video(all);
        return 1;
    }
    return 0;
}

/* Claims several small parts or a large one. Returns their number. */
static int take_parts(session *all, part *parts) {
    size_t bytes = 0;
    int count = 0;
    while (count < MAX_PARTS && bytes < PART && take_part(all, &parts[count])) {
        bytes += parts[count].row * (size_t)parts[count].rows;
        count++;
    }
    return count;
}

/* Reads a part. If the pitch in memory is larger than a row, all rows are first read into the end of the destination
 * and then moved to their places. Returns 0, an errno value, or -1 if the file has become shorter. */
static int read_part(const session *all, const part *p) {
    size_t size = p->row * (size_t)p->rows, room = (size_t)p->pitch * (size_t)p->rows;
    unsigned char *at = p->to + (room - size);
    ptrdiff_t count = video_fetch(&all->videos[p->video], p->at, at, size);
    for (int y = 0; at != p->to && y < p->rows; y++)
        memmove(p->to + y * p->pitch, at + (size_t)y * p->row, p->row);
    return count < 0 ? errno : (size_t)count < size ? -1 : 0;
}

/* Reads the next parts. Returns 0 if no part is available now. The caller holds the lock, which is released while
 * reading. */
static int read_some(session *all) {
    part parts[MAX_PARTS];
    int errors[MAX_PARTS], count = take_parts(all, parts);
    if (count == 0)
        return 0;
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i < count; i++)
        errors[i] = read_part(all, &parts[i]);
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i < count; i++) {
        lent_pair *s = parts[i].whole;
        s->parts--;
        s->errors[parts[i].video] = errors[i] ? errors[i] : s->errors[parts[i].video];
        wake_caller(all, s);
    }
    return 1;
}

static void *pool_work(void *user) {
    session *all = (session *)user;
    pthread_mutex_lock(&all->lock);
    while (!all->is_ending)
        if (!read_some(all))
            pthread_cond_wait(&all->pool.more, &all->lock);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

/* Borrows buffers for the next pairs from every context, as many as the contexts lend. Returns 0 on failure. */
static int offer_slots(session *all) {
    pool *p = &all->pool;
    int64_t first = p->offered, offered = first;
    vmafgpu_result result = VMAFGPU_OK;
    while (offered - p->taken < p->slot_count && (all->limit <= 0 || offered < all->limit)) {
        lent_pair *s = slot_of(p, offered);
        while (s->lent < all->count && (result = vmafgpu_acquire_pair(all->contexts[s->lent], &s->reference[s->lent],
                                                                      &s->distorted[s->lent])) == VMAFGPU_OK) {
            s->lent++;
        }
        if (s->lent < all->count)
            break;
        offered++;
    }
    if (offered > first) {
        pthread_mutex_lock(&all->lock);
        p->offered = offered;
        if (offered - first > 1)
            pthread_cond_broadcast(&p->more);
        else
            pthread_cond_signal(&p->more);
        pthread_mutex_unlock(&all->lock);
    }
    return result >= VMAFGPU_OK;
}

/* If a video had already ended when this pair was located, checks whether the video has grown since then. If it has,
 * resets the pair, which is then located again, and returns 1. */
static int restart_if_grown(session *all, lent_pair *s) {
    pool *p = &all->pool;
    int is_longer = 0;
    for (int i = 0; i <= all->count; i++) {
        int has_ended = !tool_is_fed(all, i) && (s->states[i] == VIDEO_END || s->states[i] == VIDEO_TRUNCATED);
        is_longer |= has_ended && video_has_grown(&all->videos[i]);
    }
    if (is_longer) {
        s->is_handed_out = p->has_ended = 0;
        p->pair = p->taken;
    }
    return is_longer;
}

int tool_next_pooled_pair(session *all, pair *now) {
    pool *p = &all->pool;
    lent_pair *s = slot_of(p, p->taken);
    if (!offer_slots(all))
        return 0;
    for (int i = 0; i <= all->count; i++) {
        now->frames[i] = *lent_frame(s, i);
        if (tool_is_fed(all, i))
            now->states[i] = tool_next_fed_frame(all, i, &now->frames[i]);
    }
    pthread_mutex_lock(&all->lock);
    while (!s->is_handed_out || s->parts > 0 || restart_if_grown(all, s)) {
        p->is_awaited =
            !read_some(all) && (!s->is_handed_out || s->parts > 0); /* read_some() may have completed the pair */
        if (p->is_awaited)
            pthread_cond_wait(&all->changed, &all->lock);
        p->is_awaited = 0;
    }
    for (int i = 0; i <= all->count; i++) {
        if (!tool_is_fed(all, i))
            now->states[i] = s->states[i];
        if (!tool_is_fed(all, i) && s->errors[i]) {
            p->has_failed = 1; /* so that no thread overwrites the message */
            now->states[i] = video_lose(&all->videos[i], tool_wanted_frame(all, i, p->taken), s->errors[i]);
        }
    }
    memset(s, 0, sizeof *s);
    p->taken++;
    pthread_mutex_unlock(&all->lock);
    return 1;
}

/* Whether frames are cropped or scaled before they are scored. */
static int has_other_pictures(const session *all) {
    int found = all->crop.is_given;
    for (int i = 1; i <= all->count; i++)
        found |= all->scalers[i].planes != NULL;
    return found;
}

void tool_start_pool(session *all) {
    pool *p = &all->pool;
    int is_pipe[1 + MAX_DISTORTED], files = 0;
    if (p->was_tried || !all->contexts[0] || strcmp(vmafgpu_backend_name(all->contexts[0]), "cpu") == 0 ||
        has_other_pictures(all)) {
        return;
    }
    p->was_tried = 1;
    if (!tool_make_lock(all))
        return;
    p->pair = p->offered = p->taken = all->pairs;
    const vmafgpu_config *config = vmafgpu_get_config(all->contexts[0]);
    for (int i = 0; i <= all->count; i++) {
        is_pipe[i] = !tool_is_fed(all, i) && !video_is_file(&all->videos[i]);
        files += !tool_is_fed(all, i) && !is_pipe[i];
    }
    tool_make_feeds(all, is_pipe, 1);
    /* If there is a pipe that no thread reads, the caller reads all videos. */
    for (int i = 0; i <= all->count; i++)
        files = is_pipe[i] && !tool_is_fed(all, i) ? 0 : files;
    if (files == 0 || pthread_cond_init(&p->more, NULL) != 0)
        return;
    p->slot_count =
        config->gpu.queue_depth * config->gpu.batch * (config->gpu.device_count ? config->gpu.device_count : 1);
    p->slots = (lent_pair *)calloc((size_t)p->slot_count, sizeof *p->slots);
    if (!p->slots) {
        pthread_cond_destroy(&p->more);
        return;
    }
    tool_hold_signals(1);
    while (p->count < config->threads - 1 && pthread_create(&p->threads[p->count], NULL, pool_work, all) == 0)
        p->count++;
    tool_hold_signals(0);
}

int tool_is_pooled(const session *all) {
    return all->pool.slots != NULL;
}

void tool_stop_pool(session *all) {
    pool *p = &all->pool;
    if (tool_is_pooled(all)) {
        pthread_mutex_lock(&all->lock);
        all->is_ending = 1;
        pthread_cond_broadcast(&p->more);
        pthread_mutex_unlock(&all->lock);
        for (int i = 0; i < p->count; i++)
            pthread_join(p->threads[i], NULL);
        pthread_cond_destroy(&p->more);
        free(p->slots);
        p->slots = NULL;
    }
}
#else
void tool_start_pool(session *all) {
    (void)all;
}
int tool_is_pooled(const session *all) {
    return (void)all, 0;
}
int tool_next_pooled_pair(session *all, pair *now) {
    return (void)all, (void)now, 0;
}
void tool_stop_pool(session *all) {
    (void)all;
}
#endif
