/* The synthesis filter of a job: the dual (dsp/fir/dual.h) of the prototype that made its channels,
 * which the archive or a file says. Rank 0 makes it and packs it; the others unpack. */
#ifndef VOLTMILL_PLAN_SYNTHESIS_SYNTHESIS_FILTER_H
#define VOLTMILL_PLAN_SYNTHESIS_SYNTHESIS_FILTER_H

#include "base/text.h"
#include "input/archive.h"
#include "io/pack.h"

/* Gives job->synthesise its filter, if there is a `synthesise`. Fails with USAGE: as
 * synthesis_bank_find(); a prototype that is not said, or does not fit; an accuracy that is not
 * reached (says which is); with DATA: the file; with DEVICE (memory). */
status_t synthesis_filter_make(struct job *job, const struct archive *archive);

status_t synthesis_filter_pack(const struct job *job, struct text *out);
status_t synthesis_filter_unpack(struct unpack *in, struct job *job);

#endif
