/* Stored numbers made into those that are handed out, against a reader of single bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "input/read/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 777, BYTES = (COUNT + 64) * 8 };

static unsigned char stored[BYTES];
static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 16 ^ state >> 40;
}

/* Bits of number `index`, as an unsigned integer. */
static uint64_t reference_code(const struct archive_number *number, uint64_t index)
{
    uint64_t code = 0;
    uint32_t bits = number->bits;
    if (bits < 8) {
        uint64_t in_byte = index * bits % 8;
        uint32_t shift = (uint32_t)(number->is_high_bit_first ? 8 - bits - in_byte : in_byte);
        return ((uint32_t)stored[index * bits / 8] >> shift) & ((1u << bits) - 1);
    }
    for (uint32_t i = 0; i < bits / 8; i++) {
        uint64_t byte = stored[index * bits / 8 + i];
        code |= byte << 8 * (number->is_big_endian ? bits / 8 - 1 - i : i);
    }
    return code;
}

static double reference_half(uint64_t code)
{
    double sign = code & 0x8000 ? -1 : 1;
    int exponent = (int)(code >> 10 & 31);
    double fraction = (double)(code & 1023);
    return exponent == 31  ? (fraction > 0 ? NAN : sign * INFINITY)
           : exponent == 0 ? sign * ldexp(fraction, -24)
                           : sign * ldexp(1024 + fraction, exponent - 25);
}

static double reference_value(const struct archive_number *number, uint64_t code)
{
    uint32_t bits = number->bits;
    if (number->kind == NUMBER_LEVELS) {
        return number->levels[code];
    }
    if (number->kind == NUMBER_FLOAT) {
        uint32_t low = (uint32_t)code;
        double large;
        float small;
        memcpy(&small, &low, 4);
        memcpy(&large, &code, 8);
        return bits == 16 ? reference_half(code) : bits == 32 ? (double)small : large;
    }
    int is_negative = number->kind == NUMBER_SIGNED && code >> (bits - 1) & 1;
    double value = is_negative && bits == 64 ? (double)(int64_t)code
                   : is_negative             ? (double)code - ldexp(1, (int)bits)
                                             : (double)code;
    return value - number->offset;
}

static double handed_out(const struct archive *archive, const void *data, uint64_t index)
{
    return archive->format == SAMPLE_I8    ? ((const int8_t *)data)[index]
           : archive->format == SAMPLE_I16 ? ((const int16_t *)data)[index]
                                           : (double)((const float *)data)[index];
}

/* Equal, or neither a number. */
static void assert_same(double found, double expected)
{
    int same = found == expected || (isnan(found) && isnan(expected));
    if (!same) {
        print_message("%.17g instead of %.17g\n", found, expected);
    }
    assert_true(same);
}

static struct archive archive_of(struct archive_number number, int is_dc_at_edge)
{
    static char path[] = "file";
    static struct archive_part part = {.path = path};
    return (struct archive){.parts = &part,
                            .nparts = 1,
                            .is_complex = 1,
                            .scale = 1,
                            .stored.number = number,
                            .stored.is_dc_at_edge = is_dc_at_edge};
}

static void check(struct archive_number number, int is_dc_at_edge, enum sample_format expected)
{
    struct archive archive = archive_of(number, is_dc_at_edge);
    numbers_t *numbers = NULL;
    for (size_t i = 0; i < BYTES; i++) {
        stored[i] = (unsigned char)random_bits();
    }
    assert_int_equal(numbers_settle(&archive), STATUS_OK);
    assert_int_equal(archive.format, expected);
    assert_int_equal(archive.stored.element_bytes, sample_types[expected].bytes);
    assert_int_equal(numbers_create(&archive, &numbers), STATUS_OK);
    assert_int_equal(numbers->stored.bits, number.bits);
    assert_int_equal(numbers->bytes, sample_types[expected].bytes);
    for (uint64_t first = 0; first < 18; first++) {
        for (uint64_t count = 0; count < COUNT; count += count < 20 ? 1 : 251) {
            char *made = malloc(count * 4 + 1);
            made[count * numbers->bytes] = 0x5a;
            uint64_t whole = number.bits >= 8 ? first * number.bits / 8 : 0;
            numbers_make(numbers, stored + whole, first * number.bits - 8 * whole, count, made);
            numbers_turn(numbers, first, count / 3, 3, made);
            for (uint64_t i = 0; i < count; i++) {
                uint64_t code = reference_code(&number, first + i);
                double value = reference_value(&number, code);
                int is_odd = (first + i / 3) % 2 == 1 && i / 3 < count / 3;
                value = is_dc_at_edge && is_odd ? -value : value;
                value = expected == SAMPLE_F32 ? (double)(float)value : value;
                assert_same(archive.scale * handed_out(&archive, made, i), value);
            }
            assert_int_equal(made[count * numbers->bytes], 0x5a);
            free(made);
        }
    }
    numbers_destroy(numbers);
}

