/* align.c: see align.h. */
#include "system.h"

#include "align.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t align_row_sum(const unsigned char *row, int bytes, int begin, int end) {
    uint64_t sum = 0;
    if (bytes == 1)
        for (int x = begin; x < end; x++)
            sum += row[x];
    else
        for (int x = begin; x < end; x++)
            sum += (uint64_t)row[2 * x] + ((uint64_t)row[2 * x + 1] << 8);
    return sum;
}

void align_sign(align_signature *out, const align_picture *p, int step) {
    for (int cy = 0; cy < ALIGN_DOWN; cy++) {
        int top = cy * p->height / ALIGN_DOWN, bottom = (cy + 1) * p->height / ALIGN_DOWN, rows = 0;
        uint64_t sums[ALIGN_ACROSS] = { 0 };
        bottom = bottom > top ? bottom : top + 1;
        for (int y = top + (step > bottom - top ? bottom - top : step) / 2; y < bottom; y += step, rows++) {
            const unsigned char *row = p->luma + y * p->pitch;
            for (int cx = 0; cx < ALIGN_ACROSS; cx++) {
                int left = cx * p->width / ALIGN_ACROSS, right = (cx + 1) * p->width / ALIGN_ACROSS;
                sums[cx] += align_row_sum(row, p->bytes_per_sample, left, right > left ? right : left + 1);
            }
        }
        for (int cx = 0; cx < ALIGN_ACROSS; cx++) {
            int left = cx * p->width / ALIGN_ACROSS, right = (cx + 1) * p->width / ALIGN_ACROSS;
            uint64_t count = (uint64_t)(right > left ? right - left : 1) * (uint64_t)rows;
            out->cells[cy * ALIGN_ACROSS + cx] = (uint16_t)((sums[cx] << p->shift) / count);
        }
    }
}

align_picture align_picture_of(const video *v, const vmafgpu_frame *frame) {
    align_picture p = { (const unsigned char *)frame->data[0],
                        frame->pitch[0],
                        v->width,
                        v->height,
                        v->bytes_per_sample,
                        v->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 0 : 16 - v->bit_depth };
    return p;
}

align_signature *align_sign_video(video *v, int64_t first, int64_t most, int step, int64_t *count) {
    size_t size = 64;
    align_signature *list = (align_signature *)malloc(sizeof *list * size);
    *count = 0;
    while (list && *count < most && video_read(v) == VIDEO_OK) {
        if (v->frames_read <= first)
            continue;
        if ((size_t)*count == size) {
            align_signature *larger = (align_signature *)realloc(list, sizeof *list * 2 * size);
            if (!larger) {
                free(list);
                return NULL;
            }
            list = larger;
            size *= 2;
        }
        vmafgpu_frame frame = video_frame(v);
        align_picture picture = align_picture_of(v, &frame);
        align_sign(&list[(*count)++], &picture, step);
    }
    return list;
}

#ifdef VIDEO_MAP
align_signature *align_sign_rows(video *v, int64_t first, int64_t most, int64_t *count) {
    enum { ROWS = 5 * ALIGN_DOWN };
    size_t row = (size_t)v->width * (size_t)v->bytes_per_sample;
    align_signature *list = (align_signature *)malloc(sizeof *list * (size_t)most);
    unsigned char *rows = (unsigned char *)malloc(row * ROWS);
    long long at;
    *count = 0;
    while (list && rows && *count < most && video_locate(v, &at) == VIDEO_OK) {
        int ok = v->frames_read > first;
        for (int y = 0; y < ROWS && ok; y++) {
            long long line = (2 * y + 1) * (long long)v->height / (2 * ROWS);
            ok = video_fetch(v, at + line * (long long)row, rows + (size_t)y * row, row) == (ptrdiff_t)row;
        }
        if (ok) {
            vmafgpu_frame frame = VMAFGPU_INIT;
            frame.data[0] = rows;
            frame.pitch[0] = (ptrdiff_t)row;
            align_picture picture = align_picture_of(v, &frame);
            picture.height = ROWS;
            align_sign(&list[(*count)++], &picture, 1);
        }
    }
    free(rows);
    return list;
}
#endif

/* ---- distances ---- */

