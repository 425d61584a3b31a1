/* Which cells of flagged power are left out (product/flag/flagged.h): by their kurtosis, by a mask,
 * by the job. A pure function of a cell's numbers and of where it lies. */
#ifndef VOLTMILL_PIPELINE_FINISH_FLAG_CELLS_H
#define VOLTMILL_PIPELINE_FINISH_FLAG_CELLS_H

#include "pipeline/finish/combine.h"
#include "plan/channelise_plan.h"
#include "product/flag/flagged.h"

typedef struct flag_cells flag_cells_t;

/* Of product i, for blocks of up to so many rows of cells. `work` must outlive it. Fails with
 * DEVICE (memory), DATA. */
status_t flag_cells_create(const struct channelise_plan *work, uint32_t i, uint64_t rows,
                           flag_cells_t **out);
void flag_cells_destroy(flag_cells_t *cells);

/* One row of cells of a group of streams, which are whole antennas: */
struct flag_row {
    uint64_t cell; /* of the product's, in time */
    uint64_t at;   /* of the block's rows */
    uint64_t first_antenna, antennas;
    const float *power;   /* [antennas][sums][all], as combine.h's rows; */
    const float *squares; /* [antennas][pols][all]; NULL without kurtosis */
    const float *weights; /* [antennas][pols][coarse]; NULL: all 1 */
};

/* Flags it. *marks: uint8 [antennas][pols][all], until the next call. Fails with DATA. */
status_t flag_cells_row(flag_cells_t *cells, const struct flag_row *row,
                        const unsigned char **marks);

/* What was flagged of the block. */
struct flag_block flag_cells_block(const flag_cells_t *cells);

#endif
