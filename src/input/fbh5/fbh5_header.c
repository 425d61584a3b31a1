/* The header of a filterbank: SIGPROC's, in attributes of /data; start times of our own products'
 * roots and of its `tstart`, made to agree. */
#include "input/fbh5/fbh5_header.h"

#include "base/memory.h"
#include "input/archive.h"
#include "input/format/ascii.h"
#include "io/hdf5/h5_dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double most_days = 1e7;
static const double most_header_days = 4e5; /* the year 2953; Julian Dates are larger */

/* Some steps of an MJD as a double. */
static const double rounding = 4e-11;

status_t start_read_kind(hid_t file, const char *path, enum product_kind *kind, int *is_ours)
{
    SCOPED(free_at) char *format = NULL;
    int found = 0;
    TRY(h5_find_text(file, path, "format", &format, &found));
    /* Voltages are archives: their roots say other things, and `format` is the native layout's. */
    *is_ours = found && product_kind_named(format, kind) && *kind != PRODUCT_VOLTAGES;
    return STATUS_OK;
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

status_t start_of_header(double tstart, struct utc *out, char **assumed)
{
    *out = utc_of_mjd(tstart);
    return assume_if(
        out->second < 1 && leap_day_seconds(out->mjd_day - 1) > leap_day_seconds(out->mjd_day),
        assumed,
        "tstart is %.15g, a number of both a leap second and the second after it: %s is used",
        tstart, units_utc(*out));
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
        TRY(start_of_header(tstart, &start.utc, assumed));
        start.utc = utc_add(start.utc, -offset);
    }
    start.is_known = has_root || has_header;
    *out = start;
    return STATUS_OK;
}

/* Numbers of /data: how they are stored, and the floats that are made of those that nothing else
 * reads. All but 64-bit floats keep their value. */

uint32_t fbh5_stored_bytes(const struct fbh5 *fbh5)
{
    uint32_t number = fbh5->number == FBH5_I8                                    ? 1
                      : fbh5->number == FBH5_I16 || fbh5->number == FBH5_FLOAT16 ? 2
                                                                                 : 0;
    return fbh5->steps.bits > 0 ? fbh5->steps.bits / 8 : number > 0 ? number : fbh5->sample_bytes;
}

uint32_t fbh5_bits(const struct fbh5 *fbh5)
{
    return fbh5->table.bits > 0           ? fbh5->table.bits
           : fbh5->number == FBH5_SHORT   ? 16
           : fbh5->number == FBH5_FLOAT64 ? 64
                                          : 8 * fbh5_stored_bytes(fbh5);
}

/* Makes the type IEEE 754 binary16, for which HDF5 1.10 has no name. */
static status_t number_half(hid_t *out)
{
    enum { SIGN = 15, EXPONENT = 10, EXPONENT_BITS = 5, BIAS = 15 };
    SCOPED(h5_close_at) hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
    H5_TRY(type, "a type cannot be made");
    H5_TRY(H5Tset_fields(type, SIGN, EXPONENT, EXPONENT_BITS, 0, EXPONENT),
           "a type cannot be made");
    H5_TRY(H5Tset_size(type, sizeof(uint16_t)), "a type cannot be made");
    H5_TRY(H5Tset_ebias(type, BIAS), "a type cannot be made");
    *out = h5_move(&type);
    return STATUS_OK;
}

status_t fbh5_memory_type(const struct fbh5 *fbh5, hid_t *out)
{
    uint32_t bytes = fbh5_stored_bytes(fbh5);
    if (fbh5->number == FBH5_FLOAT16) {
        return number_half(out);
    }
    *out = H5Tcopy(fbh5->number == FBH5_I8    ? H5T_NATIVE_INT8
                   : fbh5->number == FBH5_I16 ? H5T_NATIVE_INT16
                   : bytes == 1               ? H5T_NATIVE_UINT8
                   : bytes == 2               ? H5T_NATIVE_UINT16
                                              : H5T_NATIVE_FLOAT);
    return H5_TRIED(*out, "a type cannot be made");
}

/* The number of an attribute, which may be a text, and of tstart a date. Fails with DATA: a text
 * that is neither, a value of another kind. */
