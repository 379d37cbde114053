/* video.c: see video.h. */
#include "system.h"

#include "video.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#elif defined(VIDEO_MAP)
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static const video_sampling video_420 = { "4:2:0", VMAFGPU_CHROMA_420, 2, 2 };
static const video_sampling video_422 = { "4:2:2", VMAFGPU_CHROMA_422, 2, 1 };
static const video_sampling video_444 = { "4:4:4", VMAFGPU_CHROMA_444, 1, 1 };
static const video_sampling video_400 = { "4:0:0", VMAFGPU_CHROMA_400, 0, 0 };
/* The library does not support 4:1:1. Its chroma is skipped and the luma is passed on as 4:0:0. */
static const video_sampling video_411 = { "4:1:1", VMAFGPU_CHROMA_400, 4, 1 };

/* Sets the message to the title and the formatted text. Returns `result`. */
static video_result video_fail(video *v, video_result result, const char *format, ...) {
    int used = snprintf(v->error, sizeof v->error, "%s ", v->title);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0 && (size_t)used < sizeof v->error)
        vsnprintf(v->error + used, sizeof v->error - (size_t)used, format, arguments);
    va_end(arguments);
    return result;
}

/* ---- bytes ---- */

static ptrdiff_t video_read_file(void *user, void *buffer, size_t size) {
    FILE *file = (FILE *)user;
    size_t count = fread(buffer, 1, size, file);
    return count == 0 && ferror(file) ? -1 : (ptrdiff_t)count;
}

/* Reads `size` bytes, or fewer if the source ends or fails. Returns the number of bytes. */
static size_t video_fill(video *v, void *buffer, size_t size) {
    size_t done = 0;
    while (done < size) {
        ptrdiff_t count = v->read(v->user, (unsigned char *)buffer + done, size - done);
        if (count <= 0) {
            v->failed = count < 0;
            break;
        }
        done += (size_t)count;
    }
    v->bytes_read += (long long)done;
    return done;
}

/* Skips `size` bytes, by reading if the source cannot seek. Returns the number of skipped bytes. */
static size_t video_discard(video *v, size_t size) {
    unsigned char waste[16384];
    size_t done = 0;
    if (size <= LONG_MAX && v->file_bytes - v->bytes_read >= (long long)size &&
        fseek(v->file, (long)size, SEEK_CUR) == 0) {
        v->bytes_read += (long long)size;
        return size;
    }
    while (done < size) {
        size_t want = size - done < sizeof waste ? size - done : sizeof waste;
        size_t count = video_fill(v, waste, want);
        done += count;
        if (count < want)
            break;
    }
    return done;
}

/* Sets the message for a source that ended or failed before a frame or a header was complete. */
static video_result video_ran_out(video *v, const char *where) {
    if (v->failed)
        return video_fail(v, VIDEO_ERROR, "cannot be read (%s)", errno ? strerror(errno) : "input error");
    if (v->is_y4m && v->width == 0)
        return video_fail(v, VIDEO_ERROR, "%s", v->bytes_read ? "ends inside its header" : "is empty");
    return video_fail(v, VIDEO_TRUNCATED, "is truncated: it ends inside %s %lld", where, v->frames_read);
}

/* ---- y4m ---- */

/* Reads a line without its line feed. Returns VIDEO_END if the source ended before the line. */
static video_result video_line(video *v, char line[VIDEO_LINE]) {
    for (size_t i = 0; i < VIDEO_LINE; i++) {
        if (video_fill(v, line + i, 1) == 0) {
            line[i] = '\0';
            return i == 0 && !v->failed ? VIDEO_END : video_ran_out(v, "the header of frame");
        }
        if (line[i] == '\n') {
            line[i] = '\0';
            return VIDEO_OK;
        }
    }
    line[VIDEO_LINE - 1] = '\0';
    return video_fail(v, VIDEO_ERROR, "has a y4m header line of more than %d bytes", VIDEO_LINE);
}

static const char video_y4m_magic[] = "YUV4MPEG2";
enum { VIDEO_MAGIC_LENGTH = sizeof video_y4m_magic - 1 };

static int video_is_y4m_magic(const void *bytes) {
    return memcmp(bytes, video_y4m_magic, VIDEO_MAGIC_LENGTH) == 0;
}

/* Parses a word of decimal digits. Returns -1 for other words. Once the value exceeds 1000000, the remaining
 * digits are ignored. */
