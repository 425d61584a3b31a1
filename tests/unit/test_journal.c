/* The journal: what was written comes back, and nothing else does, however the file is hurt. */
#include "io/crc.h"
#include "output/journal.h"
#include "product/contents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* 10 chunks of 60 spectra (the last one of 37) in 2 groups of streams; dumps of 6 spectra, 96 rows;
 * spans of some rows, so that chunks share them. */
enum { CHUNKS = 20, ROWS = 96, ROW_BYTES = 200000, MOST_BYTES = 65536 };

static char path[] = "/tmp/voltmill-test-journal-XXXXXX";

static struct journal_head make_head(void)
{
    struct journal_head head = {
        .program = strdup("voltmill 1"),
        .inputs = strdup("a.h5: 10 bytes, changed 2024-01-01T00:00:00\n"
                         "b.h5: 20 bytes, changed 2024-01-01T00:00:01\n"),
        .job = strdup("channelise:\n  channels: 64\n  taps: 8\n"),
        .coefficients = strdup("CRC-32 12345678"),
        .arithmetic = strdup("cpu, avx2"),
        .folder = strdup("/runs"),
        .integrate = 6,
        .ratio = 1,
        .spectra = 577,
        .place = {.rows = ROWS,
                  .row_bytes = ROW_BYTES,
                  .span_rows = spans_rows(ROWS, ROW_BYTES),
                  .data_offset = 1 << 20,
                  .time_offset = 4096,
                  .crc_offset = 8192,
                  .missing_offset = 8000,
                  .holes_offset = 8008,
                  .file_bytes = (1 << 20) + ROWS * ROW_BYTES},
        .chunking = {.spectra = 577, .chunk_spectra = 60, .streams = 5, .group_streams = 3},
        .backend = BACKEND_CPU,
        .choice = {.backend = BACKEND_CPU, .shape = {.simd = 3, .rows = 1, .streaming = 4}}};
    snprintf(head.choice.wisdom, sizeof head.choice.wisdom, "(fftw wisdom)");
    return head;
}

/* Returns the sums of chunk c. */
static const uint32_t *sums_of(uint64_t chunk)
{
    static uint32_t sums[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        sums[i] = (uint32_t)(chunk + 1) * 2654435761U + i;
    }
    return sums;
}

static void add(journal_t *journal, uint64_t chunk)
{
    struct journal_record record = {chunk, chunk * chunk, 3 * chunk + 1, (uint32_t)chunk + 7,
                                    sums_of(chunk)};
    assert_int_equal(journal_add(journal, &record), STATUS_OK);
    assert_int_equal(journal_write(journal), STATUS_OK);
}

/* A journal with some chunks, out of order, of which one comes twice. */
static const uint64_t order[] = {3, 0, 19, 7, 3, 12, 1};
enum { ADDED = sizeof order / sizeof *order, DONE = ADDED - 1 };

static void write_journal(void)
{
    struct journal_head head = make_head();
    journal_t *journal = NULL;
    assert_int_equal(journal_create(path, &head, &journal), STATUS_OK);
    for (int i = 0; i < ADDED; i++) {
        add(journal, order[i]);
    }
    assert_int_equal(journal_sync(journal), STATUS_OK);
    journal_destroy(journal);
    journal_head_free(&head);
}

static journal_t *open_journal(enum journal_state expected)
{
    enum journal_state state;
    journal_t *journal = NULL;
    assert_int_equal(journal_open(path, &state, &journal), STATUS_OK);
    assert_int_equal(state, expected);
    assert_true((journal != NULL) == (expected == JOURNAL_GOOD));
    return journal;
}

static size_t read_bytes(char *out)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(out, 1, MOST_BYTES, file);
    fclose(file);
    assert_true(size < MOST_BYTES);
    return size;
}

