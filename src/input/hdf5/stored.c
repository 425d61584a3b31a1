/* One dataset, opened with all that leads to it: its files, shape, chunks, extents and mappings. */
#include "input/hdf5/stored_parts.h"

#include "base/memory.h"
#include "input/hdf5/links.h"
#include "io/hdf5/h5_versions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The mappings of a virtual dataset, as selections of dataspaces. */

enum { NAME_BYTES = 4096, MOST_MAPPINGS = 1 << 20 };

/* A regular selection. */
struct regular {
    int rank, unlimited; /* the dimension; -1: none */
    hsize_t dims[H5S_MAX_RANK];
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
};

/* Returns whether it is one. */
static int mappings_regular_read(hid_t space, struct regular *out)
{
    *out = (struct regular){.unlimited = -1};
    out->rank = H5Sget_simple_extent_dims(space, out->dims, NULL);
    if (out->rank <= 0) {
        return 0;
    }
    if (H5Sget_select_type(space) == H5S_SEL_ALL) {
        for (int i = 0; i < out->rank; i++) {
            out->stride[i] = out->count[i] = 1;
            out->block[i] = out->dims[i];
        }
        return 1;
    }
    if (H5Sget_select_type(space) != H5S_SEL_HYPERSLABS || H5Sis_regular_hyperslab(space) <= 0 ||
        H5Sget_regular_hyperslab(space, out->start, out->stride, out->count, out->block) < 0) {
        return 0;
    }
    for (int i = 0; i < out->rank; i++) {
        if (out->count[i] == H5S_UNLIMITED || out->block[i] == H5S_UNLIMITED) {
            out->unlimited = i;
        }
    }
    return 1;
}

/* Returns the number of selected indices of dimension `at` below `end`. */
static hsize_t mappings_regular_indices(const struct regular *r, int at, hsize_t end)
{
    if (end <= r->start[at]) {
        return 0;
    }
    hsize_t length = end - r->start[at];
    if (r->block[at] == H5S_UNLIMITED) {
        return length;
    }
    hsize_t whole = min_u64(length / r->stride[at], r->count[at]);
    hsize_t rest = whole < r->count[at] ? min_u64(length % r->stride[at], r->block[at]) : 0;
    return whole * r->block[at] + rest;
}

static status_t mappings_regular_add(const struct regular *r, hid_t space, H5S_seloper_t how,
                                     const char *path)
{
    return H5_TRIED(H5Sselect_hyperslab(space, how, r->start, r->stride, r->count, r->block),
                    "%s: a mapping of its virtual dataset cannot be selected", path);
}

/* The selection in a space of these sizes, of which the unlimited dimension gives its first `most`
 * indices. */
static status_t mappings_regular_select(const struct regular *from, const hsize_t *dims,
                                        hsize_t most, const char *path, hid_t *out)
{
    struct regular r = *from;
    int at = r.unlimited;
    hsize_t rest = 0;
    SCOPED(h5_close_at) hid_t space = H5Screate_simple(r.rank, dims, NULL);
    H5_TRY(space, "%s: a mapping of its virtual dataset has no shape", path);
    if (at >= 0 && r.block[at] == H5S_UNLIMITED) {
        r.block[at] = most;
        r.count[at] = r.stride[at] = 1;
    } else if (at >= 0) {
        r.count[at] = most / r.block[at];
        rest = most % r.block[at];
    }
    H5_TRY(H5Sselect_none(space), "%s: nothing can be selected", path);
    if (at < 0 || (r.count[at] > 0 && r.block[at] > 0)) {
        TRY(mappings_regular_add(&r, space, H5S_SELECT_SET, path));
    }
    if (rest > 0) {
        int is_first = r.count[at] == 0;
        r.start[at] += r.count[at] * r.stride[at];
        r.count[at] = 1;
        r.block[at] = rest;
        TRY(mappings_regular_add(&r, space, is_first ? H5S_SELECT_SET : H5S_SELECT_OR, path));
    }
    *out = h5_move(&space);
    return STATUS_OK;
}

