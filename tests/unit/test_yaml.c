/* YAML files: every kind of mistake with its exact words, overrides, shorthands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "base/text.h"
#include "base/units.h"
#include "job/yaml/schema.h"
#include "job/yaml/yaml_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct member {
    char *name;
    double weight;
};

struct thing {
    uint32_t count;
    double ratio;
    int colour;
    char *title;
    uint64_t pair[2];
    char **names;
    uint32_t nnames;
    struct member *members;
    uint32_t nmembers;
    struct member lead;
};

static int check_title(const char *text, char *message)
{
    if (strcmp(text, "bad") == 0) {
        strcpy(message, "there is a better one");
        return 0;
    }
    return strcmp(text, "worse") != 0;
}

#define THING(member) SCHEMA_AT(struct thing, member)

static const struct schema member_rows[] = {
    {"name", SCHEMA_TEXT, SCHEMA_AT(struct member, name), .is_required = 1},
    {"weight", SCHEMA_NUMBER, SCHEMA_AT(struct member, weight)},
    {.key = NULL},
};
static const struct schema weighed_rows[] = {
    {"name", SCHEMA_TEXT, SCHEMA_AT(struct member, name), .is_required = 1},
    {"weight", SCHEMA_NUMBER, SCHEMA_AT(struct member, weight), .min = -1, .max = 1.5},
    {.key = NULL},
};
static const struct schema rows[] = {
    {"count", SCHEMA_WHOLE, THING(count), .is_required = 1, .may_be_auto = 1, .min = 1,
     .max = 1000000},
    {"ratio", SCHEMA_NUMBER, THING(ratio), .is_above = 1, .max = INFINITY},
    {"colour", SCHEMA_CHOICE, THING(colour), .choices = (const char *const[]){"red", "green", NULL},
     .values = (const int[]){1, 2}},
    {"title", SCHEMA_TEXT, THING(title), .expected = "a good title", .explain = check_title},
    {"pair", SCHEMA_WHOLE, SCHEMA_PAIR(struct thing, pair[0])},
    {"names", SCHEMA_TEXT, SCHEMA_LIST(struct thing, names, nnames, 1, 3)},
    {"members", SCHEMA_MAPPING, SCHEMA_LIST(struct thing, members, nmembers, 1, 9),
     .members = weighed_rows},
    {"lead", SCHEMA_MAPPING, THING(lead), .members = member_rows},
    {.key = NULL},
};

static void thing_free(struct thing *thing)
{
    if (thing) {
        schema_free(rows, thing);
        free(thing);
    }
}

static status_t parse(const char *text, const char *const *sets, uint32_t nsets, struct thing **out)
{
    struct mistakes mistakes = {.file = "t.yaml"};
    struct tree *root = NULL;
    struct thing *thing = calloc(1, sizeof *thing);
    assert_non_null(thing);
    status_t st = yaml_file_read(text, strlen(text), sets, nsets, NULL, &mistakes, &root);
    if (st == STATUS_OK) {
        st = schema_fill(root, rows, &mistakes, thing);
    }
    if (st == STATUS_OK) {
        st = mistakes_report(&mistakes);
    }
    *out = st == STATUS_OK ? thing : NULL;
    thing_free(*out ? NULL : thing);
    tree_destroy(root);
    mistakes_free(&mistakes);
    return st;
}

static void refused_with(const char *text, const char *const *sets, uint32_t nsets,
                         const char *message)
{
    struct thing *thing = NULL;
    report_clear();
    assert_int_equal(parse(text, sets, nsets, &thing), STATUS_USAGE);
    assert_null(thing);
    assert_string_equal(report_cause(), message);
    report_clear();
}

static void refused(const char *text, const char *message)
{
    refused_with(text, NULL, 0, message);
}

static void set_refused(const char *set, const char *message)
{
    refused_with("count: 1\nmembers: [{name: a}]\n", &set, 1, message);
}

static struct thing *accepted(const char *text, const char *const *sets, uint32_t nsets)
{
    struct thing *thing = NULL;
    report_clear();
    status_t st = parse(text, sets, nsets, &thing);
    assert_string_equal(report_cause(), "");
    assert_int_equal(st, STATUS_OK);
    return thing;
}

static void whole_numbers(void **state)
{
    (void)state;
    static const char *const good[] = {"count: 1000000",     "count: 1e6",     "count: 1000000.0",
                                       "count: \"1000000\"", "count: +1.0E+6", "count: 001000000"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct thing *thing = accepted(good[i], NULL, 0);
        assert_int_equal(thing->count, 1000000);
        thing_free(thing);
    }
    static const char *const bad[] = {"0",    "1000001", "-3",   "1.5",        "eight",
                                      "0x10", "1_000",   ".inf", "4294967297", "1e400"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        char message[128];
        snprintf(text, sizeof text, "\ncount: %s", bad[i]);
        snprintf(message, sizeof message,
                 "t.yaml:2: count: is %s, expected auto or a whole number from 1 to 1000000",
                 bad[i]);
        refused(text, message);
    }
}

static void numbers(void **state)
{
    (void)state;
    struct thing *thing = accepted("count: 1\nratio: 16e6", NULL, 0);
    assert_true(thing->ratio == 16e6);
    thing_free(thing);
    static const char *const bad[] = {"0", "-1e-3", ".nan", "inf", "1e999", "0x1p3", "1,5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        char message[128];
        const char *quote = strchr(bad[i], ',') ? "\"" : "";
        snprintf(text, sizeof text, "count: 1\nratio: %s", bad[i]);
        snprintf(message, sizeof message, "t.yaml:2: ratio: is %s%s%s, expected a number above 0",
                 quote, bad[i], quote);
        refused(text, message);
    }
    refused("count: 1\nmembers:\n- name: a\n  weight: 1.6\n",
            "t.yaml:4: members.0.weight: is 1.6, expected a number from -1 to 1.5");
}

static void keys(void **state)
{
    (void)state;
    refused("count: 1\nratoi: 2", "t.yaml:2: ratoi: unknown key, did you mean ratio?");
    refused("count: 1\nlead:\n  nmae: x\n  name: y",
            "t.yaml:3: lead.nmae: unknown key, did you mean name?");
    refused("count: 1\nsomething: 2",
            "t.yaml:2: something: unknown key, expected one of count, ratio, colour, title, pair, "
            "names, members, lead");
    refused("cuont: 1", "t.yaml:1: cuont: unknown key, did you mean count?");
    refused("count: 1\nmembxyz: 2",
            "t.yaml:2: membxyz: unknown key, expected one of count, ratio, colour, title, pair, "
            "names, members, lead");
    refused("count: 1\nratio: 2\ncount: 3", "t.yaml:3: count: given twice, first in line 1");
    refused("ratio: 1", "t.yaml:1: count: is missing, expected auto or a whole number from 1 to "
                        "1000000");
    refused("count: 1\nmembers:\n- name: a\n- weight: 1\n",
            "t.yaml:4: members.1.name: is missing, expected a text");
    refused("[count]: 1", "t.yaml:1: a key must be a single word");
}

static void kinds(void **state)
{
    (void)state;
    refused("count: [1]", "t.yaml:1: count: is a list, expected auto or a whole number from 1 to "
                          "1000000");
    refused("count:", "t.yaml:1: count: is empty, expected auto or a whole number from 1 to "
                      "1000000");
    refused("count: 1\ntitle: {a: 1}", "t.yaml:2: title: is a mapping, expected a good title");
    refused("count: 1\ntitle: ''", "t.yaml:2: title: is empty, expected a good title");
    refused("count: 1\ntitle: worse", "t.yaml:2: title: is worse, expected a good title");
    refused("count: 1\ntitle: bad", "t.yaml:2: title: is bad: there is a better one");
    refused("count: 1\nlead: x",
            "t.yaml:2: lead: is x, expected a mapping with the keys name, weight");
    refused("count: 1\nlead:\n  - x",
            "t.yaml:2: lead: is a list, expected a mapping with the keys name, weight");
    refused("count: 1\nmembers: two words", "t.yaml:2: members: is \"two words\", expected a list");
    refused("count: 1\nmembers: [a]",
            "t.yaml:2: members.0: is a, expected a mapping with the keys name, weight");
    refused("count: 1\ncolour: blue", "t.yaml:2: colour: is blue, expected one of red, green");
    refused("count: 1\ncolour: 1", "t.yaml:2: colour: is 1, expected one of red, green");
    refused("count: 1\nnames: []", "t.yaml:2: names: has 0 entries, expected at least 1");
    refused("count: 1\nnames: [a, b, c, d]", "t.yaml:2: names: has 4 entries, expected at most 3");
    refused("count: 1\npair: [1]", "t.yaml:2: pair: has 1 entry, expected 2");
    refused("count: 1\npair: 1", "t.yaml:2: pair: is 1, expected a list");
    refused("count: 1\npair: [1, x]", "t.yaml:2: pair.1: is x, expected a whole number");
    refused("- count", "t.yaml:1: is a list, expected a mapping with the keys count, ratio, "
                       "colour, title, pair, names, members, lead");
}

static void long_values_are_cut(void **state)
{
    (void)state;
    refused("count: 1\ncolour: \"a\\tb\xC3\xA9\"",
            "t.yaml:2: colour: is \"a?b\xC3\xA9\", expected one of red, green");
    refused("count: 1\ncolour: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk",
            "t.yaml:2: colour: is abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh..., "
            "expected one of red, green");
}

static void no_documents(void **state)
{
    (void)state;
    refused("", "t.yaml: is empty, expected keys and values");
    refused("# nothing but a comment\n", "t.yaml: is empty, expected keys and values");
    refused("---\n...\n", "t.yaml: is empty, expected keys and values");
    refused("count: 1\n---\ncount: 2\n",
            "t.yaml:2: a second document begins here, expected one document");
    refused("count: 1\nratio: [1, 2\ncolour: red\n",
            "t.yaml:3: is no YAML: did not find expected ',' or ']', while parsing a flow sequence "
            "of line 2");
    refused("count: @1\n", "t.yaml:1: is no YAML: found character that cannot start any token, "
                           "while scanning for the next token");
    refused("count: 1\nlead:\n\tname: x\n",
            "t.yaml:3: is no YAML: tabs may not indent, expected spaces");
    refused("count: 1\nlead:\n  name: x\n\tother: y\n",
            "t.yaml:4: is no YAML: tabs may not indent, expected spaces");
    refused("count: 1\nratio: \xFF\n", "t.yaml:2: is no YAML: invalid leading UTF-8 octet");
    refused("count: 1\ntitle: \"a\\0b\"\n", "t.yaml:2: a text contains a NUL character");
    refused("\"count\\0x\": 1\n", "t.yaml:1: a key contains a NUL character");
}

static void absurd_documents(void **state)
{
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(text_add(&text, "["), STATUS_OK);
    }
    refused(text.data, "t.yaml:1: contains too much: more than 16 levels or 262456 values");
    text_free(&text);
    /* Each alias repeats the list before it ten times: ten thousand million values. */
    assert_int_equal(text_add(&text, "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"), STATUS_OK);
    for (int i = 1; i < 10; i++) {
        int j = i - 1;
        assert_int_equal(text_add(&text,
                                  "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n",
                                  i, i, j, j, j, j, j, j, j, j, j, j),
                         STATUS_OK);
    }
    refused(text.data, "t.yaml:6: contains too much: more than 16 levels or 262174 values");
    text_free(&text);
    assert_int_equal(text_add(&text, "%*s\n", 1 << 20, "count: 1"), STATUS_OK);
    refused(text.data, "t.yaml: contains 1048577 bytes, expected a file of at most 1048576");
    text_free(&text);
}

