/* From what a job says of filters to stages, their reach, and the voltages after each; and from
 * units and spectra back to rows of filters and samples of the archive. */
#include "plan/filter_plan.h"

#include "dsp/dispersion/dispersion.h"
#include "plan/array_plan.h"

#include <inttypes.h>
#include <math.h>

enum { STRIDE = 16 /* rows: 64 bytes of the smallest */ };

uint32_t filter_plan_count(const struct filter_plan *plan)
{
    return plan->count + (plan->synthesis ? 1 : 0);
}

const struct stage_plan *filter_plan_stage(const struct filter_plan *plan, uint32_t i)
{
    return !plan->synthesis ? &plan->stages[i].base
           : i > 0          ? &plan->stages[i - 1].base
                            : &plan->synthesis->base;
}

/* Returns the rows that stage i can get from the one before. */
static struct overlap_rows filter_plan_before(const struct filter_plan *plan, uint32_t i)
{
    return i == 0 ? plan->samples : filter_plan_stage(plan, i - 1)->rows;
}

uint32_t filter_plan_row_bytes(const struct filter_plan *plan, uint32_t i)
{
    return sample_bytes(SAMPLE_F32, filter_plan_stage(plan, i)->seen.is_complex);
}

const struct sample_coding *filter_plan_coding(const struct filter_plan *plan)
{
    return filter_plan_stage(plan, 0)->coding;
}

uint32_t filter_plan_fan(const struct filter_plan *plan)
{
    return plan ? filter_plan_stage(plan, 0)->fan : 1;
}

struct stream_set channelise_plan_read(const struct channelise_plan *work,
                                       const struct chunk *chunk)
{
    const struct stream_set set = channelise_plan_streams(work, chunk);
    const uint32_t fan = filter_plan_fan(work->filters);
    return fan > 1 ? stream_range(set.first * fan, set.count * fan) : set;
}

uint64_t filter_plan_stride(uint64_t rows)
{
    return ceil_div_u64(rows, STRIDE) * STRIDE;
}

const struct archive *filter_plan_seen(const struct filter_plan *plan)
{
    return &filter_plan_stage(plan, filter_plan_count(plan) - 1)->seen;
}

/* Returns the spec of a plan's stage, for blocks of at most `max_rows` rows. */
static struct filter_spec filter_kind_spec(const struct stage_plan *plan, uint32_t nstreams,
                                           uint64_t max_rows)
{
    struct filter_spec spec = ((const struct filter_plan_stage *)plan)->spec;
    spec.nstreams = nstreams;
    spec.max_rows = max_rows;
    return spec;
}

static uint64_t filter_kind_bytes(enum backend_kind backend, const struct stage_plan *plan,
                                  uint32_t nstreams, uint64_t max_rows, enum stage_memory memory)
{
    const struct filter_spec spec = filter_kind_spec(plan, nstreams, max_rows);
    return filter_bytes(backend, &spec, memory);
}

static status_t filter_kind_create(backend_t *backend, const struct stage_plan *plan,
                                   uint32_t nstreams, uint64_t max_rows, void **out)
{
    const struct filter_spec spec = filter_kind_spec(plan, nstreams, max_rows);
    return filter_create(backend, &spec, (filter_t **)out);
}

static const struct stage_kind filter_kind = {filter_kind_bytes, filter_kind_create};

/* Sets the fields of the stage that do not depend on the kind of the filter. */
static void filter_plan_begin_stage(const struct archive *in, int is_made, uint32_t decimate,
                                    struct filter_plan_stage *stage)
{
    stage->spec.coding = stage_plan_coding(in);
    stage->spec.coding.is_made = is_made;
    stage->spec.decimate = decimate;
    stage->spec.nstreams = in->nstreams;
    stage->base.kind = &filter_kind;
    stage->base.coding = &stage->spec.coding;
    stage->base.fan = 1;
}

static struct sky_band filter_plan_band(const struct archive *in)
{
    return (struct sky_band){.sample_rate_hz = in->sample_rate_hz,
                             .is_complex = in->is_complex,
                             .sideband = in->is_complex ? 1 : in->sideband,
                             .oversample = {in->oversample.num, in->oversample.den}};
}

