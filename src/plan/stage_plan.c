/* The voltages that a stage leaves, and their gaps. */
#include "plan/stage_plan.h"

#include "base/memory.h"
#include "dsp/fir/dual.h"
#include "dsp/fir/prototype.h"
#include "input/coefficients.h"

#include <inttypes.h>
#include <math.h>

struct sample_coding stage_plan_coding(const struct archive *in)
{
    return (struct sample_coding){.format = in->format,
                                  .is_complex = in->is_complex,
                                  .nibbles = in->stored.nibbles,
                                  .conjugate = in->is_complex && in->sideband < 0,
                                  .has_missing_value = in->stored.has_missing_value,
                                  .missing_value = in->stored.missing_value};
}

void stage_plan_see(const struct archive *in, int is_complex, double sample_rate_hz,
                    double offset_seconds, struct stage_plan *plan)
{
    struct archive *seen = &plan->seen;
    *seen = *in;
    seen->format = SAMPLE_F32;
    seen->is_complex = is_complex;
    seen->sample_rate_hz = sample_rate_hz;
    seen->stored.has_missing_value = 0;
    seen->scale = 1;
    seen->losses.is_made = 1;
    seen->losses.lost = (struct lost_list){0};
    seen->losses.gaps = NULL;
    seen->losses.ngaps = 0;
    seen->losses.stream_gaps = NULL;
    seen->losses.nstream_gaps = 0;
    seen->offset_seconds = in->offset_seconds + offset_seconds;
    seen->first_sample = (uint64_t)plan->rows.first;
    seen->samples = (uint64_t)(plan->rows.end - plan->rows.first);
}

/* Rows that are made of samples of a gap alone. */
static status_t stage_rows_of_gap(const struct stage_plan *plan, uint64_t first, uint64_t count,
                                  struct overlap_rows *out)
{
    const struct overlap_rows gap = {(int64_t)first, (int64_t)(first + count)};
    status_t st = overlap_makes(&plan->reach, 0, gap, out);
    *out = overlap_common(*out, plan->rows);
    return st;
}

/* The first samples at or after `at` that all that becomes stream `s` lacks: *first, *count. */
static int stage_next_gap(const struct archive *in, uint32_t fan, uint32_t s, uint64_t at,
                          uint64_t end, uint64_t *first, uint64_t *count)
{
    uint64_t low = at;
    uint64_t high = end;
    for (uint32_t c = 0; c < fan;) {
        uint64_t its = 0;
        uint64_t length = 0;
        if (!archive_next_gap(in, s * fan + c, low, end, &its, &length)) {
            return 0;
        }
        int is_later = its > low && c > 0;
        low = max_u64(low, its);
        high = is_later || c == 0 ? its + length : min_u64(high, its + length);
        c = is_later ? 0 : c + 1;
    }
    *first = low;
    *count = high - low;
    return high > low;
}

/* Gaps of single streams. */
static status_t stage_see_stream_gaps(const struct archive *in, struct stage_plan *plan)
{
    struct archive *seen = &plan->seen;
    size_t *found = &seen->losses.nstream_gaps;
    const uint64_t end = in->first_sample + in->samples;
    for (uint32_t s = 0; s < seen->nstreams; s++) {
        uint64_t first = 0;
        uint64_t count = 0;
        for (uint64_t at = in->first_sample;
             stage_next_gap(in, plan->fan, s, at, end, &first, &count); at = first + count) {
            struct overlap_rows rows;
            TRY(memory_grown(*found + 1, sizeof *plan->stream_gaps, "gaps", &plan->stream_gaps));
            TRY(stage_rows_of_gap(plan, first, count, &rows));
            if (rows.end > rows.first) {
                plan->stream_gaps[(*found)++] =
                    (struct archive_gap){.stream = archive_stream_number(seen, s),
                                         .first = (uint64_t)rows.first,
                                         .count = (uint64_t)(rows.end - rows.first)};
            }
        }
    }
    archive_gaps_sort(plan->stream_gaps, *found);
    seen->losses.stream_gaps = plan->stream_gaps;
    return STATUS_OK;
}

