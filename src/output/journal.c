/* Makes journals, and adds to them; the names of a product's files, and which of them are there. */
#include "output/journal.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/file_rights.h"
#include "io/folder.h"
#include "product/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Groups of coarse channels are a format of their own: programs that do not know them refuse it. So
 * are those of rows that are flagged, averaged or kept in part (struct journal_head, row). */
enum { JOURNAL_FORMAT = 21, JOURNAL_COARSE = 22, JOURNAL_KEPT = 23, JOURNAL_HEAD_BYTES = 64 << 20 };

#define JOURNAL_MAGIC "vmjournl"

#define JOURNAL_COMPLETE UINT32_MAX

void product_files_free(struct product_files *find)
{
    MEMORY_FREE(find->path, find->part, find->journal, find->packed);
    *find = (struct product_files){0};
}

/* Cuts the ending off; returns whether it was there. */
static int files_cut_ending(char *name, const char *ending)
{
    int has = text_ends(name, ending);
    if (has) {
        name[strlen(name) - strlen(ending)] = '\0';
    }
    return has;
}

status_t product_files_of(const char *path, struct product_files *out)
{
    *out = (struct product_files){0};
    TRY(memory_text(path, &out->path));
    TRY(file_part_name(path, &out->part));
    TRY(file_journal_name(path, &out->journal));
    TRY(file_packed_name(path, &out->packed));
    TRY(file_exists(path, &out->has_path));
    TRY(file_exists(out->part, &out->has_part));
    TRY(file_exists(out->journal, &out->has_journal));
    out->is_finished = out->has_path && !out->has_part && !out->has_journal;
    return STATUS_OK;
}

status_t product_files_find(const char *name, struct product_files *out)
{
    SCOPED(free_at) char *path = NULL;
    *out = (struct product_files){0};
    TRY(memory_text(name, &path));
    int is_other = files_cut_ending(path, ".part") || files_cut_ending(path, ".journal");
    TRY(product_files_of(path, out));
    REQUIRE(out->has_path || out->has_part || out->has_journal, STATUS_DATA,
            "%s: no such product, neither finished nor unfinished (.part, .journal)", name);
    out->is_finished = out->has_path && (!is_other || out->is_finished);
    return STATUS_OK;
}

void journal_destroy(journal_t *journal)
{
    if (!journal) {
        return;
    }
    file_close(journal->fd);
    journal_head_free(&journal->head);
    text_free(&journal->added);
    MEMORY_FREE(journal->path, journal->bits, journal->sums, journal);
}

/* A journal of that name without anything in it; in *out even when it fails. */
static status_t journal_begin(const char *path, journal_t **out)
{
    journal_t *journal = NULL;
    TRY(memory_zeroed(1, sizeof *journal, "a journal", &journal));
    journal->fd = -1;
    *out = journal;
    return memory_text(path, &journal->path);
}

/* Allocates the tables for the chunks of the head. */
static status_t journal_create_tables(journal_t *journal)
{
    journal->chunks = chunk_count(&journal->head.chunking);
    TRY(memory_zeroed((size_t)journal->chunks / 8 + 1, 1, "a journal", &journal->bits));
    return memory_zeroed((size_t)spans_count(&journal->head.place), sizeof *journal->sums,
                         "a journal", &journal->sums);
}

uint64_t journal_chunk_sums(const struct journal_head *head, uint64_t chunk, uint64_t *first_span)
{
    struct chunk at = chunk_at(&head->chunking, chunk);
    struct journal_rows rows = journal_head_rows(head, &at);
    *first_span = rows.first / head->place.span_rows;
    return spans_touched(&head->place, rows.first, rows.count);
}

/* Notes a record whose bytes are good, or, if it is noted, takes it out again. Returns how many
 * sums it has. */
static uint64_t journal_toggle(journal_t *journal, const struct journal_record *record)
{
    const uint64_t times = journal_is_done(journal, record->chunk) ? UINT64_MAX : 1; /* -1, or 1 */
    uint64_t first = 0;
    uint64_t count = journal_chunk_sums(&journal->head, record->chunk, &first);
    for (uint64_t i = 0; i < count; i++) {
        journal->sums[first + i] ^= record->sums[i];
    }
    journal->bits[record->chunk / 8] ^= (unsigned char)(1U << record->chunk % 8);
    journal->missing += times * record->missing;
    journal->clipped += times * record->clipped;
    journal->done += times;
    return count;
}

/* Returns the bytes of all records, each once. */
static uint64_t journal_most_bytes(const journal_t *journal)
{
    uint64_t sums =
        journal->chunks + spans_count(&journal->head.place) * chunk_groups(&journal->head.chunking);
    return (JOURNAL_WORDS * (journal->chunks + 1) + sums) * sizeof(uint32_t);
}

