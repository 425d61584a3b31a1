/* Stored numbers made into others: by a table of all bytes those below 8 bits, and those of 8 of
 * which one means that there is none. */
#include "input/read/numbers.h"

#include "base/byte_order.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Stored numbers are handed out in the smallest format that holds them all. */

/* Applies a job's or file's description of plain numbers, as if other software had stored them. */
static void numbers_unplain(struct archive *archive)
{
    struct archive_number *number = &archive->stored.number;
    const struct sample_type *type = &sample_types[archive->format];
    int is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    *number =
        (struct archive_number){.kind = type->is_float ? NUMBER_FLOAT : NUMBER_SIGNED,
                                .bits = type->bits,
                                .is_big_endian = archive->stored.swap_bytes ? !is_big : is_big};
    if (archive->format == SAMPLE_I4) {
        archive->stored.is_compound = 1;
        number->is_high_bit_first = archive->stored.nibbles.high_is_real;
        number->kind = archive->stored.nibbles.offset_binary ? NUMBER_UNSIGNED : NUMBER_SIGNED;
        number->offset = archive->stored.nibbles.offset_binary ? 8 : 0;
        number->is_missing_byte = 1;
    }
}

static status_t numbers_check(const struct archive *archive)
{
    const struct archive_number *number = &archive->stored.number;
    const char *path = archive->parts[0].path;
    uint32_t bits = number->bits;
    int is_small = bits == 1 || bits == 2 || bits == 4;
    int is_wide = bits == 16 || bits == 32 || bits == 64;
    REQUIRE(!archive->stored.is_dc_at_edge || archive->is_complex, STATUS_DATA,
            "%s: its samples are real: their 0 Hz is the edge of the coarse channel as it is, dc "
            "cannot say so",
            path);
    if (number->kind == NUMBER_PLAIN) {
        return STATUS_OK;
    }
    REQUIRE(number->kind == NUMBER_LEVELS  ? is_small
            : number->kind == NUMBER_FLOAT ? is_wide
                                           : is_small || bits == 8 || bits == 24 || is_wide,
            STATUS_DATA, "%s: there are no %s of %u bits", path,
            number->kind == NUMBER_FLOAT    ? "floating point numbers"
            : number->kind == NUMBER_LEVELS ? "levels"
                                            : "integers",
            bits);
    return REQUIRED(isfinite(number->offset), STATUS_DATA, "%s: the offset of its numbers is %g",
                    path, number->offset);
}

/* The least and the most that is handed out; returns 0 when these are no integers. */
static int numbers_range(const struct archive *archive, double *least, double *most)
{
    const struct archive_number *number = &archive->stored.number;
    int are_whole = number->kind != NUMBER_FLOAT && number->bits <= 16;
    if (number->kind == NUMBER_LEVELS) {
        *least = *most = number->levels[0];
        for (uint32_t i = 0; i < 1u << number->bits; i++) {
            are_whole = are_whole && number->levels[i] == floor(number->levels[i]);
            *least = fmin(*least, number->levels[i]);
            *most = fmax(*most, number->levels[i]);
        }
    } else {
        int is_signed = number->kind == NUMBER_SIGNED;
        double step = number->is_doubled ? 2 : 1;
        are_whole = are_whole && step * number->offset == floor(step * number->offset);
        *least = step * ((is_signed ? -ldexp(1, (int)number->bits - 1) : 0) - number->offset);
        *most = step * (ldexp(1, (int)number->bits - is_signed) - 1 - number->offset);
    }
    if (archive->stored.is_dc_at_edge) {
        double far = fmax(fabs(*least), fabs(*most));
        *least = -far;
        *most = far;
    }
    return are_whole;
}

/* A missing value that no other number can be taken for stays one that is handed out. */
static void numbers_settle_missing(struct archive *archive)
{
    struct archive_number *number = &archive->stored.number;
    int is_kept = (number->kind == NUMBER_SIGNED || number->kind == NUMBER_UNSIGNED) &&
                  !archive->stored.is_dc_at_edge && number->bits <= 16;
    if (archive->stored.has_missing_value && is_kept) {
        archive->stored.missing_value -= number->offset;
    } else if (archive->stored.has_missing_value) {
        number->has_missing = 1;
        number->missing = archive->stored.missing_value;
        archive->stored.has_missing_value = 0;
        archive->stored.missing_value = 0;
    }
}

/* Steps of 1 between halves, such as -127.5 to 127.5, are whole when doubled. */
static void numbers_settle_halves(struct archive *archive)
{
    struct archive_number *number = &archive->stored.number;
    double twice = 2 * number->offset;
    int are_integers = number->kind == NUMBER_SIGNED || number->kind == NUMBER_UNSIGNED;
    if (are_integers && number->bits == 8 && !number->has_missing &&
        !archive->stored.has_missing_value && number->offset != floor(number->offset) &&
        twice == floor(twice) && fabs(twice) < 16384) {
        number->is_doubled = 1;
        archive->scale /= 2;
    }
}

