/* Options read as a table says: values and their ranges, standards, older names, what is refused
 * and in which words. */
#include "base/report.h"
#include "cli/options.h"
#include "cli/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct settings {
    struct shared shared;
    const char *output;
    int quick, colour;
    uint32_t count, size;
    double range[2], width;
    struct option_list list;
    struct option_texts names;
};

#define FIELD(member) offsetof(struct settings, member)

static const struct option_row rows[] = {
    {NULL, NULL, NULL, 0, NULL, NULL, "Headings are no options"},
    {"o,output", "FILE", value_text, FIELD(output), NULL, NULL, "file"},
    {"quick", NULL, value_flag, FIELD(quick), NULL, NULL, "flag"},
    {"colour", "NAME", value_choice, FIELD(colour), "red|green|blue", "green", "choice"},
    {"count", "N", value_u32, FIELD(count), "1..16", "5", "range"},
    {"size", "N", value_u32, FIELD(size), "8|16|32", NULL, "alternatives"},
    {"range", "A..B", value_range, FIELD(range), "A..B", NULL, "two numbers"},
    {"width", "X", value_positive, FIELD(width), "0..100", NULL, "a number"},
    {"list", "LIST", value_list, FIELD(list), "1..4096", NULL, "numbers"},
    {"name", "TEXT", value_texts, FIELD(names), NULL, NULL, "any number of texts"},
    {"force", NULL, NULL, 0, NULL, NULL, NULL},
    {NULL, NULL, NULL, 0, NULL, NULL, NULL},
};
static const char *const older[][2] = {{"number", "count"}, {NULL, NULL}};
static const struct command command = {.name = "try",
                                       .operand = "file",
                                       .rows = rows,
                                       .older = older,
                                       .bytes = sizeof(struct settings)};

enum { MOST_WORDS = 16 };

static status_t read_words(const char *const *words, struct settings *out)
{
    static char copies[MOST_WORDS][64];
    static char *argv[MOST_WORDS + 1];
    int argc = 0;
    memset(out, 0, sizeof *out);
    report_clear();
    for (; words[argc]; argc++) {
        strcpy(copies[argc], words[argc]);
        argv[argc] = copies[argc];
    }
    argv[argc] = NULL;
    return options_read(&command, argc, argv, out);
}

static void values_are_read(void **state)
{
    (void)state;
    struct settings s;
    const char *const words[] = {"try",         "-o",     "a.h5",      "--quick", "--colour=blue",
                                 "--count=2^3", "--size", "16",        "--range", "-2..3.5",
                                 "--width=1e2", "--list", "256..1024", "in.h5",   NULL};
    assert_int_equal(read_words(words, &s), STATUS_OK);
    assert_string_equal(s.output, "a.h5");
    assert_int_equal(s.quick, 1);
    assert_int_equal(s.colour, 2);
    assert_int_equal(s.count, 8);
    assert_int_equal(s.size, 16);
    assert_true(s.range[0] == -2 && s.range[1] == 3.5 && s.width == 100);
    assert_int_equal(s.list.count, 3);
    assert_true(s.list.values[0] == 256 && s.list.values[1] == 512 && s.list.values[2] == 1024);
    assert_string_equal(s.shared.operand, "in.h5");
    assert_string_equal(options_first(&s, "force count quick"), "quick");
    assert_null(options_first(&s, "force name"));
    options_free(&s);
}

static void standards_hold_where_nothing_is_given(void **state)
{
    (void)state;
    struct settings s;
    const char *const words[] = {"try", "--name", "one", "in.h5", "--force", "--name=two", NULL};
    assert_int_equal(read_words(words, &s), STATUS_OK);
    assert_int_equal(s.colour, 1);
    assert_int_equal(s.count, 5);
    assert_true(!s.quick && !s.output && s.size == 0 && s.list.count == 0);
    assert_int_equal(s.shared.force, 1);
    assert_int_equal(s.names.count, 2);
    assert_string_equal(s.names.items[0], "one");
    assert_string_equal(s.names.items[1], "two");
    options_free(&s);
}

static void older_names_work(void **state)
{
    (void)state;
    struct settings s;
    const char *const words[] = {"try", "--number", "7", "in.h5", NULL};
    assert_int_equal(read_words(words, &s), STATUS_OK);
    assert_int_equal(s.count, 7);
    options_free(&s);
}

static void help_ends_it(void **state)
{
    (void)state;
    struct settings s;
    const char *const words[] = {"try", "--help", "--no-such-option", NULL};
    assert_int_equal(read_words(words, &s), STATUS_OK);
    assert_true(s.shared.help);
    options_free(&s);
}

static void refused(const char *a, const char *b, const char *message)
{
    struct settings s;
    const char *const words[] = {"try", a, b, NULL};
    assert_int_equal(read_words(words, &s), STATUS_USAGE);
    assert_string_equal(report_cause(), message);
    options_free(&s);
    report_clear();
}

static void wrong_ones_are_refused(void **state)
{
    (void)state;
    refused("--count=17", "a", "try --count 17: expected a whole number from 1 to 16");
    refused("--count=0", "a", "try --count 0: expected a whole number from 1 to 16");
    refused("--count=1.5", "a", "try --count 1.5: expected a whole number from 1 to 16");
    refused("--size=24", "a", "try --size 24: expected 8, 16 or 32");
    refused("--colour=pink", "a", "try --colour pink: expected red, green or blue");
    refused("--colourr=red", "a",
            "try: unknown option --colourr=red (did you mean --colour?); see voltmill try --help");
    refused("-x", "a", "try: unknown option -x; see voltmill try --help");
    refused("a", "--count", "try: option --count needs a value; see voltmill try --help");
    refused("a", "b", "try: expected one file, got 2; see voltmill try --help");
    refused("--quick", NULL, "try: expected one file, got 0; see voltmill try --help");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(standards_hold_where_nothing_is_given),
        cmocka_unit_test(older_names_work),
        cmocka_unit_test(help_ends_it),
        cmocka_unit_test(wrong_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
