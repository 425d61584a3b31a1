/* The inner loops of the CPU backend, compiled once for each instruction set; the program takes the
 * best that the machine has.
 *
 * They work on blocks of `lanes` samples. In a window, a block of complex samples stores all its
 * real parts, then all its imaginary ones, so that one coefficient multiplies whole vectors of
 * both. Real samples are stored in their order. */
#ifndef VOLTMILL_COMPUTE_CPU_PPF_KERNELS_H
#define VOLTMILL_COMPUTE_CPU_PPF_KERNELS_H

#include "base/simd.h"
#include "compute/shared/samples.h"

enum {
    MOST_LANES = 16,
    FIR_ROWS = 4, /* spectra that share each coefficient loaded: Adamek's S_B */
    /* Long sums are cut into pieces of this many taps, added in double: a float sum over thousands
     * of taps would lose the digits that the transform keeps. */
    FIR_PIECE = 64,
    FINE_COLUMNS = 16, /* of a fine spectrum's matrix that are transformed side by side */
    TURN_BYTES = 16    /* of neighbouring streams that are transposed together */
};

/* Rule by which stored samples are missing; these become zero. */
struct missing_rule {
    int finite; /* NaN and infinities are missing */
    int value;  /* a stored number is missing: both parts equal to it, or either one */
    int both;
    float re, im;
};

/* out[s][i] = sum_t window[s + t][i] coeff[t][i], t ascending, s < rows, i < blocks * lanes.
 *
 *   window   float [rows + taps - 1][window_stride]   blocks as above
 *   coeff    float [taps][coeff_stride]               the same for both parts
 *   out      float [rows][out_stride]                 pairs (re, im) if complex
 *
 * `rows` is a multiple of FIR_ROWS. Rows are aligned to vectors. `touch`, when not NULL, is memory
 * of [rows][touch_stride] floats that is going to be written soon, in columns like `out`: it is
 * called into the cache. */
struct fir_block {
    const float *window, *coeff;
    size_t window_stride, coeff_stride, out_stride, touch_stride;
    size_t taps, rows, blocks;
    int conjugate; /* complex: negate the imaginary part of what comes out */
    float *out;
    const float *touch;
};

/* Filters an oversampled bank, columns column .. of `samples` of a raw spectrum:
 *
 *   out[s][i] = sum_t window[k + t][i] b[t samples + (column + i - at) mod samples],
 *
 * at = turn + s hop, k = ceil((at - column - i) / samples), s < spectra, i < blocks * lanes; with
 * is_shifted times (-1)^at.
 *
 *   window   float [raw spectra][window_stride]   blocks as above, from the raw spectrum on in
 *            which spectrum 0 begins, at place `turn`
 *   coeff    float [taps][samples] b, with MOST_LANES floats, all finite, before and after it
 *   out      float [spectra][out_stride]
 *
 * No loop uses samples before a spectrum's first sample or after its last. */
struct fir_hops {
    const float *window, *coeff;
    size_t window_stride, out_stride, touch_stride;
    size_t samples, hop, turn, column;
    size_t taps, spectra, blocks;
    int conjugate, is_shifted;
    float *out;
    const float *touch;
};

struct side_fft; /* cpu/fine_fft.h */

/* FINE_COLUMNS columns of a spectrum's matrix, transformed side by side, number k1 of column c
 * times step[k1][c] base[k1], to[k1 / FINE_COLUMNS][c][k1 % FINE_COLUMNS]. All rows are aligned to
 * 64 bytes.
 *
 *   from   float [points], rows `stride` apart, of at least FINE_COLUMNS pairs
 *   step   float [points][2][FINE_COLUMNS]   real parts, imaginary ones
 *   base   float [points][2]
 *   work   float [points][2][FINE_COLUMNS]
 *   to     [points / FINE_COLUMNS] blocks, `block` floats apart, of which FINE_COLUMNS x
 *          FINE_COLUMNS pairs are written, past the caches where `past` */
