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

/* Does a pass that was begun (pass_begin()), from its plan to its products; pass_end() afterwards
 * in any case. Adds to options->times, if there are any. Collective: all ranks fail alike. Fails
 * with USAGE, DATA (also if input has changed since), NO_SPACE, DEVICE; with STOPPED on request;
 * with HOLES if rows are NaN because input was unreadable: the products are complete then. Also as
 * options->before() does. */
status_t pass_do_all(struct pass *pass, const struct pass_kind *kind);

/* Begins a pass of zeros, for pass_end(): its patience is the options', or CLOCK_STALL seconds.
 * `job` and `options` must outlive it. Collective. Cannot fail. */
void pass_begin(struct pass *pass, MPI_Comm comm, const struct job *job,
                const struct run_options *options);

/* Means of a stage's plan: a backend, and numbers of threads: this rank's, and that of the rank
 * with the most, for which the one plan of all ranks is made. */
struct pass_means {
    enum backend_kind backend;
    uint32_t threads, most_threads;
    const struct chunking *begun; /* chunks as an earlier run has cut them, or NULL */
};
/* Returns the means of the pass. AUTO is the backend that it was begun with, else OPENCL if all
 * ranks have a GPU, else CPU; other kinds are not checked. Collective. Cannot fail. */
struct pass_means pass_means_all(const struct pass *pass, enum backend_kind wanted);

/* Checks that all ranks have planned the same chunks; `mine` are those of this rank. Chunks are
 * identified by number, so a rank with other chunks would write wrong rows. Fails with USAGE on all
 * ranks if they differ. Collective. */
status_t pass_same_plan_all(const struct pass *pass, const struct chunking *mine);

/* Claims the products of pass->making (outputs_claim_all()), or, with MPI_COMM_NULL, only checks
 * them: pass->begun describes the files to resume. Does nothing for a pass that is complete. Within
 * the pass's patience: else the process ends. Collective: all ranks fail alike. Fails with USAGE if
 * another run is at work, or products or files of another plan are there; if it is to be timed, and
 * was begun by an earlier run. Fails with DATA, NO_SPACE, DEVICE, STOPPED. */
status_t pass_claim_all(struct pass *pass);

/* In one process, when pass->making is planned: computes pass->bytes, the bytes of each product's
 * file. Fails with USAGE if a kind cannot store such rows, with DATA if HDF5
 * cannot lay one out (inputs that are missing are no failure), with NO_SPACE (a limit on the size
 * of files), DEVICE (memory). */
status_t pass_measure(struct pass *pass);
/* Adds the bytes of the products' files (pass_measure()), unless the pass is complete, to the disk
 * space that a run needs, and as much again for files that are to be compressed. In one process.
 * Fails with USAGE if there are ROOM_MOST_FILES, or a folder is none; with DATA if a file system
 * cannot be looked up; with DEVICE (memory). Some files may be added then. */
status_t pass_add_room(const struct pass *pass, struct room *room);

/* Estimates the remaining time, to two digits, from the speed of the last such pass, which the
 * cache has. The pass is planned, with problem and work. seconds 0: unknown, also after a failure.
 * Clears the recorded cause. */
struct rate pass_expect(const struct pass *pass);

/* Removes the limit pass->patience, which pass_begin() sets, for the reference, unless the options
 * state a limit. */
void pass_limit(struct pass *pass, enum backend_kind backend);

/* Begins the limit of rank 0's main thread anew, until pass_end(): if that thread makes no progress
 * within the pass's patience, and `later` seconds, the process ends (watchdog_begin_file()), since
 * the products could not be `what` ("opened"), which no other part would detect. No limit if the
 * patience is 0. Collective. Fails on all ranks with DEVICE (memory, no thread). */
status_t pass_begin_limit_all(struct pass *pass, const char *what, double later);

enum { PASS_TEXT = 2 * UNITS_TEXT + 16 };
/* Writes "12 of 40 chunks", those done by now, earlier runs included, into `text`; returns `text`.
 * For rank 0, or alone, after pass_claim_all(). The pass is not complete, and it was begun by an
 * earlier run (pass->begun) or is planned (pass->making). */
const char *pass_count_done(const struct pass *pass, char text[PASS_TEXT]);

/* Begins the journals, processes all chunks that are not done, and awaits the comparison of rows of
 * earlier runs, after which chunks may be processed again. Keeps the pass's speed in the cache. All
 * rows are synced on return. Collective: all ranks fail alike. Fails as the stage and its outputs
 * do, with USAGE, NO_SPACE, DATA (also if the file system makes no progress), DEVICE; of a failure
 * within chunks rank 0 has printed the cause. Fails with STOPPED on request, which rank 0 has
 * printed, too. */
status_t pass_work_off_all(struct pass *pass);

/* Returns the sink of the pass's pipeline: its outputs (output/outputs.h), which stay the pass's.
 */
struct pipeline_sink pass_sink(const struct pass *pass);

/* Opens or makes the files of the products (outputs_open_all()), within the pass's patience: else
 * the process ends. Collective: all ranks fail alike, with USAGE, NO_SPACE, DATA, DEVICE, STOPPED
 * as that function does. */
status_t pass_open_all(struct pass *pass);
/* After the last chunk: ends the threads that sync, packs the products, and gives them their names
 * (outputs_end_sync_all(), outputs_pack_all(), outputs_finish_all()). Within the pass's patience:
 * else the process ends. Collective: all ranks fail alike, with USAGE, NO_SPACE, DATA, DEVICE as
 * those functions do; with STOPPED on request. */
status_t pass_finish_all(struct pass *pass);

/* On rank 0, if the pass resumes: prints a note with the number of chunks that earlier runs have
 * done, and sets pass->before to it. Elsewhere no effect. */
void pass_say_where_it_goes_on(struct pass *pass);

/* On rank 0, when the products have their names. Fails with HOLES if rows are NaN because input was
 * unreadable (of series also if DMs are, because a filterbank without marks of its own has NaN),
 * naming the product with the most; with DATA if a product cannot be read; with DEVICE
 * (memory, descriptors). */
status_t pass_judge_holes(const struct pass *pass);

/* Ends a pass with status `st`, and frees its pipeline, outputs and texts. After a failure other
 * than STOPPED and HOLES rank 0 notes how many chunks are kept. Does nothing for a pass of zeros.
 */
void pass_end(struct pass *pass, status_t st);

#endif