static void write_bytes(const char *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void what_was_written_comes_back(void **state)
{
    (void)state;
    uint32_t sums[ROWS] = {0};
    uint64_t missing = 0;
    uint64_t clipped = 0;
    write_journal();
    journal_t *journal = open_journal(JOURNAL_GOOD);
    struct journal_head expected = make_head();
    const struct journal_head *head = &journal->head;
    assert_string_equal(head->program, expected.program);
    assert_string_equal(head->inputs, expected.inputs);
    assert_string_equal(head->job, expected.job);
    assert_string_equal(head->coefficients, expected.coefficients);
    assert_string_equal(head->arithmetic, expected.arithmetic);
    assert_string_equal(head->folder, expected.folder);
    assert_int_equal(head->integrate, 6);
    assert_memory_equal(&head->place, &expected.place, sizeof head->place);
    assert_memory_equal(&head->choice, &expected.choice, sizeof head->choice);
    assert_int_equal(head->chunking.chunk_spectra, 60);
    assert_int_equal(head->chunking.group_streams, 3);
    assert_int_equal(journal->chunks, CHUNKS);
    assert_int_equal(journal->done, DONE);
    assert_int_equal(journal->dropped, 0);
    assert_false(journal->is_complete);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        uint64_t first = 0;
        int is_in = i == 3 || i == 0 || i == 19 || i == 7 || i == 12 || i == 1;
        uint64_t count = journal_chunk_sums(head, i, &first);
        assert_int_equal(journal_is_done(journal, i), is_in);
        for (uint64_t j = 0; is_in && j < count; j++) {
            sums[first + j] ^= sums_of(i)[j];
        }
        missing += is_in ? i * i : 0;
        clipped += is_in ? 3 * i + 1 : 0;
    }
    assert_int_equal(journal->missing, missing);
    assert_int_equal(journal->clipped, clipped);
    assert_memory_equal(journal->sums, sums, spans_count(&expected.place) * sizeof *sums);
    journal_destroy(journal);
    journal_head_free(&expected);
}

