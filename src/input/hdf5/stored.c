/* One dataset, opened with all that leads to it: its files, shape, chunks, extents and mappings. */
#include "base/memory.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored_parts.h"
#include "io/hdf5/h5_versions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* Adds a piece; takes `space`, whatever comes. */
status_t stored_add_lost(struct lost_pieces *lost, hid_t space, const char *why)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&lost->items, lost->count, sizeof *lost->items, "what is lost of an archive"));
    lost->items[lost->count] = (struct lost_piece){.space = space, .why = NULL};
    space = -1;
    lost->count++;
    TRY(memory_text(why, &lost->items[lost->count - 1].why));
out:
    h5_close(space);
    return st;
}

status_t stored_lose(struct stored *stored, hid_t space, const char *of, const char *what)
{
    status_t st = STATUS_OK;
    struct text why = {0};
    if (space < 0) {
        space = H5Scopy(stored->space);
        H5_TRY(space, "%s: %s has no shape", stored->path, stored->name);
        H5_TRY(stored->rank > 0 ? H5Sselect_all(space) : 0, "%s: %s has no shape", stored->path,
               stored->name);
    }
    TRY(text_add(&why, "%s: %s%s%s %s", stored->path, of, stored_slash(stored->name), stored->name,
                 what));
    hid_t given = space;
    space = -1;
    TRY(stored_add_lost(&stored->lost, given, why.data));
out:
    h5_close(space);
    text_free(&why);
    return st;
}

const struct sources *depot_sources(const depot_t *depot)
{
    return depot->spec.found ? &depot->spec.found->sources : &depot->spec.storage->sources;
}

void stored_free(struct stored *stored)
{
    if (stored) {
        h5_close(stored->space);
        h5_close(stored->dataset);
        chunks_close(stored->chunks);
        mappings_free(&stored->mappings);
        lost_pieces_free(&stored->lost);
        h5_free_texts(stored->files, stored->nfiles);
        extents_free(stored->extents, stored->nextents);
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
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    const struct depot_spec *spec = &noting->depot->spec;
    TRY(spec->found ? sources_add(&spec->found->sources, path, kind, from)
                    : sources_check_path(&spec->storage->sources, path));
    TRY(memory_grow(&stored->files, stored->nfiles, sizeof *stored->files, "the files"));
    stored->files[stored->nfiles] = NULL;
    TRY(memory_text(path, &stored->files[stored->nfiles]));
    stored->nfiles++;
out:
    return st;
}

static status_t stored_note_linked(void *context, const char *path, const char *from)
{
    return stored_note(context, path, SOURCE_LINKED, from);
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

/* Shape and chunks. */
static status_t stored_look_at_chunks(hid_t plist, struct stored *stored)
{
    status_t st = STATUS_OK;
    uint64_t bytes = stored->element_bytes;
    H5_TRY(H5Pget_chunk(plist, H5S_MAX_RANK, stored->chunk), "%s: %s does not tell its chunks",
           stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        stored->chunk[i] = max_u64(stored->chunk[i], 1);
        bytes *= stored->chunk[i]; /* HDF5 keeps chunks below 4 GiB */
    }
    stored->chunk_bytes = bytes;
    stored->row_bytes = stored_chunk_row(stored);
out:
    return st;
}

static status_t stored_measure(struct stored *stored)
{
    status_t st = STATUS_OK;
    hid_t plist = H5Dget_create_plist(stored->dataset);
    hid_t type = H5Dget_type(stored->dataset);
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
    if (stored->layout == H5D_CHUNKED) {
        TRY(stored_look_at_chunks(plist, stored));
    }
out:
    h5_close(type);
    h5_close(plist);
    return st;
}

static status_t stored_add_extent(struct stored *stored, const char *path, uint64_t offset,
                                  uint64_t bytes)
{
    status_t st = STATUS_OK;
    TRY(memory_grow(&stored->extents, stored->nextents, sizeof *stored->extents, "extents"));
    stored->extents[stored->nextents] = (struct archive_extent){NULL, offset, bytes};
    TRY(memory_text(path, &stored->extents[stored->nextents++].path));
out:
    return st;
}

/* An external file, which is there; stored_find_lost_contiguous() sees whether it is as long as it
 * must be. *left are the bytes of the dataset that the ones before it do not hold. */
static status_t stored_look_at_external(hid_t plist, uint32_t index, const struct noting *noting,
                                        uint64_t *left)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    struct text path = {0};
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
    TRY(stored_add_extent(stored, path.data, (uint64_t)offset, bytes));
out:
    text_free(&path);
    return st;
}

/* Where the bytes of a contiguous dataset lie: in this file, or in external ones. */
static status_t stored_look_at_extents(hid_t plist, const struct noting *noting)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    uint64_t left = stored->bytes;
    haddr_t offset = h5_offset(stored->dataset);
    stored->nexternals = (uint32_t)H5Pget_external_count(plist);
    for (uint32_t i = 0; i < stored->nexternals && left > 0; i++) {
        TRY(stored_look_at_external(plist, i, noting, &left));
    }
    REQUIRE(left == 0 || stored->nexternals == 0, STATUS_DATA,
            "%s: the external files of %s hold %llu bytes less than its", stored->home,
            stored->name, (unsigned long long)left);
    if (offset != HADDR_UNDEF) {
        TRY(stored_add_extent(stored, stored->home, offset, stored->bytes));
    }
out:
    return st;
}

