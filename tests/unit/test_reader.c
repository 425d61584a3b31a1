/* Files that are not what they were when the job began. */
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 64, POLS = 3, CHUNK = 8 /* samples: they come through HDF5 */ };

static char path[] = "/tmp/voltmill-test-reader-XXXXXX";

static struct archive *open_axes(const char *axes)
{
    char text[512];
    struct job *job = NULL;
    struct archive *archive = NULL;
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: '%s', sample_rate_hz: 1e6}}\n"
             "channelise: {channels: 2}\nproducts: [{kind: spectra, file: out.h5}]\n",
             path, axes);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
    assert_int_equal(archive_open(job, &archive), STATUS_OK);
    job_destroy(job);
    return archive;
}

static struct archive *open_archive(void)
{
    return open_axes("time,pol");
}

/* Reads STEPS samples of all POLS streams of a file that was replaced in between; a fence behind
 * the slab must stay. */
static void read_replaced(hsize_t steps, hsize_t pols, int is_rewritten, status_t expected)
{
    enum { BYTES = STEPS * POLS, FENCE = 64 };
    struct slab *slab = NULL;
    reader_t *reader = NULL;
    unsigned char out[BYTES + FENCE];
    small_archive_write(path, STEPS, POLS, CHUNK);
    struct archive *archive = open_archive();
    if (is_rewritten) {
        small_archive_write(path, steps, pols, CHUNK);
    }
    assert_int_equal(slab_create(archive, stream_range(0, archive->nstreams), &slab), STATUS_OK);
    assert_int_equal(slab_bytes(slab, STEPS), BYTES);
    assert_int_equal(reader_create(archive, 1 << 20, 1, &reader), STATUS_OK);
    memset(out, 0x5a, sizeof out);
    assert_int_equal(reader_read(reader, slab, 0, STEPS, out, NULL), expected);
    if (expected != STATUS_OK) {
        assert_non_null(strstr(report_cause(), "while this job ran"));
        assert_false(reader_is_unreadable(reader));
        report_clear();
    }
    for (int i = BYTES; i < BYTES + FENCE; i++) {
        assert_int_equal(out[i], 0x5a);
    }
    reader_destroy(reader);
    slab_destroy(slab);
    archive_destroy(archive);
}

static void unchanged(void **state)
{
    (void)state;
    read_replaced(STEPS, POLS, 0, STATUS_OK);
}

static void changed(void **state)
{
    (void)state;
    read_replaced(STEPS, POLS, 1, STATUS_DATA); /* the same, but who knows */
    read_replaced(STEPS * 2, POLS, 1, STATUS_DATA);
    read_replaced(STEPS / 2, POLS, 1, STATUS_DATA);
    read_replaced(STEPS, POLS + 1, 1, STATUS_DATA);
    read_replaced(STEPS, POLS - 1, 1, STATUS_DATA);
}

/* Whole time steps and back: every stream stays where it is in the file. */
static void steps_are_kept(void **state)
{
    enum { ALL = 8, FIRST = 2, TAKEN = 2 };
    struct slab *slab = NULL;
    size_t re[TAKEN];
    size_t im[TAKEN];
    (void)state;
    small_archive_write(path, STEPS, ALL, CHUNK);
    struct archive *archive = open_archive();
    assert_int_equal(slab_create(archive, stream_range(FIRST, TAKEN), &slab), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        const int is_whole = i == 1 || i == 2; /* a second time, too */
        slab_keep_steps(slab, is_whole);
        slab_offsets(slab, STEPS, re, im);
        assert_int_equal(slab->width, is_whole ? ALL : TAKEN);
        assert_int_equal(slab->low_byte, is_whole ? 0 : FIRST);
        assert_int_equal(slab->low_byte + re[0], FIRST);
        assert_int_equal(slab->low_byte + re[1], FIRST + 1);
    }
    slab_destroy(slab);
    archive_destroy(archive);
}

/* Streams one after the other are shown in strips, as they are read; but for short strips. */
static void streams_are_shown_where_they_are(void **state)
{
    enum { SAMPLES = 400000, FIRST = 12345, COUNT = 200000, SHORT = 60000 };
    struct slab *slab = NULL;
    reader_t *reader = NULL;
    struct reader_mapped mapped;
    (void)state;
    small_archive_write(path, POLS, SAMPLES, 0);
    char *out = malloc((size_t)POLS * SAMPLES);
    assert_non_null(out);
    for (int i = 0; i < POLS * SAMPLES; i++) {
        out[i] = (char)(i * 7 + i / 1000);
    }
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_CHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) >= 0);
    h5_close(dataset);
    h5_close(file);
    struct archive *archive = open_axes("pol,time");
    assert_int_equal(reader_create(archive, 1 << 20, 1, &reader), STATUS_OK);
    for (uint32_t from = 0; from + 2 <= POLS; from++) {
        assert_int_equal(slab_create(archive, stream_range(from, 2), &slab), STATUS_OK);
        assert_int_equal(reader_read(reader, slab, FIRST, COUNT, out, NULL), STATUS_OK);
        assert_int_equal(reader_map(reader, slab, FIRST, COUNT, &mapped), STATUS_OK);
        if (!mapped.mapping) { /* on a file system where nothing is mapped */
            slab_destroy(slab);
            continue;
        }
        assert_int_equal(mapped.count, SAMPLES);
        for (size_t i = 0; i < 2; i++) {
            assert_memory_equal((const char *)mapped.data + i * SAMPLES, out + i * COUNT, COUNT);
        }
        assert_int_equal(reader_unmap(&mapped), STATUS_OK);
        assert_int_equal(reader_map(reader, slab, FIRST, SHORT, &mapped), STATUS_OK);
        assert_null(mapped.mapping);
        slab_destroy(slab);
    }
    /* Two that are not neighbours, and samples beyond the last one. */
    const struct stream_set apart = {0, 2, 1, 2};
    assert_int_equal(slab_create(archive, apart, &slab), STATUS_OK);
    assert_int_equal(reader_map(reader, slab, FIRST, COUNT, &mapped), STATUS_OK);
    assert_null(mapped.mapping);
    slab_destroy(slab);
    free(out);
    reader_destroy(reader);
    archive_destroy(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unchanged), cmocka_unit_test(changed),
                                       cmocka_unit_test(steps_are_kept),
                                       cmocka_unit_test(streams_are_shown_where_they_are)};
    int fd = mkstemp(path);
    if (fd < 0) {
        return 1;
    }
    close(fd);
    h5_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
