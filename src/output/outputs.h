/* The products of a run while they are being written. Rank 0 makes and publishes them and keeps
 * their journals (output/journal.h); every rank writes rows.
 *
 * outputs_claim_all() finds what earlier runs have left; then the work is planned, as it was begun
 * or anew; then outputs_open_all() opens or makes the files, and outputs_begin_all() begins their
 * journals. A chunk counts as done when the journals of all products have it. */
#ifndef VOLTMILL_OUTPUT_OUTPUTS_H
#define VOLTMILL_OUTPUT_OUTPUTS_H

#include "base/text.h"
#include "io/file_rights.h"
#include "output/journal.h"
#include "output/output_spec.h"

#include <mpi.h>

typedef struct outputs outputs_t;
struct flag_block; /* product/flagged.h */

struct outputs_options {
    int force;   /* replace products that exist */
    int restart; /* begin anew, whatever earlier runs have left */
};

/* State of an earlier run that a run resumes. */
struct outputs_begun {
    int is_begun; /* else the rest says nothing */
    struct chunking chunking;
    enum backend_kind backend;
    struct {
        int has_weights;
        struct channelise_choice choice;
    } banks[JOB_BANKS];
    struct filter_choice filters[JOB_FILTERS]; /* backend AUTO: there is none, also of the next */
    struct synthesise_choice synthesis;
};

/* Sets *out to whether a product has its final name, with nothing beside it but perhaps the journal
 * of the complete product. Fails with DATA, DEVICE. */
status_t outputs_is_published(const struct product_files *files, int *out);

/* On rank 0, or alone: checks that every product can be made (`force`: also if it exists), or was
 * published by a run that was killed before it removed the journal. Fails with USAGE, DATA, DEVICE.
 */
status_t outputs_check(const struct output_spec *spec, int force);

/* Sets *out to whether all products have their names already, and no journal is left beside them; a
 * .part may be. Fails with DATA, DEVICE (memory). */
status_t outputs_are_complete(const struct output_spec *spec, int *out);

/* Locks x.h5.part of every product on rank 0 and reads the journals. Collective. Fails with USAGE:
 * as outputs_check(), another run is at work, or what is left belongs to another plan (says what
 * differs). Fails with DATA, NO_SPACE, DEVICE, STOPPED. What is left stays then. `spec` must
 * outlive the outputs.
 *
 * MPI_COMM_NULL, for `plan`: finds what a run would, but locks, makes and removes nothing. The
 * outputs are for outputs_done(), outputs_foresee_plan() and outputs_destroy() then. */
status_t outputs_claim_all(MPI_Comm comm, const struct output_spec *spec,
                           const struct outputs_options *options, struct outputs_begun *begun,
                           outputs_t **out);

/* Checks a planned spec before files are locked. Fails with USAGE as outputs_open_all() would if
 * the run resumes and was begun with another plan; with DATA (an input is missing), DEVICE
 * (memory). Not collective. */
status_t outputs_foresee_plan(const outputs_t *outputs);

/* Opens x.h5.part of every product on every rank. Unless the run resumes, creates it first and
 * reserves its disk space. The spec is planned by then. Collective. Fails with USAGE, NO_SPACE or
 * DATA, DEVICE, STOPPED. */
status_t outputs_open_all(outputs_t *outputs);
/* Waits for what is written of the files beside, and begins their journals, before the first chunk.
 * Collective. Fails with USAGE, NO_SPACE, DATA, DEVICE. */
status_t outputs_begin_all(outputs_t *outputs);

/* Sink of a pipeline (struct pipeline_sink), for one thread: the functions write rows, weights,
 * flags and scales in place; outputs_end() ends a chunk. Rows and cells have the numbers of the
 * product. `data` has the chunk's part of each row, `holes` a byte for each row (NULL: there are
 * none), `counts` those of each product (NULL: 0). Fail with NO_SPACE, DATA, DEVICE (memory). */
status_t outputs_put(void *outputs, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                     uint64_t rows, const void *data, const char *holes);
status_t outputs_weigh(void *outputs, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights);
status_t outputs_flag(void *outputs, uint32_t product, const struct chunk *chunk,
                      uint64_t first_cell, uint64_t cells, const struct flag_block *flags);
status_t outputs_step(void *outputs, uint32_t product, const struct chunk *chunk,
                      const struct product_steps *steps);
status_t outputs_end(void *outputs, const struct chunk *chunk, const struct chunk_counts *counts);

/* Functions of the driver (struct driver_work). outputs_is_done(): the chunk was done before.
 * outputs_tell() and outputs_take(): chunks that are done and synced go from every rank into the
 * journals. outputs_hurry() makes that soon. outputs_settle() waits for all, at most
 * `seconds`, and sets *is_settled to whether they are synced. A rank also sends chunks of earlier
 * runs that differ from the journals; these are then no longer done. Fail with NO_SPACE, DATA,
 * DEVICE. */
