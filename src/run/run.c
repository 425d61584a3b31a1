/* A job on all ranks, or alone: begun, its passes planned, one after the other done, and what is
 * said of them. */
#include "run/run.h"

#include "base/clock.h"
#include "base/display.h"
#include "dsp/dispersion/patterns.h"
#include "product/candidates.h"
#include "product/export/export_file.h"
#include "ranks/agree.h"
#include "run/passes.h"
#include "run/share.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

/* Compares a table with what is there, and writes it. */
enum { MOST_BYTES = 1 << 30 };

struct table {
    struct text words; /* none: the search is not complete */
    uint64_t count;
    int is_there, is_same; /* the file in its place, and as its text */
};

static void table_free(struct table *table)
{
    text_free(&table->words);
}

static status_t tables_look(const struct job_search *search, int is_complete, struct table *out)
{
    SCOPED(candidates_close_at) struct candidates_file *in = NULL;
    SCOPED(text_free) struct text there = {0};
    if (is_complete) {
        TRY(candidates_open(search->file, &in));
        TRY(candidates_csv(&in->found, &out->words));
        out->count = in->found.count;
    }
    TRY(file_exists(search->csv, &out->is_there));
    status_t st =
        out->is_there ? text_read_file(&there, search->csv, MOST_BYTES, "a table") : STATUS_OK;
    if (st == STATUS_USAGE || st == STATUS_DATA) {
        report_clear(); /* something else */
        return STATUS_OK;
    }
    out->is_same = st == STATUS_OK && out->is_there && there.length == out->words.length &&
                   memcmp(there.data, out->words.data, there.length) == 0;
    return st;
}

/* Rank 0, or alone, before the first pass: whether the table may be written. `is_complete`: the
 * search is. Fails with USAGE when a file is there that is not what it will be; with DATA, DEVICE,
 * STOPPED. */
static status_t tables_check(const struct job_search *search, int is_complete)
{
    SCOPED(table_free) struct table table = {.count = 0};
    TRY(search->csv ? tables_look(search, is_complete, &table) : STATUS_OK);
    REQUIRE(!table.is_there || table.is_same || !is_complete, STATUS_USAGE,
            "%s exists already, and is not the table of %s: remove it, and the run writes it again "
            "(--force makes all of the job anew)",
            search->csv, search->file);
    return REQUIRED(!table.is_there || table.is_same, STATUS_USAGE,
                    "%s exists already: --force replaces it", search->csv);
}

/* Rank 0, when the search is complete: writes the table, unless it exists. Publishing is atomic: a
 * run that is killed before leaves it to the next. Fails with USAGE (another file exists, without
 * `force`), DATA, NO_SPACE, DEVICE, STOPPED. */
static status_t tables_write(const struct job_search *search, int force)
{
    SCOPED(table_free) struct table table = {.count = 0};
    SCOPED(guard_free) struct guard reads = {0};
    int same = 0;
    TRY(tables_look(search, 1, &table));
    if (table.is_same) {
        return STATUS_OK;
    }
    const struct export_plan plan = {.path = search->csv,
                                     .mark = MARK_RUN,
                                     .force = force,
                                     .bytes = table.words.length,
                                     .head = &table.words};
    TRY(guard_add(&reads, "the file which it is made of,", search->file));
    TRY(export_file_write(&plan, &reads, &same));
    display_print("%s: %s as comma-separated values\n", search->csv,
                  units_amount(table.count, "candidate", "candidates"));
    return STATUS_OK;
}

/* Rank 0, outside of passes, which have limits of their own: begins the one of the main thread for
 * work on files (watchdog_begin_file()), and the most that grid_lock_all() waits for a lock. */
static status_t run_watch(const struct run_options *options, const char *file, const char *what,
                          watchdog_t **out)
{
    enum { LOCKED_FOR = 4 };
    double patience = options->patience < 0 ? CLOCK_STALL : options->patience;
    return watchdog_begin_file(patience, LOCKED_FOR, file, what, out);
}

/* Checks that no input would be overwritten, before any file is made, removed or truncated. It is
 * the first to meet a file system of the products that hangs. */
