#include "compute/resident_rows.h"

#include "compute/backend_ops.h"

status_t shelf_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows, shelf_t **out)
{
    *out = NULL;
    return backend->ops->shelf_create
               ? backend->ops->shelf_create(backend, row_bytes, piece_rows, out)
               : STATUS_OK;
}

void shelf_destroy(shelf_t *shelf)
{
    if (shelf) {
        shelf->ops->shelf_destroy(shelf);
    }
}

status_t shelf_keep(shelf_t *shelf, buffer_t *out, uint64_t first_row, uint64_t rows)
{
    return shelf->ops->shelf_keep(shelf, out, first_row, rows);
}

int shelf_clear(shelf_t *shelf)
{
    return shelf->ops->shelf_clear(shelf);
}

int shelf_holds(const shelf_t *shelf, const struct shelf_sums *sums, uint64_t first, uint64_t count)
{
    return shelf->ops->shelf_holds(shelf, sums, first, count);
}

status_t shelf_fetch(shelf_t *shelf, const struct shelf_sums *sums, uint64_t first, uint64_t count,
                     buffer_t *in, uint64_t at)
{
    return shelf->ops->shelf_fetch(shelf, sums, first, count, in, at);
}

status_t shelf_blank(shelf_t *shelf, buffer_t *in, uint64_t at, uint64_t bytes)
{
    return shelf->ops->shelf_blank(shelf, in, at, bytes);
}
