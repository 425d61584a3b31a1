/* Samples read in pieces by several threads, one range after the other: the bytes that plain reads
 * give; pieces that cannot be read, and what is not fit for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "input/open.h"
#include "input/read/reader.h"
#include "job/job.h"
#include "small_archive.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLS = 2, STEPS = 8 << 20, COUNT = 3 << 20, THREADS = 5, PIECE = 1 << 18 };

static char path[] = "/tmp/voltmill-test-reader-ingest-XXXXXX";
static char second[sizeof path + 8]; /* the file behind it, where there is one */

/* Where pieces of one range go. */
struct sink {
    unsigned char *room[THREADS - 1];
    unsigned char *out; /* [COUNT][POLS] */
    atomic_uint rooms;
    unsigned fails_at;    /* the so-many-th room is refused; 0: none */
    atomic_int is_closed; /* there is no room yet */
};

static status_t sink_room(void *context, uint32_t thread, void **out)
{
    struct sink *sink = context;
    while (atomic_load(&sink->is_closed)) {
        usleep(1000);
    }
    if (atomic_fetch_add(&sink->rooms, 1) + 1 == sink->fails_at) {
        return report_fail(STATUS_DATA, "no room");
    }
    *out = sink->room[thread];
    return STATUS_OK;
}

static void sink_put(void *context, uint32_t thread, uint64_t at, uint64_t bytes)
{
    struct sink *sink = context;
    memcpy(sink->out + at, sink->room[thread], bytes);
}

static struct sink *sink_make(unsigned fails_at)
{
    struct sink *sink = calloc(1, sizeof *sink);
    assert_non_null(sink);
    for (int i = 0; i < THREADS - 1; i++) {
        sink->room[i] = malloc(PIECE);
        assert_non_null(sink->room[i]);
    }
    sink->out = calloc(COUNT, POLS);
    assert_non_null(sink->out);
    sink->fails_at = fails_at;
    return sink;
}

static void sink_free(struct sink *sink)
{
    for (int i = 0; i < THREADS - 1; i++) {
        free(sink->room[i]);
    }
    free(sink->out);
    free(sink);
}

static struct reader_pieces sink_pieces(struct sink *sink)
{
    return (struct reader_pieces){.context = sink,
                                  .piece = PIECE,
                                  .threads = THREADS - 1,
                                  .room = sink_room,
                                  .put = sink_put};
}

static status_t tend(void *context)
{
    ++*(unsigned *)context;
    return STATUS_OK;
}

static status_t tend_badly(void *context)
{
    struct sink *const *sinks = context;
    atomic_store(&sinks[0]->is_closed, 0);
    atomic_store(&sinks[1]->is_closed, 0);
    return report_fail(STATUS_DEVICE, "a carrier that fails");
}

struct fixture {
    struct archive *archive;
    struct slab *slab;
    reader_t *reader;
};

static void write_random(const char *name, unsigned seed)
{
    unsigned state = seed;
    hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
    off_t at = (off_t)H5Dget_offset(dataset);
    unsigned *numbers = malloc((size_t)STEPS * POLS);
    int fd = open(name, O_WRONLY);
    assert_non_null(numbers);
    for (size_t i = 0; i < (size_t)STEPS * POLS / sizeof *numbers; i++) {
        numbers[i] = state = state * 1664525U + 1013904223U;
    }
    h5_close(dataset);
    h5_close(file);
    assert_int_equal(pwrite(fd, numbers, (size_t)STEPS * POLS, at), STEPS * POLS);
    close(fd);
    free(numbers);
}

/* One or two files in a row, of random bytes; `chunk` as of small_archive_write(). `axes`: also
 * "pol,time", blocks of samples. */
