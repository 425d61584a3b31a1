/* Dedispersed series: how a new product is described, and how it is read back. Products of a search
 * are the peaks of every DM and cell, from which candidates are grouped, and their table. */
#include "product/kind/dedispersed_kind.h"

#include "base/memory.h"
#include "dsp/boxes.h"
#include "product/candidates.h"
#include "product/codec.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/kind/sigproc_head.h"

static const char coherent_convention[] =
    "The voltages were dedispersed coherently before: delays + origin is round((coherent_constant "
    "* coherent_dm * (1 / v^2 - 1 / r^2) + constant * (dm - coherent_dm) * (1 / f^2 - 1 / r^2)) / "
    "tsamp_s), v the frequency in /provenance/delay_hz, whose delay a channel still had. Where "
    "/provenance/coherent_dms is there, coherent_dm is that of each DM.";

static const char not_kept[] = "power of several coherent DMs, which is not kept";

static const char delay_convention[] =
    "/dedispersed[d][t] is the sum, over the channels c that are not masked, of sample t + origin "
    "+ delays[d][c] of the filterbank's channel c, after the ifs and `downsample` samples in time "
    "were added up; with edges valid, t counts from the first time of which all samples are there "
    "(t begins at -origin); with edges pad it counts from 0, and samples outside of the "
    "observation count as zero. delays + origin is round(constant * dm * (1 / f^2 - 1 / r^2) / "
    "tsamp_s), f and the reference r in MHz, halves away from zero. In mode two-step samples are "
    "taken at most error_samples beside these.";

static const char zero_dm_words[] = "of each sample, after ifs and times were added up, the mean "
                                    "of the channels that are not masked was taken off all; "
                                    "multiples of it were rounded to 2^-19 of the rms, or finer";

static const char time_convention[] =
    "/time holds seconds after start_mjd_day (Modified Julian Day, UTC) and start_second of the "
    "root: the time at which a pulse arrives at reference_hz; it is first_time + t * time_step. "
    "Stamps are the centres of the filterbank's dumps; of samples that were added up in time, "
    "their mean.";

static const char tstart_convention[] =
    "MJD (UTC) of the leading edge of sample 0, = start + first_time - time_step / 2 of the root; "
    "0 when the filterbank does not say when it starts";

/* Writes the attributes of the dataset that exporters need. */
static status_t dedispersed_put_header(hid_t data, const struct dedispersed_spec *spec)
{
    const struct fbh5 *input = spec->input;
    struct utc start = utc_add(input->sky.start, axes_leading_edge(spec->time));
    TRY(h5_put_f64(data, "tsamp_s", spec->time.step));
    TRY(h5_put_f64(data, "tstart", input->sky.has_start ? utc_mjd(start) : 0));
    TRY(h5_put_text(data, "tstart_convention", tstart_convention));
    TRY(h5_put_f64(data, "fch1", input->fch1_mhz));
    TRY(h5_put_f64(data, "foff", input->foff_mhz));
    TRY(h5_put_i32(data, "nchans", (int32_t)input->nchannels));
    TRY(h5_put_text(data, "source_name", input->sky.source ? input->sky.source : "unknown"));
    TRY(h5_put_text(data, "telescope", input->sky.telescope));
    TRY(h5_put_i32(data, "telescope_id", sigproc_of(input).telescope_id));
    TRY(h5_put_f64(data, "src_raj", input->head.raj_hours));
    TRY(h5_put_f64(data, "src_dej", input->head.dej_degrees));
    TRY(h5_put_text(data, "axes", "dm,time"));
    return h5_put_text(data, "long_name", "power summed over channels along the delays of each DM");
}

/* Write, for the kind `candidates`, the series' attributes of the root and of the provenance. Fail
 * with NO_SPACE, DATA, DEVICE (memory). */
static status_t dedispersed_put_root(hid_t file, enum product_kind kind, const char *title,
                                     const struct dedispersed_spec *spec)
{
    const struct fbh5 *input = spec->input;
    TRY(parts_put_root(file, kind, title, &input->sky));
    TRY(h5_put_f64(file, "first_time", spec->time.first));
    return h5_put_f64(file, "time_step", spec->time.step);
}

