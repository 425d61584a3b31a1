/* Datasets and their sources, open as long as they are used. */
#include "archive/stored.h"

#include "archive/links.h"
#include "archive/places.h"
#include "archive/stored_parts.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16 };

status_t storage_pack(const struct storage *storage, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(sources_pack(&storage->sources, out));
    TRY(pack_u64(out, storage->nabsent));
    for (uint32_t i = 0; i < storage->nabsent; i++) {
        TRY(pack_text(out, storage->absent[i]));
    }
out:
    return st;
}

status_t storage_unpack(struct unpack *in, struct storage *out)
{
    status_t st = STATUS_OK;
    TRY(sources_unpack(in, &out->sources));
    size_t count = unpack_count(in, sizeof(uint64_t));
    TRY(memory_zeroed(count, sizeof *out->absent, "absent sources", &out->absent));
    for (; out->nabsent < count; out->nabsent++) {
        out->absent[out->nabsent] = unpack_text(in);
        TRY(unpack_check(in, "absent sources"));
    }
out:
    return st;
}

void storage_free(struct storage *storage)
{
    sources_free(&storage->sources);
    h5_free_texts(storage->absent, storage->nabsent);
    *storage = (struct storage){.absent = NULL};
}

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

void stored_free(struct stored *stored)
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

static status_t depot_note(const struct noting *noting, const char *path, enum source_kind kind,
                           const char *from)
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

