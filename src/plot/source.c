/* Filterbanks by their reader, spectra and the data beside them as sheets, series and peaks by
 * their readers. */
#include "plot/source.h"

#include "base/memory.h"
#include "base/units.h"
#include "compute/shared/samples.h"
#include "dsp/boxes.h"
#include "dsp/fir/filter_report.h"
#include "dsp/fir/prototype.h"
#include "input/fbh5/fbh5.h"
#include "input/format/formats.h"
#include "input/open.h"
#include "input/read/reader.h"
#include "io/file.h"
#include "plan/filter_coefficients.h"
#include "plan/stage_plan.h"
#include "product/candidates.h"
#include "product/kind/series_kind.h"
#include "product/packed.h"
#include "product/product.h"
#include "product/sheet.h"

#include <math.h>

enum { CACHE_BYTES = 1 << 26, THREADS = 4 };

/* Voltages: samples by the reader of archives, one time step after the other. */

struct volts {
    struct archive *archive;
    struct slab *slab;
    reader_t *reader;
    size_t *re, *im; /* [nstreams] */
    struct sample_coding coding;
};

/* Adds start, source and telescope of rows or samples; `start` NULL: unknown. */
static void source_add_origin(struct json *json, const struct utc *start, const char *source,
                              const char *telescope)
{
    json_text(json, "start", start ? units_utc(*start) : NULL);
    json_text(json, "source", source);
    json_text(json, "telescope", telescope);
}

static void volts_describe(const struct archive *a, struct json *json)
{
    json_text(json, "layout", a->layout);
    json_u64(json, "samples", a->samples);
    json_u64(json, "gap_samples", archive_gap_in(a, a->first_sample, a->samples));
    json_bool(json, "is_complex", a->is_complex);
    json_bool(json, "is_lower", a->sideband < 0);
    json_f64(json, "rate_hz", a->sample_rate_hz);
    json_f64(json, "scale", a->scale);
    json_f64(json, "first_s", a->offset_seconds + (double)a->first_sample / a->sample_rate_hz);
    source_add_origin(json, a->sky.has_start ? &a->sky.start : NULL, a->sky.source,
                      a->sky.telescope);
    for (int i = 0; i < STREAM_AXES; i++) {
        enum axis axis = archive_stream_axes[i];
        json_list(json, axis_name(axis));
        for (uint32_t n = 0; n < a->nselected[axis]; n++) {
            uint64_t index = a->selected[axis][n];
            if (axis == AXIS_CHAN) {
                json_f64(json, NULL, a->freq_hz[index]);
            } else {
                json_text(json, NULL, a->names[axis] ? a->names[axis][index] : NULL);
            }
        }
        json_list_end(json);
    }
}

static void volts_close(struct volts *v)
{
    if (v) {
        reader_destroy(v->reader);
        slab_destroy(v->slab);
        archive_destroy(v->archive);
        MEMORY_FREE(v->re, v->im, v);
    }
}
SCOPED_END(volts_close, struct volts *)

/* Opens files or patterns of one observation, or the input of a job (FILE.yaml), and appends its
 * axes, names and times as members of an object. Fails with DATA, USAGE, DEVICE, STOPPED (while a
 * child process opens files). */
static status_t volts_open(const struct drawing *d, struct json *json, struct volts **out)
{
    SCOPED(volts_close_at) struct volts *v = NULL;
    SCOPED(job_destroy_at) struct job *job = NULL;
    TRY(memory_zeroed(1, sizeof *v, "voltages", &v));
    if (text_ends(d->files[0], ".yaml")) {
        TRY(job_load(d->files[0], NULL, 0, &job));
        job->on_bad = ON_BAD_NAN;
        TRY(archive_open(job, &v->archive));
    } else {
        TRY(archive_open_files((char **)(uintptr_t)d->files, d->nfiles, d->choice.layout,
                               &v->archive));
    }
    const struct archive *a = v->archive;
    v->coding = stage_plan_coding(a);
    TRY(slab_create(a, stream_range(0, a->nstreams), &v->slab));
    TRY(reader_create(a, CACHE_BYTES, 1, &v->reader));
    TRY(memory_zeroed(a->nstreams, sizeof *v->re, "offsets", &v->re));
    TRY(memory_zeroed(a->nstreams, sizeof *v->im, "offsets", &v->im));
    volts_describe(a, json);
    *out = memory_move(&v);
    return STATUS_OK;
}

