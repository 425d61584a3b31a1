/* A document as a tree of values, lists and mappings with their lines; and the mistakes of a user
 * in one file, collected so that all are reported at once. */
#ifndef VOLTMILL_JOB_YAML_TREE_H
#define VOLTMILL_JOB_YAML_TREE_H

#include "base/text.h"

#include <stdint.h>

enum { MISTAKE_BYTES = 768 }; /* of a message; longer ones are cut */

struct tree;

/* Start from {.file = ...}; mistakes_free() gives the list back. Whoever adds mistakes need not
 * check that there is memory for them: mistakes_report() fails where there was none. */
struct mistakes {
    const char *file;
    struct mistake *list;
    size_t kept; /* in `list`; more than 1024 mistakes are counted, not kept */
    size_t count;
    status_t status; /* the first failure that mistakes_keep() was given */
};

/* Adds one mistake. `set` is the override of the command line in which it stands, or NULL: then it
 * stands in `line` of the file (0: nowhere in particular). `key` is the dotted path of the key that
 * is wrong, or NULL. After 1024 mistakes further ones are only counted; the message is cut to
 * MISTAKE_BYTES - 1 bytes. A lack of memory shows in mistakes_report(). */
void mistakes_add(struct mistakes *mistakes, const char *set, uint32_t line, const char *key,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a mistake at the dotted `path` from `node` on (NULL: at `node`). The end of the path may be
 * missing. The message is as for mistakes_add(). Marks the last node of it that exists as bad
 * (is_bad), and takes its line. */
void mistakes_at(struct mistakes *mistakes, struct tree *node, const char *path, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* If `is_wrong`, adds a mistake at `path` from `node` on, and marks the node, as mistakes_at()
 * does; else does nothing. */
void mistakes_if(int is_wrong, struct mistakes *mistakes, struct tree *node, const char *path,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds the mistake that a list of two numbers (NULL: none) ends before it begins, at node `at`;
 * nothing if it does not. */
void mistakes_if_descends(struct mistakes *mistakes, struct tree *list, struct tree *at);

/* Notes the status of work that a mistake's message needed, such as text_add(): the first failure
 * is returned by mistakes_report(). */
void mistakes_keep(struct mistakes *mistakes, status_t st);

/* Fails with USAGE and one message that contains at most the first 40 mistakes in the order of
 * lines, those of overrides last, and the number of the others; with the first failure that
 * mistakes_keep() got instead; with DEVICE (memory, also while mistakes were added). Returns OK if
 * there is neither. */
status_t mistakes_report(const struct mistakes *mistakes);

/* Frees the list and its messages, and leaves none counted; `file` and `status` stay. */
void mistakes_free(struct mistakes *mistakes);

enum tree_kind { TREE_VALUE, TREE_LIST, TREE_MAPPING };

struct schema;

struct tree {
    enum tree_kind kind;
    struct tree *up;          /* the list or mapping that holds this node, NULL for the root */
    size_t index;             /* in `up` */
    char *key;                /* of a member of a mapping, else NULL */
    char *text;               /* of a value, else NULL */
    const struct schema *row; /* of a member: the row that it was checked by; NULL: none */
    int is_plain;             /* a value written without quotes */
    int is_taken;             /* a value made of a file's name: its $ is no variable */
    int is_wrapped;           /* a list that was written as its only entry */
    int is_bad;               /* a mistake was found in it: do not rely on it */
    uint32_t line;            /* of the file; 0 for what an override made */
    const char *set;          /* the override that made it, or NULL */
    struct tree **child;
    size_t nchildren;
};

/* Creates a node without children, for tree_destroy() or tree_add(). `text` (copied) is the text of
 * a value, else NULL. Fails with DEVICE (memory), and leaves *out unchanged. */
status_t tree_new(enum tree_kind kind, const char *text, struct tree **out);

/* Appends *child, which belongs to `parent` from then on: *child becomes NULL. `key` (copied) is
 * NULL in a list. Fails with DEVICE (memory): *child stays the caller's. */
status_t tree_add(struct tree *parent, const char *key, struct tree **child);

/* Appends a value without quotes, which stands where its parent does; `key` (NULL in a list) and
 * `text` are copied. Fails with DEVICE (memory), and adds nothing. */
status_t tree_add_value(struct tree *parent, const char *key, const char *text);

/* Gives a value another text, a copy. Fails with DEVICE (memory), and leaves the old one. */
status_t tree_set_text(struct tree *node, const char *text);

/* Puts *child, which has no key, in the place of child `index`, from 0, of `parent`, under its key;
 * *child becomes NULL. Frees the child that was there. Cannot fail. */
void tree_replace(struct tree *parent, size_t index, struct tree **child);
/* Removes and frees child `index`, from 0, of `parent`; later ones move up. Cannot fail. */
void tree_remove(struct tree *parent, size_t index);

/* Turns `node` into a list whose only entry is what it was; it keeps its place, key and row. Fails
 * with DEVICE (memory), and changes nothing. */
status_t tree_wrap(struct tree *node);

/* Returns the first member `key` of a mapping; NULL if there is none or `node` is no mapping. */
struct tree *tree_member(const struct tree *node, const char *key);

/* Returns the node at a dotted path of keys and of places in lists ("products.0.file"); NULL if
 * there is none, or `from` is NULL. */
struct tree *tree_at(struct tree *from, const char *path);

/* Returns the node at a dotted path, as tree_at() does, if it is a list; else NULL. */
struct tree *tree_list(struct tree *from, const char *path);

/* Returns entry i, from 0, of the list at a dotted path; NULL after the last, or if there is no
 * list. */
struct tree *tree_entry(struct tree *from, const char *path, size_t i);

/* Returns the text of the value at a dotted path; NULL if there is none, or if it or the list that
 * it is in has a mistake. */
const char *tree_value(struct tree *from, const char *path);

/* Returns whether there is a text at a dotted path (tree_value()), and it is `text`. */
int tree_says(struct tree *from, const char *path, const char *text);

/* Returns the number at a dotted path, or `otherwise` if tree_value() is NULL or no number. */
double tree_number(struct tree *from, const char *path, double otherwise);

/* Returns the number of members or entries at a dotted path; 0 if there is no node, or a value. */
size_t tree_count(struct tree *from, const char *path);

/* Reads a whole number: digits (at most 2^64 - 1), or a number such as 1e6 whose value is whole (0
 * to 2^53). Returns 1; 0 when it is none or larger, and leaves *value unchanged. */
int tree_parse_whole(const char *text, uint64_t *value) __attribute__((warn_unused_result));

/* Reads a finite number: digits, sign, point and exponent. Returns 1; 0 when it is none, and leaves
 * *value unchanged. */
int tree_parse_number(const char *text, double *value) __attribute__((warn_unused_result));

/* Appends the dotted path of `node`, after a dot if `out` is not empty; of the root nothing. Keys
 * are cut to 100 bytes, and the place in a list that was written as its only entry is omitted.
 * Fails with DEVICE (memory); `out` may have a part of it then. */
status_t tree_path(const struct tree *node, struct text *out);

/* Returns whether a value is null in YAML: no text, ~ or null, without quotes. */
int tree_is_empty(const struct tree *node);

/* Makes a deep copy that may use *budget nodes, and subtracts them; *out = NULL if these are too
 * few, which is no failure. Its root has no key and no parent, its nodes no rows. tree_destroy()
 * frees it. Fails with DEVICE (memory): *out is NULL. */
status_t tree_copy(const struct tree *node, size_t *budget, struct tree **out);

/* Frees a node and all below it, which no parent may contain any more; takes NULL. */
void tree_destroy(struct tree *node);
SCOPED_END(tree_destroy, struct tree *)

/* Trees from YAML and back. */

/* Returns the node that is written in the place of a node: mostly itself; NULL: nothing. */
typedef const struct tree *(*tree_pick)(const struct tree *node, const void *arg);

/* Appends `root` as YAML in block style, all below it as `pick` says, called with `arg` (NULL: as
 * it is). The text depends on kinds, keys and values alone: not on how they were quoted, indented
 * or commented. Fails with DEVICE (memory). */
status_t tree_write(const struct tree *root, tree_pick pick, const void *arg, struct text *out);

/* Appends a text in double quotes, as YAML has it. Fails with DEVICE (memory); `out` may have a
 * part of it then. */
status_t tree_quote(const char *text, struct text *out);

#endif
