/* Elements of a dataset that no one has written, or that nobody can open: what HDF5 would give as
 * fill values. */
#include "archive/storage/stored_parts.h"
#include "base/memory.h"
#include "io/apart/apart.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_CHUNKS = 1 << 24, /* that are looked for one by one */
    MOST_BOXES = 1 << 16,
    TELL_EVERY = 1 << 16
};

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
static status_t stored_lost_add(struct lost_pieces *lost, hid_t space, const char *why)
{
    status_t st = STATUS_OK;
    struct lost_piece *grown = realloc(lost->items, ((size_t)lost->count + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: what is lost of an archive");
    lost->items = grown;
    grown[lost->count] = (struct lost_piece){.space = space, .why = NULL};
    space = -1;
    lost->count++;
    TRY(memory_text(why, &grown[lost->count - 1].why));
out:
    h5_close(space);
    return st;
}

/* `name` with a / in front. */
static const char *stored_slash(const char *name)
{
    return *name == '/' ? "" : "/";
}

static status_t stored_lost_add_all(struct stored *stored, const char *what)
{
    status_t st = STATUS_OK;
    struct text why = {0};
    hid_t space = H5Scopy(stored->space);
    H5_TRY(space, "%s: %s has no shape", stored->path, stored->name);
    H5_TRY(stored->rank > 0 ? H5Sselect_all(space) : 0, "%s: %s has no shape", stored->path,
           stored->name);
    TRY(text_add(&why, "%s: %s%s %s", stored->path, stored_slash(stored->name), stored->name,
                 what));
    hid_t given = space;
    space = -1;
    TRY(stored_lost_add(&stored->lost, given, why.data));
out:
    h5_close(space);
    text_free(&why);
    return st;
}

/* Boxes of chunks. */
struct boxes {
    struct box {
        hsize_t start[H5S_MAX_RANK], count[H5S_MAX_RANK];
    } * items;
    size_t count;
    int rank;
    hsize_t grid[H5S_MAX_RANK]; /* chunks along each dimension */
};

static status_t stored_boxes_add(struct boxes *boxes, const hsize_t *start, const hsize_t *count,
                                 const struct stored *stored)
{
    status_t st = STATUS_OK;
    REQUIRE(boxes->count < MOST_BOXES, STATUS_DATA,
            "%s: %s has more than %d scattered chunks that were never written", stored->path,
            stored->name, MOST_BOXES);
    struct box *grown = realloc(boxes->items, (boxes->count + 1) * sizeof *grown);
    REQUIRE(grown, STATUS_DEVICE, "out of memory: what is lost of %s", stored->path);
    boxes->items = grown;
    struct box *box = &grown[boxes->count++];
    for (int i = 0; i < boxes->rank; i++) {
        box->start[i] = start[i] * stored->chunk[i];
        hsize_t end = (start[i] + count[i]) * stored->chunk[i];
        box->count[i] = min_u64(end, stored->dims[i]) - box->start[i];
    }
out:
    return st;
}

/* Chunks low .. high - 1, counted with the last dimension fastest, in as few boxes as may be. */
static status_t stored_boxes_add_run(struct boxes *boxes, uint64_t low, uint64_t high,
                                     const struct stored *stored)
{
    status_t st = STATUS_OK;
    while (low < high) {
        hsize_t start[H5S_MAX_RANK] = {0};
        hsize_t count[H5S_MAX_RANK] = {0};
        uint64_t at = low;
        uint64_t unit = 1;
        int d = boxes->rank - 1;
        for (int i = boxes->rank; i-- > 0;) {
            start[i] = at % boxes->grid[i];
            count[i] = 1;
            at /= boxes->grid[i];
        }
        /* As many dimensions at once as begin here and end before `high`. */
        while (d > 0 && start[d] == 0 && unit * boxes->grid[d] <= high - low) {
            count[d] = boxes->grid[d];
            unit *= boxes->grid[d];
            d--;
        }
        count[d] = min_u64((high - low) / unit, boxes->grid[d] - start[d]);
        TRY(stored_boxes_add(boxes, start, count, stored));
        low += count[d] * unit;
    }
out:
    return st;
}

/* Selects boxes from .. to - 1: halves at a time, which is faster than one by one. */
static status_t stored_boxes_select(const struct boxes *boxes, size_t from, size_t to,
                                    const struct stored *stored, hid_t *out)
{
    status_t st = STATUS_OK;
    hid_t left = -1;
    hid_t right = -1;
    if (to - from == 1) {
        left = H5Screate_simple(boxes->rank, stored->dims, NULL);
        H5_TRY(H5Sselect_hyperslab(left, H5S_SELECT_SET, boxes->items[from].start, NULL,
                                   boxes->items[from].count, NULL),
               "%s: a chunk of %s cannot be selected", stored->path, stored->name);
    } else {
        size_t middle = from + (to - from) / 2;
        TRY(stored_boxes_select(boxes, from, middle, stored, &left));
        TRY(stored_boxes_select(boxes, middle, to, stored, &right));
        H5_TRY(H5Smodify_select(left, H5S_SELECT_OR, right), "%s: chunks of %s cannot be selected",
               stored->path, stored->name);
    }
    *out = left;
    left = -1;
out:
    h5_close(left);
    h5_close(right);
    return st;
}

static status_t stored_has_chunk(const struct stored *stored, const struct boxes *boxes,
                                 uint64_t number, int *has)
{
    status_t st = STATUS_OK;
    hsize_t offset[H5S_MAX_RANK];
    hsize_t bytes = 0;
    for (int i = boxes->rank; i-- > 0;) {
        offset[i] = number % boxes->grid[i] * stored->chunk[i];
        number /= boxes->grid[i];
    }
    herr_t status = H5Dget_chunk_storage_size(stored->dataset, offset, &bytes);
    /* How HDF5 1.10 says it; later ones give 0. */
    if (status < 0 && !h5_failed_for("chunk storage is not allocated")) {
        H5_TRY(status, "%s: the chunks of %s cannot be looked up", stored->path, stored->name);
    }
    *has = bytes > 0;
out:
    return st;
}

static status_t stored_boxes_find(const struct stored *stored, uint64_t chunks, struct boxes *boxes)
{
    status_t st = STATUS_OK;
    uint64_t since = 0; /* the first of the run that is missing */
    for (uint64_t i = 0; i <= chunks; i++) {
        int has = 1;
        if (i % TELL_EVERY == 0) {
            apart_at("%s", stored->home); /* many are no sign of damage */
        }
        TRY(i < chunks ? stored_has_chunk(stored, boxes, i, &has) : STATUS_OK);
        if (has) {
            TRY(stored_boxes_add_run(boxes, since, i, stored));
            since = i + 1;
        }
    }
out:
    return st;
}

static status_t stored_find_lost_chunks(struct stored *stored)
{
    status_t st = STATUS_OK;
    struct boxes boxes = {.rank = stored->rank};
    struct text why = {0};
    hsize_t written = 0;
    uint64_t chunks = 1;
    hid_t space = -1;
    H5_TRY(H5Dget_num_chunks(stored->dataset, stored->space, &written),
           "%s: the chunks of %s cannot be counted", stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        boxes.grid[i] = ceil_div_u64(stored->dims[i], stored->chunk[i]);
        REQUIRE(multiply_u64(chunks, boxes.grid[i], &chunks), STATUS_DATA,
                "%s: %s has an absurd number of chunks", stored->path, stored->name);
    }
    if (written == 0) {
        TRY(stored_lost_add_all(stored, "was never written"));
        goto out;
    }
    if (written >= chunks) {
        goto out;
    }
    REQUIRE(chunks <= MOST_CHUNKS, STATUS_DATA,
            "%s: of the %llu chunks of %s, only %llu were ever written", stored->path,
            (unsigned long long)chunks, stored->name, (unsigned long long)written);
    TRY(stored_boxes_find(stored, chunks, &boxes));
    if (boxes.count > 0) {
        TRY(text_add(&why, "%s: chunks of %s%s were never written", stored->path,
                     stored_slash(stored->name), stored->name));
        TRY(stored_boxes_select(&boxes, 0, boxes.count, stored, &space));
        hid_t given = space;
        space = -1;
        TRY(stored_lost_add(&stored->lost, given, why.data));
    }
out:
    h5_close(space);
    text_free(&why);
    free(boxes.items);
    return st;
}

/* In one piece of the file. */
static status_t stored_find_lost_contiguous(struct stored *stored)
{
    status_t st = STATUS_OK;
    hid_t type = H5Dget_type(stored->dataset);
    uint64_t bytes = 0;
    haddr_t offset = h5_offset(stored->dataset);
    H5_TRY(type, "%s: %s has no type", stored->path, stored->name);
    REQUIRE(multiply_u64((uint64_t)H5Sget_simple_extent_npoints(stored->space), H5Tget_size(type),
                         &bytes),
            STATUS_DATA, "%s: the size of %s is absurd", stored->path, stored->name);
    if (offset == HADDR_UNDEF) {
        TRY(stored_lost_add_all(stored, "was never written"));
        goto out;
    }
    REQUIRE(offset <= stored->identity.bytes && stored->identity.bytes - offset >= bytes,
            STATUS_DATA,
            "%s is truncated: its dataset declares %llu bytes from offset %llu, but it ends at "
            "%llu",
            stored->home, (unsigned long long)bytes, (unsigned long long)offset,
            (unsigned long long)stored->identity.bytes);
out:
    h5_close(type);
    return st;
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
    status_t st = STATUS_OK;
    hid_t mine = H5Dget_type(stored->dataset);
    hid_t theirs = H5Dget_type(source->dataset);
    H5_TRY(mine, "%s: %s has no type", stored->path, stored->name);
    H5_TRY(theirs, "%s: %s has no type", source->path, source->name);
    REQUIRE(stored_type_fits(theirs, mine), STATUS_DATA,
            "its %s holds elements of another type, which do not fit those of %s", source->name,
            stored->name);
out:
    h5_close(mine);
    h5_close(theirs);
    return st;
}

static status_t stored_search(depot_t *depot, struct stored *stored);

/* What the source has not, as it lies in the virtual dataset. */
static status_t stored_map_lost(struct stored *stored, const struct mapping *mapping,
                                const struct lost_pieces *lost)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < lost->count; i++) {
        hid_t here =
            H5Sselect_project_intersection(mapping->there, mapping->here, lost->items[i].space);
        H5_TRY(here, "%s: what is lost of %s cannot be selected", mapping->path, mapping->name);
        if (H5Sget_select_npoints(here) > 0) {
            TRY(stored_lost_add(&stored->lost, here, lost->items[i].why));
        } else {
            h5_close(here);
        }
    }
out:
    return st;
}