typedef struct align_problem {
    const align_signature *reference, *distorted;
    int64_t reference_count, distorted_count;
    int first, offsets;  /* the smallest offset and the number of offsets */
    uint32_t *distances; /* [distorted frame][offset]; ALIGN_NONE if the reference has no such frame */
    uint32_t *least;     /* smallest distance of each distorted frame */
    uint32_t unmatched;  /* cost of a frame without a counterpart; such frames can occur at both ends */
} align_problem;

#define ALIGN_NONE 0xffffffffu

uint32_t align_distance(const align_signature *a, const align_signature *b) {
    uint64_t sum = 0;
    for (int i = 0; i < ALIGN_CELLS; i++) {
        int64_t difference = (int64_t)a->cells[i] - (int64_t)b->cells[i];
        sum += (uint64_t)(difference * difference);
    }
    sum = (sum + ALIGN_CELLS - 1) / ALIGN_CELLS;
    return sum < ALIGN_NONE ? (uint32_t)sum : ALIGN_NONE - 1;
}

/* Fills `distances` and `least`. */
static void align_measure(align_problem *p, const align_signature *distorted) {
    for (int64_t j = 0; j < p->distorted_count; j++) {
        uint32_t *row = p->distances + j * p->offsets, least = ALIGN_NONE;
        for (int o = 0; o < p->offsets; o++) {
            int64_t k = j + p->first + o;
            row[o] = k < 0 || k >= p->reference_count ? ALIGN_NONE : align_distance(&p->reference[k], &distorted[j]);
            least = row[o] < least ? row[o] : least;
        }
        p->least[j] = least;
    }
}

static int align_compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Returns the median of `least`, or ALIGN_NONE if memory is short. */
static uint32_t align_median_least(const align_problem *p) {
    uint32_t *sorted = (uint32_t *)malloc(sizeof *sorted * (size_t)(p->distorted_count + 1)), median = ALIGN_NONE;
    if (sorted) {
        memcpy(sorted, p->least, sizeof *sorted * (size_t)p->distorted_count);
        qsort(sorted, (size_t)p->distorted_count, sizeof *sorted, align_compare);
        median = sorted[p->distorted_count / 2];
        free(sorted);
    }
    return median;
}

/* Computes the mean and standard deviation of all cells. */
static void align_moments(const align_signature *s, int64_t count, double *mean, double *deviation) {
    double sum = 0, squares = 0, cells = (double)count * ALIGN_CELLS;
    for (int64_t j = 0; j < count; j++) {
        for (int i = 0; i < ALIGN_CELLS; i++) {
            sum += s[j].cells[i];
            squares += (double)s[j].cells[i] * s[j].cells[i];
        }
    }
    *mean = cells > 0 ? sum / cells : 0;
    *deviation = cells > 0 ? sqrt(squares / cells - *mean * *mean > 0 ? squares / cells - *mean * *mean : 0) : 0;
}

/* Returns the signatures of the distorted video, adjusted to the mean and deviation of the reference. This compensates
 * for a different range or contrast. The caller frees the list. Returns NULL if memory is short. */
static align_signature *align_equalise(const align_problem *p) {
    double mean[2], deviation[2];
    align_signature *out = (align_signature *)malloc(sizeof *out * (size_t)(p->distorted_count + 1));
    align_moments(p->reference, p->reference_count, &mean[0], &deviation[0]);
    align_moments(p->distorted, p->distorted_count, &mean[1], &deviation[1]);
    double gain = deviation[1] > 0 ? deviation[0] / deviation[1] : 1;
    gain = gain > 0.5 && gain < 2 ? floor(gain * 1024 + 0.5) / 1024 : 1;
    for (int64_t j = 0; out && j < p->distorted_count; j++) {
        for (int i = 0; i < ALIGN_CELLS; i++) {
            double value = floor((p->distorted[j].cells[i] - mean[1]) * gain + mean[0] + 0.5);
            out[j].cells[i] = (uint16_t)(value < 0 ? 0 : value > 65535 ? 65535 : value);
        }
    }
    return out;
}

/* Computes the distances. Uses equalised signatures if they halve the median. Returns 0 if memory is lacking. */
static int align_measure_best(align_problem *p) {
    align_measure(p, p->distorted);
    uint32_t plain = align_median_least(p), better;
    if (plain < 2)
        return 1;
    align_signature *equal = align_equalise(p);
    if (!equal)
        return 0;
    align_measure(p, equal);
    better = align_median_least(p);
    if (better > plain / 2)
        align_measure(p, p->distorted);
    free(equal);
    return 1;
}

