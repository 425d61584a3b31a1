/* SIGPROC's numbers of telescopes, by the names that archives have. */
#include "product/kind/sigproc_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(sigproc_telescope("GBT"), 6);
    assert_int_equal(sigproc_telescope("green-bank telescope"), 6);
    assert_int_equal(sigproc_telescope("Jodrell Bank"), 5);
    assert_int_equal(sigproc_telescope("LOVELL"), 5);
    assert_int_equal(sigproc_telescope("Nan\303\247ay"), 3);
    assert_int_equal(sigproc_telescope("Meer KAT"), 64);
    assert_int_equal(sigproc_telescope("KAT7"), 65);
    assert_int_equal(sigproc_telescope("Effelsberg"), 8);
}

static void test_unknown(void **state)
{
    (void)state;
    assert_int_equal(sigproc_telescope(NULL), 0);
    assert_int_equal(sigproc_telescope(""), 0);
    assert_int_equal(sigproc_telescope("GB"), 0);
    assert_int_equal(sigproc_telescope("GBTX"), 0);
    assert_int_equal(sigproc_telescope("unknown"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
