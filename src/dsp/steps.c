/* Measuring, rounding and reading back. Kernels (steps_kernels.c) process whole registers of lines;
 * the plain loops here process the rest, and all lines without fused multiply-adds. */
#include "dsp/steps_kernels.h"

#include "base/wide.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Added to a double it leaves the nearest whole number, halves to even, in the lowest bits. */
static const double round_to_whole = 0x1.8p52;

double steps_a_rms(uint32_t bits)
{
    return bits == 8 ? 16 : 256;
}

double steps_centre(uint32_t bits)
{
    return bits == 8 ? 64 : 8192;
}

enum { TOGETHER = 8 /* rows whose numbers of a line are taken up at once */ };

static void steps_add_power(const float *restrict rows, size_t count, size_t stride, size_t lines,
                            struct steps_sums sums)
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

SIMD_DEFINE_FIND(steps_kernels, steps_kernels)

/* Returns the best kernels of this machine, found once. */
static const struct steps_kernels *steps_best(void)
{
    static const struct steps_kernels *_Atomic best;
    const struct steps_kernels *kernels = best;
    if (!kernels) {
        best = kernels = steps_kernels(simd_best());
    }
    return kernels;
}

void steps_measure(struct steps_form form, const float *rows, size_t count, size_t stride,
                   size_t lines, struct steps_sums sums)
{
    if (form.is_signed) {
        steps_measure_pairs(rows, count, stride, lines, sums);
        return;
    }
    size_t done = steps_best()->measure(rows, count, stride, lines, sums);
    struct steps_sums rest = {sums.first + done, sums.sum + done, sums.squares + done,
                              sums.count + done};
    steps_add_power(rows + done, count, stride, lines - done, rest);
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
static void steps_store_line(const struct steps_rows *work, size_t row, size_t line)
{
    const size_t parts = work->form.is_signed ? 2 : 1;
    const double least = steps_least(work->form);
    const double most = steps_most(work->form);
    for (size_t j = 0; j < parts; j++) {
        size_t at = row * work->stride + line * parts + j;
        double value = steps_of(work->rows[at], work->form.is_signed ? 0 : work->offset[line],
                                work->factor[line]);
        int32_t whole = isnan(value) ? steps_blank(work->form) : steps_whole(value, least, most);
        work->low[line] = (uint16_t)(work->low[line] + (value <= least - 0.5));
        work->high[line] = (uint16_t)(work->high[line] + (value >= most + 0.5));
        if (work->any && (whole == (int32_t)least || whole == (int32_t)most)) {
            *work->any = 1;
        }
        if (work->form.bits == 8) {
            ((uint8_t *)work->out)[at] = (uint8_t)whole;
        } else {
            ((uint16_t *)work->out)[at] = (uint16_t)whole;
        }
    }
}

void steps_store(const struct steps_rows *work)
{
    const size_t done = steps_best()->store(work);
    for (size_t row = 0; row < work->count; row++) {
        for (size_t line = done; line < work->lines; line++) {
            steps_store_line(work, row, line);
        }
    }
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