static status_t stored_look(const struct noting *noting)
{
    status_t st = STATUS_OK;
    struct stored *stored = noting->stored;
    hid_t plist = H5Dget_create_plist(stored->dataset);
    H5_TRY(plist, "%s: %s does not say how it is stored", stored->path, stored->name);
    TRY(stored_find_home(stored));
    H5_TRY(h5_address(stored->dataset, &stored->address), "%s: %s cannot be looked at",
           stored->path, stored->name);
    TRY(identity_of_path(stored->home, &stored->identity));
    st = stored_look_at_filters(plist, stored);
    noting->depot->is_hard |= st != STATUS_OK;
    TRY(st);
    if (stored->layout == H5D_VIRTUAL) {
        TRY(mappings_load(stored->dataset, stored->home, &stored->mappings));
    } else if (stored->layout == H5D_CONTIGUOUS) {
        TRY(stored_look_at_extents(plist, noting));
    }
out:
    h5_close(plist);
    return st;
}

uint64_t depot_budget(const depot_t *depot)
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
    TRY(stored_set_cache(stored, depot_budget(noting->depot), access));
    if (is_beside) {
        H5Pset_efile_prefix(access, "${ORIGIN}");
    }
    TRY(is_source ? h5_open_file(stored->path, &file) : h5_open_cut_file(stored->path, &file));
    struct links_request request = {file,  stored->path, stored->name, stored_note_linked,
                                    &copy, access};
    TRY(links_open(&request, &stored->dataset, &is_there));
    REQUIRE(is_there && H5Iget_type(stored->dataset) == H5I_DATASET, STATUS_DATA,
            "%s holds no dataset %s", stored->path, stored->name);
    TRY(stored_measure(stored));
    if (is_source && stored->chunk_bytes > 0 && !noting->depot->spec.found) {
        /* Many may be open: each keeps what it needs, which only now is known. */
        stored->source.kept = min_u64(stored->row_bytes, depot_budget(noting->depot));
        TRY(stored_set_cache(stored, stored->source.kept, access));
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
status_t stored_open(depot_t *depot, const struct stored *by, const struct mapping *mapping,
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
    TRY(stored_note(&noting, stored->path, mapping ? SOURCE_VIRTUAL : SOURCE_NAMED,
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
    for (uint32_t i = 0; stored && stored->source.is_touched && i < stored->nfiles; i++) {
        TRY(sources_check_path(depot_sources(depot), stored->files[i]));
    }
    if (stored) {
        stored->source.is_touched = 0;
    }
out:
    return st;
}
