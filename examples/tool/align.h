/* align.h: which frame of the reference each frame of a distorted video is, by what the pictures look like.
 *
 * Of every frame the mean luma of 20 by 12 cells is kept, its signature; the distance of two is their mean squared
 * difference. A path through the distances, one frame of the reference for each distorted frame, has an offset that
 * stays, and changes where frames were dropped or repeated; of all paths the one with the least distances and changes
 * is found (dynamic programming). All of it is integer arithmetic but for one gain, so every machine finds the same.
 *
 * Then the path is doubted: where another offset would do as well, because nothing moves or because what moves comes
 * back, that is said, not guessed.
 *
 *     alignment a;
 *     if (align_find(&a, reference, frames, distorted, frames, first, most) && !a.unsure) ... a.match[j] ...
 *     align_free(&a);
 */
#ifndef ALIGN_H
#define ALIGN_H

#include "video.h"

#include <stddef.h>
#include <stdint.h>

enum { ALIGN_ACROSS = 20, ALIGN_DOWN = 12, ALIGN_CELLS = ALIGN_ACROSS * ALIGN_DOWN };

/* Means of luma, 65536 being just above white. */
typedef struct align_signature {
    uint16_t cells[ALIGN_CELLS];
} align_signature;

/* How samples lie in memory. */
typedef struct align_picture {
    const unsigned char *luma;
    ptrdiff_t pitch;
    int width, height;
    int bytes_per_sample;
    int shift; /* left, to 16 bits */
} align_picture;

/* Frames first..last of the distorted video, for which something is said. */
typedef struct align_range {
    int64_t first, last;
    int low, high; /* of unsure ranges: offsets that would do; of events: low is how many frames */
} align_range;

typedef struct alignment {
    int64_t *match;      /* for each distorted frame the reference's, or -1 */
    int64_t matched;     /* pairs: frames that have one, repeated ones once */
    int offset;          /* what most frames have: reference's index minus distorted's */
    int64_t dropped;     /* frames of the reference that are left out between others */
    int64_t repeated;    /* distorted frames that show what the one before shows: their match is -1 */
    align_range *events; /* each drop (low > 0: so many) or repeat (low < 0) and where it may be */
    int event_count;
    align_range *doubts; /* where other offsets would do */
    int doubt_count;
    int unsure; /* doubts, or too little to say anything */
} alignment;

/* step: only every so many rows are looked at. */
void align_sign(align_signature *out, const align_picture *p, int step);

align_picture align_picture_of(const video *v, const vmafgpu_frame *frame);

/* The signatures of frames first, first + 1, .. of a video that was opened and not read: `most` at most, and how
 * many there are. To be freed; NULL: no memory. What is wrong with the video ends it and shows where it is scored. */
align_signature *align_sign_video(video *v, int64_t first, int64_t most, int step, int64_t *count);

/* The same from a few rows of each cell alone, which are all that is read of the file. */
align_signature *align_sign_rows(video *v, int64_t first, int64_t most, int64_t *count);

uint32_t align_distance(const align_signature *a, const align_signature *b);
void align_free(alignment *a);

/* What `a` finds, for offsets from `first` to `first` + `count` - 1, 65535 of them at most. 0: no memory.
 * align_free() is due whatever the result. */
int align_find(alignment *a, const align_signature *reference, int64_t reference_count,
               const align_signature *distorted, int64_t distorted_count, int first, int count);

/* By what constant offset the frames fit far better than by `usual`; `usual` itself where there is no such. */
int align_look(const align_signature *reference, int64_t reference_count, const align_signature *distorted,
               int64_t distorted_count, int usual, int most);

#endif /* ALIGN_H */
