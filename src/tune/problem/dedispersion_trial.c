/* Samples, runs and checks of dedispersion. */
#include "tune/problem/dedispersion_trial.h"

#include "base/clock.h"
#include "base/memory.h"
#include "compute/shared/agreement.h"
#include "compute/shared/dedisperse_table.h"
#include "dsp/noise.h"

#include <stdlib.h>
#include <string.h>

/* Places where outputs are compared; times by which runs are shifted in turn. */
enum { DM_PLACES = 7, TIME_PLACES = 3, PLACE_SAMPLES = 8, SHIFTS = 8 };

struct dedispersion_trial {
    backend_t *backend;
    struct dedisperse_spec spec;
    struct dedisperse_input input;
    buffer_t *in, *out;
    uint64_t samples, stride;
    uint32_t shift;
    dedisperse_t *stage; /* that is timed */
    int is_whole, is_warm;
    int has_expected[SHIFTS];
    float expected[SHIFTS][DM_PLACES][TIME_PLACES][PLACE_SAMPLES];
};

void dedispersion_trial_destroy(dedispersion_trial_t *trial)
{
    if (!trial) {
        return;
    }
    buffer_destroy(trial->in);
    buffer_destroy(trial->out);
    free(trial);
}

/* [time][channel], as FBH5 has it. */
static status_t trial_fill(dedispersion_trial_t *trial)
{
    void *data = NULL;
    size_t bytes = series_bytes(trial->spec.format);
    size_t nchannels = trial->spec.delays->nchannels;
    uint64_t count = (dedisperse_inputs(&trial->spec, trial->samples) + SHIFTS) * nchannels;
    uint64_t words = count * bytes / sizeof(uint64_t) + 1;
    trial->input = (struct dedisperse_input){0, nchannels * bytes, bytes, 0};
    TRY(buffer_create(trial->backend, BUFFER_IN, words * sizeof(uint64_t), &trial->in));
    TRY(buffer_get(trial->in, &data));
    noise_words(0, 0, words, data);
    /* Numbers from 0 to 4096 where any bits could be none, or huge. */
    for (uint64_t i = 0; trial->spec.format == SERIES_F32 && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)data + i * sizeof bits, sizeof bits);
        ((float *)data)[i] = (float)(bits >> 8) / 4096;
    }
    return STATUS_OK;
}

static uint32_t trial_dm_place(const dedispersion_trial_t *trial, uint32_t i)
{
    return (uint32_t)((uint64_t)(trial->spec.delays->ndms - 1) * i / (DM_PLACES - 1));
}

static uint64_t trial_time_place(const dedispersion_trial_t *trial, uint32_t i)
{
    uint64_t last = trial->samples > PLACE_SAMPLES ? trial->samples - PLACE_SAMPLES : 0;
    return last * i / (TIME_PLACES - 1);
}

/* Computes the expected results for the runs of this shift. */
static status_t trial_expect(dedispersion_trial_t *trial)
{
    void *data = NULL;
    uint32_t shift = trial->shift;
    if (trial->has_expected[shift]) {
        return STATUS_OK;
    }
    TRY(buffer_get(trial->in, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < trial->samples; j++) {
                trial->expected[shift][d][i][j] =
                    dedisperse_formula(&trial->spec, &trial->input, data, trial_dm_place(trial, d),
                                       trial_time_place(trial, i) + j);
            }
        }
    }
    trial->has_expected[shift] = 1;
    return STATUS_OK;
}

status_t dedispersion_trial_create(backend_t *backend, const struct dedisperse_spec *spec,
                                   dedispersion_trial_t **out)
{
    status_t st = STATUS_OK;
    dedispersion_trial_t *trial = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *trial, "a trial", &trial));
    trial->backend = backend;
    trial->spec = *spec;
    trial->spec.is_timed = 1;
    trial->samples = spec->max_samples;
    trial->stride = ceil_div_u64(trial->samples, 32) * 32;
    TRY_OUT(trial_fill(trial));
    TRY_OUT(buffer_create(backend, BUFFER_OUT, spec->delays->ndms * trial->stride * sizeof(float),
                          &trial->out));
    *out = trial;
    trial = NULL;
out:
    dedispersion_trial_destroy(trial);
    return st;
}

/* Fills the outputs with wrong values, so that outputs that are never downloaded are found. */
static status_t trial_spoil(dedispersion_trial_t *trial)
{
    void *data = NULL;
    TRY(buffer_get(trial->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        memset((float *)data + trial_dm_place(trial, d) * trial->stride, 0xff,
               trial->stride * sizeof(float));
    }
    return STATUS_OK;
}

/* Integers are exact, floats good to a millionth. */
static status_t trial_check(void *context, uint32_t *wrong)
{
    struct dedispersion_trial *trial = context;
    void *data = NULL;
    double limit = trial->spec.format == SERIES_F32 ? 0.2 * agreement_worst_limit : 0;
    TRY(buffer_get(trial->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        const float *row = (const float *)data + trial_dm_place(trial, d) * trial->stride;
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < trial->samples; j++) {
                struct agreement one = {0};
                agreement_sums(&one, &row[trial_time_place(trial, i) + j],
                               &trial->expected[trial->shift][d][i][j], 1);
                *wrong += !(one.worst <= limit);
            }
        }
    }
    return STATUS_OK;
}

/* The first run of a stage brings the samples up in any case. */
static status_t trial_run(void *context, struct trial_run *out)
{
    struct dedispersion_trial *trial = context;
    void *data = NULL;
    double started = clock_now();
    TRY(trial->is_whole || !trial->is_warm
            ? dedisperse_run(trial->stage, trial->in, &trial->input, trial->samples, trial->out,
                             trial->stride)
            : dedisperse_again(trial->stage, trial->in, &trial->input, trial->samples, trial->out,
                               trial->stride));
    TRY(buffer_get(trial->out, &data));
    *out = (struct trial_run){.seconds = clock_now() - started};
    TRY(dedisperse_times(trial->stage, out->steps));
    trial_run_settle(out, STEP_FILTER);
    trial->is_warm = 1;
    return STATUS_OK;
}

status_t dedispersion_trial_time(dedispersion_trial_t *trial, const struct dedisperse_shape *shape,
                                 uint32_t repeats, int is_whole, const struct tune_time *time,
                                 struct text *words, struct trial_times *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {trial_run, trial_check};
    trial->shift = (trial->shift + 1) % SHIFTS;
    trial->input.offset = trial->shift * trial->input.time_step;
    trial->spec.shape = shape ? *shape : (struct dedisperse_shape){0};
    trial->is_whole = is_whole;
    trial->is_warm = 0;
    TRY_OUT(trial_expect(trial));
    TRY_OUT(dedisperse_create(trial->backend, &trial->spec, &trial->stage));
    TRY_OUT(words ? dedisperse_words(trial->stage, words) : STATUS_OK);
    TRY_OUT(trial_spoil(trial));
    TRY_OUT(trial_time(&timed, trial, repeats, time, out));
out:
    dedisperse_destroy(trial->stage);
    trial->stage = NULL;
    return st;
}

buffer_t *dedispersion_trial_samples(const dedispersion_trial_t *trial,
                                     struct dedisperse_input *input)
{
    *input = trial->input;
    return trial->in;
}

buffer_t *dedispersion_trial_series(const dedispersion_trial_t *trial, uint64_t *stride)
{
    *stride = trial->stride;
    return trial->out;
}
