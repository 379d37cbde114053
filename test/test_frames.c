/* Tests frame layouts, pitches and sample sizes. Neither the layout of a picture in memory nor the number of threads
 * may change even one bit of any score. Also tests illegal samples, invalid frames, and config.parallel_for. */
#ifndef _WIN32
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <sys/mman.h>
#include <unistd.h>
#endif
#include <limits.h>
#include <pthread.h>
#include "scoring.h"
#ifdef _WIN32
#include <windows.h>
#endif

/* A picture that contains a frame of a film in a different layout. */
typedef struct picture {
    unsigned char *memory;
    size_t size;
    vmafgpu_frame frame;
} picture;

enum { GUARD = 64 };

/* Copies a picture of a film to a different layout. `pitch` is in bytes and may be negative. `offset` is the distance
 * of the first row from an aligned address. Samples are shifted left by `shift`. */
static picture repack(const film *f, int frame, int side, int bytes_per_sample, ptrdiff_t pitch, int offset,
                      int shift) {
    picture p;
    size_t row = (size_t)(pitch < 0 ? -pitch : pitch), height = (size_t)f->clip.height, width = (size_t)f->clip.width;
    uint16_t *samples = (uint16_t *)malloc(width * height * 2);
    memset(&p, 0, sizeof p);
    p.size = row * height + (size_t)offset + 2 * GUARD;
    p.memory = (unsigned char *)malloc(p.size);
    test_need(samples && p.memory && clip_plane(&f->clip, frame, side, 0, samples), "out of memory");
    memset(p.memory, 0xEE, p.size);
    for (size_t i = 0; i < width * height; i++)
        samples[i] = (uint16_t)(samples[i] << shift);
    for (size_t y = 0; y < height; y++) {
        size_t line = pitch < 0 ? height - 1 - y : y;
        clip_store(samples + y * width, width, bytes_per_sample, p.memory + GUARD + (size_t)offset + line * row);
    }
    p.frame.data[0] = p.memory + GUARD + offset + (pitch < 0 ? row * (height - 1) : 0);
    p.frame.pitch[0] = pitch;
    free(samples);
    return p;
}

/* Scores a film in a different layout. Also checks that the library does not change the frames. */
static scores score_repacked(const film *f, const vmafgpu_config *config, ptrdiff_t pitch, int offset, int shift) {
    scores s;
    int bytes_per_sample = config->bytes_per_sample ? config->bytes_per_sample : config->bit_depth > 8 ? 2 : 1;
    vmafgpu *context = open_checked(config);
    memset(&s, 0, sizeof s);
    if (!context)
        return s;
    for (int i = 0; i < f->clip.frames; i++) {
        picture p[2];
        unsigned char *copy;
        for (int side = 0; side < 2; side++)
            p[side] = repack(f, i, side, bytes_per_sample, pitch, offset, shift);
        copy = (unsigned char *)malloc(p[0].size);
        test_need(copy != NULL, "out of memory");
        memcpy(copy, p[0].memory, p[0].size);
        CHECK_INT(vmafgpu_push(context, &p[0].frame, &p[1].frame), VMAFGPU_OK);
        CHECK(memcmp(copy, p[0].memory, p[0].size) == 0);
        free(copy);
        /* the frames are used only during the call; later changes have no effect */
        memset(p[0].memory, 0x11, p[0].size);
        free(p[0].memory);
        free(p[1].memory);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    s = scores_of(context);
    vmafgpu_close(context);
    return s;
}

static void test_pitches(void) {
    static const int depths[] = { 8, 10, 16 };
    for (size_t d = 0; d < 3; d++) {
        film f = film_make("texture+mix", 67, 49, depths[d], 3, 1);
        vmafgpu_config config = film_config(&f);
        scores whole = film_score(&f, &config);
        ptrdiff_t tight = 67 * f.bytes_per_sample;
        const struct {
            ptrdiff_t pitch;
            int offset;
        } ways[] = { { tight, 0 }, { tight, 1 },  { tight + 1, 0 },  { tight + 1, 1 }, { tight + 61, 3 },
                     { 4096, 0 },  { -tight, 0 }, { -tight - 1, 1 }, { -4096, 7 } };
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            scores s;
            snprintf(test_where, sizeof test_where, "depth %d pitch %d offset %d", depths[d], (int)ways[i].pitch,
                     ways[i].offset);
            s = score_repacked(&f, &config, ways[i].pitch, ways[i].offset, 0);
            check_same_scores(&s, &whole);
            scores_free(&s);
        }
        scores_free(&whole);
        film_free(&f);
    }
}