/* The same selection in a space of other sizes; the unlimited dimension has `most` indices. */
static status_t mappings_selection_fit(hid_t from, const hsize_t *dims, hsize_t most,
                                       const char *path, hid_t *out)
{
    struct regular r;
    if (mappings_regular_read(from, &r)) {
        return mappings_regular_select(&r, dims, most, path, out);
    }
    SCOPED(h5_close_at)
    hid_t space = H5Screate_simple(H5Sget_simple_extent_ndims(from), dims, NULL);
    H5_TRY(space, "%s: a mapping of its virtual dataset has no shape", path);
    H5_TRY(H5Sselect_copy(space, from), "%s: a mapping of its virtual dataset cannot be copied",
           path);
    *out = h5_move(&space);
    return STATUS_OK;
}

static void mapping_free(struct mapping *mapping)
{
    free(mapping->path);
    free(mapping->name);
    h5_close(mapping->here);
    h5_close(mapping->there);
}

/* Frees the list and its items, and leaves {0}. */
static void mappings_free(struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->count; i++) {
        mapping_free(&mappings->items[i]);
    }
    free(mappings->items);
    *mappings = (struct mappings){NULL, 0};
}

static status_t mapping_bound(struct mapping *mapping)
{
    if (H5Sget_select_npoints(mapping->here) > 0) {
        H5_TRY(H5Sget_select_bounds(mapping->here, mapping->low, mapping->high),
               "%s: a mapping has no bounds", mapping->path);
    } else {
        mapping->low[0] = 1; /* nothing is in it */
        mapping->high[0] = 0;
    }
    return STATUS_OK;
}

/* Writes the number into a name with %b; %% is a percent sign. Returns whether there is a %b. */
static status_t mappings_name_expand(const char *name, unsigned long long block, struct text *out)
{
    for (const char *at = name; *at; at++) {
        if (at[0] == '%' && at[1] == 'b') {
            TRY(text_add(out, "%llu", block));
            at++;
        } else {
            at += at[0] == '%' && at[1] == '%';
            TRY(text_add_bytes(out, at, 1));
        }
    }
    return STATUS_OK;
}

static int mappings_name_has_block(const char *name)
{
    for (const char *at = strchr(name, '%'); at; at = strchr(at + 2, '%')) {
        if (at[1] == 'b') {
            return 1;
        }
        if (at[1] == '\0') {
            break;
        }
    }
    return 0;
}

/* A mapping as the file states it. */
struct stated {
    char file[NAME_BYTES], name[NAME_BYTES];
    hid_t here, there;
    const char *home;
    const hsize_t *dims; /* of the virtual dataset, now */
};

/* Adds one, for good; takes `here`, whatever comes. */
static status_t mappings_add(const struct stated *stated, unsigned long long block, hid_t here,
                             struct mappings *out)
{
    SCOPED(mapping_free) struct mapping new = {.here = here, .there = -1, .unlimited = {-1, -1}};
    struct regular r;
    SCOPED(text_free) struct text file = {0};
    SCOPED(text_free) struct text name = {0};
    SCOPED(text_free) struct text path = {0};
    REQUIRE(out->count < MOST_MAPPINGS, STATUS_DATA,
            "%s: its virtual dataset has too many mappings", stated->home);
    TRY(memory_grown(out->count + 1, sizeof *out->items, "the mappings of a dataset", &out->items));
    TRY(mappings_name_expand(stated->file, block, &file));
    TRY(mappings_name_expand(stated->name, block, &name));
    REQUIRE(file.length > 0 && name.length > 0, STATUS_DATA,
            "%s: a mapping of its virtual dataset names no source", stated->home);
    TRY(strcmp(file.data, ".") == 0 ? text_add(&path, "%s", stated->home)
                                    : links_resolve(stated->home, file.data, &path));
    new.unlimited[0] = mappings_regular_read(stated->here, &r) ? r.unlimited : -1;
    new.unlimited[1] = mappings_regular_read(stated->there, &r) ? r.unlimited : -1;
    TRY(memory_text(path.data, &new.path));
    TRY(memory_text(name.data, &new.name));
    new.there = H5Scopy(stated->there);
    H5_TRY(new.there, "%s: a mapping of its virtual dataset cannot be copied", stated->home);
    TRY(mapping_bound(&new));
    out->items[out->count++] = new;
    new = (struct mapping){.here = -1, .there = -1};
    return STATUS_OK;
}

