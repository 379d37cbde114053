/* selftest.h: implements --self-test and --version. */
#ifndef TOOL_SELFTEST_H
#define TOOL_SELFTEST_H

#include "options.h"

/* Runs every kernel on a GPU with small pictures, and prints one line with a checksum. All GPUs that compute correctly
 * return the same checksum. Returns 0 after an error message. */
int tool_self_test(const options *o);

/* Prints the version, then a line for each backend: the device, or why the backend is not available. */
void tool_print_version(const options *o);

#endif /* TOOL_SELFTEST_H */
