/* A filter bank as problems of the tuner: how it is computed, with the automatic choice, and in
 * blocks of which length. A trial is the job's problem, cut to a size that is quickly measured. */
#include "tune/problem/problem_ppf.h"

#include "base/memory.h"
#include "base/units.h"
#include "tune/problem/problems.h"
#include "tune/tuning.h"

#include <inttypes.h>

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

static uint64_t ppf_trial_points(const backend_t *backend, int is_few)
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
    uint64_t stage = channelise_bytes(backend_which(bank->backend), &whole, MEMORY_HOST);
    uint64_t reference = one + channelise_bytes(BACKEND_REFERENCE, &window, MEMORY_HOST);
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

/* Ends the stage of the bank, which can have another one. */
SCOPED_CALLS(bank_end_stage, struct bank *, stage_destroy(memory_move(&(*at)->stage)))

static status_t trial_try_room(struct bank *bank)
{
    SCOPED(bank_end_stage) struct bank *tried = bank;
    tried->spec.max_spectra = bank->spectra;
    TRY(bank_lay_out(bank));
    TRY(bank_allocate(bank, 1));
    return bank_create(bank);
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

/* Counts wrong rows; allows twice the errors that `voltmill verify` does. */
static status_t trial_check(void *context, uint32_t *wrong)
{
    struct ppf_trial *trial = context;
    struct agreement agreement = {0};
    return bank_compare(&trial->bank, trial->windows, PPF_TRIAL_WINDOWS, 2, &agreement, wrong);
}

status_t ppf_trial_time(struct ppf_trial *trial, const struct channelise_shape *shape,
                        uint32_t repeats, const struct tune_time *time, struct trial_times *times)
{
    static const struct trial timed = {trial_run, trial_check};
    SCOPED(bank_end_stage) struct bank *bank = &trial->bank;
    bank->spec.choice = trial->plan;
    bank->spec.choice.shape = *shape;
    TRY(bank_create(bank));
    TRY(bank_spoil(bank, trial->windows, PPF_TRIAL_WINDOWS));
    return trial_time(&timed, trial, repeats, time, times);
}

static const char *ppf_kernel_name(uint32_t i)
{
    return kernel_name((enum kernel_kind)i);
}

static const char *ppf_fft_name(uint32_t i)
{
    return fft_name((enum fft_kind)i);
}

static const struct tune_parameter ppf_parameters[] = {
    {"kernel", 0, KERNEL_KINDS - 1, ppf_kernel_name},
    {"fft", 0, FFT_CLFFT, ppf_fft_name},
    {"simd", 0, 16, NULL},
    {"rows", 0, 1 << 16, NULL},
    {"width", 0, 1 << 16, NULL},
    {"run", 0, 1 << 24, NULL},
    {"vector", 0, 16, NULL},
    {"values", 0, 1 << 16, NULL},
    {"batch", 0, 1 << 16, NULL},
    {"teams", 0, 1 << 16, NULL},
    {"radix1", 0, 1 << 16, NULL},
    {"radix2", 0, 1 << 16, NULL},
    {"radix3", 0, 1 << 16, NULL},
    {"radix4", 0, 1 << 16, NULL},
    {"buffers", 0, 1 << 16, NULL},
    {"split", 0, 1, NULL},
    {"padded", 0, 1, NULL},
    {"streaming", 0, 1, NULL},
    {"paired", 0, 1, NULL}};

enum { PPF_NUMBERS = sizeof ppf_parameters / sizeof *ppf_parameters };

_Static_assert(sizeof(struct channelise_shape) == PPF_NUMBERS * sizeof(uint32_t) &&
                   (int)PPF_NUMBERS <= (int)TUNE_PARAMETERS,
               "a shape is a row of numbers");

/* Names of a filter bank in keys, for both problems. */
static status_t ppf_kernel(enum backend_kind kind, const void *what, struct text *out)
{
    const struct channelise_spec *spec = what;
    static const char *const formats[] = {"4 bit", "8 bit", "16 bit", "float"};
    TRY(text_add(out, ", %u channels, %u taps, %s %s", spec->channels, spec->taps,
                 spec->is_complex ? "complex" : "real", formats[spec->format]));
    TRY(channelise_is_oversampled(spec) ? text_add(out, ", every %u samples", spec->hop)
                                        : STATUS_OK);
    TRY(text_add(out, ", kernel %s, fft %s", kernel_name(spec->kernel), fft_name(spec->fft)));
    return backend_abilities(kind)->uses_threads ? text_add(out, ", %u threads", spec->threads)
                                                 : STATUS_OK;
}

static status_t ppf_describe(backend_t *backend, const void *what, struct tune_key *out)
{
    const struct channelise_spec *spec = what;
    double *features = out->features;
    features[0] = spec->nchannels;
    features[1] = spec->noutputs;
    features[2] = features[3] = 1;
    TRY(backend_identity(backend, &out->identity));
    TRY(text_add(&out->words, "channels %u+%u%s%s", spec->first_channel, spec->nchannels,
                 spec->conjugate ? ", conjugate" : "",
                 spec->missing.has_value ? ", missing value" : ""));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(text_add(&out->words, ", %s/%" PRIu64, quantity_name(spec->outputs[i].quantity),
                     spec->outputs[i].integrate));
        TRY(spec->outputs[i].bits ? text_add(&out->words, " of %u bits", spec->outputs[i].bits)
                                  : STATUS_OK);
        features[2] += spec->outputs[i].quantity == QUANTITY_SPECTRA;
        features[3] += (double)spec->outputs[i].integrate;
    }
    return STATUS_OK;
}

