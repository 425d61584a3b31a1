/* Search-mode PSRFITS: the header of the first unit of a FITS file, and its binary table SUBINT
 * (van Straten, Manchester, Johnston, Reynolds 2010, PSRCHIVE and PSRFITS; the PSRFITS definition).
 * A value that a header does not give, or contradicts, is stated as an assumption. */
#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/fbh5/fbh5.h"
#include "input/format/ascii.h"
#include "input/format/recorder.h"
#include "input/lost.h"
#include "io/file.h"
#include "io/fits_unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Columns of a PSRFITS table, and how samples are stored: bits, axes, scales, polarisations. */

struct psrfits {
    const char *path;
    int fd;
    fits_unit_t *unit; /* its first header, later that of the table SUBINT */
    /* OBSFREQ, OBSBW (MHz) and OBSNCHAN of the first header; 0: not given. */
    double centre_mhz, band_mhz;
    uint64_t channels;
    uint64_t rows; /* NAXIS2; where that is 0, as many as the file has */
    struct fits_column lengths, times, freqs, data;
    struct fbh5 *fbh5; /* the filterbank that is made */
};

/* Returns the byte of the file at which a row, from 0, begins. */
static inline uint64_t psrfits_row_at(const struct psrfits *fits, uint64_t row)
{
    return fits->fbh5->table.offset + row * fits->fbh5->table.row_bytes;
}

/* Reads all values of a column, scaled, in one row of the file into out [column->count]. Fails with
 * DATA (unreadable). */
static inline status_t psrfits_read_column(const struct psrfits *fits,
                                           const struct fits_column *column, uint64_t row,
                                           double *out)
{
    return fits_column_read(column, fits->fd, fits->path, psrfits_row_at(fits, row), 0,
                            column->count, out);
}

/* Channels of a PSRFITS table: their frequencies and weights in all rows. */

/* Without DAT_FREQ: channels about OBSFREQ, as wide as CHAN_BW or OBSBW / NCHAN says. */
static status_t psrfits_assume_band(struct psrfits *fits, double width)
{
    struct fbh5 *fbh5 = fits->fbh5;
    double n = fbh5->nchannels;
    double other = fits->band_mhz / n;
    int has_width = fabs(width) > 0;
    int has_other = fabs(other) > 0;
    const char *why = fits->freqs.count > 0 ? "DAT_FREQ is 0" : "no column DAT_FREQ";
    REQUIRE(
        fabs(fits->centre_mhz) > 0 && (has_width || has_other), STATUS_DATA,
        "%s: %s, and OBSFREQ or both of CHAN_BW and OBSBW are missing: its channels cannot be told",
        fits->path, why);
    REQUIRE(!has_width || !has_other || fabs(fabs(width) - fabs(other)) * n <= fabs(width) / 2,
            STATUS_DATA, "%s: %s, and CHAN_BW %.9g and OBSBW %.9g of %u channels (NCHAN) differ",
            fits->path, why, width, fits->band_mhz, fbh5->nchannels);
    REQUIRE(has_width || fits->channels == 0 || fits->channels == fbh5->nchannels, STATUS_DATA,
            "%s: %s, no CHAN_BW, and OBSBW %.9g is of OBSNCHAN %u channels, NCHAN is %u",
            fits->path, why, fits->band_mhz, (unsigned)fits->channels, fbh5->nchannels);
    TRY(assume_if(has_width && has_other && (width > 0) != (other > 0), &fbh5->assumed,
                  "CHAN_BW %.9g and OBSBW %.9g have different signs: CHAN_BW is used", width,
                  fits->band_mhz));
    fbh5->foff_mhz = has_width ? width : other;
    fbh5->fch1_mhz = fits->centre_mhz - fbh5->foff_mhz * (n - 1) / 2;
    return assume(&fbh5->assumed,
                  "%s: channels lie about OBSFREQ %.9g MHz in steps of %s, %.9g MHz", why,
                  fits->centre_mhz, has_width ? "CHAN_BW" : "OBSBW / NCHAN", fbh5->foff_mhz);
}

/* Compares other cards with a band that is known by DAT_FREQ. Signs of CHAN_BW and OBSBW are known
 * to be unreliable, and so are OBSBW and OBSFREQ of parts of a band. */
static status_t psrfits_compare_band(struct psrfits *fits, double width, double step)
{
    struct fbh5 *fbh5 = fits->fbh5;
    double n = fbh5->nchannels;
    double tenth = 0.1 * fabs(step); /* of a channel, over the whole band */
    double band = fbh5->foff_mhz * n;
    double centre = fbh5->fch1_mhz + fbh5->foff_mhz * (n - 1) / 2;
    if (!(fabs(width) > 0)) {
        TRY(assume(&fbh5->assumed,
                   "no CHAN_BW: channels lie as DAT_FREQ says, in steps of %.9g MHz", step));
    } else if (fabs(step - width) * (n - 1) > tenth) {
        REQUIRE(fabs(fabs(step) - fabs(width)) <= 0.02 * fabs(step), STATUS_DATA,
                "%s: CHAN_BW is %.9g MHz, but DAT_FREQ grows by %.9g MHz from channel to channel",
                fits->path, width, step);
        TRY(assume(&fbh5->assumed,
                   "CHAN_BW %.9g MHz and the steps of DAT_FREQ, %.9g MHz, differ: DAT_FREQ is used",
                   width, step));
    }
    TRY(assume_if(
        fabs(fits->band_mhz) > 0 && fabs(fits->band_mhz - band) > fabs(fbh5->foff_mhz) / 2,
        &fbh5->assumed,
        "OBSBW %.9g MHz and the band of NCHAN channels, %.9g MHz, differ: OBSBW is not used",
        fits->band_mhz, band));
    return assume_if(
        fabs(fits->centre_mhz) > 0 && fabs(fits->centre_mhz - centre) > 1.01 * fabs(fbh5->foff_mhz),
        &fbh5->assumed,
        "OBSFREQ %.9g MHz and the centre of DAT_FREQ, %.9g MHz, differ: DAT_FREQ is used",
        fits->centre_mhz, centre);
}

