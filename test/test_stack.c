/* Measures the stack use of calls, and of the tasks of config.parallel_for. Each call or task runs on a thread whose
 * stack is filled with a known byte, and the changed bytes are counted. The limits are those that the manual gives for
 * optimised builds.
 *
 * In builds for x86-64, these stacks are only as large as the bounds that the manual gives, and the page below each
 * stack is protected. A call that needs more therefore ends the program, which names the call. */
#if !defined(_WIN32)
#define _DEFAULT_SOURCE
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#include <pthread.h>
#include "scoring.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_OBSERVED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_OBSERVED
#endif

#if defined(_WIN32) || defined(IS_OBSERVED) || !defined(__OPTIMIZE__)
int main(void) {
    test_skip("stack use (needs an optimised build for POSIX without sanitizers)");
    return test_end();
}
#else

enum {
    CALL_LIMIT = 48000,
    TASK_LIMIT = 20000,
    STACK = 1 << 17, /* if the bounds of the manual do not apply */
    PAGE = 1 << 16,  /* a multiple of the page size */
    PAINT = 0xa5,
    WIDTH = 224,
    HEIGHT = 176,
    CANDIDATES = 16
};

/* ---- the bounds in the manual ---- */

static long call_bound = STACK, task_bound = STACK;

static void read_bounds(void) {
#ifdef __x86_64__
    static const char stated[] = "at most %ld kB for calls and %ld kB for tasks";
    char line[256];
    FILE *manual = fopen("vmafgpu.h", "r");
    int is_found = 0;
    while (manual && !is_found && fgets(line, sizeof line, manual)) {
        const char *at = strstr(line, "at most ");
        is_found = at && sscanf(at, stated, &call_bound, &task_bound) == 2;
    }
    if (manual)
        fclose(manual);
    CHECK(is_found);
    call_bound = is_found ? 1000 * call_bound : STACK;
    task_bound = is_found ? 1000 * task_bound : STACK;
    printf("stacks of %ld bytes for calls and %ld bytes for tasks\n", call_bound, task_bound);
#endif
}

/* ---- painted stacks ---- */

typedef struct painted {
    unsigned char *memory;
    size_t size;
    long overhead; /* bytes that an idle thread needs */
} painted;

typedef struct started {
    void *(*main)(void *);
    void *user;
    stack_t handler; /* on which the handler of a signal runs */
} started;

static void on_overflow(int number) {
    static const char message[] = "] needs more stack than the manual states\n0 passed, 1 failed\n";
    (void)number;
    (void)!write(STDOUT_FILENO, "failed: [", 9);
    (void)!write(STDOUT_FILENO, test_where, strlen(test_where));
    (void)!write(STDOUT_FILENO, message, sizeof message - 1);
    _exit(1);
}

static void *do_nothing(void *user) {
    return user;
}

static void *run_started(void *user) {
    started *s = (started *)user;
    (void)sigaltstack(&s->handler, NULL);
    return s->main(s->user);
}

