/* Visibilities: the file is made, written, opened again, compared with what it must say, and its
 * journal knows what is beside its rows. With an argument, products of an array on known ground are
 * left in that folder: tests/clients/visibilities.py reads them as others do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/report.h"
#include "input/archive.h"
#include "input/open.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"
#include "io/mark.h"
#include "output/outputs_parts.h"
#include "product/compare.h"
#include "product/contents.h"
#include "product/kind/visibilities_kind.h"
#include "product/product.h"
#include "small_archive.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 4096, STATIONS = 4, POLS = 2, CHANNELS = 8, ROWS = 4, DUMP = 1024 };
enum { MOST_PAIRS = STATIONS * (STATIONS + 1) / 2, LINES = CHANNELS * 4 };

static char folder[] = "/tmp/voltmill-test-visibilities-XXXXXX";
static char in[64], out[64];

/* A place in the Karoo at 2020-01-01T00:00:00, and its surroundings: astropy's numbers (IERS:
 * UT1 - UTC = -0.17717 s), of RA 122 deg, Dec -30 deg of ICRS for the phase centre. */
static const double longitude = 21.4439 * M_PI / 180, latitude = -30.7110 * M_PI / 180;
static const double lst = 2.1216356149913786, turn = 7.2921157e-5;
static const struct visibilities_centre centre = {"Target", 122, -30};
static const double centre_ra = 2.1328768034781707, centre_dec = -0.5246076302397981,
                    centre_angle = 0.0018180301417954343;
static const struct visibilities_antenna antennas[STATIONS] = {
    {"a", {5109335.784404009, 2006844.1659758184, -3238925.6714398554}},
    {"b", {5109329.534404009, 2006860.1659758184, -3238925.6714398554}},
    {"c", {5109344.784404009, 2006844.1659758184, -3238911.6714398554}},
    {"d", {5109337.284404009, 2006824.1659758184, -3238935.6714398554}}};
static const uint32_t all[MOST_PAIRS][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1},
                                            {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}};
static const uint32_t some[3][2] = {{0, 2}, {1, 1}, {1, 2}};

static status_t look(const void *context, uint64_t row, double seconds,
                     struct visibilities_sky *sky)
{
    const struct visibilities_centre *to = context;
    (void)row;
    sky->lst = lst + seconds * turn;
    sky->app_ra = to ? centre_ra : sky->lst;
    sky->app_dec = to ? centre_dec : latitude;
    sky->frame_pa = to ? centre_angle : 0;
    double east = sky->app_ra - sky->lst + longitude;
    double north = sky->app_dec;
    const double u[3] = {-sin(east), cos(east), 0};
    const double v[3] = {-sin(north) * cos(east), -sin(north) * sin(east), cos(north)};
    const double w[3] = {cos(north) * cos(east), cos(north) * sin(east), sin(north)};
    for (int k = 0; k < 3; k++) {
        sky->uvw[0][k] = cos(sky->frame_pa) * u[k] - sin(sky->frame_pa) * v[k];
        sky->uvw[1][k] = sin(sky->frame_pa) * u[k] + cos(sky->frame_pa) * v[k];
        sky->uvw[2][k] = w[k];
    }
    return STATUS_OK;
}

static struct archive *open_archive(void)
{
    char text[512];
    struct job *job = NULL;
    struct archive *archive = NULL;
    snprintf(text, sizeof text,
             "input: {files: %s, layout: {dataset: /x, axes: 'time,station:%d*pol:%d', "
             "sample_rate_hz: 1e3, domain: real, freq_hz: 150e6, start: 2020-01-01T00:00:00, "
             "telescope: Karoo}}\nchannelise: {channels: %d}\n"
             "products: [{kind: spectra, file: none.h5}]\n",
             in, STATIONS, POLS, CHANNELS);
    assert_int_equal(job_parse("job.yaml", text, strlen(text), NULL, 0, &job), STATUS_OK);
    assert_int_equal(archive_open(job, &archive), STATUS_OK);
    job_destroy(job);
    return archive;
}

struct making {
    struct archive *archive;
    struct visibilities_spec visibilities;
    struct product_spec spec;
    double coeff[2 * CHANNELS];
};

