/* Makes files in the native layout: one dataset of voltages, its axes and frequencies; or an
 * archive's streams, with what it says of them, the numbers that they have, and the gaps that
 * reading found. */
#include "product/voltages.h"

#include "base/memory.h"
#include "input/packets/packets.h"
#include "input/read/reader.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/kind/parts.h"

#include <math.h>

/* Numbers of few bits in the native layout: which packing holds all that an archive hands out, and
 * packing them. */

/* Its axes as text, and how many elements each of its `rank` dimensions has: of numbers below 8
 * bits the innermost has bytes with several, and axes that would leave no whole byte are joined in
 * it. Fails with DEVICE. */
static status_t voltages_name_axes(const struct voltages_spec *spec, struct text *axes,
                                   uint64_t dims[AXIS_KINDS], int *rank)
{
    uint32_t bits = spec->packing ? spec->packing->bits : 0;
    int is_inner = spec->packing && spec->packing->is_time_inner;
    uint64_t per_byte = bits > 0 && bits < 8 ? 8 / bits : 1;
    struct named {
        const char *name;
        uint64_t count;
    } axis[AXIS_KINDS];
    const struct named time = {"time", spec->samples};
    int n = 0;
    if (!is_inner) {
        axis[n++] = time;
    }
    for (int i = AXIS_STATION; i <= AXIS_CHAN; i++) {
        if (i >= AXIS_POL || spec->axes[i].is_there) {
            axis[n++] = (struct named){axis_name((enum axis)i), spec->axes[i].count};
        }
    }
    if (sample_part_bytes(spec->format, spec->is_complex) > 0) {
        axis[n++] = (struct named){"reim", 2};
    }
    if (is_inner) {
        axis[n++] = time;
    }
    int joined = n - 1;
    uint64_t inside = axis[joined].count;
    while (inside % per_byte != 0 && joined > 1) {
        inside *= axis[--joined].count;
    }
    *rank = joined + 1;
    for (int i = 0; i < n; i++) {
        TRY(text_add(axes, "%s%s", i == 0 ? "" : i > joined ? "*" : ",", axis[i].name));
        TRY(joined < n - 1 && i >= joined
                ? text_add(axes, ":%llu", (unsigned long long)axis[i].count)
                : STATUS_OK);
        dims[i < joined ? i : joined] = i < joined ? axis[i].count : inside / per_byte;
    }
    return STATUS_OK;
}

/* Finds the packing of a recorder's packets (input/read/reader_packets.c). */
static void packing_of_packets(const struct packets *packets, struct voltages_packing *out)
{
    int is_turned = 0;
    for (uint32_t i = 0; i < packets->nstreams; i++) {
        is_turned |= packets->streams[i].is_conjugated || packets->streams[i].is_alternating;
    }
    if (packets->is_packed || (is_turned && packets->bits == 4) || packets->kind != PACKETS_VDIF) {
        return;
    }
    if (packets->bits == 8) {
        out->bits = 8;
        out->offset = 127.5;
        out->step = 2;
    } else if (packets->bits == 4) {
        out->bits = 4;
        for (uint32_t i = 0; i < 16; i++) {
            out->levels[i] = (double)i - 8;
        }
    } else if (packets->bits <= 2) {
        out->bits = packets->bits;
        memcpy(out->levels, packing_levels[packets->bits - 1], sizeof *packing_levels);
    }
}

/* Whether the opposite of each level is one: 0 Hz was moved from the coarse channel's edge. */
static int packing_is_symmetric(const double *levels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (levels[i] != -levels[count - 1 - i]) {
            return 0;
        }
    }
    return 1;
}

