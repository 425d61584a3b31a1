/* One pass of a job after the other, and what is said of them. */
#include "run/run.h"

#include "base/clock.h"
#include "base/display.h"
#include "base/units.h"
#include "ranks/agree.h"
#include "ranks/progress.h"
#include "ranks/stop.h"
#include "run/passes.h"
#include "run/run_plan.h"
#include "run/share.h"
#include "tune/trial.h"

#include <stdio.h>
#include <string.h>

enum { HOLES_BYTES = 4096 };

static void run_say_what_is_complete(const struct job *job, const struct resume *skip, int rank)
{
    if (rank == 0 && skip->channelise && job->nproducts > 0 && job->ndedisperse > 0) {
        report_note("%s%s complete: goes on with dedispersion", job->products[0].file,
                    job->nproducts > 1 ? " and the other products are" : " is");
    }
    for (uint32_t i = 0; i < job->ndedisperse && rank == 0; i++) {
        if (skip->dedisperse[i]) {
            report_note("%s is complete", job_series_name(&job->dedisperse[i]));
        }
    }
}

/* Writes the result of a search as text, on rank 0, when the search is complete. */
static status_t run_write_table_all(MPI_Comm comm, const struct job *job, uint32_t i,
                                    const struct run_options *options)
{
    return agree_all(comm, agree_rank(comm) == 0
                               ? tables_write(&job->dedisperse[i].search, options->force)
                               : STATUS_OK);
}

/* Nothing is left to do. */
static status_t run_conclude_all(MPI_Comm comm, const struct job *job,
                                 const struct run_options *options)
{
    const int rank = agree_rank(comm);
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(run_write_table_all(comm, job, i, options));
    }
    if (options->was_complete) {
        *options->was_complete = 1;
    } else if (rank == 0) {
        printf("complete before: ");
        for (uint32_t i = 0; i < job_nfiles(job); i++) {
            printf("%s%s", i ? ", " : "", job_file(job, i));
        }
        printf("\n");
    }
    return agree_all(comm, rank == 0 ? resume_judge_holes(job) : STATUS_OK);
}

/* Rows that are NaN do not keep other passes from being done: the first such message waits for the
 * end, so that what fails until then can say why. */
static status_t run_put_off_holes(status_t st, char holes[HOLES_BYTES])
{
    if (st != STATUS_HOLES) {
        return st;
    }
    if (holes[0] == '\0') {
        snprintf(holes, HOLES_BYTES, "%s", report_cause());
    }
    report_clear();
    return STATUS_OK;
}

/* Shares the remaining time to tune among the remaining passes. */
static void run_share_tuning(const struct job *job, const struct run_options *options,
                             const struct resume *skip, uint32_t next)
{
    if (options->tune) {
        options->tune->problems = 0;
        for (uint32_t i = next; i < job->ndedisperse; i++) {
            options->tune->problems += !skip->dedisperse[i];
        }
    }
}

/* One pass after the other. */
static status_t run_passes_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                               const struct run_options *options, const struct resume *skip,
                               double started)
{
    status_t st = STATUS_OK;
    char holes[HOLES_BYTES] = "";
    struct device_carry between = {.are_done = skip->dedisperse};
    run_share_tuning(job, options, skip, 0);
    if (!skip->channelise) {
        if (options->tune) {
            options->tune->problems += job->nfilters + 2; /* the filter bank, and its blocks */
        }
        st = channelise_pass_all(comm, job, archive, options, skip, started, &between);
        TRY_OUT(run_put_off_holes(st, holes));
    }
    const int rank = agree_rank(comm);
    TRY_OUT(agree_all(comm, rank == 0 ? device_carry_note_found(&between, job) : STATUS_OK));
    if (skip->channelise) {
        TRY_OUT(dedisperse_pass_check_all(comm, job, options, skip));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (!skip->dedisperse[i]) {
            run_share_tuning(job, options, skip, i);
            st = dedisperse_pass_all(comm, job, i, options, &between);
            device_carry_pass(&between, job, i);
            TRY_OUT(run_put_off_holes(st, holes));
        }
        TRY_OUT(run_write_table_all(comm, job, i, options));
    }
    REQUIRE_OUT(holes[0] == '\0', STATUS_HOLES, "%s", holes);
out:
    opened_give_back(options->opened, device_carry_end(&between), st);
    return st;
}

