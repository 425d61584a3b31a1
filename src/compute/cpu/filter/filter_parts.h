/* What the files of the CPU's long filters share: filter.c makes them, filter_choose.c chooses how,
 * filter_run.c runs them, direct.c and overlap_save.c are the two methods. For nobody else. */
#ifndef VOLTMILL_COMPUTE_CPU_FILTER_FILTER_PARTS_H
#define VOLTMILL_COMPUTE_CPU_FILTER_FILTER_PARTS_H

#include "compute/cpu/cpu.h"
#include "compute/cpu/filter/direct.h"
#include "compute/cpu/filter/filter_samples.h"
#include "compute/cpu/filter/overlap_save.h"

/* A call of run(), in the pool until it is done. */
struct filter_block {
    struct cpu_filter *filter;
    uint64_t number; /* in the pool */
    struct host_buffer *source;
    const char *in;  /* its data */
    size_t *re, *im; /* [streams] offsets */
    size_t step;
    struct filter_run run;
    float *out;
    int64_t first_piece; /* of rows */
    uint64_t pieces;     /* of each stream's rows */
    uint64_t counts;     /* of each stream's samples whose missing ones are counted */
};

struct cpu_filter {
    struct filter base;
    struct filter_reader reader;
    pool_t *pool;
    direct_t *direct; /* one of both */
    overlap_save_t *overlap_save;
    uint64_t piece_rows; /* of a task */
    struct filter_block blocks[POOL_BLOCKS];
    uint64_t nblocks; /* so far */
};

#endif
