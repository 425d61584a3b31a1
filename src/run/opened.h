/* The backend of a run: opened beside what must be done before it is needed, since drivers of
 * devices take long to begin, and kept from one run to the next (`run --each`). One for all ranks:
 * their results must be alike. */
#ifndef VOLTMILL_RUN_OPENED_OPENED_H
#define VOLTMILL_RUN_OPENED_OPENED_H

#include "compute/backend.h"
#include "job/job.h"

#include <mpi.h>

typedef struct opened opened_t;

/* `keeps`: a device that is given back stays open, with its programs and buffers. Fails with
 * DEVICE. Collective. */
status_t opened_create_all(MPI_Comm comm, int keeps, opened_t **out);
/* Takes NULL. Waits for what is being opened. */
void opened_destroy(opened_t *opened);

/* Begins, in a thread, to open what the job's first pass will want, if that is a device of any
 * kind, and none was begun or kept; what goes wrong there is said by who takes it. Takes NULL. Not
 * collective: where the run before ended early, a rank's thread may still be at work. */
void opened_begin(opened_t *opened, const struct job *job);

/* Gives every rank its backend: the one that was opened or kept, if it is the right one, or
 * another. Fails with DEVICE: none, or devices of two kinds, which could round differently.
 * Collective. */
status_t opened_take_all(MPI_Comm comm, opened_t *opened, const struct job *job,
                         enum backend_kind kind, backend_t **out);

/* Nobody uses it any more; `st`: how its pass has ended. Takes NULL for both. */
void opened_give_back(opened_t *opened, backend_t *backend, status_t st);

#endif