/* Makes the coefficients of filter `number`, scaled to volts. */
static status_t filter_plan_make_coefficients(const struct job *job, uint32_t number,
                                              const struct archive *in,
                                              struct filter_plan_stage *stage)
{
    struct filter_coefficients *made = &stage->made;
    SCOPED(free_at) double *centres = NULL;
    uint32_t count = in->nselected[AXIS_CHAN];
    struct sky_band band = filter_plan_band(in);
    TRY(memory_zeroed(count, sizeof *centres, "frequencies", &centres));
    for (uint32_t i = 0; i < count && in->freq_hz; i++) {
        centres[i] = in->freq_hz[in->selected[AXIS_CHAN][i]];
    }
    band.centre_hz = centres;
    band.ncentres = count;
    TRY(filter_coefficients_make(job, number, &band, made));
    for (size_t i = 0; i < (size_t)made->taps * (made->is_complex ? 2 : 1); i++) {
        made->coeff[i] *= in->scale;
    }
    stage->spec.coeff = made->coeff;
    stage->spec.is_complex_coeff = made->is_complex;
    stage->spec.taps = made->taps;
    stage->spec.first = 1 - (int64_t)made->taps;
    stage->delay = filter_coefficients_of(job, number)->keeps_delay ? 0 : made->delay;
    stage->spec.is_complex_out = made->is_complex || in->is_complex;
    return STATUS_OK;
}

/* Tabulates the correction of the ripple, which many responses need at the same frequencies. */
static status_t filter_plan_fill_table(struct filter_plan_stage *stage)
{
    const uint32_t length = stage->spec.choice.shape.length;
    if (!stage->deripple.half || length == 0) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(length / 2 + 1, sizeof *stage->deripple_table, "a response",
                      &stage->deripple_table));
    for (uint32_t k = 0; k <= length / 2; k++) {
        stage->deripple_table[k] = deripple_response(&stage->deripple, (double)k / length);
    }
    return STATUS_OK;
}

