/* Where the chunks of a dataset lie in its file, so that they can be read without HDF5. Main thread
 * only, or whoever alone uses HDF5. */
#ifndef VOLTMILL_IO_HDF5_H5_PLACES_H
#define VOLTMILL_IO_HDF5_H5_PLACES_H

#include "base/status.h"

#include <hdf5.h>
#include <stdint.h>

typedef struct h5_places h5_places_t;

/* Opens the chunked dataset at an address of the file (H5Oget_info()). Fails with DATA or DEVICE.
 */
status_t h5_places_open(const char *path, haddr_t address, h5_places_t **out);
void h5_places_close(h5_places_t *places);

/* Bytes of a chunk as it is stored, and a bit for each filter that it was not sent through. */
struct h5_place {
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* 0: it was never written */
    uint32_t mask;
};

/* The chunk that begins at these indices of the dataset. Fails with DATA: the index is damaged. */
status_t h5_places_find(h5_places_t *places, const hsize_t *chunk, struct h5_place *out);

#endif
