/* Operations on an opened backend, its buffers, and rows that stay with it. */
#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>
#include <string.h>

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

status_t backend_identity(const backend_t *backend, struct text *out)
{
    return backend->ops->identity ? backend->ops->identity(backend, out)
                                  : text_add(out, "%s", backend_name(backend->ops->kind));
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

status_t backend_measure_fma(backend_t *backend, uint32_t threads, double *out)
{
    *out = 0;
    return backend->ops->measure_fma ? backend->ops->measure_fma(backend, threads, out) : STATUS_OK;
}

status_t buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    TRY(backend->ops->buffers->create(backend, use, bytes, out));
    (*out)->ops = backend->ops->buffers;
    return STATUS_OK;
}

void buffer_destroy(buffer_t *buffer)
{
    if (buffer) {
        buffer->ops->destroy(buffer);
    }
}

status_t buffer_get(buffer_t *buffer, void **out)
{
    return buffer->ops->get(buffer, out);
}

int buffer_lend(buffer_t *in, const void *data)
{
    return in->ops->lend ? in->ops->lend(in, data) : 0;
}

status_t buffer_missing(buffer_t *in, uint64_t *out)
{
    return in->ops->missing(in, out);
}

/* The table that an object begins with begins with that of its stage. */
static const struct stage_ops *stage_ops_of(const void *stage)
{
    const struct stage_ops *ops;
    memcpy(&ops, stage, sizeof ops);
    return ops;
}

status_t stage_create(backend_t *backend, const void *table, const void *spec, size_t size,
                      const char *what, void *out)
{
    const struct stage_ops *ops = table;
    SCOPED(stage_destroy_at) char *made = NULL;
    TRY(memory_zeroed(1, ops->size, what, &made));
    memcpy(made, &table, sizeof table);
    memcpy(made + sizeof table, spec, size);
    TRY(ops->create ? ops->create(backend, made) : STATUS_OK);
    memcpy(out, &made, sizeof made);
    made = NULL;
    return STATUS_OK;
}

void stage_destroy(void *stage)
{
    if (stage && stage_ops_of(stage)->destroy) {
        stage_ops_of(stage)->destroy(stage);
    }
    free(stage);
}

status_t stage_times(void *stage, double seconds[DEVICE_STEPS])
{
    const struct stage_ops *ops = stage_ops_of(stage);
    memset(seconds, 0, DEVICE_STEPS * sizeof *seconds);
    return ops->times ? ops->times(stage, seconds) : STATUS_OK;
}

status_t stage_run(void *stage, buffer_t *in, const struct sample_input *input,
                   const struct stage_run *run, buffer_t *out)
{
    return stage_ops_of(stage)->run(stage, in, input, run, out);
}