static status_t run_protect_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                                const struct run_options *options)
{
    status_t st = STATUS_OK;
    int rank = agree_rank(comm);
    SCOPED(free_at)
    char *own = rank == 0 && options->tune && !options->database ? store_own() : NULL;
    const struct protect_other others[] = {{"--database", options->database},
                                           {"--csv", options->csv},
                                           {"the database", own},
                                           {"--report", options->report}};
    if (rank == 0) {
        SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
        st = run_watch(options, job_file(job, 0), "looked up", &watchdog);
        st = st == STATUS_OK ? protect_job(job, archive, others, 4) : st;
    }
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
        SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
        struct resume_options skip = {.force = options->force, .only_looks = comm == MPI_COMM_NULL};
        st = run_watch(options, job_file(job, 0), "looked up", &watchdog);
        st = st == STATUS_OK ? resume_find(job, archive, &skip, out) : st;
        for (uint32_t i = 0; i < job->ndedisperse && st == STATUS_OK && !options->force; i++) {
            st = tables_check(&job->dedisperse[i].search, out->dedisperse[i]);
        }
    }
    TRY(agree_all(comm, st));
    share_bytes_all(comm, out, sizeof *out);
    return REQUIRED(!options->times || !(out->all || (out->channelise && archive)), STATUS_USAGE,
                    "%s exists already: --force replaces it", job_file(job, 0));
}

/* Loads the job, opens its archive, makes sure that nothing that is read would be written, and
 * finds what is complete. MPI_COMM_NULL: alone, and everything stays as it is. *out is for
 * run_begin_free() in any case. Collective. Fails with USAGE, DATA, DEVICE, STOPPED. */
static status_t run_begin_all(MPI_Comm comm, const struct run_options *options,
                              struct run_begin *out)
{
    status_t st = STATUS_OK;
    *out = (struct run_begin){.job = NULL};
    if (agree_rank(comm) == 0) {
        st = share_read_job(options->path, options->given, options->patience, &out->text);
    }
    TRY(share_job_all(comm, st, options->path, &out->text, options->sets, options->nsets,
                      options->each, options->opened, &out->job, &out->archive));
    for (uint32_t i = 0; i < job_nfiles(out->job) && !options->each; i++) {
        REQUIRE(!strstr(job_file(out->job, i), "{name}"), STATUS_USAGE,
                "%s: the output %s has {name}, which --each and --list replace: expected "
                "`--each PATTERN`, `--list FILE`, or another name",
                options->path, job_file(out->job, i));
    }
    TRY(run_protect_all(comm, out->job, out->archive, options));
    return run_find_left_all(comm, out->job, out->archive, options, &out->left);
}

/* Rank 0: whether another run is about to end: a product has its name, and its journal still. */
static int run_is_ending(const struct job *job)
{
    int is_ending = 0;
    for (uint32_t i = 0; i < job_nfiles(job) && !is_ending; i++) {
        SCOPED(product_files_free) struct product_files files = {.path = NULL};
        is_ending = product_files_of(job_file(job, i), &files) == STATUS_OK && files.has_path &&
                    files.has_journal && !files.has_part;
    }
    return is_ending;
}

/* After a failure with USAGE: returns whether another run of this job has completed some of it
 * since this one looked. Then the failure is forgotten, and *begun says what is left. Products get
 * their names one after the other: a run that has begun with that is waited for, as long as for a
 * lock. Collective. */
static int run_was_overtaken_all(MPI_Comm comm, const struct run_options *options,
                                 struct run_begin *begun)
{
    enum { LOOKS = 30, PAUSE_US = 100000 };
    SCOPED(text_free) struct text cause = {0};
    struct resume now = begun->left;
    int is_kept = text_add(&cause, "%s", report_cause()) == STATUS_OK;
    int is_overtaken = 0;
    int is_ending = !options->force;
    for (int look = 0; look < LOOKS && is_ending && !is_overtaken; look++) {
        report_forgive(STATUS_USAGE);
        is_ending = agree_rank(comm) == 0 && run_is_ending(begun->job);
        share_bytes_all(comm, &is_ending, sizeof is_ending);
        is_overtaken =
            run_find_left_all(comm, begun->job, begun->archive, options, &now) == STATUS_OK &&
            memcmp(&now, &begun->left, sizeof now) != 0;
        if (is_ending && !is_overtaken) {
            usleep(PAUSE_US);
        }
    }
    if (is_overtaken) {
        begun->left = now;
    } else if (is_kept) {
        report_adopt(STATUS_USAGE, cause.data);
    }
    return is_overtaken;
}

