/* Threads that work off blocks one behind the other without ever waiting for each other: who finds
 * nothing to do in one block goes on with the next.
 *
 * A block has up to three phases of independent tasks. Those of the first phase may run beside
 * those of other blocks; the next phase of a block begins when the one before is over and the block
 * before is done, so blocks end in order. Threads are OpenMP's, so its environment binds them
 * (OMP_PLACES, OMP_PROC_BIND); they sleep while there is nothing to do. */
#ifndef VOLTMILL_COMPUTE_CPU_POOL_H
#define VOLTMILL_COMPUTE_CPU_POOL_H

#include "base/status.h"

#include <stdint.h>

enum { POOL_PHASES = 3, POOL_BLOCKS = 4 /* at most, in the pool at once */ };

struct pool_block {
    void *context;
    void (*run[POOL_PHASES])(void *context, uint32_t thread, uint64_t task);
    uint64_t tasks[POOL_PHASES]; /* may be 0 */
};

typedef struct pool pool_t;

/* Fails with DEVICE. */
status_t pool_create(uint32_t threads, pool_t **out);
/* Waits for all blocks. */
void pool_destroy(pool_t *pool);
uint32_t pool_threads(const pool_t *pool);

/* Gives a block to the threads; waits while POOL_BLOCKS are there. Returns its number, from 1 on.
 */
uint64_t pool_submit(pool_t *pool, const struct pool_block *block);
/* Waits until this block and all before it are done. */
void pool_wait(pool_t *pool, uint64_t number);

#endif
