/* Rows of a filter bank beside those of the reference. */
#include "base/memory.h"
#include "tune/problem/bank.h"

#include <stdlib.h>
#include <string.h>

void bank_window_free(struct bank_window *window)
{
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        free(window->rows[i]);
        window->rows[i] = NULL;
    }
}

/* The reference, on a copy of the window's samples. */
static status_t bank_expect_window(struct bank *bank, backend_t *reference,
                                   struct bank_window *window)
{
    status_t st = STATUS_OK;
    struct bank one = {.backend = reference, .spec = bank->spec, .spectra = window->spectra};
    struct trial_run unused;
    void *samples = NULL;
    void *data = NULL;
    one.spec.nstreams = 1;
    one.spec.max_spectra = window->spectra;
    one.spec.choice = (struct channelise_choice){.backend = BACKEND_AUTO};
    TRY(bank_lay_out(&one));
    TRY(bank_allocate(&one, 1));
    TRY(channelise_create(reference, &one.spec, &one.stage));
    TRY(buffer_get(bank->slots[0].in, &samples));
    TRY(buffer_get(one.slots[0].in, &data));
    memcpy(data,
           (const char *)samples + bank->re[window->stream] +
               window->first * channelise_samples(&one.spec) * one.step,
           (size_t)one.in_bytes);
    TRY(bank_run_alone(&one, &unused));
    for (uint32_t i = 0; i < one.spec.noutputs; i++) {
        size_t floats = bank_rows(&one.spec, i, window->spectra) * bank_row_floats(&one.spec, i);
        TRY(memory_zeroed(floats, sizeof(float), "a trial", &window->rows[i]));
        TRY(buffer_get(one.slots[0].out[i], &data));
        memcpy(window->rows[i], data, floats * sizeof(float));
    }
out:
    bank_end(&one);
    return st;
}

status_t bank_expect(struct bank *bank, struct bank_window *windows, uint32_t count)
{
    status_t st = STATUS_OK;
    struct backend_options none = {0};
    backend_t *reference = NULL;
    TRY(backend_open(BACKEND_REFERENCE, &none, &reference));
    for (uint32_t w = 0; w < count; w++) {
        TRY(bank_expect_window(bank, reference, &windows[w]));
    }
out:
    backend_close(reference);
    return st;
}

/* Where a row of a window lies in slot 0. */
static status_t bank_row(struct bank *bank, const struct bank_window *window, uint32_t output,
                         uint64_t row, float **out)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    TRY(buffer_get(bank->slots[0].out[output], &data));
    uint64_t at = bank_rows(&bank->spec, output, window->first) + row;
    *out = (float *)data +
           (at * bank->spec.nstreams + window->stream) * bank_row_floats(&bank->spec, output);
out:
    return st;
}

status_t bank_spoil(struct bank *bank, const struct bank_window *windows, uint32_t count)
{
    status_t st = STATUS_OK;
    for (const struct bank_window *w = windows; w < windows + count; w++) {
        for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
            for (uint64_t row = 0; row < bank_rows(&bank->spec, i, w->spectra); row++) {
                float *data = NULL;
                TRY(bank_row(bank, w, i, row, &data));
                memset(data, 0xff, bank_row_floats(&bank->spec, i) * sizeof *data);
            }
        }
    }
out:
    return st;
}

status_t bank_compare(struct bank *bank, const struct bank_window *windows, uint32_t count,
                      double most, struct agreement *agreement, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    const struct channelise_spec *spec = &bank->spec;
    *wrong = 0;
    for (const struct bank_window *w = windows; w < windows + count; w++) {
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            const struct channelise_output *what = &spec->outputs[i];
            for (uint64_t row = 0; row < bank_rows(spec, i, w->spectra); row++) {
                struct agreement one = {0};
                const float *expected = w->rows[i] + row * bank_row_floats(spec, i);
                float *found = NULL;
                TRY(bank_row(bank, w, i, row, &found));
                agreement_row(&one, what->quantity, found, expected, spec->nchannels,
                              what->integrate);
                *wrong += !(one.worst <= most * agreement_worst_limit);
                agreement_row(agreement, what->quantity, found, expected, spec->nchannels,
                              what->integrate);
            }
        }
    }
out:
    return st;
}
