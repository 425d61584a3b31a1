/* HDF5's own words without what says nothing. */
#include "io/hdf5/h5.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void what_says_nothing_goes(void **state)
{
    (void)state;
    static const struct {
        const char *said, *left;
    } reasons[] = {
        {"", ""},
        {"unable to open file", "unable to open file"},
        {"file read failed: time = Sun Nov 22 06:00:00 2026\n, filename = 'a.h5', file descriptor "
         "= 5, "
         "errno = 5, error message = 'Input/output error', buf = 0x55d0c0ffee, total read size = "
         "96, "
         "bytes this sub-read = 18446744073709551615, bytes actually read = 18446744073709551615, "
         "offset = 2048",
         "file read failed: time = Sun Nov 22 06:00:00 2026 , filename = 'a.h5', file descriptor = "
         "5, "
         "errno = 5, error message = 'Input/output error', total read size = 96, offset = 2048"},
        {"addr overflow, addr = 18446744073709551615, size=18446744073709551612, eoa=4096",
         "addr overflow, eoa=4096"},
        {"failed: buf = 0xdeadbeef, size = 7", "failed: size = 7"},
        {"failed (addr = 0x1)", "failed ()"},
        {"no chunk at 18446744073709551615 of 9223372036854775807",
         "no chunk at ? of 9223372036854775807"},
        {"0x7f is no address", "? is no address"},
        {"object '0x12 of 18446744073709551615' doesn't exist",
         "object '0x12 of 18446744073709551615' doesn't exist"},
        {"filter 32015 and 9223372036854775808, x0x12", "filter 32015 and ?, x0x12"},
        {"it's = 0x1", ""},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s", reasons[i].said);
        h5_reason_clean(text);
        assert_string_equal(text, reasons[i].left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_says_nothing_goes)};
    return cmocka_run_group_tests_name("HDF5's reasons", tests, NULL, NULL);
}
