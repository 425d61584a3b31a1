/* Where the samples of an archive lie, and whether they can be read without HDF5. */
#include "archive/format/locate.h"

#include "archive/lost.h"
#include "archive/storage/stored.h"

/* Whether a number on disk fills its bytes: HDF5 knows integers with fewer bits, or shifted ones,
 * and floats of other makes than IEEE's. */
static int locate_is_plain_number(hid_t type)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        return H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
    }
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

/* Whether an element on disk is just what the reader hands out, byte order aside. */
static int locate_is_dense(hid_t dataset, const struct archive *archive)
{
    hid_t type = H5Dget_type(dataset);
    hid_t number = archive->is_compound ? H5Tget_member_type(type, 0) : H5Tcopy(type);
    int dense = H5Tget_size(type) == archive->element_bytes && locate_is_plain_number(number);
    if (dense && archive->is_compound) {
        dense = H5Tget_member_offset(type, 0) == 0;
    }
    h5_close(number);
    h5_close(type);
    return dense;
}

status_t locate_extents(hid_t dataset, const struct archive *archive, struct archive_part *part)
{
    status_t st = STATUS_OK;
    depot_t *depot = NULL;
    struct depot_found found = {.chunk_bytes = 0};
    const struct depot_spec spec = {.path = part->path,
                                    .name = archive->dataset,
                                    .found = &part->storage,
                                    .along = (int)archive->time_dim};
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    TRY(lost_find_boxes(&found.lost, &part->boxes, &part->nboxes));
    if (locate_is_dense(dataset, archive)) {
        depot_take_extents(depot, &part->extents, &part->nextents);
    }
    part->chunk_bytes = found.chunk_bytes;
    part->row_bytes = found.row_bytes;
    part->file_bytes = sources_bytes(&part->storage.sources);
out:
    lost_pieces_free(&found.lost);
    depot_close(depot);
    return st;
}
