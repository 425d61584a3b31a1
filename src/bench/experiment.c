#include "bench/experiment.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void experiment_row_free(struct experiment_row *row)
{
    text_free(&row->histogram);
    free(row->known);
    row->known = NULL;
}

static status_t experiment_note_known(struct experiment_row *row,
                                      const struct dedisperse_shape *shape, double seconds)
{
    status_t st = STATUS_OK;
    struct experiment_time *grown =
        realloc(row->known, ((size_t)row->nknown + 1) * sizeof *row->known);
    REQUIRE(grown, STATUS_DEVICE, "out of memory for times");
    row->known = grown;
    row->known[row->nknown++] = (struct experiment_time){*shape, seconds};
    if (row->seconds <= 0 || seconds < row->seconds) {
        row->best = *shape;
        row->seconds = seconds;
    }
out:
    return st;
}

static double experiment_known_time(const struct experiment_row *row,
                                    const struct dedisperse_shape *shape)
{
    for (uint32_t i = 0; i < row->nknown; i++) {
        if (memcmp(&row->known[i].shape, shape, sizeof *shape) == 0) {
            return row->known[i].seconds;
        }
    }
    return 0;
}

/* What a search has found. The winner is its own choice: of the turns, not of the first times. */
static status_t experiment_take(struct experiment_row *row, const tune_dedispersion_t *shapes,
                                const struct tune_outcome *outcome)
{
    status_t st = STATUS_OK;
    const struct tune_space *space = tune_dedispersion_space(shapes);
    row->fit = tune_dedispersion_all(shapes);
    row->timed = outcome->ok + outcome->wrong + outcome->failed;
    row->wrong = outcome->wrong;
    row->failed = outcome->failed;
    row->recalled = outcome->recalled;
    row->is_cut = outcome->is_cut;
    row->spent = outcome->spent;
    row->compiling = outcome->compiling;
    TRY(tune_statistics(space, outcome, &row->statistics));
    TRY(tune_histogram(space, outcome, 1e-9 * row->adds, &row->histogram));
    for (uint32_t i = 0; i < space->count; i++) {
        if (outcome->results[i].state == TUNE_OK) {
            TRY(experiment_note_known(row, tune_dedispersion_shape(shapes, i),
                                      outcome->results[i].seconds));
        }
    }
    if (outcome->ok > 0) {
        row->best = *tune_dedispersion_shape(shapes, outcome->best);
        row->seconds = outcome->results[outcome->best].seconds;
    }
out:
    return st;
}

static double experiment_best_rate(const struct tune_outcome *outcome)
{
    return outcome->ok > 0 ? 1 / outcome->results[outcome->best].seconds : 0;
}

static status_t experiment_compare(const struct tune_space *space, struct tune_outcome *measured,
                                   struct experiment_comparison *out)
{
    status_t st = STATUS_OK;
    enum { RANDOM_RUNS = 100 };
    struct tune_options options = {.method = TUNE_GUIDED};
    struct tune_outcome guided = {0};
    struct tune_outcome random = {0};
    *out = (struct experiment_comparison){.all = measured->ok + measured->wrong + measured->failed};
    for (uint32_t i = 0; i < space->count; i++) {
        out->all_spent += measured->results[i].spent;
    }
    TRY(tune_replay(space, &options, measured, &guided));
    out->tried = guided.ok + guided.wrong + guided.failed;
    out->spent = guided.spent;
    out->guided = experiment_best_rate(&guided) / experiment_best_rate(measured);
    options.method = TUNE_RANDOM;
    options.limit = out->tried;
    for (options.seed = 1; options.seed <= RANDOM_RUNS; options.seed++) {
        TRY(tune_replay(space, &options, measured, &random));
        out->random += experiment_best_rate(&random) / experiment_best_rate(measured) / RANDOM_RUNS;
        tune_outcome_free(&random);
    }
out:
    tune_outcome_free(&guided);
    tune_outcome_free(&random);
    return st;
}

status_t experiment_search(backend_t *backend, const struct bench_dedispersion *c,
                           const struct experiment_options *options, struct experiment_row *row,
                           struct experiment_comparison *comparison)
{
    status_t st = STATUS_OK;
    struct tune_thinning thinning = {
        .only = options->only, .every = options->every, .most = options->most};
    struct tune_options search = options->search;
    struct tune_dedispersion_start start = {.shape = {0}};
    struct tune_outcome outcome = {0};
    bench_dedisperse_t *bench = NULL;
    tune_dedispersion_t *shapes = NULL;
    search.time = tune_budget_begin(options->budget);
    *row = (struct experiment_row){.c = *c, .is_cut = tune_time_is_over(&search.time, 1)};
    if (row->is_cut) {
        goto out;
    }
    search.method = comparison ? TUNE_EXHAUSTIVE : search.method;
    TRY(bench_dedisperse_create(backend, c, &bench));
    row->adds = bench_dedisperse_adds(bench);
    dedispersion_trial_t *trial = bench_dedisperse_trial(bench);
    TRY(tune_dedispersion_begin(backend, dedispersion_trial_spec(trial), options->database,
                                &start));
    thinning.known = start.known.can_be ? &start.shape : NULL;
    TRY(tune_dedispersion_create(trial, &thinning, &shapes));
    search.known = tune_dedispersion_place(&start, shapes);
    const struct tune_space *space = tune_dedispersion_space(shapes);
    TRY(tune_search(space, &search, options->log, start.problem.hash, &outcome));
    TRY(experiment_take(row, shapes, &outcome));
    TRY(tune_known_keep(&start.known, &start.problem, options->database, space, &outcome,
                        tune_dedispersion_is_thinned(shapes), &row->searched));
    if (comparison && outcome.ok > 0) {
        TRY(experiment_compare(space, &outcome, comparison));
    }
out:
    tune_budget_end(options->budget, &search.time);
    tune_outcome_free(&outcome);
    tune_dedispersion_start_free(&start);
    tune_dedispersion_destroy(shapes);
    bench_dedisperse_destroy(bench);
    return st;
}