static status_t dedispersed_put_plan(hid_t group, const struct dedispersed_spec *spec)
{
    TRY(h5_put_text(group, "filterbank", spec->is_merged ? not_kept : spec->input->path));
    TRY(h5_put_text(group, "time_convention", time_convention));
    TRY(h5_put_text(group, "delay_convention", delay_convention));
    if (spec->input->coherent.delay_hz) {
        TRY(h5_put_text(group, "coherent_convention", coherent_convention));
        TRY(spec->is_merged ? STATUS_OK
                            : h5_put_f64(group, "coherent_dm", spec->input->coherent.dm));
        TRY(h5_put_f64(group, "coherent_constant", spec->input->coherent.constant));
    }
    TRY(h5_put_f64(group, "constant", spec->constant));
    TRY(h5_put_f64(group, "reference_hz", spec->reference_hz));
    TRY(h5_put_text(group, "mode", spec->mode));
    TRY(h5_put_i32(group, "error_samples", (int32_t)spec->error_samples));
    TRY(h5_put_u64(group, "downsample", spec->downsample));
    TRY(h5_put_text(group, "edges", spec->edges));
    TRY(spec->is_zero_dm ? h5_put_text(group, "zero_dm", zero_dm_words) : STATUS_OK);
    TRY(h5_put_text(group, "dm_plan", spec->plan));
    TRY(h5_put_text(group, "ifs", spec->ifs));
    TRY(h5_put_i32(group, "origin", (int32_t)spec->delays->origin));
    return h5_put_u64(group, "gap_samples", 0);
}

/* Writes the delays, some rows at a time. */
static status_t dedispersed_put_delays(hid_t group, const struct dispersion *delays)
{
    enum { PIECE_DELAYS = 1 << 20 };
    const hsize_t dims[2] = {delays->ndms, delays->nchannels};
    const hsize_t most = max_u64(PIECE_DELAYS / dims[1], 1);
    SCOPED(free_at) uint32_t *rows = NULL;
    SCOPED(h5_close_at) hid_t dataset = -1;
    TRY(memory_zeroed((size_t)(min_u64(most, dims[0]) * dims[1]), sizeof *rows, "delays", &rows));
    TRY(h5_create_dataset(group, "delays", H5T_STD_U32LE, 2, dims, &dataset));
    for (hsize_t first = 0; first < dims[0]; first += most) {
        const hsize_t start[2] = {first, 0};
        const hsize_t size[2] = {min_u64(most, dims[0] - first), dims[1]};
        dispersion_rows(delays, (uint32_t)first, (uint32_t)size[0], rows);
        TRY(parts_write(dataset, "delays", H5T_NATIVE_UINT32, 2, start, size, rows));
    }
    return STATUS_OK;
}

static status_t dedispersed_put_provenance(hid_t file, const struct product_spec *product,
                                           const struct product_place *place)
{
    SCOPED(h5_close_at) hid_t group = -1;
    const struct dedispersed_spec *spec = product->series;
    const struct fbh5 *input = spec->input;
    const struct dispersion *delays = spec->delays;
    TRY(parts_begin_provenance(file, product, &group));
    TRY(dedispersed_put_plan(group, spec));
    TRY(parts_reserve_counts(group, place));
    TRY(parts_reserve_holes(group, place));
    TRY(dedispersed_put_delays(group, delays));
    TRY(parts_put_list(group, "frequency", H5T_IEEE_F64LE, 1, delays->nchannels, input->freq_hz));
    TRY(parts_put_list(group, "delay_hz", H5T_IEEE_F64LE, 1, delays->nchannels,
                       input->coherent.delay_hz));
    TRY(parts_put_list(group, "coherent_dms", H5T_IEEE_F64LE, 1, delays->ndms, spec->coherent_dms));
    return parts_put_list(group, "mask", H5T_STD_U8LE, 1, delays->nchannels, spec->mask);
}

static status_t dedispersed_put_series(hid_t file, const struct product_spec *product)
{
    const struct dedispersed_spec *spec = product->series;
    SCOPED(h5_close_at) hid_t data = -1;
    const hsize_t dims[2] = {spec->delays->ndms, spec->times};
    TRY(parts_scale_f64(file, "dm", spec->dms, dims[0], "pc cm-3", "dispersion measure"));
    TRY(parts_scale_time(file, dims[1], &spec->input->sky,
                         "when a pulse arrives at the reference frequency"));
    TRY(packed_rows_create(file, product, "dedispersed", H5T_IEEE_F32LE, 2, dims, &data));
    TRY(dedispersed_put_header(data, spec));
    TRY(h5_put_text(data, "units", "V2"));
    TRY(parts_attach(file, data, "dm", 0, "dm"));
    return parts_attach(file, data, "time", 1, "time");
}

static status_t dedispersed_describe(hid_t file, const struct product_spec *spec,
                                     const struct product_place *place)
{
    TRY(dedispersed_put_root(file, PRODUCT_DEDISPERSED, "dedispersed time series", spec->series));
    TRY(dedispersed_put_series(file, spec));
    return dedispersed_put_provenance(file, spec, place);
}

static const struct pack_type delay_type = PACK_PLAIN(uint32_t);
static const struct pack_field pointers[] = {
    PACK_FIELD(struct dedispersed, filterbank),
    PACK_FIELD(struct dedispersed, mode),
    PACK_FIELD(struct dedispersed, edges),
    PACK_COUNTED(struct dedispersed, dms, ndms, &pack_numbers),
    PACK_COUNTED(struct dedispersed, freq_hz, nchannels, &pack_numbers),
    PACK_COUNTED(struct dedispersed, delays, ndelays, &delay_type),
};
const struct pack_type dedispersed_type = PACK_WHOLE(struct dedispersed, pointers);