status_t stage_plan_see_gaps(const struct archive *in, struct stage_plan *plan)
{
    struct archive_losses *losses = &plan->seen.losses;
    const int are_common = archive_gaps_are_common(in);
    TRY(are_common ? STATUS_OK : stage_see_stream_gaps(in, plan));
    TRY(memory_zeroed(in->losses.ngaps, sizeof *plan->gaps, "gaps", &plan->gaps));
    losses->gaps = plan->gaps;
    for (size_t i = 0; i < in->losses.ngaps && (are_common || plan->fan == 1); i++) {
        struct overlap_rows rows;
        TRY(stage_rows_of_gap(plan, in->losses.gaps[i][0], in->losses.gaps[i][1], &rows));
        if (rows.end > rows.first) {
            plan->gaps[losses->ngaps][0] = (uint64_t)rows.first;
            plan->gaps[losses->ngaps++][1] = (uint64_t)(rows.end - rows.first);
        }
    }
    return STATUS_OK;
}

void stage_plan_free(struct stage_plan *plan)
{
    MEMORY_FREE(plan->freq_hz, plan->delay_hz, plan->selected, plan->gaps, plan->stream_gaps);
}

/* The stage, its reach, and the archive after it. */

/* Channels that belong together, and the points they stand at. */
/* How far a channel may be beside its place, in spacings: files round frequencies. */
static const double most_offset = 1e-4;

static double bank_frequency(const struct archive *archive, uint32_t at)
{
    return archive->freq_hz[archive->selected[AXIS_CHAN][at]];
}

static uint64_t archive_bank_channel(const struct archive *archive, uint64_t index)
{
    const struct archive_bank *bank = &archive->bank;
    const uint64_t channel = (bank->first_channel + index) % bank->channels;
    const int is_turned = bank->is_fft_order && !bank->is_real;
    return is_turned ? (channel + bank->channels / 2) % bank->channels : channel;
}

/* Checks that each group has the same channels of the bank, without holes. */
static status_t bank_check_channels(const struct job *job, const struct archive *archive,
                                    const struct synthesis_bank *bank)
{
    const uint64_t *selected = archive->selected[AXIS_CHAN];
    const uint64_t first = archive_bank_channel(archive, selected[0]);
    for (uint32_t i = 0; i < archive->nselected[AXIS_CHAN]; i++) {
        uint64_t group = archive_bank_group(archive, selected[i / bank->channels * bank->channels]);
        uint64_t expected = first + i % bank->channels;
        uint64_t channel = archive_bank_channel(archive, selected[i]);
        REQUIRE(channel == expected && archive_bank_group(archive, selected[i]) == group,
                STATUS_USAGE,
                "%s: synthesise: of coarse channel %" PRIu64 " of the filter bank channel %" PRIu64
                " follows, expected %" PRIu64 ": the same channels of each, one after the other",
                job->path, archive_bank_group(archive, selected[i]), channel, expected);
    }
    return REQUIRED(archive->nselected[AXIS_CHAN] % bank->channels == 0, STATUS_USAGE,
                    "%s: synthesise: %u channels are selected, which are no whole number of coarse "
                    "channels with %u each",
                    job->path, archive->nselected[AXIS_CHAN], bank->channels);
}

/* Neighbours are one spacing apart. */
static status_t bank_check_frequencies(const struct job *job, const struct archive *archive,
                                       const struct synthesis_bank *bank)
{
    for (uint32_t i = 0; i < archive->nselected[AXIS_CHAN]; i++) {
        double first = bank_frequency(archive, i / bank->channels * bank->channels);
        double expected = first + (i % bank->channels) * bank->spacing_hz;
        double found = bank_frequency(archive, i);
        REQUIRE(fabs(found - expected) <= most_offset * bank->spacing_hz, STATUS_USAGE,
                "%s: synthesise: channel %u is at %.15g Hz, expected %.15g Hz: %.15g Hz (the "
                "sample rate of %.15g Hz times %u/%u) from channel to channel",
                job->path, i, found, expected, bank->spacing_hz, archive->sample_rate_hz,
                archive->oversample.den, archive->oversample.num);
    }
    return STATUS_OK;
}

