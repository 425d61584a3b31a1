/* Voltages: an archive in the native layout (product/voltages.h) that also says where it comes
 * from. A row is a sample of every stream, [station][beam][pol][chan][re, im]. */
#include "product/voltages.h"

#include "base/memory.h"
#include "product/kind/kinds.h"
#include "product/kind/parts.h"

static const char time_convention[] =
    "Sample n is taken at start_mjd_day, start_second of the root plus n / sample_rate_hz; with "
    "filters before it whose delay is compensated, that is what its pass band belongs to.";

static const char stored_convention[] =
    "A sample is its volts divided by `scale`, rounded to the nearest whole number (halves to the "
    "even one) and clipped to what the bits hold; of 32 bits the nearest float. clipped_samples "
    "counts numbers, of complex samples two each. An archive's complex samples of sideband -1 were "
    "conjugated: the sideband is +1 now.";

static const char missing_convention[] =
    "Samples that were missing (not a number, infinite, equal to the archive's missing_value, or "
    "in a gap that it declares) counted as zero volts. gap_samples counts those in gaps, "
    "missing_samples the others, over all selected streams. /gaps are the samples that were made "
    "of gaps alone.";

/* The archive's gaps as this file's samples count: those of all streams, or each stream's. */
static status_t voltages_list_gaps(const struct product_spec *spec, struct voltages_gaps *out)
{
    const struct archive *archive = spec->archive;
    uint64_t begin = archive->first_sample;
    out->has_streams = !archive_gaps_are_common(archive);
    uint64_t end = begin + spec->rows;
    for (size_t i = archive_gap_after(archive, begin);
         i < archive->losses.ngaps && !out->has_streams; i++) {
        uint64_t low = max_u64(archive->losses.gaps[i][0], begin);
        uint64_t high = min_u64(archive->losses.gaps[i][0] + archive->losses.gaps[i][1], end);
        TRY(low < high ? voltages_add_gap(out, low - begin, high - low, 0) : STATUS_OK);
    }
    for (uint32_t s = 0; s < archive->nstreams && out->has_streams; s++) {
        uint64_t first = 0;
        uint64_t samples = 0;
        for (uint64_t at = begin; archive_next_gap(archive, s, at, end, &first, &samples);
             at = first + samples) {
            TRY(voltages_add_gap(out, first - begin, samples, s));
        }
    }
    return STATUS_OK;
}

static status_t voltages_put_provenance(hid_t file, const struct product_spec *spec,
                                        const struct product_place *place)
{
    SCOPED(h5_close_at) hid_t group = -1;
    TRY(parts_begin_provenance(file, spec, &group));
    TRY(h5_put_i32(group, "format_version", PRODUCT_VERSION));
    TRY(h5_put_text(group, "time_convention", time_convention));
    TRY(h5_put_text(group, "stored_convention", stored_convention));
    TRY(h5_put_text(group, "missing_convention", missing_convention));
    TRY(h5_put_text(group, "filters", spec->filters));
    TRY(h5_put_u64(group, "gap_samples", spec->gap_samples));
    TRY(parts_reserve_counts(group, place));
    return parts_reserve_count(group, "clipped_samples",
                               "numbers that did not fit what they are stored as");
}

static status_t voltages_describe_product(hid_t file, const struct product_spec *spec,
                                          const struct product_place *place)
{
    const struct archive *archive = spec->archive;
    SCOPED(voltages_gaps_free) struct voltages_gaps gaps = {0};
    struct voltages_spec native = voltages_of_archive(archive);
    native.samples = spec->rows;
    native.format = spec->steps.bits == 8    ? SAMPLE_I8
                    : spec->steps.bits == 16 ? SAMPLE_I16
                                             : SAMPLE_F32;
    native.scale = spec->scale;
    TRY(voltages_list_gaps(spec, &gaps));
    native.gaps = gaps;
    TRY(voltages_describe_streams(file, archive, native));
    return voltages_put_provenance(file, spec, place);
}

/* Reads the sample format of /voltages. */
static status_t voltages_read_samples(hid_t file, struct product *product)
{
    const char *path = product->path;
    SCOPED(h5_dataset_close) struct h5_dataset data = {0};
    SCOPED(free_at) char *domain = NULL;
    int found = 0;
    product->scale = 1;
    TRY(h5_dataset_open(file, path, "voltages", &data));
    TRY(h5_get_text(data.id, path, "domain", &domain, &found));
    product->is_complex = found && strcmp(domain, "complex") == 0;
    TRY(parts_need_f64(data.id, path, "sample_rate_hz", &product->bank.sample_rate_hz));
    TRY(h5_get_f64(data.id, path, "scale", &product->scale, &found));
    /* Numbers of the last dimension: both parts of a sample, or coarse channels. */
    uint64_t parts = product->is_complex ? 2 : 1;
    uint64_t numbers = product->streams * product->frequencies;
    product->bits = (uint32_t)(8 * product->place.row_bytes / max_u64(numbers, 1));
    product->frequencies = numbers / parts;
    return STATUS_OK;
}

static status_t voltages_inspect(hid_t file, struct product *product)
{
    size_t chans = 0;
    TRY(voltages_read_samples(file, product));
    TRY(parts_need_count(file, product->path, "provenance/clipped_samples", &product->clipped));
    REQUIRE(product->bank.sample_rate_hz > 0, STATUS_DATA, "%s: its sample_rate_hz is %g",
            product->path, product->bank.sample_rate_hz);
    TRY(h5_read_f64s(file, product->path, "freq_hz", &product->frequency_hz, &chans));
    REQUIRE(chans > 0 && product->frequencies % chans == 0, STATUS_DATA,
            "%s: /freq_hz holds %zu frequencies, but a sample %llu streams", product->path, chans,
            (unsigned long long)product->frequencies);
    product->streams = product->frequencies / chans;
    product->frequencies = chans;
    product->integrate = 1;
    product->time_step = 1 / product->bank.sample_rate_hz;
    return STATUS_OK;
}

const struct kind voltages_kind = {.rows = "voltages",
                                   .is_archive = 1,
                                   .least_dims = 3,
                                   .most_dims = AXIS_KINDS,
                                   .describe = voltages_describe_product,
                                   .inspect = voltages_inspect};
