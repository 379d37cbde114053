/* decoder.h: files that ffmpeg has to decode first: refuses them and prints the command. They are recognised in
 * container.h. */
#ifndef TOOL_DECODER_H
#define TOOL_DECODER_H

#include "options.h"

/* Refuses files that are no video for this program, with the command that decodes them. */
int tool_check_containers(const options *o);

#endif /* TOOL_DECODER_H */
