/* Rows of the native layout, with fewer bits where these hold all numbers, written to their place.
 */
#ifndef VOLTMILL_RUN_IMPORT_IMPORT_PACKED_H
#define VOLTMILL_RUN_IMPORT_IMPORT_PACKED_H

#include "product/before.h"

struct import_packed {
    const struct voltages_packing *packing;
    const struct voltages_place *place;
    uint64_t samples; /* of the file */
    uint32_t threads;
    const struct before *before; /* what is written, or compared */
    int fd;
};

/* Writes samples first .. first + count - 1. Of packed ones, both are multiples of 8, but at the
 * end of the file.
 *
 *   rows     char [count][place->step_bytes]
 *   packed   room for as much; NULL where nothing is packed
 *
 * Fails as before_put(). */
status_t import_write(const struct import_packed *to, const char *rows, uint64_t first,
                      uint64_t count, char *packed);

#endif
