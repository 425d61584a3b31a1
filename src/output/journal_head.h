/* The head of a journal: the plan to which its records belong. A run resumes only with the plan
 * with which it began, so that its product is byte for byte that of an undisturbed run. */
#ifndef VOLTMILL_OUTPUT_JOURNAL_HEAD_H
#define VOLTMILL_OUTPUT_JOURNAL_HEAD_H

#include "output/output_spec.h"
#include "product/export/export_rows.h"

/* Origin of a product, as text for people, line by line. It decides whether files of an earlier run
 * belong to this job and its input: for resumed runs, complete products and --each. A member that
 * is NULL is unknown. */

struct origin {
    const char *program, *job;
    const char *inputs; /* by times (journal_head.c), or as inputs_contents() says */
    const char *coefficients, *arithmetic;
};

/* Appends to an empty text the first line that differs, such as "job: taps: 8 then, taps: 16 now";
 * of long lines the part that differs. Lines of a job that differ only in how a number is written
 * (1e6, 1000000) are equal. Appends nothing if all lines are equal; members that are not
 * known now are ignored, those that were not known then are empty. Fails with DEVICE (memory). */
status_t origin_compare(const struct origin *then, const struct origin *now, struct text *out);

struct journal_head {
    /* Inputs of a product's bytes, as text for people, line by line: the program's version; every
     * file of the input with size and time of change; the product's job; a CRC of the coefficients
     * (or delays); the arithmetic of the backend. NULL: not known yet. */
    char *program, *inputs, *job, *coefficients, *arithmetic;
    char *folder; /* where the run was begun: its relative paths start there; NULL: not known */
    uint64_t integrate, ratio, spectra; /* struct output_spec_item's */
    struct product_place place;         /* place and number of the rows */
    struct export_rows rows;            /* of a file that is no HDF5 */
    /* Parameters that another run could choose differently without an error, but that a resumed run
     * keeps. */
    struct chunking chunking; /* its blocks are each run's own */
    struct chunk_row row; /* how streams make rows, of groups of coarse channels that are flagged,
                             averaged, or kept in part; count 0: others */
    enum backend_kind backend;
    struct channelise_choice choice;
    struct filter_choice filters[JOB_FILTERS]; /* backend AUTO: there is none, also of the next */
    struct synthesise_choice synthesis;
};

/* Makes the head of item i of the spec (rank 0: reads size and time of each input). `place`: where
 * its rows are, or at least their number and length; NULL while there is no plan: then the head
 * contains only what job and input determine. `rows` stays that of HDF5. Overwrites *out; the
 * caller calls journal_head_free() in any case. Fails with DATA if an input cannot be looked up or
 * is no ordinary file; with DEVICE (memory). */
status_t journal_head_of(const struct output_spec *spec, uint32_t i,
                         const struct product_place *place, struct journal_head *out);
/* Frees the texts of a head, and sets it to {0}, which it takes. */
void journal_head_free(struct journal_head *head);

/* Compares the plan `now` with the head `begun` of the journal at `path`: texts, then number and
 * bytes of rows and `integrate` if its arithmetic is known. Texts that are not known yet are
 * ignored. Fails with USAGE if they differ, and reports the first difference; with DEVICE (memory).
 */
status_t journal_head_compare(const char *path, const struct journal_head *begun,
                              const struct journal_head *now);

/* Finds the first input that is there with another size or time than the head says: a run refuses
 * to resume. Inputs that cannot be looked up are ignored, and the cause is forgotten. Where the
 * run's folder is gone (moved), relative paths start at the current one. *out: its path, for
 * free(), or unchanged if there is none. Fails with DEVICE (memory). */
status_t journal_head_find_changed(const struct journal_head *begun, char **out);

/* Rows of a product, from 0. */
struct journal_rows {
    uint64_t first, count;
};
/* Returns the rows of the product that a chunk completes, none after its last row. Uses only ratio,
 * integrate and place.rows of the head. */
struct journal_rows journal_head_rows(const struct journal_head *head, const struct chunk *chunk);

/* Appends the packed head, whose texts are not NULL. Fails with DEVICE (memory); `out` may have a
 * part of it then. */
status_t journal_head_pack(const struct journal_head *head, struct text *out);
/* Reads a packed head, all that `in` has left, into *out, which it overwrites. Returns 1; 0 if the
 * bytes are no head, its numbers make no sense, or there is no memory (in->failed). The caller
 * calls journal_head_free() in any case. */
int journal_head_unpack(struct unpack *in, struct journal_head *out);

/* Data beside the rows of a product: of rows, cells and blocks (struct product_place), and holes.
 * The file computes where a chunk's part of them is in the product, and its sum, which the journal
 * stores. */

/* Rows of a dataset. */
struct beside {
    uint64_t offset, row_bytes; /* of the whole dataset; offset 0: there is none */
    uint64_t first, rows;
    struct chunk_row row;
};

/* Runs of bytes in a file: `count` runs of `bytes` bytes, the first at offset `at`; `each` in a
 * row, `step` bytes from one to the next, and `row` bytes from row to row. */
struct beside_runs {
    uint64_t at, row, step, each, count, bytes;
};
/* Returns the offset (bytes) of run i, from 0, below runs->count, in the file. */
static inline uint64_t beside_run_at(const struct beside_runs *runs, uint64_t i)
{
    return runs->at + i / runs->each * runs->row + i % runs->each * runs->step;
}
/* Returns a chunk's part of a dataset beside the rows, as runs of bytes in the file: one run of all
 * rows, or, where streams come in groups, beside_runs.each runs in each row. */
struct beside_runs beside_runs_of(const struct chunking *chunking, const struct chunk *chunk,
                                  const struct beside *beside);

/* Sizes of what is beside a row: numbers of a row or block that have scales, weights, cells of a
 * row, numbers of a cell (0: there are none); and how these come of streams. */
struct beside_shape {
    uint64_t lines, weights, cells, cell;
    struct chunk_row row, weights_row, cells_row;
};

/* Adds `bytes` bytes, data beside the rows of a chunk at offset `at` (bytes) of a product of
 * place->file_bytes bytes, to *sum, the chunk's, which is 0 at first. Like those of rows, the sum
 * does not depend on the order in which they come; nor on zeros. Cannot fail. */
void beside_add(const struct product_place *place, uint64_t at, const void *data, uint64_t bytes,
                uint32_t *sum);

/* A product that is being written. */
struct beside_file {
    int fd;
    const char *path; /* for messages */
    const struct product_place *place;
    struct beside_shape shape;
    const struct chunking *chunking;
};

/* Computes *sum (beside_add()) of the data beside `rows`, those of a chunk, from the file; of holes
 * only if the chunk has all streams. Any thread. Fails with DATA if the file cannot be read there;
 * *sum is undefined then. */
status_t beside_sum(const struct beside_file *file, const struct chunk *chunk,
                    struct journal_rows rows, uint32_t *sum);

#endif
