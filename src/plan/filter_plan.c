/* From what a job says of filters to stages, their reach, and the voltages behind each. */
#include "plan/filter_plan.h"

#include "base/memory.h"
#include "base/units.h"
#include "dsp/dispersion/dispersion.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STRIDE = 16 /* rows: 64 bytes of the smallest */ };

uint32_t filter_plan_count(const struct filter_plan *plan)
{
    return plan->count + (plan->synthesis ? 1 : 0);
}

/* The filter that is stage i; NULL: the synthesis. */
static const struct filter_plan_stage *filter_plan_stage_at(const struct filter_plan *plan,
                                                            uint32_t i)
{
    return !plan->synthesis ? &plan->stages[i] : i > 0 ? &plan->stages[i - 1] : NULL;
}

static const struct archive *filter_plan_seen_at(const struct filter_plan *plan, uint32_t i)
{
    const struct filter_plan_stage *stage = filter_plan_stage_at(plan, i);
    return stage ? &stage->seen : &plan->synthesis->seen;
}

uint32_t filter_plan_row_bytes(const struct filter_plan *plan, uint32_t i)
{
    return sample_bytes(SAMPLE_F32, filter_plan_seen_at(plan, i)->is_complex);
}

const struct sample_coding *filter_plan_coding(const struct filter_plan *plan)
{
    return plan->synthesis ? &plan->synthesis->spec.coding : &plan->stages[0].spec.coding;
}

uint32_t filter_plan_fan(const struct filter_plan *plan)
{
    return plan && plan->synthesis ? plan->synthesis->bank.channels : 1;
}

uint64_t filter_plan_stride(uint64_t rows)
{
    return ceil_div_u64(rows, STRIDE) * STRIDE;
}

const struct archive *filter_plan_seen(const struct filter_plan *plan)
{
    return filter_plan_seen_at(plan, filter_plan_count(plan) - 1);
}

/* What is the same whatever the filter is made of. */
static void filter_plan_begin_stage(const struct archive *in, int is_made, uint32_t decimate,
                                    struct filter_plan_stage *stage)
{
    stage->spec.coding = (struct sample_coding){.format = in->format,
                                                .is_complex = in->is_complex,
                                                .nibbles = in->stored.nibbles,
                                                .conjugate = in->is_complex && in->sideband < 0,
                                                .has_missing_value = in->stored.has_missing_value,
                                                .missing_value = in->stored.missing_value,
                                                .is_made = is_made};
    stage->spec.decimate = decimate;
    stage->spec.nstreams = in->nstreams;
}

static struct sky_band filter_plan_band(const struct archive *in)
{
    return (struct sky_band){.sample_rate_hz = in->sample_rate_hz,
                             .is_complex = in->is_complex,
                             .sideband = in->is_complex ? 1 : in->sideband,
                             .oversample = {in->oversample.num, in->oversample.den}};
}

/* The coefficients of filter `number`, or one that changes nothing, scaled to volts. */
static status_t filter_plan_make_coefficients(const struct job *job, uint32_t number,
                                              const struct archive *in,
                                              struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    struct filter_coefficients *made = &stage->made;
    double *centres = NULL;
    uint32_t count = in->nselected[AXIS_CHAN];
    struct sky_band band = filter_plan_band(in);
    TRY(memory_zeroed(count, sizeof *centres, "frequencies", &centres));
    for (uint32_t i = 0; i < count && in->freq_hz; i++) {
        centres[i] = in->freq_hz[in->selected[AXIS_CHAN][i]];
    }
    band.centre_hz = centres;
    band.ncentres = count;
    if (job->nfilters > 0) {
        TRY(filter_coefficients_make(job, number, &band, made));
    } else {
        TRY(memory_zeroed(1, sizeof *made->coeff, "a coefficient", &made->coeff));
        made->coeff[0] = 1;
        made->taps = 1;
    }
    for (size_t i = 0; i < (size_t)made->taps * (made->is_complex ? 2 : 1); i++) {
        made->coeff[i] *= in->scale;
    }
    stage->spec.coeff = made->coeff;
    stage->spec.is_complex_coeff = made->is_complex;
    stage->spec.taps = made->taps;
    stage->spec.first = 1 - (int64_t)made->taps;
    stage->delay = job->nfilters > 0 && job->filters[number].keeps_delay ? 0 : made->delay;
    stage->spec.is_complex_out = made->is_complex || in->is_complex;
out:
    free(centres);
    return st;
}

