/* Archives, filterbanks and products as members of a JSON object. */
#include "cli/json_describe.h"

#include "product/attributes.h"

#include <math.h>
#include <string.h>

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

/* {"stations": {"count": 2, "names": [...]}, ...}, of what is selected. */
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
    json_u64(json, "bits", derived_bits(fbh5));
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
    json_text(json, "product", product_name(product->kind));
    json_text(json, "file", product->path);
    json_u64(json, "bytes", product->place.file_bytes);
    json_i64(json, "format_version", product->origin.version_of_format);
    if (product->series) {
        json_series(json, product);
    } else if (product->kind == PRODUCT_CANDIDATES) {
        json_u64(json, "candidates", product->candidates);
        json_u64(json, "dms", product->rows);
        json_u64(json, "cells", product->frequencies);
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
