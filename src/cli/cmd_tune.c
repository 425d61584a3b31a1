/* voltmill tune */
#include "base/display.h"
#include "base/memory.h"
#include "bench/experiment.h"
#include "cli/csv.h"
#include "cli/options.h"
#include "cli/values.h"
#include "input/array_job.h"
#include "input/coefficients.h"
#include "input/open.h"
#include "job/job.h"
#include "output/output_spec.h"
#include "plan/channelise_plan.h"
#include "plan/dedisperse_plan.h"
#include "ranks/stop.h"
#include "run/share.h"
#include "tune/problem/problems.h"
#include "tune/store.h"

#include <math.h>

/* The options of `voltmill tune`.
 *
 * Options of tune, and those that go together. */

struct tune_settings {
    struct shared shared;
    const struct bench_telescope *telescope; /* NULL: a job is tuned */
    const char *log_path;
    double budget;
    uint32_t bits;
    int compares, has_histogram;
    enum experiment_method method;
    struct tune_request tuning; /* without database and budget */
};

#define AT(field) offsetof(struct tune_settings, field)

static const struct option_row tune_rows[] = {
    {.name = "set stall-timeout"},
    {"search", "NAME", value_choice, AT(method), "exhaustive|guided|random", "guided",
     "guided, exhaustive or random"},
    {"budget", "SECONDS", value_positive, AT(budget), "0..1000000", NULL,
     "for all searches together (default: as long as they take)"},
    {"limit", "N", value_u32, AT(tuning.search.limit), "1..16777216", NULL,
     "times at most N configurations in each search, beside the one that is known"},
    {"seed", "N", value_u64, AT(tuning.search.seed), "0..", "1", "of a random search"},
    {"only", "LIST", value_text, AT(tuning.only), NULL, NULL,
     "dedispersion: considers only configurations with these values: time_out=1/2/4,chunk=8; of "
     "staging (0 direct, 1 funnel, 2 copies), pack, time_items, dm_items, time_out, dm_out, chunk, "
     "skew, ptx"},
    {"every", "N", value_u32, AT(tuning.every), "1..16777216", NULL,
     "considers only every N-th configuration, in the model's order"},
    {"space-limit", "N", value_u32, AT(tuning.most), "1..16777216", NULL,
     "considers at most N configurations, evenly spaced in the model's order"},
    {"repeat", "N", value_u32, AT(tuning.search.repeats), "1..1000", "3",
     "timed runs, the median of which counts"},
    {"rounds", "N", value_u32, AT(tuning.search.rounds), "0..16", "2",
     "times the best ten again, N times in turn"},
    {"log", "FILE", value_text, AT(log_path), NULL, NULL,
     "CSV, a line for each configuration that was timed; after a kill, the same command resumes "
     "there"},
    {.name = "database"},
    {.help = "With --setup, without a job:"},
    {.name = "setup dms dm-step zero seconds"},
    {"bits", "N", value_u32, AT(bits), "8|16|32", "8", "of a sample: 8, 16, 32 (float)"},
    {.name = "group backend device threads"},
    {"compare-searches", FLAG(AT(compares)),
     "searches exhaustively and prints what guided and random searches would have found, and in "
     "which share of the time"},
    {"histogram", FLAG(AT(has_histogram)), "prints how many configurations reach which rate"},
    {.name = "csv"},
    {.name = NULL}};

static const char *experiment_method_name(enum experiment_method method)
{
    static const char *const names[EXPERIMENT_METHODS] = {"exhaustive", "guided", "random"};
    return names[method];
}

/* Options that do not go together; what shows later: those that a job without dedispersion cannot
 * follow, or the backend that was settled for a setup. Fail with USAGE. */
