/* Elements of a dataset that were never written, or that cannot be opened: HDF5 would return fill
 * values. */
#include "input/hdf5/stored_parts.h"

#include "base/memory.h"
#include "io/apart.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Unions of selections, joined pair by pair. */

/* Selections not yet joined: number i holds 2^i of those that were added, or is below 0. Joining
 * equal numbers of them takes less time than adding one by one to a growing whole. */
struct joined {
    const char *where; /* for messages */
    hid_t parts[48];
};

enum { PARTS = sizeof((struct joined *)0)->parts / sizeof(hid_t) };

static void joined_begin(struct joined *joined, const char *where)
{
    joined->where = where;
    for (int i = 0; i < PARTS; i++) {
        joined->parts[i] = -1;
    }
}

/* *into = *into or from; takes `from`. An empty selection cannot be joined with another. */
static status_t joined_unite(const struct joined *joined, hid_t *into, hid_t given)
{
    SCOPED(h5_close_at) hid_t from = given;
    if (*into < 0 || H5Sget_select_npoints(*into) == 0) {
        h5_close(*into);
        *into = h5_move(&from);
    } else if (H5Sget_select_npoints(from) > 0) {
        H5_TRY(H5Smodify_select(*into, H5S_SELECT_OR, from), "%s: selections cannot be joined",
               joined->where);
    }
    return STATUS_OK;
}

/* Takes `space`, whatever comes. Fails with DATA or DEVICE. */
static status_t joined_add(struct joined *joined, hid_t given)
{
    SCOPED(h5_close_at) hid_t space = given;
    int i = 0;
    H5_TRY(space, "%s: elements cannot be selected", joined->where);
    for (; i < PARTS - 1 && joined->parts[i] >= 0; i++) {
        TRY(joined_unite(joined, &space, h5_move(&joined->parts[i])));
    }
    return joined_unite(joined, &joined->parts[i], h5_move(&space));
}

/* Gives all of them in *out, below 0 when there are none, and begins anew. joined_free() after any
 * failure. */
static status_t joined_end(struct joined *joined, hid_t *out)
{
    SCOPED(h5_close_at) hid_t whole = -1;
    for (int i = 0; i < PARTS; i++) {
        TRY(joined->parts[i] >= 0 ? joined_unite(joined, &whole, h5_move(&joined->parts[i]))
                                  : STATUS_OK);
    }
    *out = h5_move(&whole);
    return STATUS_OK;
}

static void joined_free(struct joined *joined)
{
    for (int i = 0; i < PARTS; i++) {
        h5_close(h5_move(&joined->parts[i]));
    }
}

enum {
    MOST_CHUNKS = 1 << 24, /* that are looked for one by one */
    MOST_BOXES = 1 << 16,
    TELL_EVERY = 1 << 16
};

/* Finds the largest box that begins at element `low` of a grid, counted with the last dimension
 * fastest, and holds none from `high` on. Returns its elements. */
static uint64_t box_begin(int rank, const hsize_t *sizes, uint64_t low, uint64_t high,
                          hsize_t *start, hsize_t *count)
{
    uint64_t at = low;
    uint64_t unit = 1;
    int d = rank - 1;
    for (int i = rank; i-- > 0;) {
        start[i] = at % sizes[i];
        count[i] = 1;
        at /= sizes[i];
    }
    /* As many dimensions at once as begin here and end before `high`. */
    while (d > 0 && start[d] == 0 && unit * sizes[d] <= high - low) {
        count[d] = sizes[d];
        unit *= sizes[d];
        d--;
    }
    count[d] = min_u64((high - low) / unit, sizes[d] - start[d]);
    return count[d] * unit;
}

/* Chunks that are not there, in boxes. */
struct missing {
    struct joined boxes;
    size_t count;
    hsize_t grid[H5S_MAX_RANK]; /* chunks along each dimension */
    h5_places_t *places;        /* of chunks, of a file that ends early */
};

/* Chunks of a dataset that were never written: HDF5 would give fill values for them. */