static int video_number(const char *text) {
    int value = 0;
    if (*text == '\0')
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        value = value > 1000000 ? value : value * 10 + (*text - '0');
    }
    return value;
}

typedef struct video_y4m_format {
    const char *tag;
    const video_sampling *sampling;
    int deep;  /* a bit depth of 9 to 16 follows the tag */
    int alpha; /* each frame has a fourth plane of the size of luma */
} video_y4m_format;

static video_result video_y4m_colour(video *v, const char *tag, int *alpha) {
    /* clang-format off */
    static const video_y4m_format formats[] = {
        {"420", &video_420, 0, 0},      {"420jpeg", &video_420, 0, 0}, {"420mpeg2", &video_420, 0, 0},
        {"420paldv", &video_420, 0, 0}, {"422", &video_422, 0, 0},     {"444", &video_444, 0, 0},
        {"444alpha", &video_444, 0, 1}, {"411", &video_411, 0, 0},     {"mono", &video_400, 0, 0},
        {"420p", &video_420, 1, 0},     {"422p", &video_422, 1, 0},    {"444p", &video_444, 1, 0},
        {"mono", &video_400, 1, 0},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const video_y4m_format *f = &formats[i];
        size_t length = strlen(f->tag);
        int depth = 8;
        if (strncmp(tag, f->tag, length) != 0)
            continue;
        if (f->deep)
            depth = video_number(tag + length);
        else if (tag[length] != '\0')
            continue;
        if (!f->deep || (depth >= 9 && depth <= 16)) {
            v->sampling = *f->sampling;
            v->bit_depth = depth;
            *alpha = f->alpha;
            return VIDEO_OK;
        }
    }
    return video_fail(v, VIDEO_ERROR, "has the y4m colour format \"%.40s\", which is not supported", tag);
}

static video_result video_y4m_interlacing(video *v, const char *value) {
    if (*value == 'p' || *value == '?' || *value == '\0')
        return VIDEO_OK;
    return video_fail(v, VIDEO_ERROR, "is interlaced (y4m tag I%.1s); only progressive video can be scored", value);
}

/* Parses an X tag. X tags are comments, but several programs store the colour range in them. */
static void video_y4m_comment(video *v, const char *value) {
    if (strcmp(value, "COLORRANGE=FULL") == 0)
        v->range = VIDEO_RANGE_FULL;
    else if (strcmp(value, "COLORRANGE=LIMITED") == 0)
        v->range = VIDEO_RANGE_LIMITED;
}

/* Parses NUMBER:NUMBER. Other values leave the rate unknown. */
static void video_y4m_rate(video *v, char *value) {
    char *colon = strchr(value, ':');
    if (colon) {
        *colon = '\0';
        v->rate_num = video_number(value);
        v->rate_den = video_number(colon + 1);
    }
    if (v->rate_num <= 0 || v->rate_den <= 0)
        v->rate_num = v->rate_den = 0;
}

/* Parses the tags W, H, I, C, F and X. Others, such as A, do not affect the samples. */
static video_result video_y4m_tags(video *v, char *tags, int *width, int *height, int *alpha) {
    video_result result = video_y4m_colour(v, "420", alpha); /* the default without a C tag */
    while (result == VIDEO_OK && *tags) {
        size_t length = strcspn(tags, " ");
        char *next = tags + length + (tags[length] != '\0');
        tags[length] = '\0';
        switch (*tags) {
        case 'W': *width = video_number(tags + 1); break;
        case 'H': *height = video_number(tags + 1); break;
        case 'I': result = video_y4m_interlacing(v, tags + 1); break;
        case 'F': video_y4m_rate(v, tags + 1); break;
        case 'C': result = video_y4m_colour(v, tags + 1, alpha); break;
        case 'X': video_y4m_comment(v, tags + 1); break;
        default: break;
        }
        tags = next;
    }
    return result;
}

static video_result video_y4m_header(video *v, int *width, int *height, int *alpha) {
    char line[VIDEO_LINE];
    size_t count = video_fill(v, line, VIDEO_MAGIC_LENGTH);
    if (v->failed || count == 0)
        return video_ran_out(v, "frame");
    if (count < VIDEO_MAGIC_LENGTH || !video_is_y4m_magic(line)) {
        return video_fail(v, VIDEO_ERROR,
                          "is not a y4m file; for raw video specify the width, height, pixel format and bit depth");
    }
    video_result result = video_line(v, line);
    if (result == VIDEO_END)
        return video_ran_out(v, "frame");
    return result == VIDEO_OK ? video_y4m_tags(v, line, width, height, alpha) : VIDEO_ERROR;
}

