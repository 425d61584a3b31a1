/* Private declarations of the files of the outputs. outputs_claim.c finds files of earlier runs,
 * and writes data beside rows. outputs.c creates, opens and publishes files. outputs_rows.c writes
 * them, with a thread that syncs them. outputs_resumed.c compares rows of earlier runs.
 * outputs_pack.c compresses complete products. */
#ifndef VOLTMILL_OUTPUT_OUTPUTS_PARTS_H
#define VOLTMILL_OUTPUT_OUTPUTS_PARTS_H

#include "base/pool.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "output/journal.h"
#include "output/outputs.h"
#include "product/packed.h"

/* Chunks that a rank has finished, on their way into the journal. A thread of its own syncs them
 * every few seconds, and only then they are reported to rank 0. So the journal contains no chunk
 * that a crash of the machine could still lose, and neither computing nor writing waits for a disk.
 *
 * The writer thread adds, the main thread takes. */
typedef struct sync_thread sync_thread_t;

/* Starts the thread outputs->sync. Fails with DEVICE (memory, no thread). */
status_t sync_thread_begin(outputs_t *outputs);
/* Ends the thread after the batch that it syncs, and waits for it; what is not synced is dropped.
 * Fails as its last batch has: with NO_SPACE, DATA, DEVICE (memory), also when repeated. `sync` is
 * not freed. */
status_t sync_thread_end(sync_thread_t *sync);
/* Ends the thread as sync_thread_end(), and frees `sync`. Takes NULL. */
void sync_thread_destroy(sync_thread_t *sync);
SCOPED_END(sync_thread_destroy, sync_thread_t *)

struct output {
    char *part;         /* the name while it is written */
    char *journal_path; /* that of its journal */
    char *packed_path;  /* the name of the file with compressed rows while it is made */
    int fd;             /* for rows */
    struct product_place place;
    struct export_rows rows; /* of HDF5: once open, rows, row_bytes and begin alone */
    struct claim_mark mark;  /* of part, for all ranks */
    int is_published; /* it has its name already: an earlier run was killed between two renames */
    /* Rank 0. */
    char *made;            /* the first folder that was made for it; NULL: none */
    int claim_fd;          /* holds the lock */
    int is_ours;           /* part may be removed: empty, or made or resumed by this run */
    uint64_t part_bytes;   /* when it was claimed */
    uint64_t frequency_at; /* values that product_put_frequencies() writes beside; 0: none */
    int is_whole;          /* part is the file that the journal describes */
    int is_packed;         /* part is that with compressed rows, or complete in another format */
    uint64_t holes;        /* in the rows of one that is no HDF5, */
    struct product_flags flags;        /* and its flags, if it was this run that wrote it */
    struct product_clips clips;        /* and what was clipped, if this run left it so */
    int packed_fd;                     /* holds the lock of the one that is to become part, */
    struct product_place packed_place; /* places of its datasets */
    struct identity identity;          /* of the file that got the name */
    enum journal_state state;
    journal_t *journal;
    /* The writer thread. */
    export_writer_t *writer; /* of a file that is no HDF5 */
    uint64_t first_span;     /* of the chunk that is being written, */
    uint32_t *sums;          /* by span, */
    uint32_t beside;         /* and of what is written beside its rows */
    struct file_part ahead;  /* bytes of the rows that come next, or none; in a file in memory */
    struct bytes_put {
        uint64_t at, bytes;
    } put, sent; /* rows that were written last, not yet sent to the disk; those before */
};

struct outputs {
    MPI_Comm comm;
    int rank, size;
    struct outputs_options options;
    const struct output_spec *spec;
    int is_open;
    int is_begun; /* resumes an earlier run's file */
    uint32_t count;
    struct output *outputs;
    sync_thread_t *sync;
    pool_worker_t *worker;   /* sums rows while the writer thread writes them */
    pool_worker_t *pages;    /* allocates pages for the next rows; NULL: there are few processors */
    uint64_t chunk_bytes;    /* the writer thread's: rows of the chunk that is being written */
    struct text entry;       /* the writer thread's report of a chunk */
    struct resumed *resumed; /* rows of earlier runs are being compared; NULL: they are not */
    /* Rank 0. */
    pool_worker_t *axes;   /* writes the values of /frequency, and */
    status_t axes_status;  /* how that ended */
    unsigned char *differ; /* a bit for each chunk whose rows were found to differ, and */
    int is_revoking;       /* which is still in the journals: some are */
    double revoked;        /* when such chunks were last taken out (clock_now()) */
    uint64_t differing;    /* chunks of products that were found */
    uint64_t again;        /* chunks that were taken out of the journals */
};

