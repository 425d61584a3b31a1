/* Reading a dataset through all that lies behind it. */
#include "base/memory.h"
#include "input/hdf5/stored_parts.h"
#include "io/file.h"

#include <stdlib.h>

/* HDF5 could not read it: because files are not what they were, or no more can be opened? */
static status_t stored_judge(depot_t *depot, const struct stored *stored)
{
    status_t st = STATUS_OK;
    for (uint32_t i = 0; i < stored->nfiles; i++) {
        int fd = -1;
        TRY(sources_check_path(depot_sources(depot), stored->files[i]));
        st = file_open_read(stored->files[i], &fd);
        file_close(fd);
        TRY(st);
    }
out:
    return st;
}

/* The same of a failure that is recorded: it stays one, that of samples, or another takes its
 * place.
 */
static status_t stored_blame(depot_t *depot, const struct stored *stored)
{
    status_t st = STATUS_OK;
    char *cause = NULL;
    TRY(memory_text(report_cause(), &cause));
    report_clear();
    TRY(stored_judge(depot, stored));
    depot->is_unreadable = 1;
    FAIL(STATUS_DATA, "%s", cause);
out:
    free(cause);
    return st;
}

static status_t stored_read_plain(depot_t *depot, struct stored *stored,
                                  const struct depot_read *read)
{
    status_t st = STATUS_OK;
    int is_done = 0;
    st = stored_read_chunks(depot, stored, read, &is_done);
    if (st == STATUS_DATA) {
        TRY(stored_blame(depot, stored));
    }
    TRY(st);
    if (!is_done && H5Dread(stored->dataset, read->type, read->memory, read->wanted, H5P_DEFAULT,
                            read->out) < 0) {
        TRY(stored_judge(depot, stored));
        st = h5_fail("%s: %s%s: %s cannot be read", stored->path, stored_slash(stored->name),
                     stored->name, read->what);
        depot->is_unreadable = st == STATUS_DATA;
    }
out:
    return st;
}

static status_t stored_read(depot_t *depot, struct stored *stored, const struct depot_read *read);

/* The elements of one mapping that are wanted, from its source. */
static status_t stored_read_mapping(depot_t *depot, const struct stored *stored,
                                    struct mapping *mapping, const struct depot_read *read)
{
    status_t st = STATUS_OK;
    struct text key = {0};
    struct stored *source = NULL;
    struct depot_read part = {
        .type = read->type, .memory = -1, .wanted = -1, .out = read->out, .what = read->what};
    if (mapping->slot == 0) {
        TRY(storage_key(mapping->path, mapping->name, &key));
        if (storage_is_absent(depot->spec.storage, key.data)) {
            goto out; /* as was found when the work was planned */
        }
    }
    TRY(depot_take(depot, stored, mapping, &source));
    TRY(mapping_settle(mapping, source->space));
    part.wanted = H5Sselect_project_intersection(mapping->here, mapping->there, read->wanted);
    part.memory = H5Sselect_project_intersection(read->wanted, read->memory, mapping->here);
    H5_TRY(part.wanted, "%s: what is wanted of %s cannot be selected", mapping->path,
           mapping->name);
    H5_TRY(part.memory, "%s: what is wanted of %s cannot be selected", mapping->path,
           mapping->name);
    if (H5Sget_select_npoints(part.wanted) > 0) {
        TRY(stored_read(depot, source, &part));
    }
out:
    depot_give(depot, source);
    h5_close(part.wanted);
    h5_close(part.memory);
    text_free(&key);
    return st;
}

static status_t stored_read(depot_t *depot, struct stored *stored, const struct depot_read *read)
{
    status_t st = STATUS_OK;
    hsize_t low[H5S_MAX_RANK];
    hsize_t high[H5S_MAX_RANK];
    if (stored->layout != H5D_VIRTUAL) {
        TRY(stored_read_plain(depot, stored, read));
        goto out;
    }
    H5_TRY(H5Sget_select_bounds(read->wanted, low, high), "%s: nothing is wanted of %s",
           stored->path, stored->name);
    for (size_t i = 0; i < stored->mappings.count; i++) {
        struct mapping *mapping = &stored->mappings.items[i];
        int meets = 1;
        for (int d = 0; d < stored->rank; d++) {
            meets = meets && mapping->low[d] <= high[d] && mapping->high[d] >= low[d];
        }
        if (meets) {
            TRY(stored_read_mapping(depot, stored, mapping, read));
        }
    }
out:
    return st;
}

status_t depot_read(depot_t *depot, const struct depot_read *read)
{
    status_t st = STATUS_OK;
    depot->is_unreadable = 0;
    depot->open[0]->source.is_touched = 1;
    TRY(stored_read(depot, depot->open[0], read));
    for (uint32_t i = 0; i < depot->nslots; i++) {
        TRY(stored_check(depot, depot->open[i]));
    }
out:
    return st;
}
