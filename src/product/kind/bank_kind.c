/* Products of a filter bank: axes, filter, and their meaning; then their rows.
 *
 *   spectra   /spectra, {r, i} float [time][station][beam][pol][frequency]; station and beam only
 *             when the archive has such an axis
 *   power     an FBH5 filterbank: /data float [time][if][frequency], as blimpy, turbo_seti and
 *             rawspec read and write it; an "if" is one station, beam and polarisation */
#include "product/kind/bank_kind.h"

#include "base/memory.h"
#include "product/attributes.h"
#include "product/codec.h"
#include "product/flagged.h"
#include "product/ifs.h"
#include "product/kind/bank_axes.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"
#include "product/kind/sigproc_head.h"
#include "product/places.h"

static const char time_convention[] =
    "Sample n of the observation is taken at start + n / sample_rate_hz. Spectrum s is made of the "
    "`taps` raw spectra s .. s + taps - 1 of the selected samples; its time stamp is the centre of "
    "these, the mean of the times of all their samples; a dump is stamped with the mean of its "
    "spectra. /time holds seconds after sample 0 of the observation, whose UTC is start_mjd_day "
    "(Modified Julian Day) and start_second (second of that day).";

static const char frequency_convention[] =
    "/frequency holds the sky frequency of each channel's centre in Hz. With Y[m] = sum_n y[n] "
    "exp(-2 pi i n m / P), a channel covers its centre +- half of the channel spacing. Complex "
    "samples of sideband -1 were conjugated, so that frequency rises with m. Real ones of sideband "
    "-1 are turned round in ascending order, and left in fft order, where frequency falls with m. "
    "Coarse channels follow each other in the order of their centres.";

static const char filter_convention[] =
    "y[n] = sum_t x[(s + t) P + n] b[t][n], t = 0 .. taps - 1, P = samples_per_spectrum; b is "
    "/coefficients, b[0][0] weighs the oldest sample. In ascending order the filter also "
    "multiplies by (-1)^n if samples are complex, which moves frequency 0 to channel P / 2, or "
    "real of sideband -1, which turns the band round.";

static const char scale_convention[] =
    "x[] are volts: the samples as they are stored, times the archive's `scale`, which is folded "
    "into the filter; /coefficients are without it.";

static const char missing_convention[] =
    "Samples that are missing (not a number, infinite, equal to the archive's missing_value, or in "
    "a gap that it declares) entered the filter as zero volts. gap_samples counts those in gaps, "
    "missing_samples the others, over all selected streams and the raw spectra that the filter "
    "took: the selection but for a last incomplete one.";

static const char filtered_convention[] =
    "Samples are those behind the filters: sample n of them was made for sample n D of the "
    "archive, D the product of all `decimate`, and counts as taken at start + offset_seconds + n / "
    "sample_rate_hz, offset_seconds being what the filters' delays come to.";

static const char droop_convention[] =
    "gain in power of what was before the filter bank, of each channel before neighbours became "
    "one: power was divided by it, spectra by its root; NaN where it is below 0.01 of the greatest "
    "of the whole band";

/* Writes the frequencies of the coarse channels that weights belong to. */
static status_t bank_put_coarse(hid_t file, const struct product_spec *spec)
{
    const struct archive *archive = spec->archive;
    uint32_t count = archive->nselected[AXIS_CHAN];
    SCOPED(free_at) double *frequency = NULL;
    TRY(memory_zeroed(count, sizeof *frequency, "frequencies", &frequency));
    for (uint32_t i = 0; i < count; i++) {
        frequency[i] = archive->freq_hz[archive->selected[AXIS_CHAN][i]];
    }
    return parts_scale_f64(file, "coarse_frequency", frequency, count, "Hz",
                           "sky frequency of each coarse channel");
}

/* Creates /weights [time][if][coarse channel], of flagged power [time][if][frequency], whose values
 * come with the rows; `ifs`: their scale. Fails with DATA, NO_SPACE, DEVICE (memory). */