/* Added to the number of a chunk when its rows differ from the journal (outputs_tell()). */
#define OUTPUTS_DIFFERS (UINT64_C(1) << 63)

/* Rank 0: checks that item i, from 0, has the plan with which its journal, which it has, began;
 * without a plan, the same job and input. Fails with USAGE if they differ, naming the difference;
 * with DATA if an input cannot be looked up; with DEVICE (memory). */
status_t outputs_check_plan(const outputs_t *outputs, uint32_t i);

/* Rank 0: locks the files and decides whether to resume them: sets *begun then, else drops their
 * journals, with warnings. Fails with USAGE if a file cannot be made, exists (without `force`), is
 * locked, or belongs to another plan, version, user or program, or to several runs; with DATA,
 * NO_SPACE, DEVICE (memory, descriptors, no child), STOPPED. */
status_t outputs_claim(outputs_t *outputs, struct outputs_begun *begun);

/* Rank 0: writes the counts that are known after the last row, from the journal, with the CRCs, and
 * removes the mark of an unfinished file; synced on return. HDF5 alone. Fails with DATA, NO_SPACE,
 * DEVICE (memory, descriptors). */
status_t outputs_put_counts(const struct output *output);

/* Rank 0: counts the flags of product i, from 0, which is complete, in its file or .part (`path`).
 * *out is zero if it has none, and after a failure. Fails with DATA if the file cannot be read;
 * with DEVICE (memory, descriptors). */
status_t outputs_count_flags(const outputs_t *outputs, uint32_t i, const char *path,
                             struct product_flags *out);

/* Returns the rows of product `product`, from 0, that a chunk completes. When open. */
struct journal_rows outputs_rows_of(const outputs_t *outputs, uint32_t product,
                                    const struct chunk *chunk);
/* Returns the unfinished file of product `product`, from 0, and the shape of the data beside its
 * rows, for beside_sum(). When open; its pointers are the outputs'. */
struct beside_file outputs_beside_file(const outputs_t *outputs, uint32_t product);

/* Begins to compare rows of earlier runs, each rank its share by a thread (outputs->resumed), if
 * the run resumes and the job requests it. All files are open. Collective: all ranks fail alike.
 * Fails with DATA if a journal cannot be read; with DEVICE (memory, no thread). */
status_t resumed_begin_all(outputs_t *outputs);
/* Ends the comparison and frees it. Takes NULL. */
void resumed_destroy(struct resumed *resumed);
SCOPED_END(resumed_destroy, struct resumed *)
/* Ends the comparison soon: what is not compared yet is given up. Takes NULL. */
void resumed_hurry(struct resumed *resumed);
/* Appends the chunks that were found to differ since the last call, each with the product's number
 * (OUTPUTS_DIFFERS), for resumed_take(); nothing for NULL. Fails with DATA or DEVICE if reading the
 * rows has failed; with DEVICE (memory). */
status_t resumed_tell(struct resumed *resumed, struct text *out);
/* Rank 0: notes the chunk that data[*at], of `bytes` bytes, reports as different, moves *at after
 * the report, and warns. Fails with DATA if the report is incomplete or wrong, or the chunk cannot
 * be computed again, because a product is complete already. */
status_t resumed_take(outputs_t *outputs, const char *data, size_t bytes, size_t *at);
/* On rank 0: removes from the journals, unsynced, the chunks that were found to differ. Without
 * is_last it does nothing within a second after it last did. Fails with NO_SPACE, DATA, DEVICE
 * (memory). */
status_t resumed_revoke(outputs_t *outputs, int is_last);

/* Adds bytes from .. from + bytes - 1 of each of `count` rows from row `row` of the file on, from
 * 0, as they are in the file (data [count][bytes]), to the sums of their spans in `output`, a
 * struct output. They are of the chunk that is being written. Several threads at once. Cannot fail.
 * A callback (struct export_sum). */
void outputs_sum(void *output, uint64_t row, uint64_t count, uint64_t from, uint64_t bytes,
                 const void *data);

#endif