static status_t chunks_add_box(struct missing *missing, const hsize_t *start, const hsize_t *count,
                               const struct stored *stored)
{
    hsize_t first[H5S_MAX_RANK];
    hsize_t size[H5S_MAX_RANK];
    SCOPED(h5_close_at) hid_t box = -1;
    REQUIRE(missing->count++ < MOST_BOXES, STATUS_DATA,
            "%s: %s has more than %d scattered chunks that were never written", stored->path,
            stored->name, MOST_BOXES);
    for (int i = 0; i < stored->rank; i++) {
        first[i] = start[i] * stored->chunk[i];
        size[i] = min_u64((start[i] + count[i]) * stored->chunk[i], stored->dims[i]) - first[i];
    }
    box = H5Screate_simple(stored->rank, stored->dims, NULL);
    H5_TRY(H5Sselect_hyperslab(box, H5S_SELECT_SET, first, NULL, size, NULL),
           "%s: a chunk of %s cannot be selected", stored->path, stored->name);
    return joined_add(&missing->boxes, h5_move(&box));
}

static status_t chunks_has(const struct stored *stored, const struct missing *missing,
                           uint64_t number, int *has)
{
    hsize_t offset[H5S_MAX_RANK];
    hsize_t bytes = 0;
    h5_chunk_origin(number, stored->rank, stored->chunk, missing->grid, offset);
    if (missing->places) {
        struct h5_place place;
        TRY(h5_places_find(missing->places, offset, &place));
        *has = place.bytes > 0 && place.bytes <= stored->identity.bytes &&
               place.offset <= stored->identity.bytes - place.bytes;
        return STATUS_OK;
    }
    herr_t status = H5Dget_chunk_storage_size(stored->dataset, offset, &bytes);
    /* How HDF5 1.10 says it; later ones give 0. */
    if (status < 0 && !h5_failed_for("chunk storage is not allocated")) {
        H5_TRY(status, "%s: the chunks of %s cannot be looked up", stored->path, stored->name);
    }
    *has = bytes > 0;
    return STATUS_OK;
}

static status_t chunks_find(const struct stored *stored, uint64_t chunks, struct missing *missing)
{
    uint64_t since = 0; /* the first of the run that is missing */
    hsize_t start[H5S_MAX_RANK];
    hsize_t count[H5S_MAX_RANK];
    for (uint64_t i = 0; i <= chunks; i++) {
        int has = 1;
        if (i % TELL_EVERY == 0) {
            apart_at("%s", stored->home); /* many are no sign of damage */
        }
        TRY(i < chunks ? chunks_has(stored, missing, i, &has) : STATUS_OK);
        /* Counted with the last dimension fastest, in as few boxes as may be. */
        while (has && since < i) {
            since += box_begin(stored->rank, missing->grid, since, i, start, count);
            TRY(chunks_add_box(missing, start, count, stored));
        }
        since = has ? i + 1 : since;
    }
    return STATUS_OK;
}

static int stored_is_cut(const struct stored *stored)
{
    hid_t file = H5Iget_file_id(stored->dataset);
    int is_cut = h5_is_cut(file, stored->identity.bytes);
    h5_close(file);
    return is_cut;
}

/* Adds elements to the missing ones of a dataset; owns `space`, also when it fails. Fails with
 * DATA, DEVICE. */
static status_t stored_add_lost(struct lost_pieces *lost, hid_t given, const char *why)
{
    SCOPED(h5_close_at) hid_t space = given;
    TRY(memory_grown((size_t)lost->count + 1, sizeof *lost->items, "what is lost of an archive",
                     &lost->items));
    lost->items[lost->count] = (struct lost_piece){.space = h5_move(&space), .why = NULL};
    return memory_text(why, &lost->items[lost->count++].why);
}

/* Adds elements likewise, or all if `space` is below 0, with the reason "FILE: chunks of /NAME were
 * never written". */
static status_t stored_lose(struct stored *stored, hid_t given, const char *of, const char *what)
{
    SCOPED(h5_close_at) hid_t space = given;
    SCOPED(text_free) struct text why = {0};
    if (space < 0) {
        space = H5Scopy(stored->space);
        H5_TRY(space, "%s: %s has no shape", stored->path, stored->name);
        H5_TRY(stored->rank > 0 ? H5Sselect_all(space) : 0, "%s: %s has no shape", stored->path,
               stored->name);
    }
    TRY(text_add(&why, "%s: %s%s%s %s", stored->path, of, stored_slash(stored->name), stored->name,
                 what));
    return stored_add_lost(&stored->lost, h5_move(&space), why.data);
}

