/* Trees from YAML and back. */
#ifndef VOLTMILL_JOB_YAML_TREE_YAML_H
#define VOLTMILL_JOB_YAML_TREE_YAML_H

#include "job/yaml/mistakes.h"
#include "job/yaml/tree.h"

/* Reads the one document of `text`. `set` is the override whose value `text` is, or NULL for the
 * file itself. Aliases are replaced by copies of what they stand for. A text that is no YAML, or
 * that is absurdly deep or large, is a mistake: then *out = NULL. An empty document is an empty
 * value. Fails with DEVICE (memory). */
status_t tree_read(const char *text, size_t length, const char *set, struct mistakes *mistakes,
                   struct tree **out);

/* Returns the node that is written in the place of a node: mostly itself; NULL: nothing. */
typedef const struct tree *(*tree_pick)(const struct tree *node, const void *arg);

/* Appends `root` as YAML in block style, its nodes as `pick` says (NULL: all as they are). The text
 * depends on kinds, keys and values alone: not on how they were quoted, indented or commented.
 * Fails with DEVICE. */
status_t tree_write(const struct tree *root, tree_pick pick, const void *arg, struct text *out);

/* Appends a text in double quotes. Fails with DEVICE (memory). */
status_t tree_quote(const char *text, struct text *out);

/* Appends a list of texts, in brackets. Fails with DEVICE. */
status_t tree_quote_list(char *const *texts, uint32_t count, struct text *out);

#endif
