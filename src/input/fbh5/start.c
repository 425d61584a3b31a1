/* Start times of our own products' roots and of SIGPROC's `tstart`, made to agree. */
#include "input/fbh5/start.h"

#include "input/archive.h"

#include <math.h>
#include <stdlib.h>

static const double most_days = 1e7;
static const double most_header_days = 4e5; /* the year 2953; Julian Dates are larger */

/* Some steps of an MJD as a double. */
static const double rounding = 4e-11;

status_t start_read_kind(hid_t file, const char *path, enum product_kind *kind, int *is_ours)
{
    status_t st = STATUS_OK;
    char *format = NULL;
    int found = 0;
    TRY_OUT(h5_find_text(file, path, "format", &format, &found));
    /* Voltages are archives: their roots say other things, and `format` is the native layout's. */
    *is_ours = found && product_kind_named(format, kind) && *kind != PRODUCT_VOLTAGES;
out:
    free(format);
    return st;
}

status_t start_read_version(hid_t file, const char *path, int64_t *version, int *found)
{
    TRY(h5_get_i64(file, path, "format_version", version, found));
    return REQUIRED(*version <= PRODUCT_VERSION, STATUS_DATA,
                    "%s: format_version is %lld, this program knows products up to %d", path,
                    (long long)*version, PRODUCT_VERSION);
}

status_t start_read_root(hid_t file, const char *path, struct start *out, int *has_first_time)
{
    int64_t day = 0;
    int has_day = 0;
    int has_second = 0;
    TRY(h5_get_f64(file, path, "first_time", &out->first_time, has_first_time));
    TRY(h5_get_i64(file, path, "start_mjd_day", &day, &has_day));
    TRY(h5_get_f64(file, path, "start_second", &out->utc.second, &has_second));
    REQUIRE(isfinite(out->first_time) && isfinite(out->utc.second) && day >= 0 &&
                (double)day < most_days,
            STATUS_DATA, "%s: first_time and start are no times", path);
    out->utc.mjd_day = (int32_t)day;
    out->is_known = has_day && has_second;
    return STATUS_OK;
}

status_t start_read(hid_t file, const char *path, double tstart, double tsamp, struct start *out,
                    char **assumed)
{
    struct start start = {.first_time = tsamp / 2};
    enum product_kind kind;
    int64_t version = PRODUCT_VERSION;
    int found = 0;
    int has_root = 0;
    int is_ours = 0;
    int has_header = tstart > 0 && tstart < most_header_days;
    TRY(start_read_kind(file, path, &kind, &is_ours));
    if (is_ours) {
        TRY(start_read_version(file, path, &version, &found));
        TRY(start_read_root(file, path, &start, &has_root));
        has_root &= start.is_known;
    }
    double offset = start.first_time - (version < PRODUCT_VERSION_OF_EDGES ? 0 : tsamp / 2);
    if (has_root && has_header) {
        double expected = utc_mjd(utc_add(start.utc, offset));
        TRY(assume_if(!(fabs(tstart - expected) < rounding), assumed,
                      "tstart is %.15g, start and first_time of the root make %.15g: this is used",
                      tstart, expected));
    } else if (has_header) {
        start.utc = utc_add(utc_of_mjd(tstart), -offset);
    }
    start.is_known = has_root || has_header;
    *out = start;
    return STATUS_OK;
}
