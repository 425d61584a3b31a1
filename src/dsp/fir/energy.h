/* Distribution of a filter's energy over its coefficients, in integers: sums of shares do not
 * depend on the order, and the shares of all coefficients sum to exactly the whole. */
#ifndef VOLTMILL_DSP_FIR_ENERGY_H
#define VOLTMILL_DSP_FIR_ENERGY_H

#include "base/status.h"

#include <stdint.h>

enum { ENERGY_BITS = 40 };
#define ENERGY_WHOLE (UINT64_C(1) << ENERGY_BITS)

struct energy {
    uint64_t count;  /* coefficients */
    uint64_t *below; /* [count + 1], of the first i of them; NULL: all have the same */
};

/* Sums the energy of double coeff [count][parts] (parts 1; 2: complex), count at most 2^34. With
 * `is_reversed`, the last coefficient is number 0. Coefficients without energy, or whose energy is
 * not finite, are treated as equal. The caller calls energy_free() in any case, after a failure
 * too. Fails with DEVICE (memory). */
status_t energy_create(const double *coeff, uint64_t count, uint32_t parts, int is_reversed,
                       struct energy *out);
/* Frees the sums, and leaves {0}. */
void energy_free(struct energy *energy);

/* Returns the share of the energy, in 1 / ENERGY_WHOLE, of coefficients number first .. end - 1,
 * from 0 on. Numbers below 0 or beyond the last add nothing. */
uint64_t energy_between(const struct energy *energy, int64_t first, int64_t end);

#endif
