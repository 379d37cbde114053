/* The CPU benchmark. Measures milliseconds per pair for different numbers of threads, with frames in memory. For
 * comparison, it also measures the same number of single-threaded processes running in parallel, which shows roughly
 * what the machine allows. Each round measures everything once, and the results are medians over the rounds.
 *
 *     bench_cpu [KEY=VALUE ...]
 *         size=1920x1080 bits=8     default: 576x324, 1080p and 4K, 8 and 10 bits
 *         threads=1,2,4             default: 1, 2, 4, .. up to the number of processors
 *         seconds=0.2 rounds=9      length of a timed run; number of rounds, up to 99
 *         mask=N                    config.cpumask
 *         slopes=1                  measure scoring with and without slopes instead
 */
#define _DEFAULT_SOURCE /* clock_gettime, fork, sysconf */
#define VMAFGPU_IMPLEMENTATION
#include "../vmafgpu.h"
#include "bench.h"
#include "clip.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 2, MAX_COUNTS = 16, MAX_ROUNDS = 99 };

typedef struct options {
    int width, height, bits; /* 0: all */
    int counts[MAX_COUNTS], count, rounds, slopes;
    unsigned mask;
    double seconds;
} options;

/* Prints the message and exits. Memory is not freed. */
static void die(const char *what) {
    fprintf(stderr, "bench_cpu: %s\n", what);
    exit(1);
}

/* The luma planes of a few pairs. */
typedef struct film {
    int width, height, bits;
    void *luma[PAIRS][2];
} film;

static film film_make(int width, int height, int bits) {
    film f;
    clip c;
    size_t count = (size_t)width * (size_t)height;
    uint16_t *samples = (uint16_t *)malloc(count * sizeof *samples);
    f.width = width;
    f.height = height;
    f.bits = bits;
    if (!samples || !clip_init(&c, "texture+mix", width, height, bits, 420, PAIRS, 1))
        die("cannot generate the clip");
    for (int i = 0; i < PAIRS; i++) {
        for (int k = 0; k < 2; k++) {
            f.luma[i][k] = malloc(count * (bits > 8 ? 2 : 1));
            if (!f.luma[i][k])
                die("no memory");
            clip_plane(&c, i, k ? CLIP_DISTORTED : CLIP_REFERENCE, 0, samples);
            clip_store(samples, count, bits > 8 ? 2 : 1, (unsigned char *)f.luma[i][k]);
        }
    }
    free(samples);
    return f;
}

static void film_free(film *f) {
    for (int i = 0; i < PAIRS; i++) {
        free(f->luma[i][0]);
        free(f->luma[i][1]);
    }
}

static vmafgpu *open_context(const film *f, int threads, unsigned mask, int slopes) {
    vmafgpu_config config;
    vmafgpu *context = NULL;
    memset(&config, 0, sizeof config);
    config.width = f->width;
    config.height = f->height;
    config.bit_depth = f->bits;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.threads = threads;
    config.cpumask = mask;
    config.discard_scores = 1;
    config.slopes = slopes;
    if (vmafgpu_open(&context, &config) != VMAFGPU_OK)
        die(vmafgpu_last_error(context));
    return context;
}

static void push(vmafgpu *context, const film *f, int64_t i) {
    vmafgpu_frame frames[2];
    vmafgpu_score score;
    memset(frames, 0, sizeof frames);
    for (int k = 0; k < 2; k++)
        frames[k].data[0] = f->luma[i % PAIRS][k];
    if (vmafgpu_push(context, &frames[0], &frames[1]) != VMAFGPU_OK)
        die(vmafgpu_last_error(context));
    while (vmafgpu_next_score(context, &score) == VMAFGPU_OK) {
    }
}

/* Runs one context for about `o->seconds`. If `slopes` is not NULL, it receives the slopes of each pair. Returns the
 * seconds per pair. If the fastest pair took less than *least, sets *least to its time. */
