#include "tune/problem/dedispersion_trial.h"

#include "base/clock.h"
#include "base/memory.h"
#include "tune/median.h"

#include <math.h>
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
    status_t st = STATUS_OK;
    void *data = NULL;
    size_t bytes = series_bytes(trial->spec.format);
    size_t nchannels = trial->spec.delays->nchannels;
    uint64_t count = (dedisperse_inputs(&trial->spec, trial->samples) + SHIFTS) * nchannels;
    uint64_t state = 88172645463325252U;
    trial->input = (struct dedisperse_input){0, nchannels * bytes, bytes, 0};
    TRY(buffer_create(trial->backend, BUFFER_IN, count * bytes, &trial->in));
    TRY(buffer_get(trial->in, &data));
    for (uint64_t i = 0; i < count; i++) {
        /* Marsaglia's xorshift64. */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (bytes == 1) {
            ((uint8_t *)data)[i] = (uint8_t)(state >> 32);
        } else if (bytes == 2) {
            ((uint16_t *)data)[i] = (uint16_t)(state >> 32);
        } else {
            ((float *)data)[i] = (float)(uint32_t)(state >> 40) / 4096;
        }
    }
out:
    return st;
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

static uint64_t trial_delay_of(const dedispersion_trial_t *trial, uint32_t dm, uint32_t c)
{
    const struct subbands *steps = trial->spec.steps;
    size_t nchannels = trial->spec.delays->nchannels;
    uint32_t k = 0;
    if (!steps) {
        return trial->spec.delays->table[dm * nchannels + c];
    }
    while (steps->first[k + 1] <= dm) {
        k++;
    }
    return (uint64_t)steps->inner[k * nchannels + c] +
           steps->outer[(size_t)dm * steps->ngroups + c / steps->group];
}

static double trial_read_sample(const dedispersion_trial_t *trial, const void *data, uint64_t at)
{
    return trial->spec.format == SERIES_U8    ? ((const uint8_t *)data)[at]
           : trial->spec.format == SERIES_U16 ? ((const uint16_t *)data)[at]
                                              : (double)((const float *)data)[at];
}

/* The formula, in double. */
static float trial_sum_one(const dedispersion_trial_t *trial, const void *data, uint32_t dm,
                           uint64_t t)
{
    double sum = 0;
    uint32_t nchannels = trial->spec.delays->nchannels;
    for (uint32_t c = 0; c < nchannels; c++) {
        if (!trial->spec.mask || !trial->spec.mask[c]) {
            sum +=
                trial_read_sample(trial, data, (t + trial_delay_of(trial, dm, c)) * nchannels + c);
        }
    }
    return (float)sum;
}

/* What the runs of this shift must give. */
static status_t trial_expect(dedispersion_trial_t *trial)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    uint32_t shift = trial->shift;
    if (trial->has_expected[shift]) {
        goto out;
    }
    TRY(buffer_get(trial->in, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < trial->samples; j++) {
                trial->expected[shift][d][i][j] = trial_sum_one(
                    trial, data, trial_dm_place(trial, d), trial_time_place(trial, i) + j + shift);
            }
        }
    }
    trial->has_expected[shift] = 1;
out:
    return st;
}

status_t dedispersion_trial_create(backend_t *backend, const struct dedisperse_spec *spec,
                                   dedispersion_trial_t **out)
{
    status_t st = STATUS_OK;
    dedispersion_trial_t *trial = NULL;
    TRY(memory_zeroed(1, sizeof *trial, "a trial", &trial));
    trial->backend = backend;
    trial->spec = *spec;
    trial->spec.is_timed = 1;
    trial->samples = spec->max_samples;
    trial->stride = ceil_div_u64(trial->samples, 32) * 32;
    TRY(trial_fill(trial));
    TRY(buffer_create(backend, BUFFER_OUT, spec->delays->ndms * trial->stride * sizeof(float),
                      &trial->out));
    *out = trial;
    trial = NULL;
out:
    dedispersion_trial_destroy(trial);
    return st;
}

/* Outputs that nobody brings down must show. */
static status_t trial_spoil(dedispersion_trial_t *trial)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    TRY(buffer_get(trial->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        memset((float *)data + trial_dm_place(trial, d) * trial->stride, 0xff,
               trial->stride * sizeof(float));
    }
out:
    return st;
}

