/* RANKS 1 2 */
/* Files that earlier runs, and other programs, have left beside a product: resumed, written anew,
 * or left alone. */
#include "small_job.h"

#include "output/outputs.h"

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Claims the products of a job with that many taps; its status. */
static status_t claim(struct small_job *small, int taps, const struct outputs_options *options,
                      struct outputs_begun *begun, outputs_t **outputs)
{
    static const struct outputs_options none;
    make_small_job(small, taps);
    return outputs_claim_all(MPI_COMM_WORLD, &small->making, options ? options : &none, begun,
                             outputs);
}

static void end_claim(struct small_job *small, outputs_t *outputs)
{
    outputs_destroy(outputs);
    free_small_job(small);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Claims alone; says whether the products were begun. */
static int claim_and_end(int taps, const struct outputs_options *options)
{
    struct small_job small;
    struct outputs_begun begun;
    outputs_t *outputs = NULL;
    assert_int_equal(claim(&small, taps, options, &begun, &outputs), STATUS_OK);
    end_claim(&small, outputs);
    return begun.is_begun;
}

/* Claims in vain, for this reason. */
static void claim_fails(int taps, const struct outputs_options *options, const char *reason)
{
    struct small_job small;
    struct outputs_begun begun;
    outputs_t *outputs = NULL;
    assert_int_equal(claim(&small, taps, options, &begun, &outputs), STATUS_USAGE);
    assert_null(outputs);
    if (rank == 0 && !strstr(report_cause(), reason)) {
        fail_msg("'%s', expected '%s'", report_cause(), reason);
    }
    report_next();
    report_quiet(1);
    end_claim(&small, outputs);
}

/* A run that has done chunk 3, and ended. */
static void leave_a_chunk(void)
{
    struct small_job small;
    struct outputs_begun begun;
    struct text told = {0};
    outputs_t *outputs = NULL;
    static const float rows[256];
    assert_int_equal(claim(&small, 4, NULL, &begun, &outputs), STATUS_OK);
    assert_false(begun.is_begun);
    assert_int_equal(outputs_open_all(outputs), STATUS_OK);
    assert_false(rank == 0 && (is_there("s.h5.journal") || is_there("p.h5.journal")));
    assert_int_equal(outputs_begin_all(outputs), STATUS_OK);
    if (rank == 0) {
        struct chunk chunk = chunk_at(&small.making.chunking, 3);
        assert_int_equal(outputs_put(outputs, 0, &chunk, 192, 64, rows, NULL), STATUS_OK);
        assert_int_equal(outputs_put(outputs, 1, &chunk, 12, 4, rows, NULL), STATUS_OK);
        assert_int_equal(outputs_end(outputs, &chunk, NULL), STATUS_OK);
        for (int is_settled = 0; !is_settled;) {
            assert_int_equal(outputs_settle(outputs, 1, &is_settled), STATUS_OK);
        }
        assert_int_equal(outputs_tell(outputs, &told), STATUS_OK);
        assert_int_equal(outputs_take(outputs, told.data, told.length), STATUS_OK);
        assert_int_equal(outputs_done(outputs), 1);
    }
    text_free(&told);
    end_claim(&small, outputs);
}

static void what_is_free_is_locked(void **state)
{
    (void)state;
    struct small_job small;
    struct outputs_begun begun;
    outputs_t *outputs = NULL;
    assert_int_equal(claim(&small, 4, NULL, &begun, &outputs), STATUS_OK);
    assert_false(begun.is_begun);
    assert_true(is_there("s.h5.part") && is_there("p.h5.part"));
    claim_fails(4, NULL, "is being written by another run");
    end_claim(&small, outputs);
    assert_false(is_there("s.h5.part") || is_there("p.h5.part"));
}

static void nobodys_files_are_replaced(void **state)
{
    (void)state;
    const struct outputs_options force = {.force = 1};
    if (rank == 0) {
        write_file("p.h5", "a diary");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    claim_fails(4, NULL, "p.h5");
    assert_false(claim_and_end(4, &force));
    assert_true(is_there("p.h5"));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        assert_int_equal(unlink(in_folder("p.h5")), 0);
        write_file("s.h5.part", "a letter");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    claim_fails(4, NULL, "exists, but was not left by voltmill");
    assert_false(claim_and_end(4, &force));
}

static void a_run_goes_on_with_what_was_begun(void **state)
{
    (void)state;
    struct small_job small;
    struct outputs_begun begun;
    outputs_t *outputs = NULL;
    leave_a_chunk();
    assert_int_equal(claim(&small, 4, NULL, &begun, &outputs), STATUS_OK);
    assert_true(begun.is_begun);
    assert_int_equal(begun.backend, BACKEND_CPU);
    assert_int_equal(begun.chunking.chunk_spectra, 64);
    assert_int_equal(outputs_open_all(outputs), STATUS_OK);
    if (rank == 0) {
        assert_int_equal(outputs_done(outputs), 1);
        assert_true(outputs_is_done(outputs, 3) && !outputs_is_done(outputs, 4));
    }
    end_claim(&small, outputs);
    assert_true(is_there("s.h5.part") && is_there("s.h5.journal"));
}

static void another_job_does_not_go_on(void **state)
{
    (void)state;
    const struct outputs_options restart = {.restart = 1};
    leave_a_chunk();
    claim_fails(5, NULL, "taps");
    assert_true(is_there("s.h5.journal"));
    assert_false(claim_and_end(5, &restart));
}

static void products_are_begun_together(void **state)
{
    (void)state;
    leave_a_chunk();
    if (rank == 0) {
        assert_int_equal(unlink(in_folder("p.h5.part")), 0);
        assert_int_equal(unlink(in_folder("p.h5.journal")), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    claim_fails(4, NULL, "was never begun");
}

/* Without its journal, or cut short, a file tells nothing: it is written anew. */
static void what_is_damaged_is_begun_anew(void **state)
{
    (void)state;
    leave_a_chunk();
    if (rank == 0) {
        assert_int_equal(unlink(in_folder("s.h5.journal")), 0);
        assert_int_equal(truncate(in_folder("p.h5.part"), 100), 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_false(claim_and_end(4, NULL));
}

static void looking_changes_nothing(void **state)
{
    (void)state;
    struct small_job small;
    struct outputs_begun begun;
    outputs_t *outputs = NULL;
    static const struct outputs_options none;
    leave_a_chunk();
    if (rank == 0) {
        make_small_job(&small, 4);
        assert_int_equal(outputs_claim_all(MPI_COMM_NULL, &small.making, &none, &begun, &outputs),
                         STATUS_OK);
        assert_true(begun.is_begun);
        assert_int_equal(outputs_done(outputs), 1);
        outputs_destroy(outputs);
        free_small_job(&small);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    assert_true(claim_and_end(4, NULL));
}

#define CLAIM_TEST(name) cmocka_unit_test_setup_teardown(name, begin_small_jobs, end_small_jobs)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CLAIM_TEST(what_is_free_is_locked),
        CLAIM_TEST(nobodys_files_are_replaced),
        CLAIM_TEST(a_run_goes_on_with_what_was_begun),
        CLAIM_TEST(another_job_does_not_go_on),
        CLAIM_TEST(products_are_begun_together),
        CLAIM_TEST(what_is_damaged_is_begun_anew),
        CLAIM_TEST(looking_changes_nothing),
    };
    return run_small_jobs(argc, argv, "outputs_claim", tests, sizeof tests / sizeof *tests);
}
