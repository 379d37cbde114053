/* cluster_mpi: scores a list of clips on many machines with MPI. It cuts each clip into segments and assigns them to
 * idle ranks. The report of each job equals the report of a single process, except for the frames per second.
 *
 * `make mpi` builds it with mpicc (Debian: libopenmpi-dev and openmpi-bin, or mpich). Each line of the list contains
 * the arguments of one run of vmafgpu. Quotes enclose words that contain spaces, and # starts a comment.
 *
 *         -r reference.y4m -d low.y4m --json -o low.json
 *         -r reference.y4m -d high.y4m --json -o high.json -m version=vmaf_v0.6.1neg
 *
 * mpirun -n 4 build/cluster_mpi jobs.txt
 *
 *     --segments N   number of segments per job; by default four per rank, of at least 48 frames each
 *     --gpus N       number of GPUs per node. Each rank uses the GPU whose number is its rank within the node modulo N.
 *                    The default is the value of SLURM_GPUS_ON_NODE; if this is not set, the arguments of the job apply
 *
 * All nodes must share the file system of the videos and reports. Jobs cannot use --html, --slopes, --plot or --state.
 * If a rank fails to score a segment, a message names the rank, and another rank scores the segment. The same happens
 * if a rank dies and the MPI implementation continues without it. Most implementations end the whole run instead, and
 * then a message lists the missing reports.
 *
 * Under Slurm, use `srun --kill-on-bad-exit --mpi=pmix` with Open MPI, or --mpi=pmi2 with MPICH. Without
 * --kill-on-bad-exit, the other ranks can wait for a dead rank until the time limit of the job.
 *
 * The first rank distributes the tasks. Its main thread polls the other ranks every millisecond. Its second thread
 * scores, so that the processor of the first rank is not idle.
 */
#include "../system.h"

#define VMAFGPU_IMPLEMENTATION
#include "../../../vmafgpu.h"
#include "../check.h"
#include "../destination.h"
#include "../files.h"
#include "../input.h"
#include "../join.h"
#include "../message.h"
#include "../options.h"
#include "../run.h"
#include "../signals.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_REPORT = 1, TAG_PART = 2, TAG_TASK = 3, MOST_TRIES = 3, SEGMENT_FRAMES = 48, PIECE = 1 << 16 };

/* Kinds of messages. The other ranks send the first three; the first rank sends the rest. */
typedef enum word { WORD_READY, WORD_DONE, WORD_FAILED, WORD_SCORE, WORD_JOIN, WORD_END } word;

typedef struct message {
    int64_t what, job, segment, segments, bytes;
} message;

enum { MESSAGE_NUMBERS = sizeof(message) / sizeof(int64_t) };

typedef struct job {
    int argc;
    char **argv, *text;
    int64_t segments, done;
    char *state; /* state of each segment: 0 to do, 1 assigned to a rank, 2 done, 3 given up */
    char *tries;
    int *last; /* for each segment, the rank to which it was last assigned */
    int is_given_up, is_joined;
} job;

typedef struct cluster {
    int rank, size, local_rank, gpus;
    job *jobs;
    int job_count;
    char folder[512]; /* temporary folder for parts */
    /* shared by the two threads of the first rank */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    message task, answer;
    int has_task, has_answer;
    int failures;
} cluster;

/* The message about missing reports, which a signal handler prints. */
static char missing_text[1024];

/* Updates the message about missing reports. */
static void tell_missing(const cluster *c) {
    size_t used = 0;
    char text[sizeof missing_text] = "";
    for (int j = 0; j < c->job_count && used < sizeof text - 120; j++) {
        if (!c->jobs[j].is_joined) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s%d (%lld of %lld segments done)", used ? ", " : "",
                                 j + 1, (long long)c->jobs[j].done, (long long)c->jobs[j].segments);
        }
    }
    snprintf(missing_text, sizeof missing_text, "cluster_mpi: ended by a signal; reports are missing for jobs %.900s\n",
             text);
}

/* Handles a signal that ends the program. */
static void end_cluster(int number) {
    ssize_t written = write(STANDARD_ERROR, missing_text, strlen(missing_text));
    (void)written;
    tool_remove_temporaries();
    raise(number); /* SA_RESETHAND has restored the default handler */
}

/* ---- the list ---- */

