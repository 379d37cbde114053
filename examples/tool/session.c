/* session.c: see session.h. */
#include "system.h"

#include "session.h"
#include "maps.h"
#include "message.h"
#include "options.h"
#include "video.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <unistd.h>
#endif

enum {
    MAX_READERS = 16,        /* maximum number of reading threads without --threads */
    BRIEF = 24 * 1920 * 1080 /* number of pixels that the CPU scores before a GPU is open */
};

/* Prints a warning from the library, but only once for all contexts of a clip. A fallback to the CPU is reported by
 * tool_warn_of_fallback() instead. */
static void log_warning(void *user, vmafgpu_log_level level, const char *message) {
    session *all = (session *)user;
    char text[sizeof all->warning];
    if (level != VMAFGPU_LOG_LEVEL_WARNING ||
        (all->contexts[0] && strcmp(message, vmafgpu_backend_note(all->contexts[0])) == 0)) {
        return;
    }
    tool_translate(text, sizeof text, message);
    if (strcmp(text, all->warning) != 0) {
        memcpy(all->warning, text, sizeof text);
        tool_warn("%s", text);
    }
}

/* Returns the number of threads that read frames for a GPU. */
static int reader_threads(const options *o) {
#ifdef VMAFGPU_NO_THREADS
    return (void)o, 1;
#else
    long processors = 1;
    if (o->threads > 0)
        return (int)o->threads;
#ifdef _WIN32
    SYSTEM_INFO system;
    GetSystemInfo(&system);
    processors = (long)system.dwNumberOfProcessors;
#else
    processors = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return processors < 1 ? 1 : processors < MAX_READERS ? (int)processors : MAX_READERS;
#endif
}

int64_t tool_frames_to_skip(const options *o, int i) {
    return i ? o->skip_distorted : o->skip_reference;
}

int64_t tool_wanted_frame(const session *all, int i, int64_t n) {
    n += all->first;
    if (all->plan[i])
        return n < all->plan_count ? all->plan[i][n] : -1;
    return tool_frames_to_skip(all->o, i) + n;
}

int64_t tool_pairs_behind(const session *all, int64_t n) {
    int64_t total = all->plan[0] ? all->plan_count : INT64_MAX;
    for (int i = 0; i <= all->count && !all->plan[0]; i++) {
        int64_t frames = all->videos[i].frames_total - tool_frames_to_skip(all->o, i);
        if (all->videos[i].frames_total < 0)
            return -1;
        total = frames < total ? frames : total;
    }
    return total > n ? total - n : 0;
}

int64_t tool_expected_frames(const session *all) {
    int64_t total = tool_pairs_behind(all, all->first);
    return all->limit > 0 && (total < 0 || all->limit < total) ? all->limit : total;
}

/* Whether the CPU would finish the videos before a GPU is open. Always 0 if an option names a GPU. */
static int is_brief(const options *o, const session *all) {
    int64_t frames = tool_expected_frames(all), pixels = (int64_t)all->width * all->height * all->count;
    return o->backend == VMAFGPU_BACKEND_AUTO && o->gpu_count == 0 && !o->kernels && frames >= 0 &&
           frames <= BRIEF / pixels;
}

void tool_choose_gpus(vmafgpu_config *config, const options *o) {
    config->gpu.device = o->gpu_count > 0 ? o->gpus[0] : 0;
    config->gpu.devices = o->gpu_count > 1 ? o->gpus : NULL;
    config->gpu.device_count = o->gpu_count == 1 ? 0 : o->gpu_count;
    config->gpu.kernels_path = o->kernels;
}

void tool_describe(vmafgpu *context, const options *o) {
    enum { SLACK = 64 }; /* a GPU that is being opened can become ready between the calls */
    size_t length = o->debug ? vmafgpu_describe(context, NULL, 0) : 0, size = length + SLACK;
    char *text = length ? (char *)malloc(size) : NULL;
    if (text && vmafgpu_describe(context, text, size) < size)
        fprintf(stderr, "%s\n", text);
    free(text);
}

/* Whether the user chose a GPU that the context does not use because of its slopes. */
static int is_kept_from_gpu(const options *o, const vmafgpu *context) {
    static const char field[] = "config.slopes";
    return (o->gpu_count || o->kernels) && strncmp(vmafgpu_backend_note(context), field, sizeof field - 1) == 0;
}

vmafgpu *tool_open_context(session *all, const options *o) {
    vmafgpu_config config = video_config(&all->videos[0]);
    vmafgpu *context = NULL;
    config.width = all->width;
    config.height = all->height;
    config.models = o->model_count ? o->models : NULL;
    config.model_count = o->model_count;
    /* With --no_prediction, the models only determine the features. The report contains no scores. */
    config.features_only = o->no_prediction && o->model_count == 0;
    config.features = o->feature_count ? o->features : NULL;
    config.feature_count = o->feature_count;
    config.strict_options = o->strict;
    config.float_reciprocal = o->reciprocal;
    config.subsample = (int)o->subsample;
    config.backend =
        o->backend == VMAFGPU_BACKEND_AUTO && (o->gpumask || is_brief(o, all)) ? VMAFGPU_BACKEND_CPU : o->backend;
    tool_choose_gpus(&config, o);
    /* While a GPU is being opened, several contexts could not share work. With --gpu, a missing GPU must be reported at
     * once. */
    config.gpu.open_in_background = all->count == 1 && o->gpu_count == 0;
    config.cpumask = (unsigned)(o->cpumask < 0 ? 0xffffffff : o->cpumask);
    config.threaded_column_order = o->threads > 0;
    config.threads = (int)o->threads;
    config.gpu.copy_threads = reader_threads(o);
    config.contexts_per_pass = o->distorted.count;
    config.on_heatmap = tool_write_map;
    config.on_heatmap_user = all;
    config.on_log = log_warning;
    config.on_log_user = all;
#ifdef VMAFGPU_NO_THREADS
    if (config.threads > 1) {
        config.threads = 1;
        log_warning(all, VMAFGPU_LOG_LEVEL_WARNING, "--threads is ignored: this program was built without threads");
    }
#endif
    config.slopes = o->slopes.count == 0 ? 0 : o->constant_cambi ? 2 : 1;
    vmafgpu_result result = vmafgpu_open(&context, &config);
    if (config.slopes && (result != VMAFGPU_OK || is_kept_from_gpu(o, context))) {
        vmafgpu_close(context);
        config.slopes = 0;
        result = vmafgpu_open(&context, &config);
    }
    tool_describe(context, o);
    if (result != VMAFGPU_OK) {
        tool_fail_library(vmafgpu_last_error(context));
        vmafgpu_close(context);
        return NULL;
    }
    return context;
}

int tool_shown_columns(const vmafgpu *context, const options *o) {
    int columns = vmafgpu_column_count(context);
    for (int m = 0; o->no_prediction && m < o->model_count; m++) {
        int column = vmafgpu_model_column(context, m);
        columns = column >= 0 && column < columns ? column : columns;
    }
    return columns;
}

video_result tool_read_wanted(const session *all, video *v, int index, int64_t n) {
    video_result result = VIDEO_OK;
    int64_t wanted = tool_wanted_frame(all, index, n);
    while (result == VIDEO_OK && v->frames_read <= wanted)
        result = video_read(v);
    return wanted < 0 ? VIDEO_END : result;
}