static void run_begin_free(struct run_begin *begun)
{
    archive_destroy(begun->archive);
    job_destroy(begun->job);
    text_free(&begun->text);
}

/* Plans the passes of the job, or of a part's job. */
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

/* Plans one remaining part, which represents all: they are alike. */
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

/* Rank 0: finds the remaining parts of a semi-coherent search, and checks the disk space for all of
 * them. Fails with USAGE, NO_SPACE, DATA, DEVICE, STOPPED. */
static status_t run_plan_check_parts(struct grid *grid, const struct archive *archive,
                                     const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct run_plan *plan = NULL;
    watchdog_t *watchdog = NULL;
    TRY_OUT(run_watch(options, job_file(grid->job, 0), "looked up", &watchdog));
    TRY_OUT(grid_find_left(grid, archive, options, 1));
    watchdog_end(memory_move(&watchdog)); /* plans may take longer */
    TRY_OUT(memory_zeroed(1, sizeof *plan, "the plan", &plan));
    plan->grid = grid;
    TRY_OUT(run_plan_parts(plan, archive, options));
    TRY_OUT(run_watch(options, job_file(grid->job, 0), "looked up", &watchdog));
    TRY_OUT(room_check(&plan->room));
out:
    watchdog_end(watchdog);
    if (plan) {
        plan->grid = NULL;
    }
    run_plan_destroy(plan);
    return st;
}

/* Enough to know what a tree saves; how it is cut is the backend's. */
enum { MOST_DELAYS = 1 << 23 };

/* Counts what a tree saves, in as many neighbouring DMs as make 2^23 delays at most. Fails with
 * DEVICE. It takes some 150 MB, which are none of run.memory: for `voltmill plan`. */
static status_t dedisperse_plan_count(struct dedisperse_plan *d)
{
    uint32_t nchannels = d->delays.nchannels;
    uint32_t ndms = (uint32_t)min_u64(d->delays.ndms, max_u64(MOST_DELAYS / nchannels, 1));
    SCOPED(free_at) uint32_t *delays = NULL;
    size_t n = 0;
    TRY(memory_zeroed((size_t)ndms * nchannels, sizeof *delays, "delays", &delays));
    dispersion_rows(&d->delays, (d->delays.ndms - ndms) / 2, ndms, delays);
    for (size_t i = 0; i < (size_t)ndms * nchannels; i++) {
        if (!d->mask[i % nchannels]) {
            delays[n++] = delays[i];
        }
    }
    return patterns_gain(delays, ndms, (uint32_t)(n / ndms), &d->tree.group, &d->tree.gain);
}