static void make_spec(struct making *m, uint32_t npairs, const uint32_t (*pairs)[2], uint32_t npols,
                      const struct visibilities_centre *to)
{
    *m = (struct making){.archive = open_archive()};
    m->visibilities = (struct visibilities_spec){.npairs = npairs,
                                                 .npols = npols,
                                                 .pairs = pairs,
                                                 .nantennas = STATIONS,
                                                 .antennas = antennas,
                                                 .name = "Karoo",
                                                 .latitude_deg = -30.7110,
                                                 .longitude_deg = 21.4439,
                                                 .altitude_m = 1053,
                                                 .centre = to,
                                                 .look = look,
                                                 .context = to};
    memcpy(m->visibilities.place, antennas[0].itrf, sizeof m->visibilities.place);
    m->spec = (struct product_spec){.kind = PRODUCT_VISIBILITIES,
                                    .job_text = "the job",
                                    .inputs = "a file",
                                    .rows = ROWS,
                                    .archive = m->archive,
                                    .steps.bits = 32,
                                    .bank = {.channels = CHANNELS,
                                             .taps = 1,
                                             .samples_per_spectrum = 2 * CHANNELS,
                                             .hop = 2 * CHANNELS,
                                             .oversample = {1, 1},
                                             .nchannels = CHANNELS,
                                             .coeff = m->coeff},
                                    .integrate = DUMP,
                                    .nifs = npairs * npols,
                                    .average = 1,
                                    .frequencies = CHANNELS,
                                    .combine.stokes.feed = FEED_LINEAR,
                                    .weights = {.are_kept = 1, .least = 0.5},
                                    .visibilities = &m->visibilities};
}

/* Writes rows as a run does, whose numbers are their own places, and weights that some flag. */
static void write_rows(const struct product_spec *spec, const struct product_place *place, int fd)
{
    uint64_t floats = place->row_bytes / sizeof(float);
    uint64_t shares = floats / 2;
    float *rows = calloc((size_t)(ROWS * floats), sizeof *rows);
    float *weights = calloc((size_t)(ROWS * shares), sizeof *weights);
    uint32_t *sums = calloc((size_t)spans_count(place), sizeof *sums);
    assert_true(rows && weights && sums);
    for (uint64_t i = 0; i < ROWS * floats; i++) {
        rows[i] = (float)i;
    }
    for (uint64_t i = 0; i < ROWS * shares; i++) {
        static const float values[] = {1, 0.5F, 0.25F, 0};
        weights[i] = values[i % 4];
    }
    spans_add(place, 0, ROWS, 0, place->row_bytes, rows, sums);
    sums[0] = spans_crc(place, 0, sums[0]);
    assert_int_equal(file_write(fd, out, place->data_offset, rows, ROWS * place->row_bytes),
                     STATUS_OK);

    /* The sum of what is beside the rows is that of the file. */
    struct output_spec_item item = {
        .integrate = 1, .ratio = 1, .spec = *spec, .row_bytes = place->row_bytes, .column = 1};
    struct output_spec spec_of_outputs = {.items = &item,
                                          .count = 1,
                                          .chunking = {.spectra = ROWS,
                                                       .chunk_spectra = 3,
                                                       .block_spectra = 3,
                                                       .streams = 8,
                                                       .group_streams = 8}};
    struct output output = {.part = out, .fd = fd, .place = *place};
    struct outputs outputs = {.spec = &spec_of_outputs, .count = 1, .outputs = &output};
    for (uint64_t c = 0; c < 2; c++) {
        const struct chunk chunk = chunk_at(&spec_of_outputs.chunking, c);
        const struct beside_file file = outputs_beside_file(&outputs, 0);
        uint32_t found = 0;
        output.beside = 0;
        assert_int_equal(outputs_weigh(&outputs, 0, &chunk, chunk.first, chunk.count,
                                       weights + chunk.first * shares),
                         STATUS_OK);
        assert_int_equal(beside_sum(&file, &chunk, outputs_rows_of(&outputs, 0, &chunk), &found),
                         STATUS_OK);
        assert_true(output.beside != 0 && found == output.beside);
    }
    const struct product_counts counts = {5, 0, sums};
    assert_int_equal(spans_count(place), 1);
    assert_int_equal(product_put_counts(fd, out, place, &counts), STATUS_OK);
    free(rows);
    free(weights);
    free(sums);
}

static void write_product(const struct product_spec *spec, struct product_place *place)
{
    int fd = -1;
    double times[ROWS];
    struct time_axis time = product_time(spec);
    unlink(out);
    assert_int_equal(file_open_new(out, &fd), STATUS_OK);
    assert_int_equal(product_create(fd, out, spec, place, NULL), STATUS_OK);
    assert_int_equal(place->row_bytes, product_spec_row_bytes(spec));
    for (int i = 0; i < ROWS; i++) {
        times[i] = time.first + i * time.step;
    }
    assert_int_equal(file_write(fd, out, place->time_offset, times, sizeof times), STATUS_OK);
    write_rows(spec, place, fd);
    assert_int_equal(mark_hdf5(fd, out, MARK_NONE), STATUS_OK);
    file_close(fd);
}