/* ---- opening ---- */

static video_result video_raw_format(video *v, const video_raw *raw) {
    static const video_sampling *const samplings[] = { &video_420, &video_422, &video_444, &video_400 };
    for (size_t i = 0; i < sizeof samplings / sizeof samplings[0]; i++)
        if (samplings[i]->chroma == raw->chroma)
            v->sampling = *samplings[i];
    v->layout = raw->layout;
    v->bit_depth = raw->bit_depth;
    if (raw->bit_depth < 8 || raw->bit_depth > 16)
        return video_fail(v, VIDEO_ERROR, "has a bit depth of %d, which must be from 8 to 16", raw->bit_depth);
    return VIDEO_OK;
}

size_t video_chroma_side(const video *v, int side, int divisor) {
    if (divisor == 0)
        return 0;
    return (size_t)((v->is_y4m ? side + divisor - 1 : side) / divisor);
}

size_t video_frame_bytes(const video *v) {
    return v->luma_bytes + 2 * v->chroma_bytes;
}

static video_result video_set_size(video *v, int width, int height, int alpha, int luma_only) {
    if (width < VIDEO_MIN_SIDE || height < VIDEO_MIN_SIDE || width > VIDEO_MAX_SIDE || height > VIDEO_MAX_SIDE) {
        return video_fail(v, VIDEO_ERROR, "has an unsupported size: width and height must be from %d to %d",
                          VIDEO_MIN_SIDE, VIDEO_MAX_SIDE);
    }
    v->width = width;
    v->height = height;
    v->bytes_per_sample = v->bit_depth > 8 ? 2 : 1;
    size_t word = (size_t)v->bytes_per_sample;
    v->luma_bytes = (size_t)width * (size_t)height * word;
    v->chroma_bytes =
        video_chroma_side(v, width, v->sampling.chroma_x) * video_chroma_side(v, height, v->sampling.chroma_y) * word;
    v->skipped_bytes = alpha ? v->luma_bytes : 0;
    if (luma_only || v->sampling.chroma == VMAFGPU_CHROMA_400) {
        v->skipped_bytes += 2 * v->chroma_bytes;
        v->chroma_bytes = 0;
    }
    v->buffer = (unsigned char *)malloc(video_frame_bytes(v));
    if (!v->buffer)
        return video_fail(v, VIDEO_ERROR, "has frames of %dx%d, which need more memory than is available", width,
                          height);
    return VIDEO_OK;
}

void video_start(video *v, const char *name) {
    size_t length = strlen(name);
    memset(v, 0, sizeof *v);
    v->frames_total = -1;
    if (strcmp(name, "-") == 0) {
        snprintf(v->title, sizeof v->title, "standard input");
    } else {
        snprintf(v->title, sizeof v->title, "\"%s\"",
                 length > VIDEO_NAME_SHOWN ? name + (length - VIDEO_NAME_SHOWN) : name);
    }
}

video_result video_begin(video *v, const video_raw *raw, int luma_only) {
    int width = raw ? raw->width : 0, height = raw ? raw->height : 0, alpha = 0;
    v->is_y4m = !raw;
    video_result result = raw ? video_raw_format(v, raw) : video_y4m_header(v, &width, &height, &alpha);
    if (result == VIDEO_OK)
        result = video_set_size(v, width, height, alpha, luma_only);
    if (result == VIDEO_OK && v->file_bytes > 0) {
        size_t frame_line = v->is_y4m ? strlen("FRAME\n") : 0;
        size_t frame_bytes = frame_line + video_frame_bytes(v) + v->skipped_bytes;
        v->frames_total = (v->file_bytes - v->bytes_read) / (long long)frame_bytes;
        v->is_whole = (v->file_bytes - v->bytes_read) % (long long)frame_bytes == 0;
    }
    return result;
}

video_result video_open_source(video *v, const char *name, video_read_fn *read, void *user, const video_raw *raw,
                               int luma_only) {
    video_start(v, name);
    v->read = read;
    v->user = user;
    return video_begin(v, raw, luma_only);
}

/* Returns the number of bytes from the current position to the end of a file, or 0 if unknown. Stores the position in
 * *at. */
