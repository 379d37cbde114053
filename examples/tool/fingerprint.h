/* fingerprint.h: hashes of files, and of everything that affects scores, for --state, --segment and --html. */
#ifndef TOOL_FINGERPRINT_H
#define TOOL_FINGERPRINT_H

#include "html.h"
#include "options.h"
#include "session.h"

#include <stdint.h>

/* Computes the size and the hash of a file. Returns 0 if it is not a regular file or cannot be read. */
int tool_hash_file(const char *path, html_input *in);

/* Returns a hash of everything that affects the scores. Backend, GPUs and reports do not affect the hash. */
uint64_t tool_hash_run(const session *all, const options *o);

/* Returns a hash of the modification times of the videos. */
uint64_t tool_hash_dates(const session *all);

#endif /* TOOL_FINGERPRINT_H */
