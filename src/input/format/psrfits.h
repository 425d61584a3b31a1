/* A PSRFITS file while it is read. Private to psrfits*.c. */
#ifndef VOLTMILL_INPUT_FORMAT_PSRFITS_H
#define VOLTMILL_INPUT_FORMAT_PSRFITS_H

#include "input/fbh5/fbh5.h"
#include "io/fits_unit.h"

struct psrfits {
    const char *path;
    int fd;
    fits_unit_t *unit; /* its first header, later that of the table SUBINT */
    /* OBSFREQ, OBSBW (MHz) and OBSNCHAN of the first header; 0: not given. */
    double centre_mhz, band_mhz;
    uint64_t channels;
    uint64_t rows; /* NAXIS2; where that is 0, as many as the file has */
    struct fits_column lengths, times, freqs, data;
    struct fbh5 *fbh5; /* the filterbank that is made */
};

/* Finds the columns of the table, and how samples are stored and scaled. fits->unit is at SUBINT;
 * offset, row_bytes and count of fbh5->table are known. Sets fits->lengths, times, freqs, data; all
 * else of fbh5->table but `first`; fbh5->nifs, nchannels, time.step and pols. Doubts go to
 * fbh5->assumed. Fails with DATA: a column or key that is missing or contradicts others, a type
 * that is not read, unreadable; with DEVICE (memory). These members are undefined then. */
status_t psrfits_read_samples(struct psrfits *fits);

/* Reads the band after psrfits_read_samples(): sets fch1_mhz and foff_mhz of fits->fbh5, not
 * freq_hz. They are by DAT_FREQ of the first row, compared with CHAN_BW, OBSBW, OBSFREQ and
 * DAT_FREQ of all other rows; without DAT_FREQ, or if it is 0, by these three. Doubts go to
 * fbh5->assumed. Warns of channels of weight 0. Fails with DATA: channels are not evenly spaced, or
 * not as many as NCHAN; words contradict each other, are no numbers, or too few to know the band;
 * unreadable; with DEVICE (memory). */
status_t psrfits_read_band(struct psrfits *fits);

/* Returns the byte of the file at which a row of the table, from 0, begins. */
static inline uint64_t psrfits_row_at(const struct psrfits *fits, uint64_t row)
{
    return fits->fbh5->table.offset + row * fits->fbh5->table.row_bytes;
}

/* Reads all values of a column, scaled, in row `row` (from 0) of the table, into out
 * [column->count]. Fails with DATA (unreadable); `out` is undefined then. */
static inline status_t psrfits_read_column(const struct psrfits *fits,
                                           const struct fits_column *column, uint64_t row,
                                           double *out)
{
    return fits_column_read(column, fits->fd, fits->path, psrfits_row_at(fits, row), 0,
                            column->count, out);
}

#endif