/* Numbers that a format has as they are, but for the order of bytes. */
static int numbers_find_plain(const struct archive_number *number, enum sample_format *out)
{
    int is_float = number->kind == NUMBER_FLOAT;
    if (!is_float && (number->kind != NUMBER_SIGNED || number->offset != 0)) {
        return 0;
    }
    for (int i = SAMPLE_I8; i < SAMPLE_FORMATS; i++) {
        if (sample_types[i].is_float == is_float && sample_types[i].bits == number->bits) {
            *out = (enum sample_format)i;
            return 1;
        }
    }
    return 0;
}

status_t numbers_settle(struct archive *archive)
{
    struct archive_number *number = &archive->stored.number;
    double least = 0;
    double most = 0;
    int is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    TRY(numbers_check(archive));
    if (number->kind == NUMBER_PLAIN && archive->stored.is_dc_at_edge) {
        numbers_unplain(archive);
    } else if (!archive->stored.is_dc_at_edge && numbers_find_plain(number, &archive->format)) {
        archive->stored.swap_bytes = number->bits > 8 && !number->is_big_endian != !is_big;
        *number = (struct archive_number){.kind = NUMBER_PLAIN};
    }
    if (number->kind != NUMBER_PLAIN) {
        archive->stored.swap_bytes = 0;
        numbers_settle_missing(archive);
        numbers_settle_halves(archive);
        int are_whole = numbers_range(archive, &least, &most) && !number->has_missing;
        archive->format = are_whole && least >= INT8_MIN && most <= INT8_MAX     ? SAMPLE_I8
                          : are_whole && least >= INT16_MIN && most <= INT16_MAX ? SAMPLE_I16
                                                                                 : SAMPLE_F32;
    }
    archive->stored.element_bytes =
        sample_types[archive->format].bytes * (archive->stored.is_compound ? 2 : 1);
    return STATUS_OK;
}

status_t numbers_settle_steps(struct archive *archive, int32_t blank)
{
    struct archive_number *number = &archive->stored.number;
    if (number->kind == NUMBER_PLAIN) {
        numbers_unplain(archive);
    }
    REQUIRE(number->kind == NUMBER_SIGNED && (number->bits == 8 || number->bits == 16) &&
                number->offset == 0 && !archive->stored.has_missing_value &&
                archive->stored.is_compound && archive->shape.time_dim == 0,
            STATUS_DATA,
            "%s: its numbers have scales of their own, expected pairs of signed ones of 8 or 16 "
            "bits, row by row",
            archive->parts[0].path);
    number->has_missing = 1;
    number->missing = blank;
    number->has_steps = 1;
    archive->stored.swap_bytes = 0;
    archive->format = SAMPLE_F32;
    archive->stored.element_bytes = 2 * sample_types[SAMPLE_F32].bytes;
    return STATUS_OK;
}

/* Numbers of 8 bits or more made into others: loops that compilers vectorise. */

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

/* Loops for both orders of bytes, `swap` in what is stored (`raw`), whose bytes begin at `at`.
 * Missing values become NaN. */
#define NUMBERS_LOOP(bytes, raw, value)                                                            \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        const char *at = from + i * (bytes);                                                       \
        numbers_store(to + 4 * i, (float)(value));                                                 \
    }                                                                                              \
    for (uint64_t i = 0; i < count && numbers->stored.has_missing; i++) {                          \
        const char *at = from + i * (bytes);                                                       \
        if ((double)(raw) == numbers->stored.missing) {                                            \
            numbers_store(to + 4 * i, NAN);                                                        \
        }                                                                                          \
    }
#define NUMBERS_CASE(kind, bits, raw, value)                                                       \
    case (kind)*128 + (bits):                                                                      \
        if (numbers->is_swapped) {                                                                 \
            const int swap = 1;                                                                    \
            (void)swap;                                                                            \
            NUMBERS_LOOP((bits) / 8, raw, value)                                                   \
        } else {                                                                                   \
            const int swap = 0;                                                                    \
            (void)swap;                                                                            \
            NUMBERS_LOOP((bits) / 8, raw, value)                                                   \
        }                                                                                          \
        break
#define NUMBERS_WHOLE(kind, bits, raw) NUMBERS_CASE(kind, bits, raw, (double)(raw)-offset)
#define NUMBERS_REAL(bits, raw) NUMBERS_CASE(NUMBER_FLOAT, bits, raw, raw)

