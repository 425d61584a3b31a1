/* Cells of rows and channels averaged into the pixels of an image. Pure. */
#ifndef VOLTMILL_PLOT_FROM_PIXELS_H
#define VOLTMILL_PLOT_FROM_PIXELS_H

#include "base/status.h"

#include <stdint.h>

#define PIXELS_NONE UINT32_MAX

/* Equal steps along an axis: pixel i is of from + i step .. from + (i + 1) step. */
struct grid {
    double from, step;
    uint32_t count;
};

/* `cells` of one size from `from` on, as many to a pixel as it takes for at most `most` pixels. */
struct grid grid_of_cells(double from, double size, uint64_t cells, uint32_t most);
/* Cells about `centres` [count], in any order and with any gaps, of the size of their least
 * distance (of a single one: `size`); those outside of `limits` are left out, but at least one must
 * be inside. columns [count]: the pixel of each, PIXELS_NONE of those left out. Fails with DEVICE
 * (memory). */
status_t grid_of_centres(const double *centres, uint64_t count, double size, const double limits[2],
                         uint32_t most, struct grid *out, uint32_t *columns);
double grid_end(struct grid grid);
double grid_middle(struct grid grid, uint32_t i);

struct pixels {
    struct grid x, y;
    double *sum;          /* [y.count][x.count] of the numbers that are there */
    uint64_t *count;      /* [y.count][x.count] of them */
    double *least, *most; /* [x.count] of all single numbers of a column; NaN: there is none */
};

/* pixels_free() in any case. Fails with DEVICE (memory). */
status_t pixels_create(struct grid x, struct grid y, struct pixels *out);
void pixels_free(struct pixels *pixels);

/* Adds part of a row to pixel row j; columns [count]: where each number goes. */
void pixels_add(struct pixels *pixels, uint32_t j, const uint32_t *columns, const float *values,
                uint64_t count);

/* The mean of a pixel, of a column, of a row; NaN where there is no number. */
double pixels_mean(const struct pixels *pixels, uint32_t i, uint32_t j);
double pixels_column_mean(const struct pixels *pixels, uint32_t i);
double pixels_row_mean(const struct pixels *pixels, uint32_t j);
/* Whether some number is below 0. */
int pixels_are_negative(const struct pixels *pixels);
/* The median of a column's pixels. `scratch`: [y.count]. */
double pixels_column_median(const struct pixels *pixels, uint32_t i, double *scratch);

#endif