static status_t tune_options_check(void *settings)
{
    struct tune_settings *s = settings;
    const char *name = options_first(s, "backend device threads dms dm-step zero group");
    s->telescope = s->shared.setup ? bench_telescope(s->shared.setup) : NULL;
    REQUIRE(s->telescope || !name, STATUS_USAGE,
            "tune: --%s goes with --setup, not with a job: there its keys say it (--set KEY=VALUE)",
            name);
    name = options_first(s, "seconds bits compare-searches histogram csv");
    REQUIRE(s->telescope || !name, STATUS_USAGE, "tune: --%s goes with --setup, not with a job",
            name);
    REQUIRE(!s->telescope || s->shared.sets.count == 0, STATUS_USAGE,
            "tune: --set goes with a job, not with --setup");
    REQUIRE(!s->shared.is_zero || !options_first(s, "dm-step"), STATUS_USAGE,
            "tune: --dm-step does not go with --zero: all DMs are 0 then");
    REQUIRE(!s->compares || !options_first(s, "search") || s->method == EXPERIMENT_EXHAUSTIVE,
            STATUS_USAGE,
            "tune: --search %s does not go with --compare-searches, which searches exhaustively",
            experiment_method_name(s->method));
    REQUIRE(!options_first(s, "seed") || s->method == EXPERIMENT_RANDOM, STATUS_USAGE,
            "tune: --seed goes with --search random only");
    experiment_choose(s->method, &s->tuning.search);
    return STATUS_OK;
}

/* State of one command, after its options. */
struct tuning_work {
    struct tune_settings settings;
    backend_t *opened;
    struct tune_budget budget;
    struct experiment_row *rows;
    uint32_t nrows;
    double *fixed; /* [nrows] seconds of the best single configuration */
    int has_fixed;
    struct dedisperse_shape fixed_shape;
};

static void tune_print_head(const struct tuning_work *w)
{
    const struct tune_settings *s = &w->settings;
    const char *device = backend_device(w->opened);
    printf("%s%s%s: %s, %u channels, %g s of data, %u bits, %s search\n",
           backend_name(backend_which(w->opened)), *device ? ", " : "", device, s->telescope->name,
           s->telescope->nchannels, s->shared.seconds, s->bits,
           experiment_method_name(s->compares ? EXPERIMENT_EXHAUSTIVE : s->method));
    report_show();
}

static void tune_print_summary(const char *what, const struct tune_summary *summary)
{
    printf("%s: %u configurations fit, %u timed (%u wrong, %u failed, %u from the log) in %.1f s "
           "(%.1f s compiling)%s",
           what, summary->fit, summary->timed, summary->wrong, summary->failed, summary->recalled,
           summary->spent, summary->compiling, summary->is_cut ? ", cut by the budget" : "");
}

static status_t tune_print_row(const struct tuning_work *w, const struct experiment_row *row)
{
    SCOPED(text_free) struct text words = {0};
    char what[24];
    TRY(dedisperse_shape_words(&row->best, &words));
    snprintf(what, sizeof what, "%5u DMs", row->c.ndms);
    tune_print_summary(what, &row->summary);
    if (row->seconds > 0) {
        printf(": %s %.4f ms\n", words.data, 1e3 * row->seconds);
    } else {
        printf(": %s\n", row->summary.timed > 0 ? "none is right" : "none was timed");
    }
    if (w->settings.has_histogram && row->histogram.data) {
        printf("  %9s    %9s %6s\n%s", "Gadd/s", "", "count", row->histogram.data);
    }
    report_show();
    return STATUS_OK;
}

static struct bench_dedispersion tune_case_of(const struct tune_settings *s, uint32_t i)
{
    return (struct bench_dedispersion){.telescope = s->telescope,
                                       .format = s->bits == 8    ? SERIES_U8
                                                 : s->bits == 16 ? SERIES_U16
                                                                 : SERIES_F32,
                                       .ndms = (uint32_t)s->shared.dms.values[i],
                                       .dm_step = s->shared.is_zero ? 0 : s->shared.dm_step,
                                       .seconds = s->shared.seconds,
                                       .group = s->shared.group,
                                       .threads = options_threads(s),
                                       .repeats = s->tuning.search.repeats};
}

