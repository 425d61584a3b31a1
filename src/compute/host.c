/* What backends that compute in plain host memory share: no device, no choice, one set of buffers.
 */
#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>

struct host_buffer {
    struct buffer base;
    void *data;
};

status_t host_open(const struct backend_ops *ops, backend_t **out)
{
    status_t st = STATUS_OK;
    backend_t *backend = NULL;
    TRY(memory_zeroed(1, sizeof *backend, "a backend", &backend));
    backend->ops = ops;
    *out = backend;
out:
    return st;
}

void host_close(backend_t *backend)
{
    free(backend);
}

const char *host_device(const backend_t *backend)
{
    (void)backend;
    return "";
}

int host_was_full(backend_t *backend)
{
    (void)backend;
    return 0;
}

status_t host_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    status_t st = STATUS_OK;
    struct host_buffer *buffer = NULL;
    (void)use;
    TRY(memory_zeroed(1, sizeof *buffer, "a buffer", &buffer));
    buffer->base.ops = backend->ops;
    REQUIRE(bytes <= SIZE_MAX, STATUS_DEVICE, "out of memory: a buffer of %llu bytes",
            (unsigned long long)bytes);
    TRY(memory_aligned((size_t)bytes, 1, "a buffer", &buffer->data));
    *out = &buffer->base;
    buffer = NULL;
out:
    free(buffer);
    return st;
}

void host_buffer_destroy(buffer_t *buffer)
{
    struct host_buffer *host = (struct host_buffer *)buffer;
    free(host->data);
    free(host);
}

status_t host_buffer_get(buffer_t *buffer, void **out)
{
    *out = ((struct host_buffer *)buffer)->data;
    return STATUS_OK;
}

status_t host_choose(backend_t *backend, const struct channelise_spec *spec,
                     struct channelise_choice *out)
{
    (void)backend;
    (void)spec;
    *out = (struct channelise_choice){.kernel = KERNEL_AUTO};
    return STATUS_OK;
}
