/* Calls the tuner as the options of a run allow: look up, or search now. */
#include "run/tuned.h"

#include "base/memory.h"
#include "ranks/agree.h"
#include "tune/problem/problems.h"
#include "tune/tuning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* `also`: a configuration that a search begins with, may be NULL. */
static status_t tuned_ask(const struct tune_problem *problem, backend_t *backend, const void *spec,
                          const struct run_options *options, int may_search, uint64_t memory,
                          const uint32_t *also, struct tuning *out)
{
    const struct tune_request request = {
        .search = {.is_guided = 1, .memory = memory, .repeats = 3, .rounds = 2},
        .budget = options->tune,
        .database = options->database};
    return options->tune && may_search
               ? tuning_now(problem, backend, spec, &request, also, out)
               : tuning_begin(problem, backend, spec, options->database, out);
}

/* On one rank: gives the `bytes` of the shape that is known of a problem, or found by a search of
 * `memory` bytes at most, and says which about `what`. */
static status_t tuned_find(const struct tune_problem *problem, backend_t *backend, const void *spec,
                           uint64_t memory, const struct run_options *options, const char *what,
                           void *shape, size_t bytes, int *is_found)
{
    status_t st = STATUS_OK;
    struct tuning t = {.problem = NULL};
    struct text words = {0};
    const int has_name = problem == &tune_dedispersion; /* of the nearest problem */
    TRY_OUT(tuned_ask(problem, backend, spec, options, 1, memory, NULL, &t));
    *is_found = t.found != TUNE_NOTHING;
    if (*is_found) {
        TRY_OUT(tune_problem_words(t.problem, t.values, &words));
        report_note("%s: %s, tuned for %s%s", what, words.data,
                    t.found == TUNE_EXACT ? "this problem"
                    : has_name            ? "the nearest known problem: "
                                          : "one that is near",
                    t.found == TUNE_NEAREST && has_name ? t.from.data : "");
        memcpy(shape, t.values, bytes);
    }
out:
    text_free(&words);
    tuning_end(&t);
    return st;
}

status_t tuned_dedispersion_all(MPI_Comm comm, backend_t *backend,
                                const struct dedisperse_spec *spec,
                                const struct run_options *options, struct dedisperse_shape *shape)
{
    const int rank = agree_rank(comm);
    int is_found = 0;
    *shape = (struct dedisperse_shape){0};
    TRY(agree_all(comm, rank == 0 ? tuned_find(&tune_dedispersion, backend, spec, 0, options,
                                               "dedispersion", shape, sizeof *shape, &is_found)
                                  : STATUS_OK));
    share_bytes_all(comm, shape, sizeof *shape);
    return STATUS_OK;
}

status_t tuned_filter_bank(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                           const struct run_options *options, struct channelise_choice *choice)
{
    struct channelise_spec wanted = *spec;
    int is_found = 0;
    TRY(tuned_find(&tune_ppf, backend, spec, memory, options, "filter bank", &wanted.choice.shape,
                   sizeof wanted.choice.shape, &is_found));
    wanted.choice.backend = is_found ? backend_which(backend) : wanted.choice.backend;
    return tune_ppf_choose(backend, &wanted, memory, choice);
}

/* The rule knows no device: what this one does of it, so that products say what was run. */
static status_t tuned_settle_filter(backend_t *backend, const struct filter_spec *spec,
                                    struct filter_choice *choice)
{
    status_t st = STATUS_OK;
    struct filter_shape *list = NULL;
    uint32_t count = 0;
    TRY_OUT(filter_candidates(backend, spec, &list, &count));
    if (count > 0) {
        choice->shape = list[0];
    }
out:
    free(list);
    return st;
}

status_t tuned_filter(backend_t *backend, const struct filter_spec *spec, uint64_t memory,
                      const struct run_options *options, struct filter_choice *choice)
{
    struct filter_spec wanted = *spec;
    int is_found = 0;
    TRY(tuned_find(&tune_fir, backend, spec, memory, options, "filter", &wanted.choice.shape,
                   sizeof wanted.choice.shape, &is_found));
    wanted.choice.backend = is_found ? backend_which(backend) : wanted.choice.backend;
    TRY(tune_fir_choose(backend, &wanted, memory, choice));
    if (!is_found && backend_abilities(backend_which(backend))->has_device) {
        TRY(tuned_settle_filter(backend, &wanted, choice));
    }
    return STATUS_OK;
}

status_t tuned_blocks(backend_t *backend, const struct channelise_plan *work, int is_begun,
                      const struct run_options *options, uint64_t *block)
{
    status_t st = STATUS_OK;
    const uint32_t suits = (uint32_t)min_u64(channelise_plan_block(work), UINT32_MAX);
    struct tuning t = {.problem = NULL};
    *block = 0;
    if (backend_abilities(backend_which(backend))->is_reference) {
        goto out;
    }
    TRY_OUT(tuned_ask(&tune_block_length, backend, &work->banks[0].channelise, options, !is_begun,
                      work->stage_bytes, &suits, &t));
    *block = t.found != TUNE_NOTHING ? t.values[0] : 0;
    if (*block > 0 && !is_begun) {
        report_note("blocks of %" PRIu64 " spectra, tuned for %s", *block,
                    t.found == TUNE_EXACT ? "this problem" : "one that is near");
    }
out:
    tuning_end(&t);
    return st;
}

status_t tuned_blocks_foresee(const struct channelise_plan *work, uint64_t *block)
{
    status_t st = STATUS_OK;
    const struct job *job = work->job;
    const struct channelise_spec *spec = &work->banks[0].channelise;
    struct backend_options options = {
        .device = job->device, .device_memory = job->device_memory, .local_size = 1};
    struct tuning t = {.problem = NULL};
    backend_t *backend = NULL;
    int is_known = 0;
    *block = 0;
    TRY_OUT(tuning_is_known(&tune_block_length, work->backend, spec, NULL, &is_known));
    if (!is_known || backend_abilities(work->backend)->is_reference) {
        goto out;
    }
    if (backend_open(work->backend, &options, &backend) != STATUS_OK) {
        report_clear(); /* the run will have another machine */
        goto out;
    }
    TRY_OUT(tuning_begin(&tune_block_length, backend, spec, NULL, &t));
    *block = t.found != TUNE_NOTHING ? t.values[0] : 0;
out:
    tuning_end(&t);
    backend_close(backend);
    return st;
}
