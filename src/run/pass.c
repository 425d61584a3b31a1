/* Planning and working off a pass, whatever its stage: between the driver, which gives out chunks,
 * the pipeline, which makes them, and the outputs, which keep them. */
#include "run/pass.h"

#include "base/clock.h"
#include "base/display.h"
#include "io/cache.h"
#include "ranks/agree.h"
#include "ranks/liveness.h"
#include "run/share.h"

#include <unistd.h>

/* Rates as entries of the cache folder, by problem and machine. */

static const char cache_kind[] = "rate";

static status_t rate_key(const char *problem, struct text *out)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1); /* "" is as good a name as any */
    return text_add(out, "voltmill %s on %s\n%s", VOLTMILL_VERSION, host, problem);
}

/* Returns the share of chunks that are still to do, or were before this run did them. */
static double pass_part_left(const struct pass *pass, uint64_t done)
{
    return 1 - (double)done / (double)chunk_count(&pass->making.chunking);
}

struct rate pass_expect(const struct pass *pass)
{
    const uint64_t done = pass->begun.is_begun ? outputs_done(pass->outputs) : 0;
    const double work = pass->work * pass_part_left(pass, done);
    struct rate found = {.seconds = 0};
    struct text key = {0};
    void *data = NULL;
    size_t size = 0;
    if (rate_key(pass->problem.data, &key) == STATUS_OK &&
        cache_get(cache_kind, key.data, &data, &size) == STATUS_OK && data &&
        size == sizeof found) {
        char digits[32];
        memcpy(&found, data, size);
        snprintf(digits, sizeof digits, "%.2g", found.seconds * work);
        found.seconds = strtod(digits, NULL);
    }
    report_clear();
    free(data);
    text_free(&key);
    return found;
}

/* On rank 0, for plans to come, where all ranks are of one machine: keeps how long the work of a
 * problem, all that its speed depends on beside the machine, has taken. Never fails: at worst
 * nothing is known. */
static void pass_keep_rate(const struct pass *pass, double seconds)
{
    const double work = pass->work * pass_part_left(pass, pass->before);
    struct text key = {0};
    struct rate one;
    memset(&one, 0, sizeof one);
    one.seconds = seconds / work;
    one.ranks = (uint32_t)pass->size;
    one.threads = channelise_plan_threads(pass->job, pass->local_size);
    if (pass->rank == 0 && pass->size == pass->local_size) {
        if (work > 0 && rate_key(pass->problem.data, &key) == STATUS_OK) {
            cache_put(cache_kind, key.data, &one, sizeof one);
        }
        report_clear();
        text_free(&key);
    }
}

void pass_limit(struct pass *pass, enum backend_kind backend)
{
    /* Others take a second or so for a block, the reference minutes, in the main thread. */
    if (pass->options->patience < 0 && backend_abilities(backend)->is_reference) {
        pass->patience = 0;
    }
}

const char *pass_count_done(const struct pass *pass, char text[PASS_TEXT])
{
    /* The backend is opened before the plan is made, and that may fail. */
    const struct chunking *cut =
        pass->making.is_planned ? &pass->making.chunking : &pass->begun.chunking;
    snprintf(text, PASS_TEXT, "%s of %s chunks", units_count(outputs_done(pass->outputs)),
             units_count(chunk_count(cut)));
    return text;
}

void pass_begin(struct pass *pass, MPI_Comm comm, const struct job *job,
                const struct run_options *options)
{
    int local_rank;
    pass->comm = comm;
    pass->rank = agree_rank(comm);
    pass->size = agree_size(comm);
    pass->job = job;
    pass->options = options;
    pass->started_at = clock_now();
    /* A file system may be away for minutes and come back. */
    pass->patience = options->patience < 0 ? CLOCK_STALL : options->patience;
    local_ranks_all(comm, &local_rank, &pass->local_size);
}