/* Finds the packing of a file's numbers (input/read/numbers.h). */
static void packing_of_numbers(const struct archive *archive, struct voltages_packing *out)
{
    const struct archive_number *number = &archive->stored.number;
    uint32_t bits = number->bits;
    uint32_t count = 1u << (bits < 8 ? bits : 0);
    int is_wider = sample_types[archive->format].bits > bits;
    if (number->has_missing || number->kind == NUMBER_FLOAT || bits > 16 || !is_wider) {
        return;
    }
    for (uint32_t i = 0; i < count && bits < 8; i++) {
        int is_negative = number->kind == NUMBER_SIGNED && i >= count / 2;
        out->levels[i] = number->kind == NUMBER_LEVELS
                             ? number->levels[i]
                             : (double)i - (is_negative ? count : 0) - number->offset;
    }
    qsort(out->levels, count, sizeof *out->levels, compare_f64);
    int is_whole = number->kind == NUMBER_UNSIGNED && !archive->stored.is_dc_at_edge &&
                   (number->is_doubled || number->offset == floor(number->offset));
    if (bits < 8 && (!archive->stored.is_dc_at_edge || packing_is_symmetric(out->levels, count))) {
        out->bits = bits;
    } else if (bits >= 8 && is_whole) {
        out->bits = bits;
        out->offset = number->offset;
        out->step = number->is_doubled ? 2 : 1;
    }
}

/* Finds the name of a packing with these levels, if it has one. */
static void packing_call(struct voltages_packing *packing)
{
    uint32_t count = 1u << packing->bits;
    int is_signed = packing->bits > 1;
    for (uint32_t i = 0; i < count; i++) {
        is_signed = is_signed && packing->levels[i] == (double)i - count / 2;
    }
    packing->is_signed = is_signed;
    packing->name = packing_name(&(struct packing){.bits = packing->bits, .is_offset = !is_signed});
    packing->has_levels = !is_signed && (packing->bits > 2 ||
                                         memcmp(packing->levels, packing_levels[packing->bits - 1],
                                                count * sizeof *packing->levels) != 0);
}

void voltages_find_packing(const struct archive *archive, struct voltages_packing *out)
{
    int has_parts = sample_part_bytes(archive->format, archive->is_complex) > 0;
    uint64_t numbers = (uint64_t)archive->nstreams * (has_parts ? 2 : 1);
    *out = (struct voltages_packing){.format = archive->format, .step = 1};
    if (archive->parts[0].npackets > 0) {
        packing_of_packets(archive->parts[0].packets, out);
    } else if (archive->stored.number.kind != NUMBER_PLAIN) {
        packing_of_numbers(archive, out);
    }
    if (out->bits > 0 && out->bits < 8) {
        packing_call(out);
        out->is_time_inner = numbers * out->bits % 8 != 0;
    }
    /* A missing number keeps its place only where the stored one is it, or it less the offset. */
    int loses = archive->stored.has_missing_value && out->name && !out->is_signed;
    if (loses || (out->is_time_inner && archive->samples % (8 / out->bits) != 0)) {
        *out = (struct voltages_packing){.format = archive->format};
    }
    out->scale = archive->scale * (out->step > 0 ? out->step : 1);
    out->missing = archive->stored.missing_value + out->offset;
}

/* The stored number of what was handed out, its nearest where there is none. */
static inline uint32_t packing_code_of_level(const struct voltages_packing *packing, double value)
{
    uint32_t count = 1u << packing->bits;
    uint32_t code = 0;
    for (uint32_t i = 1; i < count; i++) {
        code += value > (packing->levels[i - 1] + packing->levels[i]) / 2;
    }
    return packing->is_signed ? code ^ (count >> 1) : code;
}

static inline double packing_value(enum sample_format format, const char *at)
{
    int16_t whole;
    float real;
    switch (format) {
    case SAMPLE_I8:
        return *(const int8_t *)at;
    case SAMPLE_I16:
        memcpy(&whole, at, sizeof whole);
        return whole;
    default:
        memcpy(&real, at, sizeof real);
        return (double)real;
    }
}

