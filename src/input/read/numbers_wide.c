/* Numbers of 8 bits or more made into others: loops that compilers vectorise. */
#include "base/byte_order.h"
#include "input/read/numbers_parts.h"

#include <math.h>
#include <string.h>

static inline void numbers_store(char *to, float value)
{
    memcpy(to, &value, sizeof value);
}

static void numbers_make_i8(const numbers_t *numbers, const char *restrict from, uint64_t count,
                            char *restrict to)
{
    uint8_t offset = (uint8_t)(int)numbers->stored.offset;
    for (uint64_t i = 0; i < count; i++) {
        to[i] = (char)((uint8_t)from[i] - offset);
    }
}

static void numbers_make_i16(const numbers_t *numbers, const char *restrict from, uint64_t count,
                             char *restrict to)
{
    int step = numbers->stored.is_doubled ? 2 : 1;
    uint16_t offset = (uint16_t)(int)(step * numbers->stored.offset);
    int is_signed = numbers->stored.kind == NUMBER_SIGNED;
#define NUMBERS_LOOP(LOAD)                                                                         \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        uint16_t value = (uint16_t)((LOAD)-offset);                                                \
        memcpy(to + 2 * i, &value, sizeof value);                                                  \
    }
    if (numbers->stored.bits == 16 && numbers->is_swapped) {
        NUMBERS_LOOP(load_u16(from + 2 * i, 1))
    } else if (numbers->stored.bits == 16) {
        NUMBERS_LOOP(load_u16(from + 2 * i, 0))
    } else if (is_signed) {
        NUMBERS_LOOP(step * (int8_t)from[i])
    } else {
        NUMBERS_LOOP(step * (uint8_t)from[i])
    }
#undef NUMBERS_LOOP
}

/* The same loop for both orders of bytes. */
#define NUMBERS_LOOP(swap, size, value)                                                            \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        const char *at = from + i * (size);                                                        \
        numbers_store(to + 4 * i, (float)(value(swap)));                                           \
    }
#define NUMBERS_LOOPS(size, value)                                                                 \
    if (numbers->is_swapped) {                                                                     \
        NUMBERS_LOOP(1, size, value)                                                               \
    } else {                                                                                       \
        NUMBERS_LOOP(0, size, value)                                                               \
    }                                                                                              \
    break

static void numbers_make_f32(const numbers_t *numbers, const char *restrict from, uint64_t count,
                             char *restrict to)
{
    double offset = numbers->stored.offset;
    switch ((int)(numbers->stored.kind * 128 + numbers->stored.bits)) {
#define VALUE(swap) (double)(int8_t)*at - offset
    case NUMBER_SIGNED * 128 + 8:
        NUMBERS_LOOPS(1, VALUE);
#undef VALUE
#define VALUE(swap) (double)(uint8_t)*at - offset
    case NUMBER_UNSIGNED * 128 + 8:
        NUMBERS_LOOPS(1, VALUE);
#undef VALUE
#define VALUE(swap) (double)(int16_t)load_u16(at, swap) - offset
    case NUMBER_SIGNED * 128 + 16:
        NUMBERS_LOOPS(2, VALUE);
#undef VALUE
#define VALUE(swap) (double)load_u16(at, swap) - offset
    case NUMBER_UNSIGNED * 128 + 16:
        NUMBERS_LOOPS(2, VALUE);
#undef VALUE
#define VALUE(swap) (double)(int32_t)load_u32(at, swap) - offset
    case NUMBER_SIGNED * 128 + 32:
        NUMBERS_LOOPS(4, VALUE);
#undef VALUE
#define VALUE(swap) (double)load_u32(at, swap) - offset
    case NUMBER_UNSIGNED * 128 + 32:
        NUMBERS_LOOPS(4, VALUE);
#undef VALUE
#define VALUE(swap) (double)(int64_t)load_u64(at, swap) - offset
    case NUMBER_SIGNED * 128 + 64:
        NUMBERS_LOOPS(8, VALUE);
#undef VALUE
#define VALUE(swap) (double)load_u64(at, swap) - offset
    case NUMBER_UNSIGNED * 128 + 64:
        NUMBERS_LOOPS(8, VALUE);
#undef VALUE
#define VALUE(swap) float_of_u16(load_u16(at, swap))
    case NUMBER_FLOAT * 128 + 16:
        NUMBERS_LOOPS(2, VALUE);
#undef VALUE
#define VALUE(swap) float_of_u32(load_u32(at, swap))
    case NUMBER_FLOAT * 128 + 32:
        NUMBERS_LOOPS(4, VALUE);
#undef VALUE
#define VALUE(swap) float_of_u64(load_u64(at, swap))
    default:
        NUMBERS_LOOPS(8, VALUE);
#undef VALUE
    }
}

/* One stored number of 8 bits or more. */
static double numbers_value(const numbers_t *numbers, const char *at)
{
    int swap = numbers->is_swapped;
    int is_signed = numbers->stored.kind == NUMBER_SIGNED;
    int is_float = numbers->stored.kind == NUMBER_FLOAT;
    uint64_t bits;
    switch (numbers->stored.bits) {
    case 8:
        return is_signed ? (int8_t)*at : (uint8_t)*at;
    case 16:
        bits = load_u16(at, swap);
        return is_float    ? (double)float_of_u16((uint16_t)bits)
               : is_signed ? (int16_t)bits
                           : (double)bits;
    case 32:
        bits = load_u32(at, swap);
        return is_float    ? (double)float_of_u32((uint32_t)bits)
               : is_signed ? (int32_t)bits
                           : (double)bits;
    default:
        bits = load_u64(at, swap);
        return is_float ? float_of_u64(bits) : is_signed ? (double)(int64_t)bits : (double)bits;
    }
}

/* What is missing becomes NaN. */
static void numbers_drop_missing(const numbers_t *numbers, const char *from, uint64_t count,
                                 char *to)
{
    for (uint64_t i = 0; i < count; i++) {
        if (numbers_value(numbers, from + i * (numbers->stored.bits / 8)) ==
            numbers->stored.missing) {
            numbers_store(to + 4 * i, NAN);
        }
    }
}

void numbers_make_wide(const numbers_t *numbers, const char *from, uint64_t count, char *to)
{
    if (numbers->format == SAMPLE_I8) {
        numbers_make_i8(numbers, from, count, to);
    } else if (numbers->format == SAMPLE_I16) {
        numbers_make_i16(numbers, from, count, to);
    } else {
        numbers_make_f32(numbers, from, count, to);
        if (numbers->stored.has_missing) {
            numbers_drop_missing(numbers, from, count, to);
        }
    }
}
