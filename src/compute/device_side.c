/* Ingests, searches for peaks and resident rows, made by backends that have a device. */
#include "compute/device_side.h"

#include "compute/backend_ops.h"

status_t ingest_create(backend_t *backend, uint32_t threads, ingest_t **out)
{
    const struct ingest_ops *ops = backend->ops->ingest;
    *out = NULL;
    return ops ? ops->create(backend, threads, out) : STATUS_OK;
}

status_t peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed, peaks_t **out)
{
    const struct peaks_ops *ops = backend->ops->peaks;
    *out = NULL;
    return ops ? ops->create(backend, boxes, is_timed, out) : STATUS_OK;
}

status_t resident_rows_create(backend_t *backend, uint64_t row_bytes, uint64_t piece_rows,
                              resident_rows_t **out)
{
    const struct resident_rows_ops *ops = backend->ops->resident_rows;
    *out = NULL;
    return ops ? ops->create(backend, row_bytes, piece_rows, out) : STATUS_OK;
}
