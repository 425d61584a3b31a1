/* The driver: rank 0 gives out chunks on request, every rank works them off, rank 0 too.
 *
 * Messages are small; a rank asks for its next chunk before it begins the one it has, so nobody
 * waits while rank 0 computes. When one rank fails, no more chunks are given out; the others finish
 * what they have, and rank 0 ends with that rank's message. A rank that does not answer within
 * ten seconds then is given up, and the whole run with it. */
#ifndef VOLTMILL_RUN_DRIVER_H
#define VOLTMILL_RUN_DRIVER_H

#include "base/status.h"
#include "run/progress.h"

#include <mpi.h>
#include <stdint.h>

typedef struct driver driver_t;

struct driver_work {
    uint64_t chunks;
    void *context;
    /* Works off one chunk. Calls driver_serve() now and then when that takes long, and may end
     * early with STATUS_OK when it gives 1. */
    status_t (*process)(void *context, driver_t *driver, uint64_t chunk);
    /* On every rank, after its last chunk unless one has failed: what is still under way. May be
     * NULL. */
    status_t (*finish)(void *context, driver_t *driver);
    /* On rank 0, before a run is given up because ranks do not answer: removes what must not stay.
     * May be NULL. */
    void (*abandon)(void *context);
};

/* Works off all chunks. Collective; every rank gets the same status. `progress` may be NULL. */
status_t driver_run_all(MPI_Comm comm, const struct driver_work *work, struct progress *progress);

/* On rank 0: answers the requests that have come in. Gives 1 when a rank has failed: what is being
 * worked on is no longer wanted. */
int driver_serve(driver_t *driver);

#endif