static void aliases(void **state)
{
    (void)state;
    struct thing *thing =
        accepted("count: 1\nlead: &x {name: a, weight: 1}\nmembers: [{name: b}, *x]\n"
                 "ratio: &r 3\ntitle: *r\n",
                 NULL, 0);
    assert_string_equal(thing->members[1].name, "a");
    assert_true(thing->members[1].weight == 1);
    assert_string_equal(thing->title, "3");
    thing_free(thing);
    /* A mistake in a copy is told where its text stands. */
    refused("count: 1\nlead: &x {name: a, weight: 2}\nmembers:\n- *x\n",
            "t.yaml:2: members.0.weight: is 2, expected a number from -1 to 1.5");
}

static void alias_mistakes(void **state)
{
    (void)state;
    refused("count: *x", "t.yaml:1: the alias *x stands for nothing: no complete &x before it");
    refused("count: 1\nnames: &n [*n]",
            "t.yaml:2: the alias *n stands for nothing: no complete &n before it");
}

static void overrides(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "count=1e3",           "lead.name=b c", "names.1=y",   "members.0.name=z",
        "members.1={name: w}", "ratio=2",       "pair=[4, 5]", "ratio=3"};
    struct thing *thing = accepted("count: none\nnames: [a]\n", sets, 8);
    assert_int_equal(thing->count, 1000);
    assert_string_equal(thing->lead.name, "b c");
    assert_int_equal(thing->nnames, 2);
    assert_string_equal(thing->names[0], "a");
    assert_string_equal(thing->names[1], "y");
    assert_int_equal(thing->nmembers, 2);
    assert_string_equal(thing->members[0].name, "z");
    assert_string_equal(thing->members[1].name, "w");
    assert_true(thing->ratio == 3);
    assert_int_equal(thing->pair[1], 5);
    thing_free(thing);
}

