/* What the samples of a dataset are: from HDF5's types and the packing to numbers as they are
 * stored.
 */
#include "base/units.h"
#include "input/format/dataset_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t dataset_numbers_in_element(const struct job_layout *layout)
{
    uint32_t bits = layout->numbers.has_packing ? layout->numbers.packing.bits : 0;
    return bits > 0 && bits < 8 ? 8 / bits : 1;
}

void dataset_set_packing(const struct packing *packing, const double *levels,
                         struct archive_number *number)
{
    number->bits = packing->bits;
    number->is_high_bit_first = packing->is_high_bit_first;
    number->kind = packing->is_offset ? NUMBER_UNSIGNED : NUMBER_SIGNED;
    number->offset = packing->is_offset ? (double)(UINT64_C(1) << (packing->bits - 1)) : 0;
    if (levels || (packing->is_offset && packing->bits <= 2)) {
        static const double usual[2][4] = {{-1, 1}, {-PACKING_HIGH, -1, 1, PACKING_HIGH}};
        number->kind = NUMBER_LEVELS;
        number->offset = 0;
        memcpy(number->levels, levels ? levels : usual[packing->bits - 1],
               sizeof(double) << packing->bits);
    }
}

/* 4 + 4 bits, or numbers of another packing: in integers of as many bits as they have, those of
 * fewer than 8 in bytes. */
static status_t dataset_read_packed_type(hid_t type, const char *where,
                                         const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct packing *packing = &layout->numbers.packing;
    H5T_class_t class = H5Tget_class(type);
    size_t bits = packing->bits > 8 ? packing->bits : 8;
    REQUIRE(class == H5T_INTEGER && 8 * H5Tget_size(type) == bits &&
                (packing->bits >= 8 || !archive->stored.is_compound),
            STATUS_DATA, "%s: packing needs %zu-bit elements, found %zu-bit %s", where, bits,
            8 * H5Tget_size(type), class == H5T_INTEGER ? "integers" : "elements of another kind");
    if (packing->bits == 0) {
        archive->format = SAMPLE_I4;
        goto out;
    }
    REQUIRE(layout->numbers.nlevels == 0 || layout->numbers.nlevels == UINT64_C(1) << packing->bits,
            STATUS_DATA, "%s: there are %u levels, expected %llu of %u %s", where,
            layout->numbers.nlevels, 1ull << packing->bits, packing->bits,
            units_plural(packing->bits, "bit", "bits"));
    dataset_set_packing(packing, layout->numbers.nlevels > 0 ? layout->numbers.levels : NULL,
                        &archive->stored.number);
out:
    return st;
}

/* IEEE 754's of 16 bits, in either order of bytes. */
static int dataset_is_half(hid_t type)
{
    size_t sign = 0;
    size_t exponent = 0;
    size_t exponent_bits = 0;
    size_t mantissa = 0;
    size_t mantissa_bits = 0;
    H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
    return H5Tget_size(type) == 2 && sign == 15 && exponent == 10 && exponent_bits == 5 &&
           mantissa == 0 && mantissa_bits == 10 && H5Tget_ebias(type) == 15 &&
           H5Tget_norm(type) == H5T_NORM_IMPLIED && H5Tget_offset(type) == 0;
}

/* The size of a number as all machines have it: what HDF5 makes of it, where it is none of these.
 */
static uint32_t dataset_number_bits(hid_t type)
{
    size_t size = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_FLOAT) {
        return dataset_is_half(type) ? 16 : size <= 4 ? 32 : 64;
    }
    return size <= 1 ? 8 : size <= 2 ? 16 : size <= 4 ? 32 : 64;
}

/* One number, or one of the two of a compound. */
static status_t dataset_read_number_type(hid_t type, const char *where,
                                         const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct archive_number *number = &archive->stored.number;
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    number->is_big_endian = size > 1 && H5Tget_order(type) == H5T_ORDER_BE;
    if (layout->numbers.has_packing) {
        TRY(dataset_read_packed_type(type, where, layout, archive));
        goto out;
    }
    REQUIRE(class == H5T_INTEGER || class == H5T_FLOAT, STATUS_DATA,
            "%s holds %zu-bit elements that are no numbers; expected integers, floating point "
            "numbers, or pairs of these",
            where, 8 * size);
    REQUIRE(size <= 16, STATUS_DATA, "%s holds numbers of %zu bits: that is absurd", where,
            8 * size);
    REQUIRE(class == H5T_INTEGER || !layout->numbers.has_offset, STATUS_DATA,
            "%s holds floating point numbers, which have no offset", where);
    number->bits = dataset_number_bits(type);
    number->kind = class == H5T_FLOAT               ? NUMBER_FLOAT
                   : H5Tget_sign(type) == H5T_SGN_2 ? NUMBER_SIGNED
                                                    : NUMBER_UNSIGNED;
    number->offset = layout->numbers.has_offset ? layout->numbers.offset : 0;
out:
    return st;
}

/* HDF5 opens compounds with members that lie outside of them, and crashes when it reads them. */
static int dataset_has_two_places(hid_t type, size_t number_bytes)
{
    size_t bytes = H5Tget_size(type);
    size_t first = H5Tget_member_offset(type, 0);
    size_t second = H5Tget_member_offset(type, 1);
    size_t low = first < second ? first : second;
    size_t high = first < second ? second : first;
    return number_bytes <= bytes && high <= bytes - number_bytes && high - low >= number_bytes;
}

