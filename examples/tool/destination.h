/* destination.h: writes a report to a file or to standard output.
 *
 * A report is written to a temporary file in the folder of its destination. An older report is replaced only when the
 * temporary file is complete, so that the older report is not lost if the program is interrupted.
 */
#ifndef TOOL_DESTINATION_H
#define TOOL_DESTINATION_H

#include "capacity.h"
#include "files.h"

#include <stdio.h>

typedef struct destination {
    const char *name; /* as given on the command line */
    char title[SHOWN_PATH];
    int is_stdout, is_picture;
    file_id file, folder;
    char *path;      /* path of the file to replace, with links resolved; NULL if nothing is replaced, as with a FIFO */
    char *base;      /* the file name in `path` */
    char *temporary; /* path of the temporary file; NULL if it could not be created */
    FILE *out;       /* the temporary file, or the destination itself if `path` is NULL */
} destination;

/* Initialises *d for a file name, or for standard output if the name is "-". Creates no file. Returns 0 after an error
 * message. If d->is_picture is set, messages call the file a picture instead of a report. */
int tool_find_destination(destination *d, const char *name);

/* Whether two reports would be written to the same file. */
int tool_is_same_destination(const destination *a, const destination *b);

/* Removes the temporary files. A signal handler can call this function. */
void tool_remove_temporaries(void);

/* The slot of a destination that is not one of the reports. */
enum { PICTURE_SLOT = MAX_REPORTS };

/* Opens the temporary file of a destination, or the destination itself. Returns 0 after an error message. */
int tool_open_destination(destination *d, int slot);

/* Opens the temporary files, or the destinations themselves. Returns 0 after an error message. */
int tool_open_destinations(destination *destinations, int count);

/* Flushes standard output. Returns 0 after an error message. */
int tool_close_standard_output(void);

/* Removes the temporary file and keeps an older report. `slot` is the index that tool_open_destinations() used. */
void tool_abandon_destination(destination *d, int slot);

/* Calls write(file, user) to write the report, and then replaces an older report. Returns 0 after an error message. */
int tool_fill_destination(destination *d, int slot, void (*write)(FILE *, void *), void *user);

#endif /* TOOL_DESTINATION_H */