static void read_values(const char *name, hid_t type, void *to, uint64_t count)
{
    struct h5_dataset dataset = {0};
    hid_t file = -1;
    assert_int_equal(h5_open_file(out, &file), STATUS_OK);
    assert_int_equal(h5_dataset_open(file, out, name, &dataset), STATUS_OK);
    assert_int_equal(h5_dataset_read(&dataset, out, name, type, count, to), STATUS_OK);
    h5_dataset_close(&dataset);
    h5_close(file);
}

static void check_product(const struct making *m, const struct product_place *place,
                          const char *pols)
{
    struct product *product = NULL;
    struct contents_found found = {0};
    struct product_weights weights = {0};
    const struct visibilities_spec *v = &m->visibilities;
    assert_int_equal(product_open(out, &product), STATUS_OK);
    assert_non_null(product);
    assert_int_equal(product->kind, PRODUCT_VISIBILITIES);
    assert_int_equal(product->rows, ROWS);
    assert_int_equal(product->frequencies, CHANNELS);
    assert_int_equal(product->array.pairs, v->npairs);
    assert_int_equal(product->array.pols, v->npols);
    assert_int_equal(product->array.stations, STATIONS);
    assert_int_equal(product->streams, v->npairs * v->npols);
    assert_string_equal(product->ifs.pol_type, pols);
    assert_memory_equal(&product->place, place, sizeof *place);
    assert_int_equal(product->weights, v->npairs * v->npols * CHANNELS);
    assert_int_equal(product_weigh(product, &weights), STATUS_OK);
    assert_int_equal(weights.count, ROWS * product->weights);
    assert_int_equal(weights.flags.count, weights.count);
    assert_int_equal(weights.flags.flagged, weights.count / 2);
    assert_int_equal(contents_compare(out, place, &found), STATUS_OK);
    assert_true(found.known > 60);
    assert_int_equal(found.bad, 0);
    text_free(&found.words);
    assert_int_equal(compare_product(product, 0, &m->spec), STATUS_OK);
    product_destroy(product);
}

/* The file is not that of another array, also where one number differs. */
static void check_differences(struct making *m)
{
    struct product *product = NULL;
    assert_int_equal(product_open(out, &product), STATUS_OK);
    m->visibilities.altitude_m += 1;
    assert_int_equal(compare_product(product, 0, &m->spec), STATUS_DATA);
    assert_non_null(strstr(report_cause(), "/Header/altitude"));
    report_clear();
    m->visibilities.altitude_m -= 1;
    product_destroy(product);
}

static void products_are_read_again(void **state)
{
    (void)state;
    struct making m;
    struct product_place place;
    int64_t numbers[ROWS * MOST_PAIRS];
    make_spec(&m, MOST_PAIRS, all, 4, NULL);
    write_product(&m.spec, &place);
    check_product(&m, &place, "xx,yy,yx,xy");
    check_differences(&m);
    read_values("Header/ant_2_array", H5T_NATIVE_INT64, numbers, ROWS * MOST_PAIRS);
    for (int i = 0; i < ROWS * MOST_PAIRS; i++) {
        assert_int_equal(numbers[i], all[i % MOST_PAIRS][0]);
    }
    archive_destroy(m.archive);

    make_spec(&m, 3, some, 4, &centre);
    m.spec.combine.stokes = (struct stokes){.feed = FEED_CIRCULAR, .is_swapped = 1};
    write_product(&m.spec, &place);
    check_product(&m, &place, "ll,rr,rl,lr");
    read_values("Header/Nants_data", H5T_NATIVE_INT64, numbers, 1);
    assert_int_equal(numbers[0], 3);
    read_values("Header/ant_1_array", H5T_NATIVE_INT64, numbers, ROWS * 3);
    assert_int_equal(numbers[0], 2);
    archive_destroy(m.archive);

    make_spec(&m, 3, some, 1, NULL);
    write_product(&m.spec, &place);
    check_product(&m, &place, "xx");
    archive_destroy(m.archive);
}