static status_t fbh5_find_number(hid_t object, const char *path, const char *name, double *value,
                                 int *found)
{
    SCOPED(free_at) char *text = NULL;
    char *end = NULL;
    struct utc utc;
    TRY(h5_find_text(object, path, name, &text, found));
    if (!*found) {
        TRY(h5_get_f64(object, path, name, value, found));
        return STATUS_OK;
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
    return STATUS_OK;
}

/* A number of /data; one that only the root has is used, too. */
static status_t fbh5_get_axis(hid_t file, hid_t data, struct fbh5 *fbh5, const char *name,
                              double *value, int *found)
{
    TRY(fbh5_find_number(data, fbh5->path, name, value, found));
    if (!*found) {
        TRY(fbh5_find_number(file, fbh5->path, name, value, found));
        TRY(assume_if(*found, &fbh5->assumed, "/data has no %s: that of the root is used, %.15g",
                      name, *value));
    }
    return STATUS_OK;
}

/* Attributes without which there are no axes. */
static status_t fbh5_read_axes(hid_t file, hid_t data, struct fbh5 *fbh5)
{
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
    return REQUIRED(fbh5->nchannels == 1 || (isfinite(last) && last != fbh5->fch1_mhz), STATUS_DATA,
                    "%s: foff = %g MHz beside fch1 = %g MHz: %u channels without bandwidth",
                    fbh5->path, fbh5->foff_mhz, fbh5->fch1_mhz, fbh5->nchannels);
}

/* Reads a number that may be missing; then *value stays. */
static status_t fbh5_get_f64(hid_t data, const struct fbh5 *fbh5, const char *name, double *value)
{
    int found = 0;
    double number = 0;
    TRY(h5_get_f64(data, fbh5->path, name, &number, &found));
    if (found && isfinite(number)) {
        *value = number;
    }
    return STATUS_OK;
}

static status_t fbh5_get_i32(hid_t data, const struct fbh5 *fbh5, const char *name, int32_t *value)
{
    double number = *value;
    TRY(fbh5_get_f64(data, fbh5, name, &number));
    if (number >= INT32_MIN && number <= INT32_MAX) {
        *value = (int32_t)number;
    }
    return STATUS_OK;
}

/* Parses a text such as "12:34:56.7", "12h34m56.7s" or "-12 34 56". */
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

/* Hours or degrees: a number or a text. What is neither is taken as 0. */
static status_t fbh5_read_angle(hid_t data, struct fbh5 *fbh5, const char *name, double most,
                                double *out)
{
    SCOPED(free_at) char *text = NULL;
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
        return STATUS_OK;
    }
    TRY(fbh5_get_f64(data, fbh5, name, &value));
    if (fabs(value) <= most) {
        *out = value;
    } else if (fbh5_unpack_sixtieths(value, most, out)) { /* as SIGPROC has them */
        TRY(assume(&fbh5->assumed, "%s is %.12g, not %s: read as sixtieths (ddmmss.s)", name, value,
                   unit));
    } else {
        *out = 0;
        TRY(assume(&fbh5->assumed, "%s is %.12g, not %s: the position is unknown", name, value,
                   unit));
    }
    return STATUS_OK;
}

/* Reads an angle of /data, and compares it with that of the root. */
static status_t fbh5_compare_angle(hid_t file, hid_t data, struct fbh5 *fbh5, const char *name,
                                   double most, double *out)
{
    double other = 0;
    TRY(fbh5_read_angle(data, fbh5, name, most, out));
    TRY(fbh5_read_angle(file, fbh5, name, most, &other));
    return assume_if(other != 0 && fabs(other - *out) > 1e-6, &fbh5->assumed,
                     "%s of /data is %.9g, of the root %.9g: that of /data is used", name, *out,
                     other);
}

static status_t fbh5_read_start(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    struct start start;
    double mjd = 0;
    int found = 0;
    TRY(fbh5_get_axis(file, data, fbh5, "tstart", &mjd, &found));
    TRY(start_read(file, fbh5->path, mjd, fbh5->time.step, &start, &fbh5->assumed));
    fbh5->sky.has_start = start.is_known;
    fbh5->sky.start = start.utc;
    fbh5->time.first = start.first_time;
    if (start.is_known) {
        fbh5->time.tstart_mjd = utc_mjd(utc_add(start.utc, start.first_time - fbh5->time.step / 2));
    }
    return STATUS_OK;
}