SCOPED_CALLS(missing_free, struct missing, joined_free(&at->boxes), h5_places_close(at->places))

static status_t stored_find_lost_chunks(struct stored *stored)
{
    SCOPED(missing_free) struct missing missing = {.count = 0};
    hsize_t written = 0;
    uint64_t chunks = 1;
    SCOPED(h5_close_at) hid_t space = -1;
    joined_begin(&missing.boxes, stored->path);
    H5_TRY(H5Dget_num_chunks(stored->dataset, stored->space, &written),
           "%s: the chunks of %s cannot be counted", stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        missing.grid[i] = ceil_div_u64(stored->dims[i], stored->chunk[i]);
        REQUIRE(multiply_u64(chunks, missing.grid[i], &chunks), STATUS_DATA,
                "%s: %s has an absurd number of chunks", stored->path, stored->name);
    }
    if (written == 0) {
        return stored_lose(stored, -1, "", "was never written");
    }
    int is_cut = stored_is_cut(stored);
    if (written >= chunks && !is_cut) {
        return STATUS_OK;
    }
    TRY(is_cut ? h5_places_open(stored->home, stored->address, &missing.places) : STATUS_OK);
    REQUIRE(chunks <= MOST_CHUNKS, STATUS_DATA,
            "%s: of the %llu chunks of %s, only %llu were ever written", stored->path,
            (unsigned long long)chunks, stored->name, (unsigned long long)written);
    TRY(chunks_find(stored, chunks, &missing));
    TRY(joined_end(&missing.boxes, &space));
    if (space >= 0) {
        TRY(stored_lose(
            stored, h5_move(&space), "chunks of ",
            is_cut ? "were never written, or lie behind the end of the file, which is truncated"
                   : "were never written"));
    }
    return STATUS_OK;
}

/* Elements first .. end - 1, counted with the last dimension fastest, but whole rows of all that
 * follows dimension `along`: who reads that in time reads whole steps. Takes as few boxes as may
 * be. */
static status_t stored_lose_range(struct stored *stored, uint64_t first, uint64_t end,
                                  const char *why)
{
    SCOPED(h5_close_at) hid_t space = -1;
    hsize_t start[H5S_MAX_RANK];
    hsize_t count[H5S_MAX_RANK];
    uint64_t row = 1;
    for (int i = stored->rank - 1; i > stored->along && stored->along >= 0; i--) {
        row *= stored->dims[i];
    }
    first -= first % row;
    end = ceil_div_u64(end, row) * row;
    while (first < end) {
        first += box_begin(stored->rank, stored->dims, first, end, start, count);
        space = H5Screate_simple(stored->rank, stored->dims, NULL);
        H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL),
               "%s: %s cannot be selected", stored->path, stored->name);
        TRY(stored_add_lost(&stored->lost, h5_move(&space), why));
    }
    return STATUS_OK;
}

/* Notes the elements whose bytes are after the end of a truncated file, for which HDF5 gives zeros.
 * `at`: the first byte of the dataset that is in the extent. */
static status_t stored_find_cut(struct stored *stored, const struct archive_extent *extent,
                                uint64_t at)
{
    struct stat info;
    SCOPED(free_at) char *why = NULL;
    int is_external = stored->nexternals > 0;
    REQUIRE(stat(extent->path, &info) == 0, STATUS_DATA, "%s: %s", extent->path, strerror(errno));
    uint64_t there = (uint64_t)info.st_size;
    there -= min_u64(there, extent->file_offset);
    if (there >= extent->bytes) {
        return STATUS_OK;
    }
    TRY(memory_format(
        &why, "%s is truncated: %s declares %llu bytes from offset %llu%s, but it ends at %llu",
        extent->path, is_external ? stored->home : "its dataset", (unsigned long long)extent->bytes,
        (unsigned long long)extent->file_offset, is_external ? " in it" : "",
        (unsigned long long)info.st_size));
    return stored_lose_range(stored, (at + there) / stored->element_bytes,
                             ceil_div_u64(at + extent->bytes, stored->element_bytes), why);
}

