/* Makes files in the native layout: one dataset of voltages, its axes and frequencies. */
#include "product/voltages_parts.h"

#include "base/memory.h"
#include "base/text.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_file.h"
#include "io/hdf5/h5_scales.h"
#include "product/kind/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hid_t voltages_number_type(const struct voltages_spec *spec)
{
    if (spec->packing && spec->packing->bits > 0) {
        return spec->packing->bits > 8 ? H5T_STD_U16LE : H5T_STD_U8LE;
    }
    switch (spec->format) {
    case SAMPLE_I4:
        return H5T_STD_U8LE;
    case SAMPLE_I8:
        return H5T_STD_I8LE;
    case SAMPLE_I16:
        return H5T_STD_I16LE;
    default:
        return H5T_IEEE_F32LE;
    }
}

static status_t voltages_put_root(hid_t file, const struct voltages_spec *spec)
{
    status_t st = STATUS_OK;
    TRY(h5_put_text(file, "format", "voltage"));
    const struct voltages_packing *packing = spec->packing;
    int is_of_levels =
        packing && packing->bits > 0 && (packing->has_levels || packing->name == NULL);
    TRY(h5_put_i32(file, "format_version", is_of_levels ? 4 : spec->scale == 1 ? 1 : 2));
    if (spec->has_start) {
        TRY(h5_put_i32(file, "start_mjd_day", spec->start.mjd_day));
        TRY(h5_put_f64(file, "start_second", spec->start.second));
        TRY(h5_put_text(file, "time_scale", "UTC"));
    }
    if (spec->telescope) {
        TRY(h5_put_text(file, "telescope", spec->telescope));
    }
    if (spec->source) {
        TRY(h5_put_text(file, "source", spec->source));
    }
    if (spec->has_position) {
        TRY(h5_put_f64(file, "ra_deg", spec->ra_deg));
        TRY(h5_put_f64(file, "dec_deg", spec->dec_deg));
    }
out:
    return st;
}

/* /voltages with its words; `axes` comes back for the scales. */
static status_t voltages_put_samples(hid_t file, const struct voltages_spec *spec,
                                     struct text *axes, hid_t *out)
{
    status_t st = STATUS_OK;
    hsize_t dims[AXIS_KINDS] = {0};
    uint64_t counts[AXIS_KINDS] = {0};
    int rank = 0;
    int is_packed = spec->packing && spec->packing->bits > 0;
    TRY(voltages_name_axes(spec, axes, counts, &rank));
    for (int i = 0; i < rank; i++) {
        dims[i] = counts[i];
    }
    TRY(h5_create_placeless(file, "voltages", voltages_number_type(spec), rank, dims, out));
    TRY(h5_put_text(*out, "axes", axes->data));
    TRY(h5_put_f64(*out, "sample_rate_hz", spec->sample_rate_hz));
    TRY(h5_put_text(*out, "domain", spec->is_complex ? "complex" : "real"));
    TRY(h5_put_i32(*out, "sideband", spec->sideband));
    if (spec->scale != 1) {
        TRY(h5_put_f64(*out, "scale", spec->scale));
    }
    if (spec->oversampling_num != spec->oversampling_den) {
        TRY(h5_put_i32(*out, "oversampling_num", (int32_t)spec->oversampling_num));
        TRY(h5_put_i32(*out, "oversampling_den", (int32_t)spec->oversampling_den));
    }
    if (is_packed && spec->packing->name) {
        TRY(h5_put_text(*out, "packing", spec->packing->name));
    } else if (is_packed) {
        TRY(h5_put_f64(*out, "offset", spec->packing->offset));
    }
    if (spec->format == SAMPLE_I4) {
        const struct nibbles nibbles = {.offset_binary = 0, .high_is_real = 1};
        TRY(h5_put_text(*out, "packing", nibbles_name(spec->nibbles ? *spec->nibbles : nibbles)));
    }
    if (spec->has_missing_value) {
        TRY(h5_put_f64(*out, "missing_value", spec->missing_value));
    }
out:
    return st;
}

/* But not to a dimension that joins several axes, or of which an element holds several numbers. */
static status_t voltages_attach(hid_t voltages, hid_t scale, const char *axes, const char *name,
                                hsize_t count)
{
    status_t st = STATUS_OK;
    unsigned dim = 0;
    hsize_t dims[AXIS_KINDS] = {0};
    const char *end = strstr(axes, name);
    hid_t space = H5Dget_space(voltages);
    for (const char *c = axes; c < end; c++) {
        dim += *c == ',';
    }
    H5_TRY(H5Sget_simple_extent_dims(space, dims, NULL), "the shape of its samples cannot be read");
    TRY(h5_make_scale(scale, name));
    if (dims[dim] == count && end[strlen(name)] != ':') {
        TRY(h5_attach_scale(voltages, scale, name, (int)dim));
    }
out:
    h5_close(space);
    return st;
}

