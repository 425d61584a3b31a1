/* Chunked datasets in our own way: their filters, and what is selected of them as boxes of chunks.
 */
#include "base/memory.h"
#include "input/hdf5/stored_parts.h"

#include <string.h>

static status_t stored_look_at_filter(hid_t plist, unsigned index, struct stored *stored)
{
    status_t st = STATUS_OK;
    struct chunk_filter filter = {0};
    unsigned flags = 0;
    unsigned config = 0;
    size_t nvalues = FILTER_VALUES;
    char name[64] = "";
    filter.id =
        H5Pget_filter2(plist, index, &flags, &nvalues, filter.values, sizeof name, name, &config);
    H5_TRY(filter.id, "%s: filter %u of %s cannot be looked at", stored->path, index, stored->name);
    filter.nvalues = (uint32_t)min_u64(nvalues, FILTER_VALUES);
    int is_there = H5Zfilter_avail(filter.id) > 0;
    stored->has_all = stored->has_all && is_there;
    stored->is_own =
        stored->is_own && stored->filters.count < MOST_FILTERS && unfilter_knows(&filter);
    if (stored->is_own) {
        stored->filters.items[stored->filters.count++] = filter;
    }
    const char *known = unfilter_name(filter.id);
    REQUIRE(is_there || unfilter_knows(&filter), STATUS_DATA,
            "%s: %s is compressed with the filter %d (%s), which neither voltmill nor HDF5 has "
            "here: %s; HDF5_PLUGIN_PATH names the folder of its plugin",
            stored->path, stored->name, filter.id,
            known   ? known
            : *name ? name
                    : "?",
            unfilter_advice(filter.id));
out:
    return st;
}

/* Numbers, or compounds of them: elements that are what their bytes are. */
static int stored_has_numbers(const struct stored *stored)
{
    hid_t type = H5Dget_type(stored->dataset);
    H5T_class_t class = H5Tget_class(type);
    int has = class == H5T_INTEGER || class == H5T_FLOAT;
    for (int i = 0; class == H5T_COMPOUND && i < H5Tget_nmembers(type); i++) {
        H5T_class_t member = H5Tget_member_class(type, (unsigned)i);
        has = (i == 0 || has) && (member == H5T_INTEGER || member == H5T_FLOAT);
    }
    h5_close(type);
    return has;
}

status_t stored_look_at_filters(hid_t plist, struct stored *stored)
{
    status_t st = STATUS_OK;
    int count = H5Pget_nfilters(plist);
    stored->filters.count = 0;
    stored->is_own = stored->layout == H5D_CHUNKED && stored->rank > 0 && stored->chunk_bytes > 0 &&
                     stored_has_numbers(stored);
    stored->has_all = 1;
    for (int i = 0; i < count; i++) {
        TRY(stored_look_at_filter(plist, (unsigned)i, stored));
    }
    REQUIRE(stored->is_own || stored->has_all, STATUS_DATA,
            "%s: %s is compressed with filters that HDF5 does not all have here, beside one that "
            "only HDF5 can undo: HDF5_PLUGIN_PATH names the folder of its plugins",
            stored->path, stored->name);
out:
    return st;
}

/* Whether a number is stored as `wanted` is in memory, but for the order of its bytes: then how
 * many are turned round, 1 if none; else 0. */
static uint32_t stored_number_bytes(hid_t stored, hid_t wanted)
{
    hid_t turned = H5Tcopy(stored);
    uint32_t bytes = H5Tequal(stored, wanted) > 0 ? 1 : 0;
    H5T_order_t order = H5Tget_order(wanted);
    if (!bytes && H5Tget_size(stored) == H5Tget_size(wanted) && H5Tget_size(stored) <= 8 &&
        (order == H5T_ORDER_LE || order == H5T_ORDER_BE) && H5Tset_order(turned, order) >= 0 &&
        H5Tequal(turned, wanted) > 0) {
        bytes = (uint32_t)H5Tget_size(stored);
    }
    h5_close(turned);
    return bytes;
}

/* The same of elements: of compounds all members, which must lie alike, one behind the other. */
static uint32_t stored_turned_bytes(hid_t stored, hid_t wanted)
{
    uint32_t bytes = 0;
    int is_compound = H5Tget_class(stored) == H5T_COMPOUND;
    int count = is_compound ? H5Tget_nmembers(stored) : 0;
    if (H5Tget_size(stored) != H5Tget_size(wanted) ||
        is_compound != (H5Tget_class(wanted) == H5T_COMPOUND)) {
        return 0;
    }
    if (!is_compound) {
        return stored_number_bytes(stored, wanted);
    }
    for (int i = 0; i < count && count == H5Tget_nmembers(wanted); i++) {
        hid_t mine = H5Tget_member_type(stored, (unsigned)i);
        hid_t theirs = H5Tget_member_type(wanted, (unsigned)i);
        size_t size = H5Tget_size(mine);
        size_t at = H5Tget_member_offset(stored, (unsigned)i);
        int is_alike = at == H5Tget_member_offset(wanted, (unsigned)i) && at == (size_t)i * size &&
                       size * (size_t)count == H5Tget_size(stored);
        uint32_t now = is_alike ? stored_number_bytes(mine, theirs) : 0;
        bytes = i == 0 || now == bytes ? now : 0;
        h5_close(mine);
        h5_close(theirs);
        if (bytes == 0) {
            break;
        }
    }
    return bytes;
}

