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

status_t ifs_name(const struct product_spec *spec, char ***out, uint32_t *count)
{
    status_t st = STATUS_OK;
    static const enum axis axes[] = {AXIS_STATION, AXIS_BEAM, AXIS_POL};
    const struct archive *archive = spec->archive;
    char **names[3] = {NULL};
    char **ifs = NULL;
    uint32_t total = ifs_count(spec);
    uint32_t each = ifs_of_antenna(spec);
    uint32_t beams = ifs_antennas(spec, AXIS_BEAM);
    const int is_summed[] = {spec->combine.sums_stations, spec->combine.sums_beams};
    struct text text = {0};
    for (int i = 0; i < 3; i++) {
        TRY_OUT(parts_name_axis(archive, axes[i], &names[i]));
    }
    TRY_OUT(memory_zeroed(total, sizeof *ifs, "names", &ifs));
    for (uint32_t at = 0; at < total; at++) {
        const uint32_t index[] = {at / each / beams, at / each % beams};
        text.length = 0;
        for (int i = 0; i < 2; i++) {
            if (archive->present[axes[i]] && !is_summed[i]) {
                TRY_OUT(text_add(&text, "%s/", names[i][index[i]]));
            }
        }
        TRY_OUT(ifs_add_own(spec, names[2], at % each, &text));
        TRY_OUT(memory_text(text.data, &ifs[at]));
    }
    *out = ifs;
    *count = total;
    ifs = NULL;
out:
    for (int i = 0; i < 3; i++) {
        text_free_list(names[i], names[i] ? archive->nselected[axes[i]] : 0);
    }
    text_free_list(ifs, total);
    text_free(&text);
    return st;
}

status_t ifs_pol_type(const struct product_spec *spec, struct text *out)
{
    status_t st = STATUS_OK;
    static const char *const types[] = {[POLARISATION_I] = "I",
                                        [POLARISATION_IQUV] = "IQUV",
                                        [POLARISATION_COHERENCY] = "AABBCRCI"};
    uint32_t pols = spec->archive->nselected[AXIS_POL];
    char **names = NULL;
    if (spec->combine.polarisation != POLARISATION_SEPARATE || pols <= 2) {
        const char *separate = pols == 2 ? "AABB" : "AA";
        TRY_OUT(text_add(
            out, "%s", spec->combine.polarisation ? types[spec->combine.polarisation] : separate));
        goto out;
    }
    TRY_OUT(parts_name_axis(spec->archive, AXIS_POL, &names));
    for (uint32_t i = 0; i < pols; i++) {
        TRY_OUT(text_add(out, "%s%s", i > 0 ? "," : "", names[i]));
    }
out:
    text_free_list(names, names ? pols : 0);
    return st;
}
