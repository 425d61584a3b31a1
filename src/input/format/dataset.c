/* From a description and the dataset in the file to what the samples are, where they are, and
 * whether they can be read without HDF5. */
#include "input/format/dataset.h"
#include "input/format/formats.h"

#include "base/memory.h"
#include "base/units.h"
#include "input/about.h"
#include "input/format/fields.h"
#include "input/format/said.h"
#include "input/hdf5/links.h"
#include "input/hdf5/stored.h"
#include "input/lost.h"
#include "input/read/numbers.h"
#include "io/apart.h"
#include "job/job_layout.h"
#include "job/yaml/tree.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Samples of a dataset: from HDF5's types and the packing to numbers as they are stored. */

/* Numbers in an element, along the innermost dimension: those of less than 8 bits are several. */
static uint32_t dataset_numbers_in_element(const struct job_layout *layout)
{
    uint32_t bits = layout->numbers.has_packing ? layout->numbers.packing.bits : 0;
    return bits > 0 && bits < 8 ? 8 / bits : 1;
}

void dataset_set_packing(const struct packing *packing, const double *levels,
                         struct archive_number *number)
{
    number->bits = packing->bits;
    number->is_high_bit_first = packing->is_high_bit_first;
    number->kind = packing->is_offset ? NUMBER_UNSIGNED : NUMBER_SIGNED;
    number->offset = packing->is_offset ? (double)(UINT64_C(1) << (packing->bits - 1)) : 0;
    if (levels || (packing->is_offset && packing->bits <= 2)) {
        number->kind = NUMBER_LEVELS;
        number->offset = 0;
        memcpy(number->levels, levels ? levels : packing_levels[packing->bits - 1],
               sizeof(double) << packing->bits);
    }
}

/* 4 + 4 bits, or numbers of another packing: in integers of as many bits as they have, those of
 * fewer than 8 in bytes. */
static status_t dataset_read_packed_type(hid_t type, const char *where,
                                         const struct job_layout *layout, struct archive *archive)
{
    const struct packing *packing = &layout->numbers.packing;
    H5T_class_t class = H5Tget_class(type);
    size_t bits = packing->bits > 8 ? packing->bits : 8;
    REQUIRE(class == H5T_INTEGER && 8 * H5Tget_size(type) == bits &&
                (packing->bits >= 8 || !archive->stored.is_compound),
            STATUS_DATA, "%s: packing needs %zu-bit elements, found %zu-bit %s", where, bits,
            8 * H5Tget_size(type), class == H5T_INTEGER ? "integers" : "elements of another kind");
    if (packing->bits == 0) {
        archive->format = SAMPLE_I4;
        return STATUS_OK;
    }
    REQUIRE(layout->numbers.nlevels == 0 || layout->numbers.nlevels == UINT64_C(1) << packing->bits,
            STATUS_DATA, "%s: there are %u levels, expected %llu of %u %s", where,
            layout->numbers.nlevels, 1ull << packing->bits, packing->bits,
            units_plural(packing->bits, "bit", "bits"));
    dataset_set_packing(packing, layout->numbers.nlevels > 0 ? layout->numbers.levels : NULL,
                        &archive->stored.number);
    return STATUS_OK;
}

int dataset_is_half(hid_t type)
{
    size_t sign = 0;
    size_t exponent = 0;
    size_t exponent_bits = 0;
    size_t mantissa = 0;
    size_t mantissa_bits = 0;
    H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
    return H5Tget_size(type) == 2 && sign == 15 && exponent == 10 && exponent_bits == 5 &&
           mantissa == 0 && mantissa_bits == 10 && H5Tget_ebias(type) == 15 &&
           H5Tget_norm(type) == H5T_NORM_IMPLIED && H5Tget_offset(type) == 0;
}

/* The size of a number as all machines have it: what HDF5 makes of it, where it is none of these.
 */
