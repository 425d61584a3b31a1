/* The headers of search-mode PSRFITS (the PSRFITS definition of CSIRO, version 6): of the file, and
 * of its table SUBINT. */
#ifndef VOLTMILL_PRODUCT_EXPORT_PSRFITS_HEAD_H
#define VOLTMILL_PRODUCT_EXPORT_PSRFITS_HEAD_H

#include "product/export/export_rows.h"
#include "product/kind/sigproc_head.h"

/* Content of the header, and the places of the columns in a row of the table. */
struct psrfits_head {
    const struct fbh5 *in;
    struct sigproc header;      /* of what is written */
    const char *pol_type;       /* POL_TYPE */
    struct stokes stokes;       /* AUTO: unknown */
    const char *comment;        /* NULL: none */
    const struct stamp *stamp;  /* NULL: none */
    uint64_t spectra;           /* NSTOT: what is more in the last row is filling */
    struct psrfits_table table; /* rows_each: NSBLK */
};

/* Sets the offsets of the columns in a row of the table, and row_bytes, all in bytes (head->table),
 * from rows_each and the header's nchans, nifs and nbits. The numbers before them are at 0:
 * TSUBINT, OFFS_SUB, RA_SUB, DEC_SUB (double), TEL_AZ, TEL_ZEN (float). */
void psrfits_head_place(struct psrfits_head *head);

/* Appends both headers, that of the file and of its table, as bytes in records of 2880. `out` is
 * empty before, or has whole records. Fails with DEVICE (memory); `out` may have a part of them
 * then. */
status_t psrfits_head_write(const struct psrfits_head *head, struct text *out);

#endif
