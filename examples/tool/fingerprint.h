/* fingerprint.h: hashes of files and of all that the scores of a run depend on, for --state, --segment and --html. */
#ifndef TOOL_FINGERPRINT_H
#define TOOL_FINGERPRINT_H

#include "html.h"
#include "options.h"
#include "session.h"

#include <stdint.h>

/* The hash of a whole file. 0: it cannot be read. */
int tool_hash_file(const char *path, html_input *in);

/* Everything that scores depend on; not what makes them faster, or writes them. */
uint64_t tool_hash_run(const session *all, const options *o);

/* A hash of the files' dates. */
uint64_t tool_hash_dates(const session *all);

#endif /* TOOL_FINGERPRINT_H */
