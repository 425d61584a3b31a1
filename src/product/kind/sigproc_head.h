/* SIGPROC headers, of filterbank (.fil) and time series (.tim) files: a run of keywords, each an
 * int32 length and its letters, followed by an int32, a double or a text, little-endian. Only
 * keywords that PRESTO knows are written (it ends at others), but for refdm in time series. D.
 * Lorimer, SIGPROC; formats as scottransom/presto src/sigproc_fb.c reads them. */
#ifndef VOLTMILL_PRODUCT_KIND_SIGPROC_HEAD_H
#define VOLTMILL_PRODUCT_KIND_SIGPROC_HEAD_H

#include "input/fbh5/fbh5.h"

enum { SIGPROC_FILTERBANK = 1, SIGPROC_SERIES = 2 };

/* PRESTO keeps texts, with a '\0', in 80 bytes: of longer ones the beginning is written. */
enum { SIGPROC_LETTERS = 79 };

struct sigproc {
    int32_t data_type, machine_id, telescope_id, nbeams, ibeam;
    uint64_t nchans, nifs, nbits;
    double fch1, foff;             /* MHz: centre of the first channel, and to the next */
    double tstart, tsamp;          /* MJD of the first sample's leading edge, seconds */
    double raj_hours, dej_degrees; /* written as hhmmss.s and ddmmss.s */
    double az_start, za_start;     /* degrees */
    double refdm;                  /* of a time series, pc cm^-3 */
    char *source, *rawdatafile;    /* NULL: unknown */
};

/* Returns the header of a filterbank as it is stored (MHz, MJD, seconds); its texts stay the
 * filterbank's. */
struct sigproc sigproc_of(const struct fbh5 *fbh5);

/* Makes the highest frequency the first (fch1, foff), as PRESTO expects. Returns whether that
 * reversed the band: 1 if foff was above 0. */
int sigproc_reverse(struct sigproc *header);

/* Appends the header's bytes, with "unknown" for texts that are NULL or empty. Fails with USAGE if
 * nchans, nifs or nbits exceeds 2^31 - 1; with DEVICE (memory). `out` may have a part of it then.
 */
status_t sigproc_write(const struct sigproc *header, struct text *out);

/* Returns SIGPROC's number of a telescope, case, blanks, '-' and '_' ignored; 0 if it has none, or
 * `name` is NULL. */
int32_t sigproc_telescope(const char *name);

/* Hours or degrees, their minutes (0 .. 59) and seconds (below 60). */
struct sixtieths {
    int is_negative;
    unsigned whole, minutes;
    double seconds;
};
/* Splits hours or degrees into sixtieths; the seconds are rounded to a multiple of 1 / parts.
 * is_negative is the sign; the other members are those of |value|. A magnitude that is rounded to
 * `turn` (24 for hours, 360 for degrees) becomes 0. */
struct sixtieths sixtieths_of(double value, double turn, double parts);

#endif