/* Reserves disk space for all records, so that a full disk does not end a job whose product already
 * has its space. If the file system cannot reserve, records are appended without. */
static void journal_reserve(const journal_t *journal)
{
    (void)fallocate(journal->fd, FALLOC_FL_KEEP_SIZE, (off_t)journal->end,
                    (off_t)journal_most_bytes(journal));
}

status_t journal_create(const char *path, const struct journal_head *head, journal_t **out)
{
    status_t st = STATUS_OK;
    journal_t *journal = NULL;
    struct text packed = {0};
    struct journal_preamble preamble = {.format = head->row.count > 0 ? JOURNAL_KEPT
                                                  : head->chunking.group_coarse > 0
                                                      ? JOURNAL_COARSE
                                                      : JOURNAL_FORMAT};
    TRY_OUT(journal_begin(path, &journal));
    TRY_OUT(journal_head_pack(head, &packed));
    REQUIRE_OUT(
        packed.length <= JOURNAL_HEAD_BYTES, STATUS_USAGE,
        "%s: the description of the input's files has %zu bytes, more than a journal can store",
        path, packed.length);
    memcpy(preamble.magic, JOURNAL_MAGIC, sizeof preamble.magic);
    preamble.head_bytes = (uint32_t)packed.length;
    /* Unpacks the head as a reader would. */
    struct unpack in = {.data = packed.data, .length = packed.length};
    int is_good = journal_head_unpack(&in, &journal->head);
    REQUIRE_OUT(!(in.failed & UNPACK_NO_MEMORY), STATUS_DEVICE, "out of memory: a journal");
    REQUIRE_OUT(is_good, STATUS_USAGE, "%s: the plan's numbers are outside the range of a journal",
                path);
    TRY_OUT(journal_create_tables(journal));
    journal->seed = crc_more(crc_of(&preamble, sizeof preamble), packed.data, packed.length);
    TRY_OUT(text_add_bytes(&journal->added, (const char *)&preamble, sizeof preamble));
    TRY_OUT(text_add_bytes(&journal->added, packed.data, packed.length));
    TRY_OUT(text_add_bytes(&journal->added, (const char *)&journal->seed, sizeof journal->seed));
    TRY_OUT(file_open_new(path, &journal->fd));
    TRY_OUT(journal_write(journal));
    journal_reserve(journal);
    journal->first = journal->end;
    TRY_OUT(file_sync(journal->fd, path));
    TRY_OUT(folder_sync(path));
    *out = memory_move(&journal);
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
    int fd = -1;
    struct claim_mark mark;
    TRY(claim_mark_of(journal->fd, journal->path, &mark));
    TRY(claim_open(journal->path, &mark, &fd));
    close(journal->fd);
    journal->fd = fd;
    TRY(file_cut(fd, journal->path, journal->end));
    journal->dropped = 0;
    journal_reserve(journal);
    return STATUS_OK;
}

/* Appends the bytes of a record, with `count` sums, to the write buffer. Fails with DEVICE. */
static status_t journal_append(journal_t *journal, const struct journal_record *record,
                               uint64_t count)
{
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
    return text_add_bytes(&journal->added, (const char *)&crc, sizeof crc);
}

status_t journal_add(journal_t *journal, const struct journal_record *record)
{
    return journal_is_done(journal, record->chunk)
               ? STATUS_OK
               : journal_append(journal, record, journal_toggle(journal, record));
}

status_t journal_write(journal_t *journal)
{
    TRY(file_write(journal->fd, journal->path, journal->end, journal->added.data,
                   journal->added.length));
    journal->end += journal->added.length;
    journal->added.length = 0;
    return STATUS_OK;
}

status_t journal_sync(journal_t *journal)
{
    return file_sync_data(journal->fd, journal->path);
}

status_t journal_complete(journal_t *journal, uint64_t holes)
{
    const struct journal_record complete = {JOURNAL_COMPLETE, holes, journal->clipped, 0,
                                            journal->sums};
    TRY(journal_append(journal, &complete, 0));
    TRY(journal_write(journal));
    TRY(journal_sync(journal));
    journal->is_complete = 1;
    journal->holes = holes;
    return STATUS_OK;
}

int journal_is_done(const journal_t *journal, uint64_t chunk)
{
    return journal->bits[chunk / 8] >> chunk % 8 & 1;
}

/* Reads journals: heads, and records as far as they are good. */

