/* thumbnail.h: draws small pictures of frames and of the difference between two frames, as PNG. */
#ifndef THUMBNAIL_H
#define THUMBNAIL_H

#include "png.h"
#include "video.h"

/* A frame in the format of a video, possibly of a different size. */
typedef struct thumbnail_source {
    const video *v;
    const vmafgpu_frame *frame;
    int width, height;
} thumbnail_source;

/* Draws a frame in colour: with BT.709 if it has 720 lines or more, otherwise with BT.601. */
void thumbnail_colour(png_bytes *out, const thumbnail_source *s, int width);

/* Draws the mean absolute difference of luma, multiplied by four. Equal areas are black. */
void thumbnail_difference(png_bytes *out, const thumbnail_source *a, const thumbnail_source *b, int width);

#endif /* THUMBNAIL_H */
