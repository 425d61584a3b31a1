/* Structs as bytes by tables of their fields: what was packed comes back, and no byte that is
 * missing or wrong is believed. */
#include "io/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

struct item {
    char *name;
    uint32_t small;
};

struct all {
    int64_t signed_wide;
    int32_t signed_small;
    uint32_t small;
    double number;
    char *text, *nothing;
    unsigned char bytes[3];
    uint32_t nitems;
    struct item *items;
    uint64_t nnumbers;
    double *numbers;
    uint64_t npairs;
    uint64_t (*pairs)[2];
};

static const struct pack_field item_fields[] = {PACK_FIELD(struct item, name),
                                                PACK_FIELD(struct item, small)};
static const struct pack_type item_type = PACK_TYPE(struct item, item_fields);
#define FIELD(name) PACK_FIELD(struct all, name)
static const struct pack_field fields[] = {
    FIELD(signed_wide),
    FIELD(signed_small),
    FIELD(small),
    FIELD(number),
    FIELD(text),
    FIELD(nothing),
    FIELD(bytes),
    PACK_LIST(struct all, items, nitems, &item_type),
    FIELD(nnumbers),
    PACK_COUNTED(struct all, numbers, nnumbers, &pack_numbers),
    PACK_LIST(struct all, pairs, npairs, &pack_pairs),
};
static const struct pack_type type = PACK_TYPE(struct all, fields);

/* Packed byte by byte, but for its pointers. */
static const struct pack_field whole_item_pointers[] = {PACK_FIELD(struct item, name)};
static const struct pack_type whole_item_type = PACK_WHOLE(struct item, whole_item_pointers);
static const struct pack_field whole_pointers[] = {
    FIELD(text),
    FIELD(nothing),
    PACK_LIST(struct all, items, nitems, &whole_item_type),
    PACK_COUNTED(struct all, numbers, nnumbers, &pack_numbers),
    PACK_KEPT(struct all, pairs, npairs, NULL),
};
static const struct pack_type whole_type = PACK_WHOLE(struct all, whole_pointers);

static struct text packed_as(const struct pack_type *as)
{
    char one[] = "one";
    struct item items[] = {{one, 1}, {NULL, UINT32_MAX}};
    double numbers[] = {1.5, -2, 3};
    uint64_t pairs[][2] = {{1, 2}, {UINT64_MAX, 4}};
    char text[] = "text";
    struct all all = {.signed_wide = INT64_MIN,
                      .signed_small = -7,
                      .small = UINT32_MAX,
                      .number = 0.1,
                      .text = text,
                      .bytes = {1, 2, 3},
                      .nitems = 2,
                      .items = items,
                      .nnumbers = 3,
                      .numbers = numbers,
                      .npairs = 2,
                      .pairs = pairs};
    struct text out = {0};
    assert_int_equal(pack_struct(&out, &all, as), STATUS_OK);
    return out;
}

static struct text packed(void)
{
    return packed_as(&type);
}

static void unpacked_free(struct all *all)
{
    for (uint32_t i = 0; i < all->nitems; i++) {
        free(all->items[i].name);
    }
    free(all->items);
    free(all->numbers);
    free(all->pairs);
    free(all->text);
    free(all->nothing);
}

static status_t unpacked(const char *data, size_t length, struct all *out)
{
    struct unpack in = {.data = data, .length = length};
    memset(out, 0, sizeof *out);
    unpack_struct(&in, out, &type);
    status_t st = unpack_check(&in, "a struct");
    report_clear();
    return st;
}