static void bank_settle_points(const struct archive *archive, struct synthesis_bank *bank)
{
    const struct archive_bank *own = &archive->bank;
    const uint64_t first =
        own->channels > 0 ? archive_bank_channel(archive, archive->selected[AXIS_CHAN][0]) : 0;
    /* The least even number of points that holds these channels and has a whole number of samples
     * from spectrum to spectrum. */
    const uint64_t num = archive->oversample.num;
    const uint64_t step = lcm_u64(2, num / gcd_u64(num, archive->oversample.den));
    bank->first_point = -(int32_t)(bank->channels / 2);
    bank->points = (uint32_t)(ceil_div_u64(bank->channels, step) * step);
    if (own->channels == 0) {
        return;
    }
    bank->own_points = own->channels * (own->is_real ? 2 : 1);
    bank->own_taps = own->taps;
    if (own->is_real && bank->channels == own->channels) {
        bank->is_real_out = 1;
        bank->first_point = 0;
        bank->points = bank->own_points;
    } else if (!own->is_real && bank->points >= own->channels) {
        bank->first_point = (int32_t)first - (int32_t)(own->channels / 2);
        bank->points = own->channels;
    }
}

/* Fails with USAGE: real samples, channels that do not follow each other at the spacing that rate
 * and its ratio tell, groups that are not alike, ... with the numbers. */
static status_t synthesis_bank_find(const struct job *job, const struct archive *archive,
                                    struct synthesis_bank *out)
{
    const uint64_t *selected = archive->selected[AXIS_CHAN];
    struct synthesis_bank bank = {.channels = 1}; /* that belong to the first's coarse channel */
    while (bank.channels < archive->nselected[AXIS_CHAN] &&
           archive_bank_group(archive, selected[bank.channels]) ==
               archive_bank_group(archive, selected[0])) {
        bank.channels++;
    }
    const uint32_t num = archive->oversample.num;
    const uint32_t den = archive->oversample.den;
    REQUIRE(archive->is_complex, STATUS_USAGE,
            "%s: synthesise: the samples are real, expected complex ones of channels", job->path);
    REQUIRE(archive->bank.channels == 0 || archive->sideband > 0, STATUS_USAGE,
            "%s: synthesise: channels in fft order, in which frequency falls, are not put "
            "together: expected spectra in ascending order",
            job->path);
    REQUIRE(bank.channels >= 2 && bank.channels <= 1u << 26, STATUS_USAGE,
            "%s: synthesise: %u %s selected, expected at least 2 that are side by side", job->path,
            bank.channels, units_plural(bank.channels, "channel is", "channels are"));
    bank.groups = archive->nselected[AXIS_CHAN] / bank.channels;
    bank.spacing_hz = archive->sample_rate_hz * den / num;
    TRY(archive->bank.channels > 0 ? bank_check_channels(job, archive, &bank) : STATUS_OK);
    TRY(bank_check_frequencies(job, archive, &bank));
    bank_settle_points(archive, &bank);
    bank.hop = (uint32_t)((uint64_t)bank.points * den / num);
    bank.rate_hz = archive->sample_rate_hz * bank.hop;
    *out = bank;
    return STATUS_OK;
}

double synthesis_bank_low(const struct synthesis_bank *bank, const struct archive *archive,
                          uint32_t group)
{
    return bank_frequency(archive, group * bank->channels) - bank->spacing_hz / 2;
}

/* From a prototype of the bank's points to the synthesis filter of the stream's. */
/* Beyond that many taps nothing is looked for: oversampled banks of `taps` need less, critically
 * sampled ones gain little. */
enum { MORE_TAPS = 16, TIMES_TAPS = 2 };

/* A prototype, and how it was come by. */
struct synthesis_prototype {
    double *coeff; /* [taps][points] */
    uint32_t taps, points;
};
SCOPED_CALLS(prototype_free, struct synthesis_prototype, free(at->coeff))

static status_t synthesis_read_file(const struct job *job, struct synthesis_prototype *out)
{
    const struct job_synthesise *synthesise = &job->synthesise;
    const struct telescope *telescope = telescope_find(synthesise->prototype);
    uint64_t count = 0;
    if (telescope) {
        out->taps = telescope->taps;
        out->points = telescope->points;
        return telescope_prototype(telescope, &out->coeff);
    }
    REQUIRE(
        synthesise->prototype_taps > 0, STATUS_USAGE,
        "%s: synthesise.prototype_taps is missing, expected how many taps the prototype of %s has",
        job->path, synthesise->prototype);
    TRY(coefficients_read_real(synthesise->prototype, &out->coeff, &count));
    out->taps = synthesise->prototype_taps;
    out->points = (uint32_t)(count / out->taps);
    return REQUIRED(count % out->taps == 0 && out->points >= 2, STATUS_USAGE,
                    "%s: synthesise.prototype: %s contains %" PRIu64
                    " numbers, which %u taps do not divide",
                    job->path, synthesise->prototype, count, out->taps);
}

