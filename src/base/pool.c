/* Pools of threads, which take tasks of the oldest blocks first. */
#include "base/pool.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/thread.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* One thread's part of a phase, so that it works on memory that it touched first; others take from
 * it when they have done theirs. In cache lines of their own, or threads would slow each other. */
struct part {
    _Alignas(64) uint64_t next; /* taken up to here */
    uint64_t end;
};

struct entry {
    struct pool_block block;
    int phase;          /* POOL_PHASES: done */
    uint64_t left;      /* tasks of this phase that are not done: an atomic */
    struct part *parts; /* [nparts] */
};

struct helper {
    pool_t *pool;
    uint32_t number; /* from 1 on; 0: the leader of an OpenMP team */
    pthread_t thread;
};

struct pool {
    enum pool_kind kind;
    char name[16];
    uint32_t threads;
    uint32_t nparts; /* of the tasks of a phase */
    struct helper *helpers;
    uint32_t nhelpers; /* started */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    int is_ending;
    uint64_t submitted, finished;      /* blocks */
    uint64_t begun;                    /* phases with tasks: an atomic */
    struct entry entries[POOL_BLOCKS]; /* block number b in entry b % POOL_BLOCKS */
};

static struct entry *pool_entry_of(pool_t *pool, uint64_t number)
{
    return &pool->entries[number % POOL_BLOCKS];
}

static uint64_t pool_load(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}

