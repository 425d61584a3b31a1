/* Plans dedispersions, their filterbanks there or foreseen, and does them; and the merge of series,
 * whose pipeline copies rows out of the files of several passes. */
#include "base/clock.h"
#include "base/display.h"
#include "input/open.h"
#include "io/file.h"
#include "pipeline/pipeline_kinds.h"
#include "product/candidates.h"
#include "ranks/agree.h"
#include "ranks/stop.h"
#include "run/passes.h"
#include "run/share.h"
#include "tune/problem/problems.h"

#include <inttypes.h>

enum { SLOTS = 3 };

struct slot {
    struct pipeline_slot block; /* of times */
    float *data;                /* [DMs of the chunk][count] */
    char *holes;                /* [DMs of the chunk] 1: some are NaN, as its file says */
};

/* A product of series whose rows are DMs first .. first + count - 1 of the plan, at its times. */
struct merge_source {
    const char *path;
    uint32_t first, count;
};

struct merging {
    const struct dedisperse_plan *plan;
    struct pipeline_sink sink;
    const struct merge_source *sources;
    uint32_t nsources;
    int *fds; /* [nsources] */
    struct product_place *places;
    struct slot slots[SLOTS];
    pipeline_t *pipeline;
};

/* Reads a block's rows and their marks, in the reader thread. */
static status_t merging_read(void *context, void *of)
{
    struct merging *p = context;
    struct slot *slot = of;
    const uint64_t bytes = slot->block.count * sizeof *slot->data;
    uint32_t s = 0; /* the source of the row */
    for (uint64_t i = 0; i < slot->block.chunk.count; i++) {
        const uint64_t dm = slot->block.chunk.first + i;
        while (dm >= (uint64_t)p->sources[s].first + p->sources[s].count) {
            s++;
        }
        const struct product_place *place = &p->places[s];
        const uint64_t row = dm - p->sources[s].first;
        const uint64_t at = place->data_offset + row * place->row_bytes;
        TRY(file_read(p->fds[s], p->sources[s].path, at + slot->block.from * sizeof *slot->data,
                      slot->data + i * slot->block.count, bytes));
        TRY(file_read(p->fds[s], p->sources[s].path, place->holes_offset + row, &slot->holes[i],
                      1));
    }
    return STATUS_OK;
}

/* Puts a block's merged series, in the writer thread. */
static status_t merging_write(void *context, void *of)
{
    struct merging *p = context;
    struct slot *slot = of;
    struct chunk part = slot->block.chunk;
    part.first_stream = (uint32_t)slot->block.from;
    part.streams = (uint32_t)slot->block.count;
    TRY(p->sink.put(p->sink.context, 0, &part, part.first, part.count, slot->data, slot->holes));
    return slot->block.is_last ? p->sink.end(p->sink.context, &slot->block.chunk, NULL) : STATUS_OK;
}

static struct pipeline_block merging_describe(const void *context, const void *of, int is_reading)
{
    const struct merging *p = context;
    const struct slot *slot = of;
    return (struct pipeline_block){is_reading ? p->sources[0].path : p->plan->what->file, "times",
                                   slot->block.from, slot->block.count};
}

static void merging_release(void *context)
{
    struct merging *p = context;
    for (uint32_t i = 0; i < SLOTS; i++) {
        free(memory_move(&p->slots[i].data));
        free(memory_move(&p->slots[i].holes));
    }
}

static void merging_destroy(void *context)
{
    struct merging *p = context;
    for (uint32_t i = 0; p && p->fds && i < p->nsources; i++) {
        file_close(p->fds[i]);
    }
    if (p) {
        merging_release(p);
    }
    MEMORY_FREE(p ? p->fds : NULL, p ? p->places : NULL, p);
}
SCOPED_END_ANY(merging_destroy)

