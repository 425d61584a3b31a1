/* A product of voltages: what is made is a product, and an archive of the same samples, times,
 * names and gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "input/archive.h"
#include "input/open.h"
#include "io/file.h"
#include "io/mark.h"
#include "product/contents.h"
#include "product/product.h"
#include "small_archive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 64, POLS = 3, FIRST = 10, ROWS = 50 };

static char folder[] = "/tmp/voltmill-test-voltages-XXXXXX";
static char in[64], out[64];

static struct archive *open_archive(const char *path, const char *layout)
{
    char text[512];
    struct job *job = NULL;
    struct archive *archive = NULL;
    snprintf(text, sizeof text,
             "input: {files: %s%s}\nchannelise: {channels: 2}\n"
             "products: [{kind: spectra, file: none.h5}]\n",
             path, layout);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
    assert_int_equal(archive_open(job, &archive), STATUS_OK);
    job_destroy(job);
    return archive;
}

/* Some samples of all streams, as filters leave them. */
static struct archive see(const struct archive *archive, uint64_t (*gaps)[2], size_t ngaps)
{
    struct archive seen = *archive;
    seen.first_sample = FIRST;
    seen.samples = ROWS;
    seen.is_complex = 1;
    seen.losses.gaps = gaps;
    seen.losses.ngaps = ngaps;
    seen.sideband = 1; /* filters conjugate what they read */
    return seen;
}

/* A file that is not complete is opened only by callers that ask for it. */
static void check_mark(void)
{
    struct product *product = NULL;
    struct product_place place;
    assert_int_equal(mark_of(out), MARK_RUN);
    assert_true(product_is_ours(out));
    assert_int_equal(product_open(out, &product), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "is not complete"));
    assert_non_null(strstr(report_cause(), "`voltmill run JOB`"));
    report_clear();
    assert_int_equal(product_open_part(out, &product), STATUS_OK);
    assert_int_equal(product->rows, ROWS);
    product_destroy(product);
    assert_int_equal(product_find_place(out, &place), STATUS_DATA);
    report_clear();
    assert_int_equal(product_find_part(out, &place), STATUS_OK);
    assert_int_equal(place.rows, ROWS);
}

static struct product_place write_product(const struct product_spec *spec, const char *rows)
{
    struct product_place place;
    uint32_t crc = 0;
    int fd = -1;
    assert_int_equal(file_open_new(out, &fd), STATUS_OK);
    assert_int_equal(product_create(fd, out, spec, &place, NULL), STATUS_OK);
    assert_int_equal(place.rows, ROWS);
    assert_int_equal(place.row_bytes, product_spec_row_bytes(spec));
    assert_int_equal(place.row_bytes, POLS * 2 * spec->steps.bits / 8);
    assert_true(place.time_offset == 0 && place.holes_offset == 0 && place.clipped_offset > 0);
    assert_int_equal(spans_count(&place), 1);
    assert_int_equal(file_write(fd, out, place.data_offset, rows, (size_t)(ROWS * place.row_bytes)),
                     STATUS_OK);
    spans_add(&place, 0, ROWS, 0, place.row_bytes, rows, &crc);
    crc = spans_crc(&place, 0, crc);
    const struct product_counts counts = {5, 7, &crc};
    assert_int_equal(product_put_counts(fd, out, &place, &counts), STATUS_OK);
    check_mark();
    assert_int_equal(mark_hdf5(fd, out, MARK_NONE), STATUS_OK);
    file_close(fd);
    return place;
}

