/* destination.c: see destination.h. */
#include "system.h"

#include "destination.h"
#include "files.h"
#include "message.h"
#include "signals.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* Prints an error message with errno. Returns 0. */
static int report_failure(const destination *d, const char *what) {
    return tool_fail("the %s %s %s (%s)", d->is_picture ? "picture" : "report", d->title, what, strerror(errno));
}

int tool_find_destination(destination *d, const char *name) {
    file_id standard = tool_identify_standard(STANDARD_OUTPUT);
    d->name = name;
    tool_set_title(d->title, strcmp(name, "-") == 0 ? "standard output" : NULL, name);
    d->file = strcmp(name, "-") == 0 ? standard : tool_identify(name);
    d->is_stdout = strcmp(name, "-") == 0 || tool_is_same_file(&d->file, &standard);
    if (!d->is_stdout && (d->file.kind == FILE_NONE || d->file.kind == FILE_REGULAR)) {
        d->path = tool_path_behind(name, &d->base);
        if (!d->path)
            return report_failure(d, "cannot be written");
        char first = *d->base;
        *d->base = '\0';
        d->folder = tool_identify(d->path);
        *d->base = first;
    }
    return 1;
}

int tool_is_same_destination(const destination *a, const destination *b) {
    if (a->file.kind != FILE_NONE || b->file.kind != FILE_NONE)
        return tool_is_same_file(&a->file, &b->file) || (a->is_stdout && b->is_stdout);
    return a->folder.device == b->folder.device && a->folder.index == b->folder.index &&
           tool_is_same_name(a->base, b->base);
}

/* The temporary files that exist. If a signal ends the program, its handler removes them. */
static char *volatile temporaries[MAX_REPORTS + 1];

void tool_remove_temporaries(void) {
    for (int i = 0; i <= PICTURE_SLOT; i++) {
        char *path = temporaries[i];
        if (path) {
#ifdef _WIN32
            DeleteFileA(path);
#else
            unlink(path);
#endif
        }
    }
}

/* Creates a file that can be removed while it is open. Returns NULL and sets errno on failure, including when the file
 * already exists. */
static FILE *create_file(const char *path) {
#ifdef _WIN32
    HANDLE handle = CreateFileA(path, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, CREATE_NEW,
                                FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        DWORD error = GetLastError();
        errno = error == ERROR_FILE_EXISTS ? EEXIST : error == ERROR_ACCESS_DENIED ? EACCES : ENOENT;
        return NULL;
    }
    int number = _open_osfhandle((intptr_t)handle, 0);
    return number < 0 ? NULL : _fdopen(number, "wb");
#else
    int number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return number < 0 ? NULL : fdopen(number, "wb");
#endif
}

/* Renames a file. Returns 0 and sets errno on failure. */
static int replace_file(const char *from, const char *to) {
#ifdef _WIN32
    if (!MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING)) {
        errno = GetLastError() == ERROR_ACCESS_DENIED ? EACCES : EIO;
        return 0;
    }
    return 1;
#else
    return rename(from, to) == 0;
#endif
}

/* Whether the file can be opened for writing. Sets errno if not. */
static int is_writable(const char *path) {
#ifdef _WIN32
    return _access(path, 2) == 0;
#else
    int number = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return number >= 0 && close(number) == 0;
#endif
}

/* Copies the owner and the permissions of the file at `path` to the new file, as far as the system allows. */
static void copy_permissions(FILE *out, const char *path) {
#ifdef _WIN32
    (void)out;
    (void)path;
#else
    struct stat about;
    if (stat(path, &about) == 0) {
        int is_owned = fchown(fileno(out), about.st_uid, about.st_gid) == 0;
        fchmod(fileno(out), about.st_mode & (is_owned ? 07777 : 0777));
    }
#endif
}

/* Creates the temporary file and adds it to the list. Returns 0 and sets errno on failure. */
static int create_temporary(destination *d, int slot) {
    size_t folder = (size_t)(d->base - d->path), size = folder + 64;
    d->temporary = (char *)malloc(size);
    for (int i = 0; d->temporary && !d->out && i < 1000; i++) {
#ifdef _WIN32
        long process = (long)GetCurrentProcessId();
#else
        long process = (long)getpid();
#endif
        snprintf(d->temporary, size, "%.*s.vmafgpu-%ld-%d.tmp", (int)folder, d->path, process, i);
        d->out = create_file(d->temporary);
        if (!d->out && errno != EEXIST)
            break;
    }
    if (!d->out) {
        free(d->temporary);
        d->temporary = NULL;
        return 0;
    }
    temporaries[slot] = d->temporary;
    return 1;
}

int tool_open_destination(destination *d, int slot) {
    if (d->is_stdout) {
#ifdef _WIN32
        _setmode(_fileno(stdout), _O_BINARY);
#endif
        d->out = stdout;
    } else if (!d->path) {
        d->out = fopen(d->name, "wb");
    } else if (d->file.kind == FILE_NONE || is_writable(d->path)) {
        tool_hold_signals(1); /* so that no file exists without being in the list */
        int made = create_temporary(d, slot);
        tool_hold_signals(0);
        if (made && d->file.kind == FILE_REGULAR)
            copy_permissions(d->out, d->path);
        if (!made && d->file.kind == FILE_REGULAR)
            return 1; /* no file can be created in the folder, so the report is written in place */
    }
    return d->out ? 1 : report_failure(d, "cannot be written");
}

int tool_open_destinations(destination *destinations, int count) {
    for (int i = 0; i < count; i++)
        if (!tool_open_destination(&destinations[i], i))
            return 0;
    return 1;
}

/* Closes a file, but only flushes standard output. Returns 0 if any write failed, as on a full disk. */
static int close_file(FILE *out) {
    int bad = ferror(out);
    bad |= fflush(out);
    if (out != stdout)
        bad |= fclose(out);
    return !bad;
}

int tool_close_standard_output(void) {
    return close_file(stdout) ? 1 : tool_fail("standard output could not be written completely (%s)", strerror(errno));
}

void tool_abandon_destination(destination *d, int slot) {
    if (d->out) {
        close_file(d->out);
        d->out = NULL;
    }
    if (temporaries[slot]) {
        remove(d->temporary);
        temporaries[slot] = NULL;
    }
    free(d->temporary);
    d->temporary = NULL;
}

int tool_fill_destination(destination *d, int slot, void (*write)(FILE *, void *), void *user) {
    int ok = 1, in_place = !d->out;
    if (d->out) {
        write(d->out, user);
        ok = close_file(d->out);
        d->out = NULL;
    }
    if (ok && d->temporary) {
        if (replace_file(d->temporary, d->path)) {
            temporaries[slot] = NULL;
        } else {
            in_place = d->file.kind == FILE_REGULAR; /* a mount point can be written, but not replaced */
            ok = in_place;
        }
    }
    if (ok && in_place) {
        FILE *out = fopen(d->path, "wb");
        if (out)
            write(out, user);
        ok = out && close_file(out);
    }
    if (!ok)
        report_failure(d, "could not be written completely");
    tool_abandon_destination(d, slot);
    return ok;
}
