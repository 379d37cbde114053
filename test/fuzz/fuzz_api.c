/* Runs random sequences of API calls. A plain context (CPU, plain C, one thread, one pair at a time) scores the same
 * frames. Every value, index, result and number of reusable pairs must be the same in both contexts, bit for bit.
 * Invalid calls must fail with the right code and a message, and must change nothing.
 *
 *     fuzz_api [--seed N] [--first N] [--runs N] [--seconds N] [--only N]
 *              [--driver PATH --kernels PATH --backend cuda|hip] [--no-faults]
 *
 * A run is one sequence of calls, from opening a context to closing it. A run depends only on the seed and its number,
 * so `--only N` repeats run N, and prints its calls. Without --seed, the seed is the time; it is printed. The driver
 * must be a simulated one (test/simulated), because the program makes driver calls fail and loses devices. With a
 * driver, frames can be in pinned memory, device memory and surfaces. */
#define TEST_STATE static
#include "../gpu/gpu.h"
#include "../json.h"
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { PICTURES = 5, PLANES = 3, MOST_PAIRS = 90, MOST_COLUMNS = 256, MOST_LENT = 12, MOST_KEPT = 48, MOST_ASKED = 32 };
enum { MOST_CANDIDATES = 4, MOST_EDITS = 10, MOST_CLIPS = 3, CAMBI_SCALES = 5, REFERENCE = 0, DISTORTED = 1 };

/* ---- counts and options ---- */

static struct {
    long runs, calls, opens, refused_opens, on_gpu, pushes, pairs, singles, tried, edits, maps, slopes, acquired_pairs,
        refused, faults, lost;
} total;

static struct {
    uint64_t seed;
    long first, runs, seconds, only;
    const char *driver, *kernels, *backend;
    int no_faults;
} options;

static gpu the_gpu;
static int has_gpu;

/* ---- random numbers ---- */

static uint64_t random_state;

static uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

/* Seeds the random numbers of a call. They depend only on the run and the call, not on timing. */
static void random_begin(uint64_t run, uint64_t call) {
    random_state = mix(options.seed + mix(run + mix(call + 1)));
}

/* Returns a random number from 0 to count - 1; 0 if count is 0. */
static int draw(int count) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return count > 0 ? (int)((random_state >> 33) % (uint64_t)count) : 0;
}

static int between(int low, int high) {
    return low + draw(high - low + 1);
}

static int one_in(int count) {
    return draw(count) == 0;
}

#define PICK(list) ((list)[draw((int)(sizeof(list) / sizeof *(list)))])

/* ---- pictures: the content of frames ---- */

static struct {
    int width, height, depth;
    vmafgpu_chroma chroma;
    uint32_t seed;
    uint16_t *samples[PICTURES][2][PLANES];
} content;

/* The content of a frame: a picture in the format of the config, or in RGB. */
typedef struct image {
    int picture, side;
    vmafgpu_pixels pixels;
    const uint16_t *luma; /* if not NULL, replaces the luma of the picture */
    int is_illegal;       /* one sample exceeds the bit depth */
} image;

static int plane_width(int plane) {
    return plane == 0 || content.chroma == VMAFGPU_CHROMA_444 ? content.width
           : content.chroma == VMAFGPU_CHROMA_400             ? 0
                                                              : (content.width + 1) / 2;
}

static int plane_height(int plane) {
    return plane == 0 || content.chroma == VMAFGPU_CHROMA_444 || content.chroma == VMAFGPU_CHROMA_422 ? content.height
           : content.chroma == VMAFGPU_CHROMA_400                                                     ? 0
                                                  : (content.height + 1) / 2;
}

static size_t plane_samples(int plane) {
    return (size_t)plane_width(plane) * (size_t)plane_height(plane);
}

static int content_sample(int kind, int x, int y, int shift, int top) {
    switch (kind) {
    case 0: return draw(top + 1);
    case 1: return top / 2;
    case 2: return ((x ^ y) >> 2 & 1) * top;
    case 3: return draw(2) * top;
    case 4: return (x * 7 + y * 3 + shift) % (top + 1);
    case 5: return (x + shift) % 17 == 0 && y % 13 == 0 ? top : top / 8;
    default: return top / 2 + (((x + shift) * (y + 2 * shift)) % 23 - 11) * top / 40;
    }
}

static void content_fill(int picture, int plane, int kind, int amplitude) {
    const int top = (1 << content.depth) - 1, w = plane_width(plane);
    for (size_t i = 0; i < plane_samples(plane); i++) {
        const int v = content_sample(kind, (int)i % w, (int)i / w, picture * 5, top);
        const int d = v + (amplitude ? draw(2 * amplitude + 1) - amplitude : 0);
        content.samples[picture][REFERENCE][plane][i] = (uint16_t)v;
        content.samples[picture][DISTORTED][plane][i] = (uint16_t)(d < 0 ? 0 : d > top ? top : d);
    }
}

static void content_make(const vmafgpu_config *config) {
    const int top = (1 << config->bit_depth) - 1;
    content.width = config->width;
    content.height = config->height;
    content.depth = config->bit_depth;
    content.chroma = config->chroma;
    content.seed = (uint32_t)random_state;
    for (int picture = 0; picture < PICTURES; picture++) {
        const int kind = draw(8), amplitude = one_in(4) ? 0 : 1 + draw(top / (1 + draw(30)));
        for (int plane = 0; plane < PLANES; plane++) {
            for (int side = 0; side < 2; side++) {
                content.samples[picture][side][plane] = (uint16_t *)malloc(2 * plane_samples(plane) + 2);
                test_need(content.samples[picture][side][plane] != NULL, "out of memory");
            }
            content_fill(picture, plane, kind, amplitude);
        }
    }
}

static void content_free(void) {
    for (int i = 0; i < PICTURES * 2 * PLANES; i++)
        free(content.samples[i / (2 * PLANES)][i / PLANES % 2][i % PLANES]);
}

static const uint16_t *image_plane(const image *what, int plane) {
    return plane == 0 && what->luma ? what->luma : content.samples[what->picture][what->side][plane];
}

/* ---- frames: pictures in each kind of memory ---- */

static const int pixel_bytes[] = { 0, 4, 4, 3, 4, 8 };

typedef struct stored_plane {
    unsigned char *host;
    void *pinned, *array;
    uint64_t device, surface;
    size_t size;
} stored_plane;

typedef struct stored {
    vmafgpu_frame frame;
    stored_plane planes[PLANES];
    int64_t pair; /* index of the pair that uses the frame; -1: a preceding or following frame */
} stored;

/* How samples are arranged in rows. */
typedef struct format {
    int bytes, shift, is_interleaved;
} format;

static format format_of(const vmafgpu_config *config) {
    format f;
    f.bytes = config->bytes_per_sample ? config->bytes_per_sample : config->bit_depth > 8 ? 2 : 1;
    f.shift = config->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 16 - config->bit_depth : 0;
    f.is_interleaved = config->layout != VMAFGPU_LAYOUT_PLANAR;
    return f;
}

static int format_planes(const format *f) {
    return content.chroma == VMAFGPU_CHROMA_400 ? 1 : f->is_interleaved ? 2 : 3;
}

static void put_sample(unsigned char *to, unsigned value, int bytes) {
    to[0] = (unsigned char)value;
    if (bytes == 2)
        to[1] = (unsigned char)(value >> 8);
}

/* Writes one row of a plane, of two interleaved planes, or of pixels. Returns its size in bytes; `to` may be NULL. */
static size_t put_row(const image *what, const format *f, int plane, int y, unsigned char *to) {
    const int w = plane_width(plane), pair = f->is_interleaved && plane == 1 ? 2 : 1;
    const size_t row = (size_t)(what->pixels ? w * pixel_bytes[what->pixels] : w * pair * f->bytes);
    if (to && what->pixels) {
        for (size_t i = 0; i < row; i++) {
            to[i] = (unsigned char)mix(content.seed + mix((uint64_t)what->picture * 2 + (uint64_t)what->side) +
                                       (uint64_t)y * 65536 + i / (what->side ? 1 : 8));
        }
    } else if (to) {
        for (int x = 0; x < w * pair; x++) {
            const unsigned value = image_plane(what, pair == 2 ? 1 + x % 2 : plane)[y * w + x / pair];
            put_sample(to + x * f->bytes, value << f->shift, f->bytes);
        }
    }
    return row;
}

/* Whether a driver call of the test succeeded. Clears the error in HIP, so that only errors from the library remain. */
static int succeeds(int error) {
    if (error && the_gpu.take_error)
        (void)the_gpu.take_error();
    return error == 0;
}

/* Copies a plane to memory from the driver. Returns 0 on failure. */
static int store_plane(stored *s, int plane, vmafgpu_memory memory, size_t at) {
    stored_plane *p = &s->planes[plane];
    gpu *g = &the_gpu;
    if (memory == VMAFGPU_MEMORY_PINNED) {
        if (!succeeds(g->take_pinned(&p->pinned, p->size, 0))) {
            p->pinned = NULL;
            return 0;
        }
        memcpy(p->pinned, p->host, p->size);
        s->frame.data[plane] = (const unsigned char *)p->pinned + at;
    } else if (memory == VMAFGPU_MEMORY_DEVICE) {
        if (!succeeds(g->take(&p->device, p->size))) {
            p->device = 0;
            return 0;
        }
        s->frame.data[plane] = (const void *)(uintptr_t)(p->device + at);
        return succeeds(g->write(p->device, p->host, p->size));
    }
    return 1;
}

static int store_image(stored *s, const image *what, const format *f, int plane, vmafgpu_memory memory, size_t pitch) {
    stored_plane *p = &s->planes[plane];
    const int is_pair = f->is_interleaved && plane == 1;
    const int channels = !what->pixels ? 1 + is_pair : what->pixels == VMAFGPU_PIXELS_RGB10A2 ? 1 : 4;
    const int kind = what->pixels == VMAFGPU_PIXELS_RGBA16F   ? HALVES
                     : what->pixels == VMAFGPU_PIXELS_RGB10A2 ? LONG
                     : what->pixels || f->bytes == 1          ? BYTES
                                                              : WORDS;
    const int is_made = make_array(&the_gpu, p->host, pitch, plane_width(plane), plane_height(plane), kind,
                                   (unsigned)channels, &p->array, &p->surface);
    s->frame.data[plane] = memory == VMAFGPU_MEMORY_ARRAY ? p->array : (const void *)(uintptr_t)p->surface;
    s->frame.pitch[plane] = 0;
    return is_made;
}

static void stored_free(stored *s) {
    for (int i = 0; i < PLANES; i++) {
        stored_plane *p = &s->planes[i];
        free(p->host);
        if (p->pinned)
            (void)succeeds(the_gpu.give_pinned(p->pinned));
        if (p->device)
            (void)succeeds(the_gpu.give(p->device));
        if (p->surface)
            the_gpu.surface_destroy(p->surface);
        if (p->array)
            the_gpu.array_destroy(p->array);
    }
    memset(s, 0, sizeof *s);
}

/* Overwrites a reusable frame. */
static void overwrite_stored(stored *s) {
    for (int i = 0; i < PLANES; i++) {
        stored_plane *p = &s->planes[i];
        if (p->host)
            memset(p->host, 0xA7, p->size);
        if (p->pinned)
            memset(p->pinned, 0xA7, p->size);
        if (p->device)
            (void)succeeds(the_gpu.write(p->device, p->host, p->size));
    }
}

/* Makes the simulated GPU report reads of bytes around the samples. */
static void fence_plane(const stored *s, const image *what, const format *f, int plane) {
    const stored_plane *p = &s->planes[plane];
    const uint64_t start = p->device ? p->device : (uint64_t)(uintptr_t)p->pinned;
    const size_t row = put_row(what, f, plane, 0, NULL);
    const ptrdiff_t pitch = s->frame.pitch[plane] ? s->frame.pitch[plane] : (ptrdiff_t)row;
    the_gpu.sim.forbid(start, p->size, 1);
    for (int y = 0; y < plane_height(plane); y++)
        the_gpu.sim.forbid((uint64_t)(uintptr_t)s->frame.data[plane] + (uint64_t)((ptrdiff_t)y * pitch), row, 0);
}

/* Makes one plane with a random pitch, start and direction. */
static int stored_add(stored *s, const image *what, const format *f, int plane, vmafgpu_memory memory, int may_turn) {
    stored_plane *p = &s->planes[plane];
    const int is_image = memory >= VMAFGPU_MEMORY_SURFACE, h = plane_height(plane),
              turns = may_turn && !is_image && one_in(4);
    const size_t row = put_row(what, f, plane, 0, NULL), margin = is_image || one_in(2) ? 0 : (size_t)draw(40),
                 offset = is_image || !one_in(4) ? 0 : (size_t)draw(20), pitch = row + margin;
    const size_t at = offset + (turns ? pitch * (size_t)(h - 1) : 0);
    p->size = offset + pitch * (size_t)(h - 1) + row;
    p->host = (unsigned char *)malloc(p->size);
    test_need(p->host != NULL, "out of memory");
    memset(p->host, 0xEE, p->size);
    for (int y = 0; y < h; y++)
        put_row(what, f, plane, y, p->host + offset + (size_t)(turns ? h - 1 - y : y) * pitch);
    if (what->is_illegal && plane == 0) {
        const size_t sample = (size_t)draw(h) * pitch + (size_t)draw(content.width) * 2;
        p->host[offset + sample + (f->shift ? 0 : 1)] |= f->shift ? 1 : 0x80;
    }
    s->frame.data[plane] = p->host + at;
    s->frame.pitch[plane] = turns ? -(ptrdiff_t)pitch : margin || one_in(2) ? (ptrdiff_t)pitch : 0;
    if (is_image)
        return store_image(s, what, f, plane, memory, pitch);
    if (memory == VMAFGPU_MEMORY_HOST || !store_plane(s, plane, memory, at))
        return memory == VMAFGPU_MEMORY_HOST;
    fence_plane(s, what, f, plane);
    return 1;
}

/* Makes a frame. Returns 0 if the driver has no memory. */
static int stored_make(stored *s, const image *what, const vmafgpu_config *config, vmafgpu_memory memory) {
    const format f = format_of(config);
    const int may_turn = memory != VMAFGPU_MEMORY_PINNED || config->gpu.frame_memory == VMAFGPU_MEMORY_HOST;
    memset(s, 0, sizeof *s);
    s->frame.memory = memory;
    s->frame.pixels = what->pixels;
    for (int plane = 0; plane < (what->pixels ? 1 : format_planes(&f)); plane++) {
        if (!stored_add(s, what, &f, plane, memory, may_turn)) {
            stored_free(s);
            return 0;
        }
    }
    return 1;
}

/* ---- clips: the frames and results of a context ---- */

typedef struct pair {
    image reference, distorted;
    int is_on_device; /* whether at least one of the frames is in device memory */
} pair;

typedef enum query_kind { ASKED_SCORE, ASKED_VALUE, ASKED_POOL } query_kind;

/* A result that the plain context must also return. */
typedef struct query {
    query_kind kind;
    int row, column, first;
    vmafgpu_pool_method method;
    double value;
} query;

/* Hashes of heat maps, by row and scale. */
typedef struct heat {
    uint64_t hash[MOST_PAIRS][CAMBI_SCALES];
    int subsample;
} heat;

typedef struct track {
    vmafgpu *context;
    int step; /* config.subsample */
    int columns;
    pair pairs[MOST_PAIRS]; /* preceding frames, pairs, following frames */
    int count, seeds, tails;
    int is_flushed, has_illegal, is_unsure; /* is_unsure: it is unknown which pairs were accepted */
    double values[MOST_PAIRS][MOST_COLUMNS];
    vmafgpu_result results[MOST_PAIRS];
    int delivered;
    int64_t reusable;
    query queries[MOST_ASKED];
    int asked;
    heat maps;
} track;

static int clip_pushed(const track *c) {
    return c->count - c->seeds - c->tails;
}