/* One name with %b stands for as many sources as the dataset has room for. */
static status_t mappings_expand(const struct stated *stated, const struct regular *r,
                                struct mappings *out)
{
    int at = r->unlimited;
    for (hsize_t k = 0; r->start[at] + k * r->stride[at] < stated->dims[at]; k++) {
        struct regular one = *r;
        hid_t here = -1;
        one.start[at] += k * r->stride[at];
        one.count[at] = 1;
        one.unlimited = -1;
        one.block[at] = min_u64(one.block[at], stated->dims[at] - one.start[at]);
        TRY(mappings_regular_select(&one, stated->dims, 0, stated->home, &here));
        TRY(mappings_add(stated, k, here, out));
    }
    return STATUS_OK;
}

static status_t mappings_add_stated(const struct stated *stated, int rank, struct mappings *out)
{
    struct regular r;
    SCOPED(h5_close_at) hid_t here = -1;
    hsize_t most = 0;
    int is_regular = mappings_regular_read(stated->here, &r);
    int has_block = mappings_name_has_block(stated->file) || mappings_name_has_block(stated->name);
    REQUIRE(H5Sget_simple_extent_ndims(stated->here) == rank, STATUS_DATA,
            "%s: a mapping of its virtual dataset has another rank", stated->home);
    if (is_regular && r.unlimited >= 0 && r.block[r.unlimited] != H5S_UNLIMITED && has_block) {
        TRY(mappings_expand(stated, &r, out));
        return STATUS_OK;
    }
    if (is_regular && r.unlimited >= 0) {
        most = mappings_regular_indices(&r, r.unlimited, stated->dims[r.unlimited]);
    }
    TRY(mappings_selection_fit(stated->here, stated->dims, most, stated->home, &here));
    REQUIRE(H5Sselect_valid(here) > 0 || H5Sget_select_npoints(here) == 0, STATUS_DATA,
            "%s: a mapping of its virtual dataset is beyond its end", stated->home);
    return mappings_add(stated, 0, h5_move(&here), out);
}

/* Reads mapping i. */
static status_t mappings_load_one(hid_t plist, size_t i, int rank, struct stated *stated,
                                  struct mappings *out)
{
    SCOPED(h5_close_at) hid_t here = stated->here = H5Pget_virtual_vspace(plist, i);
    SCOPED(h5_close_at) hid_t there = stated->there = H5Pget_virtual_srcspace(plist, i);
    H5_TRY(here, "%s: its virtual dataset cannot be read", stated->home);
    H5_TRY(there, "%s: its virtual dataset cannot be read", stated->home);
    H5_TRY((int)H5Pget_virtual_filename(plist, i, stated->file, NAME_BYTES),
           "%s: its virtual dataset cannot be read", stated->home);
    H5_TRY((int)H5Pget_virtual_dsetname(plist, i, stated->name, NAME_BYTES),
           "%s: its virtual dataset cannot be read", stated->home);
    return mappings_add_stated(stated, rank, out);
}

/* Loads the mappings of a virtual dataset in the file at `home`; names with %b are expanded, and
 * all end at the dataset's present shape. *out is {0} before, and the caller calls mappings_free()
 * in any case. Fails with DATA: unreadable, too many, or of another rank; with DEVICE (memory). */
static status_t mappings_load(hid_t dataset, const char *home, struct mappings *out)
{
    size_t count = 0;
    hsize_t dims[H5S_MAX_RANK] = {0};
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset);
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(dataset);
    struct stated stated = {.home = home, .dims = dims};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    H5_TRY(plist, "%s: its virtual dataset cannot be read", home);
    H5_TRY(rank, "%s: its virtual dataset has no shape", home);
    H5_TRY(H5Pget_virtual_count(plist, &count), "%s: its virtual dataset cannot be read", home);
    for (size_t i = 0; i < count; i++) {
        TRY(mappings_load_one(plist, i, rank, &stated, out));
    }
    return STATUS_OK;
}