/* Of what undoes the telescope's filter bank, at frequency k / length. */
static double filter_plan_deripple_gain(const struct filter_plan_stage *stage, uint64_t k,
                                        uint32_t length)
{
    if (!stage->deripple.half) {
        return 1;
    }
    return length == stage->spec.choice.shape.length && stage->deripple_table
               ? stage->deripple_table[k]
               : deripple_response(&stage->deripple, (double)k / length);
}

/* Many responses take it at the same frequencies. */
static status_t filter_plan_fill_table(struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    const uint32_t length = stage->spec.choice.shape.length;
    if (!stage->deripple.half || length == 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(length / 2 + 1, sizeof *stage->deripple_table, "a response",
                      &stage->deripple_table));
    for (uint32_t k = 0; k <= length / 2; k++) {
        stage->deripple_table[k] = deripple_response(&stage->deripple, (double)k / length);
    }
out:
    return st;
}

static void filter_plan_respond(const void *context, uint32_t which, uint32_t length,
                                double (*out)[2])
{
    const struct filter_plan_stage *stage = context;
    chirp_response(&stage->chirps[which], length, out);
    for (uint32_t k = 0; k < length && (stage->scale != 1 || stage->deripple.half); k++) {
        const double gain =
            stage->scale * filter_plan_deripple_gain(stage, min_u64(k, length - k), length);
        out[k][0] *= gain;
        out[k][1] *= gain;
    }
}

/* Takes the delays of a chirp's components, less its shift. */
static void filter_plan_widen(const struct chirp *chirp, double *least, double *most)
{
    double low;
    double high;
    chirp_delays(chirp, &low, &high);
    *least = fmin(*least, low - (double)chirp->shift);
    *most = fmax(*most, high - (double)chirp->shift);
}

/* A chirp for each selected coarse channel. Where they refer to one frequency, rows are numbered so
 * that the channel with the least delay has none: no row's number is below that of its samples. */
static status_t filter_plan_make_chirps(const struct job *job, uint32_t number,
                                        const struct archive *in, struct overlap_rows rows,
                                        struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    const struct job_filter *filter = &job->filters[number];
    const struct job_filter_dispersion *dispersion = &filter->dispersion;
    uint32_t count = in->nselected[AXIS_CHAN];
    int is_common = dispersion->reference_hz > 0;
    int64_t first = INT64_MAX; /* of all shifts */
    double least = INFINITY;   /* delays */
    double most = -INFINITY;
    double constant = dispersion_default_constant;
    REQUIRE(in->freq_hz && in->freq_hz[in->selected[AXIS_CHAN][0]] != 0, STATUS_USAGE,
            "%s: filter: dispersion needs the frequencies of the coarse channels, which the "
            "archive does not say (input.layout.freq_hz sets them)",
            job->path);
    REQUIRE(!dispersion->constant || dispersion_constant(dispersion->constant, &constant),
            STATUS_USAGE, "%s: filter: dispersion.constant is no constant: %s", job->path,
            dispersion->constant);
    TRY(memory_zeroed(count, sizeof *stage->chirps, "chirps", &stage->chirps));
    TRY(memory_zeroed(in->nstreams, sizeof *stage->response_of, "chirps", &stage->response_of));
    TRY(memory_zeroed(in->nstreams, sizeof *stage->shift, "chirps", &stage->shift));
    for (uint32_t i = 0; i < count; i++) {
        double centre = in->freq_hz[in->selected[AXIS_CHAN][i]];
        struct chirp *chirp = &stage->chirps[i];
        *chirp = (struct chirp){.dm = fabs(dispersion->dm),
                                .is_inverse = dispersion->dm < 0,
                                .constant = constant,
                                .centre_hz = centre,
                                .reference_hz = is_common ? dispersion->reference_hz : centre,
                                .sample_rate_hz = in->sample_rate_hz,
                                .is_complex = in->is_complex,
                                .sideband = in->is_complex ? 1 : in->sideband};
        TRY(chirp_check(chirp));
        chirp->shift = is_common ? chirp_shift(chirp) : 0;
        first = chirp->shift < first ? chirp->shift : first;
        filter_plan_widen(chirp, &least, &most);
        if (dispersion->span > 0) {
            struct chirp span = *chirp;
            span.dm = dispersion->span;
            TRY(chirp_check(&span));
            filter_plan_widen(&span, &least, &most);
        }
    }
    for (uint32_t s = 0; s < in->nstreams; s++) {
        /* The coarse channel is the fastest axis of streams (archive_stream_axes). */
        stage->response_of[s] = s % count;
        stage->shift[s] = stage->chirps[s % count].shift - first;
    }
    stage->delay = (double)first;
    stage->scale = in->scale;
    stage->spec.nresponses = count;
    stage->spec.response = filter_plan_respond;
    stage->spec.context = stage;
    stage->spec.response_of = stage->response_of;
    stage->spec.shift = is_common ? stage->shift : NULL;
    stage->spec.is_complex_out = in->is_complex;
    /* Before chirp_reach(), which says how long filters can be, not what there is. */
    REQUIRE(filter->is_padded || most - least < (double)(rows.end - rows.first), STATUS_USAGE,
            "%s: filter.%u: its chirp spans %.0f samples, but there are only %" PRId64, job->path,
            number, ceil(most - least), rows.end - rows.first);
    TRY(chirp_reach(least, most, &stage->spec.first, &stage->spec.taps));
    if (dispersion->deripple.prototype) {
        const struct sky_band band = filter_plan_band(in);
        TRY(filter_coefficients_deripple(job, number, &band, &dispersion->deripple,
                                         &stage->deripple));
        stage->spec.first -= (int64_t)stage->deripple.reach;
        stage->spec.taps += 2 * stage->deripple.reach;
    }
out:
    return st;
}