static int clip_rows(const track *c) {
    return (clip_pushed(c) + c->step - 1) / c->step;
}

static void clip_clear(track *c) {
    c->count = c->seeds = c->tails = c->is_flushed = c->delivered = c->asked = c->has_illegal = c->is_unsure = 0;
    c->reusable = 0;
    memset(&c->maps.hash, 0, sizeof c->maps.hash);
}

static void clip_add(track *c, const image *reference, const image *distorted) {
    c->pairs[c->count].reference = *reference;
    c->pairs[c->count].distorted = *distorted;
    c->pairs[c->count].is_on_device = 0;
    c->count++;
}

static void clip_deliver(track *c, const vmafgpu_score *score) {
    CHECK_INT(score->index, (int64_t)c->delivered * c->step);
    if (CHECK(c->delivered < MOST_PAIRS)) {
        memcpy(c->values[c->delivered], score->values, sizeof(double) * (size_t)c->columns);
        c->results[c->delivered++] = score->result;
    }
}

/* Memory for a map or for slopes: host memory and, if kind is PINNED or DEVICE, memory of the driver. */
typedef struct floats {
    float *host;
    size_t count;
    vmafgpu_memory kind;
    void *pinned;
    uint64_t device;
} floats;

/* ---- the state of a sequence ---- */

typedef enum base_state { NO_BASE, BASE, MAYBE_BASE } base_state;

typedef struct sequence {
    long run;
    int call;
    vmafgpu_config config, plain, single; /* single: like plain, but for single pairs, without subsampling */
    vmafgpu_model_config models[3];
    vmafgpu_feature_config features[3];
    char names[3][16];
    int devices[2];
    int looks_far; /* whether motion of a model depends on more than two frames */
    tally memory;
    int uses_gpu, is_lost, is_armed; /* is_lost: a device is lost; is_armed: a fault was requested */
    int avoids_device;               /* no frame is in device memory, so that no pair may be lost */
    void *stream;
    track clips[MOST_CLIPS]; /* most calls use the first one */
    int clip_count;
    vmafgpu *single_context, *editor, *reviewer; /* plain contexts for single pairs, edits, and slopes of pairs */
    int in_callback;
    stored kept[MOST_KEPT];
    int kept_count;
    struct {
        vmafgpu_frame frame[2];
        image shown[2];
    } acquired[MOST_LENT];
    int acquired_count;
    base_state base;
    struct {
        int has_previous, has_following;
        image previous, reference, following, distorted;
        uint16_t *luma;
    } edited;
    struct {
        int state; /* 0: none; 1: requested; 2: the pair was pushed */
        floats memory;
        int has_previous;
        image previous, reference, distorted;
    } map;
    struct {
        int state; /* 0: none; 1: requested; 2: the pair was pushed */
        int64_t row;
        int pitch; /* in floats */
        floats memory;
        int has_previous, has_following;
        image previous, reference, following, distorted;
    } slopes;
} sequence;

static sequence *current;
static int is_verbose;

/* Describes the next call; the text is printed with each difference. */
static void note(sequence *s, const char *format, ...) {
    va_list arguments;
    int at = snprintf(test_where, sizeof test_where, "seed %llu run %ld call %d: ", (unsigned long long)options.seed,
                      s->run, s->call);
    va_start(arguments, format);
    vsnprintf(test_where + at, sizeof test_where - (size_t)at, format, arguments);
    va_end(arguments);
    total.calls++;
    if (is_verbose) {
        printf("%s%s\n", has_gpu && the_gpu.sim.report()[0] ? "(the driver reported a mistake) " : "", test_where);
        fflush(stdout);
    }
}

static track *main_clip(sequence *s) {
    return &s->clips[0];
}

static vmafgpu *context_of(sequence *s) {
    return s->clips[0].context;
}

/* Whether a requested fault of the driver has occurred, so that the GPU may have failed. */
static int has_failed(const sequence *s) {
    return s->uses_gpu && s->is_armed && the_gpu.sim.hit()[0] != 0;
}

static int is_out_of_memory(const sequence *s) {
    return s->memory.failed;
}

static int is_on_gpu(sequence *s) {
    return strcmp(vmafgpu_backend_name(context_of(s)), "cpu") != 0;
}

/* Whether a failure can be the result of requested faults. */
static int is_excused(const sequence *s, vmafgpu_result result) {
    return (result == VMAFGPU_ERROR_DEVICE && has_failed(s)) || (result == VMAFGPU_ERROR_MEMORY && is_out_of_memory(s));
}

/* Checks that a call was rejected with this code, and that there is a message. */
static void check_refused(vmafgpu *context, vmafgpu_result got, vmafgpu_result expected, const char *file, int line) {
    const char *message = vmafgpu_last_error(context);
    test_int(got, expected, file, line, "result of a rejected call");
    test_check(message && strlen(message) > 10, file, line, "message of a rejected call");
    total.refused++;
}

#define REFUSED(context, call, expected) check_refused((context), (call), (expected), __FILE__, __LINE__)

/* Whether a call was rejected, with any code and a message. */
static int is_refusal(vmafgpu *context, vmafgpu_result got) {
    total.refused += got < 0;
    return got < 0 && strlen(vmafgpu_last_error(context)) > 10;
}

/* Checks a call that must succeed unless a requested fault occurred. Returns whether it succeeded. may_be_lost: the
 * call may fail if the GPU fails, because frames were in GPU memory. */
static int check_done(sequence *s, vmafgpu_result got, int may_be_lost, const char *file, int line) {
    if (got != VMAFGPU_OK && is_excused(s, got) && (got != VMAFGPU_ERROR_DEVICE || may_be_lost))
        return 0;
    if (!test_int(got, VMAFGPU_OK, file, line, "a call"))
        printf("  %s\n", vmafgpu_last_error(context_of(s)));
    return got == VMAFGPU_OK;
}

#define DONE(s, call)         check_done((s), (call), 0, __FILE__, __LINE__)
#define DONE_OR_LOST(s, call) check_done((s), (call), 1, __FILE__, __LINE__)

/* Compares rows and prints the names of columns that differ. */
static void check_columns(vmafgpu *context, const double *got, const double *expected, const char *what, int index) {
    for (int i = 0; i < vmafgpu_column_count(context); i++) {
        if (!CHECK_BITS(got[i], expected[i])) {
            printf("  %s %d, column %s\n", what, index, vmafgpu_column_name(context, i));
            return;
        }
    }
}

/* ---- configs ---- */

static void run_backwards(void *user, int count, void (*task)(void *, int), void *arg) {
    (void)user;
    for (int i = count - 1; i >= 0; i--)
        task(arg, i);
}

typedef struct thread_task {
    void (*task)(void *, int);
    void *arg;
    int index, is_started;
    pthread_t thread;
} thread_task;

static void *run_task(void *pointer) {
    thread_task *t = (thread_task *)pointer;
    t->task(t->arg, t->index);
    return NULL;
}

static void run_on_threads(void *user, int count, void (*task)(void *, int), void *arg) {
    thread_task tasks[16];
    (void)user;
    for (int i = 0; i < count; i++) {
        tasks[i].task = task;
        tasks[i].arg = arg;
        tasks[i].index = i;
        tasks[i].is_started = i > 0 && pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]) == 0;
    }
    for (int i = 0; i < count; i++)
        if (tasks[i].is_started)
            pthread_join(tasks[i].thread, NULL);
        else
            task(arg, i);
}

static void on_heatmap(void *user, const vmafgpu_heatmap *map) {
    heat *h = (heat *)user;
    uint64_t hash = mix((uint64_t)map->width * 65536 + (uint64_t)map->height + 1);
    for (int i = 0; i < map->width * map->height; i++)
        hash = mix(hash + map->samples[i]);
    if (CHECK(map->index >= 0 && map->index < MOST_PAIRS && map->scale >= 0 && map->scale < CAMBI_SCALES))
        h->hash[map->index][map->scale] = hash;
}

static int is_one_of(const char *text, const char *part) {
    return text && strstr(text, part) != NULL;
}

enum { ORDINARY, EDITS, MAPS, SEQUENCE_KINDS };

/* Chooses a v1 model, which needs chroma and a larger picture. */
static void choose_v1(sequence *s) {
    s->models[0].version = one_in(2) ? "vmaf_v1.0.16_3d0h" : "vmaf_v1.0.16_hfr_3d0h";
    s->models[0].options = NULL;
    s->config.width = between(216, 230);
    s->config.height = between(160, 170);
    s->config.chroma = s->config.chroma == VMAFGPU_CHROMA_400 ? VMAFGPU_CHROMA_420 : s->config.chroma;
}

static void choose_models(sequence *s, int kind) {
    static const char *const versions[] = { "vmaf_v0.6.1",   "vmaf_v0.6.1neg",    "vmaf_4k_v0.6.1",
                                            "vmaf_b_v0.6.3", "vmaf_float_v0.6.1", "vmaf_4k_v0.6.1neg" };
    static const char *const overlays[] = { NULL,
                                            NULL,
                                            NULL,
                                            NULL,
                                            "adm.adm_enhn_gain_limit=1.2",
                                            "motion.motion_moving_average=true",
                                            "motion.motion_five_frame_window=true",
                                            "vif.vif_skip_scale0=true",
                                            "adm.adm_csf_mode=2",
                                            "motion.motion_force_zero=true",
                                            "vif.vif_enhn_gain_limit=1:adm.adm_noise_weight=0" };
    vmafgpu_config *c = &s->config;
    c->features_only = one_in(14) && kind != MAPS;
    c->model_count = c->features_only ? 0 : 1 + one_in(4) + one_in(6);
    for (int i = 0; i < c->model_count; i++) {
        vmafgpu_model_config *m = &s->models[i];
        m->version = versions[draw(kind == ORDINARY ? 6 : 4)];
        m->options = PICK(overlays);
        snprintf(s->names[i], sizeof s->names[i], "m%d", i);
        m->name = s->names[i];
        m->disable_clip = one_in(4);
        m->enable_transform = one_in(5);
        s->looks_far |= is_one_of(m->options, "moving") || is_one_of(m->options, "five");
    }
    if (kind == ORDINARY && c->model_count && one_in(16))
        choose_v1(s);
    c->models = c->model_count ? s->models : NULL;
}

static void choose_features(sequence *s, int kind) {
    static const char *const any[][2] = { { "psnr", "enable_apsnr=true" },
                                          { "psnr", "enable_mse=true" },
                                          { "motion", NULL },
                                          { "float_motion", NULL },
                                          { "float_motion", "motion_add_uv=true" },
                                          { "float_ssim", NULL },
                                          { "ciede", NULL },
                                          { "psnr_hvs", NULL },
                                          { "float_psnr", NULL },
                                          { "float_moment", NULL },
                                          { "float_vif", NULL },
                                          { "float_adm", NULL },
                                          { "float_ansnr", NULL },
                                          { "speed_temporal", NULL },
                                          { "speed_chroma", NULL },
                                          { "cambi", NULL },
                                          { "cambi", "heatmaps_path=x" } };
    static const char *const for_edits[][2] = { { "vif", "debug=true" },
                                                { "adm", "debug=true" },
                                                { "motion", "debug=true" } };
    vmafgpu_config *c = &s->config;
    if (!c->features_only && !one_in(3))
        return;
    c->features = s->features;
    c->feature_count = 1 + draw(2);
    for (int i = 0; i < c->feature_count; i++) {
        const char *const *chosen = kind == ORDINARY ? PICK(any) : PICK(for_edits);
        s->features[i].name = chosen[0];
        s->features[i].options = chosen[1];
        if (is_one_of(chosen[1], "heatmaps")) {
            c->on_heatmap = on_heatmap;
            c->on_heatmap_user = &s->clips[0].maps;
        }
        if (!strcmp(chosen[0], "cambi")) {
            c->width = 216 + draw(9);
            c->height = 16 + draw(30);
        } else if (!strncmp(chosen[0], "speed", 5)) {
            c->width = 160 + draw(20);
            c->height = 160 + draw(20);
        }
    }
}

static void choose_format(vmafgpu_config *c) {
    static const int depths[] = { 8, 8, 8, 8, 10, 10, 12, 16, 9, 14 };
    c->bit_depth = PICK(depths);
    c->chroma = one_in(3) ? (vmafgpu_chroma)draw(4) : VMAFGPU_CHROMA_420;
    c->width = one_in(3) ? between(16, 36) : between(16, 110);
    c->height = one_in(3) ? between(16, 36) : between(16, 90);
    c->bytes_per_sample = c->bit_depth == 8 && one_in(5) ? 2 : 0;
    c->layout = (vmafgpu_layout)draw(3);
    if (c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH && c->bit_depth == 8 && !c->bytes_per_sample)
        c->layout = VMAFGPU_LAYOUT_SEMIPLANAR;
    if (one_in(4)) {
        c->colour.matrix = (vmafgpu_matrix)between(VMAFGPU_MATRIX_BT601, VMAFGPU_MATRIX_BT2020);
        c->colour.range = (vmafgpu_range)between(VMAFGPU_RANGE_LIMITED, VMAFGPU_RANGE_FULL);
        c->colour.siting = (vmafgpu_siting)between(VMAFGPU_SITING_LEFT, VMAFGPU_SITING_TOP_LEFT);
        c->colour.transfer = (vmafgpu_transfer)between(VMAFGPU_TRANSFER_SRGB, VMAFGPU_TRANSFER_PQ);
    }
}

static void choose_rest(vmafgpu_config *c, int kind) {
    c->threads = one_in(2) ? 1 : between(1, 4);
    c->parallel_for = c->threads > 1 && one_in(3) ? one_in(2) ? run_backwards : run_on_threads : NULL;
    c->subsample = one_in(4) ? between(1, 4) : 1;
    c->live = kind == MAPS || one_in(4);
    c->discard_scores = one_in(6);
    c->threaded_column_order = one_in(6);
    c->model_features_only = kind == ORDINARY && one_in(20);
    c->float_reciprocal = (vmafgpu_reciprocal)draw(4);
    c->max_candidates = between(1, MOST_CANDIDATES);
    c->contexts_per_pass = kind == MAPS ? 1 : between(1, 3);
    c->max_edit_size = kind == EDITS ? between(1, 64) : 0;
    c->map_block_size = kind == MAPS ? between(4, 64) : 0;
    c->cpumask = one_in(3) ? (unsigned)draw(32) : 0;
}

/* Chooses the GPU config. With several GPUs, frames in GPU memory need a layout that can be read in place. */
static void choose_gpu(sequence *s, int kind) {
    vmafgpu_config *c = &s->config;
    vmafgpu_gpu_config *g = &c->gpu;
    s->uses_gpu = 1;
    c->backend = the_gpu.vendor->backend;
    g->driver_path = the_gpu.driver_path;
    g->kernels_path = the_gpu.kernels_path;
    g->skip_self_test = !one_in(40);
    g->batch = kind == MAPS ? 0 : draw(5);
    g->queue_depth = draw(4);
    g->vif_arithmetic = draw(3);
    g->copy_threads = one_in(3) ? between(1, 3) : 0;
    g->frame_memory = (vmafgpu_memory)draw(3);
    if (!the_gpu.is_hip && one_in(8) && format_of(c).bytes == (c->bit_depth > 8 ? 2 : 1))
        g->frame_memory = VMAFGPU_MEMORY_SURFACE;
    s->avoids_device = one_in(2);
    if (one_in(4) && kind == ORDINARY && g->frame_memory <= VMAFGPU_MEMORY_DEVICE) {
        s->devices[0] = draw(2);
        s->devices[1] = !s->devices[0];
        g->devices = s->devices;
        g->device_count = 2;
        if (g->frame_memory == VMAFGPU_MEMORY_DEVICE) {
            c->layout = c->layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? VMAFGPU_LAYOUT_SEMIPLANAR : c->layout;
            c->bytes_per_sample = 0;
        }
    } else if (one_in(5) && g->frame_memory == VMAFGPU_MEMORY_HOST) {
        c->backend = VMAFGPU_BACKEND_AUTO;
        g->open_in_background = kind != MAPS && one_in(2);
    } else if (one_in(2) && g->frame_memory == VMAFGPU_MEMORY_DEVICE &&
               succeeds(the_gpu.stream_create(&s->stream, 1))) {
        g->stream = s->stream;
    }
    if (c->on_heatmap) {
        c->backend = VMAFGPU_BACKEND_AUTO;
        g->frame_memory = VMAFGPU_MEMORY_HOST;
        g->device_count = 0;
        g->devices = NULL;
    }
}

