/* The work of a job, worked out: what `voltmill plan` prints and every rank of `run` knows.
 *
 * A pure function of the job, the archive and the number of threads; no MPI, no output yet. */
#ifndef VOLTMILL_PLAN_CHANNELISE_PLAN_H
#define VOLTMILL_PLAN_CHANNELISE_PLAN_H

#include "base/memory.h"
#include "compute/between.h"
#include "compute/channelise.h"
#include "input/read/reader.h"
#include "plan/chunk.h"
#include "plan/filter_plan.h"
#include "product/product.h"

struct channelise_plan_product {
    struct product_spec spec;
    uint64_t row_bytes;
    uint64_t dropped_spectra;               /* at the end, too few for a dump */
    double *sum_factors;                    /* of struct product_spec */
    double *gains;                          /* likewise */
    struct visibilities_plan *visibilities; /* plan/visibilities_plan.h; NULL: none */
    struct flag_mask *mask;                 /* of flagged power (plan/flag_mask.h); NULL: none */
    float *first_scales; /* of quantised rows with spec.steps.are_first: scale, then offset, of each
                            frequency of all ifs; NULL: not known yet */
};

/* Nodes of the plan's tree (dsp/overlap.h): what is read, and what is made of it. */
enum {
    NODE_SAMPLES,
    NODE_BANKS,                         /* of each bank its spectra, */
    NODE_DUMPS = NODE_BANKS + JOB_BANKS /* of each product the rows that the backend makes */
};
#define NODE_SPECTRA(bank) (NODE_BANKS + (bank))

/* One filter bank of a plan. */
struct channelise_plan_bank {
    const struct job_bank *job;      /* NULL: none: spectra are samples */
    struct prototype_spec prototype; /* of its filter: what the job says, or leaves open */
    uint64_t samples_per_spectrum;   /* of a raw spectrum, P, */
    uint64_t hop;     /* and from one spectrum to the next: fewer of an oversampled bank */
    uint64_t ratio;   /* spectra of a unit of the chunking: 1 of an only bank */
    uint64_t spectra; /* of the observation; those after the last unit are dropped */
    int between[BETWEEN_COUNT];      /* which stages' spectra go to another one */
    struct channelise_spec *maker;   /* of its products: `channelise`, or after stages `detect` */
    uint32_t products[MOST_OUTPUTS]; /* of the maker's outputs: places among the job's products */
    uint32_t apart[MOST_OUTPUTS];    /* likewise products of stations beside beams: of
                                        channelise.outputs, the first being spectra for stages */
    /* Makes products of what the stages between have left, where a job has such: `channelise` then
     * makes spectra alone. noutputs 0: not needed. */
    struct channelise_spec detect;
    uint64_t gap_samples; /* of the samples in use, all streams together: in declared gaps */
    int has_weights;      /* samples may be missing: products say how much of each dump was there */
    double *coeff;        /* [taps][samples_per_spectrum], as the product stores it */
    double *folded;       /* the same with the order's shift, times the scale */
    struct channelise_spec channelise; /* of the largest group and block; coeff is `folded`; bits of
                                          outputs are those that it can round itself */
    uint64_t raw_spectra;              /* whole ones in the selection, R */
    uint64_t dropped_samples;          /* after those of the last spectrum, per stream */
};

struct channelise_plan {
    const struct job *job;
    const struct archive *archive; /* what is read */
    struct filter_plan *filters;   /* NULL: none */
    struct text filter_words;      /* a line for the synthesis and each filter: of products */
    const struct archive *seen;    /* input of the filter bank, after the filters; else archive */
    const struct archive *formed;  /* of which products are: beams in the place of stations; else
                                      seen */
    struct beams_plan *beams;      /* plan/beams_plan.h; NULL: none */
    struct array_plan *array;      /* plan/array_plan.h; NULL: no delays of stations */
    struct archive trimmed;        /* with delays `seen` is this one, which owns nothing: without
                                      the samples that not all stations have */
    int is_bank;                   /* else its only product are the voltages as they are seen */
    enum backend_kind backend;     /* not AUTO */
    uint32_t threads;              /* of a rank */
    struct channelise_plan_bank banks[JOB_BANKS]; /* as the job's; of voltages, too, there is one */
    uint32_t nbanks;
    struct overlap_node nodes[NODE_DUMPS + MOST_OUTPUTS];
    int shows_missing; /* that samples are missing can show in their numbers */
    /* Counts units, in the place of spectra: as many samples as whole spectra of all banks have, so
     * of an only bank a spectrum. */
    struct chunking chunking;
    struct channelise_plan_product *products; /* job->nproducts */
    uint64_t input_bytes;                     /* of the selected samples, overlaps not counted */
    uint64_t read_bytes;                      /* with overlaps */
    uint64_t cache_bytes;  /* for chunks of datasets that are read through HDF5 */
    uint32_t unpackers;    /* threads that decompress them */
    uint32_t writers;      /* threads that write rows of other formats */
    uint32_t fillers;      /* threads that put samples into pieces on their way to a device, while
                              they are read; 0: they are read into blocks */
    uint64_t memory_bytes; /* that a rank needs in all */
    uint64_t stage_bytes;  /* of run.memory: what stages and their buffers may take */
    uint64_t wanted_block; /* struct channelise_plan_cut */
    int is_judged;         /* likewise, */
    const struct product *judged;
    struct {
        uint32_t quantum; /* streams that products take together: groups are of multiples of it, or
                             of all, */
        uint32_t coarse;  /* or of a multiple of this number of coarse channels, which divides all,
                             of all polarisations; 0: there are none such */
        uint64_t read_bytes; /* of one sample of each stream, by all groups together */
    } groups;
};

