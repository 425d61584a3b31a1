/* The CPU backend's kernels by instruction set, the rule of missing samples for them, and its pools
 * of threads. */
#include "compute/cpu/cpu.h"

#include "base/memory.h"
#include "compute/cpu/arrays/beam_kernels.h"
#include "compute/cpu/arrays/correlate_kernels.h"
#include "compute/cpu/dedisperse/strips.h"
#include "compute/cpu/filter/filter_kernels.h"
#include "compute/cpu/ppf/synthesis_kernels.h"

#include <stdlib.h>
#include <string.h>

status_t cpu_pool(struct cpu_backend *backend, uint32_t threads, pool_t **out)
{
    struct cpu_pools *found = backend->pools;
    SCOPED(free_at) struct cpu_pools *made = NULL;
    while (found && pool_threads(found->pool) != threads) {
        found = found->next;
    }
    if (!found) {
        TRY(memory_zeroed(1, sizeof *made, "threads", &made));
        TRY(pool_create(POOL_TEAM, "pool", threads, &made->pool));
        made->next = backend->pools;
        found = backend->pools = made;
        made = NULL;
    }
    *out = found->pool;
    return STATUS_OK;
}

void cpu_settle(pool_t *pool, uint64_t number)
{
    if (number > 0) {
        pool_wait(pool, number);
    }
}

void cpu_buffer_mark(buffer_t *base, pool_t *pool, uint64_t block)
{
    struct cpu_buffer *buffer = (struct cpu_buffer *)base;
    buffer->pool = pool;
    buffer->block = block;
}

status_t cpu_begin(pool_t *pool, uint64_t before, buffer_t *in, void *from, buffer_t *out, void *to)
{
    void *data = NULL;
    pool_wait(pool, before);
    TRY(buffer_get(in, &data));
    memcpy(from, &data, sizeof data);
    TRY(buffer_get(out, &data));
    memcpy(to, &data, sizeof data);
    return STATUS_OK;
}

uint64_t cpu_submit(pool_t *pool, const struct pool_block *block, buffer_t *in, buffer_t *out)
{
    const uint64_t number = pool_submit(pool, block);
    cpu_buffer_mark(in, pool, number);
    cpu_buffer_mark(out, pool, number);
    return number;
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

int cpu_are_beside(const size_t *re, const size_t *im, uint32_t count, size_t bytes)
{
    int are_beside = 1;
    for (uint32_t i = 0; i < count && are_beside; i++) {
        const size_t apart = im[i] - re[i];
        are_beside = re[i] == re[0] + i * bytes && (apart == 0 || apart == bytes / 2);
    }
    return are_beside;
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

SIMD_DEFINE_FIND(simd_kernels, cpu_kernels)
SIMD_DEFINE_FIND(strip_kernels, strip_kernels)
SIMD_DEFINE_FIND(filter_kernels, filter_kernels)
SIMD_DEFINE_FIND(synthesis_kernels, synthesis_kernels)
SIMD_DEFINE_FIND(correlate_kernels, correlate_kernels)
SIMD_DEFINE_FIND(beam_kernels, beam_kernels)

/* Nibbles are missing as a byte: both of them. Of larger samples, one such part makes all of it
 * missing. */
int missing_rule_of(const struct cpu_kernels *kernels, const struct sample_coding *coding,
                    struct missing_rule *out)
{
    int must_be_finite = coding->format == SAMPLE_F32 && !coding->is_made;
    int has_rule = must_be_finite || coding->has_missing_value;
    *out = (struct missing_rule){.finite = must_be_finite,
                                 .value = coding->has_missing_value,
                                 .re = (float)coding->missing_value,
                                 .im = (float)coding->missing_value};
    if (coding->format == SAMPLE_I4 && coding->has_missing_value) {
        unsigned char byte = (unsigned char)coding->missing_value;
        unsigned char bytes[MOST_LANES] = {0};
        float pair[2 * MOST_LANES];
        bytes[0] = byte;
        kernels->unpack[SAMPLE_I4][1](bytes, 1, &coding->nibbles, pair);
        out->both = 1;
        out->re = pair[0];
        out->im = pair[kernels->lanes];
        /* A number that no byte has is never missing. */
        has_rule = out->value = byte == coding->missing_value;
    }
    return has_rule;
}
