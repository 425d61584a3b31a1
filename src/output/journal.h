/* The journal beside a product that is being written: the chunks that are in the file and synced,
 * and checksums of their bytes. A run resumes from it after it was killed, stopped or failed.
 *
 * A head (output/journal_head.h) pins the plan; one record follows for each complete chunk:
 *
 *   uint32   chunk
 *   uint64   missing samples that were found in it
 *   uint64   numbers that did not fit the bits of voltages and were clipped
 *   uint32   sum of what the chunk has written beside its rows (outputs_claim.c)
 *   uint32   [n] for each span that the chunk's rows touch, what they add to its sum
 *            (product/contents.h); n follows from head and chunk
 *   uint32   CRC-32 of the head's CRC and the record so far
 *
 * A record is written after its rows have been synced. So a record may itself be lost, or cut,
 * without harm: data after the last good record is dropped. A record with the number UINT32_MAX
 * means that the product is complete but for its name; it contains the number of rows that are
 * holes instead of missing samples. Numbers have the byte order of the machine: a journal belongs
 * to its .part. Not for several threads, except journal_sync(). */
#ifndef VOLTMILL_OUTPUT_JOURNAL_H
#define VOLTMILL_OUTPUT_JOURNAL_H

#include "output/journal_head.h"

typedef struct journal {
    struct journal_head head;
    uint64_t chunks, done; /* of the plan; of them in the file */
    uint64_t missing;      /* samples, in the chunks that are done */
    uint64_t clipped;      /* numbers, likewise */
    uint64_t dropped;      /* bytes after the last good record */
    int is_complete;
    uint64_t holes; /* when it is: rows that are NaN because their input could not be read */
    uint32_t *sums; /* [spans] of what is done, by exclusive or */
    /* The rest is for the journal's own files. */
    char *path;
    int fd;
    uint32_t seed;       /* the head's CRC: records of another journal are no good */
    uint64_t first, end; /* beginning of the records, and end of the last good one */
    unsigned char *bits; /* of chunks that are done */
    struct text added;
} journal_t;

enum journal_state {
    JOURNAL_NONE,    /* there is no such file */
    JOURNAL_OURS,    /* one of ours, but its head is damaged or cut: without information */
    JOURNAL_OTHER,   /* one of another version of voltmill */
    JOURNAL_FOREIGN, /* a file of another program */
    JOURNAL_GOOD
};

/* Reads the journal at `path`, and stays open for reading. *state is what was found; *out, for
 * journal_destroy(), is NULL unless that is GOOD. Something that is no ordinary file is FOREIGN.
 * Fails with DATA if the name cannot be looked up or the file read; with DEVICE (memory,
 * descriptors). *out is NULL then, and *state undefined. */
status_t journal_open(const char *path, enum journal_state *state, journal_t **out);

/* Makes the journal of a product anew at `path`, replacing what is there; file and name are synced
 * on return. `head` is copied; *out is for journal_destroy(). Fails with USAGE if the head has more
 * bytes or larger numbers than a journal can store, or the file cannot be made there; with
 * NO_SPACE, DATA, DEVICE (memory, descriptors). No new file is left then. */
status_t journal_create(const char *path, const struct journal_head *head, journal_t **out);

/* Prepares an opened journal for new records: opens its file for writing, and truncates it after
 * the last good one. Fails with DATA, also if another file has its name by now; with NO_SPACE,
 * DEVICE (descriptors). The journal is for journal_destroy() alone then. */
status_t journal_resume(journal_t *journal);
/* Closes the file of a journal, unsynced, and frees the journal; drops what journal_write() has not
 * written. Takes NULL. */
void journal_destroy(journal_t *journal);
SCOPED_END(journal_destroy, journal_t *)

/* Returns whether the journal has a record of chunk `chunk`, from 0, which is below
 * journal->chunks. */
int journal_is_done(const journal_t *journal, uint64_t chunk);

/* Returns the number of sums in the record of chunk `chunk`, from 0: the spans that its rows touch.
 * Sets *first_span to the number of the first of these spans, from 0. */
uint64_t journal_chunk_sums(const struct journal_head *head, uint64_t chunk, uint64_t *first_span);

struct journal_record {
    uint64_t chunk, missing, clipped;
    uint32_t beside;
    const uint32_t *sums; /* [journal_chunk_sums()] */
};

/* Calls take() with `context` and each good record of a chunk that is in the file, until that
 * fails; a chunk may have more than one. A record is valid until take() returns. Fails as take()
 * does; with DATA if the file cannot be read or has changed; with DEVICE (memory). */
status_t journal_read(const journal_t *journal, void *context,
                      status_t (*take)(void *context, const struct journal_record *record));

/* Adds a record, which is copied, in memory; one of the chunk that is there already stays. The
 * chunk counts as done at once. Fails with DEVICE (memory): the journal is not to be used then. */
status_t journal_add(journal_t *journal, const struct journal_record *record);
/* Writes what journal_add() has added to the file, after the last record, unsynced. Fails with
 * NO_SPACE, DATA; the next call repeats it. */
status_t journal_write(journal_t *journal);
/* Removes the records of the chunks whose bits are set: bit c % 8 of byte c / 8 for chunk c of the
 * plan. The other records are written again, so a kill meanwhile may lose some of them; not synced.
 * The product is not complete any more. Fails with DEVICE (memory), DATA, NO_SPACE: the journal is
 * not to be used then. */
status_t journal_revoke(journal_t *journal, const unsigned char *bits);
/* Syncs what was written (data only). May run in another thread, at the same time as any other
 * function but journal_resume() and journal_destroy(). Fails with DATA, NO_SPACE. */
status_t journal_sync(journal_t *journal);
/* Adds and writes a record that the product is complete, with `holes` rows that are holes; synced
 * on return. Fails with NO_SPACE, DATA, DEVICE (memory); is_complete is not set then. */
status_t journal_complete(journal_t *journal, uint64_t holes);

/* ---- The bytes of a journal, for its fuzz test ---- */

/* Words of a record beside the sums of its rows: chunk, two of the missing samples, two of the
 * clipped numbers, the sum beside the rows, the CRC. */
enum { JOURNAL_WORDS = 7 };

/* The beginning of a journal; the packed head and a CRC of both follow. */
struct journal_preamble {
    char magic[8];
    uint32_t format;
    uint32_t head_bytes;
};

struct product_files {
    char *path, *part, *journal, *packed; /* their names */
    int has_path, has_part, has_journal;
    int is_finished; /* what is meant is x.h5, else what is on its way to become it */
};

/* Finds the files of the product `path`, and whether they exist: the product, or its incomplete
 * file and journal. The caller calls product_files_free() in any case. Overwrites *out. Fails with
 * DATA if a name cannot be looked up; with DEVICE (memory). */
status_t product_files_of(const char *path, struct product_files *out);
/* Finds the product's files by its name, or by that of its .part or .journal, which asks for the
 * unfinished ones if there are any. The caller calls product_files_free() in any case. Fails with
 * DATA if none of the three exists, or a name cannot be looked up; with DEVICE (memory). */
status_t product_files_find(const char *name, struct product_files *out);
/* Frees the names, and sets *find to {0}, which it takes. */
void product_files_free(struct product_files *find);

#endif