/* Returns the config of the plain context, without threads, vector code, batches or shared work. */
static vmafgpu_config plain_config(const vmafgpu_config *c) {
    vmafgpu_config p = *c;
    p.backend = VMAFGPU_BACKEND_CPU;
    memset(&p.gpu, 0, sizeof p.gpu);
    memset(&p.allocator, 0, sizeof p.allocator);
    p.cpumask = 31;
    p.threads = p.max_candidates = p.contexts_per_pass = 0;
    p.parallel_for = NULL;
    p.layout = VMAFGPU_LAYOUT_PLANAR;
    p.bytes_per_sample = 0;
    p.max_edit_size = p.map_block_size = p.discard_scores = p.slopes = 0;
    p.on_score = NULL;
    p.on_reusable = NULL;
    return p;
}

static vmafgpu *open_plain(const vmafgpu_config *config) {
    vmafgpu *context = NULL;
    if (!CHECK_INT(vmafgpu_open(&context, config), VMAFGPU_OK)) {
        printf("  %s\n", vmafgpu_last_error(context));
        vmafgpu_close(context);
        context = NULL;
    }
    test_need(context != NULL, "cannot open a plain context");
    return context;
}

/* ---- callbacks ---- */

/* Calls functions of the context from a callback. Queries must succeed, and all other calls must be rejected. */
static void call_from_callback(sequence *s, vmafgpu *context, int may_ask) {
    const track *c = main_clip(s);
    vmafgpu_score score;
    double value;
    int64_t reusable;
    switch (may_ask ? draw(9) : draw(4)) {
    case 0: CHECK_INT(vmafgpu_flush(context), VMAFGPU_ERROR_STATE); break;
    case 1: vmafgpu_close(context); break;
    case 2: CHECK_INT(vmafgpu_reset(context), VMAFGPU_ERROR_STATE); break;
    case 3: CHECK_INT(vmafgpu_next_score(context, &score), VMAFGPU_ERROR_STATE); break;
    case 4:
        reusable = vmafgpu_reusable_count(context);
        CHECK(reusable >= c->reusable && reusable <= clip_pushed(c) + 1);
        break;
    case 5:
        if (c->results[c->delivered - 1] == VMAFGPU_OK && !s->config.discard_scores &&
            CHECK_INT(vmafgpu_score_at(context, (int64_t)(c->delivered - 1) * c->step, &score), VMAFGPU_OK)) {
            check_columns(context, score.values, c->values[c->delivered - 1], "in a callback, row", c->delivered - 1);
        }
        break;
    case 6: (void)vmafgpu_pool(context, 0, VMAFGPU_POOL_MEAN, &value); break;
    case 7: (void)vmafgpu_percentile(context, 0, 50, &value); break;
    default: CHECK(vmafgpu_score_count(context) >= c->delivered); break;
    }
}

static void on_log(void *user, vmafgpu_log_level level, const char *message) {
    (void)user;
    CHECK(message && message[0] && (int)level >= VMAFGPU_LOG_LEVEL_ERROR && level <= VMAFGPU_LOG_LEVEL_INFO);
}

static void on_score(void *user, const vmafgpu_score *score) {
    sequence *s = (sequence *)user;
    clip_deliver(main_clip(s), score);
    if (context_of(s) && one_in(3))
        call_from_callback(s, context_of(s), 1);
}

static void on_reusable(void *user, int64_t pairs) {
    sequence *s = (sequence *)user;
    track *c = main_clip(s);
    CHECK(pairs > c->reusable && pairs <= clip_pushed(c) + 1);
    c->reusable = pairs;
    if (context_of(s) && one_in(3))
        call_from_callback(s, context_of(s), 0);
}

/* ---- comparison with the plain context ---- */

/* Whether the pair of a row, or a neighbour whose frames motion may use, was in device memory. */
static int is_near_device(const track *c, int row) {
    enum { LOOKS_BACK = 5, LOOKS_AHEAD = 2 };
    const int at = c->seeds + row * c->step;
    for (int i = at - LOOKS_BACK; i <= at + LOOKS_AHEAD; i++)
        if (i >= 0 && i < c->count && c->pairs[i].is_on_device)
            return 1;
    return 0;
}

/* Whether a row may have this result. */
static int may_fail(const sequence *s, const track *c, int row, vmafgpu_result result) {
    return (result == VMAFGPU_ERROR_DEVICE && has_failed(s) && is_near_device(c, row)) ||
           (result == VMAFGPU_ERROR_FRAME && c->has_illegal) || (result == VMAFGPU_ERROR_MEMORY && is_out_of_memory(s));
}

/* Scores all frames of a clip in a plain context. Preceding and following frames are pushed as ordinary pairs. */
static vmafgpu *replay(sequence *s, const track *c, heat *maps) {
    vmafgpu_config config = s->plain;
    vmafgpu *plain;
    memset(maps, 0, sizeof *maps);
    config.on_heatmap_user = maps;
    plain = open_plain(&config);
    for (int i = 0; i < c->count; i++) {
        stored reference, distorted;
        image shown[2];
        shown[0] = c->pairs[i].reference;
        shown[1] = c->pairs[i].distorted;
        shown[0].is_illegal = shown[1].is_illegal = 0;
        stored_make(&reference, &shown[0], &config, VMAFGPU_MEMORY_HOST);
        stored_make(&distorted, &shown[1], &config, VMAFGPU_MEMORY_HOST);
        if (!CHECK_INT(vmafgpu_push(plain, &reference.frame, &distorted.frame), VMAFGPU_OK))
            printf("  %s\n", vmafgpu_last_error(plain));
        stored_free(&reference);
        stored_free(&distorted);
    }
    CHECK_INT(vmafgpu_flush(plain), VMAFGPU_OK);
    return plain;
}

static void check_rows_of(sequence *s, const track *c, vmafgpu *plain) {
    for (int i = 0; i < c->delivered; i++) {
        vmafgpu_score score;
        if (c->results[i] != VMAFGPU_OK) {
            CHECK(may_fail(s, c, i, c->results[i]));
            total.lost++;
        } else if (CHECK_INT(vmafgpu_score_at(plain, c->seeds + (int64_t)i * c->step, &score), VMAFGPU_OK)) {
            check_columns(plain, c->values[i], score.values, "row", i);
            total.pairs++;
        }
    }
}

static int has_lost_rows(const track *c) {
    int lost = 0;
    for (int i = 0; i < c->delivered; i++)
        lost |= c->results[i] != VMAFGPU_OK;
    return lost;
}

/* Repeats the queries in the plain context. Pooling skips failed rows; if the clip was not flushed, it is unknown which
 * rows these are. */
static void check_queries(const track *c, vmafgpu *plain, int may_lack_rows) {
    for (int i = 0; i < c->asked && !has_lost_rows(c); i++) {
        const query *q = &c->queries[i];
        if (q->kind == ASKED_POOL && may_lack_rows)
            continue;
        const int64_t row = c->seeds + (int64_t)q->row * c->step, first = c->seeds + (int64_t)q->first * c->step;
        double value = 0;
        const vmafgpu_result result = q->kind == ASKED_POOL
                                          ? vmafgpu_pool_range(plain, q->column, q->method, first, row, &value)
                                          : vmafgpu_value_at(plain, row, q->column, &value);
        if (CHECK_INT(result, VMAFGPU_OK) && !CHECK_BITS(q->value, value)) {
            printf("  query %d of kind %d, rows %d to %d, column %s, method %d\n", i, (int)q->kind, q->first, q->row,
                   vmafgpu_column_name(plain, q->column), (int)q->method);
        }
    }
}

/* Compares pooled values if the clip is complete. */
static void check_whole(sequence *s, const track *c, vmafgpu *plain) {
    const int last = c->delivered - 1;
    double got = 0, expected = 0;
    if (last < 0 || has_lost_rows(c) || c->seeds || c->tails)
        return;
    CHECK_INT(vmafgpu_score_count(c->context), vmafgpu_score_count(plain));
    for (int column = 0; column < c->columns; column++) {
        const vmafgpu_pool_method method = (vmafgpu_pool_method)draw(4);
        CHECK_INT(vmafgpu_pool(c->context, column, method, &got), VMAFGPU_OK);
        CHECK_INT(vmafgpu_pool(plain, column, method, &expected), VMAFGPU_OK);
        CHECK_BITS(got, expected);
        if (!s->config.discard_scores) {
            const double p = draw(101);
            const vmafgpu_result result = vmafgpu_percentile(c->context, column, p, &got);
            CHECK_INT(vmafgpu_percentile(plain, column, p, &expected), VMAFGPU_OK);
            if (!is_excused(s, result) && CHECK_INT(result, VMAFGPU_OK))
                CHECK_BITS(got, expected);
        }
    }
    CHECK_INT(vmafgpu_aggregate_count(c->context), vmafgpu_aggregate_count(plain));
    for (int i = 0; i < vmafgpu_aggregate_count(plain); i++) {
        CHECK_STR(vmafgpu_aggregate_name(c->context, i), vmafgpu_aggregate_name(plain, i));
        CHECK_INT(vmafgpu_aggregate(c->context, i, &got), VMAFGPU_OK);
        CHECK_INT(vmafgpu_aggregate(plain, i, &expected), VMAFGPU_OK);
        CHECK_BITS(got, expected);
    }
}

static void check_heat(const sequence *s, const track *c, const heat *plain) {
    for (int i = 0; s->config.on_heatmap && i < clip_pushed(c); i += c->step)
        for (int scale = 0; scale < CAMBI_SCALES; scale++)
            CHECK(c->maps.hash[i][scale] == plain->hash[c->seeds + i][scale]);
}

/* Compares the results of a clip with those of a plain context. */
static void check_clip(sequence *s, track *c) {
    static heat maps;
    vmafgpu *plain;
    if (!c->count || c->is_unsure)
        return;
    plain = replay(s, c, &maps);
    check_rows_of(s, c, plain);
    check_queries(c, plain, has_failed(s) || c->has_illegal || is_out_of_memory(s));
    check_heat(s, c, &maps);
    if (c->is_flushed) {
        CHECK_INT(c->delivered, clip_rows(c));
        check_whole(s, c, plain);
    }
    vmafgpu_close(plain);
}

/* ---- frames of a sequence ---- */

/* Chooses a kind of memory that the config supports. */
static vmafgpu_memory choose_memory(const sequence *s) {
    const vmafgpu_config *c = &s->config;
    const int has_device = s->uses_gpu && c->backend == the_gpu.vendor->backend && !c->gpu.devices && !s->avoids_device;
    if (!s->uses_gpu)
        return VMAFGPU_MEMORY_HOST;
    switch (c->gpu.frame_memory) {
    case VMAFGPU_MEMORY_HOST:
        return has_device && c->colour.matrix && !the_gpu.is_hip && one_in(6) &&
                       format_of(c).bytes == (c->bit_depth > 8 ? 2 : 1)
                   ? (vmafgpu_memory)between(VMAFGPU_MEMORY_SURFACE, VMAFGPU_MEMORY_ARRAY)
                   : (vmafgpu_memory)(one_in(2) ? 0 : draw(has_device ? 3 : 2));
    case VMAFGPU_MEMORY_PINNED:
        return has_device ? (vmafgpu_memory)between(VMAFGPU_MEMORY_PINNED, VMAFGPU_MEMORY_DEVICE)
                          : VMAFGPU_MEMORY_PINNED;
    case VMAFGPU_MEMORY_DEVICE: return VMAFGPU_MEMORY_DEVICE;
    default: return (vmafgpu_memory)between(VMAFGPU_MEMORY_SURFACE, VMAFGPU_MEMORY_ARRAY);
    }
}

static image choose_image(const sequence *s, int side, vmafgpu_memory memory) {
    image i;
    memset(&i, 0, sizeof i);
    i.picture = draw(PICTURES);
    i.side = side;
    if (s->config.colour.matrix && one_in(3) && !(s->config.gpu.devices && memory >= VMAFGPU_MEMORY_DEVICE)) {
        i.pixels = (vmafgpu_pixels)between(VMAFGPU_PIXELS_RGBA8, VMAFGPU_PIXELS_RGBA16F);
        if (i.pixels == VMAFGPU_PIXELS_RGB24 && memory >= VMAFGPU_MEMORY_SURFACE)
            i.pixels = VMAFGPU_PIXELS_BGRA8;
    }
    return i;
}

/* Frees the frames of pairs below `reusable` and, if is_all, preceding and following frames. */
static void free_kept(sequence *s, int64_t reusable, int is_all) {
    int left = 0;
    for (int i = 0; i < s->kept_count; i++) {
        if (s->kept[i].pair < 0 ? is_all : s->kept[i].pair < reusable) {
            overwrite_stored(&s->kept[i]);
            stored_free(&s->kept[i]);
        } else {
            s->kept[left++] = s->kept[i];
        }
    }
    s->kept_count = left;
}

/* Keeps a frame until its pair is reusable. */
static void keep(sequence *s, stored *frame, int64_t pair_index) {
    if (frame->frame.memory == VMAFGPU_MEMORY_HOST) {
        overwrite_stored(frame);
        stored_free(frame);
    } else {
        main_clip(s)->pairs[main_clip(s)->count - 1].is_on_device |= frame->frame.memory >= VMAFGPU_MEMORY_DEVICE;
        frame->pair = pair_index;
        s->kept[s->kept_count++] = *frame;
    }
}

/* Whether another pair can be pushed. If too many frames are in use, waits until they are reusable. */
static int has_place(sequence *s) {
    if (s->kept_count > MOST_KEPT - 4) {
        vmafgpu_wait(context_of(s), -1);
        main_clip(s)->reusable = clip_pushed(main_clip(s));
        free_kept(s, INT64_MAX, 1);
    }
    return main_clip(s)->count < MOST_PAIRS - 8;
}

/* ---- calls: pairs ---- */

static int is_row(const track *c) {
    return clip_pushed(c) % c->step == 0;
}

/* Updates the state for a pair that was accepted. */
static void pair_accepted(sequence *s, const image *reference, const image *distorted) {
    track *c = main_clip(s);
    if (s->slopes.state == 2 && !s->slopes.has_following) {
        s->slopes.has_following = 1;
        s->slopes.following = *reference;
    }
    if (s->slopes.state == 1 && is_row(c)) {
        s->slopes.state = 2;
        s->slopes.row = clip_pushed(c) / c->step;
        s->slopes.has_following = 0;
        s->slopes.has_previous = c->count > 0;
        if (c->count)
            s->slopes.previous = c->pairs[c->count - 1].reference;
        s->slopes.reference = *reference;
        s->slopes.distorted = *distorted;
    }
    if (s->map.state == 1 && is_row(c)) {
        s->map.state = 2;
        s->map.has_previous = c->count > 0;
        if (c->count)
            s->map.previous = c->pairs[c->count - 1].reference;
        s->map.reference = *reference;
        s->map.distorted = *distorted;
    }
    s->base = is_row(c) ? NO_BASE : s->base == BASE ? MAYBE_BASE : s->base;
    clip_add(c, reference, distorted);
    total.pushes++;
}

static void acquired_accepted(sequence *s) {
    if (s->acquired_count) {
        s->acquired_count--;
        memmove(s->acquired, s->acquired + 1, sizeof s->acquired[0] * (size_t)s->acquired_count);
    }
}

