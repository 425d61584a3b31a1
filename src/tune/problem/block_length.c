#include "tune/problem/block_length.h"

#include "base/memory.h"
#include "tune/problem/block_trial.h"
#include "tune/problem/ppf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LENGTHS = 12, GRAIN = 16 /* blocks end at multiples of it */ };

/* Of the kernel's name. */
static const char suffix[] = ", blocks";

struct blocks {
    block_trial_t *trial;
    uint64_t expected; /* spectra of all streams that the job will make; 0: nobody knows */
    uint32_t lengths[MOST_LENGTHS];
    struct tune_space space;
};

static status_t blocks_problem_of(backend_t *backend, const struct channelise_spec *spec,
                                  struct tune_problem *out)
{
    status_t st = STATUS_OK;
    TRY(tune_ppf_problem(backend, spec, out));
    TRY(text_add(&out->kernel, "%s", suffix));
    TRY(tune_problem_end(out));
out:
    return st;
}

/* "4096 spectra" */
static int blocks_parse(const char *words, uint64_t *out)
{
    int length = 0;
    uint64_t spectra = 0;
    if (sscanf(words, "%" SCNu64 " spectra%n", &spectra, &length) != 1 || words[length] != '\0' ||
        length == 0 || spectra == 0 || spectra > UINT32_MAX) {
        return 0;
    }
    *out = spectra;
    return 1;
}

static status_t blocks_look_up(const struct tune_problem *problem, const char *database,
                               uint64_t *spectra, enum tune_found *found, struct tune_known *very)
{
    status_t st = STATUS_OK;
    enum { MOST_NEAR = 32 };
    struct store_record near[MOST_NEAR];
    store_t *store = NULL;
    uint32_t count = 0;
    *found = TUNE_NOTHING;
    *spectra = 0;
    TRY(store_open(database, &store));
    struct store_key key = tune_problem_key(problem);
    store_find(store, &key, near, MOST_NEAR, &count);
    for (uint32_t i = 0; i < count && *found == TUNE_NOTHING; i++) {
        if (blocks_parse(near[i].words, spectra)) {
            *found = near[i].distance > 0 ? TUNE_NEAREST : TUNE_EXACT;
        }
    }
    if (very) {
        TRY(tune_known_of(near, count, very));
        very->can_be = *found == TUNE_EXACT;
    }
out:
    store_close(store);
    return st;
}

status_t tune_block_length_are_known(enum backend_kind kind, const struct channelise_spec *spec,
                                     const char *database, int *out)
{
    status_t st = STATUS_OK;
    struct text kernel = {0};
    store_t *store = NULL;
    *out = 0;
    TRY(tune_ppf_kernel(kind, spec, &kernel));
    TRY(text_add(&kernel, "%s", suffix));
    TRY(store_open(database, &store));
    *out = store_has(store, kernel.data);
out:
    store_close(store);
    text_free(&kernel);
    return st;
}

status_t tune_block_length_find(backend_t *backend, const struct channelise_spec *spec,
                                const char *database, uint64_t *spectra, enum tune_found *found)
{
    status_t st = STATUS_OK;
    struct tune_problem problem = {0};
    TRY(blocks_problem_of(backend, spec, &problem));
    TRY(blocks_look_up(&problem, database, spectra, found, NULL));
out:
    tune_problem_free(&problem);
    return st;
}

static status_t blocks_words_of(void *context, uint32_t i, struct text *out)
{
    const struct blocks *blocks = context;
    return text_add(out, "%" PRIu32 " spectra", blocks->lengths[i]);
}

static status_t blocks_time_one(void *context, uint32_t i, uint32_t repeats,
                                const struct tune_time *time, struct tune_measure *out)
{
    status_t st = STATUS_OK;
    const struct blocks *blocks = context;
    uint32_t length = blocks->lengths[i];
    TRY(block_trial_time(blocks->trial, length, repeats, time, &out->seconds, &out->wrong));
    /* In a run the first block's reading and the last one's writing hide behind nothing. */
    if (blocks->expected > 0) {
        out->seconds *= 1 + 2.0 * length / (double)blocks->expected;
    }
out:
    return st;
}

/* A length that fits, once. */
static void blocks_add(struct blocks *blocks, uint64_t length, uint64_t memory)
{
    uint32_t *count = &blocks->space.count;
    length = length / GRAIN * GRAIN;
    int is_wanted = length > 0 && length <= block_trial_most(blocks->trial) &&
                    *count < MOST_LENGTHS &&
                    (memory == 0 || block_trial_bytes(blocks->trial, length) <= memory);
    for (uint32_t i = 0; i < *count; i++) {
        is_wanted = is_wanted && blocks->lengths[i] != length;
    }
    if (is_wanted) {
        blocks->lengths[(*count)++] = (uint32_t)length;
    }
}

