/* pipes.c: see pipes.h. */
#include "system.h"

#include "pipes.h"
#include "capacity.h"
#include "files.h"
#include "input.h"
#include "options.h"
#include "session.h"
#include "signals.h"
#include "video.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef READ_AHEAD
#include <pthread.h>
#include <signal.h>
#endif

/* Maximum total size, in bytes, of the frames that are read ahead from all pipes. If there are several pipes, at least
 * one frame of each pipe is read ahead. */
enum { MAX_AHEAD = 24 << 20 };

#ifdef READ_AHEAD
int tool_make_lock(session *all) {
    if (!all->has_lock && pthread_mutex_init(&all->lock, NULL) == 0) {
        all->has_lock = pthread_cond_init(&all->changed, NULL) == 0;
        if (!all->has_lock)
            pthread_mutex_destroy(&all->lock);
    }
    return all->has_lock;
}

/* Returns the number of frames of a pipe that are kept in memory. */
static int count_slots(const session *all, const video *v) {
    size_t bytes = video_frame_bytes(v) * (size_t)all->feed_count, fit = MAX_AHEAD / bytes;
    if (all->feed_count == 1)
        return fit > 0 ? 2 : 1;
    return fit < 2 ? 2 : fit > MAX_SLOTS ? MAX_SLOTS : (int)fit;
}

static video_result open_fed_video(session *all, const feed *f) {
    video *v = &all->videos[f->index];
    video_result result = video_open_file(v, tool_path_of(all->o, f->index));
    return result == VIDEO_OK ? tool_begin_video(v, all->o) : result;
}

/* Waits for a free slot and sets it as the buffer of the video. Returns 0 if no more frames are needed. The caller
 * holds the lock. */
static int take_slot(session *all, feed *f) {
    video *v = &all->videos[f->index];
    if (all->limit > 0 && f->first + f->read >= all->limit)
        return 0;
    for (;;) {
        if (all->is_ending)
            return 0;
        if (f->read - f->used < f->slot_count) {
            unsigned char **slot = &f->slots[f->read % f->slot_count];
            if (!*slot)
                *slot = (unsigned char *)malloc(video_frame_bytes(v));
            if (*slot) {
                v->buffer = *slot;
                return 1;
            }
            f->slot_count = (int)f->read; /* out of memory: use only the slots that exist, at least the first */
        } else {
            pthread_cond_wait(&all->changed, &all->lock);
        }
    }
}

static void *feed_work(void *user) {
    feed *f = (feed *)user;
    session *all = f->all;
    video *v = &all->videos[f->index];
    video_result result = f->is_open ? VIDEO_OK : open_fed_video(all, f);
    pthread_mutex_lock(&all->lock);
    f->is_open = result == VIDEO_OK ? 1 : -1;
    f->slots[0] = v->buffer;
    f->slot_count = f->is_open > 0 ? count_slots(all, v) : 0;
    pthread_cond_broadcast(&all->changed);
    while (result == VIDEO_OK && take_slot(all, f)) {
        pthread_mutex_unlock(&all->lock);
        result = tool_read_wanted(all, v, f->index, f->first + f->read);
        pthread_mutex_lock(&all->lock);
        f->read += result == VIDEO_OK;
        f->state = result;
        pthread_cond_broadcast(&all->changed);
    }
    f->has_ended = 1;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

void tool_make_feeds(session *all, const int *is_pipe, int is_open) {
    if (!tool_make_lock(all))
        return;
    tool_hold_signals(1); /* so that only the calling thread handles signals */
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i <= all->count; i++) {
        feed *f = &all->feeds[i];
        if (is_pipe[i] && !f->is_made) {
            f->all = all;
            f->index = i;
            f->is_open = is_open;
            f->first = all->pairs;
            f->is_made = pthread_create(&f->thread, NULL, feed_work, f) == 0;
            all->feed_count += f->is_made;
        }
    }
    pthread_mutex_unlock(&all->lock);
    tool_hold_signals(0);
}

