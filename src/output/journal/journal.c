/* Makes journals, and adds to them. */
#include "output/journal/journal_parts.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/folder.h"
#include "product/spans.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void journal_destroy(journal_t *journal)
{
    if (!journal) {
        return;
    }
    file_close(journal->fd);
    journal_head_free(&journal->head);
    text_free(&journal->added);
    free(journal->path);
    free(journal->bits);
    free(journal->sums);
    free(journal);
}

status_t journal_begin(const char *path, journal_t **out)
{
    status_t st = STATUS_OK;
    journal_t *journal = NULL;
    TRY(memory_zeroed(1, sizeof *journal, "a journal", &journal));
    journal->fd = -1;
    *out = journal;
    TRY(memory_text(path, &journal->path));
out:
    return st;
}

status_t journal_create_tables(journal_t *journal)
{
    status_t st = STATUS_OK;
    journal->chunks = chunk_count(&journal->head.chunking);
    TRY(memory_zeroed((size_t)journal->chunks / 8 + 1, 1, "a journal", &journal->bits));
    TRY(memory_zeroed((size_t)spans_count(&journal->head.place), sizeof *journal->sums, "a journal",
                      &journal->sums));
out:
    return st;
}

uint64_t journal_chunk_sums(const struct journal_head *head, uint64_t chunk, uint64_t *first_span)
{
    struct chunk at = chunk_at(&head->chunking, chunk);
    struct journal_rows rows = journal_head_rows(head, &at);
    *first_span = rows.first / head->place.span_rows;
    return spans_touched(&head->place, rows.first, rows.count);
}

int journal_note(journal_t *journal, const struct journal_record *record)
{
    unsigned char bit = (unsigned char)(1U << record->chunk % 8);
    if (journal->bits[record->chunk / 8] & bit) {
        return 0;
    }
    uint64_t first = 0;
    uint64_t count = journal_chunk_sums(&journal->head, record->chunk, &first);
    for (uint64_t i = 0; i < count; i++) {
        journal->sums[first + i] ^= record->sums[i];
    }
    journal->bits[record->chunk / 8] |= bit;
    journal->missing += record->missing;
    journal->clipped += record->clipped;
    journal->done++;
    return 1;
}

uint64_t journal_most_bytes(const journal_t *journal)
{
    uint64_t sums =
        journal->chunks + spans_count(&journal->head.place) * chunk_groups(&journal->head.chunking);
    return (JOURNAL_WORDS * (journal->chunks + 1) + sums) * sizeof(uint32_t);
}

void journal_reserve(const journal_t *journal)
{
    (void)fallocate(journal->fd, FALLOC_FL_KEEP_SIZE, (off_t)journal->end,
                    (off_t)journal_most_bytes(journal));
}

status_t journal_create(const char *path, const struct journal_head *head, journal_t **out)
{
    status_t st = STATUS_OK;
    journal_t *journal = NULL;
    struct text packed = {0};
    struct journal_preamble preamble = {.format = JOURNAL_FORMAT};
    TRY(journal_begin(path, &journal));
    TRY(journal_head_pack(head, &packed));
    REQUIRE(packed.length <= JOURNAL_HEAD_BYTES, STATUS_USAGE,
            "%s: %zu bytes tell of the input's files, more than a journal holds", path,
            packed.length);
    memcpy(preamble.magic, JOURNAL_MAGIC, sizeof preamble.magic);
    preamble.head_bytes = (uint32_t)packed.length;
    /* What it will be read as. */
    struct unpack in = {.data = packed.data, .length = packed.length};
    int is_good = journal_head_unpack(&in, &journal->head);
    REQUIRE(!(in.failed & UNPACK_NO_MEMORY), STATUS_DEVICE, "out of memory: a journal");
    REQUIRE(is_good, STATUS_USAGE, "%s: a plan of such numbers cannot be journalled", path);
    TRY(journal_create_tables(journal));
    journal->seed = crc_more(crc_of(&preamble, sizeof preamble), packed.data, packed.length);
    TRY(text_add_bytes(&journal->added, (const char *)&preamble, sizeof preamble));
    TRY(text_add_bytes(&journal->added, packed.data, packed.length));
    TRY(text_add_bytes(&journal->added, (const char *)&journal->seed, sizeof journal->seed));
    TRY(file_open_new(path, &journal->fd));
    TRY(journal_write(journal));
    journal_reserve(journal);
    journal->first = journal->end;
    TRY(file_sync(journal->fd, path));
    TRY(folder_sync(path));
    *out = journal;
    journal = NULL;
out:
    if (journal && journal->fd >= 0) {
        file_remove(path);
    }
    text_free(&packed);
    journal_destroy(journal);
    return st;
}

status_t journal_resume(journal_t *journal)
{
    status_t st = STATUS_OK;
    int fd = -1;
    struct claim_mark mark;
    TRY(claim_mark_of(journal->fd, journal->path, &mark));
    TRY(claim_open(journal->path, &mark, &fd));
    close(journal->fd);
    journal->fd = fd;
    REQUIRE(ftruncate(fd, (off_t)journal->end) == 0, STATUS_DATA, "%s: %s", journal->path,
            strerror(errno));
    journal->dropped = 0;
    journal_reserve(journal);
out:
    return st;
}

status_t journal_append(journal_t *journal, const struct journal_record *record, uint64_t count)
{
    status_t st = STATUS_OK;
    uint32_t number = (uint32_t)record->chunk;
    size_t begin = journal->added.length;
    TRY(text_add_bytes(&journal->added, (const char *)&number, sizeof number));
    TRY(text_add_bytes(&journal->added, (const char *)&record->missing, sizeof record->missing));
    TRY(text_add_bytes(&journal->added, (const char *)&record->clipped, sizeof record->clipped));
    TRY(text_add_bytes(&journal->added, (const char *)&record->beside, sizeof record->beside));
    TRY(text_add_bytes(&journal->added, (const char *)record->sums,
                       (size_t)count * sizeof *record->sums));
    uint32_t crc =
        crc_more(journal->seed, journal->added.data + begin, journal->added.length - begin);
    TRY(text_add_bytes(&journal->added, (const char *)&crc, sizeof crc));
out:
    return st;
}

status_t journal_add(journal_t *journal, const struct journal_record *record)
{
    status_t st = STATUS_OK;
    uint64_t first;
    if (journal_note(journal, record)) {
        TRY(journal_append(journal, record,
                           journal_chunk_sums(&journal->head, record->chunk, &first)));
    }
out:
    return st;
}

status_t journal_write(journal_t *journal)
{
    status_t st = STATUS_OK;
    TRY(file_write(journal->fd, journal->path, journal->end, journal->added.data,
                   journal->added.length));
    journal->end += journal->added.length;
    journal->added.length = 0;
out:
    return st;
}

status_t journal_sync(journal_t *journal)
{
    return file_sync_data(journal->fd, journal->path);
}

status_t journal_complete(journal_t *journal, uint64_t holes)
{
    status_t st = STATUS_OK;
    const struct journal_record complete = {JOURNAL_COMPLETE, holes, journal->clipped, 0,
                                            journal->sums};
    TRY(journal_append(journal, &complete, 0));
    TRY(journal_write(journal));
    TRY(journal_sync(journal));
    journal->is_complete = 1;
    journal->holes = holes;
out:
    return st;
}

int journal_is_done(const journal_t *journal, uint64_t chunk)
{
    return journal->bits[chunk / 8] >> chunk % 8 & 1;
}
