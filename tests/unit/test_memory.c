/* Lists that grow: what is in them stays, and a size that no memory has is refused. */
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void one_by_one(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    uint32_t *items = NULL;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(memory_grown(i + 1, sizeof *items, "numbers", &items), STATUS_OK);
        items[i] = 3 * i;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(items[i], 3 * i);
    }
    free(items);
}

static void one_more(void **state)
{
    (void)state;
    enum { COUNT = 300000 };
    uint32_t *items = NULL;
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(memory_grow(i, sizeof *items, "numbers", &items), STATUS_OK);
        items[i] = 5 * i;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(items[i], 5 * i);
    }
    free(items);
}

static void too_large(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    assert_int_equal(memory_grown(2, sizeof *items, "numbers", &items), STATUS_OK);
    items[1] = 7;
    assert_int_equal(memory_grown(SIZE_MAX, sizeof *items, "numbers", &items), STATUS_DEVICE);
    assert_int_equal(memory_grown(SIZE_MAX / 8, 16, "numbers", &items), STATUS_DEVICE);
    report_clear();
    assert_int_equal(items[1], 7);
    free(items);
}

static void nothing(void **state)
{
    (void)state;
    char *items = NULL;
    assert_int_equal(memory_grown(0, 1, "bytes", &items), STATUS_OK);
    assert_non_null(items);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_by_one), cmocka_unit_test(one_more),
                                       cmocka_unit_test(too_large), cmocka_unit_test(nothing)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
