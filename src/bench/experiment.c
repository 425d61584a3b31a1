/* Searches of several cases, what they have timed, and the best configuration for all of them. */
#include "bench/experiment.h"

#include "base/memory.h"
#include "dsp/noise.h"
#include "tune/problem/problems.h"

#include <math.h>

static void experiment_shuffle(uint32_t *list, uint32_t count, uint64_t seed)
{
    uint64_t draw = 0;
    for (uint32_t i = count; i > 1; i--) {
        noise_words(seed, i, 1, &draw);
        uint32_t j = (uint32_t)(draw % i);
        uint32_t moved = list[i - 1];
        list[i - 1] = list[j];
        list[j] = moved;
    }
}

/* Measured configurations and their costs, as a space. */
struct played {
    const struct tune_result **results;
    uint32_t *values;
    double *costs;
};

static status_t experiment_time_again(void *context, uint32_t i, uint32_t repeats,
                                      const struct tune_time *time, struct trial_times *out)
{
    const struct tune_result *r = ((const struct played *)context)->results[i];
    (void)repeats;
    (void)time;
    *out = (struct trial_times){
        .median = r->seconds, .spent = r->spent, .wrong = r->state == TUNE_WRONG};
    return r->state == TUNE_FAILED ? report_fail(STATUS_USAGE, "it failed then") : STATUS_OK;
}

static status_t experiment_collect(const struct tune_space *space,
                                   const struct tune_outcome *measured, struct played *played,
                                   struct tune_space *out)
{
    size_t width = space->problem->nparameters;
    uint32_t n = 0;
    TRY(memory_zeroed(space->count, sizeof(void *), "results", &played->results));
    TRY(memory_zeroed(space->count * width, sizeof *played->values, "results", &played->values));
    TRY(memory_zeroed(space->count, sizeof *played->costs, "results", &played->costs));
    for (uint32_t i = 0; i < space->count; i++) {
        if (measured->results[i].state != TUNE_UNTRIED) {
            played->results[n] = &measured->results[i];
            played->costs[n] = space->costs ? space->costs[i] : 0;
            memcpy(played->values + n++ * width, space->values + i * width,
                   width * sizeof *played->values);
        }
    }
    *out = (struct tune_space){.problem = space->problem,
                               .context = played,
                               .count = n,
                               .values = played->values,
                               .costs = space->costs ? played->costs : NULL,
                               .time = experiment_time_again};
    return STATUS_OK;
}

SCOPED_CALLS(played_free, struct played, MEMORY_FREE(at->results, at->values, at->costs))

status_t experiment_replay(const struct tune_space *space, const struct tune_options *options,
                           const struct tune_outcome *measured, struct tune_outcome *out)
{
    struct tune_space again;
    SCOPED(played_free) struct played played = {0};
    struct tune_options free_of_time = *options;
    free_of_time.time = (struct tune_time){.until = 0};
    free_of_time.known = NULL;
    free_of_time.rounds = 0;
    *out = (struct tune_outcome){0};
    TRY(experiment_collect(space, measured, &played, &again));
    return tune_search(&again, &free_of_time, NULL, NULL, out);
}

status_t experiment_histogram(const struct tune_space *space, const struct tune_outcome *outcome,
                              double best, double unit, struct text *out)
{
    enum { BINS = 20, WIDTH = 50 };
    static const char bar[] = "##################################################";
    uint32_t bins[BINS] = {0};
    uint32_t most = 1;
    for (uint32_t i = 0; i < space->count && best > 0; i++) {
        const struct tune_result *r = &outcome->results[i];
        if (r->state == TUNE_OK && r->seconds > 0) {
            uint32_t bin = (uint32_t)fmin(BINS / (r->seconds * best), BINS - 1);
            bins[bin]++;
            most = bins[bin] > most ? bins[bin] : most;
        }
    }
    for (uint32_t i = 0; i < BINS && best > 0; i++) {
        double from = unit * best * i / BINS;
        double to = unit * best * (i + 1) / BINS;
        TRY(text_add(out, "  %9.1f .. %9.1f %6u %.*s\n", from, to, bins[i],
                     (int)((uint64_t)WIDTH * bins[i] / most), bar));
    }
    return STATUS_OK;
}