/* Channels must be evenly spaced. `row`: for messages; the first one has set fch1 and foff. */
static status_t psrfits_check_even(const struct psrfits *fits, const double *mhz, uint32_t row)
{
    const struct fbh5 *fbh5 = fits->fbh5;
    for (uint32_t i = 0; i < fbh5->nchannels; i++) {
        double wanted = fbh5->fch1_mhz + i * fbh5->foff_mhz;
        REQUIRE(fabs(mhz[i] - wanted) <= 0.1 * fabs(fbh5->foff_mhz), STATUS_DATA,
                "%s: its channels are not evenly spaced, or not in all rows: channel %u is at %.9g "
                "MHz in row %u (DAT_FREQ), expected %.9g MHz",
                fits->path, i, mhz[i], row, wanted);
    }
    return STATUS_OK;
}

static uint64_t psrfits_count_zeros(const double *numbers, uint64_t count)
{
    uint64_t zeros = 0;
    for (uint64_t i = 0; i < count; i++) {
        zeros += numbers[i] >= 0 && numbers[i] <= 0;
    }
    return zeros;
}

/* Sets the band. `mhz`: DAT_FREQ of the first row; zeros without the column. */
static status_t psrfits_set_band(struct psrfits *fits, const double *mhz)
{
    struct fbh5 *fbh5 = fits->fbh5;
    uint32_t n = fbh5->nchannels;
    double width = 0;
    TRY(fits_unit_f64(fits->unit, "CHAN_BW", -1e9, 1e9, &width, ASCII_MAYBE));
    if (psrfits_count_zeros(mhz, n) == n) {
        return psrfits_assume_band(fits, width);
    }
    fbh5->fch1_mhz = mhz[0];
    double step = n > 1 ? (mhz[n - 1] - mhz[0]) / (n - 1) : width;
    fbh5->foff_mhz = fabs(step - width) <= 1e-3 * fabs(step) / n ? width : step;
    TRY(psrfits_check_even(fits, mhz, 0));
    return psrfits_compare_band(fits, width, step);
}

/* A column's bytes in one row and in that before it. */
struct row_bytes {
    const struct fits_column *column;
    uint64_t bytes;
    char *now, *before;
};

static status_t psrfits_read_raw(const struct psrfits *fits, uint32_t row, struct row_bytes *raw,
                                 int *is_other)
{
    char *before = raw->now;
    raw->now = raw->before;
    raw->before = before;
    TRY(file_read(fits->fd, fits->path, psrfits_row_at(fits, row) + raw->column->at, raw->now,
                  raw->bytes));
    *is_other = row == 0 || memcmp(raw->now, raw->before, raw->bytes) != 0;
    return STATUS_OK;
}

/* Frequencies of all rows are those of the first. Channels of weight 0 are zero in what is read:
 * their share is reported. Weights below 0 are noted. Rows are mostly like those before them. */
static status_t psrfits_check_rows(struct psrfits *fits, struct row_bytes *freqs,
                                   struct row_bytes *weights, double *numbers)
{
    struct fbh5 *fbh5 = fits->fbh5;
    double least = 0;
    uint64_t none = 0;
    uint64_t each = 0;
    int is_other = 0;
    for (uint32_t row = 0; row < fbh5->table.count; row++) {
        TRY(psrfits_read_raw(fits, row, freqs, &is_other));
        if (row > 0 && is_other) {
            TRY(psrfits_read_column(fits, freqs->column, row, numbers));
            TRY(psrfits_check_even(fits, numbers, row));
        }
        TRY(psrfits_read_raw(fits, row, weights, &is_other));
        if (is_other) {
            TRY(psrfits_read_column(fits, weights->column, row, numbers));
            each = psrfits_count_zeros(numbers, weights->column->count);
            for (uint64_t i = 0; i < weights->column->count; i++) {
                least = fmin(least, numbers[i]);
            }
        }
        none += each;
    }
    TRY(assume_unless(least >= 0, &fbh5->assumed,
                      "DAT_WTS goes down to %.9g: values are multiplied by weights below 0, too",
                      least));
    if (none > 0) {
        report_warn("%s: %.3g %% of its channels in time have weight 0 (DAT_WTS): they are zero in "
                    "what is made of it",
                    fits->path,
                    100.0 * (double)none / ((double)fbh5->table.count * fbh5->nchannels));
    }
    return STATUS_OK;
}

/* Reads the band after psrfits_read_samples(): sets fch1_mhz and foff_mhz of fits->fbh5, not
 * freq_hz, by DAT_FREQ of the first row, and compares them with CHAN_BW, OBSBW, OBSFREQ and
 * DAT_FREQ of all other rows; without DAT_FREQ, or if it is 0, by these three. Doubts go to
 * fbh5->assumed. Warns of channels of weight 0. Fails with DATA: channels are not evenly spaced, or
 * as many as NCHAN; words contradict each other, are no numbers, or too few to know the band;
 * unreadable; with DEVICE (memory). */
static status_t psrfits_read_band(struct psrfits *fits)
{
    uint32_t n = fits->fbh5->nchannels;
    uint64_t count = fits->freqs.count;
    SCOPED(free_at) double *numbers = NULL;
    SCOPED(free_at) char *raw = NULL;
    REQUIRE(count == 0 || count == n, STATUS_DATA,
            "%s: column DAT_FREQ of SUBINT has %" PRIu64 " elements (TFORM%u), but NCHAN is %u",
            fits->path, count, fits->freqs.number, n);
    uint64_t most = n * sizeof *numbers;
    TRY(memory_zeroed(n, sizeof *numbers, "frequencies", &numbers));
    TRY(memory_zeroed(4, most, "frequencies and weights", &raw));
    const struct fits_column *columns[] = {&fits->freqs, &fits->fbh5->table.weights};
    struct row_bytes bytes[2];
    for (size_t i = 0; i < 2; i++) {
        bytes[i] = (struct row_bytes){columns[i], columns[i]->count * fits_column_bytes(columns[i]),
                                      raw + 2 * i * most, raw + (2 * i + 1) * most};
    }
    TRY(psrfits_read_column(fits, &fits->freqs, 0, numbers));
    TRY(psrfits_set_band(fits, numbers));
    return psrfits_check_rows(fits, &bytes[0], &bytes[1], numbers);
}

enum { MOST_DIMS = 8, KEY = 16 };

