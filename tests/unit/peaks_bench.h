/* Parts that tests of the search on a device share: series that a device has made, searched there
 * and by the host. */
#ifndef VOLTMILL_TESTS_PEAKS_BENCH_H
#define VOLTMILL_TESTS_PEAKS_BENCH_H

#include "compute/boxcar.h"
#include "compute/dedisperse.h"
#include "compute/device_side.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_DMS = 7, SLOPE = 5 /* samples from one DM to the next */ };

static inline void assert_ok(status_t st)
{
    if (st != STATUS_OK) {
        fail_msg("%s", report_cause());
    }
}

static inline double uniform(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Two channels, [channel][times]: the first one's noise has mean 1000 and rms 10. */
static inline void fill(float *x, size_t times)
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
static inline void add_bursts(float *x, size_t times, uint32_t widths)
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

/* Adds missing values, for single times and for cells and blocks of noise. */
static inline void add_missing(float *x, size_t times)
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
    uint32_t ndms;
    backend_t *backend;
    struct dispersion delays;
    dedisperse_t *stage;
    buffer_t *in, *rows, *out;
};

/* Series of b->ndms sums whose second channel comes later from one to the next; the device keeps
 * them.
 */
static inline void make_series(struct bench *b, const float *x, size_t times, size_t from,
                               size_t outputs, size_t stride)
{
    static const struct backend_options options = {.local_size = 1};
    static const double freq[2] = {2e9, 1e9};
    struct dedisperse_input input = {from * sizeof *x, sizeof *x, times * sizeof *x, 0};
    double dms[MOST_DMS];
    void *host = NULL;
    for (uint32_t d = 0; d < b->ndms; d++) {
        dms[d] = d * SLOPE / (dispersion_default_constant * 0.75e-6);
    }
    struct dispersion_spec spec = {
        .freq_hz = freq, .nchannels = 2, .sample_seconds = 1, .dms = dms, .ndms = b->ndms};
    assert_ok(dispersion_create(&spec, &b->delays));
    struct dedisperse_spec sums = {
        .format = SERIES_F32, .delays = &b->delays, .max_samples = outputs, .threads = 1};
    assert_ok(backend_open(BACKEND_OPENCL, &options, &b->backend));
    assert_ok(dedisperse_create(b->backend, &sums, &b->stage));
    assert_ok(buffer_create(b->backend, BUFFER_IN, 2 * times * sizeof *x, &b->in));
    assert_ok(buffer_create(b->backend, BUFFER_BETWEEN, b->ndms * stride * sizeof *x, &b->rows));
    assert_ok(buffer_get(b->in, &host));
    memcpy(host, x, 2 * times * sizeof *x);
    assert_ok(dedisperse_run(b->stage, b->in, &input, outputs, b->rows, stride));
}

static inline void end(struct bench *b)
{
    buffer_destroy(b->in);
    buffer_destroy(b->rows);
    buffer_destroy(b->out);
    stage_destroy(b->stage);
    dispersion_free(&b->delays);
    backend_close(b->backend);
}

/* Searches `ndms` series from time `from` on, on the device and by the host. Gives how many peaks
 * there are. */
static inline size_t compare(const struct boxes *boxes, uint32_t ndms, size_t stride,
                             int is_missing, uint64_t from)
{
    struct bench b = {.ndms = ndms};
    size_t times = boxes->outputs + ndms * SLOPE;
    uint64_t cells = boxes_cells(boxes);
    uint64_t first = from / boxes->block * boxes->block;
    float *x = malloc(2 * times * sizeof *x);
    struct peak *expected = calloc(ndms * cells, sizeof *expected);
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
    assert_ok(buffer_create(b.backend, BUFFER_OUT, ndms * cells * sizeof *expected, &b.out));
    const struct peaks_rows of = {ndms, stride, from};
    assert_ok(peaks->ops->run(peaks, b.rows, &of, first, boxes->outputs, b.out));
    assert_ok(buffer_get(b.out, &found));
    assert_ok(buffer_get(b.rows, &series));
    const struct boxcar_rows rows = {series, NULL, ndms, stride, from};
    const struct peak *now = found;
    for (uint64_t at = first; at < boxes->outputs;) {
        struct boxes_block block = boxes_block_at(boxes, at);
        uint64_t here = (block.end - block.first + PEAK_CELL - 1) / PEAK_CELL;
        boxcar_run(boxcar, &block, &rows, expected);
        for (uint64_t i = 0; i < ndms * here; i++) {
            some += expected[i].snr > 0;
        }
        assert_memory_equal(now, expected, ndms * here * sizeof *now);
        now += ndms * here;
        at = block.end;
    }
    stage_destroy(peaks);
    boxcar_destroy(boxcar);
    end(&b);
    free(x);
    free(expected);
    return some;
}

#endif
