/* Where the samples of an archive lie, and whether they can be read without HDF5. */
#include "archive/describe.h"
#include "archive/places.h"
#include "base/memory.h"

/* Whether a number on disk fills its bytes: HDF5 knows integers with fewer bits, or shifted ones,
 * and floats of other makes than IEEE's. */
static int is_plain_number(hid_t type)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        return H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
    }
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

/* Whether an element on disk is just what the reader hands out, byte order aside. */
static int is_dense(hid_t dataset, const struct archive *archive)
{
    hid_t type = H5Dget_type(dataset);
    hid_t number = archive->is_compound ? H5Tget_member_type(type, 0) : H5Tcopy(type);
    int dense = H5Tget_size(type) == archive->element_bytes && is_plain_number(number);
    if (dense && archive->is_compound) {
        dense = H5Tget_member_offset(type, 0) == 0;
    }
    h5_close(number);
    h5_close(type);
    return dense;
}

/* Bytes of a chunk in memory, and of all chunks that one time step touches. */
static void measure_chunks(hid_t dataset, hid_t plist, const struct archive *archive,
                           struct archive_part *part)
{
    hsize_t chunk[H5S_MAX_RANK] = {0};
    hsize_t dims[H5S_MAX_RANK] = {0};
    if (H5Pget_layout(plist) != H5D_CHUNKED) {
        return;
    }
    int rank = H5Pget_chunk(plist, H5S_MAX_RANK, chunk);
    hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, dims, NULL);
    h5_close(space);
    uint64_t count = 1;
    part->chunk_bytes = archive->element_bytes;
    for (int i = 0; i < rank; i++) {
        part->chunk_bytes *= chunk[i]; /* HDF5 keeps chunks below 4 GiB */
        count *= i == (int)archive->time_dim ? 1 : ceil_div_u64(dims[i], chunk[i]);
    }
    if (!multiply_u64(part->chunk_bytes, count, &part->row_bytes)) {
        part->row_bytes = UINT64_MAX / 4;
    }
}

status_t locate_extents(hid_t dataset, const struct archive *archive, uint64_t elements,
                        struct archive_part *part)
{
    status_t st = STATUS_OK;
    struct places places = {.path = NULL};
    hid_t plist = H5Dget_create_plist(dataset);
    H5_TRY(plist, "%s: its dataset's properties cannot be read", part->path);
    TRY(places_find(dataset, part->path, elements, &places));
    measure_chunks(dataset, plist, archive, part);
    if (!is_dense(dataset, archive)) {
        places_drop_extents(&places);
    }
    part->file_bytes = places.file_bytes;
    part->extents = places.extents;
    part->nextents = places.nextents;
    part->sources = places.sources;
    part->nsources = places.nsources;
out:
    h5_close(plist);
    return st;
}
