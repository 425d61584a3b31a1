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

static struct archive *open_archive(void)
{
    char text[512];
    struct job *job = NULL;
    struct archive *archive = NULL;
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6}}\n"
             "channelise: {channels: 2}\nproducts: [{kind: spectra, file: out.h5}]\n",
             path);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
    assert_int_equal(archive_open(job, &archive), STATUS_OK);
    job_destroy(job);
    return archive;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unchanged), cmocka_unit_test(changed),
                                       cmocka_unit_test(steps_are_kept)};
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
