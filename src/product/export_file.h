/* A file being exported: FILE.part, locked, until it is whole; gone if it never becomes so. */
#ifndef VOLTMILL_PRODUCT_EXPORT_FILE_H
#define VOLTMILL_PRODUCT_EXPORT_FILE_H

#include "base/status.h"

#include <stdint.h>

struct export_file {
    char *path, *part;
    int fd;
    int force;
};

/* Whether it may be made at all. Fails with USAGE. */
status_t export_file_check(const char *path, int force);
/* Begins with path.part, and reserves room for `bytes`; `input`, which is read meanwhile, is safe.
 * Fails with USAGE (exists, locked) or NO_SPACE. */
status_t export_file_begin(const char *path, const char *input, int force, uint64_t bytes,
                           struct export_file *out);
status_t export_file_put(const struct export_file *file, uint64_t offset, const void *data,
                         uint64_t bytes);
/* Makes it last, under its name. */
status_t export_file_publish(struct export_file *file);
/* Frees; removes what was not published. Takes one that is zero. */
void export_file_end(struct export_file *file);

#endif
