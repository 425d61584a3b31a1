/* Samples of long sweeps: `make test` takes some cases, others each day, and VOLTMILL_TEST_ALL all.
 */
#ifndef VOLTMILL_TESTS_SAMPLED_H
#define VOLTMILL_TESTS_SAMPLED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* Returns whether a case has its turn: one of `every`, which VOLTMILL_TEST_SEED chooses. */
static int is_sampled(unsigned number, unsigned every)
{
    static int is_said;
    const char *seed = getenv("VOLTMILL_TEST_SEED");
    if (getenv("VOLTMILL_TEST_ALL")) {
        return 1;
    }
    if (!is_said) {
        print_message("a sample: VOLTMILL_TEST_SEED=%s (all: VOLTMILL_TEST_ALL=1)\n",
                      seed ? seed : "0");
        is_said = 1;
    }
    return number % every == (seed ? strtoul(seed, NULL, 10) : 0) % every;
}

#endif