static status_t fbh5_read_words(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    enum { MOST_LETTERS = 1024 }; /* else these are no polarisations */
    int found = 0;
    TRY(h5_get_text(data, fbh5->path, "source_name", &fbh5->sky.source, &found));
    TRY(h5_get_text(data, fbh5->path, "rawdatafile", &fbh5->head.rawdatafile, &found));
    TRY(h5_get_text(data, fbh5->path, "pol_type", &fbh5->pols, &found));
    TRY(h5_get_text(file, fbh5->path, "telescope", &fbh5->sky.telescope, &found));
    if (fbh5->pols && (!fbh5->pols[0] || strlen(fbh5->pols) > MOST_LETTERS)) {
        free(memory_move(&fbh5->pols));
    }
    return STATUS_OK;
}

/* The names of the polarisations of a power product of our own, where it has one for each. */
static status_t fbh5_read_pol_names(hid_t file, struct fbh5 *fbh5)
{
    SCOPED(text_free) struct text list = {0};
    SCOPED(h5_names_free) struct h5_names pols = {0};
    int has_names = 0;
    TRY(h5_has(file, fbh5->path, "pol", &has_names));
    TRY(has_names ? h5_read_texts(file, fbh5->path, "pol", &pols.names, &pols.count) : STATUS_OK);
    for (size_t i = 0; i < pols.count && pols.count == fbh5->nifs; i++) {
        TRY(text_add_line(&list, pols.names[i]));
    }
    fbh5->pol_names = memory_move(&list.data);
    return STATUS_OK;
}

/* Whether it is a power product of our own. */
static status_t fbh5_read_own(hid_t file, struct fbh5 *fbh5)
{
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
        free(fbh5->sky.source); /* "unknown" */
        fbh5->sky.source = NULL;
    }
    return STATUS_OK;
}

status_t fbh5_note_moved(double refdm, double barycentric, double pulsarcentric, char **assumed)
{
    TRY(assume_if(refdm != 0, assumed,
                  "refdm is %.12g: channels are read as if they were not shifted to it", refdm));
    TRY(assume_if(barycentric != 0, assumed,
                  "barycentric is %.0f: its times are used as if they were the telescope's",
                  barycentric));
    return assume_if(pulsarcentric != 0, assumed,
                     "pulsarcentric is %.0f: its times are used as if they were the telescope's",
                     pulsarcentric);
}

status_t fbh5_read_header(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    double refdm = 0;
    double barycentric = 0;
    double pulsarcentric = 0;
    fbh5->head.nbeams = 1;
    fbh5->head.ibeam = 1;
    TRY(fbh5_read_axes(file, data, fbh5));
    TRY(fbh5_read_start(file, data, fbh5));
    TRY(fbh5_compare_angle(file, data, fbh5, "src_raj", 24, &fbh5->head.raj_hours));
    TRY(fbh5_compare_angle(file, data, fbh5, "src_dej", 90, &fbh5->head.dej_degrees));
    fbh5_settle_position(fbh5);
    TRY(fbh5_get_f64(data, fbh5, "az_start", &fbh5->head.az_start));
    TRY(fbh5_get_f64(data, fbh5, "za_start", &fbh5->head.za_start));
    TRY(fbh5_get_i32(data, fbh5, "machine_id", &fbh5->head.machine_id));
    TRY(fbh5_get_i32(data, fbh5, "telescope_id", &fbh5->head.telescope_id));
    TRY(fbh5_get_i32(data, fbh5, "nbeams", &fbh5->head.nbeams));
    TRY(fbh5_get_i32(data, fbh5, "ibeam", &fbh5->head.ibeam));
    TRY(fbh5_get_f64(data, fbh5, "refdm", &refdm));
    TRY(fbh5_get_f64(data, fbh5, "barycentric", &barycentric));
    TRY(fbh5_get_f64(data, fbh5, "pulsarcentric", &pulsarcentric));
    TRY(fbh5_note_moved(refdm, barycentric, pulsarcentric, &fbh5->assumed));
    TRY(fbh5_read_words(file, data, fbh5));
    return fbh5_read_own(file, fbh5);
}

