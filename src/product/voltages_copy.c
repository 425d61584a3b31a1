/* An archive's streams as a file in the native layout: what it says of them, with the numbers that
 * they have; and the gaps that reading found. */
#include "base/memory.h"
#include "input/read/reader.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_file.h"
#include "product/kind/parts.h"
#include "product/voltages_parts.h"

#include <stdlib.h>
#include <string.h>

struct voltages_spec voltages_of_archive(const struct archive *archive)
{
    double first =
        (double)archive->first_sample / archive->sample_rate_hz + archive->offset_seconds;
    struct voltages_spec spec = {
        .is_complex = archive->is_complex,
        .sample_rate_hz = archive->sample_rate_hz,
        .sideband = archive->sideband,
        .oversampling_num = archive->oversample.num,
        .oversampling_den = archive->oversample.den,
        .sky = archive->sky,
        .reference_m = archive->states.has_reference ? archive->states.reference_m : NULL};
    spec.sky.start = utc_add(archive->sky.start, first);
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        spec.axes[axis].count = archive->nselected[axis];
        spec.axes[axis].is_there = archive->present[axis] || archive->nselected[axis] > 1;
    }
    return spec;
}

status_t voltages_describe_streams(hid_t file, const struct archive *archive,
                                   struct voltages_spec spec)
{
    status_t st = STATUS_OK;
    uint32_t chans = archive->nselected[AXIS_CHAN];
    double *hz = NULL;
    char **pols = NULL;
    char **stations = NULL;
    double(*itrf_m)[3] = NULL;
    const uint32_t count = archive->nselected[AXIS_STATION];
    TRY_OUT(memory_zeroed(chans, sizeof *hz, "frequencies", &hz));
    TRY_OUT(memory_zeroed(count, sizeof *itrf_m, "positions of stations", &itrf_m));
    if (archive->states.nitrf_m == 3 * archive->count[AXIS_STATION]) {
        for (uint32_t i = 0; i < count; i++) {
            memcpy(itrf_m[i], archive->states.itrf_m + 3 * archive->selected[AXIS_STATION][i],
                   sizeof *itrf_m);
        }
        spec.itrf_m = (const double(*)[3])itrf_m;
    }
    for (uint32_t i = 0; i < chans; i++) {
        hz[i] = archive->freq_hz[archive->selected[AXIS_CHAN][i]];
    }
    TRY_OUT(parts_name_axis(archive, AXIS_POL, &pols));
    if (archive->present[AXIS_STATION]) {
        TRY_OUT(parts_name_axis(archive, AXIS_STATION, &stations));
    }
    spec.freq_hz = hz;
    spec.axes[AXIS_POL].names = pols;
    spec.axes[AXIS_STATION].names = stations;
    TRY_OUT(voltages_describe(file, &spec));
    if (archive->coherent.delay_hz) {
        for (uint32_t i = 0; i < chans; i++) {
            hz[i] = archive->coherent.delay_hz[archive->selected[AXIS_CHAN][i]];
        }
        TRY_OUT(parts_put_coherent(file, archive, hz, chans));
    }
out:
    text_free_list(pols, archive->nselected[AXIS_POL]);
    text_free_list(stations, archive->nselected[AXIS_STATION]);
    free(hz);
    free(itrf_m);
    return st;
}

/* Rows of three numbers, for gaps that are known when all samples are: a thousandth of the file, at
 * most a chunk of 1 MiB. */
static status_t voltages_reserve_gaps(hid_t file, const struct voltages_spec *spec)
{
    status_t st = STATUS_OK;
    enum { LEAST = 128, MOST = 40000, ROW = 24, SHARE = 1000 };
    uint64_t bytes = spec->samples * sample_bytes(spec->format, spec->is_complex);
    for (int i = 0; i < STREAM_AXES; i++) {
        bytes *= spec->axes[archive_stream_axes[i]].count;
    }
    const hsize_t dims[2] = {min_u64(max_u64(bytes / SHARE / ROW, LEAST), MOST), 3};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t gaps = -1;
    H5_TRY_OUT(H5Pset_chunk(plist, 2, dims), "gaps cannot be planned");
    H5_TRY_OUT(H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY), "gaps cannot be planned");
    H5_TRY_OUT(H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER), "gaps cannot be planned");
    H5_TRY_OUT(H5Pset_obj_track_times(plist, 0), "gaps cannot be planned");
    gaps = H5Dcreate2(file, "gaps", H5T_STD_U64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY_OUT(gaps, "gaps cannot be made");
out:
    h5_close(gaps);
    h5_close(plist);
    h5_close(space);
    return st;
}