static void pool_begin_phase(pool_t *pool, struct entry *entry, int phase)
{
    uint64_t tasks = entry->block.tasks[phase];
    uint64_t at = 0;
    for (uint32_t i = 0; i < pool->nparts; i++) {
        __atomic_store_n(&entry->parts[i].next, at, __ATOMIC_RELAXED);
        at += tasks / pool->nparts + (i < tasks % pool->nparts);
        __atomic_store_n(&entry->parts[i].end, at, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&entry->left, tasks, __ATOMIC_RELEASE);
    entry->phase = phase;
    (void)__atomic_add_fetch(&pool->begun, tasks > 0, __ATOMIC_RELEASE);
}

/* Continues with the next phase when one is over. The lock is held. */
static void pool_advance(pool_t *pool)
{
    while (pool->finished < pool->submitted) {
        struct entry *entry = pool_entry_of(pool, pool->finished + 1);
        if (pool_load(&entry->left) > 0) {
            break;
        }
        if (entry->phase + 1 < POOL_PHASES) {
            pool_begin_phase(pool, entry, entry->phase + 1);
        } else {
            pool->finished++;
        }
    }
    pthread_cond_broadcast(&pool->done);
    pthread_cond_broadcast(&pool->work);
}

/* The next task of `thread` in an entry; 0 when all are taken. */
static int pool_take(const pool_t *pool, struct entry *entry, uint32_t thread, uint64_t *task)
{
    for (uint32_t i = 0; i < pool->nparts; i++) {
        struct part *part = &entry->parts[(thread + i) % pool->nparts];
        uint64_t end = __atomic_load_n(&part->end, __ATOMIC_RELAXED);
        /* A look first: a part that is done need not be written to. */
        if (__atomic_load_n(&part->next, __ATOMIC_RELAXED) < end) {
            *task = __atomic_fetch_add(&part->next, 1, __ATOMIC_RELAXED);
            if (*task < end) {
                return 1;
            }
        }
    }
    return 0;
}

/* Works in one entry until nothing is left to take; gives the lock back for it. Only the thread
 * that does the last task takes it again at once: the others would make that one wait for it. */
static void pool_work_in(pool_t *pool, struct entry *entry, uint32_t thread, uint64_t task)
{
    uint64_t done = 0;
    void *context = entry->block.context;
    pool_task_t *run = entry->block.run[entry->phase];
    pthread_mutex_unlock(&pool->lock);
    do {
        run(context, thread, task);
        done++;
    } while (pool_take(pool, entry, thread, &task));
    if (__atomic_sub_fetch(&entry->left, done, __ATOMIC_ACQ_REL) == 0) {
        pthread_mutex_lock(&pool->lock);
        pool_advance(pool);
        pthread_mutex_unlock(&pool->lock);
    }
}

/* The oldest entry of which a task can be taken, with the lock: then neither its phase nor its
 * block changes until that task is done. */
static struct entry *pool_find_work(pool_t *pool, uint32_t thread, uint64_t *task)
{
    for (uint64_t number = pool->finished + 1; number <= pool->submitted; number++) {
        struct entry *entry = pool_entry_of(pool, number);
        if (pool_load(&entry->left) > 0 && pool_take(pool, entry, thread, task)) {
            return entry;
        }
    }
    return NULL;
}

/* Waits a moment for a number to leave `is`, or to come to it: threads that sleep and wake up all
 * at once wait for each other at the lock, up to a millisecond on 16 cores. */
static void pool_linger(const uint64_t *number, uint64_t is, int leaves)
{
    const double moment = 1e-4;
    double until = clock_now() + moment;
    while ((pool_load(number) == is) == leaves && clock_now() < until) {
    }
}

static void pool_work(pool_t *pool, uint32_t thread)
{
    const int lingers = pool->kind == POOL_EAGER;
    int has_worked = 0;
    pthread_setname_np(pthread_self(), pool->name);
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        uint64_t task;
        struct entry *entry = pool_find_work(pool, thread, &task);
        if (entry) {
            pool_work_in(pool, entry, thread, task);
            pthread_mutex_lock(&pool->lock);
            has_worked = 1;
        } else if (pool->is_ending && pool->finished == pool->submitted) {
            break;
        } else if (lingers && has_worked) {
            uint64_t begun = pool_load(&pool->begun);
            pthread_mutex_unlock(&pool->lock);
            pool_linger(&pool->begun, begun, 1);
            pthread_mutex_lock(&pool->lock);
            has_worked = 0;
        } else {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

static void *pool_lead(void *argument)
{
    const struct helper *helper = argument;
    pool_t *pool = helper->pool;
    if (pool->kind != POOL_TEAM) {
        pool_work(pool, helper->number);
        return NULL;
    }
#pragma omp parallel num_threads((int)pool->threads)
    pool_work(pool, (uint32_t)omp_get_thread_num());
    return NULL;
}

static status_t pool_start(pool_t *pool)
{
    uint32_t count = pool->kind == POOL_TEAM ? 1 : pool->threads - 1;
    TRY(memory_zeroed(count, sizeof *pool->helpers, "threads", &pool->helpers));
    for (uint32_t i = 0; i < count; i++) {
        struct helper *helper = &pool->helpers[i];
        *helper = (struct helper){.pool = pool, .number = pool->kind == POOL_TEAM ? 0 : i + 1};
        TRY(thread_start(pool->name, pool_lead, helper, &helper->thread));
        pool->nhelpers++;
    }
    return STATUS_OK;
}

status_t pool_create(enum pool_kind kind, const char *name, uint32_t threads, pool_t **out)
{
    SCOPED(pool_destroy_at) pool_t *pool = NULL;
    pthread_mutexattr_t brief;
    TRY(memory_zeroed(1, sizeof *pool, "threads", &pool));
    pool->kind = kind;
    (void)snprintf(pool->name, sizeof pool->name, "%s", name);
    pool->threads = threads;
    pool->nparts = kind == POOL_TEAM ? threads : 1;
    pthread_mutexattr_init(&brief);
    pthread_mutexattr_settype(&brief, PTHREAD_MUTEX_ADAPTIVE_NP); /* the lock is held for moments */
    pthread_mutex_init(&pool->lock, &brief);
    pthread_mutexattr_destroy(&brief);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    for (int i = 0; i < POOL_BLOCKS; i++) {
        TRY(memory_aligned(pool->nparts, sizeof(struct part), "threads", &pool->entries[i].parts));
    }
    TRY(pool_start(pool));
    *out = memory_move(&pool);
    return STATUS_OK;
}

void pool_destroy(pool_t *pool)
{
    if (!pool) {
        return;
    }
    thread_wake(&pool->lock, &pool->work, &pool->is_ending);
    for (uint32_t i = 0; i < pool->nhelpers; i++) {
        pthread_join(pool->helpers[i].thread, NULL);
    }
    for (int i = 0; i < POOL_BLOCKS; i++) {
        free(pool->entries[i].parts);
    }
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool->helpers);
    free(pool);
}

uint32_t pool_threads(const pool_t *pool)
{
    return pool->threads;
}

uint64_t pool_submit(pool_t *pool, const struct pool_block *block)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->submitted - pool->finished == POOL_BLOCKS) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    uint64_t number = ++pool->submitted;
    struct entry *entry = pool_entry_of(pool, number);
    entry->block = *block;
    pool_begin_phase(pool, entry, 0);
    pool_advance(pool);
    pthread_mutex_unlock(&pool->lock);
    return number;
}

