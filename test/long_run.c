/* Scores the same short cycle of pairs again and again with a single context, like a server that runs for days. Each
 * score must have the bits that the CPU computes for its pair, and memory, allocations, descriptors and threads must
 * not grow after the first interval. The program prints these figures for each interval, and the latency, which is the
 * time from the start of a push to the delivery of the score. Latencies do not affect the result.
 *
 *     long_run [KEY=VALUE ...]
 *         pairs=3000 intervals=10     number of pairs (rounded up to at least three whole cycles); number of intervals
 *         cycle=8 size=64x48 bits=8   number of distinct pairs, and their format
 *         backend=cpu|cuda|hip        default: cpu. On a GPU, the frames are in device memory
 *         driver=FILE kernels=FILE    as VMAFGPU_TEST_DRIVER and VMAFGPU_TEST_KERNELS (CARDS.md)
 *         live=0|1                    config.live; default: 1
 *         threads=N batch=N queue=N   config.threads, config.gpu.batch, config.gpu.queue_depth
 *         leak=memory|allocation|descriptor|thread|device     leaks in each interval, so that the program must fail
 *
 * On systems without /proc, resident memory, descriptors and threads are not checked. */
#define _DEFAULT_SOURCE /* clock_gettime, dup, opendir, sysconf */
#define TEST_STATE
#include "gpu/gpu.h"
#include "bench.h"
#include "json.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

enum { MAX_IN_FLIGHT = 1024, BUCKETS = 64 * 64 };

typedef struct options {
    int width, height, bits, intervals, cycle, live, threads, batch, queue, pairs;
    const char *backend, *driver, *kernels, *leak;
} options;

/* ---- figures that must not grow ---- */

typedef enum figure { RESIDENT, DESCRIPTORS, THREADS, ALLOCATIONS, HOST, DEVICE, DRIVER, FIGURES } figure;

static const struct {
    const char *name;
    /* Allowed growth. The C library and the driver may touch a few more pages of memory that they already have. The
     * other figures must not grow at all. The last one includes other processes, which must not use the GPU. */
    int64_t tolerance;
} figures[FIGURES] = {
    { "resident memory", 1 << 20 },
    { "descriptors", 0 },
    { "threads", 0 },
    { "allocations", 0 },
    { "host memory of the context", 0 },
    { "device memory of the context", 0 },
    { "used memory of the GPU", 0 },
};

