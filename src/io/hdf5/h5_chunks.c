/* The index of a chunked dataset, tried before it is needed. */
#include "base/memory.h"
#include "io/apart.h"
#include "io/hdf5/h5.h"

enum { MOST_LOOKED_UP = 4096 };

/* The place of chunk number `index`, in elements. */
static void h5_find_chunk(uint64_t index, int rank, const hsize_t *chunk, const uint64_t *count,
                          hsize_t *offset)
{
    for (int i = rank; i-- > 0;) {
        offset[i] = index % count[i] * chunk[i];
        index /= count[i];
    }
}

void h5_try_chunks(hid_t dataset, const char *where, const char *name)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    hsize_t chunk[H5S_MAX_RANK] = {0};
    hsize_t offset[H5S_MAX_RANK] = {0};
    uint64_t count[H5S_MAX_RANK] = {0};
    hsize_t there = 0;
    uint64_t all = 1;
    hid_t plist = H5Dget_create_plist(dataset);
    hid_t space = H5Dget_space(dataset);
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    if (plist < 0 || rank < 1 || H5Pget_layout(plist) != H5D_CHUNKED ||
        H5Pget_chunk(plist, rank, chunk) != rank) {
        goto out;
    }
    apart_at("%s: chunks of %s", where, name);
    for (int i = 0; i < rank; i++) {
        count[i] = ceil_div_u64(dims[i], max_u64(chunk[i], 1));
        if (count[i] == 0 || !multiply_u64(all, count[i], &all)) {
            goto out;
        }
    }
    (void)H5Dget_num_chunks(dataset, H5S_ALL, &there); /* walks it all */
    /* What is looked up may be found by another way than that. */
    uint64_t looked_up = min_u64(all, MOST_LOOKED_UP);
    for (uint64_t i = 0; i < looked_up; i++) {
        hsize_t bytes = 0;
        uint64_t step = all / looked_up;
        h5_find_chunk(i * step + step / 2, rank, chunk, count, offset);
        (void)H5Dget_chunk_storage_size(dataset, offset, &bytes);
    }
out:
    h5_close(space);
    h5_close(plist);
}
