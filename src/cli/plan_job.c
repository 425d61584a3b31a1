/* Prints a planned job, one pass after the other, and the room that its files need. */
#include "cli/plan_job.h"

#include "base/display.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/describe.h"
#include "cli/elsewhere.h"
#include "dsp/dispersion/chirp.h"
#include "dsp/fir/filter_report.h"
#include "io/folder.h"
#include "io/launch.h"
#include "job/yaml/yaml_file.h"
#include "output/journal.h"
#include "plan/array_plan.h"
#include "plan/budget.h"
#include "plan/plan_products.h"

#include <inttypes.h>
#include <math.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Prints what all passes have in common: the time that the pass takes, where that is known, and the
 * chunks of earlier runs that it resumes from. */
static void plan_pass_print(const struct pass *pass)
{
    char text[PASS_TEXT];
    struct rate rate = pass_expect(pass);
    if (rate.seconds > 0 && !pass->is_complete) {
        display_row("time", "about %s on %s of %s, as the last such run here",
                    units_seconds(rate.seconds), units_number(rate.ranks, "rank", "ranks"),
                    units_number(rate.threads, "thread", "threads"));
    }
    if (pass->begun.is_begun) {
        display_row("resumes", "%s are done", pass_count_done(pass, text));
    }
}

/* Writes a frequency with as many digits as are significant. */
static const char *plan_hertz(double hertz, int count, char text[UNITS_TEXT])
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.*g", count, hertz);
    return units_hertz_in(strtod(digits, NULL), text);
}

static void filters_print_deripple(uint32_t reach, double ripple_db, double left_db)
{
    display_print(", deripple of up to %.3g dB, %u samples to either side (%.0f dB of it left out)",
                  ripple_db, reach, left_db);
}

static void filters_print_source(const struct job_filter *filter,
                                 const struct filter_plan_stage *stage)
{
    const struct filter_coefficients *made = &stage->made;
    if (filter->source == FILTER_DISPERSION) {
        const struct chirp *chirp = &stage->chirps[0];
        display_print("dispersion, DM %g, reference %s, %u samples", filter->dispersion.dm,
                      filter->dispersion.reference_hz > 0 ? units_hertz(chirp->reference_hz)
                                                          : "each coarse channel's centre",
                      stage->spec.taps);
        if (stage->deripple.half) {
            filters_print_deripple(stage->deripple.reach, stage->deripple.ripple_db,
                                   stage->deripple.left_db);
        }
    } else if (made->is_deripple) {
        display_print("%u real coefficients", made->taps);
        filters_print_deripple(made->taps / 2, made->ripple_db, made->left_db);
    } else if (made->is_design) {
        display_print(
            "%u %s coefficients by design: ripple %.3g dB, attenuation %.3g dB (Kaiser, beta %.3g)",
            made->taps, made->is_complex ? "complex" : "real", made->ripple_db,
            made->attenuation_db, made->beta);
    } else {
        display_print("%u %s %s", made->taps, made->is_complex ? "complex" : "real",
                      units_plural(made->taps, "coefficient", "coefficients"));
    }
}

/* Prints how far from the edges of coarse channels chirps are not exact (chirp_edge_hz()). The rms
 * error, of the jump's part outside of the guard, is at most 0.63 / sqrt(guard); real samples have
 * two jumps in half the band: 0.95. */
static void filters_print_edges(const struct filter_plan_stage *stage)
{
    const struct chirp *chirp = &stage->chirps[0];
    char text[UNITS_TEXT];
    double guard = (double)UINT32_MAX;
    for (uint32_t i = 0; i < stage->spec.nresponses; i++) {
        double least;
        double most;
        chirp_delays(&stage->chirps[i], &least, &most);
        guard = fmin(guard, (double)chirp_guard(&stage->chirps[i], most - least));
    }
    display_row("edges",
                "within %s of a coarse channel's edges, amplitudes change by more than 1 %% (of "
                "white noise at most %.2g %% rms)",
                plan_hertz(chirp_edge_hz(chirp->sample_rate_hz, guard), 2, text),
                (chirp->is_complex ? 63 : 95) / sqrt(guard));
}

