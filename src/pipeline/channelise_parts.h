/* Definitions that the files of the filter bank's pipeline share: its blocks and its parts. Private
 * to channelise_pipeline.c, channelise_write.c and weights.c. */
#ifndef VOLTMILL_PIPELINE_CHANNELISE_PARTS_H
#define VOLTMILL_PIPELINE_CHANNELISE_PARTS_H

#include "compute/correlate.h"
#include "pipeline/pipeline_kinds.h"
#include "plan/beams_plan.h"

/* Weights: the share of a row's input that consists of good samples, for each stream; and the
 * treatment of rows with missing samples.
 *
 * The weight of a spectrum is sum b^2 over its good samples / sum b^2 over all, b the filter bank's
 * coefficients; after filters a sample counts by the share that its row has not lost. The weight of
 * a row is the mean of those of its spectra. Sums are of integers: the same bytes however the work
 * is cut. Missing samples are those that the reader has not found, and NaN. For the writer thread.
 */

typedef struct weights weights_t;

/* Creates the weights of bank number `bank` of the plan, from 0, and its products, for blocks of up
 * to `block_units` units; `work` must outlive it. Sets *out to NULL if no sample can be missing,
 * and on failure. Fails with USAGE if a product of visibilities has more than 2^32 - 1 lines (pairs
 * of streams); with DEVICE (memory). */
status_t weights_create(const struct channelise_plan *work, uint32_t bank, uint64_t block_units,
                        weights_t **out);
/* Frees weights; takes NULL. */
void weights_destroy(weights_t *weights);
SCOPED_END(weights_destroy, weights_t *)

/* A block as it leaves the backend. */
struct weights_block {
    int is_first;              /* of a chunk; else it follows the one before */
    uint64_t first, count;     /* spectra of the bank */
    struct stream_set streams; /* of the archive's selected ones */
    uint32_t made;             /* streams of products */
    struct beams_step beams;   /* that they are of */
    struct losses *losses;     /* found by the reader; they are put in order */
    const uint64_t *shifts; /* [streams] samples by which the archive's come later than these; NULL:
                               0 */
    int64_t shift;          /* and less this */
    struct losses *unread;  /* and of these what could not be read (run.on_bad: nan) */
    const char *samples;    /* from this one on: checked; */
    int64_t first_sample;
    uint64_t nsamples; /* 0: none is missing that the reader does not know */
    struct sample_input input;
    struct overlap_rows counted; /* of these it answers for the missing ones */
};

/* Computes the weights of the dumps that the block completes. `block` is copied; what it points to
 * must stay until the next block. Sorts the lists of losses. Sets *missing to the number of missing
 * samples, of all streams together, among block->counted, without gaps that the archive declares
 * and without unreadable samples. Fails with DEVICE (memory). In the writer thread. */
status_t weights_begin(weights_t *weights, const struct weights_block *block, uint64_t *missing);

/* Corrects the rows of product i, of this bank, that the block completes: streams that lack too
 * much become NaN, power is renormalised if the job wants that. Sets *holes to char [rows], 1: some
 * of the row became NaN by what could not be read; NULL: none did. Returns the weights, float
 * [rows][streams], 0 .. 1. Both stay the weights', and valid until weights_begin(). Cannot fail.
 *
 *   data   float [rows][streams][nchannels] (x 2 if spectra) */
const float *weights_apply(weights_t *weights, uint32_t i, uint64_t rows, void *data,
                           const char **holes);

/* weights_lost(): returns the weights of the block's rows of product i, which is combined
 * (pipeline/finish/finish.h); NULL: nothing is lost. They stay the weights', and valid until the
 * next call for any product. weights_note_blank(): adds `lines`, rows of single lines that became
 * NaN by weights, to the count of weights_blanked(). */
const struct combine_weights *weights_lost(weights_t *weights, uint32_t i);
void weights_note_blank(weights_t *weights, uint32_t i, uint64_t lines);

/* Returns the rows of single streams in product i that became NaN so far, but not because of
 * unreadable input; 0 for NULL. */
uint64_t weights_blanked(const weights_t *weights, uint32_t i);

/* Check that power stays within the range of 32-bit floats: sums beyond 3.4e38 are infinite, and
 * those of very small volts vanish. Done where it can happen: with samples that are floats, as they
 * are after filters, or with extreme coefficients. */
typedef struct range range_t;

/* Creates the check; *out = NULL if it is not needed, which is the same on all ranks. `work` must
 * outlive it, and still has its coefficients. The caller calls range_destroy() in any case. Fails
 * with DEVICE (memory). */
status_t range_create(const struct channelise_plan *work, range_t **out);
/* Frees the check; takes NULL. */
void range_destroy(range_t *range);

/* Sets the numbers of values of a product so far that left the range: *large, infinite or NaN;
 * *small, zero or smaller than normal floats, where the maximum of their spectrum is hardly larger.
 * Sets zeros if `range` is NULL. */
void range_counts(const range_t *range, uint32_t product, uint64_t *large, uint64_t *small);

