/* RANKS 1 2 3 5 */
/* The driver gives out every chunk exactly once, and ends on all ranks when one fails. */
#include "run/agree.h"
#include "run/driver.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNKS = 101 };

static int rank;
static int size;

struct tally {
    uint64_t seen[CHUNKS];
    uint64_t fails_at; /* chunk whose worker fails; CHUNKS: none */
};

static status_t count_chunk(void *context, driver_t *driver, uint64_t chunk)
{
    struct tally *tally = context;
    driver_serve(driver);
    tally->seen[chunk]++;
    if (chunk == tally->fails_at) {
        return report_fail(STATUS_NO_SPACE, "chunk %d failed", (int)chunk);
    }
    return STATUS_OK;
}

static void every_chunk_once(void **state)
{
    (void)state;
    struct tally tally = {.fails_at = CHUNKS};
    struct driver_work work = {CHUNKS, &tally, count_chunk, NULL, NULL};
    uint64_t seen[CHUNKS];
    assert_int_equal(driver_run_all(MPI_COMM_WORLD, &work, NULL), STATUS_OK);
    MPI_Allreduce(tally.seen, seen, CHUNKS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(seen[i], 1);
    }
}

static void no_chunks_at_all(void **state)
{
    (void)state;
    struct tally tally = {.fails_at = CHUNKS};
    struct driver_work work = {0, &tally, count_chunk, NULL, NULL};
    assert_int_equal(driver_run_all(MPI_COMM_WORLD, &work, NULL), STATUS_OK);
}

/* All get the status; rank 0 has the message, with the rank that it came from. */
static void one_fails_all_end(void **state)
{
    (void)state;
    static const uint64_t points[] = {0, 1, 50, CHUNKS - 1};
    for (int i = 0; i < 4; i++) {
        struct tally tally = {.fails_at = points[i]};
        struct driver_work work = {CHUNKS, &tally, count_chunk, NULL, NULL};
        char expected[64];
        char with_rank[80];
        report_clear();
        assert_int_equal(driver_run_all(MPI_COMM_WORLD, &work, NULL), STATUS_NO_SPACE);
        int mine = tally.seen[points[i]] ? rank : -1;
        int failing = -1;
        MPI_Allreduce(&mine, &failing, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        snprintf(expected, sizeof expected, "chunk %d failed", (int)points[i]);
        snprintf(with_rank, sizeof with_rank, "%s (rank %d)", expected, failing);
        if (rank == 0) {
            assert_string_equal(report_cause(), failing == 0 ? expected : with_rank);
        }
    }
    report_clear();
}

static void ranks_agree_on_the_lowest_failure(void **state)
{
    (void)state;
    assert_int_equal(agree_all(MPI_COMM_WORLD, STATUS_OK), STATUS_OK);
    int failing = size - 1;
    status_t st = rank == failing ? report_fail(STATUS_DEVICE, "no memory") : STATUS_OK;
    assert_int_equal(agree_all(MPI_COMM_WORLD, st), STATUS_DEVICE);
    if (rank == 0) {
        char expected[64];
        snprintf(expected, sizeof expected, size > 1 ? "no memory (rank %d)" : "no memory",
                 failing);
        assert_string_equal(report_cause(), expected);
    }
    report_clear();
}

static void texts_are_shared(void **state)
{
    (void)state;
    struct text text = {0};
    if (rank == 0) {
        assert_int_equal(text_add(&text, "seven"), STATUS_OK);
    }
    assert_int_equal(share_text_all(MPI_COMM_WORLD, &text), STATUS_OK);
    assert_int_equal(text.length, 5);
    assert_string_equal(text.data, "seven");
    text_free(&text);
    assert_int_equal(share_text_all(MPI_COMM_WORLD, &text), STATUS_OK);
    assert_int_equal(text.length, 0);
    text_free(&text);
    uint64_t sum = sum_u64_all(MPI_COMM_WORLD, (uint64_t)rank + 1);
    if (rank == 0) {
        assert_int_equal(sum, size * (size + 1) / 2);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_once),  cmocka_unit_test(no_chunks_at_all),
        cmocka_unit_test(one_fails_all_end), cmocka_unit_test(ranks_agree_on_the_lowest_failure),
        cmocka_unit_test(texts_are_shared),
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = cmocka_run_group_tests_name("driver", tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
