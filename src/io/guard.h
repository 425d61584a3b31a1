/* Files that are read, so that none of them is written: whatever path or link leads to it. */
#ifndef VOLTMILL_IO_GUARD_H
#define VOLTMILL_IO_GUARD_H

#include "io/identity.h"

#include <stddef.h>

struct guard_file {
    char *path;
    const char *what; /* "the input file" */
    struct identity identity;
};

/* Starts from {0}. */
struct guard {
    struct guard_file *files;
    size_t count, room;
};

/* Adds a file; `what` it is must outlive the guard. One that is not there, or no ordinary file, is
 * passed over: whoever reads it says so. Fails with DEVICE (memory). */
status_t guard_add(struct guard *guard, const char *what, const char *path);

/* Fails with USAGE, naming both, when writing `path` would write one of the files. `what` it is:
 * "product". */
status_t guard_check(const struct guard *guard, const char *what, const char *path);

/* The same of `path` and the name under which it is written until it is whole (io/file.h). */
status_t guard_check_part(const struct guard *guard, const char *what, const char *path);

void guard_free(struct guard *guard);

#endif