static void filters_print_method(const struct filter_plan_stage *stage)
{
    const struct filter_shape *shape = &stage->spec.choice.shape;
    display_print("  method        %s", filter_method_name((enum filter_method)shape->method));
    if (shape->method == FILTER_OVERLAP_SAVE) {
        uint64_t fresh = shape->length - (stage->spec.taps - 1);
        display_print(", transforms of %u samples, %.0f %% of them new", shape->length,
                      100.0 * (double)fresh / shape->length);
    }
    display_print("\n");
}

/* Prints the synthesis: its filter, its error and the streams that it makes. */
static void filters_print_synthesis(const struct synthesis_plan *plan)
{
    const struct synthesis_bank *bank = &plan->bank;
    const struct archive *seen = &plan->base.seen;
    display_print("synthesis\n  takes         %u channels of each stream, %s apart", bank->channels,
                  units_hertz(bank->spacing_hz));
    if (bank->points != bank->channels) {
        display_print(", as %u points", bank->points);
    }
    display_print("\n  filter        %u taps: %" PRIu64
                  " coefficients, dual of a prototype of %u\n",
                  plan->spec.taps, (uint64_t)plan->spec.taps * bank->points, plan->bank_taps);
    display_row("error",
                "%.1f dB of the signal's power, of white noise; noise of the "
                "channels is passed on by %.3g",
                plan->error_db, plan->noise);
    display_row("reaches over", "%" PRId64 " spectra for a sample", plan->base.reach.length);
    display_row("leaves", "%s %s of each stream at %s, %u samples for a spectrum",
                units_count(seen->samples), seen->is_complex ? "complex samples" : "real samples",
                units_hertz(seen->sample_rate_hz), bank->hop);
    for (uint32_t i = 0; i < bank->groups; i++) {
        double half = bank->channels * bank->spacing_hz / 2;
        double low = synthesis_bank_low(bank, plan->in, i);
        display_row(i == 0 ? "band" : "", "%s to %s, centre %s", units_hertz(low),
                    units_hertz(low + 2 * half), units_hertz(seen->freq_hz[i]));
    }
}

/* Prints the filters of a planned job, if it has any. */
static void plan_filters_print(const struct channelise_plan *work)
{
    if (work->filters && work->filters->synthesis) {
        filters_print_synthesis(work->filters->synthesis);
    }
    for (uint32_t i = 0; i < work->job->nfilters; i++) {
        const struct filter_plan_stage *stage = &work->filters->stages[i];
        display_print("filter %u\n  made of       ", i);
        filters_print_source(&work->job->filters[i], stage);
        display_print("\n");
        filters_print_method(stage);
        if (stage->chirps) {
            filters_print_edges(stage);
        }
        display_print("  leaves        %s %s of each stream at %s, %s",
                      units_count(stage->base.seen.samples),
                      stage->base.seen.is_complex ? "complex samples" : "real samples",
                      units_hertz(stage->base.seen.sample_rate_hz),
                      work->job->filters[i].is_padded ? "padded" : "valid");
        if (stage->spec.decimate > 1) {
            display_print(", every %u", stage->spec.decimate);
        }
        display_print("\n  delay         %g samples%s\n", stage->delay,
                      stage->delay != 0 ? ", taken out of the times" : "");
    }
}

/* From one channel to the next. */
double plan_channel_hz(const struct channelise_plan *work, uint32_t i)
{
    return archive_chan_width_hz(work->seen) / work->banks[i].channelise.channels;
}

/* Writes the width of `channels` channels in Hz, with matching digits. */
static const char *bank_width(double channels, const struct channelise_plan *work, uint32_t number,
                              char text[UNITS_TEXT])
{
    return plan_hertz(channels * plan_channel_hz(work, number), 4, text);
}

