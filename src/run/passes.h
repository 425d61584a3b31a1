/* The kinds of passes: the filter bank of a job; its dedispersions, each over a filterbank that is
 * there by then; and the last one of a semi-coherent search, which merges series.
 *
 * Functions that do a pass fail as run_job_all() (run/run.h): with USAGE, DATA, NO_SPACE, DEVICE;
 * with STOPPED on request; with HOLES if rows are NaN because input was unreadable. */
#ifndef VOLTMILL_RUN_PASSES_H
#define VOLTMILL_RUN_PASSES_H

#include "pipeline/device_carry.h"
#include "run/grid.h"
#include "run/pass.h"
#include "tune/tuning.h"

struct dedisperse_pass {
    struct pass pass;
    uint32_t number;
    struct fbh5 *fbh5;
    struct dedisperse_plan *plan; /* NULL: not planned */
    int is_foreseen;              /* another process, or a later pass, will claim its product */
    backend_t *opened;            /* its own; NULL: an earlier pass's */
    backend_t *backend;           /* either */
    const struct device_carry *between;
    /* When it merges the parts of a semi-coherent search (grid_merge_all()): what its series
     * are made of, and a filterbank that is there; else NULL. */
    const struct archive *search;
    const char *filterbank;
    const struct grid *grid;
    struct merge_source *sources;
};

/* On one rank: calls the tuner as the options of a run allow: looks up, or, if they have a budget
 * and `may_search`, searches now with `memory` bytes at most (0: no limit), and stores what it
 * found in the database. `also`: a configuration that a search begins with, may be NULL. `backend`
 * and `spec` must outlive *out; the caller calls tuning_end() in any case. The process ends if the
 * database's file hangs. Fails with USAGE (the requested method cannot do the case), DEVICE. */
status_t tuned_ask(const struct tune_problem *problem, backend_t *backend, const void *spec,
                   const struct run_options *options, int may_search, uint64_t memory,
                   const uint32_t *also, struct tuning *out);
/* On one rank: looks up or searches the shape of a problem as tuned_ask() does, with `memory` bytes
 * at most (0: no limit). Sets *is_found to whether there is one; if so, copies its `bytes` bytes to
 * `shape`, else unchanged, and prints a note that calls the problem `what`. Fails with USAGE (the
 * requested method cannot do the case), DEVICE. */
status_t tuned_find(const struct tune_problem *problem, backend_t *backend, const void *spec,
                    uint64_t memory, const struct run_options *options, const char *what,
                    void *shape, size_t bytes, int *is_found);

/* Alone, before the first pass: plans the remaining dedispersions, or all if none remains, and
 * computes the bytes of their products. Their input are the products of `work`, or (NULL) existing
 * filterbanks. `like` gives job, options, ranks of a machine, and whether a run will follow (it has
 * a communicator). Tables of delays are dropped afterwards. Fails as dedisperse_pass_all() would
 * before its first chunk: with USAGE (also if a product exists or belongs to another plan), DATA,
 * NO_SPACE (a limit on the size of files), DEVICE, STOPPED (of a child process that opens files).
 *
 *   out   [job->ndedisperse], zeroed; for dedisperse_pass_end() in any case */
status_t dedisperse_pass_foresee(const struct pass *like, const struct resume *skip,
                                 const struct channelise_plan *work, struct dedisperse_pass *out);

/* Adds the disk space of `count` passes, as pass_add_room(); complete ones need none. Fails with
 * USAGE if there are ROOM_MOST_FILES, or a folder is none; with DATA if a file system cannot be
 * looked up; with DEVICE (memory). */
status_t dedisperse_pass_add_room(const struct dedisperse_pass *passes, uint32_t count,
                                  struct room *room);

/* Does dedispersion `number`, from 0, of the job, from its plan to its product, of which rank 0
 * prints a summary. Uses what earlier passes have left in `between`. Collective: all ranks fail
 * alike. Fails with USAGE, DATA, NO_SPACE, DEVICE; with STOPPED on request; with HOLES if series
 * are NaN because input was NaN or unreadable. */
status_t dedisperse_pass_all(MPI_Comm comm, const struct job *job, uint32_t number,
                             const struct run_options *options, const struct device_carry *between);

/* Ends a pass with status `st`, as pass_end(), gives back its own backend, and frees its members.
 * Does nothing for a pass of zeros. */
void dedisperse_pass_end(struct dedisperse_pass *p, status_t st);

/* The last pass of a semi-coherent search: the series of all parts in one product. */
/* Alone: plans the merge, and measures it. `part`: the first remaining part, whose power `work`
 * makes, or (NULL) exists; NULL: all are complete. *out is zeroed but for is_foreseen, and for
 * dedisperse_pass_end() in any case. Fails, as the merge would before its first chunk, with USAGE
 * (also if a product exists or belongs to another plan), DATA, NO_SPACE (a limit on the size of
 * files), DEVICE, STOPPED (of a child process that opens files). */