/* Finds lost elements of a contiguous dataset, which is in one or more pieces of files. */
static status_t stored_find_lost_contiguous(struct stored *stored)
{
    uint64_t at = 0;
    if (stored->nextents == 0 && stored->nexternals == 0) {
        TRY(stored_lose(stored, -1, "", "was never written"));
    }
    for (uint32_t i = 0; i < stored->nextents; i++) {
        TRY(stored_find_cut(stored, &stored->extents[i], at));
        at += stored->extents[i].bytes;
    }
    return STATUS_OK;
}

/* Numbers that lose nothing when they are read as those of the virtual dataset. */
static int stored_number_fits(hid_t source, hid_t wanted)
{
    H5T_class_t class = H5Tget_class(source);
    if (class != H5Tget_class(wanted) || H5Tget_size(source) > H5Tget_size(wanted)) {
        return 0;
    }
    return class == H5T_FLOAT ||
           (class == H5T_INTEGER && H5Tget_sign(source) == H5Tget_sign(wanted)) ||
           H5Tequal(source, wanted) > 0;
}

/* HDF5 matches the members of compounds by their names, and leaves out those it does not find. */
static int stored_type_fits(hid_t source, hid_t wanted)
{
    if (H5Tget_class(wanted) != H5T_COMPOUND || H5Tget_class(source) != H5T_COMPOUND) {
        return stored_number_fits(source, wanted);
    }
    int fits = H5Tget_nmembers(source) == H5Tget_nmembers(wanted);
    for (int i = 0; fits && i < H5Tget_nmembers(wanted); i++) {
        char *name = H5Tget_member_name(wanted, (unsigned)i);
        int at = name ? H5Tget_member_index(source, name) : -1;
        hid_t mine = H5Tget_member_type(wanted, (unsigned)i);
        hid_t theirs = at >= 0 ? H5Tget_member_type(source, (unsigned)at) : -1;
        fits = theirs >= 0 && stored_number_fits(theirs, mine);
        h5_close(mine);
        h5_close(theirs);
        H5free_memory(name);
    }
    return fits;
}

static status_t stored_check_type(const struct stored *stored, const struct stored *source)
{
    SCOPED(h5_close_at) hid_t mine = H5Dget_type(stored->dataset);
    SCOPED(h5_close_at) hid_t theirs = H5Dget_type(source->dataset);
    H5_TRY(mine, "%s: %s has no type", stored->path, stored->name);
    H5_TRY(theirs, "%s: %s has no type", source->path, source->name);
    return REQUIRED(stored_type_fits(theirs, mine), STATUS_DATA,
                    "its %s contains elements of another type, which do not fit those of %s",
                    source->name, stored->name);
}

static status_t stored_search(depot_t *depot, struct stored *stored);

/* Maps missing elements of the source to the virtual dataset. */
static status_t stored_map_lost(struct stored *stored, const struct mapping *mapping,
                                const struct lost_pieces *lost)
{
    for (uint32_t i = 0; i < lost->count; i++) {
        hid_t here =
            H5Sselect_project_intersection(mapping->there, mapping->here, lost->items[i].space);
        H5_TRY(here, "%s: what is lost of %s cannot be selected", mapping->path, mapping->name);
        if (H5Sget_select_npoints(here) > 0) {
            TRY(stored_add_lost(&stored->lost, here, lost->items[i].why));
        } else {
            h5_close(here);
        }
    }
    return STATUS_OK;
}

static status_t stored_search_source(depot_t *depot, struct stored *stored, struct mapping *mapping)
{
    status_t st = STATUS_OK;
    struct stored *source = NULL;
    TRY_OUT(depot_take(depot, stored, mapping, &source));
    TRY_OUT(stored_check_type(stored, source));
    TRY_OUT(mapping_settle(mapping, source->space));
    TRY_OUT(stored_search(depot, source));
    mapping->row_bytes = source->row_bytes;
    TRY_OUT(stored_map_lost(stored, mapping, &source->lost));
out:
    depot_give(depot, source);
    return st;
}