/* Checks the result of a push and records the pair. Returns whether the pair was accepted. */
static int pushed(sequence *s, vmafgpu_result result, int is_try, const image *reference, const image *distorted) {
    track *c = main_clip(s);
    if (c->is_flushed || c->tails) {
        REFUSED(c->context, result, VMAFGPU_ERROR_STATE);
        return 0;
    }
    if (result == VMAFGPU_AGAIN && is_try) {
        CHECK(s->uses_gpu);
        return 0;
    }
    if (result == VMAFGPU_ERROR_UNREAD_SCORES) {
        CHECK(s->config.discard_scores && !s->config.on_score && clip_rows(c) - c->delivered >= 64);
        return 0;
    }
    if (!DONE(s, result)) {
        s->base = s->base == BASE ? MAYBE_BASE : s->base;
        return 0;
    }
    pair_accepted(s, reference, distorted);
    acquired_accepted(s);
    return 1;
}

static void push_one(sequence *s) {
    const vmafgpu_memory memory[2] = { choose_memory(s), choose_memory(s) };
    const image reference = choose_image(s, REFERENCE, memory[0]), distorted = choose_image(s, DISTORTED, memory[1]);
    const int is_try = one_in(3);
    stored frames[2];
    int is_taken;
    if (!has_place(s) || !stored_make(&frames[0], &reference, &s->config, memory[0]))
        return;
    if (!stored_make(&frames[1], &distorted, &s->config, memory[1])) {
        stored_free(&frames[0]);
        return;
    }
    note(s, "%s picture %d memory %d pixels %d, picture %d memory %d pixels %d", is_try ? "try_push" : "push",
         reference.picture, (int)memory[0], (int)reference.pixels, distorted.picture, (int)memory[1],
         (int)distorted.pixels);
    is_taken = pushed(s,
                      is_try ? vmafgpu_try_push(context_of(s), &frames[0].frame, &frames[1].frame)
                             : vmafgpu_push(context_of(s), &frames[0].frame, &frames[1].frame),
                      is_try, &reference, &distorted);
    for (int i = 0; i < 2; i++)
        if (is_taken)
            keep(s, &frames[i], clip_pushed(main_clip(s)) - 1);
        else
            stored_free(&frames[i]);
}

static void call_push(sequence *s) {
    push_one(s);
}

static void call_burst(sequence *s) {
    for (int i = between(2, 6); i > 0; i--)
        push_one(s);
}

/* Pushes a frame with a sample above the bit depth. If the frame is in host memory, the push may fail; otherwise the
 * pair may fail. */
static void call_push_illegal(sequence *s) {
    track *c = main_clip(s);
    const format f = format_of(&s->config);
    const vmafgpu_memory memory = choose_memory(s);
    image reference = choose_image(s, REFERENCE, memory), distorted = choose_image(s, DISTORTED, memory);
    stored frames[2];
    vmafgpu_result result;
    if (f.bytes != 2 || s->config.bit_depth == 16 || !has_place(s) || !is_row(c) || s->acquired_count || s->map.state ||
        memory >= VMAFGPU_MEMORY_SURFACE || c->is_flushed || c->tails) {
        return;
    }
    reference.pixels = distorted.pixels = VMAFGPU_PIXELS_YUV;
    reference.is_illegal = one_in(2);
    distorted.is_illegal = !reference.is_illegal;
    if (!stored_make(&frames[0], &reference, &s->config, memory))
        return;
    if (!stored_make(&frames[1], &distorted, &s->config, memory)) {
        stored_free(&frames[0]);
        return;
    }
    note(s, "push, an illegal sample on side %d, memory %d", distorted.is_illegal, (int)memory);
    result = vmafgpu_push(c->context, &frames[0].frame, &frames[1].frame);
    if (result == VMAFGPU_OK && memory != VMAFGPU_MEMORY_HOST) {
        c->has_illegal = 1;
        pair_accepted(s, &reference, &distorted);
        keep(s, &frames[0], clip_pushed(c) - 1);
        keep(s, &frames[1], clip_pushed(c) - 1);
        return;
    }
    if (result != VMAFGPU_ERROR_UNREAD_SCORES && !is_excused(s, result)) {
        /* only features that use luma detect the sample */
        if (result == VMAFGPU_OK) {
            pair_accepted(s, &reference, &distorted);
            CHECK(s->config.features_only);
        } else {
            REFUSED(c->context, result, VMAFGPU_ERROR_FRAME);
        }
    }
    s->base = s->base == BASE ? MAYBE_BASE : s->base;
    stored_free(&frames[0]);
    stored_free(&frames[1]);
}

/* Pushes invalid frames. */
static void call_push_wrong(sequence *s) {
    track *c = main_clip(s);
    const image shown = choose_image(s, REFERENCE, VMAFGPU_MEMORY_SURFACE);
    const vmafgpu_result expected = c->is_flushed || c->tails ? VMAFGPU_ERROR_STATE : VMAFGPU_ERROR_ARGUMENT;
    stored good;
    vmafgpu_frame bad;
    stored_make(&good, &shown, &s->config, VMAFGPU_MEMORY_HOST);
    bad = good.frame;
    note(s, "invalid pushes");
    REFUSED(c->context, vmafgpu_push(c->context, NULL, &bad), expected);
    REFUSED(c->context, vmafgpu_try_push(c->context, &bad, NULL), expected);
    bad.data[0] = NULL;
    REFUSED(c->context, vmafgpu_push(c->context, &bad, &good.frame), expected);
    bad = good.frame;
    bad.pitch[0] = one_in(2) ? 1 : one_in(2) ? PTRDIFF_MAX : PTRDIFF_MIN;
    REFUSED(c->context, vmafgpu_push(c->context, &bad, &good.frame), expected);
    bad = good.frame;
    bad.memory = (vmafgpu_memory)(one_in(2) ? -1 : between(5, 100));
    REFUSED(c->context, vmafgpu_try_push(c->context, &good.frame, &bad), expected);
    bad = good.frame;
    bad.pixels = (vmafgpu_pixels)between(VMAFGPU_PIXELS_RGB8_PLANAR + 1, 100);
    REFUSED(c->context, vmafgpu_push(c->context, &good.frame, &bad), expected);
    bad = good.frame;
    bad.pixels = VMAFGPU_PIXELS_RGBA8;
    if (!s->config.colour.matrix)
        REFUSED(c->context, vmafgpu_push(c->context, &good.frame, &bad), expected);
    bad = good.frame;
    bad.memory = (vmafgpu_memory)between(VMAFGPU_MEMORY_DEVICE, VMAFGPU_MEMORY_ARRAY);
    if (!s->uses_gpu)
        REFUSED(c->context, vmafgpu_push(c->context, &good.frame, &bad), expected);
    REFUSED(NULL, vmafgpu_push(NULL, &good.frame, &good.frame), VMAFGPU_ERROR_ARGUMENT);
    stored_free(&good);
}

static void neighbour(sequence *s, int is_tail) {
    track *c = main_clip(s);
    const vmafgpu_memory memory = choose_memory(s);
    const image shown = choose_image(s, REFERENCE, memory);
    image other = shown;
    stored frame;
    vmafgpu_result result;
    if (!has_place(s) || c->has_illegal || !stored_make(&frame, &shown, &s->config, memory))
        return;
    note(s, "%s picture %d memory %d", is_tail ? "push_following" : "push_preceding", shown.picture, (int)memory);
    result =
        is_tail ? vmafgpu_push_following(c->context, &frame.frame) : vmafgpu_push_preceding(c->context, &frame.frame);
    other.side = DISTORTED;
    if (c->is_flushed || (is_tail ? !clip_pushed(c) : c->tails || clip_pushed(c))) {
        REFUSED(c->context, result, VMAFGPU_ERROR_STATE);
        stored_free(&frame);
    } else if (!is_tail && vmafgpu_preceding_count(c->context) < 0) {
        REFUSED(c->context, result, VMAFGPU_ERROR_STATE);
        stored_free(&frame);
    } else if (!check_done(s, result, memory >= VMAFGPU_MEMORY_DEVICE, __FILE__, __LINE__)) {
        stored_free(&frame);
    } else {
        c->seeds += !is_tail;
        c->tails += is_tail;
        clip_add(c, &shown, &other);
        acquired_accepted(s);
        keep(s, &frame, -1);
        s->base = s->base == BASE ? MAYBE_BASE : s->base;
    }
}

/* Pushes a preceding frame. Does nothing with subsampling, because the plain context pushes preceding frames as pairs,
 * so it would score different pairs. */
static void call_seed(sequence *s) {
    if (s->config.subsample == 1)
        neighbour(s, 0);
}

static void call_tail(sequence *s) {
    neighbour(s, 1);
}

/* ---- calls: acquired memory ---- */

static void fill_acquired(const vmafgpu_config *config, const vmafgpu_frame *frame, const image *shown) {
    const format f = format_of(config);
    for (int plane = 0; plane < format_planes(&f); plane++) {
        unsigned char *to = (unsigned char *)(uintptr_t)frame->data[plane];
        const ptrdiff_t row = (ptrdiff_t)put_row(shown, &f, plane, 0, NULL);
        const ptrdiff_t pitch = frame->pitch[plane] ? frame->pitch[plane] : row;
        for (int y = 0; to && y < plane_height(plane); y++)
            put_row(shown, &f, plane, y, to + y * pitch);
    }
}

static void lend_one(sequence *s) {
    track *c = main_clip(s);
    vmafgpu_frame frames[2];
    vmafgpu_result result;
    if (s->acquired_count == MOST_LENT || c->count + s->acquired_count > MOST_PAIRS - 9)
        return;
    note(s, "acquire_pair, %d are acquired", s->acquired_count);
    result = vmafgpu_acquire_pair(c->context, &frames[0], &frames[1]);
    if (c->is_flushed || c->tails) {
        REFUSED(c->context, result, VMAFGPU_ERROR_STATE);
    } else if (s->uses_gpu && s->config.gpu.frame_memory != VMAFGPU_MEMORY_HOST) {
        CHECK(result == VMAFGPU_OK || is_refusal(c->context, result));
    } else if (!s->uses_gpu && s->acquired_count >= 4) {
        CHECK_INT(result, VMAFGPU_AGAIN);
    } else if (result == VMAFGPU_AGAIN) {
        CHECK(s->uses_gpu && s->acquired_count > 0);
    } else if (DONE(s, result)) {
        for (int i = 0; i < 2; i++) {
            image shown;
            memset(&shown, 0, sizeof shown);
            shown.picture = draw(PICTURES);
            shown.side = i;
            s->acquired[s->acquired_count].frame[i] = frames[i];
            s->acquired[s->acquired_count].shown[i] = shown;
            fill_acquired(&s->config, &frames[i], &shown);
        }
        s->acquired_count++;
        total.acquired_pairs++;
    }
}

static void call_lend(sequence *s) {
    for (int i = between(1, 3); i > 0; i--)
        lend_one(s);
}

/* Pushes the oldest acquired pair, or one frame of this pair together with a different frame. */
static void call_push_acquired(sequence *s) {
    track *c = main_clip(s);
    const int replaced = one_in(4) ? draw(2) : -1, is_try = one_in(3);
    vmafgpu_frame frames[2];
    image shown[2];
    stored other;
    if (!s->acquired_count || !has_place(s))
        return;
    memset(&other, 0, sizeof other);
    for (int i = 0; i < 2; i++) {
        frames[i] = s->acquired[0].frame[i];
        shown[i] = s->acquired[0].shown[i];
        if (i == replaced) {
            shown[i] = choose_image(s, i, VMAFGPU_MEMORY_HOST);
            stored_make(&other, &shown[i], &s->config, VMAFGPU_MEMORY_HOST);
            frames[i] = other.frame;
        }
    }
    note(s, "%s acquired pictures %d, %d, replaced %d", is_try ? "try_push" : "push", shown[0].picture,
         shown[1].picture, replaced);
    (void)pushed(s,
                 is_try ? vmafgpu_try_push(c->context, &frames[0], &frames[1])
                        : vmafgpu_push(c->context, &frames[0], &frames[1]),
                 is_try, &shown[0], &shown[1]);
    stored_free(&other);
}

/* Pushes acquired frames in the wrong order, which must be rejected. */
static void call_push_acquired_wrong(sequence *s) {
    track *c = main_clip(s);
    vmafgpu_result result;
    if (s->acquired_count < 2 || c->is_flushed || c->tails || is_excused(s, VMAFGPU_ERROR_DEVICE))
        return;
    note(s, "push of acquired frames in the wrong order");
    result = vmafgpu_push(c->context, &s->acquired[1].frame[0], &s->acquired[1].frame[1]);
    if (result != VMAFGPU_ERROR_UNREAD_SCORES)
        REFUSED(c->context, result, VMAFGPU_ERROR_ARGUMENT);
}

/* ---- calls: scores and waits ---- */

static void collect_scores(sequence *s, track *c, int most) {
    vmafgpu_score score;
    for (int i = 0; i < most; i++) {
        vmafgpu_result result;
        memset(&score, 0, sizeof score);
        result = vmafgpu_next_score(c->context, &score);
        if (result == VMAFGPU_AGAIN || result == VMAFGPU_END) {
            CHECK_INT(result, c->is_flushed ? VMAFGPU_END : VMAFGPU_AGAIN);
            return;
        }
        if (c == main_clip(s) && s->config.on_score) {
            CHECK_INT(result, VMAFGPU_AGAIN);
            return;
        }
        CHECK_INT(score.result, result);
        clip_deliver(c, &score);
    }
}

static void call_next(sequence *s) {
    note(s, "next");
    collect_scores(s, main_clip(s), between(1, 8));
}

/* ---- memory for maps and slopes ---- */

enum { UNWRITTEN = 12345 };

static void floats_free(floats *f) {
    if (f->pinned)
        (void)succeeds(the_gpu.give_pinned(f->pinned));
    if (f->device)
        (void)succeeds(the_gpu.give(f->device));
    free(f->host);
    memset(f, 0, sizeof *f);
}

/* Frees the memory and takes new memory of a random kind. Returns 0 if the driver has no memory. */
static int floats_make(sequence *s, floats *f, size_t count) {
    const size_t size = sizeof(float) * count;
    floats_free(f);
    f->kind = (vmafgpu_memory)draw(s->uses_gpu && is_on_gpu(s) && !has_failed(s) ? 3 : 1);
    f->count = count;
    f->host = (float *)malloc(size);
    test_need(f->host != NULL, "out of memory");
    for (size_t i = 0; i < count; i++)
        f->host[i] = UNWRITTEN;
    if (f->kind == VMAFGPU_MEMORY_PINNED) {
        if (!succeeds(the_gpu.take_pinned(&f->pinned, size, 0))) {
            f->pinned = NULL;
            return 0;
        }
        memcpy(f->pinned, f->host, size);
    } else if (f->kind == VMAFGPU_MEMORY_DEVICE) {
        if (!succeeds(the_gpu.take(&f->device, size))) {
            f->device = 0;
            return 0;
        }
        return succeeds(the_gpu.write(f->device, f->host, size));
    }
    return 1;
}

/* Returns the address that the library receives. */
static float *floats_address(const floats *f) {
    return f->pinned ? (float *)f->pinned : f->device ? (float *)(uintptr_t)f->device : f->host;
}

/* Copies the memory to f->host. Returns 0 on failure. */
static int floats_fetch(floats *f) {
    const size_t size = sizeof(float) * f->count;
    if (f->pinned)
        memcpy(f->host, f->pinned, size);
    return !f->device ||
           (succeeds(the_gpu.read_later(f->host, f->device, size, NULL)) && succeeds(the_gpu.stream_wait(NULL)));
}

static void check_map(sequence *s);
static void check_slopes(sequence *s);

