/* Files of a filter's coefficients, text or HDF5. Input: the file's bytes. */
#include "fuzz.h"

#include "input/coefficients.h"
#include "io/hdf5/h5.h"

#include <math.h>
#include <string.h>

static char name[] = "coefficients"; /* of the file */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    h5_begin();
    report_quiet(1);
    return 0;
}

/* Checks that a message of rank 0 arrives unchanged, and that numbers are finite, and not all 0. */
static void check(const struct job *job)
{
    const struct job_filter *filter = job->filters;
    struct job_filter copy = {.source = FILTER_COEFFICIENTS, .coefficients = name};
    struct job other = {.filters = &copy, .nfilters = 1};
    struct text sent = {0};
    size_t numbers = (size_t)filter->ntaps * (filter->is_complex ? 2 : 1);
    double largest = 0;
    EXPECT(coefficients_pack(job, &sent) == STATUS_OK);
    struct unpack in = {.data = sent.data, .length = sent.length};
    EXPECT(coefficients_unpack(&in, &other) == STATUS_OK && in.at == in.length);
    EXPECT(copy.ntaps == filter->ntaps && copy.is_complex == filter->is_complex);
    EXPECT(memcmp(copy.taps, filter->taps, numbers * sizeof *copy.taps) == 0);
    for (size_t i = 0; i < numbers; i++) {
        EXPECT(isfinite(filter->taps[i]));
        largest = fmax(largest, fabs(filter->taps[i]));
    }
    EXPECT(largest > 0);
    free(copy.taps);
    text_free(&sent);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct job_filter filter = {.source = FILTER_COEFFICIENTS, .coefficients = name};
    struct job job = {.filters = &filter, .nfilters = 1};
    ssize_t before = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    fuzz_enter_folder();
    FILE *file = fopen(filter.coefficients, "wb");
    EXPECT(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    status_t st = coefficients_read(&job);
    int hdf5_failed = fuzz_expect_cause(st);
    EXPECT((st == STATUS_OK) == (filter.ntaps > 0));
    if (st == STATUS_OK) {
        check(&job);
    }
    free(filter.taps);
    fuzz_leave_folder();
    EXPECT(hdf5_failed || H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == before);
    return 0;
}
