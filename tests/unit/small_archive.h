/* A small archive of whatever bytes, for tests: /x [time][pol] of signed bytes. */
#ifndef VOLTMILL_TESTS_SMALL_ARCHIVE_H
#define VOLTMILL_TESTS_SMALL_ARCHIVE_H

#include "io/hdf5/h5.h"

/* Writes an archive in chunks of `chunk` samples, which are read through HDF5 then; 0: one
 * piece. */
static inline void small_archive_write(const char *path, hsize_t samples, hsize_t pols,
                                       hsize_t chunk)
{
    const hsize_t dims[2] = {samples, pols};
    const hsize_t chunk_dims[2] = {chunk, pols};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    /* The same samples are the same bytes, whatever the time. */
    assert_true(H5Pset_obj_track_times(plist, 0) >= 0);
    assert_true(chunk == 0 || H5Pset_chunk(plist, 2, chunk_dims) >= 0);
    assert_true(H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY) >= 0);
    hid_t dataset = H5Dcreate2(file, "x", H5T_STD_I8LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(dataset >= 0);
    h5_close(dataset);
    h5_close(plist);
    h5_close(space);
    h5_close(file);
}

#endif
