#include "run/dedisperse_pass.h"

#include "base/clock.h"
#include "base/display.h"

#include "archive/fbh5/fbh5.h"
#include "base/memory.h"
#include "base/units.h"
#include "output/room.h"
#include "pipeline/dedisperse_pipeline.h"
#include "ranks/agree.h"
#include "run/pass.h"
#include "run/share.h"
#include "run/tuned.h"

#include <stdio.h>

struct dedispersing {
    MPI_Comm comm;
    int rank, size;
    const struct job *job;
    uint32_t number;
    struct fbh5 *fbh5;
    struct dedisperse_plan *plan;
    const struct device_carry *between;
    backend_t *opened;  /* this pass's own; NULL: an earlier one's */
    backend_t *backend; /* either */
    struct pass pass;
};

static void end(struct dedispersing *run)
{
    pass_end(&run->pass);
    backend_close(run->opened);
    dedisperse_plan_destroy(run->plan);
    fbh5_destroy(run->fbh5);
}

status_t dedisperse_pass_open_filterbank_all(MPI_Comm comm, const struct job *job, uint32_t number,
                                             struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct text packed = {0};
    struct fbh5 *fbh5 = NULL;
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        st = fbh5_open(job_filterbank(job, number), &fbh5);
        st = st == STATUS_OK ? fbh5_load_band(fbh5) : st;
        st = st == STATUS_OK && job->on_bad != ON_BAD_NAN ? fbh5_check_whole(fbh5) : st;
        st = st == STATUS_OK ? fbh5_pack(fbh5, &packed) : st;
    }
    TRY(agree_all(comm, st));
    TRY(share_text_all(comm, &packed));
    if (rank != 0) {
        struct unpack in = {.data = packed.data, .length = packed.length};
        st = fbh5_unpack(&in, &fbh5);
    }
    TRY(agree_all(comm, st));
    *out = fbh5;
    fbh5 = NULL;
out:
    fbh5_destroy(fbh5);
    text_free(&packed);
    return st;
}

/* Whether one of them can be done; adds its room. */
static status_t pass_check(const struct job *job, uint32_t number, const struct fbh5 *fbh5,
                           uint32_t threads, struct room *room)
{
    status_t st = STATUS_OK;
    struct dedisperse_plan *plan = NULL;
    struct output_spec making = {0};
    TRY(dedisperse_plan_create(job, number, fbh5, backend_settle(job->dedisperse[number].backend),
                               threads, NULL, &plan));
    TRY(output_spec_of_series(job, number, fbh5->path, NULL, &making));
    output_spec_plan_series(&making, plan);
    TRY(room_add_making(room, &making));
out:
    output_spec_free(&making);
    dedisperse_plan_destroy(plan);
    return st;
}

static status_t pass_check_foreseen(const struct channelise_plan *work, struct room *room)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    for (uint32_t i = 0; i < work->job->ndedisperse; i++) {
        TRY(dedisperse_plan_foresee(work, work->job->dedisperse[i].input, &fbh5));
        TRY(pass_check(work->job, i, fbh5, work->channelise.threads, room));
        fbh5_destroy(fbh5);
        fbh5 = NULL;
    }
out:
    fbh5_destroy(fbh5);
    return st;
}

status_t dedisperse_pass_check(const struct channelise_plan *work)
{
    struct room room = {.count = 0};
    return pass_check_foreseen(work, &room);
}

status_t dedisperse_pass_check_room(const struct channelise_plan *work,
                                    const struct output_spec *making)
{
    status_t st = STATUS_OK;
    struct room room = {.count = 0};
    TRY(room_add_making(&room, making));
    TRY(pass_check_foreseen(work, &room));
    TRY(room_check(&room));
out:
    return st;
}

static status_t pass_check_filterbank(const struct job *job, const struct resume *skip,
                                      uint32_t threads)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct room room = {.count = 0};
    TRY(fbh5_open(job_filterbank(job, 0), &fbh5));
    TRY(fbh5_load_band(fbh5));
    TRY(job->on_bad == ON_BAD_NAN ? STATUS_OK : fbh5_check_whole(fbh5));
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (!skip->dedisperse[i]) {
            TRY(pass_check(job, i, fbh5, threads, &room));
        }
    }
    TRY(room_check(&room));
out:
    fbh5_destroy(fbh5);
    return st;
}

status_t dedisperse_pass_check_filterbank_all(MPI_Comm comm, const struct job *job,
                                              const struct resume *skip)
{
    int rank;
    int local_rank;
    int local_size;
    MPI_Comm_rank(comm, &rank);
    local_ranks_all(comm, &local_rank, &local_size);
    return agree_all(
        comm, rank == 0 ? pass_check_filterbank(job, skip, channelise_plan_threads(job, local_size))
                        : STATUS_OK);
}

/* Plans it, as suits now or as it was begun; the same on all ranks. */
static status_t pass_plan_all(struct dedispersing *run)
{
    status_t st = STATUS_OK;
    const struct outputs_begun *begun = &run->pass.begun;
    enum backend_kind backend = run->job->dedisperse[run->number].backend;
    int local_rank;
    int local_size;
    if (backend == BACKEND_AUTO && begun->is_begun) {
        backend = begun->backend;
    }
    backend = share_settle_backend_all(run->comm, backend);
    local_ranks_all(run->comm, &local_rank, &local_size);
    uint32_t threads = channelise_plan_threads(run->job, local_size);
    uint32_t most = threads;
    MPI_Allreduce(&threads, &most, 1, MPI_UINT32_T, MPI_MAX, run->comm);
    dedisperse_plan_destroy(run->plan);
    run->plan = NULL;
    st = dedisperse_plan_create(run->job, run->number, run->fbh5, backend, most,
                                begun->is_begun ? &begun->chunking : NULL, &run->plan);
    TRY(agree_all(run->comm, st));
    run->plan->threads = threads;
    TRY(pass_check_same_plan_all(run->comm, &run->plan->chunking));
out:
    return st;
}