/* Puts NaN where a read did not find a block's samples. */
static void volts_blank(const struct loss *loss, uint64_t first, const struct source_block *b,
                        uint64_t parts, float *out)
{
    uint64_t end = min_u64(loss->first + loss->count, first + b->rows);
    for (uint64_t n = max_u64(loss->first, first); n < end; n++) {
        for (uint64_t i = 0; i < b->ifs * parts; i++) {
            if (loss->stream == LOSS_OF_ALL || loss->stream == b->first_if + i / parts) {
                out[(n - first) * b->ifs * parts + i] = NAN;
            }
        }
    }
}

/* Reads a block: row is the first of b->rows samples, counted from the first selected one, first_if
 * the first of b->ifs streams. Gives stored numbers, NaN where they are missing or unreadable; of
 * complex samples upper frequencies are positive.
 *
 *   out   float [rows][ifs][2 of complex samples, else 1]
 *
 * Fails with DATA, DEVICE (memory). */
static status_t volts_read(struct volts *v, const struct source_block *b, float *out)
{
    const struct archive *a = v->archive;
    const struct sample_input input = {v->re, v->im, (size_t)v->slab->width};
    const uint64_t first = a->first_sample + b->row;
    const uint64_t parts = a->is_complex ? 2 : 1;
    SCOPED(free_at) char *data = NULL;
    SCOPED(losses_free) struct losses losses = {0};
    REQUIRE(b->row + b->rows <= a->samples && b->first_if + b->ifs <= a->nstreams &&
                b->chans == parts,
            STATUS_DEVICE, "samples are asked for beyond those of the observation");
    TRY(memory_aligned((size_t)slab_bytes(v->slab, b->rows), 1, "samples", &data));
    slab_offsets(v->slab, b->rows, v->re, v->im);
    TRY(reader_salvage(v->reader, v->slab, first, b->rows, data, &losses, &losses));
    for (uint64_t i = 0; i < b->rows * b->ifs; i++) {
        double value[2];
        uint32_t stream = (uint32_t)(b->first_if + i % b->ifs);
        int is_there = sample_volts(&v->coding, data, &input, stream, i / b->ifs, value);
        out[i * parts] = is_there ? (float)value[0] : NAN;
        out[i * parts + parts - 1] = is_there ? (float)value[parts - 1] : NAN;
    }
    for (size_t i = 0; i < losses.count; i++) {
        volts_blank(&losses.items[i], first, b, parts, out);
    }
    return STATUS_OK;
}

struct source {
    const char *path;
    struct volts *volts;
    struct fbh5 *fbh5;
    fbh5_reader_t *reader;
    struct product *product;
    struct sheet *spectra, *beside[SHEET_BESIDES];
    struct series *series;
    struct candidates_file *found;
    rows_t *peaks;
    void *scratch; /* numbers as they are stored */
};

/* Names of each polarisation, and whether it is a power. */
static status_t source_add_pols(const struct fbh5 *f, struct json *json)
{
    SCOPED(text_free) struct text name = {0};
    json_list(json, "pols");
    for (uint32_t i = 0; i < f->nifs; i++) {
        json_begin(json, NULL);
        name.length = 0;
        TRY(fbh5_name_pol(f, i, &name));
        json_text(json, "name", name.length ? name.data : NULL);
        name.length = 0;
        TRY(fbh5_name_if(f, i, &name));
        json_text(json, "type", name.length ? name.data : NULL);
        json_bool(json, "is_power", fbh5_is_power(f, i));
        json_end(json);
    }
    json_list_end(json);
    return STATUS_OK;
}