static void bank_print_work(const struct channelise_plan *work, uint32_t number)
{
    char b[UNITS_TEXT];
    const struct channelise_plan_bank *bank = &work->banks[number];
    const struct channelise_spec *spec = &bank->channelise;
    display_print("filter bank%s%s\n", bank->job->name ? " " : "",
                  bank->job->name ? bank->job->name : "");
    display_print("  channels      %u of %s", spec->channels,
                  units_hertz(plan_channel_hz(work, number)));
    if (spec->nchannels != spec->channels) {
        display_print(", the central %u of each coarse channel kept", spec->nchannels);
    }
    if (bank->hop < bank->samples_per_spectrum) {
        display_print(
            "\n  oversampled   %u/%u: a spectrum every %s samples, channels %s wide",
            bank->job->oversample.num, bank->job->oversample.den, units_count(bank->hop),
            bank_width((double)bank->samples_per_spectrum / (double)bank->hop, work, number, b));
    }
    display_print("\n  taps          %u, window %s", spec->taps,
                  bank->prototype.window == WINDOW_FILE
                      ? bank->job->window.text
                      : bank_prototype_window(&bank->prototype, b));
    display_print("%s, normalise %s, order %s\n",
                  bank_prototype_cutoff(&bank->prototype, bank->job->cutoff == CUTOFF_FLAT, b),
                  normalise_name(bank->job->normalise), order_name(bank->job->order));
    display_row("raw spectra", "%s of %s samples, giving %s of each stream",
                units_count(bank->raw_spectra), units_count(bank->samples_per_spectrum),
                units_amount(bank->spectra, "spectrum", "spectra"));
}

/* Prints a level in dB; "total" if it is beyond the precision of the numbers. */
static void bank_print_decibels(const char *name, double value, const char *what)
{
    char level[32] = "total";
    if (isfinite(value)) {
        snprintf(level, sizeof level, "%.2f dB", value);
    }
    display_row(name, "%s %s", level, what);
}

/* Prints the aliasing of oversampled channels. */
static status_t bank_print_oversampled(const struct channelise_plan_bank *bank)
{
    struct filter_report_oversampled report;
    char words[64];
    double rate = (double)bank->samples_per_spectrum / (double)bank->hop;
    if (bank->hop == bank->samples_per_spectrum) {
        return STATUS_OK;
    }
    TRY(filter_report_oversampled(bank->coeff, bank->channelise.taps,
                                  (uint32_t)bank->samples_per_spectrum, rate, &report));
    bank_print_decibels("kept part", report.ripple_db, "ripple within +-0.5");
    snprintf(words, sizeof words, "or more of what folds into it, from %.4g on", rate - 0.5);
    bank_print_decibels("aliasing", report.alias_db, words);
    return STATUS_OK;
}

static status_t bank_print_filter(const struct channelise_plan *work, uint32_t number)
{
    const struct channelise_plan_bank *bank = &work->banks[number];
    struct filter_report report;
    char a[UNITS_TEXT];
    char b[UNITS_TEXT];
    TRY(filter_report_make(bank->coeff, bank->channelise.taps, (uint32_t)bank->samples_per_spectrum,
                           &report));
    display_print("filter (frequencies in channels)\n");
    bank_print_decibels("ripple", report.ripple_db, "within +-0.25");
    display_row("width", "%.4f (%s) at -3 dB, %.4f (%s) at -6 dB", report.width_3db,
                bank_width(report.width_3db, work, number, a), report.width_6db,
                bank_width(report.width_6db, work, number, b));
    bank_print_decibels("scalloping", report.scalloping_db,
                        "loss of a tone half-way between two channels");
    bank_print_decibels("rejection", report.adjacent_db, "at the centre of the next channel");
    bank_print_decibels("", report.beyond_db, "or more from 1.5 on");
    TRY(bank_print_oversampled(bank));
    display_row("noise width", "%.4f (%s)", report.noise_width,
                bank_width(report.noise_width, work, number, a));
    return STATUS_OK;
}

