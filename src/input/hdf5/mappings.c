/* The mappings of a virtual dataset, as selections of dataspaces. */
#include "input/hdf5/stored_parts.h"

#include "base/memory.h"
#include "input/hdf5/links.h"

#include <stdlib.h>
#include <string.h>

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

void mappings_free(struct mappings *mappings)
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

status_t mappings_load(hid_t dataset, const char *home, struct mappings *out)
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
