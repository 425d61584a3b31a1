/* The exact tree (dsp/dispersion/patterns.h) on CPUs: tiles of DMs and pieces of time like brute
 * force, but rows of channels become rows of patterns first, in sums of twice the width, and DMs
 * add these. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_CPU_TREE_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_CPU_TREE_H

#include "compute/cpu/dedisperse/strips.h"
#include "compute/shared/dedisperse_table.h"

enum {
    TREE_LEAST_GROUP = 4, /* channels */
    TREE_MOST_GROUP = 16, /* as many as floats are added in binary order */
    TREE_MOST_DMS = 256,
    TREE_MOST_STRIPS = 8,
    TREE_MOST_AREA = 512,  /* DMs of a tile x strips of a piece */
    TREE_DELAYS_A_JOIN = 8 /* of the table for each row that is made, at least */
};

typedef struct cpu_tree cpu_tree_t;

/* Creates the tree of brute force's table, cut as `shape` says: group, dm_out, time_out (strips of
 * sums). Sets *out to NULL on failure, and if so few delays repeat that the tree's tables would be
 * larger than brute force's: brute force then takes the same sums. The table must outlive it. Fails
 * with DEVICE (memory). */
status_t cpu_tree_create(const struct dedisperse_table *table, enum series_format format,
                         const struct dedisperse_shape *shape, const struct strip_kernels *kernels,
                         cpu_tree_t **out);
/* Frees a tree; takes NULL. */
void cpu_tree_destroy(cpu_tree_t *tree);
SCOPED_END(cpu_tree_destroy, cpu_tree_t *)

/* cpu_tree_tiles(): returns the number of tiles of DMs. cpu_tree_piece(): returns the output
 * samples of a piece of time. cpu_tree_scratch(): returns the bytes of scratch memory of a thread
 * (zeroed before its first use, aligned to 64). cpu_tree_gain(): returns the ratio of brute force's
 * additions to the tree's. */
uint32_t cpu_tree_tiles(const cpu_tree_t *tree);
uint64_t cpu_tree_piece(const cpu_tree_t *tree);
size_t cpu_tree_scratch(const cpu_tree_t *tree);
double cpu_tree_gain(const cpu_tree_t *tree);

/* Return upper bounds in bytes that hold for any delays. cpu_tree_most_bytes(): of the tables of a
 * tree for `nrows` used channels and `ndms` DMs. cpu_tree_most_scratch(): of a thread's scratch
 * memory. */
uint64_t cpu_tree_most_bytes(uint32_t nrows, uint32_t ndms);
uint64_t cpu_tree_most_scratch(void);

/* Computes the sums out[d][t] of the DMs of tile number `tile`, from 0, t < samples <= a piece
 * (cpu_tree_piece()). is_streamed: `out` is so large that it is written past the caches. scratch:
 * cpu_tree_scratch() bytes of this thread. Cannot fail. Any number of threads at a time.
 *
 *   rows   [nrows][stride bytes]   from the piece's first sample on; readable for 1,024 bytes
 *          after the last sample that is needed
 *   out    float [ndms][out_stride]   of all DMs */
void cpu_tree_sum(const cpu_tree_t *tree, const char *rows, size_t stride, uint32_t tile,
                  uint64_t samples, int is_streamed, void *scratch, float *out,
                  uint64_t out_stride);

#endif
