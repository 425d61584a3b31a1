/* The filters of a job, worked out: what each is made of, how far it reaches, and what the voltages
 * are that the last of them leaves.
 *
 * Rows and samples are numbered from the observation's sample 0: row m of a filter of decimation D
 * is made for sample m D of what comes in. Pure arithmetic; every rank makes the same plan. */
#ifndef VOLTMILL_PLAN_FILTER_PLAN_H
#define VOLTMILL_PLAN_FILTER_PLAN_H

#include "compute/filter.h"
#include "dsp/dispersion/chirp.h"
#include "plan/filter_coefficients.h"
#include "plan/stage_plan.h"

struct filter_plan_stage {
    struct stage_plan base;  /* reach: the taps alone; overlap: with whole blocks of overlap-save */
    struct filter_spec spec; /* choice made; the user of the plan sets nstreams and max_rows */
    double delay;            /* samples, by which the rows' times are corrected */
    double scale;            /* of what comes in, in the responses */
    struct filter_coefficients made; /* scaled to volts; of chirps empty */
    struct chirp *chirps;            /* [spec.nresponses] */
    double (*roots)[2];              /* of their responses: chirp_roots_create() */
    struct deripple deripple;        /* within the chirps; half NULL: none */
    double *deripple_table; /* [spec.choice.shape.length / 2 + 1]: its response at a transform's
                               frequencies, which are symmetric */
    uint32_t *response_of;
    int64_t *shift;
};

/* Where there is a synthesis, it comes before all filters; without one, count is at least 1. */
struct filter_plan {
    struct synthesis_plan *synthesis; /* NULL: none */
    uint32_t count;
    struct filter_plan_stage stages[JOB_FILTERS];
    struct overlap_rows samples; /* that are selected */
};

/* Rows on the way: samples of the archive, those of a synthesis, of each filter. */
enum { FILTER_PLAN_ROWS = JOB_FILTERS + 2 };

/* Plans the filters. `archive` and `job` must outlive the plan; the job's coefficients have been
 * read (input/coefficients.h), its synthesis filter is made (synthesis_filter_make()). `backend` is
 * settled, `threads` >= 1. `choices` [filters of the plan]: as they were settled, NULL: by rule. A
 * job of voltages without filters or synthesis gets a filter that changes nothing. Sets NULL for a
 * job without any, and on failure. Fails with USAGE: what filter_coefficients_make() and
 * synthesis_plan_create() refuse; fewer samples than taps; a decimation that keeps none; of
 * dispersion no frequencies, a constant that is none, voltages that were dedispersed before, edges
 * out of range, what chirp_check() refuses, a chirp longer than the observation or than
 * CHIRP_MOST_TAPS; a method that cannot do a filter; with DEVICE (memory, or a backend that this
 * build lacks). */
status_t filter_plan_create(const struct job *job, const struct archive *archive,
                            enum backend_kind backend, uint32_t threads,
                            const struct filter_choice *choices, struct filter_plan **out);
/* Frees a plan of filter_plan_create(). Takes NULL. */
void filter_plan_destroy(struct filter_plan *plan);
SCOPED_END(filter_plan_destroy, struct filter_plan *)

/* Returns the voltages after the last filter. The plan owns them. */
const struct archive *filter_plan_seen(const struct filter_plan *plan);

/* Returns the coding of the samples that come into the first stage; it is the plan's. */
const struct sample_coding *filter_plan_coding(const struct filter_plan *plan);
/* Returns the number of input streams that become one stream: 1 without a synthesis, or for `plan`
 * NULL. */
uint32_t filter_plan_fan(const struct filter_plan *plan);

/* Returns the number of stages, a synthesis included, at least 1. */
uint32_t filter_plan_count(const struct filter_plan *plan);
/* Returns stage i, from 0, below filter_plan_count(), a synthesis first; it is the plan's. */
const struct stage_plan *filter_plan_stage(const struct filter_plan *plan, uint32_t i);

/* Computes the maximum number of rows of each stage that any `wanted` rows of each stream of the
 * last one need, no more than there are.
 *
 *   rows   uint64 [filter_plan_count() + 1]: of samples of the archive, then of rows of each stage
 */
void filter_plan_lengths(const struct filter_plan *plan, uint64_t wanted, uint64_t *rows);

/* Returns the bytes of a row of one stream of stage i, from 0, below filter_plan_count(): of one
 * float (real), or two (complex). */
uint32_t filter_plan_row_bytes(const struct filter_plan *plan, uint32_t i);
/* Returns the rows from the start of one stream to that of the next, if each has `rows` rows: a
 * multiple of 16, so that each begins where kernels require it. */
uint64_t filter_plan_stride(uint64_t rows);

#endif