/* The job's description of the bank must not be another one than the archive's own. */
static status_t synthesis_check_own(const struct job *job, const struct synthesis_bank *bank,
                                    const struct synthesis_prototype *prototype)
{
    if (bank->own_points == 0) {
        return STATUS_OK;
    }
    REQUIRE(prototype->taps == bank->own_taps && prototype->points == bank->own_points,
            STATUS_USAGE,
            "%s: synthesise.prototype has %u taps of %u points, but the archive's channels were "
            "made with %u taps of %u points",
            job->path, prototype->taps, prototype->points, bank->own_taps, bank->own_points);
    return REQUIRED(job->synthesise.origin == 0, STATUS_USAGE,
                    "%s: synthesise.origin is %" PRIu64
                    ", expected 0: phases of spectra of voltmill count from their first sample",
                    job->path, (uint64_t)job->synthesise.origin);
}

static status_t synthesis_take_own(const struct job *job, const struct archive *archive,
                                   const struct synthesis_bank *bank,
                                   struct synthesis_prototype *out)
{
    REQUIRE(bank->own_points > 0, STATUS_USAGE,
            "%s: synthesise.prototype is missing: the archive does not say by which filter its "
            "channels were made, expected the path of a file with the prototype",
            job->path);
    REQUIRE(archive->bank.nprototype > 0, STATUS_USAGE,
            "%s: synthesise: a prototype of %u points and %u taps is too long", job->path,
            bank->own_points, bank->own_taps);
    out->taps = bank->own_taps;
    out->points = bank->own_points;
    TRY(memory_zeroed((size_t)archive->bank.nprototype, sizeof *out->coeff, "a prototype",
                      &out->coeff));
    for (uint64_t i = 0; i < archive->bank.nprototype; i++) {
        out->coeff[i] = archive->bank.prototype[i];
    }
    return STATUS_OK;
}

/* The dual, of as many taps as the job says, or its accuracy takes. */
static status_t synthesis_design(const struct job *job, const struct dual_bank *bank,
                                 struct dual *out)
{
    const struct job_synthesise *synthesise = &job->synthesise;
    if (synthesise->taps > 0) {
        return dual_create(bank, synthesise->taps, out);
    }
    const uint32_t most = TIMES_TAPS * bank->taps + MORE_TAPS;
    TRY(dual_design(bank, -synthesise->accuracy, most, out));
    return REQUIRED(
        out->error_db <= -synthesise->accuracy, STATUS_USAGE,
        "%s: synthesise.accuracy is %g dB, but %u taps leave an error of %.1f dB: expected "
        "synthesise.taps, or an accuracy that is reached",
        job->path, synthesise->accuracy, out->taps, out->error_db);
}

/* Checks what a device that the job names can do, before the filter is designed, and with it. */
static status_t synthesis_check_limit(const struct job *job, uint32_t points, uint64_t ncoeff)
{
    const char *limit = synthesise_limit(job->backend, points, ncoeff);
    return REQUIRED(!limit, STATUS_USAGE,
                    "%s: synthesise: a filter of %" PRIu64 " samples, transforms of %u points, but "
                    "backend %s makes %s: expected backend cpu, or auto, which takes it then",
                    job->path, ncoeff, points, backend_name(job->backend), limit);
}

