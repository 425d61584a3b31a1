/* The stage `boxcar`: searches dedispersed series for bursts. Of each series: the noise of each of
 * its blocks, sums over boxes of 1, 2, 4, ... times, and of each cell the best box, once its edges
 * have been moved as long as that makes it better (dsp/bursts/boxes.h).
 *
 * It takes series where the host has them, and its own threads work on them: whatever backend has
 * made them. */
#ifndef VOLTMILL_COMPUTE_BOXCAR_H
#define VOLTMILL_COMPUTE_BOXCAR_H

#include "base/status.h"
#include "dsp/bursts/boxes.h"

typedef struct boxcar boxcar_t;

/* Fails with DEVICE. */
status_t boxcar_create(const struct boxes *boxes, uint32_t threads, boxcar_t **out);
void boxcar_destroy(boxcar_t *boxcar);

/* Bytes of memory that it takes, for planning. */
uint64_t boxcar_bytes(const struct boxes *boxes, uint32_t threads);

/* Searches one block of `ndms` series.
 *
 *   rows    float [ndms][stride]: times `from` on, all that the block needs; NaN is no number, and
 *           counts as the mean
 *   share   [ndms][stride] beside them: which share of its channels a sum is made of, BOXCAR_ALL
 *           being all, 0 none; NULL: all. A sum of less than 7/8 of what the median of the noise's
 *           has, without those of none, counts as the mean: it was scaled up, and its noise
 *   peaks   [ndms][cells] of the block's times, in cells of PEAK_CELL
 *
 * The mean and the rms are those of the block's noise cells (BOXES_NOISE_CELLS equal parts) whose
 * means and variances lie within four scaled median deviations of their medians: bursts and
 * interference in less than half of them count for nothing. Where there is no rms, no peak is. The
 * result is a pure function of the series: the same for any cut, threads, instruction set. */
enum { BOXCAR_ALL = 255 };
struct boxcar_rows {
    const float *rows;
    const uint8_t *share;
    uint64_t ndms, stride, from;
};
void boxcar_run(boxcar_t *boxcar, const struct boxes_block *block, const struct boxcar_rows *rows,
                struct peak *peaks);

#endif
