/* Quantisation: numbers in few bits, value = scale q + offset, q an integer. A line is a channel in
 * a block of rows, and has its own scale and offset.
 *
 *   power    unsigned   1 .. 255      1 .. 65535         0: NaN
 *   spectra  signed     -127 .. 127   -32767 .. 32767    -128, -32768: NaN; offset 0
 *
 * Computation of q: factor = 1 / scale and t = value - offset are 32-bit floats. q is the exact
 * product t factor, rounded to the nearest integer, halves to even, and clipped to the range above.
 * Below 2^22 it equals fma(t, factor, 1.5 * 2^23) - 1.5 * 2^23 in floats (kernels/steps.cl).
 * Numbers beyond the range are counted, including infinities. NaN becomes the reserved number, and
 * is not counted.
 *
 * Computation of scale and offset, in double, from the line's finite numbers in the order of the
 * rows:
 *
 *   power    rms about the mean; scale = rms / R, at least |mean| 2^-23; offset = mean - C scale:
 *            with 8 bits R = 16, C = 64 (4 rms below the mean, 12 above), with 16 bits R = 256,
 *            C = 8192 (32 rms below, 224 above)
 *   spectra  rms of real and imaginary parts; scale = rms / R: 8 rms to either side, or 128
 *
 * A scale above 0 is at least 2^-124. It is rounded to a 32-bit float, and then the offset that
 * follows from it. Lines that are all zero or all NaN have the scale 1. All functions are pure;
 * every machine gives the same bytes. */
#ifndef VOLTMILL_DSP_STEPS_H
#define VOLTMILL_DSP_STEPS_H

#include <stddef.h>
#include <stdint.h>

struct steps_form {
    uint32_t bits; /* 8, 16 */
    int is_signed; /* spectra, each line a pair; else power */
};

/* Returns the largest q: 255 or 65535 of power, 127 or 32767 of spectra. */
static inline int32_t steps_most(struct steps_form form)
{
    return (form.bits == 8 ? UINT8_MAX : UINT16_MAX) >> (form.is_signed ? 1 : 0);
}

/* Returns the smallest q that is a number: 1 of power, -127 or -32767 of spectra. */
static inline int32_t steps_least(struct steps_form form)
{
    return form.is_signed ? -steps_most(form) : 1;
}

/* Returns the q that represents NaN: 0 of power, -128 or -32768 of spectra. */
static inline int32_t steps_blank(struct steps_form form)
{
    return steps_least(form) - 1;
}

/* steps_a_rms(): returns R, the steps of a number's rms: 16 for 8 bits, 256 for 16. steps_centre():
 * returns C, the steps from the offset of power to its mean: 64 and 8192. */
double steps_a_rms(uint32_t bits);
double steps_centre(uint32_t bits);

/* Returns (value - offset) factor, the difference as a float: the number of steps before it is
 * rounded. */
static inline double steps_of(float value, float offset, float factor)
{
    return (double)(value - offset) * (double)factor;
}

/* Statistics of lines, each [lines]. Of power: its first number, the sums of the differences from
 * it and of their squares. Of spectra: the sum of squares; `first` and `sum` are unused. Then the
 * count of finite numbers (or pairs). All are 0 at the beginning. */
struct steps_sums {
    double *first, *sum, *squares, *count;
};

/* Adds `count` rows, in their order, to the statistics of lines: float [lines], or [lines][2] if
 * form.is_signed, each row `stride` floats after the one before. */
void steps_measure(struct steps_form form, const float *rows, size_t count, size_t stride,
                   size_t lines, struct steps_sums sums);

/* Computes scale and offset, each [lines], from the statistics of steps_measure(). In the unit of
 * the rows, scale is the value of one step, offset that of q = 0. Offsets of spectra are 0. */
void steps_settle(struct steps_form form, struct steps_sums sums, size_t lines, float *scale,
                  float *offset);

/* Computes the factors of a row's lines: factor[lines] = 1 / scale[lines]. */
void steps_factors(const float *scale, size_t lines, float *factor);

/* Rows, float [count][lines] or [count][lines][2], and the numbers that they become. */
struct steps_rows {
    struct steps_form form;
    const float *rows;
    size_t count, stride; /* rows, and from one to the next in numbers, of `out` too */
    size_t lines;
    const float *offset;  /* [lines]; of spectra unused */
    const float *factor;  /* [lines] */
    void *out;            /* the numbers of form.bits */
    uint16_t *low, *high; /* [lines]: clipped numbers are added, modulo 2^16 */
    int *any;             /* NULL, or becomes 1 where something may have been clipped */
};

/* Quantises work->rows into work->out. Adds the numbers that were clipped at the lower and at the
 * upper end to low and high of their line, which no other thread may change meanwhile. Cannot fail.
 */
void steps_store(const struct steps_rows *work);

/* Returns the stored number q at place `at`, from 0, of a row of form.bits each; of spectra line i
 * has the numbers 2 i (real) and 2 i + 1 (imaginary). */
int32_t steps_number(struct steps_form form, const void *row, size_t at);

/* Returns the value next to `expected` among those that the number can represent: the ends of the
 * range also represent everything beyond them; NaN for the reserved number. `expected` NaN: returns
 * scale number + offset. */
float steps_nearest(struct steps_form form, int32_t number, float scale, float offset,
                    float expected);

/* Converts a row back to `out`, floats [lines], of spectra [lines][2]: scale q + offset in double,
 * rounded to the nearest float; NaN for the reserved number. scale, offset: [lines]; the offset is
 * read and added for spectra, too. */
void steps_load(struct steps_form form, const void *row, size_t lines, const float *scale,
                const float *offset, float *out);

#endif
