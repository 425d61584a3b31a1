/* A pool of threads that work on the tasks of one object together.
 *
 * A pool takes blocks of tasks, one after the other, and never waits for the end of one: a thread
 * that finds nothing to do in one block continues with the next. A block has up to four phases of
 * independent tasks. Those of the first phase may run beside those of other blocks. The next phase
 * of a block begins when the one before is over and the block before is done. Idle threads sleep.
 * Threads receive no signals but those of their own accesses (base/thread.h), and carry the pool's
 * name. A task that can fail leaves its status in its context. Any thread may submit blocks and
 * wait for them. */
#ifndef VOLTMILL_BASE_POOL_H
#define VOLTMILL_BASE_POOL_H

#include "base/status.h"

#include <stdint.h>

enum { POOL_PHASES = 4, POOL_BLOCKS = 4 /* at most, in the pool at once */ };

/* Task `task` on thread number `thread`, which does one at a time. */
typedef void pool_task_t(void *context, uint32_t thread, uint64_t task);

struct pool_block {
    void *context;
    pool_task_t *run[POOL_PHASES];
    uint64_t tasks[POOL_PHASES]; /* may be 0 */
};

enum pool_kind {
    /* OpenMP's threads, so that its environment binds them (OMP_PLACES, OMP_PROC_BIND). Each begins
     * with a part of the tasks of its own, which is the same part of every block: it works on
     * memory that it touched first. */
    POOL_TEAM,
    /* Threads beside the one that submits, which is thread 0 and helps; tasks are taken in their
     * order. */
    POOL_HELPERS,
    /* The same, but they linger for a tenth of a millisecond before they sleep, for work that comes
     * in many short phases. */
    POOL_EAGER
};

typedef struct pool pool_t;

/* Makes a pool of `threads` >= 1 threads; pool_destroy() frees it. The threads of a TEAM are all
 * started. Of the other kinds one is the caller of pool_run(), the others are started. `name` is
 * copied, and cut to 15 bytes. Fails with DEVICE (memory, threads), and leaves *out unchanged. */
status_t pool_create(enum pool_kind kind, const char *name, uint32_t threads, pool_t **out);
/* Waits until all blocks are done, ends the threads, and frees the pool; takes NULL. No thread uses
 * the pool any more. */
void pool_destroy(pool_t *pool);
SCOPED_END(pool_destroy, pool_t *)
/* Returns the number of threads that pool_create() got, the caller of pool_run() included. */
uint32_t pool_threads(const pool_t *pool);

/* Gives a block, which is copied, to the threads; waits while POOL_BLOCKS are there. Its context
 * must outlive its tasks. The caller does not help, as it does in pool_run(): so HELPERS and EAGER
 * pools of 1 thread never do this block. Returns the block's number, from 1 on. Any thread. */
uint64_t pool_submit(pool_t *pool, const struct pool_block *block);
/* pool_wait(): waits until the block of this number (of pool_submit()) is done. pool_is_done():
 * returns at once whether it is. Number 0 always is. Any thread. */
void pool_wait(pool_t *pool, uint64_t number);
int pool_is_done(pool_t *pool, uint64_t number);
/* Works on `tasks` tasks (perhaps 0), run(context, thread, task), with the helpers, as thread 0,
 * until all are done. They are a block of one phase: waits while POOL_BLOCKS are in the pool. One
 * thread at a time. Not for a TEAM, which has a thread 0 of its own. */
void pool_run(pool_t *pool, uint64_t tasks, pool_task_t *run, void *context);

/* Runs tasks 0 .. tasks - 1, run(context, thread, task), without a pool, by the calling thread,
 * which is thread 0, and helpers of its own: at most `threads` threads, no more than tasks. Returns
 * when all are done. Helpers carry the caller's name, sleep afterwards and end with the calling
 * thread. The caller does all alone within a task of a call that has helpers, or where no thread
 * can be made. Any thread. */
void pool_each(uint32_t threads, uint64_t tasks, pool_task_t *run, void *context);
/* Runs tasks 0 .. tasks - 1, which can fail, as pool_each() does, by at most `threads` threads.
 * After a failure no further one begins; those that run are awaited. Returns the status of the
 * first task that failed, else OK. The cause of a task on a helper is handed over to the main
 * thread, whichever thread calls this. The cause of a task on the calling thread stays with that.
 * Any thread. */
status_t pool_try_each(uint32_t threads, uint64_t tasks,
                       status_t (*run)(void *context, uint32_t thread, uint64_t task),
                       void *context);

/* A thread that runs one task at a time beside its owner. */
typedef struct pool_worker pool_worker_t;

/* Starts a thread that runs one task at a time, named `name`, cut to 15 bytes.
 * pool_worker_destroy() ends it. Fails with DEVICE (memory, threads), and leaves *out unchanged. */
status_t pool_worker_create(const char *name, pool_worker_t **out);
/* Waits for the work that was begun, and ends the thread. Takes NULL. */
void pool_worker_destroy(pool_worker_t *worker);
SCOPED_END(pool_worker_destroy, pool_worker_t *)

/* Starts work(context) in the thread, and returns. A failure that `work` records is handed over to
 * the main thread. The caller has waited (pool_worker_wait()) for what it began before. `context`
 * must last until the work is done. Without a worker (NULL) runs it at once in the caller. */
void pool_worker_begin(pool_worker_t *worker, void (*work)(void *context), void *context);
/* Waits until the work that was begun last is done; returns at once if none was begun. Takes NULL.
 */
void pool_worker_wait(pool_worker_t *worker);
SCOPED_END(pool_worker_wait, pool_worker_t *)

#endif
