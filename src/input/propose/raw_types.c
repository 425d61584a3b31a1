/* Statistics and coarse spectra of a file's bytes as numbers of each type. */
#include "input/propose/raw_types.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/terms.h"
#include "dsp/dft.h"
#include "io/file.h"
#include "io/file_rights.h"

#include <inttypes.h>
#include <math.h>

enum { PIECES = 16, PIECE_BYTES = 16 << 10, BINS = 16, POINTS = 2 * BINS /* numbers at a time */ };

/* Sums over numbers, and over power spectra of POINTS of them. */
struct raw_sums {
    struct number_type type;
    double sum, squares, count, clipped;
    double power[2][BINS]; /* as real, as complex samples */
};

static double raw_types_number(const struct number_type *type, const unsigned char *at)
{
    uint64_t code = 0;
    for (uint32_t i = 0; i < type->bits / 8; i++) {
        code |= (uint64_t)at[i] << (type->is_big_endian ? type->bits - 8 - 8 * i : 8 * i);
    }
    if (type->kind == 'f') {
        return type->bits == 32 ? (double)float_of_u32((uint32_t)code) : float_of_u64(code);
    }
    int is_negative = type->kind == 'i' && code >> (type->bits - 1);
    return (double)code - (is_negative ? ldexp(1, (int)type->bits) : 0);
}

/* Adds the power of numbers less their mean, in a Hann window, as they are and as pairs. */
static status_t raw_types_transform(const double *numbers, struct raw_sums *sums)
{
    double complex in[POINTS];
    double complex out[POINTS];
    for (int is_complex = 0; is_complex < 2; is_complex++) {
        const int length = is_complex ? BINS : POINTS;
        double complex mean = 0;
        for (int i = 0; i < length; i++) {
            in[i] = is_complex ? numbers[2 * i] + I * numbers[2 * i + 1] : numbers[i];
            mean += in[i] / length;
        }
        for (int i = 0; i < length; i++) {
            in[i] = (in[i] - mean) * (1 - cos(2 * 3.14159265358979323846 * (i + 0.5) / length));
        }
        TRY(dft_forward((size_t)length, in, out));
        for (int i = 0; i < BINS; i++) {
            double complex x = out[is_complex ? (i + BINS / 2) % BINS : i];
            sums->power[is_complex][i] += creal(x) * creal(x) + cimag(x) * cimag(x);
        }
    }
    return STATUS_OK;
}

static status_t raw_types_add(const unsigned char *bytes, uint64_t count, struct raw_sums *sums)
{
    double numbers[POINTS];
    const struct number_type *type = &sums->type;
    const double least = type->kind == 'i' ? -ldexp(1, (int)type->bits - 1) : 0;
    const double most = ldexp(1, (int)type->bits - (type->kind == 'i')) - 1;
    for (uint64_t i = 0; i + POINTS <= count / (type->bits / 8); i += POINTS) {
        int are_finite = 1;
        for (uint64_t k = 0; k < POINTS; k++) {
            double x = raw_types_number(type, bytes + (i + k) * (type->bits / 8));
            int is_finite = isfinite(x) && fabs(x) < 1e150; /* whose square is finite, too */
            int is_clipped = type->kind == 'f' ? !is_finite : x <= least || x >= most;
            numbers[k] = x;
            are_finite &= is_finite;
            sums->clipped += is_clipped;
            sums->count += is_finite;
            sums->sum += is_finite ? x : 0;
            sums->squares += is_finite ? x * x : 0;
        }
        TRY(are_finite ? raw_types_transform(numbers, sums) : STATUS_OK);
    }
    return STATUS_OK;
}

static status_t raw_types_say(const char *name, const struct raw_sums *sums, struct text *out)
{
    const double all = sums->count + (sums->type.kind == 'f' ? sums->clipped : 0);
    const double mean = sums->count > 0 ? sums->sum / sums->count : 0;
    const double square = sums->count > 0 ? sums->squares / sums->count : 0;
    TRY(text_add(out, "%-7s mean %.5g, rms %.5g, clipped %.4f%%\n", name, mean,
                 sqrt(fmax(0, square - mean * mean)), 100 * sums->clipped / all));
    for (int k = 0; k < 2; k++) {
        double whole = 0;
        for (int i = 0; i < BINS; i++) {
            whole += sums->power[k][i] / BINS;
        }
        TRY(text_add(out, k == 0 ? "    real    dB" : "    complex dB"));
        for (int i = 0; i < BINS; i++) {
            double ratio = whole > 0 ? sums->power[k][i] / whole : 1;
            TRY(text_add(out, " %3.0f", 10 * log10(fmax(ratio, 1e-9))));
        }
        TRY(text_add(out, "\n"));
    }
    return STATUS_OK;
}

status_t raw_types_measure(const char *path, uint64_t skip, struct text *out)
{
    static const char *const names[] = {"i8",     "u8",     "i16_le", "i16_be", "u16_le",
                                        "i32_le", "i32_be", "f32_le", "f32_be", "f64_le"};
    status_t st = STATUS_OK;
    struct identity identity;
    unsigned char bytes[PIECE_BYTES];
    int fd = -1;
    TRY_OUT(file_open_read(path, &fd));
    TRY_OUT(identity_of_open(fd, path, &identity));
    REQUIRE_OUT(
        identity.bytes > skip && identity.bytes - skip >= POINTS * sizeof(double), STATUS_DATA,
        "%s has %" PRIu64 " bytes, expected %zu or more after input.layout.skip (%" PRIu64 ")",
        path, identity.bytes, POINTS * sizeof(double), skip);
    const uint64_t whole = identity.bytes - skip;
    const uint64_t step = max_u64(PIECE_BYTES, whole / PIECES / 16 * 16); /* whole pairs */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct raw_sums sums = {.count = 0};
        REQUIRE_OUT(number_type_parse(names[i], &sums.type), STATUS_USAGE, "%s is no type",
                    names[i]);
        for (uint64_t at = 0; at < whole && at < PIECES * step; at += step) {
            uint64_t count = min_u64(PIECE_BYTES, whole - at);
            TRY_OUT(file_read(fd, path, skip + at, bytes, count));
            TRY_OUT(raw_types_add(bytes, count, &sums));
        }
        TRY_OUT(raw_types_say(names[i], &sums, out));
    }
out:
    file_close(fd);
    return st;
}
