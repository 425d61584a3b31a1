/* Which samples a block is made of, through the filters before the filter banks, if there are any.
 */
#ifndef VOLTMILL_PLAN_CHANNELISE_NEEDS_H
#define VOLTMILL_PLAN_CHANNELISE_NEEDS_H

#include "plan/channelise_plan.h"

/* What spectra of all banks in units first .. first + count - 1 are made of: samples of each stream
 * (rows[0]), numbered from the observation's first, and behind the filters rows of each
 * (filter_plan_needs()).
 *
 *   rows   [FILTER_PLAN_ROWS]
 *
 * `whole`: struct filter_plan's. Fails with USAGE: as overlap_needs(), never for spectra of the
 * plan. */
status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows);

/* The same of spectra first .. first + count - 1 of one bank. */
status_t channelise_plan_samples_of(const struct channelise_plan *work, uint32_t bank,
                                    uint64_t first, uint64_t count, int whole,
                                    struct overlap_rows *rows);

/* The samples, numbered likewise, whose missing ones such spectra of a block answer for: blocks
 * share samples, but for a bank each is counted once. Fails likewise. */
status_t channelise_plan_counted(const struct channelise_plan *work, uint32_t bank, uint64_t first,
                                 uint64_t count, struct overlap_rows *out);

/* For a stage of bank i, for blocks of so many units: samples are unpacked by the first bank's, for
 * all that take them. */
void channelise_plan_share_samples(const struct channelise_plan *work, uint32_t i, uint64_t units,
                                   struct channelise_spec *spec);

/* Samples of a unit, as the filter banks see them. */
uint64_t channelise_plan_unit(const struct channelise_plan *work);

/* Samples that two neighbouring blocks both need; behind filters that make rows in grains, on
 * average. */
uint64_t channelise_plan_shared(const struct channelise_plan *work);

/* Samples of a stream that enter the filter banks for so many units: rows of the last filter. */
uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t units);
/* The most samples of a stream that a block of so many units is made of. */
uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t units);

#endif