static status_t experiment_note_known(struct experiment_row *row,
                                      const struct dedisperse_shape *shape, double seconds)
{
    TRY(memory_grow(row->nknown, sizeof *row->known, "times", &row->known));
    row->known[row->nknown++] = (struct experiment_time){*shape, seconds};
    if (row->seconds <= 0 || seconds < row->seconds) {
        row->best = *shape;
        row->seconds = seconds;
    }
    return STATUS_OK;
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

/* Notes the times of all configurations that a search has timed. */
static status_t experiment_take(struct experiment_row *row, const struct tuning *t)
{
    for (uint32_t i = 0; i < t->space.count; i++) {
        struct dedisperse_shape shape;
        memcpy(&shape, tune_space_values(&t->space, i), sizeof shape);
        if (t->outcome.results[i].state == TUNE_OK) {
            TRY(experiment_note_known(row, &shape, t->outcome.results[i].seconds));
        }
    }
    return STATUS_OK;
}

static double experiment_best_rate(const struct tune_outcome *outcome)
{
    return outcome->ok > 0 ? 1 / outcome->results[outcome->best].seconds : 0;
}

void experiment_choose(enum experiment_method method, struct tune_options *options)
{
    options->is_guided = method == EXPERIMENT_GUIDED;
    options->shuffle = method == EXPERIMENT_RANDOM ? experiment_shuffle : NULL;
}

static status_t experiment_compare(const struct tune_space *space, struct tune_outcome *measured,
                                   struct experiment_comparison *out)
{
    enum { RANDOM_RUNS = 100 };
    struct tune_options options = {.is_guided = 1};
    SCOPED(tune_outcome_free) struct tune_outcome guided = {0};
    *out = (struct experiment_comparison){.all = measured->ok + measured->wrong + measured->failed};
    for (uint32_t i = 0; i < space->count; i++) {
        out->all_spent += measured->results[i].spent;
    }
    TRY(experiment_replay(space, &options, measured, &guided));
    out->tried = guided.ok + guided.wrong + guided.failed;
    out->spent = guided.spent;
    out->guided = experiment_best_rate(&guided) / experiment_best_rate(measured);
    experiment_choose(EXPERIMENT_RANDOM, &options);
    options.limit = out->tried;
    for (options.seed = 1; options.seed <= RANDOM_RUNS; options.seed++) {
        SCOPED(tune_outcome_free) struct tune_outcome random = {0};
        TRY(experiment_replay(space, &options, measured, &random));
        out->random += experiment_best_rate(&random) / experiment_best_rate(measured) / RANDOM_RUNS;
    }
    return STATUS_OK;
}

status_t experiment_search(backend_t *backend, const struct bench_dedispersion *c,
                           const struct tune_request *request, struct experiment_row *row,
                           struct experiment_comparison *comparison)
{
    status_t st = STATUS_OK;
    struct tune_pick pick = {.only = request->only, .every = request->every, .most = request->most};
    struct tune_options search = request->search;
    struct tuning t = {.problem = NULL};
    bench_dedisperse_t *bench = NULL;
    uint32_t known[TUNE_PARAMETERS];
    search.time = tune_budget_begin(request->budget);
    *row = (struct experiment_row){.c = *c, .summary.is_cut = tune_time_is_over(&search.time, 1)};
    if (row->summary.is_cut) {
        goto out;
    }
    if (comparison) {
        experiment_choose(EXPERIMENT_EXHAUSTIVE, &search);
    }
    TRY_OUT(bench_dedisperse_create(backend, c, &bench));
    row->adds = bench_dedisperse_adds(bench);
    TRY_OUT(tuning_begin(&tune_dedispersion, backend, bench_dedisperse_spec(bench),
                         request->database, &t));
    memcpy(known, t.values, sizeof known);
    pick.known = t.found == TUNE_EXACT ? known : NULL;
    TRY_OUT(tuning_search_picked(&t, &pick, &search, request->log));
    row->summary = t.summary;
    TRY_OUT(experiment_histogram(&t.space, &t.outcome, t.summary.statistics.best, 1e-9 * row->adds,
                                 &row->histogram));
    TRY_OUT(experiment_take(row, &t));
    TRY_OUT(tuning_keep(&t, request->database));
    row->searched = t.searched;
    if (t.outcome.ok > 0) {
        /* The winner is the search's own choice: of the turns, not of the first times. */
        memcpy(&row->best, t.values, sizeof row->best);
        row->seconds = t.summary.seconds;
        TRY_OUT(comparison ? experiment_compare(&t.space, &t.outcome, comparison) : STATUS_OK);
    }
out:
    tune_budget_end(request->budget, &search.time);
    tuning_end(&t);
    bench_dedisperse_destroy(bench);
    return st;
}

/* Times the shapes that a case does not know yet, through the log like a search. */
static status_t experiment_time_others(backend_t *backend, struct experiment_row *row,
                                       const struct dedisperse_shape *list, uint32_t count,
                                       const struct tune_request *request)
{
    status_t st = STATUS_OK;
    struct tune_pick also = {.is_only = 1};
    struct dedisperse_shape *unknown = NULL;
    struct tune_options search = {.repeats = request->search.repeats};
    struct tuning t = {.problem = NULL};
    bench_dedisperse_t *bench = NULL;
    double before = row->seconds;
    search.time = tune_budget_begin(request->budget);
    if (tune_time_is_over(&search.time, 1)) {
        goto out;
    }
    TRY_OUT(memory_zeroed(count, sizeof *unknown, "shapes", &unknown));
    for (uint32_t k = 0; k < count; k++) {
        if (experiment_known_time(row, &list[k]) <= 0) {
            unknown[also.nalso++] = list[k];
        }
    }
    also.also = (const uint32_t *)unknown;
    TRY_OUT(bench_dedisperse_create(backend, &row->c, &bench));
    row->adds = bench_dedisperse_adds(bench);
    TRY_OUT(tuning_begin(&tune_dedispersion, backend, bench_dedisperse_spec(bench),
                         request->database, &t));
    TRY_OUT(tuning_search_picked(&t, &also, &search, request->log));
    TRY_OUT(experiment_take(row, &t));
    if (row->seconds > 0 && (before <= 0 || row->seconds < before)) {
        /* It was timed beside the winner that the database has. */
        TRY_OUT(tuning_put(&t, request->database, (const uint32_t *)&row->best, row->seconds,
                           row->searched, NULL));
    }
out:
    tune_budget_end(request->budget, &search.time);
    tuning_end(&t);
    free(unknown);
    bench_dedisperse_destroy(bench);
    return st;
}

/* Lists the winners of the rows, each once; returns their number. */
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
                          const struct tune_request *request, struct dedisperse_shape *best,
                          double *fixed, int *found)
{
    SCOPED(free_at) struct dedisperse_shape *winners = NULL;
    double most = 0;
    TRY(memory_zeroed(nrows, sizeof *winners, "shapes", &winners));
    uint32_t n = experiment_list_winners(rows, nrows, winners);
    for (uint32_t r = 0; r < nrows; r++) {
        request->budget->problems = nrows - r;
        if (!experiment_knows_all(&rows[r], winners, n)) {
            TRY(experiment_time_others(backend, &rows[r], winners, n, request));
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
    return STATUS_OK;
}
