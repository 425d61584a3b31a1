/* A dataset and the sources behind it, open as long as they are used. */
#include "base/memory.h"
#include "input/hdf5/stored_parts.h"

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

/* Where the source of a mapping is open; 0: it is not. */
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

/* Closes sources, or only such as keep chunks, the least recently used first, until no more than
 * `most` are open and no more than `bytes` are kept, or all others are in use. */
static status_t depot_shrink(depot_t *depot, uint32_t most, uint64_t bytes)
{
    status_t st = STATUS_OK;
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
            goto out;
        }
        TRY(stored_check(depot, depot->open[oldest]));
        depot->kept -= depot->open[oldest]->source.kept;
        depot->nopen--;
        stored_free(depot->open[oldest]);
        depot->open[oldest] = NULL;
    }
out:
    return st;
}

static status_t depot_find_slot(depot_t *depot, uint32_t *out)
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

static status_t depot_open_source(depot_t *depot, const struct stored *by, struct mapping *mapping)
{
    status_t st = STATUS_OK;
    struct stored *stored = NULL;
    uint32_t slot = 0;
    TRY(depot_shrink(depot, depot->most - 1, UINT64_MAX));
    TRY(depot_find_slot(depot, &slot));
    st = stored_open(depot, by, mapping, &stored);
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
    TRY(depot_shrink(depot, UINT32_MAX, depot_budget(depot)));
out:
    return st;
}

void depot_give(depot_t *depot, struct stored *stored)
{
    if (stored) {
        stored->source.pins--;
        depot->depth--;
    }
}

/* Sources take half of the descriptors that there are, but some must do. */
static uint32_t depot_most(void)
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
    depot->most = depot_most();
    TRY(depot_find_slot(depot, &slot));
    TRY(stored_open(depot, NULL, NULL, &depot->open[slot]));
    depot->open[slot]->source.pins = 1;
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
