/* Complex spectra: /spectra, {r, i} float [time][station][beam][pol][frequency]; station and beam
 * only when the archive has such an axis. */
#include "product/kind/kinds.h"

const char *product_data_name(enum product_kind kind)
{
    static const char *const names[] = {"spectra", "data", "dedispersed"};
    return names[kind];
}

static status_t spectra_pair_type(hid_t *out)
{
    status_t st = STATUS_OK;
    *out = H5Tcreate(H5T_COMPOUND, 8);
    H5_TRY(H5Tinsert(*out, "r", 0, H5T_IEEE_F32LE), "the type of spectra cannot be made");
    H5_TRY(H5Tinsert(*out, "i", 4, H5T_IEEE_F32LE), "the type of spectra cannot be made");
out:
    return st;
}

static status_t spectra_attach_names(hid_t file, hid_t data, const struct archive *archive,
                                     enum axis axis, unsigned dim)
{
    status_t st = STATUS_OK;
    char **names = NULL;
    const char *name = axis_name(axis);
    TRY(product_names(archive, axis, &names));
    TRY(product_scale_texts(file, name, names, archive->nselected[axis], name));
    TRY(product_attach(file, data, name, dim, name));
out:
    h5_free_texts(names, names ? archive->nselected[axis] : 0);
    return st;
}

status_t spectra_create(hid_t file, const struct product_spec *spec, hid_t *out)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    static const enum axis axes[] = {AXIS_STATION, AXIS_BEAM, AXIS_POL};
    hid_t type = -1;
    hsize_t dims[5] = {spec->rows};
    int rank = 1;
    struct text words = {0};
    TRY(text_add(&words, "time"));
    for (int i = 0; i < 3; i++) {
        if (axes[i] == AXIS_POL || archive->present[axes[i]]) {
            dims[rank++] = archive->nselected[axes[i]];
            TRY(text_add(&words, ",%s", axis_name(axes[i])));
        }
    }
    dims[rank++] = product_frequencies(spec);
    TRY(text_add(&words, ",frequency"));
    TRY(spectra_pair_type(&type));
    TRY(h5_create_dataset(file, "spectra", type, rank, dims, out));
    TRY(h5_put_text(*out, "axes", words.data));
    TRY(h5_put_text(*out, "long_name",
                    "complex spectra, volts of the archive times the filter's "
                    "gain"));
    TRY(product_attach(file, *out, "time", 0, "time"));
    TRY(product_attach(file, *out, "frequency", (unsigned)rank - 1, "frequency"));
    int dim = 1;
    for (int i = 0; i < 3; i++) {
        if (axes[i] == AXIS_POL || archive->present[axes[i]]) {
            TRY(spectra_attach_names(file, *out, archive, axes[i], (unsigned)dim));
            dim++;
        }
    }
out:
    text_free(&words);
    h5_close(type);
    return st;
}
