/* Search-mode PSRFITS: the header of the first unit of a FITS file, and its binary table SUBINT
 * (van Straten, Manchester, Johnston, Reynolds 2010, PSRCHIVE and PSRFITS; the PSRFITS definition).
 * A value that a header does not give, or contradicts, is stated as an assumption. */
#include "input/format/psrfits.h"

#include "base/memory.h"
#include "input/assumed.h"
#include "input/format/ascii.h"
#include "input/format/filterbank.h"
#include "input/format/recorder.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FITS_BLOCK = 2880 };

static status_t psrfits_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    struct text head = {0};
    char value[ASCII_VALUE];
    TRY(recorder_head(path, FITS_BLOCK, &head));
    const struct ascii header = {path, 0, head.data, head.length, 1};
    *is_it = head.length >= ASCII_CARD && memcmp(head.data, "SIMPLE  =", 9) == 0 &&
             ascii_find(&header, "FITSTYPE", value) && strcmp(value, "PSRFITS") == 0;
out:
    text_free(&head);
    return st;
}

static status_t psrfits_check_mode(struct psrfits *fits)
{
    status_t st = STATUS_OK;
    char *mode = NULL;
    TRY(fits_unit_text(fits->unit, "OBS_MODE", &mode));
    REQUIRE(!mode || strcmp(mode, "SEARCH") == 0 || strcmp(mode, "SRCH") == 0, STATUS_DATA,
            "%s: OBS_MODE is %s, expected SEARCH: pulse profiles are no filterbank", fits->path,
            mode);
    TRY(mode ? STATUS_OK : assume(&fits->fbh5->assumed, "no OBS_MODE: SEARCH is assumed"));
out:
    free(mode);
    return st;
}

/* Right ascension and declination, if both are given. */
static status_t psrfits_read_position(struct psrfits *fits)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = fits->fbh5;
    double hours = 0;
    double degrees = 0;
    char *ra = NULL;
    char *dec = NULL;
    TRY(fits_unit_text(fits->unit, "RA", &ra));
    TRY(fits_unit_text(fits->unit, "DEC", &dec));
    fbh5->head.has_position =
        ra && dec && ascii_sixtieths(ra, 24, &hours) && ascii_sixtieths(dec, 90, &degrees);
    fbh5->head.raj_hours = fbh5->head.has_position ? hours : 0;
    fbh5->head.dej_degrees = fbh5->head.has_position ? degrees : 0;
out:
    free(ra);
    free(dec);
    return st;
}

static status_t psrfits_read_first(struct psrfits *fits)
{
    status_t st = STATUS_OK;
    int found = 0;
    TRY(psrfits_check_mode(fits));
    TRY(psrfits_read_start(fits));
    TRY(psrfits_read_position(fits));
    TRY(fits_unit_text(fits->unit, "SRC_NAME", &fits->fbh5->head.source));
    TRY(fits_unit_text(fits->unit, "TELESCOP", &fits->fbh5->head.telescope));
    TRY(fits_unit_f64(fits->unit, "OBSFREQ", -1e9, 1e9, &fits->centre_mhz, &found));
    TRY(fits_unit_f64(fits->unit, "OBSBW", -1e9, 1e9, &fits->band_mhz, &found));
    TRY(fits_unit_u64(fits->unit, "OBSNCHAN", 0, 1 << 24, &fits->channels, &found));
out:
    return st;
}

/* Leaves out rows of zeros that begin in the last block of a file: the filling behind its table. */
static status_t psrfits_drop_filling(const struct psrfits *fits, uint64_t *rows)
{
    status_t st = STATUS_OK;
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
out:
    return st;
}

/* Rows of the table, and how many of them the file holds. */
static status_t psrfits_count_rows(struct psrfits *fits)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = fits->fbh5;
    struct fbh5_table *table = &fbh5->table;
    TRY(fits_unit_u64(fits->unit, "NAXIS1", 1, UINT64_C(1) << 48, &table->row_bytes, NULL));
    TRY(fits_unit_u64(fits->unit, "NAXIS2", 1, UINT64_C(1) << 40, &fits->rows, NULL));
    TRY(fits_unit_data(fits->unit, &table->offset));
    uint64_t held = fbh5->file_bytes > table->offset
                        ? (fbh5->file_bytes - table->offset) / table->row_bytes
                        : 0;
    TRY(held < fits->rows ? psrfits_drop_filling(fits, &held) : STATUS_OK);
    REQUIRE(held > 0, STATUS_DATA, "%s ends within the first row of its table SUBINT", fits->path);
    if (held < fits->rows) {
        TRY(assume(&fbh5->assumed,
                   "NAXIS2 says %" PRIu64 " rows of SUBINT, but the file ends after %" PRIu64
                   ": these are read",
                   fits->rows, held));
    }
    held = min_u64(held, fits->rows);
    REQUIRE(held <= UINT32_MAX / 2, STATUS_DATA, "%s: %" PRIu64 " rows of SUBINT", fits->path,
            held);
    table->count = (uint32_t)held;
out:
    return st;
}

static status_t psrfits_open(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    int has_further = 0;
    struct psrfits fits = {.path = path, .fd = -1};
    TRY(filterbank_begin(path, "PSRFITS", &fbh5, &fits.fd));
    fits.fbh5 = fbh5;
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
    TRY(has_further ? assume(&fbh5->assumed, "a further table SUBINT follows: the first is read")
                    : STATUS_OK);
    *out = fbh5;
    fbh5 = NULL;
out:
    fits_unit_close(fits.unit);
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
