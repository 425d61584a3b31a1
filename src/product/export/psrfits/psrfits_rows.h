/* The rows (subints) of the table of a PSRFITS file: each holds some spectra [NSBLK][pol][chan],
 * big-endian, the scale and offset of every channel, and a weight, 0 where nothing of it is there:
 * readers multiply by it, so it is never a share (a dump that lacks samples has the power of a
 * whole one already). Private to product/export/. */
#ifndef VOLTMILL_PRODUCT_EXPORT_PSRFITS_PSRFITS_ROWS_H
#define VOLTMILL_PRODUCT_EXPORT_PSRFITS_PSRFITS_ROWS_H

#include "product/export/export_bank.h"
#include "product/export/psrfits_head.h"

enum { PSRFITS_NAME = 16, PSRFITS_RECORD = 2880 };

/* bank->own of an export. */
struct psrfits_out {
    struct psrfits_head head;
    uint64_t begin;  /* of the table's first row in the file */
    uint8_t *room;   /* [chans] numbers of up to 8 bytes */
    uint8_t *filler; /* [chans] of a last row's spectra that there are not */
    char pol_type[PSRFITS_NAME];
    const char *comment;
};

/* Writes a block: struct bank_format's. */
status_t psrfits_rows_put(struct export_bank *bank, const struct fbh5_block *block, char *data);

#endif