/* Groups of coarse channels; those that make up no row make no sense. */
static void groups_of_coarse_channels_come_back(void **state)
{
    (void)state;
    static const struct {
        uint32_t group, coarse;
        int makes_sense;
    } cases[] = {{2, 6, 1}, {1, 6, 0}, {6, 6, 0}, {4, 6, 0}, {2, 5, 0}, {2, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct journal_head head = make_head();
        struct journal_head found;
        struct text packed = {0};
        head.chunking.streams = 12;
        head.chunking.group_streams = 4;
        head.chunking.group_coarse = cases[i].group;
        head.chunking.coarse = cases[i].coarse;
        assert_int_equal(journal_head_pack(&head, &packed), STATUS_OK);
        struct unpack in = {.data = packed.data, .length = packed.length};
        assert_int_equal(journal_head_unpack(&in, &found), cases[i].makes_sense);
        if (cases[i].makes_sense) {
            assert_int_equal(found.chunking.group_coarse, 2);
            assert_int_equal(found.chunking.coarse, 6);
            assert_true(chunk_is_same_cut(&found.chunking, &head.chunking));
            assert_int_equal(found.synthesis.backend, BACKEND_AUTO);
        }
        journal_head_free(&found);
        journal_head_free(&head);
        text_free(&packed);
    }
}

/* Rows of which a group makes some channels come back; those that cannot be make no sense. */
static void rows_of_some_channels_come_back(void **state)
{
    (void)state;
    struct journal_head usual = make_head();
    const uint64_t numbers = usual.place.row_bytes / sizeof(float);
    journal_head_free(&usual);
    const struct chunk_row rows[] = {{1, 0, 100, numbers, 2, numbers},
                                     {1, 0, 100, numbers, 0, numbers},
                                     {0, 0, 100, numbers, 2, numbers},
                                     {1, 0, 100, numbers + 1, 2, numbers},
                                     {1, 0, 4 * numbers + 1, numbers, 2, numbers},
                                     {1, 0, UINT64_MAX, numbers, 2, numbers},
                                     {1, 0, 0, numbers, UINT64_MAX, numbers},
                                     {1, 0, 0, numbers, 2, UINT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct journal_head head = make_head();
        struct journal_head found;
        struct text packed = {0};
        head.chunking.streams = 12;
        head.chunking.group_streams = 4;
        head.chunking.group_coarse = 2;
        head.chunking.coarse = 6;
        head.row = rows[i];
        assert_int_equal(journal_head_pack(&head, &packed), STATUS_OK);
        struct unpack in = {.data = packed.data, .length = packed.length};
        assert_int_equal(journal_head_unpack(&in, &found), i == 0);
        assert_memory_equal(&found.row, &rows[i], i == 0 ? sizeof *rows : 0);
        journal_head_free(&found);
        journal_head_free(&head);
        text_free(&packed);
    }
}

/* Programs that know no groups of coarse channels, or none that make some channels of a row, take
 * such a journal for another version's. */
static void groups_of_coarse_channels_are_a_format_of_their_own(void **state)
{
    (void)state;
    static char bytes[MOST_BYTES];
    static const uint32_t formats[] = {21, 22, 23};
    for (uint32_t i = 0; i < 3; i++) {
        struct journal_head head = make_head();
        journal_t *journal = NULL;
        uint32_t format;
        const uint32_t group = i > 0;
        head.chunking.coarse = head.chunking.streams;
        head.chunking.group_coarse = group;
        head.chunking.group_streams = group ? 1 : head.chunking.group_streams;
        head.row = i == 2 ? (struct chunk_row){1, 0, 0, 1, 1, 1} : (struct chunk_row){0};
        assert_int_equal(journal_create(path, &head, &journal), STATUS_OK);
        journal_destroy(journal);
        journal_head_free(&head);
        read_bytes(bytes);
        memcpy(&format, bytes + sizeof(char[8]), sizeof format);
        assert_int_equal(format, formats[i]);
        journal = open_journal(JOURNAL_GOOD);
        assert_int_equal(journal->head.chunking.group_coarse, group);
        journal_destroy(journal);
    }
}

static void spans_of_chunks(void **state)
{
    (void)state;
    struct journal_head head = make_head();
    uint64_t first = 0;
    assert_int_equal(head.place.span_rows, 5);
    /* Rows 0 .. 9, 10 .. 19, and of the last chunk 90 .. 95. */
    assert_int_equal(journal_chunk_sums(&head, 0, &first), 2);
    assert_int_equal(first, 0);
    assert_int_equal(journal_chunk_sums(&head, 3, &first), 2);
    assert_int_equal(first, 2);
    assert_int_equal(journal_chunk_sums(&head, CHUNKS - 1, &first), 2);
    assert_int_equal(first, 18);
    journal_head_free(&head);
}

struct seen {
    uint64_t chunks[ADDED];
    int count;
};

static status_t see(void *context, const struct journal_record *record)
{
    struct seen *seen = context;
    seen->chunks[seen->count++] = record->chunk;
    assert_int_equal(record->missing, record->chunk * record->chunk);
    assert_int_equal(record->clipped, 3 * record->chunk + 1);
    assert_int_equal(record->beside, record->chunk + 7);
    assert_int_equal(record->sums[0], sums_of(record->chunk)[0]);
    return STATUS_OK;
}

static void records_are_handed_on(void **state)
{
    (void)state;
    static const uint64_t expected[] = {3, 0, 19, 7, 12, 1};
    struct seen seen = {.count = 0};
    write_journal();
    journal_t *journal = open_journal(JOURNAL_GOOD);
    assert_int_equal(journal_read(journal, &seen, see), STATUS_OK);
    assert_int_equal(seen.count, DONE);
    assert_memory_equal(seen.chunks, expected, sizeof expected);
    journal_destroy(journal);
}

/* Chunks that are revoked are not done, add nothing to counts and sums, and may be added anew. */
static void records_are_revoked(void **state)
{
    (void)state;
    static const uint64_t left[] = {3, 19, 7, 1};
    static const unsigned char revoked[CHUNKS / 8 + 1] = {1, 1 << 12 % 8, 0}; /* 0, 12 */
    write_journal();
    journal_t *whole = open_journal(JOURNAL_GOOD);
    uint64_t count = spans_count(&whole->head.place);
    for (int turn = 0; turn < 2; turn++) {
        struct seen seen = {.count = 0};
        journal_t *journal = open_journal(JOURNAL_GOOD);
        assert_int_equal(journal->done, DONE - 2 * turn);
        assert_int_equal(journal->dropped, 0);
        assert_int_equal(journal_resume(journal), STATUS_OK);
        assert_int_equal(journal_revoke(journal, revoked), STATUS_OK);
        assert_int_equal(journal->done, DONE - 2);
        assert_false(journal_is_done(journal, 0) || journal_is_done(journal, 12));
        assert_int_equal(journal_read(journal, &seen, see), STATUS_OK);
        assert_int_equal(seen.count, DONE - 2);
        assert_memory_equal(seen.chunks, left, sizeof left);
        assert_int_equal(journal->missing, whole->missing - 12 * 12);
        assert_int_equal(journal->clipped, whole->clipped - 1 - (3 * 12 + 1));
        journal_destroy(journal);
    }
    journal_t *journal = open_journal(JOURNAL_GOOD);
    assert_int_equal(journal_resume(journal), STATUS_OK);
    add(journal, 12);
    add(journal, 0);
    journal_destroy(journal);
    journal = open_journal(JOURNAL_GOOD);
    assert_int_equal(journal->done, DONE);
    assert_int_equal(journal->missing, whole->missing);
    assert_memory_equal(journal->sums, whole->sums, count * sizeof *whole->sums);
    journal_destroy(journal);
    journal_destroy(whole);
}

/* A journal that said that all is there does not any more. */
static void a_complete_one_is_revoked(void **state)
{
    (void)state;
    static const unsigned char revoked[CHUNKS / 8 + 1] = {1 << 5, 0, 0};
    struct journal_head head = make_head();
    journal_t *journal = NULL;
    assert_int_equal(journal_create(path, &head, &journal), STATUS_OK);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        add(journal, i);
    }
    assert_int_equal(journal_complete(journal, 3), STATUS_OK);
    assert_int_equal(journal_revoke(journal, revoked), STATUS_OK);
    assert_false(journal->is_complete);
    journal_destroy(journal);
    journal = open_journal(JOURNAL_GOOD);
    assert_false(journal->is_complete);
    assert_int_equal(journal->done, CHUNKS - 1);
    journal_destroy(journal);
    journal_head_free(&head);
}

/* Cut anywhere: all records before the cut are there, and one can go on. */
static void a_torn_tail_is_dropped(void **state)
{
    (void)state;
    static char whole[MOST_BYTES];
    write_journal();
    size_t size = read_bytes(whole);
    /* Chunks 0 .. 19 have 2 sums each: 7 words beside. */
    size_t record = 9 * sizeof(uint32_t);
    size_t first = size - DONE * record;
    for (size_t cut = first; cut <= size; cut++) {
        write_bytes(whole, cut);
        journal_t *journal = open_journal(JOURNAL_GOOD);
        assert_int_equal(journal->done, (cut - first) / record);
        assert_int_equal(journal->dropped, (cut - first) % record);
        assert_int_equal(journal_resume(journal), STATUS_OK);
        add(journal, 5);
        journal_destroy(journal);
        journal = open_journal(JOURNAL_GOOD);
        assert_int_equal(journal->done, (cut - first) / record + 1);
        assert_int_equal(journal->dropped, 0);
        assert_true(journal_is_done(journal, 5));
        journal_destroy(journal);
    }
    for (size_t cut = 0; cut < first; cut++) {
        write_bytes(whole, cut);
        journal_destroy(open_journal(JOURNAL_OURS));
    }
}

static void a_flipped_bit_is_found(void **state)
{
    (void)state;
    static char whole[MOST_BYTES];
    write_journal();
    size_t size = read_bytes(whole);
    size_t record = 9 * sizeof(uint32_t);
    size_t first = size - DONE * record;
    for (size_t at = 0; at < size; at++) {
        enum journal_state found;
        journal_t *journal = NULL;
        whole[at] = (char)(whole[at] ^ 1 << at % 8);
        write_bytes(whole, size);
        whole[at] = (char)(whole[at] ^ 1 << at % 8);
        assert_int_equal(journal_open(path, &found, &journal), STATUS_OK);
        assert_int_equal(found, at < 8       ? JOURNAL_FOREIGN
                                : at < 12    ? JOURNAL_OTHER
                                : at < first ? JOURNAL_OURS
                                             : JOURNAL_GOOD);
        assert_true(!journal || journal->done == (at - first) / record);
        journal_destroy(journal);
    }
}

/* Records of a journal that was here before, behind a shorter one. */
static void records_of_another_plan_are_none(void **state)
{
    (void)state;
    static char old[MOST_BYTES];
    static char new[MOST_BYTES];
    write_journal();
    size_t old_size = read_bytes(old);
    struct journal_head head = make_head();
    journal_t *journal = NULL;
    head.program[9] = '2';
    assert_int_equal(journal_create(path, &head, &journal), STATUS_OK);
    journal_destroy(journal);
    journal_head_free(&head);
    size_t new_size = read_bytes(new);
    memcpy(new + new_size, old + new_size, old_size - new_size);
    write_bytes(new, old_size);
    journal = open_journal(JOURNAL_GOOD);
    assert_int_equal(journal->done, 0);
    assert_int_equal(journal->dropped, old_size - new_size);
    journal_destroy(journal);
}

/* A record of the chunk after the last one, whole by its CRC, is none. */
enum { WORDS = 7 }; /* of a record but for the CRCs of its spans */
static void a_chunk_behind_the_last_is_none(void **state)
{
    (void)state;
    static char data[MOST_BYTES];
    struct journal_head head = make_head();
    journal_t *journal = NULL;
    assert_int_equal(journal_create(path, &head, &journal), STATUS_OK);
    uint32_t seed = journal->seed;
    journal_destroy(journal);
    size_t size = read_bytes(data);
    for (uint32_t chunk = CHUNKS - 1; chunk <= CHUNKS; chunk++) {
        uint64_t first;
        uint32_t words[64] = {chunk};
        size_t count = WORDS + journal_chunk_sums(&head, chunk, &first);
        assert_in_range(count, 1, 64);
        words[count - 1] = crc_more(seed, words, (count - 1) * sizeof *words);
        memcpy(data + size, words, count * sizeof *words);
        write_bytes(data, size + count * sizeof *words);
        journal = open_journal(JOURNAL_GOOD);
        assert_int_equal(journal->done, chunk < CHUNKS);
        assert_int_equal(journal->dropped, chunk < CHUNKS ? 0 : count * sizeof *words);
        journal_destroy(journal);
    }
    journal_head_free(&head);
}

static void what_is_no_journal(void **state)
{
    (void)state;
    static const char zeros[5000];
    static const char text[] = "precious";
    unlink(path);
    journal_destroy(open_journal(JOURNAL_NONE));
    write_bytes("", 0);
    journal_destroy(open_journal(JOURNAL_OURS));
    write_bytes(zeros, sizeof zeros);
    journal_destroy(open_journal(JOURNAL_OURS));
    write_bytes(text, sizeof text);
    journal_destroy(open_journal(JOURNAL_FOREIGN));
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    journal_destroy(open_journal(JOURNAL_FOREIGN));
    unlink(path);
}

static void complete(void **state)
{
    (void)state;
    struct journal_head head = make_head();
    journal_t *journal = NULL;
    assert_int_equal(journal_create(path, &head, &journal), STATUS_OK);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        add(journal, i);
    }
    journal_destroy(journal);
    journal = open_journal(JOURNAL_GOOD);
    assert_int_equal(journal->done, CHUNKS);
    assert_false(journal->is_complete);
    assert_int_equal(journal_resume(journal), STATUS_OK);
    assert_int_equal(journal_complete(journal, 3), STATUS_OK);
    journal_destroy(journal);
    journal = open_journal(JOURNAL_GOOD);
    assert_true(journal->is_complete);
    journal_destroy(journal);
    journal_head_free(&head);
}

