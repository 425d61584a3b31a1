/* Opening a filterbank: shape, type, where its rows lie and which of them are lost. */
#include "input/fbh5/fbh5_header.h"

#include "base/memory.h"
#include "base/terms.h"
#include "input/about.h"
#include "input/fbh5/fbh5.h"
#include "input/format/dataset.h"
#include "input/format/formats.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "input/hdf5/unfilter.h"
#include "input/lost.h"
#include "io/apart.h"
#include "io/file.h"
#include "io/hdf5/h5_dataset.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* The filterbank as bytes: all of it, from the process that looked into the file to every rank. */

static const struct pack_field pointers[] = {
    PACK_FIELD(struct fbh5, path),
    PACK_FIELD(struct fbh5, format),
    PACK_FIELD(struct fbh5, assumed),
    PACK_LIST(struct fbh5, table.first, table.count, &pack_numbers),
    PACK_FIELD(struct fbh5, data_path),
    PACK_STORAGE(struct fbh5, storage),
    PACK_LOST(struct fbh5, lost),
    PACK_SKY(struct fbh5),
    PACK_FIELD(struct fbh5, head.rawdatafile),
    PACK_FIELD(struct fbh5, pols),
    PACK_FIELD(struct fbh5, pol_names),
    PACK_COUNTED(struct fbh5, freq_hz, nchannels, &pack_numbers),
    PACK_COUNTED(struct fbh5, coherent.delay_hz, nchannels, &pack_numbers),
};
const struct pack_type fbh5_type = PACK_WHOLE(struct fbh5, pointers);

void fbh5_destroy(struct fbh5 *fbh5)
{
    pack_destroy(fbh5, &fbh5_type);
}

enum { MOST_TABLE_IFS = 1 << 10 };

/* Filterbanks in tables: begun, and checked. */

status_t filterbank_begin(const char *path, const char *format, struct fbh5 **out, int *fd)
{
    TRY(memory_zeroed(1, sizeof **out, "a filterbank", out));
    struct fbh5 *fbh5 = *out;
    TRY(memory_text(path, &fbh5->path));
    TRY(memory_text(format, &fbh5->format));
    TRY(sources_add(&fbh5->storage.sources, path, SOURCE_NAMED, NULL));
    TRY(file_open_read(path, fd));
    TRY(sources_check_open(&fbh5->storage.sources, path, *fd));
    fbh5->file_bytes = sources_bytes(&fbh5->storage.sources);
    fbh5->reach = fbh5->scattered = REACH_TABLE;
    fbh5->chunks.rows = 1;
    fbh5->head.nbeams = fbh5->head.ibeam = 1;
    return STATUS_OK;
}

status_t filterbank_finish(struct fbh5 *fbh5)
{
    const struct fbh5_table *table = &fbh5->table;
    uint64_t streams = (uint64_t)fbh5->nifs * fbh5->nchannels;
    REQUIRE(fbh5->nifs >= 1 && fbh5->nifs <= MOST_TABLE_IFS && fbh5->nchannels >= 1 &&
                fbh5->nchannels <= FBH5_MOST_CHANNELS,
            STATUS_DATA, "%s: %u pols of %u channels, expected 1 to %d, and 1 to %d", fbh5->path,
            fbh5->nifs, fbh5->nchannels, MOST_TABLE_IFS, FBH5_MOST_CHANNELS);
    REQUIRE(table->bits <= 32 && (table->bits & (table->bits - 1)) == 0 && table->bits > 0,
            STATUS_DATA, "%s: %u bits, expected 1, 2, 4, 8, 16 or 32", fbh5->path, table->bits);
    REQUIRE(streams * table->bits % 8 * (table->rows_each % 8) % 8 == 0, STATUS_DATA,
            "%s: rows of %" PRIu64 " spectra of %" PRIu64
            " numbers of %u bits, expected whole bytes",
            fbh5->path, table->rows_each, streams, table->bits);
    REQUIRE(isfinite(fbh5->time.step) && fbh5->time.step > 0, STATUS_DATA,
            "%s: a spectrum every %g s (tsamp), expected more than 0", fbh5->path, fbh5->time.step);
    double last = fbh5->fch1_mhz + (fbh5->nchannels - 1.0) * fbh5->foff_mhz;
    REQUIRE(isfinite(last) &&
                (fbh5->nchannels == 1 || last < fbh5->fch1_mhz || last > fbh5->fch1_mhz),
            STATUS_DATA, "%s: %u channels from fch1 = %g MHz on in steps of foff = %g MHz",
            fbh5->path, fbh5->nchannels, fbh5->fch1_mhz, fbh5->foff_mhz);
    fbh5->sample_bytes = table->has_scales || table->is_signed || table->bits == 32 ? 4
                         : table->bits == 16                                        ? 2
                                                                                    : 1;
    return STATUS_OK;
}

