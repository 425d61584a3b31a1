/* Begins a job on all ranks, or alone, and plans its passes. */
#include "run/run_plan.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/file.h"
#include "job/yaml/yaml_file.h"
#include "output/output_spec.h"
#include "product/candidates.h"
#include "product/export/export_file.h"
#include "ranks/agree.h"
#include "run/passes.h"
#include "run/share.h"
#include "tune/store.h"

#include <stdlib.h>
#include <string.h>

/* Compares a table with what is there, and writes it. */
enum { MOST_BYTES = 1 << 30 };

struct table {
    struct text words; /* none: the search is not complete */
    uint64_t count;
    int is_there, is_same; /* the file in its place, and as its text */
};

static status_t tables_look(const struct job_search *search, int is_complete, struct table *out)
{
    status_t st = STATUS_OK;
    struct candidates_file *in = NULL;
    struct text there = {0};
    if (is_complete) {
        TRY_OUT(candidates_open(search->file, &in));
        TRY_OUT(candidates_csv(&in->found, &out->words));
        out->count = in->found.count;
    }
    TRY_OUT(file_exists(search->csv, &out->is_there));
    st = out->is_there ? text_read_file(&there, search->csv, MOST_BYTES, "a table") : STATUS_OK;
    if (st == STATUS_USAGE || st == STATUS_DATA) {
        report_clear(); /* something else */
        st = STATUS_OK;
    } else if (st == STATUS_OK && out->is_there) {
        out->is_same = there.length == out->words.length &&
                       memcmp(there.data, out->words.data, there.length) == 0;
    }
out:
    candidates_close(in);
    text_free(&there);
    return st;
}

/* Rank 0, or alone, before the first pass: whether the table may be written. `is_complete`: the
 * search is. Fails with USAGE when a file is there that is not what it will be; DATA. */
static status_t tables_check(const struct job_search *search, int is_complete)
{
    status_t st = STATUS_OK;
    struct table table = {.count = 0};
    TRY_OUT(search->csv ? tables_look(search, is_complete, &table) : STATUS_OK);
    REQUIRE_OUT(
        !table.is_there || table.is_same || !is_complete, STATUS_USAGE,
        "%s exists already, and is not the table of %s: remove it, and the run writes it again "
        "(--force makes all of the job anew)",
        search->csv, search->file);
    REQUIRE_OUT(!table.is_there || table.is_same, STATUS_USAGE,
                "%s exists already: --force replaces it", search->csv);
out:
    text_free(&table.words);
    return st;
}

status_t tables_write(const struct job_search *search, int force)
{
    status_t st = STATUS_OK;
    struct table table = {.count = 0};
    struct guard reads = {0};
    int same = 0;
    TRY_OUT(search->csv ? tables_look(search, 1, &table) : STATUS_OK);
    if (!search->csv || table.is_same) {
        goto out;
    }
    const struct export_plan plan = {.path = search->csv,
                                     .mark = MARK_RUN,
                                     .force = force,
                                     .bytes = table.words.length,
                                     .head = &table.words};
    TRY_OUT(guard_add(&reads, "the file which it is made of,", search->file));
    TRY_OUT(export_file_write(&plan, &reads, &same));
    display_print("%s: %s as comma-separated values\n", search->csv,
                  units_amount(table.count, "candidate", "candidates"));
out:
    text_free(&table.words);
    guard_free(&reads);
    return st;
}

/* Before anything is made, removed or truncated. */
static status_t run_protect_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                                const struct run_options *options)
{
    int rank = agree_rank(comm);
    char *own = rank == 0 && options->tune && !options->database ? store_own() : NULL;
    const struct protect_other others[] = {{"--database", options->database},
                                           {"--csv", options->csv},
                                           {"the database", own},
                                           {"--report", options->report}};
    status_t st = rank == 0 ? protect_job(job, archive, others, 4) : STATUS_OK;
    free(own);
    return agree_all(comm, st);
}

/* Finds the remaining work on rank 0, and sends it to all ranks. */
static status_t run_find_left_all(MPI_Comm comm, const struct job *job,
                                  const struct archive *archive, const struct run_options *options,
                                  struct resume *out)
{
    status_t st = STATUS_OK;
    int rank = agree_rank(comm);
    if (rank == 0) {
        struct resume_options skip = {.force = options->force, .only_looks = comm == MPI_COMM_NULL};
        st = resume_find(job, archive, &skip, out);
        for (uint32_t i = 0; i < job->ndedisperse && st == STATUS_OK && !options->force; i++) {
            st = tables_check(&job->dedisperse[i].search, out->dedisperse[i]);
        }
    }
    TRY_OUT(agree_all(comm, st));
    share_bytes_all(comm, out, sizeof *out);
    REQUIRE_OUT(!options->times || !(out->all || (out->channelise && archive)), STATUS_USAGE,
                "%s exists already: --force replaces it", job_file(job, 0));
out:
    return st;
}

status_t run_begin_all(MPI_Comm comm, const struct run_options *options, struct run_begin *out)
{
    status_t st = STATUS_OK;
    *out = (struct run_begin){.job = NULL};
    if (agree_rank(comm) == 0) {
        st = share_read_job(options->path, options->given, &out->text);
    }
    TRY_OUT(share_job_all(comm, st, options->path, &out->text, options->sets, options->nsets,
                          options->each, options->opened, &out->job, &out->archive));
    for (uint32_t i = 0; i < job_nfiles(out->job) && !options->each; i++) {
        REQUIRE_OUT(!strstr(job_file(out->job, i), "{name}"), STATUS_USAGE,
                    "%s: the output %s has {name}, which --each and --list replace: expected "
                    "`--each PATTERN`, `--list FILE`, or another name",
                    options->path, job_file(out->job, i));
    }
    TRY_OUT(run_protect_all(comm, out->job, out->archive, options));
    TRY_OUT(run_find_left_all(comm, out->job, out->archive, options, &out->left));
out:
    return st;
}