static status_t source_open_beside(struct source *s, struct json *json)
{
    int is_hdf5 = s->spectra || (!s->fbh5->format && s->fbh5->table.bits == 0);
    json_begin(json, "beside");
    for (int i = 0; i < SHEET_BESIDES && is_hdf5; i++) {
        TRY(sheet_open(s->path, sheet_beside(i), &s->beside[i]));
        const struct sheet *sheet = s->beside[i];
        if (sheet) {
            json_begin(json, sheet_beside(i));
            json_u64(json, "rows", sheet->rows);
            json_u64(json, "ifs", sheet->nifs);
            json_u64(json, "chans", sheet->nchannels);
            if (sheet->coarse_hz) {
                json_doubles(json, "coarse_hz", sheet->coarse_hz, sheet->nchannels);
            }
            json_end(json);
        }
    }
    json_end(json);
    return STATUS_OK;
}

static void source_add_axes(struct json *json, uint64_t rows, uint64_t chans, double step)
{
    json_u64(json, "rows", rows);
    json_u64(json, "chans", chans);
    json_f64(json, "step_s", step);
}

/* Begins the object of a filterbank, with the members that any filterbank has. */
static void source_begin_bank(struct json *json, uint64_t rows, uint64_t chans, double channel_hz,
                              struct time_axis time, const struct sky *sky)
{
    struct utc start = utc_add(sky->start, time.first - time.step / 2);
    json_begin(json, "bank");
    source_add_axes(json, rows, chans, time.step);
    json_f64(json, "channel_hz", channel_hz);
    json_f64(json, "first_s", time.first);
    source_add_origin(json, sky->has_start ? &start : NULL, sky->source, sky->telescope);
}

static status_t source_add_bank(const struct source *s, struct json *json)
{
    const struct fbh5 *f = s->fbh5;
    source_begin_bank(json, f->rows, f->nchannels, 1e6 * f->foff_mhz,
                      (struct time_axis){f->time.first, f->time.step}, &f->sky);
    TRY(source_add_pols(f, json));
    json_end(json);
    return STATUS_OK;
}

static status_t source_open_bank(struct source *s, const char *path, struct external_list external)
{
    TRY(fbh5_open(path, FBH5_BAND, &s->fbh5));
    struct fbh5 *f = s->fbh5;
    TRY(external_check(&f->storage.sources, path, external, EXTERNAL_OPTION));
    TRY(fbh5_reader_create(f, max_u64(CACHE_BYTES, f->chunks.row_bytes), fbh5_unpackers(f, THREADS),
                           &s->reader));
    return REQUIRED(f->rows > 0 && f->nchannels > 0 && f->time.step > 0, STATUS_DATA,
                    "%s: contains no rows to draw", path);
}

/* Opens spectra by a sheet, and describes them as a filterbank. */
static status_t source_open_spectra(struct source *s, struct json *json)
{
    const struct product *p = s->product;
    TRY(sheet_open(s->path, "spectra", &s->spectra));
    REQUIRE(s->spectra && s->spectra->nchannels == p->frequencies &&
                s->spectra->nifs <= UINT32_MAX && p->frequency_hz,
            STATUS_DATA, "%s: /spectra and /frequency do not fit each other", s->path);
    REQUIRE(p->rows > 0 && p->frequencies > 0 && p->time_step > 0, STATUS_DATA,
            "%s: contains no rows to draw", s->path);
    source_begin_bank(json, s->spectra->rows, p->frequencies, 0,
                      (struct time_axis){p->first_time, p->time_step}, &p->sky);
    json_list(json, "pols");
    for (uint64_t i = 0; i < s->spectra->nifs; i++) {
        size_t length = 0;
        const char *name = text_line(p->ifs.pol_names, i, &length);
        json_begin(json, NULL);
        json_bytes(json, "name", name, length);
        json_bool(json, "is_power", 1);
        json_end(json);
    }
    json_list_end(json);
    json_end(json);
    return STATUS_OK;
}

