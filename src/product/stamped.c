/* Looks at what the first bytes say; HDF5 is for others. */
#include "product/stamped.h"

#include "input/format/formats.h"

#include <string.h>

status_t stamped_open(const char *path, struct stamped *out)
{
    status_t st = STATUS_OK;
    int is_it = 0;
    *out = (struct stamped){.fbh5 = NULL};
    TRY(formats_is_other_filterbank(path, &is_it));
    if (is_it) {
        TRY(fbh5_open(path, &out->fbh5));
        TRY(stamp_read(path, &out->stamp, &out->has_stamp));
        out->what = strcmp(out->fbh5->format, "PSRFITS") == 0 ? "a file of search-mode PSRFITS"
                                                              : "a SIGPROC filterbank";
    }
out:
    return st;
}

void stamped_end(struct stamped *stamped)
{
    fbh5_destroy(stamped->fbh5);
    stamped->fbh5 = NULL;
}

int stamped_is_whole(const struct stamped *stamped)
{
    return stamped->has_stamp && stamped->fbh5->rows == stamped->stamp.rows;
}

status_t stamped_refuse(const char *path)
{
    status_t st = STATUS_OK;
    struct stamped stamped;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    TRY(stamped_open(path, &stamped));
    if (!stamped.fbh5) {
        goto out;
    }
    const char *rows = units_count(stamped.fbh5->rows, a);
    REQUIRE(stamped.has_stamp, STATUS_USAGE,
            "%s is %s of %s spectra, not of a job of voltmill as it is: it holds neither job nor "
            "CRCs, so nothing can be checked; `voltmill info` describes it",
            path, stamped.what, rows);
    REQUIRE(stamped_is_whole(&stamped), STATUS_DATA,
            "%s is %s that is cut short: it holds %s of %s spectra", path, stamped.what, rows,
            units_count(stamped.stamp.rows, b));
    FAIL(STATUS_USAGE,
         "%s is %s, all of its %s spectra are there: nothing else can be checked, it holds neither "
         "CRCs nor its job, but a digest of that: `voltmill run JOB` tells whether it was made by "
         "this job, of these files",
         path, stamped.what, rows);
out:
    stamped_end(&stamped);
    return st;
}
