/* The products of a run while they are being written. Rank 0 makes and publishes them and keeps
 * their journals (output/journal/journal.h); every rank writes rows.
 *
 * outputs_claim_all() finds what earlier runs have left; then the work is planned, as it was begun
 * or anew; then outputs_open_all() opens or makes the files. A chunk counts as done when the
 * journals of all products have it. */
#ifndef VOLTMILL_OUTPUT_OUTPUTS_H
#define VOLTMILL_OUTPUT_OUTPUTS_H

#include "base/text.h"
#include "io/file_rights.h"
#include "output/journal/product_files.h"
#include "output/output_spec.h"

#include <mpi.h>

typedef struct outputs outputs_t;
struct flag_block; /* product/flagged.h */

struct outputs_options {
    int force;   /* replace products that exist */
    int restart; /* begin anew, whatever earlier runs have left */
};

/* What a run goes on with that others have begun. */
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

/* Whether a product has its name, and at most the journal of all of it is left beside it. */
status_t outputs_is_published(const struct product_files *files, int *out);

/* Checks (rank 0, or alone) that all products can be made, or have only to be concluded. Fails with
 * USAGE. */
status_t outputs_check(const struct output_spec *spec, int force);

/* Whether all products have their names already, and nothing is left beside them. */
status_t outputs_are_complete(const struct output_spec *spec, int *out);

/* Locks x.h5.part of every product on rank 0 and reads the journals. Collective. Fails with USAGE:
 * as outputs_check(), another run is at work, or what is left belongs to another plan (says what
 * differs). What is left stays then. `spec` must outlive the outputs.
 *
 * MPI_COMM_NULL, for `plan`: finds what a run would, but locks, makes and removes nothing. The
 * outputs are for outputs_done(), outputs_foresee_plan() and outputs_destroy() then. */
status_t outputs_claim_all(MPI_Comm comm, const struct output_spec *spec,
                           const struct outputs_options *options, struct outputs_begun *begun,
                           outputs_t **out);

/* When the spec is planned and nothing is locked: fails as outputs_open_all() would because of
 * another plan. Not collective. */
status_t outputs_foresee_plan(const outputs_t *outputs);

/* Opens x.h5.part of every product everywhere; makes it before and reserves its room, unless the
 * run goes on with what is there. The spec is planned by then. Collective. Fails with USAGE,
 * NO_SPACE or DATA. */
status_t outputs_open_all(outputs_t *outputs);

/* The sink of a pipeline (struct pipeline_sink): writes rows in place; a chunk is written. */
status_t outputs_put(void *outputs, uint32_t product, const struct chunk *chunk, uint64_t first_row,
                     uint64_t rows, const void *data, const char *holes);
status_t outputs_weigh(void *outputs, uint32_t product, const struct chunk *chunk,
                       uint64_t first_row, uint64_t rows, const float *weights);
status_t outputs_flag(void *outputs, uint32_t product, const struct chunk *chunk,
                      uint64_t first_cell, uint64_t cells, const struct flag_block *flags);
status_t outputs_step(void *outputs, uint32_t product, const struct chunk *chunk,
                      const struct product_steps *steps);
status_t outputs_end(void *outputs, const struct chunk *chunk, const struct chunk_counts *counts);

/* The driver's (struct driver_work): what was done before; what is done and synced, from every rank
 * into the journals; soon, and all of it. A rank also tells of chunks of earlier runs that differ
 * from the journals, which are no longer done then. */
int outputs_is_done(void *outputs, uint64_t chunk);
status_t outputs_tell(void *outputs, struct text *out);
status_t outputs_take(void *outputs, const char *data, size_t bytes);
void outputs_hurry(void *outputs);
status_t outputs_settle(void *outputs);

/* Rows that earlier runs have written are read and compared with the CRCs of the journals
 * (run.check_resumed), each rank's share by a thread of its own from outputs_open_all() on.
 *
 * outputs_is_compared() returns whether this rank's share is done or was ended by outputs_hurry().
 * It waits at most `seconds` for that. *moved increases with every read.
 *
 * outputs_compare_end_all() ends the comparison when all ranks have nothing else to do. It sets
 * *again to 1 when chunks have to be processed again. Fails with STOPPED, without a message, when a
 * rank gave its share up. Collective. */
int outputs_is_compared(outputs_t *outputs, double seconds, uint64_t *moved);
int outputs_may_go_back(const outputs_t *outputs); /* on rank 0: chunks may be worked off again */
status_t outputs_compare_end_all(outputs_t *outputs, int *again);

/* On rank 0, when open: scale, then offset, of all lines of product i, which has those of its first
 * block alone: puts them in, synced on return; reads what an earlier run has put in, *found 0: it
 * has not, or they are not those of the journal. Fail with NO_SPACE, DATA. */
status_t outputs_put_scales(const outputs_t *outputs, uint32_t i, const float *scales);
status_t outputs_get_scales(const outputs_t *outputs, uint32_t i, float *scales, int *found);

/* On rank 0: chunks that are done; what was counted in them of product i. */
uint64_t outputs_done(const outputs_t *outputs);
struct chunk_counts outputs_counts(const outputs_t *outputs, uint32_t i);

/* On rank 0, when all is done: rows of product i that are NaN because their input could not be
 * read. Fails with DATA. */
status_t outputs_holes(const outputs_t *outputs, uint32_t i, uint64_t *out);

/* The same of its cells, and how many are flagged; zeros where that is not known. */
status_t outputs_flags(const outputs_t *outputs, uint32_t i, struct product_flags *out);
/* Likewise: numbers of product i that were clipped to few bits. Fails with DATA. */
status_t outputs_clips(const outputs_t *outputs, uint32_t i, struct product_clips *out);

/* When all is done, finds the medians of products that want them, compresses the rows of products
 * that want it, with so many threads a rank, or makes files of their formats: ends the process when
 * nothing moves for `patience` seconds (0: never). Fails with NO_SPACE, DATA; with STOPPED when a
 * rank was asked to stop: the next run does it again. Collective. */
status_t outputs_pack_all(outputs_t *outputs, uint32_t threads, double patience);

/* Puts in what was counted, renames, and removes the journals. Can be done again by another run,
 * whatever moment this one is killed. Collective. */
status_t outputs_finish_all(outputs_t *outputs);

/* On rank 0, when finished: the file that product i is, for those who read it. */
const struct identity *outputs_identity(const outputs_t *outputs, uint32_t i);

/* On rank 0: syncs the journals, or removes all that is not finished when no chunk is done, and the
 * folders that were made for it. */
void outputs_abandon(outputs_t *outputs);

/* Closes files, after outputs_abandon() on rank 0. */
void outputs_destroy(outputs_t *outputs);

/* Bytes of all product files, known once open. */
uint64_t outputs_bytes(const outputs_t *outputs);

#endif
