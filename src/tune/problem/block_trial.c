#include "tune/problem/block_trial.h"

#include "base/clock.h"
#include "base/memory.h"
#include "tune/median.h"
#include "tune/problem/ppf_trial_parts.h"

#include <stdlib.h>
#include <string.h>

/* Blocks under way, and the least number of a run: the first that comes and the last that goes hide
 * behind nothing. */
enum { MOST_SLOTS = 8, LEAST_BLOCKS = 8 };

struct slot {
    buffer_t *in, *out[MOST_OUTPUTS];
    uint64_t at; /* the spectrum of the whole that its block began with */
};

struct block_trial {
    ppf_trial_t *bank; /* its buffers hold the samples, and the rows of one block of all of them */
    struct slot slots[MOST_SLOTS];
    uint32_t nslots;
};

static void block_give_room_back(block_trial_t *trial)
{
    for (uint32_t s = 0; s < MOST_SLOTS; s++) {
        struct slot *slot = &trial->slots[s];
        buffer_destroy(slot->in);
        for (uint32_t i = 0; i < MOST_OUTPUTS; i++) {
            buffer_destroy(slot->out[i]);
        }
        *slot = (struct slot){.in = NULL};
    }
}

void block_trial_destroy(block_trial_t *trial)
{
    if (trial) {
        block_give_room_back(trial);
        ppf_trial_destroy(trial->bank);
        free(trial);
    }
}

uint64_t block_trial_most(const block_trial_t *trial)
{
    return trial->bank->spec.max_spectra;
}

uint64_t block_trial_bytes(const block_trial_t *trial, uint64_t block)
{
    return ppf_trial_bytes(trial->bank) +
           trial->nslots * ppf_trial_buffer_bytes(trial->bank, block);
}

/* All of it as one block: what the others must come to. */
static status_t block_make_whole(block_trial_t *trial)
{
    status_t st = STATUS_OK;
    ppf_trial_t *bank = trial->bank;
    channelise_t *stage = NULL;
    double seconds = 0;
    uint32_t wrong = 0;
    TRY(channelise_create(bank->backend, &bank->spec, &stage));
    TRY(ppf_trial_run_once(bank, stage, &seconds));
    TRY(ppf_trial_compare(bank, &wrong));
    REQUIRE(wrong == 0, STATUS_DEVICE, "the filter bank that blocks are tuned for is wrong");
out:
    channelise_destroy(stage);
    return st;
}

status_t block_trial_create(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                            block_trial_t **out)
{
    status_t st = STATUS_OK;
    block_trial_t *trial = NULL;
    TRY(memory_zeroed(1, sizeof *trial, "a trial", &trial));
    trial->nslots = (uint32_t)min_u64(backend_abilities(backend_which(backend))->slots, MOST_SLOTS);
    TRY(ppf_trial_create(backend, spec, memory / 2, &trial->bank)); /* the rest is the slots' */
    ppf_trial_take_choice(trial->bank,
                          spec->choice.backend != BACKEND_AUTO ? &spec->choice : &trial->bank->plan,
                          &trial->bank->spec);
    trial->bank->spec.is_timed = 0; /* what is under way must not be waited for */
    TRY(block_make_whole(trial));
    *out = trial;
    trial = NULL;
out:
    block_trial_destroy(trial);
    return st;
}

static status_t block_take_room(block_trial_t *trial, uint64_t block)
{
    status_t st = STATUS_OK;
    const ppf_trial_t *bank = trial->bank;
    for (uint32_t s = 0; s < trial->nslots; s++) {
        struct slot *slot = &trial->slots[s];
        TRY(buffer_create(bank->backend, BUFFER_IN, ppf_trial_input_bytes(bank, block), &slot->in));
        for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
            TRY(buffer_create(bank->backend, BUFFER_OUT, ppf_trial_output_bytes(bank, i, block),
                              &slot->out[i]));
        }
    }
out:
    return st;
}

/* Samples of the first block everywhere, for backends that have copies of samples: others read the
 * whole's, each block its own, as they read files. */