/* With the lock. A block whose last tasks are done need not wait for those before it. */
static int pool_has_done(pool_t *pool, uint64_t number)
{
    const struct entry *entry = pool_entry_of(pool, number);
    uint64_t later = 0;
    for (int phase = entry->phase + 1; phase < POOL_PHASES; phase++) {
        later += entry->block.tasks[phase];
    }
    return pool->finished >= number || (pool_load(&entry->left) == 0 && later == 0);
}

void pool_wait(pool_t *pool, uint64_t number)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool_has_done(pool, number)) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

int pool_is_done(pool_t *pool, uint64_t number)
{
    pthread_mutex_lock(&pool->lock);
    int is_done = pool_has_done(pool, number);
    pthread_mutex_unlock(&pool->lock);
    return is_done;
}

/* Helps with a block of one phase until it is done. */
static void pool_help(pool_t *pool, uint64_t number)
{
    struct entry *entry = pool_entry_of(pool, number);
    uint64_t task;
    pthread_mutex_lock(&pool->lock);
    if (!pool_has_done(pool, number) && pool_take(pool, entry, 0, &task)) {
        pool_work_in(pool, entry, 0, task);
        if (pool->kind == POOL_EAGER) {
            pool_linger(&entry->left, 0, 0);
        }
    } else {
        pthread_mutex_unlock(&pool->lock);
    }
    pool_wait(pool, number);
}

void pool_run(pool_t *pool, uint64_t tasks, pool_task_t *run, void *context)
{
    struct pool_block block = {.context = context, .run = {run}, .tasks = {tasks}};
    pool_help(pool, pool_submit(pool, &block));
}

/* The helpers of pool_each()'s caller: they end with it. OpenMP's would turn in a loop after each
 * region, milliseconds long, on processors that others need. */
static pthread_key_t each_helpers;
static pthread_once_t each_once = PTHREAD_ONCE_INIT;
static _Thread_local int each_is_shared; /* this thread works for pool_each() */

static void each_end(void *pool)
{
    pool_destroy(pool);
}

static void each_begin(void)
{
    (void)pthread_key_create(&each_helpers, each_end);
}

/* Returns at least `threads` threads with the caller, which carry its name; NULL: there are none.
 */
static pool_t *each_pool(uint32_t threads)
{
    char name[16] = "";
    pool_t *pool = NULL;
    pthread_once(&each_once, each_begin);
    pool = pthread_getspecific(each_helpers);
    if (pool && pool->threads >= threads) {
        return pool;
    }
    pool_destroy(pool);
    pool = NULL;
    pthread_getname_np(pthread_self(), name, sizeof name);
    (void)report_failed(pool_create(POOL_HELPERS, name, threads, &pool));
    (void)pthread_setspecific(each_helpers, pool);
    return pool;
}

