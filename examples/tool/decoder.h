/* decoder.h: rejects files that ffmpeg must decode first. container.h recognises them. */
#ifndef TOOL_DECODER_H
#define TOOL_DECODER_H

#include "options.h"

/* Returns 0 after an error message if an input is not y4m or raw video. The message contains the ffmpeg command. */
int tool_check_containers(const options *o);

#endif /* TOOL_DECODER_H */