static void test_layouts(void) {
    static const struct {
        const char *name;
        int depth, bytes_per_sample, shift;
        vmafgpu_chroma chroma;
        vmafgpu_layout layout;
    } ways[] = {
        { "nv12", 8, 1, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR },
        { "nv16", 8, 1, 0, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR },
        { "nv24", 8, 1, 0, VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR },
        { "8 bits in words", 8, 2, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR },
        { "nv12 in words", 8, 2, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR },
        { "nv20", 10, 2, 0, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR },
        { "p010", 10, 2, 6, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "p210", 10, 2, 6, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "p410", 10, 2, 6, VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "p012", 12, 2, 4, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "p016", 16, 2, 0, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "8 bits high", 8, 2, 8, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "9 bits high", 9, 2, 7, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "15 bits high", 15, 2, 1, VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH },
        { "4:0:0", 8, 1, 0, VMAFGPU_CHROMA_400, VMAFGPU_LAYOUT_PLANAR },
        { "4:2:2", 12, 2, 0, VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_PLANAR },
        { "4:4:4", 16, 2, 0, VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_PLANAR },
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        film f = film_make("texture+mix", 67, 50, ways[i].depth, 2, 3);
        vmafgpu_config config = film_config(&f);
        scores planar = film_score(&f, &config), s;
        snprintf(test_where, sizeof test_where, "%s", ways[i].name);
        config.bytes_per_sample = ways[i].bytes_per_sample;
        config.chroma = ways[i].chroma;
        config.layout = ways[i].layout;
        s = score_repacked(&f, &config, 160, 0, ways[i].shift);
        check_same_scores(&s, &planar);
        scores_free(&s);
        scores_free(&planar);
        film_free(&f);
    }
}

/* Pushes a pair with an illegal sample at (x, y) of one side. The message must name the side and the position. The
 * rejected pair must not be counted, and the corrected pair must then be accepted. */
static void one_bad_sample(const film *f, const vmafgpu_config *config, const scores *whole, int side, int x, int y,
                           uint16_t bad, int shift) {
    vmafgpu *context = open_checked(config);
    char words[64];
    if (!context)
        return;
    for (int i = 0; i < f->clip.frames; i++) {
        picture p[2];
        vmafgpu_score score;
        for (int s = 0; s < 2; s++)
            p[s] = repack(f, i, s, 2, f->clip.width * 2, 0, shift);
        if (i == 1) {
            unsigned char *at = p[side].memory + GUARD + 2 * (y * f->clip.width + x), keep[2];
            memcpy(keep, at, 2);
            clip_store(&bad, 1, 2, at);
            CHECK_INT(vmafgpu_push(context, &p[0].frame, &p[1].frame), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(context), side ? "distorted" : "reference");
            CHECK_HAS(vmafgpu_last_error(context), "frame 1");
            snprintf(words, sizeof words, "%d", x);
            CHECK_HAS(vmafgpu_last_error(context), words);
            snprintf(words, sizeof words, "%d", y);
            CHECK_HAS(vmafgpu_last_error(context), words);
            CHECK_INT(vmafgpu_score_pair(context, &p[0].frame, &p[1].frame, NULL, &score), VMAFGPU_ERROR_FRAME);
            if (side == 0) {
                CHECK_INT(vmafgpu_push_following(context, &p[0].frame), VMAFGPU_ERROR_FRAME);
                CHECK_INT(vmafgpu_score_pair(context, &p[1].frame, &p[1].frame, &p[0].frame, &score),
                          VMAFGPU_ERROR_FRAME);
            }
            memcpy(at, keep, 2);
        }
        CHECK_INT(vmafgpu_push(context, &p[0].frame, &p[1].frame), VMAFGPU_OK);
        free(p[0].memory);
        free(p[1].memory);
    }
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    {
        scores s = scores_of(context);
        check_same_scores(&s, whole);
        scores_free(&s);
    }
    vmafgpu_close(context);
}

static void test_bad_samples(void) {
    static const struct {
        int depth, high;
        uint16_t bad;
    } ways[] = { { 8, 0, 256 },   { 8, 0, 0xFFFF },  { 8, 1, 1 },     { 9, 0, 512 },
                 { 10, 0, 1024 }, { 10, 0, 0x8000 }, { 12, 0, 4096 }, { 15, 0, 0x8000 },
                 { 10, 1, 1 },    { 10, 1, 0xFFFF }, { 12, 1, 8 },    { 15, 1, 1 } };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        film f = film_make("texture+mix", 53, 37, ways[i].depth, 3, 4);
        vmafgpu_config config = film_config(&f);
        scores whole = film_score(&f, &config);
        int shift = ways[i].high ? 16 - ways[i].depth : 0;
        config.bytes_per_sample = 2;
        config.layout = ways[i].high ? VMAFGPU_LAYOUT_SEMIPLANAR_HIGH : VMAFGPU_LAYOUT_PLANAR;
        for (int side = 0; side < 2; side++) {
            static const int at[][2] = { { 0, 0 }, { 52, 36 }, { 0, 36 }, { 52, 0 }, { 31, 17 } };
            for (size_t k = 0; k < sizeof at / sizeof at[0]; k++) {
                snprintf(test_where, sizeof test_where, "depth %d%s sample %d side %d at %d,%d", ways[i].depth,
                         ways[i].high ? " high" : "", ways[i].bad, side, at[k][0], at[k][1]);
                one_bad_sample(&f, &config, &whole, side, at[k][0], at[k][1], ways[i].bad, shift);
            }
        }
        scores_free(&whole);
        film_free(&f);
    }
}

