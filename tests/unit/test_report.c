/* Owner of a failure: each thread its own, until it is handed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "base/thread.h"

#include <stdlib.h>

static void in_thread(void *(*run)(void *))
{
    pthread_t thread;
    assert_int_equal(thread_start("test", run, NULL, &thread), STATUS_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *fail_and_forget(void *argument)
{
    report_fail(STATUS_DATA, "a sample");
    report_clear();
    report_hand_over();
    return argument;
}

static void *fail_and_hand_over(void *argument)
{
    report_fail(STATUS_NO_SPACE, "a row");
    report_fail(STATUS_DATA, "another");
    report_hand_over();
    assert_int_equal(report_cause_status(), STATUS_OK);
    return argument;
}

static void *fail_alone(void *argument)
{
    report_fail(STATUS_DATA, "nobody's business");
    return argument;
}

static void owned(void **state)
{
    (void)state;
    report_next();
    report_fail(STATUS_USAGE, "the job");
    in_thread(fail_and_forget);
    assert_string_equal(report_cause(), "the job");
    report_clear();
    in_thread(fail_alone);
    assert_int_equal(report_cause_status(), STATUS_OK);
    assert_string_equal(report_cause(), "");
}

/* Its words may hold the cause that it replaces. */
static void recorded_again(void **state)
{
    (void)state;
    report_next();
    report_fail(STATUS_USAGE, "a row");
    assert_int_equal(report_again(STATUS_DATA, "%s of a table", report_cause()), STATUS_DATA);
    assert_string_equal(report_cause(), "a row of a table");
    assert_int_equal(report_cause_status(), STATUS_DATA);
    report_next();
}

static void handed_over(void **state)
{
    (void)state;
    report_next();
    in_thread(fail_and_hand_over);
    in_thread(fail_and_forget); /* the reader forgives what the writer does not */
    report_clear();             /* nor does the main thread for it */
    report_fail(STATUS_DEVICE, "later");
    assert_string_equal(report_cause(), "a row");
    assert_int_equal(report_cause_status(), STATUS_NO_SPACE);
    report_next();
    report_fail(STATUS_DEVICE, "earlier");
    in_thread(fail_and_hand_over);
    assert_string_equal(report_cause(), "earlier");
    report_next();
    assert_string_equal(report_cause(), "");
    report_fail(STATUS_DATA, "of a pool in which this thread works, too");
    report_hand_over();
    assert_int_equal(report_cause_status(), STATUS_DATA);
    report_next();
}

/* Looked at and forgiven, it is over; what comes then has its own cause. */
static void forgiven(void **state)
{
    (void)state;
    report_next();
    in_thread(fail_and_hand_over);
    assert_string_equal(report_cause(), "a row");
    report_clear();
    assert_int_equal(report_cause_status(), STATUS_OK);
    report_fail(STATUS_DEVICE, "later");
    assert_string_equal(report_cause(), "later");
    report_next();
    report_fail(STATUS_DATA, "this thread's");
    in_thread(fail_and_hand_over);
    assert_int_equal(report_forgive(STATUS_DATA), STATUS_OK);
    report_fail(STATUS_DEVICE, "later");
    assert_string_equal(report_cause(), "later");
    report_next();
    in_thread(fail_and_hand_over);
    assert_int_equal(report_forgive(STATUS_DEVICE), STATUS_DEVICE);
    assert_string_equal(report_cause(), "a row");
    report_next();
}

static void adopted(void **state)
{
    (void)state;
    report_next();
    in_thread(fail_and_hand_over);
    assert_int_equal(report_adopt(STATUS_DATA, "of rank 3"), STATUS_DATA);
    assert_string_equal(report_cause(), "of rank 3");
    report_next();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(owned), cmocka_unit_test(recorded_again),
                                       cmocka_unit_test(handed_over), cmocka_unit_test(forgiven),
                                       cmocka_unit_test(adopted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
