/* A thread that does one thing at a time: all is done, once, in order, and ends with it. */
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

struct count {
    int times;
    long pause_ns;
};

static void add(void *context)
{
    struct count *count = context;
    struct timespec pause = {.tv_nsec = count->pause_ns};
    nanosleep(&pause, NULL);
    count->times++;
}

static void does_all(void **state)
{
    (void)state;
    enum { TIMES = 1000 };
    pool_worker_t *aside = NULL;
    struct count count = {0};
    assert_int_equal(pool_worker_create("test", &aside), STATUS_OK);
    pool_worker_wait(aside); /* nothing */
    for (int i = 0; i < TIMES; i++) {
        pool_worker_begin(aside, add, &count);
        pool_worker_wait(aside);
        assert_int_equal(count.times, i + 1);
    }
    pool_worker_destroy(aside);
}

static void ends_with_what_it_does(void **state)
{
    (void)state;
    pool_worker_t *aside = NULL;
    struct count count = {.pause_ns = 50000000};
    assert_int_equal(pool_worker_create("test", &aside), STATUS_OK);
    pool_worker_begin(aside, add, &count);
    pool_worker_destroy(aside);
    assert_int_equal(count.times, 1);
    pool_worker_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_all),
        cmocka_unit_test(ends_with_what_it_does),
    };
    return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
