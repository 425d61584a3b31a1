/* Trials of filters: streams of random samples through one filter in any number of shapes, and some
 * rows of each compared with sums in double. */
#ifndef VOLTMILL_TUNE_PROBLEM_PROBLEM_FIR_H
#define VOLTMILL_TUNE_PROBLEM_PROBLEM_FIR_H

#include "compute/filter.h"
#include "tune/trial.h"

enum { FIR_WINDOWS = 4 };

/* Limits of the error of rows, in units of rms(x) ||c||_2: rms over all rows, and largest. */
extern const double fir_rms_limit, fir_worst_limit;

struct fir_windows {
    struct fir_window {
        uint64_t first, rows;
        float *expected;
    } list[FIR_WINDOWS];
    double unit;  /* rms(x) ||c||_2 */
    double error; /* rms of the rows that were compared last, in units of that */
};

/* Compares the rows of `out`, float or float2 [rows] of the first stream of `spec`, with those of
 * the windows. Adds the number of wrong rows to *wrong; 1 if each row is within its limit, but
 * their rms is not. Sets windows->error. Cannot fail. */
void fir_windows_compare(struct fir_windows *windows, const struct filter_spec *spec,
                         const float *out, uint32_t *wrong);

/* Trial of a filter. Samples of a stream go from one buffer to the other. `pairs` 0: from memory of
 * the host and back to it. Else (one stream of floats, which stay real or complex, and no
 * decimation) this many pairs of the device's own buffers are used in turn, without host memory:
 * with enough pairs, no data comes from caches. */
struct fir_trial {
    backend_t *backend;
    struct filter_spec spec; /* of one stream or more */
    uint64_t rows;           /* of each stream, in a run */
    uint64_t samples;        /* that they are made of */
    struct stage_run run;
    size_t *re, *im;
    struct sample_input input;
    buffer_t *in, *out;
    struct fir_pair {
        buffer_t *in, *out;
    } * pairs;
    uint32_t npairs, turn;
    int is_moved;    /* this time with transfers */
    filter_t *stage; /* what is timed */
    filter_t *copy;  /* one coefficient of 1: between the host and the pairs */
    struct fir_windows windows;
};

/* Begins a trial of the streams of `spec`, `rows` >= 1 rows each, with `pairs` pairs of buffers
 * (struct fir_trial). What `spec` points to must outlive the trial; its choice, max_rows and
 * is_timed are ignored. Overwrites *out; the caller calls fir_trial_end() in any case. Fails with
 * DEVICE (memory, of the device too; a kernel that does not build). */
status_t fir_trial_begin(backend_t *backend, const struct filter_spec *spec, uint64_t rows,
                         uint32_t pairs, struct fir_trial *out);
/* Frees the filters and buffers of a trial, and sets it to {0}, which it takes. */
void fir_trial_end(struct fir_trial *trial);

/* Creates the filter as chosen, in the place of the last one, compares the output of a warm-up run,
 * times `repeats` >= 1 runs (pairs by the device's clock; `time` as for trial_time(), may be NULL),
 * and compares the output of the last run. Fails with USAGE (impossible shape), DEVICE (memory; a
 * kernel that does not build or run); *times is unchanged then. A wrong result is no failure:
 * times->wrong counts as fir_windows_compare(), of both. The filter stays until the next call or
 * fir_trial_end(). */
status_t fir_trial_time(struct fir_trial *trial, const struct filter_choice *choice,
                        uint32_t repeats, const struct tune_time *time, struct trial_times *times);
/* Times the last filter, which fir_trial_time() has made, once more with transfers: from the host
 * and back, one run after the other, by the host's clock. Compares the output of the last run.
 * Fails with DEVICE (memory, a kernel that does not run); *times is unchanged then. */
status_t fir_trial_time_moved(struct fir_trial *trial, uint32_t repeats,
                              const struct tune_time *time, struct trial_times *times);

#endif