/* Numbers of a power product in few bits, made the floats that they stand for. */

/* Finds the offset of /scale or /offset in the file, and its number of blocks. */
static status_t fbh5_find_scale(hid_t file, const struct fbh5 *fbh5, const char *name,
                                uint64_t *blocks, uint64_t *offset)
{
    SCOPED(h5_dataset_close) struct h5_dataset scale = {0};
    TRY(h5_dataset_open(file, fbh5->path, name, &scale));
    haddr_t at = h5_offset(scale.id);
    uint64_t all = ceil_div_u64(fbh5->rows, fbh5->steps.rows);
    REQUIRE(at != HADDR_UNDEF && scale.rank == 3 && H5Tequal(scale.type, H5T_IEEE_F32LE) > 0 &&
                H5Dget_storage_size(scale.id) == scale.count * sizeof(float) &&
                scale.dims[1] == fbh5->nifs && scale.dims[2] == fbh5->nchannels &&
                (scale.dims[0] == 1 || scale.dims[0] == all),
            STATUS_DATA, "%s: /%s is not that of its rows, as voltmill writes it: was it repacked?",
            fbh5->path, name);
    *blocks = scale.dims[0];
    *offset = at;
    return STATUS_OK;
}

/* Whether samples are in few bits: then they are handed out as floats. When all else is known.
 * Fails with DATA. */
static status_t fbh5_find_steps(hid_t file, hid_t data, struct fbh5 *fbh5)
{
    struct fbh5_steps *steps = &fbh5->steps;
    int64_t rows = 0;
    int found = 0;
    uint64_t offsets = 0;
    if (!fbh5->is_ours || fbh5->sample_bytes > 2) {
        return STATUS_OK;
    }
    TRY(h5_get_i64(data, fbh5->path, "scale_rows", &rows, &found));
    if (!found) {
        return STATUS_OK;
    }
    REQUIRE(rows > 0 && rows <= TERMS_MOST_SCALE_ROWS, STATUS_DATA,
            "%s: scale_rows of /data is %lld, expected 1 .. %d", fbh5->path, (long long)rows,
            TERMS_MOST_SCALE_ROWS);
    steps->rows = (uint64_t)rows;
    TRY(fbh5_find_scale(file, fbh5, "scale", &steps->scales, &steps->scale_offset));
    TRY(fbh5_find_scale(file, fbh5, "offset", &offsets, &steps->offset_offset));
    REQUIRE(offsets == steps->scales, STATUS_DATA, "%s: /scale and /offset differ in shape",
            fbh5->path);
    steps->bits = 8 * fbh5->sample_bytes;
    fbh5->sample_bytes = sizeof(float);
    return STATUS_OK;
}

enum { MOST_IFS = 1 << 16 };

uint64_t fbh5_row_bytes(const struct fbh5 *fbh5)
{
    return (uint64_t)fbh5->nifs * fbh5->nchannels * fbh5->sample_bytes;
}

