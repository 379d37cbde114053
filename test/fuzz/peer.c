/* Runs random cases (cases.h) with the tool of libvmaf, restricted to plain C (--cpumask 255), and with our tool.
 * Compares the reports byte for byte, except for version and fps.
 *
 *     peer --vmaf17 TOOL --ours TOOL [--vmaf TOOL] [--seed S] [--first N] [--cases N] [--seconds N] [--folder FOLDER]
 *     peer ... --seed S --only N      runs one case, prints the commands, leaves clips and reports in FOLDER
 *
 *   --vmaf17   the tool of libvmaf 3.2.0, built with -Denable_float=true. In libvmaf/src/output.c, "%.17g" must replace
 *              "%.6f" and "%.16f", so that the tool prints the same digits as our tool with --precision max
 *   --vmaf     the same tool with output.c unchanged; if given, default reports are also compared in a third of the
 *              cases
 *   --seed     default: a fresh seed, which is printed
 *
 * Each case has one of these results:
 *   equal      the reports are equal
 *   refused    both tools reject the case
 *   known      the reports differ; the manual of vmafgpu.h documents that libvmaf reads outside its buffers here
 *   declined   our tool rejects the case, as the manual documents
 *   unsteady   the reports differ, and the libvmaf report depends on uninitialised memory (MALLOC_PERTURB_)
 *   crash      only the tool of libvmaf is killed by a signal
 *   differ     the reports differ
 *   accepted   libvmaf rejects the case, but our tool scores it
 *   rejected   libvmaf scores the case, but our tool rejects it, which the manual does not document
 *   FAILED     our tool is killed by a signal
 * The exit status is 0 if no case has one of the last four results. */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700
#endif
#define TEST_STATE
#include "cases.h"
#include "report.h"
#include "tally.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 240, WORDS = 256, PATH_SIZE = 512 };

static const char *vmaf17, *vmaf6, *our_tool, *folder = "build/fuzz/peer_files";
static tally kinds;
static int is_verbose;
static long figures_compared, default_reports, passed, failed; /* cases */

/* ---- running tools ---- */

static const char *in_folder(const char *name) {
    static char paths[8][PATH_SIZE];
    static int turn;
    char *path = paths[turn++ % 8];
    snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return path;
}

/* One run: its command, its report, and how it ended. */
typedef struct run {
    char command[FUZZ_ARGUMENTS + 2048];
    const char *perturb; /* MALLOC_PERTURB_, or NULL */
    char report[PATH_SIZE], log[PATH_SIZE];
    pid_t process;
    int status; /* exit status, or minus the signal number */
} run;

static void start(run *r, const char *tool, const char *arguments, const char *name, const char *perturb) {
    char *words[WORDS];
    int count = 0;
    memset(r, 0, sizeof *r);
    r->perturb = perturb;
    snprintf(r->report, sizeof r->report, "%s", in_folder(name));
    snprintf(r->log, sizeof r->log, "%.500s.log", r->report);
    snprintf(r->command, sizeof r->command, "%s %s -q -o %s", tool, arguments, r->report);
    if (is_verbose)
        printf("%s%s%s%s\n", perturb ? "MALLOC_PERTURB_=" : "", perturb ? perturb : "", perturb ? " " : "", r->command);
    remove(r->report);
    fflush(stdout);
    r->process = fork();
    test_need(r->process >= 0, "fork");
    if (r->process == 0) {
        const int log = open(r->log, O_CREAT | O_TRUNC | O_WRONLY, 0666);
        dup2(log, 1);
        dup2(log, 2);
        if (perturb)
            setenv("MALLOC_PERTURB_", perturb, 1);
        for (char *word = strtok(r->command, " "); word && count + 1 < WORDS; word = strtok(NULL, " "))
            words[count++] = word;
        words[count] = NULL;
        alarm(SECONDS);
        execv(words[0], words);
        _exit(127);
    }
}

static void wait_for(run *r) {
    int status;
    test_need(waitpid(r->process, &status, 0) == r->process, "waitpid");
    r->status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    test_need(r->status != 127, "a tool could not be started");
}

/* Whether a tool was killed by a signal, even if a shell script ran the tool. */
static int is_crash(int status) {
    return status < 0 || status == 134 || status == 139;
}

