/* The products of a run while they are being written. Rank 0 makes and publishes them; every rank
 * writes rows. */
#ifndef VOLTMILL_RUN_OUTPUTS_H
#define VOLTMILL_RUN_OUTPUTS_H

#include "run/work.h"

#include <mpi.h>

typedef struct outputs outputs_t;

/* Checks (rank 0, or alone) that all products can be made, and that none would replace a file of
 * the archive. Fails with USAGE. */
status_t outputs_check(const struct job *job, const struct archive *archive, int force);

/* Makes x.h5.part of every product on rank 0, reserves their room, and opens them everywhere.
 * Collective. Fails with USAGE, NO_SPACE or DATA; then nothing is left behind. */
status_t outputs_create_all(MPI_Comm comm, const struct work *work, int force, outputs_t **out);

/* The sink of a pipeline (struct pipeline_sink): writes rows in place. */
status_t outputs_put(void *outputs, uint32_t product, uint64_t first_row, uint64_t rows,
                     uint32_t first_stream, uint32_t streams, const void *data);

/* Makes all rows last, then puts in the count of missing samples (summed on rank 0) and renames.
 * Collective. */
status_t outputs_finish_all(outputs_t *outputs, uint64_t missing);

/* Removes, on rank 0, what is not finished. */
void outputs_abandon(outputs_t *outputs);

/* Closes files; removes what was not finished. */
void outputs_destroy(outputs_t *outputs);

/* Bytes of all product files, known once created. */
uint64_t outputs_bytes(const outputs_t *outputs);

#endif
