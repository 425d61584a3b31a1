#include "run/channelise_pass.h"

#include "base/clock.h"
#include "base/display.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "pipeline/channelise_pipeline.h"
#include "ranks/agree.h"
#include "run/dedisperse_pass.h"
#include "run/pass.h"
#include "run/share.h"
#include "run/tuned.h"

#include <stdio.h>
#include <string.h>

struct run {
    MPI_Comm comm;
    int rank, size;
    struct text arithmetic;
    const struct job *job;
    const struct archive *archive;
    struct channelise_plan *work;
    backend_t *backend;
    struct pass pass;
    struct device_carry *between;
    uint64_t block; /* spectra of all streams, as tuned; 0: as suits */
};

static void pass_run_end(struct run *run)
{
    pass_end(&run->pass);
    if (run->backend) {
        device_carry_end(run->between); /* device-resident rows go before their backend */
    }
    backend_close(run->backend);
    channelise_plan_destroy(run->work);
    text_free(&run->arithmetic);
}

/* What rounds the results, for the products' provenance: "cpu, avx2, fftw-3.3.10 plan 1f2e3d4c". */
static status_t pass_describe_arithmetic(struct run *run)
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
static status_t pass_open_backend_all(struct run *run, const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct channelise_spec *spec = &run->work->channelise;
    TRY(share_backend_all(run->comm, run->job, run->work->backend, &run->backend));
    uint32_t ability = backend_ability(run->backend);
    MPI_Allreduce(&ability, &spec->ability, 1, MPI_UINT32_T, MPI_MIN, run->comm);
    if (run->pass.begun.is_begun) {
        spec->choice = run->pass.begun.choice;
    } else if (run->rank == 0) {
        st = tuned_filter_bank(run->backend, spec, run->work->stage_bytes, options, &spec->choice);
    }
    TRY(agree_all(run->comm, st));
    share_bytes_all(run->comm, &spec->choice, sizeof spec->choice);
out:
    return st;
}

/* Plans the work, as suits now or as it was begun; the same on all ranks. */
static status_t pass_plan_all(struct run *run, int local_size)
{
    status_t st = STATUS_OK;
    const struct outputs_begun *begun = &run->pass.begun;
    enum backend_kind backend = run->job->backend;
    /* A job that leaves the backend open goes on as it was begun. */
    if (backend == BACKEND_AUTO && begun->is_begun) {
        backend = begun->backend;
    }
    backend = share_settle_backend_all(run->comm, backend);
    /* Ranks may have different numbers of threads, but there is one plan: that of the most. */
    uint32_t threads = channelise_plan_threads(run->job, local_size);
    uint32_t most = threads;
    MPI_Allreduce(&threads, &most, 1, MPI_UINT32_T, MPI_MAX, run->comm);
    channelise_plan_destroy(run->work);
    run->work = NULL;
    const struct channelise_plan_cut cut = {.begun = begun->is_begun ? &begun->chunking : NULL,
                                            .block = run->block};
    st = channelise_plan_create(run->job, run->archive, backend, most, &cut, &run->work);
    TRY(agree_all(run->comm, st));
    run->work->channelise.threads = threads;
    TRY(pass_check_same_plan_all(run->comm, &run->work->chunking));
out:
    return st;
}

/* Plans the work once more where it is known how long blocks should be; rank 0 looks, or tunes. */
static status_t pass_cut_as_tuned_all(struct run *run, const struct run_options *options,
                                      int local_size)
{
    status_t st = STATUS_OK;
    const struct channelise_choice choice = run->work->channelise.choice;
    uint32_t ability = run->work->channelise.ability;
    if (run->rank == 0) {
        st = tuned_blocks(run->backend, run->work, run->pass.begun.is_begun, options, &run->block);
    }
    TRY(agree_all(run->comm, st));
    share_bytes_all(run->comm, &run->block, sizeof run->block);
    if (run->block > 0) {
        TRY(pass_plan_all(run, local_size));
        run->work->channelise.choice = choice;
        run->work->channelise.ability = ability;
    }
out:
    return st;
}

