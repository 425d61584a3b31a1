/* The header of a filterbank: SIGPROC's, in attributes of /data. */
#include "input/assumed.h"
#include "input/fbh5/fbh5_parts.h"
#include "input/fbh5/start.h"
#include "input/format/ascii.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

status_t fbh5_find_number(hid_t object, const char *path, const char *name, double *value,
                          int *found)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    char *end = NULL;
    struct utc utc;
    TRY(h5_find_text(object, path, name, &text, found));
    if (!*found) {
        TRY(h5_get_f64(object, path, name, value, found));
        goto out;
    }
    double number = strtod(text, &end);
    end += strspn(end, " ");
    if (strcmp(name, "tstart") == 0 && units_parse_utc(text, &utc)) {
        number = utc_mjd(utc);
        end = strchr(end, '\0');
    }
    REQUIRE(end != text && *end == '\0', STATUS_DATA,
            "%s: attribute %s is \"%s\", expected a number", path, name, text);
    *value = number;
out:
    free(text);
    return st;
}

/* A number of /data; one that only the root has is used, too. */
static status_t fbh5_get_axis(hid_t file, hid_t data, struct fbh5 *fbh5, const char *name,
                              double *value, int *found)
{
    status_t st = STATUS_OK;
    TRY(fbh5_find_number(data, fbh5->path, name, value, found));
    if (!*found) {
        TRY(fbh5_find_number(file, fbh5->path, name, value, found));
        TRY(*found ? assume(&fbh5->assumed, "/data has no %s: that of the root is used, %.15g",
                            name, *value)
                   : STATUS_OK);
    }
out:
    return st;
}

/* Attributes without which there are no axes. */
static status_t fbh5_read_axes(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct {
        const char *name;
        double *value;
    } needed[] = {
        {"fch1", &fbh5->fch1_mhz}, {"foff", &fbh5->foff_mhz}, {"tsamp", &fbh5->time.step}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        int found = 0;
        TRY(fbh5_get_axis(file, data, fbh5, needed[i].name, needed[i].value, &found));
        REQUIRE(found && isfinite(*needed[i].value), STATUS_DATA,
                "%s is no filterbank: attribute %s of /data is %s", fbh5->path, needed[i].name,
                found ? "no number" : "missing");
    }
    REQUIRE(fbh5->time.step > 0, STATUS_DATA, "%s: tsamp = %g s, expected more than 0", fbh5->path,
            fbh5->time.step);
    REQUIRE(fbh5->foff_mhz < 0 || fbh5->foff_mhz > 0 || fbh5->nchannels == 1, STATUS_DATA,
            "%s: foff = 0: %u channels without bandwidth", fbh5->path, fbh5->nchannels);
    /* The numbers' own steps are wider than the channels. */
    double last = fbh5->fch1_mhz + (double)(fbh5->nchannels - 1) * fbh5->foff_mhz;
    REQUIRE(fbh5->nchannels == 1 || (isfinite(last) && last != fbh5->fch1_mhz), STATUS_DATA,
            "%s: foff = %g MHz beside fch1 = %g MHz: %u channels without bandwidth", fbh5->path,
            fbh5->foff_mhz, fbh5->fch1_mhz, fbh5->nchannels);
out:
    return st;
}

/* A number that may be missing; *value is what it then is. */
static status_t fbh5_get_f64(hid_t data, const struct fbh5 *fbh5, const char *name, double *value)
{
    status_t st = STATUS_OK;
    int found = 0;
    double number = 0;
    TRY(h5_get_f64(data, fbh5->path, name, &number, &found));
    if (found && isfinite(number)) {
        *value = number;
    }
out:
    return st;
}

static status_t fbh5_get_i32(hid_t data, const struct fbh5 *fbh5, const char *name, int32_t *value)
{
    status_t st = STATUS_OK;
    int found = 0;
    int64_t number = 0;
    TRY(h5_get_i64(data, fbh5->path, name, &number, &found));
    if (found && number >= INT32_MIN && number <= INT32_MAX) {
        *value = (int32_t)number;
    }
out:
    return st;
}