/* What was timed beside the winner that the database has, and was faster. */
static status_t experiment_keep_other(const struct tune_problem *problem, const char *database,
                                      const struct experiment_row *row)
{
    status_t st = STATUS_OK;
    struct text words = {0};
    TRY(dedisperse_shape_words(&row->best, &words));
    struct store_record record = {.key = tune_problem_key(problem),
                                  .words = words.data,
                                  .seconds = row->seconds,
                                  .searched = row->searched};
    TRY(store_put(database, &record, NULL));
out:
    text_free(&words);
    return st;
}

/* Times the shapes that a case does not know yet, through the log like a search. */
static status_t experiment_time_others(backend_t *backend, struct experiment_row *row,
                                       const struct dedisperse_shape *list, uint32_t count,
                                       const struct experiment_options *options)
{
    status_t st = STATUS_OK;
    struct tune_thinning also = {.is_only = 1};
    struct dedisperse_shape *unknown = NULL;
    struct tune_options search = {.method = TUNE_EXHAUSTIVE, .repeats = options->search.repeats};
    struct tune_problem problem = {0};
    struct tune_outcome outcome = {0};
    bench_dedisperse_t *bench = NULL;
    tune_dedispersion_t *shapes = NULL;
    double before = row->seconds;
    search.time = tune_budget_begin(options->budget);
    if (tune_time_is_over(&search.time, 1)) {
        goto out;
    }
    TRY(memory_zeroed(count, sizeof *unknown, "shapes", &unknown));
    for (uint32_t k = 0; k < count; k++) {
        if (experiment_known_time(row, &list[k]) <= 0) {
            unknown[also.nalso++] = list[k];
        }
    }
    also.also = unknown;
    TRY(bench_dedisperse_create(backend, &row->c, &bench));
    row->adds = bench_dedisperse_adds(bench);
    dedispersion_trial_t *trial = bench_dedisperse_trial(bench);
    TRY(tune_problem_of(backend, dedispersion_trial_spec(trial), &problem));
    TRY(tune_dedispersion_create(trial, &also, &shapes));
    const struct tune_space *space = tune_dedispersion_space(shapes);
    TRY(tune_search(space, &search, options->log, problem.hash, &outcome));
    for (uint32_t i = 0; i < space->count; i++) {
        if (outcome.results[i].state == TUNE_OK) {
            TRY(experiment_note_known(row, tune_dedispersion_shape(shapes, i),
                                      outcome.results[i].seconds));
        }
    }
    if (row->seconds > 0 && (before <= 0 || row->seconds < before)) {
        TRY(experiment_keep_other(&problem, options->database, row));
    }
out:
    tune_budget_end(options->budget, &search.time);
    tune_outcome_free(&outcome);
    tune_problem_free(&problem);
    free(unknown);
    tune_dedispersion_destroy(shapes);
    bench_dedisperse_destroy(bench);
    return st;
}

/* The winners, each once. */
static uint32_t experiment_list_winners(const struct experiment_row *rows, uint32_t nrows,
                                        struct dedisperse_shape *out)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < nrows; r++) {
        int is_new = rows[r].seconds > 0;
        for (uint32_t k = 0; k < n; k++) {
            is_new &= memcmp(&out[k], &rows[r].best, sizeof *out) != 0;
        }
        if (is_new) {
            out[n++] = rows[r].best;
        }
    }
    return n;
}

static int experiment_knows_all(const struct experiment_row *row,
                                const struct dedisperse_shape *list, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++) {
        if (experiment_known_time(row, &list[k]) <= 0) {
            return 0;
        }
    }
    return 1;
}

/* The sum of rates of a shape in all cases; 0 when it cannot do them all. */
static double experiment_sum_of_rates(const struct experiment_row *rows, uint32_t nrows,
                                      const struct dedisperse_shape *shape)
{
    double sum = 0;
    for (uint32_t r = 0; r < nrows; r++) {
        double seconds = experiment_known_time(&rows[r], shape);
        if (seconds <= 0) {
            return 0;
        }
        sum += rows[r].adds / seconds;
    }
    return sum;
}

status_t experiment_fixed(backend_t *backend, struct experiment_row *rows, uint32_t nrows,
                          const struct experiment_options *options, struct dedisperse_shape *best,
                          double *fixed, int *found)
{
    status_t st = STATUS_OK;
    struct dedisperse_shape *winners = NULL;
    double most = 0;
    TRY(memory_zeroed(nrows, sizeof *winners, "shapes", &winners));
    uint32_t n = experiment_list_winners(rows, nrows, winners);
    for (uint32_t r = 0; r < nrows; r++) {
        options->budget->problems = nrows - r;
        if (!experiment_knows_all(&rows[r], winners, n)) {
            TRY(experiment_time_others(backend, &rows[r], winners, n, options));
        }
    }
    for (uint32_t k = 0; k < rows[0].nknown; k++) {
        double sum = experiment_sum_of_rates(rows, nrows, &rows[0].known[k].shape);
        if (sum > most) {
            most = sum;
            *best = rows[0].known[k].shape;
        }
    }
    *found = most > 0;
    for (uint32_t r = 0; r < nrows && *found; r++) {
        fixed[r] = experiment_known_time(&rows[r], best);
    }
out:
    free(winners);
    return st;
}
