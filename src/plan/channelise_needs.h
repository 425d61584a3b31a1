/* Which samples a block of spectra is made of, through the filters before the filter bank, if there
 * are any. */
#ifndef VOLTMILL_PLAN_CHANNELISE_NEEDS_H
#define VOLTMILL_PLAN_CHANNELISE_NEEDS_H

#include "plan/channelise_plan.h"

/* What spectra first .. first + count - 1 are made of: samples of each stream (rows[0]), numbered
 * from the observation's first, and behind the filters rows of each (rows[i + 1] of filter i).
 *
 *   rows   [JOB_FILTERS + 1]
 *
 * `whole`: struct filter_plan's. Fails with USAGE: as overlap_needs(), never for spectra of the
 * plan. */
status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows);

/* The samples, numbered likewise, whose missing ones a block of spectra first .. first + count - 1
 * answers for: blocks share samples, but each is counted once. Fails likewise. */
status_t channelise_plan_counted(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 struct overlap_rows *out);

/* Samples that are given up together when some of them cannot be read: those from which one raw
 * spectrum is made more. Counted from the first selected one. */
uint64_t channelise_plan_piece(const struct channelise_plan *work);

/* Samples that two neighbouring blocks both need; behind filters that make rows in grains, on
 * average. */
uint64_t channelise_plan_shared(const struct channelise_plan *work);

/* Samples of a stream that enter the filter bank for so many spectra: rows of the last filter. */
uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t spectra);
/* The most samples of a stream that a block of so many spectra is made of. */
uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t spectra);

#endif