/* ---- the path ---- */

/* Returns the cost of changing the offset before frame j. Frames j - 1 and j each have a smallest distance, and the
 * cost is the larger of the two. Noise alone does not justify a change: noise has components in many directions, and a
 * change follows only one of them, so a change that only fits the noise gains less than it costs. */
static int64_t align_change_cost(const align_problem *p, int64_t j) {
    uint32_t a = p->least[j], b = j > 0 ? p->least[j - 1] : a, most = a > b && a != ALIGN_NONE ? a : b;
    return most == ALIGN_NONE ? (int64_t)p->unmatched : (int64_t)most + 2;
}

/* Returns the cost of offset `o` at frame j. */
static int64_t align_cost(const align_problem *p, int64_t j, int o) {
    uint32_t distance = p->distances[j * p->offsets + o];
    return distance == ALIGN_NONE ? (int64_t)p->unmatched : (int64_t)distance;
}

/* Finds the cheapest path and stores the index of the offset of each frame in `path`. Returns 0 if there is not enough
 * memory. */
static int align_path(const align_problem *p, int *path) {
    int offsets = p->offsets;
    int64_t frames = p->distorted_count;
    uint16_t *from = (uint16_t *)malloc(sizeof *from * (size_t)frames * (size_t)offsets);
    int64_t *cost = (int64_t *)malloc(sizeof *cost * 2 * (size_t)offsets), *next = cost + offsets;
    if (from && cost) {
        for (int o = 0; o < offsets; o++) { /* among paths of equal cost, prefer the one nearest to the middle */
            int distance = o < offsets / 2 ? offsets / 2 - o : o - offsets / 2;
            cost[o] = align_cost(p, 0, o) * 4096 + distance;
        }
        for (int64_t j = 1; j < frames; j++) {
            int64_t change = align_change_cost(p, j) * 4096;
            int lowest = -1; /* the cheapest of the lower offsets */
            for (int o = 0; o < offsets; o++) {
                int best = o;
                int64_t least = cost[o];
                if (lowest >= 0 && cost[lowest] + change < least) {
                    least = cost[lowest] + change;
                    best = lowest;
                }
                if (o + 1 < offsets && cost[o + 1] + change < least) {
                    least = cost[o + 1] + change;
                    best = o + 1;
                }
                next[o] = least + align_cost(p, j, o) * 4096;
                from[j * offsets + o] = (uint16_t)best;
                lowest = lowest < 0 || cost[o] <= cost[lowest] ? o : lowest;
            }
            memcpy(cost, next, sizeof *cost * (size_t)offsets);
        }
        int at = 0;
        for (int o = 1; o < offsets; o++)
            at = cost[o] < cost[at] ? o : at;
        for (int64_t j = frames - 1; j >= 0; j--) {
            path[j] = at;
            at = j > 0 ? from[j * offsets + at] : at;
        }
    }
    int ok = from && cost;
    free(from);
    free(cost);
    return ok;
}

/* ---- ambiguous ranges ---- */

/* Appends a range to a list. Returns 0 if there is not enough memory. */
static int align_add(align_range **list, int *count, align_range range) {
    if ((*count & (*count - 1)) == 0) {
        align_range *larger = (align_range *)realloc(*list, sizeof *larger * (size_t)(*count ? 2 * *count : 1));
        if (!larger)
            return 0;
        *list = larger;
    }
    (*list)[(*count)++] = range;
    return 1;
}

/* Compares two offsets for frames first to last: returns the sum of distances with `wrong` minus the sum with `right`.
 * Only frames that have a counterpart with both offsets are counted. *noise is the mean distance with `right`. */
static int64_t align_gain(const align_problem *p, int64_t first, int64_t last, int right, int wrong, int64_t *noise) {
    int64_t gain = 0, sum = 0, count = 0;
    for (int64_t j = first; j <= last; j++) {
        uint32_t a = p->distances[j * p->offsets + right], b = p->distances[j * p->offsets + wrong];
        if (a != ALIGN_NONE && b != ALIGN_NONE) {
            gain += (int64_t)b - (int64_t)a;
            sum += a;
            count++;
        }
    }
    *noise = count ? sum / count : 0;
    return gain;
}

/* Adds a stretch of frames to `doubts` if another offset fits it about as well, that is, if noise alone could
 * explain the gain of `offset`. Returns 0 if memory is short. */
