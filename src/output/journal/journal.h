/* The journal beside a product that is being written: which chunks are in the file and last, and
 * what their bytes are. It is what a run goes on from after it was killed, stopped or failed.
 *
 * A head (output/journal/journal_head.h) pins the plan; one record follows for each chunk that is
 * done:
 *
 *   uint32   chunk
 *   uint64   missing samples that were found in it
 *   uint32   [n] for each span that the chunk's rows touch, what they add to its sum
 *            (product/spans.h); n follows from head and chunk
 *   uint32   CRC-32 of the head's CRC and the record so far
 *
 * A record is written after the rows that it vouches for have been made to last, so it may itself
 * be lost, or torn, without harm: what comes behind the last good record is dropped. A record with
 * the number UINT32_MAX says that the product is complete but for its name. Numbers are those of
 * the machine: a journal goes with its .part. Not for several threads, except journal_sync(). */
#ifndef VOLTMILL_OUTPUT_JOURNAL_JOURNAL_H
#define VOLTMILL_OUTPUT_JOURNAL_JOURNAL_H

#include "output/journal/journal_head.h"

typedef struct journal journal_t;

enum journal_state {
    JOURNAL_NONE,    /* there is no such file */
    JOURNAL_OURS,    /* one of ours, but damaged or torn in its head: tells nothing */
    JOURNAL_OTHER,   /* one of another version of voltmill */
    JOURNAL_FOREIGN, /* a file of somebody else */
    JOURNAL_GOOD
};

/* Reads the journal at `path`; *out is NULL unless it is GOOD. Fails with DATA. */
status_t journal_open(const char *path, enum journal_state *state, journal_t **out);

/* Makes the journal of a product anew, replacing what is there; it lasts on return. Fails with
 * USAGE, NO_SPACE or DATA. */
status_t journal_create(const char *path, const struct journal_head *head, journal_t **out);

/* Makes a journal that was opened one that can be added to: what was dropped is cut off. */
status_t journal_resume(journal_t *journal);
void journal_destroy(journal_t *journal);

const struct journal_head *journal_head(const journal_t *journal);
uint64_t journal_chunks(const journal_t *journal); /* of the plan */
uint64_t journal_done(const journal_t *journal);   /* of them */
int journal_is_done(const journal_t *journal, uint64_t chunk);
uint64_t journal_missing(const journal_t *journal); /* samples, in the chunks that are done */
int journal_is_complete(const journal_t *journal);
uint64_t journal_dropped(const journal_t *journal); /* bytes behind the last good record */
/* uint32 [spans]: sums of what is done, by exclusive or. */
const uint32_t *journal_sums(const journal_t *journal);

/* How many sums the record of a chunk has, and of which span the first is. */
uint64_t journal_chunk_sums(const struct journal_head *head, uint64_t chunk, uint64_t *first_span);

struct journal_record {
    uint64_t chunk, missing;
    const uint32_t *sums; /* [journal_chunk_sums()] */
};

/* Hands each good record to take(), until that fails. Fails as take() does, or with DATA. */
status_t journal_read(const journal_t *journal, void *context,
                      status_t (*take)(void *context, const struct journal_record *record));

/* Adds a record; one that is there already stays. journal_write() then writes what was added.
 * Fail with DEVICE (memory); NO_SPACE, DATA. */
status_t journal_add(journal_t *journal, const struct journal_record *record);
status_t journal_write(journal_t *journal);
/* Makes what was written last. May run in another thread. */
status_t journal_sync(journal_t *journal);
/* Adds that the product is complete; lasts on return. */
status_t journal_complete(journal_t *journal);

#endif
