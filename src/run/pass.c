#include "run/pass.h"

#include "base/display.h"
#include "base/memory.h"
#include "ranks/agree.h"
#include "ranks/liveness.h"
#include "ranks/stop.h"

#include <stdio.h>

void pass_end(struct pass *pass)
{
    pipeline_destroy(pass->pipeline);
    outputs_destroy(pass->outputs);
    output_spec_free(&pass->making);
    pass->outputs = NULL;
}

/* "12 of 40 chunks" */
static void pass_count_done(const struct pass *pass, char out[2 * UNITS_TEXT + 16])
{
    char done[UNITS_TEXT];
    char all[UNITS_TEXT];
    snprintf(out, 2 * UNITS_TEXT + 16, "%s of %s chunks",
             units_count(outputs_done(pass->outputs), done),
             units_count(chunk_count(&pass->making.chunking), all));
}

status_t pass_check_same_plan_all(MPI_Comm comm, const struct chunking *mine)
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

void pass_say_where_it_goes_on(struct pass *pass)
{
    char count[2 * UNITS_TEXT + 16];
    if (pass->rank == 0 && pass->begun.is_begun) {
        pass->before = outputs_done(pass->outputs);
        pass_count_done(pass, count);
        report_note("%s are done: goes on from there", count);
    }
}

void pass_say_what_is_kept(const struct pass *pass)
{
    char count[2 * UNITS_TEXT + 16];
    if (pass->outputs && outputs_done(pass->outputs) > 0) {
        pass_count_done(pass, count);
        report_note("%s are done: the same command goes on from there", count);
    }
}

static void pass_abandon(void *context)
{
    const struct pass *pass = context;
    outputs_abandon(pass->outputs);
    pass_say_what_is_kept(pass);
}

static status_t pass_process(void *context, driver_t *driver, uint64_t number)
{
    const struct pass *pass = context;
    struct chunk chunk = chunk_at(&pass->making.chunking, number);
    return pipeline_chunk(pass->pipeline, driver, &chunk);
}

static status_t pass_finish(void *context, driver_t *driver)
{
    const struct pass *pass = context;
    return pipeline_finish(pass->pipeline, driver);
}

static int pass_is_done(void *context, uint64_t chunk)
{
    return outputs_is_done(((struct pass *)context)->outputs, chunk);
}

static status_t pass_tell(void *context, struct text *out)
{
    return outputs_tell(((struct pass *)context)->outputs, out);
}

static status_t pass_take(void *context, const char *data, size_t bytes)
{
    return outputs_take(((struct pass *)context)->outputs, data, bytes);
}

static void pass_hurry(void *context)
{
    outputs_hurry(((struct pass *)context)->outputs);
    stop_limit(STATUS_STOPPED);
}

static void pass_failing(void *context, status_t st)
{
    outputs_hurry(((struct pass *)context)->outputs);
    stop_limit(st);
}

static int pass_hangs(void *context)
{
    return pipeline_hangs(((struct pass *)context)->pipeline);
}

enum { MESSAGE_BYTES = 8192 };

static const char finished[] = "finished";

/* Nobody else would see this rank hang now. */
static status_t pass_begin_limit(const struct pass *pass, const char *what,
                                 liveness_watchdog_t **out)
{
    status_t st = STATUS_OK;
    char message[MESSAGE_BYTES];
    char host[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(host, &length);
    display_format(message, sizeof message,
                   "%s: could not be %s and made to last within %g s (rank %d on %s): the same "
                   "command goes on",
                   pass->making.items[0].file, what, pass->patience, pass->rank, host);
    TRY(liveness_watchdog_begin(pass->patience, message, out));
out:
    return st;
}

static status_t pass_settle(void *context)
{
    status_t st = STATUS_OK;
    const struct pass *pass = context;
    liveness_watchdog_t *watchdog = NULL;
    int size;
    MPI_Comm_size(pass->comm, &size);
    TRY(size == 1 ? pass_begin_limit(pass, finished, &watchdog)
                  : STATUS_OK); /* else the driver of another looks */
    TRY(outputs_settle(pass->outputs));
out:
    liveness_watchdog_end(watchdog);
    return st;
}

/* Rank 0's part of what all wait for, within its limit. */
static status_t pass_work_within_limit_all(const struct pass *pass, const char *what,
                                           status_t (*work_all)(outputs_t *outputs))
{
    status_t st = STATUS_OK;
    liveness_watchdog_t *watchdog = NULL;
    st = pass->rank == 0 ? pass_begin_limit(pass, what, &watchdog) : STATUS_OK;
    TRY(agree_all(pass->comm, st));
    TRY(work_all(pass->outputs));
out:
    liveness_watchdog_end(watchdog);
    return st;
}

status_t pass_open_all(const struct pass *pass)
{
    return pass_work_within_limit_all(pass, "made", outputs_open_all);
}

status_t pass_finish_all(const struct pass *pass)
{
    return pass_work_within_limit_all(pass, finished, outputs_finish_all);
}

status_t pass_work_off_all(struct pass *pass, double every)
{
    status_t st = STATUS_OK;
    char count[2 * UNITS_TEXT + 16];
    uint64_t chunks = chunk_count(&pass->making.chunking);
    pipeline_limit(pass->pipeline, pass->patience);
    struct driver_work work = {.chunks = chunks,
                               .context = pass,
                               .process = pass_process,
                               .finish = pass_finish,
                               .abandon = pass_abandon,
                               .is_done = pass_is_done,
                               .tell = pass_tell,
                               .take = pass_take,
                               .wants_stop = stop_wanted,
                               .hurry = pass_hurry,
                               .failing = pass_failing,
                               .hangs = pass_hangs,
                               .timeout = pass->patience,
                               .file = pass->making.items[0].file,
                               .settle = pass_settle};
    struct progress progress = {.every = every,
                                .what = "chunks",
                                .total = chunks,
                                .before = pass->before,
                                .in_bytes = pass->in_bytes,
                                .out_bytes = outputs_bytes(pass->outputs)};
    st = driver_run_all(pass->comm, &work, &progress);
    if (st == STATUS_STOPPED && pass->rank == 0) {
        pass_count_done(pass, count);
        report_fail(st, "%s are done; the same command goes on", count);
    }
    return st;
}

status_t pass_judge_holes(const struct pass *pass)
{
    status_t st = STATUS_OK;
    char count[UNITS_TEXT];
    uint64_t worst = 0;
    const struct output_spec_item *item = NULL;
    for (uint32_t i = 0; i < pass->making.count; i++) {
        uint64_t holes = 0;
        TRY(outputs_holes(pass->outputs, i, &holes));
        item = holes > worst ? &pass->making.items[i] : item;
        worst = max_u64(worst, holes);
    }
    REQUIRE(worst == 0, STATUS_HOLES, "%s is complete, but %s of its %s", item->file,
            units_count(worst, count),
            item->has_times_across
                ? "DMs hold NaN, where the filterbank has NaN or could not be read"
                : "rows are NaN: their input could not be read");
out:
    return st;
}
