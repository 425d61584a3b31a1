/* `voltmill synth`: writes a synthetic observation in the native layout, on all ranks. */
#ifndef VOLTMILL_SYNTH_SYNTHESIS_H
#define VOLTMILL_SYNTH_SYNTHESIS_H

#include "base/status.h"

#include <mpi.h>
#include <stdint.h>

struct synthesis_options {
    const char *path; /* of the specification */
    const char *const *sets;
    uint32_t nsets;
    int force;
    double progress;
};

/* Writes the archive of a specification. Its bytes are a pure function of that. Collective. Fails
 * with USAGE, DATA, NO_SPACE, DEVICE; with STOPPED on request. */
status_t synthesis_all(MPI_Comm comm, const struct synthesis_options *options);

#endif
