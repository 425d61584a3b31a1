/* The driver: rank 0 gives out chunks on request, and every rank processes them, rank 0 too.
 *
 * Messages are small. A rank requests its next chunk before it begins the current one, so no rank
 * waits while rank 0 computes. When one rank fails, no more chunks are given out; the others finish
 * their current ones, and rank 0 prints that rank's message at once. If a rank does not answer
 * within ten seconds then, the whole run is aborted.
 *
 * A rank that dies, or is silent for too long, is a failure, too. The run is aborted after the
 * others have ended.
 *
 * A run can be asked to stop, on any rank: no more chunks are begun; those in work are dropped, at
 * once or, if it may finish them, when that takes longer than eight seconds. */
#ifndef VOLTMILL_RANKS_DRIVER_H
#define VOLTMILL_RANKS_DRIVER_H

#include "base/status.h"
#include "base/text.h"
#include "ranks/progress.h"

#include <mpi.h>
#include <stdint.h>

typedef struct driver driver_t;

/* Work of the driver. All but the first three may be NULL. */
struct driver_work {
    uint64_t chunks;
    void *context;
    /* Works off one chunk. Calls driver_serve() now and then when that takes long, and may end
     * early with STATUS_OK when it gives 1. */
    status_t (*process)(void *context, driver_t *driver, uint64_t chunk);
    /* On every rank, after its last chunk unless one has failed: what is still under way. */
    status_t (*finish)(void *context, driver_t *driver);
    /* On rank 0, before a run is given up because ranks do not answer: removes what must not stay.
     */
    void (*abandon)(void *context);

    /* On rank 0: whether a chunk was done before this run. */
    int (*is_done)(void *context, uint64_t chunk);
    /* On rank 0: returns the number of chunks done. Without it, chunks count as done when their
     * rank requests another one. */
    uint64_t (*done)(void *context);
    /* On every rank, often: appends what rank 0 should know by now. */
    status_t (*tell)(void *context, struct text *out);
    /* On rank 0: takes the output of one call of tell() of some rank. */
    status_t (*take)(void *context, const char *data, size_t bytes);
    /* On every rank, often: returns whether the run shall stop: enum stop (ranks/stop.h). */
    int (*wants_stop)(void);
    /* On every rank that is still at work when it learns that the run stops, or stops sooner. */
    void (*hurry)(void *context, int how);
    /* On every rank, as soon as it learns that one has failed; on that one, and on rank 0, with its
     * status. */
    void (*failing)(void *context, status_t st);
    /* On every rank that has failed: whether threads of it hang, so that it cannot end by itself.
     * The run is given up then: a launcher may hang when one rank exits while others finish. */
    int (*hangs)(void *context);
    /* Seconds after which a rank of which nothing is heard counts as lost; 0: never. And what is
     * not complete then: a name. */
    double timeout;
    const char *file;
    /* On every rank, last of all and also after a failure: after it, tell() returns everything that
     * is left. */
    status_t (*settle)(void *context);
};

/* Runs all chunks. Collective; every rank gets the same status: STOPPED, without a message, if a
 * stop was requested and work may be left; else the first failure of any rank's work, or DEVICE.
 * `progress` may be NULL. */
status_t driver_run_all(MPI_Comm comm, const struct driver_work *work, struct progress *progress);

/* Does rank 0's part of a run of `ranks` ranks in this process: requests and texts of the others
 * (work->tell(), one a chunk) reach it through MPI from this process. Gives out all chunks; needs
 * the members chunks, tell and take. Not collective; MPI has begun. Fails as take(), with DEVICE
 * (memory). */
status_t driver_simulate(const struct driver_work *work, int ranks);

/* Sends and answers pending messages. Returns 1 if the current work is cancelled: a rank has
 * failed, or a stop takes too long. */
int driver_serve(driver_t *driver);

/* Returns the seconds after which it should be called again: others may wait for chunks of rank 0.
 * To look is to take a core from a thread that computes there. */
double driver_pause(const driver_t *driver);

#endif