static void flush_clip(sequence *s, track *c) {
    vmafgpu_result result, expected = VMAFGPU_OK;
    const int was_flushed = c->is_flushed;
    if (c == main_clip(s) && s->slopes.state == 2 && s->base == BASE)
        s->base = MAYBE_BASE; /* a flush that writes slopes discards the base */
    result = vmafgpu_flush(c->context);
    c->is_flushed = 1;
    collect_scores(s, c, MOST_PAIRS);
    for (int i = 0; i < c->delivered && expected == VMAFGPU_OK; i++)
        expected = c->results[i];
    if (!c->is_unsure) {
        CHECK_INT(result, expected);
        CHECK_INT(vmafgpu_reusable_count(c->context), clip_pushed(c));
    }
    c->reusable = clip_pushed(c);
    if (c == main_clip(s)) {
        free_kept(s, INT64_MAX, 1);
        check_map(s);
        check_slopes(s);
        CHECK(s->slopes.state != 2);
    }
    if (!was_flushed)
        check_clip(s, c);
}

static void call_flush(sequence *s) {
    if (one_in(3)) {
        note(s, "flush");
        flush_clip(s, main_clip(s));
    }
}

static void reset_clip(sequence *s, track *c) {
    if (!c->is_flushed && !c->is_unsure)
        check_clip(s, c);
    CHECK_INT(vmafgpu_reset(c->context), VMAFGPU_OK);
    CHECK_STR(vmafgpu_last_error(c->context), "");
    CHECK_INT(vmafgpu_score_count(c->context), 0);
    clip_clear(c);
}

/* Checks that cancelled slopes were not written. If the pair has been pushed, its rows contain intermediate results. */
static void check_unwritten(sequence *s) {
    const floats *f = &s->slopes.memory;
    const size_t w = (size_t)s->config.width, pitch = (size_t)s->slopes.pitch;
    int is_same = floats_fetch(&s->slopes.memory) || has_failed(s);
    for (size_t i = 0; i < f->count && !has_failed(s); i++)
        is_same &= (s->slopes.state == 2 && i % pitch < w && i + 1 < f->count) || f->host[i] == UNWRITTEN;
    CHECK(is_same);
}

static void call_reset(sequence *s) {
    if (!one_in(s->acquired_count ? 2 : 4) && main_clip(s)->count < MOST_PAIRS - 8)
        return;
    note(s, "reset");
    check_slopes(s);
    reset_clip(s, main_clip(s));
    if (s->slopes.state == 2 && !s->uses_gpu) /* a GPU may already have written them */
        check_unwritten(s);
    s->slopes.state = 0;
    free_kept(s, INT64_MAX, 1);
    s->acquired_count = 0;
    s->base = NO_BASE;
    s->map.state = 0;
}

static void check_reusable(sequence *s, int64_t least) {
    track *c = main_clip(s);
    const int64_t before = c->reusable, pairs = vmafgpu_reusable_count(c->context);
    CHECK(pairs >= least && pairs >= before && pairs <= clip_pushed(c));
    if (!s->uses_gpu)
        CHECK_INT(pairs, clip_pushed(c));
    c->reusable = pairs;
    free_kept(s, pairs, 0);
}

static void call_reusable(sequence *s) {
    note(s, "reusable");
    check_reusable(s, 0);
}

static void call_wait(sequence *s) {
    track *c = main_clip(s);
    const int64_t pairs = one_in(3) ? draw(clip_pushed(c) + 3) : one_in(10) ? INT64_MAX : -1 - draw(2);
    vmafgpu_result result;
    note(s, "wait for %lld", (long long)pairs);
    result = vmafgpu_wait(c->context, pairs);
    if (pairs > clip_pushed(c)) {
        REFUSED(c->context, result, VMAFGPU_ERROR_ARGUMENT);
    } else if (DONE(s, result)) {
        check_reusable(s, pairs < 0 ? clip_pushed(c) : pairs);
        if (pairs < 0) {
            free_kept(s, INT64_MAX, 1);
            check_map(s);
        }
    }
}

static void call_wait_on_stream(sequence *s) {
    track *c = main_clip(s);
    const vmafgpu_config *config = &s->config;
    vmafgpu_result result;
    note(s, "stream_wait");
    result = vmafgpu_stream_wait(c->context, s->stream, one_in(2) ? -1 : draw(clip_pushed(c) + 1));
    if (config->gpu.devices || config->gpu.open_in_background)
        CHECK(result == VMAFGPU_OK || is_refusal(c->context, result));
    else
        DONE_OR_LOST(s, result);
}

static void call_after_stream(sequence *s) {
    const vmafgpu_config *config = &s->config;
    vmafgpu *context = main_clip(s)->context;
    note(s, "after_stream");
    const vmafgpu_result result = vmafgpu_after_stream(context, one_in(2) ? s->stream : NULL);
    if (config->gpu.devices || config->gpu.open_in_background)
        CHECK(result == VMAFGPU_OK || is_refusal(context, result));
    else
        DONE_OR_LOST(s, result);
}

/* ---- calls: queries ---- */

static void ask(track *c, query_kind kind, int first, int row, int column, vmafgpu_pool_method method, double value) {
    if (c->asked < MOST_ASKED) {
        query *q = &c->queries[c->asked++];
        q->kind = kind;
        q->first = first;
        q->row = row;
        q->column = column;
        q->method = method;
        q->value = value;
    }
}

static void call_score_at(sequence *s) {
    track *c = main_clip(s);
    const int64_t index = one_in(6) ? INT64_MAX - draw(3) : one_in(6) ? INT64_MIN + draw(3) : draw(clip_pushed(c) + 2);
    const int64_t ready = vmafgpu_score_count(c->context);
    const int column = draw(c->columns);
    vmafgpu_score score;
    vmafgpu_result result;
    note(s, "score_at %lld", (long long)index);
    result = vmafgpu_score_at(c->context, index, &score);
    if (s->config.discard_scores) {
        REFUSED(c->context, result, VMAFGPU_ERROR_STATE);
    } else if (index < 0 || index % c->step || index / c->step >= ready) {
        REFUSED(c->context, result, VMAFGPU_ERROR_NOT_FOUND);
    } else if (CHECK_INT(result, VMAFGPU_OK)) {
        CHECK_INT(score.index, index);
        if (score.result == VMAFGPU_OK)
            ask(c, ASKED_SCORE, 0, (int)(index / c->step), column, VMAFGPU_POOL_MEAN, score.values[column]);
    }
    REFUSED(c->context, vmafgpu_score_at(c->context, 0, NULL), VMAFGPU_ERROR_ARGUMENT);
}

static void call_value_at(sequence *s) {
    track *c = main_clip(s);
    const int64_t index = one_in(8) ? INT64_MAX - draw(3) : draw(clip_pushed(c) + 2) - 1;
    const int column = draw(c->columns + 2) - 1;
    double value = 0;
    vmafgpu_result result;
    note(s, "value_at %lld, column %d", (long long)index, column);
    result = vmafgpu_value_at(c->context, index, column, &value);
    if (s->config.discard_scores)
        REFUSED(c->context, result, VMAFGPU_ERROR_STATE);
    else if (column < 0 || column >= c->columns || index < 0 || index >= clip_pushed(c) || index % c->step)
        REFUSED(c->context, result, VMAFGPU_ERROR_NOT_FOUND);
    else if (result < 0)
        CHECK(may_fail(s, c, (int)(index / c->step), result));
    else if (result != VMAFGPU_AGAIN && CHECK_INT(result, VMAFGPU_OK))
        ask(c, ASKED_VALUE, 0, (int)(index / c->step), column, VMAFGPU_POOL_MEAN, value);
}

static void call_pool(sequence *s) {
    track *c = main_clip(s);
    const int column = draw(c->columns + 2) - 1, ready = (int)vmafgpu_score_count(c->context), first = draw(ready + 1),
              last = first + draw(ready - first + 1), is_range = one_in(2);
    const vmafgpu_pool_method method = (vmafgpu_pool_method)draw(5);
    double value = 0;
    vmafgpu_result result;
    note(s, "pool%s, column %d, method %d, rows %d to %d", is_range ? "_range" : "", column, (int)method, first, last);
    result = is_range ? vmafgpu_pool_range(c->context, column, method, (int64_t)first * c->step,
                                           (int64_t)last * c->step, &value)
                      : vmafgpu_pool(c->context, column, method, &value);
    if (column < 0 || column >= c->columns) {
        REFUSED(c->context, result, VMAFGPU_ERROR_NOT_FOUND);
    } else if (result == VMAFGPU_OK) {
        CHECK(ready > 0 && (int)method < 4 && !(is_range && (s->config.discard_scores || last >= ready)));
        ask(c, ASKED_POOL, is_range ? first : 0, is_range ? last : ready - 1, column, method, value);
    } else {
        CHECK(is_refusal(c->context, result));
        CHECK(ready == 0 || (int)method == 4 || (is_range && (s->config.discard_scores || last >= ready)) ||
              c->has_illegal || has_failed(s) || is_out_of_memory(s));
    }
}

static void call_percentile(sequence *s) {
    track *c = main_clip(s);
    const double p = draw(130) - 15;
    double value = 0;
    vmafgpu_result result;
    note(s, "percentile %g", p);
    result = vmafgpu_percentile(c->context, draw(c->columns), p, &value);
    if (result < 0)
        CHECK(is_refusal(c->context, result) || is_excused(s, result));
    else
        CHECK(p >= 0 && p <= 100 && !s->config.discard_scores && vmafgpu_score_count(c->context) > 0);
}

static void call_names(sequence *s) {
    static char description[65536];
    vmafgpu *v = context_of(s);
    const vmafgpu_config *got = vmafgpu_get_config(v);
    note(s, "names and numbers");
    CHECK_INT(vmafgpu_column_count(v), vmafgpu_column_count(s->single_context));
    for (int i = 0; i < vmafgpu_column_count(v); i++) {
        CHECK_STR(vmafgpu_column_name(v, i), vmafgpu_column_name(s->single_context, i));
        CHECK_INT(vmafgpu_column_index(v, vmafgpu_column_name(v, i)), i);
    }
    for (int i = -1; i < 4; i++)
        CHECK_INT(vmafgpu_model_column(v, i), vmafgpu_model_column(s->single_context, i));
    CHECK(vmafgpu_column_name(v, INT32_MAX) == NULL && vmafgpu_column_name(v, -1) == NULL);
    CHECK_INT(vmafgpu_column_index(v, "none"), -1);
    CHECK_INT(vmafgpu_preceding_count(v), vmafgpu_preceding_count(s->single_context));
    CHECK_INT(got->width, s->config.width);
    CHECK_INT(got->subsample, s->config.subsample);
    CHECK(vmafgpu_host_memory(v) > 0);
    (void)vmafgpu_device_memory(v);
    (void)vmafgpu_next_device(v);
    (void)vmafgpu_is_opening(v);
    if (CHECK(vmafgpu_describe(v, description, sizeof description) < sizeof description) &&
        CHECK(json_is_valid(description))) {
        CHECK_INT(json_whole(description, "counts.ready"), vmafgpu_score_count(v));
        CHECK_INT(json_whole(description, "memory.device"), (int64_t)vmafgpu_device_memory(v));
    }
    CHECK(vmafgpu_backend_note(v) && vmafgpu_device_name(v) && vmafgpu_driver_name(v) && vmafgpu_instruction_set(v));
}

static void call_predict(sequence *s) {
    static double features[MOST_COLUMNS], got[MOST_COLUMNS];
    vmafgpu *v = context_of(s);
    const int columns = main_clip(s)->columns;
    vmafgpu_score score;
    for (int i = 0; i < columns; i++)
        features[i] = one_in(20) ? 1e308 : one_in(20) ? -1 : draw(1000) / 500.0;
    note(s, "predict");
    if (CHECK_INT(vmafgpu_predict(v, features, &score), VMAFGPU_OK)) {
        memcpy(got, score.values, sizeof(double) * (size_t)columns);
        if (CHECK_INT(vmafgpu_predict(s->single_context, features, &score), VMAFGPU_OK))
            check_columns(v, got, score.values, "prediction", 0);
    }
    REFUSED(v, vmafgpu_predict(v, NULL, &score), VMAFGPU_ERROR_ARGUMENT);
}

/* ---- calls: single pairs ---- */

typedef struct candidates {
    int has_previous, count;
    image previous, reference, distorted[MOST_CANDIDATES];
    stored frames[2 + MOST_CANDIDATES];
    int made;
} candidates;

static int add_frame(sequence *s, candidates *c, image *shown, int side) {
    const vmafgpu_memory memory = choose_memory(s);
    *shown = choose_image(s, side, memory);
    if (!stored_make(&c->frames[c->made], shown, &s->config, memory))
        return 0;
    c->made++;
    return 1;
}

static int candidates_make(sequence *s, candidates *c) {
    int fine = 1;
    c->made = 0;
    c->has_previous = one_in(2);
    c->count = between(1, s->config.max_candidates);
    fine = add_frame(s, c, &c->previous, REFERENCE) && add_frame(s, c, &c->reference, REFERENCE);
    for (int i = 0; i < c->count && fine; i++)
        fine = add_frame(s, c, &c->distorted[i], DISTORTED);
    return fine;
}

static int has_device_frame(const candidates *c) {
    int found = 0;
    for (int i = 0; i < c->made; i++)
        found |= c->frames[i].frame.memory >= VMAFGPU_MEMORY_DEVICE;
    return found;
}

static void candidates_free(candidates *c) {
    for (int i = 0; i < c->made; i++)
        stored_free(&c->frames[i]);
}

/* Scores a pair in a plain context. */
static int score_plain_pair(sequence *s, const image *previous, const image *reference, const image *distorted,
                            vmafgpu_score *score) {
    const image *const shown[3] = { previous, reference, distorted };
    stored frames[3];
    vmafgpu_result result;
    memset(frames, 0, sizeof frames);
    for (int i = 0; i < 3; i++)
        if (shown[i])
            stored_make(&frames[i], shown[i], &s->single, VMAFGPU_MEMORY_HOST);
    result = vmafgpu_score_pair(s->single_context, &frames[1].frame, &frames[2].frame,
                                previous ? &frames[0].frame : NULL, score);
    for (int i = 0; i < 3; i++)
        stored_free(&frames[i]);
    return CHECK_INT(result, VMAFGPU_OK);
}

static void check_candidates(sequence *s, const candidates *c, const vmafgpu_score *scores) {
    static double got[MOST_CANDIDATES][MOST_COLUMNS];
    for (int i = 0; i < c->count; i++)
        memcpy(got[i], scores[i].values, sizeof(double) * (size_t)main_clip(s)->columns);
    for (int i = 0; i < c->count; i++) {
        vmafgpu_score expected;
        if (score_plain_pair(s, c->has_previous ? &c->previous : NULL, &c->reference, &c->distorted[i], &expected)) {
            check_columns(s->single_context, got[i], expected.values, "candidate", i);
            total.singles++;
        }
    }
}

static void call_score_pair(sequence *s) {
    static candidates c;
    vmafgpu_frame distorted[MOST_CANDIDATES];
    vmafgpu_score scores[MOST_CANDIDATES];
    vmafgpu *v = context_of(s);
    if (candidates_make(s, &c)) {
        const vmafgpu_frame *previous = c.has_previous ? &c.frames[0].frame : NULL;
        vmafgpu_result result;
        for (int i = 0; i < c.count; i++)
            distorted[i] = c.frames[2 + i].frame;
        note(s, "score_pair, %d candidates, memory %d, previous %d", c.count, (int)c.frames[1].frame.memory,
             c.has_previous);
        result = c.count == 1 && one_in(2)
                     ? vmafgpu_score_pair(v, &c.frames[1].frame, &distorted[0], previous, &scores[0])
                     : vmafgpu_score_candidates(v, &c.frames[1].frame, distorted, c.count, previous, scores);
        if (result == VMAFGPU_ERROR_STATE && s->acquired_count && s->uses_gpu) {
            CHECK(is_refusal(v, result));
        } else if (check_done(s, result, has_device_frame(&c), __FILE__, __LINE__)) {
            s->base = NO_BASE;
            check_candidates(s, &c, scores);
        }
        s->base = s->base == BASE ? MAYBE_BASE : s->base;
    }
    candidates_free(&c);
}