static uint32_t dataset_number_bits(hid_t type)
{
    size_t size = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_FLOAT) {
        return dataset_is_half(type) ? 16 : size <= 4 ? 32 : 64;
    }
    return size <= 1 ? 8 : size <= 2 ? 16 : size <= 4 ? 32 : 64;
}

/* Reads the type of a number, or of one of the two in a compound. */
static status_t dataset_read_number_type(hid_t type, const char *where,
                                         const struct job_layout *layout, struct archive *archive)
{
    struct archive_number *number = &archive->stored.number;
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    number->is_big_endian = size > 1 && H5Tget_order(type) == H5T_ORDER_BE;
    if (layout->numbers.has_packing) {
        return dataset_read_packed_type(type, where, layout, archive);
    }
    REQUIRE(class == H5T_INTEGER || class == H5T_FLOAT, STATUS_DATA,
            "%s contains %zu-bit elements that are no numbers; expected integers, floating point "
            "numbers, or pairs of these",
            where, 8 * size);
    REQUIRE(size <= 16, STATUS_DATA, "%s contains numbers of %zu bits: that is absurd", where,
            8 * size);
    REQUIRE(class == H5T_INTEGER || !layout->numbers.has_offset, STATUS_DATA,
            "%s contains floating point numbers, which have no offset", where);
    number->bits = dataset_number_bits(type);
    number->kind = class == H5T_FLOAT               ? NUMBER_FLOAT
                   : H5Tget_sign(type) == H5T_SGN_2 ? NUMBER_SIGNED
                                                    : NUMBER_UNSIGNED;
    number->offset = layout->numbers.has_offset ? layout->numbers.offset : 0;
    return STATUS_OK;
}

/* HDF5 opens compounds with members that are outside of them, and crashes when it reads them. */
static int dataset_has_two_places(hid_t type, size_t number_bytes)
{
    size_t bytes = H5Tget_size(type);
    size_t first = H5Tget_member_offset(type, 0);
    size_t second = H5Tget_member_offset(type, 1);
    size_t low = first < second ? first : second;
    size_t high = first < second ? second : first;
    return number_bytes <= bytes && high <= bytes - number_bytes && high - low >= number_bytes;
}

/* Checks that the members do not name the imaginary part first: read as they are, such samples
 * would be conjugates times i, with the band reversed. A job that states the sideband knows. */
static status_t dataset_check_parts(hid_t type, const char *where, const struct job_layout *layout)
{
    static const char *const turned[][2] = {
        {"imag", "real"}, {"imaginary", "real"}, {"im", "re"}, {"i", "r"}, {"q", "i"}};
    char *first = H5Tget_member_name(type, 0);
    char *second = H5Tget_member_name(type, 1);
    int is_turned = 0;
    for (size_t i = 0; first && second && i < sizeof turned / sizeof *turned; i++) {
        is_turned |= strcasecmp(first, turned[i][0]) == 0 && strcasecmp(second, turned[i][1]) == 0;
    }
    status_t st = REQUIRED(!is_turned || layout->has_sideband, STATUS_DATA,
                           "%s: its compound has %s before %s, expected the real part first: with "
                           "input.layout.sideband, the opposite of what it is, they are read as "
                           "conjugates",
                           where, first, second);
    H5free_memory(first);
    H5free_memory(second);
    return st;
}

/* Sets is_compound and number, or (4 + 4 bits) format, as samples are stored: numbers_settle() says
 * what is handed out. Fails with DATA. */