int outputs_is_done(void *outputs, uint64_t chunk);
status_t outputs_tell(void *outputs, struct text *out);
status_t outputs_take(void *outputs, const char *data, size_t bytes);
void outputs_hurry(void *outputs);
status_t outputs_settle(outputs_t *outputs, double seconds, int *is_settled);

/* Rows that earlier runs have written are read and compared with the CRCs of the journals
 * (run.check_resumed), each rank's share by a thread of its own from outputs_open_all() on.
 *
 * outputs_is_compared() returns whether this rank's share is done or was ended by outputs_hurry().
 * It waits at most `seconds` for that. *moved increases with every read; it is unchanged if nothing
 * is compared.
 *
 * outputs_compare_end_all() ends the comparison when all ranks have nothing else to do. It sets
 * *again to 1 when chunks have to be processed again. Collective. Fails with STOPPED, without a
 * message, when a rank gave its share up; with DATA, NO_SPACE, DEVICE (memory). */
int outputs_is_compared(outputs_t *outputs, double seconds, uint64_t *moved);
int outputs_may_go_back(const outputs_t *outputs); /* on rank 0: chunks may be worked off again */
status_t outputs_compare_end_all(outputs_t *outputs, int *again);

/* On rank 0, when open: write and read scale, then offset, of all lines of product i (float
 * [2][nifs * frequencies]), which has those of its first block alone. outputs_put_scales() syncs;
 * it does nothing for a product that has its name. outputs_get_scales(): *found 0: an earlier run
 * has not written them, or they are not those of the journal; `scales` is undefined then. Fail with
 * NO_SPACE, DATA, DEVICE. */
status_t outputs_put_scales(const outputs_t *outputs, uint32_t i, const float *scales);
status_t outputs_get_scales(const outputs_t *outputs, uint32_t i, float *scales, int *found);

/* On rank 0. outputs_done(): returns the number of chunks that are done. outputs_kept(): the same,
 * or 0 if a product's file was removed or replaced, so that they are lost. outputs_counts():
 * returns the counts of product i in these chunks. */
uint64_t outputs_done(const outputs_t *outputs);
uint64_t outputs_kept(const outputs_t *outputs);
/* On rank 0, after a failure, when open: returns whether a run would refuse to resume, because
 * input files have changed since this one began. */
int outputs_are_outdated(const outputs_t *outputs);
struct chunk_counts outputs_counts(const outputs_t *outputs, uint32_t i);

/* On rank 0, when finished (outputs_finish_all()): counts rows of product i that are NaN because
 * their input was unreadable. Fails with DATA, DEVICE. */
status_t outputs_holes(const outputs_t *outputs, uint32_t i, uint64_t *out);

/* Counts cells of product i likewise, and the flagged ones; zeros if unknown. Fails with DATA,
 * DEVICE. */
status_t outputs_flags(const outputs_t *outputs, uint32_t i, struct product_flags *out);
/* Counts likewise numbers of product i that were clipped to few bits. Fails with DATA, DEVICE. */
status_t outputs_clips(const outputs_t *outputs, uint32_t i, struct product_clips *out);

/* Ends the threads that sync, after the last chunk: rank 0's still syncs what outputs_take() has
 * added to the journals, of files that are about to be replaced. Its failure is no one else's: the
 * kernel reports it once. Collective. Fails with NO_SPACE, DATA, DEVICE (memory). */
status_t outputs_end_sync_all(outputs_t *outputs);

/* Finishes complete products: finds the medians, compresses the rows, with `threads` threads a
 * rank, or makes files of other formats, where products need it. Ends the process without progress
 * for `patience` seconds (0: never). Fails with USAGE, NO_SPACE, DATA; with STOPPED if a rank was
 * asked to stop: the next run repeats it; with DEVICE. Collective. */
status_t outputs_pack_all(outputs_t *outputs, uint32_t threads, double patience);

/* Writes the counts, renames the files, and removes the journals. Idempotent: another run may
 * repeat it after a kill at any moment. Collective. Fails with USAGE, DATA, NO_SPACE, DEVICE. */
status_t outputs_finish_all(outputs_t *outputs);

/* On rank 0, when finished: returns the identity of product i's file, for its readers. */
const struct identity *outputs_identity(const outputs_t *outputs, uint32_t i);

/* On rank 0: syncs the journals. If no chunk is done, removes incomplete files instead, and the
 * folders that were made for them. */
void outputs_abandon(outputs_t *outputs);

/* Ends the threads, does what outputs_abandon() does, closes files, and frees the outputs. Takes
 * NULL. */
void outputs_destroy(outputs_t *outputs);
SCOPED_END(outputs_destroy, outputs_t *)

/* Returns the bytes of all product files, known once open. */
uint64_t outputs_bytes(const outputs_t *outputs);

#endif