/* Runs `main` on a thread with this stack. Returns the number of bytes of the stack that were used. */
static long run_on(painted *p, void *(*main)(void *), void *user) {
    static unsigned char memory[1 << 16];
    started s;
    pthread_attr_t attributes;
    pthread_t thread;
    size_t untouched = 0;
    memset(&s, 0, sizeof s);
    s.main = main;
    s.user = user;
    s.handler.ss_sp = memory;
    s.handler.ss_size = sizeof memory;
    memset(p->memory, PAINT, p->size);
    test_need(pthread_attr_init(&attributes) == 0, "pthread_attr_init failed");
    test_need(pthread_attr_setstack(&attributes, p->memory, p->size) == 0, "pthread_attr_setstack failed");
    test_need(pthread_create(&thread, &attributes, run_started, &s) == 0, "cannot start a thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (untouched < p->size && p->memory[untouched] == PAINT)
        untouched++;
    return (long)(p->size - untouched) - p->overhead;
}

/* Makes a stack with `size` bytes for the functions that run on it, above a page that cannot be used. */
static painted painted_make(long size) {
    painted p;
    unsigned char *memory = (unsigned char *)mmap(NULL, 4 * PAGE + (size_t)size, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action;
    test_need(memory != (unsigned char *)MAP_FAILED && mprotect(memory, PAGE, PROT_NONE) == 0, "out of memory");
    memset(&action, 0, sizeof action);
    action.sa_handler = on_overflow;
    action.sa_flags = SA_ONSTACK;
    (void)sigaltstack(NULL, NULL); /* so that the dynamic linker does not search for it on the stack */
    test_need(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0, "no signal handler");
    p.memory = memory + PAGE;
    p.size = 2 * PAGE;
    p.overhead = 0;
    p.overhead = run_on(&p, do_nothing, NULL);
    p.size = ((size_t)size + (size_t)p.overhead + 15) / 16 * 16;
    p.size = p.size < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : p.size;
    return p;
}

/* ---- tasks ---- */

typedef struct tasks {
    painted stack;
    long most;
    void (*task)(void *arg, int index);
    void *arg;
    int index;
} tasks;

static void *run_task(void *user) {
    tasks *p = (tasks *)user;
    p->task(p->arg, p->index);
    return NULL;
}

static void on_painted(void *user, int count, void (*task)(void *arg, int index), void *arg) {
    tasks *p = (tasks *)user;
    p->task = task;
    p->arg = arg;
    for (p->index = 0; p->index < count; p->index++) {
        long took = run_on(&p->stack, run_task, p);
        p->most = took > p->most ? took : p->most;
    }
}

/* ---- calls ---- */

typedef struct calls {
    vmafgpu_config config;
    vmafgpu_frame reference, distorted[CANDIDATES];
    vmafgpu *context;
    unsigned char *edit;
    vmafgpu_block *blocks;
    float *slopes, *map;
    int result;
} calls;

static void *call_open(void *user) {
    calls *c = (calls *)user;
    c->result = vmafgpu_open(&c->context, &c->config);
    return NULL;
}

static void *call_push(void *user) {
    calls *c = (calls *)user;
    c->result = c->config.map_block_size ? vmafgpu_request_map(c->context, c->map, VMAFGPU_MEMORY_HOST) : VMAFGPU_OK;
    c->result = c->result ? c->result : vmafgpu_push(c->context, &c->reference, &c->distorted[0]);
    return NULL;
}

static void *call_pairs(void *user) {
    calls *c = (calls *)user;
    vmafgpu_score scores[CANDIDATES];
    c->result =
        vmafgpu_score_candidates(c->context, &c->reference, c->distorted, c->config.max_candidates, NULL, scores);
    return NULL;
}

static void *call_edits(void *user) {
    enum { EDITS = 9 };
    calls *c = (calls *)user;
    vmafgpu_score score;
    vmafgpu_edit edits[EDITS];
    vmafgpu_edit_score scores[EDITS];
    vmafgpu_gradient gradient;
    int across, down, result;
    memset(edits, 0, sizeof edits);
    for (int i = 0; i < EDITS; i++) {
        edits[i].width = edits[i].height = c->config.max_edit_size;
        edits[i].x = 16 * i;
        edits[i].data = c->edit;
    }
    result = vmafgpu_edit_begin(c->context, &c->reference, &c->distorted[0], NULL, NULL, &score);
    result = result ? result : vmafgpu_edit_try(c->context, edits, EDITS, scores, NULL);
    result = result ? result : vmafgpu_edit_commit(c->context, edits, 2, &score);
    result = result ? result : vmafgpu_edit_gradient(c->context, &gradient);
    result = result ? result : vmafgpu_edit_slopes(c->context, c->slopes, 0, VMAFGPU_MEMORY_HOST);
    c->result = result ? result : vmafgpu_edit_blocks(c->context, 16, c->blocks, &across, &down);
    return NULL;
}

static void *call_end(void *user) {
    calls *c = (calls *)user;
    vmafgpu_score score;
    double value;
    c->result = vmafgpu_flush(c->context);
    while (vmafgpu_next_score(c->context, &score) == VMAFGPU_OK) {
    }
    for (int i = 0; i < vmafgpu_column_count(c->context) && !c->result; i++)
        c->result = vmafgpu_percentile(c->context, i, 50, &value);
    vmafgpu_close(c->context);
    return NULL;
}

/* Prints the stack use and checks that it is below the limit. `took` is 0 if an idle thread needs more stack than the
 * call, and negative if nothing was measured. */
static void limit(const char *what, long took, long most) {
    printf("%-24s %6ld bytes of stack, at most %ld\n", what, took, most);
    if (took < 0 || took >= most)
        snprintf(test_where, sizeof test_where, "%s needs %ld bytes of stack (limit %ld)", what, took, most);
    CHECK(took >= 0 && took < most);
}

static long step(painted *stack, void *(*main)(void *), calls *c, long most) {
    long took = run_on(stack, main, c);
    CHECK_INT(c->result, VMAFGPU_OK);
    return took > most ? took : most;
}

/* Measures all calls of a context, on one thread and then with tasks on another stack. */
static void measure(painted *stack, tasks *p, calls *c, long *open, long *call) {
    for (int is_parallel = 0; is_parallel < 2; is_parallel++) {
        c->config.threads = is_parallel ? 3 : 1;
        c->config.parallel_for = is_parallel ? on_painted : NULL;
        c->config.parallel_for_user = p;
        c->context = NULL;
        *open = step(stack, call_open, c, *open);
        if (c->result) {
            printf("%s\n", vmafgpu_last_error(c->context));
            vmafgpu_close(c->context);
            return;
        }
        for (int i = 0; i < 2; i++)
            *call = step(stack, call_push, c, *call);
        *call = step(stack, call_pairs, c, *call);
        *call = c->config.max_edit_size ? step(stack, call_edits, c, *call) : *call;
        *call = step(stack, call_end, c, *call);
    }
}

static void test_calls(painted *stack) {
    static const char *const features[] = { "cambi",        "vif",          "adm",
                                            "motion",       "speed_chroma", "speed_temporal",
                                            "psnr",         "psnr_hvs",     "ciede",
                                            "float_psnr",   "float_moment", "float_vif",
                                            "float_adm",    "float_ssim",   "float_ms_ssim",
                                            "float_motion", "float_ansnr",  NULL,
                                            "edits",        "RGB",          "v1",
                                            "maps" };
    static const unsigned levels[] = { 0, 16, 255 }; /* cpumask values: all instruction sets; no AVX-512; plain C */
    tasks p;
    memset(&p, 0, sizeof p);
    p.stack = painted_make(task_bound);
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        const char *name = features[i] ? features[i] : "the default model";
        int has_edits = strcmp(name, "edits") == 0, is_rgb = strcmp(name, "RGB") == 0;
        int is_v1 = strcmp(name, "v1") == 0, is_cambi = strcmp(name, "cambi") == 0;
        int has_maps = strcmp(name, "maps") == 0;
        long open = 0, call = 0;
        char what[64];
        p.most = -1;
        snprintf(test_where, sizeof test_where, "%s", name);
        for (int depth = 8; depth <= 10; depth += 2) {
            film f =
                film_make_colour(is_cambi || is_v1 ? "bands+blur" : "texture+mix", WIDTH, HEIGHT, depth, 444, 1, 6);
            unsigned char *pixels = (unsigned char *)calloc((size_t)WIDTH * HEIGHT, 4);
            calls c;
            vmafgpu_feature_config feature;
            vmafgpu_model_config model;
            memset(&c, 0, sizeof c);
            memset(&feature, 0, sizeof feature);
            memset(&model, 0, sizeof model);
            feature.name = name;
            feature.options = is_cambi ? "topk=0.01" : NULL; /* makes CAMBI select the largest values */
            model.version = "vmaf_v1.0.16_hfr_3d0h";
            c.edit = (unsigned char *)calloc(64 * 64, 2);
            c.blocks = (vmafgpu_block *)calloc((size_t)WIDTH * HEIGHT / 256, sizeof *c.blocks);
            c.slopes = (float *)calloc((size_t)WIDTH * HEIGHT, sizeof *c.slopes);
            c.map = (float *)calloc((size_t)WIDTH * HEIGHT / 256, sizeof *c.map);
            test_need(pixels && c.edit && c.blocks && c.slopes && c.map, "out of memory");
            c.config = film_config(&f);
            c.config.backend = VMAFGPU_BACKEND_CPU;
            c.config.max_candidates = has_edits ? 1 : CANDIDATES;
            c.config.max_edit_size = has_edits ? 64 : 0;
            c.config.slopes = has_edits;
            c.config.map_block_size = has_maps ? 16 : 0;
            c.config.live = has_maps;
            if (is_v1) {
                c.config.models = &model;
                c.config.model_count = 1;
            } else if (features[i] && !has_edits && !is_rgb && !has_maps) {
                c.config.features = &feature;
                c.config.feature_count = 1;
                c.config.features_only = 1;
            }
            if (is_rgb) {
                c.config.colour.matrix = VMAFGPU_MATRIX_BT709;
                c.config.colour.range = VMAFGPU_RANGE_LIMITED;
            }
            c.reference = film_frame(&f, 0, 0);
            c.distorted[0] = film_frame(&f, 0, 1);
            if (is_rgb) {
                memset(&c.reference, 0, sizeof c.reference);
                c.reference.data[0] = pixels;
                c.reference.pixels = VMAFGPU_PIXELS_RGBA8;
                c.distorted[0] = c.reference;
            }
            for (int k = 1; k < CANDIDATES; k++)
                c.distorted[k] = c.distorted[0];
            for (size_t k = 0; k < sizeof levels / sizeof levels[0]; k++) {
                c.config.cpumask = levels[k];
                measure(stack, &p, &c, &open, &call);
            }
            free(pixels);
            free(c.edit);
            free(c.blocks);
            free(c.slopes);
            free(c.map);
            film_free(&f);
        }
        snprintf(what, sizeof what, "%s: open", name);
        limit(what, open, CALL_LIMIT);
        snprintf(what, sizeof what, "%s: calls", name);
        limit(what, call, CALL_LIMIT);
        if (strcmp(name, "psnr") != 0 || p.most >= 0) {
            snprintf(what, sizeof what, "%s: a task", name);
            limit(what, p.most, TASK_LIMIT);
        }
    }
}

/* ---- the text of a model ---- */

static void *parse(void *user) {
    vmafgpu_model *model = NULL;
    char error[256];
    const char *text = (const char *)user;
    (void)vmafgpu_model_parse(&model, "text", text, strlen(text), NULL, error, sizeof error);
    vmafgpu_model_release(model);
    return NULL;
}

static void test_parse(painted *stack) {
    enum { DEPTH = 100000 };
    static const char *const names[] = { "vmaf_v0.6.1.json", "vmaf_b_v0.6.3.json" };
    char *deep = (char *)malloc(DEPTH + 1);
    test_need(deep != NULL, "out of memory");
    memset(deep, '[', DEPTH);
    deep[DEPTH] = '\0';
    limit("parse: nested arrays", run_on(stack, parse, deep), CALL_LIMIT);
    memcpy(deep, "{\"model_dict\":{\"a\":", 19);
    limit("parse: nested values", run_on(stack, parse, deep), CALL_LIMIT);
    free(deep);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128], *text = (char *)calloc(1, 4 << 20);
        FILE *in;
        snprintf(path, sizeof path, "../shared/models/%s", names[i]);
        in = fopen(path, "rb");
        test_need(text != NULL, "out of memory");
        if (!in) {
            printf("%s does not exist\n", path);
        } else {
            CHECK(fread(text, 1, (4 << 20) - 1, in) > 0);
            limit(names[i], run_on(stack, parse, text), CALL_LIMIT);
            fclose(in);
        }
        free(text);
    }
}