static status_t dataset_read_type(hid_t dataset, const char *where, const struct job_layout *layout,
                                  struct archive *archive)
{
    SCOPED(h5_close_at) hid_t second = -1;
    SCOPED(h5_close_at) hid_t number = -1;
    SCOPED(h5_close_at) hid_t type = H5Dget_type(dataset);
    H5_TRY(type, "%s: its type cannot be read", where);
    archive->stored.is_compound = H5Tget_class(type) == H5T_COMPOUND;
    archive->format = SAMPLE_F32; /* unless they are pairs of 4 bits: numbers_settle() finds it */
    if (archive->stored.is_compound) {
        REQUIRE(H5Tget_nmembers(type) == 2, STATUS_DATA,
                "%s: its compound has %d %s, expected 2 (real, imaginary)", where,
                H5Tget_nmembers(type),
                units_plural((uint64_t)H5Tget_nmembers(type), "member", "members"));
        number = H5Tget_member_type(type, 0);
        second = H5Tget_member_type(type, 1);
        REQUIRE(H5Tequal(number, second) > 0, STATUS_DATA,
                "%s: the two members of its compound differ in type", where);
        REQUIRE(dataset_has_two_places(type, H5Tget_size(number)), STATUS_DATA,
                "%s: the members of its compound, at bytes %zu and %zu of %zu, are not side by "
                "side in it",
                where, H5Tget_member_offset(type, 0), H5Tget_member_offset(type, 1),
                H5Tget_size(type));
        TRY(dataset_check_parts(type, where, layout));
    } else {
        number = H5Tcopy(type);
    }
    return dataset_read_number_type(number, where, layout, archive);
}

/* Reports attributes by which netCDF and xarray change what numbers mean, unless the job has the
 * key beside it. Nothing here applies them. */
static status_t dataset_note_unused(hid_t dataset, const struct job_layout *layout, char **assumed)
{
    const struct job_layout_numbers *numbers = &layout->numbers;
    const struct {
        const char *name, *key;
        double plain; /* the number that changes nothing */
        int is_settled;
    } unused[] = {{"scale_factor", "scale", 1, numbers->has_scale},
                  {"add_offset", "offset", 0, numbers->has_offset},
                  {"_FillValue", "missing_value", NAN, numbers->has_missing_value},
                  {"missing_value", "missing_value", NAN, numbers->has_missing_value}};
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        const char *name = unused[i].name;
        double number = NAN;
        SCOPED(h5_close_at)
        hid_t attribute =
            H5Aexists(dataset, name) > 0 ? H5Aopen(dataset, name, H5P_DEFAULT) : H5I_INVALID_HID;
        SCOPED(h5_close_at)
        hid_t type = attribute < 0 ? H5I_INVALID_HID : H5Aget_type(attribute);
        const H5T_class_t kind = attribute < 0 ? H5T_NO_CLASS : H5Tget_class(type);
        if ((kind == H5T_INTEGER || kind == H5T_FLOAT) &&
            H5Aget_storage_size(attribute) == H5Tget_size(type)) { /* one number */
            number = H5Aread(attribute, H5T_NATIVE_DOUBLE, &number) < 0 ? NAN : number;
        }
        TRY(assume_if(isfinite(number) && number != unused[i].plain && !unused[i].is_settled,
                      assumed, "attribute %s = %.9g of %s is not used: input.layout.%s applies it",
                      name, number, layout->dataset, unused[i].key));
    }
    return STATUS_OK;
}

/* A missing value that no sample can have would be ignored silently: before numbers_settle(). Fails
 * with USAGE when the job says it, with DATA when the file does. */
static status_t dataset_check_missing_value(const char *where, const char *keys,
                                            const struct archive *archive)
{
    const struct archive_number *number = &archive->stored.number;
    const struct sample_type *type = &sample_types[archive->format];
    int is_plain = number->kind == NUMBER_PLAIN;
    int is_pair = is_plain && type->is_pair;
    int is_float = is_plain ? type->is_float : number->kind == NUMBER_FLOAT;
    int is_signed = is_plain ? !is_pair : number->kind == NUMBER_SIGNED;
    int bits = is_plain ? 8 * (int)type->bytes : (int)number->bits;
    double value = archive->stored.missing_value;
    double least = is_float ? -FLT_MAX : is_signed ? -ldexp(1, bits - 1) : 0;
    double most = is_float ? FLT_MAX : ldexp(1, bits - is_signed) - 1;
    int holds = (is_float && (bits == 64 || !isfinite(value))) ||
                (value >= least && value <= most && (is_float || value == floor(value)));
    char expected[80] = "a 32-bit floating point number";
    if (!is_float) {
        snprintf(expected, sizeof expected, "a whole number from %.0f to %.0f", least, most);
    }
    return REQUIRED(!archive->stored.has_missing_value || holds, *keys ? STATUS_USAGE : STATUS_DATA,
                    "%s: %smissing_value is %.9g, expected %s, %s", where, keys, value, expected,
                    is_pair ? "the packed byte" : "as its samples are");
}