static struct fixture fixture_open_axes(hsize_t chunk, uint32_t threads, int files,
                                        const char *axes)
{
    struct fixture f = {.archive = NULL};
    struct job *job = NULL;
    char text[512];
    const char *const names[] = {path, second};
    for (int i = 0; i < files; i++) {
        int is_turned = strcmp(axes, "pol,time") == 0;
        small_archive_write(names[i], is_turned ? POLS : STEPS, is_turned ? STEPS : POLS, chunk);
        if (chunk == 0) {
            write_random(names[i], (unsigned)i + 1);
        }
    }
    snprintf(text, sizeof text,
             "input: {files: [%s%s%s], layout: {dataset: /x, axes: '%s', sample_rate_hz: 1e6}}\n"
             "channelise: {channels: 2}\nproducts: [{kind: spectra, file: out.h5}]\n",
             path, files > 1 ? ", " : "", files > 1 ? second : "", axes);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
    assert_int_equal(archive_open(job, &f.archive), STATUS_OK);
    job_destroy(job);
    assert_int_equal(slab_create(f.archive, stream_range(0, f.archive->nstreams), &f.slab),
                     STATUS_OK);
    assert_int_equal(reader_create(f.archive, 1 << 20, threads, &f.reader), STATUS_OK);
    return f;
}

static struct fixture fixture_open_files(hsize_t chunk, uint32_t threads, int files)
{
    return fixture_open_axes(chunk, threads, files, "time,pol");
}

static struct fixture fixture_open(hsize_t chunk, uint32_t threads)
{
    return fixture_open_files(chunk, threads, 1);
}

static void fixture_close(struct fixture *f)
{
    reader_destroy(f->reader);
    slab_destroy(f->slab);
    archive_destroy(f->archive);
}

static void assert_range(struct fixture *f, const struct sink *sink, uint64_t first)
{
    unsigned char *expected = malloc((size_t)COUNT * POLS);
    assert_non_null(expected);
    assert_int_equal(reader_read(f->reader, f->slab, first, COUNT, expected, NULL), STATUS_OK);
    assert_memory_equal(sink->out, expected, (size_t)COUNT * POLS);
    free(expected);
}

static int begin(struct fixture *f, uint64_t first, uint64_t count, struct sink *sink)
{
    int begun = -1;
    struct reader_pieces pieces = sink_pieces(sink);
    pieces.all = count;
    assert_int_equal(reader_ingest_begin(f->reader, f->slab, first, count, &pieces, &begun),
                     STATUS_OK);
    return begun;
}

/* A tend() that begins another range as soon as it can, as pipelines do. */
struct ahead {
    struct fixture *f;
    uint64_t first;
    struct sink *sink, *opened; /* `opened` may be filled from then on */
    int is_begun, has_begun;
};

static status_t tend_ahead(void *context)
{
    struct ahead *ahead = context;
    if (!ahead->has_begun) {
        ahead->has_begun = 1;
        ahead->is_begun = begin(ahead->f, ahead->first, COUNT, ahead->sink);
        atomic_store(&ahead->opened->is_closed, 0);
    }
    return STATUS_OK;
}

static void one_behind_the_other(void **state)
{
    static const uint64_t firsts[] = {17, 1000001, STEPS - COUNT};
    enum { RANGES = sizeof firsts / sizeof *firsts };
    struct fixture f = fixture_open(0, THREADS);
    struct sink *sinks[RANGES];
    unsigned tended = 0;
    int done = 0;
    (void)state;
    for (int i = 0; i < RANGES; i++) {
        sinks[i] = sink_make(0);
    }
    assert_true(begin(&f, firsts[0], COUNT, sinks[0]));
    assert_true(begin(&f, firsts[1], COUNT, sinks[1]));
    assert_false(begin(&f, firsts[2], COUNT, sinks[2])); /* two are under way */
    assert_int_equal(reader_ingest_end(f.reader, tend, &tended, &done), STATUS_OK);
    assert_true(done);
    assert_true(begin(&f, firsts[2], COUNT, sinks[2]));
    for (int i = 1; i < RANGES; i++) {
        assert_int_equal(reader_ingest_end(f.reader, tend, &tended, &done), STATUS_OK);
        assert_true(done);
    }
    for (int i = 0; i < RANGES; i++) {
        assert_range(&f, sinks[i], firsts[i]);
        sink_free(sinks[i]);
    }
    fixture_close(&f);
}