static int align_check_stretch(const align_problem *p, alignment *a, int64_t first, int64_t last, int offset) {
    int low = offset, high = offset;
    for (int o = 0; o < p->offsets; o++) {
        int64_t noise, gain;
        if (o == offset)
            continue;
        gain = align_gain(p, first, last, offset, o, &noise);
        int overlaps = 0;
        for (int64_t j = first; j <= last && !overlaps; j++) {
            overlaps =
                p->distances[j * p->offsets + o] != ALIGN_NONE && p->distances[j * p->offsets + offset] != ALIGN_NONE;
        }
        if (overlaps && gain <= 3 * noise + 3) {
            low = o < low ? o : low;
            high = o > high ? o : high;
        }
    }
    /* at the first or last offset, an offset outside the search range could fit better */
    int is_last = p->offsets > 1 && (offset == 0 || offset == p->offsets - 1);
    align_range range = { first, last, low + p->first, high + p->first };
    return (low == high && !is_last) || align_add(&a->doubts, &a->doubt_count, range);
}

/* Returns the range of frames in which the offset may actually change. In the path, the offset changes before frame
 * `at`. */
static align_range align_locate(const align_problem *p, int64_t at, int64_t begin, int64_t end, int before, int after) {
    align_range range = { at, at, after - before, 0 };
    int64_t noise;
    while (range.last < end && align_gain(p, at, range.last, after, before, &noise) <= 3 * noise + 3)
        range.last++;
    while (range.first > begin && align_gain(p, range.first - 1, at - 1, before, after, &noise) <= 3 * noise + 3)
        range.first--;
    return range;
}

/* Adds frame j, which is the first or last frame with a counterpart, to `doubts` if it fits far worse than its
 * neighbour `inside`. Returns 0 if memory is short. */
static int align_check_end(const align_problem *p, alignment *a, const int *path, int64_t j, int64_t inside,
                           int64_t outside) {
    if (j < 0 || inside < 0 || inside >= p->distorted_count || outside < 0 || outside >= p->distorted_count)
        return 1;
    uint32_t here = p->distances[j * p->offsets + path[j]], beside = p->distances[inside * p->offsets + path[inside]];
    align_range range = { j, j, path[j] + p->first, path[j] + p->first };
    return here / 2 <= beside + 1 || align_add(&a->doubts, &a->doubt_count, range);
}

/* Checks the first and the last frame with a counterpart. */
static int align_check_ends(const align_problem *p, alignment *a, const int *path) {
    int64_t first = 0, last = p->distorted_count - 1;
    while (first < p->distorted_count && a->match[first] < 0)
        first++;
    while (last >= 0 && a->match[last] < 0)
        last--;
    return last < first || (align_check_end(p, a, path, first, first + 1, first - 1) &&
                            align_check_end(p, a, path, last, last - 1, last + 1));
}

/* Adds to `doubts` each frame that fits a neighbour of its counterpart better than the counterpart itself. Near such a
 * frame, frames may have been repeated or dropped while the picture hardly moved. Returns 0 if memory is short. */
static int align_check_frames(const align_problem *p, alignment *a, const int *path) {
    for (int64_t j = 0; j < p->distorted_count; j++) {
        uint32_t here = p->distances[j * p->offsets + path[j]];
        for (int side = -1; side <= 1 && here != ALIGN_NONE; side += 2) {
            int o = path[j] + side;
            uint32_t there = o >= 0 && o < p->offsets ? p->distances[j * p->offsets + o] : ALIGN_NONE;
            if (there != ALIGN_NONE && there < here) {
                align_range range = { j, j, (o < path[j] ? o : path[j]) + p->first,
                                      (o < path[j] ? path[j] : o) + p->first };
                align_range *last = a->doubt_count ? &a->doubts[a->doubt_count - 1] : NULL;
                if (last && last->last >= j - 1 && last->first <= j) {
                    last->last = j > last->last ? j : last->last;
                    last->low = range.low < last->low ? range.low : last->low;
                    last->high = range.high > last->high ? range.high : last->high;
                } else if (!align_add(&a->doubts, &a->doubt_count, range)) {
                    return 0;
                }
            }
        }
    }
    return 1;
}