/* Complex or real follows from type, axes and packing; what the file or job says must agree. */
static status_t dataset_settle_domain(const struct job_layout *layout, const char *where,
                                      struct archive *archive)
{
    int has_pairs = archive->stored.is_compound || archive->format == SAMPLE_I4;
    REQUIRE(!has_pairs || !archive->present[AXIS_REIM], STATUS_DATA,
            "%s: its elements are complex already, yet axes names reim", where);
    int is_half = layout->parts[0] || layout->is_reim_along;
    REQUIRE(!is_half || (!has_pairs && !archive->present[AXIS_REIM]), STATUS_DATA,
            "%s: its elements are complex already, expected real or imaginary parts", where);
    archive->is_complex = has_pairs || archive->present[AXIS_REIM] || is_half;
    REQUIRE(!layout->has_domain || layout->is_complex == archive->is_complex, STATUS_DATA,
            "%s: domain says %s, but the samples are %s (%s)", where,
            layout->is_complex ? "complex" : "real", archive->is_complex ? "complex" : "real",
            has_pairs                     ? "pairs"
            : archive->present[AXIS_REIM] ? "axis reim"
                                          : "no axis reim, no pairs");
    return REQUIRED(archive->is_complex || archive->oversample.num == archive->oversample.den,
                    STATUS_DATA, "%s: real samples cannot be oversampled coarse channels (%u/%u)",
                    where, archive->oversample.num, archive->oversample.den);
}

/* Whether a number on disk fills its bytes, and is one that all machines have: HDF5 knows integers
 * with fewer bits, or shifted ones, and floats of other makes than IEEE's. */
static int dataset_is_plain_number(hid_t type, uint32_t bits)
{
    if (H5Tget_class(type) == H5T_FLOAT) {
        const hid_t plain[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            if (H5Tequal(type, plain[i]) > 0) {
                return 1;
            }
        }
        return bits == 16 && dataset_is_half(type);
    }
    size_t bytes = H5Tget_size(type);
    return 8 * bytes == (bits < 8 ? 8 : bits) && H5Tget_precision(type) == 8 * bytes &&
           H5Tget_offset(type) == 0;
}

/* Whether elements on disk are just the numbers that archive->number describes, or SAMPLE_I4's. */
static int dataset_is_dense(hid_t dataset, const struct archive *archive)
{
    hid_t type = H5Dget_type(dataset);
    hid_t number = archive->stored.is_compound ? H5Tget_member_type(type, 0) : H5Tcopy(type);
    uint32_t bits = archive->format == SAMPLE_I4 ? 8 : archive->stored.number.bits;
    int dense = H5Tget_size(type) == (archive->stored.is_compound ? 2 : 1) * H5Tget_size(number) &&
                dataset_is_plain_number(number, bits);
    if (dense && archive->stored.is_compound) {
        dense = H5Tget_member_offset(type, 0) == 0;
    }
    h5_close(number);
    h5_close(type);
    return dense;
}

status_t dataset_open(hid_t file, const char *path, const char *name, hid_t *out)
{
    SCOPED(text_free) struct text names = {0};
    SCOPED(h5_close_at) hid_t dataset = -1;
    int is_there = 0;
    const struct links_request request = {.file = file, .path = path, .name = name};
    apart_at("%s: %s", path, name);
    TRY(links_open(&request, &dataset, &is_there));
    if (!is_there || H5Iget_type(dataset) != H5I_DATASET) {
        TRY(holds_names(file, path, &names));
        return report_fail(STATUS_DATA, "%s contains no dataset %s; it contains %s", path, name,
                           names.length ? names.data : "none at all");
    }
    TRY(h5_require_header(dataset, name));
    *out = h5_move(&dataset);
    return STATUS_OK;
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
    return STATUS_OK;
}