struct side_columns {
    const struct side_fft *fft;
    const float *from;
    size_t stride;
    const float *step, *base;
    float *work, *to;
    size_t block;
    int past;
};

struct cpu_kernels {
    const char *name;
    size_t lanes;
    /* Blocks of stored samples without gaps between them (real parts before imaginary ones) to
     * floats, for each enum sample_format: of real samples [0] (NULL for SAMPLE_I4) and complex
     * ones [1].
     *
     *   from   [blocks * lanes] samples, at any address
     *   out    float [blocks][parts][lanes]   */
    void (*unpack[4][2])(const void *from, size_t blocks, const struct nibbles *nibbles,
                         float *out);
    /* Copies numbers of 1, 2, 4 or 8 bytes that are `step` bytes apart, at any address, to places
     * that are `out_step` bytes apart. */
    void (*gather)(size_t bytes, const char *from, size_t step, size_t count, size_t out_step,
                   char *out);
    /* Transposes numbers of TURN_BYTES / bytes neighbouring streams, `count` (a multiple of that)
     * of each: samples are `step` bytes apart, and come out without gaps, streams `out_step` bytes
     * apart. */
    void (*turn)(size_t bytes, const char *from, size_t step, size_t count, size_t out_step,
                 char *out);
    /* Sets missing samples among the first `count` of what unpack gave to zero; returns their
     * number. `out` is aligned to vectors. [0] real, [1] complex. */
    uint64_t (*drop[2])(const struct missing_rule *rule, size_t count, float *out);
    /* [0] real, [1] complex. */
    void (*fir[2])(const struct fir_block *block);
    void (*hops[2])(const struct fir_hops *hops);
    /* power[k] = |bins[k]|^2, or with `add` += ; bins are pairs. */
    void (*power)(const float *bins, size_t count, int add, float *power);
    /* The same of |bins[k]|^4, and of a[k] conj(b[k]): its real and its imaginary parts. */
    void (*squares)(const float *bins, size_t count, int add, float *squares);
    void (*cross)(const float *a, const float *b, size_t count, int add, float *re, float *im);
    /* Transposes to[c][r] = from[r][c], pairs; strides in floats. Rows and columns are multiples of
     * FINE_COLUMNS, and all rows are aligned to 64 bytes. */
    void (*transpose)(const float *from, size_t from_stride, size_t rows, size_t columns, float *to,
                      size_t to_stride);
    /* to[k] = from[k] a[k] b[k], pairs; aligned likewise. Where `past`, past the caches. */
    void (*twiddle)(const float *from, size_t count, const float *a, const float *b, int past,
                    float *to);
    /* Spreads pieces of FINE_COLUMNS pairs, side by side, to memory with a stride of `to_stride`
     * floats, past the caches where that is aligned to 64 bytes. */
    void (*spread)(const float *from, size_t count, float *to, size_t to_stride);
    /* Transforms side by side: columns as above, and of rows of FINE_COLUMNS pairs, whose bins go
     * to rows `stride` floats apart, past the caches where `past`; all are aligned to 64 bytes.
     *
     *   from   float [points][FINE_COLUMNS][2]
     *   work   float [points][2][FINE_COLUMNS]   */
    void (*side_columns)(const struct side_columns *columns);
    void (*side_rows)(const struct side_fft *fft, const float *from, float *work, float *to,
                      size_t stride, int past);
    /* Makes stores past the caches visible to other threads. */
    void (*settle)(void);
};

/* Sets *out to the rule by which samples of this coding are missing. Returns 0 if no sample ever
 * is, else 1; the rule is set in either case. */
int missing_rule_of(const struct cpu_kernels *kernels, const struct sample_coding *coding,
                    struct missing_rule *out);

/* Returns the constant kernels of an instruction set, not to be freed; NULL if this machine or this
 * build lacks it. */
const struct cpu_kernels *simd_kernels(enum simd_level level);

#endif
