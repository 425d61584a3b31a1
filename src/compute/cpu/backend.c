/* The CPU as a backend: plain memory, and pools of threads. */
#include "base/memory.h"
#include "compute/cpu/cpu.h"
#include "compute/cpu/dedisperse/dedisperse.h"
#include "compute/cpu/ppf/kernels.h"

#include <stdlib.h>

/* Samples and rows of a block: the three of them stay in a last-level cache, so that what is read
 * is still there when it is worked on. */
enum { BLOCK_BYTES = 4 << 20 };

struct cpu_pools {
    pool_t *pool;
    struct cpu_pools *next;
};

static status_t backend_open_cpu(const struct backend_options *options, backend_t **out)
{
    status_t st = STATUS_OK;
    struct cpu_backend *backend = NULL;
    (void)options;
    TRY(simd_check());
    TRY(memory_zeroed(1, sizeof *backend, "a backend", &backend));
    backend->base.ops = &cpu_ops;
    *out = &backend->base;
out:
    return st;
}

static void backend_close_cpu(backend_t *base)
{
    struct cpu_backend *backend = (struct cpu_backend *)base;
    while (backend->pools) {
        struct cpu_pools *first = backend->pools;
        backend->pools = first->next;
        pool_destroy(first->pool);
        free(first);
    }
    free(backend);
}

status_t cpu_pool(struct cpu_backend *backend, uint32_t threads, pool_t **out)
{
    status_t st = STATUS_OK;
    struct cpu_pools *found = backend->pools;
    struct cpu_pools *made = NULL;
    while (found && pool_threads(found->pool) != threads) {
        found = found->next;
    }
    if (!found) {
        TRY(memory_zeroed(1, sizeof *made, "threads", &made));
        TRY(pool_create(threads, &made->pool));
        made->next = backend->pools;
        found = backend->pools = made;
        made = NULL;
    }
    *out = found->pool;
out:
    free(made);
    return st;
}

static uint32_t ability(void)
{
    return (uint32_t)simd_best() + 1;
}

static status_t backend_create_buffer(backend_t *backend, enum buffer_use use, uint64_t bytes,
                                      buffer_t **out)
{
    status_t st = STATUS_OK;
    struct cpu_buffer *buffer = NULL;
    (void)backend;
    (void)use;
    TRY(memory_zeroed(1, sizeof *buffer, "a buffer", &buffer));
    buffer->base.ops = &cpu_ops;
    REQUIRE(bytes <= SIZE_MAX, STATUS_DEVICE, "out of memory: a buffer of %llu bytes",
            (unsigned long long)bytes);
    TRY(memory_aligned((size_t)bytes, 1, "a buffer", &buffer->own));
    buffer->data = buffer->own;
    *out = &buffer->base;
    buffer = NULL;
out:
    free(buffer);
    return st;
}

static void backend_wait_for(const struct cpu_buffer *buffer)
{
    if (buffer->pool) {
        pool_wait(buffer->pool, buffer->block);
    }
}

void cpu_buffer_mark(buffer_t *base, pool_t *pool, uint64_t block)
{
    struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    buffer->pool = pool;
    buffer->block = block;
}

static void backend_destroy_buffer(buffer_t *base)
{
    struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    backend_wait_for(buffer);
    free(buffer->own);
    free(buffer);
}

static status_t backend_get_buffer(buffer_t *base, void **out)
{
    struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    backend_wait_for(buffer);
    *out = buffer->data;
    return STATUS_OK;
}

static int backend_lend(buffer_t *base, const void *data)
{
    struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    buffer->data = data ? (void *)(uintptr_t)data : buffer->own;
    return 1;
}

static status_t backend_count_missing(buffer_t *base, uint64_t *out)
{
    const struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    backend_wait_for(buffer);
    *out = buffer->missing;
    return STATUS_OK;
}

const struct backend_ops cpu_ops = {.kind = BACKEND_CPU,
                                    .slots = 4, /* one is read, one worked on while the one before
                                                   ends, one written */
                                    .block_bytes = BLOCK_BYTES,
                                    .open = backend_open_cpu,
                                    .close = backend_close_cpu,
                                    .ability = ability,
                                    .device = host_device,
                                    .was_full = host_was_full,
                                    .buffer_create = backend_create_buffer,
                                    .buffer_destroy = backend_destroy_buffer,
                                    .buffer_get = backend_get_buffer,
                                    .buffer_lend = backend_lend,
                                    .buffer_missing = backend_count_missing,
                                    .channelise_choose = cpu_channelise_choose,
                                    .channelise_candidates = cpu_channelise_candidates,
                                    .channelise_identity = cpu_identity,
                                    .channelise_words = cpu_channelise_words,
                                    .channelise_simd = cpu_channelise_simd,
                                    .channelise_create = cpu_channelise_create,
                                    .channelise_destroy = cpu_channelise_destroy,
                                    .channelise_bytes = cpu_channelise_bytes,
                                    .channelise_begin = cpu_channelise_begin,
                                    .channelise_run = cpu_channelise_run,
                                    .channelise_times = host_times,
                                    .measure = host_measure,
                                    .dedisperse_create = cpu_dedisperse_create,
                                    .dedisperse_destroy = cpu_dedisperse_destroy,
                                    .dedisperse_bytes = cpu_dedisperse_bytes,
                                    .dedisperse_run = cpu_dedisperse_run,
                                    .dedisperse_words = cpu_dedisperse_words,
                                    .dedisperse_identity = cpu_identity,
                                    .dedisperse_fits = cpu_dedisperse_fits,
                                    .dedisperse_candidates = cpu_dedisperse_candidates};
