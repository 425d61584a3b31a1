/* A dataset of a product as rows of numbers, for display: spectra (as power), or one beside rows.
 * Dimensions between the first and the last count as one, the ifs. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_SHEET_H
#define VOLTMILL_PRODUCT_SHEET_H

#include "io/apart.h"

#include <stdint.h>

struct sheet {
    uint64_t rows;
    uint64_t nifs, nchannels;
    int is_complex;    /* numbers are |x|^2 then */
    double *coarse_hz; /* [nchannels] of weights: centres of the coarse channels; NULL: not said */
    struct sheet_file *file;
};

/* Returns the name of one of the datasets beside a bank that can be shown. */
enum { SHEET_BESIDES = 4 };
const char *sheet_beside(int which);

/* Opens dataset `name` ("weights") of an HDF5 file; *out = NULL when there is none. Files of
 * unknown origin are tried apart first. Fails with DATA: other dimensions or types than numbers or
 * pairs of them. */
status_t sheet_open(const char *path, const char *name, struct sheet **out);
void sheet_close(struct sheet *sheet);
extern const struct description sheet_description;

/* Reads rows and channels of one if into out [rows][channels]. Fails with DATA. */
status_t sheet_read(const struct sheet *sheet, uint64_t row, uint64_t rows, uint64_t at_if,
                    uint64_t chan, uint64_t chans, float *out);

#endif
