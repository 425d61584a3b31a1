/* The buffers of a filter bank on random samples, its runs, and its rows beside the reference's. */
#include "tune/problem/problem_bank.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/pool.h"
#include "dsp/noise.h"
#include "dsp/steps.h"

#include <math.h>

uint64_t bank_rows(const struct channelise_spec *spec, uint32_t i, uint64_t spectra)
{
    return spectra / spec->outputs[i].integrate;
}

uint32_t bank_unit(const struct channelise_spec *spec)
{
    return channelise_has_pairs(spec) ? 2 : 1;
}

static size_t bank_row_floats(const struct channelise_spec *spec, uint32_t i)
{
    return (size_t)channelise_row_floats(spec, i, bank_unit(spec));
}

size_t bank_row_bytes(const struct channelise_spec *spec, uint32_t i)
{
    return (size_t)channelise_row_bytes(spec, i, bank_unit(spec));
}

/* A block that does not begin with a dump can finish one more. */
static uint64_t bank_output_bytes(const struct channelise_spec *spec, uint32_t i, uint64_t spectra)
{
    return channelise_output_bytes(spec, i, spec->nstreams, bank_rows(spec, i, spectra) + 1);
}

/* Returns 1 / scale of output i, the same for all channels. */
static double bank_factor(const struct channelise_spec *spec, uint32_t i)
{
    /* rms of numbers of 4, 8, 16 bits, and of floats, as bank_noise() makes them. */
    static const double rms[] = {4.6, 73.9, 18918.6, 73.9};
    double squares = 0;
    for (size_t n = 0; n < channelise_samples(spec) * spec->taps; n++) {
        squares += spec->coeff[n] * spec->coeff[n];
    }
    double noise = rms[spec->format] * sqrt(squares / (spec->is_complex ? 1 : 2));
    return noise > 0 ? steps_a_rms(spec->outputs[i].bits) / noise : 1;
}

status_t bank_scale(channelise_t *stage, const struct channelise_spec *spec)
{
    const size_t lines = (size_t)spec->nstreams * spec->nchannels;
    SCOPED(free_at) float *factors = NULL;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].bits) {
            free(memory_move(&factors));
            TRY(memory_zeroed(lines, sizeof *factors, "scales", &factors));
            for (size_t k = 0; k < lines; k++) {
                factors[k] = (float)bank_factor(spec, i);
            }
            TRY(channelise_scale(stage, i, spec->nstreams, factors));
        }
    }
    return STATUS_OK;
}

status_t bank_create(struct bank *bank)
{
    TRY(channelise_create(bank->backend, &bank->spec, &bank->stage));
    return bank_scale(bank->stage, &bank->spec);
}

static uint64_t bank_stream_bytes(const struct channelise_spec *spec, uint64_t spectra)
{
    return channelise_inputs(spec, spectra) * sample_bytes(spec->format, spec->is_complex);
}

/* Returns the words of 8 bytes that noise_words() fills for `bytes` bytes. */
static uint64_t bank_words(uint64_t bytes)
{
    return bytes / sizeof(uint64_t) + 1;
}

uint64_t bank_slot_bytes(const struct channelise_spec *spec, uint64_t spectra)
{
    uint64_t bytes =
        bank_words(bank_stream_bytes(spec, spectra) * spec->nstreams) * sizeof(uint64_t);
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        bytes += bank_output_bytes(spec, i, spectra);
    }
    return bytes;
}

status_t bank_places(uint32_t nstreams, size_t bytes, enum sample_format format, int is_complex,
                     size_t **re, size_t **im)
{
    TRY(memory_zeroed(nstreams, sizeof **re, "offsets", re));
    TRY(memory_zeroed(nstreams, sizeof **im, "offsets", im));
    for (uint32_t i = 0; i < nstreams; i++) {
        (*re)[i] = i * bytes;
        (*im)[i] = (*re)[i] + sample_part_bytes(format, is_complex);
    }
    return STATUS_OK;
}

status_t bank_lay_out(struct bank *bank)
{
    const struct channelise_spec *spec = &bank->spec;
    uint64_t stream = bank_stream_bytes(spec, bank->spectra);
    TRY(bank_places(spec->nstreams, (size_t)stream, spec->format, spec->is_complex, &bank->re,
                    &bank->im));
    bank->step = sample_bytes(spec->format, spec->is_complex);
    bank->in_bytes = stream * spec->nstreams;
    return STATUS_OK;
}

