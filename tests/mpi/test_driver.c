/* RANKS 1 2 3 5 */
/* The driver gives out every chunk exactly once, and ends on all ranks when one fails. */
#include "ranks/agree.h"
#include "ranks/driver.h"
#include "ranks/stop.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    struct driver_work work = {.chunks = CHUNKS, .context = &tally, .process = count_chunk};
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
    struct driver_work work = {.chunks = 0, .context = &tally, .process = count_chunk};
    assert_int_equal(driver_run_all(MPI_COMM_WORLD, &work, NULL), STATUS_OK);
}

/* All get the status; rank 0 has the message, with the rank that it came from. */
static void one_fails_all_end(void **state)
{
    (void)state;
    static const uint64_t points[] = {0, 1, 50, CHUNKS - 1};
    for (int i = 0; i < 4; i++) {
        struct tally tally = {.fails_at = points[i]};
        struct driver_work work = {.chunks = CHUNKS, .context = &tally, .process = count_chunk};
        char expected[64];
        char with_rank[80];
        size_t length;
        report_clear();
        assert_int_equal(driver_run_all(MPI_COMM_WORLD, &work, NULL), STATUS_NO_SPACE);
        int mine = tally.seen[points[i]] ? rank : -1;
        int failing = -1;
        MPI_Allreduce(&mine, &failing, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        snprintf(expected, sizeof expected, "chunk %d failed", (int)points[i]);
        snprintf(with_rank, sizeof with_rank, size > 1 ? "%s (rank %d on " : "%s", expected,
                 failing);
        length = strlen(with_rank);
        if (rank == 0) {
            assert_memory_equal(report_cause(), with_rank, length + (size == 1));
        }
    }
    report_clear();
}

/* Chunks that were done before are not given out; what ranks tell comes to rank 0, all of it. */
struct teller {
    uint64_t seen[CHUNKS];
    uint64_t told[CHUNKS]; /* rank 0: how often it was told of each */
    uint64_t kept[CHUNKS]; /* done, not told yet */
    uint32_t nkept;
    int is_settled;
    int stops_at; /* chunks after which this rank wants to stop; 0: never */
    int done, hurries;
    int fails_to_take;
};

static int wants_stop; /* of the driver's callback without a context */

static status_t keep_chunk(void *context, driver_t *driver, uint64_t chunk)
{
    struct teller *teller = context;
    struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
    driver_serve(driver);
    teller->seen[chunk]++;
    teller->kept[teller->nkept++] = chunk;
    teller->done++;
    wants_stop |= teller->stops_at > 0 && teller->done >= teller->stops_at;
    return STATUS_OK;
}

static int is_even(void *context, uint64_t chunk)
{
    (void)context;
    return chunk % 2 == 0;
}

/* Tells of two at a time, and of all at the end. */
static status_t tell_chunks(void *context, struct text *out)
{
    struct teller *teller = context;
    uint32_t count = teller->is_settled ? teller->nkept : teller->nkept / 2 * 2;
    status_t st = text_add_bytes(out, (const char *)teller->kept, count * sizeof *teller->kept);
    memmove(teller->kept, teller->kept + count, (teller->nkept - count) * sizeof *teller->kept);
    teller->nkept -= count;
    return st;
}

static status_t take_chunks(void *context, const char *data, size_t bytes)
{
    struct teller *teller = context;
    assert_int_equal(rank, 0);
    assert_int_equal(bytes % sizeof(uint64_t), 0);
    if (teller->fails_to_take) {
        return report_fail(STATUS_DATA, "cannot take it");
    }
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t chunk;
        memcpy(&chunk, data + i, sizeof chunk);
        assert_true(chunk < CHUNKS);
        teller->told[chunk]++;
    }
    return STATUS_OK;
}

static status_t settle(void *context, driver_t *driver)
{
    (void)driver_serve(driver);
    ((struct teller *)context)->is_settled = 1;
    return STATUS_OK;
}

static void hurry(void *context, int how)
{
    assert_int_equal(how, STOP_FINISH);
    ((struct teller *)context)->hurries++;
}

static int stop_is_wanted(void)
{
    return wants_stop;
}

static status_t run_teller(struct teller *teller)
{
    struct driver_work work = {.chunks = CHUNKS,
                               .context = teller,
                               .process = keep_chunk,
                               .is_done = is_even,
                               .tell = tell_chunks,
                               .take = take_chunks,
                               .wants_stop = stop_is_wanted,
                               .hurry = hurry,
                               .settle = settle};
    wants_stop = 0;
    report_clear();
    return driver_run_all(MPI_COMM_WORLD, &work, NULL);
}

static void what_is_done_is_told(void **state)
{
    (void)state;
    struct teller teller = {.nkept = 0};
    uint64_t seen[CHUNKS];
    assert_int_equal(run_teller(&teller), STATUS_OK);
    assert_int_equal(teller.hurries, 0);
    MPI_Allreduce(teller.seen, seen, CHUNKS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < CHUNKS; i++) {
        assert_int_equal(seen[i], i % 2);
        assert_true(rank != 0 || teller.told[i] == seen[i]);
    }
}