static status_t tune_search_all(struct tuning_work *w)
{
    struct tune_settings *s = &w->settings;
    /* A part stays for the best single configuration. */
    w->budget.seconds = s->shared.dms.count > 1 ? 0.75 * s->budget : s->budget;
    TRY(memory_zeroed(s->shared.dms.count, sizeof *w->rows, "rows", &w->rows));
    for (uint32_t i = 0; i < s->shared.dms.count; i++) {
        struct bench_dedispersion problem = tune_case_of(s, i);
        struct experiment_comparison c;
        struct experiment_row *row = &w->rows[w->nrows++];
        w->budget.problems = s->shared.dms.count - i;
        TRY(experiment_search(w->opened, &problem, &s->tuning, row, s->compares ? &c : NULL));
        REQUIRE(row->summary.fit > 0 || row->summary.is_cut || !s->tuning.only, STATUS_USAGE,
                "tune: no configuration has the values of --only %s", s->tuning.only);
        REQUIRE(row->summary.fit > 0 || row->summary.is_cut, STATUS_USAGE,
                "tune: the %s backend has no configurations to choose from",
                backend_name(backend_which(w->opened)));
        TRY(tune_print_row(w, row));
        if (s->compares && row->seconds > 0) {
            printf("  guided: %.1f %% of the best rate with %u of %u configurations (%.1f %%), "
                   "%.1f of %.1f s (%.1f %%); random ones, as many: %.1f %%\n",
                   1e2 * c.guided, c.tried, c.all, 1e2 * c.tried / c.all, c.spent, c.all_spent,
                   1e2 * c.spent / c.all_spent, 1e2 * c.random);
            report_show();
        }
        REQUIRE(!stop_wanted(), STATUS_STOPPED, "what was found is kept");
    }
    w->budget.seconds = s->budget;
    return STATUS_OK;
}

static const char heading[] = "setup,dms,ms,gadd_per_s,realtime,fixed_ms,gain,gain_over_median,"
                              "signal_to_noise,fit,timed,spent_s,how";

/* Prints a row of the table; `fixed` 0: there is no fixed shape. */
static status_t tune_print_result(const struct experiment_row *row, double fixed, struct csv *csv)
{
    SCOPED(text_free) struct text words = {0};
    const struct tune_statistics *statistics = &row->summary.statistics;
    double rate = 1e-9 * row->adds / row->seconds;
    double realtime = row->c.seconds / row->seconds;
    double median = statistics->median > 0 ? 1 / (row->seconds * statistics->median) : 0;
    TRY(dedisperse_shape_words(&row->best, &words));
    printf("%6u %10.4f %9.1f %10.1f %10.4f %6.2f %8.2f %6.2f  %s\n", row->c.ndms,
           1e3 * row->seconds, rate, realtime, 1e3 * fixed, fixed / row->seconds, median,
           statistics->signal_to_noise, words.data);
    csv_print(csv, "%s,%u,%.6f,%.4f,%.4f,%.6f,%.4f,%.4f,%.4f,%u,%u,%.3f,%s\n",
              row->c.telescope->name, row->c.ndms, 1e3 * row->seconds, rate, realtime, 1e3 * fixed,
              fixed / row->seconds, median, statistics->signal_to_noise, row->summary.fit,
              row->summary.timed, row->summary.spent, words.data);
    return STATUS_OK;
}

/* Prints the gain of tuning over the best single configuration. */
static status_t tune_print_fixed(const struct tuning_work *w)
{
    SCOPED(text_free) struct text words = {0};
    double tuned = 0;
    double fixed = 0;
    double mean = 0;
    double most = 0;
    TRY(dedisperse_shape_words(&w->fixed_shape, &words));
    for (uint32_t r = 0; r < w->nrows; r++) {
        double gain = w->fixed[r] / w->rows[r].seconds;
        tuned += w->rows[r].adds / w->rows[r].seconds;
        fixed += w->rows[r].adds / w->fixed[r];
        mean += gain / w->nrows;
        most = fmax(most, gain);
    }
    printf("best single configuration: %s\n"
           "tuning gains %.2f times on average, %.2f at most; %.2f in the sum of rates\n",
           words.data, mean, most, tuned / fixed);
    return STATUS_OK;
}

