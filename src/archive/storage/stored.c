/* Datasets and their sources, open as long as they are used. */
#include "archive/storage/stored.h"

#include "archive/storage/links.h"
#include "archive/storage/places.h"
#include "archive/storage/stored_parts.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LEAST_CACHE = 1 << 20 };

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

static void stored_free(struct stored *stored)
{
    if (stored) {
        h5_close(stored->space);
        h5_close(stored->dataset);
        mappings_free(&stored->mappings);
        lost_pieces_free(&stored->lost);
        h5_free_texts(stored->files, stored->nfiles);
        free(stored->path);
        free(stored->name);
        free(stored->home);
        free(stored);
    }
}

const struct sources *depot_sources(const depot_t *depot)
{
    return depot->spec.found ? &depot->spec.found->sources : &depot->spec.storage->sources;
}

/* A file is about to be opened. */
struct noting {
    depot_t *depot;
    struct stored *stored;
};

static status_t stored_depot_note(const struct noting *noting, const char *path,
                                  enum source_kind kind, const char *from)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    const struct depot_spec *spec = &noting->depot->spec;
    TRY(spec->found ? sources_add(&spec->found->sources, path, kind, from)
                    : sources_check_path(&spec->storage->sources, path));
    char **grown = realloc(stored->files, (stored->nfiles + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: the files of %s", path);
    stored->files = grown;
    grown[stored->nfiles] = NULL;
    TRY(memory_text(path, &grown[stored->nfiles]));
    stored->nfiles++;
out:
    return st;
}

static status_t stored_depot_note_linked(void *context, const char *path, const char *from)
{
    return stored_depot_note(context, path, SOURCE_LINKED, from);
}

static status_t stored_find_home(struct stored *stored)
{
    status_t st = STATUS_OK;
    ssize_t length = H5Fget_name(stored->dataset, NULL, 0);
    H5_TRY((int)length, "%s: the file of its dataset cannot be found", stored->path);
    TRY(memory_zeroed((size_t)length + 1, 1, "a name", &stored->home));
    H5_TRY((int)H5Fget_name(stored->dataset, stored->home, (size_t)length + 1),
           "%s: the file of its dataset cannot be found", stored->path);
out:
    return st;
}

static status_t stored_check_filters(hid_t plist, const struct stored *stored)
{
    status_t st = STATUS_OK;
    for (int i = 0; i < H5Pget_nfilters(plist); i++) {
        unsigned flags = 0;
        unsigned config = 0;
        size_t nvalues = 0;
        char name[64] = "";
        H5Z_filter_t filter =
            H5Pget_filter2(plist, (unsigned)i, &flags, &nvalues, NULL, sizeof name, name, &config);
        REQUIRE(H5Zfilter_avail(filter) > 0, STATUS_DATA,
                "%s: %s is compressed with the filter %d (%s), which HDF5 does not have here: "
                "HDF5_PLUGIN_PATH names the folder of its plugin",
                stored->path, stored->name, (int)filter,
                *name             ? name
                : filter == 32008 ? "bitshuffle"
                                  : "?");
    }
out:
    return st;
}

/* Shape and chunks. */
static status_t stored_look_at_chunks(hid_t plist, struct stored *stored)
{
    status_t st = STATUS_OK;
    hid_t type = H5Dget_type(stored->dataset);
    H5_TRY(type, "%s: %s has no type", stored->path, stored->name);
    uint64_t bytes = H5Tget_size(type);
    H5_TRY(H5Pget_chunk(plist, H5S_MAX_RANK, stored->chunk), "%s: %s does not tell its chunks",
           stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        stored->chunk[i] = max_u64(stored->chunk[i], 1);
        bytes *= stored->chunk[i]; /* HDF5 keeps chunks below 4 GiB */
    }
    stored->chunk_bytes = bytes;
    stored->row_bytes = stored_chunk_row(stored);
out:
    h5_close(type);
    return st;
}

static status_t stored_measure(struct stored *stored)
{
    status_t st = STATUS_OK;
    hid_t plist = H5Dget_create_plist(stored->dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", stored->path, stored->name);
    h5_close(stored->space);
    stored->space = H5Dget_space(stored->dataset);
    H5_TRY(stored->space, "%s: %s has no shape", stored->path, stored->name);
    stored->rank = H5Sget_simple_extent_dims(stored->space, stored->dims, NULL);
    H5_TRY(stored->rank, "%s: %s has no shape", stored->path, stored->name);
    stored->layout = H5Pget_layout(plist);
    if (stored->layout == H5D_CHUNKED) {
        TRY(stored_look_at_chunks(plist, stored));
    }
out:
    h5_close(plist);
    return st;
}

/* HDF5 gives zeros behind the end of an external file. */
static status_t stored_look_at_externals(hid_t plist, const struct noting *noting)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    struct text path = {0};
    hid_t type = H5Dget_type(stored->dataset);
    uint64_t left = 0;
    H5_TRY(type, "%s: %s has no type", stored->path, stored->name);
    REQUIRE(multiply_u64((uint64_t)H5Sget_simple_extent_npoints(stored->space), H5Tget_size(type),
                         &left),
            STATUS_DATA, "%s: the size of %s is absurd", stored->path, stored->name);
    stored->nexternals = (uint32_t)H5Pget_external_count(plist);
    for (uint32_t i = 0; i < stored->nexternals && left > 0; i++) {
        struct external external;
        TRY(external_read(plist, i, stored->home, &left, &path, &external));
        stored->is_beside |= strcmp(path.data, external.name) != 0;
        TRY(stored_depot_note(noting, path.data, SOURCE_EXTERNAL, stored->home));
        text_free(&path);
    }
    REQUIRE(left == 0, STATUS_DATA, "%s: the external files of %s hold %llu bytes less than its",
            stored->home, stored->name, (unsigned long long)left);
out:
    text_free(&path);
    h5_close(type);
    return st;
}

static status_t stored_look(const struct noting *noting)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    H5O_info_t info;
    hid_t plist = H5Dget_create_plist(stored->dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", stored->path, stored->name);
    TRY(stored_find_home(stored));
    H5_TRY(H5Oget_info2(stored->dataset, &info, H5O_INFO_BASIC), "%s: %s cannot be looked at",
           stored->path, stored->name);
    stored->address = info.addr;
    TRY(identity_of_path(stored->home, &stored->identity));
    st = stored_check_filters(plist, stored);
    noting->depot->is_hard |= st != STATUS_OK;
    TRY(st);
    if (stored->layout == H5D_VIRTUAL) {
        TRY(mappings_load(stored->dataset, stored->home, &stored->mappings));
    } else if (stored->layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) > 0) {
        TRY(stored_look_at_externals(plist, noting));
    }
out:
    h5_close(plist);
    return st;
}