status_t synthesis_filter_make(struct job *job, const struct archive *archive)
{
    struct job_synthesise *synthesise = &job->synthesise;
    SCOPED(prototype_free) struct synthesis_prototype prototype = {.coeff = NULL};
    struct synthesis_bank bank;
    SCOPED(dual_free) struct dual made = {.coeff = NULL};
    SCOPED(free_at) double *resampled = NULL;
    if (!job->is_synthesised) {
        return STATUS_OK;
    }
    TRY(synthesis_bank_find(job, archive, &bank));
    TRY(synthesise->prototype ? synthesis_read_file(job, &prototype)
                              : synthesis_take_own(job, archive, &bank, &prototype));
    TRY(synthesis_check_own(job, &bank, &prototype));
    TRY(synthesis_check_limit(job, bank.points,
                              max_u64(synthesise->taps, 1) * (uint64_t)bank.points));
    if (prototype.points != bank.points) {
        TRY(prototype_resample(prototype.coeff, prototype.taps, prototype.points, bank.points,
                               RESAMPLE_KEEPS_FIRST, &resampled));
        free(prototype.coeff);
        prototype.coeff = memory_move(&resampled);
    }
    const struct dual_bank of = {
        .coeff = prototype.coeff, .points = bank.points, .taps = prototype.taps, .hop = bank.hop};
    TRY(synthesis_design(job, &of, &made));
    TRY(synthesis_check_limit(job, bank.points, (uint64_t)made.taps * bank.points));
    free(synthesise->coeff);
    synthesise->coeff = memory_move(&made.coeff);
    synthesise->ncoeff = (uint64_t)made.taps * bank.points;
    synthesise->made_taps = made.taps;
    synthesise->bank_taps = prototype.taps;
    synthesise->first = made.first;
    synthesise->error_db = made.error_db;
    synthesise->noise = made.noise;
    return STATUS_OK;
}

const char synthesis_plan_word[] = "synthesis of ";

/* Returns the spec of a plan's stage, for blocks of at most `max_rows` rows. */
static struct synthesise_spec synthesis_spec(const struct stage_plan *plan, uint32_t nstreams,
                                             uint64_t max_rows)
{
    struct synthesise_spec spec = ((const struct synthesis_plan *)plan)->spec;
    spec.nstreams = nstreams;
    spec.max_rows = max_rows;
    return spec;
}

static uint64_t synthesis_bytes(enum backend_kind backend, const struct stage_plan *plan,
                                uint32_t nstreams, uint64_t max_rows, enum stage_memory memory)
{
    const struct synthesise_spec spec = synthesis_spec(plan, nstreams, max_rows);
    return synthesise_bytes(backend, &spec, memory);
}

static status_t synthesis_create(backend_t *backend, const struct stage_plan *plan,
                                 uint32_t nstreams, uint64_t max_rows, void **out)
{
    const struct synthesise_spec spec = synthesis_spec(plan, nstreams, max_rows);
    return synthesise_create(backend, &spec, (synthesise_t **)out);
}

static const struct stage_kind synthesis_kind = {synthesis_bytes, synthesis_create};

static status_t synthesis_set_spec(const struct job *job, const struct archive *in,
                                   uint32_t threads, struct synthesis_plan *plan)
{
    const struct job_synthesise *made = &job->synthesise;
    const struct synthesis_bank *bank = &plan->bank;
    TRY(memory_zeroed((size_t)made->ncoeff, sizeof *plan->coeff, "a synthesis filter",
                      &plan->coeff));
    for (uint64_t i = 0; i < made->ncoeff; i++) {
        plan->coeff[i] = made->coeff[i] * in->scale;
    }
    plan->in = in;
    plan->bank_taps = made->bank_taps;
    plan->error_db = made->error_db;
    plan->noise = made->noise;
    plan->spec = (struct synthesise_spec){.coding = stage_plan_coding(in),
                                          .channels = bank->channels,
                                          .points = bank->points,
                                          .first_point = bank->first_point,
                                          .hop = bank->hop,
                                          .taps = made->made_taps,
                                          .first = made->first,
                                          .coeff = plan->coeff,
                                          .is_real_out = bank->is_real_out,
                                          .turn = made->origin,
                                          .nstreams = in->nstreams / bank->channels,
                                          .threads = threads,
                                          .planning = job->planning};
    plan->base.kind = &synthesis_kind;
    plan->base.coding = &plan->spec.coding;
    plan->base.fan = bank->channels;
    plan->base.reach = overlap_synthesise(made->ncoeff, made->first, bank->hop);
    plan->base.overlap = plan->base.reach;
    /* A spectrum's time stamp is the centre of its filter. */
    const double points = bank->own_points > 0 ? bank->own_points : bank->points;
    plan->offset_seconds = -((made->bank_taps * points - 1) / 2) / (points * bank->spacing_hz);
    return STATUS_OK;
}

