/* Power as an FBH5 filterbank: /data float [time][if][frequency], as blimpy, turbo_seti and rawspec
 * read and write it. An "if" is one station, beam and polarisation. */
#include "base/memory.h"
#include "product/kind/bank.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/kind/sigproc.h"

#include <math.h>
#include <stdlib.h>

/* blimpy's header: names and units are SIGPROC's (MHz, hours, MJD). */
static status_t power_put_header(hid_t data, const struct product_spec *spec, uint32_t nifs)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    uint64_t count = spec->frequencies;
    struct time_axis time = bank_time(spec);
    struct utc start = utc_add(archive->start, axes_leading_edge(time));
    double spacing = archive_chan_width_hz(archive) / spec->channels * spec->average;
    TRY(h5_put_i32(data, "machine_id", 0));
    TRY(h5_put_i32(data, "telescope_id", sigproc_telescope(archive->telescope)));
    TRY(h5_put_i32(data, "data_type", 1));
    TRY(h5_put_i32(data, "nchans", (int32_t)count));
    /* Channels of a coarse one; averaged across coarse channels there are none. */
    int is_whole = spec->nchannels % spec->average == 0;
    TRY(h5_put_i32(data, "nfpc", is_whole ? (int32_t)(spec->nchannels / spec->average) : 1));
    TRY(h5_put_i32(data, "nbeams", 1));
    TRY(h5_put_i32(data, "ibeam", 1));
    TRY(h5_put_i32(data, "nbits", 32));
    TRY(h5_put_i32(data, "nifs", (int32_t)nifs));
    TRY(h5_put_f64(data, "src_raj", archive->has_position ? archive->ra_deg / 15 : 0));
    TRY(h5_put_f64(data, "src_dej", archive->has_position ? archive->dec_deg : 0));
    TRY(h5_put_f64(data, "az_start", 0));
    TRY(h5_put_f64(data, "za_start", 0));
    TRY(h5_put_f64(data, "fch1", bank_frequency(spec, 0) / 1e6));
    TRY(h5_put_f64(data, "foff", spacing / 1e6));
    TRY(h5_put_f64(data, "tstart", archive->has_start ? utc_mjd(start) : 0));
    TRY(h5_put_f64(data, "tsamp", time.step));
    TRY(h5_put_text(data, "source_name", archive->source ? archive->source : "unknown"));
    TRY(h5_put_text(data, "rawdatafile", text_basename(archive->parts[0].path)));
    TRY(h5_put_text(data, "long_name",
                    "power: |spectrum|^2 summed over `integrate` spectra, volts^2 of the archive "
                    "times the filter's gain"));
    TRY(h5_put_text(data, "tstart_convention",
                    "MJD (UTC) of the leading edge of the first dump, = start + first_time - "
                    "time_step / 2 of the root; 0 when the archive does not say when it starts"));
out:
    return st;
}

static status_t power_describe(hid_t file, const struct product_spec *spec,
                               const struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t data = -1;
    char **ifs = NULL;
    uint32_t nifs = 0;
    TRY(bank_describe(file, spec, place, "power spectra"));
    TRY(bank_name_ifs(spec->archive, &ifs, &nifs));
    TRY(h5_put_text(file, "CLASS", "FILTERBANK"));
    TRY(h5_put_text(file, "VERSION", "1.0"));
    hsize_t dims[3] = {spec->rows, nifs, spec->frequencies};
    REQUIRE(dims[2] <= INT32_MAX, STATUS_USAGE,
            "%llu channels do not fit a filterbank, whose header counts to %d",
            (unsigned long long)dims[2], INT32_MAX);
    TRY(h5_create_dataset(file, "data", H5T_IEEE_F32LE, 3, dims, &data));
    TRY(power_put_header(data, spec, nifs));
    TRY(parts_scale_texts(file, "pol", ifs, nifs,
                          "station/beam/polarisation of each if, as far as the archive has such "
                          "axes"));
    TRY(parts_attach(file, data, "time", 0, "time"));
    TRY(parts_attach(file, data, "pol", 1, "feed_id"));
    TRY(parts_attach(file, data, "frequency", 2, "frequency"));
    TRY(spec->has_weights ? bank_put_weights(file, spec, "pol", nifs) : STATUS_OK);
out:
    h5_free_texts(ifs, nifs);
    h5_close(data);
    return st;
}

extern const struct kind power_kind;
const struct kind power_kind = {.rows = "data",
                                .bytes = sizeof(float),
                                .least_dims = 3,
                                .most_dims = 3,
                                .describe = power_describe,
                                .inspect = bank_inspect};