static void override_mistakes(void **state)
{
    (void)state;
    set_refused("count", "--set count: expected key.path=value, such as channelise.taps=16");
    set_refused("=1", "--set =1: expected key.path=value, such as channelise.taps=16");
    set_refused("a..b=1", "--set a..b=1: expected key.path=value, such as channelise.taps=16");
    set_refused("a.=1", "--set a.=1: expected key.path=value, such as channelise.taps=16");
    set_refused("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1",
                "--set a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1: expected key.path=value, such as "
                "channelise.taps=16");
    set_refused("count=0", "--set count=0: count: is 0, expected auto or a whole number from 1 to "
                           "1000000");
    set_refused("count.x=0", "--set count.x=0: count is a single value: it contains no x");
    set_refused("members.name=b",
                "--set members.name=b: members is a list: expected a number from 0 to 1, not name");
    set_refused("members.2.name=b",
                "--set members.2.name=b: members is a list: expected a number from 0 to 1, not 2");
    set_refused("count=", "--set count=: count: is empty, expected auto or a whole number from 1 "
                          "to 1000000");
    set_refused("title=[", "--set title=[: is no YAML: did not find expected node content, while "
                           "parsing a flow node");
    set_refused("lead.wieght=1\n",
                "t.yaml has 2 mistakes:\n"
                "  --set lead.wieght=1\\n: lead.wieght: unknown key, did you mean weight?\n"
                "  --set lead.wieght=1\\n: lead.name: is missing, expected a text");
}

