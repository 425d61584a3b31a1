#include "run/tuned.h"

#include "run/agree.h"
#include "tune/bank.h"

/* On one rank. */
static status_t find(backend_t *backend, const struct dedisperse_spec *spec,
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
        st = find(backend, spec, options, shape);
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
        TRY(tune_bank_now(backend, spec, &wish, &wanted.choice, &found));
    } else {
        TRY(tune_bank_find(backend, spec, options->database, &wanted.choice, &found));
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

void tuned_take(backend_t *backend, const struct dedisperse_shape *shape,
                struct dedisperse_spec *spec)
{
    const char *why = NULL;
    double cost = 0;
    if (shape->pack > 0 && dedisperse_shape_fits(backend, spec, shape, &cost, &why)) {
        spec->shape = *shape;
    }
}