static status_t ppf_candidates(backend_t *backend, const void *spec, void *out, uint32_t *count)
{
    return channelise_candidates(backend, spec, SPACE_ALL, out, count);
}

struct ppf_space {
    struct channelise_shape *shapes;
    struct ppf_trial trial;
};

static status_t ppf_time(void *context, uint32_t i, uint32_t repeats, const struct tune_time *time,
                         struct trial_times *out)
{
    struct ppf_space *ppf = context;
    return ppf_trial_time(&ppf->trial, &ppf->shapes[i], repeats, time, out);
}

/* There is no model: those that are known to be good come first. */
static status_t ppf_begin(backend_t *backend, const void *spec, const struct tune_pick *pick,
                          uint64_t memory, struct tune_space *out)
{
    struct ppf_space *ppf = NULL;
    enum channelise_space space = pick->is_few ? SPACE_FEW : SPACE_ALL;
    TRY(memory_zeroed(1, sizeof *ppf, "a search space", &ppf));
    *out = (struct tune_space){.problem = &tune_ppf, .context = ppf, .time = ppf_time};
    uint64_t points = ppf_trial_points(backend, pick->is_few);
    TRY(channelise_candidates(backend, spec, space, &ppf->shapes, &out->count));
    /* A shape without rivals is only verified. */
    points = pick->is_few && out->count == 1 ? PPF_TRIAL_FEW_POINTS : points;
    out->fit = out->count;
    out->values = (const uint32_t *)ppf->shapes;
    return out->count > 0
               ? ppf_trial_begin(backend, spec, &ppf->shapes[0], points, memory, &ppf->trial)
               : STATUS_OK;
}

static void ppf_end(struct tune_space *space)
{
    struct ppf_space *ppf = space->context;
    ppf_trial_end(&ppf->trial);
    MEMORY_FREE(ppf->shapes, ppf);
}

const struct tune_problem tune_ppf = {.name = "filter bank",
                                      .version = 2,
                                      .title = "the filter bank",
                                      .nparameters = PPF_NUMBERS,
                                      .parameters = ppf_parameters,
                                      .kernel = ppf_kernel,
                                      .describe = ppf_describe,
                                      .candidates = ppf_candidates,
                                      .begin = ppf_begin,
                                      .end = ppf_end};

status_t tune_ppf_choose(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                         struct channelise_choice *out)
{
    /* Beyond, the reference of a trial takes longer than a user waits for a choice by rule. */
    enum { MOST_VERIFIED = 1 << 14 };
    struct channelise_choice choice;
    SCOPED(free_at) struct channelise_shape *list = NULL;
    uint32_t count = 0;
    TRY(channelise_choose(backend, spec, &choice));
    if (spec->choice.backend == BACKEND_AUTO) {
        TRY(channelise_candidates(backend, spec, SPACE_FEW, &list, &count));
    }
    if (count == 1 && (spec->channels > MOST_VERIFIED ||
                       !backend_abilities(backend_which(backend))->has_device)) {
        count = 0;
    }
    TRY(tune_few(&tune_ppf, backend, spec, "choice", (const uint32_t *)list, count, memory,
                 (uint32_t *)&choice.shape));
    *out = choice;
    return STATUS_OK;
}