static const double rounding_days = 4e-11; /* some steps of an MJD as a double */

/* Facts that a filterbank states twice: counts and labels beside the shape of /data, attributes of
 * the root beside those of /data, fch1 and foff beside /frequency, tsamp beside /time. */

/* Counts of an object's header that are not those of the shape and type of /data, which is a fact.
 * `of` ends their names. */
static status_t stated_compare_counts(hid_t object, const char *of, struct fbh5 *fbh5)
{
    const struct {
        const char *name;
        uint64_t value;
        int is_unset; /* by 0 */
    } stated[] = {{"nchans", fbh5->nchannels, 0},
                  {"nifs", fbh5->nifs, 0},
                  {"nbits", fbh5_bits(fbh5), 0},
                  {"nsamples", fbh5->rows, 1}};
    SCOPED(free_at) char *text = NULL;
    int64_t type = 1;
    int found = 0;
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        double number = (double)stated[i].value;
        TRY(fbh5_find_number(object, fbh5->path, stated[i].name, &number, &found));
        TRY(assume_if(number != (double)stated[i].value && (number != 0 || !stated[i].is_unset),
                      &fbh5->assumed, "%s%s is %.15g, but /data has %llu: this is used",
                      stated[i].name, of, number, (unsigned long long)stated[i].value));
    }
    TRY(h5_find_text(object, fbh5->path, "data_type", &text, &found));
    TRY(found ? STATUS_OK : h5_get_i64(object, fbh5->path, "data_type", &type, &found));
    return assume_if(type != 0 && type != 1, &fbh5->assumed,
                     "data_type%s is %lld, not that of a filterbank (1): read as one", of,
                     (long long)type);
}

/* Counts of channels and polarisations that are lengths of other dimensions of /data. */
static status_t stated_check_shape(hid_t data, const struct fbh5 *fbh5)
{
    double nchans = fbh5->nchannels;
    double nifs = fbh5->nifs;
    TRY(fbh5_find_number(data, fbh5->path, "nchans", &nchans, &(int){0}));
    TRY(fbh5_find_number(data, fbh5->path, "nifs", &nifs, &(int){0}));
    int is_turned = (nchans == fbh5->nifs && nifs == fbh5->nchannels) ||
                    (nchans == (double)fbh5->rows && nchans > 1);
    return REQUIRED(
        nchans == fbh5->nchannels || !is_turned, STATUS_DATA,
        "%s: nchans is %.15g and nifs %.15g, but /data has %llu spectra of %u polarisations "
        "and %u channels: expected [time][if][channel]",
        fbh5->path, nchans, nifs, (unsigned long long)fbh5->rows, fbh5->nifs, fbh5->nchannels);
}

/* Returns the dimension that a label names; -1: another one, or none. */
static int stated_dimension(const char *label, int rank)
{
    static const char *const words[][2] = {{"time", "samp"}, {"freq", "chan"}};
    for (int i = 0; i < 2; i++) {
        if (strncasecmp(label, words[i][0], 4) == 0 || strncasecmp(label, words[i][1], 4) == 0) {
            return i * (rank - 1);
        }
    }
    return -1;
}

/* Checks the labels of dimensions. blimpy labelled [time][if][channel] in the wrong order for
 * years; nchans shows this. */
static status_t stated_check_labels(hid_t data, const struct fbh5 *fbh5)
{
    SCOPED(text_free) struct text list = {0};
    SCOPED(h5_names_free) struct h5_names labels = {0};
    double nchans = 0;
    int is_other = 0;
    int is_turned = 1;
    const int rank = fbh5->is_flat ? 2 : 3;
    TRY(h5_get_texts(data, fbh5->path, "DIMENSION_LABELS", 1, &labels.names, &labels.count));
    TRY(fbh5_find_number(data, fbh5->path, "nchans", &nchans, &(int){0}));
    for (size_t i = 0; i < labels.count; i++) {
        int dimension = stated_dimension(labels.names[i], rank);
        is_other = is_other || (dimension >= 0 && dimension != (int)i);
        is_turned = is_turned && (dimension < 0 || dimension + (int)i == rank - 1);
        TRY(text_add(&list, "%s%s", i > 0 ? ", " : "", labels.names[i]));
    }
    is_turned = is_turned && nchans == fbh5->nchannels && nchans != (double)fbh5->rows;
    return REQUIRED(!is_other || is_turned, STATUS_DATA,
                    "%s: DIMENSION_LABELS of /data are %s, expected time, %sfrequency", fbh5->path,
                    list.data, fbh5->is_flat ? "" : "feed_id, ");
}

