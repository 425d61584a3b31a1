/* Journals. Input: a byte that says what is mended, then the file. Bytes that were changed at
 * random would nearly always fail at a CRC; so with bit 0 the head's is put right, with bit 1 those
 * of the records. */
#include "fuzz.h"

#include "base/memory.h"
#include "io/crc.h"
#include "output/journal.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONGEST_FILE = 4 << 20 };

static const char path[] = "x.h5.journal";

static void put_file(const uint8_t *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

/* Puts the head's CRC right; gives where records begin, or 0. */
static size_t mend_head(uint8_t *data, size_t size, uint32_t *seed)
{
    struct journal_preamble preamble;
    if (size < sizeof preamble + sizeof *seed) {
        return 0;
    }
    memcpy(&preamble, data, sizeof preamble);
    size_t head = preamble.head_bytes;
    if (head > size - sizeof preamble - sizeof *seed) {
        return 0;
    }
    *seed = crc_of(data, sizeof preamble + head);
    memcpy(data + sizeof preamble + head, seed, sizeof *seed);
    return sizeof preamble + head + sizeof *seed;
}

/* Puts the CRCs of records right, as far as the head says how long they are. */
static void mend_records(const struct journal_head *head, uint32_t seed, uint8_t *data, size_t size,
                         size_t at)
{
    uint32_t chunk;
    while (size - at >= JOURNAL_WORDS * sizeof chunk) {
        uint64_t span;
        memcpy(&chunk, data + at, sizeof chunk);
        chunk %= (uint32_t)min_u64(chunk_count(&head->chunking), UINT32_MAX);
        memcpy(data + at, &chunk, sizeof chunk);
        uint64_t words = JOURNAL_WORDS + journal_chunk_sums(head, chunk, &span);
        if ((size - at) / sizeof chunk < words) {
            break;
        }
        size_t body = (size_t)(words - 1) * sizeof chunk;
        uint32_t crc = crc_more(seed, data + at, body);
        memcpy(data + at + body, &crc, sizeof crc);
        at += body + sizeof crc;
    }
}

static status_t count(void *context, const struct journal_record *record)
{
    uint64_t *sum = context;
    *sum += record->chunk;
    return STATUS_OK;
}

/* Uses a journal that was opened. */
static void use(journal_t *journal)
{
    uint64_t sum = 0;
    uint64_t done = journal->done;
    EXPECT(done <= journal->chunks);
    EXPECT(journal_read(journal, &sum, count) == STATUS_OK);
    EXPECT(journal_head_compare(path, &journal->head, &journal->head) == STATUS_OK);
    status_t st = journal_resume(journal);
    EXPECT(st == STATUS_OK || st == STATUS_NO_SPACE);
    EXPECT(st != STATUS_OK || journal->dropped == 0);
    EXPECT(st != STATUS_OK || journal_write(journal) == STATUS_OK);
    EXPECT(journal->done == done);
}

/* Heads that tell of a thousand million chunks do not get their room. */
static void limit_files(void)
{
    static const struct rlimit limit = {LONGEST_FILE, LONGEST_FILE};
    static int is_limited = 0;
    if (!is_limited) {
        EXPECT(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
        EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        is_limited = 1;
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    report_quiet(1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum journal_state state;
    journal_t *journal = NULL;
    uint32_t seed = 0;
    if (size == 0) {
        return 0;
    }
    fuzz_enter_folder();
    limit_files();
    uint8_t *file = malloc(size);
    EXPECT(file);
    int what = *data;
    size--;
    memcpy(file, data + 1, size);
    size_t records = what & 1 ? mend_head(file, size, &seed) : 0;
    put_file(file, size);
    if (journal_open(path, &state, &journal) == STATUS_OK && journal && records > 0 && what & 2) {
        mend_records(&journal->head, seed, file, size, records);
        journal_destroy(journal);
        put_file(file, size);
        EXPECT(journal_open(path, &state, &journal) == STATUS_OK && journal);
    }
    if (journal) {
        use(journal);
    }
    journal_destroy(journal);
    report_clear();
    unlink(path);
    free(file);
    fuzz_leave_folder();
    return 0;
}
