/* Headers and columns of FITS files, by cfitsio. */
#include "io/fits_unit.h"

#include "base/byte_order.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/apart.h"
#include "io/file.h"

#include <fitsio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numeric columns of FITS: big-endian numbers of six types, scaled. */

enum { PIECE = 2048 }; /* elements read at once */

uint32_t fits_column_bytes(const struct fits_column *column)
{
    static const char letters[] = "BIJEKD";
    static const uint32_t bytes[sizeof letters] = {1, 2, 4, 4, 8, 8, 0};
    const char *letter = strchr(letters, (int)column->type);
    return letter ? bytes[letter - letters] : 0;
}

#define COLUMN_CASE(letter, value)                                                                 \
    case letter:                                                                                   \
        for (uint64_t i = 0; i < count; i++) {                                                     \
            out[i] = (double)(value);                                                              \
        }                                                                                          \
        break;

static void column_convert(const struct fits_column *column, const uint8_t *raw, uint64_t count,
                           double *out)
{
    switch (column->type) {
        COLUMN_CASE('B', raw[i])
        COLUMN_CASE('I', (int16_t)load_u16(raw + 2 * i, 1))
        COLUMN_CASE('J', (int32_t)load_u32(raw + 4 * i, 1))
        COLUMN_CASE('K', (int64_t)load_u64(raw + 8 * i, 1))
        COLUMN_CASE('E', float_of_u32(load_u32(raw + 4 * i, 1)))
        COLUMN_CASE('D', float_of_u64(load_u64(raw + 8 * i, 1)))
    default:
        break;
    }
    for (uint64_t i = 0; i < count; i++) {
        out[i] = out[i] * column->scale + column->zero;
    }
}

status_t fits_column_read(const struct fits_column *column, int fd, const char *path,
                          uint64_t row_at, uint64_t first, uint64_t count, double *out)
{
    uint8_t raw[8 * PIECE];
    uint64_t bytes = fits_column_bytes(column);
    for (uint64_t done = 0; done < count; done += PIECE) {
        uint64_t now = min_u64(count - done, PIECE);
        TRY(file_read(fd, path, row_at + column->at + (first + done) * bytes, raw, now * bytes));
        column_convert(column, raw, now, out + done);
    }
    return STATUS_OK;
}

enum { MOST_UNITS = 1000, NAME = 80, CARD = 80 };

struct fits_unit {
    const char *path;
    int fd;
    fitsfile *file;
    int number; /* from 1 */
};

/* Records why cfitsio has failed at a key or column (NULL: neither): its text for the number, and
 * its first message. */
static status_t unit_fail(const fits_unit_t *unit, int code, const char *key)
{
    char reason[FLEN_STATUS] = "";
    char message[FLEN_ERRMSG] = "";
    fits_get_errstatus(code, reason);
    /* Names of files are the descriptor's: our own message has the name. */
    int is_first = fits_read_errmsg(message) && !strstr(message, "file:");
    fits_clear_errmsg();
    return report_fail(code == MEMORY_ALLOCATION ? STATUS_DEVICE : STATUS_DATA,
                       "%s: cannot read %s%sits FITS unit %d: %s%s%s", unit->path, key ? key : "",
                       key ? " of " : "", unit->number, reason, is_first ? ": " : "",
                       is_first ? message : "");
}

status_t fits_unit_open(int fd, const char *path, fits_unit_t **out)
{
    char name[48];
    char begin[6] = "";
    int code = 0;
    TRY(memory_zeroed(1, sizeof **out, "a FITS file", out));
    fits_unit_t *unit = *out;
    unit->path = path;
    unit->fd = fd;
    unit->number = 1;
    /* cfitsio uncompresses files that begin otherwise. */
    TRY(file_read(fd, path, 0, begin, sizeof begin));
    REQUIRE(memcmp(begin, "SIMPLE", sizeof begin) == 0, STATUS_DATA, "%s is no FITS file", path);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    fits_open_diskfile(&unit->file, name, READONLY, &code);
    return code ? unit_fail(unit, code, NULL) : STATUS_OK;
}

void fits_unit_close(fits_unit_t *unit)
{
    int code = 0;
    if (unit && unit->file) {
        fits_close_file(unit->file, &code);
        fits_clear_errmsg();
    }
    free(unit);
}