static void call_score_wrong(sequence *s) {
    vmafgpu *v = context_of(s);
    const image shown = choose_image(s, REFERENCE, VMAFGPU_MEMORY_SURFACE);
    vmafgpu_score scores[MOST_CANDIDATES + 1];
    vmafgpu_frame many[MOST_CANDIDATES + 1];
    stored good;
    stored_make(&good, &shown, &s->config, VMAFGPU_MEMORY_HOST);
    for (int i = 0; i <= MOST_CANDIDATES; i++)
        many[i] = good.frame;
    note(s, "invalid single pairs");
    REFUSED(v, vmafgpu_score_pair(v, NULL, &many[0], NULL, scores), VMAFGPU_ERROR_ARGUMENT);
    REFUSED(v, vmafgpu_score_pair(v, &many[0], NULL, NULL, scores), VMAFGPU_ERROR_ARGUMENT);
    REFUSED(v, vmafgpu_score_pair(v, &many[0], &many[0], NULL, NULL), VMAFGPU_ERROR_ARGUMENT);
    REFUSED(v, vmafgpu_score_candidates(v, &many[0], many, 0, NULL, scores), VMAFGPU_ERROR_ARGUMENT);
    REFUSED(v, vmafgpu_score_candidates(v, &many[0], many, s->config.max_candidates + 1, NULL, scores),
            VMAFGPU_ERROR_ARGUMENT);
    many[s->config.max_candidates - 1].data[0] = NULL;
    REFUSED(v, vmafgpu_score_candidates(v, &good.frame, many, s->config.max_candidates, NULL, scores),
            VMAFGPU_ERROR_ARGUMENT);
    stored_free(&good);
}

/* ---- calls: several contexts ---- */

static void open_peers(sequence *s) {
    for (; s->clip_count < MOST_CLIPS; s->clip_count++) {
        track *c = &s->clips[s->clip_count];
        vmafgpu_config config = s->config;
        const vmafgpu_config *got = vmafgpu_get_config(context_of(s));
        config.on_score = NULL;
        config.on_reusable = NULL;
        config.on_heatmap_user = &c->maps;
        config.max_edit_size = config.map_block_size = config.slopes = 0;
        memset(c, 0, sizeof *c);
        if (vmafgpu_open(&c->context, &config) != VMAFGPU_OK) {
            CHECK(has_failed(s) || is_out_of_memory(s));
            vmafgpu_close(c->context);
            c->context = NULL;
            return;
        }
        c->step = got->subsample;
        c->columns = vmafgpu_column_count(c->context);
    }
}

static void call_push_many(sequence *s) {
    vmafgpu *contexts[MOST_CLIPS];
    vmafgpu_frame distorted[MOST_CLIPS];
    stored frames[MOST_CLIPS + 1];
    image shown[MOST_CLIPS + 1];
    vmafgpu_result result;
    int count;
    if ((s->uses_gpu && s->config.gpu.frame_memory != VMAFGPU_MEMORY_HOST) || main_clip(s)->is_flushed ||
        main_clip(s)->tails || s->acquired_count || s->config.gpu.open_in_background || s->map.state || !has_place(s)) {
        return;
    }
    open_peers(s);
    count = s->clip_count;
    for (int i = 1; i < count; i++)
        if (s->clips[i].count >= MOST_PAIRS - 8 || s->clips[i].is_flushed)
            return;
    for (int i = 0; i <= count; i++) {
        shown[i] = choose_image(s, i > 0, VMAFGPU_MEMORY_HOST);
        stored_make(&frames[i], &shown[i], &s->config, VMAFGPU_MEMORY_HOST);
        if (i) {
            distorted[i - 1] = frames[i].frame;
            contexts[i - 1] = s->clips[i - 1].context;
        }
    }
    note(s, "push_many, %d contexts", count);
    result = vmafgpu_push_many(contexts, count, &frames[0].frame, distorted, NULL);
    if (result == VMAFGPU_ERROR_UNREAD_SCORES)
        CHECK(s->config.discard_scores);
    if (result == VMAFGPU_ERROR_UNREAD_SCORES || !DONE(s, result)) {
        for (int i = 0; i < count; i++)
            s->clips[i].is_unsure = 1;
        s->base = s->base == BASE ? MAYBE_BASE : s->base;
    } else {
        pair_accepted(s, &shown[0], &shown[1]);
        for (int i = 1; i < count; i++) {
            clip_add(&s->clips[i], &shown[0], &shown[1 + i]);
            collect_scores(s, &s->clips[i], draw(3));
        }
    }
    contexts[draw(count)] = NULL;
    REFUSED(NULL, vmafgpu_push_many(contexts, count, &frames[0].frame, distorted, NULL), VMAFGPU_ERROR_ARGUMENT);
    for (int i = 0; i <= count; i++)
        stored_free(&frames[i]);
}

/* ---- calls: edits ---- */

/* Begins a base in a context. `config` contains the layout of the frames. */
static vmafgpu_result begin_edits(vmafgpu *context, const image *const shown[4], const vmafgpu_config *config,
                                  int is_plain, const vmafgpu_memory *memory, vmafgpu_score *score) {
    stored frames[4];
    const vmafgpu_frame *given[4] = { NULL, NULL, NULL, NULL };
    vmafgpu_result result;
    int fine = 1;
    memset(frames, 0, sizeof frames);
    for (int i = 0; i < 4 && fine; i++) {
        if (shown[i]) {
            fine = stored_make(&frames[i], shown[i], config, is_plain ? VMAFGPU_MEMORY_HOST : memory[i]);
            given[i] = &frames[i].frame;
        }
    }
    result = fine ? vmafgpu_edit_begin(context, given[1], given[3], given[0], given[2], score) : VMAFGPU_AGAIN;
    for (int i = 0; i < 4; i++)
        stored_free(&frames[i]);
    return result;
}

static void call_edit_begin(sequence *s) {
    vmafgpu *v = context_of(s);
    static double got[MOST_COLUMNS];
    vmafgpu_memory memory[4];
    image chosen[4];
    const image *shown[4];
    const int is_same = one_in(6);
    vmafgpu_score score;
    vmafgpu_result result;
    for (int i = 0; i < 4; i++) {
        memory[i] = choose_memory(s);
        chosen[i] = choose_image(s, i == 3, memory[i]);
        chosen[i].pixels = VMAFGPU_PIXELS_YUV;
    }
    shown[0] = one_in(2) ? &chosen[0] : NULL;
    shown[1] = &chosen[1];
    shown[2] = one_in(2) ? &chosen[2] : NULL;
    shown[3] = is_same ? NULL : &chosen[3];
    note(s, "edit_begin, previous %d, following %d, memory %d", shown[0] != NULL, shown[2] != NULL, (int)memory[1]);
    result = begin_edits(v, shown, &s->config, 0, memory, &score);
    if (!s->config.max_edit_size) {
        if (result != VMAFGPU_AGAIN)
            REFUSED(v, result, VMAFGPU_ERROR_STATE);
        return;
    }
    if (result == VMAFGPU_AGAIN)
        return; /* the frames could not be created */
    s->base = NO_BASE;
    if (result == VMAFGPU_ERROR_STATE && s->acquired_count && s->uses_gpu)
        return;
    if (!DONE_OR_LOST(s, result))
        return;
    memcpy(got, score.values, sizeof(double) * (size_t)main_clip(s)->columns);
    s->base = BASE;
    s->edited.has_previous = shown[0] != NULL;
    s->edited.has_following = shown[2] != NULL;
    s->edited.previous = chosen[0];
    s->edited.reference = chosen[1];
    s->edited.following = chosen[2];
    s->edited.distorted = is_same ? chosen[1] : chosen[3];
    memcpy(s->edited.luma, image_plane(&s->edited.distorted, 0), 2 * plane_samples(0));
    s->edited.distorted.luma = s->edited.luma;
    shown[3] = &s->edited.distorted;
    if (CHECK_INT(begin_edits(s->editor, shown, &s->single, 1, NULL, &score), VMAFGPU_OK))
        check_columns(v, got, score.values, "base", 0);
}

/* Edits for the context, and the same edits in a plain format for the plain context `editor`. */
typedef struct edits {
    int count, bad;
    vmafgpu_edit ours[MOST_EDITS], plain[MOST_EDITS];
    uint16_t *samples[MOST_EDITS];
    unsigned char *bytes[MOST_EDITS], *plain_bytes[MOST_EDITS];
    uint64_t device[MOST_EDITS];
} edits;

static int edit_sample(const sequence *s, int kind, int x, int y) {
    const int at = y * content.width + x, top = (1 << content.depth) - 1;
    return kind == 0   ? draw(top + 1)
           : kind == 1 ? image_plane(&s->edited.reference, 0)[at]
                       : s->edited.luma[at] ^ draw(2);
}

static void place_edit(const sequence *s, vmafgpu_edit *e) {
    const int w = content.width, h = content.height, most = s->config.max_edit_size;
    e->width = between(1, w < most ? w : most);
    e->height = between(1, h < most ? h : most);
    e->x = one_in(4) ? w - e->width : draw(w - e->width + 1);
    e->y = one_in(4) ? h - e->height : draw(h - e->height + 1);
    e->skip_score = one_in(4);
}

static void fill_edit(sequence *s, edits *e, int i) {
    const format f = format_of(&s->config), plain = format_of(&s->single);
    vmafgpu_edit *to = &e->ours[i];
    const int count = to->width * to->height, kind = draw(3), turns = one_in(5);
    const ptrdiff_t row = (ptrdiff_t)to->width * f.bytes;
    e->samples[i] = (uint16_t *)malloc(2 * (size_t)count);
    e->bytes[i] = (unsigned char *)malloc((size_t)(count * f.bytes));
    e->plain_bytes[i] = (unsigned char *)malloc((size_t)(count * plain.bytes));
    test_need(e->samples[i] && e->bytes[i] && e->plain_bytes[i], "out of memory");
    for (int k = 0; k < count; k++) {
        const int x = k % to->width, y = k / to->width, value = edit_sample(s, kind, to->x + x, to->y + y);
        e->samples[i][k] = (uint16_t)value;
        put_sample(e->bytes[i] + (turns ? to->height - 1 - y : y) * row + x * f.bytes, (unsigned)value << f.shift,
                   f.bytes);
        put_sample(e->plain_bytes[i] + k * plain.bytes, (unsigned)value, plain.bytes);
    }
    e->plain[i] = *to;
    e->plain[i].data = e->plain_bytes[i];
    to->data = e->bytes[i] + (turns ? (to->height - 1) * row : 0);
    to->pitch = turns ? -row : one_in(2) ? row : 0;
    if (!turns && s->uses_gpu && !s->config.gpu.devices && is_on_gpu(s) && one_in(4) &&
        succeeds(the_gpu.take(&e->device[i], (size_t)(count * f.bytes)))) {
        if (succeeds(the_gpu.write(e->device[i], e->bytes[i], (size_t)(count * f.bytes)))) {
            to->memory = VMAFGPU_MEMORY_DEVICE;
            to->data = (const void *)(uintptr_t)e->device[i];
        }
    }
}

/* Makes an edit invalid. */
static void make_invalid_edit(vmafgpu_edit *e, int most) {
    switch (draw(7)) {
    case 0: e->x = -1; break;
    case 1: e->width = 0; break;
    case 2: e->x = INT32_MAX; break;
    case 3: e->width = INT32_MAX; break;
    case 4: e->data = NULL; break;
    case 5: e->y = INT32_MIN; break;
    default: e->height = most + 1; break;
    }
}

static void edits_make(sequence *s, edits *e, int most, int may_be_bad) {
    memset(e, 0, sizeof *e);
    e->count = between(1, most);
    e->bad = may_be_bad && one_in(6) ? draw(e->count) : -1;
    for (int i = 0; i < e->count; i++) {
        if (i && one_in(3)) {
            const vmafgpu_edit *before = &e->ours[i - 1];
            e->ours[i].x = before->x;
            e->ours[i].y = before->y;
            e->ours[i].width = before->width;
            e->ours[i].height = before->height;
        } else {
            place_edit(s, &e->ours[i]);
        }
        fill_edit(s, e, i);
    }
    if (e->bad >= 0) {
        const void *data = e->ours[e->bad].data;
        make_invalid_edit(&e->ours[e->bad], s->config.max_edit_size);
        e->plain[e->bad].x = e->ours[e->bad].x;
        e->plain[e->bad].y = e->ours[e->bad].y;
        e->plain[e->bad].width = e->ours[e->bad].width;
        e->plain[e->bad].height = e->ours[e->bad].height;
        e->plain[e->bad].data = e->ours[e->bad].data == data ? e->plain[e->bad].data : NULL;
    }
}

static void edits_free(edits *e) {
    for (int i = 0; i < MOST_EDITS; i++) {
        free(e->samples[i]);
        free(e->bytes[i]);
        free(e->plain_bytes[i]);
        if (e->device[i])
            (void)succeeds(the_gpu.give(e->device[i]));
    }
}

static void apply_edit(uint16_t *luma, const edits *e, int i) {
    for (int k = 0; k < e->plain[i].width * e->plain[i].height; k++) {
        luma[(e->plain[i].y + k / e->plain[i].width) * content.width + e->plain[i].x + k % e->plain[i].width] =
            e->samples[i][k];
    }
}

/* Compares the score of an edit with the score of the whole changed frame in a clip. */
static void check_whole_frame(sequence *s, const uint16_t *luma, const double *got) {
    image changed = s->edited.distorted;
    const image *clip_images[3][2];
    int count = 0;
    vmafgpu_score score;
    changed.luma = luma;
    if (s->looks_far)
        return;
    if (s->edited.has_previous) {
        clip_images[count][0] = clip_images[count][1] = &s->edited.previous;
        count++;
    }
    clip_images[count][0] = &s->edited.reference;
    clip_images[count++][1] = &changed;
    if (s->edited.has_following) {
        clip_images[count][0] = clip_images[count][1] = &s->edited.following;
        count++;
    }
    CHECK_INT(vmafgpu_reset(s->single_context), VMAFGPU_OK);
    for (int i = 0; i < count; i++) {
        stored reference, distorted;
        stored_make(&reference, clip_images[i][0], &s->single, VMAFGPU_MEMORY_HOST);
        stored_make(&distorted, clip_images[i][1], &s->single, VMAFGPU_MEMORY_HOST);
        CHECK_INT(vmafgpu_push(s->single_context, &reference.frame, &distorted.frame), VMAFGPU_OK);
        stored_free(&reference);
        stored_free(&distorted);
    }
    CHECK_INT(vmafgpu_flush(s->single_context), VMAFGPU_OK);
    if (CHECK_INT(vmafgpu_score_at(s->single_context, s->edited.has_previous, &score), VMAFGPU_OK))
        check_columns(s->single_context, got, score.values, "a whole frame", 0);
    total.edits++;
}

static void check_edit_scores(const edits *e, const vmafgpu_edit_score *got, const vmafgpu_edit_score *expected) {
    for (int i = 0; i < e->count; i++) {
        CHECK_INT(got[i].result, expected[i].result);
        CHECK_BITS(got[i].score, expected[i].score);
        CHECK_BITS(got[i].change, expected[i].change);
        if (got[i].result == VMAFGPU_OK)
            CHECK(memcmp(&got[i].sums, &expected[i].sums, sizeof got[i].sums) == 0);
    }
}

/* Whether a call for edits failed because there is no base. If it is certain that there is none, checks the result of
 * the call. */
static int has_no_base(sequence *s, vmafgpu_result result) {
    if (s->base == NO_BASE) {
        if (!is_excused(s, result))
            REFUSED(context_of(s), result, VMAFGPU_ERROR_STATE);
        return 1;
    }
    if (s->base == MAYBE_BASE && result == VMAFGPU_ERROR_STATE) {
        s->base = NO_BASE;
        return 1;
    }
    if (is_excused(s, result)) {
        s->base = NO_BASE;
        return 1;
    }
    return 0;
}

/* In most cases, begins a base for the next edits. */
static void need_base(sequence *s) {
    if (s->config.max_edit_size && s->base != BASE && !one_in(5))
        call_edit_begin(s);
}