static status_t tune_print_table(struct tuning_work *w)
{
    status_t st = STATUS_OK;
    struct csv csv = {0};
    TRY_OUT(csv_open(w->settings.shared.csv, "w", heading, &csv));
    printf("%6s %10s %9s %10s %10s %6s %8s %6s  %s\n", "DMs", "tuned ms", "Gadd/s", "x realtime",
           "fixed ms", "gain", "x median", "S/N", "how");
    for (uint32_t r = 0; r < w->nrows; r++) {
        if (w->rows[r].seconds > 0) {
            TRY_OUT(tune_print_result(&w->rows[r], w->has_fixed ? w->fixed[r] : 0, &csv));
        }
    }
    TRY_OUT(w->has_fixed ? tune_print_fixed(w) : STATUS_OK);
out:
    return csv_close(&csv, st);
}

/* Before the first of them is opened: none of what is written is the job, leads to a sample of it,
 * is one of its products, or another one of them. */
static status_t tune_protect(const struct tune_settings *s, const struct job *job)
{
    SCOPED(free_at) char *own = s->shared.database ? NULL : store_own();
    const struct protect_other written[] = {{"--log", s->log_path},
                                            {"--database", s->shared.database},
                                            {"--csv", s->shared.csv},
                                            {"the database", own}};
    SCOPED(archive_destroy_at) struct archive *archive = NULL;
    if (!job) {
        TRY(protect_others(written, 4));
        return STATUS_OK;
    }
    TRY(job_reads_voltages(job) ? archive_open(job, &archive) : STATUS_OK);
    return protect_job(job, archive, written, 4);
}

static status_t tune_setup(struct tuning_work *w)
{
    struct tune_settings *s = &w->settings;
    struct backend_options options = {.device = s->shared.device, .local_size = 1};
    enum backend_kind backend = backend_settle(s->shared.backend);
    uint32_t bad = 0;
    TRY(tune_protect(s, NULL));
    TRY(csv_check(s->shared.csv, heading));
    TRY(tune_log_open(s->log_path, &s->tuning.log));
    REQUIRE(backend_abilities(backend)->uses_threads || !options_first(s, "threads"), STATUS_USAGE,
            "tune: --threads goes with the cpu backend, not with %s", backend_name(backend));
    REQUIRE(backend_abilities(backend)->has_device || !options_first(s, "device"), STATUS_USAGE,
            "tune: --device goes with the opencl backend, not with %s", backend_name(backend));
    TRY(backend_open(backend, &options, &w->opened));
    tune_print_head(w);
    TRY(tune_search_all(w));
    TRY(memory_zeroed(w->nrows, sizeof *w->fixed, "times", &w->fixed));
    if (w->nrows > 1) {
        TRY(experiment_fixed(w->opened, w->rows, w->nrows, &s->tuning, &w->fixed_shape, w->fixed,
                             &w->has_fixed));
    }
    TRY(tune_print_table(w));
    REQUIRE(!stop_wanted(), STATUS_STOPPED, "what was found is kept");
    for (uint32_t r = 0; r < w->nrows; r++) {
        bad += w->rows[r].seconds <= 0 && w->rows[r].summary.timed > 0;
    }
    return REQUIRED(bad == 0, STATUS_DEVICE,
                    "tune: for %u numbers of DMs no configuration was right", bad);
}