/* Bytes of int8 by a table; the four levels of 2 bits, which come as floats, by comparing. */
static void packing_put_bytes(const struct voltages_packing *packing, const char *in, size_t stride,
                              uint64_t count, unsigned char *out)
{
    uint32_t bits = packing->bits;
    uint32_t per_byte = 8 / bits;
    uint32_t flip = packing->is_signed ? 1u << (bits - 1) : 0;
    uint32_t most = (1u << bits) - 1;
    unsigned char codes[256];
    float between[3];
    for (int i = 0; i < 256 && packing->format == SAMPLE_I8; i++) {
        codes[(unsigned char)i] =
            (unsigned char)packing_code_of_level(packing, i < 128 ? i : i - 256);
    }
    for (uint32_t i = 0; i < 3; i++) {
        between[i] = i < most && bits <= 2
                         ? (float)((packing->levels[i] + packing->levels[i + 1]) / 2)
                         : INFINITY;
    }
    for (uint64_t i = 0; i < count; i += per_byte) {
        uint32_t byte = 0;
        for (uint32_t k = 0; k < per_byte && i + k < count; k++) {
            const char *at = in + (i + k) * stride;
            uint32_t code;
            if (packing->format == SAMPLE_I8) {
                code = codes[(unsigned char)*at];
            } else if (bits <= 2) {
                float value;
                memcpy(&value, at, sizeof value);
                code =
                    (uint32_t)((value > between[0]) + (value > between[1]) + (value > between[2])) ^
                    flip;
            } else {
                code = packing_code_of_level(packing, packing_value(packing->format, at));
            }
            byte |= code << k * bits;
        }
        out[i / per_byte] = (unsigned char)byte;
    }
}

void voltages_pack(const struct voltages_packing *packing, const char *in, size_t stride,
                   uint64_t count, unsigned char *out)
{
    int32_t offset = (int32_t)(packing->step * packing->offset);
    int32_t most = (1 << packing->bits) - 1;
    if (packing->bits < 8) {
        packing_put_bytes(packing, in, stride, count, out);
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        int32_t code = (int32_t)packing_value(packing->format, in + i * stride) + offset;
        code /= (int32_t)packing->step;
        code = code < 0 ? 0 : code > most ? most : code;
        if (packing->bits == 8) {
            out[i] = (unsigned char)code;
        } else {
            const unsigned char bytes[2] = {(unsigned char)code, (unsigned char)(code >> 8)};
            memcpy(out + 2 * i, bytes, sizeof bytes);
        }
    }
}

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

/* Makes /voltages and its attributes; *axes lists its axes, for the scales. */
static status_t voltages_put_samples(hid_t file, const struct voltages_spec *spec,
                                     struct text *axes, hid_t *out)
{
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
    TRY(spec->scale != 1 ? h5_put_f64(*out, "scale", spec->scale) : STATUS_OK);
    if (spec->oversample.num != spec->oversample.den) {
        TRY(h5_put_i32(*out, "oversampling_num", (int32_t)spec->oversample.num));
        TRY(h5_put_i32(*out, "oversampling_den", (int32_t)spec->oversample.den));
    }
    TRY(is_packed && spec->packing->name ? h5_put_text(*out, "packing", spec->packing->name)
        : is_packed                      ? h5_put_f64(*out, "offset", spec->packing->offset)
                                         : STATUS_OK);
    if (spec->format == SAMPLE_I4) {
        const struct packing pair = {.nibbles =
                                         spec->nibbles ? *spec->nibbles : (struct nibbles){0, 1}};
        TRY(h5_put_text(*out, "packing", packing_name(&pair)));
    }
    if (spec->has_missing_value) {
        TRY(h5_put_f64(*out, "missing_value", spec->missing_value));
    }
    return STATUS_OK;
}

