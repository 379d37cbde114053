/* selftest.h: --self-test and --version. */
#ifndef TOOL_SELFTEST_H
#define TOOL_SELFTEST_H

#include "options.h"

/* Has a GPU compute small pictures with every kernel, and prints one line: its number is the same on all GPUs that
 * compute what they should. 0 after a message. */
int tool_self_test(const options *o);

/* The version, and behind it a line for each backend: what it computes on, or why it cannot. */
void tool_print_version(const options *o);

#endif /* TOOL_SELFTEST_H */
