/* input.h: opens the videos and the model files that the options name. */
#ifndef TOOL_INPUT_H
#define TOOL_INPUT_H

#include "options.h"
#include "video.h"

#include <stddef.h>

/* Reads the header of an open video. With luma_only, chroma is skipped. Any thread can call this function. */
video_result tool_begin_video_as(video *v, const options *o, int luma_only);

/* Reads the header of an open video. Chroma is skipped unless a feature uses it. */
video_result tool_begin_video(video *v, const options *o);

/* Writes the name that ffmpeg uses for a pixel format. */
void tool_ffmpeg_format(char name[32], vmafgpu_chroma chroma, vmafgpu_layout layout, int bit_depth);

/* Compares the formats of the reference and a distorted video. Returns 0 after an error message. Different ranges or
 * frame rates cause only warnings. */
int tool_check_videos(const options *o, const video *r, const video *d);

/* Returns the contents and the size of a model file. The caller frees the contents. Returns NULL after an error
 * message. */
char *tool_read_text_file(const char *path, size_t *size);

/* Loads the model files and checks the names of built-in models. Returns 0 after an error message. */
int tool_load_models(options *o);

#endif /* TOOL_INPUT_H */