status_t run_plan_create(const struct run_options *options, struct run_plan **out)
{
    SCOPED(run_plan_destroy_at) struct run_plan *plan = NULL;
    TRY(memory_zeroed(1, sizeof *plan, "the plan", &plan));
    TRY(run_begin_all(MPI_COMM_NULL, options, &plan->begun));
    const struct job *job = plan->begun.job;
    const struct archive *archive = plan->begun.archive;
    const struct resume *left = &plan->begun.left;
    if (!job_is_semi_coherent(job)) {
        TRY(run_plan_passes(plan, job, archive, left, options));
    } else if (!left->all) {
        TRY(grid_create_all(MPI_COMM_NULL, job, archive, &plan->grid));
        TRY(grid_find_left(plan->grid, archive, options, 0));
        TRY(run_plan_parts(plan, archive, options));
    }
    for (uint32_t i = 0; i < JOB_DEDISPERSE; i++) { /* what trees save, which no run needs */
        struct dedisperse_plan *series = plan->series[i].plan;
        TRY(series && !series->what->is_two_step ? dedisperse_plan_count(series) : STATUS_OK);
    }
    *out = memory_move(&plan);
    return STATUS_OK;
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

enum { HOLES_BYTES = 4096 };

static void run_say_what_is_complete(const struct job *job, const struct resume *skip, int rank)
{
    if (rank == 0 && skip->channelise && job->nproducts > 0 && job->ndedisperse > 0) {
        report_note("%s%s complete: continues with dedispersion", job->products[0].file,
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
    status_t st = STATUS_OK;
    const struct job_search *search = &job->dedisperse[i].search;
    if (agree_rank(comm) == 0 && search->csv) {
        SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
        st = run_watch(options, search->csv, "written", &watchdog);
        st = st == STATUS_OK ? tables_write(search, options->force) : st;
    }
    return agree_all(comm, st);
}

/* When no work is left: fails with HOLES, as the run that made the rows did, if some are NaN for
 * lack of input; with DATA, DEVICE, STOPPED. */
static status_t resume_judge_holes(const struct job *job)
{
    for (uint32_t i = 0; i < job_nfiles(job); i++) {
        const char *path = job_file(job, i);
        struct product_place place;
        uint64_t holes = 0;
        if (i < job->nproducts && job->products[i].format != FILE_HDF5) {
            continue; /* such a file does not say */
        }
        SCOPED(file_close_at) int fd = -1;
        TRY(product_find_place(path, &place));
        TRY(file_open_read(path, &fd));
        TRY(product_count_holes(fd, path, &place, &holes));
        REQUIRE(holes == 0, STATUS_HOLES,
                "%s was complete before, but %s of its rows contain NaN: their input could not "
                "be read; --force makes it anew",
                path, units_count(holes));
    }
    return STATUS_OK;
}

/* Ends a run that had nothing left to do: writes the tables, and reports that all was complete. */
static status_t run_conclude_all(MPI_Comm comm, const struct job *job,
                                 const struct run_options *options)
{
    status_t st = STATUS_OK;
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
    if (rank == 0) {
        SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
        st = run_watch(options, job_file(job, 0), "read again", &watchdog);
        st = st == STATUS_OK ? resume_judge_holes(job) : st;
    }
    return agree_all(comm, st);
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

/* Notes that dedispersion `number` is done: data that no later one needs is freed. */
static void device_carry_pass(struct device_carry *between, const struct job *job, uint32_t number)
{
    uint32_t product = job->dedisperse[number].input;
    for (uint32_t i = number + 1; i < job->ndedisperse; i++) {
        if (!between->are_done[i] && job->dedisperse[i].input == product) {
            return;
        }
    }
    stage_destroy(memory_move(&between->resident[product]));
}

/* Checks before the first pass, if the filterbanks of all remaining dedispersions exist, that they
 * can be done, and that the disk space suffices. Collective. Fails with USAGE, NO_SPACE, DATA,
 * DEVICE, STOPPED. */
static status_t dedisperse_pass_check_all(MPI_Comm comm, const struct job *job,
                                          const struct run_options *options,
                                          const struct resume *skip)
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

/* Runs one pass after the other, and marks each as complete in *skip. */
static status_t run_passes_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                               const struct run_options *options, struct resume *skip,
                               double started)
{
    status_t st = STATUS_OK;
    const int was_channelised = skip->channelise;
    char holes[HOLES_BYTES] = "";
    struct device_carry between = {.are_done = skip->dedisperse};
    watchdog_t *watchdog = NULL;
    run_share_tuning(job, options, skip, 0);
    if (!skip->channelise) {
        if (options->tune) {
            options->tune->problems += job->nfilters + 2; /* the filter bank, and its blocks */
        }
        st = channelise_pass_all(comm, job, archive, options, skip, started, &between);
        TRY_OUT(run_put_off_holes(st, holes));
        skip->channelise = 1;
    }
    const int rank = agree_rank(comm);
    st = rank == 0 ? run_watch(options, job_file(job, 0), "looked up", &watchdog) : STATUS_OK;
    st = st == STATUS_OK && rank == 0 ? device_carry_note_found(&between, job) : st;
    TRY_OUT(agree_all(comm, st));
    TRY_OUT(was_channelised ? dedisperse_pass_check_all(comm, job, options, skip) : STATUS_OK);
    watchdog_end(memory_move(&watchdog));
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (!skip->dedisperse[i]) {
            run_share_tuning(job, options, skip, i);
            st = dedisperse_pass_all(comm, job, i, options, &between);
            device_carry_pass(&between, job, i);
            TRY_OUT(run_put_off_holes(st, holes));
            skip->dedisperse[i] = 1;
        }
        TRY_OUT(run_write_table_all(comm, job, i, options));
    }
    REQUIRE_OUT(holes[0] == '\0', STATUS_HOLES, "%s", holes);
out:
    watchdog_end(watchdog);
    opened_give_back(options->opened, device_carry_end(&between), st);
    return st;
}

/* Runs one part of a semi-coherent search. */
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
        SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
        /* Else grid_remove() removes it: the other ranks do not wait here. */
        if (!report_failed(run_watch(options, part->job->products[0].file, "removed", &watchdog))) {
            grid_remove_power(part);
        }
    }
    return STATUS_OK;
}

