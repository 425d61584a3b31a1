/* One backend for all ranks of a run: their results must be alike. Collective. */
#ifndef VOLTMILL_RUN_DEVICES_H
#define VOLTMILL_RUN_DEVICES_H

#include "compute/backend.h"
#include "job/job.h"

#include <mpi.h>

/* What AUTO stands for: OPENCL if all ranks have a GPU. */
enum backend_kind devices_settle_all(MPI_Comm comm, enum backend_kind wanted);

/* Opens the backend on every rank. Fails with DEVICE: none, or devices of two kinds, which could
 * round differently. */
status_t devices_open_all(MPI_Comm comm, const struct job *job, enum backend_kind kind,
                          backend_t **out);

#endif
