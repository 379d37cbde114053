/* destination.h: where a report goes.
 *
 * A report is written to a temporary file beside the one that it is for, and takes its place when it is whole. So an
 * older report stays until then, whatever ends the program.
 */
#ifndef TOOL_DESTINATION_H
#define TOOL_DESTINATION_H

#include "files.h"

#include <stdio.h>

/* Where a report goes. */
typedef struct destination {
    const char *name; /* as it was given */
    char title[SHOWN_PATH];
    int is_stdout;
    file_id file, folder;
    char *path;      /* of the file behind all links, that is to be replaced; NULL: it is written to as it is */
    char *base;      /* its last part */
    char *temporary; /* beside it; NULL: none could be made */
    FILE *out;       /* that or, where `path` is NULL, the thing itself */
} destination;

/* Finds out where a report goes; changes nothing. */
int tool_find_destination(destination *d, const char *name);

/* Whether two reports would be one file. */
int tool_is_same_destination(const destination *a, const destination *b);

/* Removes the temporary files; may be called by a signal handler. */
void tool_remove_temporaries(void);

/* Opens the files, or temporary ones beside them. 0 after a message. */
int tool_open_destinations(destination *destinations, int count);

/* Flushes standard output. 0 after a message. */
int tool_close_standard_output(void);

/* Leaves what was there before. */
void tool_abandon_destination(destination *d, int slot);

/* Writes the report by `write` and lets it take its place. 0 after a message. */
int tool_fill_destination(destination *d, int slot, void (*write)(FILE *, void *), void *user);

#endif /* TOOL_DESTINATION_H */
