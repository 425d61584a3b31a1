/* The words of `info`, a line or a few for each property. */
#include "cli/describe.h"

#include "base/display.h"
#include "base/text.h"
#include "base/units.h"
#include "product/attributes.h"
#include "product/codec.h"

#include <math.h>

/* Samples in gaps, summed over streams: `common` in gaps of all streams, `single` in those of
 * single ones. */
struct derived_gaps {
    uint64_t common, single;
};

struct derived_band derived_band_of_archive(const struct archive *archive)
{
    uint32_t last = archive->nselected[AXIS_CHAN] - 1;
    double half = archive_chan_width_hz(archive) / 2;
    return (struct derived_band){archive->freq_hz[archive->selected[AXIS_CHAN][0]] - half,
                                 archive->freq_hz[archive->selected[AXIS_CHAN][last]] + half};
}

static struct derived_band derived_band_of_filterbank(const struct fbh5 *fbh5)
{
    double last = fbh5->fch1_mhz + (fbh5->nchannels - 1) * fbh5->foff_mhz;
    return (struct derived_band){1e6 * fbh5->fch1_mhz, 1e6 * last};
}

static struct derived_band derived_band_of_product(const struct product *product)
{
    double half = product->kind != PRODUCT_VOLTAGES ? 0
                  : product->is_complex             ? product->bank.sample_rate_hz / 2
                                                    : product->bank.sample_rate_hz / 4;
    return (struct derived_band){product->frequency_hz[0] - half,
                                 product->frequency_hz[product->frequencies - 1] + half};
}

static struct derived_gaps derived_gaps_of(const struct archive *archive)
{
    uint64_t common =
        archive_gap_in(archive, archive->first_sample, archive->samples) * archive->nstreams;
    uint64_t all = archive_gap_samples(archive, archive->samples);
    return (struct derived_gaps){common, all > common ? all - common : 0};
}

/* Returns the numbers in all rows of a product; a complex one counts as two. */
static double derived_numbers(const struct product *product)
{
    return (double)product->rows * (double)product->place.row_bytes * 8 / product->bits;
}

/* Returns the longest delay, in samples. */
static uint32_t derived_largest_delay(const struct dedispersed *series)
{
    uint32_t most = 0;
    for (size_t i = 0; i < series->ndms * series->nchannels; i++) {
        most = series->delays[i] > most ? series->delays[i] : most;
    }
    return most;
}

/* Whether each name of the list, without what stands before its last slash, is one of `words`. */
static int derived_are_all(const char *list, const char *words)
{
    int are_all = *list != '\0';
    for (const char *at = list; are_all && *at;) {
        at += strspn(at, ", ");
        const char *end = at + strcspn(at, ",");
        const char *slash = memrchr(at, '/', (size_t)(end - at));
        const char *name = slash ? slash + 1 : at;
        are_all = text_place(words, name, (size_t)(end - name)) >= 0;
        at = end + (*end == ',');
    }
    return are_all;
}

/* "linear", "circular", "Stokes" by the names of polarisations ("X", "RR", "S001/Y"), of which
 * `list` has some with commas between; NULL: they do not tell. */
static const char *derived_basis(const char *list)
{
    static const char linear[] = "X|Y|x|y|H|V|E|S|XX|YY|XY|YX|HH|VV|HV|VH";
    if (!list || derived_are_all(list, "V")) {
        return NULL;
    }
    return derived_are_all(list, linear)                          ? "linear"
           : derived_are_all(list, "R|L|r|l|RR|LL|RL|LR|RCP|LCP") ? "circular"
           : derived_are_all(list, "I|Q|U|V")                     ? "Stokes"
                                                                  : NULL;
}

/* Appends the names of an archive's selected polarisations as a list for derived_basis(). Fails
 * with DEVICE (memory). */
static status_t derived_polarisations(const struct archive *archive, struct text *list)
{
    uint32_t count = archive->names[AXIS_POL] ? archive->nselected[AXIS_POL] : 0;
    for (uint32_t i = 0; i < count; i++) {
        text_add(list, "%s%s", i ? ", " : "",
                 archive->names[AXIS_POL][archive->selected[AXIS_POL][i]]);
    }
    return list->status;
}

