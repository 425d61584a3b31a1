/* The boxcars of a search for bursts: which there are, what noise each is measured against, and
 * what is kept of them. Pure functions of the series alone: however the work is cut, the same.
 *
 * A series of `outputs` times has blocks of `block` times, counted from its first; each has a mean
 * and an rms of its own (dsp/boxes.h names them, compute/boxcar.h measures them). A box of w times
 * that begins in a block has
 *
 *   snr = (sum over the box - w mean) / (rms sqrt(w))
 *
 * with that block's numbers, wherever it ends. Of all boxes that begin in one cell (PEAK_CELL
 * times), the best is kept: a peak. */
#ifndef VOLTMILL_DSP_BOXES_H
#define VOLTMILL_DSP_BOXES_H

#include <stdint.h>

enum {
    PEAK_CELL = 64,           /* times; a cell's place of a peak fits a byte */
    BOXES_MOST_WIDTH = 16384, /* times of a box */
    BOXES_NOISE_CELLS = 32,   /* of a block: the noise is estimated from their means and
                                 variances */
    BOXES_LEAST_TIMES = 512   /* of a series: fewer do not suffice for the noise */
};

struct boxes {
    uint32_t widths;  /* times of the widest box; a power of two */
    double threshold; /* peaks have at least this S/N */
    uint64_t outputs; /* times of the series */
    uint64_t block;   /* times of a block; the last one may have fewer */
};

/* Best box of a cell as a product stores it; all zero: no box reaches the threshold. */
struct peak {
    float snr;
    uint16_t width; /* times of the box */
    uint8_t offset; /* from the cell's first time to the box's first */
    uint8_t above;  /* single times of the cell that reach the threshold */
};

/* Returns the distance between the beginnings of boxes of one width, in times, counted from the
 * series' first: a quarter of the width, 1 at least and PEAK_CELL at most. The best of all widths
 * keeps at least 0.84 of a burst's S/N, the same as boxes that begin at every time would: the
 * largest loss is that of a burst of sqrt(2) widths. */
uint32_t boxes_step(uint32_t width);

/* Returns the S/N that a box of a power of two times must exceed to be refined: 0.84 of the
 * threshold, since moving its edges may gain the rest; where all boxes are one time, 0.999 of it.
 */
float boxes_least(const struct boxes *boxes);

/* Returns the boxes and blocks of a search in a series of `outputs` times: boxes of up to `widths`
 * times, a power of two, and peaks of at least `threshold` in S/N. A block has 4096 times or 16 of
 * the widest boxes, the longer, so that the error of its mean is negligible. */
struct boxes boxes_of(uint32_t widths, double threshold, uint64_t outputs);

/* Returns the number of cells of PEAK_CELL times in a series, rounded up: the last one may have
 * fewer times. */
uint64_t boxes_cells(const struct boxes *boxes);

/* A block. All numbers are times, counted from the series' first. */
struct boxes_block {
    uint64_t first, end, box_end;    /* boxes begin in first .. end - 1, and end before box_end */
    uint64_t noise_first, noise_end; /* its noise is that of noise_first .. noise_end - 1 */
};
/* Returns the block that contains time number `time` of the series, below boxes->outputs. The noise
 * of a short last block begins earlier than the block, so that it has the times of a whole one, or
 * those of the whole series if that is shorter. */
struct boxes_block boxes_block_at(const struct boxes *boxes, uint64_t time);

/* boxes_need_from(): returns the first time that the blocks of times first .. end - 1 need for
 * their boxes and their noise. boxes_need_end(): returns the end of the needed times, one after the
 * last, of blocks up to `end`. All are counted from the series' first. `first` < `end`; both are
 * multiples of a block, or the series' end. */
uint64_t boxes_need_from(const struct boxes *boxes, uint64_t first, uint64_t end);
uint64_t boxes_need_end(const struct boxes *boxes, uint64_t end);

#endif
