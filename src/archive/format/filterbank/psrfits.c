/* Search-mode PSRFITS: of a FITS file the header of its first unit, and of the binary table SUBINT
 * the columns that hold samples, their scales, and when each row of the table was taken. */
#include "archive/format/filterbank/psrfits.h"

#include "archive/format/filterbank/filterbank.h"
#include "archive/format/recorder/recorder.h"
#include "archive/lost.h"
#include "base/memory.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RECOGNISED_BY = 2880 };

static status_t psrfits_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    char value[ASCII_VALUE];
    TRY(recorder_head(path, RECOGNISED_BY, &head));
    const struct ascii header = {path, 0, head.data, head.length, 1};
    *is_it = head.length >= ASCII_CARD && memcmp(head.data, "SIMPLE  =", 9) == 0 &&
             ascii_find(&header, "FITSTYPE", value) && strcmp(value, "PSRFITS") == 0;
out:
    text_free(&head);
    return st;
}

/* Number i of a column of doubles or floats. */
static status_t psrfits_read_real(const struct psrfits *fits, const struct column *column,
                                  uint64_t row, uint64_t i, double *out)
{
    status_t st = STATUS_OK;
    uint8_t raw[8] = {0};
    uint32_t bytes = column->type == 'D' ? 8 : 4;
    uint64_t bits = 0;
    TRY(file_read(fits->fd, fits->path, fits->at + row * fits->row_bytes + column->at + i * bytes,
                  raw, bytes));
    for (uint32_t b = 0; b < bytes; b++) {
        bits = bits << 8 | raw[b];
    }
    if (bytes == 8) {
        memcpy(out, &bits, sizeof *out);
    } else {
        uint32_t word = (uint32_t)bits;
        float value;
        memcpy(&value, &word, sizeof value);
        *out = value;
    }
out:
    return st;
}

/* The frequencies of the first row, which must be evenly spaced. */
static status_t psrfits_read_band(const struct psrfits *fits, const struct ascii *header,
                                  struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double width = 0;
    int found = 0;
    uint32_t n = fbh5->nchannels;
    REQUIRE((fits->freqs.type == 'D' || fits->freqs.type == 'E') && fits->freqs.count == n,
            STATUS_DATA, "%s: column DAT_FREQ of SUBINT holds no frequencies of %u channels",
            fits->path, n);
    TRY(ascii_f64(header, "CHAN_BW", -1e9, 1e9, &width, &found));
    double last = 0;
    TRY(psrfits_read_real(fits, &fits->freqs, 0, 0, &fbh5->fch1_mhz));
    TRY(psrfits_read_real(fits, &fits->freqs, 0, n - 1, &last));
    double step = n > 1 ? (last - fbh5->fch1_mhz) / (n - 1) : width;
    fbh5->foff_mhz = fabs(step - width) <= 1e-3 * fabs(step) / n ? width : step;
    for (uint32_t i = 0; i < n; i++) {
        double mhz = 0;
        TRY(psrfits_read_real(fits, &fits->freqs, 0, i, &mhz));
        REQUIRE(fabs(mhz - fbh5->fch1_mhz - i * fbh5->foff_mhz) <= 0.1 * fabs(fbh5->foff_mhz),
                STATUS_DATA, "%s: its channels are not evenly spaced: channel %u lies at %.9g MHz",
                fits->path, i, mhz);
    }
out:
    return st;
}

/* A column of one or another number of floats. */
static status_t psrfits_check_floats(const struct psrfits *fits, const char *name,
                                     const struct column *column, uint64_t count, uint64_t other)
{
    status_t st = STATUS_OK;
    REQUIRE(column->type == 'E' && (column->count == count || column->count == other), STATUS_DATA,
            "%s: column %s of SUBINT holds no %" PRIu64 " 32-bit floats", fits->path, name, count);
out:
    return st;
}

/* Channels of weight 0 are zero in what is read: said. */
static status_t psrfits_say_weights(const struct psrfits *fits, const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    uint64_t none = 0;
    uint8_t *raw = NULL;
    TRY(memory_zeroed(fbh5->nchannels, 4, "weights", &raw));
    for (uint64_t row = 0; row < fbh5->table.count; row++) {
        TRY(file_read(fits->fd, fits->path, fits->at + row * fits->row_bytes + fits->weights.at,
                      raw, 4 * (uint64_t)fbh5->nchannels));
        for (uint32_t c = 0; c < fbh5->nchannels; c++) {
            const uint8_t *w = raw + 4 * (size_t)c;
            none += !(w[0] & 0x7f) && !w[1] && !w[2] && !w[3];
        }
    }
    if (none > 0) {
        report_warn("%s: %.3g %% of its channels in time have weight 0 (DAT_WTS): they are zero in "
                    "what is made of it",
                    fits->path,
                    100.0 * (double)none / ((double)fbh5->table.count * fbh5->nchannels));
    }
out:
    free(raw);
    return st;
}