static void json_sky(struct json *json, const struct sky *sky)
{
    if (sky->has_start) {
        json_text(json, "start_utc", units_utc(sky->start));
        json_i64(json, "start_mjd_day", sky->start.mjd_day);
        json_f64(json, "start_second_s", sky->start.second);
    } else {
        json_null(json, "start_utc");
    }
    json_text(json, "telescope", sky->telescope);
    json_text(json, "source", sky->source);
    json_f64(json, "ra_deg", sky->has_position ? sky->ra_deg : NAN);
    json_f64(json, "dec_deg", sky->has_position ? sky->dec_deg : NAN);
}

static void json_band(struct json *json, struct derived_band band)
{
    json_f64(json, "low_hz", band.low_hz);
    json_f64(json, "high_hz", band.high_hz);
}

static void json_files(struct json *json, const struct archive *archive)
{
    json_list(json, "files");
    for (uint32_t i = 0; i < archive->nparts; i++) {
        const struct archive_part *part = &archive->parts[i];
        json_begin(json, NULL);
        json_text(json, "path", part->path);
        json_u64(json, "bytes", part->file_bytes);
        json_u64(json, "first_sample", part->first_sample);
        json_u64(json, "samples", part->samples);
        json_end(json);
    }
    json_list_end(json);
}

/* Writes the selected axes: {"stations": {"count": 2, "names": [...]}, ...}. */
static void json_axes(struct json *json, const struct archive *archive)
{
    static const struct {
        enum axis axis;
        const char *key;
    } axes[] = {{AXIS_STATION, "stations"}, {AXIS_BEAM, "beams"}, {AXIS_POL, "polarisations"}};
    for (int i = 0; i < 3; i++) {
        enum axis axis = axes[i].axis;
        json_begin(json, axes[i].key);
        json_u64(json, "count", archive->nselected[axis]);
        json_list(json, "names");
        for (uint32_t j = 0; archive->names[axis] && j < archive->nselected[axis]; j++) {
            json_text(json, NULL, archive->names[axis][archive->selected[axis][j]]);
        }
        json_list_end(json);
        if (axis == AXIS_POL) {
            struct text list = {.status = json->text.status};
            json->text.status = derived_polarisations(archive, &list);
            json_text(json, "basis", derived_basis(list.data));
            text_free(&list);
        }
        json_end(json);
    }
    json_list(json, "coarse_channel_hz");
    for (uint32_t i = 0; i < archive->nselected[AXIS_CHAN]; i++) {
        json_f64(json, NULL, archive->freq_hz[archive->selected[AXIS_CHAN][i]]);
    }
    json_list_end(json);
    json_f64(json, "coarse_channel_width_hz", archive_chan_width_hz(archive));
}

static void json_missing(struct json *json, const struct archive *archive)
{
    struct derived_gaps gaps = derived_gaps_of(archive);
    json_u64(json, "gaps", archive->losses.ngaps);
    json_u64(json, "gap_samples_of_all_streams", gaps.common);
    json_u64(json, "gap_samples_of_single_streams", gaps.single);
    json_list(json, "lost");
    for (uint32_t i = 0; i < archive->losses.lost.count; i++) {
        json_begin(json, NULL);
        json_u64(json, "first_sample", archive->losses.lost.items[i].first);
        json_u64(json, "samples", archive->losses.lost.items[i].count);
        json_text(json, "why", archive->losses.lost.items[i].why);
        json_end(json);
    }
    json_list_end(json);
}

void json_archive(struct json *json, const struct archive *archive)
{
    json_text(json, "format", archive->layout);
    json_text(json, "dataset", archive->dataset);
    json_files(json, archive);
    json_text(json, "files_along",
              archive->shape.stacked == AXIS_TIME ? "time" : axis_name(archive->shape.stacked));
    json_lines(json, "assumed", archive->assumed);
    json_u64(json, "streams", archive->nstreams);
    json_axes(json, archive);
    json_text(json, "sample_type", sample_types[archive->format].name);
    json_bool(json, "is_complex", archive->is_complex);
    json_u64(json, "first_sample", archive->first_sample);
    json_u64(json, "samples", archive->samples);
    json_u64(json, "samples_in_files", archive->count[AXIS_TIME]);
    json_f64(json, "sample_rate_hz", archive->sample_rate_hz);
    json_f64(json, "duration_s", (double)archive->samples / archive->sample_rate_hz);
    json_f64(json, "scale", archive->scale);
    json_u64(json, "oversampling_num", archive->oversample.num);
    json_u64(json, "oversampling_den", archive->oversample.den);
    json_missing(json, archive);
    json_band(json, derived_band_of_archive(archive));
    json_i64(json, "sideband", archive->sideband);
    json_f64(json, "coherent_dm_pc_cm3", archive->coherent.delay_hz ? archive->coherent.dm : NAN);
    json_sky(json, &archive->sky);
}

