/* Runs random cases (cases.h) on AVX2, AVX-512 or NEON, on several threads and on GPUs, and compares each run with
 * plain C on one thread. All columns must be equal, bit for bit, or both runs must fail with the same result.
 *
 *     levels [--seed S] [--first N] [--cases N] [--seconds N] [--gpu BACKEND,DRIVER,KERNELS[,PIXELS]]... [--no-cpu]
 *     levels --seed S --only N [--keep FOLDER]
 *
 *   --seed      default: a fresh seed, which is printed
 *   --cases     default 300; no limit with --seconds
 *   --gpu       also tests a GPU. BACKEND is cuda or hip. DRIVER is the driver library (empty: the system's).
 *               KERNELS is a file (empty: the default of vmafgpu.h). The GPU skips cases with more than PIXELS luma
 *               samples in all frames together
 *   --no-cpu    compares GPUs only
 *   --only      runs one case and prints all differences and the command line for the tool; --keep writes its clips
 *
 * The exit status is 1 if anything differs. */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif
#define TEST_STATE
#include "cases.h"
#include "tally.h"
#include "../simulated/simulated.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { GPUS = 4, ALL_OFF = 255, AGGREGATES = 16 };

typedef struct gpu {
    const char *name;
    vmafgpu_backend backend;
    char *driver, *kernels;
    long pixels; /* 0: any */
    int is_simulated;
    simulated_gpu sim;
    vmafgpu *first; /* real GPU: a context that stays open, so that other contexts open quickly */
} gpu;

static gpu gpus[GPUS];
static int gpu_count, is_verbose;
static tally kinds;
static long compared_values, passed, failed; /* comparisons */

/* ---- running a case ---- */

/* The outcome of a run: scores, or a result other than OK with its step and message. */
typedef struct outcome {
    vmafgpu_result result;
    const char *step;
    char message[512], level[16];
    scores scores;
    int aggregate_count;
    double aggregates[AGGREGATES];
    char **names; /* column names */
} outcome;

static void keep_names(outcome *o, const vmafgpu *context) {
    o->names = (char **)calloc((size_t)o->scores.columns + 1, sizeof *o->names);
    test_need(o->names != NULL, "out of memory");
    for (int i = 0; i < o->scores.columns; i++) {
        const char *name = vmafgpu_column_name(context, i);
        o->names[i] = (char *)malloc(strlen(name) + 1);
        test_need(o->names[i] != NULL, "out of memory");
        strcpy(o->names[i], name);
    }
}

static void outcome_free(outcome *o) {
    for (int i = 0; o->names && i < o->scores.columns; i++)
        free(o->names[i]);
    free(o->names);
    scores_free(&o->scores);
}

/* Stores the step and the message of a failed call. Returns whether the call failed. */
static int failed_at(outcome *o, vmafgpu_result result, const char *step, const vmafgpu *context) {
    if (result != VMAFGPU_OK) {
        o->result = result;
        o->step = step;
        snprintf(o->message, sizeof o->message, "%s", vmafgpu_last_error(context));
    }
    return result != VMAFGPU_OK;
}

/* Stores an error if the GPU failed and the CPU took over. */
static int gave_up(outcome *o, const vmafgpu_config *config, const vmafgpu *context) {
    if (config->backend == VMAFGPU_BACKEND_CPU || vmafgpu_backend_note(context)[0] == 0)
        return 0;
    o->result = VMAFGPU_ERROR_DEVICE;
    o->step = "run";
    snprintf(o->message, sizeof o->message, "%s", vmafgpu_backend_note(context));
    return 1;
}

static outcome run_case(const fuzz_case *c, const film *f, const vmafgpu_config *config) {
    vmafgpu *context = NULL;
    outcome o;
    int has_failed;
    memset(&o, 0, sizeof o);
    o.step = "";
    has_failed = failed_at(&o, vmafgpu_open(&context, config), "open", context);
    for (int i = 0; !has_failed && i < fuzz_case_pairs(c); i++) {
        vmafgpu_frame reference = film_frame(f, i + c->skip_reference, CLIP_REFERENCE),
                      distorted = film_frame(f, i + c->skip_distorted, CLIP_DISTORTED);
        has_failed = failed_at(&o, vmafgpu_push(context, &reference, &distorted), "push", context);
    }
    has_failed = has_failed || failed_at(&o, vmafgpu_flush(context), "flush", context) || gave_up(&o, config, context);
    if (!has_failed) {
        snprintf(o.level, sizeof o.level, "%s", vmafgpu_instruction_set(context));
        o.scores = scores_of(context);
        keep_names(&o, context);
        o.aggregate_count = vmafgpu_aggregate_count(context);
        test_need(o.aggregate_count <= AGGREGATES, "too many aggregates");
        for (int i = 0; i < o.aggregate_count; i++)
            vmafgpu_aggregate(context, i, &o.aggregates[i]);
    }
    vmafgpu_close(context);
    return o;
}

