/* Cuts a job's problem to the size of a trial, and times shapes of it. */
#include "tune/problem/ppf_trial.h"

#include "base/memory.h"
#include "base/units.h"

uint32_t ppf_trial_window(const struct channelise_spec *spec)
{
    enum { COMPARED_POINTS = 1 << 20, LEAST = 2 };
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].integrate > 1) {
            return PPF_TRIAL_WINDOW;
        }
    }
    const uint32_t few = (uint32_t)max_u64(COMPARED_POINTS / spec->channels, LEAST);
    return (uint32_t)min_u64(few, PPF_TRIAL_WINDOW);
}

uint64_t ppf_trial_points(const backend_t *backend, int is_few)
{
    enum { DEVICE_POINTS = 1 << 26 };
    int is_gpu = backend_abilities(backend_which(backend))->has_device && backend_has_gpu();
    return is_gpu ? DEVICE_POINTS : is_few ? PPF_TRIAL_FEW_POINTS : PPF_TRIAL_POINTS;
}

void ppf_trial_end(struct ppf_trial *trial)
{
    bank_end(&trial->bank);
    for (uint32_t w = 0; w < PPF_TRIAL_WINDOWS; w++) {
        bank_window_free(&trial->windows[w]);
    }
}

/* The job's problem on one stream, or one pair, with dumps that a trial can end. */
static void trial_shrink(struct bank *bank, const struct channelise_spec *spec, uint64_t points)
{
    bank->spec = *spec;
    bank->spectra = max_u64(points / spec->channels / PPF_TRIAL_WINDOW, 2) * PPF_TRIAL_WINDOW;
    bank->spec.nstreams = bank_unit(spec);
    bank->spec.pol_inner = 1;
    bank->spec.is_interleaved = 0;
    bank->spec.is_timed = 1;
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        if (spec->outputs[i].integrate > 1) {
            bank->spec.outputs[i].integrate = PPF_TRIAL_WINDOW;
        }
    }
}

static uint64_t trial_bytes(const struct bank *bank, uint64_t spectra)
{
    struct channelise_spec whole = bank->spec;
    struct channelise_spec window = bank->spec;
    whole.max_spectra = spectra;
    window.max_spectra = ppf_trial_window(&window);
    uint64_t one = bank_slot_bytes(&window, window.max_spectra);
    /* The stage and the reference are never there at once. */
    uint64_t stage = channelise_bytes(backend_which(bank->backend), &whole);
    uint64_t reference = one + channelise_bytes(BACKEND_REFERENCE, &window);
    return bank_slot_bytes(&whole, spectra) + PPF_TRIAL_WINDOWS * one + max_u64(stage, reference);
}

uint64_t ppf_trial_bytes(const struct ppf_trial *trial)
{
    return trial_bytes(&trial->bank, trial->bank.spectra);
}

/* Sets the number of spectra to what memory can hold. */
static status_t trial_fit(struct bank *bank, uint64_t memory)
{
    while (memory > 0 && bank->spectra > PPF_TRIAL_WINDOW &&
           trial_bytes(bank, bank->spectra) > memory) {
        bank->spectra = bank->spectra / 2 / PPF_TRIAL_WINDOW * PPF_TRIAL_WINDOW;
    }
    return REQUIRED(memory == 0 || trial_bytes(bank, bank->spectra) <= memory, STATUS_USAGE,
                    "run.memory leaves %s for trials of %u channels with %u taps, which need %s",
                    units_bytes(memory), bank->spec.channels, bank->spec.taps,
                    units_bytes(trial_bytes(bank, bank->spectra)));
}

static status_t trial_try_room(struct bank *bank)
{
    status_t st = STATUS_OK;
    bank->spec.max_spectra = bank->spectra;
    TRY_OUT(bank_lay_out(bank));
    TRY_OUT(bank_allocate(bank, 1));
    TRY_OUT(bank_create(bank));
out:
    channelise_destroy(bank->stage);
    bank->stage = NULL;
    return st;
}

/* Allocates the buffers, with fewer spectra if the device's memory cannot hold them and a stage. */
static status_t trial_take_room(struct bank *bank)
{
    const struct channelise_spec spec = bank->spec;
    for (;;) {
        status_t st = trial_try_room(bank);
        int is_full = st != STATUS_OK && backend_was_full(bank->backend);
        struct bank fewer = {.backend = bank->backend, .spec = spec, .spectra = bank->spectra / 4};
        if (st != STATUS_OK && (is_full || bank->nslots > 0)) {
            report_clear();
        }
        if (!is_full || bank->spectra <= PPF_TRIAL_WINDOW) {
            /* Where the stage alone cannot be, other shapes may do. */
            return bank->nslots > 0 ? STATUS_OK : st;
        }
        bank_end(bank);
        *bank = fewer;
        bank->spectra = max_u64(bank->spectra / PPF_TRIAL_WINDOW, 1) * PPF_TRIAL_WINDOW;
    }
}

status_t ppf_trial_begin(backend_t *backend, const struct channelise_spec *spec,
                         const struct channelise_shape *shape, uint64_t points, uint64_t memory,
                         struct ppf_trial *out)
{
    struct bank *bank = &out->bank;
    *out = (struct ppf_trial){.bank.backend = backend, .plan.backend = backend_which(backend)};
    trial_shrink(bank, spec, points);
    TRY(trial_fit(bank, memory));
    if (!shape || !backend_abilities(backend_which(backend))->has_device) {
        TRY(channelise_choose(backend, &bank->spec, &out->plan));
    }
    bank->spec.choice = out->plan;
    bank->spec.choice.shape = shape ? *shape : out->plan.shape;
    TRY(trial_take_room(bank));
    TRY(bank_fill(bank));
    TRY(bank_spoil_all(bank));
    const uint32_t compared = ppf_trial_window(&bank->spec);
    for (uint32_t w = 0; w < PPF_TRIAL_WINDOWS; w++) {
        out->windows[w].first = w == 0 ? 0 : bank->spectra - compared;
        out->windows[w].spectra = compared;
    }
    return bank_expect(bank, out->windows, PPF_TRIAL_WINDOWS);
}

static status_t trial_run(void *context, struct trial_run *out)
{
    return bank_run_alone(&((struct ppf_trial *)context)->bank, out);
}

/* Twice of what `voltmill verify` allows. */
static status_t trial_check(void *context, uint32_t *wrong)
{
    struct ppf_trial *trial = context;
    struct agreement agreement = {0};
    return bank_compare(&trial->bank, trial->windows, PPF_TRIAL_WINDOWS, 2, &agreement, wrong);
}

status_t ppf_trial_time(struct ppf_trial *trial, const struct channelise_shape *shape,
                        uint32_t repeats, const struct tune_time *time, struct trial_times *times)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {trial_run, trial_check};
    struct bank *bank = &trial->bank;
    bank->spec.choice = trial->plan;
    bank->spec.choice.shape = *shape;
    TRY_OUT(bank_create(bank));
    TRY_OUT(bank_spoil(bank, trial->windows, PPF_TRIAL_WINDOWS));
    TRY_OUT(trial_time(&timed, trial, repeats, time, times));
out:
    channelise_destroy(bank->stage);
    bank->stage = NULL;
    return st;
}
