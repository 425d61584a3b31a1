/* Numbers in few bits: value = scale q + offset, q a whole number, scale and offset those of a
 * line: of a channel, for a block of rows.
 *
 *   power    unsigned   1 .. 255      1 .. 65535         0: no number
 *   spectra  signed     -127 .. 127   -32767 .. 32767    -128, -32768: no number; offset 0
 *
 * How q is made: with factor = 1 / scale as a 32-bit float and t = value - offset as a 32-bit
 * float, q is the exact product t factor, rounded to the nearest whole number, halves to the even
 * one, and clipped to the range above: what fma(t, factor, 1.5 * 2^23) - 1.5 * 2^23 is in floats
 * below 2^22 (kernels/steps.cl). Numbers beyond the range are counted, infinite ones among them;
 * what is no number becomes the number kept for that, and is not.
 *
 * How scale and offset are made, in double, of the line's finite numbers in the order of the rows:
 *
 *   power    rms about the mean; scale = rms / R, at least |mean| 2^-23; offset = mean - C scale:
 *            with 8 bits R = 16, C = 64 (4 rms below the mean, 12 above), with 16 bits R = 256,
 *            C = 8192 (32 rms below, 224 above)
 *   spectra  rms of real and imaginary parts; scale = rms / R: 8 rms to either side, or 128
 *
 * then rounded to 32-bit floats. Lines that are all zero, or have no number, have the scale 1. All
 * of it is pure; every machine gives the same bytes. */
#ifndef VOLTMILL_DSP_STEPS_H
#define VOLTMILL_DSP_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct steps_form {
    uint32_t bits; /* 8, 16 */
    int is_signed; /* spectra, each line a pair; else power */
};

/* The range of q, and what stands for no number. */
int32_t steps_least(struct steps_form form);
int32_t steps_most(struct steps_form form);
int32_t steps_blank(struct steps_form form);

/* R and C of above. */
double steps_a_rms(uint32_t bits);
double steps_centre(uint32_t bits);

/* t factor of above. */
static inline double steps_of(float value, float offset, float factor)
{
    return (double)(value - offset) * (double)factor;
}

/* What is known of lines, each [lines]: of power its first number, sums of the differences from it
 * and of their squares; of spectra the sum of squares; how many numbers (or pairs). All 0 at the
 * beginning. */
struct steps_sums {
    double *first, *sum, *squares, *count;
};

/* Takes up a row, float [lines], or [lines][2]. */
void steps_measure(struct steps_form form, const float *row, size_t lines, struct steps_sums sums);

/* Scale and offset, each [lines]. */
void steps_settle(struct steps_form form, struct steps_sums sums, size_t lines, float *scale,
                  float *offset);

/* Mean and rms of a line of power, and the scale and offset that follow, before they are rounded.
 */
struct steps_line {
    double mean, rms, scale, offset;
};
struct steps_line steps_line_of(uint32_t bits, double mean, double rms);

/* What a row is multiplied by: 1 / scale, [lines]. */
void steps_factors(const float *scale, size_t lines, float *factor);

/* Stores a row. low, high [lines]: counts what was clipped there. */
void steps_store(struct steps_form form, const float *row, size_t lines, const float *offset,
                 const float *factor, void *out, uint16_t *low, uint16_t *high);

/* One of its numbers, of all of them. */
int32_t steps_number(struct steps_form form, const void *row, size_t at);

/* The value next to `expected` among those that the number may stand for: what is beyond the range
 * became its ends; NaN for no number. */
float steps_nearest(struct steps_form form, int32_t number, float scale, float offset,
                    float expected);

/* Reads it back: scale q + offset in double, as the nearest float; NaN. */
void steps_load(struct steps_form form, const void *row, size_t lines, const float *scale,
                const float *offset, float *out);

#endif