static void integers(void **context)
{
    (void)context;
    const enum sample_format by_bits[] = {SAMPLE_I8,  SAMPLE_I8,  SAMPLE_I8, SAMPLE_I8,
                                          SAMPLE_I16, SAMPLE_F32, SAMPLE_F32};
    const uint32_t bits[] = {1, 2, 4, 8, 16, 32, 64};
    for (int i = 0; i < 7; i++) {
        for (int big = 0; big < 2; big++) {
            struct archive_number number = {.kind = NUMBER_SIGNED,
                                            .bits = bits[i],
                                            .is_big_endian = big,
                                            .is_high_bit_first = big};
            check(number, 0, by_bits[i]);
            check(number, 1, bits[i] == 8 ? SAMPLE_I16 : bits[i] == 16 ? SAMPLE_F32 : by_bits[i]);
            number.kind = NUMBER_UNSIGNED;
            check(number, 0, bits[i] == 8 ? SAMPLE_I16 : bits[i] == 16 ? SAMPLE_F32 : by_bits[i]);
            number.offset = ldexp(1, (int)bits[i] - 1);
            check(number, 0, by_bits[i]);
            number.offset += 0.5;
            /* doubled, where that is a number of two bytes */
            check(number, 1, bits[i] == 8 ? SAMPLE_I16 : SAMPLE_F32);
        }
    }
    check((struct archive_number){.kind = NUMBER_SIGNED, .bits = 8, .offset = 100}, 0, SAMPLE_I16);
    for (int big = 0; big < 2; big++) {
        struct archive_number number = {.kind = NUMBER_SIGNED, .bits = 24, .is_big_endian = big};
        check(number, 0, SAMPLE_F32);
        number.has_missing = 1; /* one that is there */
        number.missing = -1;
        check(number, 0, SAMPLE_F32);
    }
}

static void floats(void **context)
{
    (void)context;
    for (uint32_t bits = 16; bits <= 64; bits *= 2) {
        for (int big = 0; big < 2; big++) {
            const struct archive_number number = {
                .kind = NUMBER_FLOAT, .bits = bits, .is_big_endian = big};
            check(number, 0, SAMPLE_F32);
            check(number, 1, SAMPLE_F32);
        }
    }
}

/* Every half there is. */
static void halves(void **context)
{
    (void)context;
    struct archive archive =
        archive_of((struct archive_number){.kind = NUMBER_FLOAT, .bits = 16}, 0);
    numbers_t *numbers = NULL;
    assert_int_equal(numbers_settle(&archive), STATUS_OK);
    assert_int_equal(numbers_create(&archive, &numbers), STATUS_OK);
    for (uint32_t code = 0; code < 65536; code++) {
        const unsigned char bytes[2] = {(unsigned char)code, (unsigned char)(code >> 8)};
        float made;
        numbers_make(numbers, bytes, 0, 1, &made);
        assert_same((double)made, reference_half(code));
    }
    numbers_destroy(numbers);
}

static void levels(void **context)
{
    (void)context;
    for (uint32_t bits = 1; bits <= 4; bits *= 2) {
        for (int high = 0; high < 2; high++) {
            struct archive_number number = {
                .kind = NUMBER_LEVELS, .bits = bits, .is_high_bit_first = high};
            for (int i = 0; i < 16; i++) {
                number.levels[i] = (i * 7 - 52) / 2.95;
            }
            check(number, 0, SAMPLE_F32);
            check(number, 1, SAMPLE_F32);
            for (int i = 0; i < 16; i++) {
                number.levels[i] = i * 17 - 128;
            }
            check(number, 0, SAMPLE_I8);
            number.levels[1] = 3000;
            check(number, 0, SAMPLE_I16);
        }
    }
}

