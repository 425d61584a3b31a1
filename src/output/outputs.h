/* The products of a run while they are being written. Rank 0 makes and publishes them and keeps
 * their journals (output/journal.h); every rank writes rows.
 *
 * outputs_claim_all() finds what earlier runs have left; then the work is planned, as it was begun
 * or anew; then outputs_open_all() opens or makes the files, and outputs_begin_all() begins their
 * journals. A chunk counts as done when the journals of all products have it. */
#ifndef VOLTMILL_OUTPUT_OUTPUTS_H
#define VOLTMILL_OUTPUT_OUTPUTS_H

#include "io/file_rights.h"
#include "output/journal.h"

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
 * of the complete product. Fails with DATA if that journal cannot be read; with DEVICE (memory,
 * descriptors). */
status_t outputs_is_published(const struct product_files *files, int *out);

/* On rank 0, or alone: checks that every product can be made (`force`: also if it exists), or was
 * published by a run that was killed before it removed the journal. Fails with USAGE if not; with
 * DATA if a name cannot be looked up or a journal read; with DEVICE (memory, descriptors). */
status_t outputs_check(const struct output_spec *spec, int force);

/* Locks x.h5.part of every product on rank 0, made with its folder if need be, and reads the
 * journals. *begun says whether the run resumes, on all ranks. Warnings say what is written anew.
 * Collective: all ranks fail alike. Fails with USAGE: as outputs_check(), another run is at work,
 * or what is left belongs to another plan, version, user or program, or to several runs (says what
 * differs). Fails with DATA (a name cannot be looked up, or what is left read; an input is
 * missing), NO_SPACE, DEVICE (memory, descriptors, no child), STOPPED. What is left stays then.
 * `spec` must outlive the outputs, which are for outputs_destroy().
 *
 * MPI_COMM_NULL, for `plan`: finds what a run would, but locks, makes and removes nothing. The
 * outputs are for outputs_done(), outputs_foresee_plan() and outputs_destroy() then. */
status_t outputs_claim_all(MPI_Comm comm, const struct output_spec *spec,
                           const struct outputs_options *options, struct outputs_begun *begun,
                           outputs_t **out);

/* Checks a planned spec, with no run begun by it: does nothing unless the run resumes. Fails with
 * USAGE as outputs_open_all() would if it was begun with another plan; with DATA (an input is
 * missing), DEVICE (memory). Not collective. */
status_t outputs_foresee_plan(const outputs_t *outputs);

/* Opens x.h5.part of every product on every rank, and starts threads that sync, sum and compare.
 * Unless the run resumes, rank 0 creates it first, removes journals of earlier runs, and reserves
 * its disk space. The spec is planned by then. Collective: all ranks fail alike. Fails with USAGE
 * if the run resumes with another plan, kind or format cannot store such rows or dates, or a file
 * is locked, or one beside it (.packed.part), by another run, or is no product of ours; with DATA,
 * also if an input is missing or a file was replaced; with NO_SPACE, DEVICE (memory, descriptors,
 * no thread); with STOPPED or DEVICE as export_rows_of(), which opens a product of PSRFITS. */
status_t outputs_open_all(outputs_t *outputs);
/* Waits until the values of /frequency, which a thread writes, are there; unless the run resumes,
 * syncs the files and begins their journals. Before the first chunk. Collective: all ranks fail
 * alike. Fails with USAGE if a journal cannot store the plan or be made; with NO_SPACE, DATA,
 * DEVICE (memory, descriptors). */
status_t outputs_begin_all(outputs_t *outputs);

/* Sink of a pipeline (struct pipeline_sink), for one thread, when open. `outputs` is outputs_t. The
 * functions write parts of product `product`, from 0, in place, unsynced: those that the chunk's
 * streams make. Rows, cells and blocks have the numbers of the product.
 *
 * outputs_put(): rows first_row .. first_row + rows - 1, data [rows][the chunk's part], and their
 * time stamps; `holes` [rows], 1 where the row is NaN because its input was unreadable (NULL:
 * none). outputs_weigh(): weights of such rows, float [rows][the chunk's part]. outputs_flag():
 * flags, and kurtosis unless NULL, of cells from first_cell on, [cells][the chunk's part]; those
 * after the last row are dropped. outputs_step(): scales, offsets and counts of clipped numbers of
 * blocks of rows. outputs_end(): ends the chunk, after all its rows; `counts` are those of each
 * product (NULL: 0).
 *
 * Fail with NO_SPACE, DATA; outputs_end() also with DEVICE (memory). */
