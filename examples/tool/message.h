/* message.h: messages on the error stream, and text that may go to a terminal.
 *
 * A message is one sentence without its full stop. tool_fail(), tool_fail_library() and tool_out_of_memory() return 0,
 * which is failure for the functions of the tool that return a truth: `return tool_fail("...")`.
 */
#ifndef TOOL_MESSAGE_H
#define TOOL_MESSAGE_H

#include <stdio.h>

enum { MAX_NOTES = 24 };

typedef struct message_state {
    int is_strict;       /* --strict: a warning is a failure, which shows in the exit status */
    int strict_failures; /* warnings since then */
    int note_count;
    char notes[MAX_NOTES][1024]; /* what was said of the videos, for reports that have room for it */
} message_state;

extern message_state tool_messages;

/* How many bytes at `text` make up a character that may go to a terminal; 0: the first byte may not. Control characters
 * would change what a terminal does; what is not UTF-8 could hold some. */
int tool_printable_length(const char *text);

/* Prints text that may hold whatever a path or a file holds; what is not printable becomes \x and two digits. */
void tool_put_text(FILE *out, const char *text);

/* Prints a message. Returns 0. */
int tool_fail(const char *format, ...);

/* Prints a message that is neither a failure nor a warning, and notes it. */
void tool_say(const char *format, ...);

/* Prints a warning and notes it; with --strict it counts as a failure. */
void tool_warn(const char *format, ...);

/* Prints that memory ran out. Returns 0. */
int tool_out_of_memory(void);

/* Writes a message of the library in the words of the command line: options instead of fields of the config. */
void tool_translate(char *out, size_t size, const char *sentence);

/* Prints a message of the library, in the words of the command line. Returns 0. */
int tool_fail_library(const char *sentence);

/* Copies text into `room` bytes or more. To be freed; NULL if there is no memory. */
char *tool_copy_text(const char *text, size_t room);

#endif /* TOOL_MESSAGE_H */
