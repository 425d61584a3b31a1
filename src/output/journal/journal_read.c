/* Reads journals: heads, and records as far as they are good. */
#include "output/journal/journal_parts.h"

#include "base/memory.h"
#include "io/crc.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The bytes of a journal from its first record on, for free(). */
static status_t journal_load(const journal_t *journal, uint64_t end, char **out)
{
    status_t st = STATUS_OK;
    uint64_t bytes = end - journal->first;
    TRY(memory_zeroed((size_t)bytes, 1, "a journal", out));
    TRY(file_read(journal->fd, journal->path, journal->first, *out, bytes));
out:
    return st;
}

/* The record that the `bytes` bytes at `data` begin with. Gives how many of them it takes: 0 when
 * there is no good one. */
static uint64_t journal_decode(const journal_t *journal, const char *data, uint64_t bytes,
                               struct journal_record *out)
{
    /* Records are whole words long, and begin where memory was allocated. */
    const uint32_t *words = (const uint32_t *)(const void *)data;
    uint64_t span;
    uint64_t count = JOURNAL_WORDS;
    if (bytes / sizeof *words < count ||
        (words[0] != JOURNAL_COMPLETE && words[0] >= journal->chunks)) {
        return 0;
    }
    *out = (struct journal_record){.chunk = words[0], .beside = words[5], .sums = words + 6};
    memcpy(&out->missing, words + 1, sizeof out->missing);
    memcpy(&out->clipped, words + 3, sizeof out->clipped);
    count +=
        words[0] == JOURNAL_COMPLETE ? 0 : journal_chunk_sums(&journal->head, out->chunk, &span);
    int is_good = bytes / sizeof *words >= count &&
                  crc_more(journal->seed, words, (count - 1) * sizeof *words) == words[count - 1];
    return is_good ? count * sizeof *words : 0;
}

/* The packed head, from a file that begins as ours do. *is_good = 0: it is damaged. */
static status_t journal_read_head(journal_t *journal, const struct journal_preamble *preamble,
                                  uint64_t bytes, int *is_good)
{
    status_t st = STATUS_OK;
    char *packed = NULL;
    uint32_t stored = 0;
    uint64_t size = preamble->head_bytes;
    *is_good = 0;
    if (size > JOURNAL_HEAD_BYTES || bytes < sizeof *preamble + size + sizeof stored) {
        goto out;
    }
    TRY(memory_zeroed((size_t)size, 1, "a journal", &packed));
    TRY(file_read(journal->fd, journal->path, sizeof *preamble, packed, size));
    TRY(file_read(journal->fd, journal->path, sizeof *preamble + size, &stored, sizeof stored));
    journal->seed = crc_more(crc_of(preamble, sizeof *preamble), packed, (size_t)size);
    struct unpack in = {.data = packed, .length = (size_t)size};
    int makes_sense = stored == journal->seed && journal_head_unpack(&in, &journal->head);
    REQUIRE(!(in.failed & UNPACK_NO_MEMORY), STATUS_DEVICE, "out of memory: a journal");
    if (makes_sense) {
        journal->first = journal->end = sizeof *preamble + size + sizeof stored;
        *is_good = 1;
    }
out:
    free(packed);
    return st;
}

static status_t journal_read_records(journal_t *journal, uint64_t bytes)
{
    status_t st = STATUS_OK;
    struct journal_record record;
    char *data = NULL;
    uint64_t length = 0;
    uint64_t end = min_u64(bytes, journal->first + journal_most_bytes(journal));
    TRY(journal_load(journal, end, &data));
    while ((length = journal_decode(journal, data + (journal->end - journal->first),
                                    end - journal->end, &record)) > 0) {
        if (record.chunk == JOURNAL_COMPLETE) {
            journal->is_complete = journal->done == journal->chunks;
            journal->holes = record.missing;
        } else {
            (void)journal_note(journal, &record);
        }
        journal->end += length;
    }
    journal->dropped = bytes - journal->end;
out:
    free(data);
    return st;
}

/* How the file begins: as ours do, or as one of ours of which the beginning never reached the
 * disk, or otherwise. */
static enum journal_state journal_judge(const struct journal_preamble *preamble, uint64_t bytes)
{
    static const struct journal_preamble zeros;
    size_t there = (size_t)min_u64(bytes, sizeof preamble->magic);
    if (memcmp(preamble->magic, JOURNAL_MAGIC, there) == 0 ||
        memcmp(preamble, &zeros, there) == 0) {
        return JOURNAL_OURS;
    }
    return JOURNAL_FOREIGN;
}

/* Opens for reading; *fd stays below 0 when there is no such file. */
static status_t journal_open_there(const char *path, int *fd, uint64_t *bytes,
                                   enum journal_state *state)
{
    status_t st = STATUS_OK;
    struct stat info;
    *state = JOURNAL_NONE;
    if (lstat(path, &info) != 0) {
        REQUIRE(errno == ENOENT, STATUS_DATA, "%s: %s", path, strerror(errno));
        goto out;
    }
    *state = JOURNAL_FOREIGN;
    if (S_ISREG(info.st_mode)) {
        TRY(file_open_read(path, fd));
        *bytes = (uint64_t)info.st_size;
    }
out:
    return st;
}

status_t journal_open(const char *path, enum journal_state *state, journal_t **out)
{
    status_t st = STATUS_OK;
    journal_t *journal = NULL;
    struct journal_preamble preamble = {.format = 0};
    uint64_t bytes = 0;
    int is_good = 0;
    *out = NULL;
    TRY(journal_begin(path, &journal));
    TRY(journal_open_there(path, &journal->fd, &bytes, state));
    if (journal->fd < 0) {
        goto out;
    }
    TRY(file_read(journal->fd, path, 0, &preamble, min_u64(bytes, sizeof preamble)));
    *state = journal_judge(&preamble, bytes);
    if (*state == JOURNAL_FOREIGN || bytes < sizeof preamble || preamble.magic[0] == 0) {
        goto out;
    }
    if (preamble.format != JOURNAL_FORMAT) {
        *state = JOURNAL_OTHER;
        goto out;
    }
    TRY(journal_read_head(journal, &preamble, bytes, &is_good));
    if (is_good) {
        TRY(journal_create_tables(journal));
        TRY(journal_read_records(journal, bytes));
        *state = JOURNAL_GOOD;
        *out = journal;
        journal = NULL;
    }
out:
    journal_destroy(journal);
    return st;
}

status_t journal_read(const journal_t *journal, void *context,
                      status_t (*take)(void *context, const struct journal_record *record))
{
    status_t st = STATUS_OK;
    char *data = NULL;
    uint64_t length = 0;
    TRY(journal_load(journal, journal->end, &data));
    for (uint64_t at = 0; at < journal->end - journal->first; at += length) {
        struct journal_record record;
        length = journal_decode(journal, data + at, journal->end - journal->first - at, &record);
        REQUIRE(length > 0, STATUS_DATA, "%s has changed while it was read", journal->path);
        if (record.chunk != JOURNAL_COMPLETE) {
            TRY(take(context, &record));
        }
    }
out:
    free(data);
    return st;
}
