/* Scales, root, provenance: what the kinds of products put into a new file alike. */
#include "product/kind/parts.h"

#include "base/memory.h"
#include "product/codec.h"
#include "product/contents.h"
#include "product/kind/dedispersed_kind.h"

#include <math.h>

static const char crc_convention[] =
    "crc32[i] is the CRC-32 (zlib, PNG) of the bytes, as they are stored, of rows i * span_rows to "
    "(i + 1) * span_rows - 1, the last span ending with the last row.";

status_t parts_attach(hid_t file, hid_t data, const char *scale, unsigned dim, const char *label)
{
    SCOPED(h5_close_at) hid_t dataset = H5Dopen2(file, scale, H5P_DEFAULT);
    H5_TRY(dataset, "scale %s cannot be opened", scale);
    TRY(h5_attach_scale(data, dataset, scale, (int)dim));
    return label[0] ? h5_put_label(data, (int)dim, label) : STATUS_OK;
}

status_t parts_make(hid_t at, const struct parts_set *set, hid_t *out)
{
    SCOPED(h5_close_at) hid_t native = H5Tget_native_type(set->type, H5T_DIR_ASCEND);
    TRY(h5_create_dataset(at, set->name, set->type, set->rank, set->dims, out));
    if (set->values) {
        H5_TRY(H5Dwrite(*out, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, set->values),
               "%s cannot be written", set->name);
    }
    TRY(set->is_scale ? h5_make_scale(*out, set->name) : STATUS_OK);
    TRY(h5_put_text(*out, "units", set->units));
    TRY(h5_put_text(*out, "long_name", set->long_name));
    for (unsigned i = 0; i < PARTS_DIMS && set->scales[i]; i++) {
        TRY(parts_attach(at, *out, set->scales[i], i, set->labels[i]));
    }
    return STATUS_OK;
}

status_t parts_put(hid_t at, const struct parts_set *set)
{
    SCOPED(h5_close_at) hid_t dataset = -1;
    return parts_make(at, set, &dataset);
}

status_t parts_write(hid_t dataset, const char *name, hid_t type, int rank, const hsize_t *start,
                     const hsize_t *size, const void *values)
{
    SCOPED(h5_close_at) hid_t memory = H5Screate_simple(rank, size, NULL);
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset);
    H5_TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL),
           "%s cannot be written", name);
    H5_TRY(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, values), "%s cannot be written",
           name);
    return STATUS_OK;
}

status_t parts_put_list(hid_t at, const char *name, hid_t type, int rank, hsize_t count,
                        const void *values)
{
    const struct parts_set set = {name, type, rank, {count, 3}, .values = values};
    return values ? parts_put(at, &set) : STATUS_OK;
}

status_t parts_put_named(hid_t at, const char *name, hid_t type, hsize_t count, const void *values,
                         const char *long_name)
{
    const struct parts_set set = {name, type, 1, {count}, values, .long_name = long_name};
    return parts_put(at, &set);
}

status_t parts_compound(size_t bytes, const struct parts_field *fields, size_t count,
                        const char *what, hid_t *out)
{
    *out = H5Tcreate(H5T_COMPOUND, bytes);
    H5_TRY(*out, "the type of %s cannot be made", what);
    for (size_t i = 0; i < count; i++) {
        H5_TRY(H5Tinsert(*out, fields[i].name, fields[i].at, fields[i].type),
               "the type of %s cannot be made", what);
    }
    return STATUS_OK;
}

status_t parts_pair_type(hid_t number, const char *what, hid_t *out)
{
    const size_t bytes = H5Tget_size(number);
    const struct parts_field fields[] = {{"r", 0, number}, {"i", bytes, number}};
    return parts_compound(2 * bytes, fields, 2, what, out);
}

/* Attributes of an axis in CF (standard_name, axis) and MSv4 (type, scale, observer). */
struct parts_word {
    const char *name, *value;
};
static const struct parts_word time_words[] = {
    {"standard_name", "time"}, {"axis", "T"}, {"type", "time"}, {"scale", "utc"}, {NULL, NULL}};
static const struct parts_word frequency_words[] = {{"standard_name", "radiation_frequency"},
                                                    {"type", "spectral_coord"},
                                                    {"observer", "TOPO"},
                                                    {NULL, NULL}};

/* Makes a dimension scale; without values, these are written later. */
static status_t parts_scale_words(hid_t file, const char *name, const double *values, hsize_t count,
                                  const char *units, const char *long_name,
                                  const struct parts_word *words)
{
    const struct parts_set set = {
        name,           H5T_IEEE_F64LE,        1, {count}, values, .is_scale = 1,
        .units = units, .long_name = long_name};
    SCOPED(h5_close_at) hid_t dataset = -1;
    TRY(parts_make(file, &set, &dataset));
    for (; words && words->name; words++) {
        TRY(h5_put_text(dataset, words->name, words->value));
    }
    return STATUS_OK;
}

