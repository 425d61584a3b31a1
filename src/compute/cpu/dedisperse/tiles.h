/* Tiles of dedispersion: some DMs of a piece of time, strip by strip. */
#ifndef VOLTMILL_COMPUTE_CPU_DEDISPERSE_TILES_H
#define VOLTMILL_COMPUTE_CPU_DEDISPERSE_TILES_H

#include "compute/cpu/dedisperse/strips.h"
#include "compute/dedisperse.h"

enum {
    TILE_DMS = 16,
    MOST_TILE_DMS = 64,
    CACHE_BYTES = 512 << 10, /* of L2, for the rows of a piece of time */
    MOST_STRIPS = 64         /* of a piece */
};

/* Rows of channels or sub-bands, and their delays.
 *
 *   rows     [nrows][stride bytes]   readable for a strip beyond the last sample that is needed
 *   delays   uint32 [ndms][nrows]    in samples
 *   tile     DMs of a tile, at most MOST_TILE_DMS; TILE_DMS by default
 *   limit    rows after which sums are flushed: a multiple of STRIP_CHUNK, or less than that */
struct tile_rows {
    const struct strip_kernel *kernel;
    const char *rows;
    size_t stride;
    const uint32_t *delays;
    uint32_t nrows, ndms, tile, limit;
};

/* Memory of one thread. */
struct tile_scratch {
    _Alignas(64) char sums[MOST_TILE_DMS][STRIP_SUMS];
    _Alignas(64) char totals[MOST_TILE_DMS][STRIP_TOTALS];
};

/* Sums rows: out[d][t] = sum over rows r of rows[r][t + delays[d][r]], t < samples.
 *
 * A tile of DMs goes over all strips before the next one does: the rows of `samples` are
 * meant to stay in L2. Within a strip, STRIP_CHUNK rows serve all DMs of the tile from L1.
 *
 *   out   float [ndms][out_stride] */
void tiles_sum(const struct tile_rows *in, struct tile_scratch *scratch, uint64_t samples,
               float *out, uint64_t out_stride);

#endif
