/* How an observation is cut into chunks. Pure integer arithmetic: a chunk is a function of the plan
 * alone, never of the number of ranks.
 *
 * A chunk is some spectra of some streams (a group), worked off in blocks that fit into memory.
 * Chunk c holds group c % groups of time range c / groups. Chunks begin at multiples of the
 * quantum, so that no dump of any product is shared by two; blocks inside of a chunk end at
 * multiples of CHUNK_GRAIN spectra of the observation. */
#ifndef VOLTMILL_PLAN_CHUNK_H
#define VOLTMILL_PLAN_CHUNK_H

#include "base/stream_set.h"

enum { CHUNK_GRAIN = 16 };

/* Most chunks of an observation: their numbers fit 32 bits, and more would be more than a day's
 * messages to rank 0 alone. */
#define CHUNK_MOST ((uint64_t)UINT32_MAX - 1)

struct chunking {
    uint64_t spectra;       /* of the observation */
    uint64_t chunk_spectra; /* of a chunk; the last one may be shorter */
    uint64_t block_spectra; /* most spectra of a block; a multiple of CHUNK_GRAIN, or at least
                               chunk_spectra, or all */
    uint32_t slots;         /* sets of buffers of a block, that a rank has */
    uint32_t streams;
    uint32_t group_streams; /* of a group; the last one may be smaller */
    /* Groups are of streams that follow each other; or, where that is not 0, of `group_coarse` of
     * the `coarse` coarse channels, which it divides, each of all other streams. */
    uint32_t group_coarse, coarse;
};

struct chunk {
    uint64_t index;
    uint64_t first, count; /* spectra */
    uint32_t group, first_stream, streams;
    uint32_t run, stride; /* struct stream_set's */
};

/* Counts of a chunk, for one product. */
struct chunk_counts {
    uint64_t missing; /* samples, of those that its filter bank takes */
    uint64_t clipped; /* numbers that do not fit what they are stored in */
};

/* Returns the number of chunks of an observation: ranges of time x groups. */
uint64_t chunk_count(const struct chunking *chunking);
/* Returns the number of groups of streams. */
uint32_t chunk_groups(const struct chunking *chunking);
/* Returns chunk number `index`, from 0, below chunk_count(). */
struct chunk chunk_at(const struct chunking *chunking, uint64_t index);

/* Returns whether both chunkings have the same chunks (spectra, streams and groups); blocks may
 * differ. */
int chunk_is_same_cut(const struct chunking *a, const struct chunking *b);

/* Returns how many spectra the block has that begins at spectrum `from` of the observation, which
 * is inside the chunk: block_spectra at most, up to a multiple of CHUNK_GRAIN, or to the end of the
 * chunk. */
uint64_t chunk_block(const struct chunking *chunking, const struct chunk *chunk, uint64_t from);

/* Returns the share of `streams` streams in the `whole` bytes (or other units) of a product's row,
 * which all streams of the chunking make: whole x streams / all, rounded down. If a part of the
 * streams makes no whole bytes, groups have more streams (struct channelise_plan, groups). */
uint64_t chunk_share(const struct chunking *chunking, uint64_t whole, uint32_t streams);

/* How streams make a row: a line for each of `ifs` ifs, or columns that `column` streams make (else
 * 1), the last one of fewer. The coarse channels have equal parts of a line if `count` is 0. Else a
 * line has `count` numbers, each of `average` channels, from channel `first` on of all coarse
 * channels side by side, x `each`. */
struct chunk_row {
    uint64_t ifs, column;
    uint64_t first, count, average, each;
};

/* Returns the same row as it is before channels are averaged, and of `ifs` ifs: average and column
 * become 1. */
static inline struct chunk_row chunk_row_of_channels(struct chunk_row row, uint64_t ifs)
{
    return (struct chunk_row){ifs, 1, row.first, row.count * row.average, 1, row.each};
}

/* Numbers of a line that are of a chunk's coarse channels: `count` from number `first` on. They
 * begin with the chunk's channel `from`, counted over its coarse channels side by side, x `each`.
 * A chunk of whole lines (chunk_is_coarse() is 0) has them all, from channel row->first on. */
struct chunk_kept {
    uint64_t from, first, count;
};
/* Returns the numbers of a line of `row` that are of the chunk's coarse channels (struct
 * chunk_kept); count is 0 if there are none. */
struct chunk_kept chunk_kept_of(const struct chunk_row *row, const struct chunk *chunk);

/* The share of a chunk in a row of `whole` bytes (or of other units, in which the pieces are then):
 * `count` pieces of `size` each, the first one at `first`, `step` from one to the next. A chunk
 * without part in the row has no pieces. */
struct chunk_pieces {
    uint64_t first, size, step, count;
};
/* Returns the share of a chunk in a row of `whole` bytes, or of other units: size, first and step
 * are in that unit. Without a part in the row, count is 0. */
struct chunk_pieces chunk_pieces_of(const struct chunking *chunking, const struct chunk *chunk,
                                    uint64_t whole, const struct chunk_row *row);

/* Returns the place in the row of unit i, from 0, of the chunk's own part (below size x count), in
 * the units of the pieces. */
static inline uint64_t chunk_pieces_at(const struct chunk_pieces *pieces, uint64_t i)
{
    return pieces->first + i / pieces->size * pieces->step + i % pieces->size;
}

/* Returns whether a chunk has some coarse channels of all other streams, not streams that follow
 * each other. */
static inline int chunk_is_coarse(const struct chunk *chunk)
{
    return chunk->stride > chunk->run;
}

/* Returns the streams of a chunk. */
static inline struct stream_set chunk_streams(const struct chunk *chunk)
{
    return (struct stream_set){chunk->first_stream, chunk->streams, chunk->run, chunk->stride};
}

/* Returns the smallest number of rows of row_bytes >= 1 bytes such that their bytes are a multiple
 * of `page`; 0 for page 0. */
uint64_t chunk_row_quantum(uint64_t row_bytes, uint64_t page);

#endif