static status_t psrfits_find_columns(struct psrfits *fits)
{
    struct fbh5_table *table = &fits->fbh5->table;
    SCOPED(free_at) char *compressed = NULL;
    const struct {
        const char *name;
        struct fits_column *column;
    } wanted[] = {{"TSUBINT", &fits->lengths},   {"OFFS_SUB", &fits->times},
                  {"DAT_FREQ", &fits->freqs},    {"DAT_WTS", &table->weights},
                  {"DAT_OFFS", &table->offsets}, {"DAT_SCL", &table->scales},
                  {"DATA", &fits->data}};
    TRY(fits_unit_text(fits->unit, "ZTABLE", &compressed));
    REQUIRE(!compressed || strcmp(compressed, "T") != 0, STATUS_DATA,
            "%s: its table SUBINT is compressed (ZTABLE): uncompress it with funpack", fits->path);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int may_be_bits = wanted[i].column == &fits->data;
        TRY(fits_unit_column(fits->unit, wanted[i].name, may_be_bits, wanted[i].column));
    }
    return REQUIRED(fits->data.count > 0, STATUS_DATA, "%s: its table SUBINT has no column DATA",
                    fits->path);
}

/* Counts of a row; NBITS, TFORM of DATA and the counts must agree. */
static status_t psrfits_read_counts(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    uint64_t bits = 0;
    uint64_t channels = 0;
    uint64_t pols = 0;
    uint64_t total = 0;
    TRY(fits_unit_u64(fits->unit, "NBITS", 1, 32, &bits, NULL));
    TRY(fits_unit_u64(fits->unit, "NCHAN", 1, 1 << 24, &channels, NULL));
    TRY(fits_unit_u64(fits->unit, "NPOL", 1, 1 << 10, &pols, NULL));
    TRY(fits_unit_u64(fits->unit, "NSBLK", 1, UINT64_C(1) << 32, &table->rows_each, NULL));
    TRY(fits_unit_f64(fits->unit, "TBIN", 1e-15, 1e9, &fbh5->time.step, NULL));
    table->bits = (uint32_t)bits;
    fbh5->nchannels = (uint32_t)channels;
    fbh5->nifs = (uint32_t)pols;
    uint32_t type = bits <= 8 ? 'B' : bits == 16 ? 'I' : 'E';
    uint64_t each = bits <= 8 ? 8 : bits; /* bits of an element */
    REQUIRE(fits->data.type == type, STATUS_DATA,
            "%s: NBITS is %" PRIu64 ", but TFORM%u of DATA says type %c, expected %c", fits->path,
            bits, fits->data.number, (char)fits->data.type, (char)type);
    REQUIRE(multiply_u64(channels * pols * bits, table->rows_each, &total) && total % each == 0 &&
                total / each == fits->data.count,
            STATUS_DATA,
            "%s: NSBLK %" PRIu64 " spectra of NPOL %" PRIu64 ", NCHAN %" PRIu64 ", NBITS %" PRIu64
            " are %" PRIu64 " elements of a row, but TFORM%u of DATA says %" PRIu64,
            fits->path, table->rows_each, pols, channels, bits, total / each, fits->data.number,
            fits->data.count);
    return assume_if(fits->channels > 0 && fits->channels != channels, &fbh5->assumed,
                     "OBSNCHAN %" PRIu64 " and NCHAN %" PRIu64 " differ: NCHAN is used",
                     fits->channels, channels);
}

/* "(1,1024,2,4096)": the lengths that are not 1, and their product. Returns 0 when it is no such
 * text. */
static int psrfits_parse_dims(const char *text, uint64_t dims[MOST_DIMS], size_t *count,
                              uint64_t *product)
{
    const char *at = text;
    *count = 0;
    *product = 1;
    for (char stop = '('; stop != ')';) {
        char *end = NULL;
        if (*at != stop) {
            return 0;
        }
        uint64_t size = strtoull(at + 1, &end, 10);
        end += strspn(end, " ");
        if (end == at + 1 || *count == MOST_DIMS || !multiply_u64(*product, size, product)) {
            return 0;
        }
        dims[*count] = size;
        *count += size != 1;
        stop = *end == ')' ? ')' : ',';
        at = end;
    }
    return 1;
}

/* Whether the lengths are NCHAN, NPOL and NSBLK, but for those of 1. */
static int psrfits_is_shape(const struct fbh5 *fbh5, const uint64_t *dims, size_t count,
                            uint32_t by_channels, uint32_t by_spectra)
{
    const uint64_t wanted[] = {fbh5->nchannels / by_channels, fbh5->nifs,
                               fbh5->table.rows_each / by_spectra};
    size_t at = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (wanted[i] != 1 && (at == count || dims[at++] != wanted[i])) {
            return 0;
        }
    }
    return at == count;
}

/* TDIM of DATA has NCHAN, NPOL and NSBLK in this order. One that is not of as many elements as
 * TFORM says is void by FITS; packed samples may be counted as such or as bytes. */
static status_t psrfits_check_dims(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    char key[KEY];
    SCOPED(free_at) char *text = NULL;
    uint64_t dims[MOST_DIMS] = {0};
    uint64_t product = 0;
    size_t count = 0;
    snprintf(key, sizeof key, "TDIM%u", fits->data.number);
    TRY(fits_unit_text(fits->unit, key, &text));
    if (!text) {
        return STATUS_OK;
    }
    uint32_t packed = fbh5->table.bits < 8 ? 8 / fbh5->table.bits : 1;
    int is_list = psrfits_parse_dims(text, dims, &count, &product);
    if (!is_list ||
        (product != fits->data.count && product != (uint64_t)packed * fits->data.count)) {
        TRY(assume(&fbh5->assumed,
                   "%s %s of DATA is not of the %" PRIu64 " elements of TFORM%u: it is not used",
                   key, text, fits->data.count, fits->data.number));
        return STATUS_OK;
    }
    /* Bytes of packed samples divide the channels, or the spectra. */
    uint32_t by = product == fits->data.count ? packed : 1;
    return REQUIRED(count <= 1 || psrfits_is_shape(fbh5, dims, count, by, 1) ||
                        psrfits_is_shape(fbh5, dims, count, 1, by),
                    STATUS_DATA, "%s: %s of DATA is %s, but NCHAN is %u, NPOL %u, NSBLK %" PRIu64,
                    fits->path, key, text, fbh5->nchannels, fbh5->nifs, fbh5->table.rows_each);
}