static status_t dataset_read_axes(hid_t dataset, const char *where, const char *axes_text,
                                  uint32_t in_byte, uint64_t *pieces, struct archive *archive)
{
    struct axes_text axes;
    char message[200];
    char shape[160];
    hsize_t dims[H5S_MAX_RANK] = {0};
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset);
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
        REQUIRE(dims[i] > 0, STATUS_DATA, "%s contains no samples: its shape is %s", where, shape);
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
    return REQUIRED(!archive->present[AXIS_REIM] || archive->count[AXIS_REIM] == 2, STATUS_DATA,
                    "%s: axis reim has %" PRIu64 " elements, expected 2 (shape %s)", where,
                    archive->count[AXIS_REIM], shape);
}

status_t dataset_take_words(const struct job_layout *layout, struct archive *archive)
{
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
    archive->oversample = override_ratio(layout);
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
    return STATUS_OK;
}

/* Finds where the bytes of the dataset are in files; part->nextents stays 0 when they must be read
 * through HDF5. Checks that files are as long as they must be, notes them all in part->storage, and
 * missing elements in part->boxes. */
static status_t dataset_locate(hid_t dataset, const struct archive *archive, uint32_t in_element,
                               struct archive_part *part)
{
    uint32_t ndims = archive->shape.dims[archive->shape.ndims - 1].dimension + 1;
    SCOPED(depot_close_at) depot_t *depot = NULL;
    SCOPED(depot_found_free) struct depot_found found = {.chunk_bytes = 0};
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
    part->work_bytes = found.work_bytes;
    part->row_bytes = found.row_bytes;
    part->index_bytes = found.index_bytes;
    part->file_bytes = sources_bytes(&part->storage.sources);
    return STATUS_OK;
}

/* Time in two dimensions: each index of the outermost is a piece of a run, which is lost as a
 * whole.
 */
static status_t dataset_cut_pieces(const char *where, uint64_t pieces, uint64_t steps,
                                   uint32_t time_dim, struct archive_part *part)
{
    uint64_t bytes = 0;
    uint64_t first = 0;
    for (uint32_t i = 0; i < part->nboxes; i++) {
        struct lost_box box = {.why = part->boxes[i].why};
        memset(box.high, 0xff, sizeof box.high);
        box.low[time_dim] = part->boxes[i].low[0] * steps;
        box.high[time_dim] = part->boxes[i].high[0] * steps;
        part->boxes[i] = box;
    }
    for (uint32_t i = 0; i < part->nextents; i++) {
        bytes += part->extents[i].bytes;
    }
    uint64_t piece = bytes / pieces;
    REQUIRE(part->nextents > 0 && bytes % pieces == 0 && piece > 0, STATUS_DATA,
            "%s: time in two dimensions is read where samples are in one piece, these are chunked, "
            "compressed or of an odd type",
            where);
    for (uint32_t i = 0; i < part->nextents; i++) {
        const struct archive_extent *extent = &part->extents[i];
        const struct archive_run run = {.file_offset = extent->file_offset,
                                        .piece_bytes = piece,
                                        .pieces = extent->bytes / piece,
                                        .first_sample = first,
                                        .steps = steps,
                                        .stored = steps};
        REQUIRE(extent->bytes % piece == 0, STATUS_DATA,
                "%s: a piece of time is not in one file: it has %" PRIu64 " bytes, %s %" PRIu64,
                where, piece, extent->path, extent->bytes);
        TRY(archive_add_run(part, extent->path, &run));
        first += run.pieces * steps;
    }
    archive_drop_extents(part);
    return STATUS_OK;
}

