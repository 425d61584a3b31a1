/* A stage between the samples that are read and the filter bank, worked out: what all kinds of them
 * have in common. A kind is a row of functions (struct stage_kind), by which plans reckon memory
 * and pipelines run it; its own plan begins with a struct stage_plan.
 *
 * Rows and samples are numbered from the observation's first. Pure arithmetic; every rank makes the
 * same plan. */
#ifndef VOLTMILL_PLAN_STAGE_PLAN_H
#define VOLTMILL_PLAN_STAGE_PLAN_H

#include "compute/synthesise.h"
#include "dsp/overlap.h"
#include "input/archive.h"

struct stage_plan {
    const struct stage_kind *kind;
    const struct sample_coding *coding; /* of the samples that come in */
    uint32_t fan;                       /* streams that become one */
    struct overlap reach;               /* of all streams together */
    struct overlap overlap;             /* with the rows that are made together */
    struct overlap_rows rows;           /* that it makes */
    struct archive seen; /* the voltages that it leaves, as if an archive held them; its own are: */
    double *freq_hz, *delay_hz;
    uint64_t *selected;
    uint64_t (*gaps)[2];
    struct archive_gap *stream_gaps;
};

struct stage_kind {
    /* Returns the bytes of that memory that blocks of at most max_rows rows need. */
    uint64_t (*bytes)(enum backend_kind backend, const struct stage_plan *plan, uint32_t nstreams,
                      uint64_t max_rows, enum stage_memory memory);
    /* *out is a stage (compute/backend.h). Fails with USAGE (more than the backend does), DEVICE
     * (memory, of the device too; a kernel that does not build). */
    status_t (*create)(backend_t *backend, const struct stage_plan *plan, uint32_t nstreams,
                       uint64_t max_rows, void **out);
};

/* Returns how an archive stores its samples, for backends: format, domain, sign of frequencies,
 * missing value. */
struct sample_coding stage_plan_coding(const struct archive *in);

/* Sets plan->seen, the voltages that leave a stage: floats in volts, without gaps. All else is from
 * `in`, the voltages that come in, whose arrays it shares; offset_seconds is added to theirs.
 * plan->rows are settled. Cannot fail. */
void stage_plan_see(const struct archive *in, int is_complex, double sample_rate_hz,
                    double offset_seconds, struct stage_plan *plan);
/* Sets the gaps of plan->seen, after stage_plan_see(): the rows that are made of gaps of `in`
 * alone. plan->reach and fan are settled, too. Fails with USAGE (rows beyond 64 bits), DEVICE
 * (memory): stage_plan_free() frees what is made. */
status_t stage_plan_see_gaps(const struct archive *in, struct stage_plan *plan);
/* Frees the arrays of a stage's own, but leaves the pointers: call it once. Takes {0}. */
void stage_plan_free(struct stage_plan *plan);

/* The first stage of a job with `synthesise`, worked out: what each sample of a stream is made of,
 * and the voltages that it leaves, as if an archive held them (as filter_plan.h has it).
 *
 * Samples that come in are spectra; rows, samples of the streams. Both count from the archive's
 * sample 0: row n is the voltage of the time at which the first sample of spectrum 0 was taken,
 * and n of the rows' own after it. Pure arithmetic; every rank makes the same plan. */

/* The filter bank that made a job's channels, as a synthesis needs it: which channels belong
 * together, the number of points of the bank, and the points of the channels. */
/* The channels that become one stream: the selected channels of a polarisation, of spectra of ours
 * those of one coarse channel. Where these are not all channels of the bank, the stream is
 * narrower: the bank is one of fewer points with the same spacing. */
struct synthesis_bank {
    uint32_t groups;   /* coarse channels that come out of each polarisation */
    uint32_t channels; /* of a group */
    uint32_t points, hop;
    int32_t first_point; /* of a group's first channel (compute/synthesise.h) */
    int is_real_out;
    double spacing_hz; /* from channel to channel */
    double rate_hz;    /* of the stream: points x spacing */
    /* The size of the bank that made spectra of ours; 0: the archive does not say. */
    uint32_t own_points, own_taps;
};

/* Returns the sky frequency, in Hz, of the lower edge of the first channel of coarse channel
 * `group`, from 0 (below bank->groups). */
double synthesis_bank_low(const struct synthesis_bank *bank, const struct archive *archive,
                          uint32_t group);

/* The synthesis filter of a job: the dual (dsp/fir/dual.h) of the prototype that made its channels,
 * which the archive or a file says. Rank 0 makes it and packs it; the others unpack. */
/* Gives job->synthesise its filter, in the place of any that it has; does nothing without
 * `synthesise`. Fails with USAGE: real samples, channels in fft order, fewer than 2 channels or
 * more than 2^26, channels that are not one spacing apart, or that are not alike in all coarse
 * channels; a prototype that is not said, or does not fit, or whose dual has too many equations
 * (dual_create()); a filter or transform that the job's backend cannot make; an origin for spectra
 * of ours; an accuracy that is not reached (says which is); with DATA: the file; with DEVICE
 * (memory), STOPPED. */
status_t synthesis_filter_make(struct job *job, const struct archive *archive);

struct synthesis_plan {
    struct stage_plan base;
    const struct archive *in;
    struct synthesis_bank bank;
    uint32_t bank_taps;          /* of the prototype */
    struct synthesise_spec spec; /* choice not made; the user of the plan sets nstreams and
                                    max_rows */
    double *coeff;               /* the filter, in volts */
    double error_db, noise;      /* of job->synthesise */
    double offset_seconds;       /* of row 0, after sample 0 of the archive */
};

/* Plans the synthesis of `samples` of the archive. Sets NULL for a job without `synthesise`, and on
 * failure. `archive` must outlive the plan, `job` has its filter (synthesis_filter_make()). Fails
 * with USAGE: fewer spectra than a sample is made of; channels that were dedispersed coherently,
 * each to a frequency of its own; channels as synthesis_filter_make() refuses them; rows beyond 64
 * bits; with DEVICE (memory). */
status_t synthesis_plan_create(const struct job *job, const struct archive *archive,
                               struct overlap_rows samples, uint32_t threads,
                               struct synthesis_plan **out);
/* Frees a plan of synthesis_plan_create(). Takes NULL. */
void synthesis_plan_destroy(struct synthesis_plan *plan);
SCOPED_END(synthesis_plan_destroy, struct synthesis_plan *)

/* Beginning of the line about a synthesis in a product's `filters`: "synthesis of 32 channels, 32
 * points, hop 27, 24 taps from -128 on, error -101.3 dB". */
extern const char synthesis_plan_word[];

#endif
