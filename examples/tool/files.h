/* files.h: identifies files, so that the tool recognises two paths that lead to the same file. */
#ifndef TOOL_FILES_H
#define TOOL_FILES_H

#include "video.h"

#include <stdint.h>

enum { SHOWN_PATH = VIDEO_NAME_SHOWN + 3 };

typedef enum file_kind {
    FILE_NONE, /* no file has this name */
    FILE_REGULAR,
    FILE_PIPE,  /* a pipe, a socket or a block device */
    FILE_DEVICE /* a terminal, /dev/null or a folder: several readers and writers can use it */
} file_kind;

/* The identity of a file. It does not depend on the path. */
typedef struct file_id {
    file_kind kind;
    uint64_t device, index;
} file_id;

enum { STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR };

/* Returns the identity of the file at `path`. */
file_id tool_identify(const char *path);

/* Returns the identity of STANDARD_INPUT, STANDARD_OUTPUT or STANDARD_ERROR. */
file_id tool_identify_standard(int number);

/* Returns the absolute path of a file with links resolved, and makes *base point to the file name in this path. The
 * file need not exist. The caller frees the path. Returns NULL and sets errno if no such file can exist. */
char *tool_path_behind(const char *path, char **base);

/* Whether the system treats two file names in the same folder as equal. */
int tool_is_same_name(const char *a, const char *b);

/* Whether two identities belong to the same file or pipe. Returns 0 for devices, because several readers and writers
 * can use one device. */
int tool_is_same_file(const file_id *a, const file_id *b);

/* Sets `title`, the name by which messages refer to a file: `what` if it is not NULL, otherwise the path in quotes.
 * Only the end of a long path is shown. */
void tool_set_title(char title[SHOWN_PATH], const char *what, const char *path);

/* Returns the file name of a path, or "standard input" for "-". */
const char *tool_last_part(const char *path);

#endif /* TOOL_FILES_H */
