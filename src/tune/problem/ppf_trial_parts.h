/* What the files of trials of filter banks share: bank_trial.c makes and checks them, block_trial.c
 * cuts them into blocks. For nobody else. */
#ifndef VOLTMILL_TUNE_PROBLEM_PPF_TRIAL_PARTS_H
#define VOLTMILL_TUNE_PROBLEM_PPF_TRIAL_PARTS_H

#include "tune/problem/ppf_trial.h"

/* Spectra that are compared, at the beginning and at the end: dumps are no longer than that. */
enum { PPF_TRIAL_WINDOW = 16, PPF_TRIAL_WINDOWS = 2 };

struct ppf_trial {
    backend_t *backend;
    struct channelise_spec spec;
    struct channelise_choice plan; /* with FFTW's plan */
    buffer_t *in, *out[MOST_OUTPUTS];
    float *expected[PPF_TRIAL_WINDOWS][MOST_OUTPUTS];
    size_t sample_bytes;
};

size_t ppf_trial_row_floats(const struct channelise_spec *spec, uint32_t i);
uint64_t ppf_trial_rows_of(const struct channelise_spec *spec, uint32_t i, uint64_t spectra);
/* Of buffers for so many spectra. */
uint64_t ppf_trial_input_bytes(const ppf_trial_t *trial, uint64_t spectra);
uint64_t ppf_trial_output_bytes(const ppf_trial_t *trial, uint32_t i, uint64_t spectra);
uint64_t ppf_trial_buffer_bytes(const ppf_trial_t *trial, uint64_t spectra);

/* Bytes from a sample's real part to its imaginary part. */
size_t ppf_trial_part_bytes(const ppf_trial_t *trial);

/* A choice as the trial runs it: with FFTW's plan. */
void ppf_trial_take_choice(const ppf_trial_t *trial, const struct channelise_choice *choice,
                           struct channelise_spec *out);

/* Runs once into the trial's own buffers of rows. */
status_t ppf_trial_run_once(ppf_trial_t *trial, channelise_t *stage, double *seconds);
/* How many rows of the windows are wrong there. */
status_t ppf_trial_compare(ppf_trial_t *trial, uint32_t *wrong);

#endif