/* Goes to the next unit. cfitsio allocates all columns that a table declares before it checks
 * whether they exist. So TFIELDS, always the eighth card, is checked before (at most 999: FITS
 * standard 4.0, 7.3.1). *code: cfitsio's. Fails with DATA. */
static status_t unit_go_on(fits_unit_t *unit, int *type, int *code)
{
    enum { EIGHTH = 7, MOST_FIELDS = 999 };
    char card[CARD + 1] = "";
    LONGLONG head = 0;
    LONGLONG data = 0;
    LONGLONG end = 0;
    fits_get_hduaddrll(unit->file, &head, &data, &end, code);
    if (*code == 0 && pread(unit->fd, card, CARD, end + EIGHTH * CARD) == CARD) {
        REQUIRE(strncmp(card, "TFIELDS =", 9) != 0 || strtod(card + 10, NULL) <= MOST_FIELDS,
                STATUS_DATA, "%s: TFIELDS of its FITS unit %d is %.*s, expected 0 to %d",
                unit->path, unit->number + 1, CARD / 4, card + 10, MOST_FIELDS);
    }
    unit->number++;
    fits_movabs_hdu(unit->file, unit->number, type, code);
    return STATUS_OK;
}

status_t fits_unit_find_table(fits_unit_t *unit, const char *name)
{
    SCOPED(free_at) char *found = NULL;
    int type = 0;
    while (type != BINARY_TBL || !found || strcmp(found, name) != 0) {
        int code = 0;
        apart_at("%s: its FITS unit %d", unit->path, unit->number + 1);
        TRY(unit_go_on(unit, &type, &code));
        REQUIRE(code != END_OF_FILE && unit->number <= MOST_UNITS, STATUS_DATA,
                "%s contains no binary table %s", unit->path, name);
        TRY(code ? unit_fail(unit, code, NULL) : STATUS_OK);
        free(memory_move(&found));
        TRY(fits_unit_text(unit, "EXTNAME", &found));
    }
    return STATUS_OK;
}

status_t fits_unit_has_further(fits_unit_t *unit, const char *name, int *out)
{
    SCOPED(free_at) char *found = NULL;
    const int before = unit->number;
    int type = 0;
    int code = 0;
    *out = 0;
    while (!*out && unit->number < MOST_UNITS) {
        TRY(unit_go_on(unit, &type, &code));
        if (code) {
            break; /* the end, or what a file that was cut off lacks */
        }
        free(memory_move(&found));
        TRY(fits_unit_text(unit, "EXTNAME", &found));
        *out = type == BINARY_TBL && found && strcmp(found, name) == 0;
    }
    fits_clear_errmsg();
    code = 0;
    unit->number = before;
    fits_movabs_hdu(unit->file, unit->number, &type, &code);
    return code ? unit_fail(unit, code, NULL) : STATUS_OK;
}

status_t fits_unit_data(fits_unit_t *unit, uint64_t *at)
{
    LONGLONG head = 0;
    LONGLONG data = 0;
    LONGLONG end = 0;
    int code = 0;
    fits_get_hduaddrll(unit->file, &head, &data, &end, &code);
    TRY(code ? unit_fail(unit, code, NULL) : STATUS_OK);
    *at = (uint64_t)data;
    return STATUS_OK;
}

status_t fits_unit_column(fits_unit_t *unit, const char *name, int may_be_bits,
                          struct fits_column *out)
{
    char wanted[NAME];
    char letters[FLEN_VALUE] = "";
    long repeat = 0;
    double scale = 1;
    double zero = 0;
    int number = 0;
    int code = 0;
    *out = (struct fits_column){0};
    snprintf(wanted, sizeof wanted, "%s", name);
    fits_get_colnum(unit->file, CASEINSEN, wanted, &number, &code);
    if (code == COL_NOT_FOUND) {
        fits_clear_errmsg();
        return STATUS_OK;
    }
    REQUIRE(code != COL_NOT_UNIQUE, STATUS_DATA, "%s has two columns %s", unit->path, name);
    fits_get_bcolparms(unit->file, number, NULL, NULL, letters, &repeat, &scale, &zero, NULL, NULL,
                       &code);
    TRY(code ? unit_fail(unit, code, name) : STATUS_OK);
    REQUIRE(isfinite(scale) && isfinite(zero) && fabs(scale) > 0, STATUS_DATA,
            "%s: TSCAL%d = %g, TZERO%d = %g of column %s, expected finite numbers, and no TSCAL "
            "of 0",
            unit->path, number, scale, number, zero, name);
    *out = (struct fits_column){(uint64_t)unit->file->Fptr->tableptr[number - 1].tbcol,
                                (uint64_t)repeat,
                                (uint32_t)letters[0],
                                (uint32_t)number,
                                scale,
                                zero};
    if (may_be_bits && out->type == 'X') {
        out->type = 'B';
        out->count = ceil_div_u64(out->count, 8);
    }
    return REQUIRED(fits_column_bytes(out) > 0, STATUS_DATA,
                    "%s: column %s is of type %s, expected numbers (B, I, J, K, E, D)", unit->path,
                    name, letters);
}