void json_filterbank(struct json *json, const struct fbh5 *fbh5)
{
    json_text(json, "format", fbh5->format ? fbh5->format : "FBH5");
    json_text(json, "file", fbh5->path);
    json_u64(json, "bytes", fbh5->file_bytes);
    json_lines(json, "assumed", fbh5->assumed);
    json_u64(json, "channels", fbh5->nchannels);
    json_f64(json, "first_channel_hz", derived_band_of_filterbank(fbh5).low_hz);
    json_f64(json, "last_channel_hz", derived_band_of_filterbank(fbh5).high_hz);
    json_u64(json, "pols", fbh5->nifs);
    json_u64(json, "ifs", fbh5->nifs); /* its older name */
    json_text(json, "polarisations", fbh5->pols);
    json_u64(json, "bits", fbh5_bits(fbh5));
    json_bool(json, "has_scales", fbh5->table.has_scales);
    json_u64(json, "rows", fbh5->rows);
    json_f64(json, "time_step_s", fbh5->time.step);
    json_f64(json, "duration_s", (double)fbh5->rows * fbh5->time.step);
    json_f64(json, "coherent_dm_pc_cm3", fbh5->coherent.constant > 0 ? fbh5->coherent.dm : NAN);
    json_sky(json, &fbh5->sky);
}

static void json_series(struct json *json, const struct product *product)
{
    const struct dedispersed *series = product->series;
    json_doubles(json, "dm_pc_cm3", series->dms, series->ndms);
    json_u64(json, "times", product->frequencies);
    json_u64(json, "channels", series->nchannels);
    json_f64(json, "first_channel_hz", series->freq_hz[0]);
    json_f64(json, "last_channel_hz", series->freq_hz[series->nchannels - 1]);
    json_u64(json, "largest_delay_samples", derived_largest_delay(series));
    json_f64(json, "reference_hz", series->reference_hz);
    json_f64(json, "constant_s_mhz2_cm3_pc", series->constant);
    json_text(json, "mode", series->mode);
    json_text(json, "edges", series->edges);
    json_text(json, "filterbank", series->filterbank);
}

static void json_voltages(struct json *json, const struct product *product)
{
    json_u64(json, "samples", product->rows);
    json_u64(json, "streams", product->streams * product->frequencies);
    json_bool(json, "is_complex", product->is_complex);
    json_u64(json, "bits", product->bits);
    json_f64(json, "scale", product->scale);
    json_u64(json, "clipped", product->clipped);
    json_f64(json, "sample_rate_hz", product->bank.sample_rate_hz);
    json_doubles(json, "coarse_channel_hz", product->frequency_hz, product->frequencies);
    json_band(json, derived_band_of_product(product));
}

static void json_bank(struct json *json, const struct product *product,
                      const struct product_clips *clips)
{
    struct derived_band band = derived_band_of_product(product);
    json_u64(json, "rows", product->rows);
    json_u64(json, "streams", product->streams);
    if (product->array.pairs > 0) {
        json_u64(json, "pairs", product->array.pairs);
        json_u64(json, "stations", product->array.stations);
    }
    json_u64(json, "integrate", product->integrate);
    json_u64(json, "frequencies", product->frequencies);
    json_f64(json, "first_channel_hz", band.low_hz);
    json_f64(json, "last_channel_hz", band.high_hz);
    attributes_json(json, AT_BANK, product);
    json_bool(json, "has_weights", product->weights > 0);
    json_u64(json, "bits", product->bits);
    if (product->place.scale_rows > 0) {
        json_u64(json, "scale_rows", product->place.scale_rows);
        json_u64(json, "scales", product->place.scales);
        json_u64(json, "clipped_low", clips->low);
        json_u64(json, "clipped_high", clips->high);
        json_f64(json, "numbers", derived_numbers(product));
    }
}