static status_t fbh5_read_shape(const struct h5_dataset *data, struct fbh5 *fbh5)
{
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
    return STATUS_OK;
}
static status_t fbh5_read_chunks(hid_t plist, uint64_t bytes, struct fbh5 *fbh5)
{
    hsize_t chunk[3] = {1, 1, 1};
    const uint64_t sizes[3] = {1, fbh5->nifs, fbh5->nchannels};
    int rank = fbh5->is_flat ? 2 : 3;
    if (H5Pget_chunk(plist, 3, chunk) != rank) {
        return STATUS_OK;
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
    return STATUS_OK;
}

SCOPED_CALLS(archive_part_free, struct archive_part, pack_free(at, &archive_part_type))

/* Rows of which some elements are unreadable. */
static status_t fbh5_find_lost_rows(const struct lost_pieces *pieces, struct fbh5 *fbh5)
{
    SCOPED(archive_part_free) struct archive_part whole = {.path = NULL};
    TRY(lost_find_boxes(pieces, &whole.boxes, &whole.nboxes));
    for (uint32_t i = 0; i < whole.nboxes; i++) {
        const struct lost_box *box = &whole.boxes[i];
        TRY(lost_add(&fbh5->lost, box->low[0], box->high[0] - box->low[0], box->why));
    }
    lost_join(&fbh5->lost);
    return STATUS_OK;
}

/* Finds how the rows are stored. */
static status_t fbh5_read_layout(const struct h5_dataset *data, struct fbh5 *fbh5)
{
    SCOPED(archive_part_free) struct archive_part whole = {.path = NULL};
    SCOPED(depot_found_free) struct depot_found found = {.chunk_bytes = 0};
    SCOPED(depot_close_at) depot_t *depot = NULL;
    SCOPED(h5_close_at) hid_t memory = -1;
    const struct depot_spec spec = {.path = fbh5->path, .name = "data", .found = &fbh5->storage};
    SCOPED(h5_close_at) hid_t plist = H5Dget_create_plist(data->id);
    H5_TRY(plist, "%s: /data does not say how it is stored", fbh5->path);
    fbh5->chunks.rows = 1;
    if (H5Pget_layout(plist) == H5D_CHUNKED) {
        TRY(fbh5_read_chunks(plist, H5Tget_size(data->type), fbh5));
    }
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    TRY(fbh5_find_lost_rows(&found.lost, fbh5));
    depot_take_extents(depot, &whole.extents, &whole.nextents);
    TRY(fbh5_memory_type(fbh5, &memory));
    if (whole.nextents == 1 && H5Tequal(data->type, memory) > 0) {
        fbh5->reach = REACH_PIECES;
        fbh5->data_offset = whole.extents[0].file_offset;
        TRY(memory_text(whole.extents[0].path, &fbh5->data_path));
    }
    fbh5->chunks.row_bytes = max_u64(fbh5->chunks.row_bytes, found.row_bytes);
    /* If all are kept, each is decompressed there. */
    fbh5->chunks.work_bytes =
        found.work_bytes - (fbh5->chunks.rows < fbh5->rows ? 0 : found.chunk_bytes);
    return STATUS_OK;
}

/* Recognises the kind of /data's numbers. Fails with DATA if it is none of them. */
static status_t fbh5_read_type(hid_t type, struct fbh5 *fbh5)
{
    static const struct {
        H5T_class_t class;
        int is_signed;
        size_t bytes;
        uint32_t number, sample_bytes;
    } known[] = {{H5T_INTEGER, 0, 1, FBH5_PLAIN, 1}, {H5T_INTEGER, 0, 2, FBH5_PLAIN, 2},
                 {H5T_INTEGER, 1, 1, FBH5_I8, 4},    {H5T_INTEGER, 1, 2, FBH5_I16, 4},
                 {H5T_FLOAT, 0, 2, FBH5_FLOAT16, 4}, {H5T_FLOAT, 0, 4, FBH5_PLAIN, 4},
                 {H5T_FLOAT, 0, 8, FBH5_FLOAT64, 4}};
    H5T_class_t class = H5Tget_class(type);
    size_t bytes = H5Tget_size(type);
    int is_signed = class == H5T_INTEGER && H5Tget_sign(type) != H5T_SGN_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].class == class && known[i].is_signed == is_signed && known[i].bytes == bytes) {
            int is_short = known[i].number == FBH5_FLOAT16 && !dataset_is_half(type);
            fbh5->number = is_short ? FBH5_SHORT : known[i].number;
            fbh5->sample_bytes = known[i].sample_bytes;
            return STATUS_OK;
        }
    }
    return report_fail(
        STATUS_DATA,
        "%s: its samples are %zu-bit %s, expected integers of 8 or 16, or floats of 16, 32 or 64 "
        "bits",
        fbh5->path, 8 * bytes,
        class == H5T_FLOAT     ? "floats"
        : class == H5T_INTEGER ? (is_signed ? "signed integers" : "unsigned integers")
                               : "values of another kind");
}