/* Copies the last line of the log of a tool. */
static void last_words(const run *r, char *out, size_t size) {
    char *text = read_text(r->log), *line = text;
    out[0] = 0;
    for (char *next = text; next && *next; next = strchr(next, '\n') ? strchr(next, '\n') + 1 : NULL)
        line = *next == '\n' ? line : next;
    if (line)
        snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
    free(text);
}

/* ---- differences that the manual of vmafgpu.h documents ---- */

/* Whether the manual documents that our tool rejects a case that libvmaf scores. */
static int is_declined(const char *message) {
    static const char *const messages[] = {
        "too large for fixed point",
        "excludes all samples",
        "has no table for this view",
        "unsupported bit depth",
        "requires 4:4:4",
        "half of the window",
        "speed_temporal, option speed_prescale: out of range",
        "frames are too small",
        "chroma planes are too small",
        "for a filter of",
        "source and encode sizes do not match", /* with threads, libvmaf does not report this for a second cambi */
    };
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++)
        if (strstr(message, messages[i]))
            return 1;
    return 0;
}

static int is_word_of(const char *list, const char *word, size_t length) {
    for (; *list; list += strcspn(list, " ") + (list[strcspn(list, " ")] == ' '))
        if (strcspn(list, " ") == length && strncmp(list, word, length) == 0)
            return 1;
    return 0;
}

/* Returns the number of columns whose names contain `part` or `other`; *all is the number of all columns. */
static int columns_with(const char *columns, const char *part, const char *other, int *all) {
    int count = 0;
    *all = 0;
    for (const char *at = columns; (at += strspn(at, " "))[0]; at += strcspn(at, " ")) {
        char name[TALLY_NAME];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
        count += strstr(name, part) || (other && strstr(name, other));
        ++*all;
    }
    return count;
}

/* Whether the y4m reader of libvmaf assumes the wrong length for chroma rows, and so reads from wrong positions. */
static int is_misread(const fuzz_case *c) {
    const int is_odd = (c->width & 1) || (c->chroma == 420 && (c->height & 1));
    return c->is_y4m && (c->chroma == 420 || c->chroma == 422) && is_odd;
}

static int has_no_noise_weight(const char *arguments) {
    static const char option[] = "noise_weight=";
    for (const char *at = strstr(arguments, option); at; at = strstr(at, option)) {
        at += sizeof option - 1;
        if (strtod(at, NULL) == 0)
            return 1;
    }
    return 0;
}

/* Returns why libvmaf has no defined value here, or NULL. */
static const char *known(const fuzz_case *c, const char *arguments, const char *columns) {
    const int is_odd = (c->width | c->height) & 1;
    int all;
    if (strncmp(columns, " order", 6) == 0 || strncmp(columns, " number", 7) == 0 || !columns[0])
        return NULL;
    if ((c->width <= 32 || c->height <= 32) && columns_with(columns, "adm", "aim", &all))
        return "adm, 32 or fewer pixels";
    if (c->chroma == 420 && is_odd && columns_with(columns, "ciede2000", NULL, &all) == 1 && all == 1)
        return "ciede, 4:2:0, odd size";
    if (is_misread(c))
        return "odd y4m: libvmaf's reader assumes a wrong length of chroma rows";
    if (c->depth > 8 && strstr(arguments, "full_ref=true") && strstr(arguments, "src_") &&
        columns_with(columns, "cambi", NULL, &all) == all) {
        return "cambi, full_ref, larger source";
    }
    if (has_no_noise_weight(arguments) && columns_with(columns, "aim", "adm3", &all) == all)
        return "aim without detail";
    return NULL;
}

/* ---- one case ---- */

typedef struct comparison {
    const fuzz_case *c;
    char base[FUZZ_ARGUMENTS + 1200]; /* clips and arguments of both tools */
} comparison;

static void ask_theirs(run *r, const comparison *q, const char *tool, const char *format, const char *name,
                       const char *perturb) {
    char arguments[FUZZ_ARGUMENTS + 1400];
    snprintf(arguments, sizeof arguments, "%s --cpumask 255 --%s", q->base, format);
    start(r, tool, arguments, name, perturb);
}

static void ask_ours(run *r, const comparison *q, const char *format, const char *name, int has_all_digits) {
    char arguments[FUZZ_ARGUMENTS + 1400];
    snprintf(arguments, sizeof arguments, "%s --cpumask %u --gpumask 1%s --%s", q->base, q->c->cpumask,
             has_all_digits ? " --precision max" : "", format);
    start(r, our_tool, arguments, name, NULL);
}