static status_t source_open_series(struct source *s, struct json *json)
{
    TRY(series_open(s->path, &s->series));
    const struct series *series = s->series;
    REQUIRE(series->ndms > 0 && series->samples > 0 && series->header.tsamp > 0, STATUS_DATA,
            "%s: contains no samples to draw", s->path);
    json_begin(json, "series");
    source_add_axes(json, series->ndms, series->samples, series->header.tsamp);
    source_add_origin(json, series->has_start ? &series->start : NULL, series->header.source,
                      series->telescope);
    json_doubles(json, "dms", series->dm, series->ndms);
    json_end(json);
    return STATUS_OK;
}

static void source_add_found(const struct candidates_file *f, struct json *json)
{
    json_list(json, "found");
    for (uint64_t i = 0; i < f->found.count; i++) {
        const struct candidate *c = &f->found.rows[i];
        json_begin(json, NULL);
        json_f64(json, "snr", c->snr);
        json_f64(json, "dm", c->dm);
        json_f64(json, "time_s", c->time_s);
        json_u64(json, "width", c->width);
        json_f64(json, "dm_least", c->dm_least);
        json_f64(json, "dm_most", c->dm_most);
        json_f64(json, "time_first_s", c->time_first_s);
        json_f64(json, "time_last_s", c->time_last_s);
        json_end(json);
    }
    json_list_end(json);
}

/* Puts the path of the filterbank that was searched into `out`. The search has stored it relative
 * to the directory in which it ran: this one, or else the directory of the product or one above it.
 */
static status_t source_find_searched(const struct source *s, struct text *out)
{
    const char *path = s->found->filterbank;
    int is_there = 0;
    SCOPED(free_at) char *real = realpath(s->path, NULL);
    TRY(text_add(out, "%s", path));
    TRY(file_exists(path, &is_there));
    for (char *end = real && *path != '/' ? strrchr(real, '/') : NULL; end && !is_there;
         end = strrchr(real, '/')) {
        *end = '\0';
        out->length = 0;
        TRY(text_add(out, "%s/%s", real, path));
        TRY(file_exists(out->data, &is_there));
        if (is_there) {
            report_note("%s: its filterbank %s is read as %s", s->path, path, out->data);
        }
    }
    if (!is_there) {
        out->length = 0;
        TRY(text_add(out, "%s", path));
    }
    return STATUS_OK;
}

/* The filterbank that was searched may be gone: then a note says why. */
static status_t source_open_searched(struct source *s, struct external_list external,
                                     struct json *json)
{
    SCOPED(text_free) struct text path = {0};
    if (!s->found->filterbank) {
        return STATUS_OK;
    }
    TRY(source_find_searched(s, &path));
    status_t st = source_open_bank(s, path.data, external);
    if (st == STATUS_OK) {
        return source_add_bank(s, json);
    }
    if (st == STATUS_DATA || st == STATUS_USAGE) {
        report_note("%s: no waterfall: %s", path.data, report_cause());
        st = STATUS_OK;
        report_clear();
    }
    json_text(json, "searched", path.data);
    return st;
}

static status_t source_open_candidates(struct source *s, struct external_list external,
                                       struct json *json)
{
    const struct product *p = s->product;
    TRY(candidates_open(s->path, &s->found));
    const struct candidates_file *f = s->found;
    REQUIRE(f->ndms == p->rows && f->ndms > 0, STATUS_DATA, "%s: /dm is not that of /peaks",
            s->path);
    TRY(rows_open(p, &s->peaks));
    json_begin(json, "candidates");
    source_add_axes(json, f->ndms, p->frequencies, f->tsamp);
    json_u64(json, "cell", PEAK_CELL);
    json_f64(json, "first_s", f->first_time);
    json_f64(json, "threshold", f->threshold);
    json_u64(json, "widths", f->widths);
    json_f64(json, "reference_hz", f->reference_hz);
    json_f64(json, "constant", f->constant);
    source_add_origin(json, f->has_start ? &f->start : NULL, f->source, f->telescope);
    json_doubles(json, "dms", f->dms, f->ndms);
    source_add_found(f, json);
    json_end(json);
    return source_open_searched(s, external, json);
}

