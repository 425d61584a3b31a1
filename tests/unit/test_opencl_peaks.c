/* Series searched on whatever OpenCL device there is: the bytes of the host's search. */
#include "find_device.h"
#include "peaks_bench.h"

static void agrees(const struct boxes *boxes, size_t stride, int is_missing, uint64_t from)
{
    size_t found = compare(boxes, MOST_DMS, stride, is_missing, from);
    assert_true(is_missing || found >= 3);
}

/* Rounds the floats of a row up, so that rows begin where the fastest kernel requires. */
static size_t fours(size_t times)
{
    return (times + 3) / 4 * 4;
}

static void every_width_agrees(void **state)
{
    (void)state;
    for (uint32_t widths = 1; has_device && widths <= PEAKS_MOST_WIDTH; widths *= 2) {
        /* Kernels are slow to build on a processor. */
        if (widths == 1 || widths == 4 || widths == 256 || getenv("VOLTMILL_TEST_ALL")) {
            const struct boxes boxes = boxes_of(widths, 5, 14000 + widths);
            agrees(&boxes, fours(14000 + widths), 0, 0);
            agrees(&boxes, 14400, 1, 0);
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
        agrees(&boxes, i % 3 == 0 ? fours(lengths[i]) : lengths[i] + i % 3, i % 2, 0);
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
    agrees(&boxes, 13000, 0, 4096);
    agrees(&boxes, 13000, 0, 8192);
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
