/* Pools of threads: every task once, phases in their order, blocks that end without each other. */
#include "base/pool.h"
#include "base/report.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 3, TASKS = 200 };

struct counts {
    atomic_int times[TASKS];
    atomic_int done, too_early, strangers, held;
    char name[16];
};

static void count(void *context, uint32_t thread, uint64_t task)
{
    struct counts *counts = context;
    atomic_fetch_add(&counts->times[task], 1);
    atomic_fetch_add(&counts->strangers, thread >= THREADS);
    atomic_fetch_add(&counts->done, 1);
}

static void count_after(void *context, uint32_t thread, uint64_t task)
{
    struct counts *counts = context;
    atomic_fetch_add(&counts->too_early, atomic_load(&counts->done) < TASKS);
    count(context, thread, task);
}

static void hold(void *context, uint32_t thread, uint64_t task)
{
    struct counts *counts = context;
    (void)thread;
    (void)task;
    pthread_getname_np(pthread_self(), counts->name, sizeof counts->name);
    while (atomic_load(&counts->held)) {
        usleep(100);
    }
}

static void check(const struct counts *counts, int times)
{
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(counts->times[i], times);
    }
    assert_int_equal(counts->strangers, 0);
}

static void every_task_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * THREADS; i++) {
        uint32_t threads = i / 2 + 1;
        struct counts counts = {.done = 0};
        pool_t *pool = NULL;
        assert_int_equal(pool_create(i % 2 ? POOL_EAGER : POOL_HELPERS, "helpers", threads, &pool),
                         STATUS_OK);
        for (int times = 1; times <= 20; times++) {
            pool_run(pool, TASKS, count, &counts);
            check(&counts, times);
        }
        pool_run(pool, 0, count, &counts);
        pool_destroy(pool);
        pool_each(threads, TASKS, count, &counts);
        check(&counts, 21);
    }
}

enum { MOST = 5 };

struct shares {
    uint32_t threads;
    atomic_int at_work[MOST], done, wrong, inner;
};

static void share_inner(void *context, uint32_t thread, uint64_t task)
{
    struct shares *shares = context;
    (void)task;
    atomic_fetch_add(&shares->inner, 1);
    atomic_fetch_add(&shares->wrong, thread > 0);
}

static void share(void *context, uint32_t thread, uint64_t task)
{
    struct shares *shares = context;
    (void)task;
    if (thread >= shares->threads) {
        atomic_fetch_add(&shares->wrong, 1);
        return;
    }
    atomic_fetch_add(&shares->wrong, atomic_fetch_add(&shares->at_work[thread], 1) > 0);
    usleep(20);
    pool_each(MOST, 2, share_inner, shares);
    atomic_fetch_sub(&shares->at_work[thread], 1);
    atomic_fetch_add(&shares->done, 1);
}

/* Each thread has a number of its own, below the number of threads, also where a call before had
 * more; a task that shares its work does it alone. */
static void each_has_a_number(void **state)
{
    static const uint32_t threads[] = {2, MOST, 3};
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct shares shares = {.threads = threads[i]};
        pool_each(threads[i], TASKS, share, &shares);
        assert_int_equal(shares.done, TASKS);
        assert_int_equal(shares.wrong, 0);
        assert_int_equal(shares.inner, 2 * TASKS);
    }
}

static status_t try_one(void *context, uint32_t thread, uint64_t task)
{
    struct shares *shares = context;
    (void)thread;
    if (task == TASKS / 2) {
        return report_fail(STATUS_DATA, "task %d", TASKS / 2);
    }
    atomic_fetch_add(&shares->done, 1);
    return STATUS_OK;
}

/* The status and the cause of a task that fails reach the caller, whichever thread had it. */
static void one_fails(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= MOST; threads++) {
        struct shares shares = {.threads = threads};
        char cause[32];
        snprintf(cause, sizeof cause, "task %d", TASKS / 2);
        assert_int_equal(pool_try_each(threads, TASKS / 2, try_one, &shares), STATUS_OK);
        assert_int_equal(pool_try_each(threads, TASKS, try_one, &shares), STATUS_DATA);
        assert_string_equal(report_cause(), cause);
        assert_true(shares.done < TASKS / 2 + TASKS);
        report_clear();
    }
}

static status_t fail_each(void *context, uint32_t thread, uint64_t task)
{
    (void)context;
    (void)thread;
    usleep(50);
    return report_fail(STATUS_DATA, "task %d of all", (int)task);
}

/* Nothing is left of the others for a later failure. */
static void all_fail(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(pool_try_each(MOST, MOST, fail_each, NULL), STATUS_DATA);
        assert_non_null(strstr(report_cause(), " of all"));
        report_clear();
        assert_int_equal(report_cause_status(), STATUS_OK);
    }
}

static void phases(void **state)
{
    (void)state;
    enum { BLOCKS = 3 * POOL_BLOCKS };
    struct counts counts[BLOCKS] = {{.done = 0}};
    uint64_t last = 0;
    pool_t *pool = NULL;
    assert_int_equal(pool_create(POOL_TEAM, "team", THREADS, &pool), STATUS_OK);
    for (int i = 0; i < BLOCKS; i++) {
        struct pool_block block = {
            .context = &counts[i], .run = {count, NULL, count_after}, .tasks = {TASKS, 0, TASKS}};
        last = pool_submit(pool, &block);
    }
    pool_wait(pool, last);
    for (int i = 0; i < BLOCKS; i++) {
        check(&counts[i], 2);
        assert_int_equal(counts[i].too_early, 0);
    }
    pool_destroy(pool);
}

/* A block that is held up does not hold up those behind it. */
static void one_is_held(void **state)
{
    (void)state;
    struct counts held = {.held = 1};
    struct counts counts = {.done = 0};
    pool_t *pool = NULL;
    assert_int_equal(pool_create(POOL_HELPERS, "helpers", 2, &pool), STATUS_OK);
    struct pool_block block = {.context = &held, .run = {hold}, .tasks = {1}};
    uint64_t number = pool_submit(pool, &block);
    pool_run(pool, TASKS, count, &counts);
    check(&counts, 1);
    assert_false(pool_is_done(pool, number));
    atomic_store(&held.held, 0);
    pool_wait(pool, number);
    assert_true(pool_is_done(pool, number));
    assert_string_equal(held.name, "helpers");
    pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_once), cmocka_unit_test(each_has_a_number),
        cmocka_unit_test(one_fails),       cmocka_unit_test(all_fail),
        cmocka_unit_test(phases),          cmocka_unit_test(one_is_held),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