/* Behind a chirp: delays are those of one frequency all over a coarse channel. */
static status_t filter_plan_see_coherent(const struct archive *in, struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    uint64_t count = in->count[AXIS_CHAN];
    TRY(memory_zeroed((size_t)count, sizeof *stage->delay_hz, "frequencies", &stage->delay_hz));
    for (uint32_t i = 0; i < stage->spec.nresponses; i++) {
        stage->delay_hz[in->selected[AXIS_CHAN][i]] = stage->chirps[i].reference_hz;
    }
    stage->seen.coherent.dm =
        stage->chirps[0].is_inverse ? -stage->chirps[0].dm : stage->chirps[0].dm;
    stage->seen.coherent.constant = stage->chirps[0].constant;
    stage->seen.coherent.delay_hz = stage->delay_hz;
out:
    return st;
}

static int filter_plan_by_stream(const void *left, const void *right)
{
    const struct archive_gap *a = left;
    const struct archive_gap *b = right;
    return a->stream != b->stream ? (a->stream > b->stream) - (a->stream < b->stream)
                                  : (a->first > b->first) - (a->first < b->first);
}

/* Rows low .. high - 1 are made of samples first .. first + count - 1 alone, if low < high. */
static void filter_plan_rows_of_gap(const struct filter_plan_stage *stage, uint64_t first,
                                    uint64_t count, uint64_t *low, uint64_t *high)
{
    /* Row m is made of samples m D + first .. m D + first + length - 1; first is at most 0. */
    int64_t decimate = stage->spec.decimate;
    int64_t begin = (int64_t)first - stage->spec.first;
    int64_t end = begin + (int64_t)count - stage->reach.length + 1;
    *low = (uint64_t)((begin + decimate - 1) / decimate);
    *high = end > 0 ? (uint64_t)((end + decimate - 1) / decimate) : 0;
}

/* Of single streams. */
static status_t filter_plan_see_stream_gaps(const struct archive *in,
                                            struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    size_t room = 0;
    size_t count = 0;
    uint64_t end = in->first_sample + in->samples;
    for (uint32_t s = 0; s < in->nstreams; s++) {
        uint64_t gap[2] = {0, 0};
        for (uint64_t at = in->first_sample; archive_next_gap(in, s, at, end, &gap[0], &gap[1]);
             at = gap[0] + gap[1]) {
            struct archive_gap seen = {.stream = archive_stream_number(in, s)};
            uint64_t high = 0;
            if (count == room) {
                room = 2 * room + 64;
                struct archive_gap *grown = realloc(stage->stream_gaps, room * sizeof *grown);
                REQUIRE(grown, STATUS_DEVICE, "out of memory: gaps");
                stage->stream_gaps = grown;
            }
            filter_plan_rows_of_gap(stage, gap[0], gap[1], &seen.first, &high);
            if (seen.first < high) {
                seen.count = high - seen.first;
                stage->stream_gaps[count++] = seen;
            }
        }
    }
    if (count > 1) {
        qsort(stage->stream_gaps, count, sizeof *stage->stream_gaps, filter_plan_by_stream);
    }
    stage->seen.losses.stream_gaps = stage->stream_gaps;
    stage->seen.losses.nstream_gaps = count;
out:
    return st;
}