static void filter_plan_respond(const void *context, uint32_t which, uint32_t length,
                                double (*out)[2])
{
    const struct filter_plan_stage *stage = context;
    const int has_table = stage->deripple_table && length == stage->spec.choice.shape.length;
    chirp_response(&stage->chirps[which], stage->roots, length, out);
    for (uint32_t k = 0; k < length && (stage->scale != 1 || stage->deripple.half); k++) {
        const uint64_t at = min_u64(k, length - k);
        const double deripple = !stage->deripple.half ? 1
                                : has_table
                                    ? stage->deripple_table[at]
                                    : deripple_response(&stage->deripple, (double)at / length);
        const double gain = stage->scale * deripple;
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

/* Checks the requested width at the edges against those of the longest filter that there can be,
 * and of a coarse channel. A chirp that is too long at any width is reported as such, later. */
static status_t filter_plan_check_edges(const struct job *job, uint32_t number,
                                        struct overlap_rows rows, double span,
                                        const struct filter_plan_stage *stage)
{
    const struct job_filter *filter = &job->filters[number];
    const struct chirp *chirp = &stage->chirps[0];
    const double edges_hz = filter->dispersion.edges_hz;
    const double most_hz = chirp->sample_rate_hz / (chirp->is_complex ? 2 : 4);
    double longest = CHIRP_MOST_TAPS;
    for (uint32_t s = 0; s < stage->spec.nstreams && !filter->is_padded; s++) {
        longest = fmin(longest, (double)(rows.end - rows.first - stage->shift[s]));
    }
    const double guard = floor((longest - span - 1) / 2) - stage->deripple.reach;
    const double least_hz = chirp_edge_hz(chirp->sample_rate_hz, guard);
    return REQUIRED(!filter->dispersion.has_edges || guard < 1 || least_hz > most_hz ||
                        (edges_hz >= least_hz && edges_hz <= most_hz),
                    STATUS_USAGE,
                    "%s: filter.%u.dispersion.edges: is %.15g Hz, expected at least %.6g Hz (a "
                    "filter of %.0f samples) and at most %.15g Hz (half of a coarse channel)",
                    /* rounded up: it is accepted */
                    job->path, number, edges_hz, least_hz * (1 + 1e-5), longest, most_hz);
}

/* A chirp for each selected coarse channel. Where they refer to one frequency, rows are numbered so
 * that the channel with the least delay has none: no row's number is below that of its samples. */
static status_t filter_plan_make_chirps(const struct job *job, uint32_t number,
                                        const struct archive *in, struct overlap_rows rows,
                                        struct filter_plan_stage *stage)
{
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
                                .sideband = in->is_complex ? 1 : in->sideband,
                                .edge_hz = dispersion->edges_hz};
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
    TRY(chirp_roots_create(&stage->roots));
    stage->spec.response = filter_plan_respond;
    stage->spec.context = stage;
    stage->spec.response_of = stage->response_of;
    stage->spec.shift = is_common ? stage->shift : NULL;
    stage->spec.is_complex_out = in->is_complex;
    /* Before chirp_reach(), which says how long filters can be, not what there is. */
    REQUIRE(filter->is_padded || most - least < (double)(rows.end - rows.first), STATUS_USAGE,
            "%s: filter.%u: its chirp spans %.0f samples, but there are only %" PRId64, job->path,
            number, ceil(most - least), rows.end - rows.first);
    if (dispersion->deripple.prototype) {
        const struct sky_band band = filter_plan_band(in);
        TRY(filter_coefficients_deripple(job, number, &band, &dispersion->deripple,
                                         &stage->deripple));
    }
    TRY(filter_plan_check_edges(job, number, rows, ceil(most) - floor(least), stage));
    TRY(chirp_reach(&stage->chirps[0], least, most, &stage->spec.first, &stage->spec.taps));
    stage->spec.first -= (int64_t)stage->deripple.reach;
    stage->spec.taps += 2 * stage->deripple.reach;
    return STATUS_OK;
}

/* Sets the state after a chirp: a coarse channel has the delay of one frequency throughout. */
static status_t filter_plan_see_coherent(const struct archive *in, struct filter_plan_stage *stage)
{
    uint64_t count = in->count[AXIS_CHAN];
    TRY(memory_zeroed((size_t)count, sizeof *stage->base.delay_hz, "frequencies",
                      &stage->base.delay_hz));
    for (uint32_t i = 0; i < stage->spec.nresponses; i++) {
        stage->base.delay_hz[in->selected[AXIS_CHAN][i]] = stage->chirps[i].reference_hz;
    }
    stage->base.seen.coherent.dm =
        stage->chirps[0].is_inverse ? -stage->chirps[0].dm : stage->chirps[0].dm;
    stage->base.seen.coherent.constant = stage->chirps[0].constant;
    stage->base.seen.coherent.delay_hz = stage->base.delay_hz;
    return STATUS_OK;
}

/* Describes the voltages after a filter: rate, band, times. */
static status_t filter_plan_see(const struct archive *in, struct filter_plan_stage *stage)
{
    struct archive *seen = &stage->base.seen;
    uint32_t decimate = stage->spec.decimate;
    stage_plan_see(in, stage->spec.is_complex_out, in->sample_rate_hz / decimate,
                   -stage->delay / in->sample_rate_hz, &stage->base);
    seen->sideband = in->is_complex ? 1 : in->sideband; /* conjugated on the way in */
    TRY(stage_plan_see_gaps(in, &stage->base));
    if (in->oversample.num >= (uint64_t)in->oversample.den * decimate) {
        seen->oversample.den = in->oversample.den * decimate;
    } else {
        seen->oversample.num = seen->oversample.den = 1;
    }
    TRY(stage->chirps ? filter_plan_see_coherent(in, stage) : STATUS_OK);
    if (!in->is_complex && in->freq_hz) {
        /* For real samples, 0 Hz is an edge of the band, and is kept. */
        uint64_t count = in->count[AXIS_CHAN];
        double edge = -in->sideband * in->sample_rate_hz / 4;
        double centre = seen->is_complex ? edge : edge + in->sideband * seen->sample_rate_hz / 4;
        TRY(memory_zeroed((size_t)count, sizeof *stage->base.freq_hz, "frequencies",
                          &stage->base.freq_hz));
        for (uint64_t i = 0; i < count; i++) {
            stage->base.freq_hz[i] = in->freq_hz[i] + centre;
        }
        seen->freq_hz = stage->base.freq_hz;
    }
    return STATUS_OK;
}

static status_t filter_plan_settle_reach(const struct job *job, uint32_t i, int is_padded,
                                         struct overlap_rows in, struct filter_plan_stage *stage)
{
    const struct filter_spec *spec = &stage->spec;
    int64_t most = 0; /* the least shift is 0 */
    for (uint32_t s = 0; spec->shift && s < spec->nresponses; s++) {
        most = spec->shift[s] > most ? spec->shift[s] : most;
    }
    stage->base.reach = overlap_filter(spec->taps, spec->first, spec->decimate, 1);
    stage->base.reach.length += most;
    stage->base.overlap = stage->base.reach;
    stage->base.overlap.grain = (int64_t)filter_grain(spec);
    /* Samples between those of two rows are read, too, so that each missing one is counted, and
     * only once, wherever blocks begin. */
    if (stage->base.overlap.length < spec->decimate) {
        stage->base.overlap.length = spec->decimate;
    }
    if (is_padded) {
        struct overlap each = overlap_filter(1, 0, spec->decimate, 1);
        TRY(overlap_makes(&each, 0, in, &stage->base.rows));
    } else {
        TRY(overlap_makes(&stage->base.reach, 0, in, &stage->base.rows));
    }
    REQUIRE(stage->base.rows.end > stage->base.rows.first ||
                stage->base.reach.length <= in.end - in.first,
            STATUS_USAGE, "%s: filter.%u: its %s %" PRId64 " samples, but there are only %" PRId64,
            job->path, i, spec->response ? "chirp spans" : "coefficients need",
            stage->base.reach.length, in.end - in.first);
    return REQUIRED(stage->base.rows.end > stage->base.rows.first, STATUS_USAGE,
                    "%s: filter.%u.decimate: is %u, which keeps none of %" PRId64 " samples",
                    job->path, i, spec->decimate, in.end - in.first);
}

static status_t filter_plan_add(const struct job *job, enum backend_kind backend, uint32_t threads,
                                const struct filter_choice *choice, const struct archive *in,
                                struct filter_plan *plan)
{
    uint32_t i = plan->count++;
    const struct job_filter *filter = filter_coefficients_of(job, i);
    struct filter_plan_stage *stage = &plan->stages[i];
    const uint32_t before = filter_plan_count(plan) - 1;
    const struct overlap_rows rows = filter_plan_before(plan, before);
    filter_plan_begin_stage(in, before > 0, filter->decimate, stage);
    stage->spec.threads = threads;
    stage->spec.source = filter->source;
    stage->spec.method = filter->method;
    stage->spec.fft = job->nbanks > 0 ? job->banks[0].fft : FFT_AUTO;
    if (filter->source == FILTER_DISPERSION) {
        REQUIRE(!in->coherent.delay_hz, STATUS_USAGE,
                "%s: filter.%u.dispersion: these voltages have been dedispersed coherently to DM "
                "%g already",
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
    return filter_plan_see(in, stage);
}

status_t filter_plan_create(const struct job *job, const struct archive *archive,
                            enum backend_kind backend, uint32_t threads,
                            const struct filter_choice *choices, struct filter_plan **out)
{
    SCOPED(filter_plan_destroy_at) struct filter_plan *plan = NULL;
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
        const struct archive *in = filter_plan_count(plan) > 0 ? filter_plan_seen(plan) : archive;
        TRY(filter_plan_add(job, backend, threads, choices ? &choices[i] : NULL, in, plan));
    }
    *out = memory_move(&plan);
    return STATUS_OK;
}

void filter_plan_destroy(struct filter_plan *plan)
{
    for (uint32_t i = 0; plan && i < plan->count; i++) {
        stage_plan_free(&plan->stages[i].base);
        filter_coefficients_free(&plan->stages[i].made);
        MEMORY_FREE(plan->stages[i].chirps, plan->stages[i].deripple.half,
                    plan->stages[i].deripple_table, plan->stages[i].roots,
                    plan->stages[i].response_of, plan->stages[i].shift);
    }
    synthesis_plan_destroy(plan ? plan->synthesis : NULL);
    free(plan);
}

static const struct overlap *filter_plan_reach(const struct filter_plan *plan, uint32_t i,
                                               int whole)
{
    const struct stage_plan *stage = filter_plan_stage(plan, i);
    return whole ? &stage->overlap : &stage->reach;
}

/* Computes from requested rows of the last filter the rows of each, and the samples that they are
 * made of.
 *
 *   rows   [filter_plan_count() + 1]: 0 samples of the archive, then rows of each stage
 *
 * `whole`: with all rows of overlap-save's blocks, as they must be read; else only the necessary
 * ones. Fails with USAGE as overlap_needs(). */
static status_t filter_plan_needs(const struct filter_plan *plan, struct overlap_rows wanted,
                                  int whole, struct overlap_rows *rows)
{
    uint32_t count = filter_plan_count(plan);
    rows[count] = wanted;
    for (uint32_t i = count; i > 0; i--) {
        TRY(overlap_needs(filter_plan_reach(plan, i - 1, whole), 0, rows[i], &rows[i - 1]));
        rows[i - 1] = overlap_common(rows[i - 1], filter_plan_before(plan, i - 1));
    }
    return STATUS_OK;
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

/* Returns the samples of the archive that two ranges of rows of the last filter both need that have
 * `rows` rows in common: overlap_shared_inputs(). */
static uint64_t filter_plan_shared(const struct filter_plan *plan, uint64_t rows)
{
    for (uint32_t i = filter_plan_count(plan); i > 0; i--) {
        rows = overlap_shared_inputs(filter_plan_reach(plan, i - 1, 1), rows);
    }
    return rows;
}

/* Finds the rows that each stage needs, for the spectra that are wanted of each bank. */
static status_t needs_find(const struct channelise_plan *work, struct overlap_rows *needs,
                           int whole, struct overlap_rows *rows)
{
    TRY(overlap_tree_needs(work->nodes, NODE_DUMPS, 0, needs));
    needs[NODE_SAMPLES].first += (int64_t)work->seen->first_sample;
    needs[NODE_SAMPLES].end += (int64_t)work->seen->first_sample;
    rows[0] = needs[NODE_SAMPLES];
    return work->filters ? filter_plan_needs(work->filters, needs[NODE_SAMPLES], whole, rows)
                         : STATUS_OK;
}

status_t channelise_plan_samples(const struct channelise_plan *work, uint64_t first, uint64_t count,
                                 int whole, struct overlap_rows *rows)
{
    struct overlap_rows needs[NODE_DUMPS] = {{0, 0}};
    for (uint32_t i = 0; i < work->nbanks; i++) {
        needs[NODE_SPECTRA(i)] = channelise_plan_spectra(&work->banks[i], first, count);
    }
    return needs_find(work, needs, whole, rows);
}

status_t channelise_plan_samples_of(const struct channelise_plan *work, uint32_t bank,
                                    uint64_t first, uint64_t count, struct overlap_rows *rows)
{
    struct overlap_rows needs[NODE_DUMPS] = {{0, 0}};
    needs[NODE_SPECTRA(bank)] = (struct overlap_rows){(int64_t)first, (int64_t)(first + count)};
    return needs_find(work, needs, 0, rows);
}

uint64_t channelise_plan_most_samples(const struct channelise_plan *work, uint64_t units)
{
    uint64_t rows[FILTER_PLAN_ROWS];
    rows[0] = channelise_plan_inputs(work, units);
    if (work->filters) {
        filter_plan_lengths(work->filters, rows[0], rows);
    }
    return rows[0] + array_plan_spread(work->array);
}

uint64_t channelise_plan_inputs(const struct channelise_plan *work, uint64_t units)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        most = max_u64(most, overlap_inputs(&work->nodes[NODE_SPECTRA(i)].stage,
                                            units * work->banks[i].ratio));
    }
    return most;
}

void channelise_plan_share_samples(const struct channelise_plan *work, uint32_t i, uint64_t units,
                                   struct channelise_spec *spec)
{
    spec->is_beside = i > 0;
    spec->most_samples = work->nbanks > 1 ? channelise_plan_inputs(work, units) : 0;
}

uint64_t channelise_plan_unit(const struct channelise_plan *work)
{
    return work->banks[0].ratio * work->banks[0].hop;
}

uint64_t channelise_plan_shared(const struct channelise_plan *work)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < work->nbanks; i++) {
        rows = max_u64(rows, overlap_shared(&work->nodes[NODE_SPECTRA(i)].stage));
    }
    rows = work->filters ? filter_plan_shared(work->filters, rows) : rows;
    return min_u64(rows, work->archive->samples);
}
