/* Takes records out of a journal: it is written once more, without them. */
#include "output/journal/journal_parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A journal, and a bitmap of the chunks whose records are removed. */
struct journal_sieve {
    journal_t *journal;
    const unsigned char *revoked;
};

/* Takes a record that is revoked out of the counts and sums; appends any other one. */
static status_t journal_sift(void *context, const struct journal_record *record)
{
    const struct journal_sieve *sieve = context;
    journal_t *journal = sieve->journal;
    uint64_t first = 0;
    uint64_t count = journal_chunk_sums(&journal->head, record->chunk, &first);
    if (!(sieve->revoked[record->chunk / 8] >> record->chunk % 8 & 1)) {
        return journal_append(journal, record, count);
    }
    if (journal_is_done(journal, record->chunk)) {
        for (uint64_t i = 0; i < count; i++) {
            journal->sums[first + i] ^= record->sums[i];
        }
        journal->bits[record->chunk / 8] ^= (unsigned char)(1U << record->chunk % 8);
        journal->missing -= record->missing;
        journal->clipped -= record->clipped;
        journal->done--;
    }
    return STATUS_OK;
}

status_t journal_revoke(journal_t *journal, const unsigned char *bits)
{
    status_t st = STATUS_OK;
    struct journal_sieve sieve = {journal, bits};
    TRY(journal_write(journal));
    TRY(journal_read(journal, &sieve, journal_sift));
    journal->is_complete = 0;
    journal->holes = 0;
    journal->end = journal->first;
    TRY(journal_write(journal));
    REQUIRE(ftruncate(journal->fd, (off_t)journal->end) == 0, STATUS_DATA, "%s: %s", journal->path,
            strerror(errno));
    journal_reserve(journal);
out:
    return st;
}
