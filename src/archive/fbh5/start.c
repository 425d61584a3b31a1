/* Start times of our own products' roots and of SIGPROC's `tstart`, made to agree. */
#include "archive/fbh5/start.h"

#include "base/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_days = 1e7;

/* Some steps of an MJD as a double. */
static const double rounding = 4e-11;

/* Whether the file says that it is a product of ours. */
static status_t start_is_ours(hid_t file, const char *path, int *out)
{
    status_t st = STATUS_OK;
    char *format = NULL;
    enum product_kind kind;
    int found = 0;
    TRY(h5_find_text(file, path, "format", &format, &found));
    *out = found && product_kind_named(format, &kind);
out:
    free(format);
    return st;
}

static status_t start_read_version(hid_t file, const char *path, int *is_of_centres)
{
    status_t st = STATUS_OK;
    int64_t version = 0;
    int found = 0;
    TRY(h5_get_i64(file, path, "format_version", &version, &found));
    REQUIRE(version <= PRODUCT_VERSION, STATUS_DATA,
            "%s: format_version is %lld, this program knows products up to %d", path,
            (long long)version, PRODUCT_VERSION);
    *is_of_centres = found && version < PRODUCT_VERSION_OF_EDGES;
out:
    return st;
}

/* *found: whether the root says when its times begin to count. */
static status_t start_read_root(hid_t file, const char *path, struct start *start, int *found)
{
    status_t st = STATUS_OK;
    int64_t day = 0;
    int has_first = 0;
    int has_day = 0;
    int has_second = 0;
    TRY(h5_get_f64(file, path, "first_time", &start->first_time, &has_first));
    TRY(h5_get_i64(file, path, "start_mjd_day", &day, &has_day));
    TRY(h5_get_f64(file, path, "start_second", &start->utc.second, &has_second));
    REQUIRE(isfinite(start->first_time) && isfinite(start->utc.second) && day >= 0 &&
                (double)day < most_days,
            STATUS_DATA, "%s: first_time and start are no times", path);
    start->utc.mjd_day = (int32_t)day;
    *found = has_first && has_day && has_second;
out:
    return st;
}

status_t start_read(hid_t file, const char *path, double tstart, double tsamp, struct start *out)
{
    status_t st = STATUS_OK;
    struct start start = {.first_time = tsamp / 2};
    int is_of_centres = 0;
    int has_root = 0;
    int ours = 0;
    int has_header = tstart > 0 && tstart < most_days;
    TRY(start_is_ours(file, path, &ours));
    if (ours) {
        TRY(start_read_version(file, path, &is_of_centres));
        TRY(start_read_root(file, path, &start, &has_root));
    }
    double offset = start.first_time - (is_of_centres ? 0 : tsamp / 2);
    if (has_root && has_header) {
        double expected = utc_mjd(utc_add(start.utc, offset));
        if (!(fabs(tstart - expected) < rounding)) {
            report_warn("%s says tstart = %.15g, but start and first_time of its root make %.15g: "
                        "taken",
                        path, tstart, expected);
        }
    } else if (has_header) {
        start.utc = utc_add(utc_of_mjd(tstart), -offset);
    }
    start.is_known = has_root || has_header;
    *out = start;
out:
    return st;
}
