/* Weights: which share of what makes a dump came from good samples, of each stream; and what
 * becomes of dumps that lack some.
 *
 * The weight of a spectrum is sum b^2 over its good samples / sum b^2 over all, b the filter bank's
 * coefficients; behind filters a sample counts as far as its row has lost nothing. The
 * weight of a dump is the mean of those of its spectra. Sums are of whole numbers: the same bytes
 * however the work is cut. Missing is what the reader has not found, and numbers that are none.
 * For the writer thread. */
#ifndef VOLTMILL_PIPELINE_WEIGHTS_WEIGHTS_H
#define VOLTMILL_PIPELINE_WEIGHTS_WEIGHTS_H

#include "pipeline/finish/combine.h"
#include "plan/channelise_plan.h"

typedef struct weights weights_t;

/* Of one of the plan's banks and its products, for blocks of up to so many units; `work` must
 * outlive it. *out = NULL where no sample can be missing. Fails with DEVICE (memory). */
status_t weights_create(const struct channelise_plan *work, uint32_t bank, uint64_t block_units,
                        weights_t **out);
void weights_destroy(weights_t *weights);

/* A block as it leaves the backend. */
struct weights_block {
    int is_first;                   /* of a chunk; else it follows the one before */
    uint64_t first, count;          /* spectra of the bank */
    uint32_t first_stream, streams; /* of the archive's selected ones */
    struct losses *losses;          /* that the reader told of; they are put in order */
    const struct losses *unread;    /* and of these what could not be read (run.on_bad: nan) */
    const char *samples;            /* from this one on: looked at; */
    int64_t first_sample;
    uint64_t nsamples; /* 0: none is missing that the reader does not know */
    struct sample_input input;
    struct overlap_rows counted; /* of these it answers for the missing ones */
};

/* Weighs the dumps that the block completes. *missing: samples of all streams that are missing,
 * among those that are counted; not those in gaps that the archive declares, nor those that could
 * not be read. Fails with
 * DEVICE (memory). */
status_t weights_begin(weights_t *weights, const struct weights_block *block, uint64_t *missing);

/* Rows of product i that the block completes: those of streams that lack too much become NaN, power
 * is renormalised. *holes: char [rows], 1: some of the row became NaN by what could not be read;
 * NULL: none did. Gives the weights, float [rows][streams].
 *
 *   data   float [rows][streams][nchannels] (x 2 if spectra) */
const float *weights_apply(weights_t *weights, uint32_t i, uint64_t rows, void *data,
                           const char **holes);

/* Instead of that, where rows are combined (pipeline/finish/combine.h): what they have lost; NULL:
 * nothing. Dumps of lines that became NaN by weights are then counted by weights_note_blank(). */
const struct combine_weights *weights_lost(weights_t *weights, uint32_t i);
void weights_note_blank(weights_t *weights, uint32_t i, uint64_t lines);

/* Dumps of single streams in product i that became NaN, but not by what could not be read, so far.
 */
uint64_t weights_blanked(const weights_t *weights, uint32_t i);

#endif