/* Whether numbers are signed. FITS moves them by TZERO: bytes are signed with -128, numbers of 16
 * bits unsigned with 32768. SIGNINT makes plain bytes signed. */
static status_t psrfits_read_sign(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    uint64_t number = 0;
    int found = 0;
    double moved = table->bits == 16 ? 32768 : table->bits == 8 ? -128 : 0;
    table->is_moved = fabs(moved) > 0 && fabs(fits->data.zero - moved) < 0.5;
    TRY(fits_unit_u64(fits->unit, "SIGNINT", 0, 1, &number, &found));
    table->is_signed = table->bits == 16 || (table->bits == 8 && number == 1 && !table->is_moved);
    int is_signed = table->is_signed != table->is_moved;
    TRY(assume_if(!found && table->bits <= 8 && !table->is_moved, &fbh5->assumed,
                  "no SIGNINT: samples are taken for unsigned"));
    return assume_if(
        found && table->bits <= 16 && (number == 1) != is_signed, &fbh5->assumed,
        "SIGNINT %" PRIu64 " and NBITS %u with TZERO%u %g differ: samples are %ssigned", number,
        table->bits, fits->data.number, fits->data.zero, is_signed ? "" : "un");
}

/* Values are (((stored * TSCAL + TZERO) - ZERO_OFF) * DAT_SCL + DAT_OFFS) * DAT_WTS. */
static status_t psrfits_read_zero(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    const struct fits_column *data = &fits->data;
    double zero = 0;
    int found = 0;
    char key[KEY];
    SCOPED(free_at) char *undefined = NULL;
    int is_plain = data->scale <= 1 && data->scale >= 1 && data->zero <= 0 && data->zero >= 0;
    REQUIRE(is_plain || table->bits >= 8, STATUS_DATA,
            "%s: NBITS is %u, but TSCAL%u %g and TZERO%u %g of DATA are of bytes", fits->path,
            table->bits, data->number, data->scale, data->number, data->zero);
    TRY(fits_unit_f64(fits->unit, "ZERO_OFF", -1e9, 1e9, &zero, &found));
    TRY(assume_unless(found, &fbh5->assumed, "no ZERO_OFF: 0 is used"));
    snprintf(key, sizeof key, "TNULL%u", data->number);
    TRY(fits_unit_text(fits->unit, key, &undefined));
    TRY(assume_if(undefined != NULL, &fbh5->assumed,
                  "%s %s of DATA is not used: such samples are values", key, undefined));
    table->unit = data->scale;
    table->zero = (zero - data->zero) / data->scale;
    return STATUS_OK;
}

/* A column of scales: of each channel, or of each channel and polarisation; none: `other`. */
static status_t psrfits_check_scales(struct psrfits *fits, const char *name,
                                     const struct fits_column *column, uint64_t most, int other)
{
    uint64_t channels = fits->fbh5->nchannels;
    REQUIRE(column->count == 0 || column->count == channels || column->count == most, STATUS_DATA,
            "%s: column %s of SUBINT has %" PRIu64 " elements (TFORM%u), but NCHAN is %" PRIu64
            " and NPOL %u",
            fits->path, name, column->count, column->number, channels, fits->fbh5->nifs);
    return assume_if(column->count == 0, &fits->fbh5->assumed, "no column %s: %d is used", name,
                     other);
}

/* Finds whether a column is 0 in all rows: it was never filled in. */
static status_t psrfits_is_zero(const struct psrfits *fits, const struct fits_column *column,
                                int *out)
{
    SCOPED(free_at) double *values = NULL;
    int is_zero = column->count > 0;
    TRY(memory_zeroed(column->count + 1, sizeof *values, "a column", &values));
    for (uint64_t row = 0; is_zero && row < fits->fbh5->table.count; row++) {
        TRY(psrfits_read_column(fits, column, row, values));
        is_zero = psrfits_count_zeros(values, column->count) == column->count;
    }
    *out = is_zero;
    return STATUS_OK;
}

static status_t psrfits_read_scales(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    uint64_t streams = (uint64_t)fbh5->nifs * fbh5->nchannels;
    int is_zero = 0;
    TRY(psrfits_check_scales(fits, "DAT_SCL", &table->scales, streams, 1));
    TRY(psrfits_check_scales(fits, "DAT_OFFS", &table->offsets, streams, 0));
    TRY(psrfits_check_scales(fits, "DAT_WTS", &table->weights, fbh5->nchannels, 1));
    REQUIRE(table->scales.count == table->offsets.count || table->scales.count == 0 ||
                table->offsets.count == 0,
            STATUS_DATA, "%s: columns DAT_SCL and DAT_OFFS of SUBINT differ in length", fits->path);
    TRY(psrfits_is_zero(fits, &table->scales, &is_zero));
    if (is_zero) {
        table->scales = (struct fits_column){0};
        TRY(assume(&fbh5->assumed, "DAT_SCL is 0 in all rows: 1 is used"));
    }
    table->has_scales = 1;
    table->scaled_ifs =
        table->scales.count == streams || table->offsets.count == streams ? fbh5->nifs : 1;
    return STATUS_OK;
}

/* GUPPI and its successors store powers as unsigned numbers, and what may be below 0 beside them
 * as signed ones (`numunsigned` of psrfits_utils), which no card says. Where neither a sign nor an
 * offset is given, nothing else makes sense. */
static status_t psrfits_find_signed(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    int has_others = 0;
    int is_zero = 1;
    for (uint32_t i = 0; i < fbh5->nifs; i++) {
        has_others = has_others || !fbh5_is_power(fbh5, i);
    }
    if (!has_others || table->bits < 2 || table->bits > 8 || table->is_signed || table->is_moved ||
        table->zero > 0) {
        return STATUS_OK;
    }
    TRY(table->offsets.count > 0 ? psrfits_is_zero(fits, &table->offsets, &is_zero) : STATUS_OK);
    table->has_signed = is_zero;
    return assume_if(is_zero, &fbh5->assumed,
                     "POL_TYPE %s, but SIGNINT, ZERO_OFF and DAT_OFFS leave no value below 0: "
                     "samples that are no powers are read as signed, as GUPPI stores them",
                     fbh5->pols);
}