/* Fails naming what differs, and passes over what is not known yet. */
static void differs(struct journal_head *now, char **text, const char *words, const char *pattern)
{
    struct journal_head begun = make_head();
    char *before = *text;
    *text = (char *)(uintptr_t)words;
    report_clear();
    assert_int_equal(journal_head_compare("x.journal", &begun, now), STATUS_USAGE);
    if (!strstr(report_cause(), pattern)) {
        print_error("\"%s\" lacks \"%s\"\n", report_cause(), pattern);
    }
    assert_non_null(strstr(report_cause(), pattern));
    report_clear();
    *text = NULL;
    assert_int_equal(journal_head_compare("x.journal", &begun, now), STATUS_OK);
    *text = before;
    journal_head_free(&begun);
}

static void another_plan_is_named(void **state)
{
    (void)state;
    struct journal_head begun = make_head();
    struct journal_head now = make_head();
    assert_int_equal(journal_head_compare("x.journal", &begun, &now), STATUS_OK);
    differs(&now, &now.program, "voltmill 2",
            "x.journal was begun with another plan: version: voltmill 1 then, voltmill 2 now");
    differs(&now, &now.job, "channelise:\n  channels: 64\n  taps: 16\n",
            "job: taps: 8 then, taps: 16 now; --restart begins anew");
    differs(&now, &now.job, "channelise:\n  channels: 64\n", "job: taps: 8 then, nothing now");
    differs(&now, &now.job, "channelise:\n  channels: 64\n  window: rect\n  taps: 8\n",
            "job: nothing then, window: rect now");
    differs(&now, &now.job, "channelise:\n  taps: 8\n", "job: channels: 64 then, nothing now");
    differs(&now, &now.inputs, "a.h5: 10 bytes, changed 2024-01-01T00:00:00\n",
            "input: b.h5: 20 bytes, changed 2024-01-01T00:00:01 then, nothing now");
    differs(&now, &now.coefficients, "CRC-32 12345679", "coefficients: CRC-32 12345678 then");
    differs(&now, &now.arithmetic, "cpu, avx512", "arithmetic: cpu, avx2 then, cpu, avx512 now");
    differs(&now, &now.job, "channelise:\n    channels: 64\n  taps: 8\n", "channels: 64 then");
    now.place.rows = 95;
    assert_int_equal(journal_head_compare("x.journal", &begun, &now), STATUS_USAGE);
    report_clear();
    journal_head_free(&begun);
    journal_head_free(&now);
}

