/* What a filter bank has left, ours or others': power (FBH5, SIGPROC, PSRFITS) or spectra, as rows
 * of powers with axes. */
#ifndef VOLTMILL_PLOT_FROM_BANK_H
#define VOLTMILL_PLOT_FROM_BANK_H

#include "archive/fbh5/fbh5.h"
#include "archive/storage/external.h"
#include "base/text.h"

struct bank {
    const char *path;
    uint64_t rows;
    uint32_t nifs, nchannels;
    const double *freq_hz; /* [nchannels] centres, in the file's order */
    double step;           /* seconds from row to row */
    int has_start;
    struct utc start;               /* leading edge of row 0 */
    const char *source, *telescope; /* NULL: unknown */
    struct fbh5 *fbh5;              /* NULL: spectra */
    fbh5_reader_t *reader;
    struct product *product;
    struct sheet *spectra;
    char *raw; /* scratch: numbers as they are stored */
};

/* A piece of it. */
struct bank_block {
    uint64_t row, rows, first_if, nifs, chan, chans;
};

enum { BANK_BLOCK = 1 << 22 }; /* numbers that are read at once */

/* `path` must outlive it. Opens `product`, which it owns from now on, as spectra; NULL: the file is
 * a filterbank, whose external storage may also be where `external` says. Fails with DATA; with
 * USAGE as external_check() does. */
status_t bank_open(const char *path, struct product *product, struct external_list external,
                   struct bank **out);
void bank_close(struct bank *bank);

/* How many rows and channels may be read at once, so that it takes little memory. */
void bank_block_size(const struct bank *bank, uint64_t nifs, uint64_t *rows, uint64_t *chans);
/* Reads powers into out [rows][nifs][chans]. Fails with DATA. */
status_t bank_read(struct bank *bank, const struct bank_block *block, float *out);

/* Whether an if is a power, which has a level in decibels and may be added to others. */
int bank_is_power(const struct bank *bank, uint32_t at);
/* Appends its name, or else its number: "pol Y", "pol 1". */
status_t bank_name_pol(const struct bank *bank, uint32_t at, struct text *out);
/* Finds the polarisation that `word` names, as fbh5_find_pol(). Returns whether there is one. */
int bank_find_pol(const struct bank *bank, const char *word, size_t length, uint32_t *out);

#endif
