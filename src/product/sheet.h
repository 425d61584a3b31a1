/* A dataset of a product as rows of numbers, for display: spectra (as power), or one beside rows.
 * Dimensions between the first and the last count as one, the ifs. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_SHEET_H
#define VOLTMILL_PRODUCT_SHEET_H

#include "io/apart.h"
#include "product/packed.h"

struct sheet {
    uint64_t rows;
    uint64_t nifs, nchannels;
    int is_complex;    /* numbers are |x|^2 then */
    double *coarse_hz; /* [nchannels] of weights: centres of the coarse channels; NULL: not said */
    /* For sheet_read() alone. */
    char *path, *name;
    char *where; /* both, for messages */
    hid_t file, pair;
    struct h5_dataset data;
    depot_t *depot; /* NULL: HDF5 reads it */
    struct storage storage;
    /* Pairs in few bits: scale and offset of each block of rows. */
    struct h5_dataset scale, offset;
    struct steps_form form;
    uint64_t scale_rows; /* 0: they have none */
};

enum { SHEET_BESIDES = 4 };
/* Returns the name of dataset `which` (0 .. SHEET_BESIDES - 1) of those beside a bank's rows that
 * can be shown: "weights", "kurtosis", "flags", "bandpass". The text is static. */
const char *sheet_beside(int which);

/* Opens dataset `name` (without a slash: "weights") of an HDF5 file, for sheet_close(); *out = NULL
 * when there is none. It is tried in a child process first (io/apart.h). Main thread only. Fails
 * with DATA if the file is unreadable, the dataset has other dimensions or types than numbers or
 * pairs of them, or its coarse frequencies or scales do not fit it; with DEVICE (memory,
 * descriptors, no child), STOPPED; *out is unchanged then. */
status_t sheet_open(const char *path, const char *name, struct sheet **out);
/* Closes the file of a sheet and frees the sheet. Takes NULL. */
void sheet_close(struct sheet *sheet);
SCOPED_END(sheet_close, struct sheet *)
extern const struct description sheet_description;

/* Reads `rows` rows from row `row` on and `chans` channels from channel `chan` on, of if number
 * `at_if`, all from 0 and inside of the sheet, into out, float [rows][chans]. Pairs become |x|^2;
 * numbers in few bits get their scale and offset before. Main thread only. Fails with DATA if they
 * are unreadable, damaged or changed since; with DEVICE (memory, descriptors, threads). `out` is
 * undefined then. */
status_t sheet_read(const struct sheet *sheet, uint64_t row, uint64_t rows, uint64_t at_if,
                    uint64_t chan, uint64_t chans, float *out);

#endif
