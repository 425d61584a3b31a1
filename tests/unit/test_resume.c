/* Products of a job that are complete, belong to this job and its input, and need not be made
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "input/open.h"
#include "io/file.h"
#include "io/mark.h"
#include "output/output_spec.h"
#include "run/resume.h"
#include "small_archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 4096 };

static char folder[] = "/tmp/voltmill-test-resume-XXXXXX";

static void write_text(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("precious\n", file);
    fclose(file);
}

static int setup(void **state)
{
    (void)state;
    small_archive_write("obs.h5", SAMPLES, 1, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    static const char *const names[] = {"obs.h5",       "a.h5",        "b.h5",      "s.h5",
                                        "a.h5.part",    "b.h5.part",   "s.h5.part", "a.h5.journal",
                                        "b.h5.journal", "s.h5.journal"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        unlink(names[i]);
    }
    report_clear();
    return 0;
}

struct loaded {
    struct job *job;
    struct archive *archive;
};

static struct loaded load(int taps)
{
    char text[512];
    struct loaded l = {.job = NULL};
    snprintf(text, sizeof text,
             "input: {files: obs.h5, layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6,"
             " freq_hz: 100e6}}\nchannelise: {channels: 16, taps: %d}\n"
             "products: [{kind: spectra, file: a.h5}, {kind: power, file: b.h5}]\n"
             "dedisperse: {dm: 0, file: s.h5}\n",
             taps);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &l.job), STATUS_OK);
    assert_int_equal(archive_open(l.job, &l.archive), STATUS_OK);
    return l;
}

static void unload(struct loaded *l)
{
    archive_destroy(l->archive);
    job_destroy(l->job);
}

static void make_product(const struct output_spec *making, uint32_t i, const char *made_of)
{
    struct product_place place;
    const char *path = making->items[i].file;
    int fd = -1;
    assert_int_equal(file_open_new(path, &fd), STATUS_OK);
    assert_int_equal(output_spec_create(making, i, fd, path, made_of, &place, NULL), STATUS_OK);
    assert_int_equal(mark_hdf5(fd, path, MARK_NONE), STATUS_OK);
    file_close(fd);
}

/* The files that a run of the job leaves, but for what its rows are. */
static void make_products(int taps, int with_series)
{
    struct loaded l = load(taps);
    struct output_spec making = {0};
    struct channelise_plan *work = NULL;
    struct text inputs = {0};
    assert_int_equal(channelise_plan_create(l.job, l.archive, BACKEND_CPU, 1, NULL, &work),
                     STATUS_OK);
    assert_int_equal(output_spec_of_products(l.job, l.archive, &making), STATUS_OK);
    output_spec_plan_products(&making, work);
    assert_int_equal(inputs_contents(&making.inputs, &inputs), STATUS_OK);
    for (uint32_t i = 0; i < making.count; i++) {
        make_product(&making, i, inputs.data);
    }
    text_free(&inputs);
    output_spec_free(&making);
    if (with_series) {
        struct dedisperse_plan *plan = NULL;
        struct fbh5 *fbh5 = NULL;
        assert_int_equal(dedisperse_plan_foresee(work, 1, &fbh5), STATUS_OK);
        assert_int_equal(dedisperse_plan_create(l.job, 0, fbh5, BACKEND_CPU, 1, NULL, &plan),
                         STATUS_OK);
        assert_int_equal(output_spec_of_series(l.job, 0, "b.h5", NULL, &making), STATUS_OK);
        output_spec_plan_series(&making, plan);
        assert_int_equal(inputs_contents(&making.inputs, &inputs), STATUS_OK);
        make_product(&making, 0, inputs.data);
        text_free(&inputs);
        output_spec_free(&making);
        dedisperse_plan_destroy(plan);
        fbh5_destroy(fbh5);
    }
    channelise_plan_destroy(work);
    unload(&l);
}

/* Looks; on failure the cause must hold `cause`. */
static struct resume look(int taps, int force, status_t expected, const char *cause)
{
    struct loaded l = load(taps);
    struct resume found = {.channelise = -1};
    const struct resume_options options = {.force = force, .only_looks = 1};
    assert_int_equal(resume_find(l.job, l.archive, &options, &found), expected);
    if (expected != STATUS_OK) {
        assert_non_null(strstr(report_cause(), cause));
        report_clear();
    }
    unload(&l);
    return found;
}

static void assert_found(struct resume found, int channelise, int dedisperse)
{
    assert_int_equal(found.channelise, channelise);
    assert_int_equal(found.dedisperse[0], dedisperse);
    assert_int_equal(found.all, channelise && dedisperse);
}

static void nothing_is_there(void **state)
{
    (void)state;
    assert_found(look(4, 0, STATUS_OK, NULL), 0, 0);
    assert_found(look(4, 1, STATUS_OK, NULL), 0, 0);
}

static void the_filter_bank_is_complete(void **state)
{
    (void)state;
    make_products(4, 0);
    assert_found(look(4, 0, STATUS_OK, NULL), 1, 0);
    assert_found(look(4, 1, STATUS_OK, NULL), 0, 0); /* forced: all anew */
    unlink("a.h5");
    assert_found(look(4, 0, STATUS_OK, NULL), 0, 0);
}

static void all_is_complete(void **state)
{
    (void)state;
    make_products(4, 1);
    assert_found(look(4, 0, STATUS_OK, NULL), 1, 1);
    struct resume forced = look(4, 1, STATUS_OK, NULL);
    assert_int_equal(forced.channelise + forced.dedisperse[0] + forced.all, 0);
    /* A later pass that was begun keeps what it was begun on, even with --force. */
    unlink("s.h5");
    write_text("s.h5.part");
    write_text("s.h5.journal");
    assert_found(look(4, 1, STATUS_OK, NULL), 1, 0);
}

static void what_is_on_its_way_is_not_complete(void **state)
{
    (void)state;
    make_products(4, 0);
    write_text("b.h5.journal");
    assert_found(look(4, 0, STATUS_OK, NULL), 0, 0);
}

static void what_is_of_another_job_stays(void **state)
{
    (void)state;
    make_products(4, 0);
    look(5, 0, STATUS_USAGE, "made by another job");
    assert_found(look(5, 1, STATUS_OK, NULL), 0, 0);
    small_archive_write("obs.h5", SAMPLES, 1, 0); /* the same samples: nothing has changed */
    assert_found(look(4, 0, STATUS_OK, NULL), 1, 0);
}

static void what_is_no_product_stays(void **state)
{
    (void)state;
    make_products(4, 0);
    write_text("b.h5");
    look(4, 0, STATUS_USAGE, "b.h5 exists already: --force replaces it");
    assert_found(look(4, 1, STATUS_OK, NULL), 0, 0);
}

static void series_without_their_filterbank_are_refused(void **state)
{
    (void)state;
    make_products(4, 1);
    unlink("b.h5");
    look(4, 0, STATUS_USAGE, "b.h5 is missing");
}

int main(void)
{
#define WITH_FILES(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_FILES(nothing_is_there),
        WITH_FILES(the_filter_bank_is_complete),
        WITH_FILES(all_is_complete),
        WITH_FILES(what_is_on_its_way_is_not_complete),
        WITH_FILES(what_is_of_another_job_stays),
        WITH_FILES(what_is_no_product_stays),
        WITH_FILES(series_without_their_filterbank_are_refused),
    };
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        return 1;
    }
    h5_begin();
    int failed = cmocka_run_group_tests_name("resume", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