/* Gives the buffers back; they may be allocated anew. */
static void bank_release(struct bank *bank)
{
    for (uint32_t s = 0; s < BANK_SLOTS; s++) {
        struct bank_slot *slot = &bank->slots[s];
        buffer_destroy(slot->in);
        for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
            buffer_destroy(slot->out[i]);
        }
        *slot = (struct bank_slot){.in = NULL};
    }
    bank->nslots = 0;
}

status_t bank_allocate(struct bank *bank, uint32_t nslots)
{
    const struct channelise_spec *spec = &bank->spec;
    for (bank->nslots = 0; bank->nslots < nslots; bank->nslots++) {
        struct bank_slot *slot = &bank->slots[bank->nslots];
        TRY(buffer_create(bank->backend, BUFFER_IN, bank_words(bank->in_bytes) * sizeof(uint64_t),
                          &slot->in));
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            TRY(buffer_create(bank->backend, BUFFER_OUT, bank_output_bytes(spec, i, bank->spectra),
                              &slot->out[i]));
        }
    }
    return STATUS_OK;
}

struct noise {
    enum sample_format format;
    uint64_t seed, words;
    uint64_t *out;
};

enum { NOISE_TILE = 1 << 16, NOISE_THREADS = 8 };

static void bank_noise_tile(void *context, uint32_t thread, uint64_t tile)
{
    const struct noise *n = context;
    uint64_t first = tile * NOISE_TILE;
    uint64_t end = min_u64(first + NOISE_TILE, n->words);
    (void)thread;
    noise_words(n->seed, first, end - first, n->out + first);
    /* Numbers from -128 to 128 where any bits could be NaN, or huge. */
    for (uint64_t i = first; n->format == SAMPLE_F32 && i < end; i++) {
        uint64_t word = n->out[i];
        float pair[2] = {(float)(int16_t)word / 256, (float)(int16_t)(word >> 48) / 256};
        memcpy(n->out + i, pair, sizeof pair);
    }
}

void bank_noise(enum sample_format format, uint64_t seed, uint64_t words, void *out)
{
    struct noise noise = {format, seed, words, out};
    uint64_t tiles = ceil_div_u64(words, NOISE_TILE);
    pool_each(NOISE_THREADS, tiles, bank_noise_tile, &noise);
}

status_t bank_noise_buffer(backend_t *backend, enum sample_format format, uint64_t seed,
                           uint64_t words, buffer_t **out)
{
    void *data = NULL;
    TRY(buffer_create(backend, BUFFER_IN, words * sizeof(uint64_t), out));
    TRY(buffer_get(*out, &data));
    bank_noise(format, seed, words, data);
    return STATUS_OK;
}

status_t bank_blank_buffer(backend_t *backend, uint64_t bytes, buffer_t **out)
{
    void *data = NULL;
    TRY(buffer_create(backend, BUFFER_OUT, bytes, out));
    TRY(buffer_get(*out, &data));
    memset(data, 0xff, (size_t)bytes);
    return STATUS_OK;
}

status_t bank_part(backend_t *backend, buffer_t *whole, uint64_t at, uint64_t bytes, buffer_t **out)
{
    void *from = NULL;
    void *to = NULL;
    TRY(buffer_create(backend, BUFFER_IN, bytes, out));
    TRY(buffer_get(whole, &from));
    TRY(buffer_get(*out, &to));
    memcpy(to, (const char *)from + at, (size_t)bytes);
    return STATUS_OK;
}

status_t bank_open_reference(backend_t **out)
{
    const struct backend_options options = {.local_size = 1};
    return backend_open(BACKEND_REFERENCE, &options, out);
}

status_t bank_fill(struct bank *bank)
{
    for (uint32_t s = 0; s < bank->nslots; s++) {
        void *data = NULL;
        TRY(buffer_get(bank->slots[s].in, &data));
        bank_noise(bank->spec.format, s, bank_words(bank->in_bytes), data);
    }
    return STATUS_OK;
}

/* Makes numbers of output i none. */
static void bank_blank(const struct channelise_spec *spec, uint32_t i, void *data, size_t bytes)
{
    memset(data, 0xff, bytes);
    for (size_t at = 0; at < bytes / 2 && spec->outputs[i].bits == 16; at++) {
        ((int16_t *)data)[at] = INT16_MIN;
    }
    if (spec->outputs[i].bits == 8) {
        memset(data, INT8_MIN, bytes);
    }
}