/* Numbers stored as `missing` become NaN if they could be read as another number. */
static void missing(void **context)
{
    (void)context;
    struct archive archive =
        archive_of((struct archive_number){.kind = NUMBER_UNSIGNED, .bits = 8, .offset = 128}, 0);
    numbers_t *numbers = NULL;
    const unsigned char bytes[4] = {0, 5, 128, 255};
    float made[8];
    archive.stored.has_missing_value = 1;
    archive.stored.missing_value = 5;
    assert_int_equal(numbers_settle(&archive), STATUS_OK);
    assert_int_equal(archive.format, SAMPLE_I8);
    assert_true(archive.stored.has_missing_value && archive.stored.missing_value == -123);

    archive =
        archive_of((struct archive_number){.kind = NUMBER_UNSIGNED, .bits = 8, .offset = 128}, 1);
    archive.stored.has_missing_value = 1;
    archive.stored.missing_value = 5;
    assert_int_equal(numbers_settle(&archive), STATUS_OK);
    assert_int_equal(archive.format, SAMPLE_F32);
    assert_false(archive.stored.has_missing_value);
    assert_int_equal(numbers_create(&archive, &numbers), STATUS_OK);
    numbers_make(numbers, bytes, 0, 4, made);
    numbers_turn(numbers, 7, 2, 2, made);
    assert_true(made[0] == 128 && isnan(made[1]) && made[2] == 0 && made[3] == 127);
    numbers_destroy(numbers);

    /* For 4 + 4 bits, `missing` is the byte. */
    archive = archive_of((struct archive_number){.kind = NUMBER_PLAIN}, 1);
    archive.format = SAMPLE_I4;
    archive.stored.nibbles = (struct nibbles){1, 1};
    archive.stored.has_missing_value = 1;
    assert_int_equal(numbers_settle(&archive), STATUS_OK);
    assert_true(archive.stored.is_compound && archive.stored.element_bytes == 8);
    assert_int_equal(numbers_create(&archive, &numbers), STATUS_OK);
    numbers_make(numbers, (const unsigned char[]){0x00, 0x80, 0x08, 0x9f}, 0, 8, made);
    assert_true(isnan(made[0]) && isnan(made[1]) && made[2] == 0 && made[3] == -8 &&
                made[4] == -8 && made[5] == 0 && made[6] == 1 && made[7] == 7);
    numbers_destroy(numbers);
}

/* Plain ones stay plain, in whatever words they come. */
static void plain(void **context)
{
    (void)context;
    struct archive archive = archive_of(
        (struct archive_number){.kind = NUMBER_SIGNED, .bits = 16, .is_big_endian = 1}, 0);
    assert_int_equal(numbers_settle(&archive), STATUS_OK);
    assert_int_equal(archive.stored.number.kind, NUMBER_PLAIN);
    assert_int_equal(archive.format, SAMPLE_I16);
    assert_int_equal(archive.stored.swap_bytes, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static void nonsense(void **context)
{
    (void)context;
    struct archive archive =
        archive_of((struct archive_number){.kind = NUMBER_FLOAT, .bits = 8}, 0);
    assert_int_equal(numbers_settle(&archive), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "file: there are no floating point numbers of 8 bits"));
    report_clear();
    archive = archive_of((struct archive_number){.kind = NUMBER_SIGNED, .bits = 3}, 0);
    assert_int_equal(numbers_settle(&archive), STATUS_DATA);
    report_clear();
    archive = archive_of((struct archive_number){.kind = NUMBER_SIGNED, .bits = 8}, 1);
    archive.is_complex = 0;
    assert_int_equal(numbers_settle(&archive), STATUS_DATA);
    report_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(integers), cmocka_unit_test(floats),
                                       cmocka_unit_test(halves),   cmocka_unit_test(levels),
                                       cmocka_unit_test(missing),  cmocka_unit_test(plain),
                                       cmocka_unit_test(nonsense)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