/* POL_TYPE has as many names as NPOL says. A single polarisation is read whatever its name is. */
static status_t psrfits_read_pols(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    static const struct {
        const char *name;
        uint32_t pols;
    } known[] = {{"AA+BB", 1}, {"PP+QQ", 1}, {"XX+YY", 1},    {"INTEN", 1},   {"AA", 1},
                 {"BB", 1},    {"XX", 1},    {"YY", 1},       {"I", 1},       {"AABB", 2},
                 {"PPQQ", 2},  {"XXYY", 2},  {"RRLL", 2},     {"LLRR", 2},    {"IV", 2},
                 {"IQUV", 4},  {"STOKE", 4}, {"AABBCRCI", 4}, {"XXYYCRCI", 4}};
    TRY(fits_unit_text(fits->unit, "POL_TYPE", &fbh5->pols));
    TRY(assume_if(!fbh5->pols && fbh5->nifs > 1, &fbh5->assumed,
                  "no POL_TYPE: its %u polarisations are taken for powers", fbh5->nifs));
    for (size_t i = 0; fbh5->pols && i < sizeof known / sizeof *known; i++) {
        if (strcasecmp(fbh5->pols, known[i].name) == 0 && known[i].pols != fbh5->nifs) {
            REQUIRE(fbh5->nifs == 1, STATUS_DATA,
                    "%s: NPOL is %u, but POL_TYPE is %s, which names %u", fits->path, fbh5->nifs,
                    fbh5->pols, known[i].pols);
            TRY(assume(&fbh5->assumed, "NPOL 1 and POL_TYPE %s differ: POL_TYPE is not used",
                       fbh5->pols));
            free(memory_move(&fbh5->pols));
        }
    }
    if (fbh5->pols && strcasecmp(fbh5->pols, "STOKE") == 0) { /* PSRCHIVE's name of all four */
        free(memory_move(&fbh5->pols));
        TRY(memory_text("IQUV", &fbh5->pols));
    }
    return psrfits_find_signed(fits);
}

/* Finds the columns of the table, fits->unit being at SUBINT and offset, row_bytes and count of
 * fbh5->table known, and how samples are stored and scaled: sets fits->lengths, times, freqs, data;
 * all else of fbh5->table but `first`; fbh5->nifs, nchannels, time.step and pols. What is doubtful
 * goes to fbh5->assumed. Fails with DATA: a column or key that is missing or contradicts others, a
 * type that is not read, unreadable; with DEVICE (memory). */
static status_t psrfits_read_samples(struct psrfits *fits)
{
    struct fbh5_table *table = &fits->fbh5->table;
    TRY(psrfits_find_columns(fits));
    TRY(psrfits_read_counts(fits));
    TRY(psrfits_check_dims(fits));
    TRY(psrfits_read_sign(fits));
    TRY(psrfits_read_zero(fits));
    TRY(psrfits_read_scales(fits));
    TRY(psrfits_read_pols(fits));
    table->is_big_endian = 1;
    table->is_high_bit_first = 1;
    table->data = fits->data.at;
    return STATUS_OK;
}

/* Times of a PSRFITS table: its start, and where each row belongs. */

/* Seconds that the last digit of a date stands for. */
static double psrfits_date_step(const char *date)
{
    const char *minutes = strchr(date, ':');
    const char *point = strchr(date, '.');
    size_t digits = point ? strspn(point + 1, "0123456789") : 0;
    return !minutes ? 86400 : !strchr(minutes + 1, ':') ? 60 : fmax(1e-6, pow(10, -(double)digits));
}

/* STT_IMJD, STT_SMJD and STT_OFFS, compared with DATE-OBS, from the first header. Fails with DATA.
 */
static status_t psrfits_read_start(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    SCOPED(free_at) char *date = NULL;
    struct utc dated = {0, 0};
    uint64_t day = 0;
    double second = 0;
    double offset = 0;
    int has_day = 0;
    int has_second = 0;
    int has_offset = 0;
    TRY(fits_unit_u64(fits->unit, "STT_IMJD", 0, 1000000, &day, &has_day));
    TRY(fits_unit_f64(fits->unit, "STT_SMJD", 0, 86401, &second, &has_second));
    TRY(fits_unit_f64(fits->unit, "STT_OFFS", -86400, 86400, &offset, &has_offset));
    TRY(fits_unit_text(fits->unit, "DATE-OBS", &date));
    int has_date = date && units_parse_utc(date, &dated);
    fbh5->sky.has_start = (has_day && day > 0 && has_second) || has_date;
    if (!has_day || day == 0 || !has_second) {
        fbh5->sky.start = dated;
        TRY(assume(&fbh5->assumed, "no STT_IMJD or STT_SMJD: %s%s",
                   has_date ? "the start is DATE-OBS " : "the start is unknown",
                   has_date ? date : ""));
        return STATUS_OK;
    }
    fbh5->sky.start = utc_add((struct utc){(int32_t)day, second}, offset);
    TRY(assume_unless(has_offset, &fbh5->assumed, "no STT_OFFS: 0 is used"));
    double late = has_date ? utc_difference(fbh5->sky.start, dated) : 0;
    return assume_if(
        has_date && fabs(late) > 1.001 * psrfits_date_step(date), &fbh5->assumed,
        "STT_IMJD, STT_SMJD and STT_OFFS are %.9g s after DATE-OBS %s: DATE-OBS is not used", late,
        date);
}

/* Reads a number of each row; all are 0 without the column. */
static status_t psrfits_read_each(const struct psrfits *fits, const struct fits_column *column,
                                  double **out)
{
    uint32_t count = column->count > 0 ? fits->fbh5->table.count : 0;
    TRY(memory_zeroed(fits->fbh5->table.count, sizeof **out, "rows of a table", out));
    for (uint32_t i = 0; i < count; i++) {
        TRY(fits_column_read(column, fits->fd, fits->path, psrfits_row_at(fits, i), 0, 1,
                             *out + i));
    }
    return STATUS_OK;
}