/* Whether products have weights: where samples may be missing, or as they were begun. */
enum plan_weights { WEIGHTS_AS_SUITS, WEIGHTS_NONE, WEIGHTS_KEPT };

/* Parameters of the cut that are already decided. */
struct channelise_plan_cut {
    const struct filter_choice *filters; /* [JOB_FILTERS] as they are settled; NULL: by rule */
    const struct chunking *begun;        /* chunks as an earlier run has cut them; NULL: as suits */
    enum plan_weights weights[JOB_BANKS];
    uint64_t block; /* units of all streams together that a block should have; 0: as suits */
    int is_judged;  /* rows are compared with others (pipeline/finish/finish.h, finish_wholes()): */
    const struct product *judged; /* with those of this one, where that has flags */
};

/* Returns the backend for the job's filter banks. `settled` is the one that the job names, or that
 * AUTO stands for. If the job says AUTO, CPU replaces it where it cannot make the channels of a
 * bank, or the synthesis, whose filter the job has (synthesis_filter_make()). */
enum backend_kind channelise_plan_backend(const struct job *job, enum backend_kind settled);

/* Plans a filter bank. `backend` is settled (not AUTO), `threads` of a rank is settled (>= 1). The
 * job has its coefficients (coefficients_read()), the filter of a synthesis
 * (synthesis_filter_make()), the files of an array (array_job_read() with this archive), and
 * numbers in place of widths and times (share_job_all() does all that). `cut` may be NULL. The job,
 * the archive and cut->judged must outlive the plan. Main thread only: a mask that is a product is
 * opened. Fails with USAGE: fewer raw spectra than taps, sizes that do not fit, more channels than
 * the backend makes, more than MOST_OUTPUTS products of a bank, products that were begun in other
 * chunks (cut->begun), more than CHUNK_MOST chunks, a memory budget that is too small (the message
 * gives the bytes), and all that the plans of filters, beams, arrays, visibilities and products
 * refuse; with DATA: a file of the job (coefficients, stations, delays, weights, droop, a mask)
 * that is unreadable or does not fit the archive; with DEVICE (memory, descriptors, a backend that
 * this build lacks); with STOPPED. */
status_t channelise_plan_create(const struct job *job, const struct archive *archive,
                                enum backend_kind backend, uint32_t threads,
                                const struct channelise_plan_cut *cut,
                                struct channelise_plan **out);
/* Frees a plan of channelise_plan_create(), before its job is freed. Takes NULL. */
void channelise_plan_destroy(struct channelise_plan *work);
SCOPED_END(channelise_plan_destroy, struct channelise_plan *)
/* Frees the coefficients of all banks, when they are no longer needed. The pointers of products'
 * specs (spec.bank.coeff) and of stages (channelise.coeff) then lead nowhere. Takes NULL; may be
 * repeated. */
void channelise_plan_drop_coefficients(struct channelise_plan *work);

/* Returns the bank that makes product i of the job, from 0; it is the plan's. */
static inline const struct channelise_plan_bank *
channelise_plan_bank_of(const struct channelise_plan *work, uint32_t i)
{
    return &work->banks[work->job->products[i].bank];
}

/* Returns whether product i, from 0, sums the power of stations, beside beams: the filter bank
 * makes it itself. 0 without beams. */
static inline int channelise_plan_is_apart(const struct channelise_plan *work, uint32_t i)
{
    const struct job_product *job = &work->job->products[i];
    uint32_t at = 0;
    while (at < job->nsums && job->sums[at] != AXIS_STATION) {
        at++;
    }
    return work->beams && at < job->nsums;
}

/* Returns the number of streams of product i, from 0, in a chunk whose products have `streams`
 * streams: that number; or that of all of the stations' streams, where it sums stations beside
 * beams. */
static inline uint32_t channelise_plan_made(const struct channelise_plan *work, uint32_t i,
                                            uint32_t streams)
{
    return channelise_plan_is_apart(work, i) ? work->seen->nstreams : streams;
}

/* Returns the number of streams whose spectra the filter banks make, for a chunk whose products
 * have `streams` streams: that number; with beams that of all stations' streams. */
static inline uint32_t channelise_plan_taken(const struct channelise_plan *work, uint32_t streams)
{
    return work->beams ? work->seen->nstreams : streams;
}

/* Returns the streams, from 0, whose spectra the filter banks make for a chunk: its own; with beams
 * those of all stations. */
static inline struct stream_set channelise_plan_streams(const struct channelise_plan *work,
                                                        const struct chunk *chunk)
{
    return work->beams ? stream_range(0, work->seen->nstreams) : chunk_streams(chunk);
}

