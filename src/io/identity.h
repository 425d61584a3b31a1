/* Which file it is, and whether it is still what it was: so that a file that was read is never
 * written, and one that changes while it is read is noticed. */
#ifndef VOLTMILL_IO_IDENTITY_H
#define VOLTMILL_IO_IDENTITY_H

#include "base/status.h"

#include <stdint.h>

struct identity {
    uint64_t device, inode; /* one file, whatever path or link leads to it */
    uint64_t bytes;
    int64_t changed_s; /* when its contents were last changed, seconds since 1970 */
    uint32_t changed_ns;
};

/* Of the file that `path` leads to, through links, or that is open. Fail with DATA: it is not
 * there, or is no ordinary file (a device, a pipe or a folder is never opened to find out). */
status_t identity_of_path(const char *path, struct identity *out);
status_t identity_of_open(int fd, const char *path, struct identity *out);

/* Whether both are one file, on one machine. */
int identity_is_same_file(const struct identity *a, const struct identity *b);

/* Fail with DATA, naming the file and what differs: unless it is unchanged; unless it is the same
 * file and as long, whenever it was changed last. The number of its device is not looked at:
 * machines that mount one file system may give it different ones. */
status_t identity_check(const char *path, const struct identity *before,
                        const struct identity *now);
status_t identity_check_same(const char *path, const struct identity *before,
                             const struct identity *now);

/* What is in a file, by some of it: cheap to find out however large the file is, and the same for
 * every copy. */
/* The size of the file at `path`, and the CRC-32 of all of it if it has at most `most` bytes; else
 * of so many, a third of them at its begin, a third at its end, the rest in pieces evenly between:
 * at places that follow from its size and `most` alone. Fails with DATA. */
status_t identity_sampled_crc(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc);

#endif
