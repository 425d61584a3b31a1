/* From a description and the dataset in the file to what the samples are, where they lie, and
 * whether they can be read without HDF5. */
#include "input/format/dataset_parts.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/format/holds.h"
#include "input/format/override.h"
#include "input/format/said.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "input/lost.h"
#include "input/read/numbers.h"
#include "io/apart.h"
#include "job/axes_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

status_t dataset_open(hid_t file, const char *path, const char *name, hid_t *out)
{
    status_t st = STATUS_OK;
    struct text names = {0};
    hid_t dataset = -1;
    int is_there = 0;
    const struct links_request request = {.file = file, .path = path, .name = name};
    apart_at("%s: %s", path, name);
    TRY(links_open(&request, &dataset, &is_there));
    if (!is_there || H5Iget_type(dataset) != H5I_DATASET) {
        TRY(holds_names(file, path, &names));
        FAIL(STATUS_DATA, "%s holds no dataset %s; it holds %s", path, name,
             names.length ? names.data : "none at all");
    }
    TRY(h5_require_header(dataset, name));
    *out = dataset;
    dataset = -1;
out:
    h5_close(dataset);
    text_free(&names);
    return st;
}

/* "2048 x 2 x 32" */
static void dataset_shape_text(const hsize_t *dims, int ndims, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < ndims && at < size; i++) {
        at += (size_t)snprintf(out + at, size - at, "%s%llu", i ? " x " : "",
                               (unsigned long long)dims[i]);
    }
}

/* The sizes of the axes joined in one dimension: at most one may have been left out. */
static status_t dataset_add_joined(const struct axes_text *axes, uint32_t dim, uint64_t size,
                                   const char *where, struct archive *archive)
{
    status_t st = STATUS_OK;
    uint64_t known = 1;
    uint32_t open = 0;
    for (uint32_t i = 0; i < axes->dim[dim].nparts; i++) {
        uint64_t part = axes->dim[dim].size[i];
        open += part == 0;
        REQUIRE(multiply_u64(known, part ? part : 1, &known), STATUS_DATA,
                "%s: the sizes of dimension %u in axes are absurd", where, dim);
    }
    REQUIRE(open <= 1 && size % known == 0 && (open == 1 || size == known), STATUS_DATA,
            "%s: dimension %u has %" PRIu64 " elements, which axes splits into %" PRIu64 "%s",
            where, dim, size, known, open ? " times a whole number" : "");
    for (uint32_t i = 0; i < axes->dim[dim].nparts; i++) {
        uint64_t part = axes->dim[dim].size[i] ? axes->dim[dim].size[i] : size / known;
        archive->shape.dims[archive->shape.ndims++] =
            (struct archive_dim){part, axes->dim[dim].part[i], dim};
    }
out:
    return st;
}

static status_t dataset_read_axes(hid_t dataset, const char *where, const char *axes_text,
                                  uint32_t in_byte, uint64_t *pieces, struct archive *archive)
{
    status_t st = STATUS_OK;
    struct axes_text axes;
    char message[200];
    char shape[160];
    hsize_t dims[H5S_MAX_RANK] = {0};
    hid_t space = H5Dget_space(dataset);
    int ndims = H5Sget_simple_extent_ndims(space);
    REQUIRE(axes_text_parse(axes_text, &axes, message), STATUS_DATA, "%s: axes \"%s\": %s", where,
            axes_text, message);
    REQUIRE(ndims >= 0, STATUS_DATA, "%s: its shape cannot be read", where);
    H5Sget_simple_extent_dims(space, dims, NULL);
    dataset_shape_text(dims, ndims, shape, sizeof shape);
    REQUIRE(ndims == (int)axes.ndims, STATUS_DATA,
            "%s has %d dimensions (%s), but axes names %u (%s)", where, ndims, shape, axes.ndims,
            axes_text);
    uint64_t elements = 1;
    *pieces = axes_text_in_pieces(&axes) ? dims[0] : 0;
    for (uint32_t i = 0; i < axes.ndims; i++) {
        dims[i] *= i + 1 == axes.ndims && dims[i] < UINT64_C(1) << 58 ? in_byte : 1;
        REQUIRE(dims[i] > 0, STATUS_DATA, "%s holds no samples: its shape is %s", where, shape);
        REQUIRE(multiply_u64(elements, dims[i], &elements) && elements < UINT64_C(1) << 58,
                STATUS_DATA, "%s: its shape %s is absurd", where, shape);
        REQUIRE(i > 0 || *pieces == 0 || axes.dim[0].size[0] == 0 || axes.dim[0].size[0] == *pieces,
                STATUS_DATA, "%s: dimension 0 has %" PRIu64 " elements, axes says %" PRIu64, where,
                *pieces, axes.dim[0].size[0]);
        if (i == 0 && *pieces > 0) {
            continue;
        }
        if (axes.dim[i].part[0] == AXIS_TIME) {
            archive->shape.time_dim = i;
        }
        TRY(dataset_add_joined(&axes, i, dims[i], where, archive));
    }
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        enum axis axis = archive->shape.dims[i].axis;
        archive->present[axis] = 1;
        uint64_t names = archive->names[axis] ? archive->count[axis] : 0;
        REQUIRE(names == 0 || names == archive->shape.dims[i].size, STATUS_DATA,
                "%s has %" PRIu64 " of axis %s, but /%s names %" PRIu64, where,
                archive->shape.dims[i].size, axis_name(axis), axis_name(axis), names);
        archive->count[axis] = archive->shape.dims[i].size;
    }
    for (int i = 0; i < AXIS_KINDS; i++) {
        REQUIRE(archive->present[i] || archive->count[i] == 1, STATUS_DATA,
                "%s: axes (%s) names no %s, but /%s names %" PRIu64, where, axes_text,
                axis_name((enum axis)i), axis_name((enum axis)i), archive->count[i]);
    }
    REQUIRE(!archive->present[AXIS_REIM] || archive->count[AXIS_REIM] == 2, STATUS_DATA,
            "%s: axis reim has %" PRIu64 " elements, expected 2 (shape %s)", where,
            archive->count[AXIS_REIM], shape);
