/* container.c: see container.h. */
#include "container.h"

#include <stdio.h>
#include <string.h>

/* The number of bytes at the start of a file that container_of() reads. */
enum { CONTAINER_HEAD = 512 };

/* clang-format off */
enum {
    CONTAINER_MP4, CONTAINER_MATROSKA, CONTAINER_AVI, CONTAINER_TS, CONTAINER_PS, CONTAINER_FLV, CONTAINER_IVF,
     CONTAINER_OGG,
    CONTAINER_ASF, CONTAINER_STREAM, CONTAINER_PNG, CONTAINER_JPEG, CONTAINER_GIF, CONTAINER_WEBP, CONTAINER_TIFF,
     CONTAINER_BMP,
    CONTAINER_FORMATS
};
/* clang-format on */

static const container_format container_formats[CONTAINER_FORMATS] = {
    { "an MP4 or QuickTime file", " mp4 m4v mov qt 3gp heic avif ", 0 },
    { "a Matroska or WebM file", " mkv webm mk3d ", 0 },
    { "an AVI file", " avi ", 0 },
    { "an MPEG transport stream", " ts m2ts mts ", 0 },
    { "an MPEG program stream", " mpg mpeg vob ", 0 },
    { "a Flash video", " flv f4v ", 0 },
    { "an IVF file", " ivf ", 0 },
    { "an Ogg file", " ogg ogv ", 0 },
    { "a Windows Media file", " wmv asf ", 0 },
    { "an encoded stream", " h264 264 avc h265 265 hevc h266 266 vvc obu av1 m2v mpv dv mxf ", 0 },
    { "a PNG picture", " png apng ", 1 },
    { "a JPEG picture", " jpg jpeg ", 0 },
    { "a GIF picture", " gif ", 1 },
    { "a WebP picture", " webp ", 1 },
    { "a TIFF picture", " tif tiff ", 1 },
    { "a BMP picture", " bmp ", 1 },
};

/* Bytes near the start of a file that identify a format. `is_certain` is 0 if raw video may contain them by chance. */
typedef struct container_signature {
    int format, is_certain;
    size_t at, length;
    const char *bytes;
} container_signature;

static const container_signature container_signatures[] = {
    { CONTAINER_MP4, 1, 4, 4, "ftyp" },
    { CONTAINER_MP4, 1, 4, 4, "moov" },
    { CONTAINER_MP4, 1, 4, 4, "mdat" },
    { CONTAINER_MATROSKA, 1, 0, 4, "\x1a\x45\xdf\xa3" },
    { CONTAINER_AVI, 1, 8, 4, "AVI " },
    { CONTAINER_WEBP, 1, 8, 4, "WEBP" },
    { CONTAINER_FLV, 0, 0, 4, "FLV\1" },
    { CONTAINER_IVF, 1, 0, 4, "DKIF" },
    { CONTAINER_OGG, 1, 0, 4, "OggS" },
    { CONTAINER_ASF, 1, 0, 8, "\x30\x26\xb2\x75\x8e\x66\xcf\x11" },
    { CONTAINER_PS, 0, 0, 4, "\0\0\1\xba" },
    { CONTAINER_STREAM, 0, 0, 4, "\0\0\0\1" },
    { CONTAINER_STREAM, 0, 0, 3, "\0\0\1" },
    { CONTAINER_PNG, 1, 0, 8, "\x89PNG\r\n\x1a\n" },
    { CONTAINER_JPEG, 1, 6, 4, "JFIF" },
    { CONTAINER_JPEG, 1, 6, 4, "Exif" },
    { CONTAINER_JPEG, 0, 0, 3, "\xff\xd8\xff" },
    { CONTAINER_GIF, 1, 0, 4, "GIF8" },
    { CONTAINER_TIFF, 0, 0, 4, "II*\0" },
    { CONTAINER_TIFF, 0, 0, 4, "MM\0*" },
    { CONTAINER_BMP, 0, 0, 2, "BM" },
};

static const container_format *container_by_content(const unsigned char *head, size_t size, int must_be_certain) {
    for (size_t i = 0; i < sizeof container_signatures / sizeof container_signatures[0]; i++) {
        const container_signature *s = &container_signatures[i];
        if ((s->is_certain || !must_be_certain) && s->at + s->length <= size &&
            memcmp(head + s->at, s->bytes, s->length) == 0) {
            return &container_formats[s->format];
        }
    }
    /* packets of 188 bytes, each of which may have a timestamp of 4 bytes before it */
    for (size_t time = 0; time <= 4 && !must_be_certain; time += 4) {
        if (size >= time + 2 * (188 + time) + 1 && head[time] == 0x47 && head[time + 188 + time] == 0x47 &&
            head[time + 2 * (188 + time)] == 0x47) {
            return &container_formats[CONTAINER_TS];
        }
    }
    return NULL;
}

static const container_format *container_by_name(const char *path) {
    const char *dot = strrchr(path, '.');
    char word[16] = " ";
    size_t length = dot ? strlen(dot + 1) : 0;
    if (length == 0 || length > sizeof word - 3)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        char c = dot[1 + i];
        word[1 + i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    word[1 + length] = ' ';
    for (int i = 0; i < CONTAINER_FORMATS; i++)
        if (strstr(container_formats[i].extensions, word))
            return &container_formats[i];
    return NULL;
}

const container_format *container_of(const char *path, int is_raw, int *by_name) {
    unsigned char head[CONTAINER_HEAD];
    FILE *file = fopen(path, "rb");
    *by_name = 0;
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    if (size == 0 || (size >= 9 && memcmp(head, "YUV4MPEG2", 9) == 0))
        return NULL;
    const container_format *format = container_by_content(head, size, is_raw);
    *by_name = !format;
    return format || is_raw ? format : container_by_name(path);
}

/* ---- words for a shell ---- */

size_t shell_put(char *out, size_t size, size_t used, const char *text) {
    while (*text && used + 1 < size)
        out[used++] = *text++;
    if (size > 0)
        out[used] = '\0';
    return used;
}

size_t shell_put_word(char *out, size_t size, size_t used, const char *word) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:/@%";
    if (*word && word[strspn(word, plain)] == '\0')
        return shell_put(out, size, used, word);
#ifdef _WIN32
    used = shell_put(out, size, used, "\"");
    used = shell_put(out, size, used, word);
    return shell_put(out, size, used, "\"");
#else
    used = shell_put(out, size, used, "'");
    for (; *word; word++) {
        char c[2] = { *word, '\0' };
        used = shell_put(out, size, used, *word == '\'' ? "'\\''" : c);
    }
    return shell_put(out, size, used, "'");
#endif
}
