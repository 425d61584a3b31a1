/* The CPU backend's pools of threads, and its buffers: plain memory that blocks of a pool work on.
 */
#include "compute/cpu/cpu.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpu_pools {
    pool_t *pool;
    struct cpu_pools *next;
};

status_t cpu_open(const struct backend_options *options, backend_t **out)
{
    struct cpu_backend *backend = NULL;
    (void)options;
    TRY(simd_check());
    TRY(memory_zeroed(1, sizeof *backend, "a backend", &backend));
    *out = &backend->base;
    return STATUS_OK;
}

void cpu_close(backend_t *base)
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
        TRY_OUT(memory_zeroed(1, sizeof *made, "threads", &made));
        TRY_OUT(pool_create(POOL_TEAM, "pool", threads, &made->pool));
        made->next = backend->pools;
        found = backend->pools = made;
        made = NULL;
    }
    *out = found->pool;
out:
    free(made);
    return st;
}

status_t cpu_buffer_create(backend_t *backend, enum buffer_use use, uint64_t bytes, buffer_t **out)
{
    (void)backend;
    (void)use;
    return host_buffer_create(sizeof(struct cpu_buffer), bytes, out);
}

void cpu_settle(pool_t *pool, uint64_t number)
{
    if (number > 0) {
        pool_wait(pool, number);
    }
}

static void cpu_buffer_wait(const struct cpu_buffer *buffer)
{
    cpu_settle(buffer->pool, buffer->block);
}

void cpu_buffer_mark(buffer_t *base, pool_t *pool, uint64_t block)
{
    struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    buffer->pool = pool;
    buffer->block = block;
}

uint64_t cpu_submit(pool_t *pool, const struct pool_block *block, buffer_t *in, buffer_t *out)
{
    const uint64_t number = pool_submit(pool, block);
    cpu_buffer_mark(in, pool, number);
    cpu_buffer_mark(out, pool, number);
    return number;
}

void cpu_buffer_destroy(buffer_t *buffer)
{
    cpu_buffer_wait((struct cpu_buffer *)buffer);
    host_buffer_destroy(buffer);
}

status_t cpu_buffer_get(buffer_t *base, void **out)
{
    cpu_buffer_wait((struct cpu_buffer *)base);
    return host_buffer_get(base, out);
}

int cpu_buffer_lend(buffer_t *base, const void *data)
{
    struct host_buffer *buffer = (struct host_buffer *)base;
    buffer->data = data ? (void *)(uintptr_t)data : buffer->own;
    return 1;
}

status_t cpu_buffer_missing(buffer_t *base, uint64_t *out)
{
    cpu_buffer_wait((struct cpu_buffer *)base);
    return host_buffer_missing(base, out);
}

uint32_t cpu_simd(uint32_t simd)
{
    return simd ? simd : (uint32_t)simd_best() + 1;
}

const struct cpu_kernels *cpu_simd_kernels(uint32_t simd)
{
    return simd > 0 ? simd_kernels((enum simd_level)(simd - 1)) : NULL;
}

const char *cpu_simd_name(uint32_t simd)
{
    const struct cpu_kernels *kernels = cpu_simd_kernels(simd);
    return kernels ? kernels->name : "?";
}

void cpu_processor(char *out, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(out, room, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "model name", 10) == 0 || strncmp(line, "CPU part", 8) == 0) {
            snprintf(out, room, "%s", line);
            break;
        }
    }
    if (file) {
        fclose(file);
    }
}

status_t cpu_identity(const backend_t *backend, struct text *out)
{
    char line[256];
    (void)backend;
    cpu_processor(line, sizeof line);
    const char *name = line + strcspn(line, ":");
    name += strspn(name, ": \t");
    return text_add(out, "%.*s, %s, voltmill " VOLTMILL_VERSION, (int)strcspn(name, "\t\n"), name,
                    simd_kernels(simd_best())->name);
}
