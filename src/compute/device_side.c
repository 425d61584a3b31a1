/* Ingests, searches for peaks and resident rows, handed on to backends that have a device. */
#include "compute/device_side.h"

#include "compute/backend_ops.h"

uint64_t ingest_least_bytes(uint32_t threads)
{
    enum { PIECES = 2 /* of each */ };
    return (uint64_t)threads * PIECES * INGEST_PIECE;
}

uint64_t ingest_bytes(uint32_t threads)
{
    return (uint64_t)threads * INGEST_EACH * INGEST_PIECE;
}

status_t ingest_create(backend_t *backend, uint32_t threads, ingest_t **out)
{
    const struct ingest_ops *ops = backend->ops->ingest;
    *out = NULL;
    return ops ? ops->create(backend, threads, out) : STATUS_OK;
}

status_t ingest_buffer(ingest_t *ingest, uint64_t bytes, buffer_t **out)
{
    TRY(ingest->ops->buffer(ingest, bytes, out));
    (*out)->ops = ingest->backend;
    return STATUS_OK;
}

status_t ingest_begin(ingest_t *ingest, buffer_t *in)
{
    return ingest->ops->begin(ingest, in);
}

status_t ingest_room(ingest_t *ingest, uint32_t thread, void **out)
{
    return ingest->ops->room(ingest, thread, out);
}

void ingest_put(ingest_t *ingest, uint32_t thread, buffer_t *in, uint64_t at, uint64_t bytes)
{
    ingest->ops->put(ingest, thread, in, at, bytes);
}

status_t ingest_carry(ingest_t *ingest)
{
    return ingest->ops->carry(ingest);
}

status_t ingest_end(ingest_t *ingest, buffer_t *in, int is_whole)
{
    return ingest->ops->end(ingest, in, is_whole);
}

void ingest_stop(ingest_t *ingest)
{
    if (ingest) {
        ingest->ops->stop(ingest);
    }
}

/* The stage `peaks`, handed on to its backend. */

status_t peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed, peaks_t **out)
{
    const struct peaks_ops *ops = backend->ops->peaks;
    *out = NULL;
    return ops ? ops->create(backend, boxes, is_timed, out) : STATUS_OK;
}

status_t peaks_reserve(peaks_t *peaks, uint64_t nseries, uint64_t times)
{
    return peaks->ops->reserve(peaks, nseries, times);
}

status_t peaks_run(peaks_t *peaks, buffer_t *rows, const struct peaks_rows *of, uint64_t first,
                   uint64_t end, buffer_t *out)
{
    return peaks->ops->run(peaks, rows, of, first, end, out);
}

/* Rows that stay on a device from one pass to the next. */

status_t resident_rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                              resident_rows_t **out)
{
    const struct resident_rows_ops *ops = backend->ops->resident_rows;
    *out = NULL;
    return ops ? ops->create(backend, row_bytes, piece_rows, out) : STATUS_OK;
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