/* Whoever is asked, all stop; what was begun is finished and told. */
static void a_stop_leaves_nothing_half_done(void **state)
{
    (void)state;
    for (int asked = 0; asked < size; asked++) {
        struct teller teller = {.stops_at = rank == asked ? 3 : 0};
        uint64_t seen[CHUNKS];
        uint64_t done = 0;
        status_t st = run_teller(&teller);
        MPI_Allreduce(teller.seen, seen, CHUNKS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < CHUNKS; i++) {
            done += seen[i];
            assert_true(seen[i] <= 1 && (rank != 0 || teller.told[i] == seen[i]));
        }
        assert_true(st == STATUS_STOPPED || done == CHUNKS / 2);
        assert_true(done >= 3 && done <= CHUNKS / 2);
        assert_true(teller.hurries <= 1);
        assert_string_equal(report_cause(), "");
    }
}

/* Tells more at once than a message of the driver holds, and counts what comes. */
enum { LONG_TELL = 100000 };
struct long_teller {
    int is_settled, has_told;
    uint64_t calls[8], wrong;
};

static status_t tell_much(void *context, struct text *out)
{
    status_t st = STATUS_OK;
    struct long_teller *teller = context;
    static char much[LONG_TELL];
    if (teller->is_settled && !teller->has_told) {
        memset(much, rank, sizeof much);
        st = text_add_bytes(out, much, sizeof much - (size_t)rank);
        teller->has_told = 1;
    }
    return st;
}

static status_t take_much(void *context, const char *data, size_t bytes)
{
    struct long_teller *teller = context;
    int from = data[0];
    teller->wrong += bytes != LONG_TELL - (size_t)from;
    for (size_t i = 0; i < bytes; i++) {
        teller->wrong += data[i] != from;
    }
    teller->calls[from]++;
    return STATUS_OK;
}

static status_t settle_much(void *context, driver_t *driver)
{
    (void)driver;
    ((struct long_teller *)context)->is_settled = 1;
    return STATUS_OK;
}

/* One call of take() for one of tell(), however long. */
static void much_is_told_at_once(void **state)
{
    (void)state;
    struct long_teller teller = {.wrong = 0};
    struct driver_work work = {.chunks = 0,
                               .context = &teller,
                               .process = count_chunk,
                               .tell = tell_much,
                               .take = take_much,
                               .settle = settle_much};
    assert_int_equal(driver_run_all(MPI_COMM_WORLD, &work, NULL), STATUS_OK);
    for (int i = 0; rank == 0 && i < size; i++) {
        assert_int_equal(teller.calls[i], 1);
    }
    assert_int_equal(teller.wrong, 0);
}

static void what_cannot_be_taken_ends_the_run(void **state)
{
    (void)state;
    struct teller teller = {.fails_to_take = 1};
    assert_int_equal(run_teller(&teller), STATUS_DATA);
    if (rank == 0) {
        assert_memory_equal(report_cause(), "cannot take it", strlen("cannot take it"));
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
        snprintf(expected, sizeof expected, size > 1 ? "no memory (rank %d on " : "no memory",
                 failing);
        assert_memory_equal(report_cause(), expected, strlen(expected));
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

/* Rank 0 of a simulated run: texts longer than a message, each taken once, and a failure. */
struct heard_of {
    uint64_t told, taken;
    uint64_t fails_at;
};

static status_t tell_of_one(void *context, struct text *out)
{
    struct heard_of *heard = context;
    heard->told++;
    return text_add(out, "%40000llu", (unsigned long long)heard->told);
}

static status_t take_of_one(void *context, const char *data, size_t bytes)
{
    struct heard_of *heard = context;
    heard->taken++;
    assert_int_equal(bytes, 40000);
    assert_int_equal(strtoull(data, NULL, 10), heard->taken);
    return heard->taken == heard->fails_at ? report_fail(STATUS_NO_SPACE, "full") : STATUS_OK;
}

static void ranks_are_simulated(void **state)
{
    (void)state;
    struct heard_of heard = {0};
    struct driver_work work = {
        .chunks = CHUNKS, .context = &heard, .tell = tell_of_one, .take = take_of_one};
    assert_int_equal(driver_simulate(&work, 4096), STATUS_OK);
    assert_int_equal(heard.told, CHUNKS);
    assert_int_equal(heard.taken, CHUNKS);
    heard = (struct heard_of){.fails_at = 7};
    assert_int_equal(driver_simulate(&work, 4096), STATUS_NO_SPACE);
    assert_int_equal(heard.taken, 7);
    report_clear();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_chunk_once),
        cmocka_unit_test(no_chunks_at_all),
        cmocka_unit_test(one_fails_all_end),
        cmocka_unit_test(ranks_agree_on_the_lowest_failure),
        cmocka_unit_test(texts_are_shared),
        cmocka_unit_test(what_is_done_is_told),
        cmocka_unit_test(a_stop_leaves_nothing_half_done),
        cmocka_unit_test(much_is_told_at_once),
        cmocka_unit_test(what_cannot_be_taken_ends_the_run),
        cmocka_unit_test(ranks_are_simulated),
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failed = cmocka_run_group_tests_name("driver", tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