/* Converts the path to matches, events and ambiguous stretches. Returns 0 if memory is short. */
static int align_describe(const align_problem *p, alignment *a, const int *path) {
    int64_t frames = p->distorted_count, begin = 0, longest = 0, last = -1, previous = -1;
    for (int64_t j = 0; j < frames; j++) {
        int64_t k = j + p->first + path[j];
        a->match[j] = k < 0 || k >= p->reference_count || k == last ? -1 : k;
        if (k == last && k >= 0 && k < p->reference_count)
            a->repeated++;
        if (a->match[j] >= 0) {
            a->dropped += previous >= 0 ? k - previous - 1 : 0;
            previous = k;
            a->matched++;
        }
        last = k;
    }
    for (int64_t j = 1; j <= frames; j++) {
        if (j < frames && path[j] == path[begin])
            continue;
        if (!align_check_stretch(p, a, begin, j - 1, path[begin]))
            return 0;
        if (j - begin > longest) {
            longest = j - begin;
            a->offset = path[begin] + p->first;
        }
        if (j < frames) {
            int64_t end = j;
            while (end + 1 < frames && path[end + 1] == path[j])
                end++;
            align_range event = align_locate(p, j, begin, end, path[begin], path[j]);
            if (!align_add(&a->events, &a->event_count, event))
                return 0;
        }
        begin = j;
    }
    return 1;
}

void align_free(alignment *a) {
    free(a->match);
    free(a->events);
    free(a->doubts);
    memset(a, 0, sizeof *a);
}

int align_find(alignment *a, const align_signature *reference, int64_t reference_count,
               const align_signature *distorted, int64_t distorted_count, int first, int count) {
    align_problem p = { reference, distorted, reference_count, distorted_count, first, count, NULL, NULL, 0 };
    size_t frames = (size_t)distorted_count;
    memset(a, 0, sizeof *a);
    if ((uint64_t)distorted_count * (uint64_t)count >= SIZE_MAX / sizeof *p.distances)
        return 0;
    int *path = (int *)malloc(sizeof *path * (frames + 1)), ok;
    p.distances = (uint32_t *)malloc(sizeof *p.distances * (frames * (size_t)count + 1));
    p.least = (uint32_t *)malloc(sizeof *p.least * (frames + 1));
    a->match = (int64_t *)malloc(sizeof *a->match * (frames + 1));
    ok = path && p.distances && p.least && a->match && (frames == 0 || align_measure_best(&p));
    if (ok && frames > 0) {
        uint32_t median = align_median_least(&p);
        p.unmatched = median < ALIGN_NONE / 16 ? 4 * median + 4 : ALIGN_NONE / 2;
        ok = align_path(&p, path) && align_describe(&p, a, path) && align_check_frames(&p, a, path) &&
             align_check_ends(&p, a, path);
    }
    for (int i = 0; i < a->event_count; i++)
        a->unsure |= a->events[i].first != a->events[i].last;
    a->unsure |= a->doubt_count > 0 || a->matched == 0;
    free(path);
    free(p.distances);
    free(p.least);
    return ok;
}

/* ---- constant offsets ---- */

/* Returns the mean squared difference of two signatures after subtracting their means. */
static double align_shape_distance(const align_signature *a, const align_signature *b) {
    int64_t sum = 0, squares = 0;
    for (int i = 0; i < ALIGN_CELLS; i++) {
        int64_t difference = (int64_t)a->cells[i] - (int64_t)b->cells[i];
        sum += difference;
        squares += difference * difference;
    }
    return ((double)squares - (double)sum * (double)sum / ALIGN_CELLS) / ALIGN_CELLS;
}

int align_look(const align_signature *reference, int64_t reference_count, const align_signature *distorted,
               int64_t distorted_count, int usual, int most) {
    enum { LEAST_FRAMES = 6 };
    double best_mean = -1, usual_mean = -1, usual_least = 0;
    int best = usual;
    for (int o = usual - most; o <= usual + most; o++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t j = 0; j < distorted_count; j++) {
            if (j + o >= 0 && j + o < reference_count) {
                sum += align_shape_distance(&reference[j + o], &distorted[j]);
                count++;
            }
        }
        double mean = count >= LEAST_FRAMES ? sum / (double)count : -1;
        usual_mean = o == usual ? mean : usual_mean;
        if (mean >= 0 && (best_mean < 0 || mean < best_mean)) {
            best_mean = mean;
            best = o;
        }
    }
    usual_least = 3 * best_mean + 400; /* 400 is the square of 20/256 of an 8-bit step */
    return best_mean >= 0 && usual_mean > usual_least ? best : usual;
}
