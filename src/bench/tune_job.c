#include "bench/tune_job.h"

#include "base/memory.h"
#include "plan/channelise_plan.h"
#include "plan/dedisperse_plan.h"
#include "tune/problem/block_length.h"
#include "tune/problem/ppf.h"

#include <inttypes.h>
#include <stdio.h>

struct tuned_job {
    const struct job *job;
    struct experiment_options options;
    tune_job_told *told;
    struct archive *archive;
    struct channelise_plan *work; /* NULL: the job has no filter bank */
};

static status_t tune_open_backend(const struct job *job, enum backend_kind kind, backend_t **out)
{
    struct backend_options options = {
        .device = job->device, .device_memory = job->device_memory, .local_size = 1};
    return backend_open(kind, &options, out);
}

static status_t tune_tell(const struct tuned_job *t, const char *what,
                          const struct tune_summary *summary, const struct text *best)
{
    status_t st = STATUS_OK;
    const struct tune_budget *budget = t->options.budget;
    REQUIRE(summary->fit > 0 || summary->is_cut, STATUS_USAGE,
            "tune: %s: its backend has nothing to choose from%s%s", what,
            t->options.only ? " with --only " : "", t->options.only ? t->options.only : "");
    t->told(what, summary, best->data ? best->data : "");
    REQUIRE(!budget->is_stopped || !budget->is_stopped(), STATUS_STOPPED, "what was found is kept");
    REQUIRE(summary->seconds > 0 || (summary->timed == 0 && summary->is_cut), STATUS_DEVICE,
            "tune: %s: no way was right", what);
out:
    return st;
}

static status_t tune_bank(struct tuned_job *t, backend_t *backend, struct channelise_choice *best)
{
    status_t st = STATUS_OK;
    const struct experiment_options *o = &t->options;
    struct tune_options search = o->search;
    struct tune_summary summary;
    struct text words = {0};
    search.time = tune_budget_begin(o->budget);
    search.memory = t->work->stage_bytes;
    TRY(tune_ppf_search(backend, &t->work->channelise, &search, o->log, o->database, best,
                        &summary));
    tune_budget_end(o->budget, &search.time);
    TRY(summary.seconds > 0 ? channelise_choice_words(best, &words) : STATUS_OK);
    TRY(tune_tell(t, "filter bank", &summary, &words));
out:
    text_free(&words);
    return st;
}

/* The length of blocks for a filter bank that is done in this way (AUTO: no way is known). */
static status_t tune_blocks(struct tuned_job *t, backend_t *backend,
                            const struct channelise_choice *choice)
{
    status_t st = STATUS_OK;
    const struct experiment_options *o = &t->options;
    struct tune_options search = o->search;
    struct tune_summary summary;
    struct text words = {0};
    struct channelise_spec spec = t->work->channelise;
    uint64_t best = 0;
    search.time = tune_budget_begin(o->budget);
    search.memory = t->work->stage_bytes;
    spec.choice = *choice;
    st = tune_block_length_search(backend, &spec, channelise_plan_block(t->work), &search, o->log,
                                  o->database, &best, &summary);
    TRY(tune_forgive("the length of blocks", backend, st));
    tune_budget_end(o->budget, &search.time);
    TRY(text_add(&words, "%" PRIu64 " spectra", best));
    TRY(summary.fit > 0 || summary.is_cut ? tune_tell(t, "its blocks", &summary, &words)
                                          : STATUS_OK);
out:
    text_free(&words);
    return st;
}

static status_t tune_filter_bank(struct tuned_job *t)
{
    status_t st = STATUS_OK;
    struct channelise_choice best = {.backend = BACKEND_AUTO};
    backend_t *backend = NULL;
    TRY(tune_open_backend(t->job, t->work->backend, &backend));
    TRY(tune_bank(t, backend, &best));
    t->options.budget->problems--;
    TRY(tune_blocks(t, backend, &best));
    t->options.budget->problems--;
out:
    backend_close(backend);
    return st;
}

/* The stage that `run` would plan for the first DMs. */
static status_t tune_search_stage(struct tuned_job *t, const struct dedisperse_plan *plan,
                                  struct tune_summary *summary, struct text *words)
{
    status_t st = STATUS_OK;
    const struct experiment_options *o = &t->options;
    const struct tune_thinning thinning = {.only = o->only, .every = o->every, .most = o->most};
    uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    struct dm_group group = {.base = 0};
    struct tune_options search = o->search;
    struct dedisperse_shape best;
    backend_t *backend = NULL;
    search.time = tune_budget_begin(o->budget);
    TRY(dm_group_create(plan, 0, (uint32_t)count, &group));
    TRY(tune_open_backend(t->job, plan->backend, &backend));
    struct dedisperse_spec spec = dedisperse_plan_stage(plan, &group, plan->block_outputs);
    TRY(tune_dedispersion_search(backend, &spec, &thinning, &search, o->log, o->database, &best,
                                 summary));
    tune_budget_end(o->budget, &search.time);
    TRY(summary->seconds > 0 ? dedisperse_shape_words(&best, words) : STATUS_OK);
out:
    dm_group_free(&group);
    backend_close(backend);
    return st;
}

static status_t tune_dedispersion(struct tuned_job *t, uint32_t number)
{
    status_t st = STATUS_OK;
    const struct job_dedisperse *what = &t->job->dedisperse[number];
    struct fbh5 *fbh5 = NULL;
    struct dedisperse_plan *plan = NULL;
    struct tune_summary summary;
    struct text words = {0};
    char name[64];
    if (t->work) {
        TRY(dedisperse_plan_foresee(t->work, what->input, &fbh5));
    } else {
        TRY(fbh5_open(t->job->files[0], &fbh5));
        TRY(fbh5_load_band(fbh5));
    }
    TRY(dedisperse_plan_create(t->job, number, fbh5, backend_settle(what->backend),
                               channelise_plan_threads(t->job, 1), NULL, &plan));
    TRY(tune_search_stage(t, plan, &summary, &words));
    snprintf(name, sizeof name, "dedispersion %u", number);
    TRY(tune_tell(t, t->job->ndedisperse > 1 ? name : "dedispersion", &summary, &words));
out:
    text_free(&words);
    dedisperse_plan_destroy(plan);
    fbh5_destroy(fbh5);
    return st;
}

status_t tune_job(const struct job *job, const struct experiment_options *options,
                  tune_job_told *told)
{
    status_t st = STATUS_OK;
    struct tuned_job t = {.job = job, .options = *options, .told = told};
    options->budget->problems = (job->channels > 0 ? 2U : 0U) + job->ndedisperse;
    if (job->channels > 0) {
        TRY(archive_open(job, &t.archive));
        TRY(channelise_plan_create(job, t.archive, backend_settle(job->backend),
                                   channelise_plan_threads(job, 1), NULL, &t.work));
        TRY(tune_filter_bank(&t));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(tune_dedispersion(&t, i));
        options->budget->problems--;
    }
out:
    channelise_plan_destroy(t.work);
    archive_destroy(t.archive);
    return st;
}
