/* What is asked of an opened backend, its buffers, and rows that stay with it. */
#include "compute/backend_ops.h"

void backend_close(backend_t *backend)
{
    if (backend) {
        backend->ops->close(backend);
    }
}

enum backend_kind backend_which(const backend_t *backend)
{
    return backend->ops->kind;
}

const char *backend_device(const backend_t *backend)
{
    return backend->ops->device ? backend->ops->device(backend) : "";
}

int backend_was_full(backend_t *backend)
{
    return backend->ops->was_full ? backend->ops->was_full(backend) : 0;
}

uint32_t backend_simd(const backend_t *backend)
{
    return backend->ops->simd ? backend->ops->simd() : 0;
}

status_t backend_measure(backend_t *backend, struct backend_rates *out)
{
    return backend->ops->measure(backend, out);
}

status_t buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    status_t st = STATUS_OK;
    TRY(backend->ops->buffer_create(backend, use, bytes, out));
    (*out)->ops = backend->ops;
out:
    return st;
}

void buffer_destroy(buffer_t *buffer)
{
    if (buffer) {
        buffer->ops->buffer_destroy(buffer);
    }
}

status_t buffer_get(buffer_t *buffer, void **out)
{
    return buffer->ops->buffer_get(buffer, out);
}

int buffer_lend(buffer_t *in, const void *data)
{
    return in->ops->buffer_lend ? in->ops->buffer_lend(in, data) : 0;
}

status_t buffer_missing(buffer_t *in, uint64_t *out)
{
    return in->ops->buffer_missing(in, out);
}

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