/* The same number in all rows, or 0 in the only one, says nothing of their times. */
static int psrfits_is_set(const double *times, uint32_t count)
{
    int is_set = count == 1 && fabs(times[0]) > 0;
    for (uint32_t i = 1; i < count; i++) {
        is_set = is_set || times[i] > times[0] || times[i] < times[0];
    }
    return is_set;
}

/* Places rows by their OFFS_SUB. A row whose OFFS_SUB is 0 or NaN follows the one before it. */
static status_t psrfits_place_by_times(struct psrfits *fits, const double *times)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    uint32_t unset = 0;
    REQUIRE(isfinite(times[0]), STATUS_DATA, "%s: OFFS_SUB of row 0 of SUBINT is %g", fits->path,
            times[0]);
    for (uint32_t i = 1; i < table->count; i++) {
        double spectra = (times[i] - times[0]) / fbh5->time.step;
        uint64_t least = table->first[i - 1] + table->rows_each;
        if (!isfinite(times[i]) || (times[i] >= 0 && times[i] <= 0)) {
            unset++;
            spectra = (double)least;
        }
        REQUIRE(spectra < 0x1p50 && spectra > (double)least - 0.5, STATUS_DATA,
                "%s: row %u of SUBINT begins %.6g spectra after the first one, expected %" PRIu64
                " or more (OFFS_SUB, TBIN, NSBLK)",
                fits->path, i, spectra, least);
        table->first[i] = (uint64_t)rint(spectra);
        if (table->first[i] > least) {
            TRY(lost_add(&fbh5->lost, least, table->first[i] - least,
                         "rows of SUBINT are missing, by OFFS_SUB"));
        }
    }
    return assume_if(unset > 0, &fbh5->assumed,
                     "OFFS_SUB of %u rows is 0 or no number: each follows the row before it",
                     unset);
}

/* Assumes that rows follow each other, since their times are unknown. NSUBOFFS counts the rows
 * before the first one. */
static status_t psrfits_follow(struct psrfits *fits, double row_seconds, double *centre)
{
    struct fbh5 *fbh5 = fits->fbh5;
    double before = 0;
    int found = 0;
    TRY(fits_unit_f64(fits->unit, "NSUBOFFS", 0, 0x1p40, &before, &found));
    for (uint32_t i = 0; i < fbh5->table.count; i++) {
        fbh5->table.first[i] = i * fbh5->table.rows_each;
    }
    *centre = (before + 0.5) * row_seconds;
    return assume(&fbh5->assumed, "%s: rows follow each other, %.9g rows after the start (%s)",
                  fits->times.count > 0 ? "OFFS_SUB does not grow" : "no column OFFS_SUB", before,
                  found ? "NSUBOFFS" : "no NSUBOFFS");
}

/* Compares the first row's time by OFFS_SUB with that by NSUBOFFS, which is often wrong in parts of
 * a file: OFFS_SUB is used. */
static status_t psrfits_compare_first(struct psrfits *fits, double row_seconds, double *centre)
{
    struct fbh5 *fbh5 = fits->fbh5;
    double before = 0;
    int found = 0;
    TRY(fits_unit_f64(fits->unit, "NSUBOFFS", -0x1p40, 0x1p40, &before, &found));
    double by_times = *centre / row_seconds - 0.5;
    int is_short = by_times * (double)fbh5->table.rows_each < -0.5;
    TRY(assume_if(is_short, &fbh5->assumed,
                  "OFFS_SUB %.9g s of the first row is less than half of its length: it begins at "
                  "the start",
                  *centre));
    TRY(assume_if(!is_short && found && fabs(rint(by_times) - before) > 0.5, &fbh5->assumed,
                  "NSUBOFFS %.9g and OFFS_SUB of the first row, %.9g rows after the start, "
                  "differ: OFFS_SUB is used",
                  before, by_times));
    *centre = fmax(*centre, row_seconds / 2);
    return STATUS_OK;
}

/* Finds whether any step of OFFS_SUB is NSBLK x TBIN, and whether all steps are the same. */
static void psrfits_judge_steps(const struct fbh5 *fbh5, const double *times, int *is_confirmed,
                                int *is_steady)
{
    double row_seconds = (double)fbh5->table.rows_each * fbh5->time.step;
    double close = 0.05 * fbh5->time.step;
    *is_confirmed = 0;
    *is_steady = fbh5->table.count > 2 && psrfits_is_set(times, fbh5->table.count);
    for (uint32_t i = 1; i < fbh5->table.count; i++) {
        double step = times[i] - times[i - 1];
        *is_confirmed = *is_confirmed || fabs(step - row_seconds) <= close;
        *is_steady = *is_steady && fabs(step - (times[1] - times[0])) <= close;
    }
}

/* A row's length three times: TBIN x NSBLK, TSUBINT, the steps of OFFS_SUB. Two of them must agree
 * in some row. */
static status_t psrfits_compare_lengths(struct psrfits *fits, const double *times,
                                        const double *lengths)
{
    struct fbh5 *fbh5 = fits->fbh5;
    uint32_t count = fbh5->table.count;
    double row_seconds = (double)fbh5->table.rows_each * fbh5->time.step;
    double close = fmin(fbh5->time.step / 2, 1e-3 * row_seconds);
    uint32_t right = 0;
    uint32_t wrong = 0;
    uint32_t at = 0;
    int is_confirmed = 0;
    int is_steady = 0;
    psrfits_judge_steps(fbh5, times, &is_confirmed, &is_steady);
    for (uint32_t i = 0; i < count; i++) {
        int is_right = fabs(lengths[i] - row_seconds) <= close;
        right += (uint32_t)is_right;
        if (!is_right) {
            at = wrong == 0 || fabs(lengths[at]) <= 0 ? i : at;
            wrong++;
        }
    }
    REQUIRE(right > 0 || is_confirmed || !is_steady, STATUS_DATA,
            "%s: OFFS_SUB grows by %.9g s from row to row, but NSBLK %" PRIu64
            " spectra of TBIN %.9g s are %.9g s",
            fits->path, times[1] - times[0], fbh5->table.rows_each, fbh5->time.step, row_seconds);
    if (fits->lengths.count > 0 && wrong > 0) {
        REQUIRE(right > 0 || is_confirmed || fabs(lengths[at]) <= 0, STATUS_DATA,
                "%s: TSUBINT of row %u of SUBINT is %.9g s, but NSBLK %" PRIu64
                " spectra of TBIN %.9g s are %.9g s",
                fits->path, at, lengths[at], fbh5->table.rows_each, fbh5->time.step, row_seconds);
        TRY(assume(
            &fbh5->assumed,
            "TSUBINT of %u rows (row %u: %.9g s) is not NSBLK x TBIN, %.9g s: it is not used",
            wrong, at, lengths[at], row_seconds));
    }
    return STATUS_OK;
}