static long long video_file_size(FILE *file, long long *at) {
#ifdef _WIN32
    long long start = _ftelli64(file);
    long long end = start >= 0 && _fseeki64(file, 0, SEEK_END) == 0 ? _ftelli64(file) : -1;
    int back = end >= 0 ? _fseeki64(file, start, SEEK_SET) : 0;
#else
    long start = ftell(file);
    long end = start >= 0 && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    int back = end >= 0 ? fseek(file, start, SEEK_SET) : 0;
#endif
    *at = start;
    return back == 0 && end > start ? (long long)end - (long long)start : 0;
}

video_result video_open_file(video *v, const char *path) {
    int is_stdin = strcmp(path, "-") == 0;
    video_start(v, path);
    v->file = is_stdin ? stdin : fopen(path, "rb");
    if (!v->file)
        return video_fail(v, VIDEO_ERROR, "cannot be opened (%s)", strerror(errno));
#ifdef _WIN32
    if (is_stdin)
        _setmode(_fileno(stdin), _O_BINARY);
#endif
    v->file_bytes = video_file_size(v->file, &v->start);
    v->read = video_read_file;
    v->user = v->file;
    errno = 0; /* seeking in a pipe has set it */
    return VIDEO_OK;
}

video_result video_open(video *v, const char *path, const video_raw *raw, int luma_only) {
    video_result result = video_open_file(v, path);
    return result == VIDEO_OK ? video_begin(v, raw, luma_only) : result;
}

static void video_unmap(video *v) {
#ifdef VIDEO_MAP
    if (v->map)
        munmap(v->map, v->map_bytes);
#endif
    v->map = NULL;
}

void video_close(video *v) {
    video_unmap(v);
    free(v->buffer);
    v->buffer = NULL;
    if (v->file && v->file != stdin)
        fclose(v->file);
    v->file = NULL;
}

/* ---- frames ---- */

static video_result video_frame_line(video *v) {
    char line[VIDEO_LINE];
    video_result result = video_line(v, line);
    if (result == VIDEO_OK && (strncmp(line, "FRAME", 5) != 0 || (line[5] != '\0' && line[5] != ' ')))
        result = VIDEO_ERROR;
    if (result == VIDEO_ERROR && !v->failed) {
        return video_fail(v, VIDEO_ERROR,
                          "is damaged or its frames do not have the size in its header: "
                          "frame %lld does not begin with FRAME",
                          v->frames_read);
    }
    return result;
}

/* Maps the next `size` bytes of a file as the planes. Returns 0 if the source is not a file, is too short or cannot be
 * mapped. */
static int video_map(video *v, size_t size) {
#ifdef VIDEO_MAP
    struct stat now;
    long long at = v->start + v->bytes_read, page = sysconf(_SC_PAGESIZE);
    if (v->file_bytes > 0 && page > 0 && fstat(fileno(v->file), &now) == 0 && S_ISREG(now.st_mode) &&
        now.st_size - at >= (long long)size) {
        size_t before = (size_t)(at % page);
        void *map = mmap(NULL, before + size, PROT_READ, MAP_PRIVATE, fileno(v->file), (off_t)(at - (long long)before));
        if (map != MAP_FAILED) {
            v->map = map;
            v->map_bytes = before + size;
            v->planes = (unsigned char *)map + before;
            return 1;
        }
    }
#endif
    (void)v;
    (void)size;
    return 0;
}

#define VIDEO_NOT_RAW "is a y4m file, not raw video; its header contains the width, height, pixel format and bit depth"

video_result video_read(video *v) {
    video_unmap(v);
    video_result result = v->is_y4m ? video_frame_line(v) : VIDEO_OK;
    if (result != VIDEO_OK)
        return result;
    size_t kept = video_frame_bytes(v), passed = v->skipped_bytes, count = kept;
    if (video_map(v, kept)) {
        passed += kept;
    } else {
        v->planes = v->buffer;
        count = video_fill(v, v->buffer, kept);
    }
    if (!v->is_y4m && v->frames_read == 0 && count >= VIDEO_MAGIC_LENGTH && video_is_y4m_magic(v->planes))
        return video_fail(v, VIDEO_ERROR, VIDEO_NOT_RAW);
    if (count == 0 && !v->failed && !v->is_y4m)
        return VIDEO_END;
    if (count < kept)
        return video_ran_out(v, "frame");
    if (video_discard(v, passed) < passed)
        return video_ran_out(v, "frame");
    v->frames_read++;
    return VIDEO_OK;
}