/* Older programs wrote numbers as their jobs did. */
static void numbers_have_one_value(void **state)
{
    static const struct {
        const char *then, *now;
        status_t st;
    } pairs[] = {
        {"    rate: 1e6\n    - 2.50\n", "    rate: 1000000\n    - 2.5\n", STATUS_OK},
        {"    rate: 1e6\n", "    rate: 1000001\n", STATUS_USAGE},
        {"    rate: 1e6\n", "    band: 1000000\n", STATUS_USAGE},
        {"    station: 01\n", "    station: 1\n", STATUS_USAGE},
        {"    rate: 1e6x\n", "    rate: 1000000\n", STATUS_USAGE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct journal_head begun = {.job = (char *)(uintptr_t)pairs[i].then};
        struct journal_head now = {.job = (char *)(uintptr_t)pairs[i].now};
        report_clear();
        assert_int_equal(journal_head_compare("x.journal", &begun, &now), pairs[i].st);
    }
    struct journal_head begun = {.coefficients = (char[]){"CRC-32 00001e02"}};
    struct journal_head now = {.coefficients = (char[]){"CRC-32 100"}};
    assert_int_equal(journal_head_compare("x.journal", &begun, &now), STATUS_USAGE);
    report_clear();
}

/* Whole lines are compared, and of long ones that part is shown where they differ. */
static void long_lines_count_to_their_end(void **state)
{
    (void)state;
    enum { LONG = 5000 };
    static char lines[2][LONG + 32];
    for (int i = 0; i < 2; i++) {
        memset(lines[i], 'a', LONG);
        snprintf(lines[i] + LONG, 32, "/obs.h5: 10 bytes, at %c\n", '1' + i);
    }
    struct journal_head begun = {.inputs = lines[0]};
    struct journal_head now = {.inputs = lines[0]};
    assert_int_equal(journal_head_compare("x.journal", &begun, &now), STATUS_OK);
    now.inputs = lines[1];
    assert_int_equal(journal_head_compare("x.journal", &begun, &now), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), "a/obs.h5: 10 bytes, at 1 then, ...a"));
    assert_non_null(strstr(report_cause(), "a/obs.h5: 10 bytes, at 2 now; --restart"));
    assert_true(strlen(report_cause()) < 500);
    report_clear();
}

