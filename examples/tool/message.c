/* message.c: see message.h. */
#include "system.h"

#include "../../vmafgpu.h"
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

message_state tool_messages;

int tool_printable_length(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
#ifdef _WIN32
    return *c >= 0x20 && *c != 0x7f; /* a character of any code page */
#else
    int length = *c < 0x80 ? 1 : *c < 0xc2 ? 0 : *c < 0xe0 ? 2 : *c < 0xf0 ? 3 : *c < 0xf5 ? 4 : 0;
    if (*c < 0x20 || *c == 0x7f || (c[0] == 0xc2 && c[1] < 0xa0))
        return 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    return length;
#endif
}

void tool_put_text(FILE *out, const char *text) {
    while (*text) {
        int length = tool_printable_length(text);
        if (length > 0)
            fwrite(text, 1, (size_t)length, out);
        else
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*text);
        text += length > 0 ? length : 1;
    }
}

static void add_note(const char *message) {
    message_state *m = &tool_messages;
    if (m->note_count < MAX_NOTES)
        snprintf(m->notes[m->note_count++], sizeof m->notes[0], "%.1023s", message);
}

static void put_message(const char *prefix, const char *format, va_list arguments, int is_noted) {
    char message[16384]; /* enough for several paths */
    vsnprintf(message, sizeof message, format, arguments);
    if (is_noted)
        add_note(message);
    fputs(prefix, stderr);
    tool_put_text(stderr, message);
    fputs("\n", stderr);
}

int tool_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_message("vmafgpu: ", format, arguments, 0);
    va_end(arguments);
    return 0;
}

void tool_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_message("vmafgpu: ", format, arguments, 1);
    va_end(arguments);
}

void tool_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_message(tool_messages.is_strict ? "vmafgpu: --strict: " : "vmafgpu: warning: ", format, arguments, 1);
    va_end(arguments);
    tool_messages.strict_failures += tool_messages.is_strict;
}

int tool_out_of_memory(void) {
    return tool_fail("%s", vmafgpu_result_message(VMAFGPU_ERROR_MEMORY));
}

/* The option that sets each config field. A # matches an index in brackets. If one name is a prefix of another, the
 * longer name is first. */
static const struct {
    const char *field, *option;
} field_names[] = {
    { "config.width", "--width" },
    { "config.height", "--height" },
    { "config.bit_depth", "--bitdepth" },
    { "config.bytes_per_sample", "the bytes per sample" },
    { "config.chroma", "the pixel format" },
    { "config.layout", "the pixel format" },
    { "config.models#.name", "the name in --model" },
    { "config.models#", "--model" },
    { "config.models", "--model" },
    { "config.model_count", "the number of --model" },
    { "config.features_only", "--no_prediction" },
    { "config.features#", "--feature" },
    { "config.features", "--feature" },
    { "config.feature_count", "the number of --feature" },
    { "config.strict_options", "--strict" },
    { "config.float_reciprocal", "--float_reciprocal" },
    { "config.slopes 2", "--constant_cambi" },
    { "config.slopes", "--slopes" },
    { "config.subsample", "--subsample" },
    { "config.backend", "--backend" },
    { "config.gpu.devices#", "--gpu" },
    { "config.gpu.devices", "--gpu" },
    { "config.gpu.device", "--gpu" },
    { "config.gpu.kernels_path", "--kernels" },
    { "config.cpumask", "--cpumask" },
    { "config.threads", "--threads" },
    { "config.contexts_per_pass", "the number of --distorted" },
    { "config.gpu.", "" }, /* fields without an option */
    { "config.", "" },
};

/* Returns the length of the field name at the start of `text`, or 0 if `text` starts with something else. */
static size_t match_field(const char *text, const char *field) {
    const char *at = text;
    for (; *field; field++) {
        if (*field == '#') {
            const char *end = *at == '[' ? strchr(at, ']') : NULL;
            if (!end)
                return 0;
            at = end + 1;
        } else if (*field != *at++) {
            return 0;
        }
    }
    int is_longer_name = at[-1] != '.' && ((*at >= 'a' && *at <= 'z') || *at == '_');
    return is_longer_name ? 0 : (size_t)(at - text);
}

void tool_translate(char *out, size_t size, const char *message) {
    size_t used = 0;
    while (*message && used + 1 < size) {
        size_t length = 0, row = 0;
        for (; *message == 'c' && row < sizeof field_names / sizeof field_names[0]; row++) {
            length = match_field(message, field_names[row].field);
            if (length > 0)
                break;
        }
        if (length > 0) {
            int written = snprintf(out + used, size - used, "%s", field_names[row].option);
            used += (size_t)written < size - used ? (size_t)written : size - used - 1;
            message += length;
        } else {
            out[used++] = *message++;
        }
    }
    out[used] = '\0';
}

int tool_fail_library(const char *message) {
    char text[1024];
    tool_translate(text, sizeof text, message);
    return tool_fail("%s", text);
}

char *tool_copy_text(const char *text, size_t size) {
    size_t length = strlen(text) + 1;
    char *copy = (char *)malloc(length > size ? length : size);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}
