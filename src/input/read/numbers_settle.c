/* What is handed out of stored numbers: the smallest format that holds them all. */
#include "input/read/numbers.h"

#include <math.h>
#include <string.h>

/* What a job or file says of plain numbers, as if somebody else had stored them. */
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
    status_t st = STATUS_OK;
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
        goto out;
    }
    REQUIRE(number->kind == NUMBER_LEVELS  ? is_small
            : number->kind == NUMBER_FLOAT ? is_wide
                                           : is_small || bits == 8 || is_wide,
            STATUS_DATA, "%s: there are no %s of %u bits", path,
            number->kind == NUMBER_FLOAT    ? "floating point numbers"
            : number->kind == NUMBER_LEVELS ? "levels"
                                            : "integers",
            bits);
    REQUIRE(isfinite(number->offset), STATUS_DATA, "%s: the offset of its numbers is %g", path,
            number->offset);
out:
    return st;
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
    status_t st = STATUS_OK;
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
    if (number->kind == NUMBER_PLAIN) {
        archive->stored.element_bytes =
            sample_types[archive->format].bytes * (archive->stored.is_compound ? 2 : 1);
        goto out;
    }
    archive->stored.swap_bytes = 0;
    numbers_settle_missing(archive);
    numbers_settle_halves(archive);
    int are_whole = numbers_range(archive, &least, &most) && !number->has_missing;
    archive->format = SAMPLE_F32;
    if (are_whole && least >= INT8_MIN && most <= INT8_MAX) {
        archive->format = SAMPLE_I8;
    } else if (are_whole && least >= INT16_MIN && most <= INT16_MAX) {
        archive->format = SAMPLE_I16;
    }
    archive->stored.element_bytes =
        sample_types[archive->format].bytes * (archive->stored.is_compound ? 2 : 1);
out:
    return st;
}

status_t numbers_settle_steps(struct archive *archive, int32_t blank)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

int numbers_are_alike(const struct archive *a, const struct archive *b)
{
    const struct archive_number *one = &a->stored.number;
    const struct archive_number *other = &b->stored.number;
    return a->format == b->format && a->stored.is_dc_at_edge == b->stored.is_dc_at_edge &&
           one->kind == other->kind && one->bits == other->bits &&
           one->is_big_endian == other->is_big_endian &&
           one->is_high_bit_first == other->is_high_bit_first && one->offset == other->offset &&
           one->is_doubled == other->is_doubled &&
           memcmp(one->levels, other->levels, sizeof one->levels) == 0 &&
           one->has_missing == other->has_missing && one->missing == other->missing &&
           one->is_missing_byte == other->is_missing_byte && one->has_steps == other->has_steps;
}