/* A text such as "12:34:56.7", "12h34m56.7s" or "-12 34 56". */
static int fbh5_parse_sixtieths(const char *text, double most, double *out)
{
    char plain[40];
    size_t length = 0;
    for (text += strspn(text, " "); *text && *text != 's' && length < sizeof plain - 1; text++) {
        plain[length++] = strchr("hdm '\"", *text) ? ':' : *text;
    }
    while (length > 0 && plain[length - 1] == ':') {
        length--;
    }
    plain[length] = '\0';
    return strlen(text) <= 1 && ascii_sixtieths(plain, most, out);
}

/* SIGPROC's hhmmss.s and ddmmss.s, which some writers leave. */
static int fbh5_unpack_sixtieths(double value, double most, double *out)
{
    double whole = floor(fabs(value) / 1e4);
    double minutes = floor((fabs(value) - whole * 1e4) / 100);
    double seconds = fabs(value) - whole * 1e4 - minutes * 100;
    double number = whole + minutes / 60 + seconds / 3600;
    *out = copysign(number, value);
    return minutes < 60 && seconds < 60 && number <= most;
}

/* Hours or degrees: a number or a text. What is neither is taken as 0. */
static status_t fbh5_read_angle(hid_t data, struct fbh5 *fbh5, const char *name, double most,
                                double *out)
{
    status_t st = STATUS_OK;
    char *text = NULL;
    int found = 0;
    double value = 0;
    const char *unit = most == 24 ? "hours" : "degrees";
    *out = 0;
    TRY(h5_find_text(data, fbh5->path, name, &text, &found));
    if (found) {
        TRY(fbh5_parse_sixtieths(text, most, out)
                ? STATUS_OK
                : assume(&fbh5->assumed, "%s is \"%s\", not %s: the position is unknown", name,
                         text, unit));
        goto out;
    }
    TRY(fbh5_get_f64(data, fbh5, name, &value));
    if (fabs(value) <= most) {
        *out = value;
    } else if (fbh5_unpack_sixtieths(value, most, out)) {
        TRY(assume(&fbh5->assumed, "%s is %.12g, not %s: read as sixtieths (ddmmss.s)", name, value,
                   unit));
    } else {
        *out = 0;
        TRY(assume(&fbh5->assumed, "%s is %.12g, not %s: the position is unknown", name, value,
                   unit));
    }
out:
    free(text);
    return st;
}

/* The angle of /data, compared with that of the root. */
static status_t fbh5_compare_angle(hid_t file, hid_t data, struct fbh5 *fbh5, const char *name,
                                   double most, double *out)
{
    status_t st = STATUS_OK;
    double other = 0;
    TRY(fbh5_read_angle(data, fbh5, name, most, out));
    TRY(fbh5_read_angle(file, fbh5, name, most, &other));
    if (other != 0 && fabs(other - *out) > 1e-6) {
        TRY(assume(&fbh5->assumed, "%s of /data is %.9g, of the root %.9g: that of /data is used",
                   name, *out, other));
    }
out:
    return st;
}

static status_t fbh5_read_position(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    TRY(fbh5_compare_angle(file, data, fbh5, "src_raj", 24, &fbh5->head.raj_hours));
    TRY(fbh5_compare_angle(file, data, fbh5, "src_dej", 90, &fbh5->head.dej_degrees));
    /* Who does not know it writes zeros. */
    fbh5->head.has_position = fbh5->head.raj_hours < 0 || fbh5->head.raj_hours > 0 ||
                              fbh5->head.dej_degrees < 0 || fbh5->head.dej_degrees > 0;
    TRY(fbh5_get_f64(data, fbh5, "az_start", &fbh5->head.az_start));
    TRY(fbh5_get_f64(data, fbh5, "za_start", &fbh5->head.za_start));
out:
    return st;
}