static status_t merging_prepare_files(struct merging *p)
{
    TRY(memory_zeroed(p->nsources, sizeof *p->places, "files", &p->places));
    TRY(memory_zeroed(p->nsources, sizeof *p->fds, "files", &p->fds));
    for (uint32_t i = 0; i < p->nsources; i++) {
        p->fds[i] = -1;
    }
    for (uint32_t i = 0; i < p->nsources; i++) {
        const struct merge_source *source = &p->sources[i];
        const struct product_place *place = &p->places[i];
        const uint64_t row_bytes = p->plan->outputs * sizeof(float);
        TRY(product_find_place(source->path, &p->places[i]));
        REQUIRE(place->rows == source->count && place->row_bytes == row_bytes, STATUS_DATA,
                "%s contains %" PRIu64 " DMs of %" PRIu64 " bytes, expected %u of %" PRIu64,
                source->path, place->rows, place->row_bytes, source->count, row_bytes);
        TRY(file_open_read(source->path, &p->fds[i]));
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        size_t dms = (size_t)p->plan->chunking.chunk_spectra;
        TRY(memory_zeroed(dms * (size_t)p->plan->block_outputs, sizeof(float), "series",
                          &p->slots[i].data));
        TRY(memory_zeroed(dms, 1, "holes", &p->slots[i].holes));
    }
    return STATUS_OK;
}

/* As dedisperse_pipeline_create(); together the sources have all DMs of the plan, in their order.
 * `sources` must outlive it. Fails with DATA, too: a source of other DMs or times. Uses HDF5. */
static status_t merge_pipeline_create(const struct dedisperse_plan *plan,
                                      const struct merge_source *sources, uint32_t nsources,
                                      const struct pipeline_sink *sink, pipeline_t **out)
{
    SCOPED(merging_destroy_at) struct merging *p = NULL;
    TRY(memory_zeroed(1, sizeof *p, "the pipeline", &p));
    p->plan = plan;
    p->sink = *sink;
    p->sources = sources;
    p->nsources = nsources;
    TRY(merging_prepare_files(p));
    struct pipeline_stages stages = {.context = p,
                                     .slots = p->slots,
                                     .slot_bytes = sizeof *p->slots,
                                     .cuts_streams = 1,
                                     .block = p->plan->block_outputs,
                                     .read = merging_read,
                                     .write = merging_write,
                                     .describe = merging_describe,
                                     .release = merging_release,
                                     .destroy = merging_destroy};
    TRY(pipeline_create(SLOTS, &stages, &p->pipeline));
    *out = p->pipeline;
    p = NULL;
    return STATUS_OK;
}

void dedisperse_pass_end(struct dedisperse_pass *p, status_t st)
{
    pass_end(&p->pass, st);
    opened_give_back(p->pass.options ? p->pass.options->opened : NULL, p->opened, st);
    dedisperse_plan_destroy(p->plan);
    fbh5_destroy(p->fbh5);
    free(p->sources);
}

/* Opens the filterbank, on rank 0. */
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
    return share_struct_all(p->pass.comm, st, &fbh5_type, "a filterbank", &p->fbh5);
}

/* As suits now or as it was begun; the same on all ranks. */
static status_t pass_plan_all(struct dedisperse_pass *p)
{
    const struct job *job = p->pass.job;
    struct pass_means means = pass_means_all(&p->pass, job->dedisperse[p->number].backend);
    dedisperse_plan_destroy(memory_move(&p->plan));
    TRY(agree_all(p->pass.comm, dedisperse_plan_create(job, p->number, p->fbh5, means.backend,
                                                       means.most_threads, means.begun, &p->plan)));
    TRY(pass_same_plan_all(&p->pass, &p->plan->chunking));
    p->plan->threads = means.threads;
    return STATUS_OK;
}

/* All that comes before its backend: plans it, of what `work` makes or (NULL) of the filterbank
 * that is there, and claims its product, or only looks (run/pass.h). Collective. Fails with USAGE,
 * DATA, NO_SPACE, DEVICE, STOPPED. */
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

/* Frees what it knows of each DM, which in two steps may be as large as run.memory: for who only
 * says what will be done. */
static void dedisperse_plan_end_tables(struct dedisperse_plan *d)
{
    struct subbands *steps = &d->steps;
    uint32_t **tables[] = {&steps->inner, &steps->outer, &steps->first, &d->each.least,
                           &d->each.most};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        free(memory_move(tables[i]));
    }
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