static void comes_back(void **state)
{
    (void)state;
    struct text bytes = packed();
    struct all all;
    assert_int_equal(unpacked(bytes.data, bytes.length, &all), STATUS_OK);
    assert_true(all.signed_wide == INT64_MIN && all.signed_small == -7);
    assert_true(all.small == UINT32_MAX && all.number == 0.1);
    assert_string_equal(all.text, "text");
    assert_null(all.nothing);
    assert_memory_equal(all.bytes, "\1\2\3", 3);
    assert_int_equal(all.nitems, 2);
    assert_string_equal(all.items[0].name, "one");
    assert_null(all.items[1].name);
    assert_int_equal(all.items[1].small, UINT32_MAX);
    assert_int_equal(all.nnumbers, 3);
    assert_true(all.numbers[0] == 1.5 && all.numbers[1] == -2 && all.numbers[2] == 3);
    assert_int_equal(all.npairs, 2);
    assert_true(all.pairs[1][0] == UINT64_MAX && all.pairs[1][1] == 4);
    unpacked_free(&all);
    text_free(&bytes);
}

static void whole_struct_comes_back_without_foreign_pointers(void **state)
{
    (void)state;
    struct text bytes = packed_as(&whole_type);
    struct all all;
    struct unpack in = {.data = bytes.data, .length = bytes.length};
    memset(&all, 0xff, sizeof all);
    unpack_struct(&in, &all, &whole_type);
    assert_int_equal(unpack_check(&in, "a struct"), STATUS_OK);
    assert_true(all.signed_wide == INT64_MIN && all.signed_small == -7 && all.number == 0.1);
    assert_memory_equal(all.bytes, "\1\2\3", 3);
    assert_string_equal(all.text, "text");
    assert_null(all.nothing);
    assert_int_equal(all.nitems, 2);
    assert_string_equal(all.items[0].name, "one");
    assert_int_equal(all.items[1].small, UINT32_MAX);
    assert_true(all.numbers[2] == 3);
    assert_null(all.pairs);
    assert_int_equal(all.npairs, 0);
    unpacked_free(&all);
    for (size_t length = 0; length < bytes.length; length++) {
        in = (struct unpack){.data = bytes.data, .length = length};
        unpack_struct(&in, &all, &whole_type);
        assert_int_equal(unpack_check(&in, "a struct"), STATUS_DATA);
        report_clear();
        unpacked_free(&all);
    }
    text_free(&bytes);
}

static void what_is_cut_is_refused(void **state)
{
    (void)state;
    struct text bytes = packed();
    struct all all;
    for (size_t length = 0; length < bytes.length; length++) {
        char *cut = malloc(length + 1); /* so that a sanitizer sees a byte too much */
        memcpy(cut, bytes.data, length);
        char *exact = realloc(cut, length ? length : 1);
        assert_int_equal(unpacked(exact, length, &all), STATUS_DATA);
        unpacked_free(&all);
        free(exact);
    }
    text_free(&bytes);
}

/* Any eight bytes may hold a count or a length: none makes it read or allocate beyond what is
 * there. */
static void no_count_is_believed(void **state)
{
    (void)state;
    static const uint64_t wrong[] = {1,          4,          1000,           UINT32_MAX,
                                     1ULL << 32, 1ULL << 61, UINT64_MAX / 8, UINT64_MAX};
    struct text bytes = packed();
    struct all all;
    for (size_t at = 0; at + 8 <= bytes.length; at++) {
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            char *changed = malloc(bytes.length);
            memcpy(changed, bytes.data, bytes.length);
            memcpy(changed + at, &wrong[i], sizeof wrong[i]);
            status_t st = unpacked(changed, bytes.length, &all);
            assert_true(st == STATUS_OK || st == STATUS_DATA);
            unpacked_free(&all);
            free(changed);
        }
    }
    text_free(&bytes);
}

static void counts_must_agree(void **state)
{
    (void)state;
    struct text bytes = packed();
    struct all all;
    const uint64_t three[] = {3, 3}; /* nnumbers, and the length of the list */
    char *found = memmem(bytes.data, bytes.length, three, sizeof three);
    assert_non_null(found);
    found[0] = 2;
    assert_int_equal(unpacked(bytes.data, bytes.length, &all), STATUS_DATA);
    unpacked_free(&all);
    text_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),
        cmocka_unit_test(whole_struct_comes_back_without_foreign_pointers),
        cmocka_unit_test(what_is_cut_is_refused),
        cmocka_unit_test(no_count_is_believed),
        cmocka_unit_test(counts_must_agree),
    };
    return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