/* Both ends of what is unlimited, where the shorter of the two ends. */
static status_t mapping_clip(struct mapping *mapping, const hsize_t *dims, hid_t *there)
{
    struct regular source;
    hsize_t here_dims[H5S_MAX_RANK];
    hid_t here = -1;
    int at = mapping->unlimited[1];
    REQUIRE(at >= 0 && mappings_regular_read(mapping->there, &source), STATUS_DATA,
            "%s: its mapping has an end, the elements for it have none", mapping->path);
    hsize_t indices = mappings_regular_indices(&source, at, dims[at]);
    /* `here` has been cut to its dataset: as many slices as that holds. */
    hssize_t each = 1;
    for (int i = 0; i < source.rank; i++) {
        each *= i == at ? 1 : (hssize_t)(source.count[i] * source.block[i]);
    }
    hssize_t room = H5Sget_select_npoints(mapping->here) / (each > 0 ? each : 1);
    TRY(mappings_regular_select(&source, dims, min_u64(indices, (uint64_t)room), mapping->path,
                                there));
    if ((uint64_t)room > indices) {
        /* The end of `here` gets nothing. */
        struct regular first;
        H5Sget_simple_extent_dims(mapping->here, here_dims, NULL);
        REQUIRE(mappings_regular_read(mapping->here, &first), STATUS_DATA,
                "%s ends within a block of its mapping", mapping->path);
        first.unlimited = mapping->unlimited[0];
        TRY(mappings_regular_select(&first, here_dims, indices, mapping->path, &here));
        h5_close(mapping->here);
        mapping->here = here;
        TRY(mapping_bound(mapping));
    }
    return STATUS_OK;
}

status_t mapping_settle(struct mapping *mapping, hid_t space)
{
    hsize_t dims[H5S_MAX_RANK] = {0};
    SCOPED(h5_close_at) hid_t there = -1;
    if (mapping->is_settled) {
        return STATUS_OK;
    }
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    /* All of the source, as long as that is. */
    if (H5Sget_select_type(mapping->there) == H5S_SEL_ALL) {
        h5_close(mapping->there);
        mapping->there = H5Scopy(space);
        H5_TRY(mapping->there, "%s: its shape cannot be copied", mapping->path);
        H5_TRY(H5Sselect_all(mapping->there), "%s: it has no shape", mapping->path);
    }
    REQUIRE(rank == H5Sget_simple_extent_ndims(mapping->there), STATUS_DATA,
            "its %s has %d dimensions, the mapping %d", mapping->name, rank,
            H5Sget_simple_extent_ndims(mapping->there));
    TRY(mapping->unlimited[0] >= 0 && mapping->unlimited[1] >= 0
            ? mapping_clip(mapping, dims, &there)
            : mappings_selection_fit(mapping->there, dims, 0, mapping->path, &there));
    REQUIRE(H5Sget_select_npoints(there) == 0 || H5Sselect_valid(there) > 0, STATUS_DATA,
            "its %s ends before the mapping does", mapping->name);
    REQUIRE(H5Sget_select_npoints(there) == H5Sget_select_npoints(mapping->here), STATUS_DATA,
            "its %s gives %lld elements, the mapping takes %lld", mapping->name,
            (long long)H5Sget_select_npoints(there),
            (long long)H5Sget_select_npoints(mapping->here));
    h5_close(mapping->there);
    mapping->there = h5_move(&there);
    mapping->is_settled = 1;
    return STATUS_OK;
}

/* Chunked datasets in our own way: their filters, and what is selected of them as boxes of chunks.
 */