static void count_as(const comparison *q, const char *kind, const char *detail, const char *example) {
    static const char failures[] = "differ accepted rejected FAILED";
    char name[TALLY_NAME], clip_text[128], text[TALLY_TEXT];
    snprintf(name, sizeof name, "%s%s%.150s", kind, detail[0] ? ": " : "", detail);
    fuzz_case_describe(q->c, clip_text, sizeof clip_text);
    snprintf(text, sizeof text, "%s: %s", clip_text, example);
    tally_add(&kinds, name, q->c->number, example[0] ? text : "");
    if (is_word_of(failures, kind, strcspn(kind, " ,")))
        failed++;
    else
        passed++;
    if (is_verbose)
        printf("%s: %s\n", name, example);
}

/* Runs both tools again, with reports in JSON, and lists the columns that differ. */
static void name_columns(const comparison *q, char *columns, size_t size, char *first, size_t first_size) {
    run theirs, ours;
    char *a, *b;
    ask_theirs(&theirs, q, vmaf17, "json", "theirs.json", NULL);
    ask_ours(&ours, q, "json", "ours.json", 1);
    wait_for(&theirs);
    wait_for(&ours);
    a = report_mask(read_text(theirs.report));
    b = report_mask(read_text(ours.report));
    columns[0] = first[0] = 0;
    if (a && b)
        report_columns(a, b, columns, size, first, first_size);
    free(a);
    free(b);
}

/* Whether the report of libvmaf depends on uninitialised memory. */
static int is_unsteady(const comparison *q, const char *report) {
    static const char *const patterns[] = { "0", "7", "255" };
    int differs = 0;
    for (size_t i = 0; !differs && i < sizeof patterns / sizeof patterns[0]; i++) {
        run r;
        char *text;
        ask_theirs(&r, q, vmaf17, q->c->format, "theirs.again", patterns[i]);
        wait_for(&r);
        text = report_mask(read_text(r.report));
        differs = !text || strcmp(text, report) != 0;
        free(text);
    }
    return differs;
}

static void explain(const comparison *q, const char *arguments, const char *theirs, const char *ours) {
    char columns[1024], first[400];
    const char *why;
    name_columns(q, columns, sizeof columns, first, sizeof first);
    if (!first[0]) {
        snprintf(columns, sizeof columns, "text of %s", q->c->format);
        report_lines(theirs, ours, first, sizeof first);
    }
    why = known(q->c, arguments, columns);
    if (why)
        count_as(q, "known", why, "");
    else
        count_as(q, is_unsteady(q, theirs) ? "unsteady" : "differ", columns, first);
}

