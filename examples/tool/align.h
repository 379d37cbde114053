/* align.h: compares pictures to find out which frame of the reference each frame of a distorted video shows.
 *
 * The signature of a frame consists of the mean luma of each of 20 by 12 cells. The distance between two frames is the
 * mean squared difference of their signatures. A path assigns one frame of the reference to each distorted frame. The
 * offset of the path is constant, except where frames were dropped or repeated. Dynamic programming finds the path with
 * the smallest sum of distances and costs of offset changes. All arithmetic is integer arithmetic, except for one gain
 * factor, whose result is rounded. So every machine finds the same path.
 *
 * Another offset may fit equally well if nothing moves or if the movement is periodic. The result lists the ranges of
 * frames where this is the case.
 *
 *     alignment a;
 *     if (align_find(&a, reference, frames, distorted, frames, first, count) && !a.unsure) ... a.match[j] ...
 *     align_free(&a);
 */
#ifndef ALIGN_H
#define ALIGN_H

#include "video.h"

#include <stddef.h>
#include <stdint.h>

enum { ALIGN_ACROSS = 20, ALIGN_DOWN = 12, ALIGN_CELLS = ALIGN_ACROSS * ALIGN_DOWN };

/* The mean luma of each cell, scaled to 16 bits. */
typedef struct align_signature {
    uint16_t cells[ALIGN_CELLS];
} align_signature;

/* The luma plane of a frame in memory. */
typedef struct align_picture {
    const unsigned char *luma;
    ptrdiff_t pitch;
    int width, height;
    int bytes_per_sample;
    int shift; /* left shift that scales samples to 16 bits */
} align_picture;

/* A range of frames of the distorted video. In `events`, `low` is the number of dropped frames, or the negated number
 * of repeated frames. In `doubts`, `low` to `high` is the range of offsets that fit. */
typedef struct align_range {
    int64_t first, last;
    int low, high;
} align_range;

typedef struct alignment {
    int64_t *match;      /* for each distorted frame, the index of its reference frame, or -1 */
    int64_t matched;     /* number of pairs; a repeated frame counts once */
    int offset;          /* offset of the longest stretch: index of the reference minus index of the distorted frame */
    int64_t dropped;     /* number of reference frames that are missing between matched frames */
    int64_t repeated;    /* number of distorted frames that repeat the previous frame; their match is -1 */
    align_range *events; /* drops and repeats, each with the range of frames where it may have occurred */
    int event_count;
    align_range *doubts; /* ranges of frames where other offsets fit equally well */
    int doubt_count;
    int unsure; /* the result is ambiguous, or no frames correspond */
} alignment;

/* Computes a signature from every step-th row. */
void align_sign(align_signature *out, const align_picture *p, int step);

/* Returns the luma plane of a frame of `v`. */
align_picture align_picture_of(const video *v, const vmafgpu_frame *frame);

/* Returns the signatures of up to `most` frames of a video, starting at frame `first`, and stores their number in
 * *count. Must be called before any frame has been read. The list ends at a read error; the tool reports the error
 * later, when it scores the frame. The caller frees the list. Returns NULL if memory is short. */
align_signature *align_sign_video(video *v, int64_t first, int64_t most, int step, int64_t *count);

/* Like align_sign_video(), but reads only five rows of each cell from the file. */
align_signature *align_sign_rows(video *v, int64_t first, int64_t most, int64_t *count);

/* Returns the mean squared difference of two signatures. */
uint32_t align_distance(const align_signature *a, const align_signature *b);

/* Frees the lists of an alignment. */
void align_free(alignment *a);

/* Finds the alignment with offsets from `first` to `first + count - 1`; `count` is at most 65535. Returns 0 if memory
 * is short. The caller must call align_free() in both cases. */
int align_find(alignment *a, const align_signature *reference, int64_t reference_count,
               const align_signature *distorted, int64_t distorted_count, int first, int count);

/* Returns a constant offset that differs from `usual` by at most `most` and fits far better. Returns `usual` if there
 * is no such offset. */
int align_look(const align_signature *reference, int64_t reference_count, const align_signature *distorted,
               int64_t distorted_count, int usual, int most);

#endif /* ALIGN_H */
