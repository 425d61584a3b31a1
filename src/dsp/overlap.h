/* Which rows of its input a stage needs for rows of its output: the one place that knows how far
 * taps, integration, decimation and delays reach. Pure integer arithmetic.
 *
 * It stands below compute/ and plan/ because both ask it: buffers' lengths and plans are one thing.
 * Rows count from the observation's first; a stage may need rows before it (< 0) or behind its end:
 * padding, or rows that cannot be made (overlap_makes()). */
#ifndef VOLTMILL_DSP_OVERLAP_H
#define VOLTMILL_DSP_OVERLAP_H

#include "base/status.h"

#include <stdint.h>

/* Rows first .. end - 1; none when end <= first. */
struct overlap_rows {
    int64_t first, end;
};

/* Output row r of stream s is made of input rows
 *
 *   floor(r hop / per) + first + least[s] .. floor(r hop / per) + first + length - 1 + most[s].
 *
 * A decimating filter has hop = its decimation; a filter bank, oversampled or not, the samples from
 * one spectrum to the next; a resampler hop / per = Q / P; a synthesis that makes D rows of one hop
 * / per = 1 / D; a compensated group delay makes `first` negative. */
struct overlap {
    int64_t hop, per;             /* input rows from one output row to the next; both >= 1 */
    int64_t grain;                /* 0: 1. Output rows are made so many at a time, grain g the rows
                                     g * grain ..: whoever needs one of them needs the input of all,
                                     of which what no row needs may be missing. per is 1 then. */
    int64_t first, length;        /* length >= 1 */
    const uint32_t *least, *most; /* [streams] delays, in input rows; NULL: none */
};

/* Spectra of samples: each of `taps` raw spectra of so many, every `hop` of them (as many as a raw
 * spectrum has: critically sampled; fewer: oversampled). */
struct overlap overlap_filter_bank(uint64_t samples, uint32_t taps, uint64_t hop);
/* Rows of a filter of `taps` samples, of which `first` is the first, seen from the sample that a
 * row is made for; each decimate-th sample has a row. grain: compute/filter.h. */
struct overlap overlap_filter(uint32_t taps, int64_t first, uint32_t decimate, uint64_t grain);
/* Samples of a synthesis (compute/synthesise.h) by a filter of `length` samples, of which `first`
 * is the first, seen from the first sample of the spectrum; spectra come every `hop` rows. Rounded
 * out to what the hop's rows together need. */
struct overlap overlap_synthesise(uint64_t length, int64_t first, uint64_t hop);
/* Each row of `count` rows that no other one needs: raw spectra of samples, dumps of spectra. */
struct overlap overlap_sum(uint64_t count);
/* Sums over channels that come least[s] to most[s] rows later; tables must outlive the stage. */
struct overlap overlap_delays(const uint32_t *least, const uint32_t *most);
/* The same of one stream. */
struct overlap overlap_delay(uint32_t least, uint32_t most);

/* The input rows that output row 0 of a stream needs. */
struct overlap_rows overlap_reach(const struct overlap *stage, uint32_t stream);
/* Those that some output rows of a stream need. Fails with USAGE: beyond 64 bits. */
status_t overlap_needs(const struct overlap *stage, uint32_t stream, struct overlap_rows rows,
                       struct overlap_rows *out);
/* The output rows that can be made when all of these input rows are there, and no others. Fails
 * with USAGE. */
status_t overlap_makes(const struct overlap *stage, uint32_t stream, struct overlap_rows rows,
                       struct overlap_rows *out);

/* The most input rows that any `rows` rows of stream 0 need, and the most output rows whose last
 * input row is among `rows` of them: lengths of buffers. UINT64_MAX: beyond 64 bits. */
uint64_t overlap_inputs(const struct overlap *stage, uint64_t rows);
uint64_t overlap_ends(const struct overlap *stage, uint64_t rows);
/* The input rows that two neighbouring ranges of rows of stream 0 both need. */
uint64_t overlap_shared(const struct overlap *stage);
/* Those that two ranges both need that have `rows` rows in common: of rows that are made in grains
 * on average over all places where ranges can end. UINT64_MAX: beyond 64 bits. */
uint64_t overlap_shared_inputs(const struct overlap *stage, uint64_t rows);

/* From the first of both to the last of both; rows that are none add nothing. And what both have.
 */
struct overlap_rows overlap_union(struct overlap_rows a, struct overlap_rows b);
struct overlap_rows overlap_common(struct overlap_rows a, struct overlap_rows b);

/* A plan is a tree: one read, whose rows go through stages to several ends. Node 0 is what is read,
 * and has no stage; every other one takes the rows of a node before it. */
struct overlap_node {
    uint32_t input;
    struct overlap stage;
};

/* From the ends back to what is read: to the rows that are wanted of each node, adds those that
 * others need of it.
 *
 *   rows   [count] in: wanted for themselves; out: to be made, in rows[0] to be read
 *
 * Fails with USAGE. */
status_t overlap_tree_needs(const struct overlap_node *nodes, uint32_t count, uint32_t stream,
                            struct overlap_rows *rows);
/* From rows[0], which are there, to the rows that each node can make of them. Fails with USAGE. */
status_t overlap_tree_makes(const struct overlap_node *nodes, uint32_t count, uint32_t stream,
                            struct overlap_rows *rows);

#endif
