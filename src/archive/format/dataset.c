/* From a description and the dataset in the file to what the samples are, where they lie, and
 * whether they can be read without HDF5. */
#include "archive/format/dataset.h"

#include "archive/format/holds.h"
#include "archive/lost.h"
#include "archive/storage/links.h"
#include "archive/storage/stored.h"
#include "base/memory.h"
#include "base/units.h"
#include "io/apart/apart.h"
#include "job/axes_text.h"

#include <inttypes.h>
#include <math.h>
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
        archive->dims[archive->ndims++] = (struct archive_dim){part, axes->dim[dim].part[i], dim};
    }
out:
    return st;
}

static status_t dataset_read_axes(hid_t dataset, const char *where, const char *axes_text,
                                  struct archive *archive)
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
    for (uint32_t i = 0; i < axes.ndims; i++) {
        REQUIRE(dims[i] > 0, STATUS_DATA, "%s holds no samples: its shape is %s", where, shape);
        REQUIRE(multiply_u64(elements, dims[i], &elements) && elements < UINT64_C(1) << 58,
                STATUS_DATA, "%s: its shape %s is absurd", where, shape);
        if (axes.dim[i].part[0] == AXIS_TIME) {
            archive->time_dim = i;
        }
        TRY(dataset_add_joined(&axes, i, dims[i], where, archive));
    }
    for (uint32_t i = 0; i < archive->ndims; i++) {
        enum axis axis = archive->dims[i].axis;
        archive->present[axis] = 1;
        uint64_t names = archive->names[axis] ? archive->count[axis] : 0;
        REQUIRE(names == 0 || names == archive->dims[i].size, STATUS_DATA,
                "%s has %" PRIu64 " of axis %s, but /%s names %" PRIu64, where,
                archive->dims[i].size, axis_name(axis), axis_name(axis), names);
        archive->count[axis] = archive->dims[i].size;
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

/* One number, or one of the two of a compound. */
static status_t dataset_read_number_type(hid_t type, const char *where, int is_packed,
                                         struct archive *archive)
{
    status_t st = STATUS_OK;
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    int is_signed = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    archive->swap_bytes = size > 1 && H5Tget_order(type) != H5Tget_order(H5T_NATIVE_INT);
    if (is_packed) {
        REQUIRE(class == H5T_INTEGER && size == 1 && !archive->is_compound, STATUS_DATA,
                "%s: packing needs 8-bit elements, found %zu-bit %s", where, 8 * size,
                class == H5T_INTEGER ? "integers" : "elements of another kind");
        archive->format = SAMPLE_I4;
    } else if (is_signed && size == 1) {
        archive->format = SAMPLE_I8;
    } else if (is_signed && size == 2) {
        archive->format = SAMPLE_I16;
    } else if (class == H5T_FLOAT && size == 4) {
        archive->format = SAMPLE_F32;
    } else {
        const char *kind = class == H5T_FLOAT     ? "-bit floating point"
                           : class != H5T_INTEGER ? "-bit elements that are no numbers"
                           : is_signed            ? "-bit integers"
                                                  : "-bit unsigned integers";
        FAIL(
            STATUS_DATA,
            "%s holds %zu%s; expected 8 or 16-bit signed integers, 32-bit floating point, pairs of "
            "these, or bytes with a packing",
            where, 8 * size, kind);
    }
out:
    return st;
}

/* HDF5 opens compounds with members that lie outside of them, and crashes when it reads them. */
static int dataset_has_two_places(hid_t type, size_t number_bytes)
{
    size_t bytes = H5Tget_size(type);
    size_t first = H5Tget_member_offset(type, 0);
    size_t second = H5Tget_member_offset(type, 1);
    size_t low = first < second ? first : second;
    size_t high = first < second ? second : first;
    return number_bytes <= bytes && high <= bytes - number_bytes && high - low >= number_bytes;
}

static status_t dataset_read_type(hid_t dataset, const char *where, int is_packed,
                                  struct archive *archive)
{
    status_t st = STATUS_OK;
    hid_t second = -1;
    hid_t number = -1;
    hid_t type = H5Dget_type(dataset);
    H5_TRY(type, "%s: its type cannot be read", where);
    archive->is_compound = H5Tget_class(type) == H5T_COMPOUND;
    if (archive->is_compound) {
        REQUIRE(H5Tget_nmembers(type) == 2, STATUS_DATA,
                "%s: its compound has %d %s, expected 2 (real, imaginary)", where,
                H5Tget_nmembers(type),
                units_plural((uint64_t)H5Tget_nmembers(type), "member", "members"));
        number = H5Tget_member_type(type, 0);
        second = H5Tget_member_type(type, 1);
        REQUIRE(H5Tequal(number, second) > 0, STATUS_DATA,
                "%s: the two members of its compound differ in type", where);
        REQUIRE(dataset_has_two_places(type, H5Tget_size(number)), STATUS_DATA,
                "%s: the members of its compound, at bytes %zu and %zu of %zu, do not lie side by "
                "side in it",
                where, H5Tget_member_offset(type, 0), H5Tget_member_offset(type, 1),
                H5Tget_size(type));
    } else {
        number = H5Tcopy(type);
    }
    TRY(dataset_read_number_type(number, where, is_packed, archive));
    size_t numbers = archive->is_compound ? 2 : 1;
    archive->element_bytes = numbers * H5Tget_size(number);
out:
    h5_close(second);
    h5_close(number);
    h5_close(type);
    return st;
}

status_t dataset_check_missing_value(const char *where, const char *keys,
                                     const struct archive *archive)
{
    status_t st = STATUS_OK;
    const struct sample_type *type = &sample_types[archive->format];
    double value = archive->missing_value;
    int holds = (value >= type->least && value <= type->most &&
                 (type->is_float || value == floor(value))) ||
                (type->is_float && !isfinite(value));
    char expected[80] = "a 32-bit floating point number";
    if (!type->is_float) {
        snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", type->least,
                 type->most);
    }
    REQUIRE(!archive->has_missing_value || holds, *keys ? STATUS_USAGE : STATUS_DATA,
            "%s: %smissing_value is %.9g, expected %s, %s", where, keys, value, expected,
            type->is_pair ? "the packed byte" : "as its samples are");
out:
    return st;
}