/* Finds whether the file contains dedispersed series; those of other programs are known by the name
 * of their dataset. */
static status_t source_is_series(const struct source *s, int *out)
{
    SCOPED(sheet_close_at) struct sheet *sheet = NULL;
    status_t st = s->product ? STATUS_OK : sheet_open(s->path, "dedispersed", &sheet);
    *out = sheet || (s->product && s->product->kind == PRODUCT_DEDISPERSED);
    return report_forgive(st);
}

static status_t source_open_product(struct source *s, const struct plot_choice *choice,
                                    struct json *json)
{
    int is_series = 0;
    const struct format *format = NULL;
    /* A filterbank that is no HDF5 is none: its own reader reports errors. */
    TRY(report_forgive(product_open(s->path, &s->product)));
    TRY(s->product ? STATUS_OK : report_forgive(formats_recognise(s->path, &format)));
    TRY(source_is_series(s, &is_series));
    enum product_kind kind = s->product ? s->product->kind : PRODUCT_POWER;
    REQUIRE(!choice->has_candidate || kind == PRODUCT_CANDIDATES, STATUS_USAGE,
            "%s: --candidate is for the output of dedisperse.search", s->path);
    REQUIRE(kind != PRODUCT_VOLTAGES && (!format || format->open_filterbank || is_series),
            STATUS_USAGE,
            "%s: voltages (%s), expected power, spectra or dedispersed series; `voltmill look` "
            "draws voltages",
            s->path, format ? format->name : "a product");
    REQUIRE(kind != PRODUCT_VISIBILITIES, STATUS_USAGE,
            "%s: visibilities, expected power, spectra or dedispersed series: pyuvdata shows them",
            s->path);
    if (is_series) {
        TRY(source_open_series(s, json));
    } else if (kind == PRODUCT_CANDIDATES) {
        TRY(source_open_candidates(s, choice->external, json));
    } else if (kind == PRODUCT_SPECTRA) {
        TRY(source_open_spectra(s, json));
        TRY(source_open_beside(s, json));
    } else {
        TRY(source_open_bank(s, s->path, choice->external));
        TRY(source_add_bank(s, json));
        TRY(source_open_beside(s, json));
    }
    return STATUS_OK;
}

/* With more channels the response, in channels, differs by less than a line is wide. */
enum { ENOUGH_CHANNELS = 4096, MOST_BANKS = 4 };

/* A file of coefficients has as many as complex or as real samples ask for. */
static status_t source_make_filter(const struct job_bank *job, struct prototype_spec *spec,
                                   double **out)
{
    int is_file = job->window.kind == WINDOW_FILE;
    uint32_t channels =
        job->channels > ENOUGH_CHANNELS && !is_file ? ENOUGH_CHANNELS : job->channels;
    TRY(bank_prototype(job, spec));
    spec->channels = spec->samples_per_spectrum = channels;
    TRY(flat_cutoff_settle(spec));
    status_t st = prototype_create(spec, out);
    if (st == STATUS_DATA && is_file) {
        report_clear();
        spec->samples_per_spectrum = 2 * channels;
        st = prototype_create(spec, out);
    }
    return st;
}

