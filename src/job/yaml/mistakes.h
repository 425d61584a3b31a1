/* The mistakes that a user made in one file, collected so that all of them are told at once. */
#ifndef VOLTMILL_JOB_YAML_MISTAKES_H
#define VOLTMILL_JOB_YAML_MISTAKES_H

#include "base/status.h"
#include "job/yaml/tree.h"

#include <stddef.h>
#include <stdint.h>

enum { MISTAKE_BYTES = 768 };

/* Start from {.file = ...}; mistakes_free() gives the list back. Whoever adds mistakes need not
 * check that there is memory for them: mistakes_report() fails where there was none. */
struct mistakes {
    const char *file;
    struct mistake *list;
    size_t kept; /* in `list`; more than a screenful of mistakes is counted, not kept */
    size_t count;
    status_t status; /* the first failure that mistakes_keep() was given */
};

/* Adds one mistake. `set` is the override of the command line in which it stands, or NULL: then it
 * stands in `line` of the file (0: nowhere in particular). `key` is the dotted path of the key that
 * is wrong, or NULL. */
void mistakes_add(struct mistakes *mistakes, const char *set, uint32_t line, const char *key,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a mistake at the dotted `path` from `node` on (NULL: at `node`), of which the end need not
 * be there, and marks the nearest node that is. */
void mistakes_at(struct mistakes *mistakes, struct tree *node, const char *path, const char *format,
                 ...) __attribute__((format(printf, 4, 5)));

/* mistakes_at() where `is_wrong`: for one check of many that say what is expected. */
void mistakes_if(int is_wrong, struct mistakes *mistakes, struct tree *node, const char *path,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds the mistake that a list of two numbers (NULL: none) ends before it begins, at node `at`. */
void mistakes_if_descends(struct mistakes *mistakes, struct tree *list, struct tree *at);

/* Keeps the status of work for a mistake's words. */
void mistakes_keep(struct mistakes *mistakes, status_t st);

/* Fails with USAGE and one message that holds every mistake in the order of lines, those of
 * overrides last; with the status that was kept, if that is a failure; OK when there is none. */
status_t mistakes_report(const struct mistakes *mistakes);

void mistakes_free(struct mistakes *mistakes);

#endif