status_t parts_scale_f64(hid_t file, const char *name, const double *values, hsize_t count,
                         const char *units, const char *long_name)
{
    return parts_scale_words(file, name, values, count, units, long_name, NULL);
}

status_t parts_scale_steps(hid_t file, const char *name, struct time_axis axis, hsize_t count,
                           const char *units, const char *long_name)
{
    SCOPED(free_at) double *values = NULL;
    TRY(memory_zeroed((size_t)count, sizeof *values, name, &values));
    for (hsize_t i = 0; i < count; i++) {
        values[i] = axis.first + (double)i * axis.step;
    }
    return parts_scale_f64(file, name, values, count, units, long_name);
}

status_t parts_pack_texts(const char *name, char *const *texts, hsize_t count, size_t least,
                          hid_t *type, char **packed)
{
    size_t longest = least;
    *type = H5Tcopy(H5T_C_S1);
    for (hsize_t i = 0; i < count; i++) {
        longest = max_u64(longest, strlen(texts[i]) + 1);
    }
    H5_TRY(H5Tset_size(*type, longest), "scale %s cannot be made", name);
    TRY(memory_zeroed((size_t)count, longest, name, packed));
    for (hsize_t i = 0; i < count; i++) {
        memcpy(*packed + i * longest, texts[i], strlen(texts[i]));
    }
    return STATUS_OK;
}

status_t parts_scale_texts(hid_t file, const char *name, char *const *texts, hsize_t count,
                           const char *long_name)
{
    SCOPED(h5_close_at) hid_t type = -1;
    SCOPED(h5_close_at) hid_t dataset = -1;
    SCOPED(free_at) char *packed = NULL;
    TRY(parts_pack_texts(name, texts, count, 1, &type, &packed));
    const struct parts_set set = {
        name, type, 1, {count}, packed, .is_scale = 1, .long_name = long_name};
    H5_TRY(H5Tset_cset(type, H5T_CSET_UTF8), "scale %s cannot be made", name);
    TRY(parts_make(file, &set, &dataset));
    /* By this readers of netCDF (xarray) make texts of the bytes. */
    return h5_put_text(dataset, "_Encoding", "utf-8");
}

status_t parts_name_axis(const struct archive *archive, enum axis axis, struct h5_names *out)
{
    uint32_t count = archive->nselected[axis];
    TRY(memory_zeroed(count, sizeof *out->names, "names", &out->names));
    out->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t index = archive->selected[axis][i];
        char number[24];
        snprintf(number, sizeof number, "%llu", (unsigned long long)index);
        TRY(memory_text(archive->names[axis] ? archive->names[axis][index] : number,
                        &out->names[i]));
    }
    return STATUS_OK;
}

status_t parts_scale_time(hid_t file, uint64_t count, const struct sky *sky, const char *long_name)
{
    char units[UNITS_TEXT + 32] = "s";
    if (sky->has_start) {
        /* To the nanosecond: readers of CF times add the values of /time to this. */
        struct utc utc = utc_add(sky->start, 0.5e-9);
        double second = floor(utc.second);
        snprintf(units, sizeof units, "seconds since %.19s.%09u",
                 units_utc((struct utc){utc.mjd_day, second}),
                 (unsigned)((utc.second - second) * 1e9));
    }
    return parts_scale_words(file, "time", NULL, count, units, long_name, time_words);
}

status_t parts_scale_frequency(hid_t file, hsize_t count)
{
    return parts_scale_words(file, "frequency", NULL, count, "Hz",
                             "sky frequency of the channel's centre", frequency_words);
}

status_t parts_reserve_count(hid_t group, const char *name, const char *long_name)
{
    return parts_put(group, &(struct parts_set){name, H5T_STD_U64LE, .long_name = long_name});
}

status_t parts_reserve_counts(hid_t group, const struct product_place *place)
{
    SCOPED(h5_close_at) hid_t crc = -1;
    hsize_t spans = spans_count(place);
    TRY(parts_reserve_count(group, "missing_samples",
                            "samples found missing while reading, all streams"));
    TRY(h5_create_dataset(group, "crc32", H5T_STD_U32LE, 1, &spans, &crc));
    TRY(h5_put_u64(crc, "span_rows", place->span_rows));
    return h5_put_text(crc, "long_name", crc_convention);
}

status_t parts_reserve_holes(hid_t group, const struct product_place *place)
{
    static const char words[] =
        "1: the row is NaN, because a part of its input could not be read (of a dedispersed "
        "series: some of the DM's times are)";
    return parts_put_named(group, "holes", H5T_STD_U8LE, place->rows, NULL, words);
}