static status_t bank_put_weights(hid_t file, const struct product_spec *spec, const char *ifs,
                                 uint32_t nifs)
{
    SCOPED(h5_close_at) hid_t weights = -1;
    const struct parts_set set = {"weights",
                                  H5T_IEEE_F32LE,
                                  3,
                                  {spec->rows, nifs, ifs_weights(spec) / nifs},
                                  .units = "1",
                                  .long_name =
                                      "share of what makes a dump that came from good samples"};
    TRY(spec->flag.is_on ? STATUS_OK : bank_put_coarse(file, spec));
    TRY(parts_make(file, &set, &weights));
    TRY(attributes_put(weights, AT_WEIGHTS, spec));
    TRY(parts_attach(file, weights, "time", 0, "time"));
    TRY(parts_attach(file, weights, ifs, 1, "if"));
    const char *channels = spec->flag.is_on ? "frequency" : "coarse_frequency";
    return parts_attach(file, weights, channels, 2, channels);
}

static status_t bank_put_coefficients(hid_t file, const struct product_spec *spec)
{
    SCOPED(h5_close_at) hid_t dataset = -1;
    const struct time_axis count = {0, 1}; /* netCDF readers want a scale for every dimension */
    const uint32_t taps = spec->bank.taps;
    const uint32_t samples = spec->bank.samples_per_spectrum;
    const struct parts_set set = {
        "coefficients",  H5T_IEEE_F64LE,   2,
        {taps, samples}, spec->bank.coeff, .long_name = "prototype filter, oldest sample first"};
    TRY(parts_scale_steps(file, "tap", count, taps, "1", "tap"));
    TRY(parts_scale_steps(file, "sample", count, samples, "1", "sample"));
    TRY(parts_make(file, &set, &dataset));
    TRY(spec->bank.has_cutoff ? h5_put_f64(dataset, "cutoff", spec->bank.cutoff) : STATUS_OK);
    TRY(parts_attach(file, dataset, "tap", 0, "tap"));
    return parts_attach(file, dataset, "sample", 1, "sample");
}

/* Where voltages were dedispersed coherently: how, and whose delay each channel still has. */
static status_t bank_put_coherent(hid_t file, const struct product_spec *spec)
{
    const struct archive *archive = spec->archive;
    SCOPED(free_at) double *delay_hz = NULL;
    if (!archive->coherent.delay_hz) {
        return STATUS_OK;
    }
    TRY(memory_zeroed((size_t)spec->frequencies, sizeof *delay_hz, "frequencies", &delay_hz));
    for (uint64_t i = 0; i < spec->frequencies; i++) {
        delay_hz[i] = bank_delay(spec, i);
    }
    return parts_put_coherent(file, archive, delay_hz, spec->frequencies);
}

static const char sum_convention[] =
    "by which the power of each station or beam (of both: of each beam of each station, the beams "
    "fastest) was multiplied before all were added up";

static status_t bank_put_provenance(hid_t file, const struct product_spec *spec,
                                    const struct product_place *place)
{
    SCOPED(h5_close_at) hid_t group = -1;
    TRY(parts_begin_provenance(file, spec, &group));
    TRY(h5_put_text(group, "time_convention", time_convention));
    TRY(h5_put_text(group, "frequency_convention", frequency_convention));
    TRY(h5_put_text(group, "filter_convention", filter_convention));
    if (spec->archive->scale != 1) {
        TRY(h5_put_f64(group, "scale", spec->archive->scale));
        TRY(h5_put_text(group, "scale_convention", scale_convention));
    }
    TRY(h5_put_text(group, "missing_convention", missing_convention));
    TRY(h5_put_u64(group, "gap_samples", spec->gap_samples));
    if (spec->combine.nweights > 0) {
        TRY(parts_put_named(group, "sum_weights", H5T_IEEE_F64LE, spec->combine.nweights,
                            spec->combine.weights, sum_convention));
    }
    if (spec->gains) { /* by what channels were divided */
        TRY(parts_put_named(group, "droop", H5T_IEEE_F64LE, spec->frequencies * spec->average,
                            spec->gains + spec->first_frequency, droop_convention));
    }
    if (spec->filters) { /* that came before */
        TRY(h5_put_text(group, "filters", spec->filters));
        TRY(h5_put_text(group, "filtered_convention", filtered_convention));
        TRY(h5_put_f64(file, "offset_seconds", spec->archive->offset_seconds));
    }
    TRY(bank_put_coherent(file, spec));
    TRY(parts_reserve_counts(group, place));
    return parts_reserve_holes(group, place);
}