static void call_edit_try(sequence *s) {
    static double values[MOST_EDITS * MOST_COLUMNS], expected_values[MOST_EDITS * MOST_COLUMNS];
    vmafgpu_edit_score got[MOST_EDITS], expected[MOST_EDITS];
    const int columns = main_clip(s)->columns;
    edits e;
    vmafgpu_result result, plain;
    if (!s->config.max_edit_size && !one_in(4))
        return;
    need_base(s);
    edits_make(s, &e, MOST_EDITS, 1);
    note(s, "edit_try, %d edits, wrong %d", e.count, e.bad);
    result = vmafgpu_edit_try(context_of(s), e.ours, e.count, got, values);
    if (!has_no_base(s, result)) {
        plain = vmafgpu_edit_try(s->editor, e.plain, e.count, expected, expected_values);
        CHECK_INT(result, plain);
        CHECK(e.bad < 0 || result < 0 || e.ours[e.bad].height <= content.height);
        check_edit_scores(&e, got, expected);
        total.tried += e.count;
        for (int i = 0; i < e.count; i++)
            check_columns(s->single_context, values + i * columns, expected_values + i * columns, "edit", i);
        {
            const int i = draw(e.count);
            if (i != e.bad && !e.ours[i].skip_score && result == VMAFGPU_OK) {
                uint16_t *luma = (uint16_t *)malloc(2 * plane_samples(0));
                test_need(luma != NULL, "out of memory");
                memcpy(luma, s->edited.luma, 2 * plane_samples(0));
                apply_edit(luma, &e, i);
                check_whole_frame(s, luma, values + i * columns);
                free(luma);
            }
        }
    }
    edits_free(&e);
}

static void call_edit_commit(sequence *s) {
    static double values[MOST_COLUMNS];
    vmafgpu_score got, expected;
    edits e;
    vmafgpu_result result;
    if (!s->config.max_edit_size && !one_in(4))
        return;
    need_base(s);
    edits_make(s, &e, 3, 1);
    note(s, "edit_commit, %d edits, wrong %d", e.count, e.bad);
    result = vmafgpu_edit_commit(context_of(s), e.ours, e.count, &got);
    if (!has_no_base(s, result)) {
        if (result == VMAFGPU_OK)
            memcpy(values, got.values, sizeof(double) * (size_t)main_clip(s)->columns);
        if (CHECK_INT(result, vmafgpu_edit_commit(s->editor, e.plain, e.count, &expected)) && result == VMAFGPU_OK) {
            check_columns(s->single_context, values, expected.values, "commit", 0);
            for (int i = 0; i < e.count; i++)
                apply_edit(s->edited.luma, &e, i);
            check_whole_frame(s, s->edited.luma, values);
        }
    }
    edits_free(&e);
}

static void call_edit_gradient(sequence *s) {
    vmafgpu_gradient got, expected;
    vmafgpu_result result;
    memset(&got, 0, sizeof got);
    memset(&expected, 0, sizeof expected);
    need_base(s);
    note(s, "edit_gradient");
    result = vmafgpu_edit_gradient(context_of(s), &got);
    if (!has_no_base(s, result) && CHECK_INT(result, vmafgpu_edit_gradient(s->editor, &expected))) {
        check_row((const double *)(const void *)&got, (const double *)(const void *)&expected,
                  (int)(sizeof got / sizeof(double)));
    }
}

static void check_blocks(const vmafgpu_block *got, const vmafgpu_block *expected, int count) {
    for (int i = 0; i < count; i++) {
        CHECK_BITS(got[i].loss, expected[i].loss);
        CHECK(memcmp(&got[i].sums, &expected[i].sums, sizeof got[i].sums) == 0);
    }
}

static void call_edit_map(sequence *s) {
    const int size = between(4, 80);
    int across = 0, down = 0;
    vmafgpu_result result;
    need_base(s);
    note(s, "edit_map in blocks of %d", size);
    result = vmafgpu_edit_blocks(context_of(s), size, NULL, &across, &down);
    if (!has_no_base(s, result) && CHECK_INT(result, VMAFGPU_OK)) {
        vmafgpu_block *got = (vmafgpu_block *)malloc(2 * sizeof *got * (size_t)(across * down)),
                      *expected = got + across * down;
        test_need(got != NULL, "out of memory");
        result = vmafgpu_edit_blocks(context_of(s), size, got, &across, &down);
        if (!has_no_base(s, result) &&
            CHECK_INT(result, vmafgpu_edit_blocks(s->editor, size, expected, &across, &down)) && result == VMAFGPU_OK) {
            check_blocks(got, expected, across * down);
            total.maps++;
        }
        free(got);
        REFUSED(context_of(s), vmafgpu_edit_blocks(context_of(s), 3, NULL, &across, &down),
                s->base == NO_BASE ? VMAFGPU_ERROR_STATE : VMAFGPU_ERROR_ARGUMENT);
    }
}

/* Checks that slopes in f->host are those in `expected`, and that no other float has changed. */
static void check_planes(const sequence *s, const floats *f, int pitch, const float *expected) {
    const int w = s->config.width, h = s->config.height;
    int is_same = 1;
    for (int y = 0; y < h; y++) {
        is_same &= memcmp(f->host + y * pitch, expected + y * w, sizeof *expected * (size_t)w) == 0;
        for (int x = w; x < pitch; x++)
            is_same &= f->host[y * pitch + x] == UNWRITTEN;
    }
    CHECK(is_same && f->host[pitch * h] == UNWRITTEN);
    total.slopes++;
}