/* ---- comparing ---- */

/* Whether two values have the same bits. All NaNs are equal. */
static int is_equal(double a, double b) {
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

/* Returns the number of values that differ. Writes the names of the columns that differ, and the first difference. */
static long compare_values(const outcome *got, const outcome *expected, char *columns, size_t size, char *first,
                           size_t first_size) {
    const scores *g = &got->scores, *e = &expected->scores;
    long count = 0;
    for (int i = 0; i < e->columns; i++) {
        long here = 0;
        for (int row = 0; row < e->rows; row++) {
            const double a = g->values[row * e->columns + i], b = e->values[row * e->columns + i];
            if (!is_equal(a, b)) {
                if (is_verbose)
                    printf("    frame %d %s: %.17g, plain C %.17g\n", row, expected->names[i], a, b);
                if (count + here == 0)
                    snprintf(first, first_size, "frame %d %s %.17g, plain C %.17g", row, expected->names[i], a, b);
                here++;
            }
        }
        if (here)
            tally_column(columns, size, expected->names[i]);
        count += here;
    }
    for (int i = 0; i < expected->aggregate_count; i++) {
        if (!is_equal(got->aggregates[i], expected->aggregates[i])) {
            snprintf(first, first_size, "aggregate %d is %.17g, plain C %.17g", i, got->aggregates[i],
                     expected->aggregates[i]);
            tally_column(columns, size, "aggregates");
            count++;
        }
    }
    compared_values += (long)e->rows * e->columns + expected->aggregate_count;
    return count;
}

static int same_columns(const outcome *got, const outcome *expected) {
    int same = got->scores.rows == expected->scores.rows && got->scores.columns == expected->scores.columns &&
               got->aggregate_count == expected->aggregate_count;
    for (int i = 0; same && i < expected->scores.columns; i++)
        same = strcmp(got->names[i], expected->names[i]) == 0;
    return same;
}

/* Compares the outcome of a run with the outcome in plain C, and counts whether they are equal. */
static void compare(const fuzz_case *c, const char *way, const outcome *got, const outcome *expected) {
    char clip_text[128], first[300] = "", columns[1024] = "", message[100], name[TALLY_NAME], example[TALLY_TEXT];
    fuzz_case_describe(c, clip_text, sizeof clip_text);
    if (got->result != expected->result || strcmp(got->step, expected->step) != 0) {
        snprintf(name, sizeof name, "differ, %s: %s %s, plain C %s %s", way, got->step,
                 vmafgpu_result_name(got->result), expected->step, vmafgpu_result_name(expected->result));
        snprintf(first, sizeof first, "%.140s | %.140s", got->message, expected->message);
    } else if (expected->result != VMAFGPU_OK) {
        tally_message(message, sizeof message, expected->message);
        snprintf(name, sizeof name, "refused, %s: %s", way, message);
    } else if (!same_columns(got, expected)) {
        snprintf(name, sizeof name, "differ, %s: columns or rows", way);
    } else if (compare_values(got, expected, columns, sizeof columns, first, sizeof first)) {
        snprintf(name, sizeof name, "differ, %s, %s:%.140s", way, fuzz_content_name(c->content), columns);
    } else {
        snprintf(name, sizeof name, "equal, %s", way);
    }
    snprintf(example, sizeof example, "%s: %s", clip_text, first);
    if (strncmp(name, "differ", 6) == 0) {
        failed++;
        tally_add(&kinds, name, c->number, example);
    } else {
        passed++;
        tally_add(&kinds, name, c->number, "");
    }
    if (is_verbose)
        printf("%s: %s%s%s\n", way, name, first[0] ? ", " : "", first);
}

/* ---- levels, threads, GPUs ---- */

static void silent(void *user, vmafgpu_log_level level, const char *message) {
    (void)user;
    if (is_verbose && level == VMAFGPU_LOG_LEVEL_WARNING)
        printf("    warning: %s\n", message);
}

static void run_cpu(const fuzz_case *c, const film *f, vmafgpu_config config, const outcome *expected) {
    static const unsigned masks[] = { 0, 16, ALL_OFF };
    char last[16] = "";
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        outcome got;
        char way[64];
        if (masks[i] == ALL_OFF && c->number % 4) /* plain C with threads is slow, so only one case in four */
            continue;
        config.cpumask = masks[i];
        config.threads = 1 + (c->threads + (int)i) % 7;
        got = run_case(c, f, &config);
        if (got.result != VMAFGPU_OK ||
            strcmp(got.level, last) != 0) { /* without AVX-512, two masks select the same level */
            snprintf(way, sizeof way, "%s", got.result != VMAFGPU_OK ? "cpu" : got.level);
            if (is_verbose)
                printf("cpumask %u, %d threads\n", config.cpumask, config.threads);
            compare(c, way, &got, expected);
        }
        snprintf(last, sizeof last, "%s", got.level);
        outcome_free(&got);
    }
}

