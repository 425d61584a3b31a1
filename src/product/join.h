/* Joins parts of one observation, spectra or power: rows one after the other, with gaps between
 * them missing (NaN, weight 0), or channels side by side. Rows are copied byte for byte. The result
 * lists its parts. One process; uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_JOIN_H
#define VOLTMILL_PRODUCT_JOIN_H

#include "base/text.h"

#include <stdint.h>

/* Joins parts, [count] in any order, to the file `path`, and appends a summary to `said`. A file
 * to which these parts were joined before stays as it is. Fails with USAGE if parts do not fit
 * each other (the message gives the difference), a part would be written, or another file has the
 * name (unless `force`); with DATA, NO_SPACE, DEVICE, STOPPED. */
status_t join_parts(char *const *parts, uint32_t count, const char *path, int force,
                    struct text *said);

#endif
