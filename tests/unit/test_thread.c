/* Threads may use all processors of the process, also where OpenMP binds its own. */
#include "base/thread.h"

#include <omp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char processors[] = "TEST_THREAD_PROCESSORS";

static void *count(void *out)
{
    cpu_set_t mine;
    *(int *)out = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : -1;
    return NULL;
}

static void has_all_processors(void **state)
{
    pthread_t thread;
    int found = 0;
    (void)state;
    assert_int_equal(thread_start("counting", count, &found, &thread), STATUS_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(found, atoi(getenv(processors)));
    assert_int_equal(omp_get_num_procs(), found);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(has_all_processors)};
    (void)argc;
    /* OpenMP looks at its environment before main(). */
    if (!getenv(processors)) {
        char text[16];
        int all = 0;
        count(&all);
        (void)snprintf(text, sizeof text, "%d", all);
        setenv(processors, text, 1);
        setenv("OMP_PLACES", "cores", 1);
        setenv("OMP_PROC_BIND", "close", 1);
        execv("/proc/self/exe", argv);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
