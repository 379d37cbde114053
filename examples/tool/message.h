/* message.h: messages on the error stream, and text that may go to a terminal.
 *
 * A message is in lower case and has no full stop. The functions of the tool return 1 on success and 0 on failure.
 * tool_fail(), tool_fail_library() and tool_out_of_memory() return 0, so that a caller can write
 * `return tool_fail("...")`.
 */
#ifndef TOOL_MESSAGE_H
#define TOOL_MESSAGE_H

#include <stdio.h>

enum { MAX_NOTES = 24 };

typedef struct message_state {
    int is_strict;       /* --strict: a warning is a failure */
    int strict_failures; /* number of warnings while is_strict is set */
    int note_count;
    char notes[MAX_NOTES][1024]; /* texts of tool_say() and tool_warn(), for the page of --html */
} message_state;

extern message_state tool_messages;

/* Returns the length in bytes of the first character of `text` if it is safe to print on a terminal. Returns 0 for
 * control characters and for bytes that are not valid UTF-8. */
int tool_printable_length(const char *text);

/* Prints text from a path or a file. Bytes that are not safe to print are printed as \x and two hexadecimal digits. */
void tool_put_text(FILE *out, const char *text);

/* Prints an error message. Returns 0. */
int tool_fail(const char *format, ...);

/* Prints a message that is neither an error nor a warning, and adds it to the notes. */
void tool_say(const char *format, ...);

/* Prints a warning and adds it to the notes. With --strict, the warning counts as a failure. */
void tool_warn(const char *format, ...);

/* Prints that no memory is left. Returns 0. */
int tool_out_of_memory(void);

/* Copies a message from the library to `out`, and replaces names of config fields with names of options. */
void tool_translate(char *out, size_t size, const char *message);

/* Prints a message from the library, with names of options instead of config fields. Returns 0. */
int tool_fail_library(const char *message);

/* Copies text into a new buffer of at least `size` bytes. The caller frees it. Returns NULL if memory is short. */
char *tool_copy_text(const char *text, size_t size);

#endif /* TOOL_MESSAGE_H */