/* How samples are stored. */
static status_t psrfits_read_samples(const struct psrfits *fits, const struct ascii *header,
                                     struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct fbh5_table *table = &fbh5->table;
    uint64_t number = 0;
    uint64_t bytes = 0;
    int found = 0;
    TRY(ascii_u64(header, "NBITS", 1, 32, &number, NULL));
    table->bits = (uint32_t)number;
    TRY(ascii_u64(header, "NCHAN", 1, 1 << 24, &number, NULL));
    fbh5->nchannels = (uint32_t)number;
    TRY(ascii_u64(header, "NPOL", 1, 1 << 10, &number, NULL));
    fbh5->nifs = (uint32_t)number;
    TRY(ascii_u64(header, "NSBLK", 1, UINT64_C(1) << 32, &table->rows_each, NULL));
    number = 0;
    TRY(ascii_u64(header, "SIGNINT", 0, 1, &number, &found));
    table->is_signed = number == 1 || table->bits == 16;
    TRY(ascii_f64(header, "ZERO_OFF", -1e9, 1e9, &table->zero, &found));
    TRY(ascii_f64(header, "TBIN", 1e-15, 1e9, &fbh5->tsamp, NULL));
    table->is_big_endian = 1;
    table->is_high_bit_first = 1;
    uint64_t streams = (uint64_t)fbh5->nifs * fbh5->nchannels;
    REQUIRE(
        multiply_u64(streams * table->bits, table->rows_each, &bytes) &&
            bytes / 8 <= fits->row_bytes - fits->data.at,
        STATUS_DATA,
        "%s: %" PRIu64 " spectra (NSBLK) of %u pols (NPOL), %u channels, %u bits do not fit into "
        "rows of %" PRIu64 " bytes",
        fits->path, table->rows_each, fbh5->nifs, fbh5->nchannels, table->bits, fits->row_bytes);
    table->has_scales = 1;
    TRY(psrfits_check_floats(fits, "DAT_SCL", &fits->scales, fbh5->nchannels, streams));
    TRY(psrfits_check_floats(fits, "DAT_OFFS", &fits->offsets, fits->scales.count, streams));
    TRY(psrfits_check_floats(fits, "DAT_WTS", &fits->weights, fbh5->nchannels, 0));
    table->scaled_ifs = fits->scales.count == streams ? fbh5->nifs : 1;
    REQUIRE(fits->offsets.count == fits->scales.count, STATUS_DATA,
            "%s: columns DAT_SCL and DAT_OFFS of SUBINT differ in length", fits->path);
    table->scales = fits->scales.at;
    table->offsets = fits->offsets.at;
    table->weights = fits->weights.at;
    table->data = fits->data.at;
    table->offset = fits->at;
    table->row_bytes = fits->row_bytes;
    TRY(psrfits_read_band(fits, header, fbh5));
    TRY(filterbank_finish(fbh5));
out:
    return st;
}

/* Which spectrum each row begins with, by OFFS_SUB, the centre of a row; where that does not grow,
 * rows follow each other. *centre: of the first row. */
static status_t psrfits_place_rows(const struct psrfits *fits, struct fbh5 *fbh5, double *centre)
{
    status_t st = STATUS_OK;
    struct fbh5_table *table = &fbh5->table;
    double length = (double)table->rows_each * fbh5->tsamp;
    double before = 0;
    int has_times = fits->times.type == 'D';
    *centre = length / 2;
    TRY(memory_zeroed(table->count, sizeof *table->first, "rows of a table", &table->first));
    for (uint32_t i = 0; i < table->count && has_times; i++) {
        double time = 0;
        TRY(psrfits_read_real(fits, &fits->times, i, 0, &time));
        *centre = i == 0 ? time : *centre;
        if (!isfinite(time) || (i > 0 && !(time > before))) {
            has_times = 0;
            report_warn("%s: OFFS_SUB does not grow: rows are taken to follow each other",
                        fits->path);
            break;
        }
        double spectra = i == 0 ? 0 : (time - *centre) / fbh5->tsamp;
        uint64_t least = i == 0 ? 0 : table->first[i - 1] + table->rows_each;
        REQUIRE(spectra < 0x1p50 && spectra > (double)least - 0.5, STATUS_DATA,
                "%s: row %u of SUBINT begins %.6g spectra behind the first one, expected %" PRIu64
                " or more (OFFS_SUB, TBIN, NSBLK)",
                fits->path, i, spectra, least);
        table->first[i] = (uint64_t)rint(spectra);
        if (table->first[i] > least) {
            TRY(lost_add_range(&fbh5->lost, &fbh5->nlost, least, table->first[i] - least,
                               "rows of SUBINT are missing, by OFFS_SUB"));
        }
        before = time;
    }
    for (uint32_t i = 0; i < table->count && !has_times; i++) {
        table->first[i] = i * table->rows_each;
    }
    *centre = has_times && *centre >= length / 2 ? *centre : length / 2;
    fbh5->rows = table->first[table->count - 1] + table->rows_each;
    /* Where it says how many there are, the rest of the last row is filling. */
    if (fits->total > table->first[table->count - 1] && fits->total < fbh5->rows) {
        fbh5->rows = fits->total;
    }
out:
    return st;
}

