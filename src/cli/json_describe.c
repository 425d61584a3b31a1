/* Archives, filterbanks and products as members of a JSON object. */
#include "cli/json_describe.h"

#include "cli/elsewhere.h"
#include "cli/plan_job.h"
#include "dsp/fir/filter_report.h"
#include "io/folder.h"
#include "plan/channelise_needs.h"
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

void json_about(struct json *json, const struct about *about)
{
    json_begin(json, "attributes");
    for (size_t i = 0; i < about->count; i++) {
        const struct about_item *item = &about->items[i];
        if (i == 0 || strcmp(about->items[i - 1].object, item->object) != 0) {
            json_begin(json, item->object);
        }
        if (item->text) {
            json_text(json, item->name, item->text);
        } else if (item->count > 1) {
            json_list(json, item->name);
        }
        for (uint32_t j = 0; !item->text && j < item->count; j++) {
            const char *key = item->count > 1 ? NULL : item->name;
            if (item->is_whole) {
                json_i64(json, key, item->whole[j]);
            } else {
                json_f64(json, key, item->numbers[j]);
            }
        }
        if (!item->text && item->count > 1) {
            json_list_end(json);
        }
        if (i + 1 == about->count || strcmp(about->items[i + 1].object, item->object) != 0) {
            json_end(json);
        }
    }
    json_end(json);
}

/* A planned job as a JSON object. */

static void json_plan_pass(struct json *json, const struct pass *pass,
                           const struct chunking *chunking)
{
    struct rate rate = pass_expect(pass);
    json_u64(json, "chunks", chunk_count(chunking));
    json_u64(json, "chunks_done", pass->before);
    json_bool(json, "is_begun", pass->begun.is_begun);
    json_f64(json, "expected_s", rate.seconds > 0 ? rate.seconds : NAN);
    json_u64(json, "expected_ranks", rate.ranks);
    json_u64(json, "expected_threads_of_a_rank", rate.threads);
}

static void json_plan_synthesis(struct json *json, const struct channelise_plan *work)
{
    const struct synthesis_plan *plan = work->filters ? work->filters->synthesis : NULL;
    if (!plan) {
        return;
    }
    json_begin(json, "synthesis");
    json_u64(json, "channels", plan->bank.channels);
    json_u64(json, "points", plan->bank.points);
    json_u64(json, "samples_a_spectrum", plan->bank.hop);
    json_u64(json, "taps", plan->spec.taps);
    json_u64(json, "prototype_taps", plan->bank_taps);
    json_f64(json, "error_db", plan->error_db);
    json_f64(json, "noise", plan->noise);
    json_u64(json, "reach_spectra", (uint64_t)plan->base.reach.length);
    json_u64(json, "samples", plan->base.seen.samples);
    json_bool(json, "is_complex", plan->base.seen.is_complex);
    json_f64(json, "sample_rate_hz", plan->base.seen.sample_rate_hz);
    json_end(json);
}

static void json_plan_filters(struct json *json, const struct channelise_plan *work)
{
    json_plan_synthesis(json, work);
    json_list(json, "filters");
    for (uint32_t i = 0; i < work->job->nfilters; i++) {
        const struct filter_plan_stage *stage = &work->filters->stages[i];
        const struct filter_shape *shape = &stage->spec.choice.shape;
        json_begin(json, NULL);
        json_u64(json, "taps", stage->spec.taps);
        json_text(json, "method", filter_method_name((enum filter_method)shape->method));
        json_u64(json, "transform_samples",
                 shape->method == FILTER_OVERLAP_SAVE ? shape->length : 0);
        json_u64(json, "decimate", stage->spec.decimate);
        json_u64(json, "samples", stage->base.seen.samples);
        json_bool(json, "is_complex", stage->base.seen.is_complex);
        json_f64(json, "sample_rate_hz", stage->base.seen.sample_rate_hz);
        json_f64(json, "delay_samples", stage->delay);
        json_end(json);
    }
    json_list_end(json);
}

static status_t json_plan_oversampled(struct json *json, const struct channelise_plan_bank *bank,
                                      double channel_hz)
{
    struct filter_report_oversampled report;
    double rate = (double)bank->samples_per_spectrum / (double)bank->hop;
    json_u64(json, "samples_between_spectra", bank->hop);
    if (bank->hop == bank->samples_per_spectrum) {
        return STATUS_OK;
    }
    TRY(filter_report_oversampled(bank->coeff, bank->channelise.taps,
                                  (uint32_t)bank->samples_per_spectrum, rate, &report));
    json_u64(json, "oversampling_num", bank->job->oversample.num);
    json_u64(json, "oversampling_den", bank->job->oversample.den);
    json_f64(json, "channel_width_hz", rate * channel_hz);
    json_f64(json, "kept_ripple_db", report.ripple_db);
    json_f64(json, "aliasing_db", report.alias_db);
    return STATUS_OK;
}