status_t bank_describe(hid_t file, const struct product_spec *spec,
                       const struct product_place *place, const char *title)
{
    const struct sky *sky = &spec->archive->sky;
    TRY(parts_put_root(file, spec->kind, title, sky));
    TRY(attributes_put(file, AT_BANK, spec));
    /* Their values come with the rows, and by kind_put_frequencies(). */
    TRY(parts_scale_time(file, spec->rows, sky,
                         "centre of the samples that make the spectra of a dump"));
    TRY(parts_scale_frequency(file, spec->frequencies));
    TRY(bank_put_coefficients(file, spec));
    return bank_put_provenance(file, spec, place);
}

status_t bank_inspect(hid_t file, struct product *product)
{
    const char *path = product->path;
    size_t count = 0;
    TRY(attributes_get(file, AT_BANK, product));
    const struct ratio ratio = product->bank.oversample;
    REQUIRE(ratio.num + ratio.den == 0 || (ratio.num > ratio.den && ratio.den > 0 &&
                                           product->bank.hop > 0 && ratio.num <= INT32_MAX),
            STATUS_DATA,
            "%s: its channels are oversampled by %u/%u, spectra %llu samples apart, expected more "
            "than 1 and some",
            path, ratio.num, ratio.den, (unsigned long long)product->bank.hop);
    TRY(h5_read_f64s(file, path, "frequency", &product->frequency_hz, &count));
    return REQUIRED(count == product->frequencies, STATUS_DATA,
                    "%s has %llu channels, but %zu frequencies", path,
                    (unsigned long long)product->frequencies, count);
}

static status_t spectra_attach_names(hid_t file, hid_t data, const struct archive *archive,
                                     enum axis axis, unsigned dim)
{
    SCOPED(h5_names_free) struct h5_names names = {0};
    const char *name = axis_name(axis);
    TRY(parts_name_axis(archive, axis, &names));
    TRY(parts_scale_texts(file, name, names.names, names.count, name));
    return parts_attach(file, data, name, dim, name);
}

static const char convention[] =
    "value = scale q + offset, q the stored number; blank_value is no number (NaN). Block b is "
    "rows b * scale_rows to (b + 1) * scale_rows - 1, the last one ending with the last row. Of "
    "/scale and /offset, [block][if][frequency], row b is block b's; of scales `first` all have "
    "row 0, that of the first block. With factor = 1 / scale and t = value - offset as 32-bit "
    "floats, q is t * factor, exact, rounded to the nearest whole number (halves to the even one) "
    "and clipped; /clipped_low and /clipped_high count clipped numbers of each block.";

static const char power_convention[] =
    "Of a channel's finite numbers in a block: scale = rms about the mean / steps_a_rms (at least "
    "|mean| 2^-23; 1 if all are 0), offset = mean - centre * scale, as 32-bit floats.";

static const char spectra_convention[] =
    "Of a channel's finite numbers in a block, both parts of each: scale = rms / steps_a_rms (1 if "
    "all are 0), as a 32-bit float; offset = 0.";

