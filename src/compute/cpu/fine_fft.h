/* Transforms of many points by columns and rows: what is too long for the caches is never worked on
 * as a whole, and only short transforms are planned, within a fraction of a second.
 *
 * C = height x width points are a matrix, sample j = j1 width + j2 in row j1 of column j2. With
 * w(n, k) = exp(-2 pi i k / n), bin k1 + height k2 is
 *
 *   sum over j2 of w(width, k2 j2) w(C, k1 j2) sum over j1 of w(height, k1 j1) x[j1][j2]
 *
 * (Bailey 1990, FFTs in external or hierarchical memory). FINE_COLUMNS neighbouring columns are
 * transposed, transformed, and leave a matrix [j2][k1] in memory; then FINE_COLUMNS of its columns,
 * which leave as many neighbouring bins for each k2. Where both are powers of two they are
 * transformed side by side (below), and the matrix is of blocks [k1 /
 * FINE_COLUMNS][j2][FINE_COLUMNS], so that either step reads or writes long runs. Else FFTW
 * transforms them, transposed first, since it takes two to four times as long with numbers that are
 * not beside each other (256 to 1,024 points, measured), unless its planner is patient. Who makes
 * the columns need not have all of a spectrum at once. */
#ifndef VOLTMILL_COMPUTE_CPU_FINE_FFT_H
#define VOLTMILL_COMPUTE_CPU_FINE_FFT_H

#include "compute/cpu/cpu_fft.h"
#include "compute/cpu/ppf/kernels.h"

enum { SIDE_STAGES = 6, SIDE_LEAST = 16, SIDE_MOST = 8192 };

struct side_stage {
    size_t radix, span;
    const float *factors; /* [span / radix][radix - 1] pairs w(span, j k), k = 1 .. radix - 1 */
};

struct side_fft {
    size_t points, nstages;
    struct side_stage stages[SIDE_STAGES];
    uint32_t *order; /* [points] place of bin k after the last stage */
    float *factors;  /* of all stages */
};

struct fine_shape {
    size_t height, width; /* multiples of FINE_COLUMNS and of FINE_STRIP, at most 8,192; 0: not by
                             columns and rows */
    int is_beside;        /* transformed side by side; else by FFTW */
};

/* fine_shape(): returns the shape by rule. Complex transforms of FINE_LEAST to 2^26 points whose
 * length is a power of two go side by side. Other complex ones from fine_least() points on go
 * through FFTW if no prime factor is above 13, and struct fine_shape admits a height and width. All
 * others, real ones too, get {0}: not by columns and rows. Another shape may round otherwise, so a
 * job has that of rank 0.
 *
 * fine_least(): returns 2^18 where the second-level cache has less than 2 MiB, else 2^14. Shorter
 * transforms FFTW does as fast from the cache, and plans soon (measured on an EPYC and a Xeon). */
enum { FINE_LEAST = 1 << 14 };
size_t fine_least(void);
struct fine_shape fine_shape(size_t points, int is_complex);

/* Finds FFTW's wisdom for the columns and rows of `count` spectra, planned with this effort within
 * about 20 s for each of both and kept in the user's cache, or reads it from there
 * (cpu_fft_wisdom()). Writes it to `out`, a text of at most `room` bytes. Writes "" for a plan by
 * rule, if FFTW has nothing to do, if the wisdom does not fit, and on failure. Fails with DEVICE
 * (memory). */
status_t fine_fft_wisdom(struct fine_shape shape, enum fft_planning planning, uint64_t count,
                         char *out, size_t room);

typedef struct fine_fft fine_fft_t;

/* Creates a transform by this wisdom, or by rule if it is "". `kernels` are of this machine. Fails
 * with DEVICE (memory, wisdom that this machine cannot use, a shape that cannot be), and leaves
 * *out unchanged. */
status_t fine_fft_create(const struct cpu_kernels *kernels, struct fine_shape shape,
                         const char *wisdom, fine_fft_t **out);
/* Frees a transform; takes NULL. */
void fine_fft_destroy(fine_fft_t *fine);
SCOPED_END(fine_fft_destroy, fine_fft_t *)

/* Return sizes in floats. fine_fft_matrix(): of the matrix between columns and rows of one
 * spectrum. fine_fft_bins(): of the bins that fine_fft_rows() makes. fine_fft_scratch(): of the
 * scratch of either step. */
size_t fine_fft_matrix(struct fine_shape shape);
size_t fine_fft_bins(struct fine_shape shape);
size_t fine_fft_scratch(struct fine_shape shape);

enum { FINE_STRIP = 2 * FINE_COLUMNS };
/* Transforms columns first .. first + FINE_COLUMNS - 1, from 0, of a spectrum; `first` is a
 * multiple of FINE_COLUMNS. All memory is aligned to 64 bytes. Cannot fail.
 *
 *   columns   float [height][FINE_STRIP][2], of which the first FINE_COLUMNS of each row count
 *   scratch   float [fine_fft_scratch()]
 *   matrix    of the spectrum; gets these columns, past the caches where `past`: then the thread
 *             calls settle() (struct cpu_kernels) before others read them */
void fine_fft_columns(const fine_fft_t *fine, const float *columns, size_t first, float *scratch,
                      int past, float *matrix);

/* Computes bins k1 + height k2 for k1 = first .. first + FINE_COLUMNS - 1; `first` is a multiple of
 * FINE_COLUMNS. Cannot fail.
 *
 *   matrix    aligned to 64 bytes, as is all else
 *   scratch   float [fine_fft_scratch()]
 *   bins      float [width][FINE_COLUMNS][2]   for each k2 */
void fine_fft_rows(const fine_fft_t *fine, const float *matrix, size_t first, float *scratch,
                   float *bins);

/* Computes bins k1 + height k2 for k1 = first .. first + FINE_COLUMNS - 1; `first` is a multiple of
 * FINE_COLUMNS. Stores them at their places in `spectrum`, float [height width][2], past the
 * caches: then the thread calls settle() (struct cpu_kernels). Matrix and scratch as for
 * fine_fft_rows(), all aligned to 64 bytes. For shapes that are side by side only. Cannot fail. */
void fine_fft_spectrum(const fine_fft_t *fine, const float *matrix, size_t first, float *scratch,
                       float *spectrum);

#endif