static status_t json_plan_bank(struct json *json, const struct channelise_plan *work, uint32_t i)
{
    const struct channelise_plan_bank *bank = &work->banks[i];
    struct filter_report report;
    char window[UNITS_TEXT];
    TRY(filter_report_make(bank->coeff, bank->channelise.taps, (uint32_t)bank->samples_per_spectrum,
                           &report));
    json_begin(json, NULL);
    json_text(json, "name", bank->job->name);
    json_u64(json, "channels", bank->channelise.channels);
    json_u64(json, "channels_kept", bank->channelise.nchannels);
    json_f64(json, "channel_hz", plan_channel_hz(work, i));
    json_u64(json, "taps", bank->channelise.taps);
    json_text(json, "window",
              bank->job->has_window || !bank->job->is_oversampled
                  ? bank->job->window.text
                  : bank_prototype_window(&bank->prototype, window));
    json_f64(json, "cutoff", bank->prototype.window == WINDOW_FILE ? NAN : bank->prototype.cutoff);
    json_text(json, "normalise", normalise_name(bank->job->normalise));
    json_text(json, "order", order_name(bank->job->order));
    json_u64(json, "raw_spectra", bank->raw_spectra);
    json_u64(json, "spectra", bank->spectra);
    json_u64(json, "samples_per_spectrum", bank->samples_per_spectrum);
    json_f64(json, "ripple_db", report.ripple_db);
    json_f64(json, "width_3db_channels", report.width_3db);
    json_f64(json, "width_6db_channels", report.width_6db);
    json_f64(json, "scalloping_db", report.scalloping_db);
    json_f64(json, "rejection_db", report.adjacent_db);
    json_f64(json, "rejection_beyond_db", report.beyond_db);
    json_f64(json, "noise_width_channels", report.noise_width);
    TRY(json_plan_oversampled(json, bank, plan_channel_hz(work, i)));
    json_end(json);
    return STATUS_OK;
}

static void json_plan_product(struct json *json, const struct channelise_pass *bank, uint32_t i)
{
    const struct channelise_plan *work = bank->work;
    const struct product_spec *spec = &work->products[i].spec;
    json_begin(json, NULL);
    json_text(json, "file", work->job->products[i].file);
    json_text(json, "kind", product_name(spec->kind));
    json_text(json, "format", file_format_name(work->job->products[i].format));
    json_bool(json, "is_complete", bank->pass.is_complete);
    json_u64(json, "rows", spec->rows);
    json_u64(json, "streams", work->archive->nstreams);
    if (work->is_bank) {
        json_u64(json, "bank", work->job->products[i].bank);
        json_u64(json, "channels", spec->bank.nchannels);
        json_u64(json, "pols", spec->nifs);
        json_u64(json, "ifs", spec->nifs); /* its older name */
        json_u64(json, "first_frequency", spec->first_frequency);
        json_u64(json, "frequencies", spec->frequencies);
        json_u64(json, "average", spec->average);
        json_u64(json, "integrate", spec->integrate);
        json_f64(json, "time_step_s", product_time(spec).step);
    } else {
        json_u64(json, "bits", spec->steps.bits);
        json_f64(json, "scale", spec->scale);
    }
    json_u64(json, "bytes", bank->pass.bytes[i]);
    json_end(json);
}

/* The notes are the same lines that people get. */
static status_t json_plan_channelise(struct json *json, const struct channelise_pass *bank)
{
    status_t st = STATUS_OK;
    const struct channelise_plan *work = bank->work;
    struct text notes = {0};
    json_begin(json, "archive");
    json_archive(json, bank->archive);
    TRY_OUT(elsewhere_of_archive(bank->archive, json));
    json_end(json);
    json_plan_filters(json, work);
    json_list(json, "filter_banks");
    for (uint32_t i = 0; i < work->nbanks && work->is_bank; i++) {
        TRY_OUT(json_plan_bank(json, work, i));
    }
    json_list_end(json);
    json_begin(json, "run");
    json_text(json, "backend", backend_name(work->backend));
    json_u64(json, "threads_of_a_rank", work->threads);
    json_plan_pass(json, &bank->pass, &work->chunking);
    json_u64(json, "unit_samples", channelise_plan_unit(work));
    json_u64(json, "spectra", work->chunking.spectra);
    json_u64(json, "chunk_spectra", work->chunking.chunk_spectra);
    json_u64(json, "chunk_streams", work->chunking.group_streams);
    json_u64(json, "block_spectra", work->chunking.block_spectra);
    json_u64(json, "input_bytes", work->input_bytes);
    json_u64(json, "read_bytes", work->read_bytes);
    json_u64(json, "memory_bytes", work->memory_bytes);
    json_u64(json, "memory_limit_bytes", work->job->memory);
    json_bool(json, "memory_is_auto", work->job->is_memory_auto);
    json_end(json);
    json_list(json, "products");
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        json_plan_product(json, bank, i);
    }
    json_list_end(json);
    TRY_OUT(channelise_plan_notes(work, &notes));
    json_lines(json, "notes", notes.data);