/* Rows that are made of gaps alone are gaps. */
static status_t filter_plan_see_gaps(const struct archive *in, struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    struct archive *seen = &stage->seen;
    seen->losses.is_made = 1;
    seen->losses.gaps = NULL;
    seen->losses.ngaps = 0;
    seen->losses.stream_gaps = NULL;
    seen->losses.nstream_gaps = 0;
    TRY(archive_gaps_are_common(in) ? STATUS_OK : filter_plan_see_stream_gaps(in, stage));
    TRY(memory_zeroed(in->losses.ngaps, sizeof *stage->gaps, "gaps", &stage->gaps));
    for (size_t i = 0; i < in->losses.ngaps; i++) {
        uint64_t low = 0;
        uint64_t high = 0;
        filter_plan_rows_of_gap(stage, in->losses.gaps[i][0], in->losses.gaps[i][1], &low, &high);
        if (low < high) {
            stage->gaps[seen->losses.ngaps][0] = low;
            stage->gaps[seen->losses.ngaps++][1] = high - low;
        }
    }
    seen->losses.gaps = stage->gaps;
out:
    return st;
}

/* The voltages behind a filter: rate, band, times. */
static status_t filter_plan_see(const struct archive *in, struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    struct archive *seen = &stage->seen;
    uint32_t decimate = stage->spec.decimate;
    *seen = *in;
    seen->format = SAMPLE_F32;
    seen->is_complex = stage->spec.is_complex_out;
    seen->sample_rate_hz = in->sample_rate_hz / decimate;
    seen->sideband = in->is_complex ? 1 : in->sideband; /* conjugated on the way in */
    seen->stored.has_missing_value = 0;
    seen->scale = 1;
    TRY(filter_plan_see_gaps(in, stage));
    seen->losses.lost = NULL;
    seen->losses.nlost = 0;
    seen->offset_seconds = in->offset_seconds - stage->delay / in->sample_rate_hz;
    seen->first_sample = (uint64_t)stage->rows.first;
    seen->samples = (uint64_t)(stage->rows.end - stage->rows.first);
    if (in->oversample.num >= (uint64_t)in->oversample.den * decimate) {
        seen->oversample.den = in->oversample.den * decimate;
    } else {
        seen->oversample.num = seen->oversample.den = 1;
    }
    if (stage->chirps) {
        TRY(filter_plan_see_coherent(in, stage));
    }
    if (!in->is_complex && in->freq_hz) {
        /* Of real samples 0 Hz is an edge of the band; it stays where it is. */
        uint64_t count = in->count[AXIS_CHAN];
        double edge = -in->sideband * in->sample_rate_hz / 4;
        double centre = seen->is_complex ? edge : edge + in->sideband * seen->sample_rate_hz / 4;
        TRY(memory_zeroed((size_t)count, sizeof *stage->freq_hz, "frequencies", &stage->freq_hz));
        for (uint64_t i = 0; i < count; i++) {
            stage->freq_hz[i] = in->freq_hz[i] + centre;
        }
        seen->freq_hz = stage->freq_hz;
    }
out:
    return st;
}

static status_t filter_plan_settle_reach(const struct job *job, uint32_t i, int is_padded,
                                         struct overlap_rows in, struct filter_plan_stage *stage)
{
    status_t st = STATUS_OK;
    const struct filter_spec *spec = &stage->spec;
    int64_t most = 0; /* the least shift is 0 */
    for (uint32_t s = 0; spec->shift && s < spec->nresponses; s++) {
        most = spec->shift[s] > most ? spec->shift[s] : most;
    }
    stage->reach = overlap_filter(spec->taps, spec->first, spec->decimate, 1);
    stage->reach.length += most;
    stage->overlap = stage->reach;
    stage->overlap.grain = (int64_t)filter_grain(spec);
    /* What lies between the samples of two rows is read, too: so that each missing one is counted,
     * and once, wherever blocks begin. */
    if (stage->overlap.length < spec->decimate) {
        stage->overlap.length = spec->decimate;
    }
    if (is_padded) {
        struct overlap each = overlap_filter(1, 0, spec->decimate, 1);
        TRY(overlap_makes(&each, 0, in, &stage->rows));
    } else {
        TRY(overlap_makes(&stage->reach, 0, in, &stage->rows));
    }
    REQUIRE(stage->rows.end > stage->rows.first || stage->reach.length <= in.end - in.first,
            STATUS_USAGE, "%s: filter.%u: its %s %" PRId64 " samples, but there are only %" PRId64,
            job->path, i, spec->response ? "chirp spans" : "coefficients need", stage->reach.length,
            in.end - in.first);
    REQUIRE(stage->rows.end > stage->rows.first, STATUS_USAGE,
            "%s: filter.%u.decimate: is %u, which keeps none of %" PRId64 " samples", job->path, i,
            spec->decimate, in.end - in.first);
out:
    return st;
}

