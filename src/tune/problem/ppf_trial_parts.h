/* What the files of trials of filter banks share: bank_trial.c makes and checks them, block_trial.c
 * cuts them into blocks. For nobody else. */
#ifndef VOLTMILL_TUNE_PROBLEM_PPF_TRIAL_PARTS_H
#define VOLTMILL_TUNE_PROBLEM_PPF_TRIAL_PARTS_H

#include "tune/problem/ppf_trial.h"

/* Spectra that are compared, at the beginning and at the end: dumps are no longer than that. */
enum { BANK_WINDOW = 16, BANK_WINDOWS = 2 };

struct bank_trial {
    backend_t *backend;
    struct channelise_spec spec;
    struct channelise_choice plan; /* with FFTW's plan */
    buffer_t *in, *out[MOST_OUTPUTS];
    float *expected[BANK_WINDOWS][MOST_OUTPUTS];
    size_t sample_bytes;
};

size_t bank_row_floats(const struct channelise_spec *spec, uint32_t i);
uint64_t bank_rows_of(const struct channelise_spec *spec, uint32_t i, uint64_t spectra);
/* Of buffers for so many spectra. */
uint64_t bank_input_bytes(const bank_trial_t *trial, uint64_t spectra);
uint64_t bank_output_bytes(const bank_trial_t *trial, uint32_t i, uint64_t spectra);
uint64_t bank_buffer_bytes(const bank_trial_t *trial, uint64_t spectra);

/* Bytes from a sample's real part to its imaginary part. */
size_t bank_part_bytes(const bank_trial_t *trial);

/* A choice as the trial runs it: with FFTW's plan. */
void bank_take_choice(const bank_trial_t *trial, const struct channelise_choice *choice,
                      struct channelise_spec *out);

/* Runs once into the trial's own buffers of rows. */
status_t bank_run_once(bank_trial_t *trial, channelise_t *stage, double *seconds);
/* How many rows of the windows are wrong there. */
status_t bank_compare(bank_trial_t *trial, uint32_t *wrong);

#endif
