/* Joins parts of one observation, spectra or power: rows one after the other, with gaps between
 * them missing (NaN, weight 0), or channels side by side. Rows are copied byte for byte. The result
 * lists its parts. One process; uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_JOIN_H
#define VOLTMILL_PRODUCT_JOIN_H

#include "base/text.h"

#include <stdint.h>

/* Joins parts, paths [count] with count >= 1 in any order, to the file `path`, and appends a
 * summary to `said`. Without `force`, a file to which these parts were joined before stays as it
 * is. The file appears under its name when it is complete and synced; a folder that is missing is
 * made. Fails with USAGE if parts do not fit each other (the message gives the difference), are one
 * file, are no spectra or power with CRCs, are of another known format than HDF5, or would be
 * written; if the file cannot be made, or another one has its name (unless `force`). Fails with
 * DATA if a part is unreadable, or no product of ours; with NO_SPACE, DEVICE (memory, descriptors,
 * no child), STOPPED. */
status_t join_parts(char *const *parts, uint32_t count, const char *path, int force,
                    struct text *said);

#endif