static status_t filter_plan_add(const struct job *job, enum backend_kind backend, uint32_t threads,
                                const struct filter_choice *choice, const struct archive *in,
                                struct filter_plan *plan)
{
    static const struct job_filter nothing = {.source = FILTER_COEFFICIENTS, .decimate = 1};
    status_t st = STATUS_OK;
    uint32_t i = plan->count++;
    const struct job_filter *filter = job->nfilters > 0 ? &job->filters[i] : &nothing;
    struct filter_plan_stage *stage = &plan->stages[i];
    const int is_first = i == 0 && !plan->synthesis;
    struct overlap_rows rows = is_first ? plan->samples
                               : i > 0  ? plan->stages[i - 1].rows
                                        : plan->synthesis->rows;
    filter_plan_begin_stage(in, !is_first, filter->decimate, stage);
    stage->spec.threads = threads;
    stage->spec.method = filter->method;
    stage->spec.fft = job->nbanks > 0 ? job->banks[0].fft : FFT_AUTO;
    if (filter->source == FILTER_DISPERSION) {
        REQUIRE(
            !in->coherent.delay_hz, STATUS_USAGE,
            "%s: filter.%u.dispersion: these voltages have been dedispersed coherently to DM %g "
            "already",
            job->path, i, in->coherent.dm);
        TRY(filter_plan_make_chirps(job, i, in, rows, stage));
    } else {
        TRY(filter_plan_make_coefficients(job, i, in, stage));
    }
    stage->spec.max_rows = in->samples / filter->decimate + 1;
    if (choice) {
        stage->spec.choice = *choice;
    } else {
        TRY(filter_choose(backend, &stage->spec, &stage->spec.choice));
    }
    TRY(filter_plan_fill_table(stage));
    TRY(filter_plan_settle_reach(job, i, filter->is_padded, rows, stage));
    TRY(filter_plan_see(in, stage));
out:
    return st;
}

status_t filter_plan_create(const struct job *job, const struct archive *archive,
                            enum backend_kind backend, uint32_t threads,
                            const struct filter_choice *choices, struct filter_plan **out)
{
    status_t st = STATUS_OK;
    struct filter_plan *plan = NULL;
    uint32_t count = job->nfilters > 0 ? job->nfilters : job->nbanks == 0 && !job->is_synthesised;
    *out = NULL;
    if (count == 0 && !job->is_synthesised) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *plan, "the plan of filters", &plan));
    plan->samples = (struct overlap_rows){(int64_t)archive->first_sample,
                                          (int64_t)(archive->first_sample + archive->samples)};
    TRY(synthesis_plan_create(job, archive, plan->samples, threads, &plan->synthesis));
    for (uint32_t i = 0; i < count; i++) {
        const struct archive *in = i > 0             ? &plan->stages[i - 1].seen
                                   : plan->synthesis ? &plan->synthesis->seen
                                                     : archive;
        TRY(filter_plan_add(job, backend, threads, choices ? &choices[i] : NULL, in, plan));
    }
    *out = plan;
    plan = NULL;
out:
    filter_plan_destroy(plan);
    return st;
}

void filter_plan_destroy(struct filter_plan *plan)
{
    for (uint32_t i = 0; plan && i < plan->count; i++) {
        filter_coefficients_free(&plan->stages[i].made);
        free(plan->stages[i].chirps);
        free(plan->stages[i].deripple.half);
        free(plan->stages[i].deripple_table);
        free(plan->stages[i].response_of);
        free(plan->stages[i].shift);
        free(plan->stages[i].freq_hz);
        free(plan->stages[i].delay_hz);
        free(plan->stages[i].gaps);
        free(plan->stages[i].stream_gaps);
    }
    synthesis_plan_destroy(plan ? plan->synthesis : NULL);
    free(plan);
}