/* Adds two lines: the bank, and the effect of its filter on tones. */
static status_t filter_add_words(const struct job_bank *bank, const struct prototype_spec *spec,
                                 const double *coeff, struct text *out)
{
    struct filter_report report;
    char window[UNITS_TEXT];
    char cutoff[UNITS_TEXT];
    TRY(filter_report_make(coeff, spec->taps, spec->samples_per_spectrum, &report));
    TRY(text_add_shown(out, "%s%s%s channels, %u %s, window %s%s\n", bank->name ? bank->name : "",
                       bank->name ? ": " : "", units_count(bank->channels), spec->taps,
                       units_plural(spec->taps, "tap", "taps"),
                       bank->has_window ? bank->window.text : bank_prototype_window(spec, window),
                       bank_prototype_cutoff(spec, bank->cutoff == CUTOFF_FLAT, cutoff)));
    return text_add(out,
                    "a tone between channels loses %.2f dB, beyond 1.5 channels at least %.0f dB;  "
                    "noise width %.3f channels",
                    report.scalloping_db, report.beyond_db, report.noise_width);
}

static status_t filter_add(const struct job_bank *bank, struct json *json)
{
    struct prototype_spec spec;
    SCOPED(text_free) struct text words = {0};
    SCOPED(free_at) double *coeff = NULL;
    TRY(source_make_filter(bank, &spec, &coeff));
    TRY(filter_add_words(bank, &spec, coeff, &words));
    json_begin(json, NULL);
    json_text(json, "name", bank->name);
    json_text(json, "title", words.data);
    json_u64(json, "taps", spec.taps);
    json_u64(json, "samples", spec.samples_per_spectrum);
    json_doubles(json, "coefficients", coeff, (uint64_t)spec.taps * spec.samples_per_spectrum);
    json_end(json);
    return STATUS_OK;
}

/* Several files or a pattern are voltages; an only file is known by its contents. */
static status_t source_open_any(struct source *s, const struct drawing *d, struct json *json)
{
    const struct format *format = NULL;
    int exists = 0;
    TRY(file_exists(s->path, &exists));
    int is_one = d->nfiles == 1 && exists && !d->choice.layout;
    TRY(is_one ? report_forgive(formats_recognise(s->path, &format)) : STATUS_OK);
    if (format && format->open_filterbank) {
        TRY(source_open_bank(s, s->path, d->choice.external));
        return source_add_bank(s, json);
    }
    json_begin(json, "volts");
    TRY(volts_open(d, json, &s->volts));
    json_end(json);
    return STATUS_OK;
}

status_t source_open(const struct drawing *d, struct json *json, struct source **out)
{
    SCOPED(source_close_at) struct source *s = NULL;
    TRY(memory_zeroed(1, sizeof *s, "a picture", &s));
    TRY(memory_aligned(SOURCE_BLOCK, sizeof(float), "samples", &s->scratch));
    if (d->of == PLOT_FILTER) {
        REQUIRE(d->job->nbanks > 0, STATUS_USAGE, "%s: has no filter bank (channelise) to draw",
                d->job->path);
        json_list(json, "filters");
        for (uint32_t i = 0; i < d->job->nbanks && i < MOST_BANKS; i++) {
            TRY(filter_add(&d->job->banks[i], json));
        }
        json_list_end(json);
    } else if (d->of == PLOT_PRODUCT) {
        s->path = d->files[0];
        TRY(source_open_product(s, &d->choice, json));
    } else if (d->of == PLOT_LOOK) {
        s->path = d->files[0];
        TRY(source_open_any(s, d, json));
    }
    *out = memory_move(&s);
    return STATUS_OK;
}

void source_close(struct source *s)
{
    if (s) {
        volts_close(s->volts);
        fbh5_reader_destroy(s->reader);
        fbh5_destroy(s->fbh5);
        rows_close(s->peaks);
        candidates_close(s->found);
        series_destroy(s->series);
        sheet_close(s->spectra);
        for (int i = 0; i < SHEET_BESIDES; i++) {
            sheet_close(s->beside[i]);
        }
        product_destroy(s->product);
        MEMORY_FREE(s->scratch, s);
    }
}

