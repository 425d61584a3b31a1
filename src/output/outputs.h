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

/* Sink of a pipeline (struct pipeline_sink). */

/* Writes rows first_row .. first_row + rows - 1, from 0, of product `product`, from 0, as far as
 * the chunk's streams make them, and their time stamps; unsynced. `outputs` is outputs_t, and open.
 * One thread. Fails with NO_SPACE, DATA.
 *
 *   data    char [rows][the chunk's part of a row] as the file stores them
 *   holes   char [rows]: 1 where the row is NaN because its input was unreadable; NULL: none is */
status_t outputs_put(void *outputs, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                     uint64_t rows, const void *data, const char *holes);
/* Writes the weights of rows first_row .. first_row + rows - 1, from 0, of product `product`, from
 * 0: float [rows][the chunk's part]; of visibilities also their flags. Unsynced. `outputs` is
 * outputs_t, and open. One thread. Fails with NO_SPACE, DATA. */
status_t outputs_weigh(void *outputs, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights);
/* Writes the flags, and the kurtosis unless NULL, of rows of cells first_cell .. first_cell + cells
 * - 1, from 0, of product `product`, from 0: [cells][the chunk's part]. Cells after the last row of
 * the product are dropped. Unsynced. `outputs` is outputs_t, and open. One thread. Fails with
 * NO_SPACE, DATA. */
status_t outputs_flag(void *outputs, uint32_t product, const struct chunk *chunk,
                      uint64_t first_cell, uint64_t cells, const struct flag_block *flags);
/* Writes scales, offsets and counts of clipped numbers of blocks steps->first .. of rows, from 0,
 * of product `product`, from 0, as far as the chunk's streams make them. Unsynced. `outputs` is
 * outputs_t, and open. One thread. Fails with NO_SPACE, DATA. */
status_t outputs_step(void *outputs, uint32_t product, const struct chunk *chunk,
                      const struct product_steps *steps);
/* Ends the chunk, after all rows of all products: hands it over to the thread that syncs. counts
 * [products]; NULL: all 0. `outputs` is outputs_t, and open. The thread that wrote the rows. Fails
 * with NO_SPACE, DATA, DEVICE (memory). */
status_t outputs_end(void *outputs, const struct chunk *chunk, const struct chunk_counts *counts);

/* Functions of the driver (struct driver_work). */

/* On rank 0, in the main thread, after outputs_begin_all(): returns whether the journals of all
 * products have chunk `chunk`, from 0. `outputs` is outputs_t. */
int outputs_is_done(void *outputs, uint64_t chunk);
/* Appends a report on this rank's chunks that are done and synced since the last call, and on those
 * of earlier runs that differ from the journals, for outputs_take(). Main thread, when open.
 * `outputs` is outputs_t. Fails as the threads that sync and compare have: with NO_SPACE, DATA,
 * DEVICE (memory). */
status_t outputs_tell(void *outputs, struct text *out);
/* On rank 0, in the main thread, after outputs_begin_all(): writes the report of a rank, data
 * [bytes] of one or more outputs_tell(), into the journals, unsynced; chunks that differ are no
 * longer done. `outputs` is outputs_t. Fails with DATA if it is malformed, or a chunk differs of
 * products that are complete already; with NO_SPACE, DEVICE (memory). */
status_t outputs_take(void *outputs, const char *data, size_t bytes);
/* Makes the thread sync soon, and ends the comparison with earlier runs. Main thread, when open.
 * `outputs` is outputs_t. */
void outputs_hurry(void *outputs);
/* Makes the thread sync soon, waits at most `seconds` until all chunks that this rank has ended are
 * synced, and sets *is_settled to whether they are. May return sooner. Main thread, when open.
 * Fails as outputs_tell(): with NO_SPACE, DATA, DEVICE (memory). */
status_t outputs_settle(outputs_t *outputs, double seconds, int *is_settled);

/* On rank 0, when open: returns whether chunks that are done may be found to differ, and be worked
 * off again: rows of an earlier run are compared, and no product is complete already. */
int outputs_may_go_back(const outputs_t *outputs);
/* Rows that earlier runs have written are read and compared with the CRCs of the journals
 * (run.check_resumed), each rank's share by a thread of its own from outputs_open_all() on. */

/* Returns whether this rank's share of the comparison with earlier runs is done, or was ended by
 * outputs_hurry(); 1 if nothing is compared. Waits at most `seconds` for that. *moved is set to a
 * number that increases with every read; it is unchanged if nothing is compared. A failure of the
 * comparison shows in outputs_tell(). */
