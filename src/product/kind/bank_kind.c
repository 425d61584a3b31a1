/* Content of products of a filter bank beside their rows: axes, filter, and their meaning. */
#include "product/kind/bank_kind.h"

#include "base/memory.h"
#include "product/attributes.h"
#include "product/ifs.h"
#include "product/kind/parts.h"

#include <stdlib.h>

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

/* The coarse channels of the weights. */
static status_t bank_put_coarse(hid_t file, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    uint32_t count = archive->nselected[AXIS_CHAN];
    double *frequency = NULL;
    TRY_OUT(memory_zeroed(count, sizeof *frequency, "frequencies", &frequency));
    for (uint32_t i = 0; i < count; i++) {
        frequency[i] = archive->freq_hz[archive->selected[AXIS_CHAN][i]];
    }
    TRY_OUT(parts_scale_f64(file, "coarse_frequency", frequency, count, "Hz",
                            "sky frequency of each coarse channel"));
out:
    free(frequency);
    return st;
}

status_t bank_put_weights(hid_t file, const struct product_spec *spec, const char *ifs,
                          uint32_t nifs)
{
    status_t st = STATUS_OK;
    hid_t weights = -1;
    const struct parts_set set = {"weights",
                                  H5T_IEEE_F32LE,
                                  3,
                                  {spec->rows, nifs, ifs_weights(spec) / nifs},
                                  .units = "1",
                                  .long_name =
                                      "share of what makes a dump that came from good samples"};
    TRY_OUT(spec->flag.is_on ? STATUS_OK : bank_put_coarse(file, spec));
    TRY_OUT(parts_make(file, &set, &weights));
    TRY_OUT(attributes_put(weights, AT_WEIGHTS, spec));
    TRY_OUT(parts_attach(file, weights, "time", 0, "time"));
    TRY_OUT(parts_attach(file, weights, ifs, 1, "if"));
    const char *channels = spec->flag.is_on ? "frequency" : "coarse_frequency";
    TRY_OUT(parts_attach(file, weights, channels, 2, channels));
out:
    h5_close(weights);
    return st;
}

static status_t bank_put_coefficients(hid_t file, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    hid_t dataset = -1;
    const struct time_axis count = {0, 1}; /* netCDF readers want a scale for every dimension */
    const uint32_t taps = spec->bank.taps;
    const uint32_t samples = spec->bank.samples_per_spectrum;
    const struct parts_set set = {
        "coefficients",  H5T_IEEE_F64LE,   2,
        {taps, samples}, spec->bank.coeff, .long_name = "prototype filter, oldest sample first"};
    TRY_OUT(parts_scale_steps(file, "tap", count, taps, "1", "tap"));
    TRY_OUT(parts_scale_steps(file, "sample", count, samples, "1", "sample"));
    TRY_OUT(parts_make(file, &set, &dataset));
    TRY_OUT(spec->bank.has_cutoff ? h5_put_f64(dataset, "cutoff", spec->bank.cutoff) : STATUS_OK);
    TRY_OUT(parts_attach(file, dataset, "tap", 0, "tap"));
    TRY_OUT(parts_attach(file, dataset, "sample", 1, "sample"));
out:
    h5_close(dataset);
    return st;
}

/* Where voltages were dedispersed coherently: how, and whose delay each channel still has. */
static status_t bank_put_coherent(hid_t file, const struct product_spec *spec)
{
    status_t st = STATUS_OK;
    const struct archive *archive = spec->archive;
    double *delay_hz = NULL;
    if (!archive->coherent.delay_hz) {
        return STATUS_OK;
    }
    TRY_OUT(memory_zeroed((size_t)spec->frequencies, sizeof *delay_hz, "frequencies", &delay_hz));
    for (uint64_t i = 0; i < spec->frequencies; i++) {
        delay_hz[i] = bank_delay(spec, i);
    }
    TRY_OUT(parts_put_coherent(file, archive, delay_hz, spec->frequencies));
out:
    free(delay_hz);
    return st;
}

static status_t bank_put_provenance(hid_t file, const struct product_spec *spec,
                                    const struct product_place *place)
{
    status_t st = STATUS_OK;
    hid_t group = -1;
    TRY_OUT(parts_begin_provenance(file, spec, &group));
    TRY_OUT(h5_put_text(group, "time_convention", time_convention));
    TRY_OUT(h5_put_text(group, "frequency_convention", frequency_convention));
    TRY_OUT(h5_put_text(group, "filter_convention", filter_convention));
    if (spec->archive->scale != 1) {
        TRY_OUT(h5_put_f64(group, "scale", spec->archive->scale));
        TRY_OUT(h5_put_text(group, "scale_convention", scale_convention));
    }
    TRY_OUT(h5_put_text(group, "missing_convention", missing_convention));
    TRY_OUT(h5_put_u64(group, "gap_samples", spec->gap_samples));
    TRY_OUT(ifs_put_provenance(group, spec));
    if (spec->droop) { /* by what channels were divided */
        TRY_OUT(parts_put(group, &(struct parts_set){"droop",
                                                     H5T_IEEE_F64LE,
                                                     1,
                                                     {spec->frequencies * spec->average},
                                                     spec->droop + spec->first_frequency,
                                                     .long_name = droop_convention}));
    }
    if (spec->filters) { /* that came before */
        TRY_OUT(h5_put_text(group, "filters", spec->filters));
        TRY_OUT(h5_put_text(group, "filtered_convention", filtered_convention));
        TRY_OUT(h5_put_f64(file, "offset_seconds", spec->archive->offset_seconds));
    }
    TRY_OUT(bank_put_coherent(file, spec));
    TRY_OUT(parts_reserve_counts(group, place));
    TRY_OUT(parts_reserve_holes(group, place));
out:
    h5_close(group);
    return st;
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
