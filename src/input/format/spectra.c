/* Our own product of kind `spectra` as an archive: each channel of the filter bank that made it is
 * a coarse channel, each spectrum a sample. docs/products.md has the layout,
 * product/kind/bank_kind.c writes it. */
#include "base/memory.h"
#include "base/terms.h"
#include "input/archive.h"
#include "input/format/fields.h"
#include "input/format/formats.h"
#include "input/format/said.h"
#include "input/read/numbers.h"
#include "io/hdf5/h5.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that weigh too little, column by column of the weights; a piece of rows at a time. */

/* Gaps of columns, which are what `stream` counts until all are known. */
struct column_gaps {
    uint64_t columns;
    struct archive_gap *gaps;
    size_t count;
    uint64_t *begins; /* [columns] of the gap that a column is in; UINT64_MAX: in none */
};

enum { MOST_GAPS = 1 << 24 };

static status_t column_gaps_end(struct column_gaps *g, uint64_t column, uint64_t row)
{
    TRY(memory_grown(g->count + 1, sizeof *g->gaps, "gaps", &g->gaps));
    g->gaps[g->count++] = (struct archive_gap){
        .stream = column, .first = g->begins[column], .count = row - g->begins[column]};
    g->begins[column] = UINT64_MAX;
    return STATUS_OK;
}

/* Gaps that begin or end in these rows; after the last one all end. */
static status_t column_gaps_add(struct column_gaps *g, const float *weights, uint64_t first,
                                uint64_t rows, double least)
{
    for (uint64_t row = 0; row < rows; row++) {
        for (uint64_t c = 0; c < g->columns; c++) {
            const float weight = weights[row * g->columns + c];
            const int is_lost = !(weight >= (float)least && weight > 0);
            if (is_lost && g->begins[c] == UINT64_MAX) {
                g->begins[c] = first + row;
            } else if (!is_lost && g->begins[c] != UINT64_MAX) {
                TRY(column_gaps_end(g, c, first + row));
            }
        }
    }
    return STATUS_OK;
}

static status_t spectra_read_columns(const struct fields *f, const struct h5_dataset *weights,
                                     double least, struct column_gaps *g)
{
    enum { PIECE = 1 << 20 }; /* numbers */
    SCOPED(free_at) float *numbers = NULL;
    const hsize_t most = max_u64(1, PIECE / max_u64(1, g->columns));
    TRY(memory_zeroed((size_t)(most * g->columns), sizeof *numbers, "weights", &numbers));
    for (hsize_t at = 0; at < weights->dims[0]; at += most) {
        const hsize_t start[3] = {at, 0, 0};
        const hsize_t size[3] = {min_u64(most, weights->dims[0] - at), weights->dims[1],
                                 weights->dims[2]};
        TRY(h5_dataset_read_part(weights, start, size, H5T_NATIVE_FLOAT, numbers, "%s: /weights",
                                 f->path));
        TRY(column_gaps_add(g, numbers, at, size[0], least));
    }
    for (uint64_t c = 0; c < g->columns; c++) {
        TRY(g->begins[c] != UINT64_MAX ? column_gaps_end(g, c, weights->dims[0]) : STATUS_OK);
    }
    return STATUS_OK;
}

/* Whether all columns lack the same rows; gaps are sorted. */
static int column_gaps_are_common(const struct column_gaps *g)
{
    const size_t each = g->count / (size_t)g->columns;
    int are_common = g->count % g->columns == 0;
    for (size_t i = 0; are_common && i < g->count; i++) {
        const struct archive_gap *first = &g->gaps[i % each];
        are_common = g->gaps[i].stream == i / each && g->gaps[i].first == first->first &&
                     g->gaps[i].count == first->count;
    }
    return are_common;
}

static status_t spectra_keep_common(const struct column_gaps *g, struct archive *archive)
{
    const size_t each = g->count / (size_t)g->columns;
    for (size_t i = 0; i < each; i++) {
        TRY(archive_add_gap(archive, g->gaps[i].first, g->gaps[i].count));
    }
    return STATUS_OK;
}