/* The OFFS_SUB of a first row that was never written: 0, where that of the next row begins a whole
 * number of rows after the start. The first row ends there. */
static status_t psrfits_set_first(struct psrfits *fits, double row_seconds, double *times)
{
    double before = fits->fbh5->table.count > 1 ? times[1] / row_seconds - 0.5 : 0;
    if (times[0] >= 0 && times[0] <= 0 && before > 0.5 &&
        fabs(before - rint(before)) * (double)fits->fbh5->table.rows_each < 0.5) {
        times[0] = times[1] - row_seconds;
        TRY(assume(&fits->fbh5->assumed,
                   "OFFS_SUB of the first row is 0, that of the second %.9g s: the first ends "
                   "where the second begins",
                   times[1]));
    }
    return STATUS_OK;
}

/* Spectra in all: where NSTOT says how many there are, the rest of the last row is filling. */
static status_t psrfits_count_spectra(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    const struct fbh5_table *table = &fbh5->table;
    uint64_t total = 0;
    fbh5->rows = table->first[table->count - 1] + table->rows_each;
    TRY(fits_unit_u64(fits->unit, "NSTOT", 0, UINT64_C(1) << 50, &total, ASCII_MAYBE));
    uint64_t written = table->count * table->rows_each;
    if (total == 0 || table->count < fits->rows) {
        return STATUS_OK;
    }
    /* It counts spectra of the rows that are there, or also those between. */
    if (total <= written && written - total < table->rows_each) {
        fbh5->rows -= written - total;
    } else if (total <= fbh5->rows && fbh5->rows - total < table->rows_each) {
        fbh5->rows = total;
    } else {
        TRY(assume(&fbh5->assumed,
                   "NSTOT %" PRIu64 " and NAXIS2 %" PRIu64 " rows of NSBLK %" PRIu64
                   " spectra differ: NSTOT is not used",
                   total, fits->rows, table->rows_each));
    }
    return STATUS_OK;
}

/* Times of the rows that the file holds, by OFFS_SUB: the spectrum with which each begins, and the
 * start of the first. Fails with DATA. */
static status_t psrfits_place_rows(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    SCOPED(free_at) double *times = NULL;
    SCOPED(free_at) double *lengths = NULL;
    double row_seconds = (double)table->rows_each * fbh5->time.step;
    TRY(psrfits_read_each(fits, &fits->times, &times));
    TRY(psrfits_read_each(fits, &fits->lengths, &lengths));
    TRY(memory_zeroed(table->count, sizeof *table->first, "rows of a table", &table->first));
    TRY(psrfits_compare_lengths(fits, times, lengths));
    TRY(psrfits_set_first(fits, row_seconds, times));
    double centre = times[0];
    if (psrfits_is_set(times, table->count)) {
        TRY(psrfits_place_by_times(fits, times));
        TRY(psrfits_compare_first(fits, row_seconds, &centre));
    } else {
        TRY(psrfits_follow(fits, row_seconds, &centre));
    }
    TRY(psrfits_count_spectra(fits));
    if (fbh5->sky.has_start) {
        fbh5->sky.start = utc_add(fbh5->sky.start, centre - row_seconds / 2);
        fbh5->time.tstart_mjd = utc_mjd(fbh5->sky.start);
    }
    fbh5->time.first = fbh5->time.step / 2;
    return STATUS_OK;
}

enum { FITS_BLOCK = 2880 };

static int psrfits_begins(const struct text *begin)
{
    char value[ASCII_VALUE];
    const struct ascii header = {.text = begin->data, .length = begin->length, .has_cards = 1};
    return begin->length >= ASCII_CARD && memcmp(begin->data, "SIMPLE  =", 9) == 0 &&
           ascii_find(&header, "FITSTYPE", value) && strcmp(value, "PSRFITS") == 0;
}

/* Reads right ascension and declination, if both are given. */
static status_t psrfits_read_position(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    double hours = 0;
    double degrees = 0;
    SCOPED(free_at) char *ra = NULL;
    SCOPED(free_at) char *dec = NULL;
    TRY(fits_unit_text(fits->unit, "RA", &ra));
    TRY(fits_unit_text(fits->unit, "DEC", &dec));
    if (ra && dec && ascii_sixtieths(ra, 24, &hours) && ascii_sixtieths(dec, 90, &degrees)) {
        fbh5->head.raj_hours = hours;
        fbh5->head.dej_degrees = degrees;
        fbh5_settle_position(fbh5);
        fbh5->sky.has_position = 1; /* also of zeros */
    }
    return STATUS_OK;
}

static status_t psrfits_read_first(struct psrfits *fits)
{
    SCOPED(free_at) char *mode = NULL;
    TRY(fits_unit_text(fits->unit, "OBS_MODE", &mode));
    REQUIRE(!mode || strcmp(mode, "SEARCH") == 0 || strcmp(mode, "SRCH") == 0, STATUS_DATA,
            "%s: OBS_MODE is %s, expected SEARCH: pulse profiles are no filterbank", fits->path,
            mode);
    TRY(assume_unless(mode != NULL, &fits->fbh5->assumed, "no OBS_MODE: SEARCH is assumed"));
    TRY(psrfits_read_start(fits));
    TRY(psrfits_read_position(fits));
    TRY(fits_unit_text(fits->unit, "SRC_NAME", &fits->fbh5->sky.source));
    TRY(fits_unit_text(fits->unit, "TELESCOP", &fits->fbh5->sky.telescope));
    TRY(fits_unit_f64(fits->unit, "OBSFREQ", -1e9, 1e9, &fits->centre_mhz, ASCII_MAYBE));
    TRY(fits_unit_f64(fits->unit, "OBSBW", -1e9, 1e9, &fits->band_mhz, ASCII_MAYBE));
    return fits_unit_u64(fits->unit, "OBSNCHAN", 0, 1 << 24, &fits->channels, ASCII_MAYBE);
}