static int same_in_any_order(const char *a, const char *b) {
    char *x = report_sorted(a), *y = report_sorted(b);
    const int same = x && y && strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

/* Compares the default reports, which have six digits. Returns whether they are equal. */
static int compare_default(const comparison *q) {
    run theirs, ours;
    char *a, *b, first[500] = "no report";
    int same;
    ask_theirs(&theirs, q, vmaf6, q->c->default_format, "theirs.default", NULL);
    ask_ours(&ours, q, q->c->default_format, "ours.default", 0);
    wait_for(&theirs);
    wait_for(&ours);
    a = report_mask(read_text(theirs.report));
    b = report_mask(read_text(ours.report));
    same = a && b && strcmp(a, b) == 0;
    if (!same) {
        if (a && b)
            report_lines(a, b, first, sizeof first);
        count_as(q, "differ", "default report", first);
    }
    default_reports++;
    free(a);
    free(b);
    return same;
}

static void compare_reports(const comparison *q, const char *arguments, const run *theirs, const run *ours) {
    char *a = report_mask(read_text(theirs->report)), *b = report_mask(read_text(ours->report));
    if (!a || !b)
        count_as(q, "differ", "no report", a ? "rejected" : "libvmaf's");
    else if (strcmp(a, b) != 0 && !(q->c->tool_threads && same_in_any_order(a, b)))
        explain(q, arguments, a, b);
    else if (!vmaf6 || !q->c->default_format[0] || compare_default(q))
        count_as(q, "equal", "", "");
    for (const char *at = a; at && *at; at++)
        figures_compared += (*at == '.' && at[1] >= '0' && at[1] <= '9');
    free(a);
    free(b);
}

static void run_case(const fuzz_case *c) {
    const char *extension = c->is_y4m ? "y4m" : "yuv";
    char arguments[FUZZ_ARGUMENTS], names[2][16], they_say[400], we_say[400], both[900], masked[160];
    film f = fuzz_case_film(c);
    comparison q;
    run theirs, ours;
    q.c = c;
    for (int side = 0; side < 2; side++) {
        snprintf(names[side], sizeof names[side], "%s.%s", side ? "dist" : "ref", extension);
        test_need(fuzz_film_write(c, &f, side, in_folder(names[side])), "a clip could not be written");
    }
    film_free(&f);
    fuzz_case_arguments(c, arguments, sizeof arguments);
    snprintf(q.base, sizeof q.base, "-r %s -d %s %s", in_folder(names[0]), in_folder(names[1]), arguments);
    ask_theirs(&theirs, &q, vmaf17, c->format, "theirs.report", "165");
    ask_ours(&ours, &q, c->format, "ours.report", 1);
    wait_for(&theirs);
    wait_for(&ours);
    last_words(&theirs, they_say, sizeof they_say);
    last_words(&ours, we_say, sizeof we_say);
    snprintf(both, sizeof both, "libvmaf %d `%s`, ours %d `%s`", theirs.status, they_say, ours.status, we_say);
    tally_message(masked, sizeof masked, we_say);
    if (ours.status < 0 || ours.status > 1) {
        count_as(&q, "FAILED", "", both);
    } else if (theirs.status == 0 && ours.status == 0) {
        compare_reports(&q, arguments, &theirs, &ours);
    } else if (is_crash(theirs.status)) {
        count_as(&q, "crash", ours.status ? "our tool rejects" : "our tool scores", "");
    } else if (theirs.status && ours.status) {
        count_as(&q, "refused", "", "");
    } else if (ours.status == 0) {
        tally_message(masked, sizeof masked, they_say);
        count_as(&q, is_misread(c) ? "known" : "accepted", masked, both);
    } else {
        count_as(&q, is_declined(we_say) ? "declined" : "rejected", masked, both);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = fuzz_fresh_seed(), first = 0, cases = 0, done = 0;
    double seconds = 0;
    const time_t begin = time(NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        if (strcmp(argv[i], "--vmaf17") == 0) {
            vmaf17 = value;
        } else if (strcmp(argv[i], "--vmaf") == 0) {
            vmaf6 = value;
        } else if (strcmp(argv[i], "--ours") == 0) {
            our_tool = value;
        } else if (strcmp(argv[i], "--folder") == 0) {
            folder = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            seed = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--first") == 0) {
            first = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--cases") == 0) {
            cases = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--seconds") == 0) {
            seconds = strtod(value, NULL);
        } else if (strcmp(argv[i], "--only") == 0) {
            first = strtoull(value, NULL, 10);
            cases = 1;
            is_verbose = 1;
        } else {
            test_need(0, "unknown option; see the top of peer.c");
        }
    }
    test_need(argc % 2 == 1 && vmaf17 && our_tool, "--vmaf17 and --ours are required; see the top of peer.c");
    test_need(mkdir(folder, 0777) == 0 || access(folder, W_OK) == 0, folder);
    cases = cases ? cases : seconds > 0 ? UINT64_MAX : 300;
    printf("peer: --seed %llu --first %llu\n", (unsigned long long)seed, (unsigned long long)first);
    for (; done < cases && (seconds <= 0 || difftime(time(NULL), begin) < seconds); done++) {
        if (done && done % 500 == 0)
            printf("# %llu cases, %ld failed\n", (unsigned long long)done, failed);
        const fuzz_case c = fuzz_case_draw(seed, first + done);
        run_case(&c);
    }
    if (!is_verbose) {
        tally_print(&kinds);
        printf("seed %llu, cases %llu to %llu: %ld figures and %ld default reports compared; --only N repeats one\n",
               (unsigned long long)seed, (unsigned long long)first, (unsigned long long)(first + done - 1),
               figures_compared, default_reports);
    }
    printf("%ld passed, %ld failed\n", passed, failed + test_failed);
    return failed + test_failed > 0;
}