/* Rows that are there, and what is missing of the last. */
static status_t psrfits_count_rows(const struct psrfits *fits, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    uint64_t held = (fbh5->file_bytes - fits->at) / fits->row_bytes;
    REQUIRE(held > 0, STATUS_DATA, "%s ends within the first row of its table SUBINT", fits->path);
    if (held < fits->rows) {
        report_warn("%s is cut off: it holds %" PRIu64 " of %" PRIu64 " rows of SUBINT", fits->path,
                    held, fits->rows);
    }
    held = min_u64(held, fits->rows);
    REQUIRE(held <= UINT32_MAX / 2, STATUS_DATA, "%s: %" PRIu64 " rows of SUBINT", fits->path,
            held);
    fbh5->table.count = (uint32_t)held;
out:
    return st;
}

static status_t psrfits_read_words(const struct psrfits *fits, const struct ascii *table,
                                   double centre, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct ascii header = {fits->path, 0, fits->first.data, fits->first.length, 1};
    uint64_t day = 0;
    double second = 0;
    double offset = 0;
    double ra_deg = 0;
    int has_second = 0;
    int found = 0;
    TRY(ascii_u64(&header, "STT_IMJD", 0, 1000000, &day, &fbh5->has_start));
    TRY(ascii_f64(&header, "STT_SMJD", 0, 86401, &second, &has_second));
    TRY(ascii_f64(&header, "STT_OFFS", -86400, 86400, &offset, &found));
    fbh5->has_start = fbh5->has_start && has_second;
    double edge = centre - (double)fbh5->table.rows_each * fbh5->tsamp / 2;
    if (fbh5->has_start) {
        fbh5->start = utc_add((struct utc){(int32_t)day, second}, offset + edge);
        fbh5->tstart_mjd = utc_mjd(fbh5->start);
    }
    fbh5->first_time = fbh5->tsamp / 2;
    TRY(ascii_text(&header, "SRC_NAME", &fbh5->source));
    TRY(ascii_text(&header, "TELESCOP", &fbh5->telescope));
    TRY(ascii_text(table, "POL_TYPE", &fbh5->pols));
    fbh5->has_position = ascii_position(&header, "RA", "DEC", &ra_deg, &fbh5->dej_degrees);
    fbh5->raj_hours = ra_deg / 15;
out:
    return st;
}

static status_t psrfits_describe(struct psrfits *fits, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    double centre = 0;
    int found = 0;
    char mode[ASCII_VALUE] = "SEARCH";
    TRY(psrfits_find_table(fits, fbh5->file_bytes));
    const struct ascii first = {fits->path, 0, fits->first.data, fits->first.length, 1};
    const struct ascii header = {fits->path, fits->at, fits->text.data, fits->text.length, 1};
    ascii_find(&first, "OBS_MODE", mode);
    REQUIRE(strcmp(mode, "SEARCH") == 0 || strcmp(mode, "SRCH") == 0, STATUS_DATA,
            "%s: OBS_MODE is %s, expected SEARCH: pulse profiles are no filterbank", fits->path,
            mode);
    TRY(psrfits_find_columns(fits, &header));
    TRY(psrfits_count_rows(fits, fbh5));
    TRY(psrfits_read_samples(fits, &header, fbh5));
    TRY(psrfits_say_weights(fits, fbh5));
    TRY(ascii_u64(&header, "NSTOT", 0, UINT64_C(1) << 50, &fits->total, &found));
    TRY(psrfits_place_rows(fits, fbh5, &centre));
    TRY(psrfits_read_words(fits, &header, centre, fbh5));
out:
    return st;
}

static status_t psrfits_open(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct psrfits fits = {.path = path, .fd = -1};
    TRY(filterbank_begin(path, "PSRFITS", &fbh5, &fits.fd));
    TRY(psrfits_describe(&fits, fbh5));
    *out = fbh5;
    fbh5 = NULL;
out:
    text_free(&fits.first);
    text_free(&fits.text);
    file_close(fits.fd);
    fbh5_destroy(fbh5);
    return st;
}

const struct format psrfits_format = {.name = "psrfits",
                                      .title = "search-mode PSRFITS",
                                      .expected = "search-mode PSRFITS",
                                      .is_no_product = 1,
                                      .recognise = psrfits_recognise,
                                      .open_filterbank = psrfits_open};