static double run(const film *f, int threads, const options *o, float *slopes, double *least) {
    vmafgpu *context = open_context(f, threads, o->mask, slopes != NULL);
    int64_t pairs = -2;
    double start = 0, end;
    do {
        const double before = now();
        start = pairs == 0 ? before : start;
        if (slopes && vmafgpu_slopes_next(context, slopes, 0, VMAFGPU_MEMORY_HOST) != VMAFGPU_OK)
            die(vmafgpu_last_error(context));
        push(context, f, pairs + 2);
        if (pairs++ < 0)
            continue;
        end = now();
        *least = end - before < *least ? end - before : *least;
    } while (pairs < 1 || end - start < o->seconds);
    vmafgpu_close(context);
    return (end - start) / (double)pairs;
}

/* Runs `count` processes with one thread each at the same time. Returns the seconds per pair, averaged over the
 * processes. If the average time of their fastest pairs is less than *least, sets *least to it. */
static double run_processes(const film *f, int count, const options *o, double *least) {
    double *shared = (double *)mmap(NULL, sizeof *shared * 2 * (size_t)count, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double sum = 0, shortest = 0;
    if (shared == (double *)MAP_FAILED)
        die("cannot allocate shared memory");
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            shared[count + i] = 1e9;
            shared[i] = run(f, 1, o, NULL, &shared[count + i]);
            _exit(0);
        }
    }
    while (wait(NULL) > 0) {
    }
    for (int i = 0; i < count; i++) {
        sum += shared[i];
        shortest += shared[count + i];
    }
    *least = shortest / count < *least ? shortest / count : *least;
    munmap(shared, sizeof *shared * 2 * (size_t)count);
    return sum / count;
}

/* Measures one frame size and bit depth, and prints a line for each number of threads. The speed of a busy machine
 * changes from second to second, so speeds are compared within a round. */
static void measure(const options *o, int width, int height, int bits) {
    static double time[MAX_COUNTS][MAX_ROUNDS], linear[MAX_COUNTS][MAX_ROUNDS], processes[MAX_COUNTS][MAX_ROUNDS];
    film f = film_make(width, height, bits);
    double least[MAX_COUNTS], least_processes[MAX_COUNTS];
    for (int i = 0; i < o->count; i++)
        least[i] = least_processes[i] = 1e9;
    for (int round = 0; round < o->rounds; round++) {
        double first_separate = 0;
        for (int i = 0; i < o->count; i++) {
            const double threads = (double)o->counts[i] / o->counts[0];
            double separate;
            time[i][round] = run(&f, o->counts[i], o, NULL, &least[i]);
            linear[i][round] = time[0][round] / time[i][round] / threads;
            separate = run_processes(&f, o->counts[i], o, &least_processes[i]);
            first_separate = i ? first_separate : separate;
            processes[i][round] = first_separate / separate;
        }
    }
    for (int i = 0; i < o->count; i++) {
        const int n = o->counts[i];
        const double threads = (double)n / o->counts[0];
        vmafgpu *context = open_context(&f, n, o->mask, 0);
        printf("%4dx%-4d %4d %7d %9.2f %9.2f %9.2f %11.2f %9.2f %11.2f %8.1f\n", width, height, bits, n,
               1000 * median(time[i], o->rounds), median(linear[i], o->rounds), median(processes[i], o->rounds),
               1000 * least[i], least[0] / least[i] / threads, least_processes[0] / least_processes[i],
               (double)vmafgpu_host_memory(context) / 1048576);
        vmafgpu_close(context);
        fflush(stdout);
    }
    film_free(&f);
}

/* Measures one frame size and bit depth, and compares scores with scores and slopes. The last column is the additional
 * memory per luma sample. */
