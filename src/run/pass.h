/* A pass: some stage makes the rows of some products, chunk by chunk, on all ranks. The part of a
 * run that all such stages share: planning, the driver, the outputs and their journals, stops and
 * failures.
 *
 * A pass of MPI_COMM_NULL is planned by one process alone, which reads existing files and makes
 * none. `voltmill plan` uses it for a run, and a run for its later passes. */
#ifndef VOLTMILL_RUN_PASS_H
#define VOLTMILL_RUN_PASS_H

#include "output/outputs.h"
#include "pipeline/pipeline.h"
#include "ranks/stop.h"
#include "run/run.h"

/* Speed of earlier passes on this machine. Runs store it in the cache folder, plans read it. */

struct rate {
    double seconds;          /* in the cache for a unit of work, else for all of it; 0: unknown */
    uint32_t ranks, threads; /* with which it was measured; threads of each rank */
};

struct pass {
    MPI_Comm comm;
    int rank, size;
    int local_size;  /* ranks of a machine that will do it */
    int is_complete; /* only planned: its products are there, and stay */
    const struct job *job;
    const struct run_options *options;
    struct output_spec making;
    struct outputs_begun begun;
    outputs_t *outputs;
    uint64_t bytes[MOST_OUTPUTS]; /* of each product's file, all of it */
    double patience;      /* seconds without progress after which the pass fails; 0: no limit */
    watchdog_t *watchdog; /* of rank 0's main thread, where it waits for the file system; or NULL */
    uint64_t before;      /* chunks that earlier runs have done */
    uint64_t in_bytes;
    double idle_since;    /* clock_now() when this rank had no more chunks, */
    double waited;        /* and seconds until all ranks had none */
    pipeline_t *pipeline; /* makes the rows; the pass's to end */
    /* Set before the first chunk: one of both, or none in a merge, and its backend. */
    const struct channelise_plan *bank_plan;
    const struct dedisperse_plan *series_plan;
    backend_t *stage;
    int is_stuck;        /* what earlier runs have written could not be read in time */
    struct text problem; /* key of struct rate: facts on which the speed depends */
    double work;         /* amount of work of the pass, in the unit of struct rate */
    /* clock_now() at the begin of the run, or of the pass; before the first chunk; after the last
     * one; when the products had their names. */
    double started_at, ready_at, worked_at, ended_at;
};

/* A kind of pass, by its own part of the work. Its struct begins with a struct pass. */
struct pass_kind {
    /* Plans it, opens its backend and its outputs, makes its pipeline. Collective. */
    status_t (*prepare_all)(struct pass *pass);
    /* On rank 0, after the last chunk: checks that the input files have not changed. */
    status_t (*check_input)(const struct pass *pass);
    /* On every rank, when its products have their names: rank 0 reports them. */
    status_t (*conclude)(struct pass *pass);
};

/* Does a pass that was begun, from its plan to its products. Collective. Fails with USAGE, DATA,
 * NO_SPACE, DEVICE; with STOPPED on request; with HOLES if rows are NaN because input was
 * unreadable. */
status_t pass_do_all(struct pass *pass, const struct pass_kind *kind);

/* Begins a pass of zeros. `job` and `options` must outlive it. Collective. */
void pass_begin(struct pass *pass, MPI_Comm comm, const struct job *job,
                const struct run_options *options);

/* Means of a stage's plan: a backend, and numbers of threads: this rank's, and that of the rank
 * with the most, for which the one plan of all ranks is made. */
struct pass_means {
    enum backend_kind backend;
    uint32_t threads, most_threads;
    const struct chunking *begun; /* chunks as an earlier run has cut them, or NULL */
};
/* Returns the means of the pass. AUTO is the backend that it was begun with, else one that all
 * ranks have. Collective. */
struct pass_means pass_means_all(const struct pass *pass, enum backend_kind wanted);

/* Checks that all ranks have planned the same chunks; `mine` are those of this rank. Chunks are
 * identified by number, so a rank with other chunks would write wrong rows. Fails with USAGE if
 * they differ. Collective. */
status_t pass_same_plan_all(const struct pass *pass, const struct chunking *mine);

/* Claims the products of pass->making, or, with MPI_COMM_NULL, only checks them: pass->begun
 * describes the files to resume. Does nothing for a pass that is complete. Fails as
 * outputs_claim_all(): with USAGE (another run is at work; products or files of another plan are
 * there), DATA, NO_SPACE, DEVICE, STOPPED; with USAGE if it is to be timed, and was begun by an
 * earlier run. Collective. */
status_t pass_claim_all(struct pass *pass);

/* pass_measure(): computes pass->bytes, the bytes of each product's file, in one process, when
 * pass->making is planned. pass_add_room(): adds these, unless the pass is complete, to the disk
 * space that a run needs. Fail with DATA, USAGE, DEVICE. */
status_t pass_measure(struct pass *pass);
status_t pass_add_room(const struct pass *pass, struct room *room);

/* Estimates the remaining time, to two digits, from the speed of the last such pass. seconds 0:
 * unknown, also after a failure. Clears the recorded cause. */
struct rate pass_expect(const struct pass *pass);

/* Removes the limit pass->patience, which pass_begin() sets, for the reference, unless the options
 * state a limit. */
void pass_limit(struct pass *pass, enum backend_kind backend);

/* Begins the limit of rank 0's main thread anew, until pass_end(): if that thread makes no progress
 * within the pass's patience, and `later` seconds, the process ends (watchdog_begin_file()), since
 * the products could not be `what` ("opened"), which no other part would detect. Collective. Fails
 * with DEVICE. */
status_t pass_begin_limit_all(struct pass *pass, const char *what, double later);

/* Writes "12 of 40 chunks": those done by now, earlier runs included. Returns `text`. */
enum { PASS_TEXT = 2 * UNITS_TEXT + 16 };
const char *pass_count_done(const struct pass *pass, char text[PASS_TEXT]);

/* Processes all chunks that are not done. Collective. Fails as the stage and its outputs do, with
 * USAGE, NO_SPACE, DATA, DEVICE; with STOPPED on request. */
status_t pass_work_off_all(struct pass *pass);

/* Returns the sink of the pass's pipeline. */
struct pipeline_sink pass_sink(const struct pass *pass);

/* outputs_open_all(), and what follows the last chunk up to outputs_finish_all(), within the pass's
 * patience: end the process if they take longer. Collective. Fail with USAGE, NO_SPACE, DATA,
 * DEVICE, STOPPED. */
status_t pass_open_all(struct pass *pass);
status_t pass_finish_all(struct pass *pass);

/* On rank 0: reports the chunks of earlier runs from which the pass resumes, and sets pass->before.
 */
void pass_say_where_it_goes_on(struct pass *pass);

/* On rank 0, when the products have their names. Fails with HOLES if rows are NaN because input was
 * unreadable; with DATA, DEVICE. */
status_t pass_judge_holes(const struct pass *pass);

/* Ends a pass with status `st`. After a failure rank 0 reports which files are kept. Does nothing
 * for a pass of zeros. */
void pass_end(struct pass *pass, status_t st);

#endif
