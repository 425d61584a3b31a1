/* The table of a PSRFITS file. Private to psrfits.c and psrfits_table.c. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_FILTERBANK_PSRFITS_H
#define VOLTMILL_ARCHIVE_FORMAT_FILTERBANK_PSRFITS_H

#include "archive/format/recorder/ascii.h"
#include "base/text.h"

struct column {
    uint64_t at;    /* in a row */
    uint64_t count; /* of elements */
    char type;      /* as TFORM has it; 0: there is no such column */
};

struct psrfits {
    const char *path;
    int fd;
    uint64_t at;             /* of the unit's data */
    struct text first, text; /* headers: of the first unit, of the table */
    uint64_t row_bytes, rows;
    uint64_t steps; /* spectra of a row: NSBLK */
    uint64_t total; /* of all rows that are no filling: NSTOT; 0: not said */
    struct column times, freqs, weights, offsets, scales, data;
};

/* Goes to the binary table SUBINT: fits->at becomes where its rows begin. Fails with DATA. */
status_t psrfits_find_table(struct psrfits *fits, uint64_t file_bytes);

/* Where in its rows the columns lie. Fails with DATA. */
status_t psrfits_find_columns(struct psrfits *fits, const struct ascii *header);

#endif
