/* Where spectra of ours are NaN: gaps of the archive that they are read as. Private to
 * input/format/. */
#ifndef VOLTMILL_ARCHIVE_FORMAT_PRODUCT_SPECTRA_GAPS_H
#define VOLTMILL_ARCHIVE_FORMAT_PRODUCT_SPECTRA_GAPS_H

#include "input/format/fields.h"

/* Fills gaps, or stream_gaps, from /weights, float [rows][ifs][coarse channels], where the file has
 * it: a row weighs too little, so it is NaN. Frequency number j is channel first_channel + j of
 * those that the bank made, `channels` of each coarse channel. Fails with DATA: it does not fit
 * /spectra, or cannot be read. */
status_t spectra_read_gaps(const struct fields *fields, uint64_t channels, uint64_t first_channel,
                           struct archive *archive);

#endif