/* But not to a dimension that joins several axes, or of which an element holds several numbers. */
static status_t voltages_attach(hid_t voltages, hid_t scale, const char *axes, const char *name,
                                hsize_t count)
{
    unsigned dim = 0;
    hsize_t dims[AXIS_KINDS] = {0};
    const char *end = strstr(axes, name);
    SCOPED(h5_close_at) hid_t space = H5Dget_space(voltages);
    for (const char *c = axes; c < end; c++) {
        dim += *c == ',';
    }
    H5_TRY(H5Sget_simple_extent_dims(space, dims, NULL), "the shape of its samples cannot be read");
    TRY(h5_make_scale(scale, name));
    if (dims[dim] == count && end[strlen(name)] != ':') {
        TRY(h5_attach_scale(voltages, scale, name, (int)dim));
    }
    return STATUS_OK;
}

/* Writes a dimension scale, and attaches it to an axis. */
static status_t voltages_put_scale(hid_t file, hid_t voltages, const char *axes, const char *axis,
                                   const struct parts_set *set)
{
    SCOPED(h5_close_at) hid_t scale = -1;
    TRY(parts_make(file, set, &scale));
    return voltages_attach(voltages, scale, axes, axis, set->dims[0]);
}

static status_t voltages_put_names(hid_t file, hid_t voltages, const char *axes, enum axis axis,
                                   const struct voltages_axis *of)
{
    enum { LEAST_WIDTH = 12 };
    const char *name = axis_name(axis);
    SCOPED(h5_close_at) hid_t type = -1;
    SCOPED(free_at) char *names = NULL;
    if (!of->names) {
        return STATUS_OK;
    }
    TRY(parts_pack_texts(name, of->names, of->count, LEAST_WIDTH, &type, &names));
    const struct parts_set set = {name, type, 1, {of->count}, .values = names};
    return voltages_put_scale(file, voltages, axes, name, &set);
}

void voltages_gaps_free(struct voltages_gaps *gaps)
{
    free(gaps->rows);
}

status_t voltages_add_gap(struct voltages_gaps *gaps, uint64_t first, uint64_t count,
                          uint64_t stream)
{
    TRY(memory_grow(gaps->count, sizeof *gaps->rows, "gaps", &gaps->rows));
    uint64_t *row = gaps->rows[gaps->count++];
    row[0] = first;
    row[1] = count;
    row[2] = stream;
    return STATUS_OK;
}

/* Writes /gaps, if there are any: [count][3], or [count][2] without their streams. Fails with
 * NO_SPACE, DATA, DEVICE (memory). */
static status_t voltages_put_gaps(hid_t file, const struct voltages_gaps *gaps)
{
    const size_t columns = gaps->has_streams ? 3 : 2;
    SCOPED(free_at) uint64_t *packed = NULL;
    TRY(memory_zeroed(gaps->count, columns * sizeof *packed, "gaps", &packed));
    for (size_t i = 0; i < gaps->count; i++) {
        memcpy(packed + i * columns, gaps->rows[i], columns * sizeof *packed);
    }
    const struct parts_set set = {
        "gaps", H5T_STD_U64LE, 2, {gaps->count, columns}, .values = packed};
    return gaps->count > 0 ? parts_put(file, &set) : STATUS_OK;
}

/* Puts all that the layout knows into a new file but the samples' values. Fails with NO_SPACE,
 * DATA, DEVICE (memory). */
