/* Columns of a PSRFITS table, and how samples are stored: bits, axes, scales, polarisations. */
#include "input/format/psrfits.h"

#include "base/memory.h"
#include "input/archive.h"
#include "input/format/ascii.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

status_t psrfits_read_band(struct psrfits *fits)
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

status_t psrfits_read_samples(struct psrfits *fits)
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
