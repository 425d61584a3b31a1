#include "run/run.h"

#include "base/clock.h"
#include "base/text.h"
#include "job/yaml/yaml_file.h"
#include "output/protect.h"
#include "ranks/agree.h"
#include "ranks/progress.h"
#include "ranks/stop.h"
#include "run/channelise_pass.h"
#include "run/dedisperse_pass.h"
#include "run/resume.h"
#include "run/share.h"
#include "tune/budget.h"
#include "tune/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOLES_BYTES = 4096 };

/* A block takes a second or so, but a file system may be away for minutes and come back. */
static const double default_patience = 300;

/* The reference works in the main thread, for minutes at a block. */
double run_patience(const struct run_options *options, enum backend_kind backend)
{
    double otherwise = backend_abilities(backend)->is_reference ? 0 : default_patience;
    return options->patience < 0 ? otherwise : options->patience;
}

/* Before anything is made, removed or truncated. */
static status_t run_protect_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                                const struct run_options *options)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    char *own = rank == 0 && options->tune && !options->database ? store_own() : NULL;
    const struct protect_other others[] = {
        {"--database", options->database}, {"--csv", options->csv}, {"the database", own}};
    status_t st = rank == 0 ? protect_job(job, archive, others, 3) : STATUS_OK;
    free(own);
    return agree_all(comm, st);
}

/* What is left to do, as rank 0 sees it, on all ranks. */
static status_t run_find_left_all(MPI_Comm comm, const struct job *job,
                                  const struct archive *archive, const struct run_options *options,
                                  struct resume *out)
{
    status_t st = STATUS_OK;
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        struct resume_options skip = {.force = options->force};
        st = resume_find(job, archive, &skip, out);
    }
    TRY(agree_all(comm, st));
    share_bytes_all(comm, out, sizeof *out);
    REQUIRE(!options->times || !out->channelise || !archive, STATUS_USAGE,
            "%s exists already: --force replaces it", job_file(job, 0));
    REQUIRE(!options->times || job->ndedisperse == 0, STATUS_USAGE,
            "%s: bench run times filter banks, not dedispersions", job->path);
out:
    return st;
}

static void run_say_what_is_complete(const struct job *job, const struct resume *skip, int rank)
{
    if (rank == 0 && skip->channelise && job->nproducts > 0 && job->ndedisperse > 0) {
        report_note("%s%s complete: goes on with dedispersion", job->products[0].file,
                    job->nproducts > 1 ? " and the other products are" : " is");
    }
    for (uint32_t i = 0; i < job->ndedisperse && rank == 0; i++) {
        if (skip->dedisperse[i]) {
            report_note("%s is complete", job->dedisperse[i].file);
        }
    }
}

/* Nothing is left to do. */
static status_t run_conclude_all(MPI_Comm comm, const struct job *job,
                                 const struct run_options *options)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
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

/* What is left of the time to tune is shared by the passes that are left. */
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
            options->tune->problems += 2; /* the filter bank, and its blocks */
        }
        st = channelise_pass_all(comm, job, archive, options, started, &between);
        TRY(run_put_off_holes(st, holes));
    }
    int rank;
    MPI_Comm_rank(comm, &rank);
    TRY(agree_all(comm, rank == 0 ? device_carry_note_found(&between, job) : STATUS_OK));
    if (job->channels == 0) {
        TRY(dedisperse_pass_check_filterbank_all(comm, job, skip));
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (!skip->dedisperse[i]) {
            run_share_tuning(job, options, skip, i);
            st = dedisperse_pass_all(comm, job, i, options, &between);
            device_carry_pass(&between, job, i);
            TRY(run_put_off_holes(st, holes));
        }
    }
    REQUIRE(holes[0] == '\0', STATUS_HOLES, "%s", holes);
out:
    device_carry_end(&between);
    return st;
}

status_t run_job_all(MPI_Comm comm, const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct text text = {0};
    struct job *job = NULL;
    struct archive *archive = NULL;
    struct resume skip = {.channelise = 0};
    double started = clock_now();
    int rank;
    MPI_Comm_rank(comm, &rank);
    stop_begin(rank == 0);
    if (rank == 0) {
        st = text_read_file(&text, options->path, YAML_FILE_BYTES);
    }
    TRY(share_job_all(comm, st, options->path, &text, options->sets, options->nsets, options->each,
                      &job, &archive));
    TRY(run_protect_all(comm, job, archive, options));
    TRY(run_find_left_all(comm, job, archive, options, &skip));
    if (skip.all) {
        TRY(run_conclude_all(comm, job, options));
    } else {
        run_say_what_is_complete(job, &skip, rank);
        TRY(run_passes_all(comm, job, archive, options, &skip, started));
    }
out:
    archive_destroy(archive);
    job_destroy(job);
    text_free(&text);
    return st;
}