void json_product(struct json *json, const struct product *product,
                  const struct product_weights *weights)
{
    static const char *const compressions[] = {COMPRESSION_NAMES};
    const enum compression how = product->compression;
    struct chunk_filters filters = {.items = {{.nvalues = 0}}};
    codec_filters(how, 1, &filters); /* shuffle and then one with a level, or none with any */
    json_text(json, "product", product_name(product->kind));
    json_text(json, "file", product->path);
    json_u64(json, "bytes", product->place.file_bytes);
    json_text(json, "compression", compressions[how]);
    json_f64(json, "compression_level",
             how == COMPRESSION_DEFLATE || how == COMPRESSION_ZSTD
                 ? (double)filters.items[1].values[0]
                 : NAN);
    json_i64(json, "format_version", product->origin.version_of_format);
    if (product->series) {
        json_series(json, product);
    } else if (product->kind == PRODUCT_CANDIDATES) {
        json_u64(json, "candidates", product->candidates);
        json_u64(json, "dms", product->rows);
        json_u64(json, "times", product->frequencies);
    } else if (product->kind == PRODUCT_VOLTAGES) {
        json_voltages(json, product);
    } else {
        json_bank(json, product, &weights->clips);
    }
    json_text(json, "polarisations", product->ifs.pols);
    json_text(json, "basis", derived_basis(product->ifs.pols));
    attributes_json(json, AT_IFS, product);
    json_f64(json, "time_step_s",
             product->kind == PRODUCT_VOLTAGES ? 1 / product->bank.sample_rate_hz
                                               : product->time_step);
    json_f64(json, "first_time_s", product->first_time);
    json_f64(json, "coherent_dm_pc_cm3", product->is_coherent ? product->coherent_dm : NAN);
    json_sky(json, &product->sky);
    json_u64(json, "missing_samples", product->missing + product->gaps);
    json_f64(json, "mean_weight", weights->count > 0 ? weights->mean : NAN);
    json_f64(json, "least_weight", weights->count > 0 ? weights->least : NAN);
    json_u64(json, "weights_below_1", weights->below);
    json_u64(json, "cells", weights->flags.count);
    json_u64(json, "cells_flagged", weights->flags.flagged);
    json_u64(json, "cells_flagged_by_kurtosis", weights->flags.by_kurtosis);
    json_u64(json, "cells_without_kurtosis", weights->flags.unknown);
    json_text(json, "version", product->origin.version);
    json_lines(json, "assumed", product->origin.assumed);
    json_lines(json, "inputs", product->origin.inputs);
    json_text(json, "job", product->origin.job_text);
}

/* A planned job as a JSON object. */

enum { MOST_LISTED = 7 };

/* As `plan` and `run` say it: "assumed:". */
static void describe_print_assumed(const char *assumed)
{
    size_t length;
    for (const char *line; (line = text_next_line(&assumed, &length));) {
        display_row("assumed:", "%.*s", (int)length, line);
    }
}

/* Prints the first and the last of a long list. */
static void describe_print_files(const struct archive *archive)
{
    uint32_t left_out = archive->nparts > MOST_LISTED ? archive->nparts - MOST_LISTED : 0;
    for (uint32_t i = 0; i < archive->nparts; i++) {
        if (left_out > 0 && i == MOST_LISTED - 1) {
            display_row("", "and %u more", left_out);
            i += left_out;
        }
        const struct archive_part *part = &archive->parts[i];
        display_print("  %-13s %s (%s)", i ? "" : "files", part->path,
                      units_bytes(part->file_bytes));
        if (archive->nparts > 1) {
            display_print(": %s from %s on", units_amount(part->samples, "sample", "samples"),
                          units_count(part->first_sample));
        }
        if (archive->nparts > 1 && archive->sky.has_start && archive->shape.stacked == AXIS_TIME) {
            double later = (double)part->first_sample / archive->sample_rate_hz;
            display_print(", %s UTC", units_utc(utc_add(archive->sky.start, later)));
        }
        display_print("\n");
    }
    if (archive->nparts > 1 && archive->shape.stacked != AXIS_TIME) {
        display_row("order", "side by side: %s%s",
                    archive->shape.is_reim_stacked ? "real and imaginary parts, " : "",
                    axis_name(archive->shape.stacked));
    } else if (archive->nparts > 1) {
        display_row("order", "%s",
                    archive->are_by_start
                        ? "by the files' own times"
                        : "as the job lists them; of a pattern, by name, numbers as numbers");
    }
    display_row("dataset", "%s, %s", archive->dataset, archive->layout);
    describe_print_assumed(archive->assumed);
}

