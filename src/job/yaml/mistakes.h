/* The mistakes that a user made in one file, collected so that all of them are told at once. */
#ifndef VOLTMILL_JOB_YAML_MISTAKES_H
#define VOLTMILL_JOB_YAML_MISTAKES_H

#include "base/status.h"
#include "job/yaml/tree.h"

#include <stddef.h>
#include <stdint.h>

enum { MISTAKE_BYTES = 768 };

/* Start from {.file = ...}; mistakes_free() gives the list back. */
struct mistakes {
    const char *file;
    struct mistake *list;
    size_t kept; /* in `list`; more than a screenful of mistakes is counted, not kept */
    size_t count;
};

/* Adds one mistake. `set` is the override of the command line in which it stands, or NULL: then it
 * stands in `line` of the file (0: nowhere in particular). `key` is the dotted path of the key that
 * is wrong, or NULL. Fails with DEVICE (memory). */
status_t mistakes_add(struct mistakes *mistakes, const char *set, uint32_t line, const char *key,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Adds a mistake at the dotted `path` from `node` on (NULL: at `node`), of which the end need not
 * be there, and marks the nearest node that is. Fails with DEVICE (memory). */
status_t mistakes_at(struct mistakes *mistakes, struct tree *node, const char *path,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Fails with USAGE and one message that holds every mistake in the order of lines, those of
 * overrides last; OK when there is none. */
status_t mistakes_report(const struct mistakes *mistakes);

void mistakes_free(struct mistakes *mistakes);

#endif
