/* A semi-coherent search (job_is_semi_coherent()) as jobs that are run one after the other, its
 * parts: for each coherent DM that is the nearest of some DMs, the job with a filter that
 * dedisperses to it after its own filters, and a dedispersion of those DMs. All filters are as long
 * as that of the largest of these coherent DMs, and delays count from one origin, so all parts make
 * outputs of the same times.
 *
 * A part's power is the job's product with ".coherent-N" after its name, its series the job's
 * series with the same, N the place of its coherent DM in the list. Power is removed when its
 * series are complete, except that of the last part, which describes the band. Series are removed
 * when all of them are in the job's (run/passes.h), and that has its final name. At any moment of a
 * kill, existing files are complete, or have their journal. One run at a time works on the parts:
 * it has the lock of an empty file, the job's series with ".coherent" after their name. */
#ifndef VOLTMILL_RUN_GRID_H
#define VOLTMILL_RUN_GRID_H

#include "run/resume.h"
#include "run/run.h"

struct grid_part {
    double coherent_dm;
    uint32_t number;       /* its place in the list */
    uint32_t first, count; /* of the job's DMs */
    struct job *job;
    struct resume left; /* all: nothing is to be done */
};

struct grid {
    const struct job *job;
    struct grid_part *parts;
    uint32_t count;
    char *lock, *made; /* the empty file; the first folder that was made for it */
    int lock_fd;       /* of rank 0, while it has the lock; else -1 */
};

/* Makes the parts' jobs, the same on all ranks, for grid_destroy(), and checks that their files
 * differ from all others. The job is a semi-coherent search that has its coefficients
 * (share_job_all()). `job` and `archive` must outlive it. Collective: all ranks fail alike;
 * MPI_COMM_NULL: alone. Fails with USAGE if a file of a part is another one of the job, or one that
 * is read, or dedisperse.constant is none; with DATA if an input is unreadable, or a name cannot be
 * looked up; with DEVICE (memory, descriptors). */
status_t grid_create_all(MPI_Comm comm, const struct job *job, const struct archive *archive,
                         struct grid **out);
/* Frees the grid; removes and releases the lock, if it was taken, and folders that were made for
 * it. Takes NULL. */
void grid_destroy(struct grid *grid);
SCOPED_END(grid_destroy, struct grid *)

/* Takes the lock on rank 0, made with its folder if need be: what is left is to be looked at once
 * more. Collective: all ranks fail alike. Fails with USAGE if another run has it (still, after
 * three seconds), the file is not empty, or it cannot be made; with NO_SPACE, DATA, DEVICE. */
status_t grid_lock_all(MPI_Comm comm, struct grid *grid);

/* Rank 0, or alone: finds what is left of each part, in part->left. With --force, parts that have
 * files of another job are to be done anew. `may_remove`: with --restart, removes power and series
 * of all parts; without, only journals as resume_find() does. Fails with USAGE, but not with
 * --force, if a product is of another job or other files, or incomplete; with DATA if one is
 * unreadable; with DEVICE, STOPPED (of a child process that opens it). */
status_t grid_find_left(struct grid *grid, const struct archive *archive,
                        const struct run_options *options, int may_remove);

/* Rank 0: removes the power of a part, whose series the caller knows to be complete. Cannot fail:
 * failures are forgotten or warnings. */
void grid_remove_power(const struct grid_part *part);
/* Rank 0: removes power and series of all parts that are complete and of this very job. Takes the
 * lock first, and removes nothing if another run has it. Cannot fail: failures are forgotten or
 * warnings. */
void grid_remove(struct grid *grid);

#endif