/* More baselines and times than are written at once. */
static void long_axes_are_whole(void **state)
{
    (void)state;
    enum { LONG = 2000 };
    static double days[LONG * MOST_PAIRS], uvw[LONG * MOST_PAIRS][3];
    struct making m;
    struct product_place place;
    struct visibilities_sky sky;
    int fd = -1;
    make_spec(&m, MOST_PAIRS, all, 1, &centre);
    m.spec.rows = LONG;
    unlink(out);
    assert_int_equal(file_open_new(out, &fd), STATUS_OK);
    assert_int_equal(product_create(fd, out, &m.spec, &place, NULL), STATUS_OK);
    assert_int_equal(mark_hdf5(fd, out, MARK_NONE), STATUS_OK);
    file_close(fd);
    read_values("Header/time_array", H5T_NATIVE_DOUBLE, days, LONG * MOST_PAIRS);
    read_values("Header/uvw_array", H5T_NATIVE_DOUBLE, uvw, LONG * MOST_PAIRS * 3);
    for (uint64_t i = 0; i < LONG * MOST_PAIRS; i++) {
        double seconds = product_time(&m.spec).first + (double)(i / MOST_PAIRS) * 16.384;
        const uint32_t *pair = all[i % MOST_PAIRS];
        assert_int_equal(look(&centre, i / MOST_PAIRS, seconds, &sky), STATUS_OK);
        double w = 0;
        for (int k = 0; k < 3; k++) {
            w += sky.uvw[2][k] * (antennas[pair[0]].itrf[k] - antennas[pair[1]].itrf[k]);
        }
        assert_true(fabs(days[i] - (2458849.5 + seconds / 86400)) < 1e-9);
        assert_true(fabs(uvw[i][2] - w) < 1e-6);
    }
    archive_destroy(m.archive);
}

/* How long it would become is known without it. */
static void size_is_foreseen(void **state)
{
    (void)state;
    struct making m;
    struct product_place place;
    struct product_place foreseen;
    make_spec(&m, MOST_PAIRS, all, 4, NULL);
    write_product(&m.spec, &place);
    m.spec.omits_frequencies = 1;
    assert_int_equal(product_create(-1, "none", &m.spec, &foreseen, NULL), STATUS_OK);
    assert_memory_equal(&foreseen, &place, sizeof place);
    archive_destroy(m.archive);
}

static void check_refused(struct making *m, const char *words)
{
    struct product_place place;
    assert_int_equal(product_create(-1, "none", &m->spec, &place, NULL), STATUS_USAGE);
    assert_non_null(strstr(report_cause(), words));
    report_clear();
}

static void what_uvh5_cannot_say_is_refused(void **state)
{
    (void)state;
    struct making m;
    make_spec(&m, MOST_PAIRS, all, 4, NULL);
    m.spec.combine.stokes.feed = FEED_AUTO;
    check_refused(&m, "feed, linear");
    m.visibilities.npols = 1;
    m.spec.nifs = MOST_PAIRS;
    check_refused(&m, "feed, linear");
    m.spec.combine.stokes.feed = FEED_LINEAR;
    m.archive->sky.has_start = 0;
    check_refused(&m, "input.layout.start");
    m.archive->sky.has_start = 1;
    m.archive->sample_rate_hz = 1e9;
    check_refused(&m, "longer `integrate`");
    m.archive->sample_rate_hz = 1e3;
    m.spec.compression = COMPRESSION_DEFLATE;
    check_refused(&m, "not compressed");
    archive_destroy(m.archive);
}

static int begin(void **state)
{
    (void)state;
    h5_begin();
    assert_non_null(mkdtemp(folder));
    snprintf(in, sizeof in, "%s/in.h5", folder);
    snprintf(out, sizeof out, "%s/out.h5", folder);
    small_archive_write(in, SAMPLES, STATIONS * POLS, 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(in);
    unlink(out);
    return rmdir(folder);
}

static char *left_in;

static void leave_products(void **state)
{
    (void)state;
    static const char *const names[] = {"drift.uvh5", "phased.uvh5"};
    for (int i = 0; i < 2; i++) {
        struct making m;
        struct product_place place;
        char path[512];
        make_spec(&m, MOST_PAIRS, all, 4, i ? &centre : NULL);
        write_product(&m.spec, &place);
        snprintf(path, sizeof path, "cp %s %s/%s", out, left_in, names[i]);
        assert_int_equal(system(path), 0);
        archive_destroy(m.archive);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_read_again), cmocka_unit_test(long_axes_are_whole),
        cmocka_unit_test(size_is_foreseen), cmocka_unit_test(what_uvh5_cannot_say_is_refused)};
    const struct CMUnitTest leaving[] = {cmocka_unit_test(leave_products)};
    left_in = argc > 1 ? argv[1] : NULL;
    return left_in ? cmocka_run_group_tests(leaving, begin, end)
                   : cmocka_run_group_tests(tests, begin, end);
}