/* Splits a line into words, in place. Returns their number. */
static int split_line(char *line, char **words) {
    int count = 0;
    char *to = line;
    while (*line) {
        char quote = 0, *begin;
        while (*line == ' ' || *line == '\t' || *line == '\r')
            line++;
        if (!*line || *line == '#')
            break;
        begin = to;
        for (; *line && (quote || !strchr(" \t\r", *line)); line++)
            if ((*line == '"' || *line == '\'') && (!quote || quote == *line))
                quote = quote ? 0 : *line;
            else
                *to++ = *line;
        line += *line != '\0';
        *to++ = '\0';
        words[count++] = begin;
    }
    return count;
}

/* Reads the list of jobs. Returns 0 after an error message. */
static int read_list(cluster *c, const char *path) {
    size_t size;
    char *text = tool_read_text_file(path, &size), *end = text ? text + size : NULL;
    if (!text)
        return 0;
    text = (char *)realloc(text, size + 1);
    end = text + size;
    *end = '\0';
    for (char *line = text; line < end;) {
        size_t length = strcspn(line, "\n");
        job *jobs = (job *)realloc(c->jobs, sizeof *jobs * ((size_t)c->job_count + 1)), *j;
        if (!jobs)
            return tool_out_of_memory();
        c->jobs = jobs;
        j = &jobs[c->job_count];
        memset(j, 0, sizeof *j);
        line[length] = '\0';
        j->argv = (char **)malloc(sizeof *j->argv * (length / 2 + 8));
        if (!j->argv)
            return tool_out_of_memory();
        j->argv[0] = line; /* unused */
        j->argc = 1 + split_line(line, j->argv + 1);
        c->job_count += j->argc > 1;
        line += length + 1;
    }
    return c->job_count > 0 || tool_fail("the list \"%s\" contains no jobs", path);
}

/* Sets the options that apply to every task of a job. Must be called before the arguments of the job are parsed. */
static void start_options(options *o, const job *j) {
    memset(o, 0, sizeof *o);
    o->digits = REPORT_DIGITS_LEGACY;
    o->is_plain = 1; /* some MPI implementations connect ranks to a pseudo-terminal */
    o->argc = j->argc;
    o->argv = j->argv;
    tool_messages.strict_failures = tool_messages.note_count = 0;
}

/* Checks a job and chooses the number of its segments. Returns 0 after an error message. */
static int plan_job(cluster *c, int number, int64_t segments) {
    job *j = &c->jobs[number];
    options o;
    video v;
    start_options(&o, j);
    int ok = tool_parse_arguments(&o, j->argc, j->argv);
    if (ok && (o.segments || o.join || o.html || o.slopes.count || o.state || o.plot))
        ok = tool_fail("a job cannot use --segment, --join, --html, --slopes, --state or --plot");
    ok = ok && tool_check_options(&o);
    if (ok) {
        ok = (video_open_file(&v, o.reference) == VIDEO_OK && tool_begin_video(&v, &o) == VIDEO_OK) ||
             tool_fail("%s", v.error);
        int64_t most = v.frames_total / SEGMENT_FRAMES;
        j->segments = segments > 0 ? segments : most < 1 ? 1 : most < 4 * c->size ? most : 4 * c->size;
        video_close(&v);
    }
    tool_free_options(&o);
    if (!ok)
        return tool_fail("job %d is invalid", number + 1);
    j->state = (char *)calloc((size_t)j->segments, 1);
    j->tries = (char *)calloc((size_t)j->segments, 1);
    j->last = (int *)calloc((size_t)j->segments, sizeof *j->last);
    return (j->state && j->tries && j->last) || tool_out_of_memory();
}

/* Writes the path of the file that contains a segment on this rank. */
static void part_path(const cluster *c, char *path, size_t size, int64_t job_number, int64_t segment) {
    snprintf(path, size, "%s/part%d-%lld-%lld", c->folder, c->rank, (long long)job_number, (long long)segment);
}

/* ---- tasks of all ranks ---- */

/* Scores a segment and writes its rows to a file in the temporary folder of this rank. Returns 0 after an error
 * message. */
static int score_segment(const cluster *c, const message *task) {
    const job *j = &c->jobs[task->job];
    char path[600];
    options o;
    part_path(c, path, sizeof path, task->job, task->segment);
    start_options(&o, j);
    int ok = tool_parse_arguments(&o, j->argc, j->argv);
    tool_messages.is_strict = o.strict;
    o.segment = task->segment;
    o.segments = task->segments;
    o.quiet = 1;
    o.pooling_count = 0;
    o.output.count = 1;
    o.output.names[0] = path;
    if (c->gpus > 0) {
        o.gpus[0] = c->local_rank % c->gpus;
        o.gpu_count = 1;
    }
    ok = ok && tool_check_options(&o) && tool_score(&o);
    tool_free_options(&o);
    return ok;
}

