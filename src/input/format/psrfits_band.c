/* Channels of a PSRFITS table: their frequencies and weights in all rows. */
#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/psrfits.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without DAT_FREQ: channels about OBSFREQ, as wide as CHAN_BW or OBSBW / NCHAN says. */
static status_t psrfits_assume_band(struct psrfits *fits, double width)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = fits->fbh5;
    double n = fbh5->nchannels;
    double other = fits->band_mhz / n;
    int has_width = fabs(width) > 0;
    int has_other = fabs(other) > 0;
    const char *why = fits->freqs.count > 0 ? "DAT_FREQ is 0" : "no column DAT_FREQ";
    REQUIRE(fabs(fits->centre_mhz) > 0 && (has_width || has_other), STATUS_DATA,
            "%s: %s, and OBSFREQ or both of CHAN_BW and OBSBW are missing: its channels cannot be "
            "told",
            fits->path, why);
    REQUIRE(!has_width || !has_other || fabs(fabs(width) - fabs(other)) * n <= fabs(width) / 2,
            STATUS_DATA, "%s: %s, and CHAN_BW %.9g and OBSBW %.9g of %u channels (NCHAN) differ",
            fits->path, why, width, fits->band_mhz, fbh5->nchannels);
    REQUIRE(has_width || fits->channels == 0 || fits->channels == fbh5->nchannels, STATUS_DATA,
            "%s: %s, no CHAN_BW, and OBSBW %.9g is of OBSNCHAN %u channels, NCHAN is %u",
            fits->path, why, fits->band_mhz, (unsigned)fits->channels, fbh5->nchannels);
    if (has_width && has_other && (width > 0) != (other > 0)) {
        TRY(assume(&fbh5->assumed,
                   "CHAN_BW %.9g and OBSBW %.9g have different signs: CHAN_BW is "
                   "used",
                   width, fits->band_mhz));
    }
    fbh5->foff_mhz = has_width ? width : other;
    fbh5->fch1_mhz = fits->centre_mhz - fbh5->foff_mhz * (n - 1) / 2;
    TRY(assume(&fbh5->assumed, "%s: channels lie about OBSFREQ %.9g MHz in steps of %s, %.9g MHz",
               why, fits->centre_mhz, has_width ? "CHAN_BW" : "OBSBW / NCHAN", fbh5->foff_mhz));
out:
    return st;
}

/* Compares other cards with a band that is known by DAT_FREQ. Signs of CHAN_BW and OBSBW are known
 * to be unreliable, and so are OBSBW and OBSFREQ of parts of a band. */
static status_t psrfits_compare_band(struct psrfits *fits, double width, double step)
{
    status_t st = STATUS_OK;
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
    if (fabs(fits->band_mhz) > 0 && fabs(fits->band_mhz - band) > fabs(fbh5->foff_mhz) / 2) {
        TRY(assume(&fbh5->assumed,
                   "OBSBW %.9g MHz and the band of NCHAN channels, %.9g MHz, differ: OBSBW is not "
                   "used",
                   fits->band_mhz, band));
    }
    if (fabs(fits->centre_mhz) > 0 &&
        fabs(fits->centre_mhz - centre) > 1.01 * fabs(fbh5->foff_mhz)) {
        TRY(assume(
            &fbh5->assumed,
            "OBSFREQ %.9g MHz and the centre of DAT_FREQ, %.9g MHz, differ: DAT_FREQ is used",
            fits->centre_mhz, centre));
    }
out:
    return st;
}

/* Channels must be evenly spaced. `row`: for messages; the first one has set fch1 and foff. */
static status_t psrfits_check_even(const struct psrfits *fits, const double *mhz, uint32_t row)
{
    status_t st = STATUS_OK;
    const struct fbh5 *fbh5 = fits->fbh5;
    for (uint32_t i = 0; i < fbh5->nchannels; i++) {
        double wanted = fbh5->fch1_mhz + i * fbh5->foff_mhz;
        REQUIRE(fabs(mhz[i] - wanted) <= 0.1 * fabs(fbh5->foff_mhz), STATUS_DATA,
                "%s: its channels are not evenly spaced, or not in all rows: channel %u lies at "
                "%.9g MHz in row %u (DAT_FREQ), expected %.9g MHz",
                fits->path, i, mhz[i], row, wanted);
    }
out:
    return st;
}