/* Writes the unit in which chunks are counted. */
static const char *bank_unit(const struct channelise_plan *work, uint64_t count,
                             char text[UNITS_TEXT + 32])
{
    snprintf(text, UNITS_TEXT + 32, "x %s samples", units_count(channelise_plan_unit(work)));
    return work->nbanks > 1 ? text
           : work->is_bank  ? units_plural(count, "spectrum", "spectra")
                            : units_plural(count, "sample", "samples");
}

static void plan_print_memory(const struct job *job, enum backend_kind backend, uint64_t bytes)
{
    char memory[JOB_MEMORY_TEXT];
    display_print("  memory        %s a rank", units_bytes(bytes));
    if (backend_abilities(backend)->has_device) {
        display_print(", %s with kernels that are compiled",
                      units_bytes(bytes - BUDGET_COMPILER_BYTES));
    }
    display_print(" (run.memory: %s)\n", job_memory_words(job, memory));
}

static void bank_print_run(const struct channelise_plan *work)
{
    const struct chunking *chunking = &work->chunking;
    uint64_t chunks = chunk_count(chunking);
    char unit[UNITS_TEXT + 32];
    display_print("run\n");
    display_row("backend", "%s, %s on this machine", backend_name(work->backend),
                units_number(work->threads, "thread", "threads"));
    display_print("  chunks        %s of %s %s", units_count(chunks),
                  units_count(chunking->chunk_spectra),
                  bank_unit(work, chunking->chunk_spectra, unit));
    if (chunk_groups(chunking) > 1) {
        display_print(" of %s", units_number(chunking->group_streams, "stream", "streams"));
    }
    if (chunking->block_spectra < min_u64(chunking->chunk_spectra, chunking->spectra)) {
        display_print(", in blocks of %s", units_count(chunking->block_spectra));
    }
    display_print("\n  ranks' share  at most");
    for (uint64_t ranks = 2; ranks <= 16; ranks *= 2) {
        display_print("%s %s on %llu ranks", ranks > 2 ? "," : "",
                      units_count(ceil_div_u64(chunks, ranks)), (unsigned long long)ranks);
    }
    display_print(" (chunks, given out on request)\n");
    display_print("  bytes in      %s", units_bytes(work->input_bytes));
    const struct channelise_plan_bank *bank = &work->banks[0];
    int is_samples = work->filters || work->nbanks > 1 || bank->hop < bank->samples_per_spectrum;
    uint64_t shared = is_samples ? channelise_plan_shared(work)
                                 : overlap_shared(&work->nodes[NODE_SPECTRA(0)].stage) / bank->hop;
    display_print(" (%s read, with the chunks' overlap of %s %s)\n", units_bytes(work->read_bytes),
                  units_count(shared),
                  is_samples ? units_plural(shared, "sample", "samples")
                             : units_plural(shared, "raw spectrum", "raw spectra"));
    plan_print_memory(work->job, work->backend, work->memory_bytes);
}