/* Returns HDF5's type of a number of the rows: float if they are not quantised. */
static hid_t quantised_type(const struct product_spec *spec)
{
    int is_signed = product_quantity(spec->kind) == QUANTITY_SPECTRA;
    return spec->steps.bits == 8    ? is_signed ? H5T_STD_I8LE : H5T_STD_U8LE
           : spec->steps.bits == 16 ? is_signed ? H5T_STD_I16LE : H5T_STD_U16LE
                                    : H5T_IEEE_F32LE;
}

static status_t quantised_put_words(hid_t rows, const struct product_spec *spec)
{
    struct steps_form form = quantised_form(spec->kind, spec->steps.bits);
    static const uint16_t blank = 0; /* of power, in whatever bits */
    TRY(h5_put_text(rows, "scales", spec->steps.are_first ? "first" : "block"));
    TRY(h5_put_u64(rows, "scale_rows", spec->steps.rows));
    TRY(h5_put_f64(rows, "steps_a_rms", steps_a_rms(spec->steps.bits)));
    TRY(form.is_signed ? STATUS_OK : h5_put_f64(rows, "centre", steps_centre(spec->steps.bits)));
    TRY(h5_put_i32(rows, "blank_value", steps_blank(form)));
    /* Generic tools treat this value as missing; for pairs there is no such attribute. */
    if (!form.is_signed) {
        TRY(h5_put_number(rows, "_FillValue", quantised_type(spec), &blank));
    }
    TRY(h5_put_text(rows, "quantised_convention", convention));
    return h5_put_text(rows, "scale_convention",
                       form.is_signed ? spectra_convention : power_convention);
}

/* Creates /scale, /offset, /clipped_low, /clipped_high, whose values come with the rows, and the
 * attributes of the rows; `ifs`: the scale of their ifs. Fails with DATA, NO_SPACE, DEVICE
 * (memory). */
static status_t quantised_put(hid_t file, hid_t rows, const struct product_spec *spec,
                              const char *ifs)
{
    static const char words[] = "first row of each block";
    const struct time_axis axis = {0, (double)spec->steps.rows};
    const uint64_t blocks = ceil_div_u64(spec->rows, spec->steps.rows);
    const char *const of_scales = spec->steps.are_first ? "first_block" : "block";
    const struct {
        const char *name, *scale, *long_name;
    } sets[] = {{"scale", of_scales, "what 1 of a stored number is"},
                {"offset", of_scales, "what 0 of a stored number is"},
                {"clipped_low", "block", "numbers below the least that is stored"},
                {"clipped_high", "block", "numbers above the most that is stored"}};
    TRY(quantised_put_words(rows, spec));
    TRY(parts_scale_steps(file, "block", axis, blocks, "1", words));
    if (spec->steps.are_first) {
        TRY(parts_scale_steps(file, "first_block", axis, 1, "1", words));
    }
    for (int i = 0; i < 4; i++) {
        const struct parts_set set = {
            sets[i].name,
            i < 2 ? H5T_IEEE_F32LE : H5T_STD_U16LE,
            3,
            {i < 2 && spec->steps.are_first ? 1 : blocks, spec->nifs, spec->frequencies},
            .long_name = sets[i].long_name,
            .scales = {sets[i].scale, ifs, "frequency"},
            .labels = {"block", "if", "frequency"}};
        TRY(parts_put(file, &set));
    }
    return STATUS_OK;
}

/* Ifs have a scale of their own where they count stations or beams, too. */
static status_t spectra_put_beside(hid_t file, hid_t data, const struct product_spec *spec)
{
    const struct archive *archive = spec->archive;
    int has_more = archive->present[AXIS_STATION] || archive->present[AXIS_BEAM];
    SCOPED(h5_names_free) struct h5_names ifs = {0};
    const char *scale = has_more ? "if" : "pol";
    TRY(ifs_name(spec, &ifs));
    if (has_more && (spec->weights.are_kept || quantised_is(spec))) {
        TRY(parts_scale_texts(file, "if", ifs.names, ifs.count,
                              "station/beam/polarisation of each if"));
    }
    TRY(spec->weights.are_kept ? bank_put_weights(file, spec, scale, (uint32_t)ifs.count)
                               : STATUS_OK);
    return quantised_is(spec) ? quantised_put(file, data, spec, scale) : STATUS_OK;
}