int run_was_overtaken_all(MPI_Comm comm, const struct run_options *options, struct run_begin *begun)
{
    struct text cause = {0};
    struct resume now = begun->left;
    int is_kept = text_add(&cause, "%s", report_cause()) == STATUS_OK;
    report_clear();
    int is_overtaken =
        !options->force &&
        run_find_left_all(comm, begun->job, begun->archive, options, &now) == STATUS_OK &&
        memcmp(&now, &begun->left, sizeof now) != 0;
    if (is_overtaken) {
        begun->left = now;
    } else if (is_kept) {
        report_adopt(STATUS_USAGE, cause.data);
    }
    text_free(&cause);
    return is_overtaken;
}

void run_begin_free(struct run_begin *begun)
{
    archive_destroy(begun->archive);
    job_destroy(begun->job);
    text_free(&begun->text);
}

/* The passes of the job, or of that of a part. */
static status_t run_plan_passes(struct run_plan *plan, const struct job *job,
                                const struct archive *archive, const struct resume *left,
                                const struct run_options *options)
{
    struct channelise_pass *bank = &plan->bank;
    bank->archive = archive;
    bank->skip = left;
    bank->later = plan->series;
    pass_begin(&bank->pass, MPI_COMM_NULL, job, options);
    bank->pass.is_complete = left->all;
    if (bank->archive && (!left->channelise || left->all)) {
        TRY(channelise_pass_plan_all(bank));
        TRY(pass_measure(&bank->pass));
        TRY(pass_add_room(&bank->pass, &plan->room));
    } else {
        TRY(dedisperse_pass_foresee(&bank->pass, left, NULL, plan->series));
    }
    return dedisperse_pass_add_room(plan->series, job->ndedisperse, &plan->room);
}

/* One remaining part represents all: they are alike. */
static status_t run_plan_parts(struct run_plan *plan, const struct archive *archive,
                               const struct run_options *options)
{
    struct grid *grid = plan->grid;
    for (uint32_t i = 0; i < grid->count && !plan->part; i++) {
        plan->part = grid->parts[i].left.all ? NULL : &grid->parts[i];
    }
    plan->merge.is_foreseen = plan->part != NULL;
    if (plan->part) {
        TRY(run_plan_passes(plan, plan->part->job, archive, &plan->part->left, options));
    }
    TRY(grid_merge_foresee(grid, plan->part, archive, options, plan->bank.work, &plan->merge));
    /* The series of all, and those of the parts that are still to be made beside the one that is
     * planned; power is there one at a time. */
    TRY(pass_add_room(&plan->merge.pass, &plan->room));
    uint64_t row = plan->merge.plan->outputs * sizeof(float);
    uint64_t bytes = 0;
    const char *first = NULL;
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        if (!part->left.dedisperse[0] && part != plan->part) {
            first = first ? first : part->job->dedisperse[0].file;
            bytes += row * part->count;
        }
    }
    return first ? room_add(&plan->room, first, bytes) : STATUS_OK;
}

status_t run_plan_check_parts(struct grid *grid, const struct archive *archive,
                              const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run_plan *plan = NULL;
    TRY_OUT(grid_find_left(grid, archive, options, 1));
    TRY_OUT(memory_zeroed(1, sizeof *plan, "the plan", &plan));
    plan->grid = grid;
    TRY_OUT(run_plan_parts(plan, archive, options));
    TRY_OUT(room_check(&plan->room));
out:
    if (plan) {
        plan->grid = NULL;
    }
    run_plan_destroy(plan);
    return st;
}

status_t run_plan_create(const struct run_options *options, struct run_plan **out)
{
    status_t st = STATUS_OK;
    struct run_plan *plan = NULL;
    TRY_OUT(memory_zeroed(1, sizeof *plan, "the plan", &plan));
    TRY_OUT(run_begin_all(MPI_COMM_NULL, options, &plan->begun));
    const struct job *job = plan->begun.job;
    const struct archive *archive = plan->begun.archive;
    const struct resume *left = &plan->begun.left;
    if (!job_is_semi_coherent(job)) {
        TRY_OUT(run_plan_passes(plan, job, archive, left, options));
    } else if (!left->all) {
        TRY_OUT(grid_create_all(MPI_COMM_NULL, job, archive, &plan->grid));
        TRY_OUT(grid_find_left(plan->grid, archive, options, 0));
        TRY_OUT(run_plan_parts(plan, archive, options));
    }
    for (uint32_t i = 0; i < JOB_DEDISPERSE; i++) { /* what trees save, which no run needs */
        struct dedisperse_plan *series = plan->series[i].plan;
        TRY_OUT(series && !series->what->is_two_step ? dedisperse_plan_count(series) : STATUS_OK);
    }
    *out = plan;
    plan = NULL;
out:
    run_plan_destroy(plan);
    return st;
}

void run_plan_destroy(struct run_plan *plan)
{
    if (!plan) {
        return;
    }
    for (uint32_t i = 0; i < JOB_DEDISPERSE; i++) {
        dedisperse_pass_end(&plan->series[i], STATUS_OK);
    }
    dedisperse_pass_end(&plan->merge, STATUS_OK);
    channelise_pass_end(&plan->bank, STATUS_OK);
    grid_destroy(plan->grid);
    run_begin_free(&plan->begun);
    free(plan);
}
