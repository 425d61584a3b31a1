/* Numbers of few bits in the native layout: which packing holds all that an archive hands out, and
 * packing them. */
#include "input/archive.h"
#include "input/packets/packets.h"
#include "product/voltages_parts.h"

#include <math.h>
#include <string.h>

status_t voltages_name_axes(const struct voltages_spec *spec, struct text *axes,
                            uint64_t dims[AXIS_KINDS], int *rank)
{
    status_t st = STATUS_OK;
    uint32_t bits = spec->packing ? spec->packing->bits : 0;
    int is_inner = spec->packing && spec->packing->is_time_inner;
    uint64_t per_byte = bits > 0 && bits < 8 ? 8 / bits : 1;
    struct {
        const char *name;
        uint64_t count;
    } axis[AXIS_KINDS];
    int n = 0;
    if (!is_inner) {
        axis[n].name = "time";
        axis[n++].count = spec->samples;
    }
    for (int i = AXIS_STATION; i <= AXIS_CHAN; i++) {
        if (i >= AXIS_POL || spec->axes[i].is_there) {
            axis[n].name = axis_name((enum axis)i);
            axis[n++].count = spec->axes[i].count;
        }
    }
    if (sample_part_bytes(spec->format, spec->is_complex) > 0) {
        axis[n].name = "reim";
        axis[n++].count = 2;
    }
    if (is_inner) {
        axis[n].name = "time";
        axis[n++].count = spec->samples;
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
out:
    return st;
}

/* What a recorder's packets hand out (input/packets/decode.h). */
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
        static const double few[2][4] = {{-1, 1}, {-PACKING_HIGH, -1, 1, PACKING_HIGH}};
        out->bits = packets->bits;
        memcpy(out->levels, few[packets->bits == 2], sizeof few[0]);
    }
}

/* Ascending. */
static void packing_sort(double *levels, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        double level = levels[i];
        uint32_t at = i;
        for (; at > 0 && levels[at - 1] > level; at--) {
            levels[at] = levels[at - 1];
        }
        levels[at] = level;
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

/* What numbers of a file hand out (input/read/numbers.h). */
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
    packing_sort(out->levels, count);
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
    static const double usual[2][4] = {{-1, 1}, {-PACKING_HIGH, -1, 1, PACKING_HIGH}};
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
