/* Measuring, rounding and reading back, line by line; loops are plain, so that compilers make
 * vectors of them. */
#include "dsp/steps.h"

#include "base/wide.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Added to a double it leaves the nearest whole number, halves to even, in the lowest bits. */
static const double round_to_whole = 0x1.8p52;

int32_t steps_least(struct steps_form form)
{
    return form.is_signed ? -steps_most(form) : 1;
}

int32_t steps_most(struct steps_form form)
{
    return (form.bits == 8 ? UINT8_MAX : UINT16_MAX) >> (form.is_signed ? 1 : 0);
}

int32_t steps_blank(struct steps_form form)
{
    return steps_least(form) - 1;
}

double steps_a_rms(uint32_t bits)
{
    return bits == 8 ? 16 : 256;
}

double steps_centre(uint32_t bits)
{
    return bits == 8 ? 64 : 8192;
}

enum { TOGETHER = 8 /* rows whose numbers of a line are taken up at once */ };

static inline void steps_add_power(const float *restrict rows, size_t count, size_t stride,
                                   size_t lines, struct steps_sums sums)
{
    double *restrict first = sums.first;
    double *restrict sum = sums.sum;
    double *restrict squares = sums.squares;
    double *restrict numbers = sums.count;
    for (size_t i = 0; i < lines; i++) {
        for (size_t row = 0; row < count; row++) {
            double value = (double)rows[row * stride + i];
            int is_there = fabs(value) <= (double)FLT_MAX;
            double begin = numbers[i] > 0 ? first[i] : is_there ? value : 0;
            double difference = is_there ? value - begin : 0;
            first[i] = begin;
            sum[i] += difference;
            squares[i] += difference * difference;
            numbers[i] += is_there ? 1.0 : 0.0;
        }
    }
}

static inline void steps_add_pairs(const float *restrict rows, size_t count, size_t stride,
                                   size_t lines, struct steps_sums sums)
{
    double *restrict squares = sums.squares;
    double *restrict numbers = sums.count;
    for (size_t i = 0; i < lines; i++) {
        for (size_t row = 0; row < count; row++) {
            double re = (double)rows[row * stride + 2 * i];
            double im = (double)rows[row * stride + 2 * i + 1];
            double square = re * re + im * im;
            int is_there = square <= DBL_MAX; /* squares of floats are in the range of doubles */
            squares[i] += is_there ? square : 0;
            numbers[i] += is_there ? 1.0 : 0.0;
        }
    }
}

WIDE static void steps_measure_power(const float *rows, size_t count, size_t stride, size_t lines,
                                     struct steps_sums sums)
{
    for (; count >= TOGETHER; count -= TOGETHER, rows += TOGETHER * stride) {
        steps_add_power(rows, TOGETHER, stride, lines, sums);
    }
    for (; count > 0; count--, rows += stride) {
        steps_add_power(rows, 1, stride, lines, sums);
    }
}

WIDE static void steps_measure_pairs(const float *rows, size_t count, size_t stride, size_t lines,
                                     struct steps_sums sums)
{
    for (; count >= TOGETHER; count -= TOGETHER, rows += TOGETHER * stride) {
        steps_add_pairs(rows, TOGETHER, stride, lines, sums);
    }
    for (; count > 0; count--, rows += stride) {
        steps_add_pairs(rows, 1, stride, lines, sums);
    }
}

void steps_measure(struct steps_form form, const float *rows, size_t count, size_t stride,
                   size_t lines, struct steps_sums sums)
{
    (form.is_signed ? steps_measure_pairs : steps_measure_power)(rows, count, stride, lines, sums);
}

/* Mean and rms of a line of power, and the scale and offset that follow, before they are
 * rounded. */
struct steps_line {
    double mean, rms, scale, offset;
};

/* At least a step of floats at the mean, else the offset's own rounding would be many steps. */
static struct steps_line steps_line_of(uint32_t bits, double mean, double rms)
{
    double scale = fmax(rms / steps_a_rms(bits), fabs(mean) * (double)FLT_EPSILON);
    scale = scale > 0 ? fmax(scale, 4 * (double)FLT_MIN) : 1;
    return (struct steps_line){mean, rms, scale, mean - steps_centre(bits) * scale};
}

void steps_settle(struct steps_form form, struct steps_sums sums, size_t lines, float *scale,
                  float *offset)
{
    for (size_t i = 0; i < lines; i++) {
        double count = sums.count[i] > 0 ? sums.count[i] : 1;
        double shift = form.is_signed ? 0 : sums.sum[i] / count;
        double square = sums.squares[i] / count / (form.is_signed ? 2 : 1);
        double mean = form.is_signed ? 0 : sums.first[i] + shift;
        struct steps_line line =
            steps_line_of(form.bits, mean, sqrt(fmax(square - shift * shift, 0)));
        scale[i] = (float)line.scale;
        offset[i] = form.is_signed ? 0 : (float)(mean - steps_centre(form.bits) * (double)scale[i]);
    }
}