/* Reads the bytes of a journal from its first record on; the caller frees *out. */
static status_t journal_load(const journal_t *journal, uint64_t end, char **out)
{
    uint64_t bytes = end - journal->first;
    TRY(memory_zeroed((size_t)bytes, 1, "a journal", out));
    return file_read(journal->fd, journal->path, journal->first, *out, bytes);
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
    SCOPED(free_at) char *packed = NULL;
    uint32_t stored = 0;
    uint64_t size = preamble->head_bytes;
    *is_good = 0;
    if (size > JOURNAL_HEAD_BYTES || bytes < sizeof *preamble + size + sizeof stored) {
        return STATUS_OK;
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
    return STATUS_OK;
}

static status_t journal_read_records(journal_t *journal, uint64_t bytes)
{
    struct journal_record record;
    SCOPED(free_at) char *data = NULL;
    uint64_t length = 0;
    uint64_t end = min_u64(bytes, journal->first + journal_most_bytes(journal));
    TRY(journal_load(journal, end, &data));
    while ((length = journal_decode(journal, data + (journal->end - journal->first),
                                    end - journal->end, &record)) > 0) {
        if (record.chunk == JOURNAL_COMPLETE) {
            journal->is_complete = journal->done == journal->chunks;
            journal->holes = record.missing;
        } else if (!journal_is_done(journal, record.chunk)) {
            (void)journal_toggle(journal, &record);
        }
        journal->end += length;
    }
    journal->dropped = bytes - journal->end;
    return STATUS_OK;
}

/* Opens for reading; *fd stays below 0 when there is no such file. */
static status_t journal_open_there(const char *path, int *fd, uint64_t *bytes,
                                   enum journal_state *state)
{
    struct stat info;
    *state = JOURNAL_NONE;
    if (lstat(path, &info) != 0) {
        return REQUIRED(errno == ENOENT, STATUS_DATA, "%s: %s", path, strerror(errno));
    }
    *state = JOURNAL_FOREIGN;
    if (S_ISREG(info.st_mode)) {
        TRY(file_open_read(path, fd));
        *bytes = (uint64_t)info.st_size;
    }
    return STATUS_OK;
}

status_t journal_open(const char *path, enum journal_state *state, journal_t **out)
{
    SCOPED(journal_destroy_at) journal_t *journal = NULL;
    struct journal_preamble preamble = {.format = 0};
    static const char zeros[sizeof preamble.magic];
    uint64_t bytes = 0;
    int is_good = 0;
    *out = NULL;
    TRY(journal_begin(path, &journal));
    TRY(journal_open_there(path, &journal->fd, &bytes, state));
    if (journal->fd < 0) {
        return STATUS_OK;
    }
    TRY(file_read(journal->fd, path, 0, &preamble, min_u64(bytes, sizeof preamble)));
    /* As ours begin, or as one of ours of which the beginning never reached the disk. */
    size_t there = (size_t)min_u64(bytes, sizeof preamble.magic);
    int is_ours = memcmp(preamble.magic, JOURNAL_MAGIC, there) == 0 ||
                  memcmp(preamble.magic, zeros, there) == 0;
    *state = is_ours ? JOURNAL_OURS : JOURNAL_FOREIGN;
    if (!is_ours || bytes < sizeof preamble || preamble.magic[0] == 0) {
        return STATUS_OK;
    }
    if (preamble.format < JOURNAL_FORMAT || preamble.format > JOURNAL_KEPT) {
        *state = JOURNAL_OTHER;
        return STATUS_OK;
    }
    TRY(journal_read_head(journal, &preamble, bytes, &is_good));
    if (is_good) {
        TRY(journal_create_tables(journal));
        TRY(journal_read_records(journal, bytes));
        *state = JOURNAL_GOOD;
        *out = memory_move(&journal);
    }
    return STATUS_OK;
}

status_t journal_read(const journal_t *journal, void *context,
                      status_t (*take)(void *context, const struct journal_record *record))
{
    SCOPED(free_at) char *data = NULL;
    uint64_t length = 0;
    TRY(journal_load(journal, journal->end, &data));
    for (uint64_t at = 0; at < journal->end - journal->first; at += length) {
        struct journal_record record;
        length = journal_decode(journal, data + at, journal->end - journal->first - at, &record);
        REQUIRE(length > 0, STATUS_DATA, "%s has changed while it was read", journal->path);
        TRY(record.chunk != JOURNAL_COMPLETE ? take(context, &record) : STATUS_OK);
    }
    return STATUS_OK;
}

/* Takes records out of a journal: it is written once more, without them. */

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
        (void)journal_toggle(journal, record);
    }
    return STATUS_OK;
}

status_t journal_revoke(journal_t *journal, const unsigned char *bits)
{
    struct journal_sieve sieve = {journal, bits};
    TRY(journal_write(journal));
    TRY(journal_read(journal, &sieve, journal_sift));
    journal->is_complete = 0;
    journal->holes = 0;
    journal->end = journal->first;
    TRY(journal_write(journal));
    TRY(file_cut(journal->fd, journal->path, journal->end));
    journal_reserve(journal);
    return STATUS_OK;
}