static status_t stored_search_source(depot_t *depot, struct stored *stored, struct mapping *mapping)
{
    status_t st = STATUS_OK;
    struct stored *source = NULL;
    TRY(depot_take(depot, stored, mapping, &source));
    TRY(stored_check_type(stored, source));
    TRY(mapping_settle(mapping, source->space));
    TRY(stored_search(depot, source));
    mapping->row_bytes = source->row_bytes;
    TRY(stored_map_lost(stored, mapping, &source->lost));
out:
    depot_give(depot, source);
    return st;
}

/* The source cannot be read: its elements are lost, and so it is noted. */
static status_t stored_note_absent(depot_t *depot, struct stored *stored,
                                   const struct mapping *mapping, const char *cause)
{
    status_t st = STATUS_OK;
    struct storage *storage = depot->spec.found;
    struct text key = {0};
    struct text why = {0};
    size_t length = strlen(mapping->path);
    if (strncmp(cause, mapping->path, length) == 0) {
        cause += length + strspn(cause + length, ": ");
    }
    TRY(text_add(&why, "source %s of its virtual dataset: %s", mapping->path, cause));
    TRY(stored_lost_add(&stored->lost, H5Scopy(mapping->here), why.data));
    TRY(storage_key(mapping->path, mapping->name, &key));
    if (!storage_is_absent(storage, key.data)) {
        char **grown = realloc(storage->absent, (storage->nabsent + 1) * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: absent sources");
        storage->absent = grown;
        grown[storage->nabsent++] = key.data;
        key = (struct text){0};
    }
out:
    text_free(&key);
    text_free(&why);
    return st;
}

static status_t stored_search_mapping(depot_t *depot, struct stored *stored,
                                      struct mapping *mapping)
{
    status_t st = STATUS_OK;
    char *cause = NULL;
    if (H5Sget_select_npoints(mapping->here) == 0) {
        goto out;
    }
    st = stored_search_source(depot, stored, mapping);
    if (st == STATUS_DATA && !depot->is_hard) {
        TRY(memory_text(report_cause(), &cause));
        report_clear();
        TRY(stored_note_absent(depot, stored, mapping, cause));
    }
out:
    free(cause);
    return st;
}

/* Elements of mappings from .. to - 1. */
static status_t stored_select_mapped(const struct stored *stored, size_t from, size_t to,
                                     hid_t *out)
{
    status_t st = STATUS_OK;
    hid_t left = -1;
    hid_t right = -1;
    if (to - from == 1) {
        left = H5Scopy(stored->mappings.items[from].here);
        H5_TRY(left, "%s: a mapping of %s cannot be copied", stored->path, stored->name);
    } else {
        size_t middle = from + (to - from) / 2;
        TRY(stored_select_mapped(stored, from, middle, &left));
        TRY(stored_select_mapped(stored, middle, to, &right));
        if (H5Sget_select_npoints(left) == 0) {
            hid_t empty = left;
            left = right;
            right = empty;
        } else if (H5Sget_select_npoints(right) > 0) {
            H5_TRY(H5Smodify_select(left, H5S_SELECT_OR, right),
                   "%s: the mappings of %s cannot be joined", stored->path, stored->name);
        }
    }
    *out = left;
    left = -1;
out:
    h5_close(left);
    h5_close(right);
    return st;
}

/* Elements that no mapping gives. */
static status_t stored_find_unmapped(struct stored *stored)
{
    status_t st = STATUS_OK;
    struct text why = {0};
    hid_t mapped = -1;
    hid_t rest = -1;
    const hsize_t zeros[H5S_MAX_RANK] = {0};
    if (stored->mappings.count == 0) {
        TRY(stored_lost_add_all(stored, "is a virtual dataset without sources"));
        goto out;
    }
    TRY(stored_select_mapped(stored, 0, stored->mappings.count, &mapped));
    rest = H5Screate_simple(stored->rank, stored->dims, NULL);
    H5_TRY(H5Sselect_hyperslab(rest, H5S_SELECT_SET, zeros, NULL, stored->dims, NULL),
           "%s: %s cannot be selected", stored->path, stored->name);
    if (H5Sget_select_npoints(mapped) > 0) {
        H5_TRY(H5Smodify_select(rest, H5S_SELECT_NOTB, mapped),
               "%s: the mappings of %s cannot be joined", stored->path, stored->name);
    }
    if (H5Sget_select_npoints(rest) > 0) {
        TRY(text_add(&why, "%s: %s%s is a virtual dataset that has no source for them",
                     stored->path, stored_slash(stored->name), stored->name));
        hid_t given = rest;
        rest = -1;
        TRY(stored_lost_add(&stored->lost, given, why.data));
    }
out:
    h5_close(mapped);
    h5_close(rest);
    text_free(&why);
    return st;
}

static status_t stored_search(depot_t *depot, struct stored *stored)
{
    status_t st = STATUS_OK;
    if (stored->is_searched || H5Sget_simple_extent_npoints(stored->space) <= 0) {
        goto out;
    }
    if (stored->layout == H5D_CHUNKED) {
        TRY(stored_find_lost_chunks(stored));
    } else if (stored->layout == H5D_CONTIGUOUS && stored->nexternals == 0) {
        TRY(stored_find_lost_contiguous(stored));
    } else if (stored->layout == H5D_VIRTUAL) {
        for (size_t i = 0; i < stored->mappings.count; i++) {
            TRY(stored_search_mapping(depot, stored, &stored->mappings.items[i]));
        }
        TRY(stored_find_unmapped(stored));
        TRY(stored_source_row(stored, &stored->row_bytes));
    }
    depot->chunk_bytes = max_u64(depot->chunk_bytes, stored->chunk_bytes);
    stored->is_searched = 1;
out:
    return st;
}

status_t depot_search(depot_t *depot, struct depot_found *out)
{
    status_t st = STATUS_OK;
    struct stored *root = depot->open[0];
    TRY(stored_search(depot, root));
    out->lost = root->lost;
    root->lost = (struct lost_pieces){NULL, 0};
    out->chunk_bytes = depot->chunk_bytes;
    out->row_bytes = max_u64(root->row_bytes, depot->chunk_bytes);
out:
    return st;
}

status_t stored_require_whole(const char *path, const char *name, struct storage *storage)
{
    status_t st = STATUS_OK;
    depot_t *depot = NULL;
    struct depot_found found = {.chunk_bytes = 0};
    const struct depot_spec spec = {.path = path, .name = name, .found = storage};
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    REQUIRE(found.lost.count == 0, STATUS_DATA, "%s: %s%s has elements that cannot be had: %s",
            path, stored_slash(name), name, found.lost.items[0].why);
out:
    lost_pieces_free(&found.lost);
    depot_close(depot);
    return st;
}
