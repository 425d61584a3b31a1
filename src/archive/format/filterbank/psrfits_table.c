/* FITS, as far as PSRFITS needs it: units, and the columns of a binary table. */
#include "archive/format/filterbank/psrfits.h"
#include "base/memory.h"
#include "io/apart/apart.h"
#include "io/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RECORD = 2880, /* bytes: FITS files are made of such */
    MOST_HEADER = 1 << 20,
    MOST_UNITS = 1000,
    MOST_COLUMNS = 999
};

/* The header at byte fits->at, which is moved behind it. */
static status_t psrfits_read_header(struct psrfits *fits, uint64_t file_bytes, struct text *out)
{
    status_t st = STATUS_OK;
    size_t without = 0;
    size_t with = 0;
    int ends = 0;
    char record[RECORD];
    out->length = 0;
    for (uint64_t at = fits->at; ends == 0; at += RECORD) {
        REQUIRE(at + RECORD <= file_bytes && out->length < MOST_HEADER, STATUS_DATA,
                "%s: the FITS header at byte %" PRIu64 " has no END", fits->path, fits->at);
        TRY(file_read(fits->fd, fits->path, at, record, RECORD));
        TRY(text_add_bytes(out, record, RECORD));
        ends = ascii_end_of_cards(out->data, out->length, &without, &with);
    }
    REQUIRE(ends > 0, STATUS_DATA, "%s: no FITS header at byte %" PRIu64, fits->path, fits->at);
    fits->at += out->length;
    out->length = without;
out:
    return st;
}

status_t psrfits_find_table(struct psrfits *fits, uint64_t file_bytes)
{
    status_t st = STATUS_OK;
    char name[ASCII_VALUE] = "";
    for (int unit = 0; strcmp(name, "SUBINT") != 0; unit++) {
        struct text *text = unit == 0 ? &fits->first : &fits->text;
        const uint64_t begin = fits->at;
        uint64_t axes = 0;
        uint64_t bits = 8;
        uint64_t elements = 1;
        uint64_t heap = 0;
        int found = 0;
        REQUIRE(fits->at < file_bytes && unit < MOST_UNITS, STATUS_DATA,
                "%s holds no binary table SUBINT", fits->path);
        apart_at("%s: the FITS header at byte %" PRIu64, fits->path, fits->at);
        TRY(psrfits_read_header(fits, file_bytes, text));
        const struct ascii header = {fits->path, begin, text->data, text->length, 1};
        if (ascii_find(&header, "EXTNAME", name) && strcmp(name, "SUBINT") == 0) {
            break;
        }
        TRY(ascii_u64(&header, "NAXIS", 0, 999, &axes, NULL));
        char value[ASCII_VALUE];
        if (ascii_find(&header, "BITPIX", value)) {
            bits = (uint64_t)strtoull(value + (*value == '-'), NULL, 10);
        }
        for (uint64_t i = 1; i <= axes; i++) {
            char key[16];
            uint64_t size = 0;
            snprintf(key, sizeof key, "NAXIS%" PRIu64, i);
            TRY(ascii_u64(&header, key, 0, UINT64_C(1) << 50, &size, NULL));
            REQUIRE(multiply_u64(elements, size, &elements), STATUS_DATA,
                    "%s: the unit at byte %" PRIu64 " is too large", fits->path, begin);
        }
        TRY(ascii_u64(&header, "PCOUNT", 0, UINT64_C(1) << 50, &heap, &found));
        elements = axes > 0 ? elements + heap : 0;
        REQUIRE(bits <= 64 && elements < UINT64_C(1) << 52, STATUS_DATA,
                "%s: the unit at byte %" PRIu64 " is too large", fits->path, begin);
        fits->at += ceil_div_u64(elements * bits / 8, RECORD) * RECORD;
    }
out:
    return st;
}

/* "265104B": bytes of the column, by FITS's letters. Returns 0 when it is no such form. */
static int psrfits_parse_form(const char *form, struct column *out, uint64_t *bytes)
{
    static const char letters[] = "LBAIJEKDCPMQ";
    static const int sizes[] = {1, 1, 1, 2, 4, 4, 8, 8, 8, 8, 16, 16};
    char *end = NULL;
    out->count = *form >= '0' && *form <= '9' ? strtoull(form, &end, 10) : 1;
    form = end ? end : form;
    const char *letter = *form ? strchr(letters, *form) : NULL;
    out->type = *form;
    if (*form == 'X') {
        *bytes = ceil_div_u64(out->count, 8);
        return 1;
    }
    return letter && multiply_u64(out->count, (uint64_t)sizes[letter - letters], bytes);
}

status_t psrfits_find_columns(struct psrfits *fits, const struct ascii *header)
{
    status_t st = STATUS_OK;
    uint64_t columns = 0;
    uint64_t at = 0;
    const struct {
        const char *name;
        struct column *column;
    } wanted[] = {{"OFFS_SUB", &fits->times},  {"DAT_FREQ", &fits->freqs},
                  {"DAT_WTS", &fits->weights}, {"DAT_OFFS", &fits->offsets},
                  {"DAT_SCL", &fits->scales},  {"DATA", &fits->data}};
    TRY(ascii_u64(header, "NAXIS1", 1, UINT64_C(1) << 48, &fits->row_bytes, NULL));
    TRY(ascii_u64(header, "NAXIS2", 1, UINT64_C(1) << 40, &fits->rows, NULL));
    TRY(ascii_u64(header, "TFIELDS", 1, MOST_COLUMNS, &columns, NULL));
    for (uint64_t i = 1; i <= columns; i++) {
        char key[16];
        char name[ASCII_VALUE] = "";
        char form[ASCII_VALUE] = "";
        struct column column = {0};
        uint64_t bytes = 0;
        snprintf(key, sizeof key, "TTYPE%" PRIu64, i);
        ascii_find(header, key, name);
        snprintf(key, sizeof key, "TFORM%" PRIu64, i);
        ascii_find(header, key, form);
        column.at = at;
        REQUIRE(psrfits_parse_form(form, &column, &bytes) && add_u64(at, bytes, &at) &&
                    at <= fits->row_bytes,
                STATUS_DATA,
                "%s: column %s of SUBINT (%s = %s) does not fit into rows of %" PRIu64 " bytes",
                fits->path, name, key, form, fits->row_bytes);
        for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j++) {
            if (strcmp(name, wanted[j].name) == 0) {
                *wanted[j].column = column;
            }
        }
    }
    REQUIRE(fits->data.type, STATUS_DATA, "%s: its table SUBINT has no column DATA", fits->path);
out:
    return st;
}
