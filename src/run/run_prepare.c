#include "run/agree.h"
#include "run/run_parts.h"
#include "run/setup.h"

#include <stdio.h>
#include <string.h>

enum { MOST_JOB_BYTES = 1 << 20 };

/* Chunks go by number, so a rank that cut otherwise would write other rows: never begin then. */
static status_t check_same_plan_all(MPI_Comm comm, const struct chunking *mine)
{
    status_t st = STATUS_OK;
    struct chunking first = *mine;
    share_bytes_all(comm, &first, sizeof first);
    if (first.spectra != mine->spectra || first.chunk_spectra != mine->chunk_spectra ||
        first.streams != mine->streams || first.group_streams != mine->group_streams) {
        st = report_fail(STATUS_USAGE, "this rank plans other chunks than rank 0: do all run the "
                                       "same program?");
    }
    return agree_all(comm, st);
}

/* AUTO is one backend for all ranks, as their results must be alike: OPENCL if all have a GPU. */
static enum backend_kind settle_backend_all(MPI_Comm comm, enum backend_kind wanted)
{
    int has_opencl = backend_settle(wanted) == BACKEND_OPENCL;
    int all_have = 0;
    MPI_Allreduce(&has_opencl, &all_have, 1, MPI_INT, MPI_MIN, comm);
    return wanted != BACKEND_AUTO ? wanted : all_have ? BACKEND_OPENCL : BACKEND_CPU;
}

/* Devices of two kinds could round differently, and the product would depend on the ranks. */
static status_t check_same_device_all(MPI_Comm comm, const backend_t *backend)
{
    status_t st = STATUS_OK;
    char first[256];
    snprintf(first, sizeof first, "%s", backend_device(backend));
    share_bytes_all(comm, first, sizeof first);
    if (strcmp(first, backend_device(backend)) != 0) {
        st = report_fail(STATUS_DEVICE,
                         "this rank's device is %s, but that of rank 0 is %s: run.device names one "
                         "kind for all",
                         backend_device(backend), first);
    }
    return agree_all(comm, st);
}

/* What rounds the results, for the products' provenance: "cpu, avx2, fftw-3.3.10 plan 1f2e3d4c". */
static status_t describe_arithmetic(struct run *run)
{
    status_t st = STATUS_OK;
    const char *device = backend_device(run->backend);
    TRY(text_add(&run->arithmetic, "%s%s%s", backend_name(run->work->backend), *device ? ", " : "",
                 device));
    if (run->work->channelise.choice.backend != BACKEND_AUTO) {
        TRY(text_add(&run->arithmetic, ", "));
        TRY(channelise_words(&run->work->channelise.choice, &run->arithmetic));
    }
    for (uint32_t i = 0; i < run->job->nproducts; i++) {
        run->work->products[i].spec.arithmetic = run->arithmetic.data;
    }
out:
    return st;
}

/* Opens the backend on every rank; rank 0 finds out how it is fastest, and all do as it says, as
 * do runs that go on with what this one leaves: another way could round otherwise. */
static status_t open_backend_all(struct run *run, int local_rank, int local_size)
{
    status_t st = STATUS_OK;
    struct channelise_spec *spec = &run->work->channelise;
    struct backend_options options = {.device = run->job->device,
                                      .device_memory = run->job->device_memory,
                                      .local_rank = (uint32_t)local_rank,
                                      .local_size = (uint32_t)local_size};
    st = backend_open(run->work->backend, &options, &run->backend);
    TRY(agree_all(run->comm, st));
    TRY(check_same_device_all(run->comm, run->backend));
    uint32_t ability = backend_ability(run->backend);
    MPI_Allreduce(&ability, &spec->ability, 1, MPI_UINT32_T, MPI_MIN, run->comm);
    if (run->begun.is_begun) {
        spec->choice = run->begun.choice;
    } else if (run->rank == 0) {
        st = channelise_choose(run->backend, spec, &spec->choice);
    }
    TRY(agree_all(run->comm, st));
    share_bytes_all(run->comm, &spec->choice, sizeof spec->choice);
    TRY(agree_all(run->comm, describe_arithmetic(run)));
out:
    return st;
}

