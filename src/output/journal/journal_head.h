/* The head of a journal: the plan that it vouches for. A run goes on only with the plan that it was
 * begun with, so that its product is that of an undisturbed run, byte for byte. */
#ifndef VOLTMILL_OUTPUT_JOURNAL_JOURNAL_HEAD_H
#define VOLTMILL_OUTPUT_JOURNAL_JOURNAL_HEAD_H

#include "compute/channelise.h"
#include "io/pack.h"
#include "output/output_spec.h"
#include "plan/chunk.h"
#include "product/product.h"

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

#endif
