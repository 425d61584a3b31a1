/* JSON as it is written: nesting, escapes, numbers to the last bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void same(struct json *json, const char *expected)
{
    assert_int_equal(json->text.status, STATUS_OK);
    assert_string_equal(json->text.data, expected);
    json_free(json);
}

static void nesting(void **state)
{
    (void)state;
    struct json json = {.depth = 0};
    json_begin(&json, NULL);
    json_begin(&json, "none");
    json_end(&json);
    json_list(&json, "empty");
    json_list_end(&json);
    json_list(&json, "list");
    json_u64(&json, NULL, 1);
    json_begin(&json, NULL);
    json_bool(&json, "yes", 2);
    json_bool(&json, "no", 0);
    json_end(&json);
    json_list_end(&json);
    json_text(&json, "last", NULL);
    json_end(&json);
    same(&json,
         "{\n  \"none\": {},\n  \"empty\": [],\n  \"list\": [\n    1,\n    {\n      \"yes\": "
         "true,\n      \"no\": false\n    }\n  ],\n  \"last\": null\n}");
}

/* One value, in a list. */
static void escaped(const char *text, size_t length, const char *expected)
{
    char whole[256];
    struct json json = {.depth = 0};
    json_list(&json, NULL);
    json_bytes(&json, NULL, text, length);
    json_list_end(&json);
    snprintf(whole, sizeof whole, "[\n  \"%s\"\n]", expected);
    same(&json, whole);
}

static void texts(void **state)
{
    (void)state;
    escaped("plain", 5, "plain");
    escaped("", 0, "");
    escaped("a\"b\\c/", 6, "a\\\"b\\\\c/");
    escaped("\n\t\r\x1b\0\x7f", 6, "\\n\\t\\u000d\\u001b\\u0000\\u007f");
    escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xad", 9, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xad");
    escaped("\xc2\x9b", 2, "\\u009b"); /* steers a terminal, but is a character */
    escaped("a\xff\xfe"
            "b",
            4, "a\\ufffd\\ufffdb");
    escaped("\xe2\x82", 2, "\\ufffd\\ufffd");            /* cut off */
    escaped("\xc0\xaf", 2, "\\ufffd\\ufffd");            /* longer than it need be */
    escaped("\xed\xa0\x80", 3, "\\ufffd\\ufffd\\ufffd"); /* half of a pair */
    escaped("\xc2", 1, "\\ufffd");
}

static void numbers(void **state)
{
    (void)state;
    struct json json = {.depth = 0};
    const double doubles[] = {0.1, 1e300, -2, NAN, INFINITY, -INFINITY, 5e-324};
    json_doubles(&json, NULL, doubles, sizeof doubles / sizeof *doubles);
    same(&json, "[\n  0.10000000000000001,\n  1.0000000000000001e+300,\n  -2,\n  null,\n  null,\n  "
                "null,\n  "
                "4.9406564584124654e-324\n]");
    json_list(&json, NULL);
    json_u64(&json, NULL, UINT64_MAX);
    json_i64(&json, NULL, INT64_MIN);
    json_list_end(&json);
    same(&json, "[\n  18446744073709551615,\n  -9223372036854775808\n]");
}

static void lines(void **state)
{
    (void)state;
    struct json json = {.depth = 0};
    json_lines(&json, NULL, "one\n\nthree\n");
    same(&json, "[\n  \"one\",\n  \"\",\n  \"three\"\n]");
    json_lines(&json, NULL, NULL);
    same(&json, "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nesting), cmocka_unit_test(texts),
                                       cmocka_unit_test(numbers), cmocka_unit_test(lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