out:
    text_free(&notes);
    return st;
}

static void json_plan_series(struct json *json, const struct dedisperse_pass *series)
{
    const struct dedisperse_plan *d = series->plan;
    json_begin(json, NULL);
    json_text(json, "file", d->what->file);
    json_text(json, "candidates", d->what->search.file);
    json_text(json, "candidates_csv", d->what->search.csv);
    json_text(json, "filterbank", d->fbh5->path);
    json_bool(json, "is_complete", series->pass.is_complete);
    json_u64(json, "dms", d->delays.ndms);
    json_f64(json, "first_dm_pc_cm3", d->each.dms[0]);
    json_f64(json, "last_dm_pc_cm3", d->each.dms[d->delays.ndms - 1]);
    json_u64(json, "times", d->outputs);
    json_f64(json, "time_step_s", d->product.time.step);
    json_text(json, "mode", job_modes[d->what->mode]);
    if (d->tree.gain > 0) {
        json_f64(json, "tree_gain", d->tree.gain);
        json_u64(json, "tree_group_channels", d->tree.group);
    }
    json_u64(json, "largest_delay_samples", d->delays.largest);
    json_f64(json, "reference_hz", d->reference_hz);
    json_text(json, "backend", backend_name(d->backend));
    json_u64(json, "threads_of_a_rank", d->threads);
    json_plan_pass(json, &series->pass, &d->chunking);
    json_u64(json, "read_bytes", d->read_bytes);
    json_u64(json, "memory_bytes", d->memory_bytes);
    json_u64(json, "bytes", d->what->file ? series->pass.bytes[0] : 0);
    json_u64(json, "candidates_bytes",
             d->what->search.file ? series->pass.bytes[series->pass.making.count - 1] : 0);
    json_end(json);
}

/* Files that are complete, and stay. */
static void json_plan_complete(struct json *json, const struct job *job, const struct resume *left)
{
    json_list(json, "complete");
    for (uint32_t i = 0; i < job->nproducts && left->channelise; i++) {
        json_text(json, NULL, job->products[i].file);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (left->dedisperse[i]) {
            json_text(json, NULL, job_series_name(&job->dedisperse[i]));
        }
    }
    json_list_end(json);
}

static void json_plan_grid(struct json *json, const struct grid *grid)
{
    json_list(json, "coherent_parts");
    for (uint32_t i = 0; grid && i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        json_begin(json, NULL);
        json_f64(json, "coherent_dm_pc_cm3", part->coherent_dm);
        json_text(json, "power", part->job->products[0].file);
        json_text(json, "series", part->job->dedisperse[0].file);
        json_u64(json, "dms", part->count);
        json_bool(json, "is_complete", part->left.dedisperse[0]);
        json_end(json);
    }
    json_list_end(json);
}

static status_t json_plan_room(struct json *json, const struct room *room)
{
    json_list(json, "files_to_write");
    for (uint32_t i = 0; i < room->count; i++) {
        uint64_t bytes = 0;
        uint64_t left = 0;
        int is_first = 0;
        int is_there = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        TRY(folder_check(room->needs[i].path, &is_there));
        json_begin(json, NULL);
        json_text(json, "path", room->needs[i].path);
        json_u64(json, "bytes", room->needs[i].bytes);
        json_bool(json, "folder_will_be_made", !is_there);
        json_u64(json, "bytes_on_its_file_system", bytes);
        json_u64(json, "free_bytes", left);
        json_end(json);
    }
    json_list_end(json);
    return STATUS_OK;
}

static status_t json_plan_job(struct json *json, const struct run_plan *plan)
{
    const struct job *job = plan->part ? plan->part->job : plan->begun.job;
    const struct resume *left = plan->part ? &plan->part->left : &plan->begun.left;
    json_begin(json, NULL);
    json_plan_complete(json, job, left);
    json_plan_grid(json, plan->grid);
    TRY(plan->bank.work ? json_plan_channelise(json, &plan->bank) : STATUS_OK);
    json_list(json, "dedispersions");
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        if (plan->series[i].plan) {
            json_plan_series(json, &plan->series[i]);
        }
    }
    if (plan->grid) {
        json_plan_series(json, &plan->merge);
    }
    json_list_end(json);
    TRY(json_plan_room(json, &plan->room));
    json_end(json);
    return STATUS_OK;
}

status_t plan_job_write(const struct run_options *options)
{
    status_t st = STATUS_OK;
    struct json json = {.depth = 0};
    struct run_plan *plan = NULL;
    TRY_OUT(run_plan_create(options, &plan));
    TRY_OUT(json_plan_job(&json, plan));
    TRY_OUT(json_print(&json));
    TRY_OUT(room_check(&plan->room));
out:
    json_free(&json);
    run_plan_destroy(plan);
    return st;
}
