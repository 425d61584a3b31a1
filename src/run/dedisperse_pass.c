/* Plans dedispersions, their filterbanks there or foreseen, and does them. */
#include "run/passes.h"

#include "base/clock.h"
#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "input/hdf5/sources.h"
#include "input/open.h"
#include "pipeline/pipeline_kinds.h"
#include "product/candidates.h"
#include "ranks/agree.h"
#include "run/share.h"
#include "run/tuned.h"

#include <stdlib.h>

void dedisperse_pass_end(struct dedisperse_pass *p, status_t st)
{
    pass_end(&p->pass, st);
    opened_give_back(p->pass.options ? p->pass.options->opened : NULL, p->opened, st);
    dedisperse_plan_destroy(p->plan);
    fbh5_destroy(p->fbh5);
    free(p->sources);
}

/* Rank 0: opens the filterbank. */
static status_t pass_open_filterbank(struct dedisperse_pass *p)
{
    const struct job *job = p->pass.job;
    const struct external_list list = {(const char *const *)job->external, job->nexternal};
    TRY(fbh5_open(p->filterbank ? p->filterbank : job_filterbank(job, p->number), FBH5_BAND,
                  &p->fbh5));
    assumed_say(p->fbh5->path, p->fbh5->assumed);
    TRY(external_check(&p->fbh5->storage.sources, p->fbh5->path, list, JOB_EXTERNAL));
    return job->on_bad != ON_BAD_NAN
               ? lost_refuse(&p->fbh5->lost, p->fbh5->path, "spectra", 0, p->fbh5->rows)
               : STATUS_OK;
}

static status_t pass_open_filterbank_all(struct dedisperse_pass *p)
{
    status_t st = p->pass.rank == 0 ? pass_open_filterbank(p) : STATUS_OK;
    void *shared = p->fbh5;
    st = share_struct_all(p->pass.comm, st, &fbh5_type, "a filterbank", &shared);
    p->fbh5 = shared;
    return st;
}

/* As suits now or as it was begun; the same on all ranks. */
static status_t pass_plan_all(struct dedisperse_pass *p)
{
    const struct job *job = p->pass.job;
    struct pass_means means = pass_means_all(&p->pass, job->dedisperse[p->number].backend);
    dedisperse_plan_destroy(p->plan);
    p->plan = NULL;
    TRY(agree_all(p->pass.comm, dedisperse_plan_create(job, p->number, p->fbh5, means.backend,
                                                       means.most_threads, means.begun, &p->plan)));
    TRY(pass_same_plan_all(&p->pass, &p->plan->chunking));
    p->plan->threads = means.threads;
    return STATUS_OK;
}

/* All that comes before its backend: plans it, of what `work` makes or (NULL) of the filterbank
 * that is there, and claims its product, or only looks (run/pass.h). Fails with USAGE, DATA.
 * Collective.
 */
static status_t dedisperse_pass_plan_all(struct dedisperse_pass *p,
                                         const struct channelise_plan *work)
{
    struct pass *pass = &p->pass;
    TRY(work ? dedisperse_plan_foresee(work, pass->job->dedisperse[p->number].input, &p->fbh5)
             : pass_open_filterbank_all(p));
    TRY(agree_all(pass->comm, p->between && pass->rank == 0
                                  ? device_carry_check(p->between, pass->job, p->number, p->fbh5)
                                  : STATUS_OK));
    TRY(pass_plan_all(p));
    TRY(agree_all(pass->comm, p->search ? output_spec_of_search(pass->job, p->search, &pass->making)
                                        : output_spec_of_series(pass->job, p->number, p->fbh5->path,
                                                                p->fbh5, &pass->making)));
    TRY(p->is_foreseen ? outputs_check(&pass->making, pass->options->force) : pass_claim_all(pass));
    TRY(pass->begun.is_begun ? pass_plan_all(p) : STATUS_OK);
    const struct dedisperse_plan *plan = p->plan;
    output_spec_plan_series(&pass->making, plan);
    pass->work = (double)plan->delays.ndms * (double)plan->outputs;
    TRY(agree_all(pass->comm,
                  text_add(&pass->problem, "dedisperse %u DMs of %u channels, format %d, %s, %s %s",
                           plan->delays.ndms, plan->delays.nchannels, (int)plan->input.format,
                           job_modes[plan->what->mode], backend_name(plan->backend),
                           pass->job->device ? pass->job->device : "")));
    return pass->comm == MPI_COMM_NULL && pass->begun.is_begun ? outputs_foresee_plan(pass->outputs)
                                                               : STATUS_OK;
}

