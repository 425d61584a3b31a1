/* Numbers of /data: how they are stored, and the floats that are made of those that nothing else
 * reads. All but 64-bit floats keep their value. */
#include "input/fbh5/fbh5_parts.h"

#include "base/byte_order.h"
#include "io/hdf5/h5_dataset.h"

#include <string.h>

uint32_t fbh5_stored_bytes(const struct fbh5 *fbh5)
{
    uint32_t number = fbh5->number == FBH5_I8                                    ? 1
                      : fbh5->number == FBH5_I16 || fbh5->number == FBH5_FLOAT16 ? 2
                                                                                 : 0;
    return fbh5->steps.bits > 0 ? fbh5->steps.bits / 8 : number > 0 ? number : fbh5->sample_bytes;
}

uint32_t fbh5_bits(const struct fbh5 *fbh5)
{
    return fbh5->table.bits > 0           ? fbh5->table.bits
           : fbh5->number == FBH5_FLOAT64 ? 64
                                          : 8 * fbh5_stored_bytes(fbh5);
}

const char *fbh5_kind(const struct fbh5 *fbh5)
{
    int is_float = fbh5_bits(fbh5) >= 32 || fbh5->number == FBH5_FLOAT16;
    int is_signed = fbh5->table.is_signed != fbh5->table.is_moved || fbh5->number == FBH5_I8 ||
                    fbh5->number == FBH5_I16;
    return is_float ? "floating point" : is_signed ? "signed" : "unsigned";
}

status_t fbh5_read_type(hid_t type, struct fbh5 *fbh5)
{
    static const struct {
        H5T_class_t class;
        int is_signed;
        size_t bytes;
        uint32_t number, sample_bytes;
    } known[] = {{H5T_INTEGER, 0, 1, FBH5_PLAIN, 1}, {H5T_INTEGER, 0, 2, FBH5_PLAIN, 2},
                 {H5T_INTEGER, 1, 1, FBH5_I8, 4},    {H5T_INTEGER, 1, 2, FBH5_I16, 4},
                 {H5T_FLOAT, 0, 2, FBH5_FLOAT16, 4}, {H5T_FLOAT, 0, 4, FBH5_PLAIN, 4},
                 {H5T_FLOAT, 0, 8, FBH5_FLOAT64, 4}};
    status_t st = STATUS_OK;
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    int is_signed = class == H5T_INTEGER && H5Tget_sign(type) != H5T_SGN_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].class == class && known[i].is_signed == is_signed && known[i].bytes == bytes) {
            fbh5->number = known[i].number;
            fbh5->sample_bytes = known[i].sample_bytes;
            goto out;
        }
    }
    FAIL(STATUS_DATA,
         "%s: its samples are %zu-bit %s, expected integers of 8 or 16, or floats of 16, 32 or 64 "
         "bits",
         fbh5->path, 8 * bytes,
         class == H5T_FLOAT     ? "floats"
         : class == H5T_INTEGER ? (is_signed ? "signed integers" : "unsigned integers")
                                : "values of another kind");
out:
    return st;
}

/* IEEE 754 binary16, for which HDF5 1.10 has no name. */
static status_t number_half(hid_t *out)
{
    enum { SIGN = 15, EXPONENT = 10, EXPONENT_BITS = 5, BIAS = 15 };
    status_t st = STATUS_OK;
    hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    H5_TRY(type, "a type cannot be made");
    H5_TRY(H5Tset_fields(type, SIGN, EXPONENT, EXPONENT_BITS, 0, EXPONENT),
           "a type cannot be made");
    H5_TRY(H5Tset_size(type, sizeof(uint16_t)), "a type cannot be made");
    H5_TRY(H5Tset_ebias(type, BIAS), "a type cannot be made");
    *out = type;
    type = -1;
out:
    h5_close(type);
    return st;
}

status_t fbh5_memory_type(const struct fbh5 *fbh5, hid_t *out)
{
    status_t st = STATUS_OK;
    uint32_t bytes = fbh5_stored_bytes(fbh5);
    if (fbh5->number == FBH5_FLOAT16) {
        TRY(number_half(out));
        goto out;
    }
    *out = H5Tcopy(fbh5->number == FBH5_I8    ? H5T_NATIVE_INT8
                   : fbh5->number == FBH5_I16 ? H5T_NATIVE_INT16
                   : bytes == 1               ? H5T_NATIVE_UINT8
                   : bytes == 2               ? H5T_NATIVE_UINT16
                                              : H5T_NATIVE_FLOAT);
    H5_TRY(*out, "a type cannot be made");
out:
    return st;
}

void fbh5_convert(const struct fbh5 *fbh5, uint64_t count, float *out)
{
    uint32_t bytes = fbh5_stored_bytes(fbh5);
    const char *stored = (const char *)out + count * (sizeof *out - bytes);
    for (uint64_t i = 0; i < count; i++) {
        uint16_t bits = bytes == 2 ? load_u16(stored + 2 * i, 0) : 0;
        out[i] = fbh5->number == FBH5_I8    ? (float)(int8_t)stored[i]
                 : fbh5->number == FBH5_I16 ? (float)(int16_t)bits
                                            : float_of_u16(bits);
    }
}
