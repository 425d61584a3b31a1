#include "tune/problem/ppf.h"

#include "base/memory.h"
#include "tune/problem/ppf_trial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* kernel, fft, and the backend's numbers. */
enum { OTHERS = 2, NUMBERS = 14, PARAMETERS = OTHERS + NUMBERS };

struct bank {
    ppf_trial_t *trial;
    struct channelise_choice *choices;
    uint32_t *values;
    struct tune_space space;
};

status_t tune_ppf_kernel(enum backend_kind kind, const struct channelise_spec *spec,
                         struct text *out)
{
    status_t st = STATUS_OK;
    static const char *const formats[] = {"4 bit", "8 bit", "16 bit", "float"};
    TRY(text_add(out, "filter bank, %u channels, %u taps, %s %s", spec->channels, spec->taps,
                 spec->is_complex ? "complex" : "real", formats[spec->format]));
    TRY(text_add(out, ", kernel %s, fft %s", kernel_name(spec->kernel), fft_name(spec->fft)));
    if (backend_abilities(kind)->uses_threads) {
        TRY(text_add(out, ", %u threads", spec->threads));
    }
out:
    return st;
}

status_t tune_ppf_problem(backend_t *backend, const struct channelise_spec *spec,
                          struct tune_problem *out)
{
    status_t st = STATUS_OK;
    double integrate = 0;
    *out = (struct tune_problem){.features = {spec->nchannels, spec->noutputs, 1, 1}};
    TRY(tune_ppf_kernel(backend_which(backend), spec, &out->kernel));
    TRY(channelise_identity(backend, &out->identity));
    TRY(text_add(&out->words, "channels %u+%u%s%s", spec->first_channel, spec->nchannels,
                 spec->conjugate ? ", conjugate" : "",
                 spec->has_missing_value ? ", missing value" : ""));
    for (uint32_t i = 0; i < spec->noutputs; i++) {
        TRY(text_add(&out->words, ", %s/%" PRIu64, quantity_name(spec->outputs[i].quantity),
                     spec->outputs[i].integrate));
        integrate += (double)spec->outputs[i].integrate;
        out->features[2] += spec->outputs[i].quantity == QUANTITY_SPECTRA;
    }
    out->features[3] += integrate;
    TRY(tune_problem_end(out));
out:
    return st;
}

static int ppf_is_same(const struct channelise_choice *a, const struct channelise_choice *b)
{
    return a->kernel == b->kernel && a->fft == b->fft &&
           memcmp(a->numbers, b->numbers, sizeof a->numbers) == 0;
}

/* The number of the candidate that a text names; 0 when there is none. */
static int ppf_find_choice(const char *words, const struct channelise_choice *list, uint32_t count,
                           uint32_t *out)
{
    struct channelise_choice known;
    if (!channelise_choice_parse(words, &known)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ppf_is_same(&known, &list[i])) {
            *out = i;
            return 1;
        }
    }
    return 0;
}

/* The nearest known problem with a way that could be chosen today. */
static status_t ppf_look_up(backend_t *backend, const struct channelise_spec *spec,
                            const struct tune_problem *problem, const char *database,
                            struct channelise_choice *choice, enum tune_found *found,
                            struct tune_known *very)
{
    status_t st = STATUS_OK;
    enum { MOST_NEAR = 32 };
    struct store_record near[MOST_NEAR];
    struct channelise_choice *list = NULL;
    store_t *store = NULL;
    uint32_t count = 0;
    uint32_t fit = 0;
    *found = TUNE_NOTHING;
    TRY(store_open(database, &store));
    struct store_key key = tune_problem_key(problem);
    store_find(store, &key, near, MOST_NEAR, &count);
    if (count > 0) {
        TRY(channelise_candidates(backend, spec, &list, &fit));
    }
    for (uint32_t i = 0; i < count && *found == TUNE_NOTHING; i++) {
        uint32_t at = 0;
        if (ppf_find_choice(near[i].words, list, fit, &at)) {
            *choice = list[at];
            *found = near[i].distance > 0 ? TUNE_NEAREST : TUNE_EXACT;
        }
    }
    if (very) {
        TRY(tune_known_of(near, count, very));
        very->can_be = *found == TUNE_EXACT;
    }
out:
    free(list);
    store_close(store);
    return st;
}

status_t tune_ppf_find(backend_t *backend, const struct channelise_spec *spec, const char *database,
                       struct channelise_choice *choice, enum tune_found *found)
{
    status_t st = STATUS_OK;
    struct tune_problem problem = {0};
    TRY(tune_ppf_problem(backend, spec, &problem));
    TRY(ppf_look_up(backend, spec, &problem, database, choice, found, NULL));
out:
    tune_problem_free(&problem);
    return st;
}

static status_t ppf_words_of(void *context, uint32_t i, struct text *out)
{
    return channelise_choice_words(&((const struct bank *)context)->choices[i], out);
}

