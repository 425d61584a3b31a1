/* Series searched on whatever OpenCL device there is: the bytes of the host's search. */
#include "compute/boxcar.h"
#include "compute/dedisperse.h"
#include "compute/peaks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DMS = 7, SLOPE = 5 /* samples from one DM to the next */ };

static int has_device;

static int find_device(void **state)
{
    struct text text = {0};
    (void)state;
    has_device = backend_devices(&text) == STATUS_OK && text.length > 0;
    text_free(&text);
    report_clear();
    return 0;
}

static void assert_ok(status_t st)
{
    if (st != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Two channels, [channel][times]: the first one's noise has mean 1000 and rms 10. */
static void fill(float *x, size_t times)
{
    uint64_t seed = times;
    for (size_t i = 0; i < 2 * times; i++) {
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            sum += uniform(&seed);
        }
        x[i] = (float)((i < times ? 1000 : 0) + 10 * (sum - 6));
    }
}

/* Bursts of all widths and strengths, some across the borders of cells and blocks. */
static void add_bursts(float *x, size_t times, uint32_t widths)
{
    uint64_t seed = 5;
    for (int i = 0; i < 60; i++) {
        size_t at = i % 3 == 0 ? (size_t)(i / 3 + 1) * 4096 - (size_t)(i % 7)
                               : (size_t)(uniform(&seed) * (double)times);
        size_t width = 1 + (size_t)(uniform(&seed) * 1.5 * widths);
        double snr = 4 + 30 * uniform(&seed);
        for (size_t t = at; t < at + width && t < times; t++) {
            x[t] += (float)(10 * snr / sqrt((double)width));
        }
    }
}

/* What is no number, for single times and for cells and blocks of noise. */
static void add_missing(float *x, size_t times)
{
    static const float what[] = {NAN, INFINITY, -INFINITY, 1e30F, -1e38F};
    static const size_t lengths[] = {1, 1, 2, 70, 200, 1, 3000};
    size_t at = 17;
    for (size_t i = 0; at < times; i++) {
        for (size_t t = at; t < at + lengths[i % 7] && t < times; t++) {
            x[t] = what[i % 5];
        }
        at += 700 + 61 * i;
    }
}

struct bench {
    backend_t *backend;
    struct dispersion delays;
    dedisperse_t *stage;
    buffer_t *in, *rows, *out;
};

/* Series of DMS sums whose second channel comes later from one to the next; the device keeps them.
 */
static void make_series(struct bench *b, const float *x, size_t times, size_t from, size_t outputs,
                        size_t stride)
{
    static const struct backend_options options = {.local_size = 1};
    static const double freq[2] = {2e9, 1e9};
    struct dedisperse_input input = {from * sizeof *x, sizeof *x, times * sizeof *x, 0};
    double dms[DMS];
    void *host = NULL;
    for (int d = 0; d < DMS; d++) {
        dms[d] = d * SLOPE / (dispersion_default_constant * 0.75e-6);
    }
    struct dispersion_spec spec = {
        .freq_hz = freq, .nchannels = 2, .sample_seconds = 1, .dms = dms, .ndms = DMS};
    assert_ok(dispersion_create(&spec, &b->delays));
    struct dedisperse_spec sums = {
        .format = SERIES_F32, .delays = &b->delays, .max_samples = outputs, .threads = 1};
    assert_ok(backend_open(BACKEND_OPENCL, &options, &b->backend));
    assert_ok(dedisperse_create(b->backend, &sums, &b->stage));
    assert_ok(buffer_create(b->backend, BUFFER_IN, 2 * times * sizeof *x, &b->in));
    assert_ok(buffer_create(b->backend, BUFFER_BETWEEN, DMS * stride * sizeof *x, &b->rows));
    assert_ok(buffer_get(b->in, &host));
    memcpy(host, x, 2 * times * sizeof *x);
    assert_ok(dedisperse_run(b->stage, b->in, &input, outputs, b->rows, stride));
}

static void end(struct bench *b)
{
    buffer_destroy(b->in);
    buffer_destroy(b->rows);
    buffer_destroy(b->out);
    dedisperse_destroy(b->stage);
    dispersion_free(&b->delays);
    backend_close(b->backend);
}

/* Searches series of `outputs` times on the device and by the host. */
static void compare(const struct boxes *boxes, size_t stride, int is_missing, uint64_t from)
{
    struct bench b = {.backend = NULL};
    size_t times = boxes->outputs + DMS * SLOPE;
    uint64_t cells = boxes_cells(boxes);
    uint64_t first = from / boxes->block * boxes->block;
    float *x = malloc(2 * times * sizeof *x);
    struct peak *expected = calloc(DMS * cells, sizeof *expected);
    peaks_t *peaks = NULL;
    boxcar_t *boxcar = NULL;
    void *series = NULL;
    void *found = NULL;
    size_t some = 0;
    assert_true(x && expected);
    fill(x, times);
    add_bursts(x, times, boxes->widths);
    if (is_missing) {
        add_missing(x, times);
    }
    make_series(&b, x, times, from, boxes->outputs - from, stride);
    assert_ok(peaks_create(b.backend, boxes, 0, &peaks));
    assert_non_null(peaks);
    assert_ok(boxcar_create(boxes, 2, &boxcar));
    assert_ok(buffer_create(b.backend, BUFFER_OUT, DMS * cells * sizeof *expected, &b.out));
    const struct peaks_rows of = {DMS, stride, from};
    assert_ok(peaks_run(peaks, b.rows, &of, first, boxes->outputs, b.out));
    assert_ok(buffer_get(b.out, &found));
    assert_ok(buffer_get(b.rows, &series));
    const struct boxcar_rows rows = {series, NULL, DMS, stride, from};
    const struct peak *now = found;
    for (uint64_t at = first; at < boxes->outputs;) {
        struct boxes_block block = boxes_block_at(boxes, at);
        uint64_t here = (block.end - block.first + PEAK_CELL - 1) / PEAK_CELL;
        boxcar_run(boxcar, &block, &rows, expected);
        for (uint64_t i = 0; i < DMS * here; i++) {
            some += expected[i].snr > 0;
        }
        assert_memory_equal(now, expected, DMS * here * sizeof *now);
        now += DMS * here;
        at = block.end;
    }
    assert_true(is_missing || some >= 3);
    peaks_destroy(peaks);
    boxcar_destroy(boxcar);
    end(&b);
    free(x);
    free(expected);
}

/* Rows of so many floats begin where the fastest kernel wants them. */
static size_t fours(size_t times)
{
    return (times + 3) / 4 * 4;
}

static void every_width_agrees(void **state)
{
    (void)state;
    for (uint32_t widths = 1; has_device && widths <= PEAKS_MOST_WIDTH; widths *= 2) {
        /* Kernels are slow to build on a processor. */
        if (widths < 4 || widths == 64 || widths == 256 || getenv("VOLTMILL_TEST_ALL")) {
            const struct boxes boxes = boxes_of(widths, 5, 14000 + widths);
            compare(&boxes, fours(14000 + widths), 0, 0);
            compare(&boxes, 14400, 1, 0);
        }
    }
    if (!has_device) {
        skip();
    }
}

/* Blocks whole or not, series shorter than one, odd strides, many peaks. */
static void every_length_agrees(void **state)
{
    static const size_t lengths[] = {512, 513, 600, 4095, 4096, 4097, 4159, 4160, 8192, 8255, 8256};
    (void)state;
    if (!has_device) {
        skip();
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const struct boxes boxes = boxes_of(64, 3, lengths[i]);
        compare(&boxes, i % 3 == 0 ? fours(lengths[i]) : lengths[i] + i % 3, i % 2, 0);
    }
}

/* Rows that begin within the series. */
static void later_rows_agree(void **state)
{
    (void)state;
    if (!has_device) {
        skip();
    }
    const struct boxes boxes = boxes_of(64, 6, 13000);
    compare(&boxes, 13000, 0, 4096);
    compare(&boxes, 13000, 0, 8192);
}

/* Wide boxes are the host's. */
static void wide_boxes_are_left(void **state)
{
    static const struct backend_options options = {.local_size = 1};
    const struct boxes boxes = boxes_of(2 * PEAKS_MOST_WIDTH, 7, 100000);
    backend_t *backend = NULL;
    peaks_t *peaks = NULL;
    (void)state;
    if (!has_device) {
        skip();
    }
    assert_ok(backend_open(BACKEND_OPENCL, &options, &backend));
    assert_ok(peaks_create(backend, &boxes, 0, &peaks));
    assert_null(peaks);
    backend_close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_agrees), cmocka_unit_test(every_length_agrees),
        cmocka_unit_test(later_rows_agree), cmocka_unit_test(wide_boxes_are_left)};
    return cmocka_run_group_tests_name("opencl_peaks", tests, find_device, NULL);
}
