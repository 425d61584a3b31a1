/* A dataset and the sources behind it, open as long as they are used. */
#include "input/hdf5/stored_parts.h"

#include "base/memory.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

status_t storage_key(const char *path, const char *name, struct text *out)
{
    return text_add(out, "%s\n%s", path, name);
}

int storage_is_absent(const struct storage *storage, const char *key)
{
    for (uint32_t i = 0; i < storage->nabsent; i++) {
        if (strcmp(storage->absent[i], key) == 0) {
            return 1;
        }
    }
    return 0;
}

static int depot_holds(const depot_t *depot, uint32_t slot, const struct mapping *mapping)
{
    const struct stored *at = depot->open[slot];
    return at && strcmp(at->path, mapping->path) == 0 && strcmp(at->name, mapping->name) == 0;
}

/* Returns the slot in which the source of a mapping is open; 0: it is not. */
static uint32_t depot_find(const depot_t *depot, const struct mapping *mapping)
{
    if (mapping->slot > 0 && depot_holds(depot, mapping->slot, mapping)) {
        return mapping->slot;
    }
    for (uint32_t i = 1; i < depot->nslots; i++) {
        if (depot_holds(depot, i, mapping)) {
            return i;
        }
    }
    return 0;
}

/* Returns the files that a source may be of: when planning those found so far, when reading those
 * of spec.storage. */
static const struct sources *depot_sources(const depot_t *depot)
{
    return depot->spec.found ? &depot->spec.found->sources : &depot->spec.storage->sources;
}

/* Checks that the files read since the last check are still those that were planned. Fails with
 * DATA. */
static status_t stored_check(const depot_t *depot, struct stored *stored)
{
    for (uint32_t i = 0; stored && stored->source.is_touched && i < stored->nfiles; i++) {
        TRY(sources_check_open(depot_sources(depot), stored->files[i], -1));
    }
    if (stored) {
        stored->source.is_touched = 0;
    }
    return STATUS_OK;
}

/* Closes sources, or only such as keep chunks, the least recently used first, until no more than
 * `most` are open and no more than `bytes` are kept, or all others are in use. */
static status_t depot_shrink(depot_t *depot, uint32_t most, uint64_t bytes)
{
    while (depot->nopen > most || depot->kept > bytes) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < depot->nslots; i++) {
            const struct stored *at = depot->open[i];
            if (at && at->source.pins == 0 && (depot->nopen > most || at->source.kept > 0) &&
                (!oldest || at->source.used < depot->open[oldest]->source.used)) {
                oldest = i;
            }
        }
        if (!oldest) {
            return STATUS_OK;
        }
        TRY(stored_check(depot, depot->open[oldest]));
        depot->kept -= depot->open[oldest]->source.kept;
        depot->nopen--;
        stored_free(memory_move(&depot->open[oldest]));
    }
    return STATUS_OK;
}

static status_t depot_find_slot(depot_t *depot, uint32_t *out)
{
    uint32_t slot = 0;
    while (slot < depot->nslots && depot->open[slot]) {
        slot++;
    }
    if (slot == depot->nslots) {
        TRY(memory_grow(slot, sizeof *depot->open, "sources", &depot->open));
        depot->open[depot->nslots++] = NULL;
    }
    *out = slot;
    return STATUS_OK;
}

static status_t depot_open_source(depot_t *depot, const struct stored *by, struct mapping *mapping)
{
    struct stored *stored = NULL;
    uint32_t slot = 0;
    TRY(depot_shrink(depot, depot->most - 1, UINT64_MAX));
    TRY(depot_find_slot(depot, &slot));
    status_t st = stored_open(depot, by, mapping, &stored);
    if (st == STATUS_DEVICE && depot->nopen > LEAST_OPEN) {
        /* Others have taken the descriptors. */
        report_clear();
        depot->most = (uint32_t)max_u64(LEAST_OPEN, depot->nopen / 2);
        TRY(depot_shrink(depot, LEAST_OPEN - 1, UINT64_MAX));
        st = stored_open(depot, by, mapping, &stored);
    }
    TRY(st);
    depot->open[slot] = stored;
    depot->nopen++;
    depot->kept += stored->source.kept;
    mapping->slot = slot;
    return STATUS_OK;
}