enum {
    MOST_LENGTHS = 12,
    GRAIN = 16,      /* blocks end at multiples of it */
    LEAST_BLOCKS = 8 /* of a run: the first that comes and the last that goes hide behind nothing */
};

struct blocks {
    struct ppf_trial whole; /* its samples, and their rows as one block */
    struct bank bank;       /* of the length that is timed */
    uint64_t expected;      /* spectra of all streams that the job will make; 0: unknown */
    uint32_t nslots;
    uint32_t lengths[MOST_LENGTHS], count;
};

/* Makes the rows as one block, which those of shorter blocks must equal. */
static status_t blocks_make_whole(struct blocks *blocks)
{
    struct ppf_trial *whole = &blocks->whole;
    SCOPED(bank_end_stage) struct bank *bank = &whole->bank;
    struct agreement agreement = {0};
    struct trial_run unused;
    uint32_t wrong = 0;
    bank->spec.is_timed = 0; /* what is under way must not be waited for */
    TRY(bank_create(bank));
    TRY(bank_run_alone(bank, &unused));
    TRY(bank_compare(bank, whole->windows, PPF_TRIAL_WINDOWS, 2, &agreement, &wrong));
    return REQUIRED(wrong == 0, STATUS_DEVICE,
                    "the filter bank that blocks are tuned for is wrong");
}

/* Backends that have copies of samples get those of the first block everywhere; others read the
 * whole's, each block its own, as they read files. */
static status_t blocks_fill(struct blocks *blocks)
{
    struct bank *bank = &blocks->bank;
    void *all = NULL;
    void *data = NULL;
    TRY(buffer_get(blocks->whole.bank.slots[0].in, &all));
    bank->lent = buffer_lend(bank->slots[0].in, NULL) ? all : NULL;
    bank->lent_blocks = blocks->whole.bank.spectra / bank->spectra;
    for (uint32_t s = 0; s < bank->nslots && !bank->lent; s++) {
        TRY(buffer_get(bank->slots[s].in, &data));
        memcpy(data, all, (size_t)bank->in_bytes);
    }
    return STATUS_OK;
}

static status_t blocks_prepare(struct blocks *blocks, uint32_t length)
{
    struct bank *bank = &blocks->bank;
    *bank = (struct bank){
        .backend = blocks->whole.bank.backend, .spec = blocks->whole.bank.spec, .spectra = length};
    bank->spec.max_spectra = length;
    TRY(bank_lay_out(bank));
    TRY(bank_create(bank));
    TRY(bank_allocate(bank, blocks->nslots));
    return blocks_fill(blocks);
}

/* Times a run in blocks of this length, scaled to all spectra. */
static status_t blocks_run(void *context, struct trial_run *out)
{
    struct blocks *blocks = context;
    uint64_t whole = blocks->whole.bank.spectra;
    uint64_t done = 0;
    double seconds = 0;
    TRY(bank_run_row(&blocks->bank, max_u64(whole / blocks->bank.spectra, LEAST_BLOCKS), 0, &done,
                     &seconds));
    out->seconds = seconds * (double)whole / (double)(done * blocks->bank.spectra);
    return STATUS_OK;
}

/* Rows of the last blocks that differ from the whole's. */
static status_t blocks_check(void *context, uint32_t *wrong)
{
    struct blocks *blocks = context;
    struct bank *bank = &blocks->bank;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        size_t bytes = bank_row_bytes(&bank->spec, i);
        void *whole = NULL;
        TRY(buffer_get(blocks->whole.bank.slots[0].out[i], &whole));
        for (uint32_t s = 0; s < bank->nslots; s++) {
            uint64_t first = bank_rows(&bank->spec, i, bank->slots[s].first);
            void *data = NULL;
            TRY(buffer_get(bank->slots[s].out[i], &data));
            for (uint64_t row = 0; row < bank_rows(&bank->spec, i, bank->spectra); row++) {
                *wrong += memcmp((const char *)whole + (first + row) * bytes,
                                 (const char *)data + row * bytes, bytes) != 0;
            }
        }
    }
    return STATUS_OK;
}