static status_t voltages_describe(hid_t file, const struct voltages_spec *spec)
{
    SCOPED(h5_close_at) hid_t voltages = -1;
    SCOPED(text_free) struct text axes = {0};
    const struct voltages_packing *packing = spec->packing;
    int has_levels = packing && packing->has_levels;
    int is_of_levels = packing && packing->bits > 0 && (has_levels || packing->name == NULL);
    const struct parts_set hz = {
        "freq_hz", H5T_IEEE_F64LE, 1, {spec->axes[AXIS_CHAN].count}, .values = spec->freq_hz};
    TRY(h5_put_text(file, "format", "voltage"));
    TRY(h5_put_i32(file, "format_version", is_of_levels ? 4 : spec->scale == 1 ? 1 : 2));
    TRY(parts_put_sky(file, &spec->sky));
    TRY(voltages_put_samples(file, spec, &axes, &voltages));
    TRY(voltages_put_scale(file, voltages, axes.data, "chan", &hz));
    TRY(voltages_put_names(file, voltages, axes.data, AXIS_POL, &spec->axes[AXIS_POL]));
    TRY(voltages_put_names(file, voltages, axes.data, AXIS_STATION, &spec->axes[AXIS_STATION]));
    TRY(parts_put_list(file, "levels", H5T_IEEE_F64LE, 1, has_levels ? 1ULL << packing->bits : 0,
                       has_levels ? packing->levels : NULL));
    TRY(parts_put_list(file, "station_itrf_m", H5T_IEEE_F64LE, 2, spec->axes[AXIS_STATION].count,
                       spec->itrf_m));
    TRY(parts_put_list(file, "reference_itrf_m", H5T_IEEE_F64LE, 1, 3, spec->reference_m));
    return voltages_put_gaps(file, &spec->gaps);
}

/* Ends such a file, which becomes -1, and sets the place of its samples. The caller closes a file
 * that is still open after a failure. Fails with DATA, NO_SPACE, DEVICE (memory). */
static status_t voltages_finish(hid_t *file, const char *path, const struct voltages_spec *spec,
                                struct voltages_place *place)
{
    SCOPED(h5_close_at) hid_t voltages = -1;
    TRY(h5_place_last(*file, "voltages"));
    voltages = H5Dopen2(*file, "voltages", H5P_DEFAULT);
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
    return h5_file_finish(file, &place->file_bytes);
}

status_t voltages_create(int fd, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place)
{
    SCOPED(h5_close_at) hid_t file = -1;
    TRY(h5_file_create(fd, path, MARK_SYNTH, &file));
    TRY(voltages_describe(file, spec));
    return voltages_finish(&file, path, spec, place);
}