status_t depot_take(depot_t *depot, const struct stored *by, struct mapping *mapping,
                    struct stored **out)
{
    REQUIRE(depot->depth < MOST_DEPTH, STATUS_DATA,
            "%s: its %s has sources of sources, more than %d levels deep", mapping->path,
            mapping->name, MOST_DEPTH);
    uint32_t slot = depot_find(depot, mapping);
    if (!slot) {
        TRY(depot_open_source(depot, by, mapping));
        slot = mapping->slot;
    }
    mapping->slot = slot;
    struct stored *stored = depot->open[slot];
    for (int i = -1; i < depot->depth; i++) {
        const struct stored *other = i < 0 ? depot->open[0] : depot->way[i];
        REQUIRE(other->address != stored->address ||
                    !identity_is_same_file(&other->identity, &stored->identity),
                STATUS_DATA, "%s: its %s refers to itself", mapping->path, mapping->name);
    }
    stored->source.used = ++depot->clock;
    stored->source.is_touched = 1;
    stored->source.pins++;
    depot->way[depot->depth++] = stored;
    *out = stored;
    return depot_shrink(depot, UINT32_MAX, depot_budget(depot));
}

void depot_give(depot_t *depot, struct stored *stored)
{
    if (stored) {
        stored->source.pins--;
        depot->depth--;
    }
}

status_t depot_open(const struct depot_spec *spec, depot_t **out)
{
    SCOPED(depot_close_at) depot_t *depot = NULL;
    uint32_t slot = 0;
    struct rlimit limit;
    TRY(memory_zeroed(1, sizeof *depot, "a dataset", &depot));
    depot->spec = *spec;
    /* Sources take half of the descriptors that there are, but some must do. */
    uint64_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
    depot->most = (uint32_t)min_u64(max_u64(most, LEAST_OPEN), UINT32_MAX / 4);
    TRY(depot_find_slot(depot, &slot));
    TRY(stored_open(depot, NULL, NULL, &depot->open[slot]));
    depot->open[slot]->source.pins = 1;
    depot->nopen = 1;
    *out = memory_move(&depot);
    return STATUS_OK;
}

void depot_close(depot_t *depot)
{
    for (uint32_t i = 0; depot && i < depot->nslots; i++) {
        stored_free(depot->open[i]);
    }
    if (depot) {
        free(depot->open);
    }
    free(depot);
}

hid_t depot_dataset(const depot_t *depot)
{
    return depot->open[0]->dataset;
}

void depot_take_extents(depot_t *depot, struct archive_extent **extents, uint32_t *count)
{
    *extents = depot->open[0]->extents;
    *count = depot->open[0]->nextents;
    depot->open[0]->extents = NULL;
    depot->open[0]->nextents = 0;
}

int depot_is_unreadable(const depot_t *depot)
{
    return depot->is_unreadable;
}

/* Reading a dataset through all its sources. */

/* HDF5 could not read it: because files are not what they were, or no more can be opened? */
static status_t stored_judge(depot_t *depot, const struct stored *stored)
{
    for (uint32_t i = 0; i < stored->nfiles; i++) {
        int fd = -1;
        TRY(sources_check_open(depot_sources(depot), stored->files[i], -1));
        status_t st = file_open_read(stored->files[i], &fd);
        file_close(fd);
        TRY(st);
    }
    return STATUS_OK;
}

/* The same of a failure that is recorded: it stays one, that of samples, or another takes its
 * place.
 */
static status_t stored_blame(depot_t *depot, const struct stored *stored)
{
    SCOPED(free_at) char *cause = NULL;
    TRY(memory_text(report_cause(), &cause));
    report_clear();
    TRY(stored_judge(depot, stored));
    depot->is_unreadable = 1;
    return report_fail(STATUS_DATA, "%s", cause);
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

/* The same of elements: of compounds all members, which must lie alike, one after the other. */
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
    unsigned options = 0;
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(stored->dataset);
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
    return chunks_open(&spec, &stored->chunks);
}

/* The selection, if that is a box. */
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

