/* session.h: the state of a run: the videos, the contexts of the library, and the pairs of frames to score. */
#ifndef TOOL_SESSION_H
#define TOOL_SESSION_H

#include "system.h"

#include "capacity.h"
#include "cut.h"
#include "destination.h"
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

enum { MAX_SLOTS = 16 }; /* maximum number of frames of a pipe in memory */

#ifdef READ_AHEAD
struct session;

/* A thread that opens and reads a pipe. */
typedef struct feed {
    struct session *all;
    int index;   /* index of the video */
    int is_made; /* the thread was started; other threads may read only fields of the video that never change */
    pthread_t thread;
    int is_open;   /* 1 if open, -1 if opening failed */
    int has_ended; /* the thread has ended */
    unsigned char *slots[MAX_SLOTS];
    int slot_count;
    int64_t first;      /* number of frames that were read before the thread started */
    int64_t read, used; /* number of frames that the thread has read, and number that the caller has finished with */
    int is_lent;        /* the caller uses frame number `used` */
    video_result state; /* result of the last read; VIDEO_OK if more frames may follow */
} feed;

/* Rows of a plane that a thread reads. */
typedef struct part {
    struct lent_pair *whole;
    int video;
    long long at; /* position in the file */
    unsigned char *to;
    size_t row;      /* size of a row in the file */
    ptrdiff_t pitch; /* pitch in memory */
    int rows;
} part;

/* A pair in lent buffers, which the threads fill. */
typedef struct lent_pair {
    vmafgpu_frame reference[MAX_DISTORTED], distorted[MAX_DISTORTED]; /* as the contexts lent them */
    int lent;                                                         /* number of contexts that lent buffers */
    video_result states[1 + MAX_DISTORTED];
    long long at[1 + MAX_DISTORTED]; /* positions of the frames in their files */
    int errors[1 + MAX_DISTORTED];   /* errno values of reads; -1 if the file became shorter */
    int is_handed_out;               /* threads have claimed all parts */
    int parts;                       /* number of parts that are being read */
} lent_pair;

/* Threads that read files into lent buffers. They claim the parts of all pairs in order. */
typedef struct pool {
    pthread_t threads[MAX_THREADS];
    int count;
    lent_pair *slots; /* a ring buffer */
    int slot_count;
    int64_t offered, taken; /* number of pairs that have buffers, and number that the caller has taken */
    int64_t pair;           /* pair, video, plane and row of the next part */
    int video, plane, row;
    int is_located;      /* the frame of the next part was located */
    int has_ended;       /* a video ended, so no complete pair follows */
    int has_failed;      /* a part could not be read, so no more parts are claimed */
    int is_awaited;      /* the caller waits for a pair */
    int was_tried;       /* tool_start_pool() has found a GPU */
    pthread_cond_t more; /* signals that there are more parts */
} pool;
#endif

enum { MAP_SCALES = 5, MAX_MAPS = MAX_MODELS + MAX_FEATURES };

/* The files of one heatmaps_path. */
typedef struct map_files {
    const char *path;
    FILE *files[MAP_SCALES];
} map_files;

/* The slopes of a distorted video that --slopes draws. */
typedef struct slope_video {
    vmafgpu *context; /* the context of the video, or a separate one if that context cannot compute slopes */
    int is_separate;
    vmafgpu_result result; /* of the last call of the library; ERROR_DEVICE if a GPU failed, so slopes are missing */
    int is_cut;            /* a pair has no score, so later slopes are not drawn */
    int is_pattern;        /* a picture per frame is drawn, not the mean */
    float **planes;        /* the first `waiting` ones are of pairs whose scores are not ready, in order */
    int plane_count, waiting;
    int64_t collected; /* number of scores that were ready when slopes were drawn */
    double *sums;      /* of the slopes of `rows` pairs, for the mean */
    int64_t rows;
} slope_video;

/* A run. videos[0] is the reference. Each distorted video has a context; if there are no contexts, nothing is
 * computed. */
typedef struct session {
    video videos[1 + MAX_DISTORTED];
    vmafgpu *contexts[MAX_DISTORTED];
    int count; /* number of distorted videos */
    const options *o;
    int width, height; /* size of the pictures that are compared */
    cut_window crop;
    scaler scalers[1 + MAX_DISTORTED]; /* for videos of a different size */
    int64_t first;                     /* number of pairs that are skipped */
    int64_t limit;                     /* number of pairs to read after that; 0 for all */
    int64_t *plan[1 + MAX_DISTORTED];  /* the frame number of each pair with --align; otherwise NULL */
    int64_t plan_count;
    rows_file rows; /* the scores of this run and of the state, with --state and --segment */
    int has_rows;
    FILE *state;
    /* The pairs that are read, in order: `seeds`, `lead`, `wanted`, and then pairs that `wanted` depends on. */
    int64_t start;     /* number of the first pair that is read, counted from the first pair of the run */
    int64_t seeds;     /* pairs of which only the reference is used, with vmafgpu_push_preceding() */
    int64_t lead;      /* pairs whose scores are already known */
    int64_t wanted;    /* pairs to score; negative for all */
    int64_t collected; /* number of rows of the contexts that are finished: copied to `rows`, or part of `lead` */
    int is_done;       /* all pairs are scored */
    int end_is_known[1 + MAX_DISTORTED]; /* a warning has reported that this video ends before another one */
    char warning[512];                   /* the last warning from the library */
    map_files maps[MAX_MAPS];
    int map_count;
    int maps_failed;
    slope_video slopes[MAX_DISTORTED];
    destination *destinations; /* those of the options */
    int64_t pairs;             /* number of pairs that were read and passed to the contexts */
#ifdef READ_AHEAD
    feed feeds[1 + MAX_DISTORTED];
    int feed_count; /* number of running feeds */
    int is_ending;  /* the threads must end */
    pool pool;
    int has_lock;
    pthread_mutex_t lock; /* protects all data that threads share */
    pthread_cond_t changed;
#endif
} session;

/* Returns the number of frames to skip at the start of video i. */
int64_t tool_frames_to_skip(const options *o, int i);

/* Returns the frame number of pair n in video i; negative if there is none. */
int64_t tool_wanted_frame(const session *all, int i, int64_t n);

/* Returns the number of pairs from pair n to the end, computed from the file sizes; negative if unknown. */
int64_t tool_pairs_behind(const session *all, int64_t n);

/* Returns the number of pairs that will be read; negative if unknown. */
int64_t tool_expected_frames(const session *all);

/* Sets the GPUs of a config. */
void tool_choose_gpus(vmafgpu_config *config, const options *o);

/* Prints the description of a context to the error stream, if --debug is set. */
void tool_describe(vmafgpu *context, const options *o);

/* Opens a context for a distorted video, with config.slopes if --slopes is given and the context can compute slopes as
 * well. Returns NULL after an error message. */
vmafgpu *tool_open_context(session *all, const options *o);

/* Returns the number of columns to report. The columns of models are last; --no_prediction excludes them. */
int tool_shown_columns(const vmafgpu *context, const options *o);

/* A frame of each video, or the reason why there is none. */
typedef struct pair {
    video_result states[1 + MAX_DISTORTED];
    vmafgpu_frame frames[1 + MAX_DISTORTED];
} pair;

/* Reads the frame of pair n. */
video_result tool_read_wanted(const session *all, video *v, int index, int64_t n);

#endif /* TOOL_SESSION_H */