static void describe_print_streams(const struct archive *archive)
{
    static const enum axis axes[] = {AXIS_STATION, AXIS_BEAM, AXIS_POL, AXIS_CHAN};
    const char *comma = "";
    display_print("  %-13s %u:", "streams", archive->nstreams);
    for (int i = 0; i < 4; i++) {
        enum axis axis = axes[i];
        uint32_t count = archive->nselected[axis];
        if (!archive->present[axis] && axis != AXIS_POL && axis != AXIS_CHAN) {
            continue;
        }
        display_print("%s %u %s%s", comma, count,
                      axis == AXIS_CHAN  ? "coarse channel"
                      : axis == AXIS_POL ? "polarisation"
                                         : axis_name(axis),
                      units_plural(count, "", "s"));
        comma = ",";
        for (uint32_t j = 0; archive->names[axis] && j < count && j < 4; j++) {
            const char *end = j + 1 == count ? ")" : j == 3 ? " ...)" : "";
            display_print("%s%s%s", j ? " " : " (",
                          archive->names[axis][archive->selected[axis][j]], end);
        }
    }
    display_print("\n");
}

/* Prints the gaps of all streams, and those of only some. */
static void describe_print_gaps(const struct archive *archive)
{
    struct derived_gaps gaps = derived_gaps_of(archive);
    if (archive->losses.ngaps > 0) {
        display_row("gaps", "%zu, %s samples of all streams", archive->losses.ngaps,
                    units_count(gaps.common));
    }
    if (gaps.single > 0) {
        display_row(archive->losses.ngaps > 0 ? "" : "gaps", "%s samples of single streams",
                    units_count(gaps.single));
    }
}

/* Names of polarisations (NULL: unknown), and what they say of the feeds. */
static void describe_print_polarisations(const char *names)
{
    enum { MOST = 60 };
    const char *basis = derived_basis(names);
    if (names && *names) {
        int is_long = strlen(names) > MOST;
        display_row("polarisations", "%.*s%s%s%s", MOST, names, is_long ? "..." : "",
                    basis ? ": " : "", basis ? basis : "");
    }
}

/* Prints the selected samples that are unreadable, and why. */
static void describe_print_lost(const struct archive *archive)
{
    enum { MOST = 3 };
    for (uint32_t i = 0; i < archive->losses.lost.count && i < MOST; i++) {
        const struct lost_range *lost = &archive->losses.lost.items[i];
        display_row(i ? "" : "lost", "samples %s .. %s: %s", units_count(lost->first),
                    units_count(lost->first + lost->count), lost->why);
    }
    if (archive->losses.lost.count > MOST) {
        display_row("", "and %u ranges more", archive->losses.lost.count - MOST);
    }
}

static void describe_print_samples(const struct archive *archive)
{
    display_print("  %-13s %s%s", "samples", sample_types[archive->format].name,
                  archive->is_complex ? " complex" : " real");
    if (archive->format == SAMPLE_I4) {
        display_print(" (%s)", packing_name(&(struct packing){.nibbles = archive->stored.nibbles}));
    }
    display_print(", %s at %s: %s", units_count(archive->samples),
                  units_hertz(archive->sample_rate_hz),
                  units_seconds((double)archive->samples / archive->sample_rate_hz));
    if (archive->samples != archive->count[AXIS_TIME]) {
        display_print(" (selected from %s of %s)", units_count(archive->first_sample),
                      units_count(archive->count[AXIS_TIME]));
    }
    display_print("\n");
    if (archive->scale != 1) {
        display_row("scale", "%.9g V for each 1 that is stored", archive->scale);
    }
    describe_print_gaps(archive);
    describe_print_lost(archive);
    if (archive->oversample.num != archive->oversample.den) {
        display_row("oversampling", "%u/%u", archive->oversample.num, archive->oversample.den);
    }
}