/* Reads chunks of a dataset of `depot` without HDF5's filters if that is possible; *is_done says
 * whether. Fails with DATA: unreadable, corrupt, changed, or neither we nor HDF5 can undo a filter;
 * with DEVICE (memory, descriptors, threads); the output is undefined then. */
static status_t stored_read_chunks(depot_t *depot, struct stored *stored,
                                   const struct depot_read *read, int *is_done)
{
    struct selected wanted;
    struct selected memory;
    struct chunk_box box;
    SCOPED(h5_close_at) hid_t type = stored->is_own ? H5Dget_type(stored->dataset) : -1;
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
        TRY(chunks_read(stored->chunks, &box));
    }
    return STATUS_OK;
}

static status_t stored_read_plain(depot_t *depot, struct stored *stored,
                                  const struct depot_read *read)
{
    int is_done = 0;
    status_t st = stored_read_chunks(depot, stored, read, &is_done);
    TRY(st == STATUS_DATA ? stored_blame(depot, stored) : st);
    if (!is_done && H5Dread(stored->dataset, read->type, read->memory, read->wanted, H5P_DEFAULT,
                            read->out) < 0) {
        TRY(stored_judge(depot, stored));
        st = h5_fail("%s: %s%s: %s cannot be read", stored->path, stored_slash(stored->name),
                     stored->name, read->what);
        depot->is_unreadable = st == STATUS_DATA;
    }
    return st;
}

static status_t stored_read(depot_t *depot, struct stored *stored, const struct depot_read *read);

/* Reads the wanted elements of one mapping from its source. */
static status_t stored_read_mapping(depot_t *depot, const struct stored *stored,
                                    struct mapping *mapping, const struct depot_read *read)
{
    status_t st = STATUS_OK;
    struct text key = {0};
    struct stored *source = NULL;
    struct depot_read part = {
        .type = read->type, .memory = -1, .wanted = -1, .out = read->out, .what = read->what};
    if (mapping->slot == 0) {
        TRY_OUT(storage_key(mapping->path, mapping->name, &key));
        if (storage_is_absent(depot->spec.storage, key.data)) {
            goto out; /* as was found when the work was planned */
        }
    }
    TRY_OUT(depot_take(depot, stored, mapping, &source));
    TRY_OUT(mapping_settle(mapping, source->space));
    part.wanted = H5Sselect_project_intersection(mapping->here, mapping->there, read->wanted);
    part.memory = H5Sselect_project_intersection(read->wanted, read->memory, mapping->here);
    H5_TRY_OUT(part.wanted, "%s: what is wanted of %s cannot be selected", mapping->path,
               mapping->name);
    H5_TRY_OUT(part.memory, "%s: what is wanted of %s cannot be selected", mapping->path,
               mapping->name);
    TRY_OUT(H5Sget_select_npoints(part.wanted) > 0 ? stored_read(depot, source, &part) : STATUS_OK);
out:
    depot_give(depot, source);
    h5_close(part.wanted);
    h5_close(part.memory);
    text_free(&key);
    return st;
}

static status_t stored_read(depot_t *depot, struct stored *stored, const struct depot_read *read)
{
    hsize_t low[H5S_MAX_RANK];
    hsize_t high[H5S_MAX_RANK];
    if (stored->layout != H5D_VIRTUAL) {
        return stored_read_plain(depot, stored, read);
    }
    H5_TRY(H5Sget_select_bounds(read->wanted, low, high), "%s: nothing is wanted of %s",
           stored->path, stored->name);
    for (size_t i = 0; i < stored->mappings.count; i++) {
        struct mapping *mapping = &stored->mappings.items[i];
        int meets = 1;
        for (int d = 0; d < stored->rank; d++) {
            meets = meets && mapping->low[d] <= high[d] && mapping->high[d] >= low[d];
        }
        TRY(meets ? stored_read_mapping(depot, stored, mapping, read) : STATUS_OK);
    }
    return STATUS_OK;
}

status_t depot_read(depot_t *depot, const struct depot_read *read)
{
    depot->is_unreadable = 0;
    depot->open[0]->source.is_touched = 1;
    TRY(stored_read(depot, depot->open[0], read));
    for (uint32_t i = 0; i < depot->nslots; i++) {
        TRY(stored_check(depot, depot->open[i]));
    }
    return STATUS_OK;
}