status_t dedisperse_pass_foresee(const struct pass *like, const struct resume *skip,
                                 const struct channelise_plan *work, struct dedisperse_pass *out)
{
    for (uint32_t i = 0; i < like->job->ndedisperse; i++) {
        out[i].number = i;
        if (!skip->dedisperse[i] || skip->all) {
            pass_begin(&out[i].pass, MPI_COMM_NULL, like->job, like->options);
            out[i].pass.local_size = like->local_size;
            out[i].pass.is_complete = skip->all;
            out[i].is_foreseen = !skip->all && (work || like->comm != MPI_COMM_NULL);
            TRY(dedisperse_pass_plan_all(&out[i], skip->all ? NULL : work));
            TRY(pass_measure(&out[i].pass));
            dedisperse_plan_end_tables(out[i].plan);
        }
    }
    return STATUS_OK;
}

status_t dedisperse_pass_add_room(const struct dedisperse_pass *passes, uint32_t count,
                                  struct room *room)
{
    for (uint32_t i = 0; i < count; i++) {
        TRY(pass_add_room(&passes[i].pass, room));
    }
    return STATUS_OK;
}

status_t dedisperse_pass_check_all(MPI_Comm comm, const struct job *job,
                                   const struct run_options *options, const struct resume *skip)
{
    status_t st = STATUS_OK;
    struct dedisperse_pass *passes = NULL;
    struct room room = {.count = 0};
    struct pass like = {.rank = 0};
    pass_begin(&like, comm, job, options);
    if (like.rank == 0) {
        TRY_OUT(memory_zeroed(job->ndedisperse, sizeof *passes, "passes to come", &passes));
        TRY_OUT(dedisperse_pass_foresee(&like, skip, NULL, passes));
        TRY_OUT(dedisperse_pass_add_room(passes, job->ndedisperse, &room));
        TRY_OUT(room_check(&room));
    }
out:
    for (uint32_t i = 0; i < job->ndedisperse && passes; i++) {
        dedisperse_pass_end(&passes[i], STATUS_OK);
    }
    free(passes);
    return agree_all(comm, st);
}

/* How the first DMs' stage is fastest; the others' are like it. */
static status_t pass_choose_shape_all(struct dedisperse_pass *p)
{
    status_t st = STATUS_OK;
    struct dedisperse_plan *plan = p->plan;
    uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    struct dm_group group = {.base = 0};
    TRY_OUT(agree_all(p->pass.comm, dm_group_create(plan, 0, (uint32_t)count, &group)));
    struct dedisperse_spec spec = dedisperse_plan_stage(plan, &group, plan->block_outputs);
    TRY_OUT(tuned_dedispersion_all(p->pass.comm, p->backend, &spec, p->pass.options, &plan->shape));
out:
    dm_group_free(&group);
    return st;
}

static status_t pass_prepare_all(struct pass *pass)
{
    struct dedisperse_pass *p = (struct dedisperse_pass *)pass;
    TRY(dedisperse_pass_plan_all(p, NULL));
    p->backend = p->between->backend; /* of an earlier pass, if it is of the kind */
    if (!p->backend || backend_which(p->backend) != p->plan->backend) {
        TRY(opened_take_all(pass->comm, pass->options->opened, pass->job, p->plan->backend,
                            &p->opened));
        p->backend = p->opened;
    }
    TRY(pass_choose_shape_all(p));
    pass_limit(pass, p->plan->backend);
    TRY(pass_open_all(pass));
    const struct pipeline_sink sink = pass_sink(pass);
    TRY(agree_all(pass->comm, dedisperse_pipeline_create(p->plan, p->backend, p->between, &sink,
                                                         &pass->pipeline)));
    pass->in_bytes = p->plan->read_bytes;
    pass->series_plan = p->plan;
    pass->stage = p->backend;
    return STATUS_OK;
}

/* Prints the result of a search, and its best candidates. */
static status_t pass_summarise_search(const struct dedisperse_pass *p)
{
    status_t st = STATUS_OK;
    const char *file = p->plan->what->search.file;
    struct candidates_file *of = NULL;
    const struct candidate *best = NULL;
    if (!file) {
        goto out;
    }
    TRY_OUT(candidates_open(file, &of));
    for (uint64_t i = 0; i < of->found.count; i++) {
        best = !best || of->found.rows[i].snr > best->snr ? &of->found.rows[i] : best;
    }
    display_print("%s: %s of %s of S/N %g or more", file,
                  units_amount(of->found.count, "candidate", "candidates"),
                  units_amount(of->found.peaks, "peak", "peaks"), of->threshold);
    if (best) {
        display_print("; the best: S/N %.4g, DM %.10g, %.6f s, %llu %s wide", best->snr, best->dm,
                      best->time_s, (unsigned long long)best->width,
                      units_plural(best->width, "sample", "samples"));
    }
    display_print("\n");
out:
    candidates_close(of);
    return st;
}