static uint64_t psrfits_count_zeros(const double *numbers, uint64_t count)
{
    uint64_t zeros = 0;
    for (uint64_t i = 0; i < count; i++) {
        zeros += numbers[i] >= 0 && numbers[i] <= 0;
    }
    return zeros;
}

/* `mhz`: DAT_FREQ of the first row; 0 without the column. */
static status_t psrfits_set_band(struct psrfits *fits, const double *mhz)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = fits->fbh5;
    uint32_t n = fbh5->nchannels;
    double width = 0;
    int found = 0;
    TRY(fits_unit_f64(fits->unit, "CHAN_BW", -1e9, 1e9, &width, &found));
    if (psrfits_count_zeros(mhz, n) == n) {
        TRY(psrfits_assume_band(fits, width));
        goto out;
    }
    fbh5->fch1_mhz = mhz[0];
    double step = n > 1 ? (mhz[n - 1] - mhz[0]) / (n - 1) : width;
    fbh5->foff_mhz = fabs(step - width) <= 1e-3 * fabs(step) / n ? width : step;
    TRY(psrfits_check_even(fits, mhz, 0));
    TRY(psrfits_compare_band(fits, width, step));
out:
    return st;
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
    status_t st = STATUS_OK;
    char *before = raw->now;
    raw->now = raw->before;
    raw->before = before;
    TRY(file_read(fits->fd, fits->path, psrfits_row_at(fits, row) + raw->column->at, raw->now,
                  raw->bytes));
    *is_other = row == 0 || memcmp(raw->now, raw->before, raw->bytes) != 0;
out:
    return st;
}

/* Frequencies of all rows are those of the first. Channels of weight 0 are zero in what is read:
 * their share is reported. Weights below 0 are noted. Rows are mostly like those before them. */
static status_t psrfits_check_rows(struct psrfits *fits, struct row_bytes *freqs,
                                   struct row_bytes *weights, double *numbers)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = fits->fbh5;
    double least = 0;
    uint64_t none = 0;
    uint64_t each = 0;
    int is_other = 0;
    for (uint32_t row = 0; row < fbh5->table.count; row++) {
        uint64_t at = psrfits_row_at(fits, row);
        TRY(psrfits_read_raw(fits, row, freqs, &is_other));
        if (row > 0 && is_other) {
            TRY(fits_column_read(freqs->column, fits->fd, fits->path, at, 0, freqs->column->count,
                                 numbers));
            TRY(psrfits_check_even(fits, numbers, row));
        }
        TRY(psrfits_read_raw(fits, row, weights, &is_other));
        if (is_other) {
            TRY(fits_column_read(weights->column, fits->fd, fits->path, at, 0,
                                 weights->column->count, numbers));
            each = psrfits_count_zeros(numbers, weights->column->count);
            for (uint64_t i = 0; i < weights->column->count; i++) {
                least = fmin(least, numbers[i]);
            }
        }
        none += each;
    }
    TRY(least >= 0 ? STATUS_OK
                   : assume(&fbh5->assumed,
                            "DAT_WTS goes down to %.9g: values are multiplied by weights below 0, "
                            "too",
                            least));
    if (none > 0) {
        report_warn("%s: %.3g %% of its channels in time have weight 0 (DAT_WTS): they are zero in "
                    "what is made of it",
                    fits->path,
                    100.0 * (double)none / ((double)fbh5->table.count * fbh5->nchannels));
    }
out:
    return st;
}

status_t psrfits_read_band(struct psrfits *fits)
{
    status_t st = STATUS_OK;
    uint32_t n = fits->fbh5->nchannels;
    uint64_t count = fits->freqs.count;
    double *numbers = NULL;
    char *raw = NULL;
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
    TRY(fits_column_read(&fits->freqs, fits->fd, fits->path, psrfits_row_at(fits, 0), 0, count,
                         numbers));
    TRY(psrfits_set_band(fits, numbers));
    TRY(psrfits_check_rows(fits, &bytes[0], &bytes[1], numbers));
out:
    free(numbers);
    free(raw);
    return st;
}