static void shorthands(void **state)
{
    (void)state;
    static const char *const set = "names.1=b";
    struct thing *thing = accepted("count: 1\nnames: a\nmembers: {name: m}\nlead:\n", &set, 1);
    assert_int_equal(thing->nnames, 2);
    assert_string_equal(thing->names[0], "a");
    assert_int_equal(thing->nmembers, 1);
    assert_string_equal(thing->members[0].name, "m");
    assert_null(thing->lead.name);
    thing_free(thing);
}

static void quoted_words_stay_texts(void **state)
{
    (void)state;
    struct thing *thing = accepted("count: 1\nnames: ['null', \"~\", 'a: b # c']\n"
                                   "title: \"two\\nlines \\xE9 'x' \"\n",
                                   NULL, 0);
    assert_string_equal(thing->names[0], "null");
    assert_string_equal(thing->names[1], "~");
    assert_string_equal(thing->names[2], "a: b # c");
    assert_string_equal(thing->title, "two\nlines \xC3\xA9 'x' ");
    thing_free(thing);
}

static void many_mistakes_come_in_order(void **state)
{
    (void)state;
    static const char *const sets[] = {"pair=x", "colour=2"};
    refused_with("ratio: 0\n\nlead: 1\ntitle: worse\ncount: 0\n", sets, 2,
                 "t.yaml has 6 mistakes:\n"
                 "  t.yaml:1: ratio: is 0, expected a number above 0\n"
                 "  t.yaml:3: lead: is 1, expected a mapping with the keys name, weight\n"
                 "  t.yaml:4: title: is worse, expected a good title\n"
                 "  t.yaml:5: count: is 0, expected auto or a whole number from 1 to 1000000\n"
                 "  --set pair=x: pair: is x, expected a list\n"
                 "  --set colour=2: colour: is 2, expected one of red, green");
}

