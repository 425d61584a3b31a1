/* Rows that stay with their backend, handed on to it. */
#include "compute/backend_ops.h"

status_t resident_rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                              resident_rows_t **out)
{
    status_t st = STATUS_OK;
    const struct resident_rows_ops *ops = backend->ops->resident_rows;
    *out = NULL;
    if (ops) {
        TRY(ops->create(backend, row_bytes, piece_rows, out));
        (*out)->ops = ops;
    }
out:
    return st;
}

void resident_rows_destroy(resident_rows_t *rows)
{
    if (rows) {
        rows->ops->destroy(rows);
    }
}

status_t resident_rows_keep(resident_rows_t *rows, buffer_t *out, uint64_t first_row,
                            uint64_t count)
{
    return rows->ops->keep(rows, out, first_row, count);
}

int resident_rows_clear(resident_rows_t *rows)
{
    return rows->ops->clear(rows);
}

int resident_rows_holds(const resident_rows_t *rows, const struct resident_rows_sums *sums,
                        uint64_t first, uint64_t count)
{
    return rows->ops->holds(rows, sums, first, count);
}

status_t resident_rows_fetch(resident_rows_t *rows, const struct resident_rows_sums *sums,
                             uint64_t first, uint64_t count, buffer_t *in, uint64_t at)
{
    return rows->ops->fetch(rows, sums, first, count, in, at);
}

status_t resident_rows_blank(resident_rows_t *rows, buffer_t *in, uint64_t at, uint64_t bytes)
{
    return rows->ops->blank(rows, in, at, bytes);
}