/* Returns the word whose bytes are those of a sample in a frame, which are little-endian. */
static uint16_t word_of(unsigned sample) {
    const unsigned char bytes[2] = { (unsigned char)(sample & 255), (unsigned char)(sample >> 8) };
    uint16_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Tests chroma samples above the bit depth: the message names the plane and the first such sample. Samples that are
 * half outside a frame of odd size are not used. */
static void test_bad_chroma(void) {
    enum { WIDTH = 21, HEIGHT = 19, WIDE = 11, HIGH = 10 };
    static uint16_t luma[WIDTH * HEIGHT], chroma[2][2][WIDTH * HEIGHT]; /* of the reference and the distorted frame */
    static const vmafgpu_layout layouts[] = { VMAFGPU_LAYOUT_PLANAR, VMAFGPU_LAYOUT_SEMIPLANAR,
                                              VMAFGPU_LAYOUT_SEMIPLANAR_HIGH };
    static const struct {
        int x, y, is_used;
    } at[] = { { 0, 0, 1 }, { 9, 8, 1 }, { 4, 3, 1 }, { WIDE - 1, 0, 0 }, { 0, HIGH - 1, 0 } };
    vmafgpu_feature_config feature;
    memset(&feature, 0, sizeof feature);
    feature.name = "psnr";
    for (int i = 0; i < 3 * 2 * 2 * 5; i++) {
        const int k = i % 5, side = i / 5 % 2, plane = i / 10 % 2, layout = i / 20, interleaved = layout > 0;
        const int shift = layout == 2 ? 6 : 0;
        vmafgpu_config config;
        vmafgpu_frame frames[2];
        char words[128];
        vmafgpu *v;
        memset(&config, 0, sizeof config);
        memset(frames, 0, sizeof frames);
        config.width = WIDTH;
        config.height = HEIGHT;
        config.bit_depth = 10;
        config.layout = layouts[layout];
        config.features = &feature;
        config.feature_count = config.features_only = 1;
        config.backend = VMAFGPU_BACKEND_CPU;
        for (int n = 0; n < WIDTH * HEIGHT; n++) {
            luma[n] = word_of((clip_hash((uint32_t)n, 1, 2) & 1023) << shift);
            for (int s = 0; s < 4; s++)
                chroma[s / 2][s % 2][n] = word_of((clip_hash((uint32_t)n, (uint32_t)s, 3) & 1023) << shift);
        }
        for (int s = 0; s < 2; s++) {
            frames[s].data[0] = luma;
            frames[s].data[1] = chroma[s][0];
            frames[s].data[2] = interleaved ? NULL : chroma[s][1];
        }
        snprintf(test_where, sizeof test_where, "bad chroma, layout %d, plane %d, side %d, column %d, row %d", layout,
                 plane, side, at[k].x, at[k].y);
        uint16_t *bad = interleaved ? &chroma[side][0][(at[k].y * WIDE + at[k].x) * 2 + plane]
                                    : &chroma[side][plane][at[k].y * WIDE + at[k].x];
        const int value = layout == 2 ? 33 : 1025;
        *bad = word_of((unsigned)value);
        snprintf(words, sizeof words, "%s: chroma %c sample %s 10 bits (word %d at column %d, row %d)",
                 side ? "distorted" : "reference", plane ? 'v' : 'u',
                 layout == 2 ? "has low bits set outside its" : "exceeds", value, at[k].x, at[k].y);
        v = open_checked(&config);
        if (at[k].is_used) {
            CHECK_INT(vmafgpu_push(v, &frames[0], &frames[1]), VMAFGPU_ERROR_FRAME);
            CHECK_HAS(vmafgpu_last_error(v), words);
            *bad = word_of(64);
        }
        CHECK_INT(vmafgpu_push(v, &frames[0], &frames[1]), VMAFGPU_OK);
        vmafgpu_close(v);
    }
}

static void test_bad_frames(void) {
    film f = film_make("texture+mix", 32, 24, 8, 2, 4);
    vmafgpu_config config = film_config(&f);
    vmafgpu *context = open_checked(&config);
    vmafgpu_frame good = film_frame(&f, 0, 0), empty, narrow = good;
    vmafgpu_score score;
    snprintf(test_where, sizeof test_where, "bad frames");
    memset(&empty, 0, sizeof empty);
    narrow.pitch[0] = 31;
    CHECK_INT(vmafgpu_push(context, NULL, &good), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "reference");
    CHECK_INT(vmafgpu_push(context, &good, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "distorted");
    CHECK_INT(vmafgpu_push(context, &empty, &good), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "data[0]");
    CHECK_INT(vmafgpu_push(context, &good, &empty), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push(context, &narrow, &good), VMAFGPU_ERROR_ARGUMENT);
    CHECK_HAS(vmafgpu_last_error(context), "pitch[0]");
    narrow.pitch[0] = -31;
    CHECK_INT(vmafgpu_push(context, &good, &narrow), VMAFGPU_ERROR_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        static const ptrdiff_t far_apart[] = { PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 24 + 1, -PTRDIFF_MAX / 24 - 1 };
        narrow.pitch[0] = far_apart[i];
        CHECK_INT(vmafgpu_push(context, &good, &narrow), VMAFGPU_ERROR_ARGUMENT);
        CHECK_HAS(vmafgpu_last_error(context), "distorted.pitch[0]");
        CHECK_HAS(vmafgpu_last_error(context), "24 rows");
        CHECK_INT(vmafgpu_score_pair(context, &good, &good, &narrow, &score), VMAFGPU_ERROR_ARGUMENT);
    }
    CHECK_INT(vmafgpu_push_preceding(context, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push_preceding(context, &empty), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_score_pair(context, &good, NULL, NULL, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_score_pair(context, &good, &good, &empty, &score), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_score_pair(context, &good, &good, NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_push(context, &good, &good), VMAFGPU_OK);
    CHECK_INT(vmafgpu_push_following(context, NULL), VMAFGPU_ERROR_ARGUMENT);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    CHECK_INT(vmafgpu_score_count(context), 1);
    vmafgpu_close(context);
    film_free(&f);
}

/* ---- threads ---- */

typedef struct pool_log {
    int calls, most;
} pool_log;

/* A config.parallel_for that runs the tasks in reverse order on the calling thread. */
static void backwards(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    pool_log *log = (pool_log *)user;
    log->calls++;
    log->most = count > log->most ? count : log->most;
    for (int i = count - 1; i >= 0; i--)
        task(arg, i);
}

typedef struct job {
    void (*task)(void *arg, int index);
    void *arg;
    int index;
} job;

static void *run_job(void *user) {
    job *j = (job *)user;
    j->task(j->arg, j->index);
    return NULL;
}

/* A config.parallel_for that runs each task in a separate thread. */
static void all_at_once(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    pthread_t threads[256];
    job jobs[256];
    (void)user;
    for (int i = 0; i < count; i++) {
        jobs[i].task = task;
        jobs[i].arg = arg;
        jobs[i].index = i;
        test_need(pthread_create(&threads[i], NULL, run_job, &jobs[i]) == 0, "cannot start a thread");
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* Invalid implementations of config.parallel_for: one skips a task, the others run a task more than once. */
static void leave_one_out(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    (void)user;
    for (int i = 0; i + 1 < count; i++)
        task(arg, i);
}

static void one_twice(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    backwards(user, count, task, arg);
    task(arg, 0);
}

/* Runs a task so often that an 8-bit counter of its calls would wrap to 1. */
static void many_times(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    backwards(user, count, task, arg);
    for (int i = 0; i < 256; i++)
        task(arg, 0);
}

static void test_bad_parallel_for(void) {
    static vmafgpu_parallel_for *const functions[] = { leave_one_out, one_twice, many_times };
    film f = film_make("texture+mix", 64, 48, 8, 2, 6);
    vmafgpu_config config = film_config(&f);
    pool_log log = { 0, 0 };
    vmafgpu *context;
    config.parallel_for_user = &log;
    for (int i = 0; i < 3; i++) {
        snprintf(test_where, sizeof test_where, "bad parallel_for %d", i);
        config.parallel_for = functions[i];
        config.threads = 3;
        context = open_checked(&config);
        CHECK_INT(film_push(&f, context, 0), VMAFGPU_ERROR_SYSTEM);
        CHECK(strstr(vmafgpu_last_error(context), "parallel_for") != NULL);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        CHECK_INT(vmafgpu_score_count(context), 0);
        vmafgpu_close(context);
        config.threads = 1; /* a single task does not use parallel_for */
        context = open_checked(&config);
        CHECK_INT(film_push(&f, context, 0), VMAFGPU_OK);
        vmafgpu_close(context);
    }
    film_free(&f);
}

/* Calls task() with out-of-range indices before it calls task() with the valid ones. */
static void beyond_count(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    task(arg, INT_MAX);
    task(arg, INT_MIN);
    task(arg, -1);
    for (int i = count + 300; i >= 0; i--)
        task(arg, i);
    backwards(user, 0, task, arg);
}

/* An allocator that puts bytes of a known value around each block, and checks these bytes when the block is freed. */
typedef struct guards {
    int allocations, broken;
} guards;

enum { GUARD_SIZE = 1 << 20, GUARD_BYTE = 0xa5 };

static void *guarded_alloc(void *user, size_t size) {
    guards *w = (guards *)user;
    unsigned char *start = (unsigned char *)malloc(size + 2 * (size_t)GUARD_SIZE);
    if (!start)
        return NULL;
    memset(start, GUARD_BYTE, size + 2 * (size_t)GUARD_SIZE);
    memcpy(start, &size, sizeof size);
    w->allocations++;
    return start + GUARD_SIZE;
}

static void guarded_free(void *user, void *pointer) {
    guards *w = (guards *)user;
    unsigned char *start = (unsigned char *)pointer - GUARD_SIZE;
    size_t size, broken = 0;
    memcpy(&size, start, sizeof size);
    for (size_t i = sizeof size; i < GUARD_SIZE; i++)
        broken += start[i] != GUARD_BYTE;
    for (size_t i = 0; i < GUARD_SIZE; i++)
        broken += start[GUARD_SIZE + size + i] != GUARD_BYTE;
    w->broken += broken > 0;
    free(start);
}

/* Tests that a task with an index outside the range does nothing. If it did anything, it would write past the end
 * of the memory that belongs to the threads. */
static void test_beyond_count(void) {
    static const char *const names[] = { "psnr",         "float_ssim",   "float_adm", "float_vif",
                                         "float_motion", "float_ansnr",  "ciede",     "psnr_hvs",
                                         "cambi",        "speed_chroma", NULL };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        film f = film_make_colour("texture+mix", 320, 240, 8, 420, 2, 6);
        vmafgpu_config config = film_config(&f);
        vmafgpu_feature_config feature;
        guards g = { 0, 0 };
        pool_log log = { 0, 0 };
        scores one, s;
        memset(&feature, 0, sizeof feature);
        feature.name = names[i];
        snprintf(test_where, sizeof test_where, "tasks beyond the count, %s", names[i] ? names[i] : "the model");
        config.backend = VMAFGPU_BACKEND_CPU;
        config.features = names[i] ? &feature : NULL;
        config.feature_count = names[i] != NULL;
        config.features_only = names[i] != NULL;
        one = film_score(&f, &config);
        config.threads = 4;
        config.parallel_for = beyond_count;
        config.parallel_for_user = &log;
        config.allocator.allocate = guarded_alloc;
        config.allocator.release = guarded_free;
        config.allocator.user = &g;
        s = film_score(&f, &config);
        check_same_scores(&s, &one);
        CHECK(log.calls > 0);
        CHECK(g.allocations > 0);
        CHECK_INT(g.broken, 0);
        scores_free(&s);
        scores_free(&one);
        film_free(&f);
    }
}

static void test_threads(void) {
    static const int sizes[][3] = { { 16, 16, 8 }, { 17, 33, 10 }, { 64, 48, 8 }, { 333, 217, 8 }, { 35, 300, 16 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        film f = film_make("texture+mix", sizes[i][0], sizes[i][1], sizes[i][2], 3, 6);
        vmafgpu_config config = film_config(&f);
        scores one = film_score(&f, &config);
        for (int threads = 2; threads <= 8; threads++) {
            scores s;
            snprintf(test_where, sizeof test_where, "%dx%d threads %d", sizes[i][0], sizes[i][1], threads);
            config.threads = threads;
            s = film_score(&f, &config);
            check_same_scores(&s, &one);
            scores_free(&s);
            if (threads % 3 == 0) {
                pool_log log = { 0, 0 };
                config.parallel_for = backwards;
                config.parallel_for_user = &log;
                s = film_score(&f, &config);
                check_same_scores(&s, &one);
                scores_free(&s);
                CHECK(log.calls > 0);
                CHECK(log.most <= threads);
                config.parallel_for = all_at_once;
                s = film_score(&f, &config);
                check_same_scores(&s, &one);
                scores_free(&s);
                config.parallel_for = NULL;
            }
        }
        scores_free(&one);
        film_free(&f);
    }
}

/* ---- frames in one buffer ---- */

static void test_one_buffer(void) {
    static const struct {
        const char *name;
        vmafgpu_chroma chroma;
        vmafgpu_layout layout;
        int width, height, depth, bytes_per_sample;
        ptrdiff_t pitch, chroma_pitch;
        size_t u, v, size; /* offsets of the chroma planes, 0 if there is no such plane; size of the buffer */
    } ways[] = {
        { "I420", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 64, 48, 0, 0, 0, 32, 3072, 3840, 4608 },
        { "I420, odd", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 67, 49, 8, 0, 0, 34, 3283, 4133, 4983 },
        { "I420, pitch", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 67, 49, 8, 0, 128, 64, 6272, 7872, 9472 },
        { "I420, odd pitch", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 64, 48, 8, 0, 65, 33, 3120, 3912, 4704 },
        { "NV12", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 64, 48, 8, 0, 0, 64, 3072, 0, 4608 },
        { "NV12, odd", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 67, 49, 8, 0, 0, 68, 3283, 0, 4983 },
        { "NV12, pitch", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR, 67, 49, 8, 0, 128, 128, 6272, 0, 9472 },
        { "I010", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_PLANAR, 67, 49, 10, 0, 0, 68, 6566, 8266, 9966 },
        { "P010", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 67, 49, 10, 0, 0, 136, 6566, 0, 9966 },
        { "P010, pitch", VMAFGPU_CHROMA_420, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH, 67, 49, 10, 0, 256, 256, 12544, 0, 18944 },
        { "I422", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_PLANAR, 67, 49, 8, 0, 0, 34, 3283, 4949, 6615 },
        { "NV16", VMAFGPU_CHROMA_422, VMAFGPU_LAYOUT_SEMIPLANAR, 66, 49, 8, 0, 0, 66, 3234, 0, 6468 },
        { "I444", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_PLANAR, 67, 49, 12, 2, 0, 134, 6566, 13132, 19698 },
        { "NV24", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_SEMIPLANAR, 67, 49, 8, 0, 0, 134, 3283, 0, 9849 },
        { "8 bits in words", VMAFGPU_CHROMA_444, VMAFGPU_LAYOUT_PLANAR, 64, 48, 8, 2, 0, 128, 6144, 12288, 18432 },
        { "grey", VMAFGPU_CHROMA_400, VMAFGPU_LAYOUT_PLANAR, 67, 49, 8, 0, 0, 0, 0, 0, 3283 },
    };
    static const unsigned char buffer[20000];
    vmafgpu_config config = VMAFGPU_INIT;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        vmafgpu_frame frame;
        snprintf(test_where, sizeof test_where, "one buffer, %s", ways[i].name);
        config.chroma = ways[i].chroma;
        config.layout = ways[i].layout;
        config.width = ways[i].width;
        config.height = ways[i].height;
        config.bit_depth = ways[i].depth;
        config.bytes_per_sample = ways[i].bytes_per_sample;
        frame = vmafgpu_frame_of(&config, buffer, ways[i].pitch);
        CHECK(frame.data[0] == buffer);
        CHECK_INT(frame.memory, VMAFGPU_MEMORY_HOST);
        CHECK(frame.data[1] == (ways[i].u ? buffer + ways[i].u : NULL));
        CHECK(frame.data[2] == (ways[i].v ? buffer + ways[i].v : NULL));
        CHECK_INT(frame.pitch[0], ways[i].pitch
                                      ? ways[i].pitch
                                      : ways[i].width * (ways[i].depth > 8 || ways[i].bytes_per_sample == 2 ? 2 : 1));
        CHECK_INT(frame.pitch[1], ways[i].chroma_pitch);
        CHECK_INT(frame.pitch[2], ways[i].v ? ways[i].chroma_pitch : 0);
        CHECK_INT(vmafgpu_frame_size(&config, ways[i].pitch), ways[i].size);
    }
    snprintf(test_where, sizeof test_where, "invalid buffer");
    for (int i = 0; i < 6; i++) {
        static const struct {
            int width, height, bytes_per_sample;
            ptrdiff_t pitch;
        } none[] = { { 0, 48, 0, 0 },   { 64, 16385, 0, 0 }, { 64, 48, 3, 0 },
                     { 64, 48, 0, 63 }, { 64, 48, 0, -64 },  { 64, 48, 0, PTRDIFF_MAX } };
        memset(&config, 0, sizeof config);
        config.width = none[i].width;
        config.height = none[i].height;
        config.bytes_per_sample = none[i].bytes_per_sample;
        CHECK(vmafgpu_frame_of(&config, buffer, none[i].pitch).data[0] == NULL);
        CHECK_INT(vmafgpu_frame_size(&config, none[i].pitch), 0);
    }
    CHECK(vmafgpu_frame_of(NULL, buffer, 0).data[0] == NULL);
    CHECK_INT(vmafgpu_frame_size(NULL, 0), 0);
    /* This is the largest frame. */
    config.width = config.height = 16384;
    config.bytes_per_sample = 2;
    config.chroma = VMAFGPU_CHROMA_444;
    CHECK_INT(vmafgpu_frame_size(&config, 0), 1610612736);
    /* A frame in one buffer must get the same score as a frame with separate planes. */
    {
        film f = film_make_colour("bands+mix", 217, 181, 8, 420, 1, 3);
        const vmafgpu_feature_config chroma = { "speed_chroma", NULL };
        vmafgpu_config own = film_config(&f);
        unsigned char *planes[2];
        scores whole, s;
        vmafgpu *context;
        vmafgpu_frame frames[2];
        own.features = &chroma;
        own.feature_count = 1;
        whole = film_score(&f, &own);
        context = open_checked(&own);
        for (int side = 0; side < 2; side++) {
            const vmafgpu_frame from = film_frame(&f, 0, side);
            planes[side] = (unsigned char *)malloc(vmafgpu_frame_size(&own, 0));
            test_need(planes[side] != NULL, "out of memory");
            CHECK_INT(vmafgpu_frame_size(&own, 0), f.plane_bytes + 2 * f.chroma_bytes);
            memcpy(planes[side], from.data[0], f.plane_bytes);
            memcpy(planes[side] + f.plane_bytes, from.data[1], f.chroma_bytes);
            memcpy(planes[side] + f.plane_bytes + f.chroma_bytes, from.data[2], f.chroma_bytes);
            frames[side] = vmafgpu_frame_of(vmafgpu_get_config(context), planes[side], 0);
        }
        CHECK_INT(vmafgpu_push(context, &frames[0], &frames[1]), VMAFGPU_OK);
        CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        s = scores_of(context);
        check_same_scores(&s, &whole);
        scores_free(&s);
        scores_free(&whole);
        vmafgpu_close(context);
        free(planes[0]);
        free(planes[1]);
        film_free(&f);
    }
}

/* ---- only samples are read ---- */

/* Rows of bytes. Each row has its own pages. The pages between the rows are inaccessible. */
typedef struct fence {
    unsigned char *memory;
    /* step: distance between rows; slack: distance from the start of a row's first page to the row */
    size_t size, step, row, slack;
} fence;

static size_t page_size(void) {
#ifdef _WIN32
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
#else
    return (size_t)sysconf(_SC_PAGESIZE);
#endif
}

/* Allocates rows. Each row ends at the end of its pages if at_end is set, otherwise it begins at their start. */
static fence fence_make(size_t row, size_t rows, int at_end) {
    const size_t page = page_size(), open = (row + page - 1) / page * page;
    fence f;
    f.row = row;
    f.slack = at_end ? open - row : 0;
    f.step = open + page;
    f.size = f.step * rows + page;
#ifdef _WIN32
    f.memory = (unsigned char *)VirtualAlloc(NULL, f.size, MEM_COMMIT | MEM_RESERVE, PAGE_NOACCESS);
    test_need(f.memory != NULL, "out of memory");
#else
    f.memory = (unsigned char *)mmap(NULL, f.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    test_need(f.memory != (unsigned char *)MAP_FAILED, "out of memory");
#endif
    for (size_t y = 0; y < rows; y++) {
        unsigned char *pages = f.memory + page + y * f.step;
#ifdef _WIN32
        DWORD was;
        test_need(VirtualProtect(pages, open, PAGE_READWRITE, &was), "VirtualProtect failed");
#else
        test_need(mprotect(pages, open, PROT_READ | PROT_WRITE) == 0, "mprotect failed");
#endif
        memset(pages, 0xEE, open);
    }
    return f;
}

static unsigned char *fence_row(const fence *f, size_t y) {
    return f->memory + page_size() + y * f->step + f->slack;
}

static void fence_free(fence *f) {
    if (f->memory) {
#ifdef _WIN32
        VirtualFree(f->memory, 0, MEM_RELEASE);
#else
        munmap(f->memory, f->size);
#endif
    }
    f->memory = NULL;
}

typedef struct fenced {
    fence planes[3];
    vmafgpu_frame frame;
} fenced;

static fenced fenced_make(const film *f, const vmafgpu_config *c, int index, int side, int at_end, int upside_down) {
    const int interleaved = c->layout != VMAFGPU_LAYOUT_PLANAR, bytes = c->bytes_per_sample;
    const int shift = c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 16 - c->bit_depth : 0;
    const vmafgpu_frame from = film_frame(f, index, side);
    fenced p;
    memset(&p, 0, sizeof p);
    for (int plane = 0; plane < 3 && from.data[plane]; plane++) {
        const int w = clip_plane_width(&f->clip, plane), h = clip_plane_height(&f->clip, plane);
        const int target = interleaved && plane ? 1 : plane, each = interleaved && plane ? 2 : 1;
        fence *to = &p.planes[target];
        if (!to->memory)
            *to = fence_make((size_t)(w * bytes * each), (size_t)h, at_end);
        for (int y = 0; y < h; y++) {
            unsigned char *row = fence_row(to, (size_t)(upside_down ? h - 1 - y : y));
            for (int x = 0; x < w; x++) {
                const unsigned char *in =
                    (const unsigned char *)from.data[plane] + (size_t)(y * w + x) * (size_t)f->bytes_per_sample;
                uint16_t value = (uint16_t)(f->bytes_per_sample == 2 ? in[0] | in[1] << 8 : in[0]);
                value = (uint16_t)(value << shift);
                clip_store(&value, 1, bytes, row + (x * each + (interleaved && plane == 2)) * bytes);
            }
        }
        p.frame.data[target] = fence_row(to, upside_down ? (size_t)(h - 1) : 0);
        p.frame.pitch[target] = upside_down ? -(ptrdiff_t)to->step : (ptrdiff_t)to->step;
    }
    return p;
}

static void fenced_free(fenced *p) {
    for (int i = 0; i < 3; i++)
        fence_free(&p->planes[i]);
}

/* Passes frames between guard pages to all calls that accept frames, with all instruction sets. A read outside a row
 * crashes. */
static void test_guard_pages(void) {
    /* clang-format off */
    static const vmafgpu_feature_config all[] = {
        {"cambi", "full_ref=true"}, {"cambi", "enc_width=216:enc_height=160:topk=0.3"}, {"speed_chroma", NULL},
        {"speed_chroma", "speed_prescale=0.9:speed_prescale_method=bilinear"},
        {"motion", "motion_five_frame_window=true"}};
    static const struct {
        int            width, height, depth, chroma, bytes_per_sample;
        vmafgpu_layout layout;
    } ways[] = {
        {16, 17, 8, 0, 1, VMAFGPU_LAYOUT_PLANAR},       {16, 16, 12, 0, 2, VMAFGPU_LAYOUT_PLANAR},
        {33, 30, 10, 0, 2, VMAFGPU_LAYOUT_PLANAR},      {67, 49, 12, 0, 2, VMAFGPU_LAYOUT_PLANAR},
        {70, 35, 16, 0, 2, VMAFGPU_LAYOUT_PLANAR},      {97, 40, 8, 0, 1, VMAFGPU_LAYOUT_PLANAR},
        {95, 40, 8, 0, 2, VMAFGPU_LAYOUT_PLANAR},       {81, 40, 10, 0, 2, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH},
        {219, 181, 8, 420, 1, VMAFGPU_LAYOUT_PLANAR},   {217, 183, 8, 420, 1, VMAFGPU_LAYOUT_SEMIPLANAR},
        {221, 184, 10, 420, 2, VMAFGPU_LAYOUT_SEMIPLANAR_HIGH}, {223, 96, 12, 444, 2, VMAFGPU_LAYOUT_SEMIPLANAR},
        {225, 95, 16, 444, 2, VMAFGPU_LAYOUT_PLANAR},   {227, 98, 8, 422, 2, VMAFGPU_LAYOUT_PLANAR},
    };
    /* clang-format on */
    static const struct {
        unsigned mask; /* cpumask; 25 allows plain C only */
        int threads, at_end, upside_down;
    } runs[] = { { 0, 1, 1, 0 }, { 0, 3, 0, 1 }, { 16, 1, 1, 1 }, { 16, 1, 0, 0 }, { 25, 1, 1, 0 }, { 25, 2, 0, 0 } };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        film f = ways[i].chroma
                     ? film_make_colour("bands+mix", ways[i].width, ways[i].height, ways[i].depth, ways[i].chroma, 3, 5)
                     : film_make("noise+mix", ways[i].width, ways[i].height, ways[i].depth, 3, 5);
        vmafgpu_config config = film_config(&f);
        scores whole;
        config.backend = VMAFGPU_BACKEND_CPU;
        config.features = all;
        config.feature_count = ways[i].chroma ? 5 : 0;
        whole = film_score(&f, &config);
        config.bytes_per_sample = ways[i].bytes_per_sample;
        config.layout = ways[i].layout;
        config.contexts_per_pass = 2;
        for (size_t k = 0; k < sizeof runs / sizeof runs[0]; k++) {
            vmafgpu *contexts[2];
            scores s;
            snprintf(test_where, sizeof test_where, "guard pages, %dx%d, %d bits, layout %d, cpumask %u, %s%s",
                     ways[i].width, ways[i].height, ways[i].depth, (int)ways[i].layout, runs[k].mask,
                     runs[k].at_end ? "end" : "beginning", runs[k].upside_down ? ", upside down" : "");
            config.cpumask = runs[k].mask;
            config.threads = runs[k].threads;
            contexts[0] = open_checked(&config);
            contexts[1] = open_checked(&config);
            test_need(contexts[0] && contexts[1], "contexts");
            for (int frame = 0; frame < 3; frame++) {
                fenced p[2];
                vmafgpu_frame distorted[2];
                vmafgpu_score score;
                for (int side = 0; side < 2; side++)
                    p[side] = fenced_make(&f, &config, frame, side, runs[k].at_end, runs[k].upside_down);
                distorted[0] = distorted[1] = p[1].frame;
                CHECK_INT(vmafgpu_score_pair(contexts[0], &p[0].frame, &p[1].frame, &p[1].frame, &score), VMAFGPU_OK);
                if (frame < 2)
                    CHECK_INT(vmafgpu_push_many(contexts, 2, &p[0].frame, distorted, NULL), VMAFGPU_OK);
                else
                    CHECK_INT(vmafgpu_push(contexts[0], &p[0].frame, &p[1].frame), VMAFGPU_OK);
                fenced_free(&p[0]);
                fenced_free(&p[1]);
            }
            CHECK_INT(vmafgpu_flush(contexts[0]), VMAFGPU_OK);
            s = scores_of(contexts[0]);
            check_same_scores(&s, &whole);
            scores_free(&s);
            vmafgpu_close(contexts[0]);
            vmafgpu_close(contexts[1]);
        }
        scores_free(&whole);
        film_free(&f);
    }
}

int main(void) {
    test_pitches();
    test_one_buffer();
    test_guard_pages();
    test_layouts();
    test_bad_samples();
    test_bad_chroma();
    test_bad_frames();
    test_bad_parallel_for();
    test_beyond_count();
    test_threads();
    return test_end();
}