/* ---- the protected page ---- */

/* Runs the calls of one context in a child process, with a stack for calls or tasks that is too small. */
static void test_overflow(int is_task) {
    static const char expected[] = "failed: [too small] needs more stack than the manual states\n";
    film f = film_make_colour("texture+mix", WIDTH, HEIGHT, 8, 420, 1, 6);
    char out[256];
    int ends[2], status = 0;
    ssize_t size;
    size_t length = 0;
    pid_t child;
    test_need(pipe(ends) == 0 && (child = fork()) >= 0, "cannot start a process");
    snprintf(test_where, sizeof test_where, "too small");
    if (child == 0) {
        painted stack = painted_make(is_task ? call_bound : CALL_LIMIT / 3);
        tasks p;
        calls c;
        long open = 0, call = 0;
        memset(&p, 0, sizeof p);
        memset(&c, 0, sizeof c);
        p.stack = painted_make(is_task ? TASK_LIMIT / 2 : task_bound);
        c.config = film_config(&f);
        c.config.backend = VMAFGPU_BACKEND_CPU;
        c.config.max_candidates = 1;
        c.reference = film_frame(&f, 0, 0);
        c.distorted[0] = film_frame(&f, 0, 1);
        (void)dup2(ends[1], STDOUT_FILENO);
        measure(&stack, &p, &c, &open, &call);
        _exit(0);
    }
    close(ends[1]);
    while ((size = read(ends[0], out + length, sizeof out - 1 - length)) > 0)
        length += (size_t)size;
    close(ends[0]);
    out[length] = '\0';
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK(strncmp(out, expected, sizeof expected - 1) == 0);
    test_where[0] = '\0';
    film_free(&f);
}

int main(void) {
    const char *runner = getenv("RUNNER");
    if (runner && *runner && strcmp(runner, "env") != 0) {
        test_skip("stack use (not measured under a RUNNER)");
    } else {
        painted stack;
        read_bounds();
        stack = painted_make(call_bound);
        test_calls(&stack);
        test_parse(&stack);
#ifdef __x86_64__
        test_overflow(0);
        test_overflow(1);
#endif
    }
    return test_end();
}
#endif