static status_t dedispersed_need_text(hid_t group, const char *path, const char *name, char **out)
{
    int found = 0;
    TRY(h5_get_text(group, path, name, out, &found));
    return REQUIRED(found, STATUS_DATA, "%s: its provenance does not tell %s", path, name);
}

static status_t dedispersed_read_delays(hid_t file, const char *path, struct dedispersed *to)
{
    static const char name[] = "provenance/delays";
    SCOPED(h5_dataset_close) struct h5_dataset delays = {0};
    to->ndelays = to->ndms * to->nchannels;
    TRY(h5_dataset_open(file, path, name, &delays));
    REQUIRE(delays.count == to->ndelays, STATUS_DATA,
            "%s: its delays are not those of %zu DMs and %zu channels", path, to->ndms,
            to->nchannels);
    TRY(memory_zeroed(to->ndelays, sizeof *to->delays, "delays", &to->delays));
    return h5_dataset_read(&delays, path, name, H5T_NATIVE_UINT32, to->ndelays, to->delays);
}

SCOPED_CALLS(dedispersed_destroy, struct dedispersed *, pack_destroy(*at, &dedispersed_type))

static status_t dedispersed_inspect(hid_t file, struct product *product)
{
    SCOPED(dedispersed_destroy) struct dedispersed *to = NULL;
    const char *path = product->path;
    int found = 0;
    TRY(memory_zeroed(1, sizeof *to, "a product", &to));
    SCOPED(h5_close_at) hid_t group = H5Gopen2(file, "provenance", H5P_DEFAULT);
    H5_TRY(group, "%s has no provenance", path);
    TRY(dedispersed_need_text(group, path, "filterbank", &to->filterbank));
    TRY(dedispersed_need_text(group, path, "mode", &to->mode));
    TRY(dedispersed_need_text(group, path, "edges", &to->edges));
    TRY(h5_get_f64(group, path, "constant", &to->constant, &found));
    TRY(h5_get_f64(group, path, "reference_hz", &to->reference_hz, &found));
    TRY(h5_read_f64s(file, path, "dm", &to->dms, &to->ndms));
    TRY(h5_read_f64s(file, path, "provenance/frequency", &to->freq_hz, &to->nchannels));
    REQUIRE(to->ndms > 0 && to->nchannels > 0, STATUS_DATA, "%s holds %zu DMs of %zu channels",
            path, to->ndms, to->nchannels);
    TRY(dedispersed_read_delays(file, path, to));
    product->integrate = 1;
    product->series = memory_move(&to);
    product->nseries = 1;
    return STATUS_OK;
}

const struct kind dedispersed_kind = {.rows = "dedispersed",
                                      .bytes = sizeof(float),
                                      .least_dims = 2,
                                      .most_dims = 2,
                                      .describe = dedispersed_describe,
                                      .inspect = dedispersed_inspect};

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
    const struct dedispersed_spec *spec = product->series;
    const hsize_t dims[2] = {spec->delays->ndms, spec->times};
    const struct parts_field fields[] = {{"snr", offsetof(struct peak, snr), H5T_IEEE_F32LE},
                                         {"width", offsetof(struct peak, width), H5T_STD_U16LE},
                                         {"offset", offsetof(struct peak, offset), H5T_STD_U8LE},
                                         {"above", offsetof(struct peak, above), H5T_STD_U8LE}};
    SCOPED(h5_close_at) hid_t type = -1;
    SCOPED(h5_close_at) hid_t data = -1;
    TRY(parts_scale_f64(file, "dm", spec->dms, dims[0], "pc cm-3", "dispersion measure"));
    TRY(parts_scale_time(file, dims[1], &spec->input->sky,
                         "the middle of a cell, at the reference frequency"));
    TRY(parts_compound(sizeof(struct peak), fields, 4, "peaks", &type));
    TRY(packed_rows_create(file, product, "peaks", type, 2, dims, &data));
    TRY(candidates_put_words(data, &spec->search));
    TRY(parts_attach(file, data, "dm", 0, "dm"));
    return parts_attach(file, data, "time", 1, "time");
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
    SCOPED(h5_dataset_close) struct h5_dataset table = {0};
    TRY(h5_dataset_open(file, product->path, "candidates", &table));
    product->candidates = table.count;
    product->integrate = 1;
    return STATUS_OK;
}

const struct kind candidates_kind = {.rows = "peaks",
                                     .bytes = sizeof(struct peak),
                                     .least_dims = 2,
                                     .most_dims = 2,
                                     .describe = candidates_describe,
                                     .inspect = candidates_inspect};