/* One block under way: its buffers, where its samples are and where its rows belong. */
struct slot {
    struct pipeline_slot block; /* of units */
    buffer_t *in;
    ingest_t *ingest; /* that its samples come by; */
    int is_begun;     /* they are on their way */
    buffer_t *out[MOST_OUTPUTS];
    buffer_t *squares[MOST_OUTPUTS];             /* of power whose cells are judged; else NULL */
    buffer_t *between[JOB_BANKS][BETWEEN_COUNT]; /* spectra that stages leave; NULL: none */
    struct reader_mapped mapped;                 /* samples that were not copied */
    struct slab *slab; /* of the streams worked on: most jobs have one group of them */
    size_t *re, *im;
    struct filter_block filtered;           /* where there are filters */
    struct losses losses, unread;           /* samples that are missing, and that are unreadable */
    uint64_t first_sample, nsamples;        /* that are read */
    int64_t from_sample;                    /* the first of a stream's own, after whole samples of
                                               its delay: */
    uint64_t *shifts;                       /* [streams]; NULL: there are no delays */
    size_t *swapped;                        /* [2][streams] re and im of streams as they count;
                                               NULL: as the archive has them */
    float *turns;                           /* [spectra][stations][coarse][2]; likewise */
    float *beam_turns;                      /* beams_plan_turns(); NULL: no beams */
    struct overlap_rows spectra[JOB_BANKS]; /* of each bank: those of the block, */
    struct overlap_rows counted[JOB_BANKS]; /* and of these samples it answers for the missing */
    struct overlap_rows looked_at;          /* that all of them are made of */
    uint32_t farthest;                      /* the bank that takes the last of these */
    uint64_t first_rows[MOST_OUTPUTS], rows[MOST_OUTPUTS]; /* dumps that it completes */
};

/* The last rows of a block on their way to the sink, while the next ones are finished. */
struct putting {
    pool_worker_t *worker; /* NULL: rows are put at once */
    const struct pipeline_sink *sink;
    uint32_t product;
    struct chunk chunk;
    uint64_t first, count;
    const void *data;
    int is_apart;    /* it is memory of the steps, which make the next rows elsewhere */
    status_t status; /* of rows that were put */
    int is_short;    /* for lack of slots they are waited for at once: an atomic */
    int ends_chunk;  /* then, this one, with what it counted: */
    struct chunk ended;
    struct chunk_counts counts[MOST_OUTPUTS];
};

/* A way of samples into slots: creates the buffer for them, which fails with DEVICE (memory, of the
 * device too); and read() of struct pipeline_stages. */
struct channelising;
struct intake {
    status_t (*buffer)(const struct channelising *p, buffer_t **out);
    status_t (*read)(void *context, void *slot);
};

struct channelising {
    pipeline_t *pipeline;
    const struct channelise_plan *work;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    resident_rows_t *const *resident; /* NULL: rows only go to the sink */
    struct chunking chunking;         /* the work's, with blocks that fit the device */
    reader_t *reader;
    const struct intake *intake;
    ingest_t *ingest;        /* the reader's; NULL: none */
    uint32_t fillers;        /* threads that fill its pieces */
    int has_looked;          /* for the next block: the reader's */
    filter_chain_t *filters; /* NULL: none */
    channelise_t *banks[JOB_BANKS];
    between_t *between[JOB_BANKS][BETWEEN_COUNT]; /* stages after it; NULL: none */
    struct beams_step beam_steps[JOB_BANKS];
    channelise_t *makers[JOB_BANKS];         /* of products of what these leave; NULL: the bank */
    correlate_t *correlations[MOST_OUTPUTS]; /* of products; NULL: no visibilities */
    uint32_t first_stream[JOB_BANKS];        /* of the chunks that stages and scales are for */
    struct slot slots[PIPELINE_MOST_SLOTS];
    uint32_t nslots;
    uint64_t in_bytes;                        /* of a slot's samples */
    int has_warned;                           /* of input that cannot be read: the reader's */
    struct chunk_counts counts[MOST_OUTPUTS]; /* so far in the chunk: the writer's */
    char *stored;                             /* rows of voltages as they are stored, likewise */
    weights_t *weights[JOB_BANKS];            /* the writer's; NULL: nothing can be missing */
    pool_t *finishers;                        /* of all products' steps; may be NULL */
    finish_t *finish[MOST_OUTPUTS]; /* likewise, of products; NULL: rows are written as they are */
    range_t *range;                 /* likewise; NULL: power cannot leave the range of floats */
    struct putting putting;         /* likewise */
};

/* Runs in the writer thread, for a struct channelising and a struct slot of it: waits until the
 * backend is done with the slot's block, and writes the rows. The last product's rows may still be
 * under way on return. Fails as backend and sink do, with NO_SPACE, DATA, DEVICE; with DATA also if
 * samples or a mask cannot be read any more. */
status_t channelising_write(void *context, void *of);
/* Runs in the writer thread, for a struct channelising: waits for rows that channelising_write()
 * has left under way, and calls the sink's end() for a chunk that ends with them. Fails as the sink
 * does, with NO_SPACE, DATA, DEVICE. */
status_t channelising_settle(void *context);

/* Returns the number, from 0, of the output of its bank's maker that product i is; the maker must
 * make it. */
uint32_t channelising_output(const struct channelise_plan *work, uint32_t i);

#endif
