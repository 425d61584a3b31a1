/* `voltmill verify`: recomputes chunks of a product with the reference and compares. */
#ifndef VOLTMILL_VERIFY_VERIFY_H
#define VOLTMILL_VERIFY_VERIFY_H

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

/* Collective. Rank 0 prints what it found. Fails with DATA when the product is not what the
 * reference makes of its archive. */
status_t verify_product_all(MPI_Comm comm, const struct verify_options *options);

#endif
