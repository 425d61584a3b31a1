/* The tables of the tree kernel (kernels/dedisperse_tree.cl): which patterns each tile of DMs has,
 * and how they are made in local memory step by step. No call of OpenCL: pure functions of the
 * problem. */
#ifndef VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TREE_TABLES_H
#define VOLTMILL_COMPUTE_OPENCL_DEDISPERSE_TREE_TABLES_H

#include "compute/opencl/dedisperse/dedisperse_shape.h"

/* A list of numbers that grows. */
struct tree_list {
    uint32_t *numbers;
    uint64_t count, room;
};

/* Tables of the kernel. Groups whose DMs have little in common are added row by row, before all
 * others; their "sums" are the staged rows. Phases take steps of groups one after the other: rows
 * of one, patterns of the one before it, offsets of the one before that.
 *
 *   steps    uint32 [phases][4], two more of zeros
 *      0     the phase's block / 4
 *      1     its length / 4
 *      2     pieces, TREE_SINGLE, groups (or single rows) << 16, TREE_FULL
 *      3     rows, TREE_ENDS, TREE_GOES_ON
 *   tables   blocks:
 *      uint32 [rows][4]   row, first word / 4, where it is staged (bytes), words / 4
 *      uint16 [pieces][group + 2, rounded up]   of a pattern: where each row's words begin and
 *            where the sums go (bytes), how many
 *      uint16 [groups / 2][DMs of a tile][2]    where a DM's sums begin (bytes)
 *   tiles    uint32 [ntiles + 1][2]   first DM, first phase
 *   memory   words of local memory for rows and sums
 *   phases   of all tiles of DMs
 *   made     words of sums that are made, `staged` of rows, `added` that DMs read: for one tile of
 *            time and all DMs */
struct tree_tables {
    uint32_t ntiles, memory;
    struct tree_list steps, tables, tiles;
    uint64_t made, staged, added, phases;
    int fits; /* else nothing but ntiles is of account */
};

/* Creates the tables for a group with `local` bytes of local memory, of which at most 48 KiB are
 * used. `every`: only every Nth tile is examined (1: all), enough to estimate the cost of a shape,
 * not to run it. Too little local memory is no failure: out->fits is 0. Fails with DEVICE (memory);
 * then *out is unchanged. */
status_t tree_tables_create(const struct dedisperse_shape_problem *problem,
                            const struct dedisperse_shape *shape,
                            const struct dedisperse_shape_spans *spans, uint64_t local,
                            uint32_t every, struct tree_tables *out);
/* Frees tables; takes {0}, and leaves it. */
void tree_tables_free(struct tree_tables *tables);

/* Returns the bytes of local memory that a group takes: `memory`, and two blocks of tables. */
uint64_t tree_tables_local_bytes(const struct tree_tables *tables);

/* Appends the constants that kernels/dedisperse_tree.cl is built with, "-DSAMPLE=1 ...". A failure
 * is kept in out->status. */
void tree_tables_options(const struct dedisperse_shape_problem *problem,
                         const struct dedisperse_shape *shape, const struct tree_tables *tables,
                         const struct device_info *device, struct text *out);

#endif