static void bank_print_products(const struct channelise_pass *bank)
{
    const struct channelise_plan *work = bank->work;
    display_print("products\n");
    for (uint32_t i = 0; i < work->job->nproducts; i++) {
        const struct channelise_plan_product *product = &work->products[i];
        struct time_axis time = product_time(&product->spec);
        if (!work->is_bank) {
            display_print(
                "  %s: voltages, %s of %s, %u bits, scale %g, %s\n", work->job->products[i].file,
                units_amount(product->spec.rows, "sample", "samples"),
                units_number(work->seen->nstreams, "stream", "streams"), product->spec.steps.bits,
                product->spec.scale, units_bytes(bank->pass.bytes[i]));
            continue;
        }
        struct plan_products_shape shape = plan_products_shape_of(work, i);
        display_print("  %s: %s, %s of %u %s x %s", work->job->products[i].file,
                      product_name(product->spec.kind),
                      units_amount(product->spec.rows, "row", "rows"), shape.columns, shape.what,
                      units_number(shape.channels, "channel", "channels"));
        if (quantised_is(&product->spec)) {
            display_print(", %u bits with a scale %s %llu rows", product->spec.steps.bits,
                          product->spec.steps.are_first ? "of the first" : "for each",
                          (unsigned long long)product->spec.steps.rows);
        }
        enum file_format format = work->job->products[i].format;
        if (product->spec.integrate > 1) {
            display_print(", of %s spectra", units_count(product->spec.integrate));
        }
        display_print(", one every %s, %s%s%s\n", units_seconds(time.step),
                      units_bytes(bank->pass.bytes[i]), format == FILE_HDF5 ? "" : ", as ",
                      format == FILE_HDF5 ? "" : file_format_name(format));
    }
}

static status_t bank_print_notes(const struct channelise_plan *work)
{
    SCOPED(text_free) struct text notes = {0};
    TRY(channelise_plan_notes(work, &notes));
    display_print("%s", notes.length > 0 ? "notes\n" : "");
    describe_lines("  ", notes.data);
    return STATUS_OK;
}

/* Prints where the array looks, and what its delays cost. */
static status_t plan_array_print(const struct channelise_plan *work)
{
    SCOPED(text_free) struct text lines = {0};
    const struct job_direction *at = &work->job->array.centre;
    if (!work->array) {
        return STATUS_OK;
    }
    display_print("array\n");
    if (at->kind == DIRECTION_NONE) {
        display_row("centre", "none: delays of cables and clocks alone");
    } else if (at->kind == DIRECTION_RADEC) {
        display_row("centre", "right ascension %.6f deg, declination %.6f deg", at->lon_deg,
                    at->lat_deg);
    } else {
        display_row("centre", "azimuth %.4f deg, elevation %.4f deg", at->azimuth_deg,
                    at->elevation_deg);
    }
    TRY(array_plan_words(work, &lines));
    display_print("%s", lines.data);
    return STATUS_OK;
}

static status_t plan_bank_print(const struct channelise_pass *bank)
{
    describe_archive(bank->archive);
    TRY(elsewhere_of_archive(bank->archive, NULL));
    plan_filters_print(bank->work);
    TRY(plan_array_print(bank->work));
    for (uint32_t i = 0; i < bank->work->nbanks && bank->work->is_bank; i++) {
        bank_print_work(bank->work, i);
        TRY(bank_print_filter(bank->work, i));
    }
    bank_print_run(bank->work);
    plan_pass_print(&bank->pass);
    bank_print_products(bank);
    return bank_print_notes(bank->work);
}

/* Prints a planned dedispersion. */

/* Prints the file of a dedispersion's series, its shape and bytes. */
static void series_print_file(const struct dedisperse_plan *d, const char *file, const char *bytes)
{
    display_print("  %s: dedispersed, %s x %s, %s\n", file,
                  units_number(d->delays.ndms, "DM", "DMs"),
                  units_amount(d->outputs, "time", "times"), bytes);
}

static void series_print_files(const struct dedisperse_pass *series)
{
    const struct dedisperse_plan *d = series->plan;
    for (uint32_t i = 0; i < series->pass.making.count; i++) {
        const struct output_spec_item *item = &series->pass.making.items[i];
        const char *bytes = units_bytes(series->pass.bytes[i]);
        if (item->spec.kind == PRODUCT_CANDIDATES) {
            display_print("  %s: candidates of S/N %g or more in boxes of 1 to %u samples, noise "
                          "by %s; %s of peaks before they are compressed\n",
                          item->file, d->bursts.boxes.threshold, d->bursts.boxes.widths,
                          units_seconds((double)d->bursts.boxes.block * d->product.time.step),
                          bytes);
            if (d->what->search.csv) {
                display_print("  %s: the same candidates as comma-separated values\n",
                              d->what->search.csv);
            }
        } else {
            series_print_file(d, item->file, bytes);
        }
    }
}

