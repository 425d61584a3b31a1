/* RANKS 1 2 3 */
/* A pass works off what is not done on all ranks, keeps what was done when it fails, and goes on.
 */
#include "small_job.h"

#include "base/memory.h"
#include "io/file.h"
#include "run/pass.h"

#include <fcntl.h>
#include <math.h>

/* A pipeline of one block a chunk, whose rows hold the number of their chunk. */
struct numbering {
    struct small_job *small;
    struct pipeline_sink sink;
    int fails;         /* at chunk 5 */
    uint64_t has_hole; /* chunk of which the first row is one; CHUNKS: none */
    uint64_t chunks;   /* that were made here */
};

static struct numbering numbering;

static status_t nothing(void *context, void *slot)
{
    (void)context;
    (void)slot;
    return STATUS_OK;
}

static status_t write_numbers(void *context, void *slot)
{
    (void)context;
    status_t st = STATUS_OK;
    const struct chunk *chunk = &((const struct pipeline_slot *)slot)->chunk;
    float *rows = NULL;
    char *holes = NULL;
    static const struct chunk_counts counts[2] = {{3, 2}, {3, 2}};
    REQUIRE_OUT(!numbering.fails || chunk->index != 5, STATUS_DATA, "chunk 5 cannot be made");
    for (uint32_t i = 0; i < 2; i++) {
        const struct output_spec_item *item = &numbering.small->making.items[i];
        uint64_t first = chunk->first / item->integrate;
        uint64_t count = (chunk->first + chunk->count) / item->integrate - first;
        uint64_t floats = item->row_bytes / sizeof *rows;
        TRY_OUT(memory_zeroed(count * floats, sizeof *rows, "rows", &rows));
        TRY_OUT(memory_zeroed(count, 1, "holes", &holes));
        for (uint64_t j = 0; j < count * floats; j++) {
            rows[j] = (float)chunk->index;
        }
        holes[0] = chunk->index == numbering.has_hole;
        TRY_OUT(numbering.sink.put(numbering.sink.context, i, chunk, first, count, rows,
                                   holes[0] ? holes : NULL));
        free(rows);
        free(holes);
        rows = NULL;
        holes = NULL;
    }
    TRY_OUT(numbering.sink.end(numbering.sink.context, chunk, counts));
    numbering.chunks++;
out:
    free(rows);
    free(holes);
    return st;
}

static struct pipeline_block describe(const void *context, const void *slot, int is_reading)
{
    (void)context;
    (void)slot;
    (void)is_reading;
    return (struct pipeline_block){"no file", "numbers", 0, 0};
}

static void begin_pass(struct pass *pass, struct small_job *small)
{
    static const struct run_options options = {.patience = -1};
    *pass = (struct pass){0};
    make_small_job(small, 4);
    pass_begin(pass, MPI_COMM_WORLD, small->job, &options);
    pass->making = small->making;
    assert_int_equal(pass_claim_all(pass), STATUS_OK);
    assert_int_equal(pass_open_all(pass), STATUS_OK);
    numbering = (struct numbering){.small = small, .has_hole = CHUNKS};
    numbering.sink = pass_sink(pass);
    /* One slot: the next chunk is prepared when this one is written. */
    static struct pipeline_slot slot;
    struct pipeline_stages stages = {.slots = &slot,
                                     .slot_bytes = sizeof slot,
                                     .block = UINT64_MAX,
                                     .read = nothing,
                                     .write = write_numbers,
                                     .describe = describe};
    assert_int_equal(pipeline_create(1, &stages, &pass->pipeline), STATUS_OK);
    pass_say_where_it_goes_on(pass);
}

static void end_pass(struct pass *pass, status_t st, struct small_job *small)
{
    pass_end(pass, st);
    memset(&small->making, 0, sizeof small->making); /* was the pass's */
    free_small_job(small);
    MPI_Barrier(MPI_COMM_WORLD);
}

static uint64_t chunks_made(void)
{
    uint64_t sum = sum_u64_all(MPI_COMM_WORLD, numbering.chunks);
    share_bytes_all(MPI_COMM_WORLD, &sum, sizeof sum);
    return sum;
}

