/* One tile of DMs of the tree kernel (kernels/dedisperse_tree.cl): its patterns, cut into steps of
 * as many groups as local memory holds. No call of OpenCL: pure functions of the problem. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TREE_TILE_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TREE_TILE_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"
#include "dsp/dispersion/patterns.h"

enum {
    TREE_MOST_PATTERNS = 96, /* most of a step, for its patterns, in fours of numbers */
    TREE_MOST_OFFSETS = 64,  /* for its offsets */
    TREE_MOST_ROWS = 32,     /* rows of a step */
    TREE_MOST_SINGLE = 16    /* of a step of single ones */
};

/* What a step takes: words, pieces. Of groups from .. to - 1 in their order. */
struct tree_step {
    int is_single;
    uint32_t from, to, rows_at, sums_at; /* where rows and sums lie */
    uint64_t staged, made, pieces;
};

/* A tile under way; of groups of rows, and all of their rows. */
struct tree_tile {
    const struct dedisperse_shape_problem *problem;
    const struct dedisperse_shape *shape;
    const struct dedisperse_shape_spans *spans;
    struct patterns patterns;
    const struct pattern_level *level;
    uint32_t dm, ndms, ngroups, columns, memory;
    uint32_t *rel;          /* [ndms][nrows] */
    uint32_t *base, *count; /* [ngroups * group] the samples of a row that are staged */
    uint32_t *staged;       /* [ngroups * group] where */
    uint32_t *made;         /* [patterns] where */
    uint32_t *order;        /* [ngroups] groups: single ones first */
    uint32_t nsingle, nsteps;
    struct tree_step *steps; /* [3 * ngroups] */
};

/* Tile number dm / (DMs of a tile), in `memory` words of local memory; `out` refers to the
 * arguments. *fits: whether it could be cut into steps. tree_tile_free() in any case. Fails with
 * DEVICE (memory). */
status_t tree_tile_create(const struct dedisperse_shape_problem *problem,
                          const struct dedisperse_shape *shape,
                          const struct dedisperse_shape_spans *spans, uint32_t dm, uint32_t memory,
                          struct tree_tile *out, int *fits);
void tree_tile_free(struct tree_tile *tile);

/* The first pattern of a group, and each; one of zeros is in groups behind the last. */
uint32_t tree_tile_first(const struct tree_tile *tile, uint32_t group);
struct pattern tree_tile_pattern(const struct tree_tile *tile, uint32_t number);

/* Words of a pattern's sums, in fours: whatever lies in local memory begins at a four. */
uint32_t tree_tile_words(const struct tree_tile *tile, const struct pattern *pattern);

/* Groups that a step adds up, or its single rows; its rows; fours of numbers for its patterns, and
 * for its offsets. */
uint32_t tree_tile_sums(const struct tree_tile *tile, const struct tree_step *step);
uint32_t tree_tile_rows(const struct tree_tile *tile, const struct tree_step *step);
uint64_t tree_tile_pattern_fours(const struct tree_tile *tile, const struct tree_step *step);
uint64_t tree_tile_offset_fours(const struct tree_tile *tile, const struct tree_step *step);

/* Levels of a group's patterns; 16-bit numbers of a pattern's piece; work-items that make a piece,
 * or stage a row; units of a piece that each of them makes; all of a piece's. */
uint32_t tree_tile_levels(uint32_t group);
uint32_t tree_tile_entry(const struct dedisperse_shape *shape);
uint32_t tree_tile_lanes(const struct dedisperse_shape *shape);
uint32_t tree_tile_rounds(const struct dedisperse_shape *shape);
uint32_t tree_tile_piece(const struct dedisperse_shape *shape);

#endif