out:
    h5_close(space);
    return st;
}

status_t dataset_take_words(const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    TRY(memory_text(layout->dataset, &archive->dataset));
    TRY(memory_text(layout->sky.telescope, &archive->sky.telescope));
    TRY(memory_text(layout->sky.source, &archive->sky.source));
    archive->sky.has_start = layout->time.has_start;
    archive->sky.start = layout->time.start;
    archive->sample_rate_hz = layout->time.has_sample_rate     ? layout->time.sample_rate_hz
                              : layout->time.has_sample_period ? 1 / layout->time.sample_period_s
                                                               : 0;
    archive->stored.nibbles = layout->numbers.packing.nibbles;
    archive->stored.has_missing_value = layout->numbers.has_missing_value;
    archive->stored.missing_value = layout->numbers.missing_value;
    archive->scale = layout->numbers.has_scale ? layout->numbers.scale : 1;
    archive->sideband = layout->has_sideband ? layout->sideband : 1;
    archive->oversample.num = layout->has_oversampling ? layout->oversample.num : 1;
    archive->oversample.den = layout->has_oversampling ? layout->oversample.den : 1;
    archive->shape.stacked = layout->files_along;
    archive->stored.is_dc_at_edge = layout->has_dc && layout->is_dc_at_edge;
    if (layout->sky.has_ra && layout->sky.has_dec) {
        archive->sky.has_position = 1;
        archive->sky.ra_deg = layout->sky.ra_deg;
        archive->sky.dec_deg = layout->sky.dec_deg;
    }
    if (layout->freq.count > 0) {
        TRY(memory_zeroed(layout->freq.count, sizeof *archive->freq_hz, "frequencies",
                          &archive->freq_hz));
        memcpy(archive->freq_hz, layout->freq.hz, layout->freq.count * sizeof *archive->freq_hz);
    }
out:
    return st;
}

/* Finds where the bytes of the dataset lie in files; part->nextents stays 0 when they must be read
 * through HDF5. Checks that files are as long as they must be, notes them all in part->storage, and
 * what nobody has written or can have in part->boxes. */
static status_t dataset_locate(hid_t dataset, const struct archive *archive, uint32_t in_element,
                               struct archive_part *part)
{
    status_t st = STATUS_OK;
    uint32_t ndims = archive->shape.dims[archive->shape.ndims - 1].dimension + 1;
    depot_t *depot = NULL;
    struct depot_found found = {.chunk_bytes = 0};
    const struct depot_spec spec = {.path = part->path,
                                    .name = archive->dataset,
                                    .found = &part->storage,
                                    .along = (int)archive->shape.time_dim};
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    TRY(lost_find_boxes(&found.lost, &part->boxes, &part->nboxes));
    for (uint32_t i = 0; i < part->nboxes; i++) {
        part->boxes[i].low[ndims - 1] *= in_element;
        part->boxes[i].high[ndims - 1] *= in_element;
    }
    if (dataset_is_dense(dataset, archive)) {
        depot_take_extents(depot, &part->extents, &part->nextents);
    }
    part->chunk_bytes = found.chunk_bytes;
    part->row_bytes = found.row_bytes;
    part->file_bytes = sources_bytes(&part->storage.sources);
out:
    lost_pieces_free(&found.lost);
    depot_close(depot);
    return st;
}