void steps_factors(const float *scale, size_t lines, float *factor)
{
    for (size_t i = 0; i < lines; i++) {
        factor[i] = 1 / scale[i];
    }
}

static inline int32_t steps_whole(double value, double least, double most)
{
    double low = value > least ? value : least; /* no number, too, becomes the least */
    double whole = (low < most ? low : most) + round_to_whole;
    uint64_t bits;
    memcpy(&bits, &whole, sizeof bits);
    return (int32_t)(uint32_t)bits;
}

/* Halves beyond the ends round outwards: the ends are odd. */
#define STEPS_STORE(type, parts)                                                                   \
    WIDE static void steps_store_##type(struct steps_form form, const float *restrict row,         \
                                        size_t lines, const float *restrict offset,                \
                                        const float *restrict factor, void *restrict out,          \
                                        uint16_t *restrict low, uint16_t *restrict high)           \
    {                                                                                              \
        const double least = steps_least(form);                                                    \
        const double most = steps_most(form);                                                      \
        const int32_t blank = steps_blank(form);                                                   \
        type *restrict numbers = out;                                                              \
        for (size_t i = 0; i < lines; i++) {                                                       \
            int is_low = 0;                                                                        \
            int is_high = 0;                                                                       \
            for (size_t j = 0; j < (parts); j++) {                                                 \
                double value = steps_of(row[i * (parts) + j], offset[i], factor[i]);               \
                int32_t whole = steps_whole(value, least, most);                                   \
                is_low += value <= least - 0.5;                                                    \
                is_high += value >= most + 0.5;                                                    \
                numbers[i * (parts) + j] = (type)(isnan(value) ? blank : whole);                   \
            }                                                                                      \
            low[i] = (uint16_t)(low[i] + is_low);                                                  \
            high[i] = (uint16_t)(high[i] + is_high);                                               \
        }                                                                                          \
    }
STEPS_STORE(uint8_t, 1)
STEPS_STORE(uint16_t, 1)
STEPS_STORE(int8_t, 2)
STEPS_STORE(int16_t, 2)

void steps_store(struct steps_form form, const float *row, size_t lines, const float *offset,
                 const float *factor, void *out, uint16_t *low, uint16_t *high)
{
    (form.bits == 8   ? form.is_signed ? steps_store_int8_t : steps_store_uint8_t
     : form.is_signed ? steps_store_int16_t
                      : steps_store_uint16_t)(form, row, lines, offset, factor, out, low, high);
}

int32_t steps_number(struct steps_form form, const void *row, size_t at)
{
    return form.bits == 8 ? form.is_signed ? ((const int8_t *)row)[at] : ((const uint8_t *)row)[at]
           : form.is_signed ? ((const int16_t *)row)[at]
                            : ((const uint16_t *)row)[at];
}

float steps_nearest(struct steps_form form, int32_t number, float scale, float offset,
                    float expected)
{
    if (number == steps_blank(form)) {
        return NAN;
    }
    double value = (double)scale * number + (double)offset;
    /* Differences and factors are floats. */
    double half = (double)scale * (0.5 + 0x1p-22 * abs(number));
    int is_below = number > steps_least(form) && (double)expected < value - half;
    int is_above = number < steps_most(form) && (double)expected > value + half;
    return isnan(expected) ? (float)value
           : is_below      ? (float)(value - half)
           : is_above      ? (float)(value + half)
                           : expected;
}

#define STEPS_LOAD(type, parts)                                                                    \
    static void steps_load_##type(struct steps_form form, const void *restrict row, size_t lines,  \
                                  const float *restrict scale, const float *restrict offset,       \
                                  float *restrict out)                                             \
    {                                                                                              \
        const type *restrict numbers = row;                                                        \
        const int32_t blank = steps_blank(form);                                                   \
        for (size_t i = 0; i < lines * (parts); i++) {                                             \
            int32_t whole = numbers[i];                                                            \
            double value = (double)scale[i / (parts)] * whole + (double)offset[i / (parts)];       \
            out[i] = whole == blank ? NAN : (float)value;                                          \
        }                                                                                          \
    }
STEPS_LOAD(uint8_t, 1)
STEPS_LOAD(uint16_t, 1)
STEPS_LOAD(int8_t, 2)
STEPS_LOAD(int16_t, 2)

void steps_load(struct steps_form form, const void *row, size_t lines, const float *scale,
                const float *offset, float *out)
{
    (form.bits == 8   ? form.is_signed ? steps_load_int8_t : steps_load_uint8_t
     : form.is_signed ? steps_load_int16_t
                      : steps_load_uint16_t)(form, row, lines, scale, offset, out);
}