static void very_many_mistakes_are_counted(void **state)
{
    (void)state;
    struct text text = {0};
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(text_add(&text, "key%d: 1\n", i), STATUS_OK);
    }
    struct thing *thing = NULL;
    report_clear();
    assert_int_equal(parse(text.data, NULL, 0, &thing), STATUS_USAGE);
    assert_non_null(
        strstr(report_cause(), "t.yaml has 5001 mistakes:\n  t.yaml:1: key0: unknown "));
    assert_non_null(strstr(report_cause(), "\n  and 4961 more"));
    report_clear();
    text_free(&text);
}

struct tray {
    int has_first;
    uint32_t first;
    uint64_t room;
    struct utc start;
    char *word;
    double *dms;
    uint32_t ndms;
};

#define TRAY(member) SCHEMA_AT(struct tray, member)

static const struct schema list_rows[] = {
    {"list", SCHEMA_NUMBER, SCHEMA_LIST(struct tray, dms, ndms, 1, 3)},
    {.key = NULL},
};
static const struct schema tray_rows[] = {
    {"first", SCHEMA_WHOLE, TRAY(first), .unless = "word", .is_even = 1,
     SCHEMA_GIVEN(struct tray, has_first, 1)},
    {"room", SCHEMA_BYTES, TRAY(room), .max = 0x1p40, .otherwise = "1GiB", .expected = "an amount"},
    {"start", SCHEMA_UTC, TRAY(start), .otherwise = "2000-01-01", .expected = "a date"},
    {"word", SCHEMA_TEXT, TRAY(word), .otherwise = "some"},
    {"dms", SCHEMA_MAPPING, .members = list_rows, .list_key = "list"},
    {.key = NULL},
};

/* Fills *tray from `text`; the mistakes are left in report_cause(). */
static status_t fill_tray(const char *text, struct tray *tray)
{
    struct mistakes mistakes = {.file = "t.yaml"};
    struct tree *root = NULL;
    *tray = (struct tray){0};
    report_clear();
    assert_int_equal(yaml_file_read(text, strlen(text), NULL, 0, NULL, &mistakes, &root),
                     STATUS_OK);
    assert_int_equal(schema_fill(root, tray_rows, &mistakes, tray), STATUS_OK);
    status_t st = mistakes_report(&mistakes);
    tree_destroy(root);
    mistakes_free(&mistakes);
    return st;
}

static void what_is_left_out_has_its_default(void **state)
{
    (void)state;
    struct tray tray;
    assert_int_equal(fill_tray("first: 2\ndms: [1, 5]\n", &tray), STATUS_OK);
    assert_true(tray.has_first && tray.first == 2 && tray.room == 1 << 30);
    assert_int_equal(tray.start.mjd_day, 51544);
    assert_string_equal(tray.word, "some");
    assert_true(tray.ndms == 2 && tray.dms[1] == 5);
    schema_free(tray_rows, &tray);
    assert_int_equal(fill_tray("word: x\nroom: 2k", &tray), STATUS_OK);
    assert_true(!tray.has_first && tray.room == 2000 && tray.ndms == 0);
    assert_string_equal(tray.word, "x");
    schema_free(tray_rows, &tray);
    /* An error has it, too, for checks of several keys. */
    assert_int_equal(fill_tray("first: 3\nroom: 2T\nstart: 2000-13-01\nword: []\n", &tray),
                     STATUS_USAGE);
    assert_string_equal(report_cause(), "t.yaml has 4 mistakes:\n"
                                        "  t.yaml:1: first: is 3, expected an even whole number\n"
                                        "  t.yaml:2: room: is 2T, expected an amount\n"
                                        "  t.yaml:3: start: is 2000-13-01, expected a date\n"
                                        "  t.yaml:4: word: is a list, expected a text");
    assert_true(tray.room == 1 << 30 && tray.start.mjd_day == 51544);
    assert_string_equal(tray.word, "some");
    schema_free(tray_rows, &tray);
    assert_int_equal(fill_tray("dms:\n  list: [1, 2, 3, 4]\n", &tray), STATUS_USAGE);
    assert_string_equal(report_cause(),
                        "t.yaml has 2 mistakes:\n"
                        "  t.yaml:1: first: is missing, expected an even whole number\n"
                        "  t.yaml:2: dms.list: has 4 entries, expected at most 3");
    schema_free(tray_rows, &tray);
    report_clear();
}

