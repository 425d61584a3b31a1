/* Texts from outside on their way to a terminal. */
#include "base/display.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SAME(...)                                                                                  \
    do {                                                                                           \
        char expected[256];                                                                        \
        char found[256];                                                                           \
        snprintf(expected, sizeof expected, __VA_ARGS__);                                          \
        display_format(found, sizeof found, __VA_ARGS__);                                          \
        assert_string_equal(found, expected);                                                      \
    } while (0)

/* Where nothing is to be escaped, it is snprintf(). */
static void formats_as_printf_does(void **state)
{
    (void)state;
    SAME("plain");
    SAME("%% %d %5d|%-5d|%05d|%+d", 7, 7, 7, 7, 7);
    SAME("%u %lu %llu %zu %x %08x %#o", 1U, 2UL, 3ULL, (size_t)4, 0xabcU, 0xabcU, 8U);
    SAME("%" PRIu64 " %" PRId64 " %" PRIu32, UINT64_MAX, INT64_MIN, UINT32_MAX);
    SAME("%ld %lld %jd", -1L, -2LL, (intmax_t)-3);
    SAME("%g %.17g %.3f %10.2e %.0f", 1.5, 0.1, 2.0, 1e300, 0.5);
    SAME("%*d|%-*d|%.*f", 6, 1, 6, 2, 3, 2.0);
    SAME("%s %10s|%-10s|%.3s|%-6.2s|%.*s", "a", "right", "left", "long one", "two", 2, "star");
    SAME("%c%c", 'a', 'b');
    SAME("%s", "");
}

static void what_steers_a_terminal_is_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {{"\033[31mred", "\\x1b[31mred"},
                 {"two\nlines\r\t", "two\\nlines\\r\\t"},
                 {"\x7f\x01", "\\x7f\\x01"},
                 {"Gr\xc3\xb6\xc3\x9f"
                  "e \xe2\x82\xac \xf0\x9f\x98\x80",
                  "Gr\xc3\xb6\xc3\x9f"
                  "e \xe2\x82\xac \xf0\x9f\x98\x80"},
                 {"\xc2\x9b"
                  "31m",
                  "\\xc2\\x9b31m"}, /* CSI as one character */
                 {"\xff\xfe", "\\xff\\xfe"},
                 {"\xc3", "\\xc3"},                   /* cut off */
                 {"\xc0\xaf", "\\xc0\\xaf"},          /* longer than needed */
                 {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* half of a pair */
                 {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[64];
        char expected[64];
        display_format(found, sizeof found, "<%s>\n", cases[i].text);
        snprintf(expected, sizeof expected, "<%s>\n", cases[i].shown);
        assert_string_equal(found, expected);
    }
}

/* A message that was put together before keeps its lines, not more. */
static void messages_keep_their_lines(void **state)
{
    (void)state;
    char found[64];
    display_format(found, sizeof found, "%s", "two:\n  one\n  \033two");
    assert_string_equal(found, "two:\n  one\n  \\x1btwo");
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    char found[8];
    display_format(found, sizeof found, "%s and %d", "many more", 7);
    assert_string_equal(found, "many mo");
    display_format(found, 1, "%s", "x");
    assert_string_equal(found, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_as_printf_does),
        cmocka_unit_test(what_steers_a_terminal_is_escaped),
        cmocka_unit_test(messages_keep_their_lines),
        cmocka_unit_test(what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests_name("display", tests, NULL, NULL);
}