static void describe_print_coherent(int is_coherent, double dm)
{
    if (is_coherent) {
        display_row("dedispersed", "coherently, to DM %.10g", dm);
    }
}

/* Whole tenths (of hundredths of a second) first, so that no 60 is ever rounded to. */
static void describe_print_position(double ra_deg, double dec_deg)
{
    long long ra = llround(fmod(fmod(ra_deg, 360) + 360, 360) / 15 * 3600 * 100) % (24LL * 360000);
    long long dec = llround(fabs(dec_deg) * 3600 * 10);
    display_row(
        "position",
        "RA %.6f, Dec %.6f degrees (%02lld:%02lld:%02lld.%02lld %c%02lld:%02lld:%02lld.%lld)",
        ra_deg, dec_deg, ra / 360000, ra / 6000 % 60, ra / 100 % 60, ra % 100,
        dec_deg < 0 ? '-' : '+', dec / 36000, dec / 600 % 60, dec / 10 % 60, dec % 10);
}

/* Prints the start of an observation and what it is of, as far as they are known. `first_time`: of
 * the first row, seconds after sample 0; NAN: there are no rows, or they begin with it. */
static void describe_print_sky(const struct sky *sky, double first_time)
{
    if (sky->has_start && isnan(first_time)) {
        display_row("start", "%s UTC", units_utc(sky->start));
    } else if (sky->has_start) {
        display_row("start", "%s UTC (sample 0; the first row is stamped %s later)",
                    units_utc(sky->start), units_seconds(first_time));
    }
    if (sky->telescope) {
        display_row("telescope", "%s", sky->telescope);
    }
    if (sky->source) {
        display_row("source", "%s", sky->source);
    }
    if (sky->has_position) {
        describe_print_position(sky->ra_deg, sky->dec_deg);
    }
}

void describe_archive(const struct archive *archive)
{
    struct text pols = {0};
    display_print("archive\n");
    describe_print_files(archive);
    describe_print_streams(archive);
    if (derived_polarisations(archive, &pols) == STATUS_OK) {
        describe_print_polarisations(pols.data);
    }
    text_free(&pols);
    describe_print_samples(archive);
    struct derived_band band = derived_band_of_archive(archive);
    display_row("band", "%s to %s%s", units_hertz(band.low_hz), units_hertz(band.high_hz),
                archive->sideband < 0 ? ", stored with frequency reversed" : "");
    describe_print_coherent(archive->coherent.delay_hz != NULL, archive->coherent.dm);
    describe_print_sky(&archive->sky, NAN);
}

/* Prints the columns of a row; of Stokes parameters why programs that take one if do not take
 * it. */
static void describe_print_ifs(const struct product *product)
{
    unsigned long long ifs = product->streams;
    if (product->array.pairs > 0) {
        display_row("pairs", "%u of %u stations; products of polarisations %s",
                    product->array.pairs, product->array.stations,
                    product->ifs.pol_type ? product->ifs.pol_type : "unknown");
        return;
    }
    display_print("  %-13s %llu", product->ifs.pol_type ? "pols" : "streams", ifs);
    if (product->ifs.pol_type) {
        display_print(", pol_type %s", product->ifs.pol_type);
    }
    if (product->ifs.feed && product->ifs.v) {
        display_print(" of %s feeds, V as %s", product->ifs.feed,
                      strcmp(product->ifs.v, "psr") == 0 ? "pulsar astronomers have it (psr)"
                                                         : "the IAU has it");
    }
    if (product->ifs.sum_of) {
        display_print(", summed over %s", product->ifs.sum_of);
    }
    display_print("\n");
    if (product->kind == PRODUCT_POWER && ifs > 1) {
        const char *type = product->ifs.pol_type;
        int is_one = type && (strcmp(type, "I") == 0 || strcmp(type, "AA") == 0);
        display_row("", "turbo_seti takes one pol and crashes on more: %s",
                    is_one ? "sum of stations or beams, or input.select, makes one"
                           : "polarisation: I makes one of two");
    }
}

