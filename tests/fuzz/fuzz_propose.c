/* Jobs that are proposed for HDF5 files of no known format. Input: the file's bytes. */
#include "fuzz.h"

#include "input/propose/propose.h"
#include "io/hdf5/h5.h"
#include "job/job.h"

#include <string.h>

/* A proposal is a job, or lacks only what "???" stands for. */
static void check(const struct text *text)
{
    struct job *job = NULL;
    int is_open =
        strstr(text->data, ": ???") || strstr(text->data, "???\"") || strstr(text->data, "???,");
    EXPECT(strncmp(text->data, "input:\n", 7) == 0);
    status_t st = job_parse("proposed", text->data, text->length, NULL, 0, &job);
    EXPECT(st == STATUS_OK || (is_open && strstr(report_cause(), "replace ???")));
    report_clear();
    job_destroy(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text attributes = {0};
    struct text job = {0};
    ssize_t before = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    fuzz_enter_folder();
    FILE *file = fopen(FUZZ_ARCHIVE, "wb");
    EXPECT(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    status_t st = propose_layout(FUZZ_ARCHIVE, &attributes, &job);
    int hdf5_failed = fuzz_expect_cause(st);
    if (st == STATUS_OK && job.data) {
        check(&job);
    }
    text_free(&attributes);
    text_free(&job);
    fuzz_leave_folder();
    EXPECT(hdf5_failed || H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == before);
    return 0;
}