static status_t stored_look_at_filter(hid_t plist, unsigned index, struct stored *stored)
{
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
    return REQUIRED(
        is_there || unfilter_knows(&filter), STATUS_DATA,
        "%s: %s is compressed with the filter %d (%s), which neither voltmill nor HDF5 has "
        "here: %s; HDF5_PLUGIN_PATH names the folder of its plugin",
        stored->path, stored->name, filter.id,
        known   ? known
        : *name ? name
                : "?",
        unfilter_advice(filter.id));
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

/* Finds the filters of a dataset, and the code that undoes them. Fails with DATA: there is none. */
static status_t stored_look_at_filters(hid_t plist, struct stored *stored)
{
    int count = H5Pget_nfilters(plist);
    stored->filters.count = 0;
    stored->is_own = stored->layout == H5D_CHUNKED && stored->rank > 0 && stored->chunk_bytes > 0 &&
                     stored_has_numbers(stored);
    stored->has_all = 1;
    for (int i = 0; i < count; i++) {
        TRY(stored_look_at_filter(plist, (unsigned)i, stored));
    }
    return REQUIRED(
        stored->is_own || stored->has_all, STATUS_DATA,
        "%s: %s is compressed with filters that HDF5 does not all have here, beside one that "
        "only HDF5 can undo: HDF5_PLUGIN_PATH names the folder of its plugins",
        stored->path, stored->name);
}

enum { LEAST_CACHE = 1 << 20 };

const char *stored_slash(const char *name)
{
    return *name == '/' ? "" : "/";
}

void lost_pieces_free(struct lost_pieces *lost)
{
    for (uint32_t i = 0; i < lost->count; i++) {
        h5_close(lost->items[i].space);
        free(lost->items[i].why);
    }
    free(lost->items);
    *lost = (struct lost_pieces){NULL, 0};
}

void stored_free(struct stored *stored)
{
    if (stored) {
        h5_close(stored->space);
        h5_close(stored->dataset);
        chunks_close(stored->chunks);
        mappings_free(&stored->mappings);
        lost_pieces_free(&stored->lost);
        text_free_list(stored->files, stored->nfiles);
        pack_free_list(stored->extents, stored->nextents, &archive_extent_type);
        free(stored->path);
        free(stored->name);
        free(stored->home);
        free(stored);
    }
}

/* A file is about to be opened. */
struct noting {
    depot_t *depot;
    struct stored *stored;
};

static status_t stored_note(const struct noting *noting, const char *path, enum source_kind kind,
                            const char *from)
{
    struct stored *stored = noting->stored;
    const struct depot_spec *spec = &noting->depot->spec;
    TRY(spec->found ? sources_add(&spec->found->sources, path, kind, from)
                    : sources_check_open(&spec->storage->sources, path, -1));
    TRY(memory_grown(stored->nfiles + 1, sizeof *stored->files, "the files of a dataset",
                     &stored->files));
    stored->files[stored->nfiles] = NULL;
    TRY(memory_text(path, &stored->files[stored->nfiles]));
    stored->nfiles++;
    return STATUS_OK;
}

static status_t stored_note_linked(void *context, const char *path, const char *from)
{
    return stored_note(context, path, SOURCE_LINKED, from);
}

/* Reads the shape of chunks and their bytes. */
static status_t stored_look_at_chunks(hid_t plist, struct stored *stored)
{
    uint64_t bytes = stored->element_bytes;
    H5_TRY(H5Pget_chunk(plist, H5S_MAX_RANK, stored->chunk), "%s: %s does not tell its chunks",
           stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        stored->chunk[i] = max_u64(stored->chunk[i], 1);
        bytes *= stored->chunk[i]; /* HDF5 keeps chunks below 4 GiB */
    }
    stored->chunk_bytes = bytes;
    for (int i = 0; i < stored->rank && bytes > 0 && stored->along >= 0; i++) {
        uint64_t count = i == stored->along ? 1 : ceil_div_u64(stored->dims[i], stored->chunk[i]);
        bytes = multiply_u64(bytes, count, &bytes) ? bytes : UINT64_MAX / 4;
    }
    stored->row_bytes = bytes; /* of all chunks that one index of that dimension touches */
    return STATUS_OK;
}

static status_t stored_measure(struct stored *stored)
{
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(stored->dataset);
    SCOPED(h5_close_at) hid_t type = H5Dget_type(stored->dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", stored->path, stored->name);
    H5_TRY(type, "%s: %s has no type", stored->path, stored->name);
    h5_close(stored->space);
    stored->space = H5Dget_space(stored->dataset);
    H5_TRY(stored->space, "%s: %s has no shape", stored->path, stored->name);
    stored->rank = H5Sget_simple_extent_dims(stored->space, stored->dims, NULL);
    H5_TRY(stored->rank, "%s: %s has no shape", stored->path, stored->name);
    stored->element_bytes = H5Tget_size(type);
    REQUIRE(multiply_u64((uint64_t)H5Sget_simple_extent_npoints(stored->space),
                         stored->element_bytes, &stored->bytes),
            STATUS_DATA, "%s: the size of %s is absurd", stored->path, stored->name);
    stored->layout = H5Pget_layout(plist);
    return stored->layout == H5D_CHUNKED ? stored_look_at_chunks(plist, stored) : STATUS_OK;
}

static status_t stored_add_extent(struct stored *stored, const char *path, uint64_t offset,
                                  uint64_t bytes)
{
    TRY(memory_grown((size_t)stored->nextents + 1, sizeof *stored->extents, "extents of a dataset",
                     &stored->extents));
    stored->extents[stored->nextents] = (struct archive_extent){NULL, offset, bytes};
    return memory_text(path, &stored->extents[stored->nextents++].path);
}

/* An external file, which is there; stored_find_lost_contiguous() sees whether it is as long as it
 * must be. *left are the bytes of the dataset that the ones before it do not hold. */
static status_t stored_look_at_external(hid_t plist, uint32_t index, const struct noting *noting,
                                        uint64_t *left)
{
    struct stored *stored = noting->stored;
    SCOPED(text_free) struct text path = {0};
    char name[4096] = "";
    off_t offset = 0;
    hsize_t declared = 0;
    struct stat info;
    H5_TRY(H5Pget_external(plist, index, sizeof name - 1, name, &offset, &declared),
           "%s: its external file %u cannot be looked up", stored->home, index);
    TRY(links_resolve(stored->home, name, &path));
    uint64_t bytes = min_u64(declared, *left); /* H5F_UNLIMITED is the largest number */
    REQUIRE(stat(path.data, &info) == 0, STATUS_DATA, "%s: external file %s: %s", stored->home,
            path.data, strerror(errno));
    REQUIRE(S_ISREG(info.st_mode), STATUS_DATA, "%s: external file %s is not an ordinary file",
            stored->home, path.data);
    REQUIRE(offset >= 0, STATUS_DATA, "%s: external file %s: its offset is %lld", stored->home,
            path.data, (long long)offset);
    *left -= bytes;
    stored->is_beside |= strcmp(path.data, name) != 0;
    TRY(stored_note(noting, path.data, SOURCE_EXTERNAL, stored->home));
    return stored_add_extent(stored, path.data, (uint64_t)offset, bytes);
}

/* Finds the bytes of a contiguous dataset: in this file, or in external ones. */
static status_t stored_look_at_extents(hid_t plist, const struct noting *noting)
{
    struct stored *stored = noting->stored;
    uint64_t left = stored->bytes;
    haddr_t offset = h5_offset(stored->dataset);
    stored->nexternals = (uint32_t)H5Pget_external_count(plist);
    for (uint32_t i = 0; i < stored->nexternals && left > 0; i++) {
        TRY(stored_look_at_external(plist, i, noting, &left));
    }
    REQUIRE(left == 0 || stored->nexternals == 0, STATUS_DATA,
            "%s: the external files of %s contain %llu bytes less than its", stored->home,
            stored->name, (unsigned long long)left);
    return offset != HADDR_UNDEF ? stored_add_extent(stored, stored->home, offset, stored->bytes)
                                 : STATUS_OK;
}

static status_t stored_look(const struct noting *noting)
{
    struct stored *stored = noting->stored;
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(stored->dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", stored->path, stored->name);
    ssize_t length = H5Fget_name(stored->dataset, NULL, 0);
    H5_TRY((int)length, "%s: the file of its dataset cannot be found", stored->path);
    TRY(memory_zeroed((size_t)length + 1, 1, "a name", &stored->home));
    H5_TRY((int)H5Fget_name(stored->dataset, stored->home, (size_t)length + 1),
           "%s: the file of its dataset cannot be found", stored->path);
    H5_TRY(h5_address(stored->dataset, &stored->address), "%s: %s cannot be looked at",
           stored->path, stored->name);
    TRY(identity_of_path(stored->home, &stored->identity));
    const status_t st = stored_look_at_filters(plist, stored);
    noting->depot->is_hard |= st != STATUS_OK;
    TRY(st);
    if (stored->layout == H5D_VIRTUAL) {
        TRY(mappings_load(stored->dataset, stored->home, &stored->mappings));
    } else if (stored->layout == H5D_CONTIGUOUS) {
        TRY(stored_look_at_extents(plist, noting));
    }
    return STATUS_OK;
}

uint64_t depot_budget(const depot_t *depot)
{
    return max_u64(depot->spec.cache_bytes, LEAST_CACHE);
}

/* Neighbouring reads meet in chunks: keep them, or they are decompressed twice. The policy 0
 * matters: with another, HDF5 keeps chunks of which only a part was read beyond all bounds. */
static status_t stored_set_cache(const struct stored *stored, uint64_t bytes, hid_t access)
{
    enum { SLOTS = 12421, LEAST_SLOTS = 101, SLOTS_A_CHUNK = 20 };
    uint64_t slots = SLOTS;
    if (stored->chunk_bytes > 0) {
        slots = min_u64(bytes / stored->chunk_bytes * SLOTS_A_CHUNK + LEAST_SLOTS, SLOTS);
    }
    return H5_TRIED(H5Pset_chunk_cache(access, (size_t)slots, (size_t)bytes, 0),
                    "%s: no memory for chunks of %s", stored->path, stored->name);
}

static status_t stored_open_dataset(const struct noting *noting, int is_source, int is_beside)
{
    struct stored *stored = noting->stored;
    struct noting copy = *noting;
    int is_there = 0;
    SCOPED(h5_close_at) hid_t file = -1;
    SCOPED(h5_close_at) hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5_TRY(access, "%s cannot be opened", stored->path);
    TRY(stored_set_cache(stored, depot_budget(noting->depot), access));
    if (is_beside) {
        H5Pset_efile_prefix(access, "${ORIGIN}");
    }
    TRY(is_source ? h5_open_file(stored->path, &file) : h5_open_cut_file(stored->path, &file));
    struct links_request request = {file,  stored->path, stored->name, stored_note_linked,
                                    &copy, access};
    TRY(links_open(&request, &stored->dataset, &is_there));
    REQUIRE(is_there && H5Iget_type(stored->dataset) == H5I_DATASET, STATUS_DATA,
            "%s contains no dataset %s", stored->path, stored->name);
    TRY(stored_measure(stored));
    if (is_source && stored->chunk_bytes > 0 && !noting->depot->spec.found) {
        /* Many may be open: each keeps what it needs, which only now is known. */
        stored->source.kept = min_u64(stored->row_bytes, depot_budget(noting->depot));
        TRY(stored_set_cache(stored, stored->source.kept, access));
        h5_close(h5_move(&stored->dataset));
        request.note = NULL;
        TRY(links_open(&request, &stored->dataset, &is_there));
    }
    return STATUS_OK;
}

/* Returns the dimension of the source along which dimension `along` of the virtual dataset runs;
 * -1: there is none, or it is not clear. */
static int mapping_along(const struct mapping *mapping, int along)
{
    hsize_t low[H5S_MAX_RANK];
    hsize_t high[H5S_MAX_RANK];
    if (along < 0 || along == mapping->unlimited[0]) {
        return along < 0 ? -1 : mapping->unlimited[1];
    }
    if (mapping->low[along] == mapping->high[along] ||
        H5Sget_select_bounds(mapping->there, low, high) < 0) {
        return -1;
    }
    /* Elements have the same order on both sides: dimensions of one index do not count. */
    int before = 0;
    for (int i = 0; i < along; i++) {
        before += mapping->low[i] < mapping->high[i];
    }
    for (int i = 0; i < H5Sget_simple_extent_ndims(mapping->there); i++) {
        if (low[i] < high[i] && before-- == 0) {
            return i;
        }
    }
    return -1;
}

/* The dataset of the depot itself; or the source of a mapping of `by`. */
status_t stored_open(depot_t *depot, const struct stored *by, const struct mapping *mapping,
                     struct stored **out)
{
    SCOPED(stored_free_at) struct stored *stored = NULL;
    struct noting noting = {.depot = depot};
    TRY(memory_zeroed(1, sizeof *stored, "a dataset", &stored));
    noting.stored = stored;
    stored->dataset = stored->space = -1;
    stored->along = mapping ? mapping_along(mapping, by->along) : depot->spec.along;
    TRY(memory_text(mapping ? mapping->path : depot->spec.path, &stored->path));
    TRY(memory_text(mapping ? mapping->name : depot->spec.name, &stored->name));
    TRY(stored_note(&noting, stored->path, mapping ? SOURCE_VIRTUAL : SOURCE_NAMED,
                    by ? by->home : NULL));
    TRY(stored_open_dataset(&noting, mapping != NULL, 0));
    TRY(stored_look(&noting));
    if (stored->is_beside && !depot->spec.found) {
        h5_close(h5_move(&stored->dataset));
        TRY(stored_open_dataset(&noting, mapping != NULL, 1));
    }
    *out = memory_move(&stored);
    return STATUS_OK;
}