/* Whether there is a card of the key; further ones must have the same value. */
static status_t unit_look(const fits_unit_t *unit, const char *key, int *found)
{
    status_t st = STATUS_OK;
    char wanted[NAME];
    char card[FLEN_CARD];
    char value[FLEN_VALUE] = "";
    char *keys[] = {wanted};
    int code = 0;
    *found = 0;
    snprintf(wanted, sizeof wanted, "%s", key);
    fits_read_record(unit->file, 0, card, &code); /* the search begins with the first card */
    while (fits_find_nextkey(unit->file, keys, 1, NULL, 0, card, &code) == 0) {
        char before[FLEN_VALUE];
        memcpy(before, value, sizeof before);
        fits_parse_value(card, value, NULL, &code);
        REQUIRE_OUT(code || !*found || strcmp(before, value) == 0, STATUS_DATA,
                    "%s: its FITS unit %d says both %s = %s and %s = %s", unit->path, unit->number,
                    key, before, key, value);
        *found = 1;
    }
    TRY_OUT(code != KEY_NO_EXIST && code != VALUE_UNDEFINED ? unit_fail(unit, code, key)
                                                            : STATUS_OK);
out:
    fits_clear_errmsg();
    return st;
}

status_t fits_unit_text(fits_unit_t *unit, const char *key, char **out)
{
    status_t st = STATUS_OK;
    char card[FLEN_CARD];
    char *text = NULL;
    int code = 0;
    int found = 0;
    *out = NULL;
    TRY_OUT(unit_look(unit, key, &found));
    if (!found) {
        goto out;
    }
    fits_read_record(unit->file, 0, card, &code);
    fits_read_key_longstr(unit->file, key, &text, NULL, &code);
    TRY_OUT(code && code != VALUE_UNDEFINED ? unit_fail(unit, code, key) : STATUS_OK);
    const char *begin = text ? text + strspn(text, " ") : "";
    TRY_OUT(*begin && strcmp(begin, "*") != 0 ? memory_text(begin, out) : STATUS_OK);
out:
    code = 0;
    if (text) {
        fits_free_memory(text, &code);
    }
    fits_clear_errmsg();
    return st;
}

status_t fits_unit_f64(fits_unit_t *unit, const char *key, double least, double most, double *value,
                       int *found)
{
    SCOPED(free_at) char *text = NULL;
    double number = 0;
    TRY(fits_unit_text(unit, key, &text));
    REQUIRE(text || found, STATUS_DATA, "%s: its FITS unit %d has no %s", unit->path, unit->number,
            key);
    if (found) {
        *found = text != NULL;
    }
    if (text) {
        for (char *c = text; *c; c++) { /* Fortran's exponent: 1.5D-3 */
            *c = *c == 'D' || *c == 'd' ? 'E' : *c;
        }
        REQUIRE(units_parse_f64(text, &number) && number >= least && number <= most, STATUS_DATA,
                "%s: its FITS unit %d says %s = %s, expected a number from %g to %g", unit->path,
                unit->number, key, text, least, most);
        *value = number;
    }
    return STATUS_OK;
}

status_t fits_unit_u64(fits_unit_t *unit, const char *key, uint64_t least, uint64_t most,
                       uint64_t *value, int *found)
{
    double number = (double)*value;
    TRY(fits_unit_f64(unit, key, (double)least, (double)most, &number, found));
    REQUIRE(number <= floor(number), STATUS_DATA,
            "%s: its FITS unit %d says %s = %.17g, expected a whole number", unit->path,
            unit->number, key, number);
    *value = (uint64_t)number;
    return STATUS_OK;
}
