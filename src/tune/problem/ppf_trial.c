#include "base/clock.h"
#include "base/memory.h"
#include "base/units.h"
#include "compute/agreement.h"
#include "tune/median.h"
#include "tune/problem/ppf_trial_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void trial_give_room_back(ppf_trial_t *trial)
{
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        buffer_destroy(trial->out[i]);
        trial->out[i] = NULL;
    }
    buffer_destroy(trial->in);
    trial->in = NULL;
}

void ppf_trial_destroy(ppf_trial_t *trial)
{
    if (!trial) {
        return;
    }
    trial_give_room_back(trial);
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        free(trial->expected[0][i]);
        free(trial->expected[1][i]);
    }
    free(trial);
}

/* The job's problem on one stream, with dumps that a trial can end. */
static void trial_shrink(ppf_trial_t *trial, const struct channelise_spec *spec)
{
    /* More than a device's caches hold; what processors take tens of milliseconds for. */
    enum { DEVICE_POINTS = 1 << 26, HOST_POINTS = 1 << 21 };
    int is_gpu = backend_abilities(backend_which(trial->backend))->has_device && backend_has_gpu();
    uint64_t points = is_gpu ? DEVICE_POINTS : HOST_POINTS;
    trial->spec = *spec;
    trial->spec.max_spectra =
        max_u64(points / spec->channels / PPF_TRIAL_WINDOW, 2) * PPF_TRIAL_WINDOW;
    trial->spec.nstreams = 1;
    trial->spec.is_interleaved = 0;
    trial->spec.is_timed = 1;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].integrate > 1) {
            trial->spec.outputs[i].integrate = PPF_TRIAL_WINDOW;
        }
    }
    trial->sample_bytes = sample_bytes(spec->format, spec->is_complex);
}

size_t ppf_trial_row_floats(const struct channelise_spec *spec, uint32_t i)
{
    return (size_t)spec->nchannels * (spec->outputs[i].quantity == QUANTITY_SPECTRA ? 2 : 1);
}

uint64_t ppf_trial_rows_of(const struct channelise_spec *spec, uint32_t i, uint64_t spectra)
{
    return spectra / spec->outputs[i].integrate;
}

static uint64_t trial_samples_of(const struct channelise_spec *spec, uint64_t spectra)
{
    return channelise_inputs(spec, spectra) * channelise_samples(spec);
}

uint64_t ppf_trial_input_bytes(const ppf_trial_t *trial, uint64_t spectra)
{
    return (trial_samples_of(&trial->spec, spectra) * trial->sample_bytes / sizeof(uint64_t) + 1) *
           sizeof(uint64_t);
}

uint64_t ppf_trial_output_bytes(const ppf_trial_t *trial, uint32_t i, uint64_t spectra)
{
    return (ppf_trial_rows_of(&trial->spec, i, spectra) + 1) *
           ppf_trial_row_floats(&trial->spec, i) * sizeof(float);
}

size_t ppf_trial_part_bytes(const ppf_trial_t *trial)
{
    return sample_part_bytes(trial->spec.format, trial->spec.is_complex);
}

uint64_t ppf_trial_buffer_bytes(const ppf_trial_t *trial, uint64_t spectra)
{
    uint64_t bytes = ppf_trial_input_bytes(trial, spectra);
    for (uint32_t i = 0; i < trial->spec.noutputs; i++) {
        bytes += ppf_trial_output_bytes(trial, i, spectra);
    }
    return bytes;
}

uint64_t ppf_trial_bytes(const ppf_trial_t *trial)
{
    struct channelise_spec window = trial->spec;
    window.max_spectra = PPF_TRIAL_WINDOW;
    uint64_t one = ppf_trial_buffer_bytes(trial, PPF_TRIAL_WINDOW);
    /* The stage and the reference are never there at once. */
    uint64_t stage = channelise_bytes(backend_which(trial->backend), &trial->spec);
    uint64_t reference = one + channelise_bytes(BACKEND_REFERENCE, &window);
    return ppf_trial_buffer_bytes(trial, trial->spec.max_spectra) + PPF_TRIAL_WINDOWS * one +
           max_u64(stage, reference);
}

/* As many spectra as memory has room for. */
static status_t trial_fit(ppf_trial_t *trial, uint64_t memory)
{
    status_t st = STATUS_OK;
    uint64_t *spectra = &trial->spec.max_spectra;
    char needed[UNITS_TEXT];
    char given[UNITS_TEXT];
    while (memory > 0 && *spectra > PPF_TRIAL_WINDOW && ppf_trial_bytes(trial) > memory) {
        *spectra = *spectra / 2 / PPF_TRIAL_WINDOW * PPF_TRIAL_WINDOW;
    }
    REQUIRE(memory == 0 || ppf_trial_bytes(trial) <= memory, STATUS_USAGE,
            "run.memory leaves %s for trials of %u channels with %u taps, which need %s",
            units_bytes(memory, given), trial->spec.channels, trial->spec.taps,
            units_bytes(ppf_trial_bytes(trial), needed));
out:
    return st;
}