static void numbers_make_f32(const numbers_t *numbers, const char *restrict from, uint64_t count,
                             char *restrict to)
{
    double offset = numbers->stored.offset;
    switch ((int)(numbers->stored.kind * 128 + numbers->stored.bits)) {
        NUMBERS_WHOLE(NUMBER_SIGNED, 8, (int8_t)*at);
        NUMBERS_WHOLE(NUMBER_UNSIGNED, 8, (uint8_t)*at);
        NUMBERS_WHOLE(NUMBER_SIGNED, 16, (int16_t)load_u16(at, swap));
        NUMBERS_WHOLE(NUMBER_UNSIGNED, 16, load_u16(at, swap));
        NUMBERS_WHOLE(NUMBER_SIGNED, 24, (int32_t)load_u24(at, swap) / 256);
        NUMBERS_WHOLE(NUMBER_SIGNED, 32, (int32_t)load_u32(at, swap));
        NUMBERS_WHOLE(NUMBER_UNSIGNED, 32, load_u32(at, swap));
        NUMBERS_WHOLE(NUMBER_SIGNED, 64, (int64_t)load_u64(at, swap));
        NUMBERS_WHOLE(NUMBER_UNSIGNED, 64, load_u64(at, swap));
        NUMBERS_REAL(16, float_of_u16(load_u16(at, swap)));
        NUMBERS_REAL(32, float_of_u32(load_u32(at, swap)));
        NUMBERS_REAL(64, float_of_u64(load_u64(at, swap)));
    default:
        break;
    }
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
    } else if (numbers->format == SAMPLE_I8) {
        numbers_make_i8(numbers, at, count, to);
    } else if (numbers->format == SAMPLE_I16) {
        numbers_make_i16(numbers, at, count, to);
    } else {
        numbers_make_f32(numbers, at, count, to);
    }
}

void numbers_keep(const numbers_t *numbers, const struct numbers_cut *cut, const void *from,
                  uint64_t bit, uint64_t steps, char *to)
{
    if (cut->kept == cut->each) {
        numbers_make(numbers, from, bit, steps * cut->each, to);
        return;
    }
    for (uint64_t i = 0; i < steps; i++) {
        numbers_make(numbers, from, bit + (i * cut->each + cut->skipped) * numbers->stored.bits,
                     cut->kept, to);
        to += cut->kept * numbers->bytes;
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

void numbers_scale(const numbers_t *numbers, const struct numbers_cut *cut,
                   const struct archive_part *part, uint64_t first, uint64_t steps, void *data)
{
    if (!numbers->stored.has_steps) {
        return;
    }
    const uint64_t lines = cut->each / 2;
    const uint64_t blocks = part->nsteps / lines;
    float *at = data;
    for (uint64_t i = 0; i < steps; i++) {
        const uint64_t block = min_u64((first + i) / part->step_rows, blocks - 1);
        const double *scale = part->steps + block * lines;
        for (uint64_t k = 0; k < cut->kept; k++) {
            at[k] = (float)(scale[(cut->skipped + k) / 2] * (double)at[k]);
        }
        at += cut->kept;
    }
}

/* Returns number k of a byte, as a double. */
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

status_t numbers_create_as(const struct archive_number *stored, enum sample_format format,
                           numbers_t **out)
{
    const int is_byte = stored->bits == 8 && stored->has_missing && format == SAMPLE_F32;
    numbers_t *numbers = NULL;
    TRY(memory_zeroed(1, sizeof *numbers, "stored numbers", &numbers));
    numbers->stored = *stored;
    numbers->format = format;
    numbers->bytes = sample_types[format].bytes;
    numbers->is_swapped = !stored->is_big_endian != !(__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    numbers->per_byte = stored->bits < 8 || is_byte ? 8 / stored->bits : 0;
    numbers_fill_table(numbers);
    *out = numbers;
    return STATUS_OK;
}

status_t numbers_create(const struct archive *archive, numbers_t **out)
{
    const struct sample_type *type = &sample_types[archive->format];
    struct archive_number stored = archive->stored.number;
    const int is_plain = stored.kind == NUMBER_PLAIN;
    if (is_plain) {
        stored.bits = 8 * type->bytes;
        stored.kind = type->is_float ? NUMBER_FLOAT : NUMBER_SIGNED;
    }
    TRY(numbers_create_as(&stored, archive->format, out));
    (*out)->is_turned = archive->stored.is_dc_at_edge;
    if (is_plain) {
        (*out)->is_swapped = archive->stored.swap_bytes && type->bytes > 1;
        (*out)->is_plain = !(*out)->is_swapped;
    }
    return STATUS_OK;
}

void numbers_destroy(numbers_t *numbers)
{
    free(numbers);
}