/* Cut heads, and numbers that would be divided by or allocated for, are refused. */
static void heads_are_not_trusted(void **state)
{
    (void)state;
    struct journal_head head = make_head();
    struct journal_head out;
    struct text packed = {0};
    assert_int_equal(journal_head_pack(&head, &packed), STATUS_OK);
    for (size_t cut = 0; cut <= packed.length; cut++) {
        struct unpack in = {.data = packed.data, .length = cut};
        assert_int_equal(journal_head_unpack(&in, &out), cut == packed.length);
        journal_head_free(&out);
    }
    uint64_t *numbers[] = {&head.integrate,        &head.place.rows,
                           &head.place.row_bytes,  &head.place.span_rows,
                           &head.chunking.spectra, &head.chunking.chunk_spectra};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        static const uint64_t wrong[] = {0, UINT64_C(1) << 63, UINT64_MAX, 7};
        for (int j = 0; j < 4; j++) {
            uint64_t before = *numbers[i];
            *numbers[i] = wrong[j];
            packed.length = 0;
            assert_int_equal(journal_head_pack(&head, &packed), STATUS_OK);
            struct unpack in = {.data = packed.data, .length = packed.length};
            assert_false(journal_head_unpack(&in, &out));
            journal_head_free(&out);
            *numbers[i] = before;
        }
    }
    text_free(&packed);
    journal_head_free(&head);
}

static int set_up(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_comes_back),
        cmocka_unit_test(groups_of_coarse_channels_come_back),
        cmocka_unit_test(rows_of_some_channels_come_back),
        cmocka_unit_test(groups_of_coarse_channels_are_a_format_of_their_own),
        cmocka_unit_test(spans_of_chunks),
        cmocka_unit_test(records_are_handed_on),
        cmocka_unit_test(records_are_revoked),
        cmocka_unit_test(a_complete_one_is_revoked),
        cmocka_unit_test(a_torn_tail_is_dropped),
        cmocka_unit_test(a_flipped_bit_is_found),
        cmocka_unit_test(records_of_another_plan_are_none),
        cmocka_unit_test(a_chunk_behind_the_last_is_none),
        cmocka_unit_test(what_is_no_journal),
        cmocka_unit_test(complete),
        cmocka_unit_test(another_plan_is_named),
        cmocka_unit_test(numbers_have_one_value),
        cmocka_unit_test(long_lines_count_to_their_end),
        cmocka_unit_test(heads_are_not_trusted),
    };
    return cmocka_run_group_tests_name("journal", tests, set_up, tear_down);
}
