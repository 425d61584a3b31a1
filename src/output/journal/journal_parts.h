/* Private declarations of the journal's files, and of its fuzz test. journal.c creates journals and
 * appends records, journal_read.c reads them, journal_revoke.c removes records. */
#ifndef VOLTMILL_OUTPUT_JOURNAL_JOURNAL_PARTS_H
#define VOLTMILL_OUTPUT_JOURNAL_JOURNAL_PARTS_H

#include "base/text.h"
#include "output/journal/journal.h"

enum { JOURNAL_FORMAT = 9, JOURNAL_HEAD_BYTES = 64 << 20 };

/* Words of a record beside the sums of its rows: chunk, two of the missing samples, two of the
 * clipped numbers, the sum beside the rows, the CRC. */
enum { JOURNAL_WORDS = 7 };

#define JOURNAL_MAGIC "vmjournl"
#define JOURNAL_COMPLETE UINT32_MAX

/* What a journal begins with; the packed head and a CRC of both follow. */
struct journal_preamble {
    char magic[8];
    uint32_t format;
    uint32_t head_bytes;
};

/* A journal of that name without anything in it; in *out even when it fails. */
status_t journal_begin(const char *path, journal_t **out);

/* Room for what the head promises. */
status_t journal_create_tables(journal_t *journal);

/* Room for all records, so that a full disk does not end a job whose product has its room. Where
 * the file system cannot, records take it as they come. */
void journal_reserve(const journal_t *journal);

/* Appends the bytes of a record, with `count` sums, to the write buffer. Fails with DEVICE. */
status_t journal_append(journal_t *journal, const struct journal_record *record, uint64_t count);

/* How long all records are at most, if each is there once. */
uint64_t journal_most_bytes(const journal_t *journal);

/* Notes a record whose bytes are good. Returns 0 when that chunk was there before: its sums must
 * not be added twice. */
int journal_note(journal_t *journal, const struct journal_record *record);

#endif