/* Data dedispersed coherently before they were channelised have one delay in all of their channels.
 */
static status_t synthesis_see_coherent(const struct job *job, const struct archive *in,
                                       struct synthesis_plan *plan)
{
    const struct synthesis_bank *bank = &plan->bank;
    if (!in->coherent.delay_hz) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(bank->groups, sizeof *plan->base.delay_hz, "frequencies",
                      &plan->base.delay_hz));
    for (uint32_t i = 0; i < in->nselected[AXIS_CHAN]; i++) {
        double *mine = &plan->base.delay_hz[i / bank->channels];
        double hz = in->coherent.delay_hz[in->selected[AXIS_CHAN][i]];
        *mine = i % bank->channels == 0 ? hz : *mine;
        REQUIRE(*mine == hz, STATUS_USAGE,
                "%s: synthesise: channels that were dedispersed coherently, each to a frequency of "
                "its own (%.15g Hz, %.15g Hz), are no voltages of one stream any more",
                job->path, *mine, hz);
    }
    plan->base.seen.coherent.delay_hz = plan->base.delay_hz;
    return STATUS_OK;
}

/* Describes the streams as an archive with a coarse channel for each group. */
static status_t synthesis_see(const struct job *job, const struct archive *in,
                              struct synthesis_plan *plan)
{
    struct archive *seen = &plan->base.seen;
    const struct synthesis_bank *bank = &plan->bank;
    stage_plan_see(in, !bank->is_real_out, bank->rate_hz, plan->offset_seconds, &plan->base);
    seen->bank = (struct archive_bank){.channels = 0};
    seen->sideband = 1; /* channels in ascending order, conjugated where they had to be */
    seen->oversample = (struct ratio){1, 1};
    seen->nstreams = in->nstreams / bank->channels;
    TRY(memory_zeroed(bank->groups, sizeof *plan->base.freq_hz, "frequencies",
                      &plan->base.freq_hz));
    TRY(memory_zeroed(bank->groups, sizeof *plan->base.selected, "coarse channels",
                      &plan->base.selected));
    /* Points from the first channel of a group to its centre. */
    const double points = bank->is_real_out ? bank->points / 4.0 : -bank->first_point;
    for (uint32_t i = 0; i < bank->groups; i++) {
        plan->base.freq_hz[i] = bank_frequency(in, i * bank->channels) + points * bank->spacing_hz;
        plan->base.selected[i] = i;
    }
    seen->freq_hz = plan->base.freq_hz;
    seen->count[AXIS_CHAN] = bank->groups;
    seen->selected[AXIS_CHAN] = plan->base.selected;
    seen->nselected[AXIS_CHAN] = bank->groups;
    TRY(synthesis_see_coherent(job, in, plan));
    return stage_plan_see_gaps(in, &plan->base);
}

status_t synthesis_plan_create(const struct job *job, const struct archive *archive,
                               struct overlap_rows samples, uint32_t threads,
                               struct synthesis_plan **out)
{
    SCOPED(synthesis_plan_destroy_at) struct synthesis_plan *plan = NULL;
    *out = NULL;
    if (!job->is_synthesised) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *plan, "the plan of a synthesis", &plan));
    TRY(synthesis_bank_find(job, archive, &plan->bank));
    TRY(synthesis_set_spec(job, archive, threads, plan));
    TRY(overlap_makes(&plan->base.reach, 0, samples, &plan->base.rows));
    REQUIRE(plan->base.rows.end > plan->base.rows.first, STATUS_USAGE,
            "%s: synthesise: a sample is made of %" PRId64 " spectra, but there are only %" PRId64,
            job->path, plan->base.reach.length, samples.end - samples.first);
    plan->spec.max_rows = (uint64_t)(plan->base.rows.end - plan->base.rows.first);
    plan->spec.expected = (uint64_t)(samples.end - samples.first) * plan->spec.nstreams;
    TRY(synthesis_see(job, archive, plan));
    *out = memory_move(&plan);
    return STATUS_OK;
}

void synthesis_plan_destroy(struct synthesis_plan *plan)
{
    if (plan) {
        stage_plan_free(&plan->base);
        MEMORY_FREE(plan->coeff, plan);
    }
}