/* The first range lacks a piece: the second has ended, too, and both can be read as ever. */
static void piece_that_fails(void **state)
{
    struct fixture f = fixture_open(0, THREADS);
    struct sink *bad = sink_make(5);
    struct sink *good = sink_make(0);
    unsigned tended = 0;
    int done = 1;
    (void)state;
    assert_true(begin(&f, 0, COUNT, bad));
    assert_true(begin(&f, COUNT, COUNT, good));
    assert_int_equal(reader_ingest_end(f.reader, tend, &tended, &done), STATUS_OK);
    assert_false(done);
    assert_string_equal(report_cause(), "");
    unsigned rooms = atomic_load(&good->rooms);
    assert_range(&f, good, COUNT);
    assert_int_equal(reader_ingest_end(f.reader, tend, &tended, &done), STATUS_OK);
    assert_true(done);
    assert_int_equal(atomic_load(&good->rooms), rooms);
    sink_free(bad);
    sink_free(good);
    fixture_close(&f);
}

/* As pipelines do it: the second begins while the first is tended. */
static void piece_that_fails_under_another(void **state)
{
    struct fixture f = fixture_open(0, THREADS);
    struct sink *bad = sink_make(5);
    struct sink *good = sink_make(0);
    struct ahead ahead = {.f = &f, .first = COUNT, .sink = good, .opened = bad};
    int done = 1;
    (void)state;
    atomic_store(&bad->is_closed, 1);
    assert_true(begin(&f, 0, COUNT, bad));
    assert_int_equal(reader_ingest_end(f.reader, tend_ahead, &ahead, &done), STATUS_OK);
    assert_true(ahead.is_begun);
    assert_false(done);
    unsigned rooms = atomic_load(&good->rooms);
    assert_true(rooms > 0);
    assert_range(&f, good, COUNT); /* all of it was put */
    assert_int_equal(reader_ingest_end(f.reader, tend_ahead, &ahead, &done), STATUS_OK);
    assert_true(done);
    assert_int_equal(atomic_load(&good->rooms), rooms);
    sink_free(bad);
    sink_free(good);
    fixture_close(&f);
}

/* A range of another file waits: the first one's is open. */
static void another_file(void **state)
{
    struct fixture f = fixture_open_files(0, THREADS, 2);
    struct sink *sinks[] = {sink_make(0), sink_make(0)};
    struct ahead ahead = {.f = &f, .first = STEPS + 5, .sink = sinks[1], .opened = sinks[0]};
    int done = 0;
    (void)state;
    atomic_store(&sinks[0]->is_closed, 1);
    assert_true(begin(&f, 7, COUNT, sinks[0]));
    assert_int_equal(reader_ingest_end(f.reader, tend_ahead, &ahead, &done), STATUS_OK);
    assert_true(done);
    assert_true(ahead.has_begun);
    assert_false(ahead.is_begun);
    assert_range(&f, sinks[0], 7);
    assert_true(begin(&f, STEPS + 5, COUNT, sinks[1]));
    assert_int_equal(reader_ingest_end(f.reader, tend_ahead, &ahead, &done), STATUS_OK);
    assert_true(done);
    assert_range(&f, sinks[1], STEPS + 5);
    sink_free(sinks[0]);
    sink_free(sinks[1]);
    fixture_close(&f);
    unlink(second);
}

