/* Values of a document on their way into a struct. */
#ifndef VOLTMILL_JOB_YAML_SCHEMA_STORE_H
#define VOLTMILL_JOB_YAML_SCHEMA_STORE_H

#include "job/yaml/schema.h"

/* Puts what `text` says at `at`, as the row of one value (no list, no mapping) wants it. *ok = 0,
 * perhaps with a reason in `message` (MISTAKE_BYTES), when the text is wrong: then nothing there is
 * to be relied on. Fails with DEVICE (memory). */
status_t schema_store(const struct schema *row, const char *text, void *at, char *message, int *ok);

#endif
