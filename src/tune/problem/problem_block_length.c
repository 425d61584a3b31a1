/* The length of a filter bank's blocks, as a problem of the tuner. Trials work blocks off as a run
 * does: one comes and one goes while another is worked on, where the backend can. */
#include "base/memory.h"
#include "tune/problem/ppf_trial.h"
#include "tune/problem/problems.h"
#include "tune/search.h"

#include <stdlib.h>
#include <string.h>

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

/* All of it as one block: what the others must come to. */
static status_t blocks_make_whole(struct blocks *blocks)
{
    status_t st = STATUS_OK;
    struct ppf_trial *whole = &blocks->whole;
    struct bank *bank = &whole->bank;
    struct agreement agreement = {0};
    struct trial_run unused;
    uint32_t wrong = 0;
    bank->spec.is_timed = 0; /* what is under way must not be waited for */
    TRY_OUT(bank_create(bank));
    TRY_OUT(bank_run_alone(bank, &unused));
    TRY_OUT(bank_compare(bank, whole->windows, PPF_TRIAL_WINDOWS, 2, &agreement, &wrong));
    REQUIRE_OUT(wrong == 0, STATUS_DEVICE, "the filter bank that blocks are tuned for is wrong");
out:
    channelise_destroy(bank->stage);
    bank->stage = NULL;
    return st;
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

/* The seconds that the whole takes in such blocks. */
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
                            const struct tune_time *time, struct tune_measure *out)
{
    status_t st = STATUS_OK;
    static const struct trial timed = {blocks_run, blocks_check};
    struct blocks *blocks = context;
    struct trial_times times;
    TRY_OUT(blocks_prepare(blocks, blocks->lengths[i]));
    TRY_OUT(trial_time(&timed, blocks, repeats, time, &times));
    out->wrong = times.wrong;
    out->seconds = times.median;
    /* In a run the first block's reading and the last one's writing hide behind nothing. */
    if (blocks->expected > 0) {
        out->seconds *= 1 + 2.0 * blocks->lengths[i] / (double)blocks->expected;
    }
out:
    bank_end(&blocks->bank);
    return st;
}

/* A length that fits, once. */
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
