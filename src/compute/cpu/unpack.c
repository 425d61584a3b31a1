#include "compute/cpu/unpack.h"

#include <string.h>

void unpacker_init(struct unpacker *unpacker, const struct channelise_spec *spec)
{
    *unpacker = (struct unpacker){.format = spec->format,
                                  .is_complex = spec->is_complex,
                                  .conjugate = spec->conjugate,
                                  .has_missing_value = spec->has_missing_value,
                                  .missing_value = spec->missing_value};
    for (int byte = 0; byte < 256; byte++) {
        int high = byte >> 4;
        int low = byte & 15;
        if (spec->nibbles.offset_binary) {
            high -= 8;
            low -= 8;
        } else {
            high -= high < 8 ? 0 : 16;
            low -= low < 8 ? 0 : 16;
        }
        float re = (float)(spec->nibbles.high_is_real ? high : low);
        float im = (float)(spec->nibbles.high_is_real ? low : high);
        int missing = spec->has_missing_value && byte == spec->missing_value;
        unpacker->nibbles[byte][0] = missing ? 0 : re;
        unpacker->nibbles[byte][1] = missing ? 0 : spec->conjugate ? -im : im;
    }
}

static uint64_t unpack_nibbles(const struct unpacker *u, const char *at, size_t step, size_t count,
                               float *out)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = *(const unsigned char *)(at + i * step);
        memcpy(out + 2 * i, u->nibbles[byte], sizeof u->nibbles[byte]);
        missing += u->has_missing_value && byte == u->missing_value;
    }
    return missing;
}

/* For each type of number: `parts` numbers a sample (1 real, 2 complex, im right behind re) without
 * gaps is one run of conversions that the compiler vectorises; everything else goes number by
 * number. */
#define DEFINE_CONVERT(type)                                                                       \
    static void convert_run_##type(const char *at, size_t numbers, float *restrict out)            \
    {                                                                                              \
        const type *restrict from = (const type *)at;                                              \
        for (size_t i = 0; i < numbers; i++) {                                                     \
            out[i] = (float)from[i];                                                               \
        }                                                                                          \
    }                                                                                              \
    static void convert_steps_##type(const char *at, size_t step, size_t count, size_t parts,      \
                                     float *restrict out)                                          \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i * parts] = (float)*(const type *)(at + i * step);                                \
        }                                                                                          \
    }

DEFINE_CONVERT(int8_t)
DEFINE_CONVERT(int16_t)
DEFINE_CONVERT(float)

static void convert_run(enum sample_format format, const char *at, size_t numbers, float *out)
{
    if (format == SAMPLE_I8) {
        convert_run_int8_t(at, numbers, out);
    } else if (format == SAMPLE_I16) {
        convert_run_int16_t(at, numbers, out);
    } else {
        convert_run_float(at, numbers, out);
    }
}

static void convert_steps(enum sample_format format, const char *at, size_t step, size_t count,
                          size_t parts, float *out)
{
    if (format == SAMPLE_I8) {
        convert_steps_int8_t(at, step, count, parts, out);
    } else if (format == SAMPLE_I16) {
        convert_steps_int16_t(at, step, count, parts, out);
    } else {
        convert_steps_float(at, step, count, parts, out);
    }
}

/* Sets samples that are no numbers to zero and counts them: NaN and infinities minus themselves are
 * not zero. */
static uint64_t drop_missing(const struct unpacker *u, size_t count, size_t parts, float *out)
{
    uint64_t missing = 0;
    float value = (float)u->missing_value;
    for (size_t i = 0; i < count; i++) {
        int bad = 0;
        for (size_t part = 0; part < parts; part++) {
            float x = out[i * parts + part];
            bad |= !(x - x == 0) || (u->has_missing_value && x == value);
        }
        for (size_t part = 0; bad && part < parts; part++) {
            out[i * parts + part] = 0;
        }
        missing += (uint64_t)bad;
    }
    return missing;
}

uint64_t unpack_samples(const struct unpacker *u, const char *re, const char *im, size_t step,
                        size_t count, float *out)
{
    static const size_t number_bytes[] = {1, 1, 2, 4};
    if (u->format == SAMPLE_I4) {
        return unpack_nibbles(u, re, step, count, out);
    }
    size_t bytes = number_bytes[u->format];
    size_t parts = u->is_complex ? 2 : 1;
    if (step == parts * bytes && (parts == 1 || im == re + bytes)) {
        convert_run(u->format, re, count * parts, out);
    } else {
        convert_steps(u->format, re, step, count, parts, out);
        if (parts == 2) {
            convert_steps(u->format, im, step, count, parts, out + 1);
        }
    }
    uint64_t missing = 0;
    if (u->format == SAMPLE_F32 || u->has_missing_value) {
        missing = drop_missing(u, count, parts, out);
    }
    for (size_t i = 0; u->conjugate && i < count; i++) {
        out[2 * i + 1] = -out[2 * i + 1];
    }
    return missing;
}