static void describe_print_product_axes(const struct product *product)
{
    display_row(product->integrate > 1 ? "rows" : "spectra", "%s, one every %s",
                units_count(product->rows), units_seconds(product->time_step));
    if (product->integrate > 1) {
        display_row("a row", "%s", units_amount(product->integrate, "spectrum", "spectra"));
    }
    describe_print_ifs(product);
    struct derived_band band = derived_band_of_product(product);
    display_print("  %-13s %s, centres from %s to %s", "channels",
                  units_count(product->frequencies), units_hertz(band.low_hz),
                  units_hertz(band.high_hz));
    if (product->bank.average > 1) {
        display_print(", each the mean of %u", product->bank.average);
    }
    display_print("%s\n", product->bank.average > 0 ? " (not all that the filter bank makes)" : "");
    display_row("filter bank", "%u channels a coarse channel, %s", product->bank.channels,
                units_number(product->bank.taps, "tap", "taps"));
    if (product->bank.oversample.den > 0) {
        display_row("oversampled", "%u/%u: a spectrum every %s samples",
                    product->bank.oversample.num, product->bank.oversample.den,
                    units_count(product->bank.hop));
    }
}

/* Numbers in few bits. */
static void describe_print_steps(const struct product *product, const struct product_clips *clips)
{
    double numbers = derived_numbers(product);
    if (product->place.scale_rows == 0) {
        return;
    }
    display_row("numbers",
                "%u bits, each channel with a scale %s %llu rows; clipped low %s "
                "(%.2g %%), high %s (%.2g %%)",
                product->bits,
                product->place.scales < product->rows / product->place.scale_rows ? "of the first"
                                                                                  : "for each",
                (unsigned long long)product->place.scale_rows, units_count(clips->low),
                100 * (double)clips->low / numbers, units_count(clips->high),
                100 * (double)clips->high / numbers);
}

static void describe_print_voltages(const struct product *product)
{
    struct derived_band band = derived_band_of_product(product);
    display_row("samples", "%u bit %s, %s at %s", product->bits,
                product->is_complex ? "complex" : "real", units_count(product->rows),
                units_hertz(product->bank.sample_rate_hz));
    display_row("scale", "%.9g V for each 1 that is stored", product->scale);
    display_row("streams", "%llu, of %s coarse %s",
                (unsigned long long)(product->streams * product->frequencies),
                units_count(product->frequencies),
                units_plural(product->frequencies, "channel", "channels"));
    display_row("band", "%s to %s", units_hertz(band.low_hz), units_hertz(band.high_hz));
    if (product->clipped > 0) {
        display_row("clipped", "%s", units_amount(product->clipped, "number", "numbers"));
    }
}

void describe_lines(const char *indent, const char *text)
{
    size_t length;
    for (const char *line; (line = text_next_line(&text, &length));) {
        display_print("%s%.*s\n", indent, (int)length, line);
    }
}

static const char *fbh5_kind(const struct fbh5 *fbh5)
{
    int is_float =
        fbh5_bits(fbh5) >= 32 || fbh5->number == FBH5_FLOAT16 || fbh5->number == FBH5_SHORT;
    int is_signed = fbh5->table.is_signed != fbh5->table.is_moved || fbh5->number == FBH5_I8 ||
                    fbh5->number == FBH5_I16;
    return is_float ? "floating point" : is_signed ? "signed" : "unsigned";
}

void describe_filterbank(const struct fbh5 *fbh5)
{
    struct derived_band band = derived_band_of_filterbank(fbh5);
    display_print("filterbank (%s)\n", fbh5->format ? fbh5->format : "FBH5");
    display_row("file", "%s (%s)", fbh5->path, units_bytes(fbh5->file_bytes));
    display_row("channels", "%u, %s to %s", fbh5->nchannels, units_hertz(band.low_hz),
                units_hertz(band.high_hz));
    display_row("pols", "%u%s%s", fbh5->nifs, fbh5->pols ? ", " : "", fbh5->pols ? fbh5->pols : "");
    display_row("samples", "%u bit %s%s, %s, one every %s: %s", fbh5_bits(fbh5), fbh5_kind(fbh5),
                fbh5->table.has_scales ? " with scales" : "",
                units_amount(fbh5->rows, "row", "rows"), units_seconds(fbh5->time.step),
                units_seconds((double)fbh5->rows * fbh5->time.step));
    describe_print_assumed(fbh5->assumed);
    describe_print_coherent(fbh5->coherent.constant > 0, fbh5->coherent.dm);
    describe_print_sky(&fbh5->sky, NAN);
}