static void set_gpu(const gpu *g, vmafgpu_config *config) {
    config->backend = g->backend;
    config->gpu.driver_path = g->driver[0] ? g->driver : NULL;
    config->gpu.kernels_path = g->kernels[0] ? g->kernels : NULL;
}

static void run_gpu(gpu *g, const fuzz_case *c, const film *f, vmafgpu_config config, const outcome *expected) {
    outcome got;
    if (g->pixels && (long)c->width * c->height * c->frames > g->pixels)
        return;
    set_gpu(g, &config);
    config.cpumask = 0;
    config.gpu.skip_self_test = 1;
    config.gpu.batch = c->threads % 3; /* the default, 1, 2 */
    if (g->is_simulated) {
        config.gpu.vif_arithmetic =
            c->threads % 2 + 1; /* not the card's default, for which the driver would have to compile kernels */
        g->sim.reset();
        g->sim.set_order((int)(c->number % 3), (int)(c->number % 5), c->seed ^ c->number);
    }
    got = run_case(c, f, &config);
    if (g->is_simulated && g->sim.report()[0]) {
        got.result = VMAFGPU_ERROR_DEVICE;
        got.step = "simulation";
        snprintf(got.message, sizeof got.message, "%s", g->sim.report());
    }
    compare(c, g->name, &got, expected);
    outcome_free(&got);
}

/* Runs a case on all levels and GPUs. Frames are in host memory; test_gpu.c tests the other kinds of memory. */
static void run_all(const fuzz_case *c, const film *f, int has_cpu) {
    vmafgpu_model_config models[FUZZ_MODELS];
    vmafgpu_feature_config features[FUZZ_FEATURES];
    vmafgpu_config config = fuzz_case_config(c, models, features);
    outcome expected;
    config.backend = VMAFGPU_BACKEND_CPU;
    config.on_log = silent;
    config.cpumask = ALL_OFF;
    expected = run_case(c, f, &config);
    if (is_verbose)
        printf("plain C: %s %s\n", vmafgpu_result_name(expected.result), expected.message);
    if (has_cpu)
        run_cpu(c, f, config, &expected);
    for (int i = 0; i < gpu_count; i++)
        run_gpu(&gpus[i], c, f, config, &expected);
    outcome_free(&expected);
}

/* ---- the command line ---- */

/* The case that on_crash() prints. */
static char current[96];

