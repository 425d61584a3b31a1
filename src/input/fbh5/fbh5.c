/* Opening a filterbank: shape, type, where its rows lie and which of them are lost. */
#include "input/fbh5/fbh5.h"

#include "base/memory.h"
#include "input/fbh5/fbh5_parts.h"
#include "input/format/formats.h"
#include "input/format/holds.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "input/hdf5/unfilter.h"
#include "input/lost.h"
#include "io/apart.h"
#include "io/hdf5/h5_dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_IFS = 1 << 16 };

uint64_t fbh5_row_bytes(const struct fbh5 *fbh5)
{
    return (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5->sample_bytes;
}

static status_t fbh5_read_shape(const struct h5_dataset *data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    int is_flat = data->rank == 2;
    const hsize_t dims[3] = {data->dims[0], is_flat ? 1 : data->dims[1],
                             data->dims[is_flat ? 1 : 2]};
    uint64_t samples = 0;
    REQUIRE(data->rank == 2 || data->rank == 3, STATUS_DATA,
            "%s is no filterbank: /data has %d dimensions, expected [time][if][chan] or "
            "[time][chan]",
            fbh5->path, data->rank);
    fbh5->is_flat = is_flat;
    REQUIRE(dims[0] > 0 && dims[1] > 0 && dims[2] > 0, STATUS_DATA,
            "%s: /data is empty: %llu spectra, %llu pols, %llu channels", fbh5->path,
            (unsigned long long)dims[0], (unsigned long long)dims[1], (unsigned long long)dims[2]);
    REQUIRE(dims[1] <= MOST_IFS && dims[2] <= INT32_MAX &&
                multiply_u64(dims[0], dims[1] * dims[2], &samples) && samples <= INT64_MAX / 8,
            STATUS_DATA, "%s: /data is too large: %llu spectra, %llu pols, %llu channels",
            fbh5->path, (unsigned long long)dims[0], (unsigned long long)dims[1],
            (unsigned long long)dims[2]);
    fbh5->rows = dims[0];
    fbh5->nifs = (uint32_t)dims[1];
    fbh5->nchannels = (uint32_t)dims[2];
out:
    return st;
}
static status_t fbh5_read_chunks(hid_t plist, uint64_t bytes, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hsize_t chunk[3] = {1, 1, 1};
    const uint64_t sizes[3] = {1, fbh5->nifs, fbh5->nchannels};
    int rank = fbh5->is_flat ? 2 : 3;
    if (H5Pget_chunk(plist, 3, chunk) != rank) {
        goto out;
    }
    if (fbh5->is_flat) {
        chunk[2] = chunk[1];
        chunk[1] = 1;
    }
    for (int i = 0; i < 3; i++) {
        chunk[i] = max_u64(chunk[i], 1);
        REQUIRE(multiply_u64(bytes, chunk[i], &bytes) &&
                    (i == 0 || multiply_u64(bytes, ceil_div_u64(sizes[i], chunk[i]), &bytes)) &&
                    bytes <= INT64_MAX / 8,
                STATUS_DATA, "%s: /data has chunks of %llu x %llu x %llu: too large", fbh5->path,
                (unsigned long long)chunk[0], (unsigned long long)chunk[1],
                (unsigned long long)chunk[2]);
    }
    fbh5->chunks.rows = chunk[0];
    fbh5->chunks.row_bytes = bytes;
out:
    return st;
}

/* Rows of which some elements cannot be had. */
static status_t fbh5_find_lost_rows(const struct lost_pieces *pieces, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct lost_box *boxes = NULL;
    uint32_t count = 0;
    TRY(lost_find_boxes(pieces, &boxes, &count));
    for (uint32_t i = 0; i < count; i++) {
        TRY(lost_add_range(&fbh5->lost, &fbh5->nlost, boxes[i].low[0],
                           boxes[i].high[0] - boxes[i].low[0], boxes[i].why));
    }
    lost_join_ranges(fbh5->lost, &fbh5->nlost);
out:
    archive_free_boxes(boxes, count);
    return st;
}

/* A chunk as it is stored, if filters change it; as it is between filters; and as it was, unless
 * all chunks are kept, each where it is decompressed. */
static uint32_t fbh5_count_rooms(hid_t plist, const struct fbh5 *fbh5)
{
    enum { MOST_ROOMS = 4 };
    int filters = H5Pget_layout(plist) == H5D_CHUNKED ? H5Pget_nfilters(plist) : MOST_ROOMS;
    for (int i = 0; i < filters && filters < MOST_ROOMS; i++) {
        struct chunk_filter filter = {.nvalues = 0};
        size_t nvalues = FILTER_VALUES;
        unsigned flags = 0;
        filter.id =
            H5Pget_filter2(plist, (unsigned)i, &flags, &nvalues, filter.values, 0, NULL, NULL);
        filter.nvalues = (uint32_t)min_u64(nvalues, FILTER_VALUES);
        filters = unfilter_knows(&filter) ? filters : MOST_ROOMS; /* HDF5 undoes all */
    }
    int between = filters > 1 ? filters - 1 : 0;
    return (filters > 0) + (uint32_t)(between < 2 ? between : 2) + (fbh5->chunks.rows < fbh5->rows);
}

/* Where the rows lie. */
static status_t fbh5_read_layout(const struct h5_dataset *data, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct archive_extent *extents = NULL;
    uint32_t nextents = 0;
    struct depot_found found = {.chunk_bytes = 0};
    depot_t *depot = NULL;
    hid_t memory = -1;
    const struct depot_spec spec = {.path = fbh5->path, .name = "data", .found = &fbh5->storage};
    hid_t plist = H5Dget_create_plist(data->id);
    H5_TRY(plist, "%s: /data does not say how it is stored", fbh5->path);
    fbh5->chunks.rows = 1;
    if (H5Pget_layout(plist) == H5D_CHUNKED) {
        TRY(fbh5_read_chunks(plist, H5Tget_size(data->type), fbh5));
    }
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    TRY(fbh5_find_lost_rows(&found.lost, fbh5));
    depot_take_extents(depot, &extents, &nextents);
    TRY(fbh5_memory_type(fbh5, &memory));
    if (nextents == 1 && H5Tequal(data->type, memory) > 0) {
        fbh5->is_plain = 1;
        fbh5->data_offset = extents[0].file_offset;
        TRY(memory_text(extents[0].path, &fbh5->data_path));
    }
    fbh5->chunks.row_bytes = max_u64(fbh5->chunks.row_bytes, found.row_bytes);
    fbh5->chunks.most_bytes = found.chunk_bytes;
    fbh5->chunks.rooms = fbh5_count_rooms(plist, fbh5);
out:
    extents_free(extents, nextents);
    lost_pieces_free(&found.lost);
    depot_close(depot);
    h5_close(memory);
    h5_close(plist);
    return st;
}

status_t fbh5_check_unchanged(const struct fbh5 *fbh5)
{
    return sources_check(&fbh5->storage.sources);
}

status_t fbh5_check_whole(const struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    const struct lost_range *lost = fbh5->lost;
    REQUIRE(fbh5->nlost == 0, STATUS_DATA, "%s: spectra %llu .. %llu cannot be had: %s", fbh5->path,
            (unsigned long long)lost->first, (unsigned long long)(lost->first + lost->count),
            lost->why);
out:
    return st;
}

static status_t fbh5_describe(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    hid_t found = -1;
    struct h5_dataset data = {0};
    int is_there = 0;
    const struct links_request request = {.file = file, .path = fbh5->path, .name = "data"};
    apart_at("%s: /data", fbh5->path);
    TRY(h5_has(file, fbh5->path, "data", &is_there));
    REQUIRE(is_there, STATUS_DATA, "%s is no filterbank: it %s", fbh5->path, holds_what(file));
    TRY(links_open(&request, &found, &is_there));
    REQUIRE(is_there && H5Iget_type(found) == H5I_DATASET, STATUS_DATA,
            "%s is no filterbank: its /data leads to no dataset", fbh5->path);
    hid_t given = found;
    found = -1;
    TRY(h5_dataset_of(given, fbh5->path, &data));
    TRY(fbh5_read_shape(&data, fbh5));
    TRY(fbh5_read_type(data.type, fbh5));
    TRY(fbh5_read_layout(&data, fbh5));
    h5_try_chunks(data.id, fbh5->path, "/data");
    TRY(fbh5_read_header(file, data.id, fbh5));
    TRY(fbh5_find_steps(file, data.id, fbh5));
    TRY(fbh5_compare_stated(file, data.id, fbh5));
    TRY(h5_has(file, fbh5->path, "frequency", &is_there));
    if (fbh5->is_ours && is_there) {
        TRY(stored_require_whole(fbh5->path, "frequency", &fbh5->storage));
    }
out:
    h5_close(found);
    h5_dataset_close(&data);
    return st;
}

/* Where a power product of ours that has weights marks its rows. */
static status_t fbh5_find_marks(hid_t file, struct fbh5 *fbh5)
{
    status_t st = STATUS_OK;
    struct h5_dataset marks = {0};
    int is_there = 0;
    TRY(h5_has(file, fbh5->path, "weights", &is_there));
    /* Its compressed rows lie in no other file, either. */
    int is_here = fbh5->is_plain ? strcmp(fbh5->data_path, fbh5->path) == 0
                                 : fbh5->storage.sources.count == 1;
    if (!fbh5->is_ours || !is_there || !is_here) {
        goto out;
    }
    TRY(h5_dataset_open(file, fbh5->path, "provenance/holes", &marks));
    haddr_t at = h5_offset(marks.id);
    if (at != HADDR_UNDEF && marks.count == fbh5->rows && H5Tget_size(marks.type) == 1) {
        fbh5->marks_offset = at;
    }
out:
    h5_dataset_close(&marks);
    return st;
}

static status_t fbh5_open_here(const char *path, struct fbh5 **out)
{
    status_t st = STATUS_OK;
    struct fbh5 *fbh5 = NULL;
    struct stat info;
    hid_t file = -1;
    TRY(memory_zeroed(1, sizeof *fbh5, "a filterbank", &fbh5));
    TRY(memory_text(path, &fbh5->path));
    TRY(h5_open_file(path, &file));
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    fbh5->file_bytes = (uint64_t)info.st_size;
    TRY(fbh5_describe(file, fbh5));
    TRY(fbh5_find_marks(file, fbh5));
    *out = fbh5;
    fbh5 = NULL;
out:
    h5_close(file);
    fbh5_destroy(fbh5);
    return st;
}

/* A filterbank without the attribute is none; what else it lacks, and where a /data leads that
 * cannot be looked at, is said when it is opened. */
static status_t fbh5_recognise(const char *path, int *is_it)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    int has_data = 0;
    TRY(h5_open_cut_file(path, &file));
    TRY(h5_has(file, path, "data", &has_data));
    *is_it = has_data && H5Aexists_by_name(file, "data", "fch1", H5P_DEFAULT) != 0;
out:
    h5_close(file);
    return st;
}

const struct format fbh5_format = {.name = "fbh5",
                                   .title = "a filterbank",
                                   .expected = "a filterbank",
                                   .recognise = fbh5_recognise,
                                   .open_filterbank = fbh5_open_here};
