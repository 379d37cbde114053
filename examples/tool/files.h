/* files.h: which file a path names, however it is spelled. */
#ifndef TOOL_FILES_H
#define TOOL_FILES_H

#include "video.h"

#include <stdint.h>

enum { SHOWN_PATH = VIDEO_NAME_SHOWN + 3 };

typedef enum file_kind {
    FILE_NONE, /* there is none of this name */
    FILE_REGULAR,
    FILE_PIPE,  /* or whatever else is one thing by whatever name */
    FILE_DEVICE /* many may use it: a terminal, /dev/null */
} file_kind;

/* Which file a path names, however it is spelled. */
typedef struct file_id {
    file_kind kind;
    uint64_t device, index;
} file_id;

enum { STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR };

/* Which file a path names. */
file_id tool_identify(const char *path);

/* Which file STANDARD_INPUT, STANDARD_OUTPUT or STANDARD_ERROR is. */
file_id tool_identify_standard(int number);

/* The path of the file behind `path`, which need not be there, and in *base its last part. To be freed; NULL, with
 * errno: there can be no such file. */
char *tool_path_behind(const char *path, char **base);

/* Whether the system takes two names in one folder for one. */
int tool_is_same_name(const char *a, const char *b);

/* Of devices, two names may be one: /dev/null is read and written by many. */
int tool_is_same_file(const file_id *a, const file_id *b);

/* What messages call a file: what it is, or else its path in quotes, of a long one the end. */
void tool_set_title(char title[SHOWN_PATH], const char *what, const char *path);

/* The last part of a path, for people to read. */
const char *tool_last_part(const char *path);

#endif /* TOOL_FILES_H */
