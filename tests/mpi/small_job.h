/* A job of a few kilobytes, planned on every rank: two products in 8 chunks, whose rows tests make
 * up themselves. */
#ifndef VOLTMILL_TESTS_SMALL_JOB_H
#define VOLTMILL_TESTS_SMALL_JOB_H

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "input/archive.h"
#include "input/open.h"
#include "io/hdf5/h5.h"
#include "output/output_spec.h"
#include "ranks/agree.h"

enum { SAMPLES = 2052, CHUNKS = 8 };

static int rank, size;
static char folder[] = "/tmp/voltmill-test-mpi-XXXXXX";

struct small_job {
    struct job *job;
    struct archive *archive;
    struct channelise_plan *plan;
    struct output_spec making;
};

/* FOLDER/NAME, of this call and the three before. */
static const char *in_folder(const char *name)
{
    static char paths[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static int is_there(const char *name)
{
    return access(in_folder(name), F_OK) == 0;
}

/* A new folder with an archive, the same on all ranks. */
static int begin_small_jobs(void **state)
{
    (void)state;
    strcpy(strrchr(folder, '-'), "-XXXXXX");
    if (rank == 0) {
        static const char zeros[SAMPLES];
        hsize_t dims[2] = {SAMPLES, 1};
        assert_non_null(mkdtemp(folder));
        hid_t file = H5Fcreate(in_folder("a.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = H5Screate_simple(2, dims, NULL);
        hid_t dataset =
            H5Dcreate2(file, "x", H5T_STD_I8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Dwrite(dataset, H5T_NATIVE_SCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros) >= 0);
        h5_close(dataset);
        h5_close(space);
        h5_close(file);
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    return 0;
}

static int end_small_jobs(void **state)
{
    char command[300];
    (void)state;
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return rank == 0 ? system(command) : 0;
}

/* Spectra and power of two channels, with that many taps. */
static void make_small_job(struct small_job *small, int taps)
{
    char text[1024];
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6}}\n"
             "channelise: {channels: 2, taps: %d}\n"
             "products:\n  - {kind: spectra, file: %s}\n"
             "  - {kind: power, file: %s, integrate: 16}\nrun: {chunk: 64}\n",
             in_folder("a.h5"), taps, in_folder("s.h5"), in_folder("p.h5"));
    *small = (struct small_job){0};
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &small->job), STATUS_OK);
    assert_int_equal(archive_open(small->job, &small->archive), STATUS_OK);
    assert_int_equal(
        channelise_plan_create(small->job, small->archive, BACKEND_CPU, 1, NULL, &small->plan),
        STATUS_OK);
    for (uint32_t i = 0; i < small->job->nproducts; i++) {
        small->plan->products[i].spec.arithmetic = "none";
    }
    assert_int_equal(output_spec_of_products(small->job, small->archive, &small->making),
                     STATUS_OK);
    output_spec_plan_products(&small->making, small->plan);
    assert_int_equal(chunk_count(&small->making.chunking), CHUNKS);
}

static void free_small_job(struct small_job *small)
{
    output_spec_free(&small->making);
    channelise_plan_destroy(small->plan);
    archive_destroy(small->archive);
    job_destroy(small->job);
}

/* cmocka's, on all ranks. */
static int run_small_jobs(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
                          size_t count)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    report_quiet(1);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    MPI_Finalize();
    return failed;
}

#endif
