/* The memory that work takes, however it is cut. */
#ifndef VOLTMILL_PLAN_BUDGET_H
#define VOLTMILL_PLAN_BUDGET_H

#include "plan/channelise_plan.h"

/* Bytes of run.memory that no cut uses: for the program, libraries, MPI on any network, drivers. */
enum {
    BUDGET_BASE_BYTES = 88 << 20,
    BUDGET_COMPILER_BYTES = 30 << 20 /* of a GPU's driver while it compiles kernels */
};

/* Bytes to read rows of filterbanks, by the way in which they are reached. */
extern const uint64_t budget_reach_bytes[];

/* Quantities that the memory of a block depends on, over all groups of a size. */
struct budget_group {
    uint32_t streams;
    uint64_t step_bytes;   /* of a slab, for one sample of each stream: of the largest */
    uint64_t bounce_bytes; /* that the reader needs to cut time steps */
    uint64_t read_bytes;   /* of a time step, by all groups together; */
    int reads_twice;       /* some of them by several; beams always do so */
    int is_ingested;       /* samples can go to the device while they are read; */
    int is_whole;          /* none of them is missing in the files, so that all do */
    uint64_t overlaps;     /* spectra of a chunk, at least, for what neighbours share */
};

/* Measures the groups into which the work is cut (work->chunking); out->overlaps becomes 0. Fails
 * with DEVICE (memory). */
status_t budget_measure_group(const struct channelise_plan *work, struct budget_group *out);

/* Returns the units of the smallest block. */
uint64_t budget_least(const struct channelise_plan *work);
/* Returns whether the smallest block (budget_least()) fits, with two sets of buffers, the device
 * memory that the job gives a rank. Without such a limit it counts as fitting: opening the device
 * shows the truth. */
int budget_fits_device(const struct channelise_plan *work, const struct budget_group *group);

/* Returns the bytes of one set of buffers in `memory` for blocks of `spectra` units of such a
 * group: samples, rows, and all that stages leave between them. */
uint64_t budget_slot_bytes(const struct channelise_plan *work, const struct budget_group *group,
                           uint64_t spectra, enum stage_memory memory);
/* Returns the bytes of all that the host keeps for blocks of `spectra` units of such a group: as
 * many sets of buffers as the backend needs, weights, flags, the workspace. */
uint64_t budget_block_bytes(const struct channelise_plan *work, const struct budget_group *group,
                            uint64_t spectra);
/* Returns the bytes of the host's memory that all sets of buffers take, for blocks of
 * work->chunking.block_spectra units, if a device computes: whole pages of pinned memory, but none
 * for samples that are surely ingested. */
uint64_t budget_pinned_bytes(const struct channelise_plan *work, const struct budget_group *group);
/* Returns the bytes by which whole pages of pinned memory may exceed their contents and the part of
 * BUDGET_BASE_BYTES that is left for them; 0 on CPUs. Part of budget_fixed_bytes(), so that each
 * cut has room for them. */
uint64_t budget_pages_bytes(const struct channelise_plan *work);

/* Settles work->cache_bytes, for chunks of datasets, and work->unpackers, the threads that
 * decompress them: as many as fit an eighth of `memory` (bytes), 1 .. work->threads. The cache
 * holds a row of chunks if it fits half of `memory`, with BUDGET_BASE_BYTES and these threads; else
 * the largest chunk, at least 1 MiB. */
void budget_settle_cache(struct channelise_plan *work, uint64_t memory);

/* Returns the bytes that no block takes to read chunked datasets through HDF5: index, cache
 * (budget_settle_cache()) and threads; 0 if no file is read so. */
uint64_t budget_hdf5_bytes(const struct channelise_plan *work);
/* Returns the bytes that no block takes for rows on their way into files of other formats than
 * HDF5, by work->writers threads; 0 without such files. */
uint64_t budget_formats_bytes(const struct channelise_plan *work);
/* Returns all bytes that no block takes: BUDGET_BASE_BYTES, tables, budget_hdf5_bytes(),
 * budget_formats_bytes() and budget_pages_bytes(). The cache and work->writers are settled. */
uint64_t budget_fixed_bytes(const struct channelise_plan *work);

/* Returns all bytes that a rank takes while it completes products, when all rows are there and no
 * block is left: BUDGET_BASE_BYTES, the plan's tables, and the most that one product takes for its
 * medians or to compress it. */
uint64_t budget_end_bytes(const struct channelise_plan *work);

/* Returns the bytes that a rank of `threads` threads is planned to take. `bytes` were counted for a
 * cut, BUDGET_BASE_BYTES (at least) among them. In the place of these it takes the program's own
 * memory and that of drivers, as measured, with a reserve, if that is less. */
uint64_t budget_stated(const struct job *job, enum backend_kind backend, uint32_t threads,
                       uint64_t bytes);

/* Returns the number of threads that finish rows (pipeline/finish), at least 1: work->threads, or a
 * half of them if the backend computes on the cores itself, since waiting for more would take
 * longer. */
uint32_t budget_finishers(const struct channelise_plan *work);

/* Estimates the device memory, in bytes, that one block of the smallest size needs, with one set of
 * buffers. *out is 0 if the backend has no memory of its own. Fails with DEVICE (memory); *out is
 * unchanged then. */
status_t budget_device_bytes(const struct channelise_plan *work, uint64_t *out);

#endif