static status_t pass_summarise(struct pass *pass)
{
    const struct dedisperse_pass *p = (const struct dedisperse_pass *)pass;
    double seconds = p->pass.ended_at - p->pass.started_at;
    if (pass->rank != 0 || pass->options->times) {
        return STATUS_OK;
    }
    const struct dedisperse_plan *plan = p->plan;
    struct pipeline_seconds spent = pipeline_seconds(p->pass.pipeline);
    display_print("%s: dedispersed%s, %s x %s, %s\n", job_series_name(plan->what),
                  plan->what->file ? "" : " and searched",
                  units_amount(plan->delays.ndms, "DM", "DMs"),
                  units_amount(plan->outputs, "time", "times"),
                  units_bytes(plan->delays.ndms * plan->outputs * sizeof(float)));
    display_print("%s of %u channels in %.2f s on %d %s (rank 0: read %.2f s, compute %.2f s, "
                  "write %.2f s)\n",
                  units_amount(p->fbh5->rows, "sample", "samples"), p->fbh5->nchannels, seconds,
                  pass->size, units_plural((uint64_t)pass->size, "rank", "ranks"), spent.read,
                  spent.compute, spent.write);
    if (p->backend == p->between->backend) {
        display_print("%.0f %% of what rank 0 added up had stayed on the device\n",
                      100 * dedisperse_pipeline_carried(p->pass.pipeline));
    }
    return pass_summarise_search(p);
}

static status_t pass_check_input(const struct pass *pass)
{
    return sources_check(&((const struct dedisperse_pass *)pass)->fbh5->storage.sources);
}

status_t dedisperse_pass_all(MPI_Comm comm, const struct job *job, uint32_t number,
                             const struct run_options *options, const struct device_carry *between)
{
    static const struct pass_kind kind = {pass_prepare_all, pass_check_input, pass_summarise};
    struct dedisperse_pass p = {.number = number, .between = between};
    pass_begin(&p.pass, comm, job, options);
    status_t st = pass_do_all(&p.pass, &kind);
    dedisperse_pass_end(&p, st);
    return st;
}

/* Puts the rows of the parts' series into the job's. */
/* The power of the last part is there until the end. */
static void merge_begin(const struct grid *grid, const struct archive *archive,
                        struct dedisperse_pass *p)
{
    p->search = archive;
    p->filterbank = grid->parts[grid->count - 1].job->products[0].file;
}

status_t grid_merge_foresee(const struct grid *grid, const struct grid_part *part,
                            const struct archive *archive, const struct run_options *options,
                            const struct channelise_plan *work, struct dedisperse_pass *out)
{
    merge_begin(grid, archive, out);
    out->filterbank = part ? part->job->products[0].file : out->filterbank;
    pass_begin(&out->pass, MPI_COMM_NULL, grid->job, options);
    TRY(dedisperse_pass_plan_all(out, work));
    TRY(pass_measure(&out->pass));
    dedisperse_plan_end_tables(out->plan);
    return STATUS_OK;
}

/* The parts' files as the pipeline takes them. */
static status_t merge_create(struct dedisperse_pass *p)
{
    struct pass *pass = &p->pass;
    const struct grid *grid = p->grid;
    const struct pipeline_sink sink = pass_sink(pass);
    TRY(memory_zeroed(grid->count, sizeof *p->sources, "parts", &p->sources));
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        p->sources[i] =
            (struct merge_source){part->job->dedisperse[0].file, part->first, part->count};
    }
    return merge_pipeline_create(p->plan, p->sources, grid->count, &sink, &pass->pipeline);
}

static status_t merge_prepare_all(struct pass *pass)
{
    struct dedisperse_pass *p = (struct dedisperse_pass *)pass;
    TRY(dedisperse_pass_plan_all(p, NULL));
    pass_limit(pass, p->plan->backend);
    TRY(pass_open_all(pass));
    TRY(agree_all(pass->comm, merge_create(p)));
    pass->in_bytes = p->plan->delays.ndms * p->plan->outputs * sizeof(float);
    return STATUS_OK;
}

static status_t merge_check_input(const struct pass *pass)
{
    return archive_check_unchanged(((const struct dedisperse_pass *)pass)->search);
}

static status_t merge_summarise(struct pass *pass)
{
    const struct dedisperse_pass *p = (const struct dedisperse_pass *)pass;
    const struct dedisperse_plan *plan = p->plan;
    if (pass->rank == 0 && !pass->options->times) {
        display_print("%s: dedispersed, %s x %s, %s, of %u coherent %s, in %.2f s\n",
                      plan->what->file, units_amount(plan->delays.ndms, "DM", "DMs"),
                      units_amount(plan->outputs, "time", "times"),
                      units_bytes(plan->delays.ndms * plan->outputs * sizeof(float)),
                      p->grid->count, units_plural(p->grid->count, "DM", "DMs"),
                      pass->ended_at - pass->started_at);
    }
    return STATUS_OK;
}

status_t grid_merge_all(MPI_Comm comm, const struct grid *grid, const struct archive *archive,
                        const struct run_options *options)
{
    static const struct pass_kind kind = {merge_prepare_all, merge_check_input, merge_summarise};
    struct dedisperse_pass p = {.number = 0, .grid = grid};
    merge_begin(grid, archive, &p);
    pass_begin(&p.pass, comm, grid->job, options);
    status_t st = pass_do_all(&p.pass, &kind);
    dedisperse_pass_end(&p, st);
    return st;
}
