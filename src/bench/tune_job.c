/* One search after the other, of what a job is planned to do. */
#include "bench/tune_job.h"

#include "base/memory.h"
#include "input/array_job.h"
#include "input/open.h"
#include "plan/channelise_plan.h"
#include "plan/dedisperse_plan.h"
#include "tune/problem/problems.h"

#include <stdio.h>
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
                "tune: %s: its backend has nothing to choose from%s%s", what,
                request->only ? " with --only " : "", request->only ? request->only : "");
    if (summary->seconds > 0) {
        TRY_OUT(tune_problem_words(tuning->problem, tuning->values, &words));
    }
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
    if (t->work) {
        TRY_OUT(dedisperse_plan_foresee(t->work, what->input, &fbh5));
    } else {
        TRY_OUT(fbh5_open(t->job->files[0], FBH5_BAND, &fbh5));
    }
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