static status_t block_fill(block_trial_t *trial, uint64_t block, int *is_lent)
{
    status_t st = STATUS_OK;
    void *all = NULL;
    TRY(buffer_get(trial->bank->in, &all));
    *is_lent = buffer_lend(trial->slots[0].in, NULL);
    for (uint32_t s = 0; s < trial->nslots && !*is_lent; s++) {
        void *data = NULL;
        TRY(buffer_get(trial->slots[s].in, &data));
        memcpy(data, all, ppf_trial_input_bytes(trial->bank, block));
    }
out:
    return st;
}

/* Waits for the block that the slot had before. */
static status_t block_await(const ppf_trial_t *bank, struct slot *slot)
{
    status_t st = STATUS_OK;
    void *data = NULL;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        TRY(buffer_get(slot->out[i], &data));
    }
out:
    return st;
}

static status_t block_work_off(block_trial_t *trial, channelise_t *stage, uint64_t block,
                               int is_lent, double *seconds)
{
    status_t st = STATUS_OK;
    const ppf_trial_t *bank = trial->bank;
    size_t offset = 0;
    size_t part = ppf_trial_part_bytes(bank);
    struct channelise_input input = {&offset, &part, bank->sample_bytes};
    uint64_t rows[MOST_OUTPUTS];
    uint64_t all = bank->spec.max_spectra / block;
    uint64_t blocks = max_u64(all, LEAST_BLOCKS);
    void *samples = NULL;
    TRY(buffer_get(bank->in, &samples));
    double started = clock_now();
    for (uint64_t b = 0; b < blocks; b++) {
        struct slot *slot = &trial->slots[b % trial->nslots];
        TRY(block_await(bank, slot));
        slot->at = is_lent ? b % all * block : 0;
        if (is_lent) {
            buffer_lend(slot->in, (const char *)samples + slot->at *
                                                              channelise_samples(&bank->spec) *
                                                              bank->sample_bytes);
        }
        channelise_begin(stage, slot->at);
        TRY(channelise_run(stage, slot->in, &input, 1, block, 0, slot->out, rows));
    }
    for (uint32_t s = 0; s < trial->nslots; s++) {
        TRY(block_await(bank, &trial->slots[s]));
    }
    *seconds = (clock_now() - started) * (double)bank->spec.max_spectra / (double)(blocks * block);
out:
    return st;
}

/* Rows of the last blocks that differ from the whole's. */
static status_t block_compare(const block_trial_t *trial, uint64_t block, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    const ppf_trial_t *bank = trial->bank;
    *wrong = 0;
    for (uint32_t i = 0; i < bank->spec.noutputs; i++) {
        size_t bytes = ppf_trial_row_floats(&bank->spec, i) * sizeof(float);
        void *whole = NULL;
        TRY(buffer_get(bank->out[i], &whole));
        for (uint32_t s = 0; s < trial->nslots; s++) {
            const struct slot *slot = &trial->slots[s];
            uint64_t first = ppf_trial_rows_of(&bank->spec, i, slot->at);
            void *data = NULL;
            TRY(buffer_get(slot->out[i], &data));
            for (uint64_t row = 0; row < ppf_trial_rows_of(&bank->spec, i, block); row++) {
                *wrong += memcmp((const char *)whole + (first + row) * bytes,
                                 (const char *)data + row * bytes, bytes) != 0;
            }
        }
    }
out:
    return st;
}

status_t block_trial_time(block_trial_t *trial, uint64_t block, uint32_t repeats,
                          const struct tune_time *time, double *seconds, uint32_t *wrong)
{
    status_t st = STATUS_OK;
    struct channelise_spec spec = trial->bank->spec;
    channelise_t *stage = NULL;
    double *times = NULL;
    double first = 0;
    int is_lent = 0;
    uint32_t n = 0;
    spec.max_spectra = block;
    TRY(memory_zeroed(repeats, sizeof *times, "times", &times));
    TRY(channelise_create(trial->bank->backend, &spec, &stage));
    TRY(block_take_room(trial, block));
    TRY(block_fill(trial, block, &is_lent));
    TRY(block_work_off(trial, stage, block, is_lent, &first));
    for (; n < repeats && (n == 0 || !time || !tune_time_is_over(time, 1)); n++) {
        TRY(block_work_off(trial, stage, block, is_lent, &times[n]));
    }
    TRY(block_compare(trial, block, wrong));
    *seconds = tune_median(times, n);
out:
    channelise_destroy(stage);
    block_give_room_back(trial);
    free(times);
    return st;
}
