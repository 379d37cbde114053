/* video.h: reads raw .yuv and .y4m video frame by frame, from a file, a pipe, standard input or a callback.
 *
 * Shared by the command-line tool, the tests and the fuzz targets. It needs no seeking, takes one frame of
 * memory, and believes nothing that a header says before it has checked it. Every failure is one sentence in
 * video.error, without its full stop; it may hold any bytes that a path or a header holds. Where the system has
 * VIDEO_MAP (see system.h) frames of files are not copied but mapped, one at a time: who looks at them reads them, on
 * whatever thread. A file that is cut meanwhile gives SIGBUS then. A frame is there until the next one is read. Or
 * video_locate() says where in the file the next frame is, and video_fetch() reads parts of several, on several
 * threads.
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
    VIDEO_MIN_SIDE = 16, /* the library's own limits */
    VIDEO_MAX_SIDE = 16384,
    VIDEO_LINE = 1024,     /* longest y4m header or FRAME line, with its end */
    VIDEO_NAME_SHOWN = 300 /* of a long path, error sentences show the end */
};

typedef enum video_result {
    VIDEO_OK,
    VIDEO_END,       /* the video ended between two frames */
    VIDEO_TRUNCATED, /* it ended inside a frame */
    VIDEO_ERROR      /* it cannot be read, or is not what it claims to be */
} video_result;

/* Which part of the codes the samples use. */
typedef enum video_range { VIDEO_RANGE_UNKNOWN, VIDEO_RANGE_LIMITED, VIDEO_RANGE_FULL } video_range;

/* Gives up to `size` bytes: how many were read, 0 at the end, below 0 on failure. */
typedef ptrdiff_t video_read_fn(void *user, void *buffer, size_t size);

/* How a pixel format divides the picture: chroma planes are width / chroma_x wide and height / chroma_y high
 * (0: there are none), rounded up in y4m and down in raw video. */
typedef struct video_sampling {
    const char *name; /* for messages, and equal for equal samplings */
    vmafgpu_chroma chroma;
    int chroma_x, chroma_y;
} video_sampling;

/* What raw video doesn't say about itself. */
typedef struct video_raw {
    int width, height, bit_depth;
    vmafgpu_chroma chroma;
    vmafgpu_layout layout;
} video_raw;

typedef struct video {
    char title[VIDEO_NAME_SHOWN + 3]; /* for messages: the path in quotes, or standard input */
    int width, height, bit_depth, bytes_per_sample;
    video_sampling sampling;
    vmafgpu_layout layout;
    video_range range;
    int rate_num, rate_den; /* frames per second, as y4m says; 0: it doesn't */
    unsigned char
        *buffer; /* where video_read() puts what it copies; between two calls it may be exchanged for another */
    long long frames_read;
    long long frames_total; /* an estimate from the file's size; -1 when that isn't known */
    int is_whole;           /* the file has room for just so many frames */
    char error[VIDEO_NAME_SHOWN + 300];

    /* Private. */
    video_read_fn *read;
    void *user;
    FILE *file;
    int is_y4m;
    int failed; /* the source reported an error, kept apart from its end */
    long long bytes_read;
    long long file_bytes;            /* of a file that can seek; else 0 */
    size_t luma_bytes, chroma_bytes; /* chroma_bytes: of each of the two planes */
    size_t skipped_bytes;            /* of every frame, after what is kept */
    long long start;                 /* where in the file byte 0 is */
    void *map;                       /* what is mapped of the file; NULL: nothing */
    size_t map_bytes;
    unsigned char *planes; /* of the frame that was read last */
} video;

/* One side of a chroma plane. libvmaf reads raw video of odd size with the halves rounded down, and its users'
 * files follow; y4m rounds up, as every other program writes it. */
size_t video_chroma_side(const video *v, int side, int divisor);

/* What is kept of a frame. */
size_t video_frame_bytes(const video *v);

/* `name` is a path, or "-" for standard input. */
void video_start(video *v, const char *name);

/* Reads the header of what was opened, and makes room for a frame. `raw` is NULL for y4m; with luma_only the chroma is
 * read over and not kept. */
video_result video_begin(video *v, const video_raw *raw, int luma_only);

/* Opens a source of bytes; otherwise as video_open(). */
video_result video_open_source(video *v, const char *name, video_read_fn *read, void *user, const video_raw *raw,
                               int luma_only);

/* Opens a file, a FIFO or, as "-", standard input, and reads nothing: whoever writes several FIFOs may wait until
 * all of them are open before it writes to the first. video_close() is due whatever the result. */
video_result video_open_file(video *v, const char *path);

/* Both: opens a file and reads its header. video_close() is due whatever the result. */
video_result video_open(video *v, const char *path, const video_raw *raw, int luma_only);

void video_close(video *v);

/* Reads the next frame; what the one before it held is gone. */
video_result video_read(video *v);

/* Whether frames can be found without being read. */
int video_is_file(const video *v);

/* Reads `size` bytes of a file, on any thread. Returns how many there are, or -1. */
ptrdiff_t video_fetch(const video *v, long long at, void *to, size_t size);

/* Whether a file has become longer since somebody looked. */
int video_has_grown(video *v);

/* Finds the next frame of a file and passes over it: its planes, one behind the other, begin at *at, and the file
 * has all of them. Otherwise as video_read(), which cannot be called any more; but a file that has grown may be
 * asked again. */
video_result video_locate(video *v, long long *at);

/* The sentence for a frame that was there when it was found and is not any more. error: of the system; below 0: the
 * file ended. */
video_result video_lose(video *v, long long frame, int error);

/* A config for frames of this format, with defaults in every other field. */
vmafgpu_config video_config(const video *v);

/* The planes of a frame that lies at `planes`. */
vmafgpu_frame video_frame_at(const video *v, unsigned char *planes);

/* The planes of the frame that was read last. */
vmafgpu_frame video_frame(const video *v);

#endif /* VIDEO_H */
