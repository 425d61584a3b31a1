/* What is in a file, by some of it: cheap to find out however large the file is, and the same for
 * every copy. */
#ifndef VOLTMILL_IO_SAMPLED_H
#define VOLTMILL_IO_SAMPLED_H

#include "base/status.h"

#include <stdint.h>

/* The size of the file at `path`, and the CRC-32 of all of it if it has at most `most` bytes; else
 * of so many, a third of them at its begin, a third at its end, the rest in pieces evenly between:
 * at places that follow from its size and `most` alone. Fails with DATA. */
status_t sampled_crc(const char *path, uint64_t most, uint64_t *bytes, uint32_t *crc);

#endif
