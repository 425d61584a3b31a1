/* Searches for what a job is planned to do, one after the other; searches of several cases, what
 * they have timed, and the best configuration for all of them. */
#include "bench/experiment.h"

#include "base/memory.h"
#include "dsp/noise.h"
#include "input/array_job.h"
#include "input/open.h"
#include "plan/channelise_plan.h"
#include "plan/dedisperse_plan.h"
#include "tune/problem/problems.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tuned_job {
    const struct job *job;
    struct tune_request request;
    tune_job_told *told;
    struct archive *archive;
    struct channelise_plan *work; /* NULL: neither filters nor a filter bank */
};

static status_t tune_open_backend(const struct job *job, enum backend_kind kind, backend_t **out)
{
    struct backend_options options = {
        .device = job->device, .device_memory = job->device_memory, .local_size = 1};
    return backend_open(kind, &options, out);
}

/* Reports a search for one thing. */
static status_t tune_tell(const struct tuned_job *t, const char *what, const struct tuning *tuning)
{
    status_t st = STATUS_OK;
    const struct tune_request *request = &t->request;
    const struct tune_summary *summary = &tuning->summary;
    struct text words = {0};
    REQUIRE_OUT(summary->fit > 0 || summary->is_cut, STATUS_USAGE,
                "tune: %s: its backend has no configurations to choose from%s%s", what,
                request->only ? " with --only " : "", request->only ? request->only : "");
    TRY_OUT(summary->seconds > 0 ? tune_problem_words(tuning->problem, tuning->values, &words)
                                 : STATUS_OK);
    t->told(what, summary, words.data ? words.data : "");
    REQUIRE_OUT(!request->budget->is_stopped || !request->budget->is_stopped(), STATUS_STOPPED,
                "what was found is kept");
    REQUIRE_OUT(summary->seconds > 0 || (summary->timed == 0 && summary->is_cut), STATUS_DEVICE,
                "tune: %s: no configuration was right", what);
out:
    text_free(&words);
    return st;
}

/* Searches for one thing, of which *out keeps the best. */
static status_t tune_one(const struct tuned_job *t, const struct tune_problem *problem,
                         backend_t *backend, const void *spec, const char *what, struct tuning *out)
{
    status_t st = STATUS_OK;
    TRY_OUT(tuning_begin(problem, backend, spec, t->request.database, out));
    TRY_OUT(tuning_search(out, &t->request, NULL));
    TRY_OUT(tune_tell(t, what, out));
out:
    t->request.budget->problems--;
    return st;
}

/* How each long filter is computed. */
static status_t tune_filters(struct tuned_job *t)
{
    status_t st = STATUS_OK;
    backend_t *backend = NULL;
    TRY_OUT(tune_open_backend(t->job, t->work->backend, &backend));
    for (uint32_t i = 0; i < t->job->nfilters && st == STATUS_OK; i++) {
        struct tuning tuning = {.problem = NULL};
        char name[64];
        snprintf(name, sizeof name, t->job->nfilters > 1 ? "filter %u" : "filter", i);
        st = tune_one(t, &tune_fir, backend, &t->work->filters->stages[i].spec, name, &tuning);
        tuning_end(&tuning);
    }
out:
    backend_close(backend);
    return st;
}

/* How a filter bank is computed, then, of an only one, the length of blocks for that. */
static status_t tune_filter_bank(struct tuned_job *t, uint32_t number)
{
    status_t st = STATUS_OK;
    struct channelise_spec spec = t->work->banks[number].channelise;
    const char *name = t->work->nbanks > 1 ? t->job->banks[number].name : "filter bank";
    const uint32_t suits = (uint32_t)min_u64(channelise_plan_block(t->work), UINT32_MAX);
    struct tuning bank = {.problem = NULL};
    struct tuning blocks = {.problem = NULL};
    backend_t *backend = NULL;
    TRY_OUT(tune_open_backend(t->job, t->work->backend, &backend));
    TRY_OUT(tune_one(t, &tune_ppf, backend, &spec, name, &bank));
    if (t->work->nbanks > 1) {
        goto out;
    }
    if (bank.summary.seconds > 0) {
        spec.choice.backend = t->work->backend;
        memcpy(&spec.choice.shape, bank.values, sizeof spec.choice.shape);
    }
    TRY_OUT(tuning_begin(&tune_block_length, backend, &spec, t->request.database, &blocks));
    st = tuning_search(&blocks, &t->request, &suits);
    TRY_OUT(tuning_forgive(&tune_block_length, backend, st));
    if (blocks.summary.fit > 0 || blocks.summary.is_cut) {
        TRY_OUT(tune_tell(t, "its blocks", &blocks));
    }
    t->request.budget->problems--;
out:
    tuning_end(&bank);
    tuning_end(&blocks);
    backend_close(backend);
    return st;
}

