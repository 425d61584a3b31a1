/* The first stage of a job with `synthesise`, worked out: what each sample of a stream is made of,
 * and the voltages that it leaves, as if an archive held them (as filter_plan.h has it).
 *
 * Samples that come in are spectra; rows, samples of the streams. Both count from the archive's
 * sample 0: row n is the voltage of the time at which the first sample of spectrum 0 was taken,
 * and n of the rows' own after it. Pure arithmetic; every rank makes the same plan. */
#ifndef VOLTMILL_PLAN_SYNTHESIS_SYNTHESIS_PLAN_H
#define VOLTMILL_PLAN_SYNTHESIS_SYNTHESIS_PLAN_H

#include "compute/synthesise.h"
#include "dsp/overlap.h"
#include "input/archive.h"
#include "plan/synthesis_bank.h"

struct synthesis_plan {
    const struct archive *in;
    struct synthesis_bank bank;
    uint32_t bank_taps;          /* of the prototype */
    struct synthesise_spec spec; /* choice not made; nstreams and max_rows are whoever's that cuts
                                    blocks */
    double *coeff;               /* the filter, in volts */
    double error_db, noise;      /* of job->synthesise */
    double offset_seconds;       /* of row 0, after sample 0 of the archive */
    struct overlap reach;        /* of rows over spectra */
    struct overlap_rows rows;    /* that it makes */
    struct archive seen;
    double *freq_hz, *delay_hz; /* seen's own, like the next */
    uint64_t *selected;
    uint64_t (*gaps)[2];
    struct archive_gap *stream_gaps;
};

/* For `samples` of the archive. Gives NULL for a job without `synthesise`. `archive` must outlive
 * it, `job` has its filter (synthesis_filter.h). Fails with USAGE: fewer spectra than a sample is
 * made of, as synthesis_bank_find(); with DEVICE (memory). */
status_t synthesis_plan_create(const struct job *job, const struct archive *archive,
                               struct overlap_rows samples, uint32_t threads,
                               struct synthesis_plan **out);
void synthesis_plan_destroy(struct synthesis_plan *plan);

/* "synthesis of 32 channels, 32 points, hop 27, 24 taps from -128 on, error -101.3 dB": for
 * products. Fails with DEVICE (memory). It begins with that word. */
extern const char synthesis_plan_word[];
status_t synthesis_plan_words(const struct synthesis_plan *plan, struct text *out);

#endif
