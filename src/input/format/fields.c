/* What is in HDF5 files of known formats, single attributes of it, and the archive that is made of
 * their description. */
#include "input/format/fields_parts.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/dataset.h"
#include "input/format/override.h"
#include "input/hdf5/stored.h"
#include "io/apart.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS_A_DAY = 86400, MJD_OF_1970 = 40587 };

static const double most_rate_hz = 1e15;

status_t fields_has_object(hid_t file, const char *path, const char *name, int *out)
{
    status_t st = STATUS_OK;
    *out = 1;
    if (*name && strcmp(name, "/") != 0) {
        TRY(h5_has(file, path, name, out));
        *out = *out && H5Oexists_by_name(file, name, H5P_DEFAULT) > 0;
    }
out:
    return st;
}

status_t fields_open_object(hid_t file, const char *path, const char *name, hid_t *out)
{
    status_t st = STATUS_OK;
    apart_at("%s: %s", path, name);
    *out = H5Oopen(file, *name ? name : "/", H5P_DEFAULT);
    H5_TRY(*out, "%s: %s cannot be opened", path, name);
    TRY(h5_require_header(*out, *name ? name : "/"));
out:
    return st;
}

status_t fields_has(hid_t file, const char *path, const char *what, int *out)
{
    status_t st = STATUS_OK;
    char name[200];
    hid_t object = -1;
    snprintf(name, sizeof name, "%s", what);
    char *at = strchr(name, '@');
    if (at) {
        *at = '\0';
    }
    TRY(fields_has_object(file, path, name, out));
    if (*out && at) {
        TRY(fields_open_object(file, path, name, &object));
        TRY(h5_has_attribute(object, path, at + 1, out));
    }
out:
    h5_close(object);
    return st;
}

status_t fields_have(const char *path, const char *const *names, int *is_it)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    *is_it = 1;
    TRY(h5_open_cut_file(path, &file));
    for (; *names && *is_it; names++) {
        TRY(fields_has(file, path, *names, is_it));
    }
out:
    h5_close(file);
    return st;
}

status_t fields_open(const char *path, const char *format, struct fields *out)
{
    *out = (struct fields){path, format, -1};
    return h5_open_cut_file(path, &out->file);
}

void fields_close(struct fields *fields)
{
    if (fields->path) {
        h5_close(fields->file);
    }
    *fields = (struct fields){.file = -1};
}

status_t fields_find(const struct fields *fields, const char *object, const char *name,
                     char where[FIELDS_WHERE], hid_t *out)
{
    status_t st = STATUS_OK;
    int is_there = 0;
    hid_t found = -1;
    int is_root = !*object || strcmp(object, "/") == 0;
    snprintf(where, FIELDS_WHERE, "%s%s%s", fields->path, is_root ? "" : ": ",
             is_root ? "" : object);
    TRY(fields_has_object(fields->file, fields->path, object, &is_there));
    if (is_there) {
        TRY(fields_open_object(fields->file, fields->path, object, &found));
        TRY(h5_has_attribute(found, where, name, &is_there));
    }
    if (is_there) {
        *out = found;
        found = -1;
    }
out:
    h5_close(found);
    return st;
}

#define FIELDS_GET(type, function, get)                                                            \
    status_t function(const struct fields *fields, const char *object, const char *name,           \
                      type *out, int *found)                                                       \
    {                                                                                              \
        status_t st = STATUS_OK;                                                                   \
        char where[FIELDS_WHERE];                                                                  \
        hid_t holder = -1;                                                                         \
        *found = 0;                                                                                \
        TRY(fields_find(fields, object, name, where, &holder));                                    \
        if (holder >= 0) {                                                                         \
            TRY(get(holder, where, name, out, found));                                             \
        }                                                                                          \
    out:                                                                                           \
        h5_close(holder);                                                                          \
        return st;                                                                                 \
    }

FIELDS_GET(char *, fields_text, h5_get_text)
FIELDS_GET(double, fields_f64, h5_get_f64)
FIELDS_GET(int64_t, fields_i64, h5_get_i64)

