/* Input rows that a stage needs for rows of its output. Only this file computes the reach of taps,
 * integration, decimation and delays. Pure integer arithmetic.
 *
 * The module is below compute/ and plan/ because both use it: lengths of buffers agree with plans.
 * Rows count from the observation's first. A stage may need rows before it (< 0) or after its end:
 * padding, or rows that cannot be computed (overlap_makes()). */
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
    int64_t grain;                /* 0: 1. Output rows are made in grains of this many rows, grain g
                                     the rows g * grain ..: any row of a grain needs the input of
                                     all of them. Input that no row needs may be missing. per is 1
                                     then. */
    int64_t first, length;        /* length >= 1 */
    const uint32_t *least, *most; /* [streams] delays, in input rows; NULL: none */
};

/* Returns a / b, rounded down; b > 0. */
static inline int64_t overlap_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Returns a stage that makes spectra of samples: each takes `taps` raw spectra of `samples`
 * samples, every `hop` samples (critically sampled: hop is `samples`; oversampled: fewer). */
struct overlap overlap_filter_bank(uint64_t samples, uint32_t taps, uint64_t hop);
/* Returns the stage of a filter of `taps` samples. `first` is the first of them, counted from the
 * sample for which a row is made; every decimate-th sample has a row. grain: compute/filter.h. */
struct overlap overlap_filter(uint32_t taps, int64_t first, uint32_t decimate, uint64_t grain);
/* Returns the stage of a synthesis (compute/synthesise.h) by a filter of `length` samples. `first`
 * is the first of them, counted from the first sample of the spectrum; spectra come every `hop`
 * rows. Includes the input of all rows of a hop. */
struct overlap overlap_synthesise(uint64_t length, int64_t first, uint64_t hop);
/* Returns a stage that makes each row of `count` input rows of its own: raw spectra of samples,
 * rows of spectra. */
struct overlap overlap_sum(uint64_t count);
/* Returns a stage of sums over channels that come least[s] to most[s] input rows later in stream s;
 * the tables, [streams], must outlive the stage. */
struct overlap overlap_delays(const uint32_t *least, const uint32_t *most);
/* Returns a stage of sums over channels that come `least` to `most` rows later in all streams; it
 * needs no tables. */
struct overlap overlap_delay(uint32_t least, uint32_t most);

/* Returns the input rows, numbered from the observation's first, that output row 0 of a stream is
 * made of, without those of its grain. */
struct overlap_rows overlap_reach(const struct overlap *stage, uint32_t stream);
/* Computes the input rows that output rows `rows` of a stream need; {0, 0} for no rows. Fails with
 * USAGE beyond 64 bits, and leaves *out unchanged. */
status_t overlap_needs(const struct overlap *stage, uint32_t stream, struct overlap_rows rows,
                       struct overlap_rows *out);
/* Computes the output rows that can be made of these input rows, if no others are available: each
 * by its own input, whatever its grain; {0, 0} if there are none. Fails with USAGE beyond 64 bits,
 * and leaves *out unchanged. */
status_t overlap_makes(const struct overlap *stage, uint32_t stream, struct overlap_rows rows,
                       struct overlap_rows *out);

/* Lengths of buffers. overlap_inputs(): returns the most input rows that any `rows` rows of stream
 * 0 need, 0 for none. overlap_ends(): returns a bound on the output rows whose last input row is
 * among `rows` of them, at most one too many. UINT64_MAX: beyond 64 bits. */
uint64_t overlap_inputs(const struct overlap *stage, uint64_t rows);
uint64_t overlap_ends(const struct overlap *stage, uint64_t rows);
/* Returns the number of input rows that two neighbouring ranges of output rows of stream 0 both
 * need, of a stage without grains. */
uint64_t overlap_shared(const struct overlap *stage);
/* Returns the number of input rows that two ranges of stream 0 both need if they share `rows`
 * output rows. For rows that are made in grains, the mean over all places where ranges can end.
 * UINT64_MAX: beyond 64 bits. */
uint64_t overlap_shared_inputs(const struct overlap *stage, uint64_t rows);

/* overlap_union(): returns the rows from the first of both ranges to the last of both; an empty
 * range adds nothing (of two empty ones the result is b). overlap_common(): returns the rows in
 * both ranges; end <= first if there are none. */
struct overlap_rows overlap_union(struct overlap_rows a, struct overlap_rows b);
struct overlap_rows overlap_common(struct overlap_rows a, struct overlap_rows b);

/* A plan is a tree: one read, whose rows go through stages to several ends. Node 0 is what is read,
 * and has no stage; every other one takes the rows of a node before it. */
struct overlap_node {
    uint32_t input;
    struct overlap stage;
};

/* Goes from the ends back to the input, and adds to the requested rows of each node the rows that
 * others need of it.
 *
 *   rows   [count] in: requested for themselves; out: to be made, in rows[0] to be read
 *
 * count >= 1. Fails with USAGE beyond 64 bits; `rows` are then undefined. */
status_t overlap_tree_needs(const struct overlap_node *nodes, uint32_t count, uint32_t stream,
                            struct overlap_rows *rows);
/* Goes from the input to the ends, and computes the rows that each node can make.
 *
 *   rows   [count] in: rows[0], the available input; out: rows[i] that node i can make of it
 *
 * count >= 1. Fails with USAGE beyond 64 bits; `rows` are then undefined. */
status_t overlap_tree_makes(const struct overlap_node *nodes, uint32_t count, uint32_t stream,
                            struct overlap_rows *rows);

#endif