static status_t fbh5_describe(hid_t file, struct fbh5 *fbh5)
{
    SCOPED(h5_close_at) hid_t found = -1;
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    int is_there = 0;
    const struct links_request request = {.file = file, .path = fbh5->path, .name = "data"};
    apart_at("%s: /data", fbh5->path);
    TRY(h5_has(file, fbh5->path, "data", &is_there));
    REQUIRE(is_there, STATUS_DATA, "%s is no filterbank: it %s", fbh5->path, holds_what(file));
    TRY(links_open(&request, &found, &is_there));
    REQUIRE(is_there && H5Iget_type(found) == H5I_DATASET, STATUS_DATA,
            "%s is no filterbank: its /data leads to no dataset", fbh5->path);
    TRY(h5_dataset_of(h5_move(&found), fbh5->path, &data));
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
    return STATUS_OK;
}

/* Finds the offset of the marks of rows in our power products that have weights. */
static status_t fbh5_find_marks(hid_t file, struct fbh5 *fbh5)
{
    SCOPED(h5_dataset_close) struct h5_dataset marks = {0};
    int is_there = 0;
    TRY(h5_has(file, fbh5->path, "weights", &is_there));
    /* Its rows are in no other file, either. */
    if (!fbh5->is_ours || !is_there || fbh5->storage.sources.count > 1) {
        return STATUS_OK;
    }
    TRY(h5_dataset_open(file, fbh5->path, "provenance/holes", &marks));
    haddr_t at = h5_offset(marks.id);
    if (at != HADDR_UNDEF && marks.count == fbh5->rows && H5Tget_size(marks.type) == 1) {
        fbh5->marks_offset = at;
    }
    return STATUS_OK;
}

static status_t fbh5_open_here(const char *path, struct fbh5 **out)
{
    struct stat info;
    SCOPED(h5_close_at) hid_t file = -1;
    TRY(memory_zeroed(1, sizeof **out, "a filterbank", out));
    struct fbh5 *fbh5 = *out;
    TRY(memory_text(path, &fbh5->path));
    TRY(h5_open_file(path, &file));
    REQUIRE(stat(path, &info) == 0, STATUS_DATA, "%s: %s", path, strerror(errno));
    fbh5->file_bytes = (uint64_t)info.st_size;
    TRY(fbh5_describe(file, fbh5));
    return fbh5_find_marks(file, fbh5);
}

/* A filterbank without the attribute is none; what else it lacks, and where a /data leads that
 * cannot be looked at, is said when it is opened. */
static status_t fbh5_recognise(const char *path, int *is_it)
{
    SCOPED(h5_close_at) hid_t file = -1;
    int has_data = 0;
    TRY(h5_open_cut_file(path, &file));
    TRY(h5_has(file, path, "data", &has_data));
    *is_it = has_data && H5Aexists_by_name(file, "data", "fch1", H5P_DEFAULT) != 0;
    return STATUS_OK;
}

const struct format fbh5_format = {.name = "fbh5",
                                   .title = "a filterbank",
                                   .recognise = fbh5_recognise,
                                   .open_filterbank = fbh5_open_here};