static status_t spectra_describe(hid_t file, const struct product_spec *spec,
                                 const struct product_place *place)
{
    SCOPED(h5_close_at) hid_t data = -1;
    const struct archive *archive = spec->archive;
    static const enum axis axes[] = {AXIS_STATION, AXIS_BEAM, AXIS_POL};
    SCOPED(h5_close_at) hid_t type = -1;
    hsize_t dims[5] = {spec->rows};
    int rank = 1;
    SCOPED(text_free) struct text words = {0};
    TRY(bank_describe(file, spec, place, "complex spectra"));
    TRY(text_add(&words, "time"));
    for (int i = 0; i < 3; i++) {
        if (axes[i] == AXIS_POL || archive->present[axes[i]]) {
            dims[rank++] = archive->nselected[axes[i]];
            TRY(text_add(&words, ",%s", axis_name(axes[i])));
        }
    }
    dims[rank++] = spec->frequencies;
    TRY(text_add(&words, ",frequency"));
    TRY(parts_pair_type(quantised_type(spec), "spectra", &type));
    TRY(packed_rows_create(file, spec, "spectra", type, rank, dims, &data));
    TRY(h5_put_text(data, "axes", words.data));
    TRY(h5_put_text(data, "long_name",
                    "complex spectra, volts of the archive times the filter's gain"));
    TRY(h5_put_text(data, "units", "V"));
    TRY(spec->weights.are_kept ? h5_put_text(data, "ancillary_variables", "weights") : STATUS_OK);
    TRY(parts_attach(file, data, "time", 0, "time"));
    TRY(parts_attach(file, data, "frequency", (unsigned)rank - 1, "frequency"));
    int dim = 1;
    for (int i = 0; i < 3; i++) {
        if (axes[i] == AXIS_POL || archive->present[axes[i]]) {
            TRY(spectra_attach_names(file, data, archive, axes[i], (unsigned)dim));
            dim++;
        }
    }
    return spectra_put_beside(file, data, spec);
}

const struct kind spectra_kind = {.rows = "spectra",
                                  .bytes = 2 * sizeof(float),
                                  .least_dims = 3,
                                  .most_dims = 5,
                                  .describe = spectra_describe,
                                  .inspect = bank_inspect};

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