static status_t fields_require(const struct fields *fields, const char *object, const char *name,
                               int found)
{
    status_t st = STATUS_OK;
    REQUIRE(found, STATUS_DATA, "%s: %s has no attribute %s, expected one in %s", fields->path,
            *object && strcmp(object, "/") != 0 ? object : "the file", name, fields->format);
out:
    return st;
}

status_t fields_need_f64(const struct fields *fields, const char *object, const char *name,
                         double *out)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(fields_f64(fields, object, name, out, &found));
    TRY(fields_require(fields, object, name, found));
    REQUIRE(isfinite(*out), STATUS_DATA, "%s: %s: %s is %g, expected a number", fields->path,
            object, name, *out);
out:
    return st;
}

status_t fields_need_i64(const struct fields *fields, const char *object, const char *name,
                         int64_t *out)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(fields_i64(fields, object, name, out, &found));
    TRY(fields_require(fields, object, name, found));
out:
    return st;
}

struct utc fields_unix(int64_t seconds, double fraction)
{
    int64_t day = seconds / SECONDS_A_DAY;
    int64_t second = seconds % SECONDS_A_DAY;
    if (second < 0) {
        second += SECONDS_A_DAY;
        day--;
    }
    day = day > 500000000 ? 500000000 : day < -500000000 ? -500000000 : day;
    return (struct utc){(int32_t)day + MJD_OF_1970, (double)second + fraction};
}

/* 2000-01-01. */
static const int64_t first_start = 946684800;

status_t fields_start(const char *name, int64_t seconds, double fraction,
                      const struct job_layout *layout, struct job_layout *own, char **assumed)
{
    own->time.has_start = seconds >= first_start;
    own->time.start = fields_unix(seconds, fraction);
    return own->time.has_start || override_has(layout, SAID_START)
               ? STATUS_OK
               : assume(assumed,
                        "%s is %.9g s of 1970, a clock that was never set: the start is unknown; "
                        "input.layout.start says it",
                        name, (double)seconds + fraction);
}

status_t fields_check_rate(const struct fields *fields, double rate_hz)
{
    status_t st = STATUS_OK;
    REQUIRE(rate_hz > 0 && rate_hz <= most_rate_hz, STATUS_DATA,
            "%s: a sample rate of %g Hz, expected more than 0 in %s", fields->path, rate_hz,
            fields->format);
out:
    return st;
}

status_t fields_describe(const struct fields *fields, const char *name,
                         const struct job_layout *layout, struct job_layout *own,
                         struct archive *archive)
{
    status_t st = STATUS_OK;
    TRY(memory_text(name, &archive->layout));
    TRY(override_layout(layout, own));
    TRY(dataset_describe(fields->file, own, "", archive));
    uint64_t chans = archive->count[AXIS_CHAN];
    REQUIRE(own->freq.count == 0 || own->freq.count == chans, STATUS_DATA,
            "%s: %u frequencies of %" PRIu64 " coarse channels in %s", fields->path,
            own->freq.count, chans, fields->format);
    archive->states.start = archive->sky.has_start;
    archive->states.freq = archive->states.freq || own->freq.count > 0;
out:
    return st;
}

status_t fields_override_frequencies(const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t chans = archive->count[AXIS_CHAN];
    if (layout->freq.count > 0) {
        REQUIRE(layout->freq.count == chans, STATUS_USAGE,
                "input.layout.freq_hz lists %u frequencies, but %s and the others have %" PRIu64
                " coarse channels",
                layout->freq.count, archive->parts[0].path, chans);
        memcpy(archive->freq_hz, layout->freq.hz, (size_t)chans * sizeof *archive->freq_hz);
    }
out:
    return st;
}

status_t fields_note_coherent(const struct fields *fields, double dm, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t chans = archive->count[AXIS_CHAN];
    REQUIRE(isfinite(dm), STATUS_DATA, "%s: it was dedispersed to DM %g", fields->path, dm);
    if (dm != 0 && archive->freq_hz) {
        archive->coherent.dm = dm;
        archive->coherent.constant = 1 / 2.41e-4;
        TRY(memory_zeroed((size_t)chans, sizeof *archive->coherent.delay_hz, "frequencies",
                          &archive->coherent.delay_hz));
        memcpy(archive->coherent.delay_hz, archive->freq_hz,
               (size_t)chans * sizeof *archive->coherent.delay_hz);
    }
out:
    return st;
}
