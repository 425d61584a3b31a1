/* Complex spectra: /spectra, {r, i} float [time][station][beam][pol][frequency]; station and beam
 * only when the archive has such an axis. */
#include "product/ifs.h"
#include "product/kind/bank_kind.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/pack/packed_rows.h"
#include "product/quantised.h"

static status_t spectra_attach_names(hid_t file, hid_t data, const struct archive *archive,
                                     enum axis axis, unsigned dim)
{
    status_t st = STATUS_OK;
    char **names = NULL;
    const char *name = axis_name(axis);
    TRY_OUT(parts_name_axis(archive, axis, &names));
    TRY_OUT(parts_scale_texts(file, name, names, archive->nselected[axis], name));
    TRY_OUT(parts_attach(file, data, name, dim, name));
out:
    text_free_list(names, names ? archive->nselected[axis] : 0);
    return st;
}

/* Ifs have a scale of their own where they count stations or beams, too. */
static status_t spectra_put_beside(hid_t file, hid_t data, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    int has_more = archive->present[AXIS_STATION] || archive->present[AXIS_BEAM];
    char **ifs = NULL;
    uint32_t nifs = 0;
    const char *scale = has_more ? "if" : "pol";
    TRY_OUT(ifs_name(spec, &ifs, &nifs));
    if (has_more && (spec->weights.are_kept || quantised_is(spec))) {
        TRY_OUT(parts_scale_texts(file, "if", ifs, nifs, "station/beam/polarisation of each if"));
    }
    TRY_OUT(spec->weights.are_kept ? bank_put_weights(file, spec, scale, nifs) : STATUS_OK);
    TRY_OUT(quantised_is(spec) ? quantised_put(file, data, spec, scale) : STATUS_OK);
out:
    text_free_list(ifs, nifs);
    return st;
}

static status_t spectra_describe(hid_t file, const struct product_spec *spec,
                                 const struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t data = -1;
    const struct archive *archive = spec->archive;
    static const enum axis axes[] = {AXIS_STATION, AXIS_BEAM, AXIS_POL};
    hid_t type = -1;
    hsize_t dims[5] = {spec->rows};
    int rank = 1;
    struct text words = {0};
    TRY_OUT(bank_describe(file, spec, place, "complex spectra"));
    TRY_OUT(text_add(&words, "time"));
    for (int i = 0; i < 3; i++) {
        if (axes[i] == AXIS_POL || archive->present[axes[i]]) {
            dims[rank++] = archive->nselected[axes[i]];
            TRY_OUT(text_add(&words, ",%s", axis_name(axes[i])));
        }
    }
    dims[rank++] = spec->frequencies;
    TRY_OUT(text_add(&words, ",frequency"));
    TRY_OUT(parts_pair_type(quantised_type(spec), "spectra", &type));
    TRY_OUT(packed_rows_create(file, spec, "spectra", type, rank, dims, &data));
    TRY_OUT(h5_put_text(data, "axes", words.data));
    TRY_OUT(h5_put_text(data, "long_name",
                        "complex spectra, volts of the archive times the filter's gain"));
    TRY_OUT(h5_put_text(data, "units", "V"));
    TRY_OUT(spec->weights.are_kept ? h5_put_text(data, "ancillary_variables", "weights")
                                   : STATUS_OK);
    TRY_OUT(parts_attach(file, data, "time", 0, "time"));
    TRY_OUT(parts_attach(file, data, "frequency", (unsigned)rank - 1, "frequency"));
    int dim = 1;
    for (int i = 0; i < 3; i++) {
        if (axes[i] == AXIS_POL || archive->present[axes[i]]) {
            TRY_OUT(spectra_attach_names(file, data, archive, axes[i], (unsigned)dim));
            dim++;
        }
    }
    TRY_OUT(spectra_put_beside(file, data, spec));
out:
    text_free(&words);
    h5_close(type);
    h5_close(data);
    return st;
}

const struct kind spectra_kind = {.rows = "spectra",
                                  .bytes = 2 * sizeof(float),
                                  .least_dims = 3,
                                  .most_dims = 5,
                                  .describe = spectra_describe,
                                  .inspect = bank_inspect};