static uint64_t stored_depot_budget(const depot_t *depot)
{
    return max_u64(depot->spec.cache_bytes, LEAST_CACHE);
}

/* Neighbouring reads meet in chunks: keep them, or they are decompressed twice. The policy 0
 * matters: with another, HDF5 keeps chunks of which only a part was read beyond all bounds. */
static status_t stored_set_cache(const struct stored *stored, uint64_t bytes, hid_t access)
{
    status_t st = STATUS_OK;
    enum { SLOTS = 12421, LEAST_SLOTS = 101, SLOTS_A_CHUNK = 20 };
    uint64_t slots = SLOTS;
    if (stored->chunk_bytes > 0) {
        slots = min_u64(bytes / stored->chunk_bytes * SLOTS_A_CHUNK + LEAST_SLOTS, SLOTS);
    }
    H5_TRY(H5Pset_chunk_cache(access, (size_t)slots, (size_t)bytes, 0),
           "%s: there is no room for chunks of %s", stored->path, stored->name);
out:
    return st;
}

static status_t stored_open_dataset(const struct noting *noting, int is_source, int is_beside)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    struct noting copy = *noting;
    int is_there = 0;
    hid_t file = -1;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    H5_TRY(access, "%s cannot be opened", stored->path);
    TRY(stored_set_cache(stored, stored_depot_budget(noting->depot), access));
    if (is_beside) {
        H5Pset_efile_prefix(access, "${ORIGIN}");
    }
    TRY(h5_open_file(stored->path, &file));
    struct links_request request = {file,  stored->path, stored->name, stored_depot_note_linked,
                                    &copy, access};
    TRY(links_open(&request, &stored->dataset, &is_there));
    REQUIRE(is_there && H5Iget_type(stored->dataset) == H5I_DATASET, STATUS_DATA,
            "%s holds no dataset %s", stored->path, stored->name);
    TRY(stored_measure(stored));
    if (is_source && stored->chunk_bytes > 0 && !noting->depot->spec.found) {
        /* Many may be open: each keeps what it needs, which only now is known. */
        stored->kept = min_u64(stored->row_bytes, stored_depot_budget(noting->depot));
        TRY(stored_set_cache(stored, stored->kept, access));
        h5_close(stored->dataset);
        stored->dataset = -1;
        request.note = NULL;
        TRY(links_open(&request, &stored->dataset, &is_there));
    }
