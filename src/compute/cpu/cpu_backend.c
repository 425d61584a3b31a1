/* The CPU backend: its table of operations, and its buffers: plain memory that blocks of a pool
 * work on. */
#include "compute/cpu/cpu.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static status_t cpu_open(const struct backend_options *options, backend_t **out)
{
    struct cpu_backend *backend = NULL;
    (void)options;
    TRY(simd_check());
    TRY(memory_zeroed(1, sizeof *backend, "a backend", &backend));
    *out = &backend->base;
    return STATUS_OK;
}

static void cpu_close(backend_t *base)
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

static void cpu_buffer_wait(const struct cpu_buffer *buffer)
{
    cpu_settle(buffer->pool, buffer->block);
}

static void cpu_buffer_destroy(buffer_t *buffer)
{
    cpu_buffer_wait((struct cpu_buffer *)buffer);
    host_buffer_destroy(buffer);
}

static status_t cpu_buffer_get(buffer_t *base, void **out)
{
    cpu_buffer_wait((struct cpu_buffer *)base);
    return host_buffer_get(base, out);
}

static int cpu_buffer_lend(buffer_t *base, const void *data)
{
    struct host_buffer *buffer = (struct host_buffer *)base;
    buffer->data = data ? (void *)(uintptr_t)data : buffer->own;
    return 1;
}

static status_t cpu_buffer_missing(buffer_t *base, uint64_t *out)
{
    cpu_buffer_wait((struct cpu_buffer *)base);
    return host_buffer_missing(base, out);
}

/* Appends what the speed of a configuration depends on: processor, instruction set, version. Fails
 * with DEVICE (memory). */
static status_t cpu_identity(const backend_t *backend, struct text *out)
{
    char line[256];
    (void)backend;
    cpu_processor(line, sizeof line);
    const char *name = line + strcspn(line, ":");
    name += strspn(name, ": \t");
    return text_add(out, "%.*s, %s, voltmill " VOLTMILL_VERSION, (int)strcspn(name, "\t\n"), name,
                    simd_kernels(simd_best())->name);
}

static uint32_t backend_best_simd(void)
{
    return cpu_simd(0);
}

/* Samples and rows of a block for one or two threads: the three of them stay in a last-level
 * cache, so that what is read is still there when it is worked on. */
enum { BLOCK_BYTES = 4 << 20 };

const struct backend_ops cpu_ops = {
    .kind = BACKEND_CPU,
    .abilities = {.uses_threads = 1,
                  .slots =
                      4, /* one is read, one worked on while the one before ends, one written */
                  .block_bytes = BLOCK_BYTES},
    .channelise = &cpu_channelise,
    .dedisperse = &cpu_dedisperse,
    .synthesise = &cpu_synthesise,
    .correlate = &cpu_correlate,
    .fft_baseline = &cpu_fft_baseline,
    .open = cpu_open,
    .close = cpu_close,
    .simd = backend_best_simd,
    .identity = cpu_identity,
    .buffer_size = sizeof(struct cpu_buffer),
    .buffer_create = host_buffer_create,
    .buffer_destroy = cpu_buffer_destroy,
    .buffer_get = cpu_buffer_get,
    .buffer_lend = cpu_buffer_lend,
    .buffer_missing = cpu_buffer_missing,
    .measure = host_measure,
    .measure_fma = cpu_measure_fma};
