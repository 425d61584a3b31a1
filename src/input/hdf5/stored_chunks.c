/* Chunks of a dataset that were never written: HDF5 would give fill values for them. */
#include "base/memory.h"
#include "input/hdf5/joined.h"
#include "input/hdf5/stored_parts.h"
#include "io/apart.h"
#include "io/hdf5/h5_dataset.h"

enum {
    MOST_CHUNKS = 1 << 24, /* that are looked for one by one */
    MOST_BOXES = 1 << 16,
    TELL_EVERY = 1 << 16
};

/* Chunks that are not there, in boxes. */
struct missing {
    struct joined boxes;
    size_t count;
    hsize_t grid[H5S_MAX_RANK]; /* chunks along each dimension */
    h5_places_t *places;        /* of chunks, of a file that ends early */
};

static status_t chunks_add_box(struct missing *missing, const hsize_t *start, const hsize_t *count,
                               const struct stored *stored)
{
    status_t st = STATUS_OK;
    hsize_t first[H5S_MAX_RANK];
    hsize_t size[H5S_MAX_RANK];
    hid_t box = -1;
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
    hid_t given = box;
    box = -1;
    TRY(joined_add(&missing->boxes, given));
out:
    h5_close(box);
    return st;
}

/* Chunks low .. high - 1, counted with the last dimension fastest, in as few boxes as may be. */
static status_t chunks_add_run(struct missing *missing, uint64_t low, uint64_t high,
                               const struct stored *stored)
{
    status_t st = STATUS_OK;
    while (low < high) {
        hsize_t start[H5S_MAX_RANK] = {0};
        hsize_t count[H5S_MAX_RANK] = {0};
        uint64_t at = low;
        uint64_t unit = 1;
        int d = stored->rank - 1;
        for (int i = stored->rank; i-- > 0;) {
            start[i] = at % missing->grid[i];
            count[i] = 1;
            at /= missing->grid[i];
        }
        /* As many dimensions at once as begin here and end before `high`. */
        while (d > 0 && start[d] == 0 && unit * missing->grid[d] <= high - low) {
            count[d] = missing->grid[d];
            unit *= missing->grid[d];
            d--;
        }
        count[d] = min_u64((high - low) / unit, missing->grid[d] - start[d]);
        TRY(chunks_add_box(missing, start, count, stored));
        low += count[d] * unit;
    }
out:
    return st;
}

static status_t chunks_has(const struct stored *stored, const struct missing *missing,
                           uint64_t number, int *has)
{
    status_t st = STATUS_OK;
    hsize_t offset[H5S_MAX_RANK];
    hsize_t bytes = 0;
    for (int i = stored->rank; i-- > 0;) {
        offset[i] = number % missing->grid[i] * stored->chunk[i];
        number /= missing->grid[i];
    }
    if (missing->places) {
        struct h5_place place;
        TRY(h5_places_find(missing->places, offset, &place));
        *has = place.bytes > 0 && place.bytes <= stored->identity.bytes &&
               place.offset <= stored->identity.bytes - place.bytes;
        goto out;
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

static status_t chunks_find(const struct stored *stored, uint64_t chunks, struct missing *missing)
{
    status_t st = STATUS_OK;
    uint64_t since = 0; /* the first of the run that is missing */
    for (uint64_t i = 0; i <= chunks; i++) {
        int has = 1;
        if (i % TELL_EVERY == 0) {
            apart_at("%s", stored->home); /* many are no sign of damage */
        }
        TRY(i < chunks ? chunks_has(stored, missing, i, &has) : STATUS_OK);
        if (has) {
            TRY(chunks_add_run(missing, since, i, stored));
            since = i + 1;
        }
    }
out:
    return st;
}

static int stored_is_cut(const struct stored *stored)
{
    hid_t file = H5Iget_file_id(stored->dataset);
    int is_cut = h5_is_cut(file, stored->identity.bytes);
    h5_close(file);
    return is_cut;
}

status_t stored_find_lost_chunks(struct stored *stored)
{
    status_t st = STATUS_OK;
    struct missing missing = {.count = 0};
    hsize_t written = 0;
    uint64_t chunks = 1;
    hid_t space = -1;
    joined_begin(&missing.boxes, stored->path);
    H5_TRY(H5Dget_num_chunks(stored->dataset, stored->space, &written),
           "%s: the chunks of %s cannot be counted", stored->path, stored->name);
    for (int i = 0; i < stored->rank; i++) {
        missing.grid[i] = ceil_div_u64(stored->dims[i], stored->chunk[i]);
        REQUIRE(multiply_u64(chunks, missing.grid[i], &chunks), STATUS_DATA,
                "%s: %s has an absurd number of chunks", stored->path, stored->name);
    }
    if (written == 0) {
        TRY(stored_lose(stored, -1, "", "was never written"));
        goto out;
    }
    int is_cut = stored_is_cut(stored);
    if (written >= chunks && !is_cut) {
        goto out;
    }
    TRY(is_cut ? h5_places_open(stored->home, stored->address, &missing.places) : STATUS_OK);
    REQUIRE(chunks <= MOST_CHUNKS, STATUS_DATA,
            "%s: of the %llu chunks of %s, only %llu were ever written", stored->path,
            (unsigned long long)chunks, stored->name, (unsigned long long)written);
    TRY(chunks_find(stored, chunks, &missing));
    TRY(joined_end(&missing.boxes, &space));
    if (space >= 0) {
        hid_t given = space;
        space = -1;
        TRY(stored_lose(stored, given, "chunks of ",
                        is_cut ? "were never written, or lie behind the end of the file, which is "
                                 "truncated"
                               : "were never written"));
    }
out:
    joined_free(&missing.boxes);
    h5_places_close(missing.places);
    h5_close(space);
    return st;
}