static void checks_of_several_keys(void **state)
{
    (void)state;
    static const char text[] = "count: 1\nmembers:\n- name: a\n-\n  name: b\npair: [1]\nratio: 0\n";
    struct mistakes mistakes = {.file = "t.yaml"};
    struct thing thing = {0};
    struct tree *root = NULL;
    assert_int_equal(yaml_file_read(text, strlen(text), NULL, 0, NULL, &mistakes, &root),
                     STATUS_OK);
    assert_int_equal(schema_fill(root, rows, &mistakes, &thing), STATUS_OK);
    assert_string_equal(tree_value(root, "members.1.name"), "b");
    assert_true(tree_says(root, "members.1.name", "b"));
    assert_false(tree_says(root, "members.1.weight", "b"));
    assert_null(tree_value(root, "members.2.name"));
    assert_null(tree_value(root, "members"));
    assert_null(tree_value(root, "pair.0"));
    assert_null(tree_value(root, "ratio"));
    assert_true(tree_number(root, "ratio", 7) == 7);
    assert_true(tree_number(root, "count", 7) == 1);
    assert_int_equal(tree_count(root, "members"), 2);
    assert_int_equal(tree_count(root, "names"), 0);
    assert_int_equal(tree_at(root, "members.1.name")->line, 5);
    assert_int_equal(tree_at(root, "members")->line, 2);
    assert_null(tree_at(root, "names"));
    mistakes_if(1, &mistakes, root, "members.1.weight", "is %d", 5);
    mistakes_if(0, &mistakes, root, "members.1.name", "is right");
    assert_int_equal(mistakes_report(&mistakes), STATUS_USAGE);
    assert_string_equal(report_cause(), "t.yaml has 3 mistakes:\n"
                                        "  t.yaml:5: members.1.weight: is 5\n"
                                        "  t.yaml:6: pair: has 1 entry, expected 2\n"
                                        "  t.yaml:7: ratio: is 0, expected a number above 0");
    report_clear();
    schema_free(rows, &thing);
    tree_destroy(root);
    mistakes_keep(&mistakes, STATUS_DEVICE);
    mistakes_keep(&mistakes, STATUS_OK);
    assert_int_equal(mistakes_report(&mistakes), STATUS_DEVICE);
    mistakes_free(&mistakes);
}

static void writing_forgets_style(void **state)
{
    (void)state;
    static const char *const same[] = {
        "a: [1, 'two', \"x: y\"]\nb: {c: d}\n",
        "# comment\n'a':\n  - 1\n  - two\n  - 'x: y'\n\nb:\n   c: d"};
    for (size_t i = 0; i < 2; i++) {
        struct mistakes mistakes = {.file = "t.yaml"};
        struct tree *root = NULL;
        struct text text = {0};
        assert_int_equal(tree_read(same[i], strlen(same[i]), NULL, &mistakes, &root), STATUS_OK);
        assert_int_equal(tree_write(root, NULL, NULL, &text), STATUS_OK);
        assert_string_equal(text.data, "a:\n- 1\n- two\n- 'x: y'\nb:\n  c: d\n");
        text_free(&text);
        tree_destroy(root);
        mistakes_free(&mistakes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(numbers),
        cmocka_unit_test(keys),
        cmocka_unit_test(kinds),
        cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(no_documents),
        cmocka_unit_test(absurd_documents),
        cmocka_unit_test(aliases),
        cmocka_unit_test(alias_mistakes),
        cmocka_unit_test(overrides),
        cmocka_unit_test(override_mistakes),
        cmocka_unit_test(shorthands),
        cmocka_unit_test(quoted_words_stay_texts),
        cmocka_unit_test(many_mistakes_come_in_order),
        cmocka_unit_test(very_many_mistakes_are_counted),
        cmocka_unit_test(what_is_left_out_has_its_default),
        cmocka_unit_test(checks_of_several_keys),
        cmocka_unit_test(writing_forgets_style),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