status_t outputs_put(void *outputs, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                     uint64_t rows, const void *data, const char *holes);
status_t outputs_weigh(void *outputs, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights);
status_t outputs_flag(void *outputs, uint32_t product, const struct chunk *chunk,
                      uint64_t first_cell, uint64_t cells, const struct flag_block *flags);
status_t outputs_step(void *outputs, uint32_t product, const struct chunk *chunk,
                      const struct product_steps *steps);
status_t outputs_end(void *outputs, const struct chunk *chunk, const struct chunk_counts *counts);

/* Functions of the driver (struct driver_work), in the main thread, when open. `outputs` is
 * outputs_t.
 *
 * outputs_is_done(), on rank 0: returns whether the journals of all products have the chunk.
 * outputs_tell(): appends this rank's chunks that are done and synced since the last call, and
 * those of earlier runs that differ from the journals. Fails as the threads that sync and compare
 * have: with NO_SPACE, DATA, DEVICE (memory). outputs_take(), on rank 0: writes what a rank has
 * told, [bytes], into the journals, unsynced; chunks that differ are no longer done. Fails with
 * DATA if it is malformed, or a chunk differs of products that are complete already; with NO_SPACE,
 * DEVICE (memory). outputs_hurry(): makes the threads sync soon, and ends the comparison.
 * outputs_settle(): hurries likewise, waits at most `seconds` until all chunks that this rank has
 * ended are synced, and sets *is_settled to whether they are. Fails as outputs_tell(). */
int outputs_is_done(void *outputs, uint64_t chunk);
status_t outputs_tell(void *outputs, struct text *out);
status_t outputs_take(void *outputs, const char *data, size_t bytes);
void outputs_hurry(void *outputs);
status_t outputs_settle(outputs_t *outputs, double seconds, int *is_settled);

/* On rank 0, when open: returns whether chunks that are done may be found to differ, and be worked
 * off again: rows of an earlier run are compared, and no product is complete already. */
int outputs_may_go_back(const outputs_t *outputs);
/* Rows that earlier runs have written are read and compared with the CRCs of the journals
 * (run.check_resumed), each rank's share by a thread of its own from outputs_open_all() on.
 *
 * outputs_is_compared() returns whether this rank's share is done or was ended by outputs_hurry();
 * 1 if nothing is compared. It waits at most `seconds` for that. *moved increases with every read;
 * it is unchanged if nothing is compared.
 *
 * outputs_compare_end_all() ends the comparison when all ranks have nothing else to do, and takes
 * chunks that differ out of the journals. It sets *again to 1 when chunks have to be processed
 * again, else to 0. Collective: all ranks fail alike. Fails with STOPPED, without a message, when a
 * rank gave its share up; with DATA, NO_SPACE, DEVICE (memory). Call outputs_tell() before, which
 * fails if the comparison has. */
int outputs_is_compared(outputs_t *outputs, double seconds, uint64_t *moved);
status_t outputs_compare_end_all(outputs_t *outputs, int *again);

/* On rank 0, when open: write and read scale, then offset, of all lines of product i (float
 * [2][nifs * frequencies]), which has those of its first block alone. outputs_put_scales() syncs;
 * it does nothing for a product that has its name. Fails with NO_SPACE, DATA. outputs_get_scales():
 * *found 0: an earlier run has not written them, they are not those of the journal, or the product
 * is complete; `scales` is undefined then. Fails with DATA if the file cannot be read; with DEVICE
 * (memory, descriptors). */
status_t outputs_put_scales(const outputs_t *outputs, uint32_t i, const float *scales);
status_t outputs_get_scales(const outputs_t *outputs, uint32_t i, float *scales, int *found);