status_t voltages_create_copy(int fd, const char *path, const struct archive *archive,
                              const struct voltages_packing *packing, struct voltages_place *place)
{
    status_t st = STATUS_OK;
    struct voltages_spec spec = voltages_of_archive(archive);
    hid_t file = -1;
    spec.samples = archive->samples;
    spec.format = archive->format;
    spec.packing = packing;
    spec.nibbles = &archive->stored.nibbles;
    spec.has_missing_value = archive->stored.has_missing_value;
    spec.missing_value = packing->missing;
    spec.scale = packing->scale;
    TRY_OUT(h5_file_create(fd, path, MARK_IMPORT, &file));
    TRY_OUT(voltages_describe_streams(file, archive, spec));
    TRY_OUT(voltages_reserve_gaps(file, &spec));
    TRY_OUT(voltages_finish(&file, path, &spec, place));
out:
    h5_close(file);
    return st;
}

static status_t gaps_add(struct voltages_gaps *gaps, uint64_t first, uint64_t count,
                         uint64_t stream)
{
    uint64_t *last = gaps->count > 0 ? gaps->rows[gaps->count - 1] : NULL;
    if (last && last[2] == stream && first <= last[0] + last[1]) {
        last[1] = max_u64(last[1], first + count - last[0]);
        return STATUS_OK;
    }
    return voltages_add_gap(gaps, first, count, stream);
}

static int gaps_by_stream(const void *left, const void *right)
{
    const struct loss *a = left;
    const struct loss *b = right;
    int order = (a->stream > b->stream) - (a->stream < b->stream);
    return order ? order : (a->first > b->first) - (a->first < b->first);
}

/* Adds the gaps of a stream: those of all streams, and its own from *at on. Both lists ascend. */
static status_t gaps_add_stream(struct voltages_gaps *gaps, const struct loss *all, size_t nall,
                                const struct loss *own, size_t nown, size_t *at, uint32_t stream)
{
    size_t i = 0;
    for (;;) {
        int has_own = *at < nown && own[*at].stream == stream;
        int takes_own = has_own && (i == nall || own[*at].first < all[i].first);
        if (!has_own && i == nall) {
            break;
        }
        const struct loss *next = takes_own ? &own[(*at)++] : &all[i++];
        TRY(gaps_add(gaps, next->first, next->count, stream));
    }
    return STATUS_OK;
}

/* Lists gaps of all streams once if no stream has gaps of its own. */
static status_t gaps_make(struct loss *losses, size_t count, uint32_t nstreams,
                          struct voltages_gaps *gaps)
{
    size_t nown = 0;
    size_t at = 0;
    /* Losses of all streams have the largest number, so they come last. */
    qsort(losses, count, sizeof *losses, gaps_by_stream);
    while (nown < count && losses[nown].stream != LOSS_OF_ALL) {
        nown++;
    }
    gaps->has_streams = nown > 0;
    for (uint32_t stream = 0; stream < (nown > 0 ? nstreams : 1); stream++) {
        TRY(gaps_add_stream(gaps, losses + nown, count - nown, losses, nown, &at, stream));
    }
    return STATUS_OK;
}

/* Writes the gaps into the space reserved before the samples, if they fit; else after these. */
static status_t gaps_put(hid_t file, const struct voltages_gaps *gaps)
{
    status_t st = STATUS_OK;
    const hsize_t dims[2] = {gaps->count, gaps->has_streams ? 3 : 2};
    const hsize_t from[2] = {gaps->count, 3};
    hsize_t room[2] = {0, 0};
    hid_t dataset = H5Dopen2(file, "gaps", H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    hid_t memory = H5Screate_simple(2, from, NULL);
    int rank = H5Sget_simple_extent_dims(space, room, NULL);
    if (rank == 2 && gaps->count > 0 && gaps->count <= room[0]) {
        H5_TRY_OUT(H5Dset_extent(dataset, dims), "gaps cannot be written");
        H5_TRY_OUT(
            H5Sselect_hyperslab(memory, H5S_SELECT_SET, (hsize_t[2]){0, 0}, NULL, dims, NULL),
            "gaps cannot be written");
        H5_TRY_OUT(H5Dwrite(dataset, H5T_NATIVE_UINT64, memory, H5S_ALL, H5P_DEFAULT, gaps->rows),
                   "gaps cannot be written");
        goto out;
    }
    h5_close(dataset);
    dataset = -1;
    H5_TRY_OUT(H5Ldelete(file, "gaps", H5P_DEFAULT), "gaps cannot be written");
    TRY_OUT(voltages_put_gaps(file, gaps));
out:
    h5_close(memory);
    h5_close(space);
    h5_close(dataset);
    return st;
}

status_t voltages_add_gaps(int fd, const char *path, struct loss *losses, size_t count,
                           uint32_t nstreams)
{
    status_t st = STATUS_OK;
    struct voltages_gaps gaps = {0};
    uint64_t bytes = 0;
    hid_t file = -1;
    TRY_OUT(count > 0 ? gaps_make(losses, count, nstreams, &gaps) : STATUS_OK);
    TRY_OUT(h5_file_change(fd, path, &file));
    TRY_OUT(gaps_put(file, &gaps));
    TRY_OUT(h5_file_finish(&file, &bytes));
out:
    h5_close(file);
    free(gaps.rows);
    return st;
}