status_t grid_merge_foresee(const struct grid *grid, const struct grid_part *part,
                            const struct archive *archive, const struct run_options *options,
                            const struct channelise_plan *work, struct dedisperse_pass *out);

/* Merges the series of all parts into the job's, when all parts are complete. Collective: all ranks
 * fail alike. Fails with USAGE, DATA (also if the archive has changed since), NO_SPACE, DEVICE;
 * with STOPPED on request; with HOLES if series are NaN because input was unreadable. */
status_t grid_merge_all(MPI_Comm comm, const struct grid *grid, const struct archive *archive,
                        const struct run_options *options);

/* The filter bank of a job, from its plan to its products. */

struct channelise_pass {
    struct pass pass;
    const struct archive *archive;
    struct channelise_plan *work;
    struct text arithmetic[JOB_BANKS];
    int has_filters; /* their choices are settled: */
    struct filter_choice filters[JOB_FILTERS];
    struct synthesise_choice synthesis;
    uint64_t block; /* units of all streams, as tuned; 0: as suits */
    backend_t *backend;
    struct device_carry *between;
    /* Alone, or on rank 0: the dedispersions that are left to do, of what it makes. */
    const struct resume *skip;
    struct dedisperse_pass *later; /* [job->ndedisperse], for dedisperse_pass_end() */
    double steps[RUN_STEPS];       /* seconds; the next began at `since` */
    double since;
};

/* Plans the pass, anew or as an earlier run has begun it, and the later dedispersions. Claims its
 * products; a process alone only reads existing files (run/pass.h), and then plans pass.making,
 * too. Before: p->pass is begun (pass_begin()), `archive` and `skip` are set, and, alone or on rank
 * 0, `later` points to structs of zeros; the rest is zero. Job, options, archive and `skip` must
 * outlive it. channelise_pass_end() in any case, and dedisperse_pass_end() for each of `later`.
 * Collective: all ranks fail alike. Fails with USAGE if job and archive make no plan (memory, too),
 * products exist, are locked or belong to another plan, or ranks plan differently; with DATA,
 * NO_SPACE, DEVICE, STOPPED (of a child process that opens files). */
status_t channelise_pass_plan_all(struct channelise_pass *p);

/* Does the pass of the job's filter bank, whose products are not complete (skip->channelise 0).
 * `skip` says, alone or on rank 0, which dedispersions are complete. `started`: clock_now() at the
 * begin of the run. between->are_done is set before; the rest is zero.
 *
 * Power that will be dedispersed also stays in `between`, with its backend, where a device keeps
 * rows. Rank 0 sets between->files. The caller gives back the backend of device_carry_end(between)
 * in any case.
 *
 * Rank 0 prints a summary on stdout, unless options->times is set. Collective: all ranks fail
 * alike. Fails with USAGE, DATA (also if the archive has changed since), NO_SPACE, DEVICE, and as
 * options->before(). Fails with STOPPED on request, with HOLES if rows are NaN because input was
 * unreadable. */
status_t channelise_pass_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                             const struct run_options *options, const struct resume *skip,
                             double started, struct device_carry *between);

/* Ends a pass with status `st`, as pass_end(), and frees its members but for `later`. If the pass
 * still has its backend (p->backend), ends `between` first, whose rows are on it, and gives the
 * backend back (opened_give_back()). */
void channelise_pass_end(struct channelise_pass *p, status_t st);

/* A job before its run: loaded, safe, what is left to do of it; and all of its passes planned
 * (run.c). */

struct run_begin {
    struct text text; /* the job file's */
    struct job *job;
    struct archive *archive; /* NULL: the input is a filterbank */
    struct resume left;
};

/* Plan of a run, to the last byte: everything that `voltmill plan` prints. */
struct run_plan {
    struct run_begin begun;
    /* For a semi-coherent search: its parts, of which one incomplete part is planned as the job
     * (NULL: all are complete), and the pass that merges them; else NULL. */
    struct grid *grid;
    const struct grid_part *part;
    struct dedisperse_pass merge;
    struct channelise_pass bank;                   /* bank.work NULL: it has nothing to do */
    struct dedisperse_pass series[JOB_DEDISPERSE]; /* plan NULL: complete */
    struct room room; /* of what is not complete; room_check() refuses what run does */
};

/* Plans a run, in one process, which leaves all files as they are. `options` must outlive the plan,
 * which run_plan_destroy() frees. Fails with USAGE, DATA, NO_SPACE (a limit on the size of files),
 * DEVICE (memory, descriptors, no child) and STOPPED (while a child process opens files), where the
 * run would before its first chunk; not for want of disk space or of a device, nor with HOLES. */
status_t run_plan_create(const struct run_options *options, struct run_plan **out);
/* Frees a plan of run_plan_create(). Takes NULL. */
void run_plan_destroy(struct run_plan *plan);
SCOPED_END(run_plan_destroy, struct run_plan *)

#endif