/* Takes the buffers: fewer spectra where the device's memory has too little room, with some left
 * for stages. */
static status_t trial_take_room(ppf_trial_t *trial)
{
    status_t st = STATUS_OK;
    uint64_t *spectra = &trial->spec.max_spectra;
    for (;;) {
        st = buffer_create(trial->backend, BUFFER_IN, ppf_trial_input_bytes(trial, *spectra),
                           &trial->in);
        for (uint32_t i = 0; i < trial->spec.noutputs && st == STATUS_OK; i++) {
            st = buffer_create(trial->backend, BUFFER_OUT,
                               ppf_trial_output_bytes(trial, i, *spectra), &trial->out[i]);
        }
        if (st == STATUS_OK || !backend_was_full(trial->backend) || *spectra <= PPF_TRIAL_WINDOW) {
            return st;
        }
        report_clear();
        trial_give_room_back(trial);
        *spectra = max_u64(*spectra / 4 / PPF_TRIAL_WINDOW, 1) * PPF_TRIAL_WINDOW;
    }
}

static status_t trial_fill(ppf_trial_t *trial)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    uint64_t words = ppf_trial_input_bytes(trial, trial->spec.max_spectra) / sizeof(uint64_t);
    uint64_t state = 88172645463325252U;
    TRY(buffer_get(trial->in, &data));
    for (uint64_t i = 0; i < words; i++) {
        /* Marsaglia's xorshift64. */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        float pair[2] = {(float)((int32_t)(state & 0xffff) - 32768) / 256,
                         (float)((int32_t)(state >> 48) - 32768) / 256};
        memcpy((uint64_t *)data + i, trial->spec.format == SAMPLE_F32 ? (void *)pair : &state,
               sizeof state);
    }
out:
    return st;
}

static uint64_t trial_window_start(const ppf_trial_t *trial, uint32_t w)
{
    return w == 0 ? 0 : trial->spec.max_spectra - PPF_TRIAL_WINDOW;
}

/* What the reference makes of one window. */
static status_t trial_expect_window(ppf_trial_t *trial, backend_t *reference, uint32_t w)
{
    status_t st = STATUS_OK;
    struct channelise_spec spec = trial->spec;
    channelise_t *stage = NULL;
    buffer_t *in = NULL;
    buffer_t *out[MOST_OUTPUTS] = {NULL};
    void *samples = NULL;
    void *data = NULL;
    uint64_t rows[MOST_OUTPUTS];
    size_t offset = 0;
    size_t part = ppf_trial_part_bytes(trial);
    struct channelise_input input = {&offset, &part, trial->sample_bytes};
    uint64_t first = trial_window_start(trial, w) * channelise_samples(&spec) * trial->sample_bytes;
    uint64_t bytes = trial_samples_of(&spec, PPF_TRIAL_WINDOW) * trial->sample_bytes;
    spec.max_spectra = PPF_TRIAL_WINDOW;
    spec.choice = (struct channelise_choice){.backend = BACKEND_AUTO};
    TRY(channelise_create(reference, &spec, &stage));
    TRY(buffer_create(reference, BUFFER_IN, bytes, &in));
    TRY(buffer_get(in, &samples));
    TRY(buffer_get(trial->in, &data));
    memcpy(samples, (const char *)data + first, bytes);
    for (uint32_t i = 0; i < spec.noutputs; i++) {
        TRY(buffer_create(reference, BUFFER_OUT, ppf_trial_output_bytes(trial, i, PPF_TRIAL_WINDOW),
                          &out[i]));
    }
    channelise_begin(stage, trial_window_start(trial, w));
    TRY(channelise_run(stage, in, &input, 1, PPF_TRIAL_WINDOW, 0, out, rows));
    for (uint32_t i = 0; i < spec.noutputs; i++) {
        size_t floats =
            ppf_trial_rows_of(&spec, i, PPF_TRIAL_WINDOW) * ppf_trial_row_floats(&spec, i);
        TRY(memory_zeroed(floats, sizeof(float), "a trial", &trial->expected[w][i]));
        TRY(buffer_get(out[i], &data));
        memcpy(trial->expected[w][i], data, floats * sizeof(float));
    }
out:
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        buffer_destroy(out[i]);
    }
    buffer_destroy(in);
    channelise_destroy(stage);
    return st;
}

static status_t trial_expect(ppf_trial_t *trial)
{
    status_t st = STATUS_OK;
    struct backend_options none = {0};
    backend_t *reference = NULL;
    TRY(backend_open(BACKEND_REFERENCE, &none, &reference));
    for (uint32_t w = 0; w < PPF_TRIAL_WINDOWS; w++) {
        TRY(trial_expect_window(trial, reference, w));
    }
out:
    backend_close(reference);
    return st;
}

