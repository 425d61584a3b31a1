/* The same job and archive on every rank. Collective. */
#ifndef VOLTMILL_RUN_SHARE_H
#define VOLTMILL_RUN_SHARE_H

#include "compute/backend.h"
#include "input/archive.h"

#include <mpi.h>

/* Holder of the backend of a run. A thread opens the backend while the run is planned, since
 * drivers of devices start slowly. It is kept from one run to the next (`run --each`). All ranks
 * have the same kind, because their results must be bit-identical. */
typedef struct opened opened_t;

/* Creates the holder of opened backends, for opened_destroy(). `keeps`: a device that is given back
 * stays open, with its programs and buffers. *out is NULL before, and the caller's also after a
 * failure. Fails on all ranks with DEVICE (memory, no thread). Collective. */
status_t opened_create_all(MPI_Comm comm, int keeps, opened_t **out);
/* Closes the backend, after waiting for its opening. Takes NULL. */
void opened_destroy(opened_t *opened);
SCOPED_END(opened_destroy, opened_t *)

/* Gives every rank its backend: the one that was opened or kept if it is of this job and kind (not
 * AUTO), else closes that and opens another. *out, which is NULL before, is for opened_give_back(),
 * also after a failure. Fails on all ranks with DEVICE if a rank has none, or no memory, or if
 * ranks have different devices, which could round differently. Collective. */
status_t opened_take_all(MPI_Comm comm, opened_t *opened, const struct job *job,
                         enum backend_kind kind, backend_t **out);

/* Gives the backend back after its last use: `opened` keeps it, for the next opened_take_all(), if
 * it keeps devices, has none yet, the backend has a device and is of the kind wished last, and the
 * status `st` of its pass is OK, HOLES or STOPPED; else closes it. Takes NULL for both. */
void opened_give_back(opened_t *opened, backend_t *backend, status_t st);

/* Gives all ranks a copy of rank 0's object, to which the pointer at `out` leads; on the others it
 * is NULL before, and for pack_destroy(), also after a failure. `st` is rank 0's status so far:
 * nothing is sent after a failure. `what` names it in messages. Collective: all ranks fail alike,
 * with `st`; with DEVICE (memory), or DATA if the copy cannot be unpacked. */
status_t share_struct_all(MPI_Comm comm, status_t st, const struct pack_type *type,
                          const char *what, void *out);

/* Makes the job of rank 0's `text` on all ranks. Rank 0 opens the archive, reads coefficients and
 * the files of an array, and makes the filter of a synthesis; all ranks receive all of them. Widths
 * and times become numbers; dedispersions by ranges of DMs are divided.
 *
 * `st` is rank 0's status so far. `path` names the job in messages; `sets` [nsets] and `each` are
 * those of job_parse_each(); `each` may be NULL, and `opened`, which begins to open the job's
 * backend. Other ranks pass an empty `text`, which becomes rank 0's, for text_free() in any case.
 * *job is for job_destroy(); a failure leaves it unchanged. *archive is NULL before, stays so if
 * the job's input is a filterbank (run/passes.h), and is the caller's also after a failure.
 *
 * MPI_COMM_NULL: alone. Collective: all ranks fail alike. Fails with `st`; with
 * USAGE if the job is wrong or does not fit its archive; with DATA if input is unreadable or wrong;
 * with DEVICE (memory, descriptors, no child), STOPPED. */
status_t share_job_all(MPI_Comm comm, status_t st, const char *path, struct text *text,
                       const char *const *sets, uint32_t nsets, const struct job_each *each,
                       opened_t *opened, struct job **job, struct archive **archive);

/* Reads the file of a job into an empty text, or copies `given` (NULL: none). The caller frees
 * *out, also after a failure. Ends the process if that takes longer than `patience` seconds (0:
 * never; below 0: CLOCK_STALL). Fails with DATA if the file is unreadable or too large; with USAGE
 * if it is HDF5; with DEVICE (memory, no thread). */
status_t share_read_job(const char *path, const struct text *given, double patience,
                        struct text *out);

/* Alone: loads the job of a file or of `given` (NULL: none), with the `nsets` overrides `sets`.
 * Only a job with widths, times or ranges of DMs, which are settled as by share_job_all(), then has
 * coefficients and files of an array. *out is for job_destroy(). Fails with USAGE if the job is
 * wrong; with DATA if it, or then its input, is unreadable; with DEVICE, STOPPED. */
status_t share_load_job(const char *path, const struct text *given, const char *const *sets,
                        uint32_t nsets, struct job **out);

/* Returns `wanted`, the same on all ranks; for AUTO, OPENCL if all of them have a GPU, else CPU.
 * Collective. */
enum backend_kind share_settle_backend_all(MPI_Comm comm, enum backend_kind wanted);

#endif
