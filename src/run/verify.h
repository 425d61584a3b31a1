/* `voltmill verify`: recomputes chunks of a product with the reference and compares. */
#ifndef VOLTMILL_RUN_VERIFY_H
#define VOLTMILL_RUN_VERIFY_H

#include "base/status.h"

#include <mpi.h>
#include <stdint.h>

struct verify_options {
    const char *path; /* of the product */
    const char *const *sets;
    uint32_t nsets;
    int all;         /* every chunk, instead of a sample */
    uint64_t chunks; /* of the sample: the first, the last and others at random */
    uint64_t seed;
    double progress;
};

/* Differences that are only rounding: of the rms of the product, and the worst, of the rms of its
 * spectrum or of the value itself if that is larger. */
extern const double verify_rms_limit, verify_worst_limit;

/* Compares one spectrum with what is expected. Adds to sums[0] the squares of the differences, to
 * sums[1] those of `expected`. The worst difference counts in units of the spectrum's rms, or of
 * the value itself where that is larger: a float cannot hold a strong line any better. It is
 * infinite where only one is infinite or NaN; equal infinities do not differ. */
void verify_compare(const float *stored, const float *expected, uint64_t count, double sums[2],
                    double *worst);

/* Collective. Rank 0 prints what it found. Fails with DATA when the product is not what the
 * reference makes of its archive. */
status_t verify_product_all(MPI_Comm comm, const struct verify_options *options);

#endif