/* Returns the streams of the archive that are read for a chunk: as channelise_plan_streams(), or
 * the channels from which a synthesis makes these. */
struct stream_set channelise_plan_read(const struct channelise_plan *work,
                                       const struct chunk *chunk);

/* Returns the number of coarse channels that each polarisation has in a group of coarse channels
 * (chunking.group_coarse). Else returns that of all selected ones, though a group of streams may
 * have fewer. */
static inline uint32_t channelise_plan_coarse(const struct channelise_plan *work)
{
    return work->chunking.group_coarse > 0 ? work->chunking.group_coarse
                                           : work->archive->nselected[AXIS_CHAN];
}

/* Returns the spectra of a bank, from 0, in units first .. first + count - 1: none after the last
 * spectrum of the bank. */
static inline struct overlap_rows channelise_plan_spectra(const struct channelise_plan_bank *bank,
                                                          uint64_t first, uint64_t count)
{
    uint64_t from = min_u64(first * bank->ratio, bank->spectra);
    uint64_t end = min_u64((first + count) * bank->ratio, bank->spectra);
    return (struct overlap_rows){(int64_t)from, (int64_t)end};
}

/* Returns the maximum number of the backend's rows of product i, from 0, that a block of `units`
 * units completes, at least 1. A bank with fewer spectra has no more. If every grain of units
 * begins with a dump, so does every block, and completes one row less than a block that begins
 * anywhere. */
static inline uint64_t channelise_plan_rows(const struct channelise_plan *work, uint32_t i,
                                            uint64_t units)
{
    const struct channelise_plan_bank *bank = channelise_plan_bank_of(work, i);
    const struct overlap *dump = &work->nodes[NODE_DUMPS + i].stage;
    const int begins = CHUNK_GRAIN * bank->ratio % (uint64_t)dump->hop == 0;
    const uint64_t ends = overlap_ends(dump, min_u64(units * bank->ratio, bank->spectra));
    return begins ? max_u64(ends - 1, 1) : ends;
}

/* Returns the units of all streams together in a block: chunking.block_spectra x group_streams. */
uint64_t channelise_plan_block(const struct channelise_plan *work);

/* Returns the threads that this rank should use, at least 1: the job's; or OMP_NUM_THREADS, if that
 * is 1 .. 4096; or the cores that the rank may run on, shared by the `local_size` ranks of the
 * machine unless they are bound apart, but no more than its share of machine_processors(). */
uint32_t channelise_plan_threads(const struct job *job, int local_size);

/* Appends notes on the plan for the user (things dropped, surprising defaults), as lines. Warns of
 * stored samples of blocks that lack packets, if a product is voltages. Banks have their
 * coefficients still. Fails with USAGE (a start that is no date of UTC; coefficients without gain
 * at the centre of a channel), DEVICE (memory). `out` may have a part of the notes then. */
status_t channelise_plan_notes(const struct channelise_plan *work, struct text *out);

/* ---- samples that a block is made of, through the filters before the filter banks, if any ---- */

/* Computes the inputs of the spectra of all banks in units first .. first + count - 1: samples of
 * each stream of the archive (rows[0]), numbered from the observation's first, and rows that each
 * of the filter_plan_count() stages makes (rows[1] ...). Later elements stay as they are.
 *
 *   rows   [FILTER_PLAN_ROWS]
 *
 * `whole`: with all rows of overlap-save's blocks, as they must be read; else only the necessary
 * ones. Fails with USAGE beyond 64 bits, never for spectra of the plan. */
status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows);

/* Computes the necessary inputs of spectra first .. first + count - 1, from 0, of bank `bank`, from
 * 0: samples of each stream of the archive (rows[0]), numbered from the observation's first, and
 * rows that each of the filter_plan_count() stages makes (rows[1] ...), of rows [FILTER_PLAN_ROWS].
 * Later elements stay as they are. Fails with USAGE beyond 64 bits. */
status_t channelise_plan_samples_of(const struct channelise_plan *work, uint32_t bank,
                                    uint64_t first, uint64_t count, struct overlap_rows *rows);

/* Sets in *spec how the stage of bank i, from 0, shares samples with other banks (is_beside,
 * most_samples), for blocks of `units` units. The first bank's stage unpacks samples for all that
 * take them. */
void channelise_plan_share_samples(const struct channelise_plan *work, uint32_t i, uint64_t units,
                                   struct channelise_spec *spec);

/* Returns the samples of one stream in a unit, as the filter banks see them. */
uint64_t channelise_plan_unit(const struct channelise_plan *work);

/* Returns the samples of each stream of the archive that two neighbouring blocks both need; after
 * filters that make rows in grains, on average. */
uint64_t channelise_plan_shared(const struct channelise_plan *work);

/* Returns the maximum number of samples of a stream that enter the filter banks for `units` units:
 * rows of the last filter. */
uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t units);
/* Returns the maximum number of samples of a stream that a block of `units` units reads, with those
 * that other stations alone need (array_plan_spread()). */
uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t units);

#endif
