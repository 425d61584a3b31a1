/* One dedispersion of a job, worked out: what `voltmill plan` prints and every rank of `run` knows.
 * A pure function of job, filterbank and number of threads; no MPI, no output yet. */
#ifndef VOLTMILL_PLAN_DEDISPERSE_PLAN_H
#define VOLTMILL_PLAN_DEDISPERSE_PLAN_H

#include "compute/dedisperse.h"
#include "dsp/boxes.h"
#include "plan/channelise_plan.h"
#include "product/kind/dedispersed_kind.h"

/* Samples that enter the sums: those of the file, or of ifs and times that were added up. */
struct dedisperse_plan_input {
    int is_reduced; /* added up, changed, or of another format than the file's */
    int has_steps;  /* changed by the host: dedisperse_plan_step() */
    enum series_format format;
    uint64_t samples;   /* in time */
    uint64_t row_bytes; /* [nchannels] of `format` */
};

struct dedisperse_plan {
    const struct job *job;
    const struct job_dedisperse *what;
    const struct fbh5 *fbh5;
    enum backend_kind backend; /* not AUTO */
    uint32_t threads;
    enum dedisperse_mode mode;     /* of exact dedispersion */
    struct dedisperse_shape shape; /* what is tuned; pack 0: the model's choice */
    struct {
        double *dms;
        double *coherent; /* DM that each is made after, of a semi-coherent search; else NULL */
        uint32_t *least, *most; /* of the delays that a DM is made with */
    } each;                     /* [ndms] */
    struct dispersion delays;   /* without the table */
    uint32_t delays_crc;        /* of the table */
    struct subbands steps;      /* in two steps */
    /* Estimated gain of a tree of patterns of delays: the factor by which additions are fewer, with
     * groups of `group` channels; 0: not counted. */
    struct {
        double gain;
        uint32_t group;
    } tree;
    struct overlap overlap; /* of outputs; its streams are DMs */
    double constant, reference_hz;
    uint8_t *mask; /* [nchannels] */
    uint32_t *ifs; /* those added up */
    uint32_t nifs;
    struct {
        struct text ifs, plan;
    } words;
    struct dedisperse_plan_input input;
    int64_t first;    /* the input sample that a delay of 0 takes for output 0; below 0: padding */
    uint64_t outputs; /* of each DM */
    /* "Spectra" are DMs, "streams" outputs in time; blocks of chunks are block_outputs long. */
    struct chunking chunking;
    uint64_t block_outputs;
    uint64_t read_bytes; /* of the file, at most: each chunk's overlap counted */
    uint64_t memory_bytes;
    struct dedispersed_spec product;
    struct product_spec spec; /* of the same */
    struct {
        struct boxes boxes; /* widths 0: there is none */
        int is_whole;       /* where the backend searches: blocks are whole blocks of noise, and
                               make again what their boxes reach over; else series are gathered */
        struct dedispersed_spec peaks;
        struct product_spec spec;
    } bursts; /* of a search */
};

/* Plans a dedispersion. `backend` is settled, `threads` >= 1; `begun`: chunks as an earlier run has
 * cut them, or NULL. `job` and `fbh5` must outlive it. `number`: which of the job's dedispersions,
 * from 0; it is not one that is yet to be divided (dm.is_divided, share_job_all()). Warns of a
 * search whose threshold noise alone exceeds often.
 *
 * Fails with USAGE: missing DMs, ifs or channels, ifs that have no sum, a mask that leaves no
 * channel, a constant that is none, a filterbank of another coherent DM than the job's, what
 * dispersion_settle() and dispersion_tolerant() refuse, delays longer than the observation, too few
 * times to search or to add up, more than 2^32 - 1 outputs of a DM, `begun` with other DMs or
 * outputs, more chunks than CHUNK_MOST, a memory budget that is too small (the message gives the
 * bytes needed); with DATA: fewer than two channels, or frequencies that are not above 0; with
 * DEVICE (memory). */
status_t dedisperse_plan_create(const struct job *job, uint32_t number, const struct fbh5 *fbh5,
                                enum backend_kind backend, uint32_t threads,
                                const struct chunking *begun, struct dedisperse_plan **out);
