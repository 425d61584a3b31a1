/* The table of formats, asked row by row. */
#include "input/format/formats.h"

#include "input/assumed.h"
#include "input/format/unread.h"
#include "io/apart.h"
#include "io/hdf5/h5.h"
#include "io/mark.h"

#include <hdf5.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define FORMAT_ROW(name) &(name),
static const struct format *const rows[] = {FORMATS(FORMAT_ROW)};
enum { ROWS = sizeof rows / sizeof *rows };

/* Formats of HDF5 files would say of all others only that these are not HDF5. What cannot be looked
 * at is left to them. */
static status_t formats_check_hdf5(const char *path)
{
    status_t st = STATUS_OK;
    struct stat info;
    struct text names = {0};
    struct text looks = {0};
    if (stat(path, &info) != 0) {
        goto out;
    }
    REQUIRE(!S_ISDIR(info.st_mode), STATUS_DATA,
            "%s is not a file, but a folder without a recording of Digital RF: expected a file, a "
            "list of files, or a pattern as '%s/*.raw'",
            path, path);
    if (!S_ISREG(info.st_mode) || h5_is_hdf5(path) != 0) {
        goto out;
    }
    REQUIRE(info.st_size > 0, STATUS_DATA, "%s is not an HDF5 file (0 bytes): it is empty", path);
    TRY(unread_describe(path, &looks));
    REQUIRE(looks.length == 0, STATUS_DATA, "%s is not an HDF5 file (%" PRIu64 " bytes): it %s",
            path, (uint64_t)info.st_size, looks.data);
    for (size_t i = 0; i < ROWS; i++) {
        const char *comma = names.length > 0 ? ", " : "";
        TRY(rows[i]->is_no_product ? text_add(&names, "%s%s", comma, rows[i]->name) : STATUS_OK);
    }
    FAIL(STATUS_DATA,
         "%s is not an HDF5 file (%" PRIu64 " bytes), and shows no other format (%s): "
         "`layout: {format: NAME}` reads it as one of them (vdif: also behind other bytes)",
         path, (uint64_t)info.st_size, names.data);
out:
    text_free(&names);
    text_free(&looks);
    return st;
}

status_t formats_recognise(const char *path, const struct format **out)
{
    status_t st = STATUS_OK;
    int is_it = 0;
    *out = NULL;
    apart_at("%s", path);
    TRY(mark_refuse(path));
    for (size_t i = 0; i < ROWS && !is_it; i++) {
        TRY(rows[i] == &native_format ? formats_check_hdf5(path) : STATUS_OK);
        TRY(rows[i]->recognise(path, &is_it));
        *out = is_it ? rows[i] : NULL;
    }
out:
    return st;
}

status_t formats_is_other_filterbank(const char *path, int *out)
{
    status_t st = STATUS_OK;
    *out = 0;
    for (size_t i = 0; i < ROWS && !*out; i++) {
        int is_asked = rows[i]->is_no_product && rows[i]->open_filterbank;
        TRY(is_asked ? rows[i]->recognise(path, out) : STATUS_OK);
    }
out:
    return st;
}

/* Of the formats of voltages. */
static status_t formats_add_names(struct text *out)
{
    status_t st = STATUS_OK;
    for (size_t i = 0; i < ROWS; i++) {
        const char *comma = out->length > 0 ? ", " : "";
        TRY(rows[i]->open ? text_add(out, "%s%s", comma, rows[i]->name) : STATUS_OK);
    }
out:
    return st;
}

/* The format that the job names. */
static status_t formats_find(const char *name, const struct format **out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i]->open && strcmp(rows[i]->name, name) == 0) {
            *out = rows[i];
            goto out;
        }
    }
    TRY(formats_add_names(&names));
    FAIL(STATUS_USAGE, "input.layout.format is %s, expected one of %s", name, names.data);
out:
    text_free(&names);
    return st;
}

/* Removes an impossible position, so that products do not inherit it. Warns of it. */
static void formats_check_position(const char *path, struct archive *archive)
{
    if (archive->sky.has_position &&
        !(fabs(archive->sky.ra_deg) <= 360 && fabs(archive->sky.dec_deg) <= 90)) {
        report_warn("%s: RA %.10g, Dec %.10g degrees cannot be: its position is taken as unknown",
                    path, archive->sky.ra_deg, archive->sky.dec_deg);
        archive->sky.has_position = 0;
        archive->sky.ra_deg = archive->sky.dec_deg = 0;
    }
}

/* A start of a file outside 1950 to 2100 was never set, or is damaged. */
static status_t formats_check_start(int is_said, const struct utc *start, int *has_start,
                                    char **assumed)
{
    enum { FIRST_DAY = 33282, LAST_DAY = 88069 /* MJD */ };
    status_t st = STATUS_OK;
    char text[UNITS_TEXT];
    if (!is_said && *has_start && (start->mjd_day < FIRST_DAY || start->mjd_day >= LAST_DAY)) {
        *has_start = 0;
        TRY(assume(assumed, "a start at MJD %d (%s) is outside 1950 to 2100: the start is unknown",
                   start->mjd_day, units_utc(*start, text)));
    }
out:
    return st;
}

status_t formats_open(const struct format_input *input, struct archive **out)
{
    status_t st = STATUS_OK;
    const struct format *format = &described_format;
    struct text expected = {0};
    for (size_t i = 0; i < input->npaths; i++) {
        apart_at("%s", input->paths[i]);
        TRY(mark_refuse(input->paths[i]));
    }
    if (input->layout->format) {
        TRY(formats_find(input->layout->format, &format));
    } else if (input->layout->automatic) {
        TRY(formats_recognise(input->paths[0], &format));
    }
    REQUIRE(
        !format || format->open, STATUS_DATA,
        "%s is %s: it holds powers, but channelise expects voltages: a job of input and "
        "dedisperse alone reads it (docs/job-file.md); if another dataset of it holds voltages, "
        "input.layout describes them",
        input->paths[0], format->title);
    if (!format) {
        TRY(formats_add_names(&expected));
        FAIL(STATUS_DATA,
             "%s is not %s, nor of another known format (%s): describe it under input.layout, see "
             "docs/archives.md",
             input->paths[0], native_format.expected, expected.data);
    }
    REQUIRE(!input->layout->has_dropped || format == &guppi_format, STATUS_USAGE,
            "input.layout.dropped is of GUPPI RAW, whose headers count lost packets, but %s is not",
            input->paths[0]);
    TRY(format->open(input, out));
    formats_check_position(input->paths[0], *out);
    TRY(formats_check_start(input->layout->time.has_start, &(*out)->sky.start,
                            &(*out)->sky.has_start, &(*out)->assumed));
out:
    text_free(&expected);
    return st;
}

status_t formats_open_filterbank(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    const struct format *format = NULL;
    TRY(formats_recognise(path, &format));
    /* A file that shows no format is opened as the commonest, which says what it lacks. */
    format = format && format->open_filterbank ? format : &fbh5_format;
    TRY(format->open_filterbank(path, out));
    struct fbh5_time *time = &(*out)->time;
    TRY(formats_check_start((*out)->is_ours, &time->start, &time->has_start, &(*out)->assumed));
    time->tstart_mjd = time->has_start ? time->tstart_mjd : 0;
out:
    return st;
}

status_t formats_add_titles(struct text *out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    TRY(formats_add_names(&names));
    TRY(text_add(out, "%s nor %s, nor of another known format (%s)", native_format.title,
                 fbh5_format.title, names.data));
out:
    text_free(&names);
    return st;
}