/* Runs the parts of a semi-coherent search, then merges their series. */
static status_t run_parts_all(MPI_Comm comm, struct run_begin *begun,
                              const struct run_options *options, double started)
{
    status_t st = STATUS_OK;
    SCOPED(watchdog_end_at) watchdog_t *watchdog = NULL;
    SCOPED(grid_destroy_at) struct grid *grid = NULL;
    const char *file = job_file(begun->job, 0);
    const int rank = agree_rank(comm);
    TRY(grid_create_all(comm, begun->job, begun->archive, &grid));
    if (!begun->left.all) {
        st = rank == 0 ? run_watch(options, file, "locked", &watchdog) : STATUS_OK;
        TRY(agree_all(comm, st));
        TRY(grid_lock_all(comm, grid));
        watchdog_end(memory_move(&watchdog));
        /* Once more: the run that had the lock may just have completed it. */
        TRY(run_find_left_all(comm, begun->job, begun->archive, options, &begun->left));
    }
    if (begun->left.all) {
        st = run_conclude_all(comm, begun->job, options);
    } else {
        TRY(agree_all(comm,
                      rank == 0 ? run_plan_check_parts(grid, begun->archive, options) : STATUS_OK));
        for (uint32_t i = 0; i < grid->count; i++, started = clock_now()) {
            TRY(run_part_all(comm, grid, i, begun->archive, options, started));
        }
        st = grid_merge_all(comm, grid, begun->archive, options);
    }
    if (rank == 0 && (st == STATUS_OK || st == STATUS_HOLES)) {
        (void)run_watch(options, file, "finished, by removing its parts,", &watchdog);
        grid_remove(grid);
    }
    return st;
}

static status_t run_left_all(MPI_Comm comm, struct run_begin *begun,
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

/* Open MPI binds one or two ranks of a machine to a core each unless it is told otherwise. Its own
 * processors, those of the parent, are the ones that all could have. */
static void run_say_what_is_bound(const struct job *job)
{
    cpu_set_t all;
    uint64_t ranks = 0;
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    const int each = omp_get_num_procs();
    if (job->threads > 0 || getenv("OMP_NUM_THREADS") || !local ||
        !units_parse_u64(local, &ranks) || sched_getaffinity(getppid(), sizeof all, &all) != 0) {
        return;
    }
    if (2 * ranks * (uint64_t)each <= (uint64_t)CPU_COUNT(&all)) {
        report_note("mpirun binds each rank to %d of %d processors; with --bind-to none it may use "
                    "all",
                    each, CPU_COUNT(&all));
    }
}

/* Where the backends are opened. A product "exists already" also when another run of this job has
 * completed it since this one looked: then this one looks again, and does what is left. */
static status_t run_opened_all(MPI_Comm comm, const struct run_options *options)
{
    SCOPED(run_begin_free) struct run_begin begun = {.job = NULL};
    status_t st = STATUS_OK;
    double started = clock_now();
    stop_begin(agree_rank(comm) == 0);
    TRY(run_begin_all(comm, options, &begun));
    if (agree_rank(comm) == 0 && !begun.left.all && !options->each) {
        run_say_what_is_bound(begun.job);
    }
    do {
        st = run_left_all(comm, &begun, options, started);
    } while (st == STATUS_USAGE && run_was_overtaken_all(comm, options, &begun));
    return st;
}

status_t run_job_all(MPI_Comm comm, const struct run_options *options)
{
    struct run_options run = *options;
    SCOPED(opened_destroy_at) opened_t *own = NULL;
    TRY(options->opened ? STATUS_OK : opened_create_all(comm, 0, &own));
    run.opened = own ? own : options->opened;
    return run_opened_all(comm, &run);
}
