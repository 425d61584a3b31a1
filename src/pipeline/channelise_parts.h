/* What the files of the filter bank's pipeline share: its blocks, and what it is made of. Private
 * to channelise_pipeline.c and channelise/. */
#ifndef VOLTMILL_PIPELINE_CHANNELISE_CHANNELISE_PARTS_H
#define VOLTMILL_PIPELINE_CHANNELISE_CHANNELISE_PARTS_H

#include "compute/ingest.h"
#include "pipeline/channelise_pipeline.h"
#include "pipeline/filter_chain.h"
#include "pipeline/finish/finish.h"
#include "pipeline/weights.h"

/* Whether power stays within what 32-bit floats hold: sums beyond 3.4e38 are infinite, and those of
 * very small volts vanish. Looked at where it can happen: samples that are floats, as they are
 * behind filters, or coefficients beyond reason. */
typedef struct range range_t;

/* *out = NULL where nothing of the kind can happen, which is the same on all ranks. `work` must
 * outlive it. Fails with DEVICE (memory). */
status_t range_create(const struct channelise_plan *work, range_t **out);
void range_destroy(range_t *range);

/* Values of a product, so far: infinite or no numbers; zero, or smaller than normal floats, where
 * the largest of their spectrum is hardly more. */
void range_counts(const range_t *range, uint32_t product, uint64_t *large, uint64_t *small);

/* One block under way: its buffers, where its samples are and where its rows belong. */
struct slot {
    buffer_t *in;
    ingest_t *ingest; /* that its samples come by; */
    int is_begun;     /* they are on their way */
    buffer_t *out[MOST_OUTPUTS];
    buffer_t *squares[MOST_OUTPUTS]; /* of power whose kurtosis is asked for; else NULL */
    mapping_t *mapping;              /* of samples that were not copied; else NULL */
    struct slab *slab; /* of the streams worked on: most jobs have one group of them */
    size_t *re, *im;
    struct filter_block filtered; /* where there are filters */
    struct losses losses, unread; /* samples that are not there, and that could not be read */
    struct chunk chunk;
    uint64_t from, count; /* units */
    uint64_t first_sample, nsamples;
    struct overlap_rows spectra[JOB_BANKS]; /* of each bank: those of the block, */
    struct overlap_rows counted[JOB_BANKS]; /* and of these samples it answers for the missing */
    struct overlap_rows looked_at;          /* that all of them are made of */
    uint32_t farthest;                      /* the bank that takes the last of these */
    uint64_t first_rows[MOST_OUTPUTS], rows[MOST_OUTPUTS]; /* dumps that it completes */
};

struct channelising {
    pipeline_t *pipeline;
    const struct channelise_plan *work;
    backend_t *backend; /* the caller's */
    struct pipeline_sink sink;
    resident_rows_t *const *resident; /* NULL: rows only go to the sink */
    struct chunking chunking;         /* the work's, with blocks that fit the device */
    reader_t *reader;
    ingest_t *ingest;        /* the reader's; NULL: none */
    uint32_t fillers;        /* threads that fill its pieces */
    int has_looked;          /* for the next block: the reader's */
    filter_chain_t *filters; /* NULL: none */
    channelise_t *banks[JOB_BANKS];
    int is_scaled[JOB_BANKS]; /* what it rounds, by the scales of streams from here on */
    uint32_t scaled_from[JOB_BANKS];
    struct slot slots[PIPELINE_MOST_SLOTS];
    uint32_t nslots;
    int has_warned;                           /* of input that cannot be read: the reader's */
    struct chunk_counts counts[MOST_OUTPUTS]; /* so far in the chunk: the writer's */
    char *stored;                             /* rows of voltages as they are stored, likewise */
    weights_t *weights[JOB_BANKS];            /* the writer's; NULL: nothing can be missing */
    finish_t *finish[MOST_OUTPUTS]; /* likewise, of products; NULL: rows are written as they are */
    range_t *range;                 /* likewise; NULL: power cannot leave the range of floats */
};

/* The writer thread: waits until the backend is done with a block, and writes its rows. */
status_t channelising_write(void *context, uint32_t number);

/* The output that product i comes of, of its bank's stage. */
uint32_t channelising_output(const struct channelise_plan *work, uint32_t i);

#endif