/* Returns the number of entries of a folder, or -1 if there is no such folder. */
static int64_t count_entries(const char *path) {
    DIR *folder = opendir(path);
    int64_t count = folder ? 0 : -1;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

static int64_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = -1;
    if (file && fscanf(file, "%*s %ld", &pages) != 1)
        pages = -1;
    if (file)
        fclose(file);
    return pages < 0 ? -1 : (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Returns the number of bytes that all programs use on the GPU, or -1. */
static int64_t driver_bytes(const gpu *g) {
    int (*memory_info)(size_t *available, size_t *total) = NULL;
    size_t available = 0, total = 0;
    if (!g ||
        !gpu_find_function((gpu *)g, g->is_hip ? "?hipMemGetInfo" : "?cuMemGetInfo_v2", &memory_info,
                           sizeof memory_info) ||
        !memory_info || memory_info(&available, &total) != 0)
        return -1;
    return (int64_t)(total - available);
}

/* The allocator of the context: counts calls, and writes to all memory, so that its pages are resident. */
static void *count_allocation(void *user, size_t size) {
    int64_t *calls = (int64_t *)user;
    void *memory = malloc(size);
    test_need(memory != NULL, "out of memory");
    memset(memory, 0xA5, size);
    __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
    return memory;
}

static void release(void *user, void *memory) {
    (void)user;
    free(memory);
}

static void measure(vmafgpu *context, const gpu *g, int64_t allocations, int64_t *values) {
    static char text[16384];
    values[RESIDENT] = resident_bytes();
    values[DESCRIPTORS] = count_entries("/proc/self/fd"); /* includes the descriptor of the open folder */
    values[THREADS] = count_entries("/proc/self/task");
    values[ALLOCATIONS] = allocations;
    CHECK(vmafgpu_describe(context, text, sizeof text) < sizeof text && json_is_valid(text));
    values[HOST] = json_whole(text, "memory.host");
    values[DEVICE] = json_whole(text, "memory.device");
    CHECK_INT(json_whole(text, "counts.failed"), 0);
    CHECK_STR(vmafgpu_backend_note(context), "");
    values[DRIVER] = driver_bytes(g);
}

/* ---- latencies ---- */

/* Counts of latencies in nanoseconds. A bucket is 1 ns wide, or at most 1/64 of its lower bound. */
typedef struct histogram {
    int64_t counts[BUCKETS], total;
    uint64_t most;
} histogram;

static void histogram_add(histogram *h, uint64_t nanoseconds) {
    int shift = 0;
    while (nanoseconds >> shift >= 128)
        shift++;
    h->counts[64 * shift + (int)(nanoseconds >> shift)]++;
    h->total++;
    h->most = nanoseconds > h->most ? nanoseconds : h->most;
}

/* Returns the upper bound of the bucket that contains the p-quantile, in milliseconds. */
static double histogram_quantile(const histogram *h, double p) {
    const int64_t rank = (int64_t)(p * (double)h->total);
    int64_t sum = 0;
    int i = 0;
    while (i < BUCKETS - 1 && (sum += h->counts[i]) <= rank)
        i++;
    const int shift = i < 128 ? 0 : i / 64 - 1;
    const uint64_t bound = (uint64_t)(i - 64 * shift + 1) << shift;
    return 1e-6 * (double)(bound < h->most ? bound : h->most);
}

/* ---- scores ---- */

typedef struct run {
    const options *o;
    int columns;
    double *expected;             /* from the CPU, for three cycles: first, middle, last */
    double begun[MAX_IN_FLIGHT];  /* when the push of a pair began, by index % MAX_IN_FLIGHT */
    int64_t delivered, differing; /* differing: number of scores that are missing, out of order or wrong */
    histogram latencies;
} run;

/* The first pair has no predecessor and, without config.live, the last pair has no successor. Hence the scores of the
 * first and the last cycle can differ from those of all other cycles. */
static const double *expected_row(const run *r, int64_t index) {
    const int cycle = r->o->cycle, place = (int)(index % cycle);
    const int row = index < cycle ? place : index < r->o->pairs - cycle ? cycle + place : 2 * cycle + place;
    return r->expected + (size_t)row * (size_t)r->columns;
}

static void on_score(void *user, const vmafgpu_score *score) {
    run *r = (run *)user;
    histogram_add(&r->latencies, (uint64_t)(1e9 * (now() - r->begun[score->index % MAX_IN_FLIGHT])));
    r->differing += score->result != VMAFGPU_OK || score->index != r->delivered ||
                    memcmp(score->values, expected_row(r, score->index), sizeof(double) * (size_t)r->columns) != 0;
    r->delivered++;
}

static void expect(run *r, const film *f, const vmafgpu_config *config) {
    vmafgpu_config plain = *config;
    scores s;
    plain.backend = VMAFGPU_BACKEND_CPU;
    plain.threads = 1;
    memset(&plain.gpu, 0, sizeof plain.gpu);
    vmafgpu *context = open_checked(&plain);
    test_need(context != NULL, "the CPU cannot open a context");
    for (int i = 0; i < 3 * r->o->cycle; i++)
        CHECK_INT(film_push(f, context, i % r->o->cycle), VMAFGPU_OK);
    CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
    s = scores_of(context);
    CHECK_INT(s.rows, 3 * r->o->cycle);
    r->columns = s.columns;
    r->expected = s.values;
    vmafgpu_close(context);
}

/* ---- leaks ---- */

static void *sleep_forever(void *unused) {
    for (;;)
        pause();
    return unused;
}

static void leak(const options *o, const gpu *g, int64_t *allocations) {
    enum { SIZE = 4 << 20 };
    static void *volatile memory; /* volatile: the compiler must not remove the allocation */
    pthread_t thread;
    uint64_t address;
    if (strcmp(o->leak, "memory") == 0)
        memory = memset(malloc(SIZE), 1, SIZE);
    else if (strcmp(o->leak, "allocation") == 0)
        (void)count_allocation(allocations, 16);
    else if (strcmp(o->leak, "descriptor") == 0)
        test_need(dup(1) >= 0, "a descriptor cannot be duplicated");
    else if (strcmp(o->leak, "thread") == 0)
        test_need(pthread_create(&thread, NULL, sleep_forever, NULL) == 0, "a thread cannot be created");
    else if (strcmp(o->leak, "device") == 0 && g)
        test_need(g->take(&address, SIZE) == 0, "device memory cannot be allocated");
    (void)memory;
}

/* ---- options ---- */

static void number_option(const char *word, const char *key, int low, int high, int *number, int *is_known) {
    const char *value = value_of(word, key);
    char *end = NULL;
    if (value) {
        const long read = strtol(value, &end, 10);
        *is_known = end != value && !*end && read >= low && read <= high;
        *number = *is_known ? (int)read : *number;
    }
}

/* `allowed` contains the valid values, with a space before and after each. If it is NULL, all values are valid. */
static void text_option(const char *word, const char *key, const char *allowed, const char **text, int *is_known) {
    const char *value = value_of(word, key);
    char padded[32];
    if (value) {
        snprintf(padded, sizeof padded, " %.29s ", value);
        *is_known = !allowed || strstr(allowed, padded) != NULL;
        *text = value;
    }
}

static int read_option(options *o, const char *word) {
    const char *size = value_of(word, "size");
    int is_known = size && sscanf(size, "%dx%d", &o->width, &o->height) == 2 && o->width >= 16 && o->height >= 16 &&
                   o->width <= 16384 && o->height <= 16384;
    number_option(word, "pairs", 1, 2000000000, &o->pairs, &is_known);
    number_option(word, "intervals", 2, 1000, &o->intervals, &is_known);
    number_option(word, "cycle", 1, 64, &o->cycle, &is_known);
    number_option(word, "bits", 8, 16, &o->bits, &is_known);
    number_option(word, "live", 0, 1, &o->live, &is_known);
    number_option(word, "threads", 0, 256, &o->threads, &is_known);
    number_option(word, "batch", 0, 32, &o->batch, &is_known);
    number_option(word, "queue", 0, 8, &o->queue, &is_known);
    text_option(word, "backend", " cpu cuda hip ", &o->backend, &is_known);
    text_option(word, "driver", NULL, &o->driver, &is_known);
    text_option(word, "kernels", NULL, &o->kernels, &is_known);
    text_option(word, "leak", "  memory allocation descriptor thread device ", &o->leak, &is_known);
    return is_known;
}

static options read_options(int argc, char **argv) {
    options o = { 64, 48, 8, 10, 8, 1, 0, 0, 0, 3000, "cpu", NULL, NULL, "" };
    for (int i = 1; i < argc; i++) {
        if (!read_option(&o, argv[i])) {
            fprintf(stderr, "%s: unknown option or invalid value; see the top of test/long_run.c\n", argv[i]);
            exit(2);
        }
    }
    if (strcmp(o.leak, "device") == 0 && strcmp(o.backend, "cpu") == 0) {
        fprintf(stderr, "leak=device: requires backend=cuda or backend=hip\n");
        exit(2);
    }
    const int least = o.intervals > 3 * o.cycle ? o.intervals : 3 * o.cycle;
    o.pairs = ((o.pairs > least ? o.pairs : least) + o.cycle - 1) / o.cycle * o.cycle;
    return o;
}

/* ---- the run ---- */

static void print_heading(void) {
    printf("%11s %9s %11s %11s %7s %11s %11s  latency in ms: %7s %7s %7s %7s\n", "pairs", "pairs/s", "resident MB",
           "descriptors", "threads", "context MB", "GPU MB used", "50 %", "99 %", "99.9 %", "maximum");
}

static void print_interval(const run *r, int64_t pairs, double seconds, const int64_t *values) {
    const histogram *h = &r->latencies;
    char used[24] = "-";
    if (values[DRIVER] >= 0)
        snprintf(used, sizeof used, "%.1f", 1e-6 * (double)values[DRIVER]);
    printf("%11" PRId64 " %9.0f %11.1f %11" PRId64 " %7" PRId64 " %11.1f %11s %23.3f %7.3f %7.3f %7.3f\n", pairs,
           (double)h->total / seconds, 1e-6 * (double)values[RESIDENT], values[DESCRIPTORS], values[THREADS],
           1e-6 * (double)(values[HOST] + values[DEVICE]), used, histogram_quantile(h, .5), histogram_quantile(h, .99),
           histogram_quantile(h, .999), 1e-6 * (double)h->most);
    fflush(stdout);
}

/* Checks that no figure has grown since the first interval. */
static void check_figures(const int64_t *first, const int64_t *values) {
    for (int i = 0; i < FIGURES; i++) {
        const int64_t growth = values[i] - first[i];
        if (!CHECK(growth <= figures[i].tolerance))
            printf("%s: grew by %" PRId64 " after the first interval (from %" PRId64 ")\n", figures[i].name, growth,
                   first[i]);
    }
}

/* Pushes all pairs. `frames` are in device memory, or NULL if the context uses the CPU. */
static void push_all(run *r, vmafgpu *context, const film *f, const reel *frames, gpu *g, int64_t *allocations) {
    const options *o = r->o;
    int64_t first[FIGURES], values[FIGURES];
    vmafgpu_score unused; /* config.on_score receives the scores */
    double begin = now();
    int interval = 0;
    for (int64_t i = 0; i < o->pairs; i++) {
        const int place = (int)(i % o->cycle);
        r->begun[i % MAX_IN_FLIGHT] = now();
        const vmafgpu_result result = frames ? reel_push(frames, context, place) : film_push(f, context, place);
        if (!CHECK_INT(result, VMAFGPU_OK)) {
            printf("%s\n", vmafgpu_last_error(context));
            return;
        }
        (void)vmafgpu_next_score(context, &unused); /* delivers the scores that are ready */
        if (i + 1 < (int64_t)o->pairs * (interval + 1) / o->intervals)
            continue;
        if (i + 1 == o->pairs)
            CHECK_INT(vmafgpu_flush(context), VMAFGPU_OK);
        leak(o, g, allocations);
        measure(context, g, *allocations, values);
        print_interval(r, i + 1, now() - begin, values);
        if (interval++ == 0)
            memcpy(first, values, sizeof first);
        check_figures(first, values);
        memset(&r->latencies, 0, sizeof r->latencies);
        begin = now();
    }
    CHECK_INT(r->delivered, o->pairs);
    CHECK_INT(r->differing, 0);
    printf("%" PRId64 " of %d scores equal those of the CPU\n", r->delivered - r->differing, o->pairs);
}

int main(int argc, char **argv) {
    static run r;
    const options o = read_options(argc, argv);
    const int is_gpu = strcmp(o.backend, "cpu") != 0;
    int64_t allocations = 0;
    gpu g;
    film f = film_make("texture+mix", o.width, o.height, o.bits, o.cycle, 1);
    vmafgpu_config config = film_config(&f);
    reel frames;
    snprintf(test_where, sizeof test_where, "%s", o.backend);
    config.live = o.live;
    config.threads = o.threads;
    r.o = &o;
    expect(&r, &f, &config);
    config.backend = VMAFGPU_BACKEND_CPU;
    config.discard_scores = 1;
    config.on_score = on_score;
    config.on_score_user = &r;
    config.allocator.allocate = count_allocation;
    config.allocator.release = release;
    config.allocator.user = &allocations;
    if (is_gpu) {
        gpu_find(&g, o.backend,
                 o.driver                        ? o.driver
                 : strcmp(o.backend, "hip") == 0 ? "libamdhip64.so.6"
                                                 : "libcuda.so.1",
                 o.kernels);
        gpu_begin(&g, SIMULATED_FORWARD, SIMULATED_LAZY, 1);
        frames = reel_of_kinds(&g, &f, "d");
        config.backend = g.vendor->backend;
        config.gpu.driver_path = o.driver;
        config.gpu.kernels_path = o.kernels;
        config.gpu.frame_memory = VMAFGPU_MEMORY_DEVICE;
        config.gpu.batch = o.batch;
        config.gpu.queue_depth = o.queue;
    }
    vmafgpu *context = open_checked(&config);
    if (context) {
        const vmafgpu_config *used = vmafgpu_get_config(context);
        printf("%s: %d pairs of %dx%d, %d bits, cycle of %d; live %d, %d threads, batch %d, queue %d\n",
               is_gpu ? vmafgpu_device_name(context) : "CPU", o.pairs, o.width, o.height, o.bits, o.cycle, used->live,
               used->threads, used->gpu.batch, used->gpu.queue_depth);
        print_heading();
        push_all(&r, context, &f, is_gpu ? &frames : NULL, is_gpu ? &g : NULL, &allocations);
    }
    vmafgpu_close(context);
    if (is_gpu) {
        reel_free(&g, &frames);
        if (strcmp(o.leak, "device") != 0)
            gpu_end(&g);
    }
    free(r.expected);
    film_free(&f);
    return test_end();
}
