/* container.h: recognises file formats that need a decoder, and quotes words for a shell. */
#ifndef CONTAINER_H
#define CONTAINER_H

#include <stddef.h>

typedef struct container_format {
    const char *name;       /* including the article, such as "an X file", so that "is %s" reads correctly */
    const char *extensions; /* each has a space before and after it */
    int is_picture;         /* ffmpeg may decode it to RGB */
} container_format;

/* Returns the format of a file, or NULL if it is y4m or unknown. If is_raw is set, a signature counts only if raw video
 * cannot begin with it by chance. *by_name is set if the format follows from the file name only. */
const container_format *container_of(const char *path, int is_raw, int *by_name);

/* Appends `text` to the `used` bytes in `out`, as far as it fits. Returns the new length. */
size_t shell_put(char *out, size_t size, size_t used, const char *text);

/* Appends a word, in quotes if the shell requires them. Returns the new length. */
size_t shell_put_word(char *out, size_t size, size_t used, const char *word);

#endif /* CONTAINER_H */