/* How the first DMs' stage is fastest; the others' are like it. */
static status_t pass_choose_shape_all(struct dedispersing *run, const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct dedisperse_plan *plan = run->plan;
    uint64_t count = min_u64(plan->chunking.chunk_spectra, plan->delays.ndms);
    struct dm_group group = {.base = 0};
    st = dm_group_create(plan, 0, (uint32_t)count, &group);
    TRY(agree_all(run->comm, st));
    struct dedisperse_spec spec = dedisperse_plan_stage(plan, &group, plan->block_outputs);
    TRY(tuned_dedispersion_all(run->comm, run->backend, &spec, options, &plan->shape));
out:
    dm_group_free(&group);
    return st;
}

/* That of an earlier pass, if it is of the kind. */
static status_t pass_open_backend_all(struct dedispersing *run)
{
    status_t st = STATUS_OK;
    backend_t *there = run->between->backend;
    if (!there || backend_which(there) != run->plan->backend) {
        TRY(share_backend_all(run->comm, run->job, run->plan->backend, &run->opened));
        there = run->opened;
    }
    run->backend = there;
out:
    return st;
}

static status_t pass_prepare_all(struct dedispersing *run, const struct run_options *options)
{
    status_t st = STATUS_OK;
    TRY(dedisperse_pass_open_filterbank_all(run->comm, run->job, run->number, &run->fbh5));
    st = run->rank == 0 ? device_carry_check(run->between, run->job, run->number, run->fbh5)
                        : STATUS_OK;
    TRY(agree_all(run->comm, st));
    TRY(pass_plan_all(run));
    st =
        output_spec_of_series(run->job, run->number, run->fbh5->path, run->fbh5, &run->pass.making);
    TRY(agree_all(run->comm, st));
    struct outputs_options claim = {.force = options->force, .restart = options->restart};
    TRY(outputs_claim_all(run->comm, &run->pass.making, &claim, &run->pass.begun,
                          &run->pass.outputs));
    if (run->pass.begun.is_begun) {
        TRY(pass_plan_all(run));
    }
    TRY(pass_open_backend_all(run));
    TRY(pass_choose_shape_all(run, options));
    output_spec_plan_series(&run->pass.making, run->plan);
    run->pass.patience = run_patience(options, run->plan->backend);
    TRY(pass_open_all(&run->pass));
    struct pipeline_sink sink = {run->pass.outputs, outputs_put, outputs_end};
    st = dedisperse_pipeline_create(run->plan, run->backend, run->between, &sink,
                                    &run->pass.pipeline);
    TRY(agree_all(run->comm, st));
out:
    return st;
}

static void pass_summarise(const struct dedispersing *run, double seconds)
{
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    char c[UNITS_TEXT];
    const struct dedisperse_plan *plan = run->plan;
    struct pipeline_seconds spent = pipeline_seconds(run->pass.pipeline);
    display_print("%s: dedispersed, %s %s x %s %s, %s\n", plan->what->file,
                  units_count(plan->delays.ndms, a), units_plural(plan->delays.ndms, "DM", "DMs"),
                  units_count(plan->outputs, b), units_plural(plan->outputs, "time", "times"),
                  units_bytes(plan->delays.ndms * plan->outputs * sizeof(float), c));
    display_print("%s %s of %u channels in %.2f s on %d %s (rank 0: read %.2f s, compute %.2f s, "
                  "write %.2f s)\n",
                  units_count(run->fbh5->rows, a),
                  units_plural(run->fbh5->rows, "sample", "samples"), run->fbh5->nchannels, seconds,
                  run->size, units_plural((uint64_t)run->size, "rank", "ranks"), spent.read,
                  spent.compute, spent.write);
    if (run->backend == run->between->backend) {
        display_print("%.0f %% of what rank 0 added up had stayed on the device\n",
                      100 * dedisperse_pipeline_carried(run->pass.pipeline));
    }
}

status_t dedisperse_pass_all(MPI_Comm comm, const struct job *job, uint32_t number,
                             const struct run_options *options, const struct device_carry *between)
{
    status_t st = STATUS_OK;
    struct dedispersing run = {
        .comm = comm, .job = job, .number = number, .pass.comm = comm, .between = between};
    MPI_Comm_rank(comm, &run.rank);
    MPI_Comm_size(comm, &run.size);
    run.pass.rank = run.rank;
    double started = clock_now();
    TRY(pass_prepare_all(&run, options));
    pass_say_where_it_goes_on(&run.pass);
    run.pass.in_bytes = run.plan->read_bytes;
    TRY(pass_work_off_all(&run.pass, options->progress));
    TRY(agree_all(comm, run.rank == 0 ? fbh5_check_unchanged(run.fbh5) : STATUS_OK));
    TRY(pass_finish_all(&run.pass));
    if (run.rank == 0) {
        pass_summarise(&run, clock_now() - started);
        st = pass_judge_holes(&run.pass);
    }
    TRY(agree_all(comm, st));
out:
    if (run.rank == 0 && st != STATUS_OK && st != STATUS_STOPPED && st != STATUS_HOLES) {
        pass_say_what_is_kept(&run.pass);
    }
    end(&run);
    return st;
}