static status_t ppf_time_one(void *context, uint32_t i, uint32_t repeats,
                             const struct tune_time *time, struct tune_measure *out)
{
    const struct bank *bank = context;
    return ppf_trial_time(bank->trial, &bank->choices[i], repeats, time, &out->seconds,
                          &out->wrong);
}

static void ppf_bank_end(struct bank *bank)
{
    ppf_trial_destroy(bank->trial);
    free(bank->choices);
    free(bank->values);
}

/* There is no model: those that are known to be good come first. */
static status_t ppf_bank_begin(backend_t *backend, const struct channelise_spec *spec,
                               uint64_t memory, struct bank *bank)
{
    status_t st = STATUS_OK;
    static const char *const names[PARAMETERS] = {"kernel", "fft", "a", "b", "c", "d", "e", "f",
                                                  "g",      "h",   "i", "j", "k", "l", "m", "n"};
    uint32_t count = 0;
    TRY(channelise_candidates(backend, spec, &bank->choices, &count));
    TRY(memory_zeroed((size_t)count * PARAMETERS + 1, sizeof *bank->values, "a search space",
                      &bank->values));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *values = bank->values + (size_t)i * PARAMETERS;
        values[0] = bank->choices[i].kernel;
        values[1] = bank->choices[i].fft;
        memcpy(values + OTHERS, bank->choices[i].numbers, NUMBERS * sizeof *values);
    }
    bank->space = (struct tune_space){.context = bank,
                                      .nparameters = PARAMETERS,
                                      .count = count,
                                      .names = names,
                                      .values = bank->values,
                                      .words = ppf_words_of,
                                      .time = ppf_time_one};
    if (count > 0) {
        TRY(ppf_trial_create(backend, spec, memory, &bank->trial));
    }
out:
    return st;
}

static status_t ppf_search(backend_t *backend, const struct channelise_spec *spec,
                           const struct tune_problem *problem, struct tune_known *known,
                           const struct tune_options *options, tune_log_t *log,
                           const char *database, struct channelise_choice *best,
                           struct tune_summary *out)
{
    status_t st = STATUS_OK;
    struct bank bank = {.trial = NULL};
    struct tune_options with_known = *options;
    struct tune_outcome outcome = {0};
    *out = (struct tune_summary){.is_cut = tune_time_is_over(&options->time, 1)};
    if (out->is_cut) {
        goto out;
    }
    TRY(ppf_bank_begin(backend, spec, options->memory, &bank));
    if (bank.space.count == 0) {
        goto out;
    }
    known->can_be = known->can_be && ppf_find_choice(known->words.data, bank.choices,
                                                     bank.space.count, &known->index);
    with_known.known = known->can_be ? &known->index : NULL;
    TRY(tune_search(&bank.space, &with_known, log, problem->hash, &outcome));
    TRY(tune_summarise(&bank.space, &outcome, bank.space.count, out));
    if (out->seconds > 0) {
        *best = bank.choices[outcome.best];
    }
    TRY(tune_known_keep(known, problem, database, &bank.space, &outcome, 0, NULL));
out:
    tune_outcome_free(&outcome);
    ppf_bank_end(&bank);
    return st;
}

status_t tune_ppf_search(backend_t *backend, const struct channelise_spec *spec,
                         const struct tune_options *options, tune_log_t *log, const char *database,
                         struct channelise_choice *best, struct tune_summary *out)
{
    status_t st = STATUS_OK;
    struct tune_problem problem = {0};
    struct tune_known known = {.searched = 0};
    struct channelise_choice choice;
    enum tune_found found;
    *out = (struct tune_summary){0};
    TRY(tune_ppf_problem(backend, spec, &problem));
    TRY(ppf_look_up(backend, spec, &problem, database, &choice, &found, &known));
    TRY(ppf_search(backend, spec, &problem, &known, options, log, database, best, out));
out:
    tune_problem_free(&problem);
    tune_known_free(&known);
    return st;
}

status_t tune_ppf_now(backend_t *backend, const struct channelise_spec *spec,
                      const struct tune_wish *wish, struct channelise_choice *choice,
                      enum tune_found *found)
{
    status_t st = STATUS_OK;
    static const char what[] = "the filter bank";
    struct tune_options options = tune_wished(wish);
    struct tune_problem problem = {0};
    struct tune_known known = {.searched = 0};
    struct tune_summary summary = {0};
    TRY(tune_ppf_problem(backend, spec, &problem));
    TRY(ppf_look_up(backend, spec, &problem, wish->database, choice, found, &known));
    if (!tune_is_wanted(what, *found, &known, &options.time)) {
        goto out;
    }
    st = ppf_search(backend, spec, &problem, &known, &options, NULL, wish->database, choice,
                    &summary);
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