static void describe_print_series(const struct product *product)
{
    const struct dedispersed *series = product->series;
    uint32_t most = derived_largest_delay(series);
    display_row("DMs", "%s, from %g to %g pc cm^-3", units_count(series->ndms), series->dms[0],
                series->dms[series->ndms - 1]);
    display_row("times", "%s, one every %s, edges %s", units_count(product->frequencies),
                units_seconds(product->time_step), series->edges);
    display_row("channels", "%s, %s to %s", units_count(series->nchannels),
                units_hertz(series->freq_hz[0]),
                units_hertz(series->freq_hz[series->nchannels - 1]));
    display_row("delays", "up to %s, %s, after %s; %.10g s MHz^2 pc^-1 cm^3, %s",
                units_number(most, "sample", "samples"), units_seconds(most * product->time_step),
                units_hertz(series->reference_hz), series->constant, series->mode);
    display_row("filterbank", "%s", series->filterbank);
}

static void describe_print_candidates(const struct product *product)
{
    display_row("candidates", "%s", units_count(product->candidates));
    display_row("peaks", "the best boxes of %s DMs in %s cells of %s", units_count(product->rows),
                units_count(product->frequencies), units_seconds(product->time_step));
}

static void describe_print_weights(const struct product_weights *weights)
{
    if (weights->below > 0) {
        display_row("weights",
                    "%.4g on average, the least %.3g: good samples of what makes a row; "
                    "%s below 1 (%.3g %%)",
                    weights->mean, weights->least, units_count(weights->below),
                    100.0 * (double)weights->below / (double)weights->count);
    } else if (weights->count > 0) {
        display_row("weights", "all 1: nothing is left out");
    }
}

static void describe_print_flags(const struct product *product, const struct product_flags *flags)
{
    if (flags->count == 0) {
        return;
    }
    uint64_t rows = product->array.pairs > 0 ? product->flags.rows : product->rows;
    uint64_t cells = product->flags.rows / rows;
    double all = (double)flags->count / 100;
    display_print("  %-13s %.4g %% of %s cells of %llu spectra are left out", "flags",
                  (double)flags->flagged / all, units_count(flags->count),
                  (unsigned long long)(product->integrate / cells));
    if (product->place.kurtosis_offset > 0) {
        display_print(", by kurtosis %.4g %%; %.4g %% have no kurtosis",
                      (double)flags->by_kurtosis / all, (double)flags->unknown / all);
    }
    display_print("\n");
}

void describe_product(const struct product *product, const struct product_weights *weights)
{
    display_print("product\n");
    display_row("file", "%s (%s)", product->path, units_bytes(product->place.file_bytes));
    display_row("kind", "%s", product_name(product->kind));
    if (product->compression != COMPRESSION_NONE) {
        display_row("compressed", "%s", codec_advice(product->compression));
    }
    if (product->series) {
        describe_print_series(product);
    } else if (product->kind == PRODUCT_CANDIDATES) {
        describe_print_candidates(product);
    } else if (product->kind == PRODUCT_VOLTAGES) {
        describe_print_voltages(product);
    } else {
        describe_print_product_axes(product);
    }
    describe_print_polarisations(product->ifs.pols);
    describe_print_coherent(product->is_coherent, product->coherent_dm);
    describe_print_sky(&product->sky,
                       product->kind == PRODUCT_VOLTAGES ? NAN : product->first_time);
    if (product->missing + product->gaps > 0) {
        display_row("missing", "%s, taken as zero volts",
                    units_amount(product->missing + product->gaps, "sample", "samples"));
    }
    describe_print_weights(weights);
    describe_print_flags(product, &weights->flags);
    describe_print_steps(product, &weights->clips);
    display_row("made by", "voltmill %s", product->origin.version ? product->origin.version : "?");
    describe_print_assumed(product->origin.assumed);
    display_print("  from\n");
    describe_lines("    ", product->origin.inputs);
    display_print("  job\n");
    describe_lines("    ", product->origin.job_text);
}