#ifdef VIDEO_MAP
int video_is_file(const video *v) {
    struct stat now;
    return v->file && v->file_bytes > 0 && fstat(fileno(v->file), &now) == 0 && S_ISREG(now.st_mode);
}

ptrdiff_t video_fetch(const video *v, long long at, void *to, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t count = pread(fileno(v->file), (char *)to + done, size - done, (off_t)(at + (long long)done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? -1 : (ptrdiff_t)done;
        done += (size_t)count;
    }
    return (ptrdiff_t)done;
}

/* Skips the line before a frame, which is nearly always `usual`. */
static video_result video_locate_line(video *v) {
    static const char usual[] = "FRAME\n";
    enum { LENGTH = sizeof usual - 1 };
    char line[LENGTH];
    if (video_fetch(v, v->start + v->bytes_read, line, LENGTH) == LENGTH && memcmp(line, usual, LENGTH) == 0) {
        v->bytes_read += LENGTH;
        return VIDEO_OK;
    }
    v->failed = fseek(v->file, (long)(v->start + v->bytes_read), SEEK_SET) != 0;
    return v->failed ? video_ran_out(v, "frame") : video_frame_line(v);
}

int video_has_grown(video *v) {
    struct stat now;
    long long known = v->file_bytes;
    if (fstat(fileno(v->file), &now) == 0)
        v->file_bytes = (long long)now.st_size - v->start;
    return v->file_bytes > known;
}

static video_result video_locate_planes(video *v, long long *at) {
    char magic[VIDEO_MAGIC_LENGTH];
    long long bytes = (long long)(video_frame_bytes(v) + v->skipped_bytes);
    video_result result = v->is_y4m ? video_locate_line(v) : VIDEO_OK;
    if (result != VIDEO_OK)
        return result;
    *at = v->start + v->bytes_read;
    if (!v->is_y4m && v->frames_read == 0 && video_fetch(v, *at, magic, sizeof magic) == (ptrdiff_t)sizeof magic &&
        video_is_y4m_magic(magic)) {
        return video_fail(v, VIDEO_ERROR, VIDEO_NOT_RAW);
    }
    if (v->bytes_read + bytes > v->file_bytes && !video_has_grown(v) && v->bytes_read >= v->file_bytes && !v->is_y4m)
        return VIDEO_END;
    if (v->bytes_read + bytes > v->file_bytes)
        return video_ran_out(v, "frame");
    v->bytes_read += bytes;
    v->frames_read++;
    return VIDEO_OK;
}

video_result video_locate(video *v, long long *at) {
    long long begin = v->bytes_read;
    video_result result = video_locate_planes(v, at);
    if (result != VIDEO_OK)
        v->bytes_read = begin;
    return result;
}

video_result video_lose(video *v, long long frame, int error) {
    if (error > 0)
        return video_fail(v, VIDEO_ERROR, "cannot be read (%s)", strerror(error));
    return video_fail(v, VIDEO_TRUNCATED, "became shorter while it was read: it ends inside frame %lld", frame);
}
#endif

vmafgpu_config video_config(const video *v) {
    vmafgpu_config config;
    memset(&config, 0, sizeof config);
    config.width = v->width;
    config.height = v->height;
    config.bit_depth = v->bit_depth;
    config.chroma = v->sampling.chroma;
    config.layout = v->layout;
    return config;
}

vmafgpu_frame video_frame_at(const video *v, unsigned char *planes) {
    vmafgpu_frame frame = VMAFGPU_INIT;
    frame.data[0] = planes;
    frame.pitch[0] = (ptrdiff_t)v->width * v->bytes_per_sample;
    if (v->chroma_bytes > 0) {
        ptrdiff_t row = (ptrdiff_t)video_chroma_side(v, v->width, v->sampling.chroma_x) * v->bytes_per_sample;
        int planar = v->layout == VMAFGPU_LAYOUT_PLANAR;
        frame.data[1] = planes + v->luma_bytes;
        frame.data[2] = planar ? planes + v->luma_bytes + v->chroma_bytes : NULL;
        frame.pitch[1] = planar ? row : 2 * row;
        frame.pitch[2] = planar ? row : 0;
    }
    return frame;
}

vmafgpu_frame video_frame(const video *v) {
    return video_frame_at(v, v->planes);
}