status_t dataset_settle_frequencies(const struct job_layout *layout, const char *where,
                                    struct archive *archive)
{
    const struct job_frequencies *of = &layout->freq.rule;
    uint64_t chans = archive->count[AXIS_CHAN];
    if (of->from || of->attribute) {
        REQUIRE(layout->freq.count == chans, STATUS_DATA,
                "%s: %s contains %u frequencies, expected one for each of %" PRIu64
                " coarse channels",
                where, of->from ? of->from : of->attribute, layout->freq.count, chans);
        archive->states.freq = 1;
    } else if (of->has_start) {
        TRY(memory_zeroed(chans, sizeof *archive->freq_hz, "frequencies", &archive->freq_hz));
        for (uint64_t i = 0; i < chans; i++) {
            archive->freq_hz[i] = of->start + (double)i * of->step;
        }
    }
    return STATUS_OK;
}

static status_t dataset_describe_said(hid_t file, const struct job_layout *layout, const char *keys,
                                      struct archive *archive)
{
    SCOPED(h5_close_at) hid_t dataset = -1;
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
    TRY(dataset_note_unused(dataset, layout, &archive->assumed));
    uint64_t steps = archive->count[AXIS_TIME];
    archive->count[AXIS_TIME] *= pieces > 0 ? pieces : 1;
    part->samples = archive->count[AXIS_TIME];
    if (layout->said[SAID_FIRST_SAMPLE].attribute) {
        part->first_sample = layout->time.first_sample[0];
    }
    TRY(layout->parts[0] ? memory_text(layout->dataset, &part->dataset) : STATUS_OK);
    TRY(dataset_locate(dataset, archive, dataset_numbers_in_element(layout), part));
    TRY(pieces > 0 ? dataset_cut_pieces(where, pieces, steps, archive->shape.time_dim, part)
                   : STATUS_OK);
    TRY(numbers_settle(archive));
    h5_try_chunks(dataset, part->path, layout->dataset);
    return STATUS_OK;
}

enum { MOST_VALUES = 1 << 24 };

/* Values of the file: an attribute's or a dataset's. said_close() in any case. */
struct said_values {
    const char *where;     /* "PATH@NAME" or "PATH" of `file`, for messages */
    const char *path;      /* of the file */
    hid_t object;          /* that has the attribute; below 0: there is none */
    const char *attribute; /* its name; NULL: a dataset */
    struct h5_dataset data;
};

SCOPED_CALLS(said_close, struct said_values, h5_dataset_close(&at->data), h5_close(at->object))

static status_t said_note(void *context, const char *path, const char *from)
{
    return sources_add(context, path, SOURCE_LINKED, from);
}

/* Opens the object at `name`, of which `length` characters count. */
static status_t said_open_object(hid_t file, const struct said_values *values, const char *name,
                                 size_t length, struct storage *storage, hid_t *out)
{
    SCOPED(text_free) struct text object = {0};
    int is_there = 0;
    TRY(text_add(&object, "%.*s", (int)length, name));
    apart_at("%s: %s", values->path, object.data);
    const struct links_request request = {.file = file,
                                          .path = values->path,
                                          .name = object.data,
                                          .note = said_note,
                                          .context = &storage->sources};
    TRY(links_open(&request, out, &is_there));
    return REQUIRED(is_there, STATUS_DATA, "%s: %s: there is no %s", values->path, values->where,
                    object.data);
}

/* Opens the attribute or dataset; `where` and `path` of *values are set. */
static status_t said_open(hid_t file, const char *dataset, struct storage *storage,
                          struct said_values *values)
{
    struct h5_dataset *data = &values->data;
    const char *at = strrchr(values->where, '@');
    const char *name = at == values->where && dataset ? dataset : values->where;
    size_t length = at && name == values->where ? (size_t)(at - name) : strlen(name);
    values->attribute = at ? at + 1 : NULL;
    TRY(at ? STATUS_OK : stored_require_whole(values->path, values->where, storage));
    TRY(said_open_object(file, values, name, length, storage, &values->object));
    if (at) {
        TRY(h5_attribute_open(values->object, values->path, at + 1, data));
        REQUIRE(data->id > 0, STATUS_DATA, "%s: %s: there is no attribute %s", values->path,
                values->where, at + 1);
    } else {
        REQUIRE(H5Iget_type(values->object) == H5I_DATASET, STATUS_DATA, "%s: %s is no dataset",
                values->path, values->where);
        TRY(h5_dataset_of(h5_move(&values->object), values->path, data));
    }
    return REQUIRED(data->count >= 1 && data->count <= MOST_VALUES, STATUS_DATA,
                    "%s: %s contains %llu values", values->path, values->where,
                    (unsigned long long)data->count);
}

