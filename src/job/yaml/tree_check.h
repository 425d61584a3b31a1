/* Checks a tree against a libcyaml schema and finds every mistake at once.
 *
 * libcyaml stops at the first mistake and knows neither ranges nor alternatives; what a schema
 * cannot say, rules add. Only values are checked one by one here: what several keys must have in
 * common is for the caller. */
#ifndef VOLTMILL_JOB_YAML_TREE_CHECK_H
#define VOLTMILL_JOB_YAML_TREE_CHECK_H

#include "job/yaml/mistakes.h"
#include "job/yaml/tree.h"

#include <cyaml/cyaml.h>

/* A key that needs more than its schema says. Arrays of rules end with a path NULL. */
struct tree_rule {
    const char *path;     /* dotted keys without numbers of entries: "products.integrate" */
    double min;           /* of a number; no range where min = max */
    double max;           /* may be INFINITY */
    int is_above;         /* `min` itself is not allowed */
    int may_be_auto;      /* the word auto stands for leaving the key out */
    const char *unless;   /* the key is needed unless this one stands beside it */
    const char *list_key; /* of a mapping: a list stands for a mapping with this member alone */
    const char *expected; /* what the value must be, in words; NULL: told from schema and range */
    /* Whether the text of a value is right. May write a reason of its own into `message`
     * (MISTAKE_BYTES); otherwise the mistake tells what was expected. */
    int (*check)(const char *text, char *message);
};

/* Adds the mistakes of `root` and marks the nodes that have them. Brings the tree to the form that
 * the schema describes: a single entry becomes a list of one, a list a mapping where a
 * rule says so, auto and empty mappings are dropped,
 * whole numbers are written in decimal digits. Mappings have at most 32 different keys. Fails with
 * DEVICE (memory). */
status_t tree_check(struct tree *root, const cyaml_schema_value_t *schema,
                    const struct tree_rule *rules, struct mistakes *mistakes);

/* Adds a mistake at `node` (or at its member `key`), marking the node. */
status_t tree_mistake(struct mistakes *mistakes, struct tree *node, const char *key,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Reads what the schema calls a whole number: digits, or a number such as 1e6 whose value is
 * whole. Returns 0 when it is none. */
int tree_parse_whole(const char *text, uint64_t *value) __attribute__((warn_unused_result));

/* Reads a number: digits, sign, point and exponent. Returns 0 when it is none. */
int tree_parse_number(const char *text, double *value) __attribute__((warn_unused_result));

#endif
