/* Grids of pixels over axes, even or not, and what falls into each. */
#include "plot/from/pixels.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

struct grid grid_of_cells(double from, double size, uint64_t cells, uint32_t most)
{
    uint64_t group = ceil_div_u64(max_u64(cells, 1), most);
    return (struct grid){from, size * (double)group,
                         (uint32_t)ceil_div_u64(max_u64(cells, 1), group)};
}

double grid_end(struct grid grid)
{
    return grid.from + grid.count * grid.step;
}

double grid_middle(struct grid grid, uint32_t i)
{
    return grid.from + (i + 0.5) * grid.step;
}

static int grid_compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The least distance of neighbours that is more than rounding. */
static double grid_least_step(const double *sorted, uint64_t count, double size)
{
    double least = INFINITY;
    double rounding = 1e-12 * fmax(fabs(sorted[0]), fabs(sorted[count - 1]));
    for (uint64_t i = 1; i < count; i++) {
        double step = sorted[i] - sorted[i - 1];
        least = step > rounding && step < least ? step : least;
    }
    return isfinite(least) ? least : size > 0 ? size : 1;
}

status_t grid_of_centres(const double *centres, uint64_t count, double size, const double limits[2],
                         uint32_t most, struct grid *out, uint32_t *columns)
{
    status_t st = STATUS_OK;
    double *kept = NULL;
    uint64_t nkept = 0;
    TRY(memory_zeroed((size_t)count, sizeof *kept, "frequencies", &kept));
    for (uint64_t i = 0; i < count; i++) {
        if (centres[i] >= limits[0] && centres[i] <= limits[1]) {
            kept[nkept++] = centres[i];
        }
    }
    qsort(kept, (size_t)nkept, sizeof *kept, grid_compare);
    double step = grid_least_step(kept, nkept, size);
    double cells = (kept[nkept - 1] - kept[0]) / step;
    uint64_t whole = cells < 1e15 ? (uint64_t)llrint(cells) + 1 : UINT64_C(1000000000000000);
    *out = grid_of_cells(kept[0] - step / 2, step, whole, most);
    for (uint64_t i = 0; i < count; i++) {
        double at = (centres[i] - out->from) / out->step;
        int is_in = centres[i] >= kept[0] && centres[i] <= kept[nkept - 1];
        columns[i] = is_in ? (uint32_t)fmin(fmax(at, 0), out->count - 1) : PIXELS_NONE;
    }
out:
    free(kept);
    return st;
}

status_t pixels_create(struct grid x, struct grid y, struct pixels *out)
{
    status_t st = STATUS_OK;
    size_t all = (size_t)x.count * y.count;
    *out = (struct pixels){.x = x, .y = y};
    TRY(memory_zeroed(all, sizeof *out->sum, "an image", &out->sum));
    TRY(memory_zeroed(all, sizeof *out->count, "an image", &out->count));
    TRY(memory_zeroed(x.count, sizeof *out->least, "an image", &out->least));
    TRY(memory_zeroed(x.count, sizeof *out->most, "an image", &out->most));
    for (uint32_t i = 0; i < x.count; i++) {
        out->least[i] = out->most[i] = NAN;
    }
out:
    return st;
}

void pixels_free(struct pixels *pixels)
{
    free(pixels->sum);
    free(pixels->count);
    free(pixels->least);
    free(pixels->most);
    *pixels = (struct pixels){.sum = NULL};
}

void pixels_add(struct pixels *pixels, uint32_t j, const uint32_t *columns, const float *values,
                uint64_t count)
{
    double *sum = pixels->sum + (size_t)j * pixels->x.count;
    uint64_t *counts = pixels->count + (size_t)j * pixels->x.count;
    for (uint64_t c = 0; c < count; c++) {
        double value = (double)values[c];
        uint32_t i = columns[c];
        if (i != PIXELS_NONE && isfinite(value)) {
            sum[i] += value;
            counts[i]++;
            pixels->least[i] = fmin(pixels->least[i], value); /* NaN counts for nothing */
            pixels->most[i] = fmax(pixels->most[i], value);
        }
    }
}

double pixels_mean(const struct pixels *pixels, uint32_t i, uint32_t j)
{
    size_t at = (size_t)j * pixels->x.count + i;
    return pixels->count[at] ? pixels->sum[at] / (double)pixels->count[at] : NAN;
}

double pixels_column_mean(const struct pixels *pixels, uint32_t i)
{
    double sum = 0;
    double count = 0;
    for (uint32_t j = 0; j < pixels->y.count; j++) {
        sum += pixels->sum[(size_t)j * pixels->x.count + i];
        count += (double)pixels->count[(size_t)j * pixels->x.count + i];
    }
    return count > 0 ? sum / count : NAN;
}

double pixels_row_mean(const struct pixels *pixels, uint32_t j)
{
    double sum = 0;
    double count = 0;
    for (uint32_t i = 0; i < pixels->x.count; i++) {
        sum += pixels->sum[(size_t)j * pixels->x.count + i];
        count += (double)pixels->count[(size_t)j * pixels->x.count + i];
    }
    return count > 0 ? sum / count : NAN;
}

int pixels_are_negative(const struct pixels *pixels)
{
    for (uint32_t i = 0; i < pixels->x.count; i++) {
        if (pixels->least[i] < 0) {
            return 1;
        }
    }
    return 0;
}

double pixels_column_median(const struct pixels *pixels, uint32_t i, double *scratch)
{
    size_t count = 0;
    for (uint32_t j = 0; j < pixels->y.count; j++) {
        double mean = pixels_mean(pixels, i, j);
        if (!isnan(mean)) {
            scratch[count++] = mean;
        }
    }
    qsort(scratch, count, sizeof *scratch, grid_compare);
    return count ? (scratch[(count - 1) / 2] + scratch[count / 2]) / 2 : NAN;
}