static status_t source_read_bank(struct source *s, const struct source_block *b, float *out)
{
    struct fbh5_block wanted = {b->row, b->rows, b->first_if, b->ifs, b->chan, b->chans};
    uint32_t bytes = s->fbh5->sample_bytes;
    uint64_t count = b->rows * b->ifs * b->chans;
    TRY(fbh5_read(s->reader, &wanted, bytes == sizeof(float) ? (void *)out : s->scratch));
    for (uint64_t i = 0; i < count && bytes < sizeof(float); i++) {
        out[i] = bytes == 1 ? ((const uint8_t *)s->scratch)[i] : ((const uint16_t *)s->scratch)[i];
    }
    return STATUS_OK;
}

/* Reads a block from a sheet, one polarisation at a time, and interleaves their rows in `out`. */
static status_t source_read_sheet(struct source *s, const struct sheet *sheet,
                                  const struct source_block *b, float *out)
{
    const float *one = s->scratch;
    for (uint64_t i = 0; i < b->ifs; i++) {
        TRY(sheet_read(sheet, b->row, b->rows, b->first_if + i, b->chan, b->chans, s->scratch));
        for (uint64_t r = 0; r < b->rows; r++) {
            memcpy(out + (r * b->ifs + i) * b->chans, one + r * b->chans,
                   (size_t)b->chans * sizeof *out);
        }
    }
    return STATUS_OK;
}

static const struct sheet *source_sheet(const struct source *s, const char *set)
{
    for (int i = 0; i < SHEET_BESIDES; i++) {
        if (strcmp(set, sheet_beside(i)) == 0) {
            return s->beside[i];
        }
    }
    return strcmp(set, "bank") == 0 ? s->spectra : NULL;
}

static status_t source_read_set(struct source *s, const struct source_block *b, void *out)
{
    const struct sheet *sheet = source_sheet(s, b->set);
    if (sheet) {
        TRY(source_read_sheet(s, sheet, b, out));
    } else if (s->reader && strcmp(b->set, "bank") == 0) {
        TRY(source_read_bank(s, b, out));
    } else if (s->volts && strcmp(b->set, "volts") == 0) {
        TRY(volts_read(s->volts, b, out));
    } else if (strcmp(b->set, "frequency") == 0) {
        const double *hz = s->fbh5 ? s->fbh5->freq_hz : s->product->frequency_hz;
        memcpy(out, hz + b->chan, (size_t)b->chans * sizeof *hz);
    } else if (s->series && strcmp(b->set, "series") == 0) {
        TRY(series_read(s->series, b->row, b->chan, b->chans, out));
    } else if (s->peaks && strcmp(b->set, "peaks") == 0) {
        TRY(rows_read(s->peaks, b->row, b->rows, b->chan, b->chans, out));
    } else {
        return report_fail(STATUS_DEVICE, "a picture needs \"%s\", which is not open", b->set);
    }
    return STATUS_OK;
}

status_t source_read(struct source *s, const struct source_block *b, struct text *out)
{
    SCOPED(free_at) void *numbers = NULL;
    size_t bytes = strcmp(b->set, "peaks") == 0       ? 1
                   : strcmp(b->set, "frequency") == 0 ? sizeof(double)
                                                      : sizeof(float);
    size_t count = (size_t)(b->rows * b->ifs * b->chans);
    REQUIRE(b->rows <= SOURCE_BLOCK && b->ifs <= SOURCE_BLOCK && b->chans <= 4 * SOURCE_BLOCK &&
                count * bytes <= SOURCE_BLOCK * sizeof(float),
            STATUS_DEVICE, "a picture needs more than %d numbers at once", (int)SOURCE_BLOCK);
    TRY(memory_aligned(count, bytes, "samples", &numbers));
    TRY(source_read_set(s, b, numbers));
    return text_add_bytes(out, numbers, count * bytes);
}
