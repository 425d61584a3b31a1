/* The words in which mistakes in a document are told. */
#ifndef VOLTMILL_JOB_YAML_WORDS_H
#define VOLTMILL_JOB_YAML_WORDS_H

#include "job/yaml/schema.h"

/* "is 0", "is \"two words\"", "is empty", "is a list", "is a mapping". Returns `out`. */
enum { WORDS_IS_BYTES = 96 };
const char *words_is(const struct tree *node, char out[WORDS_IS_BYTES]);

/* What `row` allows: "a whole number from 1 to 16", "one of peak, none". Returns `out`. */
const char *words_expected(const struct schema *row, char out[MISTAKE_BYTES]);

/* The row whose key is near enough to `key` to be meant; NULL when there is none. */
const struct schema *words_nearest(const char *key, const struct schema *rows);

/* "unknown key, did you mean taps?" or, when no key is near, all that there are. Returns `out`. */
const char *words_unknown_key(const char *key, const struct schema *rows, char out[MISTAKE_BYTES]);

#endif