status_t bank_spoil_all(struct bank *bank)
{
    for (uint32_t s = 0; s < bank->nslots; s++) {
        for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
            void *data = NULL;
            TRY(buffer_get(bank->slots[s].out[i], &data));
            bank_blank(&bank->spec, i, data,
                       (size_t)bank_output_bytes(&bank->spec, i, bank->spectra));
        }
    }
    return STATUS_OK;
}

void bank_end(struct bank *bank)
{
    bank_release(bank);
    stage_destroy(bank->stage);
    MEMORY_FREE(bank->re, bank->im);
    *bank = (struct bank){.backend = NULL};
}

/* Waits for the slot's block. */
static status_t bank_await(struct bank *bank, uint32_t s)
{
    void *data = NULL;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        TRY(buffer_get(bank->slots[s].out[i], &data));
    }
    return STATUS_OK;
}

/* Sets the backend to work on block `number` in a slot. */
static status_t bank_enqueue(struct bank *bank, uint32_t s, uint64_t number)
{
    struct bank_slot *slot = &bank->slots[s];
    struct sample_input input = {bank->re, bank->im, bank->step};
    uint64_t rows[MOST_OUTPUTS];
    slot->first = 0;
    if (bank->lent) {
        slot->first = number % bank->lent_blocks * bank->spectra;
        buffer_lend(slot->in, bank->lent + slot->first * channelise_hop(&bank->spec) * bank->step);
    }
    channelise_begin(bank->stage, bank->origin + slot->first);
    return channelise_run(bank->stage, slot->in, &input, bank->spec.nstreams, bank->spectra, 0,
                          slot->out, rows);
}

status_t bank_run_alone(struct bank *bank, struct trial_run *out)
{
    double started = clock_now();
    TRY(bank_enqueue(bank, 0, 0));
    TRY(bank_await(bank, 0));
    out->seconds = clock_now() - started;
    TRY(stage_times(bank->stage, out->steps));
    trial_run_settle(out, STEP_FILTER);
    return STATUS_OK;
}

status_t bank_run_row(struct bank *bank, uint64_t blocks, double least, uint64_t *done,
                      double *seconds)
{
    double started = clock_now();
    uint64_t n = 0;
    for (; n < blocks || (least > 0 && clock_now() - started < least); n++) {
        uint32_t s = (uint32_t)(n % bank->nslots);
        TRY(bank_await(bank, s));
        TRY(bank_enqueue(bank, s, n));
    }
    for (uint32_t s = 0; s < bank->nslots; s++) {
        TRY(bank_await(bank, s));
    }
    *seconds = clock_now() - started;
    *done = n;
    return STATUS_OK;
}

void bank_window_free(struct bank_window *window)
{
    for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
        free(memory_move(&window->rows[i]));
    }
}

/* Computes a window's rows by the reference, on a copy of its samples. */
static status_t bank_expect_window(struct bank *bank, backend_t *reference,
                                   struct bank_window *window)
{
    SCOPED(bank_end)
    struct bank one = {.backend = reference,
                       .spec = bank->spec,
                       .spectra = window->spectra,
                       .origin = window->first};
    struct trial_run unused;
    void *samples = NULL;
    void *data = NULL;
    one.spec.nstreams = bank_unit(&bank->spec);
    one.spec.max_spectra = window->spectra;
    one.spec.choice = (struct channelise_choice){.backend = BACKEND_AUTO};
    for (uint32_t i = 0; i < one.spec.noutputs; i++) {
        one.spec.outputs[i].bits = 0;
    }
    TRY(bank_lay_out(&one));
    TRY(bank_allocate(&one, 1));
    TRY(channelise_create(reference, &one.spec, &one.stage));
    TRY(buffer_get(bank->slots[0].in, &samples));
    TRY(buffer_get(one.slots[0].in, &data));
    for (uint32_t i = 0; i < one.spec.nstreams; i++) {
        memcpy((char *)data + one.re[i],
               (const char *)samples + bank->re[window->stream + i] +
                   window->first * channelise_hop(&one.spec) * one.step,
               (size_t)one.in_bytes / one.spec.nstreams);
    }
    TRY(bank_run_alone(&one, &unused));
    for (uint32_t i = 0; i < one.spec.noutputs; i++) {
        size_t floats = bank_rows(&one.spec, i, window->spectra) * bank_row_floats(&one.spec, i);
        TRY(memory_zeroed(floats, sizeof(float), "a trial", &window->rows[i]));
        TRY(buffer_get(one.slots[0].out[i], &data));
        memcpy(window->rows[i], data, floats * sizeof(float));
    }
    return STATUS_OK;
}