status_t ppf_trial_create(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                          ppf_trial_t **out)
{
    status_t st = STATUS_OK;
    ppf_trial_t *trial = NULL;
    TRY(memory_zeroed(1, sizeof *trial, "a trial", &trial));
    trial->backend = backend;
    trial_shrink(trial, spec);
    TRY(trial_fit(trial, memory));
    if (backend_which(backend) == BACKEND_CPU) {
        trial->spec.choice.backend = BACKEND_AUTO;
        TRY(channelise_choose(backend, &trial->spec, &trial->plan));
    }
    TRY(trial_take_room(trial));
    TRY(trial_fill(trial));
    TRY(trial_expect(trial));
    *out = trial;
    trial = NULL;
out:
    ppf_trial_destroy(trial);
    return st;
}

/* Rows that nobody writes must show. */
static status_t trial_spoil(ppf_trial_t *trial)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &trial->spec;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        void *data = NULL;
        TRY(buffer_get(trial->out[i], &data));
        memset(data, 0xff, ppf_trial_output_bytes(trial, i, spec->max_spectra));
    }
out:
    return st;
}

status_t ppf_trial_run_once(ppf_trial_t *trial, channelise_t *stage, double *seconds)
{
    status_t st = STATUS_OK;
    size_t offset = 0;
    size_t part = ppf_trial_part_bytes(trial);
    struct channelise_input input = {&offset, &part, trial->sample_bytes};
    uint64_t rows[MOST_OUTPUTS];
    double steps[CHANNELISE_STEPS];
    double on_device = 0;
    double started = clock_now();
    channelise_begin(stage, 0);
    TRY(channelise_run(stage, trial->in, &input, 1, trial->spec.max_spectra, 0, trial->out, rows));
    for (uint32_t i = 0; i < trial->spec.noutputs; i++) {
        void *data = NULL;
        TRY(buffer_get(trial->out[i], &data));
    }
    *seconds = clock_now() - started;
    TRY(channelise_times(stage, steps));
    for (int step = STEP_FILTER; step < STEP_DOWNLOAD; step++) {
        on_device += steps[step];
    }
    *seconds = on_device > 0 ? on_device : *seconds;
out:
    return st;
}

/* Whether a row, of one stream, differs by more than rounding: twice of what `voltmill verify`
 * allows. */
static int trial_is_wrong(const struct channelise_spec *spec, uint32_t output, const float *found,
                          const float *expected)
{
    const struct channelise_output *what = &spec->outputs[output];
    struct agreement agreement = {0};
    agreement_row(&agreement, what->quantity, found, expected, spec->nchannels, what->integrate);
    return !(agreement.worst <= 2 * agreement_worst_limit);
}

status_t ppf_trial_compare(ppf_trial_t *trial, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &trial->spec;
    *wrong = 0;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        void *data = NULL;
        size_t floats = ppf_trial_row_floats(spec, i);
        TRY(buffer_get(trial->out[i], &data));
        for (uint32_t w = 0; w < PPF_TRIAL_WINDOWS; w++) {
            const float *found = (const float *)data +
                                 ppf_trial_rows_of(spec, i, trial_window_start(trial, w)) * floats;
            for (uint64_t row = 0; row < ppf_trial_rows_of(spec, i, PPF_TRIAL_WINDOW); row++) {
                *wrong += (uint32_t)trial_is_wrong(spec, i, found + row * floats,
                                                   trial->expected[w][i] + row * floats);
            }
        }
    }
out:
    return st;
}

void ppf_trial_take_choice(const ppf_trial_t *trial, const struct channelise_choice *choice,
                           struct channelise_spec *out)
{
    out->choice = *choice;
    memcpy(out->choice.wisdom, trial->plan.wisdom, sizeof trial->plan.wisdom);
}

status_t ppf_trial_time(ppf_trial_t *trial, const struct channelise_choice *choice,
                        uint32_t repeats, const struct tune_time *time, double *seconds,
                        uint32_t *wrong)
{
    status_t st = STATUS_OK;
    channelise_t *stage = NULL;
    double *times = NULL;
    double first = 0;
    uint32_t n = 0;
    ppf_trial_take_choice(trial, choice, &trial->spec);
    TRY(memory_zeroed(repeats, sizeof *times, "times", &times));
    TRY(channelise_create(trial->backend, &trial->spec, &stage));
    TRY(trial_spoil(trial));
    TRY(ppf_trial_run_once(trial, stage, &first));
    for (; n < repeats && (n == 0 || !time || !tune_time_is_over(time, 1)); n++) {
        TRY(ppf_trial_run_once(trial, stage, &times[n]));
    }
    TRY(ppf_trial_compare(trial, wrong));
    *seconds = tune_median(times, n);
out:
    channelise_destroy(stage);
    free(times);
    return st;
}