static void series_print(const struct dedisperse_pass *series)
{
    const struct dedisperse_plan *d = series->plan;
    double step = d->product.time.step;
    const struct chunking *chunking = &d->chunking;
    display_print("dedispersion of %s\n", d->fbh5->path);
    display_print("  channels      %u", d->fbh5->nchannels);
    display_print(", %s to %s", units_hertz(d->fbh5->freq_hz[0]),
                  units_hertz(d->fbh5->freq_hz[d->fbh5->nchannels - 1]));
    display_print(", pols %s added up\n", d->words.ifs.data);
    display_row("samples", "%s of %s", units_count(d->input.samples), units_seconds(step));
    display_row("DMs", "%u from %g to %g (%s), %s", d->delays.ndms, d->each.dms[0],
                d->each.dms[d->delays.ndms - 1], d->words.plan.data, d->product.mode);
    if (d->what->is_two_step) {
        display_row("two steps",
                    "groups of %u channels, samples at most %u beside their "
                    "delays, %.1f %% of the additions",
                    d->steps.group, d->steps.error,
                    100 * (double)d->steps.adds / ((double)d->delays.ndms * d->delays.nchannels));
    }
    if (d->tree.gain > 0) {
        display_print("  additions     ");
        if (d->tree.gain >= 1.05) {
            display_print("%.1f times fewer in a tree, of groups of up to %u channels (mode %s)\n",
                          d->tree.gain, d->tree.group, job_modes[d->what->mode]);
        } else {
            display_print("as many in a tree: hardly a pattern of delays repeats (mode %s)\n",
                          job_modes[d->what->mode]);
        }
    }
    display_row("delays", "up to %s, %s, after %s",
                units_number(d->delays.largest, "sample", "samples"),
                units_seconds(d->delays.largest * step), units_hertz(d->reference_hz));
    display_row("backend", "%s, %s on this machine", backend_name(d->backend),
                units_number(d->threads, "thread", "threads"));
    display_print("  chunks        %s of %s x %s", units_count(chunk_count(chunking)),
                  units_amount(chunking->chunk_spectra, "DM", "DMs"),
                  units_amount(chunking->group_streams, "time", "times"));
    if (d->block_outputs < chunking->group_streams) {
        display_print(", in blocks of %s", units_count(d->block_outputs));
    }
    display_print("\n  bytes in      %s", units_bytes(d->fbh5->rows * fbh5_row_bytes(d->fbh5)));
    display_print(" (%s read, with the chunks' overlap of up to %s)\n", units_bytes(d->read_bytes),
                  units_amount(d->delays.largest, "sample", "samples"));
    plan_print_memory(d->job, d->backend, d->memory_bytes);
    plan_pass_print(&series->pass);
    series_print_files(series);
}

/* A begun run follows its filterbank of that time; another one will be made. */
static status_t series_warn_of_begun(const char *file, const char *filterbank)
{
    enum journal_state state;
    SCOPED(product_files_free) struct product_files files = {.path = NULL};
    SCOPED(journal_destroy_at) journal_t *journal = NULL;
    TRY(product_files_of(file, &files));
    TRY(journal_open(files.journal, &state, &journal));
    if (journal && journal->done > 0) {
        report_warn("%s was begun of another %s than will be made: a run will refuse to go on with "
                    "it; --restart begins anew",
                    file, filterbank);
    }
    return STATUS_OK;
}

static status_t plan_series_print(const struct dedisperse_pass *series)
{
    const char *file = job_series_name(series->plan->what);
    if (series->is_foreseen && !series->pass.options->restart) {
        TRY(series_warn_of_begun(file, series->fbh5->path));
    }
    series_print(series);
    return series->is_foreseen ? STATUS_OK : elsewhere_of_filterbank(series->fbh5, NULL);
}