/* All values, of a compound a member, as doubles; for free() in any case. */
static status_t said_read_numbers(const struct said_values *values, const char *member,
                                  double **out)
{
    const struct h5_dataset *data = &values->data;
    SCOPED(text_free) struct text where = {0};
    SCOPED(h5_close_at) hid_t type = -1;
    int is_compound = H5Tget_class(data->type) == H5T_COMPOUND;
    REQUIRE(is_compound == (member != NULL), STATUS_DATA,
            is_compound ? "%s: %s contains compounds: say which member%s"
                        : "%s: %s contains no compounds, and so no member %s",
            values->path, values->where, member ? member : "");
    TRY(text_add(&where, "%s: %s", values->path, values->where));
    TRY(h5_number_type(data->type, where.data, member, H5T_NATIVE_DOUBLE, &type));
    TRY(memory_zeroed((size_t)data->count, sizeof **out, values->where, out));
    return H5_TRIED(h5_values_read(data, type, *out), "%s cannot be read", where.data);
}

/* A text as it is, a number as it must be written to be read again: the only one of an attribute,
 * the first of a dataset. */
static status_t said_read_text(hid_t file, const char *dataset, struct storage *storage,
                               struct said_values *values, struct text *out, double *number)
{
    SCOPED(free_at) char *text = NULL;
    SCOPED(free_at) double *numbers = NULL;
    int found = 0;
    *number = NAN;
    TRY(said_open(file, dataset, storage, values));
    if (H5Tget_class(values->data.type) == H5T_STRING) {
        TRY(h5_get_text(values->object, values->path, values->attribute, &text, &found));
        TRY(text_add(out, "%s", found ? text : ""));
    } else {
        TRY(said_read_numbers(values, NULL, &numbers));
        *number = numbers[0];
        const size_t count = values->attribute ? (size_t)values->data.count : 1;
        for (size_t i = 1; i < count; i++) {
            REQUIRE(numbers[i] == *number, STATUS_DATA,
                    "%s: %s contains %zu values, such as %.17g and %.17g, expected one",
                    values->path, values->where, count, *number, numbers[i]);
        }
        int is_whole = fabs(*number) < 0x1p53 && *number == floor(*number);
        TRY(text_add(out, is_whole ? "%.0f" : "%.17g", *number));
    }
    return STATUS_OK;
}

/* Sets the start from a number: MJD or Unix time. */
static status_t said_put_start(const struct said_values *values, double number, enum job_unit unit,
                               struct job_layout *own)
{
    double most = unit == UNIT_UNIX ? 1e11 : 1e6;
    REQUIRE(number >= 0 && number <= most, STATUS_DATA, "%s: %s is %.17g: no time", values->path,
            values->where, number);
    own->time.start = unit == UNIT_MJD ? utc_of_mjd(number) : utc_of_unix(number);
    own->time.has_start = 1;
    return STATUS_OK;
}

