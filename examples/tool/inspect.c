/* inspect.c: see inspect.h. */
#include "system.h"

#include "inspect.h"
#include "align.h"
#include "files.h"
#include "input.h"
#include "message.h"
#include "options.h"
#include "rawsize.h"
#include "session.h"
#include "video.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tool_open_again(const session *all, int i, int luma_only, video *again) {
    const char *path = tool_path_of(all->o, i);
    video_start(again, path);
    return strcmp(path, "-") != 0 && all->videos[i].file_bytes > 0 && all->videos[i].start == 0 &&
           tool_identify(path).kind == FILE_REGULAR && video_open_file(again, path) == VIDEO_OK &&
           tool_begin_video_as(again, all->o, luma_only) == VIDEO_OK && again->width == all->videos[i].width &&
           again->height == all->videos[i].height;
}

align_signature *tool_sign_again(const session *all, int i, int64_t first, int64_t most, int step, int64_t *count) {
    video again;
    align_signature *list = NULL;
    *count = 0;
    if (tool_open_again(all, i, 1, &again))
        list = align_sign_video(&again, first, most, step, count);
    video_close(&again);
    return list;
}

enum { LOOK_FRAMES = 24, LOOK_OFFSET = 12 };

/* Returns the signatures of the first frames of video i, computed from some of their rows. The caller frees the list.
 * Returns NULL if the video is not a file, or if too much of it would have to be read. */
static align_signature *sign_first_frames(const session *all, int i, int64_t *count) {
    int64_t first = tool_wanted_frame(all, i, 0);
    align_signature *list = NULL;
#ifdef VIDEO_MAP
    video again;
    if (tool_open_again(all, i, 1, &again))
        list = align_sign_rows(&again, first, LOOK_FRAMES, count);
    video_close(&again);
#else
    if (first == 0 && video_frame_bytes(&all->videos[i]) * LOOK_FRAMES <= 32 << 20)
        list = tool_sign_again(all, i, 0, LOOK_FRAMES, 1, count);
#endif
    return list;
}

/* Reads some rows of a plane of the first frame that is scored, starting at a quarter of the height. Returns 0 if the
 * video is not a file or cannot be read. */
static int read_some_samples(const session *all, int i, int plane, rawsize_samples *s) {
    video again;
    int ok = 0;
    memset(s, 0, sizeof *s);
    if (tool_open_again(all, i, plane == 0, &again)) {
        const int64_t first = tool_wanted_frame(all, i, 0);
        const size_t bytes = (size_t)again.bytes_per_sample, side = (size_t)again.width;
        const size_t row = plane ? video_chroma_side(&again, again.width, again.sampling.chroma_x) : side;
        const size_t rows =
            plane ? video_chroma_side(&again, again.height, again.sampling.chroma_y) : (size_t)again.height;
        const size_t begin = rows / 4 * row, left = rows * row - begin,
                     count = left < RAWSIZE_MOST ? left : RAWSIZE_MOST;
        const size_t offset = (plane ? again.luma_bytes : 0) + begin * bytes;
        const int white = again.layout == VMAFGPU_LAYOUT_SEMIPLANAR_HIGH ? 65535 : (1 << again.bit_depth) - 1;
        unsigned char *samples = (unsigned char *)malloc(count * bytes);
#ifdef VIDEO_MAP
        long long at = 0;
        video_result result = VIDEO_OK;
        while (result == VIDEO_OK && again.frames_read <= first)
            result = video_locate(&again, &at);
        ok = samples && result == VIDEO_OK &&
             video_fetch(&again, at + (long long)offset, samples, count * bytes) == (ptrdiff_t)(count * bytes);
#else
        ok = samples && first == 0 && video_read(&again) == VIDEO_OK; /* only frame 0 needs no frames before it */
        if (ok)
            memcpy(samples, again.planes + offset, count * bytes);
#endif
        ok = ok && rawsize_load(s, samples, count * bytes, (int)bytes, white);
        free(samples);
    }
    video_close(&again);
    return ok;
}

/* Warns if the first frame of a raw video contradicts the options. Returns 0 if it warned. */
static int check_raw_picture(const session *all, int i) {
    const video *v = &all->videos[i];
    rawsize_samples s;
    char same_size[80] = "";
    int other = 0, is_deep = 0, is_shallow = 0, is_interleaved = 0;
    if (read_some_samples(all, i, 0, &s)) {
        is_deep = v->bit_depth == 8 && rawsize_is_words(&s);
        is_shallow = v->bytes_per_sample == 2 && rawsize_is_bytes(&s);
        other = is_deep || is_shallow ? 0 : rawsize_other_width(&s, v->width);
    }
    rawsize_free(&s);
    if (is_deep || is_shallow) {
        tool_warn("the samples of %s look like %s; check --bitdepth (%d) and --pixel_format", v->title,
                  is_deep ? "16-bit words" : "8-bit samples", v->bit_depth);
    } else if (other) {
        const long long samples = (long long)v->width * v->height, height = samples / other;
        if (samples % other == 0 && height >= other / 3 && height <= other) /* a plausible shape */
            snprintf(same_size, sizeof same_size, "; %dx%lld has as many samples", other, height);
        tool_warn("%s does not look like pictures of %dx%d: rows of %d samples fit far better than rows of %d; check "
                  "--width and --height%s",
                  v->title, v->width, v->height, other, v->width, same_size);
    } else if (v->layout == VMAFGPU_LAYOUT_PLANAR && v->chroma_bytes > 0 && read_some_samples(all, i, 1, &s)) {
        is_interleaved = rawsize_is_interleaved(&s);
        rawsize_free(&s);
    }
    if (is_interleaved) {
        tool_warn("the chroma samples of %s alternate between two planes, as in nv12; check --pixel_format (%s)",
                  v->title, all->o->pixel_format_name);
    }
    return !is_deep && !is_shallow && !other && !is_interleaved;
}

void tool_look_for_size(const session *all) {
    for (int i = 0; i <= all->count && all->o->pixel_format; i++)
        if (!check_raw_picture(all, i))
            return;
}

void tool_look_for_shift(const session *all) {
    const video *r = &all->videos[0];
    int64_t counts[2] = { 0, 0 };
    align_signature *reference = sign_first_frames(all, 0, &counts[0]);
    for (int i = 1; i <= all->count && reference; i++) {
        const video *d = &all->videos[i];
        align_signature *distorted = sign_first_frames(all, i, &counts[1]);
        int offset = distorted ? align_look(reference, counts[0], distorted, counts[1], 0, LOOK_OFFSET) : 0;
        free(distorted);
        if (offset != 0) {
            const int frames = offset < 0 ? -offset : offset;
            tool_warn("the first frames of %s fit those of %s far better if %d frame%s of %s %s skipped; --align %d "
                      "compares corresponding frames",
                      d->title, r->title, frames, frames == 1 ? "" : "s", offset < 0 ? d->title : r->title,
                      frames == 1 ? "is" : "are", frames + 2);
        }
    }
    free(reference);
}