/* Joins the segments of a job and writes its reports. Returns 0 after an error message. */
static int join_job(const cluster *c, int64_t number) {
    const job *j = &c->jobs[number];
    options o;
    char *paths = (char *)malloc(600 * (size_t)j->segments);
    start_options(&o, j);
    int ok = paths && tool_parse_arguments(&o, j->argc, j->argv);
    tool_messages.is_strict = 0; /* the ranks have already printed the warnings */
    o.join = (const char **)malloc(sizeof *o.join * (size_t)j->segments);
    for (int64_t i = 0; ok && i < j->segments && o.join; i++) {
        part_path(c, paths + 600 * i, 600, number, i + 1);
        o.join[o.join_count++] = paths + 600 * i;
    }
    o.reference = NULL;
    o.distorted.count = 0;
    ok = ok && o.join && tool_check_options(&o) && tool_join(&o);
    for (int i = 0; i < o.join_count; i++)
        remove(o.join[i]);
    tool_free_options(&o);
    free(paths);
    return ok;
}

static void do_task(const cluster *c, const message *task, message *answer) {
    *answer = *task;
    answer->what =
        (task->what == WORD_JOIN ? join_job(c, task->job) : score_segment(c, task)) ? WORD_DONE : WORD_FAILED;
    fflush(stdout);
}

static void sleep_briefly(void) {
    struct timespec t = { 0, 1000000 };
    nanosleep(&t, NULL);
}

/* Waits for a request, with a sleep between polls. Returns 0 if MPI reports an error. */
static int wait_for(MPI_Request *request) {
    int is_there = 0, result;
    while ((result = MPI_Test(request, &is_there, MPI_STATUS_IGNORE)) == MPI_SUCCESS && !is_there)
        sleep_briefly();
    return result == MPI_SUCCESS;
}

/* Opens the file with the rows of a segment and stores its size in *size. Returns NULL after an error message. */
static FILE *open_part(const char *path, int64_t *size) {
    FILE *in = fopen(path, "rb");
    *size = in && fseeko(in, 0, SEEK_END) == 0 ? (int64_t)ftello(in) : -1;
    if (in && (*size < 0 || fseeko(in, 0, SEEK_SET) != 0)) {
        fclose(in);
        in = NULL;
    }
    return in ? in : (tool_fail("the part \"%s\" cannot be read (%s)", path, strerror(errno)), NULL);
}

/* Sends the rows in messages of PIECE bytes. If a read fails, a shorter message signals this to the receiver. Returns 0
 * if MPI reports an error. */
static int send_part(FILE *in, int64_t size) {
    char bytes[PIECE];
    size_t wanted, count = PIECE;
    for (int64_t sent = 0; sent < size && count == PIECE; sent += (int64_t)count) {
        wanted = size - sent < PIECE ? (size_t)(size - sent) : PIECE;
        count = fread(bytes, 1, wanted, in);
        if (MPI_Send(bytes, (int)count, MPI_CHAR, 0, TAG_PART, MPI_COMM_WORLD) != MPI_SUCCESS)
            return 0;
    }
    return 1;
}

/* The main loop of all ranks except the first. Returns 0 if MPI reports an error. */
static int serve(const cluster *c) {
    message answer, task;
    MPI_Request request;
    memset(&answer, 0, sizeof answer);
    answer.what = WORD_READY;
    for (;;) {
        FILE *part = NULL;
        char path[600];
        if (answer.what == WORD_DONE) {
            part_path(c, path, sizeof path, answer.job, answer.segment);
            part = open_part(path, &answer.bytes);
            answer.what = part ? WORD_DONE : WORD_FAILED;
        }
        int ok = MPI_Send(&answer, MESSAGE_NUMBERS, MPI_INT64_T, 0, TAG_REPORT, MPI_COMM_WORLD) == MPI_SUCCESS &&
                 (!part || send_part(part, answer.bytes));
        if (part) {
            fclose(part);
            remove(path);
        }
        if (!ok)
            return 0;
        MPI_Irecv(&task, MESSAGE_NUMBERS, MPI_INT64_T, 0, TAG_TASK, MPI_COMM_WORLD, &request);
        if (!wait_for(&request))
            return 0;
        if (task.what == WORD_END)
            return 1;
        do_task(c, &task, &answer);
    }
}

/* ---- the first rank ---- */