status_t parts_put_coherent(hid_t file, const struct archive *archive, const double *delay_hz,
                            uint64_t count)
{
    TRY(h5_put_f64(file, "coherent_dm", archive->coherent.dm));
    TRY(h5_put_f64(file, "coherent_constant", archive->coherent.constant));
    const struct parts_set set = {
        "delay_hz",
        H5T_IEEE_F64LE,
        1,
        {count},
        delay_hz,
        .units = "Hz",
        .long_name = "frequency whose delay at coherent_dm each channel still has"};
    return parts_put(file, &set);
}

status_t parts_make_group(hid_t file, const char *name, unsigned links, hid_t *out)
{
    SCOPED(h5_close_at) hid_t plist = H5Pcreate(H5P_GROUP_CREATE);
    H5_TRY(H5Pset_obj_track_times(plist, 0), "group %s cannot be made", name);
    H5_TRY(links > 0 ? H5Pset_link_phase_change(plist, links, 0)
                     : H5Pset_attr_phase_change(plist, 0, 0),
           "group %s cannot be made", name);
    *out = H5Gcreate2(file, name, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY(*out, "group %s cannot be made", name);
    return STATUS_OK;
}

status_t parts_begin_provenance(hid_t file, const struct product_spec *spec, hid_t *out)
{
    char libraries[96];
    unsigned version[3] = {0};
    SCOPED(h5_close_at) hid_t group = -1;
    TRY(parts_make_group(file, "provenance", 0, &group));
    H5get_libversion(&version[0], &version[1], &version[2]);
    snprintf(libraries, sizeof libraries, "HDF5 %u.%u.%u", version[0], version[1], version[2]);
    TRY(h5_put_text(group, "software", "voltmill"));
    TRY(h5_put_text(group, "version", VOLTMILL_VERSION));
    if (codec_library(spec->compression)) {
        size_t length = strlen(libraries);
        snprintf(libraries + length, sizeof libraries - length, ", %s",
                 codec_library(spec->compression));
    }
    TRY(h5_put_text(group, "libraries", libraries));
    TRY(h5_put_text(group, "job", spec->job_text));
    TRY(h5_put_text(group, "arithmetic", spec->arithmetic));
    TRY(h5_put_text(group, "inputs", spec->inputs ? spec->inputs : ""));
    const char *assumed = spec->series ? spec->series->input->assumed : spec->archive->assumed;
    TRY(h5_put_text(group, "assumed", assumed));
    *out = h5_move(&group);
    return STATUS_OK;
}

status_t parts_put_sky(hid_t file, const struct sky *sky)
{
    if (sky->has_start) {
        TRY(h5_put_i32(file, "start_mjd_day", sky->start.mjd_day));
        TRY(h5_put_f64(file, "start_second", sky->start.second));
        TRY(h5_put_text(file, "time_scale", "UTC"));
    }
    TRY(h5_put_text(file, "telescope", sky->telescope));
    TRY(h5_put_text(file, "source", sky->source));
    if (sky->has_position) {
        TRY(h5_put_f64(file, "ra_deg", sky->ra_deg));
        TRY(h5_put_f64(file, "dec_deg", sky->dec_deg));
    }
    return STATUS_OK;
}

status_t parts_put_root(hid_t file, enum product_kind kind, const char *title,
                        const struct sky *sky)
{
    TRY(h5_put_text(file, "format", product_name(kind)));
    TRY(h5_put_i32(file, "format_version", PRODUCT_VERSION));
    TRY(h5_put_text(file, "Conventions", "CF-1.8"));
    TRY(h5_put_text(file, "title", title));
    return parts_put_sky(file, sky);
}

status_t parts_need_f64(hid_t object, const char *where, const char *name, double *value)
{
    int found = 0;
    TRY(h5_get_f64(object, where, name, value, &found));
    return REQUIRED(found, STATUS_DATA, "%s: attribute %s is missing: not a whole product", where,
                    name);
}

status_t parts_need_u64(hid_t object, const char *where, const char *name, uint64_t *value)
{
    int found = 0;
    int64_t number = 0;
    TRY(h5_get_i64(object, where, name, &number, &found));
    REQUIRE(found && number >= 0, STATUS_DATA,
            "%s: attribute %s is missing or negative: not a whole product", where, name);
    *value = (uint64_t)number;
    return STATUS_OK;
}

status_t parts_need_count(hid_t at, const char *where, const char *name, uint64_t *value)
{
    SCOPED(h5_dataset_close) struct h5_dataset count = {0};
    TRY(h5_dataset_open(at, where, name, &count));
    return h5_dataset_read(&count, where, name, H5T_NATIVE_UINT64, 1, value);
}
