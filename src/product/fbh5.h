/* Filterbanks in HDF5 (FBH5), ours and others': /data [time][if][chan] of uint8, uint16 or float,
 * its header in attributes. Uses HDF5: main thread only. */
#ifndef VOLTMILL_PRODUCT_FBH5_H
#define VOLTMILL_PRODUCT_FBH5_H

#include "base/h5.h"
#include "product/sigproc.h"

#include <stdint.h>

struct fbh5 {
    char *path;
    hid_t file, data;
    hid_t type;            /* of a sample in memory */
    uint64_t rows;         /* spectra */
    uint64_t chunk_rows;   /* of a chunk of the file; 1 when it has none */
    int is_stokes;         /* its ifs are I, Q, U, V: they have no meaningful sum */
    struct sigproc header; /* nbits, nifs and nchans are those of /data */
};

/* Opens it and reads the header; says in a note what it lacks. Fails with DATA: no filterbank,
 * sizes that cannot be, frequencies that are not evenly spaced. */
status_t fbh5_open(const char *path, struct fbh5 **out);
void fbh5_destroy(struct fbh5 *fbh5);

/* A piece of /data. */
struct fbh5_block {
    uint64_t row, rows, first_if, nifs, chan, chans;
};

/* Reads it into out [rows][nifs][chans], as stored, in this machine's byte order. Fails with DATA.
 */
status_t fbh5_read(const struct fbh5 *fbh5, const struct fbh5_block *block, void *out);

#endif