static status_t blocks_time(void *context, uint32_t i, uint32_t repeats,
                            const struct tune_time *time, struct trial_times *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {blocks_run, blocks_check};
    struct blocks *blocks = context;
    TRY_OUT(blocks_prepare(blocks, blocks->lengths[i]));
    TRY_OUT(trial_time(&timed, blocks, repeats, time, out));
    /* In a run the first block's reading and the last one's writing hide behind nothing. */
    if (blocks->expected > 0) {
        out->median *= 1 + 2.0 * blocks->lengths[i] / (double)blocks->expected;
    }
out:
    bank_end(&blocks->bank);
    return st;
}

/* Adds a length of blocks if it fits the memory and is not in the list. */
static void blocks_add(struct blocks *blocks, uint64_t length, uint64_t memory)
{
    length = length / GRAIN * GRAIN;
    uint64_t bytes = ppf_trial_bytes(&blocks->whole) +
                     blocks->nslots * bank_slot_bytes(&blocks->whole.bank.spec, length);
    int is_wanted = length > 0 && length <= blocks->whole.bank.spectra &&
                    blocks->count < MOST_LENGTHS && (memory == 0 || bytes <= memory);
    for (uint32_t i = 0; i < blocks->count; i++) {
        is_wanted = is_wanted && blocks->lengths[i] != length;
    }
    if (is_wanted) {
        blocks->lengths[blocks->count++] = (uint32_t)length;
    }
}

/* Lists the block lengths to time: the length of a run, known ones, and the maximum divided by
 * powers of two, as long as these differ. */
static status_t blocks_begin(backend_t *backend, const void *what, const struct tune_pick *pick,
                             uint64_t memory, struct tune_space *out)
{
    const struct channelise_spec *spec = what;
    struct blocks *blocks = NULL;
    TRY(memory_zeroed(1, sizeof *blocks, "a search space", &blocks));
    *out =
        (struct tune_space){.problem = &tune_block_length, .context = blocks, .time = blocks_time};
    blocks->expected = spec->expected;
    blocks->nslots =
        (uint32_t)min_u64(backend_abilities(backend_which(backend))->slots, BANK_SLOTS);
    /* Half of the memory is the slots'. */
    TRY(ppf_trial_begin(backend, spec,
                        spec->choice.backend != BACKEND_AUTO ? &spec->choice.shape : NULL,
                        ppf_trial_points(backend, 0), memory / 2, &blocks->whole));
    TRY(blocks_make_whole(blocks));
    for (uint32_t i = 0; i < pick->nalso; i++) {
        blocks_add(blocks, pick->also[i], memory);
    }
    if (pick->known) {
        blocks_add(blocks, *pick->known, memory);
    }
    for (uint64_t length = blocks->whole.bank.spectra; length > 0; length /= 2) {
        blocks_add(blocks, length, memory);
    }
    out->count = out->fit = blocks->count;
    out->values = blocks->lengths;
    return STATUS_OK;
}

static void blocks_end(struct tune_space *space)
{
    struct blocks *blocks = space->context;
    ppf_trial_end(&blocks->whole);
    free(blocks);
}

static status_t blocks_fits(backend_t *backend, const void *spec, const uint32_t *values, int *out)
{
    (void)backend;
    (void)spec;
    *out = *values > 0;
    return STATUS_OK;
}

static const struct tune_parameter blocks_parameters[] = {{"spectra", 1, UINT32_MAX, NULL}};

const struct tune_problem tune_block_length = {.name = "blocks of a filter bank",
                                               .version = 1,
                                               .title = "the length of blocks",
                                               .nparameters = 1,
                                               .parameters = blocks_parameters,
                                               .kernel = ppf_kernel,
                                               .describe = ppf_describe,
                                               .fits = blocks_fits,
                                               .begin = blocks_begin,
                                               .end = blocks_end};