static void plan_job_print_complete(const char *file)
{
    display_print("%s is complete: it stays\n", file);
}

/* Returns the folder of a path, "out/" of "out/x.h5", and its length. */
static const char *plan_job_folder(const char *path, int *length)
{
    *length = (int)(text_basename(path) - path);
    const char *folder = *length > 0 ? path : "./";
    *length = *length > 0 ? *length : 2;
    return folder;
}

/* Returns whether files of that path are on Lustre; 0 if that is not known. */
static int folder_is_lustre(const char *path)
{
    enum { LUSTRE = 0x0bd00bd0 };
    struct statfs info = {0};
    SCOPED(free_at) char *folder = NULL;
    if (folder_nearest(path, &folder) != STATUS_OK || statfs(folder, &info) != 0) {
        report_clear();
    }
    return info.f_type == LUSTRE;
}

/* Lustre puts a new file on one server unless its folder says otherwise: 16 GiB for each, and all
 * servers for files of 1 TiB. */
static void plan_job_print_stripes(const char *path, uint64_t bytes, uint64_t align)
{
    enum { KIB = 10, GIB = 30, MOST = 64, STRIPE = 16 << 20 };
    uint64_t stripes = ceil_div_u64(bytes, UINT64_C(16) << GIB);
    int length;
    const char *folder = plan_job_folder(path, &length);
    if (folder_is_lustre(path)) {
        display_row("Lustre", "before the run: lfs setstripe -c %d -S %lluK %.*s%s",
                    stripes >= MOST ? -1 : (int)max_u64(stripes, 1),
                    (unsigned long long)(align > 0 ? align : STRIPE) >> KIB, length, folder,
                    align > 0 ? "" : "; and run.align: 16MiB");
    }
}

static status_t plan_job_print_room(const struct room *room, uint64_t align)
{
    for (uint32_t i = 0; i < room->count; i++) {
        int is_first = 0;
        int length;
        uint64_t bytes = 0;
        uint64_t left = 0;
        TRY(room_sum(room, i, &bytes, &left, &is_first));
        if (is_first) {
            const char *folder = plan_job_folder(room->needs[i].path, &length);
            display_print("%s", i == 0 ? "space\n" : "");
            display_print("  %-13.*s %s (%" PRIu64 " bytes) needed, %s free\n", length, folder,
                          units_bytes(bytes), bytes, units_bytes(left));
            plan_job_print_stripes(room->needs[i].path, room->needs[i].bytes, align);
        }
    }
    return STATUS_OK;
}

/* Folders of products that are not there. */
static status_t plan_job_print_folders(const struct room *room)
{
    SCOPED(text_free) struct text said = {0};
    for (uint32_t i = 0; i < room->count; i++) {
        const char *path = room->needs[i].path;
        int length = (int)(text_basename(path) - path);
        int is_there = 0;
        TRY(folder_check(path, &is_there));
        if (!is_there && (!said.data || strncmp(said.data, path, (size_t)length) != 0 ||
                          said.data[length] != '\0')) {
            display_print("%s", said.data ? "" : "folders\n");
            display_print("  %.*s will be made\n", length, path);
            said.length = 0;
            TRY(text_add(&said, "%.*s", length, path));
        }
    }
    return STATUS_OK;
}

/* Prints the passes of a semi-coherent search. */
static void plan_job_print_parts(const struct run_plan *plan)
{
    const struct grid *grid = plan->grid;
    display_print("semi-coherent search, %u coherent %s one after the other\n", grid->count,
                  units_plural(grid->count, "DM,", "DMs,"));
    for (uint32_t i = 0; i < grid->count; i++) {
        const struct grid_part *part = &grid->parts[i];
        const char *state = part->left.dedisperse[0] ? ": complete" : part == plan->part ? ":" : "";
        display_print("  DM %-10.10g filter, filter bank (%s), %s (%s)%s\n", part->coherent_dm,
                      part->job->products[0].file, units_number(part->count, "DM", "DMs"),
                      part->job->dedisperse[0].file, state);
    }
    display_print(
        "  these files are removed in the end, power as soon as its series are complete\n");
}

