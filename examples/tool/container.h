/* container.h: recognises files that need a decoder first, and writes words for a shell. */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stddef.h>

typedef struct container_format {
    const char *name;       /* as in "is NAME" */
    const char *extensions; /* with a space before and behind each */
    int is_picture;         /* ffmpeg decodes it to RGB, or may do so */
} container_format;

/* The format of a file that is not y4m; NULL if it is not known. If the file should be raw video only certain signs
 * count. *by_name: only the name says so. */
const container_format *container_of(const char *path, int is_raw, int *by_name);

/* Appends `text`; what does not fit is left out. Returns the length after it. */
size_t shell_put(char *out, size_t size, size_t used, const char *text);

/* Appends a word, in quotes if it needs some. */
size_t shell_put_word(char *out, size_t size, size_t used, const char *word);

#endif /* CONTAINER_H */
