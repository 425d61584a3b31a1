/* Power as an FBH5 filterbank: /data float [time][if][frequency], as blimpy, turbo_seti and rawspec
 * read and write it. An "if" is one station, beam and polarisation. */
#include "product/attributes.h"
#include "product/flagged.h"
#include "product/ifs.h"
#include "product/kind/bank_kind.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/kind/sigproc_head.h"
#include "product/pack/packed_rows.h"
#include "product/quantised.h"

static const char bandpass_convention[] =
    "median of each channel over all rows, NaN left out; of an even count the lower of the two in "
    "the middle";

static const char *power_long_name(const struct product_spec *spec)
{
    static const char *const names[] = {
        [POLARISATION_SEPARATE] = "power: |spectrum|^2",
        [POLARISATION_I] = "total intensity: |spectrum|^2 of both polarisations",
        [POLARISATION_IQUV] = "Stokes parameters of spectra",
        [POLARISATION_COHERENCY] = "coherency of the polarisations' spectra"};
    return names[spec->combine.polarisation];
}

/* blimpy's header: names and units are SIGPROC's (MHz, hours, MJD). */
static status_t power_put_header(hid_t data, const struct product_spec *spec, uint32_t nifs)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    struct text name = {0};
    uint64_t count = spec->frequencies;
    struct time_axis time = bank_time(spec);
    struct utc start = utc_add(archive->sky.start, axes_leading_edge(time));
    double spacing = archive_chan_width_hz(archive) / spec->bank.channels * spec->average;
    TRY_OUT(h5_put_i32(data, "machine_id", 0));
    TRY_OUT(h5_put_i32(data, "telescope_id", sigproc_telescope(archive->sky.telescope)));
    TRY_OUT(h5_put_i32(data, "data_type", 1));
    TRY_OUT(h5_put_i32(data, "nchans", (int32_t)count));
    /* Channels of a coarse one; averaged across coarse channels there are none. */
    int is_whole = spec->bank.nchannels % spec->average == 0;
    TRY_OUT(
        h5_put_i32(data, "nfpc", is_whole ? (int32_t)(spec->bank.nchannels / spec->average) : 1));
    TRY_OUT(h5_put_i32(data, "nbeams", 1));
    TRY_OUT(h5_put_i32(data, "ibeam", 1));
    TRY_OUT(h5_put_i32(data, "nbits", (int32_t)spec->steps.bits));
    TRY_OUT(h5_put_i32(data, "nifs", (int32_t)nifs));
    TRY_OUT(h5_put_f64(data, "src_raj", archive->sky.has_position ? archive->sky.ra_deg / 15 : 0));
    TRY_OUT(h5_put_f64(data, "src_dej", archive->sky.has_position ? archive->sky.dec_deg : 0));
    TRY_OUT(h5_put_f64(data, "az_start", 0));
    TRY_OUT(h5_put_f64(data, "za_start", 0));
    TRY_OUT(h5_put_f64(data, "fch1", bank_frequency(spec, 0) / 1e6));
    TRY_OUT(h5_put_f64(data, "foff", spacing / 1e6));
    TRY_OUT(h5_put_f64(data, "tstart", archive->sky.has_start ? utc_mjd(start) : 0));
    TRY_OUT(h5_put_f64(data, "tsamp", time.step));
    TRY_OUT(
        h5_put_text(data, "source_name", archive->sky.source ? archive->sky.source : "unknown"));
    TRY_OUT(h5_put_text(data, "rawdatafile", text_basename(archive->parts[0].path)));
    TRY_OUT(text_add(
        &name, "%s summed over `integrate` spectra, volts^2 of the archive times the filter's gain",
        power_long_name(spec)));
    TRY_OUT(h5_put_text(data, "long_name", name.data));
    TRY_OUT(h5_put_text(data, "units", "V2"));
    TRY_OUT(spec->weights.are_kept ? h5_put_text(data, "ancillary_variables", "weights")
                                   : STATUS_OK);
    TRY_OUT(attributes_put(data, AT_IFS, spec));
    TRY_OUT(
        h5_put_text(data, "tstart_convention",
                    "MJD (UTC) of the leading edge of the first dump, = start + first_time - "
                    "time_step / 2 of the root; 0 when the archive does not say when it starts"));
out:
    text_free(&name);
    return st;
}

static status_t power_describe(hid_t file, const struct product_spec *spec,
                               const struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t data = -1;
    char **ifs = NULL;
    uint32_t nifs = 0;
    TRY_OUT(bank_describe(file, spec, place, "power spectra"));
    TRY_OUT(ifs_name(spec, &ifs, &nifs));
    TRY_OUT(h5_put_text(file, "CLASS", "FILTERBANK"));
    TRY_OUT(h5_put_text(file, "VERSION", "1.0"));
    hsize_t dims[3] = {spec->rows, nifs, spec->frequencies};
    REQUIRE_OUT(dims[2] <= INT32_MAX, STATUS_USAGE,
                "%llu channels do not fit a filterbank, whose header counts to %d",
                (unsigned long long)dims[2], INT32_MAX);
    const struct parts_set bandpass = {/* found when all rows are there */
                                       "bandpass",
                                       H5T_IEEE_F32LE,
                                       2,
                                       {nifs, spec->frequencies},
                                       .long_name = bandpass_convention,
                                       .scales = {"pol", "frequency"},
                                       .labels = {"feed_id", "frequency"}};
    TRY_OUT(packed_rows_create(file, spec, "data", quantised_type(spec), 3, dims, &data));
    TRY_OUT(power_put_header(data, spec, nifs));
    TRY_OUT(parts_scale_texts(
        file, "pol", ifs, nifs,
        "station/beam/polarisation of each if, as far as the archive has such axes"));
    TRY_OUT(parts_attach(file, data, "time", 0, "time"));
    TRY_OUT(parts_attach(file, data, "pol", 1, "feed_id"));
    TRY_OUT(parts_attach(file, data, "frequency", 2, "frequency"));
    TRY_OUT(spec->weights.are_kept ? bank_put_weights(file, spec, "pol", nifs) : STATUS_OK);
    TRY_OUT(spec->has_bandpass ? parts_put(file, &bandpass) : STATUS_OK);
    TRY_OUT(spec->flag.is_on ? flagged_put(file, spec, "pol") : STATUS_OK);
    TRY_OUT(quantised_is(spec) ? quantised_put(file, data, spec, "pol") : STATUS_OK);
out:
    text_free_list(ifs, nifs);
    h5_close(data);
    return st;
}

const struct kind power_kind = {.rows = "data",
                                .bytes = sizeof(float),
                                .least_dims = 3,
                                .most_dims = 3,
                                .describe = power_describe,
                                .inspect = bank_inspect};