static void on_crash(int number) {
    static const char words[] = "crashed: ";
    ssize_t ignored = write(1, words, sizeof words - 1);
    ignored = write(1, current, strlen(current));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void add_gpu(char *text) {
    gpu *g = &gpus[gpu_count++];
    void *library;
    char *parts[4] = { text, NULL, NULL, NULL };
    test_need(gpu_count <= GPUS, "too many --gpu");
    for (int i = 1; i < 4 && parts[i - 1]; i++) {
        parts[i] = strchr(parts[i - 1], ',');
        if (parts[i])
            *parts[i]++ = 0;
    }
    test_need(parts[2] && (!strcmp(text, "cuda") || !strcmp(text, "hip")),
              "--gpu requires BACKEND,DRIVER,KERNELS; BACKEND is cuda or hip");
    g->name = text;
    g->backend = strcmp(text, "hip") == 0 ? VMAFGPU_BACKEND_HIP : VMAFGPU_BACKEND_CUDA;
    g->driver = parts[1];
    g->kernels = parts[2];
    g->pixels = parts[3] ? strtol(parts[3], NULL, 10) : 0;
    library = g->driver[0] ? dlopen(g->driver, RTLD_NOW) : NULL;
    g->is_simulated = library && simulated_find(library, &g->sim);
    if (!g->is_simulated) {
        vmafgpu_config config = VMAFGPU_INIT;
        config.width = config.height = 64;
        set_gpu(g, &config);
        test_need(vmafgpu_open(&g->first, &config) == VMAFGPU_OK, vmafgpu_last_error(g->first));
    }
}

static void write_clips(const fuzz_case *c, const film *f, const char *folder) {
    const char *extension = c->is_y4m ? "y4m" : "yuv";
    char arguments[FUZZ_ARGUMENTS];
    for (int side = 0; side < 2; side++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s.%s", folder, side ? "distorted" : "reference", extension);
        test_need(fuzz_film_write(c, f, side, path), path);
    }
    fuzz_case_arguments(c, arguments, sizeof arguments);
    printf("vmafgpu -r %s/reference.%s -d %s/distorted.%s %s --precision max --csv -o - -q\n", folder, extension,
           folder, extension, arguments);
}

static void run_number(uint64_t seed, uint64_t number, int has_cpu, const char *folder) {
    const fuzz_case c = fuzz_case_draw(seed, number);
    film f;
    snprintf(current, sizeof current, "levels --seed %llu --only %llu\n", (unsigned long long)seed,
             (unsigned long long)number);
    f = fuzz_case_film(&c);
    if (is_verbose) {
        char text[FUZZ_ARGUMENTS];
        fuzz_case_describe(&c, text, sizeof text);
        printf("case %llu: %s\n", (unsigned long long)number, text);
        if (folder) {
            write_clips(&c, &f, folder);
        } else {
            fuzz_case_arguments(&c, text, sizeof text);
            printf("vmafgpu -r REFERENCE -d DISTORTED %s (--keep FOLDER writes the clips)\n", text);
        }
    }
    run_all(&c, &f, has_cpu);
    film_free(&f);
}

int main(int argc, char **argv) {
    uint64_t seed = fuzz_fresh_seed(), first = 0, cases = 0, done = 0;
    const char *folder = NULL;
    double seconds = 0;
    int has_cpu = 1;
    const time_t start = time(NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--no-cpu") == 0) {
            has_cpu = 0;
            continue;
        }
        test_need(value != NULL, "unknown option or missing value; see the top of levels.c");
        i++;
        if (strcmp(argv[i - 1], "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--first") == 0) {
            first = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--cases") == 0) {
            cases = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--only") == 0) {
            first = strtoull(value, NULL, 10);
            cases = 1;
            is_verbose = 1;
        } else if (strcmp(argv[i - 1], "--keep") == 0) {
            folder = value;
        } else if (strcmp(argv[i - 1], "--seconds") == 0) {
            seconds = strtod(value, NULL);
        } else if (strcmp(argv[i - 1], "--gpu") == 0) {
            add_gpu(value);
        } else {
            test_need(0, "unknown option; see the top of levels.c");
        }
    }
    cases = cases ? cases : seconds > 0 ? UINT64_MAX : 300;
    printf("levels: --seed %llu --first %llu\n", (unsigned long long)seed, (unsigned long long)first);
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    signal(SIGFPE, on_crash);
    for (; done < cases && (seconds <= 0 || difftime(time(NULL), start) < seconds); done++) {
        if (done && done % 500 == 0)
            printf("# %llu cases, %ld failed\n", (unsigned long long)done, failed);
        run_number(seed, first + done, has_cpu, folder);
    }
    if (!is_verbose) {
        tally_print(&kinds);
        printf("seed %llu, cases %llu to %llu: %ld values compared; `levels --seed %llu --only N` repeats one\n",
               (unsigned long long)seed, (unsigned long long)first, (unsigned long long)(first + done - 1),
               compared_values, (unsigned long long)seed);
    }
    for (int i = 0; i < gpu_count; i++)
        vmafgpu_close(gpus[i].first);
    printf("%ld passed, %ld failed\n", passed, failed + test_failed);
    return failed + test_failed > 0;
}
