/* files.c: see files.h. */
#include "system.h"

#include "files.h"
#include "message.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <io.h>
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

#ifdef _WIN32
static file_id identify_handle(HANDLE handle) {
    BY_HANDLE_FILE_INFORMATION about;
    file_id id = { FILE_DEVICE, 0, 0 };
    if (GetFileType(handle) == FILE_TYPE_DISK && GetFileInformationByHandle(handle, &about)) {
        id.kind = about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? FILE_DEVICE : FILE_REGULAR;
        id.device = about.dwVolumeSerialNumber;
        id.index = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    }
    return id;
}

file_id tool_identify(const char *path) {
    file_id id = { FILE_NONE, 0, 0 };
    if ((path[0] == '\\' || path[0] == '/') && path[1] == path[0] && path[2] == '.') {
        id.kind = FILE_DEVICE; /* do not open a named pipe: this would use up a connection of its server */
        return id;
    }
    HANDLE handle = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS, NULL); /* so that it opens folders, too */
    if (handle != INVALID_HANDLE_VALUE) {
        id = identify_handle(handle);
        CloseHandle(handle);
    }
    return id;
}

file_id tool_identify_standard(int number) {
    return identify_handle((HANDLE)_get_osfhandle(number));
}

char *tool_path_behind(const char *path, char **base) {
    char *full = _fullpath(NULL, path, 0);
    HANDLE handle =
        CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    if (handle != INVALID_HANDLE_VALUE) {
        DWORD size = GetFinalPathNameByHandleA(handle, NULL, 0, 0);
        char *final = size > 0 ? (char *)malloc(size) : NULL;
        if (final && GetFinalPathNameByHandleA(handle, final, size, 0) < size) {
            free(full);
            full = final;
        } else {
            free(final);
        }
        CloseHandle(handle);
    }
    *base = full ? strrchr(full, '\\') : NULL;
    if (!*base) {
        free(full);
        errno = ENOENT;
        return NULL;
    }
    ++*base;
    return full;
}

int tool_is_same_name(const char *a, const char *b) {
    return _stricmp(a, b) == 0;
}
#else
static file_id identify_status(const struct stat *about) {
    file_id id = { FILE_PIPE, 0, 0 };
    /* opening a folder fails later, with an error message from the system */
    id.kind = S_ISREG(about->st_mode)                              ? FILE_REGULAR
              : S_ISCHR(about->st_mode) || S_ISDIR(about->st_mode) ? FILE_DEVICE
                                                                   : FILE_PIPE;
    id.device = (uint64_t)about->st_dev;
    id.index = (uint64_t)about->st_ino;
    return id;
}

file_id tool_identify(const char *path) {
    static const file_id none = { FILE_NONE, 0, 0 };
    struct stat about;
    return stat(path, &about) == 0 ? identify_status(&about) : none;
}

file_id tool_identify_standard(int number) {
    static const file_id none = { FILE_NONE, 0, 0 };
    struct stat about;
    return fstat(number, &about) == 0 ? identify_status(&about) : none;
}

/* Returns the path of a file in a folder. The caller frees it. */
static char *join_path(const char *folder, size_t folder_length, const char *name) {
    size_t size = folder_length + strlen(name) + 2;
    char *path = (char *)malloc(size);
    if (path) {
        snprintf(path, size, "%.*s%s%s", (int)folder_length, folder,
                 folder_length > 0 && folder[folder_length - 1] == '/' ? "" : "/", name);
    }
    return path;
}

/* Returns the target of a symbolic link, relative to the current folder. The caller frees it. Returns NULL if the path
 * is not a link. */
static char *follow_link(const char *link) {
    char target[4096];
    const char *slash = strrchr(link, '/');
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return NULL;
    target[length] = '\0';
    return target[0] == '/' || !slash ? tool_copy_text(target, 0) : join_path(link, (size_t)(slash - link) + 1, target);
}

char *tool_path_behind(const char *path, char **base) {
    char *behind = tool_copy_text(path, 0), *next, *full = NULL;
    for (int links = 0; behind && links < 40 && (next = follow_link(behind)) != NULL; links++) {
        free(behind);
        behind = next;
    }
    if (behind) {
        char *slash = strrchr(behind, '/');
        const char *name = slash ? slash + 1 : behind;
        char *folder;
        if (slash) {
            char *copy = tool_copy_text(behind, 0);
            if (copy)
                copy[slash == behind ? 1 : slash - behind] = '\0';
            folder = copy ? realpath(copy, NULL) : NULL;
            free(copy);
        } else {
            folder = realpath(".", NULL);
        }
        errno = folder && !*name ? EISDIR : errno;
        full = folder && *name ? join_path(folder, strlen(folder), name) : NULL;
        free(folder);
    }
    free(behind);
    *base = full ? strrchr(full, '/') + 1 : NULL;
    return full;
}

int tool_is_same_name(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}
#endif

int tool_is_same_file(const file_id *a, const file_id *b) {
    return a->kind == b->kind && (a->kind == FILE_REGULAR || a->kind == FILE_PIPE) && a->device == b->device &&
           a->index == b->index;
}

void tool_set_title(char title[SHOWN_PATH], const char *what, const char *path) {
    size_t length = strlen(path), most = SHOWN_PATH - 3;
    snprintf(title, SHOWN_PATH, what ? "%s" : "\"%s\"", what ? what : length > most ? path + (length - most) : path);
}

const char *tool_last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? "standard input" : slash && slash[1] ? slash + 1 : path;
}
