#include "run/agree.h"
#include "run/run_parts.h"
#include "run/stop.h"

#include <stdio.h>

/* A block takes a second or so, but a file system may be away for minutes and come back. */
static const double default_patience = 300;

static void run_end(struct run *run)
{
    pipeline_destroy(run->pipeline);
    outputs_destroy(run->outputs);
    backend_close(run->backend);
    work_destroy(run->work);
    archive_destroy(run->archive);
    job_destroy(run->job);
    text_free(&run->text);
    text_free(&run->arithmetic);
}

static status_t process(void *context, driver_t *driver, uint64_t index)
{
    struct run *run = context;
    struct chunk chunk = chunk_at(&run->work->chunking, index);
    return pipeline_chunk(run->pipeline, driver, &chunk);
}

static status_t finish(void *context, driver_t *driver)
{
    return pipeline_finish(((struct run *)context)->pipeline, driver);
}

static void abandon(void *context)
{
    const struct run *run = context;
    outputs_abandon(run->outputs);
    run_say_what_is_kept(run);
}

static int is_done(void *context, uint64_t chunk)
{
    return outputs_is_done(((struct run *)context)->outputs, chunk);
}

static status_t tell(void *context, struct text *out)
{
    return outputs_tell(((struct run *)context)->outputs, out);
}

static status_t take(void *context, const char *data, size_t bytes)
{
    return outputs_take(((struct run *)context)->outputs, data, bytes);
}

static void hurry(void *context)
{
    outputs_hurry(((struct run *)context)->outputs);
    stop_limit(STATUS_STOPPED);
}

static void failing(void *context, status_t st)
{
    outputs_hurry(((struct run *)context)->outputs);
    stop_limit(st);
}

static int hangs(void *context)
{
    return pipeline_hangs(((struct run *)context)->pipeline);
}

static status_t settle(void *context)
{
    return outputs_settle(((struct run *)context)->outputs);
}

/* Works off what is not done. Collective. */
static status_t work_off_all(struct run *run, double every)
{
    status_t st = STATUS_OK;
    char count[2 * UNITS_TEXT + 16];
    uint64_t chunks = chunk_count(&run->work->chunking);
    struct driver_work work = {.chunks = chunks,
                               .context = run,
                               .process = process,
                               .finish = finish,
                               .abandon = abandon,
                               .is_done = is_done,
                               .tell = tell,
                               .take = take,
                               .wants_stop = stop_wanted,
                               .hurry = hurry,
                               .failing = failing,
                               .hangs = hangs,
                               .patience = run->patience,
                               .file = run->job->products[0].file,
                               .settle = settle};
    struct progress progress = {.every = every,
                                .what = "chunks",
                                .total = chunks,
                                .before = run->before,
                                .in_bytes = run->work->input_bytes,
                                .out_bytes = outputs_bytes(run->outputs)};
    st = driver_run_all(run->comm, &work, &progress);
    if (st == STATUS_STOPPED && run->rank == 0) {
        run_count_done(run, count);
        report_fail(st, "%s are done; the same command goes on", count);
    }
    return st;
}

static struct run_times times_of(const struct run *run, double before, double total)
{
    struct pipeline_seconds spent = pipeline_seconds(run->pipeline);
    return (struct run_times){.total = total,
                              .before = before,
                              .read = spent.read,
                              .compute = spent.compute,
                              .write = spent.write,
                              .samples = (double)run->archive->samples * run->archive->nstreams,
                              .in_bytes = (double)run->work->input_bytes,
                              .out_bytes = (double)outputs_bytes(run->outputs)};
}

/* Says where the times went, to whom it was asked for. */
static status_t conclude(const struct run *run, const struct run_options *options, double before,
                         double total, double after)
{
    status_t st = STATUS_OK;
    if (options->times) {
        *options->times = times_of(run, before, total);
        options->times->after = after;
    } else if (run->rank == 0) {
        TRY(run_summarise(run, total));
    }
out:
    return st;
}

/* The reference works in the main thread, for minutes at a block. */
static void set_patience(struct run *run, double wanted)
{
    int is_slow = run->work->backend == BACKEND_REFERENCE;
    run->patience = wanted >= 0 ? wanted : is_slow ? 0 : default_patience;
    pipeline_limit(run->pipeline, run->patience);
}

status_t run_job_all(MPI_Comm comm, const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run run = {.comm = comm};
    MPI_Comm_rank(comm, &run.rank);
    MPI_Comm_size(comm, &run.size);
    double started = progress_now();
    stop_begin(run.rank == 0);
    TRY(run_prepare_all(&run, options));
    if (options->was_complete) {
        *options->was_complete = run.is_complete;
    }
    if (run.is_complete) {
        goto out;
    }
    double ready = progress_now();
    if (options->before) {
        TRY(options->before(options->context, comm, run.work, run.backend));
    }
    double begun = progress_now();
    if (run.rank == 0 && run.begun.is_begun) {
        run.before = outputs_done(run.outputs);
        run_say_where_it_goes_on(&run);
    }
    set_patience(&run, options->patience);
    TRY(work_off_all(&run, options->progress));
    double worked = progress_now();
    TRY(outputs_finish_all(run.outputs));
    double ended = progress_now();
    TRY(conclude(&run, options, ready - started, ended - begun + ready - started, ended - worked));
    st = run.rank == 0 ? run_judge_holes(&run) : STATUS_OK;
    TRY(agree_all(comm, st));
out:
    if (run.rank == 0 && st != STATUS_OK && st != STATUS_STOPPED && st != STATUS_HOLES) {
        run_say_what_is_kept(&run);
    }
    run_end(&run);
    return st;
}
