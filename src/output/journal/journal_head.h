/* The head of a journal: the plan that it vouches for. A run goes on only with the plan that it was
 * begun with, so that its product is that of an undisturbed run, byte for byte. */
#ifndef VOLTMILL_OUTPUT_JOURNAL_JOURNAL_HEAD_H
#define VOLTMILL_OUTPUT_JOURNAL_JOURNAL_HEAD_H

#include "base/text.h"
#include "compute/channelise.h"
#include "io/pack.h"
#include "output/output_spec.h"
#include "plan/chunk.h"
#include "product/product.h"

/* Where a product comes from, in words for people, line by line. It decides whether what an earlier
 * run has left was made by this very job of these very files: for runs that go on, for products
 * that are complete, for --each. */

/* NULL: not known. */
struct origin {
    const char *program, *job;
    const char *inputs; /* as inputs_times() or inputs_contents() say (input/inputs.h) */
    const char *coefficients, *arithmetic;
};

/* Appends the first line that differs, such as "job: taps: 8 then, taps: 16 now"; of long ones the
 * part where they do. Nothing when all lines are equal; those that are not known now are passed
 * over. Fails with DEVICE (memory). */
status_t origin_compare(const struct origin *then, const struct origin *now, struct text *out);

struct journal_head {
    /* What decides a product's bytes, in words for people, line by line: the program's version;
     * every file of the input with size and time of change; the product's job; a CRC of the
     * coefficients (or delays); what computes. NULL: not known yet. */
    char *program, *inputs, *job, *coefficients, *arithmetic;
    uint64_t integrate, ratio, spectra; /* struct output_spec_item's */
    struct product_place place;         /* where the rows lie, and how many */
    /* What another run could do otherwise without being wrong, but goes on with. */
    struct chunking chunking; /* its blocks are each run's own */
    enum backend_kind backend;
    struct channelise_choice choice;
    struct filter_choice filters[JOB_FILTERS]; /* backend AUTO: there is none, also of the next */
    struct synthesise_choice synthesis;
};

/* What the spec says of item i (rank 0: looks at the files' times). `place`: where its rows lie, or
 * at least how many there are and how long; NULL while there is no plan: then only what job and
 * input tell is known. Fails with DATA. journal_head_free() in any case. */
status_t journal_head_of(const struct output_spec *spec, uint32_t i,
                         const struct product_place *place, struct journal_head *out);
void journal_head_free(struct journal_head *head);

/* Fails with USAGE when the plan is not the one that the journal at `path` was begun with, and says
 * what differs. Words that are not known yet are passed over. */
status_t journal_head_compare(const char *path, const struct journal_head *begun,
                              const struct journal_head *now);

/* Rows of the product that a chunk completes. */
struct journal_rows {
    uint64_t first, count;
};
struct journal_rows journal_head_rows(const struct journal_head *head, const struct chunk *chunk);

status_t journal_head_pack(const struct journal_head *head, struct text *out);
/* Returns 0 when it is none, or its numbers make no sense. journal_head_free() in any case. */
int journal_head_unpack(struct unpack *in, struct journal_head *out);

/* Data beside the rows of a product: weights, flags and kurtosis of cells, scales, offsets and
 * counts of clipped numbers of blocks, holes. Where a chunk's part of them lies in the file, and
 * its sum, which the journal keeps. */

/* Rows of a dataset. */
struct beside {
    uint64_t offset, row_bytes; /* of the whole dataset; offset 0: there is none */
    uint64_t first, rows;
};

/* A chunk's part of them, as runs of bytes: all in one, or row by row where streams come in groups.
 */
struct beside_runs {
    uint64_t at, step, count, bytes;
};
struct beside_runs beside_runs_of(const struct chunking *chunking, const struct chunk *chunk,
                                  const struct beside *beside);

/* Sizes of what is beside a row: numbers of a row or block that have scales, weights, cells of a
 * row, numbers of a cell. */
struct beside_shape {
    uint64_t lines, weights, cells, cell;
};
struct beside_shape beside_shape_of(const struct product_place *place,
                                    const struct product_spec *spec);
/* The same of a file that was opened. */
struct beside_shape beside_shape_of_product(const struct product *product);

/* Adds bytes at offset `at` of a product, beside the rows of a chunk, to its sum. Like those of
 * rows, the sum does not depend on the order in which they come; nor on zeros. */
void beside_add(const struct product_place *place, uint64_t at, const void *data, uint64_t bytes,
                uint32_t *sum);

/* A product that is being written. */
struct beside_file {
    int fd;
    const char *path; /* for messages */
    const struct product_place *place;
    struct beside_shape shape;
    const struct chunking *chunking;
    uint64_t column; /* struct output_spec_item's */
};

/* Computes, from the file, the sum of the data beside the rows of a chunk. Fails with DATA. */
status_t beside_sum(const struct beside_file *file, const struct chunk *chunk,
                    struct journal_rows rows, uint32_t *sum);

#endif