struct pass_means pass_means_all(const struct pass *pass, enum backend_kind wanted)
{
    const struct outputs_begun *begun = &pass->begun;
    enum backend_kind kind = wanted == BACKEND_AUTO && begun->is_begun ? begun->backend : wanted;
    struct pass_means means = {.threads = channelise_plan_threads(pass->job, pass->local_size),
                               .begun = begun->is_begun ? &begun->chunking : NULL};
    means.backend = share_settle_backend_all(pass->comm, kind);
    means.most_threads = most_u32_all(pass->comm, means.threads);
    return means;
}

status_t pass_same_plan_all(const struct pass *pass, const struct chunking *mine)
{
    struct chunking first = *mine;
    share_bytes_all(pass->comm, &first, sizeof first);
    return agree_all(pass->comm, REQUIRED(chunk_is_same_cut(&first, mine), STATUS_USAGE,
                                          "this rank plans other chunks than rank 0: do all run "
                                          "the same program?"));
}

/* Seconds. LOCKED_FOR: the most that a claim waits for a lock. OTHERS_FIRST: other ranks need them
 * to report that rank 0 is silent. */
enum { FLUSH_BYTES = 512, LOCKED_FOR = 4, OTHERS_FIRST = 10 };

static const char made[] = "made and synced";
static const char finished[] = "finished and synced";

status_t pass_begin_limit_all(struct pass *pass, const char *what, double later)
{
    return agree_all(pass->comm, pass->rank == 0 ? watchdog_begin_file(pass->patience, later,
                                                                       pass->making.items[0].file,
                                                                       what, &pass->watchdog)
                                                 : STATUS_OK);
}

static void pass_end_limit(struct pass *pass)
{
    watchdog_end(memory_move(&pass->watchdog));
}

status_t pass_claim_all(struct pass *pass)
{
    const struct outputs_options claim = {.force = pass->options->force,
                                          .restart = pass->options->restart};
    if (pass->is_complete) {
        return STATUS_OK;
    }
    TRY(pass_begin_limit_all(pass, "looked up and locked", LOCKED_FOR));
    status_t st =
        outputs_claim_all(pass->comm, &pass->making, &claim, &pass->begun, &pass->outputs);
    pass_end_limit(pass);
    TRY(st);
    return REQUIRED(!pass->begun.is_begun || !pass->options->times, STATUS_USAGE,
                    "%s is unfinished, from an earlier run: complete it before it is timed",
                    pass->making.items[0].file);
}

/* Computes the bytes of the file of item i, at most: all of it, rows, axes, filter, CRCs and words.
 * The spec is planned. Fails as pass_measure(). */
static status_t room_measure(const struct output_spec *spec, uint32_t i, uint64_t *bytes)
{
    struct product_place place;
    SCOPED(text_free) struct text made_of = {0};
    SCOPED(inputs_free) struct inputs inputs = {0};
    TRY(inputs_of_product(&spec->inputs, i, &inputs));
    TRY(inputs_contents_room(&inputs, &made_of));
    TRY(output_spec_create(spec, i, -1, NULL, made_of.data, &place, NULL));
    if (spec->items[i].format != FILE_HDF5) {
        struct export_rows rows = export_rows_expect(spec->items[i].format, &spec->items[i].spec);
        export_rows_place(&rows, &spec->items[i].spec, &place);
    }
    *bytes = place.file_bytes;
    return STATUS_OK;
}

status_t pass_measure(struct pass *pass)
{
    for (uint32_t i = 0; i < pass->making.count; i++) {
        TRY(room_measure(&pass->making, i, &pass->bytes[i]));
    }
    return STATUS_OK;
}

/* Returns the maximum size of a compressed file that has file_bytes bytes while it is written. */
static uint64_t packed_most_bytes(uint64_t file_bytes)
{
    enum { LEAST = 1 << 20 };
    return file_bytes + file_bytes / 16 + LEAST;
}

