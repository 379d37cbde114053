/* decoder.c: see decoder.h. */
#include "system.h"

#include "decoder.h"
#include "capacity.h"
#include "container.h"
#include "files.h"
#include "input.h"
#include "message.h"
#include "options.h"
#include "video.h"

#include <stdio.h>
#include <string.h>

/* Appends the ffmpeg command that decodes `path` and writes the result to `to`. The command starts with `prefix`. */
static size_t put_decoder(char *out, size_t size, size_t used, const options *o, const char *path, const char *prefix,
                          const char *to) {
    int by_name;
    const container_format *format = container_of(path, o->pixel_format != NULL, &by_name);
    char name[32] = "yuv420p", prefixed[4200];
    /* ffmpeg would read the text before a colon as a protocol */
    snprintf(prefixed, sizeof prefixed, strchr(path, ':') ? "file:%s" : "%s", path);
    used = shell_put(out, size, used, prefix);
    used = shell_put_word(out, size, used, prefixed);
    if (o->pixel_format)
        tool_ffmpeg_format(name, o->pixel_format->chroma, o->pixel_format->layout, (int)o->bit_depth);
    used = shell_put(out, size, used, o->pixel_format ? " -f rawvideo" : " -f yuv4mpegpipe -strict -1");
    if (o->pixel_format || (format && format->is_picture)) {
        used = shell_put(out, size, used, " -pix_fmt ");
        used = shell_put(out, size, used, name);
    }
    used = shell_put(out, size, used, " ");
    return shell_put_word(out, size, used, to);
}

/* Writes the command line of this run with decoders for the videos that need one. A single decoder writes to a pipe.
 * For several decoders, the command line uses process substitution, which bash supports. */
static void put_with_decoders(char *out, size_t size, const options *o, const int *is_container, int count) {
    size_t used = 0;
    for (int i = 0; i <= o->distorted.count && count == 1; i++) {
        if (is_container[i]) {
            used = put_decoder(out, size, used, o, tool_path_of(o, i), "ffmpeg -v error -i ", "-");
            used = shell_put(out, size, used, " | ");
        }
    }
    for (int k = 0; k < o->argc; k++) {
        const char *word = o->argv[k], *path = NULL;
        for (int i = 0; i <= o->distorted.count; i++) {
            const char *at = tool_path_of(o, i);
            path = is_container[i] && at >= word && at <= word + strlen(word) ? at : path;
        }
        used = shell_put(out, size, used, k ? " " : "");
        if (!path) {
            used = shell_put_word(out, size, used, word);
            continue;
        }
        for (const char *c = word; c < path; c++) { /* an option before the path, such as --reference= */
            char letter[2] = { *c, '\0' };
            used = shell_put(out, size, used, letter);
        }
        if (count == 1) {
            used = shell_put(out, size, used, "-");
        } else {
            used = put_decoder(out, size, used, o, path, "<(ffmpeg -v error -nostdin -i ", "-");
            used = shell_put(out, size, used, ")");
        }
    }
}

int tool_check_containers(const options *o) {
    static char command[1 << 15];
    int is_container[1 + MAX_DISTORTED] = { 0 }, count = 0, first = -1, from_stdin = 0, by_name;
    for (int i = 0; i <= o->distorted.count; i++) {
        const char *path = tool_path_of(o, i);
        int is_stdin = strcmp(path, "-") == 0;
        from_stdin += is_stdin;
        is_container[i] = !is_stdin && tool_identify(path).kind == FILE_REGULAR &&
                          container_of(path, o->pixel_format != NULL, &by_name);
        first = is_container[i] && first < 0 ? i : first;
        count += is_container[i];
    }
    if (count == 0)
        return 1;
    video named;
    const char *path = tool_path_of(o, first);
    int needs_file = o->state || o->segments || o->align || o->from.is_time || o->to.is_time;
    video_start(&named, path);
#ifdef _WIN32
    needs_file |= count + from_stdin > 1;
#endif
    if (needs_file) {
        char to[4200];
        snprintf(to, sizeof to, "%s.%s", path, o->pixel_format ? "yuv" : "y4m");
        put_decoder(command, sizeof command, 0, o, path, "ffmpeg -v error -i ", to);
    } else {
        put_with_decoders(command, sizeof command, o, is_container, count + from_stdin);
    }
    const container_format *format = container_of(path, o->pixel_format != NULL, &by_name);
    tool_fail("%s %s %s; decode it with ffmpeg, as in this command%s:", named.title,
              by_name ? "is not a y4m file but, by its name," : "is", format->name,
              needs_file               ? ", and score its output"
              : count + from_stdin > 1 ? " for bash"
                                       : "");
    fputs("    ", stderr);
    tool_put_text(stderr, command);
    fputs("\n", stderr);
    return 0;
}