static status_t stored_open_chunks(const depot_t *depot, struct stored *stored, uint32_t turned)
{
    status_t st = STATUS_OK;
    unsigned options = 0;
    hid_t plist = H5Dget_create_plist(stored->dataset);
    struct chunks_spec spec = {.path = stored->home,
                               .name = stored->name,
                               .identity = stored->identity,
                               .address = stored->address,
                               .rank = stored->rank,
                               .element_bytes = stored->element_bytes,
                               .chunk_bytes = stored->chunk_bytes,
                               .number_bytes = turned,
                               .filters = stored->filters,
                               .along = stored->along,
                               .cache_bytes = stored->source.kept > 0 ? stored->source.kept
                                                                      : depot->spec.cache_bytes,
                               .threads = (uint32_t)max_u64(depot->spec.threads, 1)};
    H5_TRY(H5Pget_chunk_opts(plist, &options), "%s: %s does not tell its chunks", stored->path,
           stored->name);
    spec.are_edges_plain = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
    memcpy(spec.dims, stored->dims, sizeof spec.dims);
    memcpy(spec.chunk, stored->chunk, sizeof spec.chunk);
    TRY(chunks_open(&spec, &stored->chunks));
out:
    h5_close(plist);
    return st;
}

/* What is selected, if that is a box. */
struct selected {
    int rank;
    hsize_t dims[H5S_MAX_RANK], low[H5S_MAX_RANK], count[H5S_MAX_RANK];
};

static int selected_is_box(hid_t space, struct selected *out)
{
    hsize_t high[H5S_MAX_RANK];
    uint64_t points = 1;
    out->rank = H5Sget_simple_extent_dims(space, out->dims, NULL);
    if (out->rank < 1 || H5Sget_select_npoints(space) <= 0 ||
        H5Sget_select_bounds(space, out->low, high) < 0) {
        return 0;
    }
    for (int i = 0; i < out->rank; i++) {
        out->count[i] = high[i] - out->low[i] + 1;
        if (!multiply_u64(points, out->count[i], &points)) {
            return 0;
        }
    }
    return points == (uint64_t)H5Sget_select_npoints(space);
}

/* The box that takes `wanted` of the dataset to `memory`; 0 if none does. Both have the same
 * elements in the same order: dimensions of one element aside, their boxes must be alike. */
static int selected_make_box(const struct selected *wanted, const struct selected *memory,
                             uint64_t bytes, unsigned char *out, struct chunk_box *box)
{
    int at = memory->rank - 1;
    uint64_t step = bytes;
    *box = (struct chunk_box){.out = out};
    for (int i = memory->rank; i-- > 0;) {
        box->out += memory->low[i] * step;
        step *= memory->dims[i];
    }
    step = bytes;
    for (int i = wanted->rank; i-- > 0;) {
        box->start[i] = wanted->low[i];
        box->count[i] = wanted->count[i];
        while (at >= 0 && memory->count[at] == 1 && wanted->count[i] > 1) {
            step *= memory->dims[at--];
        }
        if (wanted->count[i] > 1) {
            if (at < 0 || memory->count[at] != wanted->count[i]) {
                return 0;
            }
            box->stride[i] = step;
            step *= memory->dims[at--];
        }
    }
    return 1;
}

status_t stored_read_chunks(depot_t *depot, struct stored *stored, const struct depot_read *read,
                            int *is_done)
{
    status_t st = STATUS_OK;
    struct selected wanted;
    struct selected memory;
    struct chunk_box box;
    hid_t type = stored->is_own ? H5Dget_type(stored->dataset) : -1;
    uint32_t turned = stored->is_own ? stored_turned_bytes(type, read->type) : 0;
    *is_done = turned > 0 && selected_is_box(read->wanted, &wanted) &&
               selected_is_box(read->memory, &memory) &&
               selected_make_box(&wanted, &memory, stored->element_bytes, read->out, &box);
    REQUIRE(*is_done || stored->has_all, STATUS_DATA,
            "%s: %s has elements that only HDF5 converts, and a filter that HDF5 does not have "
            "here: HDF5_PLUGIN_PATH names the folder of its plugin",
            stored->path, stored->name);
    if (*is_done) {
        TRY(stored->chunks ? STATUS_OK : stored_open_chunks(depot, stored, turned));
        TRY(chunks_read(stored->chunks, &box, 1));
    }
out:
    h5_close(type);
    return st;
}