out:
    h5_close(access);
    h5_close(file);
    return st;
}

/* The dataset of the depot itself; or the source of a mapping of `by`. */
static status_t stored_open(depot_t *depot, const struct stored *by, const struct mapping *mapping,
                            struct stored **out)
{
    status_t st = STATUS_OK;
    struct stored *stored = NULL;
    struct noting noting = {.depot = depot};
    TRY(memory_zeroed(1, sizeof *stored, "a dataset", &stored));
    noting.stored = stored;
    stored->dataset = stored->space = -1;
    stored->along = mapping ? mapping_along(mapping, by->along) : depot->spec.along;
    TRY(memory_text(mapping ? mapping->path : depot->spec.path, &stored->path));
    TRY(memory_text(mapping ? mapping->name : depot->spec.name, &stored->name));
    TRY(stored_depot_note(&noting, stored->path, mapping ? SOURCE_VIRTUAL : SOURCE_NAMED,
                          by ? by->home : NULL));
    TRY(stored_open_dataset(&noting, mapping != NULL, 0));
    TRY(stored_look(&noting));
    if (stored->is_beside && !depot->spec.found) {
        h5_close(stored->dataset);
        stored->dataset = -1;
        TRY(stored_open_dataset(&noting, mapping != NULL, 1));
    }
    *out = stored;
    stored = NULL;
out:
    stored_free(stored);
    return st;
}

status_t stored_check(const depot_t *depot, struct stored *stored)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; stored && stored->is_touched && i < stored->nfiles; i++) {
        TRY(sources_check_path(depot_sources(depot), stored->files[i]));
    }
    if (stored) {
        stored->is_touched = 0;
    }
out:
    return st;
}

static int stored_depot_holds(const depot_t *depot, uint32_t slot, const struct mapping *mapping)
{
    const struct stored *at = depot->open[slot];
    return at && strcmp(at->path, mapping->path) == 0 && strcmp(at->name, mapping->name) == 0;
}

/* Where the source of a mapping is open; 0: it is not. */
static uint32_t stored_depot_find(const depot_t *depot, const struct mapping *mapping)
{
    if (mapping->slot > 0 && stored_depot_holds(depot, mapping->slot, mapping)) {
        return mapping->slot;
    }
    for (uint32_t i = 1; i < depot->nslots; i++) {
        if (stored_depot_holds(depot, i, mapping)) {
            return i;
        }
    }
    return 0;
}

/* Closes sources, or only such as keep chunks, the least recently used first, until no more than
 * `most` are open and no more than `bytes` are kept, or all others are in use. */
static status_t stored_depot_shrink(depot_t *depot, uint32_t most, uint64_t bytes)
{
    status_t st = STATUS_OK;
    while (depot->nopen > most || depot->kept > bytes) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < depot->nslots; i++) {
            const struct stored *at = depot->open[i];
            if (at && at->pins == 0 && (depot->nopen > most || at->kept > 0) &&
                (!oldest || at->used < depot->open[oldest]->used)) {
                oldest = i;
            }
        }
        if (!oldest) {
            goto out;
        }
        TRY(stored_check(depot, depot->open[oldest]));
        depot->kept -= depot->open[oldest]->kept;
        depot->nopen--;
        stored_free(depot->open[oldest]);
        depot->open[oldest] = NULL;
    }