static status_t fbh5_read_start(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct start start;
    double mjd = 0;
    int found = 0;
    TRY(fbh5_get_axis(file, data, fbh5, "tstart", &mjd, &found));
    TRY(start_read(file, fbh5->path, mjd, fbh5->time.step, &start, &fbh5->assumed));
    fbh5->time.has_start = start.is_known;
    fbh5->time.start = start.utc;
    fbh5->time.first = start.first_time;
    if (start.is_known) {
        fbh5->time.tstart_mjd = utc_mjd(utc_add(start.utc, start.first_time - fbh5->time.step / 2));
    }
out:
    return st;
}

static status_t fbh5_read_words(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    enum { MOST_LETTERS = 1024 }; /* else these are no polarisations */
    int found = 0;
    TRY(h5_get_text(data, fbh5->path, "source_name", &fbh5->head.source, &found));
    TRY(h5_get_text(data, fbh5->path, "rawdatafile", &fbh5->head.rawdatafile, &found));
    TRY(h5_get_text(data, fbh5->path, "pol_type", &fbh5->pols, &found));
    TRY(h5_get_text(file, fbh5->path, "telescope", &fbh5->head.telescope, &found));
    if (fbh5->pols && (!fbh5->pols[0] || strlen(fbh5->pols) > MOST_LETTERS)) {
        free(fbh5->pols);
        fbh5->pols = NULL;
    }
out:
    return st;
}

/* The names of the polarisations of a power product of our own, where it has one for each. */
static status_t fbh5_read_pol_names(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct text list = {0};
    char **names = NULL;
    size_t count = 0;
    int has_names = 0;
    TRY(h5_has(file, fbh5->path, "pol", &has_names));
    TRY(has_names ? h5_read_texts(file, fbh5->path, "pol", &names, &count) : STATUS_OK);
    for (size_t i = 0; i < count && count == fbh5->nifs; i++) {
        TRY(text_add_line(&list, names[i]));
    }
    fbh5->pol_names = list.data;
    list.data = NULL;
out:
    text_free(&list);
    h5_free_texts(names, count);
    return st;
}

/* Whether it is a power product of our own. */
static status_t fbh5_read_own(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    enum product_kind kind = PRODUCT_SPECTRA;
    int found = 0;
    TRY(start_read_kind(file, fbh5->path, &kind, &found));
    fbh5->is_ours = found && kind == PRODUCT_POWER;
    if (fbh5->is_ours) {
        TRY(h5_get_f64(file, fbh5->path, "coherent_dm", &fbh5->coherent.dm, &found));
        TRY(h5_get_f64(file, fbh5->path, "coherent_constant", &fbh5->coherent.constant, &found));
        TRY(fbh5_read_pol_names(file, fbh5));
        TRY(assumed_read(file, fbh5->path, &fbh5->assumed));
        TRY(h5_has_attribute(file, fbh5->path, "source", &found));
    }
    if (fbh5->is_ours && !found) {
        free(fbh5->head.source); /* "unknown" */
        fbh5->head.source = NULL;
    }
out:
    return st;
}

status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    fbh5->head.nbeams = 1;
    fbh5->head.ibeam = 1;
    TRY(fbh5_read_axes(file, data, fbh5));
    TRY(fbh5_read_start(file, data, fbh5));
    TRY(fbh5_read_position(file, data, fbh5));
    TRY(fbh5_get_i32(data, fbh5, "machine_id", &fbh5->head.machine_id));
    TRY(fbh5_get_i32(data, fbh5, "telescope_id", &fbh5->head.telescope_id));
    TRY(fbh5_get_i32(data, fbh5, "nbeams", &fbh5->head.nbeams));
    TRY(fbh5_get_i32(data, fbh5, "ibeam", &fbh5->head.ibeam));
    TRY(fbh5_read_words(file, data, fbh5));
    TRY(fbh5_read_own(file, fbh5));
out:
    return st;
}