/* On rank 0. outputs_done(): returns the number of chunks that are done in all products, 0 without
 * journals. outputs_kept(): the same, or 0 if a product's file was removed or replaced, so that
 * they are lost. outputs_counts(): returns missing samples and clipped numbers of product i, which
 * has a journal, in its chunks that are done. */
uint64_t outputs_done(const outputs_t *outputs);
uint64_t outputs_kept(const outputs_t *outputs);
struct chunk_counts outputs_counts(const outputs_t *outputs, uint32_t i);
/* On rank 0, after a failure, when open: returns whether a run would refuse to resume, because
 * input files have changed since this one began; 0 also if one cannot be looked up. */
int outputs_are_outdated(const outputs_t *outputs);

/* On rank 0, when finished (outputs_finish_all()): counts rows of product i that are NaN because
 * their input was unreadable. Fails with DATA if the file cannot be read; with DEVICE (memory,
 * descriptors). */
status_t outputs_holes(const outputs_t *outputs, uint32_t i, uint64_t *out);

/* Counts cells of product i likewise, on rank 0 when finished, and the flagged ones; zeros if it
 * has none, or (a format other than HDF5) another run has completed it. Fails with DATA if the file
 * cannot be read; with DEVICE (memory, descriptors). */
status_t outputs_flags(const outputs_t *outputs, uint32_t i, struct product_flags *out);
/* Counts likewise, with the same zeros, numbers of product i that were clipped to few bits. Fails
 * with DATA if the file cannot be read; with DEVICE (memory, descriptors). */
status_t outputs_clips(const outputs_t *outputs, uint32_t i, struct product_clips *out);

/* Ends the threads that sync, after the last chunk, when they have finished the batch that they are
 * at: rank 0's may leave records of outputs_take() unsynced, as the files are about to be replaced.
 * Its failure is no one else's: the
 * kernel reports it once. Collective: all ranks fail alike, as a thread's last batch did: with
 * NO_SPACE, DATA, DEVICE (memory). */
status_t outputs_end_sync_all(outputs_t *outputs);

/* Finishes complete products: finds the medians, compresses the rows, with `threads` threads a
 * rank, or makes files of other formats, where products need it. Ends the process without progress
 * for `patience` seconds (0: never). Collective: all ranks fail alike. Fails with USAGE if a
 * compressed file cannot be made, or is locked; with STOPPED if a rank was asked to stop: the next
 * run repeats it; with DATA if a file cannot be read or written, or was replaced; with NO_SPACE,
 * DEVICE (memory, descriptors, threads, a chunk that cannot be compressed). */
status_t outputs_pack_all(outputs_t *outputs, uint32_t threads, double patience);

/* Writes the counts, syncs and renames the files, and removes the journals. Idempotent: another run
 * may repeat it after a kill at any moment. Collective: all ranks fail alike. Fails with USAGE if
 * another file has come to have a product's name (without `force`); with DATA, also if chunks are
 * missing, or a file was replaced; with NO_SPACE, DEVICE (memory, descriptors). What is complete
 * stays then, and gets its name if it can. */
status_t outputs_finish_all(outputs_t *outputs);

/* On rank 0, when finished: returns the identity of product i's file, for its readers; it is the
 * outputs'. */
const struct identity *outputs_identity(const outputs_t *outputs, uint32_t i);

/* On rank 0: takes chunks that differ out of the journals, and syncs these; failures are forgotten.
 * If no chunk is done, removes incomplete files instead, and the folders that were made for them.
 * Elsewhere no effect. */
void outputs_abandon(outputs_t *outputs);

/* Ends the threads, does what outputs_abandon() does (syncs journals, or removes incomplete files
 * without any chunk), closes files, which unlocks them, and frees the outputs. Takes NULL. */
void outputs_destroy(outputs_t *outputs);
SCOPED_END(outputs_destroy, outputs_t *)

/* Returns the bytes of all product files while they are written (not compressed), known once open.
 */
uint64_t outputs_bytes(const outputs_t *outputs);

#endif