struct each {
    pool_task_t *run;
    void *context;
    uint64_t next, tasks; /* the former an atomic */
};

static void each_work(struct each *each, uint32_t thread)
{
    uint64_t task;
    each_is_shared = 1;
    while ((task = __atomic_fetch_add(&each->next, 1, __ATOMIC_RELAXED)) < each->tasks) {
        each->run(each->context, thread, task);
    }
    each_is_shared = 0;
}

/* Part `part` of the work: the caller, which is thread 0 of the pool, may take it up, too. */
static void each_take_part(void *context, uint32_t thread, uint64_t part)
{
    each_work(context, thread == 0 ? 0 : (uint32_t)part + 1);
}

void pool_each(uint32_t threads, uint64_t tasks, pool_task_t *run, void *context)
{
    const uint32_t some = (uint32_t)min_u64(threads, tasks);
    struct each each = {run, context, 0, tasks};
    pool_t *pool = some > 1 && !each_is_shared ? each_pool(some) : NULL;
    if (!pool) {
        for (uint64_t task = 0; task < tasks; task++) {
            run(context, 0, task);
        }
        return;
    }
    const struct pool_block block = {
        .context = &each, .run = {each_take_part}, .tasks = {some - 1}};
    uint64_t number = pool_submit(pool, &block);
    each_work(&each, 0);
    pool_help(pool, number);
}

struct trying {
    status_t (*run)(void *context, uint32_t thread, uint64_t task);
    void *context;
    atomic_int failed; /* the status_t of any task that failed */
};

static void try_task(void *context, uint32_t thread, uint64_t task)
{
    struct trying *trying = context;
    status_t st = STATUS_OK;
    if (atomic_load(&trying->failed) == STATUS_OK) {
        st = trying->run(trying->context, thread, task);
    }
    if (st == STATUS_OK) {
        return;
    }
    /* One failure has a cause: a second one handed over would be left for a later failure. */
    int none = STATUS_OK;
    if (!atomic_compare_exchange_strong(&trying->failed, &none, (int)st)) {
        report_clear();
    } else if (thread > 0) {
        report_hand_over();
    }
}

status_t pool_try_each(uint32_t threads, uint64_t tasks,
                       status_t (*run)(void *context, uint32_t thread, uint64_t task),
                       void *context)
{
    struct trying trying = {run, context, STATUS_OK};
    pool_each(threads, tasks, try_task, &trying);
    return (status_t)atomic_load(&trying.failed);
}

/* A pool of one helper, whose owner never helps. */
struct pool_worker {
    pool_t *pool;
    void (*work)(void *context);
    void *context;
    uint64_t number; /* of the last block; 0: none */
};

static void pool_worker_run(void *context, uint32_t thread, uint64_t task)
{
    const pool_worker_t *worker = context;
    (void)thread;
    (void)task;
    worker->work(worker->context);
    report_hand_over();
}

status_t pool_worker_create(const char *name, pool_worker_t **out)
{
    SCOPED(pool_worker_destroy_at) pool_worker_t *worker = NULL;
    TRY(memory_zeroed(1, sizeof *worker, "a thread", &worker));
    TRY(pool_create(POOL_HELPERS, name, 2, &worker->pool));
    *out = memory_move(&worker);
    return STATUS_OK;
}

void pool_worker_destroy(pool_worker_t *worker)
{
    if (worker) {
        pool_destroy(worker->pool);
        free(worker);
    }
}

void pool_worker_begin(pool_worker_t *worker, void (*work)(void *context), void *context)
{
    if (!worker) {
        work(context);
        return;
    }
    worker->work = work;
    worker->context = context;
    const struct pool_block block = {.context = worker, .run = {pool_worker_run}, .tasks = {1}};
    worker->number = pool_submit(worker->pool, &block);
}

void pool_worker_wait(pool_worker_t *worker)
{
    if (worker) {
        pool_wait(worker->pool, worker->number);
    }
}
