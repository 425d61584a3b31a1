/* Chunked datasets whose filters HDF5 only has to name. */
#include "product/pack/packed_rows.h"

#include "product/pack/codec.h"
#include "product/pack/packed_shape.h"

enum { FIRST_REGISTERED = 256 }; /* those below are HDF5's own */

static const char attribute[] = "compression";

/* Chunks are compressed and written as they are: HDF5 never calls this filter. */
static size_t packed_rows_stand_in(unsigned flags, size_t nvalues, const unsigned *values,
                                   size_t bytes, size_t *size, void **data)
{
    (void)flags;
    (void)nvalues;
    (void)values;
    (void)bytes;
    (void)size;
    (void)data;
    return 0;
}

static status_t packed_rows_add_filter(hid_t plist, const struct chunk_filter *filter)
{
    const H5Z_class2_t stand_in = {.version = H5Z_CLASS_T_VERS,
                                   .id = filter->id,
                                   .encoder_present = 1,
                                   .decoder_present = 1,
                                   .name = unfilter_name(filter->id),
                                   .filter = packed_rows_stand_in};
    if (filter->id >= FIRST_REGISTERED) {
        H5_TRY(H5Zregister(&stand_in), "filter %d cannot be named", filter->id);
    }
    H5_TRY(H5Pset_filter(plist, filter->id, H5Z_FLAG_OPTIONAL, filter->nvalues, filter->values),
           "filter %d cannot be set", filter->id);
    return STATUS_OK;
}

void packed_rows_forget(enum compression compression)
{
    struct chunk_filters filters;
    codec_filters(compression, 1, &filters);
    for (uint32_t i = 0; i < filters.count; i++) {
        if (filters.items[i].id >= FIRST_REGISTERED && H5Zfilter_avail(filters.items[i].id) > 0) {
            H5Zunregister(filters.items[i].id);
        }
    }
}

static status_t packed_rows_plan(const struct product_spec *spec, hid_t type, int rank,
                                 const hsize_t *dims, hid_t plist)
{
    struct chunk_filters filters;
    hsize_t chunk[H5S_MAX_RANK];
    struct packed_shape shape = {
        .element_bytes = H5Tget_size(type), .rows = dims[0], .numbers = dims[rank - 1]};
    packed_cut(&shape);
    for (int i = 0; i < rank; i++) {
        chunk[i] = 1;
    }
    chunk[0] = shape.chunk_rows;
    chunk[rank - 1] = shape.chunk_numbers;
    H5_TRY(H5Pset_chunk(plist, rank, chunk), "rows cannot be cut into chunks");
    H5_TRY(H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER), "rows cannot be cut into chunks");
    H5_TRY(H5Pset_obj_track_times(plist, 0), "rows cannot be cut into chunks");
    codec_filters(spec->compression, shape.element_bytes, &filters);
    for (uint32_t i = 0; i < filters.count; i++) {
        TRY(packed_rows_add_filter(plist, &filters.items[i]));
    }
    return STATUS_OK;
}

status_t packed_rows_create(hid_t file, const struct product_spec *spec, const char *name,
                            hid_t type, int rank, const hsize_t *dims, hid_t *out)
{
    status_t st = STATUS_OK;
    if (spec->compression == COMPRESSION_NONE) {
        return h5_create_dataset(file, name, type, rank, dims, out);
    }
    hid_t space = H5Screate_simple(rank, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    TRY_OUT(packed_rows_plan(spec, type, rank, dims, plist));
    *out = H5Dcreate2(file, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY_OUT(*out, "dataset %s cannot be made", name);
    TRY_OUT(h5_put_text(*out, attribute, codec_advice(spec->compression)));
out:
    h5_close(plist);
    h5_close(space);
    return st;
}

status_t packed_rows_find(const struct h5_dataset *rows, const char *path, enum compression *out)
{
    status_t st = STATUS_OK;
    hid_t plist = H5Dget_create_plist(rows->id);
    int is_ours = 0;
    *out = COMPRESSION_NONE;
    H5_TRY_OUT(plist, "%s: how its rows are stored cannot be read", path);
    TRY_OUT(h5_has_attribute(rows->id, path, attribute, &is_ours));
    if (!is_ours || H5Pget_layout(plist) != H5D_CHUNKED) {
        goto out;
    }
    int count = H5Pget_nfilters(plist);
    unsigned flags = 0;
    unsigned config = 0;
    size_t nvalues = 0;
    H5Z_filter_t last = count > 0 ? H5Pget_filter2(plist, (unsigned)count - 1, &flags, &nvalues,
                                                   NULL, 0, NULL, &config)
                                  : -1;
    for (int kind = COMPRESSION_NONE + 1; kind < COMPRESSIONS; kind++) {
        struct chunk_filters filters;
        codec_filters((enum compression)kind, 1, &filters);
        if (filters.items[filters.count - 1].id == last) {
            *out = (enum compression)kind;
        }
    }
out:
    h5_close(plist);
    return st;
}