/* The stage that `run` would plan for the first DMs. */
static status_t tune_series(struct tuned_job *t, uint32_t number)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &t->job->dedisperse[number];
    struct fbh5 *fbh5 = NULL;
    struct dedisperse_plan *plan = NULL;
    struct dm_group group = {.base = 0};
    struct tuning tuning = {.problem = NULL};
    backend_t *backend = NULL;
    char name[64];
    TRY_OUT(t->work ? dedisperse_plan_foresee(t->work, what->input, &fbh5)
                    : fbh5_open(t->job->files[0], FBH5_BAND, &fbh5));
    TRY_OUT(dedisperse_plan_create(t->job, number, fbh5, backend_settle(what->backend),
                                   channelise_plan_threads(t->job, 1), NULL, &plan));
    uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    TRY_OUT(dm_group_create(plan, 0, (uint32_t)count, &group));
    TRY_OUT(tune_open_backend(t->job, plan->backend, &backend));
    struct dedisperse_spec spec = dedisperse_plan_stage(plan, &group, plan->block_outputs);
    snprintf(name, sizeof name, t->job->ndedisperse > 1 ? "dedispersion %u" : "dedispersion",
             number);
    TRY_OUT(tune_one(t, &tune_dedispersion, backend, &spec, name, &tuning));
out:
    tuning_end(&tuning);
    dm_group_free(&group);
    backend_close(backend);
    dedisperse_plan_destroy(plan);
    fbh5_destroy(fbh5);
    return st;
}

status_t tune_job(struct job *job, const struct tune_request *request, tune_job_told *told)
{
    status_t st = STATUS_OK;
    struct tuned_job t = {.job = job, .request = *request, .told = told};
    REQUIRE_OUT(
        !job_is_semi_coherent(job), STATUS_USAGE,
        "%s: a semi-coherent search is tuned by the share of one coherent DM: with a filter "
        "that dedisperses to it, dispersion with dm and span",
        job->path);
    request->budget->problems =
        (job->nbanks == 1 ? 2 : job->nbanks) + job->nfilters + job->ndedisperse;
    if (job->nbanks > 0 || job->nfilters > 0) {
        TRY_OUT(archive_open(job, &t.archive));
        TRY_OUT(array_job_read(job, t.archive));
        TRY_OUT(channelise_plan_create(job, t.archive, backend_settle(job->backend),
                                       channelise_plan_threads(job, 1), NULL, &t.work));
        t.request.search.memory = t.work->stage_bytes;
        TRY_OUT(job->nfilters > 0 ? tune_filters(&t) : STATUS_OK);
        for (uint32_t i = 0; i < job->nbanks; i++) {
            TRY_OUT(tune_filter_bank(&t, i));
        }
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY_OUT(tune_series(&t, i));
    }
out:
    channelise_plan_destroy(t.work);
    archive_destroy(t.archive);
    return st;
}

/* ---- searches ---- */

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
                                      const struct tune_time *time, struct tune_measure *out)
{
    const struct tune_result *r = ((const struct played *)context)->results[i];
    (void)repeats;
    (void)time;
    *out = (struct tune_measure){
        .seconds = r->seconds, .spent = r->spent, .wrong = r->state == TUNE_WRONG};
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

status_t experiment_replay(const struct tune_space *space, const struct tune_options *options,
                           const struct tune_outcome *measured, struct tune_outcome *out)
{
    status_t st = STATUS_OK;
    struct tune_space again;
    struct played played = {0};
    struct tune_options free_of_time = *options;
    free_of_time.time = (struct tune_time){.until = 0};
    free_of_time.known = NULL;
    free_of_time.rounds = 0;
    *out = (struct tune_outcome){0};
    TRY_OUT(experiment_collect(space, measured, &played, &again));
    TRY_OUT(tune_search(&again, &free_of_time, NULL, NULL, out));
out:
    free(played.results);
    free(played.values);
    free(played.costs);
    return st;
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

/* ---- the experiment ---- */

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

/* All that a search has timed. */
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
    status_t st = STATUS_OK;
    enum { RANDOM_RUNS = 100 };
    struct tune_options options = {.is_guided = 1};
    struct tune_outcome guided = {0};
    struct tune_outcome random = {0};
    *out = (struct experiment_comparison){.all = measured->ok + measured->wrong + measured->failed};
    for (uint32_t i = 0; i < space->count; i++) {
        out->all_spent += measured->results[i].spent;
    }
    TRY_OUT(experiment_replay(space, &options, measured, &guided));
    out->tried = guided.ok + guided.wrong + guided.failed;
    out->spent = guided.spent;
    out->guided = experiment_best_rate(&guided) / experiment_best_rate(measured);
    experiment_choose(EXPERIMENT_RANDOM, &options);
    options.limit = out->tried;
    for (options.seed = 1; options.seed <= RANDOM_RUNS; options.seed++) {
        TRY_OUT(experiment_replay(space, &options, measured, &random));
        out->random += experiment_best_rate(&random) / experiment_best_rate(measured) / RANDOM_RUNS;
        tune_outcome_free(&random);
    }
out:
    tune_outcome_free(&guided);
    tune_outcome_free(&random);
    return st;
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
                          const struct tune_request *request, struct dedisperse_shape *best,
                          double *fixed, int *found)
{
    status_t st = STATUS_OK;
    struct dedisperse_shape *winners = NULL;
    double most = 0;
    TRY_OUT(memory_zeroed(nrows, sizeof *winners, "shapes", &winners));
    uint32_t n = experiment_list_winners(rows, nrows, winners);
    for (uint32_t r = 0; r < nrows; r++) {
        request->budget->problems = nrows - r;
        if (!experiment_knows_all(&rows[r], winners, n)) {
            TRY_OUT(experiment_time_others(backend, &rows[r], winners, n, request));
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
