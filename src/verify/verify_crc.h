/* `voltmill verify --crc`: whether a product's bytes are still those that were written. */
#ifndef VOLTMILL_VERIFY_VERIFY_CRC_H
#define VOLTMILL_VERIFY_VERIFY_CRC_H

#include "base/status.h"

#include <mpi.h>

/* Reads all of a product and compares: rows of a finished one with the CRCs of its spans, its other
 * datasets and its attributes with theirs; the chunks of one that is not finished with its journal.
 * Needs neither archive nor job. Collective; rank 0 prints what is damaged. Fails with DATA when
 * something is, or there is nothing to compare with. */
status_t verify_crc_all(MPI_Comm comm, const char *path, double progress);

#endif