status_t tuned_ask(const struct tune_problem *problem, backend_t *backend, const void *spec,
                   const struct run_options *options, int may_search, uint64_t memory,
                   const uint32_t *also, struct tuning *out)
{
    enum { LOCKED_FOR = 10 }; /* store_put() waits so long for others */
    const struct tune_request request = {
        .search = {.is_guided = 1, .memory = memory, .repeats = 3, .rounds = 2},
        .budget = options->tune,
        .database = options->database};
    const char *file = options->database ? options->database : "the database of tuned kernels";
    const double patience = options->patience < 0 ? CLOCK_STALL : options->patience;
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    TRY(watchdog_begin_file(patience, LOCKED_FOR, file, "read", &watchdog));
    TRY(tuning_begin(problem, backend, spec, options->database, out));
    watchdog_end(memory_move(&watchdog));
    TRY(options->tune && may_search ? tuning_now(out, &request, also) : STATUS_OK);
    if (out->summary.timed > 0) {
        TRY(watchdog_begin_file(patience, LOCKED_FOR, file, "written", &watchdog));
        TRY(tuning_keep(out, options->database));
    }
    return STATUS_OK;
}

status_t tuned_find(const struct tune_problem *problem, backend_t *backend, const void *spec,
                    uint64_t memory, const struct run_options *options, const char *what,
                    void *shape, size_t bytes, int *is_found)
{
    SCOPED(tuning_end) struct tuning t = {.problem = NULL};
    SCOPED(text_free) struct text words = {0};
    const int has_name = problem == &tune_dedispersion; /* of the nearest problem */
    TRY(tuned_ask(problem, backend, spec, options, 1, memory, NULL, &t));
    *is_found = t.found != TUNE_NOTHING;
    if (*is_found) {
        TRY(tune_problem_words(t.problem, t.values, &words));
        report_note("%s: %s, tuned for %s%s", what, words.data,
                    t.found == TUNE_EXACT ? "this problem"
                    : has_name            ? "the nearest known problem: "
                                          : "one that is near",
                    t.found == TUNE_NEAREST && has_name ? t.from.data : "");
        memcpy(shape, t.values, bytes);
    }
    return STATUS_OK;
}

/* Finds the shape of a stage of dedispersion: of the same problem, else (if the options allow) by a
 * search now, else of the nearest problem; pack is 0 if none is known. Sums do not depend on
 * shapes, so shapes are not stored with a run's files. Rank 0 prints a note on the result. A signal
 * ends the search. Collective. Fails with DEVICE. */
static status_t tuned_dedispersion_all(MPI_Comm comm, backend_t *backend,
                                       const struct dedisperse_spec *spec,
                                       const struct run_options *options,
                                       struct dedisperse_shape *shape)
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

/* Chooses the fastest shape for the first DMs. Those of other DMs are alike. */
static status_t pass_choose_shape_all(struct dedisperse_pass *p)
{
    struct dedisperse_plan *plan = p->plan;
    uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    SCOPED(dm_group_free) struct dm_group group = {.base = 0};
    TRY(agree_all(p->pass.comm, dm_group_create(plan, 0, (uint32_t)count, &group)));
    struct dedisperse_spec spec = dedisperse_plan_stage(plan, &group, plan->block_outputs);
    return tuned_dedispersion_all(p->pass.comm, p->backend, &spec, p->pass.options, &plan->shape);
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
    const char *file = p->plan->what->search.file;
    SCOPED(candidates_close_at) struct candidates_file *of = NULL;
    const struct candidate *best = NULL;
    if (!file) {
        return STATUS_OK;
    }
    TRY(candidates_open(file, &of));
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
    return STATUS_OK;
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
        display_print("%.0f %% of the samples that rank 0 dedispersed were still on the device\n",
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

/* Prepares the last pass. Its filterbank is the power of the last part, which stays until the end.
 */
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

/* Creates the pipeline that merges the parts' files. */
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
