#include "compute/resident_rows.h"

#include "compute/backend_ops.h"

status_t resident_rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                              resident_rows_t **out)
{
    *out = NULL;
    return backend->ops->resident_rows_create
               ? backend->ops->resident_rows_create(backend, row_bytes, piece_rows, out)
               : STATUS_OK;
}

void resident_rows_destroy(resident_rows_t *shelf)
{
    if (shelf) {
        shelf->ops->resident_rows_destroy(shelf);
    }
}

status_t resident_rows_keep(resident_rows_t *shelf, buffer_t *out, uint64_t first_row,
                            uint64_t rows)
{
    return shelf->ops->resident_rows_keep(shelf, out, first_row, rows);
}

int resident_rows_clear(resident_rows_t *shelf)
{
    return shelf->ops->resident_rows_clear(shelf);
}

int resident_rows_holds(const resident_rows_t *shelf, const struct resident_rows_sums *sums,
                        uint64_t first, uint64_t count)
{
    return shelf->ops->resident_rows_holds(shelf, sums, first, count);
}

status_t resident_rows_fetch(resident_rows_t *shelf, const struct resident_rows_sums *sums,
                             uint64_t first, uint64_t count, buffer_t *in, uint64_t at)
{
    return shelf->ops->resident_rows_fetch(shelf, sums, first, count, in, at);
}

status_t resident_rows_blank(resident_rows_t *shelf, buffer_t *in, uint64_t at, uint64_t bytes)
{
    return shelf->ops->resident_rows_blank(shelf, in, at, bytes);
}