/* Keeps gaps of columns as gaps of each of their channels. */
static status_t spectra_keep_streams(const struct column_gaps *g, uint64_t coarse,
                                     uint64_t channels, uint64_t first_channel,
                                     struct archive *archive)
{
    const uint64_t frequencies = archive->count[AXIS_CHAN];
    size_t count = 0;
    uint64_t most = 0;
    REQUIRE(multiply_u64(g->count, min_u64(channels, frequencies), &most) && most <= MOST_GAPS,
            STATUS_DATA, "%s: %zu gaps of single coarse channels, expected at most %d of channels",
            archive->parts[0].path, g->count, MOST_GAPS);
    TRY(memory_zeroed((size_t)most, sizeof *archive->losses.stream_gaps, "gaps",
                      &archive->losses.stream_gaps));
    for (size_t i = 0; i < g->count; i++) {
        const uint64_t begin = g->gaps[i].stream % coarse * channels;
        for (uint64_t c = max_u64(begin, first_channel);
             c < min_u64(begin + channels, first_channel + frequencies); c++) {
            archive->losses.stream_gaps[count] = g->gaps[i];
            archive->losses.stream_gaps[count++].stream =
                g->gaps[i].stream / coarse * frequencies + c - first_channel;
        }
    }
    archive->losses.nstream_gaps = count;
    archive_gaps_sort(archive->losses.stream_gaps, count);
    return STATUS_OK;
}

SCOPED_CALLS(column_gaps_free, struct column_gaps, MEMORY_FREE(at->gaps, at->begins))

/* Fills gaps, or stream_gaps, from /weights, float [rows][ifs][coarse channels], where the file has
 * it: a row weighs too little, so it is NaN. Frequency number j is channel first_channel + j of
 * those that the bank made, `channels` of each coarse channel. Fails with DATA: it does not fit
 * /spectra, or cannot be read. */
