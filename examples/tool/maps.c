/* maps.c: see maps.h. */
#include "system.h"

#include "maps.h"
#include "message.h"
#include "session.h"
#include "video.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <direct.h>
#else
#include <sys/stat.h>
#endif

static void make_folder(const char *path) {
#ifdef _WIN32
    _mkdir(path);
#else
    mkdir(path, 0770);
#endif
}

/* Creates a folder and its parents. Errors are ignored, because opening a file in the folder then fails. */
static void make_folders(const char *path) {
    char *copy = tool_copy_text(path, 0);
    for (char *at = copy; copy && *at; at++) {
        if (at > copy && (*at == '/' || *at == '\\')) {
            char separator = *at;
            *at = '\0';
            make_folder(copy);
            *at = separator;
        }
    }
    make_folder(path);
    free(copy);
}

/* Opens the file of a map. Returns NULL after an error message. */
static FILE *open_map(const vmafgpu_heatmap *map) {
    size_t size = strlen(map->path) + 96;
    char *name = (char *)malloc(size);
    FILE *file = NULL;
    if (name) {
        snprintf(name, size, "%s/cambi_heatmap_scale_%d_%dx%d_16b.gray", map->path, map->scale, map->named_width,
                 map->named_height);
        make_folders(map->path);
        file = fopen(name, "wb");
        if (!file)
            tool_fail("the heat map \"%s\" cannot be written (%s)", name, strerror(errno));
    }
    free(name);
    return file;
}

/* Returns the file of a map; opens the file if this is its first map. Returns NULL if it could not be opened. */
static FILE *file_of_map(session *all, const vmafgpu_heatmap *map) {
    int i = 0;
    while (i < all->map_count && strcmp(all->maps[i].path, map->path) != 0)
        i++;
    if (i == MAX_MAPS)
        return NULL;
    if (i == all->map_count)
        all->maps[all->map_count++].path = map->path;
    if (!all->maps[i].files[map->scale])
        all->maps[i].files[map->scale] = open_map(map);
    return all->maps[i].files[map->scale];
}

static int seek_map(FILE *file, int64_t offset) {
#ifdef _WIN32
    return _fseeki64(file, offset, SEEK_SET);
#else
    return fseeko(file, (off_t)offset, SEEK_SET);
#endif
}

void tool_write_map(void *user, const vmafgpu_heatmap *map) {
    session *all = (session *)user;
    static unsigned char row[2 * VIDEO_MAX_SIDE];
    const uint16_t *samples = map->samples;
    size_t bytes = 2 * (size_t)map->width;
    FILE *file = all->maps_failed ? NULL : file_of_map(all, map);
    int ok = file && seek_map(file, map->index * map->height * (int64_t)bytes) == 0;
    for (int y = 0; y < map->height && ok; y++) {
        for (int x = 0; x < map->width; x++) {
            row[2 * x] = (unsigned char)(*samples & 255);
            row[2 * x + 1] = (unsigned char)(*samples++ >> 8);
        }
        ok = fwrite(row, 1, bytes, file) == bytes;
    }
    if (!ok && file)
        tool_fail("a heat map in \"%s\" could not be written (%s)", map->path, strerror(errno));
    all->maps_failed |= !ok;
}

int tool_close_maps(session *all) {
    for (int i = 0; i < all->map_count; i++) {
        for (int k = 0; k < MAP_SCALES; k++)
            if (all->maps[i].files[k] && fclose(all->maps[i].files[k]) != 0 && !all->maps_failed)
                all->maps_failed = !tool_fail("a heat map could not be written (%s)", strerror(errno));
    }
    all->map_count = 0;
    return !all->maps_failed;
}