/* Time in two dimensions: each index of the outermost is a piece of a run. */
static status_t dataset_cut_pieces(const char *where, uint64_t pieces, uint64_t steps,
                                   struct archive_part *part)
{
    status_t st = STATUS_OK;
    uint64_t bytes = 0;
    uint64_t first = 0;
    for (uint32_t i = 0; i < part->nextents; i++) {
        bytes += part->extents[i].bytes;
    }
    uint64_t piece = bytes / pieces;
    REQUIRE(part->nboxes == 0, STATUS_DATA, "%s has elements that cannot be had: %s", where,
            part->boxes[0].why);
    REQUIRE(part->nextents > 0 && bytes % pieces == 0 && piece > 0, STATUS_DATA,
            "%s: time in two dimensions is read where samples lie in one piece, these are chunked, "
            "compressed or of an odd type",
            where);
    TRY(memory_zeroed(part->nextents, sizeof *part->runs, "runs of pieces", &part->runs));
    for (uint32_t i = 0; i < part->nextents; i++) {
        struct archive_extent *extent = &part->extents[i];
        struct archive_run *run = &part->runs[part->nruns++];
        REQUIRE(extent->bytes % piece == 0, STATUS_DATA,
                "%s: a piece of time does not lie in one file: it has %" PRIu64
                " bytes, %s %" PRIu64,
                where, piece, extent->path, extent->bytes);
        *run = (struct archive_run){.path = extent->path,
                                    .file_offset = extent->file_offset,
                                    .piece_bytes = piece,
                                    .pieces = extent->bytes / piece,
                                    .first_sample = first,
                                    .steps = steps,
                                    .stored = steps};
        extent->path = NULL; /* it moved */
        first += run->pieces * steps;
    }
    extents_free(part->extents, part->nextents);
    part->extents = NULL;
    part->nextents = 0;
out:
    return st;
}

status_t dataset_settle_frequencies(const struct job_layout *layout, const char *where,
                                    struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct job_frequencies *of = &layout->freq.rule;
    uint64_t chans = archive->count[AXIS_CHAN];
    if (of->from || of->attribute) {
        REQUIRE(layout->freq.count == chans, STATUS_DATA,
                "%s: %s holds %u frequencies, expected one for each of %" PRIu64 " coarse channels",
                where, of->from ? of->from : of->attribute, layout->freq.count, chans);
        archive->states.freq = 1;
    } else if (of->has_start) {
        TRY(memory_zeroed(chans, sizeof *archive->freq_hz, "frequencies", &archive->freq_hz));
        for (uint64_t i = 0; i < chans; i++) {
            archive->freq_hz[i] = of->start + (double)i * of->step;
        }
    }
out:
    return st;
}

static status_t dataset_describe_said(hid_t file, const struct job_layout *layout, const char *keys,
                                      struct archive *archive)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    uint64_t pieces = 0;
    char where[1200];
    struct archive_part *part = &archive->parts[0];
    snprintf(where, sizeof where, "%s: %s", part->path, layout->dataset);
    TRY(dataset_open(file, part->path, layout->dataset, &dataset));
    TRY(dataset_take_words(layout, archive));
    TRY(dataset_read_axes(dataset, where, layout->axes, dataset_numbers_in_element(layout), &pieces,
                          archive));
    TRY(dataset_read_type(dataset, where, layout, archive));
    TRY(dataset_settle_domain(layout, where, archive));
    TRY(dataset_check_missing_value(where, keys, archive));
    TRY(dataset_settle_frequencies(layout, where, archive));
    uint64_t steps = archive->count[AXIS_TIME];
    archive->count[AXIS_TIME] *= pieces > 0 ? pieces : 1;
    part->samples = archive->count[AXIS_TIME];
    if (layout->said[SAID_FIRST_SAMPLE].attribute) {
        part->first_sample = layout->time.first_sample[0];
    }
    if (layout->parts[0]) {
        TRY(memory_text(layout->dataset, &part->dataset));
    }
    TRY(dataset_locate(dataset, archive, dataset_numbers_in_element(layout), part));
    TRY(pieces > 0 ? dataset_cut_pieces(where, pieces, steps, part) : STATUS_OK);
    TRY(numbers_settle(archive));
    h5_try_chunks(dataset, part->path, layout->dataset);
out:
    h5_close(dataset);
    return st;
}

status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive)
{
    status_t st = STATUS_OK;
    struct job_layout own = {.automatic = 0};
    struct archive_part *part = &archive->parts[0];
    TRY(override_layout(layout, &own));
    TRY(said_fill(file, part->path, keys, &own, &part->storage));
    TRY(dataset_describe_said(file, &own, keys, archive));
out:
    override_free(&own);
    return st;
}