/* Everything before the first chunk. */
static status_t pass_prepare_all(struct run *run, const struct run_options *options)
{
    status_t st = STATUS_OK;
    int local_rank;
    int local_size;
    st = output_spec_of_products(run->job, run->archive, &run->pass.making);
    TRY(agree_all(run->comm, st));
    local_ranks_all(run->comm, &local_rank, &local_size);
    TRY(pass_plan_all(run, local_size));
    /* What cannot be dedispersed is found before the work. */
    st = run->rank == 0 ? dedisperse_pass_check(run->work) : STATUS_OK;
    TRY(agree_all(run->comm, st));
    struct outputs_options claim = {.force = options->force, .restart = options->restart};
    TRY(outputs_claim_all(run->comm, &run->pass.making, &claim, &run->pass.begun,
                          &run->pass.outputs));
    if (run->pass.begun.is_begun) {
        REQUIRE(!options->times, STATUS_USAGE,
                "%s was begun by a run that did not end: it can be timed when that has been done",
                run->job->products[0].file);
        TRY(pass_plan_all(run, local_size));
    }
    TRY(pass_open_backend_all(run, options));
    TRY(pass_cut_as_tuned_all(run, options, local_size));
    TRY(agree_all(run->comm, pass_describe_arithmetic(run)));
    output_spec_plan_products(&run->pass.making, run->work);
    st = run->rank == 0 ? dedisperse_pass_check_room(run->work, &run->pass.making) : STATUS_OK;
    TRY(agree_all(run->comm, st));
    run->pass.patience = run_patience(options, run->work->backend);
    TRY(pass_open_all(&run->pass));
    struct pipeline_sink sink = {run->pass.outputs, outputs_put, outputs_end};
    st = channelise_pipeline_create(run->work, run->backend, &sink, run->between->resident,
                                    &run->pass.pipeline);
    TRY(agree_all(run->comm, st));
    /* Who is no device's does not wake OpenCL up. */
    run->between->automatic = backend_abilities(run->work->backend)->has_device
                                  ? share_settle_backend_all(run->comm, BACKEND_AUTO)
                                  : backend_automatic(0);
    st = device_carry_begin(run->between, run->backend, run->work);
    TRY(agree_all(run->comm, st));
out:
    return st;
}

