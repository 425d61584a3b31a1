/* The words in which mistakes in a tree are told. */
#ifndef VOLTMILL_JOB_YAML_TREE_WORDS_H
#define VOLTMILL_JOB_YAML_TREE_WORDS_H

#include "job/yaml/tree.h"
#include "job/yaml/tree_check.h"

/* "is 0", "is \"two words\"", "is empty", "is a list", "is a mapping". Returns `out`. */
enum { TREE_IS_BYTES = 96 };
const char *tree_is(const struct tree *node, char out[TREE_IS_BYTES]);

/* What `schema` and `rule` (may be NULL) allow: "a whole number from 1 to 16", "one of peak, none".
 * Returns `out`. */
const char *tree_expected(const cyaml_schema_value_t *schema, const struct tree_rule *rule,
                          char out[MISTAKE_BYTES]);

/* The field whose key is near enough to `key` to be meant; NULL when there is none. */
const cyaml_schema_field_t *tree_nearest_key(const char *key, const cyaml_schema_field_t *fields);

/* "unknown key, did you mean taps?" or, when no key is near, all that there are. Returns `out`. */
const char *tree_unknown_key(const char *key, const cyaml_schema_field_t *fields,
                             char out[MISTAKE_BYTES]);

/* The largest whole number that `schema` and `rule` (may be NULL) allow. */
uint64_t tree_largest(const cyaml_schema_value_t *schema, const struct tree_rule *rule);

/* Whether `rule` (may be NULL) states a range. */
int tree_has_range(const struct tree_rule *rule);

#endif