/* One part of a semi-coherent search. */
static status_t run_part_all(MPI_Comm comm, struct grid *grid, uint32_t i,
                             const struct archive *archive, const struct run_options *options,
                             double started)
{
    struct grid_part *part = &grid->parts[i];
    const int rank = agree_rank(comm);
    share_bytes_all(comm, &part->left, sizeof part->left);
    if (rank == 0) {
        display_print("coherent DM %.15g (%u of %u), %u %s%s\n", part->coherent_dm, i + 1,
                      grid->count, part->count, units_plural(part->count, "DM", "DMs"),
                      part->left.dedisperse[0] ? ": its series are complete" : "");
    }
    if (!part->left.all) {
        run_say_what_is_complete(part->job, &part->left, rank);
        TRY(run_passes_all(comm, part->job, archive, options, &part->left, started));
    }
    if (rank == 0 && i + 1 < grid->count) {
        grid_remove_power(part);
    }
    return STATUS_OK;
}

/* The parts of a semi-coherent search, then its series. */
static status_t run_parts_all(MPI_Comm comm, const struct run_begin *begun,
                              const struct run_options *options, double started)
{
    status_t st = STATUS_OK;
    struct grid *grid = NULL;
    const int rank = agree_rank(comm);
    TRY_OUT(grid_create_all(comm, begun->job, begun->archive, &grid));
    if (begun->left.all) {
        st = run_conclude_all(comm, begun->job, options);
    } else {
        TRY_OUT(agree_all(comm, rank == 0 ? run_plan_check_parts(grid, begun->archive, options)
                                          : STATUS_OK));
        for (uint32_t i = 0; i < grid->count; i++, started = clock_now()) {
            TRY_OUT(run_part_all(comm, grid, i, begun->archive, options, started));
        }
        st = grid_merge_all(comm, grid, begun->archive, options);
    }
    if (rank == 0 && (st == STATUS_OK || st == STATUS_HOLES)) {
        grid_remove(grid);
    }
out:
    grid_destroy(grid);
    return st;
}

static status_t run_left_all(MPI_Comm comm, const struct run_begin *begun,
                             const struct run_options *options, double started)
{
    if (job_is_semi_coherent(begun->job)) {
        return run_parts_all(comm, begun, options, started);
    }
    if (begun->left.all) {
        return run_conclude_all(comm, begun->job, options);
    }
    run_say_what_is_complete(begun->job, &begun->left, agree_rank(comm));
    return run_passes_all(comm, begun->job, begun->archive, options, &begun->left, started);
}

/* Where the backends are opened. A product "exists already" also when another run of this job has
 * completed it since this one looked: then this one looks again, and does what is left. */
static status_t run_opened_all(MPI_Comm comm, const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run_begin begun;
    double started = clock_now();
    stop_begin(agree_rank(comm) == 0);
    TRY_OUT(run_begin_all(comm, options, &begun));
    do {
        st = run_left_all(comm, &begun, options, started);
    } while (st == STATUS_USAGE && run_was_overtaken_all(comm, options, &begun));
    TRY_OUT(st);
out:
    run_begin_free(&begun);
    return st;
}

status_t run_job_all(MPI_Comm comm, const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run_options run = *options;
    opened_t *own = NULL;
    TRY_OUT(options->opened ? STATUS_OK : opened_create_all(comm, 0, &own));
    run.opened = own ? own : options->opened;
    TRY_OUT(run_opened_all(comm, &run));
out:
    opened_destroy(own);
    return st;
}
