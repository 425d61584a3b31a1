/* Counts of clipped numbers by backends on the host: channelise_clipped(), after the rows. */
#ifndef VOLTMILL_COMPUTE_SHARED_CLIPPED_H
#define VOLTMILL_COMPUTE_SHARED_CLIPPED_H

#include "compute/channelise.h"

#include <string.h>

/* Counts of clipped numbers of one run: spectra first .. of all streams. */
struct clipped {
    uint32_t *counts; /* [blocks][streams][nchannels][2] */
    uint64_t first, scale_rows;
    uint32_t nstreams, nchannels;
};

/* Sets the counts in the buffer `rows` of output i, one of few bits, to zero, for a run of
 * `spectra` spectra from number `first` of the observation on. Returns their places in it. */
static inline struct clipped clipped_begin(const struct channelise_spec *spec, uint32_t i,
                                           uint32_t nstreams, uint64_t first, uint64_t spectra,
                                           void *rows)
{
    struct channelise_clipped place = channelise_clipped(spec, i, nstreams, first, spectra);
    struct clipped clipped = {.first = first,
                              .scale_rows = spec->outputs[i].scale_rows,
                              .nstreams = nstreams,
                              .nchannels = spec->nchannels};
    char *counts = (char *)rows + place.at;
    memset(counts, 0, (size_t)place.bytes);
    clipped.counts = (uint32_t *)(void *)counts;
    return clipped;
}

/* Returns the counts of a stream in the block of spectrum s (from 0 on) of the run, [nchannels][2].
 */
static inline uint32_t *clipped_line(const struct clipped *clipped, uint32_t stream, uint64_t s)
{
    uint64_t block =
        (clipped->first + s) / clipped->scale_rows - clipped->first / clipped->scale_rows;
    return clipped->counts + (block * clipped->nstreams + stream) * clipped->nchannels * 2;
}

#endif