status_t bank_expect(struct bank *bank, struct bank_window *windows, uint32_t count)
{
    SCOPED(backend_close_at) backend_t *reference = NULL;
    TRY(bank_open_reference(&reference));
    for (uint32_t w = 0; w < count; w++) {
        TRY(bank_expect_window(bank, reference, &windows[w]));
    }
    return STATUS_OK;
}

/* Finds a window's row in slot 0. */
static status_t bank_row(struct bank *bank, const struct bank_window *window, uint32_t output,
                         uint64_t row, void **out)
{
    void *data = NULL;
    TRY(buffer_get(bank->slots[0].out[output], &data));
    uint64_t at = bank_rows(&bank->spec, output, window->first) + row;
    *out = (char *)data + at * channelise_row_bytes(&bank->spec, output, bank->spec.nstreams) +
           window->stream / bank_unit(&bank->spec) * bank_row_bytes(&bank->spec, output);
    return STATUS_OK;
}

status_t bank_spoil(struct bank *bank, const struct bank_window *windows, uint32_t count)
{
    for (const struct bank_window *w = windows; w < windows + count; w++) {
        for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
            for (uint64_t row = 0; row < bank_rows(&bank->spec, i, w->spectra); row++) {
                void *data = NULL;
                TRY(bank_row(bank, w, i, row, &data));
                bank_blank(&bank->spec, i, data, bank_row_bytes(&bank->spec, i));
            }
        }
    }
    return STATUS_OK;
}

/* Compares a row of one stream, or of a pair. */
static void bank_judge(const struct channelise_spec *spec, const struct channelise_output *what,
                       const float *found, const float *expected, struct agreement *agreement)
{
    size_t floats = (size_t)spec->nchannels * (what->quantity == QUANTITY_SPECTRA ? 2 : 1);
    if (what->quantity == QUANTITY_COHERENCY) {
        agreement_coherency(agreement, found, expected, spec->nchannels, spec->nchannels,
                            what->integrate, NULL);
        return;
    }
    for (uint32_t i = 0; i < bank_unit(spec); i++) {
        agreement_row(agreement, what->quantity, found + i * floats, expected + i * floats,
                      spec->nchannels, what->integrate, NULL);
    }
}

/* Numbers of a row in few bits, as floats: those next to what is expected. */
static void bank_nearest(const struct channelise_spec *spec, uint32_t i, const void *found,
                         const float *expected, float *out)
{
    const struct steps_form form = {.bits = spec->outputs[i].bits, .is_signed = 1};
    const float scale = (float)(1 / bank_factor(spec, i));
    for (size_t k = 0; k < bank_row_floats(spec, i); k++) {
        out[k] = steps_nearest(form, steps_number(form, found, k), scale, 0, expected[k]);
    }
}

status_t bank_compare(struct bank *bank, const struct bank_window *windows, uint32_t count,
                      double most, struct agreement *agreement, uint32_t *wrong)
{
    const struct channelise_spec *spec = &bank->spec;
    SCOPED(free_at) float *nearest = NULL;
    *wrong = 0;
    TRY(memory_zeroed((size_t)2 * bank_unit(spec) * spec->nchannels, 2 * sizeof *nearest, "a row",
                      &nearest));
    for (const struct bank_window *w = windows; w < windows + count; w++) {
        for (uint32_t i = 0; i < spec->noutputs; i++) {
            const struct channelise_output *what = &spec->outputs[i];
            for (uint64_t row = 0; row < bank_rows(spec, i, w->spectra); row++) {
                struct agreement one = {0};
                const float *expected = w->rows[i] + row * bank_row_floats(spec, i);
                void *data = NULL;
                TRY(bank_row(bank, w, i, row, &data));
                const float *found = what->bits ? nearest : data;
                if (what->bits) {
                    bank_nearest(spec, i, data, expected, nearest);
                }
                bank_judge(spec, what, found, expected, &one);
                *wrong += !(one.worst <= most * agreement_worst_limit);
                bank_judge(spec, what, found, expected, agreement);
            }
        }
    }
    return STATUS_OK;
}