static status_t pass_print_notes(const struct run *run, uint64_t missing)
{
    status_t st = STATUS_OK;
    struct text notes = {0};
    char count[UNITS_TEXT];
    TRY(channelise_plan_notes(run->work, &notes));
    if (missing > 0) {
        TRY(text_add(&notes,
                     "%s %s missing (not a number, or the missing value): taken as zero "
                     "volts\n",
                     units_count(missing, count),
                     units_plural(missing, "sample was", "samples were")));
    }
    for (const char *line = notes.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        display_print("note: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
out:
    text_free(&notes);
    return st;
}

static status_t pass_summarise(const struct run *run, double seconds)
{
    status_t st = STATUS_OK;
    double chunks = (double)chunk_count(&run->work->chunking);
    double part = 1 - (double)run->pass.before / chunks;
    const struct channelise_plan *work = run->work;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    TRY(pass_print_notes(run, outputs_missing(run->pass.outputs)));
    for (uint32_t i = 0; i < run->job->nproducts; i++) {
        const struct channelise_plan_product *product = &work->products[i];
        display_print(
            "%s: %s, %s %s x %u %s x %u %s, %s\n", run->job->products[i].file,
            product_name(product->spec.kind), units_count(product->spec.rows, a),
            product->spec.integrate > 1 ? units_plural(product->spec.rows, "dump", "dumps")
                                        : units_plural(product->spec.rows, "spectrum", "spectra"),
            run->archive->nstreams, units_plural(run->archive->nstreams, "stream", "streams"),
            product->spec.nchannels, units_plural(product->spec.nchannels, "channel", "channels"),
            units_bytes(product->spec.rows * product->row_bytes, b));
    }
    struct pipeline_seconds spent = pipeline_seconds(run->pass.pipeline);
    display_print("%s %s of %u %s in %.2f s on %d %s: in %.1f MB/s, out %.1f MB/s (rank 0: "
                  "read %.2f s, compute %.2f s, write %.2f s)\n",
                  units_count(run->archive->samples, a),
                  units_plural(run->archive->samples, "sample", "samples"), run->archive->nstreams,
                  units_plural(run->archive->nstreams, "stream", "streams"), seconds, run->size,
                  units_plural((uint64_t)run->size, "rank", "ranks"),
                  part * (double)work->input_bytes / seconds / 1e6,
                  part * (double)outputs_bytes(run->pass.outputs) / seconds / 1e6, spent.read,
                  spent.compute, spent.write);
out:
    return st;
}

/* Of what this run has made. */
static void pass_warn_of_range_all(const struct run *run)
{
    char count[UNITS_TEXT];
    for (uint32_t i = 0; i < run->job->nproducts; i++) {
        uint64_t large = 0;
        uint64_t small = 0;
        channelise_pipeline_range(run->pass.pipeline, i, &large, &small);
        large = sum_u64_all(run->comm, large);
        small = sum_u64_all(run->comm, small);
        if (run->rank == 0 && large > 0) {
            report_warn("%s: %s powers are infinite: beyond 3.4e38, the largest 32-bit float: the "
                        "archive's volts are too large",
                        run->job->products[i].file, units_count(large, count));
        }
        if (run->rank == 0 && small > 0) {
            report_warn(
                "%s: %s powers are 0 or have lost digits: below 1.2e-38, the smallest whole "
                "32-bit float: the archive's volts are too small",
                run->job->products[i].file, units_count(small, count));
        }
    }
}

static struct run_times pass_times_of(const struct run *run, double before, double total)
{
    struct pipeline_seconds spent = pipeline_seconds(run->pass.pipeline);
    return (struct run_times){.total = total,
                              .before = before,
                              .read = spent.read,
                              .compute = spent.compute,
                              .write = spent.write,
                              .samples = (double)run->archive->samples * run->archive->nstreams,
                              .in_bytes = (double)run->work->input_bytes,
                              .out_bytes = (double)outputs_bytes(run->pass.outputs)};
}

/* Says where the times went, to whom it was asked for. */
static status_t pass_conclude(const struct run *run, const struct run_options *options,
                              double before, double total, double after)
{
    status_t st = STATUS_OK;
    if (options->times) {
        *options->times = pass_times_of(run, before, total);
        options->times->after = after;
    } else if (run->rank == 0) {
        TRY(pass_summarise(run, total));
    }
out:
    return st;
}

status_t channelise_pass_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                             const struct run_options *options, double started,
                             struct device_carry *between)
{
    status_t st = STATUS_OK;
    struct run run = {
        .comm = comm, .job = job, .archive = archive, .pass.comm = comm, .between = between};
    MPI_Comm_rank(comm, &run.rank);
    run.pass.rank = run.rank;
    MPI_Comm_size(comm, &run.size);
    TRY(pass_prepare_all(&run, options));
    double ready = clock_now();
    if (options->before) {
        TRY(options->before(options->context, comm, run.work, run.backend));
    }
    double begun = clock_now();
    pass_say_where_it_goes_on(&run.pass);
    run.pass.in_bytes = run.work->input_bytes;
    TRY(pass_work_off_all(&run.pass, options->progress));
    double worked = clock_now();
    TRY(agree_all(comm, run.rank == 0 ? archive_check_unchanged(archive) : STATUS_OK));
    TRY(pass_finish_all(&run.pass));
    for (uint32_t i = 0; i < job->nproducts && run.rank == 0; i++) {
        between->files[i] = *outputs_identity(run.pass.outputs, i);
    }
    double ended = clock_now();
    pass_warn_of_range_all(&run);
    st = pass_conclude(&run, options, ready - started, ended - begun + ready - started,
                       ended - worked);
    TRY(agree_all(comm, st));
    if (device_carry_leave(between, run.backend, run.work)) {
        run.backend = NULL;
    }
    st = run.rank == 0 ? pass_judge_holes(&run.pass) : STATUS_OK;
    TRY(agree_all(comm, st));
out:
    if (run.rank == 0 && st != STATUS_OK && st != STATUS_STOPPED && st != STATUS_HOLES) {
        pass_say_what_is_kept(&run.pass);
    }
    pass_run_end(&run);
    return st;
}