/* On the first rank, the thread that scores and joins. */
static void *first_work(void *user) {
    cluster *c = (cluster *)user;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->has_task)
            pthread_cond_wait(&c->changed, &c->lock);
        c->has_task = 0;
        message task = c->task, answer;
        if (task.what == WORD_END)
            break;
        pthread_mutex_unlock(&c->lock);
        do_task(c, &task, &answer);
        pthread_mutex_lock(&c->lock);
        c->answer = answer;
        c->has_answer = 1;
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Returns the next task for a rank, or WORD_READY if there is none now. A segment that failed on a rank is assigned to
 * another rank if there is one. */
static message next_task(cluster *c, int rank, int ranks_left) {
    message task;
    memset(&task, 0, sizeof task);
    task.what = WORD_READY;
    for (int n = 0; n < c->job_count; n++) {
        job *j = &c->jobs[n];
        if (j->is_given_up || j->is_joined)
            continue;
        if (j->done == j->segments && rank == 0) {
            task.what = WORD_JOIN;
            task.job = n;
            j->is_joined = 1;
            return task;
        }
        for (int64_t s = 0; s < j->segments; s++) {
            if (j->state[s] == 0 && (j->tries[s] == 0 || j->last[s] != rank || ranks_left < 2)) {
                j->state[s] = 1;
                j->last[s] = rank;
                j->tries[s]++;
                task.what = WORD_SCORE;
                task.job = n;
                task.segment = s + 1;
                task.segments = j->segments;
                return task;
            }
        }
    }
    return task;
}

static int is_all_done(const cluster *c) {
    for (int n = 0; n < c->job_count; n++)
        if (!c->jobs[n].is_given_up && !c->jobs[n].is_joined)
            return 0;
    return 1;
}

/* Marks a job as failed and prints an error message. */
static void give_up(cluster *c, int64_t number, const char *why) {
    job *j = &c->jobs[number];
    if (!j->is_given_up) {
        j->is_given_up = 1;
        c->failures++;
        tool_fail("job %lld failed and has no report: %s; %lld of %lld segments are done", (long long)number + 1, why,
                  (long long)j->done, (long long)j->segments);
    }
}

/* Handles the failure of a task, or of the rank to which the task was assigned. */
static void take_back(cluster *c, const message *task, int rank, const char *host, const char *how, int ranks_left) {
    if (task->what == WORD_JOIN) {
        c->jobs[task->job].is_joined = 0;
        give_up(c, task->job, "the segments could not be joined");
        return;
    }
    job *j = &c->jobs[task->job];
    int is_last = j->tries[task->segment - 1] >= MOST_TRIES || (ranks_left < 2 && j->last[task->segment - 1] == rank);
    tool_fail("rank %d (%s) %s segment %lld of %lld of job %lld%s", rank, host, how, (long long)task->segment,
              (long long)task->segments, (long long)task->job + 1, is_last ? "" : "; the segment is assigned again");
    j->state[task->segment - 1] = 0;
    if (is_last) {
        j->state[task->segment - 1] = 3;
        give_up(c, task->job, "a segment failed");
    }
}

/* The result of receiving the rows of a segment. */
typedef enum receipt { RECEIVED, NOT_READ, NOT_WRITTEN, RANK_LOST } receipt;

/* Receives the rows from send_part() and writes them to a file. If a write fails, it still receives all rows, so that
 * the sender does not block. */
static receipt receive_part(const cluster *c, const message *report, int rank) {
    char path[600], bytes[PIECE];
    receipt result = RECEIVED;
    part_path(c, path, sizeof path, report->job, report->segment);
    FILE *out = fopen(path, "wb");
    int ok = out != NULL;
    for (int64_t got = 0; got < report->bytes && result == RECEIVED; got += PIECE) {
        MPI_Status status;
        int count = 0, wanted = report->bytes - got < PIECE ? (int)(report->bytes - got) : PIECE;
        if (MPI_Recv(bytes, PIECE, MPI_CHAR, rank, TAG_PART, MPI_COMM_WORLD, &status) != MPI_SUCCESS) {
            result = RANK_LOST;
            break;
        }
        MPI_Get_count(&status, MPI_CHAR, &count);
        result = count == wanted ? RECEIVED : NOT_READ;
        ok = ok && fwrite(bytes, 1, (size_t)count, out) == (size_t)count;
    }
    ok = (out && fclose(out) == 0 && ok) || tool_fail("the part \"%s\" cannot be written (%s)", path, strerror(errno));
    return result == RECEIVED && !ok ? NOT_WRITTEN : result;
}