static void check_product(const struct product_spec *spec, const struct product_place *place)
{
    struct product *product = NULL;
    struct contents_found found = {0};
    assert_true(product_is_ours(out));
    assert_int_equal(product_open(out, &product), STATUS_OK);
    assert_non_null(product);
    assert_int_equal(product->kind, PRODUCT_VOLTAGES);
    assert_int_equal(product->origin.version_of_format, PRODUCT_VERSION);
    assert_int_equal(product->rows, ROWS);
    assert_int_equal(product->streams, POLS);
    assert_int_equal(product->frequencies, 1);
    assert_int_equal(product->bits, spec->steps.bits);
    assert_true(product->scale == spec->scale && product->is_complex);
    assert_true(product->missing == 5 && product->clipped == 7 && product->gaps == 12);
    assert_memory_equal(&product->place, place, sizeof *place);
    assert_string_equal(product->origin.job_text, "the job");
    assert_true(fabs(product->sky.start.second - (100 + FIRST / 1e6)) < 1e-9);
    assert_int_equal(contents_compare(out, place, &found), STATUS_OK);
    assert_true(found.known > 20 && found.bad == 0);
    text_free(&found.words);
    product_destroy(product);
}

static void check_archive(const struct product_spec *spec)
{
    struct archive *archive = open_archive(out, "");
    assert_true(archive->scale == spec->scale && archive->is_complex);
    assert_int_equal(sample_types[archive->format].bits, spec->steps.bits);
    assert_int_equal(archive->samples, ROWS);
    assert_int_equal(archive->nstreams, POLS);
    assert_int_equal(archive->sideband, 1);
    assert_string_equal(archive->names[AXIS_POL][2], "2");
    assert_true(archive->freq_hz[0] == 1e9 && archive->sample_rate_hz == 1e6);
    assert_int_equal(archive->sky.start.mjd_day, 58849);
    assert_true(fabs(archive->sky.start.second - (100 + FIRST / 1e6)) < 1e-9);
    assert_string_equal(archive->sky.telescope, "Dish");
    /* 5 .. 12, 20 .. 22 and 58 .. 64 of what it was made of. */
    static const uint64_t gaps[][2] = {{0, 2}, {10, 2}, {48, 2}};
    assert_int_equal(archive->losses.ngaps, 3);
    assert_memory_equal(archive->losses.gaps, gaps, sizeof gaps);
    archive_destroy(archive);
}

static void products_are_archives(void **state)
{
    (void)state;
    static const char rows[ROWS * POLS * 8];
    static const struct {
        uint32_t bits;
        double scale;
    } cases[] = {{8, 0.125}, {16, 1}, {32, 1}, {32, 3e-6}};
    uint64_t gaps[][2] = {{1, 2}, {5, 7}, {20, 2}, {58, 6}};
    struct archive *archive = open_archive(
        in, ", layout: {dataset: /x, axes: 'time,pol', sample_rate_hz: 1e6, "
            "freq_hz: 1e9, sideband: -1, start: 2020-01-01T00:01:40, telescope: Dish}");
    struct archive seen = see(archive, gaps, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct product_spec spec = {.kind = PRODUCT_VOLTAGES,
                                    .job_text = "the job",
                                    .arithmetic = "exact",
                                    .inputs = "a file",
                                    .rows = ROWS,
                                    .archive = &seen,
                                    .gap_samples = 12,
                                    .steps.bits = cases[i].bits,
                                    .scale = cases[i].scale};
        struct product_place place = write_product(&spec, rows);
        check_product(&spec, &place);
        check_archive(&spec);
    }
    archive_destroy(archive);
}

/* Somebody else's archive with a group of that name is none of our products. */
static void others_have_a_provenance_too(void **state)
{
    (void)state;
    struct product *product = NULL;
    hid_t file = H5Fopen(out, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t group = H5Gopen2(file, "provenance", H5P_DEFAULT);
    assert_true(H5Adelete(group, "software") >= 0);
    h5_close(group);
    h5_close(file);
    assert_false(product_is_ours(out));
    assert_int_equal(product_open(out, &product), STATUS_OK);
    assert_null(product);
}

static int begin(void **state)
{
    (void)state;
    h5_begin();
    assert_non_null(mkdtemp(folder));
    snprintf(in, sizeof in, "%s/in.h5", folder);
    snprintf(out, sizeof out, "%s/out.h5", folder);
    small_archive_write(in, SAMPLES, POLS, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(in);
    unlink(out);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_archives),
                                       cmocka_unit_test(others_have_a_provenance_too)};
    return cmocka_run_group_tests(tests, begin, end);
}