/* Compares slopes of the base with those of the plain context. */
static void call_edit_slopes(sequence *s) {
    const int w = s->config.width, h = s->config.height, pitch = w + draw(3);
    floats got = VMAFGPU_INIT;
    float *expected;
    vmafgpu_result result;
    need_base(s);
    if (floats_make(s, &got, (size_t)pitch * (size_t)h + 1)) {
        note(s, "edit_slopes, pitch %d, memory %d", 4 * pitch, (int)got.kind);
        result = vmafgpu_edit_slopes(context_of(s), floats_address(&got), 4 * (ptrdiff_t)pitch, got.kind);
        expected = (float *)malloc(sizeof *expected * (size_t)w * (size_t)h);
        test_need(expected != NULL, "out of memory");
        if (!s->config.slopes) {
            REFUSED(context_of(s), result, VMAFGPU_ERROR_STATE);
        } else if (!has_no_base(s, result) && CHECK_INT(result, VMAFGPU_OK) &&
                   CHECK_INT(vmafgpu_edit_slopes(s->editor, expected, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK) &&
                   floats_fetch(&got)) {
            check_planes(s, &got, pitch, expected);
        }
        free(expected);
    }
    floats_free(&got);
}

/* If the score of the pair is ready, compares its slopes with those of the plain context. Slopes in device memory are
 * written in stream order, so the test waits for them. */
static void check_slopes(sequence *s) {
    const int w = s->config.width, h = s->config.height;
    const image *const shown[4] = { s->slopes.has_previous ? &s->slopes.previous : NULL, &s->slopes.reference,
                                    s->slopes.has_following && !s->config.live ? &s->slopes.following : NULL,
                                    &s->slopes.distorted };
    float *expected;
    vmafgpu_score score;
    if (s->slopes.state != 2 || vmafgpu_score_count(context_of(s)) <= s->slopes.row)
        return;
    s->slopes.state = 0;
    if (s->slopes.memory.device)
        DONE(s, vmafgpu_wait(context_of(s), -1));
    if (s->looks_far || !floats_fetch(&s->slopes.memory) || has_failed(s) || main_clip(s)->has_illegal ||
        (main_clip(s)->tails && !s->slopes.has_following)) {
        return;
    }
    expected = (float *)malloc(sizeof *expected * (size_t)w * (size_t)h);
    test_need(expected != NULL, "out of memory");
    if (CHECK_INT(begin_edits(s->reviewer, shown, &s->single, 1, NULL, &score), VMAFGPU_OK) &&
        CHECK_INT(vmafgpu_edit_slopes(s->reviewer, expected, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK))
        check_planes(s, &s->slopes.memory, s->slopes.pitch, expected);
    free(expected);
}

static void call_slopes_next(sequence *s) {
    vmafgpu *v = context_of(s);
    float one;
    vmafgpu_result result;
    check_slopes(s);
    if (!s->config.slopes) {
        if (one_in(4)) {
            note(s, "slopes_next without slopes");
            REFUSED(v, vmafgpu_slopes_next(v, &one, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
        }
        return;
    }
    if (s->slopes.state == 2 && s->uses_gpu) {
        note(s, "wait for slopes");
        DONE(s, vmafgpu_wait(v, -1));
        check_slopes(s);
    }
    if (s->slopes.state == 2)
        return;
    if (s->slopes.state == 1 && one_in(3)) {
        note(s, "no slopes");
        CHECK_INT(vmafgpu_slopes_next(v, NULL, 0, VMAFGPU_MEMORY_HOST), VMAFGPU_OK);
        check_unwritten(s);
        s->slopes.state = 0;
        return;
    }
    if (s->slopes.state == 1)
        return;
    s->slopes.pitch = s->config.width + draw(3);
    if (!floats_make(s, &s->slopes.memory, (size_t)s->slopes.pitch * (size_t)s->config.height + 1))
        return;
    note(s, "slopes_next, pitch %d, memory %d", 4 * s->slopes.pitch, (int)s->slopes.memory.kind);
    result = vmafgpu_slopes_next(v, floats_address(&s->slopes.memory), 4 * (ptrdiff_t)s->slopes.pitch,
                                 s->slopes.memory.kind);
    if (result == VMAFGPU_ERROR_STATE && is_on_gpu(s) && s->looks_far && s->config.max_edit_size)
        return; /* GPUs do not support the moving average of motion */
    if (DONE_OR_LOST(s, result))
        s->slopes.state = 1;
}

/* ---- calls: maps ---- */

static void call_map_next(sequence *s) {
    vmafgpu *v = context_of(s);
    vmafgpu_result result;
    if (!s->config.map_block_size) {
        if (one_in(4)) {
            float one;
            note(s, "map_next without maps");
            REFUSED(v, vmafgpu_request_map(v, &one, VMAFGPU_MEMORY_HOST), VMAFGPU_ERROR_STATE);
        }
        return;
    }
    if (s->map.state == 2) {
        note(s, "wait for a map");
        DONE(s, vmafgpu_wait(v, -1));
        check_map(s);
    }
    if (s->map.state == 1 && one_in(3)) {
        note(s, "no map");
        CHECK(vmafgpu_request_map(v, NULL, VMAFGPU_MEMORY_HOST) == VMAFGPU_OK || has_failed(s));
        s->map.state = 0;
    }
    if (s->map.state == 1 || !floats_make(s, &s->map.memory, (size_t)vmafgpu_map_blocks(v, NULL, NULL)))
        return;
    note(s, "map_next, memory %d", (int)s->map.memory.kind);
    result = vmafgpu_request_map(v, floats_address(&s->map.memory), s->map.memory.kind);
    if (DONE_OR_LOST(s, result))
        s->map.state = 1;
}

/* Compares a map with the blocks that vmafgpu_edit_blocks() returns for the same pair. */
static void check_map(sequence *s) {
    const image *const shown[4] = { s->map.has_previous ? &s->map.previous : NULL, &s->map.reference, NULL,
                                    &s->map.distorted };
    int across = 0, down = 0, differ = 0;
    vmafgpu_block *blocks;
    vmafgpu_score score;
    if (s->map.state != 2)
        return;
    s->map.state = 0;
    if (s->looks_far || !floats_fetch(&s->map.memory) || has_failed(s) || main_clip(s)->has_illegal)
        return;
    blocks = (vmafgpu_block *)malloc(sizeof *blocks * (size_t)vmafgpu_map_blocks(context_of(s), NULL, NULL));
    test_need(blocks != NULL, "out of memory");
    if (CHECK_INT(begin_edits(s->editor, shown, &s->single, 1, NULL, &score), VMAFGPU_OK) &&
        CHECK_INT(vmafgpu_edit_blocks(s->editor, s->config.map_block_size, blocks, &across, &down), VMAFGPU_OK)) {
        for (int i = 0; i < across * down; i++)
            differ += !test_same_bits((float)blocks[i].loss, s->map.memory.host[i]);
        CHECK_INT(differ, 0);
        total.maps++;
    }
    free(blocks);
}

/* ---- calls: other contexts ---- */

static void *no_free_alloc(void *user, size_t size) {
    (void)user;
    return malloc(size);
}

/* Makes a field of a config invalid. */
static void make_invalid_config(vmafgpu_config *c, vmafgpu_model_config *model, vmafgpu_feature_config *feature) {
    switch (draw(27)) {
    case 0: c->width = 15; return;
    case 1: c->width = 16385; return;
    case 2: c->height = -1; return;
    case 3: c->bit_depth = 7; return;
    case 4: c->bit_depth = 17; return;
    case 5: c->bytes_per_sample = 3; return;
    case 6: c->bit_depth = 10, c->bytes_per_sample = 1; return;
    case 7: c->chroma = (vmafgpu_chroma)9; return;
    case 8: c->layout = (vmafgpu_layout)7; return;
    case 9: c->model_count = 17; return;
    case 10: c->model_count = -1; return;
    case 11: c->feature_count = 33; return;
    case 12: c->subsample = -1; return;
    case 13: c->threads = 257; return;
    case 14: c->contexts_per_pass = 17; return;
    case 15: c->max_candidates = -1; return;
    case 16: c->live = 2; return;
    case 17: c->map_block_size = 3; return;
    case 18: c->max_edit_size = 257; return;
    case 19: c->backend = (vmafgpu_backend)9; return;
    case 20: c->allocator.allocate = no_free_alloc, c->allocator.release = NULL; return;
    case 21: c->float_reciprocal = (vmafgpu_reciprocal)9; return;
    case 22: c->features_only = 1, c->model_count = 0, c->feature_count = 0; return;
    case 23: c->colour.matrix = VMAFGPU_MATRIX_BT709, c->colour.range = VMAFGPU_RANGE_UNSTATED; return;
    case 24: model->version = "vmaf_v9", c->models = model, c->model_count = 1, c->features_only = 0; return;
    case 25: feature->name = "vof"; break;
    default: feature->name = "vif", feature->options = "vif_enhn_gain_limit=0.5"; break;
    }
    c->features = feature;
    c->feature_count = 1;
}

static void call_open_wrong(sequence *s) {
    vmafgpu_model_config model = VMAFGPU_INIT;
    vmafgpu_feature_config feature = VMAFGPU_INIT;
    vmafgpu_config c = s->config;
    vmafgpu *other = NULL;
    vmafgpu_result result;
    if (s->memory.fail_at)
        return; /* either context may fail */
    make_invalid_config(&c, &model, &feature);
    note(s, "open with an invalid config");
    result = vmafgpu_check_config(&c);
    if (!is_excused(s, result)) {
        CHECK(is_refusal(NULL, result));
        CHECK_INT(vmafgpu_open(&other, &c), result);
        CHECK(other && is_refusal(other, result) && is_refusal(NULL, result));
        vmafgpu_close(other);
        REFUSED(NULL, vmafgpu_open(NULL, &c), VMAFGPU_ERROR_ARGUMENT);
    }
}

/* Tests a context without frames, which only supports vmafgpu_predict(). */
static void call_no_frames(sequence *s) {
    static double features[MOST_COLUMNS], got[MOST_COLUMNS];
    const int columns = main_clip(s)->columns;
    const image shown = choose_image(s, REFERENCE, VMAFGPU_MEMORY_SURFACE);
    vmafgpu_config c = s->plain;
    vmafgpu *other = NULL;
    vmafgpu_score score;
    stored frame;
    if (c.features_only || c.model_features_only || !one_in(3))
        return;
    note(s, "open without frames, predict");
    c.predict_only = 1;
    c.live = 0;
    if (CHECK_INT(vmafgpu_open(&other, &c), VMAFGPU_OK)) {
        CHECK_INT(vmafgpu_column_count(other), columns);
        for (int i = 0; i < columns; i++)
            features[i] = draw(1000) / 500.0;
        stored_make(&frame, &shown, &s->plain, VMAFGPU_MEMORY_HOST);
        CHECK(is_refusal(other, vmafgpu_push(other, &frame.frame, &frame.frame)));
        stored_free(&frame);
        if (CHECK_INT(vmafgpu_predict(other, features, &score), VMAFGPU_OK)) {
            memcpy(got, score.values, sizeof(double) * (size_t)columns);
            CHECK_INT(vmafgpu_predict(s->single_context, features, &score), VMAFGPU_OK);
            check_columns(s->single_context, got, score.values, "prediction", 0);
        }
    }
    vmafgpu_close(other);
}

/* ---- calls: faults ---- */

static void call_fault(sequence *s) {
    static const char *const cuda[] = { NULL,
                                        NULL,
                                        "cuLaunchKernel",
                                        "cuMemcpyHtoDAsync_v2",
                                        "cuEventRecord",
                                        "cuEventQuery",
                                        "cuStreamSynchronize",
                                        "cuEventSynchronize",
                                        "cuStreamWaitEvent",
                                        "cuMemcpyDtoHAsync_v2" };
    static const char *const hip[] = { NULL,
                                       NULL,
                                       "hipModuleLaunchKernel",
                                       "hipMemcpyHtoDAsync",
                                       "hipEventRecord",
                                       "hipEventQuery",
                                       "hipStreamSynchronize",
                                       "hipEventSynchronize",
                                       "hipStreamWaitEvent",
                                       "hipMemcpyDtoHAsync" };
    static const int errors[] = { 2, 700, 719, 999 };
    const char *entry = the_gpu.is_hip ? PICK(hip) : PICK(cuda);
    const int error = PICK(errors), n = between(1, one_in(4) ? 300 : 30), is_loss = one_in(3);
    if (!s->uses_gpu || s->is_armed || options.no_faults)
        return;
    note(s, "%s fails, %d calls from now, error %d", is_loss ? "the device" : entry ? entry : "the driver", n, error);
    s->is_armed = 1;
    total.faults++;
    if (!is_loss) {
        the_gpu.sim.fail(entry, n, error);
    } else if (s->config.gpu.devices && one_in(2)) {
        s->is_lost = 1;
        the_gpu.sim.lose_device(draw(2), n, errors[1 + draw(3)]);
    } else {
        s->is_lost = 1;
        the_gpu.sim.lose(n, errors[1 + draw(3)]);
    }
    if (s->call && n <= 30)
        call_burst(s); /* so that pairs are in flight */
}

/* Makes the next allocations fail. Does nothing if other threads allocate memory because they open GPUs. */
static void call_no_memory(sequence *s) {
    if (options.no_faults || s->config.gpu.open_in_background || s->config.gpu.devices || !one_in(4) ||
        s->memory.failed)
        return;
    s->memory.fail_at = between(1, s->call ? 4 : 40);
    note(s, "the allocator fails, %ld allocations from now", s->memory.fail_at);
    total.faults++;
}

/* ---- the table of calls ---- */

/* clang-format off */
static const struct {
    void (*call)(sequence *);
    int weight;
} calls[] = {
    {call_push, 24},        {call_burst, 4},         {call_push_illegal, 1}, {call_push_wrong, 1},  {call_push_many, 6},
    {call_seed, 4},         {call_tail, 1},          {call_lend, 7},        {call_push_acquired, 7},
    {call_push_acquired_wrong, 1},
    {call_next, 6},         {call_flush, 3},         {call_reset, 3},       {call_reusable, 3},    {call_wait, 4},
    {call_wait_on_stream, 1}, {call_after_stream, 1}, {call_score_at, 3},    {call_value_at, 3},    {call_pool, 3},
    {call_percentile, 1},
    {call_names, 1},        {call_predict, 2},       {call_score_pair, 6},  {call_score_wrong, 1}, {call_edit_begin, 3},
    {call_edit_try, 6},     {call_edit_commit, 3},   {call_edit_gradient, 1}, {call_edit_map, 1},
    {call_edit_slopes, 3},  {call_slopes_next, 8},   {call_map_next, 8},
    {call_open_wrong, 1},   {call_no_frames, 1},     {call_fault, 4},       {call_no_memory, 1},
};
/* clang-format on */

static void one_call(sequence *s) {
    int sum = 0, at;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        sum += calls[i].weight;
    at = draw(sum);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        at -= calls[i].weight;
        if (at < 0) {
            calls[i].call(s);
            return;
        }
    }
}

/* ---- from open to close ---- */

static void choose_config(sequence *s) {
    const int kind = one_in(3) ? EDITS : one_in(4) ? MAPS : ORDINARY;
    vmafgpu_config *c = &s->config;
    choose_format(c);
    choose_models(s, kind);
    choose_features(s, kind);
    choose_rest(c, kind);
    if (kind != ORDINARY)
        c->on_heatmap = NULL;
    c->backend = VMAFGPU_BACKEND_CPU;
    if (has_gpu && !one_in(6))
        choose_gpu(s, kind);
    c->on_log = on_log;
    if (one_in(3)) {
        c->on_score = on_score;
        c->on_score_user = s;
    }
    if (one_in(3)) {
        c->on_reusable = on_reusable;
        c->on_reusable_user = s;
    }
    c->slopes = kind != ORDINARY && !c->features_only && one_in(2);
    c->allocator = tally_allocator(&s->memory);
    s->plain = plain_config(c);
    s->single = s->plain;
    s->single.subsample = 1;
    s->single.live = 0;
    s->single.max_edit_size = kind == EDITS ? c->max_edit_size : 0;
    s->single.slopes = c->slopes;
}

static void print_config(const sequence *s) {
    const vmafgpu_config *c = &s->config;
    printf("  %dx%d, %d bits, chroma %d, layout %d, bytes %d, colour %d, threads %d, subsample %d, live %d, discard "
           "%d, candidates %d, "
           "together %d, edits %d, maps %d, mask %u\n",
           c->width, c->height, c->bit_depth, (int)c->chroma, (int)c->layout, c->bytes_per_sample,
           (int)c->colour.matrix, c->threads, c->subsample, c->live, c->discard_scores, c->max_candidates,
           c->contexts_per_pass, c->max_edit_size, c->map_block_size, c->cpumask);
    printf("  backend %d, frames %d, batch %d, queue %d, devices %d, background %d, arithmetic %d, on_score %d, "
           "on_reusable %d, "
           "parallel_for %d\n",
           (int)c->backend, (int)c->gpu.frame_memory, c->gpu.batch, c->gpu.queue_depth, c->gpu.device_count,
           c->gpu.open_in_background, c->gpu.vif_arithmetic, c->on_score != NULL, c->on_reusable != NULL,
           c->parallel_for != NULL);
    for (int i = 0; i < c->model_count; i++) {
        printf("  model %s %s, no clip %d, transform %d\n", s->models[i].version,
               s->models[i].options ? s->models[i].options : "", s->models[i].disable_clip,
               s->models[i].enable_transform);
    }
    for (int i = 0; i < c->feature_count; i++)
        printf("  feature %s %s\n", s->features[i].name, s->features[i].options ? s->features[i].options : "");
}

/* Opens the context and the plain contexts. Returns 0 if both reject the config or a fault occurs. */
static int open_contexts(sequence *s) {
    track *c = main_clip(s);
    vmafgpu_config edits_too = s->single;
    vmafgpu_result result, plain;
    note(s, "open");
    total.opens++;
    plain = vmafgpu_open(&s->single_context, &s->single);
    if (plain != VMAFGPU_OK) {
        vmafgpu *context = NULL;
        result = vmafgpu_check_config(&s->config);
        CHECK(result == plain || is_excused(s, result));
        result = vmafgpu_open(&context, &s->config);
        CHECK(result == plain || is_excused(s, result));
        CHECK(is_refusal(context, result) || is_excused(s, result));
        vmafgpu_close(context);
        total.refused_opens++;
        return 0;
    }
    result = vmafgpu_open(&c->context, &s->config);
    if (result != VMAFGPU_OK) {
        CHECK(is_excused(s, result) || (result == VMAFGPU_ERROR_BACKEND && has_failed(s)));
        if (is_verbose || !(is_excused(s, result) || has_failed(s)))
            printf("  %s\n", vmafgpu_last_error(c->context));
        total.refused_opens++;
        return 0;
    }
    if (!edits_too.max_edit_size && s->config.map_block_size)
        edits_too.max_edit_size = 1;
    if (edits_too.max_edit_size)
        s->editor = open_plain(&edits_too);
    if (s->config.slopes)
        s->reviewer = open_plain(&edits_too);
    total.on_gpu += is_on_gpu(s);
    c->step = s->config.subsample;
    c->columns = vmafgpu_column_count(c->context);
    test_need(c->columns <= MOST_COLUMNS, "too many columns");
    return 1;
}

static void close_contexts(sequence *s) {
    for (int i = 0; i < s->clip_count; i++) {
        track *c = &s->clips[i];
        if (one_in(2) || i) {
            note(s, "flush of context %d", i);
            flush_clip(s, c);
        } else if (!c->is_flushed) {
            check_clip(s, c);
        }
    }
    note(s, "close");
    for (int i = 0; i < s->clip_count; i++) {
        vmafgpu_close(s->clips[i].context);
        s->clips[i].context = NULL;
    }
}

static void begin_driver(void) {
    gpu_begin(&the_gpu, draw(3), draw(5), random_state);
}

/* Checks for leaks in the driver. Objects of a lost device are freed with its context. */
static void end_driver(sequence *s) {
    gpu *g = &the_gpu;
    if (s->stream)
        g->stream_destroy(s->stream);
    /* a lost HIP device cannot be made current, which the simulation requires to free its frames */
    if (!s->is_lost || !g->is_hip || !strstr(g->sim.report(), "Free: no such allocation of the current context"))
        CHECK_STR(g->sim.report(), "");
    if (!s->is_lost)
        gpu_end(g);
}

/* Makes the first device current again, as it was before each call. After a fault, the library may have failed to
 * restore it. */
static void restore_device(const sequence *s) {
    if (the_gpu.is_hip && has_failed(s))
        (void)succeeds(the_gpu.set_device(0));
}

static void run_sequence(long run) {
    sequence *s = (sequence *)calloc(1, sizeof *s);
    const long failed = test_failed;
    int steps;
    test_need(s != NULL, "out of memory");
    current = s;
    s->run = run;
    s->clip_count = 1;
    random_begin((uint64_t)run, 0);
    if (has_gpu)
        begin_driver();
    choose_config(s);
    content_make(&s->config);
    s->edited.luma = (uint16_t *)malloc(2 * plane_samples(0));
    test_need(s->edited.luma != NULL, "out of memory");
    if (is_verbose)
        print_config(s);
    if (one_in(6))
        call_fault(s);
    if (one_in(4))
        call_no_memory(s);
    if (open_contexts(s)) {
        steps = between(8, 60);
        for (s->call = 1; s->call <= steps; s->call++) {
            random_begin((uint64_t)run, (uint64_t)s->call);
            one_call(s);
            restore_device(s);
        }
        close_contexts(s);
    } else {
        vmafgpu_close(context_of(s));
    }
    vmafgpu_close(s->single_context);
    vmafgpu_close(s->editor);
    vmafgpu_close(s->reviewer);
    note(s, "close, leaks");
    CHECK_INT(s->memory.live, 0);
    if (has_gpu) {
        const int was_hit = has_failed(s);
        the_gpu.sim.fail(NULL, 0, 0);
        the_gpu.sim.lose(0, 0);
        the_gpu.sim.lose_device(0, 0, 0);
        if (the_gpu.is_hip && was_hit)
            (void)succeeds(the_gpu.set_device(0));
    }
    floats_free(&s->map.memory);
    floats_free(&s->slopes.memory);
    for (int i = 0; i < s->kept_count; i++)
        stored_free(&s->kept[i]);
    if (has_gpu)
        end_driver(s);
    free(s->edited.luma);
    content_free();
    if (test_failed > failed) {
        printf("  repeat: fuzz_api --seed %llu --only %ld", (unsigned long long)options.seed, run);
        if (has_gpu)
            printf(" --backend %s --driver %s --kernels %s", options.backend, options.driver, options.kernels);
        printf("\n");
        fflush(stdout);
    }
    current = NULL;
    free(s);
    total.runs++;
}

/* ---- the program ---- */

/* Prints the sequence that was running when a sanitizer or a signal ended the program. */
static void print_sequence(void) {
    if (current) {
        fprintf(stderr, "fuzz_api was ended at [%s]; repeat: --seed %llu --only %ld\n", test_where,
                (unsigned long long)options.seed, current->run);
    }
}

static void on_signal(int number) {
    print_sequence();
    signal(number, SIG_DFL);
    raise(number);
}

#if defined(__GNUC__) && !defined(_WIN32)
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));
#endif

static void watch(void) {
#if defined(__GNUC__) && !defined(_WIN32)
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(print_sequence);
        return;
    }
#endif
    signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
    signal(SIGFPE, on_signal);
}

static int read_options(int argc, char **argv) {
    options.seed = (uint64_t)time(NULL);
    options.runs = 100;
    options.only = -1;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!strcmp(name, "--no-faults")) {
            options.no_faults = 1;
            continue;
        }
        if (!value)
            return 0;
        i++;
        if (!strcmp(name, "--seed"))
            options.seed = strtoull(value, NULL, 10);
        else if (!strcmp(name, "--first"))
            options.first = strtol(value, NULL, 10);
        else if (!strcmp(name, "--runs"))
            options.runs = strtol(value, NULL, 10);
        else if (!strcmp(name, "--seconds"))
            options.seconds = strtol(value, NULL, 10);
        else if (!strcmp(name, "--only"))
            options.only = strtol(value, NULL, 10);
        else if (!strcmp(name, "--driver"))
            options.driver = value;
        else if (!strcmp(name, "--kernels"))
            options.kernels = value;
        else if (!strcmp(name, "--backend"))
            options.backend = value;
        else
            return 0;
    }
    return !options.driver == !options.kernels && !options.driver == !options.backend;
}

static void run_all(void) {
    const time_t begin = time(NULL);
    long first = options.first, count = options.runs;
    if (options.only >= 0) {
        is_verbose = 1;
        first = options.only;
        count = 1;
        options.seconds = 0;
    }
    for (long i = 0; options.seconds ? time(NULL) - begin < options.seconds : i < count; i++) {
        run_sequence(first + i);
        if (test_failed > TEST_SHOWN)
            break;
    }
}

int main(int argc, char **argv) {
    if (!read_options(argc, argv)) {
        fprintf(stderr,
                "usage: %s [--seed N] [--first N] [--runs N] [--seconds N] [--only N] [--no-faults]\n"
                "    [--driver PATH --kernels PATH --backend cuda|hip]\n",
                argv[0]);
        return 2;
    }
    watch();
    if (options.driver) {
        gpu_find(&the_gpu, options.backend, options.driver, options.kernels);
        test_need(the_gpu.is_simulated, "the driver is not a simulated one");
        has_gpu = 1;
    }
    run_all();
    printf("fuzz_api: seed %llu, runs %ld to %ld, %s: %ld calls, %ld opens (%ld refused, %ld on a GPU), %ld pushes, "
           "%ld acquired, "
           "%ld refused calls, %ld faults, %ld pairs lost\n",
           (unsigned long long)options.seed, options.first, options.first + total.runs - 1,
           has_gpu ? options.driver : "CPU", total.calls, total.opens, total.refused_opens, total.on_gpu, total.pushes,
           total.acquired_pairs, total.refused, total.faults, total.lost);
    printf("fuzz_api: compared %ld pairs of clips, %ld single pairs, %ld edits, %ld of them with whole frames, %ld "
           "maps, %ld planes of slopes; %ld differences\n",
           total.pairs, total.singles, total.tried, total.edits, total.maps, total.slopes, test_failed);
    return test_end();
}