struct tuned_job {
    const struct job *job;
    struct tune_request request;
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
    const struct tune_request *request = &t->request;
    const struct tune_summary *summary = &tuning->summary;
    SCOPED(text_free) struct text words = {0};
    REQUIRE(summary->fit > 0 || summary->is_cut, STATUS_USAGE,
            "tune: %s: its backend has no configurations to choose from%s%s", what,
            request->only ? " with --only " : "", request->only ? request->only : "");
    TRY(summary->seconds > 0 ? tune_problem_words(tuning->problem, tuning->values, &words)
                             : STATUS_OK);
    tune_print_summary(what, summary);
    printf("\n");
    if (summary->seconds > 0) {
        printf("  %s: %.4f ms of a trial, %.2f times the median one, signal-to-noise %.2f\n",
               words.data, 1e3 * summary->seconds,
               1 / (summary->seconds * summary->statistics.median),
               summary->statistics.signal_to_noise);
    }
    report_show();
    REQUIRE(!stop_wanted(), STATUS_STOPPED, "what was found is kept");
    return REQUIRED(summary->seconds > 0 || (summary->timed == 0 && summary->is_cut), STATUS_DEVICE,
                    "tune: %s: no configuration was right", what);
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

/* Finds the fastest way to compute each long filter. */
static status_t tune_filters(struct tuned_job *t)
{
    SCOPED(backend_close_at) backend_t *backend = NULL;
    TRY(tune_open_backend(t->job, t->work->backend, &backend));
    for (uint32_t i = 0; i < t->job->nfilters; i++) {
        SCOPED(tuning_end) struct tuning tuning = {.problem = NULL};
        char name[64];
        snprintf(name, sizeof name, t->job->nfilters > 1 ? "filter %u" : "filter", i);
        TRY(tune_one(t, &tune_fir, backend, &t->work->filters->stages[i].spec, name, &tuning));
    }
    return STATUS_OK;
}

/* Finds the fastest way to compute a filter bank. If it is the only one, finds the best length of
 * blocks, too. */
static status_t tune_filter_bank(struct tuned_job *t, uint32_t number)
{
    struct channelise_spec spec = t->work->banks[number].channelise;
    const char *name = t->work->nbanks > 1 ? t->job->banks[number].name : "filter bank";
    const uint32_t suits = (uint32_t)min_u64(channelise_plan_block(t->work), UINT32_MAX);
    SCOPED(backend_close_at) backend_t *backend = NULL;
    SCOPED(tuning_end) struct tuning blocks = {.problem = NULL};
    SCOPED(tuning_end) struct tuning bank = {.problem = NULL};
    TRY(tune_open_backend(t->job, t->work->backend, &backend));
    TRY(tune_one(t, &tune_ppf, backend, &spec, name, &bank));
    if (t->work->nbanks > 1) {
        return STATUS_OK;
    }
    if (bank.summary.seconds > 0) {
        spec.choice.backend = t->work->backend;
        memcpy(&spec.choice.shape, bank.values, sizeof spec.choice.shape);
    }
    TRY(tuning_begin(&tune_block_length, backend, &spec, t->request.database, &blocks));
    status_t st = tuning_search(&blocks, &t->request, &suits);
    TRY(tuning_forgive(&tune_block_length, backend, st));
    if (blocks.summary.fit > 0 || blocks.summary.is_cut) {
        TRY(tune_tell(t, "its blocks", &blocks));
    }
    t->request.budget->problems--;
    return STATUS_OK;
}

/* Tunes the stage that `run` would plan for the first DMs. */
static status_t tune_series(struct tuned_job *t, uint32_t number)
{
    const struct job_dedisperse *what = &t->job->dedisperse[number];
    SCOPED(fbh5_destroy_at) struct fbh5 *fbh5 = NULL;
    SCOPED(dedisperse_plan_destroy_at) struct dedisperse_plan *plan = NULL;
    SCOPED(backend_close_at) backend_t *backend = NULL;
    SCOPED(dm_group_free) struct dm_group group = {.base = 0};
    SCOPED(tuning_end) struct tuning tuning = {.problem = NULL};
    char name[64];
    TRY(t->work ? dedisperse_plan_foresee(t->work, what->input, &fbh5)
                : fbh5_open(t->job->files[0], FBH5_BAND, &fbh5));
    TRY(dedisperse_plan_create(t->job, number, fbh5, backend_settle(what->backend),
                               channelise_plan_threads(t->job, 1), NULL, &plan));
    uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    TRY(dm_group_create(plan, 0, (uint32_t)count, &group));
    TRY(tune_open_backend(t->job, plan->backend, &backend));
    struct dedisperse_spec spec = dedisperse_plan_stage(plan, &group, plan->block_outputs);
    snprintf(name, sizeof name, t->job->ndedisperse > 1 ? "dedispersion %u" : "dedispersion",
             number);
    return tune_one(t, &tune_dedispersion, backend, &spec, name, &tuning);
}

SCOPED_CALLS(tuned_job_end, struct tuned_job, channelise_plan_destroy(at->work),
             archive_destroy(at->archive))

/* Searches for the filter bank of a job and each of its dedispersions, as `run` on one rank would
 * compute them, and stores the results in the database. The request's budget is for all together:
 * problems beyond it are reported as cut. Fails as opening and planning a job do; with STOPPED if
 * the budget's owner requests it; with DEVICE if no configuration of a problem is right. */
static status_t tune_job(struct job *job, const struct tune_request *request)
{
    SCOPED(tuned_job_end) struct tuned_job t = {.job = job, .request = *request};
    REQUIRE(!job_is_semi_coherent(job), STATUS_USAGE,
            "%s: a semi-coherent search is tuned by the share of one coherent DM: with a filter "
            "that dedisperses to it, dispersion with dm and span",
            job->path);
    request->budget->problems =
        (job->nbanks == 1 ? 2 : job->nbanks) + job->nfilters + job->ndedisperse;
    if (job->nbanks > 0 || job->nfilters > 0) {
        TRY(archive_open(job, &t.archive));
        TRY(array_job_read(job, t.archive));
        TRY(channelise_plan_create(job, t.archive,
                                   channelise_plan_backend(job, backend_settle(job->backend)),
                                   channelise_plan_threads(job, 1), NULL, &t.work));
        t.request.search.memory = t.work->stage_bytes;
        TRY(job->nfilters > 0 ? tune_filters(&t) : STATUS_OK);
        for (uint32_t i = 0; i < job->nbanks; i++) {
            TRY(tune_filter_bank(&t, i));
        }
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(tune_series(&t, i));
    }
    return STATUS_OK;
}

static status_t tune_a_job(struct tune_settings *s)
{
    SCOPED(job_destroy_at) struct job *job = NULL;
    TRY(share_load_job(s->shared.operand, NULL, s->shared.sets.items, s->shared.sets.count, &job));
    TRY(tune_protect(s, job));
    REQUIRE(!job->is_synthesised, STATUS_USAGE,
            "%s: synthesise: tune measures nothing in a synthesis", job->path);
    TRY(coefficients_read(job));
    TRY(tune_log_open(s->log_path, &s->tuning.log));
    const char *thins = options_first(s, "only every space-limit");
    REQUIRE(!thins || job->ndedisperse > 0, STATUS_USAGE,
            "tune: --%s thins the configurations of dedispersion, and %s has none", thins,
            job->path);
    TRY(tune_job(job, &s->tuning));
    SCOPED(free_at) char *own = s->shared.database ? NULL : store_own();
    if (s->shared.database || own) {
        display_print("the database is %s\n", own ? own : s->shared.database);
    }
    return STATUS_OK;
}

static status_t tune_run(void *settings)
{
    status_t st = STATUS_OK;
    struct tuning_work *w = settings;
    struct tune_settings *s = &w->settings;
    stop_hold(0);
    TRY_OUT(watch_begin());
    stop_begin(1);
    w->budget = (struct tune_budget){.seconds = s->budget, .is_stopped = stop_wanted};
    s->tuning.budget = &w->budget;
    s->tuning.database = s->shared.database;
    TRY_OUT(s->shared.operand ? tune_a_job(s) : tune_setup(w));
out:
    for (uint32_t r = 0; r < w->nrows; r++) {
        text_free(&w->rows[r].histogram);
        free(w->rows[r].known);
    }
    MEMORY_FREE(w->rows, w->fixed);
    tune_log_close(s->tuning.log);
    backend_close(w->opened);
    return st;
}

const struct command cli_tune = {
    .name = "tune",
    .summary = "find the fastest kernels for this device, and keep them",
    .usage = "[OPTION]... JOB\n--setup NAME [OPTION]...",
    .about = "Finds the fastest kernels for a job's filters, filter bank and dedispersions on this "
             "device, and stores them in a database that `voltmill run` reads. Every configuration "
             "that is timed is checked against sums in double; a wrong one never wins. With "
             "--setup: dedispersion for each of some numbers of DMs, and what tuning gains "
             "(Sclocco et al. 2014).",
    .operand = "job file",
    .ends = "yaml",
    .instead = "setup",
    .rows = tune_rows,
    .bytes = sizeof(struct tuning_work),
    .check = tune_options_check,
    .run = tune_run};
