#include "verify/verify_marks.h"

#include "base/memory.h"
#include "io/file.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Numbers of a row, or stamps, that are read at once. */
enum { PIECE = 8192 };

status_t verify_times(int fd, const struct product *product, uint64_t count, struct time_axis axis)
{
    status_t st = STATUS_OK;
    double found[PIECE];
    for (uint64_t at = 0; at < count; at += PIECE) {
        uint64_t some = min_u64(PIECE, count - at);
        TRY(file_read(fd, product->path, product->place.time_offset + 8 * at, found, 8 * some));
        for (uint64_t i = 0; i < some; i++) {
            double expected = axis.first + (double)(at + i) * axis.step;
            REQUIRE(fabs(found[i] - expected) <= 4 * DBL_EPSILON * fabs(expected), STATUS_DATA,
                    "%s is not what its job and input make of it: /time[%llu] is %.17g, expected "
                    "%.17g",
                    product->path, (unsigned long long)(at + i), found[i], expected);
        }
    }
out:
    return st;
}

/* Looks for NaN in a row from number `from` on, and then before it. *at: PIECE-wise the first, or
 * the number of numbers when there is none. */
static status_t marks_find_nan(int fd, const struct product *product, uint64_t row, uint64_t from,
                               uint64_t *at)
{
    status_t st = STATUS_OK;
    float numbers[PIECE];
    uint64_t count = product->place.row_bytes / sizeof *numbers;
    uint64_t offset = product->place.data_offset + row * product->place.row_bytes;
    uint64_t pieces = ceil_div_u64(count, PIECE);
    for (uint64_t i = 0; i < pieces; i++) {
        uint64_t first = (from / PIECE + i) % pieces * PIECE;
        uint64_t some = min_u64(PIECE, count - first);
        TRY(file_read(fd, product->path, offset + first * sizeof *numbers, numbers,
                      some * sizeof *numbers));
        for (uint64_t j = 0; j < some; j++) {
            if (isnan(numbers[j])) {
                *at = first + j;
                goto out;
            }
        }
    }
    *at = count;
out:
    return st;
}

/* Neighbours are NaN at about the same place. */
static status_t check_mark(int fd, const struct product *product, uint64_t row, uint64_t *at)
{
    status_t st = STATUS_OK;
    TRY(marks_find_nan(fd, product, row, *at, at));
    REQUIRE(*at < product->place.row_bytes / sizeof(float), STATUS_DATA,
            "%s: row %llu is marked in /provenance/holes, but holds numbers alone", product->path,
            (unsigned long long)row);
out:
    return st;
}

status_t verify_marks(int fd, const struct product *product, uint64_t most,
                      struct verify_mark **out, uint64_t *count)
{
    status_t st = STATUS_OK;
    const struct product_place *place = &product->place;
    char flags[PIECE];
    struct verify_mark *marks = NULL;
    uint64_t holes = 0;
    uint64_t seen = 0;
    uint64_t kept = 0;
    uint64_t at = 0;
    if (place->holes_offset > 0) {
        TRY(product_count_holes(fd, product->path, place, &holes));
    }
    TRY(memory_zeroed((size_t)most + 1, sizeof *marks, "marks", &marks));
    uint64_t stride = max_u64(ceil_div_u64(holes, max_u64(most, 1)), 1);
    for (uint64_t row = 0; row < place->rows && seen < holes; row++) {
        if (row % PIECE == 0) {
            TRY(file_read(fd, product->path, place->holes_offset + row, flags,
                          min_u64(PIECE, place->rows - row)));
        }
        if (!flags[row % PIECE]) {
            continue;
        }
        TRY(check_mark(fd, product, row, &at));
        if (seen++ % stride == 0 && kept < most) {
            marks[kept++] = (struct verify_mark){row, at};
        }
    }
    *out = marks;
    *count = kept;
    marks = NULL;
out:
    free(marks);
    return st;
}