out:
    return st;
}

static status_t stored_depot_find_slot(depot_t *depot, uint32_t *out)
{
    status_t st = STATUS_OK;
    uint32_t slot = 0;
    while (slot < depot->nslots && depot->open[slot]) {
        slot++;
    }
    if (slot == depot->nslots) {
        uint32_t nslots = 2 * depot->nslots + LEAST_OPEN;
        struct stored **grown = realloc(depot->open, nslots * sizeof(struct stored *));
        REQUIRE(grown, STATUS_DEVICE, "out of memory: sources");
        memset(grown + slot, 0, (nslots - slot) * sizeof(struct stored *));
        depot->open = grown;
        depot->nslots = nslots;
    }
    *out = slot;
out:
    return st;
}

static status_t stored_depot_open_source(depot_t *depot, const struct stored *by,
                                         struct mapping *mapping)
{
    status_t st = STATUS_OK;
    struct stored *stored = NULL;
    uint32_t slot = 0;
    TRY(stored_depot_shrink(depot, depot->most - 1, UINT64_MAX));
    TRY(stored_depot_find_slot(depot, &slot));
    st = stored_open(depot, by, mapping, &stored);
    if (st == STATUS_DEVICE && depot->nopen > LEAST_OPEN) {
        /* Others have taken the descriptors. */
        report_clear();
        depot->most = (uint32_t)max_u64(LEAST_OPEN, depot->nopen / 2);
        TRY(stored_depot_shrink(depot, LEAST_OPEN - 1, UINT64_MAX));
        st = stored_open(depot, by, mapping, &stored);
    }
    TRY(st);
    depot->open[slot] = stored;
    depot->nopen++;
    depot->kept += stored->kept;
    mapping->slot = slot;
out:
    return st;
}

status_t depot_take(depot_t *depot, const struct stored *by, struct mapping *mapping,
                    struct stored **out)
{
    status_t st = STATUS_OK;
    REQUIRE(depot->depth < MOST_DEPTH, STATUS_DATA,
            "%s: its %s has sources of sources, more than %d levels deep", mapping->path,
            mapping->name, MOST_DEPTH);
    uint32_t slot = stored_depot_find(depot, mapping);
    if (!slot) {
        TRY(stored_depot_open_source(depot, by, mapping));
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
    stored->used = ++depot->clock;
    stored->is_touched = 1;
    stored->pins++;
    depot->way[depot->depth++] = stored;
    *out = stored;
    TRY(stored_depot_shrink(depot, UINT32_MAX, stored_depot_budget(depot)));
out:
    return st;
}

void depot_give(depot_t *depot, struct stored *stored)
{
    if (stored) {
        stored->pins--;
        depot->depth--;
    }
}

/* Sources take half of the descriptors that there are, but some must do. */
static uint32_t stored_depot_most(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return LEAST_OPEN;
    }
    return (uint32_t)min_u64(max_u64(limit.rlim_cur / 2, LEAST_OPEN), UINT32_MAX / 4);
}

status_t depot_open(const struct depot_spec *spec, depot_t **out)
{
    status_t st = STATUS_OK;
    depot_t *depot = NULL;
    uint32_t slot = 0;
    TRY(memory_zeroed(1, sizeof *depot, "a dataset", &depot));
    depot->spec = *spec;
    depot->most = stored_depot_most();
    TRY(stored_depot_find_slot(depot, &slot));
    TRY(stored_open(depot, NULL, NULL, &depot->open[slot]));
    depot->open[slot]->pins = 1;
    depot->nopen = 1;
    *out = depot;
    depot = NULL;
out:
    depot_close(depot);
    return st;
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

const char *depot_home(const depot_t *depot)
{
    return depot->open[0]->home;
}

int depot_is_unreadable(const depot_t *depot)
{
    return depot->is_unreadable;
}