static status_t depot_note_linked(void *context, const char *path, const char *from)
{
    return depot_note(context, path, SOURCE_LINKED, from);
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

static status_t check_filters(hid_t plist, const struct stored *stored)
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

static status_t stored_look_at_chunks(hid_t plist, struct stored *stored)
{
    status_t st = STATUS_OK;
    hid_t type = H5Dget_type(stored->dataset);
    uint64_t bytes = H5Tget_size(type);
    h5_close(type);
    H5_TRY(H5Pget_chunk(plist, H5S_MAX_RANK, stored->chunk), "%s: %s does not tell its chunks",
           stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        stored->chunk[i] = max_u64(stored->chunk[i], 1);
        bytes *= stored->chunk[i]; /* HDF5 keeps chunks below 4 GiB */
    }
    stored->chunk_bytes = bytes;
out:
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
    REQUIRE(multiply_u64((uint64_t)H5Sget_simple_extent_npoints(stored->space), H5Tget_size(type),
                         &left),
            STATUS_DATA, "%s: the size of %s is absurd", stored->path, stored->name);
    stored->nexternals = (uint32_t)H5Pget_external_count(plist);
    for (uint32_t i = 0; i < stored->nexternals && left > 0; i++) {
        struct external external;
        TRY(external_read(plist, i, stored->home, &left, &path, &external));
        stored->is_beside |= strcmp(path.data, external.name) != 0;
        TRY(depot_note(noting, path.data, SOURCE_EXTERNAL, stored->home));
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
    stored->space = H5Dget_space(stored->dataset);
    stored->rank = H5Sget_simple_extent_dims(stored->space, stored->dims, NULL);
    H5_TRY(stored->rank, "%s: %s has no shape", stored->path, stored->name);
    stored->layout = H5Pget_layout(plist);
    st = check_filters(plist, stored);
    noting->depot->is_hard |= st != STATUS_OK;
    TRY(st);
    if (stored->layout == H5D_CHUNKED) {
        TRY(stored_look_at_chunks(plist, stored));
    } else if (stored->layout == H5D_VIRTUAL) {
        TRY(mappings_load(stored->dataset, stored->home, &stored->mappings));
    } else if (stored->layout == H5D_CONTIGUOUS && H5Pget_external_count(plist) > 0) {
        TRY(stored_look_at_externals(plist, noting));
    }
out:
    h5_close(plist);
    return st;
}

static status_t stored_open_dataset(const struct noting *noting, int is_beside)
{
    status_t st = STATUS_OK;
    enum { SLOTS = 12421, LEAST_CACHE = 1 << 20 };
    struct stored *stored = noting->stored;
    struct noting copy = *noting;
    int is_there = 0;
    hid_t file = -1;
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    /* Neighbouring reads meet in chunks: keep them, or they are decompressed twice. The policy 0
     * matters: with another, HDF5 keeps chunks of which only a part was read beyond all bounds. */
    H5Pset_chunk_cache(access, SLOTS, (size_t)max_u64(noting->depot->spec.cache_bytes, LEAST_CACHE),
                       0);
    if (is_beside) {
        H5Pset_efile_prefix(access, "${ORIGIN}");
    }
    TRY(h5_open_file(stored->path, &file));
    struct links_request request = {file,  stored->path, stored->name, depot_note_linked,
                                    &copy, access};
    TRY(links_open(&request, &stored->dataset, &is_there));
    REQUIRE(is_there && H5Iget_type(stored->dataset) == H5I_DATASET, STATUS_DATA,
            "%s holds no dataset %s", stored->path, stored->name);
out:
    h5_close(access);
    h5_close(file);
    return st;
}

/* `from` is the file of the virtual dataset that it is a source of; NULL: it is none. */
static status_t stored_open(depot_t *depot, const char *path, const char *name, const char *from,
                            struct stored **out)
{
    status_t st = STATUS_OK;
    struct stored *stored = NULL;
    struct noting noting = {.depot = depot};
    TRY(memory_zeroed(1, sizeof *stored, "a dataset", &stored));
    noting.stored = stored;
    stored->dataset = stored->space = -1;
    TRY(memory_text(path, &stored->path));
    TRY(memory_text(name, &stored->name));
    TRY(depot_note(&noting, path, from ? SOURCE_VIRTUAL : SOURCE_NAMED, from));
    TRY(stored_open_dataset(&noting, 0));
    TRY(stored_look(&noting));
    if (stored->is_beside && !depot->spec.found) {
        h5_close(stored->dataset);
        stored->dataset = -1;
        TRY(stored_open_dataset(&noting, 1));
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

/* One that is open, or a place for it: the least recently used one closes. */
static uint32_t depot_place(depot_t *depot, const char *path, const char *name)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < MOST_OPEN; i++) {
        const struct stored *at = depot->open[i];
        const struct stored *before = oldest ? depot->open[oldest] : NULL;
        if (at && strcmp(at->path, path) == 0 && strcmp(at->name, name) == 0) {
            return i;
        }
        if (!at || at->pins == 0) {
            oldest = !oldest || (before && (!at || at->used < before->used)) ? i : oldest;
        }
    }
    return oldest; /* there are more places than levels */
}

status_t depot_take(depot_t *depot, const struct stored *by, const struct mapping *mapping,
                    struct stored **out)
{
    status_t st = STATUS_OK;
    const char *path = mapping->path;
    const char *name = mapping->name;
    uint32_t at = depot_place(depot, path, name);
    struct stored *stored = depot->open[at];
    if (!stored || strcmp(stored->path, path) != 0 || strcmp(stored->name, name) != 0) {
        TRY(stored_check(depot, stored));
        stored_free(stored);
        depot->open[at] = NULL;
        TRY(stored_open(depot, path, name, by->home, &depot->open[at]));
        stored = depot->open[at];
    }
    REQUIRE(depot->depth < MOST_DEPTH, STATUS_DATA,
            "%s: its %s has sources of sources, more than %d levels deep", path, name, MOST_DEPTH);
    for (uint32_t i = 0; i < MOST_OPEN; i++) {
        const struct stored *other = depot->open[i];
        REQUIRE(!other || other->pins == 0 || other->address != stored->address ||
                    !identity_is_same_file(&other->identity, &stored->identity),
                STATUS_DATA, "%s: its %s refers to itself", path, name);
    }
    stored->used = ++depot->clock;
    stored->is_touched = 1;
    stored->pins++;
    depot->depth++;
    *out = stored;
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

status_t depot_open(const struct depot_spec *spec, depot_t **out)
{
    status_t st = STATUS_OK;
    depot_t *depot = NULL;
    TRY(memory_zeroed(1, sizeof *depot, "a dataset", &depot));
    depot->spec = *spec;
    TRY(stored_open(depot, spec->path, spec->name, NULL, &depot->open[0]));
    depot->open[0]->pins = 1;
    *out = depot;
    depot = NULL;
out:
    depot_close(depot);
    return st;
}

void depot_close(depot_t *depot)
{
    for (uint32_t i = 0; depot && i < MOST_OPEN; i++) {
        stored_free(depot->open[i]);
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