static status_t voltages_put_frequencies(hid_t file, hid_t voltages,
                                         const struct voltages_spec *spec, const char *axes)
{
    status_t st = STATUS_OK;
    hid_t scale = -1;
    hsize_t count = spec->axes[AXIS_CHAN].count;
    TRY(parts_dataset(file, "freq_hz", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &count, spec->freq_hz,
                      &scale));
    TRY(voltages_attach(voltages, scale, axes, "chan", count));
out:
    h5_close(scale);
    return st;
}

static status_t voltages_put_names(hid_t file, hid_t voltages, const char *axes, enum axis axis,
                                   const struct voltages_axis *of)
{
    status_t st = STATUS_OK;
    enum { LEAST_WIDTH = 12 };
    hid_t scale = -1;
    hid_t type = H5Tcopy(H5T_C_S1);
    char *names = NULL;
    const char *name = axis_name(axis);
    hsize_t count = of->count;
    size_t width = LEAST_WIDTH;
    if (!of->names) {
        goto out;
    }
    for (uint32_t i = 0; i < of->count; i++) {
        width = max_u64(width, strlen(of->names[i]) + 1);
    }
    H5_TRY(H5Tset_size(type, width), "%s cannot be made", name);
    TRY(memory_zeroed(of->count, width, "names", &names));
    for (uint32_t i = 0; i < of->count; i++) {
        memcpy(names + i * width, of->names[i], strlen(of->names[i]));
    }
    TRY(parts_dataset(file, name, type, type, 1, &count, names, &scale));
    TRY(voltages_attach(voltages, scale, axes, name, count));
out:
    free(names);
    h5_close(scale);
    h5_close(type);
    return st;
}

static status_t voltages_put_gaps(hid_t file, const struct voltages_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t gaps = -1;
    const hsize_t dims[2] = {spec->ngaps, spec->stream_gaps ? 3 : 2};
    const void *list = spec->stream_gaps ? (const void *)spec->stream_gaps : spec->gaps;
    if (spec->ngaps > 0) {
        TRY(parts_dataset(file, "gaps", H5T_STD_U64LE, H5T_NATIVE_UINT64, 2, dims, list, &gaps));
    }
out:
    h5_close(gaps);
    return st;
}

static status_t voltages_put_levels(hid_t file, const struct voltages_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t levels = -1;
    if (spec->packing && spec->packing->has_levels) {
        const hsize_t count = (hsize_t)1 << spec->packing->bits;
        TRY(parts_dataset(file, "levels", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 1, &count,
                          spec->packing->levels, &levels));
    }
out:
    h5_close(levels);
    return st;
}

status_t voltages_describe(hid_t file, const struct voltages_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t voltages = -1;
    struct text axes = {0};
    TRY(voltages_put_root(file, spec));
    TRY(voltages_put_samples(file, spec, &axes, &voltages));
    TRY(voltages_put_frequencies(file, voltages, spec, axes.data));
    TRY(voltages_put_names(file, voltages, axes.data, AXIS_POL, &spec->axes[AXIS_POL]));
    TRY(voltages_put_names(file, voltages, axes.data, AXIS_STATION, &spec->axes[AXIS_STATION]));
    TRY(voltages_put_levels(file, spec));
    TRY(voltages_put_gaps(file, spec));
out:
    text_free(&axes);
    h5_close(voltages);
    return st;
}

status_t voltages_finish(hid_t file, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place)
{
    status_t st = STATUS_OK;
    hid_t voltages = -1;
    TRY(h5_place_last(file, "voltages"));
    voltages = H5Dopen2(file, "voltages", H5P_DEFAULT);
    H5_TRY(voltages, "%s: its samples cannot be opened", path ? path : "voltages");
    haddr_t offset = h5_offset(voltages);
    REQUIRE(offset != HADDR_UNDEF, STATUS_DATA, "%s: its samples have no place",
            path ? path : "voltages");
    place->data_offset = offset;
    place->step_bytes = sample_bytes(spec->format, spec->is_complex);
    for (int i = AXIS_STATION; i <= AXIS_CHAN; i++) {
        place->step_bytes *= spec->axes[i].count;
    }
    h5_close(voltages);
    voltages = -1;
    hid_t whole = file;
    file = -1;
    TRY(h5_file_finish(whole, &place->file_bytes));
out:
    h5_close(voltages);
    h5_close(file);
    return st;
}

status_t voltages_create(int fd, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    TRY(h5_file_create(fd, path, MARK_SYNTH, &file));
    TRY(voltages_describe(file, spec));
    hid_t whole = file;
    file = -1;
    TRY(voltages_finish(whole, path, spec, place));
out:
    h5_close(file);
    return st;
}
