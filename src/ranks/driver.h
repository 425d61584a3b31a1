/* The driver: rank 0 gives out chunks on request, and every rank processes them, rank 0 too.
 *
 * Messages are small. A rank requests its next chunk before it begins the current one, so no rank
 * waits while rank 0 computes. When one rank fails, no more chunks are given out; the others finish
 * their current ones, and rank 0 prints that rank's message at once. If a rank has not ended eight
 * seconds after rank 0 has learned of it and done its own work, the whole run is aborted.
 *
 * A rank that dies, or is silent for too long, is a failure, too. The run is aborted after the
 * others have ended.
 *
 * All functions are for the main thread. Communicators are not MPI_COMM_NULL.
 *
 * A stop can be requested on any rank. No chunk is begun then. Chunks in progress are dropped: at
 * once, or, if they may be finished, after eight seconds. */
#ifndef VOLTMILL_RANKS_DRIVER_H
#define VOLTMILL_RANKS_DRIVER_H

#include "base/text.h"
#include "ranks/progress.h"

#include <mpi.h>

typedef struct driver driver_t;

/* Work of the driver. All but the first three may be NULL; tell() needs take(). */
struct driver_work {
    uint64_t chunks;
    void *context;
    /* Processes one chunk. While that lasts, calls driver_serve() every driver_pause() seconds; may
     * return early with STATUS_OK when it returns 1. */
    status_t (*process)(void *context, driver_t *driver, uint64_t chunk);
    /* On every rank, after its last chunk unless a rank has failed: completes what is in flight. */
    status_t (*finish)(void *context, driver_t *driver);
    /* On rank 0, before a run is aborted because ranks do not answer: removes files that must not
     * stay. */
    void (*abandon)(void *context);

    /* On rank 0: whether a chunk was done before this run. */
    int (*is_done)(void *context, uint64_t chunk);
    /* On rank 0: returns the number of chunks done, for the progress, those of earlier runs too.
     * Without it, chunks count as done when their rank requests another one. */
    uint64_t (*done)(void *context);
    /* On every rank, often: appends a report for take() on rank 0. */
    status_t (*tell)(void *context, struct text *out);
    /* On rank 0: takes the output of one call of tell() of some rank. */
    status_t (*take)(void *context, const char *data, size_t bytes);
    /* On every rank, often: returns whether the run shall stop: enum stop (ranks/stop.h). */
    int (*wants_stop)(void);
    /* On every rank, with or without a chunk in progress, when it learns that the run stops, or
     * stops sooner (enum stop). */
    void (*hurry)(void *context, int how);
    /* On every rank, as soon as it learns of a failure; `st` is its status. On a rank that failed
     * perhaps twice: with its own, and with that of the first failure. */
    void (*failing)(void *context, status_t st);
    /* On every rank that has failed: returns whether its threads hang, so that it cannot end by
     * itself. The run is aborted then: a launcher may hang when one rank exits while others finish.
     */
    int (*hangs)(void *context);
    /* Seconds without a message after which a rank counts as lost; 0: never. And the name of the
     * file that is incomplete then, for the message. */
    double timeout;
    const char *file;
    /* On every rank, last of all and also after a failure: after it, tell() returns everything that
     * is left. Calls driver_serve() meanwhile, whatever that returns. */
    status_t (*settle)(void *context, driver_t *driver);
};

/* Runs all chunks. Collective; every rank gets the same status: the first failure of any rank's
 * work, which rank 0 has printed; else STOPPED, without a message, if a stop was requested and work
 * may be left. Fails on all with DEVICE (memory), before any work and not printed. Does not return
 * where the run is aborted: a rank that dies or is silent is DEVICE. `progress` counts on rank 0
 * alone; it may be NULL. */
status_t driver_run_all(MPI_Comm comm, const struct driver_work *work, struct progress *progress);

/* Does rank 0's part of a run of `ranks` ranks in this process: requests and texts of the others
 * (work->tell(), one a chunk) reach it through MPI from this process. Gives out all chunks; needs
 * the members chunks, tell and take; is_done and failing are used, too. Not collective; MPI has
 * begun. Fails as tell(); as take(), which is printed; with DEVICE (memory). */
status_t driver_simulate(const struct driver_work *work, int ranks);

/* Sends and answers pending messages, calls tell(), take(), wants_stop(), hurry() and failing() as
 * struct driver_work says, and shows the progress on rank 0. Returns 1 if the current work is
 * cancelled: a rank has failed, or a stop takes too long, or drops it at once. Aborts the run, and
 * does not return, on ranks whose rank 0 has died or is silent. */
int driver_serve(driver_t *driver);

/* Returns the seconds after which driver_serve() should be called again: 0.0005 on rank 0 of
 * several, for whose chunks others may wait; else 0.005. More calls would take a core from the
 * threads that compute. */
double driver_pause(const driver_t *driver);

#endif
