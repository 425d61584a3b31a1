/* Delays of a dedispersion as backends use them: masked channels are removed, groups are in order.
 * Also the formula itself, with which they are compared. */
#ifndef VOLTMILL_COMPUTE_SHARED_DEDISPERSE_TABLE_H
#define VOLTMILL_COMPUTE_SHARED_DEDISPERSE_TABLE_H

#include "compute/dedisperse.h"

/* channels uint32 [nused] those that are not masked, ascending
 *   delays     uint32 [nrows][nused]    of DMs; in two steps of the first step, nrows = nsteps
 *   ends       uint32 [ngroups]         in two steps: after the last used channel of each group
 *   all        0, ndms: the one range of DMs of brute force */
struct dedisperse_table {
    uint32_t nused, nrows, ngroups;
    uint32_t *channels, *delays, *ends;
    uint32_t all[2];
};

/* Creates the table of a problem; dedisperse_table_free() frees it, and takes {0}. Fails with
 * DEVICE (memory), and leaves *out as it was. */
status_t dedisperse_table_create(const struct dedisperse_spec *spec, struct dedisperse_table *out);
/* Frees a table; takes {0}, and leaves it. */
void dedisperse_table_free(struct dedisperse_table *table);

/* Returns out[dm][t] of dedisperse_run(), added up channel by channel in double; `in` is the first
 * byte of the input buffer, `dm` and `t` count from 0. */
float dedisperse_formula(const struct dedisperse_spec *spec, const struct dedisperse_input *input,
                         const void *in, uint32_t dm, uint64_t t);

#endif
