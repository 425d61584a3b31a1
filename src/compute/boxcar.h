/* The stage `boxcar`: searches dedispersed series for bursts. Of each series: the noise of each of
 * its blocks, sums over boxes of 1, 2, 4, ... times, and of each cell the best box, once its edges
 * have been moved as long as that makes it better (dsp/boxes.h).
 *
 * It takes series where the host has them, and its own threads work on them: whatever backend has
 * made them.
 *
 * The arithmetic, whatever does it: floats of 32 bits, every operation rounded for itself, integers
 * where order must not matter. x is valid if |x| < 2^96.
 *
 * Noise. Each of 32 cells of L = times / 32 samples (the remainder is ignored), from `about`, its
 * first valid sample: lane j of sixteen adds up x - about, and its square, of samples j, j + 16,
 * ...; lanes are added as a tree, j + 8 to j, then 4, 2, 1. With n valid samples, at least half,
 * and finite squares:
 *
 *   mean = about + sum (1 / n),  squares -= (sum sum) (1 / n), at least 0,
 *   variance = squares (1 / (n - 1))
 *
 * The median of k such cells is number k / 2 in ascending order. Cells are used if mean and
 * variance are no farther from their medians than 4 * 1.4826F times the median of these distances.
 * At least four are required: with far = mean - median, A = n far, Q = squares + A far, added as
 * trees over the cells (c + 16 to c, then 8, 4, 2, 1),
 *
 *   mean = median + A / n,  rms = sqrt((Q - (A A) / n) / (n - 1))
 *
 * Boxes. y = x - mean, 0 where x is invalid; S of 2w times from t on = S(w, t) + S(w, t + w); boxes
 * of w begin every boxes_step(w) times. The best box of a cell maximises S (1 / sqrt(w)) above
 * boxes_least() rms; among equal ones the shortest, then the first is taken.
 *
 * Edges. z = y (1 / rms) between -2^28 and 2^28, times 2^20, as integers; snr = sum / sqrt(w) in
 * double. By half the box's width, a quarter, ..., 1, the edge is moved that makes it best (the
 * first edge back or on, the last back or on), again as long as any does. It begins in its cell,
 * and is at most `widths` long. */
#ifndef VOLTMILL_COMPUTE_BOXCAR_H
#define VOLTMILL_COMPUTE_BOXCAR_H

#include "base/status.h"
#include "dsp/boxes.h"

typedef struct boxcar boxcar_t;

/* Creates a search with `threads` >= 1 threads; `boxes` is copied. Fails with DEVICE (memory;
 * VOLTMILL_SIMD names no instruction set). boxcar_destroy() frees it, and takes NULL. */
status_t boxcar_create(const struct boxes *boxes, uint32_t threads, boxcar_t **out);
void boxcar_destroy(boxcar_t *boxcar);
SCOPED_END(boxcar_destroy, boxcar_t *)

/* Returns the bytes of memory that a search with `threads` threads takes, for planning. */
uint64_t boxcar_bytes(const struct boxes *boxes, uint32_t threads);

enum { BOXCAR_ALL = 255 };
struct boxcar_rows {
    const float *rows;
    const uint8_t *share;
    uint64_t ndms, stride, from;
};
/* Searches one block (boxes_block_at()) of rows->ndms series. Times count from the series' first.
 *
 *   rows    float [ndms][stride]: times `from` on, all that the block needs; NaN is invalid, and
 *           counts as the mean
 *   share   [ndms][stride] beside them: the share of its channels in a sum, BOXCAR_ALL
 *           being all, 0 none; NULL: all. Sums whose share is less than 7/8 of the median count as
 *           the mean: they were scaled up, and so was their noise. The median is that of the
 *           block's noise times, without shares of 0
 *   peaks   gets [ndms][cells] of the block's times, in cells of PEAK_CELL, the last one perhaps
 *           shorter
 *
 * Bursts and interference in less than half of the noise cells do not affect the noise. Without an
 * rms there are no peaks. The result is a pure function of the series: the same for any cut,
 * threads, instruction set. Returns when the block is done; not for several threads at once. Cannot
 * fail. */
void boxcar_run(boxcar_t *boxcar, const struct boxes_block *block, const struct boxcar_rows *rows,
                struct peak *peaks);

#endif