/* Plans the work, as suits now or as it was begun; the same on all ranks. */
static status_t plan_all(struct run *run, int local_size)
{
    status_t st = STATUS_OK;
    const struct outputs_begun *begun = &run->begun;
    enum backend_kind backend = run->job->backend;
    /* A job that leaves the backend open goes on as it was begun. */
    if (backend == BACKEND_AUTO && begun->is_begun) {
        backend = begun->backend;
    }
    backend = settle_backend_all(run->comm, backend);
    /* Ranks may have different numbers of threads, but there is one plan: that of the most. */
    uint32_t threads = work_threads(run->job, local_size);
    uint32_t most = threads;
    MPI_Allreduce(&threads, &most, 1, MPI_UINT32_T, MPI_MAX, run->comm);
    work_destroy(run->work);
    run->work = NULL;
    st = work_create(run->job, run->archive, backend, most,
                     begun->is_begun ? &begun->chunking : NULL, &run->work);
    TRY(agree_all(run->comm, st));
    run->work->channelise.threads = threads;
    TRY(check_same_plan_all(run->comm, &run->work->chunking));
out:
    return st;
}

/* Rank 0: reads the job's text; puts the name in where it belongs. */
static status_t read_text(const struct run_options *options, struct text *out)
{
    status_t st = STATUS_OK;
    static const char place[] = "{name}";
    struct text whole = {0};
    TRY(text_read_file(&whole, options->path, MOST_JOB_BYTES));
    const char *at = whole.data ? whole.data : "";
    const char *found = options->name ? strstr(at, place) : NULL;
    for (; found; found = strstr(at, place)) {
        TRY(text_add_bytes(out, at, (size_t)(found - at)));
        TRY(text_add(out, "%s", options->name));
        at = found + strlen(place);
    }
    TRY(text_add(out, "%s", at));
out:
    text_free(&whole);
    return st;
}

/* Whether there is nothing left to do for a job of many. */
static int is_complete_all(const struct run *run, const struct run_options *options)
{
    int is_complete = 0;
    if (run->rank == 0 && options->name && !options->force) {
        is_complete = outputs_are_complete(run->job);
    }
    MPI_Bcast(&is_complete, 1, MPI_INT, 0, run->comm);
    return is_complete;
}

/* Everything before the first chunk. */
status_t run_prepare_all(struct run *run, const struct run_options *options)
{
    status_t st = STATUS_OK;
    int local_rank;
    int local_size;
    if (run->rank == 0) {
        st = read_text(options, &run->text);
    }
    TRY(setup_share_all(run->comm, st, options->path, &run->text, options->sets, options->nsets,
                        &run->job, &run->archive));
    run->is_complete = is_complete_all(run, options);
    if (run->is_complete) {
        goto out;
    }
    local_ranks_all(run->comm, &local_rank, &local_size);
    TRY(plan_all(run, local_size));
    struct outputs_options claim = {options->force, options->restart};
    TRY(outputs_claim_all(run->comm, run->job, run->archive, &claim, &run->begun, &run->outputs));
    if (run->begun.is_begun) {
        REQUIRE(!options->times, STATUS_USAGE,
                "%s was begun by a run that did not end: it can be timed when that has been done",
                run->job->products[0].file);
        TRY(plan_all(run, local_size));
    }
    TRY(open_backend_all(run, local_rank, local_size));
    TRY(outputs_open_all(run->outputs, run->work));
    struct pipeline_sink sink = {run->outputs, outputs_put, outputs_end};
    st = pipeline_create(run->work, run->backend, &sink, &run->pipeline);
    TRY(agree_all(run->comm, st));
out:
    return st;
}
