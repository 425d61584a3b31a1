/* `voltmill import`: an archive of any readable format written into the native layout, on all
 * ranks, in one pass and without changing a number. */
#ifndef VOLTMILL_RUN_IMPORT_H
#define VOLTMILL_RUN_IMPORT_H

#include "base/status.h"

#include <mpi.h>
#include <stdint.h>

struct import_options {
    const char *file;         /* to be made */
    char *const *inputs;      /* [ninputs] patterns, too */
    uint32_t ninputs;         /* may be 0 with a job */
    const char *job, *layout; /* its input; YAML of input.layout; NULL: not given */
    const char *const *sets;  /* of keys of a job's input */
    uint32_t nsets;
    int force;
    double progress;
};

/* Imports the archive. Collective; every rank gets the same status. Incomplete files are removed.
 * Fails with USAGE, DATA, NO_SPACE, DEVICE; with STOPPED if a signal requested it. */
status_t import_all(MPI_Comm comm, const struct import_options *options);

#endif
