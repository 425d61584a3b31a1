/* Rows of few bits stay where they are while blocks that complete none are finished: another thread
 * still puts them into the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "input/archive.h"
#include "input/open.h"
#include "pipeline/finish/finish.h"
#include "small_archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLS = 2, CHANNELS = 64, SCALED = 4 /* rows */, BLOCK = SCALED / 2, THREADS = 8 };

static char path[] = "/tmp/voltmill-test-finish-XXXXXX";

/* Finishes BLOCK rows from `first` on; returns what came of them. */
static struct finish_rows finish_block(finish_t *finish, const struct chunk *chunk, uint64_t first)
{
    float data[BLOCK * POLS * CHANNELS];
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        data[i] = (float)((i * 31 + first * first) % 97);
    }
    struct finish_rows rows = {.chunk = chunk,
                               .streams = POLS,
                               .is_first = first == 0,
                               .first = first,
                               .count = BLOCK,
                               .columns = POLS,
                               .channels = CHANNELS,
                               .data = data};
    assert_int_equal(finish_run(finish, &rows), STATUS_OK);
    return rows;
}

static void rows_stay_until_the_next_are_there(void **state)
{
    struct job *job = NULL;
    struct archive *archive = NULL;
    struct channelise_plan *work = NULL;
    finish_t *finish = NULL;
    char text[512];
    char kept[SCALED * POLS * CHANNELS];
    const void *last = NULL;
    (void)state;
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6}}\n"
             "channelise: {channels: %d, taps: 8}\n"
             "products: [{kind: power, file: a.h5, bits: 8, scale_rows: %d}]\n",
             path, CHANNELS, SCALED);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
    assert_int_equal(archive_open(job, &archive), STATUS_OK);
    assert_int_equal(channelise_plan_create(job, archive, BACKEND_CPU, THREADS, NULL, &work),
                     STATUS_OK);
    assert_int_equal(finish_create(work, 0, BLOCK, NULL, &finish), STATUS_OK);
    const struct chunk chunk = chunk_at(&work->chunking, 0);
    assert_int_equal(finish_block(finish, &chunk, 0).count, 0);
    for (uint64_t first = BLOCK; first < 8 * BLOCK; first += 2 * BLOCK) {
        const struct finish_rows made = finish_block(finish, &chunk, first);
        assert_int_equal(made.count, SCALED);
        if (first > BLOCK) {
            assert_memory_equal(last, kept, sizeof kept);
            assert_memory_not_equal(made.data, kept, sizeof kept);
        }
        last = made.data;
        memcpy(kept, last, sizeof kept);
        assert_int_equal(finish_block(finish, &chunk, first + BLOCK).count, 0);
    }
    finish_destroy(finish);
    channelise_plan_destroy(work);
    archive_destroy(archive);
    job_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_stay_until_the_next_are_there)};
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) {
        return 1;
    }
    small_archive_write(path, 1 << 16, POLS, 0);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
