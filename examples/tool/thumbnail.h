/* thumbnail.h: small pictures of frames, and of what two differ by, as PNG. */
#ifndef THUMBNAIL_H
#define THUMBNAIL_H

#include "png.h"
#include "video.h"

/* A frame of a video, or of one with its format and another size. */
typedef struct thumbnail_source {
    const video *v;
    const vmafgpu_frame *frame;
    int width, height;
} thumbnail_source;

/* Red, green and blue by BT.709 from 720 lines on, else by BT.601. */
void thumbnail_colour(png_bytes *out, const thumbnail_source *s, int width);

/* Four times the mean of what luma differs by, black where it is equal. */
void thumbnail_difference(png_bytes *out, const thumbnail_source *a, const thumbnail_source *b, int width);

#endif /* THUMBNAIL_H */