/* Every row of the spectra has the number of its chunk. */
static void check_rows(void)
{
    struct product_place place;
    int fd = -1;
    assert_int_equal(product_find_place(in_folder("s.h5"), &place), STATUS_OK);
    assert_int_equal(file_open_read(in_folder("s.h5"), &fd), STATUS_OK);
    for (uint64_t row = 0; row < place.rows; row++) {
        float found[2];
        assert_int_equal(
            file_read(fd, "s.h5", place.data_offset + row * place.row_bytes, found, sizeof found),
            STATUS_OK);
        assert_true(found[0] == (float)(row / 64));
    }
    close(fd);
}

static void a_pass_makes_every_row(void **state)
{
    (void)state;
    struct pass pass;
    struct small_job small;
    begin_pass(&pass, &small);
    assert_int_equal(pass_work_off_all(&pass), STATUS_OK);
    assert_int_equal(chunks_made(), CHUNKS);
    assert_int_equal(pass_finish_all(&pass), STATUS_OK);
    if (rank == 0) {
        assert_int_equal(outputs_done(pass.outputs), CHUNKS);
        assert_int_equal(outputs_counts(pass.outputs, 1).missing, 3 * CHUNKS);
        assert_int_equal(outputs_counts(pass.outputs, 1).clipped, 2 * CHUNKS);
        assert_int_equal(pass_judge_holes(&pass), STATUS_OK);
        check_rows();
        assert_true(is_there("p.h5") && !is_there("s.h5.part") && !is_there("s.h5.journal"));
    }
    end_pass(&pass, STATUS_OK, &small);
}

static void what_was_done_before_a_failure_is_kept(void **state)
{
    (void)state;
    struct pass pass;
    struct small_job small;
    begin_pass(&pass, &small);
    numbering.fails = 1;
    assert_int_equal(pass_work_off_all(&pass), STATUS_DATA);
    if (rank == 0) {
        assert_memory_equal(report_cause(), "chunk 5 cannot be made", 22);
        assert_true(outputs_done(pass.outputs) > 0 && outputs_done(pass.outputs) < CHUNKS);
    }
    uint64_t done = rank == 0 ? outputs_done(pass.outputs) : 0;
    report_next();
    report_quiet(1);
    end_pass(&pass, STATUS_DATA, &small);
    assert_true(is_there("s.h5.part") && is_there("p.h5.journal") && !is_there("s.h5"));

    share_bytes_all(MPI_COMM_WORLD, &done, sizeof done);
    begin_pass(&pass, &small);
    assert_true(pass.begun.is_begun);
    assert_int_equal(pass.before, rank == 0 ? done : 0);
    assert_int_equal(pass_work_off_all(&pass), STATUS_OK);
    assert_int_equal(chunks_made(), CHUNKS - done);
    assert_int_equal(pass_finish_all(&pass), STATUS_OK);
    if (rank == 0) {
        check_rows();
    }
    end_pass(&pass, STATUS_OK, &small);
}