/* Frees a plan of dedisperse_plan_create(). Takes NULL. */
void dedisperse_plan_destroy(struct dedisperse_plan *dedispersion);
SCOPED_END(dedisperse_plan_destroy, struct dedisperse_plan *)

/* Describes the filterbank that product `product` of the work, from 0, power, will be, not yet
 * written; *out is for fbh5_destroy(). Fails with USAGE (channels that are not above 0 Hz), DEVICE
 * (memory); *out is unchanged then. */
status_t dedisperse_plan_foresee(const struct channelise_plan *work, uint32_t product,
                                 struct fbh5 **out);

/* Neighbouring DMs: their delays, in samples, counted from the minimum of them, `base`. */
struct dm_group {
    struct dispersion delays;
    struct subbands steps;
    struct overlap overlap; /* of its outputs, from `base` on */
    uint32_t base;
};
/* Computes the delays of DMs first .. first + count - 1 of the plan, from 0, count >= 1, for
 * dm_group_free(). Fails with DEVICE (memory). */
status_t dm_group_create(const struct dedisperse_plan *dedispersion, uint32_t first, uint32_t count,
                         struct dm_group *out);
/* Frees the tables of a group. Takes {0}; may be repeated. */
void dm_group_free(struct dm_group *group);

/* Sets *base to the minimum delay, over all channels, of DMs first .. first + count - 1 of the
 * plan, from 0, in samples, and *span to the difference from it to the maximum. */
void dm_group_span(const struct dedisperse_plan *dedispersion, uint32_t first, uint32_t count,
                   uint32_t *base, uint32_t *span);

/* Returns the delay of channel `channel`, from 0, in the sums of DM `dm` of the group, from 0, in
 * samples more than group->base. */
uint32_t dm_group_delay(const struct dedisperse_plan *dedispersion, const struct dm_group *group,
                        uint32_t dm, uint32_t channel);

/* Returns the specification of the backend's stage for a group, for runs of at most `samples`
 * outputs of each DM; its shape is left to the model of the backend. It points into plan and group,
 * which must outlive it. */
struct dedisperse_spec dedisperse_plan_stage(const struct dedisperse_plan *dedispersion,
                                             const struct dm_group *group, uint64_t samples);

/* Returns the bytes of the buffer in which a reader adds up rows of the file (ifs, times); 0: it
 * needs none. */
uint64_t dedisperse_plan_bounce(const struct dedisperse_plan *dedispersion);

/* Applies the job's steps before dedispersion, if any, in place to the channels of one sample in
 * time, whose ifs and times are added up. Any thread. Cannot fail.
 *
 *   sums   double [nchannels of the filterbank] */
void dedisperse_plan_step(const struct dedisperse_plan *dedispersion, double *sums);

/* Returns whether the sums of DM `dm`, from 0, are nothing but rounding: the mean of all channels
 * was taken off, and these, but for those of the mask, have one delay. */
int dedisperse_plan_is_level(const struct dedisperse_plan *dedispersion, uint32_t dm);

/* Returns the maximum number of outputs that a block of `block` outputs makes. Where the backend
 * searches (bursts.is_whole), these include those that its boxes extend over, rounded up to a
 * multiple of 64; else it is `block`. */
uint64_t dedisperse_plan_made(const struct dedisperse_plan *dedispersion, uint64_t block);

/* Returns the number of times of each DM of a chunk that a search holds in memory at once; of a
 * plan with a search. */
uint64_t dedisperse_plan_held(const struct dedisperse_plan *dedispersion);

/* Returns the number of sets of buffers (read, worked on, written) that a rank has: 3, or 1 with
 * the reference. */
uint32_t dedisperse_plan_slots(enum backend_kind backend);

/* ---- For the plan's own files ---- */
/* Computes minimum and maximum delay of every DM (each.least, each.most), and of them `overlap`;
 * and the CRC of the table of delays. `delays`, and in two steps `steps`, are settled. Fails with
 * DEVICE (memory). */
status_t dm_ranges_create(struct dedisperse_plan *dedispersion);

/* Settles `mode`, chunks, blocks, bursts.is_whole, the bytes read, and memory. Fails with USAGE:
 * `begun` (or NULL) with other DMs or outputs, a memory budget that is too small, more than
 * CHUNK_MOST chunks. */
status_t dedisperse_plan_cut(struct dedisperse_plan *dedispersion, const struct chunking *begun);

#endif
