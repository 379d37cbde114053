/* session.h: one run: its videos, its contexts of the library, and which pairs of frames are scored. */
#ifndef TOOL_SESSION_H
#define TOOL_SESSION_H

#include "system.h"

#include "capacity.h"
#include "cut.h"
#include "options.h"
#include "rows.h"
#include "scale.h"
#include "video.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef READ_AHEAD
#include <pthread.h>
#endif

enum { MAX_SLOTS = 16 }; /* frames of a pipe that are in memory */

#ifdef READ_AHEAD
struct session;

/* One more thread opens and reads a pipe. */
typedef struct feed {
    struct session *all;
    int index;   /* of the video */
    int is_made; /* the thread was started: the video is its own, but for what never changes once it is open */
    pthread_t thread;
    int is_open;   /* below 0: that failed */
    int has_ended; /* the thread did */
    unsigned char *slots[MAX_SLOTS];
    int slot_count;
    int64_t first;      /* frames that were read before the thread began */
    int64_t read, used; /* frames behind those; of them, those that the caller is done with */
    int is_lent;        /* the caller looks at the frame after those */
    video_result state; /* of what comes after the frames that were read; VIDEO_OK: more frames, maybe */
} feed;

/* Rows of a plane that one thread reads. */
typedef struct part {
    struct lent_pair *whole;
    int video;
    long long at; /* in the file */
    unsigned char *to;
    size_t row;      /* bytes of a row in the file */
    ptrdiff_t pitch; /* of a row in memory */
    int rows;
} part;

/* A pair in lent memory, which threads fill. */
typedef struct lent_pair {
    vmafgpu_frame reference[MAX_DISTORTED], distorted[MAX_DISTORTED]; /* as the contexts lent them */
    int lent;                                                         /* how many contexts have */
    video_result states[1 + MAX_DISTORTED];
    long long at[1 + MAX_DISTORTED]; /* where the frames are in their files */
    int errors[1 + MAX_DISTORTED];   /* of the system, while they were read; -1: the file became shorter */
    int is_handed_out;               /* all parts are read, or being read... */
    int parts;                       /* ...by this many threads or so */
} lent_pair;

/* Threads that read files into lent memory: the next parts of the next pairs, in their order. */
typedef struct pool {
    pthread_t threads[MAX_THREADS];
    int count;
    lent_pair *slots; /* a ring */
    int slot_count;
    int64_t offered, taken; /* pairs that have memory; of these, those that the caller is done with */
    int64_t pair;           /* the next part: its pair, video, plane and row */
    int video, plane, row;
    int is_located;      /* its video's frame was found */
    int has_ended;       /* there is no whole pair after this one */
    int has_failed;      /* a part could not be read: nobody wants any more */
    int is_awaited;      /* the caller waits for a pair */
    int was_tried;       /* there is a GPU */
    pthread_cond_t more; /* to read */
} pool;
#endif

enum { MAP_SCALES = 5, MAX_MAPS = MAX_MODELS + MAX_FEATURES };

/* The files of one heatmaps_path. */
typedef struct map_files {
    const char *path;
    FILE *files[MAP_SCALES];
} map_files;

/* What is scored: videos[0], the reference, against the others, each with a context; without contexts nothing is
 * computed. */
typedef struct session {
    video videos[1 + MAX_DISTORTED];
    vmafgpu *contexts[MAX_DISTORTED];
    int count; /* of distorted videos */
    const options *o;
    int width, height; /* of what is compared */
    cut_window crop;
    scaler scalers[1 + MAX_DISTORTED]; /* of those that have another size */
    int64_t first;                     /* pairs that are passed over */
    int64_t limit;                     /* how many are wanted then; 0: all */
    int64_t *plan[1 + MAX_DISTORTED];  /* the frame of each pair where they are not simply the next ones */
    int64_t plan_count;
    rows_file rows; /* with --state and --segment: what was scored, this time and before */
    int has_rows;
    FILE *state;
    int64_t seeds;     /* of the pairs that are read: references before the first one that is scored; */
    int64_t lead;      /* pairs whose scores are known, for those behind them; */
    int64_t wanted;    /* pairs that are scored, below 0: all. Then come those behind them */
    int64_t collected; /* of the contexts' rows, those that are in `rows`, or were there before */
    int is_done;       /* nothing is left to score */
    int end_is_known[1 + MAX_DISTORTED]; /* a warning said that this video ends before another one */
    char warning[512];                   /* of the library, that was printed last */
    map_files maps[MAX_MAPS];
    int map_count;
    int maps_failed;
    int64_t pairs; /* that were read and taken */
#ifdef READ_AHEAD
    feed feeds[1 + MAX_DISTORTED];
    int feed_count; /* of those that were made */
    int is_ending;  /* the threads are to end */
    pool pool;
    int has_lock;
    pthread_mutex_t lock; /* of all that the threads share */
    pthread_cond_t changed;
#endif
} session;

/* How many frames of video i are left out at its beginning. */
int64_t tool_frames_to_skip(const options *o, int i);

/* The n-th frame of a video that is wanted; below 0: there is none. */
int64_t tool_wanted_frame(const session *all, int i, int64_t n);

/* How many pairs the files have from the n-th on, as far as their sizes tell; below 0: they don't. */
int64_t tool_pairs_behind(const session *all, int64_t n);

/* How many pairs there will be; below 0: nobody knows. */
int64_t tool_expected_frames(const session *all);

/* Sets which GPUs a config uses. */
void tool_choose_gpus(vmafgpu_config *config, const options *o);

/* Opens a context for one distorted video. NULL after a message. */
vmafgpu *tool_open_context(session *all, const options *o);

/* The models' columns come last; --no_prediction leaves them out. */
int tool_shown_columns(const vmafgpu *context, const options *o);

/* A frame of each video, and where there is none, why. */
typedef struct pair {
    video_result states[1 + MAX_DISTORTED];
    vmafgpu_frame frames[1 + MAX_DISTORTED];
} pair;

/* Reads the n-th frame that is wanted. */
video_result tool_read_wanted(const session *all, video *v, int index, int64_t n);

#endif /* TOOL_SESSION_H */
