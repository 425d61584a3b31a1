/* Unpacking and the FIR of the polyphase filter, for a few spectra of one stream at a time.
 *
 * The samples are taken in columns so narrow that a window of all the raw spectra that the spectra
 * need stays in the first-level cache: each is unpacked once, and every load of the FIR is near. */
#ifndef VOLTMILL_COMPUTE_CPU_PPF_PPF_FIR_H
#define VOLTMILL_COMPUTE_CPU_PPF_PPF_FIR_H

#include "compute/channelise.h"
#include "compute/cpu/ppf/kernels.h"

typedef struct ppf_fir ppf_fir_t;

/* Returns the largest multiple of FIR_ROWS up to `most` spectra whose rows of `row` floats stay in
 * the second-level cache. */
size_t ppf_fir_rows(size_t most, size_t row);

/* How parts of a spectrum are taken: P = height x `width` samples are a matrix, of which `columns`
 * neighbouring columns (a multiple of MOST_LANES up to 128 that divides `width`) are made row by
 * row. 0: whole spectra are. */
struct ppf_fir_strips {
    size_t width, columns;
};

/* Creates a filter for up to `rows` spectra a pass (a multiple of FIR_ROWS). Coefficients are
 * copied in the order in which they are loaded. Fails with DEVICE. */
status_t ppf_fir_create(const struct cpu_kernels *kernels, const struct channelise_spec *spec,
                        size_t rows, struct ppf_fir_strips strips, ppf_fir_t **out);
void ppf_fir_destroy(ppf_fir_t *filter);

/* Return the bytes of the coefficients, and floats of a thread's window. */
uint64_t ppf_fir_bytes(const struct channelise_spec *spec);
size_t ppf_fir_window_floats(const struct channelise_spec *spec, size_t rows);

/* Returns the bytes of a stored sample. */
size_t ppf_fir_sample_bytes(const struct channelise_spec *spec);

/* Output of a run: `count` spectra, the first of which begins at place `turn` of a raw spectrum
 * (channelise_turn()). */
struct ppf_fir_out {
    size_t count, turn;
    float *rows; /* [count, rounded up to FIR_ROWS][stride], pairs if complex */
    size_t stride;
    const float *touch; /* NULL, or memory of [count][touch_stride] that will be written next */
    size_t touch_stride;
};

/* Filters spectra.
 *
 *   data     [channelise_inputs()] stored samples without gaps, real parts before imaginary ones
 *   window   float [ppf_fir_window_floats()], of this thread
 *
 * Returns how many of the first `answers` samples were missing; missing ones count as zero volts.
 */
uint64_t ppf_fir_run(const ppf_fir_t *filter, const char *data, uint64_t answers, float *window,
                     const struct ppf_fir_out *out);

/* Filters likewise the strip's samples in a row of the matrix, from sample `first` of each raw
 * spectrum on, of a critically sampled bank: rows begin with them, `turn` and `touch` are 0, and
 * the window is [count + T - 1][columns], pairs if complex. Samples that many `ahead` of them are
 * prefetched. */
struct ppf_fir_part {
    size_t first, ahead;
};
uint64_t ppf_fir_part(const ppf_fir_t *filter, const char *data, const struct ppf_fir_part *part,
                      uint64_t answers, float *window, const struct ppf_fir_out *out);

#endif
