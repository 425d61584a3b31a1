/* Comparing rows of spectra and power with the reference's. For verify_spectra.c alone. */
#ifndef VOLTMILL_VERIFY_VERIFY_ROWS_H
#define VOLTMILL_VERIFY_VERIFY_ROWS_H

#include "compute/shared/agreement.h"
#include "plan/channelise_plan.h"

struct verify;
struct verify_rows;

/* `plan`, of one product, must outlive it. Fails with DEVICE or DATA. */
status_t verify_rows_create(const struct channelise_plan *plan, struct verify_rows **out);
void verify_rows_destroy(struct verify_rows *rows); /* takes NULL */

/* The maximum over the streams of what went into filters (struct agreement); 0: there are none. */
double verify_rows_went_in(const struct verify_rows *rows);

/* Takes up how verify->stored, a chunk's streams of a row, differs from what is expected.
 *
 *   wholes   of this row (pipeline/finish/finish.h, finish_wholes()); NULL: it has all channels
 *
 * Fails with DATA: there are numbers where all is to be NaN; or DEVICE. */
status_t verify_rows_compare(struct verify *verify, struct verify_rows *rows,
                             const struct chunk *chunk, uint64_t row, int is_marked,
                             const float *expected, const struct agreement_whole *wholes);

#endif