/* Attributes of the root that repeat those of /data. */
static status_t stated_compare_root(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    const struct {
        const char *name;
        double close; /* a tenth of a channel over the band, or of a row over all rows */
    } stated[] = {{"fch1", 0.1 * fabs(fbh5->foff_mhz)},
                  {"foff", 0.1 * fabs(fbh5->foff_mhz) / fbh5->nchannels},
                  {"tsamp", 0.1 * fbh5->time.step / (double)fbh5->rows},
                  {"tstart", fmax(fbh5->time.step / 86400, rounding_days)}};
    SCOPED(free_at) char *where = NULL;
    TRY(memory_format(&where, "%s: root", fbh5->path));
    TRY(stated_compare_counts(file, " of the root", fbh5));
    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        double one = 0;
        double other = 0;
        int found = 0;
        int has_other = 0;
        TRY(fbh5_find_number(file, where, stated[i].name, &other, &has_other));
        TRY(has_other ? fbh5_find_number(data, fbh5->path, stated[i].name, &one, &found)
                      : STATUS_OK);
        REQUIRE(!found || fabs(one - other) <= stated[i].close, STATUS_DATA,
                "%s: %s of /data is %.15g, but %s of the root %.15g: delete the wrong attribute",
                fbh5->path, stated[i].name, one, stated[i].name, other);
    }
    return STATUS_OK;
}

/* An axis: its first value, and the mean step. */
struct stated_axis {
    double first, mean;
    int is_there;
    int is_even; /* the first step is the mean one */
};

/* Reads it where it is a list of `count` numbers that ends elsewhere than it begins. */
static status_t stated_read_axis(hid_t file, const char *path, const char *name, uint64_t count,
                                 struct stated_axis *out)
{
    SCOPED(h5_dataset_close) struct h5_dataset axis = {0};
    double values[3];
    const hsize_t places[3] = {0, 1, count - 1};
    const hsize_t one = 1;
    TRY(h5_has(file, path, name, &out->is_there));
    if (!out->is_there || count < 3) {
        out->is_there = 0;
        return STATUS_OK;
    }
    TRY(h5_dataset_open(file, path, name, &axis));
    H5T_class_t class = H5Tget_class(axis.type);
    out->is_there = axis.rank == 1 && axis.count == count && h5_offset(axis.id) != HADDR_UNDEF &&
                    (class == H5T_FLOAT || class == H5T_INTEGER);
    if (!out->is_there) {
        return STATUS_OK;
    }
    TRY(h5_refuse_external(axis.id, path, name));
    for (int i = 0; i < 3; i++) {
        TRY(h5_dataset_read_part(&axis, &places[i], &one, H5T_NATIVE_DOUBLE, &values[i], "%s: /%s",
                                 path, name));
    }
    out->first = values[0];
    out->mean = (values[2] - values[0]) / (double)(count - 1);
    out->is_there = isfinite(out->mean) && fabs(out->mean) > 0;
    out->is_even = fabs((values[1] - values[0]) / out->mean - 1) < 1e-3;
    return STATUS_OK;
}

/* Whether the mean of `count` steps is another one: by a tenth of a step over all of them; of
 * uneven ones, such as rounded numbers, by a hundredth. Ours may be uneven, and are then used. */
static int stated_differs(const struct fbh5 *fbh5, const struct stated_axis *axis, double mean,
                          double stated, uint64_t count)
{
    return axis->is_there && (axis->is_even || !fbh5->is_ours) &&
           fabs(mean / stated - 1) > (axis->is_even ? 0.1 / (double)count : 0.01);
}

/* Files of others say assumed: what theirs means is not known. */
static status_t stated_contradict(struct fbh5 *fbh5, const char *name, double stated,
                                  const char *axis, double found)
{
    REQUIRE(!fbh5->is_ours, STATUS_DATA, "%s: %s is %.12g, but /%s says %.12g", fbh5->path, name,
            stated, axis, found);
    return assume(&fbh5->assumed, "%s is %.12g, /%s says %.12g: %s is used", name, stated, axis,
                  found, name);
}

