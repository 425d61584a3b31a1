/* Parts that backends in plain host memory share: buffers, and the rate of that memory. */
#include "base/clock.h"
#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>
#include <string.h>

status_t host_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    SCOPED(free_at) struct host_buffer *buffer = NULL;
    (void)use;
    TRY(memory_zeroed(1, backend->ops->buffers->size, "a buffer", &buffer));
    REQUIRE(bytes <= SIZE_MAX, STATUS_DEVICE, "out of memory: a buffer of %llu bytes",
            (unsigned long long)bytes);
    TRY(memory_aligned((size_t)bytes, 1, "a buffer", &buffer->own));
    buffer->data = buffer->own;
    *out = &buffer->base;
    buffer = NULL;
    return STATUS_OK;
}

void host_buffer_destroy(buffer_t *buffer)
{
    free(((struct host_buffer *)buffer)->own);
    free(buffer);
}

status_t host_buffer_get(buffer_t *buffer, void **out)
{
    *out = host_data(buffer);
    return STATUS_OK;
}

status_t host_buffer_missing(buffer_t *in, uint64_t *out)
{
    *out = ((const struct host_buffer *)in)->missing;
    return STATUS_OK;
}

status_t host_measure(backend_t *backend, struct backend_rates *out)
{
    /* More than most caches hold; new pages take longer than all copies. */
    enum { BYTES = 128 << 20, TIMES = 5 };
    SCOPED(free_at) char *from = NULL;
    SCOPED(free_at) char *to = NULL;
    (void)backend;
    *out = (struct backend_rates){0};
    TRY(memory_aligned(BYTES, 1, "a copy", &from));
    TRY(memory_aligned(BYTES, 1, "a copy", &to));
    memset(from, 1, BYTES);
    for (int i = 0; i < TIMES; i++) {
        double started = clock_now();
        memcpy(to, from, BYTES);
        double rate = 2.0 * BYTES / (clock_now() - started);
        out->copy = rate > out->copy ? rate : out->copy;
    }
    return STATUS_OK;
}
