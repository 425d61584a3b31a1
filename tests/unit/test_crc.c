/* CRC-32 against zlib's, and wholes put together from pieces in any order. */
#include "io/crc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { BYTES = 70001 };

static unsigned char bytes[BYTES];

static int fill(void **state)
{
    (void)state;
    srand(7);
    for (int i = 0; i < BYTES; i++) {
        bytes[i] = (unsigned char)(rand() >> 3);
    }
    return 0;
}

static void is_that_of_zlib(void **state)
{
    (void)state;
    assert_int_equal(crc_of("123456789", 9), 0xcbf43926);
    for (size_t size = 0; size < 700; size++) {
        for (size_t at = 0; at < 17; at += 4) {
            assert_int_equal(crc_of(bytes + at, size), crc32(0, bytes + at, (uInt)size));
        }
    }
    assert_int_equal(crc_of(bytes, BYTES), crc32(0, bytes, BYTES));
}

static void goes_on(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < 1000; cut += 37) {
        uint32_t crc = crc_more(crc_of(bytes, cut), bytes + cut, BYTES - cut);
        assert_int_equal(crc, crc32(0, bytes, BYTES));
    }
}

static void pieces_make_the_whole(void **state)
{
    (void)state;
    uint32_t whole = 0;
    size_t cuts[] = {0, 1, 63, 4096, 4097, 30000, 69999, BYTES};
    size_t count = sizeof cuts / sizeof *cuts - 1;
    /* Last first: their order does not matter. */
    for (size_t i = count; i-- > 0;) {
        uint32_t part = crc_part(bytes + cuts[i], cuts[i + 1] - cuts[i]);
        whole ^= crc_times(part, crc_power(BYTES - cuts[i + 1]));
    }
    assert_int_equal(crc_whole(whole, BYTES), crc32(0, bytes, BYTES));
}

static void nothing_and_zeros(void **state)
{
    (void)state;
    static const unsigned char zeros[5000];
    assert_int_equal(crc_whole(0, 0), 0);
    assert_int_equal(crc_whole(0, sizeof zeros), crc32(0, zeros, sizeof zeros));
    assert_int_equal(crc_power(0), UINT32_C(1) << 31);
    /* 2^32 - 1 bits later everything is as before: x has that order. */
    uint64_t order = (UINT64_C(1) << 32) - 1;
    assert_int_equal(crc_power(order), crc_power(0));
    assert_int_equal(crc_power(order * 1000 + 3), crc_power(3));
    /* Lengths in a damaged file may be any number. */
    assert_int_equal(crc_power(UINT64_MAX), crc_power(0)); /* a multiple of the order */
    assert_int_equal(crc_power(UINT64_C(1) << 63), crc_power(UINT64_C(1) << 31));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_that_of_zlib),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(pieces_make_the_whole),
        cmocka_unit_test(nothing_and_zeros),
    };
    return cmocka_run_group_tests_name("crc", tests, fill, NULL);
}