static void measure_slopes(const options *o, int width, int height, int bits) {
    static double time[2][MAX_ROUNDS], ratio[MAX_ROUNDS];
    float *slopes = (float *)malloc(sizeof(float) * (size_t)width * (size_t)height);
    film f = film_make(width, height, bits);
    if (!slopes)
        die("no memory");
    for (int i = 0; i < o->count; i++) {
        double least[2] = { 1e9, 1e9 }, memory[2];
        for (int round = 0; round < o->rounds; round++) {
            for (int k = 0; k < 2; k++)
                time[k][round] = run(&f, o->counts[i], o, k ? slopes : NULL, &least[k]);
            ratio[round] = time[1][round] / time[0][round];
        }
        for (int k = 0; k < 2; k++) {
            vmafgpu *context = open_context(&f, o->counts[i], o->mask, k);
            memory[k] = (double)vmafgpu_host_memory(context);
            vmafgpu_close(context);
        }
        printf("%4dx%-4d %4d %7d %9.2f %9.2f %9.2f %11.2f %9.2f %11.2f %8.2f\n", width, height, bits, o->counts[i],
               1000 * median(time[0], o->rounds), 1000 * median(time[1], o->rounds), median(ratio, o->rounds),
               1000 * least[0], 1000 * least[1], least[1] / least[0], (memory[1] - memory[0]) / width / height);
        fflush(stdout);
    }
    film_free(&f);
    free(slopes);
}

static void parse(options *o, const char *word) {
    const char *value;
    if ((value = value_of(word, "size")) != NULL && sscanf(value, "%dx%d", &o->width, &o->height) == 2) {
    } else if ((value = value_of(word, "bits")) != NULL) {
        o->bits = atoi(value);
    } else if ((value = value_of(word, "rounds")) != NULL) {
        o->rounds = atoi(value);
        if (o->rounds < 1 || o->rounds > MAX_ROUNDS)
            die("rounds=1..99");
    } else if ((value = value_of(word, "seconds")) != NULL) {
        o->seconds = atof(value);
    } else if ((value = value_of(word, "slopes")) != NULL) {
        o->slopes = atoi(value) != 0;
    } else if ((value = value_of(word, "mask")) != NULL) {
        o->mask = (unsigned)atoi(value);
    } else if ((value = value_of(word, "threads")) != NULL) {
        char *end;
        for (o->count = 0; *value && o->count < MAX_COUNTS; value = *end ? end + 1 : end) {
            o->counts[o->count] = (int)strtol(value, &end, 10);
            if (o->counts[o->count++] < 1)
                die("threads=1,2,4");
        }
    } else {
        die("size=WxH bits=N threads=1,2,4 seconds=S rounds=N mask=N slopes=1");
    }
}

int main(int argc, char **argv) {
    static const int sizes[][2] = { { 576, 324 }, { 1920, 1080 }, { 3840, 2160 } };
    options o;
    memset(&o, 0, sizeof o);
    o.rounds = 9;
    o.seconds = 0.2;
    for (long n = 1; n <= sysconf(_SC_NPROCESSORS_ONLN) && o.count < MAX_COUNTS; n *= 2)
        o.counts[o.count++] = (int)n;
    for (int i = 1; i < argc; i++)
        parse(&o, argv[i]);
    if (o.slopes)
        printf("%9s %4s %7s %9s %9s %9s %11s %9s %11s %8s\n", "size", "bits", "threads", "ms/pair", "+slopes", "ratio",
               "shortest", "+slopes", "ratio", "bytes");
    else
        printf("%9s %4s %7s %9s %9s %11s %9s %9s %11s %8s\n", "size", "bits", "threads", "ms/pair", "of linear",
               "processes", "shortest", "of linear", "processes", "MiB");
    for (int i = 0; i < (o.width ? 1 : 3); i++)
        for (int bits = o.bits ? o.bits : 8; bits <= (o.bits ? o.bits : 10); bits += 2)
            (o.slopes ? measure_slopes : measure)(&o, o.width ? o.width : sizes[i][0], o.width ? o.height : sizes[i][1],
                                                  bits);
    return 0;
}
