/* Search-mode PSRFITS: the header of the first unit of a FITS file, and its binary table SUBINT
 * (van Straten, Manchester, Johnston, Reynolds 2010, PSRCHIVE and PSRFITS; the PSRFITS definition).
 * A value that a header does not give, or contradicts, is stated as an assumption. */
#include "input/format/psrfits.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/archive.h"
#include "input/format/ascii.h"
#include "input/format/recorder.h"
#include "input/lost.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
