/* What memory a block, a group of streams and all else take. For budget.c alone. */
#ifndef VOLTMILL_PLAN_BUDGET_BUDGET_BYTES_H
#define VOLTMILL_PLAN_BUDGET_BUDGET_BYTES_H

#include "plan/channelise_plan.h"

/* What the memory of a block depends on, over all groups of a size. */
struct budget_group {
    uint32_t streams;
    uint64_t step_bytes;   /* of a slab, for one sample of each stream: of the largest */
    uint64_t bounce_bytes; /* that the reader needs to cut time steps */
    int is_ingested;       /* samples can go to the device while they are read */
};

/* Of groups of so many streams. Fails with DEVICE. */
status_t budget_measure_group(const struct channelise_plan *work, uint32_t streams,
                              struct budget_group *out);

/* Bytes of the samples and rows of a block of `spectra` spectra in one set of buffers; and of all
 * that the host keeps of such a block: all sets of buffers, weights, flags, the workspace. */
uint64_t budget_buffers_bytes(const struct channelise_plan *work, const struct budget_group *group,
                              uint64_t spectra);
uint64_t budget_block_bytes(const struct channelise_plan *work, const struct budget_group *group,
                            uint64_t spectra);

/* Blocks of a chunk's length of time would need each chunk of a dataset once; shorter ones meet a
 * whole row of chunks again and again. So keep the row, if it leaves half of the budget; and as
 * many threads decompress chunks as an eighth of it allows: sets work->cache_bytes and unpackers.
 */
void budget_settle_cache(struct channelise_plan *work, uint64_t memory);

/* Memory to read chunked datasets, once that is settled: the chunks that are kept, and those that
 * threads work on: as they are stored, and as they grow while they are decompressed. */
uint64_t budget_hdf5_bytes(const struct channelise_plan *work);

/* Memory that is not a block's: that too, settled costs of the process, coefficients in double. */
uint64_t budget_fixed_bytes(const struct channelise_plan *work);

/* Whether the smallest block fits what the job gives a rank of the device's memory; what it does
 * not say, shows when the device is opened. */
int budget_fits_device(const struct channelise_plan *work, const struct budget_group *group);

#endif