/* What stage i reaches over; and the rows before it that there are. */
static const struct overlap *filter_plan_reach(const struct filter_plan *plan, uint32_t i,
                                               int whole)
{
    const struct filter_plan_stage *stage = filter_plan_stage_at(plan, i);
    return !stage ? &plan->synthesis->reach : whole ? &stage->overlap : &stage->reach;
}

static struct overlap_rows filter_plan_before(const struct filter_plan *plan, uint32_t i)
{
    const struct filter_plan_stage *stage = i > 0 ? filter_plan_stage_at(plan, i - 1) : NULL;
    return i == 0 ? plan->samples : stage ? stage->rows : plan->synthesis->rows;
}

status_t filter_plan_needs(const struct filter_plan *plan, struct overlap_rows wanted, int whole,
                           struct overlap_rows *rows)
{
    status_t st = STATUS_OK;
    uint32_t count = filter_plan_count(plan);
    rows[count] = wanted;
    for (uint32_t i = count; i > 0; i--) {
        TRY(overlap_needs(filter_plan_reach(plan, i - 1, whole), 0, rows[i], &rows[i - 1]));
        rows[i - 1] = overlap_common(rows[i - 1], filter_plan_before(plan, i - 1));
    }
out:
    return st;
}

void filter_plan_lengths(const struct filter_plan *plan, uint64_t wanted, uint64_t *rows)
{
    uint32_t count = filter_plan_count(plan);
    rows[count] = wanted;
    for (uint32_t i = count; i > 0; i--) {
        struct overlap_rows most = filter_plan_before(plan, i - 1);
        rows[i - 1] = min_u64(overlap_inputs(filter_plan_reach(plan, i - 1, 1), rows[i]),
                              (uint64_t)(most.end - most.first));
    }
}

uint64_t filter_plan_shared(const struct filter_plan *plan, uint64_t rows)
{
    for (uint32_t i = filter_plan_count(plan); i > 0; i--) {
        rows = overlap_shared_inputs(filter_plan_reach(plan, i - 1, 1), rows);
    }
    return rows;
}

/* What a product says of the filters before it, and what can be read back of that. */

static const char *filter_plan_kind(const struct filter_plan_stage *stage)
{
    if (stage->spec.response) {
        return stage->deripple.half ? "dispersion with deripple" : "dispersion";
    }
    return stage->made.is_deripple ? "deripple" : "coefficients";
}

status_t filter_plan_words(const struct filter_plan *plan, struct text *out)
{
    status_t st = STATUS_OK;
    TRY(plan->synthesis ? synthesis_plan_words(plan->synthesis, out) : STATUS_OK);
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct filter_plan_stage *stage = &plan->stages[i];
        const struct filter_shape *shape = &stage->spec.choice.shape;
        TRY(text_add(out, "%s%s of %" PRId64 " samples, decimate %u, delay %.17g samples, ",
                     out->length > 0 ? "\n" : "", filter_plan_kind(stage), stage->reach.length,
                     stage->spec.decimate, stage->delay));
        TRY(text_add(out, "%s", filter_method_name((enum filter_method)shape->method)));
        if (shape->method == FILTER_OVERLAP_SAVE) {
            TRY(text_add(out, " %u", shape->length));
        }
    }
out:
    return st;
}

int filter_plan_read_choices(const char *words, enum backend_kind backend,
                             struct filter_choice choices[JOB_FILTERS])
{
    uint32_t i = 0;
    words = strncmp(words, synthesis_plan_word, strlen(synthesis_plan_word)) == 0
                ? strchr(words, '\n')
                : words;
    for (const char *line = words; line; line = strchr(line, '\n')) {
        char method[32] = "";
        uint32_t length = 0;
        line += *line == '\n';
        const char *at = strstr(line, " samples, decimate ");
        const char *how = at ? strstr(at, " samples, ") : NULL;
        how = how ? strstr(how + 1, " samples, ") : NULL;
        if (i == JOB_FILTERS || !how ||
            sscanf(how, " samples, %31[a-z-] %" SCNu32, method, &length) < 1) {
            return 0;
        }
        int is_direct = strcmp(method, filter_method_name(FILTER_DIRECT)) == 0;
        choices[i++] = (struct filter_choice){
            .backend = backend,
            .shape = {.method = is_direct ? FILTER_DIRECT : FILTER_OVERLAP_SAVE, .length = length}};
    }
    return 1;
}