status_t pass_add_room(const struct pass *pass, struct room *room)
{
    for (uint32_t i = 0; i < pass->making.count && !pass->is_complete; i++) {
        const struct output_spec_item *item = &pass->making.items[i];
        TRY(room_add(room, item->file, pass->bytes[i]));
        if (item->compression != COMPRESSION_NONE) { /* for a while both files exist */
            room->needs[room->count - 1].bytes += packed_most_bytes(pass->bytes[i]);
        }
    }
    return STATUS_OK;
}

void pass_say_where_it_goes_on(struct pass *pass)
{
    char count[PASS_TEXT];
    if (pass->rank == 0 && pass->begun.is_begun) {
        pass->before = outputs_done(pass->outputs);
        report_note("%s are done: resumes from there", pass_count_done(pass, count));
    }
}

static void pass_say_what_is_kept(const struct pass *pass)
{
    char count[PASS_TEXT];
    if (pass->outputs && outputs_kept(pass->outputs) > 0) {
        report_note(outputs_are_outdated(pass->outputs)
                        ? "%s are done, of input that has changed since: --restart begins anew, or "
                          "restore the files with their times and run the same command to resume"
                        : "%s are done: run the same command to resume",
                    pass_count_done(pass, count));
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

/* Waits until this rank's share of what earlier runs have written is compared. */
static status_t pass_await_comparison(struct pass *pass, driver_t *driver)
{
    struct liveness_timeout stall = {.seconds = pass->patience};
    uint64_t before = 0;
    uint64_t moved = 0;
    liveness_moved(&stall);
    while (!outputs_is_compared(pass->outputs, driver_pause(driver), &moved)) {
        if (moved != before) {
            before = moved;
            liveness_moved(&stall);
        }
        pass->is_stuck = liveness_has_stalled(&stall);
        REQUIRE(!pass->is_stuck, STATUS_DATA,
                "%s: rows that earlier runs have written could not be read within %g s",
                pass->making.items[0].file, pass->patience);
        if (driver_serve(driver)) {
            break;
        }
    }
    return STATUS_OK;
}

static status_t pass_finish(void *context, driver_t *driver)
{
    status_t st = STATUS_OK;
    struct pass *pass = context;
    TRY_OUT(pipeline_finish(pass->pipeline, driver));
    TRY_OUT(pass_await_comparison(pass, driver));
out:
    pass->idle_since = clock_now();
    return st;
}

static int pass_is_done(void *context, uint64_t chunk)
{
    return outputs_is_done(((struct pass *)context)->outputs, chunk);
}

static uint64_t pass_done(void *context)
{
    return outputs_done(((struct pass *)context)->outputs);
}

static status_t pass_tell(void *context, struct text *out)
{
    const struct pass *pass = context;
    watchdog_moved(pass->watchdog); /* called as often as the main thread serves */
    return outputs_tell(pass->outputs, out);
}

static status_t pass_take(void *context, const char *data, size_t bytes)
{
    const struct pass *pass = context;
    TRY(outputs_take(pass->outputs, data, bytes));
    stop_count(outputs_done(pass->outputs), chunk_count(&pass->making.chunking));
    return STATUS_OK;
}

static void pass_hurry(void *context, int how)
{
    outputs_hurry(((struct pass *)context)->outputs);
    stop_ask(how);
}

static void pass_failing(void *context, status_t st)
{
    outputs_hurry(((struct pass *)context)->outputs);
    stop_limit(st);
}

static int pass_hangs(void *context)
{
    const struct pass *pass = context;
    return pass->is_stuck || pipeline_hangs(pass->pipeline);
}

/* Waits until all is synced. The others hear of this rank meanwhile. */
static status_t pass_settle(void *context, driver_t *driver)
{
    status_t st = STATUS_OK;
    struct pass *pass = context;
    const char *file = pass->making.items[0].file;
    struct liveness_timeout stall = {.seconds = pass->patience};
    int is_settled = 0;
    char what[FLUSH_BYTES];
    display_format(what, sizeof what,
                   "the file system delays the flush of %s: chunks that it has not confirmed are "
                   "computed again",
                   file);
    stop_waits_for(what);
    liveness_moved(&stall);
    while (!is_settled) {
        TRY_OUT(outputs_settle(pass->outputs, driver_pause(driver), &is_settled));
        (void)driver_serve(driver);
        int has_stalled = !is_settled && liveness_has_stalled(&stall);
        pass->is_stuck |= has_stalled;
        REQUIRE_OUT(!has_stalled, STATUS_DATA, "%s: rows could not be synced within %g s", file,
                    pass->patience);
    }
out:
    stop_waits_for(NULL);
    return st;
}

/* Runs work of all ranks, of which rank 0 does the main part, within its time limit. */
static status_t pass_work_within_limit_all(struct pass *pass, const char *what,
                                           status_t (*work_all)(outputs_t *outputs))
{
    TRY(pass_begin_limit_all(pass, what, 0));
    status_t st = work_all(pass->outputs);
    pass_end_limit(pass);
    return st;
}

struct pipeline_sink pass_sink(const struct pass *pass)
{
    return (struct pipeline_sink){pass->outputs, outputs_put,  outputs_end,
                                  outputs_weigh, outputs_flag, outputs_step};
}

status_t pass_open_all(struct pass *pass)
{
    return pass_work_within_limit_all(pass, made, outputs_open_all);
}

status_t pass_finish_all(struct pass *pass)
{
    TRY(pass_work_within_limit_all(pass, finished, outputs_end_sync_all));
    TRY(outputs_pack_all(pass->outputs, channelise_plan_threads(pass->job, pass->local_size),
                         pass->patience));
    return pass_work_within_limit_all(pass, finished, outputs_finish_all);
}

status_t pass_work_off_all(struct pass *pass)
{
    status_t st = STATUS_OK;
    char count[PASS_TEXT];
    int again = 0;
    TRY(pass_work_within_limit_all(pass, made, outputs_begin_all));
    uint64_t chunks = chunk_count(&pass->making.chunking);
    pipeline_limit(pass->pipeline, pass->patience);
    struct driver_work work = {.chunks = chunks,
                               .context = pass,
                               .process = pass_process,
                               .finish = pass_finish,
                               .abandon = pass_abandon,
                               .is_done = pass_is_done,
                               .done = pass_done,
                               .tell = pass_tell,
                               .take = pass_take,
                               .wants_stop = stop_wanted,
                               .hurry = pass_hurry,
                               .failing = pass_failing,
                               .hangs = pass_hangs,
                               .timeout = pass->patience,
                               .file = pass->making.items[0].file,
                               .settle = pass_settle};
    int compares = pass->begun.is_begun && pass->job->check_resumed == CHECK_RESUMED_ALL;
    struct progress progress = {.every = pass->options->progress,
                                .what = "chunks",
                                .rest = compares ? "comparing rows of earlier runs" : NULL,
                                .total = chunks,
                                .before = pass->before,
                                .in_bytes = pass->in_bytes,
                                .out_bytes = outputs_bytes(pass->outputs)};
    TRY(pass_begin_limit_all(pass, "computed, or recorded in the journal,",
                             pass->size > 1 ? OTHERS_FIRST : 0));
    double began = clock_now();
    pass->idle_since = began;
    do {
        progress.before = pass->rank == 0 ? outputs_done(pass->outputs) : 0;
        stop_count(outputs_done(pass->outputs), chunks);
        watch_rest(1);
        st = driver_run_all(pass->comm, &work, &progress);
        watch_rest(0);
        pass->waited = clock_now() - pass->idle_since;
        st = st == STATUS_OK ? outputs_compare_end_all(pass->outputs, &again) : st;
    } while (st == STATUS_OK && again);
    if (st == STATUS_STOPPED && pass->rank == 0) {
        int is_comparing = compares && outputs_done(pass->outputs) == chunks;
        report_fail(st, "%s are done%s; run the same command to resume",
                    pass_count_done(pass, count),
                    is_comparing ? ", but not all rows of earlier runs are compared" : "");
        report_print(); /* before what may take long: threads and devices end */
    }
    /* Else reading what earlier runs have written may have taken most of it. */
    if (st == STATUS_OK && !pass->begun.is_begun) {
        pass_keep_rate(pass, clock_now() - began);
    }
    pass_end_limit(pass);
    return st;
}

status_t pass_judge_holes(const struct pass *pass)
{
    uint64_t worst = 0;
    const struct output_spec_item *item = NULL;
    for (uint32_t i = 0; i < pass->making.count; i++) {
        uint64_t holes = 0;
        TRY(outputs_holes(pass->outputs, i, &holes));
        item = holes > worst ? &pass->making.items[i] : item;
        worst = max_u64(worst, holes);
    }
    return REQUIRED(worst == 0, STATUS_HOLES, "%s is complete, but %s of its %s", item->file,
                    units_count(worst),
                    item->has_times_across
                        ? "DMs contain NaN, where the filterbank has NaN or could not be read"
                        : "rows are NaN: their input could not be read");
}

/* Says that there are fewer chunks than ranks, where chunks are long: nodes are paid for. */
static void pass_note_idle_ranks(const struct pass *pass)
{
    enum { LONG_CHUNK = 256 << 20 /* bytes of input */ };
    uint64_t chunks = chunk_count(&pass->making.chunking);
    if (pass->rank == 0 && chunks < (uint64_t)pass->size && pass->in_bytes / chunks >= LONG_CHUNK) {
        report_note(
            "%s for %d ranks: the others have nothing to do (run.chunk; chunks contain whole "
            "rows of all products)",
            units_number(chunks, "chunk", "chunks"), pass->size);
    }
}

status_t pass_do_all(struct pass *pass, const struct pass_kind *kind)
{
    struct run_times *times = pass->options->times;
    TRY(kind->prepare_all(pass));
    pass->ready_at = clock_now();
    TRY(pass->options->before ? pass->options->before(pass->options->context, pass) : STATUS_OK);
    pass_say_where_it_goes_on(pass);
    pass_note_idle_ranks(pass);
    TRY(pass_work_off_all(pass));
    pass->worked_at = clock_now();
    TRY(pass_begin_limit_all(pass, "checked against its input", 0));
    TRY(agree_all(pass->comm, pass->rank == 0 ? kind->check_input(pass) : STATUS_OK));
    pipeline_release(pass->pipeline);
    TRY(pass_finish_all(pass));
    pass->ended_at = clock_now();
    if (times) {
        struct pipeline_seconds spent = pipeline_seconds(pass->pipeline);
        times->before += pass->ready_at - pass->started_at;
        times->after += pass->ended_at - pass->worked_at;
        times->read += spent.read;
        times->compute += spent.compute;
        times->write += spent.write;
        times->waited += pass->waited;
        times->in_bytes += (double)pass->in_bytes;
        times->out_bytes += (double)outputs_bytes(pass->outputs);
    }
    TRY(pass_begin_limit_all(pass, "read again and closed", 0)); /* until pass_end() */
    TRY(agree_all(pass->comm, kind->conclude(pass)));
    return agree_all(pass->comm, pass->rank == 0 ? pass_judge_holes(pass) : STATUS_OK);
}

void pass_end(struct pass *pass, status_t st)
{
    if (pass->rank == 0 && st != STATUS_OK && st != STATUS_STOPPED && st != STATUS_HOLES) {
        pass_say_what_is_kept(pass);
    }
    pipeline_destroy(pass->pipeline);
    outputs_destroy(pass->outputs);
    pass_end_limit(pass);
    output_spec_free(&pass->making);
    text_free(&pass->problem);
}
