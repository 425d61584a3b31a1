/* The CPU backend: its table of operations, and its buffers: plain memory that blocks of a pool
 * work on. */
#include "compute/cpu/cpu.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/cpu/arrays/beam_kernels.h"

#include <math.h>
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

static const struct buffer_ops cpu_buffers = {sizeof(struct cpu_buffer), host_buffer_create,
                                              cpu_buffer_destroy,        cpu_buffer_get,
                                              cpu_buffer_missing,        cpu_buffer_lend};

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

enum { FMA_ROUNDS = 1 << 20 };

/* Sums of threads, so that no compiler leaves them out. */
struct fma_rate {
    const struct beam_kernels *kernels;
    float sum;
};

static void backend_multiply_add(void *context, uint32_t thread, uint64_t task)
{
    struct fma_rate *rate = context;
    float sum = rate->kernels->multiply_add(FMA_ROUNDS);
    (void)thread;
    (void)task;
    __atomic_store(&rate->sum, &sum, __ATOMIC_RELAXED);
}

/* Expects *out to be 0, and does not fail. */
static status_t backend_measure_cores(backend_t *backend, uint32_t threads, double *out)
{
    enum { TIMES = 5 };
    struct fma_rate rate = {.kernels = beam_kernels(simd_best())};
    (void)backend;
    for (int i = 0; i < TIMES; i++) {
        const double started = clock_now();
        pool_each(threads, threads, backend_multiply_add, &rate);
        const double seconds = clock_now() - started;
        const double operations = 2.0 * FMA_CHAINS * FMA_ROUNDS * (double)rate.kernels->lanes;
        *out = fmax(*out, operations * threads / seconds);
    }
    return STATUS_OK;
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
    .buffers = &cpu_buffers,
    .open = cpu_open,
    .close = cpu_close,
    .simd = backend_best_simd,
    .identity = cpu_identity,
    .measure = host_measure,
    .measure_fma = backend_measure_cores};
