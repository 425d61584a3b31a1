/* Some rows of a filter's first stream beside those of the reference: the first ones, some around
 * the last border of blocks, some between, the last ones. */
#ifndef VOLTMILL_TUNE_PROBLEM_FIR_WINDOWS_H
#define VOLTMILL_TUNE_PROBLEM_FIR_WINDOWS_H

#include "compute/filter.h"

enum { FIR_WINDOWS = 4 };

/* How far rows may be off, in units of rms(x) ||c||_2: the rms of all, and any. */
extern const double fir_rms_limit, fir_worst_limit;

struct fir_windows {
    struct fir_window {
        uint64_t first, rows;
        float *expected;
    } list[FIR_WINDOWS];
    double unit;  /* rms(x) ||c||_2 */
    double error; /* rms of the rows that were compared last, in units of that */
};

/* Floats of a row. */
size_t fir_row_floats(const struct filter_spec *spec);

/* For `samples` of stream 0 that lie in memory as `input` says. fir_windows_free() in any case. */
void fir_windows_begin(struct fir_windows *windows, const struct filter_spec *spec,
                       const void *data, const struct sample_input *input, uint64_t samples);
void fir_windows_free(struct fir_windows *windows);

/* Rows of `run`, which begins with row 0, by the reference; of responses, with transforms of the
 * length that the spec's choice has. Fails with DEVICE. */
status_t fir_windows_expect(struct fir_windows *windows, const struct filter_spec *spec,
                            const struct stage_run *run, const void *data,
                            const struct sample_input *input);

/* Adds the rows of `out` that are off to *wrong, one if none is but all together are. */
void fir_windows_compare(struct fir_windows *windows, const struct filter_spec *spec,
                         const float *out, uint32_t *wrong);

#endif
