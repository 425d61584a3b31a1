/* The prototype filter of an entry of `channelise`: what the job says, or, of an oversampled bank
 * that leaves it open, what is made for it. */
#ifndef VOLTMILL_PLAN_BANK_BANK_PROTOTYPE_H
#define VOLTMILL_PLAN_BANK_BANK_PROTOTYPE_H

#include "base/units.h"
#include "dsp/fir/prototype.h"
#include "job/job.h"

/* All but samples_per_spectrum; a cutoff that is to be found stays CUTOFF_FLAT. Its path is the
 * job's. Fails with DEVICE (memory). */
status_t bank_prototype(const struct job_bank *job, struct prototype_spec *out);

/* The window as a job says it: "kaiser:7.8572". */
const char *bank_prototype_window(const struct prototype_spec *spec, char text[UNITS_TEXT]);

/* ", cutoff 1.1", ", cutoff flat (1.1)"; "" of a file, to which none is applied. */
const char *bank_prototype_cutoff(const struct prototype_spec *spec, int is_flat,
                                  char text[UNITS_TEXT]);

#endif