void tool_start_feeds(session *all) {
    int is_pipe[1 + MAX_DISTORTED], count = 0;
    for (int i = 0; i <= all->count; i++) {
        const char *path = tool_path_of(all->o, i);
        file_id file = strcmp(path, "-") == 0 ? tool_identify_standard(STANDARD_INPUT) : tool_identify(path);
        is_pipe[i] = file.kind == FILE_PIPE || file.kind == FILE_DEVICE;
        count += is_pipe[i];
    }
    if (count > 1 || (count == 1 && all->o->threads > 1))
        tool_make_feeds(all, is_pipe, 0);
}

int tool_is_fed(const session *all, int i) {
    return all->feeds[i].is_made;
}

int tool_wait_for_feeds(session *all) {
    int failed = -1, waits = all->feed_count > 0;
    if (!waits)
        return failed;
    pthread_mutex_lock(&all->lock);
    while (waits && failed < 0) {
        waits = 0;
        for (int i = 0; i <= all->count; i++) {
            if (tool_is_fed(all, i)) {
                failed = failed < 0 && all->feeds[i].is_open < 0 ? i : failed;
                waits |= !all->feeds[i].is_open;
            }
        }
        if (waits && failed < 0)
            pthread_cond_wait(&all->changed, &all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return failed;
}

video_result tool_next_fed_frame(session *all, int i, vmafgpu_frame *frame) {
    feed *f = &all->feeds[i];
    pthread_mutex_lock(&all->lock);
    if (f->is_lent) {
        f->is_lent = 0;
        f->used++;
        pthread_cond_broadcast(&all->changed);
    }
    while (f->read == f->used && f->state == VIDEO_OK)
        pthread_cond_wait(&all->changed, &all->lock);
    f->is_lent = f->read > f->used;
    video_result state = f->is_lent ? VIDEO_OK : f->state;
    if (f->is_lent)
        *frame = video_frame_at(&all->videos[i], f->slots[f->used % f->slot_count]);
    pthread_mutex_unlock(&all->lock);
    return state;
}

/* Does nothing. A signal with a handler interrupts open() and read(). */
static void wake_up(int number) {
    (void)number;
}

/* Sends a signal to each thread that is still running. Returns the number of these threads. */
static int wake_feeds(session *all) {
    int count = 0;
    for (int i = 0; i <= all->count; i++) {
        if (tool_is_fed(all, i) && !all->feeds[i].has_ended) {
            pthread_kill(all->feeds[i].thread, SIGUSR1);
            count++;
        }
    }
    return count;
}

/* Ends the threads. A thread may block forever in open() or read() on a pipe, so a signal interrupts it. A signal that
 * arrives just before the call has no effect, so the signals are repeated every 5 ms. */
void tool_stop_feeds(session *all) {
    struct sigaction action;
    if (all->feed_count == 0)
        return;
    memset(&action, 0, sizeof action); /* without SA_RESTART */
    action.sa_handler = wake_up;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    pthread_mutex_lock(&all->lock);
    all->is_ending = 1;
    pthread_cond_broadcast(&all->changed);
    while (wake_feeds(all) > 0) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 5000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&all->changed, &all->lock, &soon);
    }
    pthread_mutex_unlock(&all->lock);
    for (int i = 0; i <= all->count; i++) {
        feed *f = &all->feeds[i];
        if (f->is_made) {
            pthread_join(f->thread, NULL);
            all->videos[i].buffer = f->slots[0];
            for (int k = 1; k < MAX_SLOTS; k++)
                free(f->slots[k]);
        }
    }
    all->feed_count = 0;
}

void tool_drop_lock(session *all) {
    if (all->has_lock) {
        pthread_cond_destroy(&all->changed);
        pthread_mutex_destroy(&all->lock);
        all->has_lock = 0;
    }
}
#else
void tool_start_feeds(session *all) {
    (void)all;
}
int tool_is_fed(const session *all, int i) {
    return (void)all, (void)i, 0;
}
int tool_wait_for_feeds(session *all) {
    return (void)all, -1;
}
video_result tool_next_fed_frame(session *all, int i, vmafgpu_frame *frame) {
    return (void)all, (void)i, (void)frame, VIDEO_END;
}
void tool_stop_feeds(session *all) {
    (void)all;
}
void tool_drop_lock(session *all) {
    (void)all;
}
#endif
