/* The stage `peaks`, handed on to its backend. */
#include "compute/peaks.h"

#include "compute/backend_ops.h"

status_t peaks_create(backend_t *backend, const struct boxes *boxes, int is_timed, peaks_t **out)
{
    status_t st = STATUS_OK;
    const struct peaks_ops *ops = backend->ops->peaks;
    *out = NULL;
    if (ops) {
        TRY(ops->create(backend, boxes, is_timed, out));
    }
    if (*out) {
        (*out)->ops = ops;
    }
out:
    return st;
}

void peaks_destroy(peaks_t *peaks)
{
    if (peaks) {
        peaks->ops->destroy(peaks);
    }
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

status_t peaks_seconds(peaks_t *peaks, double *out)
{
    return peaks->ops->seconds(peaks, out);
}