/* The source cannot be read: its elements are lost, and so it is noted. */
static status_t stored_note_absent(depot_t *depot, struct stored *stored,
                                   const struct mapping *mapping, const char *cause)
{
    struct storage *storage = depot->spec.found;
    SCOPED(text_free) struct text key = {0};
    SCOPED(text_free) struct text why = {0};
    size_t length = strlen(mapping->path);
    if (strncmp(cause, mapping->path, length) == 0) {
        cause += length + strspn(cause + length, ": ");
    }
    TRY(text_add(&why, "source %s of its virtual dataset: %s", mapping->path, cause));
    TRY(stored_add_lost(&stored->lost, H5Scopy(mapping->here), why.data));
    TRY(storage_key(mapping->path, mapping->name, &key));
    if (!storage_is_absent(storage, key.data)) {
        TRY(memory_grown(storage->nabsent + 1, sizeof *storage->absent, "absent sources",
                         &storage->absent));
        storage->absent[storage->nabsent++] = memory_move(&key.data);
    }
    return STATUS_OK;
}

static status_t stored_search_mapping(depot_t *depot, struct stored *stored,
                                      struct mapping *mapping)
{
    SCOPED(free_at) char *cause = NULL;
    if (H5Sget_select_npoints(mapping->here) == 0) {
        return STATUS_OK;
    }
    const status_t st = stored_search_source(depot, stored, mapping);
    if (st != STATUS_DATA || depot->is_hard) {
        return st;
    }
    TRY(memory_text(report_cause(), &cause));
    report_clear();
    return stored_note_absent(depot, stored, mapping, cause);
}

/* Elements that no mapping gives. */
static status_t stored_find_unmapped(struct stored *stored)
{
    SCOPED(joined_free) struct joined all = {0};
    SCOPED(h5_close_at) hid_t mapped = -1;
    SCOPED(h5_close_at) hid_t rest = -1;
    const hsize_t zeros[H5S_MAX_RANK] = {0};
    joined_begin(&all, stored->path);
    if (stored->mappings.count == 0) {
        return stored_lose(stored, -1, "", "is a virtual dataset without sources");
    }
    for (size_t i = 0; i < stored->mappings.count; i++) {
        TRY(joined_add(&all, H5Scopy(stored->mappings.items[i].here)));
    }
    TRY(joined_end(&all, &mapped));
    rest = H5Screate_simple(stored->rank, stored->dims, NULL);
    H5_TRY(H5Sselect_hyperslab(rest, H5S_SELECT_SET, zeros, NULL, stored->dims, NULL),
           "%s: %s cannot be selected", stored->path, stored->name);
    if (H5Sget_select_npoints(mapped) > 0) {
        H5_TRY(H5Smodify_select(rest, H5S_SELECT_NOTB, mapped),
               "%s: the mappings of %s cannot be joined", stored->path, stored->name);
    }
    if (H5Sget_select_npoints(rest) > 0) {
        TRY(stored_lose(stored, h5_move(&rest), "",
                        "is a virtual dataset that has no source for them"));
    }
    return STATUS_OK;
}

/* Chunks' worth of memory with which HDF5 undoes the filters of one. */
enum { HDF5_CHUNKS = 4 };

/* Bytes of the chunks that one step along a dataset touches: as much is worth keeping. */

/* From where to where a source is wanted. */
struct stretch {
    const struct mapping *mapping;
    uint64_t low, end, bytes;
};

/* Orders by source, because one source may have many mappings. */
static int stored_stretch_by_source(const void *left, const void *right)
{
    const struct mapping *a = ((const struct stretch *)left)->mapping;
    const struct mapping *b = ((const struct stretch *)right)->mapping;
    int order = strcmp(a->path, b->path);
    return order ? order : strcmp(a->name, b->name);
}

static size_t stored_stretches_join(struct stretch *stretches, size_t count)
{
    size_t kept = 0;
    qsort(stretches, count, sizeof *stretches, stored_stretch_by_source);
    for (size_t i = 0; i < count; i++) {
        struct stretch *last = kept > 0 ? &stretches[kept - 1] : NULL;
        if (last && stored_stretch_by_source(last, &stretches[i]) == 0) {
            last->low = min_u64(last->low, stretches[i].low);
            last->end = max_u64(last->end, stretches[i].end);
        } else {
            stretches[kept++] = stretches[i];
        }
    }
    return kept;
}

/* More bytes from here on, or less. */
struct step {
    uint64_t at, more, less;
};

static int stored_step_by_place(const void *left, const void *right)
{
    const struct step *a = left;
    const struct step *b = right;
    int order = (a->at > b->at) - (a->at < b->at);
    return order ? order : (b->less > 0) - (a->less > 0); /* ends come first */
}