/* Overwrites a few bytes of a row, or of its time, of an unfinished file. */
static void damage(const char *name, uint64_t row, int is_time)
{
    struct product_place place;
    static const char bytes[4] = {1, 2, 3, 4};
    int fd = -1;
    if (rank == 0) {
        assert_int_equal(product_find_part(in_folder(name), &place), STATUS_OK);
        fd = open(in_folder(name), O_WRONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        uint64_t at = is_time ? place.time_offset + row * sizeof(double)
                              : place.data_offset + row * place.row_bytes;
        assert_int_equal(file_write(fd, name, at, bytes, sizeof bytes), STATUS_OK);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All chunks are done, and the run fails before it publishes them; then rows of chunks 1 and 6, and
 * a time stamp of chunk 3, are not those that were written. */
static void rows_that_differ_are_made_again(void **state)
{
    (void)state;
    struct pass pass;
    struct small_job small;
    begin_pass(&pass, &small);
    assert_int_equal(pass_work_off_all(&pass), STATUS_OK);
    end_pass(&pass, STATUS_DATA, &small);
    damage("s.h5.part", 64, 0);
    damage("p.h5.part", 6 * 4 + 3, 0);
    damage("p.h5.part", 3 * 4, 1);

    begin_pass(&pass, &small);
    assert_true(pass.begun.is_begun);
    assert_int_equal(pass.before, rank == 0 ? CHUNKS : 0);
    assert_int_equal(pass_work_off_all(&pass), STATUS_OK);
    assert_int_equal(chunks_made(), 3);
    assert_int_equal(pass_finish_all(&pass), STATUS_OK);
    if (rank == 0) {
        assert_int_equal(outputs_counts(pass.outputs, 0).missing, 3 * CHUNKS);
        assert_int_equal(outputs_counts(pass.outputs, 1).clipped, 2 * CHUNKS);
        check_rows();
    }
    end_pass(&pass, STATUS_OK, &small);
}

/* A chunk that differs is no longer done, even if the run ends before it is made again. */
static void rows_that_differ_are_not_done(void **state)
{
    (void)state;
    struct pass pass;
    struct small_job small;
    begin_pass(&pass, &small);
    assert_int_equal(pass_work_off_all(&pass), STATUS_OK);
    end_pass(&pass, STATUS_DATA, &small);
    damage("s.h5.part", 5 * 64, 0);

    begin_pass(&pass, &small);
    numbering.fails = 1;
    assert_int_equal(pass_work_off_all(&pass), STATUS_DATA);
    if (rank == 0) {
        assert_memory_equal(report_cause(), "chunk 5 cannot be made", 22);
    }
    report_next();
    report_quiet(1);
    end_pass(&pass, STATUS_DATA, &small);
    begin_pass(&pass, &small);
    assert_int_equal(pass.before, rank == 0 ? CHUNKS - 1 : 0);
    end_pass(&pass, STATUS_DATA, &small);
}

static void rows_that_are_nan_are_judged(void **state)
{
    (void)state;
    struct pass pass;
    struct small_job small;
    begin_pass(&pass, &small);
    numbering.has_hole = 2;
    assert_int_equal(pass_work_off_all(&pass), STATUS_OK);
    assert_int_equal(pass_finish_all(&pass), STATUS_OK);
    if (rank == 0) {
        assert_int_equal(pass_judge_holes(&pass), STATUS_HOLES);
        assert_non_null(strstr(report_cause(), "is complete, but 1 of its rows are NaN"));
    }
    report_next();
    report_quiet(1);
    end_pass(&pass, STATUS_OK, &small);
}

/* One rank that cut otherwise would write other rows than those it was asked for. */
static void all_ranks_have_one_plan(void **state)
{
    (void)state;
    static const struct run_options options;
    struct pass pass = {0};
    struct small_job small;
    make_small_job(&small, 4);
    pass_begin(&pass, MPI_COMM_WORLD, small.job, &options);
    struct chunking plan = {.spectra = 512, .chunk_spectra = 64, .streams = 2, .group_streams = 2};
    assert_int_equal(pass_same_plan_all(&pass, &plan), STATUS_OK);
    plan.block_spectra = (uint64_t)rank; /* each rank's own */
    assert_int_equal(pass_same_plan_all(&pass, &plan), STATUS_OK);
    plan.chunk_spectra += rank == size - 1 && rank > 0;
    assert_int_equal(pass_same_plan_all(&pass, &plan), size > 1 ? STATUS_USAGE : STATUS_OK);
    report_next();
    report_quiet(1);
    free_small_job(&small);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pass_makes_every_row, begin_small_jobs, end_small_jobs),
        cmocka_unit_test_setup_teardown(what_was_done_before_a_failure_is_kept, begin_small_jobs,
                                        end_small_jobs),
        cmocka_unit_test_setup_teardown(rows_that_differ_are_made_again, begin_small_jobs,
                                        end_small_jobs),
        cmocka_unit_test_setup_teardown(rows_that_differ_are_not_done, begin_small_jobs,
                                        end_small_jobs),
        cmocka_unit_test_setup_teardown(rows_that_are_nan_are_judged, begin_small_jobs,
                                        end_small_jobs),
        cmocka_unit_test_setup_teardown(all_ranks_have_one_plan, begin_small_jobs, end_small_jobs),
    };
    return run_small_jobs(argc, argv, "pass", tests, sizeof tests / sizeof *tests);
}
