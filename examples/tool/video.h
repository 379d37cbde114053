/* video.h: reads raw .yuv and .y4m video frame by frame, from a file, a pipe, standard input or a callback.
 *
 * The tool, the tests and the fuzz targets share this reader. It does not need to seek, uses only the memory of one
 * frame, and validates headers before it uses them. On failure, video.error contains a message without a full stop,
 * which may contain arbitrary bytes from a path or a header.
 *
 * With VIDEO_MAP (see system.h), frames of files are mapped, one at a time, instead of copied. Samples are read from
 * the disk when a thread first accesses them. If the file has been truncated, the access raises SIGBUS. A frame is
 * valid until the next one is read. Instead of video_read(), a caller with several threads can use video_locate(),
 * which returns the position of the next frame, and video_fetch(), which reads parts of frames.
 *
 *     video v;
 *     if (video_open(&v, "clip.y4m", NULL, 0) == VIDEO_OK) {
 *         while (video_read(&v) == VIDEO_OK) {
 *             vmafgpu_frame frame = video_frame(&v);
 *             ...
 *         }
 *     }
 *     video_close(&v);
 */
#ifndef VIDEO_H
#define VIDEO_H

#include "../../vmafgpu.h"

#include <stddef.h>
#include <stdio.h>

enum {
    VIDEO_MIN_SIDE = 16, /* the limits of the library */
    VIDEO_MAX_SIDE = 16384,
    VIDEO_LINE = 1024,     /* maximum length of a y4m header or FRAME line, including the line feed */
    VIDEO_NAME_SHOWN = 300 /* number of bytes at the end of a long path that messages show */
};

typedef enum video_result {
    VIDEO_OK,
    VIDEO_END,       /* the video ended after a complete frame */
    VIDEO_TRUNCATED, /* the video ended inside a frame */
    VIDEO_ERROR      /* the video cannot be read or is invalid */
} video_result;

/* The range of sample values. */
typedef enum video_range { VIDEO_RANGE_UNKNOWN, VIDEO_RANGE_LIMITED, VIDEO_RANGE_FULL } video_range;

/* Reads up to `size` bytes. Returns the number of bytes, 0 at the end, or a negative value on failure. */
typedef ptrdiff_t video_read_fn(void *user, void *buffer, size_t size);

/* The chroma sampling. Chroma planes are width / chroma_x wide and height / chroma_y high, rounded up in y4m and down
 * in raw video. Both divisors are 0 if there are no chroma planes. */
typedef struct video_sampling {
    const char *name; /* for messages; different samplings have different names */
    vmafgpu_chroma chroma;
    int chroma_x, chroma_y;
} video_sampling;

/* The format of raw video, which has no header. */
typedef struct video_raw {
    int width, height, bit_depth;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
} video_raw;

typedef struct video {
    char title[VIDEO_NAME_SHOWN + 3]; /* for messages: the path in quotes, or "standard input" without quotes */
    int width, height, bit_depth, bytes_per_sample;
    video_sampling sampling;
    vmafgpu_layout layout;
    video_range range;
    int rate_num, rate_den; /* frames per second in the y4m header; 0 if unknown */
    unsigned char *buffer;  /* buffer for frames that are copied; the caller can replace it between two reads */
    long long frames_read;
    long long frames_total; /* estimate from the size of the file; -1 if unknown */
    int is_whole;           /* the file contains exactly frames_total frames */
    char error[VIDEO_NAME_SHOWN + 300];

    /* Private. */
    video_read_fn *read;
    void *user;
    FILE *file;
    int is_y4m;
    int failed; /* the source reported an error, not the end */
    long long bytes_read;
    long long file_bytes;            /* bytes from `start` to the end of a seekable file; otherwise 0 */
    size_t luma_bytes, chroma_bytes; /* sizes of the luma plane and of each chroma plane */
    size_t skipped_bytes;            /* bytes to skip after the planes of each frame */
    long long start;                 /* file position of the first byte of the video */
    void *map;                       /* the mapped part of the file, or NULL */
    size_t map_bytes;
    unsigned char *planes; /* planes of the last frame */
} video;

/* Returns the width or height of a chroma plane. For odd sizes, it is rounded down in raw video, as in libvmaf, and up
 * in y4m, as in other programs. */
size_t video_chroma_side(const video *v, int side, int divisor);

/* Returns the size in bytes of the planes that are read from a frame. */
size_t video_frame_bytes(const video *v);

/* Initialises a reader. `name` is a path, or "-" for standard input. */
void video_start(video *v, const char *name);

/* Reads the header of an open source and allocates a frame. `raw` is NULL for y4m. With luma_only, chroma is
 * skipped. */
video_result video_begin(video *v, const video_raw *raw, int luma_only);

/* Like video_open(), but reads from a callback. */
video_result video_open_source(video *v, const char *name, video_read_fn *read, void *user, const video_raw *raw,
                               int luma_only);

/* Opens a file, a FIFO, or standard input ("-") without reading. A program that writes several FIFOs may wait until all
 * are open before it writes. video_close() must be called even on failure. */
video_result video_open_file(video *v, const char *path);

/* Opens a file and reads its header. video_close() must be called even on failure. */
video_result video_open(video *v, const char *path, const video_raw *raw, int luma_only);

void video_close(video *v);

/* Reads the next frame. The previous frame becomes invalid. */
video_result video_read(video *v);

/* Whether the source is a regular file, so that video_locate() can be used. */
int video_is_file(const video *v);

/* Reads `size` bytes of a file at a position, on any thread. Returns the number of bytes, or -1 on failure. */
ptrdiff_t video_fetch(const video *v, long long at, void *to, size_t size);

/* Updates the size of a file. Returns whether the file has grown since the last update. */
int video_has_grown(video *v);

/* Finds the next frame of a file and advances past it. Its planes are contiguous in the file, starting at *at, and all
 * are complete. The results are the same as those of video_read(), which must not be called afterwards. After VIDEO_END
 * or VIDEO_TRUNCATED, video_locate() can be called again if the file has grown. */
video_result video_locate(video *v, long long *at);

/* Sets the message for a frame whose position is known but that could not be read. `error` is an errno value, or
 * negative if the file ended. */
video_result video_lose(video *v, long long frame, int error);

/* Returns a config for frames of this format, with defaults in all other fields. */
vmafgpu_config video_config(const video *v);

/* Returns the frame whose planes are at `planes`. */
vmafgpu_frame video_frame_at(const video *v, unsigned char *planes);

/* Returns the frame that was read last. */
vmafgpu_frame video_frame(const video *v);

#endif /* VIDEO_H */
