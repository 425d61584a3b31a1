/* The tables of a tree on CPUs: which rows each tile joins, and which of them its DMs add. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_TREE_LAYOUT_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_TREE_LAYOUT_H

#include "compute/cpu/dedisperse/cpu_tree.h"

enum {
    TREE_PART_CHANNELS = 256,   /* 8-bit samples of which fit 16 bits */
    TREE_ROWS_BYTES = 512 << 10 /* of a chunk, about: they stay in L2 */
};

/* A place in memory that the next group takes again. */
#define TREE_PASSING 0x80000000U

/* A row of sums, to[t] for t < piece + span.
 *
 *   level   1: of channels `row` .. row + 3 at the delays `from`; 2, 3: of two rows of the level
 *           below at the places `from`
 *   from    PATTERN_NONE: zeros
 *   to      its place: samples from the beginning of rows that stay, or of those that pass */
struct tree_join {
    uint32_t level, row, from[4], to, span;
};

/* A chunk is some groups: when their rows are made, each DM adds its own. So many chunks make a
 * part of TREE_PART_CHANNELS.
 *
 *   ends     uint64 [ntiles][ntop]   behind the last join of each group
 *   flushes  uint8 [ntiles][ntop]    whether a chunk ends with this group
 *   lists    uint64 [chunks][DMs of the tile] and one more: where in `starts` a DM's rows begin
 *   first    uint64 [ntiles]         the first of `lists` of a tile
 *   starts   uint32                  places of rows, from the piece's first sample on
 */
struct cpu_tree {
    const struct strip_kernel *channels, *sums, *adds;
    int is_float;
    uint32_t nrows, ndms, group, top, ntop, tile, ntiles;
    uint64_t piece;
    const uint32_t *delays; /* [ndms][nrows] of the stage */
    struct tree_join *joins;
    uint32_t *starts;
    uint64_t *lists, *ends, *first;
    uint8_t *flushes;
    uint64_t njoins, nstarts, nlists, most_joins;
    struct {
        uint64_t joins, starts, lists;
    } room;                        /* of the tables, in elements */
    uint64_t joined;               /* samples of a piece, added up to rows */
    size_t passing, rows, longest; /* samples: of rows that pass, that stay, of a row */
    char *zeros;
};

/* Fills the tables for delays [ndms][nrows]; stops when joins are more than `most_joins`. Fails
 * with DEVICE (memory). */
status_t tree_lay_out(cpu_tree_t *tree);

#endif