struct voltages_spec voltages_of_archive(const struct archive *archive)
{
    double first =
        (double)archive->first_sample / archive->sample_rate_hz + archive->offset_seconds;
    struct voltages_spec spec = {
        .is_complex = archive->is_complex,
        .sample_rate_hz = archive->sample_rate_hz,
        .sideband = archive->sideband,
        .oversample = archive->oversample,
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
    uint32_t chans = archive->nselected[AXIS_CHAN];
    SCOPED(free_at) double *hz = NULL;
    SCOPED(h5_names_free) struct h5_names pols = {0};
    SCOPED(h5_names_free) struct h5_names stations = {0};
    SCOPED(free_at) double(*itrf_m)[3] = NULL;
    const uint32_t count = archive->nselected[AXIS_STATION];
    TRY(memory_zeroed(chans, sizeof *hz, "frequencies", &hz));
    TRY(memory_zeroed(count, sizeof *itrf_m, "positions of stations", &itrf_m));
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
    TRY(parts_name_axis(archive, AXIS_POL, &pols));
    TRY(archive->present[AXIS_STATION] ? parts_name_axis(archive, AXIS_STATION, &stations)
                                       : STATUS_OK);
    spec.freq_hz = hz;
    spec.axes[AXIS_POL].names = pols.names;
    spec.axes[AXIS_STATION].names = stations.names;
    TRY(voltages_describe(file, &spec));
    if (archive->coherent.delay_hz) {
        for (uint32_t i = 0; i < chans; i++) {
            hz[i] = archive->coherent.delay_hz[archive->selected[AXIS_CHAN][i]];
        }
        TRY(parts_put_coherent(file, archive, hz, chans));
    }
    return STATUS_OK;
}

/* Rows of three numbers, for gaps that are known when all samples are: a thousandth of the file, at
 * most a chunk of 1 MiB. */
static status_t voltages_reserve_gaps(hid_t file, const struct voltages_spec *spec)
{
    enum { LEAST = 128, MOST = 40000, ROW = 24, SHARE = 1000 };
    uint64_t bytes = spec->samples * sample_bytes(spec->format, spec->is_complex);
    for (int i = 0; i < STREAM_AXES; i++) {
        bytes *= spec->axes[archive_stream_axes[i]].count;
    }
    const hsize_t dims[2] = {min_u64(max_u64(bytes / SHARE / ROW, LEAST), MOST), 3};
    SCOPED(h5_close_at) hid_t space = H5Screate_simple(2, dims, NULL);
    SCOPED(h5_close_at) hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    SCOPED(h5_close_at) hid_t gaps = -1;
    H5_TRY(H5Pset_chunk(plist, 2, dims), "gaps cannot be planned");
    H5_TRY(H5Pset_alloc_time(plist, H5D_ALLOC_TIME_EARLY), "gaps cannot be planned");
    H5_TRY(H5Pset_fill_time(plist, H5D_FILL_TIME_NEVER), "gaps cannot be planned");
    H5_TRY(H5Pset_obj_track_times(plist, 0), "gaps cannot be planned");
    gaps = H5Dcreate2(file, "gaps", H5T_STD_U64LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5_TRY(gaps, "gaps cannot be made");
    return STATUS_OK;
}

status_t voltages_create_copy(int fd, const char *path, const struct archive *archive,
                              const struct voltages_packing *packing, struct voltages_place *place)
{
    struct voltages_spec spec = voltages_of_archive(archive);
    SCOPED(h5_close_at) hid_t file = -1;
    spec.samples = archive->samples;
    spec.format = archive->format;
    spec.packing = packing;
    spec.nibbles = &archive->stored.nibbles;
    spec.has_missing_value = archive->stored.has_missing_value;
    spec.missing_value = packing->missing;
    spec.scale = packing->scale;
    TRY(h5_file_create(fd, path, MARK_IMPORT, &file));
    TRY(voltages_describe_streams(file, archive, spec));
    TRY(voltages_reserve_gaps(file, &spec));
    return voltages_finish(&file, path, &spec, place);
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
    const hsize_t dims[2] = {gaps->count, gaps->has_streams ? 3 : 2};
    const hsize_t from[2] = {gaps->count, 3};
    hsize_t room[2] = {0, 0};
    SCOPED(h5_close_at) hid_t dataset = H5Dopen2(file, "gaps", H5P_DEFAULT);
    SCOPED(h5_close_at) hid_t space = H5Dget_space(dataset);
    SCOPED(h5_close_at) hid_t memory = H5Screate_simple(2, from, NULL);
    int rank = H5Sget_simple_extent_dims(space, room, NULL);
    if (rank == 2 && gaps->count > 0 && gaps->count <= room[0]) {
        H5_TRY(H5Dset_extent(dataset, dims), "gaps cannot be written");
        H5_TRY(H5Sselect_hyperslab(memory, H5S_SELECT_SET, (hsize_t[2]){0, 0}, NULL, dims, NULL),
               "gaps cannot be written");
        H5_TRY(H5Dwrite(dataset, H5T_NATIVE_UINT64, memory, H5S_ALL, H5P_DEFAULT, gaps->rows),
               "gaps cannot be written");
        return STATUS_OK;
    }
    h5_close(dataset);
    dataset = -1;
    H5_TRY(H5Ldelete(file, "gaps", H5P_DEFAULT), "gaps cannot be written");
    return voltages_put_gaps(file, gaps);
}

status_t voltages_add_gaps(int fd, const char *path, struct loss *losses, size_t count,
                           uint32_t nstreams)
{
    SCOPED(voltages_gaps_free) struct voltages_gaps gaps = {0};
    uint64_t bytes = 0;
    SCOPED(h5_close_at) hid_t file = -1;
    TRY(count > 0 ? gaps_make(losses, count, nstreams, &gaps) : STATUS_OK);
    TRY(h5_file_change(fd, path, &file));
    TRY(gaps_put(file, &gaps));
    return h5_file_finish(&file, &bytes);
}