status_t dataset_read_type(hid_t dataset, const char *where, const struct job_layout *layout,
                           struct archive *archive)
{
    status_t st = STATUS_OK;
    hid_t second = -1;
    hid_t number = -1;
    hid_t type = H5Dget_type(dataset);
    H5_TRY(type, "%s: its type cannot be read", where);
    archive->stored.is_compound = H5Tget_class(type) == H5T_COMPOUND;
    archive->format = SAMPLE_F32; /* unless they are pairs of 4 bits: numbers_settle() finds it */
    if (archive->stored.is_compound) {
        REQUIRE(H5Tget_nmembers(type) == 2, STATUS_DATA,
                "%s: its compound has %d %s, expected 2 (real, imaginary)", where,
                H5Tget_nmembers(type),
                units_plural((uint64_t)H5Tget_nmembers(type), "member", "members"));
        number = H5Tget_member_type(type, 0);
        second = H5Tget_member_type(type, 1);
        REQUIRE(H5Tequal(number, second) > 0, STATUS_DATA,
                "%s: the two members of its compound differ in type", where);
        REQUIRE(dataset_has_two_places(type, H5Tget_size(number)), STATUS_DATA,
                "%s: the members of its compound, at bytes %zu and %zu of %zu, do not lie side by "
                "side in it",
                where, H5Tget_member_offset(type, 0), H5Tget_member_offset(type, 1),
                H5Tget_size(type));
    } else {
        number = H5Tcopy(type);
    }
    TRY(dataset_read_number_type(number, where, layout, archive));
out:
    h5_close(second);
    h5_close(number);
    h5_close(type);
    return st;
}

status_t dataset_check_missing_value(const char *where, const char *keys,
                                     const struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct archive_number *number = &archive->stored.number;
    const struct sample_type *type = &sample_types[archive->format];
    int is_plain = number->kind == NUMBER_PLAIN;
    int is_pair = is_plain && type->is_pair;
    int is_float = is_plain ? type->is_float : number->kind == NUMBER_FLOAT;
    int is_signed = is_plain ? !is_pair : number->kind == NUMBER_SIGNED;
    int bits = is_plain ? 8 * (int)type->bytes : (int)number->bits;
    double value = archive->stored.missing_value;
    double least = is_float ? -FLT_MAX : is_signed ? -ldexp(1, bits - 1) : 0;
    double most = is_float ? FLT_MAX : ldexp(1, bits - is_signed) - 1;
    int holds = (is_float && (bits == 64 || !isfinite(value))) ||
                (value >= least && value <= most && (is_float || value == floor(value)));
    char expected[80] = "a 32-bit floating point number";
    if (!is_float) {
        snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", least, most);
    }
    REQUIRE(!archive->stored.has_missing_value || holds, *keys ? STATUS_USAGE : STATUS_DATA,
            "%s: %smissing_value is %.9g, expected %s, %s", where, keys, value, expected,
            is_pair ? "the packed byte" : "as its samples are");
out:
    return st;
}

/* Complex or real follows from type, axes and packing; what the file or job says must agree. */
status_t dataset_settle_domain(const struct job_layout *layout, const char *where,
                               struct archive *archive)
{
    status_t st = STATUS_OK;
    int has_pairs = archive->stored.is_compound || archive->format == SAMPLE_I4;
    REQUIRE(!has_pairs || !archive->present[AXIS_REIM], STATUS_DATA,
            "%s: its elements are complex already, yet axes names reim", where);
    int is_half = layout->parts[0] || layout->is_reim_along;
    REQUIRE(!is_half || (!has_pairs && !archive->present[AXIS_REIM]), STATUS_DATA,
            "%s: its elements are complex already, expected real or imaginary parts", where);
    archive->is_complex = has_pairs || archive->present[AXIS_REIM] || is_half;
    REQUIRE(!layout->has_domain || layout->is_complex == archive->is_complex, STATUS_DATA,
            "%s: domain says %s, but the samples are %s (%s)", where,
            layout->is_complex ? "complex" : "real", archive->is_complex ? "complex" : "real",
            has_pairs                     ? "pairs"
            : archive->present[AXIS_REIM] ? "axis reim"
                                          : "no axis reim, no pairs");
    REQUIRE(archive->is_complex || archive->oversample.num == archive->oversample.den, STATUS_DATA,
            "%s: real samples cannot be oversampled coarse channels (%u/%u)", where,
            archive->oversample.num, archive->oversample.den);
out:
    return st;
}

/* Whether a number on disk fills its bytes, and is one that all machines have: HDF5 knows integers
 * with fewer bits, or shifted ones, and floats of other makes than IEEE's. */
static int dataset_is_plain_number(hid_t type, uint32_t bits)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        const hid_t plain[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            if (H5Tequal(type, plain[i]) > 0) {
                return 1;
            }
        }
        return bits == 16 && dataset_is_half(type);
    }
    size_t bytes = H5Tget_size(type);
    return 8 * bytes == (bits < 8 ? 8 : bits) && H5Tget_precision(type) == 8 * bytes &&
           H5Tget_offset(type) == 0;
}

/* Whether elements on disk are just the numbers that archive->number tells of, or SAMPLE_I4's. */
int dataset_is_dense(hid_t dataset, const struct archive *archive)
{
    hid_t type = H5Dget_type(dataset);
    hid_t number = archive->stored.is_compound ? H5Tget_member_type(type, 0) : H5Tcopy(type);
    uint32_t bits = archive->format == SAMPLE_I4 ? 8 : archive->stored.number.bits;
    int dense = H5Tget_size(type) == (archive->stored.is_compound ? 2 : 1) * H5Tget_size(number) &&
                dataset_is_plain_number(number, bits);
    if (dense && archive->stored.is_compound) {
        dense = H5Tget_member_offset(type, 0) == 0;
    }
    h5_close(number);
    h5_close(type);
    return dense;
}
