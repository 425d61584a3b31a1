/* The CPU backend's own objects. */
#ifndef VOLTMILL_COMPUTE_CPU_CPU_H
#define VOLTMILL_COMPUTE_CPU_CPU_H

#include "compute/backend_ops.h"
#include "compute/cpu/pool.h"

struct cpu_backend {
    struct backend base;
    struct cpu_pools *pools; /* one for each number of threads that a stage has asked for */
};

/* Plain memory, and the last block that works on it. */
struct cpu_buffer {
    struct buffer base;
    void *own;
    void *data;       /* its own, or lent */
    pool_t *pool;     /* NULL: nobody has worked on it */
    uint64_t block;   /* of the pool */
    uint64_t missing; /* samples that the last run from it found so */
};

/* The backend's pool of so many threads: it stays until the backend is closed, since buffers and
 * stages know their blocks by its numbers. Fails with DEVICE. */
status_t cpu_pool(struct cpu_backend *backend, uint32_t threads, pool_t **out);

/* Says that this block is the last that works on a buffer. */
void cpu_buffer_mark(buffer_t *buffer, pool_t *pool, uint64_t block);

status_t cpu_channelise_choose(backend_t *backend, const struct channelise_spec *spec,
                               struct channelise_choice *out);
status_t cpu_channelise_candidates(backend_t *backend, const struct channelise_spec *spec,
                                   struct channelise_choice **out, uint32_t *count);
status_t cpu_channelise_words(const struct channelise_choice *choice, struct text *out);
const char *cpu_channelise_simd(const struct channelise_choice *choice);
status_t cpu_channelise_create(backend_t *backend, const struct channelise_spec *spec,
                               channelise_t **out);
void cpu_channelise_destroy(channelise_t *channelise);
uint64_t cpu_channelise_bytes(const struct channelise_spec *spec);
void cpu_channelise_begin(channelise_t *channelise, uint64_t first_spectrum);
status_t cpu_channelise_run(channelise_t *channelise, buffer_t *in,
                            const struct channelise_input *input, uint32_t nstreams,
                            uint64_t spectra, uint64_t counted, buffer_t *const *out,
                            uint64_t *rows);

#endif