/* Computes the bytes of the sources' chunks that one index along the dimension of reading touches,
 * at most. Fails with DEVICE (memory); *out is unchanged then. */
static status_t stored_source_row(const struct stored *stored, uint64_t *out)
{
    const struct mappings *mappings = &stored->mappings;
    SCOPED(free_at) struct stretch *stretches = NULL;
    SCOPED(free_at) struct step *steps = NULL;
    uint64_t now = 0;
    uint64_t most = 0;
    size_t count = 0;
    int d = stored->along;
    TRY(memory_zeroed(mappings->count + 1, sizeof *stretches, "sources", &stretches));
    for (size_t i = 0; i < mappings->count; i++) {
        const struct mapping *at = &mappings->items[i];
        if (at->row_bytes > 0) {
            stretches[count++] = (struct stretch){at, d < 0 ? 0 : at->low[d],
                                                  d < 0 ? 1 : at->high[d] + 1, at->row_bytes};
        }
    }
    count = stored_stretches_join(stretches, count);
    TRY(memory_zeroed(2 * count + 1, sizeof *steps, "sources", &steps));
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = min_u64(stretches[i].bytes, UINT64_MAX / 4 / count);
        steps[2 * i] = (struct step){stretches[i].low, bytes, 0};
        steps[2 * i + 1] = (struct step){stretches[i].end, 0, bytes};
    }
    qsort(steps, 2 * count, sizeof *steps, stored_step_by_place);
    for (size_t i = 0; i < 2 * count; i++) {
        now = now + steps[i].more - steps[i].less;
        most = max_u64(most, now);
    }
    *out = most;
    return STATUS_OK;
}

static status_t stored_search(depot_t *depot, struct stored *stored)
{
    if (stored->is_searched || H5Sget_simple_extent_npoints(stored->space) <= 0) {
        return STATUS_OK;
    }
    if (stored->layout == H5D_CHUNKED) {
        TRY(stored_find_lost_chunks(stored));
    } else if (stored->layout == H5D_CONTIGUOUS) {
        TRY(stored_find_lost_contiguous(stored));
    } else if (stored->layout == H5D_VIRTUAL) {
        for (size_t i = 0; i < stored->mappings.count; i++) {
            TRY(stored_search_mapping(depot, stored, &stored->mappings.items[i]));
        }
        TRY(stored_find_unmapped(stored));
        TRY(stored_source_row(stored, &stored->row_bytes));
    }
    depot->chunk_bytes = max_u64(depot->chunk_bytes, stored->chunk_bytes);
    depot->work_bytes =
        max_u64(depot->work_bytes, stored->is_own
                                       ? unfilter_work_bytes(&stored->filters, stored->chunk_bytes)
                                       : HDF5_CHUNKS * stored->chunk_bytes);
    stored->is_searched = 1;
    return STATUS_OK;
}

status_t depot_search(depot_t *depot, struct depot_found *out)
{
    /* Bytes that HDF5 takes to find the chunks of a dataset, or the sources of a virtual one:
     * measured with 2^14 to 2^20 chunks. Its caches have an end. */
    enum { MOST = 24 << 20, LEAST = 4 << 20, A_CHUNK = 128 };
    struct stored *root = depot->open[0];
    TRY(stored_search(depot, root));
    out->lost = root->lost;
    root->lost = (struct lost_pieces){NULL, 0};
    out->chunk_bytes = depot->chunk_bytes;
    out->work_bytes = depot->work_bytes;
    const uint64_t chunks = root->chunk_bytes > 0 ? root->bytes / root->chunk_bytes : 0;
    out->index_bytes = root->layout == H5D_VIRTUAL ? MOST : min_u64(MOST, LEAST + A_CHUNK * chunks);
    out->row_bytes = max_u64(root->row_bytes, depot->chunk_bytes);
    return STATUS_OK;
}

status_t stored_require_whole(const char *path, const char *name, struct storage *storage)
{
    SCOPED(depot_close_at) depot_t *depot = NULL;
    SCOPED(depot_found_free) struct depot_found found = {.chunk_bytes = 0};
    const struct depot_spec spec = {.path = path, .name = name, .found = storage};
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    return REQUIRED(found.lost.count == 0, STATUS_DATA,
                    "%s: %s%s has elements that are unreadable: %s", path, stored_slash(name), name,
                    found.lost.items[0].why);
}
