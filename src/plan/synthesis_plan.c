/* The stage, its reach, and the archive behind it. */
#include "plan/synthesis_plan.h"

#include "base/memory.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char synthesis_plan_word[] = "synthesis of ";

static status_t synthesis_set_spec(const struct job *job, const struct archive *in,
                                   uint32_t threads, struct synthesis_plan *plan)
{
    status_t st = STATUS_OK;
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
    plan->spec =
        (struct synthesise_spec){.coding = {.format = in->format,
                                            .is_complex = in->is_complex,
                                            .nibbles = in->stored.nibbles,
                                            .conjugate = in->sideband < 0,
                                            .has_missing_value = in->stored.has_missing_value,
                                            .missing_value = in->stored.missing_value},
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
    plan->reach = overlap_synthesise(made->ncoeff, made->first, bank->hop);
    /* A spectrum's time stamp is the centre of its filter. */
    const double points = bank->own_points > 0 ? bank->own_points : bank->points;
    plan->offset_seconds = -((made->bank_taps * points - 1) / 2) / (points * bank->spacing_hz);
out:
    return st;
}

/* Rows that are made of spectra of a gap alone. */
static status_t synthesis_rows_of_gap(const struct synthesis_plan *plan, uint64_t first,
                                      uint64_t count, struct overlap_rows *out)
{
    const struct overlap_rows gap = {(int64_t)first, (int64_t)(first + count)};
    status_t st = overlap_makes(&plan->reach, 0, gap, out);
    *out = overlap_common(*out, plan->rows);
    return st;
}

/* The first spectra at or behind `at` that all channels of stream `s` lack: *first, *count. */
static int synthesis_next_gap(const struct archive *in, uint32_t channels, uint32_t s, uint64_t at,
                              uint64_t end, uint64_t *first, uint64_t *count)
{
    uint64_t low = at;
    uint64_t high = end;
    for (uint32_t c = 0; c < channels;) {
        uint64_t its = 0;
        uint64_t length = 0;
        if (!archive_next_gap(in, s * channels + c, low, end, &its, &length)) {
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

static status_t synthesis_add_gap(struct synthesis_plan *plan, const struct archive_gap *gap,
                                  size_t *room)
{
    status_t st = STATUS_OK;
    struct archive *seen = &plan->seen;
    if (seen->losses.nstream_gaps == *room) {
        *room = 2 * *room + 64;
        struct archive_gap *grown = realloc(plan->stream_gaps, *room * sizeof *grown);
        REQUIRE(grown, STATUS_DEVICE, "out of memory: gaps");
        plan->stream_gaps = grown;
    }
    plan->stream_gaps[seen->losses.nstream_gaps++] = *gap;
out:
    return st;
}

static status_t synthesis_see_stream_gaps(const struct archive *in, struct synthesis_plan *plan)
{
    status_t st = STATUS_OK;
    struct archive *seen = &plan->seen;
    const uint64_t end = in->first_sample + in->samples;
    size_t room = 0;
    for (uint32_t s = 0; s < seen->nstreams; s++) {
        uint64_t first = 0;
        uint64_t count = 0;
        for (uint64_t at = in->first_sample;
             synthesis_next_gap(in, plan->bank.channels, s, at, end, &first, &count);
             at = first + count) {
            struct overlap_rows rows;
            TRY(synthesis_rows_of_gap(plan, first, count, &rows));
            struct archive_gap gap = {.stream = archive_stream_number(seen, s),
                                      .first = (uint64_t)rows.first,
                                      .count = (uint64_t)(rows.end - rows.first)};
            TRY(rows.end > rows.first ? synthesis_add_gap(plan, &gap, &room) : STATUS_OK);
        }
    }
    archive_gaps_sort(plan->stream_gaps, seen->losses.nstream_gaps);
    seen->losses.stream_gaps = plan->stream_gaps;
out:
    return st;
}

static status_t synthesis_see_gaps(const struct archive *in, struct synthesis_plan *plan)
{
    status_t st = STATUS_OK;
    struct archive *seen = &plan->seen;
    seen->losses.is_made = 1;
    seen->losses.gaps = NULL;
    seen->losses.ngaps = 0;
    seen->losses.stream_gaps = NULL;
    seen->losses.nstream_gaps = 0;
    if (!archive_gaps_are_common(in)) {
        TRY(synthesis_see_stream_gaps(in, plan));
        goto out;
    }
    TRY(memory_zeroed(in->losses.ngaps, sizeof *plan->gaps, "gaps", &plan->gaps));
    for (size_t i = 0; i < in->losses.ngaps; i++) {
        struct overlap_rows rows;
        TRY(synthesis_rows_of_gap(plan, in->losses.gaps[i][0], in->losses.gaps[i][1], &rows));
        if (rows.end > rows.first) {
            plan->gaps[seen->losses.ngaps][0] = (uint64_t)rows.first;
            plan->gaps[seen->losses.ngaps++][1] = (uint64_t)(rows.end - rows.first);
        }
    }
    seen->losses.gaps = plan->gaps;
out:
    return st;
}

/* What was dedispersed coherently before it was channelised has one delay in all of its channels.
 */
static status_t synthesis_see_coherent(const struct job *job, const struct archive *in,
                                       struct synthesis_plan *plan)
{
    status_t st = STATUS_OK;
    const struct synthesis_bank *bank = &plan->bank;
    if (!in->coherent.delay_hz) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(bank->groups, sizeof *plan->delay_hz, "frequencies", &plan->delay_hz));
    for (uint32_t i = 0; i < in->nselected[AXIS_CHAN]; i++) {
        double *mine = &plan->delay_hz[i / bank->channels];
        double hz = in->coherent.delay_hz[in->selected[AXIS_CHAN][i]];
        *mine = i % bank->channels == 0 ? hz : *mine;
        REQUIRE(*mine == hz, STATUS_USAGE,
                "%s: synthesise: channels that were dedispersed coherently, each to a frequency of "
                "its own (%.15g Hz, %.15g Hz), are no voltages of one stream any more",
                job->path, *mine, hz);
    }
    plan->seen.coherent.delay_hz = plan->delay_hz;
out:
    return st;
}

/* The streams as an archive of a coarse channel for each group. */
static status_t synthesis_see(const struct job *job, const struct archive *in,
                              struct synthesis_plan *plan)
{
    status_t st = STATUS_OK;
    struct archive *seen = &plan->seen;
    const struct synthesis_bank *bank = &plan->bank;
    *seen = *in;
    seen->bank = (struct archive_bank){.channels = 0};
    seen->format = SAMPLE_F32;
    seen->is_complex = !bank->is_real_out;
    seen->sample_rate_hz = bank->rate_hz;
    seen->sideband = 1; /* channels in ascending order, conjugated where they had to be */
    seen->stored.has_missing_value = 0;
    seen->scale = 1;
    seen->oversample = (struct ratio){1, 1};
    seen->losses.lost = NULL;
    seen->losses.nlost = 0;
    seen->offset_seconds = in->offset_seconds + plan->offset_seconds;
    seen->first_sample = (uint64_t)plan->rows.first;
    seen->samples = (uint64_t)(plan->rows.end - plan->rows.first);
    seen->nstreams = in->nstreams / bank->channels;
    TRY(memory_zeroed(bank->groups, sizeof *plan->freq_hz, "frequencies", &plan->freq_hz));
    TRY(memory_zeroed(bank->groups, sizeof *plan->selected, "coarse channels", &plan->selected));
    for (uint32_t i = 0; i < bank->groups; i++) {
        plan->freq_hz[i] = synthesis_bank_centre(bank, in, i);
        plan->selected[i] = i;
    }
    seen->freq_hz = plan->freq_hz;
    seen->count[AXIS_CHAN] = bank->groups;
    seen->selected[AXIS_CHAN] = plan->selected;
    seen->nselected[AXIS_CHAN] = bank->groups;
    TRY(synthesis_see_coherent(job, in, plan));
    TRY(synthesis_see_gaps(in, plan));
out:
    return st;
}

status_t synthesis_plan_create(const struct job *job, const struct archive *archive,
                               struct overlap_rows samples, uint32_t threads,
                               struct synthesis_plan **out)
{
    status_t st = STATUS_OK;
    struct synthesis_plan *plan = NULL;
    *out = NULL;
    if (!job->is_synthesised) {
        return STATUS_OK;
    }
    TRY(memory_zeroed(1, sizeof *plan, "the plan of a synthesis", &plan));
    TRY(synthesis_bank_find(job, archive, &plan->bank));
    TRY(synthesis_set_spec(job, archive, threads, plan));
    TRY(overlap_makes(&plan->reach, 0, samples, &plan->rows));
    REQUIRE(plan->rows.end > plan->rows.first, STATUS_USAGE,
            "%s: synthesise: a sample is made of %" PRId64 " spectra, but there are only %" PRId64,
            job->path, plan->reach.length, samples.end - samples.first);
    plan->spec.max_rows = (uint64_t)(plan->rows.end - plan->rows.first);
    plan->spec.expected = (uint64_t)(samples.end - samples.first) * plan->spec.nstreams;
    TRY(synthesis_see(job, archive, plan));
    *out = plan;
    plan = NULL;
out:
    synthesis_plan_destroy(plan);
    return st;
}

void synthesis_plan_destroy(struct synthesis_plan *plan)
{
    if (plan) {
        free(plan->coeff);
        free(plan->freq_hz);
        free(plan->delay_hz);
        free(plan->selected);
        free(plan->gaps);
        free(plan->stream_gaps);
        free(plan);
    }
}

status_t synthesis_plan_words(const struct synthesis_plan *plan, struct text *out)
{
    const struct synthesis_bank *bank = &plan->bank;
    return text_add(
        out,
        "synthesis of %u channels, %u points, hop %u, %u taps from %" PRId64 " on, error %.1f dB",
        bank->channels, bank->points, bank->hop, plan->spec.taps, plan->spec.first, plan->error_db);
}
