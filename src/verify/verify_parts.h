/* Private declarations of the files of `voltmill verify`. verify.c has chunks recomputed by the
 * reference, and judges. verify_spectra.c recomputes spectra, power and voltages, verify_series.c
 * series. verify_rows.c and verify_steps.c compare rows of the former. verify_parts.c contains code
 * common to all kinds. */
#ifndef VOLTMILL_VERIFY_VERIFY_PARTS_H
#define VOLTMILL_VERIFY_VERIFY_PARTS_H

#include "compute/shared/agreement.h"
#include "pipeline/pipeline.h"
#include "plan/channelise_plan.h"
#include "product/packed.h"
#include "verify/verify.h"

#include <stdatomic.h>

/* Rows that are marked in /provenance/holes. */
struct verify_marked {
    uint64_t *rows; /* [count] ascending */
    int *groups;    /* [count] of streams that were recomputed, */
    int *unread;    /* and of them those with input that cannot be read */
    uint64_t count;
};

struct verify {
    MPI_Comm comm;
    int rank;
    const struct verify_options *options;
    struct product *product;
    int fd;             /* of the product */
    rows_t *rows;       /* its rows */
    uint64_t holes;     /* rows that are marked */
    backend_t *backend; /* the reference */
    char *stored;       /* a row of the product, of some streams */
    uint64_t stored_size;
    /* The kind's, from prepare_all() on. */
    void *kind;
    struct job *job;
    const struct chunking *chunking;
    struct chunk_row row; /* how its streams make rows; of series unused */
    pipeline_t *pipeline;
    const char *input; /* in words */
    /* Chunks to check; NULL: all. */
    uint64_t *picked;
    uint64_t npicked, nchunks;
    /* Found on this rank, and on all at the end, on rank 0. */
    struct {
        struct agreement agreement;
        uint64_t recomputed; /* rows, or outputs of series */
        uint64_t passed;     /* outputs that are NaN as they should be */
        uint64_t missing;    /* samples of the chunks that were recomputed */
        atomic_ulong chunks; /* compared and not reported yet */
        uint64_t done;       /* rank 0: all that are reported */
        uint64_t clipped;    /* numbers of voltages in them, */
        uint64_t beside;     /* and those that were rounded the other way */
    } found;
    struct verify_marked marked;
    struct {
        uint64_t bad, first_bad; /* number of spans whose CRC differs, and the first of them */
        uint64_t last;           /* that was read */
        char *bytes;             /* buffer for some rows of one */
    } spans;
};

/* Input of a kind of product, and the comparison of its rows. */
struct verify_kind {
    const char *what; /* is recomputed: "rows" */
    const char *unit; /* of the worst error, in words */
    /* Compares what needs no recomputing, picks chunks, makes the pipeline. Collective. */
    status_t (*prepare_all)(struct verify *verify);
    status_t (*judge)(const struct verify *verify); /* on rank 0: what else was counted; may be
                                                       NULL */
    void (*end)(void *kind);                        /* takes NULL */
};
extern const struct verify_kind verify_spectra, verify_voltages, verify_series;

/* A row that is marked in /provenance/holes, and the first number of it that was found NaN. */
struct verify_mark {
    uint64_t row, at;
};

/* Ends a chunk, for the sink of the pipeline: counts it in verify->found.chunks; `verify` is struct
 * verify, the others are ignored. Any thread. Always succeeds. */
status_t verify_chunk_end(void *verify, const struct chunk *chunk,
                          const struct chunk_counts *counts);

/* Compares all `count` time stamps of the open product with those of the axis (dsp/axes.h), seconds
 * after the observation's start, within 4 rounding errors. Fails with DATA at the first that
 * differs, or if they cannot be read. */
status_t verify_times(int fd, const struct product *product, uint64_t count, struct time_axis axis);

/* Picks the chunks of `total` to check, ascending, each once: the first, the last, others at random
 * (by options->chunks and seed), and the `together` chunks from chunk_of() on of some marked rows,
 * which show whether these are marked rightly. Sets verify->picked [npicked], which
 * verify_product_all() frees, NULL and npicked 0 before, and nchunks, to `total`. On request, or if
 * options->chunks is `total` or more, picks all chunks of the cut, even those after `total`: picked
 * stays NULL, and both counts are theirs. Not collective; the same on all ranks. Reads all marked
 * rows. Fails with DATA if any marked row has no NaN or is unreadable; with DEVICE (memory). */
status_t verify_pick(struct verify *verify, uint64_t total, uint64_t together,
                     uint64_t (*chunk_of)(const struct verify *verify,
                                          const struct verify_mark *mark));

/* One of the kinds' overrides. A comparison prints no number of the input, so the input may be
 * anywhere. */
#define VERIFY_EXTERNAL "input.external=" EXTERNAL_ALLOW

/* Joins the overrides [*count] of the verification: the kind's `before`, run.on_bad=nan if the
 * product has holes or weights, the user's, the kind's `after`; both lists of the kind end with
 * NULL. *out points to the same texts; free() returns the list alone. Fails with DEVICE (memory).
 */
status_t verify_overrides(const struct verify *verify, const char *const *before,
                          const char *const *after, const char ***out, uint32_t *count);

/* Adds to the message of a failure, if its cause is a file that is not there, the key of the job
 * that names it. Returns `st`. */
status_t verify_say_moved(status_t st, const char *key);