/* Prints the last pass of a semi-coherent search, or that it is complete. */
static void plan_job_print_merge(const struct run_plan *plan)
{
    const struct job *job = plan->begun.job;
    if (plan->grid) {
        const struct dedisperse_plan *d = plan->merge.plan;
        display_print("series of all coherent DMs, in one file\n");
        plan_print_memory(d->job, d->backend, d->memory_bytes);
        plan_pass_print(&plan->merge.pass);
        series_print_file(d, d->what->file, units_bytes(plan->merge.pass.bytes[0]));
    } else if (job_is_semi_coherent(job)) {
        plan_job_print_complete(job->dedisperse[0].file);
    }
}

static status_t plan_job_print_passes(const struct run_plan *plan)
{
    const struct job *job = plan->part ? plan->part->job : plan->begun.job;
    const struct resume *left = plan->part ? &plan->part->left : &plan->begun.left;
    if (plan->grid) {
        plan_job_print_parts(plan);
    }
    if (job_is_semi_coherent(job)) {
        return STATUS_OK; /* all parts are complete */
    }
    TRY(plan->bank.work ? plan_bank_print(&plan->bank) : STATUS_OK);
    for (uint32_t i = 0; i < job->nproducts && left->channelise; i++) {
        plan_job_print_complete(job->products[i].file);
    }
    for (uint32_t i = 0; i < job->ndedisperse; i++) {
        TRY(plan->series[i].plan ? plan_series_print(&plan->series[i]) : STATUS_OK);
        if (left->dedisperse[i]) {
            plan_job_print_complete(job_series_name(&job->dedisperse[i]));
        }
    }
    return STATUS_OK;
}

status_t plan_job_take(const struct shared *shared, const char *list, struct text *given,
                       struct run_options *run)
{
    const char *path = shared->operand ? shared->operand : "--set";
    int is_stdin = strcmp(path, "-") == 0;
    /* A pipe of the shell, <(...), is there once, and waits for whoever writes it. */
    int is_pipe = strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/self/fd/", 14) == 0;
    REQUIRE(!is_stdin || !list || strcmp(list, "-") != 0, STATUS_USAGE,
            "standard input is either the job or the list of --list, not both");
    REQUIRE(!is_pipe || !launch_is_used() || shared->rank != 0 || access(path, F_OK) == 0,
            STATUS_USAGE,
            "%s: mpirun does not pass the pipe of <(COMMAND) on: COMMAND | mpirun voltmill run - "
            "does, or a file",
            path);
    *run = (struct run_options){.path = is_stdin ? "standard input" : path,
                                .given = is_stdin || is_pipe || !shared->operand ? given : NULL,
                                .sets = shared->sets.items,
                                .nsets = shared->sets.count,
                                .force = shared->force,
                                .restart = shared->restart};
    if ((is_stdin || is_pipe) && shared->rank == 0) {
        TRY(text_read_file(given, is_stdin ? "/dev/stdin" : path, YAML_FILE_BYTES, "a job (YAML)"));
    } else if (!shared->operand) {
        TRY(text_add(given, "{}"));
    }
    return STATUS_OK;
}

status_t plan_job_print(const struct run_plan *plan)
{
    TRY(plan_job_print_passes(plan));
    plan_job_print_merge(plan);
    TRY(plan_job_print_folders(&plan->room));
    return plan_job_print_room(&plan->room, plan->begun.job->cut.align);
}

status_t plan_job_show(const struct run_options *options,
                       status_t (*print)(const struct run_plan *plan))
{
    SCOPED(run_plan_destroy_at) struct run_plan *plan = NULL;
    TRY(run_plan_create(options, &plan));
    TRY(print(plan));
    return room_check(&plan->room);
}