/* What a run would take, what is known, and halves of the most that there is something to learn
 * of. */
static status_t blocks_begin(backend_t *backend, const struct channelise_spec *spec, uint64_t suits,
                             const struct tune_known *known, uint64_t memory, struct blocks *blocks)
{
    status_t st = STATUS_OK;
    static const char *const names[] = {"spectra"};
    uint64_t length = 0;
    blocks->expected = spec->expected;
    TRY(block_trial_create(backend, spec, memory, &blocks->trial));
    blocks_add(blocks, suits, memory);
    if (known->can_be && blocks_parse(known->words.data, &length)) {
        blocks_add(blocks, length, memory);
    }
    for (length = block_trial_most(blocks->trial); length > 0; length /= 2) {
        blocks_add(blocks, length, memory);
    }
    blocks->space.context = blocks;
    blocks->space.nparameters = 1;
    blocks->space.names = names;
    blocks->space.values = blocks->lengths;
    blocks->space.words = blocks_words_of;
    blocks->space.time = blocks_time_one;
out:
    return st;
}

static int blocks_find_length(const struct blocks *blocks, const struct tune_known *known,
                              uint32_t *out)
{
    uint64_t length = 0;
    for (uint32_t i = 0; i < blocks->space.count && blocks_parse(known->words.data, &length); i++) {
        if (blocks->lengths[i] == length) {
            *out = i;
            return 1;
        }
    }
    return 0;
}

static status_t blocks_search(backend_t *backend, const struct channelise_spec *spec,
                              uint64_t suits, const struct tune_problem *problem,
                              struct tune_known *known, const struct tune_options *options,
                              tune_log_t *log, const char *database, uint64_t *best,
                              struct tune_summary *out)
{
    status_t st = STATUS_OK;
    struct blocks blocks = {.trial = NULL};
    struct tune_options with_known = *options;
    struct tune_outcome outcome = {0};
    *out = (struct tune_summary){.is_cut = tune_time_is_over(&options->time, 1)};
    if (out->is_cut) {
        goto out;
    }
    TRY(blocks_begin(backend, spec, suits, known, options->memory, &blocks));
    if (blocks.space.count == 0) {
        goto out;
    }
    known->can_be = known->can_be && blocks_find_length(&blocks, known, &known->index);
    with_known.known = known->can_be ? &known->index : NULL;
    TRY(tune_search(&blocks.space, &with_known, log, problem->hash, &outcome));
    TRY(tune_summarise(&blocks.space, &outcome, blocks.space.count, out));
    if (out->seconds > 0) {
        *best = blocks.lengths[outcome.best];
    }
    TRY(tune_known_keep(known, problem, database, &blocks.space, &outcome, 0, NULL));
out:
    tune_outcome_free(&outcome);
    block_trial_destroy(blocks.trial);
    return st;
}

status_t tune_block_length_search(backend_t *backend, const struct channelise_spec *spec,
                                  uint64_t suits, const struct tune_options *options,
                                  tune_log_t *log, const char *database, uint64_t *best,
                                  struct tune_summary *out)
{
    status_t st = STATUS_OK;
    struct tune_problem problem = {0};
    struct tune_known known = {.searched = 0};
    uint64_t length = 0;
    enum tune_found found;
    *out = (struct tune_summary){0};
    TRY(blocks_problem_of(backend, spec, &problem));
    TRY(blocks_look_up(&problem, database, &length, &found, &known));
    TRY(blocks_search(backend, spec, suits, &problem, &known, options, log, database, best, out));
out:
    tune_problem_free(&problem);
    tune_known_free(&known);
    return st;
}

status_t tune_block_length_now(backend_t *backend, const struct channelise_spec *spec,
                               uint64_t suits, const struct tune_wish *wish, uint64_t *spectra,
                               enum tune_found *found)
{
    status_t st = STATUS_OK;
    static const char what[] = "the length of blocks";
    struct tune_options options = tune_wished(wish);
    struct tune_problem problem = {0};
    struct tune_known known = {.searched = 0};
    struct tune_summary summary = {0};
    TRY(blocks_problem_of(backend, spec, &problem));
    TRY(blocks_look_up(&problem, wish->database, spectra, found, &known));
    if (!tune_is_wanted(what, *found, &known, &options.time)) {
        goto out;
    }
    st = blocks_search(backend, spec, suits, &problem, &known, &options, NULL, wish->database,
                       spectra, &summary);
    TRY(tune_forgive(what, backend, st));
    if (summary.timed > 0) {
        tune_note(what, &summary);
    }
    *found = summary.seconds > 0 ? TUNE_EXACT : *found;
out:
    tune_budget_end(wish->budget, &options.time);
    tune_problem_free(&problem);
    tune_known_free(&known);
    return st;
}
