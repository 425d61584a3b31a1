/* `voltmill verify` of dedispersed series: recomputes parts of them from their filterbank. */
#ifndef VOLTMILL_VERIFY_VERIFY_DEDISPERSE_H
#define VOLTMILL_VERIFY_VERIFY_DEDISPERSE_H

#include "compute/agreement.h"
#include "job/job.h"
#include "product/product.h"
#include "verify/verify.h"

/* As verify_product_all(), of a product of the kind. Collective. */
status_t verify_dedispersed_all(MPI_Comm comm, const struct verify_options *options,
                                const struct product *product);

/* Which of `total` chunks to look at: the first, the last, those in `also`, and others at random,
 * ascending; all of them (*out NULL) when that is asked for. The same on all ranks. free() returns
 * *out. */
status_t verify_pick(const struct verify_options *options, uint64_t total, const uint64_t *also,
                     uint64_t nalso, uint64_t **out, uint64_t *count);

/* How many rows of a product its run has marked as NaN. Fails with DATA. */
status_t verify_count_holes(const struct product *product, uint64_t *out);

/* What all ranks have found, on rank 0. Collective. */
struct agreement verify_agreement_all(MPI_Comm comm, const struct agreement *mine);

/* On rank 0: prints it, and fails with DATA when `path` is not what the reference makes of `input`.
 * `unit`: what the worst error counts in. */
status_t verify_judge(const char *path, const char *input, const struct agreement *agreement,
                      const char *unit);

/* A product does not say how much memory its run had. After a plan that failed with USAGE: whether
 * to try again, with twice the memory, unless the user has said how much there is. */
int verify_may_take_more(status_t st, const struct verify_options *options, struct job *job);

#endif