/* If a plan failed with USAGE, forgets the failure, doubles verify->job->memory and returns 1: the
 * caller repeats the plan. (A product does not say how much memory its run had.) Returns 0 for
 * other statuses, if the user has given the memory, or if it would exceed 1 TiB. */
int verify_may_take_more(status_t st, const struct verify *verify);

/* Reads a chunk's streams of a row of the product into verify->stored, as they are stored; it grows
 * to have space for as many floats. If the product has marks, sets whether the row is marked; else
 * *is_marked is unchanged. Fails with DATA if the row is unreadable or damaged; with DEVICE
 * (memory). */
status_t verify_read_row(struct verify *verify, const struct chunk *chunk, uint64_t row,
                         char *is_marked);

/* Compares spans of rows of the product with their CRCs, in the thread that compares rows
 * `first_row` .. first_row + rows - 1 of a chunk: of a sample the span of the first row, unless
 * that is larger than 64 MiB or was the last one read; of all chunks the spans that begin in these
 * rows, only with the chunk that has stream 0. Spans that differ are counted in verify->spans,
 * which is no failure. Does nothing for a product without CRCs. Fails with DATA if a row cannot be
 * read; with DEVICE (memory). */
status_t verify_spans(struct verify *verify, const struct chunk *chunk, uint64_t first_row,
                      uint64_t rows);

/* Notes that a row was recomputed, of one group of streams (of series: of times), and whether some
 * of it is NaN by input that cannot be read. Rows that are not marked are ignored. One thread. */
void verify_marks_note(const struct verify_marked *marked, uint64_t row, int is_unread);

/* Comparing rows of spectra and power with the reference's. For verify_spectra.c alone. */

struct verify_rows;

/* Creates the comparison, for verify_rows_destroy(). `plan`, of one product, must outlive it. With
 * filters, reads some samples of the archive to measure their power; unreadable ones are ignored.
 * Fails with DATA if a file of the archive is missing or has changed; with DEVICE (memory,
 * descriptors). *out is unchanged then. */
status_t verify_rows_create(const struct channelise_plan *plan, struct verify_rows **out);
/* Frees a comparison of verify_rows_create(). Takes NULL. */
void verify_rows_destroy(struct verify_rows *rows);
SCOPED_END(verify_rows_destroy, struct verify_rows *)

/* Returns the rms that the numbers of a spectrum would have if the input of the filters went into
 * the bank as noise (struct agreement, went_in): the maximum over the streams, times the root of
 * the largest weight of a sum of streams. 0 without filters. */
double verify_rows_went_in(const struct verify_rows *rows);

/* Adds the differences between verify->stored, a chunk's streams of row `row` as floats, and the
 * `expected` numbers, as many, to verify->found.agreement. A difference is no failure. is_marked
 * (the row is marked in /provenance/holes) changes only the words of a failure.
 *
 *   wholes   of this row (pipeline/finish/finish.h, finish_wholes()); NULL: it has all channels;
 *            of visibilities never NULL
 *
 * Fails with DATA: there are numbers where NaN is expected, or in flagged power and visibilities
 * the reverse; or weights are unreadable. Fails with DEVICE (memory). */
status_t verify_rows_compare(struct verify *verify, struct verify_rows *rows,
                             const struct chunk *chunk, uint64_t row, int is_marked,
                             const float *expected, const struct agreement_whole *wholes);

/* Products in few bits, whose numbers represent all values within half a step. For verify_spectra.c
 * alone. */
struct verify_steps;

/* Creates the comparison of few bits, for verify_steps_destroy(); *out = NULL if the product's
 * numbers are floats, and after a failure. If the first block's scales apply to all, the plan gets
 * (and owns) those of the product. `plan`, of one product, must outlive it. Fails with DATA if
 * scales cannot be read; with DEVICE (memory). */
status_t verify_steps_create(const struct verify *verify, struct channelise_plan *plan,
                             struct verify_steps **out);
/* Frees a comparison of verify_steps_create(). Takes NULL. */
void verify_steps_destroy(struct verify_steps *steps);
SCOPED_END(verify_steps_destroy, struct verify_steps *)

/* A row as the reference makes it, of a chunk's streams. */
struct verify_steps_row {
    const float *expected;
    const struct agreement_whole *wholes; /* [nwholes]; NULL: it has all channels */
    uint64_t nwholes;
    double went_in; /* verify_rows_went_in() */
};

/* Converts verify->stored, a chunk's streams of a row as it is stored, to floats. Of the values
 * that a stored number can represent, takes the one nearest to the expected. Rows of a chunk come
 * in order. With the last row of a block, its counts of clipped numbers are compared, if all its
 * rows have come. A number so near to the end of the range that rounding decides may be clipped or
 * not. Fails with DATA if counts differ by more, or counts or scales cannot be read; with DEVICE
 * (memory). */
status_t verify_steps_nearest(struct verify *verify, struct verify_steps *steps,
                              const struct chunk *chunk, uint64_t row,
                              const struct verify_steps_row *of);

/* Compares scales and offsets of whole blocks, of a chunk's streams, with what the reference makes,
 * within its rounding. `went_in`: verify_rows_went_in(). Fails with DATA at the first that differs,
 * or if they cannot be read; with DEVICE (memory). */
status_t verify_steps_compare(const struct verify *verify, const struct chunk *chunk,
                              const struct product_steps *expected, double went_in);

#endif
