/* Products in few bits, whose numbers stand for all values within half a step. For
 * verify_spectra.c alone. */
#ifndef VOLTMILL_VERIFY_VERIFY_STEPS_H
#define VOLTMILL_VERIFY_VERIFY_STEPS_H

#include "plan/channelise_plan.h"

struct verify;
struct verify_steps;

/* *out = NULL where the product's numbers are floats. Where the first block's scales count for all,
 * the plan is given those of the product. `plan`, of one product, must outlive it. Fails with
 * DEVICE or DATA. */
status_t verify_steps_create(const struct verify *verify, struct channelise_plan *plan,
                             struct verify_steps **out);
void verify_steps_destroy(struct verify_steps *steps); /* takes NULL */

/* verify->stored, a chunk's streams of a row as it is stored, becomes floats: of the values that
 * each number stands for the one nearest to what is expected. Fails with DATA, DEVICE. */
status_t verify_steps_nearest(struct verify *verify, struct verify_steps *steps,
                              const struct chunk *chunk, uint64_t row, const float *expected);

/* Compares scales and counts of whole blocks with what the reference makes. Fails with DATA. */
status_t verify_steps_compare(const struct verify *verify, const struct chunk *chunk,
                              const struct product_steps *expected);

#endif
