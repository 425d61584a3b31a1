/* Device-resident rows: rows of a product that stay with the backend from one stage to a later one
 * of the same run, so that they need not come back from their file. Backends that compute in the
 * host's memory keep none: the system keeps files in it anyway. One thread at a time. */
#ifndef VOLTMILL_COMPUTE_RESIDENT_ROWS_H
#define VOLTMILL_COMPUTE_RESIDENT_ROWS_H

#include "compute/backend.h"

typedef struct resident_rows resident_rows_t;

/* For rows of `row_bytes`, kept in pieces of `piece_rows`. Takes memory only when rows come; all
 * products' rows together at most half of what the backend may take. Gives NULL from backends that
 * keep none. Fails with DEVICE (memory). */
status_t resident_rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                              resident_rows_t **out);
void resident_rows_destroy(resident_rows_t *rows);

/* Keeps rows first_row .. first_row + count - 1, which the last run of a stage puts to the front of
 * `out`. Rows without room are not kept, which is no failure. Fails with DEVICE. */
status_t resident_rows_keep(resident_rows_t *rows, buffer_t *out, uint64_t first_row,
                            uint64_t count);

/* Gives all rows up, and their memory back. Returns whether there were any. */
int resident_rows_clear(resident_rows_t *rows);

/* How a sample in time is made from rows float [nifs_there][nchannels]: as the sum of `each` rows,
 * and of some ifs of each, in double and in this order. */
struct resident_rows_sums {
    uint64_t each;
    uint32_t nifs_there, nchannels;
    const uint32_t *ifs; /* [nifs] */
    uint32_t nifs;
};

/* Whether all rows of samples first .. first + count - 1 are there and can be added up so. */
int resident_rows_holds(const resident_rows_t *rows, const struct resident_rows_sums *sums,
                        uint64_t first, uint64_t count);

/* Brings them to byte `at` of the device's side of `in`: float [count][nchannels]. Returns before
 * it is done; a stage that is told so (struct dedisperse_input, is_there) finds them. Fails with
 * DEVICE. */
status_t resident_rows_fetch(resident_rows_t *rows, const struct resident_rows_sums *sums,
                             uint64_t first, uint64_t count, buffer_t *in, uint64_t at);

/* Zeros there instead. */
status_t resident_rows_blank(resident_rows_t *rows, buffer_t *in, uint64_t at, uint64_t bytes);

#endif
