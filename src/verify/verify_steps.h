/* Products in few bits, whose numbers stand for all values within half a step. For
 * verify_spectra.c alone. */
#ifndef VOLTMILL_VERIFY_VERIFY_STEPS_H
#define VOLTMILL_VERIFY_VERIFY_STEPS_H

#include "compute/shared/agreement.h"
#include "plan/channelise_plan.h"

struct verify;
struct verify_steps;

/* *out = NULL where the product's numbers are floats. Where the first block's scales count for all,
 * the plan is given those of the product. `plan`, of one product, must outlive it. Fails with
 * DEVICE or DATA. */
status_t verify_steps_create(const struct verify *verify, struct channelise_plan *plan,
                             struct verify_steps **out);
void verify_steps_destroy(struct verify_steps *steps); /* takes NULL */

/* A row as the reference makes it, of a chunk's streams. */
struct verify_steps_row {
    const float *expected;
    const struct agreement_whole *wholes; /* [nwholes]; NULL: it has all channels */
    uint64_t nwholes;
    double went_in; /* verify_rows_went_in() */
};

/* verify->stored, a chunk's streams of a row as it is stored, becomes floats: of the values that
 * each number stands for the one nearest to what is expected. Rows of a chunk come in order; with
 * the last one of a block its counts of clipped numbers are compared: what lies so near to the last
 * value that rounding decides may have been clipped or not. Fails with DATA, DEVICE. */
status_t verify_steps_nearest(struct verify *verify, struct verify_steps *steps,
                              const struct chunk *chunk, uint64_t row,
                              const struct verify_steps_row *of);

/* Compares scales of whole blocks with what the reference makes. `went_in`: verify_rows_went_in().
 * Fails with DATA. */
status_t verify_steps_compare(const struct verify *verify, const struct chunk *chunk,
                              const struct product_steps *expected, double went_in);

#endif