/* Complex or real follows from type, axes and packing; what the file or job says must agree. */
static status_t dataset_settle_domain(const struct job_layout *layout, const char *where,
                                      struct archive *archive)
{
    status_t st = STATUS_OK;
    int has_pairs = archive->is_compound || archive->format == SAMPLE_I4;
    REQUIRE(!has_pairs || !archive->present[AXIS_REIM], STATUS_DATA,
            "%s: its elements are complex already, yet axes names reim", where);
    archive->is_complex = has_pairs || archive->present[AXIS_REIM];
    REQUIRE(!layout->has_domain || layout->is_complex == archive->is_complex, STATUS_DATA,
            "%s: domain says %s, but the samples are %s (%s)", where,
            layout->is_complex ? "complex" : "real", archive->is_complex ? "complex" : "real",
            has_pairs                     ? "pairs"
            : archive->present[AXIS_REIM] ? "axis reim"
                                          : "no axis reim, no pairs");
    REQUIRE(archive->is_complex || archive->oversampling_num == archive->oversampling_den,
            STATUS_DATA, "%s: real samples cannot be oversampled coarse channels (%u/%u)", where,
            archive->oversampling_num, archive->oversampling_den);
out:
    return st;
}

status_t dataset_take_words(const struct job_layout *layout, struct archive *archive)
{
    status_t st = STATUS_OK;
    TRY(memory_text(layout->dataset, &archive->dataset));
    TRY(memory_text(layout->telescope, &archive->telescope));
    TRY(memory_text(layout->source, &archive->source));
    archive->has_start = layout->has_start;
    archive->start = layout->start;
    archive->sample_rate_hz = layout->sample_rate_hz;
    archive->nibbles = layout->nibbles;
    archive->has_missing_value = layout->has_missing_value;
    archive->missing_value = layout->missing_value;
    archive->scale = layout->has_scale ? layout->scale : 1;
    archive->sideband = layout->has_sideband ? layout->sideband : 1;
    archive->oversampling_num = layout->has_oversampling ? layout->oversampling_num : 1;
    archive->oversampling_den = layout->has_oversampling ? layout->oversampling_den : 1;
    archive->stacked = layout->files_along;
    if (layout->nfreq > 0) {
        TRY(memory_zeroed(layout->nfreq, sizeof *archive->freq_hz, "frequencies",
                          &archive->freq_hz));
        memcpy(archive->freq_hz, layout->freq_hz, layout->nfreq * sizeof *archive->freq_hz);
    }
out:
    return st;
}

/* Whether a number on disk fills its bytes: HDF5 knows integers with fewer bits, or shifted ones,
 * and floats of other makes than IEEE's. */
static int dataset_is_plain_number(hid_t type)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        return H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0;
    }
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && H5Tget_offset(type) == 0;
}

/* Whether an element on disk is just what the reader hands out, byte order aside. */
static int dataset_is_dense(hid_t dataset, const struct archive *archive)
{
    hid_t type = H5Dget_type(dataset);
    hid_t number = archive->is_compound ? H5Tget_member_type(type, 0) : H5Tcopy(type);
    int dense = H5Tget_size(type) == archive->element_bytes && dataset_is_plain_number(number);
    if (dense && archive->is_compound) {
        dense = H5Tget_member_offset(type, 0) == 0;
    }
    h5_close(number);
    h5_close(type);
    return dense;
}

/* Finds where the bytes of the dataset lie in files; part->nextents stays 0 when they must be read
 * through HDF5. Checks that files are as long as they must be, notes them all in part->storage, and
 * what nobody has written or can have in part->boxes. */
static status_t dataset_locate(hid_t dataset, const struct archive *archive,
                               struct archive_part *part)
{
    status_t st = STATUS_OK;
    depot_t *depot = NULL;
    struct depot_found found = {.chunk_bytes = 0};
    const struct depot_spec spec = {.path = part->path,
                                    .name = archive->dataset,
                                    .found = &part->storage,
                                    .along = (int)archive->time_dim};
    TRY(depot_open(&spec, &depot));
    TRY(depot_search(depot, &found));
    TRY(lost_find_boxes(&found.lost, &part->boxes, &part->nboxes));
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

status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    char where[1200];
    struct archive_part *part = &archive->parts[0];
    snprintf(where, sizeof where, "%s: %s", part->path, layout->dataset);
    TRY(dataset_open(file, part->path, layout->dataset, &dataset));
    TRY(dataset_take_words(layout, archive));
    TRY(dataset_read_axes(dataset, where, layout->axes, archive));
    TRY(dataset_read_type(dataset, where, layout->has_packing, archive));
    TRY(dataset_settle_domain(layout, where, archive));
    TRY(dataset_check_missing_value(where, keys, archive));
    part->samples = archive->count[AXIS_TIME];
    TRY(dataset_locate(dataset, archive, part));
    h5_try_chunks(dataset, part->path, layout->dataset);
out:
    h5_close(dataset);
    return st;
}
