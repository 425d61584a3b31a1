/* The medians that a product stores, found again of its rows. */
#include "verify/verify_parts.h"

#include "base/memory.h"
#include "io/file.h"
#include "product/medians.h"

#include <math.h>
#include <stdlib.h>

enum { PIECE_BYTES = 16 << 20 };

/* Columns from .. from + columns - 1 of all rows. */
static status_t bandpass_find(const struct verify *verify, uint64_t from, uint64_t columns,
                              medians_t *medians, float *piece, float *out)
{
    status_t st = STATUS_OK;
    uint64_t rows = max_u64(PIECE_BYTES / (columns * sizeof *piece), 1);
    for (int pass = 0; pass < MEDIANS_PASSES; pass++) {
        medians_begin(medians, pass, columns);
        for (uint64_t first = 0; first < verify->product->rows; first += rows) {
            uint64_t count = min_u64(rows, verify->product->rows - first);
            TRY(rows_read(verify->rows, first, count, from * sizeof *piece, columns * sizeof *piece,
                          piece));
            medians_add(medians, piece, count, columns);
        }
    }
    medians_get(medians, out);
out:
    return st;
}

status_t verify_bandpass(const struct verify *verify)
{
    status_t st = STATUS_OK;
    const struct product *product = verify->product;
    uint64_t all = product->place.row_bytes / sizeof(float);
    medians_t *medians = NULL;
    float *piece = NULL;
    float *found = NULL;
    float *stored = NULL;
    uint64_t most = min_u64(all, MEDIANS_COLUMNS);
    if (product->place.bandpass_offset == 0) {
        return STATUS_OK;
    }
    TRY(medians_create(most, 1, &medians));
    TRY(memory_zeroed((size_t)max_u64(PIECE_BYTES / sizeof *piece, most), sizeof *piece, "rows",
                      &piece));
    TRY(memory_zeroed((size_t)most, sizeof *found, "medians", &found));
    TRY(memory_zeroed((size_t)most, sizeof *stored, "medians", &stored));
    for (uint64_t from = 0; from < all; from += most) {
        uint64_t columns = min_u64(most, all - from);
        TRY(bandpass_find(verify, from, columns, medians, piece, found));
        TRY(file_read(verify->fd, product->path,
                      product->place.bandpass_offset + from * sizeof *stored, stored,
                      columns * sizeof *stored));
        for (uint64_t i = 0; i < columns; i++) {
            REQUIRE(stored[i] == found[i] || (isnan(stored[i]) && isnan(found[i])), STATUS_DATA,
                    "%s: /bandpass of channel %llu of pol %llu is %.9g, but the median of its rows "
                    "is %.9g",
                    product->path, (unsigned long long)((from + i) % product->frequencies),
                    (unsigned long long)((from + i) / product->frequencies), (double)stored[i],
                    (double)found[i]);
        }
    }
out:
    medians_destroy(medians);
    free(piece);
    free(found);
    free(stored);
    return st;
}
