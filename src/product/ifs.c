/* Names, numbers and conventions of ifs. */
#include "product/ifs.h"

#include "base/memory.h"
#include "product/kind/parts.h"

int ifs_are_combined(const struct product_spec *spec)
{
    return spec->combine.polarisation != POLARISATION_SEPARATE || spec->combine.sums_stations ||
           spec->combine.sums_beams;
}

uint32_t ifs_of_antenna(const struct product_spec *spec)
{
    return spec->combine.polarisation == POLARISATION_SEPARATE ? spec->archive->nselected[AXIS_POL]
           : spec->combine.polarisation == POLARISATION_I      ? 1
                                                               : 4;
}

static uint32_t ifs_antennas(const struct product_spec *spec, enum axis axis)
{
    int is_summed = axis == AXIS_STATION ? spec->combine.sums_stations : spec->combine.sums_beams;
    return is_summed ? 1 : spec->archive->nselected[axis];
}

uint32_t ifs_count(const struct product_spec *spec)
{
    return ifs_antennas(spec, AXIS_STATION) * ifs_antennas(spec, AXIS_BEAM) * ifs_of_antenna(spec);
}

uint64_t ifs_weights(const struct product_spec *spec)
{
    return spec->nifs * (spec->flag.is_on || spec->visibilities
                             ? spec->frequencies
                             : (uint64_t)spec->archive->nselected[AXIS_CHAN]);
}

uint32_t ifs_streams(const struct product_spec *spec)
{
    const uint32_t *selected = spec->archive->nselected;
    uint32_t streams = ifs_are_combined(spec) ? selected[AXIS_POL] : 1;
    streams *= spec->combine.sums_stations || spec->combine.sums_beams ? selected[AXIS_BEAM] : 1;
    return streams * (spec->combine.sums_stations ? selected[AXIS_STATION] : 1);
}

/* Appends the name of if number i of an antenna. */
static status_t ifs_add_own(const struct product_spec *spec, char *const *pols, uint32_t i,
                            struct text *out)
{
    static const char *const stokes[] = {"I", "Q", "U", "V"};
    return spec->combine.polarisation == POLARISATION_SEPARATE ? text_add(out, "%s", pols[i])
           : spec->combine.polarisation == POLARISATION_COHERENCY
               ? i < 2 ? text_add(out, "%s%s*", pols[i], pols[i])
                       : text_add(out, "%s(%s%s*)", i == 2 ? "Re" : "Im", pols[0], pols[1])
               : text_add(out, "%s", stokes[i]);
}

status_t ifs_name(const struct product_spec *spec, struct h5_names *out)
{
    static const enum axis axes[] = {AXIS_STATION, AXIS_BEAM};
    const struct archive *archive = spec->archive;
    SCOPED(h5_names_free) struct h5_names stations = {0};
    SCOPED(h5_names_free) struct h5_names beams = {0};
    SCOPED(h5_names_free) struct h5_names pols = {0};
    const struct h5_names *const antennas[] = {&stations, &beams};
    SCOPED(text_free) struct text text = {0};
    uint32_t total = ifs_count(spec);
    uint32_t each = ifs_of_antenna(spec);
    uint32_t nbeams = ifs_antennas(spec, AXIS_BEAM);
    const int is_summed[] = {spec->combine.sums_stations, spec->combine.sums_beams};
    TRY(parts_name_axis(archive, AXIS_STATION, &stations));
    TRY(parts_name_axis(archive, AXIS_BEAM, &beams));
    TRY(parts_name_axis(archive, AXIS_POL, &pols));
    TRY(memory_zeroed(total, sizeof *out->names, "names", &out->names));
    out->count = total;
    for (uint32_t at = 0; at < total; at++) {
        const uint32_t index[] = {at / each / nbeams, at / each % nbeams};
        text.length = 0;
        for (int i = 0; i < 2; i++) {
            if (archive->present[axes[i]] && !is_summed[i]) {
                TRY(text_add(&text, "%s/", antennas[i]->names[index[i]]));
            }
        }
        TRY(ifs_add_own(spec, pols.names, at % each, &text));
        TRY(memory_text(text.data, &out->names[at]));
    }
    return STATUS_OK;
}

status_t ifs_pol_type(const struct product_spec *spec, struct text *out)
{
    static const char *const types[] = {[POLARISATION_I] = "I",
                                        [POLARISATION_IQUV] = "IQUV",
                                        [POLARISATION_COHERENCY] = "AABBCRCI"};
    uint32_t pols = spec->archive->nselected[AXIS_POL];
    SCOPED(h5_names_free) struct h5_names names = {0};
    if (spec->combine.polarisation != POLARISATION_SEPARATE || pols <= 2) {
        const char *separate = pols == 2 ? "AABB" : "AA";
        return text_add(out, "%s",
                        spec->combine.polarisation ? types[spec->combine.polarisation] : separate);
    }
    TRY(parts_name_axis(spec->archive, AXIS_POL, &names));
    for (uint32_t i = 0; i < pols; i++) {
        TRY(text_add(out, "%s%s", i > 0 ? "," : "", names.names[i]));
    }
    return STATUS_OK;
}