static status_t said_fill_value(hid_t file, const char *path, const char *keys,
                                enum job_said_key key, struct job_layout *own,
                                struct storage *storage)
{
    SCOPED(said_close) struct said_values values = {own->said[key].attribute, path, .object = -1};
    enum job_unit unit = own->said[key].unit;
    SCOPED(text_free) struct text text = {0};
    double number = NAN;
    char message[MISTAKE_BYTES];
    char expected[MISTAKE_BYTES];
    int ok = 0;
    const char *name = job_layout_key(key, expected);
    TRY(said_read_text(file, own->dataset ? own->dataset : own->parts[0], storage, &values, &text,
                       &number));
    if (unit == UNIT_UNIX || unit == UNIT_MJD) {
        REQUIRE(isfinite(number), STATUS_DATA, "%s: %s is \"%s\", expected a number", path,
                values.where, text.data);
        TRY(said_put_start(&values, number, unit, own));
        return STATUS_OK;
    }
    if (unit != UNIT_NONE) {
        REQUIRE(isfinite(number) || units_parse_f64(text.data, &number), STATUS_DATA,
                "%s: %s is \"%s\", expected a number", path, values.where, text.data);
        text_free(&text);
        TRY(text_add(&text, "%.17g", number * job_unit_factor(unit)));
    }
    TRY(job_layout_put(own, key, text.data, message, &ok));
    REQUIRE(ok, STATUS_DATA, "%s: %s, which is to say %s%s, is %s%s%s", path, values.where, keys,
            name, text.data, *message ? ": " : ", expected ", *message ? message : expected);
    own->time.has_sample_rate = key == SAID_SAMPLE_PERIOD ? 0 : own->time.has_sample_rate;
    own->time.has_sample_period = key == SAID_SAMPLE_RATE ? 0 : own->time.has_sample_period;
    return STATUS_OK;
}

static status_t said_fill_frequencies(hid_t file, const char *path, struct job_layout *own,
                                      struct storage *storage)
{
    const struct job_frequencies *of = &own->freq.rule;
    SCOPED(said_close)
    struct said_values values = {of->from ? of->from : of->attribute, path, .object = -1};
    const char *dataset = own->dataset ? own->dataset : own->parts[0];
    TRY(said_open(file, dataset, storage, &values));
    free(memory_move(&own->freq.hz));
    TRY(said_read_numbers(&values, of->member, &own->freq.hz));
    double *numbers = own->freq.hz;
    for (size_t i = 0; i < values.data.count; i++) {
        numbers[i] *= job_unit_factor(of->unit);
        REQUIRE(isfinite(numbers[i]) && fabs(numbers[i]) <= 1e15, STATUS_DATA,
                "%s: %s contains %g, expected frequencies up to 1e15 Hz", path, values.where,
                numbers[i]);
    }
    own->freq.count = (uint32_t)values.data.count;
    return STATUS_OK;
}

/* Fills in, of the description `own` of the open file at `path`, what its `said` name; and freq_hz,
 * as many as the file has, where `frequencies` lead into it. Files that hold them are noted in
 * `storage`. `keys` as in dataset_describe(). Fails with DATA: what is not there, is unreadable, or
 * is no such value; with DEVICE (memory, descriptors). */
static status_t said_fill(hid_t file, const char *path, const char *keys, struct job_layout *own,
                          struct storage *storage)
{
    for (int key = 0; key < SAID_KEYS; key++) {
        TRY(own->said[key].attribute
                ? said_fill_value(file, path, keys, (enum job_said_key)key, own, storage)
                : STATUS_OK);
    }
    if (own->freq.rule.from || own->freq.rule.attribute) {
        TRY(said_fill_frequencies(file, path, own, storage));
    }
    return STATUS_OK;
}

status_t dataset_describe(hid_t file, const struct job_layout *layout, const char *keys,
                          struct archive *archive)
{
    SCOPED(override_free) struct job_layout own = {.automatic = 0};
    struct archive_part *part = &archive->parts[0];
    TRY(override_layout(layout, &own));
    TRY(said_fill(file, part->path, keys, &own, &part->storage));
    return dataset_describe_said(file, &own, keys, archive);
}

/* HDF5 files of no known format, as the job's input.layout describes them. */

static status_t described_read(struct fields *f, void *context)
{
    (void)context;
    TRY(memory_text("as described in the job", &f->archive->layout));
    return dataset_describe(f->file, f->layout, "input.layout.", f->archive);
}

const struct format described_format = {.name = "described", .read = described_read};
