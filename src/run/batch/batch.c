/* Lists the observations, runs the job of each, and says what became of them. */
#include "run/batch/batch.h"

#include "base/display.h"

#include "base/memory.h"
#include "base/text.h"
#include "job/job.h"
#include "ranks/agree.h"
#include "ranks/stop.h"
#include "run/batch/batch_check.h"
#include "run/opened/opened.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum outcome {
    OUTCOME_NONE,
    OUTCOME_COMPLETE,
    OUTCOME_BEFORE,
    OUTCOME_HOLES,
    OUTCOME_STOPPED,
    OUTCOME_FAILED
};

struct batch {
    MPI_Comm comm;
    int rank;
    const struct run_options *options;
    opened_t *opened;
    struct text list; /* names of files, each with '\0' behind it */
    const char **files;
    enum outcome *outcomes;
    uint32_t count;
};

/* Rank 0. */
static status_t batch_look_up(struct batch *batch, const char *pattern)
{
    status_t st = STATUS_OK;
    glob_t paths = {0};
    REQUIRE(glob(pattern, 0, NULL, &paths) == 0 && paths.gl_pathc > 0, STATUS_USAGE,
            "no file matches --each %s", pattern);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        TRY(text_add_bytes(&batch->list, paths.gl_pathv[i], strlen(paths.gl_pathv[i]) + 1));
    }
out:
    globfree(&paths);
    return st;
}

static status_t batch_list_all(struct batch *batch, const char *pattern)
{
    status_t st = STATUS_OK;
    if (batch->rank == 0) {
        st = batch_look_up(batch, pattern);
    }
    TRY(agree_all(batch->comm, st));
    TRY(share_text_all(batch->comm, &batch->list));
    for (size_t at = 0; at < batch->list.length; at++) {
        batch->count += batch->list.data[at] == '\0';
    }
    TRY(memory_zeroed(batch->count, sizeof *batch->files, "names", &batch->files));
    TRY(memory_zeroed(batch->count, sizeof *batch->outcomes, "names", &batch->outcomes));
    const char *name = batch->list.data;
    for (uint32_t i = 0; i < batch->count; i++, name += strlen(name) + 1) {
        batch->files[i] = name;
    }
out:
    return agree_all(batch->comm, st);
}

static enum outcome batch_outcome_of(status_t st, int was_complete)
{
    switch (st) {
    case STATUS_OK:
        return was_complete ? OUTCOME_BEFORE : OUTCOME_COMPLETE;
    case STATUS_HOLES:
        return OUTCOME_HOLES;
    case STATUS_STOPPED:
        return OUTCOME_STOPPED;
    default:
        return OUTCOME_FAILED;
    }
}

/* One of them; its message is printed. */
static status_t batch_run_one_all(struct batch *batch, uint32_t i)
{
    status_t st = STATUS_OK;
    struct text name = {0};
    int was_complete = 0;
    report_next();
    TRY(agree_all(batch->comm, batch_name(batch->files[i], &name)));
    struct job_each each = {.name = name.data, .file = batch->files[i]};
    struct run_options one = *batch->options;
    one.each = &each;
    one.was_complete = &was_complete;
    one.opened = batch->opened;
    TRY(run_job_all(batch->comm, &one));
out:
    if (st != STATUS_OK) {
        report_print();
    }
    batch->outcomes[i] = batch_outcome_of(st, was_complete);
    text_free(&name);
    return st;
}

/* Rank 0: what became of each. */
static uint32_t batch_print_table(const struct batch *batch)
{
    static const char *const words[] = {"not begun",  "complete", "complete before",
                                        "with holes", "stopped",  "failed"};
    uint32_t left = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        enum outcome outcome = batch->outcomes[i];
        display_print("%-15s  %s\n", words[outcome], batch->files[i]);
        left += outcome != OUTCOME_COMPLETE && outcome != OUTCOME_BEFORE;
    }
    return left;
}

/* Whether any rank was asked to stop: observations that are passed over, or fail at once, do not
 * look. */
static int batch_is_stopped_all(MPI_Comm comm)
{
    int mine = stop_wanted();
    int any = 0;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any;
}

status_t batch_run_all(MPI_Comm comm, const struct run_options *options, const char *pattern,
                       int keep_going)
{
    status_t st = STATUS_OK;
    struct batch batch = {.comm = comm, .options = options};
    MPI_Comm_rank(comm, &batch.rank);
    TRY(batch_list_all(&batch, pattern));
    TRY(opened_create_all(comm, 1, &batch.opened));
    st = batch.rank == 0 ? batch_check(options, batch.files, batch.count) : STATUS_OK;
    TRY(agree_all(comm, st));
    status_t first = STATUS_OK;
    int is_over = 0;
    int is_stopped = 0;
    for (uint32_t i = 0; i < batch.count && !is_over; i++) {
        is_stopped = i > 0 && batch_is_stopped_all(comm);
        if (is_stopped) {
            break;
        }
        status_t one = batch_run_one_all(&batch, i);
        int failed = one != STATUS_OK && one != STATUS_HOLES;
        first = first == STATUS_OK || one == STATUS_STOPPED ? one : first;
        is_over = one == STATUS_STOPPED || (failed && !keep_going);
    }
    uint32_t left = batch.rank == 0 ? batch_print_table(&batch) : 0;
    if (is_over) {
        st = first; /* its message is the last */
        goto out;
    }
    report_next();
    REQUIRE(!is_stopped, STATUS_STOPPED,
            "%u of %u observations are not complete; the same command goes on", left, batch.count);
    REQUIRE(first == STATUS_OK, first, "%u of %u observations are not complete", left, batch.count);
out:
    opened_destroy(batch.opened);
    free(batch.files);
    free(batch.outcomes);
    text_free(&batch.list);
    return st;
}
