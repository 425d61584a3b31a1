/* Candidates: the peaks of every DM and cell, from which they are grouped, and their table. */
#include "product/candidates.h"

#include "dsp/boxes.h"
#include "io/hdf5/h5_dataset.h"
#include "product/kind/dedispersed_kind.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/pack/packed_rows.h"

#include <stddef.h>

static const char peak_convention[] =
    "/peaks[d][c] is the best box that begins at one of the `cell` samples from c * cell on of the "
    "series of DM d: its S/N, its width in samples, and how many samples behind the cell's first "
    "it begins; `above` counts the cell's single samples that reach the threshold. Zeros: none "
    "does. The S/N of a box of w samples is (sum - w * mean) / (rms * sqrt(w)), mean and rms those "
    "of the `block` samples that it begins in (of a short last block: of the last `block`), "
    "measured in its 64 equal parts, but for those whose mean or variance lies farther from their "
    "median than four scaled median deviations. Boxes of 1, 2, 4, ... widths samples are summed, "
    "then the edges of a cell's best are moved as long as it gets better.";

static status_t candidates_put_words(hid_t data, const struct dedispersed_search *search)
{
    TRY(h5_put_text(data, "axes", "dm,time"));
    TRY(h5_put_text(data, "long_name", "the best box of each cell of each DM"));
    TRY(h5_put_text(data, "convention", peak_convention));
    TRY(h5_put_u64(data, "cell", PEAK_CELL));
    TRY(h5_put_u64(data, "block", search->boxes->block));
    TRY(h5_put_u64(data, "widths", search->boxes->widths));
    TRY(h5_put_f64(data, "threshold", search->boxes->threshold));
    TRY(h5_put_u64(data, "samples", search->boxes->outputs));
    TRY(h5_put_f64(data, "tsamp_s", search->time.step));
    return h5_put_f64(data, "first_time", search->time.first);
}

static status_t candidates_put_peaks(hid_t file, const struct product_spec *product)
{
    status_t st = STATUS_OK;
    const struct dedispersed_spec *spec = product->series;
    const hsize_t dims[2] = {spec->delays->ndms, spec->times};
    const struct parts_field fields[] = {{"snr", offsetof(struct peak, snr), H5T_IEEE_F32LE},
                                         {"width", offsetof(struct peak, width), H5T_STD_U16LE},
                                         {"offset", offsetof(struct peak, offset), H5T_STD_U8LE},
                                         {"above", offsetof(struct peak, above), H5T_STD_U8LE}};
    hid_t type = -1;
    hid_t data = -1;
    TRY_OUT(parts_scale_f64(file, "dm", spec->dms, dims[0], "pc cm-3", "dispersion measure"));
    TRY_OUT(parts_scale_time(file, dims[1], &spec->input->sky,
                             "the middle of a cell, at the reference frequency"));
    TRY_OUT(parts_compound(sizeof(struct peak), fields, 4, "peaks", &type));
    TRY_OUT(packed_rows_create(file, product, "peaks", type, 2, dims, &data));
    TRY_OUT(candidates_put_words(data, &spec->search));
    TRY_OUT(parts_attach(file, data, "dm", 0, "dm"));
    TRY_OUT(parts_attach(file, data, "time", 1, "time"));
out:
    h5_close(data);
    h5_close(type);
    return st;
}

static status_t candidates_describe(hid_t file, const struct product_spec *spec,
                                    const struct product_place *place)
{
    TRY(dedispersed_put_root(file, PRODUCT_CANDIDATES, "candidates of a search for bursts",
                             spec->series));
    TRY(candidates_put_peaks(file, spec));
    TRY(candidates_put(file, spec->series->search.found));
    return dedispersed_put_provenance(file, spec, place);
}

static status_t candidates_inspect(hid_t file, struct product *product)
{
    status_t st = STATUS_OK;
    struct h5_dataset table = {0};
    TRY_OUT(h5_dataset_open(file, product->path, "candidates", &table));
    product->candidates = table.count;
    product->integrate = 1;
out:
    h5_dataset_close(&table);
    return st;
}

const struct kind candidates_kind = {.rows = "peaks",
                                     .bytes = sizeof(struct peak),
                                     .least_dims = 2,
                                     .most_dims = 2,
                                     .describe = candidates_describe,
                                     .inspect = candidates_inspect};
