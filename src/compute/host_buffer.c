#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>

struct host_buffer {
    struct buffer base;
    void *data;
};

status_t host_buffer_create(uint64_t bytes, const struct backend_ops *ops, buffer_t **out)
{
    status_t st = STATUS_OK;
    struct host_buffer *buffer = NULL;
    TRY(memory_zeroed(1, sizeof *buffer, "a buffer", &buffer));
    buffer->base.ops = ops;
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

void *host_buffer_host(buffer_t *buffer)
{
    return ((struct host_buffer *)buffer)->data;
}