/* Leaves out rows of zeros that begin in the last block of a file: the filling after its table. */
static status_t psrfits_drop_filling(const struct psrfits *fits, uint64_t *rows)
{
    const struct fbh5 *fbh5 = fits->fbh5;
    unsigned char bytes[FITS_BLOCK] = {0};
    int is_filling = fbh5->file_bytes % FITS_BLOCK == 0;
    while (is_filling && *rows > 0) {
        uint64_t at = psrfits_row_at(fits, *rows - 1);
        uint64_t rest = fbh5->file_bytes - at;
        if (rest >= FITS_BLOCK) {
            break;
        }
        TRY(file_read(fits->fd, fits->path, at, bytes, rest));
        for (uint64_t i = 0; i < rest && is_filling; i++) {
            is_filling = bytes[i] == 0;
        }
        *rows -= (uint64_t)is_filling;
    }
    return STATUS_OK;
}

/* Bytes after the table that are no unit, such as rows that a killed writer did not count; 0 where
 * there is less than a row of them. */
static status_t psrfits_find_rest(const struct psrfits *fits, uint64_t *out)
{
    enum { WORD = 8 };
    const struct fbh5 *fbh5 = fits->fbh5;
    char word[WORD] = "";
    uint64_t heap = 0;
    int found = 0;
    *out = 0;
    TRY(fits_unit_u64(fits->unit, "PCOUNT", 0, UINT64_C(1) << 48, &heap, &found));
    const uint64_t bytes = fbh5->table.offset + fits->rows * fbh5->table.row_bytes + heap;
    const uint64_t end = ceil_div_u64(bytes, FITS_BLOCK) * FITS_BLOCK;
    if (fbh5->file_bytes < end + fbh5->table.row_bytes || fbh5->file_bytes < end + WORD) {
        return STATUS_OK;
    }
    TRY(file_read(fits->fd, fits->path, end, word, WORD));
    *out = memcmp(word, "XTENSION", WORD) != 0 ? fbh5->file_bytes - end : 0;
    return STATUS_OK;
}

/* A table that counts no rows, as writers do that count them when they end: all that is there. */
static status_t psrfits_count_uncounted(struct psrfits *fits)
{
    uint64_t rest = 0;
    TRY(psrfits_find_rest(fits, &rest));
    uint64_t rows = rest / fits->fbh5->table.row_bytes;
    TRY(psrfits_drop_filling(fits, &rows));
    REQUIRE(rows > 0, STATUS_DATA, "%s: NAXIS2 says 0 rows of SUBINT, and the file has none",
            fits->path);
    fits->rows = rows;
    return assume(&fits->fbh5->assumed,
                  "NAXIS2 says 0 rows of SUBINT, as if its writer was killed, and the file has "
                  "%" PRIu64 " whole ones: these are read",
                  rows);
}

/* Rows of the table, and how many of them the file holds. */
static status_t psrfits_count_rows(struct psrfits *fits)
{
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    uint64_t rest = 0;
    TRY(fits_unit_u64(fits->unit, "NAXIS1", 1, UINT64_C(1) << 48, &table->row_bytes, NULL));
    TRY(fits_unit_u64(fits->unit, "NAXIS2", 0, UINT64_C(1) << 40, &fits->rows, NULL));
    TRY(fits_unit_data(fits->unit, &table->offset));
    TRY(fits->rows == 0 ? psrfits_count_uncounted(fits) : STATUS_OK);
    uint64_t held = fbh5->file_bytes > table->offset
                        ? (fbh5->file_bytes - table->offset) / table->row_bytes
                        : 0;
    TRY(held < fits->rows ? psrfits_drop_filling(fits, &held) : STATUS_OK);
    REQUIRE(held > 0, STATUS_DATA, "%s ends within the first row of its table SUBINT", fits->path);
    TRY(assume_if(held < fits->rows, &fbh5->assumed,
                  "NAXIS2 says %" PRIu64 " rows of SUBINT, but the file ends after %" PRIu64
                  ": these are read",
                  fits->rows, held));
    TRY(held >= fits->rows ? psrfits_find_rest(fits, &rest) : STATUS_OK);
    TRY(assume_if(rest > 0, &fbh5->assumed,
                  "NAXIS2 says %" PRIu64 " rows of SUBINT, and the file has %" PRIu64
                  " bytes after them that are no FITS unit: these are ignored",
                  fits->rows, rest));
    held = min_u64(held, fits->rows);
    REQUIRE(held <= UINT32_MAX / 2, STATUS_DATA, "%s: %" PRIu64 " rows of SUBINT", fits->path,
            held);
    table->count = (uint32_t)held;
    return STATUS_OK;
}

SCOPED_CALLS(psrfits_close, struct psrfits, fits_unit_close(at->unit), file_close(at->fd))

static status_t psrfits_open(const char *path, struct fbh5 **out)
{
    int has_further = 0;
    SCOPED(psrfits_close) struct psrfits fits = {.path = path, .fd = -1};
    TRY(filterbank_begin(path, "PSRFITS", out, &fits.fd));
    struct fbh5 *fbh5 = fits.fbh5 = *out;
    TRY(fits_unit_open(fits.fd, path, &fits.unit));
    TRY(psrfits_read_first(&fits));
    TRY(fits_unit_find_table(fits.unit, "SUBINT"));
    TRY(psrfits_count_rows(&fits));
    TRY(psrfits_read_samples(&fits));
    TRY(psrfits_read_band(&fits));
    TRY(filterbank_finish(fbh5));
    TRY(fbh5_note_band(fbh5, "DAT_FREQ"));
    TRY(psrfits_place_rows(&fits));
    TRY(fits_unit_has_further(fits.unit, "SUBINT", &has_further));
    return assume_if(has_further, &fbh5->assumed,
                     "a further table SUBINT follows: the first is read");
}

const struct format psrfits_format = {.name = "psrfits",
                                      .title = "search-mode PSRFITS",
                                      .is_no_product = 1,
                                      .begins = psrfits_begins,
                                      .begin_bytes = FITS_BLOCK,
                                      .open_filterbank = psrfits_open};
