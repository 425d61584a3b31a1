/* Stored numbers made into others: those below 8 bits by a table of all bytes. */
#include "base/memory.h"
#include "input/read/numbers_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int numbers_are_plain(const numbers_t *numbers)
{
    return numbers->is_plain;
}

uint32_t numbers_bits(const numbers_t *numbers)
{
    return numbers->stored.bits;
}

uint32_t numbers_bytes(const numbers_t *numbers)
{
    return numbers->bytes;
}

/* Whole bytes of small numbers. */
static void numbers_look_up(const numbers_t *numbers, const unsigned char *restrict from,
                            uint64_t bytes, char *restrict to)
{
#define NUMBERS_SIZE(size)                                                                         \
    case (size):                                                                                   \
        for (uint64_t i = 0; i < bytes; i++) {                                                     \
            memcpy(to + i * (size), numbers->table + from[i] * (size_t)(size), (size));            \
        }                                                                                          \
        break
    switch (numbers->per_byte * numbers->bytes) {
        NUMBERS_SIZE(2);
        NUMBERS_SIZE(4);
        NUMBERS_SIZE(8);
        NUMBERS_SIZE(16);
        NUMBERS_SIZE(32);
    default:
        break;
    }
#undef NUMBERS_SIZE
}

static void numbers_make_small(const numbers_t *numbers, const unsigned char *from, uint64_t bit,
                               uint64_t count, char *to)
{
    uint64_t per_byte = numbers->per_byte;
    uint64_t bytes = numbers->bytes;
    uint64_t first = bit / numbers->stored.bits;
    const unsigned char *at = from + first / per_byte;
    uint64_t place = first % per_byte;
    /* The rest of a byte, whole bytes, the beginning of one. */
    while (count > 0) {
        uint64_t now = min_u64(count, per_byte - place);
        if (place == 0 && count >= per_byte) {
            now = count - count % per_byte;
            numbers_look_up(numbers, at, now / per_byte, to);
            at += now / per_byte;
        } else {
            memcpy(to, numbers->table + (*at * per_byte + place) * bytes, (size_t)(now * bytes));
            at++;
        }
        to += now * bytes;
        count -= now;
        place = 0;
    }
}

void numbers_make(const numbers_t *numbers, const void *from, uint64_t bit, uint64_t count,
                  void *to)
{
    const char *at = (const char *)from + bit / 8;
    if (numbers->is_plain) {
        memcpy(to, at, (size_t)(count * numbers->bytes));
    } else if (numbers->per_byte > 0) {
        numbers_make_small(numbers, from, bit, count, to);
    } else {
        numbers_make_wide(numbers, at, count, to);
    }
}

/* Every other of `rows` of `each` numbers, from the first on. */
#define NUMBERS_TURN(type, word)                                                                   \
    static void numbers_turn_##word(type *data, uint64_t rows, uint64_t each)                      \
    {                                                                                              \
        for (uint64_t i = 0; i < rows && each == 2; i += 2) {                                      \
            data[2 * i] = (type)-data[2 * i];                                                      \
            data[2 * i + 1] = (type)-data[2 * i + 1];                                              \
        }                                                                                          \
        for (uint64_t i = 0; i < rows && each != 2; i += 2) {                                      \
            for (uint64_t k = 0; k < each; k++) {                                                  \
                data[i * each + k] = (type)-data[i * each + k];                                    \
            }                                                                                      \
        }                                                                                          \
    }
NUMBERS_TURN(int8_t, i8)
NUMBERS_TURN(int16_t, i16)
NUMBERS_TURN(float, f32)

void numbers_turn(const numbers_t *numbers, uint64_t first, uint64_t steps, uint64_t each,
                  void *data)
{
    uint64_t skip = first % 2 == 1 ? 0 : 1;
    if (!numbers->is_turned || steps <= skip) {
        return;
    }
    char *at = (char *)data + skip * each * numbers->bytes;
    if (numbers->format == SAMPLE_I8) {
        numbers_turn_i8((int8_t *)at, steps - skip, each);
    } else if (numbers->format == SAMPLE_I16) {
        numbers_turn_i16((int16_t *)(void *)at, steps - skip, each);
    } else {
        numbers_turn_f32((float *)(void *)at, steps - skip, each);
    }
}

void numbers_scale(const numbers_t *numbers, const struct archive_part *part, uint64_t first,
                   uint64_t steps, uint64_t each, uint64_t skipped, uint64_t kept, void *data)
{
    if (!numbers->stored.has_steps) {
        return;
    }
    const uint64_t lines = each / 2;
    const uint64_t blocks = part->nsteps / lines;
    float *at = data;
    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t block = min_u64((first + i) / part->step_rows, blocks - 1);
        const double *scale = part->steps + block * lines;
        for (uint64_t k = 0; k < kept; k++) {
            at[k] = (float)(scale[(skipped + k) / 2] * (double)at[k]);
        }
        at += kept;
    }
}

/* Number k of a byte, as a double. */
static double numbers_in_byte(const struct archive_number *stored, uint32_t byte, uint32_t k)
{
    uint32_t bits = stored->bits;
    uint32_t shift = stored->is_high_bit_first ? 8 - bits * (k + 1) : bits * k;
    uint32_t code = byte >> shift & ((1u << bits) - 1);
    int is_negative = stored->kind == NUMBER_SIGNED && code >> (bits - 1);
    double value = stored->kind == NUMBER_LEVELS
                       ? stored->levels[code]
                       : (double)code - (is_negative ? 1u << bits : 0) - stored->offset;
    int is_missing = stored->has_missing &&
                     stored->missing == (stored->is_missing_byte ? (double)byte
                                         : is_negative ? (double)code - (double)(1u << bits)
                                                       : (double)code);
    return is_missing ? NAN : value;
}

static void numbers_fill_table(numbers_t *numbers)
{
    char *to = numbers->table;
    for (uint32_t byte = 0; byte < NUMBERS_BYTES; byte++) {
        for (uint32_t k = 0; k < numbers->per_byte; k++) {
            double value = numbers_in_byte(&numbers->stored, byte, k);
            if (numbers->format == SAMPLE_I8) {
                *(int8_t *)to = (int8_t)value;
            } else if (numbers->format == SAMPLE_I16) {
                memcpy(to, &(int16_t){(int16_t)value}, 2);
            } else {
                memcpy(to, &(float){(float)value}, 4);
            }
            to += numbers->bytes;
        }
    }
}

status_t numbers_create(const struct archive *archive, numbers_t **out)
{
    status_t st = STATUS_OK;
    const struct sample_type *type = &sample_types[archive->format];
    numbers_t *numbers = NULL;
    TRY(memory_zeroed(1, sizeof *numbers, "stored numbers", &numbers));
    numbers->stored = archive->stored.number;
    numbers->format = archive->format;
    numbers->bytes = type->bytes;
    numbers->is_turned = archive->stored.is_dc_at_edge;
    if (archive->stored.number.kind == NUMBER_PLAIN) {
        numbers->stored.bits = 8 * type->bytes;
        numbers->stored.kind = type->is_float ? NUMBER_FLOAT : NUMBER_SIGNED;
        numbers->is_swapped = archive->stored.swap_bytes && type->bytes > 1;
        numbers->is_plain = !numbers->is_swapped;
    } else {
        numbers->is_swapped =
            !archive->stored.number.is_big_endian != !(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
        numbers->per_byte = archive->stored.number.bits < 8 ? 8 / archive->stored.number.bits : 0;
        numbers_fill_table(numbers);
    }
    *out = numbers;
out:
    return st;
}

void numbers_destroy(numbers_t *numbers)
{
    free(numbers);
}
