/* The CPU backend's own objects. */
#ifndef VOLTMILL_COMPUTE_CPU_CPU_H
#define VOLTMILL_COMPUTE_CPU_CPU_H

#include "base/pool.h"
#include "compute/backend_ops.h"
#include "compute/cpu/ppf/kernels.h"

struct cpu_pools {
    pool_t *pool;
    struct cpu_pools *next;
};

struct cpu_backend {
    struct backend base;
    struct cpu_pools *pools; /* one for each number of threads that a stage requested */
};

/* Plain memory, and the last block that works on it. */
struct cpu_buffer {
    struct host_buffer host;
    pool_t *pool;   /* NULL: no thread has worked on it */
    uint64_t block; /* of the pool */
};

/* Operations of the backend (ppf/, dedisperse/, filter/, arrays/, cpu_fft.c), as in backend_ops.h.
 */
extern const struct channelise_ops cpu_channelise;
extern const struct dedisperse_ops cpu_dedisperse;
extern const struct synthesise_ops cpu_synthesise;
extern const struct correlate_ops cpu_correlate;
extern const struct fft_baseline_ops cpu_fft_baseline;

/* Writes the line of /proc/cpuinfo that names the processor, "model name : ..." or "CPU part :
 * ...", with its newline, or "unknown", to out, `room` bytes with the zero at the end; a longer one
 * is cut. Cannot fail. */
void cpu_processor(char *out, size_t room);

/* Specifications and choices number instruction sets from 1 on. cpu_simd(): returns `simd`, for 0
 * the number of this machine's best (simd_best()). cpu_simd_kernels(): returns the kernels of a
 * number; NULL for 0, or if this machine or this build lacks it. cpu_simd_name(): returns their
 * name ("avx2", "sse2"), or "?" without kernels. */
uint32_t cpu_simd(uint32_t simd);
const struct cpu_kernels *cpu_simd_kernels(uint32_t simd);
const char *cpu_simd_name(uint32_t simd);

/* Finds or starts the backend's pool of `threads` >= 1 threads. It stays the backend's, and lives
 * until that is closed, since buffers and stages identify their blocks by its numbers. Not for
 * several threads at once. Fails with DEVICE (memory, threads), and leaves *out unchanged. */
status_t cpu_pool(struct cpu_backend *backend, uint32_t threads, pool_t **out);

/* Waits for block number `before` of the pool, whose slot the next block takes, and for all work on
 * `in` and `out`. Sets the pointers at `from` and `to` (of any type of data) to their host data.
 * Returns the status of buffer_get(), which is OK for buffers of this backend. */
status_t cpu_begin(pool_t *pool, uint64_t before, buffer_t *in, void *from, buffer_t *out,
                   void *to);
/* Notes that the block of number `block` of the pool is the last that works on a buffer. */
void cpu_buffer_mark(buffer_t *buffer, pool_t *pool, uint64_t block);
/* Gives a block that works on two buffers to the pool; returns its number, for cpu_settle(). It is
 * copied; its context must outlive its tasks, as of pool_submit() (base/pool.h), which waits for a
 * slot. */
uint64_t cpu_submit(pool_t *pool, const struct pool_block *block, buffer_t *in, buffer_t *out);
/* Waits for the block of this number of the pool; does nothing for number 0, as in a half-made
 * stage, when `pool` may be NULL. */
void cpu_settle(pool_t *pool, uint64_t number);

/* Returns whether samples of `count` streams are neighbours, in the order of the streams: parts at
 * offsets re[i] and im[i] (bytes, [count]), each sample `bytes` long with both parts; im[i] is
 * re[i], or half a sample after it. */
int cpu_are_beside(const size_t *re, const size_t *im, uint32_t count, size_t bytes);

#endif