int outputs_is_compared(outputs_t *outputs, double seconds, uint64_t *moved);
/* Ends the comparison with earlier runs when all ranks have nothing else to do, and takes chunks
 * that differ out of the journals. Sets *again to 1 if chunks have to be processed again, else to
 * 0. Call outputs_tell() before, which fails if the comparison has. Collective: all ranks fail
 * alike. Fails with STOPPED, without a message, if a rank gave its share up; with DATA, NO_SPACE,
 * DEVICE (memory). */
status_t outputs_compare_end_all(outputs_t *outputs, int *again);

/* On rank 0, when open: writes and syncs the scales of product i, from 0, which has those of its
 * first block alone; does nothing for a product that has its final name. Fails with NO_SPACE, DATA.
 *
 *   scales   float [2][nifs * frequencies]: scale, then offset, of all lines */
status_t outputs_put_scales(const outputs_t *outputs, uint32_t i, const float *scales);
/* On rank 0, when open: reads the scales of product i, from 0, that an earlier run has written:
 * scale, then offset, float [2][nifs * frequencies]. Sets *found to 0 if it has written none, they
 * are not those of the journal, or the product is complete; `scales` is undefined then. Fails with
 * DATA if the file cannot be read; with DEVICE (memory, descriptors). */
status_t outputs_get_scales(const outputs_t *outputs, uint32_t i, float *scales, int *found);

/* Returns the number of chunks that are done in all products, by the journals; 0 without journals,
 * as on ranks other than 0. */
uint64_t outputs_done(const outputs_t *outputs);
/* Returns outputs_done(); but 0 if a product's unfinished file was removed or replaced, so that the
 * chunks are lost. On rank 0. */
uint64_t outputs_kept(const outputs_t *outputs);
/* Returns the missing samples and clipped numbers of product i, from 0, which has a journal, in its
 * chunks that are done. On rank 0. */
struct chunk_counts outputs_counts(const outputs_t *outputs, uint32_t i);
/* On rank 0, after a failure, if all products have journals (outputs_kept() is above 0): returns
 * whether a run would refuse to resume, because input files have changed since this one began; 0
 * also if one cannot be looked up. */
int outputs_are_outdated(const outputs_t *outputs);

/* On rank 0, when finished (outputs_finish_all()): counts the rows of product i, from 0, that are
 * NaN because their input was unreadable. Fails with DATA if the file cannot be read; with DEVICE
 * (memory, descriptors). *out is unchanged then. */
status_t outputs_holes(const outputs_t *outputs, uint32_t i, uint64_t *out);

/* On rank 0, when finished (outputs_finish_all()): counts the cells of product i, from 0, and the
 * flagged ones. Zeros if it has none, or (a format other than HDF5) another run has completed it.
 * Fails with DATA if the file cannot be read; with DEVICE (memory, descriptors). */
status_t outputs_flags(const outputs_t *outputs, uint32_t i, struct product_flags *out);
/* On rank 0, when finished (outputs_finish_all()): counts the numbers of product i, from 0, that
 * were clipped to few bits. Zeros if it has none, or (a format other than HDF5) another run has
 * completed it. Fails with DATA if the file cannot be read; with DEVICE (memory, descriptors). */
status_t outputs_clips(const outputs_t *outputs, uint32_t i, struct product_clips *out);

/* Ends the threads that sync, after the last chunk, each when it has finished its current batch.
 * Rank 0's may leave records of outputs_take() unsynced, as the files are about to be replaced.
 * Collective: all ranks fail alike, as the last batch of one of the threads did: with NO_SPACE,
 * DATA, DEVICE (memory). No later sync would report that failure: the kernel reports it once. */
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

/* On rank 0, when finished (outputs_finish_all()): returns the identity of the file of product i,
 * from 0, for its readers; it is the outputs'. */
const struct identity *outputs_identity(const outputs_t *outputs, uint32_t i);

/* On rank 0: takes chunks that differ out of the journals, and syncs these; failures are forgotten.
 * If no chunk is done, removes incomplete files instead, and the folders that were made for them.
 * Elsewhere no effect. */
void outputs_abandon(outputs_t *outputs);

/* Ends the threads, does what outputs_abandon() does (syncs journals, or removes incomplete files
 * without any chunk), closes files, which unlocks them, and frees the outputs. Takes NULL. */
void outputs_destroy(outputs_t *outputs);
SCOPED_END(outputs_destroy, outputs_t *)

/* Returns the bytes of all product files together while they are written (not compressed), known
 * once open. */
uint64_t outputs_bytes(const outputs_t *outputs);

#endif