/* The state of another rank. */
typedef struct helper {
    message report, task; /* the task is WORD_READY if there is none */
    MPI_Request request;
    int is_gone, is_idle;
} helper;

/* Marks the segment of a report as done. */
static void end_segment(cluster *c, const message *report) {
    job *j = &c->jobs[report->job];
    if (report->segment > 0 && j->state[report->segment - 1] == 1) {
        j->state[report->segment - 1] = 2;
        j->done++;
    }
    tell_missing(c);
}

/* Marks a rank as dead and handles the failure of its task. */
static void lose_helper(cluster *c, helper *h, int rank, const char *host, int *left) {
    h->is_gone = 1;
    --*left;
    if (h->task.what == WORD_SCORE)
        take_back(c, &h->task, rank, host, "died during", *left);
    else
        tool_fail("rank %d (%s) died", rank, host);
}

/* Checks whether a rank has sent a report, and handles it. */
static void hear(cluster *c, helper *h, int rank, const char *host, int *left) {
    int is_there = 0;
    if (h->is_gone || h->is_idle)
        return;
    if (MPI_Test(&h->request, &is_there, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        lose_helper(c, h, rank, host, left);
        return;
    }
    if (!is_there)
        return;
    h->is_idle = 1;
    if (h->report.what == WORD_DONE) {
        switch (receive_part(c, &h->report, rank)) {
        case RECEIVED: end_segment(c, &h->report); break;
        case NOT_READ: take_back(c, &h->task, rank, host, "failed at", *left); break;
        case NOT_WRITTEN: give_up(c, h->report.job, "a part could not be written"); break;
        case RANK_LOST: lose_helper(c, h, rank, host, left); break;
        }
    } else if (h->report.what == WORD_FAILED) {
        take_back(c, &h->task, rank, host, "failed at", *left);
    }
    h->task.what = WORD_READY;
}

/* Sends a task to a rank and waits for its report in the background. */
static void tell(helper *h, int rank, const message *task) {
    h->task = *task;
    if (MPI_Send(&h->task, MESSAGE_NUMBERS, MPI_INT64_T, rank, TAG_TASK, MPI_COMM_WORLD) == MPI_SUCCESS &&
        task->what != WORD_END) {
        h->is_idle = 0;
        MPI_Irecv(&h->report, MESSAGE_NUMBERS, MPI_INT64_T, rank, TAG_REPORT, MPI_COMM_WORLD, &h->request);
    }
}

/* Distributes tasks until all jobs are done or given up. */
static void deal(cluster *c, helper *helpers, const char *hosts) {
    int left = c->size, first_is_idle = 1;
    message mine;
    memset(&mine, 0, sizeof mine);
    for (int rank = 1; rank < c->size; rank++) {
        MPI_Irecv(&helpers[rank].report, MESSAGE_NUMBERS, MPI_INT64_T, rank, TAG_REPORT, MPI_COMM_WORLD,
                  &helpers[rank].request);
    }
    while (!is_all_done(c) || !first_is_idle) {
        pthread_mutex_lock(&c->lock);
        if (c->has_answer) {
            c->has_answer = 0;
            first_is_idle = 1;
            if (c->answer.what == WORD_FAILED)
                take_back(c, &mine, 0, hosts, "failed at", left);
            else if (mine.what == WORD_SCORE)
                end_segment(c, &c->answer);
        }
        pthread_mutex_unlock(&c->lock);
        for (int rank = 1; rank < c->size; rank++)
            hear(c, &helpers[rank], rank, hosts + rank * MPI_MAX_PROCESSOR_NAME, &left);
        if (first_is_idle) {
            mine = next_task(c, 0, left);
            if (mine.what != WORD_READY) {
                pthread_mutex_lock(&c->lock);
                c->task = mine;
                c->has_task = 1;
                first_is_idle = 0;
                pthread_cond_signal(&c->changed);
                pthread_mutex_unlock(&c->lock);
            }
        }
        for (int rank = 1; rank < c->size; rank++) {
            if (helpers[rank].is_idle && !helpers[rank].is_gone) {
                message task = next_task(c, rank, left);
                if (task.what != WORD_READY)
                    tell(&helpers[rank], rank, &task);
            }
        }
        sleep_briefly();
    }
}

/* Runs the first rank. Returns 0 if a job failed. */
static int lead(cluster *c, const char *hosts) {
    helper *helpers = (helper *)calloc((size_t)c->size, sizeof *helpers);
    pthread_t worker;
    message end;
    memset(&end, 0, sizeof end);
    end.what = WORD_END;
    if (!helpers || pthread_mutex_init(&c->lock, NULL) != 0 || pthread_cond_init(&c->changed, NULL) != 0 ||
        pthread_create(&worker, NULL, first_work, c) != 0) {
        return tool_out_of_memory();
    }
    deal(c, helpers, hosts);
    int left = c->size;
    for (int rank = 1; rank < c->size; rank++) {
        while (!helpers[rank].is_idle && !helpers[rank].is_gone) { /* busy with a job that was given up */
            hear(c, &helpers[rank], rank, hosts + rank * MPI_MAX_PROCESSOR_NAME, &left);
            sleep_briefly();
        }
        if (!helpers[rank].is_gone)
            tell(&helpers[rank], rank, &end);
    }
    pthread_mutex_lock(&c->lock);
    c->task = end;
    c->has_task = 1;
    pthread_cond_signal(&c->changed);
    pthread_mutex_unlock(&c->lock);
    pthread_join(worker, NULL);
    free(helpers);
    return c->failures == 0;
}

/* ---- the program ---- */

/* Returns 0 after an error message if srun has started several processes that MPI does not connect. Each process would
 * then score all jobs. */
static int check_launch(const cluster *c) {
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    const long count = tasks ? strtol(tasks, NULL, 10) : 1;
    return c->size > 1 || count < 2 ||
           tool_fail("srun started %ld processes, but MPI does not connect them; use srun --mpi=pmix (Open MPI) or "
                     "--mpi=pmi2 (MPICH)",
                     count);
}

/* Reads the arguments and the list. Returns 0 after an error message. */
static int read_arguments(cluster *c, int argc, char **argv, int64_t *segments) {
    const char *list = NULL, *slurm = getenv("SLURM_GPUS_ON_NODE");
    c->gpus = slurm ? atoi(slurm) : 0;
    for (int i = 1; i < argc; i++) {
        int is_segments = strcmp(argv[i], "--segments") == 0;
        if ((is_segments || strcmp(argv[i], "--gpus") == 0) && i + 1 < argc) {
            long number = strtol(argv[++i], NULL, 10);
            if (number < 1 || number > 100000)
                return tool_fail("%s needs a number from 1 to 100000, not \"%s\"", argv[i - 1], argv[i]);
            *segments = is_segments ? number : *segments;
            c->gpus = is_segments ? c->gpus : (int)number;
        } else if (argv[i][0] == '-' || list) {
            return tool_fail("unexpected argument \"%s\"; cluster_mpi takes a list of jobs, --segments N and --gpus N",
                             argv[i]);
        } else {
            list = argv[i];
        }
    }
    return list ? read_list(c, list) : tool_fail("cluster_mpi needs a list of jobs");
}

int main(int argc, char **argv) {
    cluster c;
    MPI_Comm node;
    int provided = 0, ok, all_ok = 0;
    int64_t segments = 0;
    char host[MPI_MAX_PROCESSOR_NAME] = "", *hosts;
    memset(&c, 0, sizeof c);
    tool_fill_standard_files();
    tool_watch();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c.rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &c.local_rank);
    MPI_Comm_free(&node);
    MPI_Get_processor_name(host, &(int){ 0 });
    hosts = (char *)malloc((size_t)c.size * MPI_MAX_PROCESSOR_NAME);
    MPI_Gather(host, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    const char *folder = getenv("TMPDIR");
    snprintf(c.folder, sizeof c.folder, "%s/cluster_mpi-XXXXXX", folder ? folder : "/tmp");
    ok = hosts && mkdtemp(c.folder) && check_launch(&c) && (c.rank > 0 || read_arguments(&c, argc, argv, &segments));
    for (int i = 0; c.rank == 0 && i < c.job_count && ok; i++)
        ok = plan_job(&c, i, segments);
    MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD); /* so that only one rank prints the error */
    if (ok && c.rank > 0)
        ok = read_arguments(&c, argc, argv, &segments) || tool_fail("rank %d (%s) cannot read the list", c.rank, host);
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (all_ok && c.rank == 0) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = end_cluster;
        action.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        tell_missing(&c);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGINT, &action, NULL);
    }
    ok = all_ok && (c.rank ? serve(&c) : lead(&c, hosts));
    rmdir(c.folder);
    MPI_Request request;
    if (MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS)
        wait_for(&request);
    MPI_Finalize();
    free(hosts);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
