#include "compute/backend.h"

#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>

struct backend {
    const struct backend_ops *ops;
};

size_t channelise_samples(const struct channelise_spec *spec)
{
    return (size_t)spec->channels * (spec->is_complex ? 1 : 2);
}

uint64_t dumps_finished(uint64_t first, uint64_t count, uint64_t integrate)
{
    return (first + count) / integrate - first / integrate;
}

status_t backend_open(enum backend_kind kind, backend_t **out)
{
    status_t st = STATUS_OK;
    backend_t *backend = NULL;
    TRY(memory_zeroed(1, sizeof *backend, "a backend", &backend));
    backend->ops = kind == BACKEND_REFERENCE ? &reference_ops : &cpu_ops;
    *out = backend;
out:
    return st;
}

void backend_close(backend_t *backend)
{
    free(backend);
}

enum backend_kind backend_which(const backend_t *backend)
{
    return backend->ops->kind;
}

status_t buffer_create(backend_t *backend, uint64_t bytes, buffer_t **out)
{
    return backend->ops->buffer_create(bytes, out);
}

void buffer_destroy(buffer_t *buffer)
{
    if (buffer) {
        buffer->ops->buffer_destroy(buffer);
    }
}

void *buffer_host(buffer_t *buffer)
{
    return buffer->ops->buffer_host(buffer);
}

status_t channelise_create(backend_t *backend, const struct channelise_spec *spec,
                           channelise_t **out)
{
    return backend->ops->channelise_create(spec, out);
}

void channelise_destroy(channelise_t *channelise)
{
    if (channelise) {
        channelise->ops->channelise_destroy(channelise);
    }
}

uint64_t channelise_bytes(backend_t *backend, const struct channelise_spec *spec)
{
    return backend->ops->channelise_bytes(spec);
}

void channelise_begin(channelise_t *channelise, uint64_t first_spectrum)
{
    channelise->ops->channelise_begin(channelise, first_spectrum);
}

status_t channelise_run(channelise_t *channelise, buffer_t *in,
                        const struct channelise_input *input, uint32_t nstreams, uint64_t spectra,
                        uint64_t counted, buffer_t *const *out, uint64_t *rows, uint64_t *missing)
{
    return channelise->ops->channelise_run(channelise, in, input, nstreams, spectra, counted, out,
                                           rows, missing);
}