static status_t spectra_read_gaps(const struct fields *f, uint64_t channels, uint64_t first_channel,
                                  struct archive *archive)
{
    SCOPED(h5_dataset_close) struct h5_dataset weights = {0};
    SCOPED(column_gaps_free) struct column_gaps g = {.columns = 0};
    double least = 0;
    int is_there = 0;
    const uint64_t ifs = max_u64(1, archive->count[AXIS_STATION]) *
                         max_u64(1, archive->count[AXIS_BEAM]) *
                         max_u64(1, archive->count[AXIS_POL]);
    TRY(h5_has(f->file, f->path, "weights", &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(fields_require_whole(f, "weights"));
    TRY(fields_need_f64(f, "weights", "min_weight", &least));
    TRY(h5_dataset_open(f->file, f->path, "/weights", &weights));
    REQUIRE(weights.rank == 3 && weights.dims[0] == archive->parts[0].samples &&
                weights.dims[1] == ifs && weights.dims[2] > 0 &&
                weights.dims[2] >=
                    ceil_div_u64(first_channel + archive->count[AXIS_CHAN], channels),
            STATUS_DATA,
            "%s: /weights does not fit the rows, polarisations and channels of /spectra", f->path);
    g.columns = weights.dims[1] * weights.dims[2];
    TRY(memory_zeroed((size_t)g.columns, sizeof *g.begins, "gaps", &g.begins));
    memset(g.begins, 0xff, (size_t)g.columns * sizeof *g.begins);
    TRY(spectra_read_columns(f, &weights, least, &g));
    if (g.count == 0) {
        return STATUS_OK;
    }
    archive_gaps_sort(g.gaps, g.count);
    return column_gaps_are_common(&g)
               ? spectra_keep_common(&g, archive)
               : spectra_keep_streams(&g, weights.dims[2], channels, first_channel, archive);
}

/* Attributes of the bank on the root. */
struct spectra_said {
    int64_t channels, taps, integrate, first_channel, average;
    int64_t hop; /* samples between spectra */
    double sample_rate_hz, first_time;
    int is_real, is_fft_order;
    int is_reversed; /* frequency falls with phase rotation in its channels */
};

static status_t spectra_need_text(const struct fields *f, const char *object, const char *name,
                                  char **out)
{
    TRY(fields_text(f, object, name, out, NULL));
    return REQUIRED(*out, STATUS_DATA, "%s: %s has no attribute %s, expected in %s", f->path,
                    object, name, f->format);
}

/* Reads the domain of the bank's input. Complex samples of sideband -1 were conjugated, the band of
 * real ones was turned round, but not in the order of the transform. */
static status_t spectra_read_domain(const struct fields *f, struct spectra_said *out)
{
    SCOPED(free_at) char *domain = NULL;
    SCOPED(free_at) char *order = NULL;
    int64_t sideband = 0;
    TRY(spectra_need_text(f, "/", "domain", &domain));
    TRY(spectra_need_text(f, "/", "order", &order));
    TRY(fields_need_i64(f, "/", "sideband", &sideband));
    out->is_real = strcmp(domain, "real") == 0;
    REQUIRE(out->is_real || strcmp(domain, "complex") == 0, STATUS_DATA,
            "%s: domain is %s, expected complex or real", f->path, domain);
    out->is_fft_order = strcmp(order, order_name(ORDER_FFT)) == 0;
    REQUIRE(out->is_fft_order || strcmp(order, order_name(ORDER_ASCENDING)) == 0, STATUS_DATA,
            "%s: order is %s, expected %s or %s", f->path, order, order_name(ORDER_ASCENDING),
            order_name(ORDER_FFT));
    out->is_reversed = out->is_real && sideband == -1 && out->is_fft_order;
    return STATUS_OK;
}

/* Samples in a raw spectrum. */
static int64_t spectra_points(const struct spectra_said *said)
{
    return said->channels * (said->is_real ? 2 : 1);
}

static status_t spectra_read_root(struct fields *f, struct spectra_said *out)
{
    enum { MOST_CHANNELS = 1 << 30, MOST_TAPS = 1 << 24 }; /* as a job may have */
    *out = (struct spectra_said){.average = 1};
    TRY(fields_need_i64(f, "/", "channels", &out->channels));
    TRY(fields_need_i64(f, "/", "taps", &out->taps));
    TRY(fields_need_i64(f, "/", "integrate", &out->integrate));
    TRY(fields_need_f64(f, "/", "sample_rate_hz", &out->sample_rate_hz));
    TRY(fields_need_f64(f, "/", "first_time", &out->first_time));
    TRY(fields_i64(f, "/", "first_channel", &out->first_channel, NULL));
    TRY(fields_i64(f, "/", "average", &out->average, NULL));
    TRY(spectra_read_domain(f, out));
    REQUIRE(out->channels > 0 && out->channels <= MOST_CHANNELS && out->taps > 0 &&
                out->taps <= MOST_TAPS,
            STATUS_DATA, "%s: a filter bank of %" PRId64 " channels and %" PRId64 " taps", f->path,
            out->channels, out->taps);
    TRY(fields_set_oversampling(f, "/", f->path));
    const struct ratio ratio = f->own.oversample;
    REQUIRE(spectra_points(out) * ratio.den % ratio.num == 0, STATUS_DATA,
            "%s: %" PRId64 " channels whose spectra come %u/%u as often as they are apart have no "
            "whole number of samples between spectra",
            f->path, out->channels, ratio.num, ratio.den);
    out->hop = spectra_points(out) * ratio.den / ratio.num;
    REQUIRE(out->integrate == 1 && out->average == 1, STATUS_DATA,
            "%s: integrate is %" PRId64 ", average %" PRId64
            ": spectra that were added up are no voltages",
            f->path, out->integrate, out->average);
    REQUIRE(isfinite(out->first_time) && fabs(out->first_time) < 1e12 && out->first_channel >= 0,
            STATUS_DATA, "%s: first_time is %g, first_channel %" PRId64, f->path, out->first_time,
            out->first_channel);
    return fields_check_rate(f, out->sample_rate_hz);
}

static const char *spectra_domain(const struct spectra_said *said)
{
    return said->is_real ? "real" : "complex";
}

/* Returns the sample rate of a channel's stream: one sample every hop. */
static double spectra_rate(const struct spectra_said *said)
{
    return said->sample_rate_hz / (double)said->hop;
}

/* Checks the step of /time, which follows from the bank, too. */
static status_t spectra_check_step(const struct fields *f, const struct spectra_said *said)
{
    const double expected = 1 / spectra_rate(said);
    double step = expected;
    TRY(fields_f64(f, "/", "time_step", &step, NULL));
    return REQUIRED(
        fabs(step - expected) <= 1e-9 * expected, STATUS_DATA,
        "%s: time_step is %.12g s, but sample_rate_hz %.17g and a spectrum every %" PRId64
        " samples of domain %s make %.12g s: input.layout.sample_rate_hz says the rate of a "
        "channel",
        f->path, step, said->sample_rate_hz, said->hop, spectra_domain(said), expected);
}

/* Frequencies, which rate, number of channels and order of the bank state as well. Neighbours are
 * as far apart as they are wide; coarse channels may have gaps between them. */
static status_t spectra_check_frequencies(const struct fields *f, const struct spectra_said *said)
{
    const double *freq_hz = f->own.freq.hz;
    const size_t count = f->own.freq.count;
    const double width = said->sample_rate_hz / (double)spectra_points(said);
    const int is_whole = said->first_channel == 0 && count % (size_t)said->channels == 0;
    const int has_neighbours = said->channels >= 4 && count >= 3;
    double least = INFINITY;
    double most = 0;
    int is_ascending = 1;
    for (size_t i = 1; i < count; i++) {
        least = fmin(least, fabs(freq_hz[i] - freq_hz[i - 1]));
        most = fmax(most, fabs(freq_hz[i]));
        is_ascending = is_ascending && freq_hz[i] > freq_hz[i - 1];
    }
    const double rounding = 1e-6 * width + 1e-15 * most;
    REQUIRE(count < 2 ||
                (least >= width - rounding && (!has_neighbours || least <= width + rounding)),
            STATUS_DATA,
            "%s: /frequency has channels %.10g Hz apart, but sample_rate_hz %.17g, channels "
            "%" PRId64 " and domain %s make %.10g Hz: input.layout.freq_hz says what is right",
            f->path, least, said->sample_rate_hz, said->channels, spectra_domain(said), width);
    return REQUIRED(said->is_fft_order ? said->is_real || !is_whole || !is_ascending : is_ascending,
                    STATUS_DATA,
                    "%s: order is %s, but /frequency %s: input.layout.freq_hz says what is right",
                    f->path, order_name(said->is_fft_order ? ORDER_FFT : ORDER_ASCENDING),
                    is_ascending ? "ascends" : "does not ascend");
}

/* Sample 0 is spectrum 0, taken at the centre of what it is made of. */
static status_t spectra_read_start(struct fields *f, const struct spectra_said *said)
{
    int64_t day = 0;
    double second = 0;
    int has_second = 0;
    TRY(fields_i64(f, "/", "start_mjd_day", &day, &f->own.time.has_start));
    TRY(fields_f64(f, "/", "start_second", &second, &has_second));
    REQUIRE(f->own.time.has_start == has_second && day >= 0 && day < 1000000 && second >= 0 &&
                second < 86401,
            STATUS_DATA, "%s: start_mjd_day is %" PRId64 ", start_second %.17g, expected a date",
            f->path, day, second);
    f->own.time.start = utc_add((struct utc){(int32_t)day, second}, said->first_time);
    return fields_check_scale(f);
}

/* Compares the first and last of /time with first_time and the step: copies of some rows, made by
 * other programs, keep the attributes of all. */
static status_t spectra_check_times(const struct fields *f, const struct spectra_said *said,
                                    uint64_t rows)
{
    SCOPED(h5_dataset_close) struct h5_dataset time = {0};
    const double step = 1 / spectra_rate(said);
    const double last = said->first_time + (double)(rows - 1) * step;
    const hsize_t places[2] = {0, rows - 1};
    const hsize_t one = 1;
    double found[2];
    int is_there = 0;
    TRY(h5_has(f->file, f->path, "time", &is_there));
    if (!is_there) {
        return STATUS_OK;
    }
    TRY(fields_require_whole(f, "time"));
    TRY(h5_dataset_open(f->file, f->path, "/time", &time));
    REQUIRE(time.rank == 1 && time.count == rows, STATUS_DATA,
            "%s: /time has %" PRIu64 " numbers, but /spectra %" PRIu64 " rows", f->path, time.count,
            rows);
    for (int i = 0; i < 2; i++) {
        TRY(h5_dataset_read_part(&time, &places[i], &one, H5T_NATIVE_DOUBLE, &found[i], "%s: /time",
                                 f->path));
    }
    return REQUIRED(
        fabs(found[0] - said->first_time) <= 0.1 * step && fabs(found[1] - last) <= 0.1 * step,
        STATUS_DATA,
        "%s: /time goes from %.12g to %.12g s, but first_time %.12g and a spectrum every "
        "%.12g s make %.12g to %.12g s: is it a copy of some rows? input.select takes them "
        "from the product itself",
        f->path, found[0], found[1], said->first_time, step, said->first_time, last);
}

/* "time,pol,frequency": frequencies are what coarse channels are here. */
static status_t spectra_read_axes(struct fields *f)
{
    static const char last[] = ",frequency";
    SCOPED(free_at) char *axes = NULL;
    TRY(spectra_need_text(f, "spectra", "axes", &axes));
    size_t length = strlen(axes);
    REQUIRE(length > strlen(last) && strcmp(axes + length - strlen(last), last) == 0, STATUS_DATA,
            "%s: the axes of /spectra are %s, expected frequency as the last", f->path, axes);
    TRY(memory_format(&f->own.axes, "%.*s,chan", (int)(length - strlen(last)), axes));
    return memory_text("spectra", &f->own.dataset);
}

static status_t spectra_read_names(const struct fields *f, enum axis axis, struct archive *archive)
{
    size_t count = 0;
    int found = 0;
    TRY(h5_has(f->file, f->path, axis_name(axis), &found));
    if (found) {
        TRY(fields_require_whole(f, axis_name(axis)));
        TRY(h5_read_texts(f->file, f->path, axis_name(axis), &archive->names[axis], &count));
        archive->count[axis] = count;
    }
    return STATUS_OK;
}

/* Reads the attributes of voltages that were dedispersed coherently before. */
static status_t spectra_read_coherent(const struct fields *f, struct archive *archive)
{
    struct coherent *coherent = &archive->coherent;
    size_t count = 0;
    int found = 0;
    TRY(fields_f64(f, "/", "coherent_dm", &coherent->dm, &found));
    if (!found) {
        return STATUS_OK;
    }
    TRY(fields_need_f64(f, "/", "coherent_constant", &coherent->constant));
    TRY(fields_f64s(f, "delay_hz", NULL, &coherent->delay_hz, &count));
    return REQUIRED(count == archive->count[AXIS_CHAN], STATUS_DATA,
                    "%s: /delay_hz contains %zu frequencies, expected one for each of %" PRIu64
                    " channels",
                    f->path, count, archive->count[AXIS_CHAN]);
}

/* Few bits: what 1 of a number is, in each block of rows, for each channel. */
static status_t spectra_read_steps(const struct fields *f, struct archive *archive)
{
    enum { MOST_STEPS = 1 << 24 };
    static const char *const names[] = {"scale", "offset", NULL};
    struct archive_part *part = &archive->parts[0];
    uint64_t lines = 1; /* of a time step */
    hsize_t dims[3];
    SCOPED(free_at) double *offset = NULL;
    int64_t rows = 0;
    int64_t blank = 0;
    size_t count = 0;
    int is_there = 0;
    if (archive->format == SAMPLE_F32) {
        return STATUS_OK;
    }
    TRY(fields_have(f->path, names, &is_there));
    REQUIRE(is_there, STATUS_DATA,
            "%s: /spectra has numbers in few bits, expected /scale and /offset, which say what "
            "they stand for",
            f->path);
    TRY(fields_need_i64(f, "spectra", "scale_rows", &rows));
    TRY(fields_need_i64(f, "spectra", "blank_value", &blank));
    TRY(fields_shape(f, "scale", 3, dims));
    for (uint32_t i = 0; i < archive->shape.ndims; i++) {
        lines *= archive->shape.dims[i].axis == AXIS_TIME ? 1 : archive->shape.dims[i].size;
    }
    REQUIRE(rows > 0 && rows <= TERMS_MOST_SCALE_ROWS && dims[1] > 0 && dims[2] > 0 &&
                lines % dims[2] == 0 && lines / dims[2] == dims[1] &&
                (dims[0] == 1 || dims[0] == ceil_div_u64(part->samples, (uint64_t)rows)),
            STATUS_DATA, "%s: /scale does not fit the rows, polarisations and channels of /spectra",
            f->path);
    REQUIRE(dims[0] <= MOST_STEPS / lines || dims[0] == 1, STATUS_DATA,
            "%s: %" PRIu64 " scales of spectra in few bits, expected at most %d: with scales: "
            "first any number of rows has one block",
            f->path, (uint64_t)dims[0] * lines, MOST_STEPS);
    TRY(fields_f64s(f, "scale", NULL, &part->steps, &count));
    for (size_t i = 0; i < count; i++) {
        REQUIRE(isfinite(part->steps[i]) && part->steps[i] > 0, STATUS_DATA,
                "%s: /scale contains %g, expected numbers above 0", f->path, part->steps[i]);
    }
    part->nsteps = count;
    part->step_rows = (uint64_t)rows;
    TRY(fields_f64s(f, "offset", NULL, &offset, &count));
    REQUIRE(count == part->nsteps, STATUS_DATA, "%s: /offset contains %zu numbers, /scale %zu",
            f->path, count, part->nsteps);
    for (size_t i = 0; i < count; i++) {
        REQUIRE(offset[i] == 0, STATUS_DATA, "%s: /offset contains %g, expected 0 for spectra",
                f->path, offset[i]);
    }
    return numbers_settle_steps(archive, (int32_t)blank);
}

/* Notes the channels of the spectra, and the filter that made them. */
static status_t spectra_note_bank(const struct fields *f, const struct spectra_said *said,
                                  struct archive *archive)
{
    enum { MOST_COEFFICIENTS = 1 << 22 };
    const int64_t points = spectra_points(said);
    size_t count = 0;
    archive->bank = (struct archive_bank){.channels = (uint32_t)said->channels,
                                          .taps = (uint32_t)said->taps,
                                          .first_channel = (uint64_t)said->first_channel,
                                          .is_real = said->is_real,
                                          .is_fft_order = said->is_fft_order};
    if (points * said->taps <= MOST_COEFFICIENTS) {
        TRY(fields_f64s(f, "coefficients", NULL, &archive->bank.prototype, &count));
        archive->bank.nprototype = count;
        REQUIRE(count == (size_t)(points * said->taps), STATUS_DATA,
                "%s: /coefficients contains %zu numbers, expected %" PRId64 " for each of %" PRId64
                " taps, as channels %" PRId64 " and domain %s say",
                f->path, count, points, said->taps, said->channels, spectra_domain(said));
    }
    return STATUS_OK;
}

static status_t spectra_read(struct fields *f, void *context)
{
    struct archive *archive = f->archive;
    struct job_layout_sky *sky = &f->own.sky;
    struct spectra_said said;
    (void)context;
    TRY(spectra_read_root(f, &said));
    f->own.has_sideband = 1;
    f->own.sideband = said.is_reversed ? -1 : 1;
    f->own.time.has_sample_rate = 1;
    f->own.time.sample_rate_hz = spectra_rate(&said);
    TRY(spectra_read_start(f, &said));
    TRY(spectra_read_axes(f));
    TRY(fields_set_frequencies(f, "frequency", NULL));
    if (!override_has_rate(f->layout)) {
        TRY(spectra_check_step(f, &said));
        TRY(override_has_frequencies(f->layout) ? STATUS_OK : spectra_check_frequencies(f, &said));
    }
    TRY(fields_text(f, "/", "telescope", &sky->telescope, NULL));
    TRY(fields_text(f, "/", "source", &sky->source, NULL));
    TRY(fields_f64(f, "/", "ra_deg", &sky->ra_deg, &sky->has_ra));
    TRY(fields_f64(f, "/", "dec_deg", &sky->dec_deg, &sky->has_dec));
    TRY(spectra_read_names(f, AXIS_STATION, archive));
    TRY(spectra_read_names(f, AXIS_POL, archive));
    TRY(fields_describe(f, "spectra"));
    TRY(override_has_rate(f->layout) ? STATUS_OK
                                     : spectra_check_times(f, &said, archive->parts[0].samples));
    TRY(spectra_read_steps(f, archive));
    TRY(spectra_note_bank(f, &said, archive));
    TRY(spectra_read_gaps(f, (uint64_t)said.channels, (uint64_t)said.first_channel, archive));
    TRY(spectra_read_coherent(f, archive));
    return assumed_read(f->file, f->path, &archive->assumed);
}

const struct format spectra_format = {
    .name = "spectra",
    .title = "complex spectra of voltmill",
    .is_product = 1,
    .shows = {"spectra", "coefficients", "@channels", "@taps", "@format=spectra"},
    .read = spectra_read};