/* Writes blimpy's header, with SIGPROC's names and units (MHz, hours, MJD). */
static status_t power_put_header(hid_t data, const struct product_spec *spec, uint32_t nifs)
{
    const struct archive *archive = spec->archive;
    SCOPED(text_free) struct text name = {0};
    uint64_t count = spec->frequencies;
    struct time_axis time = bank_time(spec);
    struct utc start = utc_add(archive->sky.start, axes_leading_edge(time));
    double spacing = archive_chan_width_hz(archive) / spec->bank.channels * spec->average;
    TRY(h5_put_i32(data, "machine_id", 0));
    TRY(h5_put_i32(data, "telescope_id", sigproc_telescope(archive->sky.telescope)));
    TRY(h5_put_i32(data, "data_type", 1));
    TRY(h5_put_i32(data, "nchans", (int32_t)count));
    /* Channels of a coarse one; averaged across coarse channels there are none. */
    int is_whole = spec->bank.nchannels % spec->average == 0;
    TRY(h5_put_i32(data, "nfpc", is_whole ? (int32_t)(spec->bank.nchannels / spec->average) : 1));
    TRY(h5_put_i32(data, "nbeams", 1));
    TRY(h5_put_i32(data, "ibeam", 1));
    TRY(h5_put_i32(data, "nbits", (int32_t)spec->steps.bits));
    TRY(h5_put_i32(data, "nifs", (int32_t)nifs));
    TRY(h5_put_f64(data, "src_raj", archive->sky.has_position ? archive->sky.ra_deg / 15 : 0));
    TRY(h5_put_f64(data, "src_dej", archive->sky.has_position ? archive->sky.dec_deg : 0));
    TRY(h5_put_f64(data, "az_start", 0));
    TRY(h5_put_f64(data, "za_start", 0));
    TRY(h5_put_f64(data, "fch1", bank_frequency(spec, 0) / 1e6));
    TRY(h5_put_f64(data, "foff", spacing / 1e6));
    TRY(h5_put_f64(data, "tstart", archive->sky.has_start ? utc_mjd(start) : 0));
    TRY(h5_put_f64(data, "tsamp", time.step));
    TRY(h5_put_text(data, "source_name", archive->sky.source ? archive->sky.source : "unknown"));
    TRY(h5_put_text(data, "rawdatafile", text_basename(archive->parts[0].path)));
    TRY(text_add(
        &name, "%s summed over `integrate` spectra, volts^2 of the archive times the filter's gain",
        power_long_name(spec)));
    TRY(h5_put_text(data, "long_name", name.data));
    TRY(h5_put_text(data, "units", "V2"));
    TRY(spec->weights.are_kept ? h5_put_text(data, "ancillary_variables", "weights") : STATUS_OK);
    TRY(attributes_put(data, AT_IFS, spec));
    return h5_put_text(data, "tstart_convention",
                       "MJD (UTC) of the leading edge of the first dump, = start + first_time - "
                       "time_step / 2 of the root; 0 when the archive does not say when it starts");
}

static status_t power_describe(hid_t file, const struct product_spec *spec,
                               const struct product_place *place)
{
    SCOPED(h5_close_at) hid_t data = -1;
    SCOPED(h5_names_free) struct h5_names ifs = {0};
    TRY(bank_describe(file, spec, place, "power spectra"));
    TRY(ifs_name(spec, &ifs));
    const uint32_t nifs = (uint32_t)ifs.count;
    TRY(h5_put_text(file, "CLASS", "FILTERBANK"));
    TRY(h5_put_text(file, "VERSION", "1.0"));
    hsize_t dims[3] = {spec->rows, nifs, spec->frequencies};
    REQUIRE(dims[2] <= INT32_MAX, STATUS_USAGE,
            "%llu channels do not fit a filterbank, whose header counts to %d",
            (unsigned long long)dims[2], INT32_MAX);
    const struct parts_set medians = {/* found when all rows are there */
                                      place_name(PLACE_BANDPASS),
                                      H5T_IEEE_F32LE,
                                      2,
                                      {nifs, spec->frequencies},
                                      .long_name = bandpass_convention,
                                      .scales = {"pol", "frequency"},
                                      .labels = {"feed_id", "frequency"}};
    TRY(packed_rows_create(file, spec, "data", quantised_type(spec), 3, dims, &data));
    TRY(power_put_header(data, spec, nifs));
    TRY(parts_scale_texts(
        file, "pol", ifs.names, nifs,
        "station/beam/polarisation of each if, as far as the archive has such axes"));
    TRY(parts_attach(file, data, "time", 0, "time"));
    TRY(parts_attach(file, data, "pol", 1, "feed_id"));
    TRY(parts_attach(file, data, "frequency", 2, "frequency"));
    TRY(spec->weights.are_kept ? bank_put_weights(file, spec, "pol", nifs) : STATUS_OK);
    TRY(spec->has_bandpass ? parts_put(file, &medians) : STATUS_OK);
    TRY(spec->flag.is_on ? flagged_put(file, spec, "pol") : STATUS_OK);
    return quantised_is(spec) ? quantised_put(file, data, spec, "pol") : STATUS_OK;
}

const struct kind power_kind = {.rows = "data",
                                .bytes = sizeof(float),
                                .least_dims = 3,
                                .most_dims = 3,
                                .describe = power_describe,
                                .inspect = bank_inspect};