/* Integers are exact, floats good to a millionth. */
static status_t trial_compare(dedispersion_trial_t *trial, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    double limit = trial->spec.format == SERIES_F32 ? 1e-6 : 0;
    *wrong = 0;
    TRY(buffer_get(trial->out, &data));
    for (uint32_t d = 0; d < DM_PLACES; d++) {
        const float *row = (const float *)data + trial_dm_place(trial, d) * trial->stride;
        for (uint32_t i = 0; i < TIME_PLACES; i++) {
            for (uint32_t j = 0; j < PLACE_SAMPLES && j < trial->samples; j++) {
                double expected = (double)trial->expected[trial->shift][d][i][j];
                double found = (double)row[trial_time_place(trial, i) + j];
                *wrong += !(fabs(found - expected) <= limit * fabs(expected));
            }
        }
    }
out:
    return st;
}

/* One run: seconds by the device's clock, or the host's where there is none. */
static status_t trial_run_once(dedispersion_trial_t *trial, dedisperse_t *stage, int is_whole,
                               struct dedisperse_times *times)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    double started = clock_now();
    TRY(is_whole ? dedisperse_run(stage, trial->in, &trial->input, trial->samples, trial->out,
                                  trial->stride)
                 : dedisperse_again(stage, trial->in, &trial->input, trial->samples, trial->out,
                                    trial->stride));
    TRY(buffer_get(trial->out, &data));
    double seconds = clock_now() - started;
    TRY(dedisperse_times(stage, times));
    times->sum = times->sum > 0 ? times->sum : seconds;
out:
    return st;
}

/* The runs that count. */
static status_t trial_repeat(dedispersion_trial_t *trial, dedisperse_t *stage, uint32_t repeats,
                             int is_whole, const struct tune_time *time,
                             struct dedispersion_trial_times *out)
{
    status_t st = STATUS_OK;
    double *seconds = NULL;
    uint32_t n = 0;
    TRY(memory_zeroed(repeats, sizeof *seconds, "times", &seconds));
    for (; n < repeats && (n == 0 || !time || !tune_time_is_over(time, 1)); n++) {
        struct dedisperse_times times;
        TRY(trial_run_once(trial, stage, is_whole, &times));
        seconds[n] = times.sum;
        if (is_whole && (n == 0 || times.sum < out->best)) {
            out->best = times.sum;
            out->order = times.transpose;
            out->upload = times.upload;
            out->download = times.download;
        }
    }
    out->median = tune_median(seconds, n);
    out->best = seconds[0];
out:
    free(seconds);
    return st;
}

status_t dedispersion_trial_time(dedispersion_trial_t *trial, const struct dedisperse_shape *shape,
                                 uint32_t repeats, int is_whole, const struct tune_time *time,
                                 struct text *words, struct dedispersion_trial_times *out)
{
    status_t st = STATUS_OK;
    dedisperse_t *stage = NULL;
    struct dedispersion_trial_times result = {0};
    struct dedisperse_times first;
    trial->shift = (trial->shift + 1) % SHIFTS;
    trial->input.offset = trial->shift * trial->input.time_step;
    trial->spec.shape = shape ? *shape : (struct dedisperse_shape){0};
    TRY(trial_expect(trial));
    TRY(dedisperse_create(trial->backend, &trial->spec, &stage));
    TRY(words ? dedisperse_words(stage, words) : STATUS_OK);
    TRY(trial_spoil(trial));
    /* It warms up, too. */
    TRY(trial_run_once(trial, stage, 1, &first));
    result.order = first.transpose;
    TRY(trial_repeat(trial, stage, repeats, is_whole, time, &result));
    TRY(trial_compare(trial, &result.wrong));
    *out = result;
out:
    dedisperse_destroy(stage);
    return st;
}

const struct dedisperse_spec *dedispersion_trial_spec(const dedispersion_trial_t *trial)
{
    return &trial->spec;
}

backend_t *dedispersion_trial_backend(const dedispersion_trial_t *trial)
{
    return trial->backend;
}
