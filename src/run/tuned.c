#include "run/tuned.h"

#include "ranks/agree.h"
#include "tune/problem/block_length.h"
#include "tune/problem/ppf.h"

#include <inttypes.h>

/* On one rank. */
static status_t tuned_find(backend_t *backend, const struct dedisperse_spec *spec,
                           const struct run_options *options, struct dedisperse_shape *shape)
{
    status_t st = STATUS_OK;
    const struct tune_wish wish = {.database = options->database, .budget = options->tune};
    struct dedisperse_shape known = {0};
    enum tune_found found = TUNE_NOTHING;
    struct text from = {0};
    struct text words = {0};
    if (options->tune) {
        TRY(tune_now(backend, spec, &wish, &known, &found));
    } else {
        TRY(tune_find(backend, spec, options->database, &known, &found, &from));
    }
    if (found != TUNE_NOTHING) {
        TRY(dedisperse_shape_words(&known, &words));
        report_note("dedispersion: %s, tuned for %s%s", words.data,
                    found == TUNE_EXACT ? "this problem" : "the nearest known problem: ",
                    found == TUNE_NEAREST && from.data ? from.data : "");
        *shape = known;
    }
out:
    text_free(&from);
    text_free(&words);
    return st;
}

status_t tuned_dedispersion_all(MPI_Comm comm, backend_t *backend,
                                const struct dedisperse_spec *spec,
                                const struct run_options *options, struct dedisperse_shape *shape)
{
    status_t st = STATUS_OK;
    int rank;
    MPI_Comm_rank(comm, &rank);
    *shape = (struct dedisperse_shape){0};
    if (rank == 0) {
        st = tuned_find(backend, spec, options, shape);
    }
    TRY(agree_all(comm, st));
    share_bytes_all(comm, shape, sizeof *shape);
out:
    return st;
}

status_t tuned_filter_bank(backend_t *backend, const struct channelise_spec *spec, uint64_t memory,
                           const struct run_options *options, struct channelise_choice *choice)
{
    status_t st = STATUS_OK;
    const struct tune_wish wish = {
        .database = options->database, .budget = options->tune, .memory = memory};
    struct channelise_spec wanted = *spec;
    enum tune_found found = TUNE_NOTHING;
    struct text words = {0};
    if (options->tune) {
        TRY(tune_ppf_now(backend, spec, &wish, &wanted.choice, &found));
    } else {
        TRY(tune_ppf_find(backend, spec, options->database, &wanted.choice, &found));
    }
    TRY(channelise_choose(backend, &wanted, choice));
    if (found != TUNE_NOTHING) {
        TRY(channelise_choice_words(choice, &words));
        report_note("filter bank: %s, tuned for %s", words.data,
                    found == TUNE_EXACT ? "this problem" : "one that is near");
    }
out:
    text_free(&words);
    return st;
}

status_t tuned_blocks(backend_t *backend, const struct channelise_plan *work, int is_begun,
                      const struct run_options *options, uint64_t *block)
{
    status_t st = STATUS_OK;
    const struct tune_wish wish = {
        .database = options->database, .budget = options->tune, .memory = work->stage_bytes};
    const struct channelise_spec *spec = &work->channelise;
    uint64_t suits = channelise_plan_block(work);
    enum tune_found found = TUNE_NOTHING;
    *block = 0;
    if (backend_abilities(backend_which(backend))->is_reference) {
        goto out;
    }
    if (options->tune && !is_begun) {
        TRY(tune_block_length_now(backend, spec, suits, &wish, block, &found));
    } else {
        TRY(tune_block_length_find(backend, spec, options->database, block, &found));
    }
    if (found != TUNE_NOTHING && !is_begun) {
        report_note("blocks of %" PRIu64 " spectra, tuned for %s", *block,
                    found == TUNE_EXACT ? "this problem" : "one that is near");
    }
out:
    return st;
}

status_t tuned_blocks_foresee(const struct channelise_plan *work, uint64_t *block)
{
    status_t st = STATUS_OK;
    const struct job *job = work->job;
    struct backend_options options = {
        .device = job->device, .device_memory = job->device_memory, .local_size = 1};
    backend_t *backend = NULL;
    enum tune_found found;
    int are_known = 0;
    *block = 0;
    TRY(tune_block_length_are_known(work->backend, &work->channelise, NULL, &are_known));
    if (!are_known || backend_abilities(work->backend)->is_reference) {
        goto out;
    }
    if (backend_open(work->backend, &options, &backend) != STATUS_OK) {
        report_clear(); /* the run will have another machine */
        goto out;
    }
    TRY(tune_block_length_find(backend, &work->channelise, NULL, block, &found));
out:
    backend_close(backend);
    return st;
}
