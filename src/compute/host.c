/* What backends that compute in plain host memory share: no device, no choice, one set of buffers.
 */
#include "base/memory.h"
#include "compute/backend_ops.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct host_buffer {
    struct buffer base;
    void *data;
    uint64_t missing; /* samples that the last run from it found so */
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

void host_buffer_count(buffer_t *in, uint64_t missing)
{
    ((struct host_buffer *)in)->missing = missing;
}

status_t host_buffer_missing(buffer_t *in, uint64_t *out)
{
    *out = ((struct host_buffer *)in)->missing;
    return STATUS_OK;
}

status_t host_choose(backend_t *backend, const struct channelise_spec *spec,
                     struct channelise_choice *out)
{
    (void)backend;
    (void)spec;
    *out = (struct channelise_choice){.backend = BACKEND_AUTO};
    return STATUS_OK;
}

status_t host_times(channelise_t *channelise, double seconds[CHANNELISE_STEPS])
{
    (void)channelise;
    memset(seconds, 0, CHANNELISE_STEPS * sizeof *seconds);
    return STATUS_OK;
}

static double host_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

status_t host_measure(backend_t *backend, struct backend_rates *out)
{
    status_t st = STATUS_OK;
    enum { BYTES = 256 << 20, TIMES = 5 };
    char *from = NULL;
    char *to = NULL;
    (void)backend;
    *out = (struct backend_rates){0};
    TRY(memory_aligned(BYTES, 1, "a copy", &from));
    TRY(memory_aligned(BYTES, 1, "a copy", &to));
    memset(from, 1, BYTES);
    for (int i = 0; i < TIMES; i++) {
        double started = host_now();
        memcpy(to, from, BYTES);
        double rate = 2.0 * BYTES / (host_now() - started);
        out->copy = rate > out->copy ? rate : out->copy;
    }
out:
    free(from);
    free(to);
    return st;
}
