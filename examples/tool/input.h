/* input.h: opens what the options name: videos, and models from files. */
#ifndef TOOL_INPUT_H
#define TOOL_INPUT_H

#include "options.h"
#include "video.h"

#include <stddef.h>

/* Reads the header of a video that is open; may be called on any thread. */
video_result tool_begin_video_as(video *v, const options *o, int luma_only);

/* The same, with chroma if a feature looks at it. */
video_result tool_begin_video(video *v, const options *o);

/* ffmpeg's name of raw video of this kind. */
void tool_ffmpeg_format(char name[32], vmafgpu_chroma chroma, vmafgpu_layout layout, int bit_depth);

/* Compares the formats of reference and distorted video. 0 after a message; some differences are warnings. */
int tool_check_videos(const options *o, const video *r, const video *d);

/* Reads the whole of a model file. To be freed; NULL after a message. */
char *tool_read_text_file(const char *path, size_t *size);

/* Loads the models that are files. 0 after a message. */
int tool_load_models(options *o);

#endif /* TOOL_INPUT_H */
