/* Which samples a block is made of, through the filters before the filter banks, if there are any.
 */
#ifndef VOLTMILL_PLAN_CHANNELISE_NEEDS_H
#define VOLTMILL_PLAN_CHANNELISE_NEEDS_H

#include "plan/channelise_plan.h"

/* Computes the inputs of the spectra of all banks in units first .. first + count - 1: samples of
 * each stream (rows[0]), numbered from the observation's first, and after the filters rows of each
 * (filter_plan_needs()).
 *
 *   rows   [FILTER_PLAN_ROWS]
 *
 * `whole`: struct filter_plan's. Fails with USAGE as overlap_needs(), never for spectra of the
 * plan. */
status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows);

/* Computes likewise the inputs of spectra first .. first + count - 1 of one bank. Fails with
 * USAGE. */
status_t channelise_plan_samples_of(const struct channelise_plan *work, uint32_t bank,
                                    uint64_t first, uint64_t count, int whole,
                                    struct overlap_rows *rows);

/* Computes the samples, numbered likewise, whose missing ones such spectra of a block count: blocks
 * share samples, but each is counted once for a bank. Fails likewise. */
status_t channelise_plan_counted(const struct channelise_plan *work, uint32_t bank, uint64_t first,
                                 uint64_t count, struct overlap_rows *out);

/* Sets how a stage of bank i shares samples, for blocks of `units` units: the first bank's stage
 * unpacks samples for all that take them. */
void channelise_plan_share_samples(const struct channelise_plan *work, uint32_t i, uint64_t units,
                                   struct channelise_spec *spec);

/* Returns the samples of a unit, as the filter banks see them. */
uint64_t channelise_plan_unit(const struct channelise_plan *work);

/* Returns the samples that two neighbouring blocks both need; after filters that make rows in
 * grains, on average. */
uint64_t channelise_plan_shared(const struct channelise_plan *work);

/* Returns the samples of a stream that enter the filter banks for `units` units: rows of the last
 * filter. */
uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t units);
/* Returns the maximum number of samples of a stream that a block of `units` units needs. */
uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t units);

#endif
