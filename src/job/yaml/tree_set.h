/* Overrides of the command line, `--set key.path=value`, applied to a tree. */
#ifndef VOLTMILL_JOB_YAML_TREE_SET_H
#define VOLTMILL_JOB_YAML_TREE_SET_H

#include "job/yaml/mistakes.h"
#include "job/yaml/tree.h"

/* Puts the value of `set` ("products.0.file=x.h5"; the value is YAML) at its place. Entries of
 * lists go by number, the number behind the last appends; mappings and lists that are missing on
 * the way are made. `set` must outlive the tree. What cannot be done is a mistake. Fails with
 * DEVICE. */
status_t tree_set(struct tree *root, const char *set, struct mistakes *mistakes);

/* The same, but what stands behind '=' is the text itself, whatever it holds: not YAML. */
status_t tree_set_text(struct tree *root, const char *set, struct mistakes *mistakes);

/* Puts `name` in the place of every {name} in the values (not the keys) of `root`, which then are
 * texts as if they had been written in quotes: what `name` holds can never become YAML. */
status_t tree_set_name(struct tree *root, const char *name);

#endif
