/* Makes files in the native layout: one dataset of voltages, its axes and frequencies. */
#include "product/voltages.h"

#include "base/memory.h"
#include "base/text.h"
#include "input/archive.h"
#include "input/packets/packets.h"
#include "io/hdf5/h5.h"
#include "io/hdf5/h5_dataset.h"
#include "io/hdf5/h5_file.h"
#include "product/kind/parts.h"
#include "product/voltages_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Levels of 1 and of 2 bits. */
static const double usual[2][4] = {{-1, 1}, {-PACKING_HIGH, -1, 1, PACKING_HIGH}};

/* Packing of a recorder's packets (input/packets/decode.h). */
static void packing_of_packets(const struct packets *packets, struct voltages_packing *out)
{
    int is_turned = 0;
    for (uint32_t i = 0; i < packets->nstreams; i++) {
        is_turned |= packets->streams[i].is_conjugated || packets->streams[i].is_alternating;
    }
    if (packets->is_packed || (is_turned && packets->bits == 4) || packets->kind == PACKETS_DRX) {
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
        memcpy(out->levels, usual[packets->bits == 2], sizeof usual[0]);
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

/* Packing of a file's numbers (input/read/numbers.h). */
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

/* The name of the levels, if they have one. */
static void packing_name(struct voltages_packing *packing)
{
    static const char *const offset[] = {"", "1 bit", "2 bit offset", "", "4 bit offset"};
    static const char *const two[] = {"", "", "2 bit two's complement", "",
                                      "4 bit two's complement"};
    uint32_t count = 1u << packing->bits;
    int is_signed = packing->bits > 1;
    for (uint32_t i = 0; i < count; i++) {
        is_signed = is_signed && packing->levels[i] == (double)i - count / 2;
    }
    packing->is_signed = is_signed;
    packing->name = is_signed ? two[packing->bits] : offset[packing->bits];
    packing->has_levels =
        !is_signed && (packing->bits > 2 || memcmp(packing->levels, usual[packing->bits - 1],
                                                   count * sizeof *packing->levels) != 0);
}

void voltages_find_packing(const struct archive *archive, struct voltages_packing *out)
{
    uint64_t numbers = archive->nstreams;
    *out = (struct voltages_packing){.format = archive->format, .step = 1};
    if (sample_part_bytes(archive->format, archive->is_complex) > 0) {
        numbers *= 2;
    }
    if (archive->parts[0].npackets > 0) {
        packing_of_packets(archive->parts[0].packets, out);
    } else if (archive->stored.number.kind != NUMBER_PLAIN) {
        packing_of_numbers(archive, out);
    }
    if (out->bits > 0 && out->bits < 8) {
        packing_name(out);
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

static status_t voltages_put_root(hid_t file, const struct voltages_spec *spec)
{
    TRY(h5_put_text(file, "format", "voltage"));
    const struct voltages_packing *packing = spec->packing;
    int is_of_levels =
        packing && packing->bits > 0 && (packing->has_levels || packing->name == NULL);
    TRY(h5_put_i32(file, "format_version", is_of_levels ? 4 : spec->scale == 1 ? 1 : 2));
    return parts_put_sky(file, &spec->sky);
}

/* /voltages with its words; `axes` comes back for the scales. */
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
    return STATUS_OK;
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
    H5_TRY_OUT(H5Sget_simple_extent_dims(space, dims, NULL),
               "the shape of its samples cannot be read");
    TRY_OUT(h5_make_scale(scale, name));
    if (dims[dim] == count && end[strlen(name)] != ':') {
        TRY_OUT(h5_attach_scale(voltages, scale, name, (int)dim));
    }
out:
    h5_close(space);
    return st;
}

/* A scale of an axis. */
static status_t voltages_put_scale(hid_t file, hid_t voltages, const char *axes, const char *axis,
                                   const struct parts_set *set)
{
    status_t st = STATUS_OK;
    hid_t scale = -1;
    TRY_OUT(parts_make(file, set, &scale));
    TRY_OUT(voltages_attach(voltages, scale, axes, axis, set->dims[0]));
out:
    h5_close(scale);
    return st;
}

static status_t voltages_put_names(hid_t file, hid_t voltages, const char *axes, enum axis axis,
                                   const struct voltages_axis *of)
{
    status_t st = STATUS_OK;
    enum { LEAST_WIDTH = 12 };
    char *names = NULL;
    struct parts_set set = {axis_name(axis), -1, 1, {of->count}, .values = NULL};
    if (of->names) {
        TRY_OUT(parts_pack_texts(set.name, of->names, of->count, LEAST_WIDTH, &set.type, &names));
        set.values = names;
        TRY_OUT(voltages_put_scale(file, voltages, axes, set.name, &set));
    }
out:
    free(names);
    h5_close(set.type);
    return st;
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

status_t voltages_put_gaps(hid_t file, const struct voltages_gaps *gaps)
{
    status_t st = STATUS_OK;
    const size_t columns = gaps->has_streams ? 3 : 2;
    uint64_t *packed = NULL;
    TRY_OUT(memory_zeroed(gaps->count, columns * sizeof *packed, "gaps", &packed));
    for (size_t i = 0; i < gaps->count; i++) {
        memcpy(packed + i * columns, gaps->rows[i], columns * sizeof *packed);
    }
    const struct parts_set set = {
        "gaps", H5T_STD_U64LE, 2, {gaps->count, columns}, .values = packed};
    TRY_OUT(gaps->count > 0 ? parts_put(file, &set) : STATUS_OK);
out:
    free(packed);
    return st;
}

status_t voltages_describe(hid_t file, const struct voltages_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t voltages = -1;
    struct text axes = {0};
    const struct voltages_packing *packing = spec->packing;
    int has_levels = packing && packing->has_levels;
    const struct parts_set hz = {
        "freq_hz", H5T_IEEE_F64LE, 1, {spec->axes[AXIS_CHAN].count}, .values = spec->freq_hz};
    TRY_OUT(voltages_put_root(file, spec));
    TRY_OUT(voltages_put_samples(file, spec, &axes, &voltages));
    TRY_OUT(voltages_put_scale(file, voltages, axes.data, "chan", &hz));
    TRY_OUT(voltages_put_names(file, voltages, axes.data, AXIS_POL, &spec->axes[AXIS_POL]));
    TRY_OUT(voltages_put_names(file, voltages, axes.data, AXIS_STATION, &spec->axes[AXIS_STATION]));
    TRY_OUT(parts_put_list(file, "levels", H5T_IEEE_F64LE, 1,
                           has_levels ? 1ULL << packing->bits : 0,
                           has_levels ? packing->levels : NULL));
    TRY_OUT(parts_put_list(file, "station_itrf_m", H5T_IEEE_F64LE, 2,
                           spec->axes[AXIS_STATION].count, spec->itrf_m));
    TRY_OUT(parts_put_list(file, "reference_itrf_m", H5T_IEEE_F64LE, 1, 3, spec->reference_m));
    TRY_OUT(voltages_put_gaps(file, &spec->gaps));
out:
    text_free(&axes);
    h5_close(voltages);
    return st;
}

status_t voltages_finish(hid_t *file, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place)
{
    status_t st = STATUS_OK;
    hid_t voltages = -1;
    TRY_OUT(h5_place_last(*file, "voltages"));
    voltages = H5Dopen2(*file, "voltages", H5P_DEFAULT);
    H5_TRY_OUT(voltages, "%s: its samples cannot be opened", path ? path : "voltages");
    haddr_t offset = h5_offset(voltages);
    REQUIRE_OUT(offset != HADDR_UNDEF, STATUS_DATA, "%s: its samples have no place",
                path ? path : "voltages");
    place->data_offset = offset;
    place->step_bytes = sample_bytes(spec->format, spec->is_complex);
    for (int i = AXIS_STATION; i <= AXIS_CHAN; i++) {
        place->step_bytes *= spec->axes[i].count;
    }
    h5_close(voltages);
    voltages = -1;
    TRY_OUT(h5_file_finish(file, &place->file_bytes));
out:
    h5_close(voltages);
    return st;
}

status_t voltages_create(int fd, const char *path, const struct voltages_spec *spec,
                         struct voltages_place *place)
{
    status_t st = STATUS_OK;
    hid_t file = -1;
    TRY_OUT(h5_file_create(fd, path, MARK_SYNTH, &file));
    TRY_OUT(voltages_describe(file, spec));
    TRY_OUT(voltages_finish(&file, path, spec, place));
out:
    h5_close(file);
    return st;
}