/* A range in two files comes of one after the other. */
static void across_files(void **state)
{
    static const char *const axes[] = {"time,pol", "pol,time"};
    static const uint64_t behind[] = {1, COUNT / 3}; /* of the range, in the second file */
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fixture f = fixture_open_axes(0, THREADS, 2, axes[i / 2]);
        struct sink *sink = sink_make(0);
        struct reader_pieces pieces = sink_pieces(sink);
        const uint64_t first = STEPS + behind[i % 2] - COUNT;
        unsigned tended = 0;
        assert_true(reader_ingests_all(f.archive, f.slab));
        pieces.all = COUNT;
        for (uint64_t part = 0; pieces.skip < COUNT; pieces.skip += part) {
            int begun = 0;
            int done = 0;
            part = reader_ingest_most(f.archive, f.slab, first + pieces.skip, COUNT - pieces.skip);
            assert_int_equal(part, pieces.skip == 0 ? COUNT - behind[i % 2] : behind[i % 2]);
            assert_int_equal(
                reader_ingest_begin(f.reader, f.slab, first + pieces.skip, part, &pieces, &begun),
                STATUS_OK);
            assert_true(begun);
            assert_int_equal(reader_ingest_end(f.reader, tend, &tended, &done), STATUS_OK);
            assert_true(done);
        }
        assert_range(&f, sink, first);
        sink_free(sink);
        fixture_close(&f);
        unlink(second);
    }
}

/* Blocks of each polarisation lie apart in the file. */
static void blocks_apart(void **state)
{
    struct fixture f = fixture_open_axes(0, THREADS, 1, "pol,time");
    struct sink *sink = sink_make(0);
    unsigned tended = 0;
    int done = 0;
    (void)state;
    assert_int_equal(f.slab->nblocks, POLS);
    assert_true(reader_can_ingest(f.archive, f.slab));
    assert_true(begin(&f, 12345, COUNT, sink));
    assert_int_equal(reader_ingest_end(f.reader, tend, &tended, &done), STATUS_OK);
    assert_true(done);
    assert_range(&f, sink, 12345);
    sink_free(sink);
    fixture_close(&f);
}

static void carrier_that_fails(void **state)
{
    struct fixture f = fixture_open(0, THREADS);
    struct sink *sinks[] = {sink_make(0), sink_make(0)};
    int done = 1;
    (void)state;
    atomic_store(&sinks[0]->is_closed, 1);
    atomic_store(&sinks[1]->is_closed, 1);
    assert_true(begin(&f, 0, COUNT, sinks[0]));
    assert_true(begin(&f, COUNT, COUNT, sinks[1]));
    assert_int_equal(reader_ingest_end(f.reader, tend_badly, sinks, &done), STATUS_DEVICE);
    assert_false(done);
    report_clear();
    fixture_close(&f); /* the sinks are no longer used */
    sink_free(sinks[0]);
    sink_free(sinks[1]);
}

static void what_is_not_fit(void **state)
{
    struct sink *sink = sink_make(0);
    struct fixture f = fixture_open(0, THREADS);
    (void)state;
    struct reader_pieces narrow = sink_pieces(sink);
    int begun = 1;
    narrow.piece = POLS - 1; /* no time step fits a piece */
    assert_int_equal(reader_ingest_begin(f.reader, f.slab, 0, COUNT, &narrow, &begun), STATUS_OK);
    assert_false(begun);
    assert_int_equal(reader_can_ingest(f.archive, f.slab), 1);
    fixture_close(&f);
    f = fixture_open(0, 1); /* only this thread */
    assert_false(begin(&f, 0, COUNT, sink));
    fixture_close(&f);
    f = fixture_open(1 << 16, THREADS); /* in chunks */
    assert_false(begin(&f, 0, COUNT, sink));
    assert_int_equal(reader_can_ingest(f.archive, f.slab), 0);
    assert_int_equal(reader_ingests_all(f.archive, f.slab), 0);
    fixture_close(&f);
    assert_int_equal(atomic_load(&sink->rooms), 0);
    sink_free(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_behind_the_other), cmocka_unit_test(blocks_apart),
        cmocka_unit_test(piece_that_fails),     cmocka_unit_test(piece_that_fails_under_another),
        cmocka_unit_test(another_file),         cmocka_unit_test(across_files),
        cmocka_unit_test(carrier_that_fails),   cmocka_unit_test(what_is_not_fit)};
    int fd = mkstemp(path);
    if (fd < 0) {
        return 1;
    }
    close(fd);
    snprintf(second, sizeof second, "%s-2", path);
    h5_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