static status_t stated_compare_axes(hid_t file, struct fbh5 *fbh5)
{
    struct stated_axis frequency = {.is_there = 0};
    struct stated_axis time = {.is_there = 0};
    TRY(stated_read_axis(file, fbh5->path, "frequency", fbh5->nchannels, &frequency));
    TRY(stated_read_axis(file, fbh5->path, "time", fbh5->rows, &time));
    double to_mhz = fbh5->is_ours || fabs(frequency.first) > 1e6 ? 1e-6 : 1;
    double step = to_mhz * frequency.mean;
    if (stated_differs(fbh5, &frequency, step, fbh5->foff_mhz, fbh5->nchannels)) {
        TRY(stated_contradict(fbh5, "foff", fbh5->foff_mhz, "frequency", step));
    } else if (frequency.is_there && frequency.is_even &&
               fabs(to_mhz * frequency.first - fbh5->fch1_mhz) > 0.1 * fabs(fbh5->foff_mhz)) {
        TRY(stated_contradict(fbh5, "fch1", fbh5->fch1_mhz, "frequency", to_mhz * frequency.first));
    }
    if (stated_differs(fbh5, &time, time.mean, fbh5->time.step, fbh5->rows)) {
        TRY(stated_contradict(fbh5, "tsamp", fbh5->time.step, "time", time.mean));
    } else if (fbh5->is_ours && time.is_there &&
               fabs(time.first - fbh5->time.first) > 0.1 * fbh5->time.step) {
        TRY(stated_contradict(fbh5, "first_time", fbh5->time.first, "time", time.first));
    }
    return STATUS_OK;
}

/* Facts that change what the numbers of others mean, which nothing here applies. A mask that was
 * never written takes no space: blimpy makes such ones. */
static status_t stated_note_unused(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    static const struct {
        const char *name;
        double plain; /* the number that changes nothing */
        const char *are_read;
    } unused[] = {{"scale_factor", 1, "numbers are read as they are stored"},
                  {"add_offset", 0, "numbers are read as they are stored"},
                  {"_FillValue", NAN, "such numbers are values"},
                  {"missing_value", NAN, "such numbers are values"}};
    SCOPED(h5_dataset_close) struct h5_dataset mask = {0};
    int has_mask = 0;
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        double number = unused[i].plain;
        TRY(fbh5_find_number(data, fbh5->path, unused[i].name, &number, &(int){0}));
        TRY(assume_if(isfinite(number) && number != unused[i].plain, &fbh5->assumed,
                      "%s %.9g of /data is not used: %s", unused[i].name, number,
                      unused[i].are_read));
    }
    TRY(h5_has(file, fbh5->path, "mask", &has_mask));
    TRY(has_mask ? h5_dataset_open(file, fbh5->path, "/mask", &mask) : STATUS_OK);
    return assume_if(has_mask && H5Dget_storage_size(mask.id) > 0, &fbh5->assumed,
                     "/mask is not used: numbers that it marks are values");
}

status_t fbh5_compare_stated(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    double tstart = 0;
    TRY(stated_check_labels(data, fbh5));
    TRY(stated_check_shape(data, fbh5));
    TRY(stated_compare_counts(data, "", fbh5));
    TRY(stated_compare_root(file, data, fbh5));
    TRY(stated_compare_axes(file, fbh5));
    TRY(fbh5->is_ours ? STATUS_OK : stated_note_unused(file, data, fbh5));
    TRY(fbh5->is_ours ? STATUS_OK : fbh5_note_band(fbh5, "fch1 and foff"));
    if (!fbh5->sky.has_start && !fbh5->is_ours) {
        TRY(fbh5_find_number(data, fbh5->path, "tstart", &tstart, &(int){0}));
        TRY(tstart < 0 || tstart > 0
                ? assume(&fbh5->assumed, "tstart is %.12g: the start is unknown", tstart)
                : assume(&fbh5->assumed, "tstart is 0 or not said: the start is unknown"));
    }
    return STATUS_OK;
}
